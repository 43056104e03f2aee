"""Parts of a row of numbers: the same memory as numpy's slices."""

from __future__ import annotations

import numpy as np
from numba import types

from flexctl.kernels.jit import entry
from flexctl.kernels.tables import VEC
from flexctl.kernels.views import complex_part, part, square


@entry(types.float64(VEC))
def mark(row):
    """Write into each kind of part; returns what their shapes say."""
    x, S, z = part(row, 2, 3), square(row, 5, 2), complex_part(row, 9, 2)
    for i in range(x.size):
        x[i] += 10.0 * (i + 1)
    for i in range(S.shape[0]):
        for j in range(S.shape[1]):
            S[i, j] *= -1.0
    for i in range(z.size):
        z[i] *= 1j
    return 100.0 * x.size + 10.0 * S.size + z.size


def test_parts_are_the_memory_of_the_row() -> None:
    row = np.arange(14.0) + 0.5
    expected = row.copy()
    expected[2:5] += [10.0, 20.0, 30.0]
    expected[5:9] *= -1.0
    expected[9:13].view(complex)[:] *= 1j
    assert mark(row) == 342.0
    np.testing.assert_array_equal(row, expected)
