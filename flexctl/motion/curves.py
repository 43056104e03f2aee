"""Curves in the plane by their arc length: circle, straight sides, spline. Lengths in m.

A curve returns point, unit tangent and curvature vector c, c_s, c_ss. Where sides meet the tangent jumps; the number
of the smooth piece says which one is meant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from ..errors import DefinitionError, require
from ..model import FloatArray
from ..support.checks import number, positive, several

Point = tuple[float, float]
Sample = tuple[FloatArray, FloatArray, FloatArray]
"""Position, velocity, acceleration (or point, tangent, curvature vector), each (.., 2)."""


@runtime_checkable
class Curve(Protocol):
    """A plane curve with arc length s from 0 to `length` [m].

    Examples
    --------
    >>> curve: fx.Curve = fx.Circle((1.6, 0.0), 0.3)
    >>> print(f"{curve.length:.4f} m")
    1.8850 m
    """

    @property
    def length(self) -> float:
        """Its length [m]."""
        ...

    @property
    def corners(self) -> tuple[float, ...]:
        """Arc lengths inside it at which the tangent jumps [m]."""
        ...

    def __call__(self, s: FloatArray, piece: npt.NDArray[Any]) -> Sample:
        """Return point, unit tangent and curvature vector at s on smooth pieces by number, from 0."""
        ...


def _points(points: npt.ArrayLike, least: int) -> FloatArray:
    p = np.array(points, float)
    require(p.ndim == 2 and p.shape[1] == 2, f"points have shape {p.shape}; give a list of (x, y)")
    require(bool(np.isfinite(p).all()), "every point must be finite")
    require(len(p) >= least, f"{len(p)} points given; at least {least} are needed")
    steps = np.linalg.norm(np.diff(p, axis=0), axis=1)
    double = np.flatnonzero(~(steps > 0.0))
    if double.size:
        i = int(double[0])
        place = ", ".join(f"{x:g}" for x in p[i])
        raise DefinitionError(f"points {i + 1} and {i + 2} are both ({place}) m; leave one out")
    return p


@dataclass(frozen=True)
class Circle:
    """An arc about a centre.

    Attributes
    ----------
    centre : (float, float)
        [m].
    radius : float
        [m].
    start : float
        Direction from the centre in which it begins [rad].
    turns : float
        Revolutions, counter-clockwise; negative: clockwise.

    Examples
    --------
    >>> circle = fx.Circle((1.6, 0.0), 0.3)
    >>> print(f"{circle.length:.4f} m")
    1.8850 m
    """

    centre: Point
    radius: float
    start: float = 0.0
    turns: float = 1.0

    def __post_init__(self) -> None:
        for value in several("centre", self.centre, "(x, y) in m"):
            number("centre", value, "m")
        require(len(self.centre) == 2, f"centre = {self.centre!r} has {len(self.centre)} numbers; write (x, y) in m")
        positive("radius", self.radius, "m")
        for name in ("start", "turns"):
            number(name, getattr(self, name))
        require(self.turns != 0, "turns = 0 makes no path; give a number of revolutions")

    @property
    def length(self) -> float:
        """Length of the arc [m]."""
        return 2.0 * np.pi * self.radius * abs(self.turns)

    @property
    def corners(self) -> tuple[float, ...]:
        """None."""
        return ()

    def __call__(self, s: FloatArray, piece: npt.NDArray[Any]) -> Sample:
        """Return point, tangent and curvature vector at arc length s [m]."""
        sign = np.sign(self.turns)
        angle = self.start + sign * s / self.radius
        out = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
        along = sign * np.stack([-out[..., 1], out[..., 0]], axis=-1)
        return np.asarray(self.centre) + self.radius * out, along, -out / self.radius


@dataclass(frozen=True)
class Polyline:
    """Straight sides from point to point, back to the first one if `closed`.

    Attributes
    ----------
    points : sequence of (float, float)
        Corners [m].
    closed : bool
        Whether the last side ends at the first point.

    Examples
    --------
    >>> fx.Polyline([(0.0, 0.0), (3.0, 0.0), (3.0, 4.0)]).length
    7.0
    """

    points: Sequence[Point]
    closed: bool = False
    _edges: FloatArray = field(init=False, repr=False, compare=False)
    _p: FloatArray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        given = [*self.points, self.points[0]] if self.closed and len(self.points) else list(self.points)
        p = _points(given, 2)
        sides = np.linalg.norm(np.diff(p, axis=0), axis=1)
        object.__setattr__(self, "_p", p)
        object.__setattr__(self, "_edges", np.concatenate([[0.0], np.cumsum(sides)]))

    @property
    def length(self) -> float:
        """Length of all sides [m]."""
        return float(self._edges[-1])

    @property
    def corners(self) -> tuple[float, ...]:
        """Arc length of the points between [m]."""
        return tuple(float(x) for x in self._edges[1:-1])

    def __call__(self, s: FloatArray, piece: npt.NDArray[Any]) -> Sample:
        """Return point, tangent and curvature vector (zero) at arc length s [m]."""
        k = np.clip(piece, 0, len(self._p) - 2).astype(int)
        begin, end = self._p[k], self._p[k + 1]
        span = (self._edges[k + 1] - self._edges[k])[..., None]
        along = (end - begin) / span
        # from the end of the side, where that is nearer: corners are met to the last bit
        z = (s - self._edges[k])[..., None] / span
        place = np.where(z < 0.5, begin + z * (end - begin), end - (1.0 - z) * (end - begin))
        return place, along, np.zeros_like(along)


def square(centre: Point, side: float) -> Polyline:
    """Return a square, counter-clockwise from its lower left corner (Tian et al., figure 5).

    Examples
    --------
    >>> print(f"{fx.square((1.6, 0.0), 0.4).length:.1f} m")
    1.6 m
    """
    require(bool(np.isfinite([*centre, side]).all() and side > 0), f"side = {side} m must be positive and finite")
    x, y, h = centre[0], centre[1], 0.5 * side
    return Polyline([(x - h, y - h), (x + h, y - h), (x + h, y + h), (x - h, y + h)], closed=True)


@dataclass(frozen=True)
class Spline:
    """A smooth curve through points: cubic splines over the chord length, twice continuously differentiable.

    Attributes
    ----------
    points : sequence of (float, float)
        Points on the curve [m], at least three.
    closed : bool
        Whether it returns to the first point, smoothly.

    Examples
    --------
    >>> curve = fx.Spline([(0.0, 0.0), (1.0, 0.5), (2.0, 0.0)])
    >>> curve.length > 2.0
    True
    """

    points: Sequence[Point]
    closed: bool = False
    _spline: Any = field(init=False, repr=False, compare=False)
    _table: FloatArray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        from scipy.interpolate import CubicSpline

        given = [*self.points, self.points[0]] if self.closed and len(self.points) else list(self.points)
        p = _points(given, 4 if self.closed else 3)
        knots = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(p, axis=0), axis=1))])
        spline = CubicSpline(knots, p, bc_type="periodic" if self.closed else "natural")
        w = np.unique(np.concatenate([np.linspace(a, b, 33) for a, b in pairwise(knots)]))
        object.__setattr__(self, "_spline", spline)
        s = np.concatenate([[0.0], np.cumsum(self._arc(w[:-1], w[1:]))])
        object.__setattr__(self, "_table", np.array([w, s]))
        slow = float(np.linalg.norm(spline(w, 1), axis=-1).min())
        require(slow > 1e-3, "the spline through these points stops or turns back on itself; space them more evenly")

    def _arc(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """Return the length between parameters, by Gauss's rule with 5 points."""
        x, weight = np.polynomial.legendre.leggauss(5)
        w = 0.5 * (a + b)[..., None] + 0.5 * (b - a)[..., None] * x
        speed = np.linalg.norm(self._spline(w, 1), axis=-1)
        return np.asarray(0.5 * (b - a) * (speed @ weight))

    @property
    def length(self) -> float:
        """Length of the curve [m]."""
        return float(self._table[1, -1])

    @property
    def corners(self) -> tuple[float, ...]:
        """None."""
        return ()

    def __call__(self, s: FloatArray, piece: npt.NDArray[Any]) -> Sample:
        """Return point, tangent and curvature vector at arc length s [m]."""
        w, known = self._table
        k = np.clip(np.searchsorted(known, s, side="right") - 1, 0, w.size - 2)
        x = np.interp(s, known, w)
        for _ in range(4):  # Newton's iteration for the parameter of this arc length
            x = x - (known[k] + self._arc(w[k], x) - s) / np.linalg.norm(self._spline(x, 1), axis=-1)
        first, second = self._spline(x, 1), self._spline(x, 2)
        speed = np.linalg.norm(first, axis=-1, keepdims=True)
        along = first / speed
        bend = (second - along * np.sum(along * second, axis=-1, keepdims=True)) / speed**2
        return np.asarray(self._spline(x)), along, bend
