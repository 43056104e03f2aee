"""Loads of a spatial arm: moments at the tip, and forces and moments along the links proper.

Positions are linear within an element, so that a load acts on the ends of elements by its shares; a dead one keeps its
direction in the base frame, a follower has, at each end, that of the section's axes. A moment does work on the spin of
the section: T(psi)^T m acts on the rotation vector, axis . exp(psi)^T m on every joint before it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...errors import require
from ...machine.arm import Actuator, Arm
from ...model import FloatArray, Signal
from ..loads import load_signals, shares
from .assembly import assemble, slopes
from .element import Joints, place, pull
from .mesh import SpatialMesh
from .rigid import frames

Array = npt.NDArray[Any]
AXES = "xyz"


class Part(NamedTuple):
    """A part of a load: its input, the node and link it acts on, the element whose left end that is (-1: a node's),
    the axis, whether it is a moment and a follower, and its weight."""

    column: int
    node: int
    link: int
    left: int
    axis: int
    moment: bool
    follower: bool
    weight: float


class SpatialLoads:
    """The inputs behind the forces at the tip.

    Attributes
    ----------
    signals, parts
        The inputs, and how each acts on the ends of elements.
    """

    def __init__(self, mesh: SpatialMesh, arm: Arm, taken: tuple[Signal, ...]) -> None:
        self.mesh, self.first = mesh, len(taken)
        torques = tuple(Signal(f"tip_torque_{x}", "N m", "on the tip's section, fixed in the base frame") for x in AXES)
        self.signals = (*torques, *load_signals(arm, (*taken, *torques)))
        last, J = len(mesh.node) - 1, mesh.joint.size
        self.parts = [Part(self.first + axis, last, J - 1, -1, axis, True, False, 1.0) for axis in range(3)]
        for column, actuator in enumerate(arm.actuators, self.first + 3):
            self.parts += self._parts(column, actuator)
        self.column, node, self.link, left, self.axis = (
            np.array([part[k] for part in self.parts], np.int64) for k in range(5)
        )
        self.weight = np.array([part.weight for part in self.parts])
        self.moment, self.follower = (np.array([part[k] for part in self.parts], bool) for k in (5, 6))
        self.offset = np.where((left >= 0)[:, None, None], mesh.offset[np.maximum(left, 0)], 0.0)
        self.dof = np.hstack([mesh.node[node], np.broadcast_to(mesh.joint, (node.size, J))])

    def _parts(self, column: int, actuator: Actuator) -> list[Part]:
        mesh, i = self.mesh, actuator.link - 1
        own = mesh.segment(i, kink=False)
        require(own.size > 0, f'actuator "{actuator.name}": link {i + 1} has length 0; name a link that has one')
        nodes, axis = np.append(mesh.station[own, 0], mesh.station[own[-1], 1]), AXES.index(actuator.axis)
        rest = (axis, actuator.kind == "moment", actuator.follower)
        found = []
        for share in shares(nodes, actuator.start, actuator.end):
            e = int(own[share.element])
            if share.left:
                found.append(Part(column, e, i, e, *rest, share.left))
            if share.right:
                found.append(Part(column, e + 1, i, -1, *rest, share.right))
        return found

    def _forces(self, local: list[Array], joints: Joints) -> Array:
        """Return what unit loads do on the local coordinates, .. x parts x (6 + J)."""
        f = frames(self.mesh, *joints)
        p = place(f, self.link, self.offset if self.offset.any() else None, local[0], local[1], local[2])
        own = np.take_along_axis(p.R, self.axis.reshape(-1, 1, 1) + np.zeros((*p.R.shape[:-1], 1), np.int64), axis=-1)
        unit = np.where(self.follower[:, None], own[..., 0], np.eye(3)[self.axis])
        unit = unit * self.weight[:, None]
        force, moment = (np.where(kind[:, None], unit, 0.0) for kind in (~self.moment, self.moment))
        return np.concatenate(pull(p, f, self.link, force, moment), axis=-1)

    def columns(self, local: list[Array], joints: Joints) -> FloatArray:
        """Return the columns of B, n x inputs."""
        B = np.zeros((self.mesh.size + 1, len(self.signals)))
        np.add.at(B, (self.dof, (self.column - self.first)[:, None]), self._forces(local, joints))
        return B[:-1]

    def slope(self, local: list[Array], joints: Joints, u: FloatArray) -> FloatArray:
        """Return d(B u)/dq."""
        amount = u[self.column][:, None]
        block = slopes(lambda x, phi: amount * self._forces(x, phi), local, joints)[0]
        return assemble(self.mesh.size, self.dof, block)
