"""The operations of `models.finite_segment` for the common step, at a cost linear in the segments.

A Riccati sweep. Beyond hinge k everything answers to the acceleration x of the hinge and to the angle before it:

    change of force    S dx + s dtheta_(k-1) + f        (S 2 x 2, not symmetric when the arm turns)
    change of moment   w . dx + z dtheta_(k-1) + n      (of the spring, on the body before it)

Body k adds itself to this, its own change dtheta_k is eliminated, and at the base nothing moves: dtheta then follows
outwards. With e = R' a - R w^2, R = (c, s), R' = (-s, c) and p = de/dtheta for the step, G the inertia and weight of
the body, F the force beyond it, (l, d, m, J) the body, N the moment of its hinge and kappa = dN/dtheta:

    h = m d R' + l S^T R' - w,    c = m d p + l S p + s,    r = J a + d R'.G + l R'.F + N_k - N_(k+1) + l R'.f - n
    H = J ca - R.(d G + l F) + m d^2 R'.p + l R'.(l S p + s) - l w.p - z,    q = 1 / (H + kappa),   g = q kappa
    dtheta_k = g dtheta_(k-1) - q (h.dx + r)
    S <- S + m - q c h^T,   s <- g c,   f <- f - q r c,   w <- -g h,   z <- -g H,   n <- -g r

Units: l, d [m], m, S [kg], J [kg m^2], x [m/s^2], theta [rad], F, f [N], N, r, n [N m], q [rad/N m], ca [1/s^2].

In this order a body would wait for the division of the body beyond and for ten sums behind it. The sweep keeps what is
beyond as S, f without its last change, and that change beside it; with h', c', H', r', q', g' of the body beyond,

    a = l R'.c',   e = h'.l p,   h = m d R' + l S^T R' + (g' - q' a) h',   r = .. + l R'.f + (g' - q' a) r'
    c = m d p + l S p + (g' - q' e) c',   H = .. + l R'.(l S p) + a (g' - q' e) + g' (e + H'),   S <- S - q' c' h'^T + m

What loads add to r, H, the force and c stands in rows of their own. A prescribed joint has q = 0, g = 1, and its torque
is what is left. Positions always come from the angles, so that the chain never opens; the angles are integrated (not,
as in the printed method, the positions with their histories), so that these are the steps of every other model, and
steps of microseconds lose nothing to rounding.

Sine and cosine are polynomials without branches, and loops over the arrays (structure of arrays) vectorise but for the
two sweeps. The accelerations are extrapolated before a step. A correction of size d leaves an error of the order of
d^2, because the tangent is exact; it is accepted below 100 times the tolerance (or its square root, if that is less):
with the usual 1e-10 two passes make a step of 1 ms, with 1e-6 one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...kernels.groups import group
from ...kernels.idle import never, no_foresight
from ...kernels.jit import kernel
from ...kernels.loops import loops
from ...kernels.operations import Operations
from ...kernels.state import FULL, PRESCRIBED
from ...kernels.tables import DONE, FAST, INSIDE, INT, MAT, SUMS, VEC
from ...kernels.trig import cosine_sine, line_angle, line_rate
from ..loads import ALONG, MOMENT, X
from .recording import relative as _relative
from .recording import store


class Segments(NamedTuple):
    """Constants of an arm, J joints, n bodies; `models.finite_segment.stepper.segments` makes them."""

    body: np.ndarray  # rows l, d, m, J, spring, damper, span
    joint: np.ndarray  # rows rotor, kp, kv + friction, link length
    gains: np.ndarray  # lever of each input, then weight and scale of each output
    numbers: np.ndarray  # alpha, gx, gy
    joints: np.ndarray  # first body beyond each joint
    inputs: np.ndarray  # for each input: joint, or J (tip x), J + 1 (tip y); the loads follow
    outputs: np.ndarray  # for each output: kind, body, other, joint
    coupled: np.ndarray  # (n, n) moments of all hinges by the rates at which all of them bend; or empty
    loads: np.ndarray  # for each part of a load: input, body, kind (`models.loads`)
    shares: np.ndarray  # for each of them: weight, distance from the inboard end of the body


class Work(NamedTuple):
    """Scratch arrays; `work` makes them."""

    rows: np.ndarray  # (ROWS, n)
    near: np.ndarray  # (2, n) sine and cosine of angles nearby
    push: np.ndarray  # (J,) what the bodies ask of each prescribed joint
    commanded: np.ndarray  # (J,) acceleration of each prescribed joint
    stiff: np.ndarray  # (J,) what drives add to the tangents of hinges
    every: np.ndarray  # the numbers of all outputs


class Form(NamedTuple):
    """All that a step needs besides `kernels.state.Motion`, whose coordinates are the angles of the bodies."""

    segments: Segments
    work: Work


SEGMENTS = group((MAT, MAT, VEC, VEC, INT, INT, INT, MAT, INT, VEC), Segments)
WORK = group((MAT, MAT, VEC, VEC, VEC, INT), Work)
FORM = group((SEGMENTS, WORK), Form)

# rows of the work array
(COS, SIN, ACC, EX, EY, PX, PY, GX, GY, NN, KAPPA, FREE, H0, H1, HH, RR, QQ, GG, C0, C1) = range(20)
# what loads add to r, to H, to the force and to its change with the turn of the body
LM, LH, LX, LY, SX, SY, ROWS = range(20, 27)


@kernel(**FAST)
def _turn(x, c, s, n):
    """Cosine and sine of every angle."""
    for i in range(n):
        c[i], s[i] = cosine_sine(x[i])


@kernel(**FAST)
def _turn_further(d, c, s, n):
    """Turn back by corrections so small that the third power of each is below rounding."""
    for i in range(n):
        c0, s0 = c[i], s[i]
        c[i] = c0 + d[i] * (s0 - 0.5 * d[i] * c0)
        s[i] = s0 - d[i] * (c0 + 0.5 * d[i] * s0)


@kernel(**FAST)
def _accelerations(alpha, state, W, n):
    """The contribution of each body to the acceleration, per length: e = R' (a + alpha w) - R w^2."""
    w, a, c, s, acc, ex, ey = state.v, state.a, W[COS], W[SIN], W[ACC], W[EX], W[EY]
    for k in range(n):
        acc[k] = a[k] + alpha * w[k]
        square = w[k] * w[k]
        ex[k] = -s[k] * acc[k] - c[k] * square
        ey[k] = c[k] * acc[k] - s[k] * square


@kernel(**FAST)
def _slopes(ca, cv, cq, w, W, n):
    """p = de/dtheta along the step."""
    acc, c, s, px, py = W[ACC], W[COS], W[SIN], W[PX], W[PY]
    for k in range(n):
        across, along = ca - cq * w[k] * w[k], -cq * acc[k] - 2.0 * cv * w[k]
        px[k] = along * c[k] - across * s[k]
        py[k] = along * s[k] + across * c[k]


@kernel(**FAST)
def _loads(body, gx, gy, W, n):
    """Inertia and weight of each body: G = m (acceleration of its centre - g)."""
    l, d, m, ex, ey, outx, outy = body[0], body[1], body[2], W[EX], W[EY], W[GX], W[GY]
    ax, ay = -gx, -gy
    for k in range(n):
        outx[k] = m[k] * (ax + d[k] * ex[k])
        outy[k] = m[k] * (ay + d[k] * ey[k])
        ax += l[k] * ex[k]
        ay += l[k] * ey[k]


@kernel(**FAST)
def _hinges(cv, cq, body, state, W, n):
    """Moments of springs and dampers and their derivatives."""
    K, C, x, v, moment, kappa, free = body[4], body[5], state.q, state.v, W[NN], W[KAPPA], W[FREE]
    moment[0], kappa[0], free[0] = K[0] * x[0] + C[0] * v[0], cq * K[0] + cv * C[0], 1.0
    for k in range(1, n):
        moment[k] = K[k] * (x[k] - x[k - 1]) + C[k] * (v[k] - v[k - 1])
        kappa[k] = cq * K[k] + cv * C[k]
        free[k] = 1.0


@kernel(**FAST)
def _couple(coupled, state, W, n):
    """Add the moments of modal damping, which couples all hinges.

    The tangent leaves this out: with a damping ratio z the iteration still gains a factor of about 1/z each time.
    """
    bend, moment = W[H0], W[NN]
    for k in range(n):
        bend[k] = _relative(state.v, k)
    for k in range(n):
        total = 0.0
        for j in range(n):
            total += coupled[k, j] * bend[j]
        moment[k] += total


@kernel(**FAST)
def _own_moment(seg, state, i):
    """Rotor, servo spring and damper, friction of joint i."""
    k, J = seg.joints[i], seg.joint
    rate = _relative(state.v, k)
    rotor = J[0, i] * (_relative(state.a, k) + seg.numbers[0] * rate)
    return rotor + J[1, i] * _relative(state.q, k) + J[2, i] * rate


@kernel(**FAST)
def _joint_hinges(seg, state, u, ca, cv, cq, stiff, W):
    """The hinges that are joints; `ca` counts the mass damping."""
    J, drive = seg.joint, state.drive
    for i in range(seg.joints.size):
        k = seg.joints[i]
        if drive[i] == PRESCRIBED:
            W[NN, k], W[KAPPA, k], W[FREE, k] = 0.0, 1.0, 0.0
        else:
            W[NN, k] = _own_moment(seg, state, i)
            W[KAPPA, k] = ca * J[0, i] + cq * J[1, i] + cv * J[2, i] + stiff[i]
    for j in range(seg.inputs.size):
        i = seg.inputs[j]
        if i < seg.joints.size and drive[min(i, drive.size - 1)] != PRESCRIBED:
            W[NN, seg.joints[i]] -= seg.gains[j] * u[j]


@kernel(**FAST)
def _loaded(seg, u, cq, W, n):
    """Fill what the loads add, their tangent included; returns whether one acts."""
    some = False
    for j in range(seg.shares.size // 2):
        some = some or u[seg.loads[3 * j]] != 0.0
    if not some:
        return False
    for row in range(LM, ROWS):
        for k in range(n):
            W[row, k] = 0.0
    for j in range(seg.shares.size // 2):
        k, kind, x = seg.loads[3 * j + 1], seg.loads[3 * j + 2], seg.shares[2 * j + 1]
        f, c, s = seg.shares[2 * j] * u[seg.loads[3 * j]], W[COS, k], W[SIN, k]
        if kind == MOMENT:
            W[LM, k] -= f
            continue
        fx, fy = (c, s) if kind == ALONG else (-s, c)
        if kind < ALONG:
            fx, fy = (1.0, 0.0) if kind == X else (0.0, 1.0)
            W[LH, k] += cq * f * x * (fx * c + fy * s)
        else:  # the force turns with its lever: its moment stays, and what it pulls with turns
            W[SX, k] += cq * f * fy
            W[SY, k] -= cq * f * fx
        W[LM, k] -= f * x * (fy * c - fx * s)
        W[LX, k] -= f * fx
        W[LY, k] -= f * fy
    return True


@kernel(**FAST)
def _inwards(body, ca, cq, fx, fy, loaded, W, n):
    """Eliminate from the tip to the base; (fx, fy) is the force beyond the tip."""
    l, d, m, J = body[0], body[1], body[2], body[3]
    T00 = T01 = T10 = T11 = f0 = f1 = moment = 0.0
    q = g = h0 = h1 = c0 = c1 = H = r = 0.0  # of the body beyond
    for k in range(n - 1, -1, -1):
        c, s, px, py, gx, gy, L, D, M = W[COS, k], W[SIN, k], W[PX, k], W[PY, k], W[GX, k], W[GY, k], l[k], d[k], m[k]
        Lx, Ly, md, lp0, lp1 = -L * s, L * c, M * D, L * px, L * py
        u0, u1, across, along = T00 * lp0 + T01 * lp1, T10 * lp0 + T11 * lp1, Lx * c0 + Ly * c1, h0 * lp0 + h1 * lp1
        here = J[k] * ca - cq * (c * (D * gx + L * fx) + s * (D * gy + L * fy)) + md * D * (c * py - s * px)
        here += Lx * u0 + Ly * u1
        y0, y1 = Lx * T00 + Ly * T10 - md * s, Lx * T01 + Ly * T11 + md * c
        rest = J[k] * W[ACC, k] + D * (c * gy - s * gx) + Lx * (fx + f0) + Ly * (fy + f1) + W[NN, k] - moment
        if loaded:
            rest, here, u0, u1 = rest + W[LM, k], here + W[LH, k], u0 + W[SX, k], u1 + W[SY, k]
            gx, gy = gx + W[LX, k], gy + W[LY, k]
        # what hangs on the q of the body beyond: little, because the next division waits for it
        qr, qc0, qc1 = q * r, q * c0, q * c1
        T00, T01, T10, T11 = T00 + M - qc0 * h0, T01 - qc0 * h1, T10 - qc1 * h0, T11 + M - qc1 * h1
        f0, f1, hung, bent = f0 - qr * c0, f1 - qr * c1, g - q * across, g - q * along
        H = here + g * (along + H) + across * bent
        r, h0, h1 = rest + hung * r, y0 + hung * h0, y1 + hung * h1
        c0, c1 = u0 + md * px + bent * c0, u1 + md * py + bent * c1
        q = W[FREE, k] / (H + W[KAPPA, k])
        g = 1.0 - W[FREE, k] + q * W[KAPPA, k]
        fx, fy, moment = fx + gx, fy + gy, W[NN, k]
        W[H0, k], W[H1, k], W[HH, k], W[RR, k], W[QQ, k], W[GG, k], W[C0, k], W[C1, k] = h0, h1, H, r, q, g, c0, c1


@kernel(**FAST)
def _inwards_again(body, fx, fy, loaded, W, n):
    """Take the residual through an elimination that was made before; (fx, fy) is the force beyond the tip."""
    l, d, J = body[0], body[1], body[3]
    f0 = f1 = rest = moment = 0.0
    for k in range(n - 1, -1, -1):
        c, s, gx, gy, L, D = W[COS, k], W[SIN, k], W[GX, k], W[GY, k], l[k], d[k]
        r = J[k] * W[ACC, k] + D * (c * gy - s * gx) + L * (c * (fy + f1) - s * (fx + f0)) + W[NN, k] - moment - rest
        if loaded:
            r, gx, gy = r + W[LM, k], gx + W[LX, k], gy + W[LY, k]
        qr = W[QQ, k] * r
        f0, f1, rest = f0 - qr * W[C0, k], f1 - qr * W[C1, k], -W[GG, k] * r
        fx, fy, moment = fx + gx, fy + gy, W[NN, k]
        W[RR, k] = r


@kernel(**FAST)
def _outwards(seg, state, torque, W, n):
    """Corrections from the base to the tip, and the torques of prescribed joints; returns the largest correction."""
    l = seg.body[0]
    ax = ay = px = py = step = size = 0.0
    i = 0
    for k in range(n):
        q, h0, h1, r = W[QQ, k], W[H0, k], W[H1, k], W[RR, k]
        # with the hinge where the body before leaves it, but for the turn of that body: little waits for `step` then
        turned = W[GG, k] - q * (h0 * px + h1 * py)
        begun = -q * r - q * h0 * ax - q * h1 * ay
        ax, ay, step = ax + px * step, ay + py * step, begun + turned * step
        px, py = l[k] * W[PX, k], l[k] * W[PY, k]
        if i < seg.joints.size and k == seg.joints[i]:
            if state.drive[i] == PRESCRIBED:
                torque[i] = h0 * ax + h1 * ay + r + W[HH, k] * step
            i += 1
        state.d[k] = -step
        size = max(size, abs(step))
    return size if np.isfinite(step) and np.isfinite(ax + ay) else np.inf


@kernel(**FAST)
def _pass(seg, state, u, weights, work, W, fresh):
    """One Newton pass: the correction in state.d; returns its size. Rows COS and SIN must be those of the state."""
    B, n, alpha = seg.body, seg.body.shape[1], seg.numbers[0]
    ca, cv, cq = weights[0] + alpha * weights[1], weights[1], weights[2]
    _accelerations(alpha, state, W, n)
    if fresh:
        _slopes(ca, cv, cq, state.v, W, n)
    _loads(B, seg.numbers[1], seg.numbers[2], W, n)
    _hinges(cv, cq, B, state, W, n)
    if seg.coupled.size > 0:
        _couple(seg.coupled, state, W, n)
    _joint_hinges(seg, state, u, ca, cv, cq, work.stiff, W)
    fx = fy = 0.0
    for j in range(seg.inputs.size):
        i = seg.inputs[j] - seg.joints.size
        fx -= u[j] if i == 0 else 0.0
        fy -= u[j] if i == 1 else 0.0
    loaded = _loaded(seg, u, cq, W, n)
    if fresh:
        _inwards(B, ca, cq, fx, fy, loaded, W, n)
    else:
        _inwards_again(B, fx, fy, loaded, W, n)
    return _outwards(seg, state, work.push, W, n)


@kernel(**INSIDE)
def lead(form, motion):
    """Set the first body beyond each prescribed joint where the command wants it."""
    q, v, a, shifted, target = motion.q, motion.v, motion.a, motion.shifted, motion.target
    for i in range(motion.drive.size):
        if motion.drive[i] == PRESCRIBED:
            p = form.segments.joints[i]
            x0 = v0 = a0 = s0 = 0.0
            if p > 0:
                x0, v0, a0, s0 = q[p - 1], v[p - 1], a[p - 1], shifted[p - 1]
            q[p], v[p], a[p] = x0 + target[i, 0], v0 + target[i, 1], a0 + target[i, 2]
            shifted[p] = s0 + target[i, 2]
            form.work.commanded[i] = target[i, 2]


@kernel(**INSIDE)
def leap(form, motion):
    """Set the prescribed accelerations to their right limits; returns whether one jumped."""
    jump, commanded = False, form.work.commanded
    for i in range(motion.drive.size):
        if motion.drive[i] == PRESCRIBED:
            change, p = motion.target[i, 3] - commanded[i], form.segments.joints[i]
            jump = jump or change != 0.0
            motion.a[p] += change
            motion.shifted[p] += change
            commanded[i] += change
    return jump


@kernel(**INSIDE)
def solve(form, motion, u, ca, cv, cq, fresh):
    """One correction; see `kernels.operations.Operations`. Where hinges are coupled, which the tangent leaves out, the
    rate at which corrections shrink is that of new factors."""
    W, fresh = form.work.rows, fresh or form.segments.coupled.size > 0
    _turn(motion.q, W[COS], W[SIN], motion.q.size)
    return DONE, _pass(form.segments, motion, u, (ca, cv, cq), form.work, W, fresh)


@kernel(**INSIDE)
def stiffen(form, motion, k, value):
    """Set how much a drive adds to the tangent of the hinge that input k turns."""
    form.work.stiff[form.segments.inputs[k]] = value * form.segments.gains[k] * form.segments.gains[k]


@kernel(**INSIDE)
def finish(form, motion, u, size):
    """Add what the joints themselves take to their torques; angles whose correction is small are turned further."""
    W, n = form.work.rows, motion.q.size
    if size <= 1e-6:
        _turn_further(motion.d, W[COS], W[SIN], n)
    else:
        _turn(motion.q, W[COS], W[SIN], n)
    for i in range(motion.drive.size):
        if motion.drive[i] == PRESCRIBED:
            motion.torque[i] = form.work.push[i] + _own_moment(form.segments, motion, i)


@kernel(**INSIDE)
def refresh(form, motion):
    """Make sine and cosine those of the state."""
    _turn(motion.q, form.work.rows[COS], form.work.rows[SIN], motion.q.size)


@kernel(**INSIDE)
def limit(form, motion, tolerance, h):
    """Size of a correction that is accepted; see the module docstring."""
    return tolerance if form.segments.coupled.size > 0 else min(1e2 * tolerance, np.sqrt(tolerance))


# Sums over the bodies of a part of the arm: of arrays that begin with the first of them, or the loops do not vectorise.
@kernel(**SUMS)
def _line(l, c, s, part):
    """Line from the inboard end of the first body to a part of the last one."""
    px, py, last = 0.0, 0.0, l.size - 1
    for k in range(last):
        px += l[k] * c[k]
        py += l[k] * s[k]
    return px + part * l[last] * c[last], py + part * l[last] * s[last]


@kernel(**SUMS)
def _line_speeds(l, c, s, v):
    """How fast the outboard end of the last body moves, seen from the inboard end of the first."""
    vx = vy = 0.0
    for k in range(l.size):
        vx -= l[k] * s[k] * v[k]
        vy += l[k] * c[k] * v[k]
    return vx, vy


@kernel(**SUMS)
def _line_pull(l, c, s, v, a, part):
    """Acceleration at a part of the last body, seen from the inboard end of the first."""
    ax, ay, last = 0.0, 0.0, l.size - 1
    for k in range(l.size):
        square, length = v[k] * v[k], (l[k] if k < last else part * l[k])
        ax += length * (-s[k] * a[k] - c[k] * square)
        ay += length * (c[k] * a[k] - s[k] * square)
    return ax, ay


@kernel(**FAST)
def _chord(seg, state, W, kind, root, end):
    """Angle (kind 8) or rate of the line from the inboard end of body `root` to the outboard end of body `end`."""
    l, c, s = seg.body[0, root : end + 1], W[COS, root : end + 1], W[SIN, root : end + 1]
    px, py = _line(l, c, s, 1.0)
    if kind == 8:
        return line_angle(state.q[root], c[0], s[0], px, py)
    vx, vy = _line_speeds(l, c, s, state.v[root : end + 1])
    return line_rate(px, py, vx, vy)


@kernel(**FAST)
def _measure(seg, state, W, rows, y):
    """Sensor readings; the kinds are those of `finite_segment.sensors`. Rows COS and SIN must be those of the state."""
    x, v, a, l, C, S = state.q, state.v, state.a, seg.body[0], W[COS], W[SIN]
    (px, py), (ax, ay) = _line(l, C, S, 1.0), _line_pull(l, C, S, v, a, 1.0)
    for at in range(rows.size):
        row = rows[at]
        kind, body = seg.outputs[4 * row], seg.outputs[4 * row + 1]
        other, joint = seg.outputs[4 * row + 2], seg.outputs[4 * row + 3]
        w, scale = seg.gains[seg.inputs.size + 2 * row], seg.gains[seg.inputs.size + 2 * row + 1]
        if kind == 0:
            y[at] = _relative(x, body)
        elif kind == 1:
            y[at] = _relative(v, body)
        elif kind == 2:
            y[at] = px if body == 0 else py
        elif kind == 3:
            y[at] = ax if body == 0 else ay
        elif kind == 4:
            total, angle = px if body == 0 else py, 0.0
            for i in range(seg.joints.size):
                angle += _relative(x, seg.joints[i])
                total -= seg.joint[3, i] * (np.cos(angle) if body == 0 else np.sin(angle))
            y[at] = total
        elif kind == 5:
            first, second = _relative(x, body) / seg.body[6, body], _relative(x, other) / seg.body[6, other]
            y[at] = scale * ((1.0 - w) * first + w * second)
        elif kind == 6:
            dx, dy = _line(l[other : body + 1], C[other : body + 1], S[other : body + 1], w)
            turned = x[other] - (x[joint - 1] if joint > 0 else 0.0)
            y[at] = scale * turned - S[other] * dx + C[other] * dy
        elif kind > 7:
            y[at] = _chord(seg, state, W, kind, other, body)
            if w >= 0.0:
                y[at] -= _chord(seg, state, W, kind, int(w), joint - 1)
        else:
            end = body + 1
            dx, dy = _line_pull(l[:end], C[:end], S[:end], v[:end], a[:end], w)
            y[at] = -S[body] * dx + C[body] * dy


@kernel(**INSIDE)
def measure(form, motion, u, y):
    """Sensor readings."""
    _measure(form.segments, motion, form.work.rows, form.work.every, y)


@kernel(**INSIDE)
def sense(form, motion, u, rows, y):
    """Some of them."""
    near = form.work.near
    _turn(motion.q, near[COS], near[SIN], motion.q.size)
    _measure(form.segments, motion, near, rows, y)


OPERATIONS = Operations(
    measure, solve, no_foresight, lead, leap, finish, refresh, limit, store, sense, never, keeps=True, prefers=FULL,
    foreseen=1e-5, stiffen=stiffen,  # `limit` is 100 times the tolerance
)
LOOPS = loops(OPERATIONS, FORM)
