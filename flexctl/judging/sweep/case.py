"""One case of a sweep: parameters set, controller designed, scenario run, numbers returned.

A case consists of names and numbers alone, so that any process on any machine with flexctl and the files can do it.

    payload.mass, link.1.length, ...      overrides of the plant that is run, on top of the scenario's own
    controller.NAME                       an argument of the script's design(plant, NAME=...) or a constant NAME of it;
                                          controller.NAME.FIELD reaches into a data class or a mapping
    scenario.FIELD                        duration, or options of the run: step, rtol, method

The controller is designed on the plant as given, which it takes for the truth; `redesign` designs it on every case's
own plant instead.
"""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import time
import warnings
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import numpy as np

from ...errors import DataWarning, DefinitionError, FlexctlError, require, unknown
from ...simulation.response import Response, error_numbers
from ...simulation.simulate import check_settings
from ..scenario import Scenario, blamed, label, scenarios

PREFIX = "controller."
OPTIONS = ("step", "rtol", "method")
KEPT = 4
"""Designs that a process remembers."""
TRIED = 200
"""Cases that are looked at before the first one is run, until one is found that can be."""
FAILURES = (FlexctlError, ArithmeticError, ValueError, MemoryError, np.linalg.LinAlgError)
"""Errors that become a row of the table and do not end the sweep."""


@dataclass(frozen=True)
class Study:
    """The settings that all cases of a sweep share.

    Attributes
    ----------
    controller, plant : str
        Name or path of each.
    overrides : tuple of (key, value)
        Overrides of the plant, for the design too.
    scenarios : tuple of str
        Names of the scenarios to run; all when empty.
    redesign : bool
        Whether the controller is designed on the plant of each case.
    linear : bool
        Whether stability and margins of the linear loop are among the numbers.
    digest : str
        Fingerprint of script and plant file, so that a worker elsewhere does not compute with other files.
    """

    controller: str
    plant: str
    overrides: tuple[tuple[str, Any], ...] = ()
    scenarios: tuple[str, ...] = ()
    redesign: bool = False
    linear: bool = False
    digest: str = ""


def digest_of(controller: str, plant: str, overrides: Mapping[str, Any]) -> str:
    """Return the fingerprint of the files of a controller and a plant, and of the model that the plant names."""
    from ...catalogue import locate, model_files

    content = hashlib.sha256()
    for folder, name in (("controllers", controller), ("plants", plant)):
        path, source = locate(folder, name)
        require(path.is_file(), f"{source}: cannot read the file: there is no such file")
        content.update(path.read_bytes())
    for file in model_files(plant, overrides):
        content.update(file.read_bytes() if file.is_file() else b"")
    return content.hexdigest()[:16]


@dataclass(frozen=True)
class Case:
    """A study with values of the parameters."""

    study: Study
    values: tuple[tuple[str, Any], ...]


def perform(case: Case) -> list[dict[str, Any]]:
    """Return a row for every scenario: its name, "status", "reason", "wall_s", the scores and errors.

    Nothing that a case does to itself escapes: a failure is a row with its reason.
    """
    try:
        script, law, plant, items, extra = _prepared(case)
    except FAILURES as error:
        return [_failed(name, error, 0.0) for name in case.study.scenarios or ("",)]
    return [_row(script, law, plant, item, extra, case.study.linear) for item in items]


def _failed(name: str, error: Exception, seconds: float) -> dict[str, Any]:
    reason = str(error) if isinstance(error, FlexctlError) else f"{type(error).__name__}: {error}"
    return {"scenario": name, "status": "failed", "reason": reason, "wall_s": seconds}


def _prepared(case: Case) -> tuple[ModuleType, Any, Any, list[Scenario], dict[str, Any]]:
    study, values = case.study, dict(case.values)
    own, run = _taken(values, PREFIX), _taken(values, "scenario.")
    script, law, nominal = _controller(study, own, values if study.redesign else {})
    items = [_with_options(item, run) for item in scenarios(script, nominal, study.scenarios)]
    return script, law, nominal, items, values


_KNOWN: OrderedDict[str, tuple[ModuleType, Any, Any]] = OrderedDict()


def _controller(study: Study, own: Mapping[str, Any], changed: Mapping[str, Any]) -> tuple[ModuleType, Any, Any]:
    """Return script, controller and nominal plant; the last few are kept, since many cases share them."""
    from ...catalogue import load_controller, load_plant

    key = repr((study, sorted(own.items()), sorted(changed.items())))
    if key not in _KNOWN:
        same = study.digest in ("", digest_of(study.controller, study.plant, dict(study.overrides)))
        require(same, f"{study.controller} or {study.plant} is not the same file here as where the sweep was started")
        script = load_controller(study.controller)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # said where the sweep was started
            nominal = load_plant(study.plant, overrides=dict(study.overrides))
        arm = nominal.with_(overrides=changed) if changed else nominal
        _KNOWN[key] = script, designed(script, arm, own), nominal
        if len(_KNOWN) > KEPT:
            _KNOWN.popitem(last=False)
    return _KNOWN[key]


def _with_options(item: Scenario, options: Mapping[str, Any]) -> Scenario:
    for key, value in options.items():
        if key == "duration":
            item = replace(item, duration=float(value))
        elif key in OPTIONS:
            item = replace(item, options={**item.options, key: value})
        else:
            raise unknown("parameter of the scenario", key, ("duration", *OPTIONS))
    return item


def designed(script: ModuleType, plant: Any, parameters: Mapping[str, Any]) -> Any:
    """Return the controller of a script with other parameters; see the module."""
    arguments: dict[str, Any] = {}
    accepted = _arguments(script)
    for name, value in parameters.items():
        if name in accepted:
            arguments[name] = value
        else:
            setattr(script, *_constant(script, name, value, accepted))
    with blamed(script):
        law = script.design(plant, **arguments)
    require(law is not None, f"{label(script)}: design(plant) returned nothing; return the controller")
    return law


def _constant(script: ModuleType, name: str, value: Any, accepted: list[str]) -> tuple[str, Any]:
    """Return name and value of a constant of the script, with the field set that is meant."""
    first, *rest = name.split(".")
    known = [key for key in vars(script) if key.isupper()]
    if first not in known:
        raise unknown(f"parameter of {label(script)}", name, [*known, *accepted])
    return first, _with_field(getattr(script, first), rest, value, name)


def check(script: ModuleType, nominal: Any, items: Sequence[Scenario], points: Sequence[Mapping[str, Any]]) -> None:
    """Raise `DefinitionError` when no case can be run: a name that is wrong, or values that all are.

    A single number that is refused is no reason to refuse the sweep: it becomes a row with its reason. A word is, such
    as a kind of model or a method that there is not.
    """
    first = _refused(script, nominal, items, points, (FlexctlError, ArithmeticError, ValueError, TypeError))
    if first is not None:
        many = f"none of the {len(points)} cases can be run; the first: " if len(points) > 1 else ""
        raise DefinitionError(f"{many}{first}") from first
    words = {(name, value) for point in points for name, value in point.items() if isinstance(value, str)}
    for name, value in sorted(words):
        wrong = _refused(script, nominal, items, [p for p in points if p[name] == value], (DefinitionError,))
        if wrong is not None:
            raise DefinitionError(f'{name} = "{value}": {wrong}') from wrong


def _refused(
    script: ModuleType, nominal: Any, items: Sequence[Scenario], points: Sequence[Mapping[str, Any]],
    kinds: tuple[type[Exception], ...],
) -> Exception | None:
    """Return why the first of these cases is refused, or None if one of them is not."""
    first: Exception | None = None
    for point in points[:TRIED]:
        try:
            _try(script, nominal, items, dict(point))
        except kinds as error:
            first = first or error
        except (FlexctlError, ArithmeticError, ValueError, TypeError):
            return None
        else:
            return None
    return first


def _try(script: ModuleType, nominal: Any, items: Sequence[Scenario], values: dict[str, Any]) -> None:
    """Set the parameters of a case without designing or running anything; one scenario that accepts them is enough."""
    own, run = _taken(values, PREFIX), _taken(values, "scenario.")
    accepted = _arguments(script)
    for name, value in own.items():
        if name not in accepted:
            _constant(script, name, value, accepted)
    first: Exception | None = None
    for item in items:
        changed = _with_options(item, run)
        try:
            _check_run(changed)
            replace(changed, overrides={**changed.overrides, **values}).plant(nominal)
        except FlexctlError as error:
            first = first or error
        else:
            return
    if first is not None:
        raise first


def _check_run(item: Scenario) -> None:
    options = {key: item.options[key] for key in (*OPTIONS, "scheme") if key in item.options}
    check_settings(item.duration, **options)


def _taken(values: dict[str, Any], prefix: str) -> dict[str, Any]:
    """Take the values whose names begin with a prefix out of the others, and return them by the rest of their names."""
    return {key.removeprefix(prefix): values.pop(key) for key in list(values) if key.startswith(prefix)}


def _arguments(script: ModuleType) -> list[str]:
    return list(inspect.signature(script.design).parameters)[1:]


def _with_field(holder: Any, path: list[str], value: Any, name: str) -> Any:
    if not path:
        return value
    if isinstance(holder, Mapping):
        whole = ".".join(path)
        if whole in holder:
            return {**holder, whole: value}
        return {**holder, path[0]: _with_field(holder.get(path[0], {}), path[1:], value, name)}
    if dataclasses.is_dataclass(holder) and not isinstance(holder, type):
        fields = [f.name for f in dataclasses.fields(holder)]
        if path[0] not in fields:
            raise unknown(f"field of controller.{name.split('.')[0]}", path[0], fields)
        return replace(holder, **{path[0]: _with_field(getattr(holder, path[0]), path[1:], value, name)})
    raise DefinitionError(f"controller.{name}: {type(holder).__name__} has no fields; set it as a whole")


def _row(script: ModuleType, law: Any, nominal: Any, item: Scenario, extra: Mapping[str, Any], linear: bool) -> Any:
    started = time.perf_counter()
    try:
        chosen = replace(item, overrides={**item.overrides, **extra})
        with blamed(script):
            run = chosen.run(law, nominal)
        scores: dict[str, float | None] = {**run.scores, **_errors(run)}
        if linear:
            scores |= _linear(chosen.plant(nominal), law)
    except FAILURES as error:
        return _failed(item.name, error, time.perf_counter() - started)
    return {"scenario": item.name, "status": "ok", "reason": "", "wall_s": time.perf_counter() - started, **scores}


def _errors(run: Response) -> dict[str, float | None]:
    """Return the estimated largest error of every signal that has scores."""
    scored = dict.fromkeys(name.rpartition(".")[0] for name in run.scores)
    found = error_numbers(run)
    return {f"{name}.estimated_error": found[name] for name in scored if name in found}


def _linear(plant: Any, law: Any) -> dict[str, float]:
    from ...laws.given import as_law
    from ...laws.linear_part import linear_law
    from ..certify.loops import examine

    loop = examine(plant.linearise(), linear_law(as_law(law), plant.model))
    keys = ("gain_margin", "phase_margin_deg", "delay_margin", "disk_margin")
    margins = {f"loop.{key}": loop.smallest(key) for key in keys}
    poles = {"loop.stable": float(loop.stable), "loop.decay": loop.decay, "loop.damping": loop.least_damped[0]}
    return {**poles, **margins}
