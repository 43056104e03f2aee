"""Scores and margins as tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..simulation.response import Response, error_numbers
from ..simulation.score_words import active, by_signal, heading, spoken, unit_of
from .common import compact, table

if TYPE_CHECKING:
    from rich.table import Table

    from ..frequency import Margins
    from ..simulation.path_stability import PathStability

COMPARED = ("settle_1pct_s", "settle_0p1pct_s", "overshoot_pct", "residual", "vibration", "peak", "rms")
"""Scores that stand beside each other when runs are compared."""


def value_text(value: float, score: str, response: Response) -> str:
    """Return a score for a table; a time that was never reached is longer than the run."""
    if score.startswith("settle") and math.isinf(value):
        return f"> {response.t[-1]:.4g}"
    return compact(value, 3 if score.endswith(("pct", "error", "residual", "vibration")) else 4)


def of_one(response: Response) -> dict[str, Table]:
    """Return every score of one run by title, a row for each signal; signals with the same scores share a table."""
    inputs, found = {signal.name for signal in response.inputs}, {}
    for scores, signals in by_signal(response).items():
        title = "Inputs" if inputs >= set(signals) else "Outputs" if "min" in scores else "Followed"
        heads = [f"{words} [{unit}]" if unit else words for words, unit in map(spoken, scores)]
        errors = [error_text(response, signal) for signal in signals]
        listed = table("signal<", "unit<", *heads, *(["error of the run"] if any(errors) else []))
        for signal, error in zip(signals, errors, strict=True):
            cells = [value_text(response.scores[f"{signal}.{score}"], score, response) for score in scores]
            listed.add_row(
                signal.replace("_", " "), unit_of(response, signal), *cells, *([error] if any(errors) else [])
            )
        found[title if title not in found else f"{title}: {', '.join(map(str, signals))}"] = listed
    return found


def error_text(response: Response, signal: str) -> str:
    """Return the estimated error of an output, empty where there is none."""
    error = response.error.get(signal, math.nan)
    return f"+- {error:.1g}" if math.isfinite(error) and error > 0.0 else ""


def of_runs(runs: Mapping[str, Response], extra: Mapping[str, Sequence[str]] | None = None) -> Table:
    """Return the scores of several runs, one per row, idle inputs left out.

    `extra` columns come by heading, one text per run.
    """
    columns: dict[str, Response] = {}
    for response in runs.values():
        for key in active(response):
            if key.rpartition(".")[2] in COMPARED:
                columns.setdefault(key, response)
    listed = table("run<", *(heading(key, response, "\n") for key, response in columns.items()), *(extra or {}))
    for number, (label, response) in enumerate(runs.items()):
        cells = [cell(response, key) for key in columns]
        listed.add_row(label, *cells, *(texts[number] for texts in (extra or {}).values()))
    return listed


def times_less(runs: Mapping[str, Response], ratios: Mapping[str, Mapping[str, float]]) -> dict[str, list[str]]:
    """Return columns of how many times less is left of the motion than in the run that each stands against."""
    return {
        f"{signal.replace('_', ' ')}\nless by\n[1]": [factor(ratios.get(name, {}), signal) for name in runs]
        for signal in dict.fromkeys(signal for found in ratios.values() for signal in found)
    }


def factor(ratios: Mapping[str, float], signal: str) -> str:
    """Return "19.3x", empty where there is no ratio."""
    return times(ratios[signal]) if signal in ratios else ""


def times(ratio: float) -> str:
    """Return "19.3x" or "1987x"."""
    return f"{ratio:.0f}x" if ratio >= 100 else f"{ratio:.3g}x"


TRACKED = {
    "rms\nx": ("tip_x.rms_error", 1e3), "rms\ny": ("tip_y.rms_error", 1e3), "largest": ("tip.max_error", 1e3),
    "settled\nrms x": ("tip_x.settled_rms_error", 1e3), "settled\nrms y": ("tip_y.settled_rms_error", 1e3),
    "settled\nlargest": ("tip.settled_max_error", 1e3), "settled rms\ncontour": ("tip.settled_rms_contour", 1e3),
    "largest\ncontour": ("tip.settled_max_contour", 1e3),
    "peak\ntau 1": ("joint1_torque.peak", 1.0), "peak\ntau 2": ("joint2_torque.peak", 1.0),
    "bent\nlink 1": ("link1_deflection.peak", 1e3), "bent\nlink 2": ("link2_deflection.peak", 1e3),
    "to\n0.1 %": ("tip.settle_0p1pct_s", 1.0),
}
"""Heading -> score of a run along a path, and the factor to its unit: mm, N m, s."""


def of_tracks(runs: Mapping[str, Response]) -> Table:
    """Return the scores of runs in which the tip follows a path, one per row."""
    units = {key: {"x": "N m", "s": "s"}.get(_kind(score), "mm") for key, (score, _) in TRACKED.items()}
    heads = [f"{key if chr(10) in key else chr(10) + key}\n[{units[key]}]" for key in TRACKED]
    listed = table("run<", *heads, "real\ntime\n[1]")
    for label, response in runs.items():
        cells = []
        for score, factor in TRACKED.values():
            value = response.scores.get(score)
            late = value is not None and math.isinf(value)
            cells.append(f"> {response.t[-1]:.4g}" if late else compact(None if value is None else factor * value, 3))
        speed = response.provenance.get("real_time_factor")
        listed.add_row(label, *cells, "" if speed is None else f"{float(speed):.0f}x")
    return listed


def _kind(score: str) -> str:
    return "x" if "torque" in score else score[-1] if score.endswith("_s") else ""


def of_stability(found: Mapping[str, PathStability]) -> Table:
    """Return what grows most along the path, run by run."""
    listed = table("run<", "linear loop\non the path<", "growth\n[1/s]", "frequency\n[Hz]", "in the pose of\n[s]")
    for label, item in found.items():
        k = int(item.growth.argmax())
        numbers = (f"{item.growth[k]:+.3g}", compact(float(item.frequency[k])), compact(float(item.times[k])))
        listed.add_row(label, "stable" if item.stable else "UNSTABLE", *numbers)
    return listed


def json_stability(found: Mapping[str, PathStability]) -> dict[str, Any]:
    """Return stability along the path by run: largest growth [1/s], its frequency [Hz] and the time of its pose [s]."""
    result = {}
    for label, item in found.items():
        k = int(item.growth.argmax())
        numbers = (item.growth[k], item.frequency[k], item.times[k])
        keys = ("growth_per_s", "frequency_hz", "time_s")
        result[label] = {"stable": item.stable, **{key: float(x) for key, x in zip(keys, numbers, strict=True)}}
    return result


def cell(response: Response, key: str) -> str:
    """Return one score of a run, empty where it has none."""
    return value_text(response.scores[key], key.rpartition(".")[2], response) if key in response.scores else ""


def of_margins(found: Mapping[str, tuple[Margins, bool]]) -> Table:
    """Return the margins of the loop on every variant of the plant."""
    heads = ("gain\nmargin\n[1]", "phase\nmargin\n[deg]", "delay\nmargin\n[ms]", "disk\nmargin\n[1]")
    listed = table("plant<", "linear\nloop<", *heads)
    for variant, (m, stable) in found.items():
        numbers = (m.gain_margin, m.phase_margin_deg, 1e3 * m.delay_margin, m.disk_margin)
        cells = [compact(x, 3) for x in numbers] if stable else [""] * 4
        listed.add_row(variant, "stable" if stable else "NOT STABLE", *cells)
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


def json_errors(runs: Mapping[str, Response]) -> dict[str, Any]:
    """Return the estimated error of every output [its unit] by the run's name; null where there is none."""
    return {label: error_numbers(response) for label, response in runs.items()}
