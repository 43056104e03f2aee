"""Pictures of one's own in the style of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def subplots(
    rows: int = 1, columns: int = 1, *, size: tuple[float, float] = (7.2, 3.6), title: str = "", **options: Any
) -> tuple[Figure, Any]:
    """Return an empty figure, `size` in inches, and its axes, as `pyplot.subplots` does.

    A notebook shows the figure, and its axes can be handed to the functions of `flexctl.io.plot`.
    """
    import matplotlib

    from . import canvas

    with matplotlib.rc_context(style()):
        figure = canvas.empty(*size, title)
        return figure, figure.subplots(rows, columns, **options)


def style() -> dict[str, Any]:
    """Return the `matplotlib.rcParams` of flexctl's pictures.

    Examples
    --------
    >>> fx.plot.style()["axes.grid"]
    True
    """
    from cycler import cycler

    from . import canvas

    return {**canvas.STYLE, "axes.prop_cycle": cycler(color=canvas.PALETTE)}
