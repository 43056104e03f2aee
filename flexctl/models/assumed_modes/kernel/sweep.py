"""The balance of an arm of assumed modes and its tangent: one sweep from the base to the ends and back."""

from __future__ import annotations

import numpy as np

from ....kernels.jit import kernel
from ....kernels.vectors import put
from ...loads import ALONG, X, Y
from .chain import (
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
    point,
    turned,
    turned_twice,
)


@kernel
def sweep(state, u, weights, reals, ints, want, r, out):
    """M a + h + G^T lam - B u in r and, if wanted, ca M + cv D + cq K in `out`; no coordinate driven by motion.

    state: q, v, a; weights: ca, cv, cq.
    """
    (q, v, a), (ca, cv, cq) = state, weights
    n, links, p = ints[N], ints[LINKS], ints[P]
    alpha, gravity, short = reals[0], complex(reals[1], reals[2]), ints[SHORT] == 1
    c = ca + alpha * cv
    x, dx, ddx, total = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    for i in range(n):
        total[i] = a[i] + alpha * v[i]
    angles(q, reals, ints, x)
    angles(v, reals, ints, dx)
    angles(total, reals, ints, ddx)
    moving = x, dx, ddx
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
            acc = point(reals, ints[row + 5], (parent, f0, k0, short, E[parent]), moving, J, Dq, Dv)[1]
            A0[i] = A0[parent] + acc
            for e in range(k0 + 1):
                stations[i, e] = J[e]
            if want:
                C0[i] = C0[parent]
                C0[i, parent] += c * J[0] + cv * Dv[0] + cq * Dq[0]
                for e in range(k0):
                    C0[i, f0 + e] += c * J[1 + e] + cv * Dv[1 + e] + cq * Dq[1 + e]
        mass, body = 0.0, (i, first, k, short, E[i])
        sums[:] = 0j
        for _ in range(count):
            c0 = reals[at]
            acc = point(reals, at, body, moving, J, Dq, Dv)[1]
            acc += c0 * (A0[i] - gravity)
            F[i] += c0 * acc
            back = acc.conjugate()
            r[i] += (back * J[0]).real
            for g in range(k):
                r[first + g] += (back * J[1 + g]).real
            if want:
                mass += c0 * c0
                bend(reals, at, body, J, acc, cq, S)
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
            if kind == Y:
                force *= 1j
            elif kind != X and force != 0j:
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
                    dF[link, column] += lever * change
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
        put(stations[i, : k0 + 1], J[: k0 + 1])
        for g in range(k0 + 1):
            line, left = (parent if g == 0 else f0 + g - 1), J[g].conjugate()
            r[line] += (left * F[i]).real
            if want:
                for m in range(n):
                    S[line, m] += (left * dF[i, m]).real
        if want:
            bend(reals, ints[row + 5], (parent, f0, k0, short, E[parent]), J, F[i], cq, S)
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
