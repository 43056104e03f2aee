"""A driven joint at a state, and where all of them stand when the arm rests under its weight."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import brentq

from ...abilities import commands_of, joints_of
from ...errors import NotAvailable
from ...kernels import drive_places
from ...kernels import drives as kernel
from ...model import FloatArray
from .drive_signals import Seen

if TYPE_CHECKING:
    from .driven_joints import DrivenJoints

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
    friction[rate + m] = S[0, drive_places.FRICTION_BY_RATE]
    friction[rate + drive_places.BRISTLE] = S[0, drive_places.FRICTION_BY_BRISTLE]
    torque[:] = -np.concatenate([part[drive_places.LINK] for part in (M, D, K, B)])
    return Seen(r, M, D, K, B, y, Y)


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
    for constants, rows, own, torque in zip(model.constants, model.pick, model.places, torques, strict=True):
        if constants[drive_places.FLEXIBLE] and torque:
            whole[own[drive_places.MOTOR]] += _wound(constants, rows @ whole, float(torque))
    return whole


def _carrying(model: DrivenJoints, q: FloatArray) -> FloatArray:
    """Return the torques [N m; N] in the driven joints that hold the arm inside."""
    inner = model.inner
    h = inner.force(q, np.zeros(model.n))
    holders = {*joints_of(inner), *chain.from_iterable(commands_of(inner).values())}
    others = [i for i, signal in enumerate(inner.inputs) if signal.name in holders and i not in model.replaced]
    holding = np.hstack([model.columns, inner.input_matrix(q)[:, others], inner.closure_jacobian(q).T])
    return np.asarray(np.linalg.lstsq(holding, h, rcond=1e-12)[0][: model.columns.shape[1]])


def _wound(constants: FloatArray, x: FloatArray, torque: float) -> float:
    """Return how far the motor's side stands ahead of the link where the spring gives the link a torque [N m; N]."""
    zero, ahead = np.zeros_like(x), np.eye(x.size)[drive_places.MOTOR]

    def missing(turn: float) -> float:
        return float(-joint_seen(constants, x + turn * ahead, zero, zero, np.zeros(2)).r[drive_places.LINK]) - torque

    far = np.copysign(1e-9, torque)
    while missing(far) * torque < 0.0:
        far *= 4.0
        if abs(far) > FARTHEST:
            raise NotAvailable(f"the spring of a joint does not carry {torque:.3g}, the load on it at rest")
    return float(brentq(missing, 0.0, far, xtol=1e-300, rtol=4.0 * np.finfo(float).eps))
