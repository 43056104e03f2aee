"""Forces and tangents of all elements, to first order in the deformation from the commanded rigid arm."""

from __future__ import annotations

from ....kernels.jit import kernel
from ....kernels.tables import FAST
from .damping import damped, linear_rates
from .frames import axis_of, length_of
from .inertia import add_border, inflow, sliding_inertia
from .state import A0, AA, ACC, EA, EI2, EI3, GA, GJ, LEN, OWN, PAST, R0, RHO, RHOJ, RIGID, ROOT, SIXTH, TIP, VV, W0, XX
from .tangent import add_rotary, couplings, turn_blocks
from .vectors import add, cross, dot, gain, more, put, put_symmetric, rotated, sub, tensor, tensor_times, three, times

UNTURNED = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


@kernel(**FAST)
def linear_elements(beam, state, work, f, cq, ca):
    """`exact_elements` to first order in the deformation from the commanded rigid arm; `pull`: its axial forces."""
    n, J, beta, base = beam.element.shape[0], beam.roots.size, beam.numbers[1], state.q.size - beam.roots.size
    alpha, gravity, r = beam.numbers[0], three(beam.numbers, 3), work.r
    zero, none = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    x1, v1, a1, psi1, u1, du1, w0, dw0, t, nn = zero, zero, zero, zero, zero, zero, zero, zero, zero, zero
    for e in range(n):
        E, link, slide = beam.element[e], beam.kind[e, 0], beam.kind[e, 2]
        root = e == 0 or beam.kind[e - 1, 0] != link
        here = base + J + 6 * link if root else 6 * e
        if root:
            left = work.left[e]
            x1, v1, a1 = three(left, XX), three(left, VV), three(left, ACC)
            w0, dw0 = three(work.frame[link], W0), three(work.frame[link], A0)
        if root or beam.kind[e - 1, 1] != beam.kind[e, 1]:
            first, last = (2, 1) if beam.kind[e, 1] == 1 else (0, 2)
            t, nn = axis_of(work.frame, link, first), axis_of(work.frame, link, last)
        x2, v2 = three(state.q, 6 * e + 6), three(state.v, 6 * e + 6)
        psi2, u2 = three(state.q, 6 * e + 9), three(state.v, 6 * e + 9)
        a2 = sub(more(three(state.a, 6 * e + 6), alpha, v2), gravity)
        du2 = more(three(state.a, 6 * e + 9), alpha, u2)
        l, l1 = length_of(E, slide, base, state.q, state.v)
        inverse = 1.0 / l
        x, turn, mean = times(inverse, sub(x2, x1)), sub(psi2, psi1), times(0.5, add(psi1, psi2))
        strain, bent = sub(sub(x, t), cross(mean, t)), turn
        if beta != 0.0:
            rate, turning = linear_rates((t, w0), (x1, x2), (v1, v2), (psi1, psi2, u1, u2), (l, l1))
            strain, bent = more(strain, beta, rate), more(turn, beta, turning)
        N = tensor_times(E[GA], E[EA] - E[GA], 0.0, t, t, strain)
        M = times(inverse, tensor_times(E[EI2], E[GJ] - E[EI2], E[EI3] - E[EI2], t, nn, bent))
        if beam.damping.size > 0:
            more_force, more_moment = damped(work.strain[e], t, nn, l)
            N, M = add(N, more_force), add(M, more_moment)
        p, pull = times(l, cross(N, t)), work.pull[e]
        slope = sub(x, t)
        N = more(more(N, pull, slope), -pull * dot(slope, t), t)
        # rotary inertia: what turns with the rigid arm, and the rest to first order
        c, c1 = l / 6.0, l1 / 6.0
        h1 = more(more(times(3.0 * c, w0), 2.0 * c, u1), c, u2)
        h2 = more(more(times(3.0 * c, w0), 2.0 * c, u2), c, u1)
        f1, f2 = sub(du1, cross(w0, u1)), sub(du2, cross(w0, u2))
        k1 = more(more(more(times(3.0 * c, dw0), 2.0 * c, f1), c, f2), c1 / c, h1)
        k2 = more(more(more(times(3.0 * c, dw0), 2.0 * c, f2), c, f1), c1 / c, h2)
        j1, j2, j3 = E[RHOJ], E[RHOJ + 1], E[RHOJ + 2]
        p0 = times(3.0 * c, tensor_times(j2, j1 - j2, j3 - j2, t, nn, w0))
        p1, p2 = tensor_times(j2, j1 - j2, j3 - j2, t, nn, h1), tensor_times(j2, j1 - j2, j3 - j2, t, nn, h2)
        m1 = add(add(tensor_times(j2, j1 - j2, j3 - j2, t, nn, k1), cross(w0, p1)), cross(u1, p0))
        m2 = add(add(tensor_times(j2, j1 - j2, j3 - j2, t, nn, k2), cross(w0, p2)), cross(u2, p0))
        m = E[RHO] * l / 6.0
        if slide < 0:
            f1, f2 = more(times(2.0 * m, a1), m, a2), more(times(2.0 * m, a2), m, a1)
        else:
            i = base + slide
            d, rate = state.q[i], state.v[i]
            change = state.a[i] + alpha * rate
            f1, f2, push = sliding_inertia(E, l, m, (d, rate, change), (x1, x2), (v1, v2), (a1, a2))
            w1, w2 = add(u1, w0), add(u2, w0)
            push -= 0.5 * (dot(p1, w1) + dot(p2, w2)) / d + E[LEN] * dot(N, t)
            if root:
                lost, spun, entering = inflow(E, rate, v1, add(t, cross(psi1, t)), w1, t, nn)
                f1, m1, push = sub(f1, lost), sub(m1, spun), push - entering
            r[i] += push
            bend = (zero, 0.0, 0.125, 0.0, 0.0, 2.0, zero)
            column, shape = work.border[slide], (l, x, t, sub(x2, x1))
            work.chain[slide, OWN] += add_border(beam, column, (e, here), (f, ca), shape, zero, bend)
        gain(r, here, sub(f1, N))
        gain(r, here + 3, add(m1, more(times(-1.0, M), 0.5, p)))
        gain(r, 6 * e + 6, add(f2, N))
        gain(r, 6 * e + 9, add(m2, more(M, 0.5, p)))
        block = work.block[e]
        block[SIXTH] = ca * m
        if f != 0.0:
            ga, d = f * E[GA], f * (E[EA] - E[GA])
            put_symmetric(block, AA, (ga + cq * pull) * inverse, (d - cq * pull) * inverse, t, 0.0, t)
            couplings(block, 0.0, times(ga, t), t, zero, zero)
            q, h = l * ga, f * inverse
            D = tensor(h * E[EI2], h * (E[GJ] - E[EI2]), h * (E[EI3] - E[EI2]), t, nn)
            turn_blocks(block, tensor(q, -q, 0.0, t, t), none, zero, D)
        elif ca != 0.0:
            for k in range(SIXTH):
                block[k] = 0.0
        if ca != 0.0:
            add_rotary(block, E, ca * c, (t, nn), (t, nn), UNTURNED, UNTURNED)
        x1, v1, a1, psi1, u1, du1 = x2, v2, a2, psi2, u2, du2


@kernel(**FAST)
def rigid_points(beam, state, work):
    """Accelerations of the material of the rigid arm at both ends of all elements, and of the joints' points."""
    base, alpha = state.q.size - beam.roots.size, beam.numbers[0]
    a, zero, i = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0
    a = sub(a, three(beam.numbers, 3))
    for e in range(beam.element.shape[0]):
        while i < beam.roots.size and beam.roots[i] == e:
            w = three(work.frame[i], W0)
            dw, o = more(three(work.frame[i], A0), -alpha, w), times(beam.joint[i, 5], axis_of(work.frame, i, 2))
            put(work.chain[i], RIGID, a)
            a, i = add(a, add(cross(dw, o), cross(w, cross(w, o)))), i + 1
        link, slide = beam.kind[e, 0], beam.kind[e, 2]
        w = three(work.frame[link], W0)
        dw = more(three(work.frame[link], A0), -alpha, w)
        t = axis_of(work.frame, link, 2 if beam.kind[e, 1] == 1 else 0)
        turned = cross(w, t)
        l = length_of(beam.element[e], slide, base, state.q, state.v)[0]
        step = times(l, add(cross(dw, t), cross(w, turned)))
        extra = zero
        if slide >= 0:
            extra = more(times(2.0 * state.v[base + slide], turned), state.a[base + slide], t)
            step = more(step, beam.element[e, LEN], extra)
        E, left = beam.element[e], work.left[e]
        put(left, ROOT, more(a, E[PAST] if slide >= 0 else 0.0, extra))
        a = add(a, step)
        put(left, TIP, more(a, E[PAST + 1] if slide >= 0 else 0.0, extra))


@kernel(**FAST)
def fill_pulls(beam, state, work, stiffening):
    """Axial force of each element of the rigid arm: what its motion and weight need beyond."""
    n, b = beam.element.shape[0], beam.holder.shape[0] - 1
    alpha, F, base = beam.numbers[0], (0.0, 0.0, 0.0), state.q.size - beam.roots.size
    if stiffening:
        rigid_points(beam, state, work)
    for e in range(n - 1, -1, -1):
        if not stiffening:
            work.pull[e] = 0.0
            continue
        while b >= 0 and beam.holder[b, 0] > e:
            i, p = beam.holder[b, 1], beam.holder[b, 0]
            w = three(work.frame[i], W0)
            dw, c = more(three(work.frame[i], A0), -alpha, w), rotated(work.frame[i], R0, three(beam.body[b], 1))
            a = three(work.chain[i], RIGID) if beam.roots[i] == p else three(work.left[p - 1], TIP)
            a = add(a, add(cross(dw, c), cross(w, cross(w, c))))
            F, b = more(F, beam.body[b, 0], a), b - 1
        link = beam.kind[e, 0]
        a1, a2 = three(work.left[e], ROOT), three(work.left[e], TIP)
        m = beam.element[e, RHO] * length_of(beam.element[e], beam.kind[e, 2], base, state.q, state.v)[0] / 6.0
        t = axis_of(work.frame, link, 2 if beam.kind[e, 1] == 1 else 0)
        work.pull[e] = -dot(t, more(more(F, m, a1), 2.0 * m, a2))
        F = more(more(F, 3.0 * m, a1), 3.0 * m, a2)
