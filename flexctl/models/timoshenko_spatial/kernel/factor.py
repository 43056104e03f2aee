"""Elimination of the block-tridiagonal matrix from the tip to the base, joints condensed on the way."""

from __future__ import annotations

from ....kernels.jit import kernel
from ....kernels.state import PRESCRIBED
from ....kernels.tables import FAST
from .bodies import add_body
from .state import AXIS, COLUMN, DRIVE, KINK, OWN, SIXTH
from .vectors import add, cross, dot, gain, three, times


@kernel(**FAST)
def eliminate(b, mass, w, f):
    """Eliminate the right end of an element with tangent b: its matrix S + .. in `w` becomes that of the left end.

    D = [[A, B], [B^T, C]] in 3 x 3 blocks; f keeps D^-1 E (rows of 8), A^-1 B, A^-1, and the inverse of C - B^T A^-1 B.
    """
    a00, a01, a02 = w[48] + b[0] + 2.0 * mass, w[49] + b[1], w[50] + b[2]
    a11, a12, a22 = w[57] + b[3] + 2.0 * mass, w[58] + b[4], w[66] + b[5] + 2.0 * mass
    b00, b01, b02 = w[51] + b[15], w[52] + b[16], w[53] + b[17]
    b10, b11, b12 = w[59] + b[18], w[60] + b[19], w[61] + b[20]
    b20, b21, b22 = w[67] + b[21], w[68] + b[22], w[69] + b[23]
    i00, i01, i02 = a11 * a22 - a12 * a12, a02 * a12 - a01 * a22, a01 * a12 - a02 * a11
    i11, i12, i22 = a00 * a22 - a02 * a02, a01 * a02 - a00 * a12, a00 * a11 - a01 * a01
    s = 1.0 / (a00 * i00 + a01 * i01 + a02 * i02)
    i00, i01, i02, i11, i12, i22 = s * i00, s * i01, s * i02, s * i11, s * i12, s * i22
    g00, g01 = i00 * b00 + i01 * b10 + i02 * b20, i00 * b01 + i01 * b11 + i02 * b21
    g02 = i00 * b02 + i01 * b12 + i02 * b22
    g10, g11 = i01 * b00 + i11 * b10 + i12 * b20, i01 * b01 + i11 * b11 + i12 * b21
    g12 = i01 * b02 + i11 * b12 + i12 * b22
    g20, g21 = i02 * b00 + i12 * b10 + i22 * b20, i02 * b01 + i12 * b11 + i22 * b21
    g22 = i02 * b02 + i12 * b12 + i22 * b22
    c00 = w[75] + b[39] - (b00 * g00 + b10 * g10 + b20 * g20)
    c01 = w[76] + b[40] - (b00 * g01 + b10 * g11 + b20 * g21)
    c02 = w[77] + b[41] - (b00 * g02 + b10 * g12 + b20 * g22)
    c11 = w[84] + b[42] - (b01 * g01 + b11 * g11 + b21 * g21)
    c12 = w[85] + b[43] - (b01 * g02 + b11 * g12 + b21 * g22)
    c22 = w[93] + b[44] - (b02 * g02 + b12 * g12 + b22 * g22)
    j00, j01, j02 = c11 * c22 - c12 * c12, c02 * c12 - c01 * c22, c01 * c12 - c02 * c11
    j11, j12, j22 = c00 * c22 - c02 * c02, c01 * c02 - c00 * c12, c00 * c11 - c01 * c01
    s = 1.0 / (c00 * j00 + c01 * j01 + c02 * j02)
    j00, j01, j02, j11, j12, j22 = s * j00, s * j01, s * j02, s * j11, s * j12, s * j22
    # E, the right end's rows against the left end; columns 6 and 7 stay zero: rows of 8 are two vectors
    w[0], w[1], w[2], w[8], w[9], w[10], w[16], w[17], w[18] = (
        mass - b[0], -b[1], -b[2], -b[1], mass - b[3], -b[4], -b[2], -b[4], mass - b[5]
    )
    for k in range(3):
        for m in range(3):
            w[8 * k + 3 + m] = b[6 + 3 * k + m]
            w[24 + 8 * k + m] = -b[15 + 3 * m + k]
            w[27 + 8 * k + m] = b[30 + 3 * m + k]
    for c in range(8):
        t0, t1, t2 = w[c], w[8 + c], w[16 + c]
        d0 = w[24 + c] - (g00 * t0 + g10 * t1 + g20 * t2)
        d1 = w[32 + c] - (g01 * t0 + g11 * t1 + g21 * t2)
        d2 = w[40 + c] - (g02 * t0 + g12 * t1 + g22 * t2)
        w[24 + c], w[32 + c], w[40 + c] = d0, d1, d2
        w[96 + c] = i00 * t0 + i01 * t1 + i02 * t2
        w[104 + c] = i01 * t0 + i11 * t1 + i12 * t2
        w[112 + c] = i02 * t0 + i12 * t1 + i22 * t2
        w[120 + c] = j00 * d0 + j01 * d1 + j02 * d2
        w[128 + c] = j01 * d0 + j11 * d1 + j12 * d2
        w[136 + c] = j02 * d0 + j12 * d1 + j22 * d2
    for i in range(6):
        y0, y1, y2, y3, y4, y5 = w[i], w[8 + i], w[16 + i], w[24 + i], w[32 + i], w[40 + i]
        for c in range(8):
            first = y0 * w[96 + c] + y1 * w[104 + c] + y2 * w[112 + c]
            w[48 + 8 * i + c] = -(first + y3 * w[120 + c] + y4 * w[128 + c] + y5 * w[136 + c])
    for c in range(48):
        f[c] = w[96 + c]
    f[48], f[49], f[50], f[51], f[52], f[53], f[54], f[55], f[56] = g00, g01, g02, g10, g11, g12, g20, g21, g22
    f[57], f[58], f[59], f[60], f[61], f[62] = i00, i01, i02, i11, i12, i22
    f[63], f[64], f[65], f[66], f[67], f[68] = j00, j01, j02, j11, j12, j22
    w[48] += b[0] + 2.0 * mass
    w[57] += b[3] + 2.0 * mass
    w[66] += b[5] + 2.0 * mass
    w[49], w[50], w[58] = w[49] + b[1], w[50] + b[2], w[58] + b[4]
    for k in range(3):
        for m in range(3):
            w[51 + 8 * k + m] -= b[6 + 3 * k + m]
    w[75], w[76], w[77], w[84], w[85], w[93] = (
        w[75] + b[24], w[76] + b[25], w[77] + b[26], w[84] + b[27], w[85] + b[28], w[93] + b[29]
    )


@kernel(**FAST)
def mirror(w):
    """Fill the lower part of the 6 x 6 matrix."""
    for k in range(6):
        for m in range(k):
            w[48 + 8 * k + m] = w[48 + 8 * m + k]


@kernel(**FAST)
def pass_joints(beam, work, drive, e, ca, cv, cq, base):
    """Pass from the left end of element e to its node: rigid kinks, bodies and joints in between, outermost first."""
    w, r, J = work.w, work.r, beam.roots.size
    link = beam.kind[e, 0]
    here = base + J + 6 * link
    force, moment = three(r, here), three(r, here + 3)
    mirror(w)
    for i in range(link, -1, -1):
        if beam.roots[i] != e:
            break
        chain, here = work.chain[i], base + 7 * J + 6 * i
        o, axis = three(chain, KINK), three(chain, AXIS)
        if beam.joint[i, 5] != 0.0:
            for k in range(6):
                gain(w, 51 + 8 * k, cross(o, (w[48 + 8 * k], w[49 + 8 * k], w[50 + 8 * k])))
            for k in range(6):
                row = cross(o, (w[48 + k], w[56 + k], w[64 + k]))
                w[72 + k], w[80 + k], w[88 + k] = w[72 + k] + row[0], w[80 + k] + row[1], w[88 + k] + row[2]
            for k in range(3):
                for m in range(3):
                    w[75 + 8 * k + m] += 0.5 * cq * (force[k] * o[m] + force[m] * o[k])
                w[75 + 9 * k] -= cq * dot(force, o)
            moment = add(moment, cross(o, force))
        for b in range(beam.holder.shape[0]):
            if beam.holder[b, 0] == e and beam.holder[b, 1] == i:
                add_body(beam, work, b, ca, cq)
                mirror(w)
        force, moment = add(force, three(r, here)), add(moment, three(r, here + 3))
        if beam.prismatic[i] == 1:
            chain[OWN] += cq * beam.joint[i, 1] + cv * beam.joint[i, 2] + chain[DRIVE]
            continue
        for k in range(6):
            chain[COLUMN + k] = w[51 + 8 * k] * axis[0] + w[52 + 8 * k] * axis[1] + w[53 + 8 * k] * axis[2]
        own = dot(axis, three(chain, COLUMN + 3))
        own += ca * beam.joint[i, 0] + cq * beam.joint[i, 1] + cv * beam.joint[i, 2] + chain[DRIVE]
        gain(chain, COLUMN + 3, times(0.5 * cq, cross(axis, moment)))
        chain[OWN] = 0.0
        if drive[i] != PRESCRIBED:
            chain[OWN] = 1.0 / own
            for k in range(6):
                for m in range(6):
                    w[48 + 8 * k + m] -= chain[k] * chain[m] / own


@kernel(**FAST)
def factorise(beam, work, drive, weights, base):
    """Eliminate all nodes from the tip to the base."""
    (ca, cv, cq), n, b, w = weights, beam.element.shape[0], beam.holder.shape[0] - 1, work.w
    for k in range(96):
        w[k] = 0.0
    for e in range(n - 1, -1, -1):
        while b >= 0 and beam.holder[b, 0] > e:
            i, p = beam.holder[b, 1], beam.holder[b, 0]
            if beam.roots[i] != p:
                add_body(beam, work, b, ca, cq)
            b -= 1
        block = work.block[e]
        eliminate(block, block[SIXTH], w, work.factor[e])
        if e == 0 or beam.kind[e - 1, 0] != beam.kind[e, 0]:
            pass_joints(beam, work, drive, e, ca, cv, cq, base)
