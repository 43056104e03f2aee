"""The canvas under `flexctl.io.plot`: figures without global state, one style, atomic saving.

Figures are `matplotlib.figure.Figure` objects on an Agg canvas; pyplot is never touched, so that drawing has no side
effects on a user's own figures, backend or settings. They show themselves in notebooks.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from ...errors import DefinitionError, require
from ...support.files import write_atomically

DPI = 150
SUFFIXES = (".png", ".pdf", ".svg")

# Okabe and Ito's palette, which stays apart for colour-blind readers; yellow is left out, it is too faint on white
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("-", "--", "-.", (0, (1, 1)))
GREY = "#555555"
CHARACTER, NOTE = 0.065, 0.15
"""Width of a character and height of a line of notes [inch]; a little more than they take on average."""

STYLE: dict[str, Any] = {
    "font.size": 9.5, "axes.titlesize": 10, "axes.labelsize": 9.5, "xtick.labelsize": 8.5, "ytick.labelsize": 8.5,
    "legend.fontsize": 8.5, "legend.frameon": False, "legend.handlelength": 2.2, "figure.titlesize": 11,
    "axes.grid": True, "grid.color": "#dddddd", "grid.linewidth": 0.6, "axes.axisbelow": True,
    "axes.spines.top": False, "axes.spines.right": False, "axes.linewidth": 0.8, "lines.linewidth": 1.4,
}


class Picture(Figure):
    """A figure that a notebook shows without pyplot."""

    def _repr_png_(self) -> bytes:
        stream = io.BytesIO()
        self.savefig(stream, format="png", dpi=100)
        return stream.getvalue()


@contextmanager
def styled() -> Iterator[None]:
    """Apply the style to everything that is created inside."""
    with matplotlib.rc_context(STYLE):
        yield


def empty(width: float, height: float, title: str = "") -> Picture:
    """Return an empty figure of a size in inches."""
    figure = Picture(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    if title:
        figure.suptitle(title)
    return figure


def panels(
    axes: Any, shape: tuple[int, int], size: tuple[float, float], title: str = "", **options: Any
) -> tuple[Any, Any]:
    """Return figure and array of axes: the given axes when their number fits, or those of a new figure."""
    if axes is None:
        figure = empty(*size, title)
        return figure, figure.subplots(*shape, squeeze=False, **options)
    from matplotlib.axes import Axes

    given = np.atleast_1d(np.asarray(axes, dtype=object))
    wrong = next((one for one in given.flat if not isinstance(one, Axes)), None)
    require(wrong is None, f"axes = {wrong!r:.40}: give Axes of matplotlib, as fx.plot.subplots makes them")
    require(given.size == shape[0] * shape[1], f"{given.size} axes given; this picture needs {shape[0]} x {shape[1]}")
    return given.flat[0].figure, given.reshape(shape)


def finish(figure: Figure, path: str | Path | None) -> Figure:
    """Return the figure, written to a file if there is a path."""
    if path is not None:
        save(figure, path)
    return figure


def style(number: int) -> dict[str, Any]:
    """Return colour and dashes of the line of a number: seven colours, then the same dashed."""
    return {"color": PALETTE[number % len(PALETTE)], "linestyle": DASHES[number // len(PALETTE) % len(DASHES)]}


def legend_below(figure: Any, axes: Any) -> None:
    """Put one legend for all axes below them, each label once, where it covers neither a line nor the title."""
    found: dict[str, Any] = {}
    for ax in np.ravel(axes):
        found = dict(zip(*ax.get_legend_handles_labels()[::-1], strict=True)) | found
    if len(found) > 1:
        columns = _columns(found, figure.get_figwidth())
        figure.legend(found.values(), found.keys(), loc="outside lower center", ncols=columns)


def notes_below(figure: Any, lines: Sequence[str]) -> None:
    """Write lines below a picture, broken where they would be cut at its edges, and make it as much taller."""
    text = broken(figure, lines)
    figure.supxlabel(text, fontsize=8, color=GREY)
    figure.set_figheight(figure.get_figheight() + NOTE * text.count("\n"))


def broken(figure: Any, lines: Sequence[str]) -> str:
    """Return lines of small print, broken where they would be wider than the picture."""
    most = int(figure.get_figwidth() / CHARACTER)
    return "\n".join(part for line in lines for part in textwrap.wrap(line, most))


def legend_on_top(ax: Any, width: float) -> None:
    """Put the legend of one axes, `width` inches wide, above it, where it cannot cover a line."""
    found: dict[str, Any] = {}
    for handle, text in zip(*ax.get_legend_handles_labels(), strict=True):
        found.setdefault(text, handle)
    if len(found) > 1:
        ax.legend(
            found.values(), found.keys(), loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=_columns(found, width)
        )


def _columns(labels: Iterable[str], width: float) -> int:
    """Return how many entries of a legend fit beside each other, in rows of equal length."""
    count = len(list(labels))
    fit = max(1, int(width / (0.075 * max(map(len, labels)) + 0.65)))
    return -(-count // -(-count // fit))


def words(name: str) -> str:
    """Return a signal's name as it is read."""
    return name.replace("_", " ")


def labelled(name: str, unit: str) -> str:
    """Return "name [unit]"."""
    return f"{words(name)} [{unit}]"


def check_suffix(path: str | Path, suffixes: Sequence[str] = SUFFIXES) -> Path:
    """Return the path, or raise `DefinitionError` when its suffix is not one of those."""
    target = Path(path)
    if target.suffix.lower() not in suffixes:
        raise DefinitionError(f'"{target.name}" has the suffix "{target.suffix}"; use one of {", ".join(suffixes)}')
    return target


def save(figure: Figure, path: str | Path) -> Path:
    """Write a figure to .png (150 dpi), .pdf or .svg; the same figure gives the same file."""
    target = check_suffix(path)
    kind = target.suffix.lower()[1:]
    metadata = {"png": {}, "pdf": {"CreationDate": None}, "svg": {"Date": None}}[kind]
    with matplotlib.rc_context({"svg.hashsalt": "flexctl"}):
        return write_atomically(target, lambda stream: figure.savefig(stream, format=kind, dpi=DPI, metadata=metadata))


def frequency_ticks(ax: Any) -> None:
    """Give a logarithmic axis of frequencies, its limits set, plain numbers that do not run into each other.

    At powers of ten; over less than two decades at 1, 2 and 5; over less than a factor of five evenly.
    """
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

    low, high = ax.get_xlim()
    wide = high / low
    evenly = MaxNLocator(4) if wide < 5.0 else LogLocator(subs=(1.0, 2.0, 5.0) if wide < 100.0 else (1.0,))
    ax.xaxis.set_major_locator(evenly)
    ax.xaxis.set_major_formatter("{x:g}")
    ax.xaxis.set_minor_formatter(NullFormatter())
