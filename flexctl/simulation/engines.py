"""The steppers behind `simulate`: each advances one model along a prepared time grid, with the law inside.

| engine | for | method |
|---|---|---|
| a model's `stepper` | the formulations | generalised-alpha family, whole run compiled for their structure |
| `implicit` | models with compiled functions, closures included | the same step, with band or bordered matrices |
| `plain` | every model | the same step in plain Python |
| `Explicit` | linear models without closures | central differences below their stability limit |
| `Exact` | linear models without closures | exact for inputs that are quadratic within a step |
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import ClassVar

import numpy as np
import scipy.linalg as sla

from ..abilities import CompiledDriven, CompiledHydraulic, ContinuousLoop, Stepping, Wrapping
from ..errors import ConvergenceError, DefinitionError, NotAvailable
from ..kernels import explicit, state
from ..kernels import linear as linear_kernels
from ..kernels.engine import Plan, Stepper, check
from ..kernels.tables import Acting, Course, Law, Record, Tables
from ..linear.equilibrium import accelerations
from ..model import FloatArray, LinearMechanics, MechanicalModel, OutputTangent, turn


def soon(model: MechanicalModel, plan: Plan, feeds: bool) -> None:
    """Compile the loop of a model with compiled functions elsewhere, while its functions are compiled here."""
    if _has_functions(model):
        from ..kernels import general

        general.loop_soon(bool(model.closures), plan.scheme.stages > 1, feeds)


def _has_functions(model: MechanicalModel) -> bool:
    """Whether a model has compiled functions, as far as can be said without compiling them."""
    if MechanicalModel in type(model).__mro__ and type(model).compiled is MechanicalModel.compiled:
        return False
    if not isinstance(model, Wrapping):
        return True
    known = isinstance(model.inner, CompiledDriven | CompiledHydraulic)
    return known and not isinstance(model, ContinuousLoop | Stepping)


def implicit(model: MechanicalModel, q: FloatArray, v: FloatArray, u: FloatArray, plan: Plan, first: int) -> Stepper:
    """Return the engine of a model with compiled functions."""
    from ..kernels import general

    compiled = model.compiled()
    if compiled is None:
        raise NotAvailable(f"{model.kind} has no compiled functions; use the plain engine")
    n, m, closed = q.size, len(model.closures), compiled.closure is not None
    motion = state.motion(q, v, m, 0, gap=closed, broyden=plan.scheme.newton == "broyden")
    motion.number[state.OWN] = _of_the_arm(model, q)
    room = general.room(compiled, n, u.size, m, len(model.outputs), plan.scheme.baumgarte)
    form = general.form(compiled, room)
    return Stepper(model, general.LOOPS[closed], form, motion, u, plan, first, prefers=state.KEPT)


def plain(model: MechanicalModel, q: FloatArray, v: FloatArray, u: FloatArray, plan: Plan, first: int) -> Stepper:
    """Return the engine that calls the plain methods of any model."""
    from .plain import Plain, plain_loops

    m = len(model.closures)
    motion = state.motion(q, v, m, 0, gap=m > 0, broyden=plan.scheme.newton == "broyden")
    motion.number[state.OWN] = _of_the_arm(model, q)
    form = Plain(model, plan.scheme.baumgarte)
    return Stepper(model, plain_loops(closed=m > 0), form, motion, u, plan, first, prefers=state.KEPT)


def _of_the_arm(model: MechanicalModel, q: FloatArray) -> int:
    """Return how many coordinates, which come first, say how far a correction has come: all but those of cylinders."""
    from ..models.wrappers.hydraulic import HydraulicDriven

    return model.n if isinstance(model, HydraulicDriven) else q.size


class _Mechanical:
    """State and sensors that the engines in coordinates q, v, a share."""

    counts: ClassVar[Mapping[str, int]] = {}  # no iterations

    def __init__(self, model: MechanicalModel, q: FloatArray, v: FloatArray, u: FloatArray, t: float) -> None:
        self.model = model
        self.q, self.v, self.u, self.held = q.copy(), v.copy(), u.copy(), np.zeros(u.size)
        self.a, self.lam = accelerations(model, q, v, u, t)

    def measure(self) -> FloatArray:
        """Return the sensor readings."""
        return self.model.output(self.q, self.v, self.a, self.u)

    def state(self) -> tuple[FloatArray, FloatArray]:
        """Return coordinates and rates."""
        return self.q, self.v


def _linear(model: MechanicalModel, method: str, symmetric: str) -> LinearMechanics:
    """Return the model if it is linear and the named matrices are symmetric."""
    remedy = 'use method="generalised_alpha"'
    if not isinstance(model, LinearMechanics):
        raise NotAvailable(f'method "{method}" needs a linear model; {model.kind} is not: {remedy}')
    for name in symmetric:
        if not is_symmetric(getattr(model, name)):
            raise NotAvailable(f'method "{method}" needs a symmetric {name}; that of {model.kind} is not: {remedy}')
    return model


def is_symmetric(matrix: FloatArray) -> bool:
    """Whether a matrix is symmetric to rounding."""
    return bool(np.abs(matrix - matrix.T).max(initial=0.0) <= 1e-12 * np.abs(matrix).max(initial=0.0))


def _is_diagonal(matrix: FloatArray) -> bool:
    """Whether a matrix is diagonal to rounding."""
    rest = matrix - np.diag(np.diag(matrix))
    return bool(np.abs(rest).max(initial=0.0) <= 1e-12 * np.abs(matrix).max(initial=0.0))


def equal_steps(h: FloatArray, first: int, last: int) -> list[tuple[int, int]]:
    """Return the runs of equal step size between two grid points."""
    changes = np.flatnonzero(np.diff(h[first:last])) + first + 1
    return list(pairwise([first, *changes.tolist(), last]))


class Explicit(_Mechanical):
    """Central differences; the step must stay below the stability limit."""

    def __init__(
        self, model: MechanicalModel, q: FloatArray, v: FloatArray, u: FloatArray, tables: Tables, record: Record,
        first: int = 0,
    ) -> None:
        linear = _linear(model, "march", "MDK")
        super().__init__(model, q, v, u, tables.t[first])
        limit, longest = linear.stability_limit(), float(tables.h.max())
        if longest > limit:
            raise DefinitionError(
                f"step = {longest * 1e6:.6g} us is above the stability limit {limit * 1e6:.6g} us of {model.kind} with "
                f"{len(model.coordinates)} coordinates; use step <= {np.floor(limit * 1e7) / 10:.6g} us, a coarser "
                'mesh, or method="generalised_alpha"'
            )
        self.tables, self.record, self.linear = tables, record, linear
        self.forms: dict[float, explicit.March] = {}

    def _form(self, h: float) -> explicit.March:
        """Return the model for the step size h [s]."""
        linear, diagonals = self.linear, linear_kernels.diagonals
        if not linear.D.any():
            h = 0.0  # then it has no part in it
        if h not in self.forms:
            moved = np.asarray(np.linalg.inv(linear.M + 0.5 * h * linear.D), np.float64)
            jump = np.linalg.solve(linear.M, linear.B)
            outputs = linear_kernels.entries(linear.sensors, [one.row for one in linear.turned])
            self.forms[h] = explicit.March(
                *outputs, linear_kernels.table(linear.turned), diagonals(linear.K), diagonals(linear.D),
                np.ascontiguousarray(linear.B.T), diagonals(moved), np.ascontiguousarray(jump.T),
                *(np.zeros(k) for k in (self.record.y.shape[1], self.u.size, self.q.size)),
            )
        return self.forms[h]

    def advance(self, law: Law, memory: FloatArray, first: int, last: int) -> None:
        """Step from grid point `first` to `last`, recording."""
        for begin, end in equal_steps(self.tables.h, first, last):
            h = float(self.tables.h[begin])
            course = Course(self.tables, self.record, np.array([begin, end]))
            acting = Acting(law, memory, self.held, self.u)
            result = explicit.run_explicit(self._form(h), self.q, self.v, self.a, acting, course)
            check(result, h, self.model.kind)


class Exact:
    """x+ = Phi x + G0 u(start) + G1 u(end) + G2 bulge in energy-scaled normal coordinates."""

    counts: ClassVar[Mapping[str, int]] = {}

    def __init__(
        self, model: MechanicalModel, q: FloatArray, v: FloatArray, u: FloatArray, tables: Tables, record: Record,
        first: int = 0,
    ) -> None:
        linear = _linear(model, "exact", "M")
        self.model, self.tables, self.record = model, tables, record
        self.u, self.held = u.copy(), np.zeros(u.size)
        self.inside = np.zeros((record.q.shape[0], 2 * q.size))  # the states, when coordinates are recorded
        try:
            lam, self.shapes = sla.eigh(0.5 * (linear.K + linear.K.T), linear.M)
        except np.linalg.LinAlgError as error:
            message = f"the mass matrix of {model.kind} is not positive definite; give every coordinate a mass"
            raise ConvergenceError(message) from error
        self.scale = np.sqrt(np.maximum(np.abs(lam), max(np.abs(lam).max(), 1.0) * 1e-12))
        P = self.shapes
        n, S = len(lam), self.scale
        stiff, damped = P.T @ linear.K @ P, P.T @ linear.D @ P
        self.apart = _is_diagonal(stiff) and _is_diagonal(damped)
        A = np.block([[np.zeros((n, n)), np.diag(S)], [-stiff / S, -damped]])
        B = np.vstack([np.zeros((n, u.size)), P.T @ linear.B])
        c: OutputTangent = linear.sensors
        C = np.hstack([c.position @ P / S, c.rate @ P]) + c.acceleration @ P @ A[n:]
        D = c.input + c.acceleration @ P @ B[n:]
        self.A, self.B, self.C, self.D = A, B, np.ascontiguousarray(C), np.ascontiguousarray(D)
        self.turned = linear.turned
        self.x = np.concatenate([S * (P.T @ linear.M @ q), P.T @ linear.M @ v])
        self.steps: dict[float, explicit.Exact] = {}

    def measure(self) -> FloatArray:
        """Return the sensor readings."""
        y: FloatArray = self.C @ self.x + self.D @ self.u
        turn(y, self.turned)
        return y

    def state(self) -> tuple[FloatArray, FloatArray]:
        """Return coordinates and rates."""
        return self._physical(self.x)

    def _physical(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        n = self.scale.size
        return (x[..., :n] / self.scale) @ self.shapes.T, x[..., n:] @ self.shapes.T

    def _hold(self, h: float) -> tuple[FloatArray, ...]:
        """Return Phi, G0, G1, G2 of a step; of modes that nothing couples Phi as `explicit.Exact` has it."""
        if not self.apart:
            return quadratic_hold(self.A, self.B, h)
        n, p = self.scale.size, self.u.size
        A = np.array([[np.diag(self.A[i : i + n, j : j + n]) for j in (0, n)] for i in (0, n)])
        B = np.array([self.B[:n], self.B[n:]])
        Phi, *inputs = quadratic_hold(np.moveaxis(A, 2, 0), np.moveaxis(B, 1, 0), h)
        return Phi.reshape(n, 4).T, *(np.moveaxis(part, 1, 0).reshape(2 * n, p) for part in inputs)

    def advance(self, law: Law, memory: FloatArray, first: int, last: int) -> None:
        """Step from grid point `first` to `last`, recording."""
        for begin, end in equal_steps(self.tables.h, first, last):
            h = float(self.tables.h[begin])
            if h not in self.steps:
                Phi, *inputs = self._hold(h)
                turned = linear_kernels.table(self.turned)
                self.steps[h] = explicit.exact(Phi, inputs, self.C, self.D, turned)
            record = self.record._replace(q=self.inside, v=self.inside)
            course = Course(self.tables, record, np.array([begin, end]))
            acting = Acting(law, memory, self.held, self.u)
            result = explicit.run_exact(self.steps[h], self.x, acting, course)
            check(result, h, self.model.kind)
        if self.record.q.shape[0] > 1:
            rows = slice(first, last + 1)
            self.record.q[rows], self.record.v[rows] = self._physical(self.inside[rows])


def first_order_hold(A: FloatArray, B: FloatArray, h: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return Phi, G0, G1 of x+ = Phi x + G0 u(start) + G1 u(end), exact for inputs linear within the step h [s]."""
    return quadratic_hold(A, B, h)[:3]


def quadratic_hold(A: FloatArray, B: FloatArray, h: float) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return Phi, G0, G1, G2 of x+ = Phi x + G0 u(start) + G1 u(end) + G2 bulge, exact for quadratic inputs.

    The bulge is by how much the input is above the chord in the middle of the step h [s]: 4 s (1 - s) of it at s h. Of
    many plants at once: (.., n, n) and (.., n, p).
    """
    n, p = B.shape[-2:]
    # the exponential of [[A, B, 0, 0], [0, 0, I / h, 0], [0, 0, 0, I / h], [0, 0, 0, 0]] h (Van Loan) holds all of them
    block = np.zeros((*B.shape[:-2], n + 3 * p, n + 3 * p))
    block[..., :n, :n], block[..., :n, n : n + p] = A * h, B * h
    block[..., n : n + 2 * p, n + p :] = np.eye(2 * p)
    E = sla.expm(block)
    held, risen, curved = (E[..., :n, n + i * p : n + (i + 1) * p] for i in range(3))
    found = E[..., :n, :n], held - risen, risen, 4.0 * risen - 8.0 * curved
    Phi, G0, G1, G2 = (np.ascontiguousarray(part) for part in found)
    return Phi, G0, G1, G2
