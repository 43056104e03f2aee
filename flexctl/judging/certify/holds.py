"""The set of plants for which a certificate holds, and the nearest plant for which it does not."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .certificate import Certificate
    from .loops import Loop
    from .robust import Limit, Point


@dataclass(frozen=True)
class Counterexample:
    """A plant on which the loop is not stable.

    Attributes
    ----------
    what : str
        The plant and what happens, e.g. "UNSTABLE at 0 g, frequencies +4.42 %".
    distance : float
        How far outside the stated set, as a relative change of what differs; 0 inside.
    kind : str
        What differs: "payload", "frequencies", "damping", "several", or "" inside the set.
    """

    what: str
    distance: float
    kind: str = ""

    @property
    def inside(self) -> bool:
        """Whether it belongs to the set itself."""
        return self.distance == 0.0


def within(value: float, ends: tuple[float, float]) -> bool:
    """Whether a value lies in a range, rounding apart."""
    slack = 1e-9 * max(abs(ends[0]), abs(ends[1]))
    return ends[0] - slack <= value <= ends[1] + slack


def of_the_set(found: Certificate, p: Point) -> bool:
    """Whether a point is one of the plants of which the certificate speaks."""
    return not any(_apart(found, p).values())


def unexamined(found: Certificate) -> list[Point]:
    """Return the points of the set whose loop is not known."""
    return [p for p in (*found.points, *found.posed, *found.varied, *found.drawn) if not p.examined and
    of_the_set(found, p)]


def loops_of_the_set(found: Certificate) -> list[tuple[str, Loop]]:
    """Return the linear loops of the set, each with its plant in words."""
    every = [(loop.variant, loop) for loop in found.loops]
    return every + [(p.where(), p.loop) for p in _points(found) if p.loop is not None and of_the_set(found, p)]


def _points(found: Certificate) -> list[Point]:
    """Return all points with the damping that the plant has."""
    worst = [found.between.point] if found.between is not None and found.between.point is not None else []
    return [*found.points, *found.posed, *found.varied, *found.drawn, *worst]


def counterexamples(found: Certificate) -> list[Counterexample]:
    """Return the nearest plant of every kind on which the loop is not stable, the nearest of all first."""
    known = [Counterexample(f"{x.state}: {x.variant or found.plant}", 0.0) for x in found.loops if not x.stable]
    every = (*_points(found), *found.dampings)
    known += [_counterexample(found, f"{p.state} at {p.where()}", _apart(found, p)) for p in every if not p.stable]
    known += [_counterexample(found, _told(x), _beyond(found, x)) for x in found.limits if x.reached]
    for bound in found.bounds.values():
        if not isinstance(bound, str) and bound.unstable is not None:
            where = f", {bound.where}" if bound.where else ""
            known.append(Counterexample(f"UNSTABLE at {1e3 * bound.unstable:.4g} g{where}", 0.0))
    nearest: dict[str, Counterexample] = {}
    for c in sorted(known, key=lambda c: c.distance):
        nearest.setdefault(c.kind, c)
    return list(nearest.values())


def _counterexample(found: Certificate, what: str, apart: dict[str, float]) -> Counterexample:
    outside = {key: value for key, value in apart.items() if value > 0.0}
    kind = "" if not outside else next(iter(outside)) if len(outside) == 1 else "several"
    return Counterexample(what, math.hypot(*outside.values()) if outside else 0.0, kind)


def _told(limit: Limit) -> str:
    beyond = f"{1e3 * limit.value:.4g} g" if limit.what == "payload_kg" else f"frequencies {100 * limit.value:+.3g} %"
    return f"UNSTABLE beyond {beyond}{f' ({limit.variant})' if limit.variant else ''}"


def _beyond(found: Certificate, limit: Limit) -> dict[str, float]:
    if limit.what == "payload_kg":
        return {"payload": _payload(found, limit.value)}
    least = 1e-12 if found.stated["frequency_change"] is None else 0.0  # just beyond the nominal plant is outside
    return {"frequencies": _frequency(found, limit.value) or least}


def _payload(found: Certificate, value: float | None) -> float:
    if value is None or found.stated["payload_kg"] is None:
        return 0.0
    low, high = found.stated["payload_kg"]
    if within(value, (low, high)):
        return 0.0
    return float((value - high if value > high else low - value) / max(abs(high), 1e-3))


def _frequency(found: Certificate, value: float) -> float:
    low, high = found.stated["frequency_change"] or (0.0, 0.0)
    return 0.0 if within(value, (low, high)) else float(max(value - high, low - value))


def _apart(found: Certificate, p: Point) -> dict[str, float]:
    """Return by kind the relative change by which a point is outside the set."""
    damping = 0.0 if p.damping is None else abs(p.damping - 1.0)
    return {
        "payload": _payload(found, p.payload), "frequencies": _frequency(found, p.frequency), "damping": damping,
    }


def statement(found: Certificate) -> str:
    """Return in one sentence for which set the certificate holds, and the nearest counterexamples."""
    every = counterexamples(found)
    return f"{'; '.join([_verdict(found, every), *_nearest(every)])}."


def _verdict(found: Certificate, every: list[Counterexample]) -> str:
    if found.open_loop:
        return f"No loop: {found.controller} measures nothing, so that only its runs were examined"
    if found.no_loop:
        return f"Holds for no set: the linear loop was not examined ({found.no_loop})"
    if any(c.inside for c in every):
        return f"Does NOT hold for {set_of(found)}"
    stable = next((v for v in found.verdicts if v.name == "stable"), None)
    if stable is not None and stable.examined and not stable.passed:
        return f"Does NOT hold for {set_of(found)}: {stable.found}"
    unknown = unexamined(found)
    if unknown:
        more = f" and {len(unknown) - 1} more" if unknown[1:] else ""
        told = f"{unknown[0].where()}{more} ({unknown[0].unknown})"
        return f"Not shown to hold for {set_of(found)}: not examined at {told}"
    missed = [v.name for v in found.verdicts if not v.passed]
    if missed:
        return f"Stable for {set_of(found)}, but not met there: {', '.join(missed)}"
    return f"Holds for {set_of(found)}"


def set_of(found: Certificate) -> str:
    """Return the set in words."""
    change, parts = found.stated["frequency_change"], []
    if found.stated["payload_kg"] is not None:
        low, high = (1e3 * x for x in found.stated["payload_kg"])
        parts.append(f"payloads of {low:g} to {high:g} g" if low < high else f"a payload of {high:g} g")
    if change is None:
        parts.append("natural frequencies as given")
    else:
        parts.append(f"natural frequencies changed by {100 * change[0]:+g} to {100 * change[1]:+g} %")
    parts += [f"{key} from {a:g} to {b:g}" for key, (a, b) in found.stated["vary"].items()]
    if found.drawn:
        parts.append(f"{len(found.drawn)} plants drawn from its uncertainty")
    if not any("damping" in key for key in found.stated["vary"]):
        parts.append("damping as given")
    count = len(found.poses)
    if found.stated["payload_kg"] is None:
        parts.append("the linear plant that was given")
    else:
        parts.append("the pose in which the scenario begins" if count == 1 else f"{count} poses")
    tried = ["on a grid", *(["with a search between its points"] if found.between is not None else [])]
    others = change is not None or found.stated["vary"] or found.drawn
    bounded = f"with the bound between its payloads{', all else as given' if others else ''}"
    tried += [bounded] if _bounded(found) else []
    return f"{', '.join(parts)}, {' and '.join(tried)}"


def _bounded(found: Certificate) -> bool:
    return all(not isinstance(b, str) and b.unstable is None for b in found.bounds.values())


def _nearest(every: list[Counterexample]) -> list[str]:
    if not every:
        return ["no counterexample was found"]
    inside = [c for c in every if c.inside]
    if inside:
        return [f"counterexample: {inside[0].what}"]
    told = [f"nearest counterexample, outside the set: {every[0].what}"]
    return told + ([f"others: {', '.join(c.what for c in every[1:])}"] if every[1:] else [])
