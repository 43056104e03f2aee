"""Rigid bodies on joints and nodes: forces, and what they add to the matrix; and the loads on nodes."""

from __future__ import annotations

from ....kernels.jit import kernel
from ....kernels.tables import FAST
from .frames import axis_of
from .state import A0, ARM, POINT, PUSH, R0, SPIN, SPINNING, SPUN, TURN, W0
from .vectors import add, cross, dot, gain, more, put, rotated, sub, three, times


@kernel(**FAST)
def add_bodies(beam, state, work):
    """Forces of the rigid bodies about their joint's point, or their node; their lever and inertia in base axes."""
    base, J, alpha = state.q.size - beam.roots.size, beam.roots.size, beam.numbers[0]
    for b in range(beam.holder.shape[0]):
        p, i, B, out = beam.holder[b, 0], beam.holder[b, 1], beam.body[b], work.body[b]
        node, R, mass = work.node[p], work.frame[i], B[0]
        w0, u = three(R, W0), three(node, SPIN)
        w, dw = add(u, w0), sub(add(three(node, SPUN), three(R, A0)), cross(w0, u))
        c = rotated(R, R0, three(B, 1))
        held = beam.roots[i] == p
        if held:
            a = three(work.chain[i], POINT)
        else:
            a = sub(more(three(state.a, 6 * p), alpha, three(state.v, 6 * p)), three(beam.numbers, 3))
        force = times(mass, add(a, rotated(node, TURN, add(cross(dw, c), cross(w, cross(w, c))))))
        # inertia in the axes before the node turns it, column by column
        x, y, z = axis_of(work.frame, i, 0), axis_of(work.frame, i, 1), axis_of(work.frame, i, 2)
        momentum = weigh(B, x, y, z, w)
        spin = rotated(node, TURN, add(weigh(B, x, y, z, dw), cross(w, momentum)))
        lever = rotated(node, TURN, c)
        put(out, ARM, lever)
        x, y, z = rotated(node, TURN, x), rotated(node, TURN, y), rotated(node, TURN, z)
        put(out, SPINNING, weigh(B, x, y, z, (1.0, 0.0, 0.0)))
        put(out, SPINNING + 3, weigh(B, x, y, z, (0.0, 1.0, 0.0)))
        put(out, SPINNING + 6, weigh(B, x, y, z, (0.0, 0.0, 1.0)))
        here = base + 7 * J + 6 * i if held else 6 * p
        gain(work.r, here, force)
        gain(work.r, here + 3, add(spin, cross(lever, force)))
        put(out, PUSH, force)


@kernel(**FAST)
def add_loads(beam, state, work, u):
    """Take forces and moments along the links off the residual.

    The tangent leaves out how followers turn, which is little beside M / h^2.
    """
    for j in range(beam.weights.size):
        f = beam.weights[j] * u[beam.loads[6 * j]]
        if f == 0.0:
            continue
        axis, kind = beam.loads[6 * j + 4], beam.loads[6 * j + 5]
        x, y, z = 1.0 if axis == 0 else 0.0, 1.0 if axis == 1 else 0.0, 1.0 if axis == 2 else 0.0
        push = (x, y, z)
        if kind > 1:
            push = rotated(work.node[beam.loads[6 * j + 1]], TURN, axis_of(work.frame, beam.loads[6 * j + 2], axis))
        gain(work.r, beam.loads[6 * j + 3] + 3 * (kind % 2), times(-f, push))


@kernel(**FAST)
def weigh(B, x, y, z, w):
    """Inertia of a body with axes x, y, z times w."""
    own = rotated(B, 4, (dot(x, w), dot(y, w), dot(z, w)))
    return more(more(times(own[0], x), own[1], y), own[2], z)


@kernel(**FAST)
def add_body(beam, work, b, ca, cq):
    """Add a body to the 6 x 6 matrix in `w`."""
    w, B, mass = work.w, work.body[b], ca * beam.body[b, 0]
    c, force = three(B, ARM), three(B, PUSH)
    w[48] += mass
    w[57] += mass
    w[66] += mass
    for k in range(3):
        for m in range(3):
            turning = ca * B[SPINNING + 3 * k + m] - mass * c[k] * c[m]
            w[75 + 8 * k + m] += turning + 0.5 * cq * (force[k] * c[m] + force[m] * c[k])
        w[75 + 9 * k] += mass * dot(c, c) - cq * dot(force, c)
    gain_skew(w, -mass, c)


@kernel(**FAST)
def gain_skew(w, s, c):
    """Add s (c x) to the block of places against turns, and its transpose."""
    w[52] -= s * c[2]
    w[53] += s * c[1]
    w[59] += s * c[2]
    w[61] -= s * c[0]
    w[67] -= s * c[1]
    w[68] += s * c[0]
