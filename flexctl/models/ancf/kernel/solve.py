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
    for i in range(S.shape[0]):
        for j in range(16):
            S[i, j] = 0.0
    for i in range(n, n + 3):  # of the last four pivots
        S[i, 0] = 1.0
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
def factorise(S, T, R, n):
    """S = U^T D^-1 U in place, the diagonal inverted; returns whether it failed. Four pivots at a time.

    T holds the factors by columns, for the way back: its number m of row j acts on entry j - 20 + m. R is scratch.
    One pivot after the other would wait for the row that has just been stored.
    """
    for j in range(0, n, 4):
        s1, s2, s3 = S[j, 1], S[j, 2], S[j, 3]
        p0 = S[j, 0]
        i0 = 1.0 / p0
        a1, a2, a3 = s1 * i0, s2 * i0, s3 * i0
        p1, t2, t3 = S[j + 1, 0] - a1 * s1, S[j + 1, 1] - a1 * s2, S[j + 1, 2] - a1 * s3
        i1 = 1.0 / p1
        b2, b3 = t2 * i1, t3 * i1
        p2, u3 = S[j + 2, 0] - a2 * s2 - b2 * t2, S[j + 2, 1] - a2 * s3 - b2 * t3
        i2 = 1.0 / p2
        c3 = u3 * i2
        p3 = S[j + 3, 0] - a3 * s3 - b3 * t3 - c3 * u3
        i3 = 1.0 / p3
        if not (abs(p0) > 0.0 and abs(p1) > 0.0 and abs(p2) > 0.0 and abs(p3) > 0.0):
            return True
        # rows of the pivots, each without those before it
        y2, y3 = a2 - b2 * a1, b3 - c3 * b2
        z3 = a3 - b3 * a1 - c3 * y2
        for k in range(20):
            R[0, k] = S[j, k]
            R[1, k] = S[j + 1, k] - a1 * S[j, k + 1]
            R[2, k] = S[j + 2, k] - y2 * S[j, k + 2] - b2 * S[j + 1, k + 1]
            R[3, k] = S[j + 3, k] - z3 * S[j, k + 3] - y3 * S[j + 1, k + 2] - c3 * S[j + 2, k + 1]
        T[j + 1, 19], T[j + 2, 18], T[j + 2, 19] = a1, a2, b2
        T[j + 3, 17], T[j + 3, 18], T[j + 3, 19] = a3, b3, c3
        for i in range(4, 19):
            d0, d1, d2, d3 = R[0, i] * i0, R[1, i - 1] * i1, R[2, i - 2] * i2, R[3, i - 3] * i3
            T[j + i, 20 - i], T[j + i, 21 - i], T[j + i, 22 - i], T[j + i, 23 - i] = d0, d1, d2, d3
            if d0 != 0.0 or d1 != 0.0 or d2 != 0.0 or d3 != 0.0:
                for k in range(16):
                    S[j + i, k] -= d0 * R[0, i + k] + d1 * R[1, i - 1 + k] + d2 * R[2, i - 2 + k] + d3 * R[3, i - 3 + k]
        for k in range(16):
            S[j + 1, k], S[j + 2, k], S[j + 3, k] = R[1, k], R[2, k], R[3, k]
        S[j, 0], S[j + 1, 0], S[j + 2, 0], S[j + 3, 0] = i0, i1, i2, i3
    return not np.isfinite(S[n - 1, 0])


@kernel(**FAST)
def substitute(S, T, n, b):
    """Solve with the factors; b has 16 more numbers before and 20 behind its n entries.

    Both ways add multiples of rows, four at a time: what is added to has been stored just before, and waits for it.
    The rows, 32 and 24 wide, are one behind the other in s, t, for loops over two arrays vectorise; those of a known
    length as short as 16 do not.
    """
    rows, columns, width = S.reshape(S.size), T.reshape(T.size), S.shape[1] - 16
    for j in range(0, n, 4):
        s, x = rows[32 * j : 32 * j + 128], b[j + 16 : j + 36]
        c0 = x[0] * s[0]
        c1 = (x[1] - c0 * s[1]) * s[32]
        c2 = (x[2] - c0 * s[2] - c1 * s[33]) * s[64]
        c3 = (x[3] - c0 * s[3] - c1 * s[34] - c2 * s[65]) * s[96]
        for k in range(width):
            x[4 + k] -= c0 * s[4 + k] + c1 * s[35 + k] + c2 * s[66 + k] + c3 * s[97 + k]
        x[0], x[1], x[2], x[3] = c0, c1, c2, c3
    for j in range((n - 1) // 4 * 4, -1, -4):
        t, x = columns[24 * j : 24 * j + 96], b[j : j + 20]
        c3 = x[19]
        c2 = x[18] - c3 * t[91]
        c1 = x[17] - c3 * t[90] - c2 * t[67]
        c0 = x[16] - c3 * t[89] - c2 * t[66] - c1 * t[43]
        for m in range(width):
            x[m] -= c0 * t[4 + m] + c1 * t[27 + m] + c2 * t[50 + m] + c3 * t[73 + m]
        x[16], x[17], x[18] = c0, c1, c2


@kernel(**FAST)
def largest(r, n):
    """Largest entry; infinite if one is not a number."""
    size, total = 0.0, 0.0
    for i in range(n):
        size = max(size, abs(r[i]))
        total += r[i]
    return size if np.isfinite(total) else np.inf
