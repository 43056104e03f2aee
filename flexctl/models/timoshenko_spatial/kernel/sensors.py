"""Sensor readings of the spatial arm."""

from __future__ import annotations

import numpy as np

from ....kernels.jit import kernel
from ....kernels.tables import FAST
from .frames import axis_of, bend_between, carried, fill_frames, fill_left_ends, fill_section, length_of
from .state import ACC, TURN, VV, XX
from .vectors import add, cross, dot, more, rotated, sub, three, times

POSITION, RATE, ACCELERATION, ERROR, CURVATURE, DISPLACEMENT, TRANSVERSE, CHORD, CHORD_RATE = range(9)


@kernel(**FAST)
def read_outputs(beam, state, work, rows, y):
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
                tip, ready = rigid_tip(beam, state, frame), True
            y[at] = state.q[base - 6 + k] - tip[k]
        elif kind in (CHORD, CHORD_RATE):
            y[at] = chord(state, base, (place, other, k), kind)
            if k > 0:
                y[at] -= chord(state, base, (other, 6 * beam.roots[k - 1], k - 1), kind)
        else:
            if not ready:
                tip, ready = rigid_tip(beam, state, frame), True
            weight, scale = beam.gains[beam.inputs.size + 2 * row], beam.gains[beam.inputs.size + 2 * row + 1]
            y[at] = station(beam, state, work, (kind, place, other, k), weight, scale)


@kernel(**FAST)
def chord(state, base, link, kind):
    """Angle or rate, seen along z, of the line that ends and starts at these coordinates, for link k from 0."""
    end, root, k = link
    q, v = state.q, state.v
    dx, dy = q[end] - q[root], q[end + 1] - q[root + 1]
    if kind == CHORD_RATE:
        return (dx * (v[end + 1] - v[root + 1]) - dy * (v[end] - v[root])) / (dx * dx + dy * dy)
    turned = q[root + 5]  # of the root's section, so that the angle goes beyond pi
    for i in range(k + 1):
        turned += q[base + i]
    c, s = np.cos(turned), np.sin(turned)
    return turned + np.arctan2(c * dy - s * dx, c * dx + s * dy)


@kernel(**FAST)
def rigid_tip(beam, state, frame):
    """Tip of the rigid arm with the same joint variables; the frames are made on the way."""
    J = beam.roots.size
    base, tip = state.q.size - J, (0.0, 0.0, 0.0)
    fill_frames(beam, state, frame)
    for i in range(J):
        s = state.q[base + i] if beam.prismatic[i] == 1 else beam.joint[i, 5] + beam.joint[i, 6]
        tip = more(more(tip, s, axis_of(frame, i, 2)), beam.joint[i, 7], axis_of(frame, i, 0))
    return tip


@kernel(**FAST)
def ends_of(beam, state, work, e):
    """Places of the ends of element e and accelerations, with their nodes and the left ends made up to date."""
    alpha, gravity = beam.numbers[0], three(beam.numbers, 3)
    for p in (e, e + 1):
        if p > 0:
            fill_section(state.q, state.v, state.a, p, alpha, work.node[p])
    k = 6 * e + 6
    x2, a2 = three(state.q, k), three(state.a, k)
    if e == 0 or beam.kind[e - 1, 0] != beam.kind[e, 0]:
        fill_left_ends(beam, state, work)
        left = work.left[e]
        return three(left, XX), add(more(three(left, ACC), -alpha, three(left, VV)), gravity), x2, a2
    return three(state.q, k - 6), three(state.a, k - 6), x2, a2


@kernel(**FAST)
def section_axis(beam, work, e, k):
    """Axis e2 or e3 (k = 1, 2) of element e in the rigid arm."""
    kink = beam.kind[e, 1] == 1
    return axis_of(work.frame, beam.kind[e, 0], (k + 2) % 3 if kink else k)


@kernel(**FAST)
def curvature(beam, state, work, e, k):
    """kappa_3 (k = 1) or -kappa_2 (k = 2) of element e."""
    ends_of(beam, state, work, e)
    bend = bend_between(work.node[e], work.node[e + 1])
    factor = 2.0 / (bend[5] * bend[5] + dot(bend[6], bend[6]))
    axis = carried(bend[5], bend[6], factor, section_axis(beam, work, e, 3 - k))
    kappa = (
        dot(bend[0], axis)
        / length_of(beam.element[e], beam.kind[e, 2], state.q.size - beam.roots.size, state.q, state.v)[0]
    )
    return kappa if k == 1 else -kappa


@kernel(**FAST)
def station(beam, state, work, channel, weight, scale):
    """One sensor on a link; code is its direction, 1 or 2, plus 3 times the number of its joint (from 1) or 0."""
    kind, place, other, code = channel
    k = code % 3
    if kind == CURVATURE:
        one, two = curvature(beam, state, work, place, k), curvature(beam, state, work, other, k)
        return scale * ((1.0 - weight) * one + weight * two)
    x1, a1, x2, a2 = ends_of(beam, state, work, place)
    if kind == DISPLACEMENT:
        root = ends_of(beam, state, work, other)[0]
        axis = rotated(work.node[other], TURN, section_axis(beam, work, other, k))
        across = dot(axis, sub(more(times(1.0 - weight, x1), weight, x2), root))
        joint = code // 3
        return across + (scale * state.q[state.q.size - beam.roots.size + joint - 1] if joint > 0 else 0.0)
    turn = times(weight, bend_between(work.node[place], work.node[place + 1])[0])
    axis = rotated(work.node[place], TURN, section_axis(beam, work, place, k))
    angle = np.sqrt(dot(turn, turn))
    if angle > 0.0:
        once = cross(turn, axis)
        axis = more(more(axis, np.sin(angle) / angle, once), (1.0 - np.cos(angle)) / angle**2, cross(turn, once))
    return dot(axis, more(times(1.0 - weight, a1), weight, a2))
