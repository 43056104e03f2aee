"""One piece of a beam at a complex frequency: its series where it is short against its waves, else the waves."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ....kernels.jit import kernel
from .columns import Array, eliminate

PIECE, MASS, TURN, SPRING, DRIVE, MOTION, LOAD = range(7)


TERMS = 13  # of the series: the last is below 4^13/26! = 2e-19


NEAR = 4.0  # |lambda h|^2 up to which the series serve


class At(NamedTuple):
    """Where the chain is evaluated: s, s^2 + alpha s, and the units of length and bending stiffness."""

    s: complex
    sigma: complex
    l: float
    E0: float


@kernel(error_model="numpy")
def pair(X: complex, h: float) -> Any:
    """Return cosh(lambda h) - 1 and sinh(lambda h)/lambda - h for X = (lambda h)^2, |X| <= 4."""
    c, d, term = 0j, 0j, 1.0 + 0j
    for m in range(1, TERMS):
        term *= X / ((2 * m - 1) * (2 * m))
        c += term
        d += term / (2 * m + 1)
    return c, h * d


@kernel(error_model="numpy")
def bending(h: float, rA: complex, rI: complex, cs: complex, cb: complex, U: Array) -> None:
    """Fill U = exp(A h) - 1 on (w, theta, Q, M): w' = theta + cs Q, theta' = cb M, Q' = rA w, M' = -Q + rI theta.

    A^2 = P on (w, M) and R on (theta, Q), and P^m = u_m P - D u_(m-1) with their trace T and determinant D.
    """
    T, D = (cs * rA + rI * cb) * h * h, rA * cb * (1.0 + rI * cs) * h * h * h * h
    fa, fb, ga, gb = 0j, 0.5 + 0j, 0j, 1.0 / 6.0 + 0j
    older, u, factor = 0j, 1.0 + 0j, 0.5
    for m in range(2, TERMS):
        older, u = u, T * u - D * older
        factor /= (2 * m - 1) * (2 * m)
        fa -= D * older * factor
        fb += u * factor
        ga -= D * older * factor / (2 * m + 1)
        gb += u * factor / (2 * m + 1)
    fb, ga, gb = fb * h * h, ga * h, gb * h * h * h
    P00, P01, P10, P11 = cs * rA, cb, -rA, rI * cb
    R00, R01, R10, R11 = cb * rI, -cb, rA, rA * cs
    U[0, 0], U[0, 3] = fa + fb * P00, fb * P01
    U[3, 0], U[3, 3] = fb * P10, fa + fb * P11
    U[1, 1], U[1, 2] = fa + fb * R00, fb * R01
    U[2, 1], U[2, 2] = fb * R10, fa + fb * R11
    # beyond the rigid lever h, which the caller adds
    U[0, 1] = ga + gb * R00 + cs * gb * R10
    U[0, 2] = gb * R01 + cs * (h + ga + gb * R11)
    U[3, 1] = rI * (h + ga + gb * R00) - gb * R10
    U[3, 2] = rI * gb * R01 - (ga + gb * R11)
    U[1, 0] = cb * gb * P10
    U[1, 3] = cb * (h + ga + gb * P11)
    U[2, 0] = rA * (h + ga + gb * P00)
    U[2, 3] = rA * gb * P01


@kernel(error_model="numpy")
def inwards_near(v: Array, at: At, z: Array, near: Array, columns: int, U: Array) -> None:
    """Carry the columns of z to the inboard end of a short piece by its transfer matrix, into `near`."""
    h, rA, rI, ca, cs, cb = scaled(v, at)
    bending(h, rA, rI, cs, cb, U)
    c, d = pair(ca * rA * h * h, h)
    for j in range(columns):
        u, w, t, N, Q, M = z[0, j], z[1, j], z[2, j], z[3, j], z[4, j], z[5, j]
        # exp(-A h): the odd powers change sign
        near[0, j] = u + c * u - ca * (h + d) * N
        near[3, j] = N + c * N - rA * (h + d) * u
        near[1, j] = w - h * t + U[0, 0] * w - U[0, 1] * t - U[0, 2] * Q + U[0, 3] * M
        near[2, j] = t - U[1, 0] * w + U[1, 1] * t + U[1, 2] * Q - U[1, 3] * M
        near[4, j] = Q - U[2, 0] * w + U[2, 1] * t + U[2, 2] * Q - U[2, 3] * M
        near[5, j] = M + h * Q + U[3, 0] * w - U[3, 1] * t - U[3, 2] * Q + U[3, 3] * M


@kernel(error_model="numpy")
def drift_near(v: Array, at: At, z: Array, drift: Array, U: Array) -> None:
    """Return the elastic displacement of the outboard end of a short piece from the tangent of its inboard state z."""
    h, rA, rI, ca, cs, cb = scaled(v, at)
    bending(h, rA, rI, cs, cb, U)
    c, d = pair(ca * rA * h * h, h)
    drift[0] = c * z[0] + ca * (h + d) * z[3]
    drift[1] = U[0, 0] * z[1] + U[0, 1] * z[2] + U[0, 2] * z[4] + U[0, 3] * z[5]
    drift[2] = U[1, 0] * z[1] + U[1, 1] * z[2] + U[1, 2] * z[4] + U[1, 3] * z[5]


@kernel(error_model="numpy")
def scaled(v: Array, at: At) -> Any:
    """Return h, rho A sigma, rho I sigma and the compliances of a piece in units of l and E0."""
    s, sigma, l, E0 = at.s, at.sigma, at.l, at.E0
    soft = E0 / (1.0 + v[6] * s)
    inertia = sigma * l * l / E0
    return v[0] / l, v[1] * inertia * l * l, v[2] * inertia, v[3] * soft / (l * l), v[4] * soft / (l * l), v[5] * soft


@kernel(error_model="numpy")
def split_roots(rA: complex, rI: complex, cs: complex, cb: complex) -> Any:
    """Return the larger and the smaller root lambda^2 of a section, and their difference."""
    T, D = cs * rA + rI * cb, rA * cb * (1.0 + rI * cs)
    root = np.sqrt(T * T - 4.0 * D)
    if (T * root.conjugate()).real < 0.0:
        root = -root
    p = 0.5 * (T + root)
    return p, D / p, root


@kernel(error_model="numpy")
def is_near(v: Array, at: At) -> bool:
    """Return whether a piece is short against its waves."""
    h, rA, rI, ca, cs, cb = scaled(v, at)
    T, D = abs(cs * rA + rI * cb), abs(rA * cb * (1.0 + rI * cs))
    largest = 0.5 * (T + np.sqrt(T * T + 4.0 * D))  # a bound
    return bool(largest * h * h <= NEAR and abs(ca * rA) * h * h <= NEAR)


@kernel(error_model="numpy")
def inwards_far(
    v: Array, at: At, z: Array, near: Array, columns: int, C: Array, E: Array, room: tuple[Array, Array, Array],
) -> Any:
    """Carry the columns of z to the inboard end of a long piece by its waves; return the determinant.

    A pair (e, o) stands for e (0, t, rA, 0) + o (1, 0, 0, t / cb) in (w, theta, Q, M), t = lambda^2 - cs rA, and
    e' = o, o' = lambda^2 e: its waves are (e +- o / lambda) / 2. The axial pair is (u, N), its waves
    (u +- ca N / lambda) / 2. room: scratch for `eliminate`, weights and growth of the rows.
    """
    work, weight, growth = room
    h, rA, rI, ca, cs, cb = scaled(v, at)
    p, q, difference = split_roots(rA, rI, cs, cb)
    tp, tq = p - cs * rA, q - cs * rA
    pairs = ((ca, rA), (1.0 + 0j, p), (1.0 + 0j, q))  # (f, g) of e' = f o, o' = g e
    for j in range(columns):
        w, t, Q, M = z[1, j], z[2, j], z[4, j] / rA, cb * z[5, j]
        near[0, j], near[1, j] = z[0, j], z[3, j]
        near[2, j], near[3, j] = (t - tq * Q) / difference, (M - tq * w) / difference
        near[4, j], near[5, j] = (tp * Q - t) / difference, (tp * w - M) / difference
    for k in range(3):
        f, g = pairs[k]
        a, b = 2 * k, 2 * k + 1
        weight[a] = weight[b] = 0.0
        growth[a] = growth[b] = 0.0
        if abs(f * g) * h * h <= NEAR:
            c, d = pair(f * g * h * h, h)
            for j in range(columns):
                e, o = near[a, j], near[b, j]
                near[a, j], near[b, j] = e + c * e - f * (h + d) * o, o + c * o - g * (h + d) * e
        else:
            x = np.sqrt(f * g)
            for j in range(columns):
                e, o = near[a, j], near[b, j] * (f / x)
                near[a, j], near[b, j] = 0.5 * (e + o), 0.5 * (e - o)
            growth[a], growth[b] = -x * h, x * h
            weight[a], weight[b] = -x.real * h, x.real * h
    phase, size = eliminate(near, 6, weight, columns, C, E, work)
    for j in range(3):
        grown = growth[work[j]]
        phase *= np.exp(1j * grown.imag)
        size += grown.real
        decay = np.exp(-grown)
        for i in range(3):
            C[i, j] *= decay
        for i in range(6):
            if near[i, j] != 0.0 and i != work[j]:  # the growth of an eliminated row may overflow
                near[i, j] *= np.exp(growth[i] - grown)
    for j in range(3, columns):
        for i in range(6):
            if near[i, j] != 0.0:
                near[i, j] *= np.exp(growth[i])
    for k in range(3):
        f, g = pairs[k]
        if abs(f * g) * h * h > NEAR:
            x = np.sqrt(f * g)
            for j in range(columns):
                fore, back = near[2 * k, j], near[2 * k + 1, j]
                near[2 * k, j], near[2 * k + 1, j] = fore + back, (x / f) * (fore - back)
    for j in range(columns):
        N, e1, o1, e2, o2 = near[1, j], near[2, j], near[3, j], near[4, j], near[5, j]
        near[1, j], near[2, j], near[3, j] = o1 + o2, tp * e1 + tq * e2, N
        near[4, j], near[5, j] = rA * (e1 + e2), (tp * o1 + tq * o2) / cb
    return phase, size
