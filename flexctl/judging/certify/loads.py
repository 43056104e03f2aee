"""A constant load that sets in while the arm holds still: how far it gives way, and when it is back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...abilities import IsLinear
from ...errors import FlexctlError, NotAvailable, unknown
from ...model import names
from ...motion.signals import PiecewiseConstant
from ...support.checks import number, table
from .runs import Scaled, limits

if TYPE_CHECKING:
    from ...catalogue import Plant
    from ...motion.moves import Motion
    from ...simulation.response import Response
    from ..scenario import Scenario
    from .task import Task

PART = 1.0 / 6.0
"""Default size of the load in parts of the limit of that input; without one, of the largest command of the scenario."""
TIP, TIP_PART, WEIGHT = "tip_force_", 0.1, 9.81
"""Inputs of forces at the tip, and their default size: in parts of the weight of the arm, 9.81 N for a kilogram."""
BAND = 1e-3
"""Part of the scenario's move within which the arm counts as back."""
FIRST = 0.05
"""When the load comes on, in parts of the run."""


@dataclass(frozen=True)
class LoadStep:
    """The effect of a load at an input of the plant.

    Attributes
    ----------
    variant, drive : str
        The plant, the input at which the load acts.
    size : float
        The load, in the unit of that input.
    output : str
        The followed output that gives way most, in parts of its move.
    peak, left : float
        Its largest deviation, and what is left of it at the end of the run, in its unit.
    recovery : float
        Time after which it stays within 0.1 % of the scenario's move [s]; inf if it does not come back in the run.
    watched : float
        Time for which it was watched [s].
    failure : str
        Why there is no run.
    error : float
        Error of the recovery [s], by what a second run at a finer tolerance changes; NaN without one.
    at_tip : bool
        Whether it is the force at the tip that every certificate tries.
    """

    variant: str
    drive: str
    size: float
    output: str = ""
    peak: float = np.nan
    left: float = np.nan
    recovery: float = np.nan
    watched: float = np.nan
    failure: str = ""
    error: float = np.nan
    at_tip: bool = False


def sizes(law: Any, given: Mapping[str, float]) -> dict[str, float]:
    """Return the loads by input: those given, else a sixth of the limit; inf where there is none, see `load_step`."""
    return dict(given) if given else {drive: PART * bound for drive, bound in limits(law).items()}


def tip_sizes(plant: Plant, given: Mapping[str, float]) -> dict[str, float]:
    """Return forces at the tip [N] of a tenth of the weight of the arm, where the model takes them, but those given."""
    if isinstance(plant, IsLinear):
        return {}
    arm = plant.arm
    masses = [*(x.mass for x in arm.links), *(x.mass for x in arm.joints), *(x.mass for x in arm.bodies)]
    size = TIP_PART * WEIGHT * float(sum(masses) + arm.payload.mass)
    return {s.name: size for s in plant.model.inputs if s.name.startswith(TIP) and s.name not in given and size > 0.0}


def tip_step(plant: Plant, law: Any, item: Scenario, drive: str, size: float, variant: str) -> LoadStep:
    """Return what a force at the tip does; see `load_step`."""
    return replace(load_step(plant, law, item, drive, size, variant), at_tip=True)


def checked_loads(loads: Mapping[str, float], task: Task) -> dict[str, float]:
    """Return the loads that are asked for, or refuse one that is not finite or acts at no input of the plant."""
    known = [*names(task.chosen.plant(task.plant).model.inputs), *task.law.drives]
    loads = table("loads", loads, '{"joint1_torque": 0.05}')
    for drive, size in loads.items():
        if drive not in known:
            raise unknown("load: input", drive, known)
        number(f"load {drive}", size)
    return dict(loads)


def _size(run: Response, drive: str) -> float:
    if drive not in names(run.inputs):
        raise NotAvailable(f"{drive} is prescribed: a load cannot act there")
    largest = float(np.abs(run[drive]).max())
    if largest == 0.0:
        raise NotAvailable(f"{drive} stays 0 in the scenario: give the size of the load")
    return PART * largest


def _extent(motion: Motion, duration: float) -> float:
    """Return how far a motion goes, a jump at the start included: the value before it is what is held."""
    value = motion(np.linspace(0.0, duration, 501))[0]
    return float(np.ptp(np.append(value, Scaled(motion, 0.0).begin)))


def load_step(plant: Plant, law: Any, item: Scenario, drive: str, size: float, variant: str) -> LoadStep:
    """Return what a load does at an input while the law holds the arm where the scenario begins.

    One of infinite size becomes a sixth of the largest command of the scenario itself.
    """
    held = {name: Scaled(m, 0.0) for name, m in item.motions(law).items()}
    moves = {name: _extent(m, item.duration) for name, m in item.motions(law).items()}
    begin, moving = FIRST * item.duration, [name for name in law.follows if moves.get(name, 0.0) > 0.0]
    if not moving:
        return LoadStep(variant, drive, size, failure="it follows no output that moves")
    try:
        size = size if np.isfinite(size) else _size(item.run(law, plant), drive)
        signal = PiecewiseConstant((begin,), (0.0, size))
        run = replace(item, reference=held, inputs={drive: signal}, payload=(), against="").run(law, plant)
    except FlexctlError as error:
        return LoadStep(variant, drive, size, failure=str(error))
    after, found = run.t >= begin, []
    t = run.t[after] - begin
    for name in [n for n in moving if n in names(run.outputs)]:
        off = np.abs(run[name][after] - run[name][0])
        outside = np.flatnonzero(off > BAND * moves[name])
        back = 0.0 if not outside.size else np.inf if outside[-1] == t.size - 1 else float(t[outside[-1] + 1])
        found.append((off.max() / moves[name], LoadStep(
            variant, drive, size, name, float(off.max()), float(off[-1]), back, float(t[-1])
        )))
    if not found:
        return LoadStep(variant, drive, size, failure="it follows no output that moves")
    return max(found, key=lambda pair: (pair[1].recovery, pair[0]))[1]
