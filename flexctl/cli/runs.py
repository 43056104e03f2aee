"""`flexctl simulate` and `flexctl run`: an arm under torques or a law, and a controller through its scenarios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from ..errors import DefinitionError, require
from ..model import names
from ..response import Response
from . import cli, specs, tables
from .common import (
    PICTURES,
    as_text,
    command,
    csv,
    folder,
    identity,
    json_option,
    load,
    made,
    plant_argument,
    plant_options,
    print_json,
    print_table,
    progress,
    target,
    tell,
)
from .linear import is_saved, linear_plant

if TYPE_CHECKING:
    from types import ModuleType

    from ..scenario import Scenario


def _number(ctx: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    return None if value is None else specs.number(value)


@command(
    cli,
    """
flexctl simulate tokhi_azad_1994 --torque bang-bang:0.1,0.3 --duration 1.2 -o run.png
flexctl simulate tokhi_azad_1994 --torque bang-bang:0.1,0.3 --method march --payload-change 0.5:20g --json
flexctl simulate tokhi_azad_1994 --controller tokhi_azad_pd --reference quintic:60deg,1.25 --duration 2.5 -o run.npz
""",
)
@plant_argument
@plant_options
@click.option("--controller", metavar="NAME", help="Controller of the catalogue, or the path of a .py file.")
@click.option(
    "--torque",
    "torques",
    multiple=True,
    metavar="[NAME=]SIGNAL",
    help=f"Torque. SIGNAL: {specs.usage(specs.SIGNALS)}, or a .csv file of time,value.",
)
@click.option(
    "--input", "signals", multiple=True, metavar="[NAME=]SIGNAL", help="Signal added to any input, as for --torque."
)
@click.option(
    "--reference",
    "references",
    multiple=True,
    metavar="[NAME=]MOTION",
    help=f"What the controller follows. MOTION: {specs.usage(specs.MOTIONS)}.",
)
@click.option(
    "--duration", metavar="SECONDS", callback=_number, help="Length of the run.  [default: twice the command's]"
)
@click.option("--step", metavar="SECONDS", callback=_number, help="Longest integration step, e.g. 200us.")
@click.option(
    "--method", default="auto", show_default=True, help="exact, march, generalised_alpha, newmark or trapezoidal."
)
@click.option(
    "--payload-change",
    "changes",
    multiple=True,
    metavar="TIME:MASS[,INERTIA]",
    help="Another payload from a time on, e.g. 0.5:20g; repeatable.",
)
@click.option("--states", is_flag=True, help="Record coordinates and rates too (in .npz and .csv).")
@click.option(
    "-o", "files", multiple=True, metavar="FILE", help="Write .npz, .csv, .json, .png, .pdf or .svg; repeatable."
)
@json_option
def simulate(
    plant: str, settings: tuple[str, ...], kind: str | None, controller: str | None, torques: tuple[str, ...],
    signals: tuple[str, ...], references: tuple[str, ...], duration: float | None, step: float | None, method: str,
    changes: tuple[str, ...], states: bool, files: tuple[str, ...], as_json: bool,
) -> None:  # fmt: skip
    """Simulate an arm under torques or a controller.

    Numbers may carry a unit: 60deg, 250ms, 20g.

    JSON: scores, method, step_s, duration_s; plant, model, overrides, version. A settling time that is not reached
    within the run is null.

    PLANT may also be a second-order plant in a .mat, .npz or .json file.
    """
    from ..scenario import blamed, design
    from ..simulate import as_model
    from ..simulate import simulate as simulated

    targets = [target(name, (".npz", ".csv", ".json", *PICTURES)) for name in files]
    arm: Any = linear_plant(plant, settings, kind) if is_saved(plant) else load(plant, settings, kind)
    inputs = specs.inputs(signals, as_model(arm).inputs, torques)
    reference, payload = specs.reference(references), specs.payload_changes(changes)
    require(bool(inputs) or controller is not None, "nothing moves the arm: give --torque, --input or --controller")
    script = None if controller is None else _script(controller)
    law = None if script is None else design(script, arm)
    length = duration if duration is not None else _length([*inputs.values()], reference, [row[0] for row in payload])
    with progress() as report, blamed(script):
        found = simulated(
            arm, law, reference, duration=length, step=step, method=method, inputs=inputs, payload=payload,
            record_states=states, progress=lambda fraction: report(f"simulating {length:g} s", fraction),
        )  # fmt: skip
    about = identity(arm)
    for path in targets:
        _write(found, about, path)
        tell(path)
    if as_json:
        print_json(_scores(found, about))
    else:
        print_table(f"{about['plant']} ({about['model']}), {length:g} s", tables.of_one(found))


def _script(name: str) -> ModuleType:
    from ..catalogue import load_controller

    return load_controller(name)


def _length(signals: Sequence[Any], reference: Any, times: Sequence[float]) -> float:
    motions = list(reference.values()) if isinstance(reference, Mapping) else [reference] if reference else []
    last = [*times, *(b for signal in signals for b in signal.breakpoints), *(motion.duration for motion in motions)]
    longest = max(last, default=0.0)
    require(longest > 0, "the command has no end from which to tell the length of the run: give --duration")
    return 2.0 * longest


def _scores(found: Response, about: Mapping[str, Any]) -> dict[str, Any]:
    run = {key: found.provenance[key] for key in ("method", "step_s", "duration_s") if key in found.provenance}
    return {"scores": dict(found.scores), **run, **about}


def _write(found: Response, about: Mapping[str, Any], path: Path) -> None:
    from ..files import write_atomically

    suffix = path.suffix.lower()
    if suffix == ".npz":
        found.save(path)
    elif suffix in PICTURES:
        from ..plot import run

        run(found, path=path)
    else:
        text = as_text(_scores(found, about)) if suffix == ".json" else run_csv(found)
        write_atomically(path, lambda stream: stream.write(text.encode()))


def run_csv(found: Response) -> str:
    """Return a run as comma-separated columns: time [s], outputs, inputs, references, coordinates."""
    series = [*names(found.outputs), *names(found.inputs), *(f"reference:{n}" for n in names(found.references))]
    if found.q is not None:
        series += [n for n in names(found.coordinates) if n not in series]
    heads = ["time [s]", *(f"{name} [{found.unit(name)}]" for name in series)]
    return csv(heads, [found.t, *(found[name] for name in series)])


@command(
    cli,
    """
flexctl run tokhi_azad_lqg
flexctl run tokhi_azad_lqg -o out                      pictures, time series and scores in out/
flexctl run my_controller.py my_arm.toml --set payload.mass=0.01 --json
""",
)
@click.argument("controller", metavar="CONTROLLER")
@click.argument("plant", metavar="[PLANT]", required=False)
@plant_options
@click.option("--only", multiple=True, metavar="SCENARIO", help="Run this scenario only; repeatable.")
@click.option("--method", help="Integrate every run by this method, e.g. march, instead of the scenario's own.")
@click.option("-o", "output", metavar="PATH", help="A folder for everything, or a file .png, .pdf, .svg or .json.")
@json_option
def run(
    controller: str, plant: str | None, settings: tuple[str, ...], kind: str | None, only: tuple[str, ...],
    method: str | None, output: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Design a controller and run it through its scenarios.

    CONTROLLER is a name of the catalogue or the path of a .py file; PLANT is by default what the script names in PLANT.
    The controller is designed once, on the plant as given; each scenario may change the plant that is run.

    JSON: scores and duration_s by scenario, margins by variant of the plant, controller; plant, model, overrides,
    version.
    """
    from ..scenario import design, robustness, run_scenarios, scenarios

    place = _place(output)
    script = _script(controller)
    arm = load(plant or own_plant(script, controller), settings, kind)
    wanted = scenarios(script, arm, only)
    with progress(len(wanted)) as report:
        report("designing", 0.0)
        law = design(script, arm)
        found = run_scenarios(script, arm, report, controller=law, only=only, method=method)
        report("margins", 0.0)
        certain = robustness(law, arm, wanted)
    label = Path(controller).stem
    results = {item.name: response for item, response in found}
    payload = {
        "scores": tables.json_runs(results), "margins": tables.json_margins(certain), "controller": label,
        "duration_s": {item.name: item.duration for item in wanted}, **identity(arm),
    }  # fmt: skip
    if place is not None:
        _write_runs(place, label, found, payload)
    if as_json:
        print_json(payload)
    else:
        if certain:
            print_table(f"{label} on {arm.name} ({arm.kind})", tables.of_margins(certain))
        print_table("Closed loop", tables.of_runs(results))


def own_plant(script: ModuleType, controller: str) -> str:
    """Return the plant that a script names."""
    name = getattr(script, "PLANT", None)
    if not isinstance(name, str):
        raise DefinitionError(f'{controller} names no plant (PLANT = "..."): give one, flexctl run {controller} PLANT')
    return name


def _place(output: str | None) -> Path | None:
    if output is None:
        return None
    return target(output, (*PICTURES, ".json")) if Path(output).suffix else folder(output)


def groups(found: Sequence[tuple[Scenario, Response]]) -> dict[str, dict[str, Response]]:
    """Return the runs that share reference and duration together, for one column of a picture each."""
    columns: list[tuple[Scenario, dict[str, Response]]] = []
    for item, response in found:
        for first, members in columns:
            if first.duration == item.duration and _same(first.reference, item.reference):
                members[item.name] = response
                break
        else:
            columns.append((item, {item.name: response}))
    return {str(number): members for number, (_, members) in enumerate(columns)}


def _same(one: Any, other: Any) -> bool:
    t = np.linspace(0.0, 10.0, 101)
    pair = [dict(m) if isinstance(m, Mapping) else {"": m} for m in (one, other)]
    return pair[0].keys() == pair[1].keys() and all(
        np.array_equal(m(t)[0], pair[1][k](t)[0]) for k, m in pair[0].items()
    )


def _write_runs(
    place: Path, label: str, found: Sequence[tuple[Scenario, Response]], payload: Mapping[str, Any]
) -> None:
    from ..files import write_atomically
    from ..plot import compare

    everything = not place.suffix
    home = made(place) if everything else place.parent
    picture = home / f"{label}.png" if everything else place
    numbers = home / f"{label}.json" if everything else place
    if everything or place.suffix.lower() in PICTURES:
        compare(groups(found), path=picture, title=label)
        tell(picture)
    if everything or place.suffix.lower() == ".json":
        write_atomically(numbers, lambda stream: stream.write(as_text(payload).encode()))
        tell(numbers)
    for item, response in found if everything else ():
        tell(response.save(home / f"{label}_{slug(item.name)}.npz"))


def slug(text: str) -> str:
    """Return a text as part of a file name."""
    return "_".join("".join(c if c.isalnum() or c in ".-" else " " for c in text).split())
