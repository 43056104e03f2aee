"""Outputs that should come to rest: what a sensor on a vibrating arm is held to after a move."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..errors import require
from ..model import FloatArray


@dataclass(frozen=True)
class Rest:
    """Rest after a move: the output should come back to the value it had before.

    Attributes
    ----------
    value : float
        What it reads at rest.
    until : float
        End of the move [s].
    """

    value: float
    until: float

    def __post_init__(self) -> None:
        require(bool(np.isfinite(self.value)), f"value = {self.value} at rest must be finite")
        require(bool(np.isfinite(self.until) and self.until >= 0), f"until = {self.until} s must not be negative")

    @property
    def duration(self) -> float:
        """End of the move [s]."""
        return self.until

    @property
    def target(self) -> float:
        """Value at rest."""
        return self.value

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """None."""
        return ()

    def __call__(self, t: npt.ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return value, rate (0) and acceleration (0) at times t [s]."""
        zero = np.zeros(np.shape(t))
        return self.value + zero, zero, zero.copy()
