"""Whether a motion was growing when its run was stopped.

A run that diverges ends as a failure of the integrator: Newton's iteration fails, "use a smaller step". Where the loop
itself is unstable a smaller step only fails later. The record up to the failure tells the two apart: what an unstable
loop does grows by the same factor in equal times, long before it is large.

Of every recorded signal the second differences are looked at, in which commanded motions are small and what oscillates
or runs away is not: either the peaks between changes of their sign grow, ten times or more over at least six of them,
or without any change of sign the differences grow a thousand times. Both must lie on a straight line in the logarithm,
and the last must be the largest of the run, so that neither a jump of the command nor a move that begins counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..model import FloatArray

PEAKS, OSCILLATING, RUNNING_AWAY, STRAIGHT = 6, 10.0, 1000.0, 0.85
"""Peaks that make an oscillation, factors of growth, share of the variance of the logarithm on a straight line."""
MOST, ROUNDING, LONGEST = 1e-6, 1e-12, 400
"""How far back a rise is followed: to these parts of its last peak (as long as there are few), over so many peaks."""

LATE = 0.1
"""Part of a run at its end in which what still grows has its largest peak."""

SMALLER, LOOP_BLAMED = "; use a smaller step", "the closed loop is unstable, or the step too long"
"""Advice and supposed causes in messages of the integrator."""


@dataclass(frozen=True)
class Growth:
    """How a motion grew.

    Attributes
    ----------
    name : str
        The signal that grew by the largest factor.
    factor : float
        By how much it grew.
    begin, end : float
        Between which times [s].
    rate : float
        Growth [1/s]: it goes as exp(rate t).
    oscillates : bool
        Whether it changes its sign; otherwise it runs away.
    """

    name: str
    factor: float
    begin: float
    end: float
    rate: float
    oscillates: bool

    def __str__(self) -> str:
        how = "oscillating" if self.oscillates else "without oscillating"
        return (
            f"{self.name} grew {self.factor:.2g} times from t = {self.begin:.4g} s to {self.end:.4g} s "
            f"({how}, {self.rate:+.3g} 1/s)"
        )


def growth(t: FloatArray, signals: FloatArray, labels: Sequence[str]) -> Growth | None:
    """Return how the motion was growing at the end of a record, or None where it was not.

    Parameters
    ----------
    t : ndarray
        Times [s], up to the failure.
    signals : ndarray
        What was recorded, len(t) x number of signals, in any units.
    labels : sequence of str
        Their names.
    """
    found = [_of_one(t, signals[:, i], name) for i, name in enumerate(labels)]
    return max((one for one in found if one is not None), key=lambda one: one.factor, default=None)


def still_growing(t: FloatArray, signals: FloatArray, labels: Sequence[str]) -> Growth | None:
    """Return how the motion was growing where a run ended, or None where it was not; quick where it was not."""
    if len(t) < PEAKS + 2:
        return None
    largest = np.abs(np.diff(signals, 2, axis=0)).argmax(axis=0)
    late = np.flatnonzero(largest > (1.0 - LATE) * len(t))
    return growth(t, signals[:, late], [labels[int(i)] for i in late])


def _of_one(t: FloatArray, x: FloatArray, name: str) -> Growth | None:
    finite = np.isfinite(x)
    last = int(np.argmin(finite)) if not finite.all() else x.size
    if last < PEAKS + 2:
        return None
    d = np.diff(x[:last], 2)
    turns = np.flatnonzero(np.diff(np.sign(d)) != 0) + 1
    pieces = [p for p in zip([0, *turns], [*turns, d.size], strict=True) if p[0] < p[1]]
    peaks = np.array([begin + int(np.argmax(np.abs(d[begin:end]))) for begin, end in pieces])
    oscillating = _rise(t[1:-1], d, peaks, OSCILLATING, name, True) if peaks.size >= PEAKS else None
    if oscillating is not None:
        return oscillating
    begin = pieces[-1][0]  # since the last change of sign
    return _rise(t[1:-1], d, np.arange(begin, d.size), RUNNING_AWAY, name, False)


def _rise(
    t: FloatArray, d: FloatArray, at: npt.NDArray[np.int64], least: float, name: str, oscillates: bool
) -> Growth | None:
    """Return the longest exponential rise that ends with the record, if it is of the least factor."""
    size = np.abs(d[at])
    if size.size < PEAKS or size[-2:].max() < np.abs(d).max():  # the piece that the failure cut off may be small
        return None
    size, at = (size, at) if size[-1] >= size[-2] else (size[:-1], at[:-1])
    best = None
    for first in range(size.size - PEAKS, -1, -1):
        part, times = size[first:], t[at[first:]]
        if part.min() <= (MOST if part.size > PEAKS else ROUNDING) * part[-1]:
            break
        logarithm = np.log(part)
        slope, level = np.polyfit(times, logarithm, 1)
        left = float(np.var(logarithm - slope * times - level) / max(np.var(logarithm), 1e-300))
        factor = float(part[-1] / part[0])
        if slope > 0.0 and left <= 1.0 - STRAIGHT and factor >= max(least, 0.0 if best is None else best.factor):
            best = Growth(name, factor, float(times[0]), float(times[-1]), float(slope), oscillates)
        if size.size - first > LONGEST:
            break
    return best


def told(message: str, t: FloatArray, signals: FloatArray, labels: Sequence[str], looped: bool) -> str:
    """Return the message of a run that failed with whether its motion was growing before.

    With a loop that takes the place of the advice; without one there is none to blame (`looped`). What failed for a
    reason of its own, as a slide that is in, keeps its message unless the motion was growing.
    """
    found, stepped = growth(t, signals, labels), SMALLER in message or LOOP_BLAMED in message
    if not looped:
        message = message.replace(LOOP_BLAMED, "the motion runs away, or the step is too long")
    if found is None:
        why = "the motion was not growing before"
        if len(t) <= 2 * PEAKS:
            why = "it failed too early to say whether the motion was growing"
        return f"{message}; {why}" if stepped else message
    if not looped:
        return f"{message}; the motion was growing before: {found}"
    return (
        f"{message.partition(SMALLER)[0]}; the motion was growing before: {found}. Look for an unstable "
        "loop (flexctl.certify, Design.poles) and change its gain or control period: a smaller step only fails later"
    )
