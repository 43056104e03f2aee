"""How long a loop rings, read from the record of a run, and how far off that may put it.

Feedback corrects what a step does wrong, but not before the loop itself forgets: an arm that hardly damps its modes
carries an error in their phase for as long as they ring, and all of that adds up. Where nothing jumps the record shows
it. Of second derivatives, in which commanded motions are small, the swings from one turning point to the next are
taken; by how much those of the second half of such a piece are smaller than those of the first, the ringing fades.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from ..model import FloatArray
from .defaults import MEMORY
from .grid import IntArray

SWINGS = 4
"""So many swings make a ringing, in each half. Chosen: fewer are what a loop answers to the last jump."""
PIECES = 3
"""So many of the longest pieces without a jump are looked at. Chosen."""
FORGETS = 2.0
"""So many times longer than errors of a sampled loop are remembered may it ring before none is taken for corrected.
Chosen: sums of local errors are raised by more than that."""

LATE = {2: 1.0 / 12.0, 4: 1.0 / 100.0}
"""Error in phase of a rule of this order, as a part of the angle, over (w h)^order: of the trapezoidal rule, derived;
of SDIRK4, chosen from above."""


def ringing(t: FloatArray, y: FloatArray, breaks: Iterable[float], order: int = 2) -> FloatArray:
    """Return how far off each signal may be for what rings on in it; 0 where it does not, or not for long.

    Parameters
    ----------
    t : ndarray
        Times [s].
    y : ndarray
        What was recorded, len(t) x number of signals.
    breaks : iterable of float
        Times at which inputs or commanded motions jump, or a derivative of theirs [s].
    order : int
        Order of the integrator: 2 or 4.
    """
    edges = [t[0], *sorted({float(b) for b in breaks if t[0] < b < t[-1]}), t[-1]]
    long = sorted((end - begin, begin, end) for begin, end in pairwise(edges) if end - begin >= MEMORY)[-PIECES:]
    if not long or t.size < 3:
        return np.zeros(y.shape[1])
    h = np.diff(t)
    rates = np.diff(np.ascontiguousarray(y.T)) / h
    bent = np.diff(rates) / (0.5 * (h[1:] + h[:-1]))
    rises = np.diff(bent) > 0.0
    turns = rises[:, 1:] != rises[:, :-1]
    spans = [(begin + h.max(), end - h.max()) for _, begin, end in long]
    rows = zip(bent, turns, strict=True)
    return np.array([_off(t[1:-1], x, np.flatnonzero(at) + 1, spans, float(h.max()), order) for x, at in rows])


def _off(
    t: FloatArray, x: FloatArray, turns: IntArray, spans: Iterable[tuple[float, float]], h: float, order: int
) -> float:
    """Return by how much steps h put off a signal with the second derivative x, which turns there, in some pieces."""
    at, most = t[turns], 0.0
    swings = np.abs(np.diff(x[turns]))
    for begin, end in spans:
        half = 0.5 * (end - begin)
        first, middle, last = (int(k) for k in np.searchsorted(at, (begin, begin + half, end), side="right"))
        early, late = swings[first : max(middle - 1, first)], swings[middle : max(last - 1, middle)]
        if min(early.size, late.size) < SWINGS:
            continue
        frequency = np.pi * early.size / half  # rad/s
        fell = 0.5 * np.log(np.mean(early**2) / max(np.mean(late**2), 1e-300))
        lasts = half / fell if fell > 0.0 else np.inf
        if lasts > FORGETS * MEMORY:
            turned = LATE[order] * (frequency * h) ** order * frequency * min(lasts, float(t[-1]))
            most = max(most, 0.5 * early.max() / frequency**2 * min(turned, 2.0))
    return float(most)
