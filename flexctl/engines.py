"""The steppers behind `simulate`: each advances one model along a prepared time grid, with the law inside.

| engine | for | method |
|---|---|---|
| `Implicit` | models with compiled functions, closures included | generalised-alpha family, whole run compiled |
| `Plain` | every model | the same scheme in plain Python |
| `Explicit` | linear models without closures | central differences below their stability limit |
| `Exact` | linear models without closures | exact for inputs that are linear within a step |
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Protocol, cast

import numpy as np
import scipy.linalg as sla

from . import integrate
from .errors import ConvergenceError, DefinitionError, NotAvailable
from .model import FloatArray, LinearMechanics, MechanicalModel, OutputTangent
from .models._kernels import linear as linear_kernels
from .models._kernels import loop
from .models._kernels.loop import Record, Tables
from .statics import accelerations


class Engine(Protocol):
    """What `simulate` asks of a stepper."""

    u: FloatArray
    held: FloatArray

    def measure(self) -> FloatArray:
        """Return the sensor readings now, before any jump of the inputs."""
        ...

    def advance(self, law: loop.Law, memory: FloatArray, first: int, last: int) -> None:
        """Step from grid point `first` to `last`, recording."""
        ...

    def state(self) -> tuple[FloatArray, FloatArray]:
        """Return coordinates and rates now."""
        ...


def check(result: tuple[float, float, float, float], h: float, what: str) -> None:
    """Raise `ConvergenceError` unless the kernel reports success."""
    status, t, iteration, size = result
    if status == loop.NOT_CONVERGED:
        raise integrate.not_converged(t, int(iteration), size, h)
    if status == loop.SINGULAR:
        message = f"the iteration matrix of {what} is singular at t = {t:.6g} s; use a smaller step"
        raise ConvergenceError(message, time=t, iteration=int(iteration), residual=size)
    if status == loop.DIVERGED:
        raise ConvergenceError(
            f"the run of {what} diverged at t = {t:.6g} s: a coordinate went beyond {loop.BOUND:.0e} (m or rad) or is "
            "not a number; the closed loop is unstable, or the step too long",
            time=t,
            residual=size,
        )


class _Mechanical:
    """State and sensors that the engines in coordinates q, v, a share."""

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


class Implicit(_Mechanical):
    """The compiled generalised-alpha loop."""

    def __init__(
        self, model: MechanicalModel, scheme: integrate.Scheme, q: FloatArray, v: FloatArray, u: FloatArray,
        tables: Tables, record: Record, first: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(model, q, v, u, tables.t[first])
        compiled = model.compiled()
        if compiled is None:
            raise NotAvailable(f"{model.kind} has no compiled functions; use the plain engine")
        self.algorithmic, self.compiled, self.tables, self.record = self.a.copy(), compiled, tables, record
        self.full = np.concatenate([self.u, self.lam])  # the compiled functions want lam behind u
        self.u = self.full[: self.u.size]
        self.scheme = loop.Scheme(
            scheme.alpha_m, scheme.alpha_f, scheme.beta, scheme.gamma, scheme.tolerance, float(scheme.iterations)
        )

    def advance(self, law: loop.Law, memory: FloatArray, first: int, last: int) -> None:
        """Step from grid point `first` to `last`, recording."""
        c = self.compiled
        if c.closure is not None:
            result = loop.run_closed(
                c.residual, c.tangent, c.output, c.closure, c.reals, c.ints, c.bandwidth, self.lam.size, self.q, self.v,
                self.a, self.algorithmic, self.full, self.held, memory, law, first, last, self.scheme, self.tables,
                self.record,
            )  # fmt: skip
            check(result, float(self.tables.h[first]), self.model.kind)
            return
        result = loop.run_implicit(
            c.residual, c.tangent, c.output, c.reals, c.ints, c.bandwidth, int(c.constant_tangent),
            self.q, self.v, self.a, self.algorithmic, self.u, self.held, memory, law, first, last,
            self.scheme, self.tables, self.record,
        )  # fmt: skip
        check(result, float(self.tables.h[first]), self.model.kind)


class Plain(_Mechanical):
    """The plain Python form of the same loop; serves every model."""

    def __init__(
        self, model: MechanicalModel, scheme: integrate.Scheme, q: FloatArray, v: FloatArray, u: FloatArray,
        tables: Tables, record: Record, first: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(model, q, v, u, tables.t[first])
        if tables.prescribed.size:
            raise NotAvailable("the plain engine takes a prescribed motion as an input; see models.motion_driven")
        self.scheme, self.tables, self.record = scheme, tables, record
        self.state_ = integrate.State(self.q, self.v, self.a, self.a.copy(), self.lam)

    @property
    def counts(self) -> dict[str, int]:
        """Steps, iterations, factorisations of the iteration matrix, and steps taken again, so far."""
        return self.state_.counts

    def advance(self, law: loop.Law, memory: FloatArray, first: int, last: int) -> None:
        """Step from grid point `first` to `last`, recording."""
        tables, state = self.tables, self.state_
        for k in range(first, last):
            y = np.ascontiguousarray(self.measure(), float)
            if loop.control(law, k, y, tables, memory, self.held, self.u):
                integrate.jump(self.model, state, self.u, tables.t[k])
            if k == 0 or np.any(tables.before[k] != tables.after[k]):
                state.soft = self.scheme.settle
                state.level = max(state.level, integrate.BEGIN) if self.scheme.error else 0
            loop.write(self.record, k, y, self.u, state.q, state.v)
            begun = self.u.copy()
            self.u[:] = self.held + tables.before[k + 1]
            integrate.advance(self.model, self.scheme, state, tables.t[k], tables.h[k], begun, self.u)
            self.q, self.v, self.a, self.lam = state.q, state.v, state.a, state.lam
            if not loop.bounded(self.q):
                check((loop.DIVERGED, tables.t[k + 1], 0.0, np.nan), tables.h[k], self.model.kind)
        y = np.ascontiguousarray(self.measure(), float)
        loop.write(self.record, last, y, self.u, self.q, self.v)


class Own:
    """A stepper that the model brings itself, compiled for its structure; see `model.stepper`."""

    def __init__(self, model: MechanicalModel, stepper: Any) -> None:
        self.model, self.stepper = model, stepper
        self.u, self.held = stepper.u, stepper.held

    @property
    def counts(self) -> dict[str, int]:
        """What the stepper counts of its work."""
        found: dict[str, int] = getattr(self.stepper, "counts", {})
        return found

    def measure(self) -> FloatArray:
        """Return the sensor readings."""
        y: FloatArray = self.stepper.measure()
        return y

    def state(self) -> tuple[FloatArray, FloatArray]:
        """Return coordinates and rates."""
        q, v = self.stepper.state()
        return q, v

    def advance(self, law: loop.Law, memory: FloatArray, first: int, last: int) -> None:
        """Step from grid point `first` to `last`, recording."""
        check(self.stepper.advance(law, memory, first, last), float(self.stepper.tables.h[first]), self.model.kind)


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


def _equal_steps(h: FloatArray, first: int, last: int) -> list[tuple[int, int]]:
    """Return the runs of equal step size between two grid points."""
    changes = [k for k in range(first + 1, last) if h[k] != h[k - 1]]
    edges = [first, *changes, last]
    return list(pairwise(edges))


class Explicit(_Mechanical):
    """Central differences; the step must stay below the stability limit."""

    def __init__(
        self, model: MechanicalModel, q: FloatArray, v: FloatArray, u: FloatArray, tables: Tables, record: Record,
        first: int = 0,
    ) -> None:  # fmt: skip
        linear = _linear(model, "march", "MDK")
        super().__init__(model, q, v, u, tables.t[first])
        limit, longest = stability_limit(linear), float(tables.h.max())
        if longest > limit:
            raise DefinitionError(
                f"step = {longest * 1e6:.6g} us is above the stability limit {limit * 1e6:.6g} us of {model.kind} with "
                f"{len(model.coordinates)} coordinates; use step <= {np.floor(limit * 1e7) / 10:.6g} us, a coarser "
                'mesh, or method="generalised_alpha"'
            )
        self.tables, self.record, self.linear = tables, record, linear
        self.output = cast(Any, linear.compiled())
        self.w = self.output.bandwidth
        self.mass = self._factor(linear.M)
        self.damped: dict[float, Any] = {}
        self.D, self.K = (linear_kernels.banded(m, self.w, pivoting=True) for m in (linear.D, linear.K))

    def _factor(self, matrix: FloatArray) -> tuple[FloatArray, Any]:
        ab, pivots = linear_kernels.banded(matrix, self.w, pivoting=True), np.empty(len(matrix), np.int64)
        if loop.factor(ab, pivots, self.w):
            raise ConvergenceError(f"the mass matrix of {self.model.kind} is singular; central differences invert it")
        return ab, pivots

    def advance(self, law: loop.Law, memory: FloatArray, first: int, last: int) -> None:
        """Step from grid point `first` to `last`, recording."""
        for begin, end in _equal_steps(self.tables.h, first, last):
            h = float(self.tables.h[begin])
            if h not in self.damped:
                self.damped[h] = self._factor(self.linear.M + 0.5 * h * self.linear.D)
            result = loop.run_explicit(
                self.output.output, self.output.reals, self.output.ints, *self.mass, *self.damped[h], self.D, self.K,
                np.ascontiguousarray(self.linear.B), self.w, self.q, self.v, self.a, self.u, self.held, memory, law,
                begin, end, self.tables, self.record,
            )  # fmt: skip
            check(result, h, self.model.kind)


def stability_limit(model: LinearMechanics) -> float:
    """Return the longest stable step of central differences, 2 / omega_max [s]; damping does not lower it here."""
    top = sla.eigh(model.K, model.M, eigvals_only=True, subset_by_index=[len(model.M) - 1] * 2)[0]
    return float(2.0 / np.sqrt(top)) if top > 0 else np.inf


class Exact:
    """x+ = Phi x + G0 u(start) + G1 u(end) in energy-scaled normal coordinates."""

    def __init__(
        self, model: MechanicalModel, q: FloatArray, v: FloatArray, u: FloatArray, tables: Tables, record: Record,
        first: int = 0,
    ) -> None:  # fmt: skip
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
        A = np.block([[np.zeros((n, n)), np.diag(S)], [-(P.T @ linear.K @ P) / S, -P.T @ linear.D @ P]])
        B = np.vstack([np.zeros((n, u.size)), P.T @ linear.B])
        c: OutputTangent = linear.sensors
        C = np.hstack([c.position @ P / S, c.rate @ P]) + c.acceleration @ P @ A[n:]
        D = c.input + c.acceleration @ P @ B[n:]
        self.A, self.B, self.C, self.D = A, B, np.ascontiguousarray(C), np.ascontiguousarray(D)
        self.x = np.concatenate([S * (P.T @ linear.M @ q), P.T @ linear.M @ v])
        self.steps: dict[float, tuple[FloatArray, FloatArray, FloatArray]] = {}

    def measure(self) -> FloatArray:
        """Return the sensor readings."""
        y: FloatArray = self.C @ self.x + self.D @ self.u
        return y

    def state(self) -> tuple[FloatArray, FloatArray]:
        """Return coordinates and rates."""
        return self._physical(self.x)

    def _physical(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        n = self.scale.size
        return (x[..., :n] / self.scale) @ self.shapes.T, x[..., n:] @ self.shapes.T

    def advance(self, law: loop.Law, memory: FloatArray, first: int, last: int) -> None:
        """Step from grid point `first` to `last`, recording."""
        for begin, end in _equal_steps(self.tables.h, first, last):
            h = float(self.tables.h[begin])
            if h not in self.steps:
                self.steps[h] = first_order_hold(self.A, self.B, h)
            result = loop.run_exact(
                *self.steps[h], self.C, self.D, self.x, self.u, self.held, memory, law, begin, end, self.tables,
                self.record._replace(q=self.inside, v=self.inside),
            )  # fmt: skip
            check(result, h, self.model.kind)
        if self.record.q.shape[0] > 1:
            rows = slice(first, last + 1)
            self.record.q[rows], self.record.v[rows] = self._physical(self.inside[rows])


def first_order_hold(A: FloatArray, B: FloatArray, h: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return Phi, G0, G1 of x+ = Phi x + G0 u(start) + G1 u(end), exact for inputs linear within the step h [s]."""
    n, p = B.shape
    # the exponential of [[A, B, 0], [0, 0, I / h], [0, 0, 0]] h (Van Loan) holds all three
    block = np.zeros((n + 2 * p, n + 2 * p))
    block[:n, :n], block[:n, n : n + p] = A * h, B * h
    block[n : n + p, n + p :] = np.eye(p)
    E = sla.expm(block)
    G1 = E[:n, n + p :]
    return np.ascontiguousarray(E[:n, :n]), np.ascontiguousarray(E[:n, n : n + p] - G1), np.ascontiguousarray(G1)
