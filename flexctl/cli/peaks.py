"""The part of a response that `flexctl bode` shows: which channels, and the table of their peaks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..model import FrequencyModel, index_of, names
from .common import compact, print_table, table

if TYPE_CHECKING:
    from ..frequency import FrequencyResponse, Peak

ROWS = 40
"""Most rows in a table of peaks."""

Channels = list[tuple[str, str]]


def shown_signals(
    plant: FrequencyModel, inputs: Sequence[str], outputs: Sequence[str], everything: bool
) -> tuple[list[str], list[str]]:
    """Return the inputs and outputs to show: those named, else the drives and the main sensors."""
    from ..frequency import main_channels

    drives, sensors = (names(plant.inputs), names(plant.outputs)) if everything else main_channels(plant)
    return list(inputs) or drives, list(outputs) or sensors


def live_channels(found: FrequencyResponse, into: Sequence[str], out_of: Sequence[str]) -> Channels:
    """Return the channels (output, input) that are not zero throughout, unless there are no others."""
    pairs = [(o, i) for o in out_of for i in into]
    return [pair for pair in pairs if np.any(found.channel(*pair) != 0.0)] or pairs


def left_out(plant: FrequencyModel, found: FrequencyResponse, shown: int) -> str:
    """Return how many channels are not shown, and how to see them; empty where all are."""
    from ..frequency import frequency_response

    few = frequency_response(plant, found.omega[:: max(1, found.omega.size // 32)])
    live = int(np.sum(np.any(few.response != 0.0, axis=2)))
    return f"{shown} of {live} channels; --all shows the others" if shown < live else ""


def print_peaks(found: FrequencyResponse, channels: Channels, title: str, others: str) -> None:
    """Print the peaks of some channels, the most prominent ones if there are many, and what is left out."""
    peaks = [p for p in found.peaks() if (p.output, p.input) in channels]
    limit = sorted((p.prominence for p in peaks), reverse=True)[ROWS] if len(peaks) > ROWS else -np.inf
    kept = [p for p in peaks if p.prominence > limit] if np.isfinite(limit) else _lowest(peaks)
    listed = table("channel<", "frequency [Hz]", "magnitude [dB]", "phase [deg]")
    for channel in channels:
        for p in (p for p in kept if (p.output, p.input) == channel):
            listed.add_row(f"{p.input} → {p.output}", compact(p.frequency / (2 * np.pi), 6), *_gain(found, p))
    print_table(f"{title}: peaks of the frequency response", listed)
    for note in _notes(found, others, len(peaks), len(kept)):
        print(note)


def _lowest(peaks: Sequence[Peak]) -> list[Peak]:
    """Return the peaks of lowest frequency where all are without end, none in preference to another."""
    last = sorted(p.frequency for p in peaks)[: ROWS + 1]
    return [p for p in peaks if len(peaks) <= ROWS or p.frequency < last[-1]]


def _gain(found: FrequencyResponse, peak: Peak) -> tuple[str, str]:
    if not np.isfinite(peak.gain):
        return "undamped", ""
    i, j = index_of("output", peak.output, found.outputs), index_of("input", peak.input, found.inputs)
    near = float(np.interp(peak.frequency, found.omega, found.phase_deg()[i, j]))
    phase = np.degrees(np.angle(peak.gain))
    phase += 360.0 * round((near - phase) / 360.0)  # the turn that the curve is on
    return compact(20.0 * np.log10(abs(peak.gain))), compact(float(phase))


def _notes(found: FrequencyResponse, others: str, peaks: int, kept: int) -> list[str]:
    notes = []
    if not peaks:
        notes.append("no peak in these channels")
    if kept < peaks:
        notes.append(f"{peaks - kept} of {peaks} peaks are left out: name channels with --input and --output, or --to")
    return [*notes, *(text for text in (others, found.note) if text)]
