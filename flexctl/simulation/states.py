"""Engines of linear plants in states: exact steps of a continuous plant, and the periods of a sampled one.

    x' = A x + B u      x+ = Phi x + G0 u(start) + G1 u(end) + G2 bulge, exact for inputs that are quadratic in a step
    x[k+1] = A x[k] + B u[k],   y[k] = C x[k] + D u[k]

A sensor of a continuous plant reads before the inputs jump, as on every arm; feed-through then shows the input held so
far. One of a sampled plant reads what its equation says: u[k] is in y[k]. Where the law measures what it feeds through,
its command must not depend on that reading: with a delay it does not, otherwise this is an algebraic loop, which no
sampled controller can solve, and it is refused.

A continuous law and a continuous plant are one linear system, feed-through solved for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from ..errors import ConvergenceError, NotAvailable, require
from ..kernels import explicit
from ..kernels.engine import check
from ..kernels.law import called
from ..kernels.tables import Acting, Course, Law, Record, Tables
from ..laws.compiled import unlimited
from ..laws.controller import LinearLaw
from ..linear import FirstOrder
from ..linear.balance import balanced
from ..linear.discrete import groups
from ..linear.interconnect import closed_loop
from ..linear.state_model import StateModel
from ..model import FloatArray, Signal, names
from .engines import equal_steps, quadratic_hold

SMALL = 2.0**-332
"""Factor on the states, about 1e-100, so that only what grows without end counts as divergence, whatever their unit."""
SAME = 1e-9
"""A step and two halves of it agree to this part of the transition, or the exponential has lost its digits."""


class _States:
    """State and sensors that both engines share."""

    counts: ClassVar[Mapping[str, int]] = {}  # no iterations

    def __init__(
        self, model: StateModel, q: FloatArray, v: FloatArray, u: FloatArray, tables: Tables, record: Record,
        first: int = 0,
    ) -> None:
        self.model, self.tables, self.record = model, tables, record
        self.u, self.held, self.x = u.copy(), np.zeros(u.size), np.array(q, float)

    def measure(self) -> FloatArray:
        """Return the sensor readings."""
        y: FloatArray = self.model.plant.C @ self.x + self.model.plant.D @ self.u
        return y

    def state(self) -> tuple[FloatArray, FloatArray]:
        """Return states and their rates."""
        return self.x, self.model.rates(self.x, self.u)

    def _rates(self, rows: slice) -> None:
        if self.record.q.shape[0] > 1:
            self.record.v[rows] = self.model.rates(self.record.q[rows], self.record.u[rows])


class ExactStates(_States):
    """Exact steps of a continuous plant, its states scaled by balancing."""

    def __init__(
        self, model: StateModel, q: FloatArray, v: FloatArray, u: FloatArray, tables: Tables, record: Record,
        first: int = 0,
    ) -> None:
        super().__init__(model, q, v, u, tables, record, first)
        plant = model.plant
        found = balanced(plant.A)
        self.scale = found.scale / SMALL
        self.A, self.B = found.A, plant.B / self.scale[:, None]
        self.C, self.D = np.ascontiguousarray(plant.C * self.scale), np.array(plant.D, float, order="C")
        self.steps: dict[float, explicit.Exact] = {}

    def advance(self, law: Law, memory: FloatArray, first: int, last: int) -> None:
        """Step from grid point `first` to `last`, recording."""
        z = self.x / self.scale
        inside = np.zeros((self.record.q.shape[0], z.size))
        for begin, end in equal_steps(self.tables.h, first, last):
            h = float(self.tables.h[begin])
            if h not in self.steps:
                Phi, *inputs = hold(self.A, self.B, h)
                self.steps[h] = explicit.exact(Phi, inputs, self.C, self.D, np.zeros((0, 5)))
            course = Course(self.tables, self.record._replace(q=inside, v=inside), np.array([begin, end]))
            result = explicit.run_exact(self.steps[h], z, Acting(law, memory, self.held, self.u), course)
            check(result, h, self.model.kind)
        self.x = z * self.scale
        if self.record.q.shape[0] > 1:
            rows = slice(first, last + 1)
            self.record.q[rows] = inside[rows] * self.scale
            self._rates(rows)


def hold(A: FloatArray, B: FloatArray, h: float) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return Phi, G0, G1, G2 of `quadratic_hold`, each group of states that others do not touch by itself.

    Raises
    ------
    ConvergenceError
        Where a step is not what two halves of it are: the exponential of a matrix of such entries has lost its digits.
    """
    n, p = B.shape
    Phi, G0, G1, G2 = np.zeros((n, n)), np.zeros((n, p)), np.zeros((n, p)), np.zeros((n, p))
    for group in groups(A):
        own = np.ix_(group, group)
        parts = quadratic_hold(A[own], B[group], h)
        half = quadratic_hold(A[own], B[group], 0.5 * h)[0]
        apart = float(np.abs(half @ half - parts[0]).max(initial=0.0))
        if not apart <= SAME * max(1.0, float(np.abs(parts[0]).max(initial=0.0))):
            raise ConvergenceError(
                f"the exact step of {h:g} s of {group.size} states is only known to {apart:.2g}: the plant is too fast "
                f"for it (|A| h = {np.abs(A[own]).max() * h:.2g}); use a shorter step"
            )
        Phi[own], G0[group], G1[group], G2[group] = parts
    return Phi, G0, G1, G2


class SampledStates(_States):
    """The periods of a sampled plant, one after the other."""

    def __init__(
        self, model: StateModel, q: FloatArray, v: FloatArray, u: FloatArray, tables: Tables, record: Record,
        first: int = 0,
    ) -> None:
        super().__init__(model, q, v, tables.after[first], tables, record, first)

    def advance(self, law: Law, memory: FloatArray, first: int, last: int) -> None:
        """Step from grid point `first` to `last`, recording."""
        plant, tables, record = self.model.plant, self.tables, self.record
        through = bool(np.any(plant.D[law.measures])) if law.measures.size else False
        for k in range(first, last + 1):
            # what the law held, and what else acts from now on, until the law has spoken
            self.u[:] = self.held + tables.after[k]
            y = np.ascontiguousarray(plant.C @ self.x + plant.D @ self.u)
            due = k < last and tables.due[k] >= 0
            if due:
                y = self._asked(law, k, y, memory, through)
            record.y[k], record.u[k] = y, self.u
            if record.q.shape[0] > 1:
                record.q[k] = self.x
            if k < last:
                self.x = plant.A @ self.x + plant.B @ self.u
                if not np.abs(self.x).max(initial=0.0) < 1e150:
                    when = float(tables.t[k + 1])
                    raise ConvergenceError(f"the run of {self.model.kind} diverges at t = {when:.6g} s", time=when)
        self._rates(slice(first, last + 1))

    def _asked(self, law: Law, k: int, y: FloatArray, memory: FloatArray, through: bool) -> FloatArray:
        """Let the law act at period k; return what the sensors read with what it commands."""
        plant = self.model.plant
        before = (memory.copy(), self.held.copy()) if through else None
        called(law, k, y, self.tables, memory, self.held, self.u)
        now = np.ascontiguousarray(plant.C @ self.x + plant.D @ self.u)
        if before is None or np.array_equal(now[law.measures], y[law.measures]):
            return now
        memory[:], self.held[:] = before
        first = self.u.copy()
        called(law, k, now, self.tables, memory, self.held, self.u)
        if np.abs(self.u - first).max() > 1e-12 * max(1.0, float(np.abs(first).max())):
            raise algebraic(self.model)
        return now


def algebraic(model: StateModel) -> NotAvailable:
    """Return the error for a sampled plant that feeds a command through to what the law reads in the same sample."""
    return NotAvailable(
        f"an algebraic loop: {model.kind} feeds its inputs through to what the law measures, within one sample, and "
        "the command depends on that reading; delay the law by a sample (fx.Delayed), or take another sensor"
    )


def check_feed_through(model: StateModel, law: Any) -> None:
    """Refuse a law in Python on a sampled plant that feeds its commands through to what it reads.

    Whether a command depends on the reading of the same sample can be tried of a law that is data alone.
    """
    reads = [names(model.outputs).index(name) for name in law.measures]
    drives = [names(model.inputs).index(name) for name in law.drives]
    if model.dt and np.any(model.plant.D[np.ix_(reads, drives)]):
        raise algebraic(model)


def check_sampled(model: StateModel, law: Any, step: float | None) -> float:
    """Return the step of a run of a sampled plant [s], or refuse a law or a step that does not fit its period."""
    dt = model.dt
    proper = step is None or abs(step - dt) <= 1e-9 * dt
    require(proper, f"step = {step} s: the plant is sampled every {dt:g} s and has no other steps; leave step out")
    if law is None:
        return dt
    period = float(law.sample_time)
    require(period > 0, f"a continuous law on a plant that is sampled every {dt:g} s: give the law this sample_time")
    fits = abs(period / dt - round(period / dt)) <= 1e-9 * period / dt and round(period / dt) >= 1
    require(fits, f"the law acts every {period:g} s, the plant is sampled every {dt:g} s: give a multiple of that")
    return dt


class StateLoop(StateModel):
    """A continuous law and a continuous plant in one; the reference channels are inputs."""

    def __init__(self, model: StateModel, law: LinearLaw, references: tuple[Signal, ...], prefix: str) -> None:
        free = unlimited(law)
        controller = FirstOrder(
            free.A, np.hstack([free.By, free.Br]), free.C, np.hstack([free.Dy, free.Dr]),
            tuple(Signal(f"{prefix}z{i + 1}") for i in range(len(free.A))),
            (*(Signal(m) for m in law.measures), *references),
            tuple(Signal(d) for d in law.drives), 0.0,
        )
        loop = closed_loop(model.plant, controller)
        nr, p, ny = len(references), len(model.inputs), len(model.outputs)
        order = [*range(nr, nr + p), *range(nr)]
        outputs = (*model.outputs, *(Signal(f"{prefix}{d}") for d in law.drives))
        super().__init__(FirstOrder(
            loop.A, loop.B[:, order], loop.C, loop.D[:, order], loop.states, (*model.inputs, *references), outputs, 0.0,
            model.provenance,
        ))
        self.kind = f"{model.kind} with analog law"
        self.inner, self.p, self.ny = model, p, ny
        self.place = np.eye(p)[:, [names(model.inputs).index(d) for d in law.drives]]

    def applied(self, y: FloatArray, u: FloatArray) -> FloatArray:
        """Return what acts on the plant's inputs, nt x p, from recorded outputs and inputs of the loop."""
        total: FloatArray = u[:, : self.p] + y[:, self.ny :] @ self.place.T
        return total
