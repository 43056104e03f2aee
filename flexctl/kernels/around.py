"""The loops of arms with drives around their joints (`driven`): what is made here serves every formulation."""

from __future__ import annotations

from numba import config

from .driven import AROUND, driven, said
from .engine import Loops
from .feedback import feeding
from .operations import Operations
from .parts import ANY, parts
from .shared import SHARED
from .state import SDIRK
from .stepper import stepper

PARTS = {stiff: parts(driven(ANY, stiff), AROUND, __name__) for stiff in (True, False)}
"""By whether the formulation has no factors to ask, but makes its tangent anew."""


def loops_around(ops: Operations) -> Loops:
    """Return the loops of a formulation with drives around its joints."""
    stiff = ops.divide is None
    found = Loops(said(ops, stiff).traits(closed=False))
    found.text = lambda: stepper(driven(ops, stiff))
    if config.DISABLE_JIT:
        from .dirk import COMPILED, dirk

        own = driven(ops, stiff)
        loop = stepper(own, feed=feeding(own, COMPILED))
        found |= {False: loop, True: loop, SDIRK: dirk(own, COMPILED)}
        return found
    found.form, found.parts = AROUND, dict.fromkeys(SHARED, PARTS[stiff])
    found |= SHARED
    return found
