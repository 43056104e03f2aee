"""Joints moved by hydraulic cylinders: a linear actuator of third order in series with the motion-driven arm.

    p''' + c2 p'' + c1 p' + c0 (p - p_ref - command) = 0        position loop closed, c0 = K wh^2
    p''' + c2 p'' + c1 (p' - valve) = 0                         no position loop (K = 0)
    c1 = wh^2,   c2 = 2 zeta wh

The cylinder holds its course whatever the arm does: the arm follows p, p' and p'' as `wrappers.motion_driven` has it,
and what this takes is an output under the name of the torque. `command` [rad] is the commanded angle less the reference
angle of the joint; `valve` [rad/s] is the rate that a constant opening of the valve leads to. Nothing is
differentiated: the acceleration is a state. In the form of every other model it is the rate of a coordinate z of its
own,

    p'' - z' = 0,        z'' + c2 z' + c1 p' + c0 (p - p_ref) = b u

of which the value means nothing (`lags`); `linearise` keeps z' only. The reference pose is at rest under the weight.

Source: Lee, Huggins and Book 1988, "Experimental verification of a large flexible manipulator", section 4, on the
cylinder's response with and without the structure attached; after Merritt 1967, "Hydraulic Control Systems".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...abilities import CompiledHydraulic, Startable, joints_of
from ...machine.arm import Joint
from ...model import (
    Compiled,
    Energy,
    FloatArray,
    MechanicalModel,
    OperatingPoint,
    OutputTangent,
    Signal,
    Tangent,
    closure_turn,
    with_payload,
)
from .motion_driven import MotionDriven


class Cubic(NamedTuple):
    """p''' + c2 p'' + c1 p' + c0 p = b u."""

    c0: float
    c1: float
    c2: float
    b: float

    @classmethod
    def of(cls, joint: Joint) -> Cubic:
        """Return the constants of a joint's cylinder."""
        w = 2.0 * np.pi * joint.hydraulic_frequency
        c0, c1 = joint.hydraulic_gain * w**2, w**2
        return cls(c0, c1, 2.0 * joint.hydraulic_damping * w, c0 or c1)


class HydraulicDriven:
    """See the module docstring.

    Parameters
    ----------
    model : MechanicalModel
        The model with these joints driven by torque.
    joints : mapping
        Input name of each hydraulic joint and the name of its coordinate, e.g. ``{"joint1_torque": "joint1"}``.
    cylinders : sequence of Joint
        The joints of the arm of the same order, which know their cylinders.
    """

    def __init__(self, model: MechanicalModel, joints: Mapping[str, str], cylinders: Sequence[Joint]) -> None:
        self.inner, self.kind = model, model.kind
        self._joints, self.cylinders = dict(joints), tuple(cylinders)
        self.moved = MotionDriven(model, joints)
        self.p, self.led = self.moved.p, self.moved.led
        self.cubics = np.array([Cubic.of(joint) for joint in cylinders])
        self.n, self.k = len(model.coordinates), len(self.p)
        own = [model.coordinates[i] for i in self.p]
        self.coordinates = model.coordinates + tuple(
            Signal(f"{q.name}_servo", f"{q.unit}/s", "its rate is the acceleration of the joint") for q in own
        )
        self.inputs = tuple(map(_input, own, self.cylinders)) + self.moved.inputs[self.k :]
        shaken = tuple(Signal(f"{q.name}_acceleration", f"{q.unit}/s^2") for q in own)
        self.outputs, self.closures = self.moved.outputs + shaken, self.moved.closures
        self.home = model.reference()[self.p]
        self._compiled: Compiled | None = None

    @property
    def lags(self) -> dict[str, Signal]:
        """Coordinates of which the rate alone means something, and what it is."""
        own = [self.inner.coordinates[i] for i in self.p]
        return {f"{q.name}_servo": Signal(f"{q.name}_acceleration", f"{q.unit}/s^2") for q in own}

    @property
    def joints(self) -> dict[str, str]:
        """Torque input of each joint that is driven by torque still, and its coordinate."""
        return {torque: name for torque, name in joints_of(self.inner).items() if torque not in self._joints}

    @property
    def commands(self) -> dict[str, tuple[str]]:
        """Input for the commanded angle of each joint with a position loop, by coordinate."""
        closed = zip(self.led, self.inputs, self.cylinders, strict=False)
        return {name: (signal.name,) for name, signal, joint in closed if joint.hydraulic_gain > 0}

    @property
    def origins(self) -> dict[str, float]:
        """Reference angle of each hydraulic joint, from which its command counts."""
        return dict(zip(self.led, self.home.tolist(), strict=True))

    def reference(self) -> FloatArray:
        """Return the pose at rest under the weight, joints at their reference angles."""
        return self._rest.q.copy()

    def rest_point(self) -> OperatingPoint:
        """Return the equilibrium in the reference pose: no command, torques as they need be."""
        return self._rest

    @cached_property
    def _rest(self) -> OperatingPoint:
        from ...linear.equilibrium import equilibrium  # a higher layer, needed here only

        first = self._extended(self.inner.reference())
        holds = dict(zip(self.led, (signal.name for signal in self.inputs), strict=False))
        holds |= {name: torque for torque, name in self.joints.items()}
        named = [s.name for s in self.coordinates]
        hold = {name: float(first[named.index(name)]) for name in holds}
        found = equilibrium(self, hold=hold, balance=list(holds.values()), guess=first)
        found.u[: self.k] = 0.0  # a command that is zero but for rounding
        return found

    def start(self, commands: Mapping[str, Sequence[float]]) -> tuple[FloatArray, FloatArray]:
        """Return the arm at rest where commanded joints begin, by name their angle [rad] and rate, which is not used.

        The cylinders stand still in the beginning: a command that moves at once is caught up with.
        """
        held = {**self.origins, **{name: float(value[0]) for name, value in commands.items()}}
        if isinstance(self.inner, Startable):
            q = self.inner.start({name: (angle, 0.0) for name, angle in held.items()})[0]
        else:
            q = self.inner.reference()
            q[self.p] = [held[name] for name in self.led]
        return self._extended(q), np.zeros(self.n + self.k)

    def _extended(self, q: FloatArray) -> FloatArray:
        return np.concatenate([q, np.zeros(self.k)])

    def _moving(self, v: FloatArray, u: FloatArray) -> FloatArray:
        """Return the inputs of the motion-driven arm: the accelerations are states."""
        return np.concatenate([v[self.n :], u[self.k :]])

    def mass(self, q: FloatArray) -> FloatArray:
        """Return the mass of the motion-driven arm and the identity for the cylinders."""
        M = np.eye(self.n + self.k)
        M[: self.n, : self.n] = self.moved.mass(q[: self.n])
        return M

    def force(self, q: FloatArray, v: FloatArray, t: float = 0.0) -> FloatArray:
        """Return the force on the arm less what the accelerations of the joints do, and the cylinders' own."""
        qm, vm, z = q[: self.n], v[: self.n], v[self.n :]
        c0, c1, c2, _ = self.cubics.T
        arm = self.moved.force(qm, vm, t) - self.moved.input_matrix(qm)[:, : self.k] @ z
        return np.concatenate([arm, c2 * z + c1 * vm[self.p] + c0 * (qm[self.p] - self.home)])

    def input_matrix(self, q: FloatArray) -> FloatArray:
        """Return the columns of commands or valves, and of the inputs of the arm that stay."""
        B = np.zeros((self.n + self.k, len(self.inputs)))
        B[: self.n, self.k :] = self.moved.input_matrix(q[: self.n])[:, self.k :]
        B[self.n :, : self.k] = np.diag(self.cubics[:, 3])
        return B

    def tangent(self, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray, lam: FloatArray) -> Tangent:
        """Return the derivatives of the whole left side."""
        n, k = self.n, self.k
        inner = self.moved.tangent(q[:n], v[:n], a[:n], self._moving(v, u), lam)
        M = self.mass(q)
        M[:n, :n] = inner.mass
        D, K = np.zeros_like(M), np.zeros_like(M)
        D[:n, :n], K[:n, :n] = inner.damping, inner.stiffness
        D[:n, n:] = -self.moved.input_matrix(q[:n])[:, :k]
        c0, c1, c2, _ = self.cubics.T
        D[n:, n:] = np.diag(c2)
        D[range(n, n + k), self.p], K[range(n, n + k), self.p] = c1, c0
        return Tangent(M, D, K)

    def output(self, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray) -> FloatArray:
        """Return the sensors of the arm, the torques that the cylinders give [N m], and the joint accelerations."""
        n = self.n
        return np.concatenate([self.moved.output(q[:n], v[:n], a[:n], self._moving(v, u)), v[n:]])

    def output_tangent(self, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray) -> OutputTangent:
        """Return the derivatives of `output`."""
        n, k = self.n, self.k
        c = self.moved.output_tangent(q[:n], v[:n], a[:n], self._moving(v, u))
        ny, own, p = len(c.position), len(self.outputs), len(self.inputs)
        zero = np.zeros((own, n + k))
        parts = OutputTangent(zero, zero.copy(), zero.copy(), np.zeros((own, p)))
        for part, inner in zip(parts[:3], c[:3], strict=True):
            part[:ny, :n] = inner
        parts.rate[:ny, n:], parts.input[:ny, k:] = c.input[:, :k], c.input[:, k:]
        parts.rate[ny:, n:] = np.eye(k)
        return parts

    def closure(self, q: FloatArray) -> FloatArray:
        """Return the closure of the arm."""
        return self.moved.closure(q[: self.n])

    def closure_jacobian(self, q: FloatArray) -> FloatArray:
        """Return the closure Jacobian of the arm; cylinders have none."""
        G = self.moved.closure_jacobian(q[: self.n])
        return np.hstack([G, np.zeros((len(G), self.k))])

    def closure_bias(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Return the closure bias of the arm."""
        return self.moved.closure_bias(q[: self.n], v[: self.n])

    def closure_turn(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Return the d(G v)/dq of the arm."""
        V = closure_turn(self.moved, q[: self.n], v[: self.n])
        return np.hstack([V, np.zeros((len(V), self.k))])

    def closure_forces(self, q: FloatArray) -> FloatArray:
        """Return G^T without the rows of the driven coordinates."""
        W = self.moved.closure_forces(q[: self.n])
        return np.vstack([W, np.zeros((self.k, W.shape[1]))])

    def energy(self, q: FloatArray, v: FloatArray) -> Energy:
        """Return the energy of the arm."""
        return self.inner.energy(q[: self.n], v[: self.n])

    def with_payload(self, mass: float, inertia: float) -> MechanicalModel:
        """Return the model with another payload [kg], [kg m^2]."""
        return HydraulicDriven(with_payload(self.inner, mass, inertia), self._joints, self.cylinders)

    def compiled(self) -> Compiled | None:
        """Return the compiled arm with its cylinders, if the arm has a compiled form."""
        if self._compiled is None and isinstance(self.inner, CompiledHydraulic):
            levers = tuple(float(x) for x in self.moved.lever)
            constants = np.column_stack([self.cubics, self.home])
            self._compiled = self.inner.compiled_hydraulic(tuple(self.p), levers, constants)
        return self._compiled


def _input(joint: Signal, cylinder: Joint) -> Signal:
    if cylinder.hydraulic_gain > 0:
        return Signal(f"{joint.name}_command", joint.unit, "commanded angle less the reference angle")
    return Signal(f"{joint.name}_valve", f"{joint.unit}/s", "rate that the opening of the valve leads to")
