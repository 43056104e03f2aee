"""Banded solves of (s^2 M + s D + K) x = f at many complex frequencies s at once.

The symmetric kernel factors Z(s) = L d L^T without pivoting, 128 frequencies side by side, and needs no back
substitution: the entries c^T Z^-1 b = (L^-1 c)^T d^-1 (L^-1 b) are summed while the columns are swept forward. Two
things keep it accurate on fine meshes, where K is 1e11 times stiffer than the lowest mode and an ordinary factorisation
loses those digits:

* K = L0 d0 L0^T is factored once, in twice the working precision (see `bands`), and the sweep carries only the
  *difference* from it. With l0 = a0 / d0, a column a = a0 + da and a pivot d = d0 + dd of Z,

      e = da - l0 dd,   l = l0 + e / d,   and the trailing columns' difference becomes   dW - (l0 da^T + e l^T),

  which is exact algebra; l0 = 0, d0 = 0 is the ordinary factorisation.
* Rigid-body vectors R (K R = 0) are found by that factorisation. They are kept apart: q = R r + x with x = 0 at one
  coordinate per rigid mode, where K x and not K q is formed, so that no round-off of K meets the rigid inertia.

The kernels of `pivoted` serve unsymmetric matrices and the rare frequency where this one breaks down.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types

from .arrays import CCUBE, FLAGS, RCUBE, RCVEC, RINT, RMAT
from .jit import entry, kernel

LANES = 128  # at most so many frequencies side by side: 64 take 1.2, 16 take 2.5 times as long with 512-bit registers
GROWTH = 1e3  # pivots may exceed the matrix by this before the frequency is solved again with pivoting
SINGULAR = 16 * 2.2e-16  # pivots below this part of their terms are zero to working precision

Array = npt.NDArray[Any]
Pair = tuple[Array, Array]


@entry(types.void(RCUBE, RMAT, RCUBE, RINT, RCVEC, CCUBE, FLAGS), fastmath={"contract"}, error_model="numpy")
def sweep(lower: Array, static: Array, columns: Array, first: Array, s: Array, gram: Array, broken: Array) -> None:
    """Form gram[i, j] = c_i^T Z(s)^-1 c_j by the unpivoted factorisation.

    Parameters
    ----------
    lower, static
        See `bands.Factor`.
    columns : ndarray (n, m, 3)
        The m columns c(s) = c0 + s c1 + s^2 c2.
    first : ndarray (m)
        Row of the first entry of each column: nothing is swept before it.
    s : ndarray
        Complex frequencies [rad/s].
    gram : ndarray (m, m, len(s))
        Result.
    broken : ndarray (len(s))
        Set where a pivot vanished or grew beyond trust.
    """
    n, w1, _ = lower.shape
    m = columns.shape[1]
    most = LANES if w1 <= 12 else LANES // 4  # a wide band's ring leaves the cache
    blocks = (s.size + most - 1) // most
    lanes = 8 * ((s.size + 8 * blocks - 1) // (8 * blocks))
    ar, ai = np.zeros((w1, w1, lanes)), np.zeros((w1, w1, lanes))  # differences da, a ring of columns
    yr, yi = np.zeros((w1, m, lanes)), np.zeros((w1, m, lanes))
    lr, li = np.zeros((w1, lanes)), np.zeros((w1, lanes))  # l; slot 0 holds 1 / d
    er, ei = np.zeros((w1, lanes)), np.zeros((w1, lanes))
    gr, gi = np.zeros((m, m, lanes)), np.zeros((m, m, lanes))
    power = np.zeros((6, lanes))  # Re s, Im s, Re s^2, Im s^2, |s|, |s^2|
    worst = np.zeros((2, lanes))
    for block in range(0, s.size, lanes):
        _powers(s, block, power)
        gr[:] = 0.0
        gi[:] = 0.0
        worst[:] = 0.0
        for j in range(min(w1 - 1, n)):
            _load(lower, columns, first, j, power, (ar, ai), (yr, yi))
        for j in range(n):
            if j + w1 - 1 < n:
                _load(lower, columns, first, j + w1 - 1, power, (ar, ai), (yr, yi))
            _pivot(lower, static, j, power, (ar, ai), (lr, li), worst)
            _eliminate(static, j, ar, ai, lr, li, er, ei)
            _substitute(j, n, first, (yr, yi), (lr, li), (gr, gi))
        for f in range(min(lanes, s.size - block)):
            broken[block + f] = not (worst[0, f] <= 0.0 and worst[1, f] <= 0.0)
            for q in range(m):
                for p in range(q + 1):
                    gram[q, p, block + f] = gram[p, q, block + f] = complex(gr[q, p, f], gi[q, p, f])


@kernel(fastmath={"contract"}, error_model="numpy")
def _powers(s: Array, block: int, power: Array) -> None:
    for f in range(power.shape[1]):
        z = s[min(block + f, s.size - 1)]
        power[0, f], power[1, f] = z.real, z.imag
        power[2, f], power[3, f] = z.real * z.real - z.imag * z.imag, 2.0 * z.real * z.imag
        power[4, f] = abs(z)
        power[5, f] = power[4, f] * power[4, f]


@kernel(fastmath={"contract"}, error_model="numpy")
def _load(lower: Array, columns: Array, first: Array, j: int, power: Array, a: Pair, y: Pair) -> None:
    """Put column j of Z - K and row j of the right-hand sides into the ring."""
    (ar, ai), (yr, yi) = a, y
    w1, lanes = lower.shape[1], power.shape[1]
    c = j % w1
    for k in range(w1):
        K, D, M = lower[j, k, 0], lower[j, k, 1], lower[j, k, 2]
        for f in range(lanes):
            ar[c, k, f] = K + power[0, f] * D + power[2, f] * M
            ai[c, k, f] = power[1, f] * D + power[3, f] * M
    for q in range(columns.shape[1]):
        if j >= first[q]:
            K, D, M = columns[j, q, 0], columns[j, q, 1], columns[j, q, 2]
            for f in range(lanes):
                yr[c, q, f] = K + power[0, f] * D + power[2, f] * M
                yi[c, q, f] = power[1, f] * D + power[3, f] * M


@kernel(fastmath={"contract"}, error_model="numpy")
def _pivot(lower: Array, static: Array, j: int, power: Array, a: Pair, l: Pair, worst: Array) -> None:
    """Put 1 / d into slot 0 of l and watch the size of d."""
    (ar, ai), (lr, li) = a, l
    c, lanes = j % lower.shape[1], power.shape[1]
    d0 = static[j, 0]
    K, D, M = abs(lower[j, 0, 0]) + abs(d0), abs(lower[j, 0, 1]), abs(lower[j, 0, 2])
    for f in range(lanes):
        x, y = d0 + ar[c, 0, f], ai[c, 0, f]
        square = x * x + y * y
        inverse = 1.0 / square
        lr[0, f], li[0, f] = x * inverse, -y * inverse
        large = GROWTH * (K + power[4, f] * D + power[5, f] * M)
        small = SINGULAR * (abs(d0) + abs(ar[c, 0, f]))
        excess, lack = square - large * large, small * small - square
        worst[0, f] = worst[0, f] if worst[0, f] > excess else excess
        worst[1, f] = worst[1, f] if worst[1, f] > lack else lack


@kernel(fastmath={"contract"}, error_model="numpy")
def _eliminate(static: Array, j: int, ar: Array, ai: Array, lr: Array, li: Array, er: Array, ei: Array) -> None:
    """Form e and l of column j and update the columns behind it."""
    n, w1 = static.shape
    c, reach, lanes = j % w1, min(w1, n - j), lr.shape[1]
    for k in range(1, reach):
        b = static[j, k]
        for f in range(lanes):
            u, v = ar[c, k, f] - b * ar[c, 0, f], ai[c, k, f] - b * ai[c, 0, f]
            er[k, f], ei[k, f] = u, v
            lr[k, f] = b + u * lr[0, f] - v * li[0, f]
            li[k, f] = u * li[0, f] + v * lr[0, f]
    for i in range(1, reach):
        t = (j + i) % w1
        for k in range(i, reach):
            b = static[j, k]
            for f in range(lanes):
                ar[t, k - i, f] -= b * ar[c, i, f] + er[k, f] * lr[i, f] - ei[k, f] * li[i, f]
                ai[t, k - i, f] -= b * ai[c, i, f] + er[k, f] * li[i, f] + ei[k, f] * lr[i, f]


@kernel(fastmath={"contract"}, error_model="numpy")
def _substitute(j: int, n: int, first: Array, y: Pair, l: Pair, g: Pair) -> None:
    """Sweep the right-hand sides through column j and add their products y y^T / d."""
    (yr, yi), (lr, li), (gr, gi) = y, l, g
    w1, lanes = lr.shape
    c = j % w1
    for q in range(first.size):
        if j < first[q]:
            continue
        for k in range(1, min(w1, n - j)):
            t = (j + k) % w1
            for f in range(lanes):
                yr[t, q, f] -= lr[k, f] * yr[c, q, f] - li[k, f] * yi[c, q, f]
                yi[t, q, f] -= lr[k, f] * yi[c, q, f] + li[k, f] * yr[c, q, f]
        for p in range(q + 1):
            if j >= first[p]:
                for f in range(lanes):
                    u = yr[c, q, f] * lr[0, f] - yi[c, q, f] * li[0, f]
                    v = yr[c, q, f] * li[0, f] + yi[c, q, f] * lr[0, f]
                    gr[q, p, f] += u * yr[c, p, f] - v * yi[c, p, f]
                    gi[q, p, f] += u * yi[c, p, f] + v * yr[c, p, f]
