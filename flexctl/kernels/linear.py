"""Residual, tangent and output of M a + D v + K q = B u with banded matrices, for the time loop.

reals = M, D, K (each (2 w + 1) x n, row w + i - j, column j), B (n x p), turned outputs (`model.Turned`), row after
row, and the entries of the output rows that are not zero: sensors read few coordinates. ints = [n, p, ny, w, number of
turned outputs, where the entries of each output for q, v, a and u begin (4 ny + 1 numbers), their columns].
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..model import Compiled, FloatArray, OutputTangent, Turned
from .ahead import together
from .jit import entry, kernel
from .model import OUTPUT, RESIDUAL, TANGENT
from .tables import FAST
from .trig import cosine_sine

HEAD = 5
"""Numbers before the places of the entries of the output rows."""


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


@kernel
def read(q, v, a, u, values, places, y):
    """Cq q + Cv v + Ca a + Du u, by `entries`."""
    columns = 4 * y.size + 1
    for i in range(y.size):
        total, at = 0.0, 4 * i
        for e in range(places[at], places[at + 1]):
            total += values[e] * q[places[columns + e]]
        for e in range(places[at + 1], places[at + 2]):
            total += values[e] * v[places[columns + e]]
        for e in range(places[at + 2], places[at + 3]):
            total += values[e] * a[places[columns + e]]
        for e in range(places[at + 3], places[at + 4]):
            total += values[e] * u[places[columns + e]]
        y[i] = total


@kernel(**FAST)
def turn_all(rows, first, last, y):
    """Overwrite the turned outputs of readings (points, outputs) from one point to another.

    Those of one point are made of few angles, which stand behind each other in the table.
    """
    for k in range(first, last + 1):
        one, two, c1, s1, c2, s2 = -1, -1, 1.0, 0.0, 0.0, 0.0
        for r in range(rows.shape[0]):
            angle, less = int(rows[r, 2]), int(rows[r, 3])
            if angle != one:
                one, (c1, s1) = angle, cosine_sine(y[k, angle])
            if less != two:
                two, (c2, s2) = less, (cosine_sine(y[k, less]) if less >= 0 else (0.0, 0.0))
            y[k, int(rows[r, 0])] = rows[r, 4] * (s1 - s2 if rows[r, 1] != 0.0 else c1 - c2)


@entry(OUTPUT)
def output(q, v, a, u, reals, ints, y):
    """Cq q + Cv v + Ca a + Du u, and the turned outputs."""
    n, p, w, turned = ints[0], ints[1], ints[3], ints[4]
    last = 3 * (2 * w + 1) * n + n * p
    values = last + 5 * turned
    read(q, v, a, u, reals[values:], ints[HEAD:], y)
    if turned:
        turn(reals[last:values].reshape(turned, 5), y)


def bandwidth(*matrices: FloatArray) -> int:
    """Return the largest |i - j| of a non-zero entry."""
    widths = [0]
    for matrix in matrices:
        i, j = np.nonzero(matrix)
        if i.size:
            widths.append(int(np.abs(i - j).max()))
    return max(widths)


def banded(matrix: FloatArray, w: int) -> FloatArray:
    """Return band storage, row w + i - j, column j."""
    n = matrix.shape[0]
    out = np.zeros((2 * w + 1, n))
    for d in range(-w, w + 1):
        j = np.arange(max(0, -d), min(n, n - d))
        out[w + d, j] = matrix[j + d, j]
    return out


def diagonals(matrix: FloatArray) -> FloatArray:
    """Return the diagonals between the outermost ones that are not zero, row w + j - i, column i; none of no matrix."""
    if not matrix.any():
        return np.zeros((0, len(matrix)))
    return banded(matrix.T, bandwidth(matrix))


def table(turned: Sequence[Turned]) -> FloatArray:
    """Return the rows that the kernel `turn` reads."""
    return np.array(turned, float).reshape(-1, len(Turned._fields))


def entries(sensors: OutputTangent, bent: Sequence[int]) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """Return the entries of the output rows that are not zero, where those of each row begin, and their columns.

    Those of the rows `bent` are left out.
    """
    rows, widths = np.hstack(sensors), [part.shape[1] for part in sensors]
    rows[list(bent)] = 0.0
    row, column = np.nonzero(rows)
    begins = np.concatenate([[0], np.cumsum(widths)])
    firsts = (np.arange(len(rows))[:, None] * begins[-1] + begins[:-1]).ravel()
    starts = np.searchsorted(row * begins[-1] + column, np.append(firsts, rows.size))
    part = np.searchsorted(begins, column, side="right") - 1
    return rows[row, column], np.concatenate([starts, column - begins[part]])


def compiled(
    M: FloatArray, D: FloatArray, K: FloatArray, B: FloatArray, sensors: OutputTangent, turned: Sequence[Turned] = ()
) -> Compiled:
    """Return the compiled linear model."""
    w = bandwidth(M, D, K)
    n, p, ny = M.shape[0], B.shape[1], sensors.position.shape[0]
    values, places = entries(sensors, [one.row for one in turned])
    parts = [banded(m, w) for m in (M, D, K)] + [B, table(turned), values]
    reals = np.concatenate([np.ascontiguousarray(m, float).ravel() for m in parts])
    ints = np.concatenate([[n, p, ny, w, len(turned)], places]).astype(np.int64)
    together(residual, tangent, output)
    return Compiled(residual.load(), tangent.load(), output.load(), reals, ints, w, True)
