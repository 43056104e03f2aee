"""Elastic force, stresses and inertia of one ANCF element.

The force is the one of `models.ancf.element` with the strains as 15 Legendre coefficients along the axis: of the five
vectors p0, p1, p2 (r_x on the axis), m, n (r_y) there are 15 products, and in these coefficients the constant matrix is
diagonal but for the Poisson terms. That takes some 200 multiplications where the 21 x 21 matrix takes 550.
"""

from __future__ import annotations

from ....kernels.jit import kernel
from .state import FAST, INSIDE, left_of


@kernel(**FAST)
def vectors(X, o, inverse, p):
    """p0, p1, p2, m, n of the element whose left block begins at o."""
    for k in range(2):
        c = (X[o + 6 + k] - X[o + k]) * inverse
        one, other = 0.5 * X[o + 2 + k], 0.5 * X[o + 8 + k]
        p[k], p[2 + k], p[4 + k] = c, other - one, one + other - c
        one, other = 0.5 * X[o + 4 + k], 0.5 * X[o + 10 + k]
        p[6 + k], p[8 + k] = one + other, other - one


@kernel(**FAST)
def strains(p, inverse, e):
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
def stresses(E, e, s):
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
def element_stress(E, X, V, o, beta, vector, strain):
    """Stresses (row 2) of an element; with damping of E + beta dE/dt. Leaves its vectors in row 0."""
    p, e, s = vector[0], strain[0], strain[2]
    vectors(X, o, E[1], p)
    strains(p, E[1], e)
    e[0] -= 0.5
    e[8] -= 0.5
    if beta != 0.0:
        w, d = vector[1], strain[1]
        vectors(V, o, E[1], w)
        for k in range(10):
            w[k] += p[k]
        strains(w, E[1], d)  # of a sum: the rate is what mixes both
        for k in range(10):
            w[k] = 2.0 * p[k] - w[k]
        strains(w, E[1], s)
        for k in range(15):
            e[k] += 0.5 * beta * (d[k] - s[k])
    stresses(E, e, s)


@kernel(**INSIDE)
def modal_stresses(beam, X, V, vector, strain, every):
    """Stresses C dE/dt of all elements, in row 1 of `every`; the rates in row 0."""
    p, w, d, s, C = vector[0], vector[1], strain[1], strain[2], beam.damping
    for e in range(beam.element.shape[0]):
        o, i = left_of(beam, e), beam.element[e, 1]
        vectors(X, o, i, p)
        vectors(V, o, i, w)
        for k in range(10):
            w[k] += p[k]
        strains(w, i, d)
        for k in range(10):
            w[k] = 2.0 * p[k] - w[k]
        strains(w, i, s)
        for k in range(15):
            every[0, 15 * e + k] = 0.5 * (d[k] - s[k])
    for r in range(C.shape[0]):
        total = 0.0
        for c in range(C.shape[0]):
            total += C[r, c] * every[0, c]
        every[1, r] = total


@kernel(**FAST)
def products(s, i):
    """Derivatives of the energy by the products of the vectors, squares twice: what gives the force."""
    return (
        s[0], s[1], s[2], (s[0] + 2.0 * s[2]) * (1 / 3), 0.4 * s[1] + 0.6 * s[3],
        0.2 * s[0] + (2 / 7) * s[2] + (18 / 35) * s[4],
        s[11], s[12], s[13], 2.0 * i * s[5] + s[12], 2.0 * i * s[6] + s[11] * (1 / 3) + s[13] * (2 / 3),
        2.0 * i * s[7] + 0.4 * s[12] + 0.6 * s[14], s[8], s[9], s[8] * (1 / 3) + s[10] * (2 / 3),
    )


@kernel(**FAST)
def element_force(E, p, s, F, o):
    """Add the elastic force to F."""
    i = E[1]
    aa, ab, ac, bb, bc, cc, am, bm, cm, an, bn, cn, mm, mn, nn = products(s, i)
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
def element_inertia(E, A, F, o):
    """Add the mass times accelerations to F; E[11:] are m (13/35, 9/70, 11 L/210, 13 L/420, L2/105, L2/140, r2/3)."""
    for k in range(2):
        r, a, d, R, S, D = A[o + k], A[o + 2 + k], A[o + 4 + k], A[o + 6 + k], A[o + 8 + k], A[o + 10 + k]
        F[o + k] += E[11] * r + E[13] * a + E[12] * R - E[14] * S
        F[o + 2 + k] += E[13] * r + E[15] * a + E[14] * R - E[16] * S
        F[o + 4 + k] += E[17] * (d + 0.5 * D)
        F[o + 6 + k] += E[12] * r + E[14] * a + E[11] * R - E[13] * S
        F[o + 8 + k] += E[15] * S - E[14] * r - E[16] * a - E[13] * R
        F[o + 10 + k] += E[17] * (0.5 * d + D)
