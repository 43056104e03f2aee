"""Stribeck curves from other beginnings, where the search has ended beside the data.

A search for static friction and Stribeck rate has several ends: a curve that is too narrow grows ever higher, one that
is too wide goes under in Coulomb friction. If what is left over stands far above the noise, the search begins again
with other curves, everything else as it was found, and the best is taken.
"""

from __future__ import annotations

import numpy as np

from ..errors import ConvergenceError
from ..model import FloatArray
from .explained import noise_of
from .problem import DRY, Problem, Setting
from .search import Say, fitted

FAR = 5.0
"""Misfit over noise from which on other beginnings are tried; long steps alone may leave less."""
CURVES = ((0.3, 1.0), (0.3, 0.3), (0.3, 3.0))
"""Excess of static over Coulomb friction, as a part of the latter, and Stribeck rate in parts of that at the start."""
ROUNDS = 12


def other_curves(found: Problem, x: FloatArray, at: Setting, cost: float, say: Say) -> FloatArray:
    """Return the parameters of the best of some beginnings, x where that explains the data or no curve is free."""
    dry = {k: key for k, key in enumerate(found.keys) if key.startswith(DRY)}
    shape = [k for k, key in dry.items() if key.endswith((".static", ".stribeck_rate"))]
    if not shape or not _far(found, x, at):
        return x
    best, state = x, found.unfinished
    for number, (excess, rate) in enumerate(CURVES):
        begin = x.copy()
        for k in shape:
            begin[k] = np.log(rate)
        for one in found.above:
            level = one.level if one.coulomb < 0 else found.values(x)[one.coulomb]
            begin[one.static] = np.log(excess * level / one.excess)
        try:
            y, value = fitted(found, begin, at, 0, ROUNDS, say, f"Stribeck curve {number + 1} of {len(CURVES)}")
        except ConvergenceError:
            continue
        if value < cost:
            best, cost = y, value
        if not _far(found, best, at):
            break
    found.unfinished = state
    return best


def _far(found: Problem, x: FloatArray, at: Setting) -> bool:
    for data in found.records:
        e = found.misfit(x, data, at)
        if any(e[:, j].std() > FAR * noise_of(data, e[:, j], j) for j in range(e.shape[1])):
            return True
    return False
