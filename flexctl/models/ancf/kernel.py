"""The compiled form of `models.ancf`: residual, tangent and output for every loop, and a time loop of its own.

The elastic force is the one of `ancf.element` with the strains as 15 Legendre coefficients along the axis: of the five
vectors p0, p1, p2 (r_x on the axis), m, n (r_y) there are 15 products, and in these coefficients the constant matrix is
diagonal but for the Poisson terms. That takes some 200 multiplications where the 21 x 21 matrix takes 550.

The iteration matrix is symmetric in a band of 16 and factored without pivoting (mass over the step squared dominates
it). Rows are 32 wide and the rest is zero, so that the inner loops have a fixed length and vectorise. It is kept from
step to step, or taken fresh (`FULL`), or corrected by Broyden's rank-one updates within a step (the paper's choice).

A continuous law is integrated with the arm (see `loop`): its command at the end of a step is u0 + G y there, which adds
-B G dy/dq to the matrix, of the rank of u. The factors stay those of the arm; Woodbury's formula does the rest.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types

from ...kernels.jit import entry, kernel
from ...kernels.loops import loops
from ...kernels.model import OUTPUT, RESIDUAL, TANGENT
from ...kernels.state import KEPT, PRESCRIBED
from ...kernels.stepper import Operations, any_prescribed
from ...kernels.tables import DONE, INT, MAT, PLAIN, SINGULAR, VEC


class Beam(NamedTuple):
    """Constants of an arm: N elements, J links, B = N + J blocks, n coordinates; `models.ancf.stepper` makes them."""

    element: np.ndarray  # (N, 18) L, 1/L, nine stiffnesses of `legendre_stiffness`, seven masses
    lump: np.ndarray  # (B, 2) mass and inertia at a block
    load: np.ndarray  # (6 B,) weight
    joint: np.ndarray  # (J, 5) rotor inertia, kp, kv, link length, angle of a clamped base
    gains: np.ndarray  # lever of each joint and tip-force input, then 6 numbers of each output
    push: np.ndarray  # (actuators n, n) matrices H, B = H q
    damping: np.ndarray  # (15 N, 15 N) stresses of all elements per rate of their strains; or empty
    numbers: np.ndarray  # alpha, beta, size of the arm
    sizes: np.ndarray  # n, N, J, inputs before the tip's torque, actuators, outputs
    place: np.ndarray  # (6 B,) coordinate of each number of a block, -1: zero, or a root's r_y
    links: np.ndarray  # (3 J,) root block, coordinate of phi and f (-1: clamped) of each link
    lefts: np.ndarray  # left block of each element, minus one minus the link where a link begins
    inputs: np.ndarray  # coordinate of each joint and tip-force input, then (kind, place, other) of each output


BEAM = types.NamedTuple((MAT, MAT, VEC, MAT, VEC, MAT, MAT, VEC, INT, INT, INT, INT, INT), Beam)


class Work(NamedTuple):
    """Scratch arrays; `work` makes them."""

    blocks: np.ndarray  # (5, 6 B) positions, rates, accelerations, the same plus alpha times rates, forces
    section: np.ndarray  # (J, 18) see `_section`
    strain: np.ndarray  # (4, 16) strains, their rates, stresses, spare
    vector: np.ndarray  # (2, 16)
    modal: np.ndarray  # (2, 15 N) strain rates of all elements, stresses of `Beam.damping`
    gradients: np.ndarray  # (12, 16) derivatives of the strains by the numbers of an element
    rates: np.ndarray  # (12, 16) the same of the strain rates
    matrix: np.ndarray  # (12, 16) of an element; columns 12 .. 15 by e, phi, f of a root's section
    root: np.ndarray  # (16, 16)
    band: np.ndarray  # (n + 16, 32)
    columns: np.ndarray  # (n, 16) see `_columns`
    pivot: np.ndarray  # (32,) a row of the band
    right: np.ndarray  # (n + 33,) with 16 numbers before it and 17 behind: residual and correction
    every: np.ndarray  # the numbers of all outputs


WORK = types.NamedTuple((*(MAT,) * 11, VEC, VEC, INT), Work)


class Form(NamedTuple):
    """All that a step needs besides `kernels.state.Motion`, whose correction is a part of work.right."""

    beam: Beam
    work: Work


FORM = types.NamedTuple((BEAM, WORK), Form)

WIDTH = 15
POSITION, RATE = 0, 1  # kinds of outputs that joints give by themselves

# Helpers have no signatures: they are compiled within the functions that use them, and are in the cache with these. No
# reference counts, no allocation.
FAST: dict[str, Any] = {**PLAIN, "fastmath": {"contract", "nsz", "arcp", "reassoc"}}
# What takes Beam or Work must not be called: that would copy 28 array headers, which takes as long as a residual.
INSIDE: dict[str, Any] = {**FAST, "forceinline": True}


@kernel(**FAST)
def _vectors(X, o, inverse, p):
    """p0, p1, p2, m, n of the element whose left block begins at o."""
    for k in range(2):
        c = (X[o + 6 + k] - X[o + k]) * inverse
        one, other = 0.5 * X[o + 2 + k], 0.5 * X[o + 8 + k]
        p[k], p[2 + k], p[4 + k] = c, other - one, one + other - c
        one, other = 0.5 * X[o + 4 + k], 0.5 * X[o + 10 + k]
        p[6 + k], p[8 + k] = one + other, other - one


@kernel(**FAST)
def _strains(p, inverse, e):
    """E0_0 .. E0_4, e1_0 .. e1_2, G_0 .. G_2, t0_0 .. t0_3; those of the straight element are not taken off."""
    a0, a1, b0, b1, c0, c1, m0, m1, n0, n1 = p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9]
    aa, bb, cc = a0 * a0 + a1 * a1, b0 * b0 + b1 * b1, c0 * c0 + c1 * c1
    ab, ac, bc = a0 * b0 + a1 * b1, a0 * c0 + a1 * c1, b0 * c0 + b1 * c1
    an, bn, cn = a0 * n0 + a1 * n1, b0 * n0 + b1 * n1, c0 * n0 + c1 * n1
    mn, nn = m0 * n0 + m1 * n1, n0 * n0 + n1 * n1
    e[0] = 0.5 * (aa + bb * (1 / 3) + cc * 0.2)
    e[1] = ab + 0.4 * bc
    e[2] = ac + bb * (1 / 3) + cc * (1 / 7)
    e[3] = 0.6 * bc
    e[4] = (9 / 35) * cc
    e[5], e[6], e[7] = 2.0 * inverse * an, 2.0 * inverse * bn, 2.0 * inverse * cn
    e[8] = 0.5 * (m0 * m0 + m1 * m1 + nn * (1 / 3))
    e[9] = mn
    e[10] = nn * (1 / 3)
    e[11] = a0 * m0 + a1 * m1 + bn * (1 / 3)
    e[12] = b0 * m0 + b1 * m1 + an + 0.4 * cn
    e[13] = c0 * m0 + c1 * m1 + (2 / 3) * bn
    e[14] = 0.6 * cn


@kernel(**FAST)
def _stresses(E, e, s):
    """s = C e; E is a row of Beam.element."""
    i = E[1]
    a2, g2 = 6.0 * E[6] * i * i, 6.0 * E[8] * i * i
    n1, n2 = 4.0 * E[10] * i * i, 36.0 * E[7] * i * i * i * i + 12.0 * E[10] * i * i
    s[0] = E[2] * e[0] + E[3] * e[8] + a2 * e[10]
    s[1] = (E[2] * e[1] + E[3] * e[9]) * (1 / 3)
    s[2] = (E[2] * e[2] + E[3] * e[10]) * 0.2
    s[3] = E[2] * e[3] * (1 / 7)
    s[4] = E[2] * e[4] * (1 / 9)
    s[5], s[6], s[7] = E[5] * e[5], E[5] * e[6] * (1 / 3), E[5] * e[7] * 0.2
    s[8] = E[3] * e[0] + E[4] * e[8] + g2 * e[10]
    s[9] = (E[3] * e[1] + E[4] * e[9]) * (1 / 3) + n1 * e[9]
    s[10] = (E[3] * e[2] + E[4] * e[10]) * 0.2 + a2 * e[0] + g2 * e[8] + n2 * e[10]
    s[11], s[12], s[13], s[14] = E[9] * e[11], E[9] * e[12] * (1 / 3), E[9] * e[13] * 0.2, E[9] * e[14] * (1 / 7)


@kernel(**FAST)
def _element_stress(E, X, V, o, beta, vector, strain):
    """Stresses (row 2) of an element; with damping of E + beta dE/dt. Leaves its vectors in row 0."""
    p, e, s = vector[0], strain[0], strain[2]
    _vectors(X, o, E[1], p)
    _strains(p, E[1], e)
    e[0] -= 0.5
    e[8] -= 0.5
    if beta != 0.0:
        w, d = vector[1], strain[1]
        _vectors(V, o, E[1], w)
        for k in range(10):
            w[k] += p[k]
        _strains(w, E[1], d)  # of a sum: the rate is what mixes both
        for k in range(10):
            w[k] = 2.0 * p[k] - w[k]
        _strains(w, E[1], s)
        for k in range(15):
            e[k] += 0.5 * beta * (d[k] - s[k])
    _stresses(E, e, s)


@kernel(**FAST)
def _modal_stresses(element, lefts, links, X, V, C, vector, strain, every):
    """Stresses C dE/dt of all elements, in row 1 of `every`; the rates in row 0."""
    p, w, d, s = vector[0], vector[1], strain[1], strain[2]
    for e in range(element.shape[0]):
        l, i = lefts[e], element[e, 1]
        o = 6 * (l if l >= 0 else links[3 * (-1 - l)])
        _vectors(X, o, i, p)
        _vectors(V, o, i, w)
        for k in range(10):
            w[k] += p[k]
        _strains(w, i, d)
        for k in range(10):
            w[k] = 2.0 * p[k] - w[k]
        _strains(w, i, s)
        for k in range(15):
            every[0, 15 * e + k] = 0.5 * (d[k] - s[k])
    for r in range(C.shape[0]):
        total = 0.0
        for c in range(C.shape[0]):
            total += C[r, c] * every[0, c]
        every[1, r] = total


@kernel(**FAST)
def _products(s, i):
    """Derivatives of the energy by the products of the vectors, squares twice: what gives the force."""
    return (
        s[0], s[1], s[2], (s[0] + 2.0 * s[2]) * (1 / 3), 0.4 * s[1] + 0.6 * s[3],
        0.2 * s[0] + (2 / 7) * s[2] + (18 / 35) * s[4],
        s[11], s[12], s[13], 2.0 * i * s[5] + s[12], 2.0 * i * s[6] + s[11] * (1 / 3) + s[13] * (2 / 3),
        2.0 * i * s[7] + 0.4 * s[12] + 0.6 * s[14], s[8], s[9], s[8] * (1 / 3) + s[10] * (2 / 3),
    )


@kernel(**FAST)
def _element_force(E, p, s, F, o):
    """Add the elastic force to F."""
    i = E[1]
    aa, ab, ac, bb, bc, cc, am, bm, cm, an, bn, cn, mm, mn, nn = _products(s, i)
    for k in range(2):
        a, b, c, m, n = p[k], p[2 + k], p[4 + k], p[6 + k], p[8 + k]
        fa = aa * a + ab * b + ac * c + am * m + an * n
        fb = 0.5 * (ab * a + bb * b + bc * c + bm * m + bn * n)
        fc = ac * a + bc * b + cc * c + cm * m + cn * n
        fm = 0.5 * (am * a + bm * b + cm * c + mm * m + mn * n)
        fn = 0.5 * (an * a + bn * b + cn * c + mn * m + nn * n)
        along = (fa - fc) * i
        fc *= 0.5
        F[o + k] -= along
        F[o + 2 + k] += fc - fb
        F[o + 4 + k] += fm - fn
        F[o + 6 + k] += along
        F[o + 8 + k] += fb + fc
        F[o + 10 + k] += fm + fn


@kernel(**FAST)
def _element_inertia(E, A, F, o):
    """Add the mass times accelerations to F; E[11:] are m (13/35, 9/70, 11 L/210, 13 L/420, L2/105, L2/140, r2/3)."""
    for k in range(2):
        r, a, d, R, S, D = A[o + k], A[o + 2 + k], A[o + 4 + k], A[o + 6 + k], A[o + 8 + k], A[o + 10 + k]
        F[o + k] += E[11] * r + E[13] * a + E[12] * R - E[14] * S
        F[o + 2 + k] += E[13] * r + E[15] * a + E[14] * R - E[16] * S
        F[o + 4 + k] += E[17] * (d + 0.5 * D)
        F[o + 6 + k] += E[12] * r + E[14] * a + E[11] * R - E[13] * S
        F[o + 8 + k] += E[15] * S - E[14] * r - E[16] * a - E[13] * R
        F[o + 10 + k] += E[17] * (0.5 * d + D)


@kernel(**FAST)
def _turn(x):
    """Cosine and sine (fdlibm's polynomials after reduction to pi/4; the library's take five times as long)."""
    k = np.floor(x * 0.6366197723675814 + 0.5)
    r = (x - k * 1.5707963267341256) - k * 6.077100506506192e-11
    z = r * r
    p = 2.75573137070700676789e-06 + z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)
    p = 8.33333333332248946124e-03 + z * (-1.98412698298579493134e-04 + z * p)
    sine = r + r * z * (-1.66666666666666324348e-01 + z * p)
    p = -2.75573143513906633035e-07 + z * (2.08757232129817482790e-09 - z * 1.13596475577881948265e-11)
    p = -1.38888888888741095749e-03 + z * (2.48015872894767294178e-05 + z * p)
    cosine = 1.0 - 0.5 * z + z * z * (4.16666666666666019037e-02 + z * p)
    m = int(k) & 3
    if m == 0:
        return cosine, sine
    if m == 1:
        return -sine, cosine
    return (-cosine, -sine) if m == 2 else (sine, -cosine)


@kernel(**FAST)
def _section(q, v, a, phi, stretch, angle, e, x, w, acc, o, S):
    """The r_y of a root with rate and acceleration at o, and S: u, f, slope (2), bend (3), then what `_root` needs.

    S: 0-1 u, 2 f, 3-4 d psi/de, 5-7 second derivatives, 8 rate of psi, 9 of f, 10 psi'', 11 f'', 12-13 d(psi rate)/de,
    14-15 d(psi'')/de, 16-17 cos and sin of phi.
    """
    s, f, t, ft, tt, ftt = angle, 1.0, 0.0, 0.0, 0.0, 0.0
    if phi >= 0:
        s, f, t, ft, tt, ftt = q[phi], q[stretch], v[phi], v[stretch], a[phi], a[stretch]
    c, sn = _turn(s)
    S[16], S[17] = c, sn
    if e < 0:
        u0, u1 = -sn, c
        for k in range(3, 8):
            S[k] = 0.0
        for k in range(12, 16):
            S[k] = 0.0
    else:
        e0, e1, d0, d1, a0, a1 = x[e], x[e + 1], w[e], w[e + 1], acc[e], acc[e + 1]
        square = e0 * e0 + e1 * e1
        size = 1.0 / np.sqrt(square)
        u0, u1 = (c * e0 - sn * e1) * size, (sn * e0 + c * e1) * size
        i0, i1 = e0 / square, -e1 / square
        j0, j1 = i0 * i0 - i1 * i1, 2.0 * i0 * i1
        S[3], S[4] = i1, i0
        S[5], S[6], S[7] = -j1, -j0, j1
        h0, h1 = -j1 * d0 - j0 * d1, -j0 * d0 + j1 * d1
        t += i1 * d0 + i0 * d1
        tt += i1 * a0 + i0 * a1 + h0 * d0 + h1 * d1
        S[12], S[13] = h0, h1
        k0, k1 = j0 * i0 - j1 * i1, j0 * i1 + j1 * i0
        z0, z1 = d0 * d0 - d1 * d1, 2.0 * d0 * d1
        S[14] = -j1 * a0 - j0 * a1 + 2.0 * (k0 * z1 + k1 * z0)
        S[15] = -j0 * a0 + j1 * a1 + 2.0 * (k0 * z0 - k1 * z1)
    x[o], x[o + 1] = f * u0, f * u1
    w[o], w[o + 1] = ft * u0 - f * t * u1, ft * u1 + f * t * u0
    along, across = ftt - f * t * t, f * tt + 2.0 * t * ft
    acc[o], acc[o + 1] = along * u0 - across * u1, along * u1 + across * u0
    S[0], S[1], S[2], S[8], S[9], S[10], S[11] = u0, u1, f, t, ft, tt, ftt


@kernel(**INSIDE)
def _left(beam, e):
    l = beam.lefts[e]
    return 6 * (l if l >= 0 else beam.links[3 * (-1 - l)])


@kernel(**INSIDE)
def _end(beam, l):
    """First number of the end block of a link."""
    return (6 * beam.links[3 * l + 3] if l + 1 < beam.sizes[2] else beam.place.size) - 6


@kernel(**FAST)
def _copy(source, first, target, place, count):
    for k in range(count):
        target[place + k] = source[first + k]


@kernel(**INSIDE)
def _expand(beam, q, v, a, work):
    """Fill the blocks from the coordinates."""
    x, w, acc, total = work.blocks[0], work.blocks[1], work.blocks[2], work.blocks[3]
    for l in range(beam.sizes[2]):
        b = beam.links[3 * l]
        o = 6 * b
        for k in range(4):
            j = beam.place[o + k]
            x[o + k], w[o + k], acc[o + k] = (q[j], v[j], a[j]) if j >= 0 else (0.0, 0.0, 0.0)
        j, count = beam.place[o + 6], _end(beam, l) - o
        _copy(q, j, x, o + 6, count)
        _copy(v, j, w, o + 6, count)
        _copy(a, j, acc, o + 6, count)
        e = o - 2 if l > 0 else -1
        _section(q, v, a, beam.links[3 * l + 1], beam.links[3 * l + 2], beam.joint[l, 4], e, x, w, acc, o + 4,
                 work.section[l])
    alpha = beam.numbers[0]
    for i in range(beam.place.size):
        total[i] = acc[i] + alpha * w[i]


@kernel(**INSIDE)
def _balance(beam, work):
    """Forces on the blocks: inertia, elasticity, damping, weight."""
    x, w, total, P = work.blocks[0], work.blocks[1], work.blocks[3], work.blocks[4]
    for b in range(beam.lump.shape[0]):
        for k in range(6):
            P[6 * b + k] = -beam.load[6 * b + k]
        if beam.lump[b, 0] != 0.0 or beam.lump[b, 1] != 0.0:
            for k in range(2):
                P[6 * b + k] += beam.lump[b, 0] * total[6 * b + k]
                P[6 * b + 4 + k] += beam.lump[b, 1] * total[6 * b + 4 + k]
    beta, modal = beam.numbers[1], beam.damping.shape[0] > 0
    if modal:
        _modal_stresses(beam.element, beam.lefts, beam.links, x, w, beam.damping, work.vector, work.strain, work.modal)
    for e in range(beam.element.shape[0]):
        l = beam.lefts[e]
        o = 6 * (l if l >= 0 else beam.links[3 * (-1 - l)])
        E = beam.element[e]
        _element_stress(E, x, w, o, beta, work.vector, work.strain)
        if modal:
            for k in range(15):
                work.strain[2, k] += work.modal[1, 15 * e + k]
        _element_force(E, work.vector[0], work.strain[2], P, o)
        _element_inertia(E, total, P, o)


@kernel(**INSIDE)
def _inputs(beam, q, u, r):
    """Take B u off r."""
    n, fixed, actuators = beam.sizes[0], beam.sizes[3], beam.sizes[4]
    for k in range(fixed):
        r[beam.inputs[k]] -= beam.gains[k] * u[k]
    if u[fixed] != 0.0:
        e0, e1 = q[n - 2], q[n - 1]
        factor = u[fixed] / (e0 * e0 + e1 * e1)
        r[n - 2] += e1 * factor
        r[n - 1] -= e0 * factor
    for k in range(actuators):
        if u[fixed + 1 + k] != 0.0:
            for i in range(n):
                total = 0.0
                for j in range(n):
                    total += beam.push[k * n + i, j] * q[j]
                r[i] -= u[fixed + 1 + k] * total


@kernel(**INSIDE)
def _residual(beam, q, v, a, u, work, r):
    """The whole left side, on the coordinates, from filled blocks."""
    _balance(beam, work)
    P = work.blocks[4]
    for i in range(beam.sizes[0]):
        r[i] = 0.0
    for l in range(beam.sizes[2]):
        o = 6 * beam.links[3 * l]
        _copy(P, o + 6, r, beam.place[o + 6], _end(beam, l) - o)
    for l in range(beam.sizes[2]):
        o = 6 * beam.links[3 * l]
        for k in range(4):
            if beam.place[o + k] >= 0:
                r[beam.place[o + k]] += P[o + k]
    for l in range(beam.sizes[2]):
        b, phi, S = beam.links[3 * l], beam.links[3 * l + 1], work.section[l]
        p0, p1 = P[6 * b + 4], P[6 * b + 5]
        moment = S[2] * (S[0] * p1 - S[1] * p0)
        if l > 0:
            j = beam.place[6 * b - 2]
            r[j] += S[3] * moment
            r[j + 1] += S[4] * moment
        if phi >= 0:
            r[beam.links[3 * l + 2]] += S[0] * p0 + S[1] * p1
            r[phi] += moment + beam.joint[l, 0] * (a[phi] + beam.numbers[0] * v[phi])
            r[phi] += beam.joint[l, 1] * q[phi] + beam.joint[l, 2] * v[phi]
    _inputs(beam, q, u, r)


@kernel(**FAST)
def _gradients(p, i, G):
    """Columns: derivatives of the 15 strains by the 12 numbers of an element."""
    for k in range(2):
        a, b, c, m, n = p[k], p[2 + k], p[4 + k], p[6 + k], p[8 + k]
        _row(G, 0, k, i, a, b * (1 / 3), 0.2 * c, 0.0, 0.0)
        _row(G, 1, k, i, b, a + 0.4 * c, 0.4 * b, 0.0, 0.0)
        _row(G, 2, k, i, c, b * (2 / 3), a + c * (2 / 7), 0.0, 0.0)
        _row(G, 3, k, i, 0.0, 0.6 * c, 0.6 * b, 0.0, 0.0)
        _row(G, 4, k, i, 0.0, 0.0, (18 / 35) * c, 0.0, 0.0)
        _row(G, 5, k, i, 2.0 * i * n, 0.0, 0.0, 0.0, 2.0 * i * a)
        _row(G, 6, k, i, 0.0, 2.0 * i * n, 0.0, 0.0, 2.0 * i * b)
        _row(G, 7, k, i, 0.0, 0.0, 2.0 * i * n, 0.0, 2.0 * i * c)
        _row(G, 8, k, i, 0.0, 0.0, 0.0, m, n * (1 / 3))
        _row(G, 9, k, i, 0.0, 0.0, 0.0, n, m)
        _row(G, 10, k, i, 0.0, 0.0, 0.0, 0.0, n * (2 / 3))
        _row(G, 11, k, i, m, n * (1 / 3), 0.0, a, b * (1 / 3))
        _row(G, 12, k, i, n, m, 0.4 * n, b, a + 0.4 * c)
        _row(G, 13, k, i, 0.0, n * (2 / 3), m, c, b * (2 / 3))
        _row(G, 14, k, i, 0.0, 0.0, 0.6 * n, 0.0, 0.6 * c)


@kernel(**FAST)
def _row(G, c, k, i, p, q, r, m, n):
    """Strain c, whose derivatives by the five vectors are given, by the numbers of the element along axis k."""
    along = (p - r) * i
    G[k, c], G[6 + k, c] = -along, along
    G[2 + k, c], G[8 + k, c] = 0.5 * (r - q), 0.5 * (q + r)
    G[4 + k, c], G[10 + k, c] = 0.5 * (m - n), 0.5 * (m + n)


@kernel(**FAST)
def _multiply(E, G, R, f, symmetric, h, K):
    """K += f G C R^T but for the rows and columns of the left position, see `_mirror`; both are 16 long.

    The constants are local numbers, as they could change with every store into h otherwise.
    """
    v, aa, ag, gg = E[1], f * E[2], f * E[3], f * E[4]
    a2, g2, ss = 6.0 * f * E[6] * v * v, 6.0 * f * E[8] * v * v, 4.0 * f * E[10] * v * v
    n2 = 0.2 * gg + 36.0 * f * E[7] * v * v * v * v + 3.0 * ss
    c1, c2, c3, c4, b1, b2 = aa * (1 / 3), aa * 0.2, aa * (1 / 7), aa * (1 / 9), ag * (1 / 3), ag * 0.2
    bb, n1, tt = f * E[5], gg * (1 / 3) + ss, f * E[9]
    d1, d2, t1, t2, t3 = bb * (1 / 3), bb * 0.2, tt * (1 / 3), tt * 0.2, tt * (1 / 7)
    for i in range(2, 12):
        g0, g1, g_2, g8, g9, g10 = G[i, 0], G[i, 1], G[i, 2], G[i, 8], G[i, 9], G[i, 10]
        h[0], h[1], h[2] = aa * g0 + ag * g8 + a2 * g10, c1 * g1 + b1 * g9, c2 * g_2 + b2 * g10
        h[3], h[4], h[5], h[6], h[7] = c3 * G[i, 3], c4 * G[i, 4], bb * G[i, 5], d1 * G[i, 6], d2 * G[i, 7]
        h[8], h[9], h[10] = ag * g0 + gg * g8 + g2 * g10, b1 * g1 + n1 * g9, b2 * g_2 + a2 * g0 + g2 * g8 + n2 * g10
        h[11], h[12], h[13], h[14] = tt * G[i, 11], t1 * G[i, 12], t2 * G[i, 13], t3 * G[i, 14]
        for j in range(i if symmetric else 2, 12):
            total = 0.0
            for c in range(16):
                total += h[c] * R[j, c]
            K[i, j] += total
            if symmetric and j > i:
                K[j, i] += total


@kernel(**FAST)
def _mirror(K):
    """Strains know only the difference of the ends' positions: what acts on both differs by its sign."""
    for i in range(2, 12):
        K[i, 0], K[i, 1] = -K[i, 6], -K[i, 7]
    for j in range(12):
        K[0, j], K[1, j] = -K[6, j], -K[7, j]


@kernel(**FAST)
def _pattern(K, aa, ab, ac, bb, bc, cc, am, bm, cm, an, bn, cn, mm, mn, nn, i):
    """Add the matrix of the five vectors' products, the same for both axes."""
    for k in range(2):
        # rows and columns r, r_x, r_y of both ends; by the vectors: r -+1/L (a - c), r_x (c -+ b)/2, r_y (m -+ n)/2
        rr = i * i * (aa - 2.0 * ac + cc)
        rb, rc = 0.5 * i * (ab - bc), 0.5 * i * (ac - cc)
        rm, rn = 0.5 * i * (am - cm), 0.5 * i * (an - cn)
        K[k, k] += rr
        K[6 + k, 6 + k] += rr
        K[k, 6 + k] -= rr
        K[6 + k, k] -= rr
        _both(K, k, k, 2, rb - rc)
        _both(K, k, k, 8, -rb - rc)
        _both(K, k, k, 4, rn - rm)
        _both(K, k, k, 10, -rm - rn)
        _both(K, k, 6 + k, 2, rc - rb)
        _both(K, k, 6 + k, 8, rb + rc)
        _both(K, k, 6 + k, 4, rm - rn)
        _both(K, k, 6 + k, 10, rm + rn)
        K[2 + k, 2 + k] += 0.25 * (bb + cc - 2.0 * bc)
        K[8 + k, 8 + k] += 0.25 * (bb + cc + 2.0 * bc)
        _both(K, k, 2 + k, 8, 0.25 * (cc - bb))
        _both(K, k, 2 + k, 4, 0.25 * (cm - cn - bm + bn))
        _both(K, k, 2 + k, 10, 0.25 * (cm + cn - bm - bn))
        _both(K, k, 8 + k, 4, 0.25 * (cm - cn + bm - bn))
        _both(K, k, 8 + k, 10, 0.25 * (cm + cn + bm + bn))
        K[4 + k, 4 + k] += 0.25 * (mm + nn - 2.0 * mn)
        K[10 + k, 10 + k] += 0.25 * (mm + nn + 2.0 * mn)
        _both(K, k, 4 + k, 10, 0.25 * (mm - nn))


@kernel(**FAST)
def _both(K, k, row, column, value):
    K[row, column + k] += value
    K[column + k, row] += value


@kernel(**FAST)
def _mass_matrix(E, c, K):
    """Add c times the mass of an element."""
    for k in range(2):
        K[k, k] += c * E[11]
        K[6 + k, 6 + k] += c * E[11]
        K[2 + k, 2 + k] += c * E[15]
        K[8 + k, 8 + k] += c * E[15]
        K[4 + k, 4 + k] += c * E[17]
        K[10 + k, 10 + k] += c * E[17]
        _both(K, k, k, 6, c * E[12])
        _both(K, k, k, 2, c * E[13])
        _both(K, k, 6 + k, 8, -c * E[13])
        _both(K, k, k, 8, -c * E[14])
        _both(K, k, 2 + k, 6, c * E[14])
        _both(K, k, 2 + k, 8, -c * E[16])
        _both(K, k, 4 + k, 10, 0.5 * c * E[17])


@kernel(**INSIDE)
def _element_matrix(beam, e, o, ca, cv, cq, exact, work):
    """K = ca M + cv D + cq dF/dX of an element with the bodies at its blocks, in work.matrix.

    `exact`: with the part of damping that is not symmetric.
    """
    E, beta, G, K = beam.element[e], beam.numbers[1], work.gradients, work.matrix
    for i in range(12):
        for j in range(12):
            K[i, j] = 0.0
    f, b, i = cq + beta * cv, o // 6, E[1]
    if f != 0.0:
        _element_stress(E, work.blocks[0], work.blocks[1], o, beta, work.vector, work.strain)
        _gradients(work.vector[0], i, G)
        _multiply(E, G, G, f, True, work.strain[3], K)
        if exact and beta != 0.0 and cq != 0.0:
            _vectors(work.blocks[1], o, i, work.vector[1])
            _gradients(work.vector[1], i, work.rates)
            _multiply(E, G, work.rates, cq * beta, False, work.strain[3], K)
        _mirror(K)
        aa, ab, ac, bb, bc, cc, am, bm, cm, an, bn, cn, mm, mn, nn = _products(work.strain[2], i)
        _pattern(K, cq * aa, cq * ab, cq * ac, cq * bb, cq * bc, cq * cc, cq * am, cq * bm, cq * cm, cq * an, cq * bn,
                 cq * cn, cq * mm, cq * mn, cq * nn, i)
    c = ca + cv * beam.numbers[0]
    _mass_matrix(E, c, K)
    for k in range(2):
        K[6 + k, 6 + k] += c * beam.lump[b + 1, 0]
        K[10 + k, 10 + k] += c * beam.lump[b + 1, 1]
        if beam.lefts[e] < 0:
            K[k, k] += c * beam.lump[b, 0]
            K[4 + k, 4 + k] += c * beam.lump[b, 1]


@kernel(**INSIDE)
def _root_columns(beam, l, work):
    """Columns 12 .. 15 of K from those of a root's r_y: by z = (e, phi, f)."""
    S, K = work.section[l], work.matrix
    u0, u1, f = S[0], S[1], S[2]
    for i in range(12):
        moment = f * (u0 * K[i, 5] - u1 * K[i, 4])
        K[i, 12], K[i, 13], K[i, 14], K[i, 15] = S[3] * moment, S[4] * moment, moment, u0 * K[i, 4] + u1 * K[i, 5]


@kernel(**INSIDE)
def _moving_columns(beam, e, l, cv, cq, work):
    """Add to them what comes from rates and accelerations: cv M 2 V' + cq (D V' + M A'), by derivatives of r_y."""
    S, E, G, K, h = work.section[l], beam.element[e], work.gradients, work.matrix, work.strain[3]
    u0, u1, f, w, df, a, ddf = S[0], S[1], S[2], S[8], S[9], S[10], S[11]
    inertia, alpha, beta = E[17] + beam.lump[beam.links[3 * l], 1], beam.numbers[0], beam.numbers[1]
    for z in range(4):
        g = 0.0 if z == 3 else 1.0 if z == 2 else S[3 + z]
        k = 1.0 if z == 3 else 0.0
        wq, aq = (S[12 + z], S[14 + z]) if z < 2 else (0.0, 0.0)
        # parts along u and along n, u turned by a right angle
        vu, vn = -f * w * g, w * k + df * g + f * wq
        au = -w * w * k - (f * a + 2.0 * w * df) * g - 2.0 * f * w * wq
        an = a * k + (ddf - f * w * w) * g + f * aq + 2.0 * df * wq
        v0, v1, a0, a1 = vu * u0 - vn * u1, vu * u1 + vn * u0, au * u0 - an * u1, au * u1 + an * u0
        m0, m1 = (2.0 * cv + alpha * cq) * v0 + cq * a0, (2.0 * cv + alpha * cq) * v1 + cq * a1
        K[4, 12 + z] += inertia * m0
        K[5, 12 + z] += inertia * m1
        K[10, 12 + z] += 0.5 * E[17] * m0
        K[11, 12 + z] += 0.5 * E[17] * m1
        # D by r_y, times v
        for c in range(15):
            work.strain[1, c] = G[4, c] * v0 + G[5, c] * v1
        _stresses(E, work.strain[1], h)
        for i in range(12):
            for c in range(15):
                K[i, 12 + z] += cq * beta * h[c] * G[i, c]


@kernel(**INSIDE)
def _root_matrix(beam, l, work, cq):
    """Turn columns and rows of a root's r_y into those of z: 14 x 14 in work.root, r (2), r_x (2), right block, z."""
    S, K, T, P = work.section[l], work.matrix, work.root, work.blocks[4]
    o = 6 * beam.links[3 * l] + 4
    u0, u1, f, g0, g1 = S[0], S[1], S[2], S[3], S[4]
    for i in range(14):
        c = i if i < 4 else i + 2
        for j in range(4):
            T[j, i] = K[j, c]
        for j in range(4, 10):
            T[j, i] = K[j + 2, c]
        moment = f * (u0 * K[5, c] - u1 * K[4, c])
        T[10, i], T[11, i], T[12, i], T[13, i] = g0 * moment, g1 * moment, moment, u0 * K[4, c] + u1 * K[5, c]
    # P . d2 r_y / dz2
    pn, pu = cq * (u0 * P[o + 1] - u1 * P[o]), cq * f * (u0 * P[o] + u1 * P[o + 1])
    for i in range(3):
        gi = g0 if i == 0 else g1 if i == 1 else 1.0
        for j in range(3):
            gj = g0 if j == 0 else g1 if j == 1 else 1.0
            T[10 + i, 10 + j] -= pu * gi * gj
        T[10 + i, 13] += pn * gi
        T[13, 10 + i] += pn * gi
    T[10, 10] += f * pn * S[5]
    T[11, 11] += f * pn * S[7]
    T[10, 11] += f * pn * S[6]
    T[11, 10] += f * pn * S[6]


@kernel(**INSIDE)
def _coordinate(beam, l, i):
    """Coordinate of number i of `_root_matrix`; -1 where there is none."""
    b = beam.links[3 * l]
    if i < 4:
        return beam.place[6 * b + i]
    if i < 10:
        return beam.place[6 * b + i + 2]
    if i < 12:
        return beam.place[6 * b - 12 + i] if l > 0 else -1
    return beam.links[3 * l + i - 11]


@kernel(**INSIDE)
def _assemble(beam, ca, cv, cq, work):
    """Fill the band with ca M + cv D + cq K, made symmetric; the blocks must be filled."""
    n, S = beam.sizes[0], work.band
    for i in range(n + 16):
        for j in range(16):
            S[i, j] = 0.0
    for e in range(beam.element.shape[0]):
        l = beam.lefts[e]
        b = l if l >= 0 else beam.links[3 * (-1 - l)]
        _element_matrix(beam, e, 6 * b, ca, cv, cq, False, work)
        if l >= 0:
            first, K = beam.place[6 * b], work.matrix
            for i in range(12):
                for j in range(i, 12):
                    S[first + i, j - i] += K[i, j]
            continue
        l = -1 - l
        _root_columns(beam, l, work)
        _root_matrix(beam, l, work, cq)
        for i in range(14):
            row = _coordinate(beam, l, i)
            if row >= 0:
                for j in range(14):
                    column = _coordinate(beam, l, j)
                    if column >= row:
                        S[row, column - row] += work.root[i, j]
    for l in range(beam.sizes[2]):
        phi = beam.links[3 * l + 1]
        if phi >= 0:
            S[phi, 0] += (ca + cv * beam.numbers[0]) * beam.joint[l, 0] + cq * beam.joint[l, 1] + cv * beam.joint[l, 2]


@kernel(**INSIDE)
def _hold(beam, drive, S):
    """Make the equations of prescribed joints the identity."""
    for l in range(drive.size):
        if drive[l] == PRESCRIBED:
            phi = beam.links[3 * l + 1]
            for k in range(16):
                S[phi, k] = 0.0
                if phi >= k:
                    S[phi - k, k] = 0.0
            S[phi, 0] = 1.0


@kernel(**FAST)
def _columns(S, T, n):
    """The factors by columns, for the way back: number m of row j acts on entry j - 16 + m."""
    for j in range(n):
        for m in range(16):
            i = j - 16 + m
            T[j, m] = S[i, 16 - m] * S[i, 0] if i >= 0 and m > 0 else 0.0


@kernel(**FAST)
def _factor(S, T, row, n):
    """S = U^T D^-1 U in place, the diagonal inverted; returns whether it failed. `row` holds the pivot's row."""
    for j in range(n):
        pivot = S[j, 0]
        if not abs(pivot) > 0.0:
            return True
        inverse = 1.0 / pivot
        for k in range(16):
            row[k] = S[j, k]
        for i in range(1, 16):
            c = row[i] * inverse
            if c != 0.0:
                for k in range(16):
                    S[j + i, k] -= c * row[i + k]
        S[j, 0] = inverse
    _columns(S, T, n)
    return not np.isfinite(S[n - 1, 0])


@kernel(**FAST)
def _solve(S, T, n, b):
    """Solve with the factors; b has 16 more numbers before and behind its n entries.

    Both ways add multiples of rows: sums of products would wait for the entry that was stored just before.
    """
    for j in range(n):
        c = b[j + 16] * S[j, 0]
        for k in range(17, 33):
            b[j + k] -= c * S[j, k - 16]
        b[j + 16] = c
    for j in range(n - 1, -1, -1):
        c = b[j + 16]
        for m in range(16):
            b[j + m] -= c * T[j, m]


@kernel(**FAST)
def _lean(x, root, end):
    """Angle of a link's chord against its root section."""
    c0, c1, w0, w1 = x[end] - x[root], x[end + 1] - x[root + 1], x[root + 4], x[root + 5]
    return np.arctan2(c0 * w0 + c1 * w1, c0 * w1 - c1 * w0)


@kernel(**FAST)
def _bend(x, root, end):
    """Angle of a link's end section against its root section."""
    w0, w1, e0, e1 = x[root + 4], x[root + 5], x[end + 4], x[end + 5]
    return np.arctan2(w0 * e1 - w1 * e0, w0 * e0 + w1 * e1)


@kernel(**FAST)
def _chord_rate(x, w, root, end):
    c0, c1 = x[end] - x[root], x[end + 1] - x[root + 1]
    return (c0 * (w[end + 1] - w[root + 1]) - c1 * (w[end] - w[root])) / (c0 * c0 + c1 * c1)


@kernel(**FAST)
def _curvature(x, o, inverse):
    m0, m1 = 0.5 * (x[o + 4] + x[o + 10]), 0.5 * (x[o + 5] + x[o + 11])
    return inverse * (m0 * (x[o + 11] - x[o + 5]) - m1 * (x[o + 10] - x[o + 4])) / (m0 * m0 + m1 * m1)


@kernel(**FAST)
def _measure(beam, blocks, section, q, v, u, rows, y):
    """Sensor readings y of these rows from filled blocks; the kinds are those of `models.ancf.sensors`."""
    x, w, acc, fixed = blocks[0], blocks[1], blocks[2], beam.sizes[3]
    for number in range(rows.size):
        row = rows[number]
        at = fixed + 3 * row
        kind, i, other = beam.inputs[at], beam.inputs[at + 1], beam.inputs[at + 2]
        g = fixed + 6 * row
        xi, scale = beam.gains[g], beam.gains[g + 1]
        if kind == 0:
            y[number] = q[beam.links[3 * i + 1]]
        elif kind == 1:
            y[number] = v[beam.links[3 * i + 1]]
        elif kind == 2:
            y[number] = x[i]
        elif kind == 3:
            y[number] = acc[i]
        elif kind == 4:
            total, c, s = x[x.size - 6 + i], 1.0, 0.0
            for l in range(beam.sizes[2]):
                turn0, turn1 = section[l, 16], section[l, 17]
                c, s = c * turn0 - s * turn1, s * turn0 + c * turn1
                total -= beam.joint[l, 3] * (c if i == 0 else s)
            y[number] = total
        elif kind == 5:
            phi = beam.links[3 * i + 1]
            total = _lean(x, 6 * beam.links[3 * i], _end(beam, i)) + (q[phi] if phi >= 0 else beam.joint[i, 4])
            if i > 0:
                root, end = 6 * beam.links[3 * i - 3], _end(beam, i - 1)
                total += _bend(x, root, end) - _lean(x, root, end)
            y[number] = total
        elif kind == 6:
            total = _chord_rate(x, w, 6 * beam.links[3 * i], _end(beam, i))
            if i > 0:
                total -= _chord_rate(x, w, 6 * beam.links[3 * i - 3], _end(beam, i - 1))
            y[number] = total
        elif kind == 7:
            one = _curvature(x, _left(beam, i), beam.element[i, 1])
            two = _curvature(x, _left(beam, other), beam.element[other, 1])
            y[number] = scale * ((1.0 - xi) * one + xi * two)
        elif kind == 8 or kind == 9:
            z, o = (x if kind == 8 else acc), _left(beam, i)
            s1, s2, s4, s5 = beam.gains[g + 2], beam.gains[g + 3], beam.gains[g + 4], beam.gains[g + 5]
            d0 = s1 * z[o] + s2 * z[o + 2] + s4 * z[o + 6] + s5 * z[o + 8]
            d1 = s1 * z[o + 1] + s2 * z[o + 3] + s4 * z[o + 7] + s5 * z[o + 9]
            total = 0.0
            if kind == 8:
                root, phi = 6 * beam.links[3 * other], beam.links[3 * other + 1]
                n0, n1 = x[root + 4], x[root + 5]
                d0 -= x[root]
                d1 -= x[root + 1]
                total = scale * (q[phi] if phi >= 0 else beam.joint[other, 4])
            else:
                n0, n1 = (1.0 - xi) * x[o + 4] + xi * x[o + 10], (1.0 - xi) * x[o + 5] + xi * x[o + 11]
            y[number] = total + (d0 * n0 + d1 * n1) / np.sqrt(n0 * n0 + n1 * n1)
        else:
            phi = beam.links[3 * i + 1]
            total = -beam.joint[i, 1] * q[phi] - beam.joint[i, 2] * v[phi]
            for k in range(fixed):
                if beam.inputs[k] == phi:
                    total += beam.gains[k] * u[k]
            y[number] = total


@kernel(**INSIDE)
def _release(beam, drive, r):
    for l in range(drive.size):
        if drive[l] == PRESCRIBED:
            r[beam.links[3 * l + 1]] = 0.0


@kernel(**INSIDE)
def solve(form, motion, u, ca, cv, cq, fresh):
    """One correction; see `kernels.stepper.Operations`."""
    beam, work = form.beam, form.work
    n, r = beam.sizes[0], work.right[16:]
    _expand(beam, motion.q, motion.v, motion.a, work)
    _residual(beam, motion.q, motion.v, motion.a, u, work, r)
    if fresh:
        _assemble(beam, ca, cv, cq, work)
        _hold(beam, motion.drive, work.band)
        if _factor(work.band, work.columns, work.pivot, n):
            return SINGULAR, np.inf
    _release(beam, motion.drive, r)
    _solve(work.band, work.columns, n, work.right)
    return DONE, _largest(r, n)


@kernel(**FAST)
def _largest(r, n):
    """Largest entry; infinite if one is not a number."""
    size, total = 0.0, 0.0
    for i in range(n):
        size = max(size, abs(r[i]))
        total += r[i]
    return size if np.isfinite(total) else np.inf


@kernel(**INSIDE)
def refresh(form, motion):
    """Fill the blocks that are measured."""
    _expand(form.beam, motion.q, motion.v, motion.a, form.work)


@kernel(**INSIDE)
def finish(form, motion, u, size):
    """Fill the blocks, and the torques of prescribed joints."""
    beam, work = form.beam, form.work
    _expand(beam, motion.q, motion.v, motion.a, work)
    if any_prescribed(motion.drive):
        r = work.right[16:]
        _residual(beam, motion.q, motion.v, motion.a, u, work, r)
        for l in range(motion.drive.size):
            motion.torque[l] = r[max(beam.links[3 * l + 1], 0)]


@kernel(**INSIDE)
def lead(form, motion):
    """Put prescribed joints where they are commanded."""
    for l in range(motion.drive.size):
        if motion.drive[l] == PRESCRIBED:
            phi, target = form.beam.links[3 * l + 1], motion.target
            motion.q[phi], motion.v[phi], motion.a[phi] = target[l, 0], target[l, 1], target[l, 2]
            motion.shifted[phi] = target[l, 2]


@kernel(**INSIDE)
def leap(form, motion):
    """Set the prescribed accelerations to their right limits; returns whether one jumped."""
    jump = False
    for l in range(motion.drive.size):
        if motion.drive[l] == PRESCRIBED:
            phi = form.beam.links[3 * l + 1]
            change = motion.target[l, 3] - motion.a[phi]
            jump = jump or change != 0.0
            motion.a[phi] += change
            motion.shifted[phi] += change
    return jump


@kernel(**INSIDE)
def limit(form, motion, tolerance, h):
    """Size of a correction that is accepted."""
    return tolerance * form.beam.numbers[2]


@kernel(**INSIDE)
def store(form, motion, record, k):
    """Record grid point k; the input of a prescribed joint is the torque that it needs."""
    beam = form.beam
    for l in range(motion.drive.size):
        if motion.drive[l] == PRESCRIBED:
            for j in range(beam.sizes[3]):
                if beam.inputs[j] == beam.links[3 * l + 1]:
                    record.u[k, j] = motion.torque[l]
    if record.q.shape[0] > 1:
        for i in range(motion.q.size):
            record.q[k, i], record.v[k, i] = motion.q[i], motion.v[i]


@kernel(**INSIDE)
def measure(form, motion, u, y):
    """Sensor readings; the blocks are filled."""
    _measure(form.beam, form.work.blocks, form.work.section, motion.q, motion.v, u, form.work.every, y)


@kernel(**INSIDE)
def sense(form, motion, u, rows, y):
    """Some of them; joints are in the coordinates, anything else needs the blocks."""
    beam, own = form.beam, True
    for i in range(rows.size):
        kind = beam.inputs[beam.sizes[3] + 3 * rows[i]]
        own = own and kind in (POSITION, RATE)
    if not own:
        _expand(beam, motion.q, motion.v, motion.a, form.work)
        _measure(beam, form.work.blocks, form.work.section, motion.q, motion.v, u, rows, y)
        return
    for i in range(rows.size):
        at = beam.sizes[3] + 3 * rows[i]
        phi = beam.links[3 * beam.inputs[at + 1] + 1]
        y[i] = motion.q[phi] if beam.inputs[at] == POSITION else motion.v[phi]


@kernel(**INSIDE)
def no_foresight(form, motion, h, scheme):
    """Nothing is needed of the state before the step."""


@kernel(**INSIDE)
def never(form):
    """The arm is not linear."""
    return False


OPERATIONS = Operations(
    measure, solve, no_foresight, lead, leap, finish, refresh, limit, store, sense, never, keeps=True, prefers=KEPT,
    far=0.1,
)
LOOPS = loops(OPERATIONS, FORM)


def work(n: int, blocks: int, links: int, outputs: int) -> Work:
    """Return scratch arrays."""
    zeros = np.zeros
    return Work(
        zeros((5, 6 * blocks)), zeros((links, 18)), zeros((4, 16)), zeros((2, 16)),
        zeros((2, 15 * (blocks - links))), zeros((12, 16)), zeros((12, 16)), zeros((12, 16)), zeros((16, 16)),
        zeros((n + 16, 32)), zeros((n, 16)), zeros(32), zeros(n + 33), np.arange(outputs),
    )


@kernel
def _scratch(sizes):
    n, B, J, ny = sizes[0], sizes[1] + sizes[2], sizes[2], sizes[5]
    return Work(
        np.zeros((5, 6 * B)), np.zeros((J, 18)), np.zeros((4, 16)), np.zeros((2, 16)), np.zeros((2, 0)),
        np.zeros((12, 16)), np.zeros((12, 16)), np.zeros((12, 16)), np.zeros((16, 16)), np.zeros((n + 16, 32)),
        np.zeros((n, 16)), np.zeros(32), np.zeros(n + 33), np.arange(ny),
    )


@kernel
def _unpack(reals, ints):
    """The constants from flat arrays, as `pack` lays them out; without modal damping, which the general loop lacks."""
    sizes = ints[:6]
    n, N, J, fixed, actuators, ny = sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5]
    B = N + J
    a = 18 * N
    b, c = a + 2 * B, a + 8 * B
    d = c + 5 * J
    e = d + fixed + 6 * ny
    f = e + actuators * n * n
    i = 6 + 6 * B
    return Beam(
        reals[:a].reshape((N, 18)), reals[a:b].reshape((B, 2)), reals[b:c], reals[c:d].reshape((J, 5)), reals[d:e],
        reals[e:f].reshape((actuators * n, n)), np.zeros((0, 0)), reals[f : f + 3], sizes, ints[6:i],
        ints[i : i + 3 * J], ints[i + 3 * J : i + 3 * J + N], ints[i + 3 * J + N :],
    )


def pack(beam: Beam) -> tuple[np.ndarray, np.ndarray]:
    """Return the constants as flat arrays."""
    reals = (beam.element, beam.lump, beam.load, beam.joint, beam.gains, beam.push, beam.numbers)
    ints = (beam.sizes, beam.place, beam.links, beam.lefts, beam.inputs)
    return np.concatenate([x.ravel() for x in reals]), np.concatenate(ints)


@entry(RESIDUAL)
def residual(t, q, v, a, u, reals, ints, out):
    """M a + h - B u."""
    beam = _unpack(reals, ints)
    w = _scratch(beam.sizes)
    _expand(beam, q, v, a, w)
    _residual(beam, q, v, a, u, w, out)


@entry(OUTPUT)
def output(q, v, a, u, reals, ints, y):
    """Sensor readings."""
    beam = _unpack(reals, ints)
    w = _scratch(beam.sizes)
    _expand(beam, q, v, a, w)
    _measure(beam, w.blocks, w.section, q, v, u, w.every, y)


@entry(TANGENT)
def tangent(t, q, v, a, u, ca, cv, cq, reals, ints, out):
    """ca M + cv D + cq K, exact."""
    beam = _unpack(reals, ints)
    w = _scratch(beam.sizes)
    n, fixed, actuators = beam.sizes[0], beam.sizes[3], beam.sizes[4]
    _expand(beam, q, v, a, w)
    _balance(beam, w)
    out[:] = 0.0
    for e in range(beam.element.shape[0]):
        l = beam.lefts[e]
        b = l if l >= 0 else beam.links[3 * (-1 - l)]
        _element_matrix(beam, e, 6 * b, ca, cv, cq, True, w)
        if l >= 0:
            first = beam.place[6 * b]
            for i in range(12):
                for j in range(12):
                    out[2 * WIDTH + i - j, first + j] += w.matrix[i, j]
            continue
        l = -1 - l
        _root_columns(beam, l, w)
        _moving_columns(beam, e, l, cv, cq, w)
        _root_matrix(beam, l, w, cq)
        for i in range(14):
            row = _coordinate(beam, l, i)
            for j in range(14):
                column = _coordinate(beam, l, j)
                if row >= 0 and column >= 0:
                    out[2 * WIDTH + row - column, column] += w.root[i, j]
    for l in range(beam.sizes[2]):
        phi, J = beam.links[3 * l + 1], beam.joint[l]
        if phi >= 0:
            out[2 * WIDTH, phi] += (ca + cv * beam.numbers[0]) * J[0] + cq * J[1] + cv * J[2]
    x, y = q[n - 2], q[n - 1]
    c = cq * u[fixed] / (x * x + y * y) ** 2
    out[2 * WIDTH, n - 2] -= 2.0 * c * x * y
    out[2 * WIDTH, n - 1] += 2.0 * c * x * y
    out[2 * WIDTH + 1, n - 2] -= c * (y * y - x * x)
    out[2 * WIDTH - 1, n - 1] -= c * (y * y - x * x)
    for k in range(actuators):
        for i in range(n):
            for j in range(max(0, i - WIDTH), min(n, i + WIDTH + 1)):
                out[2 * WIDTH + i - j, j] -= cq * u[fixed + 1 + k] * beam.push[k * n + i, j]
