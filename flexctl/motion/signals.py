"""Input signals: one number at any time, with a left and a right limit where it jumps.

They drive an input directly: open-loop torques, disturbances. They know their breakpoints, so that no integrator steps
across a jump.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from ..abilities.ability import Ability
from ..errors import require
from ..model import FloatArray
from ..support.checks import number, positive, real


@runtime_checkable
class InputSignal(Protocol, metaclass=Ability):
    """One number over time.

    Examples
    --------
    >>> isinstance(fx.bang_bang(0.1, 0.3), fx.InputSignal)
    True
    """

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Times at which the signal or its slope jumps [s]."""
        ...

    def __call__(self, t: npt.ArrayLike, before: bool = False) -> FloatArray:
        """Return the signal at times t [s]; at a jump the right limit, or the left one if `before`."""
        ...


@dataclass(frozen=True)
class PiecewiseConstant:
    """An input that jumps between constant values.

    Attributes
    ----------
    times : tuple of float
        Times of the jumps [s], ascending.
    values : tuple of float
        One value before the first jump and one after each: len(times) + 1.

    Examples
    --------
    >>> print(fx.PiecewiseConstant((0.5,), (0.1, 0.0))(np.array([0.4, 0.5])))
    [0.1 0. ]
    """

    times: tuple[float, ...]
    values: tuple[float, ...]
    breakpoints: tuple[float, ...] = field(init=False)

    def __post_init__(self) -> None:
        jumps, given = len(self.times), len(self.values)
        require(given == jumps + 1, f"{jumps} jumps need {jumps + 1} values, got {given}")
        for value in (*self.times, *self.values):
            number("times and values", value)
        require(all(a < b for a, b in pairwise(self.times)), f"times {self.times} s are not ascending")
        object.__setattr__(self, "breakpoints", tuple(self.times))

    def __call__(self, t: npt.ArrayLike, before: bool = False) -> FloatArray:
        """Return the signal at times t [s]."""
        times, values = self._arrays
        return np.asarray(values[np.searchsorted(times, np.asarray(t, float), side="left" if before else "right")])

    @cached_property
    def _arrays(self) -> tuple[FloatArray, FloatArray]:
        """Times and values: made anew in every call, they would cost a record of n samples n^2."""
        return np.array(self.times, float), np.array(self.values, float)


def bang_bang(amplitude: float, half_time: float, start: float = 0.0) -> PiecewiseConstant:
    """Return +amplitude for half_time [s], -amplitude for as long, then 0; 0 before `start` [s].

    Examples
    --------
    >>> print(fx.bang_bang(0.1, 0.3)(np.array([0.0, 0.3, 0.6])))
    [ 0.1 -0.1  0. ]
    """
    positive("half_time", half_time, "s")
    start, amplitude = number("start", start, "s"), number("amplitude", amplitude)
    times = (start, start + half_time, start + 2 * half_time)
    return PiecewiseConstant(times, (0.0, amplitude, -amplitude, 0.0))


@dataclass(frozen=True)
class Sine:
    """amplitude sin(2 pi frequency (t - start)) from `start` to `end` [s], zero outside.

    Attributes
    ----------
    amplitude : float
        Largest value.
    frequency : float
        [Hz].
    start, end : float
        First and last time [s].

    Examples
    --------
    >>> print(fx.Sine(0.1, 0.5, end=2.0)(np.array([0.5, 3.0])))
    [0.1 0. ]
    """

    amplitude: float
    frequency: float
    start: float = 0.0
    end: float = np.inf

    def __post_init__(self) -> None:
        for name, unit in (("amplitude", ""), ("frequency", "Hz"), ("start", "s")):
            number(f"{name} of a sine", getattr(self, name), unit)
        later = real("end of a sine", self.end, "s") > self.start
        require(later, f"end = {self.end} s must lie after start = {self.start} s")

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Start and, if there is one, end [s]."""
        return (self.start,) if np.isinf(self.end) else (self.start, self.end)

    def __call__(self, t: npt.ArrayLike, before: bool = False) -> FloatArray:
        """Return the signal at times t [s]."""
        t = np.asarray(t, float)
        on = (t > self.start) & (t <= self.end) if before else (t >= self.start) & (t < self.end)
        return np.where(on, self.amplitude * np.sin(2 * np.pi * self.frequency * (t - self.start)), 0.0)


@dataclass(frozen=True)
class Sampled:
    """A signal given by samples, linear in between, held at both ends.

    Attributes
    ----------
    t, values : ndarray
        Times [s], ascending, and values.

    Examples
    --------
    >>> print(fx.Sampled(np.array([0.0, 1.0]), np.array([0.0, 2.0]))(np.array([0.25])))
    [0.5]
    """

    t: FloatArray
    values: FloatArray

    def __post_init__(self) -> None:
        t, values = np.asarray(self.t, float), np.asarray(self.values, float)
        equal = t.ndim == 1 and t.shape == values.shape and t.size > 0
        require(equal, f"times {t.shape} and values {values.shape} must be vectors of one length")
        require(bool(np.isfinite(t).all() and np.isfinite(values).all()), "times and values must be finite")
        require(bool(np.all(np.diff(t) > 0)), "times must ascend")
        object.__setattr__(self, "t", t)
        object.__setattr__(self, "values", values)

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """None: the samples are taken to be finer than any step."""
        return ()

    def __call__(self, t: npt.ArrayLike, before: bool = False) -> FloatArray:
        """Return the signal at times t [s]."""
        values: FloatArray = np.interp(np.asarray(t, float), self.t, self.values)
        return values
