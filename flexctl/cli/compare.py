"""`flexctl compare`: controllers, plants and formulations side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..simulation.score_words import heading
from . import cli, common, specs, tables
from .common import compact
from .warned import telling_warnings

if TYPE_CHECKING:
    from ..judging.compare import Comparison


@common.command(
    cli,
    """
flexctl compare tokhi_azad_pd tokhi_azad_lqg --only "5 deg, 0 g" -o compared.png
flexctl compare tokhi_azad_lqg --model finite_difference --model timoshenko_planar --only "5 deg, 0 g" --json
""",
)
@click.argument("controllers", metavar="CONTROLLER...", nargs=-1, required=True)
@click.option(
    "--plant", "plants", multiple=True, metavar="PLANT",
    help="Run on this plant; repeatable.  [default: each script's own]",
)
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Override a value of every plant file; repeatable."
)
@click.option(
    "--model", "models", multiple=True, metavar="KIND",
    help="Run in this formulation, with options after a colon: ancf:elements=16; repeatable; see `flexctl list`.",
)
@click.option("--only", multiple=True, metavar="SCENARIO", help="Run this scenario only; repeatable.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes.  [default: one per core]")
@click.option("-o", "output", metavar="PATH", help="A folder for everything, or a file .png, .pdf, .svg or .json.")
@common.report_option
@common.json_option
def compare(
    controllers: tuple[str, ...], plants: tuple[str, ...], settings: tuple[str, ...], models: tuple[str, ...],
    only: tuple[str, ...], workers: int | None, output: str | None, page: Path | None, as_json: bool,
) -> None:
    """Compare controllers on one plant, or one controller on several plants or formulations.

    Every controller is designed once, on the plant as its file has it, and runs through the scenarios that all of
    them have in common. With --model the same arm is run in other formulations; its signals keep their names.

    Laws that follow different channels are scored on their own; a line below the table names missing scores.

    JSON: runs (scores, error, disk_margin, failure, vibration_ratios by label and scenario); differences; controllers,
    version.
    """
    from .. import __version__
    from ..judging.compare import compare as compared

    place = None if output is None else _place(output)
    with common.progress(1) as report, telling_warnings():
        found = compared(
            controllers, plants, models=[specs.formulation(text) for text in models], only=only,
            overrides=common.overrides(settings), workers=workers, progress=report,
        )
    numbers = {**found.to_dict(), "controllers": list(controllers), "version": __version__}
    if place is not None:
        _write(place, found, common.as_text(numbers).encode())
    common.write_report(found, page, title=", ".join(Path(name).stem for name in controllers))
    if as_json:
        common.print_json(numbers)
    else:
        _print(found)
    if any(run.failure for run in found.runs):
        click.get_current_context().exit(common.EXIT_FAILED)


def _place(output: str) -> Path:
    return common.target(output, (*common.PICTURES, ".json")) if Path(output).suffix else common.folder(output)


def _write(place: Path, found: Comparison, numbers: bytes) -> None:
    from ..io.plot import compare as draw
    from ..support.files import write_atomically

    paths = [place] if place.suffix else [common.made(place) / "compared.png", place / "compared.json"]
    for path in paths:
        if path.suffix.lower() == ".json":
            write_atomically(path, lambda stream: stream.write(numbers))
        elif found.scenarios:
            draw(found.scenarios, _drawn(found) or None, path=path, titled=True)
        else:
            continue
        common.tell(path)


def _drawn(found: Comparison) -> list[str]:
    """Return the signals to draw: below each followed output its error, in which good runs differ."""
    runs = [run.response for run in found.runs if run.response is not None]
    followed = {signal.name for run in runs for signal in run.references}
    return [x for name in found.signals for x in ([name, f"error:{name}"] if name in followed else [name])]


def _print(found: Comparison) -> None:
    runs = [(run, run.response) for run in found.runs if run.response is not None]
    wanted = [f"{signal}.{score}" for signal in found.signals for score in tables.COMPARED]
    keys = [key for key in wanted if any(key in response.scores for _, response in runs)]
    heads = [heading(key, next(r for _, r in runs if key in r.scores), "\n") for key in keys]
    ratios = found.ratios
    signals = list(dict.fromkeys(x for members in ratios.values() for less in members.values() for x in less))
    heads += [f"{signal.replace('_', ' ')}\nless by\n[1]" for signal in signals]
    listed = common.table("scenario<", "run<", *heads, "disk\nmargin\n[1]")
    last = ""
    for run, response in runs:
        cells = [tables.cell(response, key) for key in keys]
        less = ratios.get(run.scenario, {}).get(run.label, {})
        cells += [tables.factor(less, signal) for signal in signals]
        margin = "" if run.disk_margin is None else compact(run.disk_margin, 3) if run.disk_margin else "UNSTABLE"
        listed.add_row(run.scenario if run.scenario != last else "", run.label, *cells, margin)
        last = run.scenario
    if runs:
        common.print_table("Closed loop", listed)
    for sentence in found.differences:
        common.stdout().print(sentence)
    for failed in found.runs:
        if failed.failure:
            common.stdout().print(f'failed, {failed.label}, "{failed.scenario}": {failed.failure}')
