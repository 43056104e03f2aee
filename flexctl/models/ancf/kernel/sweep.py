"""Tangent and mass matrix of one ANCF element."""

from __future__ import annotations

from ....kernels.jit import kernel
from .element import element_stress, products
from .state import FAST, INSIDE


@kernel(**FAST)
def gradients(p, i, G):
    """Columns: derivatives of the 15 strains by the 12 numbers of an element."""
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
    along = (p - r) * i
    G[k, c], G[6 + k, c] = -along, along
    G[2 + k, c], G[8 + k, c] = 0.5 * (r - q), 0.5 * (q + r)
    G[4 + k, c], G[10 + k, c] = 0.5 * (m - n), 0.5 * (m + n)


@kernel(**FAST)
def multiply(E, G, f, h, K):
    """K += f G C G^T but for the rows and columns of the left position, see `mirror`; both are 16 long.

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
        for j in range(i, 12):
            total = 0.0
            for c in range(16):
                total += h[c] * G[j, c]
            K[i, j] += total
            if j > i:
                K[j, i] += total


@kernel(**FAST)
def mirror(K):
    """Strains know only the difference of the ends' positions: what acts on both differs by its sign."""
    for i in range(2, 12):
        K[i, 0], K[i, 1] = -K[i, 6], -K[i, 7]
    for j in range(12):
        K[0, j], K[1, j] = -K[6, j], -K[7, j]


@kernel(**FAST)
def add_pattern(K, c, products, i):
    """Add c times the matrix of the five vectors' products, the same for both axes."""
    aa, ab, ac, bb, bc, cc, am, bm, cm, an, bn, cn, mm, mn, nn = products
    both_ends, half, quarter = c * i * i, 0.5 * c * i, 0.25 * c
    for k in range(2):
        # rows and columns r, r_x, r_y of both ends; by the vectors: r -+1/L (a - c), r_x (c -+ b)/2, r_y (m -+ n)/2
        rr = both_ends * (aa - 2.0 * ac + cc)
        rb, rc = half * (ab - bc), half * (ac - cc)
        rm, rn = half * (am - cm), half * (an - cn)
        K[k, k] += rr
        K[6 + k, 6 + k] += rr
        K[k, 6 + k] -= rr
        K[6 + k, k] -= rr
        both(K, k, k, 2, rb - rc)
        both(K, k, k, 8, -rb - rc)
        both(K, k, k, 4, rn - rm)
        both(K, k, k, 10, -rm - rn)
        both(K, k, 6 + k, 2, rc - rb)
        both(K, k, 6 + k, 8, rb + rc)
        both(K, k, 6 + k, 4, rm - rn)
        both(K, k, 6 + k, 10, rm + rn)
        K[2 + k, 2 + k] += quarter * (bb + cc - 2.0 * bc)
        K[8 + k, 8 + k] += quarter * (bb + cc + 2.0 * bc)
        both(K, k, 2 + k, 8, quarter * (cc - bb))
        both(K, k, 2 + k, 4, quarter * (cm - cn - bm + bn))
        both(K, k, 2 + k, 10, quarter * (cm + cn - bm - bn))
        both(K, k, 8 + k, 4, quarter * (cm - cn + bm - bn))
        both(K, k, 8 + k, 10, quarter * (cm + cn + bm + bn))
        K[4 + k, 4 + k] += quarter * (mm + nn - 2.0 * mn)
        K[10 + k, 10 + k] += quarter * (mm + nn + 2.0 * mn)
        both(K, k, 4 + k, 10, quarter * (mm - nn))


@kernel(**FAST)
def both(K, k, row, column, value):
    K[row, column + k] += value
    K[column + k, row] += value


@kernel(**FAST)
def mass_matrix(E, c, K):
    """Add c times the mass of an element."""
    for k in range(2):
        K[k, k] += c * E[11]
        K[6 + k, 6 + k] += c * E[11]
        K[2 + k, 2 + k] += c * E[15]
        K[8 + k, 8 + k] += c * E[15]
        K[4 + k, 4 + k] += c * E[17]
        K[10 + k, 10 + k] += c * E[17]
        both(K, k, k, 6, c * E[12])
        both(K, k, k, 2, c * E[13])
        both(K, k, 6 + k, 8, -c * E[13])
        both(K, k, k, 8, -c * E[14])
        both(K, k, 2 + k, 6, c * E[14])
        both(K, k, 2 + k, 8, -c * E[16])
        both(K, k, 4 + k, 10, 0.5 * c * E[17])


@kernel(**INSIDE)
def element_matrix(beam, e, o, ca, cv, cq, work):
    """K = ca M + cv D + cq dF/dX of an element with the bodies at its blocks, in work.matrix.

    The part of damping that is not symmetric is left out.
    """
    E, beta, G, K = beam.element[e], beam.numbers[1], work.gradients, work.matrix
    for i in range(12):
        for j in range(12):
            K[i, j] = 0.0
    f, b, i = cq + beta * cv, o // 6, E[1]
    if f != 0.0:
        element_stress(E, work.blocks[0], work.blocks[1], o, beta, work.vector, work.strain)
        gradients(work.vector[0], i, G)
        multiply(E, G, f, work.strain[3], K)
        mirror(K)
        add_pattern(K, cq, products(work.strain[2], i), i)
    c = ca + cv * beam.numbers[0]
    mass_matrix(E, c, K)
    for k in range(2):
        K[6 + k, 6 + k] += c * beam.lump[b + 1, 0]
        K[10 + k, 10 + k] += c * beam.lump[b + 1, 1]
        if beam.lefts[e] < 0:
            K[k, k] += c * beam.lump[b, 0]
            K[4 + k, 4 + k] += c * beam.lump[b, 1]
