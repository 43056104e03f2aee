"""Elements at the root of a link: their section stands at an angle to that of the link before."""

from __future__ import annotations

from ....kernels.jit import kernel
from .state import INSIDE


@kernel(**INSIDE)
def root_columns(beam, l, work):
    """Columns 12 .. 15 of K from those of a root's r_y: by z = (e, phi, f)."""
    S, K = work.section[l], work.matrix
    u0, u1, f = S[0], S[1], S[2]
    for i in range(12):
        moment = f * (u0 * K[i, 5] - u1 * K[i, 4])
        K[i, 12], K[i, 13], K[i, 14], K[i, 15] = S[3] * moment, S[4] * moment, moment, u0 * K[i, 4] + u1 * K[i, 5]


@kernel(**INSIDE)
def root_matrix(beam, l, work, cq):
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
def coordinate_of(beam, l, i):
    """Coordinate of number i of `root_matrix`; -1 where there is none."""
    b = beam.links[3 * l]
    if i < 4:
        return beam.place[6 * b + i]
    if i < 10:
        return beam.place[6 * b + i + 2]
    if i < 12:
        return beam.place[6 * b - 12 + i] if l > 0 else -1
    return beam.links[3 * l + i - 11]
