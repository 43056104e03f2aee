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
    s = drive_places.SLOTS
    found = Seen(
        np.zeros(s), np.zeros((s, s)), np.zeros((s, s)), np.zeros((s, s)), np.zeros((s, 2)),
        np.zeros(drive_places.READINGS), np.zeros((drive_places.READINGS, 14)),
    )
    local = np.zeros((4, s))
    local[:3], local[3, : given.size] = (x, v, a), given
    kernel.drive_entry(constants, local, tuple(found))
    return found


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
