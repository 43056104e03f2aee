"""The table of a sweep as blocks of a page: what failed, every score over every parameter, all rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...judging.sweep.store import TEXTS, Table
from ...machine.given import as_plant
from ...simulation.score_words import column, idle
from ..plot.canvas import PALETTE
from . import page

OWN = ("case", "wall_s", *TEXTS)
MOST = 12
"""Most charts."""


def of_sweep(found: Table, plant: Any = None) -> list[page.Block]:
    """Return how many cases failed and why, the extremes of every score, scores over parameters, and the rows."""
    failed = [k for k, status in enumerate(found["status"]) if status != "ok"]
    told = f"{len(found)} runs, {len(failed)} failed."
    blocks = [page.text(told, "bad" if failed else "good")]
    if failed:
        reasons: dict[str, int] = {}
        for k in failed:
            reasons[str(found["reason"][k])] = reasons.get(str(found["reason"][k]), 0) + 1
        blocks.append(page.table("", ["reason<", "runs"], [[reason, count] for reason, count in reasons.items()]))
    numbers = {name: _numbers(found[name]) for name in found.columns if name not in OWN}
    numbers = {name: x for name, x in numbers.items() if x is not None}
    parameters, scores = _parted(found, list(numbers))
    units = {} if plant is None else _units(plant)
    blocks += _extremes({name: numbers[name] for name in scores}, units)
    drawn = [_chart(found, name, score, numbers, units) for name in parameters for score in scores]
    shown = [chart for chart in drawn if chart is not None][:MOST]
    if shown:
        blocks += [page.heading("Scores over parameters"), page.charts(shown, linked=False)]
        if len(drawn) > MOST:
            blocks.append(page.text(f"{len(drawn) - MOST} charts more are not shown.", "quiet"))
    return [*blocks, page.heading("All runs"), _rows(found, units)]


def _units(plant: Any) -> dict[str, str]:
    """Return the units of a plant's signals and of the values of its file, by their names."""
    known = as_plant(plant)
    model = known.model
    rows = {row.key: row.unit for row in known.rows if row.unit != "1"}
    return rows | {signal.name: signal.unit for signal in (*model.inputs, *model.outputs)}


def _called(name: str, units: Mapping[str, str]) -> str:
    return _head(name, units).replace("\n", " ")


def _head(name: str, units: Mapping[str, str]) -> str:
    unit = units.get(name, "")
    return column(name, units) + (f"\n[{unit}]" if unit else "")


def _rows(found: Table, units: Mapping[str, str]) -> page.Block:
    """Return all rows, without columns in which nothing stands and inputs at which nothing acts."""
    shown = [c for c in found.columns if not idle(c, found[c]) and any(x not in (None, "") for x in found[c])]
    left = [any(isinstance(x, str) for x in found[c]) for c in shown]
    heads = [_head(c, units) + ("<" if on_left else "") for c, on_left in zip(shown, left, strict=True)]
    return page.table("", heads, zip(*(list(found[c]) for c in shown), strict=True))


def _numbers(values: list[Any]) -> Any:
    if any(isinstance(x, str | bool) for x in values):
        return None
    return np.array([np.nan if x is None else float(x) for x in values])


def _parted(found: Table, known: list[str]) -> tuple[list[str], list[str]]:
    """Return parameters, which stand before the scenario, and scores behind it."""
    at = found.columns.index("scenario")
    scores = [n for n in known if found.columns.index(n) > at and not idle(n, found[n])]
    return [n for n in known if found.columns.index(n) < at], scores


def _extremes(scores: dict[str, Any], units: Mapping[str, str]) -> list[page.Block]:
    rows = []
    for name, x in scores.items():
        there = x[np.isfinite(x)]
        if there.size:
            ends = (float(there.min()), float(np.median(there)), float(there.max()))
            rows.append([_called(name, units), *ends, x.size - there.size])
    heads = ["score<", "least", "median", "largest", "runs without"]
    return [page.heading("Scores"), page.table("", heads, rows)] if rows else []


def _chart(found: Table, parameter: str, score: str, numbers: dict[str, Any], units: Mapping[str, str]) -> Any:
    """Return one score over one parameter, a colour for each scenario; None where nothing varies."""
    x, y = numbers[parameter], numbers[score]
    if not np.isfinite(y).any() or np.ptp(x[np.isfinite(x)]) == 0.0:
        return None
    series, scenarios = [], list(dict.fromkeys(found["scenario"]))
    for k, name in enumerate(scenarios):
        own = [i for i, s in enumerate(found["scenario"]) if s == name and np.isfinite(y[i])]
        texts = [f"case {found['case'][i]}, {name}: {x[i]:.5g}, {y[i]:.5g}" for i in own]
        series.append(page.points(name, x[own], y[own], PALETTE[k % len(PALETTE)], texts, "dot"))
    below = page.axis(parameter, units.get(parameter, ""))
    return page.chart(f"{_called(score, units)} over {parameter}", below, page.axis(""), series, points=True)
