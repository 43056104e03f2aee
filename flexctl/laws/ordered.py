"""One period of linear laws in a defined order of summation; `ordered_kernel` holds the loops and says why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import require
from ..model import FloatArray

if TYPE_CHECKING:
    from ..kernels.tables import Law
    from .ordered_kernel import Stack

MATRICES = ("A", "By", "Br", "Bu", "C", "Dy", "Dr")


def readings(law: Any, y: Any, r: Any) -> tuple[FloatArray, FloatArray]:
    """Return readings and references as compiled code takes them, or raise where there are too many or too few."""
    found = np.ascontiguousarray(y, float), np.ascontiguousarray(r, float)
    kinds = ((found[0], law.measures, 1, "readings"), (found[1], law.follows, 3, "references"))
    for vector, names, each, what in kinds:
        size = each * len(names)
        require(vector.shape == (size,), f"{what} have shape {vector.shape}; the law takes {size}, of {list(names)}")
    return found


def as_data(law: Any) -> Law:
    """Return a sampled `LinearLaw` by itself as the compiled time loop takes it, without wrappers."""
    from ..kernels.arrays import writable
    from ..kernels.tables import Law

    ny, nu = len(law.measures), len(law.drives)
    A, By, Br, Bu, C, Dy, Dr, lower, upper = writable(*(getattr(law, key) for key in (*MATRICES, "lower", "upper")))
    scratch, nothing = np.zeros((3, max(len(law.A), ny, nu, 1))), np.zeros(0, np.int64)
    quantum, noise = np.zeros(ny), np.zeros((0, ny))
    return Law(
        A, By, Br, Bu, C, Dy, Dr, lower, upper, quantum, noise, np.arange(ny), np.arange(nu), nothing, 0, scratch
    )


def period(data: Law, state: FloatArray, y: FloatArray, r: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the command and the next state."""
    from .ordered_kernel import one_period

    memory, u = np.array(state, float, ndmin=2), np.zeros(data.drives.size)
    one_period(data, y, r, memory, u)
    return u, memory[0]


def product(matrix: FloatArray, vector: FloatArray) -> FloatArray:
    """Return a matrix by a vector, each row summed from left to right."""
    total = np.zeros(len(matrix))
    for j in range(matrix.shape[1]):
        total = total + matrix[:, j] * vector[j]
    return total


def stacked(laws: Sequence[Any], points: Sequence[float]) -> Stack:
    """Return laws with the same signals as one group of arrays."""
    from ..kernels.tables import no_law
    from .ordered_kernel import Stack

    first = np.cumsum([0, *(len(law.A) for law in laws)])
    widest = max(len(law.A) for law in laws)

    def wide(matrix: FloatArray) -> FloatArray:
        return np.pad(matrix, ((0, 0), (0, widest - matrix.shape[1])))

    matrices = (
        np.ascontiguousarray(np.vstack([wide(getattr(law, key)) if key in "AC" else getattr(law, key) for law in laws]))
        for key in MATRICES
    )
    parts: dict[str, Any] = dict(zip(MATRICES, matrices, strict=True))
    law = no_law()._replace(**parts, lower=laws[0].lower.copy(), upper=laws[0].upper.copy())
    return Stack(law, np.array(points, float), first)


def blended_period(
    stack: Stack, value: float, state: Sequence[FloatArray], y: FloatArray, r: FloatArray
) -> tuple[FloatArray, tuple[FloatArray, ...]]:
    """Return the blended command and the next states of all laws."""
    from .ordered_kernel import blended_period as compiled

    x = np.concatenate([np.asarray(part, float) for part in state])
    u, new = np.zeros(stack.law.lower.size), np.zeros(x.size)
    compiled(stack, value, y, r, x, u, new)
    return u, tuple(np.split(new, stack.first[1:-1]))


def hat_weights(points: Sequence[float], value: float) -> FloatArray:
    """Return the weight of each point, interpolated linearly between them and held beyond the ends."""
    from .ordered_kernel import weights

    w = np.zeros(len(points))
    weights(np.array(points, float), float(value), w)
    return w
