"""Residual of the planar arm, and the numbers of its element tangents."""

from __future__ import annotations

import numpy as np

from ....kernels.jit import kernel
from ....kernels.tables import FAST
from ...loads import ALONG, MOMENT
from .element import force, left_ends, moment_of_forces
from .state import (
    AL,
    AX,
    AXX,
    AXY,
    AYY,
    BX,
    BY,
    COS,
    FX,
    FY,
    GA,
    KB,
    LEFT,
    MB,
    MO,
    NN,
    NONLINEAR,
    PULL,
    QQ,
    RR,
    SIN,
    TL,
)


@kernel(**FAST)
def translation(f, E, W, n):
    """Stiffness of one end's place against the other's, f = 1 + damping."""
    c, s, inverse, EA, GA, xx, xy, yy = W[COS], W[SIN], E[1], E[2], E[3], W[AXX], W[AXY], W[AYY]
    for e in range(n):
        a, b = f * EA[e] * inverse[e], f * GA[e] * inverse[e]
        xx[e] = a * c[e] * c[e] + b * s[e] * s[e]
        yy[e] = a * s[e] * s[e] + b * c[e] * c[e]
        xy[e] = (a - b) * c[e] * s[e]


@kernel(**FAST)
def coupling(f, cq, E, W, n):
    """Force by the turn of one end."""
    c, s, along, across, normal, shear = W[COS], W[SIN], W[AL], W[GA], W[NN], W[QQ]
    axial, lateral, bx, by = E[2], E[3], W[BX], W[BY]
    for e in range(n):
        p = 0.5 * (f * axial[e] * across[e] - cq * shear[e])
        q = 0.5 * (cq * normal[e] - f * lateral[e] * along[e])
        bx[e] = c[e] * p - s[e] * q
        by[e] = s[e] * p + c[e] * q


@kernel(**FAST)
def rotation(f, cq, E, W, n):
    """Moment at each end by the turn of one end, bending apart."""
    l, along, across, normal, shear, rr = E[0], W[AL], W[GA], W[NN], W[QQ], W[RR]
    axial, lateral = E[2], E[3]
    for e in range(n):
        own = f * (axial[e] * across[e] * across[e] + lateral[e] * along[e] * along[e])
        rr[e] = 0.25 * l[e] * (own - cq * (normal[e] * along[e] + shear[e] * across[e]))


@kernel(**FAST)
def balance(f, m, diagonal, a, weight, r, n):
    """Forces on nodes 1 .. n along one axis: inertia, elements on both sides, weight."""
    for p in range(1, n):
        r[p] = f[p - 1] - f[p] + m[p - 1] * a[p - 1] + diagonal[p] * a[p] + m[p] * a[p + 1] - weight[p]
    r[n] = f[n - 1] + m[n - 1] * a[n - 1] + diagonal[n] * a[n] - weight[n]


@kernel(**FAST)
def balance_moment(moment, bend, j, lumped, left, a, r, n):
    """Moments on nodes 1 .. n; `left` are the accelerations of the left ends, which joints turn."""
    for p in range(1, n):
        outer = moment[p] - bend[p] + j[p] * (2.0 * left[p] + a[p + 1])
        r[p] = moment[p - 1] + bend[p - 1] + j[p - 1] * (left[p - 1] + 2.0 * a[p]) + outer + lumped[p] * a[p]
    r[n] = moment[n - 1] + bend[n - 1] + j[n - 1] * (left[n - 1] + 2.0 * a[n]) + lumped[n] * a[n]


@kernel(**FAST)
def residual(beam, state, u, frame, mode, W):
    """M (a + alpha v) + forces - weight - B u in state.d and state.own."""
    R, rphi = state.d, state.own
    E, P, J, a = beam.element, beam.node, beam.joint, state.a
    n, alpha = E.shape[1], beam.numbers[0]
    if mode == NONLINEAR:
        moment_of_forces(E[0], W[AL], W[GA], W[NN], W[QQ], W[MO], n)
    else:
        for e in range(n):
            W[MO, e] = -0.5 * E[0, e] * W[QQ, e]
            # the axial force of the rigid arm straightens
            W[QQ, e] += W[PULL, e] * (W[GA, e] + 0.5 * (W[TL, e] + state.x[2, e + 1]) - frame[2, e])
    force(W[COS], W[SIN], W[NN], W[QQ], W[FX], W[FY], n)
    for row in range(3):
        for p in range(n + 1):
            W[AX, p] = a[row, p] + alpha * state.v[row, p]
        if row < 2:
            balance(W[FX + row], E[5], P[0], W[AX], P[2 + row], R[row], n)
    left_ends(W[AX], state.acceleration, beam.roots, W[LEFT], n)
    if alpha != 0.0:
        for i in range(beam.roots.size):
            W[LEFT, beam.roots[i]] += alpha * state.rate[i]
    balance_moment(W[MO], W[MB], E[6], P[1], W[LEFT], W[AX], R[2], n)
    for i in range(beam.roots.size):
        e = beam.roots[i]
        hub = J[0, i] * W[LEFT, e]
        own = state.acceleration[i] + alpha * state.rate[i]
        rphi[i] = W[MO, e] - W[MB, e] + E[6, e] * (2.0 * W[LEFT, e] + W[AX, e + 1]) + hub
        rphi[i] += J[1, i] * own + J[2, i] * state.phi[i] + J[3, i] * state.rate[i]
        if e > 0:
            R[2, e] += hub
    for k in range(beam.inputs.size):
        i = beam.inputs[k] - beam.roots.size
        if i < 0:
            rphi[beam.inputs[k]] -= beam.gains[k] * u[k]
        else:
            R[i, n] -= beam.gains[k] * u[k]
    take_loads(beam, state, u)


@kernel(**FAST)
def take_loads(beam, state, u):
    """Take the loads off the residual. The tangent leaves out how followers turn, which is little beside M / h^2."""
    R, rphi = state.d, state.own
    for j in range(beam.weights.size):
        k, p, i, kind = beam.loads[4 * j], beam.loads[4 * j + 1], beam.loads[4 * j + 2], beam.loads[4 * j + 3]
        f = beam.weights[j] * u[k]
        if kind == MOMENT:
            if i >= 0:
                rphi[i] -= f
            if p > 0:
                R[2, p] -= f
        elif p > 0:
            if kind < ALONG:
                R[kind, p] -= f
            else:
                theta = state.x[2, p] + (state.phi[i] if i >= 0 else 0.0)
                c, s = f * np.cos(theta), f * np.sin(theta)
                R[0, p] -= c if kind == ALONG else -s
                R[1, p] -= s if kind == ALONG else c


@kernel(**FAST)
def stiffness(beam, state, cq, cv, frame, mode, W):
    """The numbers of the element tangents, cq K + cv D."""
    E = beam.element
    n = E.shape[1]
    f = cq + cv * beam.numbers[1]
    translation(f, E, W, n)
    if mode == NONLINEAR:
        coupling(f, cq, E, W, n)
        rotation(f, cq, E, W, n)
    else:
        for e in range(n):
            c, s, g, N = W[COS, e], W[SIN, e], f * E[3, e], cq * W[PULL, e] * E[1, e]
            W[AXX, e] += N * s * s
            W[AXY, e] -= N * c * s
            W[AYY, e] += N * c * c
            W[BX, e], W[BY, e] = 0.5 * s * g, -0.5 * c * g
            W[RR, e] = 0.25 * E[0, e] * g
    for e in range(n):
        W[KB, e] = f * E[4, e]
