"""One sweep along a chain of beam pieces, masses and joints at complex frequencies; `..transfer_matrix` has
the equations.

The states z = (u, w, theta, N, Q, M) that the outboard part allows at a section are z = Z y + G v: Z is 6 x 3, v the
inputs. Going inwards every element maps Z and G, and column operations keep them well conditioned: three rows, those
that grow fastest, become unit rows of Z and zero rows of G, and the decay exp(-lambda h) goes into the coefficients,
outer y = C y - E v. Nothing overflows, nothing that grows is ever subtracted, and there is no impedance to become
infinite at a resonance of a part. Going outwards again the coefficients give the states.

A piece is carried in one of two forms: where |lambda h| <= 2 by the power series of its transfer matrix, every entry of
which is exact to rounding however low the frequency; beyond by waves, each pair exp(+-lambda x) by itself. A pair with
|lambda h| <= 2 beside a fast one (axial motion, bending near the cut-off frequency) is carried by cosh and sinh.

Lengths are in units of l, forces of E0 / l^2: 1 / l is the largest wave number and not less than 1 / (arm length).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import boolean, float64, int64, types

from ...kernels.arrays import CCUBE, CHYPER, CVEC, RCVEC, RINT, RMAT, RVEC, VEC
from ...kernels.jit import entry, kernel
from ...kernels.vectors import put_matrix

PIECE, MASS, TURN, SPRING, DRIVE, MOTION = range(6)
TERMS = 13  # of the series: the last is below 4^13/26! = 2e-19
NEAR = 4.0  # |lambda h|^2 up to which the series serve

Array = npt.NDArray[Any]


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
def inwards_near(
    v: Array, s: complex, sigma: complex, l: float, E0: float, z: Array, near: Array, columns: int, U: Array
) -> None:
    """Carry the columns of z to the inboard end of a short piece by its transfer matrix, into `near`."""
    h, rA, rI, ca, cs, cb = _scaled(v, s, sigma, l, E0)
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
def drift_near(v: Array, s: complex, sigma: complex, l: float, E0: float, z: Array, drift: Array, U: Array) -> None:
    """Return the elastic displacement of the outboard end of a short piece from the tangent of its inboard state z."""
    h, rA, rI, ca, cs, cb = _scaled(v, s, sigma, l, E0)
    bending(h, rA, rI, cs, cb, U)
    c, d = pair(ca * rA * h * h, h)
    drift[0] = c * z[0] + ca * (h + d) * z[3]
    drift[1] = U[0, 0] * z[1] + U[0, 1] * z[2] + U[0, 2] * z[4] + U[0, 3] * z[5]
    drift[2] = U[1, 0] * z[1] + U[1, 1] * z[2] + U[1, 2] * z[4] + U[1, 3] * z[5]


@kernel(error_model="numpy")
def _scaled(v: Array, s: complex, sigma: complex, l: float, E0: float) -> Any:
    """Return h, rho A sigma, rho I sigma and the compliances of a piece in units of l and E0."""
    soft = E0 / (1.0 + v[6] * s)
    inertia = sigma * l * l / E0
    return v[0] / l, v[1] * inertia * l * l, v[2] * inertia, v[3] * soft / (l * l), v[4] * soft / (l * l), v[5] * soft


@kernel(error_model="numpy")
def _split(rA: complex, rI: complex, cs: complex, cb: complex) -> Any:
    """Return the larger and the smaller root lambda^2 of a section, and their difference."""
    T, D = cs * rA + rI * cb, rA * cb * (1.0 + rI * cs)
    root = np.sqrt(T * T - 4.0 * D)
    if (T * root.conjugate()).real < 0.0:
        root = -root
    p = 0.5 * (T + root)
    return p, D / p, root


@kernel(error_model="numpy")
def is_near(v: Array, s: complex, sigma: complex, l: float, E0: float) -> bool:
    """Return whether a piece is short against its waves."""
    h, rA, rI, ca, cs, cb = _scaled(v, s, sigma, l, E0)
    T, D = abs(cs * rA + rI * cb), abs(rA * cb * (1.0 + rI * cs))
    largest = 0.5 * (T + np.sqrt(T * T + 4.0 * D))  # a bound
    return bool(largest * h * h <= NEAR and abs(ca * rA) * h * h <= NEAR)


@kernel(error_model="numpy")
def inwards_far(
    v: Array, s: complex, sigma: complex, l: float, E0: float, z: Array, near: Array, columns: int,
    C: Array, E: Array, work: Array, weight: Array, growth: Array,
) -> Any:
    """Carry the columns of z to the inboard end of a long piece by its waves; return the determinant.

    A pair (e, o) stands for e (0, t, rA, 0) + o (1, 0, 0, t / cb) in (w, theta, Q, M), t = lambda^2 - cs rA, and
    e' = o, o' = lambda^2 e: its waves are (e +- o / lambda) / 2. The axial pair is (u, N), its waves
    (u +- ca N / lambda) / 2.
    """
    h, rA, rI, ca, cs, cb = _scaled(v, s, sigma, l, E0)
    p, q, difference = _split(rA, rI, cs, cb)
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


@kernel(error_model="numpy")
def _release(z: Array, Z: complex, columns: int, torque: float, C: Array, E: Array, turn: Array) -> Any:
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
def _through_joint(
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
def _base(z: Array, columns: int, free: bool, near: Array, E: Array, y: Array, work: Array) -> Any:
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
def _state(z: Array, y: Array, out: Array) -> None:
    """Put the states of a section for every input into out."""
    for i in range(6):
        for j in range(y.shape[1]):
            out[i, j] = z[i, 3 + j] + z[i, 0] * y[0, j] + z[i, 1] * y[1, j] + z[i, 2] * y[2, j]


@entry(
    types.void(RINT, RMAT, RINT, boolean, float64, RCVEC, RVEC, float64, CHYPER, CCUBE, CVEC, VEC), error_model="numpy"
)
def sweep(
    kind: Array, values: Array, probe: Array, free: bool, alpha: float, s: Array, unit: Array, E0: float,
    states: Array, turns: Array, phase: Array, size: Array,
) -> None:
    """Solve the chain at every s.

    Parameters
    ----------
    kind, values : ndarray (n), (n, 7)
        The elements from the base outwards: PIECE h, rho A, rho I, 1/EA, 1/(kt G A), 1/EI, beta; MASS m, J;
        TURN cos, sin; SPRING stiffness, damping; DRIVE rotor inertia, stiffness, damping; MOTION nothing.
    probe : ndarray (n + 1)
        Where in `states` the section before each element is reported, or -1.
    free : bool
        Whether the vibration without inputs is wanted (s at a natural frequency) instead of the forced ones.
    alpha : float
        Damping by mass [1/s].
    s, unit : ndarray
        Complex frequencies [rad/s] and the unit of length l of each [m].
    E0 : float
        Unit of bending stiffness [N m^2].
    states : ndarray (probes, 9, p, len(s))
        Result in units of l and E0: u, w, theta, N, Q, M and the displacement (u, w, theta) from the tangent of the
        link's root. Inputs: tip force along and across the last link, then the drives from the last one inwards.
    turns : ndarray (drives, p, len(s))
        Result: joint angles, from the base outwards.
    phase, size : ndarray (len(s))
        Result: the characteristic function in these units over its modulus, and the logarithm of that.
    """
    n, p = kind.size, states.shape[2]
    Z = np.zeros((n + 1, 6, 3 + p), np.complex128)
    C, E = np.zeros((n, 3, 3), np.complex128), np.zeros((n, 3, p), np.complex128)
    turn, short = np.zeros((n, 3 + p), np.complex128), np.zeros(n, np.bool_)
    U, base, E1 = np.zeros((4, 4), np.complex128), np.zeros((6, 3 + p), np.complex128), np.zeros((3, p), np.complex128)
    weight, growth, work = np.zeros(6), np.zeros(6, np.complex128), np.zeros(3, np.int64)
    y, nothing = np.zeros((3, p), np.complex128), np.zeros(6)
    torque = 0.0 if free else 1.0
    for f in range(s.size):
        x, l = s[f], unit[f]
        sigma = x * x + alpha * x
        columns = 4 if free else 5
        Z[n] = 0.0
        for i in range(3):
            Z[n, i, i] = 1.0
        if not free:
            Z[n, 3, 3] = Z[n, 4, 4] = 1.0
        direction, logarithm = 1.0 + 0j, 0.0
        for k in range(n - 1, -1, -1):
            v, z, w = values[k], Z[k + 1], Z[k]
            w[:] = 0.0
            if kind[k] == PIECE:
                short[k] = is_near(v, x, sigma, l, E0)
                if short[k]:
                    inwards_near(v, x, sigma, l, E0, z, w, columns, U)
                    a, b = eliminate(w, 6, nothing, columns, C[k], E[k], work)
                else:
                    a, b = inwards_far(v, x, sigma, l, E0, z, w, columns, C[k], E[k], work, weight, growth)
                direction *= a
                logarithm += b
                continue
            if kind[k] == DRIVE:
                columns += 0 if free else 1
                Zk = (v[1] + x * v[2] + sigma * v[0]) * l / E0
                factor = _release(z, Zk, columns, torque, C[k], E[k], turn[k])
                _through_joint(z, Zk, columns, torque, C[k], E[k], turn[k], w)
                direction *= factor / abs(factor)
                logarithm += np.log(abs(factor))
                continue
            for i in range(6):
                for j in range(columns):
                    w[i, j] = z[i, j]
            if kind[k] == MASS:
                m, J = sigma * v[0] * l * l * l / E0, sigma * v[1] * l / E0
                for j in range(columns):
                    w[3, j] -= m * z[0, j]
                    w[4, j] -= m * z[1, j]
                    w[5, j] -= J * z[2, j]
            elif kind[k] == TURN:
                for j in range(columns):
                    for i in (0, 3):
                        w[i, j], w[i + 1, j] = v[0] * z[i, j] - v[1] * z[i + 1, j], v[1] * z[i, j] + v[0] * z[i + 1, j]
            elif kind[k] == SPRING:
                soft = E0 / (l * (v[0] + x * v[1]))
                for j in range(columns):
                    w[2, j] -= soft * z[5, j]
            elif kind[k] == MOTION and not free:
                w[2, columns] -= 1.0
                columns += 1
        a, b = _base(Z[0], columns, free, base, E1, y, work)
        phase[f], size[f] = direction * a, logarithm + b
        outwards(kind, values, probe, free, x, sigma, l, E0, Z, C, E, turn, short, y, states[..., f], turns[..., f])


@kernel(error_model="numpy")
def outwards(
    kind: Array, values: Array, probe: Array, free: bool, s: complex, sigma: complex, l: float, E0: float,
    Z: Array, C: Array, E: Array, turn: Array, short: Array, y: Array, states: Array, turns: Array,
) -> None:
    """Report the states from the base, where the coefficients are y, to the tip."""
    n, p = kind.size, y.shape[1]
    old, gap, drift = np.zeros((3, p), np.complex128), np.zeros((3, p), np.complex128), np.zeros(3, np.complex128)
    inner, outer = np.zeros((6, p), np.complex128), np.zeros((6, p), np.complex128)
    U = np.zeros((4, 4), np.complex128)
    joint, last = 0, turns.shape[0] - 1
    _state(Z[0], y, inner)
    for k in range(n + 1):
        if probe[k] >= 0:
            for j in range(p):
                for i in range(6):
                    states[probe[k], i, j] = inner[i, j]
                for i in range(3):
                    states[probe[k], 6 + i, j] = gap[i, j]
        if k == n:
            break
        v = values[k]
        if kind[k] == DRIVE or kind[k] == PIECE:
            put_matrix(y, old)
            for i in range(3):
                for j in range(p):
                    y[i, j] = C[k, i, 0] * old[0, j] + C[k, i, 1] * old[1, j] + C[k, i, 2] * old[2, j] - E[k, i, j]
        _state(Z[k + 1], y, outer)
        if kind[k] == DRIVE:
            for j in range(p):
                t = turn[k]
                turns[joint, j] = t[3 + j] + t[0] * old[0, j] + t[1] * old[1, j] + t[2] * old[2, j]
            joint += 1
        elif kind[k] == MOTION:
            for j in range(p):
                turns[joint, j] = 1.0 if not free and j == 2 + last - joint else 0.0
            joint += 1
        elif kind[k] == TURN:
            gap[:] = 0.0
        elif kind[k] == SPRING:
            soft = E0 / (l * (v[0] + s * v[1]))
            for j in range(p):
                gap[2, j] += soft * outer[5, j]
        elif kind[k] == PIECE:
            h = v[0] / l
            for j in range(p):
                if short[k]:
                    drift_near(v, s, sigma, l, E0, inner[:, j], drift, U)
                else:
                    drift[0] = outer[0, j] - inner[0, j]
                    drift[1] = outer[1, j] - inner[1, j] - h * inner[2, j]
                    drift[2] = outer[2, j] - inner[2, j]
                gap[1, j] += h * gap[2, j] + drift[1]
                gap[0, j] += drift[0]
                gap[2, j] += drift[2]
        put_matrix(outer, inner)


@kernel(error_model="numpy")
def _stiffened(F: Array, B: Array, D: Array, G: Array, S: Array, wide: Array) -> int:
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
            total += _stiffened(F, B, D, G, S, wide)
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
            h, rA, rI, ca, cs, cb = _scaled(v, 0j, sigma, l, E0)
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
                total += _stiffened(F, B, D, G, S, wide)
    return total
