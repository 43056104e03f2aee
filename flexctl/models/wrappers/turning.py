"""Drives of joints that turn steadily: what their coordinates and inputs are while the arm inside has these torques.

With the torque tau_j that reaches the link, the rate w and no acceleration, a drive of `drive` is solved at once:

    tau_j = k dz(d) + k3 dz(d)^3, theta = q + d        bristles slide: s0 z = g(w) sign(w)
    tau_m = F + s2 w + tau_j eta^-s                    i = tau_m / (N Kt),  V = R i + N Ke w
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...errors import NotAvailable
from ...kernels import drive_places as place
from ...kernels import drives as kernel
from ...model import FloatArray, OperatingPoint
from .resting import joint_seen, wound

if TYPE_CHECKING:
    from .driven_joints import DrivenJoints

LEFT = 1e-8
"""Part of the largest torque that may be left of the balance of a drive. Chosen: more is a limit, or nothing drives."""


def turned_as(model: DrivenJoints, point: OperatingPoint) -> OperatingPoint:
    """Return the whole state, and the inputs that keep it, for one of the arm inside with its joints' torques."""
    q, v, a, u = model.extended(point.q), np.zeros(model.size), np.zeros(model.size), np.zeros(len(model.inputs))
    v[: model.n], a[: model.n] = point.v, point.a
    for i, k in model.kept:
        u[k] = point.u[i]
    for j, c in enumerate(model.constants):
        torque, rate = float(point.u[model.replaced[j]]), float(model.pick[j][place.LINK] @ v)
        slots, own = model.places[j], model.own[j]
        if c[place.FLEXIBLE]:
            v[slots[place.MOTOR]] = rate
            q[slots[place.MOTOR]] += wound(c, torque) if torque else 0.0
        if c[place.FRICTION] == place.BRISTLES:
            v[slots[place.BRISTLE]] = _sliding(c, rate)
        angle = float(model.pick[j][int(c[place.FLEXIBLE])] @ q)
        asked = _asked(c, model.pick[j] @ v, torque)
        u[own] = _inputs(c, asked, angle, rate)[: len(own)]
        if c[place.INPUT] == place.WINDING:
            v[slots[place.CHARGE]] = asked / c[place.PUSH]
    found = OperatingPoint(q, v, a, u)
    _check(model, point, found)
    return found


def _sliding(c: FloatArray, rate: float) -> float:
    """Return the force of bristles by Coulomb friction at a steady rate."""
    g = c[place.COULOMB] + (c[place.STATIC] - c[place.COULOMB]) * np.exp(-((rate / c[place.STRIBECK]) ** 2))
    return float(np.sign(rate) * g / c[place.COULOMB])


def _asked(c: FloatArray, v: FloatArray, torque: float) -> float:
    """Return the torque of the motor [N m; N] at rates v with which so much reaches the link."""
    none = np.zeros(place.SLOTS)
    friction = joint_seen(c, none, v, none, np.zeros(2)).y[place.FRICTION_READING]
    ways = np.sign(torque) * np.tanh(v[int(c[place.FLEXIBLE])] / kernel.REVERSAL)
    return float(friction + torque * c[place.GEAR] ** -ways)


def _inputs(c: FloatArray, torque: float, angle: float, rate: float) -> list[float]:
    """Return the inputs of a joint whose motor gives a torque [N m; N] at an angle [rad; m] and a rate."""
    kind = c[place.INPUT]
    if kind == place.LED:
        return [0.0]
    if kind == place.SERVO:
        return [angle + torque / c[place.KP], rate]
    if kind == place.TORQUE:
        return [torque]
    current = torque / (c[place.PUSH] or 1.0)
    return [current if kind == place.CURRENT else c[place.RESISTANCE] * current + c[place.BACK] * rate]


def _check(model: DrivenJoints, point: OperatingPoint, found: OperatingPoint) -> None:
    """Refuse a state that a drive cannot keep."""
    seen = model._see(found.q, found.v, found.a, found.u)
    for j, one in enumerate(seen):
        torque = float(point.u[model.replaced[j]])
        off = max(abs(one.r[place.LINK] + torque), float(np.abs(one.r[1:]).max()))
        if off > LEFT * (1.0 + abs(torque) + abs(one.y[place.FRICTION_READING])):
            raise NotAvailable(
                f"{model.prefix[j]}: its drive does not keep {torque:.4g} at the link while it turns steadily: a limit "
                "of current or voltage is below what it takes, or nothing drives it; use another rate"
            )
