"""Inputs and outputs of a transfer-matrix arm: the names, units and frames of `timoshenko_planar.sensors`, and how the
states of a sweep give them.

The angle of a flexible joint is that of its link's side, as in the models of the registry; that of its motor's side
stands behind the sensors. A joint that follows a commanded motion has the commanded angle, which is its motor's: the
twist of its spring then counts as deformation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...machine.arm import Arm, Joint, Sensor
from ...model import ComplexArray, Signal
from ...models.loads import TIP_TORQUE, load_signals
from ...models.sensors import chord_signals, gauge, sensor_signal
from .chain import Chain

U, W, THETA, MOMENT, GAP_U, GAP_W, GAP_THETA = 0, 1, 2, 5, 6, 7, 8


class Sweep(NamedTuple):
    """States (probes, 9, inputs, len(s)) and joint angles (drives, inputs, len(s)) of one sweep, SI, per unit input."""

    states: ComplexArray
    turns: ComplexArray


def input_signals(arm: Arm, held: Sequence[int]) -> tuple[Signal, ...]:
    """Return the inputs, motion-driven joints first."""
    signals, driven = [], []
    for i, joint in enumerate(arm.joints, 1):
        if joint.drive == "motion":
            driven.append(Signal(f"joint{i}_acceleration", "rad/s^2"))
        elif i - 1 in held:
            continue
        elif joint.drive == "servo":
            signals += [Signal(f"joint{i}_command", "rad"), Signal(f"joint{i}_command_rate", "rad/s")]
        elif joint.drive != "free":
            signals.append(Signal(f"joint{i}_torque", "N m"))
    found = (*driven, *signals, Signal("tip_force_x", "N"), Signal("tip_force_y", "N"), TIP_TORQUE)
    return (*found, *load_signals(arm, found))


def output_signals(arm: Arm) -> tuple[Signal, ...]:
    """Return the outputs, those of the sensors after the others, torques of motion-driven joints last."""
    signals = []
    for i, joint in enumerate(arm.joints, 1):
        side = "of the link's side" if springy(joint) else ""
        signals += [Signal(f"joint{i}_angle", "rad", side), Signal(f"joint{i}_rate", "rad/s")]
    for i in range(1, len(arm.links) + 1):
        signals += chord_signals(i)
    for name, unit in (("tip", "m"), ("tip_acceleration", "m/s^2"), ("tip_error", "m")):
        signals += [Signal(f"{name}_{letter}", unit) for letter in "xy"]
    for sensor in arm.sensors:
        signals.append(sensor_signal(sensor, signals))
    side = "of the motor's side, at the joint side of the gear"
    for i, joint in enumerate(arm.joints, 1):
        if springy(joint):
            signals += [Signal(f"joint{i}_motor_angle", "rad", side), Signal(f"joint{i}_motor_rate", "rad/s", side)]
    motions = [i for i, joint in enumerate(arm.joints, 1) if joint.drive == "motion"]
    return (*signals, *(Signal(f"joint{i}_torque", "N m") for i in motions))


def springy(joint: Joint) -> bool:
    """Whether the two sides of a joint turn by themselves, and its angle is that of the link's side."""
    return joint.stiffness > 0 and joint.drive != "motion"


def by_input(arm: Arm, chain: Chain, x: ComplexArray, s: ComplexArray) -> ComplexArray:
    """Return what was given per input of the chain (last axis but one) per input of the arm."""
    acting = {what: 3 + k for k, what in enumerate(reversed(chain.inputs))}
    columns = {i: acting["joint", i] for i in chain.drives}
    c, d = np.cos(chain.angle[-1]), np.sin(chain.angle[-1])
    parts: list[ComplexArray] = []
    driven = []
    for i, joint in enumerate(arm.joints):
        if i not in columns:
            continue
        column = x[..., columns[i], :]
        if joint.drive == "motion":
            driven.append(column / s**2)
        elif joint.drive == "servo":
            parts += [joint.servo_stiffness * column, joint.servo_damping * column]
        elif joint.drive != "free":
            parts.append(column)
    along, across, moment = (x[..., k, :] for k in range(3))
    loads = [x[..., acting["load", number], :] for number in range(len(arm.actuators))]
    return np.stack([*driven, *parts, c * along - d * across, d * along + c * across, moment, *loads], axis=-2)


def output_rows(
    arm: Arm, chain: Chain, s: ComplexArray, found: Sweep, alpha: float, softening: ComplexArray
) -> list[ComplexArray]:
    """Return the outputs, each (inputs, len(s)), from the states; `softening` is 1 + beta s."""
    states, links = found.states, len(arm.links)
    angle = dict(zip(chain.drives, found.turns, strict=True))
    still = np.zeros_like(states[0, 0])
    rows = []
    for i, joint in enumerate(arm.joints):
        turned = _link_side(chain, states, i, angle.get(i, still)) if springy(joint) else angle.get(i, still)
        rows += [turned, s * turned]
    rows += _chords(arm, chain, states, [angle.get(i, still) for i in range(links)], s)
    tip = _turned(chain, states[chain.places[links - 1, 1.0], [U, W]], links - 1)
    error = _tip_error(arm, chain, states)
    rows += [*tip, *(s**2 * tip), *error]
    for sensor in arm.sensors:
        rows.append(_sensor(arm, chain, sensor, states, angle.get(sensor.link - 1, still), s, softening))
    for i, joint in enumerate(arm.joints):
        if springy(joint):
            rows += [angle.get(i, still), s * angle.get(i, still)]
    for i, joint in enumerate(arm.joints):
        if joint.drive == "motion":
            moment = states[chain.places["joint", i], MOMENT]
            inertia = joint.rotor_inertia * (s**2 + alpha * s) + joint.friction * s
            rows.append(inertia * angle[i] - moment)
    return rows


def _chords(
    arm: Arm, chain: Chain, states: ComplexArray, angle: Sequence[ComplexArray], s: ComplexArray
) -> list[ComplexArray]:
    """Return for each link the angle of its chord against that of the link before, its rate, and the deflection.

    Either from what links and springs add to the rigid arm, which loses no digits at low frequencies, or from the
    displacements of the ends, which loses none where waves do not reach them: whichever has the smaller terms.
    """
    rows: list[ComplexArray] = []
    bent: list[ComplexArray] = []  # the end of the link before against its chord
    before: list[ComplexArray] = []  # that chord, turned back
    for i, link in enumerate(arm.links):
        L, root, end = link.length, states[chain.places[i, 0.0]], states[chain.places[i, 1.0]]
        own = [end[W] / L, -root[W] / L]
        chord = _exactest([angle[i], end[GAP_W] / L, *bent], [*own, *before])
        deflection = _exactest([end[GAP_W], -L * root[GAP_THETA]], [end[W], -root[W], -L * root[THETA]])
        rows += [chord, s * chord, deflection]
        bent, before = [end[GAP_THETA], -end[GAP_W] / L], [-x for x in own]
    return rows


def _exactest(one: Sequence[ComplexArray], other: Sequence[ComplexArray]) -> ComplexArray:
    """Return the sum of either terms, the same but for rounding: of those whose largest is smaller."""
    size = [np.max(np.abs(terms), axis=0) for terms in (one, other)]
    return np.asarray(np.where(size[0] <= size[1], sum(one), sum(other)))


def _turned(chain: Chain, across: ComplexArray, link: int) -> ComplexArray:
    """Return components along and across a link in the base frame."""
    c, d = np.cos(chain.angle[link]), np.sin(chain.angle[link])
    return np.array([c * across[0] - d * across[1], d * across[0] + c * across[1]])


def _link_side(chain: Chain, states: ComplexArray, i: int, motor: ComplexArray) -> ComplexArray:
    """Return the angle of a flexible joint on its link's side: the motor's and the twist, or root from link before."""
    root = states[chain.places[i, 0.0]]
    before = [-states[chain.places[i - 1, 1.0], THETA]] if i else []
    return _exactest([motor, root[GAP_THETA]], [root[THETA], *before])


def _tip_error(arm: Arm, chain: Chain, states: ComplexArray) -> ComplexArray:
    """Return the tip from that of the rigid arm with the same joint angles: what each link adds, its lever included.

    A joint that follows a motion has the angle of its motor's side, so that its spring adds too.
    """
    ends, error = chain.ends, np.zeros_like(states[0, :2])
    for i, (link, joint) in enumerate(zip(arm.links, arm.joints, strict=True)):
        gap, lever = states[chain.places[i, 1.0]], ends[-1] - ends[i]
        along, across, turn = gap[GAP_U], gap[GAP_W], gap[GAP_THETA]
        if springy(joint):
            root = states[chain.places[i, 0.0]]
            across = _exactest([across, -link.length * root[GAP_THETA]], [gap[W], -root[W], -link.length * root[THETA]])
            turn = _exactest([turn, -root[GAP_THETA]], [gap[THETA], -root[THETA]])
        error += _turned(chain, np.array([along, across]), i)
        error += np.array([-lever[1] * turn, lever[0] * turn])
    return error


def _sensor(
    arm: Arm, chain: Chain, sensor: Sensor, states: ComplexArray, angle: ComplexArray, s: ComplexArray,
    softening: ComplexArray,
) -> ComplexArray:
    link, at = sensor.link - 1, states[chain.places[sensor.link - 1, sensor.position]]
    if sensor.kind == "displacement":
        return np.asarray(sensor.position * arm.links[link].length * angle + at[GAP_W])
    if sensor.kind == "acceleration":
        return np.asarray(s**2 * at[W])
    curvature = at[MOMENT] * chain.compliance[link, sensor.position] / softening
    return np.asarray(gauge(sensor, arm.links[link]) * curvature)
