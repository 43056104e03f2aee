"""One driven joint: motor, gear, friction, spring and play, as residual, derivatives and readings.

A joint has four slots of coordinates, of which those that it does not need stay out:

    0  q       angle of the link side          residual: what the joint does to the link, with the sign of M a + h
    1  theta   angle of the motor side         Jm w' + F + s2 w + tau_j - tau_m
    2  Q       charge, Q' = i                  L i' + R i + N Ke w - V
    3  Z       Z' = s0 z / Fc, z the deflection of the bristles: Fc (z' + s0 |w| z / g - w)

A rigid joint has theta = q; one that is led has theta'' - u in the second row. `models.wrappers.drive` has the
equations with their meaning and their sources.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numba import types

from .drive_places import (
    BACK,
    BRISTLE,
    BRISTLE_BRISTLE,
    BRISTLE_MOTOR,
    BRISTLES,
    CHARGE,
    CHARGE_BY_FIRST,
    CHARGE_CHARGE,
    CHARGE_MOTOR,
    COULOMB,
    CREEP,
    CUBIC,
    CURRENT,
    CURRENT_BY_FIRST,
    CURRENT_BY_RATE,
    CURRENT_READING,
    CURRENTS,
    DAMPER,
    FLEXIBLE,
    FRICTION,
    FRICTION_BY_BRISTLE,
    FRICTION_BY_RATE,
    FRICTION_READING,
    GEAR,
    INDUCTANCE,
    INERTIA,
    INPUT,
    KP,
    KV,
    LED,
    LINK,
    LINK_LINK,
    MOTOR,
    MOTOR_BRISTLE,
    MOTOR_BY_FIRST,
    MOTOR_BY_SECOND,
    MOTOR_CHARGE,
    MOTOR_LINK,
    MOTOR_MOTOR,
    PLAY,
    PUSH,
    RESISTANCE,
    RIGID,
    ROUND,
    SERVO,
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
def push(c, x, v, u):
    """Return the motor's torque beyond its gear, its derivatives by angle, rate, charge rate and both inputs; the
    current, its derivatives by rate and input.
    """
    kind, m = int(c[INPUT]), int(c[FLEXIBLE])
    if kind == SERVO:
        tau = c[KP] * (u[0] - x[m]) + c[KV] * (u[1] - v[m])
        return tau, -c[KP], -c[KV], 0.0, c[KP], c[KV], 0.0, 0.0, 0.0
    if kind == CURRENT:
        i, part = clipped(u[0], c[CURRENTS])
        return c[PUSH] * i, 0.0, 0.0, 0.0, c[PUSH] * part, 0.0, i, 0.0, part
    if kind == VOLTAGE:
        volts, part = clipped(u[0], c[VOLTS])
        i, free = clipped((volts - c[BACK] * v[m]) / c[RESISTANCE], c[CURRENTS])
        i_w, i_u = -free * c[BACK] / c[RESISTANCE], free * part / c[RESISTANCE]
        return c[PUSH] * i, 0.0, c[PUSH] * i_w, 0.0, c[PUSH] * i_u, 0.0, i, i_w, i_u
    if kind == WINDING:
        return c[PUSH] * v[CHARGE], 0.0, 0.0, c[PUSH], 0.0, 0.0, v[CHARGE], 0.0, 0.0
    given = 1.0 if kind == TORQUE else 0.0
    return given * u[0], 0.0, 0.0, 0.0, given, 0.0, 0.0, 0.0, 0.0


@kernel(**PLAIN)
def rise(c, i, w, volts):
    """Return what changes the current of a winding, L i', and its derivatives by rate, current and input."""
    volts, part = clipped(volts, c[VOLTS])
    found, by_w, by_i = volts - c[BACK] * w - c[RESISTANCE] * i, -c[BACK], -c[RESISTANCE]
    if c[CURRENTS] < np.inf:  # the amplifier takes the voltage back before the current goes beyond
        pull = AMPLIFIER * c[RESISTANCE]
        for side in (1.0, -1.0):
            back = pull * (side * c[CURRENTS] - i)
            if side * found > side * back:
                found, by_w, by_i, part = back, 0.0, -pull, 0.0
    return found, by_w, by_i, part


@kernel(**PLAIN)
def rubbing(c, w, load):
    """Return the friction, its derivatives by rate and load of the bristles; how these slip, its derivatives by both.

    load: force of the bristles by Coulomb friction, the rate of slot 3.
    """
    F, F_w = c[VISCOUS] * w, c[VISCOUS]
    if c[FRICTION] == RIGID:
        return F, F_w, 0.0, 0.0, 0.0, 0.0
    g, g_w = stribeck(c, w)
    if c[FRICTION] == TANH:
        t = math.tanh(w / c[CREEP])
        return F + g * t, F_w + g_w * t + g * (1.0 - t * t) / c[CREEP], 0.0, 0.0, 0.0, 0.0
    Fc, speed = c[COULOMB], abs(w)
    sign = 1.0 if w > 0.0 else -1.0 if w < 0.0 else 0.0
    slip, slip_z = speed * Fc * load / g, speed * Fc / g
    slip_w = Fc * load * (sign / g - speed * g_w / (g * g))
    F, F_w = F + Fc * load + c[SOFT] * (w - slip), F_w + c[SOFT] * (1.0 - slip_w)
    return F, F_w, Fc - c[SOFT] * slip_z, slip, slip_w, slip_z


@kernel(**PLAIN)
def drive(c, local, weights, found):
    """Fill residual r (4), readings y (3) and the matrix ca M + cv D + cq K, with derivatives, of a joint in S (ALL).

    c: constants of the joint; local: rows of positions, rates, accelerations and inputs; weights: ca, cv, cq. Of r and
    S what the joint does not have stays as it is.
    """
    x, v, a, u, (ca, cv, cq), (r, y, S) = local[0], local[1], local[2], local[3], weights, found
    m = int(c[FLEXIBLE])
    w = v[m]
    tau, by_x, by_w, by_i, by_first, by_second, current, current_w, current_u = push(c, x, v, u)
    F, F_w, F_z, slip, slip_w, slip_z = rubbing(c, w, v[BRISTLE])
    inside = tau - c[INERTIA] * a[m] - F  # what goes into the gear
    y[CURRENT_READING], y[FRICTION_READING] = current, F
    S[CURRENT_BY_RATE], S[CURRENT_BY_FIRST] = current_w, current_u
    S[FRICTION_BY_RATE], S[FRICTION_BY_BRISTLE] = F_w, F_z
    by_w, by_z = by_w - F_w, -F_z
    ways = math.tanh(w / REVERSAL) if c[GEAR] < 1.0 else 0.0
    bend, gain = (1.0 - ways * ways) / REVERSAL, 1.0
    if c[FLEXIBLE] == 0.0:
        if c[GEAR] < 1.0:
            sign = 1.0 if inside >= 0.0 else -1.0
            gain = c[GEAR] ** (sign * ways)
            by_w += inside * math.log(c[GEAR]) * sign * bend
        r[LINK] = -gain * inside
        S[MOTOR_MOTOR] = gain * (ca * c[INERTIA] - cv * by_w - cq * by_x)
    else:
        z, z1, z2 = play(x[MOTOR] - x[LINK], c[PLAY], c[ROUND])
        rate, turn = v[MOTOR] - v[LINK], 0.0
        out = (c[SPRING] + c[CUBIC] * z * z) * z + c[DAMPER] * z1 * rate
        out_x = (c[SPRING] + 3.0 * c[CUBIC] * z * z) * z1 + c[DAMPER] * z2 * rate
        out_v = c[DAMPER] * z1
        if c[GEAR] < 1.0:
            sign = 1.0 if out >= 0.0 else -1.0
            gain = c[GEAR] ** (-sign * ways)
            turn = -gain * out * math.log(c[GEAR]) * sign * bend
        r[LINK], r[MOTOR] = -out, gain * out - inside
        both = cq * out_x + cv * out_v
        S[LINK_LINK], S[MOTOR_LINK] = both, -gain * both
        S[MOTOR_MOTOR] = ca * c[INERTIA] + gain * both + cv * (turn - by_w) - cq * by_x
        gain = 1.0
    y[TORQUE_READING] = -r[LINK]
    S[MOTOR_CHARGE], S[MOTOR_BRISTLE] = -gain * cv * by_i, -gain * cv * by_z
    S[MOTOR_BY_FIRST], S[MOTOR_BY_SECOND] = -gain * by_first, -gain * by_second
    if c[INPUT] == LED:  # it turns as it is told, and its motor gives what that takes
        y[CURRENT_READING], r[MOTOR] = r[MOTOR], a[MOTOR] - u[0]
        S[MOTOR_LINK], S[MOTOR_MOTOR], S[MOTOR_BRISTLE], S[MOTOR_BY_FIRST] = 0.0, ca, 0.0, -1.0
    if c[INPUT] == WINDING:
        more, more_w, more_i, part = rise(c, v[CHARGE], w, u[0])
        r[CHARGE] = c[INDUCTANCE] * a[CHARGE] - more
        S[CHARGE_MOTOR], S[CHARGE_CHARGE] = -cv * more_w, ca * c[INDUCTANCE] - cv * more_i
        S[CHARGE_BY_FIRST] = -part
    if c[FRICTION] == BRISTLES:
        Fc, soft = c[COULOMB], c[COULOMB] * c[COULOMB] / c[STIFF]
        r[BRISTLE] = soft * a[BRISTLE] + Fc * (slip - w)
        S[BRISTLE_MOTOR], S[BRISTLE_BRISTLE] = cv * Fc * (slip_w - 1.0), ca * soft + cv * Fc * slip_z


@kernel(**PLAIN)
def condense(c, r, S):
    """Eliminate all but the link's angle: returns the torque that is left with the sign of r, and the stiffness.

    The motor's row becomes what it is without charge and bristles; `follow` needs it.
    """
    m = int(c[FLEXIBLE])
    left, moves = r[m], S[MOTOR_MOTOR]
    if c[INPUT] == WINDING:
        part = S[MOTOR_CHARGE] / S[CHARGE_CHARGE]
        left, moves = left - part * r[CHARGE], moves - part * S[CHARGE_MOTOR]
    if c[FRICTION] == BRISTLES:
        part = S[MOTOR_BRISTLE] / S[BRISTLE_BRISTLE]
        left, moves = left - part * r[BRISTLE], moves - part * S[BRISTLE_MOTOR]
    if m == 0:
        return left, moves
    r[MOTOR], S[MOTOR_MOTOR] = left, moves
    part = S[LINK_LINK] / moves
    return r[LINK] + part * left, S[LINK_LINK] + part * S[MOTOR_LINK]


@entry(types.void(VEC, MAT, types.Tuple((VEC, VEC, MAT))), error_model="numpy")
def drive_entry(c, local, found):
    """`drive`, for Python: the rows of S are M, D and K."""
    r, y, S = found
    drive(c, local, (1.0, 0.0, 0.0), (r, y, S[0]))
    drive(c, local, (0.0, 1.0, 0.0), (r, y, S[1]))
    drive(c, local, (0.0, 0.0, 1.0), (r, y, S[2]))


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
