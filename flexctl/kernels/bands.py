"""Bands of M, D, K and the factorisation of a symmetric banded K in twice the working precision.

K = L0 d0 L0^T, rows in order, without pivoting. A pivot that vanishes to the rounding of K marks a rigid-body mode:
its coordinate, the datum, is held, and the vector x with L0^T x = e_j is the rigid-body motion, K x = 0. `banded` uses
both.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import boolean, int64, types

from .arrays import CUBE, INT, MAT, RMAT
from .jit import entry, kernel

RIGID = 64 * 2.2e-16  # x^T K x below this part of |x|^T |K| |x| is zero: K itself is only known to rounding
SPLIT = 134217729.0  # 2^27 + 1, Veltkamp's constant

Array = npt.NDArray[Any]


class Factor(NamedTuple):
    """The frequency-independent part of the banded solves.

    Attributes
    ----------
    lower : ndarray (n, w + 1, 3)
        Entries (j + k, j) of K, D and M, cleared at the datum coordinates; K is zero if `static` holds it.
    static : ndarray (n, w + 1)
        d0 and the columns l0 of K (plus what `lower` takes off its diagonal again) = L0 d0 L0^T.
    full : ndarray (n, 2 w + 1, 3)
        Entries (i, i - w + c) of K, D and M for the pivoted kernel, cleared likewise, 1 on the cleared diagonal.
    rigid : ndarray (n, r)
        Rigid-body vectors, each 1 at its datum coordinate.
    datum : ndarray (r)
        The coordinates held at zero in x.
    """

    lower: Array
    static: Array
    full: Array
    rigid: Array
    datum: Array


FACTOR = types.NamedTuple((CUBE, MAT, CUBE, MAT, INT), Factor)


@entry(types.Tuple((int64, boolean))(RMAT, RMAT, RMAT))
def profile(M: Array, D: Array, K: Array) -> tuple[int, bool]:
    """Return the half bandwidth of the three matrices together and whether all are symmetric to rounding."""
    n = M.shape[0]
    w = 0
    for X in (M, D, K):
        for i in range(n):
            for j in range(i - w):
                if X[i, j] != 0.0:
                    w = i - j
                    break
            for j in range(n - 1, i + w, -1):
                if X[i, j] != 0.0:
                    w = j - i
                    break
    for X in (M, D, K):
        for i in range(n):
            for j in range(max(0, i - w), i):
                bound = 4.4e-16 * (abs(X[i, j]) + np.sqrt(abs(X[i, i] * X[j, j])))
                if abs(X[i, j] - X[j, i]) > bound:
                    return w, False
    return w, True


@entry(FACTOR(RMAT, RMAT, RMAT, int64, boolean, boolean))
def factor(M: Array, D: Array, K: Array, w: int, symmetric: bool, reverse: bool) -> Factor:
    """Return the bands, the static factor and the rigid-body vectors, rows from the last to the first if `reverse`."""
    n = M.shape[0]
    full = np.zeros((n, 2 * w + 1, 3))
    for i in range(n):
        for j in range(max(0, i - w), min(n, i + w + 1)):
            a, b = (n - 1 - i, n - 1 - j) if reverse else (i, j)
            full[i, j - i + w, 0] = K[a, b]
            full[i, j - i + w, 1] = D[a, b]
            full[i, j - i + w, 2] = M[a, b]
    lower = np.zeros((n, w + 1, 3))
    static = np.zeros((n, w + 1))
    if not symmetric:
        return Factor(lower, static, full, np.zeros((n, 0)), np.zeros(0, np.int64))
    for j in range(n):
        for k in range(min(w + 1, n - j)):
            for part in range(3):
                lower[j, k, part] = 0.5 * (full[j, w + k, part] + full[j + k, w - k, part])
    added = np.zeros(n)
    datum, stable = _static_factor(lower[:, :, 0].copy(), static, added)
    if not stable or _steepest(static, lower[:, 0, 2].copy(), datum) > 100.0 * n:
        static[:] = 0.0
        return Factor(lower, static, full, np.zeros((n, 0)), np.zeros(0, np.int64))
    rigid = np.zeros((n, datum.size))
    for r in range(datum.size):
        vector = _null_vector(static, datum[r])
        for j in range(n):  # assigning the column as a whole compiles a message about shapes: a second and a half
            rigid[j, r] = vector[j]
    lower[:, :, 0] = 0.0
    for j in range(n):
        lower[j, 0, 0] = -added[j]
    for j in datum:
        _clear(j, w, lower, static, full)
    return Factor(lower, static, full, rigid, datum)


@kernel
def _static_factor(K: Array, static: Array, added: Array) -> tuple[Array, bool]:
    """Factor the band K + diag(added) (lower columns) into `static`.

    Returns the datum coordinates and whether the pivots are safe. `added` is zero but where a small pivot would make l0
    large, and with it the sum l0 da^T + e l^T of the sweep a difference of large numbers.
    """
    n, w1 = K.shape
    high, low = K.copy(), np.zeros((n, w1))
    held = np.zeros(n, np.int64)
    count = 0
    for j in range(n):
        pivot, reach = high[j, 0], min(w1, n - j)
        if abs(pivot) <= 1e-8 * abs(K[j, 0]):
            static[j, 0] = 0.0  # marks j as held while the vector is formed
            free = True
            for k in range(1, reach):
                free = free and abs(high[j, k]) <= 1e-9 * np.sqrt(abs(K[j, 0] * K[j + k, 0]))
            if free and _is_null(K, _null_vector(static, j), abs(pivot)):
                held[count] = j
                count += 1
                continue
        for k in range(1, reach):
            least = abs(high[j, k]) * np.sqrt(abs(K[j, 0] / K[j + k, 0])) / n if K[j + k, 0] != 0.0 else 0.0
            if abs(high[j, 0]) < least:
                added[j] += least
                high[j, 0] += least
        if high[j, 0] == 0.0:
            return held[:0], False
        static[j, 0] = high[j, 0]
        for k in range(1, reach):
            top, rest = _quotient(high[j, k], low[j, k], high[j, 0], low[j, 0])
            static[j, k] = top
            for i in range(1, k + 1):
                _subtract_product(high, low, j + i, k - i, top, rest, high[j, i], low[j, i])
            if abs(high[j + k, 0]) > 1e4 * abs(K[j + k, 0]):
                return held[:0], False
    return held[:count], True


@kernel
def _null_vector(static: Array, j: int) -> Array:
    """Return x with L0^T x = e_j and zeros at the other held coordinates, those with d0 = 0."""
    n, w1 = static.shape
    x = np.zeros(n)
    x[j] = 1.0
    for i in range(j - 1, -1, -1):
        if static[i, 0] != 0.0:
            for k in range(1, min(w1, j - i + 1)):
                x[i] -= static[i, k] * x[i + k]
    return x


@kernel
def _steepest(static: Array, M: Array, datum: Array) -> float:
    """Return the largest entry of l0 and of the rigid-body vectors beside its datum, coordinates scaled to unit mass.

    Where the masses are scaled quite otherwise than the stiffnesses, the difference from K is no small one.
    """
    n, w1 = static.shape
    largest = 0.0
    for j in range(n):
        for k in range(1, min(w1, n - j)):
            if M[j + k] > 0.0:
                largest = max(largest, abs(static[j, k]) * np.sqrt(abs(M[j]) / M[j + k]))
    for j in datum:
        if M[j] > 0.0:
            vector = _null_vector(static, j)
            for i in range(n):
                largest = max(largest, abs(vector[i]) * np.sqrt(abs(M[i]) / M[j]))
    return largest


@kernel
def _is_null(K: Array, x: Array, pivot: float) -> bool:
    """Return whether the pivot and x^T K x are rounding beside |x|^T |K| |x|."""
    n, w1 = K.shape
    total, bound = 0.0, 0.0
    for j in range(n):
        total += K[j, 0] * x[j] * x[j]
        bound += abs(K[j, 0]) * x[j] * x[j]
        for k in range(1, min(w1, n - j)):
            total += 2.0 * K[j, k] * x[j] * x[j + k]
            bound += 2.0 * abs(K[j, k] * x[j] * x[j + k])
    return max(abs(total), pivot) <= RIGID * bound


@kernel
def _product(a: float, b: float) -> tuple[float, float]:
    """Return a b and its rounding error (Dekker)."""
    p = a * b
    t = SPLIT * a
    ah = t - (t - a)
    al = a - ah
    t = SPLIT * b
    bh = t - (t - b)
    bl = b - bh
    return p, ((ah * bh - p) + ah * bl + al * bh) + al * bl


@kernel
def _quotient(ah: float, al: float, bh: float, bl: float) -> tuple[float, float]:
    """Return (ah + al) / (bh + bl) as a number and its remainder."""
    q = ah / bh
    p, e = _product(q, bh)
    return q, ((ah - p) - e + al - q * bl) / bh


@kernel
def _subtract_product(high: Array, low: Array, j: int, k: int, ah: float, al: float, bh: float, bl: float) -> None:
    """Subtract (ah + al)(bh + bl) from entry (j, k) held as high + low."""
    p, e = _product(ah, bh)
    e += ah * bl + al * bh
    x = high[j, k]
    s = x - p
    t = s - x
    rest = low[j, k] + ((x - (s - t)) - (p + t)) - e
    high[j, k] = s + rest
    low[j, k] = rest - (high[j, k] - s)


@kernel
def _clear(j: int, w: int, lower: Array, static: Array, full: Array) -> None:
    """Take coordinate j out of the matrices."""
    n = full.shape[0]
    lower[j] = 0.0
    static[j] = 0.0
    static[j, 0] = 1.0
    full[j] = 0.0
    for k in range(1, w + 1):
        if j >= k:
            lower[j - k, k] = 0.0
            static[j - k, k] = 0.0
            full[j - k, w + k] = 0.0
        if j + k < n:
            full[j + k, w - k] = 0.0
    full[j, w, 0] = 1.0
