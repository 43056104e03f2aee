"""Steps that were given: what jumps hide from them is found by a second run in half steps.

The first step after a jump of a force hides what it skips, and no local error tells. The second run costs twice the
first. What a jump leaves behind fades in a damped arm; where it has, both runs go on alike, the sums of local errors
know the rest, and the second run ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import numpy as np

from ..abilities import ContinuousLoop, has_kinks
from ..errors import ConvergenceError
from ..kernels.schemes import SCHEMES
from ..model import FloatArray, names
from .defaults import DEFAULT, SEES
from .hidden import largest_jump
from .sticking import told_by_longer

if TYPE_CHECKING:
    from .run import Run

HIDES = 0.5
"""Part of rtol that jumps of a law may hide from steps of the grid, for these to be taken. Chosen."""
FADED = 0.1
"""Part of its largest that a difference of two runs may still have, since half the time after the last jump, to count
as gone. Chosen: what is left is small beside what is claimed, and a difference that drifts or beats is larger."""
LOOKS = 6
"""So often is it looked at: after 1/64 of the time behind the last jump, 1/32, .. 1/2. Chosen."""
FEWEST = 16
"""Steps after a jump before the first look. Chosen."""
LEAVES = 1e-3
"""Slack of Newton in the second run, see `kernels.estimate.may_leave`: all rests together cost 6e-5 of a range there.
With slack, arms with closures also keep their tangents from step to step. Closures are then met in a direction that is
some steps old, which moves a small part of the local error. Chosen: claims are the same to a hundredth, and RALF's
second run takes two thirds of the time."""


_compared = ContextVar("compared", default=True)


@contextmanager
def uncompared() -> Iterator[None]:
    """Make runs in given steps once only: their outputs are the same, their errors are not to be believed."""
    token = _compared.set(False)
    try:
        yield
    finally:
        _compared.reset(token)


def run_given(run: Run, report: Callable[[float], None]) -> None:
    """Run in steps of the grid; where forces or commands jump, once more in half steps: the first step hides much.

    Where joints stick and nothing jumps, one in steps twice as long serves. Also where SDIRK4 would be warned of: its
    sums of local errors say far more than there is, in stiff arms that are led. Steps of the other methods are given
    for the sake of time.
    """
    whole = (run.q, run.v)
    again = run.compiled is not None and run.setup.method in SCHEMES and _compared.get()
    forces = run.forces_jump()
    looks = _looks(run) if again and forces else []
    sums, worst = np.zeros((2, len(looks) + 1, len(run.accuracy.kind)))
    gauge = run.accuracy.gauge

    def keep(k: int) -> bool:
        row = looks.index(k)
        sums[row], worst[row] = gauge.sum, gauge.error
        gauge.error[:] = 0.0
        return False

    run.once((lambda part: report(part / 3.0)) if again and forces else report, looks, keep)
    worst[-1] = gauge.error
    gauge.error[:] = worst.max(axis=0)
    later = [worst[row + 1 :].max(axis=0) - sums[row] for row in range(len(looks))]
    hides = largest_jump(run) if again else 0.0
    run.accuracy.hides[:] = hides
    doubtful = run.setup.scheme.stages > 1 and run.accuracy.doubtful
    if again and run.sticks and not hides and told_by_longer(run):
        report(1.0)
        return
    if again and (forces or hides > HIDES * DEFAULT or run.sticks or doubtful):
        _compare(run, whole, dict(zip(looks, later, strict=True)), lambda part: report((1.0 + 2.0 * part) / 3.0))
    report(1.0)


def _compare(
    run: Run, whole: tuple[FloatArray, FloatArray], later: dict[int, FloatArray], report: Callable[[float], None],
) -> None:
    """Run in half steps, as long as that makes a difference that lasts, and take it for the estimate.

    later: by how much the sums of local errors grow from some grid points on, at which the run may end.
    """
    from ..kernels import state  # needs numba

    accuracy, record = run.accuracy, run.record
    work, end, found = run.work, (run.q, run.v), run.plan
    gauge = state.gauge(accuracy.kind, accuracy.group, np.inf)
    gauge.number[state.FLOOR] = 1.0
    spare = type(record)(*(np.zeros_like(x) for x in record[:2]), *np.zeros((2, 1, run.q.size)))
    (run.q, run.v), run.plan = whole, found._replace(record=spare, gauge=gauge, level=1, slack=LEAVES)
    known, compared, jumped = accuracy.kind != state.LEFT, run.t.size, _last_jump(run)

    def gone(k: int) -> bool:
        nonlocal compared
        off = np.abs(spare.y[: k + 1] - record.y[: k + 1])[:, known]
        largest, last = off.max(axis=0), off[(jumped + k) // 2 :].max(axis=0)
        # what comes later is no more than the claim may be above the difference, see `Accuracy.halve`
        if np.any(last > FADED * largest) or np.any(later[k][known] > 2.0 * largest):
            return False
        compared = k + 1
        return True

    try:
        run.once(report, list(later), gone)
        accuracy.halve(record.y[:compared], spare.y[:compared])
        accuracy.hides *= 0.0 if run.longest() <= SEES else 1.0
        run.changed = 2.0 * np.abs(spare.u - record.u)[:compared].max(axis=0)
    except ConvergenceError:
        accuracy.halve(record.y, np.full_like(record.y, np.nan))
    run.work, run.plan, (run.q, run.v) = work, found, end


def _looks(run: Run) -> list[int]:
    """Return the grid points at which the second run may end; none where what it tells is not known otherwise.

    Laws may swing up late, kinks may make much of little, and torques of prescribed joints are known by comparison
    alone.
    """
    setup = run.setup
    led = {f"{joint}_{kind}" for joint in run.commands for kind in ("torque", "force")} & set(names(setup.plant.inputs))
    if setup.law is not None or isinstance(setup.model, ContinuousLoop) or has_kinks(setup.model) or led:
        return []
    last = run.t.size - 1
    jumped = _last_jump(run)
    found = {jumped + ((last - jumped) >> k) for k in range(1, LOOKS + 1)}
    return sorted(k for k in found if k - jumped >= FEWEST)


def _last_jump(run: Run) -> int:
    """Return the grid point of the last jump of an input, of a commanded acceleration, or of the payload."""
    before, after = run.tables.before, run.tables.after
    jumps: Any = np.any(before[:-1] != after[:-1], axis=1)
    for rows in run.commands.values():
        jumps |= (np.abs(rows[3] - rows[2]) > 1e-9 * np.abs(rows[2:]).max())[:-1]
    at = [0, *np.flatnonzero(jumps).tolist(), *(int(np.argmin(np.abs(run.t - row[0]))) for row in run.setup.payload)]
    return max(at)
