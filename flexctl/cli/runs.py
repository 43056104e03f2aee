"""`flexctl run`: a controller through its scenarios, on one plant or several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from ..design.design import Design
from ..errors import DefinitionError, require
from ..simulation.response import Response
from . import cli, common, tables
from .warned import telling_warnings

if TYPE_CHECKING:
    from types import ModuleType

    from ..judging.scenario import Scenario


@common.command(
    cli,
    """
flexctl run tokhi_azad_lqg
flexctl run tokhi_azad_lqg -o out                      pictures, time series and scores in out/
flexctl run my_controller.py my_arm.toml --set payload.mass=0.01 --json
flexctl run tokhi_azad_lqg --law-as c                  the law as compiled C code: software in the loop
flexctl run tip_circle --only PD --also :model.elements=4      the same law on other models of the arm
""",
)
@click.argument("controller", metavar="CONTROLLER")
@click.argument("plant", metavar="[PLANT]", required=False)
@common.plant_options
@click.option("--only", multiple=True, metavar="SCENARIO", help="Run this scenario only; repeatable.")
@click.option("--method", help="Integrate every run with this method, e.g. march, instead of the scenario's own.")
@common.law_option
@click.option(
    "--also",
    "others",
    multiple=True,
    metavar="[PLANT][:KEY=VALUE,..]",
    help="Run the same controller on this plant too; without PLANT, on the same plant with other values; repeatable.",
)
@click.option("-o", "output", metavar="PATH", help="A folder for everything, or a file .png, .pdf, .svg or .json.")
@common.report_option
@common.json_option
def run(
    controller: str, plant: str | None, settings: tuple[str, ...], kind: str | None, only: tuple[str, ...],
    method: str | None, law_kind: str, others: tuple[str, ...], output: str | None, page: Path | None, as_json: bool,
) -> None:
    """Design a controller and run it through its scenarios.

    CONTROLLER is a name of the catalogue or the path of a .py file; PLANT defaults to the plant that the script names.
    The controller is designed once, on the plant as given; each scenario may change the plant it runs on.

    JSON: scores, error of every output, duration_s and vibration_ratios by scenario, margins by variant of the plant,
    stability along the path by scenario where the tip follows one, controller; plant, model, overrides, version;
    scores, error and identity by plant under `also`.
    """
    from ..catalogue import load_controller
    from ..judging.scenario import design, on_plants, path_stabilities, robustness, scenarios
    from ..judging.variations import vibration_ratios
    from ..simulation.simulate import check_settings

    place = _place(output)
    script = load_controller(controller)
    arm = common.load(plant or own_plant(script, controller), settings, kind)
    wanted = scenarios(script, arm, only)
    plants = {_plant_label(arm): arm, **_others(others, plant or own_plant(script, controller), settings, kind)}
    require(len(plants) == 1 + len(others), f"two plants are the same: {list(plants)}; give each other values")
    check_settings(1.0, method=method or "auto")
    with common.progress(len(wanted) * len(plants)) as report, telling_warnings():
        report("designing", 0.0)
        law = design(script, arm)
        every = on_plants(
            script, plants, report, controller=law, only=only, method=method, law_as=common.law_as(law_kind),
            record_states=page is not None,
        )
        report("margins", 0.0)
        certain, stable = robustness(law, arm, wanted), path_stabilities(law, arm, wanted)
    label = Path(controller).stem
    found = every[_plant_label(arm)]
    results = {item.name: response for item, response in found}
    less = vibration_ratios(results, {item.name: item.against for item in wanted})
    payload = {
        "scores": tables.json_runs(results), "error": tables.json_errors(results),
        "margins": tables.json_margins(certain), "stability": tables.json_stability(stable), "controller": label,
        "duration_s": {item.name: item.duration for item in wanted}, "vibration_ratios": less, **common.identity(arm),
        "also": {
            name: {
                "scores": tables.json_runs({i.name: r for i, r in runs}),
                "error": tables.json_errors({i.name: r for i, r in runs}), **common.identity(plants[name]),
            }
            for name, runs in list(every.items())[1:]
        },
    }
    if place is not None:
        _write_runs(place, label, found, payload)
    whole = results if len(every) == 1 else _by_scenario(every)
    loop = law if isinstance(law, Design) else None
    common.write_report(whole, page, title=f"{label} on {arm.name}", design=loop, plant=arm)
    if as_json:
        common.print_json(payload)
        return
    if certain:
        common.print_table(f"{label} on {arm.name} ({arm.kind})", tables.of_margins(certain))
    if stable:
        common.print_table("Stability where the loop works", tables.of_stability(stable))
    listed = tables.of_tracks(whole) if stable else tables.of_runs(whole, tables.times_less(whole, less))
    common.print_table("Closed loop", listed)


def _plant_label(arm: Any) -> str:
    changed = ", ".join(f"{key} = {value}" for key, value in arm.overrides.items())
    return f"{arm.name} ({arm.kind})" + (f", {changed}" if changed else "")


def _others(
    words: Sequence[str], plant: str, settings: tuple[str, ...], kind: str | None
) -> dict[str, Any]:
    """Return the plants of `--also` by label."""
    found = {}
    for word in words:
        name, _, changes = word.partition(":")
        more = tuple(part for part in changes.split(",") if part)
        mine = {part.partition("=")[0] for part in more}
        kept = () if name else tuple(text for text in settings if text.partition("=")[0] not in mine)
        other = common.load(name or plant, (*kept, *more), None if name else kind)
        found[_plant_label(other)] = other
    return found


def _by_scenario(every: Mapping[str, Sequence[tuple[Scenario, Response]]]) -> dict[str, Response]:
    """Return the runs of all plants, those of one scenario below each other."""
    count = len(next(iter(every.values())))
    return {
        f"{runs[k][0].name}: {plant}": runs[k][1] for k in range(count) for plant, runs in every.items()
    }


def own_plant(script: ModuleType, controller: str) -> str:
    """Return the plant that a script names."""
    from .. import catalogue

    name = catalogue.own_plant(script)
    if not isinstance(name, str):
        raise DefinitionError(f'{controller} names no plant (PLANT = "..."): give one, flexctl run {controller} PLANT')
    return name


def _place(output: str | None) -> Path | None:
    if output is None:
        return None
    return common.target(output, (*common.PICTURES, ".json")) if Path(output).suffix else common.folder(output)


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
    from ..io.plot import compare
    from ..support.files import write_atomically

    everything = not place.suffix
    home = common.made(place) if everything else place.parent
    picture = home / f"{label}.png" if everything else place
    numbers = home / f"{label}.json" if everything else place
    tracked = all(item.track is not None for item, _ in found)
    if everything and tracked:
        _draw_tracks(home, label, found)
    elif everything or place.suffix.lower() in common.PICTURES:
        compare(groups(found), path=picture, title=label)
        common.tell(picture)
    if everything or place.suffix.lower() == ".json":
        write_atomically(numbers, lambda stream: stream.write(common.as_text(payload).encode()))
        common.tell(numbers)
    for item, response in found if everything else ():
        common.tell(response.save(home / f"{label}_{slug(item.name)}.npz"))


def _draw_tracks(home: Path, label: str, found: Sequence[tuple[Scenario, Response]]) -> None:
    """Write the pictures of runs along a path, and animations of the last one."""
    from ..io.animate import animate
    from ..io.plot.canvas import save
    from ..io.plot.tracking import tracking

    for name, figure in tracking({item.name: response for item, response in found}, title=label).items():
        common.tell(save(figure, home / f"{label}_{name}.png"))
    item, response = found[-1]
    if item.track is not None:
        for suffix in (".gif", ".html"):
            common.tell(animate(response, item.track, home / f"{label}{suffix}", title=f"{label}: {item.name}"))


def slug(text: str) -> str:
    """Return a text as part of a file name."""
    return "_".join("".join(c if c.isalnum() or c in ".-" else " " for c in text).split())
