"""Certification: what is known of a controller on a plant, in one call.

    flexctl.certify("tokhi_azad_lqg")                                  -> Certificate
    flexctl certify tokhi_azad_lqg --payload 0,25g                     the same from the command line

* the linear loop on the whole plant, sampled, with its computation delay: poles, damping, margins one loop at a time
  and of all commands or all sensors together, spill-over; of a law that has only `step` it is found numerically
* payload and stiffness that differ: a grid of loops and runs, in poses too, limits of stability, and how much every
  command may change whatever the payload, from above and from below
* other structural dampings, and ranges of any parameters of the plant file
* where a scenario follows a path, the same loop in poses along it, with the law that is on there
* runs on the full model: encoder resolution, saturation, a load that comes on, whether they come to rest, the amplitude
  up to which the linear prediction holds
* runs in which something happens: a payload gripped on the way, a reading that freezes, a missed sample; see `.events`
* the error of every score, by a second run of every scenario with an eighth of its tolerance (or in half of its steps):
  a score whose margin is smaller than that is too close to tell, and not met

A certificate says in one sentence for which set it holds, and names the nearest plant for which it does not. What was
not examined is called so, and never counts as met.

A controller script states what must be reached as ``REQUIREMENTS = {"disk_margin": 0.3, "payload_kg": (0.0, 0.02)}``;
see `flexctl.judging.certify.requirements` for the names.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ...abilities import IsLinear
from ...errors import finished_first, require
from ...support.checks import real_array, several
from ...support.kinds import LawGiven
from ..scenario import Progress, Scenario
from ..workers import run_all
from .bound import CrossedBounds, PayloadBound
from .certificate import Certificate
from .collect import collected
from .events import event_names
from .jobs import Job, jobs, payloads, perform, searches
from .loads import checked_loads
from .requirements import check_scenarios, check_signals, checked, checked_bits, judged
from .task import Task, prepared
from .varied import checked_ranges

if TYPE_CHECKING:
    from ...catalogue import Plant

__all__ = ["Certificate", "CrossedBounds", "PayloadBound", "certify"]

BITS = (12, 14, 16, 20)
DRAWS = 24
"""Plants that are drawn where the plant file has [uncertainty]."""


def certify(
    controller: str | Path | ModuleType | LawGiven,
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
    vary: Mapping[str, tuple[float, float]] | None = None,
    draws: int | None = None,
    loads: Mapping[str, float] | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Certificate:
    """Examine a controller on a plant.

    Parameters
    ----------
    controller : str, Path, module or Controller
        A controller of the catalogue, a script, or a law, which then needs `plant` and `scenarios`.
    plant : Plant, str, Path or linear plant, optional
        By default what the script names in PLANT. Of a linear plant (SecondOrder, FirstOrder, control.StateSpace, a
        file of one) frequencies, damping and gains are varied; the certificate names what it cannot show.
    requirements : mapping, optional
        In addition to those of the script (REQUIREMENTS), which they replace by name.
    scenarios : sequence of Scenario, optional
        By default those of the script.
    scenario : str, optional
        Name of the scenario to run with other payloads, encoders and amplitudes; by default the first. Scenarios with a
        law of their own, to compare with, are left out.
    model : str or mapping, optional
        Kind of model in which the arm is examined, or {"kind": "ancf", "elements": 16}; the controller is still
        designed on `plant` as it is. The law then reads and drives the corresponding signals.
    payload : (low, high), optional
        Range of payloads [kg]; by default that of the requirement, else of the scenarios.
    frequency : (low, high), optional
        Range of the relative change of all natural frequencies, through Young's modulus; by default +-5 %.
    bits : sequence of int
        Encoder resolutions to try.
    poses : sequence of sequences of float, optional
        Joint angles [rad] at which the linear loop is examined as well, in addition to those of the script (POSES) and
        of a path that the scenario follows.
    vary : mapping, optional
        Ranges of parameters of the plant file over which the loop must be stable, absolute values in SI units by key:
        ``{"joint.1.stiffness": (0.5, 2.0)}``; several vary at once.
    draws : int, optional
        Number of plants that are drawn from [uncertainty] of the plant file (`Plant.uncertainty`), on all of which the
        loop must be stable; by default 24 where the file has one, else none.
    loads : mapping, optional
        Constant loads by input of the plant, which set in while the arm holds still; by default a sixth of the limit
        of every command, of its largest value in the scenario where it has none.
    workers : int, optional
        Processes; by default one per core.
    progress : callable, optional
        Called with what is running and the fraction done.

    Where warnings are errors (`python -W error`) the first is raised when all is done; others are its notes.

    Examples
    --------
    >>> found = fx.certify("tokhi_azad_pd", payload=(0.0, 0.01), bits=(), workers=1)
    >>> found.controller
    'tokhi_azad_pd'
    """
    with finished_first():
        return _examined(
            controller, plant, requirements, scenarios, scenario, model, payload, frequency, bits, poses, vary, draws,
            loads, workers, progress,
        )


def _examined(
    controller: Any, plant: Any, requirements: Mapping[str, Any] | None, scenarios: Sequence[Scenario] | None,
    scenario: str | None, model: str | Mapping[str, Any] | None, payload: tuple[float, float] | None,
    frequency: tuple[float, float] | None, bits: Sequence[int], poses: Sequence[Sequence[float]],
    vary: Mapping[str, tuple[float, float]] | None, draws: int | None, loads: Mapping[str, float] | None,
    workers: int | None, progress: Progress | None,
) -> Certificate:
    """`certify`."""
    started = time.perf_counter()
    bits = several("bits", bits, "(12, 16)")
    poses = [real_array("pose", several("a pose", pose, "(0.0, 1.57) in rad")).tolist() for pose in several(
        "poses", poses, "[(0.0, 1.57), ...] in rad"
    )]
    task = prepared(controller, plant, requirements, scenarios, scenario, model)
    if isinstance(task.plant, IsLinear):
        told = f"{task.plant.name} is a linear plant, which has no"
        require(payload is None, f"payload = {payload}: {told} payload; vary its modes and gains")
        require(not poses, f"poses = {poses!r}: {told} poses")
    asked = {"payload_kg": payload, "frequency_change": frequency, "vary": vary, "drawn": _draws(task, draws)}
    stated = checked({**task.requirements, **{key: value for key, value in asked.items() if value is not None}})
    happens = event_names(task, payloads(replace(task, requirements=stated)))
    check_scenarios(stated, [*(item.name for item in task.items), *happens])
    check_signals(stated, task.signals())
    if "vary" in stated:
        stated["vary"] = checked_ranges(stated["vary"], task.chosen.plant(task.plant))
    every, given = (*task.poses, *poses), checked_loads(loads or {}, task)
    task = replace(task, requirements=stated, poses=every, bits=tuple(map(checked_bits, bits)), loads=given)
    found = _done(task, jobs(task), workers, progress)
    found |= _done(task, searches(task, found), workers, None)
    certificate = replace(collected(task, found), elapsed=time.perf_counter() - started)
    return replace(certificate, verdicts=judged(certificate, stated))


def _done(task: Task, wanted: Mapping[str, Job], workers: int | None, progress: Progress | None) -> dict[str, Any]:
    """Return the results of jobs, in their order."""
    found: dict[str, Any] = {}
    names = list(wanted)
    for number, result in run_all(perform, list(wanted.values()), workers, task.scripts, labels=names):
        found[names[number]] = result
        if progress is not None:
            progress(names[number], 1.0 / len(wanted))
    return {name: found[name] for name in names}  # they come in the order in which they end, which is chance


def _draws(task: Task, asked: int | None) -> int | None:
    """Return how many plants are drawn, None where the plant says nothing of what is uncertain."""
    wanted = asked if asked is not None else task.requirements.get("drawn")
    if task.plant.uncertainty is None:
        remedy = "add [uncertainty], or identify the plant (flexctl identify)"
        require(not wanted, f"{task.plant.name} does not state what is uncertain about it: {remedy}")
        return None
    return DRAWS if wanted is None else wanted
