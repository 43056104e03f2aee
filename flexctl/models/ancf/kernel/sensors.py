"""Sensor readings of the ANCF arm."""

from __future__ import annotations

import numpy as np

from ....kernels.jit import kernel
from .state import FAST, end_of, left_of

POSITION, RATE = 0, 1  # kinds of outputs that joints give by themselves


@kernel(**FAST)
def lean(x, root, end):
    """Angle of a link's chord against its root section."""
    c0, c1, w0, w1 = x[end] - x[root], x[end + 1] - x[root + 1], x[root + 4], x[root + 5]
    return np.arctan2(c0 * w0 + c1 * w1, c0 * w1 - c1 * w0)


@kernel(**FAST)
def bend_between(x, root, end):
    """Angle of a link's end section against its root section."""
    w0, w1, e0, e1 = x[root + 4], x[root + 5], x[end + 4], x[end + 5]
    return np.arctan2(w0 * e1 - w1 * e0, w0 * e0 + w1 * e1)


@kernel(**FAST)
def chord_rate(x, w, root, end):
    c0, c1 = x[end] - x[root], x[end + 1] - x[root + 1]
    return (c0 * (w[end + 1] - w[root + 1]) - c1 * (w[end] - w[root])) / (c0 * c0 + c1 * c1)


@kernel(**FAST)
def curvature(x, o, inverse):
    m0, m1 = 0.5 * (x[o + 4] + x[o + 10]), 0.5 * (x[o + 5] + x[o + 11])
    return inverse * (m0 * (x[o + 11] - x[o + 5]) - m1 * (x[o + 10] - x[o + 4])) / (m0 * m0 + m1 * m1)


@kernel(**FAST)
def read_outputs(beam, blocks, section, q, v, u, rows, y):
    """Sensor readings y of these rows from filled blocks; the kinds are those of `models.ancf.sensors`."""
    x, w, acc, fixed = blocks[0], blocks[1], blocks[2], beam.sizes[3]
    for number in range(rows.size):
        row = rows[number]
        at = fixed + 3 * row
        kind, i, other = beam.inputs[at], beam.inputs[at + 1], beam.inputs[at + 2]
        g = fixed + 6 * row
        xi, scale = beam.gains[g], beam.gains[g + 1]
        if kind == 0:
            y[number] = q[beam.links[3 * i + 1]]
        elif kind == 1:
            y[number] = v[beam.links[3 * i + 1]]
        elif kind == 2:
            y[number] = x[i]
        elif kind == 3:
            y[number] = acc[i]
        elif kind == 4:
            total, c, s = x[x.size - 6 + i], 1.0, 0.0
            for l in range(beam.sizes[2]):
                turn0, turn1 = section[l, 16], section[l, 17]
                c, s = c * turn0 - s * turn1, s * turn0 + c * turn1
                total -= beam.joint[l, 3] * (c if i == 0 else s)
            y[number] = total
        elif kind == 5:
            phi = beam.links[3 * i + 1]
            total = lean(x, 6 * beam.links[3 * i], end_of(beam, i)) + (q[phi] if phi >= 0 else beam.joint[i, 4])
            if i > 0:
                root, end = 6 * beam.links[3 * i - 3], end_of(beam, i - 1)
                total += bend_between(x, root, end) - lean(x, root, end)
            y[number] = total
        elif kind == 6:
            total = chord_rate(x, w, 6 * beam.links[3 * i], end_of(beam, i))
            if i > 0:
                total -= chord_rate(x, w, 6 * beam.links[3 * i - 3], end_of(beam, i - 1))
            y[number] = total
        elif kind == 7:
            one = curvature(x, left_of(beam, i), beam.element[i, 1])
            two = curvature(x, left_of(beam, other), beam.element[other, 1])
            y[number] = scale * ((1.0 - xi) * one + xi * two)
        elif kind == 8 or kind == 9:
            z, o = (x if kind == 8 else acc), left_of(beam, i)
            s1, s2, s4, s5 = beam.gains[g + 2], beam.gains[g + 3], beam.gains[g + 4], beam.gains[g + 5]
            d0 = s1 * z[o] + s2 * z[o + 2] + s4 * z[o + 6] + s5 * z[o + 8]
            d1 = s1 * z[o + 1] + s2 * z[o + 3] + s4 * z[o + 7] + s5 * z[o + 9]
            total = 0.0
            if kind == 8:
                root, phi = 6 * beam.links[3 * other], beam.links[3 * other + 1]
                n0, n1 = x[root + 4], x[root + 5]
                d0 -= x[root]
                d1 -= x[root + 1]
                total = scale * (q[phi] if phi >= 0 else beam.joint[other, 4])
            else:
                n0, n1 = (1.0 - xi) * x[o + 4] + xi * x[o + 10], (1.0 - xi) * x[o + 5] + xi * x[o + 11]
            y[number] = total + (d0 * n0 + d1 * n1) / np.sqrt(n0 * n0 + n1 * n1)
        else:
            phi = beam.links[3 * i + 1]
            total = -beam.joint[i, 1] * q[phi] - beam.joint[i, 2] * v[phi]
            for k in range(fixed):
                if beam.inputs[k] == phi:
                    total += beam.gains[k] * u[k]
            y[number] = total
