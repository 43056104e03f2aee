"""One run of `simulate`: grid, tables and recording prepared, then advanced from call to call of the law."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from ..abilities import ContinuousLoop, Stepping, sample_time_of, sticks
from ..errors import ConvergenceError, NotAvailable, require
from ..kernels.schemes import SCHEMES, Scheme
from ..laws.abilities import ChangesAtTimes
from ..laws.compiled import begin, compile_law, empty_law, hold_law
from ..laws.controller import check_answer, initial_at
from ..linear.state_model import StateModel
from ..model import FloatArray, MechanicalModel, Signal, index_of, names, with_payload
from ..motion.moves import InputSignal, Motion
from ..motion.signals import PiecewiseConstant
from ..support.checks import real_array, several
from .answered import STARTS
from .claims import Claim, claims
from .defaults import SEES
from .given import errors_of_inputs, told_why
from .given_steps import HIDES, run_given
from .grid import both_limits, commands, limits, middles, samples, time_grid, warn_between_samples
from .growth import Growth, still_growing
from .hidden import hidden_parts, largest_jump
from .pilot import HALVED, in_parts, serves, taken
from .response import Response
from .scores import scores
from .second_look import rounds_much, second_look
from .sticking import refine, told_by_longer
from .still import without_acceleration
from .uncorrected import corrects_little
from .within import left_out, points_within

OPEN = 1e-9  # gap of a closure relative to the pose with which a run may begin
SLACK = 0.1
"""Newton may leave so much of the error that a step may have, times its part of the run; derived in
`kernels.estimate.may_leave`, and `test_what_newton_leaves_does_not_add_up` compares with none."""
ROUNDED = 1e-13
"""Of the largest value of a signal, what is no jump and no value but rounding. Chosen."""
SMALL = 0.01  # part of the largest command that a jump may be to hide nothing; chosen, a tenth of what is claimed
DIVIDED = 1.05  # so many times the steps of the grid are those of a run that was divided somewhere; chosen
WITHIN = 0.99
"""Part of rtol up to which is claimed what jumps of a law may hide from steps as short as was asked for."""
PILOT = 0.2  # part of the progress that the first pass is counted as


@dataclass(frozen=True)
class Setup:
    """The system that is run: the plant, the model to integrate (it, or its loop with a continuous law), the rest."""

    plant: MechanicalModel
    model: MechanicalModel
    law: Any
    references: Mapping[str, Motion]
    inputs: Mapping[str, InputSignal]
    duration: float
    step: float
    method: str
    scheme: Scheme
    payload: tuple[tuple[float, float, float], ...]
    initial: tuple[FloatArray, FloatArray] | None
    record_states: bool
    motions: Mapping[str, Motion] = field(default_factory=dict)
    rtol: float = 0.0
    furthest: int = 0  # so many states are kept in place of all, see `kernels.furthest`


class Run:
    """The prepared grid and tables, and the state of the run."""

    def __init__(self, setup: Setup, points: Sequence[float] | None = None) -> None:
        """points: times that the grid has besides, if they are known, so that steps know what inputs do within them."""
        from ..kernels import tables
        from ..kernels.engine import Plan
        from .accuracy import Accuracy, unknown_by_unit

        self.setup, model, law = setup, setup.model, setup.law
        n, p, ny = len(model.coordinates), len(model.inputs), len(model.outputs)
        breaks = [b for signal in setup.inputs.values() for b in signal.breakpoints] + [row[0] for row in setup.payload]
        breaks += [b for motion in setup.motions.values() for b in motion.breakpoints]
        acts = law is not None and law.sample_time == 0  # within every step
        if acts:
            breaks += [b for motion in setup.references.values() for b in motion.breakpoints]
            breaks += law.times if isinstance(law, ChangesAtTimes) else ()
        period = None if law is None or acts else law.sample_time
        sampled = sample_time_of(model) > 0  # inputs act from sample to sample, and no step is shortened
        grid_of = period or setup.step if sampled else period
        self.t, h, self.due = time_grid(setup.duration, setup.step, grid_of, [] if sampled else breaks)
        acting = [*setup.inputs.values(), *setup.motions.values(), *(setup.references.values() if acts else ())]
        moved, self.points = 0.0, list(points or ())
        if points is None and setup.method in SCHEMES:
            if setup.rtol:
                self.points = points_within(acting, self.t, setup.rtol)
            else:
                moved = left_out(acting, self.t)
        if self.points:
            self.t, h, self.due = time_grid(setup.duration, setup.step, grid_of, [*breaks, *self.points])
        if law is None:
            self.due[:] = -1
        if sampled:
            warn_between_samples(setup.inputs, self.t, setup.step)
        before, after, bulge = np.zeros((self.t.size, p)), np.zeros((self.t.size, p)), np.zeros((h.size, p))
        for name, signal in setup.inputs.items():
            left, right = _without_rounding(*limits(name, signal, self.t, setup.step))
            i = index_of("input", name, model.inputs)
            before[:, i] += left
            after[:, i] += right
            bulge[:, i] += 0.0 if sampled else middles(signal, self.t) - 0.5 * (right[:-1] + left[1:])
        self.commands = {name: commands(name, motion, self.t, setup.step) for name, motion in setup.motions.items()}
        motions = {name: samples(name, motion, self.t, setup.step) for name, motion in setup.references.items()}
        self.channels = {name: rows[0] for name, rows in motions.items()}
        calls = (self.due >= 0) | acts
        follows = () if law is None else law.follows
        if acts:
            pairs = [both_limits(name, setup.references[name], self.t, setup.step) for name in follows]
            followed = [rows for side in (0, 1) for rows in (pair[side] for pair in pairs)]
        else:
            followed = [motions[name][:, calls] for name in follows]
        self.wanted = np.ascontiguousarray(np.vstack([np.zeros((0, calls.sum())), *followed]).T)
        self.compiled = empty_law() if law is None else compile_law(law, model, self.t[calls])
        table = self.wanted if self.compiled else np.zeros((len(self.wanted), len(law.drives)))
        self.tables = tables.Tables(self.t, h, self.due, before, after, bulge, table)
        rows = self.t.size if setup.record_states else max(1, setup.furthest)
        y, u, kept = np.zeros((self.t.size, ny)), np.zeros((self.t.size, p)), np.zeros((2, setup.furthest))
        self.record = tables.Record(y, u, np.zeros((rows, n)), np.zeros((rows, n)), kept)
        self.looped = period is not None and bool(law.measures)  # a law that measures nothing corrects nothing
        self.accuracy = Accuracy(model.outputs, self.looped, moved)
        rest = unknown_by_unit(model.outputs)
        if rest.size and setup.method in SCHEMES:
            self.accuracy.estimates(without_acceleration(model, rest))
        self.plan = Plan(
            self.tables, self.record, self.accuracy.gauge, setup.scheme, setup.rtol, self.looped, self.commands,
            slack=SLACK if setup.rtol else 0.0,
        )
        self.q, self.v = self._initial()
        self.sticks = sticks(model)
        self.changed: FloatArray | None = None  # by how much a second run changed the inputs
        self.kept: dict[int, Any] = {}  # states of a law in Python before some of its calls
        self.work: dict[str, int] = {}
        self.watched = True  # someone wants to see how far it is

    def _initial(self) -> tuple[FloatArray, FloatArray]:
        plant, model = self.setup.plant, self.setup.model
        if self.setup.initial is None:
            return model.reference(), np.zeros(len(model.coordinates))
        pair = several("initial", self.setup.initial, "(q, v)")
        require(len(pair) == 2, f"initial has {len(pair)} entries; give the pair (q, v) of coordinates and rates")
        q, v = (real_array("initial state", x) for x in pair)
        shape = (len(plant.coordinates),)
        fits = q.shape == v.shape == shape
        require(fits, f"initial state has shapes {q.shape}, {v.shape}; {plant.kind} needs {shape} twice")
        require(bool(np.isfinite(q).all() and np.isfinite(v).all()), "initial state has entries that are not finite")
        _check_closures(plant, q, v)
        law = np.zeros(len(model.coordinates) - len(plant.coordinates))
        return np.concatenate([q, law]), np.concatenate([v, law])

    def go(self, report: Callable[[float], None]) -> None:
        """Run from begin to end; where steps follow the error, first in those of the grid.

        That run knows the ranges of the outputs. It is the result if its own estimate is good enough and nothing jumps.
        Where joints are led a pilot in longer steps comes before it, which their torques would need after it anyway.
        Exact steps and those of the march stay as they are.
        """
        if not self.plan.rtol or self.setup.method not in SCHEMES:
            run_given(self, report)
            return
        if self.compiled is None or self._estimates_every_step():  # a controller in Python is called once per period
            self._pass(report)
            return
        asked, whole, hides, first = self.plan, (self.q, self.v), 0.0, None
        if self.commands and serves(self):
            if not taken(self, asked, whole, report):
                self._follow(asked, whole, report)
            report(1.0)
            return
        self.plan = asked._replace(rtol=0.0)
        try:
            self._pass(lambda part: report(PILOT * part))
            first = self.record.y.copy(), self.accuracy.gauge.error.copy()
            hides = largest_jump(self)
            self.accuracy.hides[:] = hides
            if self.longest() <= SEES and hides > HIDES * asked.rtol:  # another run would take longer than to look
                self.accuracy.hides = hidden_parts(self)
                hides = float(self.accuracy.hides[self.accuracy.controlled].max(initial=0.0))
            good = not self.jumps() and hides <= HIDES * asked.rtol and self.accuracy.within(asked.rtol)
            self.accuracy.hides *= 1.0 if good else 0.0
        except ConvergenceError:  # shorter steps may do
            good = False
            self.accuracy.gauge.low[:], self.accuracy.gauge.high[:] = np.inf, -np.inf
            self.accuracy.gauge.error[:] = np.inf
        smooth = not self.forces_jump() and (hides <= HIDES * asked.rtol or self.longest() <= SEES)
        if not good and smooth and not self.sticks and self.accuracy.near(asked.rtol):
            good = taken(self, asked, whole, lambda part: None) if serves(self) else self._halve(asked, whole)
        if self.sticks and self.accuracy.near(asked.rtol) and told_by_longer(self):
            if self.accuracy.settled(asked.rtol):
                report(1.0)
                return
            self.accuracy.second = self.changed = None
        if not good:
            self._follow(asked, whole, report)
            if self.looped and first is not None:
                self._after_following(first)
        if self.sticks:
            refine(self, asked, whole)
        report(1.0)

    def _follow(self, asked: Any, whole: tuple[FloatArray, FloatArray], report: Callable[[float], None]) -> None:
        """Run in steps that follow the error, with the ranges that are known."""
        self.accuracy.again()
        (self.q, self.v), self.plan = whole, asked._replace(gauge=self.accuracy.gauge)
        self._pass(lambda part: report(PILOT + (1.0 - PILOT) * part))

    def _after_following(self, first: tuple[FloatArray, FloatArray]) -> None:
        """Take what a run in steps of the grid tells of one whose steps followed the error; outputs, sums of the first.

        That of one whose steps were hardly divided is the same: it says nothing, and jumps of a law hide as much.
        """
        if self.work.get("steps", 0) > DIVIDED * (self.t.size - 1):
            self.accuracy.temper(first[0], self.record.y, first[1])
        else:
            self.accuracy.hides[:] = largest_jump(self)
            self.accuracy.hides = np.minimum(hidden_parts(self), WITHIN * self.setup.rtol)

    def _halve(self, asked: Any, whole: tuple[FloatArray, FloatArray]) -> bool:
        """Run in half steps, which change what can be seen by so much that the rest is known; return if it is little.

        Sums of local errors say more than there is: in an arm that is moved they have all signs. Two runs cost less
        than steps that are short for their sake.
        """
        for level in range(1, HALVED + 1):
            y, u, sums = self.record.y.copy(), self.record.u.copy(), self.accuracy.gauge.error.copy()
            if not in_parts(self, asked, whole, level, lambda part: None):
                return False
            if self.accuracy.converged(y, self.record.y, sums, asked.rtol):
                self.changed = np.abs(self.record.u - u).max(axis=0)
                return True
        return False

    def _estimates_every_step(self) -> bool:
        """Whether one pass serves: the method knows its error at once, also after jumps, and no joint sticks."""
        return self.setup.scheme.stages > 1 and not self.sticks

    def once(
        self, report: Callable[[float], None], marks: Sequence[int] = (), enough: Callable[[int], bool] | None = None
    ) -> None:
        """Run once, in the steps of the plan; where `enough` is true at a grid point of `marks`, the run ends there."""
        self._pass(report, marks, enough)

    def forces_jump(self) -> bool:
        """Whether an input, or the payload, jumps."""
        before, after = self.tables.before, self.tables.after
        return bool(self.setup.payload or np.any(before[1:-1] != after[1:-1]) or np.any(after[0]))

    def jumps(self) -> bool:
        """Whether a force or a commanded acceleration jumps."""
        for rows in self.commands.values():
            change = max(np.abs(rows[3] - rows[2]).max(), abs(rows[3, 0]))
            if change > 1e-9 * np.abs(rows[2:]).max():
                return True
        return self.forces_jump()

    def _pass(
        self, report: Callable[[float], None], marks: Sequence[int] = (), enough: Callable[[int], bool] | None = None
    ) -> None:
        """Run once, payload change by payload change; `marks` and `enough` as in `once`."""
        model, law, payload = self.setup.model, self.setup.law, self.setup.payload
        points = [0, *(int(np.argmin(np.abs(self.t - row[0]))) for row in payload), self.t.size - 1]
        # what acts before the run begins: an input that has always been there, as what holds the arm; else it jumps
        u, held = self.tables.before[0].copy(), np.zeros(len(model.inputs))
        self.memory = self.compiled[1].copy() if self.compiled else np.zeros((1, max(1, len(law.drives))))
        self.work = {}
        self.plan.record.furthest[:] = -1.0
        for number, (first, last) in enumerate(pairwise(points)):
            if number:
                model = _with_payload(model, *payload[number - 1][1:])
            if first == last:
                continue
            engine = self._engine(model, u, first)
            engine.held[:] = held
            if first == 0:
                self._begin(engine)
            ended = self._advance(engine, first, last, report, marks, enough)
            for what, count in engine.counts.items():
                self.work[what] = self.work.get(what, 0) + count
            (self.q, self.v), u, held = engine.state(), engine.u.copy(), engine.held.copy()
            if ended:
                return

    def _begin(self, engine: Any) -> None:
        """Put the law into the state with which it begins where the plant is."""
        self.law_state, law = None, self.setup.law
        if law is None:
            return
        y = np.asarray(engine.measure(), float)
        y = y[[index_of("output", name, self.setup.model.outputs) for name in law.measures]]
        if not self.compiled:
            self.law_state = initial_at(law, y)
        elif law.sample_time > 0:
            begin(law, y, self.memory)

    def _engine(self, model: MechanicalModel, u: FloatArray, first: int) -> Any:
        from . import engines

        arguments, plan = (self.q, self.v, u, self.tables, self.record, first), self.plan
        if isinstance(model, StateModel):
            from . import states

            if self.compiled is None:
                states.check_feed_through(model, self.setup.law)
            return (states.SampledStates if model.dt else states.ExactStates)(model, *arguments)
        if self.setup.method == "exact":
            return engines.Exact(model, *arguments)
        if self.setup.method == "march":
            return engines.Explicit(model, *arguments)
        if isinstance(model, Stepping) and model.own_stepper:
            return model.stepper(self.q, self.v, u, plan, first)
        if self.commands:
            raise NotAvailable(f"{model.kind} with commanded joints has no stepper of its own")
        engines.soon(model, plan, self.compiled is not None and self.compiled[0].continuous == 1)
        compiled = model.compiled()
        whole = compiled is not None and (bool(model.closures) <= (compiled.closure is not None))
        return (engines.implicit if whole else engines.plain)(model, self.q, self.v, u, plan, first)

    def _advance(
        self, engine: Any, first: int, last: int, report: Callable[[float], None], marks: Sequence[int],
        enough: Callable[[int], bool] | None,
    ) -> bool:
        """Advance to grid point `last`; return whether the run is to end before."""
        if self.compiled:
            # calls of some hundredths of a second, that an interrupt is noticed and calls cost less than the steps; a
            # dozen or more where someone wants to see that progress moves
            k, chunk = first, 64 if self.watched else 256
            longest = max(1, (self.t.size - 1) // 12) if self.watched else last
            while k < last:
                begun, end = time.perf_counter(), min(k + min(chunk, longest), last, *(m for m in marks if m > k))
                engine.advance(self.compiled[0], self.memory, k, end)
                report(end / (self.t.size - 1))
                if enough is not None and end in marks and enough(end):
                    return True
                k, chunk = end, chunk * (4 if time.perf_counter() - begun < 0.02 else 1)
            return False
        law = self.setup.law
        held = hold_law(law, self.setup.model)
        measures = [index_of("output", name, self.setup.model.outputs) for name in law.measures]
        calls = np.flatnonzero(self.due[first:last] >= 0) + first
        asked = {int(c) for c in np.linspace(0, 0.9 * len(self.wanted), STARTS)}
        for k, end in pairwise(np.unique([first, *calls, last]).tolist()):
            c = int(self.due[k])
            if c >= 0:
                y, t = np.asarray(engine.measure(), float)[measures], float(self.t[k])
                if c in asked:
                    self._keep(c)
                answer = law.step(self.law_state, t, y, self.wanted[c])
                self.tables.reference[c], self.law_state = check_answer(answer, law, t)
            engine.advance(held, self.memory, k, end)
            report(end / (self.t.size - 1))
        return False

    def _hidden(self) -> bool:
        """Whether a force jumps, given or of a continuous law: the first step after that hides what it skips."""
        law = self.setup.law
        if self.jumps() or law is None or law.sample_time > 0 or self.compiled is None:
            return self.jumps()
        u, (before, after) = self.record.u, np.split(self.wanted, 2, axis=1)
        jumps, least = np.abs((after - before) @ self.compiled[0].Dr.T), SMALL * np.abs(u).max()
        return bool(np.any(jumps > least) or np.any(np.abs(u[0]) > least))

    def _rising(self) -> Growth | None:
        """Return how the motion was swinging up at the end, where nothing but a loop can have made it."""
        law, inputs = self.setup.law, self.setup.inputs.values()
        looped = isinstance(self.setup.model, ContinuousLoop) or (law is not None and bool(law.measures))
        if not looped or self.setup.method == "exact" or any(not isinstance(s, PiecewiseConstant) for s in inputs):
            return None
        if any(motion.duration > self.t[-1] for motion in self.setup.references.values()):
            return None
        rows = self.accuracy.controlled
        found = still_growing(self.t, self.record.y[:, rows], [self.setup.model.outputs[i].name for i in rows])
        return found if found is not None and found.oscillates else None

    def _keep(self, c: int) -> None:
        """Keep the state of a law in Python before its call c, if it can be copied."""
        try:
            self.kept[c] = copy.deepcopy(self.law_state)
        except Exception:  # noqa: BLE001 - whatever the state of a law of somebody else does
            self.kept.pop(c, None)

    def response(self, provenance: dict[str, Any], elapsed: float) -> Response:
        """Return the finished run."""
        setup, plant, record = self.setup, self.setup.plant, self.record
        outputs, inputs, n = plant.outputs, plant.inputs, len(plant.coordinates)
        y, u = record.y[:, : len(outputs)], record.u
        if isinstance(setup.model, ContinuousLoop):  # what reached the inputs of the plant
            u = setup.model.applied(record.y, record.u)
        finite = np.isfinite(y)
        if not finite.all():
            when = float(self.t[int(np.argmin(finite.all(axis=1)))])
            message = f"a sensor of {plant.kind} does not read a finite number at t = {when:.6g} s"
            raise ConvergenceError(message, time=when)
        references = tuple(Signal(name, _unit(name, outputs)) for name in self.channels)
        r = np.array(list(self.channels.values())).T if self.channels else np.zeros((self.t.size, 0))
        q, v = (record.q[:, :n], record.v[:, :n]) if setup.record_states else (None, None)
        if setup.method == "exact":
            self.accuracy.exactly(record.y, record.u, self.tables.bulge)
        self.accuracy.follows, self.accuracy.jumps = bool(self.plan.rtol), self._hidden()
        self.accuracy.rising = self._rising()
        self.accuracy.rings = self.accuracy.rising is None and corrects_little(self)
        error, why, claimed = self._claims(y, u)
        # look before it is said; of longer steps what rings on adds up, and only a second run tells
        told = self.longest() <= SEES or self.accuracy.second is not None
        if told and np.any(self.accuracy.hides > 0.0) and self.accuracy.poor(claimed, setup.rtol):
            self.accuracy.hides = hidden_parts(self)
            error, why, claimed = self._claims(y, u)
        begun = time.perf_counter()
        if self._doubted(claimed) and second_look(self):
            error, why, claimed = self._claims(y, u)
            elapsed += time.perf_counter() - begun
        numbers = scores(self.t, y, u, outputs, inputs, setup.references)
        provenance.update(method=setup.method, step_s=self.longest(), duration_s=setup.duration, wall_s=elapsed)
        provenance.update(self.work, real_time_factor=setup.duration / elapsed)
        why |= self.accuracy.why(outputs, setup.method)
        provenance.update(self.accuracy.told(claimed), **told_why(error, why))
        self.accuracy.warn(claimed, setup.rtol, float(self.t[-1]))
        return Response(
            self.t, y, u, r, outputs, inputs, references, q, v, plant.coordinates, numbers, provenance, error
        )

    def _doubted(self, claimed: Sequence[Claim]) -> bool:
        """Whether a second run is to tell the errors: a claim would be warned of, or sums of errors tell little."""
        accuracy = self.accuracy
        return accuracy.rings or accuracy.poor(claimed, self.setup.rtol) or rounds_much(self, claimed)

    def _claims(self, y: FloatArray, u: FloatArray) -> tuple[dict[str, float], dict[str, str], list[Claim]]:
        """Return the errors of outputs and inputs, why some inputs have none, and the claims."""
        setup, plant = self.setup, self.setup.plant
        error = self.accuracy.error(plant.outputs, setup.method, setup.rtol)
        found, why = errors_of_inputs(self, self.accuracy.error(setup.model.outputs, setup.method, 0.0))
        error |= found
        return error, why, claims((*plant.outputs, *plant.inputs), (y, u), error)

    def longest(self) -> float:
        """Return the longest step of the grid [s]."""
        return float(self.tables.h.max())


def _without_rounding(left: FloatArray, right: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the limits of a signal without the jumps that rounding makes of it."""
    bound = ROUNDED * max(np.abs(left).max(initial=0.0), np.abs(right).max(initial=0.0))
    right = np.where(np.abs(right) <= bound, 0.0, right)
    return np.where(np.abs(left - right) <= bound, right, left), right


def _unit(name: str, outputs: tuple[Signal, ...]) -> str:
    return outputs[names(outputs).index(name)].unit if name in names(outputs) else "1"


def _check_closures(model: MechanicalModel, q: FloatArray, v: FloatArray) -> None:
    """Refuse a start that leaves closures open; the rates at the end of a run do so by the error of the integrator."""
    if not model.closures:
        return
    G = model.closure_jacobian(q)
    gap, drift, scale = (float(np.abs(x).max()) for x in (model.closure(q), G @ v, G))
    shut = gap <= OPEN * scale * (1.0 + np.abs(q).max())
    require(bool(shut), f"the initial pose leaves a closure of {model.kind} open by {gap:.3g}; see flexctl.equilibrium")
    stays = drift <= 1e-3 * scale * (1.0 + np.abs(v).max())
    require(bool(stays), f"the initial rates open a closure of {model.kind} at {drift:.3g} per second")


def _with_payload(model: MechanicalModel, mass: float, inertia: float) -> MechanicalModel:
    changed = with_payload(model, mass, inertia)
    if len(changed.coordinates) != len(model.coordinates):
        raise NotAvailable(
            "the payload's inertia adds or removes a coordinate during the run; give the plant a small payload inertia "
            "from the start"
        )
    return changed
