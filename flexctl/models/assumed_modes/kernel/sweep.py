"""The balance of an arm of assumed modes and its tangent: one sweep from the base to the ends and back.

A mass point p of a link accelerates, against the frame of the link's root, by sum_f phi_f(p) alpha_f, phi being its
shape values 1 (c0), x, b_e, a_e, H_eg and alpha numbers of the motion alone. Forces and mass are sums over the points
of products of two shape values: with their table P = sum_p phi phi^T of each link nothing of a step goes over points.
`shaped` lists alpha, `project` takes P alpha to the coordinates of the link.
"""

from __future__ import annotations

import numpy as np
from numba import types

from ....kernels.jit import entry, kernel
from ....kernels.named import named
from ....kernels.tables import FAST, INT, MAT, PART, VEC
from ....kernels.vectors import put
from ...loads import ALONG
from ...loads import X as LOAD_X
from ...loads import Y as LOAD_Y
from .chain import (
    AXIAL,
    B_AT,
    C_AT,
    J_AT,
    K_AT,
    LINKS,
    LOADS,
    LOADS_AT,
    PIN_TABLE,
    PINS,
    PLAIN_T,
    SHORT,
    TABLE,
    TIP,
    TIP_INPUT,
    TIP_LINK,
    N,
    P,
    angles,
    bend,
    directions,
    point,
    spaces,
    turned,
    turned_twice,
)


@kernel(**FAST)
def add_symmetric(reals, at, n, factor, x, r):
    """Add factor S x to r, S symmetric; by columns, which vectorises."""
    for j in range(n):
        y = factor * x[j]
        start = at + j * n
        for i in range(n):
            r[i] += reals[start + i] * y


@kernel(**FAST)
def shaped(body, x, dx, ddx, f):
    """Fill f with the numbers alpha of the acceleration of a link's points against its root."""
    link, first, k, axial, short = body
    w, turn = dx[link], complex(-dx[link] * dx[link], ddx[link])
    f[0], f[1] = 0j, turn
    for e in range(k):
        y = complex(ddx[first + e], 2.0 * w * dx[first + e]) + turn * x[first + e]
        f[2 + e] = complex(-y.imag, y.real)
        if axial:
            f[2 + k + e] = y
    if short:
        at = 2 + k + (k if axial else 0)
        for e in range(k):
            push = complex(ddx[first + e], 2.0 * w * dx[first + e]) + 0.5 * turn * x[first + e]
            for g in range(k):
                f[at + e * k + g] = -(x[first + g] * push + dx[first + e] * dx[first + g])


@kernel(**FAST)
def turned_shapes(body, x, dx, f, weights, X):
    """Fill X with (c J + cv Dv + cq Dq) of the angle of the link; f is that of `shaped`."""
    (link, first, k, axial, short), (c, cv, cq) = body, weights
    straight = complex(-2.0 * dx[link] * cv, c)  # of zeta: c i - 2 w cv; the rate has 2 i cv, the acceleration i cq
    X[0], X[1] = 0j, straight + complex(-cq * f[1].imag, cq * f[1].real)
    for e in range(k):
        y = straight * x[first + e] + complex(0.0, 2.0 * cv * dx[first + e])
        own = f[2 + e]
        X[2 + e] = complex(-y.imag - cq * own.imag, y.real + cq * own.real)
        if axial:
            own = f[2 + k + e]
            X[2 + k + e] = y + complex(-cq * own.imag, cq * own.real)
    if short:
        at = 2 + k + (k if axial else 0)
        for e in range(k):
            y = 0.5 * straight * x[first + e] + complex(0.0, 2.0 * cv * dx[first + e])
            for g in range(k):
                own = f[at + e * k + g]
                X[at + e * k + g] = complex(-cq * own.imag, cq * own.real) - x[first + g] * y


@kernel(**FAST)
def bent_shapes(body, x, dx, ddx, weights, e, X):
    """Fill X with (c J + cv Dv + cq Dq) of elastic coordinate e of the link."""
    (link, first, k, axial, short), (c, cv, cq) = body, weights
    w = dx[link]
    kappa = complex(c - cq * w * w, 2.0 * w * cv + cq * ddx[link])
    X[:] = 0j
    X[2 + e] = complex(-kappa.imag, kappa.real)
    if axial:
        X[2 + k + e] = kappa
    if short:
        at = 2 + k + (k if axial else 0) + e * k
        for g in range(k):
            rate = dx[first + g]
            X[at + g] = -kappa * x[first + g] - complex(2.0 * cv * rate + cq * ddx[first + g], 2.0 * cq * w * rate)


@kernel(**FAST)
def spread(reals, at, count, f, y):
    """Y = P f."""
    y[:] = 0j
    for j in range(count):
        start, part = at + j * count, f[j]
        for i in range(count):
            y[i] += reals[start + i] * part


@kernel(**FAST)
def project(body, x, y, e):
    """Sum of Re(conj(J) Y) over the points, J of elastic coordinate e of the link, or with e = -1 of its angle."""
    _link, first, k, axial, short = body
    at = 2 + k + (k if axial else 0)
    if e < 0:
        total = y[1].imag
        for g in range(k):
            total -= x[first + g] * y[2 + g].real
            if axial:
                total += x[first + g] * y[2 + k + g].imag
            if short:
                for m in range(k):
                    total -= 0.5 * x[first + g] * x[first + m] * y[at + g * k + m].imag
        return total
    total = y[2 + e].imag
    if axial:
        total += y[2 + k + e].real
    if short:
        for g in range(k):
            total -= x[first + g] * y[at + e * k + g].real
    return total


@kernel(**FAST)
def bend_mass(body, x, y, cq, S):
    """Add cq times the second derivatives of the work of the forces at the points; y = P alpha."""
    link, first, k, axial, short = body
    at = 2 + k + (k if axial else 0)
    total = y[1].real
    for e in range(k):
        total += x[first + e] * y[2 + e].imag
        z = -y[2 + e].real
        if axial:
            total += x[first + e] * y[2 + k + e].real
            z += y[2 + k + e].imag
        if short:
            for g in range(k):
                own = y[at + e * k + g]
                total -= 0.5 * x[first + e] * x[first + g] * own.real
                z -= x[first + g] * own.imag
                S[first + e, first + g] -= cq * own.real
        S[link, first + e] += cq * z
        S[first + e, link] += cq * z
    S[link, link] -= cq * total


@kernel(**FAST)
def sweep(state, u, weights, reals, ints, want, r, out):
    """M a + h + G^T lam - B u in r and, if wanted, ca M + cv D + cq K in `out`; no coordinate driven by motion.

    state: q, v, a; weights: ca, cv, cq.
    """
    (q, v, a), (ca, cv, cq) = state, weights
    n, links, p = ints[N], ints[LINKS], ints[P]
    alpha, gravity = reals[0], complex(reals[1], reals[2])
    short, axial = ints[SHORT] == 1, ints[AXIAL] == 1
    c = ca + alpha * cv
    room = spaces(reals, ints)
    x, dx, ddx, total, S = room.x, room.dx, room.ddx, room.total, out
    E, A0, F, C0, dF = room.E, room.A0, room.F, room.C0, room.dF
    J, Dq, Dv, stations = room.J, room.Dq, room.Dv, room.stations
    f, y, X, Y = room.f, room.y, room.X, room.Y
    for i in range(n):
        total[i] = a[i] + alpha * v[i]
        r[i] = 0.0
    angles(q, reals, ints, x)
    angles(v, reals, ints, dx)
    angles(total, reals, ints, ddx)
    directions(x, reals, ints)
    moving = x, dx, ddx
    for i in range(links):
        A0[i] = F[i] = 0j
    if want:
        for i in range(n):
            for j in range(n):
                S[i, j] = 0.0
        for i in range(links * n):
            C0[i] = dF[i] = 0j
    for i in range(links):
        E[i] = complex(room.cosine[i], room.sine[i])
        row = ints[TABLE] + 6 * i
        parent, first, k, count, at = ints[row], ints[row + 1], ints[row + 2], ints[row + 3], ints[row + 4]
        if parent >= 0:
            up = ints[TABLE] + 6 * parent
            f0, k0 = ints[up + 1], ints[up + 2]
            acc = point(reals, ints[row + 5], (parent, f0, k0, short, E[parent]), moving, J, Dq, Dv)[1]
            A0[i] = A0[parent] + acc
            for e in range(k0 + 1):
                stations[i * (n + 1) + e] = J[e]
            if want:
                for m in range(n):
                    C0[i * n + m] = C0[parent * n + m]
                C0[i * n + parent] += c * J[0] + cv * Dv[0] + cq * Dq[0]
                for e in range(k0):
                    C0[i * n + f0 + e] += c * J[1 + e] + cv * Dv[1 + e] + cq * Dq[1 + e]
        if count == 0:
            continue
        body, back = (i, first, k, axial, short), E[i].conjugate()
        shaped(body, x, dx, ddx, f)
        if want:
            turned_shapes(body, x, dx, f, (c, cv, cq), X)
        f[0] = (A0[i] - gravity) * back
        spread(reals, at, count, f[:count], y[:count])
        F[i] += y[0] * E[i]
        r[i] += project(body, x, y, -1)
        for e in range(k):
            r[first + e] += project(body, x, y, e)
        if want:
            bend_mass(body, x, y, cq, S)
            for g in range(k + 1):
                column = i if g == 0 else first + g - 1
                if g > 0:
                    bent_shapes(body, x, dx, ddx, (c, cv, cq), g - 1, X[:count])
                spread(reals, at, count, X[:count], Y[:count])
                S[i, column] += project(body, x, Y, -1)
                for e in range(k):
                    S[first + e, column] += project(body, x, Y, e)
                dF[i * n + column] += Y[0] * E[i]
            if parent >= 0:
                for m in range(n):
                    carried = C0[i * n + m]
                    if carried == 0j:
                        continue
                    carried *= back
                    for j in range(count):
                        Y[j] = reals[at + j] * carried
                    S[i, m] += project(body, x, Y, -1)
                    for e in range(k):
                        S[first + e, m] += project(body, x, Y, e)
                    dF[i * n + m] += Y[0] * E[i]
    pins = 2 * ints[PINS]
    for load in range(pins + 1 + ints[LOADS]):  # closure forces on both links of every pin, the tip's force, others
        slope, change = -1, 0j
        if load < pins:
            e, pin = ints[PIN_TABLE] + 2 * load, load // 2
            link, at = ints[e], ints[e + 1]
            force = complex(u[p + 2 * pin], u[p + 2 * pin + 1]) * (1.0 if load % 2 == 0 else -1.0)
        elif load == pins:
            link, at = ints[TIP_LINK], ints[TIP]
            force = -complex(u[ints[TIP_INPUT]], u[ints[TIP_INPUT] + 1])
        else:
            e = ints[LOADS_AT] + 5 * (load - pins - 1)
            link, at, kind, weight = ints[e], ints[e + 1], ints[e + 3], ints[e + 4]
            force = complex(-reals[weight] * u[ints[e + 2]], 0.0)
            if kind == LOAD_Y:
                force *= 1j
            elif kind != LOAD_X and force != 0j:
                slope, row = weight + 1, ints[TABLE] + 6 * link
                theta = x[link]
                for g in range(ints[row + 2]):
                    theta += reals[slope + g] * x[ints[row + 1] + g]
                force *= complex(np.cos(theta), np.sin(theta)) * (1.0 + 0j if kind == ALONG else 1j)
                change = cq * 1j * force
        if link < 0 or force == 0j:
            continue
        row = ints[TABLE] + 6 * link
        first, k = ints[row + 1], ints[row + 2]
        body = link, first, k, short, E[link]
        point(reals, at, body, moving, J, Dq, Dv)
        F[link] += force
        r[link] += (force.conjugate() * J[0]).real
        for g in range(k):
            r[first + g] += (force.conjugate() * J[1 + g]).real
        if want:
            bend(reals, at, body, J, force, cq, S)
            if slope >= 0:  # a follower turns with the angle of its link there
                for m in range(k + 1):
                    column, lever = (link, 1.0) if m == 0 else (first + m - 1, reals[slope + m - 1])
                    dF[link * n + column] += lever * change
                    for g in range(k + 1):
                        S[link if g == 0 else first + g - 1, column] += lever * (change.conjugate() * J[g]).real
    for i in range(links - 1, -1, -1):
        row = ints[TABLE] + 6 * i
        parent = ints[row]
        if parent < 0:
            continue
        up = ints[TABLE] + 6 * parent
        f0, k0 = ints[up + 1], ints[up + 2]
        F[parent] += F[i]
        for e in range(k0 + 1):
            J[e] = stations[i * (n + 1) + e]
        for g in range(k0 + 1):
            line, left = (parent if g == 0 else f0 + g - 1), J[g].conjugate()
            r[line] += (left * F[i]).real
            if want:
                for m in range(n):
                    S[line, m] += (left * dF[i * n + m]).real
        if want:
            bend(reals, ints[row + 5], (parent, f0, k0, short, E[parent]), J, F[i], cq, S)
            for m in range(n):
                dF[parent * n + m] += dF[i * n + m]
    add_symmetric(reals, ints[J_AT], n, 1.0, ddx, r)
    if ints[PLAIN_T] == 0:
        turned(r, reals, ints, total)
    put(q, ddx)
    put(v, dx)
    add_symmetric(reals, ints[K_AT], n, 1.0, ddx, r)
    add_symmetric(reals, ints[C_AT], n, 1.0, dx, r)
    for j in range(p):
        if u[j] != 0.0:
            for i in range(n):
                r[i] -= reals[ints[B_AT] + i * p + j] * u[j]
    if want:
        K, C, inertia = ints[K_AT], ints[C_AT], ints[J_AT]
        for i in range(n):
            for j in range(n):
                S[i, j] += c * reals[inertia + i * n + j]
        if ints[PLAIN_T] == 0:
            turned_twice(S, reals, ints, total)
        for i in range(n):
            for j in range(n):
                S[i, j] += cq * reals[K + i * n + j] + cv * reals[C + i * n + j]


@kernel(**FAST)
def forces(q, v, a, u, reals, ints, r, scratch):
    """M a + h + G^T lam - B u in r; see `sweep`."""
    sweep((q, v, a), u, (0.0, 0.0, 0.0), reals, ints, False, r, scratch)


@entry(types.void(VEC, VEC, VEC, VEC, VEC, INT, VEC, MAT), **PART)
def forces_part(q, v, a, u, reals, ints, r, scratch):
    """See `forces`."""
    forces(q, v, a, u, reals, ints, r, scratch)


balanced = named(forces_part, forces)
"""`forces`, for entries that need `forces_part`: two of them would make it twice."""
