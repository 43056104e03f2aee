"""Loads of a tree of assumed modes: the tip's moment, and forces and moments along the links.

A force does work on the place of a point, which is linear in the shape values there (`assumed_modes.mesh.Field`): what
is spread acts by their mean. A moment does work on theta + psi' . z, whose mean over a stretch is theta and the
difference of psi at its ends: a constant column of B. A follower force turns with that angle.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...machine.arm import Actuator, Arm
from ...model import FloatArray, Signal
from ..loads import ALONG, POINT, TIP_TORQUE, load_signals, plane_kind, turned
from .mesh import Field, Station, Tree
from .motion import TreeMotion, work

GAUSS = np.polynomial.legendre.leggauss(12)
"""Where a spread follower force is taken."""


class Part(NamedTuple):
    """A part of a force: its input, where it acts, its kind and weight, and the row of eta of the angle there."""

    column: int
    station: Station
    kind: int
    weight: float
    angle: FloatArray

    def direction(self, eta: FloatArray) -> tuple[complex, complex]:
        """Return the direction of the force and its derivative by the angle."""
        theta = float(self.angle @ eta)
        x, y, dx, dy = turned(self.kind, np.cos(theta), np.sin(theta))
        return complex(x, y), complex(dx, dy)


class TreeLoads:
    """The inputs behind the forces at the tip.

    Attributes
    ----------
    signals : tuple of Signal
        The inputs.
    parts : list of Part
        The forces.
    moments : ndarray
        Constant columns of B, n x inputs, of the moments; zero for forces.
    """

    def __init__(self, tree: Tree, arm: Arm, taken: tuple[Signal, ...]) -> None:
        self.tree, self.first = tree, len(taken)
        self.signals = (TIP_TORQUE, *load_signals(arm, (*taken, TIP_TORQUE)))
        self.parts: list[Part] = []
        self.moments = np.zeros((tree.size, len(self.signals)))
        self.moments[:, 0] = tree.slope(arm.tip_link, 1.0) @ tree.T
        for k, actuator in enumerate(arm.actuators, 1):
            if actuator.kind == "moment":
                self.moments[:, k] = self._mean_angle(actuator) @ tree.T
            else:
                self.parts += self._force(self.first + k, actuator)

    def _mean_angle(self, actuator: Actuator) -> FloatArray:
        tree, link, span = self.tree, actuator.link - 1, actuator.end - actuator.start
        row = tree.slope(link, 0.5 * (actuator.start + actuator.end))
        if span >= POINT and tree.shapes[link].size:
            low, high = (tree.shapes[link].field(s).b[0] for s in (actuator.start, actuator.end))
            row[tree.elastic[link]] = (high - low) / (span * tree.shapes[link].length)
        return row

    def _force(self, column: int, actuator: Actuator) -> list[Part]:
        tree, link, kind = self.tree, actuator.link - 1, plane_kind(actuator)
        middle, half = 0.5 * (actuator.start + actuator.end), 0.5 * (actuator.end - actuator.start)
        if 2.0 * half < POINT:
            return [Part(column, tree.station(link, middle), kind, 1.0, tree.slope(link, middle))]
        if kind >= ALONG:
            at = [(float(middle + half * x), float(0.5 * w)) for x, w in zip(*GAUSS, strict=True)]
            return [Part(column, tree.station(link, s), kind, w, tree.slope(link, s)) for s, w in at]
        x, w = np.polynomial.legendre.leggauss(48)  # as the mass of a link
        f = tree.shapes[link].field(middle + half * x)
        mean = Field(*(np.tensordot(0.5 * w, part, axes=1)[None] for part in f))
        return [Part(column, Station(link, mean), kind, 1.0, tree.slope(link, middle))]

    def along(self, link: int, eta: FloatArray, u: FloatArray) -> FloatArray:
        """Return the force [N] along a link that loads on it and beyond it make (nt), at coordinates and inputs."""
        axis = np.exp(1j * (eta @ self.tree.slope(link, 0.0)))
        force = np.zeros(len(u), complex)
        if self.tree.carries(link, self.tree.tip.link):
            force += u[:, self.first - 2] + 1j * u[:, self.first - 1]  # tip_force_x, tip_force_y
        for part in self.parts:
            if self.tree.carries(link, part.station.link):
                theta = eta @ part.angle
                x, y, *_ = turned(part.kind, np.cos(theta), np.sin(theta))
                force += part.weight * u[:, part.column] * (x + 1j * np.asarray(y))
        return np.asarray((np.conj(axis) * force).real)

    def columns(self, motion: TreeMotion) -> FloatArray:
        """Return the columns of B in a pose, n x inputs."""
        B = self.moments.copy()
        for part in self.parts:
            force = np.array([part.weight * part.direction(motion.q)[0]])
            B[:, part.column - self.first] += self.tree.T.T @ work(motion.at(part.station).J, force)
        return B

    def bend(self, motion: TreeMotion, u: FloatArray, K: FloatArray) -> None:
        """Add the derivatives of -B u at given u."""
        for part in self.parts:
            f = part.weight * u[part.column]
            if f == 0.0:
                continue
            force, change = (f * x for x in part.direction(motion.q))
            motion.bend(part.station.link, part.station.field, np.array([-force]), K)
            if part.kind >= ALONG:
                K -= np.outer(work(motion.at(part.station).J, np.array([change])), part.angle)
