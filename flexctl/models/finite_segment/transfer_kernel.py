"""The 7 x 7 transfer matrices of `models.finite_segment.transfer`, one step after the other.

z = (x, y, theta, M, qx, qy, 1); matrix 2 k is the hinge before body k, matrix 2 k + 1 the body. Written to be read
beside the paper, not for speed: the fast form is `finite_segment.stepper`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import float64, int64, types

from ...kernels.groups import group
from ...kernels.jit import entry, kernel
from ...kernels.tables import INT, MAT

CUBE = float64[:, :, ::1]
X, Y, THETA, XC, YC = range(5)


class Settings(NamedTuple):
    """Newmark's numbers, what acts on all bodies, and when Newton stops."""

    step: float
    beta: float
    gamma: float
    alpha: float
    gx: float
    gy: float
    tolerance: float
    passes: float


SETTINGS = types.NamedUniTuple(float64, 8, Settings)
DONE, NOT_CONVERGED, DIVERGED = 0, 1, 2


@kernel
def table_one(set_, r, v, a, B, D):
    """B and D of Table I: r'' = A r + B, r' = C r + D, with A = 1 / (beta dt^2), C = gamma / (beta dt)."""
    dt, beta, gamma = set_.step, set_.beta, set_.gamma
    A = 1.0 / (beta * dt * dt)
    for i in range(r.shape[0]):
        for k in range(r.shape[1]):
            B[i, k] = A * (-r[i, k] - v[i, k] * dt - (0.5 - beta) * a[i, k] * dt * dt)
            D[i, k] = v[i, k] + (1.0 - gamma) * a[i, k] * dt + gamma * B[i, k] * dt


@kernel
def hinge(set_, K, damper, slip, turn, U):
    """Spring (10) with a damper, or (K = 0) the active joint (11) with the angle `turn`.

    M = K (theta_O - theta_I) + damper (theta_O - theta_I)', where the rate is C (theta_O - theta_I) + slip.
    """
    U[:] = 0.0
    for i in range(7):
        U[i, i] = 1.0
    if K == 0.0:
        U[2, 6] = turn
        return
    stiff = K + damper * set_.gamma / (set_.beta * set_.step)
    U[2, 3] = 1.0 / stiff
    U[2, 6] = -damper * slip / stiff


@kernel
def rigid(set_, body, B, iterate, th, G1, G2, U):
    """The rigid segment (9), body = (l, d, m, J about the inboard end), expanded about the angle th.

    B are Table I's of (x, y, theta, xC, yC). `iterate` holds x'', y'' of the inboard end and qx, qy of the outboard
    end: with them the products of unknowns are linearised exactly (Newton); zeros leave them lagging (the paper).
    """
    l, d, m, J = body[0], body[1], body[2], body[3]
    A = 1.0 / (set_.beta * set_.step**2) + set_.alpha * set_.gamma / (set_.beta * set_.step)
    c, s = np.cos(th), np.sin(th)
    xC, yC, xO, yO = d * c, d * s, l * c, l * s
    fx, fy = m * set_.gx, m * set_.gy
    U[:] = 0.0
    for i in range(7):
        U[i, i] = 1.0  # u44 = 1 is missing in the printed (9)
    U[0, 2], U[0, 6] = -l * s, l * G1
    U[1, 2], U[1, 6] = l * c, l * G2
    U[4, 0], U[4, 2], U[4, 6] = -m * A, m * A * d * s, fx - m * A * d * G1 - m * B[XC]
    U[5, 1], U[5, 2], U[5, 6] = -m * A, -m * A * d * c, fy - m * A * d * G2 - m * B[YC]
    U[3, 0], U[3, 1] = m * A * (yO - yC), m * A * (xC - xO)
    U[3, 2] = J * A - yO * U[4, 2] + xO * U[5, 2]
    U[3, 4], U[3, 5] = -yO, xO
    U[3, 6] = J * B[THETA] + m * xC * B[Y] - m * yC * B[X] - yO * U[4, 6] + xO * U[5, 6] + fx * yC - fy * xC
    e = -m * yC * iterate[1] - m * xC * iterate[0] - iterate[2] * xO - iterate[3] * yO
    if iterate[4] != 0.0:
        e += fx * xC + fy * yC
    U[3, 2] += e
    U[3, 6] -= e * th


@kernel
def solve3(a, b):
    """Solve 3 x 3 with partial pivoting; both are overwritten. False when singular."""
    for j in range(3):
        p = j
        for i in range(j + 1, 3):
            if abs(a[i, j]) > abs(a[p, j]):
                p = i
        if a[p, j] == 0.0 or not np.isfinite(a[p, j]):
            return False
        for c in range(3):
            a[j, c], a[p, c] = a[p, c], a[j, c]
        b[j], b[p] = b[p], b[j]
        for i in range(j + 1, 3):
            f = a[i, j] / a[j, j]
            for c in range(j, 3):
                a[i, c] -= f * a[j, c]
            b[i] -= f * b[j]
    for j in range(2, -1, -1):
        for c in range(j + 1, 3):
            b[j] -= a[j, c] * b[c]
        b[j] /= a[j, j]
    return True


@kernel
def product(U, z):
    """Overall transfer matrix (12), boundary conditions (15), then z along the chain (rows of z)."""
    T, P = np.eye(7), np.empty((7, 7))
    for k in range(U.shape[0]):
        for i in range(7):
            for j in range(7):
                total = 0.0
                for c in range(7):
                    total += U[k, i, c] * T[c, j]
                P[i, j] = total
        T, P = P, T
    a, b = T[3:6, 3:6].copy(), -T[3:6, 6].copy()
    if not solve3(a, b):
        return False
    z[0] = 0.0
    z[0, 3], z[0, 4], z[0, 5], z[0, 6] = b[0], b[1], b[2], 1.0
    for k in range(U.shape[0]):
        for i in range(7):
            total = 0.0
            for c in range(7):
                total += U[k, i, c] * z[k, c]
            z[k + 1, i] = total
    return True


@kernel
def riccati(U, S, z):
    """The same without growth: f = S d + T at every station, d = (x, y, theta), f = (M, qx, qy), from the tip inwards.

    S[k] holds S and T side by side, 3 x 4, of the inboard end of matrix k; nothing pulls at the tip.
    """
    n = U.shape[0]
    S[n] = 0.0
    left, right = np.empty((3, 3)), np.empty(3)
    for k in range(n - 1, -1, -1):
        for column in range(4):
            at = column if column < 3 else 6
            for i in range(3):
                total = -U[k, 3 + i, at] + (S[k + 1, i, 3] if column == 3 else 0.0)
                for c in range(3):
                    total += S[k + 1, i, c] * U[k, c, at]
                right[i] = total
                for j in range(3):
                    left[i, j] = U[k, 3 + i, 3 + j]
                    for c in range(3):
                        left[i, j] -= S[k + 1, i, c] * U[k, c, 3 + j]
            if not solve3(left, right):
                return False
            for i in range(3):
                S[k, i, column] = right[i]
    z[0] = 0.0
    for k in range(n + 1):
        if k > 0:
            for i in range(3):
                total = U[k - 1, i, 6]
                for c in range(6):
                    total += U[k - 1, i, c] * z[k - 1, c]
                z[k, i] = total
        for i in range(3):
            z[k, 3 + i] = S[k, i, 3]
            for c in range(3):
                z[k, 3 + i] += S[k, i, c] * z[k, c]
        z[k, 6] = 1.0
    return True


class Chain(NamedTuple):
    """n bodies from the base outwards, each behind a hinge."""

    bodies: np.ndarray  # rows (l, d, m, J_I)
    hinges: np.ndarray  # rows (K, damper)
    joint_of: np.ndarray  # number of the joint at the hinge, or -1


class State(NamedTuple):
    """Rows x, y, theta, xC, yC of the bodies, their rates and accelerations."""

    r: np.ndarray
    v: np.ndarray
    a: np.ndarray


CHAIN, STATE = group((MAT, MAT, INT), Chain), group((MAT,) * 3, State)


@entry(types.UniTuple(float64, 3)(SETTINGS, int64, int64, CHAIN, MAT, STATE, MAT, MAT))
def run(set_, robust, newton, chain, command, state, out, tips):
    """Fill the angles of all bodies (rows of out) and the tip (rows of tips) at every step; returns (status, step, d).

    command: angle of each joint at every step; state: at the start, is moved on.
    """
    (bodies, hinges, joint_of), (r, v, a) = chain, state
    n, dt, A = bodies.shape[0], set_.step, 1.0 / (set_.beta * set_.step**2)
    C = set_.gamma / (set_.beta * dt)
    U, S, z = np.zeros((2 * n, 7, 7)), np.zeros((2 * n + 1, 3, 4)), np.zeros((2 * n + 1, 7))
    B, D, column = np.zeros((5, n)), np.zeros((5, n)), np.zeros(5)
    th, iterate, change = np.empty(n), np.zeros((n, 5)), 0.0
    for step in range(1, out.shape[0]):
        table_one(set_, r, v, a, B, D)
        for k in range(n):
            th[k] = r[THETA, k]
            if newton == 1:
                th[k] += dt * v[THETA, k] + 0.5 * dt * dt * a[THETA, k]
                iterate[k, 0], iterate[k, 1] = a[X, k] + set_.alpha * v[X, k], a[Y, k] + set_.alpha * v[Y, k]
                iterate[k, 2], iterate[k, 3], iterate[k, 4] = z[2 * k + 2, 4], z[2 * k + 2, 5], 1.0
        count, change = 0, np.inf
        while count == 0 or (newton == 1 and not change <= set_.tolerance):
            if count >= set_.passes:
                return 1.0, float(step), change
            count += 1
            for k in range(n):
                turn = command[step, joint_of[k]] if joint_of[k] >= 0 else 0.0
                slip = D[THETA, k] - (D[THETA, k - 1] if k > 0 else 0.0)
                hinge(set_, hinges[k, 0], hinges[k, 1], slip, turn, U[2 * k])
                c, s = np.cos(th[k]), np.sin(th[k])
                second = 0.0 if newton == 1 else 0.5 * (v[THETA, k] * dt) ** 2
                G1, G2 = c * (1.0 - second) + th[k] * s, s * (1.0 - second) - th[k] * c
                for i in range(5):
                    column[i] = B[i, k] + set_.alpha * D[i, k]
                rigid(set_, bodies[k], column, iterate[k], th[k], G1, G2, U[2 * k + 1])
            if not (riccati(U, S, z) if robust == 1 else product(U, z)):
                return 2.0, float(step), np.inf
            change = 0.0
            for k in range(n):
                new = z[2 * k + 1]
                change = max(change, abs(new[2] - th[k])) if np.isfinite(new[2]) else np.inf
                th[k] = new[2]
                if newton == 1:
                    for i in range(2):
                        accel = A * new[i] + B[i, k]
                        iterate[k, i] = accel + set_.alpha * (C * new[i] + D[i, k])
                        iterate[k, 2 + i] = z[2 * k + 2, 4 + i]
            if not np.isfinite(change):
                return 2.0, float(step), np.inf
        for k in range(n):
            new = z[2 * k + 1]
            d = bodies[k, 1]
            column[0], column[1], column[2] = new[0], new[1], new[2]
            column[3], column[4] = new[0] + d * np.cos(new[2]), new[1] + d * np.sin(new[2])
            for i in range(5):
                value = column[i]
                r[i, k] = value
                a[i, k] = A * value + B[i, k]
                v[i, k] = C * value + D[i, k]
            out[step, k] = new[2]
        tips[step, 0], tips[step, 1] = z[2 * n, 0], z[2 * n, 1]
        if not abs(z[2 * n, 2]) <= 1e6:
            return 2.0, float(step), change
    return 0.0, float(out.shape[0]), change
