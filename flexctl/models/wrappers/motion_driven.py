"""Joints that follow a commanded motion: one wrapper for every model.

The coordinates p of the driven joints are prescribed, the rest f is free. With the commanded acceleration as input the
equations keep the form of every other model, the inputs of the driven joints being replaced:

    [ I    0   ] [a_p]   [ 0   ]           [  I    0  ] [a_p commanded]
    [ 0   M_ff ] [a_f] + [ h_f ] + ...  =  [ -M_fp B_f ] [u            ]

Closures act on the free coordinates only (`closure_forces`): what they ask of a driven joint is the drive's affair, and
G a + bias = 0 holds for all. The torque the drive needs, M_pp a_p + M_pf a_f + h_p + (G^T lam)_p - B_p u, becomes an
output under the name of the replaced input; lam follows from the balance of as many free coordinates as there are
closures. A driven joint shows as a pair of poles at 0: the double integrator of its commanded acceleration.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import scipy.linalg as sla

from ...abilities import CompiledDriven, led_of
from ...errors import NotAvailable, require
from ...machine.given import ModelGiven, as_model
from ...model import (
    Compiled,
    Energy,
    FloatArray,
    LinearMechanics,
    MechanicalModel,
    OutputTangent,
    Signal,
    Tangent,
    closure_turn,
    index_of,
    with_payload,
)
from ..null_space import RANK


def motion_driven(model: ModelGiven, joints: Mapping[str, str]) -> MechanicalModel:
    """Return the model with some joints driven by motion.

    Parameters
    ----------
    model : MechanicalModel
        The model with these joints driven by torque; its closures must leave the driven joints free to move.
    joints : mapping
        Input name of each driven joint and the name of its coordinate, e.g. ``{"joint1_torque": "theta"}``.

    Examples
    --------
    >>> model = fx.load_plant("planar_2r_flexible").model
    >>> fx.names(fx.motion_driven(model, model.joints).inputs)[:2]
    ['joint1_acceleration', 'joint2_acceleration']
    """
    model = as_model(model)
    wrapped = MotionDriven(model, joints)
    if isinstance(model, LinearMechanics):
        return _LinearMotionDriven(wrapped, model)
    return wrapped


class MotionDriven:
    """See the module docstring."""

    def __init__(self, model: MechanicalModel, joints: Mapping[str, str]) -> None:
        require(bool(joints), "no joint is named as driven by motion")
        self.inner, self.kind, self._joints = model, model.kind, dict(joints)
        self.p = [index_of("coordinate", name, model.coordinates) for name in joints.values()]
        self.led = (*joints.values(), *led_of(model))
        self.replaced = [index_of("input", name, model.inputs) for name in joints]
        n, inputs = len(model.coordinates), len(model.inputs)
        self.f = [i for i in range(n) if i not in self.p]
        self.kept = [j for j in range(inputs) if j not in self.replaced]
        turned = [model.coordinates[i] for i in self.p]
        driven = tuple(Signal(f"{q.name}_acceleration", f"{q.unit}/s^2") for q in turned)
        self.inputs = driven + tuple(model.inputs[j] for j in self.kept)
        self.coordinates, self.closures = model.coordinates, model.closures
        self.outputs = model.outputs + tuple(model.inputs[j] for j in self.replaced)
        B = model.input_matrix(model.reference())[:, self.replaced]
        column, others = B[self.p], B[self.f]
        require(
            bool(np.allclose(column, np.diag(np.diag(column))) and np.all(np.diag(column) != 0) and not others.any()),
            f"inputs {list(joints)} do not act on coordinates {list(joints.values())} one by one",
        )
        self.lever = np.diag(column)
        G = model.closure_jacobian(model.reference())[:, self.f]
        values = np.linalg.svd(G, compute_uv=False)
        if len(G) > len(self.f) or (len(G) and values.min() <= RANK * values.max()):
            raise NotAvailable(
                f"the closures of {model.kind} do not leave {list(joints.values())} free to follow a motion; drive "
                "fewer joints"
            )

    def _full(self, q: FloatArray, u: FloatArray) -> FloatArray:
        """Return the inner model's inputs, zero for the replaced ones."""
        full = np.zeros(len(self.inner.inputs))
        full[self.kept] = u[len(self.p) :]
        return full

    def reference(self) -> FloatArray:
        """Return the model's reference pose."""
        return self.inner.reference()

    def mass(self, q: FloatArray) -> FloatArray:
        """Return the mass of the free coordinates and the identity for the driven ones."""
        return self._decouple(self.inner.mass(q))

    def _decouple(self, M: FloatArray) -> FloatArray:
        out = M.copy()
        out[self.p, :] = 0.0
        out[:, self.p] = 0.0
        out[self.p, self.p] = 1.0
        return out

    def force(self, q: FloatArray, v: FloatArray, t: float = 0.0) -> FloatArray:
        """Return the force on the free coordinates."""
        h = self.inner.force(q, v, t).copy()
        h[self.p] = 0.0
        return h

    def input_matrix(self, q: FloatArray) -> FloatArray:
        """Return the columns of the commanded accelerations and of the inputs that stay."""
        k = len(self.p)
        B = np.zeros((q.size, len(self.inputs)))
        B[self.p, range(k)] = 1.0
        B[np.ix_(self.f, range(k))] = -self.inner.mass(q)[np.ix_(self.f, self.p)]
        B[np.ix_(self.f, range(k, len(self.inputs)))] = self.inner.input_matrix(q)[np.ix_(self.f, self.kept)]
        return B

    def output(self, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray) -> FloatArray:
        """Return the model's sensors and the drive torques."""
        full = self._full(q, u)
        balance = self.inner.mass(q) @ a + self.inner.force(q, v) - self.inner.input_matrix(q) @ full
        if self.closures:
            GT = self.inner.closure_jacobian(q).T
            d = self._dependent(GT)
            balance = balance - GT @ np.linalg.solve(GT[d], balance[d])
        return np.concatenate([self.inner.output(q, v, a, full), balance[self.p] / self.lever])

    def _dependent(self, GT: FloatArray) -> list[int]:
        """Return as many free coordinates as there are closures, on which these act best."""
        pivots = sla.qr(GT[self.f].T, mode="r", pivoting=True)[1]
        return [self.f[i] for i in pivots[: GT.shape[1]]]

    def output_tangent(self, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray) -> OutputTangent:
        """Return the derivatives of `output`."""
        full, k = self._full(q, u), len(self.p)
        c = self.inner.output_tangent(q, v, a, full)
        B, GT = self.inner.input_matrix(q), self.inner.closure_jacobian(q).T
        d: list[int] = []
        lam: FloatArray = np.zeros(len(self.closures))
        if self.closures:
            d = self._dependent(GT)
            balance = self.inner.mass(q) @ a + self.inner.force(q, v) - B @ full
            lam = np.asarray(-np.linalg.solve(GT[d], balance[d]), float)
        inner = self.inner.tangent(q, v, a, full, lam)
        rows: list[FloatArray] = []
        for part in (inner.stiffness, inner.damping, inner.mass, -B):
            closed = GT[self.p] @ np.linalg.solve(GT[d], part[d]) if d else np.zeros((k, part.shape[1]))
            rows.append((part[self.p] - closed) / self.lever[:, None])
        zero = np.zeros((len(self.outputs), k))
        through = np.vstack([c.input, rows[3]])[:, self.kept]
        return OutputTangent(
            np.vstack([c.position, rows[0]]), np.vstack([c.rate, rows[1]]), np.vstack([c.acceleration, rows[2]]),
            np.hstack([zero, through]),
        )

    def closure(self, q: FloatArray) -> FloatArray:
        """Return the model's closure."""
        return self.inner.closure(q)

    def closure_jacobian(self, q: FloatArray) -> FloatArray:
        """Return the model's closure Jacobian."""
        return self.inner.closure_jacobian(q)

    def closure_bias(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Return the model's closure bias."""
        return self.inner.closure_bias(q, v)

    def closure_turn(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Return the model's d(G v)/dq."""
        return closure_turn(self.inner, q, v)

    def closure_forces(self, q: FloatArray) -> FloatArray:
        """Return G^T without the rows of the driven coordinates."""
        W = self.inner.closure_jacobian(q).T.copy()
        W[self.p] = 0.0
        return W

    def tangent(self, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray, lam: FloatArray) -> Tangent:
        """Return the derivatives of the whole left side; the free rows are the inner model's at a_p as commanded."""
        b = a.copy()
        b[self.p] = u[: len(self.p)]
        inner = self.inner.tangent(q, v, b, self._full(q, u), lam)
        D, K = inner.damping.copy(), inner.stiffness.copy()
        D[self.p], K[self.p] = 0.0, 0.0
        return Tangent(self._decouple(inner.mass), D, K)

    def energy(self, q: FloatArray, v: FloatArray) -> Energy:
        """Return the model's energy."""
        return self.inner.energy(q, v)

    def with_payload(self, mass: float, inertia: float) -> MechanicalModel:
        """Return the model with another payload [kg], [kg m^2]."""
        return motion_driven(with_payload(self.inner, mass, inertia), self._joints)

    def compiled(self) -> Compiled | None:
        """Return the inner model's compiled form with the driven coordinates led, if it has one."""
        if not isinstance(self.inner, CompiledDriven):
            return None
        return self.inner.compiled_driven(tuple(self.p), tuple(float(x) for x in self.lever))


class _LinearMotionDriven(LinearMechanics):
    """The same around a linear model: constant matrices again."""

    def __init__(self, wrapped: MotionDriven, model: LinearMechanics) -> None:
        self._wrapped, self.kind = wrapped, wrapped.kind
        self.coordinates, self.inputs, self.outputs = wrapped.coordinates, wrapped.inputs, wrapped.outputs
        q, u = wrapped.reference(), np.zeros(len(wrapped.inputs))
        self.M, self.D, self.K = wrapped.tangent(q, q, q, u, np.zeros(0))
        self.B = wrapped.input_matrix(q)
        self.sensors = wrapped.output_tangent(q, q, q, u)
        self.turned = model.turned

    def with_payload(self, mass: float, inertia: float) -> MechanicalModel:
        """Return the model with another payload [kg], [kg m^2]."""
        return self._wrapped.with_payload(mass, inertia)
