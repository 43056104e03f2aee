"""Pictures of an observer along a run: estimates beside what was recorded, innovations, loads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...design.observer import Estimates


def estimates(found: Estimates, *, axes: Any = None, path: str | Path | None = None, title: str = "") -> Figure:
    """Draw estimates with what the run recorded, their errors, the innovations and the loads; a panel for each.

    Parameters
    ----------
    found : Estimates
        From `Observer.over`.
    """
    from . import canvas

    panels: list[tuple[str, str, list[tuple[str, Any]]]] = []
    for i, signal in enumerate(found.outputs):
        truth = found.truth[:, i]
        known = not np.isnan(truth).any()
        recorded = [("recorded", truth)] if known else []
        panels.append((signal.name, signal.unit, [("estimated", found.values[:, i]), *recorded]))
        if known:
            panels.append((f"error of {signal.name}", signal.unit, [("", found.values[:, i] - truth)]))
    readings = enumerate(found.measures)
    panels += [(f"innovation of {s.name}", s.unit, [("", found.innovations[:, i])]) for i, s in readings]
    loads = found.inputs[: found.loads.shape[1]]
    panels += [(f"load at {s.name}", s.unit, [("", found.loads[:, i])]) for i, s in enumerate(loads)]
    with canvas.styled():
        figure, grid = canvas.panels(axes, (len(panels), 1), (7.2, 0.9 + 1.7 * len(panels)), title, sharex=True)
        for ax, (name, unit, curves) in zip(grid[:, 0], panels, strict=True):
            for number, (label, values) in enumerate(curves):
                look = {**canvas.style(number), **({"linestyle": ":", "color": "black"} if label == "recorded" else {})}
                ax.plot(found.t, values, **look, label=label)
            ax.set_ylabel(f"[{unit}]")
            ax.set_title(canvas.words(name), fontsize=9, loc="left")
            if len(curves) > 1:
                ax.legend(fontsize=8)
        grid[-1, 0].set(xlabel="time [s]", xlim=(found.t[0], found.t[-1]))
        figure.align_ylabels()
        return canvas.finish(figure, path)
