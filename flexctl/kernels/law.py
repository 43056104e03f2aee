"""A sampled linear law, called where a control period begins, and the inputs it holds.

Where u jumps the accelerations are made anew: without that a closed loop converges at first order only. A law may
change in time: its matrices for all phases stand below each other, `phase` says which one is on.
"""

from __future__ import annotations

import numpy as np
from numba import int64, types

from .jit import entry, kernel
from .pointers import call_own
from .tables import EXACT, FAST, LAW, MAT, TABLES, VEC


@kernel(**FAST)
def phase_at(law, k):
    """Phase of control period (grid point) k."""
    return law.phase[min(k, law.phase.size - 1)] if law.phase.size > 0 else 0


@kernel(**FAST)
def _readings(law, k, y, m):
    """Fill m with what the law reads: noisy and quantised."""
    for i in range(law.measures.size):
        m[i] = y[law.measures[i]]
        if law.noise.shape[0] > 0:
            m[i] += law.noise[k % law.noise.shape[0], i]
        if law.quantum[i] > 0.0:
            m[i] = law.quantum[i] * np.floor(m[i] / law.quantum[i] + 0.5)


@kernel(**EXACT)
def linear_step(law, k, m, r, memory, command):
    """One period of a linear law with readings m: fill the limited command, and put the next state into memory[0]."""
    nx, nu, ny = law.A.shape[1], law.drives.size, law.By.shape[1]
    px, pu = phase_at(law, k) * nx, phase_at(law, k) * nu
    new = law.scratch[2]
    for i in range(nu):
        total = 0.0
        for j in range(nx):
            total += law.C[pu + i, j] * memory[0, j]
        for j in range(ny):
            total += law.Dy[pu + i, j] * m[j]
        for j in range(r.size):
            total += law.Dr[pu + i, j] * r[j]
        command[i] = min(max(total, law.lower[pu + i]), law.upper[pu + i])
    for i in range(nx):
        total = 0.0
        for j in range(nx):
            total += law.A[px + i, j] * memory[0, j]
        for j in range(ny):
            total += law.By[px + i, j] * m[j]
        for j in range(r.size):
            total += law.Br[px + i, j] * r[j]
        for j in range(nu):
            total += law.Bu[px + i, j] * command[j]
        new[i] = total
    for i in range(nx):
        memory[0, i] = new[i]


@kernel(**EXACT)
def law_step(law, k, y, r, memory, u):
    """One period of the law. memory[0] = state x, memory[1:] = commands waiting (delay); adds the command into u."""
    nu, m, command = law.drives.size, law.scratch[0], law.scratch[1]
    _readings(law, k, y, m)
    if law.own != 0:
        call_own(law.own, law, k, m, r, memory, command)
    else:
        linear_step(law, k, m, r, memory, command)
    delay = memory.shape[0] - 1
    for i in range(nu):
        now = command[i]
        if delay > 0:
            now = memory[1, i]
            for d in range(1, delay):
                memory[d, i] = memory[d + 1, i]
            memory[delay, i] = command[i]
        u[law.drives[i]] += now


@kernel(**FAST)
def _continuous_jump(law, k, tables):
    """Whether the command of a continuous law may jump at grid point k: begin, change of phase, jump of r or inputs."""
    if k == 0 or phase_at(law, k) != phase_at(law, k - 1):
        return True
    nr, jump = law.Dr.shape[1], False
    for j in range(nr):
        jump = jump or tables.reference[k, j] != tables.reference[k, nr + j]
    for i in range(tables.after.shape[1]):
        jump = jump or tables.before[k, i] != tables.after[k, i]
    return jump


@kernel(**EXACT)
def _continuous_command(law, k, y, tables, memory, held):
    """Command of a continuous law at grid point k, right limits."""
    nx, ny, nu, nr = law.C.shape[1], law.measures.size, law.drives.size, law.Dr.shape[1]
    pu = phase_at(law, k) * nu
    for i in range(held.size):
        held[i] = 0.0
    for i in range(nu):
        total = 0.0
        for j in range(ny):
            total += law.Dy[pu + i, j] * y[law.measures[j]]
        for j in range(nr):
            total += law.Dr[pu + i, j] * tables.reference[k, nr + j]
        for j in range(nx):
            total += law.C[pu + i, j] * memory[0, j]
        held[law.drives[i]] += total


@kernel(**EXACT)
def sampled(law, k, y, tables, memory, held, u):
    """Set the inputs to their right limits at grid point k, calling the law when due; returns whether u jumped."""
    if tables.due[k] >= 0:
        for i in range(held.size):
            held[i] = 0.0
        law_step(law, tables.due[k], y, tables.reference[tables.due[k]], memory, held)
    return put(k, tables, held, u)


@kernel(**EXACT)
def within_steps(law, k, y, tables, memory, held, u):
    """Do the same under a continuous law, where it or an input may jump."""
    if not _continuous_jump(law, k, tables):
        return False
    _continuous_command(law, k, y, tables, memory, held)
    return put(k, tables, held, u)


@kernel(**EXACT)
def put(k, tables, held, u):
    """Set the inputs to what the law holds and what is prescribed; returns whether one jumped."""
    jump = False
    for i in range(u.size):
        new = held[i] + tables.after[k, i]
        jump = jump or new != u[i]
        u[i] = new
    return jump


@entry(types.boolean(LAW, int64, VEC, TABLES, MAT, VEC, VEC), fastmath=False)
def called(law, k, y, tables, memory, held, u):
    """`sampled` or `within_steps` for callers in Python."""
    if law.continuous == 1:
        return within_steps(law, k, y, tables, memory, held, u)
    return sampled(law, k, y, tables, memory, held, u)
