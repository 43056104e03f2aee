"""Inertia of an element beyond that of a bar of fixed length: rotary, and of one that slides."""

from __future__ import annotations

from ....kernels.jit import kernel
from ....kernels.tables import FAST
from .state import EA, GA, LEN, PAST, RHO, RHOJ
from .vectors import add, cross, dot, gain, more, sub, tensor_times, times


@kernel(**FAST)
def rotary_moments(E, axes, c, dc, w, dw):
    """Moments of the rotary inertia at both ends, before their nodes turn them; c = l / 6, dc its rate.

    w, dw: spins of both ends and their rates; axes: t and n.
    """
    (t, n), (w1, w2), (dw1, dw2), j1, j2, j3 = axes, w, dw, E[RHOJ], E[RHOJ + 1], E[RHOJ + 2]
    h1 = more(times(2.0 * c, w1), c, w2)
    h2 = more(times(2.0 * c, w2), c, w1)
    d1, d3 = j1 - j2, j3 - j2
    p1, p2 = tensor_times(j2, d1, d3, t, n, h1), tensor_times(j2, d1, d3, t, n, h2)
    h1 = more(more(times(2.0 * c, dw1), c, dw2), 2.0 * dc, w1)
    h2 = more(more(times(2.0 * c, dw2), c, dw1), 2.0 * dc, w2)
    m1 = add(tensor_times(j2, d1, d3, t, n, more(h1, dc, w2)), cross(w1, p1))
    m2 = add(tensor_times(j2, d1, d3, t, n, more(h2, dc, w1)), cross(w2, p2))
    return m1, m2, p1, p2


@kernel(**FAST)
def sliding_inertia(E, l, m, slide, x, v, a):
    """Forces of the inertia of a sliding element at both ends and on its free length; m = rho A l / 6.

    Velocity of the material v = x' + d' g (x2 - x1) with g = (1 - xi)/l at both ends; momenta P and their rates.
    slide: d, d', d''; x, v, a: of both ends.
    """
    (d, rate, change), (x1, x2), (v1, v2), (a1, a2) = slide, x, v, a
    g1, g2 = E[PAST] / l, E[PAST + 1] / l
    chord, chord1 = sub(x2, x1), sub(v2, v1)
    flow1 = more(times(change - rate * rate / d, chord), rate, chord1)
    a1, a2 = more(a1, g1, flow1), more(a2, g2, flow1)
    v1, v2 = more(v1, rate * g1, chord), more(v2, rate * g2, chord)
    one, two = more(times(2.0 * m, v1), m, v2), more(times(2.0 * m, v2), m, v1)
    growth = rate / d
    rate1 = more(more(times(2.0 * m, a1), m, a2), growth, one)
    rate2 = more(more(times(2.0 * m, a2), m, a1), growth, two)
    passing = more(times(g1, one), g2, two)
    push = dot(more(times(g1, rate1), g2, rate2), chord) + dot(passing, chord1)
    push -= 0.5 * (dot(one, v1) + dot(two, v2)) / d
    return more(rate1, rate, passing), more(rate2, -rate, passing), push


@kernel(**FAST)
def inflow(E, rate, v0, axis, w, t, n):
    """Momentum and spin (before the node turns it) that enter at the guide per time, and what they do on the length."""
    v0 = more(v0, rate, axis)
    spin = tensor_times(E[RHOJ + 1], E[RHOJ] - E[RHOJ + 1], E[RHOJ + 2] - E[RHOJ + 1], t, n, w)
    push = E[RHO] * (rate * dot(v0, axis) - 0.5 * dot(v0, v0)) - 0.5 * dot(spin, w)
    return times(E[RHO] * rate, v0), times(rate, spin), push


@kernel(**FAST)
def add_border(beam, column, at, weights, shape, M, bend):
    """Add the derivatives of an element's forces by the free length to a border column; returns the diagonal's part.

    at: the element, and where its left end stands; weights: f, ca; shape: l, x, t, chord; see
    `timoshenko_spatial.element`.
    """
    (e, i), (f, ca), (l, x, t, chord) = at, weights, shape
    E, share = beam.element[e], beam.element[e, LEN]
    C = tensor_times(f * E[GA], f * (E[EA] - E[GA]), 0.0, t, t, x)
    force = times(-share / l, C)
    shear = times(-share, cross(C, x))
    theta, s, g = bend[0], bend[1], bend[2]
    SM = more(times(1.0 - s * dot(theta, theta), M), s * dot(M, theta), theta)
    b = more(times(-share / l, SM), g, cross(theta, shear))
    g1, g2, m = E[PAST] / l, E[PAST + 1] / l, ca * E[RHO] * l / 6.0
    one, two = times(m * (2.0 * g1 + g2), chord), times(m * (2.0 * g2 + g1), chord)
    gain(column, i, sub(one, force))
    gain(column, i + 3, more(times(-1.0, b), 0.5, shear))
    gain(column, 6 * e + 6, add(two, force))
    gain(column, 6 * e + 9, more(b, 0.5, shear))
    inertia = 2.0 * m * (g1 * g1 + g1 * g2 + g2 * g2) * dot(chord, chord)
    return inertia + share * share * (dot(x, C) + dot(M, theta) / l) / l
