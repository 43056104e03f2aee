"""How wrong the inputs of a run are: given ones are not, others are computed from what is.

What a law commands is at most so wrong as the sum of its answers to the errors of what it reads, output by output.
Torques of prescribed joints are compared with those of a second run, in longer steps or at a larger tolerance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg as sla

from ..abilities import ContinuousLoop
from ..errors import ConvergenceError
from ..model import FloatArray, names
from .defaults import CLAIM, MEMORY

if TYPE_CHECKING:
    from .run import Run

COARSER = 8.0
"""So many times is the tolerance of the second run: its error is four times as large, or more."""
REDUCED = 2.0
"""On the change of SDIRK4, which is nearer to the first order where torques of stiff arms jump with what leads them."""
MOST = 2000
"""Answers of a law that are summed."""


def errors_of_inputs(run: Run, known: Mapping[str, float]) -> dict[str, float]:
    """Return the estimated largest error of each input; nan where none is known.

    known: the errors of the outputs, however small.
    """
    setup = run.setup
    found = dict.fromkeys(names(setup.plant.inputs), 0.0)
    if isinstance(setup.model, ContinuousLoop):
        return dict.fromkeys(found, np.nan)
    if setup.law is not None and setup.law.measures:
        read = np.array([known.get(name, np.nan) for name in setup.law.measures])
        law = None if run.compiled is None or run.compiled[0].own else run.compiled[0]
        gains = None if law is None else answers(law, setup.law.sample_time, run.accuracy.memory)
        bound = np.full(len(setup.law.drives), np.nan) if gains is None else gains @ read
        least = CLAIM * setup.rtol * np.ptp(run.record.u, axis=0)
        place = {name: i for i, name in enumerate(names(setup.model.inputs))}
        for name, x in zip(setup.law.drives, bound, strict=True):
            found[name] = float(np.maximum(x, least[place[name]]))  # nan stays
    torques = [f"{name}_{kind}" for name in run.commands for kind in ("torque", "force")]
    led = [name for name in torques if name in found]
    if led:
        changed = run.changed if run.changed is not None else _coarser(run)
        place = {name: i for i, name in enumerate(names(setup.model.inputs))}
        found |= {name: np.nan if changed is None else float(changed[place[name]]) for name in led}
    return found


def answers(law: Any, period: float, memory: float) -> FloatArray | None:
    """Return by how much a law answers one unit of each reading, all its later answers within `memory` summed."""
    nx, nu = law.A.shape[1], law.drives.size
    worst = np.zeros((nu, law.measures.size))
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


def _coarser(run: Run) -> FloatArray | None:
    """Return by how much the inputs are others in longer steps; None where nothing is known of that."""
    setup = run.setup
    if run.compiled is None or not setup.rtol or run.sticks:
        return None
    fixed = not run.plan.rtol  # the steps of the grid were good enough
    if fixed and run.due.max() >= 0:
        return None
    longer = 1.0 if run.due.max() >= 0 else 2.0
    other = type(run)(replace(setup, step=longer * setup.step, record_states=False))
    if other.t.size < 3:
        return None
    other.accuracy.gauge.least[:] = 0.5 * run.accuracy.ranges
    other.plan = other.plan._replace(rtol=0.0 if fixed else min(COARSER * setup.rtol, 1.0))
    try:
        other.once(lambda part: None)
    except ConvergenceError:
        return None
    near = np.abs(other.t[np.clip(np.searchsorted(other.t, run.t - 1e-9), 0, other.t.size - 1)] - run.t) < 1e-9
    at = np.searchsorted(other.t, run.t[near] - 1e-9)
    change: FloatArray = np.abs(other.record.u[at] - run.record.u[near]).max(axis=0)
    return change * (REDUCED if setup.scheme.stages > 1 else 1.0)
