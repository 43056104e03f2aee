"""A time law of constant accelerations, averaged over windows: the path stays, what would shake the arm goes.

    s(t) = average over w1 seconds of the average over w2 seconds of .. s0(t),     s0'' constant between its jumps

An average with positive weights neither leaves the path nor turns back; it takes the sum of the windows longer. A
window of one period removes a mode of that period and its multiples. s0 is sampled, the samples are averaged, and are
the coefficients of a uniform spline of degree 5, which rises with them and ends where they end, to rounding; it takes
an eighth of the shortest window more. Where s0 rests on the way, in a corner, it waits until s is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import require
from ..model import FloatArray
from .moves import Sample

DEGREE = 5
_SAMPLES = 8
"""In the shortest window."""


@dataclass(frozen=True, eq=False)
class Retimed:
    """Moves from rest to rest, one after the other, with constant accelerations, averaged over windows.

    Attributes
    ----------
    moves : sequence of (ndarray, ndarray)
        Of each move the durations [s] of the accelerations, and these; in its end the rate is zero.
    windows : tuple of float
        What it is averaged over [s], rounded to eighths of the shortest.

    Examples
    --------
    >>> from flexctl.motion.retimed import Retimed
    >>> law = Retimed([([1.0, 1.0], [1.0, -1.0])], (0.2, 0.1, 0.1))
    >>> print(law.duration, law(law.duration)[0])
    2.4125 1.0
    """

    moves: Sequence[tuple[npt.ArrayLike, npt.ArrayLike]]
    windows: tuple[float, ...]
    target: float = field(init=False)
    breakpoints: tuple[float, ...] = field(init=False)
    _spline: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        from scipy.interpolate import BSpline

        w = np.asarray(self.windows, float)
        require(bool(w.size and np.isfinite(w).all() and (w > 0).all()), f"windows = {self.windows} s must be positive")
        require(len(self.moves) > 0, "a law needs one move or more")
        h = float(w.min()) / _SAMPLES
        kernel = np.ones(1)
        for count in np.rint(w / h).astype(int):
            kernel = np.convolve(kernel, np.full(count, 1.0 / count))
        begin, coefficients, edges = 0.0, [np.zeros(DEGREE)], [0]
        for durations, accelerations in self.moves:
            steps = np.convolve(_steps(durations, accelerations, h), kernel)
            rise = np.cumsum(steps)
            coefficients += [begin + rise, np.full(DEGREE - 1, begin + rise[-1])]
            begin += float(rise[-1])
            edges.append(edges[-1] + steps.size + DEGREE - 1)
        c = np.concatenate([*coefficients, [begin]])
        knots = h * (np.arange(c.size + DEGREE + 1) - DEGREE)
        for name, value in (("target", begin), ("breakpoints", tuple(h * k for k in edges)),
                            ("_spline", BSpline(knots, c, DEGREE))):
            object.__setattr__(self, name, value)

    @property
    def duration(self) -> float:
        """Time from which on it rests [s]."""
        return self.breakpoints[-1]

    def derivative(self, t: npt.ArrayLike, order: int) -> FloatArray:
        """Return a derivative of s, 0 to 5, at times t [s]."""
        t = np.asarray(t, float)
        found = self._spline(np.clip(t, 0.0, self.duration), nu=order)
        return np.where(t >= self.duration, self.target if order == 0 else 0.0, found)

    def __call__(self, t: npt.ArrayLike) -> Sample:
        """Return value, rate and acceleration at times t [s]."""
        return self.derivative(t, 0), self.derivative(t, 1), self.derivative(t, 2)


def _steps(durations: npt.ArrayLike, accelerations: npt.ArrayLike, h: float) -> FloatArray:
    """Return how far a move from rest to rest comes in every h [s]."""
    d, a = np.asarray(durations, float), np.asarray(accelerations, float)
    proper = d.ndim == 1 and d.shape == a.shape and d.size > 0 and bool(np.isfinite([*d, *a]).all())
    require(proper and bool((d > 0).all()), f"{d.size} durations and {a.size} accelerations: as many of each")
    t, v = (np.concatenate([[0.0], np.cumsum(x)]) for x in (d, d * a))
    still = abs(float(v[-1])) <= 1e-9 * float(np.abs(v).max())
    require(still, f"the rate is {v[-1]:g} in the end; a move ends at rest")
    x = np.concatenate([[0.0], np.cumsum(d * (v[:-1] + 0.5 * d * a))])
    at = np.minimum(h * np.arange(int(np.ceil(t[-1] / h)) + 1), t[-1])
    k = np.clip(np.searchsorted(t, at, side="right") - 1, 0, d.size - 1)
    since = at - t[k]
    way = x[k] + since * (v[k] + 0.5 * since * a[k])
    steps: FloatArray = np.maximum(np.diff(way), 0.0) * (x[-1] / way[-1])
    return steps
