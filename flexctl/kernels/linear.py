"""Residual, tangent and output of M a + D v + K q = B u with banded matrices, for the time loop.

ints = [n, p, ny, w, number of turned outputs, whether each output is turned]; reals = M, D, K (each (2 w + 1) x n, row
w + i - j, column j), B (n x p), output rows for q, v, a (ny x n) and u (ny x p), turned outputs (`model.Turned`), all
row after row.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..model import Compiled, FloatArray, OutputTangent, Turned
from .jit import entry, kernel
from .model import OUTPUT, RESIDUAL, TANGENT


@entry(RESIDUAL)
def residual(t, q, v, a, u, reals, ints, out):
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
def tangent(t, q, v, a, u, ca, cv, cq, reals, ints, out):
    """ca M + cv D + cq K; the rows that only pivoting fills are cleared."""
    n, w = ints[0], ints[3]
    size = (2 * w + 1) * n
    out[:] = 0.0
    for d in range(2 * w + 1):
        for j in range(n):
            e = d * n + j
            out[w + d, j] = ca * reals[e] + cv * reals[size + e] + cq * reals[2 * size + e]


@kernel
def turn(rows, y):
    """Overwrite the turned outputs, one for each row of `rows`; `model.turn` is the same in numpy."""
    for k in range(rows.shape[0]):
        one, less = y[int(rows[k, 2])], int(rows[k, 3])
        value = np.sin(one) if rows[k, 1] else np.cos(one)
        if less >= 0:
            value -= np.sin(y[less]) if rows[k, 1] else np.cos(y[less])
        y[int(rows[k, 0])] = rows[k, 4] * value


@entry(OUTPUT)
def output(q, v, a, u, reals, ints, y):
    """Cq q + Cv v + Ca a + Du u, and the turned outputs."""
    n, p, ny, w, turned = ints[0], ints[1], ints[2], ints[3], ints[4]
    start = 3 * (2 * w + 1) * n + n * p
    for i in range(ny):
        if ints[5 + i]:
            continue
        total = 0.0
        for j in range(n):
            e = start + i * n + j
            total += reals[e] * q[j] + reals[e + ny * n] * v[j] + reals[e + 2 * ny * n] * a[j]
        for j in range(p):
            total += reals[start + 3 * ny * n + i * p + j] * u[j]
        y[i] = total
    if turned:
        last = start + ny * (3 * n + p)
        turn(reals[last : last + 5 * turned].reshape(turned, 5), y)


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


def table(turned: Sequence[Turned]) -> FloatArray:
    """Return the rows that the kernel `turn` reads."""
    return np.array(turned, float).reshape(-1, len(Turned._fields))


def compiled(
    M: FloatArray, D: FloatArray, K: FloatArray, B: FloatArray, sensors: OutputTangent, turned: Sequence[Turned] = ()
) -> Compiled:
    """Return the compiled linear model."""
    w = bandwidth(M, D, K)
    n, p, ny = M.shape[0], B.shape[1], sensors.position.shape[0]
    parts = [banded(m, w) for m in (M, D, K)] + [B, *sensors, table(turned)]
    reals = np.concatenate([np.ascontiguousarray(m, float).ravel() for m in parts])
    bent = np.isin(np.arange(ny), [one.row for one in turned])
    ints = np.array([n, p, ny, w, len(turned), *bent], np.int64)
    return Compiled(residual.load(), tangent.load(), output.load(), reals, ints, w, True)
