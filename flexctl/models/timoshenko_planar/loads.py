"""Loads of a planar arm of beams: the tip's moment, and forces and moments along the links.

Positions and angles are linear within an element, so that a load acts on the ends of elements by its shares; a
follower force has, at each end, the direction of the section there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...machine.arm import Arm
from ...model import FloatArray, Signal
from ..loads import ALONG, MOMENT, TIP_TORQUE, Push, X, load_signals, pushes, turned
from .mesh import Mesh, spread

Array = npt.NDArray[Any]


class PlanarLoads:
    """The inputs behind the forces at the tip, their constant columns, and what followers add to B(q).

    Attributes
    ----------
    signals : tuple of Signal
        The inputs.
    parts : list of Push
        How each acts on the ends of elements.
    dead : ndarray
        Columns of B that do not depend on the pose, n x inputs.
    """

    def __init__(self, mesh: Mesh, arm: Arm, taken: tuple[Signal, ...]) -> None:
        self.mesh, self.first = mesh, len(taken)
        self.signals = (TIP_TORQUE, *load_signals(arm, (*taken, TIP_TORQUE)))
        self.parts = pushes(arm, mesh.station, mesh.link, self.first)
        self.followers = [part for part in self.parts if part.kind in (ALONG, ALONG + 1)]
        wide = np.zeros((mesh.size + 1, len(self.signals)))
        for part in self.parts:
            if part not in self.followers:
                rows = self._turn(part) if part.kind == MOMENT else self._place(part)[[part.kind - X]]
                for row in rows:
                    wide[row, part.column - self.first] += part.weight
        self.dead = wide[:-1]

    def _place(self, part: Push) -> Array:
        """Return the coordinates x, y of the end."""
        dof: Array = self.mesh.dof[part.element]
        return dof[3 * part.end : 3 * part.end + 2]

    def _turn(self, part: Push) -> Array:
        """Return the coordinates whose sum is the angle of the end."""
        dof: Array = self.mesh.dof[part.element]
        return dof[[5]] if part.end else dof[[2, 6]]

    def add(self, B: Array, q: Array) -> Array:
        """Return B with the follower forces in the pose."""
        if not self.followers:
            return B
        local, n = spread(self.mesh, q), self.mesh.size
        wide = np.vstack([B.astype(np.result_type(B, q)), np.zeros(B.shape[1])])
        for part in self.followers:
            theta = local[part.element, 2 + 3 * part.end]
            wide[self._place(part), part.column] += part.weight * np.array(
                turned(part.kind, np.cos(theta), np.sin(theta))[:2]
            )
        return wide[:n]

    def slope(self, q: FloatArray, u: FloatArray) -> FloatArray | float:
        """Return d(B u)/dq."""
        if not self.followers:
            return 0.0
        local, n = spread(self.mesh, q), self.mesh.size
        wide = np.zeros((n + 1, n + 1))
        for part in self.followers:
            theta = local[part.element, 2 + 3 * part.end]
            by_turn = part.weight * u[part.column] * np.array(turned(part.kind, np.cos(theta), np.sin(theta))[2:])
            for column in self._turn(part):
                wide[self._place(part), column] += by_turn
        return wide[:n, :n]
