"""The kinematics of an ANCF arm: joints, closures, the rigid arm, the arm at rest."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import NotAvailable, require
from ...machine.arm import Arm
from ...model import FloatArray
from ..ranges import CHORD, Driven, squared
from ..rest import commanded_joints, settle
from ..sensors import rigid_tip
from ..timoshenko_planar.rigid import Motion
from .mesh import AncfMesh, Expanded, chain, expand
from .rigid import rigid_motion, rigid_torques, turning
from .sensors import AncfSensors

Array = npt.NDArray[Any]


class AncfArm(ABC):
    """The part of `ancf.Ancf` that knows no elasticity; the attributes are set there."""

    arm: Arm
    mesh: AncfMesh
    sensors: AncfSensors
    root: str
    revolute: str
    base: float
    alpha: float
    rotor: FloatArray
    blocks: FloatArray
    load: FloatArray

    @property
    def clamped(self) -> bool:
        """Whether joint 1 is welded."""
        return self.root == "clamped"

    @property
    def joints(self) -> dict[str, str]:
        """Torque input of each torque-driven joint and the coordinate it acts on."""
        first = int(self.clamped)
        turned = list(enumerate(self.arm.joints, 1))[first:]
        return {f"joint{i}_torque": f"joint{i}" for i, j in turned if j.drive != "servo"}

    @property
    def commands(self) -> dict[str, tuple[str, str]]:
        """Inputs for commanded angle and rate of each servo joint, by coordinate."""
        servos = [f"joint{i}" for i, j in enumerate(self.arm.joints, 1) if j.drive == "servo"]
        return {name: (f"{name}_command", f"{name}_command_rate") for name in servos}

    @property
    def closures(self) -> tuple[str, ...]:
        """The positions that multipliers hold together."""
        if self.revolute == "shared":
            return ()
        return tuple(f"joint{i + 1}_{axis}" for i in range(len(self.arm.joints)) for axis in "xy")

    def closure(self, q: FloatArray) -> FloatArray:
        """Return r_root - r_end of each joint."""
        return self._C() @ q

    def closure_jacobian(self, q: FloatArray) -> FloatArray:
        """Return the constant C."""
        return self._C()

    def closure_bias(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Return zero."""
        return np.zeros(len(self.closures))

    def assumptions(self, q: FloatArray, v: FloatArray) -> list[Driven]:
        """Return how far recorded coordinates (nt x n) drive what an element can follow: the turn within it.

        Its section is linear along it: between ends that are turned by phi it is compressed across by up to phi^2 / 8,
        which costs the more the longer the element is against its height.
        """
        mesh, found = self.mesh, []
        full = np.hstack([q, np.zeros((len(q), 3))])  # constants of a clamped base, and what is zero
        slopes = full[:, mesh.place[:, 2:4]]
        for i in range(mesh.roots.size):
            left = mesh.left[mesh.link == i]
            a, b = slopes[:, left], slopes[:, left + 1]
            turn = np.arctan2(a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0], (a * b).sum(axis=-1))
            what = f"turn within an element of link {i + 1}"
            own = mesh.costs[mesh.link == i]
            worst = int((own * (turn**2).max(axis=0)).argmax())
            found.append(squared(what, turn[:, worst], "rad", float(own[worst]), "more elements"))
        return found

    @property
    def furthest(self) -> int:
        """How many assumptions the compiled steps follow, see `kernels.furthest`: one a link."""
        return len(self.arm.links)

    def _C(self) -> FloatArray:
        C, mesh = np.zeros((len(self.closures), self.mesh.size)), self.mesh
        for i in range(len(self.closures) // 2):
            C[[2 * i, 2 * i + 1], mesh.place[mesh.roots[i], :2]] = 1.0
            if i:
                C[[2 * i, 2 * i + 1], mesh.place[mesh.roots[i] - 1, :2]] = -1.0
        return C

    def pose(self, angles: Sequence[float] | FloatArray) -> FloatArray:
        """Return the coordinates of the undeformed arm with these joint angles [rad]."""
        zero = np.zeros(len(self.arm.joints))
        return self.rigid_motion(angles, zero, zero)[0]

    def rigid_motion(self, angles: npt.ArrayLike, rates: npt.ArrayLike, accelerations: npt.ArrayLike) -> Motion:
        """Return coordinates, rates, accelerations (.., n) of the rigid arm from those of its joints (.., joints)."""
        a, b, c = self._given(angles, rates, accelerations)
        return rigid_motion(self.mesh, a, b, c)

    def rigid_torques(self, angles: npt.ArrayLike, rates: npt.ArrayLike, accelerations: npt.ArrayLike) -> FloatArray:
        """Return the joint torques (.., joints) [N m] that move the rigid arm: inverse dynamics, weight included."""
        a, b, c = self._given(angles, rates, accelerations)
        needed = rigid_torques(self.mesh, self.blocks, self.load, self.alpha, a, b, c)
        return np.asarray(needed + self.rotor * (c + self.alpha * b))

    def _given(self, *values: Any) -> list[FloatArray]:
        joints, given = len(self.arm.joints), [np.asarray(x, float) for x in values]
        for x in given:
            require(x.shape[-1:] == (joints,), f"joint values of shape {x.shape} given; the arm has {joints} joints")
        return given

    def rigid_tip(self, angles: FloatArray) -> FloatArray:
        """Return the tip (.., 2) [m] of the rigid arm with joint angles (.., joints) [rad]."""
        return np.asarray(rigid_tip(self.sensors.lengths, angles))

    def turning(self, rates: npt.ArrayLike, angles: npt.ArrayLike | None = None) -> FloatArray:
        """Return W of d(R z)/dt = R (z' + W z) in the frames that turn with the links at these joint rates [rad/s]."""
        return turning(self.mesh, np.asarray(rates, float))

    def reference(self) -> FloatArray:
        """Return the undeformed arm with the joint angles of its definition."""
        return self.pose([joint.angle for joint in self.arm.joints])

    @property
    def weight(self) -> FloatArray:
        """Weight of everything, as constant forces on the coordinates."""
        q = self.reference()
        return np.asarray(chain(self.mesh, self._expand(q))[0].T @ self.load)

    def rest(self, angles: Sequence[float] | FloatArray) -> FloatArray:
        """Return the arm at rest under its weight, its joints held at (servo joints: commanded to) these angles [rad].

        A clamped base stays at its angle.
        """
        if self.closures:
            raise NotAvailable('a rest pose with revolute = "multipliers" is found by flexctl.equilibrium')
        phi = np.asarray(angles, float)
        return settle(self.pose(phi), lambda q, part: self._correction(q, phi, part), phi)

    @abstractmethod
    def _correction(self, q: FloatArray, angles: FloatArray, part: float) -> FloatArray:
        """Return Newton's correction for a part of the weight; held joints do not move."""

    def start(self, commands: Mapping[str, Sequence[float]]) -> tuple[FloatArray, FloatArray]:
        """Return coordinates and rates where commanded joints begin, by name their angle [rad] and rate [rad/s].

        Bent by the weight if every joint is commanded; otherwise the arm is undeformed, other joints as defined.
        """
        angles, rates = commanded_joints(self.arm, commands)
        q, v, _ = self.rigid_motion(angles, rates, 0.0 * rates)
        every = len(commands) == angles.size - self.clamped and any(self.arm.gravity[:2]) and not self.closures
        return (self.rest(angles) if every else q), v

    def _expand(self, q: Array, v: Array | None = None, a: Array | None = None) -> Expanded:
        zero = np.zeros_like(q)
        return expand(self.mesh, self.base, q, zero if v is None else v, zero if a is None else a)
