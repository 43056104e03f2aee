"""Residual, tangent, output and closures of an arm of assumed modes, as the common step wants them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ....kernels.ahead import ahead, together
from ....kernels.jit import entry, kernel
from ....kernels.model import CLOSURE, OUTPUT, RESIDUAL, TANGENT
from ....kernels.tables import ENTRY, FAST
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
    directions,
    lean,
    led,
    reach,
    spaces,
    turned,
)
from .pack import pack
from .sweep import balanced, forces_part, sweep

if TYPE_CHECKING:
    from .. import AssumedModes


@kernel(**FAST)
def balance(q, v, a, u, reals, ints, out):
    """M a + h + G^T lam - B u; for coordinates driven by motion a - u."""
    room = spaces(reals, ints)
    led(a, u, ints, room.b)
    balanced(q, v, room.b, u, reals, ints, out, room.S)
    for j in range(ints[DRIVEN]):
        i = ints[ints[DRIVEN_AT] + j]
        out[i] = a[i] - u[j]


@entry(RESIDUAL, needs=(forces_part,), **ENTRY)
def residual(t, q, v, a, u, reals, ints, out):
    """See `balance`."""
    balance(q, v, a, u, reals, ints, out)


@kernel(**FAST)
def slopes(q, v, a, u, weights, reals, ints):
    """Fill the room's S with the tangent, and M with what is left of it at the weight of the accelerations alone."""
    room = spaces(reals, ints)
    led(a, u, ints, room.b)
    sweep((q, v, room.b), u, weights, reals, ints, True, room.asked, room.S)
    if ints[DRIVEN] > 0:
        sweep((q, v, room.b), u, (1.0, 0.0, 0.0), reals, ints, True, room.asked, room.M)


@entry(TANGENT, **ENTRY)
def tangent(t, q, v, a, u, ca, cv, cq, reals, ints, out):
    """ca M + cv D + cq K, full, in band storage; the commanded accelerations are inputs, no part of M a."""
    n, room = ints[N], spaces(reals, ints)
    S, M = room.S, room.M
    slopes(q, v, a, u, (ca, cv, cq), reals, ints)
    for j in range(ints[DRIVEN]):
        i = ints[ints[DRIVEN_AT] + j]
        for m in range(n):
            S[m, i] -= ca * M[m, i]
    for j in range(ints[DRIVEN]):
        i = ints[ints[DRIVEN_AT] + j]
        for m in range(n):
            S[i, m] = 0.0
        S[i, i] = ca
    band(S, out)


@kernel(**FAST)
def band(S, out):
    """Put a full matrix into band storage; the first of its columns may be those of a larger one."""
    n, whole = S.shape[0], out.shape[1]
    for i in range(out.shape[0]):
        for j in range(whole):
            out[i, j] = 0.0
    for i in range(n):
        for j in range(n):
            out[2 * (whole - 1) + i - j, j] = S[i, j]


@kernel(**FAST)
def gaps(q, v, reals, ints, g, bias, matrices):
    """Gaps, their accelerations at q'' = 0, G, d(G v)/dq, and W: G^T without what is driven by motion."""
    (G, V, W), n, room = matrices, ints[N], spaces(reals, ints)
    x, dx, zero = room.x, room.dx, room.ddx
    one, other, early, late = room.one, room.other, room.early, room.late
    for i in range(n):
        zero[i] = 0.0
    angles(q, reals, ints, x)
    angles(v, reals, ints, dx)
    directions(x, reals, ints)
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
            for j in range(n):
                zero[j] = 0.0
    for k in range(2 * ints[PINS]):
        for j in range(n):
            W[j, k] = G[k, j]
        for j in range(ints[DRIVEN]):
            W[ints[ints[DRIVEN_AT] + j], k] = 0.0


@kernel(**FAST)
def readings(q, v, a, u, reals, ints, y):
    """Read the sensors of `assumed_modes.sensors`, and the torques of joints driven by motion."""
    n, room = ints[N], spaces(reals, ints)
    x, dx, ddx, asked, J, D = room.x, room.dx, room.ddx, room.asked, room.one, room.other
    if ints[DRIVEN] > 0:
        balanced(q, v, a, u, reals, ints, asked, room.S)
    angles(q, reals, ints, x)
    angles(v, reals, ints, dx)
    angles(a, reals, ints, ddx)
    directions(x, reals, ints)
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


@entry(OUTPUT, needs=(forces_part,), **ENTRY)
def output(q, v, a, u, reals, ints, y):
    """See `readings`."""
    readings(q, v, a, u, reals, ints, y)


@entry(CLOSURE, **ENTRY)
def closure(q, v, reals, ints, g, bias, G, V, W):
    """See `gaps`."""
    gaps(q, v, reals, ints, g, bias, (G, V, W))


def compiled(model: AssumedModes, driven: tuple[int, ...] = (), levers: tuple[float, ...] = ()) -> Compiled:
    """Return the compiled model; `driven` are coordinates whose accelerations come in place of their torques."""
    reals, ints = pack(model, driven, levers)
    ahead(output, tangent, residual)
    together(residual, tangent, output)
    loops = closure.load() if model.pins else None
    return Compiled(residual.load(), tangent.load(), output.load(), reals, ints, model.tree.size - 1, False, loops)
