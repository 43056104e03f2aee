"""Steps of runs so short that what they leave out is small beside the noise.

A search begins in long steps. At its end they are halved until that changes no output by more than a part of the noise,
and the parameters are fitted once more: else a sharp encoder sees the error of the steps, and friction takes it up.
"""

from __future__ import annotations

import numpy as np

from ..model import FloatArray
from .explained import noise_of
from .problem import Problem, Setting

PART = 0.3
"""Change of an output, as a part of its noise, by halves of the steps up to which they are short enough."""
MOST = 16
"""Most steps in a sample; of bristles four times as many."""


def shorter_steps(found: Problem, x: FloatArray, at: Setting) -> Problem:
    """Return the problem with records run in steps that are short enough, itself where they are."""
    if not found.divides:
        return found
    while found.substeps < MOST:
        finer = found.changed(substeps=2 * found.substeps)
        if not any(_apart(found, finer, x, at, k) for k in range(len(found.records))):
            return found
        found = finer
    return found


def _apart(found: Problem, finer: Problem, x: FloatArray, at: Setting, k: int) -> bool:
    data = found.records[k]
    e, better = found.misfit(x, data, at), finer.misfit(x, data, at)
    off = np.sqrt(np.mean((e - better) ** 2, axis=0))
    return any(off[j] > PART * noise_of(data, better[:, j], j) for j in range(off.size))
