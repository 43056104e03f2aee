"""Modes that are too fast for a step, in which jumps of forces hide errors.

A mode that a step cannot follow goes at once where the force would hold it, x = b (M + b K)^-1 B du, b = beta' h^2 as
in the filtered jump (`kernels.stepper`), while the real one swings about there: its displacement is off by x, and its
rate by as much as an acceleration M^-1 B du makes of x.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ConvergenceError, DefinitionError, NotAvailable
from ..kernels.schemes import SCHEMES, Scheme
from ..linear import linearise
from ..model import FloatArray, MechanicalModel, OperatingPoint, index_of

if TYPE_CHECKING:
    from .run import Run

POSES = 4.0
"""On what jumps hide in the reference pose: the arm is in others, and may carry more. Chosen."""
AT_ONCE = 1e-8
"""Of b: for a force that has only begun to act."""


def hidden_by_jumps(
    model: MechanicalModel, drives: Sequence[str], change: FloatArray, step: float, scheme: Scheme
) -> FloatArray:
    """Return by how much each output may be off for jumps of the inputs `drives` by `change`; inf if none can say.

    Parameters
    ----------
    model : MechanicalModel
        The model that is integrated.
    drives : sequence of str
        Inputs that jump.
    change : ndarray
        By how much each does, at most [units of the inputs].
    step : float
        Step [s].
    scheme : Scheme
        Method of the generalised-alpha family.
    """
    unknown = np.full(len(model.outputs), np.inf)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is to be said of the pose is not said here
            plant = linearise(model, OperatingPoint.at_rest(model))
        b = step * step * scheme.beta * (1.0 - scheme.alpha_f) / (1.0 - scheme.alpha_m)
        B = plant.B[:, [index_of("input", name, plant.inputs) for name in drives]]
        moved, sudden = (np.linalg.solve(plant.M + c * plant.K, B) for c in (b, AT_ONCE * b))
    except (ConvergenceError, DefinitionError, NotAvailable, np.linalg.LinAlgError):
        return unknown
    if plant.outputs != model.outputs:
        return unknown
    place, rate = np.abs(b * plant.Cq @ moved), np.abs(b * plant.Cv @ moved)
    off = (place + np.sqrt(rate * np.abs(plant.Cv @ (sudden - moved)))) @ change
    direct = np.any(plant.Ca, axis=1) | np.any(plant.Du, axis=1)
    return np.where(direct | ~np.isfinite(off), np.inf, POSES * off)


def largest_jump(run: Run) -> float:
    """Return the largest jump of a command of a sampled law, as a part of the range of the command.

    The step sees of a jump what its modes make of it; what the modes beyond it would make is no larger than the part
    of the jump in what commands have done to the arm.
    """
    change, extent = _jumps(run)
    return float((change / np.maximum(extent, 1e-300)).max(initial=0.0))


def hidden_parts(run: Run) -> FloatArray:
    """Return the part of the range of each output that these jumps may hide: what fast modes hold, at most that."""
    bound, ranges = run.accuracy.hides, run.accuracy.ranges
    setup, longest = run.setup, float(run.tables.h.max())
    off = hidden_by_jumps(setup.model, setup.law.drives, _jumps(run)[0], longest, setup.scheme)
    return np.where(ranges > 0.0, np.minimum(bound, off / np.maximum(ranges, 1e-300)), bound)


def _jumps(run: Run) -> tuple[FloatArray, FloatArray]:
    """Return the largest jump and the range of each command of a sampled law."""
    law, record, setup = run.setup.law, run.record, run.setup
    if law is None or run.compiled is None or not run.looped or setup.method not in SCHEMES:
        return np.zeros(0), np.zeros(0)
    drives = [index_of("input", name, setup.model.inputs) for name in law.drives]
    u = (record.u - run.tables.after)[run.due >= 0][:, drives]
    change: FloatArray = np.abs(np.diff(u, axis=0, prepend=0.0)).max(axis=0, initial=0.0)
    return change, np.ptp(record.u[:, drives], axis=0)
