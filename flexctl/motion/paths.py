"""Paths of the tip in the plane: a curve by its arc length, and a time law along it.

    p(t) = c(s(t)),     p' = c_s s',     p'' = c_ss s'^2 + c_s s''

The curve c is a `Circle`, a `Polyline` (see `square`) or a `Spline`, the law s any `Motion` from 0 to the length of the
curve: `ConstantSpeed`, `flexctl.motion.moves.quintic`, `Cycloid`, `Trapezoid`, or `by_sides`, which stops in every
corner, and `eased_sides`, which does so for an instant only. Where the law does not stop in a corner the velocity jumps
there; the path knows when. Lengths in m. The curves are those of `flexctl.motion.curves` and can be imported from here
too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ..errors import require
from ..model import FloatArray
from .curves import Circle, Curve, Polyline, Sample, Spline, square
from .moves import Motion, RestToRest, UntilLastBreakpoint, quintic
from .profiles import Moves

__all__ = ["Circle", "ConstantSpeed", "Curve", "Path", "Polyline", "Spline", "by_sides", "eased_sides", "square"]


@dataclass(frozen=True)
class ConstantSpeed(UntilLastBreakpoint):
    """From 0 to `length` at constant speed, after an eased start and before an eased end if there is one.

    The speed rises as 10 z^3 - 15 z^4 + 6 z^5 over `ease_in`, so that the acceleration is continuous, and falls so over
    `ease_out`. Without an eased start it jumps at t = 0.

    Attributes
    ----------
    length : float
        [m].
    time : float
        Total duration [s].
    ease_in, ease_out : float
        Duration of the eased start and end [s].

    Examples
    --------
    >>> circle = fx.Circle((1.6, 0.0), 0.3)
    >>> speed = fx.ConstantSpeed(circle.length, 25.0, ease_in=2.0)
    >>> print(speed(np.array([25.0]))[0].round(4))
    [1.885]
    """

    length: float
    time: float
    ease_in: float = 0.0
    ease_out: float = 0.0

    def __post_init__(self) -> None:
        values = (self.length, self.time, self.ease_in, self.ease_out)
        require(bool(np.isfinite(values).all()), "length, time and eased parts must be finite")
        positive = self.length > 0 and self.time > 0
        require(positive, f"length = {self.length} m and time = {self.time} s must be positive")
        fits = min(self.ease_in, self.ease_out) >= 0 and self.ease_in + self.ease_out <= self.time
        require(fits, f"eased start and end, {self.ease_in} s and {self.ease_out} s, must fit into {self.time} s")

    @property
    def speed(self) -> float:
        """The constant speed [m/s]."""
        return self.length / (self.time - 0.5 * (self.ease_in + self.ease_out))

    @property
    def target(self) -> float:
        """Last value [m]."""
        return self.length

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Beginning and end, and where the speed becomes constant [s]."""
        return tuple(sorted({0.0, self.ease_in, self.time - self.ease_out, self.time}))

    def __call__(self, t: npt.ArrayLike) -> Sample:
        """Return arc length, speed and acceleration at times t [s]."""
        t = np.asarray(t, float)
        inside = (t >= 0.0) & (t < self.time)
        tau = np.clip(t, 0.0, self.time)
        rise, grow, gain = _eased(tau, self.ease_in)
        fall, shrink, loss = _eased(self.time - tau, self.ease_out)
        v = self.speed
        # what the start leaves behind, or what is still to come before the end
        begun, left = tau - 0.5 * self.ease_in + gain, self.time - tau - 0.5 * self.ease_out + loss
        value = np.where(tau <= self.time - self.ease_out, v * begun, self.length - v * left)
        return value, np.where(inside, v * rise * fall, 0.0), np.where(inside, v * (grow * fall - shrink * rise), 0.0)


def _eased(tau: FloatArray, ease: float) -> Sample:
    """Return the smooth step, its slope [1/s], and the lag of its integral behind a straight line from ease / 2 [s]."""
    if ease == 0.0:
        return np.ones_like(tau), np.zeros_like(tau), np.zeros_like(tau)
    z = np.clip(tau / ease, 0.0, 1.0)
    step, slope = z**3 * (10.0 + z * (-15.0 + 6.0 * z)), 30.0 * (z * (1.0 - z)) ** 2 / ease
    integral = ease * z**4 * (2.5 + z * (-3.0 + z))
    return step, slope, np.where(tau < ease, integral - (tau - 0.5 * ease), 0.0)


@dataclass(frozen=True)
class EasedTrapezoid(RestToRest):
    """Rest to rest at constant rate between two eased ramps, the rate there V (3 z^2 - 2 z^3): no acceleration jumps.

    Attributes
    ----------
    begin, end, time, start : float
        First and last value, duration [s], time at which it begins [s].
    ramp : float
        Duration of the rise of the rate and of its fall [s]; time / 2 leaves no constant rate.
    """

    ramp: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        fits = 0 < self.ramp <= 0.5 * self.time * (1 + 1e-12)
        require(
            fits, f"ramp = {self.ramp} s must be positive and at most half the move, {0.5 * self.time:g} s: shorten it"
        )

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Beginning and end of the ramps [s]."""
        return (self.start, self.start + self.ramp, self.duration - self.ramp, self.duration)

    def __call__(self, t: npt.ArrayLike) -> Sample:
        """Return value, rate and acceleration at times t [s]."""
        tau = np.clip(np.asarray(t, float) - self.start, 0.0, self.time)
        top = (self.end - self.begin) / (self.time - self.ramp)
        (gone, rise, grow), (left, fall, shrink) = self._ramp(tau), self._ramp(self.time - tau)
        value = np.where(tau <= 0.5 * self.time, self.begin + top * gone, self.end - top * left)
        return value, top * np.minimum(rise, fall), top * (grow - shrink)

    def _ramp(self, tau: FloatArray) -> Sample:
        """Return travel [s], rate and its slope [1/s] at tau from rest, for a constant rate of 1."""
        z = np.minimum(tau / self.ramp, 1.0)
        gone = self.ramp * z**3 * (1.0 - 0.5 * z) + np.maximum(tau - self.ramp, 0.0)
        return gone, z**2 * (3.0 - 2.0 * z), 6.0 * z * (1.0 - z) / self.ramp


def by_sides(curve: Curve, time: float, move: Callable[..., Motion] = quintic) -> Motion:
    """Return the law that goes from corner to corner, stopping in each: `move(begin, end, time, start)` for every side.

    Each side takes its share of `time` [s] by its length; `move` is `flexctl.motion.moves.quintic` or `Cycloid`.

    Examples
    --------
    >>> box = fx.square((1.6, 0.0), 0.4)
    >>> fx.by_sides(box, 20.0).duration
    20.0
    """
    require(bool(np.isfinite(time) and time > 0), f"time = {time} s must be positive and finite")
    edges = (0.0, *curve.corners, curve.length)
    starts = [time * s / curve.length for s in edges]
    sides = zip(pairwise(edges), pairwise(starts), strict=True)
    return Moves(tuple(move(a, b, end - begin, begin) for (a, b), (begin, end) in sides))


def eased_sides(curve: Curve, time: float, ramp: float) -> Motion:
    """Return the law at constant speed along every side, eased down to a stop and up again over `ramp` [s] at corners.

    The same at the beginning and the end. A ramp longer than half the time of the shortest side is refused.

    Examples
    --------
    >>> box = fx.square((1.6, 0.0), 0.4)
    >>> fx.eased_sides(box, 20.0, 0.1).duration
    20.0
    """
    return by_sides(curve, time, partial(EasedTrapezoid, ramp=ramp))


@dataclass(frozen=True, eq=False)
class Path:
    """A curve along which the tip moves by a time law; called with times, it returns position, velocity, acceleration.

    Attributes
    ----------
    curve : Curve
        Where.
    law : Motion
        When: arc length [m] over time, rising from 0 to the length of the curve.

    Examples
    --------
    >>> circle = fx.Circle((1.6, 0.0), 0.3)
    >>> path = fx.Path(circle, fx.ConstantSpeed(circle.length, 25.0))
    >>> path.duration
    25.0
    """

    curve: Curve
    law: Motion
    corner_times: tuple[float, ...] = field(init=False)

    def __post_init__(self) -> None:
        length = self.curve.length
        begin, end = float(self.law(0.0)[0]), self.law.target
        whole = abs(begin) <= 1e-9 * length and abs(end - length) <= 1e-9 * length
        require(whole, f"the law goes from {begin:g} to {end:g} m; the curve from 0 to {length:g} m: make them agree")
        s = self.law(np.linspace(0.0, self.law.duration, 2001))[0]
        require(bool(np.all(np.diff(s) >= -1e-12 * length)), "the law goes backwards; a path is followed forwards")
        object.__setattr__(self, "corner_times", tuple(self._time_at(corner) for corner in self.curve.corners))

    def _time_at(self, s: float) -> float:
        """Return when the law reaches s; one of its own breakpoints if it stops there."""
        for b in self.law.breakpoints:
            if abs(float(self.law(b)[0]) - s) <= 1e-9 * self.curve.length:
                return b
        low, high = 0.0, self.law.duration
        for _ in range(200):
            middle = 0.5 * (low + high)
            if not low < middle < high:
                break
            low, high = (middle, high) if float(self.law(middle)[0]) < s else (low, middle)
        return high

    @property
    def duration(self) -> float:
        """Time after which the tip stays [s]."""
        return self.law.duration

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Those of the law, and the times of the corners [s]."""
        return tuple(sorted({*self.law.breakpoints, *self.corner_times}))

    def __call__(self, t: npt.ArrayLike) -> Sample:
        """Return position [m], velocity [m/s] and acceleration [m/s^2], each (.., 2); at a jump the right limit."""
        t = np.asarray(t, float)
        s, v, a = (np.asarray(x)[..., None] for x in self.law(t))
        p, along, bend = self.curve(s[..., 0], np.searchsorted(self.corner_times, t, side="right"))
        return p, v * along, a * along + v**2 * bend

    def points(self, count: int = 2001) -> FloatArray:
        """Return about `count` points along the curve (.., 2) [m]: its corners, and evenly spaced ones between them."""
        edges = (0.0, *self.curve.corners, self.curve.length)
        found = []
        for piece, (begin, end) in enumerate(pairwise(edges)):
            steps = max(1, int(np.ceil((count - 1) * (end - begin) / self.curve.length - 1e-9)))
            s = np.linspace(begin, end, steps + 1)[:-1]
            found.append(self.curve(s, np.full(s.shape, piece))[0])
        last = self.curve(np.array([self.curve.length]), np.array([len(edges) - 2]))[0]
        return np.concatenate([*found, last])

    def distance(self, points: FloatArray) -> FloatArray:
        """Return how far points (.., 2) lie from the curve [m], exact but for the sagitta of 20000 straight pieces."""
        from scipy.spatial import cKDTree

        nodes = self.points(20001)
        pieces = []
        for nearest in cKDTree(nodes).query(points, k=2)[1].T:  # two: a closed curve begins where it ends
            for first in (nearest - 1, nearest):
                k = np.clip(first, 0, len(nodes) - 2)
                pieces.append(_from_piece(points, nodes[k], nodes[k + 1]))
        return np.asarray(np.min(pieces, axis=0))

    @property
    def extent(self) -> float:
        """Largest side of the box around it [m]."""
        p = self.points()
        return float(np.ptp(p, axis=0).max())


def _from_piece(p: FloatArray, a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the distance of points from straight pieces a to b."""
    along = b - a
    z = np.clip(np.sum((p - a) * along, axis=-1) / np.sum(along**2, axis=-1), 0.0, 1.0)
    return np.asarray(np.linalg.norm(p - a - z[..., None] * along, axis=-1))
