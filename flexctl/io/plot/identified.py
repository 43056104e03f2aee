"""Pictures of measurements and of models identified from them."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import require
from ...identify import Excitation, Identified, MeasuredResponse, ModalFit, Record, SubspaceFit
from ...model import ComplexArray, FloatArray, names

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 12
"""Most signals or channels in one picture."""


def record(data: Record, *, path: str | Path | None = None, title: str = "") -> Figure:
    """Draw inputs and outputs of a record over time."""
    from . import canvas

    signals = [*zip(data.inputs, data.u.T, strict=True), *zip(data.outputs, data.y.T, strict=True)][:MOST]
    with canvas.styled():
        size = (7.2, 1.5 * len(signals) + 0.6)
        figure, grid = canvas.panels(None, (len(signals), 1), size, title, sharex=True)
        for row, (ax, (signal, x)) in enumerate(zip(grid[:, 0], signals, strict=True)):
            draw = "steps-post" if row < len(data.inputs) and data.held else "default"
            ax.plot(data.t, x, linewidth=0.8, drawstyle=draw, **_colour(0 if row < len(data.inputs) else 1))
            ax.set_ylabel(canvas.labelled(signal.name, signal.unit or "1"), fontsize=8)
        grid[-1, 0].set_xlabel("time [s]")
        figure.align_ylabels()
        return canvas.finish(figure, path)


def excitation(made: Excitation, *, path: str | Path | None = None, title: str = "") -> Figure:
    """Draw an excitation over time and its lines over frequency."""
    from . import canvas

    with canvas.styled():
        figure, grid = canvas.panels(None, (2, 1), (7.2, 4.6), title)
        top, bottom = grid[:, 0]
        top.plot(made.t, made.u, linewidth=0.7, drawstyle="steps-post", **_colour(0))
        top.set_xlabel("time [s]")
        top.set_ylabel(canvas.labelled(made.signal.name, made.signal.unit or "1"))
        top.set_title(f"crest factor {made.crest:.3f}")
        count = made.period or made.t.size
        size = 2.0 * np.abs(np.fft.rfft(made.u[-count:])) / count
        f = np.fft.rfftfreq(count, made.dt)
        shown = (f > 0.0) & (size > 1e-6 * size.max())
        bottom.plot(f[shown], size[shown], "." if made.period else "-", markersize=2.5, **_colour(1))
        bottom.set_ylim(0.0, 1.1 * size[shown].max())
        _hertz(bottom)
        bottom.set_ylabel(f"amplitude [{made.signal.unit or '1'}]")
        return canvas.finish(figure, path)


def frequency_fit(
    data: MeasuredResponse, model: ComplexArray | None = None, *, path: str | Path | None = None, title: str = ""
) -> Figure:
    """Draw measured gains with their standard deviation, a model beside them, and what is left.

    Parameters
    ----------
    data : MeasuredResponse
        The measurement.
    model : ndarray, optional
        The model at its lines.
    path : path, optional
        File to write.
    title : str
        Above the picture.
    """
    from . import canvas

    pairs = list(product(range(len(data.outputs)), range(len(data.inputs))))[:MOST]
    hertz = data.omega / (2.0 * np.pi)
    with canvas.styled():
        ratios = {"height_ratios": [2.0, 1.0, 0.8]}
        figure, grid = canvas.panels(
            None, (3, len(pairs)), (max(6.4, 4.0 * len(pairs)), 6.6), title, sharex=True, gridspec_kw=ratios
        )
        for column, (i, k) in enumerate(pairs):
            _gain(grid[:, column], hertz, data, model, i, k)
        canvas.legend_below(figure, grid)
        figure.align_ylabels()
        return canvas.finish(figure, path)


def _gain(axes: Any, hertz: FloatArray, data: MeasuredResponse, model: ComplexArray | None, i: int, k: int) -> None:
    from . import canvas

    top, middle, bottom = axes
    H, sigma = data.response[i, k], data.sigma[i, k]
    top.loglog(hertz, np.abs(H), ".", markersize=2.5, label="measured", **_colour(0))
    if np.isfinite(sigma).any():
        top.loglog(hertz, sigma, linewidth=0.7, color=canvas.GREY, label="standard deviation")
    middle.semilogx(hertz, np.degrees(np.angle(H)), ".", markersize=2.5, **_colour(0))
    if model is not None:
        top.loglog(hertz, np.abs(model[i, k]), linewidth=1.2, label="model", **_colour(1))
        middle.semilogx(hertz, np.degrees(np.angle(model[i, k])), linewidth=1.0, **_colour(1))
        bottom.loglog(hertz, np.abs(H - model[i, k]), ".", markersize=2.0, label="residual", **_colour(2))
        if np.isfinite(sigma).any():
            bottom.loglog(hertz, sigma, linewidth=0.7, color=canvas.GREY)
        bottom.set_ylabel("|residual|")
    else:
        bottom.semilogx(hertz, data.coherence[i], linewidth=1.0, **_colour(2))
        bottom.set_ylim(0.0, 1.05)
        bottom.set_ylabel("coherence")
    y, u = data.outputs[i], data.inputs[k]
    top.set_title(f"{canvas.words(u.name)} to {canvas.words(y.name)}")
    top.set_ylabel(f"gain [{y.unit or '1'}/({u.unit or '1'})]")
    middle.set_ylabel("phase [deg]")
    middle.set_ylim(-185.0, 185.0)
    middle.set_yticks([-180, -90, 0, 90, 180])
    _hertz(bottom)


def _hertz(ax: Any) -> None:
    """Give an axes a logarithmic axis of frequencies with plain numbers at 1, 2 and 5."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_xlabel("frequency [Hz]")


def stabilisation(fit: ModalFit, *, path: str | Path | None = None, title: str = "") -> Figure:
    """Draw the poles of every order over frequency, and those of the chosen one with ellipses."""
    from . import canvas

    with canvas.styled():
        figure, grid = canvas.panels(None, (1, 2), (8.0, 4.2), title)
        left, right = grid[0]
        hertz = fit.data.omega / (2.0 * np.pi)
        size = np.abs(fit.data.response).reshape(-1, hertz.size)
        behind = left.twinx()
        behind.semilogy(
            hertz,
            size.mean(axis=0) if len(size) == 1 else np.exp(np.log(size + 1e-300).mean(axis=0)),
            color="#bbbbbb",
            linewidth=0.8,
        )
        behind.yaxis.set_visible(False)
        for order in fit.orders:
            pairs = order.poles.imag > 0.0
            f, stable = np.abs(order.poles[pairs]) / (2.0 * np.pi), np.asarray(order.stable)[pairs]
            level = np.full(f.size, order.pairs)
            left.plot(f[~stable], level[~stable], "x", markersize=4, label="new", **_colour(1))
            left.plot(f[stable], level[stable], "o", markersize=4, label="stable", **_colour(0))
        _hertz(left)
        left.set_xlim(hertz[0], hertz[-1])
        left.set_zorder(behind.get_zorder() + 1)
        left.patch.set_visible(False)
        left.set_ylabel("pole pairs")
        left.set_title("stabilisation: frequency to 1 %, damping to 5 %")
        canvas.legend_below(figure, left)
        _ellipses(right, fit)
        return canvas.finish(figure, path)


def _ellipses(ax: Any, fit: ModalFit) -> None:
    """Draw damping over frequency of the poles, with ellipses of two standard deviations."""
    swinging = fit.poles.imag > 0.0  # real poles have no place beside them
    f, zeta = fit.frequencies_hz[swinging], fit.damping[swinging]
    ax.plot(f, 100.0 * zeta, "o", markersize=4, **_colour(0))
    turn = np.linspace(0.0, 2.0 * np.pi, 60)
    for k, p in enumerate(fit.poles):
        if not swinging[k] or not np.isfinite(fit.covariance[k]).all():
            continue
        w, V = np.linalg.eigh(fit.covariance[k])
        around = p + 2.0 * (
            np.array([1.0, 1j]) @ (V * np.sqrt(np.maximum(w, 0.0))) @ np.array([np.cos(turn), np.sin(turn)])
        )
        ax.plot(np.abs(around) / (2.0 * np.pi), -100.0 * around.real / np.abs(around), linewidth=1.0, **_colour(1))
    _hertz(ax)
    ax.set_xlim(*(fit.data.omega[[0, -1]] / (2.0 * np.pi)))
    ax.set_ylim(bottom=0.0)
    ax.set_ylabel("damping [%]")
    ax.set_title("poles, ellipses of two standard deviations")


def time_fit(
    found: Identified | SubspaceFit, data: Record, *, path: str | Path | None = None, title: str = ""
) -> Figure:
    """Draw the measured outputs of a record, the model beside them, and what is left."""
    from . import canvas

    if isinstance(found, Identified):
        kept = [n for n in names(data.outputs) if n in names(found.plant.model.outputs)]
        data = data.choose(outputs=kept)
    y = found.predict(data)
    count = min(len(data.outputs), MOST // 2)
    require(count > 0, "the record has no output of the model")
    with canvas.styled():
        figure, grid = canvas.panels(
            None,
            (2 * count, 1),
            (8.0, 2.6 * count + 0.8),
            title,
            sharex=True,
            gridspec_kw={"height_ratios": [2.0, 1.0] * count},
        )
        for i, signal in enumerate(data.outputs[:count]):
            top, bottom = grid[2 * i, 0], grid[2 * i + 1, 0]
            part = 100.0 * (
                1.0 - np.linalg.norm(data.y[:, i] - y[:, i]) / np.linalg.norm(data.y[:, i] - data.y[:, i].mean())
            )
            top.plot(data.t, data.y[:, i], linewidth=0.9, label="measured", **_colour(0))
            top.plot(data.t, y[:, i], linewidth=0.9, label="model", **_colour(1))
            top.set_ylabel(canvas.labelled(signal.name, signal.unit or "1"), fontsize=8)
            top.set_title(f"{canvas.words(signal.name)}: fit {part:.2f} %", fontsize=9)
            bottom.plot(data.t, data.y[:, i] - y[:, i], linewidth=0.7, label="residual", **_colour(2))
            bottom.set_ylabel("residual", fontsize=8)
        grid[-1, 0].set_xlabel("time [s]")
        canvas.legend_below(figure, grid)
        figure.align_ylabels()
        return canvas.finish(figure, path)


def _colour(number: int) -> dict[str, Any]:
    from . import canvas

    return {"color": canvas.PALETTE[number]}
