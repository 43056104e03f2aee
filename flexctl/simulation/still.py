"""Outputs that read no accelerations: only their errors can be told from the steps."""

from __future__ import annotations

import contextlib
from weakref import WeakKeyDictionary

import numpy as np

from ..model import MechanicalModel, OperatingPoint
from .grid import IntArray

_STILL: WeakKeyDictionary[MechanicalModel, IntArray] = WeakKeyDictionary()
"""Outputs of a model that read no accelerations. To find them takes as long as a hundred steps, and they stay so."""


def without_acceleration(model: MechanicalModel, rows: IntArray) -> IntArray:
    """Return which of some outputs read no accelerations."""
    with contextlib.suppress(TypeError):  # a model from outside that has no hash is asked every time
        if model not in _STILL:
            _STILL[model] = _still(model)
        return np.intersect1d(rows, _STILL[model])
    return np.intersect1d(rows, _still(model))


def _still(model: MechanicalModel) -> IntArray:
    """Return the outputs that read no accelerations."""
    point = OperatingPoint.at_rest(model)
    moved = 1.0 + 0.1 * np.cos(np.arange(point.a.size))  # readings are linear in them; no sum is zero by chance
    still, other = (model.output(point.q, point.v, a, point.u) for a in (point.a, point.a + moved))
    return np.flatnonzero(still == other)
