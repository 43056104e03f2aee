"""The search: logarithms of magnitudes first, then everything, over longer and longer parts of the records."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from scipy.optimize import least_squares

from ..errors import ConvergenceError, DefinitionError, FlexctlError
from ..model import FloatArray
from .problem import LOSSES, OutOfTime, Problem, Setting, log_magnitude, onset, responses_of, thinned

Say = Callable[[str, float], None]
DELAYS = 9
ROUNDS = 25
FIRST = 250
"""Samples of the shortest part of a record that is fitted."""
WEIGHTED = 6
"""Times that weights are taken from what is left, and the parameters fitted again."""
LATE = "the limit of time was reached"
TRIALS = 7
"""Most steps that are tried in a round."""
WEIGHTED_PART, ENOUGH = 1e-5, 0.02
"""Tolerance below which residuals are taken as weighted; the drop of their sum of squares that is not worth a step."""
STUCK = 1e-3
"""Part of the sum of squares that its slope promises, and no step gives, from which on a search is not converged."""
SETTLED, UNSETTLED = 0.05, 0.3
"""Change of weights up to which they are final, and from which on, the last time, a search is not converged."""
TOLD = 4.0
"""Least drop of the sum of squares where sensors are said to read after the input jumps: two deviations."""


def first_guess(found: Problem, x: FloatArray, say: Say) -> tuple[FloatArray, bool]:
    """Return parameters from log magnitudes with a robust loss, and whether there were responses to take them from."""
    data = [thinned(r) for r in responses_of(found)]
    if not data:
        return x, False
    measured_dry = not found.responses
    which = [k for k, key in enumerate(found.keys) if not (measured_dry and any(word in key for word in LOSSES))]
    which = [k for k in which if not found.keys[k].startswith("friction.")]
    if not which:
        return x, False
    calls = 0

    def misfit(part: FloatArray) -> FloatArray:
        nonlocal calls
        calls += 1
        say("magnitudes", min(0.99, calls / (12.0 * (len(which) + 1))))
        y = x.copy()
        y[which] = part
        if time.monotonic() > found.deadline:  # no step is better: the search ends where it is
            return np.full(sum(r.response.size for r in data), 20.0)
        try:
            return np.concatenate([log_magnitude(found, y, r) for r in data])
        except DefinitionError:  # outside of what is plausible
            return np.full(sum(r.response.size for r in data), 20.0)

    solved = least_squares(
        misfit, x[which], loss="soft_l1", f_scale=0.1, diff_step=1e-4, x_scale=1.0, max_nfev=20, bounds=(-4.0, 4.0)
    )
    out = x.copy()
    out[which] = solved.x
    say("magnitudes", 1.0)
    return out, True


def cost_of(found: Problem, x: FloatArray, at: Setting, horizon: int) -> tuple[float, FloatArray]:
    """Return the sum of squares and the residual; infinite where the plant is refused or the run overflows."""
    try:
        with np.errstate(all="ignore"):
            r = found.residual(x, at, horizon)
    except FlexctlError:
        return np.inf, np.zeros(0)
    total = float(r @ r)
    return (total, r) if np.isfinite(total) else (np.inf, np.zeros(0))


def fitted(
    found: Problem, x: FloatArray, at: Setting, horizon: int, rounds: int, say: Say, what: str, tolerance: float = 1e-3
) -> tuple[FloatArray, float]:
    """Return the parameters after some rounds of Levenberg-Marquardt, and the sum of squares.

    The search ends where the next step promises to lower the sum by less than `tolerance` of it; where residuals are
    weighted that is `ENOUGH` at most, a small part of the parameters' deviations. If it ends before, at the last round
    or at the deadline, `found.unfinished` says why.
    """
    best, r = cost_of(found, x, at, horizon)
    if not np.isfinite(best):
        raise ConvergenceError("the plant cannot be computed at the start of the search; start elsewhere")
    damping, found.unfinished = 1e-3, ""
    for number in range(rounds):
        say(what, number / rounds)
        try:
            J = found.jacobian(x, r, at, horizon)
        except OutOfTime:
            found.unfinished = LATE
            break
        normal, slope = J.T @ J, J.T @ r
        scale = np.diag(normal).copy()
        scale[scale <= 1e-14 * scale.max(initial=0.0)] = max(scale.max(initial=0.0), 1e-300)  # what does nothing stays
        least = tolerance * best if tolerance > WEIGHTED_PART else max(ENOUGH, 1e-9 * best)
        moved = 0.0
        for _ in range(TRIALS):
            if time.monotonic() > found.deadline:
                break
            step = np.clip(np.linalg.solve(normal + damping * np.diag(scale), -slope), -0.7, 0.7)
            if -(2.0 * slope + normal @ step) @ step < least:
                break
            trial, residual = cost_of(found, x + step, at, horizon)
            if trial < best:
                moved = best - trial
                x, best, r, damping = x + step, trial, residual, max(damping / 8.0, 1e-10)
                break
            damping *= 8.0
        else:
            gain = float(slope @ np.linalg.solve(normal + 1e-3 * np.diag(scale), slope))
            if gain > STUCK * best:
                found.unfinished = f"no step lowers the sum of squares ({best:.4g}; its slope promises {gain:.3g})"
        if time.monotonic() > found.deadline:
            found.unfinished = LATE
        if moved < least or found.unfinished == LATE:
            break
    else:
        found.unfinished = f"{rounds} rounds were not enough, the last one lowered the sum of squares by {moved:.3g}"
    say(what, 1.0)
    return x, best


def horizons(found: Problem, guessed: bool) -> list[int]:
    """Return the lengths of record [samples from its onset] that are fitted one after the other; 0 is all of it."""
    longest = max((r.t.size - onset(r) for r in found.records), default=0)
    lengths = []
    size = FIRST if not guessed else max(FIRST, longest // 16)
    while size < longest:
        lengths.append(size)
        size *= 3
    return [*lengths, 0]


def settings(found: Problem, delay: int | None, feeds: bool) -> list[Setting]:
    """Return what is scanned."""
    counts = range(DELAYS) if delay is None else [delay]
    return [Setting(d, late) for d in counts for late in ((1, 0) if feeds else (1,))]


def scanned(
    found: Problem, x: FloatArray, delay: int | None, feeds: bool, horizon: int, say: Say
) -> tuple[FloatArray, Setting]:
    """Return the parameters and the setting of least sum of squares, each after a few rounds."""
    tried = settings(found, delay, feeds)
    if len(tried) == 1:
        return x, tried[0]
    # runs are only shifted by a delay, so that a first round costs one run for each
    first = []
    for k, at in enumerate(tried):
        first.append((fitted(found, x, at, horizon, 1, _quiet, "")[1], k, at))
        say("scanning the delay", 0.5 * (k + 1) / len(tried))
    results = []
    for k, (_, _, at) in enumerate(sorted(first)[:3]):
        y, cost = fitted(found, x, at, horizon, 5, _quiet, "")
        results.append((cost, k, y, at))
        say("scanning the delay", 0.5 + 0.5 * (k + 1) / 3)
    _, _, x, at = min(results)
    return x, at


def _quiet(what: str, part: float) -> None:
    """Say nothing."""


def weights(found: Problem, x: FloatArray, at: Setting) -> list[FloatArray]:
    """Return the root mean square of the misfit of every output of every record, no less than rounding."""
    return [
        np.maximum(np.sqrt(np.mean(found.misfit(x, data, at) ** 2, axis=0)), 1e-9 * data.y.std(axis=0))
        for data in found.records
    ]


def reweighted(found: Problem, x: FloatArray, at: Setting) -> None:
    """Set the scale of every output of every record to the root mean square of its misfit."""
    found.scales[:] = weights(found, x, at)


def weighted(
    found: Problem, x: FloatArray, at: Setting, say: Say, times: int = WEIGHTED, rounds: int = 15,
    what: str = "final weights",
) -> tuple[FloatArray, float]:
    """Return the parameters with every output weighted by what is left of it, and the sum of squares."""
    moved = 0.0
    for _ in range(times):
        before = np.concatenate([*found.scales, np.ones(1)])
        reweighted(found, x, at)
        x, cost = fitted(found, x, at, 0, rounds, say, what, 1e-6)
        now = np.concatenate([*found.scales, np.ones(1)])
        moved = float(np.abs(now / before - 1.0).max())
        if moved < SETTLED or time.monotonic() > found.deadline:
            break
    if moved > UNSETTLED and not found.unfinished:
        # the last fit may have ended where the weights stay: what counts is what they would do next
        moved = float(np.abs(np.concatenate(weights(found, x, at)) / np.concatenate(found.scales) - 1.0).max())
        if moved > UNSETTLED:
            found.unfinished = f"what is left of an output, which is its weight, still moves by {moved:.0%} a time"
    return x, cost


def neighbours(
    found: Problem,
    x: FloatArray,
    at: Setting,
    cost: float,
    wanted: int | None,
    feeds: bool,
    say: Say,
) -> tuple[FloatArray, Setting]:
    """Return the parameters and setting after delays beside the one found were tried over the whole records."""
    others = [Setting(at.delay + d, at.late) for d in (-1, 1) if wanted is None and at.delay + d >= 0]
    others += [Setting(at.delay, 1 - at.late)] if feeds else []
    best, state = (cost + _doubt(at), x, at), found.unfinished
    for k, other in enumerate(others):
        y, value = fitted(found, x, other, 0, 1, _quiet, "")
        say("delays beside it", (k + 1) / len(others))
        if value + _doubt(other) < best[0]:
            y, value = fitted(found, y, other, 0, 15, say, "another delay", 1e-6)
            best = (value + _doubt(other), y, other)
    found.unfinished = state
    return best[1], best[2]


def _doubt(at: Setting) -> float:
    """Return by how much a setting must be better: sensors read before the input jumps where noise hides the jumps."""
    return 0.0 if at.late else TOLD
