"""Gain scheduling: laws designed at several configurations, blended by a measured one.

    u = sat(sum of w_i (C_i x_i + Dy_i y + Dr_i r)),     x_i+ = A_i x_i + By_i y + Br_i r + Bu_i u

w_i are hat functions of the scheduling variable between the design points, constant beyond the first and the last. All
laws run all the time and receive the command that is really applied, so their observers stay right and their
integrals do not drift apart; no coordinates have to match between designs. At a design point the loop is that design.

Where the plant is its own mirror image the variable counts without its sign (`mirrored`): an arm with the elbow at -phi
is the arm at phi with all angles and torques reversed, so its linear plant from torques to angles is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import require
from ..linear import FirstOrder
from ..model import FloatArray
from .controller import Delayed, LinearLaw, bare
from .ordered import blended_period, hat_weights, readings, stacked
from .several import SameSignals

if TYPE_CHECKING:
    from ..design.design import Design


@dataclass(frozen=True, eq=False)
class Blended(SameSignals):
    """Laws of several configurations, blended by a reading between them: u = sat(sum of w_i u_i).

    All laws run all the time and receive the command that is really applied; at a design point the loop is that
    design, beyond the first and the last it stays as it is.

    Attributes
    ----------
    laws : tuple of LinearLaw
        Designs with the same signals, control period and limits.
    points : tuple of float
        Value of the scheduling variable at each design, ascending.
    by : str
        The measured output that schedules; the laws need not read it.
    mirrored : bool
        Whether its absolute value schedules: designs from 0 or above serve both sides.
    """

    laws: tuple[LinearLaw, ...]
    points: tuple[float, ...]
    by: str
    mirrored: bool = False
    _own: int = field(init=False, repr=False)
    measures: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        count = len(self.laws)
        require(count > 0 and count == len(self.points), f"{count} laws for {len(self.points)} points; give one each")
        require(all(a < b for a, b in pairwise(self.points)), f"points {self.points} are not ascending")
        one_side = not self.mirrored or self.points[0] >= 0.0
        require(one_side, f"points {self.points}: a mirrored schedule has its designs at 0 and above")
        first = self.laws[0]
        require(isinstance(first, LinearLaw), "schedule the laws inside their wrappers; delay the whole")
        for law in self.laws[1:]:
            same = (law.measures, law.drives, law.follows, law.sample_time) == (
                first.measures, first.drives, first.follows, first.sample_time,
            )
            require(same, "the scheduled laws differ in their signals or control period")
            limits = np.array_equal(law.lower, first.lower) and np.array_equal(law.upper, first.upper)
            require(limits, "the scheduled laws differ in their limits")
        extra = () if self.by in first.measures else (self.by,)
        object.__setattr__(self, "measures", (*first.measures, *extra))
        object.__setattr__(self, "_own", len(first.measures))

    @property
    def designed_for(self) -> dict[str, tuple[float, float]]:
        """Range of the scheduling variable between the first and the last design; beyond, the law stays as it is."""
        low, high = self.points[0], self.points[-1]
        return {self.by: (-high if self.mirrored else low, high)}

    def weights(self, value: float) -> FloatArray:
        """Return the weight of each law at a value of the scheduling variable."""
        return hat_weights(self.points, abs(value) if self.mirrored else value)

    def frozen(self, value: float) -> LinearLaw:
        """Return the linear law that acts while the scheduling variable stays at a value: for poles and margins."""
        import scipy.linalg as sla

        w, laws = self.weights(value), self.laws
        return LinearLaw(
            self.sample_time, laws[0].measures, self.drives, self.follows,
            A=sla.block_diag(*(law.A for law in laws)), By=np.vstack([law.By for law in laws]),
            Br=np.vstack([law.Br for law in laws]), Bu=np.vstack([law.Bu for law in laws]),
            C=np.hstack([wi * law.C for wi, law in zip(w, laws, strict=True)]),
            Dy=np.sum([wi * law.Dy for wi, law in zip(w, laws, strict=True)], axis=0),
            Dr=np.sum([wi * law.Dr for wi, law in zip(w, laws, strict=True)], axis=0),
            lower=laws[0].lower, upper=laws[0].upper, start=np.vstack([law.start for law in laws]),
        )

    def feedback_at(self, value: float) -> FirstOrder:
        """Return `frozen(value)` as a linear system, limits left out."""
        return self.frozen(value).feedback()

    def initial(self) -> tuple[FloatArray, ...]:
        """Return the zero states of all laws."""
        return tuple(law.initial() for law in self.laws)

    def initial_at(self, y: FloatArray) -> tuple[FloatArray, ...]:
        """Return the states of all laws with which a run begins when the measured outputs are y."""
        return tuple(law.initial_at(y[: self._own]) for law in self.laws)

    def step(
        self, state: tuple[FloatArray, ...], t: float, y: FloatArray, r: FloatArray
    ) -> tuple[FloatArray, tuple[FloatArray, ...]]:
        """Return the blended command and the next states."""
        y, r = readings(self, y, r)
        value = float(y[self.measures.index(self.by)])
        return blended_period(self._stack, abs(value) if self.mirrored else value, state, y[: self._own], r)

    @cached_property
    def _stack(self) -> Any:
        """The laws as compiled code takes them."""
        return stacked(self.laws, self.points)


def blended(designs: Sequence[Delayed | Design], points: Sequence[float], by: str, mirrored: bool = False) -> Delayed:
    """Return the blend of delayed laws as one delayed law; see `Blended` for what schedules it.

    Examples
    --------
    >>> laws = [fx.Delayed(fx.LinearLaw(1e-3, ("joint2_angle",), ("joint2_torque",), Dy=[[-k]])) for k in (3.0, 6.0)]
    >>> fx.blended(laws, (0.0, 1.5), "joint2_angle").drives
    ('joint2_torque',)
    """
    laws = [bare(design) for design in designs]
    delays = {law.samples for law in laws}
    require(len(delays) == 1, f"the scheduled laws have different delays: {sorted(delays)} samples")
    return Delayed(Blended(tuple(law.law for law in laws), tuple(points), by, mirrored), delays.pop())
