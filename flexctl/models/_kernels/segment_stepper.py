"""The time loop of `models.finite_segment`: the steps of `loop.run_implicit`, at a cost linear in the segments.

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

A prescribed joint has q = 0, g = 1, and its torque is what is left. Positions always come from the angles, so that the
chain never opens; the angles are integrated (not, as in the printed method, the positions with their histories), so
that these are the steps of every other model, and steps of microseconds lose nothing to rounding.

Sine and cosine are polynomials without branches, and loops over the arrays (structure of arrays) vectorise but for the
two sweeps. The accelerations are extrapolated before a step. A correction of size d leaves an error of the order of
d^2, because the tangent is exact; it is accepted below 100 times the tolerance (or its square root, if that is less):
with the usual 1e-10 two passes make a step of 1 ms, with 1e-6 one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import float64, int64, njit, types

from .loop import INT, LAW, MAT, RECORD, SCHEME, TABLES, VEC

CONTROL = types.boolean(LAW, int64, VEC, TABLES, MAT, VEC, VEC)
"""`loop.control`, passed as a pointer: a callee in another file would go stale in the cache."""


class Segments(NamedTuple):
    """Constants of an arm, J joints, n bodies; `models.segment_stepper.segments` makes them."""

    body: np.ndarray  # rows l, d, m, J, spring, damper, span
    joint: np.ndarray  # rows rotor, kp, kv + friction, link length
    gains: np.ndarray  # lever of each input, then weight and scale of each output
    numbers: np.ndarray  # alpha, gx, gy
    joints: np.ndarray  # first body beyond each joint
    inputs: np.ndarray  # for each input: joint, or J (tip x), J + 1 (tip y)
    outputs: np.ndarray  # for each output: kind, body, other, joint


class State(NamedTuple):
    """Angles of the bodies in the base frame."""

    x: np.ndarray
    v: np.ndarray
    a: np.ndarray
    shifted: np.ndarray  # the algorithmic acceleration of the scheme
    before: np.ndarray  # a one step earlier
    commanded: np.ndarray  # acceleration of each prescribed joint
    torque: np.ndarray  # that the prescribed joints need
    previous: np.ndarray  # size of the last step, and passes made so far


class Work(NamedTuple):
    """Scratch arrays; `work` makes them."""

    rows: np.ndarray  # (ROWS, n)
    y: np.ndarray


SEGMENTS = types.NamedTuple((MAT, MAT, VEC, VEC, INT, INT, INT), Segments)
STATE = types.NamedUniTuple(VEC, 8, State)
WORK = types.NamedTuple((MAT, VEC), Work)

# Helpers have no signatures: they are compiled within `run` and need no loading of their own from the disk cache.
# Without reference counts on arrays: they would take longer than the arithmetic. Nothing here may allocate.
FAST: dict[str, Any] = {"cache": True, "fastmath": {"contract", "nsz", "arcp"}, "error_model": "numpy", "_nrt": False}

TORQUE, PRESCRIBED, SERVO = 0, 1, 2
BOUND = 1e6
# rows of the work array
(COS, SIN, ACC, EX, EY, PX, PY, GX, GY, NN, KAPPA, FREE, H0, H1, HH, RR, QQ, GG, STEP, ROWS) = range(20)


@njit(**FAST)
def _turn(x, c, s, n):  # type: ignore[no-untyped-def]
    """Cosine and sine of every angle (fdlibm's polynomials after reduction to pi/4)."""
    for i in range(n):
        k = np.floor(x[i] * 0.6366197723675814 + 0.5)
        r = (x[i] - k * 1.5707963267948966) - k * 6.123233995736766e-17
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
        c[i] = -c0 if (m == 1.0) | (m == 2.0) else c0
        s[i] = -s0 if m >= 2.0 else s0


@njit(**FAST)
def _turn_further(d, c, s, n):  # type: ignore[no-untyped-def]
    """Turn by corrections so small that the third power of each is below rounding."""
    for i in range(n):
        c0, s0 = c[i], s[i]
        c[i] = c0 - d[i] * (s0 + 0.5 * d[i] * c0)
        s[i] = s0 + d[i] * (c0 - 0.5 * d[i] * s0)


@njit(**FAST)
def _accelerations(alpha, w, a, c, s, acc, ex, ey, n):  # type: ignore[no-untyped-def]
    """What each body adds to the acceleration, per length: e = R' (a + alpha w) - R w^2."""
    for k in range(n):
        acc[k] = a[k] + alpha * w[k]
        square = w[k] * w[k]
        ex[k] = -s[k] * acc[k] - c[k] * square
        ey[k] = c[k] * acc[k] - s[k] * square


@njit(**FAST)
def _slopes(ca, cv, cq, w, acc, c, s, px, py, n):  # type: ignore[no-untyped-def]
    """p = de/dtheta along the step."""
    for k in range(n):
        across, along = ca - cq * w[k] * w[k], -cq * acc[k] - 2.0 * cv * w[k]
        px[k] = along * c[k] - across * s[k]
        py[k] = along * s[k] + across * c[k]


@njit(**FAST)
def _loads(l, d, m, ex, ey, gx, gy, outx, outy, n):  # type: ignore[no-untyped-def]
    """Inertia and weight of each body: G = m (acceleration of its centre - g)."""
    ax, ay = -gx, -gy
    for k in range(n):
        outx[k] = m[k] * (ax + d[k] * ex[k])
        outy[k] = m[k] * (ay + d[k] * ey[k])
        ax += l[k] * ex[k]
        ay += l[k] * ey[k]


@njit(**FAST)
def _hinges(cv, cq, K, C, x, v, moment, kappa, free, n):  # type: ignore[no-untyped-def]
    """Moments of springs and dampers and their derivatives."""
    moment[0], kappa[0], free[0] = K[0] * x[0] + C[0] * v[0], cq * K[0] + cv * C[0], 1.0
    for k in range(1, n):
        moment[k] = K[k] * (x[k] - x[k - 1]) + C[k] * (v[k] - v[k - 1])
        kappa[k] = cq * K[k] + cv * C[k]
        free[k] = 1.0


@njit(**FAST)
def _relative(x, k):  # type: ignore[no-untyped-def]
    return x[k] - x[k - 1] if k > 0 else x[k]


@njit(**FAST)
def _own_moment(seg, state, i):  # type: ignore[no-untyped-def]
    """Rotor, servo spring and damper, friction of joint i."""
    k, J = seg.joints[i], seg.joint
    rate = _relative(state.v, k)
    rotor = J[0, i] * (_relative(state.a, k) + seg.numbers[0] * rate)
    return rotor + J[1, i] * _relative(state.x, k) + J[2, i] * rate


@njit(**FAST)
def _joint_hinges(seg, state, drive, u, ca, cv, cq, W):  # type: ignore[no-untyped-def]
    """The hinges that are joints; `ca` counts the mass damping."""
    J = seg.joint
    for i in range(seg.joints.size):
        k = seg.joints[i]
        if drive[i] == PRESCRIBED:
            W[NN, k], W[KAPPA, k], W[FREE, k] = 0.0, 1.0, 0.0
        else:
            W[NN, k], W[KAPPA, k] = _own_moment(seg, state, i), ca * J[0, i] + cq * J[1, i] + cv * J[2, i]
    for j in range(seg.inputs.size):
        i = seg.inputs[j]
        if i < seg.joints.size and drive[min(i, drive.size - 1)] != PRESCRIBED:
            W[NN, seg.joints[i]] -= seg.gains[j] * u[j]


@njit(**FAST)
def _inwards(body, ca, cq, fx, fy, W, n):  # type: ignore[no-untyped-def]
    """Eliminate from the tip to the base; (fx, fy) is the force beyond the tip."""
    l, d, m, J = body[0], body[1], body[2], body[3]
    S00 = S01 = S10 = S11 = s0 = s1 = w0 = w1 = z = f0 = f1 = rest = moment = 0.0
    for k in range(n - 1, -1, -1):
        c, s, px, py, gx, gy, L, D, M = W[COS, k], W[SIN, k], W[PX, k], W[PY, k], W[GX, k], W[GY, k], l[k], d[k], m[k]
        Lx, Ly, md = -L * s, L * c, M * D
        r = J[k] * W[ACC, k] + D * (c * gy - s * gx) + Lx * (fx + f0) + Ly * (fy + f1) + W[NN, k] - moment - rest
        lp0, lp1 = L * px, L * py
        c0, c1 = S00 * lp0 + S01 * lp1 + s0, S10 * lp0 + S11 * lp1 + s1
        H = J[k] * ca - cq * (c * (D * gx + L * fx) + s * (D * gy + L * fy)) + md * D * (c * py - s * px)
        H += Lx * c0 + Ly * c1 - w0 * lp0 - w1 * lp1 - z
        h0, h1 = Lx * S00 + Ly * S10 - md * s - w0, Lx * S01 + Ly * S11 + md * c - w1
        c0, c1 = c0 + md * px, c1 + md * py
        q = W[FREE, k] / (H + W[KAPPA, k])
        g = 1.0 - W[FREE, k] + q * W[KAPPA, k]
        qh0, qh1, qr = q * h0, q * h1, q * r
        S00, S01, S10, S11 = S00 + M - c0 * qh0, S01 - c0 * qh1, S10 - c1 * qh0, S11 + M - c1 * qh1
        f0, f1, s0, s1 = f0 - qr * c0, f1 - qr * c1, g * c0, g * c1
        w0, w1, z, rest = -g * h0, -g * h1, -g * H, -g * r
        fx, fy, moment = fx + gx, fy + gy, W[NN, k]
        W[H0, k], W[H1, k], W[HH, k], W[RR, k], W[QQ, k], W[GG, k] = h0, h1, H, r, q, g


@njit(**FAST)
def _outwards(seg, state, drive, W, n):  # type: ignore[no-untyped-def]
    """Corrections from the base to the tip, and the torques of prescribed joints; returns the largest correction."""
    l = seg.body[0]
    ax = ay = before = size = 0.0
    i = 0
    for k in range(n):
        push = W[H0, k] * ax + W[H1, k] * ay + W[RR, k]
        step = W[GG, k] * before - W[QQ, k] * push
        if i < seg.joints.size and k == seg.joints[i]:
            if drive[i] == PRESCRIBED:
                state.torque[i] = push + W[HH, k] * step
            i += 1
        W[STEP, k] = step
        before = step
        ax += l[k] * W[PX, k] * step
        ay += l[k] * W[PY, k] * step
        size = max(size, abs(step))
    return size if np.isfinite(before) and np.isfinite(ax + ay) else np.inf


@njit(**FAST)
def _pass(seg, state, drive, u, ca, cv, cq, W):  # type: ignore[no-untyped-def]
    """One Newton pass: the correction in row STEP; returns its size. Rows COS and SIN must be those of the state."""
    B, n, alpha = seg.body, seg.body.shape[1], seg.numbers[0]
    ca = ca + alpha * cv
    _accelerations(alpha, state.v, state.a, W[COS], W[SIN], W[ACC], W[EX], W[EY], n)
    _slopes(ca, cv, cq, state.v, W[ACC], W[COS], W[SIN], W[PX], W[PY], n)
    _loads(B[0], B[1], B[2], W[EX], W[EY], seg.numbers[1], seg.numbers[2], W[GX], W[GY], n)
    _hinges(cv, cq, B[4], B[5], state.x, state.v, W[NN], W[KAPPA], W[FREE], n)
    _joint_hinges(seg, state, drive, u, ca, cv, cq, W)
    fx = fy = 0.0
    for j in range(u.size):
        i = seg.inputs[j] - seg.joints.size
        fx -= u[j] if i == 0 else 0.0
        fy -= u[j] if i == 1 else 0.0
    _inwards(B, ca, cq, fx, fy, W, n)
    return _outwards(seg, state, drive, W, n)


@njit(**FAST)
def _torques(seg, state, drive):  # type: ignore[no-untyped-def]
    """Add what the joints themselves take."""
    for i in range(drive.size):
        if drive[i] == PRESCRIBED:
            state.torque[i] += _own_moment(seg, state, i)


@njit(**FAST)
def _correct(x, v, a, shifted, d, cv, ca, cs, n):  # type: ignore[no-untyped-def]
    for k in range(n):
        x[k] += d[k]
        v[k] += cv * d[k]
    for k in range(n):
        a[k] += ca * d[k]
        shifted[k] += cs * d[k]


@njit(**FAST)
def _predict(x, v, a, shifted, before, h, ratio, scheme, n):  # type: ignore[no-untyped-def]
    """Begin a step with the accelerations extrapolated."""
    am, af, g = scheme.alpha_m, scheme.alpha_f, 1.0 / (1.0 - scheme.alpha_m)
    b1, b2, g1, g2 = h * h * (0.5 - scheme.beta), h * h * scheme.beta, h * (1.0 - scheme.gamma), h * scheme.gamma
    for k in range(n):
        old, now = shifted[k], a[k]
        guess = now + ratio * (now - before[k])
        new = ((1.0 - af) * guess + af * now - am * old) * g
        before[k], a[k], shifted[k] = now, guess, new
        x[k] += h * v[k] + b1 * old + b2 * new
        v[k] += g1 * old + g2 * new


@njit(**FAST)
def _follow(seg, state, drive, command, k):  # type: ignore[no-untyped-def]
    """Set the first body beyond each prescribed joint where the command at grid point k wants it."""
    for i in range(drive.size):
        if drive[i] == PRESCRIBED:
            p, phi = seg.joints[i], command[k]
            x = v = a = shifted = 0.0
            if p > 0:
                x, v, a, shifted = state.x[p - 1], state.v[p - 1], state.a[p - 1], state.shifted[p - 1]
            state.x[p], state.v[p], state.a[p] = x + phi[4 * i], v + phi[4 * i + 1], a + phi[4 * i + 2]
            state.shifted[p] = shifted + phi[4 * i + 2]
            state.commanded[i] = phi[4 * i + 2]


@njit(**FAST)
def _jump(seg, state, drive, command, k):  # type: ignore[no-untyped-def]
    """Set the prescribed accelerations to their right limits; returns whether one jumped."""
    jump = False
    for i in range(drive.size):
        if drive[i] == PRESCRIBED:
            change, p = command[k, 4 * i + 3] - state.commanded[i], seg.joints[i]
            jump = jump or change != 0.0
            state.a[p] += change
            state.shifted[p] += change
            state.commanded[i] += change
    return jump


@njit(**FAST)
def _accelerate(seg, state, drive, u, W):  # type: ignore[no-untyped-def]
    """Make the accelerations those that the forces of now ask for; the shifted ones change by as much."""
    _pass(seg, state, drive, u, 1.0, 0.0, 0.0, W)
    for k in range(seg.body.shape[1]):
        state.a[k] += W[STEP, k]
        state.shifted[k] += W[STEP, k]
    _torques(seg, state, drive)
    state.previous[0] = 0.0


@njit(**FAST)
def _sum(seg, state, W, begin, last, part, which):  # type: ignore[no-untyped-def]
    """Place (which 0, 1) or acceleration (2, 3) from the inboard end of body `begin` to a part of body `last`."""
    l, total = seg.body[0], 0.0
    for k in range(begin, last + 1):
        c, s, a, square = W[COS, k], W[SIN, k], state.a[k], state.v[k] * state.v[k]
        length = l[k] * (part if k == last else 1.0)
        e = c if which == 0 else s if which == 1 else -s * a - c * square if which == 2 else c * a - s * square
        total += length * e
    return total


@njit(**FAST)
def _tip(l, c, s, v, a, n):  # type: ignore[no-untyped-def]
    """Place and acceleration of the tip."""
    px = py = ax = ay = 0.0
    for k in range(n):
        square = v[k] * v[k]
        px += l[k] * c[k]
        py += l[k] * s[k]
        ax += l[k] * (-s[k] * a[k] - c[k] * square)
        ay += l[k] * (c[k] * a[k] - s[k] * square)
    return px, py, ax, ay


@njit(**FAST)
def _chord(seg, state, W, kind, root, end):  # type: ignore[no-untyped-def]
    """Angle (kind 8) or rate of the line from the inboard end of body `root` to the outboard end of body `end`."""
    l, px, py, vx, vy = seg.body[0], 0.0, 0.0, 0.0, 0.0
    for k in range(root, end + 1):
        c, s = l[k] * W[COS, k], l[k] * W[SIN, k]
        px += c
        py += s
        vx -= s * state.v[k]
        vy += c * state.v[k]
    if kind == 8:
        c, s = W[COS, root], W[SIN, root]
        return state.x[root] + np.arctan2(c * py - s * px, c * px + s * py)
    return (px * vy - py * vx) / (px * px + py * py)


@njit(**FAST)
def _measure(seg, state, W, y):  # type: ignore[no-untyped-def]
    """Sensor readings; the kinds are those of `models.segment_sensors`. Rows COS and SIN must be those of the state."""
    n, x = state.x.size, state.x
    px, py, ax, ay = _tip(seg.body[0], W[COS], W[SIN], state.v, state.a, n)
    for row in range(y.size):
        kind, body = seg.outputs[4 * row], seg.outputs[4 * row + 1]
        other, joint = seg.outputs[4 * row + 2], seg.outputs[4 * row + 3]
        w, scale = seg.gains[seg.inputs.size + 2 * row], seg.gains[seg.inputs.size + 2 * row + 1]
        if kind == 0:
            y[row] = _relative(x, body)
        elif kind == 1:
            y[row] = _relative(state.v, body)
        elif kind == 2:
            y[row] = px if body == 0 else py
        elif kind == 3:
            y[row] = ax if body == 0 else ay
        elif kind == 4:
            total, angle = px if body == 0 else py, 0.0
            for i in range(seg.joints.size):
                angle += _relative(x, seg.joints[i])
                total -= seg.joint[3, i] * (np.cos(angle) if body == 0 else np.sin(angle))
            y[row] = total
        elif kind == 5:
            first, second = _relative(x, body) / seg.body[6, body], _relative(x, other) / seg.body[6, other]
            y[row] = scale * ((1.0 - w) * first + w * second)
        elif kind == 6:
            dx, dy = _sum(seg, state, W, other, body, w, 0), _sum(seg, state, W, other, body, w, 1)
            turned = x[other] - (x[joint - 1] if joint > 0 else 0.0)
            y[row] = scale * turned - W[SIN, other] * dx + W[COS, other] * dy
        elif kind > 7:
            y[row] = _chord(seg, state, W, kind, other, body)
            if w >= 0.0:
                y[row] -= _chord(seg, state, W, kind, int(w), joint - 1)
        else:
            dx, dy = _sum(seg, state, W, 0, body, w, 2), _sum(seg, state, W, 0, body, w, 3)
            y[row] = -W[SIN, body] * dx + W[COS, body] * dy


@njit(**FAST)
def _write(seg, state, drive, record, k, y, u):  # type: ignore[no-untyped-def]
    """Record grid point k; the input of a prescribed joint is the torque that it needs."""
    for row in range(y.size):
        record.y[k, row] = y[row]
    for j in range(u.size):
        i = seg.inputs[j]
        prescribed = i < drive.size and drive[min(i, drive.size - 1)] == PRESCRIBED
        record.u[k, j] = state.torque[i] if prescribed else u[j]
    if record.q.shape[0] > 1:
        for p in range(state.x.size):
            record.q[k, p], record.v[k, p] = state.x[p], state.v[p]
        for i in range(seg.joints.size):
            p = seg.joints[i]
            record.q[k, p], record.v[k, p] = _relative(state.x, p), _relative(state.v, p)


@njit(types.void(SEGMENTS, STATE, WORK, INT, MAT, int64, VEC), **FAST)
def begin(seg, state, work, drive, command, k, u):  # type: ignore[no-untyped-def]
    """Set the accelerations at grid point k."""
    _turn(state.x, work.rows[COS], work.rows[SIN], state.x.size)
    _jump(seg, state, drive, command, k)
    _accelerate(seg, state, drive, u, work.rows)


@njit(types.void(SEGMENTS, STATE, WORK, VEC), **FAST)
def measure(seg, state, work, y):  # type: ignore[no-untyped-def]
    """Sensor readings."""
    _turn(state.x, work.rows[COS], work.rows[SIN], state.x.size)
    _measure(seg, state, work.rows, y)


@njit(
    types.UniTuple(float64, 4)(
        types.FunctionType(CONTROL), SEGMENTS, STATE, WORK, INT, MAT, VEC, VEC, MAT, LAW, int64, int64, SCHEME, TABLES,
        RECORD,
    ),
    **FAST,
)  # fmt: skip
def run(  # type: ignore[no-untyped-def]
    control, seg, state, work, drive, command, u, held, memory, law, first, last, scheme, tables, record
):
    """Advance from grid point `first` to `last`; returns (status, time, iteration, size of the last correction)."""
    n, t, W, y = seg.body.shape[1], tables.t, work.rows, work.y
    am, af = scheme.alpha_m, scheme.alpha_f
    _turn(state.x, W[COS], W[SIN], n)
    for k in range(first, last):
        _measure(seg, state, W, y)
        jump = control(law, k, y, tables, memory, held, u)
        if _jump(seg, state, drive, command, k) or jump or state.previous[0] == 0.0:
            _accelerate(seg, state, drive, u, W)
        _write(seg, state, drive, record, k, y, u)
        h = tables.h[k]
        ratio = h / state.previous[0] if state.previous[0] > 0.0 else 0.0
        _predict(state.x, state.v, state.a, state.shifted, state.before, h, ratio, scheme, n)
        _follow(seg, state, drive, command, k + 1)
        state.previous[0] = h
        for i in range(u.size):
            u[i] = held[i] + tables.before[k + 1, i]
        cv, ca = scheme.gamma / (h * scheme.beta), (1.0 - am) / (h * h * scheme.beta * (1.0 - af))
        cs = (1.0 - af) / (1.0 - am) * ca
        limit = min(1e2 * scheme.tolerance, np.sqrt(scheme.tolerance))
        size, iteration = np.inf, 0
        while not size <= limit:
            if iteration >= scheme.iterations:
                return 1.0, t[k + 1], float(iteration), size
            iteration += 1
            _turn(state.x, W[COS], W[SIN], n)
            size = _pass(seg, state, drive, u, ca, cv, 1.0, W)
            state.previous[1] += 1.0
            if not np.isfinite(size):
                return 1.0, t[k + 1], float(iteration), size
            _correct(state.x, state.v, state.a, state.shifted, W[STEP], cv, ca, cs, n)
        if size <= 1e-6:
            _turn_further(W[STEP], W[COS], W[SIN], n)
        else:
            _turn(state.x, W[COS], W[SIN], n)
        _torques(seg, state, drive)
        if not abs(state.x[n - 1]) <= BOUND:
            return 3.0, t[k + 1], float(iteration), size
    _measure(seg, state, W, y)
    _write(seg, state, drive, record, last, y, u)
    return 0.0, t[last], 0.0, 0.0


def work(bodies: int, outputs: int) -> Work:
    """Return scratch arrays for a chain with so many bodies and outputs."""
    return Work(np.zeros((ROWS, bodies)), np.zeros(outputs))
