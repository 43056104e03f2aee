"""`flexctl list` and `flexctl show`: what there is, and what is known about it."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import DefinitionError, unknown
from . import cli
from .common import command, compact, identity, json_option, load, plant_options, print_json, print_table, stdout, table

if TYPE_CHECKING:
    from ..catalogue import Plant
    from ..model import MechanicalModel


def summary(path: Path) -> str:
    """Return the first line of a script's docstring, without running the script."""
    return documentation(path).partition("\n")[0]


def documentation(path: Path) -> str:
    """Return a script's docstring, without running the script."""
    try:
        return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    except OSError as error:
        raise DefinitionError(f"{path}: cannot read the file: {error.strerror or error}") from error
    except (SyntaxError, ValueError) as error:
        raise DefinitionError(f"{path}: cannot be read as Python: {error}") from error


@command(
    cli,
    """
flexctl list
flexctl list --json
""",
)
@json_option
def list_(as_json: bool) -> None:
    """List plants, controllers and kinds of model."""
    from .. import __version__
    from ..catalogue import find, list_controllers, list_plants, load_plant
    from ..models import kinds as known

    plants = [{"name": name, "title": load_plant(name).title} for name in list_plants()]
    scripts = [{"name": name, "title": summary(find("controllers") / f"{name}.py")} for name in list_controllers()]
    kinds = [{"name": kind, "title": _about(kind)} for kind in known()]
    if as_json:
        print_json({"plants": plants, "controllers": scripts, "models": kinds, "version": __version__})
        return
    for title, rows in (("Plants", plants), ("Controllers", scripts), ("Models", kinds)):
        listed = table("name<", "what it is<")
        for row in rows:
            listed.add_row(row["name"], row["title"])
        print_table(title, listed)


def _about(kind: str) -> str:
    from ..models import REGISTRY, kinds, options

    place = "" if kind in REGISTRY else f"{kinds()[kind]}; "
    try:
        found = options(kind)
    except DefinitionError as error:  # an installed package that is broken does not hide the rest
        return str(error)
    return f"{place}options: " + ", ".join(f"{key} = {value}" for key, value in found.items())


@command(
    cli,
    """
flexctl show tokhi_azad_1994
flexctl show my_arm.toml --set payload.mass=0.02
flexctl show tokhi_azad_1994 --all
flexctl show tokhi_azad_lqg
""",
)
@click.argument("name", metavar="NAME")
@plant_options
@click.option("--all", "everything", is_flag=True, help="Show default values too.")
@json_option
def show(name: str, settings: tuple[str, ...], kind: str | None, everything: bool, as_json: bool) -> None:
    """Show a plant's numbers and their sources, or a controller.

    NAME is a plant or a controller of the catalogue, or the path of a .toml or .py file. If a plant and
    a controller share the name, both are shown.
    """
    from .. import __version__
    from ..catalogue import list_controllers, list_plants, locate

    plants, bare = list_plants(), not settings and kind is None
    scripts = list_controllers() if bare else []  # --set and --model are for plants
    known = sorted({*plants, *scripts})
    if bare and name not in known and not Path(name).suffix and len(Path(name).parts) == 1:
        raise DefinitionError(f"{unknown('plant or controller', name, known)}; or give the path of a .toml or .py file")
    script = _about_script(*locate("controllers", name)) if name.endswith(".py") or name in scripts else {}
    plant = load(name, settings, kind) if name in plants or not script else None  # one name may stand for both
    model = plant.model if plant else None  # wrong options of the solver are found here, before anything is printed
    if as_json:
        print_json({**script, **(_about_plant(plant) if plant else {"version": __version__})})
        return
    if script:
        stdout().print(f"{script['controller']}  ({script['source']})", style="bold")
        stdout().print(f"\n{script['description']}")
    if script and plant:
        stdout().print(f"\nThe plant of that name ({plant.source}):\n")
    if plant and model:
        _show_plant(plant, model, everything)


def _about_script(path: Path, source: str) -> dict[str, Any]:
    return {"controller": path.stem, "source": source, "description": documentation(path)}


def _about_plant(plant: Plant) -> dict[str, Any]:
    parameters = [
        {"key": r.key, "value": r.value, "unit": r.unit, "meaning": r.text, "provenance": r.provenance}
        for r in plant.rows if r.value is not None
    ]
    return {**identity(plant), "title": plant.title, "reference": plant.reference, "parameters": parameters}


def _show_plant(plant: Plant, model: MechanicalModel, everything: bool) -> None:
    rows = [row for row in plant.rows if row.value is not None]
    console = stdout()
    console.print(f"{plant.name}: {plant.title}", style="bold")
    console.print(plant.reference)
    listed = table("key<", "value", "unit<", "meaning; source<")
    for row in rows if everything else plant.given:
        value = compact(row.value, 9) if isinstance(row.value, float) else str(row.value)
        listed.add_row(row.key, value, row.unit, "; ".join(filter(None, (row.text, row.provenance))))
    print_table("", listed)
    hidden = 0 if everything else len(rows) - len(plant.given)
    if hidden:
        console.print(f"{hidden} values are left at their default; --all shows them")
    for what, signals in (("inputs", model.inputs), ("outputs", model.outputs)):
        console.print(f"{what}: {', '.join(map(str, signals))}")
    console.print(f"{len(model.coordinates)} coordinates, model {plant.kind}")
