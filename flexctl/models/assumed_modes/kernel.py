"""Residual, tangent, output and closures of `assumed_modes` for the time loop.

The same equations as `assumed_modes.motion` and `assumed_modes`, one sweep from the base to the ends and back: on the
way out the acceleration of every root and its derivatives, on the way back the force F that what a root carries asks
for.

    ints  = header (names below), then for each link (parent, first elastic coordinate, k, points, their place, place of
            its root on the parent), each pin (link, place, link, place), each output (kind, row, link, place, axis),
            places of the ends of all links, coordinates driven by motion
    reals = alpha, gravity, T, K, C, inertia, B, then fields: for each point c0, x, a (k), b (k), H (k x k)

"Place" is an index of reals. With coordinates driven by motion u begins with their accelerations. The closure forces
lam stand behind the inputs in u.

With cylinders (`wrappers.hydraulic`) a coordinate z for each driven one stands behind the others, u begins with their
commands, and reals end with the table (c0, c1, c2, b, p_ref) of the cylinders.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from numba import complex128

from ...kernels.jit import entry, kernel
from ...kernels.model import CLOSURE, OUTPUT, RESIDUAL, TANGENT
from ...kernels.vectors import put, put_matrix
from ...model import Compiled, FloatArray

if TYPE_CHECKING:
    from . import AssumedModes
    from .mesh import Field, Station

N, LINKS, P, OUTPUTS, PINS, PLAIN_T, SHORT, T_AT, K_AT, C_AT, J_AT, B_AT, PINNED, TABLE, PIN_TABLE = range(15)
CHANNELS, TIP_LINK, TIP, TIP_INPUT, WAY, WAY_AT, ENDS, DRIVEN, DRIVEN_AT, HEADER = range(15, 25)
POSITION, RATE, PLACE, ACCELERATION, ERROR, ACROSS, CHORD, CHORD_RATE, DRIVE = range(9)
CVEC = complex128[::1]
Constants = tuple[FloatArray, npt.NDArray[np.int64]]


@kernel
def angles(q, reals, ints, eta):
    """Return eta = T q in `eta`."""
    n, start = ints[N], ints[T_AT]
    put(q, eta)
    if ints[PLAIN_T] == 0:
        for i in range(ints[LINKS]):
            total = 0.0
            for j in range(n):
                total += reals[start + i * n + j] * q[j]
            eta[i] = total


@kernel
def turned(r, reals, ints, spare):
    """Replace r by T^T r."""
    n, start = ints[N], ints[T_AT]
    put(r, spare)
    for i in range(ints[LINKS]):
        r[i] = 0.0
    for i in range(ints[LINKS]):
        for j in range(n):
            r[j] += reals[start + i * n + j] * spare[i]


@kernel
def turned_twice(S, reals, ints, spare):
    """Replace S by T^T S T."""
    n, links, start = ints[N], ints[LINKS], ints[T_AT]
    for i in range(n):
        turned(S[i], reals, ints, spare)
    for j in range(n):
        put(S[:links, j], spare[:links])
        for i in range(links):
            S[i, j] = 0.0
        for i in range(links):
            for m in range(n):
                S[m, j] += reals[start + i * n + m] * spare[i]


@kernel
def point(reals, at, k, first, short, E, q, v, a, link, J, Dq, Dv):
    """Place and acceleration of a point against the root of its link; their derivatives by (theta, z)."""
    w, alpha = v[link], a[link]
    zeta, rate, acc = complex(reals[at + 1], 0.0), 0j, 0j
    for i in range(k):
        slope = complex(reals[at + 2 + i], reals[at + 2 + k + i])
        J[1 + i] = slope
        Dq[1 + i], Dv[1 + i] = 0j, 0j
        zeta += slope * q[first + i]
    if short:
        for i in range(k):
            Hz, Hv, Ha = 0.0, 0.0, 0.0
            for j in range(k):
                H = reals[at + 2 + 2 * k + i * k + j]
                Hz += H * q[first + j]
                Hv += H * v[first + j]
                Ha += H * a[first + j]
            J[1 + i] -= Hz
            zeta -= 0.5 * Hz * q[first + i]
            acc -= Hv * v[first + i]
            Dq[1 + i] = -Ha - 2j * w * Hv
            Dv[1 + i] = complex(-2.0 * Hv, 0.0)
    turn = complex(-w * w, alpha)
    for i in range(k):
        rate += J[1 + i] * v[first + i]
        acc += J[1 + i] * a[first + i]
        Dq[1 + i] = (Dq[1 + i] + turn * J[1 + i]) * E
        Dv[1 + i] = (Dv[1 + i] + 2j * w * J[1 + i]) * E
        J[1 + i] *= E
    acc = (acc + 2j * w * rate + turn * zeta) * E
    J[0], Dq[0], Dv[0] = 1j * zeta * E, 1j * acc, (2j * rate - 2.0 * w * zeta) * E
    return zeta * E, acc


@kernel
def bend(reals, at, k, link, first, short, E, J, force, scale, S):
    """Add the second derivatives of the work of a given force at a point."""
    S[link, link] += scale * (force.conjugate() * 1j * J[0]).real
    for i in range(k):
        x = scale * (force.conjugate() * 1j * J[1 + i]).real
        S[link, first + i] += x
        S[first + i, link] += x
    if short:
        x = scale * (force.conjugate() * E).real
        for i in range(k):
            for j in range(k):
                S[first + i, first + j] -= x * reals[at + 2 + 2 * k + i * k + j]


@kernel
def sweep(q, v, a, u, ca, cv, cq, reals, ints, want, r, out):
    """M a + h + G^T lam - B u in r and, if wanted, ca M + cv D + cq K in `out`; no coordinate driven by motion."""
    n, links, p = ints[N], ints[LINKS], ints[P]
    alpha, gravity, short = reals[0], complex(reals[1], reals[2]), ints[SHORT] == 1
    c = ca + alpha * cv
    x, dx, ddx, total = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    for i in range(n):
        total[i] = a[i] + alpha * v[i]
    angles(q, reals, ints, x)
    angles(v, reals, ints, dx)
    angles(total, reals, ints, ddx)
    E, A0, F = np.empty(links, np.complex128), np.zeros(links, np.complex128), np.zeros(links, np.complex128)
    C0, dF = np.zeros((links, n), np.complex128), np.zeros((links, n), np.complex128)
    rows, stations = np.empty((4, n + 1), np.complex128), np.empty((links, n + 1), np.complex128)
    J, Dq, Dv, sums = rows[0], rows[1], rows[2], rows[3]
    S = np.zeros((n, n)) if want else np.zeros((1, 1))
    r[:] = 0.0
    for i in range(links):
        E[i] = complex(np.cos(x[i]), np.sin(x[i]))
        row = ints[TABLE] + 6 * i
        parent, first, k, count, at = ints[row], ints[row + 1], ints[row + 2], ints[row + 3], ints[row + 4]
        if parent >= 0:
            up = ints[TABLE] + 6 * parent
            f0, k0 = ints[up + 1], ints[up + 2]
            acc = point(reals, ints[row + 5], k0, f0, short, E[parent], x, dx, ddx, parent, J, Dq, Dv)[1]
            A0[i] = A0[parent] + acc
            for e in range(k0 + 1):
                stations[i, e] = J[e]
            if want:
                C0[i] = C0[parent]
                C0[i, parent] += c * J[0] + cv * Dv[0] + cq * Dq[0]
                for e in range(k0):
                    C0[i, f0 + e] += c * J[1 + e] + cv * Dv[1 + e] + cq * Dq[1 + e]
        mass = 0.0
        sums[:] = 0j
        for _ in range(count):
            c0 = reals[at]
            acc = point(reals, at, k, first, short, E[i], x, dx, ddx, i, J, Dq, Dv)[1]
            acc += c0 * (A0[i] - gravity)
            F[i] += c0 * acc
            back = acc.conjugate()
            r[i] += (back * J[0]).real
            for g in range(k):
                r[first + g] += (back * J[1 + g]).real
            if want:
                mass += c0 * c0
                bend(reals, at, k, i, first, short, E[i], J, acc, cq, S)
                for g in range(k + 1):
                    Dq[g] = c * J[g] + cv * Dv[g] + cq * Dq[g]
                    sums[g] += c0 * J[g]
                    dF[i, i if g == 0 else first + g - 1] += c0 * Dq[g]
                for g in range(k + 1):
                    line, left = (i if g == 0 else first + g - 1), J[g].conjugate()
                    S[line, i] += (left * Dq[0]).real
                    for m in range(k):
                        S[line, first + m] += (left * Dq[1 + m]).real
            at += 2 + 2 * k + k * k
        if want:
            for g in range(k + 1):
                line, left = (i if g == 0 else first + g - 1), sums[g].conjugate()
                for m in range(n):
                    S[line, m] += (left * C0[i, m]).real
            for m in range(n):
                dF[i, m] += mass * C0[i, m]
    for load in range(2 * ints[PINS] + 1):  # closure forces on both links of every pin, and the force on the tip
        if load < 2 * ints[PINS]:
            e, pin = ints[PIN_TABLE] + 2 * load, load // 2
            link, at = ints[e], ints[e + 1]
            force = complex(u[p + 2 * pin], u[p + 2 * pin + 1]) * (1.0 if load % 2 == 0 else -1.0)
        else:
            link, at = ints[TIP_LINK], ints[TIP]
            force = -complex(u[ints[TIP_INPUT]], u[ints[TIP_INPUT] + 1])
        if link < 0 or force == 0j:
            continue
        row = ints[TABLE] + 6 * link
        first, k = ints[row + 1], ints[row + 2]
        point(reals, at, k, first, short, E[link], x, dx, ddx, link, J, Dq, Dv)
        F[link] += force
        r[link] += (force.conjugate() * J[0]).real
        for g in range(k):
            r[first + g] += (force.conjugate() * J[1 + g]).real
        if want:
            bend(reals, at, k, link, first, short, E[link], J, force, cq, S)
    for i in range(links - 1, -1, -1):
        row = ints[TABLE] + 6 * i
        parent = ints[row]
        if parent < 0:
            continue
        up = ints[TABLE] + 6 * parent
        f0, k0 = ints[up + 1], ints[up + 2]
        F[parent] += F[i]
        put(stations[i, : k0 + 1], J[: k0 + 1])
        for g in range(k0 + 1):
            line, left = (parent if g == 0 else f0 + g - 1), J[g].conjugate()
            r[line] += (left * F[i]).real
            if want:
                for m in range(n):
                    S[line, m] += (left * dF[i, m]).real
        if want:
            bend(reals, ints[row + 5], k0, parent, f0, short, E[parent], J, F[i], cq, S)
            for m in range(n):
                dF[parent, m] += dF[i, m]
    inertia = ints[J_AT]
    for i in range(n):
        for j in range(n):
            r[i] += reals[inertia + i * n + j] * ddx[j]
    if ints[PLAIN_T] == 0:
        turned(r, reals, ints, total)
    K, C, B = ints[K_AT], ints[C_AT], ints[B_AT]
    for i in range(n):
        for j in range(n):
            r[i] += reals[K + i * n + j] * q[j] + reals[C + i * n + j] * v[j]
        for j in range(p):
            r[i] -= reals[B + i * p + j] * u[j]
    if want:
        for i in range(n):
            for j in range(n):
                S[i, j] += c * reals[inertia + i * n + j]
        if ints[PLAIN_T] == 0:
            turned_twice(S, reals, ints, total)
        for i in range(n):
            for j in range(n):
                out[i, j] = S[i, j] + cq * reals[K + i * n + j] + cv * reals[C + i * n + j]


@kernel
def led(a, u, ints, b):
    """Copy the accelerations, those of coordinates driven by motion as commanded."""
    put(a, b)
    for j in range(ints[DRIVEN]):
        b[ints[ints[DRIVEN_AT] + j]] = u[j]


@entry(RESIDUAL)
def residual(t, q, v, a, u, reals, ints, out):
    """M a + h + G^T lam - B u; for coordinates driven by motion a - u."""
    b = np.empty(a.size)
    led(a, u, ints, b)
    sweep(q, v, b, u, 0.0, 0.0, 0.0, reals, ints, False, out, np.zeros((1, 1)))
    for j in range(ints[DRIVEN]):
        i = ints[ints[DRIVEN_AT] + j]
        out[i] = a[i] - u[j]


@entry(TANGENT)
def tangent(t, q, v, a, u, ca, cv, cq, reals, ints, out):
    """ca M + cv D + cq K, full, in band storage; the commanded accelerations are inputs, no part of M a."""
    n = ints[N]
    S, r, b = np.empty((n, n)), np.empty(n), np.empty(n)
    led(a, u, ints, b)
    sweep(q, v, b, u, ca, cv, cq, reals, ints, True, r, S)
    if ints[DRIVEN] > 0:
        M = np.empty((n, n))
        sweep(q, v, b, u, ca, 0.0, 0.0, reals, ints, True, r, M)
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
def reach(x, dx, ddx, reals, ints, link, at, J0, D0):
    """Place and acceleration of a station against the root of the tree it stands on.

    J0 gets the derivatives of the place by the coordinates, D0 those of the acceleration by the rates.
    """
    n, short = ints[N], ints[SHORT] == 1
    rows = np.empty((3, n + 1), np.complex128)
    J, Dq, Dv = rows[0], rows[1], rows[2]
    J0[:] = 0j
    D0[:] = 0j
    place, acc = 0j, 0j
    while link >= 0:
        row = ints[TABLE] + 6 * link
        first, k = ints[row + 1], ints[row + 2]
        E = complex(np.cos(x[link]), np.sin(x[link]))
        here, push = point(reals, at, k, first, short, E, x, dx, ddx, link, J, Dq, Dv)
        place += here
        acc += push
        J0[link] += J[0]
        D0[link] += Dv[0]
        for i in range(k):
            J0[first + i] += J[1 + i]
            D0[first + i] += Dv[1 + i]
        at = ints[row + 5]
        link = ints[row]
    return place, acc


@entry(CLOSURE)
def closure(q, v, reals, ints, g, bias, G, V, W):
    """Gaps, their accelerations at q'' = 0, G, d(G v)/dq, and W: G^T without what is driven by motion."""
    n = ints[N]
    x, dx, zero = np.empty(n), np.empty(n), np.zeros(n)
    one, other = np.empty(n, np.complex128), np.empty(n, np.complex128)
    early, late = np.empty(n, np.complex128), np.empty(n, np.complex128)
    angles(q, reals, ints, x)
    angles(v, reals, ints, dx)
    for pin in range(ints[PINS]):
        e = ints[PIN_TABLE] + 4 * pin
        here, push = reach(x, dx, zero, reals, ints, ints[e], ints[e + 1], one, early)
        there, back = reach(x, dx, zero, reals, ints, ints[e + 2], ints[e + 3], other, late)
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
def lean(x, dx, reals, ints, link, rated):
    """Turn of a link's chord against its root, or the rate of it."""
    row = ints[TABLE] + 6 * link
    first, k, at, short = ints[row + 1], ints[row + 2], ints[ints[ENDS] + link], ints[SHORT] == 1
    place, rate = complex(reals[at + 1], 0.0), 0j
    for i in range(k):
        slope = complex(reals[at + 2 + i], reals[at + 2 + k + i])
        place += slope * x[first + i]
        if short:
            Hz = 0.0
            for j in range(k):
                Hz += reals[at + 2 + 2 * k + i * k + j] * x[first + j]
            place -= 0.5 * Hz * x[first + i]
            slope -= Hz
        rate += slope * dx[first + i]
    return (rate / place).imag if rated else np.arctan2(place.imag, place.real)


@entry(OUTPUT)
def output(q, v, a, u, reals, ints, y):
    """Read the sensors of `assumed_modes.sensors`, and the torques of joints driven by motion."""
    n = ints[N]
    x, dx, ddx, balance = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    angles(q, reals, ints, x)
    angles(v, reals, ints, dx)
    angles(a, reals, ints, ddx)
    J, D = np.empty(n, np.complex128), np.empty(n, np.complex128)
    if ints[DRIVEN] > 0:
        sweep(q, v, a, u, 0.0, 0.0, 0.0, reals, ints, False, balance, np.zeros((1, 1)))
    tip, push = reach(x, dx, ddx, reals, ints, ints[TIP_LINK], ints[TIP], J, D)
    for i in range(ints[OUTPUTS]):
        e = ints[CHANNELS] + 5 * i
        kind, row, axis = ints[e], ints[e + 1], ints[e + 4]
        if kind == DRIVE:
            y[i] = balance[axis] / reals[row]
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
            _, here = reach(x, dx, ddx, reals, ints, ints[e + 2], ints[e + 3], J, D)
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


def compiled(model: AssumedModes, driven: tuple[int, ...] = (), levers: tuple[float, ...] = ()) -> Compiled:
    """Return the compiled model; `driven` are coordinates whose accelerations come in place of their torques."""
    reals, ints = _pack(model, driven, levers)
    loops = closure.load() if model.pins else None
    return Compiled(residual.load(), tangent.load(), output.load(), reals, ints, model.tree.size - 1, False, loops)


@kernel
def moved(v, u, ints, w):
    """Inputs of the arm: those of the whole, the commands replaced by the accelerations of the joints."""
    put(u, w)
    for j in range(ints[DRIVEN]):
        w[j] = v[ints[N] + j]


@entry(RESIDUAL)
def hydraulic_residual(t, q, v, a, u, reals, ints, out):
    """As `residual`, and z'' + c2 z' + c1 p' + c0 (p - p_ref) - b u of each cylinder."""
    n, k = ints[N], ints[DRIVEN]
    w = np.empty(u.size)
    moved(v, u, ints, w)
    residual(t, q[:n], v[:n], a[:n], w, reals, ints, out[:n])
    for j in range(k):
        at, p = reals.size - 5 * (k - j), ints[ints[DRIVEN_AT] + j]
        c0, c1, c2 = reals[at], reals[at + 1], reals[at + 2]
        course = c2 * v[n + j] + c1 * v[p] + c0 * (q[p] - reals[at + 4])
        out[n + j] = a[n + j] + course - reals[at + 3] * u[j]


@entry(TANGENT)
def hydraulic_tangent(t, q, v, a, u, ca, cv, cq, reals, ints, out):
    """ca M + cv D + cq K of `hydraulic_residual`, full, in band storage."""
    n, k = ints[N], ints[DRIVEN]
    w, b, r = np.empty(u.size), np.empty(n), np.empty(n)
    S, M = np.empty((n, n)), np.zeros((n, n))
    moved(v, u, ints, w)
    led(a[:n], w, ints, b)
    sweep(q[:n], v[:n], b, w, ca, cv, cq, reals, ints, True, r, S)
    sweep(q[:n], v[:n], b, w, 1.0, 0.0, 0.0, reals, ints, True, r, M)
    for j in range(k):
        p = ints[ints[DRIVEN_AT] + j]
        for i in range(n):
            S[i, p] -= ca * M[i, p]
    for j in range(k):
        S[ints[ints[DRIVEN_AT] + j], :] = 0.0
    out[:] = 0.0
    last = 2 * (n + k - 1)
    for i in range(n):
        for j in range(n):
            out[last + i - j, j] = S[i, j]
    for j in range(k):
        p, z, at = ints[ints[DRIVEN_AT] + j], n + j, reals.size - 5 * (k - j)
        for i in range(n):
            out[last + i - z, z] = cv * M[i, p]
        for i in range(k):
            out[last + ints[ints[DRIVEN_AT] + i] - z, z] = 0.0
        out[last, p] = ca
        out[last + p - z, z] = -cv
        out[last, z] = ca + cv * reals[at + 2]
        out[last + z - p, p] = cv * reals[at + 1] + cq * reals[at]


@entry(OUTPUT)
def hydraulic_output(q, v, a, u, reals, ints, y):
    """As `output`, and the accelerations of the joints that cylinders move."""
    n, k = ints[N], ints[DRIVEN]
    w = np.empty(u.size)
    moved(v, u, ints, w)
    output(q[:n], v[:n], a[:n], w, reals, ints, y[: y.size - k])
    put(v[n:], y[y.size - k :])


@entry(CLOSURE)
def hydraulic_closure(q, v, reals, ints, g, bias, G, V, W):
    """As `closure`; nothing acts on the cylinders."""
    n, m = ints[N], 2 * ints[PINS]
    G0, V0, W0 = np.empty((m, n)), np.empty((m, n)), np.empty((n, m))
    closure(q[:n], v[:n], reals, ints, g, bias, G0, V0, W0)
    G[:], V[:], W[:] = 0.0, 0.0, 0.0
    put_matrix(G0, G[:, :n])
    put_matrix(V0, V[:, :n])
    put_matrix(W0, W[:n])


def with_cylinders(arm: Compiled, cubics: FloatArray) -> Compiled:
    """Return the compiled arm with driven coordinates moved by cylinders, rows (c0, c1, c2, b, p_ref)."""
    reals = np.concatenate([arm.reals, cubics.ravel()])
    loops = None if arm.closure is None else hydraulic_closure.load()
    wide = arm.bandwidth + len(cubics)
    motion = hydraulic_residual.load(), hydraulic_tangent.load(), hydraulic_output.load()
    return Compiled(*motion, reals, arm.ints, wide, False, loops)


class _Packer:
    """Collects reals and tells where they stand."""

    def __init__(self) -> None:
        self.parts: list[FloatArray] = []
        self.size = 0

    def __call__(self, values: object) -> int:
        part = np.ascontiguousarray(values, float).ravel()
        start = self.size
        self.parts.append(part)
        self.size += part.size
        return start

    def field(self, f: Field) -> int:
        """Store the points of a field, one after the other."""
        start = self.size
        for c0, x, a, b, H in zip(*f, strict=True):
            self(np.concatenate([[c0, x], a, b, H.ravel()]))
        return start


def _root(model: AssumedModes, link: int) -> complex:
    """Return the place on the base of the tree that a link belongs to."""
    while link >= 0 and model.tree.parent[link] >= 0:
        link = model.tree.parent[link]
    return complex(model.tree.base[link]) if link >= 0 else 0j


def _pack(model: AssumedModes, driven: tuple[int, ...], levers: tuple[float, ...]) -> Constants:
    tree, put, n = model.tree, _Packer(), model.tree.size
    gravity = tree.gravity
    put([model.alpha, gravity.real, gravity.imag])
    replaced = [int(np.flatnonzero(model.B[i])[0]) for i in driven]
    kept = [j for j in range(model.B.shape[1]) if j not in replaced]
    B = np.hstack([np.zeros((n, len(driven))), model.B[:, kept]])
    header = np.zeros(HEADER, np.int64)
    header[[N, LINKS, P, PINS]] = n, len(tree.parent), B.shape[1], len(model.pins)
    header[PLAIN_T] = int(np.array_equal(tree.T, np.eye(n)))
    header[SHORT] = int(any(f.H.any() for f in tree.points))
    header[T_AT], header[K_AT], header[C_AT] = put(tree.T), put(tree.K + np.diag(model.kp)), put(model.C)
    header[J_AT], header[B_AT] = put(tree.inertia), put(B)
    rows: list[int] = []

    def place(station: Station) -> list[int]:
        return [station.link, put.field(station.field)]

    header[TABLE] = HEADER
    for i, parent in enumerate(tree.parent):
        s, f = tree.shapes[i], tree.points[i]
        first = int(tree.elastic[i][0]) if s.size else 0
        rows += [parent, first, s.size, len(f.c0), put.field(f), place(tree.root[i])[1]]
    header[PIN_TABLE] = HEADER + len(rows)
    for one, other in model.pins:
        rows += place(one) + place(other)
    gaps = [_root(model, a.link) - _root(model, b.link) for a, b in model.pins]
    offset = np.array(gaps, complex) - model.pinned
    header[PINNED] = put(np.column_stack([offset.real, offset.imag]))
    header[CHANNELS] = HEADER + len(rows)
    base = _root(model, tree.tip.link)
    for c in model.sensors.channels:
        rows += [c.kind, put(np.append(c.row, [base.real, base.imag])), *place(c.station), c.axis]
    for i, lever in zip(driven, levers, strict=True):
        rows += [DRIVE, put([lever]), 0, 0, i]
    header[OUTPUTS] = len(model.sensors.channels) + len(driven)
    header[TIP_LINK], header[TIP] = place(tree.tip)
    header[TIP_INPUT] = B.shape[1] - 2
    steps = model.sensors.rigid_steps()
    header[WAY], header[WAY_AT] = len(steps), put([np.append(step, turn) for step, turn in steps])
    header[ENDS] = HEADER + len(rows)
    rows += [put.field(tree.station(i, 1.0).field) for i in range(len(tree.parent))]
    header[DRIVEN], header[DRIVEN_AT] = len(driven), HEADER + len(rows)
    rows += list(driven)
    return np.concatenate(put.parts), np.concatenate([header, np.array(rows, np.int64)])
