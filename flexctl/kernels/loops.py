"""The loops of a formulation: those that all share, which call what it brings by its address."""

from __future__ import annotations

from functools import partial
from typing import Any

from numba import config

from .dirk import COMPILED, dirk
from .engine import Loops
from .feedback import feeding
from .operations import Operations
from .parts import parts
from .shared import SHARED
from .state import SDIRK
from .stepper import stepper


def loops(
    ops: Operations, form: Any, *, closed: bool = False, stages: Operations | None = None, home: str | None = None,
) -> Loops:
    """Return the loops of a formulation without and with a continuous law, and that of SDIRK4.

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
        Module whose import makes what is compiled for it, where another process finds it (`ahead`): if not that in
        which its correction stands.
    """
    found = Loops(ops.traits(closed))
    found.text = partial(stepper, ops)
    staged = stages or (None if closed else ops)
    if config.DISABLE_JIT:
        found |= dict.fromkeys((False, True), stepper(ops, feed=feeding(ops, COMPILED)))
        found |= {} if staged is None else {SDIRK: dirk(staged, COMPILED)}
        return found
    home = home or ops.solve.py_func.__module__
    own, found.form = parts(ops, form, home), form
    found |= {key: loop for key, loop in SHARED.items() if key != SDIRK or staged is not None}
    found.parts = dict.fromkeys(found, own) | ({} if stages is None else {SDIRK: parts(stages, form, home)})
    return found
