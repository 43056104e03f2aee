"""The common part of the planar and the spatial arm of beams: joints and their drives, the rigid arm, rest and start.

Joint variables, "angles" for short, are angles [rad]; of a prismatic joint the free length [m] of what slides.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import DefinitionError, require, unknown
from ..machine.arm import Arm, Payload
from ..model import FloatArray, Signal, Tangent, Unconstrained
from .features import check_bare
from .ranges import BENDING, CHAIN, CHORD, Driven, squared, turns
from .rest import commanded_joints, settle

Array = npt.NDArray[Any]
IntArray = npt.NDArray[np.int64]
STRONG = 0.2
"""Modal damping ratio above which the compiled steppers, whose tangent leaves it out, would need many corrections."""
ANALYSES = ("nonlinear", "linear", "quasi_static")
Motion = tuple[FloatArray, FloatArray, FloatArray]
"""Coordinates, rates, accelerations."""


class SerialArm(Unconstrained, ABC):
    """A serial arm in absolute coordinates with the joint variables among them."""

    kind: str
    features: frozenset[str]
    letters: str
    mesh: Any
    inputs: tuple[Signal, ...]
    B: FloatArray
    C: FloatArray
    rows: tuple[int, ...]
    """Coordinate that each input acts on, also where its lever, as a servo's damping, is 0."""

    def __init__(self, arm: Arm, elements: int | Sequence[int], analysis: str, stiffening: bool) -> None:
        check_bare(arm, self.kind, self.features)
        if analysis not in ANALYSES:
            raise unknown("analysis", analysis, ANALYSES)
        if not stiffening and analysis == "nonlinear":
            raise DefinitionError(
                'stiffening = false has no effect with analysis = "nonlinear", which has the axial forces in it; leave '
                'it out, or use analysis = "linear" or "quasi_static"'
            )
        self.arm, self.elements, self.analysis, self.stiffening = arm, elements, analysis, bool(stiffening)
        self.kp, self.kv = (
            np.array([getattr(j, f"servo_{part}") for j in arm.joints]) for part in ("stiffness", "damping")
        )
        damping = arm.damping
        self.alpha, self.beta = (damping.alpha, damping.beta) if damping.kind == "rayleigh" else (0.0, 0.0)

    def _lay_out(self, coordinates: tuple[Signal, ...], outputs: tuple[Signal, ...]) -> None:
        """Set coordinates, outputs, inputs and the matrix of these."""
        self.coordinates, self.outputs = coordinates, outputs
        self.inputs, self.B = self._inputs()

    def _damp(self) -> None:
        """Set the matrix of modal damping, empty where there is none."""
        damping = self.arm.damping
        modal = damping.kind == "modal" and damping.ratio > 0
        self.C = self._modal_damping(damping.ratio) if modal else np.zeros((0, 0))

    @abstractmethod
    def _modal_damping(self, ratio: float) -> FloatArray:
        """Return the damping between strains that gives every flexible mode this ratio."""

    def _inputs(self) -> tuple[tuple[Signal, ...], FloatArray]:
        """Return the inputs, joints first, then the force at the tip, and their constant matrix B."""
        signals: list[Signal] = []
        columns: list[tuple[int, float]] = []
        for i, (joint, phi) in enumerate(zip(self.arm.joints, self.mesh.joint, strict=True), 1):
            if joint.drive == "servo":
                unit = "rad" if joint.revolute else "m"
                signals += [Signal(f"joint{i}_command", unit), Signal(f"joint{i}_command_rate", f"{unit}/s")]
                columns += [(phi, joint.servo_stiffness), (phi, joint.servo_damping)]
            else:
                signals.append(Signal(*_effort(i, joint.revolute)))
                columns.append((phi, 1.0))
        for axis, letter in enumerate(self.letters):
            signals.append(Signal(f"tip_force_{letter}", "N"))
            columns.append((self.mesh.node[-1, axis], 1.0))
        B = np.zeros((self.mesh.size, len(signals)))
        self.rows = tuple(int(row) for row, _ in columns)
        for j, (row, lever) in enumerate(columns):
            B[row, j] = lever
        return tuple(signals), B

    @property
    def joints(self) -> dict[str, str]:
        """Torque (or force) input of each joint that has one, and the coordinate it acts on."""
        free = [(i, j) for i, j in enumerate(self.arm.joints, 1) if j.drive != "servo"]
        return {_effort(i, joint.revolute)[0]: f"joint{i}" for i, joint in free}

    @property
    def commands(self) -> dict[str, tuple[str, str]]:
        """Inputs for commanded angle and rate of each servo joint, by coordinate."""
        servos = [f"joint{i}" for i, j in enumerate(self.arm.joints, 1) if j.drive == "servo"]
        return {name: (f"{name}_command", f"{name}_command_rate") for name in servos}

    def pose(self, angles: Sequence[float] | FloatArray) -> FloatArray:
        """Return the coordinates of the undeformed arm with these joint variables."""
        zero = np.zeros(self.mesh.joint.size)
        return self.rigid_motion(angles, zero, zero)[0]

    def rigid_motion(self, angles: npt.ArrayLike, rates: npt.ArrayLike, accelerations: npt.ArrayLike) -> Motion:
        """Return coordinates, rates, accelerations (.., n) of the rigid arm from those of its joints (.., joints)."""
        joints = self.mesh.joint.size
        given = [np.asarray(x, float) for x in (angles, rates, accelerations)]
        for x in given:
            require(x.shape[-1:] == (joints,), f"joint values of shape {x.shape} given; the arm has {joints} joints")
        return self._rigid_motion(given[0], given[1], given[2])

    @abstractmethod
    def _rigid_motion(self, angles: FloatArray, rates: FloatArray, accelerations: FloatArray) -> Motion:
        """Return what `rigid_motion` promises, from checked arrays."""

    def reference(self) -> FloatArray:
        """Return the undeformed arm with the joint variables of its definition."""
        return self.pose(self.arm.reference_joints)

    def rest(self, angles: Sequence[float] | FloatArray) -> FloatArray:
        """Return the arm at rest under its weight, its joints held at (servo joints: commanded to) these variables.

        A linear or quasi-static model gives the deformation to first order: one iteration, with the
        stiffness that the axial forces of the rigid arm add.
        """
        phi = np.asarray(angles, float)
        if self.analysis != "nonlinear":
            q = self.pose(phi)
            return q - self._correction(q, phi, 1.0, self.prestress(phi) if self.stiffening else None)
        return settle(self.pose(phi), lambda q, part: self._correction(q, phi, part, None), phi)

    def _correction(self, q: FloatArray, angles: FloatArray, part: float, extra: FloatArray | None) -> FloatArray:
        """Return Newton's correction for a part of the weight; held joints do not move."""
        zero, phi = np.zeros(q.size), self.mesh.joint
        residual = self.force(q, zero) + (1.0 - part) * self.load(q)
        residual[phi] -= self.kp * angles
        K = self.tangent(q, zero, zero, np.zeros(len(self.inputs)), np.zeros(0)).stiffness
        free = np.ones(q.size, bool)
        free[phi] = self.kp > 0
        step = np.zeros(q.size)
        total = K if extra is None else K + extra
        step[free] = np.linalg.solve(total[np.ix_(free, free)], residual[free])
        return step

    @property
    def own_stepper(self) -> bool:
        """Whether `stepper` gives a compiled stepper: not with modal damping so strong that its iteration is slow."""
        return not self.C.size or self.arm.damping.ratio <= STRONG

    @abstractmethod
    def load(self, q: FloatArray) -> FloatArray:
        """Return the weight as forces on the coordinates."""

    @abstractmethod
    def prestress(self, angles: FloatArray) -> FloatArray:
        """Return the stiffness of the axial forces that the weight causes in the rigid arm."""

    @abstractmethod
    def force(self, q: Any, v: Any, t: float = 0.0) -> FloatArray:
        """Return h."""

    @abstractmethod
    def tangent(self, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray, lam: FloatArray) -> Tangent:
        """Return M, D, K."""

    def start(self, commands: Mapping[str, Sequence[float]]) -> tuple[FloatArray, FloatArray]:
        """Return coordinates and rates where commanded joints begin, by name their variable and its rate.

        Bent by the weight if every joint is commanded; otherwise the arm is undeformed, other joints as defined.
        """
        angles, rates = commanded_joints(self.arm, commands)
        q, v, _ = self.rigid_motion(angles, rates, 0.0 * rates)
        return (self.rest(angles) if len(commands) == angles.size and any(self.arm.gravity) else q), v

    def assumptions(self, q: FloatArray, v: FloatArray) -> list[Driven]:
        """Return how far recorded coordinates (nt x n) drive the assumptions: straight elements, a linear analysis."""
        largest = {
            f"link {self.mesh.link[elements[0]] + 1}": np.abs(self._turns(elements, q) - turn).max(axis=1)
            for elements, turn in self.undeformed_turns
        }
        if self.analysis == "nonlinear":
            told = [(f"turn of an element of {name}", x) for name, x in largest.items()]
            return [squared(what, x, "rad", CHORD, "more elements") for what, x in told]
        remedy = 'analysis = "nonlinear"'
        found = [squared(f"bending angle of {name}", x, "rad", BENDING, remedy) for name, x in largest.items()]
        if len(largest) > 1:
            found.append(squared("bending angle of all links", sum(largest.values()), "rad", CHAIN, remedy))
        return found

    @property
    def furthest(self) -> int:
        """How many assumptions the compiled steps follow, see `kernels.furthest`: one a link, and the last of all."""
        return {"nonlinear": 0, "linear": 1}.get(self.analysis, -len(self.arm.links)) + len(self.arm.links)

    @cached_property
    def undeformed_turns(self) -> list[tuple[IntArray, FloatArray]]:
        """The elements of each link that has several, and how far they turn in the undeformed arm [rad]."""
        links = (np.flatnonzero(self.mesh.link == i) for i in range(len(self.arm.links)))
        rest = self.reference()[None]
        return [(elements, self._turns(elements, rest)) for elements in links if elements.size > 1]

    def _turns(self, elements: IntArray, q: FloatArray) -> FloatArray:
        """Return how far the elements of a link turn: of a linear analysis against its first one, else each against
        the one before.
        """
        nodes = self.mesh.node[np.append(elements, elements[-1] + 1), : len(self.letters)]
        places = np.where(nodes >= 0, q[:, np.maximum(nodes, 0)], 0.0)
        return turns(places, neighbours=self.analysis == "nonlinear")

    def with_payload(self, mass: float, inertia: float = 0.0) -> Any:
        """Return the model with another payload [kg], [kg m^2]."""
        arm, kind = replace(self.arm, payload=Payload(mass, inertia)), type(self)
        build: Any = kind
        return build(arm, elements=self.elements, analysis=self.analysis, stiffening=self.stiffening)

    def input_matrix(self, q: FloatArray) -> FloatArray:
        """Return the constant B."""
        return self.B


def _effort(number: int, revolute: bool) -> tuple[str, str]:
    """Return name and unit of what drives a joint."""
    return (f"joint{number}_torque", "N m") if revolute else (f"joint{number}_force", "N")
