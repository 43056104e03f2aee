"""The time loop: integrator, control law and recording in one compiled call.

The steppers share one sampled law and one recording:

* `run_implicit`: generalised-alpha with Newton (Arnold and Brüls 2007, "Convergence of the generalized-alpha scheme
  for constrained mechanical systems"), Newmark and the trapezoidal rule being special parameters; any model.
* `run_closed`: the same for models with closures, which hold for coordinates and rates (see `integrate`).
* `run_explicit`: central differences (velocity Verlet), damping taken at the end of the step; linear models.
* `run_exact`: x+ = Phi x + G0 u(start) + G1 u(end), exact for inputs that are linear within a step; linear models.

Where a control period begins, the law reads the sensors, sets u, and holds it. Where u jumps, the accelerations are
recomputed: without that a closed loop converges at first order only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import float64, int64, njit, types

from . import REFRESH

VEC, MAT, INT = float64[::1], float64[:, ::1], int64[::1]
RESIDUAL = types.void(float64, VEC, VEC, VEC, VEC, VEC, INT, VEC)
"""residual(t, q, v, a, u, reals, ints, out): out = M a + h - B u."""
TANGENT = types.void(float64, VEC, VEC, VEC, VEC, float64, float64, float64, VEC, INT, MAT)
"""tangent(t, q, v, a, u, ca, cv, cq, reals, ints, out): out = ca M + cv D + cq K at out[2 w + i - j, j], w wide."""
OUTPUT = types.void(VEC, VEC, VEC, VEC, VEC, INT, VEC)
"""output(q, v, a, u, reals, ints, y)."""
CLOSURE = types.void(VEC, VEC, VEC, INT, VEC, VEC, MAT, MAT, MAT)
"""closure(q, v, reals, ints, g, bias, G, V, W): g, (dG/dt) v; G, V = d(G v)/dq; W of M a + h + W lam = B u, n x m."""


class Law(NamedTuple):
    """x+ = A x + By y + Br r + Bu sat(u), u = C x + Dy y + Dr r, with sensor quantisation and noise and a delay."""

    A: np.ndarray
    By: np.ndarray
    Br: np.ndarray
    Bu: np.ndarray
    C: np.ndarray
    Dy: np.ndarray
    Dr: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    quantum: np.ndarray
    noise: np.ndarray
    measures: np.ndarray
    drives: np.ndarray


LAW = types.NamedTuple((MAT, MAT, MAT, MAT, MAT, MAT, MAT, VEC, VEC, VEC, MAT, INT, INT), Law)


class Tables(NamedTuple):
    """What is prescribed along the time grid t (N + 1 points)."""

    t: np.ndarray  # time [s]
    h: np.ndarray  # (N,) step sizes [s], equal ones equal to the last bit
    due: np.ndarray  # (N + 1,) number of the control period that begins here, or -1
    before: np.ndarray  # (N + 1, p) prescribed inputs, left limit
    after: np.ndarray  # (N + 1, p) right limit
    reference: np.ndarray  # (periods, nr)
    motion: np.ndarray  # (N + 1, 3 m) angle, rate, acceleration of each of the m prescribed coordinates
    prescribed: np.ndarray  # their m indices


TABLES = types.NamedTuple((VEC, VEC, INT, MAT, MAT, MAT, MAT, INT), Tables)


class Record(NamedTuple):
    """What is recorded at every point of the time grid."""

    y: np.ndarray
    u: np.ndarray
    q: np.ndarray  # (N + 1, n), or (1, n): not recorded
    v: np.ndarray


RECORD = types.NamedUniTuple(MAT, 4, Record)


class Scheme(NamedTuple):
    """Generalised-alpha parameters, Newton tolerance on the correction, and iteration limit."""

    alpha_m: float
    alpha_f: float
    beta: float
    gamma: float
    tolerance: float
    iterations: float


SCHEME = types.NamedUniTuple(float64, 6, Scheme)

DONE, NOT_CONVERGED, SINGULAR, DIVERGED = 0, 1, 2, 3
BOUND = 1e6  # a coordinate (m, rad) beyond this is divergence, not motion


@njit(types.void(LAW, int64, VEC, VEC, MAT, VEC), cache=True)
def law_step(law, k, y, r, memory, u):  # type: ignore[no-untyped-def]
    """One period of the law. memory[0] = state x, memory[1:] = commands waiting (delay); adds the command into u."""
    nx, nu, ny = law.A.shape[0], law.drives.size, law.measures.size
    m = np.empty(ny)
    for i in range(ny):
        m[i] = y[law.measures[i]]
        if law.noise.shape[0] > 0:
            m[i] += law.noise[k % law.noise.shape[0], i]
        if law.quantum[i] > 0.0:
            m[i] = law.quantum[i] * np.floor(m[i] / law.quantum[i] + 0.5)
    command = np.empty(nu)
    for i in range(nu):
        total = 0.0
        for j in range(nx):
            total += law.C[i, j] * memory[0, j]
        for j in range(ny):
            total += law.Dy[i, j] * m[j]
        for j in range(r.size):
            total += law.Dr[i, j] * r[j]
        command[i] = min(max(total, law.lower[i]), law.upper[i])
    new = np.empty(nx)
    for i in range(nx):
        total = 0.0
        for j in range(nx):
            total += law.A[i, j] * memory[0, j]
        for j in range(ny):
            total += law.By[i, j] * m[j]
        for j in range(r.size):
            total += law.Br[i, j] * r[j]
        for j in range(nu):
            total += law.Bu[i, j] * command[j]
        new[i] = total
    for i in range(nx):
        memory[0, i] = new[i]
    delay = memory.shape[0] - 1
    for i in range(nu):
        now = command[i]
        if delay > 0:
            now = memory[1, i]
            for d in range(1, delay):
                memory[d, i] = memory[d + 1, i]
            memory[delay, i] = command[i]
        u[law.drives[i]] += now


@njit(int64(MAT, INT, int64), cache=True)
def factor(ab, pivots, w):  # type: ignore[no-untyped-def]
    """LU with partial pivoting of a banded matrix ab[2 w + i - j, j], in place; returns 1 when singular."""
    n = ab.shape[1]
    for j in range(n):
        last = min(j + w, n - 1)
        p = j
        for i in range(j + 1, last + 1):
            if abs(ab[2 * w + i - j, j]) > abs(ab[2 * w + p - j, j]):
                p = i
        pivots[j] = p
        end = min(j + 2 * w, n - 1)
        if p != j:
            for c in range(j, end + 1):
                keep = ab[2 * w + j - c, c]
                ab[2 * w + j - c, c] = ab[2 * w + p - c, c]
                ab[2 * w + p - c, c] = keep
        pivot = ab[2 * w, j]
        if pivot == 0.0 or not np.isfinite(pivot):
            return 1
        for i in range(j + 1, last + 1):
            ab[2 * w + i - j, j] /= pivot
        for c in range(j + 1, end + 1):
            x = ab[2 * w + j - c, c]
            if x != 0.0:
                for i in range(j + 1, last + 1):
                    ab[2 * w + i - c, c] -= ab[2 * w + i - j, j] * x
    return 0


@njit(types.void(MAT, INT, int64, VEC), cache=True)
def solve(ab, pivots, w, b):  # type: ignore[no-untyped-def]
    """Solve with the factors of `factor`, in place."""
    n = ab.shape[1]
    for j in range(n):
        p = pivots[j]
        x = b[p]
        b[p] = b[j]
        b[j] = x
        for i in range(j + 1, min(j + w, n - 1) + 1):
            b[i] -= ab[2 * w + i - j, j] * x
    for j in range(n - 1, -1, -1):
        b[j] /= ab[2 * w, j]
        x = b[j]
        for i in range(max(0, j - 2 * w), j):
            b[i] -= ab[2 * w + i - j, j] * x


@njit(types.void(MAT, int64, VEC, float64, VEC), cache=True)
def add_product(ab, w, x, c, out):  # type: ignore[no-untyped-def]
    """Compute out += c S x for a banded matrix S in the storage ab[2 w + i - j, j]."""
    n = x.size
    for j in range(n):
        cx = c * x[j]
        for i in range(max(0, j - w), min(n - 1, j + w) + 1):
            out[i] += ab[2 * w + i - j, j] * cx


@njit(types.boolean(VEC), cache=True)
def bounded(q):  # type: ignore[no-untyped-def]
    """Whether every entry is finite and within BOUND."""
    largest = 0.0
    for x in q:
        largest = max(largest, abs(x)) if abs(x) <= BOUND else np.inf
    return largest <= BOUND


@njit(types.void(INT, int64, MAT), cache=True)
def prescribe_rows(prescribed, w, ab):  # type: ignore[no-untyped-def]
    """Replace the equations of prescribed coordinates by the identity."""
    n = ab.shape[1]
    for i in prescribed:
        for j in range(max(0, i - w), min(n - 1, i + w) + 1):
            ab[2 * w + i - j, j] = 1.0 if i == j else 0.0


@njit(types.void(RECORD, int64, VEC, VEC, VEC, VEC), cache=True)
def write(record, k, y, u, q, v):  # type: ignore[no-untyped-def]
    """Record grid point k."""
    record.y[k] = y
    record.u[k] = u
    if record.q.shape[0] > 1:
        record.q[k] = q
        record.v[k] = v


@njit(types.boolean(LAW, int64, VEC, TABLES, MAT, VEC, VEC), cache=True)
def control(law, k, y, tables, memory, held, u):  # type: ignore[no-untyped-def]
    """Set the inputs to their right limits at grid point k, calling the law when due; returns whether u jumped."""
    if tables.due[k] >= 0:
        held[:] = 0.0
        law_step(law, tables.due[k], y, tables.reference[tables.due[k]], memory, held)
    jump = False
    for i in range(u.size):
        new = held[i] + tables.after[k, i]
        jump = jump or new != u[i]
        u[i] = new
    return jump


@njit(
    types.UniTuple(float64, 4)(
        types.FunctionType(RESIDUAL), types.FunctionType(TANGENT), types.FunctionType(OUTPUT), VEC, INT, int64, int64,
        VEC, VEC, VEC, VEC, VEC, VEC, MAT, LAW, int64, int64, SCHEME, TABLES, RECORD,
    ),
    cache=True,
)  # fmt: skip
def run_implicit(  # type: ignore[no-untyped-def]
    residual, tangent, output, reals, ints, w, constant, q, v, a, algorithmic, u, held, memory, law, first, last,
    scheme, tables, record,
):  # fmt: skip
    """Advance from grid point `first` to `last`; returns (status, time, iteration, size of the last correction)."""
    n, p = q.size, u.size
    t, prescribed = tables.t, tables.prescribed
    r, y = np.empty(n), np.empty(record.y.shape[1])
    mass, S = np.zeros((3 * w + 1, n)), np.zeros((3 * w + 1, n))
    mass_pivots, S_pivots = np.empty(n, np.int64), np.empty(n, np.int64)
    factored, mass_ready = 0.0, False
    am, af, beta, gamma = scheme.alpha_m, scheme.alpha_f, scheme.beta, scheme.gamma
    for k in range(first, last):
        output(q, v, a, u, reals, ints, y)
        if control(law, k, y, tables, memory, held, u):
            if not (mass_ready and constant == 1):
                tangent(t[k], q, v, a, u, 1.0, 0.0, 0.0, reals, ints, mass)
                prescribe_rows(prescribed, w, mass)
                if factor(mass, mass_pivots, w) != 0:
                    return 2.0, t[k], 0.0, 0.0
                mass_ready = True
            residual(t[k], q, v, a, u, reals, ints, r)
            for i in prescribed:
                r[i] = 0.0
            solve(mass, mass_pivots, w, r)
            for i in range(n):  # the jump carries over to the shifted acceleration: the order of the scheme is kept
                a[i] -= r[i]
                algorithmic[i] -= r[i]
        write(record, k, y, u, q, v)
        h = tables.h[k]
        for i in range(n):
            old = algorithmic[i]
            algorithmic[i] = (a[i] - am * old) / (1.0 - am)
            q[i] += h * v[i] + h * h * ((0.5 - beta) * old + beta * algorithmic[i])
            v[i] += h * ((1.0 - gamma) * old + gamma * algorithmic[i])
        for j in range(prescribed.size):
            i = prescribed[j]
            q[i], v[i] = tables.motion[k + 1, 3 * j], tables.motion[k + 1, 3 * j + 1]
            a[i] = tables.motion[k + 1, 3 * j + 2]
            algorithmic[i] = a[i]
        for i in range(p):
            u[i] = held[i] + tables.before[k + 1, i]
        cv, ca = gamma / (h * beta), (1.0 - am) / (h * h * beta * (1.0 - af))
        converged, size, iteration = False, 0.0, 0
        while not converged and iteration < scheme.iterations:
            iteration += 1
            if not (constant == 1 and factored == h):
                tangent(t[k + 1], q, v, a, u, ca, cv, 1.0, reals, ints, S)
                prescribe_rows(prescribed, w, S)
                if factor(S, S_pivots, w) != 0:
                    return 2.0, t[k + 1], float(iteration), size
                factored = h
            residual(t[k + 1], q, v, a, u, reals, ints, r)
            for i in prescribed:
                r[i] = 0.0
            solve(S, S_pivots, w, r)
            size, extent = 0.0, 1.0
            for i in range(n):
                q[i] -= r[i]
                v[i] -= cv * r[i]
                a[i] -= ca * r[i]
                algorithmic[i] -= (1.0 - af) / (1.0 - am) * ca * r[i]
                size = max(size, abs(r[i]))
                extent = max(extent, abs(q[i]))
            if not np.isfinite(size):
                return 1.0, t[k + 1], float(iteration), size
            # with a constant tangent one correction solves the step exactly
            converged = constant == 1 or size <= scheme.tolerance * extent
        if not converged:
            return 1.0, t[k + 1], float(iteration), size
        if not bounded(q):
            return 3.0, t[k + 1], float(iteration), size
    output(q, v, a, u, reals, ints, y)
    write(record, last, y, u, q, v)
    return 0.0, t[last], 0.0, 0.0


@njit(int64(MAT, INT), cache=True)
def factor_full(A, pivots):  # type: ignore[no-untyped-def]
    """LU with partial pivoting of a full matrix, in place; returns 1 when singular."""
    n = A.shape[0]
    for j in range(n):
        p, largest = j, abs(A[j, j])
        for i in range(j + 1, n):
            if abs(A[i, j]) > largest:
                p, largest = i, abs(A[i, j])
        pivots[j] = p
        if not (largest > 0.0 and np.isfinite(largest)):
            return 1
        if p != j:
            for c in range(n):
                keep = A[j, c]
                A[j, c] = A[p, c]
                A[p, c] = keep
        inverse = 1.0 / A[j, j]
        for i in range(j + 1, n):
            x = A[i, j] * inverse
            A[i, j] = x
            if x != 0.0:
                for c in range(j + 1, n):
                    A[i, c] -= x * A[j, c]
    return 0


@njit(types.void(MAT, INT, VEC), cache=True)
def solve_full(A, pivots, b):  # type: ignore[no-untyped-def]
    """Solve with the factors of `factor_full`, in place."""
    n = A.shape[0]
    for j in range(n):
        p = pivots[j]
        x = b[p]
        b[p] = b[j]
        b[j] = x
    for i in range(n):
        x = b[i]
        for j in range(i):
            x -= A[i, j] * b[j]
        b[i] = x
    for i in range(n - 1, -1, -1):
        x = b[i]
        for j in range(i + 1, n):
            x -= A[i, j] * b[j]
        b[i] = x / A[i, i]


@njit(float64(MAT, int64, MAT, MAT, float64, MAT, MAT), cache=True)
def border(ab, w, G, V, part, W, A):  # type: ignore[no-untyped-def]
    """Fill A = [[S, c W], [c (G + part V), 0]] from S in band storage; returns the scale c, the largest entry of S."""
    m, n = G.shape
    scale = 1e-300
    A[:] = 0.0
    for j in range(n):
        for i in range(max(0, j - w), min(n - 1, j + w) + 1):
            A[i, j] = ab[2 * w + i - j, j]
            scale = max(scale, abs(A[i, j]))
    for k in range(m):
        for i in range(n):
            A[i, n + k] = scale * W[i, k]
            A[n + k, i] = scale * (G[k, i] + part * V[k, i])
    return scale


@njit(
    types.UniTuple(float64, 4)(
        types.FunctionType(RESIDUAL), types.FunctionType(TANGENT), types.FunctionType(OUTPUT),
        types.FunctionType(CLOSURE), VEC, INT, int64, int64, VEC, VEC, VEC, VEC, VEC, VEC, MAT, LAW, int64, int64,
        SCHEME, TABLES, RECORD,
    ),
    cache=True,
)  # fmt: skip
def run_closed(  # type: ignore[no-untyped-def]
    residual, tangent, output, closure, reals, ints, w, m, q, v, a, algorithmic, full, held, memory, law, first, last,
    scheme, tables, record,
):  # fmt: skip
    """As `run_implicit`; `full` holds the inputs and, behind them, the m closure forces."""
    n, p = q.size, full.size - m
    u, lam, t = full[:p], full[p:], tables.t
    r, d, y = np.empty(n + m), np.empty(n + m), np.empty(record.y.shape[1])
    S, A, pivots = np.zeros((3 * w + 1, n)), np.empty((n + m, n + m)), np.empty(n + m, np.int64)
    g, bias, W = np.empty(m), np.empty(m), np.empty((n, m))
    G, V = np.empty((m, n)), np.empty((m, n))
    balance = r[:n]
    am, af, beta, gamma = scheme.alpha_m, scheme.alpha_f, scheme.beta, scheme.gamma
    for k in range(first, last):
        output(q, v, a, full, reals, ints, y)
        if control(law, k, y, tables, memory, held, u):
            closure(q, v, reals, ints, g, bias, G, V, W)
            tangent(t[k], q, v, a, full, 1.0, 0.0, 0.0, reals, ints, S)
            scale = border(S, w, G, V, 0.0, W, A)
            if factor_full(A, pivots) != 0:
                return 2.0, t[k], 0.0, 0.0
            residual(t[k], q, v, a, full, reals, ints, balance)
            for i in range(m):
                r[n + i] = scale * bias[i]
                for j in range(n):
                    r[n + i] += scale * G[i, j] * a[j]
            solve_full(A, pivots, r)
            for i in range(n):
                a[i] -= r[i]
                algorithmic[i] -= r[i]
            for i in range(m):
                lam[i] -= scale * r[n + i]
        write(record, k, y, u, q, v)
        h = tables.h[k]
        for i in range(n):
            old = algorithmic[i]
            algorithmic[i] = (a[i] - am * old) / (1.0 - am)
            q[i] += h * v[i] + h * h * ((0.5 - beta) * old + beta * algorithmic[i])
            v[i] += h * ((1.0 - gamma) * old + gamma * algorithmic[i])
        for i in range(p):
            u[i] = held[i] + tables.before[k + 1, i]
        cv, ca = gamma / (h * beta), (1.0 - am) / (h * h * beta * (1.0 - af))
        converged, size, iteration, scale, refresh = False, np.inf, 0, 1.0, True
        while not converged and iteration < scheme.iterations:
            iteration += 1
            closure(q, v, reals, ints, g, bias, G, V, W)
            if refresh:
                tangent(t[k + 1], q, v, a, full, ca, cv, 1.0, reals, ints, S)
                scale = border(S, w, G, V, 1.0 / cv, W, A)
                if factor_full(A, pivots) != 0:
                    return 2.0, t[k + 1], float(iteration), size
            residual(t[k + 1], q, v, a, full, reals, ints, balance)
            d[:] = 0.0
            for i in range(m):
                d[n + i] = scale * g[i]
                total = 0.0
                for j in range(n):
                    total += G[i, j] * v[j]
                r[n + i] = scale / cv * total
            solve_full(A, pivots, r)
            solve_full(A, pivots, d)
            before, size, extent = size, 0.0, 1.0
            for i in range(n):
                q[i] -= r[i] + d[i]
                v[i] -= cv * r[i]
                a[i] -= ca * r[i]
                algorithmic[i] -= (1.0 - af) / (1.0 - am) * ca * r[i]
                size = max(size, abs(r[i]), abs(d[i]))
                extent = max(extent, abs(q[i]))
            for i in range(m):
                lam[i] -= scale * r[n + i]
            if not np.isfinite(size):
                return 1.0, t[k + 1], float(iteration), size
            converged, refresh = size <= scheme.tolerance * extent, size > REFRESH * before
        if not converged:
            return 1.0, t[k + 1], float(iteration), size
        if not bounded(q):
            return 3.0, t[k + 1], float(iteration), size
    output(q, v, a, full, reals, ints, y)
    write(record, last, y, u, q, v)
    return 0.0, t[last], 0.0, 0.0


@njit(
    types.UniTuple(float64, 4)(
        types.FunctionType(OUTPUT), VEC, INT, MAT, INT, MAT, INT, MAT, MAT, MAT, int64,
        VEC, VEC, VEC, VEC, VEC, MAT, LAW, int64, int64, TABLES, RECORD,
    ),
    cache=True,
)  # fmt: skip
def run_explicit(  # type: ignore[no-untyped-def]
    output, reals, ints, mass, mass_pivots, damped, damped_pivots, D, K, B, w, q, v, a, u, held, memory, law, first,
    last, tables, record,
):  # fmt: skip
    """Central differences with the factors of M (`mass`) and of M + h D / 2 (`damped`) for the constant step h."""
    n, p = q.size, u.size
    t = tables.t
    r, y, before = np.empty(n), np.empty(record.y.shape[1]), np.empty(p)
    for k in range(first, last):
        h = tables.h[k]
        output(q, v, a, u, reals, ints, y)
        before[:] = u
        if control(law, k, y, tables, memory, held, u):
            r[:] = B @ (u - before)
            solve(mass, mass_pivots, w, r)
            for i in range(n):
                a[i] += r[i]
        write(record, k, y, u, q, v)
        for i in range(n):
            v[i] += 0.5 * h * a[i]
            q[i] += h * v[i]
            r[i] = 0.0
        for j in range(p):
            u[j] = held[j] + tables.before[k + 1, j]
            for i in range(n):
                r[i] += B[i, j] * u[j]
        add_product(K, w, q, -1.0, r)
        add_product(D, w, v, -1.0, r)
        solve(damped, damped_pivots, w, r)
        for i in range(n):
            a[i] = r[i]
            v[i] += 0.5 * h * r[i]
        if not bounded(q):
            return 3.0, t[k + 1], 0.0, 0.0
    output(q, v, a, u, reals, ints, y)
    write(record, last, y, u, q, v)
    return 0.0, t[last], 0.0, 0.0


@njit(
    types.UniTuple(float64, 4)(MAT, MAT, MAT, MAT, MAT, VEC, VEC, VEC, MAT, LAW, int64, int64, TABLES, RECORD),
    cache=True,
)
def run_exact(  # type: ignore[no-untyped-def]
    Phi, G0, G1, C, D, x, u, held, memory, law, first, last, tables, record
):
    """Exact discretisation with a constant step; record.q and record.v take the state x."""
    p = u.size
    t = tables.t
    start = np.empty(p)
    for k in range(first, last):
        y = C @ x + D @ u
        control(law, k, y, tables, memory, held, u)
        start[:] = u
        write(record, k, y, u, x, x)
        for i in range(p):
            u[i] = held[i] + tables.before[k + 1, i]
        x[:] = Phi @ x + G0 @ start + G1 @ u
        if not bounded(x):
            return 3.0, t[k + 1], 0.0, 0.0
    write(record, last, C @ x + D @ u, u, x, x)
    return 0.0, t[last], 0.0, 0.0
