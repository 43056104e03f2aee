"""Elimination of the block-tridiagonal matrix from the tip inwards, joints condensed on the way, and back."""

from __future__ import annotations

import numpy as np

from ....kernels.jit import kernel
from ....kernels.state import PRESCRIBED
from ....kernels.tables import FAST
from .state import AXX, AXY, AYY, BX, BY, GG, KB, RR, ZZ


@kernel(**FAST)
def outwards(beam, R, rphi, J4, W, n):
    """Back substitution of `eliminate`."""
    d0 = d1 = d2 = size = 0.0
    i = 0
    for e in range(n):
        if i < beam.roots.size and e == beam.roots[i]:
            left = J4[i, 4] - J4[i, 0] * d0 - J4[i, 1] * d1 - J4[i, 2] * d2
            J4[i, 5] = left
            rphi[i] = left / J4[i, 3] if J4[i, 3] != 0.0 else 0.0
            d2 += rphi[i]
            size = max(size, abs(rphi[i]))
            i += 1
        x = W[ZZ, e] - W[GG, e] * d0 - W[GG + 1, e] * d1 - W[GG + 2, e] * d2
        y = W[ZZ + 1, e] - W[GG + 3, e] * d0 - W[GG + 4, e] * d1 - W[GG + 5, e] * d2
        t = W[ZZ + 2, e] - W[GG + 6, e] * d0 - W[GG + 7, e] * d1 - W[GG + 8, e] * d2
        d0, d1, d2 = x, y, t
        R[0, e + 1], R[1, e + 1], R[2, e + 1] = x, y, t
        size = max(size, max(abs(x), max(abs(y), abs(t))))
    if not (np.isfinite(d0) and np.isfinite(d1) and np.isfinite(d2)):
        return np.inf
    return size


@kernel(**FAST)
def eliminate(beam, state, drive, ca, cv, cq, J4, W):
    """Solve for the correction: state.d and state.own are replaced; returns its size.

    J4 keeps, for each joint, the row of its angle against the node (x, y, theta), its own pivot (0: prescribed), and
    its right-hand side. The torque of a prescribed joint is left in column 5; column 6 has what a drive adds to the
    pivot.
    """
    E, P = beam.element, beam.node
    n, i, R, rphi = E.shape[1], beam.roots.size - 1, state.d, state.own
    xx, xy, yy, bx, by, rr, kb = W[AXX], W[AXY], W[AYY], W[BX], W[BY], W[RR], W[KB]
    m, j6 = E[5], E[6]
    s00 = s01 = s02 = s11 = s12 = s22 = q0 = q1 = q2 = 0.0
    for e in range(n - 1, -1, -1):
        mass = ca * P[0, e + 1]
        d00, d01, d02 = s00 + xx[e] + mass, s01 + xy[e], s02 + bx[e]
        d11, d12 = s11 + yy[e] + mass, s12 + by[e]
        turn = rr[e] + kb[e] + 2.0 * ca * j6[e]
        d22 = s22 + turn + ca * P[1, e + 1]
        r0, r1, r2 = R[0, e + 1] + q0, R[1, e + 1] + q1, R[2, e + 1] + q2
        # B: right end's rows against the left end
        mo, jo = ca * m[e], ca * j6[e]
        b00, b01, b02 = mo - xx[e], -xy[e], bx[e]
        b11, b12 = mo - yy[e], by[e]
        b20, b21, b22 = -bx[e], -by[e], rr[e] - kb[e] + jo
        c00, c01, c02 = d11 * d22 - d12 * d12, d02 * d12 - d01 * d22, d01 * d12 - d02 * d11
        c11, c12, c22 = d00 * d22 - d02 * d02, d01 * d02 - d00 * d12, d00 * d11 - d01 * d01
        inverse = 1.0 / (d00 * c00 + d01 * c01 + d02 * c02)
        # adj(D) B and adj(D) r wait for the division, the rest does not
        g00, g10 = c00 * b00 + c01 * b01 + c02 * b20, c01 * b00 + c11 * b01 + c12 * b20
        g01, g11 = c00 * b01 + c01 * b11 + c02 * b21, c01 * b01 + c11 * b11 + c12 * b21
        g02, g12 = c00 * b02 + c01 * b12 + c02 * b22, c01 * b02 + c11 * b12 + c12 * b22
        g20, g21 = c02 * b00 + c12 * b01 + c22 * b20, c02 * b01 + c12 * b11 + c22 * b21
        g22 = c02 * b02 + c12 * b12 + c22 * b22
        z0, z1 = c00 * r0 + c01 * r1 + c02 * r2, c01 * r0 + c11 * r1 + c12 * r2
        z2 = c02 * r0 + c12 * r1 + c22 * r2
        # the left end's own block is that of the right end with the coupling turned round
        s00 = xx[e] - inverse * (b00 * g00 + b01 * g10 + b20 * g20)
        s01 = xy[e] - inverse * (b00 * g01 + b01 * g11 + b20 * g21)
        s02 = -bx[e] - inverse * (b00 * g02 + b01 * g12 + b20 * g22)
        s11 = yy[e] - inverse * (b01 * g01 + b11 * g11 + b21 * g21)
        s12 = -by[e] - inverse * (b01 * g02 + b11 * g12 + b21 * g22)
        s22 = turn - inverse * (b02 * g02 + b12 * g12 + b22 * g22)
        q0 = -inverse * (b00 * z0 + b01 * z1 + b20 * z2)
        q1 = -inverse * (b01 * z0 + b11 * z1 + b21 * z2)
        q2 = -inverse * (b02 * z0 + b12 * z1 + b22 * z2)
        W[GG, e], W[GG + 1, e], W[GG + 2, e] = inverse * g00, inverse * g01, inverse * g02
        W[GG + 3, e], W[GG + 4, e], W[GG + 5, e] = inverse * g10, inverse * g11, inverse * g12
        W[GG + 6, e], W[GG + 7, e], W[GG + 8, e] = inverse * g20, inverse * g21, inverse * g22
        W[ZZ, e], W[ZZ + 1, e], W[ZZ + 2, e] = inverse * z0, inverse * z1, inverse * z2
        if e == beam.roots[i]:
            s22 += ca * beam.joint[0, i]
            own = s22 + ca * beam.joint[1, i] + cq * beam.joint[2, i] + cv * beam.joint[3, i] + J4[i, 6]
            right = rphi[i] + q2
            J4[i, 0], J4[i, 1], J4[i, 2], J4[i, 3], J4[i, 4] = s02, s12, s22, own, right
            if drive[i] == PRESCRIBED:
                J4[i, 3] = 0.0
            else:
                k0, k1, k2, kr = s02 / own, s12 / own, s22 / own, right / own
                q0, q1, q2 = q0 - s02 * kr, q1 - s12 * kr, q2 - s22 * kr
                s00, s01, s11 = s00 - s02 * k0, s01 - s02 * k1, s11 - s12 * k1
                s02, s12, s22 = s02 - s02 * k2, s12 - s12 * k2, s22 - s22 * k2
            i = max(i - 1, 0)
    return outwards(beam, R, rphi, J4, W, n)
