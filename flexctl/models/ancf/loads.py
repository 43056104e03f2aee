"""Inputs of an ANCF arm: joint torques or servo commands, forces and a moment at the tip, loads along the links.

| input | acts on |
|---|---|
| joint_torque | phi |
| joint_command, joint_command_rate | phi, by kp and kv of the servo |
| tip_force_x, tip_force_y | tip, fixed in the base frame |
| tip_torque | the tip's section |
| dead forces | positions and slopes along the axis: int p s_i dx |
| follower forces | the same, int p s_i n dx: n = r_x along the deformed axis, or turned by a right angle across it |
| moments | sections of the nodes, in between by shares: r_y is linear there |

A moment acts by (-e_2, e_1) / |e|^2 on e = r_y, so that its work is tau times the turn; on the section at the root of a
link, which its joint turns, by phi and by the end of the link before. A follower force is a pressure: p times |r_x|,
which is 1 but for the stretch of the axis.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...machine.arm import Actuator, Arm
from ...model import FloatArray, Signal
from ..loads import ALONG, MOMENT, POINT, TIP_TORQUE, X, covered, load_signals, plane_kind, shares
from .element import shape, shape_x
from .mesh import AncfMesh

Array = npt.NDArray[Any]
NONE = -1


class Turn(NamedTuple):
    """A moment: its input, the coordinates of e = r_y that it turns (the first of two) and of phi, or NONE; weight."""

    column: int
    section: int
    joint: int
    weight: float


class AncfInputs:
    """B(q) and d(B u)/dq.

    Attributes
    ----------
    torque : int
        Number of the tip's moment; the actuators follow.
    rows, levers : ndarray
        Coordinate and lever of each input before it.
    pushes : list
        Number of the input and H of B = H q, for follower forces.
    dead : list
        Number of the input and column of B, for dead forces.
    turns : list of Turn
        The moments.
    """

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
        signals.append(TIP_TORQUE)
        self.signals = (*signals, *load_signals(arm, signals))
        self.rows = np.array(fixed)[:, 0].astype(np.int64)
        self.levers = np.array(fixed)[:, 1]
        self.pushes: list[tuple[int, FloatArray]] = []
        self.dead: list[tuple[int, FloatArray]] = []
        self.turns = [Turn(self.torque, int(mesh.place[-1, 4]), NONE, 1.0)]
        for column, actuator in enumerate(arm.actuators, self.torque + 1):
            kind = plane_kind(actuator)
            if kind == MOMENT:
                self.turns += self._turns(column, actuator)
            elif kind < ALONG:
                self.dead.append((column, _dead(mesh, actuator, kind - X)))
            else:
                self.pushes.append((column, _follower(mesh, actuator, kind == ALONG)))

    def _turns(self, column: int, actuator: Actuator) -> list[Turn]:
        mesh = self.mesh
        own = np.flatnonzero(mesh.link == actuator.link - 1)
        nodes, found = np.append(mesh.station[own, 0], mesh.station[own[-1], 1]), []
        for share in shares(nodes, actuator.start, actuator.end):
            for side, weight in ((0, share.left), (1, share.right)):
                if weight:
                    found.append(self._turn(column, int(mesh.left[own[share.element]]) + side, weight))
        return found

    def _turn(self, column: int, block: int, weight: float) -> Turn:
        """Return a moment on the section of a block; that of a root is turned by its joint and the link before."""
        mesh = self.mesh
        if block not in mesh.roots:
            return Turn(column, int(mesh.place[block, 4]), NONE, weight)
        i = int(np.flatnonzero(mesh.roots == block)[0])
        before = int(mesh.place[block - 1, 4]) if i else NONE
        phi = int(mesh.joint[i])
        return Turn(column, before, phi if phi < mesh.size else NONE, weight)

    def matrix(self, q: Array) -> FloatArray:
        """Return B(q)."""
        B = np.zeros((self.mesh.size, len(self.signals)), q.dtype)
        B[self.rows, np.arange(self.torque)] = self.levers
        for column, force in self.dead:
            B[:, column] = force
        for column, H in self.pushes:
            B[:, column] = H @ q
        for column, at, phi, weight in self.turns:
            if at != NONE:
                e = q[at : at + 2]
                B[at : at + 2, column] += weight * np.array([-e[1], e[0]]) / (e @ e)
            if phi != NONE:
                B[phi, column] += weight
        return B

    def slope(self, q: FloatArray, u: FloatArray) -> FloatArray:
        """Return d(B u)/dq."""
        out = np.zeros((self.mesh.size,) * 2)
        for column, at, _, weight in self.turns:
            if at != NONE:
                x, y = q[at : at + 2]
                bend = np.array([[2 * x * y, y * y - x * x], [y * y - x * x, -2 * x * y]]) / (x * x + y * y) ** 2
                out[at : at + 2, at : at + 2] += weight * u[column] * bend
        for column, H in self.pushes:
            out += u[column] * H
        return out


def _points(mesh: AncfMesh, actuator: Actuator) -> list[tuple[npt.NDArray[np.int64], float, float, float]]:
    """Return (coordinates of the element, 6 x 2, its length, xi, part of the load) of Gauss points, exact to 5."""
    own = np.flatnonzero(mesh.link == actuator.link - 1)
    nodes, found = np.append(mesh.station[own, 0], mesh.station[own[-1], 1]), []
    x, w = np.zeros(1), 2.0 * np.ones(1)
    if actuator.end - actuator.start >= POINT:
        x, w = np.polynomial.legendre.leggauss(3)
    for k, low, high, part in covered(nodes, actuator.start, actuator.end):
        e = int(own[k])
        place = mesh.place[mesh.left[e] : mesh.left[e] + 2].reshape(6, 2)
        for s, g in zip(x, w, strict=True):
            xi = 0.5 * (low + high) + 0.5 * (high - low) * s
            found.append((place, float(mesh.stuff.length[e]), float(xi), 0.5 * float(g) * part))
    return found


def _dead(mesh: AncfMesh, actuator: Actuator, axis: int) -> FloatArray:
    """Return the column of B of a dead force along an axis of the base frame."""
    column = np.zeros(mesh.size + 3)
    for place, L, xi, weight in _points(mesh, actuator):
        np.add.at(column, place[:, axis], weight * shape(xi, L))
    return column[: mesh.size]


def _follower(mesh: AncfMesh, actuator: Actuator, along: bool) -> FloatArray:
    """Return H with B = H q for a unit total force along or across the deformed axis."""
    n = mesh.size
    H = np.zeros((n + 3, n + 3))
    for place, L, xi, weight in _points(mesh, actuator):
        block = weight * np.outer(shape(xi, L), shape_x(xi, L))
        if along:
            for axis in (0, 1):
                np.add.at(H, (place[:, [axis]], place[:, axis][None]), block)
            continue
        # normal (-y', x')
        np.add.at(H, (place[:, :1], place[:, 1][None]), -block)
        np.add.at(H, (place[:, 1:], place[:, 0][None]), block)
    return H[:n, :n]
