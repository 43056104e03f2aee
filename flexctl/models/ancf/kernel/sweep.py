"""Tangent and mass matrix of one ANCF element."""

from __future__ import annotations

from ....kernels.jit import kernel
from .element import element_stress, products
from .state import FAST, INSIDE


@kernel(**FAST)
def gradients(p, i, G):
    """Row c: derivatives of strain c by the 12 numbers of an element, from 16 c on."""
    for k in range(2):
        a, b, c, m, n = p[k], p[2 + k], p[4 + k], p[6 + k], p[8 + k]
        fill_row(G, 0, k, i, (a, b * (1 / 3), 0.2 * c, 0.0, 0.0))
        fill_row(G, 1, k, i, (b, a + 0.4 * c, 0.4 * b, 0.0, 0.0))
        fill_row(G, 2, k, i, (c, b * (2 / 3), a + c * (2 / 7), 0.0, 0.0))
        fill_row(G, 3, k, i, (0.0, 0.6 * c, 0.6 * b, 0.0, 0.0))
        fill_row(G, 4, k, i, (0.0, 0.0, (18 / 35) * c, 0.0, 0.0))
        fill_row(G, 5, k, i, (2.0 * i * n, 0.0, 0.0, 0.0, 2.0 * i * a))
        fill_row(G, 6, k, i, (0.0, 2.0 * i * n, 0.0, 0.0, 2.0 * i * b))
        fill_row(G, 7, k, i, (0.0, 0.0, 2.0 * i * n, 0.0, 2.0 * i * c))
        fill_row(G, 8, k, i, (0.0, 0.0, 0.0, m, n * (1 / 3)))
        fill_row(G, 9, k, i, (0.0, 0.0, 0.0, n, m))
        fill_row(G, 10, k, i, (0.0, 0.0, 0.0, 0.0, n * (2 / 3)))
        fill_row(G, 11, k, i, (m, n * (1 / 3), 0.0, a, b * (1 / 3)))
        fill_row(G, 12, k, i, (n, m, 0.4 * n, b, a + 0.4 * c))
        fill_row(G, 13, k, i, (0.0, n * (2 / 3), m, c, b * (2 / 3)))
        fill_row(G, 14, k, i, (0.0, 0.0, 0.6 * n, 0.0, 0.6 * c))


@kernel(**FAST)
def fill_row(G, c, k, i, by):
    """Strain c, whose derivatives by the five vectors are given, by the numbers of the element along axis k."""
    p, q, r, m, n = by
    along, o = (p - r) * i, 16 * c + k
    G[o], G[o + 6] = -along, along
    G[o + 2], G[o + 8] = 0.5 * (r - q), 0.5 * (q + r)
    G[o + 4], G[o + 10] = 0.5 * (m - n), 0.5 * (m + n)


@kernel(**FAST)
def multiply(E, G, f, K):
    """K = f G^T C G in the rows from the third on; the others are left to `mirror`.

    All entries of a row at once: no sum runs across a vector register. 16 of them: shorter loops over two arrays are
    not vectorised.
    """
    v, aa, ag, gg = E[1], f * E[2], f * E[3], f * E[4]
    a2, g2, ss = 6.0 * f * E[6] * v * v, 6.0 * f * E[8] * v * v, 4.0 * f * E[10] * v * v
    n2 = 0.2 * gg + 36.0 * f * E[7] * v * v * v * v + 3.0 * ss
    c1, c2, c3, c4, b1, b2 = aa * (1 / 3), aa * 0.2, aa * (1 / 7), aa * (1 / 9), ag * (1 / 3), ag * 0.2
    bb, n1, tt = f * E[5], gg * (1 / 3) + ss, f * E[9]
    d1, d2, t1, t2, t3 = bb * (1 / 3), bb * 0.2, tt * (1 / 3), tt * 0.2, tt * (1 / 7)
    for i in range(2, 12):
        g0, g1, g_2, g8, g9, g10 = G[i], G[16 + i], G[32 + i], G[128 + i], G[144 + i], G[160 + i]
        h0, h1, h2 = aa * g0 + ag * g8 + a2 * g10, c1 * g1 + b1 * g9, c2 * g_2 + b2 * g10
        h3, h4, h5, h6, h7 = c3 * G[48 + i], c4 * G[64 + i], bb * G[80 + i], d1 * G[96 + i], d2 * G[112 + i]
        h8, h9, h10 = ag * g0 + gg * g8 + g2 * g10, b1 * g1 + n1 * g9, b2 * g_2 + a2 * g0 + g2 * g8 + n2 * g10
        h11, h12, h13, h14 = tt * G[176 + i], t1 * G[192 + i], t2 * G[208 + i], t3 * G[224 + i]
        for j in range(16):
            K[i, j] = (
                h0 * G[j] + h1 * G[16 + j] + h2 * G[32 + j] + h3 * G[48 + j] + h4 * G[64 + j] + h5 * G[80 + j]
                + h6 * G[96 + j] + h7 * G[112 + j] + h8 * G[128 + j] + h9 * G[144 + j] + h10 * G[160 + j]
                + h11 * G[176 + j] + h12 * G[192 + j] + h13 * G[208 + j] + h14 * G[224 + j]
            )


@kernel(**FAST)
def mirror(K):
    """Strains know only the difference of the ends' positions: what acts on both differs by its sign."""
    for j in range(12):
        K[0, j], K[1, j] = -K[6, j], -K[7, j]


@kernel(**FAST)
def add_pattern(K, c, products, i):
    """Add c times the matrix of the five vectors' products, the same for both axes; see `multiply` for the rows."""
    aa, ab, ac, bb, bc, cc, am, bm, cm, an, bn, cn, mm, mn, nn = products
    # numbers r, r_x, r_y of both ends; by the vectors: r -+1/L (a - c), r_x (c -+ b)/2, r_y (m -+ n)/2
    half, quarter = 0.5 * c * i, 0.25 * c
    rr = c * i * i * (aa - 2.0 * ac + cc)
    rb, rc, rm, rn = half * (ab - bc), half * (ac - cc), half * (am - cm), half * (an - cn)
    bb, bc, cc, mm, mn, nn = quarter * bb, quarter * bc, quarter * cc, quarter * mm, quarter * mn, quarter * nn
    bm, bn, cm, cn = quarter * bm, quarter * bn, quarter * cm, quarter * cn
    for k in range(2):
        add_row(K, 6, k, rr, rc - rb, rm - rn, rb + rc, rm + rn)
        add_row(K, 2, k, rc - rb, bb + cc - 2.0 * bc, cm - cn - bm + bn, cc - bb, cm + cn - bm - bn)
        add_row(K, 8, k, rb + rc, cc - bb, cm - cn + bm - bn, bb + cc + 2.0 * bc, cm + cn + bm + bn)
        add_row(K, 4, k, rm - rn, cm - cn - bm + bn, mm + nn - 2.0 * mn, cm - cn + bm - bn, mm - nn)
        add_row(K, 10, k, rm + rn, cm + cn - bm - bn, mm - nn, cm + cn + bm + bn, mm + nn + 2.0 * mn)


@kernel(**FAST)
def add_row(K, row, k, r, x, y, other_x, other_y):
    """Add to a row of axis k what stands at the right position, and at slopes of both ends."""
    o = row + k
    K[o, k] -= r
    K[o, 6 + k] += r
    K[o, 2 + k] += x
    K[o, 4 + k] += y
    K[o, 8 + k] += other_x
    K[o, 10 + k] += other_y


@kernel(**FAST)
def both(K, k, row, column, value):
    K[row, column + k] += value
    K[column + k, row] += value


@kernel(**FAST)
def add_mass(E, lump, first, c, K):
    """Add c times the mass of an element, of the body at its end, and at its other end if it is the first one."""
    left, right = c * lump[0, 0] if first else 0.0, c * lump[1, 0]
    turning, swinging = c * lump[0, 1] if first else 0.0, c * lump[1, 1]
    m1, m2, m3, m4, m5, m6, m7 = c * E[11], c * E[12], c * E[13], c * E[14], c * E[15], c * E[16], c * E[17]
    for k in range(2):
        K[k, k] += m1 + left
        K[6 + k, 6 + k] += m1 + right
        K[2 + k, 2 + k] += m5
        K[8 + k, 8 + k] += m5
        K[4 + k, 4 + k] += m7 + turning
        K[10 + k, 10 + k] += m7 + swinging
        both(K, k, k, 6, m2)
        both(K, k, k, 2, m3)
        both(K, k, 6 + k, 8, -m3)
        both(K, k, k, 8, -m4)
        both(K, k, 2 + k, 6, m4)
        both(K, k, 2 + k, 8, -m6)
        both(K, k, 4 + k, 10, 0.5 * m7)


@kernel(**INSIDE)
def element_matrix(beam, e, o, ca, cv, cq, work):
    """K = ca M + cv D + cq dF/dX of an element with the bodies at its blocks, in work.matrix.

    The part of damping that is not symmetric is left out.
    """
    E, beta, G, K = beam.element[e], beam.numbers[1], work.gradients, work.matrix
    f, b, i = cq + beta * cv, o // 6, E[1]
    if f != 0.0:
        element_stress(E, work.blocks[0], work.blocks[1], o, beta, work.vector, work.strain)
        gradients(work.vector[0], i, G)
        multiply(E, G, f, K)
        add_pattern(K, cq, products(work.strain[2], i), i)
        mirror(K)
    else:
        for row in range(12):
            for column in range(12):
                K[row, column] = 0.0
    add_mass(E, beam.lump[b : b + 2], beam.lefts[e] < 0, ca + cv * beam.numbers[0], K)
