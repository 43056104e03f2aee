"""Blocks from the coordinates, and the residual of the ANCF arm."""

from __future__ import annotations

import numpy as np

from ....kernels.jit import kernel
from ....kernels.trig import cosine_sine
from .element import element_force, element_inertia, element_stress, modal_stresses
from .state import FAST, INSIDE, end_of, left_of


@kernel(**FAST)
def fill_section(coordinates, blocks, joint, e, o, S):
    """The r_y of a root with rate and acceleration at o, and S: u, f, slope (2), bend (3), then what `_root` needs.

    coordinates: q, v, a; blocks: positions, rates, accelerations; joint: coordinates of phi and f (-1: clamped) and the
    angle of a clamped base; e: where the end section of the link before stands.

    S: 0-1 u, 2 f, 3-4 d psi/de, 5-7 second derivatives, 8 rate of psi, 9 of f, 10 psi'', 11 f'', 12-13 d(psi rate)/de,
    14-15 d(psi'')/de, 16-17 cos and sin of phi.
    """
    (q, v, a), (x, w, acc), (phi, stretch, angle) = coordinates, blocks, joint
    s, f, t, ft, tt, ftt = angle, 1.0, 0.0, 0.0, 0.0, 0.0
    if phi >= 0:
        s, f, t, ft, tt, ftt = q[phi], q[stretch], v[phi], v[stretch], a[phi], a[stretch]
    c, sn = cosine_sine(s)
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


@kernel(**FAST)
def copy(source, first, target, place, count):
    some, to = source[first : first + count], target[place : place + count]
    for k in range(to.size):
        to[k] = some[k]


@kernel(**INSIDE)
def expand(beam, q, v, a, work):
    """Fill the blocks from the coordinates."""
    x, w, acc, total = work.blocks[0], work.blocks[1], work.blocks[2], work.blocks[3]
    for l in range(beam.sizes[2]):
        b = beam.links[3 * l]
        o = 6 * b
        for k in range(4):
            j = beam.place[o + k]
            x[o + k], w[o + k], acc[o + k] = (q[j], v[j], a[j]) if j >= 0 else (0.0, 0.0, 0.0)
        j, count = beam.place[o + 6], end_of(beam, l) - o
        copy(q, j, x, o + 6, count)
        copy(v, j, w, o + 6, count)
        copy(a, j, acc, o + 6, count)
        e = o - 2 if l > 0 else -1
        joint = beam.links[3 * l + 1], beam.links[3 * l + 2], beam.joint[l, 4]
        fill_section((q, v, a), (x, w, acc), joint, e, o + 4, work.section[l])
    alpha = beam.numbers[0]
    for i in range(beam.place.size):
        total[i] = acc[i] + alpha * w[i]


@kernel(**INSIDE)
def balance(beam, work):
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
        modal_stresses(beam, x, w, work.vector, work.strain, work.modal)
    for e in range(beam.element.shape[0]):
        o, E = left_of(beam, e), beam.element[e]
        element_stress(E, x, w, o, beta, work.vector, work.strain)
        if modal:
            for k in range(15):
                work.strain[2, k] += work.modal[1, 15 * e + k]
        element_force(E, work.vector[0], work.strain[2], P, o)
        element_inertia(E, total, P, o)


@kernel(**INSIDE)
def take_inputs(beam, q, u, r):
    """Take B u off r."""
    n, fixed, followers = beam.sizes[0], beam.sizes[3], beam.sizes[4]
    for k in range(fixed):
        r[beam.inputs[k]] -= beam.gains[k] * u[k]
    for k in range(beam.weights.size):
        moment, at, phi = beam.weights[k] * u[beam.turns[3 * k]], beam.turns[3 * k + 1], beam.turns[3 * k + 2]
        if moment != 0.0:
            if at >= 0:
                e0, e1 = q[at], q[at + 1]
                factor = moment / (e0 * e0 + e1 * e1)
                r[at] += e1 * factor
                r[at + 1] -= e0 * factor
            if phi >= 0:
                r[phi] -= moment
    for k in range(beam.pushed.size):
        force = u[beam.pushed[k]]
        if force == 0.0:
            continue
        for i in range(n):
            total = beam.dead[max(k - followers, 0), i] if k >= followers else 0.0
            if k < followers:
                for j in range(n):
                    total += beam.push[k * n + i, j] * q[j]
            r[i] -= force * total


@kernel(**INSIDE)
def residual(beam, q, v, a, u, work, r):
    """The whole left side, on the coordinates, from filled blocks."""
    balance(beam, work)
    P = work.blocks[4]
    for i in range(beam.sizes[0]):
        r[i] = 0.0
    for l in range(beam.sizes[2]):
        o = 6 * beam.links[3 * l]
        copy(P, o + 6, r, beam.place[o + 6], end_of(beam, l) - o)
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
    take_inputs(beam, q, u, r)
