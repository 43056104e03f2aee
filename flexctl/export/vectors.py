"""The recorded test of exported code: readings and references, and the commands that the law in Python answers with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import DefinitionError
from ..laws.controller import initial_at
from ..model import FloatArray
from .mirror import Mirror
from .program import Program

SEED = 20250131
LARGEST = 1e12
"""Commands beyond this end the record: the law by itself is unstable."""
STEPS, AT_LIMITS = 200, 0.05
"""Periods from which the size of the readings is found, and the part of their commands that should be at a limit."""
WINDOW = 4
"""Periods recorded around a change of a law in time."""


@dataclass(frozen=True, eq=False)
class Vectors:
    """A recorded test.

    Attributes
    ----------
    begin : ndarray
        Readings for which the law is started.
    period : ndarray of int
        Number of each recorded period.
    y, r, u : ndarray
        Readings, references and the commands of the law in Python, one row a period.
    single : ndarray
        The commands in single precision.
    deviation : float
        Largest difference between the two.
    largest : float
        Largest command.
    limited : float
        Part of the commands at a limit of the law.
    """

    begin: FloatArray
    period: Any
    y: FloatArray
    r: FloatArray
    u: FloatArray
    single: FloatArray
    deviation: float
    largest: float
    limited: float


def record(program: Program, steps: int) -> Vectors:
    """Return a test of so many periods, readings chosen so that some commands reach the limits where there are any."""
    period = _periods(program, steps)
    y, r = inputs(program, period.size, _amplitude(program, period))
    u = answers(program.law, program.sample_time, period, y, r)
    sane = np.abs(u).max(axis=1, initial=0.0) < LARGEST
    count = period.size if sane.all() else int(np.argmin(sane))
    if count < 2:
        raise DefinitionError("the law answers with commands beyond 1e12 at once: there is nothing to test it by")
    period, y, r, u = period[:count], y[:count], r[:count], u[:count]
    single = mirrored(program, np.float32, period, y, r)
    deviation = float(np.abs(single.astype(float) - u).max(initial=0.0))
    bounds = np.minimum(np.abs(program.laws[0].upper), program.limit)
    limited = float(np.mean(np.abs(u) >= bounds)) if u.size else 0.0
    return Vectors(y[0], period, y, r, u, single, deviation, float(np.abs(u).max(initial=0.0)), limited)


def answers(law: Any, sample_time: float, period: Any, y: FloatArray, r: FloatArray) -> FloatArray:
    """Return the commands of the law in Python, begun at the first readings."""
    state, found = initial_at(law, y[0]), np.zeros((len(y), len(law.drives)))
    for i, k in enumerate(period):
        found[i], state = law.step(state, float(k) * sample_time, y[i], r[i])
    return found


def mirrored(program: Program, dtype: Any, period: Any, y: FloatArray, r: FloatArray) -> FloatArray:
    """Return the commands in the arithmetic of the code."""
    mirror = Mirror(program, dtype)
    mirror.restart(y[0])
    with np.errstate(over="ignore", invalid="ignore"):
        return np.array([mirror.step(int(k), a, b) for k, a, b in zip(period, y, r, strict=True)])


def inputs(program: Program, count: int, amplitude: float, seed: int = SEED) -> tuple[FloatArray, FloatArray]:
    """Return readings and references: slow motions that both share where their names agree, and errors about them."""
    rng = np.random.default_rng(seed)
    names = list(dict.fromkeys([*(s.name for s in program.measures), *(s.name for s in program.follows)]))
    t = program.sample_time * np.arange(float(count))
    slow = {name: _slow(rng, t, *_range(program, name, amplitude)) for name in names}
    noise = amplitude * rng.uniform(-1.0, 1.0, (count, len(program.measures)))
    y = np.array([slow[s.name][0] for s in program.measures]).reshape(-1, count).T + noise
    rows = [row for s in program.follows for row in slow[s.name]]
    return np.ascontiguousarray(y), np.ascontiguousarray(np.array(rows).reshape(-1, count).T)


def _slow(rng: Any, t: FloatArray, size: float, cycles: tuple[float, float]) -> list[FloatArray]:
    """Return value, rate, acceleration of a sum of three sines with some cycles in the record."""
    rates, phases = 2.0 * np.pi * rng.uniform(*cycles, 3) / (t[-1] + t[1]), rng.uniform(0.0, 2.0 * np.pi, 3)
    angle = rates[:, None] * t + phases[:, None]
    part = size / 3.0
    return [
        part * np.sin(angle).sum(axis=0), part * (rates[:, None] * np.cos(angle)).sum(axis=0),
        -part * (rates[:, None] ** 2 * np.sin(angle)).sum(axis=0),
    ]


def _range(program: Program, name: str, amplitude: float) -> tuple[float, tuple[float, float]]:
    """Return the size of the slow motion of a signal and its cycles: what schedules a blend visits all its points."""
    if program.blend is not None and name == program.blend.by:
        return 1.5 * max(abs(p) for p in program.blend.points) + 1e-3, (0.3, 0.7)
    return amplitude, (0.5, 3.0)


def _periods(program: Program, steps: int) -> Any:
    """Return the periods to record: the first ones, or those around changes in time."""
    if not program.switches:
        return np.arange(steps)
    around = np.unique(np.array(program.switches)[:, None] + np.arange(-WINDOW // 2, WINDOW // 2))
    around = around[around >= 0]
    pick = around[np.linspace(0, around.size - 1, min(steps // 2, around.size)).round().astype(int)]
    first = np.setdiff1d(np.arange(steps), pick)[: steps - np.unique(pick).size]
    return np.union1d(first, pick)


def _amplitude(program: Program, period: Any) -> float:
    """Return a size of errors with which some, but not most commands are at a limit."""
    bounds = np.minimum(np.minimum(np.abs(program.laws[0].upper), np.abs(program.laws[0].lower)), program.limit)
    if not np.isfinite(bounds).any():
        return 0.1
    short = period[:STEPS]
    low, high = -40.0, 10.0  # powers of 2; the larger the errors, the more commands are at a limit
    for _ in range(9):
        middle = 0.5 * (low + high)
        y, r = inputs(program, short.size, 2.0**middle)
        u = mirrored(program, np.float64, short, y, r)
        low, high = (middle, high) if np.mean(np.abs(u) >= bounds) < AT_LIMITS else (low, middle)
    return float(2.0**high)
