"""A continuous linear law integrated together with the plant.

The law x' = A x + By y + Br r, u = C x + Dy y + Dr r adds coordinates z with z' = x, so that the loop is again a
mechanical model and every integrator serves it:

    M a + h - B (C z' + Dy y(q, v) + Dr r) = B w,        z'' - A z' - By y(q, v) - Br r = 0

r and w (what else acts on the inputs) become inputs, C z' + Dy y is added to the outputs. Sensors that read
accelerations or feed the input through would make an algebraic loop and are refused.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..abilities import sample_time_of
from ..errors import NotAvailable, require
from ..laws.compiled import unlimited
from ..laws.controller import LinearLaw
from ..linear.state_model import StateModel
from ..model import (
    Compiled,
    Energy,
    FloatArray,
    LinearMechanics,
    MechanicalModel,
    OutputTangent,
    Signal,
    Tangent,
    closure_forces,
    index_of,
    with_payload,
)
from ..models.serial import SerialArm
from ..motion.moves import InputSignal, Motion, Part

PREFIX = "analog:"


def analog_loop(
    model: MechanicalModel, law: Any, references: Mapping[str, Motion], inputs: dict[str, InputSignal]
) -> Any:
    """Return the model with the continuous law around it; its reference channels are added to `inputs`."""
    if type(law) is not LinearLaw:
        raise NotAvailable(
            f"a continuous {type(law).__name__} cannot be integrated with the plant here: it acts within steps of the "
            "generalised-alpha family alone, without limits, on compiled models, and reads no accelerations; leave "
            "method out, or give the law a sample_time"
        )
    if np.isfinite(law.lower).any() or np.isfinite(law.upper).any():
        raise NotAvailable("limits on a continuous law are not available; sample the law (sample_time > 0)")
    sampled = sample_time_of(model)
    require(sampled == 0, f"a continuous law on a plant that is sampled every {sampled:g} s: give it this sample_time")
    law = unlimited(law)
    rows = []
    for name in law.follows:
        for part, label in enumerate(("value", "rate", "acceleration")):
            signal = f"{PREFIX}{name}.{label}"
            rows.append(Signal(signal))
            inputs[signal] = Part(references[name], part)
    if isinstance(model, StateModel):
        from .states import StateLoop

        return StateLoop(model, law, tuple(rows), PREFIX)
    return servo_arm(model, law, tuple(rows)) or _surround(model, law, tuple(rows))


def servo_arm(model: MechanicalModel, law: LinearLaw, references: tuple[Signal, ...]) -> Any | None:
    """Return a serial arm whose joints have the law as springs and dampers, so that its own stepper serves; or None.

    A law without states that gives each joint a torque by its own angle and rate is just that. The reference channels
    are inputs that act on the joint with the law's gains.
    """
    if not isinstance(model, SerialArm) or len(law.A) or model.analysis != "nonlinear" or not model.own_stepper:
        return None
    number = {torque: int(joint.removeprefix("joint")) - 1 for torque, joint in model.joints.items()}
    gains = _joint_gains(model, law, number)
    # every reference moves one joint at most
    driven = [np.flatnonzero(column) for column in law.Dr.T]
    if gains is None or any(rows.size > 1 for rows in driven):
        return None
    at = [number[law.drives[rows[0]]] if rows.size else 0 for rows in driven]
    coordinates = [int(model.mesh.joint[i]) for i in at]
    columns = np.zeros((len(model.coordinates), len(references)))
    columns[coordinates, range(len(references))] = law.Dr.sum(axis=0)
    arm: Any = copy.copy(model)
    arm.kp, arm.kv = model.kp + gains[0], model.kv + gains[1]
    known = np.zeros((len(model.coordinates), len(model.inputs)))  # of loads that act in the pose B has no columns
    known[:, : model.B.shape[1]] = model.B
    rows = _rows_of_all_inputs(model, known)
    if rows is None:
        return None
    arm.inputs, arm.B, arm.rows = model.inputs + references, np.hstack([known, columns]), (*rows, *coordinates)
    arm.input_matrix = lambda q: np.hstack([model.input_matrix(q), columns])
    p, measured = len(model.inputs), [index_of("output", name, model.outputs) for name in law.measures]
    place = np.eye(p)[:, [index_of("input", name, model.inputs) for name in law.drives]]
    arm.applied = lambda y, u: u[:, :p] + (y[:, measured] @ law.Dy.T + u[:, p:] @ law.Dr.T) @ place.T
    arm.with_payload = lambda mass, inertia: servo_arm(with_payload(model, mass, inertia), law, references)
    return arm


def _rows_of_all_inputs(model: SerialArm, B: FloatArray) -> tuple[int, ...] | None:
    """Return a coordinate for each input: for a load, which acts through its parts, one on which its column is zero.

    Steppers count inputs by these, so that what is added behind has its own place. None where a load has no such one.
    """
    rows = list(model.rows)
    for k in range(len(rows), len(model.inputs)):
        still = [row for row in model.rows if B[row, k] == 0.0]
        if not still:
            return None
        rows.append(still[0])
    return tuple(rows)


def _joint_gains(model: SerialArm, law: LinearLaw, number: Mapping[str, int]) -> FloatArray | None:
    """Return springs and dampers of all joints, 2 x joints, or None for a law that is not made of such."""
    gains = np.zeros((2, len(model.arm.joints)))
    for row, torque in zip(law.Dy, law.drives, strict=True):
        if torque not in number:
            return None
        i = number[torque]
        own = {f"joint{i + 1}_angle": 0, f"joint{i + 1}_extension": 0, f"joint{i + 1}_rate": 1}
        for gain, name in zip(row, law.measures, strict=True):
            if gain and name not in own:
                return None
            if gain:
                gains[own[name], i] -= gain
    return gains


def _surround(model: MechanicalModel, law: LinearLaw, references: tuple[Signal, ...]) -> AnalogLoop | LinearLoop:
    loop = AnalogLoop(model, law, references)
    if not isinstance(model, LinearMechanics):
        return loop
    bent = {model.outputs[one.row].name for one in model.turned}
    return loop if bent.intersection(law.measures) else LinearLoop(loop, model)


class AnalogLoop:
    """See the module docstring."""

    def __init__(self, model: MechanicalModel, law: LinearLaw, references: tuple[Signal, ...]) -> None:
        self.inner, self.law, self.references = model, law, references
        self.n, self.nz = len(model.coordinates), len(law.A)
        self.p, self.ny = len(model.inputs), len(model.outputs)
        self.kind = f"{model.kind} with analog law"
        self.coordinates = model.coordinates + tuple(Signal(f"{PREFIX}z{i + 1}") for i in range(self.nz))
        self.inputs = model.inputs + references
        self.outputs = model.outputs + tuple(Signal(PREFIX + s.name, s.unit) for s in model.inputs)
        self.closures = model.closures
        measured = [index_of("output", name, model.outputs) for name in law.measures]
        # the law's matrices on all outputs and all inputs of the plant
        self.select = np.eye(self.ny)[measured]
        self.place = np.eye(self.p)[:, [index_of("input", name, model.inputs) for name in law.drives]]
        tangent = self._sensors(model.reference(), np.zeros(self.n), np.zeros(self.n), np.zeros(self.p))
        if np.any(tangent.acceleration) or np.any(tangent.input):
            raise NotAvailable(
                f"the continuous law measures {list(law.measures)}, of which some read accelerations or feed the input "
                "through: that is an algebraic loop; sample the law, or measure positions and rates"
            )

    def applied(self, y: FloatArray, u: FloatArray) -> FloatArray:
        """Return what acts on the plant's inputs, nt x p, from recorded outputs and inputs of the loop."""
        total: FloatArray = u[:, : self.p] + y[:, self.ny :] + u[:, self.p :] @ (self.place @ self.law.Dr).T
        return total

    def with_payload(self, mass: float, inertia: float) -> AnalogLoop | LinearLoop:
        """Return the loop around the model with another payload [kg], [kg m^2]."""
        return _surround(with_payload(self.inner, mass, inertia), self.law, self.references)

    def _sensors(self, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray) -> OutputTangent:
        c = self.inner.output_tangent(q, v, a, u)
        return OutputTangent(*(self.select @ part for part in c))

    def _measured(self, q: FloatArray, v: FloatArray) -> FloatArray:
        y: FloatArray = self.select @ self.inner.output(q, v, np.zeros(self.n), np.zeros(self.p))
        return y

    def _split(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        return x[: self.n], x[self.n :]

    def _command(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Return the law's part of the inputs that depends on the state."""
        x, measured = v[self.n :], self._measured(q[: self.n], v[: self.n])
        u: FloatArray = self.place @ (self.law.C @ x + self.law.Dy @ measured)
        return u

    def reference(self) -> FloatArray:
        """Return the model's reference pose with the law at zero."""
        return np.concatenate([self.inner.reference(), np.zeros(self.nz)])

    def mass(self, q: FloatArray) -> FloatArray:
        """Return the model's mass and the identity for the law."""
        M = np.eye(self.n + self.nz)
        M[: self.n, : self.n] = self.inner.mass(q[: self.n])
        return M

    def force(self, q: FloatArray, v: FloatArray, t: float = 0.0) -> FloatArray:
        """Return the model's force less the law's command, and the law's right side."""
        qm, vm, x = q[: self.n], v[: self.n], v[self.n :]
        top = self.inner.force(qm, vm, t) - self.inner.input_matrix(qm) @ self._command(q, v)
        return np.concatenate([top, -self.law.A @ x - self.law.By @ self._measured(qm, vm)])

    def input_matrix(self, q: FloatArray) -> FloatArray:
        """Return the columns of the plant's inputs and of the reference channels."""
        B = self.inner.input_matrix(q[: self.n])
        return np.block([[B, B @ self.place @ self.law.Dr], [np.zeros((self.nz, self.p)), self.law.Br]])

    def _full_input(self, q: FloatArray, v: FloatArray, u: FloatArray) -> FloatArray:
        applied: FloatArray = u[: self.p] + self._command(q, v) + self.place @ self.law.Dr @ u[self.p :]
        return applied

    def output(self, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray) -> FloatArray:
        """Return the model's sensors and the law's part of its inputs."""
        n = self.n
        sensors = self.inner.output(q[:n], v[:n], a[:n], self._full_input(q, v, u))
        return np.concatenate([sensors, self._command(q, v)])

    def output_tangent(self, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray) -> OutputTangent:
        """Return the derivatives of `output`."""
        n, law = self.n, self.law
        c = self.inner.output_tangent(q[:n], v[:n], a[:n], self._full_input(q, v, u))
        s = self._sensors(q[:n], v[:n], a[:n], self._full_input(q, v, u))
        ny, nz, p = self.ny, self.nz, self.p
        # derivatives of the command: through the sensors' feed-through, and as outputs of their own
        through = np.vstack([c.input, np.eye(p)]) @ self.place
        position, rate, acceleration, direct = (np.vstack([part, np.zeros((p, part.shape[1]))]) for part in c)
        zero = np.zeros((ny + p, nz))
        feed = np.vstack([c.input @ self.place @ law.Dr, np.zeros((p, law.Dr.shape[1]))])
        return OutputTangent(
            np.hstack([position + through @ law.Dy @ s.position, zero]),
            np.hstack([rate + through @ law.Dy @ s.rate, through @ law.C]),
            np.hstack([acceleration, zero]),
            np.hstack([direct, feed]),
        )

    def closure(self, q: FloatArray) -> FloatArray:
        """Return the model's closure."""
        return self.inner.closure(q[: self.n])

    def closure_jacobian(self, q: FloatArray) -> FloatArray:
        """Return the model's closure Jacobian."""
        G = self.inner.closure_jacobian(q[: self.n])
        return np.hstack([G, np.zeros((G.shape[0], self.nz))])

    def closure_forces(self, q: FloatArray) -> FloatArray:
        """Return what the closures do to the model; nothing to the law."""
        W = closure_forces(self.inner, q[: self.n])
        return np.vstack([W, np.zeros((self.nz, W.shape[1]))])

    def closure_bias(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Return the model's closure bias."""
        return self.inner.closure_bias(q[: self.n], v[: self.n])

    def tangent(self, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray, lam: FloatArray) -> Tangent:
        """Return the derivatives of the whole left side; dB/dq acts on all that is applied."""
        n, nz, law = self.n, self.nz, self.law
        applied = self._full_input(q, v, u)
        inner = self.inner.tangent(q[:n], v[:n], a[:n], applied, lam)
        s = self._sensors(q[:n], v[:n], a[:n], applied)
        B = self.inner.input_matrix(q[:n]) @ self.place
        zero = np.zeros((n, nz))
        M = self.mass(q)
        M[:n, :n] = inner.mass
        D = np.block([[inner.damping - B @ law.Dy @ s.rate, -B @ law.C], [-law.By @ s.rate, -law.A]])
        top = inner.stiffness - B @ law.Dy @ s.position
        K = np.block([[top, zero], [-law.By @ s.position, np.zeros((nz, nz))]])
        return Tangent(M, D, K)

    def energy(self, q: FloatArray, v: FloatArray) -> Energy:
        """Return the energy of the model; the law has none."""
        return self.inner.energy(q[: self.n], v[: self.n])

    def compiled(self) -> Compiled | None:
        """Return None: the plain integrator is used."""
        return None


class LinearLoop(LinearMechanics):
    """The same around a linear model: constant matrices again."""

    def __init__(self, loop: AnalogLoop, model: LinearMechanics) -> None:
        self.kind, self.coordinates, self.inputs, self.outputs = loop.kind, loop.coordinates, loop.inputs, loop.outputs
        q, u = loop.reference(), np.zeros(len(loop.inputs))
        self.M, self.D, self.K = loop.tangent(q, q, q, u, np.zeros(0))
        self.B, self.sensors = loop.input_matrix(q), loop.output_tangent(q, q, q, u)
        self.turned = model.turned
        self.applied, self.with_payload = loop.applied, loop.with_payload
