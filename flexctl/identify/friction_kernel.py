"""A sampled linear plant with dry friction, compiled.

    x+ = Phi x + Gu0 u + Gu1 u+ + Gf0 F + Gf1 F+        inputs held or linear, friction linear over a substep
    w  = Cw x                                           rates of the joints that rub
    F  = g tanh(w / ve)   or   s0 z + s1 z',  z' = w - s0 |w| z / g,   g = Fc + (Fs - Fc) exp(-(w / vs)^2)

The linear part is exact. F+ is solved for joint by joint: w+ = w_free - S F(w+), S > 0, which has one root where
friction does not fall faster than 1 / S; it is bracketed, so that the solution cannot fail.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import types

from ..kernels.jit import entry, kernel
from ..kernels.tables import MAT, PLAIN, VEC
from ..kernels.vectors import row_sum

CUBE = types.float64[:, :, ::1]
COULOMB, STATIC, STRIBECK, CREEP, STIFF, SOFT, LAW = range(7)
SWEEPS = 50


@kernel(**PLAIN)
def level(c, w):
    """Return g(w)."""
    if c[STATIC] > c[COULOMB]:
        return c[COULOMB] + (c[STATIC] - c[COULOMB]) * math.exp(-((w / c[STRIBECK]) ** 2))
    return c[COULOMB]


@kernel(**PLAIN)
def bristle(c, w, z, dz, h):
    """Return deflection and its rate at the end of a substep (trapezoidal rule)."""
    pull = c[STIFF] * abs(w) / level(c, w)
    new = (z + 0.5 * h * (dz + w)) / (1.0 + 0.5 * h * pull)
    return new, w - pull * new


@kernel(**PLAIN)
def friction(c, w, z, dz, h):
    """Return the friction at a rate w at the end of a substep."""
    if c[LAW] == 0.0:
        return level(c, w) * math.tanh(w / c[CREEP])
    new, rate = bristle(c, w, z, dz, h)
    return c[STIFF] * new + c[SOFT] * rate


@kernel(**PLAIN)
def rate_after(c, free, S, z, dz, h, guess):
    """Return the root w of w - free + S F(w)."""
    low = free - S * (c[STATIC] + 1e-12) - 1e-12
    high = free + S * (c[STATIC] + 1e-12) + 1e-12
    for _ in range(60):  # bristles may push harder than Fs for a moment
        if low - free + S * friction(c, low, z, dz, h) <= 0.0:
            break
        low -= 2.0 * (free - low) + 1e-12
    for _ in range(60):
        if high - free + S * friction(c, high, z, dz, h) >= 0.0:
            break
        high += 2.0 * (high - free) + 1e-12
    w = min(max(guess, low), high)
    for _ in range(100):
        value = w - free + S * friction(c, w, z, dz, h)
        if value > 0.0:
            high = w
        else:
            low = w
        step = 1e-7 * max(abs(w), 1e-3 * c[CREEP])
        slope = (w + step - free + S * friction(c, w + step, z, dz, h) - value) / step
        new = w - value / slope if slope > 0.0 else low
        if not (low < new < high):
            new = 0.5 * (low + high)
        if abs(new - w) <= 1e-12 * max(abs(w), c[CREEP]) or high - low <= 1e-14:
            return new
        w = new
    return w


class Form(NamedTuple):
    """The plant for substeps h[0] and parts of them, h[1] and h[2]: cubes hold a matrix for each; Phi is transposed."""

    PhiT: np.ndarray
    Gu0: np.ndarray
    Gu1: np.ndarray
    Gf0: np.ndarray
    Gf1: np.ndarray
    Cw: np.ndarray
    C: np.ndarray
    Df: np.ndarray
    laws: np.ndarray
    h: np.ndarray


FORM = types.NamedTuple((*(CUBE,) * 5, MAT, MAT, MAT, MAT, VEC), Form)


class State(NamedTuple):
    """Plant x; of each joint that rubs friction F, rate w, deflection z of the bristles and its rate."""

    x: np.ndarray
    F: np.ndarray
    w: np.ndarray
    z: np.ndarray
    dz: np.ndarray


class New(NamedTuple):
    """The end of a substep: x, F, and the rates."""

    x: np.ndarray
    F: np.ndarray
    free: np.ndarray


@kernel(**PLAIN)
def step(form, S, l, state, now, after, new):
    """Take one substep h[l] with inputs `now` and `after`, and fill `new`.

    Returns the largest change of a friction force that has no bristles, as a part of its Coulomb level.
    """
    PhiT, Gu0, Gu1, Gf0, Gf1 = form.PhiT[l], form.Gu0[l], form.Gu1[l], form.Gf0[l], form.Gf1[l]
    Cw, laws, h = form.Cw, form.laws, form.h[l]
    x, F, w, z, dz = state.x, state.F, state.w, state.z, state.dz
    x_new, F_new, free = new.x, new.F, new.free
    n, p, nf = PhiT.shape[0], Gu0.shape[1], Cw.shape[0]
    for i in range(n):
        value = 0.0
        for k in range(p):
            value += Gu0[i, k] * now[k] + Gu1[i, k] * after[k]
        for k in range(nf):
            value += Gf0[i, k] * F[k]
        x_new[i] = value
    for k in range(n):  # columns: the inner loop adds to neighbours, several at a time
        part = x[k]
        for i in range(n):
            x_new[i] += PhiT[k, i] * part
    for i in range(nf):
        free[i] = 0.0
        for k in range(n):
            free[i] += Cw[i, k] * x_new[k]
        F_new[i] = F[i]
    for _ in range(SWEEPS if nf > 1 else 1):
        change = 0.0
        for i in range(nf):
            alone = free[i]
            for j in range(nf):
                if j != i:
                    alone += S[l, i, j] * F_new[j]
            root = rate_after(laws[i], alone, -S[l, i, i], z[i], dz[i], h, w[i])
            value = friction(laws[i], root, z[i], dz[i], h)
            change = max(change, abs(value - F_new[i]))
            F_new[i] = value
        if change <= 1e-13:
            break
    most = 0.0
    for i in range(nf):
        if laws[i, LAW] == 0.0:
            most = max(most, abs(F_new[i] - F[i]) / laws[i, COULOMB])
        for k in range(nf):
            free[i] += S[l, i, k] * F_new[k]
    for i in range(n):
        for k in range(nf):
            x_new[i] += Gf1[i, k] * F_new[k]
    return most


@kernel(**PLAIN)
def accept(form, l, state, new):
    """Make the end of a substep h[l] its state."""
    x, F, w, z, dz, laws, h = state.x, state.F, state.w, state.z, state.dz, form.laws, form.h[l]
    x_new, F_new, free = new.x, new.F, new.free
    for i in range(F.size):
        w[i] = free[i]
        F[i] = F_new[i]
        if laws[i, LAW] != 0.0:
            z[i], dz[i] = bristle(laws[i], w[i], z[i], dz[i], h)
    for i in range(x.size):
        x[i] = x_new[i]


@kernel(**PLAIN)
def drive(u, s, held, begin, end, now, after):
    """Fill the inputs at two moments, parts of a sample, after the sample s."""
    for k in range(now.size):
        slope = 0.0 if held else u[s + 1, k] - u[s, k]
        now[k], after[k] = u[s, k] + slope * begin, u[s, k] + slope * end


@kernel(**PLAIN)
def beginning(form, S, state):
    """Fill what a change of the friction at the end of substeps changes in rates, and rates and friction of a state."""
    Gf1, Cw, F, w = form.Gf1, form.Cw, state.F, state.w
    n, nf = form.PhiT.shape[1], Cw.shape[0]
    for i in range(nf):
        for l in range(S.shape[0]):
            for j in range(nf):
                for k in range(n):
                    S[l, i, j] += Cw[i, k] * Gf1[l, k, j]
        for k in range(n):
            w[i] += Cw[i, k] * state.x[k]
        F[i] = friction(form.laws[i], w[i], 0.0, 0.0, 0.0)


@entry(types.void(FORM, types.int64, types.int64, types.float64, MAT, types.boolean, VEC, MAT))
def run(form, substeps, finer, turn, u, held, x, y):
    """Fill the outputs y, a row for each sample, without direct feed-through of inputs; x is the state at the first.

    A substep is divided, and its parts again, where tanh friction changes by more than `turn` of its level in it: where
    a joint turns round, sticks or breaks away. Where that begins or ends moves with the parameters, and the outputs
    then jump by what the division mends: `turn` must be small. Bristles take steps of one length: their force is
    smooth, so that the error falls with the square of the step.
    """
    C, Df, p, nf = form.C, form.Df, form.Gu0.shape[2], form.Cw.shape[0]
    now, after, S = np.zeros(p), np.zeros(p), np.zeros((3, nf, nf))
    state = State(x, np.zeros(nf), np.zeros(nf), np.zeros(nf), np.zeros(nf))
    new = New(np.zeros(x.size), np.zeros(nf), np.zeros(nf))
    beginning(form, S, state)
    one, two = 1.0 / substeps, 1.0 / (substeps * finer)
    for s in range(y.shape[0]):
        for i in range(y.shape[1]):
            y[s, i] = row_sum(row_sum(0.0, C, i, x), Df, i, state.F)
        if s == y.shape[0] - 1:
            break
        for part in range(substeps):
            drive(u, s, held, part * one, (part + 1) * one, now, after)
            if step(form, S, 0, state, now, after, new) <= turn or finer <= 1:
                accept(form, 0, state, new)
                continue
            for inner in range(finer):
                begin = part * one + inner * two
                drive(u, s, held, begin, begin + two, now, after)
                if step(form, S, 1, state, now, after, new) <= turn:
                    accept(form, 1, state, new)
                    continue
                for last in range(finer):
                    moment = begin + last * two / finer
                    drive(u, s, held, moment, moment + two / finer, now, after)
                    step(form, S, 2, state, now, after, new)
                    accept(form, 2, state, new)
