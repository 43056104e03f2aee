"""From the linear model of records to the full one: at the start where it must be, or where the linear one falls short.

The full model costs a run of every record for each parameter and round, so that the linear one comes first, and the
search goes on from its solution: the delay is known then, and few rounds are left. It does where the full model is away
from the linear one by much of what is left over; what that costs at most, and what came of it, is told.
"""

from __future__ import annotations

import time
from dataclasses import replace

from ..errors import ConvergenceError
from ..model import FloatArray
from . import damped
from .explained import Explained, explained
from .full_model import enough_steps, limits, reasons
from .problem import Problem, Setting, counted
from .search import DELAYS, Say, cost_of, fitted, horizons, neighbours, scanned, weighted
from .steps import shorter_steps

TRIED = 1500
"""Samples from the onset on which it is tried how many steps a sample needs."""
WEIGHTED, ROUNDS, AFAR = 3, 6, 6
"""Times that weights are taken, and rounds of each, from the solution of the linear model on; times from a guess."""
LONGEST = 3600.0
"""Time [s] after which the search with the full model ends where nobody says how long it may take, and that all runs of
it may take if it is begun."""
MISSED = 0.1
"""Misfit of the linear model, as a part of an output, from which on its parameters are no beginning."""
TRIALS = 7
"""Most steps that are tried in a round."""


def with_engine(found: Problem, engine: str, told: list[str]) -> Problem:
    """Return the problem with the model that its records are compared with at first, and note why."""
    why = reasons(found.plant)
    if engine == "linear" or not found.records or not (why or engine == "full"):
        return found
    if engine == "auto":
        told.append(f"records are compared with the full model, which has {', '.join(why)}; it is slower")
    return as_full(found)


def as_full(found: Problem, x: FloatArray | None = None) -> Problem:
    """Return the problem with records of the full model, in steps that are short enough at the parameters x."""
    longest = max(found.records, key=lambda r: r.t.size)
    plant = found.plant if x is None else found.plant_at(x)
    steps = enough_steps(plant, longest, counted(longest, TRIED))
    return found.changed(full=True, substeps=steps)


def on_full_model(
    found: Problem, x: FloatArray, at: Setting, left: Explained, begin: FloatArray, scan: bool, told: list[str],
    say: Say,
) -> tuple[Problem, FloatArray, Setting, Explained]:
    """Return problem, parameters, setting and what they explain after the search went on with the full model.

    It goes on from the solution of the linear one where that is near, else from the first guess, `begin`, over longer
    and longer parts of the records: over many periods of a mode there are as many minima. The solution of the linear
    model is kept, and that is told, where the full one cannot be run or leaves more.
    """
    why = ", ".join(dict.fromkeys([*reasons(found.plant), *limits(found.plant)]))
    linear, _ = cost_of(found, x, at, 0)
    late = Setting(at.delay, 1)  # sensors of the full model read before the input jumps
    say("the full model", 0.0)
    try:
        afar = misses(found, x, at)
        y = begin if afar else x
        full = as_full(found, y)
        begun = time.perf_counter()
        cost_of(full, y, late, 0)
        took = time.perf_counter() - begun
        times = AFAR if afar else WEIGHTED
        most = times * ROUNDS * (x.size + TRIALS)
        if most * took > LONGEST and full.deadline == float("inf"):
            told.append(
                f"the full model ({why}) would take up to {most} runs of {took:.3g} s, and was not fitted: the "
                "parameters are those of the linear one. Identify with engine='full' (--engine full), a coarser mesh "
                "or shorter records, or say how long it may take (time_limit=, --time-limit)"
            )
            return found, x, at, left
        full.deadline = min(full.deadline, time.monotonic() + LONGEST)
        left_over = full.deadline - time.monotonic()
        what = f"the full model (at most {most} times {took:.2g} s, ended after {left_over / 60.0:.3g} min)"
        if afar:
            full, y, late = _in_parts(full, begin, None if scan else at.delay, say)
        y, cost = weighted(full, y, late, say, times, ROUNDS, what)
        other = late
        for _ in range(DELAYS):
            z, beside = neighbours(full, y, other, cost, None if scan else at.delay, False, say)
            if beside == other:
                break
            y, other = z, beside
            y, cost = weighted(full, y, other, say, WEIGHTED, ROUNDS, what)
        shorter = shorter_steps(full, y, other)
        if shorter is not full:
            full = shorter
            y, _ = weighted(full, y, other, say, WEIGHTED, ROUNDS, what)
        after, _ = cost_of(replace(full, scales=found.scales), y, other, 0)
    except ConvergenceError as error:
        told.append(
            f"records ask for the full model ({why}), which could not be fitted to them, so that the parameters are "
            f"those of the linear one: {error}"
        )
        return found, x, at, left
    if not after < linear:
        early = f", but not to its end ({full.unfinished})" if full.unfinished else ""
        told.append(
            f"the full model ({why}) was fitted too{early}, and leaves more than the linear one: the parameters "
            "are those of the linear one"
        )
        return found, x, at, left
    told.append(
        f"records are compared with the full model ({why}), since the linear one is away from it by much of what it "
        f"left over: that is {(after / linear) ** 0.5:.2g} times as much now. It takes {full.substeps} steps in a "
        f"sample, {took:.2g} s for all records"
    )
    return full, y, other, explained(full, y, other)


def may_turn(found: Problem, x: FloatArray, at: Setting) -> bool:
    """Whether turns may be why the linear model misses: it may have run away to where full and linear one agree."""
    return bool(found.records) and not found.full and bool(limits(found.plant)) and misses(found, x, at)


def misses(found: Problem, x: FloatArray, at: Setting) -> bool:
    """Whether the linear model is off by so much of an output that its parameters may belong to another minimum."""
    return any(
        bool((found.misfit(x, data, at).std(axis=0) > MISSED * data.y.std(axis=0)).any()) for data in found.records
    )


def _in_parts(full: Problem, begin: FloatArray, delay: int | None, say: Say) -> tuple[Problem, FloatArray, Setting]:
    """Return the problem, parameters and setting of the full model after a guess and longer and longer parts."""
    x = damped.guessed(full, begin, delay, say)
    full = as_full(full, x).changed(scales=[0.05 * r.y.std(axis=0) for r in full.records], centre=x)
    lengths = horizons(full, True)
    x, at = scanned(full, x, delay, False, lengths[0], say)
    for number, length in enumerate(lengths):
        full = full.changed(centre=x)
        x, _ = fitted(full, x, at, length, ROUNDS, say, f"the full model, part {number + 1} of {len(lengths)}")
    return full, x, at
