"""Payload and stiffness that differ from what the law was designed for: a grid, the limits of stability, a bound.

How they are varied is in `flexctl.judging.variations`.

The bound is in `flexctl.judging.certify.bound`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import DefinitionError, FlexctlError, NotAvailable
from ...laws.given import feedback_of
from ...laws.linear_part import linear_law
from ...linear import SecondOrder
from ...machine.given import as_plant
from ...model import OperatingPoint
from ...support.kinds import LawGiven
from ..variations import changed
from . import bound
from .bound import PayloadBound
from .loops import Loop, decaying, examine, loop_poles
from .runs import start_point
from .settling import is_open, sustained

if TYPE_CHECKING:
    from ...catalogue import Plant
    from ...simulation.response import Response
    from ..scenario import Scenario


@dataclass(frozen=True, eq=False)
class Point:
    """The loop, and a run where one was asked for, on a plant that differs.

    Attributes
    ----------
    payload : float or None
        Mass [kg]; None: the plant's own.
    frequency : float
        Relative change of the natural frequencies.
    loop : Loop or None
        The linear loop; None where there is none, or none that is known.
    scores : mapping
        Scores of the run on the full model; empty without a run, and where the linear loop is unstable.
    failure : str
        Why there is no run, empty if there is one or none was asked for.
    pose : str
        The pose; empty for that in which the scenario begins.
    values : mapping
        What else differs, by key of the plant file.
    damping : float or None
        Structural damping in parts of the plant's own; None: the plant's own.
    unknown : str
        Why the loop is not known, or whether the run settles; empty if both are, or if the law measures nothing.
    sustained : str
        What does not come to rest in the run.
    """

    payload: float | None
    frequency: float
    loop: Loop | None
    scores: Mapping[str, float] = field(default_factory=dict)
    failure: str = ""
    pose: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    unknown: str = ""
    sustained: str = ""
    damping: float | None = None

    @property
    def stable(self) -> bool:
        """Whether nothing was found that grows or goes on for ever; see `examined`."""
        return (self.loop is None or self.loop.stable) and not self.failure and not self.sustained

    @property
    def examined(self) -> bool:
        """Whether the linear loop is known and the run long enough, or the law measures nothing."""
        return not self.unknown

    @property
    def state(self) -> str:
        """The word for it in tables and JSON."""
        if self.loop is not None and not self.loop.stable:
            return self.loop.state
        if self.failure:
            return "RUN FAILS"
        if self.sustained:
            return "DOES NOT SETTLE"
        if self.unknown:
            return "not examined"
        return "stable" if self.loop is not None else "no loop"

    def where(self) -> str:
        """Return the plant in words."""
        told = [] if self.payload is None else [f"{1e3 * self.payload:g} g"]
        told += [f"frequencies {100 * self.frequency:+.3g} %"] if self.frequency else []
        told += [f"{key} = {value:.5g}" if isinstance(value, float) else key for key, value in self.values.items()]
        return ", ".join([*told, *([self.pose] if self.pose else [])]) or "the plant as it is"

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers for JSON."""
        loop = self.loop
        disk = loop.smallest("disk_margin") if loop else None
        decay = loop.decay if loop else None
        return {
            "payload_kg": self.payload, "frequency_change": self.frequency, "pose": self.pose,
            "settings": dict(self.values), "stable": self.stable if self.examined else None, "state": self.state,
            "disk_margin": disk, "slowest_decay_1_s": decay, "scores": dict(self.scores), "failure": self.failure,
            "does_not_settle": self.sustained, "not_examined": self.unknown,
        }


def point(plant: Plant, law: Any, item: Scenario, about: Point) -> Point:
    """Return the loop and the run of a scenario on a plant with the payload and the frequencies of a point."""
    extra = changed(item.plant(plant), about.payload, about.frequency)
    item, found = replace(item, overrides={**item.overrides, **extra}), about
    arm, own = item.plant(plant), item.own_law(law)
    try:
        at = start_point(arm, item)
        found = replace(about, loop=examine(arm.linearise(at), linear_law(own, arm.model, at), about.where()))
    except FlexctlError as error:
        found = replace(about, unknown=str(error) if law.measures else "")
    if found.loop is not None and not found.loop.stable:
        return found
    try:
        run = item.run(law, plant)
        rate = np.inf if found.loop is None else found.loop.decay
        told = _sustained(plant, law, item, run, rate)
        if is_open(told):
            return replace(found, scores=run.scores, unknown=told)
        return replace(found, scores=run.scores, sustained=told)
    except FlexctlError as error:
        return replace(found, failure=str(error))


def _sustained(plant: Plant, law: Any, item: Scenario, run: Response, decay: float) -> str:
    """Return what does not come to rest; where the error of the run leaves that open, of a finer run."""
    if not law.measures:
        return ""
    motions = item.motions(law)
    told = sustained(run, law, motions, decay)
    if not told and sustained(run, law, motions, decay, doubted=True):
        told = sustained(item.finer().run(law, plant), law, motions, decay)
    return told


def loop_point(
    arm: Plant, law: Any, item: Scenario, about: Point, pose: Sequence[float] | None = None,
    with_margins: bool = False,
) -> Point:
    """Return a point of which only the linear loop is examined, in a pose [rad] or where the scenario begins."""
    at = start_point(arm, item, pose)
    loop = examine(arm.linearise(at), linear_law(law, arm.model, at), about.where(), with_margins)
    return replace(about, loop=loop)


def overridden(plant: Plant, extra: Mapping[str, Any]) -> Plant:
    """Return a plant with overrides, the same one without any."""
    return plant.with_(overrides=extra) if extra else plant


def moved(plant: Plant, about: Point) -> Plant:
    """Return the plant of a point: with its values, and of that one payload and frequencies changed."""
    arm = overridden(plant, about.values)
    return overridden(arm, changed(arm, about.payload, about.frequency))


@dataclass(frozen=True)
class Limit:
    """Up to where the linear loop stays stable.

    Attributes
    ----------
    what : str
        "payload_kg" or "frequency_change".
    value : float
        The last stable value found, to 1 part in 1000.
    reached : bool
        Whether instability lies beyond it; otherwise the search ended there.
    variant : str
        The plant on which this is so.
    """

    what: str
    value: float
    reached: bool
    variant: str


def stability_limit(
    plant: Plant, law: Any, item: Scenario, what: str, span: tuple[float, float, float], label: str,
    pose: Sequence[float] | None = None,
) -> Limit:
    """Return how far a parameter may go from where it starts, in steps that double, until the linear loop is unstable.

    Parameters
    ----------
    plant, law
        The arm, and any law with a linear part.
    item : Scenario
        Where it begins is the pose, unless one is given.
    what : str
        "payload_kg" or "frequency_change".
    span : (start, first step, bound)
        Values of the parameter; the sign of the step is the direction.
    label : str
        What tells the plant from the others.
    pose : sequence of float, optional
        Joint angles [rad].
    """

    def changed_by(value: float) -> Plant:
        return overridden(plant, changed(plant, **{"payload" if what == "payload_kg" else "frequency": value}))

    def stable(value: float) -> bool:
        arm = changed_by(value)
        at = start_point(arm, item, pose)
        linear = linear_law(law, arm.model, at)
        return decaying(loop_poles(arm.linearise(at), linear), feedback_of(linear).dt)

    return Limit(what, *bisected(stable, *span[:2], _plausible(changed_by, *span)), label)


def _plausible(changed_by: Callable[[float], Any], start: float, step: float, bound: float) -> float:
    """Return how far to search: the bound, or as much of the way to it as the plant file takes."""
    while abs(bound - start) > abs(step):
        try:
            changed_by(bound)
            return bound
        except DefinitionError:
            bound = 0.5 * (start + bound)
    return bound


def bisected(stable: Callable[[float], bool], start: float, step: float, bound: float) -> tuple[float, bool]:
    """Return the last stable value and whether an unstable one follows; steps double until one is unstable.

    Examples
    --------
    >>> limit, found = fx.bisected(lambda x: x < 0.3, 0.1, 0.1, 1.0)
    >>> print(f"{limit:.2f}", found)
    0.30 True
    """
    if not stable(start):
        return start, True
    good = start
    while True:
        value = min(good + step, bound) if step > 0 else max(good + step, bound)
        if not stable(value):
            break
        good, step = value, 2.0 * step
        if value == bound:
            return good, False
    bad = value
    while abs(bad - good) > 1e-3 * max(abs(bad - start), 1e-9):
        middle = 0.5 * (good + bad)
        good, bad = (middle, bad) if stable(middle) else (good, middle)
    return good, True


def payload_bound(
    plant: Plant, law: LawGiven, low: float, high: float, at: OperatingPoint | None = None, where: str = "",
    most: int | None = None,
) -> PayloadBound | str:
    """Return the bound for payloads from low to high [kg] with 30 % at every command, or why there is none.

    Parameters
    ----------
    plant : Plant
        The arm.
    law : Controller
        Any law with a linear part.
    low, high : float
        The range [kg].
    at : OperatingPoint, optional
        Where the arm is linearised; by default in its reference pose.
    where : str
        Label of the pose.
    most : int, optional
        Number of pieces of the range at which to give up if one of them tolerates none; by default never.

    Examples
    --------
    >>> script = fx.load_controller("tokhi_azad_lqg")
    >>> arm = fx.load_plant(script.PLANT, overrides=script.SETTINGS)
    >>> print(f"{fx.payload_bound(arm, script.design(arm), 0.0, 0.02).largest:.1f}")
    1.0
    """

    plant = as_plant(plant)
    if any(plant.arm.gravity):
        return "under gravity a payload changes where the arm is in equilibrium: no bound"

    def family(payload: float) -> SecondOrder:
        return plant.with_(overrides={"payload.mass": payload}).linearise(at)

    try:
        return bound.payload_bound(family, linear_law(law, plant.model, at), low, high, where, most)
    except (NotAvailable, DefinitionError) as error:
        return str(error)
