"""Accuracy of a run: the tolerance asked for, the error estimated, and the messages about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import AccuracyWarning, caution
from ..kernels import state
from ..kernels.estimate import COHERENT
from ..kernels.state import PATIENCE
from ..model import FloatArray, Signal
from .claims import DISPLACEMENTS, MARCHED, MOVES, ROUNDED, ROUNDING, Claim, poor, warn_of
from .defaults import CLAIM, COMPARED, DEFAULT, MEMORY, SUMMED
from .growth import Growth

SAFETY = 3.0
"""By how much the estimate of a sampled loop is raised: feedback hides a part of the errors from it. Fitted;
`tests/accuracy_factors.py` measures what it has to be (of 28 pairs 95 % needed 1.2, all 1.3; more where loops ring)."""
VARIED = 1.5
"""The same where steps vary: long ones are taken where the displacements have little local error, which is where the
rates of an oscillation have the most; the displacements show it a quarter of a period later. Fitted: of 355 pairs of
unseen cases and those of the tests where steps vary all are covered, without it 97 %; `tests/accuracy_factors.py`
measures it again (of 34 pairs 95 % needed 1.2, one 1.8)."""
EXPECTED = 0.5
"""Part of a range found in coarse steps that is taken for granted. Chosen: a first run that rings shows ranges that are
too large, by up to twice where its modes are undamped; what is taken too small costs steps, not accuracy."""
COARSER = 8.0
"""So many of the smallest steps make one where these do not help either: three levels, as `estimate.weigh` has it."""
BAND = 0.05
"""Error of a mode in phase, as a part of a radian, up to which it counts as right. Chosen: 5 % of its amplitude. The
phase of a second-order rule is off by (w h)^2 / 12 in each radian, from which `_band` follows."""
CHANGED = 1.5
"""On the error that a change by half steps leaves, where local errors became smaller by R: 1 / (R - 1) of the change, a
third of it where they fall with the square of the step (R = 4 or more), all of it where with the step alone (2).
That is derived; the half on top of it, for an order that is known from sums alone, is fitted:
`tests/accuracy_factors.py` measures what it has to be."""
PILOTED = 1.5
"""The same where a pilot in steps of at least four times the length is compared, whose error may be of higher order
too. Fitted: of 61 outputs of 20 arms on smooth moves 1.33 covers 59."""
SURER = 4.0 / 3.0
"""By how much what a pilot tells is raised before it is claimed. Fitted: without it 8 of 263 signals of 40 random moves
were further off than claimed, by up to 1.6 times."""
OVER = 10.0 / 3.0
"""So many times the error do local errors add up to that swing on; raised as above, 2.5 times. Fitted: on the same arms
1 to 8 times."""
MOST = 2.0 / 3.0
"""Of a change by steps at least four times as long no more is taken for an error: it falls at first order, or faster,
and 1/3 is then left of it. Derived, times two."""
SURELY = 2.0 / 7.0
"""The same of a change by steps eight times as long, where hardly anything is another in them. Derived, times two."""
INPUTS = 8.0
"""By so much, or by how much longer the steps of a pilot are, errors of inputs fall at most. Chosen: steps of a quarter
make 16 times at second order and 4 at first; of 29 torques the arms with good runs were claimed 3 times too large."""
WILD = 0.5
"""Part of a range that local errors of a pilot add up to, from which on it does not resolve what swings: the sums of
shorter steps are larger than the square of the step tells then, and steps are halved once more. Chosen."""
FALLEN = 4.0
"""So many times smaller becomes an error of second order by steps of half the length. Derived."""
SHARE = 0.1
"""Sums of local errors of a sampled loop are taken for no more than so many times too large (its inverse). Chosen."""
NEAR = 100.0
"""So many times too large may the estimate of a first run be, of which it is known to sum what does not add up, for
steps of half the length to be tried. It costs time alone: what these change is judged, else steps follow the error.
Chosen: the largest such ratio that was seen is some tens, in stiff arms that are led."""

UNEVEN = 2.0
"""So many times the change by half steps is the error of a joint that sticks on an arm that rings beyond what steps can
follow. Chosen: the next changes by half steps were seen to add up to 1.4 and 1.6 of it."""

ACCELERATIONS = "accelerations, and what reads them: where forces jump no step resolves them"


def kinds(outputs: Sequence[Signal]) -> npt.NDArray[np.int64]:
    """Return what is done about the error of each output, as the steppers number it."""
    found = [state.LEFT] * len(outputs)
    for i, signal in enumerate(outputs):
        if signal.unit in DISPLACEMENTS:
            found[i] = state.CONTROLLED
        elif signal.unit.endswith("/s"):
            found[i] = state.ESTIMATED
    return np.array(found, np.int64)


def unknown_by_unit(outputs: Sequence[Signal]) -> npt.NDArray[np.int64]:
    """Return which outputs the unit does not tell apart: torques and currents may be of rates, or of accelerations."""
    units = [one.unit for one in outputs]
    return np.array([i for i, unit in enumerate(units) if unit not in DISPLACEMENTS and "/" not in unit], np.int64)


class Accuracy:
    """The accuracy of a run.

    Parameters
    ----------
    outputs : sequence of Signal
        The sensors of the model that is integrated.
    sampled : bool
        Whether a sampled law is in the loop: what went wrong long ago has been corrected then.
    moved : float
        Part of its range by which an input is not what steps that were given take it for.
    """

    def __init__(self, outputs: Sequence[Signal], sampled: bool, moved: float = 0.0) -> None:
        units = sorted({signal.unit for signal in outputs})
        self.outputs, self.kind = tuple(outputs), kinds(outputs)
        self.group = np.array([units.index(signal.unit) for signal in outputs], np.int64)
        self.memory = MEMORY if sampled else np.inf
        self.gauge = state.gauge(self.kind, self.group, self.memory)
        self.halved = np.zeros(len(outputs))
        self.curved, self.compared = moved, False
        self.rising: Growth | None = None  # of an unstable loop
        self.rings = False  # whether a loop rings for so long, or lets the arm go so far, that it corrects nothing
        self.hides = np.zeros(len(outputs))  # part of the range that jumps of a law may hide from steps that are taken
        self.piloted = False  # whether a pilot was compared with
        self.follows, self.jumps = True, False  # whether steps followed the error; whether forces jump
        self.looked, self.rounded = False, False  # whether that is a second look, of a law that reads rounded values
        self.second: FloatArray | None = None  # what a second run in other steps says of the error, where there is one
        self.share: FloatArray | float = 1.0  # of sums of local errors that is there, as a run in longer steps showed

    def exactly(self, y: FloatArray, u: FloatArray, bulge: FloatArray) -> None:
        """Take the record of an exact run: it is exact for inputs that are quadratic in a step.

        The bulge b of a sine of amplitude A is b = A (w h)^2 / 8 and what is left of it (w h)^4 / 384 = (b / A)^2 / 6.
        """
        self.gauge.low[:], self.gauge.high[:] = y.min(axis=0), y.max(axis=0)
        part = np.abs(bulge).max(axis=0, initial=0.0) / np.maximum(np.abs(u).max(axis=0, initial=0.0), 1e-300)
        self.curved = 0.0 if self.compared else float(np.square(part).max(initial=0.0))

    def estimates(self, rows: npt.NDArray[np.int64]) -> None:
        """Estimate the errors of these outputs too, as those of rates are."""
        self.kind[rows] = state.ESTIMATED

    def why(self, outputs: Sequence[Signal], method: str) -> dict[str, str]:
        """Return why outputs have no estimate that have none."""
        if method != "exact" and not self._estimated and not self.compared:
            return dict.fromkeys((one.name for one in outputs), f"the method {method} estimates no errors")
        return dict.fromkeys((one.name for one in outputs), ACCELERATIONS)

    def compare(self, found: FloatArray) -> None:
        """Take the errors that a second run found of an exact one, which need not be guessed from its inputs then."""
        self.halved, self.compared = found, True

    def measured(self, exact: Accuracy, off: FloatArray) -> None:
        """Take by how much a run is off an exact one for its errors."""
        self.gauge, self.curved, self.looked = exact.gauge, exact.curved, True
        self.compare(off)

    @property
    def ranges(self) -> FloatArray:
        """Ranges of the outputs in the run."""
        found: FloatArray = np.maximum(self.gauge.high - self.gauge.low, 0.0)
        return found

    @property
    def controlled(self) -> npt.NDArray[np.intp]:
        """The outputs whose error is controlled."""
        return np.flatnonzero(self.kind == state.CONTROLLED)

    def again(self) -> None:
        """Begin anew, with the ranges found so far as what the error is compared with."""
        expected = np.where(np.isfinite(self.ranges), EXPECTED * self.ranges, 0.0)
        self.gauge = state.gauge(self.kind, self.group, self.memory)
        self.gauge.least[:] = expected
        self.second, self.piloted = None, False

    @property
    def doubtful(self) -> bool:
        """Whether a warning would be due of steps that were given."""
        return self._estimated and not self.within(DEFAULT)

    def near(self, rtol: float) -> bool:
        """Whether the estimate is so near to what is asked that steps of half the length, or a quarter, may do."""
        return self.within(NEAR * rtol)

    def within(self, rtol: float) -> bool:
        """Whether the estimate of every displacement is below `rtol` of its range, or of a range of its unit."""
        own = self.kind == state.CONTROLLED
        floor = MOVES * self.gauge.widest[self.group] + ROUNDING
        return bool(np.all(self.gauge.error[own] <= rtol * np.maximum(self.ranges, floor)[own]))

    @property
    def estimate(self) -> FloatArray:
        """Estimated largest error of each output; of what is not resolved no more than its range."""
        if self.second is not None:
            return self.second
        own = self.gauge.error
        sums = np.maximum(own, COHERENT * self.gauge.whole) if self.rings else self.share * own
        found: FloatArray = np.maximum(sums, self.halved)
        if self.rising is not None:  # errors grow as the motion does, and feedback corrects none
            found = self.rising.factor * found
        return np.minimum(found, self.ranges) if self.rising is not None or self._lost().any() else found

    def error(self, outputs: Sequence[Signal], method: str, rtol: float) -> dict[str, float]:
        """Return the estimated largest error of each output; nan where none is estimated."""
        if method == "exact" or self.compared:
            known = np.maximum(self.curved * self.ranges, self.halved)
            return {signal.name: float(x) for signal, x in zip(outputs, known, strict=False)}
        raised = self.estimate * self._safety
        claimed = np.maximum(raised, np.maximum(self.hides, max(self.least * rtol, self.curved)) * self.ranges)
        known = np.where(self.kind == state.LEFT, np.nan, claimed)
        if not self._estimated:
            known[:] = np.nan
        return {signal.name: float(x) for signal, x in zip(outputs, known, strict=False)}

    @property
    def least(self) -> float:
        """The part of rtol below which no error is claimed: so well are errors known."""
        if self.looked:
            return COMPARED
        return CLAIM if self.second is None and (self.jumps or np.isfinite(self.memory)) else SUMMED

    @property
    def _safety(self) -> float:
        """By how much the estimate is raised: sums of local errors hide some, a run in half steps does not."""
        if self.second is not None:
            return SURER if self.piloted else 1.0
        looped = self.rising is not None or (np.isfinite(self.memory) and not self.rings)
        return SAFETY if looped else VARIED if self._varied else 1.0

    @property
    def _estimated(self) -> bool:
        """Whether the method has an estimate."""
        return bool(np.isfinite(self.gauge.number[state.SHORTEST]))

    @property
    def _varied(self) -> bool:
        """Whether steps of several lengths were taken, as the error asked for them."""
        return self.follows and bool(self.gauge.number[state.SHORTEST] < 0.75 * self.gauge.number[state.LONGEST])

    def _moves(self) -> npt.NDArray[np.bool_]:
        """Return whose range is more than rounding."""
        return np.asarray(self.ranges > MOVES * self.gauge.widest[self.group] + ROUNDING)

    @property
    def loses(self) -> bool:
        """Whether the smallest steps could not follow an output."""
        return bool(self._lost().any())

    def _lost(self) -> npt.NDArray[np.bool_]:
        """Return what the smallest steps could not follow."""
        return np.asarray(self.gauge.failed > PATIENCE) & self._moves()

    def halve(self, whole: FloatArray, half: FloatArray) -> None:
        """Take the difference to a run in half steps for the estimate: 4/3 of it is the error, were the steps short.

        Local errors that add up to more raise it to twice that at most: they need not have one sign, and in stiff arms
        they do not last.
        """
        found = 2.0 * np.abs(whole - half).max(axis=0)
        self.second = np.maximum(found, np.minimum(self.gauge.error, 2.0 * found))

    def converged(self, before: FloatArray, now: FloatArray, sums: FloatArray, rtol: float) -> bool:
        """Take a run in steps of half the length, and what that changed, for the estimate; return whether it is good.

        `sums` are those of the local errors before: by how much they fell says at which order the run converges.
        """
        self.second = self.changed(before, now, sums)
        return self.settled(rtol)

    def changed(self, before: FloatArray, now: FloatArray, sums: FloatArray) -> FloatArray:
        """Return the errors that a change by steps of half the length, and by how much sums fell, tell."""
        fell = np.clip(sums / np.maximum(self.gauge.error, 1e-300), 2.0, 4.0)
        found: FloatArray = CHANGED / (fell - 1.0) * np.abs(now - before).max(axis=0)
        return found

    def settled(self, rtol: float) -> bool:
        """Whether a second run says that every displacement is within rtol of its range."""
        return self.good(self.estimate, rtol)

    def good(self, errors: FloatArray, rtol: float) -> bool:
        """Whether these errors of displacements are within `rtol` of the ranges."""
        own = (self.kind == state.CONTROLLED) & self._moves()
        return bool(np.all(errors[own] <= rtol * self.ranges[own]))

    def beside(
        self, pilot: Accuracy, outputs: FloatArray, inputs: FloatArray, longer: int, *, sure: bool = False
    ) -> tuple[FloatArray, FloatArray]:
        """Return the errors of outputs and inputs that a pilot tells, from which the run is so far apart.

        Errors fall by R as local errors do, and 1 / (R - 1) of the change is left. Where a mode has swung out of time
        with the pilot, the change is no larger than the mode is, and R is not known: so the sum of local errors counts,
        as far as the change lets it. Of inputs no local errors are known: they fall as the slowest output, and by no
        more than `INPUTS`.

        Parameters
        ----------
        pilot : Accuracy
            That of the pilot.
        outputs, inputs : ndarray
            The largest differences.
        longer : int
            By how much the steps of the pilot are longer.
        sure : bool
            Whether nothing swings out of time that can be seen: no more is left then than at first order, times two,
            and sums of local errors need not be known to a factor.
        """
        self.piloted = True
        fell = np.clip(pilot.gauge.error / np.maximum(self.gauge.error, 1e-300), 1.1, longer**2)
        over, most = (1.0, SURELY) if sure else (OVER, MOST)
        left = np.minimum(self.gauge.error / over, most * outputs)
        own = (self.kind == state.CONTROLLED) & (self.gauge.error > CLAIM * DEFAULT * self.ranges) & self._moves()
        slowest = float(fell[own].min(initial=max(INPUTS, longer)))
        return np.maximum(PILOTED / (fell - 1.0) * outputs, left), SURER * PILOTED / (slowest - 1.0) * inputs

    def at_least(self, found: FloatArray, more: FloatArray, rtol: float) -> FloatArray:
        """Return errors that one estimate finds; where another finds more, as much as the tolerance lets be."""
        return np.maximum(found, np.minimum(more, 0.99 * rtol * self.ranges))  # what is within it is not warned of

    def tiny(self, errors: FloatArray, rtol: float) -> bool:
        """Whether these errors, also of what is not controlled, are as small as is claimed of other runs at least."""
        own = (self.kind != state.LEFT) & self._moves()
        return bool(np.all(errors[own] <= CLAIM * rtol * self.ranges[own]))

    def expect(self, pilot: Accuracy) -> None:
        """Take the ranges of a pilot for those that are expected."""
        self.gauge.low[:], self.gauge.high[:] = pilot.gauge.low, pilot.gauge.high
        self.gauge.widest[:] = pilot.gauge.widest

    def halvings(self, rtol: float, longer: int) -> int:
        """Return how often steps, of which this run has `longer` in one, are to be halved as its local errors say."""
        own = (self.kind == state.CONTROLLED) & self._moves()
        part = float((self.gauge.error[own] / self.ranges[own]).max(initial=0.0))
        level = int(np.ceil(max(0.0, np.log(max(part, 1e-300) / (longer**2 * OVER * rtol)) / np.log(4.0))))
        return level + int(part > WILD)

    def temper(self, before: FloatArray, now: FloatArray, sums: FloatArray) -> None:
        """Take sums of local errors for as much smaller as a run in longer steps shows, which had these sums.

        Steps are divided in places, where local errors are largest: sums fall by more there than errors do, which are
        of all places. So no error is taken to have become smaller than by `FALLEN`. Rates do not say where steps are
        divided: what is left of their errors may be as large as before.
        """
        own = self.gauge.error
        less = np.minimum(sums - own, (FALLEN - 1.0) * own)
        told = (sums > 2.0 * own) & (self.kind == state.CONTROLLED)  # else both runs are off by as much
        found = np.abs(now - before).max(axis=0) / np.where(told, less, 1.0)
        self.share = np.where(told, np.clip(found, SHARE, 1.0), 1.0)

    def refined(self, before: FloatArray, now: FloatArray, rtol: float) -> bool:
        """Take the change by steps of half the length for the error; return whether it is within rtol of the ranges.

        What the smallest steps could not follow, and is warned of, is left out: others would not follow it either. What
        it does to the rest does not fall regularly, see `UNEVEN`.
        """
        lost = self._lost()
        self.halved = np.abs(now - before).max(axis=0) * (UNEVEN if lost.any() else 1.0)
        return self.good(np.where(lost, 0.0, self.halved), rtol)

    def poor(self, found: Sequence[Claim], rtol: float) -> bool:
        """Whether any claim would be warned of."""
        return bool(poor(found, rtol or DEFAULT, self._safety if self._estimated else 1.0))

    def told(self, found: Sequence[Claim]) -> dict[str, Any]:
        """Return what the provenance of a run says of its accuracy: its steps, and the worst of its claims."""
        known: dict[str, Any] = {}
        if self._estimated:
            shortest, longest = (float(self.gauge.number[i]) for i in (state.SHORTEST, state.LONGEST))
            known = {"shortest_step_s": shortest, "longest_step_s": longest}
        if found and (self._estimated or self.compared):
            known |= {"worst_output": found[0].signal.name, "worst_error": found[0].error}
        return known

    def warn(self, found: Sequence[Claim], rtol: float, length: float) -> None:
        """Warn of what the run claims above `rtol` of its range (0: steps were given), and why where it is known."""
        longest, lost = 0.0, []
        if self._estimated:
            longest = float(self.gauge.number[state.LONGEST])
            lost = [self.outputs[i].name for i in np.flatnonzero(self._lost())]
            lost += [one.signal.name for one in found if lost and not one.resolved and one.signal.name not in lost]
        if lost:
            are = "are" if lost[1:] else "is"
            caution(
                f"a force jumps on an arm whose high modes are not damped: {', '.join(lost)} {are} right below "
                f"{self._band(length):.3g} Hz and not resolved above; add damping or hub inertia, or round the jump",
                AccuracyWarning,
            )
        if self.rising is not None and self._estimated:
            told = "the loop is unstable there, and errors grow with the motion; the growth itself is real"
            text = f"{self.rising}: {told}"
            caution(text, AccuracyWarning)
        raised = self._safety if self._estimated else 1.0
        remedy = ROUNDED if self.rounded else MARCHED if self.looked and not self._estimated else ""
        warn_of(found, rtol, self._bent(), longest, lost, raised, remedy)

    def _bent(self) -> float:
        """Return the part of the range that may be wrong because inputs are no parabolas within a step."""
        if self._estimated or self.looked:
            return self.curved
        parts = np.where(self.kind == state.CONTROLLED, self.halved, 0.0) / np.maximum(self.ranges, 1e-300)
        return max(self.curved, float(parts.max(initial=0.0)))

    def _band(self, length: float) -> float:
        """Return the frequency [Hz] up to which modes keep their phase in the steps that are taken then."""
        h = COARSER * float(self.gauge.number[state.SHORTEST])
        return float((12.0 * BAND / (h * h * length)) ** (1.0 / 3.0) / (2.0 * np.pi))
