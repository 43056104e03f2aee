"""By how much laws answer errors of what they read.

Of a linear law: the sum of its answers, now and later, to one unit of each reading. Of a blended one the largest such
sum of the laws that it is at its design points and between them. A law in Python is asked again, at some instants of
the run: with the readings that it had, and with each of them moved once by its error.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import scipy.linalg as sla

from ..laws.blended import Blended
from ..model import FloatArray
from .defaults import MEMORY

MOST = 2000
"""Answers of a law that are summed."""
STARTS, LATER = 4, 50
"""Instants at which a law in Python is asked again, and periods for which it then answers, at most."""
SHARE = 0.5
"""Of the calls of the run may be made again."""


def answers(law: Any, nu: int, period: float, memory: float) -> FloatArray | None:
    """Return by how much a law answers one unit of each reading, all its later answers within `memory` [s] summed.

    `law` has the matrices A, By, Bu, C, Dy, of all its phases below each other.
    """
    nx = law.A.shape[1]
    worst = np.zeros((nu, law.Dy.shape[1]))
    for phase in range(max(law.C.shape[0] // max(nu, 1), 1)):
        x, u = slice(phase * nx, (phase + 1) * nx), slice(phase * nu, (phase + 1) * nu)
        A, B, C, D = law.A[x] + law.Bu[x] @ law.C[u], law.By[x] + law.Bu[x] @ law.Dy[u], law.C[u], law.Dy[u]
        step, total = period, np.abs(D)
        if period == 0.0 and nx:  # continuous: its answers to what it reads in a hundredth of the memory
            step = MEMORY / 100.0
            whole = sla.expm(step * np.block([[A, B], [np.zeros((B.shape[1], nx + B.shape[1]))]]))
            A, B = whole[:nx, :nx], whole[:nx, nx:]
        for _ in range(min(MOST, int(min(memory, MEMORY) / step)) if nx else 0):
            total = total + np.abs(C @ B)
            B = A @ B
        worst = np.maximum(worst, total)
    return worst if np.isfinite(worst).all() else None


def of_blended(law: Blended, memory: float, read: FloatArray, used: FloatArray) -> FloatArray | None:
    """Return by how much a blended law may answer errors of its readings, where it `used` these ranges of commands.

    Two laws of a blend differ by no more than what they command; an error of what schedules moves the weights.
    """
    nu, own = len(law.drives), len(law.laws[0].measures)
    points = np.array(law.points)
    worst = np.zeros(nu)
    for value in [*points, *(0.5 * (points[1:] + points[:-1]))]:
        found = answers(law.frozen(float(value)), nu, law.sample_time, memory)
        if found is None:
            return None
        worst = np.maximum(worst, found @ read[:own])
    moved = read[law.measures.index(law.by)] / np.diff(points).min() if points.size > 1 else 0.0
    return np.asarray(worst + moved * used)


def of_python(
    law: Any, kept: dict[int, Any], t: FloatArray, y: FloatArray, r: FloatArray, read: FloatArray, memory: float
) -> FloatArray | None:
    """Return by how much a law in Python answers errors of its readings; None where it cannot be asked again.

    kept: its states before some calls, by their numbers; t, y, r: times, readings and references of all calls.
    """
    ny, later = read.size, min(LATER, int(min(memory, MEMORY) / law.sample_time) + 1)
    later = max(1, min(later, int(SHARE * t.size / max(len(kept) * (ny + 1), 1))))
    worst = np.zeros(len(law.drives))
    try:
        again = copy.deepcopy(law)
        for first, state in kept.items():
            calls = range(first, min(first + later, t.size))
            plain = _asked(again, state, t, y, r, calls)
            total = np.zeros(worst.size)
            for i in np.flatnonzero(read > 0.0):
                moved = y[calls].copy()
                moved[0, i] += read[i]
                total += np.abs(_asked(again, state, t[calls], moved, r[calls], range(len(calls))) - plain).sum(axis=0)
            worst = np.maximum(worst, total)
    except Exception:  # noqa: BLE001 - whatever a law of somebody else may do when it is copied, or asked out of turn
        return None
    return worst if np.isfinite(worst).all() else None


def _asked(law: Any, state: Any, t: FloatArray, y: FloatArray, r: FloatArray, calls: range) -> FloatArray:
    """Return the commands of some calls that follow each other."""
    state, found = copy.deepcopy(state), []
    for k in calls:
        u, state = law.step(state, float(t[k]), y[k].copy(), r[k])
        found.append(np.array(u, float))
    return np.array(found)
