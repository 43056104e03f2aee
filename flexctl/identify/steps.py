"""Steps of runs so short that what they leave out is small beside the noise.

A search begins in long steps. At its end they are halved until that changes no output by more than a part of the noise,
and the parameters are fitted once more: else a sharp encoder sees the error of the steps, and friction takes it up.
"""

from __future__ import annotations

import time

import numpy as np

from ..model import FloatArray
from .explained import noise_of
from .problem import Problem, Setting

PART = 0.3
"""Change of an output, as a part of its noise, by halves of the steps up to which they are short enough."""
MOST, MOST_FULL = 16, 64
"""Most steps in a sample; of bristles four times as many; of the full model, where there is time for that."""
ROUNDS = 10
"""Rounds on the full model for which there must be time."""


def shorter_steps(found: Problem, x: FloatArray, at: Setting) -> Problem:
    """Return the problem with records run in steps that are short enough, itself where they are."""
    if not found.divides:
        return found
    while found.substeps < (MOST_FULL if found.full else MOST):
        finer = found.changed(substeps=2 * found.substeps)
        begun = time.monotonic()
        moved = any(_apart(found, finer, x, at, k) for k in range(len(found.records)))
        took = time.monotonic() - begun
        if not moved or (found.full and time.monotonic() + ROUNDS * (x.size + 1) * took > found.deadline):
            return found
        found = finer
    return found


def _apart(found: Problem, finer: Problem, x: FloatArray, at: Setting, k: int) -> bool:
    data = found.records[k]
    e, better = found.misfit(x, data, at), finer.misfit(x, data, at)
    off = np.sqrt(np.mean((e - better) ** 2, axis=0))
    return any(off[j] > PART * noise_of(data, better[:, j], j) for j in range(off.size))
