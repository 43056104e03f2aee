"""Entry points: the loop of a formulation without and with a continuous law, and that of SDIRK."""

from __future__ import annotations

from collections.abc import Mapping
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


def loops(
    ops: Operations, form: Any, *, closed: bool = False, stages: Operations | None = None, home: str | None = None,
    options: Mapping[str, Any] = ENTRY,
) -> Loops:
    """Return the compiled loops of a formulation.

    Parameters
    ----------
    ops : Operations
        What it brings.
    form : numba type
        Of its own group of arrays.
    closed : bool
        With closures.
    stages : Operations, optional
        What it brings to steps of SDIRK4; without it `ops`, and none of a closed arm.
    home : str, optional
        Module whose import makes the loops, where another process is to compile them (`ahead`).
    options : mapping
        Of `numba.njit`.
    """
    def made(loop: Any, law: Any) -> Any:
        found = types.UniTuple(float64, 4)(form, MOTION, law, ACTING, COURSE, SCHEME, GAUGE)
        return entry(found, home, **options)(loop)

    found = Loops({
        feeds: made(stepper(ops, closed=closed, feeds=feeds), FEEDBACK if feeds else types.none)
        for feeds in (False, True)
    })
    found.parts = ops.parts
    if stages is not None or not closed:
        found[SDIRK] = made(dirk(stages or ops, closed=closed), types.none)
    return found
