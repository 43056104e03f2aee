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
from .tables import EXACT, HIDDEN

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


ADDED, MASS, VECTOR, HELD = -4, -3, -2, -1
"""The last rows of the room of `factorise`, which makes no array itself (that takes a second and a half to compile):
what is added to the diagonal of K; the diagonal of M; a vector; the datum coordinates first."""
VECTORS = 4
BARE: dict[str, Any] = {key: value for key, value in EXACT.items() if key not in HIDDEN}


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


def factor(M: Array, D: Array, K: Array, w: int, symmetric: bool, reverse: bool) -> Factor:
    """Return the bands, the static factor and the rigid-body vectors, rows from the last to the first if `reverse`."""
    n, zeros = M.shape[0], np.zeros
    lower, static, full = zeros((n, w + 1, 3)), zeros((n, w + 1)), zeros((n, 2 * w + 1, 3))
    room = zeros((2 * w + 2 + VECTORS, n))
    count = factorise(M, D, K, symmetric + 2 * reverse, lower, static, full, room)
    datum, rigid = room[HELD, : max(count, 0)].astype(np.int64), zeros((n, max(count, 0)))
    if count >= 0:
        take_apart(lower, static, full, room, datum, rigid)
    return Factor(lower, static, full, rigid, datum)


@entry(int64(RMAT, RMAT, RMAT, int64, CUBE, MAT, CUBE, MAT), **BARE)
def factorise(M: Array, D: Array, K: Array, how: int, lower: Array, static: Array, full: Array, room: Array) -> int:
    """Fill the bands and the static factor; returns how many coordinates are held, -1 where there is no factor.

    how: 1 if the matrices are symmetric, and 2 if rows are taken from the last to the first. room: what is left of
    columns, in two parts, (w + 1, n) each, and the `VECTORS`.
    """
    n, w, symmetric, reverse = M.shape[0], static.shape[1] - 1, how % 2 == 1, how >= 2
    for i in range(n):
        for j in range(max(0, i - w), min(n, i + w + 1)):
            a, b = (n - 1 - i, n - 1 - j) if reverse else (i, j)
            full[i, j - i + w, 0] = K[a, b]
            full[i, j - i + w, 1] = D[a, b]
            full[i, j - i + w, 2] = M[a, b]
    if not symmetric:
        return -1
    for j in range(n):
        for k in range(min(w + 1, n - j)):
            for part in range(3):
                lower[j, k, part] = 0.5 * (full[j, w + k, part] + full[j + k, w - k, part])
            room[k, j] = lower[j, k, 0]
        room[MASS, j] = lower[j, 0, 2]
    count: int = _static_factor(lower, static, room)
    if count < 0 or _steepest(static, room, count) > 100.0 * n:
        for j in range(n):
            for k in range(w + 1):
                static[j, k] = 0.0
        return -1
    return count


@entry(types.void(CUBE, MAT, CUBE, MAT, INT, MAT), **BARE)
def take_apart(lower: Array, static: Array, full: Array, room: Array, datum: Array, rigid: Array) -> None:
    """Fill the rigid-body vectors, and take the coordinates held out of the matrices, and out of `lower` K."""
    n, w = static.shape[0], static.shape[1] - 1
    for r in range(datum.size):
        _null_vector(static, datum[r], room[VECTOR])
        for j in range(n):
            rigid[j, r] = room[VECTOR, j]
    for j in range(n):
        for k in range(w + 1):
            lower[j, k, 0] = 0.0
        lower[j, 0, 0] = -room[ADDED, j]
    for r in range(datum.size):
        _clear(datum[r], w, lower, static, full)


@kernel(**EXACT)
def _static_factor(lower: Array, static: Array, room: Array) -> int:
    """Factor the band K + diag(added) (lower columns) into `static`.

    Returns the number of datum coordinates, -1 where the pivots are not safe. `added` is zero but where a small pivot
    would make l0 large, and with it the sum l0 da^T + e l^T of the sweep a difference of large numbers.
    """
    n, w1 = static.shape
    count = 0
    for j in range(n):
        pivot, reach = room[0, j], min(w1, n - j)
        if abs(pivot) <= 1e-8 * abs(lower[j, 0, 0]):
            static[j, 0] = 0.0  # marks j as held while the vector is formed
            free = True
            for k in range(1, reach):
                free = free and abs(room[k, j]) <= 1e-9 * np.sqrt(abs(lower[j, 0, 0] * lower[j + k, 0, 0]))
            if free:
                _null_vector(static, j, room[VECTOR])
            if free and _is_null(lower, room[VECTOR], abs(pivot)):
                room[HELD, count] = j
                count += 1
                continue
        for k in range(1, reach):
            other = lower[j + k, 0, 0]
            least = abs(room[k, j]) * np.sqrt(abs(lower[j, 0, 0] / other)) / n if other != 0.0 else 0.0
            if abs(room[0, j]) < least:
                room[ADDED, j] += least
                room[0, j] += least
        if room[0, j] == 0.0:
            return -1
        static[j, 0] = room[0, j]
        for k in range(1, reach):
            top, rest = _quotient(room[k, j], room[w1 + k, j], room[0, j], room[w1, j])
            static[j, k] = top
            for i in range(1, k + 1):
                _subtract_product(room, w1, j + i, k - i, top, rest, room[i, j], room[w1 + i, j])
            if abs(room[0, j + k]) > 1e4 * abs(lower[j + k, 0, 0]):
                return -1
    return count


@kernel(**EXACT)
def _null_vector(static: Array, j: int, x: Array) -> None:
    """Fill x with L0^T x = e_j and zeros at the other held coordinates, those with d0 = 0."""
    w1 = static.shape[1]
    for i in range(x.size):
        x[i] = 1.0 if i == j else 0.0
    for i in range(j - 1, -1, -1):
        if static[i, 0] != 0.0:
            for k in range(1, min(w1, j - i + 1)):
                x[i] -= static[i, k] * x[i + k]


@kernel(**EXACT)
def _steepest(static: Array, room: Array, count: int) -> float:
    """Return the largest entry of l0 and of the rigid-body vectors beside its datum, coordinates scaled to unit mass.

    Where the masses are scaled quite otherwise than the stiffnesses, the difference from K is no small one.
    """
    M, vector = room[MASS], room[VECTOR]
    n, w1 = static.shape
    largest = 0.0
    for j in range(n):
        for k in range(1, min(w1, n - j)):
            if M[j + k] > 0.0:
                largest = max(largest, abs(static[j, k]) * np.sqrt(abs(M[j]) / M[j + k]))
    for r in range(count):
        j = int(room[HELD, r])
        if M[j] > 0.0:
            _null_vector(static, j, vector)
            for i in range(n):
                largest = max(largest, abs(vector[i]) * np.sqrt(abs(M[i]) / M[j]))
    return largest


@kernel(**EXACT)
def _is_null(lower: Array, x: Array, pivot: float) -> bool:
    """Return whether the pivot and x^T K x are rounding beside |x|^T |K| |x|."""
    n, w1 = lower.shape[0], lower.shape[1]
    total, bound = 0.0, 0.0
    for j in range(n):
        total += lower[j, 0, 0] * x[j] * x[j]
        bound += abs(lower[j, 0, 0]) * x[j] * x[j]
        for k in range(1, min(w1, n - j)):
            total += 2.0 * lower[j, k, 0] * x[j] * x[j + k]
            bound += 2.0 * abs(lower[j, k, 0] * x[j] * x[j + k])
    return max(abs(total), pivot) <= RIGID * bound


@kernel(**EXACT)
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


@kernel(**EXACT)
def _quotient(ah: float, al: float, bh: float, bl: float) -> tuple[float, float]:
    """Return (ah + al) / (bh + bl) as a number and its remainder."""
    q = ah / bh
    p, e = _product(q, bh)
    return q, ((ah - p) - e + al - q * bl) / bh


@kernel(**EXACT)
def _subtract_product(room: Array, w1: int, j: int, k: int, ah: float, al: float, bh: float, bl: float) -> None:
    """Subtract (ah + al)(bh + bl) from entry (j, k) held in two parts."""
    p, e = _product(ah, bh)
    e += ah * bl + al * bh
    x = room[k, j]
    s = x - p
    t = s - x
    rest = room[w1 + k, j] + ((x - (s - t)) - (p + t)) - e
    room[k, j] = s + rest
    room[w1 + k, j] = rest - (room[k, j] - s)


@kernel(**EXACT)
def _clear(j: int, w: int, lower: Array, static: Array, full: Array) -> None:
    """Take coordinate j out of the matrices."""
    n = full.shape[0]
    for part in range(3):
        for k in range(w + 1):
            lower[j, k, part] = 0.0
        for k in range(2 * w + 1):
            full[j, k, part] = 0.0
    for k in range(w + 1):
        static[j, k] = 1.0 if k == 0 else 0.0
    for k in range(1, w + 1):
        if j >= k:
            static[j - k, k] = 0.0
        for part in range(3):
            if j >= k:
                lower[j - k, k, part] = full[j - k, w + k, part] = 0.0
            if j + k < n:
                full[j + k, w - k, part] = 0.0
    full[j, w, 0] = 1.0
