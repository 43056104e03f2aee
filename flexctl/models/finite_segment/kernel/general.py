"""Residual, tangent and output of `models.finite_segment` for the general time loop.

The sums over all pairs of bodies factor: with e_k = R_k' a_k - R_k w_k^2 the inertia turns body j with
l_j R_j' . sum_(k > j) b_k e_k + b_j R_j' . sum_(k < j) l_k e_k + mu_jj a_j, two running sums.

ints  = [n, J, p, ny], first body beyond each joint, for each input its body or -1 (tip x), -2 (tip y), and
        (kind, body, other, joint) of the outputs
reals = [alpha, gx, gy], per body l, b, mu_jj, spring, damper, span; per joint rotor, kp, kv + friction, link length;
        lever of each input; (weight, scale) of each output
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import int64

from ....kernels.jit import entry, kernel
from ....kernels.model import OUTPUT, RESIDUAL, TANGENT
from ....kernels.vectors import put

if TYPE_CHECKING:
    from .. import FiniteSegment

HEAD, COLUMNS, PER_JOINT = 4, 6, 4


@kernel
def spread(q, ints, theta):
    """Angles (rates, accelerations) of the bodies."""
    put(q, theta)
    for i in range(1, ints[1]):
        k = ints[HEAD + i]
        theta[k] += theta[k - 1]


@kernel
def gather(h, ints):
    """Moments on the bodies become forces on the coordinates, in place."""
    for i in range(ints[1] - 1, 0, -1):
        k = ints[HEAD + i]
        h[k - 1] += h[k]


@entry(RESIDUAL)
def residual(t, q, v, a, u, reals, ints, out):
    """M (a + alpha v) + inertia of the rates + springs + dampers + servo joints - weight - B u."""
    n, J, p = ints[0], ints[1], ints[2]
    alpha, gx, gy = reals[0], reals[1], reals[2]
    theta, w, acc = np.empty(n), np.empty(n), np.empty(n)
    spread(q, ints, theta)
    spread(v, ints, w)
    spread(a, ints, acc)
    per_joint = 3 + COLUMNS * n
    ux = uy = 0.0
    for k in range(p):
        if ints[HEAD + J + k] == -1:
            ux = u[k]
        elif ints[HEAD + J + k] == -2:
            uy = u[k]
    x = y = 0.0  # sum of l e inboard
    for k in range(n):
        c, s, accel = np.cos(theta[k]), np.sin(theta[k]), acc[k] + alpha * w[k]
        l, b = reals[3 + k], reals[3 + n + k]
        out[k] = b * (c * (y - gy) - s * (x - gx)) + reals[3 + 2 * n + k] * accel
        x += l * (-s * accel - c * w[k] * w[k])
        y += l * (c * accel - s * w[k] * w[k])
    x = y = 0.0  # sum of b e outboard
    for k in range(n - 1, -1, -1):
        c, s, accel = np.cos(theta[k]), np.sin(theta[k]), acc[k] + alpha * w[k]
        l, b = reals[3 + k], reals[3 + n + k]
        out[k] += l * (c * (y - uy) - s * (x - ux))
        x += b * (-s * accel - c * w[k] * w[k])
        y += b * (c * accel - s * w[k] * w[k])
        before, rate = (theta[k - 1], w[k - 1]) if k > 0 else (0.0, 0.0)
        moment = reals[3 + 3 * n + k] * (theta[k] - before) + reals[3 + 4 * n + k] * (w[k] - rate)
        out[k] += moment
        if k > 0:
            out[k - 1] -= moment
    gather(out, ints)
    for i in range(J):
        k = ints[HEAD + i]
        rotor, kp, kv = reals[per_joint + i], reals[per_joint + J + i], reals[per_joint + 2 * J + i]
        out[k] += rotor * (a[k] + alpha * v[k]) + kp * q[k] + kv * v[k]
    for j in range(p):
        if ints[HEAD + J + j] >= 0:
            out[ints[HEAD + J + j]] -= reals[per_joint + PER_JOINT * J + j] * u[j]


@entry(TANGENT)
def tangent(t, q, v, a, u, ca, cv, cq, reals, ints, out):
    """ca M + cv D + cq K."""
    n, J, p = ints[0], ints[1], ints[2]
    w_band = n - 1
    alpha, gx, gy = reals[0], reals[1], reals[2]
    theta, w, acc = np.empty(n), np.empty(n), np.empty(n)
    spread(q, ints, theta)
    spread(v, ints, w)
    spread(a, ints, acc)
    c, s, S = np.cos(theta), np.sin(theta), np.zeros((n, n))
    per_joint = 3 + COLUMNS * n
    ux = uy = 0.0
    for k in range(p):
        if ints[HEAD + J + k] == -1:
            ux = u[k]
        elif ints[HEAD + J + k] == -2:
            uy = u[k]
    ma = ca + cv * alpha
    for j in range(n):
        along = gx * c[j] + gy * s[j]
        S[j, j] += ma * reals[3 + 2 * n + j] + cq * reals[3 + n + j] * along
        S[j, j] += cq * reals[3 + j] * (ux * c[j] + uy * s[j])
        for k in range(n):
            if k != j:
                mu = reals[3 + min(j, k)] * reals[3 + n + max(j, k)]
                cosine, sine = mu * (c[j] * c[k] + s[j] * s[k]), mu * (s[j] * c[k] - c[j] * s[k])
                turn = cq * (sine * (acc[k] + alpha * w[k]) - cosine * w[k] * w[k])
                S[j, k] += ma * cosine + 2.0 * cv * sine * w[k] + turn
                S[j, j] -= turn
        stiff = cq * reals[3 + 3 * n + j] + cv * reals[3 + 4 * n + j]
        S[j, j] += stiff
        if j > 0:
            S[j - 1, j - 1] += stiff
            S[j - 1, j] -= stiff
            S[j, j - 1] -= stiff
    for i in range(J - 1, 0, -1):
        k = ints[HEAD + i]
        for j in range(n):
            S[k - 1, j] += S[k, j]
    for i in range(J - 1, 0, -1):
        k = ints[HEAD + i]
        for j in range(n):
            S[j, k - 1] += S[j, k]
    for i in range(J):
        k = ints[HEAD + i]
        S[k, k] += ma * reals[per_joint + i] + cq * reals[per_joint + J + i] + cv * reals[per_joint + 2 * J + i]
    out[:] = 0.0
    for i in range(n):
        for j in range(n):
            out[2 * w_band + i - j, j] = S[i, j]


@kernel
def chord(rate, root, end, theta, w, reals):
    """Angle or rate of the line from the inboard end of body `root` to the outboard end of body `end`."""
    px = py = vx = vy = 0.0
    for k in range(root, end + 1):
        l, c, s = reals[3 + k], np.cos(theta[k]), np.sin(theta[k])
        px += l * c
        py += l * s
        vx -= l * s * w[k]
        vy += l * c * w[k]
    if rate:
        return (px * vy - py * vx) / (px * px + py * py)
    c, s = np.cos(theta[root]), np.sin(theta[root])
    return theta[root] + np.arctan2(c * py - s * px, c * px + s * py)


@entry(OUTPUT)
def output(q, v, a, u, reals, ints, y):
    """Sensor readings; the kinds are those of `finite_segment.sensors`."""
    n, J, p, ny = ints[0], ints[1], ints[2], ints[3]
    theta, w, acc = np.empty(n), np.empty(n), np.empty(n)
    spread(q, ints, theta)
    spread(v, ints, w)
    spread(a, ints, acc)
    channel, per_joint = HEAD + J + p, 3 + COLUMNS * n
    factors = per_joint + PER_JOINT * J + p
    for row in range(ny):
        kind, body = ints[channel + 4 * row], ints[channel + 4 * row + 1]
        other, joint = ints[channel + 4 * row + 2], ints[channel + 4 * row + 3]
        part, scale = reals[factors + 2 * row], reals[factors + 2 * row + 1]
        if kind < 2:
            x = theta if kind == 0 else w
            y[row] = x[body] - (x[body - 1] if body > 0 else 0.0)
            continue
        if kind == 5:
            first = (theta[body] - (theta[body - 1] if body > 0 else 0.0)) / reals[3 + 5 * n + body]
            second = (theta[other] - (theta[other - 1] if other > 0 else 0.0)) / reals[3 + 5 * n + other]
            y[row] = scale * ((1.0 - part) * first + part * second)
            continue
        if kind > 7:
            y[row] = chord(kind == 9, other, body, theta, w, reals)
            if part >= 0.0:
                y[row] -= chord(kind == 9, int64(part), joint - 1, theta, w, reals)
            continue
        begin, last = (other if kind == 6 else 0), (body if kind > 5 else n - 1)
        px = py = ax = ay = 0.0
        for k in range(begin, last + 1):
            l = reals[3 + k] * (part if kind > 5 and k == last else 1.0)
            c, s = np.cos(theta[k]), np.sin(theta[k])
            px += l * c
            py += l * s
            ax += l * (-s * acc[k] - c * w[k] * w[k])
            ay += l * (c * acc[k] - s * w[k] * w[k])
        if kind == 2:
            y[row] = px if body == 0 else py
        elif kind == 3:
            y[row] = ax if body == 0 else ay
        elif kind == 4:
            angle, total = 0.0, px if body == 0 else py
            for i in range(J):
                angle += q[ints[HEAD + i]]
                total -= reals[per_joint + 3 * J + i] * (np.cos(angle) if body == 0 else np.sin(angle))
            y[row] = total
        elif kind == 6:
            before = theta[joint - 1] if joint > 0 else 0.0
            y[row] = scale * (theta[other] - before) - np.sin(theta[other]) * px + np.cos(theta[other]) * py
        else:
            y[row] = -np.sin(theta[body]) * ax + np.cos(theta[body]) * ay


def pack(model: FiniteSegment) -> tuple[np.ndarray, np.ndarray]:
    """Return the constants of a model in the order stated above."""
    chain, sensors = model.chain, model.sensors
    rows, levers = inputs(model)
    ints = [
        [chain.length.size, chain.joint.size, len(model.inputs), len(model.outputs)], chain.joint, rows,
        [x for c in sensors.channels for x in (c.kind, c.body, c.other, c.joint)],
    ]
    reals = [
        [model.alpha, *model.gravity], chain.length, chain.first_moment, chain.second_moment, chain.stiffness,
        model.damper, chain.span, model.rotor, model.kp, model.kv + model.friction, sensors.lengths, levers,
        [x for c in sensors.channels for x in (c.weight, c.scale)],
    ]
    return np.concatenate([np.asarray(r, float) for r in reals]), np.concatenate(
        [np.asarray(i, np.int64) for i in ints]
    )


def inputs(model: FiniteSegment) -> tuple[list[int], list[float]]:
    """Return for each input the body beyond its joint, or -1, -2 for the tip forces, and its lever."""
    column = model.B[:, :-2].T
    rows = [int(np.flatnonzero(x)[0]) for x in column]
    return [*rows, -1, -2], [*(float(x[k]) for x, k in zip(column, rows, strict=True)), 1.0, 1.0]
