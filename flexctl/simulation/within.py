"""Grid points where an input or a motion does more within a step than the steps are told of it.

A run knows its inputs at the points of its grid and in the middle between them, and takes the parabola through these;
of commanded motions the quintic with value, rate and acceleration at both ends. What a signal does besides, as a fast
oscillation, a kink, an edge between two samples or a short spike, no step would see, however short, and no estimate of
its error. So steps of the grid are divided, until the rest is below `PART` of the tolerance: at the samples of a signal
that has some, else in the middle.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ..model import FloatArray
from ..motion.moves import Cycloid, InputSignal, Motion, Polynomial, Step, Tabulated, Trapezoid, between
from ..motion.optimal import OptimalMotion
from ..motion.planned import Planned
from ..motion.profiles import Cosine, LinearAcceleration, SpinUp, Swing
from ..motion.remembered import plain
from ..motion.resting import Rest
from ..motion.signals import PiecewiseConstant, Sampled, Sine
from .defaults import DEFAULT
from .grid import filled

PART = 0.1
"""Of rtol times its range a signal may leave its parabolas: of an error that lasts all the run a tenth is left."""
SHORTEST, MOST = 1e-5, 7
"""No step [s] is divided below the first, or more often, for a signal: a jump that no breakpoint tells has no end."""
PROBES = (0.11, 0.24, 0.37, 0.53, 0.66, 0.78, 0.91)
"""Parts of a step at which a signal is looked at: not evenly, for what repeats itself."""
BLOCK, BLOCK_OF_OTHERS = 32, 8
"""Steps that are looked at as one first: of signals in closed form, and, for steps that are given, of all others."""
ENOUGH = 500
"""Points that show the range of a signal in closed form."""
CLOSED = (
    Cosine, Cycloid, LinearAcceleration, OptimalMotion, Planned, Polynomial, Rest, Sampled, Sine, SpinUp, Step, Swing,
    Tabulated, Trapezoid,
)
"""Signals that have nothing narrow, or samples, which all are looked at."""
ASIDE, CHUNK = 4e-9, 100_000
"""Of a step, the distance from its ends at which their limits are taken (as `grid.SNAP`); steps looked at together."""


def points_within(signals: Iterable[InputSignal | Motion], t: FloatArray, rtol: float) -> list[float]:
    """Return the times [s] that a grid needs besides, so that its steps know what the signals do."""
    found: set[float] = set()
    for curve in _curves(signals, t):
        for extent in curve.extents():
            more = _points(curve, t, PART * rtol * extent)
            if not more:
                break
        found |= more
    return sorted(found)


def _points(curve: _Curve, t: FloatArray, bound: float) -> set[float]:
    """Return the times [s] at which steps of a grid are divided for a signal that may be so far off."""
    found: set[float] = set()
    for starts, ends in _rough(curve, t, bound, 1) if bound > 0.0 else ():
        for _ in range(MOST):
            bad = (curve.off(starts, ends, bound) > bound) & (ends - starts >= 2.0 * SHORTEST)
            if not bad.any():
                break
            starts, ends = starts[bad], ends[bad]
            middle = curve.inside(starts, ends)
            found |= set(middle.tolist())
            starts, ends = np.concatenate([starts, middle]), np.concatenate([middle, ends])
    return found


def left_out(signals: Iterable[InputSignal | Motion], t: FloatArray) -> float:
    """Return the largest part of its range by which a signal leaves what the steps of a grid are told of it.

    Less than a tenth of `DEFAULT` is called nothing.
    """
    worst = 0.0
    for curve in _curves(signals, t):
        for extent in curve.extents():
            bound, part = PART * DEFAULT * extent, 0.0
            for starts, ends in _rough(curve, t, bound, BLOCK_OF_OTHERS) if extent > 0.0 else ():
                part = max(part, float(curve.off(starts, ends, bound).max(initial=0.0)) / extent)
            if part <= PART * DEFAULT:
                break
        worst = max(worst, part)
    return worst


def _rough(curve: _Curve, t: FloatArray, bound: float, others: int) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield the steps of a grid, in chunks, but those in blocks over which one parabola stands for the signal."""
    size = BLOCK if curve.closed else others
    for begin in range(0, t.size - 1, CHUNK):
        part = t[begin : begin + CHUNK + 1]
        if size == 1 or part.size <= size:
            yield part[:-1], part[1:]
            continue
        edges = np.unique(np.append(np.arange(0, part.size, size), part.size - 1))
        rough = curve.off(part[edges[:-1]], part[edges[1:]], bound) > bound
        steps = np.repeat(rough, np.diff(edges))
        if steps.any():
            yield part[:-1][steps], part[1:][steps]


def _curves(signals: Iterable[InputSignal | Motion], t: FloatArray) -> list[_Curve]:
    given: list[Any] = [signal for signal in signals if not isinstance(signal, PiecewiseConstant)]
    return [(_Moved if isinstance(signal, Motion) else _Curve)(signal, t) for signal in given]


class _Curve:
    """An input signal, and the parabola through three of its points that stands for it within a step."""

    def __init__(self, signal: Any, t: FloatArray) -> None:
        self.signal, self.margin = signal, ASIDE * float(np.diff(t).max())
        made_of = plain(signal)
        self.t, self.closed = t, isinstance(made_of, CLOSED)
        knots = np.asarray(made_of.t, float) if isinstance(made_of, Sampled | Tabulated) else np.zeros(0)
        self.knots = knots[(knots > t[0]) & (knots < t[-1])]

    def extents(self) -> Iterator[float]:
        """Yield the range of the signal as some of its points show it; then, if it may have more, as all do.

        Of a smaller range more is called rough: what is smooth in the first is smooth.
        """
        step = max(1, self.t.size // ENOUGH)
        for every in (step,) if self.closed else (step, 1):
            t = self.t[::every]
            found = float(np.ptp(self.values(np.concatenate([t, 0.5 * (t[1:] + t[:-1]), self.knots]))))
            if found > 0.0 or every == 1 or self.closed:
                yield found

    def values(self, t: FloatArray) -> FloatArray:
        """Return what must be right."""
        return filled(self.signal(t, before=False), t)

    def fit(self, starts: FloatArray, ends: FloatArray) -> Any:
        """Return the function (numbers of steps, parts of them) -> what stands for the signal there."""
        first, last = self.values(starts + self.margin), self.values(ends - self.margin)
        bulge = self.values(0.5 * (starts + ends)) - 0.5 * (first + last)
        return lambda k, s: first[k] + s * (last[k] - first[k]) + 4.0 * s * (1.0 - s) * bulge[k]

    def off(self, starts: FloatArray, ends: FloatArray, bound: float) -> FloatArray:
        """Return how far the signal is from what stands for it, step by step; below the bound in any way."""
        return self.distance(starts, ends, self.fit(starts, ends))

    def distance(self, starts: FloatArray, ends: FloatArray, fit: Any) -> FloatArray:
        """Return how far the signal is from a function that `fit` has returned."""
        every, h = np.arange(starts.size), ends - starts
        inside = self.values(np.concatenate([starts + s * h for s in PROBES])).reshape(len(PROBES), -1)
        worst: FloatArray = np.abs(inside - fit(every, np.array(PROBES)[:, None])).max(axis=0)
        if self.knots.size:
            order = np.argsort(starts)
            k = order[np.clip(np.searchsorted(starts[order], self.knots, side="right") - 1, 0, starts.size - 1)]
            inner = (self.knots > starts[k]) & (self.knots < ends[k])
            knots, k = self.knots[inner], k[inner]
            np.maximum.at(worst, k, np.abs(self.values(knots) - fit(k, (knots - starts[k]) / h[k])))
        return worst

    def inside(self, starts: FloatArray, ends: FloatArray) -> FloatArray:
        """Return where steps are divided: at the sample that is next to their middle, if one is inside."""
        middle: FloatArray = 0.5 * (starts + ends)
        if not self.knots.size:
            return middle
        right = np.clip(np.searchsorted(self.knots, middle), 1, self.knots.size - 1)
        left, right = self.knots[right - 1], self.knots[right]
        near = np.where(middle - left < right - middle, left, right)
        margin = 1e-6 * (ends - starts)
        return np.where((near > starts + margin) & (near < ends - margin), near, middle)


class _Moved(_Curve):
    """A commanded motion, of which the acceleration must be right, and the quintic of its ends."""

    def values(self, t: FloatArray) -> FloatArray:
        """Return accelerations."""
        return filled(self.signal(t)[2], t)

    def fit(self, starts: FloatArray, ends: FloatArray) -> Any:
        """Return the function (numbers of steps, parts of them) -> what stands for the signal there."""
        times = (starts + self.margin, ends - self.margin)
        first, last = (np.array([filled(x, t) for x in self.signal(t)]) for t in times)
        h = ends - starts
        return lambda k, s: between(first[:, k], last[:, k], h[k], s)[2]

    def off(self, starts: FloatArray, ends: FloatArray, bound: float) -> FloatArray:
        """Return the same; less where accelerations alone are smooth.

        What the quintic is off then comes from the digits of the angles, over h^2: the less, the longer the step.
        """
        far = super().off(starts, ends, bound)
        above = np.flatnonzero(far > bound)
        if above.size:
            starts, ends = starts[above], ends[above]
            far[above] = np.minimum(far[above], self.distance(starts, ends, super().fit(starts, ends)))
        return far
