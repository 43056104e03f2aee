"""Inputs of an ANCF arm: joint torques or servo commands, forces and a torque at the tip, pressures along the links.

| input | acts on |
|---|---|
| joint_torque | phi |
| joint_command, joint_command_rate | phi, by kp and kv of the servo |
| tip_force_x, tip_force_y | tip, fixed in the base frame |
| tip_torque | the tip's section: (-e_2, e_1) / |e|^2 on e = r_y, so that its work is tau times the turn |
| actuators | positions and slopes along the axis: int p s_i n dx, n = r_x turned by a right angle |
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...machine.arm import Actuator, Arm
from ...model import FloatArray, Signal
from .element import shape, shape_x
from .mesh import AncfMesh

Array = npt.NDArray[Any]


class AncfInputs:
    """B(q) and d(B u)/dq."""

    def __init__(self, mesh: AncfMesh, arm: Arm, clamped: bool) -> None:
        self.mesh, signals, fixed = mesh, [], []
        for i, joint in enumerate(arm.joints):
            name, phi = f"joint{i + 1}", int(mesh.joint[i])
            if joint.drive == "servo":
                signals += [Signal(f"{name}_command", "rad"), Signal(f"{name}_command_rate", "rad/s")]
                fixed += [(phi, joint.servo_stiffness), (phi, joint.servo_damping)]
            elif i or not clamped:
                signals.append(Signal(f"{name}_torque", "N m"))
                fixed.append((phi, 1.0))
        for axis in (0, 1):
            signals.append(Signal(f"tip_force_{'xy'[axis]}", "N"))
            fixed.append((int(mesh.tip[axis]), 1.0))
        self.torque = len(signals)
        signals.append(Signal("tip_torque", "N m", "on the tip's section"))
        signals += [Signal(a.name, "N", f"across link {a.link}, {a.start:g} L to {a.end:g} L") for a in arm.actuators]
        self.signals = tuple(signals)
        self.rows = np.array(fixed)[:, 0].astype(np.int64)
        self.levers = np.array(fixed)[:, 1]
        self.section = mesh.place[-1, 4:]
        self.pressures = [_pressure(mesh, actuator) for actuator in arm.actuators]

    def matrix(self, q: Array) -> FloatArray:
        """Return B(q)."""
        B = np.zeros((self.mesh.size, len(self.signals)), q.dtype)
        B[self.rows, np.arange(self.torque)] = self.levers
        e = q[self.section]
        B[self.section, self.torque] = np.array([-e[1], e[0]]) / (e @ e)
        for k, H in enumerate(self.pressures, self.torque + 1):
            B[:, k] = H @ q
        return B

    def slope(self, q: FloatArray, u: FloatArray) -> FloatArray:
        """Return d(B u)/dq."""
        out = np.zeros((self.mesh.size,) * 2)
        (x, y), square = q[self.section], float(q[self.section] @ q[self.section])
        bend = np.array([[2 * x * y, y * y - x * x], [y * y - x * x, -2 * x * y]]) / square**2
        out[np.ix_(self.section, self.section)] = u[self.torque] * bend
        for value, H in zip(u[self.torque + 1 :], self.pressures, strict=True):
            out += value * H
        return out


def _pressure(mesh: AncfMesh, actuator: Actuator) -> FloatArray:
    """Return H with B = H q for a unit total force."""
    n = mesh.size
    H = np.zeros((n + 3, n + 3))
    span = actuator.end - actuator.start
    x, w = np.polynomial.legendre.leggauss(3)  # exact: degree 5
    met = False
    for e in np.flatnonzero(mesh.link == actuator.link - 1):
        begin, end = mesh.station[e]
        L, place = float(mesh.stuff.length[e]), mesh.place[mesh.left[e] : mesh.left[e] + 2].reshape(6, 2)
        low, high = max(begin, actuator.start), min(end, actuator.end)
        if span < 1e-9:
            inside = begin <= actuator.start <= end and not met
            met = met or inside
            points = [((actuator.start - begin) / (end - begin), 1.0)] if inside else []
        else:
            half = 0.5 * max(high - low, 0.0)
            points = [((0.5 * (low + high) + half * s - begin) / (end - begin), g * half / span)
                      for s, g in zip(x, w, strict=True)]
        for xi, weight in points:
            s, a = shape(xi, L), shape_x(xi, L)
            block = weight * np.outer(s, a)
            # normal (-y', x')
            np.add.at(H, (place[:, :1], place[:, 1][None]), -block)
            np.add.at(H, (place[:, 1:], place[:, 0][None]), block)
    return H[:n, :n]
