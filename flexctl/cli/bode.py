"""`flexctl bode`: the frequency response as a picture, a table, a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from ..errors import require
from ..linear import FirstOrder, LinearPlant
from ..model import FloatArray, index_of
from . import cli
from .common import (
    PICTURES,
    as_text,
    command,
    compact,
    csv,
    identity,
    json_option,
    plant_argument,
    plant_options,
    print_json,
    print_table,
    table,
    target,
    tell,
)
from .linear import linear_plant

if TYPE_CHECKING:
    from ..frequency import FrequencyResponse


@command(
    cli,
    """
flexctl bode tokhi_azad_1994 -o bode.png
flexctl bode tokhi_azad_1994 --output tip --from 0.5 --to 200 -o tip.csv
flexctl bode tokhi_azad_1994 --json > bode.json
""",
)
@plant_argument
@plant_options
@click.option(
    "--input", "inputs", multiple=True, metavar="NAME", help="Input of the plant; repeatable.  [default: all]"
)
@click.option(
    "--output", "outputs", multiple=True, metavar="NAME", help="Output of the plant; repeatable.  [default: all]"
)
@click.option("--from", "low", type=float, metavar="HZ", help="First frequency [Hz].")
@click.option("--to", "high", type=float, metavar="HZ", help="Last frequency [Hz].")
@click.option(
    "--points",
    type=click.IntRange(2, 1_000_000),
    default=400,
    show_default=True,
    help="Points of the grid, peaks extra.",
)
@click.option("-o", "files", multiple=True, metavar="FILE", help="Write .png, .pdf, .svg, .csv or .json; repeatable.")
@json_option
def bode(
    plant: str, settings: tuple[str, ...], kind: str | None, inputs: tuple[str, ...], outputs: tuple[str, ...],
    low: float | None, high: float | None, points: int, files: tuple[str, ...], as_json: bool,
) -> None:  # fmt: skip
    """Draw or tabulate the frequency response, peaks resolved.

    The grid contains every lightly damped peak. Without -o or --json: a table of the peaks.

    JSON: omega_rad_s, inputs, outputs, response.real and response.imag as [output][input][frequency];
    plant, model, overrides, version.

    PLANT may also be a linear plant in a .mat, .npz or .json file.
    """
    targets = [target(name, (*PICTURES, ".csv", ".json")) for name in files]
    _check_band(low, high)
    linear = chosen(linear_plant(plant, settings, kind), inputs, outputs)
    require(bool(linear.inputs), f"{plant} has no input, hence no frequency response; give it a matrix B")
    found = _response(linear, low, high, points)
    about = identity(linear)
    for path in targets:
        _write_response(found, about, path)
        tell(path)
    if as_json:
        print_json({**found.to_dict(), **about})
    elif not targets:
        _print_peaks(found, f"{about['plant']} ({about['model']})")


def _check_band(low: float | None, high: float | None) -> None:
    for name, value in (("--from", low), ("--to", high)):
        require(value is None or (np.isfinite(value) and value > 0), f"{name} {value} Hz must be positive and finite")
    require(low is None or high is None or low < high, f"--from {low} Hz is not below --to {high} Hz")


def _response(linear: LinearPlant, low: float | None, high: float | None, points: int) -> FrequencyResponse:
    from ..frequency import grid, response

    lo, hi = (None if hertz is None else 2 * np.pi * hertz for hertz in (low, high))
    return response(linear, grid(linear, lo, hi, points))


def chosen(plant: LinearPlant, inputs: Sequence[str], outputs: Sequence[str]) -> LinearPlant:
    """Return the plant with some of its inputs and outputs, by name; with all when none are named."""
    columns = [index_of("input", n, plant.inputs) for n in inputs] or list(range(len(plant.inputs)))
    rows = [index_of("output", n, plant.outputs) for n in outputs] or list(range(len(plant.outputs)))
    into, out_of = tuple(plant.inputs[j] for j in columns), tuple(plant.outputs[i] for i in rows)
    B, through = plant.B[:, columns], np.ix_(rows, columns)
    if isinstance(plant, FirstOrder):
        return replace(plant, B=B, C=plant.C[rows], D=plant.D[through], inputs=into, outputs=out_of)
    Cq, Cv, Ca = plant.Cq[rows], plant.Cv[rows], plant.Ca[rows]
    return replace(plant, B=B, Cq=Cq, Cv=Cv, Ca=Ca, Du=plant.Du[through], inputs=into, outputs=out_of)


def _write_response(found: FrequencyResponse, about: dict[str, Any], path: Path) -> None:
    from ..files import write_atomically

    if path.suffix.lower() in PICTURES:
        from ..plot import bode as draw

        draw(found, path=path, title=_title(about))
    elif path.suffix.lower() == ".json":
        text = as_text({**found.to_dict(), **about})
        write_atomically(path, lambda stream: stream.write(text.encode()))
    else:
        text = response_csv(found)
        write_atomically(path, lambda stream: stream.write(text.encode()))


def _title(about: dict[str, Any]) -> str:
    changed = ", ".join(f"{key} = {value}" for key, value in about["overrides"].items())
    return ", ".join(part for part in (about["plant"], changed) if part)


def response_csv(found: FrequencyResponse) -> str:
    """Return a response as comma-separated columns: frequency [Hz], then four columns per channel."""
    heads, columns = ["frequency [Hz]"], [found.omega / (2 * np.pi)]
    decibel, degrees = found.magnitude_db(), found.phase_deg()
    for i, output in enumerate(found.outputs):
        for j, input_ in enumerate(found.inputs):
            channel = found.response[i, j]
            unit = f"{output.unit}/({input_.unit})"
            for what, data in ((f"real [{unit}]", channel.real), (f"imag [{unit}]", channel.imag)):
                heads.append(f"{output.name} from {input_.name} {what}")
                columns.append(data)
            for what, data in (("magnitude [dB]", decibel[i, j]), ("phase [deg]", degrees[i, j])):
                heads.append(f"{output.name} from {input_.name} {what}")
                columns.append(data)
    return csv(heads, columns)


def _print_peaks(found: FrequencyResponse, title: str) -> None:
    listed = table("channel<", "frequency [Hz]", "magnitude [dB]", "phase [deg]")
    decibel, degrees = found.magnitude_db(), found.phase_deg()
    for i, output in enumerate(found.outputs):
        for j, input_ in enumerate(found.inputs):
            for k in _peaks(decibel[i, j]):
                channel = f"{input_.name} → {output.name}"
                listed.add_row(
                    channel,
                    compact(found.omega[k] / (2 * np.pi), 6),
                    compact(decibel[i, j, k]),
                    compact(degrees[i, j, k]),
                )
    print_table(f"{title}: peaks of the frequency response", listed)


def _peaks(decibel: FloatArray) -> list[int]:
    inner = decibel[1:-1]
    return [int(k) + 1 for k in np.flatnonzero((inner > decibel[:-2]) & (inner >= decibel[2:]))]
