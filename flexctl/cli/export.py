"""`flexctl export`: laws and plants for other programs and for hardware."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from .. import export as exports
from . import cli, points
from .common import command, debug_option, folder, json_option, load, plant_options, print_json, progress, tell
from .linear import linear_plant
from .quantities import quantity
from .runs import own_plant
from .terminal import say


@cli.group("export")
def export() -> None:
    """Write a law or a plant for hardware and other programs: C, FMU, MATLAB, JSON.

    \b
    Examples:
      flexctl export law tokhi_azad_lqg --to c -o out/lqg
      flexctl export law tip_circle --to c --tables -o out/circle
      flexctl export law tokhi_azad_lqg --to fmu -o out/lqg_fmu
      flexctl export plant tokhi_azad_1994 --to fmu -o out/arm
      flexctl export plant planar_2r_flexible --nonlinear --to fmu -o out/beams
      flexctl export plant tokhi_azad_1994 --to matlab -o out/matlab
    """


export.params.append(debug_option())


def _seconds(ctx: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    return None if value is None else quantity(value, "s", parameter.opts[0])


def _formats(what: str) -> str:
    return ", ".join(f"{form} ({w.about})" for (kind, form), w in exports.WRITERS.items() if kind == what)


@command(
    export,
    """
flexctl export law tokhi_azad_lqg --to c -o out/lqg
flexctl export law tip_circle --to c --tables -o out/circle
flexctl export law planar_2r_servo --to c --sample-time 0.5ms --method tustin -o out/servo
flexctl export law my_controller.py my_arm.toml --set payload.mass=10g --to c -o out/mine
""",
)
@click.argument("controller", metavar="NAME")
@click.argument("plant", metavar="[PLANT]", required=False)
@plant_options
@click.option("--to", "form", required=True, metavar="FORMAT", help=f"Format: {_formats('law')}.")
@click.option("-o", "output", required=True, metavar="DIR", help="Folder to create.")
@click.option("--name", default="", metavar="NAME", help="Name of files, types and functions.  [default: the script's]")
@click.option("--sample-time", metavar="SECONDS", callback=_seconds, help="Sample a continuous law, e.g. 1ms.")
@click.option("--method", metavar="METHOD", help="How to sample it: tustin or zoh.")
@click.option("--scenario", metavar="NAME", help="Put the references of this scenario into the code as a table.")
@click.option("--tables", is_flag=True, default=None, help="Allow tables above 64 kB.")
@click.option("--certificate", metavar="FILE", help="Certificate (.json) whose verdict is written into the code.")
@click.option("--test-steps", type=click.IntRange(2, 1_000_000), help="Periods of the recorded test.  [default: 200]")
@click.option("--no-binary", "binary", flag_value=False, type=bool, default=None, help="FMU: sources only.")
@json_option
def law(
    controller: str, plant: str | None, settings: tuple[str, ...], kind: str | None, form: str, output: str, name: str,
    as_json: bool, **options: Any,
) -> None:
    """Write a sampled control law for another program.

    NAME is a controller of the catalogue or the path of a .py file; PLANT defaults to the plant that the script names.
    The law is designed on that plant, with the values of --set.

    JSON: folder, files, notes, and the numbers of the export (bytes of state and constants, operations per period).
    """
    from ..catalogue import load_controller

    place = folder(output)
    arm = load(plant or own_plant(load_controller(controller), controller), settings, kind)
    given = {key: value for key, value in options.items() if value is not None}
    with progress() as report:
        report(f"exporting {controller}", 0.0)
        made = exports.export_law(controller, place, form, plant=arm, name=name, **given)
    _told(made, as_json)


@command(
    export,
    """
flexctl export plant tokhi_azad_1994 --to fmu -o out/arm                  co-simulation and model exchange, FMI 2.0
flexctl export plant planar_2r_flexible --pose joint2=60deg --hold all --modes 4 --to fmu -o out/bent
flexctl export plant planar_2r_flexible --nonlinear --step 0.5ms --to fmu -o out/beams    the arm itself
flexctl export plant tokhi_azad_1994 --set payload.mass=20g --to matlab -o out/matlab
flexctl export plant plant.mat --to json -o out/json
""",
)
@click.argument("plant", metavar="PLANT")
@plant_options
@points.point_options
@click.option("--to", "form", required=True, metavar="FORMAT", help=f"Format: {_formats('plant')}.")
@click.option("-o", "output", required=True, metavar="DIR", help="Folder to create.")
@click.option("--name", default="", metavar="NAME", help="Name of the export.  [default: the plant's]")
@click.option("--modes", type=click.IntRange(min=0), help="Keep the rigid modes and so many flexible ones, the lowest.")
@click.option(
    "--step", metavar="SECONDS", callback=_seconds,
    help="FMU: default step for importers; with --nonlinear also the longest inner step,  1ms by default.",
)
@click.option("--stop", metavar="SECONDS", callback=_seconds, help="FMU: default stop time for importers.")
@click.option("--no-binary", "binary", flag_value=False, type=bool, default=None, help="FMU: sources only.")
@click.option(
    "--plain-states", is_flag=True, default=None,
    help="FMU: in model exchange importers integrate the plant's own states, even where their solvers do badly.",
)
@click.option(
    "--nonlinear", is_flag=True, default=None,
    help="FMU for co-simulation of the arm itself, large motions included, instead of its linear plant.",
)
@json_option
def plant(
    plant: str, settings: tuple[str, ...], kind: str | None, where: points.Where, form: str, output: str, name: str,
    as_json: bool, **options: Any,
) -> None:
    """Write the linear plant of an arm, or with --nonlinear the arm itself, for another program.

    PLANT is a name of the catalogue (see `flexctl list`), the path of a TOML file, or a linear plant in a .mat, .npz or
    .json file. It is linearised about the equilibrium under gravity, or where --pose, --hold, --load and --spin say.
    With --nonlinear the arm starts in its reference pose without inputs, or, with --pose or --load, in equilibrium
    there, held by its inputs.

    JSON: folder, files, notes, and the numbers of the export.
    """
    place = folder(output)
    given = {key: value for key, value in options.items() if value is not None}
    with progress() as report:
        report(f"exporting {plant}", 0.0)
        if given.get("nonlinear"):
            arm = load(plant, settings, kind)
            given |= points.rest_of(where, arm)
            made = exports.export_plant(arm, place, form, name=name, **given)
        else:
            linear = linear_plant(plant, settings, kind, where)
            title = "" if linear.provenance.get("plant") else Path(plant).stem
            made = exports.export_plant(linear, place, form, name=name or title, **given)
    _told(made, as_json)


def _told(made: exports.Exported, as_json: bool) -> None:
    """Say what was written, and what must be known of it."""
    for path in made.files:
        tell(made.folder / path)
    for note in made.notes:
        say(f"note: {note}")
    if as_json:
        print_json({"folder": str(made.folder), "files": made.files, "notes": made.notes, **_plain(made.facts)})
    else:
        click.echo("\n".join(f"{key.replace('_', ' ')}: {value}" for key, value in _plain(made.facts).items()))


def _plain(facts: Mapping[str, Any]) -> dict[str, Any]:
    return dict(facts)
