"""Identified models as blocks of a page: parameters or modes, measured beside model, what is left."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from ...identify import Identified, MeasuredResponse, ModalFit, Record, SubspaceFit
from ...model import ComplexArray, names
from ..plot.canvas import GREY, PALETTE, words
from . import page
from .plants import CHANNELS

ROUNDING = 1e-9
"""Part of a gain below which what is left of it is drawn as this."""


def is_identified(result: Any) -> bool:
    """Whether a result is an identified model."""
    return isinstance(result, Identified | ModalFit | SubspaceFit)


def of_identified(found: Any, data: Any) -> list[page.Block]:
    """Return what was identified, and of data (records and responses, one or several) measured beside model."""
    items = [data] if isinstance(data, Record | MeasuredResponse) else list(data or [])
    blocks: list[page.Block] = []
    if isinstance(found, Identified):
        blocks += [page.text(note) for note in found.cautions] + [page.heading("Parameters"), page.tabular("", found)]
        rows = [[a, b, value, 100.0 * found.whiteness.get((a, b), np.nan)] for (a, b), value in found.fit.items()]
        heads = ["data<", "output<", "fit [%]", "lags outside the\n99 % band [%]"]
        blocks += [page.heading("Fit"), page.table("", heads, rows)] if rows else []
    elif isinstance(found, ModalFit):
        blocks += [page.heading("Modes"), page.tabular("", found), page.charts([_stabilisation(found)], linked=False)]
        blocks += _gains(found.data, found.model, "Measured and model")
    else:
        rows = [[name, value] for name, value in found.fit.items()]
        blocks += [page.heading("Fit"), page.table("", ["output<", "fit [%]"], rows)]
        blocks += [page.heading("Modes"), page.tabular("", found)]
    for item in items:
        title = str(item.provenance.get("file", "")) or "Measured and model"
        if isinstance(item, Record) and not isinstance(found, ModalFit):
            blocks += _signals(found, item, title)
        elif isinstance(item, MeasuredResponse) and isinstance(found, Identified):
            kept = item.choose([n for n in names(item.outputs) if n in names(found.plant.model.outputs)])
            blocks += _gains(kept, found.response(kept), title)
    return blocks


def _signals(found: Identified | SubspaceFit, data: Record, title: str) -> list[page.Block]:
    """Return every output of a record over time, the model over it, and what is left."""
    if isinstance(found, Identified):
        data = data.choose(outputs=[n for n in names(data.outputs) if n in names(found.plant.model.outputs)])
    y, drawn, second = found.predict(data), [], page.axis("time", "s")
    for i, signal in enumerate(data.outputs[: CHANNELS // 2]):
        t, own, model = data.t, data.y[:, i], y[:, i]
        both = [page.curve("measured", t, own, PALETTE[0]), page.curve("model", t, model, PALETTE[1])]
        left = [page.curve("measured less model", t, own - model, PALETTE[2])]
        unit = signal.unit or "1"
        drawn += [
            page.chart(words(signal.name), second, page.axis("", unit), both),
            page.chart(f"{words(signal.name)}: what is left", second, page.axis("", unit), left),
        ]
    return [page.heading(title), page.charts(drawn)]


def _gains(data: MeasuredResponse, model: ComplexArray, title: str) -> list[page.Block]:
    """Return the size and phase of every channel, the model over the lines, deviation and what is left."""
    f, drawn, hertz = data.omega / (2.0 * np.pi), [], page.axis("frequency", "Hz", log=True)
    for i, k in list(product(range(len(data.outputs)), range(len(data.inputs))))[: CHANNELS // 2]:
        H, G = data.response[i, k], model[i, k]
        sizes = [
            page.curve("measured", f, np.abs(H), PALETTE[0]), page.curve("model", f, np.abs(G), PALETTE[1]),
            # rounding of lines without noise, or zero, would be most of a picture
            page.curve("what is left", f, np.maximum(np.abs(H - G), ROUNDING * np.abs(H)), PALETTE[2]),
        ]
        if np.isfinite(data.sigma[i, k]).all():
            sizes.append(page.curve("standard deviation", f, data.sigma[i, k], GREY, dash=1))
        phases = [
            page.curve(word, f, np.degrees(np.angle(x)), colour)
            for word, x, colour in (("measured", H, PALETTE[0]), ("model", G, PALETTE[1]))
        ]
        y, u = data.outputs[i], data.inputs[k]
        name, unit = f"{words(u.name)} to {words(y.name)}", f"{y.unit or '1'}/({u.unit or '1'})"
        drawn += [
            page.chart(name, hertz, page.axis("gain", unit, log=True), sizes),
            page.chart(f"{name}: phase", hertz, page.axis("phase", "deg", step=45.0), phases),
        ]
    return [page.heading(title), page.charts(drawn)]


def _stabilisation(found: ModalFit) -> Any:
    """Return the poles of every order over frequency; filled where the order before has them too."""
    series = []
    for word, colour, mark, which in (("new", GREY, "o", False), ("as at the order before", PALETTE[0], "dot", True)):
        x, y, texts = [], [], []
        for order in found.orders:
            for pole, same in zip(order.poles, order.stable, strict=True):
                if bool(same) is which and pole.imag > 0.0:
                    x.append(abs(pole) / (2.0 * np.pi))
                    y.append(float(order.pairs))
                    texts.append(f"{x[-1]:.5g} Hz, damping {-pole.real / abs(pole):.3g}, {order.pairs} pole pairs")
        series.append(page.points(word, x, y, colour, texts, mark))
    lines = [{"x": float(f)} for f, pole in zip(found.frequencies_hz, found.poles, strict=True) if pole.imag > 0.0]
    axes = page.axis("frequency", "Hz", log=True), page.axis("pole pairs", step=1.0)
    return page.chart("Poles over orders; dashed: the model", *axes, series, points=True, lines=lines)
