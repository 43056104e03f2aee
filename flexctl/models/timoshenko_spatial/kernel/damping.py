"""Rates of the strains, and the stresses of modal damping: the rates of all strains cause some in every element."""

from __future__ import annotations

from ....kernels.jit import kernel
from ....kernels.tables import FAST
from .frames import axis_of, bend_between, carried, length_of
from .state import SPIN, STRESS, TURN, VV, W0, XX
from .vectors import add, cross, dot, more, rotated, sub, three, times


@kernel(**FAST)
def exact_rates(bend, chord, speed, spins, length):
    """Rates of the strains and l times those of the curvatures, base axes; spins: of both ends; length: l, l'."""
    (W1, W2), theta, s, inverse = spins, bend[0], bend[1], 1.0 / length[0]
    d, x = sub(W2, W1), times(inverse, chord)
    mu = more(times(0.5, add(W1, W2)), -bend[2], cross(theta, d))
    stretch = more(sub(times(inverse, speed), cross(mu, x)), -length[1] * inverse, x)
    square = 1.0 - s * dot(theta, theta)
    return stretch, more(more(times(square, d), s * dot(theta, d), theta), -length[1] * inverse, theta)


@kernel(**FAST)
def linear_rates(rigid, x, v, turn, length):
    """`exact_rates` to first order; rigid: axis and spin of the rigid arm; turn: mean and difference, their rates."""
    (t, w0), (x1, x2), (v1, v2), (psi1, psi2, u1, u2) = rigid, x, v, turn
    inverse, part = 1.0 / length[0], -length[1] / length[0]
    along, mean, change = times(inverse, sub(x2, x1)), times(0.5, add(psi1, psi2)), sub(psi2, psi1)
    spun = sub(times(0.5, add(u1, u2)), cross(w0, mean))
    rate = sub(sub(times(inverse, sub(v2, v1)), cross(w0, along)), cross(spun, t))
    return more(rate, part, along), more(sub(sub(u2, u1), cross(w0, change)), part, change)


@kernel(**FAST)
def put_rates(row, t, n, stretch, turn, l):
    """Fill a row with the rates in the axes t, n x t, n of the element."""
    m = cross(n, t)
    row[0], row[1], row[2] = dot(t, stretch), dot(m, stretch), dot(n, stretch)
    row[3], row[4], row[5] = dot(t, turn) / l, dot(m, turn) / l, dot(n, turn) / l


@kernel(**FAST)
def damped(row, t, n, l):
    """Force and moment (base axes) of the stresses of a row."""
    m, part = cross(n, t), 1.0 / l
    a, b, c = part * row[STRESS], part * row[STRESS + 1], part * row[STRESS + 2]
    force = more(more(times(a, t), b, m), c, n)
    a, b, c = part * row[STRESS + 3], part * row[STRESS + 4], part * row[STRESS + 5]
    return force, more(more(times(a, t), b, m), c, n)


@kernel(**FAST)
def couple(C, strain):
    """Fill the stresses times length of all elements with C times the rates of all strains."""
    n = strain.shape[0]
    for e in range(n):
        for k in range(6):
            strain[e, STRESS + k] = 0.0
    for j in range(n):
        for i in range(6):
            rate, column = strain[j, i], C[6 * j + i]
            for e in range(n):
                for k in range(6):
                    strain[e, STRESS + k] += column[6 * e + k] * rate


@kernel(**FAST)
def exact_damping(beam, state, work):
    """Fill the stresses of modal damping, exact geometry."""
    base = state.q.size - beam.roots.size
    x1 = v1 = (0.0, 0.0, 0.0)
    for e in range(beam.element.shape[0]):
        node1, node2, link = work.node[e], work.node[e + 1], beam.kind[e, 0]
        if e == 0 or beam.kind[e - 1, 0] != link:
            x1, v1 = three(work.left[e], XX), three(work.left[e], VV)
        x2, v2 = three(state.q, 6 * e + 6), three(state.v, 6 * e + 6)
        l, l1 = length_of(beam.element[e], beam.kind[e, 2], base, state.q, state.v)
        first, last = (2, 1) if beam.kind[e, 1] == 1 else (0, 2)
        bend, w0 = bend_between(node1, node2), three(work.frame[link], W0)
        factor = 2.0 / (bend[5] * bend[5] + dot(bend[6], bend[6]))
        t = carried(bend[5], bend[6], factor, axis_of(work.frame, link, first))
        n = carried(bend[5], bend[6], factor, axis_of(work.frame, link, last))
        W1, W2 = rotated(node1, TURN, add(three(node1, SPIN), w0)), rotated(node2, TURN, add(three(node2, SPIN), w0))
        stretch, turn = exact_rates(bend, sub(x2, x1), sub(v2, v1), (W1, W2), (l, l1))
        put_rates(work.strain[e], t, n, stretch, turn, l)
        x1, v1 = x2, v2
    couple(beam.damping, work.strain)


@kernel(**FAST)
def linear_damping(beam, state, work):
    """The same to first order in the deformation from the commanded rigid arm."""
    J = beam.roots.size
    base, zero = state.q.size - J, (0.0, 0.0, 0.0)
    x1 = v1 = psi1 = u1 = zero
    for e in range(beam.element.shape[0]):
        link = beam.kind[e, 0]
        if e == 0 or beam.kind[e - 1, 0] != link:
            x1, v1 = three(work.left[e], XX), three(work.left[e], VV)
        x2, v2 = three(state.q, 6 * e + 6), three(state.v, 6 * e + 6)
        psi2, u2 = three(state.q, 6 * e + 9), three(state.v, 6 * e + 9)
        length = length_of(beam.element[e], beam.kind[e, 2], base, state.q, state.v)
        first, last = (2, 1) if beam.kind[e, 1] == 1 else (0, 2)
        t, n = axis_of(work.frame, link, first), axis_of(work.frame, link, last)
        rigid = t, three(work.frame[link], W0)
        stretch, turn = linear_rates(rigid, (x1, x2), (v1, v2), (psi1, psi2, u1, u2), length)
        put_rates(work.strain[e], t, n, stretch, turn, length[0])
        x1, v1, psi1, u1 = x2, v2, psi2, u2
    couple(beam.damping, work.strain)
