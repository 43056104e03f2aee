"""States in which a run drove what its model assumes furthest, in place of all states.

To record all coordinates of a fine mesh and to look at them afterwards takes as long as its steps. So a formulation
that says `furthest` looks at each recorded state where it lies, with a number for each of its assumptions that grows
with how far this one is driven, and keeps the state with the largest. `assumptions` of the model then says how far that
is: it is the same as if all states had been recorded.

Angles are compared by a number that grows with them and takes one division; no angle is made but of what is kept.
"""

from __future__ import annotations

import math
from typing import Any

from .jit import kernel
from .tables import INSIDE, PLAIN

LOOSE: dict[str, Any] = {**PLAIN, "fastmath": True}
"""Of loops that look for the largest of a row: they vectorise where numbers are taken to be finite. A state that is not
is refused by the loop anyway."""
VALUE, WHERE = 0, 1
"""Rows of `Record.furthest`: the largest number so far, and its grid point."""


@kernel(**INSIDE)
def surpasses(record, i, value, k):
    """Whether an assumption is driven further than before, which is noted then."""
    further = value > record.furthest[VALUE, i]
    if further:
        record.furthest[VALUE, i], record.furthest[WHERE, i] = value, k
    return further


@kernel(**INSIDE)
def grown(across, along):
    """Return a number from 0 to 2 that grows with the angle whose sine and cosine are as these, 0 to pi."""
    return (across + (abs(along) - along)) / (abs(along) + across + 1e-300)


@kernel(**INSIDE)
def angle(number):
    """Return the angle [rad] of such a number."""
    return math.atan2(min(number, 2.0 - number), 1.0 - number)
