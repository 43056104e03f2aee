"""Residual, tangent, output and closures of an arm of assumed modes, as the common step wants them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ....kernels.jit import entry, kernel
from ....kernels.model import CLOSURE, OUTPUT, RESIDUAL, TANGENT
from ....model import Compiled
from .chain import (
    ACCELERATION,
    ACROSS,
    CHANNELS,
    CHORD,
    CHORD_RATE,
    DRIVE,
    DRIVEN,
    DRIVEN_AT,
    ERROR,
    OUTPUTS,
    PIN_TABLE,
    PINNED,
    PINS,
    PLACE,
    PLAIN_T,
    RATE,
    TABLE,
    TIP,
    TIP_LINK,
    WAY,
    WAY_AT,
    N,
    angles,
    lean,
    led,
    reach,
    turned,
)
from .pack import pack
from .sweep import sweep

if TYPE_CHECKING:
    from .. import AssumedModes


@kernel
def balance(q, v, a, u, reals, ints, out):
    """M a + h + G^T lam - B u; for coordinates driven by motion a - u."""
    b = np.empty(a.size)
    led(a, u, ints, b)
    sweep((q, v, b), u, (0.0, 0.0, 0.0), reals, ints, False, out, np.zeros((1, 1)))
    for j in range(ints[DRIVEN]):
        i = ints[ints[DRIVEN_AT] + j]
        out[i] = a[i] - u[j]


@entry(RESIDUAL)
def residual(t, q, v, a, u, reals, ints, out):
    """See `balance`."""
    balance(q, v, a, u, reals, ints, out)


@entry(TANGENT)
def tangent(t, q, v, a, u, ca, cv, cq, reals, ints, out):
    """ca M + cv D + cq K, full, in band storage; the commanded accelerations are inputs, no part of M a."""
    n = ints[N]
    S, r, b = np.empty((n, n)), np.empty(n), np.empty(n)
    led(a, u, ints, b)
    sweep((q, v, b), u, (ca, cv, cq), reals, ints, True, r, S)
    if ints[DRIVEN] > 0:
        M = np.empty((n, n))
        sweep((q, v, b), u, (ca, 0.0, 0.0), reals, ints, True, r, M)
        for j in range(ints[DRIVEN]):
            i = ints[ints[DRIVEN_AT] + j]
            for m in range(n):
                S[m, i] -= M[m, i]
        for j in range(ints[DRIVEN]):
            i = ints[ints[DRIVEN_AT] + j]
            S[i, :] = 0.0
            S[i, i] = ca
    out[:] = 0.0
    for i in range(n):
        for j in range(n):
            out[2 * (n - 1) + i - j, j] = S[i, j]


@kernel
def gaps(q, v, reals, ints, g, bias, matrices):
    """Gaps, their accelerations at q'' = 0, G, d(G v)/dq, and W: G^T without what is driven by motion."""
    (G, V, W), n = matrices, ints[N]
    x, dx, zero = np.empty(n), np.empty(n), np.zeros(n)
    one, other = np.empty(n, np.complex128), np.empty(n, np.complex128)
    early, late = np.empty(n, np.complex128), np.empty(n, np.complex128)
    angles(q, reals, ints, x)
    angles(v, reals, ints, dx)
    for pin in range(ints[PINS]):
        e = ints[PIN_TABLE] + 4 * pin
        here, push = reach((x, dx, zero), reals, ints, ints[e], ints[e + 1], one, early)
        there, back = reach((x, dx, zero), reals, ints, ints[e + 2], ints[e + 3], other, late)
        gap, push = here - there, push - back
        start = ints[PINNED] + 2 * pin  # the gap at the origin: places of the bases and of pins on the base
        g[2 * pin], g[2 * pin + 1] = gap.real + reals[start], gap.imag + reals[start + 1]
        bias[2 * pin], bias[2 * pin + 1] = push.real, push.imag
        for j in range(n):
            one[j] -= other[j]
            early[j] = 0.5 * (early[j] - late[j])  # the bias is quadratic in v, d(G v)/dq half its derivative by v
            G[2 * pin, j], G[2 * pin + 1, j] = one[j].real, one[j].imag
            V[2 * pin, j], V[2 * pin + 1, j] = early[j].real, early[j].imag
        if ints[PLAIN_T] == 0:
            for line in range(2 * pin, 2 * pin + 2):
                turned(G[line], reals, ints, zero)
                turned(V[line], reals, ints, zero)
            zero[:] = 0.0
    for k in range(2 * ints[PINS]):
        for j in range(n):
            W[j, k] = G[k, j]
        for j in range(ints[DRIVEN]):
            W[ints[ints[DRIVEN_AT] + j], k] = 0.0


@kernel
def readings(q, v, a, u, reals, ints, y):
    """Read the sensors of `assumed_modes.sensors`, and the torques of joints driven by motion."""
    n = ints[N]
    x, dx, ddx, asked = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    angles(q, reals, ints, x)
    angles(v, reals, ints, dx)
    angles(a, reals, ints, ddx)
    J, D = np.empty(n, np.complex128), np.empty(n, np.complex128)
    if ints[DRIVEN] > 0:
        sweep((q, v, a), u, (0.0, 0.0, 0.0), reals, ints, False, asked, np.zeros((1, 1)))
    tip, push = reach((x, dx, ddx), reals, ints, ints[TIP_LINK], ints[TIP], J, D)
    for i in range(ints[OUTPUTS]):
        e = ints[CHANNELS] + 5 * i
        kind, row, axis = ints[e], ints[e + 1], ints[e + 4]
        if kind == DRIVE:
            y[i] = asked[axis] / reals[row]
            continue
        total = 0.0
        for j in range(n):
            total += reals[row + j] * (dx[j] if kind in (RATE, CHORD_RATE) else x[j])
        if kind <= RATE:
            y[i] = total
            continue
        if kind in (CHORD, CHORD_RATE):
            link = ints[e + 2]
            carrier = ints[ints[TABLE] + 6 * link]
            y[i] = total + lean(x, dx, reals, ints, link, kind == CHORD_RATE)
            if carrier >= 0:
                y[i] -= lean(x, dx, reals, ints, carrier, kind == CHORD_RATE)
            continue
        if kind == ACROSS:
            _, here = reach((x, dx, ddx), reals, ints, ints[e + 2], ints[e + 3], J, D)
            y[i] = (complex(-np.sin(total), -np.cos(total)) * here).real
            continue
        value = push if kind == ACCELERATION else tip
        if kind == ERROR:
            for j in range(ints[WAY]):
                start = ints[WAY_AT] + j * (n + 1)
                turn = 0.0
                for m in range(n):
                    turn += reals[start + 1 + m] * x[m]
                value -= reals[start] * complex(np.cos(turn), np.sin(turn))
        base = reals[row + n + axis] if kind == PLACE else 0.0  # the place of the root of the tree
        y[i] = (value.real if axis == 0 else value.imag) + base


@entry(OUTPUT)
def output(q, v, a, u, reals, ints, y):
    """See `readings`."""
    readings(q, v, a, u, reals, ints, y)


@entry(CLOSURE)
def closure(q, v, reals, ints, g, bias, G, V, W):
    """See `gaps`."""
    gaps(q, v, reals, ints, g, bias, (G, V, W))


def compiled(model: AssumedModes, driven: tuple[int, ...] = (), levers: tuple[float, ...] = ()) -> Compiled:
    """Return the compiled model; `driven` are coordinates whose accelerations come in place of their torques."""
    reals, ints = pack(model, driven, levers)
    loops = closure.load() if model.pins else None
    return Compiled(residual.load(), tangent.load(), output.load(), reals, ints, model.tree.size - 1, False, loops)
