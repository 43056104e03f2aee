"""One driven joint: motor, gear, friction, spring and play, as residual, derivatives and readings.

A joint has four slots of coordinates, of which those that it does not need stay out:

    0  q       angle of the link side          residual: what the joint does to the link, with the sign of M a + h
    1  theta   angle of the motor side         Jm w' + F + s2 w + tau_j - tau_m
    2  Q       charge, Q' = i                  L i' + R i + N Ke w - V
    3  Z       Z' = s0 z / Fc, z the deflection of the bristles: Fc (z' + s0 |w| z / g - w)

A rigid joint has theta = q. `models.wrappers.drive` has the equations with their meaning and their sources.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numba import types

from .drive_places import (
    BACK,
    BRISTLE,
    BRISTLES,
    CHARGE,
    COULOMB,
    CREEP,
    CUBIC,
    CURRENT,
    CURRENT_READING,
    CURRENTS,
    DAMPER,
    FLEXIBLE,
    FRICTION,
    FRICTION_READING,
    GEAR,
    INDUCTANCE,
    INERTIA,
    INPUT,
    KP,
    KV,
    LINK,
    MOTOR,
    PLAY,
    PUSH,
    READINGS,
    RESISTANCE,
    ROUND,
    SERVO,
    SLOTS,
    SOFT,
    SPRING,
    STATIC,
    STIFF,
    STRIBECK,
    TANH,
    TORQUE,
    TORQUE_READING,
    VISCOUS,
    VOLTAGE,
    VOLTS,
    WINDING,
)
from .jit import entry, kernel
from .tables import MAT, PLAIN, VEC

AMPLIFIER = 100.0
"""An amplifier that limits the current pulls it back with so many times the resistance of the winding."""
REVERSAL = 1e-5
"""Rate [rad/s] within which the losses of a gear change their direction."""


@kernel(**PLAIN)
def clipped(x, bound):
    """Return x within -bound ... bound, and the derivative."""
    if x > bound:
        return bound, 0.0
    if x < -bound:
        return -bound, 0.0
    return x, 1.0


@kernel(**PLAIN)
def play(d, b, e):
    """Return dz(d), its first and its second derivative."""
    if b == 0.0:
        return d, 1.0, 0.0
    low, high = math.sqrt((d - b) ** 2 + e * e), math.sqrt((d + b) ** 2 + e * e)
    first = 1.0 + 0.5 * ((d - b) / low - (d + b) / high)
    return d + 0.5 * (low - high), first, 0.5 * e * e * (1.0 / low**3 - 1.0 / high**3)


@kernel(**PLAIN)
def stribeck(c, w):
    """Return g(w) and dg/dw."""
    excess = (c[STATIC] - c[COULOMB]) * math.exp(-((w / c[STRIBECK]) ** 2)) if c[STATIC] > c[COULOMB] else 0.0
    slope = -2.0 * w / c[STRIBECK] ** 2 * excess if excess > 0.0 else 0.0
    return c[COULOMB] + excess, slope


@kernel(**PLAIN)
def reach(c, w, change):
    """Return which part of a change of its motor's rate a joint may take at once: up to where its friction turns round.

    On either side of rest tanh friction is all but constant, and so is what a gear loses: Newton would leap from one
    side to the other for ever. At rest it sees the slope.
    """
    width = c[CREEP] if c[FRICTION] == TANH else 0.0
    if c[GEAR] < 1.0:
        width = max(width, REVERSAL)
    if width == 0.0 or abs(w) <= width or abs(w + change) <= width or (w > 0.0) == (w + change > 0.0):
        return 1.0
    return -w / change


@kernel(**PLAIN)
def slots_of(c):
    """Return how many slots, from the first on, hold all that a joint has."""
    if c[FRICTION] == BRISTLES:
        return BRISTLE + 1
    if c[INPUT] == WINDING:
        return CHARGE + 1
    return int(c[FLEXIBLE]) + 1


@kernel(**PLAIN)
def drive(c, local, found):
    """Fill residual r (4), its derivatives M, D, K (4 x 4) and B (4 x 2), readings y (3) and theirs Y (3, 14).

    c: constants of the joint; local: rows of positions, rates, accelerations and inputs; found: what is filled. Y holds
    the derivatives by the four accelerations, rates and positions, then by the two inputs. It may have no rows: a step
    does not ask for them, and of the rest what stands at the first `slots_of` slots alone is filled.
    """
    x, v, a, u, (r, M, D, K, B, y, Y) = local[0], local[1], local[2], local[3], found
    told = Y.shape[0] > 0
    top = SLOTS if told else slots_of(c)
    for i in range(top):
        r[i] = B[i, 0] = B[i, 1] = 0.0
        for j in range(top):
            M[i, j] = D[i, j] = K[i, j] = 0.0
    for i in range(READINGS):
        y[i] = 0.0
        for j in range(Y.shape[1] if told else 0):
            Y[i, j] = 0.0
    kind, m = int(c[INPUT]), int(c[FLEXIBLE])
    w, dw = v[m], a[m]
    # torque of the motor beyond the gear: tau, and its derivatives by angle, rate, current state, inputs
    tau, by_x, by_w, by_i, by_u, by_other = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    if kind == TORQUE:
        tau, by_u = u[0], 1.0
    elif kind == SERVO:
        tau = c[KP] * (u[0] - x[m]) + c[KV] * (u[1] - w)
        by_x, by_w, by_u, by_other = -c[KP], -c[KV], c[KP], c[KV]
    elif kind == CURRENT:
        i, part = clipped(u[0], c[CURRENTS])
        tau, by_u = c[PUSH] * i, c[PUSH] * part
        y[CURRENT_READING] = i
        if told:
            Y[CURRENT_READING, 12] = part
    elif kind == VOLTAGE:
        volts, part = clipped(u[0], c[VOLTS])
        i, free = clipped((volts - c[BACK] * w) / c[RESISTANCE], c[CURRENTS])
        i_w, i_u = -free * c[BACK] / c[RESISTANCE], free * part / c[RESISTANCE]
        tau, by_w, by_u = c[PUSH] * i, c[PUSH] * i_w, c[PUSH] * i_u
        y[CURRENT_READING] = i
        if told:
            Y[CURRENT_READING, 4 + m], Y[CURRENT_READING, 12] = i_w, i_u
    elif kind == WINDING:
        i = v[CHARGE]
        tau, by_i = c[PUSH] * i, c[PUSH]
        y[CURRENT_READING] = i
        if told:
            Y[CURRENT_READING, 4 + CHARGE] = 1.0
        volts, part = clipped(u[0], c[VOLTS])
        rise, rise_w, rise_i = volts - c[BACK] * w - c[RESISTANCE] * i, -c[BACK], -c[RESISTANCE]
        if c[CURRENTS] < np.inf:  # the amplifier takes the voltage back before the current goes beyond
            pull = AMPLIFIER * c[RESISTANCE]
            for side in (1.0, -1.0):
                back = pull * (side * c[CURRENTS] - i)
                if side * rise > side * back:
                    rise, rise_w, rise_i, part = back, 0.0, -pull, 0.0
        r[CHARGE], M[CHARGE, CHARGE] = c[INDUCTANCE] * a[CHARGE] - rise, c[INDUCTANCE]
        D[CHARGE, m], D[CHARGE, CHARGE], B[CHARGE, 0] = -rise_w, -rise_i, -part
    # friction
    F, F_w, F_z = c[VISCOUS] * w, c[VISCOUS], 0.0
    if c[FRICTION] == TANH:
        g, g_w = stribeck(c, w)
        t = math.tanh(w / c[CREEP])
        F, F_w = F + g * t, F_w + g_w * t + g * (1.0 - t * t) / c[CREEP]
    elif c[FRICTION] == BRISTLES:
        g, g_w = stribeck(c, w)
        load, Fc, speed = v[BRISTLE], c[COULOMB], abs(w)
        sign = 1.0 if w > 0.0 else -1.0 if w < 0.0 else 0.0
        slip, slip_z = speed * Fc * load / g, speed * Fc / g
        slip_w = Fc * load * (sign / g - speed * g_w / (g * g))
        F += Fc * load + c[SOFT] * (w - slip)
        F_w += c[SOFT] * (1.0 - slip_w)
        F_z = Fc - c[SOFT] * slip_z
        soft = Fc * Fc / c[STIFF]
        r[BRISTLE], M[BRISTLE, BRISTLE] = soft * a[BRISTLE] + Fc * (slip - w), soft
        D[BRISTLE, BRISTLE], D[BRISTLE, m] = Fc * slip_z, Fc * (slip_w - 1.0)
    y[FRICTION_READING] = F
    if told:
        Y[FRICTION_READING, 4 + m], Y[FRICTION_READING, 4 + BRISTLE] = F_w, F_z
    inside = tau - c[INERTIA] * dw - F  # what goes into the gear
    by_w, by_z = by_w - F_w, -F_z
    ways = math.tanh(w / REVERSAL) if c[GEAR] < 1.0 else 0.0
    bend = (1.0 - ways * ways) / REVERSAL
    if c[FLEXIBLE] == 0.0:
        out, gain = inside, 1.0
        if c[GEAR] < 1.0:
            sign = 1.0 if inside >= 0.0 else -1.0
            gain = c[GEAR] ** (sign * ways)
            out = gain * inside
            by_w = by_w + out / gain * math.log(c[GEAR]) * sign * bend
        r[LINK] = -out
        row = LINK
        M[row, LINK] = gain * c[INERTIA]
        D[row, LINK] -= gain * by_w
        D[row, CHARGE] -= gain * by_i
        D[row, BRISTLE] -= gain * by_z
        K[row, LINK] -= gain * by_x
        B[row, 0] -= gain * by_u
        B[row, 1] -= gain * by_other
    else:
        z, z1, z2 = play(x[MOTOR] - x[LINK], c[PLAY], c[ROUND])
        rate = v[MOTOR] - v[LINK]
        out = c[SPRING] * z + c[CUBIC] * z**3 + c[DAMPER] * z1 * rate
        out_x = (c[SPRING] + 3.0 * c[CUBIC] * z * z) * z1 + c[DAMPER] * z2 * rate
        out_v = c[DAMPER] * z1
        r[LINK] = -out
        K[LINK, LINK], K[LINK, MOTOR], D[LINK, LINK], D[LINK, MOTOR] = out_x, -out_x, out_v, -out_v
        gain, turn = 1.0, 0.0
        if c[GEAR] < 1.0:
            sign = 1.0 if out >= 0.0 else -1.0
            gain = c[GEAR] ** (-sign * ways)
            turn = -gain * out * math.log(c[GEAR]) * sign * bend
        row = MOTOR
        r[row] = gain * out - inside
        M[row, MOTOR] = c[INERTIA]
        K[row, LINK], K[row, MOTOR] = -gain * out_x, gain * out_x - by_x
        D[row, LINK], D[row, MOTOR] = -gain * out_v, gain * out_v + turn - by_w
        D[row, CHARGE], D[row, BRISTLE] = -by_i, -by_z
        B[row, 0], B[row, 1] = -by_u, -by_other
    y[TORQUE_READING] = -r[LINK]
    if not told:
        return
    for j in range(4):
        Y[TORQUE_READING, j], Y[TORQUE_READING, 4 + j], Y[TORQUE_READING, 8 + j] = -M[0, j], -D[0, j], -K[0, j]
    Y[TORQUE_READING, 12], Y[TORQUE_READING, 13] = -B[0, 0], -B[0, 1]


@entry(types.void(VEC, MAT, types.Tuple((VEC, MAT, MAT, MAT, MAT, VEC, MAT))), error_model="numpy")
def drive_entry(c, local, found):
    """`drive`, for Python."""
    drive(c, local, found)


@entry(types.float64(VEC, types.float64, types.float64), error_model="numpy")
def reach_entry(c, w, change):
    """`reach`, for Python."""
    return reach(c, w, change)


def energy(c: np.ndarray, x: np.ndarray, v: np.ndarray) -> tuple[float, float]:
    """Return what a joint stores: in rotor and winding, and in springs and bristles [J]."""
    m = int(c[FLEXIBLE])
    kinetic = 0.5 * c[INERTIA] * v[m] ** 2 + 0.5 * c[INDUCTANCE] * v[CHARGE] ** 2 * (c[INPUT] == WINDING)
    potential = 0.5 * c[COULOMB] ** 2 / c[STIFF] * v[BRISTLE] ** 2 if c[FRICTION] == BRISTLES else 0.0
    potential += 0.5 * c[KP] * x[m] ** 2 * (c[INPUT] == SERVO)
    if m:
        potential += _wound(c, float(x[MOTOR] - x[LINK]))
    return float(kinetic), float(potential)


def _wound(c: np.ndarray, d: float) -> float:
    """Return the integral of k dz + k3 dz^3 from 0 to d."""
    b, e, k, k3 = c[PLAY], c[ROUND], c[SPRING], c[CUBIC]
    if b == 0.0:
        return float(0.5 * k * d**2 + 0.25 * k3 * d**4)

    def root(x: float) -> float:
        return float(0.5 * (x * math.hypot(x, e) + e * e * math.asinh(x / e)))

    total = k * (0.5 * d * d + 0.5 * (root(d - b) - root(-b) - root(d + b) + root(b)))
    if k3:
        from numpy.polynomial.legendre import leggauss

        s, weight = leggauss(24)
        edges = [0.0, *(x for x in (b - 8 * e, b + 8 * e) if 0.0 < x < abs(d)), abs(d)]
        for low, high in pairwise(edges):
            at = 0.5 * (low + high) + 0.5 * (high - low) * s
            dz = at + 0.5 * (np.hypot(at - b, e) - np.hypot(at + b, e))
            total += 0.5 * (high - low) * k3 * float(weight @ dz**3)
    return float(total)
