"""The earliest arrival of runs that depend on some numbers: linearise by differences of runs, programme, run again.

What a nonlinear closed loop does is no affine function of its command. About the command of the last run it nearly is:

    y(n + d) = y(n) + Y d,     Y from a run for every number, |d| <= trust

and the earliest time from which on all bands can be kept, with every limit kept at every sample, is found by bisection,
a linear programme each (`flexctl.design.optimal_lp`). Then the whole nonlinear loop runs, with its own accuracy. Only
what these runs do counts: an arrival is the time from which on they are in their bands, a command is taken if they keep
every limit, and arrive sooner than the best before; if not, the trust becomes smaller. Between two linearisations Y is
corrected by what the runs did (Broyden 1965).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..design.optimal_lp import ROUNDS, Bounded, Problem
from ..errors import ConvergenceError
from ..model import FloatArray

NEAR = 0.002
"""Part of the arrival to which the programmes look for it."""
TRUST, SMALLEST, LARGEST = 0.05, 5e-4, 0.3
"""Bounds on the change of a number, in parts of the move: at first, where the search ends, and at most."""
STEPS = 40
PLANNED = 0.98
"""Part of a limit that is planned for."""
_RATIO = 0.2
"""Excess of a limit, in parts of it, that counts as much as the width of a band."""


class Band(NamedTuple):
    """A signal that must stay near a value from the arrival on, or from a fixed sample on."""

    signal: int
    centre: float
    """NaN: where the run ends."""
    size: float
    since: int | None = None


class Within(NamedTuple):
    """A signal that must stay within limits from the start on."""

    signal: int
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Task:
    """The runs and the bands and limits that they must keep.

    Attributes
    ----------
    plants, signals : tuple of str
        Labels.
    bands, limits : sequence of sequence
        For every plant.
    respond : callable
        Numbers -> signals of every plant, (signals, samples) each; raises `ConvergenceError` where a run fails.
    differ : callable
        Numbers -> how these change with the numbers, (signals, samples that are kept, numbers) each.
    step : float
        Time between two samples [s].
    every : int
        Of so many samples one is in the programmes, and in what `differ` returns.
    keep : tuple of ndarray
        (matrix, low, high): low <= matrix @ numbers <= high, of the command alone.
    margin : float
        Fraction of the bands that is planned for.
    """

    plants: tuple[str, ...]
    signals: tuple[str, ...]
    bands: Sequence[Sequence[Band]]
    limits: Sequence[Sequence[Within]]
    respond: Callable[[FloatArray], list[FloatArray]]
    differ: Callable[[FloatArray], list[FloatArray]]
    step: float
    every: int
    keep: tuple[FloatArray, FloatArray, FloatArray] | None
    margin: float


class Verdict(NamedTuple):
    """The sample at which runs arrive, and by how much they break what they must keep (0: they do not).

    Where nothing is broken the arrival counts, else the excess.
    """

    excess: float
    arrival: int
    worst: str

    def better(self, than: Verdict) -> bool:
        """Whether these runs are to be preferred."""
        if self.excess > 0.0 or than.excess > 0.0:
            return self.excess < than.excess
        return self.arrival < than.arrival


@dataclass
class Search:
    """The best numbers so far and what their runs did.

    Attributes
    ----------
    task : Task
        What is looked for.
    numbers : ndarray
        The best so far.
    longest : int
        Sample by which the plants must have arrived.
    report : callable
        Called with the verdict on the best after every step.
    most : int
        Linearisations.
    enough : float
        Part of the arrival, or of what is missing, that a linearisation must gain for another one.
    """

    task: Task
    numbers: FloatArray
    longest: int
    report: Callable[[Verdict], None] = lambda verdict: None
    most: int = 8
    enough: float = 0.01
    responses: list[FloatArray] = field(init=False)
    verdict: Verdict = field(init=False)
    trouble: str = ""

    def __post_init__(self) -> None:
        self.responses = self.task.respond(self.numbers)
        self.verdict = self.judged(self.responses)
        self.report(self.verdict)

    def go(self) -> None:
        """Look until the arrival hardly becomes earlier, or the linearisations are used up."""
        trust, mark = TRUST, self.verdict
        slope, fresh, made = self.task.differ(self.numbers), True, 1
        for _ in range(STEPS):
            try:
                step = self._step(slope, trust)
            except ConvergenceError as error:  # of the solver: what was verified before stays
                self.trouble = str(error)
                return
            last, before, found = self.verdict, self.responses, self._tried(self.numbers + step)
            self.report(self.verdict)
            if found is not None:
                slope, fresh = _corrected(slope, before, found, step, self.task.every), False
                trust = min(1.5 * trust, LARGEST) if np.abs(step).max() > 0.9 * trust else trust
                done = _little(last, self.verdict, self.enough / 4.0)
            else:
                trust /= 3.0
                done = trust < (SMALLEST if fresh else TRUST / 8.0)
            if done:  # with these slopes
                if fresh or made >= self.most or (made > 1 and _little(mark, self.verdict, self.enough)):
                    return
                slope, fresh, made = self.task.differ(self.numbers), True, made + 1
                trust, mark = max(trust, TRUST / 4.0), self.verdict

    def _tried(self, numbers: FloatArray) -> list[FloatArray] | None:
        """Run with some numbers; they are the best from now on, or None is returned."""
        try:
            found = self.task.respond(numbers)
        except ConvergenceError:
            return None
        verdict = self.judged(found)
        if not verdict.better(self.verdict):
            return None
        self.numbers, self.responses, self.verdict = numbers, found, verdict
        return found

    def judged(self, responses: Sequence[FloatArray]) -> Verdict:
        """Return what runs do: arrival in the whole bands, and the excess over limits and, at `longest`, over bands."""
        arrival, excess, worst = 0, 0.0, ""
        for plant, y, bands, limits in zip(self.task.plants, responses, self.task.bands, self.task.limits, strict=True):
            for band in bands:
                latest = self.longest if band.since is None else band.since
                over = float(_off(y, band)[latest:].max(initial=0.0)) - 1.0
                if over > excess:
                    excess, worst = over, f"{self.task.signals[band.signal]} of {plant} is {1 + over:.3g} bands off"
            arrival = max(arrival, arrival_of(y, bands))
            for limit in limits:
                high, low = float(y[limit.signal].max()), float(y[limit.signal].min())
                size = _size(limit)
                over = max(high - limit.high, limit.low - low) / size / _RATIO
                if over > max(excess, 1e-9):
                    reached = high if high - limit.high > limit.low - low else low
                    excess, worst = over, f"{self.task.signals[limit.signal]} of {plant} reaches {reached:.4g}"
        return Verdict(excess, arrival, worst)

    def _step(self, slope: Sequence[FloatArray], trust: float) -> FloatArray:
        """Return the change of the numbers that brings the linearised runs to their bands soonest."""
        found, slack = self._programme(slope, trust, self.longest)
        if slack > 1.0 + 1e-6:
            return found
        good, bad = min(self.longest, max(self.verdict.arrival, 1)), 0
        if good < self.longest:
            better, slack = self._programme(slope, trust, good)
            good, bad, found = (good, 0, better) if slack <= 1.0 + 1e-6 else (self.longest, good, found)
        while good - bad > max(1, round(NEAR * good)):
            middle = (good + bad) // 2 if bad else round(0.9 * good)
            better, slack = self._programme(slope, trust, middle)
            if slack <= 1.0 + 1e-6:
                good, found = middle, better
            else:
                bad = middle
        return found

    def _programme(self, slope: Sequence[FloatArray], trust: float, arrival: int) -> tuple[FloatArray, float]:
        """Return the change with the least slack of all bands, and that slack."""
        rows, matrices = [], []
        for p, (plant, y, change) in enumerate(zip(self.task.plants, self.responses, slope, strict=True)):
            for row, signal in _rows(self.task, p, arrival, plant, y[:, :: self.task.every]):
                own_end = row.soft and np.isnan(signal[1])
                matrix = change[signal[0]] - (change[signal[0], -1:] if own_end else 0.0)
                rows.append(row)
                matrices.append(trust / row.size * matrix)
        if self.task.keep is not None:
            matrix, low, high = self.task.keep
            size = float(np.abs(high[np.isfinite(high)]).max(initial=1.0))
            rows.append(Bounded("the command", matrix @ self.numbers, (), low, high, size, False))
            matrices.append(trust / size * matrix)
        return _solved(rows, matrices, trust)


def arrival_of(y: FloatArray, bands: Sequence[Band]) -> int:
    """Return the sample from which on a run is in the bands whose time is looked for."""
    last = 0
    for band in bands:
        if band.since is None:
            out = np.flatnonzero(_off(y, band) > 1.0)
            last = max(last, int(out[-1]) + 1 if out.size else 0)
    return last


def _off(y: FloatArray, band: Band) -> FloatArray:
    """Return how far a run is from the middle of a band at every sample, in its size."""
    row = y[band.signal]
    return np.asarray(np.abs(row - (row[-1] if np.isnan(band.centre) else band.centre)) / band.size)


def _rows(
    task: Task, p: int, arrival: int, plant: str, y: FloatArray
) -> list[tuple[Bounded, tuple[int, float]]]:
    """Return what one plant must keep, with signal and centre."""
    found = []
    k = task.every * np.arange(y.shape[1])
    for band in task.bands[p]:
        size, base = task.margin * band.size, y[band.signal]
        base, centre = (base - base[-1], 0.0) if np.isnan(band.centre) else (base, band.centre)
        free = k < (arrival if band.since is None else band.since)
        low, high = np.where(free, -np.inf, centre - size), np.where(free, np.inf, centre + size)
        label = f"{task.signals[band.signal]}, {plant}"
        found.append((Bounded(label, base, (), low, high, size, True), (band.signal, band.centre)))
    for limit in task.limits[p]:
        room = (1.0 - PLANNED) * _size(limit)
        low, high = (np.full(k.size, x) for x in (limit.low + room, limit.high - room))
        label = f"{task.signals[limit.signal]}, {plant}"
        found.append((Bounded(label, y[limit.signal], (), low, high, _size(limit), False), (limit.signal, 0.0)))
    return found


def _size(limit: Within) -> float:
    """Return in what the excess of a limit is measured: the smaller of its two sides."""
    return min(abs(x) for x in (limit.low, limit.high) if np.isfinite(x) and x) if limit.low or limit.high else 1.0


def _solved(rows: Sequence[Bounded], matrices: Sequence[FloatArray], trust: float) -> tuple[FloatArray, float]:
    """Return the change of the numbers and the slack."""
    problem = Problem(rows, matrices, 1.0, 1e6)
    total = rows[0].base.size
    for i, row in enumerate(rows):
        k = np.arange(0, row.base.size, max(1, total // 60))
        problem.add(i, k[np.isfinite(row.high[k]) | np.isfinite(row.low[k])].tolist())
    for _ in range(ROUNDS):
        x, slack = problem.solved()
        if not problem.broken(x, slack):
            break
    return trust * x, slack


def _corrected(
    slope: Sequence[FloatArray], before: Sequence[FloatArray], after: Sequence[FloatArray], step: FloatArray,
    every: int,
) -> list[FloatArray]:
    """Return the slopes that tell what the last step did."""
    size = float(step @ step)
    if size == 0.0:
        return list(slope)
    return [
        Y + (((new - old)[:, ::every] - Y @ step) / size)[..., None] * step
        for Y, old, new in zip(slope, before, after, strict=True)
    ]


def _little(before: Verdict, after: Verdict, enough: float) -> bool:
    """Whether little was gained."""
    if before.excess > 0.0:
        return after.excess > 0.5 * before.excess
    return after.arrival > (1.0 - enough) * before.arrival
