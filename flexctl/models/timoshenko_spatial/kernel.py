"""The time loop of `models.timoshenko_spatial`: what `loop.run_implicit` does for every model, at this one's speed.

The same generalised-alpha steps in the same coordinates, the same law and recording. Newton's corrections, however,
are spins: dtheta of a section in base axes, from which dpsi = T(psi)^-1 (dtheta - exp(psi) sum axis_j dphi_j). In spins
an element knows its own two ends only, and a revolute joint adds axis dphi between the ends that meet in its node, so
that the matrix is symmetric and block-tridiagonal with 6 x 6 blocks, eliminated from the tip inwards; a joint angle is
one scalar more, condensed on the way (or nothing, where it is prescribed). The free length of a prismatic joint that is
not prescribed acts on a whole segment: a border column, solved with the same factors. Accelerations are extrapolated,
so that one correction per step is enough.

One element, all in base axes, with x the ends' difference over l, t the first axis of the mean section, Theta the turn
from end to end, C the stiffnesses turned with the mean section:

    N = C (x - t),   M = C Theta / l,   p = l N x x,   b = S M + g Theta x p;     force N, moments p / 2 -+ b
    dTheta = S d,  mu = m - g Theta x d      for the spins' mean m and difference d, mu the spin of the mean section
    S = 1 + s (Theta x)^2,  s = (1 - y / sin y) / theta^2,  y = theta / 2,     g = tan(theta / 4) / (2 theta)

The element tangent is the second variation of the energy along such spins, geometric terms included; what it lacks,
half the unbalanced moment of each node, vanishes with the residual but for rotary inertia. Of the inertia it has all
that multiplies accelerations; gyroscopic and convective terms, of the size of a rate times the step beside these, are
left out. A correction is accepted below 1 / (rate h), at most 100, times the tolerance: the error left is of the order
of its square, plus rate times h of it. With damping of the strain rates the tangent lacks more, and the tolerance holds
as it is.

mode 0 is the geometrically exact arm; mode 1 keeps the deformation of the elements from the commanded rigid arm to
first order, with the stiffening by that arm's axial forces (rigid kinks and bodies move exactly); mode 2 is mode 1
without the inertia of the deformation.

S and g are sinh and tanh of skew matrices in closed form; the turn of an element and the mean of its ends come from the
quaternions of both.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import boolean, float64, int64, types

from ...kernels.jit import entry, kernel
from ...kernels.loops import loops
from ...kernels.state import FULL, MOTION, PRESCRIBED
from ...kernels.stepper import Operations, aim
from ...kernels.tables import COURSE, DONE, ENTRY, FAST, INSIDE, INT, MAT, VEC


class Beam(NamedTuple):
    """Constants of an arm, J joints, N elements, B bodies; `models.timoshenko_spatial.stepper.beam` makes them."""

    element: np.ndarray  # (N, ELEMENT) l (sliding: share of d), EA, GA, GJ, EI2, EI3, rho A, rho J (3), 1 - xi (2)
    kind: np.ndarray  # (N, 3) link, 1 in a kink, joint whose variable is the length of the segment or -1
    joint: np.ndarray  # (J, JOINT) rotor, kp, kv, turn, twist, length of a rigid kink, of a flexible one, of the link
    prismatic: np.ndarray  # 1 where the joint slides
    roots: np.ndarray  # first element of each link
    body: np.ndarray  # (B, 13) mass, centre from its joint's point or its node (3), inertia about the centre (9)
    holder: np.ndarray  # (B, 2) node, link
    numbers: np.ndarray  # alpha, beta, size of the arm, gravity (3)
    gains: np.ndarray  # lever of each input, then weight and scale of each output
    inputs: np.ndarray  # for each input: joint j, or J + axis (tip force)
    outputs: np.ndarray  # (outputs, 4) kind, place, other, axis


class Work(NamedTuple):
    """Scratch arrays; `work` makes them."""

    frame: np.ndarray  # (J, FRAME), see `_frames`
    node: np.ndarray  # (N + 1, NODE), see `_section`
    left: np.ndarray  # (N, LEFT): place, rate, acceleration of the left end, then its force and moment
    block: np.ndarray  # (N, BLOCK) element tangents, see `_tangent`
    factor: np.ndarray  # (N, FACTOR), see `_eliminate`
    chain: np.ndarray  # (J, CHAIN), see `_chain`
    w: np.ndarray  # rows of 8: E and r, S and q, D^-1 of both
    r: np.ndarray  # residual, then correction, in the order of the state
    border: np.ndarray  # (J + 1, ..) columns of the free lengths in the order of the state, then of the left ends
    pull: np.ndarray  # (N) axial forces of the rigid arm
    body: np.ndarray  # (B, 10) force and moment of each body, and its centre from the joint, in base axes
    ahead: np.ndarray  # (3 J,) see `foresee`
    every: np.ndarray  # the numbers of all outputs


class Form(NamedTuple):
    """All that a step needs besides `kernels.state.Motion`: six numbers of nodes 0 .. N, then the joint variables."""

    beam: Beam
    work: Work
    mode: int
    stiffening: bool


TABLE = int64[:, ::1]
BEAM = types.NamedTuple((MAT, TABLE, MAT, INT, INT, MAT, TABLE, VEC, VEC, INT, TABLE), Beam)
WORK = types.NamedTuple((MAT, MAT, MAT, MAT, MAT, MAT, VEC, VEC, MAT, VEC, MAT, VEC, INT), Work)
FORM = types.NamedTuple((BEAM, WORK, int64, boolean), Form)

NONLINEAR, LINEAR, QUASI_STATIC = 0, 1, 2
RETRACTED = 4.0
UNTURNED = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
SMALL_TURN = 0.01
"""Below this square of an angle the series of the rotation functions are exact to rounding."""


@kernel(**FAST)
def _add(a, b):
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@kernel(**FAST)
def _sub(a, b):
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@kernel(**FAST)
def _times(s, a):
    return s * a[0], s * a[1], s * a[2]


@kernel(**FAST)
def _more(a, s, b):
    """a + s b."""
    return a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]


@kernel(**FAST)
def _dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel(**FAST)
def _cross(a, b):
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@kernel(**FAST)
def _three(x, i):
    """Entries i, i + 1, i + 2."""
    return x[i], x[i + 1], x[i + 2]


@kernel(**FAST)
def _put(x, i, a):
    x[i], x[i + 1], x[i + 2] = a


@kernel(**FAST)
def _gain(x, i, a):
    x[i] += a[0]
    x[i + 1] += a[1]
    x[i + 2] += a[2]


@kernel(**FAST)
def _turned(R, i, a):
    """R a, R stored by rows from entry i."""
    return (
        R[i] * a[0] + R[i + 1] * a[1] + R[i + 2] * a[2],
        R[i + 3] * a[0] + R[i + 4] * a[1] + R[i + 5] * a[2],
        R[i + 6] * a[0] + R[i + 7] * a[1] + R[i + 8] * a[2],
    )


@kernel(**FAST)
def _scaled(second, d1, d3, t, n, a):
    """Apply the tensor second + d1 t t^T + d3 n n^T."""
    p, q = d1 * _dot(t, a), d3 * _dot(n, a)
    return second * a[0] + p * t[0] + q * n[0], second * a[1] + p * t[1] + q * n[1], second * a[2] + p * t[2] + q * n[2]


# joint frames: entries of a row
R0, W0, A0 = 0, 9, 12
FRAME = 16


@kernel(**FAST)
def _frames(beam, state, frame):
    """Fill, for each link of the rigid arm, its frame R (columns x, y, z), spin, and the spin's rate + alpha spin."""
    J, alpha = beam.roots.size, beam.numbers[0]
    base = state.q.size - J
    x, y, z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    w, dw = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for i in range(J):
        if i > 0:
            c, s = np.cos(beam.joint[i - 1, 4]), np.sin(beam.joint[i - 1, 4])
            y, z = _more(_times(c, y), s, z), _more(_times(c, z), -s, y)
        angle = beam.joint[i, 3]
        if beam.prismatic[i] == 0:
            angle += state.q[base + i]
            rate = state.v[base + i]
            dw = _add(dw, _more(_times(state.a[base + i] + alpha * rate, z), rate, _cross(w, z)))
            w = _more(w, rate, z)
        c, s = np.cos(angle), np.sin(angle)
        x, y = _more(_times(c, x), s, y), _more(_times(c, y), -s, x)
        f = frame[i]
        f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8] = x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2]
        _put(f, W0, w)
        _put(f, A0, dw)


@kernel(**FAST)
def _axis(frame, i, k):
    """Column k of the frame of link i."""
    return frame[i, k], frame[i, 3 + k], frame[i, 6 + k]


# nodes: entries of a row
QUAT, TURN, SPIN, SPUN, INVERSE = 0, 4, 13, 16, 19
NODE = 20


@kernel(**FAST)
def _section(x, v, a, p, alpha, out):
    """Fill, for node p, the quaternion and matrix E = exp(psi), u = T^T psi', u' + alpha u, and k of T^-1.

    u is the elastic spin seen by the section before E turns it; T^T = 1 - b (psi x) + c (psi x)^2.
    """
    psi, rate, acc = _three(x, 6 * p + 3), _three(v, 6 * p + 3), _three(a, 6 * p + 3)
    z = _dot(psi, psi)
    if z < 0.04:
        q = 0.25 * z
        half = 1.0 + q * (-1.0 / 2 + q * (1.0 / 24 + q * (-1.0 / 720 + q * (1.0 / 40320))))
        s = 0.5 + q * (-1.0 / 12 + q * (1.0 / 240 + q * (-1.0 / 10080 + q * (1.0 / 725760))))
        c = 1.0 / 6 + z * (-1.0 / 120 + z * (1.0 / 5040 + z * (-1.0 / 362880 + z * (1.0 / 39916800))))
        b1 = -1.0 / 12 + z * (1.0 / 180 + z * (-1.0 / 6720 + z * (1.0 / 453600 + z * (-1.0 / 47900160))))
        c1 = -1.0 / 60 + z * (1.0 / 1260 + z * (-1.0 / 60480 + z * (1.0 / 4989600)))
        k = 1.0 / 12 + z * (1.0 / 720 + z * (1.0 / 30240 + z * (1.0 / 1209600 + z * (1.0 / 47900160))))
    else:
        theta = np.sqrt(z)
        half, sine = np.cos(0.5 * theta), np.sin(0.5 * theta)
        s = sine / theta
        c = (1.0 - 2.0 * s * half) / z
        b1 = (2.0 * s * half - 4.0 * s * s) / z
        c1 = (2.0 * s * s - 3.0 * c) / z
        k = (1.0 - 0.5 * half / s) / z
    b = 2.0 * s * s
    q0, q1, q2 = s * psi[0], s * psi[1], s * psi[2]
    out[0], out[1], out[2], out[3] = half, q0, q1, q2
    out[4], out[5], out[6] = 1.0 - 2.0 * (q1 * q1 + q2 * q2), 2.0 * (q0 * q1 - half * q2), 2.0 * (q0 * q2 + half * q1)
    out[7], out[8], out[9] = 2.0 * (q0 * q1 + half * q2), 1.0 - 2.0 * (q0 * q0 + q2 * q2), 2.0 * (q1 * q2 - half * q0)
    out[10], out[11] = 2.0 * (q0 * q2 - half * q1), 2.0 * (q1 * q2 + half * q0)
    out[12] = 1.0 - 2.0 * (q0 * q0 + q1 * q1)
    first = _cross(psi, rate)
    second = _cross(psi, first)
    u = _more(_more(rate, -b, first), c, second)
    one = _cross(psi, acc)
    du = _more(_more(acc, -b, one), c, _cross(psi, one))
    turn = _dot(psi, rate)
    du = _more(_more(_more(du, -turn * b1, first), turn * c1, second), c, _cross(rate, first))
    _put(out, SPIN, u)
    _put(out, SPUN, _more(du, alpha, u))
    out[INVERSE] = k


# element blocks: entries of a row; a symmetric 3 x 3 block is 00 01 02 11 12 22
AA, U1, U2, K11, K12, K22, SIXTH = 0, 6, 15, 24, 30, 39, 45
BLOCK = 48
# elements: entries of a row
LEN, EA, GA, GJ, EI2, EI3, RHO, RHOJ, PAST = 0, 1, 2, 3, 4, 5, 6, 7, 10
ELEMENT = 12
# left ends: entries of a row
XX, VV, ACC, ROOT, TIP = 0, 3, 6, 9, 12
LEFT = 15
# joints: entries of a row
COLUMN, OWN, AXIS, KINK, POINT, RIGID = 0, 6, 7, 10, 13, 16
CHAIN = 19
# bodies: entries of a row
ARM, SPINNING, PUSH = 0, 3, 12
BODY = 15


@kernel(**FAST)
def _bend(one, two):
    """Turn Theta from section to section, s, g, their slopes by theta over theta, and twice the mean's quaternion."""
    c1, c2, a, b = one[0], two[0], _three(one, 1), _three(two, 1)
    sine = _sub(_sub(_times(c1, b), _times(c2, a)), _cross(b, a))
    cosine, z = c1 * c2 + _dot(a, b), _dot(sine, sine)
    if z < SMALL_TURN and cosine > 0.0:
        k = 35.0 / 1152 + z * (63.0 / 2816 + z * (231.0 / 13312 + z * (143.0 / 10240)))
        k = 1.0 + z * (1.0 / 6 + z * (3.0 / 40 + z * (5.0 / 112 + z * k)))
        y = k * k * z
        i = 1.0 / 6 + y * (7.0 / 360 + y * (31.0 / 15120 + y * (127.0 / 604800 + y * (73.0 / 3421440))))
        j = 1.0 / 3 + y * (1.0 / 45 + y * (2.0 / 945 + y * (1.0 / 4725 + y * (2.0 / 93555))))
        s1 = -0.125 * (7.0 / 360 + y * (31.0 / 7560 + y * (127.0 / 201600 + y * (73.0 / 855360))))
    else:
        size = np.sqrt(z)
        k = np.arctan2(size, cosine) / size
        y = k * k * z
        i, j = (k - 1.0) / y, (1.0 - k * cosine) / y
        s1 = (2.0 * i - k * j) / (16.0 * y)
    g = 0.25 / (k * (1.0 + cosine))
    return _times(2.0 * k, sine), -0.25 * i, g, s1, -0.25 * g * (j - 4.0 * g), c1 + c2, _add(a, b)


@kernel(**FAST)
def _carried(scalar, vector, factor, a):
    """Turn a vector by a quaternion of any length; `factor` is 2 over its square."""
    turned = _cross(vector, a)
    return _more(_more(a, factor * scalar, turned), factor, _cross(vector, turned))


@kernel(**FAST)
def _symmetric(out, i, c, s1, a, s2, b):
    """c + s1 a a^T + s2 b b^T."""
    a0, a1, a2, b0, b1, b2 = s1 * a[0], s1 * a[1], s1 * a[2], s2 * b[0], s2 * b[1], s2 * b[2]
    out[i] = c + a0 * a[0] + b0 * b[0]
    out[i + 1] = a0 * a[1] + b0 * b[1]
    out[i + 2] = a0 * a[2] + b0 * b[2]
    out[i + 3] = c + a1 * a[1] + b1 * b[1]
    out[i + 4] = a1 * a[2] + b1 * b[2]
    out[i + 5] = c + a2 * a[2] + b2 * b[2]


@kernel(**FAST)
def _pair(s, a, b):
    """s (a b^T + b a^T) / 2."""
    h = 0.5 * s
    return (
        s * a[0] * b[0], h * (a[0] * b[1] + a[1] * b[0]), h * (a[0] * b[2] + a[2] * b[0]),
        s * a[1] * b[1], h * (a[1] * b[2] + a[2] * b[1]), s * a[2] * b[2],
    )


@kernel(**FAST)
def _couplings(out, EAd, v, t, w, turn):
    """U = B / 2 +- B G with B = (v x) + EAd t w^T and G = (turn x)."""
    h, wt, vt = 0.5, _cross(w, turn), _dot(v, turn)
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
def _turns(out, P, sym, skew, D):
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
def _rotary(out, E, c, t1, n1, t2, n2, E1, E2):
    """Add c [2 1; 1 2] rho J, each J in the axes of its end, which E1 and E2 (rows) have turned."""
    a, b, d = c * E[RHOJ + 1], c * (E[RHOJ] - E[RHOJ + 1]), c * (E[RHOJ + 2] - E[RHOJ + 1])
    one, two = _tensor(2.0 * a, 2.0 * b, 2.0 * d, t1, n1), _tensor(2.0 * a, 2.0 * b, 2.0 * d, t2, n2)
    for k in range(6):
        out[K11 + k] += one[k]
        out[K22 + k] += two[k]
    for k in range(3):
        p, q, row = b * t1[k], d * n1[k], _times(a, E1[k])
        for m in range(3):
            out[K12 + 3 * k + m] += p * t2[m] + q * n2[m] + _dot(row, E2[m])


@kernel(**FAST)
def _tensor(second, d1, d3, t, n):
    """Entries of second + d1 t t^T + d3 n n^T."""
    p, q = _times(d1, t), _times(d3, n)
    return (
        second + p[0] * t[0] + q[0] * n[0], p[0] * t[1] + q[0] * n[1], p[0] * t[2] + q[0] * n[2],
        second + p[1] * t[1] + q[1] * n[1], p[1] * t[2] + q[1] * n[2], second + p[2] * t[2] + q[2] * n[2],
    )


@kernel(**FAST)
def _tangent(out, E, l, f, x, t, n, N, M, p, bend):
    """Fill the element tangent: f times the stiffness, and the geometric terms."""
    theta, s, g, s1, g1 = bend[0], bend[1], bend[2], bend[3], bend[4]
    ga, d = f * E[GA], f * (E[EA] - E[GA])
    w, turn = _cross(t, x), _times(g, theta)
    _symmetric(out, AA, ga / l, d / l, t, 0.0, t)
    v = _more(_times(ga, x), -1.0, N)
    _couplings(out, d, v, t, w, turn)
    # P of the mean spin
    xx, xN = _dot(x, x), _dot(x, N)
    P0, P1, P2, P3, P4, P5 = _pair(l, N, x)
    c, a, b = l * (ga * xx - xN), -l * ga, l * d
    P0 += c + a * x[0] * x[0] + b * w[0] * w[0]
    P1 += a * x[0] * x[1] + b * w[0] * w[1]
    P2 += a * x[0] * x[2] + b * w[0] * w[2]
    P3 += c + a * x[1] * x[1] + b * w[1] * w[1]
    P4 += a * x[1] * x[2] + b * w[1] * w[2]
    P5 += c + a * x[2] * x[2] + b * w[2] * w[2]
    # P G by rows, then Y - P G / 2 and its product with G
    X0, X1, X2 = _cross((P0, P1, P2), turn), _cross((P1, P3, P4), turn), _cross((P2, P4, P5), turn)
    square, along = _dot(theta, theta), 1.0 - s * _dot(theta, theta)
    Mt = _dot(M, theta)
    SM = _more(_times(along, M), s * Mt, theta)
    pt = 0.5 * _dot(turn, p)
    q = _times(0.5, p)
    Y0 = (q[0] * turn[0] - pt, q[0] * turn[1] - 0.5 * SM[2], q[0] * turn[2] + 0.5 * SM[1])
    Y1 = (q[1] * turn[0] + 0.5 * SM[2], q[1] * turn[1] - pt, q[1] * turn[2] - 0.5 * SM[0])
    Y2 = (q[2] * turn[0] - 0.5 * SM[1], q[2] * turn[1] + 0.5 * SM[0], q[2] * turn[2] - pt)
    Z0, Z1, Z2 = _more(Y0, -0.5, X0), _more(Y1, -0.5, X1), _more(Y2, -0.5, X2)
    G0 = _sub(_times(turn[1], Z2), _times(turn[2], Z1))
    G1 = _sub(_times(turn[2], Z0), _times(turn[0], Z2))
    G2 = _sub(_times(turn[0], Z1), _times(turn[1], Z0))
    # K of the mean spin and the difference
    Y0, Y1, Y2 = _sub(Y0, X0), _sub(Y1, X1), _sub(Y2, X2)
    sym = Y0[0], 0.5 * (Y0[1] + Y1[0]), 0.5 * (Y0[2] + Y2[0]), Y1[1], 0.5 * (Y1[2] + Y2[1]), Y2[2]
    skew = 0.5 * (Y2[1] - Y1[2]), 0.5 * (Y0[2] - Y2[0]), 0.5 * (Y1[0] - Y0[1])
    h = f / l
    St, Sn = _more(_times(along, t), s * _dot(theta, t), theta), _more(_times(along, n), s * _dot(theta, n), theta)
    unit = h * E[EI2] * along * along + s * along * Mt
    own = h * E[EI2] * s * (2.0 * along + s * square) + Mt * (s1 + 2.0 * s * s)
    h3, h1 = h * (E[EI3] - E[EI2]), h * (E[GJ] - E[EI2])
    # what remains is symmetric in theta and one vector more
    y = _more(_times(-(s1 + s * s) * square - s, M), -(g1 + g * s), _cross(p, theta))
    y = _more(y, own, theta)
    D0, D1, D2, D3, D4, D5 = _pair(1.0, theta, y)
    D0 += unit + h1 * St[0] * St[0] + h3 * Sn[0] * Sn[0] + 2.0 * G0[0]
    D1 += h1 * St[0] * St[1] + h3 * Sn[0] * Sn[1] + G0[1] + G1[0]
    D2 += h1 * St[0] * St[2] + h3 * Sn[0] * Sn[2] + G0[2] + G2[0]
    D3 += unit + h1 * St[1] * St[1] + h3 * Sn[1] * Sn[1] + 2.0 * G1[1]
    D4 += h1 * St[1] * St[2] + h3 * Sn[1] * Sn[2] + G1[2] + G2[1]
    D5 += unit + h1 * St[2] * St[2] + h3 * Sn[2] * Sn[2] + 2.0 * G2[2]
    _turns(out, (P0, P1, P2, P3, P4, P5), sym, skew, (D0, D1, D2, D3, D4, D5))


@kernel(**FAST)
def _left_ends(beam, state, work):
    """Fill place, rate, acceleration (plus alpha rate minus gravity) of the first elements' left ends, which may stand
    off their nodes by rigid kinks; `chain` keeps the acceleration of each joint's point, its axis and its kink.
    """
    alpha, gravity = beam.numbers[0], _three(beam.numbers, 3)
    x, v, a = gravity, gravity, gravity
    for i in range(beam.roots.size):
        e, chain = beam.roots[i], work.chain[i]
        node = work.node[e]
        u, du = _three(node, SPIN), _three(node, SPUN)
        if i == 0 or beam.roots[i - 1] != e:
            x, v = _three(state.q, 6 * e), _three(state.v, 6 * e)
            a = _sub(_more(_three(state.a, 6 * e), alpha, v), gravity)
        _put(chain, POINT, a)
        axis = _axis(work.frame, i, 2)
        _put(chain, AXIS, _turned(node, TURN, axis))
        length = beam.joint[i, 5]
        if length != 0.0:
            o, w0 = _times(length, axis), _three(work.frame[i], W0)
            w, dw = _add(u, w0), _sub(_add(du, _three(work.frame[i], A0)), _cross(w0, u))
            turned = _cross(w, o)
            x = _add(x, _turned(node, TURN, o))
            v = _add(v, _turned(node, TURN, turned))
            a = _add(a, _turned(node, TURN, _add(_cross(dw, o), _cross(w, turned))))
        _put(chain, KINK, _times(length, _three(chain, AXIS)))
        left = work.left[e]
        _put(left, XX, x)
        _put(left, VV, v)
        _put(left, ACC, a)


@kernel(**FAST)
def _spins(j1, j2, j3, t, n, c, dc, w1, w2, dw1, dw2):
    """Moments of the rotary inertia at both ends, before their nodes turn them; c = l / 6, dc its rate."""
    h1 = _more(_times(2.0 * c, w1), c, w2)
    h2 = _more(_times(2.0 * c, w2), c, w1)
    d1, d3 = j1 - j2, j3 - j2
    p1, p2 = _scaled(j2, d1, d3, t, n, h1), _scaled(j2, d1, d3, t, n, h2)
    h1 = _more(_more(_times(2.0 * c, dw1), c, dw2), 2.0 * dc, w1)
    h2 = _more(_more(_times(2.0 * c, dw2), c, dw1), 2.0 * dc, w2)
    m1 = _add(_scaled(j2, d1, d3, t, n, _more(h1, dc, w2)), _cross(w1, p1))
    m2 = _add(_scaled(j2, d1, d3, t, n, _more(h2, dc, w1)), _cross(w2, p2))
    return m1, m2, p1, p2


@kernel(**FAST)
def _length(beam, state, e):
    """Length of element e, its rate, and the share of the segment if that slides."""
    share, j = beam.element[e, LEN], beam.kind[e, 2]
    if j < 0:
        return share, 0.0
    i = state.q.size - beam.roots.size + j
    return share * state.q[i], share * state.v[i]


@kernel(**FAST)
def _flow(E, l, m, d, rate, change, x1, x2, v1, v2, a1, a2):
    """Forces of the inertia of a sliding element at both ends and on its free length; m = rho A l / 6.

    Velocity of the material v = x' + d' g (x2 - x1) with g = (1 - xi)/l at both ends; momenta P and their rates.
    """
    g1, g2 = E[PAST] / l, E[PAST + 1] / l
    chord, chord1 = _sub(x2, x1), _sub(v2, v1)
    flow1 = _more(_times(change - rate * rate / d, chord), rate, chord1)
    a1, a2 = _more(a1, g1, flow1), _more(a2, g2, flow1)
    v1, v2 = _more(v1, rate * g1, chord), _more(v2, rate * g2, chord)
    one, two = _more(_times(2.0 * m, v1), m, v2), _more(_times(2.0 * m, v2), m, v1)
    growth = rate / d
    rate1 = _more(_more(_times(2.0 * m, a1), m, a2), growth, one)
    rate2 = _more(_more(_times(2.0 * m, a2), m, a1), growth, two)
    passing = _more(_times(g1, one), g2, two)
    push = _dot(_more(_times(g1, rate1), g2, rate2), chord) + _dot(passing, chord1)
    push -= 0.5 * (_dot(one, v1) + _dot(two, v2)) / d
    return _more(rate1, rate, passing), _more(rate2, -rate, passing), push


@kernel(**FAST)
def _inflow(E, rate, v0, axis, w, t, n):
    """Momentum and spin (before the node turns it) that enter at the guide per time, and what they do on the length."""
    v0 = _more(v0, rate, axis)
    spin = _scaled(E[RHOJ + 1], E[RHOJ] - E[RHOJ + 1], E[RHOJ + 2] - E[RHOJ + 1], t, n, w)
    push = E[RHO] * (rate * _dot(v0, axis) - 0.5 * _dot(v0, v0)) - 0.5 * _dot(spin, w)
    return _times(E[RHO] * rate, v0), _times(rate, spin), push


@kernel(**FAST)
def _lengthen(beam, column, own, e, l, f, ca, x, t, M, bend, chord, i):
    """Add the derivatives of element e's forces by the free length to a border column; returns the diagonal's part."""
    E, share = beam.element[e], beam.element[e, LEN]
    C = _scaled(f * E[GA], f * (E[EA] - E[GA]), 0.0, t, t, x)
    force = _times(-share / l, C)
    shear = _times(-share, _cross(C, x))
    theta, s, g = bend[0], bend[1], bend[2]
    SM = _more(_times(1.0 - s * _dot(theta, theta), M), s * _dot(M, theta), theta)
    b = _more(_times(-share / l, SM), g, _cross(theta, shear))
    g1, g2, m = E[PAST] / l, E[PAST + 1] / l, ca * E[RHO] * l / 6.0
    one, two = _times(m * (2.0 * g1 + g2), chord), _times(m * (2.0 * g2 + g1), chord)
    _gain(column, i, _sub(one, force))
    _gain(column, i + 3, _more(_times(-1.0, b), 0.5, shear))
    _gain(column, 6 * e + 6, _add(two, force))
    _gain(column, 6 * e + 9, _more(b, 0.5, shear))
    inertia = 2.0 * m * (g1 * g1 + g1 * g2 + g2 * g2) * _dot(chord, chord)
    return own + inertia + share * share * (_dot(x, C) + _dot(M, theta) / l) / l


@kernel(**FAST)
def _elements(beam, state, work, f, cq, ca):
    """Forces of all elements (into `r` and `left`) and, with f or ca not zero, their tangents, exact geometry."""
    n, J, beta, base = beam.element.shape[0], beam.roots.size, beam.numbers[1], state.q.size - beam.roots.size
    alpha, gravity, r = beam.numbers[0], _three(beam.numbers, 3), work.r
    x1, v1, a1 = gravity, gravity, gravity
    for e in range(n):
        E, node1, node2, link, slide = beam.element[e], work.node[e], work.node[e + 1], beam.kind[e, 0], beam.kind[e, 2]
        root = e == 0 or beam.kind[e - 1, 0] != link
        if root:
            left = work.left[e]
            x1, v1, a1 = _three(left, XX), _three(left, VV), _three(left, ACC)
        here = base + J + 6 * link if root else 6 * e
        x2, v2 = _three(state.q, 6 * e + 6), _three(state.v, 6 * e + 6)
        a2 = _sub(_more(_three(state.a, 6 * e + 6), alpha, v2), gravity)
        l, l1 = _length(beam, state, e)
        first, last = (2, 1) if beam.kind[e, 1] == 1 else (0, 2)
        t0, n0 = _axis(work.frame, link, first), _axis(work.frame, link, last)
        bend = _bend(node1, node2)
        factor = 2.0 / (bend[5] * bend[5] + _dot(bend[6], bend[6]))
        t, nn = _carried(bend[5], bend[6], factor, t0), _carried(bend[5], bend[6], factor, n0)
        theta, s, g, inverse = bend[0], bend[1], bend[2], 1.0 / l
        chord = _sub(x2, x1)
        x = _times(inverse, chord)
        N = _scaled(E[GA], E[EA] - E[GA], 0.0, t, t, _sub(x, t))
        M = _times(inverse, _scaled(E[EI2], E[GJ] - E[EI2], E[EI3] - E[EI2], t, nn, theta))
        # spins of the ends before their nodes turn them
        w0, dw0 = _three(work.frame[link], W0), _three(work.frame[link], A0)
        u1, u2 = _three(node1, SPIN), _three(node2, SPIN)
        w1, w2 = _add(u1, w0), _add(u2, w0)
        dw1 = _sub(_add(_three(node1, SPUN), dw0), _cross(w0, u1))
        dw2 = _sub(_add(_three(node2, SPUN), dw0), _cross(w0, u2))
        stored = 0.5 * (_dot(N, _sub(x, t)) + inverse * _dot(M, theta))
        square = 1.0 - s * _dot(theta, theta)
        if beta != 0.0:
            W1, W2 = _turned(node1, TURN, w1), _turned(node2, TURN, w2)
            d = _sub(W2, W1)
            mu = _more(_times(0.5, _add(W1, W2)), -g, _cross(theta, d))
            stretch = _more(_sub(_times(inverse, _sub(v2, v1)), _cross(mu, x)), -l1 * inverse, x)
            turn = _more(_more(_times(square, d), s * _dot(theta, d), theta), -l1 * inverse, theta)
            N = _add(N, _scaled(beta * E[GA], beta * (E[EA] - E[GA]), 0.0, t, t, stretch))
            b = beta * inverse
            M = _add(M, _scaled(b * E[EI2], b * (E[GJ] - E[EI2]), b * (E[EI3] - E[EI2]), t, nn, turn))
        p = _times(l, _cross(N, x))
        b = _more(_more(_times(square, M), s * _dot(M, theta), theta), g, _cross(theta, p))
        s1, s2, p1, p2 = _spins(E[RHOJ], E[RHOJ + 1], E[RHOJ + 2], t0, n0, l / 6.0, l1 / 6.0, w1, w2, dw1, dw2)
        m1, m2 = _turned(node1, TURN, s1), _turned(node2, TURN, s2)
        m = E[RHO] * l / 6.0
        if slide < 0:
            f1, f2 = _more(_times(2.0 * m, a1), m, a2), _more(_times(2.0 * m, a2), m, a1)
        else:
            i = base + slide
            d, rate = state.q[i], state.v[i]
            f1, f2, push = _flow(E, l, m, d, rate, state.a[i] + alpha * rate, x1, x2, v1, v2, a1, a2)
            push -= 0.5 * (_dot(p1, w1) + _dot(p2, w2)) / d
            push += E[LEN] * (stored - _dot(N, x) - inverse * _dot(M, theta))
            if root:
                lost, spun, entering = _inflow(E, rate, v1, _turned(node1, TURN, t0), w1, t0, n0)
                f1, m1 = _sub(f1, lost), _sub(m1, _turned(node1, TURN, spun))
                push -= entering
            r[i] += push
            column = work.border[slide]
            held = _times(cq, M)
            own = _lengthen(beam, column, work.chain[slide, OWN], e, l, f, ca, x, t, held, bend, chord, here)
            work.chain[slide, OWN] = own
        f1, f2 = _sub(f1, N), _add(f2, N)
        m1, m2 = _add(m1, _more(_times(-1.0, b), 0.5, p)), _add(m2, _more(b, 0.5, p))
        _gain(r, here, f1)
        _gain(r, here + 3, m1)
        _gain(r, 6 * e + 6, f2)
        _gain(r, 6 * e + 9, m2)
        block = work.block[e]
        block[SIXTH] = ca * m
        if f != 0.0:
            _tangent(block, E, l, f, x, t, nn, _times(cq, N), _times(cq, M), _times(cq, p), bend)
        else:
            for k in range(SIXTH):
                block[k] = 0.0
        t1, n1, t2, n2 = (
            _turned(node1, TURN, t0), _turned(node1, TURN, n0), _turned(node2, TURN, t0), _turned(node2, TURN, n0)
        )
        E1 = _three(node1, TURN), _three(node1, TURN + 3), _three(node1, TURN + 6)
        E2 = _three(node2, TURN), _three(node2, TURN + 3), _three(node2, TURN + 6)
        _rotary(block, E, ca * l / 6.0, t1, n1, t2, n2, E1, E2)
        x1, v1, a1 = x2, v2, a2


@kernel(**FAST)
def _linear_elements(beam, state, work, f, cq, ca):
    """`_elements` to first order in the deformation from the commanded rigid arm; its axial forces are in `pull`."""
    n, J, beta, base = beam.element.shape[0], beam.roots.size, beam.numbers[1], state.q.size - beam.roots.size
    alpha, gravity, r = beam.numbers[0], _three(beam.numbers, 3), work.r
    zero, none = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    x1, v1, a1, psi1, u1, du1, w0, dw0, t, nn = zero, zero, zero, zero, zero, zero, zero, zero, zero, zero
    for e in range(n):
        E, link, slide = beam.element[e], beam.kind[e, 0], beam.kind[e, 2]
        root = e == 0 or beam.kind[e - 1, 0] != link
        here = base + J + 6 * link if root else 6 * e
        if root:
            left = work.left[e]
            x1, v1, a1 = _three(left, XX), _three(left, VV), _three(left, ACC)
            w0, dw0 = _three(work.frame[link], W0), _three(work.frame[link], A0)
        if root or beam.kind[e - 1, 1] != beam.kind[e, 1]:
            first, last = (2, 1) if beam.kind[e, 1] == 1 else (0, 2)
            t, nn = _axis(work.frame, link, first), _axis(work.frame, link, last)
        x2, v2 = _three(state.q, 6 * e + 6), _three(state.v, 6 * e + 6)
        psi2, u2 = _three(state.q, 6 * e + 9), _three(state.v, 6 * e + 9)
        a2 = _sub(_more(_three(state.a, 6 * e + 6), alpha, v2), gravity)
        du2 = _more(_three(state.a, 6 * e + 9), alpha, u2)
        l, l1 = _length(beam, state, e)
        inverse = 1.0 / l
        x, turn, mean = _times(inverse, _sub(x2, x1)), _sub(psi2, psi1), _times(0.5, _add(psi1, psi2))
        strain, bent = _sub(_sub(x, t), _cross(mean, t)), turn
        if beta != 0.0:
            spun = _sub(_times(0.5, _add(u1, u2)), _cross(w0, mean))
            rate = _sub(_sub(_times(inverse, _sub(v2, v1)), _cross(w0, x)), _cross(spun, t))
            strain = _more(strain, beta, _more(rate, -l1 * inverse, x))
            bent = _more(turn, beta, _more(_sub(_sub(u2, u1), _cross(w0, turn)), -l1 * inverse, turn))
        N = _scaled(E[GA], E[EA] - E[GA], 0.0, t, t, strain)
        M = _times(inverse, _scaled(E[EI2], E[GJ] - E[EI2], E[EI3] - E[EI2], t, nn, bent))
        p, pull = _times(l, _cross(N, t)), work.pull[e]
        slope = _sub(x, t)
        N = _more(_more(N, pull, slope), -pull * _dot(slope, t), t)
        # rotary inertia: what turns with the rigid arm, and the rest to first order
        c, c1 = l / 6.0, l1 / 6.0
        h1 = _more(_more(_times(3.0 * c, w0), 2.0 * c, u1), c, u2)
        h2 = _more(_more(_times(3.0 * c, w0), 2.0 * c, u2), c, u1)
        f1, f2 = _sub(du1, _cross(w0, u1)), _sub(du2, _cross(w0, u2))
        k1 = _more(_more(_more(_times(3.0 * c, dw0), 2.0 * c, f1), c, f2), c1 / c, h1)
        k2 = _more(_more(_more(_times(3.0 * c, dw0), 2.0 * c, f2), c, f1), c1 / c, h2)
        j1, j2, j3 = E[RHOJ], E[RHOJ + 1], E[RHOJ + 2]
        p0 = _times(3.0 * c, _scaled(j2, j1 - j2, j3 - j2, t, nn, w0))
        p1, p2 = _scaled(j2, j1 - j2, j3 - j2, t, nn, h1), _scaled(j2, j1 - j2, j3 - j2, t, nn, h2)
        m1 = _add(_add(_scaled(j2, j1 - j2, j3 - j2, t, nn, k1), _cross(w0, p1)), _cross(u1, p0))
        m2 = _add(_add(_scaled(j2, j1 - j2, j3 - j2, t, nn, k2), _cross(w0, p2)), _cross(u2, p0))
        m = E[RHO] * l / 6.0
        if slide < 0:
            f1, f2 = _more(_times(2.0 * m, a1), m, a2), _more(_times(2.0 * m, a2), m, a1)
        else:
            i = base + slide
            d, rate = state.q[i], state.v[i]
            f1, f2, push = _flow(E, l, m, d, rate, state.a[i] + alpha * rate, x1, x2, v1, v2, a1, a2)
            w1, w2 = _add(u1, w0), _add(u2, w0)
            push -= 0.5 * (_dot(p1, w1) + _dot(p2, w2)) / d + E[LEN] * _dot(N, t)
            if root:
                lost, spun, entering = _inflow(E, rate, v1, _add(t, _cross(psi1, t)), w1, t, nn)
                f1, m1, push = _sub(f1, lost), _sub(m1, spun), push - entering
            r[i] += push
            bend = (zero, 0.0, 0.125, 0.0, 0.0, 2.0, zero)
            chain, column = work.chain[slide], work.border[slide]
            chain[OWN] = _lengthen(beam, column, chain[OWN], e, l, f, ca, x, t, zero, bend, _sub(x2, x1), here)
        _gain(r, here, _sub(f1, N))
        _gain(r, here + 3, _add(m1, _more(_times(-1.0, M), 0.5, p)))
        _gain(r, 6 * e + 6, _add(f2, N))
        _gain(r, 6 * e + 9, _add(m2, _more(M, 0.5, p)))
        block = work.block[e]
        block[SIXTH] = ca * m
        if f != 0.0:
            ga, d = f * E[GA], f * (E[EA] - E[GA])
            _symmetric(block, AA, (ga + cq * pull) * inverse, (d - cq * pull) * inverse, t, 0.0, t)
            _couplings(block, 0.0, _times(ga, t), t, zero, zero)
            q, h = l * ga, f * inverse
            D = _tensor(h * E[EI2], h * (E[GJ] - E[EI2]), h * (E[EI3] - E[EI2]), t, nn)
            _turns(block, _tensor(q, -q, 0.0, t, t), none, zero, D)
        else:
            for k in range(SIXTH):
                block[k] = 0.0
        _rotary(block, E, ca * c, t, nn, t, nn, UNTURNED, UNTURNED)
        x1, v1, a1, psi1, u1, du1 = x2, v2, a2, psi2, u2, du2


@kernel(**FAST)
def _rigid_points(beam, state, work):
    """Accelerations of the material of the rigid arm at both ends of all elements, and of the joints' points."""
    base, alpha = state.q.size - beam.roots.size, beam.numbers[0]
    a, zero, i = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0
    a = _sub(a, _three(beam.numbers, 3))
    for e in range(beam.element.shape[0]):
        while i < beam.roots.size and beam.roots[i] == e:
            w = _three(work.frame[i], W0)
            dw, o = _more(_three(work.frame[i], A0), -alpha, w), _times(beam.joint[i, 5], _axis(work.frame, i, 2))
            _put(work.chain[i], RIGID, a)
            a, i = _add(a, _add(_cross(dw, o), _cross(w, _cross(w, o)))), i + 1
        link, slide = beam.kind[e, 0], beam.kind[e, 2]
        w = _three(work.frame[link], W0)
        dw = _more(_three(work.frame[link], A0), -alpha, w)
        t = _axis(work.frame, link, 2 if beam.kind[e, 1] == 1 else 0)
        turned = _cross(w, t)
        l = _length(beam, state, e)[0]
        step = _times(l, _add(_cross(dw, t), _cross(w, turned)))
        extra = zero
        if slide >= 0:
            extra = _more(_times(2.0 * state.v[base + slide], turned), state.a[base + slide], t)
            step = _more(step, beam.element[e, LEN], extra)
        E, left = beam.element[e], work.left[e]
        _put(left, ROOT, _more(a, E[PAST] if slide >= 0 else 0.0, extra))
        a = _add(a, step)
        _put(left, TIP, _more(a, E[PAST + 1] if slide >= 0 else 0.0, extra))


@kernel(**FAST)
def _pulls(beam, state, work, stiffening):
    """Axial force of each element of the rigid arm: what its motion and weight need beyond."""
    n, b = beam.element.shape[0], beam.holder.shape[0] - 1
    alpha, F = beam.numbers[0], (0.0, 0.0, 0.0)
    if stiffening:
        _rigid_points(beam, state, work)
    for e in range(n - 1, -1, -1):
        if not stiffening:
            work.pull[e] = 0.0
            continue
        while b >= 0 and beam.holder[b, 0] > e:
            i, p = beam.holder[b, 1], beam.holder[b, 0]
            w = _three(work.frame[i], W0)
            dw, c = _more(_three(work.frame[i], A0), -alpha, w), _turned(work.frame[i], R0, _three(beam.body[b], 1))
            a = _three(work.chain[i], RIGID) if beam.roots[i] == p else _three(work.left[p - 1], TIP)
            a = _add(a, _add(_cross(dw, c), _cross(w, _cross(w, c))))
            F, b = _more(F, beam.body[b, 0], a), b - 1
        link = beam.kind[e, 0]
        a1, a2 = _three(work.left[e], ROOT), _three(work.left[e], TIP)
        m = beam.element[e, RHO] * _length(beam, state, e)[0] / 6.0
        t = _axis(work.frame, link, 2 if beam.kind[e, 1] == 1 else 0)
        work.pull[e] = -_dot(t, _more(_more(F, m, a1), 2.0 * m, a2))
        F = _more(_more(F, 3.0 * m, a1), 3.0 * m, a2)


@kernel(**FAST)
def _bodies(beam, state, work):
    """Forces of the rigid bodies about their joint's point, or their node; their lever and inertia in base axes."""
    base, J, alpha = state.q.size - beam.roots.size, beam.roots.size, beam.numbers[0]
    for b in range(beam.holder.shape[0]):
        p, i, B, out = beam.holder[b, 0], beam.holder[b, 1], beam.body[b], work.body[b]
        node, R, mass = work.node[p], work.frame[i], B[0]
        w0, u = _three(R, W0), _three(node, SPIN)
        w, dw = _add(u, w0), _sub(_add(_three(node, SPUN), _three(R, A0)), _cross(w0, u))
        c = _turned(R, R0, _three(B, 1))
        held = beam.roots[i] == p
        if held:
            a = _three(work.chain[i], POINT)
        else:
            a = _sub(_more(_three(state.a, 6 * p), alpha, _three(state.v, 6 * p)), _three(beam.numbers, 3))
        force = _times(mass, _add(a, _turned(node, TURN, _add(_cross(dw, c), _cross(w, _cross(w, c))))))
        # inertia in the axes before the node turns it, column by column
        x, y, z = _axis(work.frame, i, 0), _axis(work.frame, i, 1), _axis(work.frame, i, 2)
        momentum = _weigh(B, x, y, z, w)
        spin = _turned(node, TURN, _add(_weigh(B, x, y, z, dw), _cross(w, momentum)))
        lever = _turned(node, TURN, c)
        _put(out, ARM, lever)
        x, y, z = _turned(node, TURN, x), _turned(node, TURN, y), _turned(node, TURN, z)
        _put(out, SPINNING, _weigh(B, x, y, z, (1.0, 0.0, 0.0)))
        _put(out, SPINNING + 3, _weigh(B, x, y, z, (0.0, 1.0, 0.0)))
        _put(out, SPINNING + 6, _weigh(B, x, y, z, (0.0, 0.0, 1.0)))
        here = base + 7 * J + 6 * i if held else 6 * p
        _gain(work.r, here, force)
        _gain(work.r, here + 3, _add(spin, _cross(lever, force)))
        _put(out, PUSH, force)


@kernel(**FAST)
def _weigh(B, x, y, z, w):
    """Inertia of a body with axes x, y, z times w."""
    own = _turned(B, 4, (_dot(x, w), _dot(y, w), _dot(z, w)))
    return _more(_more(_times(own[0], x), own[1], y), own[2], z)


@kernel(**FAST)
def _add_body(beam, work, b, ca, cq):
    """Add a body to the 6 x 6 matrix in `w`."""
    w, B, mass = work.w, work.body[b], ca * beam.body[b, 0]
    c, force = _three(B, ARM), _three(B, PUSH)
    w[48] += mass
    w[57] += mass
    w[66] += mass
    for k in range(3):
        for m in range(3):
            turning = ca * B[SPINNING + 3 * k + m] - mass * c[k] * c[m]
            w[75 + 8 * k + m] += turning + 0.5 * cq * (force[k] * c[m] + force[m] * c[k])
        w[75 + 9 * k] += mass * _dot(c, c) - cq * _dot(force, c)
    _gain_skew(w, -mass, c)


@kernel(**FAST)
def _gain_skew(w, s, c):
    """Add s (c x) to the block of places against turns, and its transpose."""
    w[52] -= s * c[2]
    w[53] += s * c[1]
    w[59] += s * c[2]
    w[61] -= s * c[0]
    w[67] -= s * c[1]
    w[68] += s * c[0]


@kernel(**FAST)
def _eliminate(b, mass, w, f):
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


FACTOR = 72


@kernel(**FAST)
def _mirror(w):
    """Fill the lower part of the 6 x 6 matrix."""
    for k in range(6):
        for m in range(k):
            w[48 + 8 * k + m] = w[48 + 8 * m + k]


@kernel(**FAST)
def _joints(beam, work, drive, e, ca, cv, cq, base):
    """Pass from the left end of element e to its node: rigid kinks, bodies and joints in between, outermost first."""
    w, r, J = work.w, work.r, beam.roots.size
    link = beam.kind[e, 0]
    here = base + J + 6 * link
    force, moment = _three(r, here), _three(r, here + 3)
    _mirror(w)
    for i in range(link, -1, -1):
        if beam.roots[i] != e:
            break
        chain, here = work.chain[i], base + 7 * J + 6 * i
        o, axis = _three(chain, KINK), _three(chain, AXIS)
        if beam.joint[i, 5] != 0.0:
            for k in range(6):
                _gain(w, 51 + 8 * k, _cross(o, (w[48 + 8 * k], w[49 + 8 * k], w[50 + 8 * k])))
            for k in range(6):
                row = _cross(o, (w[48 + k], w[56 + k], w[64 + k]))
                w[72 + k], w[80 + k], w[88 + k] = w[72 + k] + row[0], w[80 + k] + row[1], w[88 + k] + row[2]
            for k in range(3):
                for m in range(3):
                    w[75 + 8 * k + m] += 0.5 * cq * (force[k] * o[m] + force[m] * o[k])
                w[75 + 9 * k] -= cq * _dot(force, o)
            moment = _add(moment, _cross(o, force))
        for b in range(beam.holder.shape[0]):
            if beam.holder[b, 0] == e and beam.holder[b, 1] == i:
                _add_body(beam, work, b, ca, cq)
                _mirror(w)
        force, moment = _add(force, _three(r, here)), _add(moment, _three(r, here + 3))
        if beam.prismatic[i] == 1:
            chain[OWN] += cq * beam.joint[i, 1] + cv * beam.joint[i, 2]
            continue
        for k in range(6):
            chain[COLUMN + k] = w[51 + 8 * k] * axis[0] + w[52 + 8 * k] * axis[1] + w[53 + 8 * k] * axis[2]
        own = _dot(axis, _three(chain, COLUMN + 3))
        own += ca * beam.joint[i, 0] + cq * beam.joint[i, 1] + cv * beam.joint[i, 2]
        _gain(chain, COLUMN + 3, _times(0.5 * cq, _cross(axis, moment)))
        chain[OWN] = 0.0
        if drive[i] != PRESCRIBED:
            chain[OWN] = 1.0 / own
            for k in range(6):
                for m in range(6):
                    w[48 + 8 * k + m] -= chain[k] * chain[m] / own


@kernel(**FAST)
def _factor(beam, state, work, drive, ca, cv, cq):
    """Eliminate all nodes from the tip to the base."""
    n, b, w = beam.element.shape[0], beam.holder.shape[0] - 1, work.w
    base = state.q.size - beam.roots.size
    for k in range(96):
        w[k] = 0.0
    for e in range(n - 1, -1, -1):
        while b >= 0 and beam.holder[b, 0] > e:
            i, p = beam.holder[b, 1], beam.holder[b, 0]
            if beam.roots[i] != p:
                _add_body(beam, work, b, ca, cq)
            b -= 1
        block = work.block[e]
        _eliminate(block, block[SIXTH], w, work.factor[e])
        if e == 0 or beam.kind[e - 1, 0] != beam.kind[e, 0]:
            _joints(beam, work, drive, e, ca, cv, cq, base)


@kernel(**FAST)
def _inwards(beam, work, drive, r, base):
    """Forward substitution of `_solve`."""
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
            x, turn = _add((q0, q1, q2), _three(r, i)), _add((q3, q4, q5), _three(r, i + 3))
            for i in range(link, -1, -1):
                if beam.roots[i] != e:
                    break
                chain, here = work.chain[i], base + 7 * J + 6 * i
                turn = _add(_add(turn, _cross(_three(chain, KINK), x)), _three(r, here + 3))
                x = _add(x, _three(r, here))
                if beam.prismatic[i] == 0:
                    r[base + i] += _dot(_three(chain, AXIS), turn)
                    own = chain[OWN] * r[base + i]
                    x, turn = _more(x, -own, _three(chain, COLUMN)), _more(turn, -own, _three(chain, COLUMN + 3))
            q0, q1, q2 = x
            q3, q4, q5 = turn


@kernel(**FAST)
def _solve(beam, work, drive, r, base):
    """Replace forces by displacements and spins, of nodes, joints, and left ends that stand off their nodes.

    Where a body's force on joint i stood the torque is left that the joint needs if prescribed.
    """
    J = beam.roots.size
    _inwards(beam, work, drive, r, base)
    x0 = x1 = x2 = x3 = x4 = x5 = 0.0
    i = 0
    for e in range(beam.element.shape[0]):
        if i < J and beam.roots[i] == e:
            x, turn = (x0, x1, x2), (x3, x4, x5)
            while i < J and beam.roots[i] == e:
                chain = work.chain[i]
                if beam.prismatic[i] == 0:
                    left = r[base + i] - _dot(x, _three(chain, COLUMN)) - _dot(turn, _three(chain, COLUMN + 3))
                    r[base + 7 * J + 6 * i], r[base + i] = left, chain[OWN] * left
                    turn = _more(turn, r[base + i], _three(chain, AXIS))
                x, i = _add(x, _cross(turn, _three(chain, KINK))), i + 1
            here = base + J + 6 * beam.kind[e, 0]
            _put(r, here, x)
            _put(r, here + 3, turn)
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
def _dot_all(a, b):
    total = 0.0
    for k in range(a.size):
        total += a[k] * b[k]
    return total


@kernel(**FAST)
def _without(beam, work, drive, r, upto, base):
    """Take the free lengths of joints below `upto` into a solution without them."""
    J = beam.roots.size
    for i in range(upto):
        if beam.prismatic[i] == 1 and drive[i] != PRESCRIBED:
            own = work.chain[i, OWN] - _dot_all(work.border[i], work.border[J + i])
            length = (r[base + i] - _dot_all(work.border[i], r)) / own
            for k in range(r.size):
                r[k] -= work.border[J + i, k] * length
            r[base + i] = length


@kernel(**FAST)
def _correction(beam, state, work, drive):
    """Replace the residual by the correction; forces of prescribed free lengths stand where torques do."""
    J, r = beam.roots.size, work.r
    base = state.q.size - J
    for i in range(J):
        if beam.prismatic[i] == 1 and drive[i] != PRESCRIBED:
            column = work.border[J + i]
            for k in range(r.size):
                column[k] = work.border[i, k]
            _solve(beam, work, drive, column, base)
            _without(beam, work, drive, column, i, base)
    _solve(beam, work, drive, r, base)
    _without(beam, work, drive, r, J, base)
    for i in range(J):
        if beam.prismatic[i] == 1 and drive[i] == PRESCRIBED:
            force, r[base + i] = r[base + i], 0.0
            r[base + 7 * J + 6 * i] = force - _dot_all(work.border[i], r)


@kernel(**FAST)
def _evaluate(beam, state, work, u, mode, cq, cv, ca):
    """Fill residual M a + h - B u and element tangents cq K + cv D + ca M; returns whether all free lengths are out."""
    J, r, alpha = beam.roots.size, work.r, beam.numbers[0]
    base = state.q.size - J
    for k in range(r.size):
        r[k] = 0.0
    for i in range(J):
        if beam.prismatic[i] == 1:
            work.chain[i, OWN] = 0.0
            for k in range(r.size):
                work.border[i, k] = 0.0
            if not state.q[base + i] > 0.0:
                return False
    _frames(beam, state, work.frame)
    if mode == NONLINEAR:
        for p in range(1, beam.element.shape[0] + 1):
            _section(state.q, state.v, state.a, p, alpha, work.node[p])
    else:
        _few_sections(beam, state, work)
    _left_ends(beam, state, work)
    f = cq + cv * beam.numbers[1]
    if mode == NONLINEAR:
        _elements(beam, state, work, f, cq, ca)
    else:
        _linear_elements(beam, state, work, f, cq, ca)
    _bodies(beam, state, work)
    for i in range(J):
        x, v, a = state.q[base + i], state.v[base + i], state.a[base + i]
        r[base + i] += beam.joint[i, 0] * (a + alpha * v) + beam.joint[i, 1] * x + beam.joint[i, 2] * v
    for k in range(beam.inputs.size):
        i = beam.inputs[k]
        place = base + i if i < J else base - 6 + i - J
        r[place] -= beam.gains[k] * u[k]
    return True


@kernel(**FAST)
def _few_sections(beam, state, work):
    """The nodes that carry joints or bodies: these are exact in every analysis."""
    for i in range(beam.roots.size):
        if beam.roots[i] > 0:
            _section(state.q, state.v, state.a, beam.roots[i], beam.numbers[0], work.node[beam.roots[i]])
    for b in range(beam.holder.shape[0]):
        p = beam.holder[b, 0]
        if p > 0:
            _section(state.q, state.v, state.a, p, beam.numbers[0], work.node[p])


@kernel(**FAST)
def _to_coordinates(beam, state, work, mode):
    """Replace the spins of a correction by those of the rotation vectors; returns the largest entry."""
    r, J, n = work.r, beam.roots.size, beam.element.shape[0]
    base, size, moved = state.q.size - J, 0.0, False
    turn, i, total = (0.0, 0.0, 0.0), 0, 0.0
    for e in range(n):
        while i < J and beam.roots[i] == e:
            if beam.prismatic[i] == 0 and r[base + i] != 0.0:
                turn, moved = _more(turn, r[base + i], _axis(work.frame, i, 2)), True
            i += 1
        k = 6 * e + 6
        if mode == NONLINEAR:
            spin, psi, node = _three(r, k + 3), _three(state.q, k + 3), work.node[e + 1]
            if moved:
                spin = _sub(spin, _turned(node, TURN, turn))
            half = _cross(psi, spin)
            _put(r, k + 3, _more(_more(spin, -0.5, half), node[INVERSE], _cross(psi, half)))
        for m in range(k, k + 6):
            size = max(size, abs(r[m]))
            total += r[m]
    for m in range(base, base + J):
        size = max(size, abs(r[m]))
        total += r[m]
    return size if np.isfinite(total) else np.inf


@kernel(**INSIDE)
def foresee(form, motion, h, scheme):
    """Fill, for each joint, the new algorithmic acceleration and by how much the scheme would miss place and rate."""
    am, af, beta, gamma, out = scheme.alpha_m, scheme.alpha_f, scheme.beta, scheme.gamma, form.work.ahead
    base, target = motion.q.size - motion.drive.size, motion.target
    for i in range(motion.drive.size):
        j = base + i
        old = motion.shifted[j]
        new = ((1.0 - af) * target[i, 2] + af * motion.a[j] - am * old) / (1.0 - am)
        place = motion.q[j] + h * motion.v[j] + h * h * ((0.5 - beta) * old + beta * new)
        rate = motion.v[j] + h * ((1.0 - gamma) * old + gamma * new)
        out[3 * i], out[3 * i + 1], out[3 * i + 2] = new, place - target[i, 0], rate - target[i, 1]


@kernel(**INSIDE)
def lead(form, motion):
    """Put prescribed joints where they are commanded.

    The sections keep the angles to which the scheme steps them, as those of the planar arm do; rotation vectors count
    from the rigid arm, hence take up by how much the scheme would have missed the command.
    """
    beam, work, drive, ahead = form.beam, form.work, motion.drive, form.work.ahead
    J, i = drive.size, 0
    base = motion.q.size - J
    for j in range(J):
        if drive[j] == PRESCRIBED:
            motion.q[base + j], motion.v[base + j] = motion.target[j, 0], motion.target[j, 1]
            motion.a[base + j], motion.shifted[base + j] = motion.target[j, 2], ahead[3 * j]
    _frames(beam, motion, work.frame)
    turn, rate = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for e in range(beam.element.shape[0]):
        while i < J and beam.roots[i] == e:
            if drive[i] == PRESCRIBED and beam.prismatic[i] == 0:
                axis = _axis(work.frame, i, 2)
                turn, rate = _more(turn, ahead[3 * i + 1], axis), _more(rate, ahead[3 * i + 2], axis)
            i += 1
        m = 6 * e + 9
        _put(motion.q, m, _add(_three(motion.q, m), turn))
        _put(motion.v, m, _add(_three(motion.v, m), rate))
    if form.mode != NONLINEAR:
        _pulls(beam, motion, work, form.stiffening)


@kernel(**INSIDE)
def leap(form, motion):
    """Set the prescribed accelerations to their right limits; returns whether one jumped."""
    jump, base = False, motion.q.size - motion.drive.size
    for i in range(motion.drive.size):
        if motion.drive[i] == PRESCRIBED:
            change = motion.target[i, 3] - motion.a[base + i]
            jump = jump or change != 0.0
            motion.a[base + i] += change
            motion.shifted[base + i] += change
    if form.mode != NONLINEAR:
        _frames(form.beam, motion, form.work.frame)
        _pulls(form.beam, motion, form.work, form.stiffening)
    return jump


@kernel(**INSIDE)
def solve(form, motion, u, ca, cv, cq, fresh):
    """One correction; see `kernels.stepper.Operations`."""
    beam, work, whole = form.beam, form.work, ca + form.beam.numbers[0] * cv
    if not _evaluate(beam, motion, work, u, form.mode, cq, cv, whole):
        return RETRACTED, np.inf
    _factor(beam, motion, work, motion.drive, whole, cv, cq)
    _correction(beam, motion, work, motion.drive)
    return DONE, _to_coordinates(beam, motion, work, form.mode)


@kernel(**INSIDE)
def finish(form, motion, u, size):
    """Take over the torques of the joints."""
    J = motion.drive.size
    base = motion.q.size - J
    for i in range(J):
        motion.torque[i] = form.work.r[base + 7 * J + 6 * i]


@kernel(**INSIDE)
def limit(form, motion, tolerance, h):
    """Size of a correction that is accepted; see the module docstring."""
    return tolerance * max(1.0, form.beam.numbers[2]) * _allowance(form.beam, motion, h)


POSITION, RATE, ACCELERATION, ERROR, CURVATURE, DISPLACEMENT, TRANSVERSE = range(7)


@kernel(**FAST)
def _measure(beam, state, work, rows, y):
    """Sensor readings; `models.timoshenko_spatial.sensors` says what they mean."""
    J, frame = beam.roots.size, work.frame
    base, ready = state.q.size - J, False
    tip = (0.0, 0.0, 0.0)
    for at in range(rows.size):
        row = rows[at]
        kind, place, other, k = beam.outputs[row, 0], beam.outputs[row, 1], beam.outputs[row, 2], beam.outputs[row, 3]
        if kind == POSITION:
            y[at] = state.q[place]
        elif kind == RATE:
            y[at] = state.v[place]
        elif kind == ACCELERATION:
            y[at] = state.a[place]
        elif kind == ERROR:
            if not ready:
                tip, ready = _rigid_tip(beam, state, frame), True
            y[at] = state.q[base - 6 + k] - tip[k]
        else:
            if not ready:
                tip, ready = _rigid_tip(beam, state, frame), True
            weight, scale = beam.gains[beam.inputs.size + 2 * row], beam.gains[beam.inputs.size + 2 * row + 1]
            y[at] = _station(beam, state, work, kind, place, other, k, weight, scale)


@kernel(**FAST)
def _rigid_tip(beam, state, frame):
    """Tip of the rigid arm with the same joint variables; the frames are made on the way."""
    J = beam.roots.size
    base, tip = state.q.size - J, (0.0, 0.0, 0.0)
    _frames(beam, state, frame)
    for i in range(J):
        s = state.q[base + i] if beam.prismatic[i] == 1 else beam.joint[i, 5] + beam.joint[i, 6]
        tip = _more(_more(tip, s, _axis(frame, i, 2)), beam.joint[i, 7], _axis(frame, i, 0))
    return tip


@kernel(**FAST)
def _ends(beam, state, work, e):
    """Places of the ends of element e and accelerations, with their nodes and the left ends made up to date."""
    alpha, gravity = beam.numbers[0], _three(beam.numbers, 3)
    for p in (e, e + 1):
        if p > 0:
            _section(state.q, state.v, state.a, p, alpha, work.node[p])
    k = 6 * e + 6
    x2, a2 = _three(state.q, k), _three(state.a, k)
    if e == 0 or beam.kind[e - 1, 0] != beam.kind[e, 0]:
        _left_ends(beam, state, work)
        left = work.left[e]
        return _three(left, XX), _add(_more(_three(left, ACC), -alpha, _three(left, VV)), gravity), x2, a2
    return _three(state.q, k - 6), _three(state.a, k - 6), x2, a2


@kernel(**FAST)
def _section_axis(beam, work, e, k):
    """Axis e2 or e3 (k = 1, 2) of element e in the rigid arm."""
    kink = beam.kind[e, 1] == 1
    return _axis(work.frame, beam.kind[e, 0], (k + 2) % 3 if kink else k)


@kernel(**FAST)
def _curvature(beam, state, work, e, k):
    """kappa_3 (k = 1) or -kappa_2 (k = 2) of element e."""
    _ends(beam, state, work, e)
    bend = _bend(work.node[e], work.node[e + 1])
    factor = 2.0 / (bend[5] * bend[5] + _dot(bend[6], bend[6]))
    axis = _carried(bend[5], bend[6], factor, _section_axis(beam, work, e, 3 - k))
    kappa = _dot(bend[0], axis) / _length(beam, state, e)[0]
    return kappa if k == 1 else -kappa


@kernel(**FAST)
def _station(beam, state, work, kind, place, other, code, weight, scale):
    """One sensor on a link; code is its direction, 1 or 2, plus 3 times the number of its joint (from 1) or 0."""
    k = code % 3
    if kind == CURVATURE:
        one, two = _curvature(beam, state, work, place, k), _curvature(beam, state, work, other, k)
        return scale * ((1.0 - weight) * one + weight * two)
    x1, a1, x2, a2 = _ends(beam, state, work, place)
    if kind == DISPLACEMENT:
        root = _ends(beam, state, work, other)[0]
        axis = _turned(work.node[other], TURN, _section_axis(beam, work, other, k))
        across = _dot(axis, _sub(_more(_times(1.0 - weight, x1), weight, x2), root))
        joint = code // 3
        return across + (scale * state.q[state.q.size - beam.roots.size + joint - 1] if joint > 0 else 0.0)
    turn = _times(weight, _bend(work.node[place], work.node[place + 1])[0])
    axis = _turned(work.node[place], TURN, _section_axis(beam, work, place, k))
    angle = np.sqrt(_dot(turn, turn))
    if angle > 0.0:
        once = _cross(turn, axis)
        axis = _more(_more(axis, np.sin(angle) / angle, once), (1.0 - np.cos(angle)) / angle**2, _cross(turn, once))
    return _dot(axis, _more(_times(1.0 - weight, a1), weight, a2))


@kernel(**INSIDE)
def store(form, motion, record, k):
    """Record grid point k; the input of a prescribed joint is the torque or force that it needs."""
    beam, drive = form.beam, motion.drive
    for j in range(beam.inputs.size):
        i = beam.inputs[j]
        if i < drive.size and drive[min(i, drive.size - 1)] == PRESCRIBED:
            record.u[k, j] = motion.torque[i]
    if record.q.shape[0] > 1:
        place, i, base = 0, 0, motion.q.size - drive.size
        for e in range(beam.element.shape[0]):
            while i < drive.size and beam.roots[i] == e:
                record.q[k, place], record.v[k, place] = motion.q[base + i], motion.v[base + i]
                place, i = place + 1, i + 1
            for m in range(6 * e + 6, 6 * e + 12):
                record.q[k, place], record.v[k, place] = motion.q[m], motion.v[m]
                place += 1


@kernel(**FAST)
def _rigid(beam, state, work, target):
    """Put the state onto the commanded rigid arm, with its rates and accelerations."""
    J, i = beam.roots.size, 0
    base = state.q.size - J
    for j in range(J):
        state.q[base + j], state.v[base + j], state.a[base + j] = target[j, 0], target[j, 1], target[j, 3]
    _frames(beam, state, work.frame)
    x, v, a = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for e in range(beam.element.shape[0]):
        link = beam.kind[e, 0]
        while i < J and beam.roots[i] == e:
            x, v, a = _carry(beam, work, i, beam.joint[i, 5], _axis(work.frame, i, 2), x, v, a)
            i += 1
        t, j = _axis(work.frame, link, 2 if beam.kind[e, 1] == 1 else 0), beam.kind[e, 2]
        x, v, a = _carry(beam, work, link, _length(beam, state, e)[0], t, x, v, a)
        if j >= 0:
            share, w = beam.element[e, LEN], _three(work.frame[link], W0)
            rate, change = share * state.v[base + j], share * state.a[base + j]
            v, a = _more(v, rate, t), _more(_more(a, change, t), 2.0 * rate, _cross(w, t))
        m = 6 * e + 6
        _put(state.q, m, x)
        _put(state.v, m, v)
        _put(state.a, m, a)
        for c in range(m + 3, m + 6):
            state.q[c] = state.v[c] = state.a[c] = 0.0


@kernel(**FAST)
def _carry(beam, work, i, length, t, x, v, a):
    """A point, its rate and acceleration, `length` further along t on rigid link i."""
    w = _three(work.frame[i], W0)
    dw, turned = _more(_three(work.frame[i], A0), -beam.numbers[0], w), _cross(w, t)
    x, v = _more(x, length, t), _more(v, length, turned)
    return x, v, _more(a, length, _add(_cross(dw, t), _cross(w, turned)))


@kernel(**FAST)
def _allowance(beam, state, h):
    """How far above the tolerance a correction may be: what the tangent lacks leaves an error of h times the rates."""
    base, rate = state.q.size - beam.roots.size, 0.0
    if beam.numbers[1] != 0.0:
        return 1.0
    for k in range(base - 3, base):
        rate += abs(state.v[k])
    for e in range(beam.element.shape[0]):
        if e == 0 or beam.kind[e - 1, 0] != beam.kind[e, 0]:
            j = beam.kind[e, 2]
            if j >= 0:
                rate += abs(state.v[base + j]) / (beam.element[e, LEN] * state.q[base + j])
    for i in range(beam.roots.size):
        if beam.prismatic[i] == 0:
            rate += abs(state.v[base + i])
    return min(100.0, max(1.0, 1.0 / (h * rate + 1e-9)))


@kernel(**INSIDE)
def measure(form, motion, u, y):
    """Sensor readings."""
    _measure(form.beam, motion, form.work, form.work.every, y)


@kernel(**INSIDE)
def sense(form, motion, u, rows, y):
    """Some of them."""
    _measure(form.beam, motion, form.work, rows, y)


@kernel(**INSIDE)
def nothing(form, motion):
    """The state alone is measured."""


@kernel(**INSIDE)
def never(form):
    """The arm is not linear."""
    return False


OPERATIONS = Operations(
    measure, solve, foresee, lead, leap, finish, nothing, limit, store, sense, never, keeps=False, prefers=FULL,
    swing=0.02, stride=0.3,
)
LOOPS = loops(OPERATIONS, FORM)


@entry(types.UniTuple(float64, 4)(FORM, MOTION, COURSE), **ENTRY)
def run_static(form, motion, course):
    """Fill the record with the deformation under the rigid arm's inertia."""
    tables, record, work = course.tables, course.record, form.work
    for k in range(course.span[0], course.span[1] + 1):
        aim(motion, k, 0.0, 1.0)
        _rigid(form.beam, motion, work, motion.target)
        _pulls(form.beam, motion, work, form.stiffening)
        status, size = solve(form, motion, tables.after[k], 0.0, 0.0, 1.0, True)
        if status != DONE:
            return status, tables.t[k], 0.0, size
        for m in range(motion.q.size):
            motion.q[m] -= motion.d[m]
        finish(form, motion, tables.after[k], size)
        measure(form, motion, tables.after[k], record.y[k])
        for j in range(record.u.shape[1]):
            record.u[k, j] = tables.after[k, j]
        store(form, motion, record, k)
    return DONE, tables.t[course.span[1]], 0.0, 0.0


def work(elements: int, joints: int, bodies: int, outputs: int) -> Work:
    """Return scratch arrays for an arm with so many elements, joints, bodies and outputs."""
    N, J = elements, joints
    node = np.zeros((N + 1, NODE))
    node[:, QUAT] = node[:, TURN] = node[:, TURN + 4] = node[:, TURN + 8] = 1.0
    length = 6 * (N + 1) + 13 * J
    return Work(
        np.zeros((J, FRAME)), node, np.zeros((N, LEFT)), np.zeros((N, BLOCK)), np.zeros((N, FACTOR)),
        np.zeros((J, CHAIN)), np.zeros(144), np.zeros(length), np.zeros((2 * J, length)), np.zeros(N),
        np.zeros((bodies, BODY)), np.zeros(3 * J), np.arange(outputs),
    )
