"""Compiled forms of `toys`.

Elastic pendulum: q = (r, theta), reals = m, J, k, r0, g, c_r, c_theta.
Rod pendulum: q = (x, y), u = (torque, lam), reals = m, L, g, c.
"""

from __future__ import annotations

import math

from numba import njit

from flexctl.kernels.model import CLOSURE, OUTPUT, RESIDUAL, TANGENT


@njit(RESIDUAL, cache=True)
def residual(t, q, v, a, u, reals, ints, out):
    m, J, k, r0, g, c_r, c_t = reals
    out[0] = m * a[0] - m * q[0] * v[1] ** 2 + k * (q[0] - r0) - m * g * math.cos(q[1]) + c_r * v[0]
    out[1] = (m * q[0] ** 2 + J) * a[1] + 2 * m * q[0] * v[0] * v[1] + m * g * q[0] * math.sin(q[1]) + c_t * v[1] - u[0]


@njit(TANGENT, cache=True)
def tangent(t, q, v, a, u, ca, cv, cq, reals, ints, out):
    m, J, k, _r0, g, c_r, c_t = reals
    s, c = math.sin(q[1]), math.cos(q[1])
    w = 1
    out[:] = 0.0
    out[2 * w, 0] = ca * m + cv * c_r + cq * (k - m * v[1] ** 2)
    out[2 * w - 1, 1] = -cv * 2 * m * q[0] * v[1] + cq * m * g * s
    out[2 * w + 1, 0] = cv * 2 * m * q[0] * v[1] + cq * (2 * m * q[0] * a[1] + 2 * m * v[0] * v[1] + m * g * s)
    out[2 * w, 1] = ca * (m * q[0] ** 2 + J) + cv * (2 * m * q[0] * v[0] + c_t) + cq * m * g * q[0] * c


@njit(OUTPUT, cache=True)
def output(q, v, a, u, reals, ints, y):
    y[0], y[1] = q[1], v[1]
    y[2] = q[0] * math.sin(q[1])
    y[3] = a[0]


@njit(RESIDUAL, cache=True)
def rod_residual(t, q, v, a, u, reals, ints, out):
    m, _L, g, c = reals
    square = q[0] ** 2 + q[1] ** 2
    out[0] = m / 3.0 * a[0] + c * v[0] + u[1] * q[0] + u[0] * q[1] / square
    out[1] = m / 3.0 * a[1] + c * v[1] + u[1] * q[1] - u[0] * q[0] / square + 0.5 * m * g


@njit(TANGENT, cache=True)
def rod_tangent(t, q, v, a, u, ca, cv, cq, reals, ints, out):
    m, _L, _g, c = reals
    x, y = q
    square = x**2 + y**2
    w = 1
    out[:] = 0.0
    out[2 * w, 0] = ca * m / 3.0 + cv * c + cq * (u[1] - u[0] * 2.0 * x * y / square**2)
    out[2 * w - 1, 1] = cq * u[0] * (1.0 / square - 2.0 * y * y / square**2)
    out[2 * w + 1, 0] = cq * u[0] * (2.0 * x * x / square**2 - 1.0 / square)
    out[2 * w, 1] = ca * m / 3.0 + cv * c + cq * (u[1] + u[0] * 2.0 * x * y / square**2)


@njit(OUTPUT, cache=True)
def rod_output(q, v, a, u, reals, ints, y):
    y[0] = math.atan2(q[0], -q[1])
    y[1] = (q[0] * v[1] - q[1] * v[0]) / (q[0] ** 2 + q[1] ** 2)
    y[2], y[3] = q[0], a[0]


@njit(CLOSURE, cache=True)
def rod_closure(q, v, reals, ints, g, bias, G, V, W):
    g[0] = 0.5 * (q[0] ** 2 + q[1] ** 2 - reals[1] ** 2)
    bias[0] = v[0] ** 2 + v[1] ** 2
    for j in range(2):
        G[0, j], V[0, j], W[j, 0] = q[j], v[j], q[j]
