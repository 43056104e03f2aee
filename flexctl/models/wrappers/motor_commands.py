"""Commands to the motors of joints with which given torques reach the links: `drive`, solved for its input.

    tau_g = tau_j eta^-s,  s = sign(tau_j w)         tau_m = Jm w' + s2 w + tau_g
    i = tau_m / (N Kt)                               V = R i + N Ke w

The spring of a flexible joint is taken as stiff, the inductance as zero, and dry friction is left out, as in the linear
plant: it has no direction before the joint turns.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...abilities import layers
from ...kernels import drive_places as place
from ...model import FloatArray
from .driven_joints import DrivenJoints, _LinearDrivenJoints

TURNING = 1e-5
"""Rate over which the losses of a gear change sides [rad/s]; see `drive`."""
ELECTRIC = (place.CURRENT, place.VOLTAGE, place.WINDING)


def has_motors(model: Any) -> bool:
    """Whether joints of the model, or of one inside it, are driven by currents or voltages."""
    return any(c[place.INPUT] in ELECTRIC for _, c in _motors(model))


def motor_commands(model: Any, torques: FloatArray, rates: FloatArray, accelerations: FloatArray) -> FloatArray:
    """Return the inputs (.., joints) of joints that move so: [N m] or [N], and of those with motors [A] or [V]."""
    found = np.array(torques, float)
    for j, c in _motors(model):
        if c[place.INPUT] in ELECTRIC:
            tau, w = found[..., j], rates[..., j]
            asked = tau * c[place.GEAR] ** -np.tanh(np.sign(tau) * w / TURNING)
            current = (c[place.INERTIA] * accelerations[..., j] + c[place.VISCOUS] * w + asked) / c[place.PUSH]
            volts = c[place.INPUT] != place.CURRENT
            found[..., j] = c[place.RESISTANCE] * current + c[place.BACK] * w if volts else current
    return found


def _motors(model: Any) -> list[tuple[int, FloatArray]]:
    """Return number and constants of every joint with a drive around it."""
    found = []
    for one in layers(model):
        around = one.wrapped if isinstance(one, _LinearDrivenJoints) else one
        if isinstance(around, DrivenJoints):
            joints = [prefix.removeprefix("joint") for prefix in around.prefix]
            found += [(int(j) - 1, c) for j, c in zip(joints, around.constants, strict=True) if j.isdigit()]
    return found
