"""Entry points: the loop of a formulation without and with a continuous law."""

from __future__ import annotations

from typing import Any

from numba import float64, types

from .dirk import dirk
from .engine import Loops
from .feedback import FEEDBACK
from .jit import entry
from .operations import Operations
from .state import GAUGE, MOTION, SCHEME, SDIRK
from .stepper import stepper
from .tables import ACTING, COURSE, ENTRY


def loops(ops: Operations, form: Any, *, closed: bool = False) -> Loops:
    """Return the compiled loops of a formulation."""
    found = types.UniTuple(float64, 4)
    made = Loops({
        feeds: entry(
            found(form, MOTION, FEEDBACK if feeds else types.none, ACTING, COURSE, SCHEME, GAUGE), **ENTRY
        )(stepper(ops, closed=closed, feeds=feeds))
        for feeds in (False, True)
    })
    made.parts = ops.parts
    if not closed:
        made[SDIRK] = entry(found(form, MOTION, types.none, ACTING, COURSE, SCHEME, GAUGE), **ENTRY)(dirk(ops))
    return made
