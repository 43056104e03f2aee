"""Pictures of linear plants: Bode plots, poles, mode shapes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import NotAvailable, require
from ...linear import FirstOrder
from ...machine.given import LinearGiven, as_linear, as_second_order
from ...model import ComplexArray, FloatArray, index_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...frequency import FrequencyResponse

MOST = 60
"""Most channels in one Bode plot."""
BLOCK = 3
"""Most channels beside each other in a Bode plot; more go below."""


def bode(
    responses: FrequencyResponse | LinearGiven | Mapping[str, FrequencyResponse | LinearGiven],
    channels: Sequence[tuple[str, str]] | None = None,
    *,
    axes: Any = None,
    path: str | Path | None = None,
    title: str = "",
) -> Figure:
    """Draw magnitude [dB] and phase [deg] over frequency [Hz].

    Parameters
    ----------
    responses : FrequencyResponse, plant or mapping
        One response, or several by label; every point is drawn, so that the peaks are those of the data, and two
        standard deviations are shaded where there are any. Of a plant, linear plant or model its
        `flexctl.frequency_response`.
    channels : sequence of (output, input), optional
        Channels by name; by default all of the first response that are not zero.
    axes : array of Axes, optional
        Two rows, magnitude and phase, one column per channel.
    path : path, optional
        File to write: .png, .pdf or .svg.
    """
    from ...frequency import FrequencyResponse, frequency_response
    from . import canvas

    given = dict(responses) if isinstance(responses, Mapping) else {"": responses}
    require(bool(given), "no frequency response to draw")
    table = {label: x if isinstance(x, FrequencyResponse) else frequency_response(x) for label, x in given.items()}
    first = next(iter(table.values()))
    pairs = list(channels) if channels else _all_channels(first)
    require(bool(pairs), "the plant has no input or no output, or answers to none: there is no channel to draw")
    few = len(pairs) <= MOST
    require(few, f"{len(pairs)} channels do not fit into one picture, at most {MOST}; name inputs and outputs to draw")
    phases = {label: found.phase_deg() for label, found in table.items()}
    blocks = -(-len(pairs) // BLOCK)
    columns = -(-len(pairs) // blocks)
    size = (max(6.4, 4.2 * columns), 4.6 * blocks + 0.4)
    with canvas.styled():
        ratios = {"height_ratios": [2.0, 1.0] * blocks}
        figure, grid = canvas.panels(axes, (2 * blocks, columns), size, title, sharex=True, gridspec_kw=ratios)
        for number in range(blocks * columns):
            row, column = 2 * (number // columns), number % columns
            top, bottom = grid[row, column], grid[row + 1, column]
            if number < len(pairs):
                _bode_channel(top, bottom, table, phases, *pairs[number])
            else:
                top.set_visible(False)
                bottom.set_visible(False)
        canvas.legend_below(figure, grid)
        _say_what_is_left_out(figure, table, axes is None)
        figure.align_ylabels()
        return canvas.finish(figure, path)


def _say_what_is_left_out(figure: Any, table: Mapping[str, FrequencyResponse], own: bool) -> None:
    """Write below a figure of our own which modes lie outside the range of the responses."""
    from . import canvas

    notes = [f"{label + ', ' if label else ''}not shown: {r.note}" for label, r in table.items() if r.note]
    if notes and own and figure.legends:  # the legend stands where the label would be written over it
        figure.legends[0].set_title(canvas.broken(figure, notes), prop={"size": 8})
        figure.legends[0].get_title().set_color(canvas.GREY)
    elif notes and own:
        canvas.notes_below(figure, notes)


def _all_channels(response: FrequencyResponse) -> list[tuple[str, str]]:
    """Return the channels that are not zero throughout, as many are in space."""
    live = np.any(response.response != 0.0, axis=2)
    pairs = product(range(len(response.outputs)), range(len(response.inputs)))
    return [(response.outputs[i].name, response.inputs[j].name) for i, j in pairs if live[i, j]]


def _bode_channel(
    top: Any, bottom: Any, table: Mapping[str, FrequencyResponse], phases: Mapping[str, FloatArray], output: str,
    input_: str,
) -> None:
    from . import canvas

    unit = ""
    for number, (label, response) in enumerate(table.items()):
        i, j = index_of("output", output, response.outputs), index_of("input", input_, response.inputs)
        unit = _gain_unit(response.outputs[i].unit, response.inputs[j].unit)
        hertz = response.omega / (2 * np.pi)
        # dashed over solid: both stay visible where they agree
        look = {**canvas.style(number), "label": label, "linestyle": canvas.DASHES[number % len(canvas.DASHES)]}
        top.plot(hertz, response.magnitude_db()[i, j], **look)
        bottom.plot(hertz, phases[label][i, j], **look)
        if response.sigma is not None and np.isfinite(response.sigma[i, j]).any():
            _spread(top, bottom, response, phases[label], (i, j), look)
    title = f"{canvas.words(input_)} → {canvas.words(output)}"
    top.set(xscale="log", title=title, ylabel=f"magnitude [{unit}]")
    bottom.set(xscale="log", xlabel="frequency [Hz]", ylabel="phase [deg]")
    top.set_ylim(*decibel_limits([(line.get_xdata(), line.get_ydata()) for line in top.lines]))
    top.set_xlim(min(line.get_xdata()[0] for line in top.lines), max(line.get_xdata()[-1] for line in top.lines))
    canvas.frequency_ticks(bottom)
    top.tick_params(labelbottom=False)
    bottom.tick_params(labelbottom=True)
    _phase_ticks(bottom)


def _spread(
    top: Any, bottom: Any, response: FrequencyResponse, phase: FloatArray, at: tuple[int, int], look: Mapping[str, Any]
) -> None:
    """Shade two standard deviations of magnitude and phase; half of the sigma of a line lies along its gain."""
    assert response.sigma is not None
    hertz, gain = response.omega / (2 * np.pi), np.abs(response.response[at])
    off = 2.0 * response.sigma[at] / np.sqrt(2.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = (20.0 * np.log10(np.maximum(x, 1e-3 * gain)) for x in (gain - off, gain + off))
        turn = np.minimum(np.degrees(off / gain), 180.0)
    shade = {"color": look["color"], "alpha": 0.25, "linewidth": 0.0}
    label = ", ".join(filter(None, (look["label"], "± 2 standard deviations")))
    top.fill_between(hertz, low, high, label=label, **shade)
    bottom.fill_between(hertz, phase[at] - turn, phase[at] + turn, **shade)


def _gain_unit(output: str, input_: str) -> str:
    """Return "dB re 1 m/(N m)", "dB re 1 rad/V", and plain "dB" for a gain without unit, as of a loop."""
    below = f"({input_})" if re.search("[ /]", input_) else input_
    return "dB" if output == input_ else f"dB re 1 {output}/{below}"


def decibel_limits(drawn: Sequence[tuple[Any, Any]]) -> tuple[float, float]:
    """Return limits with every peak inside; zeros of undamped plants reach any depth and are cut."""
    curves = [(np.asarray(x, float), np.asarray(y, float)) for x, y in drawn]
    values = np.concatenate([y for _, y in curves])
    values = values[np.isfinite(values)]
    require(values.size > 0, "the frequency response has no finite value")
    # on an even grid a notch counts for its width, not for the many points in it
    even = np.concatenate([np.interp(np.geomspace(x[0] or x[1], x[-1], 400), x, y) for x, y in curves if x.size > 1])
    low = float(np.percentile(even[np.isfinite(even)], 2)) - 25.0 if np.isfinite(even).any() else -np.inf
    return max(float(values.min()), low) - 3.0, float(values.max()) + 3.0


def _phase_ticks(ax: Any) -> None:
    values = np.concatenate([np.asarray(line.get_ydata(), float) for line in ax.lines])
    values = values[np.isfinite(values)]
    if not values.size:
        return
    step = 90.0
    while True:  # 90, 180, 360, ..: a sign that turns stays on a line
        low, high = step * np.floor(values.min() / step + 1e-3), step * np.ceil(values.max() / step - 1e-3)
        if high - low <= 5 * step:
            break
        step *= 2.0
    high = max(high, low + 90.0)
    ax.set_yticks(np.arange(low, high + 1.0, step))
    ax.set_ylim(low - 15.0, high + 15.0)


def poles(
    plant: LinearGiven | Mapping[str, LinearGiven],
    *,
    below: float | None = None,
    axes: Any = None,
    path: str | Path | None = None,
    title: str = "",
) -> Figure:
    """Draw the poles of one plant, or of several by label, up to a frequency `below` [Hz].

    Continuous plants in rad/s, with a scale in Hz; discrete plants in z, with the unit circle.
    """
    from . import canvas

    given = dict(plant) if isinstance(plant, Mapping) else {"": plant}
    table = {label: as_linear(item) for label, item in given.items()}
    discrete = [isinstance(item, FirstOrder) and item.dt > 0 for item in table.values()]
    require(len(set(discrete)) == 1, "continuous and discrete plants do not share a picture of their poles")
    with canvas.styled():
        figure, grid = canvas.panels(axes, (1, 1), (5.4, 5.2) if discrete[0] else (6.4, 4.8), title)
        ax = grid[0, 0]
        for number, (label, item) in enumerate(table.items()):
            values = plant_poles(item)
            if below is not None and not discrete[0]:
                values = values[np.abs(values) <= 2 * np.pi * below]
            look = {"color": canvas.PALETTE[number % 7], "markersize": 7, "markeredgewidth": 1.4, "label": label}
            ax.plot(values.real, values.imag, ("x", "+", "1", "2")[number % 4], **look)
        (_z_plane if discrete[0] else _s_plane)(ax)
        canvas.legend_on_top(ax, 6.0)
        return canvas.finish(figure, path)


def plant_poles(plant: LinearGiven) -> ComplexArray:
    """Return all poles [rad/s], or z of a sampled plant."""
    plant = as_linear(plant)
    if isinstance(plant, FirstOrder):
        return plant.poles()
    found = plant.modes()
    upper = np.asarray(found.poles, complex)
    rigid = np.zeros(2 * found.rigid_modes, complex)
    return np.concatenate([upper, upper[upper.imag > 0].conj(), np.asarray(found.real_poles, complex), rigid])


def _z_plane(ax: Any) -> None:
    from . import canvas

    angle = np.linspace(0, 2 * np.pi, 361)
    ax.plot(np.cos(angle), np.sin(angle), color=canvas.GREY, linewidth=0.8, zorder=1)
    ax.set(aspect="equal", xlabel="real part of z [1]", ylabel="imaginary part of z [1]")


def _s_plane(ax: Any) -> None:
    from . import canvas

    real, imag = (np.concatenate([np.asarray(data(line), float) for line in ax.lines]) for data in (_x, _y))
    size = float(np.abs(real).max(initial=0.0))
    if size < 1e-9 * np.abs(imag).max(initial=1.0):  # undamped: a range around the axis, not rounding blown up
        size, real = 0.05 * float(np.abs(imag).max(initial=1.0)), np.zeros(1)
    ax.set_xlim(min(1.15 * real.min(initial=0.0), -0.2 * size), max(1.15 * real.max(initial=0.0), 0.2 * size))
    ax.axvline(0.0, color=canvas.GREY, linewidth=0.8, zorder=1)
    ax.axhline(0.0, color=canvas.GREY, linewidth=0.8, zorder=1)
    ax.set(xlabel="real part [rad/s]", ylabel="imaginary part [rad/s]")
    hertz = ax.secondary_yaxis("right", functions=(lambda w: w / (2 * np.pi), lambda f: 2 * np.pi * f))
    hertz.set_ylabel("frequency [Hz]")
    hertz.spines["right"].set_visible(True)


def _x(line: Any) -> Any:
    return line.get_xdata()


def _y(line: Any) -> Any:
    return line.get_ydata()


def mode_shapes(
    plant: LinearGiven, count: int = 4, *, stations: FloatArray | None = None, axes: Any = None,
    path: str | Path | None = None, title: str = "",
) -> Figure:
    """Draw the displacement shapes of the lowest flexible modes, each scaled to a largest value of 1.

    Parameters
    ----------
    plant : SecondOrder
        A linear plant with displacements [m] among its coordinates.
    count : int
        Number of modes.
    stations : ndarray, optional
        Where the displacements are along the arm [m], its root, which does not move, left out; without stations they
        are numbered.
    """
    from . import canvas

    plant = as_second_order(plant)
    found = plant.modes(count)
    rows = [i for i, s in enumerate(plant.coordinates) if s.unit == "m"]
    if found.shapes is None or not rows:
        raise NotAvailable("this plant has no displacements [m] among its coordinates: no shape to draw along the arm")
    x = np.arange(1.0, len(rows) + 1) if stations is None else np.asarray(stations, float)
    require(x.size == len(rows), f"{x.size} stations given; the plant has {len(rows)} displacements [m]")
    x = x if stations is None else np.append(0.0, x)
    with canvas.styled():
        figure, grid = canvas.panels(axes, (1, 1), (6.4, 4.0), title)
        ax = grid[0, 0]
        for number in range(len(found.frequencies_hz)):
            shape = np.real(np.asarray(found.shapes)[rows, number])
            shape = shape / (np.abs(shape).max() * (np.sign(shape[-1]) or 1.0))  # the tip moves to the positive side
            if stations is not None:
                shape = np.append(0.0, shape)
            ax.plot(x, shape, **canvas.style(number), label=f"mode {number + 1}: {found.frequencies_hz[number]:.4g} Hz")
        ax.axhline(0.0, color=canvas.GREY, linewidth=0.8, zorder=1)
        along = "number of the displacement" if stations is None else "distance from the hub [m]"
        ax.set(xlabel=along, ylabel="displacement [1]")
        canvas.legend_on_top(ax, 6.0)
        return canvas.finish(figure, path)
