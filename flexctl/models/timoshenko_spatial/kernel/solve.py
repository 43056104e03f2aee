"""Solution with the factors, and the border columns of free lengths."""

from __future__ import annotations

from ....kernels.jit import kernel
from ....kernels.state import PRESCRIBED
from ....kernels.tables import FAST
from .state import AXIS, COLUMN, KINK, OWN
from .vectors import add, cross, dot, more, put, three


@kernel(**FAST)
def inwards(beam, work, drive, r, base):
    """Forward substitution of `substitute`."""
    n, J = beam.element.shape[0], beam.roots.size
    q0 = q1 = q2 = q3 = q4 = q5 = 0.0
    for e in range(n - 1, -1, -1):
        f, i = work.factor[e], 6 * e + 6
        t0, t1, t2 = r[i] + q0, r[i + 1] + q1, r[i + 2] + q2
        d0 = r[i + 3] + q3 - (f[48] * t0 + f[51] * t1 + f[54] * t2)
        d1 = r[i + 4] + q4 - (f[49] * t0 + f[52] * t1 + f[55] * t2)
        d2 = r[i + 5] + q5 - (f[50] * t0 + f[53] * t1 + f[56] * t2)
        r[i], r[i + 1] = f[57] * t0 + f[58] * t1 + f[59] * t2, f[58] * t0 + f[60] * t1 + f[61] * t2
        r[i + 2], r[i + 3] = f[59] * t0 + f[61] * t1 + f[62] * t2, f[63] * d0 + f[64] * d1 + f[65] * d2
        r[i + 4], r[i + 5] = f[64] * d0 + f[66] * d1 + f[67] * d2, f[65] * d0 + f[67] * d1 + f[68] * d2
        q0 = -(f[0] * t0 + f[8] * t1 + f[16] * t2 + f[24] * d0 + f[32] * d1 + f[40] * d2)
        q1 = -(f[1] * t0 + f[9] * t1 + f[17] * t2 + f[25] * d0 + f[33] * d1 + f[41] * d2)
        q2 = -(f[2] * t0 + f[10] * t1 + f[18] * t2 + f[26] * d0 + f[34] * d1 + f[42] * d2)
        q3 = -(f[3] * t0 + f[11] * t1 + f[19] * t2 + f[27] * d0 + f[35] * d1 + f[43] * d2)
        q4 = -(f[4] * t0 + f[12] * t1 + f[20] * t2 + f[28] * d0 + f[36] * d1 + f[44] * d2)
        q5 = -(f[5] * t0 + f[13] * t1 + f[21] * t2 + f[29] * d0 + f[37] * d1 + f[45] * d2)
        link = beam.kind[e, 0]
        if e == 0 or beam.kind[e - 1, 0] != link:
            i = base + J + 6 * link
            x, turn = add((q0, q1, q2), three(r, i)), add((q3, q4, q5), three(r, i + 3))
            for i in range(link, -1, -1):
                if beam.roots[i] != e:
                    break
                chain, here = work.chain[i], base + 7 * J + 6 * i
                turn = add(add(turn, cross(three(chain, KINK), x)), three(r, here + 3))
                x = add(x, three(r, here))
                if beam.prismatic[i] == 0:
                    r[base + i] += dot(three(chain, AXIS), turn)
                    own = chain[OWN] * r[base + i]
                    x, turn = more(x, -own, three(chain, COLUMN)), more(turn, -own, three(chain, COLUMN + 3))
            q0, q1, q2 = x
            q3, q4, q5 = turn


@kernel(**FAST)
def substitute(beam, work, drive, r, base):
    """Replace forces by displacements and spins, of nodes, joints, and left ends that stand off their nodes.

    Where a body's force on joint i stood the torque is left that the joint needs if prescribed.
    """
    J = beam.roots.size
    inwards(beam, work, drive, r, base)
    x0 = x1 = x2 = x3 = x4 = x5 = 0.0
    i = 0
    for e in range(beam.element.shape[0]):
        if i < J and beam.roots[i] == e:
            x, turn = (x0, x1, x2), (x3, x4, x5)
            while i < J and beam.roots[i] == e:
                chain = work.chain[i]
                if beam.prismatic[i] == 0:
                    left = r[base + i] - dot(x, three(chain, COLUMN)) - dot(turn, three(chain, COLUMN + 3))
                    r[base + 7 * J + 6 * i], r[base + i] = left, chain[OWN] * left
                    turn = more(turn, r[base + i], three(chain, AXIS))
                x, i = add(x, cross(turn, three(chain, KINK))), i + 1
            here = base + J + 6 * beam.kind[e, 0]
            put(r, here, x)
            put(r, here + 3, turn)
            x0, x1, x2 = x
            x3, x4, x5 = turn
        f, k = work.factor[e], 6 * e + 6
        t3 = r[k + 3] - (f[24] * x0 + f[25] * x1 + f[26] * x2 + f[27] * x3 + f[28] * x4 + f[29] * x5)
        t4 = r[k + 4] - (f[32] * x0 + f[33] * x1 + f[34] * x2 + f[35] * x3 + f[36] * x4 + f[37] * x5)
        t5 = r[k + 5] - (f[40] * x0 + f[41] * x1 + f[42] * x2 + f[43] * x3 + f[44] * x4 + f[45] * x5)
        t0 = r[k] - (f[0] * x0 + f[1] * x1 + f[2] * x2 + f[3] * x3 + f[4] * x4 + f[5] * x5)
        t1 = r[k + 1] - (f[8] * x0 + f[9] * x1 + f[10] * x2 + f[11] * x3 + f[12] * x4 + f[13] * x5)
        t2 = r[k + 2] - (f[16] * x0 + f[17] * x1 + f[18] * x2 + f[19] * x3 + f[20] * x4 + f[21] * x5)
        x0 = t0 - (f[48] * t3 + f[49] * t4 + f[50] * t5)
        x1 = t1 - (f[51] * t3 + f[52] * t4 + f[53] * t5)
        x2 = t2 - (f[54] * t3 + f[55] * t4 + f[56] * t5)
        x3, x4, x5 = t3, t4, t5
        r[k], r[k + 1], r[k + 2], r[k + 3], r[k + 4], r[k + 5] = x0, x1, x2, x3, x4, x5


@kernel(**FAST)
def dot_all(a, b):
    total = 0.0
    for k in range(a.size):
        total += a[k] * b[k]
    return total


@kernel(**FAST)
def without_lengths(beam, work, drive, r, upto, base):
    """Take the free lengths of joints below `upto` into a solution without them."""
    J = beam.roots.size
    for i in range(upto):
        if beam.prismatic[i] == 1 and drive[i] != PRESCRIBED:
            own = work.chain[i, OWN] - dot_all(work.border[i], work.border[J + i])
            length = (r[base + i] - dot_all(work.border[i], r)) / own
            for k in range(r.size):
                r[k] -= work.border[J + i, k] * length
            r[base + i] = length


@kernel(**FAST)
def correction(beam, work, drive, base):
    """Replace the residual by the correction; forces of prescribed free lengths stand where torques do."""
    J, r = beam.roots.size, work.r
    for i in range(J):
        if beam.prismatic[i] == 1 and drive[i] != PRESCRIBED:
            column = work.border[J + i]
            for k in range(r.size):
                column[k] = work.border[i, k]
            substitute(beam, work, drive, column, base)
            without_lengths(beam, work, drive, column, i, base)
    substitute(beam, work, drive, r, base)
    without_lengths(beam, work, drive, r, J, base)
    for i in range(J):
        if beam.prismatic[i] == 1 and drive[i] == PRESCRIBED:
            force, r[base + i] = r[base + i], 0.0
            r[base + 7 * J + 6 * i] = force - dot_all(work.border[i], r)
