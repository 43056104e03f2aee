"""Plants that differ: structural damping, and any parameters of the plant file within ranges.

Damping is what is known least of an arm. Whatever was asked for, the linear loop is examined without any, with 0.1 % in
every mode, with half of what the plant has and with twice that; dampers of joints stay.

Ranges are tried at their ends, in the middle and in all combinations (up to three parameters; beyond, at the corners
and at points spread evenly), and from the middle a search goes on for the point that decays most slowly. The range of
payloads, and that of the frequencies where one is asked for, vary with them.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...abilities import IsLinear
from ...catalogue.keys import key_unit
from ...catalogue.linear_plant import DAMPING, DAMPING_FACTOR
from ...errors import DefinitionError, FlexctlError, require
from ...laws.given import feedback_of
from ...laws.linear_part import linear_law
from ...linear.remade import flexible
from .loops import examine, growth, loop_poles
from .robust import Point, moved, overridden
from .runs import start_point

if TYPE_CHECKING:
    from ...catalogue import Plant
    from ..scenario import Scenario

Ranges = Mapping[str, tuple[float, float]]

PAYLOAD, FREQUENCY = "payload_kg", "frequency_change"
"""Quantities that vary with the parameters asked for: keys of `changed`, not of a plant file."""
FACTORS = (0.5, 2.0)
LEAST_DAMPING = 1e-3
SPREAD, CORNERS = 24, 6
"""Points beside the corners, and the largest number of parameters of which all corners are tried."""
SEARCHED = 40
"""Loops that the search for a worse point may examine."""


@dataclass(frozen=True)
class OtherDamping:
    """A structural damping that differs: what it is called, its table, and its size in parts of the plant's own."""

    name: str
    table: Mapping[str, Any]
    part: float


def dampings(plant: Plant) -> list[OtherDamping]:
    """Return other structural dampings than the plant's own; of a linear plant other damping of all its modes."""
    if isinstance(plant, IsLinear):
        return _of_modes(plant)
    own = plant.arm.damping
    sizes = {"alpha": own.alpha, "beta": own.beta, "ratio": own.ratio}
    none = {"kind": "none", "alpha": 0.0, "beta": 0.0, "ratio": 0.0}
    little = {**none, "kind": "modal", "ratio": LEAST_DAMPING}
    # of Rayleigh damping the ratio differs from mode to mode; 0.1 % counts as next to none
    part = LEAST_DAMPING / own.ratio if own.ratio else 0.0 if own.kind != "none" else 2.0
    found = [OtherDamping(f"damping {100 * LEAST_DAMPING:g} %", little, part)]
    if own.kind == "none":
        return found
    found.append(OtherDamping("no structural damping", none, 0.0))
    for factor in FACTORS:
        scaled = {key: factor * value for key, value in sizes.items()}
        found.append(OtherDamping(f"{factor:g} times the damping", {"kind": own.kind, **scaled}, factor))
    return found


def _of_modes(plant: Plant) -> list[OtherDamping]:
    before = plant.overrides.get(DAMPING_FACTOR, 1.0)
    ratios = [abs(mode.damping) for mode in flexible(plant)]
    if not ratios:
        return []
    own = max(ratios)
    little = {DAMPING: LEAST_DAMPING} if DAMPING_FACTOR not in plant.overrides else {}
    if not own or DAMPING in plant.overrides or not little:
        return []
    found = [OtherDamping(f"damping of all modes {100 * LEAST_DAMPING:g} %", little, LEAST_DAMPING / own)]
    found.append(OtherDamping("no damping of modes", {DAMPING: 0.0}, 0.0))
    return found + [
        OtherDamping(f"{factor:g} times the damping of modes", {DAMPING_FACTOR: before * factor}, factor)
        for factor in FACTORS
    ]


def checked_ranges(vary: Mapping[str, Any], plant: Plant) -> dict[str, tuple[float, float]]:
    """Return the ranges of parameters, tried on the plant before anything is computed: each at both ends, and all in
    their middle, where there must be a model.
    """
    found = {}
    for key, ends in vary.items():
        try:
            low, high = (float(x) for x in ends)
        except (TypeError, ValueError) as error:
            raise DefinitionError(f"vary {key} = {ends!r} is not a range; write (low, high)") from error
        require(bool(np.isfinite([low, high]).all() and low <= high), f"vary {key} = {low:g}..{high:g}: low <= high")
        for value in (low, high):
            _tried(plant, key, value)
        found[key] = (low, high)
    _ = overridden(plant, _inside(found, dict.fromkeys(found, 0.5))).model
    return found


def _tried(plant: Plant, key: str, value: float) -> None:
    """Raise where a parameter does not take a value; of what is counted or named, say that a range has no meaning."""
    try:
        plant.with_(overrides={key: value})
    except DefinitionError as error:
        if key_unit(key) is not None:
            raise
        try:
            plant.with_(overrides={key: int(value)})
        except DefinitionError:
            raise error from None
        raise DefinitionError(
            f"vary {key}: a whole number, which has no range between two of them; flexctl sweep --over "
            f"{key}={value:g},{value + 1:g} runs one by one"
        ) from None


def samples(ranges: Ranges) -> list[dict[str, float]]:
    """Return the points of the ranges that are examined."""
    keys, count = list(ranges), len(ranges)
    parts: list[tuple[float, ...]]
    if count == 1:
        parts = [(x,) for x in np.linspace(0.0, 1.0, 9)]
    elif count <= 3:
        parts = list(itertools.product((0.0, 0.5, 1.0), repeat=count))
    else:
        from scipy.stats import qmc

        ends = list(itertools.product((0.0, 1.0), repeat=count)) if count <= CORNERS else []
        spread = qmc.LatinHypercube(count, seed=0).random(SPREAD + (0 if ends else 2**CORNERS))
        parts = [*ends, (0.5,) * count, *map(tuple, spread)]
    return [_inside(ranges, dict(zip(keys, map(float, part), strict=True))) for part in dict.fromkeys(parts)]


def _inside(ranges: Ranges, part: Mapping[str, float]) -> dict[str, float]:
    return {key: low + part[key] * (high - low) for key, (low, high) in ranges.items()}


def about(values: Mapping[str, float]) -> Point:
    """Return the point with these values, nothing of it examined."""
    own = {key: value for key, value in values.items() if key not in (PAYLOAD, FREQUENCY)}
    return Point(values.get(PAYLOAD), values.get(FREQUENCY, 0.0), None, values=own)


def varied_point(base: Plant, law: Any, item: Scenario, about: Point, pose: Sequence[float] | None = None) -> Point:
    """Return the linear loop with its margins on a plant with other values."""
    arm = moved(base, about)
    at = start_point(arm, item, pose)
    return replace(about, loop=examine(arm.linearise(at), linear_law(law, arm.model, at)))


def searched(base: Plant, law: Any, item: Scenario, ranges: Ranges) -> Point:
    """Return the point of the ranges whose linear loop decays most slowly, as far as a pattern search finds it.

    One that cannot be computed ends the search: it is returned, as not examined.
    """
    try:
        return varied_point(base, law, item, about(_inside(ranges, _slowest(base, law, item, ranges))))
    except _Unknown as unknown:
        return replace(about(_inside(ranges, unknown.part)), unknown=str(unknown))


class _Unknown(Exception):
    """A point of the search that cannot be computed."""

    def __init__(self, why: str, part: Mapping[str, float]) -> None:
        super().__init__(why)
        self.part = part


def _slowest(base: Plant, law: Any, item: Scenario, ranges: Ranges) -> Mapping[str, float]:
    def rate(part: Mapping[str, float]) -> float:
        try:
            return _rate(base, law, item, about(_inside(ranges, part)))
        except FlexctlError as error:
            raise _Unknown(str(error), part) from error

    best: Mapping[str, float] = dict.fromkeys(ranges, 0.5)
    worst, step, count = rate(best), 0.5, 1
    while step > 0.02 and count < SEARCHED:
        tried = [{**best, key: float(np.clip(best[key] + sign * step, 0.0, 1.0))} for key in ranges for sign in (-1, 1)]
        rates = [(rate(part), part) for part in tried if part != best]
        count += len(rates)
        top = max(rates, key=lambda pair: pair[0], default=(worst, best))
        if top[0] > worst:
            worst, best = top
        else:
            step *= 0.5
    return best


def _rate(base: Plant, law: Any, item: Scenario, at: Point) -> float:
    arm = moved(base, at)
    point = start_point(arm, item)
    linear = linear_law(law, arm.model, point)
    return growth(loop_poles(arm.linearise(point), linear), feedback_of(linear).dt)
