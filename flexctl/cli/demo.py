"""`flexctl demo`: plant file, modes, Bode plot, two controllers in closed loop; a two-link arm that draws a circle."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from ..laws.abilities import Limited
from ..laws.controller import LinearLaw, layers
from ..simulation.response import Response
from . import cli, tables
from .common import command, compact, folder, made, print_table, progress, stderr, stdout, table
from .runs import groups

if TYPE_CHECKING:
    from ..catalogue import Plant
    from ..judging.scenario import Scenario

PLANT = "tokhi_azad_1994"
CONTROLLERS = ("tokhi_azad_pd", "tokhi_azad_tuned")
TRACKING = "tip_circle"
SETTINGS = {"model.sections": 40, "damping.kind": "modal", "damping.ratio": 0.01}
"""For the linear part; the paper has 19 sections and no damping, and an undamped peak is infinite."""
MODES = 5
BAND_HZ = (0.5, 250.0)

NOTE = """\
Settling times count from the start of the command to where the tip stays within 1 % (0.1 %) of the move.
Rigid bound: 2 sqrt(angle J / torque limit), in which a rigid arm could turn at best.
"""

Runs = list[tuple["Scenario", Response]]


@command(
    cli,
    """
flexctl demo
flexctl demo -o pictures
""",
)
@click.option("-o", "output", default="out", show_default=True, metavar="FOLDER", help="Folder for the pictures.")
def demo(output: str) -> None:
    """Show the whole workflow on one arm: modes, Bode plot, control.

    The 0.96 m aluminium arm of Tokhi and Azad (1994): linear plant, modes and peak-resolved Bode plot beside the exact
    beam; a joint PD and an LQG tuned over nine plants, designed on the linear plant, in closed loop on the
    finite-difference march of the arm with a payload of 0, 10 and 20 g. Then the tip of a two-link arm (Tian et al.)
    follows a circle.
    """
    from ..catalogue import load_plant

    place, started = folder(output), time.perf_counter()
    plant = load_plant(PLANT, overrides=SETTINGS)
    stdout().print(f"{plant.title}\n", style="bold")
    figures: dict[str, Any] = {}
    say("1/4  linear plant, modes and frequency response")
    figures |= _linear(plant)
    say("2/4  controllers, designed once on the linear plant and run on the march of the arm")
    results = {name: _closed_loops(name) for name in CONTROLLERS}
    stdout().print(NOTE)
    say("3/4  a circle with the tip of a flexible two-link arm")
    tracked = _tracking()
    say("4/4  pictures")
    figures |= _pictures(results) | _track_pictures(tracked)
    paths = [_saved(figure, made(place) / f"{name}.png") for name, figure in figures.items()]
    paths += _animations(tracked, place)
    stdout().print("Pictures:\n" + "\n".join(f"  {path}" for path in paths), soft_wrap=True)
    say(f"done in {time.perf_counter() - started:.1f} s")


def say(text: str) -> None:
    """Print a message on stderr."""
    stderr().print(text)


def _saved(figure: Any, path: Path) -> Path:
    from ..io.plot.canvas import save

    return save(figure, path)


def _linear(plant: Plant) -> dict[str, Any]:
    from ..exact.euler_bernoulli import ExactBeam
    from ..frequency import frequency_response
    from ..io.plot import bode, mode_shapes

    linear, beam = plant.linearise(), ExactBeam(plant.arm)
    found, exact = linear.modes(MODES), beam.natural_frequencies(MODES) / (2 * math.pi)
    sections = plant.options["sections"]
    listed = table("mode", f"{sections} sections\n[Hz]", "exact beam\n[Hz]", "difference\n[%]", "damping ratio\n[1]")
    for number, (f, e, zeta) in enumerate(zip(found.frequencies_hz, exact, found.damping, strict=True), 1):
        listed.add_row(str(number), f"{f:.4f}", f"{e:.4f}", f"{100 * (f / e - 1):+.2f}", f"{zeta:.3g}")
    print_table("Flexible modes, beside one rigid mode", listed)
    low, high = (2 * math.pi * hertz for hertz in BAND_HZ)
    compared = {f"finite differences, {sections} sections": linear, "exact beam": beam.modal_plant(40)}
    both = {label: frequency_response(each, lo=low, hi=high) for label, each in compared.items()}
    channels = [("joint1_angle", "joint1_torque"), ("tip_displacement", "joint1_torque")]
    stations = plant.arm.links[0].length * np.arange(1, sections + 1) / sections
    shapes = mode_shapes(linear, MODES, stations=stations, title="Mode shapes")
    return {"bode": bode(both, channels, title=plant.title), "mode_shapes": shapes}


def _closed_loops(name: str) -> Runs:
    from ..catalogue import load_controller, load_plant
    from ..judging.scenario import design, run_scenarios, scenarios

    script = load_controller(name)
    plant = load_plant(PLANT)
    with progress(len(scenarios(script, plant))) as report:
        report(f"{name}: designing", 0.0)
        law = design(script, plant)
        runs = run_scenarios(script, plant, report, controller=law, method="march")
    limit = torque_limit(law)
    bounds = [_bound(item, plant, response, limit) for item, response in runs]
    extra = {"rigid\nbound\n[s]": [compact(bound, 3) for bound in bounds]}
    listed = tables.of_runs({item.name: response for item, response in runs}, extra)
    print_table((script.__doc__ or name).strip().partition("\n")[0], listed)
    return runs


def torque_limit(law: Any) -> float:
    """Return the largest torque a law may command [N m]; infinite when it has no limit."""
    limit = math.inf
    for one in layers(law):
        if isinstance(one, LinearLaw):
            limit = min(limit, float(np.max(one.upper)))
        elif isinstance(one, Limited):
            limit = min(limit, float(one.limit))
    return limit


def rigid_bound(angle: float, inertia: float, torque: float) -> float:
    """Return 2 sqrt(angle J / tau): the time in which a rigid arm can turn at best, from rest to rest [s]."""
    return 2.0 * math.sqrt(abs(angle) * inertia / torque)


def _bound(item: Scenario, nominal: Plant, response: Response, limit: float) -> float:
    from ..linear.modes import normal_modes

    plant = item.plant(nominal)
    linear = plant.linearise()
    rigid = normal_modes(linear.M, linear.K)
    inertia = 1.0 / float(rigid.shapes[:, 0] @ linear.B[:, 0]) ** 2
    length = plant.arm.links[0].length
    motions = item.reference if isinstance(item.reference, Mapping) else {"joint1_angle": item.reference}
    angle = max(abs(m.target) / (length if name == "tip_displacement" else 1.0) for name, m in motions.items())
    torque = limit if math.isfinite(limit) else response.scores["joint1_torque.peak"]
    return rigid_bound(angle, inertia, torque)


def _pictures(results: Mapping[str, Runs]) -> dict[str, Any]:
    from ..io.plot import compare

    figures = {name: compare(groups(runs), title=name) for name, runs in results.items()}
    last: dict[str, dict[str, Response]] = {}
    for name, runs in results.items():
        for members in groups(runs).values():  # the heaviest payload of each move
            scenario, response = list(members.items())[-1]
            last.setdefault(scenario, {})[f"{name}, {scenario}"] = response
    figures["comparison"] = compare(last, title="The heaviest payload, which neither law knows")
    return figures


def _tracking() -> Runs:
    from ..catalogue import load_controller, load_plant
    from ..judging.scenario import design, path_stabilities, run_scenarios, scenarios

    script = load_controller(TRACKING)
    plant = load_plant(script.PLANT)
    wanted = scenarios(script, plant)
    with progress(len(wanted)) as report:
        report(f"{TRACKING}: designing", 0.0)
        law = design(script, plant)
        runs = run_scenarios(script, plant, report, controller=law)
    print_table("Stability where the loop works", tables.of_stability(path_stabilities(law, plant, wanted)))
    title = (script.__doc__ or TRACKING).strip().partition("\n")[0]
    print_table(title, tables.of_tracks({item.name: response for item, response in runs}))
    return runs


def _track_pictures(runs: Runs) -> dict[str, Any]:
    from ..io.plot.tracking import tracking

    figures = tracking({item.name: response for item, response in runs}, title=TRACKING)
    return {f"{TRACKING}_{name}": figure for name, figure in figures.items()}


def _animations(runs: Runs, place: Path) -> list[Path]:
    from ..io.animate import animate

    item, response = runs[-1]
    if item.track is None:
        return []
    title = f"{TRACKING}: {item.name}"
    return [animate(response, item.track, place / f"{TRACKING}{suffix}", title=title) for suffix in (".gif", ".html")]
