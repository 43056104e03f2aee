"""Runs in which something happens: a payload is gripped, a reading freezes, a sample is missed; joints that rub.

    dry friction         the driven joints have Coulomb friction and stick (`rubbing`), from the beginning
    gripped              in the middle of the move the payload becomes the largest one asked for, from the smallest
    frozen OUTPUT        from the middle of the move on a reading of the law stays what it was
    missed sample        one period in the middle of the move, when the command changes most, is left out

Each is the chosen scenario otherwise. Its scores are required like those of scenarios, by its name:
``"gripped: chord1_angle.settle_1pct_s": 0.6``.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...abilities import IsLinear
from ...errors import Caution, ConvergenceError, FlexctlError
from ...laws.controller import bare
from ...laws.faults import Frozen, Missed
from ...model import names
from ...simulation.claims import NOT_WITHIN
from . import rubbing
from .runs import TAIL

if TYPE_CHECKING:
    from ...catalogue import Plant
    from ...motion.moves import Motion
    from ...simulation.response import Response
    from ..scenario import Scenario
    from .task import Task

GRIPPED, MISSED, FROZEN = "gripped", "missed sample", "frozen "
UP_TO, ASTRAY = 0.95, 1.0
"""Part of the time from the event to the failure of a run that is run again, and the error there, in parts of the move,
from which on the arm has left its course."""


@dataclass(frozen=True, eq=False)
class Event:
    """A run in which something happens.

    Attributes
    ----------
    name : str
        What happens.
    time : float
        When [s].
    output : str
        The followed output that is off most, in parts of its move; empty where none is recorded.
    largest, left : float
        Its largest error from then on and that at the end (of dry friction, in the last 30 %), in parts of its move.
    scores : mapping
        Scores of the run.
    failure : str
        Why there is no run.
    diverges : str
        How far the arm was from its course, and what grew, where the run ended: then it is no failure of the
        integrator, but what the event does.
    errors : mapping
        Error of every score, by what a second run at a finer tolerance changes; empty without one.
    beyond : str
        What was warned of in the run: an arm that spins away leaves what its model is good for.
    about : str
        How much friction there is in which joints.
    """

    name: str
    time: float
    output: str = ""
    largest: float = np.nan
    left: float = np.nan
    scores: Mapping[str, float] = field(default_factory=dict)
    failure: str = ""
    diverges: str = ""
    errors: Mapping[str, float] = field(default_factory=dict)
    beyond: str = ""
    about: str = ""

    @property
    def told(self) -> str:
        """That the arm left its course, or the range of its model; empty where neither is known."""
        if not self.diverges and not self.beyond:
            return ""
        what = self.diverges or f"the run goes to its end, but its numbers count for less: {self.beyond}"
        return f"{self.name} (from {self.time:.4g} s on): {what}"


def _concerns(message: object, law: Any, item: Scenario) -> bool:
    """Whether a warning is about what an event shows: not the errors of signals that the law does not follow."""
    said = str(message)
    return not said.startswith(NOT_WITHIN) or any(f"{channel} (" in said for channel in item.motions(law))


def event_names(task: Task, ends: tuple[float, float] | None) -> list[str]:
    """Return what is tried; with a continuous law neither a missed sample nor frozen readings, see `not_tried`."""
    law = task.chosen.own_law(task.law)
    if not law.measures:
        return []
    found = [*([rubbing.NAME] if rubbing.rubs(task) else []), *([GRIPPED] if _heavier(task, ends) else [])]
    return [*found, MISSED, *(f"{FROZEN}{name}" for name in law.measures)] if law.sample_time else found


def not_tried(task: Task, ends: tuple[float, float] | None) -> list[str]:
    """Return what does not apply to a law and its plant, and why."""
    law, linear = task.chosen.own_law(task.law), isinstance(task.plant, IsLinear)
    if not law.measures:
        return [f"{rubbing.NAME}, {GRIPPED}, {MISSED}, {FROZEN}readings: the law measures nothing"]
    found = [] if rubbing.rubs(task) else [f"{rubbing.NAME}: {rubbing.without(task)}"]
    if not linear and not _heavier(task, ends):  # of a linear plant it is said with its payloads
        found.append(f"{GRIPPED}: no range of payloads")
    return found if law.sample_time else [*found, f"{MISSED}, {FROZEN}readings: the law is continuous"]


def _heavier(task: Task, ends: tuple[float, float] | None) -> bool:
    return ends is not None and ends[0] < ends[1] and not isinstance(task.plant, IsLinear)


def event_time(law: Any, item: Scenario) -> float:
    """Return the middle of the move [s], of a sampled law at a sample."""
    ends = [float(m.duration) for m in item.motions(law).values() if np.isfinite(m.duration)]
    middle = 0.5 * min(max(ends, default=item.duration), item.duration)
    return float(round(middle / law.sample_time) * law.sample_time) if law.sample_time else float(middle)


def event(plant: Plant, law: Any, item: Scenario, name: str, ends: tuple[float, float] | None) -> Event:
    """Return what happens in the scenario; `ends` are the smallest and the largest payload [kg]."""
    own = item.own_law(law)
    when = 0.0 if name == rubbing.NAME else event_time(own, item)
    inner, one, about = bare(own), item, ""
    if name == rubbing.NAME:
        before = item.plant(plant)
        plant, about = rubbing.rubbing(plant, own, item)
        one = replace(item, overrides={}, formulation="", options=rubbing.begun(before, plant, item.options))
    elif name == GRIPPED and ends is not None:
        grown = item.plant(plant).with_(payload={"mass": ends[1]}).arm.payload
        one = replace(item, overrides={**item.overrides, "payload.mass": ends[0]},
                      payload=((when, grown.mass, grown.inertia),))
    else:
        inner = Missed(inner, (when,)) if name == MISSED else Frozen(inner, {name.removeprefix(FROZEN): when})
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", Caution)
        try:
            run = replace(one, law=None, against="").run(inner, plant)
        except FlexctlError as error:
            astray = _diverging(error, when, replace(one, law=None, against=""), inner, plant)
            return Event(name, when, failure=astray or str(error), diverges=astray, about=about)
    said = [x.message for x in told if issubclass(x.category, Caution)]
    beyond = "; ".join(str(x) for x in said if _concerns(x, own, item))
    worst = _farthest(run, item.motions(own), when, TAIL if about else 0.0)
    return Event(name, when, *worst, run.scores, beyond=beyond, about=about)


def _farthest(run: Response, motions: Mapping[str, Motion], when: float, tail: float) -> tuple[str, float, float]:
    """Return the followed output that is off most from a time on, by how much, and in the tail, in parts of a move."""
    found = [("", np.nan, np.nan)]
    for channel, motion in motions.items():
        if channel in names(run.outputs):
            wanted = np.asarray(motion(run.t)[0])
            # a command that was optimised refers to the target from the beginning
            size = max(float(np.ptp(wanted)), abs(float(wanted[-1] - run[channel][0]))) or np.nan
            off = np.abs(run[channel] - wanted) / size
            last = run.t >= (1.0 - tail) * run.t[-1]
            found.append((channel, float(off[run.t >= when].max()), float(off[last].max())))
    return max(found, key=lambda row: -1.0 if np.isnan(row[1]) else row[1])


def _diverging(error: FlexctlError, when: float, item: Scenario, law: Any, plant: Plant) -> str:
    """Return how a run went that failed after the event, by one up to there; empty where it held its course.

    A frozen reading lets the arm run on until its linkage is at its end, where Newton fails whatever the step.
    """
    if not isinstance(error, ConvergenceError) or not error.time > when:
        return ""
    end = when + UP_TO * (error.time - when)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Caution)
        try:
            run = replace(item, duration=end).run(law, plant)
        except FlexctlError:
            return ""
    channel, largest, _ = _farthest(run, item.motions(law), when, 0.0)
    if not largest > ASTRAY:
        return ""
    grown = f"; {error.growing}" if error.growing else ""
    return (
        f"the arm leaves its course: {channel} is off by {largest:.3g} times its move by t = {end:.4g} s, and the run "
        f"ends at {error.time:.4g} s{grown}"
    )
