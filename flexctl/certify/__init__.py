"""Certification: what is known of a controller on a plant, in one call.

    flexctl.certify("tokhi_azad_lqg")                                  -> Certificate
    flexctl certify tokhi_azad_lqg --payload 0,25g                     the same from the command line

* the linear loop on the whole plant, sampled, with its computation delay: poles, damping, margins, spill-over
* payload and stiffness that differ: a grid of loops and runs, limits of stability, a structured-singular-value bound
* where a scenario follows a path, the same loop in poses along it, with the law that is on there
* runs on the full model: encoder resolution, saturation, the amplitude up to which the linear prediction holds

A controller script states what must be reached as ``REQUIREMENTS = {"disk_margin": 0.3, "payload_kg": (0.0, 0.02)}``;
see `flexctl.certify.requirements` for the names.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import scenario as judged_by
from ..errors import DefinitionError, FlexctlError, NotAvailable, require
from ..laws.linear_part import linear_law
from ..loopstability import law_at
from ..model import OperatingPoint
from ..response import Response
from ..scenario import Progress, Scenario, design, label, variants
from ..simulate import as_law
from ..translate import Fitted, fitted
from ..variations import vibration_ratios
from ..workers import run_all
from . import robust, runs
from .certificate import Certificate
from .loops import Loop, examine
from .requirements import check_scenarios, checked, concerns, judged
from .robust import Limit, Point
from .runs import QuantisedRun, Scaling

if TYPE_CHECKING:
    from ..catalogue import Plant

__all__ = ["Certificate", "certify"]

BITS = (12, 14, 16, 20)
FREQUENCY_CHANGE = (-0.05, 0.05)
PAYLOADS, CHANGES = 5, 3
"""Points of the grid over payload and frequency."""
AMPLITUDES = (0.25, 0.5, 1.0, 2.0, 4.0)
POSES_OF_A_PATH = 6
"""Poses in which the linear loop is examined, besides the first, where a scenario follows a path."""
_ENDS = (-0.5, 1.0)  # beyond these changes of frequency no limit is looked for


def certify(
    controller: Any,
    plant: Plant | str | Path | None = None,
    *,
    requirements: Mapping[str, Any] | None = None,
    scenarios: Sequence[Scenario] | None = None,
    scenario: str | None = None,
    model: str | Mapping[str, Any] | None = None,
    payload: tuple[float, float] | None = None,
    frequency: tuple[float, float] | None = None,
    bits: Sequence[int] = BITS,
    poses: Sequence[Sequence[float]] = (),
    workers: int | None = None,
    progress: Progress | None = None,
) -> Certificate:
    """Examine a controller on a plant.

    Parameters
    ----------
    controller : str, Path, module or Controller
        A controller of the catalogue, a script, or a law, which then needs `plant` and `scenarios`.
    plant : Plant, str or Path, optional
        By default what the script names in PLANT.
    requirements : mapping, optional
        Beyond those of the script (REQUIREMENTS), which they replace by name.
    scenarios : sequence of Scenario, optional
        By default those of the script.
    scenario : str, optional
        Name of the one that is run with other payloads, encoders and amplitudes; by default the first. Scenarios with a
        law of their own, to compare with, are left out.
    model : str or mapping, optional
        Kind of model in which the arm is examined, or {"kind": "ancf", "elements": 16}; the controller is still
        designed on `plant` as it is. The law then reads and drives what stands for its signals there.
    payload : (low, high), optional
        Range of payloads [kg]; by default that of the requirement, else of the scenarios.
    frequency : (low, high), optional
        Range of the relative change of all natural frequencies, through Young's modulus; by default +-5 %.
    bits : sequence of int
        Encoder resolutions to try.
    poses : sequence of sequences of float, optional
        Joint angles [rad] at which the linear loop is examined too; beyond those of the script (POSES), and of a path
        that the scenario follows.
    workers : int, optional
        Processes; by default one per core.
    progress : callable, optional
        Called with what is done and its part of the whole.
    """
    started = time.perf_counter()
    task = _prepared(controller, plant, requirements, scenarios, scenario, model)
    asked = {"payload_kg": payload, "frequency_change": frequency}
    stated = checked({**task.requirements, **{key: value for key, value in asked.items() if value is not None}})
    check_scenarios(stated, [item.name for item in task.items])
    jobs = _jobs(task, stated, bits, [*task.poses, *poses])
    found: dict[str, Any] = {}
    names = list(jobs)
    for number, result in run_all(_perform, list(jobs.values()), workers, task.scripts):
        found[names[number]] = result
        if progress is not None:
            progress(names[number], 1.0 / len(jobs))
    certificate = replace(_collected(task, found), elapsed=time.perf_counter() - started)
    return replace(certificate, verdicts=judged(certificate, stated))


@dataclass(frozen=True, eq=False)
class _Task:
    """What is examined."""

    name: str
    plant: Plant
    law: Any
    items: tuple[Scenario, ...]
    bases: tuple[Scenario, ...]  # runs of other laws against which these stand
    chosen: Scenario
    requirements: Mapping[str, Any]
    scripts: tuple[str, ...]
    poses: tuple[Sequence[float], ...]


def _prepared(
    controller: Any, plant: Any, requirements: Mapping[str, Any] | None, given: Sequence[Scenario] | None,
    only: str | None, model: str | Mapping[str, Any] | None,
) -> _Task:  # fmt: skip
    from ..catalogue import load_controller, load_plant

    script = load_controller(controller) if isinstance(controller, str | Path) else controller
    is_script = isinstance(script, ModuleType)
    own = getattr(script, "PLANT", None) if is_script else None
    where = plant if plant is not None else own
    if where is None:
        raise DefinitionError("name the plant: the controller does not say which (PLANT)")
    arm: Plant = load_plant(where) if isinstance(where, str | Path) else where
    if is_script:
        law, items = design(script, arm), list(given or judged_by.scenarios(script, arm))
    else:
        law, items = controller, list(given or ())
        require(bool(items), "a law without a script needs scenarios=[Scenario(...), ...] to be run")
    every, law, items = items, as_law(law), [item for item in items if item.law is None]
    require(bool(items), "all scenarios have laws of their own: there is none to examine this one with")
    if model is not None:
        every, items = ([item.in_formulation(model, arm) for item in some] for some in (every, items))
    against = {item.against for item in items}
    bases = tuple(item for item in every if item.law is not None and item.name in against)
    chosen = items[0] if only is None else next((item for item in items if item.name == only), None)
    if chosen is None:
        raise DefinitionError(f'there is no scenario "{only}"; there are {[item.name for item in items]}')
    own = getattr(script, "REQUIREMENTS", {})  # of these, what speaks of the scenarios given
    own = {key: bound for key, bound in own.items() if not given or any(concerns(key, item.name) for item in items)}
    stated = {**own, **(requirements or {})}
    path = getattr(script, "__file__", None) if is_script else None
    poses = tuple(getattr(script, "POSES", ())) if is_script else ()
    name = label(script).removesuffix(".py") if is_script else type(law).__name__
    return _Task(name, arm, law, tuple(items), bases, chosen, stated, (str(path),) if path else (), poses)


def _perform(job: tuple[Callable[..., Any], tuple[Any, ...]]) -> Any:
    function, arguments = job
    return function(*arguments)


def _jobs(
    task: _Task, stated: Mapping[str, Any], bits: Sequence[int], poses: Sequence[Sequence[float]]
) -> dict[str, Any]:
    """Return what is to be computed, by label, long jobs first."""
    plant, law, item = task.plant, task.law, task.chosen
    base, known, _ = item.fitted(law, plant)
    jobs: dict[str, Any] = {}
    # a path is somewhere; larger or smaller it would be another one, and the linear plant changes along it
    on_a_path = item.track is not None
    for factor in () if on_a_path else AMPLITUDES:
        jobs[f"amplitude {factor:g}"] = (runs.scaled_run, (plant, law, item, factor))
    for one in task.items:
        jobs[f"run {one.name}"] = (_run, (plant, law, one))
    for one in task.bases:
        jobs[f"base {one.name}"] = (_run, (plant, law, one))
    for resolution in sorted({*bits, *stated.get("ripple_at_bits", {})} if law.measures else ()):
        jobs[f"{resolution} bits"] = (runs.quantised, (plant, law, item, resolution))
    masses = _range(stated.get("payload_kg") or _payloads(task), PAYLOADS)
    changes = _range(stated.get("frequency_change") or FREQUENCY_CHANGE, CHANGES)
    tried: list[float | None] = [*masses] or [None]
    for mass in tried:
        for change in sorted({*changes, 0.0}):
            text = ", ".join(([] if mass is None else [f"{1e3 * mass:g} g"]) + [f"frequencies {100 * change:+g} %"])
            jobs[f"grid: {text}"] = (_quietly, (robust.point, plant, law, item, mass, change, text))
    try:
        linear_law(known, base.model)
    except NotAvailable:
        return jobs
    if not on_a_path:
        jobs["linear prediction"] = (_quietly, (runs.predicted, plant, law, item))
    for variant, arm in variants([one.plant(plant) for one in task.items]).items():
        jobs[f"loop {variant}"] = (_loop, (fitted(arm, law), item, variant))
        for sign, end in zip((-1, 1), _ENDS, strict=True):
            search = ("frequency_change", 0.0, 0.02 * sign, end, variant)
            jobs[f"limit {variant} {sign}"] = (_quietly, (robust.stability_limit, fitted(arm, law), *search))
    for pose in poses:
        text = f"joints at {', '.join(f'{float(np.degrees(x)):.4g}' for x in pose)} deg"
        jobs[f"loop {text}"] = (_loop, (fitted(base, law), item, text, tuple(pose)))
    for t, pose in _along(item):
        text = f"t = {t:5.2f} s of the path"  # padded: loops are sorted by name
        jobs[f"loop {text}"] = (_loop, (fitted(base, law_at(law, t)), item, text, pose))
    if masses:
        span = max(masses) or 0.01
        upwards = ("payload_kg", min(masses), 0.25 * span, 100.0 * span)
        jobs["payload limit"] = (_quietly, (robust.stability_limit, fitted(base, law), *upwards))
        if len(masses) > 1:
            jobs["bound"] = (robust.payload_bound, (base, known, min(masses), max(masses)))
    return jobs


def _along(item: Scenario) -> list[tuple[float, tuple[float, ...]]]:
    """Return times and joint angles of some poses after the first of the path that a scenario follows, if any."""
    if item.track is None:
        return []
    times = np.linspace(0.0, item.track.path.duration, POSES_OF_A_PATH + 1)[1:]
    return [(float(t), tuple(pose)) for t, pose in zip(times, item.track.joints(times).angles, strict=True)]


def _payloads(task: _Task) -> tuple[float, float]:
    """Return the range of payloads of the scenarios."""
    found = [item.plant(task.plant).arm.payload.mass for item in task.items]
    return min(found), max(found)


def _range(ends: tuple[float, float] | None, count: int) -> list[float]:
    if ends is None:
        return []
    return sorted({round(float(x), 12) for x in np.linspace(*ends, count)})


def _run(plant: Plant, law: Any, item: Scenario) -> Any:
    return _quietly(item.run, law, plant)


def _quietly(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result, or why there is none."""
    try:
        return function(*arguments)
    except FlexctlError as error:
        return str(error)


def _loop(on: Fitted, item: Scenario, variant: str, pose: Sequence[float] | None = None) -> Loop:
    plant, law, words = on
    point = runs.start_point(plant, item)
    if pose is not None:
        bend = getattr(plant.model, "pose", None)
        if bend is None:
            raise NotAvailable(f"{plant.kind} has no poses: leave them out")
        point = OperatingPoint.at_rest(plant.model, bend([float(x) for x in pose]))
    found = examine(plant.linearise(point), linear_law(law, plant.model, point), variant)
    return replace(found, margins={words.told(name): margin for name, margin in found.margins.items()})


def _collected(task: _Task, found: Mapping[str, Any]) -> Certificate:
    def of(prefix: str) -> list[Any]:
        return [found[key] for key in found if key.startswith(prefix)]

    done = {one.name: found[f"run {one.name}"] for one in task.items}
    good = {name: run for name, run in done.items() if not isinstance(run, str)}
    notes = [f"{key}: {value}" for key, value in found.items() if isinstance(value, str) and not key.startswith("run ")]
    prediction, scalings = found.get("linear prediction"), [s for s in of("amplitude") if isinstance(s, Scaling)]
    notes += [f"amplitude {s.factor:g}: {s.failure}" for s in scalings if s.failure]
    notes += [f"{q.bits} bits: {q.failure}" for q in _quantised(found) if q.failure]
    valid = None
    if isinstance(prediction, Response) and any(s.run is not None for s in scalings):
        valid = runs.validity(prediction, scalings, task.law)
    bases = {one.name: run for one in task.bases if isinstance(run := found[f"base {one.name}"], Response)}
    limits = runs.limits(task.law)
    peaks = {
        d: max(run.scores[f"{d}.peak"] for run in good.values()) / bound
        for d, bound in limits.items() if np.isfinite(bound) and good
    }  # fmt: skip
    nominal = good.get(task.chosen.name)
    responses = {"linear": prediction, "full": nominal}
    points = sorted((p for p in of("grid") if isinstance(p, Point)), key=lambda p: (p.payload or 0.0, p.frequency))
    loops = sorted(of("loop"), key=lambda loop: str(loop.variant))
    examined = task.chosen.plant(task.plant)
    identity = {k: task.plant.identity[k] for k in ("plant", "overrides", "version")} | {"model": examined.kind}
    return Certificate(
        task.name, task.plant.name, task.chosen.name, tuple(task.law.drives), tuple(loops), tuple(points),
        tuple(x for key in ("limit", "payload limit") for x in of(key) if isinstance(x, Limit)),
        found.get("bound", "no range of payloads"), tuple(sorted(_quantised(found), key=lambda q: q.bits)),
        runs.ripples(nominal, task.law, task.chosen.track) if nominal is not None else {}, valid,
        {name: run.scores for name, run in good.items()},
        {name: run for name, run in done.items() if isinstance(run, str)}, peaks, tuple(notes),
        {key: run for key, run in responses.items() if isinstance(run, Response)}, identity, 0.0,
        vibration_ratios({**good, **bases}, {one.name: one.against for one in task.items}),
    )  # fmt: skip


def _quantised(found: Mapping[str, Any]) -> list[QuantisedRun]:
    return [value for value in found.values() if isinstance(value, QuantisedRun)]
