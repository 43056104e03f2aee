"""Column operations on the states of a chain: elimination, joints that turn, the base."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ....kernels.jit import kernel

Array = npt.NDArray[Any]


@kernel(error_model="numpy")
def eliminate(near: Array, rows: int, weight: Array, columns: int, C: Array, E: Array, work: Array) -> Any:
    """Make three rows of [Z G] unit rows of Z and zero rows of G by column operations; return their determinant.

    Parameters
    ----------
    near : ndarray (6, 3 + p)
        Z and G side by side, overwritten.
    rows : int
        Rows of `near` to choose from.
    weight : ndarray (6)
        Logarithm of the growth of each row.
    columns : int
        Columns in use.
    C, E : ndarray (3, 3), (3, p)
        Result: old coefficients = C new - E v.
    work : ndarray (3) of int
        Result: row of each column.

    Returns
    -------
    phase, size
        Product of the pivots: of modulus 1, and logarithm of its modulus.
    """
    for a in range(3):
        work[a] = -1
        for b in range(3):
            C[a, b] = 1.0 if a == b else 0.0
        for b in range(E.shape[1]):
            E[a, b] = 0.0
    weighted = False
    for i in range(rows):
        weighted = weighted or weight[i] != 0.0
    phase, size = 1.0 + 0j, 0.0
    for _ in range(3):
        best, row, column = -np.inf, 0, 0
        for i in range(rows):
            if work[0] == i or work[1] == i or work[2] == i:
                continue
            for j in range(3):
                if work[j] >= 0:
                    continue
                value = near[i, j].real ** 2 + near[i, j].imag ** 2
                if weighted:
                    value = 0.5 * np.log(value) + weight[i] if value > 0.0 else -1e300
                if value > best:
                    best, row, column = value, i, j
        work[column] = row
        pivot = near[row, column]
        modulus = abs(pivot)
        if not modulus > 0.0:  # a pole to the last digit; division of a complex number by zero would raise
            pivot, modulus = complex(np.nan, np.nan), np.nan
        phase *= pivot / modulus
        size += np.log(modulus)
        inverse = 1.0 / pivot
        for i in range(6):
            near[i, column] *= inverse
        for i in range(3):
            C[i, column] *= inverse
        for j in range(columns):
            if j == column:
                continue
            factor = near[row, j]
            if factor == 0.0:
                continue
            for i in range(6):
                near[i, j] -= factor * near[i, column]
            near[row, j] = 0.0
            for i in range(3):
                if j < 3:
                    C[i, j] -= factor * C[i, column]
                else:
                    E[i, j - 3] += factor * C[i, column]
        near[row, column] = 1.0
    return phase, size


@kernel(error_model="numpy")
def release(z: Array, Z: complex, columns: int, torque: float, C: Array, E: Array, turn: Array) -> Any:
    """Let a joint turn by x: M - Z x + torque = 0, the torque acting in the last column; x joins the coefficients.

    Of the four coefficients (y, x) the one that the condition determines best is eliminated: C, E are as in
    `eliminate`, and `turn` (3 + p) gives x from the new coefficients and the inputs.
    """
    best, pivot = abs(Z), 3
    for k in range(3):
        norm = 0.0
        for i in range(6):
            norm = max(norm, abs(z[i, k]))
        if abs(z[5, k]) > best * norm:
            best, pivot = abs(z[5, k]) / norm, k
    value = -Z if pivot == 3 else z[5, pivot]
    if value == 0.0:
        value = complex(np.nan, np.nan)
    for b in range(3):
        old = b if b < pivot else b + 1  # the coefficient that becomes number b
        part = (-Z if old == 3 else z[5, old]) / value
        for a in range(3):
            C[a, b] = 1.0 if a == old else (-part if a == pivot else 0.0)
        turn[b] = 1.0 if old == 3 else (-part if pivot == 3 else 0.0)
    for j in range(3, columns):
        part = (z[5, j] + (torque if j == columns - 1 else 0.0)) / value
        for a in range(3):
            E[a, j - 3] = part if a == pivot else 0.0
        turn[j] = -part if pivot == 3 else 0.0
    return value if pivot % 2 == 0 else -value


@kernel(error_model="numpy")
def through_joint(
    z: Array, Z: complex, columns: int, torque: float, C: Array, E: Array, turn: Array, near: Array
) -> None:
    """Carry the columns of z through a joint that turns: theta inboard = theta - x, and M = Z x - torque exactly."""
    for j in range(columns):
        for i in range(6):
            total = 0j if j < 3 else z[i, j]
            for a in range(3):
                total += z[i, a] * (C[a, j] if j < 3 else -E[a, j - 3])
            near[i, j] = total
        near[2, j] -= turn[j]
        near[5, j] = Z * turn[j] - (torque if j == columns - 1 else 0.0)


@kernel(error_model="numpy")
def hold_base(z: Array, columns: int, free: bool, near: Array, E: Array, y: Array, work: Array) -> Any:
    """Hold the base: coefficients y of every input, or of the free vibration; return the determinant."""
    C, nothing = np.zeros((3, 3), np.complex128), np.zeros(6)
    near[:] = 0.0
    for i in range(3):
        for j in range(columns):
            near[i, j] = z[i, j]
    if free:
        best = -1.0
        for a in range(3):
            b, c = (a + 1) % 3, (a + 2) % 3
            norm = 0.0
            for i in range(3):
                k, m = (i + 1) % 3, (i + 2) % 3
                C[a, i] = z[b, k] * z[c, m] - z[b, m] * z[c, k]
                norm += abs(C[a, i]) ** 2
            if norm > best:
                best = norm
                for i in range(3):
                    y[i, 0] = C[a, i] / np.sqrt(norm)
        return 0j, -np.inf
    phase, size = eliminate(near, 3, nothing, columns, C, E, work)
    for i in range(3):
        for j in range(y.shape[1]):
            y[i, j] = -E[i, j]
    odd = (work[0] > work[1]) != ((work[0] > work[2]) != (work[1] > work[2]))
    return -phase if odd else phase, size


@kernel(error_model="numpy")
def state_of(z: Array, y: Array, out: Array) -> None:
    """Put the states of a section for every input into out."""
    for i in range(6):
        for j in range(y.shape[1]):
            out[i, j] = z[i, 3 + j] + z[i, 0] * y[0, j] + z[i, 1] * y[1, j] + z[i, 2] * y[2, j]
