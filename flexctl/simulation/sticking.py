"""Joints that stick: how wrong a run is says one in steps twice as long, which takes half of its time.

Where a joint breaks away errors grow, and no sum of local errors knows by how much. A run in half steps tells it too,
but takes four times as long as this one, and nobody sees what it finds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..model import FloatArray
from .defaults import SEES
from .pilot import apart, in_longer_steps

if TYPE_CHECKING:
    from .run import Run

TWICE = 2
"""Steps of the second run, in those of the run. Chosen: with 4 the error of a joint that breaks away is told worse; of
1498 pairs of other arms than below 92 % were within it, at claims as large (with 2 99 %)."""
ALL = 1.5
"""Part of the change that is taken for the error: between a third of it at second order and all of it at first, where
friction turns round. Fitted with the rest on top: of 1120 pairs of run and output of 105 arms with friction, play and
lossy gears, whose parameters are drawn, 99 % were within it (all of the change alone: 96 %; a run in half steps and
what is claimed of that: 99 %)."""
FEWEST = 64
"""Steps of the grid below which the longer ones say nothing. Chosen."""

HALVINGS = 6
"""So often are steps halved in a run with dry friction, at most: down to 16 us from 1 ms, about the smallest step."""


def told_by_longer(run: Run) -> bool:
    """Take for the errors of a run with joints that stick what longer steps change; return whether these tell it.

    Not where forces jump, which a first step hides from both, nor under a law, whose period is a step.
    """
    setup, accuracy = run.setup, run.accuracy
    plain = setup.law is None and setup.scheme.stages == 1 and not run.jumps()
    if not (plain and run.longest() <= SEES and run.t.size > FEWEST):
        return False
    other = in_longer_steps(run, TWICE)
    if other is None or TWICE * (other.t.size - 1) > 1.1 * (run.t.size - 1):  # its steps are divided by what acts
        return False
    y, u = apart(run, other)
    accuracy.second, run.changed = np.maximum(ALL * y, np.minimum(accuracy.gauge.error, ALL * TWICE * y)), ALL * u
    return True


def refine(run: Run, asked: Any, whole: tuple[FloatArray, FloatArray]) -> None:
    """Run in steps of half the length until that changes no displacement by more than rtol of its range.

    asked, whole: the plan of the run, and where it begins.
    """
    from ..kernels import state  # needs numba

    for level in range(1, HALVINGS + 1):
        before, smallest = run.record.y.copy(), asked.kernel(state.KEPT).deepest
        if level > smallest:
            return
        run.accuracy.again()
        run.accuracy.gauge.number[state.FLOOR] = level
        (run.q, run.v) = whole
        run.plan = asked._replace(gauge=run.accuracy.gauge, rtol=asked.rtol / 4.0**level, level=level)
        run.once(lambda part: None)
        if run.accuracy.refined(before, run.record.y, asked.rtol):
            return
