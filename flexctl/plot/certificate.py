"""The picture of a certificate: damping, robustness, encoders, linear validity, the nominal run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..certify import Certificate
    from ..certify.robust import Point


def certificate(found: Certificate, *, path: str | Path | None = None, title: str = "") -> Figure:
    """Draw what was found of a controller, eight panels; a panel without data says so."""
    from . import canvas

    heading = title or f"{found.controller} on {found.plant}: {'passed' if found.passed else 'NOT passed'}"
    with canvas.styled():
        figure, grid = canvas.panels(None, (4, 2), (10.5, 13.0), heading)
        panels = (_poles, _spillover, _grid, _bound, _bits, _amplitude, _run, _command)
        for draw, ax in zip(panels, grid.flat, strict=True):
            draw(ax, found)
            if not ax.has_data():
                ax.text(0.5, 0.5, "not available", ha="center", transform=ax.transAxes, color=canvas.GREY)
            canvas.legend_on_top(ax, 5.0)
        return canvas.finish(figure, path)


def _poles(ax: Any, found: Certificate) -> None:
    from . import canvas

    for number, loop in enumerate(found.loops):
        s = loop.poles[loop.poles.imag > 1e-9 * np.abs(loop.poles)]
        look = {"color": canvas.PALETTE[number % 7], "label": loop.variant or "nominal", "linestyle": ""}
        ax.plot(np.abs(s) / (2 * np.pi), -s.real / np.abs(s), ("o", "s", "^", "v")[number % 4], markersize=3.5, **look)
    ax.set(xscale="log", xlabel="frequency of the closed-loop pole [Hz]", ylabel="damping ratio [1]")
    if all(loop.least_damped[0] > 0.0 for loop in found.loops):
        ax.set(yscale="log", ylim=(None, 1.3))
    else:
        ax.set_yscale("symlog", linthresh=1e-3)
        ax.axhline(0.0, color=canvas.GREY, linewidth=0.8)


def _spillover(ax: Any, found: Certificate) -> None:
    from . import canvas

    for number, loop in enumerate(found.loops):
        s, colour = loop.spillover, canvas.PALETTE[number % 7]
        look = {"color": colour, "marker": "o", "markersize": 3, "label": loop.variant or "nominal"}
        ax.plot(s.frequencies_hz, s.after - s.before, **look)
    ax.set(xlabel="natural frequency of the plant [Hz]", ylabel="damping gained by the law [1]")
    ax.set_xscale("log")
    ax.set_yscale("symlog", linthresh=1e-4)
    ax.axhline(0.0, color=canvas.GREY, linewidth=0.8)


def _grid(ax: Any, found: Certificate) -> None:
    from . import canvas

    if len({p.payload for p in found.points}) == 1:
        _over_frequency(ax, [p for p in found.points if p.loop is not None])
        return
    for number, change in enumerate(sorted({p.frequency for p in found.points})):
        points = [p for p in found.points if p.frequency == change and p.loop is not None]
        mass = np.array([1e3 * (p.payload or 0.0) for p in points])
        disk = np.array([p.loop.smallest("disk_margin") if p.loop else np.nan for p in points])
        look = canvas.style(number)
        ax.plot(mass, disk, marker="o", markersize=3.5, label=f"frequencies {100 * change:+g} %", **look)
        bad = np.array([not p.stable for p in points], bool)
        ax.plot(mass[bad], disk[bad], "x", color=look["color"], markersize=9, markeredgewidth=2)
    largest = max((p.payload or 0.0 for p in found.points), default=0.0)
    for limit in found.limits:
        if limit.what == "payload_kg" and limit.reached and limit.value < 2.0 * largest:
            look = {"color": canvas.GREY, "linestyle": ":", "label": "limit of stability, nominal stiffness"}
            ax.axvline(1e3 * limit.value, **look)
    ax.set(xlabel="payload [g], crosses are unstable", ylabel="disk margin [1]", ylim=(-0.02, None))


def _over_frequency(ax: Any, points: Sequence[Point]) -> None:
    from . import canvas

    x = np.array([100 * p.frequency for p in points])
    disk = np.array([p.loop.smallest("disk_margin") if p.loop else np.nan for p in points])
    ax.plot(x, disk, marker="o", markersize=3.5, **canvas.style(0))
    bad = np.array([not p.stable for p in points], bool)
    ax.plot(x[bad], disk[bad], "x", color=canvas.PALETTE[0], markersize=9, markeredgewidth=2)
    top = 1.1 * float(np.nanmax(disk, initial=0.0)) or None
    told = "change of natural frequencies [%], crosses are unstable"
    ax.set(xlabel=told, ylabel="disk margin [1]", ylim=(-0.02, top))


def _bound(ax: Any, found: Certificate) -> None:
    from . import canvas

    if isinstance(found.bound, str):
        return
    ax.plot(found.bound.omega / (2 * np.pi), found.bound.mu, **canvas.style(0))
    ax.axhline(1.0, color=canvas.GREY, linestyle=":")
    ax.set(xscale="log", xlabel="frequency [Hz]", ylabel="bound of the structured\nsingular value [1]")


def _bits(ax: Any, found: Certificate) -> None:
    from . import canvas

    good = [q for q in found.quantised if not q.failure]
    for number, drive in enumerate(found.drives):
        values = [q.ripple[drive] for q in good]
        if values:
            ax.semilogy([q.bits for q in good], values, marker="o", label=canvas.words(drive), **canvas.style(number))
    ax.set(xlabel="encoder resolution [bits per turn]", ylabel="ripple of the command\nat the end of the run")


def _amplitude(ax: Any, found: Certificate) -> None:
    from . import canvas

    valid = found.validity
    if valid is None:
        return
    shown = np.isfinite(valid.deviation)
    ax.loglog(valid.amplitudes[shown], np.maximum(valid.deviation[shown], 1e-12), marker="o", **canvas.style(0))
    hit = shown & valid.saturated
    if hit.any():
        ax.plot(valid.amplitudes[hit], valid.deviation[hit], "s", color=canvas.PALETTE[1], label="command at its limit")
    ax.axhline(0.05, color=canvas.GREY, linestyle=":", label="parted: 5 %")
    ax.set_xticks(valid.amplitudes, [f"{a:g}" for a in valid.amplitudes], minor=False)
    ax.set_xticks([], minor=True)
    ax.set(xlabel="times the move", ylabel="deviation from the linear\nprediction [parts of the move]")


def _run(ax: Any, found: Certificate) -> None:
    for number, name in enumerate(_followed(found)[:3]):
        _both(ax, found, name, number)


def _command(ax: Any, found: Certificate) -> None:
    for number, name in enumerate(found.drives[:3]):
        _both(ax, found, name, number)


def _followed(found: Certificate) -> list[str]:
    run = found.responses.get("full") or found.responses.get("linear")
    if run is None:
        return []
    known = [signal.name for signal in run.outputs]
    followed = [signal.name for signal in run.references if signal.name in known]
    shaken = [name for name in followed if f"{name}.residual" in run.scores]
    return [name for name in shaken or followed if run.unit(name) == run.unit((shaken or followed)[0])] or known[:1]


def _both(ax: Any, found: Certificate, name: str, line: int) -> None:
    from . import canvas
    from .runs import step_lines

    for number, (kind, what) in enumerate((("full", "full model"), ("linear", "linear, no limits"))):
        run = found.responses.get(kind)
        if run is None:
            continue
        look = {"color": canvas.PALETTE[2 * line + number], "linestyle": canvas.DASHES[number]}
        look["label"] = f"{canvas.words(name)}, {what}"
        if name in found.drives:
            step_lines(ax, run.t, run[name], **look)
        else:  # the prediction counts from where the run begins
            ax.plot(run.t, run[name] - run[name][0], **look)
        change = "" if name in found.drives else "change "
        ax.set(xlabel="time [s]", ylabel=f"{change}[{run.unit(name)}]", xlim=(0.0, run.t[-1]))
