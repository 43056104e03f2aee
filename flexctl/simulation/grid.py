"""The time grid of a run, and the values of signals and motions along it.

The grid is uniform, divides the control period, and contains every breakpoint of the inputs. Times closer than SNAP
steps are the same time: 0.1 + 0.2 and 0.3 must not make a step of their own, nor move a jump to the step before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import numpy.typing as npt

from ..errors import AccuracyWarning, DefinitionError, caution, require
from ..model import FloatArray
from ..motion.moves import InputSignal, Motion, Part

IntArray = npt.NDArray[np.int64]
SNAP = 1e-9
MOST_STEPS = 50_000_000


def time_grid(
    duration: float, step: float, period: float | None, breaks: Iterable[float]
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return times [s], step sizes [s] and the number of the control period that begins at each time (or -1).

    Without a control period the step is shortened to divide the duration; with one, which the step must divide, the run
    ends at the first step that is not before `duration`. Equal steps are equal to the last bit.
    """
    steps = duration / step
    require(steps <= MOST_STEPS, f"{duration:g} s in steps of {step:g} s are {steps:.1e} steps; use a longer step")
    count = max(1, int(np.ceil(steps - SNAP)))
    step = duration / count if period is None else step
    t: FloatArray = np.arange(count + 1, dtype=float) * step
    if abs(t[-1] - duration) <= SNAP * step:
        t[-1] = duration
    due = np.full(t.size, -1, np.int64)
    if period is not None:
        starts = due[: count : round(period / step)]
        starts[:] = np.arange(starts.size)
    extra = _between(t, step, breaks)
    order = np.argsort(np.concatenate([t, extra]), kind="stable")
    uniform = (order < t.size).astype(bool)
    due = np.concatenate([due, np.full(len(extra), -1, np.int64)])[order]
    t = np.concatenate([t, extra])[order]
    h: FloatArray = np.where(uniform[:-1] & uniform[1:], step, np.diff(t))
    return t, h, due


def _between(t: FloatArray, step: float, breaks: Iterable[float]) -> list[float]:
    """Return the breakpoints that are no times of the uniform grid."""
    extra: list[float] = []
    for b in sorted(breaks):
        on_grid = abs(b - t[min(round(b / step), t.size - 1)]) <= SNAP * step if 0.0 <= b <= t[-1] else True
        if not on_grid and not (extra and b - extra[-1] <= SNAP * step):
            extra.append(b)
    return extra


def warn_between_samples(inputs: Mapping[str, InputSignal], t: FloatArray, step: float) -> None:
    """Warn of inputs of a sampled plant that jump between its samples: they act from the next one on."""
    late = [
        f"{name} at t = {b:.6g} s" for name, signal in inputs.items() for b in _between(t, step, signal.breakpoints)
    ]
    if late:
        told = ", ".join(late[:3]) + (f" and {len(late) - 3} more" if late[3:] else "")
        text = f"the plant is sampled every {step:g} s: {told} acts from the next sample on"
        caution(text, AccuracyWarning)


def filled(values: npt.ArrayLike, t: FloatArray) -> FloatArray:
    """Return a copy of the values of a signal at times t, which may be one value for all."""
    found = np.empty(t.shape)
    found[...] = values
    return found


def limits(name: str, signal: InputSignal, t: FloatArray, step: float) -> tuple[FloatArray, FloatArray]:
    """Return the left and right limits of a signal at the times of a grid."""
    left = filled(signal(t, before=True), t)
    # a motion does not know of sides; that it jumps it says by its breakpoints
    smooth = isinstance(signal, Part) and not signal.breakpoints
    right = left.copy() if smooth else filled(signal(t, before=False), t)
    meetings = list(_meetings(signal.breakpoints, t, step))
    if meetings:
        k, b = np.array([m[0] for m in meetings]), np.array([m[1] for m in meetings], float)
        before, after = (np.broadcast_to(signal(b, before=side), b.shape) for side in (True, False))
        one, first = np.unique(k, return_index=True)  # of several at one time the first has the left limit, the last
        last = k.size - 1 - np.unique(k[::-1], return_index=True)[1]  # the right one
        left[one], right[one] = before[first], after[last]
    bad = np.flatnonzero(~np.isfinite(left + right))
    if bad.size:
        raise DefinitionError(f'the signal of input "{name}" is not finite at t = {t[bad[0]]:.6g} s')
    return left, right


def middles(signal: InputSignal, t: FloatArray) -> FloatArray:
    """Return the values of a signal in the middle between the times of a grid."""
    middle = 0.5 * (t[:-1] + t[1:])
    return filled(signal(middle, before=False), middle)


def samples(name: str, motion: Motion, t: FloatArray, step: float) -> FloatArray:
    """Return value, rate and acceleration (3 rows) of a motion at the times of a grid, at jumps the right limits."""
    rows = np.array([filled(row, t) for row in motion(t)])
    for k, b in _meetings(motion.breakpoints, t, step):
        rows[:, k] = motion(b)
    if not np.isfinite(rows).all():
        raise DefinitionError(f'the reference of channel "{name}" is not finite')
    return rows


def both_limits(name: str, motion: Motion, t: FloatArray, step: float) -> tuple[FloatArray, FloatArray]:
    """Return left and right limits of value, rate and acceleration (3 rows each) of a motion at the times of a grid."""
    after = samples(name, motion, t, step)
    before = after.copy()
    for k, b in _meetings(motion.breakpoints, t, step):
        if b > 0.0:
            before[:, k] = motion(np.nextafter(b, -np.inf))
    return before, after


def commands(name: str, motion: Motion, t: FloatArray, step: float) -> FloatArray:
    """Return value, rate, and acceleration before and after jumps (4 rows) of a motion at the times of a grid."""
    rows = samples(name, motion, t, step)
    left = rows[2].copy()
    for k, b in _meetings(motion.breakpoints, t, step):
        left[k] = motion(np.nextafter(b, -np.inf))[2] if b > 0.0 else rows[2, k]
    return np.vstack([rows[:2], left, rows[2:]])


def _meetings(breaks: Iterable[float], t: FloatArray, step: float) -> Iterator[tuple[int, float]]:
    """Yield each breakpoint that is a time of the grid, with the index of that time."""
    for b in sorted(breaks):
        right = int(np.searchsorted(t, b))
        for k in (right - 1, right):
            if 0 <= k < t.size and abs(t[k] - b) <= 2.0 * SNAP * step:
                yield k, b
