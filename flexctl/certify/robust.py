"""Payload and stiffness that differ from what the law was designed for: a grid, the limits of stability, a bound.

How they are varied is in `flexctl.variations`.

The bound is the structured singular value with the payload as real parameter and 30 % complex uncertainty of every
command. A point mass changes the mass matrix alone, by dm (e1 e1' + ...): each e is a force input and an acceleration
output added to the linear plant. Several e (two directions of a planar arm) are taken as independent parameters, which
can only make the bound larger.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ConvergenceError, FlexctlError, NotAvailable
from ..laws.linear_part import linear_law
from ..linear import SecondOrder
from ..model import FloatArray, Signal
from ..variations import changed
from .loops import Loop, examine, growth, loop_poles
from .runs import start_point

if TYPE_CHECKING:
    from ..catalogue import Plant
    from ..frequency.structured import RobustBound
    from ..scenario import Scenario
    from ..translate import Fitted

INPUT_UNCERTAINTY = 0.3
"""Relative complex uncertainty of every command in the bound."""


@dataclass(frozen=True, eq=False)
class Point:
    """The loop and a run with another payload and stiffness.

    Attributes
    ----------
    payload : float or None
        Mass [kg]; None: the plant's own.
    frequency : float
        Relative change of the natural frequencies.
    loop : Loop or None
        The linear loop; None where the law has no linear part.
    scores : mapping
        Scores of the run on the full model; empty where the linear loop is unstable.
    failure : str
        Why there is no run, empty if there is one.
    """

    payload: float | None
    frequency: float
    loop: Loop | None
    scores: Mapping[str, float]
    failure: str

    @property
    def stable(self) -> bool:
        """Whether the linear loop is stable and the run, if there is one, does not diverge."""
        return (self.loop is None or self.loop.stable) and not self.failure

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers for JSON."""
        loop = self.loop
        disk = loop.smallest("disk_margin") if loop else None
        decay = loop.decay if loop else None
        return {
            "payload_kg": self.payload, "frequency_change": self.frequency, "stable": self.stable, "disk_margin": disk,
            "slowest_decay_1_s": decay, "scores": dict(self.scores), "failure": self.failure,
        }  # fmt: skip


def point(plant: Plant, law: Any, item: Scenario, payload: float | None, frequency: float, label: str) -> Point:
    """Return the loop and the run of a scenario on a changed plant."""
    extra = changed(item.plant(plant), payload, frequency)
    item = replace(item, overrides={**item.overrides, **extra})
    arm, known, _ = item.fitted(law, plant)
    at, loop, failure = start_point(arm, item), None, ""
    scores: Mapping[str, float] = {}
    with contextlib.suppress(NotAvailable):  # a law without a linear part is judged by its run alone
        loop = examine(arm.linearise(at), linear_law(known, arm.model, at), label)
    if loop is not None and not loop.stable:
        return Point(payload, frequency, loop, scores, "")
    try:
        scores = item.run(law, plant).scores
    except ConvergenceError as error:
        failure = str(error)
    return Point(payload, frequency, loop, scores, failure)


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


def stability_limit(on: Fitted, what: str, start: float, step: float, bound: float, variant: str = "") -> Limit:
    """Return the limit of stability from a stable value on, in the direction of `step`, not beyond a bound."""
    plant, law, _ = on

    def stable(value: float) -> bool:
        extra = changed(plant, **{"payload" if what == "payload_kg" else "frequency": value})
        arm = plant.with_(overrides=extra) if extra else plant
        linear = linear_law(law, arm.model)
        return growth(loop_poles(arm.linearise(), linear), linear.feedback().dt) < 0.0

    return Limit(what, *bisected(stable, start, step, bound), variant)


def bisected(stable: Callable[[float], bool], start: float, step: float, bound: float) -> tuple[float, bool]:
    """Return the last stable value and whether an unstable one follows; steps double until one is unstable."""
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


def with_payload_channels(plant: Plant, payload: float, change: float) -> tuple[SecondOrder, list[tuple[str, str]]]:
    """Return the linear plant with a force and an acceleration for every direction in which a payload acts.

    Raises `NotAvailable` where the payload changes more than the mass matrix.
    """
    one, other = (plant.with_(overrides={"payload.mass": m}).linearise() for m in (payload, payload + change))
    if not np.array_equal(one.M, one.M.T):
        raise NotAvailable("the mass matrix is not symmetric: no bound")
    if one.M.shape != other.M.shape or one.coordinates != other.coordinates:
        raise NotAvailable("the payload adds coordinates: no bound")
    if np.abs(other.K - one.K).max() > 1e-9 * np.abs(one.K).max() or not np.allclose(one.B, other.B):
        raise NotAvailable("the payload changes the stiffness (gravity): no bound")
    size, directions = np.linalg.eigh((other.M - one.M) / change)
    kept = np.flatnonzero(np.abs(size) > 1e-9 * np.abs(size).max(initial=0.0))
    if kept.size > 3 or np.any(size[kept] < 0):
        raise NotAvailable("the payload does not act as a point mass: no bound")
    return _extended(one, directions[:, kept] * np.sqrt(size[kept]))


def _extended(plant: SecondOrder, e: FloatArray) -> tuple[SecondOrder, list[tuple[str, str]]]:
    k = e.shape[1]
    channels = [(f"payload_acceleration{i + 1}", f"payload_force{i + 1}") for i in range(k)]
    none = np.zeros((k, len(plant.M)))
    extended = replace(
        plant, B=np.hstack([plant.B, e]), Cq=np.vstack([plant.Cq, none]), Cv=np.vstack([plant.Cv, none]),
        Ca=np.vstack([plant.Ca, e.T]), Du=np.pad(plant.Du, ((0, k), (0, k))),
        inputs=(*plant.inputs, *(Signal(force, "N") for _, force in channels)),
        outputs=(*plant.outputs, *(Signal(acceleration, "m/s^2") for acceleration, _ in channels)),
    )  # fmt: skip
    return extended, channels


def payload_bound(plant: Plant, law: Any, low: float, high: float) -> RobustBound | str:
    """Return the bound for payloads from low to high [kg] with 30 % at every command, or why there is none."""
    from ..frequency.structured import InputUncertainty, Real, robust_bound

    try:
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        linear, channels = with_payload_channels(plant, middle, half)
        known = linear_law(law, plant.model)
        wanted = [Real(f"payload{i + 1}", a, f, -half) for i, (a, f) in enumerate(channels)]
        commands = [InputUncertainty(d, d, INPUT_UNCERTAINTY) for d in law.drives]
        return robust_bound(linear, known, [*wanted, *commands])
    except FlexctlError as error:
        return str(error)
