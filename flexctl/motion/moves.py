"""Commanded motions: value, rate and acceleration at any time, for a reference channel or a motion-driven joint.

Motions know their breakpoints, so that no integrator steps across a jump. What drives an input directly is an input
signal, see `flexctl.motion.signals`; its kinds can be imported from here too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from ..abilities.ability import Ability
from ..errors import DefinitionError, require
from ..model import FloatArray
from ..support.checks import number, positive, real, real_array
from .signals import InputSignal, PiecewiseConstant, Sampled, Sine, bang_bang

Sample = tuple[FloatArray, FloatArray, FloatArray]
"""Value, rate and acceleration."""

__all__ = [
    "Cycloid",
    "InputSignal",
    "Motion",
    "Part",
    "PiecewiseConstant",
    "Polynomial",
    "RestToRest",
    "Sample",
    "Sampled",
    "Sine",
    "Step",
    "Tabulated",
    "Trapezoid",
    "UntilLastBreakpoint",
    "acceleration_of",
    "bang_bang",
    "quintic",
]


@runtime_checkable
class Motion(Protocol, metaclass=Ability):
    """Value, rate and acceleration over time.

    Examples
    --------
    >>> isinstance(fx.quintic(0.0, 1.0, 0.5), fx.Motion)
    True
    """

    @property
    def duration(self) -> float:
        """Time after which the value stays [s]."""
        ...

    @property
    def target(self) -> float:
        """Value that is reached in the end."""
        ...

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Times at which the acceleration may jump [s]."""
        ...

    def __call__(self, t: npt.ArrayLike) -> Sample:
        """Return value, rate and acceleration at times t [s]; at a jump the right limit."""
        ...


def check_motion(name: str, motion: Motion) -> None:
    """Raise `DefinitionError` unless a motion answers with value, rate and acceleration at every time it is asked for.

    A motion of the wrong shape would otherwise be stretched over the times without a word.
    """
    for t in (np.array([0.0, 0.01, 0.02, 0.03]), np.array(0.0)):
        try:
            answer = motion(t)
            three = isinstance(answer, tuple | list | np.ndarray) and len(answer) == 3
        except (TypeError, ValueError, IndexError) as error:
            if isinstance(error, DefinitionError):
                raise
            raise DefinitionError(f'the motion of "{name}" cannot be asked for {t.size} times: {error}') from error
        if not three:  # to write it down takes longer than to ask
            told = f"returned {answer!r:.60}; return value, rate and acceleration"
            raise DefinitionError(f'the motion of "{name}" {told}')
        for what, row in zip(("value", "rate", "acceleration"), answer, strict=True):
            shape = real_array(f'{what} of the motion of "{name}"', row).shape
            told = f'the {what} of the motion of "{name}" has shape {shape} at {t.size} times; return one for each'
            require(shape in ((), t.shape), told)
    for b in motion.breakpoints:
        number(f'a breakpoint of the motion of "{name}"', b, "s")


class UntilLastBreakpoint:
    """A motion that is over at its last breakpoint."""

    breakpoints: Any  # a tuple of float: a field or a property of the motion

    @property
    def duration(self) -> float:
        """Last breakpoint [s]."""
        return float(self.breakpoints[-1])

    @property
    def target(self) -> float:
        """Value at the last breakpoint."""
        moving: Any = self
        return float(moving(self.duration)[0])


class _RestToRest:
    """Properties of a move from rest to rest; the move itself has the fields."""

    begin: float
    end: float
    time: float
    start: float

    def __post_init__(self) -> None:
        finite = math.isfinite(real("begin", self.begin)) and math.isfinite(real("end", self.end))
        require(finite, f"the move from {self.begin} to {self.end} must be finite")
        proper = 0 <= real("start", self.start, "s") < math.inf
        require(proper, f"start = {self.start} s must be finite and not negative")
        positive("time", self.time, "s")

    @property
    def duration(self) -> float:
        """End of the move [s]."""
        return self.start + self.time

    @property
    def target(self) -> float:
        """Last value."""
        return self.end

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Start and end of the move [s]."""
        return (self.start, self.duration)


@dataclass(frozen=True)
class RestToRest(_RestToRest):
    """The fields of a move from rest to rest.

    Attributes
    ----------
    begin, end : float
        First and last value.
    time : float
        Duration of the move [s].
    start : float
        Time at which it begins [s].
    """

    begin: float
    end: float
    time: float
    start: float = 0.0


@dataclass(frozen=True)
class Polynomial(RestToRest):
    """Rest to rest along the smoothest polynomial of odd degree: 3 (cubic), 5 (quintic), 7, 9.

    Attributes
    ----------
    begin, end, time, start : float
        First and last value, duration [s], time at which it begins [s].
    degree : int
        Odd degree; (degree - 1) / 2 derivatives vanish at both ends.

    Examples
    --------
    >>> move = fx.Polynomial(0.0, 1.0, 0.5, degree=9)
    >>> print(move(np.array([0.0, 0.25, 0.5]))[0].round(4))
    [0.  0.5 1. ]
    """

    degree: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.degree in (3, 5, 7, 9), f"degree = {self.degree} is not one of 3, 5, 7, 9")

    def __call__(self, t: npt.ArrayLike) -> Sample:
        """Return value, rate and acceleration at times t [s]."""
        # the derivative is proportional to (z (1 - z))^m with m = (degree - 1) / 2
        m = (self.degree - 1) // 2
        bump = np.polynomial.Polynomial([0.0, 1.0, -1.0]) ** m
        shape = bump.integ()
        scale = (self.end - self.begin) / shape(1.0)
        t = np.asarray(t, float)
        z = (t - self.start) / self.time
        # compared with the breakpoints themselves: start + time - start need not be time
        inside = (t > self.start) & (t < self.duration)
        value = self.begin + scale * shape(np.clip(z, 0.0, 1.0))
        rate = np.where(inside, scale / self.time * bump(z), 0.0)
        acceleration = np.where(inside | ((t == self.start) & (m == 1)), scale / self.time**2 * bump.deriv()(z), 0.0)
        return value, rate, acceleration


@dataclass(frozen=True)
class Cycloid(RestToRest):
    """Rest to rest with sinusoidal acceleration; its fields are those of `RestToRest`.

    Examples
    --------
    >>> print(fx.Cycloid(0.0, 1.0, 2.0)(np.array([0.0, 1.0, 2.0]))[1].round(4))
    [0. 1. 0.]
    """

    def __call__(self, t: npt.ArrayLike) -> Sample:
        """Return value, rate and acceleration at times t [s]."""
        z = np.clip((np.asarray(t, float) - self.start) / self.time, 0.0, 1.0)
        travel, w = self.end - self.begin, 2.0 * np.pi
        value = self.begin + travel * (z - np.sin(w * z) / w)
        rate = travel / self.time * (1.0 - np.cos(w * z))
        return value, rate, travel * w / self.time**2 * np.sin(w * z)


@dataclass(frozen=True)
class Trapezoid(_RestToRest):
    """Rest to rest with constant acceleration, constant rate and constant deceleration.

    Attributes
    ----------
    begin, end, time, start : float
        As of every `RestToRest`.
    ramp : float
        Duration of the acceleration and of the deceleration [s]; time / 2 leaves no constant rate.

    Examples
    --------
    >>> move = fx.Trapezoid(0.0, 1.0, 2.0, 0.5)
    >>> move.duration
    2.0
    """

    begin: float
    end: float
    time: float
    ramp: float
    start: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        require(
            0 < self.ramp <= self.time / 2,
            f"ramp = {self.ramp} s must be positive and at most half the move, {self.time / 2} s",
        )

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Jumps of the acceleration [s]."""
        s, d = self.start, self.duration
        return (s, s + self.ramp, d - self.ramp, d)

    def __call__(self, t: npt.ArrayLike) -> Sample:
        """Return value, rate and acceleration at times t [s]."""
        t = np.asarray(t, float)
        tau = t - self.start
        top = (self.end - self.begin) / (self.time - self.ramp)
        up, down = np.clip(tau, 0.0, self.ramp), np.clip(tau - (self.time - self.ramp), 0.0, self.ramp)
        flat = np.clip(tau, 0.0, self.time) - up - down
        rate = top * (up - down) / self.ramp
        travel = top * (up**2 / (2 * self.ramp) + flat + down - down**2 / (2 * self.ramp))
        # compared with the breakpoints themselves: start + ramp - start need not be ramp
        begin, full, fall, end = self.breakpoints
        falling = (t >= fall) & (t < end)
        rising = (t >= begin) & (t < full) & ~falling
        return self.begin + travel, rate, top / self.ramp * (rising.astype(float) - falling.astype(float))


@dataclass(frozen=True)
class Step(UntilLastBreakpoint):
    """A jump from one value to another.

    Attributes
    ----------
    begin, end : float
        Value before and after.
    start : float
        Time of the jump [s].

    Examples
    --------
    >>> print(fx.Step(0.0, 0.3, start=0.1)(np.array([0.0, 0.1, 0.2]))[0])
    [0.  0.3 0.3]
    """

    begin: float
    end: float
    start: float = 0.0

    def __post_init__(self) -> None:
        number("begin", self.begin)
        number("end", self.end)
        require(number("start", self.start, "s") >= 0, f"start = {self.start} s must be finite and not negative")

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Time of the jump [s]."""
        return (self.start,)

    def __call__(self, t: npt.ArrayLike) -> Sample:
        """Return value, rate (0) and acceleration (0) at times t [s]."""
        value = np.where(np.asarray(t, float) >= self.start, self.end, self.begin)
        return value, np.zeros_like(value), np.zeros_like(value)


@dataclass(frozen=True, eq=False)
class Tabulated:
    """A motion given by samples of value, rate and acceleration, held at both ends.

    Between two samples the value is the quintic that has all three at both of them.

    Attributes
    ----------
    t, value, rate, acceleration : ndarray
        Times [s], ascending, and the motion there.

    Examples
    --------
    >>> t = np.linspace(0.0, 1.0, 11)
    >>> move = fx.Tabulated(t, t**2, 2 * t, np.full(11, 2.0))
    >>> print(move(np.array([0.55]))[0].round(4))
    [0.3025]
    """

    t: FloatArray
    value: FloatArray
    rate: FloatArray
    acceleration: FloatArray

    def __post_init__(self) -> None:
        for name in ("t", "value", "rate", "acceleration"):
            given = real_array(name, getattr(self, name))
            require(given.ndim == 1 and given.size > 1, f"{name} has shape {given.shape}; give a vector of 2 or more")
            require(given.size == np.size(self.t), f"{name} has {given.size} samples, t has {np.size(self.t)}")
            require(bool(np.isfinite(given).all()), f"{name} must be finite")
            object.__setattr__(self, name, given)
        require(bool(np.all(np.diff(self.t) > 0)), "times must ascend")

    @property
    def duration(self) -> float:
        """Last sample [s]."""
        return float(self.t[-1])

    @property
    def target(self) -> float:
        """Last value."""
        return float(self.value[-1])

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """None: the samples are taken to be finer than any step."""
        return ()

    def __call__(self, t: npt.ArrayLike) -> Sample:
        """Return value, rate and acceleration at times t [s]."""
        t = np.asarray(t, float)
        inside = np.clip(t, self.t[0], self.t[-1])
        k = np.clip(np.searchsorted(self.t, inside, side="right") - 1, 0, self.t.size - 2)
        h = self.t[k + 1] - self.t[k]
        z = (inside - self.t[k]) / h
        rows = (self.value, self.rate, self.acceleration)
        first, last = (np.array([x[i] for x in rows]) for i in (k, k + 1))
        value, rate, acceleration = between(first, last, h, z)
        moving = inside == t
        return value, np.where(moving, rate, 0.0), np.where(moving, acceleration, 0.0)


def between(first: FloatArray, last: FloatArray, h: FloatArray, z: FloatArray | float) -> Sample:
    """Return value, rate and acceleration at parts z of steps h [s], of the quintics with those at both ends (rows)."""
    a, b, c = first[0], h * first[1], 0.5 * h**2 * first[2]
    p, q, r = last[0] - a - b - c, h * last[1] - b - 2.0 * c, h**2 * last[2] - 2.0 * c
    d, e, f = 10.0 * p - 4.0 * q + 0.5 * r, -15.0 * p + 7.0 * q - r, 6.0 * p - 3.0 * q + 0.5 * r
    value = a + z * (b + z * (c + z * (d + z * (e + z * f))))
    rate = (b + z * (2.0 * c + z * (3.0 * d + z * (4.0 * e + z * 5.0 * f)))) / h
    acceleration = (2.0 * c + z * (6.0 * d + z * (12.0 * e + z * 20.0 * f))) / h**2
    return value, rate, acceleration


def quintic(begin: float, end: float, time: float, start: float = 0.0) -> Polynomial:
    """Return the rest-to-rest polynomial of degree 5.

    Examples
    --------
    >>> move = fx.quintic(0.0, np.pi / 3, 1.25)
    >>> angle, rate, acceleration = move(np.array([0.0, 0.625, 1.25]))
    >>> print(angle.round(4), rate.round(4))
    [0.     0.5236 1.0472] [0.     1.5708 0.    ]
    """
    return Polynomial(begin, end, time, start, 5)


@dataclass(frozen=True)
class Part:
    """Value, rate or acceleration of a motion as an input signal.

    Attributes
    ----------
    motion : Motion
        The motion.
    part : int
        0: value, 1: rate, 2: acceleration.
    origin : float
        What is subtracted.
    """

    motion: Motion
    part: int
    origin: float = 0.0

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Those of the motion [s]."""
        return self.motion.breakpoints

    def __call__(self, t: npt.ArrayLike, before: bool = False) -> FloatArray:
        """Return the signal at times t [s]."""
        # the left limit at a breakpoint is the value a hair earlier; elsewhere it is the value to the last bit
        t = np.asarray(t, float)
        if before and self.breakpoints:
            t = np.where(np.isin(t, self.breakpoints), np.nextafter(t, -np.inf), t)
        return self.motion(t)[self.part] - self.origin


def acceleration_of(motion: Motion) -> Part:
    """Return the acceleration of a motion as an input signal: what a motion-driven joint is commanded.

    Examples
    --------
    >>> move = fx.acceleration_of(fx.Cycloid(0.0, 1.0, 2.0))
    >>> print(move(np.array([0.5])).round(4))
    [1.5708]
    """
    return Part(motion, 2)
