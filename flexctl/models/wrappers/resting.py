"""A driven joint at a state, and where all of them stand when the arm rests under its weight."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import brentq

from ...abilities import Restable, Startable, commands_of, joints_of
from ...errors import ConvergenceError, NotAvailable
from ...kernels import drive_places
from ...kernels import drives as kernel
from ...model import FloatArray
from .drive_signals import Seen

if TYPE_CHECKING:
    from .driven_joints import DrivenJoints

HANGS, STILL = 300, 1e-12
"""So often is it tried where links hang from their motors, and what a motor may be off then [rad; m]. Chosen."""
OVER, TURN = 0.3, 0.3
"""Part of a change that may be too much, and the most that links turn at once [rad; m]. Chosen."""
ROUNDED = 1e-9
"""As far off may a motor be where that no longer shrinks [rad; m]: the rest of the arm inside is rounded. Chosen."""
FARTHEST = 1e3
"""Turn [rad; m] of a spring beyond which it is not sought what carries the load."""


def joint_seen(constants: FloatArray, x: FloatArray, v: FloatArray, a: FloatArray, given: FloatArray) -> Seen:
    """Return a joint at positions, rates and accelerations of its slots, with its inputs."""
    r, y, S = np.zeros(drive_places.SLOTS), np.zeros(drive_places.READINGS), np.zeros((3, drive_places.ALL))
    local = np.zeros((4, drive_places.SLOTS))
    local[:3], local[3, : given.size] = (x, v, a), given
    kernel.drive_entry(constants, local, (r, y, S))
    M, D, K = (_matrix(constants, row) for row in S)
    B, m = np.zeros((drive_places.SLOTS, 2)), int(constants[drive_places.FLEXIBLE])
    B[m] = S[0, [drive_places.MOTOR_BY_FIRST, drive_places.MOTOR_BY_SECOND]]
    B[drive_places.CHARGE, 0] = S[0, drive_places.CHARGE_BY_FIRST]
    Y = np.zeros((drive_places.READINGS, 14))  # by accelerations, rates, positions, inputs
    current, friction, torque = (
        Y[i] for i in (drive_places.CURRENT_READING, drive_places.FRICTION_READING, drive_places.TORQUE_READING)
    )
    rate = drive_places.SLOTS
    current[[rate + m, 12]] = S[0, [drive_places.CURRENT_BY_RATE, drive_places.CURRENT_BY_FIRST]]
    current[rate + drive_places.CHARGE] = float(constants[drive_places.INPUT] == drive_places.WINDING)
    if constants[drive_places.INPUT] == drive_places.LED:
        current[:] = _asked_of_motor(constants, x, v, a)
    friction[rate + m] = S[0, drive_places.FRICTION_BY_RATE]
    friction[rate + drive_places.BRISTLE] = S[0, drive_places.FRICTION_BY_BRISTLE]
    torque[:] = -np.concatenate([part[drive_places.LINK] for part in (M, D, K, B)])
    return Seen(r, M, D, K, B, y, Y)


def _asked_of_motor(constants: FloatArray, x: FloatArray, v: FloatArray, a: FloatArray) -> FloatArray:
    """Return the derivatives of the torque that a motor needs which is led: what is left of its row under no torque."""
    free = constants.copy()
    free[drive_places.INPUT] = drive_places.TORQUE
    seen = joint_seen(free, x, v, a, np.zeros(1))
    rows = [part[drive_places.MOTOR] for part in (seen.M, seen.D, seen.K)]
    return np.concatenate([*rows, np.zeros(2)])


def _matrix(constants: FloatArray, S: FloatArray) -> FloatArray:
    """Return the matrix of a joint, slots by slots, from what the kernels fill."""
    A, m = np.zeros((drive_places.SLOTS, drive_places.SLOTS)), int(constants[drive_places.FLEXIBLE])
    charge, bristle = drive_places.CHARGE, drive_places.BRISTLE
    A[m, m] = S[drive_places.MOTOR_MOTOR]
    if m:
        A[0, 0], A[0, m], A[m, 0] = S[drive_places.LINK_LINK], -S[drive_places.LINK_LINK], S[drive_places.MOTOR_LINK]
    A[m, charge], A[charge, m] = S[drive_places.MOTOR_CHARGE], S[drive_places.CHARGE_MOTOR]
    A[m, bristle], A[bristle, m] = S[drive_places.MOTOR_BRISTLE], S[drive_places.BRISTLE_MOTOR]
    A[charge, charge], A[bristle, bristle] = S[drive_places.CHARGE_CHARGE], S[drive_places.BRISTLE_BRISTLE]
    return A


def rest(model: DrivenJoints, angles: Sequence[float] | FloatArray) -> FloatArray:
    """Return the coordinates of the arm at rest, links at these joint variables, springs wound by what they carry."""
    inner: Any = model.inner
    q = np.asarray(inner.rest(angles), float)
    torques = _carrying(model, q)
    whole = model.extended(q)
    for constants, own, torque in zip(model.constants, model.places, torques, strict=True):
        if constants[drive_places.FLEXIBLE] and torque:
            whole[own[drive_places.MOTOR]] += wound(constants, float(torque))
    return whole


def begun(model: DrivenJoints, commands: Mapping[str, Sequence[float]]) -> tuple[FloatArray, FloatArray]:
    """Return coordinates and rates where joints begin, each with its variable [rad; m] and its rate.

    Springs are unwound, but for an arm whose joints are all commanded: it hangs from the motors that are led.
    """
    if isinstance(model.inner, Startable):
        q, v = model.inner.start(commands)
    else:
        q, v = model.inner.reference(), np.zeros(model.n)
    rates = np.zeros(model.size)
    rates[: model.n] = v
    for rows in model.pick:
        rates += rows[drive_places.MOTOR] * (rows[drive_places.LINK] @ rates)
    return _hung(model, commands, model.extended(q)), rates


def _hung(model: DrivenJoints, commands: Mapping[str, Sequence[float]], whole: FloatArray) -> FloatArray:
    """Return where the arm hangs from motors that are led; `whole`, with springs unwound, where nothing pulls."""
    pulls = model.inner.force(whole[: model.n], np.zeros(model.n)).any()
    if not (model.led and isinstance(model.inner, Restable) and pulls):
        return whole
    asked = np.array([float(value[0]) for _, value in sorted(commands.items(), key=lambda pair: _number(pair[0]))])
    motors = {_number(name): [s.name for s in model.coordinates].index(name) for name in model.led}
    if len(asked) != len(joints_of(model.inner)):
        return whole
    found = hanging(lambda links: rest(model, links), asked, {i - 1: place for i, place in motors.items()})
    if found is None:
        raise ConvergenceError(f"the springs of {', '.join(model.led)} do not hold the arm where it is told to begin")
    return found


def hanging(
    rest_of: Callable[[FloatArray], FloatArray], asked: FloatArray, motors: Mapping[int, int]
) -> FloatArray | None:
    """Return where an arm hangs from its motors, as it would sink in honey: a rest that lasts; None where it has none.

    rest_of: its rest for joint variables of the links; asked: variables of the joints, of a flexible one its motor's;
    motors: place of the motor among the coordinates, by joint from 0.
    """
    links, before, part = asked.copy(), np.full(len(asked), np.inf), 1.0
    for _ in range(HANGS):
        found = rest_of(links)
        away = np.array([found[motors[i]] - x if i in motors else 0.0 for i, x in enumerate(asked)])
        size, last = float(np.abs(away).max()), float(np.abs(before).max())
        if size <= STILL or last <= size <= ROUNDED:
            return found
        if np.isfinite(last) and away @ before < -OVER * (before @ before):
            part *= 0.5  # the weight turns it back more than the springs do
        links, before = links - min(part, TURN / size) * away, away
    return None


def _number(joint: str) -> int:
    return int(joint.removesuffix("_motor").removeprefix("joint"))


def _carrying(model: DrivenJoints, q: FloatArray) -> FloatArray:
    """Return the torques [N m; N] in the driven joints that hold the arm inside."""
    inner = model.inner
    h = inner.force(q, np.zeros(model.n))
    holders = {*joints_of(inner), *chain.from_iterable(commands_of(inner).values())}
    others = [i for i, signal in enumerate(inner.inputs) if signal.name in holders and i not in model.replaced]
    holding = np.hstack([model.columns, inner.input_matrix(q)[:, others], inner.closure_jacobian(q).T])
    return np.asarray(np.linalg.lstsq(holding, h, rcond=1e-12)[0][: model.columns.shape[1]])


def wound(constants: FloatArray, torque: float) -> float:
    """Return how far the motor's side stands ahead of the link where the spring gives the link a torque [N m; N]."""
    zero, ahead = np.zeros(drive_places.SLOTS), np.eye(drive_places.SLOTS)[drive_places.MOTOR]

    def missing(turn: float) -> float:
        return float(-joint_seen(constants, turn * ahead, zero, zero, np.zeros(2)).r[drive_places.LINK]) - torque

    far = np.copysign(1e-9, torque)
    while missing(far) * torque < 0.0:
        far *= 4.0
        if abs(far) > FARTHEST:
            raise NotAvailable(f"the spring of a joint does not carry {torque:.3g}, the load on it at rest")
    return float(brentq(missing, 0.0, far, xtol=1e-300, rtol=4.0 * np.finfo(float).eps))
