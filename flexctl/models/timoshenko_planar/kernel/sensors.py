"""Sensor readings of the planar arm."""

from __future__ import annotations

import numpy as np

from ....kernels.jit import kernel
from ....kernels.tables import FAST
from ....kernels.trig import line_angle, line_rate


@kernel(**FAST)
def left_angle(beam, state, e):
    for i in range(beam.roots.size):
        if beam.roots[i] == e:
            return state.x[2, e] + state.phi[i]
    return state.x[2, e]


@kernel(**FAST)
def chord(beam, state, kind, root, end):
    """Angle (kind 8) or rate of the line from the start of element `root` to the end of element `end`."""
    x, v = state.x, state.v
    dx, dy = x[0, end + 1] - x[0, root], x[1, end + 1] - x[1, root]
    if kind == 8:
        psi = left_angle(beam, state, root)
        c, s = np.cos(psi), np.sin(psi)
        return line_angle(psi, c, s, dx, dy)
    return line_rate(dx, dy, v[0, end + 1] - v[0, root], v[1, end + 1] - v[1, root])


@kernel(**FAST)
def read_outputs(beam, state, rows, y):
    """Readings of the outputs with these numbers; the kinds are those of `models.timoshenko_planar.sensors`."""
    n, J, x, E = state.x.shape[1], beam.roots.size, state.x, beam.element
    for at in range(rows.size):
        row = rows[at]
        kind, i, other = beam.outputs[3 * row], beam.outputs[3 * row + 1], beam.outputs[3 * row + 2]
        w, scale = beam.gains[beam.inputs.size + 2 * row], beam.gains[beam.inputs.size + 2 * row + 1]
        if kind < 3:
            if i < 0:
                j = -1 - i
                y[at] = state.phi[j] if kind == 0 else state.rate[j] if kind == 1 else state.acceleration[j]
            elif kind == 0:
                y[at] = x[i // n, i % n]
            elif kind == 1:
                y[at] = state.v[i // n, i % n]
            else:
                y[at] = state.a[i // n, i % n]
        elif kind < 5:
            total, angle = x[kind - 3, n - 1], 0.0
            for j in range(J):
                angle += state.phi[j]
                total -= beam.joint[4, j] * (np.cos(angle) if kind == 3 else np.sin(angle))
            y[at] = total
        elif kind == 5:
            first = (x[2, i + 1] - left_angle(beam, state, i)) / E[0, i]
            second = (x[2, other + 1] - left_angle(beam, state, other)) / E[0, other]
            y[at] = scale * ((1.0 - w) * first + w * second)
        elif kind == 6:
            psi = left_angle(beam, state, other)
            dx = (1.0 - w) * x[0, i] + w * x[0, i + 1] - x[0, other]
            dy = (1.0 - w) * x[1, i] + w * x[1, i + 1] - x[1, other]
            y[at] = scale * (psi - x[2, other]) - np.sin(psi) * dx + np.cos(psi) * dy
        elif kind > 7:
            y[at] = chord(beam, state, kind, other, i)
            if w >= 0.0:
                y[at] -= chord(beam, state, kind, int(w), other - 1)
        else:
            theta = (1.0 - w) * left_angle(beam, state, i) + w * x[2, i + 1]
            ax = (1.0 - w) * state.a[0, i] + w * state.a[0, i + 1]
            ay = (1.0 - w) * state.a[1, i] + w * state.a[1, i + 1]
            y[at] = -np.sin(theta) * ax + np.cos(theta) * ay
