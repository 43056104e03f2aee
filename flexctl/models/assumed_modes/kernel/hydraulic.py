"""The same of an arm whose driven coordinates cylinders move: their coordinates z stand behind the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ....kernels.ahead import ahead, together
from ....kernels.jit import entry, kernel
from ....kernels.model import CLOSURE, OUTPUT, RESIDUAL, TANGENT
from ....kernels.tables import ENTRY, FAST
from ....kernels.vectors import put
from ....model import Compiled, FloatArray
from .chain import DRIVEN, DRIVEN_AT, PINS, N, spaces
from .functions import balance, band, gaps, readings, slopes
from .pack import pack
from .sweep import forces_part

if TYPE_CHECKING:
    from .. import AssumedModes


@kernel(**FAST)
def moved(v, u, ints, w):
    """Inputs of the arm: those of the whole, the commands replaced by the accelerations of the joints."""
    put(u, w[: u.size])
    for j in range(ints[DRIVEN]):
        w[j] = v[ints[N] + j]


@entry(RESIDUAL, needs=(forces_part,), **ENTRY)
def hydraulic_residual(t, q, v, a, u, reals, ints, out):
    """As `balance`, and z'' + c2 z' + c1 p' + c0 (p - p_ref) - b u of each cylinder."""
    n, k, w = ints[N], ints[DRIVEN], spaces(reals, ints).u
    moved(v, u, ints, w)
    balance(q[:n], v[:n], a[:n], w, reals, ints, out[:n])
    for j in range(k):
        at, p = reals.size - 5 * (k - j), ints[ints[DRIVEN_AT] + j]
        c0, c1, c2 = reals[at], reals[at + 1], reals[at + 2]
        course = c2 * v[n + j] + c1 * v[p] + c0 * (q[p] - reals[at + 4])
        out[n + j] = a[n + j] + course - reals[at + 3] * u[j]


@entry(TANGENT, **ENTRY)
def hydraulic_tangent(t, q, v, a, u, ca, cv, cq, reals, ints, out):
    """ca M + cv D + cq K of `hydraulic_residual`, full, in band storage."""
    n, k, room = ints[N], ints[DRIVEN], spaces(reals, ints)
    S, M = room.S, room.M
    moved(v, u, ints, room.u)
    slopes(q[:n], v[:n], a[:n], room.u, (ca, cv, cq), reals, ints)
    for j in range(k):
        p = ints[ints[DRIVEN_AT] + j]
        for i in range(n):
            S[i, p] -= ca * M[i, p]
    for j in range(k):
        for i in range(n):
            S[ints[ints[DRIVEN_AT] + j], i] = 0.0
    band(S, out)
    last = 2 * (n + k - 1)
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


@entry(OUTPUT, needs=(forces_part,), **ENTRY)
def hydraulic_output(q, v, a, u, reals, ints, y):
    """As `readings`, and the accelerations of the joints that cylinders move."""
    n, k, w = ints[N], ints[DRIVEN], spaces(reals, ints).u
    moved(v, u, ints, w)
    readings(q[:n], v[:n], a[:n], w, reals, ints, y[: y.size - k])
    put(v[n:], y[y.size - k :])


@entry(CLOSURE, **ENTRY)
def hydraulic_closure(q, v, reals, ints, g, bias, G, V, W):
    """As `gaps`; nothing acts on the cylinders."""
    n = ints[N]
    gaps(q[:n], v[:n], reals, ints, g, bias, (G, V, W))
    for k in range(2 * ints[PINS]):
        for j in range(n, q.size):
            G[k, j] = V[k, j] = W[j, k] = 0.0


def compiled(model: AssumedModes, driven: tuple[int, ...], levers: tuple[float, ...], cubics: FloatArray) -> Compiled:
    """Return the compiled arm with driven coordinates moved by cylinders, rows (c0, c1, c2, b, p_ref)."""
    reals, ints = pack(model, driven, levers)
    reals = np.concatenate([reals, cubics.ravel()])
    ahead(hydraulic_output, hydraulic_tangent, hydraulic_residual)
    together(hydraulic_residual, hydraulic_tangent, hydraulic_output)
    loops = hydraulic_closure.load() if model.pins else None
    functions = hydraulic_residual.load(), hydraulic_tangent.load(), hydraulic_output.load()
    return Compiled(*functions, reals, ints, model.tree.size - 1 + len(cubics), False, loops)
