"""The reference channel of a command that was optimised for one law: the target from the start, and an acceleration.

The acceleration is no derivative of the value. It is the way by which the sequence of an optimal command enters a law
that feeds accelerations forward; see `flexctl.design.optimal`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from ..abilities.ability import Ability
from ..errors import require
from ..model import FloatArray


@runtime_checkable
class MadeForLaw(Protocol, metaclass=Ability):
    """A motion that is right for one law alone: `simulate` refuses it with any other."""

    made_for: Any
    """Fingerprint of the law, see `flexctl.laws.fingerprint`."""


@dataclass(frozen=True, eq=False)
class OptimalMotion:
    """A channel of an optimal command.

    Attributes
    ----------
    begin, end : float
        Value before the start and from then on.
    step : float
        Control period of the law [s].
    sequence : ndarray
        Acceleration at the samples of the law; the last one is held.
    arrives : float
        When the followed output is in its band, as planned [s].
    made_for : Fingerprint
        Which law it is for.

    Examples
    --------
    >>> move = fx.OptimalMotion(0.0, 1.0, 0.5, [4.0, -4.0, 0.0], 1.0, made_for=None)
    >>> print(*move([0.0, 0.5, 1.0]))
    [1. 1. 1.] [0. 0. 0.] [ 4. -4.  0.]
    """

    begin: float
    end: float
    step: float
    sequence: FloatArray
    arrives: float
    made_for: Any

    def __post_init__(self) -> None:
        given = np.asarray(self.sequence, float)
        proper = given.ndim == 1 and given.size > 1 and bool(np.isfinite(given).all())
        require(proper, f"the sequence has shape {given.shape}; give two finite numbers or more")
        object.__setattr__(self, "sequence", given)

    @property
    def duration(self) -> float:
        """When the followed output is in its band, as planned [s]."""
        return self.arrives

    @property
    def target(self) -> float:
        """Value from the start on."""
        return self.end

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """The start, at which the value jumps."""
        return (0.0,)

    def __call__(self, t: npt.ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return value, rate (zero) and the acceleration that carries the command at times t [s]."""
        t = np.asarray(t, float)
        here = np.interp(t / self.step, np.arange(self.sequence.size), self.sequence)
        started = t >= 0.0
        return np.where(started, self.end, self.begin), np.zeros(t.shape), np.where(started, here, 0.0)
