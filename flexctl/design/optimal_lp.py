"""The linear programme of an optimal command: one sequence, many responses, each within bounds at every sample.

Every response is y = y0 + sum_j h_j * v_j, affine in the sequences v. A sequence is linear between knots: fine up to
the arrival, coarser after it, and held at the end. Bounds are imposed where they are broken: the programme begins with
a few samples of each response, and those at which the solution breaks a bound are added until there are none. So it
stays small, and what comes out holds at *every* sample.

The programme is solved by an interior point method (`.interior`), and where that ends without an answer by HiGHS.
HiGHS has returned no point for feasible problems of this kind when a slack is minimised towards zero with unbounded
variables: the slack has a floor, all variables are bounded, and an answer of "neither solved nor infeasible" is an
error, not infeasibility.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import ConvergenceError
from ..model import FloatArray
from .interior import least_slack

FLOOR = 0.5
"""Least slack of the bands, in parts of them."""
ROUNDS = 60
_INSIDE, _EASE = 0.005, 0.2
"""Part of a bound by which the programme stays inside of it, so that it holds between the samples where it is imposed:
without it tight bands are broken again beside every sample that is added, round after round. And what is added to that
of limits per unit of slack below 1: where there is time enough no limit needs to be touched."""


@dataclass(frozen=True, eq=False)
class Bounded:
    """One response with its bounds.

    Attributes
    ----------
    label : str
        What it is, for messages.
    base : ndarray
        Response to all but the sequences, at every sample.
    impulses : sequence of ndarray
        Response to a unit sample of each sequence at time 0.
    low, high : ndarray
        Bounds at every sample; infinite where there are none.
    size : float
        What counts as one: the band, or the limit.
    soft : bool
        Whether the bounds are a band about their middle that the slack widens.
    """

    label: str
    base: FloatArray
    impulses: Sequence[FloatArray]
    low: FloatArray
    high: FloatArray
    size: float
    soft: bool


def knots(arrival: int, total: int) -> FloatArray:
    """Return the samples of the knots: 92 to the arrival, half as many for 0.4 of that time after it, then eighths.

    Wider ones after the arrival cost time: 72, 16 and 4 took 1.12 s for 60 deg of the 0.96 m arm where these take 1.11.
    """
    fine = max(1, round(arrival / 92))
    middle, coarse = max(fine, round(arrival / 45)), max(fine, round(arrival / 11))
    first = np.arange(0, arrival + fine, fine)
    second = np.arange(first[-1] + middle, first[-1] + 0.4 * arrival + middle, middle)
    third = np.arange(second[-1] + coarse, total, coarse)
    found = np.concatenate([first, second, third])
    return np.asarray(found[found < total], float)


def shapes(at: FloatArray, total: int) -> FloatArray:
    """Return the sequence of each knot at all samples, a row each: linear between knots, the last one held."""
    k = np.arange(total)
    return np.array([np.interp(k, at, row) for row in np.eye(at.size)])


@dataclass(frozen=True, eq=False)
class Solution:
    """A sequence for each input at all samples, the slack (1 where a band is just kept), the knots and values there."""

    sequences: FloatArray
    slack: float
    at: FloatArray
    values: FloatArray


def solve(
    responses: Sequence[Bounded], arrival: int, horizon: int, unit: FloatArray, end_zero: bool
) -> Solution | None:
    """Return the sequences that keep all bounds with the smallest slack, None where there are none.

    Parameters
    ----------
    responses : sequence of Bounded
        All of one length.
    arrival, horizon : int
        Samples at which the fine knots end, and at which the last knot is.
    unit : ndarray
        Size of each sequence, to scale the variables.
    end_zero : bool
        Whether the sequences end at zero.
    """
    total, inputs = responses[0].base.size, unit.size
    at = knots(arrival, horizon)
    rows = shapes(at, total)
    if end_zero:
        rows = rows[:-1]
    length = 1 << int(np.ceil(np.log2(2 * total)))
    spectra = np.fft.rfft(rows, length)

    def answers(h: FloatArray) -> FloatArray:
        return np.asarray(np.fft.irfft(spectra * np.fft.rfft(h, length), length)[:, :total].T)

    matrices = [
        np.hstack([unit[j] / response.size * answers(response.impulses[j]) for j in range(inputs)])
        for response in responses
    ]
    problem = Problem(responses, matrices)
    near = int(at[np.searchsorted(at, 2 * arrival, side="right") - 1])
    k = np.unique(np.r_[np.arange(0, near, max(1, arrival // 120)), np.arange(near, total, max(1, arrival // 30)), at])
    k = k[k < total].astype(int)
    for i, response in enumerate(responses):
        problem.add(i, k[np.isfinite(response.high[k]) | np.isfinite(response.low[k])])
    for _ in range(ROUNDS):
        x, slack = problem.solved(1.0)
        if slack > 1.0 + 1e-6:
            return None
        if not problem.broken(x):
            values = np.zeros((inputs, at.size))
            values[:, : len(rows)] = x.reshape(inputs, -1) * unit[:, None]
            return Solution(values @ shapes(at, total), slack, at, values)
    raise ConvergenceError(f"bounds of the optimal command are still broken after {ROUNDS} rounds", iteration=ROUNDS)


class Problem:
    """The rows so far.

    Parameters
    ----------
    responses : sequence of Bounded
        What is bounded.
    matrices : sequence of ndarray
        How each changes with the variables, in its size; (samples, variables).
    most, widest : float
        Bounds on the size of every variable, and on the slack.
    """

    def __init__(
        self, responses: Sequence[Bounded], matrices: Sequence[FloatArray], most: float = 1e3, widest: float = 1e3
    ) -> None:
        self.responses, self.matrices, self.most, self.widest = responses, matrices, most, widest
        self.used: list[set[int]] = [set() for _ in responses]
        self.variables = matrices[0].shape[1]

    def add(self, i: int, samples: Sequence[int] | FloatArray) -> None:
        """Impose the bounds of a response at some samples."""
        self.used[i] |= {int(k) for k in samples}

    def solved(self, enough: float | None = None) -> tuple[FloatArray, float]:
        """Return variables and slack, the least one, or as soon as it is known whether it can be as small as `enough`.

        There is always an answer, with a slack above 1 where the rows contradict each other.
        """
        M, low, high, width = self._rows()
        found = least_slack(M, low, high, width, self.most, FLOOR, enough)
        if found is not None:
            return found.x, found.slack
        return self._by_highs(M, low, high, width)

    def _rows(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return the rows imposed so far: low - width slack <= matrix @ x <= high + width slack."""
        matrices, low, high, width = [], [], [], []
        for response, matrix, used in zip(self.responses, self.matrices, self.used, strict=True):
            k = np.array(sorted(used), int)
            base, wide = response.base[k] / response.size, 1.0 if response.soft else _EASE
            matrices.append(matrix[k])
            low.append(response.low[k] / response.size + (wide + _INSIDE) - base)
            high.append(response.high[k] / response.size - (wide + _INSIDE) - base)
            width.append(np.full(k.size, wide))
        return np.vstack(matrices), np.concatenate(low), np.concatenate(high), np.concatenate(width)

    def _by_highs(
        self, M: FloatArray, low: FloatArray, high: FloatArray, width: FloatArray
    ) -> tuple[FloatArray, float]:
        from scipy.optimize import linprog

        above, below = np.isfinite(high), np.isfinite(low)
        A = np.block([[M[above], -width[above, None]], [-M[below], -width[below, None]]])
        b = np.concatenate([high[above], -low[below]])
        cost = np.r_[np.zeros(self.variables), 1.0]
        bounds = [(-self.most, self.most)] * self.variables + [(FLOOR, self.widest)]
        for method in ("highs-ds", "highs-ipm"):
            found = linprog(cost, A_ub=A, b_ub=b, bounds=bounds, method=method)
            if found.status == 0:
                return np.asarray(found.x[:-1], float), float(found.x[-1])
            if found.status == 2:  # not even with the widest bands
                return np.zeros(self.variables), np.inf
        raise ConvergenceError(
            f"no answer for the optimal command, neither by an interior point method nor by HiGHS ({found.message}); "
            "ask for wider bands or limits, or another longest time"
        )

    def broken(self, x: FloatArray, slack: float = 1.0) -> bool:
        """Add the samples at which bounds are broken, the worst of each stretch; False where there are none.

        With a slack above 1 the bounds are as wide as that makes them.
        """
        any_broken, more = False, max(slack - 1.0, 0.0)
        for i, (response, matrix) in enumerate(zip(self.responses, self.matrices, strict=True)):
            y = response.base / response.size + matrix @ x
            over = np.maximum(y - response.high / response.size, response.low / response.size - y)
            over[~np.isfinite(over)] = -np.inf
            bad = over > 1e-6 * max(slack, 1.0) + more * (1.0 if response.soft else _EASE)
            if bad.any():
                inner = np.r_[-np.inf, over, -np.inf]
                peaks = np.flatnonzero(bad & (over >= inner[:-2]) & (over >= inner[2:]))
                # a row that is there already is broken by no more than the tolerance of the solver
                fresh = set(peaks.tolist()) - self.used[i]
                any_broken |= bool(fresh)
                self.used[i] |= fresh
        return any_broken
