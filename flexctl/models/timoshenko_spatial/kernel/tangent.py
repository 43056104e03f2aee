"""Tangent of one element, exact geometry: the second variation of its energy along spins."""

from __future__ import annotations

from ....kernels.jit import kernel
from ....kernels.tables import FAST
from .state import AA, EA, EI2, EI3, GA, GJ, K11, K12, K22, RHOJ, U1, U2
from .vectors import cross, dot, more, put_symmetric, sub, symmetric_product, tensor, times


@kernel(**FAST)
def couplings(out, EAd, v, t, w, turn):
    """U = B / 2 +- B G with B = (v x) + EAd t w^T and G = (turn x)."""
    h, wt, vt = 0.5, cross(w, turn), dot(v, turn)
    for k in range(3):
        tk, th = EAd * t[k], turn[k]
        for m in range(3):
            plain = h * tk * w[m]
            bent = th * v[m] + tk * wt[m]
            out[U1 + 3 * k + m] = plain + bent
            out[U2 + 3 * k + m] = plain - bent
        out[U1 + 4 * k] -= vt
        out[U2 + 4 * k] += vt
    for i in (U1, U2):
        out[i + 1] -= h * v[2]
        out[i + 2] += h * v[1]
        out[i + 3] += h * v[2]
        out[i + 5] -= h * v[0]
        out[i + 6] -= h * v[1]
        out[i + 7] += h * v[0]


@kernel(**FAST)
def turn_blocks(out, P, sym, skew, D):
    """K11, K12, K22 from those of the spins' mean and difference."""
    for k in range(6):
        both = 0.25 * P[k] + D[k]
        out[K11 + k], out[K22 + k] = both - sym[k], both + sym[k]
    a, b, c = 0.25 * P[1] - D[1], 0.25 * P[2] - D[2], 0.25 * P[4] - D[4]
    out[K12], out[K12 + 4], out[K12 + 8] = 0.25 * P[0] - D[0], 0.25 * P[3] - D[3], 0.25 * P[5] - D[5]
    out[K12 + 1], out[K12 + 3] = a - skew[2], a + skew[2]
    out[K12 + 2], out[K12 + 6] = b + skew[1], b - skew[1]
    out[K12 + 5], out[K12 + 7] = c - skew[0], c + skew[0]


@kernel(**FAST)
def add_rotary(out, E, c, axes1, axes2, E1, E2):
    """Add c [2 1; 1 2] rho J, each J in the axes of its end, which E1 and E2 (rows) have turned."""
    (t1, n1), (t2, n2) = axes1, axes2
    a, b, d = c * E[RHOJ + 1], c * (E[RHOJ] - E[RHOJ + 1]), c * (E[RHOJ + 2] - E[RHOJ + 1])
    one, two = tensor(2.0 * a, 2.0 * b, 2.0 * d, t1, n1), tensor(2.0 * a, 2.0 * b, 2.0 * d, t2, n2)
    for k in range(6):
        out[K11 + k] += one[k]
        out[K22 + k] += two[k]
    for k in range(3):
        p, q, row = b * t1[k], d * n1[k], times(a, E1[k])
        for m in range(3):
            out[K12 + 3 * k + m] += p * t2[m] + q * n2[m] + dot(row, E2[m])


@kernel(**FAST)
def element_tangent(out, E, l, f, shape, forces, bend):
    """Fill the element tangent: f times the stiffness, and the geometric terms; shape: x, t, n, forces: N, M, p."""
    (x, t, n), (N, M, p) = shape, forces
    theta, s, g, s1, g1 = bend[0], bend[1], bend[2], bend[3], bend[4]
    ga, d = f * E[GA], f * (E[EA] - E[GA])
    w, turn = cross(t, x), times(g, theta)
    put_symmetric(out, AA, ga / l, d / l, t, 0.0, t)
    v = more(times(ga, x), -1.0, N)
    couplings(out, d, v, t, w, turn)
    # P of the mean spin
    xx, xN = dot(x, x), dot(x, N)
    P0, P1, P2, P3, P4, P5 = symmetric_product(l, N, x)
    c, a, b = l * (ga * xx - xN), -l * ga, l * d
    P0 += c + a * x[0] * x[0] + b * w[0] * w[0]
    P1 += a * x[0] * x[1] + b * w[0] * w[1]
    P2 += a * x[0] * x[2] + b * w[0] * w[2]
    P3 += c + a * x[1] * x[1] + b * w[1] * w[1]
    P4 += a * x[1] * x[2] + b * w[1] * w[2]
    P5 += c + a * x[2] * x[2] + b * w[2] * w[2]
    # P G by rows, then Y - P G / 2 and its product with G
    X0, X1, X2 = cross((P0, P1, P2), turn), cross((P1, P3, P4), turn), cross((P2, P4, P5), turn)
    square, along = dot(theta, theta), 1.0 - s * dot(theta, theta)
    Mt = dot(M, theta)
    SM = more(times(along, M), s * Mt, theta)
    pt = 0.5 * dot(turn, p)
    q = times(0.5, p)
    Y0 = (q[0] * turn[0] - pt, q[0] * turn[1] - 0.5 * SM[2], q[0] * turn[2] + 0.5 * SM[1])
    Y1 = (q[1] * turn[0] + 0.5 * SM[2], q[1] * turn[1] - pt, q[1] * turn[2] - 0.5 * SM[0])
    Y2 = (q[2] * turn[0] - 0.5 * SM[1], q[2] * turn[1] + 0.5 * SM[0], q[2] * turn[2] - pt)
    Z0, Z1, Z2 = more(Y0, -0.5, X0), more(Y1, -0.5, X1), more(Y2, -0.5, X2)
    G0 = sub(times(turn[1], Z2), times(turn[2], Z1))
    G1 = sub(times(turn[2], Z0), times(turn[0], Z2))
    G2 = sub(times(turn[0], Z1), times(turn[1], Z0))
    # K of the mean spin and the difference
    Y0, Y1, Y2 = sub(Y0, X0), sub(Y1, X1), sub(Y2, X2)
    sym = Y0[0], 0.5 * (Y0[1] + Y1[0]), 0.5 * (Y0[2] + Y2[0]), Y1[1], 0.5 * (Y1[2] + Y2[1]), Y2[2]
    skew = 0.5 * (Y2[1] - Y1[2]), 0.5 * (Y0[2] - Y2[0]), 0.5 * (Y1[0] - Y0[1])
    h = f / l
    St, Sn = more(times(along, t), s * dot(theta, t), theta), more(times(along, n), s * dot(theta, n), theta)
    unit = h * E[EI2] * along * along + s * along * Mt
    own = h * E[EI2] * s * (2.0 * along + s * square) + Mt * (s1 + 2.0 * s * s)
    h3, h1 = h * (E[EI3] - E[EI2]), h * (E[GJ] - E[EI2])
    # what remains is symmetric in theta and one vector more
    y = more(times(-(s1 + s * s) * square - s, M), -(g1 + g * s), cross(p, theta))
    y = more(y, own, theta)
    D0, D1, D2, D3, D4, D5 = symmetric_product(1.0, theta, y)
    D0 += unit + h1 * St[0] * St[0] + h3 * Sn[0] * Sn[0] + 2.0 * G0[0]
    D1 += h1 * St[0] * St[1] + h3 * Sn[0] * Sn[1] + G0[1] + G1[0]
    D2 += h1 * St[0] * St[2] + h3 * Sn[0] * Sn[2] + G0[2] + G2[0]
    D3 += unit + h1 * St[1] * St[1] + h3 * Sn[1] * Sn[1] + 2.0 * G1[1]
    D4 += h1 * St[1] * St[2] + h3 * Sn[1] * Sn[2] + G1[2] + G2[1]
    D5 += unit + h1 * St[2] * St[2] + h3 * Sn[2] * Sn[2] + 2.0 * G2[2]
    turn_blocks(out, (P0, P1, P2, P3, P4, P5), sym, skew, (D0, D1, D2, D3, D4, D5))
