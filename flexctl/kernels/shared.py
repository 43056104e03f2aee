"""The loops of all formulations, whose functions they call by their address: each is compiled once."""

from __future__ import annotations

from typing import Any

from numba import float64, int64, types

from .dirk import dirk
from .jit import entry
from .parts import ANY, feed
from .state import GAUGE, MOTION, SCHEME, SDIRK
from .stepper import stepper
from .tables import ACTING, COURSE, ENTRY


def _made(loop: Any) -> Any:
    found = types.UniTuple(float64, 4)(int64, MOTION, int64, ACTING, COURSE, SCHEME, GAUGE)
    return entry(found, __name__, glue=True, **ENTRY)(loop)


_STEPPER = _made(stepper(ANY, feed=feed))

SHARED = {False: _STEPPER, True: _STEPPER, SDIRK: _made(dirk(ANY))}
"""Without and with a continuous law, the same one; SDIRK4."""
