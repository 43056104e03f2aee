"""The interface of whatever steps a model for `simulate`, and the common step as such an engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..errors import ConvergenceError, NotAvailable
from ..model import FloatArray, MechanicalModel
from . import state, tables
from .feedback import FEEDBACK, Feedback, feedback
from .state import Gauge, Motion
from .tables import Acting, Course, Law, Record, Tables, no_law

COUNTS = ("steps", "iterations", "factorisations", "rejected")
SMALLEST = 1e-5
"""Steps [s] are not divided below this for the sake of the error with the usual rtol; the method is of second order."""
USUAL = 1e-2
MOST_UPDATES = 32


class Loops(dict[Any, Any]):
    """Loops of a formulation: False without, True with a continuous law; SDIRK.

    Parameters
    ----------
    traits : tuple of float
        What they read in `Motion.traits`.

    Attributes
    ----------
    parts : dict
        For each loop what it calls by its address, in the order of `Motion.calls`.
    form : numba type
        Of the formulation's own group of arrays, of which the loops know where its row begins; None where they are
        called with the group itself.
    text : callable
        Makes the loop without a law as Python text with the functions themselves, of which C code is written.
    """

    form: Any = None
    text: Any = None

    def __init__(self, traits: tuple[float, ...]) -> None:
        super().__init__()
        self.traits = traits
        self.parts: dict[Any, tuple[Any, ...]] = {}



class Engine(Protocol):
    """The interface of a stepper for `simulate`."""

    u: FloatArray
    held: FloatArray

    def measure(self) -> FloatArray:
        """Return the sensor readings now, before any jump of the inputs."""
        ...

    def advance(self, law: Law, memory: FloatArray, first: int, last: int) -> None:
        """Step from grid point `first` to `last`, recording."""
        ...

    def state(self) -> tuple[FloatArray, FloatArray]:
        """Return coordinates and rates now."""
        ...


def check(result: tuple[float, float, float, float], h: float, what: str) -> None:
    """Raise `ConvergenceError` unless the kernel reports success."""
    status, t, iteration, size = result
    if status == tables.NOT_CONVERGED:
        raise not_converged(t, int(iteration), size, h)
    if status == tables.SINGULAR:
        message = f"the iteration matrix of {what} is singular at t = {t:.6g} s; use a smaller step"
        raise ConvergenceError(message, time=t, iteration=int(iteration), residual=size)
    if status == tables.DIVERGED:
        raise ConvergenceError(
            f"the run of {what} diverged at t = {t:.6g} s: a coordinate went beyond {tables.BOUND:.0e} (m or rad) or "
            "is not a number; the closed loop is unstable, or the step too long",
            time=t,
            residual=size,
        )
    if status != tables.DONE:
        raise ConvergenceError(f"the run of {what} stopped at t = {t:.6g} s with status {status:g}", time=t)


def not_converged(t: float, iteration: int, size: float, h: float) -> ConvergenceError:
    """Return the error of a step whose Newton iteration failed."""
    return ConvergenceError(
        f"Newton did not converge at t = {t:.6g} s: correction {size:.3g} after {iteration} iterations with step "
        f"{h:.3g} s; use a smaller step (e.g. {h / 4:.3g} s)",
        time=t,
        iteration=iteration,
        residual=size,
    )


class Plan(NamedTuple):
    """The course of a run as `simulate` prescribes it, whichever model takes it.

    Attributes
    ----------
    tables, record, gauge
        Inputs and grid; what is recorded; what is known of the error.
    scheme : flexctl.kernels.schemes.Scheme
        The integrator.
    rtol : float
        Part of the range of an output that its error may be; 0: the steps of the grid are taken as they are.
    sampled : bool
        Whether a sampled law that measures something is in the loop.
    commands : mapping
        For each commanded joint ("joint1", ..) its angle, rate, and acceleration before and after jumps on the grid.
    level : int
        How often steps of the grid are divided by two to begin with.
    begins : bool
        Whether the stepper sets the accelerations when it is made; not of an arm inside something else, which does.
    behind : int
        Numbers of the state that something around the arm has behind it.
    slack : float
        Part of the error allowed in a step that Newton may leave.
    """

    tables: Tables
    record: Record
    gauge: Gauge
    scheme: Any
    rtol: float
    sampled: bool
    commands: Mapping[str, FloatArray]
    level: int = 0
    begins: bool = True
    behind: int = 0
    slack: float = 0.0

    def kernel(self, prefers: float) -> state.Scheme:
        """Return the numbers of the scheme; `prefers` is what "auto" means for a model.

        The stages of a step have one matrix: there factors are kept.
        """
        s, t = self.scheme, self.tables.t
        auto = state.KEPT if s.stages > 1 else prefers
        newton = {"auto": auto, "full": state.FULL, "modified": state.KEPT, "broyden": state.BROYDEN}[s.newton]
        iterations = min(s.iterations, MOST_UPDATES) if newton == state.BROYDEN else s.iterations
        smallest = SMALLEST * min(1.0, np.sqrt(self.rtol / USUAL)) if self.rtol else SMALLEST
        deepest = np.ceil(np.log2(max(float(self.tables.h.max()) / smallest, 1.0)))
        return state.Scheme(
            s.alpha_m, s.alpha_f, s.beta, s.gamma, s.tolerance, float(iterations), newton, float(s.settle), self.rtol,
            float(self.sampled), float(t[-1] - t[0]), float(deepest), self.slack,
        )


class Stepper:
    """The common step (`kernels.stepper`) with what a formulation brings.

    Parameters
    ----------
    model : MechanicalModel
        The model.
    loops : Loops
        The loops, compiled or not.
    form, motion
        What the loop is called with.
    u : ndarray
        Inputs so far.
    plan : Plan
        The run.
    prefers : float
        Iteration that "auto" means.
    place : ndarray, optional
        Where each coordinate stands in motion.q, if not in order.
    """

    def __init__(
        self, model: MechanicalModel, loops: Loops, form: Any, motion: state.Motion, u: FloatArray,
        plan: Plan, first: int, *, prefers: float, place: Any = None,
    ) -> None:
        self.model, self.form, self.motion, self.plan, self.place = model, form, motion, plan, place
        self.loops, self.scheme = loops, plan.kernel(prefers)
        motion.traits[:] = loops.traits
        self.row = self.row_of_form()
        if plan.scheme.stages > 1 and state.SDIRK not in loops:
            raise NotAvailable(f'{model.kind} has no steps of SDIRK4; use method="generalised_alpha"')
        self.u, self.held = u.copy(), np.zeros(u.size)
        self.known: tuple[Any, Any, Any] = None, None, 0
        self.linked: set[Any] = set()
        motion.number[state.LEVEL] = plan.level
        if plan.begins:
            self.advance(no_law(), np.zeros((1, 1)), first, first)  # sets the accelerations

    @property
    def counts(self) -> dict[str, int]:
        """Steps, iterations, factorisations of the iteration matrix, and steps taken again, so far."""
        return dict(zip(COUNTS, (int(x) for x in self.motion.counts), strict=True))

    def measure(self) -> FloatArray:
        """Return the sensor readings now, before any jump of the inputs."""
        y: FloatArray = self.plan.gauge.readings[0].copy()
        return y

    def coordinates_of(self, x: FloatArray) -> FloatArray:
        """Return the coordinates, or their rates, for the numbers of the state, or for rows of these."""
        return x.copy() if self.place is None else np.asarray(x[..., self.place])

    def state(self) -> tuple[FloatArray, FloatArray]:
        """Return coordinates and rates now."""
        return self.coordinates_of(self.motion.q), self.coordinates_of(self.motion.v)

    def advance(self, law: Law, memory: FloatArray, first: int, last: int) -> None:
        """Step from grid point `first` to `last`, recording."""
        plan = self.plan
        if law is not self.known[0]:
            inside = feedback(law, self.motion.q.size, self.motion.lam.size, self.u.size) if law.continuous else None
            self.known = law, *self.row_of_law(inside)
        course = Course(plan.tables, plan.record, np.array([first, last]))
        acting = Acting(law, memory, self.held, self.u)
        which = state.SDIRK if plan.scheme.stages > 1 else law.continuous == 1
        loop = self.loops[which]
        if which not in self.linked:
            self.linked.add(which)
            self.link(loop, which)
        form = self.form if self.row is None else self.row.begin
        result = loop(form, self.motion, self.known[2], acting, course, self.scheme, plan.gauge)
        self.check(result, float(plan.tables.h[min(first, plan.tables.h.size - 1)]))

    def row_of_form(self) -> Any:
        """Return the row of which loops know where it begins; None if they are called with the form itself."""
        if self.loops.form is None:
            return None
        from .groups import Row

        return Row(self.form, self.loops.form)

    def row_of_law(self, inside: Feedback | None) -> tuple[Any, Any]:
        """Return the row of the room of a continuous law, and where it begins, or the room itself twice."""
        if self.row is None:
            return inside, inside
        if inside is None:
            return None, 0
        from .groups import Row

        row = Row(inside, FEEDBACK)
        return row, row.begin

    def link(self, loop: Any, which: Any) -> None:
        """Make a loop ready, and what it calls by its address."""
        places = self.places(which)
        if any(parts for _, parts in places):
            from .parts import link  # the plain engine does without numba

            link(loop, places, feeds=which is True)

    def places(self, which: Any) -> list[tuple[Motion, tuple[Any, ...]]]:
        """Return, from outside inwards, each state of the run and what a loop calls with it by its address."""
        return [(self.motion, self.loops.parts.get(which, ()))]

    def check(self, result: tuple[float, float, float, float], h: float) -> None:
        """Raise an error unless the loop reports success."""
        check(result, h, self.model.kind)
