"""How accurate a run is: what is asked for, what was estimated, and what is said of it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import AccuracyWarning
from ..kernels import state
from ..kernels.state import PATIENCE
from ..kernels.tables import Tables
from ..model import FloatArray, Signal

DEFAULT = 1e-2
"""Part of the range of an output that its error may be."""
MEMORY = 0.1
"""Time [s] in which the feedback of a sampled law corrects an error."""
SAFETY = 3.0
"""By how much the estimate of a sampled loop is raised: feedback hides a part of the errors from it."""
CLAIM = 0.1
"""No error below this part of rtol is claimed."""
EXPECTED = 0.5
"""Part of a range found in coarse steps that is taken for granted."""
BAND = 0.05
"""Error of a mode in phase, as a part of a radian, up to which it counts as right."""
LEVEL = 4

CONTROLLED = ("m", "rad", "1")
"""Units of outputs whose local error is controlled; rates of them are estimated, accelerations are not."""


def kinds(outputs: Sequence[Signal]) -> npt.NDArray[np.int64]:
    """Return what is done about the error of each output, as the steppers number it."""
    found = [state.LEFT] * len(outputs)
    for i, signal in enumerate(outputs):
        if signal.unit in CONTROLLED:
            found[i] = state.CONTROLLED
        elif signal.unit.endswith("/s"):
            found[i] = state.ESTIMATED
    return np.array(found, np.int64)


class Accuracy:
    """What a run knows of its error.

    Parameters
    ----------
    outputs : sequence of Signal
        The sensors of the model that is integrated.
    sampled : bool
        Whether a sampled law is in the loop: what went wrong long ago has been corrected then.
    """

    def __init__(self, outputs: Sequence[Signal], sampled: bool) -> None:
        units = sorted({signal.unit for signal in outputs})
        self.outputs, self.kind = tuple(outputs), kinds(outputs)
        self.group = np.array([units.index(signal.unit) for signal in outputs], np.int64)
        self.memory = MEMORY if sampled else np.inf
        self.gauge = state.gauge(self.kind, self.group, self.memory)
        self.halved = np.zeros(len(outputs))

    @property
    def ranges(self) -> FloatArray:
        """Ranges of the outputs in the run."""
        return np.maximum(self.gauge.high - self.gauge.low, 0.0)

    def again(self) -> None:
        """Begin anew, with the ranges found so far as what the error is compared with."""
        expected = np.where(np.isfinite(self.ranges), EXPECTED * self.ranges, 0.0)
        self.gauge = state.gauge(self.kind, self.group, self.memory)
        self.gauge.least[:] = expected

    def within(self, rtol: float) -> bool:
        """Whether the estimate of every displacement is below `rtol` of its range, or of a range of its unit."""
        own = self.kind == state.CONTROLLED
        floor = 1e-5 * self.gauge.widest[self.group] + 1e-14
        return bool(np.all(self.gauge.error[own] <= rtol * np.maximum(self.ranges, floor)[own]))

    def error(self, outputs: Sequence[Signal], method: str, rtol: float) -> dict[str, float]:
        """Return the estimated largest error of each output; nan where none is estimated."""
        if method == "exact":
            return {signal.name: 0.0 for signal in outputs}
        raised = self.gauge.error * (SAFETY if np.isfinite(self.memory) else 1.0)
        claimed = np.maximum(raised, CLAIM * rtol * self.ranges)
        known = np.where(self.kind == state.LEFT, np.nan, np.maximum(claimed, self.halved))
        if not np.isfinite(self.gauge.number[state.SHORTEST]):  # a method without an estimate
            known[:] = np.nan
        return {signal.name: float(x) for signal, x in zip(outputs, known, strict=False)}

    def halve(self, whole: FloatArray, half: FloatArray) -> None:
        """Take the difference to a run in half steps into the estimate: 4/3 of it, were the steps short."""
        self.halved = 2.0 * np.abs(whole - half).max(axis=0)

    def told(self, error: dict[str, float]) -> dict[str, Any]:
        """Return what the provenance of a run says of its accuracy."""
        known, ranges = self.gauge.number, self.ranges
        if not np.isfinite(known[state.SHORTEST]):
            return {}
        own = np.flatnonzero((self.kind == state.CONTROLLED) & (ranges > 0.0))
        found = {"shortest_step_s": float(known[state.SHORTEST]), "longest_step_s": float(known[state.LONGEST])}
        if own.size:
            worst = int(own[np.argmax(self.gauge.error[own] / ranges[own])])
            found |= {"worst_output": self.outputs[worst].name, "worst_error": float(self.gauge.error[worst])}
        return found

    def warn(self, rtol: float, tables: Tables) -> None:
        """Warn where the estimate of an output is above `rtol` of its range."""
        gauge, ranges, rtol = self.gauge, self.ranges, rtol or DEFAULT
        if not np.isfinite(gauge.number[state.SHORTEST]):
            return
        floor = 1e-5 * gauge.widest[self.group] + 1e-14
        lost = (gauge.failed > PATIENCE) & (ranges > floor)
        poor = (self.kind == state.CONTROLLED) & (ranges > floor) & (gauge.error > rtol * ranges) & ~lost
        said = [self._say(i) for i in np.flatnonzero(poor)]
        if said:
            remedy = f"step < {gauge.number[state.LONGEST]:.3g} s, or leave step out: it then follows rtol"
            warnings.warn(f"not within {rtol:.3g} of the range: {', '.join(said)}; {remedy}", AccuracyWarning, LEVEL)
        if lost.any():
            h, length = float(gauge.number[state.LONGEST]), float(tables.t[-1])
            band = (12.0 * BAND / (h * h * length)) ** (1.0 / 3.0) / (2.0 * np.pi)
            names = ", ".join(self.outputs[i].name for i in np.flatnonzero(lost))
            warnings.warn(
                f"a force jumps on an arm whose high modes are not damped: {names} are right below {band:.3g} Hz and "
                "not resolved above; add damping or hub inertia, or round the jump",
                AccuracyWarning, LEVEL,
            )

    def _say(self, i: int) -> str:
        part = self.gauge.error[i] / self.ranges[i]
        return f"{self.outputs[i].name} (estimated error {self.gauge.error[i]:.2g} {self.outputs[i].unit}, {part:.1%})"
