"""Descent on a function that is smooth almost everywhere: BFGS with weak Wolfe steps, then gradient sampling.

The largest of many smooth functions has kinks, and its minimum lies in one. BFGS with a line search that asks for the
weak Wolfe conditions alone comes close to it (Lewis and Overton, Mathematical Programming 141, 2013); where its line
search fails, the shortest vector in the convex hull of gradients that are sampled around the point still descends, or
says that the point is stationary (Burke, Lewis and Overton, SIAM Journal on Optimization 15, 2005). Gradients are
forward differences.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import nnls

from ...model import FloatArray

RADII = (3e-2, 3e-3, 3e-4)
"""Radii of gradient sampling, one after the other, in units of the scaled parameters."""
_ARMIJO, _WOLFE = 1e-4, 0.5
_WORTH = 1e-4
"""Least gain of a round of sampling and BFGS for there to be another one."""


@dataclass
class Spent(Exception):
    """The number of evaluations is used up."""


@dataclass
class Objective:
    """A function that counts its evaluations and remembers the best point."""

    function: Callable[[FloatArray], float]
    most: int
    step: float
    count: int = 0
    best: float = np.inf
    at: FloatArray = field(default_factory=lambda: np.zeros(0))

    def __call__(self, x: FloatArray) -> float:
        """Return the value, inf where there is none."""
        if self.count >= self.most:
            raise Spent
        self.count += 1
        value = float(self.function(x))
        if not np.isfinite(value):
            return np.inf
        if value < self.best:
            self.best, self.at = value, x.copy()
        return value

    def gradient(self, x: FloatArray, value: float) -> FloatArray:
        """Return forward differences."""
        found = np.empty(x.size)
        for i in range(x.size):
            moved = x.copy()
            moved[i] += self.step
            found[i] = (self(moved) - value) / self.step
        return np.where(np.isfinite(found), found, 0.0)


def minimise(
    function: Callable[[FloatArray], float], start: FloatArray, most: int, seed: int = 0, step: float = 1e-6
) -> tuple[FloatArray, float, int]:
    """Return the best point, the value there and the number of evaluations.

    Parameters
    ----------
    function : callable
        Finite at the start; inf where it is not defined.
    start : ndarray
        First point, in coordinates of order one.
    most : int
        Evaluations after which to end.
    seed : int
        Of the random gradients.
    step : float
        Of the forward differences.
    """
    objective = Objective(function, most, step)
    try:
        rng = np.random.default_rng(seed)
        _bfgs(objective, np.array(start, float))
        before = np.inf
        while objective.best < before - _WORTH:
            before = objective.best
            for radius in RADII:
                _sampled(objective, radius, rng)
            _bfgs(objective, objective.at.copy())
    except Spent:
        pass
    return objective.at, objective.best, objective.count


def _bfgs(objective: Objective, x: FloatArray, tolerance: float = 1e-7) -> None:
    value = objective(x)
    gradient = objective.gradient(x, value)
    H = np.eye(x.size) / max(float(np.linalg.norm(gradient)), 1e-12)
    for _ in range(1000):
        direction = -H @ gradient
        slope = float(gradient @ direction)
        if slope >= 0.0:
            H, direction = np.eye(x.size), -gradient
            slope = float(gradient @ direction)
        if np.linalg.norm(gradient) < tolerance:
            return
        found = _weak_wolfe(objective, x, value, slope, direction)
        if found is None:
            return
        length, new, new_gradient = found
        s, y = length * direction, new_gradient - gradient
        curve = float(s @ y)
        if curve > 1e-14 * np.linalg.norm(s) * np.linalg.norm(y):
            keep = np.eye(x.size) - np.outer(s, y) / curve
            H = keep @ H @ keep.T + np.outer(s, s) / curve
        gain = value - new
        x, value, gradient = x + s, new, new_gradient
        if gain < 1e-9 * (1.0 + abs(value)):
            return


def _weak_wolfe(
    objective: Objective, x: FloatArray, value: float, slope: float, direction: FloatArray
) -> tuple[float, float, FloatArray] | None:
    """Return length, value and gradient of a step that goes down and is not too short, by bisection; None without."""
    low, high, length = 0.0, np.inf, 1.0
    kept = None
    longest = 3.0 / max(float(np.abs(direction).max()), 1e-300)  # three units of a scaled parameter
    length = min(length, longest)
    for _ in range(30):
        new = objective(x + length * direction)
        if not new <= value + _ARMIJO * length * slope:
            high = length
        else:
            gradient = objective.gradient(x + length * direction, new)
            kept = length, new, gradient
            if float(gradient @ direction) >= _WOLFE * slope or length >= longest:
                return kept
            low = length
        length = 0.5 * (low + high) if np.isfinite(high) else min(2.0 * length, longest)
        if np.isfinite(high) and high - low < 1e-10 * max(high, 1e-300):
            break
    return kept


def _sampled(objective: Objective, radius: float, rng: np.random.Generator) -> None:
    """Descend along the shortest vector in the hull of gradients around the best point, until there is none."""
    for _ in range(100):
        x, value = objective.at.copy(), objective.best
        points = [x + radius * _in_ball(x.size, rng) for _ in range(x.size + 1)]
        gradients = [objective.gradient(x, value)]
        for point in points:
            there = objective(point)
            if np.isfinite(there):
                gradients.append(objective.gradient(point, there))
        shortest = shortest_in_hull(np.array(gradients).T)
        size = float(np.linalg.norm(shortest))
        if size < 1e-6:
            return
        direction, length = -shortest / size, max(radius, 1e-12) * 8.0
        while length > 1e-3 * radius:
            if objective(x + length * direction) < value - _ARMIJO * length * size:
                break
            length *= 0.5
        else:
            return


def _in_ball(size: int, rng: np.random.Generator) -> FloatArray:
    direction = rng.standard_normal(size)
    return np.asarray(direction / np.linalg.norm(direction) * rng.random() ** (1.0 / size))


def shortest_in_hull(G: FloatArray) -> FloatArray:
    """Return the shortest vector in the convex hull of the columns of G.

    It is min |G w| with w >= 0 and sum w = 1, by nonnegative least squares on (G, 1) w = (0, 1), whose solution points
    the same way.
    """
    scale = max(float(np.abs(G).max()), 1e-300)
    weights, _ = nnls(np.vstack([G / scale, np.ones(G.shape[1])]), np.r_[np.zeros(len(G)), 1.0])
    return np.asarray(G @ (weights / weights.sum()))
