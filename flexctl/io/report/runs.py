"""Runs and comparisons of runs, as blocks of a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...abilities import HasArm
from ...judging.compare import Comparison
from ...machine.arm import Arm
from ...model import names
from ...simulation.response import Response
from ...simulation.score_words import active, by_signal, spoken, unit_of
from ...simulation.score_words import heading as spell
from ..films import film_of
from ..plot.canvas import words
from . import page

TELL = 0.01
"""Part of its range from which on the error of a curve is stated."""
MOST = 12
"""Most charts of a run."""


def of_runs(runs: Mapping[str, Response], plant: Any = None) -> list[page.Block]:
    """Return scores, the runs over each other, and each with its arm in motion."""
    blocks = [page.heading("Scores"), *scores(runs)] if any(run.scores for run in runs.values()) else []
    together = _over_each_other(runs) if len(runs) > 1 else []
    if together:
        blocks += [page.heading("All runs"), page.charts(together)]
    for name, run in runs.items():
        blocks += [page.heading(name or "Run"), page.text(_about(run), "quiet")]
        large = {x: part for x in names(run.outputs) if (part := run.error_part(x)) > TELL and _moves(run, x)}
        if large:
            listed = ", ".join(f"{words(signal)} {100 * part:.2g} %" for signal, part in large.items())
            blocks.append(page.text(f"Estimated error above 1 % of the range: {listed}."))
        blocks.append(page.charts(_own(run), film=film_of(run, *_machine(plant, run))))
    return blocks


def _moves(run: Response, name: str) -> bool:
    """Whether an output is more than rounding beside the others of its unit."""
    others = [float(np.ptp(run[s.name])) for s in run.outputs if s.unit == run.unit(name)]
    return float(np.ptp(run[name])) > 1e-9 * max(others)


def _machine(plant: Any, run: Response) -> tuple[Arm | None, Any]:
    """Return the arm that was run, which may have other lengths than the plant, and its model where it is needed; None
    if it is another machine's."""
    known, arm = run.provenance, plant if isinstance(plant, HasArm) else None
    if arm is None or known.get("plant") != plant.identity["plant"]:
        return None, None
    changed: Any = plant.with_(dict(known.get("overrides") or {}))
    return changed.arm, changed.model if run.q is not None else None


def scores(runs: Mapping[str, Response]) -> list[page.Block]:
    """Return the scores of one run, a row for each signal, or of several, a row for each score."""
    if len(runs) == 1:
        return [_by_signal(*kind, run) for run in runs.values() for kind in by_signal(run).items()]
    known: dict[str, Response] = {}
    for run in runs.values():
        for key in active(run):
            known.setdefault(key, run)
    rows = [[spell(key, run), *(_score(x, key) for x in runs.values())] for key, run in known.items()]
    return [page.table("", ["score<", *runs], rows)]


def _score(run: Response, key: str) -> Any:
    """Return a score; a time that was never reached is longer than the run."""
    value = run.scores.get(key)
    late = value is not None and np.isinf(value) and "settle" in key.rpartition(".")[2]
    return {"text": f"> {run.t[-1]:.4g}", "key": 1e308} if late else value


def _by_signal(kinds: Sequence[str], signals: Sequence[str], run: Response) -> page.Block:
    heads = [f"{said}\n[{unit}]" if unit else said for said, unit in map(spoken, kinds)]
    errors = [run.error.get(name) for name in signals]
    known = any(x is not None and x > 0.0 for x in errors)
    rows = []
    for name, error in zip(signals, errors, strict=True):
        numbers = [_score(run, f"{name}.{kind}") for kind in kinds]
        about = None if error is None or not error > 0.0 else {"text": f"± {error:.1g}", "key": error}
        rows.append([words(name), unit_of(run, name), *numbers, *([about] if known else [])])
    return page.table("", ["signal<", "unit<", *heads, *(["error of\nthe run"] if known else [])], rows)


def of_comparison(found: Comparison) -> list[page.Block]:
    """Return margins and failures, then of each scenario the scores and the runs over each other."""
    failed = any(x.failure for x in found.runs)
    heads = ["scenario<", "run<", "disk\nmargin", *(["failure<"] if failed else [])]
    rows = [
        [x.scenario, x.label, x.disk_margin, *([page.cell(x.failure, "bad")] if failed else [])] for x in found.runs
    ]
    blocks = [page.heading("All runs"), page.table("", heads, rows), *map(page.text, found.differences)]
    for name, runs in found.scenarios.items():
        tables = [table for table in scores(runs) if table["rows"]]
        blocks += [page.heading(name), *tables, page.charts(_over_each_other(runs))]
    return blocks


def _about(run: Response) -> str:
    known = run.provenance
    parts = [f"{run.t[-1]:g} s"]
    if "steps" in known:
        parts.append(f"{known['steps']:,} steps of {known['shortest_step_s']:.3g} to {known['longest_step_s']:.3g} s")
    parts += [f"{key} {known[key]}" for key in ("model", "method") if known.get(key)]
    parts += [f"{key} = {value}" for key, value in dict(known.get("overrides") or {}).items()]
    return "; ".join(parts)


def _own(run: Response) -> list[Any]:
    """Return a chart for each unit of outputs, then of inputs."""
    panels: dict[tuple[bool, str, bool], list[str]] = {}
    for held, chosen in ((False, names(run.outputs)), (True, run.acting)):
        for name in chosen:
            if held or np.any(run[name] != run[name][0]):
                small = "deflection" in name or "error" in name  # beside the place of the tip one sees nothing of it
                panels.setdefault((held, run.unit(name), small), []).append(name)
    drawn = []
    for (held, unit, _), members in list(panels.items())[:MOST]:
        series = []
        for k, name in enumerate(members):
            series.append(page.curve(words(name), run.t, run[name], **page.one_of(k), held=held))
            if name in names(run.references):
                wanted = run[f"reference:{name}"]
                series.append(page.curve(f"{words(name)}, reference", run.t, wanted, "#57606a", dash=1))
        drawn.append(page.chart(_panel(members, unit), page.axis("time", "s"), page.axis("", unit), series))
    return drawn


def _panel(members: Sequence[str], unit: str) -> str:
    return ", ".join(words(name) for name in members[:3]) + (", .." if len(members) > 3 else "") + f" [{unit}]"


def _over_each_other(runs: Mapping[str, Response]) -> list[Any]:
    """Return a chart for each signal that the runs follow or act by, in which every run is a curve."""
    every = list(runs.values())
    followed = [n for run in every for n in names(run.references) if n in names(run.outputs)]
    acting = [n for run in every for n in run.acting]
    chosen = list(dict.fromkeys([*(followed or names(every[0].outputs)), *acting]))[:MOST]
    drawn = []
    for name in chosen:
        series, unit = [], ""
        for k, (label, run) in enumerate(runs.items()):
            held = name in names(run.inputs)
            if held or name in names(run.outputs):
                unit = run.unit(name)
                series.append(page.curve(label, run.t, run[name], **page.one_of(k), held=held))
        drawn.append(page.chart(words(name), page.axis("time", "s"), page.axis("", unit), series))
    return drawn
