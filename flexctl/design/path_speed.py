"""The soonest way along a path within limits: a linear programme for the squared rate, with a bound that proves it.

With b(s) = s'^2 the acceleration is s'' = b'(s) / 2, and limits on c0 + c1 s' + c2 s'^2 + c3 s'' are linear in b but
for c1 (Verscheure et al. 2009). s'' is constant between points, and the limits hold at both ends of every interval. The
time T, sum of 2 ds / (sqrt(b_i) + sqrt(b_i+1)), is convex in b: linear programmes with its gradient g, and the best of
the line between two answers, find the soonest. The bound is T(b) + min g (b+ - b) over all b+ that keep the limits in
the middle of every interval, as every motion does to the square of its length: a programme too. It is nearer by half
with twice as many points.

Where c1 meets c2 or c3, as a joint with viscous friction does, sqrt(b) is taken along its tangent at the last b, and
the bound, which no longer holds, is nan.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import ConvergenceError, DefinitionError, require
from ..model import FloatArray

NEAR = 1e-5
"""Part of the time that another programme must promise."""
FAR = 0.1
"""Part of the time by which the bound may lie below."""
ROUNDS = 20
_FASTEST = 1e4
"""Largest rate, in lengths of the path per second: what comes near it is not limited."""
_TINY = 1e-6
"""Part of the other coefficients' largest values below which one counts as zero: they come from differences."""


class Row(NamedTuple):
    """A limit: low <= c . (1, s', s'^2, s'') <= high at every point, c (points, 4)."""

    name: str
    c: FloatArray
    low: float
    high: float


class Speed(NamedTuple):
    """Squared rate at the points, its time [s], and the time that none can beat [s]."""

    b: FloatArray
    time: float
    bound: float


def soonest(s: FloatArray, rows: Sequence[Row]) -> Speed:
    """Return the squared rate along points s, from rest to rest, with all limits kept."""
    check_rest(rows)
    ds, top = np.diff(s), (_FASTEST * (s[-1] - s[0])) ** 2
    mixed = any(_mixed(row.c) for row in rows)
    b = _solved(-np.ones(s.size), *_programme(ds, rows, np.ones(s.size), top))
    for _ in range(ROUNDS):
        require(bool(b.max() < 0.99 * top), "the limits leave the rate along the path without bound: add one")
        time, gradient = _time(b, ds)
        new = _solved(gradient, *_programme(ds, rows, b, top))
        change = float(np.abs(new - b).max()) / float(b.max())
        if gradient @ (b - new) < NEAR * time and (not mixed or change < 10 * NEAR):
            break
        b = new if mixed else _between(b, new, ds)
    time, gradient = _time(b, ds)
    if mixed:
        return Speed(b, time, np.nan)
    least = _solved(gradient, *_programme(ds, rows, b, top, ends=False))
    found = Speed(b, time, time - float(gradient @ (b - least)))
    if found.bound < (1.0 - FAR) * time:
        raise ConvergenceError(f"a way of {time:.4g} s was found, and none below {found.bound:.4g} s: take more points")
    return found


def _between(b: FloatArray, new: FloatArray, ds: FloatArray) -> FloatArray:
    """Return the soonest on the line between two squared rates; both keep the limits, and all between do."""
    from scipy.optimize import minimize_scalar

    part = minimize_scalar(lambda x: _time(b + x * (new - b), ds)[0], bounds=(0.0, 1.0), method="bounded").x
    best: FloatArray = min((b + x * (new - b) for x in (part, 1.0)), key=lambda one: _time(one, ds)[0])
    return best


def check_rest(rows: Sequence[Row]) -> None:
    """Raise where an arm at rest breaks a limit."""
    for row in rows:
        require(row.low < row.high, f"{row.name}: the limits ({row.low:g}, {row.high:g}) leave nothing between them")
        rest = row.c[:, 0]
        worst = float(rest[np.argmax(np.maximum(row.low - rest, rest - row.high))])
        require(
            row.low <= worst <= row.high,
            f"{row.name} is {worst:.4g} where the arm rests on the path, outside of ({row.low:g}, {row.high:g}): no "
            "time is long enough; raise the limit",
        )


def _mixed(c: FloatArray) -> bool:
    """Whether the rate itself counts beside its square or the acceleration."""
    size = np.abs(c).max(axis=0)
    others = max(size[2], size[3])
    return bool(size[1] > _TINY * others and others > _TINY * size[1])


def _of_rate_alone(c: FloatArray) -> bool:
    """Whether nothing moves the signal but the rate."""
    size = np.abs(c).max(axis=0)
    return bool(size[1] > 0.0 and max(size[2], size[3]) <= _TINY * size[1])


def _programme(
    ds: FloatArray, rows: Sequence[Row], b: FloatArray, top: float, ends: bool = True
) -> tuple[Any, FloatArray, FloatArray]:
    """Return A, upper and the bounds of A b <= upper, 0 <= b <= bounds; rates linear about the last b.

    Limits at both ends of every interval, or in the middle.
    """
    import scipy.sparse as sp

    n, parts, upper = ds.size, [], []
    most = np.full(n + 1, top)
    most[[0, -1]] = 0.0
    floor = np.sqrt(np.maximum(b, 1e-6 * b.max()))
    k = np.arange(n)
    for row in rows:
        c0, c1, c2, c3 = row.c.T
        c1 = c1 if _mixed(row.c) or _of_rate_alone(row.c) else np.zeros_like(c1)
        if _of_rate_alone(row.c):
            room = np.where(c1 > 0, row.high - c0, c0 - row.low) / np.maximum(np.abs(c1), 1e-300)
            most = np.minimum(most, np.minimum(room, 1e150) ** 2)
            continue
        square, rest = c2 + 0.5 * c1 / floor, c0 + 0.5 * c1 * floor
        for part in (0.0, 1.0) if ends else (0.5,):  # of the interval
            own, there, push = (_at(x, part) for x in (square, rest, c3))
            push = push / (2.0 * ds)
            entries = np.concatenate([(1.0 - part) * own - push, part * own + push])
            matrix = sp.csr_matrix((entries, (np.r_[k, k], np.r_[k, k + 1])), (n, n + 1))
            least = 1e-9 * np.abs(push).max() + 1e-300
            for sign, edge in ((1.0, row.high), (-1.0, -row.low)):
                if np.isfinite(edge):
                    scale = 1.0 / max(abs(edge), np.abs(there).max(), least)
                    parts.append(sign * scale * matrix)
                    upper.append(scale * (edge - sign * there))
    if not parts:
        return sp.csr_matrix((0, n + 1)), np.zeros(0), most
    return sp.vstack(parts), np.concatenate(upper), most


def _at(x: FloatArray, part: float) -> FloatArray:
    """Return the values in a part of every interval."""
    return np.asarray((1.0 - part) * x[:-1] + part * x[1:])


def _solved(cost: FloatArray, A: Any, upper: FloatArray, most: FloatArray) -> FloatArray:
    from scipy.optimize import linprog

    answer = linprog(cost / np.abs(cost).max(), A, upper, bounds=np.column_stack([np.zeros_like(most), most]))
    if answer.status == 2:
        raise DefinitionError("no motion along the path keeps the limits, however slow; raise them")
    if answer.x is None or answer.status != 0:
        raise ConvergenceError(f"the solver found no way along the path: {answer.message}")
    found: FloatArray = np.maximum(answer.x, 0.0)
    return found


def _time(b: FloatArray, ds: FloatArray) -> tuple[float, FloatArray]:
    """Return the time, and its gradient."""
    v = np.sqrt(b)
    mean = v[1:] + v[:-1]
    require(bool(mean.min() > 0.0), "the arm cannot move on within the limits; raise them")
    part, gradient = ds / mean**2, np.zeros_like(b)
    inner = np.maximum(v, 1e-12 * v.max())
    gradient[:-1] -= part / inner[:-1]
    gradient[1:] -= part / inner[1:]
    gradient[[0, -1]] = 0.0
    return float((2.0 * ds / mean).sum()), gradient
