"""Assembly of the symmetric band and its factors."""

from __future__ import annotations

import numpy as np

from ....kernels.jit import kernel
from ....kernels.state import PRESCRIBED
from .root import coordinate_of, root_columns, root_matrix
from .state import FAST, INSIDE
from .sweep import element_matrix


@kernel(**INSIDE)
def assemble(beam, ca, cv, cq, work):
    """Fill the band with ca M + cv D + cq K, made symmetric; the blocks must be filled."""
    n, S = beam.sizes[0], work.band
    for i in range(n + 16):
        for j in range(16):
            S[i, j] = 0.0
    for e in range(beam.element.shape[0]):
        l = beam.lefts[e]
        b = l if l >= 0 else beam.links[3 * (-1 - l)]
        element_matrix(beam, e, 6 * b, ca, cv, cq, work)
        if l >= 0:
            first, K = beam.place[6 * b], work.matrix
            for i in range(12):
                for j in range(i, 12):
                    S[first + i, j - i] += K[i, j]
            continue
        l = -1 - l
        root_columns(beam, l, work)
        root_matrix(beam, l, work, cq)
        for i in range(14):
            row = coordinate_of(beam, l, i)
            if row >= 0:
                for j in range(14):
                    column = coordinate_of(beam, l, j)
                    if column >= row:
                        S[row, column - row] += work.root[i, j]
    for l in range(beam.sizes[2]):
        phi = beam.links[3 * l + 1]
        if phi >= 0:
            S[phi, 0] += (ca + cv * beam.numbers[0]) * beam.joint[l, 0] + cq * beam.joint[l, 1] + cv * beam.joint[l, 2]


@kernel(**INSIDE)
def hold(beam, drive, S):
    """Make the equations of prescribed joints the identity."""
    for l in range(drive.size):
        if drive[l] == PRESCRIBED:
            phi = beam.links[3 * l + 1]
            for k in range(16):
                S[phi, k] = 0.0
                if phi >= k:
                    S[phi - k, k] = 0.0
            S[phi, 0] = 1.0


@kernel(**FAST)
def fill_columns(S, T, n):
    """The factors by columns, for the way back: number m of row j acts on entry j - 16 + m."""
    for j in range(n):
        for m in range(16):
            i = j - 16 + m
            T[j, m] = S[i, 16 - m] * S[i, 0] if i >= 0 and m > 0 else 0.0


@kernel(**FAST)
def factorise(S, T, row, n):
    """S = U^T D^-1 U in place, the diagonal inverted; returns whether it failed. `row` holds the pivot's row."""
    for j in range(n):
        pivot = S[j, 0]
        if not abs(pivot) > 0.0:
            return True
        inverse = 1.0 / pivot
        for k in range(16):
            row[k] = S[j, k]
        for i in range(1, 16):
            c = row[i] * inverse
            if c != 0.0:
                for k in range(16):
                    S[j + i, k] -= c * row[i + k]
        S[j, 0] = inverse
    fill_columns(S, T, n)
    return not np.isfinite(S[n - 1, 0])


@kernel(**FAST)
def substitute(S, T, n, b):
    """Solve with the factors; b has 16 more numbers before and behind its n entries.

    Both ways add multiples of rows: sums of products would wait for the entry that was stored just before.
    """
    for j in range(n):
        c = b[j + 16] * S[j, 0]
        for k in range(17, 33):
            b[j + k] -= c * S[j, k - 16]
        b[j + 16] = c
    for j in range(n - 1, -1, -1):
        c = b[j + 16]
        for m in range(16):
            b[j + m] -= c * T[j, m]


@kernel(**FAST)
def largest(r, n):
    """Largest entry; infinite if one is not a number."""
    size, total = 0.0, 0.0
    for i in range(n):
        size = max(size, abs(r[i]))
        total += r[i]
    return size if np.isfinite(total) else np.inf
