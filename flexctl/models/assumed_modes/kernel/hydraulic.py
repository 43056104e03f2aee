"""The same of an arm whose driven coordinates cylinders move: their coordinates z stand behind the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ....kernels.jit import entry, kernel
from ....kernels.model import CLOSURE, OUTPUT, RESIDUAL, TANGENT
from ....kernels.vectors import put, put_matrix
from ....model import Compiled, FloatArray
from .chain import DRIVEN, DRIVEN_AT, PINS, N, led
from .functions import balance, gaps, readings
from .pack import pack
from .sweep import sweep

if TYPE_CHECKING:
    from .. import AssumedModes


@kernel
def moved(v, u, ints, w):
    """Inputs of the arm: those of the whole, the commands replaced by the accelerations of the joints."""
    put(u, w)
    for j in range(ints[DRIVEN]):
        w[j] = v[ints[N] + j]


@entry(RESIDUAL)
def hydraulic_residual(t, q, v, a, u, reals, ints, out):
    """As `balance`, and z'' + c2 z' + c1 p' + c0 (p - p_ref) - b u of each cylinder."""
    n, k = ints[N], ints[DRIVEN]
    w = np.empty(u.size)
    moved(v, u, ints, w)
    balance(q[:n], v[:n], a[:n], w, reals, ints, out[:n])
    for j in range(k):
        at, p = reals.size - 5 * (k - j), ints[ints[DRIVEN_AT] + j]
        c0, c1, c2 = reals[at], reals[at + 1], reals[at + 2]
        course = c2 * v[n + j] + c1 * v[p] + c0 * (q[p] - reals[at + 4])
        out[n + j] = a[n + j] + course - reals[at + 3] * u[j]


@entry(TANGENT)
def hydraulic_tangent(t, q, v, a, u, ca, cv, cq, reals, ints, out):
    """ca M + cv D + cq K of `hydraulic_residual`, full, in band storage."""
    n, k = ints[N], ints[DRIVEN]
    w, b, r = np.empty(u.size), np.empty(n), np.empty(n)
    S, M = np.empty((n, n)), np.zeros((n, n))
    moved(v, u, ints, w)
    led(a[:n], w, ints, b)
    sweep((q[:n], v[:n], b), w, (ca, cv, cq), reals, ints, True, r, S)
    sweep((q[:n], v[:n], b), w, (1.0, 0.0, 0.0), reals, ints, True, r, M)
    for j in range(k):
        p = ints[ints[DRIVEN_AT] + j]
        for i in range(n):
            S[i, p] -= ca * M[i, p]
    for j in range(k):
        S[ints[ints[DRIVEN_AT] + j], :] = 0.0
    out[:] = 0.0
    last = 2 * (n + k - 1)
    for i in range(n):
        for j in range(n):
            out[last + i - j, j] = S[i, j]
    for j in range(k):
        p, z, at = ints[ints[DRIVEN_AT] + j], n + j, reals.size - 5 * (k - j)
        for i in range(n):
            out[last + i - z, z] = cv * M[i, p]
        for i in range(k):
            out[last + ints[ints[DRIVEN_AT] + i] - z, z] = 0.0
        out[last, p] = ca
        out[last + p - z, z] = -cv
        out[last, z] = ca + cv * reals[at + 2]
        out[last + z - p, p] = cv * reals[at + 1] + cq * reals[at]


@entry(OUTPUT)
def hydraulic_output(q, v, a, u, reals, ints, y):
    """As `readings`, and the accelerations of the joints that cylinders move."""
    n, k = ints[N], ints[DRIVEN]
    w = np.empty(u.size)
    moved(v, u, ints, w)
    readings(q[:n], v[:n], a[:n], w, reals, ints, y[: y.size - k])
    put(v[n:], y[y.size - k :])


@entry(CLOSURE)
def hydraulic_closure(q, v, reals, ints, g, bias, G, V, W):
    """As `gaps`; nothing acts on the cylinders."""
    n, m = ints[N], 2 * ints[PINS]
    G0, V0, W0 = np.empty((m, n)), np.empty((m, n)), np.empty((n, m))
    gaps(q[:n], v[:n], reals, ints, g, bias, (G0, V0, W0))
    G[:], V[:], W[:] = 0.0, 0.0, 0.0
    put_matrix(G0, G[:, :n])
    put_matrix(V0, V[:, :n])
    put_matrix(W0, W[:n])


def compiled(model: AssumedModes, driven: tuple[int, ...], levers: tuple[float, ...], cubics: FloatArray) -> Compiled:
    """Return the compiled arm with driven coordinates moved by cylinders, rows (c0, c1, c2, b, p_ref)."""
    reals, ints = pack(model, driven, levers)
    reals = np.concatenate([reals, cubics.ravel()])
    loops = hydraulic_closure.load() if model.pins else None
    functions = hydraulic_residual.load(), hydraulic_tangent.load(), hydraulic_output.load()
    return Compiled(*functions, reals, ints, model.tree.size - 1 + len(cubics), False, loops)
