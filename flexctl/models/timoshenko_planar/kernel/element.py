"""Strains and stresses of all elements of the planar arm: short loops without branches, which vectorise."""

from __future__ import annotations

from ....kernels.jit import kernel
from ....kernels.tables import FAST
from ....kernels.trig import cosine_sine
from .state import AL, COS, DR, DS, GA, LEFT, MB, NN, NONLINEAR, QQ, SIN, TL


@kernel(**FAST)
def turn_elements(left, right, c, s, n):
    """Cosine and sine of the mean angle of each element."""
    for e in range(n):
        c[e], s[e] = cosine_sine(0.5 * (left[e] + right[e + 1]))


@kernel(**FAST)
def stretch(x, y, c, s, inverse, along, across, n):
    """(1 + eps, gamma) = R^T (r_2 - r_1) / l."""
    for e in range(n):
        dx, dy = (x[e + 1] - x[e]) * inverse[e], (y[e + 1] - y[e]) * inverse[e]
        along[e] = c[e] * dx + s[e] * dy
        across[e] = c[e] * dy - s[e] * dx


@kernel(**FAST)
def stress(along, across, EA, GA, normal, shear, n):
    for e in range(n):
        normal[e] = EA[e] * (along[e] - 1.0)
        shear[e] = GA[e] * across[e]


@kernel(**FAST)
def add_stress_rate(beta, v, E, W, n):
    """Add beta times the rates of the strains."""
    vx, vy, vl, vr, c, s, inverse = v[0], v[1], W[LEFT], v[2], W[COS], W[SIN], E[1]
    along, across, axial, lateral, normal, shear = W[AL], W[GA], E[2], E[3], W[NN], W[QQ]
    for e in range(n):
        dx, dy = (vx[e + 1] - vx[e]) * inverse[e], (vy[e + 1] - vy[e]) * inverse[e]
        w = 0.5 * (vl[e] + vr[e + 1])
        normal[e] += beta * axial[e] * (c[e] * dx + s[e] * dy + across[e] * w)
        shear[e] += beta * lateral[e] * (c[e] * dy - s[e] * dx - along[e] * w)


@kernel(**FAST)
def force(c, s, normal, shear, fx, fy, n):
    for e in range(n):
        fx[e] = c[e] * normal[e] - s[e] * shear[e]
        fy[e] = s[e] * normal[e] + c[e] * shear[e]


@kernel(**FAST)
def moment_of_forces(l, along, across, normal, shear, moment, n):
    """Moment of the forces in the element on each of its ends."""
    for e in range(n):
        moment[e] = 0.5 * l[e] * (normal[e] * across[e] - shear[e] * along[e])


@kernel(**FAST)
def bending(beta, left, right, vl, vr, EI, moment, n):
    for e in range(n):
        moment[e] = EI[e] * (right[e + 1] - left[e] + beta * (vr[e + 1] - vl[e]))


@kernel(**FAST)
def left_ends(theta, phi, roots, left, n):
    """Angles (rates, accelerations) of the left ends: of the node, and of the joint where a link begins."""
    for e in range(n):
        left[e] = theta[e]
    for i in range(roots.size):
        left[roots[i]] += phi[i]


@kernel(**FAST)
def linear_rate(beta, state, frame, W, E, n):
    """`add_stress_rate` to first order in the deformation: rates against the rigid arm, frame row 3 its rate."""
    x, v = state.x, state.v
    for e in range(n):
        c, s, w = W[COS, e], W[SIN, e], frame[3, e]
        along = (c * (x[0, e + 1] - x[0, e]) + s * (x[1, e + 1] - x[1, e])) * E[1, e]
        across = (c * (x[1, e + 1] - x[1, e]) - s * (x[0, e + 1] - x[0, e])) * E[1, e]
        dx, dy = (v[0, e + 1] - v[0, e]) * E[1, e], (v[1, e + 1] - v[1, e]) * E[1, e]
        W[NN, e] += beta * E[2, e] * (c * dx + s * dy + w * across)
        turn = 0.5 * (W[LEFT, e] + v[2, e + 1]) - w
        W[QQ, e] += beta * E[3, e] * (c * dy - s * dx - w * along - turn)


@kernel(**FAST)
def add_damping(beam, state, frame, mode, W, n):
    """Add the stresses that the rates of all strains cause in every element: modal damping couples them all.

    The tangent leaves this out: with a damping ratio z the iteration still gains a factor of about 1/z each time.
    """
    x, v, inverse = state.x, state.v, beam.element[1]
    for e in range(n):
        c, s = W[COS, e], W[SIN, e]
        dx, dy = (v[0, e + 1] - v[0, e]) * inverse[e], (v[1, e + 1] - v[1, e]) * inverse[e]
        mean = 0.5 * (W[LEFT, e] + v[2, e + 1])
        if mode == NONLINEAR:
            w, along, turn = mean, W[AL, e], 0.0
            across = W[GA, e]
        else:
            w = frame[3, e]
            along = (c * (x[0, e + 1] - x[0, e]) + s * (x[1, e + 1] - x[1, e])) * inverse[e]
            across = (c * (x[1, e + 1] - x[1, e]) - s * (x[0, e + 1] - x[0, e])) * inverse[e]
            turn = mean - w
        W[DR, e] = c * dx + s * dy + across * w
        W[DR + 1, e] = c * dy - s * dx - along * w - turn
        W[DR + 2, e] = (v[2, e + 1] - W[LEFT, e]) * inverse[e]
        W[DS, e] = W[DS + 1, e] = W[DS + 2, e] = 0.0
    for row in range(3):
        for e in range(n):
            rate, column = W[DR + row, e], beam.damping[row * n + e]
            for k in range(3):
                add_scaled(column[k * n :], rate, W[DS + k], n)
    for e in range(n):
        W[NN, e] += W[DS, e]
        W[QQ, e] += W[DS + 1, e]
        W[MB, e] += W[DS + 2, e]


@kernel(**FAST)
def add_scaled(column, rate, total, n):
    for e in range(n):
        total[e] += column[e] * rate


@kernel(**FAST)
def fill_elements(beam, state, frame, mode, W):
    """Strains and stresses of all elements. frame: rows cos, sin, angle of the commanded rigid arm (modes 1, 2)."""
    E, x, v = beam.element, state.x, state.v
    n, beta = E.shape[1], beam.numbers[1]
    left_ends(x[2], state.phi, beam.roots, W[TL], n)
    if mode == NONLINEAR:
        turn_elements(W[TL], x[2], W[COS], W[SIN], n)
        stretch(x[0], x[1], W[COS], W[SIN], E[1], W[AL], W[GA], n)
    else:
        for e in range(n):
            W[COS, e], W[SIN, e] = frame[0, e], frame[1, e]
        stretch(x[0], x[1], W[COS], W[SIN], E[1], W[AL], W[GA], n)
        for e in range(n):
            W[GA, e] -= 0.5 * (W[TL, e] + x[2, e + 1]) - frame[2, e]
    stress(W[AL], W[GA], E[2], E[3], W[NN], W[QQ], n)
    left_ends(v[2], state.rate, beam.roots, W[LEFT], n)
    if beta != 0.0:
        if mode == NONLINEAR:
            add_stress_rate(beta, v, E, W, n)
        else:
            linear_rate(beta, state, frame, W, E, n)
    bending(beta, W[TL], x[2], W[LEFT], v[2], E[4], W[MB], n)
    if beam.damping.size:
        add_damping(beam, state, frame, mode, W, n)
