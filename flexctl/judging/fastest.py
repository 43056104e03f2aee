"""Commands optimised through closed loops: linear ones at once, nonlinear ones by running them again and again.

Linear plants under a linear law are one linear programme (`flexctl.design.optimal`). Any other loop is run: an arm
whose poses differ, a law that is scheduled. What is looked for then are the motions of the law's channels, splines with
linear acceleration between knots, and with them everything that depends on them, as the torques of the rigid arm that
are fed forward; the search is that of `soonest`, first with few knots, then with more.

    plants = {f"{m:g} kg": arm.with_(payload={"mass": m}) for m in (0.0, 0.25, 0.5)}
    move = {"joint1_angle": 1.05, "joint2_angle": 2.6}
    found = fx.optimal_command(law, plants, move, longest=1.6, known=arm)
    run = fx.simulate(plants["0.5 kg"], law, found.references, duration=3.0)

An arrival is what the runs of the full models did, at default accuracy, over `examined` seconds; nothing is said of
what comes after, nor of plants in between.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..abilities import HasModel
from ..design import optimal
from ..design.planned_command import PlannedCommand, references_of
from ..errors import Caution, ConvergenceError, DefinitionError, NotAvailable, caution, require, unknown
from ..laws.blended import Blended
from ..laws.controller import Delayed, LinearLaw, Noisy, Quantised, Saturated, bare, layers
from ..laws.fingerprint import Fingerprint, fingerprint
from ..laws.given import as_law
from ..laws.scheduled import ScheduledLaw
from ..linear.state_model import StateModel
from ..machine.given import as_simulated, opened
from ..model import FloatArray, LinearMechanics, index_of, names
from ..motion.moves import Motion, quintic
from ..motion.planned import Planned, Shape
from ..simulation.simulate import simulate
from ..support import checks
from ..support.kinds import LawGiven, SystemGiven
from ..support.telling import telling
from .soonest import Band, Search, Task, Verdict, Within, arrival_of
from .workers import run_all

FINE = (8, 16)
"""Narrow intervals of the splines, one search after the other."""
DIFFERENCE = 2e-4
"""Change of a number for a difference of runs, in parts of the move."""
SAMPLES = 2000
"""About so many samples of a run are kept for the programmes."""
EXAMINED = 2.0
"""Length of the runs, in parts of `longest`."""
START = 0.8
"""Duration of the polynomial with which the search begins, in parts of `longest`."""


def optimal_command(
    law: LawGiven,
    plants: Mapping[str, Any],
    target: Mapping[str, float],
    *,
    longest: float,
    within: float = optimal.BAND,
    also: Mapping[float, float] | None = None,
    limits: Mapping[str, optimal.Limit] | None = None,
    rest: Mapping[str, float] | None = None,
    known: SystemGiven = None,
    margin: float = optimal.MARGIN,
    fine: Sequence[int] = FINE,
    start: PlannedCommand | Mapping[str, Motion] | None = None,
    duration: float | None = None,
    workers: int | None = None,
    progress: bool | Callable[[float, float], None] | None = None,
    **options: Any,
) -> Any:
    """Return the command that brings every plant to the target soonest, through the loop of one law.

    Parameters
    ----------
    law : Controller
        A sampled law; a `Design` is one. On linear plants one that feeds accelerations forward, inside delay and
        limits; on others any that follows its channels.
    plants : mapping
        Label -> plant. Linear plants (about the point where the move begins, with all their modes) and arms whose model
        is linear are planned in one linear programme. Any other arm is simulated repeatedly until the full nonlinear
        loops keep what is asked for.
    target : mapping
        Followed output -> how far it moves, from where it is; others stay.
    longest : float
        Time by which the plants must have arrived [s]; the search begins there.
    within : float
        Band whose arrival time is minimised, as a fraction of the move.
    also : mapping, optional
        Further bands that must be kept from given times [s] on, e.g. ``{0.001: 0.45}``.
    limits : mapping, optional
        Input or output of the plants -> largest size, or (low, high): torque, strain, rate, travel. By default each
        driven input within 0.98 of the law's own limits.
    rest : mapping, optional
        Output -> band, in its unit, in which it stays from the arrival on, about where it ends: strains, the tip.
        Nonlinear loops only.
    known : Plant or model, optional
        The arm whose torques a law is fed forward (`fx.references`). Nonlinear loops only.
    margin : float
        Fraction of the bands that is planned for.
    fine : sequence of int
        Intervals of the splines up to `longest`, one search after the other. Nonlinear loops only.
    start : PlannedCommand or mapping, optional
        Starting point of the search: a command found before, for other bands, limits or plants, or the motion of every
        moving channel, as a shaped one; by default polynomials. Nonlinear loops only.
    duration : float, optional
        Length of the runs [s], twice `longest` by default. Nonlinear loops only.
    workers : int, optional
        Processes that run; by default one per core. Nonlinear loops only.
    progress : bool or callable, optional
        Progress is reported on the error stream after a second; False: never. A callable is called with the bracket
        of the arrival [s] as it becomes smaller; for nonlinear loops with how much is missing (0 when every run keeps
        what is asked for) and the arrival.
    **options
        Further arguments of `simulate` for nonlinear loops: step, method, initial, inputs.

    Returns
    -------
    OptimalCommand or PlannedCommand
        The second for nonlinear loops.

    Raises
    ------
    ConvergenceError
        When the plants cannot all arrive by `longest`, or the solver gives no answer. Where something was found before
        the solver failed, that is returned, with a warning.

    Examples
    --------
    >>> mass = fx.from_matrices([[1.0]], B=[[1.0]], C=[[1.0]], K=[[0.0]], inputs=["force"], outputs=["x"])
    >>> weights = fx.LqgWeights(
    ...     rate=0.1, energy=0.1, integral=0.0, command=0.1, disturbance=1.0, noise=(1e-6,), load=1e-4
    ... )
    >>> law = fx.lqg(mass, weights, modes=0, sample_time=0.05, measures="x", drive="force", follow="x", limit=1.0)
    >>> command = fx.optimal_command(law, {"1 kg": mass}, {"x": 1.0}, within=0.01, longest=2.2)
    >>> 1.8 < command.arrival < 2.1
    True
    """
    require(isinstance(plants, Mapping) and bool(plants), "plants: give at least one, as {label: plant}")
    arms = {str(name): opened(given) for name, given in plants.items()}
    used = {"rest": rest, "known": known, "fine": None if fine is FINE else fine, "start": start, "workers": workers,
            "duration": duration}
    used |= options
    given = [name for name, value in used.items() if value is not None]
    linear = is_linear(law, arms.values())
    with telling(progress, f"looking for an arrival before {longest:g} s", _arrivals(linear)) as report:
        if linear:
            told = "these loops are linear, and are planned without runs"
            require(not given, f"{', '.join(given)}: {told}; leave it out")
            return optimal.optimal_command(
                law, arms, target, longest=longest, within=within, also=also, limits=limits, margin=margin,
                progress=report,
            )
        asked = _Asked(longest, within, also or {}, limits or {}, rest or {}, known, margin, start, duration, options)
        return _planned(_Loops.of(law, arms, target, asked), tuple(fine), workers, report)


def _arrivals(linear: bool) -> Callable[[float, float], str]:
    """Return what says how far the search has come."""
    if linear:
        return lambda first, arrival: f"arrival between {first:.3f} and {arrival:.3f} s"
    return lambda missing, arrival: f"arrival {arrival:.3f} s" + (f", {missing:.2g} bands missing" if missing else "")


def is_linear(law: Any, plants: Any) -> bool:
    """Whether plants and law make linear loops."""
    several = any(isinstance(layer, Blended | ScheduledLaw) for layer in layers(as_law(law)))
    return not several and all(isinstance(as_simulated(plant), LinearMechanics | StateModel) for plant in plants)


@dataclass(frozen=True)
class _Asked:
    """The request."""

    longest: float
    within: float
    also: Mapping[float, float]
    limits: Mapping[str, optimal.Limit]
    rest: Mapping[str, float]
    known: Any
    margin: float
    start: PlannedCommand | Mapping[str, Motion] | None
    duration: float | None
    options: Mapping[str, Any]

    def __post_init__(self) -> None:
        checks.positive("longest", self.longest, "s")
        for band in (self.within, *self.also):
            require(0.0 < band < 1.0, f"band = {band} must lie between 0 and 1, as a fraction of the move")
        for name, size in self.rest.items():
            require(bool(np.isfinite(size) and size > 0), f"the band of {name} at rest, {size}, must be above zero")
        for band, when in self.also.items():
            require(0.0 < when <= self.longest, f"the band {band} from {when} s on: give a time up to {self.longest} s")
        if self.duration is not None:
            checks.positive("duration", self.duration, "s")
            told = f"duration = {self.duration} s is too short for arrivals up to {self.longest} s; give a fifth more"
            require(self.duration >= 1.2 * self.longest, told)
        require(0.0 < self.margin <= 1.0, f"margin = {self.margin} must lie between 0 and 1")


@dataclass(frozen=True, eq=False)
class _Loops:
    """The loops, the motions that they follow and what they must keep."""

    law: Any
    arms: Mapping[str, Any]
    asked: _Asked
    begins: Mapping[str, float]
    moves: Mapping[str, float]
    limits: Mapping[str, tuple[float, float]]
    word: Fingerprint | None
    dt: float

    @classmethod
    def of(cls, law: Any, arms: Mapping[str, Any], target: Mapping[str, float], asked: _Asked) -> _Loops:
        """Check what was given."""
        own = as_law(law)
        sampled = own is not None and own.sample_time > 0
        require(sampled, "the law is continuous or missing; an optimal command is made for a sampled one")
        plants = {name: as_simulated(arm) for name, arm in arms.items()}
        outputs = [set(names(plant.outputs)) for plant in plants.values()]
        channels = tuple(c for c in own.follows if all(c in have for have in outputs))
        moves = optimal.moves_of(target, channels)
        bounds = optimal.within_both(_own_limits(own), optimal.limits_of(asked.limits))
        for name, plant in plants.items():
            for signal in asked.rest:
                index_of(f"output of {name} that should rest,", signal, plant.outputs)
            for signal in bounds:
                have = (*names(plant.outputs), *names(plant.inputs))
                if signal not in have:
                    raise unknown(f"limited input or output of {name}", signal, have)
        begins = _begins(plants, channels, asked.options)
        try:
            word = fingerprint(own)
        except NotAvailable as error:
            word = None
            caution(f"{error}: the command will not be refused with another law")
        return cls(own, arms, asked, begins, moves, bounds, word, float(own.sample_time))

    @property
    def moving(self) -> tuple[str, ...]:
        """Channels that move."""
        return tuple(name for name, move in self.moves.items() if move)

    @property
    def signals(self) -> tuple[str, ...]:
        """Signals of a run that count."""
        return tuple(dict.fromkeys([*self.moves, *self.asked.rest, *self.limits]))

    @property
    def examined(self) -> float:
        """Length of the runs [s]."""
        return self.asked.duration or EXAMINED * self.asked.longest

    @property
    def kept(self) -> int:
        """Of so many samples one is kept."""
        return max(1, int(self.examined / self.dt / SAMPLES))

    def motions(
        self, shape: Shape, numbers: FloatArray, arrives: float, word: Fingerprint | None = None
    ) -> dict[str, Planned]:
        """Return the motion of every channel, for one law or for any."""
        free = iter(numbers.reshape(-1, shape.count))
        nothing = np.zeros(shape.count)
        return {
            name: shape.motion(next(free) if move else nothing, self.begins[name], move, arrives, word)
            for name, move in self.moves.items()
        }

    def begun(self, t: FloatArray) -> list[tuple[FloatArray, FloatArray]]:
        """Return what the search begins with, at times t: the way of each moving channel from 0 to 1, acceleration."""
        if self.asked.start is None:
            x, _, a = quintic(0.0, 1.0, START * self.asked.longest)(t)
            return [(x, a)] * len(self.moving)
        given = self.asked.start.motions if isinstance(self.asked.start, PlannedCommand) else self.asked.start
        found = []
        for name in self.moving:
            require(name in given, f"start has no motion of {name}; it has those of {list(given)}")
            x, _, a = given[name](t)
            whole = float(given[name].target - x[0])
            require(whole != 0.0, f"the motion of {name} in start goes nowhere")
            found.append(((x - x[0]) / whole, a / whole))
        return found

    def references(self, motions: Mapping[str, Planned], arm: Any) -> dict[str, Motion]:
        """Return what a run refers to."""
        return references_of(self.law, motions, arm, self.asked.known)


def _own_limits(law: Any) -> dict[str, tuple[float, float]]:
    """Return the limits of a law, where it knows them."""
    from .certify.runs import limits

    reserve = optimal.RESERVE
    return {name: (-reserve * size, reserve * size) for name, size in limits(law).items() if np.isfinite(size)}


def _without_limits(law: Any) -> Any:
    """Return a law that commands what it will: at a limit a run does not change with the command, and tells nothing.

    A command is taken only if it keeps the limits, and then both laws are one.
    """
    law = bare(law)
    if isinstance(law, LinearLaw):
        return law.limited(np.full(len(law.drives), -np.inf), np.full(len(law.drives), np.inf))
    if isinstance(law, Blended | ScheduledLaw):
        return replace(law, laws=tuple(_without_limits(one) for one in law.laws))
    if isinstance(law, Saturated):
        return _without_limits(law.law)
    return replace(law, law=_without_limits(law.law)) if isinstance(law, Delayed | Quantised | Noisy) else law


def _begins(plants: Mapping[str, Any], channels: Sequence[str], options: Mapping[str, Any]) -> dict[str, float]:
    """Return where the channels are at first; the same on every plant."""
    found: dict[str, float] = {}
    for label, plant in plants.items():
        given = options.get("initial")
        q, v = (given(plant) if callable(given) else given) or (plant.reference(), np.zeros(len(plant.coordinates)))
        y = plant.output(np.asarray(q, float), np.asarray(v, float), np.zeros_like(q), np.zeros(len(plant.inputs)))
        for name in channels:
            here = float(y[index_of("output", name, plant.outputs)])
            away = abs(here - found.setdefault(name, here)) > 1e-6 * max(1.0, abs(here))
            told = f"{name} begins at {found[name]:g} and on {label} at {here:g}: one command needs one start"
            require(not away, told)
    return found


def _planned(
    loops: _Loops, fine: tuple[int, ...], workers: int | None, progress: Callable[[float, float], None] | None
) -> PlannedCommand:
    """Return the command of the last search."""
    counted = bool(fine) and all(isinstance(n, int) and n >= 4 for n in fine)
    require(counted, f"fine = {fine}: give numbers of intervals, 4 or more each")
    asked, step = loops.asked, loops.dt
    last = int(asked.longest / step)
    require(last >= 20, f"longest = {asked.longest} s are {last} samples: too few")
    search, shape = None, None

    def report(verdict: Verdict) -> None:
        if progress is not None:
            progress(verdict.excess, verdict.arrival * step)

    t = np.linspace(0.0, loops.examined, 2001)
    rows = loops.begun(t)
    for intervals in fine:
        shape = Shape(asked.longest, intervals)
        numbers = np.concatenate([shape.fitted(t, x, a) for x, a in rows])
        work = _Work(loops, shape, workers)
        rough = intervals != fine[-1]
        search = Search(_task(work), numbers, last, report, *((4, 0.05) if rough else ()))
        search.go()
        at_times = [shape.values(t, order) for order in (0, 2)]
        own = search.numbers.reshape(-1, shape.count)
        rows = [(x[0] + x[1] @ row, a[0] + a[1] @ row) for row in own for x, a in [at_times]]
    if search is None or shape is None:
        raise DefinitionError("nothing was searched")  # for the type checker: fine is not empty
    return _command(loops, shape, search, work)


def _command(loops: _Loops, shape: Shape, search: Search, work: _Work) -> PlannedCommand:
    """Return the best of a search with what its runs did, or raise."""
    verdict, asked = search.verdict, loops.asked
    if verdict.excess > 0.0:
        raise ConvergenceError(
            f"no command was found that brings {len(loops.arms)} plants within {100 * asked.within:g} % by "
            f"{asked.longest:g} s ({verdict.worst}{'; ' + search.trouble if search.trouble else ''}); give more time, "
            "wider bands, higher limits or fewer plants"
        )
    if search.trouble:
        caution(f"the search ended early, the best before is returned: {search.trouble}")
    arrival, motions, arrivals, peaks = work.verified(search)
    bands = {asked.within: arrival, **asked.also}
    any_arm = next(iter(loops.arms.values()))
    return PlannedCommand(
        loops.references(motions, any_arm), motions, arrival, dict(sorted(bands.items(), reverse=True)),
        tuple(loops.arms), loops.dt, loops.word, dict(loops.moves), peaks, arrivals,
        loops.examined,
    )


@dataclass(frozen=True, eq=False)
class _Work:
    """Runs and differences of runs."""

    loops: _Loops
    shape: Shape
    workers: int | None

    def respond(self, numbers: FloatArray) -> list[FloatArray]:
        """Return the signals of every plant of runs at their own accuracy."""
        motions = self.loops.motions(self.shape, numbers, self.loops.asked.longest)
        jobs = [(label, [motions], self.loops.asked.options) for label in self.loops.arms]
        return [rows[0] for rows in self._all(jobs)]

    def differ(self, numbers: FloatArray) -> list[FloatArray]:
        """Return how they change with the numbers: differences of runs in fixed steps."""
        loops, longest = self.loops, self.loops.asked.longest
        options = {key: value for key, value in loops.asked.options.items() if key != "rtol"}
        options.setdefault("step", loops.dt)
        sets = [loops.motions(self.shape, numbers, longest)]
        for i in range(numbers.size):
            moved = numbers.copy()
            moved[i] += DIFFERENCE
            sets.append(loops.motions(self.shape, moved, longest))
        parts = 1 if self.workers == 1 else 4
        size = -(-len(sets) // parts)
        pieces = [sets[k : k + size] for k in range(0, len(sets), size)]
        jobs = [(label, piece, options) for label in loops.arms for piece in pieces]
        answers = [[y[:, :: loops.kept] for y in rows] for rows in self._all(jobs)]
        found = []
        for p in range(len(loops.arms)):
            rows = np.array([y for piece in answers[p * len(pieces) : (p + 1) * len(pieces)] for y in piece])
            found.append(np.moveaxis((rows[1:] - rows[0]) / DIFFERENCE, 0, -1))
        return found

    def verified(self, search: Search) -> tuple[float, dict[str, Planned], dict[str, float], dict[str, Any]]:
        """Run the best once more, warnings told: arrival, motions, arrival and peaks of every plant."""
        loops, step = self.loops, self.loops.dt
        motions = loops.motions(self.shape, search.numbers, search.verdict.arrival * step, loops.word)
        arrivals, peaks = {}, {}
        for (label, arm), bands in zip(loops.arms.items(), search.task.bands, strict=True):
            [y] = _runs((loops.law, arm, [loops.references(motions, arm)], loops.examined, loops.signals,
                         loops.asked.options, False))
            arrivals[label] = loops.dt * arrival_of(y, bands)
            peaks[label] = {name: float(np.abs(y[loops.signals.index(name)]).max()) for name in loops.limits}
        arrival = max(arrivals.values())
        return arrival, {name: replace(m, arrives=arrival) for name, m in motions.items()}, arrivals, peaks

    def _all(self, jobs: Sequence[tuple[str, Sequence[Mapping[str, Planned]], Mapping[str, Any]]]) -> list[Any]:
        loops, free = self.loops, _without_limits(self.loops.law)
        cases = []
        for label, sets, options in jobs:
            arm = loops.arms[label]
            references = [loops.references(motions, arm) for motions in sets]
            cases.append((free, arm, references, loops.examined, loops.signals, dict(options), True))
        found: list[Any] = [None] * len(cases)
        workers = 1 if sum(len(sets) for _, sets, _ in jobs) < 16 else self.workers
        for number, rows in run_all(_runs, cases, workers):
            found[number] = rows
        return found


def _runs(case: tuple[Any, ...]) -> list[FloatArray]:
    """Return the signals of some runs, (signals, samples) each."""
    law, arm, sets, duration, signals, options, quiet = case
    plant = arm.model if isinstance(arm, HasModel) else arm  # made once, not for every run
    found = []
    with warnings.catch_warnings():
        if quiet:
            warnings.simplefilter("ignore", Caution)
        for references in sets:
            run = simulate(plant, law, references, duration=duration, **options)
            at = law.sample_time * np.arange(round(duration / law.sample_time) + 1)
            k = np.minimum(np.searchsorted(run.t, at - 1e-9), run.t.size - 1)
            found.append(np.array([run[name][k] for name in signals]))
    return found


def _task(work: _Work) -> Task:
    """Return the task of a search."""
    loops = work.loops
    asked, step = loops.asked, loops.dt
    extent = max(abs(x) for x in loops.moves.values())
    bands = []
    for i, (name, move) in enumerate(loops.moves.items()):
        centre, size = loops.begins[name] + move, abs(move) or extent
        bands.append(Band(i, centre, asked.within * size))
        bands += [Band(i, centre, band * size, int(when / step)) for band, when in asked.also.items()]
    bands += [Band(loops.signals.index(name), np.nan, size) for name, size in asked.rest.items()]
    limits = [Within(loops.signals.index(name), *pair) for name, pair in loops.limits.items()]
    count = len(loops.arms)
    return Task(
        tuple(loops.arms), loops.signals, [bands] * count, [limits] * count, work.respond, work.differ, step,
        loops.kept, None, asked.margin,
    )
