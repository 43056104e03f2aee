"""How poles move with a parameter: a root locus of any kind, drawn from the plants themselves."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import require
from ...linear import FirstOrder, LinearPlant
from ...machine.given import LinearGiven, as_linear
from ...model import FloatArray
from .linear import plant_poles

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RATIOS = (0.1, 0.3, 0.5, 0.7)
"""Damping ratios that are drawn as rays."""

ENDS = {
    "linestyle": "none", "markersize": 7, "markerfacecolor": "none", "markeredgecolor": "black", "clip_on": False,
    "markeredgewidth": 0.9, "zorder": 4,
}


def migration(
    plants: Mapping[float, LinearGiven],
    label: str,
    *,
    below: float | None = None,
    logarithmic: bool = False,
    axes: Any = None,
    path: str | Path | None = None,
    title: str = "",
) -> Figure:
    """Draw the poles of continuous plants by the value of a parameter, coloured by it; the upper half plane only.

    A circle is drawn around the poles of the smallest value, a square around those of the largest; the dotted rays are
    damping ratios.

    Parameters
    ----------
    plants : mapping
        Linear plants by the value of the parameter, e.g. ``{0.0: plant_0, 0.5: plant_1}``.
    label : str
        The parameter with its unit: "payload [kg]".
    below : float, optional
        Poles up to this frequency [Hz] only.
    logarithmic : bool
        Colour by the logarithm of the parameter, as for gains.
    axes : Axes, optional
        Where to draw; the colour bar takes its place from there.
    path : path, optional
        File to write: .png, .pdf or .svg.
    """
    from matplotlib.colors import LogNorm, Normalize

    from . import canvas

    require(len(plants) > 1, f"{len(plants)} plant given: poles move from one value of a parameter to another")
    linear = {value: as_linear(item) for value, item in plants.items()}
    sampled = any(isinstance(item, FirstOrder) and item.dt > 0 for item in linear.values())
    require(not sampled, "sampled plants have no s plane; give continuous ones")
    require(not logarithmic or min(plants) > 0, f"a logarithmic scale needs positive values of {label}")
    found = [(value, _shown(item, below)) for value, item in sorted(linear.items())]
    values = np.concatenate([np.full(s.size, value) for value, s in found])
    s = np.concatenate([s for _, s in found])
    require(s.size > 0, f"no pole below {below} Hz")
    with canvas.styled():
        figure, grid = canvas.panels(axes, (1, 1), (7.0, 4.8), title)
        ax = grid[0, 0]
        scale = (LogNorm if logarithmic else Normalize)(min(plants), max(plants))
        dots = ax.scatter(s.real, s.imag, c=values, cmap="viridis", norm=scale, s=14, linewidths=0, zorder=3)
        bar = figure.colorbar(dots, ax=ax, label=label, pad=0.02)
        for (value, ends), marker in ((found[0], "o"), (found[-1], "s")):
            for place, x, y in ((ax, ends.real, ends.imag), (bar.ax, [0.5], [value])):
                place.plot(x, y, marker, **ENDS)
        _half_plane(ax, s)
        return canvas.finish(figure, path)


def _shown(plant: LinearPlant, below: float | None) -> Any:
    s = plant_poles(plant)
    s = s[s.imag >= 0.0]
    return s if below is None else s[np.abs(s) <= 2.0 * np.pi * below]


def _half_plane(ax: Any, s: Any) -> None:
    from . import canvas

    top = 1.08 * max(float(s.imag.max()), 1e-3 * float(np.abs(s).max()), 1e-12)
    left = min(1.1 * float(s.real.min()), -0.05 * top)
    right = max(1.1 * float(s.real.max()), -0.06 * left)
    ax.set(xlim=(left, right), ylim=(-0.02 * top, top), xlabel="real part [rad/s]", ylabel="imaginary part [rad/s]")
    for ratio in RATIOS:
        slope = np.sqrt(1.0 - ratio**2) / ratio
        reach = min(-left, top / slope)
        ax.plot([0.0, -reach], [0.0, reach * slope], color=canvas.GREY, linewidth=0.5, linestyle=":", zorder=1)
        ax.annotate(
            f"{ratio:g}", (-0.96 * reach, 0.96 * reach * slope), fontsize=7.5, color=canvas.GREY, ha="center",
            va="center", bbox={"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none"}, zorder=2,
        )
    ax.axvline(0.0, color=canvas.GREY, linewidth=0.8, zorder=1)
    hertz = ax.secondary_yaxis("right", functions=(_to_hertz, _to_radians))
    hertz.set_ylabel("frequency [Hz]")
    hertz.spines["right"].set_visible(True)


def _to_hertz(w: FloatArray) -> FloatArray:
    return w / (2.0 * np.pi)


def _to_radians(f: FloatArray) -> FloatArray:
    return 2.0 * np.pi * f
