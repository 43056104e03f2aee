"""Inputs for which an exact run is not exact: those that are no parabolas within a step.

The steps of a linear plant are exact for inputs that are quadratic within each of them. Held inputs are; of any other
the run is taken once more in half steps, and what that changes is the error of the run. It is compared where both are
recorded, so that a signal that the first grid does not see at all shows in the second.

Those of the march are not exact at all. Its plants are linear, and exact steps of the same length tell its errors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..abilities import sample_time_of
from ..errors import ConvergenceError, NotAvailable
from ..motion.signals import PiecewiseConstant

if TYPE_CHECKING:
    from .run import Run

SAFETY = 2.0
"""On the difference: 4/3 of it is the error where the difference falls with the square of the step."""


def compare_exact(run: Run, report: Callable[[float], None]) -> None:
    """Give a run of the march its errors, by exact steps in the place of its own."""
    if run.setup.method != "march" or run.compiled is None:
        return  # a law in Python may keep in itself what the first run left
    exact = type(run)(replace(run.setup, method="exact", record_states=False))
    try:
        exact.go(report)
    except (ConvergenceError, NotAvailable):
        return  # no errors are claimed then
    exact.accuracy.exactly(exact.record.y, exact.record.u, exact.tables.bulge)
    run.accuracy.measured(exact.accuracy, np.abs(exact.record.y - run.record.y).max(axis=0))
    run.changed = np.abs(exact.record.u - run.record.u).max(axis=0)


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
