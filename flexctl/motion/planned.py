"""A commanded motion as a plan finds it: cubic splines in position, so that the acceleration is linear between knots.

`Planned` is the motion. `Shape` is how it depends on the numbers that a plan looks for: uniform knots up to a time,
wider ones in a tail, at rest at the start (where the acceleration may jump) and at rest on the target after the last
knot.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import require
from ..model import FloatArray
from .moves import Sample

TAIL = 3
"""Width of the knots in the tail, in those before it; there is one for every four before it."""


@dataclass(frozen=True)
class Planned:
    """A motion with linear acceleration between knots, from rest to rest; `simulate` refuses it with another law.

    Attributes
    ----------
    times : tuple of float
        Knots [s], ascending from 0.
    accelerations : tuple of float
        At the knots.
    begin, end : float
        First value, and the value from the last knot on.
    arrives : float
        When the plants are in their bands, as planned [s].
    made_for : Fingerprint or None
        Which law it is for; None where that is known by its step alone, and any law is taken.

    Examples
    --------
    >>> move = fx.Planned((0.0, 0.5, 1.0), (4.0, 0.0, -4.0), 0.0, 1.0, 0.9, None)
    >>> print(move(np.array([0.0, 0.5, 1.0]))[0].round(3))
    [0.    0.333 1.   ]
    """

    times: tuple[float, ...]
    accelerations: tuple[float, ...]
    begin: float
    end: float
    arrives: float
    made_for: Any
    _knots: FloatArray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        t, a = np.asarray(self.times, float), np.asarray(self.accelerations, float)
        require(t.ndim == 1 and t.shape == a.shape and t.size > 1, f"{t.size} knots and {a.size} accelerations")
        finite = bool(np.isfinite([*t, *a, self.begin, self.end, self.arrives]).all())
        require(finite and t[0] == 0.0 and bool(np.all(np.diff(t) > 0)), "knots must ascend from 0 and be finite")
        h = np.diff(t)
        v = np.concatenate([[0.0], np.cumsum(0.5 * h * (a[:-1] + a[1:]))])
        x = self.begin + np.concatenate([[0.0], np.cumsum(h * v[:-1] + h**2 * (2.0 * a[:-1] + a[1:]) / 6.0)])
        object.__setattr__(self, "_knots", np.array([t, x, v, a, np.append(np.diff(a) / h, 0.0)]))

    @property
    def duration(self) -> float:
        """Last knot [s]: the command goes on after the plants have arrived, and keeps them there."""
        return float(self.times[-1])

    @property
    def target(self) -> float:
        """Value in the end."""
        return self.end

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """The first and the last knot, at which the acceleration may jump [s]."""
        return (0.0, float(self.times[-1]))

    def __call__(self, t: npt.ArrayLike) -> Sample:
        """Return value, rate and acceleration at times t [s]."""
        t = np.asarray(t, float)
        k = np.clip(np.searchsorted(self._knots[0], t, side="right") - 1, 0, None)
        start, x, v, a, jerk = self._knots[:, k]
        s, over, before = np.maximum(t - start, 0.0), t >= self.times[-1], t < 0.0
        still = over | before
        value = np.where(over, self.end, x + s * (v + s * (0.5 * a + s * jerk / 6.0)))
        return (
            np.where(before, self.begin, value), np.where(still, 0.0, v + s * (a + 0.5 * s * jerk)),
            np.where(still, 0.0, a + s * jerk),
        )


@dataclass(frozen=True, eq=False)
class Shape:
    """Splines from 0 to 1 with `count` free numbers: the motion is begin + move * (reached + basis @ numbers).

    Attributes
    ----------
    span : float
        Time up to which the knots are narrow [s]; the tail takes three quarters of it.
    intervals : int
        Narrow intervals; those of a shape with twice as many can do all that it can.
    """

    span: float
    intervals: int
    knots: FloatArray = field(init=False)
    _spread: FloatArray = field(init=False, repr=False)
    _fixed: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        h = self.span / self.intervals
        first, wide = h * np.arange(self.intervals + 1), max(1, self.intervals // 4)
        object.__setattr__(self, "knots", np.r_[first, self.span + TAIL * h * np.arange(1, wide + 1)])
        total = self.knots.size + 2
        spread = np.zeros((total, total - 5))
        spread[:3, 0] = 1.0, -0.5, 1.0  # at rest at the start, where the acceleration may jump
        spread[3:-3, 1:] = np.eye(total - 6)
        object.__setattr__(self, "_spread", spread)
        object.__setattr__(self, "_fixed", np.r_[np.zeros(total - 3), np.ones(3)])  # at rest on the target in the end

    @property
    def count(self) -> int:
        """How many numbers are free."""
        return int(self._spread.shape[1])

    def motion(self, free: FloatArray, begin: float, move: float, arrives: float, made_for: Any = None) -> Planned:
        """Return the motion of some numbers."""
        a = move * (self._second() @ (self._fixed + self._spread @ free))
        return Planned(
            tuple(self.knots.tolist()), tuple(a.tolist()), float(begin), float(begin + move), float(arrives), made_for
        )

    def values(self, t: FloatArray, order: int = 0) -> tuple[FloatArray, FloatArray]:
        """Return the fixed part and what each free number adds, at times t; derivatives by `order`."""
        found = self._basis(t, order)
        return np.asarray(found @ self._fixed), np.asarray(found @ self._spread)

    def fitted(self, t: FloatArray, values: FloatArray, accelerations: FloatArray) -> FloatArray:
        """Return the numbers that come nearest to a motion from 0 to 1, its values and accelerations at times t."""
        h = self.span / self.intervals
        rows, right = [], []
        for order, weight, given in ((0, 1.0, values), (2, 0.2 * h * h, accelerations)):
            fixed, spread = self.values(t, order)
            rows.append(weight * spread)
            right.append(weight * (given - fixed))
        return np.asarray(np.linalg.lstsq(np.vstack(rows), np.concatenate(right), rcond=None)[0])

    def _extended(self) -> FloatArray:
        left, right = self.knots[1] - self.knots[0], self.knots[-1] - self.knots[-2]
        more = np.arange(1, 4)
        return np.concatenate([self.knots[0] - left * more[::-1], self.knots, self.knots[-1] + right * more])

    def _basis(self, t: FloatArray, order: int) -> FloatArray:
        from scipy.interpolate import BSpline

        knots = self._extended()
        spline = BSpline(knots, np.eye(knots.size - 4), 3)
        found = spline(np.clip(t, 0.0, self.knots[-1]), nu=order)
        found[t > self.knots[-1]] = self._end() if order == 0 else 0.0
        return np.asarray(found)

    def _end(self) -> FloatArray:
        return np.asarray(np.r_[np.zeros(self.knots.size + 1), 1.0], float)  # all of the last numbers are the target

    def _second(self) -> FloatArray:
        """Accelerations at the knots."""
        from scipy.interpolate import BSpline

        knots = self._extended()
        return np.asarray(BSpline(knots, np.eye(knots.size - 4), 3)(self.knots, nu=2))
