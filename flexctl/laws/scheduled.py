"""A law that changes at given times: gains by period, or a law scheduled along a known path.

Between two times it is a `LinearLaw`; the state goes on when the next one takes over, so all have the same states.
Where a matrix depends on a path that is known in advance, many short phases are the scheduled law.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ..errors import require
from ..linear import FirstOrder
from ..model import FloatArray
from .controller import LinearLaw
from .several import SameSignals

SNAP = 1e-9
"""A time this part of a control period early is the time itself."""


@dataclass(frozen=True, eq=False)
class ScheduledLaw(SameSignals):
    """Linear laws one after the other.

    Attributes
    ----------
    times : sequence of float
        Times at which the next law takes over [s], ascending.
    laws : sequence of LinearLaw
        One more than times; all with the same signals, sample time and number of states.

    Examples
    --------
    >>> soft, hard = (fx.LinearLaw(1e-3, ("joint1_angle",), ("joint1_torque",), Dy=[[-k]]) for k in (3.0, 6.0))
    >>> law = fx.ScheduledLaw((0.5,), (soft, hard))
    >>> law.sample_time
    0.001
    """

    times: Sequence[float]
    laws: Sequence[LinearLaw]

    def __post_init__(self) -> None:
        object.__setattr__(self, "times", tuple(float(t) for t in self.times))
        object.__setattr__(self, "laws", tuple(self.laws))
        changes, given = len(self.times), len(self.laws)
        require(given == changes + 1, f"{changes} times need {changes + 1} laws, got {given}")
        require(all(isinstance(law, LinearLaw) for law in self.laws), "every phase of a scheduled law is a LinearLaw")
        ordered = bool(np.isfinite(self.times).all()) and all(a < b for a, b in pairwise(self.times))
        require(ordered, f"times {self.times} s must be finite and ascending")
        for i, law in enumerate(self.laws, 1):
            for key in ("sample_time", "measures", "drives", "follows"):
                mine, first = getattr(law, key), getattr(self.laws[0], key)
                require(mine == first, f"law {i} has {key} = {mine}, the first one {first}; make them the same")
            states = len(law.A), len(self.laws[0].A)
            require(states[0] == states[1], f"law {i} has {states[0]} states, the first one {states[1]}")

    def __repr__(self) -> str:
        return f"ScheduledLaw({len(self.laws)} phases of {self.laws[0]!r})"

    @property
    def measures(self) -> tuple[str, ...]:
        """Plant outputs read."""
        return self.laws[0].measures

    @property
    def limited(self) -> bool:
        """Whether a phase limits its command."""
        return any(bool(np.isfinite(law.lower).any() or np.isfinite(law.upper).any()) for law in self.laws)

    def phase(self, t: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Return the number of the law, from 0, that is on at times t [s]."""
        early = SNAP * (self.sample_time or 1e-3)
        return np.searchsorted(self.times, np.asarray(t, float) + early, side="right").astype(np.int64)

    def at(self, t: float) -> LinearLaw:
        """Return the law that is on at time t [s]."""
        return self.laws[int(self.phase(t))]

    def initial(self) -> FloatArray:
        """Return the zero state."""
        return self.laws[0].initial()

    def initial_at(self, y: FloatArray) -> FloatArray:
        """Return the state with which a run begins when the measured outputs are y."""
        return self.laws[0].initial_at(y)

    def step(self, state: FloatArray, t: float, y: FloatArray, r: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the command and the next state of the law that is on."""
        return self.at(t).step(state, t, y, r)

    def feedback(self) -> FirstOrder:
        """Return the first law from measured outputs to commands as a linear system."""
        return self.laws[0].feedback()
