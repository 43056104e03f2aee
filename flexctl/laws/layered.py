"""Wrappers around a law as data for the compiled time loop, whatever their order; `layered_kernel` steps them.

Most laws need none of this: delay, limits, noise and quantisation in the usual order are parts of the loop itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..model import FloatArray
from .added import Added
from .controller import Delayed, Noisy, Quantised, Saturated
from .faults import Frozen, Missed

if TYPE_CHECKING:
    from ..kernels.tables import Law

KNOWN = (Delayed, Saturated, Quantised, Noisy, Frozen, Missed, Added)


def layers_of(law: Any) -> tuple[list[Any], Any]:
    """Return the wrappers around a law that the compiled loop knows, the outermost first, and what is inside them."""
    found = []
    while type(law) in KNOWN:  # exactly these types: a subclass may step differently
        found.append(law)
        law = law.law
    return found, law


def layered(
    layers: list[Any], core: tuple[Law, FloatArray], times: FloatArray
) -> tuple[Law, FloatArray] | None:
    """Return a law of the loop and its memory inside wrappers, or None where nothing is compiled.

    `times` [s] are those of its calls.
    """
    from ..kernels.pointers import address, packed
    from .layered_kernel import layered_law

    kernel, memory = core
    own = address(layered_law)
    if not own:
        return None
    parts = [_part(layer, times) for layer in layers]
    begins = memory.size + np.cumsum([0, *(states for _, states, _ in parts)])
    table = np.array([(kind, begins[i], states) for i, (kind, states, _) in enumerate(parts)], float)
    more, places = packed([table, *(data for _, _, data in parts)])
    places[2::3] += kernel.more.size
    tail = [kernel.own, kernel.places.size // 3, len(memory)]
    kernel = kernel._replace(
        own=own, more=np.concatenate([kernel.more, more]),
        places=np.concatenate([kernel.places, places, np.array(tail, np.int64)]),
    )
    return kernel, np.zeros((1, int(begins[-1])))


def _part(layer: Any, times: FloatArray) -> tuple[int, int, FloatArray]:
    """Return the kind of a wrapper, how many numbers its state has, and what it brings."""
    from . import layered_kernel as kinds

    ny, nu = len(layer.measures), len(layer.drives)
    if isinstance(layer, Delayed):
        return kinds.DELAYED, int(layer.samples) * nu, np.zeros((1, 1))
    if isinstance(layer, Saturated):
        return kinds.SATURATED, 0, np.array([[layer.limit]], float)
    if isinstance(layer, Quantised):
        return kinds.QUANTISED, 0, layer.steps[None, :]
    if isinstance(layer, Noisy):
        return kinds.NOISY, 1, layer.sequence(times.size)
    if isinstance(layer, Frozen):
        return kinds.FROZEN, 1 + ny, np.array([layer.frozen(t) for t in times], float).reshape(times.size, ny)
    if isinstance(layer, Missed):
        return kinds.MISSED, nu, np.array([[layer.misses(t) for t in times]], float)
    own = np.full(nu, 3.0 * len(layer.law.follows))  # a row, for the table's sake
    return kinds.ADDED, 0, np.array([layer.lower, layer.upper, own], float)
