"""`flexctl sweep`: a controller in closed loop over many plants or settings of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from ..errors import require
from ..machine.given import SAVED, as_plant
from ..simulation.score_words import column, idle
from . import cli, common, specs
from .effect import no_effect
from .quantities import has_unit, key_unit, quantities, quantity
from .warned import telling_warnings

if TYPE_CHECKING:
    from ..judging.sweep import Table

NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?")
CHANGES = re.compile(r" with \S+ = .*?: (?=\[|unknown|missing)")
"""The list of changes in a message about a variant of a plant."""
RANGE = re.compile(r"(.+?)\.\.(.+?)(?:/(\d+)(log)?|/(log))?")


def values(text: str) -> tuple[str, Any]:
    """Return name and values of "payload.mass=0,10g,20g", "payload.mass=0..20g" or "controller.kp=0.1..10/7log"."""
    from ..judging.sweep import Span

    name, equals, rest = (part.strip() for part in text.partition("="))
    understood = bool(name and equals and rest)
    require(understood, f'--over "{text}" is not understood; write NAME=VALUE,VALUE or NAME=LOW..HIGH')
    found = RANGE.fullmatch(rest)
    if found is None:
        return name, _listed(name, [part.strip() for part in rest.split(",")])
    low, high, points, log, bare = found.groups()
    first, last = quantities([low, high], key_unit(name) or "", f"--over {name}", _most(name))
    return name, Span(first, last, int(points or 0), bool(log or bare))


def _listed(name: str, parts: Sequence[str]) -> list[Any]:
    """Return words, whole numbers and quantities; where one has a unit, all must have one."""
    if not any(map(has_unit, parts)):
        return [_value(part, key_unit(name) or "", name) for part in parts]
    require(key_unit(name) is not None, f"--over {name}: a plain value; leave the unit out")
    return quantities(parts, key_unit(name) or "", f"--over {name}")


def _most(name: str) -> float | None:
    """Return the largest number without a unit where it is not that of the unit."""
    return 1.0 if name == "scenario.step" else None


def _value(text: str, unit: str, name: str) -> Any:
    if re.fullmatch(r"[A-Za-z_][\w-]*", text) and text not in ("nan", "inf"):
        return {"true": True, "false": False}.get(text, text)
    found = quantity(text, unit, f"--over {name}", _most(name))
    return int(text) if re.fullmatch(r"[-+]?\d+", text) else found


@common.command(
    cli,
    """
flexctl sweep tokhi_azad_lqg --over payload.mass=0,10g,20g --only "5 deg, 0 g" -o payload.csv
flexctl sweep tokhi_azad_lqg --over payload.mass=0..20g --sample lhs --count 4 --linear --only "5 deg, 0 g"
flexctl sweep tokhi_azad_pd --over controller.LIMIT=0.2..0.4/3 --only "60 deg, 0 g" -o limit.nc
""",
)
@click.argument("controller", metavar="CONTROLLER")
@click.argument("plant", metavar="[PLANT]", required=False)
@common.plant_options
@click.option(
    "--over", "parameters", multiple=True, metavar="NAME=VALUES",
    help="A key of the plant file, controller.NAME (an argument of design or a constant of the script, also "
    "controller.WEIGHTS.rate), scenario.duration, .step, .rtol or .method. VALUES: a list, LOW..HIGH, "
    "LOW..HIGH/POINTS, LOW..HIGH/POINTSlog; repeatable.",
)
@click.option("--sample", default="grid", show_default=True, help="grid (all combinations), random, or lhs.")
@click.option(
    "--draws", type=click.IntRange(min=0), default=0,
    help="Plants drawn from [uncertainty] of the plant file, with every point of --over.",
)
@click.option("--count", type=click.IntRange(min=1), help="Number of points of random and lhs.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of random and lhs.")
@click.option("--only", multiple=True, metavar="SCENARIO", help="Run this scenario only; repeatable.")
@click.option("--redesign", is_flag=True, help="Design the controller again on the plant of every case.")
@click.option("--linear", is_flag=True, help="Add stability and margins of the linear loop.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes on this machine.  [default: one per core]")
@click.option("--scheduler", metavar="ADDRESS", help="Dask scheduler whose workers run the cases, e.g. tcp://host:8786.")
@click.option("--fresh", is_flag=True, help="Start over instead of resuming an interrupted sweep.")
@click.option("-o", "output", metavar="FILE", help="Write .csv, .nc or .parquet; needed to resume a sweep.")
@common.report_option
@common.json_option
def sweep(
    controller: str, plant: str | None, settings: tuple[str, ...], kind: str | None, parameters: tuple[str, ...],
    draws: int, sample: str, count: int | None, seed: int, only: tuple[str, ...], redesign: bool, linear: bool,
    workers: int | None, scheduler: str | None, fresh: bool, output: str | None, page: Path | None,
    as_json: bool,
) -> None:
    """Run a controller over many values of plant or controller parameters.

    Every case is a closed-loop run of every scenario. A case that fails becomes a row with its reason, and the exit
    code is 1. The controller is designed once, on the plant as given, unless --redesign is set.

    With -o finished cases are kept as they come: after an interruption the same command resumes there.

    JSON: columns, rows, failed; controller, version.
    """
    from .. import __version__
    from ..catalogue import load_controller
    from ..judging.scenario import model_table
    from ..judging.sweep import sweep as swept
    from .runs import own_plant

    over: dict[str, Any] = {}
    for text in parameters:
        name, given = values(text)
        require(name not in over, f'--over: "{name}" is given twice')
        over[name] = given
    changed = common.overrides(settings)
    if kind is not None:
        changed = {f"model.{key}": value for key, value in model_table(specs.formulation(kind)).items()} | changed
    if output is None:
        no_effect("fresh", without="without -o: only a sweep that is written can be resumed")
    if sample == "grid" and not draws:
        no_effect("seed", without="on a grid without --draws: nothing is drawn")
    where = plant or own_plant(load_controller(controller), controller)
    if Path(where).suffix.lower() in SAVED:
        common.load(where, (), None)  # what is to be said of such a file is said here, once
    with common.progress(1) as report, telling_warnings():
        found = swept(
            controller, plant, over=over, draws=draws, method=sample, count=count, seed=seed, overrides=changed,
            scenarios=only,
            redesign=redesign, linear=linear, path=output, resume=not fresh, workers=workers, scheduler=scheduler,
            progress=_Told(report),
        )
    if output is not None:
        common.tell(Path(output))
    common.write_report(found, page, plant=as_plant(where).with_(changed), title=f"{Path(controller).stem}: sweep")
    failed = sum(status != "ok" for status in found["status"])
    units = {name: key_unit(name) or "" for name in over} | signal_units(where, changed)
    if as_json:
        rows = {"columns": list(found.columns), "rows": found.rows, "failed": failed}
        click.echo(common.as_text({**rows, "controller": controller, "version": __version__}))
    else:
        common.print_table(f"{controller}: {len(found)} runs, {failed} failed", listed(found, list(over), units))
        _print_failures(found)
    if failed:
        click.get_current_context().exit(common.EXIT_FAILED)


class _Told:
    """Tells the bar how far a sweep is."""

    def __init__(self, report: Any) -> None:
        self.report = report

    def __call__(self, done: int, failed: int, total: int) -> None:
        if common.stderr().is_terminal or done in (0, total):
            words = f"{done} of {total} cases" + (f", {failed} failed" if failed else "")
            self.report("sweep" if common.stderr().is_terminal else words, done / max(total, 1))


def signal_units(where: Any, changed: dict[str, Any]) -> dict[str, str]:
    """Return the units of a plant's signals by their names."""
    model = as_plant(where).with_(changed).model
    return {signal.name: signal.unit for signal in (*model.inputs, *model.outputs)}


def _head(name: str, units: Mapping[str, str]) -> str:
    unit = units.get(name, "")
    return column(name, units) + (f"\n[{unit}]" if unit else "")


def listed(found: Table, parameters: Sequence[str], units: Mapping[str, str], most: int = 40) -> Any:
    """Return the first rows of a sweep and, below, the extremes of every score."""
    shown = [c for c in found.columns if c in parameters or c.endswith(("_s", ".peak", "disk_margin", "stable"))]
    shown = [c for c in shown if c != "wall_s" and not idle(c, found[c])]
    made = common.table("case", "scenario<", *(_head(c, units) for c in shown), "status<")
    columns = {c: found[c] for c in (*shown, "case", "scenario", "status")}
    for i in range(min(len(found), most)):
        cells = [_cell(columns[c][i]) for c in shown]
        made.add_row(str(columns["case"][i]), columns["scenario"][i], *cells, columns["status"][i])
    for word, function in (("least", np.min), ("largest", np.max)) if len(found) > 1 else ():
        cells = [_extreme(columns[c], function) for c in shown]
        made.add_row("", word, *cells, "")
    if len(found) > most:
        common.stdout().print(f"the first {most} of {len(found)} rows; -o FILE writes them all")
    return made


def _cell(value: Any) -> str:
    return common.compact(value) if isinstance(value, int | float) else "" if value is None else str(value)


def _extreme(column: Sequence[Any], function: Any) -> str:
    numbers = [x for x in column if isinstance(x, int | float)]
    return common.compact(float(function(numbers))) if numbers else ""


def _print_failures(found: Table) -> None:
    """Print why cases failed; reasons that differ in their numbers, or in what else was changed, are shown once."""
    groups: dict[str, tuple[str, dict[int, None]]] = {}
    for case, status, reason in zip(found["case"], found["status"], found["reason"], strict=True):
        if status != "ok":
            key = NUMBER.sub("#", CHANGES.sub(": ", reason))
            groups.setdefault(key, (reason, {}))[1][case] = None
    for reason, cases in groups.values():
        numbers = ", ".join(map(str, list(cases)[:10])) + (", ..." if len(cases) > 10 else "")
        several = f"failed, {len(cases)} cases ({numbers}), the first" if len(cases) > 1 else f"failed, case {numbers}"
        common.stdout().print(f"{several}: {reason}")
