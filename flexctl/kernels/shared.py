"""The loops of all formulations, whose functions they call by their address: each is compiled once."""

from __future__ import annotations

from typing import Any

from numba import float64, int64, types

from .dirk import dirk
from .feedback import FEEDBACK
from .jit import entry
from .parts import ANY
from .state import GAUGE, MOTION, SCHEME, SDIRK
from .stepper import stepper
from .tables import ACTING, COURSE, ENTRY


def _made(loop: Any, law: Any = types.none) -> Any:
    found = types.UniTuple(float64, 4)(int64, MOTION, law, ACTING, COURSE, SCHEME, GAUGE)
    return entry(found, __name__, glue=True, **ENTRY)(loop)


SHARED = {
    False: _made(stepper(ANY)), True: _made(stepper(ANY, feeds=True), FEEDBACK), SDIRK: _made(dirk(ANY)),
}
"""Without and with a continuous law; SDIRK4."""
