"""More commanded motions: smoother or plainer moves, one after the other, an arm that is set spinning.

All are `flexctl.motion.moves.Motion`s: value, rate and acceleration at any time, with the jumps known.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ..errors import require
from ..model import FloatArray
from .moves import Motion, RestToRest, Sample, UntilLastBreakpoint


@dataclass(frozen=True)
class LinearAcceleration(UntilLastBreakpoint):
    """A motion whose acceleration is linear between knots, from rest; constant rate after the last knot.

    Attributes
    ----------
    times : tuple of float
        Knots [s], ascending; at rest before the first.
    accelerations : tuple of float
        Acceleration at each knot, zero at the first and the last.
    begin : float
        Value at rest.

    Examples
    --------
    >>> move = fx.LinearAcceleration((0.0, 0.5, 1.0), (0.0, 4.0, 0.0))
    >>> move.duration
    1.0
    """

    times: tuple[float, ...]
    accelerations: tuple[float, ...]
    begin: float = 0.0
    _knots: FloatArray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        t, a = np.asarray(self.times, float), np.asarray(self.accelerations, float)
        require(t.size == a.size >= 2, f"{t.size} times and {a.size} accelerations: give two or more, as many of each")
        require(bool(np.isfinite([*t, *a, self.begin]).all() and t[0] >= 0.0), "times and accelerations must be finite")
        require(bool(np.all(np.diff(t) > 0)), f"times {self.times} s are not ascending")
        require(a[0] == a[-1] == 0.0, "the accelerations at the first and the last knot must be zero: they would jump")
        h = np.diff(t)
        v = np.concatenate([[0.0], np.cumsum(0.5 * h * (a[:-1] + a[1:]))])
        x = self.begin + np.concatenate([[0.0], np.cumsum(h * v[:-1] + h**2 * (2.0 * a[:-1] + a[1:]) / 6.0)])
        jerk = np.append(np.diff(a) / h, 0.0)
        object.__setattr__(self, "_knots", np.array([t, x, v, a, jerk]))

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """The knots, where the jerk jumps [s]."""
        return tuple(float(t) for t in self._knots[0])

    def __call__(self, t: npt.ArrayLike) -> Sample:
        """Return value, rate and acceleration at times t [s]."""
        t = np.asarray(t, float)
        k = np.clip(np.searchsorted(self._knots[0], t, side="right") - 1, 0, None)
        start, x, v, a, jerk = self._knots[:, k]
        s = np.maximum(t - start, 0.0)
        return x + s * (v + s * (0.5 * a + s * jerk / 6.0)), v + s * (a + 0.5 * s * jerk), a + s * jerk


def trapezoidal_acceleration(
    begin: float, end: float, time: float, ramp: float, jerk: float, start: float = 0.0
) -> LinearAcceleration:
    """Return a rest-to-rest move with trapezoids of acceleration and deceleration and a constant rate between them.

    Parameters
    ----------
    begin, end : float
        First and last value.
    time, start : float
        Duration of the move and time at which it begins [s].
    ramp : float
        Duration of the acceleration and of the deceleration [s], at most half the move.
    jerk : float
        Duration of the rise and of the fall of the acceleration [s], at most half of `ramp`.

    Examples
    --------
    >>> move = fx.trapezoidal_acceleration(0.0, 1.0, 2.0, 0.5, 0.1)
    >>> print(move(np.array([0.0, 1.0, 2.0]))[0].round(4))
    [0.  0.5 1. ]
    """
    require(bool(np.isfinite([begin, end, time, ramp, jerk, start]).all()), "the numbers of a move must be finite")
    require(start >= 0 and time > 0, f"start = {start} s must not be negative and time = {time} s must be positive")
    require(0 < ramp <= time / 2, f"ramp = {ramp} s must be positive and at most half the move, {time / 2} s")
    require(0 < jerk <= ramp / 2, f"jerk = {jerk} s must be positive and at most half the ramp, {ramp / 2} s")
    top = (end - begin) / ((ramp - jerk) * (time - ramp))
    knots = [(0.0, 0.0), (jerk, top), (ramp - jerk, top), (ramp, 0.0)]
    knots += [(time - t, -a) for t, a in reversed(knots)]
    # equal times: no plateau, or no constant rate
    earlier = [-1.0, *(t for t, _ in knots)]
    kept = [(t, a) for (t, a), before in zip(knots, earlier, strict=False) if t - before > 1e-12 * time]
    return LinearAcceleration(tuple(start + t for t, _ in kept), tuple(a for _, a in kept), begin)


@dataclass(frozen=True)
class Cosine(RestToRest):
    """Rest to rest along half a cosine wave, fields as in `RestToRest`; the acceleration jumps at both ends.

    Examples
    --------
    >>> print(fx.Cosine(0.0, 1.0, 0.4)(np.array([0.0, 0.2, 0.4]))[0].round(4))
    [0.  0.5 1. ]
    """

    def __call__(self, t: npt.ArrayLike) -> Sample:
        """Return value, rate and acceleration at times t [s]."""
        t = np.asarray(t, float)
        z, w = np.clip((t - self.start) / self.time, 0.0, 1.0), np.pi
        half = 0.5 * (self.end - self.begin)
        moving = (t >= self.start) & (t < self.duration)
        acceleration = half * (w / self.time) ** 2 * np.cos(w * z) * moving
        return self.begin + half * (1.0 - np.cos(w * z)), half * w / self.time * np.sin(w * z), acceleration


@dataclass(frozen=True)
class Moves(UntilLastBreakpoint):
    """Moves one after the other, dwelling between them; each begins where the one before ended.

    Attributes
    ----------
    moves : tuple of Motion
        Rest-to-rest moves with ascending start times.

    Examples
    --------
    >>> there_and_back = fx.Moves((fx.quintic(0.0, 1.0, 0.5), fx.quintic(1.0, 0.0, 0.5, start=1.0)))
    >>> print(there_and_back(np.array([0.5, 0.75, 1.5]))[0])
    [1. 1. 0.]
    """

    moves: tuple[Motion, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "moves", tuple(self.moves))
        require(len(self.moves) > 0, "give at least one move")
        for i, (one, two) in enumerate(pairwise(self.moves), 1):
            starts = min(two.breakpoints)
            ended = starts >= one.duration - 1e-9
            require(ended, f"move {i + 1} begins at {starts:g} s, before move {i} ends at {one.duration:g} s")
            first = float(two(0.0)[0])
            meets = abs(first - one.target) <= 1e-9 * (1.0 + abs(one.target))
            require(meets, f"move {i + 1} begins at {first:g}, but move {i} ends at {one.target:g}")

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Those of all moves [s]."""
        return tuple(sorted({b for move in self.moves for b in move.breakpoints}))

    def __call__(self, t: npt.ArrayLike) -> Sample:
        """Return value, rate and acceleration at times t [s]."""
        t = np.asarray(t, float)
        starts = [min(move.breakpoints) for move in self.moves[1:]]
        active = np.searchsorted(starts, t, side="right")
        samples = [move(t) for move in self.moves]
        x, v, a = (np.choose(active, [sample[part] for sample in samples]) for part in range(3))
        return np.asarray(x), np.asarray(v), np.asarray(a)


@dataclass(frozen=True)
class Swing(UntilLastBreakpoint):
    """begin + amplitude sin(2 pi frequency (t - start)) for whole cycles, at rest before and after.

    The rate jumps at both ends.

    Attributes
    ----------
    begin : float
        Value at rest.
    amplitude : float
        Largest deviation.
    frequency : float
        [Hz].
    cycles : int
        Number of cycles.
    start : float
        Time at which they begin [s].

    Examples
    --------
    >>> print(fx.Swing(0.0, 0.1, 0.5)(np.array([0.0, 1.0, 2.0]))[0].round(4))
    [0. 0. 0.]
    """

    begin: float
    amplitude: float
    frequency: float
    cycles: int = 1
    start: float = 0.0

    def __post_init__(self) -> None:
        require(bool(np.isfinite([self.begin, self.amplitude]).all()), "start and amplitude of a swing must be finite")
        proper = bool(np.isfinite(self.frequency) and self.frequency > 0)
        require(proper, f"frequency = {self.frequency} Hz must be positive and finite")
        require(bool(np.isfinite(self.start) and self.start >= 0), f"start = {self.start} s must not be negative")
        whole = isinstance(self.cycles, int) and not isinstance(self.cycles, bool) and self.cycles > 0
        require(whole, f"cycles = {self.cycles!r} must be a whole number above zero")

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Start and end [s]."""
        return (self.start, self.start + self.cycles / self.frequency)

    def __call__(self, t: npt.ArrayLike) -> Sample:
        """Return value, rate and acceleration at times t [s]."""
        t, w = np.asarray(t, float), 2.0 * np.pi * self.frequency
        x = self.amplitude * ((t >= self.start) & (t < self.duration))
        sine, cosine = np.sin(w * (t - self.start)), np.cos(w * (t - self.start))
        value, rate, acceleration = self.begin + x * sine, w * x * cosine, -w * w * x * sine
        return np.asarray(value), np.asarray(rate), np.asarray(acceleration)


@dataclass(frozen=True)
class SpinUp(UntilLastBreakpoint):
    """From rest to a constant rate, the acceleration a full cosine wave (Simo and Vu-Quoc 1986).

    Attributes
    ----------
    rate : float
        Rate in the end.
    time : float
        Duration of the rise [s]; the value goes on rising after it.
    start : float
        Time at which it begins [s].
    begin : float
        Value at rest.

    Examples
    --------
    >>> fx.SpinUp(6.0, 15.0).duration
    15.0
    """

    rate: float
    time: float
    start: float = 0.0
    begin: float = 0.0

    def __post_init__(self) -> None:
        require(bool(np.isfinite([self.rate, self.begin]).all()), f"rate = {self.rate} must be finite")
        require(bool(np.isfinite(self.start) and self.start >= 0), f"start = {self.start} s must not be negative")
        require(bool(np.isfinite(self.time) and self.time > 0), f"time = {self.time} s must be positive")

    @property
    def target(self) -> float:
        """Value at the end of the rise."""
        return self.begin + 0.5 * self.rate * self.time

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Start and end of the rise [s]."""
        return (self.start, self.start + self.time)

    def __call__(self, t: npt.ArrayLike) -> Sample:
        """Return value, rate and acceleration at times t [s]."""
        tau, w = np.asarray(t, float) - self.start, 2.0 * np.pi
        z = np.clip(tau / self.time, 0.0, 1.0)
        after = np.maximum(tau - self.time, 0.0)
        value = self.begin + self.rate * (self.time * (0.5 * z**2 + (np.cos(w * z) - 1.0) / w**2) + after)
        return value, self.rate * (z - np.sin(w * z) / w), self.rate / self.time * (1.0 - np.cos(w * z))
