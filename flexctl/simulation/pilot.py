"""Smooth runs: a pilot in long steps says in which steps a run is good enough, and how wrong it is in these.

Where nothing but the commanded accelerations jumps, the error of a run falls with the square of its step. A pilot in
steps four times as long costs a quarter of the run. The sums of its local errors say how short steps have to be, and
what a run in these changes says how wrong it is, see `Accuracy.beside`. Otherwise a run would have to be taken in steps
of the grid and in half of them, three times the work of steps that were good enough.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..abilities import has_kinks
from ..errors import ConvergenceError
from ..kernels.schemes import SCHEMES
from ..model import FloatArray
from .defaults import CLAIM, SEES

if TYPE_CHECKING:
    from .run import Run, Setup

LONGEST, MANY = 8, 4000
"""Steps of a pilot that comes first, in those of the grid, and the points from which on a run has it. Chosen: the
eighth of a run that it saves is then more than it takes to prepare another pilot."""
SHORT = 16
"""Such a part of a run is looked at before that pilot is relied on. Chosen: moves mostly begin with the run."""
LONGER = 4
"""Steps of the pilot, in those of the grid. Chosen: with 2 all runs cost a quarter more; with 8 the pilot misses what
swings, and 3 of 20 arms were taken in shorter steps for it."""
HALVED = 2
"""So often are the steps of a run without jumps of forces halved before they follow local errors. Chosen: both
together cost six times the first run, a third time would cost eight more, and following them about as much."""
SMALL = 2
"""So many times more, for a tolerance below that of SDIRK4, of which stages lose their order where joints are led."""
FEWEST = 64
"""Steps of the grid below which a run has no pilot. Chosen: its sums say nothing of a dozen steps."""


def serves(run: Run) -> bool:
    """Whether a pilot can say how wrong a run is: no force jumps, no joint has play or friction, there is no law."""
    setup = run.setup
    plain = setup.law is None and setup.scheme.stages == 1 and not (run.sticks or has_kinks(setup.model))
    return plain and run.longest() <= SEES and run.t.size > FEWEST and not run.forces_jump()


def taken(
    run: Run, asked: Any, whole: tuple[FloatArray, FloatArray], report: Callable[[float], None], most: int = HALVED
) -> bool:
    """Take a run in the longest steps, of those of the grid, halved up to `most` times, that are good enough.

    Returns whether some are. What the run has recorded before, if anything, is of steps of the grid.
    """
    accuracy, rtol, done = run.accuracy, asked.rtol, bool(np.isfinite(run.accuracy.gauge.low).any())
    begun, last = 0.0, None
    pilot = in_longer_steps(run, LONGEST) if run.t.size > MANY else None
    if pilot is not None and not pilot.accuracy.halvings(rtol, LONGEST) and _alike(run, pilot, rtol):
        if not done:
            accuracy.expect(pilot.accuracy)
            if not in_parts(run, asked, whole, 0, partial(_part, report, begun)):
                return False
            done, begun = True, 0.5
        if surely(run, pilot, rtol):
            return True
    pilot = in_longer_steps(run, LONGER)
    if pilot is None:
        return False
    if not done:
        accuracy.expect(pilot.accuracy)
    level = 0 if done else pilot.accuracy.halvings(rtol, LONGER)
    while level <= most:
        if not done:
            shown = partial(_part, report, begun)
            if not in_parts(run, asked, whole, level, shown):
                return False
            begun += 0.5 * (1.0 - begun)
        done = False
        y, u = apart(run, pilot)
        found, changed = accuracy.beside(pilot.accuracy, y, u, LONGER * 2**level)
        accuracy.second = found
        if not accuracy.settled(rtol) and last is not None:
            accuracy.second = accuracy.at_least(accuracy.changed(last[0], run.record.y, last[2]), found, rtol)
            changed = np.abs(run.record.u - last[1]).max(axis=0)
        elif not accuracy.settled(rtol) and not run.jumps():  # then sums miss nothing
            accuracy.second = accuracy.at_least(accuracy.gauge.error, found, rtol)
        if accuracy.settled(rtol):
            run.changed = changed
            return True
        last = run.record.y.copy(), run.record.u.copy(), accuracy.gauge.error.copy()
        level += 1
    return False


def surely(run: Run, pilot: Run, rtol: float) -> bool:
    """Take for the error what a pilot in steps eight times as long tells, if that is tiny; returns whether it is.

    It misses what swings, and is believed only where hardly anything is another in it.
    """
    y, u = apart(run, pilot)
    found, changed = run.accuracy.beside(pilot.accuracy, y, u, LONGEST, sure=True)
    if not run.accuracy.tiny(found, rtol):
        return False
    run.accuracy.second, run.changed = found, changed
    return True


def _alike(run: Run, pilot: Run, rtol: float) -> bool:
    """Whether the first part of a run says that such a pilot may be believed: a pilot as usual changes little of it."""
    setup = lengthened(run.setup, LONGER)
    other = _lengthened(run, replace(setup, duration=setup.step * (run.t.size // (LONGER * SHORT))))
    if other is None:
        return False
    from .accuracy import SURELY  # numba

    y, _ = apart(other, pilot)
    return pilot.accuracy.good(SURELY * y, CLAIM * rtol)


def smooth(setup: Setup, report: Callable[[float], None]) -> Run | None:
    """Return the run of joints that are led smoothly in steps of generalised alpha, if these are as good as is asked.

    The stages of SDIRK4 lose their order where joints are led: it takes several times the work at a tolerance of 1e-3.
    """
    from .accuracy import SURER  # numba
    from .run import Run

    run = Run(replace(setup, method="generalised_alpha", scheme=SCHEMES["generalised_alpha"]()))
    if not (run.compiled is not None and serves(run)):
        return None
    asked = run.plan._replace(rtol=setup.rtol / SURER)  # what is claimed is below the tolerance, else SDIRK4 takes over
    return run if taken(run, asked, (run.q, run.v), report, HALVED + SMALL) else None


def in_parts(
    run: Run, asked: Any, whole: tuple[FloatArray, FloatArray], level: int, report: Callable[[float], None]
) -> bool:
    """Take a run again in steps of the grid that are halved so many times; returns whether it came to its end."""
    from ..kernels import state

    run.accuracy.again()
    run.accuracy.gauge.number[state.FLOOR] = level
    run.q, run.v = whole
    run.plan = asked._replace(gauge=run.accuracy.gauge, rtol=0.0, level=level)
    try:
        run.once(report)
    except ConvergenceError:
        return False
    return True


def in_longer_steps(run: Run, times: int) -> Run | None:
    """Return the run in steps so many times as long, as far as these go into it; None where it fails.

    Its steps are divided where those of the run are: what a signal does besides makes the pilot worse, not the run.
    """
    return _lengthened(run, lengthened(run.setup, times))


def _lengthened(run: Run, setup: Setup) -> Run | None:
    if setup.duration < 2.0 * setup.step:
        return None
    other = type(run)(replace(setup, record_states=False), [t for t in run.points if t < setup.duration])
    other.plan, other.watched = other.plan._replace(rtol=0.0), False  # nobody sees how far it is
    try:
        other.once(lambda part: None)
    except ConvergenceError:
        return None
    return other if np.isfinite(other.record.y).all() else None


def lengthened(setup: Setup, times: int) -> Setup:
    """Return a run in steps so many times as long, as far as these go into it: all its times are those of the other."""
    count = max(1, int(np.ceil(setup.duration / setup.step - 1e-9)))
    step = times * setup.duration / count
    return replace(setup, step=step, duration=max(1, count // times) * step)


def apart(run: Run, other: Run) -> tuple[FloatArray, FloatArray]:
    """Return by how much outputs and inputs of two runs differ at most, at the times that both have."""
    found = np.clip(np.searchsorted(run.t, other.t - 1e-9), 0, run.t.size - 1)  # the other has fewer times
    both = np.abs(run.t[found] - other.t) < 1e-9
    pairs = ((getattr(run.record, key)[found[both]], getattr(other.record, key)[both]) for key in ("y", "u"))
    y, u = (np.abs(one - another).max(axis=0) for one, another in pairs)
    return y, u


def _part(report: Callable[[float], None], begun: float, part: float) -> None:
    """Report a part of the half of what is left of a run."""
    report(begun + 0.5 * (1.0 - begun) * part)
