"""Undamped natural frequencies below a frequency, counted."""

from __future__ import annotations

import numpy as np
from numba import float64, int64

from ....kernels.arrays import RINT, RMAT
from ....kernels.jit import entry, kernel
from .columns import Array
from .piece import DRIVE, MASS, PIECE, SPRING, TURN, At, bending, pair, scaled


@kernel(error_model="numpy")
def stiffened(F: Array, B: Array, D: Array, G: Array, S: Array, wide: Array) -> int:
    """Replace the dynamic stiffness S of what lies outboard by that seen inboard of a short element.

    d_in = F d_out + B f_out, f_in = G d_out + D f_out and f_out = -S d_out. Returns the number of negative eigenvalues
    of S + (-B^-1 F), the stiffness of the section between with the inboard end held: those of [[F^-1 B, 1], [1, S]]
    less three, since the element by itself is stable. B = 0 is a rigid element.
    """
    flexible = np.linalg.solve(F, B)
    for i in range(3):
        for j in range(3):
            wide[i, j] = 0.5 * (flexible[i, j] + flexible[j, i])
            wide[3 + i, 3 + j] = S[i, j]
            wide[i, 3 + j] = wide[3 + i, j] = 1.0 if i == j else 0.0
    negative = int(np.sum(np.linalg.eigvalsh(wide) < 0.0)) - 3
    seen = -np.linalg.solve((F - B @ S).T, (G - D @ S).T).T
    for i in range(3):
        for j in range(3):
            S[i, j] = 0.5 * (seen[i, j] + seen[j, i])
    return negative


@entry(int64(RINT, RMAT, float64, float64, float64), error_model="numpy")
def count_below(kind: Array, values: Array, omega: float, l: float, E0: float) -> int:
    """Return the number of undamped natural frequencies below omega, those of rigid-body motion included.

    Wittrick and Williams: the negative pivots of the dynamic stiffness, eliminated from the tip inwards. Pieces are cut
    so short (lambda h <= 1) that none has a natural frequency of its own with both ends held. A joint driven by motion
    is held.
    """
    sigma = complex(-omega * omega)
    S, wide, U = np.zeros((3, 3)), np.zeros((6, 6)), np.zeros((4, 4), np.complex128)
    F, B, D, G = np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((3, 3))
    total = 0
    for k in range(kind.size - 1, -1, -1):
        v = values[k]
        if kind[k] == MASS:
            m, J = sigma.real * v[0] * l * l * l / E0, sigma.real * v[1] * l / E0
            S[0, 0] += m
            S[1, 1] += m
            S[2, 2] += J
        elif kind[k] == TURN:
            R = np.array([[v[0], -v[1], 0.0], [v[1], v[0], 0.0], [0.0, 0.0, 1.0]])
            S[:] = R @ S @ R.T
        elif kind[k] == SPRING:
            F[:] = D[:] = np.eye(3)
            B[:] = G[:] = 0.0
            B[2, 2] = -E0 / (l * v[0])
            total += stiffened(F, B, D, G, S, wide)
        elif kind[k] == DRIVE:
            Z = (v[1] + sigma.real * v[0]) * l / E0
            pivot = S[2, 2] + Z
            total += 1 if pivot < 0.0 else 0
            a, b, t = S[0, 2], S[1, 2], S[2, 2]
            S[0, 0] -= a * a / pivot
            S[1, 1] -= b * b / pivot
            S[0, 1] -= a * b / pivot
            S[1, 0] = S[0, 1]
            S[0, 2] = S[2, 0] = a * (Z / pivot)
            S[1, 2] = S[2, 1] = b * (Z / pivot)
            S[2, 2] = t * (Z / pivot)
        elif kind[k] == PIECE:
            h, rA, rI, ca, cs, cb = scaled(v, At(0j, sigma, l, E0))
            T, P = abs(cs * rA + rI * cb), abs(rA * cb * (1.0 + rI * cs))
            fastest = np.sqrt(max(0.5 * (T + np.sqrt(T * T + 4.0 * P)), abs(ca * rA)))
            parts = max(1, int(np.ceil(fastest * h)))
            h /= parts
            bending(h, rA, rI, cs, cb, U)
            c, d = pair(ca * rA * h * h, h)
            for X in (F, B, D, G):
                X[:] = 0.0
            F[0, 0] = D[0, 0] = 1.0 + c.real
            B[0, 0], G[0, 0] = -(ca * (h + d)).real, -(rA * (h + d)).real
            signs = (1.0, -1.0, -1.0, 1.0)  # w, M are even, theta, Q odd
            for i in range(4):
                for j in range(4):
                    e = U[i, j].real * signs[i] * signs[j] + (1.0 if i == j else 0.0)
                    if i < 2 and j < 2:
                        F[1 + i, 1 + j] = e
                    elif i < 2:
                        B[1 + i, j - 1] = e
                    elif j < 2:
                        G[i - 1, 1 + j] = e
                    else:
                        D[i - 1, j - 1] = e
            F[1, 2] -= h
            D[2, 1] += h
            for _ in range(parts):
                total += stiffened(F, B, D, G, S, wide)
    return total
