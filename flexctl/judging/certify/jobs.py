"""The computations of a certificate: jobs by label, each a function and its arguments, for any process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...abilities import IsLinear
from ...errors import FlexctlError, NotAvailable
from ...laws.given import as_law
from ...laws.linear_part import linear_law
from ...laws.realised import copied
from ...simulation.path_stability import law_at
from ...simulation.response import Response
from ..scenario import Scenario, variants
from . import loads, robust, runs, varied
from .between import WAY, Space, bad, between
from .bound import MOST_ASIDE, MOST_BEGIN, CrossedBounds
from .events import event, event_names
from .loops import Loop, examine
from .requirements import LINEAR, OF_MARGINS
from .robust import Point, moved, overridden
from .settling import NO_TAIL, has_tail, sustained
from .task import Task

if TYPE_CHECKING:
    from ...catalogue import Plant

Job = tuple[Callable[..., Any], tuple[Any, ...]]

FREQUENCY_CHANGE = (-0.05, 0.05)
PAYLOAD = "payload.mass"
PAYLOADS, CHANGES = 5, 3
"""Points of the grid over payload and frequency."""
AMPLITUDES = (0.25, 0.5, 1.0, 2.0, 4.0)
POSES_OF_A_PATH = 6
"""Poses in which the linear loop is examined, besides the first, where a scenario follows a path."""
BETWEEN = "between the points"
ENDS = (-0.5, 1.0)  # beyond these changes of frequency no limit is looked for


@dataclass(frozen=True, eq=False)
class Failed:
    """Why a part of a certificate is missing."""

    why: str


def perform(job: Job) -> Any:
    """Return the result of a job, or why there is none; bounds that cross are an error.

    A point that cannot be computed stays in the certificate, as one that was not examined.
    """
    function, arguments = job
    try:
        return function(*map(_fresh, arguments))
    except CrossedBounds:
        raise
    except FlexctlError as error:
        about = next((x for x in arguments if isinstance(x, Point)), None)
        return Failed(str(error)) if about is None else replace(about, unknown=str(error))


def _fresh(argument: Any) -> Any:
    """Return a copy of a law of which only `step` is known: it may keep in itself what an earlier run left."""
    inner = argument
    while hasattr(inner, "law"):
        inner = inner.law
    return copied(argument) if hasattr(argument, "step") and not hasattr(inner, "feedback") else argument


def jobs(task: Task) -> dict[str, Job]:
    """Return what is to be computed, by label, long jobs first."""
    item, found = task.chosen, _runs(task)
    for mass, change, text in grid(task):
        found[f"grid: {text}"] = (robust.point, (task.plant, task.law, item, Point(mass, change, None)))
    base = item.plant(task.plant)
    try:
        linear_law(item.own_law(task.law), base.model, runs.start_point(base, item))
    except NotAvailable:
        return found
    if item.track is None and not isinstance(task.plant, IsLinear):
        for label, one in (("", item), *((("finer ", item.finer()),) if LINEAR in task.requirements else ())):
            found[f"{label}linear prediction"] = (runs.predicted, (task.plant, task.law, one))
    around = {**_loops(task), **_posed(task), **_dampings(task), **_varied(task), **_drawn(task)}
    return {**_bounds(task), **found, **around}


def _runs(task: Task) -> dict[str, Job]:
    plant, law, item = task.plant, task.law, task.chosen
    # a finer run first: of the two kinds of steps one process compiles one and another the other
    found: dict[str, Job] = {f"finer {item.name}": (item.finer().run, (law, plant))}
    # a path is somewhere; larger or smaller it would be another one, and the linear plant changes along it; how far the
    # real thing is linear, a linear plant does not show
    for factor in () if item.track is not None or isinstance(plant, IsLinear) else AMPLITUDES:
        found[f"amplitude {factor:g}"] = (runs.scaled_run, (plant, law, item, factor))
        if LINEAR in task.requirements:
            found[f"finer amplitude {factor:g}"] = (runs.scaled_run, (plant, law, item.finer(), factor))
    for one in task.items:
        found[f"run {one.name}"] = (one.run, (law, plant))
    for one in task.bases:
        found[f"base {one.name}"] = (one.run, (law, plant))
    for one in (*task.items, *task.bases):
        found[f"finer {one.name}"] = (one.finer().run, (law, plant))
    for resolution in sorted({*task.bits, *task.requirements.get("ripple_at_bits", {})} if law.measures else ()):
        found[f"{resolution} bits"] = (runs.quantised, (plant, law, item, resolution))
        if resolution in task.requirements.get("ripple_at_bits", {}):
            found[f"finer {resolution} bits"] = (runs.quantised, (plant, law, item.finer(), resolution))
    ends = payloads(task)
    for name in event_names(task, ends):
        found[f"event {name}"] = (event, (plant, law, item, name, ends))
        if any(key.startswith(f"{name}: ") for key in task.requirements):
            found[f"finer event {name}"] = (event, (plant, law, item.finer(), name, ends))
    if law.measures and item.track is None:
        for variant, one in _by_variant(task).items():
            for drive, size in loads.sizes(law, task.loads).items():
                found[f"load {variant} {drive}"] = (loads.load_step, (plant, law, one, drive, size, variant))
                if "load_recovery_s" in task.requirements:
                    finer = plant, law, one.finer(), drive, size, variant
                    found[f"finer load {variant} {drive}"] = (loads.load_step, finer)
        found |= _at_tip(task)
    return found


def _at_tip(task: Task) -> dict[str, Job]:
    """Return the forces at the tip, on the plant of the chosen scenario."""
    plant, law, item, found = task.plant, task.law, task.chosen, {}
    for drive, size in loads.tip_sizes(item.plant(plant), task.loads).items():
        about = drive, size, ""
        found[f"load at the tip {drive}"] = (loads.tip_step, (plant, law, item, *about))
        if "tip_load_recovery_s" in task.requirements:
            found[f"finer load at the tip {drive}"] = (loads.tip_step, (plant, law, item.finer(), *about))
    return found


def _by_variant(task: Task) -> dict[str, Scenario]:
    """Return the chosen scenario on every variant of the plant that the scenarios use."""
    base = task.chosen.plant(task.plant)
    found = {}
    for variant, arm in variants([one.plant(task.plant) for one in task.items]).items():
        same = arm.overrides == base.overrides
        found[variant] = task.chosen if same else replace(task.chosen, overrides=arm.overrides)
    return found


def payloads(task: Task) -> tuple[float, float] | None:
    """Return the range of payloads that is asked for, else that of the scenarios [kg]; None for a linear plant."""
    if isinstance(task.plant, IsLinear):
        return None
    stated = task.requirements.get("payload_kg")
    masses = [item.plant(task.plant).arm.payload.mass for item in task.items]
    return tuple(stated) if stated else (min(masses), max(masses))


def changes(task: Task) -> tuple[float, float]:
    """Return the range of changes of frequency that is asked for, else +-5 %."""
    stated = task.requirements.get("frequency_change")
    return tuple(stated) if stated else FREQUENCY_CHANGE


def _range(ends: tuple[float, float], count: int) -> list[float]:
    return sorted({round(float(x), 12) for x in np.linspace(*ends, count)})


def grid(task: Task, count: int = PAYLOADS) -> list[tuple[float | None, float, str]]:
    """Return payload, change of frequency and label of every point of the grid."""
    steps = sorted({*_range(changes(task), CHANGES), 0.0})
    ends = payloads(task)
    if ends is None:
        return [(None, x, f"frequencies {100 * x:+g} %") for x in steps]
    return [(m, x, f"{1e3 * m:g} g, frequencies {100 * x:+g} %") for m in _range(ends, count) for x in steps]


def along(item: Scenario) -> list[tuple[float, tuple[float, ...]]]:
    """Return times and joint angles of some poses after the first of the path that a scenario follows, if any."""
    if item.track is None:
        return []
    times = np.linspace(0.0, item.track.path.duration, POSES_OF_A_PATH + 1)[1:]
    return [(float(t), tuple(pose)) for t, pose in zip(times, item.track.joints(times).angles, strict=True)]


def posed(task: Task) -> list[tuple[str, Sequence[float], Any]]:
    """Return label, joint angles and law of every pose besides the one in which the scenario begins."""
    told = [(f"joints at {', '.join(f'{float(np.degrees(x)):.4g}' for x in pose)} deg", pose) for pose in task.poses]
    found = [(text, tuple(pose), task.law) for text, pose in told]
    # padded: loops are sorted by name
    return found + [(f"t = {t:5.2f} s of the path", pose, law_at(task.law, t)) for t, pose in along(task.chosen)]


def _loops(task: Task) -> dict[str, Job]:
    law, item = task.law, task.chosen
    found: dict[str, Job] = {}
    for variant, arm in variants([one.plant(task.plant) for one in task.items]).items():
        found[f"loop {variant}"] = (_loop, (arm, law, item, variant))
        for sign, end in zip((-1, 1), ENDS, strict=True):
            search = ("frequency_change", (0.0, 0.02 * sign, end), variant)
            found[f"limit {variant} {sign}"] = (robust.stability_limit, (arm, law, item, *search))
    ends = payloads(task)
    if ends is None:
        return found
    low, high = ends
    upwards = (low, 0.25 * (high or 0.01), 100.0 * (high or 0.01))
    base = item.plant(task.plant)
    for text, pose, own in [("", None, law), *posed(task)]:
        if text:
            found[f"loop {text}"] = (_loop, (base, own, item, text, pose))
        search = ("payload_kg", upwards, text)
        found[f"payload limit {text}"] = (robust.stability_limit, (base, own, item, *search, pose))
    return found


def _bounds(task: Task) -> dict[str, Job]:
    low, high = payloads(task) or (0.0, 0.0)
    if low == high:
        return {}
    base, item = task.chosen.plant(task.plant), task.chosen
    begin, aside = (None, None) if "mu" in task.requirements else (MOST_BEGIN, MOST_ASIDE)
    return {
        f"bound {text}": (_bound, (base, law, item, low, high, text, pose, aside if text else begin))
        for text, pose, law in [("", None, task.law), *posed(task)]
    }


def _bound(
    arm: Plant, law: Any, item: Scenario, low: float, high: float, text: str, pose: Sequence[float] | None,
    most: int | None,
) -> Any:
    found = robust.payload_bound(arm, law, low, high, runs.start_point(arm, item, pose), text, most)
    return Failed(found) if isinstance(found, str) else found


def _posed(task: Task) -> dict[str, Job]:
    """Return the linear loop in every pose with every payload (both ends and the middle) and stiffness."""
    found: dict[str, Job] = {}
    base = task.chosen.plant(task.plant)
    for text, pose, law in posed(task):
        for mass, change, what in grid(task, 3):
            about = Point(mass, change, None, pose=text)
            found[f"pose {text}: {what}"] = (_posed_point, (base, law, task.chosen, about, pose, _whole(task)))
    return found


def _posed_point(
    base: Plant, law: Any, item: Scenario, about: Point, pose: Sequence[float], with_margins: bool
) -> Point:
    return robust.loop_point(moved(base, about), law, item, about, pose, with_margins)


def _whole(task: Task) -> bool:
    """Whether a requirement needs more of a loop than its poles and disk margin."""
    return any(key in task.requirements for key in OF_MARGINS)


def searches(task: Task, found: Mapping[str, Any]) -> dict[str, Job]:
    """Return the search between the points of the grids, where anything lies between them, from the worst of them."""
    if not any(isinstance(x, Loop) for x in found.values()):
        return {}
    ranges, base, item = varied_ranges(task), task.chosen.plant(task.plant), task.chosen
    poses = [] if item.track is not None else [tuple(map(float, pose)) for pose in task.poses]
    labels = [text for text, _, _ in posed(task)][: len(poses)]
    if poses and item.options.get("initial") is None:
        poses.insert(0, tuple(joint.angle for joint in base.arm.joints))
        labels.insert(0, "")
    if len(poses) > 1:
        ranges[WAY] = (0.0, len(poses) - 1.0)
    if not ranges:
        return {}
    space = Space(base, item.own_law(task.law), item, ranges, poses if WAY in ranges else ())
    ways = {text: float(k) for k, text in enumerate(labels)} if WAY in ranges else {"": 0.0}
    points = [x for x in found.values() if isinstance(x, Point) and x.loop is not None and x.pose in ways]
    known = [(bad(x.loop), part) for x in points if x.loop and (part := space.part(x, ways[x.pose])) is not None]
    worst = [max(known, key=lambda pair: pair[0])[1]] if known else []
    return {BETWEEN: (between, (space, _whole(task), worst))}


def _dampings(task: Task) -> dict[str, Job]:
    found: dict[str, Job] = {}
    for variant, one in _by_variant(task).items():
        arm = one.plant(task.plant)
        parts = [part for part in variant.split(", ") if part]
        rest = {part: True for part in parts if not part.startswith(PAYLOAD)}
        mass = arm.arm.payload.mass if len(rest) < len(parts) and not isinstance(arm, IsLinear) else None
        for other in varied.dampings(arm):
            about = Point(mass, 0.0, None, values={**rest, other.name: dict(other.table)}, damping=other.part)
            found[f"damping {variant}: {other.name}"] = (_damped, (arm, task.law, one, about, other.table))
    return found


def _damped(arm: Plant, law: Any, item: Scenario, about: Point, table: Mapping[str, Any]) -> Point:
    extra = dict(table) if isinstance(arm, IsLinear) else {"damping": dict(table)}
    return robust.loop_point(overridden(arm, extra), law, item, about)


def _varied(task: Task) -> dict[str, Job]:
    if not task.requirements.get("vary"):
        return {}
    ranges = varied_ranges(task)
    base, law, item = task.chosen.plant(task.plant), task.law, task.chosen
    found: dict[str, Job] = {}
    for values in varied.samples(ranges):
        about = varied.about(values)
        found[f"vary {about.where()}"] = (varied.varied_point, (base, law, item, about))
    for text, pose, own in posed(task):
        for values in varied.samples(ranges)[:: 4 if len(ranges) == 1 else 1]:
            about = replace(varied.about(values), pose=text)
            found[f"vary {about.where()}"] = (varied.varied_point, (base, own, item, about, pose))
    found["vary search"] = (varied.searched, (base, law, item, ranges))
    return found


def _drawn(task: Task) -> dict[str, Job]:
    """Return the linear loop on plants drawn from what is uncertain of the plant."""
    base, law, item = task.chosen.plant(task.plant), task.law, task.chosen
    count = int(task.requirements.get("drawn", 0))
    if not count or base.uncertainty is None:
        return {}
    points = [varied.about(values) for values in base.uncertainty.draw(base, count)]
    return {f"drawn {k + 1}": (varied.varied_point, (base, law, item, about)) for k, about in enumerate(points)}


def varied_ranges(task: Task) -> dict[str, tuple[float, float]]:
    """Return the ranges of the set: those asked for, with payload and frequencies; it speaks of all at once."""
    asked = task.requirements.get("vary", {})
    ranges, masses = dict(asked), payloads(task)
    if "payload.mass" not in ranges and masses is not None:
        ranges[varied.PAYLOAD] = masses
    if "frequency_change" in task.requirements:
        ranges[varied.FREQUENCY] = changes(task)
    return {key: ends for key, ends in ranges.items() if key in asked or ends[0] < ends[1]}


def _loop(
    arm: Plant, law: Any, item: Scenario, variant: str, pose: Sequence[float] | None = None
) -> Loop:
    point = runs.start_point(arm, item, pose)
    return examine(arm.linearise(point), linear_law(law, arm.model, point), variant)


def unsettled(task: Task, found: Mapping[str, Any], decay: float) -> dict[str, str]:
    """Return by run what does not come to rest, and of a law without a known loop why that was not looked at."""
    told = {}
    for one in task.items:
        run = found[f"run {one.name}"]
        if isinstance(run, Failed) or not task.law.measures:
            continue
        law = as_law(task.law)
        motions = one.motions(law)
        finer = found.get(f"finer {one.name}")
        twice = (run, finer) if isinstance(finer, Response) else (run,)
        text = next(filter(None, (sustained(each, law, motions, decay) for each in twice)), "")
        if not text and not np.isfinite(decay) and not has_tail(run, motions):
            text = NO_TAIL
        if text:
            told[one.name] = text
    return told
