"""Motions that begin later, and sequences that a law gets sample by sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import require
from ..model import FloatArray
from .moves import Motion, Sample


@dataclass(frozen=True, eq=False)
class Later:
    """A motion that begins `by` seconds later; before, it stays where it begins.

    Attributes
    ----------
    motion : Motion
        The motion.
    by : float
        Delay [s].

    Examples
    --------
    >>> fx.Later(fx.quintic(0.0, 1.0, 0.5), 0.3).duration
    0.8
    """

    motion: Motion
    by: float

    def __post_init__(self) -> None:
        require(bool(np.isfinite(self.by) and self.by >= 0), f"by = {self.by} s must be finite and not negative")

    @property
    def duration(self) -> float:
        """Time after which the value stays [s]."""
        return float(self.motion.duration) + self.by

    @property
    def target(self) -> float:
        """Value that is reached in the end."""
        return float(self.motion.target)

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Those of the motion [s], and its start."""
        return tuple(sorted({self.by, *(b + self.by for b in self.motion.breakpoints)}))

    def __call__(self, t: npt.ArrayLike) -> Sample:
        """Return value, rate and acceleration at times t [s]."""
        t = np.asarray(t, float)
        # at the rounded begin the motion begins, not the instant before
        value, rate, acceleration = self.motion(np.maximum(t - self.by, np.where(t < self.by, -1.0, 0.0)))
        return value, rate, acceleration


@dataclass(frozen=True, eq=False)
class Samples:
    """A reference channel given at the samples of a law; linear in between, the last value is held.

    Attributes
    ----------
    step : float
        Control period of the law [s].
    values : ndarray
        Value at every sample.
    """

    step: float
    values: FloatArray

    @property
    def duration(self) -> float:
        """Time of the last sample [s]."""
        return self.step * (len(self.values) - 1)

    @property
    def target(self) -> float:
        """Last value."""
        return float(self.values[-1])

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """None: it is read at the samples."""
        return ()

    def __call__(self, t: npt.ArrayLike) -> Sample:
        """Return the values at times t [s]; rate and acceleration, which no law asks for, are zero."""
        t = np.asarray(t, float)
        zero = np.zeros(t.shape)
        return np.interp(t / self.step, np.arange(len(self.values)), self.values), zero, zero


@dataclass(frozen=True, eq=False)
class SamplesForLaw(Samples):
    """A sequence that is right for one law alone: `simulate` refuses it with any other."""

    made_for: Any
