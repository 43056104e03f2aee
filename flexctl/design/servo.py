"""Servo compliance: joints that follow a commanded angle like a spring and a damper, and how stiff to make them.

    tau = kp (command - phi) + kv (command' - phi')

Without feed-forward, so that the joint lags whenever the arm is accelerated. The rule for the gains: the servo's
frequency is half the structural frequency f0 of the arm with its joints locked, critically damped on the inertia J that
the joint feels, i.e. ratio 1/2 and zeta 1 in

    kp = J (2 pi ratio f0)^2,      kv = 2 zeta sqrt(J kp)

It is the best damped choice, and soft. Ratio 1 halves the lag and keeps a fifth of the damping; above it the joints
hold the arm so firmly that nothing damps it. The rest of the lag is taken by feedforward, not by stiffness.

The same compliance comes in three forms: a law (`servo_law`, continuous or sampled), a linear plant with commanded
angles as inputs (`with_servo`), and joints with drive = "servo" of a plant file, which put it into the model itself.

Source: a thesis of the 1980s on flexible manipulators, chapters II and IV; its rule (2.27) is lost in print and is
restored from the text: position gains so that the servo stays below half the structural frequency.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..abilities import Posable, commands_of, joints_of
from ..errors import DefinitionError, NotAvailable, require
from ..laws.controller import LinearLaw
from ..linear import SecondOrder, linearise
from ..linear.modes import normal_modes
from ..machine.given import LinearGiven, ModelGiven, as_model, as_second_order
from ..model import OperatingPoint, Signal, index_of, names
from ..support.checks import table


@dataclass(frozen=True)
class Servo:
    """Gains of one joint, and what they were made from.

    Attributes
    ----------
    kp, kv : float
        [N m/rad], [N m s/rad].
    inertia, frequency : float
        J [kg m^2] and f0 [Hz] of the rule; NaN where the gains were chosen.

    Examples
    --------
    >>> fx.Servo(kp=100.0, kv=10.0).kv
    10.0
    """

    kp: float
    kv: float
    inertia: float = math.nan
    frequency: float = math.nan

    def __post_init__(self) -> None:
        require(
            bool(np.isfinite([self.kp, self.kv]).all()), f"servo gains kp = {self.kp}, kv = {self.kv} must be finite"
        )
        require(
            self.kp > 0 and self.kv >= 0, f"servo gains kp = {self.kp} must be above zero, kv = {self.kv} not below"
        )


def servo_rule(inertia: float, frequency: float, ratio: float = 0.5, zeta: float = 1.0) -> Servo:
    """Return the gains for an inertia J [kg m^2] and a structural frequency f0 [Hz].

    `ratio` is the servo's frequency over f0, `zeta` its damping ratio; by default those of the thesis.

    Examples
    --------
    >>> servo = fx.servo_rule(inertia=2.0, frequency=10.0)
    >>> print(f"{servo.kp:.1f} N m/rad, {servo.kv:.2f} N m s/rad")
    1973.9 N m/rad, 125.66 N m s/rad
    """
    given = (("inertia", inertia, "kg m^2"), ("frequency", frequency, "Hz"), ("ratio", ratio, "f0"))
    for name, value, unit in given:
        require(math.isfinite(value) and value > 0, f"{name} = {value} {unit} must be positive and finite")
    require(math.isfinite(zeta) and zeta >= 0, f"zeta = {zeta} must be finite and not negative")
    kp = inertia * (2.0 * math.pi * ratio * frequency) ** 2
    return Servo(kp, 2.0 * zeta * math.sqrt(inertia * kp), inertia, frequency)


def design_servos(
    model: ModelGiven, angles: Sequence[float] | None = None, *, whole_arm: bool = False, ratio: float = 0.5,
    zeta: float = 1.0,
) -> dict[str, Servo]:
    """Return the gains of every joint by the rule, from the model.

    Parameters
    ----------
    system : Plant or MechanicalModel
        An arm whose coordinates are ordered from the base outwards, with all joints driven by torque.
    angles : sequence of float, optional
        Joint angles [rad] at which J and f0 are taken; the reference pose by default. A stretched arm has the largest
        J.
    whole_arm : bool
        Use the frequency of the whole arm for every joint; by default each joint has that of the arm beyond it.
    ratio, zeta : float
        Frequency of the servo over f0, and its damping ratio; by default those of the thesis.

    Examples
    --------
    >>> servos = fx.design_servos(fx.load_plant("planar_2r_flexible").model)
    >>> print(f"{servos['joint1'].frequency / (2 * np.pi):.3f} Hz")
    0.606 Hz
    """
    model = as_model(model)
    joints = list(joints_of(model).values())
    if not isinstance(model, Posable) or not joints or commands_of(model):
        raise NotAvailable(
            f"{model.kind} has no torque-driven joints in a pose; design the servos from a model that has"
        )
    plant = linearise(model, OperatingPoint.at_rest(model, None if angles is None else model.pose(angles)))
    whole = _lowest(plant, joints)
    found = {}
    for joint in joints:
        frequency = whole if whole_arm else _lowest(plant, joints, joint)
        found[joint] = servo_rule(_inertia(plant, joints, joint), frequency, ratio, zeta)
    return found


def _kept(plant: SecondOrder, joints: Sequence[str], beyond: str | None, free: str | None) -> list[int]:
    """Return the coordinates that move: those after a joint, other joints held."""
    first = 0 if beyond is None else index_of("coordinate", beyond, plant.coordinates)
    held = {name for name in joints if name != free}
    return [i for i, name in enumerate(names(plant.coordinates)) if i >= first and name not in held]


def _lowest(plant: SecondOrder, joints: Sequence[str], beyond: str | None = None) -> float:
    """Return the lowest frequency [Hz] with all joints locked, of the arm beyond one of them."""
    keep = np.ix_(*[_kept(plant, joints, beyond, None)] * 2)
    modes = normal_modes(plant.M[keep], plant.K[keep])
    return float(modes.omega[modes.rigid] / (2.0 * math.pi))


def _inertia(plant: SecondOrder, joints: Sequence[str], joint: str) -> float:
    """Return the inertia [kg m^2] of the rigid arm beyond a joint about it."""
    kept = _kept(plant, joints, joint, joint)
    keep = np.ix_(kept, kept)
    modes = normal_modes(plant.M[keep], plant.K[keep])
    if modes.rigid != 1:
        raise DefinitionError(
            f"the arm beyond {joint} has {modes.rigid} rigid-body modes with the other joints held, not one"
        )
    place = kept.index(index_of("coordinate", joint, plant.coordinates))
    return float(1.0 / modes.shapes[place, 0] ** 2)


def servo_law(gains: Mapping[str, Servo], sample_time: float = 0.0) -> LinearLaw:
    """Return the law for joints by name ("joint1", ..); sample_time 0 [s]: continuous.

    Sampled, kv times the sample time must stay below the inertias that turn with the joint at once: hub and rotor on
    its link, housing on the end of the link before, where the torque reacts. Links without them have next to none.

    The law reads `<joint>_angle` and `<joint>_rate`, sets `<joint>_torque`, and follows the channel `<joint>_angle`.

    Examples
    --------
    >>> fx.servo_law({"joint1": fx.Servo(kp=100.0, kv=10.0)}).measures
    ('joint1_angle', 'joint1_rate')
    """
    gains = table("gains", gains, '{"joint1": fx.Servo(kp=100.0, kv=10.0)}')
    require(bool(gains), "no joint is given gains")
    wrong = [joint for joint, gain in gains.items() if not isinstance(gain, Servo)]
    require(not wrong, f"gains of {wrong}: give each joint an fx.Servo")
    k = len(gains)
    Dy, Dr = np.zeros((k, 2 * k)), np.zeros((k, 3 * k))
    for i, gain in enumerate(gains.values()):
        Dy[i, 2 * i : 2 * i + 2] = -gain.kp, -gain.kv
        Dr[i, 3 * i : 3 * i + 2] = gain.kp, gain.kv
    measures = tuple(f"{joint}_{part}" for joint in gains for part in ("angle", "rate"))
    drives, follows = (tuple(f"{joint}_{part}" for joint in gains) for part in ("torque", "angle"))
    return LinearLaw(sample_time, measures, drives, follows, Dy=Dy, Dr=Dr)


def with_servo(plant: LinearGiven, gains: Mapping[str, Servo]) -> SecondOrder:
    """Return the linear plant with servos: the torques replaced by `<joint>_command` [rad] and its rate.

    Raises
    ------
    DefinitionError
        When an angle or rate output is not a plain row of coordinates or rates.

    Examples
    --------
    >>> arm = fx.load_plant("planar_2r_flexible")
    >>> fx.names(fx.with_servo(arm.linearise(), fx.design_servos(arm.model)).inputs)[:2]
    ['joint1_command', 'joint1_command_rate']
    """
    plant = as_second_order(plant)
    K, D, columns, signals = plant.K.copy(), plant.D.copy(), [], []
    replaced = []
    for joint, gain in gains.items():
        j = index_of("input", f"{joint}_torque", plant.inputs)
        angle, rate = (index_of("output", f"{joint}_{part}", plant.outputs) for part in ("angle", "rate"))
        _check_rows(plant, joint, angle, rate)
        b = plant.B[:, j]
        K = K + gain.kp * np.outer(b, plant.Cq[angle])
        D = D + gain.kv * np.outer(b, plant.Cv[rate])
        columns += [gain.kp * b, gain.kv * b]
        signals += [Signal(f"{joint}_command", "rad"), Signal(f"{joint}_command_rate", "rad/s")]
        replaced.append(j)
    kept = [j for j in range(len(plant.inputs)) if j not in replaced]
    return replace(
        plant, K=K, D=D, B=np.column_stack([*columns, plant.B[:, kept]]),
        Du=np.hstack([np.zeros((len(plant.outputs), len(signals))), plant.Du[:, kept]]),
        inputs=(*signals, *(plant.inputs[j] for j in kept)),
        provenance={**plant.provenance, "servos": {joint: [g.kp, g.kv] for joint, g in gains.items()}},
    )


def _check_rows(plant: SecondOrder, joint: str, angle: int, rate: int) -> None:
    others: list[Any] = [
        plant.Cv[angle],
        plant.Ca[angle],
        plant.Du[angle],
        plant.Cq[rate],
        plant.Ca[rate],
        plant.Du[rate],
    ]
    plain = not any(np.any(row) for row in others)
    require(plain, f"{joint}_angle and {joint}_rate must read coordinates and rates only to close a servo on them")
