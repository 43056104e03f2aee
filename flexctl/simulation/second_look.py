"""A second look at runs of sampled loops, before they are said to be worse than they are.

Sums of local errors say far more than there is where a law jumps in every period: what it does to modes that are fast
beside a step has all signs, and the feedback corrects the rest. Taking the run once more, in half of its steps at an
eighth of its tolerance, takes a few times as long as the run and tells what is true; so it is done where a claim would
be warned of, and only there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ConvergenceError
from ..laws.controller import Quantised, layers
from .defaults import LEAST_RTOL

if TYPE_CHECKING:
    from .run import Run

FINER = 1.0 / 8.0
"""Of the tolerance. Chosen, as that of the second runs of certificates."""
FIRST_ORDER = 2.0
"""On the change by half steps, which is half of the error at the first order, where commands jump. Derived."""


def second_look(run: Run) -> bool:
    """Take what a second run changes for the errors of a run, if one serves; return whether it did.

    Not where joints stick, modes are not resolved or the motion grows: errors are no small changes there.
    """
    from ..kernels import state  # needs numba

    setup, accuracy = run.setup, run.accuracy
    serves = bool(setup.rtol) and run.compiled is not None and run.plan.sampled and not run.sticks
    if not serves or accuracy.second is not None or accuracy.rising is not None or accuracy.loses:
        return False
    other = type(run)(replace(setup, record_states=False))
    gauge = other.accuracy.gauge
    gauge.least[:], gauge.number[state.FLOOR] = 0.5 * accuracy.ranges, 1.0
    other.plan = other.plan._replace(rtol=max(FINER * setup.rtol, LEAST_RTOL), level=1)
    try:
        other.once(lambda part: None)
    except ConvergenceError:
        return False
    if other.t.size != run.t.size or not np.isfinite(other.record.y).all():
        return False
    accuracy.second = FIRST_ORDER * np.abs(other.record.y - run.record.y).max(axis=0)
    accuracy.rounded = any(isinstance(layer, Quantised) for layer in layers(setup.law))
    run.changed, accuracy.looked = FIRST_ORDER * np.abs(other.record.u - run.record.u).max(axis=0), True
    return True
