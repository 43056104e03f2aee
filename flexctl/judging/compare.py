"""Controllers side by side: several on one plant, or one on several plants and formulations of an arm.

    flexctl.compare(["tokhi_azad_pd", "tokhi_azad_lqg"])
    flexctl.compare(["tokhi_azad_lqg"], models=["finite_difference", "timoshenko_planar"])

Every controller is designed once, on the plant its script names (the design model), and run on each plant and
formulation (the truth model). Every formulation has the same
names for the same signals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import FlexctlError, NotAvailable, require
from ..laws.given import as_law
from ..laws.linear_part import linear_law
from ..machine.given import as_plant
from ..model import names
from ..simulation.response import Response, error_numbers
from ..support.kinds import SystemGiven
from ..support.tabular import Column, Tabular
from .certify.loops import examine
from .scenario import Progress, Scenario, design, model_table, say_what_scenarios_set, scenarios
from .variations import vibration_ratios
from .workers import run_all

if TYPE_CHECKING:
    from ..catalogue import Plant


@dataclass(frozen=True, eq=False)
class Compared:
    """One run of a comparison.

    Attributes
    ----------
    label : str
        What tells it from the others of the same scenario.
    scenario : str
        The scenario.
    response : Response or None
        The run, its signals called as the law calls them.
    disk_margin : float or None
        Smallest disk margin of the linear loop on this plant, 0 if it is unstable; None for a law that is not linear.
    failure : str
        Why there is no run.
    """

    label: str
    scenario: str
    response: Response | None
    disk_margin: float | None
    failure: str = ""


@dataclass(frozen=True)
class Comparison(Tabular):
    """The runs of a comparison.

    Examples
    --------
    >>> found = fx.compare(["tokhi_azad_pd", "tokhi_azad_lqg"], only=["5 deg, 0 g"])
    >>> list(found.to_pandas()["label"])
    ['tokhi_azad_pd', 'tokhi_azad_lqg']
    """

    runs: tuple[Compared, ...]

    def __repr__(self) -> str:
        return f"Comparison({len(self.runs)} runs, {sum(bool(run.failure) for run in self.runs)} failed)"

    @property
    def scenarios(self) -> dict[str, dict[str, Response]]:
        """Return the runs by scenario and label."""
        found: dict[str, dict[str, Response]] = {}
        for run in self.runs:
            if run.response is not None:
                found.setdefault(run.scenario, {})[run.label] = run.response
        return found

    @property
    def signals(self) -> list[str]:
        """Return the names of all signals that a run follows and measures, and of the inputs that act in one."""
        runs = [run.response for run in self.runs if run.response is not None]
        followed = [n for r in runs for n in _followed(r)]
        acting = [n for r in runs for n in names(r.inputs) if np.any(r[n])]
        return list(dict.fromkeys([*followed, *acting]))

    @property
    def differences(self) -> list[str]:
        """Return a sentence for each signal that some runs follow or drive and others do not: they lack its scores."""
        runs = {run.label: run.response for run in self.runs if run.response is not None}
        told = []
        for signal in self.signals:
            known = {label: signal in _followed(r) or signal in names(r.inputs) for label, r in runs.items()}
            having = ", ".join(label for label, there in known.items() if there)
            for label in (label for label, there in known.items() if not there):
                own = ", ".join(_followed(runs[label])) or "nothing that is measured"
                told.append(f"{label} has no scores of {signal}, which {having} has: it follows {own}")
        return told

    @property
    def ratios(self) -> dict[str, dict[str, dict[str, float]]]:
        """Return by scenario, label and signal by what factor less motion is left than in the first run."""
        return {
            name: vibration_ratios(runs, dict.fromkeys(list(runs)[1:], next(iter(runs))))
            for name, runs in self.scenarios.items()
        }

    def _table(self) -> list[Column]:
        """Return a row for every run, with its scores."""
        scores = [dict(run.response.scores) if run.response is not None else {} for run in self.runs]
        every = dict.fromkeys(key for found in scores for key in found)
        about = ("label", "scenario", "disk_margin", "failure")
        return [
            *(Column(name, [getattr(run, name) for run in self.runs]) for name in about),
            *(Column(name, [found.get(name) for found in scores]) for name in every),
        ]

    def _about(self) -> Mapping[str, Any]:
        return {"differences": self.differences}

    def to_dict(self) -> dict[str, Any]:
        """Return scores, errors of outputs and margins by label and scenario, for JSON."""
        found: dict[str, Any] = {}
        ratios = self.ratios
        for run in self.runs:
            numbers = {} if run.response is None else dict(run.response.scores)
            errors = {} if run.response is None else error_numbers(run.response)
            less = ratios.get(run.scenario, {}).get(run.label, {})
            found.setdefault(run.label, {})[run.scenario] = {
                "scores": numbers, "error": errors, "disk_margin": run.disk_margin, "failure": run.failure,
                "vibration_ratios": less,
            }
        return {"runs": found, "differences": self.differences}


def _followed(run: Response) -> list[str]:
    """Return what a run follows and measures."""
    return [name for name in names(run.references) if name in names(run.outputs)]


@dataclass(frozen=True, eq=False)
class _Job:
    label: str
    law: Any
    plant: Plant
    item: Scenario
    kind: str | Mapping[str, Any] | None


def compare(
    controllers: Sequence[str | Path],
    plants: Sequence[SystemGiven] = (),
    *,
    models: Sequence[str | Mapping[str, Any]] = (),
    only: Sequence[str] = (),
    overrides: Mapping[str, Any] | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Run controllers through the scenarios that they have in common.

    Parameters
    ----------
    controllers : sequence of str or Path
        Controllers of the catalogue or scripts.
    plants : sequence of str, Path or Plant, optional
        Plants to run on; by default the one that each script names.
    models : sequence of str or mapping, optional
        Formulations to run in, by registry name or as {"kind": "ancf", "elements": 16}; by default each plant's own.
        The controller is still designed on the plant's own formulation.
    only : sequence of str, optional
        Names of the scenarios.
    overrides : mapping, optional
        Overrides of every plant, for the design too.
    workers : int, optional
        Processes; by default one per core.
    progress : callable, optional
        Called with what is running and the fraction done.

    Examples
    --------
    >>> found = fx.compare(["tokhi_azad_pd", "tokhi_azad_lqg"], only=["5 deg, 0 g"])
    >>> found
    Comparison(2 runs, 0 failed)
    """
    jobs, scripts = _jobs(controllers, plants, models, only, overrides)
    found: dict[int, Compared] = {}
    labels = [f"{job.label}, {job.item.name}" for job in jobs]
    for number, run in run_all(_performed, jobs, workers, scripts, labels=labels):
        found[number] = run
        if progress is not None:
            progress(f"{run.label}, {run.scenario}", 1.0 / len(jobs))
    return Comparison(tuple(found[number] for number in sorted(found)))


def _jobs(
    controllers: Sequence[str | Path], plants: Sequence[Any], models: Sequence[str | Mapping[str, Any]],
    only: Sequence[str], overrides: Mapping[str, Any] | None,
) -> tuple[list[_Job], list[str]]:
    from ..catalogue import load_controller, load_plant, own_plant
    from ..models import model_class

    require(bool(controllers), "no controller to compare; name at least one")
    for known in models:
        model_class(model_table(known).get("kind", ""))
    scripts = {Path(name).stem: load_controller(name) for name in controllers}
    require(len(scripts) == len(controllers), f"two controllers share a name: {[str(c) for c in controllers]}")
    jobs: list[list[_Job]] = []
    for name, script in scripts.items():
        own = own_plant(script)
        require(bool(plants) or own is not None, f"{name} names no plant (PLANT): give one")
        formulations: list[str | Mapping[str, Any] | None] = [*models] or [None]
        for place in plants or (own,):
            named = isinstance(place, str | Path)
            arm = load_plant(place, overrides=overrides) if named else as_plant(place).with_(overrides=overrides)
            listed = scenarios(script, arm, only)
            say_what_scenarios_set(arm, listed, overrides or {})
            law = as_law(design(script, arm))
            for kind in formulations:
                parts = (name if len(scripts) > 1 else "", arm.name if len(plants) > 1 else "", _told(kind))
                label = ", ".join(filter(None, parts)) or name
                jobs.append([_Job(label, law, arm, item, kind) for item in listed])
    return _common(jobs), [str(script.__file__) for script in scripts.values()]


def _told(model: str | Mapping[str, Any] | None) -> str:
    """Return a formulation in words: "ancf, elements = 16"."""
    options = {} if model is None else model_table(model)
    kind = options.pop("kind", "")
    return ", ".join([kind, *(f"{key} = {value}" for key, value in options.items())])


def _common(jobs: list[list[_Job]]) -> list[_Job]:
    """Return the jobs of the scenarios that all have, scenario by scenario."""
    shared = [item.item.name for item in jobs[0]]
    for group in jobs[1:]:
        shared = [name for name in shared if name in {job.item.name for job in group}]
    told = {group[0].label: [job.item.name for job in group] for group in jobs}
    require(bool(shared), f"the controllers have no scenario in common: {told}")
    return [job for name in shared for group in jobs for job in group if job.item.name == name]


def _performed(job: _Job) -> Compared:
    try:
        response, margin = _run(job)
    except FlexctlError as error:
        return Compared(job.label, job.item.name, None, None, str(error))
    return Compared(job.label, job.item.name, response, margin)


def _run(job: _Job) -> tuple[Response, float | None]:
    item = job.item if job.kind is None else job.item.in_formulation(job.kind, job.plant)
    return item.run(job.law, job.plant), _margin(item.plant(job.plant), item.own_law(job.law))


def _margin(arm: Plant, law: Any) -> float | None:
    try:
        return examine(arm.linearise(), linear_law(law, arm.model)).smallest("disk_margin")
    except NotAvailable:
        return None


