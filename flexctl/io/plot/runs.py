"""Pictures of runs: time histories, comparisons of runs, the motion of the whole arm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import require
from ...model import FloatArray, names
from ...simulation.response import Response

if TYPE_CHECKING:
    from matplotlib.figure import Figure


ERROR = "error:"
TELL = 0.01
"""Part of its range from which on the error of a curve is stated below the picture."""
BLOCK = 3
"""Most groups of runs beside each other; more go below."""


def run(
    response: Response,
    signals: Sequence[str] | None = None,
    *,
    axes: Any = None,
    path: str | Path | None = None,
    title: str = "",
) -> Figure:
    """Draw a run: outputs with their references, then the inputs that act, as they are held; one panel per unit."""
    from . import canvas

    chosen = list(signals) if signals else [*names(response.outputs), *response.acting]
    panels: dict[tuple[bool, str], list[str]] = {}
    for name in chosen:
        panels.setdefault((name in names(response.inputs), response.unit(name)), []).append(name)
    order = sorted(panels, key=lambda key: key[0])
    with canvas.styled():
        size = (7.2, 0.9 + 1.7 * len(order))
        figure, grid = canvas.panels(axes, (len(order), 1), size, title or _title(response), sharex=True)
        for ax, key in zip(grid[:, 0], order, strict=True):
            _run_panel(ax, response, panels[key], held=key[0])
        grid[-1, 0].set(xlabel="time [s]", xlim=(response.t[0], response.t[-1]))
        if axes is None:
            _caption(figure, {"": response}, chosen)
        figure.align_ylabels()
        return canvas.finish(figure, path)


def _caption(figure: Any, responses: Mapping[str, Response], chosen: Sequence[str]) -> None:
    """Say below the picture which curves have an estimated error above 1 % of their range."""
    from . import canvas

    told = []
    for label, response in responses.items():
        large = {name: part for name in chosen if (part := response.error_part(name)) > TELL}
        if large:
            listed = ", ".join(f"{canvas.words(name)} {part:.2g}" for name, part in large.items())
            told.append(f"{label + ': ' if label else ''}estimated error, in parts of the range: {listed}")
    if told:
        canvas.notes_below(figure, told)


def _run_panel(ax: Any, response: Response, group: Sequence[str], held: bool) -> None:
    from . import canvas

    for number, name in enumerate(group):
        look = {**canvas.style(number), "label": canvas.words(name)}
        if held:
            step_lines(ax, response.t, response[name], **look)
            continue
        ax.plot(response.t, response[name], **look)
        if name in names(response.references):
            dotted = {"linestyle": ":", "color": "black", "linewidth": 1.1, "label": f"{canvas.words(name)}, reference"}
            ax.plot(response.t, response[f"reference:{name}"], **dotted)
    unit = response.unit(group[0])
    ax.set_ylabel(canvas.labelled(group[0], unit) if len(group) == 1 else f"[{unit}]")
    canvas.legend_on_top(ax, 6.0)


def _title(response: Response) -> str:
    about = response.provenance
    changed = ", ".join(f"{key} = {value}" for key, value in dict(about.get("overrides") or {}).items())
    return ", ".join(part for part in (str(about.get("plant", "")), changed) if part)


def compare(
    responses: Mapping[str, Response] | Mapping[str, Mapping[str, Response]],
    signals: Sequence[str] | None = None,
    *,
    axes: Any = None,
    path: str | Path | None = None,
    title: str = "",
    titled: bool = False,
) -> Figure:
    """Draw the same signals of several runs over each other, one panel per signal.

    Parameters
    ----------
    responses : mapping
        Runs by label, or groups of runs by name: each group is a column with its own legend.
    signals : sequence of str, optional
        By default what the runs follow, and the inputs that act; all outputs when they follow nothing. "error:NAME" is
        output NAME minus its reference: it separates runs that otherwise coincide.
    titled : bool
        Write the name of each group above its column.
    """
    from . import canvas

    groups = [dict(v) for v in responses.values() if isinstance(v, Mapping)]
    alone = {label: v for label, v in responses.items() if not isinstance(v, Mapping)}
    columns: list[dict[str, Response]] = groups or [alone]
    every = [response for column in columns for response in column.values()]
    require(bool(every), "no run to draw")
    chosen = list(signals) if signals else _compared(every)
    blocks = -(-len(columns) // BLOCK)
    across = -(-len(columns) // blocks)
    size = (max(7.2, 4.0 * across), blocks * (1.0 + 2.1 * len(chosen)))
    titles = list(responses) if titled else [""] * len(columns)
    with canvas.styled():
        share = "col" if blocks == 1 else False
        figure, grid = canvas.panels(axes, (blocks * len(chosen), across), size, title, sharex=share)
        for number in range(blocks * across):
            place = grid[len(chosen) * (number // across) :, number % across][: len(chosen)]
            if number < len(columns):
                _compare_column(place, columns[number], chosen, titles[number], 0.85 * size[0] / across)
            else:
                for ax in place:
                    ax.set_visible(False)
        for row in range(len(grid)):
            name = chosen[row % len(chosen)]
            own = name.removeprefix(ERROR)
            having = [response for response in every if _has(response, own)]
            label = canvas.labelled(own, (having or every)[0].unit(own))
            grid[row, 0].set_ylabel(label if own == name else f"{label}\nminus reference")
        if axes is None:
            pairs = zip(titles, columns, strict=True)
            named = {f"{group} {label}".strip(): run for group, column in pairs for label, run in column.items()}
            _caption(figure, named, [name for name in chosen if not name.startswith(ERROR)])
        figure.align_ylabels()
        return canvas.finish(figure, path)


def _compare_column(axes: Any, members: Any, chosen: Sequence[str], title: str, width: float) -> None:
    from . import canvas

    for ax, name in zip(axes, chosen, strict=True):
        _compare_panel(ax, members, name, dashed=bool(title))
        ax.set_xlim(0.0, max(r.t[-1] for r in members.values()))
    axes[-1].set_xlabel("time [s]")
    canvas.legend_on_top(axes[0], width)
    legend = axes[0].get_legend()
    if title and legend is not None:
        legend.set_title(title)
    elif title:
        axes[0].set_title(title)


def _compared(responses: Sequence[Response]) -> list[str]:
    first = responses[0]
    followed = list(dict.fromkeys(n for r in responses for n in names(r.references) if n in names(r.outputs)))
    acting = {name for response in responses for name in response.acting}
    return [*(followed or names(first.outputs)), *(name for name in names(first.inputs) if name in acting)]


def _compare_panel(ax: Any, responses: Mapping[str, Response], name: str, dashed: bool) -> None:
    from . import canvas

    references: list[tuple[FloatArray, FloatArray]] = []
    for number, (label, response) in enumerate(responses.items()):
        if not _has(response, name):  # its law does not follow what the others follow
            continue
        look = {**canvas.style(number), "label": label}
        if dashed:  # dashed over solid: both stay visible where they agree
            look["linestyle"] = canvas.DASHES[number % len(canvas.DASHES)]
        if name in names(response.inputs):
            step_lines(ax, response.t, response[name], **look)
        else:
            ax.plot(response.t, _series(response, name), **look)
        if name in names(response.references):
            references.append((response.t, response[f"reference:{name}"]))
    for t, r in _distinct(references):
        ax.plot(t, r, ":", color="black", linewidth=1.1, label="reference")


def _has(response: Response, name: str) -> bool:
    """Whether a run has a signal, and a reference where its error is to be drawn."""
    own = name.removeprefix(ERROR)
    known = own in names(response.outputs) or own in names(response.inputs)
    return known and (own == name or own in names(response.references))


def _series(response: Response, name: str) -> FloatArray:
    own = name.removeprefix(ERROR)
    return response[own] if own == name else response[own] - response[f"reference:{own}"]


def _distinct(references: Sequence[tuple[FloatArray, FloatArray]]) -> list[tuple[FloatArray, FloatArray]]:
    """Return the references that are not sampled from an earlier, longer one."""
    kept: list[tuple[FloatArray, FloatArray]] = []
    for t, r in sorted(references, key=lambda item: -item[0][-1]):
        scale = float(np.abs(r).max(initial=0.0))
        if not any(np.allclose(np.interp(t, tk, rk), r, rtol=0.0, atol=1e-3 * scale) for tk, rk in kept):
            kept.append((t, r))
    return kept


def step_lines(axes: Any, t: FloatArray, u: FloatArray, **options: Any) -> Any:
    """Draw an input that is held from each time on; returns the line."""
    (line,) = axes.plot(t, u, drawstyle="steps-post", **options)
    return line


def surface(
    t: FloatArray,
    x: FloatArray,
    y: FloatArray,
    *,
    labels: tuple[str, str, str] = ("time [s]", "distance from the hub [m]", "displacement [m]"),
    path: str | Path | None = None,
    title: str = "",
) -> Figure:
    """Draw the motion of the whole arm as a surface over time and place.

    Parameters
    ----------
    t : ndarray
        Times [s], nt.
    x : ndarray
        Stations along the arm [m], nx.
    y : ndarray
        Displacement [m], nt x nx.
    labels : tuple of str
        Labels of the three axes, with units.
    """
    from . import canvas

    t, x, y = (np.asarray(a, float) for a in (t, x, y))
    wanted = (t.size, x.size)
    require(
        y.shape == wanted, f"displacements have shape {y.shape}; {t.size} times, {x.size} stations ask for {wanted}"
    )
    keep = np.unique(np.linspace(0, t.size - 1, min(t.size, 121)).round().astype(int))
    with canvas.styled():
        figure = canvas.empty(7.0, 4.8, title)
        figure.set_layout_engine("none")  # the constrained one leaves most of the picture empty around a cube
        ax: Any = figure.add_axes((0.0, 0.06, 1.0, 0.92), projection="3d")
        grid = np.meshgrid(t[keep], x, indexing="ij")
        look = {"cmap": "cividis", "rcount": 121, "ccount": 60, "linewidth": 0.15, "edgecolor": "#00000040"}
        ax.plot_surface(*grid, y[keep], **look)
        ax.set(**dict(zip(("xlabel", "ylabel", "zlabel"), labels, strict=True)))
        ax.view_init(elev=28, azim=-128)
        ax.set_box_aspect((1.35, 1.0, 0.75))  # any closer, and the labels are cut
        return canvas.finish(figure, path)
