"""Scores and margins as tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..response import Response
from .common import compact, table

if TYPE_CHECKING:
    from rich.table import Table

    from ..frequency import Margins

WORDS = {
    "settle_1pct_s": ("to 1 %", "s"),
    "settle_0p1pct_s": ("to 0.1 %", "s"),
    "overshoot_pct": ("overshoot", "%"),
    "rms_error": ("rms error", ""),
    "max_error": ("largest error", ""),
    "final_error": ("final error", ""),
    "peak": ("peak", ""),
    "rms": ("rms", ""),
    "min": ("least", ""),
    "max": ("largest", ""),
    "final": ("final", ""),
}
"""Score -> how a table calls it and its unit; an empty unit is the signal's."""

COMPARED = ("settle_1pct_s", "settle_0p1pct_s", "overshoot_pct", "peak", "rms")
"""Scores that stand beside each other when runs are compared."""


def value_text(value: float, score: str, response: Response) -> str:
    """Return a score for a table; a time that was never reached is longer than the run."""
    if score.startswith("settle") and math.isinf(value):
        return f"> {response.t[-1]:.4g}"
    return compact(value, 3 if score.endswith(("pct", "error")) else 4)


def heading(key: str, response: Response, separator: str = ": ") -> str:
    """Return "tip: to 1 % [s]" for "tip.settle_1pct_s"."""
    signal, _, score = key.rpartition(".")
    words, unit = WORDS.get(score, (score.replace("_", " "), ""))
    end = " " if separator == ": " else separator
    return f"{signal.replace('_', ' ')}{separator}{words}{end}[{unit or response.unit(signal)}]"


def of_one(response: Response) -> Table:
    """Return every score of one run."""
    listed = table("score<", "value")
    for key, value in response.scores.items():
        listed.add_row(heading(key, response), value_text(value, key.rpartition(".")[2], response))
    return listed


def of_runs(runs: Mapping[str, Response], extra: Mapping[str, Sequence[str]] | None = None) -> Table:
    """Return the scores of several runs, one per row, idle inputs left out.

    `extra` columns come by heading, one text per run.
    """
    columns: dict[str, Response] = {}
    idle = {s.name for r in runs.values() for s in r.inputs}.difference(*(r.acting for r in runs.values()))
    for response in runs.values():
        for key in response.scores:
            signal, _, score = key.rpartition(".")
            if score in COMPARED and signal not in idle:
                columns.setdefault(key, response)
    listed = table("run<", *(heading(key, response, "\n") for key, response in columns.items()), *(extra or {}))
    for number, (label, response) in enumerate(runs.items()):
        cells = [_cell(response, key) for key in columns]
        listed.add_row(label, *cells, *(texts[number] for texts in (extra or {}).values()))
    return listed


def _cell(response: Response, key: str) -> str:
    return value_text(response.scores[key], key.rpartition(".")[2], response) if key in response.scores else ""


def of_margins(found: Mapping[str, tuple[Margins, bool]]) -> Table:
    """Return the margins of the loop on every variant of the plant."""
    heads = ("gain\nmargin\n[1]", "phase\nmargin\n[deg]", "delay\nmargin\n[ms]", "disk\nmargin\n[1]")
    listed = table("plant<", "linear\nloop<", *heads)
    for variant, (m, stable) in found.items():
        numbers = (m.gain_margin, m.phase_margin_deg, 1e3 * m.delay_margin, m.disk_margin)
        cells = [compact(x, 3) for x in numbers] if stable else [""] * 4
        listed.add_row(variant, "stable" if stable else "UNSTABLE", *cells)
    return listed


MARGINS = ("gain_margin", "gain_reduction", "phase_margin_deg", "delay_margin", "disk_margin")


def json_margins(found: Mapping[str, tuple[Margins, bool]]) -> dict[str, Any]:
    """Return stability and margins by variant of the plant; an unstable loop has no margins."""
    return {
        variant: {"stable": stable, **{key: getattr(m, key) if stable else None for key in MARGINS}}
        for variant, (m, stable) in found.items()
    }


def json_runs(runs: Mapping[str, Response]) -> dict[str, Any]:
    """Return the scores of several runs by the run's name."""
    return {label: dict(response.scores) for label, response in runs.items()}
