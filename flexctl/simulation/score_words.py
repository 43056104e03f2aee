"""How scores are called where people read them, and which of them stand beside each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .response import Response

WORDS = {
    "settle_1pct_s": ("to 1 %", "s"),
    "settle_0p1pct_s": ("to 0.1 %", "s"),
    "overshoot_pct": ("overshoot", "%"),
    "rms_error": ("rms error", ""),
    "rms_contour": ("rms contour error", ""),
    "max_contour": ("largest contour error", ""),
    "max_error": ("largest error", ""),
    "final_error": ("final error", ""),
    "residual": ("residual", ""),
    "vibration": ("vibration", ""),
    "peak": ("peak", ""),
    "rms": ("rms", ""),
    "min": ("least", ""),
    "max": ("largest", ""),
    "final": ("final", ""),
}
"""Score -> how a table calls it and its unit; an empty unit is the signal's."""
SETTLED = "settled_"


def spoken(score: str) -> tuple[str, str]:
    """Return how a score is called and its unit, empty where it is the signal's: ("to 1 %", "s")."""
    bare = score.removeprefix(SETTLED)
    words, unit = WORDS.get(bare, (bare.replace("_", " "), ""))
    return (f"{words}, settled" if bare != score else words), unit


def heading(key: str, response: Response, separator: str = ": ") -> str:
    """Return "tip: to 1 % [s]" for "tip.settle_1pct_s"."""
    signal, _, score = key.rpartition(".")
    words, unit = spoken(score)
    end = " " if separator == ": " else separator
    return f"{signal.replace('_', ' ')}{separator}{words}{end}[{unit or unit_of(response, signal)}]"


def unit_of(response: Response, signal: str) -> str:
    """Return the unit of a signal that scores are of; the tip on its path is none of the time series."""
    return "m" if signal == "tip" else response.unit(signal)


def column(key: str, units: Mapping[str, str]) -> str:
    """Return what a column of many runs is headed by, of "chord1_angle.settle_1pct_s" or of any other name: signal,
    score and unit in lines of their own."""
    signal, dot, score = key.rpartition(".")
    if not dot or score.removeprefix(SETTLED) not in WORDS:
        return key.replace("_", " ").replace(".", "\n")
    words, unit = spoken(score)
    unit = unit or units.get(signal, "")
    return f"{signal.replace('_', ' ')}\n{words}" + (f"\n[{unit}]" if unit else "")


def idle(key: str, values: Iterable[Any]) -> bool:
    """Whether these are the peaks or mean squares of an input at which nothing acts in any of many runs."""
    return key.endswith((".peak", ".rms")) and not any(values)


def active(run: Response) -> list[str]:
    """Return the scores of a run but those of inputs at which nothing ever acts."""
    idle = {signal.name for signal in run.inputs} - set(run.acting)
    return [key for key in run.scores if key.rpartition(".")[0] not in idle]


def by_signal(run: Response) -> dict[tuple[str, ...], list[str]]:
    """Return the kinds of scores that signals have -> those signals, idle inputs left out."""
    kinds: dict[str, list[str]] = {}
    for key in active(run):
        signal, _, score = key.rpartition(".")
        kinds.setdefault(signal, []).append(score)
    found: dict[tuple[str, ...], list[str]] = {}
    for signal, scores in kinds.items():
        found.setdefault(tuple(scores), []).append(signal)
    return found
