"""The picture of a certificate: damping, robustness, encoders, linear validity, the nominal run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...judging.certify import Certificate


def certificate(found: Certificate, *, path: str | Path | None = None, title: str = "") -> Figure:
    """Draw the findings of a certificate: the panels that have something to show."""
    from . import canvas

    arm = f"{found.plant} ({found.identity['model']})"
    heading = title or f"{found.controller} on {arm}: {'passed' if found.passed else 'NOT passed'}"
    panels = [draw for draw, shown in _panels(found) if shown]
    rows = max(1, (len(panels) + 1) // 2)
    with canvas.styled():
        figure, grid = canvas.panels(None, (rows, 2), (8.0, 1.0 + 2.6 * rows), heading)
        for draw, ax in zip(panels, grid.flat, strict=False):
            draw(ax, found)
            canvas.legend_on_top(ax, 3.8)
        for ax in grid.flat[len(panels) :]:
            ax.remove()
        return canvas.finish(figure, path)


def _panels(found: Certificate) -> list[tuple[Callable[[Any, Certificate], None], bool]]:
    """Return what draws each panel, and whether it has anything to draw."""
    loops = bool(found.loops)
    return [
        (_poles, loops), (_spillover, loops), (_grid, any(p.loop for p in found.points)),
        (_bound, not isinstance(found.bound, str) and bool(np.isfinite(found.bound.mu).any())),
        (_bits, any(not q.failure for q in found.quantised)),
        (_amplitude, found.validity is not None), (_run, bool(found.responses)), (_command, bool(found.responses)),
        (_strain, bool(_strains(found))),
    ]


def _poles(ax: Any, found: Certificate) -> None:
    from . import canvas

    for number, loop in enumerate(found.loops):
        s = loop.poles[loop.poles.imag > 1e-9 * np.abs(loop.poles)]
        ax.plot(np.abs(s) / (2 * np.pi), -s.real / np.abs(s), **_markers(number, loop.variant))
    ax.set(xscale="log", xlabel="frequency of the closed-loop pole [Hz]", ylabel="damping ratio [1]")
    if all(loop.least_damped[0] > 0.0 for loop in found.loops):
        ax.set(yscale="log", ylim=(None, 1.3))
    else:
        ax.set_yscale("symlog", linthresh=1e-3)
        ax.axhline(0.0, color=canvas.GREY, linewidth=0.8)


def _markers(number: int, variant: str) -> dict[str, Any]:
    from . import canvas

    shape, colour = ("o", "s", "^", "v")[number % 4], canvas.PALETTE[number % 7]
    return {"color": colour, "marker": shape, "linestyle": "", "markersize": 3.5, "label": variant or "nominal"}


def _spillover(ax: Any, found: Certificate) -> None:
    from . import canvas

    for number, loop in enumerate(found.loops):
        s = loop.spillover
        ax.plot(s.frequencies_hz, s.after - s.before, **_markers(number, loop.variant))
    ax.set(xlabel="natural frequency of the plant [Hz]", ylabel="damping gained by the law [1]")
    ax.margins(y=0.15)
    ax.set_xscale("log")
    ax.set_yscale("symlog", linthresh=1e-4)
    ax.axhline(0.0, color=canvas.GREY, linewidth=0.8)


def _grid(ax: Any, found: Certificate) -> None:
    """Draw the disk margin over the payload, a line for each stiffness; over the stiffness if one payload is tried."""
    from . import canvas

    payloads = sorted({p.payload or 0.0 for p in found.points})
    alone = len(payloads) == 1
    lines = payloads if alone else sorted({p.frequency for p in found.points})
    for number, value in enumerate(lines):
        points = [p for p in found.points if p.loop is not None and (alone or p.frequency == value)]
        at = np.array([100 * p.frequency if alone else 1e3 * (p.payload or 0.0) for p in points])
        disk = np.array([p.loop.smallest("disk_margin") if p.loop else np.nan for p in points])
        look, label = canvas.style(number), None if alone else f"frequencies {100 * value:+g} %"
        ax.plot(at, disk, marker="o", markersize=3.5, label=label, **look)
        bad = np.array([not p.stable for p in points], bool)
        ax.plot(at[bad], disk[bad], "x", color=look["color"], markersize=9, markeredgewidth=2)
    for limit in found.limits:
        if not alone and limit.what == "payload_kg" and limit.reached and limit.value < 2.0 * payloads[-1]:
            look = {"color": canvas.GREY, "linestyle": ":", "label": "limit of stability, nominal stiffness"}
            ax.axvline(1e3 * limit.value, **look)
    what = "change of all natural frequencies [%]" if alone else "payload [g]"
    top = max((p.loop.smallest("disk_margin") for p in found.points if p.loop), default=0.0)
    ax.set(xlabel=f"{what}, crosses are unstable", ylabel="disk margin [1]", ylim=(-0.02, 1.15 * max(top, 0.1)))


def _bound(ax: Any, found: Certificate) -> None:
    from . import canvas

    if isinstance(found.bound, str):
        raise TypeError(found.bound)
    ax.plot(found.bound.omega / (2 * np.pi), found.bound.mu, **canvas.style(0))
    ax.axhline(1.0, color=canvas.GREY, linestyle=":")
    ax.plot(found.bound.frequency / (2 * np.pi), found.bound.lower, "o", color=canvas.PALETTE[0], markersize=4)
    if found.bound.unstable is None:
        look = {"color": canvas.PALETTE[1], "linestyle": "--", "label": "bound, whatever the payload"}
        ax.axhline(found.bound.largest, **look)
    ax.set(xscale="log", xlabel="frequency [Hz]", ylabel="mu attained at the payloads\ntried, 30 % at a command [1]")


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
        raise TypeError("no runs to compare with the prediction")
    shown = np.isfinite(valid.deviation)
    ax.loglog(valid.amplitudes[shown], np.maximum(valid.deviation[shown], 1e-12), marker="o", **canvas.style(0))
    hit = shown & valid.saturated
    if hit.any():
        ax.plot(valid.amplitudes[hit], valid.deviation[hit], "s", color=canvas.PALETTE[1], label="command at its limit")
    ax.axhline(0.05, color=canvas.GREY, linestyle=":", label="parted: 5 %")
    ax.set_xticks(valid.amplitudes, [f"{a:g}" for a in valid.amplitudes], minor=False)
    ax.set_xticks([], minor=True)
    label = "deviation from the linear\nprediction [fraction of the move]"
    top = max(0.1, 2.0 * float(valid.deviation[shown].max(initial=0.0)))
    ax.set(xlabel="times the move", ylabel=label, ylim=(None, top))


def _run(ax: Any, found: Certificate) -> None:
    for number, name in enumerate(_followed(found)[:3]):
        _both(ax, found, name, number)


def _command(ax: Any, found: Certificate) -> None:
    known = {signal.name for run in found.responses.values() for signal in run.inputs}
    for number, name in enumerate([drive for drive in found.drives if drive in known][:3]):
        _both(ax, found, name, number)


def _strain(ax: Any, found: Certificate) -> None:
    for number, name in enumerate(_strains(found)[:3]):
        _both(ax, found, name, number)


def _strains(found: Certificate) -> list[str]:
    run = found.responses.get("full") or found.responses.get("linear")
    return [] if run is None else [signal.name for signal in run.outputs if signal.unit == "1"]


def _followed(found: Certificate) -> list[str]:
    run = found.responses.get("full") or found.responses.get("linear")
    if run is None:
        return []
    known = [signal.name for signal in run.outputs]
    followed = [signal.name for signal in run.references if signal.name in known]
    shaken = [name for name in followed if f"{name}.vibration" in run.scores]
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
        moved = name not in found.drives
        if name in found.drives:
            step_lines(ax, run.t, run[name], **look)
        else:
            ax.plot(run.t, run[name] - run[name][0], **look)  # the prediction counts from the operating point
        label = f"since the start [{run.unit(name)}]" if moved else f"[{run.unit(name)}]"
        ax.set(xlabel="time [s]", ylabel=label, xlim=(0.0, run.t[-1]))
