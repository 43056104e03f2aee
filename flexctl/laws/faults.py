"""Faults around a law: a reading that freezes, a sample that is missed. For tests of laws, not for use.

    Frozen(law, {"chord1_angle": 0.2})     from 0.2 s on the reading is what it was then
    Missed(law, (0.2,))                    the period at 0.2 s is left out: the command before is held
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import require
from ..model import FloatArray
from .controller import _Wrapper, initial_at

BoolArray = npt.NDArray[np.bool_]
_EARLY = 1e-9
"""A time this part of a period early is the time itself."""


@dataclass(frozen=True)
class Frozen(_Wrapper):
    """From a given time on, readings stay at their last values.

    Examples
    --------
    >>> law = fx.LinearLaw(1e-3, ("joint1_angle",), ("joint1_torque",), Dy=[[-6.8]])
    >>> fx.Frozen(law, {"joint1_angle": 0.2}).sample_time
    0.001
    """

    times: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        require(self.sample_time > 0, "the law is continuous; readings freeze at samples")
        for name, time in self.times.items():
            measured = name in self.measures
            require(measured, f'frozen output "{name}" is not measured; the law measures {list(self.measures)}')
            require(bool(np.isfinite(time)), f"time at which {name} freezes = {time} s must be finite")

    def initial(self) -> Any:
        """Return the law's state, and no reading yet."""
        return self.law.initial(), None

    def initial_at(self, y: FloatArray) -> Any:
        """Return the law's state for these measured outputs, and no reading yet."""
        return initial_at(self.law, y), None

    def frozen(self, t: float) -> BoolArray:
        """Return which readings are frozen at a time [s]."""
        begin = np.array([self.times.get(name, np.inf) for name in self.measures])
        return np.asarray(t >= begin - _EARLY * self.sample_time)

    def step(self, state: Any, t: float, y: FloatArray, r: FloatArray) -> tuple[FloatArray, Any]:
        """Call the law with the last readings before the times."""
        inner, last = state
        seen = np.asarray(y, float)
        if last is not None:
            seen = np.where(self.frozen(t), last, seen)
        u, inner = self.law.step(inner, t, seen, r)
        return u, (inner, seen.copy())


@dataclass(frozen=True)
class Missed(_Wrapper):
    """At given times the law is not called: the previous command is held, and its state does not advance.

    Examples
    --------
    >>> law = fx.LinearLaw(1e-3, ("joint1_angle",), ("joint1_torque",), Dy=[[-6.8]])
    >>> fx.Missed(law, (0.2,)).sample_time
    0.001
    """

    times: Sequence[float] = ()

    def __post_init__(self) -> None:
        require(self.sample_time > 0, "the law is continuous; it has no samples that could be missed")
        require(bool(np.isfinite(self.times).all()), f"times {self.times} s of missed samples must be finite")

    def initial(self) -> Any:
        """Return the law's state, and no command yet."""
        return self.law.initial(), np.zeros(len(self.drives))

    def initial_at(self, y: FloatArray) -> Any:
        """Return the law's state for these measured outputs, and no command yet."""
        return initial_at(self.law, y), np.zeros(len(self.drives))

    def misses(self, t: float) -> bool:
        """Return whether the sample at a time [s] is missed."""
        return any(abs(t - time) < 0.5 * self.sample_time * (1.0 - _EARLY) for time in self.times)

    def step(self, state: Any, t: float, y: FloatArray, r: FloatArray) -> tuple[FloatArray, Any]:
        """Call the law unless this sample is missed."""
        inner, last = state
        if self.misses(t):
            return last, state
        u, inner = self.law.step(inner, t, y, r)
        return u, (inner, np.asarray(u, float).copy())
