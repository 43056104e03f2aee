"""The results of the jobs, put together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from ...abilities import IsLinear, provenance_of
from ...errors import NotAvailable
from ...laws.linear_part import linear_law
from ...simulation.response import Response
from ..validity import LinearValidity, Scaling
from ..variations import vibration_ratios
from . import runs
from .between import Between
from .bound import PayloadBound
from .certificate import Certificate
from .events import Event, not_tried
from .jobs import BETWEEN, FREQUENCY_CHANGE, Failed, payloads, posed, unsettled
from .loads import TIP, LoadStep
from .loops import Loop
from .robust import Limit, Point
from .runs import QuantisedRun
from .task import Task

T = TypeVar("T")
FINER = "finer "
"""How the labels of jobs begin that are done once more at a finer tolerance."""


def collected(task: Task, found: Mapping[str, Any]) -> Certificate:
    """Return the certificate without its verdicts."""
    done = {one.name: found[f"run {one.name}"] for one in task.items}
    good = {name: run for name, run in done.items() if isinstance(run, Response)}
    bases = {one.name: run for one in task.bases if isinstance(run := found[f"base {one.name}"], Response)}
    finer = {one.name: found[f"finer {one.name}"] for one in (*task.items, *task.bases)}
    ratios, verified = _ratios(task, {**good, **bases}), {n: r for n, r in finer.items() if isinstance(r, Response)}
    nominal, prediction = good.get(task.chosen.name), found.get("linear prediction")
    responses = {"linear": prediction, "full": nominal}
    loops = sorted((x for x in found.values() if isinstance(x, Loop)), key=lambda loop: str(loop.variant))
    decay = min((loop.decay for loop in loops), default=np.inf)
    quantised = sorted(_pairs(found, QuantisedRun, _with_ripple_errors), key=lambda q: q.bits)
    errors = {name: differences(run.scores, _scores(verified.get(name))) for name, run in good.items()}
    peaks = {name: run.scores for name, run in good.items()}
    most = {name: {key: value + errors[name][key] for key, value in scores.items()} for name, scores in peaks.items()}
    saturation, at_most = _saturation(task, peaks), _saturation(task, most)
    saturation_errors = {drive: at_most[drive] - value for drive, value in saturation.items()}
    examined = task.chosen.plant(task.plant)
    identity = {k: task.plant.identity[k] for k in ("plant", "overrides", "version")} | {"model": examined.kind}
    return Certificate(
        controller=task.name, plant=task.plant.name, scenario=task.chosen.name, drives=tuple(task.law.drives),
        loops=tuple(loops), points=_points(found, "grid: "), posed=_points(found, "pose "),
        dampings=_points(found, "damping "), varied=_points(found, "vary "),
        drawn=_points(found, "drawn "),
        limits=tuple(x for x in found.values() if isinstance(x, Limit)), bounds=_bounds(task, found),
        loads=tuple(_pairs(found, LoadStep, _with_recovery_error)), quantised=tuple(quantised),
        events=tuple(_pairs(found, Event, _with_event_errors)),
        still=runs.ripples(nominal, task.law, task.chosen.track) if nominal is not None else {},
        validity=_validity(task, found), runs={name: run.scores for name, run in good.items()},
        failures={name: run.why for name, run in done.items() if isinstance(run, Failed)},
        unsettled=unsettled(task, found, decay), saturation=saturation,
        notes=(*_notes(found), *_of_linear(task), *_of_tip(task, found), *_not_applicable(task)),
        responses={key: run for key, run in responses.items() if isinstance(run, Response)}, identity=identity,
        elapsed=0.0, ratios=ratios,
        no_loop=_no_loop(task) or _missing(found), open_loop=not task.law.measures, stated=_stated(task),
        poses=("that in which the scenario begins", *(text for text, _, _ in posed(task))),
        between=_between(found), errors=errors, saturation_errors=saturation_errors,
        ratio_errors={name: differences(own, _ratios(task, verified).get(name, {})) for name, own in ratios.items()},
    )


def _ratios(task: Task, done: Mapping[str, Response]) -> dict[str, dict[str, float]]:
    return vibration_ratios(done, {one.name: one.against for one in task.items})


def _scores(run: Response | None) -> Mapping[str, float]:
    return {} if run is None else run.scores


def differences(found: Mapping[str, float], finer: Mapping[str, float]) -> dict[str, float]:
    """Return the error of each score: 4/3 of what a run with a quarter of the error changes; inf where it failed."""
    told = {key: (value, finer.get(key, np.nan)) for key, value in found.items()}
    changes = {key: 0.0 if a == b else 4.0 / 3.0 * abs(a - b) for key, (a, b) in told.items()}
    return {key: np.inf if np.isnan(change) else float(change) for key, change in changes.items()}


def _pairs(found: Mapping[str, Any], kind: type[T], with_errors: Callable[[T, T], T]) -> list[T]:
    """Return the results of a kind, with their errors where they were found once more at a finer tolerance."""
    told = {key: x for key, x in found.items() if isinstance(x, kind)}
    finer = {key.removeprefix(FINER): x for key, x in told.items() if key.startswith(FINER)}
    given = {key: x for key, x in told.items() if not key.startswith(FINER)}
    return [with_errors(x, finer[key]) if key in finer else x for key, x in given.items()]


def _with_ripple_errors(found: QuantisedRun, finer: QuantisedRun) -> QuantisedRun:
    return replace(found, errors=differences(found.ripple, finer.ripple))


def _with_event_errors(found: Event, finer: Event) -> Event:
    return replace(found, errors=differences(found.scores, finer.scores))


def _with_recovery_error(found: LoadStep, finer: LoadStep) -> LoadStep:
    (error,) = differences({"": found.recovery}, {"": finer.recovery}).values()
    return replace(found, error=error)


def _points(found: Mapping[str, Any], prefix: str) -> tuple[Point, ...]:
    listed = [x for key, x in found.items() if key.startswith(prefix) and isinstance(x, Point)]
    return tuple(sorted(listed, key=lambda p: (p.pose, p.payload or 0.0, p.frequency)))


def _between(found: Mapping[str, Any]) -> Between | None:
    told = found.get(BETWEEN)
    return told if isinstance(told, Between) else None


def _bounds(task: Task, found: Mapping[str, Any]) -> dict[str, PayloadBound | str]:
    """Return the bound, or why there is none, by pose: empty for that in which the scenario begins."""
    given = {key.removeprefix("bound "): x for key, x in found.items() if key.startswith("bound ")}
    told = {pose: x.why if isinstance(x, Failed) else x for pose, x in given.items()}
    if told:
        return dict(sorted(told.items()))
    ends = payloads(task)
    if ends is None:
        return {"": "a linear plant has no payload; vary its modes and gains (--vary) in its place"}
    return {"": "no range of payloads" if ends[0] == ends[1] else _no_loop(task) or "the law measures nothing"}


def _no_loop(task: Task) -> str:
    """Return why the linear loop of a law that measures something is not known."""
    if not task.law.measures:
        return ""
    arm, law = task.chosen.plant(task.plant), task.chosen.own_law(task.law)
    try:
        linear_law(law, arm.model, runs.start_point(arm, task.chosen))
    except NotAvailable as error:
        return str(error)
    return ""


def _missing(found: Mapping[str, Any]) -> str:
    """Return which loop that a certificate needs could not be computed, and why; empty if all are there."""
    loops = {key: x for key, x in found.items() if key.startswith("loop ")}
    return next((f"{key}: {x.why}" for key, x in loops.items() if isinstance(x, Failed)), "")


def _stated(task: Task) -> dict[str, Any]:
    """Return the ranges of the set that the certificate speaks of: payload, frequencies, other parameters."""
    stated = task.requirements
    return {
        "payload_kg": payloads(task), "payload_asked": "payload_kg" in stated,
        "frequency_change": stated.get("frequency_change"), "frequency_tried": FREQUENCY_CHANGE,
        "vary": stated.get("vary", {}), "drawn": stated.get("drawn", 0),
    }


def _validity(task: Task, found: Mapping[str, Any]) -> LinearValidity | None:
    """Return how far the linear prediction holds, with errors by finer runs where there are any."""
    own, finer = (_one_validity(task, found, label) for label in ("", FINER))
    if own is None or finer is None:
        return own
    pairs = {name: (off, finer.outputs.get(name, off)) for name, off in own.outputs.items()}
    return replace(own, errors={
        name: np.array([differences({"": a}, {"": b})[""] for a, b in zip(*both, strict=True)])
        for name, both in pairs.items()
    })


def _one_validity(task: Task, found: Mapping[str, Any], label: str) -> LinearValidity | None:
    prediction = found.get(f"{label}linear prediction")
    scalings = [x for key, x in found.items() if isinstance(x, Scaling) and key.startswith(f"{label}amplitude")]
    if isinstance(prediction, Response) and any(s.run is not None for s in scalings):
        return runs.validity(prediction, scalings, task.law)
    return None


def _saturation(task: Task, scores: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    return {
        d: max(of_run[f"{d}.peak"] for of_run in scores.values()) / bound
        for d, bound in runs.limits(task.law).items() if np.isfinite(bound) and scores
    }


def _of_linear(task: Task) -> list[str]:
    """Return what a linear plant cannot show."""
    if not isinstance(task.plant, IsLinear):
        return []
    told = f"{task.plant.name} is a linear plant"
    fitted = provenance_of(task.plant.linear_plant).get("fitted", "")
    lines = [f"the measured response itself: {fitted}"] if fitted else []
    poses = [f"poses: {told}, which has none"] if task.poses_of_script else []
    return [
        f"payloads, weight and poses: {told}" if not poses else f"payloads and weight: {told}", *poses,
        f"how far linear prediction and plant agree: {told}, for which no motion is too large", *lines,
    ]


def _of_tip(task: Task, found: Mapping[str, Any]) -> list[str]:
    """Return that the model takes no force at the tip, where loads are tried."""
    steps = [x for x in found.values() if isinstance(x, LoadStep)]
    plant = task.chosen.plant(task.plant)
    if isinstance(plant, IsLinear) or not steps or any(x.drive.startswith(TIP) for x in steps):
        return []
    return [f"load at the tip: {plant.kind} takes no force there; another formulation does (--model timoshenko_planar)"]


def _not_applicable(task: Task) -> list[str]:
    """Return the runs that are not tried, and why."""
    found = not_tried(task, payloads(task))
    if task.law.measures and task.chosen.track is not None:
        found.append("constant loads: along a path the arm does not hold still")
    return found


def _notes(found: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what could not be examined and why; runs and bounds are reported elsewhere."""
    elsewhere = ("run ", "bound ")
    failed = {key.rstrip(): x for key, x in found.items() if isinstance(x, Failed) and not key.startswith(elsewhere)}
    notes = [f"{key}: {x.why}" for key, x in failed.items()]
    once = {key: x for key, x in found.items() if not key.startswith(FINER)}
    notes += [f"amplitude {x.factor:g}: {x.failure}" for x in once.values() if isinstance(x, Scaling) and x.failure]
    notes += [f"{x.bits} bits: {x.failure}" for x in once.values() if isinstance(x, QuantisedRun) and x.failure]
    searched = _between(found)
    notes += [f"{BETWEEN}: {searched.failed}"] if searched is not None and searched.failed else []
    loads = [x for x in once.values() if isinstance(x, LoadStep) and x.failure]
    happened = [x for x in once.values() if isinstance(x, Event)]
    notes += [f"{x.name}: {x.failure}" for x in happened if x.failure and not x.diverges]
    notes += [f"load at {x.drive} ({x.variant}): {x.failure}".replace(" ()", "") for x in loads]
    points = {x.unknown: x for x in found.values() if isinstance(x, Point) and x.unknown}  # each reason once
    return (*notes, *(f"{point.where()}: {why}" for why, point in points.items()))
