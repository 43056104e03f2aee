"""Whether the input of a record answers to its output: noise that a loop feeds back makes H1 wrong.

    y[k] = sum a_i y[k-i] + sum b_i u[k-i]  +  sum g_i u[k+i]  +  e[k],       i = 1 .. on both sides (Sims 1972)

What nothing feeds back knows nothing of the noise that is still to come into the input: the g are zero, whatever the
input is. Those of a loop are not, and neither are those of an input that is measured with noise, of which H1 is as
wrong. The part of e that they explain is the finding. A law without delay answers within the sample, as u[k]; that
counts as an answer only of outputs to which a force takes time to get: positions, rates and strains.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..model import FloatArray, Signal
from .record import Record

PAST, AHEAD = 50, 12
"""Samples before and after, of each signal."""
MOST = 12000
"""Samples that are looked at: enough to see what matters."""
EXPLAINED = 0.02
"""Part of the noise that the input ahead must explain to be told."""
SURE = 8.0
"""How many standard deviations above what chance explains, too."""
STILL = 1e-6
"""Noise below this part of an output can spoil nothing."""
SLOW = ("rad", "m", "rad/s", "m/s", "1", "")
"""Units of outputs that forces do not reach within a sample."""


class Answer(NamedTuple):
    """An output whose noise shows in the inputs, and the part of it that does."""

    output: Signal
    part: float


def answers(data: Record) -> list[Answer]:
    """Return the outputs whose noise the inputs answer to; empty of a record that is too short to tell."""
    found = []
    for k, signal in enumerate(data.outputs):
        within = 0 if data.held and signal.unit in SLOW else 1
        part = explained(data.u[:MOST], data.y[:MOST, k], within)
        if part > EXPLAINED:
            found.append(Answer(signal, part))
    return found


def explained(u: FloatArray, y: FloatArray, within: int) -> float:
    """Return the part of the noise of an output that inputs from `within` samples ahead on explain, 0 if by chance."""
    size, p = u.shape
    past = min(PAST, (size // 8 - AHEAD * p) // (p + 1))
    if past < 4:
        return 0.0
    rows = np.arange(past, size - AHEAD)
    late = [y[rows - i] for i in range(1, past + 1)] + [u[rows - i, j] for j in range(p) for i in range(1, past + 1)]
    late += [u[rows, j] for j in range(p) if within]
    early = [u[rows + i, j] for j in range(p) for i in range(within, AHEAD + 1)]
    columns = np.column_stack([np.ones(rows.size), *late, *early, y[rows]])
    columns /= np.maximum(np.abs(columns).max(axis=0), 1e-300)
    triangle: FloatArray = np.asarray(np.linalg.qr(columns, mode="r"), float)
    last = triangle[:, -1]
    begin = 1 + len(late)
    told, left = float(np.sum(last[begin:-1] ** 2)), float(last[-1] ** 2)
    whole = float(np.var(columns[:, -1])) * rows.size
    if told + left <= STILL**2 * whole:
        return 0.0
    part, freedom = told / (told + left), rows.size - begin
    chance = len(early) / freedom
    return part if part > chance + SURE * np.sqrt(2.0 * len(early)) / freedom else 0.0
