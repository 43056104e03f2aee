"""Forces and tangents of all elements, exact geometry."""

from __future__ import annotations

from ....kernels.jit import kernel
from ....kernels.tables import FAST
from .damping import damped, exact_rates
from .frames import axis_of, bend_between, carried, length_of
from .inertia import add_border, inflow, rotary_moments, sliding_inertia
from .state import A0, ACC, EA, EI2, EI3, GA, GJ, LEN, OWN, RHO, SIXTH, SPIN, SPUN, TURN, VV, W0, XX
from .tangent import add_rotary, element_tangent
from .vectors import add, cross, dot, gain, more, rotated, sub, tensor_times, three, times


@kernel(**FAST)
def exact_elements(beam, state, work, f, cq, ca):
    """Forces of all elements (into `r` and `left`) and, with f or ca not zero, their tangents, exact geometry."""
    n, J, beta, base = beam.element.shape[0], beam.roots.size, beam.numbers[1], state.q.size - beam.roots.size
    alpha, gravity, r = beam.numbers[0], three(beam.numbers, 3), work.r
    x1, v1, a1 = gravity, gravity, gravity
    for e in range(n):
        E, node1, node2, link, slide = beam.element[e], work.node[e], work.node[e + 1], beam.kind[e, 0], beam.kind[e, 2]
        root = e == 0 or beam.kind[e - 1, 0] != link
        if root:
            left = work.left[e]
            x1, v1, a1 = three(left, XX), three(left, VV), three(left, ACC)
        here = base + J + 6 * link if root else 6 * e
        x2, v2 = three(state.q, 6 * e + 6), three(state.v, 6 * e + 6)
        a2 = sub(more(three(state.a, 6 * e + 6), alpha, v2), gravity)
        l, l1 = length_of(E, slide, base, state.q, state.v)
        first, last = (2, 1) if beam.kind[e, 1] == 1 else (0, 2)
        t0, n0 = axis_of(work.frame, link, first), axis_of(work.frame, link, last)
        bend = bend_between(node1, node2)
        factor = 2.0 / (bend[5] * bend[5] + dot(bend[6], bend[6]))
        t, nn = carried(bend[5], bend[6], factor, t0), carried(bend[5], bend[6], factor, n0)
        theta, s, g, inverse = bend[0], bend[1], bend[2], 1.0 / l
        chord = sub(x2, x1)
        x = times(inverse, chord)
        N = tensor_times(E[GA], E[EA] - E[GA], 0.0, t, t, sub(x, t))
        M = times(inverse, tensor_times(E[EI2], E[GJ] - E[EI2], E[EI3] - E[EI2], t, nn, theta))
        # spins of the ends before their nodes turn them
        w0, dw0 = three(work.frame[link], W0), three(work.frame[link], A0)
        u1, u2 = three(node1, SPIN), three(node2, SPIN)
        w1, w2 = add(u1, w0), add(u2, w0)
        dw1 = sub(add(three(node1, SPUN), dw0), cross(w0, u1))
        dw2 = sub(add(three(node2, SPUN), dw0), cross(w0, u2))
        stored = 0.5 * (dot(N, sub(x, t)) + inverse * dot(M, theta))
        square = 1.0 - s * dot(theta, theta)
        if beta != 0.0:
            spins = rotated(node1, TURN, w1), rotated(node2, TURN, w2)
            stretch, turn = exact_rates(bend, chord, sub(v2, v1), spins, (l, l1))
            N = add(N, tensor_times(beta * E[GA], beta * (E[EA] - E[GA]), 0.0, t, t, stretch))
            b = beta * inverse
            M = add(M, tensor_times(b * E[EI2], b * (E[GJ] - E[EI2]), b * (E[EI3] - E[EI2]), t, nn, turn))
        if beam.damping.size > 0:
            more_force, more_moment = damped(work.strain[e], t, nn, l)
            N, M = add(N, more_force), add(M, more_moment)
        p = times(l, cross(N, x))
        b = more(more(times(square, M), s * dot(M, theta), theta), g, cross(theta, p))
        s1, s2, p1, p2 = rotary_moments(E, (t0, n0), l / 6.0, l1 / 6.0, (w1, w2), (dw1, dw2))
        m1, m2 = rotated(node1, TURN, s1), rotated(node2, TURN, s2)
        m = E[RHO] * l / 6.0
        if slide < 0:
            f1, f2 = more(times(2.0 * m, a1), m, a2), more(times(2.0 * m, a2), m, a1)
        else:
            i = base + slide
            d, rate = state.q[i], state.v[i]
            change = state.a[i] + alpha * rate
            f1, f2, push = sliding_inertia(E, l, m, (d, rate, change), (x1, x2), (v1, v2), (a1, a2))
            push -= 0.5 * (dot(p1, w1) + dot(p2, w2)) / d
            push += E[LEN] * (stored - dot(N, x) - inverse * dot(M, theta))
            if root:
                lost, spun, entering = inflow(E, rate, v1, rotated(node1, TURN, t0), w1, t0, n0)
                f1, m1 = sub(f1, lost), sub(m1, rotated(node1, TURN, spun))
                push -= entering
            r[i] += push
            column, shape, held = work.border[slide], (l, x, t, chord), times(cq, M)
            work.chain[slide, OWN] += add_border(beam, column, (e, here), (f, ca), shape, held, bend)
        f1, f2 = sub(f1, N), add(f2, N)
        m1, m2 = add(m1, more(times(-1.0, b), 0.5, p)), add(m2, more(b, 0.5, p))
        gain(r, here, f1)
        gain(r, here + 3, m1)
        gain(r, 6 * e + 6, f2)
        gain(r, 6 * e + 9, m2)
        block = work.block[e]
        block[SIXTH] = ca * m
        if f != 0.0:
            element_tangent(block, E, l, f, (x, t, nn), (times(cq, N), times(cq, M), times(cq, p)), bend)
        elif ca != 0.0:
            for k in range(SIXTH):
                block[k] = 0.0
        if ca != 0.0:
            t1, n1, t2, n2 = (
                rotated(node1, TURN, t0), rotated(node1, TURN, n0), rotated(node2, TURN, t0), rotated(node2, TURN, n0)
            )
            E1 = three(node1, TURN), three(node1, TURN + 3), three(node1, TURN + 6)
            E2 = three(node2, TURN), three(node2, TURN + 3), three(node2, TURN + 6)
            add_rotary(block, E, ca * l / 6.0, (t1, n1), (t2, n2), E1, E2)
        x1, v1, a1 = x2, v2, a2
