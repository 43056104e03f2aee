"""The time loop of `models.timoshenko_planar`: what `loop.run_implicit` does for every model, at the speed of this one.

The same generalised-alpha steps, the same law and recording. What makes it fast: x, y, theta of all nodes lie one after
the other (structure of arrays); the element loops are short, without branches and with sine and cosine as polynomials,
so that they vectorise; the iteration matrix is symmetric and block-tridiagonal with 3 x 3 blocks and is eliminated from
the tip inwards, where the angle of a joint is one scalar more, condensed on the way (or nothing, where it is
prescribed); and the accelerations are extrapolated, so that one correction per step is enough.

A correction is accepted below 100 times the tolerance: with a fresh exact tangent the error left is of the order of its
square. With damping of the strain rates the tangent is symmetrised, with modal damping it is left out of the tangent:
neither is exact then, and the tolerance holds as it is.

mode 0 is the geometrically exact arm; mode 1 keeps the deformation from the commanded rigid arm to first order, with
the stiffening by that arm's axial forces; mode 2 is mode 1 without the inertia of the deformation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import boolean, float64, int64, types

from ....kernels.jit import entry, kernel
from ....kernels.loops import loops
from ....kernels.state import FULL, MOTION, PRESCRIBED, Motion
from ....kernels.stepper import Operations, aim
from ....kernels.tables import COURSE, DONE, ENTRY, FAST, INSIDE, INT, MAT, VEC


class Beam(NamedTuple):
    """Constants of an arm, J joints, N elements; `models.timoshenko_planar.stepper.beam` makes them."""

    element: np.ndarray  # rows l, 1/l, EA, kt GA, EI/l, m/6, j/6 with m = rho A l, j = rho I l
    node: np.ndarray  # rows mass on the diagonal, lumped inertia, weight x, weight y; nodes 0 .. N
    joint: np.ndarray  # rows hub, rotor, kp, kv, link length
    gains: np.ndarray  # lever of each input, then weight and scale of each output
    numbers: np.ndarray  # alpha, beta, size of the arm
    damping: np.ndarray  # (N, Q, M) of all elements per rate of their strains, transposed, 3 N x 3 N; or empty
    roots: np.ndarray  # first element of each link
    inputs: np.ndarray  # for each input: joint j, or J (tip x), J + 1 (tip y)
    outputs: np.ndarray  # for each output: kind, index, other; a coordinate is row (N + 1) + node, a joint -1 - j


class View(NamedTuple):
    """The state of `kernels.state.Motion` as rows x, y, theta of nodes 0 .. N, then the joints; `view` makes it."""

    x: np.ndarray
    v: np.ndarray
    a: np.ndarray
    d: np.ndarray  # residual, then correction
    phi: np.ndarray
    rate: np.ndarray
    acceleration: np.ndarray
    shifted: np.ndarray
    own: np.ndarray  # residual, then correction, of the joints


class Work(NamedTuple):
    """Scratch arrays; `work` makes them."""

    rows: np.ndarray  # (ROWS, N + 1)
    frame: np.ndarray  # (4, N + 1) cos, sin, angle, rate of the commanded rigid arm
    joint: np.ndarray  # (J, 6), see `_solve`
    every: np.ndarray  # the numbers of all outputs


class Form(NamedTuple):
    """All that a step needs besides `kernels.state.Motion`."""

    beam: Beam
    nodes: View
    work: Work
    mode: int
    stiffening: bool


BEAM = types.NamedTuple((MAT, MAT, MAT, VEC, VEC, MAT, INT, INT, INT), Beam)
VIEW = types.NamedTuple((*(MAT,) * 4, *(VEC,) * 5), View)
WORK = types.NamedTuple((MAT, MAT, MAT, INT), Work)
FORM = types.NamedTuple((BEAM, VIEW, WORK, int64, boolean), Form)

NONLINEAR, LINEAR, QUASI_STATIC = 0, 1, 2
# rows of the work array
TL, COS, SIN, AL, GA, NN, QQ, FX, FY, MO, MB, AXX, AXY, AYY, BX, BY, RR, KB, AX, LEFT, PULL = range(21)
GG, ZZ, DR, DS, ROWS = 21, 30, 33, 36, 39


@kernel(**FAST)
def _turn(left, right, c, s, n):
    """Cosine and sine of the mean angle of each element (fdlibm's polynomials after reduction to pi/4)."""
    for e in range(n):
        x = 0.5 * (left[e] + right[e + 1])
        k = np.floor(x * 0.6366197723675814 + 0.5)
        r = (x - k * 1.5707963267948966) - k * 6.123233995736766e-17
        z = r * r
        p = 2.75573137070700676789e-06 + z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)
        p = 8.33333333332248946124e-03 + z * (-1.98412698298579493134e-04 + z * p)
        sine = r + r * z * (-1.66666666666666324348e-01 + z * p)
        p = -2.75573143513906633035e-07 + z * (2.08757232129817482790e-09 - z * 1.13596475577881948265e-11)
        p = -1.38888888888741095749e-03 + z * (2.48015872894767294178e-05 + z * p)
        cosine = 1.0 - 0.5 * z + z * z * (4.16666666666666019037e-02 + z * p)
        m = k - 4.0 * np.floor(0.25 * k)
        odd = (m == 1.0) | (m == 3.0)
        c0 = sine if odd else cosine
        s0 = cosine if odd else sine
        c[e] = -c0 if (m == 1.0) | (m == 2.0) else c0
        s[e] = -s0 if m >= 2.0 else s0


@kernel(**FAST)
def _stretch(x, y, c, s, inverse, along, across, n):
    """(1 + eps, gamma) = R^T (r_2 - r_1) / l."""
    for e in range(n):
        dx, dy = (x[e + 1] - x[e]) * inverse[e], (y[e + 1] - y[e]) * inverse[e]
        along[e] = c[e] * dx + s[e] * dy
        across[e] = c[e] * dy - s[e] * dx


@kernel(**FAST)
def _stress(along, across, EA, GA, normal, shear, n):
    for e in range(n):
        normal[e] = EA[e] * (along[e] - 1.0)
        shear[e] = GA[e] * across[e]


@kernel(**FAST)
def _stress_rate(beta, vx, vy, vl, vr, c, s, inverse, along, across, EA, GA, normal, shear, n):
    """Add beta times the rates of the strains."""
    for e in range(n):
        dx, dy = (vx[e + 1] - vx[e]) * inverse[e], (vy[e + 1] - vy[e]) * inverse[e]
        w = 0.5 * (vl[e] + vr[e + 1])
        normal[e] += beta * EA[e] * (c[e] * dx + s[e] * dy + across[e] * w)
        shear[e] += beta * GA[e] * (c[e] * dy - s[e] * dx - along[e] * w)


@kernel(**FAST)
def _force(c, s, normal, shear, fx, fy, n):
    for e in range(n):
        fx[e] = c[e] * normal[e] - s[e] * shear[e]
        fy[e] = s[e] * normal[e] + c[e] * shear[e]


@kernel(**FAST)
def _moment(l, along, across, normal, shear, moment, n):
    """What the forces in the element turn each of its ends with."""
    for e in range(n):
        moment[e] = 0.5 * l[e] * (normal[e] * across[e] - shear[e] * along[e])


@kernel(**FAST)
def _bending(beta, left, right, vl, vr, EI, moment, n):
    for e in range(n):
        moment[e] = EI[e] * (right[e + 1] - left[e] + beta * (vr[e + 1] - vl[e]))


@kernel(**FAST)
def _translation(f, c, s, inverse, EA, GA, xx, xy, yy, n):
    """Stiffness of one end's place against the other's, f = 1 + damping."""
    for e in range(n):
        a, b = f * EA[e] * inverse[e], f * GA[e] * inverse[e]
        xx[e] = a * c[e] * c[e] + b * s[e] * s[e]
        yy[e] = a * s[e] * s[e] + b * c[e] * c[e]
        xy[e] = (a - b) * c[e] * s[e]


@kernel(**FAST)
def _coupling(f, cq, c, s, along, across, normal, shear, EA, GA, bx, by, n):
    """Force by the turn of one end."""
    for e in range(n):
        p = 0.5 * (f * EA[e] * across[e] - cq * shear[e])
        q = 0.5 * (cq * normal[e] - f * GA[e] * along[e])
        bx[e] = c[e] * p - s[e] * q
        by[e] = s[e] * p + c[e] * q


@kernel(**FAST)
def _rotation(f, cq, l, along, across, normal, shear, EA, GA, rr, n):
    """Moment at each end by the turn of one end, bending apart."""
    for e in range(n):
        own = f * (EA[e] * across[e] * across[e] + GA[e] * along[e] * along[e])
        rr[e] = 0.25 * l[e] * (own - cq * (normal[e] * along[e] + shear[e] * across[e]))


@kernel(**FAST)
def _balance(f, m, diagonal, a, weight, r, n):
    """Forces on nodes 1 .. n along one axis: inertia, elements on both sides, weight."""
    for p in range(1, n):
        r[p] = f[p - 1] - f[p] + m[p - 1] * a[p - 1] + diagonal[p] * a[p] + m[p] * a[p + 1] - weight[p]
    r[n] = f[n - 1] + m[n - 1] * a[n - 1] + diagonal[n] * a[n] - weight[n]


@kernel(**FAST)
def _balance_moment(moment, bend, j, lumped, left, a, r, n):
    """Moments on nodes 1 .. n; `left` are the accelerations of the left ends, which joints turn."""
    for p in range(1, n):
        outer = moment[p] - bend[p] + j[p] * (2.0 * left[p] + a[p + 1])
        r[p] = moment[p - 1] + bend[p - 1] + j[p - 1] * (left[p - 1] + 2.0 * a[p]) + outer + lumped[p] * a[p]
    r[n] = moment[n - 1] + bend[n - 1] + j[n - 1] * (left[n - 1] + 2.0 * a[n]) + lumped[n] * a[n]


@kernel(**FAST)
def _left_ends(theta, phi, roots, left, n):
    """Angles (rates, accelerations) of the left ends: of the node, and of the joint where a link begins."""
    for e in range(n):
        left[e] = theta[e]
    for i in range(roots.size):
        left[roots[i]] += phi[i]


@kernel(**FAST)
def _linear_rate(beta, state, frame, W, E, n):
    """`_stress_rate` to first order in the deformation: rates against the rigid arm, frame row 3 its rate."""
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
def _damping(beam, state, frame, mode, W, n):
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
                _add_scaled(column[k * n :], rate, W[DS + k], n)
    for e in range(n):
        W[NN, e] += W[DS, e]
        W[QQ, e] += W[DS + 1, e]
        W[MB, e] += W[DS + 2, e]


@kernel(**FAST)
def _add_scaled(column, rate, total, n):
    for e in range(n):
        total[e] += column[e] * rate


@kernel(**FAST)
def _elements(beam, state, frame, mode, W):
    """Strains and stresses of all elements. frame: rows cos, sin, angle of the commanded rigid arm (modes 1, 2)."""
    E, x, v = beam.element, state.x, state.v
    n, beta = E.shape[1], beam.numbers[1]
    _left_ends(x[2], state.phi, beam.roots, W[TL], n)
    if mode == NONLINEAR:
        _turn(W[TL], x[2], W[COS], W[SIN], n)
        _stretch(x[0], x[1], W[COS], W[SIN], E[1], W[AL], W[GA], n)
    else:
        for e in range(n):
            W[COS, e], W[SIN, e] = frame[0, e], frame[1, e]
        _stretch(x[0], x[1], W[COS], W[SIN], E[1], W[AL], W[GA], n)
        for e in range(n):
            W[GA, e] -= 0.5 * (W[TL, e] + x[2, e + 1]) - frame[2, e]
    _stress(W[AL], W[GA], E[2], E[3], W[NN], W[QQ], n)
    _left_ends(v[2], state.rate, beam.roots, W[LEFT], n)
    if beta != 0.0:
        if mode == NONLINEAR:
            _stress_rate(
                beta, v[0], v[1], W[LEFT], v[2], W[COS], W[SIN], E[1], W[AL], W[GA], E[2], E[3], W[NN], W[QQ], n
            )
        else:
            _linear_rate(beta, state, frame, W, E, n)
    _bending(beta, W[TL], x[2], W[LEFT], v[2], E[4], W[MB], n)
    if beam.damping.size:
        _damping(beam, state, frame, mode, W, n)


@kernel(**FAST)
def _residual(beam, state, u, frame, mode, W):
    """M (a + alpha v) + forces - weight - B u in state.d and state.own."""
    R, rphi = state.d, state.own
    E, P, J, a = beam.element, beam.node, beam.joint, state.a
    n, alpha = E.shape[1], beam.numbers[0]
    if mode == NONLINEAR:
        _moment(E[0], W[AL], W[GA], W[NN], W[QQ], W[MO], n)
    else:
        for e in range(n):
            W[MO, e] = -0.5 * E[0, e] * W[QQ, e]
            # the axial force of the rigid arm straightens
            W[QQ, e] += W[PULL, e] * (W[GA, e] + 0.5 * (W[TL, e] + state.x[2, e + 1]) - frame[2, e])
    _force(W[COS], W[SIN], W[NN], W[QQ], W[FX], W[FY], n)
    for row in range(3):
        for p in range(n + 1):
            W[AX, p] = a[row, p] + alpha * state.v[row, p]
        if row < 2:
            _balance(W[FX + row], E[5], P[0], W[AX], P[2 + row], R[row], n)
    _left_ends(W[AX], state.acceleration, beam.roots, W[LEFT], n)
    if alpha != 0.0:
        for i in range(beam.roots.size):
            W[LEFT, beam.roots[i]] += alpha * state.rate[i]
    _balance_moment(W[MO], W[MB], E[6], P[1], W[LEFT], W[AX], R[2], n)
    for i in range(beam.roots.size):
        e = beam.roots[i]
        hub = J[0, i] * W[LEFT, e]
        own = state.acceleration[i] + alpha * state.rate[i]
        rphi[i] = W[MO, e] - W[MB, e] + E[6, e] * (2.0 * W[LEFT, e] + W[AX, e + 1]) + hub
        rphi[i] += J[1, i] * own + J[2, i] * state.phi[i] + J[3, i] * state.rate[i]
        if e > 0:
            R[2, e] += hub
    for k in range(beam.inputs.size):
        i = beam.inputs[k] - beam.roots.size
        if i < 0:
            rphi[beam.inputs[k]] -= beam.gains[k] * u[k]
        else:
            R[i, n] -= beam.gains[k] * u[k]


@kernel(**FAST)
def _stiffness(beam, state, cq, cv, frame, mode, W):
    """The numbers of the element tangents, cq K + cv D."""
    E = beam.element
    n = E.shape[1]
    f = cq + cv * beam.numbers[1]
    _translation(f, W[COS], W[SIN], E[1], E[2], E[3], W[AXX], W[AXY], W[AYY], n)
    if mode == NONLINEAR:
        _coupling(f, cq, W[COS], W[SIN], W[AL], W[GA], W[NN], W[QQ], E[2], E[3], W[BX], W[BY], n)
        _rotation(f, cq, E[0], W[AL], W[GA], W[NN], W[QQ], E[2], E[3], W[RR], n)
    else:
        for e in range(n):
            c, s, g, N = W[COS, e], W[SIN, e], f * E[3, e], cq * W[PULL, e] * E[1, e]
            W[AXX, e] += N * s * s
            W[AXY, e] -= N * c * s
            W[AYY, e] += N * c * c
            W[BX, e], W[BY, e] = 0.5 * s * g, -0.5 * c * g
            W[RR, e] = 0.25 * E[0, e] * g
    for e in range(n):
        W[KB, e] = f * E[4, e]


@kernel(**FAST)
def _outwards(beam, R, rphi, J4, W, n):
    """Back substitution of `_solve`."""
    d0 = d1 = d2 = size = 0.0
    i = 0
    for e in range(n):
        if i < beam.roots.size and e == beam.roots[i]:
            left = J4[i, 4] - J4[i, 0] * d0 - J4[i, 1] * d1 - J4[i, 2] * d2
            J4[i, 5] = left
            rphi[i] = left / J4[i, 3] if J4[i, 3] != 0.0 else 0.0
            d2 += rphi[i]
            size = max(size, abs(rphi[i]))
            i += 1
        x = W[ZZ, e] - W[GG, e] * d0 - W[GG + 1, e] * d1 - W[GG + 2, e] * d2
        y = W[ZZ + 1, e] - W[GG + 3, e] * d0 - W[GG + 4, e] * d1 - W[GG + 5, e] * d2
        t = W[ZZ + 2, e] - W[GG + 6, e] * d0 - W[GG + 7, e] * d1 - W[GG + 8, e] * d2
        d0, d1, d2 = x, y, t
        R[0, e + 1], R[1, e + 1], R[2, e + 1] = x, y, t
        size = max(size, max(abs(x), max(abs(y), abs(t))))
    if not (np.isfinite(d0) and np.isfinite(d1) and np.isfinite(d2)):
        return np.inf
    return size


@kernel(**FAST)
def _solve(beam, state, drive, ca, cv, cq, J4, W):
    """Solve for the correction: state.d and state.own are replaced; returns its size.

    J4 keeps, for each joint, the row of its angle against the node (x, y, theta), its own pivot (0: prescribed), and
    its right-hand side. The torque of a prescribed joint is left in column 5.
    """
    E, P = beam.element, beam.node
    n, i, R, rphi = E.shape[1], beam.roots.size - 1, state.d, state.own
    xx, xy, yy, bx, by, rr, kb = W[AXX], W[AXY], W[AYY], W[BX], W[BY], W[RR], W[KB]
    m, j6 = E[5], E[6]
    s00 = s01 = s02 = s11 = s12 = s22 = q0 = q1 = q2 = 0.0
    for e in range(n - 1, -1, -1):
        mass = ca * P[0, e + 1]
        d00, d01, d02 = s00 + xx[e] + mass, s01 + xy[e], s02 + bx[e]
        d11, d12 = s11 + yy[e] + mass, s12 + by[e]
        turn = rr[e] + kb[e] + 2.0 * ca * j6[e]
        d22 = s22 + turn + ca * P[1, e + 1]
        r0, r1, r2 = R[0, e + 1] + q0, R[1, e + 1] + q1, R[2, e + 1] + q2
        # B: right end's rows against the left end
        mo, jo = ca * m[e], ca * j6[e]
        b00, b01, b02 = mo - xx[e], -xy[e], bx[e]
        b11, b12 = mo - yy[e], by[e]
        b20, b21, b22 = -bx[e], -by[e], rr[e] - kb[e] + jo
        c00, c01, c02 = d11 * d22 - d12 * d12, d02 * d12 - d01 * d22, d01 * d12 - d02 * d11
        c11, c12, c22 = d00 * d22 - d02 * d02, d01 * d02 - d00 * d12, d00 * d11 - d01 * d01
        inverse = 1.0 / (d00 * c00 + d01 * c01 + d02 * c02)
        # adj(D) B and adj(D) r wait for the division, the rest does not
        g00, g10 = c00 * b00 + c01 * b01 + c02 * b20, c01 * b00 + c11 * b01 + c12 * b20
        g01, g11 = c00 * b01 + c01 * b11 + c02 * b21, c01 * b01 + c11 * b11 + c12 * b21
        g02, g12 = c00 * b02 + c01 * b12 + c02 * b22, c01 * b02 + c11 * b12 + c12 * b22
        g20, g21 = c02 * b00 + c12 * b01 + c22 * b20, c02 * b01 + c12 * b11 + c22 * b21
        g22 = c02 * b02 + c12 * b12 + c22 * b22
        z0, z1 = c00 * r0 + c01 * r1 + c02 * r2, c01 * r0 + c11 * r1 + c12 * r2
        z2 = c02 * r0 + c12 * r1 + c22 * r2
        # the left end's own block is that of the right end with the coupling turned round
        s00 = xx[e] - inverse * (b00 * g00 + b01 * g10 + b20 * g20)
        s01 = xy[e] - inverse * (b00 * g01 + b01 * g11 + b20 * g21)
        s02 = -bx[e] - inverse * (b00 * g02 + b01 * g12 + b20 * g22)
        s11 = yy[e] - inverse * (b01 * g01 + b11 * g11 + b21 * g21)
        s12 = -by[e] - inverse * (b01 * g02 + b11 * g12 + b21 * g22)
        s22 = turn - inverse * (b02 * g02 + b12 * g12 + b22 * g22)
        q0 = -inverse * (b00 * z0 + b01 * z1 + b20 * z2)
        q1 = -inverse * (b01 * z0 + b11 * z1 + b21 * z2)
        q2 = -inverse * (b02 * z0 + b12 * z1 + b22 * z2)
        W[GG, e], W[GG + 1, e], W[GG + 2, e] = inverse * g00, inverse * g01, inverse * g02
        W[GG + 3, e], W[GG + 4, e], W[GG + 5, e] = inverse * g10, inverse * g11, inverse * g12
        W[GG + 6, e], W[GG + 7, e], W[GG + 8, e] = inverse * g20, inverse * g21, inverse * g22
        W[ZZ, e], W[ZZ + 1, e], W[ZZ + 2, e] = inverse * z0, inverse * z1, inverse * z2
        if e == beam.roots[i]:
            s22 += ca * beam.joint[0, i]
            own = s22 + ca * beam.joint[1, i] + cq * beam.joint[2, i] + cv * beam.joint[3, i]
            right = rphi[i] + q2
            J4[i, 0], J4[i, 1], J4[i, 2], J4[i, 3], J4[i, 4] = s02, s12, s22, own, right
            if drive[i] == PRESCRIBED:
                J4[i, 3] = 0.0
            else:
                k0, k1, k2, kr = s02 / own, s12 / own, s22 / own, right / own
                q0, q1, q2 = q0 - s02 * kr, q1 - s12 * kr, q2 - s22 * kr
                s00, s01, s11 = s00 - s02 * k0, s01 - s02 * k1, s11 - s12 * k1
                s02, s12, s22 = s02 - s02 * k2, s12 - s12 * k2, s22 - s22 * k2
            i = max(i - 1, 0)
    return _outwards(beam, R, rphi, J4, W, n)


@kernel(**FAST)
def _left_angle(beam, state, e):
    for i in range(beam.roots.size):
        if beam.roots[i] == e:
            return state.x[2, e] + state.phi[i]
    return state.x[2, e]


@kernel(**FAST)
def _chord(beam, state, kind, root, end):
    """Angle (kind 8) or rate of the line from the begin of element `root` to the end of element `end`."""
    x, v = state.x, state.v
    dx, dy = x[0, end + 1] - x[0, root], x[1, end + 1] - x[1, root]
    if kind == 8:
        psi = _left_angle(beam, state, root)
        c, s = np.cos(psi), np.sin(psi)
        return psi + np.arctan2(c * dy - s * dx, c * dx + s * dy)
    return (dx * (v[1, end + 1] - v[1, root]) - dy * (v[0, end + 1] - v[0, root])) / (dx * dx + dy * dy)


@kernel(**FAST)
def _measure(beam, state, rows, y):
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
            first = (x[2, i + 1] - _left_angle(beam, state, i)) / E[0, i]
            second = (x[2, other + 1] - _left_angle(beam, state, other)) / E[0, other]
            y[at] = scale * ((1.0 - w) * first + w * second)
        elif kind == 6:
            psi = _left_angle(beam, state, other)
            dx = (1.0 - w) * x[0, i] + w * x[0, i + 1] - x[0, other]
            dy = (1.0 - w) * x[1, i] + w * x[1, i + 1] - x[1, other]
            y[at] = scale * (psi - x[2, other]) - np.sin(psi) * dx + np.cos(psi) * dy
        elif kind > 7:
            y[at] = _chord(beam, state, kind, other, i)
            if w >= 0.0:
                y[at] -= _chord(beam, state, kind, int(w), other - 1)
        else:
            theta = (1.0 - w) * _left_angle(beam, state, i) + w * x[2, i + 1]
            ax = (1.0 - w) * state.a[0, i] + w * state.a[0, i + 1]
            ay = (1.0 - w) * state.a[1, i] + w * state.a[1, i + 1]
            y[at] = -np.sin(theta) * ax + np.cos(theta) * ay


@kernel(**INSIDE)
def store(form, motion, record, k):
    """Record grid point k; the input of a prescribed joint is the torque that it needs."""
    beam, state, drive = form.beam, form.nodes, motion.drive
    for j in range(beam.inputs.size):
        i = beam.inputs[j]
        if i < drive.size and drive[min(i, drive.size - 1)] == PRESCRIBED:
            record.u[k, j] = motion.torque[i]
    if record.q.shape[0] > 1:
        place, i = 0, 0
        for p in range(1, state.x.shape[1]):
            if i < beam.roots.size and p - 1 == beam.roots[i]:
                record.q[k, place], record.v[k, place] = state.phi[i], state.rate[i]
                place, i = place + 1, i + 1
            for row in range(3):
                record.q[k, place], record.v[k, place] = state.x[row, p], state.v[row, p]
                place += 1


@kernel(**FAST)
def _command(beam, target, part, stiffening, frame, W):
    """Fill the frame of the commanded rigid arm (rows cos, sin, angle, rate) and its axial forces.

    `part` 2 or 3: accelerations before or after a jump.
    """
    n, E, P = beam.element.shape[1], beam.element, beam.node
    angle = rate = acceleration = 0.0
    i = 0
    W[AX, 0] = W[LEFT, 0] = 0.0
    c, s = 1.0, 0.0
    for e in range(n):
        if i < beam.roots.size and e == beam.roots[i]:
            angle += target[i, 0]
            rate += target[i, 1]
            acceleration += target[i, part]
            c, s, i = np.cos(angle), np.sin(angle), i + 1
        frame[0, e], frame[1, e], frame[2, e], frame[3, e] = c, s, angle, rate
        W[AX, e + 1] = W[AX, e] + E[0, e] * (-acceleration * s - rate * rate * c)
        W[LEFT, e + 1] = W[LEFT, e] + E[0, e] * (acceleration * c - rate * rate * s)
    pull_x = pull_y = 0.0
    for e in range(n - 1, -1, -1):
        p = e + 1
        pull_x += E[5, e] * W[AX, e] + P[0, p] * W[AX, p] - P[2, p]
        pull_y += E[5, e] * W[LEFT, e] + P[0, p] * W[LEFT, p] - P[3, p]
        if p < n:
            pull_x += E[5, p] * W[AX, p + 1]
            pull_y += E[5, p] * W[LEFT, p + 1]
        W[PULL, e] = -(pull_x * frame[0, e] + pull_y * frame[1, e]) if stiffening else 0.0


@kernel(**FAST)
def _rigid(beam, state, target, frame, W):
    """Put the state onto the commanded rigid arm, with its rates and accelerations (rows AX and LEFT of `_command`)."""
    n, E = beam.element.shape[1], beam.element
    i, alpha = 0, 0.0
    for e in range(n):
        if i < beam.roots.size and e == beam.roots[i]:
            state.phi[i], state.rate[i], state.acceleration[i] = target[i, 0], target[i, 1], target[i, 3]
            alpha, i = alpha + target[i, 3], i + 1
        p, l, w = e + 1, E[0, e], frame[3, e]
        state.x[0, p], state.x[1, p] = state.x[0, e] + l * frame[0, e], state.x[1, e] + l * frame[1, e]
        state.v[0, p], state.v[1, p] = state.v[0, e] - l * w * frame[1, e], state.v[1, e] + l * w * frame[0, e]
        state.a[0, p], state.a[1, p] = W[AX, p], W[LEFT, p]
        state.x[2, p], state.v[2, p], state.a[2, p] = frame[2, e], w, alpha


@kernel(**INSIDE)
def leap(form, motion):
    """Set the prescribed accelerations to their right limits; returns whether one jumped."""
    jump, state = False, form.nodes
    for i in range(motion.drive.size):
        if motion.drive[i] == PRESCRIBED:
            change = motion.target[i, 3] - state.acceleration[i]
            jump = jump or change != 0.0
            state.acceleration[i] += change
            state.shifted[i] += change
    if form.mode != NONLINEAR:
        _command(form.beam, motion.target, 3, form.stiffening, form.work.frame, form.work.rows)
    return jump


@kernel(**INSIDE)
def lead(form, motion):
    """Put prescribed joints where they are commanded."""
    state, target = form.nodes, motion.target
    for i in range(motion.drive.size):
        if motion.drive[i] == PRESCRIBED:
            state.phi[i], state.rate[i], state.acceleration[i] = target[i, 0], target[i, 1], target[i, 2]
            state.shifted[i] = target[i, 2]
    if form.mode != NONLINEAR:
        _command(form.beam, target, 2, form.stiffening, form.work.frame, form.work.rows)


@kernel(**INSIDE)
def solve(form, motion, u, ca, cv, cq, fresh):
    """One correction; see `kernels.stepper.Operations`."""
    beam, state, frame, W, mode = form.beam, form.nodes, form.work.frame, form.work.rows, form.mode
    _elements(beam, state, frame, mode, W)
    _residual(beam, state, u, frame, mode, W)
    if fresh:
        _stiffness(beam, state, cq, cv, frame, mode, W)
    size = _solve(beam, state, motion.drive, ca + beam.numbers[0] * cv, cv, cq, form.work.joint, W)
    return DONE, size


@kernel(**INSIDE)
def finish(form, motion, u, size):
    """Take over the torques of the joints."""
    for i in range(motion.torque.size):
        motion.torque[i] = form.work.joint[i, 5]


@kernel(**INSIDE)
def limit(form, motion, tolerance, h):
    """Size of a correction that is accepted; see the module docstring."""
    exact = form.beam.numbers[1] == 0.0 and form.beam.damping.size == 0
    return tolerance * max(1.0, form.beam.numbers[2]) * (100.0 if exact else 1.0)


@kernel(**INSIDE)
def measure(form, motion, u, y):
    """Sensor readings."""
    _measure(form.beam, form.nodes, form.work.every, y)


@kernel(**INSIDE)
def sense(form, motion, u, rows, y):
    """Some of them."""
    _measure(form.beam, form.nodes, rows, y)


@kernel(**INSIDE)
def nothing(form, motion):
    """The state alone is measured."""


@kernel(**INSIDE)
def no_foresight(form, motion, h, scheme):
    """Nothing is needed of the state before the step."""


@kernel(**INSIDE)
def never(form):
    """The arm is not linear."""
    return False


OPERATIONS = Operations(
    measure, solve, no_foresight, lead, leap, finish, nothing, limit, store, sense, never, keeps=True, prefers=FULL,
    swing=0.02, stride=0.3,
)


LOOPS = loops(OPERATIONS, FORM)


@entry(types.UniTuple(float64, 4)(FORM, MOTION, COURSE), **ENTRY)
def run_static(form, motion, course):
    """Fill the record with the deformation under the rigid arm's inertia."""
    beam, state, tables, record, W = form.beam, form.nodes, course.tables, course.record, form.work.rows
    n = beam.element.shape[1]
    for k in range(course.span[0], course.span[1] + 1):
        aim(motion, k, 0.0, 1.0)
        _command(beam, motion.target, 3, form.stiffening, form.work.frame, W)
        _rigid(beam, state, motion.target, form.work.frame, W)
        solve(form, motion, tables.after[k], 0.0, 0.0, 1.0, True)
        for row in range(3):
            for p in range(1, n + 1):
                state.x[row, p] -= state.d[row, p]
        for i in range(motion.drive.size):
            state.phi[i] -= state.own[i]
        finish(form, motion, tables.after[k], 0.0)
        measure(form, motion, tables.after[k], record.y[k])
        for j in range(record.u.shape[1]):
            record.u[k, j] = tables.after[k, j]
        store(form, motion, record, k)
    return DONE, tables.t[course.span[1]], 0.0, 0.0


def work(nodes: int, joints: int, outputs: int) -> Work:
    """Return scratch arrays for an arm with so many nodes (the base included), joints and outputs."""
    rows = np.zeros((ROWS, nodes)), np.zeros((4, nodes)), np.zeros((joints, 6))
    return Work(*rows, np.arange(outputs))


def view(motion: Motion, nodes: int) -> View:
    """Return the state of a run as rows of the nodes, then joints."""
    rows = [x[: 3 * nodes].reshape(3, nodes) for x in (motion.q, motion.v, motion.a, motion.d)]
    own = [x[3 * nodes :] for x in (motion.q, motion.v, motion.a, motion.shifted, motion.d)]
    return View(*rows, *own)
