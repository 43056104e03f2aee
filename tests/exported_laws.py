"""Laws of every kind that can be written as code, for the tests of exports."""

from __future__ import annotations

import os
import shlex
import shutil
from typing import Any

import numpy as np
import pytest

import flexctl as fx
from flexctl.laws.blended import Blended

TS = 1e-3
Y, U, R = ("joint1_angle", "tip_displacement"), ("joint1_torque",), ("joint1_angle",)

COMPILER = shutil.which(shlex.split(os.environ.get("CC", "cc"))[0])
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler here (cc, or CC=...): apt install gcc")


def linear(
    seed: int = 1, n: int = 10, ny: int = 2, nu: int = 1, nf: int = 1, limit: float = 0.3, start: bool = True,
    radius: float = 0.95,
) -> fx.LinearLaw:
    """Return a law with random matrices, an integrator among its poles, anti-windup, limits."""
    rng = np.random.default_rng(seed)
    A = np.diag(rng.uniform(-radius, radius, n)) + 0.1 * np.triu(rng.standard_normal((n, n)), 1)
    if n:
        A[0, 0] = 1.0
    parts: dict[str, Any] = {
        "A": A, "By": 0.1 * rng.standard_normal((n, ny)), "Br": 0.1 * rng.standard_normal((n, 3 * nf)),
        "Bu": 0.05 * rng.standard_normal((n, nu)), "C": rng.standard_normal((nu, n)),
        "Dy": rng.standard_normal((nu, ny)), "Dr": rng.standard_normal((nu, 3 * nf)),
    }
    if start:
        parts["start"] = rng.standard_normal((n, ny))
    outputs, inputs = (*Y, "rate", "strain")[:ny], (*U, "other_torque", "third")[:nu]
    law = fx.LinearLaw(TS, outputs, inputs, (*R, "tip_displacement")[:nf], **parts)
    return law.limited(-limit, limit)


def blend(
    seed: int = 3, mirrored: bool = False, by: str = "tip_displacement", states: tuple[int, ...] = (6, 6, 6)
) -> Blended:
    """Return a blend of laws over a reading."""
    laws = tuple(linear(seed + i, n) for i, n in enumerate(states))
    first = 0.0 if mirrored else -0.4
    points = tuple(first + 0.37 * i for i in range(len(laws)))
    return Blended(laws, points, by, mirrored)


def in_time(seed: int = 7, phases: int = 5) -> fx.ScheduledLaw:
    """Return a law that changes in all its matrices and its limits."""
    laws = [linear(seed + i, 4, limit=0.2 + 0.1 * i) for i in range(phases)]
    return fx.ScheduledLaw([0.0105 + 0.02 * i for i in range(phases - 1)], laws)


QUANTA = {"joint1_angle": 2.0 * np.pi / 2**16, "tip_displacement": 1e-4}
KINDS: dict[str, Any] = {
    "linear": lambda: linear(),
    "no limits": lambda: fx.Delayed(fx.LinearLaw(TS, Y, U, (), A=[[0.5]], By=[[1.0, 2.0]], C=[[1.0]])),
    "no states": lambda: linear(n=0),
    "one limit": lambda: linear().limited(-np.inf, 0.1),
    **{f"delay {d}": lambda d=d: fx.Delayed(linear(2), d) for d in range(4)},
    "quantised": lambda: fx.Quantised(fx.Delayed(linear(3)), QUANTA),
    "one quantum": lambda: fx.Delayed(fx.Quantised(linear(3), {"tip_displacement": 1e-3}), 2),
    "quantised twice": lambda: fx.Quantised(fx.Quantised(linear(3), QUANTA), {"tip_displacement": 7e-4}),
    "saturated": lambda: fx.Saturated(fx.Delayed(linear(4), 2), 0.2),
    "saturated inside": lambda: fx.Delayed(fx.Saturated(fx.Saturated(linear(4, limit=np.inf), 0.2), 0.3), 1),
    "two drives": lambda: fx.Delayed(linear(5, ny=4, nu=2, nf=2)),
    "references alone": lambda: fx.LinearLaw(TS, (), U, R, Dr=[[6.8, 0.1, 0.2]]),
    "blended": lambda: fx.Delayed(blend()),
    "blended, mirrored, of one size more": lambda: blend(4, True, "elbow", (6, 3, 5)),
    "blend of one": lambda: blend(4, True, "elbow", (6,)),
    "in time": lambda: fx.Quantised(fx.Delayed(in_time()), QUANTA),
}
"""Kind -> what makes such a law."""
