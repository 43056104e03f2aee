"""Inputs for which an exact run is not exact: those that are no parabolas within a step.

The steps of a linear plant are exact for inputs that are quadratic within each of them. Held inputs are; of any other
the run is taken once more in half steps, and what that changes is the error of the run. It is compared where both are
recorded, so that a signal that the first grid does not see at all shows in the second.

Those of the march are not exact at all. Its plants are linear, and exact steps, which may be longer, tell its errors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..abilities import sample_time_of
from ..errors import ConvergenceError, NotAvailable
from ..motion.signals import PiecewiseConstant
from .defaults import SEES
from .pilot import apart, lengthened

if TYPE_CHECKING:
    from .run import Run, Setup

SAFETY = 2.0
"""On the difference: 4/3 of it is the error where the difference falls with the square of the step."""

BETWEEN = 1.25
"""On differences a millisecond apart: between, they may be larger. Chosen: those of rates were up to 1.14 times."""


def compare_exact(run: Run, report: Callable[[float], None]) -> None:
    """Give a run of the march its errors, by exact steps of a millisecond, or the longest that suit it below."""
    if run.setup.method != "march" or run.compiled is None:
        return  # a law in Python may keep in itself what the first run left
    longer = _longer(run.setup)
    exact = type(run)(replace(longer, method="exact", record_states=False))
    try:
        exact.go(report)
    except (ConvergenceError, NotAvailable):
        return  # no errors are claimed then
    exact.accuracy.exactly(exact.record.y, exact.record.u, exact.tables.bulge)
    y, run.changed = apart(run, exact)
    run.accuracy.measured(exact.accuracy, y if longer.step < 1.5 * run.setup.step else BETWEEN * y)


def _longer(setup: Setup) -> Setup:
    """Return a run in the longest steps up to a millisecond, into which its periods and its steps go."""
    law, times = setup.law, max(1, int(SEES / setup.step))
    if law is None:
        return lengthened(setup, times) if setup.duration >= 2.0 * times * setup.step else setup
    if law.sample_time == 0:  # it acts in every step
        return setup
    within = round(law.sample_time / setup.step)
    return replace(setup, step=setup.step * max(k for k in range(1, times + 1) if within % k == 0))


def compare_halves(run: Run, report: Callable[[float], None]) -> None:
    """Give an exact run its error, by a second run in half steps where an input bends within one."""
    setup = run.setup
    held = all(isinstance(signal, PiecewiseConstant) for signal in setup.inputs.values())
    if setup.method != "exact" or held or sample_time_of(setup.model):
        return
    if run.compiled is None:  # a law in Python may keep in itself what the first run left
        return
    halves = type(run)(replace(setup, step=0.5 * setup.step, record_states=False))
    try:
        halves.go(report)
    except ConvergenceError:
        return  # only the guess from the inputs is left
    at = np.clip(np.searchsorted(halves.t, run.t), 1, halves.t.size - 1)
    at -= (run.t - halves.t[at - 1]) < (halves.t[at] - run.t)
    same = np.abs(halves.t[at] - run.t) <= 1e-6 * setup.step
    found = np.where(same[:, None], halves.record.y[at], run.record.y)
    run.accuracy.compare(SAFETY * np.abs(found - run.record.y).max(axis=0))
