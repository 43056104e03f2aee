"""Whether a run comes to rest: limit cycles, windup, runs that are still moving when they end.

What is left after the motion is cut into two halves. A signal is sustained if it moves in the second half by more than
0.7 of what it did in the first (half of the energy), and by more than 2 % of the move (of the largest command, for an
input). A linear loop whose slowest pole decays more slowly than that is given the square root of what it predicts.
Where a run ends so soon that such a loop may move so, within the limits of its commands, and that it goes on cannot be
seen from its turns either, it is open whether it settles.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...model import FloatArray, names
from ...motion.moves import Motion

if TYPE_CHECKING:
    from ...simulation.response import Response

LEFT = 0.02
"""Part of the move, or of the largest command, below which what is left counts as rest."""
KEPT = float(np.sqrt(0.5))
SHORTEST = 0.1
"""Part of the run that must follow the motion."""
NO_TAIL = "not examined whether it settles: the run ends with the motion"
CYCLES = 10
"""Cycles of a signal after the motion from which on it is an oscillation that goes on, and not one swing or one beat of
a loop that decays slowly."""


def sustained(
    run: Response, law: Any, motions: Mapping[str, Motion], decay: float = np.inf, doubted: bool = False
) -> str:
    """Return what does not come to rest in a run, empty if everything does; or that it ends too soon to tell.

    Parameters
    ----------
    run : Response
        The run.
    law : Controller
        Its law: what it follows and drives is looked at.
    motions : mapping
        References of the run.
    decay : float
        Decay rate of the slowest pole of its linear loop [1/s], if it has one.
    doubted : bool
        Take every output for as far off as the run may be: what may then not come to rest.
    """
    begin, end = _tail(run, motions)
    if end - begin < SHORTEST * end:
        return ""
    bar = max(KEPT, float(np.exp(-0.5 * max(decay, 0.0) * 0.5 * (end - begin)))) if np.isfinite(decay) else KEPT
    soon = 0.0 < decay * (end - begin) < -2.0 * math.log(LEFT)  # half of it does not take the slowest pole to rest
    soon = soon and not _limited(run, law, begin)  # what a linear loop would do says nothing then
    found: list[str] = []
    open_: list[str] = []
    for name, signal, size, left in _signals(run, law, motions):
        first, second = (float(np.ptp(signal[part])) for part in _halves(run.t, begin, end))
        if doubted:
            off = 2.0 * float(np.nan_to_num(run.error.get(name, 0.0)))
            first, second = max(first - off, 0.0), second + off
        if second > left * size and second > 1.02 * bar * first:
            cause = "grows" if second > 1.1 * first else "goes on"
            few = soon and _crossings(signal[run.t >= begin]) < 2 * CYCLES
            (open_ if few else found).append(
                f"{name} {cause}: {second:.3g} peak to peak in the last {0.5 * (end - begin):.3g} s, {first:.3g} before"
            )
    if open_ and not found:
        return (f"not examined whether it settles: the run ends {end - begin:.3g} s after its motion, and the slowest "
                f"pole takes {1.0 / decay:.3g} s to decay to 1/e ({'; '.join(open_)}); let it go on longer, to "
                f"{begin - 2.0 * math.log(LEFT) / decay:.3g} s at most")
    return "; ".join(found)


def is_open(told: str) -> bool:
    """Whether what `sustained` told is that a run ends too soon."""
    return told.startswith("not examined")


def has_tail(run: Response, motions: Mapping[str, Motion]) -> bool:
    """Whether the run goes on long enough after its motion to be judged."""
    begin, end = _tail(run, motions)
    return end - begin >= SHORTEST * end


def _limited(run: Response, law: Any, begin: float) -> bool:
    """Whether a command stands at its largest for more than three control periods after the motion."""
    t = run.t[run.t >= begin]
    for drive in law.drives:
        if drive in names(run.inputs) and t.size > 1:
            u = np.abs(run[drive][run.t >= begin])
            stands = u[:-1] > (1.0 - 1e-12) * u.max()
            if u.max() > 0.0 and np.diff(t)[stands].sum() > 3.5 * max(law.sample_time, float(np.diff(t).min())):
                return True
    return False


def _crossings(signal: FloatArray) -> int:
    """Return how often a signal crosses its middle."""
    above = signal > 0.5 * (signal.max() + signal.min())
    return int(np.sum(above[1:] != above[:-1]))


def _tail(run: Response, motions: Mapping[str, Motion]) -> tuple[float, float]:
    lengths = [float(m.duration) for m in motions.values()]
    finite = [x for x in lengths if np.isfinite(x)]
    begin = max(finite, default=0.0) if len(finite) == len(lengths) else float(run.t[-1])
    return begin, float(run.t[-1])


def _halves(t: FloatArray, begin: float, end: float) -> tuple[Any, Any]:
    middle = 0.5 * (begin + end)
    return (t >= begin) & (t <= middle), t >= middle


def _signals(run: Response, law: Any, motions: Mapping[str, Motion]) -> list[tuple[str, FloatArray, float, float]]:
    """Return name, signal, its size and the part of it that counts as rest."""
    found = []
    for name in dict.fromkeys(law.follows):
        if name in names(run.outputs) and name in motions:
            wanted = np.asarray(motions[name](run.t)[0])
            size = max(float(np.ptp(wanted)), float(np.ptp(run[name])))
            found.append((name, run[name] - wanted, size, LEFT))
    for name in law.drives:
        if name in names(run.inputs):
            found.append((name, run[name], float(np.abs(run[name]).max()), LEFT))
    return found
