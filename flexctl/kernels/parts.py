"""The functions that a formulation brings to the step, compiled by themselves and called by their address.

So the loops are the same for all formulations, and compiled once (`shared`); and what a formulation brings is compiled
once for all loops that use it, on a second processor while the loop is compiled. A loop finds the addresses in
`motion.calls`, and knows of the form no more than where its row begins (`groups.Row`). A call costs some nanoseconds.

There are four: correction, readings, some of the readings (for continuous laws alone), and all the rest, small
functions with a number each. What a continuous law does is called in the same way, and is the same for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import boolean, config, float64, int64, types
from numba.extending import intrinsic

from .ahead import ahead
from .contents import CALLS
from .engine import Loops
from .feedback import FEEDBACK, feeding
from .idle import no_stiffness, nothing, whole
from .jit import Entry, entry, kernel
from .operations import Operations
from .pointers import begin_of
from .state import ALPHA_F, ALPHA_M, BETA, FEED, GAMMA_OF, MEASURE, MOTION, REST, SENSE, SOLVE, Motion, Scheme
from .tables import ACTING, COURSE, INSIDE, INT, PART, RECORD, VEC

FOUND = types.UniTuple(float64, 2)
(
    REFRESH, FORESEE, LEAD, LEAP, FINISH, LIMIT, STORE, LINEAR, REACH, STIFFEN, DIVIDE, BEGIN, CLOSE,
) = range(13)
"""Numbers of the small functions."""


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


@intrinsic
def call_sense(context: Any, where: Any, form: Any, motion: Any, u: Any, rows: Any, y: Any) -> Any:
    """Call some of the readings at an address."""
    return types.void(int64, form, motion, VEC, INT, VEC), _code


@intrinsic
def call_feed(
    context: Any, where: Any, form: Any, motion: Any, law: Any, acting: Any, course: Any, what: Any, k: Any, parts: Any
) -> Any:
    """Call at an address what a continuous law does."""
    return float64(int64, form, motion, law, acting, course, int64, int64, types.UniTuple(float64, 4)), _code


@intrinsic
def call_store(context: Any, where: Any, form: Any, motion: Any, number: Any, x: Any, y: Any, u: Any, r: Any) -> Any:
    """Call a small function that records at an address."""
    return float64(int64, form, motion, int64, float64, float64, VEC, r), _code


@intrinsic
def call_rest(context: Any, where: Any, form: Any, motion: Any, number: Any, x: Any, y: Any, u: Any) -> Any:
    """Call a small function at an address."""

    def code(target: Any, builder: Any, signature: Any, given: Any) -> Any:
        record = target.get_value_type(RECORD)
        kinds = [*(target.get_value_type(kind) for kind in signature.args[1:]), record]
        kind = ir.FunctionType(target.get_value_type(signature.return_type), kinds)
        return builder.call(builder.inttoptr(given[0], kind.as_pointer()), [*given[1:], ir.Constant(record, None)])

    return float64(int64, form, motion, int64, float64, float64, VEC), code


@kernel(**INSIDE)
def solve(form, motion, u, ca, cv, cq, fresh):
    """One correction."""
    return call_solve(motion.calls[SOLVE], form, motion, u, ca, cv, cq, fresh)


@kernel(**INSIDE)
def measure(form, motion, u, y):
    """Sensor readings."""
    call_measure(motion.calls[MEASURE], form, motion, u, y)


@kernel(**INSIDE)
def sense(form, motion, u, rows, y):
    """Some of them."""
    call_sense(motion.calls[SENSE], form, motion, u, rows, y)


@kernel(**INSIDE)
def _refresh(form, motion):
    call_rest(motion.calls[REST], form, motion, REFRESH, 0.0, 0.0, motion.q)


@kernel(**INSIDE)
def _foresee(form, motion, h, scheme):
    rule = motion.traits
    rule[ALPHA_M], rule[ALPHA_F], rule[BETA], rule[GAMMA_OF] = scheme.alpha_m, scheme.alpha_f, scheme.beta, scheme.gamma
    call_rest(motion.calls[REST], form, motion, FORESEE, h, 0.0, motion.q)


@kernel(**INSIDE)
def _lead(form, motion):
    call_rest(motion.calls[REST], form, motion, LEAD, 0.0, 0.0, motion.q)


@kernel(**INSIDE)
def _leap(form, motion):
    return call_rest(motion.calls[REST], form, motion, LEAP, 0.0, 0.0, motion.q) != 0.0


@kernel(**INSIDE)
def _finish(form, motion, u, size):
    call_rest(motion.calls[REST], form, motion, FINISH, size, 0.0, u)


@kernel(**INSIDE)
def _limit(form, motion, tolerance, h):
    return call_rest(motion.calls[REST], form, motion, LIMIT, tolerance, h, motion.q)


@kernel(**INSIDE)
def _store(form, motion, record, k):
    call_store(motion.calls[REST], form, motion, STORE, float(k), 0.0, motion.q, record)


@kernel(**INSIDE)
def _linear(form, motion):
    return call_rest(motion.calls[REST], form, motion, LINEAR, 0.0, 0.0, motion.q) != 0.0


@kernel(**INSIDE)
def _reach(form, motion, cv):
    return call_rest(motion.calls[REST], form, motion, REACH, cv, 0.0, motion.q)


@kernel(**INSIDE)
def _stiffen(form, motion, k, value):
    call_rest(motion.calls[REST], form, motion, STIFFEN, float(k), value, motion.q)


@kernel(**INSIDE)
def _divide(form, motion, x):
    call_rest(motion.calls[REST], form, motion, DIVIDE, 0.0, 0.0, x)


@kernel(**INSIDE)
def _begin(form, motion):
    call_rest(motion.calls[REST], form, motion, BEGIN, 0.0, 0.0, motion.q)


@kernel(**INSIDE)
def _close(form, motion):
    call_rest(motion.calls[REST], form, motion, CLOSE, 0.0, 0.0, motion.q)


@kernel(**INSIDE)
def feed(form, motion, law, acting, course, what, k, parts):
    """Serve a request of a loop for a continuous law."""
    return call_feed(motion.calls[FEED], form, motion, law, acting, course, what, k, parts)


ANY = Operations(
    measure, solve, _foresee, _lead, _leap, _finish, _refresh, _limit, _store, sense, _linear, keeps=False, prefers=0.0,
    stiffen=_stiffen, divide=_divide, reach=_reach, begin=_begin, close=_close,
)
"""Those of whatever formulation the addresses are of; what else there is to say of it stands in motion.traits."""

_feeding = feeding(ANY, kernel(**INSIDE))


@entry(float64(int64, MOTION, FEEDBACK, ACTING, COURSE, int64, int64, types.UniTuple(float64, 4)), glue=True, **PART)
def feed_part(form, motion, feedback, acting, course, what, k, parts):
    """Serve the requests of all loops for a continuous law, around any formulation."""
    return _feeding(form, motion, feedback, acting, course, what, k, parts)


def parts(ops: Operations, form: Any, home: str) -> tuple[Entry, ...]:
    """Return what a formulation brings, compiled by itself, in the order of `Motion.calls`.

    Parameters
    ----------
    ops : Operations
        What it brings.
    form : numba type
        Of its own group of arrays.
    home : str
        Module whose import makes them.
    """
    inner_solve, inner_measure, inner_sense, inner_store = ops.solve, ops.measure, ops.sense, ops.store

    @entry(FOUND(form, MOTION, VEC, float64, float64, float64, boolean), home, **PART)
    def solve_part(form, motion, u, ca, cv, cq, fresh):
        """The correction of the formulation."""
        return inner_solve(form, motion, u, ca, cv, cq, fresh)

    @entry(types.void(form, MOTION, VEC, VEC), home, **PART)
    def measure_part(form, motion, u, y):
        """The readings of the formulation."""
        inner_measure(form, motion, u, y)

    @entry(types.void(form, MOTION, VEC, INT, VEC), home, **PART)
    def sense_part(form, motion, u, rows, y):
        """Some of them."""
        inner_sense(form, motion, u, rows, y)

    refresh, foresee, lead, leap, finish, limit = ops.refresh, ops.foresee, ops.lead, ops.leap, ops.finish, ops.limit
    linear, reach, begin, close = ops.linear, ops.reach, ops.begin or nothing, ops.close or nothing
    stiffen, divide = ops.stiffen or no_stiffness, ops.divide or whole

    @entry(float64(form, MOTION, int64, float64, float64, VEC, RECORD), home, **PART)
    def rest_part(form, motion, number, x, y, u, record):
        """The small functions of the formulation."""
        if number == REFRESH:
            refresh(form, motion)
        elif number == FINISH:
            finish(form, motion, u, x)
        elif number == LIMIT:
            return limit(form, motion, x, y)
        elif number == STORE:
            inner_store(form, motion, record, int(x))
        elif number == REACH:
            return reach(form, motion, x)
        elif number == STIFFEN:
            stiffen(form, motion, int(x), y)
        elif number == DIVIDE:
            divide(form, motion, u)
        elif number == LINEAR:
            return 1.0 if linear(form, motion) else 0.0
        elif number == FORESEE:
            r = motion.traits
            rule = Scheme(
                r[ALPHA_M], r[ALPHA_F], r[BETA], r[GAMMA_OF], 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            )
            foresee(form, motion, x, rule)
        elif number == LEAD:
            lead(form, motion)
        elif number == LEAP:
            return 1.0 if leap(form, motion) else 0.0
        elif number == BEGIN:
            begin(form, motion)
        elif number == CLOSE:
            close(form, motion)
        return 0.0

    return solve_part, measure_part, rest_part, sense_part


def by_address(ops: Operations) -> Operations:
    """Return the operations with correction and readings called by their address, in code of the same form."""
    if config.DISABLE_JIT:
        return ops

    @kernel(**INSIDE)
    def solve(form, motion, u, ca, cv, cq, fresh):
        """One correction."""
        return call_solve(motion.calls[SOLVE], form, motion, u, ca, cv, cq, fresh)

    @kernel(**INSIDE)
    def measure(form, motion, u, y):
        """Sensor readings."""
        call_measure(motion.calls[MEASURE], form, motion, u, y)

    for called, itself in ((solve, ops.solve), (measure, ops.measure)):
        setattr(called.py_func, CALLS, itself)  # C code calls it by its name
    return ops._replace(solve=solve, measure=measure)


def soon(loops: Loops, which: Any) -> None:
    """Let another process compile a loop and what it calls by its address, while this one compiles something else."""
    if loops.parts:  # not where nothing is compiled
        ahead(loops[which], *loops.parts[which][: None if which is True else SENSE], *[feed_part][: which is True])


def link(loop: Any, places: Sequence[tuple[Motion, tuple[Entry, ...]]], *, feeds: bool = False) -> None:
    """Compile a loop and the parts that it calls, and let each state know where its parts are.

    Parameters
    ----------
    loop : Entry
        The loop.
    places : sequence of (state, parts)
        From outside inwards. Another process begins with the innermost.
    feeds : bool
        Whether some of the readings are needed by themselves.
    """
    needed = [(motion, [*found[: None if feeds else SENSE]]) for motion, found in places]
    if feeds:
        needed[0][1].append(feed_part)
    ahead(*(part for _, found in reversed(needed) for part in found))
    loop.load()
    for motion, found in needed:
        for number, part in reversed(list(enumerate(found))):
            motion.calls[number] = begin_of(part)
