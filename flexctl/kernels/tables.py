"""The parts of a run as compiled code takes them: the law, prescribed values along the time grid, the recording."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import float64, int64

from .groups import group

VEC, MAT, INT = float64[::1], float64[:, ::1], int64[::1]

HIDDEN: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Of helpers that Python never calls (it must not): a quarter of the time of compiling is saved."""
PLAIN: dict[str, Any] = {"error_model": "numpy", "_nrt": False, **HIDDEN}
"""No reference counts on arrays, which would take longer than the arithmetic; no allocation."""
EXACT: dict[str, Any] = {**PLAIN, "fastmath": False}
"""The same where every product and sum is rounded by itself. A function that says nothing about it is compiled as its
first caller in the process is, and stays so for all others."""
FAST: dict[str, Any] = {"fastmath": {"contract", "nsz", "arcp"}, **PLAIN}
"""The same for inner loops, in which products and sums may be fused."""
INSIDE: dict[str, Any] = FAST
"""Of what a formulation brings to the step. The compiler decides what is put into the step itself: all of it, wherever
it is used, made the loops four times as long, and no faster."""
WITHIN: dict[str, Any] = {**FAST, "forceinline": True}
"""Of what must be a part of its callers: loops around it vectorise, or it makes a group, which would be copied."""
ENTRY: dict[str, Any] = {key: value for key, value in FAST.items() if key not in HIDDEN}
"""Of loops that Python calls."""
BARE: dict[str, Any] = {key: value for key, value in PLAIN.items() if key not in HIDDEN}
"""Of loops that Python calls, around functions that a model brings."""
PART: dict[str, Any] = {**FAST, "no_cfunc_wrapper": False}
"""Of what compiled code alone calls, by its address."""

DONE, NOT_CONVERGED, SINGULAR, DIVERGED = 0.0, 1.0, 2.0, 3.0
BOUND = 1e6
"""A coordinate (m, rad) beyond this is divergence, not motion."""


class Law(NamedTuple):
    """x+ = A x + By y + Br r + Bu sat(u), u = C x + Dy y + Dr r, with sensor quantisation and noise and a delay.

    Of S phases, A is (S nx, nx), C is (S nu, nx), lower is (S nu,), and so on. A law that is more than that brings a
    function of its own (`kernels.pointers`).
    """

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
    phase: np.ndarray  # phase of each control period (of each grid point, if continuous), the last one goes on
    continuous: int  # 1: x' = A x + By y + Br r; the reference table then has left and right limits beside each other
    scratch: np.ndarray  # (3, widest): readings, command, next state
    own: int = 0  # address of a function of its own; 0: none
    more: np.ndarray = np.zeros(0)  # matrices that the function takes besides, one behind the other
    places: np.ndarray = np.zeros(0, np.int64)  # rows, columns and begin of each


LAW = group((MAT, MAT, MAT, MAT, MAT, MAT, MAT, VEC, VEC, VEC, MAT, INT, INT, INT, int64, MAT, int64, VEC, INT), Law)


class Tables(NamedTuple):
    """Values prescribed along the time grid t (N + 1 points)."""

    t: np.ndarray  # time [s]
    h: np.ndarray  # (N,) step sizes [s], equal ones equal to the last bit
    due: np.ndarray  # (N + 1,) number of the control period that begins here, or -1
    before: np.ndarray  # (N + 1, p) prescribed inputs, left limit
    after: np.ndarray  # (N + 1, p) right limit
    bulge: np.ndarray  # (N, p) by how much they are above the chord in the middle of a step
    reference: np.ndarray  # (periods, nr); (N + 1, 2 nr) for a continuous law


TABLES = group((VEC, VEC, INT, MAT, MAT, MAT, MAT), Tables)


class Record(NamedTuple):
    """Values recorded at every point of the time grid."""

    y: np.ndarray
    u: np.ndarray
    q: np.ndarray  # (N + 1, n), or (1, n): not recorded; or (A, n), see `furthest`
    v: np.ndarray
    furthest: np.ndarray = np.zeros((2, 0))  # (2, A): of A assumptions the state that drives each furthest is kept


RECORD = group((MAT,) * 5, Record)


class Acting(NamedTuple):
    """The law and the inputs as they are now."""

    law: Law
    memory: np.ndarray  # row 0: state of the law; the others: commands that wait (delay)
    held: np.ndarray  # what the law commands
    u: np.ndarray  # that and what is prescribed


ACTING = group((LAW, MAT, VEC, VEC), Acting)


class Course(NamedTuple):
    """Grid points from span[0] to span[1], and what is prescribed and recorded there."""

    tables: Tables
    record: Record
    span: np.ndarray


COURSE = group((TABLES, RECORD, INT), Course)


def no_law() -> Law:
    """Return the law that does nothing."""
    none, empty, index = np.zeros((0, 0)), np.zeros(0), np.zeros(0, np.int64)
    return Law(
        none, none, none, none, none, none, none, empty, empty, empty, none, index, index, index, 0, np.zeros((3, 1))
    )
