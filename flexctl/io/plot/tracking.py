"""Pictures of runs in which the tip follows a path: path, errors, angles, torques, deflections.

Those of Tian et al., figures 6 to 13. All from the recorded series alone, so that a run read back from a file, of any
model, is drawn as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import DefinitionError, require
from ...model import FloatArray, names
from ...simulation.response import Response

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...simulation.path_stability import PathStability

Runs = Response | Mapping[str, Response]
KINDS = ("path", "errors", "angles", "torques", "deflections")


def tracking(responses: Runs, *, title: str = "") -> dict[str, Figure]:
    """Return the five pictures of one run, or of several by label: path, errors, angles, torques, deflections.

    Those whose series no run has are left out.
    """
    runs = _runs(responses)
    made: dict[str, Figure | None] = {
        "path": tip_path(runs, title=title),
        "errors": tip_errors(runs, title=title),
        "angles": _series(runs, ("joint1_angle", "joint2_angle"), 1.0, "rad", title),
        "torques": _series(runs, ("joint1_torque", "joint2_torque"), 1.0, "N m", title),
        "deflections": _series(runs, ("link1_deflection", "link2_deflection"), 1e3, "mm", title),
    }
    return {name: figure for name, figure in made.items() if figure is not None}


def _runs(responses: Runs) -> dict[str, Response]:
    runs = {"": responses} if isinstance(responses, Response) else dict(responses)
    require(bool(runs), "no run to draw")
    for label, run in runs.items():
        if not {"tip_x", "tip_y"} <= set(names(run.references)):
            raise DefinitionError(
                f'the run "{label}" has no reference of its tip; give one, e.g. a flexctl.motion.track.Track'
            )
    return runs


def tip_error(run: Response) -> FloatArray:
    """Return the tip's place minus where it should be, nt x 2 [m]."""
    return np.column_stack([run[f"tip_{axis}"] - run[f"reference:tip_{axis}"] for axis in "xy"])


def tip_path(responses: Runs, *, path: str | Path | None = None, title: str = "") -> Figure:
    """Draw the tip's path against the wanted one, to scale and with the error magnified."""
    from . import canvas

    runs = _runs(responses)
    largest = max(float(np.median(np.linalg.norm(tip_error(run), axis=1))) for run in runs.values())
    span = max(float(np.ptp(run["reference:tip_x"])) for run in runs.values())
    factor = _round(0.05 * span / max(largest, 1e-12))
    with canvas.styled():
        figure, grid = canvas.panels(None, (1, 2), (7.6, 4.3), title, sharex=True, sharey=True)
        for ax, scale, heading in zip(
            grid[0], (1.0, factor), ("tip", f"error magnified {factor:g} times"), strict=True
        ):
            for number, (label, run) in enumerate(runs.items()):
                wanted = np.column_stack([run["reference:tip_x"], run["reference:tip_y"]])
                x, y = (wanted + scale * tip_error(run)).T
                ax.plot(x, y, **canvas.style(number), label=label or "tip")
            for run in runs.values():  # behind the others in the legend
                dots = {"color": "black", "linewidth": 1.1, "label": "reference", "zorder": 3}
                ax.plot(run["reference:tip_x"], run["reference:tip_y"], ":", **dots)
            ax.set(aspect="equal", xlabel="x [m]", title=heading)
        grid[0, 0].set_ylabel("y [m]")
        _frame(grid[0], next(iter(runs.values())))
        canvas.legend_below(figure, grid)
        return canvas.finish(figure, path)


def _frame(axes: Sequence[Any], run: Response) -> None:
    """Show the whole path with some room around it; what leaves that at the start is cut."""
    for ax, key, name in ((axes[0], "set_xlim", "reference:tip_x"), (axes[0], "set_ylim", "reference:tip_y")):
        low, high = float(run[name].min()), float(run[name].max())
        room = 0.16 * max(high - low, 1e-6)
        getattr(ax, key)(low - room, high + room)


def _round(x: float) -> float:
    """Return 1, 2 or 5 times a power of ten, not above x and at least 1."""
    power = 10.0 ** np.floor(np.log10(max(x, 1.0)))
    return float(max(k for k in (1.0, 2.0, 5.0) if k * power <= max(x, 1.0)) * power)


def tip_errors(responses: Runs, *, path: str | Path | None = None, title: str = "") -> Figure:
    """Draw the tip's error in x and y [mm], and its distance from the reference on a logarithmic scale."""
    from . import canvas

    runs = _runs(responses)
    with canvas.styled():
        figure, grid = canvas.panels(None, (3, 1), (7.6, 7.2), title, sharex=True)
        for number, (label, run) in enumerate(runs.items()):
            error, look = 1e3 * tip_error(run), {**canvas.style(number), "label": label or "tip", "linewidth": 1.1}
            for ax, series in zip(grid[:2, 0], error.T, strict=True):
                ax.plot(run.t, series, **look)
            grid[2, 0].plot(run.t, np.maximum(np.linalg.norm(error, axis=1), 1e-9), **look)
        for ax, label in zip(grid[:, 0], ("error in x [mm]", "error in y [mm]", "distance [mm]"), strict=True):
            ax.set_ylabel(label)
        late = [np.linalg.norm(1e3 * tip_error(run), axis=1)[run.t.size // 5 :] for run in runs.values()]
        grid[2, 0].set(yscale="log", xlabel="time [s]", xlim=(0.0, max(float(run.t[-1]) for run in runs.values())))
        grid[2, 0].set_ylim(bottom=0.3 * max(min(float(np.percentile(x, 5)) for x in late), 1e-8))
        canvas.legend_below(figure, grid)
        figure.align_ylabels()
        return canvas.finish(figure, path)


def _series(runs: Mapping[str, Response], signals: Sequence[str], scale: float, unit: str, title: str) -> Figure | None:
    """Draw the same series of all runs, one panel each, references dotted; None where no run has them."""
    from . import canvas

    shown = [name for name in signals if any(name in (*names(r.outputs), *names(r.inputs)) for r in runs.values())]
    if not shown:
        return None
    with canvas.styled():
        figure, grid = canvas.panels(None, (len(shown), 1), (7.6, 0.9 + 2.2 * len(shown)), title, sharex=True)
        for ax, name in zip(grid[:, 0], shown, strict=True):
            for number, (label, run) in enumerate(runs.items()):
                if name not in (*names(run.outputs), *names(run.inputs)):
                    continue
                held = {"drawstyle": "steps-post"} if name in names(run.inputs) else {}
                look = {**canvas.style(number), "label": label or canvas.words(name), "linewidth": 1.1, **held}
                ax.plot(run.t, scale * run[name], **look)
                if name in names(run.references):
                    dots = {"color": "black", "linewidth": 1.1, "label": "reference"}
                    ax.plot(run.t, scale * run[f"reference:{name}"], ":", **dots)
            ax.set_ylabel(canvas.labelled(name, unit))
        grid[-1, 0].set(xlabel="time [s]", xlim=(0.0, max(float(run.t[-1]) for run in runs.values())))
        canvas.legend_below(figure, grid)
        figure.align_ylabels()
        return canvas.finish(figure, None)


def stability(
    found: Mapping[str, Sequence[PathStability]], damping: Sequence[float], *, path: str | Path | None = None,
    title: str = "",
) -> Figure:
    """Draw the growth of loops in the worst pose of the path over the damping of the arm (`stability_over_damping`).

    Parameters
    ----------
    found : mapping
        Stability for every damping, by the law's name.
    damping : sequence of float
        beta of D = beta K [s]; 0 is drawn at the left edge.
    """
    from . import canvas

    beta = np.asarray(damping, float)
    require(all(len(rows) == beta.size for rows in found.values()), "give one damping for every stability")
    positive = beta[beta > 0]
    edge = 0.3 * float(positive.min()) if positive.size else 1.0
    with canvas.styled():
        figure, grid = canvas.panels(None, (1, 1), (7.2, 4.6), title)
        ax = grid[0, 0]
        for number, (label, rows) in enumerate(found.items()):
            growth = np.array([0.0 if row.stable and row.worst > 0 else row.worst for row in rows])
            look = {**canvas.style(number), "marker": "o", "markersize": 4, "label": label}
            ax.plot(np.where(beta > 0, beta, edge), growth, **look)
        ax.axhline(0.0, color=canvas.GREY, linewidth=0.8, zorder=1)
        ax.set(xscale="log", xlabel="damping beta of D = beta K [s]", ylabel="largest growth on the path [1/s]")
        ax.set_yscale("symlog", linthresh=1.0)
        if positive.size < beta.size:
            ax.set_xticks([edge, *sorted(set(positive.tolist()))], ["none", *(f"{b:g}" for b in sorted(set(positive)))])
            ax.minorticks_off()
        canvas.legend_below(figure, grid)
        return canvas.finish(figure, path)


def poles_along(found: Mapping[str, PathStability], *, below: float = 200.0, path: str | Path | None = None,
                title: str = "") -> Figure:
    """Draw the poles of loops in all poses of the path [rad/s], up to a frequency `below` [Hz], one panel per loop."""
    from . import canvas

    require(bool(found), "no loop to draw")
    with canvas.styled():
        size = (max(6.4, 3.8 * len(found)), 4.6)
        figure, grid = canvas.panels(None, (1, len(found)), size, title, sharey=True)
        for ax, (label, item) in zip(grid[0], found.items(), strict=True):
            shades = np.linspace(0.15, 0.9, len(item.poles))
            for t, shade, values in zip(item.times, shades, item.poles, strict=True):
                p = values[(np.abs(values) <= 2.0 * np.pi * below) & (values.imag >= 0)]
                look = {"color": _shade(shade), "markersize": 5, "markeredgewidth": 1.2, "label": f"t = {t:.3g} s"}
                ax.plot(p.real, p.imag / (2.0 * np.pi), "x", **look)
            ax.axvline(0.0, color=canvas.GREY, linewidth=0.8, zorder=1)
            ax.set(xlabel="real part [1/s]", title=f"{label}: {str(item).partition(',')[0]}")
            ax.set_xscale("symlog", linthresh=1.0)
        grid[0, 0].set_ylabel("frequency [Hz]")
        canvas.legend_below(figure, grid)
        return canvas.finish(figure, path)


def _shade(x: float) -> Any:
    import matplotlib

    return matplotlib.colormaps["viridis"](x)
