"""Between the points of the grids: a search over the whole set for the plant with the smallest disk margin.

What was computed on a grid says nothing of what lies between its points. So points are spread over payload, changes of
frequency and other ranges that the certificate speaks of, and along the way from each pose to the next; from the worst
of them, or of the grids, a pattern search goes on. It proves nothing of what it did not try.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import FlexctlError
from ...laws.linear_part import linear_law
from .holds import within
from .loops import Loop, examine
from .robust import Point, moved
from .runs import start_point
from .varied import FREQUENCY, PAYLOAD, about

if TYPE_CHECKING:
    from ...catalogue import Plant
    from ..scenario import Scenario

WAY = "way"
"""The place on the way through the poses: 0.3 is three tenths from the first to the second."""
SPREAD, SEARCHED = 8, 24
"""Points that are spread before the search begins, and all that are examined."""
CLOSEST = 0.05
"""Step in parts of a range at which the search ends."""

Part = Mapping[str, float]


@dataclass(frozen=True)
class Between:
    """The worst point that a search between those of the grids found.

    Attributes
    ----------
    point : Point or None
        The plant and its loop; None where none of those tried could be computed.
    tried : int
        How many were tried.
    failed : str
        Why some could not be computed, and which one; empty if all were.
    """

    point: Point | None
    tried: int
    failed: str = ""


@dataclass(frozen=True, eq=False)
class Space:
    """A plant and a law, and the ranges of all that varies.

    Attributes
    ----------
    base, law, item
        The plant of the scenario, the law, the scenario.
    ranges : mapping
        Ends by key: of `changed`, of the plant file, or `WAY`.
    poses : sequence
        Poses (joint angles [rad]) by which the way goes; empty where the scenario's own is the only one.
    """

    base: Plant
    law: Any
    item: Scenario
    ranges: Mapping[str, tuple[float, float]]
    poses: Sequence[Sequence[float]] = ()

    def point(self, part: Part) -> Point:
        """Return the point at parts of the ranges, nothing of it examined."""
        values = {key: low + part[key] * (high - low) for key, (low, high) in self.ranges.items()}
        pose = self.pose(values.pop(WAY, 0.0))
        told = "" if pose is None else f"joints at {', '.join(f'{float(np.degrees(x)):.4g}' for x in pose)} deg"
        return replace(about(values), pose=told)

    def pose(self, way: float) -> list[float] | None:
        """Return the joint angles [rad] at a place of the way."""
        if not self.poses:
            return None
        known = np.asarray(self.poses, float)
        return [float(np.interp(way, np.arange(len(known)), column)) for column in known.T]

    def part(self, at: Point, way: float) -> Part | None:
        """Return the parts of the ranges at which a point lies, None where it is none of this space."""
        given = {PAYLOAD: at.payload, FREQUENCY: at.frequency, WAY: way, **at.values}
        found = {}
        for key, (low, high) in self.ranges.items():
            value = given.get(key)
            if value is None or not within(value, (low, high)):
                return None
            found[key] = float(np.clip((value - low) / (high - low or 1.0), 0.0, 1.0))
        still = FREQUENCY in self.ranges or not at.frequency
        return found if still and at.values.keys() <= self.ranges.keys() else None

    def loop(self, part: Part, with_margins: bool = False) -> Loop:
        """Return the linear loop at parts of the ranges."""
        at, last = self.point(part), len(self.poses) - 1
        arm = moved(self.base, at)
        start = start_point(arm, self.item, self.pose(part.get(WAY, 0.0) * last))
        return examine(arm.linearise(start), linear_law(self.law, arm.model, start), at.where(), with_margins)


def between(space: Space, with_margins: bool, known: Sequence[Part] = ()) -> Between:
    """Return the point of a space with the smallest disk margin, as far as a search finds it.

    Parameters
    ----------
    space : Space
        What varies.
    with_margins : bool
        Whether all margins are found of it, or the disk margin alone.
    known : sequence
        Points from which to search besides those that are spread: the worst of a grid.
    """
    from scipy.stats import qmc

    keys = list(space.ranges)
    failures: dict[str, str] = {}

    def badness(part: Part) -> float:
        try:
            return bad(space.loop(part))
        except FlexctlError as error:
            failures.setdefault(space.point(part).where(), str(error))
            return -np.inf

    spread = qmc.LatinHypercube(len(keys), seed=0).random(SPREAD)
    begun = [*known, *(dict(zip(keys, map(float, row), strict=True)) for row in spread)]
    part, worst, count = searched(badness, begun, SEARCHED)
    told = "; ".join(f"{where}: {why}" for where, why in list(failures.items())[:1])
    if worst == -np.inf:
        return Between(None, count, told)
    return Between(replace(space.point(part), loop=space.loop(part, with_margins)), count, told)


def bad(loop: Loop) -> float:
    """Return how bad a loop is: an unstable one is worse than any margin."""
    return -loop.smallest("disk_margin") if loop.stable else 1.0 - loop.decay


def searched(badness: Callable[[Part], float], begun: Sequence[Part], most: int) -> tuple[Part, float, int]:
    """Return the worst point, how bad it is, and how many were tried: a pattern search from the worst of some points.

    Examples
    --------
    >>> part, worst, count = searched(lambda p: -abs(p["x"] - 0.3), [{"x": 0.8}, {"x": 0.5}], 40)
    >>> abs(part["x"] - 0.3) < 0.06
    True
    """
    found = [(badness(part), part) for part in begun]
    worst, best = max(found, key=lambda pair: pair[0])
    step, count = 0.25, len(found)
    while step > CLOSEST and count < most:
        for key in best:
            beside = [{**best, key: float(np.clip(best[key] + sign * step, 0.0, 1.0))} for sign in (-1, 1)]
            tried = [(badness(part), part) for part in beside if part != best]
            count += len(tried)
            top, part = max(tried, key=lambda pair: pair[0])
            if top > worst:
                worst, best = top, part
                break
        else:
            step *= 0.5
    return best, worst, count
