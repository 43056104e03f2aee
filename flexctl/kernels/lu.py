"""LU with partial pivoting: of matrices in a band, and full ones."""

from __future__ import annotations

import numpy as np

from .jit import kernel
from .tables import PLAIN


@kernel(**PLAIN)
def factor(ab, pivots, w):
    """Factor a banded matrix ab[2 w + i - j, j] in place; returns 1 when singular."""
    n = ab.shape[1]
    for j in range(n):
        last = min(j + w, n - 1)
        p = j
        for i in range(j + 1, last + 1):
            if abs(ab[2 * w + i - j, j]) > abs(ab[2 * w + p - j, j]):
                p = i
        pivots[j] = p
        end = min(j + 2 * w, n - 1)
        if p != j:
            for c in range(j, end + 1):
                keep = ab[2 * w + j - c, c]
                ab[2 * w + j - c, c] = ab[2 * w + p - c, c]
                ab[2 * w + p - c, c] = keep
        pivot = ab[2 * w, j]
        if pivot == 0.0 or not np.isfinite(pivot):
            return 1
        for i in range(j + 1, last + 1):
            ab[2 * w + i - j, j] /= pivot
        for c in range(j + 1, end + 1):
            x = ab[2 * w + j - c, c]
            if x != 0.0:
                for i in range(j + 1, last + 1):
                    ab[2 * w + i - c, c] -= ab[2 * w + i - j, j] * x
    return 0


@kernel(**PLAIN)
def swap(b, i, j):
    """Exchange two entries."""
    keep = b[i]
    b[i] = b[j]
    b[j] = keep


@kernel(**PLAIN)
def solve(ab, pivots, w, b):
    """Solve with the factors of `factor`, in place."""
    n = ab.shape[1]
    for j in range(n):
        swap(b, j, pivots[j])
        x = b[j]
        for i in range(j + 1, min(j + w, n - 1) + 1):
            b[i] -= ab[2 * w + i - j, j] * x
    for j in range(n - 1, -1, -1):
        b[j] /= ab[2 * w, j]
        x = b[j]
        for i in range(max(0, j - 2 * w), j):
            b[i] -= ab[2 * w + i - j, j] * x


@kernel(**PLAIN)
def factor_full(A, pivots):
    """Factor a full matrix in place; returns 1 when singular."""
    n = A.shape[0]
    for j in range(n):
        p, largest = j, abs(A[j, j])
        for i in range(j + 1, n):
            if abs(A[i, j]) > largest:
                p, largest = i, abs(A[i, j])
        pivots[j] = p
        if not (largest > 0.0 and np.isfinite(largest)):
            return 1
        if p != j:
            for c in range(n):
                keep = A[j, c]
                A[j, c] = A[p, c]
                A[p, c] = keep
        inverse = 1.0 / A[j, j]
        for i in range(j + 1, n):
            x = A[i, j] * inverse
            A[i, j] = x
            if x != 0.0:
                for c in range(j + 1, n):
                    A[i, c] -= x * A[j, c]
    return 0


@kernel(**PLAIN)
def solve_full(A, pivots, b):
    """Solve with the factors of `factor_full`, in place."""
    n = A.shape[0]
    for j in range(n):
        swap(b, j, pivots[j])
    for i in range(n):
        x = b[i]
        for j in range(i):
            x -= A[i, j] * b[j]
        b[i] = x
    for i in range(n - 1, -1, -1):
        x = b[i]
        for j in range(i + 1, n):
            x -= A[i, j] * b[j]
        b[i] = x / A[i, i]
