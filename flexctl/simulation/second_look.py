"""A second look at runs of sampled loops, before they are said to be worse than they are.

Sums of local errors say far more than there is where a law jumps in every period: what it does to modes that are fast
beside a step has all signs, and the feedback corrects the rest. Taking the run once more, in half of its steps at an
eighth of its tolerance, takes a few times as long as the run and tells what is true; so it is done where a claim would
be warned of.

And where the loop rings for long, or lets the arm go (`uncorrected`): there it corrects nothing, and sums that forget
say far less than there is. If the second run shows that the first is worse than was asked for, it takes its place.

Where a law reads rounded values, that run may round as this one did by chance, and another would not: a reading that
is nearer to the next value than its error may be either. So the run is also taken with all rounded readings moved by
their errors before they are rounded, up and down, and what that changes is claimed besides; this is done too where
what is rounded may move a command by more than the tolerance.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ConvergenceError
from ..kernels.schemes import SCHEMES
from ..laws.controller import Quantised, layers
from ..model import FloatArray
from .defaults import LEAST_RTOL

if TYPE_CHECKING:
    from .claims import Claim
    from .run import Run

FINER = 1.0 / 8.0
"""Of the tolerance. Chosen, as that of the second runs of certificates."""
FIRST_ORDER = 2.0
"""On the change by half steps, which is half of the error at the first order, where commands jump. Derived."""

SMALL = 0.1
"""Part of a range up to which a change by half steps is taken to be no less than what is left after it. Chosen: larger
ones are of loops in which errors grow."""


def second_look(run: Run) -> bool:
    """Take what a second run changes for the errors of a run, if one serves; return whether it did.

    Not where joints stick, modes are not resolved or the motion grows: errors are no small changes there.
    """
    setup, accuracy = run.setup, run.accuracy
    if not setup.rtol or setup.method not in SCHEMES or run.compiled is None or run.sticks:
        return False
    if not (run.looped or accuracy.rings):
        return False
    if accuracy.second is not None or accuracy.rising is not None or accuracy.loses:
        return False
    rounded, law = any(isinstance(layer, Quantised) for layer in layers(setup.law)), run.compiled[0]
    if rounded and not law.quantum.any():  # a wrapper of its own rounds, which nothing is known to move
        return False
    rtol = max(FINER * setup.rtol, LEAST_RTOL)
    finer = _again(run, rtol)
    if finer is None:
        return False
    second, changed = (FIRST_ORDER * off for off in _apart(run, finer))
    if rounded:
        moved = np.where(law.quantum > 0.0, second[law.measures], 0.0)
        up, down = (_again(run, rtol, off) for off in (moved, -moved))
        if up is None or down is None:
            return False
        (y, u), (other_y, other_u) = _apart(finer, up), _apart(finer, down)
        second, changed = second + np.maximum(y, other_y), changed + np.maximum(u, other_u)
    elif accuracy.rings and not accuracy.good(second, setup.rtol):
        small = accuracy.good(second, SMALL)
        _take(run, finer)
        second, changed = (off / FIRST_ORDER if small else off for off in (second, changed))
    accuracy.second, run.changed = second, changed
    accuracy.rounded, accuracy.looked = rounded, True
    return True


def rounds_much(run: Run, claimed: Sequence[Claim]) -> bool:
    """Whether roundings may move a command by more than the tolerance, and with it the arm: no local error tells."""
    law = run.setup.law
    rounded = law is not None and any(isinstance(layer, Quantised) for layer in layers(law))
    return rounded and any(not one.part <= run.setup.rtol for one in claimed if one.signal.name in law.drives)


def _take(run: Run, finer: Run) -> None:
    """Take a finer run in the place of one that is worse than was asked for."""
    for mine, other in zip(run.record, finer.record, strict=True):
        mine[:] = other
    for what, count in finer.work.items():
        run.work[what] = run.work.get(what, 0) + count
    (run.q, run.v), run.accuracy.gauge = (finer.q, finer.v), finer.accuracy.gauge


def _again(run: Run, rtol: float, moved: FloatArray | None = None) -> Run | None:
    """Return the run in half steps at another tolerance; None where it fails.

    moved: by how much each reading is moved before it is rounded.
    """
    from ..kernels import state  # needs numba

    other = type(run)(run.setup)
    gauge = other.accuracy.gauge
    gauge.least[:], gauge.number[state.FLOOR] = 0.5 * run.accuracy.ranges, 1.0
    other.plan = other.plan._replace(rtol=rtol, level=1)
    if moved is not None and other.compiled is not None:
        law, memory = other.compiled
        noise = law.noise if law.noise.size else np.zeros((1, moved.size))
        other.compiled = law._replace(noise=noise + moved), memory
    try:
        other.once(lambda part: None)
    except ConvergenceError:
        return None
    fits = other.t.size == run.t.size and np.isfinite(other.record.y).all()
    return other if fits else None


def _apart(one: Run, other: Run) -> tuple[FloatArray, FloatArray]:
    """Return by how much the outputs and the inputs of two runs differ, at most."""
    y, u = (np.abs(getattr(one.record, key) - getattr(other.record, key)).max(axis=0) for key in ("y", "u"))
    return y, u
