"""Any nesting of wrappers around a law of the compiled time loop, in the order in which they stand.

On the way in readings go through the wrappers from the outermost on; on the way out the command goes through them from
the innermost on. A missed sample turns round before the law, and before the wrappers inside.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels.jit import entry, kernel
from ..kernels.law import linear_step
from ..kernels.pointers import OWN, call_own, view

STRICT: dict[str, Any] = {"error_model": "numpy", "fastmath": False}
DELAYED, SATURATED, QUANTISED, NOISY, FROZEN, MISSED, ADDED = range(7)
TAIL = 3
"""Last numbers of law.places: address of the law inside (0: a linear one), first of our arrays, rows of its memory."""


@kernel(**STRICT)
def clipped(value, low, high):
    """Value within limits; NaN stays what it is."""
    return low if value < low else high if value > high else value


@kernel(**STRICT)
def read(kind, data, own, k, ny, m):
    """Change the readings m as a wrapper does; `own` is its state. Returns whether the sample is missed."""
    if kind == MISSED:
        return data[0, k] != 0.0
    if kind == NOISY:
        row = int(own[0])
        own[0] += 1.0
        for j in range(ny):
            m[j] += data[row, j]
    elif kind == QUANTISED:
        for j in range(ny):
            if data[0, j] > 0.0:
                m[j] = data[0, j] * np.floor(m[j] / data[0, j] + 0.5)
    elif kind == FROZEN:
        for j in range(ny):
            if own[0] != 0.0 and data[k, j] != 0.0:
                m[j] = own[1 + j]
            own[1 + j] = m[j]
        own[0] = 1.0
    return False


@kernel(**STRICT)
def sent(kind, data, own, r, command):
    """Change the command as a wrapper does; `own` is its state."""
    nu = command.size
    if kind == SATURATED:
        for i in range(nu):
            command[i] = clipped(command[i], -data[0, 0], data[0, 0])
    elif kind == MISSED:
        for i in range(nu):
            own[i] = command[i]
    elif kind == ADDED:
        first = int(data[2, 0])
        for i in range(nu):
            command[i] = clipped(command[i] + r[first + 3 * i], data[0, i], data[1, i])
    elif kind == DELAYED:
        queued(own, command)


@kernel(**STRICT)
def queued(own, command):
    """Put the command behind those that wait in `own`, and take out the first."""
    nu, last = command.size, own.size - command.size
    for i in range(nu if own.size > 0 else 0):
        now = own[i]
        for d in range(i, last, nu):
            own[d] = own[d + nu]
        own[last + i] = command[i]
        command[i] = now


@kernel(**STRICT)
def law_inside(law, where, k, m, r, memory, command):
    """One period of the law inside, its own delay included, which stands in the rows of its memory."""
    if where != 0:
        call_own(where, law, k, m, r, memory, command)
    else:
        linear_step(law, k, m, r, memory, command)
    delay = memory.shape[0] - 1
    for i in range(command.size if delay > 0 else 0):
        now = memory[1, i]
        for d in range(1, delay):
            memory[d, i] = memory[d + 1, i]
        memory[delay, i] = command[i]
        command[i] = now


@entry(OWN, **STRICT)
def layered_law(law, k, m, r, memory, command):
    """One period of a law inside wrappers; `laws.layered` says what stands in law.more, and after it in the memory.

    A table with a row for every wrapper (kind, begin and size of its state), then what each brings.
    """
    at = law.places
    where, first, rows = at[at.size - TAIL], at[at.size - TAIL + 1], at[at.size - TAIL + 2]
    table = view(law.more, at, first)
    count, ny, nu, taken = table.shape[0], law.measures.size, law.drives.size, r.size
    last, u = count, command[:nu]
    for i in range(count):
        begin, kind = int(table[i, 1]), int(table[i, 0])
        own, data = memory[0, begin : begin + int(table[i, 2])], view(law.more, at, first + 1 + i)
        if read(kind, data, own, k, ny, m):
            for j in range(nu):
                u[j] = own[j]
            last = i
            break
        if kind == ADDED:
            taken = int(data[2, 0])
    if last == count:
        inner = memory[0, : int(table[0, 1])]
        law_inside(law, where, k, m, r[:taken], inner.reshape((rows, inner.size // rows)), u)
    for i in range(last - 1, -1, -1):
        begin = int(table[i, 1])
        own = memory[0, begin : begin + int(table[i, 2])]
        sent(int(table[i, 0]), view(law.more, at, first + 1 + i), own, r, u)
