"""Linear plants and loops, as blocks of a page: Bode, Nyquist, poles, modes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...abilities import HasArm, IsLinear
from ...frequency import FrequencyResponse, frequency_response, loop_gain
from ...linear.modes import Modes
from ...model import ComplexArray, FloatArray, names
from ..films import mode_film
from ..plot.canvas import PALETTE, words
from ..plot.linear import decibel_limits
from . import page

NEAR = 5.0
"""|L| up to which a Nyquist plot is drawn."""
SLOW = 12
"""Poles near the origin that a map shows at first."""
FILMS = 6
"""Modes that are shown in motion."""
CHANNELS = 12
"""Most channels of a page; a line says how many are left out."""


def of_frequency(found: FrequencyResponse, title: str = "Frequency response") -> list[page.Block]:
    """Return magnitude and phase of every channel."""
    f, blocks, drawn = found.omega / (2.0 * np.pi), [page.heading(title)], 0
    if found.note:
        blocks.append(page.text(found.note, "quiet"))
    phases, decibels = found.phase_deg(), found.magnitude_db()
    for j, drive in enumerate(names(found.inputs)):
        loud, late = [], []
        for i, name in enumerate(names(found.outputs)):
            if drawn >= CHANNELS or not np.any(found.response[i, j]):
                continue
            called = f"{words(name)} [{found.outputs[i].unit or '1'}]"
            loud.append(page.curve(called, f, decibels[i, j], **page.one_of(i)))
            late.append(page.curve(called, f, phases[i, j], **page.one_of(i)))
            drawn += 1
        if loud:
            hertz, known = page.axis("frequency", "Hz", log=True), _known_modes(found)
            drive = f"{words(drive)} [{found.inputs[j].unit or '1'}]"
            gain = page.axis("magnitude", "dB") | _floor(f, decibels[:, j])
            blocks.append(page.charts([
                page.chart(f"{drive}: magnitude", hertz, gain, loud, modes=known),
                page.chart(f"{drive}: phase", hertz, page.axis("phase", "deg", step=45.0), late, modes=known),
            ]))
    left = int(np.any(found.response, axis=2).sum()) - drawn
    return [*blocks, page.text(f"{left} channels more are not shown.", "quiet")] if left > 0 else blocks


def _floor(f: FloatArray, decibels: FloatArray) -> dict[str, float]:
    """Return down to where magnitudes are drawn: zeros without damping reach any depth."""
    shown = [(f, y) for y in decibels if np.isfinite(y).any()]
    return {"floor": decibel_limits(shown)[0]} if f.size > 1 and shown else {}


def _known_modes(found: FrequencyResponse) -> list[dict[str, Any]]:
    """Return the flexible modes of the plant behind a response that lie in its range, numbered from the lowest."""
    if found.poles is None or not found.omega.size:
        return []
    ordered = sorted((s for s in found.poles if s.imag > 0.0), key=abs)
    every = [(k, float(abs(s)), float(-s.real / abs(s))) for k, s in enumerate(ordered, 1)]
    return [
        {"x": w / (2.0 * np.pi), "text": f"mode {k}: {w / (2.0 * np.pi):.4g} Hz, damping {zeta:.3g}"}
        for k, w, zeta in every if found.omega[0] <= w <= found.omega[-1]
    ]


def of_modes(found: Modes, plant: Any = None) -> list[page.Block]:
    """Return the table of modes and the pole map, and of an arm its first modes in motion."""
    blocks = [page.heading("Modes"), page.tabular("", found), page.charts([pole_map({"plant": found.poles})])]
    if plant is None or not isinstance(plant, HasArm) or isinstance(plant, IsLinear):
        return blocks
    arm: Any = plant
    linear, shown = arm.linearise(), range(1, min(FILMS, found.frequencies_hz.size) + 1)
    films = [film for k in shown if (film := mode_film(arm.model, arm.arm, linear, k))]
    heading = [page.heading("Shapes, not to scale")] if films else []
    return [*blocks, *heading, *([page.films(films)] if films else [])]


def pole_map(every: dict[str, ComplexArray], title: str = "Poles") -> Any:
    """Return poles in the s plane [rad/s], the upper half, each with frequency and damping."""
    series, upper = [], {name: np.asarray(s)[np.imag(s) >= 0.0] for name, s in every.items()}
    for k, (name, s) in enumerate(upper.items()):
        size = np.abs(s)
        zeta = np.divide(-s.real, size, out=np.ones_like(size), where=size > 0.0)
        texts = [
            f"{name}: {w / (2 * np.pi):.4g} Hz, damping {z:.3g}; {p.real:.4g} + {p.imag:.4g} j rad/s"
            for w, z, p in zip(size, zeta, s, strict=True)
        ]
        series.append(page.points(name, s.real, s.imag, PALETTE[k % len(PALETTE)], texts))
    real, imaginary = page.axis("real part", "rad/s"), page.axis("imaginary part", "rad/s")
    return page.chart(title, real, imaginary, series, points=True, lines=[{"x": 0.0}]) | _slow(upper)


def _slow(every: Mapping[str, ComplexArray]) -> dict[str, Any]:
    """Return what a pole map shows at first: the slowest poles, where those of filters and fast modes are far away."""
    near = np.concatenate([s[np.argsort(np.abs(s))[:SLOW]] for s in every.values()] or [np.zeros(0, complex)])
    far = max((float(np.abs(s).max()) for s in every.values() if s.size), default=0.0)
    if not near.size or far < 3.0 * float(np.abs(near).max()):
        return {}
    up = max(float(near.imag.max()), 1e-3 * far)
    most = max(float(-near.real.min()), 0.02 * up)
    right = max(float(near.real.max()), 0.0)
    view = {"x": [-1.1 * most, max(1.1 * right, 0.1 * most)], "y": [-0.06 * up, 1.1 * up]}
    return {"view": view, "title": "Poles, the slowest; double-click for all"}


def of_loop(design: Any) -> list[page.Block]:
    """Return margins, Nyquist plot and poles of the loop of a design; nothing for a law that measures nothing."""
    margins = design.margins
    if not margins:
        return []
    loop = loop_gain(design.plant, design.linear)
    rows = [
        [words(d), m.gain_margin, m.gain_reduction, m.phase_margin_deg, 1e3 * m.delay_margin, m.disk_margin]
        for d, m in margins.items()
    ]
    heads = ["loop<", "gain\nmargin", "gain\nreduction", "phase\nmargin [deg]", "delay\nmargin [ms]", "disk\nmargin"]
    state = page.text(f"The loop is {design.state}.", "good" if design.stable else "bad")
    return [
        page.heading("The linear loop on the whole plant"), state,
        page.table("", heads, rows),
        page.charts([nyquist(loop, list(margins)), pole_map({"closed loop": design.poles})], linked=False),
    ]


def nyquist(loop: Any, drives: list[str]) -> Any:
    """Return L(j omega) of each loop, cut where it is far away, with the point -1."""
    response = loop if isinstance(loop, FrequencyResponse) else frequency_response(loop)
    series = []
    for k, drive in enumerate(drives):
        i = names(response.outputs).index(drive) if drive in names(response.outputs) else k
        L = response.response[i, k]
        near = np.where(np.abs(L) < NEAR, L, np.nan)
        texts = [
            f"{words(drive)}: {f:.4g} Hz, |L| {abs(x):.3g}, {np.degrees(np.angle(x)):.4g} deg"
            for f, x in zip(response.omega / (2.0 * np.pi), L, strict=True)
        ]
        colour = PALETTE[k % len(PALETTE)]
        series.append({**page.points(words(drive), near.real, near.imag, colour, texts), "line": True})
    series.append(page.points("-1", [-1.0], [0.0], "#b42318", ["-1"], "x"))
    real, imaginary = page.axis("real part of L"), page.axis("imaginary part of L")
    return page.chart(f"Nyquist plot, |L| < {NEAR:g}", real, imaginary, series, points=True, equal=True)
