"""Inputs of the explicit march, step by step.

An input that is a function of time enters step k as its average weighted by the hat function of t_k = k dt. Impulse and
moment of impulse are then exact wherever the jumps lie, so a bang-bang torque leaves neither drift nor offset.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import require, unknown
from ...model import FloatArray

InputHistory = npt.ArrayLike | Callable[[FloatArray], npt.ArrayLike]
"""Constant, one value per step, or a function of time with optional attribute `breakpoints`."""


def table(known: Sequence[str], histories: Mapping[str, InputHistory], dt: float, steps: int) -> FloatArray:
    """Return all inputs at steps 0 .. steps, (inputs, steps + 1), zero where no history is given."""
    rows = np.zeros((len(known), steps + 1))
    for name, history in histories.items():
        if name not in known:
            raise unknown("actuator", name, known[1:])
        _fill(rows[list(known).index(name)], name, history, dt, steps)
    return rows


def step_averages(signal: Callable[[FloatArray], npt.ArrayLike], dt: float, steps: int) -> FloatArray:
    """Return the averages of a signal, weighted by the hat functions of t_k = k dt, for k = 0 .. steps.

    The first is the average over the half hat. Exact for signals that are piecewise quadratic between their
    `breakpoints` and the t_k.
    """
    breaks = np.asarray(getattr(signal, "breakpoints", ()), float)
    edges = np.union1d(dt * np.arange(steps + 2), breaks[(breaks > 0) & (breaks < (steps + 1) * dt)])
    middle, half = 0.5 * (edges[1:] + edges[:-1]), 0.5 * np.diff(edges)
    cell = np.clip((middle / dt).astype(int), 0, steps)
    total = np.zeros(steps + 2)
    for point in (-1.0 / math.sqrt(3.0), 1.0 / math.sqrt(3.0)):  # Gauss points never meet a jump
        t = middle + point * half
        value, part = _values(signal, t) * half / dt, t / dt - cell
        total += np.bincount(cell, value * (1.0 - part), steps + 2)
        total += np.bincount(cell + 1, value * part, steps + 2)
    total[0] *= 2.0
    return total[:-1]


def _fill(row: FloatArray, name: str, history: InputHistory, dt: float, steps: int) -> None:
    values = step_averages(history, dt, steps) if callable(history) else np.asarray(history, float)
    shaped = values.shape in ((), (steps,), (steps + 1,))
    require(shaped, f"{name} has shape {values.shape}; give one value, or one per step ({steps} or {steps + 1})")
    require(bool(np.isfinite(values).all()), f"{name} has values that are not finite")
    if values.shape == (steps,):
        row[:-1], row[-1] = values, values[-1]  # what it is at the end is what it was during the last step
    else:
        row[:] = values


def _values(signal: Callable[[Any], npt.ArrayLike], t: FloatArray) -> FloatArray:
    """Return the signal at all times; a function of one time is called for each."""
    try:
        values = np.asarray(signal(t), float)
    except (TypeError, ValueError):
        values = np.array([float(np.asarray(signal(float(one)))) for one in t])
    require(values.shape in ((), t.shape), f"a signal returned shape {values.shape} for {t.size} times")
    return np.broadcast_to(values, t.shape)
