"""The large parts of a formulation, compiled by themselves and called by their address.

A correction and the readings are more than half of a loop. By themselves they are compiled once for all loops that use
them (sampled or continuous laws, SDIRK, with or without drives), and on a second processor while the loop is compiled.
The loop finds their addresses in `motion.calls`; a call costs a few nanoseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import boolean, config, float64, int64, types
from numba.extending import intrinsic

from .ahead import ahead
from .contents import CALLS
from .jit import Entry, entry, kernel
from .operations import Operations
from .pointers import begin_of
from .state import MEASURE, MOTION, SOLVE, Motion
from .tables import INSIDE, PART, VEC

FOUND = types.UniTuple(float64, 2)


def _code(target: Any, builder: Any, signature: Any, given: Any) -> Any:
    kinds = [target.get_value_type(kind) for kind in signature.args[1:]]
    kind = ir.FunctionType(target.get_value_type(signature.return_type), kinds)
    result = builder.call(builder.inttoptr(given[0], kind.as_pointer()), given[1:])
    return target.get_dummy_value() if signature.return_type == types.void else result


@intrinsic
def call_solve(context: Any, where: Any, form: Any, motion: Any, u: Any, ca: Any, cv: Any, cq: Any, fresh: Any) -> Any:
    """Call a correction at an address."""
    return FOUND(int64, form, motion, VEC, float64, float64, float64, boolean), _code


@intrinsic
def call_measure(context: Any, where: Any, form: Any, motion: Any, u: Any, y: Any) -> Any:
    """Call the readings at an address."""
    return types.void(int64, form, motion, VEC, VEC), _code


def apart(ops: Operations, form: Any) -> Operations:
    """Return the operations of a formulation, whose form is of the type given, with its large parts by themselves."""
    if config.DISABLE_JIT:
        return ops
    inner_solve, inner_measure, home = ops.solve, ops.measure, ops.solve.py_func.__module__

    @entry(FOUND(form, MOTION, VEC, float64, float64, float64, boolean), home, **PART)
    def solve_part(form, motion, u, ca, cv, cq, fresh):
        """The correction of the formulation."""
        return inner_solve(form, motion, u, ca, cv, cq, fresh)

    @entry(types.void(form, MOTION, VEC, VEC), home, **PART)
    def measure_part(form, motion, u, y):
        """The readings of the formulation."""
        inner_measure(form, motion, u, y)

    @kernel(**INSIDE)
    def solve(form, motion, u, ca, cv, cq, fresh):
        """One correction."""
        return call_solve(motion.calls[SOLVE], form, motion, u, ca, cv, cq, fresh)

    @kernel(**INSIDE)
    def measure(form, motion, u, y):
        """Sensor readings."""
        call_measure(motion.calls[MEASURE], form, motion, u, y)

    for by_address, itself in ((solve, inner_solve), (measure, inner_measure)):
        setattr(by_address.py_func, CALLS, itself)  # C code calls it by its name
    return ops._replace(solve=solve, measure=measure, parts=(solve_part, measure_part))


def link(loop: Any, places: Sequence[tuple[Motion, tuple[Entry, ...]]]) -> None:
    """Compile a loop and the parts that it calls, and let each state know where its parts are.

    Parameters
    ----------
    loop : Entry
        The loop.
    places : sequence of (state, parts)
        From outside inwards. Another process begins with the innermost.
    """
    ahead(*(part for _, parts in reversed(places) for part in parts))
    loop.load()
    for motion, parts in places:
        for number, part in reversed(list(enumerate(parts))):
            motion.calls[number] = begin_of(part)
