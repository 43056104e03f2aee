"""Tuning over several plants at once: weights of a design function, or gains of a fixed structure.

    def design(**weights):
        return fx.lqg(plant, fx.LqgWeights(**weights), ...)

    found = fx.tune(design, {"rate": 5e-5, "energy": 1e-4, ...}, over={"0 g": .., "20 g": ..},
                    minimise={"disk_margin": 0.4, "load_response": 0.05}, require={"noise_gain": 260.0})
    found.parameters, found.law, found.values, found.spread

What is made small is the largest of the goals in parts of their bounds, each taken at its worst plant; see
`flexctl.judging.tuning.criteria` for their names. Such a function has kinks, and its minimum lies in one: every start
is taken down by BFGS with weak Wolfe steps and gradient sampling (`.descent`), the best ends are started again, and the
spread of all of them is reported. Weights are better parameters than gains: every point of the search is stable on the
plant of the design. Positive parameters are searched by their logarithm.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ConvergenceError, DefinitionError, FlexctlError, require
from ...machine.given import as_plant
from ...model import FloatArray
from ...support.files import write_atomically
from ...support.tabular import Column, Tabular
from ...support.telling import telling
from ..sweep.cluster import run_on_cluster
from ..workers import run_all
from .criteria import UNSTABLE, Goals, Model, judged, models
from .descent import minimise as descend

if TYPE_CHECKING:
    from ...catalogue import Plant
    from ..scenario import Scenario

__all__ = ["Knob", "Tuned", "tune"]

REFUSED = UNSTABLE + 1e4
"""Cost of a point where there is no law."""


@dataclass(frozen=True)
class Knob:
    """A parameter of a search.

    Attributes
    ----------
    start : float
        First value.
    low, high : float
        Bounds.
    scale : float
        Unit of a parameter that may be zero or negative; 0: the size of `start`. Positive ones with no negative bound
        need none: they are searched by their logarithm.

    Examples
    --------
    >>> fx.Knob(0.3, low=0.0).logarithmic
    True
    """

    start: float
    low: float = -np.inf
    high: float = np.inf
    scale: float = 0.0

    def __post_init__(self) -> None:
        numbers = all(isinstance(x, int | float | np.number) and not isinstance(x, bool) for x in
                      (self.start, self.low, self.high, self.scale))
        require(numbers, f"{self} must be numbers")
        require(bool(np.isfinite(self.start)), f"start = {self.start} must be finite")
        require(self.low < self.high, f"low = {self.low} must be below high = {self.high}")
        require(self.low <= self.start <= self.high, f"start = {self.start} must lie in {self.low} to {self.high}")
        sized = self.logarithmic or self.scale > 0 or self.start != 0
        require(bool(sized), "a parameter that starts at 0 needs a scale: write Knob(0.0, scale=..)")

    @property
    def logarithmic(self) -> bool:
        """Whether the logarithm is searched."""
        return self.start > 0 and not self.scale and (self.low >= 0 or np.isinf(self.low))

    def value(self, x: float) -> float:
        """Return the parameter at a coordinate of the search, which is 0 at the start."""
        given = self.start * np.exp(x) if self.logarithmic else self.start + x * (self.scale or abs(self.start))
        return float(min(max(given, self.low), self.high))


@dataclass(frozen=True, eq=False)
class Tuned(Tabular):
    """The law that a search found.

    Attributes
    ----------
    parameters : dict
        The best ones.
    law : Controller
        The law with them.
    values : mapping
        Goal -> plant or run -> value on the whole plants, with all their modes.
    bounds : mapping
        Goal -> bound.
    total : float
        The largest goal as a fraction of its bound, on the whole plants.
    spread : tuple of float
        The same of every start that ended in a stable law, the best first, on the plants of the search; restarts of the
        best ends included.
    starts : int
        Starts, restarts left out.
    evaluations : int
        Laws that were tried.

    Examples
    --------
    >>> damped = {"damping.kind": "modal", "damping.ratio": 0.01}
    >>> plant = fx.load_plant("tokhi_azad_1994", overrides=damped).linearise()
    >>> def design(kp, kd):
    ...     return fx.joint_pd(plant, kp=kp, kd=kd, filter_time=1e-3, sample_time=1e-3)
    >>> found = fx.tune(
    ...     design, {"kp": 1.0, "kd": 0.05}, over={"": plant}, minimise={"disk_margin": 0.5}, evaluations=20
    ... )
    >>> sorted(found.parameters)
    ['kd', 'kp']
    """

    parameters: dict[str, Any]
    law: Any
    values: Mapping[str, Mapping[str, float]]
    bounds: Mapping[str, float]
    total: float
    spread: tuple[float, ...]
    starts: int
    evaluations: int

    def worst(self, goal: str) -> float:
        """Return the value of a goal on the plant where it is furthest from its bound."""
        per = self.values[goal]
        return (min if goal in ("disk_margin", "decay_rate", "damping") else max)(per.values())

    def __repr__(self) -> str:
        return f"Tuned({self.total:.4g} of the bounds, {self.evaluations} laws, {self.starts} starts)"

    def __str__(self) -> str:
        near = sum(x <= 1.2 * self.spread[0] for x in self.spread)
        lines = [f"{name} = {value!r}" for name, value in self.parameters.items()]
        lines += [f"{name}: {self.worst(name):.4g}, bound {bound:.4g}" for name, bound in self.bounds.items()]
        told = ", ".join(f"{x:.3g}" for x in self.spread[:8])
        return "\n".join([*lines, f"{near} of {len(self.spread)} ends within 20 % of the best: {told}"])

    def _table(self) -> list[Column]:
        rows = [(goal, where, x) for goal, per in self.values.items() for where, x in per.items()]
        found = zip(("goal", "plant", "value"), zip(*rows, strict=True), strict=True)
        return [Column(name, list(column)) for name, column in found]

    def _about(self) -> Mapping[str, Any]:
        return {
            "parameters": self.parameters, "bounds": dict(self.bounds), "total": self.total,
            "spread": list(self.spread), "starts": self.starts, "evaluations": self.evaluations,
        }


@dataclass(frozen=True, eq=False)
class _Job:
    """One descent."""

    design: Callable[..., Any]
    knobs: tuple[tuple[str, tuple[Knob, ...], bool], ...]
    on: tuple[Model, ...]
    goals: Goals
    most: int
    begin: tuple[float, ...]
    seed: int

    def named(self, x: FloatArray) -> dict[str, Any]:
        """Return the arguments of the design at a point."""
        found, at = {}, iter(x)
        for name, knobs, alone in self.knobs:
            values = tuple(knob.value(float(next(at))) for knob in knobs)
            found[name] = values[0] if alone else values
        return found

    def __call__(self, x: FloatArray) -> float:
        try:
            return judged(self.design(**self.named(x)), self.on, self.goals)[0]
        except (FlexctlError, ArithmeticError, np.linalg.LinAlgError):
            return REFUSED


def _descend(job: _Job) -> tuple[list[float], float, int]:
    step = 1e-3 if job.goals.scores else 1e-6  # scores of runs are known to a few digits
    x, value, count = descend(job, np.array(job.begin), job.most, job.seed, step)
    return x.tolist(), value, count


def tune(
    design: Callable[..., Any],
    parameters: Mapping[str, float | Sequence[float] | Knob],
    *,
    over: Mapping[str, Any],
    minimise: Mapping[str, float],
    require: Mapping[str, float] | None = None,
    modes: int | None = 6,
    starts: int = 1,
    restarts: int = 1,
    apart: float = 1.0,
    evaluations: int = 2000,
    corner: float = 1.0,
    scenarios: Sequence[Scenario] = (),
    plant: Plant | None = None,
    seed: int = 0,
    path: str | Path | None = None,
    resume: bool = True,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: bool | Callable[[int, int, float], None] | None = None,
) -> Tuned:
    """Find the parameters of a law that serve several plants best.

    Parameters
    ----------
    design : callable
        Called with the parameters by name, returns the law. To work on several processes it must be a function of a
        module (or `functools.partial` of one); any other is called in this process.
    parameters : mapping
        Where the search starts: name -> number, `Knob`, or a sequence of them, which becomes a tuple.
    over : mapping
        Label -> plant (linear plant, model, or plant of the catalogue).
    minimise : mapping
        Goal -> bound: the largest of these, as fractions of their bounds and each on its worst plant, is minimised.
    require : mapping, optional
        Goal -> bound that must be kept.
    modes : int, optional
        Flexible modes of each plant in the search; None for all. The result is examined on all of them.
    starts : int
        The given start and this many less one around it at random; about 20 for gains, one or a few for weights.
    restarts : int
        How many of the best results are refined again.
    apart : float
        Standard deviation of the random starts: a factor of e for a parameter that is searched by its logarithm.
    evaluations : int
        Laws to try in each descent.
    corner : float
        Of the load response [rad/s].
    scenarios, plant
        Runs for goals that are scores, and their nominal plant; they take their full time.
    seed : int
        Of the random starts.
    path : path, optional
        File (.json) that keeps every descent that is done; an interrupted search resumes from there.
    resume : bool
        Whether to resume from it; otherwise it is overwritten.
    workers : int, optional
        Processes; by default one per core.
    scheduler : str, optional
        Address of a Dask scheduler whose workers do the descents instead; they must have the module of `design`.
    progress : bool or callable, optional
        Progress is reported on the error stream after a second; False: never. A callable is called with descents
        done, of all, and the best total so far.

    Raises
    ------
    ConvergenceError
        When no start ends in a law that is stable on every plant and keeps what is required.

    Examples
    --------
    >>> plant = fx.load_plant("tokhi_azad_1994", overrides={"damping.kind": "modal", "damping.ratio": 0.01})
    >>> over = {f"{1e3 * m:g} g": plant.with_(payload={"mass": m}).linearise() for m in (0.0, 0.02)}
    >>> def design(kp, kd):
    ...     return fx.joint_pd(over["0 g"], kp=kp, kd=kd, filter_time=1e-3, sample_time=1e-3)
    >>> found = fx.tune(design, {"kp": 1.0, "kd": 0.05}, over=over, minimise={"disk_margin": 0.5}, evaluations=60)
    >>> found.worst("disk_margin") > 0.5
    True
    """
    plant = None if plant is None else as_plant(plant)
    goals = Goals(dict(minimise), dict(require or {}), corner, tuple(scenarios), plant)
    for what, count in (("starts", starts), ("evaluations", evaluations), ("restarts + 1", restarts + 1)):
        if not (isinstance(count, int) and count >= 1):
            raise DefinitionError(f"{what} = {count!r} must be a whole number, at least 1")
    knobs = tuple(_knobs(name, given) for name, given in parameters.items())
    size = sum(len(own) for _, own, _ in knobs)
    if not size:
        raise DefinitionError("no parameter to tune")
    on = tuple(models(over, modes))
    first = _Job(design, knobs, on, goals, evaluations, (0.0,) * size, seed)
    law = design(**first.named(np.zeros(size)))  # what is wrong with the design is said now
    begin = judged(law, on, goals)[0]
    rng = np.random.default_rng(seed)
    points = [np.zeros(size), *(apart * rng.standard_normal((starts - 1, size)))]
    jobs = [replace(first, begin=tuple(x.tolist()), seed=seed + k) for k, x in enumerate(points)]
    about = {
        "parameters": {name: [str(k) for k in own] for name, own, _ in knobs}, "over": list(over),
        "minimise": dict(minimise), "require": dict(require or {}), "modes": modes, "apart": apart, "starts": starts,
        "evaluations": evaluations, "corner": corner, "seed": seed, "begin": f"{begin:.9g}",
    }
    store = _Store(None if path is None else Path(path), about, resume)
    every, where = starts + restarts, (workers, scheduler)
    with telling(progress, f"{every} descents", lambda done, of, total: f"{done} done, best {total:.3g}") as report:
        ends = _all_done(jobs, store, 0, where, report, every)
        best = sorted(ends, key=lambda end: end[1])[:restarts]
        again = [replace(first, begin=tuple(x), seed=seed + starts + k) for k, (x, _, _) in enumerate(best)]
        ends += _all_done(again, store, starts, where, report, every)
    return _found(first, ends, goals, on, starts)


def _found(
    first: _Job, ends: Sequence[tuple[list[float], float, int]], goals: Goals, on: Sequence[Model], starts: int
) -> Tuned:
    x, value, _ = min(ends, key=lambda end: end[1])
    if value >= UNSTABLE:
        raise ConvergenceError(
            f"no law that is stable on every plant in {sum(c for *_, c in ends)} trials from {starts} starts; "
            "start from one that is stable on the plants, give more starts, or ask for fewer plants"
        )
    best = first.named(np.array(x))
    law = first.design(**best)
    whole = [Model(model.name, model.whole, model.whole) for model in on]
    _, values = judged(law, whole, goals)
    if not values:
        raise ConvergenceError("the law that was found is unstable on the whole plants: search with more modes")
    missed = {
        name: per for name, per in values.items()
        if name in goals.require and max(goals.part(name, x) for x in per.values()) > 1.001
    }
    bounds = {**goals.minimise, **goals.require}
    if missed:
        told = "; ".join(f"{name} = {dict(per)}, bound {bounds[name]:g}" for name, per in missed.items())
        raise ConvergenceError(f"no law that keeps what is required: {told}; require less, or give more starts")
    total = max(goals.part(name, x) for name in goals.minimise for x in values[name].values())
    spread = tuple(float(np.exp(v)) for v in sorted(v for _, v, _ in ends) if v < UNSTABLE)
    return Tuned(best, law, values, bounds, total, spread, starts, sum(count for *_, count in ends))


def _knobs(name: str, given: Any) -> tuple[str, tuple[Knob, ...], bool]:
    alone = isinstance(given, Knob | int | float | np.number)
    every = (given,) if alone else tuple(given)
    try:
        return name, tuple(x if isinstance(x, Knob) else Knob(float(x)) for x in every), alone
    except (TypeError, ValueError) as error:
        raise DefinitionError(f"parameter {name}: {error}") from error


def _all_done(
    jobs: Sequence[_Job], store: _Store, offset: int, where: tuple[int | None, str | None],
    progress: Callable[[int, int, float], None] | None, total: int,
) -> list[tuple[list[float], float, int]]:
    """Return the ends of all jobs, those in the store without doing them again."""
    waiting = [k for k in range(len(jobs)) if str(k + offset) not in store.done]

    def tell() -> None:
        if progress is not None and store.done:
            progress(len(store.done), total, float(np.exp(min(end[1] for end in store.done.values()))))

    tell()
    for k, end in _performed([jobs[k] for k in waiting], *where):
        store.add(waiting[k] + offset, end)
        tell()
    return [store.done[str(k + offset)] for k in range(len(jobs))]


def _performed(
    jobs: Sequence[_Job], workers: int | None, scheduler: str | None
) -> Iterator[tuple[int, tuple[list[float], float, int]]]:
    if not jobs:
        return
    if scheduler is not None:
        yield from run_on_cluster(_descend, jobs, scheduler)
    else:
        yield from run_all(_descend, jobs, workers)


@dataclass
class _Store:
    """The descents that are done, in a file if there is one."""

    path: Path | None
    about: dict[str, Any]
    resume: bool
    done: dict[str, tuple[list[float], float, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.about = json.loads(json.dumps(self.about, default=str))
        if self.path is None or not self.resume or not self.path.exists():
            return
        try:
            content = json.loads(self.path.read_text(encoding="utf-8"))
            done = {str(k): (list(map(float, x)), float(v), int(n)) for k, (x, v, n) in content["done"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise DefinitionError(f"{self.path} is damaged or not a file of a tuning: {error}; remove it") from error
        same = content.get("tuning") == self.about
        require(same, f"{self.path} belongs to another tuning; remove it, write another file, or say resume=False")
        self.done = done

    def add(self, number: int, end: tuple[list[float], float, int]) -> None:
        """Keep a descent that is done."""
        self.done[str(number)] = end
        if self.path is not None:
            text = json.dumps({"tuning": self.about, "done": self.done}, indent=1)
            write_atomically(self.path, lambda stream: stream.write(text.encode()))
