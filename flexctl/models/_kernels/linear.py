"""Residual, tangent and output of M a + D v + K q = B u with banded matrices, for the time loop.

ints = [n, p, ny, w]; reals = M, D, K (each (2 w + 1) x n, row w + i - j, column j), B (n x p), output rows for q, v, a
(ny x n) and u (ny x p), all row after row.
"""

from __future__ import annotations

import numpy as np

from ...kernels.jit import entry
from ...kernels.model import OUTPUT, RESIDUAL, TANGENT
from ...model import Compiled, FloatArray, OutputTangent


@entry(RESIDUAL)
def residual(t, q, v, a, u, reals, ints, out):  # type: ignore[no-untyped-def]
    """M a + D v + K q - B u."""
    n, p, w = ints[0], ints[1], ints[3]
    size = (2 * w + 1) * n
    for i in range(n):
        total = 0.0
        for j in range(max(0, i - w), min(n - 1, i + w) + 1):
            e = (w + i - j) * n + j
            total += reals[e] * a[j] + reals[size + e] * v[j] + reals[2 * size + e] * q[j]
        for j in range(p):
            total -= reals[3 * size + i * p + j] * u[j]
        out[i] = total


@entry(TANGENT)
def tangent(t, q, v, a, u, ca, cv, cq, reals, ints, out):  # type: ignore[no-untyped-def]
    """ca M + cv D + cq K; the rows that only pivoting fills are cleared."""
    n, w = ints[0], ints[3]
    size = (2 * w + 1) * n
    out[:] = 0.0
    for d in range(2 * w + 1):
        for j in range(n):
            e = d * n + j
            out[w + d, j] = ca * reals[e] + cv * reals[size + e] + cq * reals[2 * size + e]


@entry(OUTPUT)
def output(q, v, a, u, reals, ints, y):  # type: ignore[no-untyped-def]
    """Cq q + Cv v + Ca a + Du u."""
    n, p, ny, w = ints[0], ints[1], ints[2], ints[3]
    start = 3 * (2 * w + 1) * n + n * p
    for i in range(ny):
        total = 0.0
        for j in range(n):
            e = start + i * n + j
            total += reals[e] * q[j] + reals[e + ny * n] * v[j] + reals[e + 2 * ny * n] * a[j]
        for j in range(p):
            total += reals[start + 3 * ny * n + i * p + j] * u[j]
        y[i] = total


def bandwidth(*matrices: FloatArray) -> int:
    """Return the largest |i - j| of a non-zero entry."""
    widths = [0]
    for matrix in matrices:
        i, j = np.nonzero(matrix)
        if i.size:
            widths.append(int(np.abs(i - j).max()))
    return max(widths)


def banded(matrix: FloatArray, w: int, pivoting: bool = False) -> FloatArray:
    """Return band storage, row w + i - j (2 w + i - j with room for pivoting), column j."""
    n = matrix.shape[0]
    out = np.zeros(((3 if pivoting else 2) * w + 1, n))
    top = 2 * w if pivoting else w
    for d in range(-w, w + 1):
        j = np.arange(max(0, -d), min(n, n - d))
        out[top + d, j] = matrix[j + d, j]
    return out


def compiled(M: FloatArray, D: FloatArray, K: FloatArray, B: FloatArray, sensors: OutputTangent) -> Compiled:
    """Return the compiled linear model."""
    w = bandwidth(M, D, K)
    n, p, ny = M.shape[0], B.shape[1], sensors.position.shape[0]
    parts = [banded(m, w) for m in (M, D, K)] + [B, *sensors]
    reals = np.concatenate([np.ascontiguousarray(m, float).ravel() for m in parts])
    return Compiled(residual.load(), tangent.load(), output.load(), reals, np.array([n, p, ny, w], np.int64), w, True)
