"""Where the spatial arm is: frames of the rigid arm, sections of nodes, turns between them, left ends of elements.

The turn of an element and the mean of its ends come from the quaternions of both.
"""

from __future__ import annotations

import numpy as np

from ....kernels.jit import kernel
from ....kernels.tables import FAST
from .state import A0, ACC, AXIS, INVERSE, KINK, LEN, POINT, SPIN, SPUN, TURN, VV, W0, XX
from .vectors import add, cross, dot, more, put, rotated, sub, three, times

SMALL_TURN = 0.01
"""Below this square of an angle the series of the rotation functions are exact to rounding."""


@kernel(**FAST)
def fill_frames(beam, state, frame):
    """Fill, for each link of the rigid arm, its frame R (columns x, y, z), spin, and the spin's rate + alpha spin."""
    J, alpha = beam.roots.size, beam.numbers[0]
    base = state.q.size - J
    x, y, z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    w, dw = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for i in range(J):
        if i > 0:
            c, s = np.cos(beam.joint[i - 1, 4]), np.sin(beam.joint[i - 1, 4])
            y, z = more(times(c, y), s, z), more(times(c, z), -s, y)
        angle = beam.joint[i, 3]
        if beam.prismatic[i] == 0:
            angle += state.q[base + i]
            rate = state.v[base + i]
            dw = add(dw, more(times(state.a[base + i] + alpha * rate, z), rate, cross(w, z)))
            w = more(w, rate, z)
        c, s = np.cos(angle), np.sin(angle)
        x, y = more(times(c, x), s, y), more(times(c, y), -s, x)
        f = frame[i]
        f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8] = x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2]
        put(f, W0, w)
        put(f, A0, dw)


@kernel(**FAST)
def axis_of(frame, i, k):
    """Column k of the frame of link i."""
    return frame[i, k], frame[i, 3 + k], frame[i, 6 + k]


@kernel(**FAST)
def fill_section(x, v, a, p, alpha, out):
    """Fill, for node p, the quaternion and matrix E = exp(psi), u = T^T psi', u' + alpha u, and k of T^-1.

    u is the elastic spin seen by the section before E turns it; T^T = 1 - b (psi x) + c (psi x)^2.
    """
    psi, rate, acc = three(x, 6 * p + 3), three(v, 6 * p + 3), three(a, 6 * p + 3)
    z = dot(psi, psi)
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
    first = cross(psi, rate)
    second = cross(psi, first)
    u = more(more(rate, -b, first), c, second)
    one = cross(psi, acc)
    du = more(more(acc, -b, one), c, cross(psi, one))
    turn = dot(psi, rate)
    du = more(more(more(du, -turn * b1, first), turn * c1, second), c, cross(rate, first))
    put(out, SPIN, u)
    put(out, SPUN, more(du, alpha, u))
    out[INVERSE] = k


@kernel(**FAST)
def bend_between(one, two):
    """Turn Theta from section to section, s, g, their slopes by theta over theta, and twice the mean's quaternion."""
    c1, c2, a, b = one[0], two[0], three(one, 1), three(two, 1)
    sine = sub(sub(times(c1, b), times(c2, a)), cross(b, a))
    cosine, z = c1 * c2 + dot(a, b), dot(sine, sine)
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
    return times(2.0 * k, sine), -0.25 * i, g, s1, -0.25 * g * (j - 4.0 * g), c1 + c2, add(a, b)


@kernel(**FAST)
def carried(scalar, vector, factor, a):
    """Turn a vector by a quaternion of any length; `factor` is 2 over its square."""
    turned = cross(vector, a)
    return more(more(a, factor * scalar, turned), factor, cross(vector, turned))


@kernel(**FAST)
def fill_left_ends(beam, state, work):
    """Fill place, rate, acceleration (plus alpha rate minus gravity) of the first elements' left ends, which may stand
    off their nodes by rigid kinks; `chain` keeps the acceleration of each joint's point, its axis and its kink.
    """
    alpha, gravity = beam.numbers[0], three(beam.numbers, 3)
    x, v, a = gravity, gravity, gravity
    for i in range(beam.roots.size):
        e, chain = beam.roots[i], work.chain[i]
        node = work.node[e]
        u, du = three(node, SPIN), three(node, SPUN)
        if i == 0 or beam.roots[i - 1] != e:
            x, v = three(state.q, 6 * e), three(state.v, 6 * e)
            a = sub(more(three(state.a, 6 * e), alpha, v), gravity)
        put(chain, POINT, a)
        axis = axis_of(work.frame, i, 2)
        put(chain, AXIS, rotated(node, TURN, axis))
        length = beam.joint[i, 5]
        if length != 0.0:
            o, w0 = times(length, axis), three(work.frame[i], W0)
            w, dw = add(u, w0), sub(add(du, three(work.frame[i], A0)), cross(w0, u))
            turned = cross(w, o)
            x = add(x, rotated(node, TURN, o))
            v = add(v, rotated(node, TURN, turned))
            a = add(a, rotated(node, TURN, add(cross(dw, o), cross(w, turned))))
        put(chain, KINK, times(length, three(chain, AXIS)))
        left = work.left[e]
        put(left, XX, x)
        put(left, VV, v)
        put(left, ACC, a)


@kernel(**FAST)
def length_of(element, slide, base, q, v):
    """Length of an element and its rate; `slide`: the joint whose variable is the length of its segment, or -1."""
    share = element[LEN]
    if slide < 0:
        return share, 0.0
    return share * q[base + slide], share * v[base + slide]


@kernel(**FAST)
def fill_sections(beam, state, work):
    """All nodes."""
    for p in range(1, beam.element.shape[0] + 1):
        fill_section(state.q, state.v, state.a, p, beam.numbers[0], work.node[p])


@kernel(**FAST)
def fill_few_sections(beam, state, work):
    """The nodes that carry joints, bodies or follower loads: these are exact in every analysis."""
    for i in range(beam.roots.size):
        if beam.roots[i] > 0:
            fill_section(state.q, state.v, state.a, beam.roots[i], beam.numbers[0], work.node[beam.roots[i]])
    for b in range(beam.holder.shape[0]):
        p = beam.holder[b, 0]
        if p > 0:
            fill_section(state.q, state.v, state.a, p, beam.numbers[0], work.node[p])
    for j in range(beam.weights.size):
        p = beam.loads[6 * j + 1]
        if p > 0 and beam.loads[6 * j + 5] > 1:
            fill_section(state.q, state.v, state.a, p, beam.numbers[0], work.node[p])
