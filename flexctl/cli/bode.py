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
from ..model import index_of
from . import cli, common, points
from .linear import linear_plant
from .margins import measured
from .peaks import Channels, left_out, live_channels, print_peaks, shown_signals
from .quantities import quantity

if TYPE_CHECKING:
    from ..frequency import FrequencyResponse


def _hertz(ctx: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    return None if value is None else quantity(value, "Hz", parameter.opts[0])


@common.command(
    cli,
    """
flexctl bode tokhi_azad_1994 -o bode.png
flexctl bode tokhi_azad_1994 --output chord1_angle --from 0.5 --to 200 -o chord.csv
flexctl bode planar_2r_flexible --pose joint2=60deg --hold joint1 --input joint2_torque --output tip_x
flexctl bode tokhi_azad_1994 --json > bode.json
""",
)
@common.plant_argument
@common.plant_options
@click.option(
    "--input", "inputs", multiple=True, metavar="NAME", help="Input of the plant; repeatable.  [default: its drives]"
)
@click.option(
    "--output", "outputs", multiple=True, metavar="NAME",
    help="Output of the plant; repeatable.  [default: driven joints, tip, own sensors]",
)
@click.option("--all", "everything", is_flag=True, help="Every input and output in pictures and in the table.")
@click.option("--from", "low", metavar="HZ", callback=_hertz, help="First frequency [Hz], or 10rad/s.")
@click.option("--to", "high", metavar="HZ", callback=_hertz, help="Last frequency [Hz].")
@click.option(
    "--points",
    "count",
    type=click.IntRange(2, 1_000_000),
    default=400,
    show_default=True,
    help="Grid points, besides those at peaks.",
)
@click.option("-o", "files", multiple=True, metavar="FILE", help="Write .png, .pdf, .svg, .csv or .json; repeatable.")
@points.point_options
@common.report_option
@common.json_option
def bode(
    plant: str, settings: tuple[str, ...], kind: str | None, inputs: tuple[str, ...], outputs: tuple[str, ...],
    low: float | None, high: float | None, count: int, files: tuple[str, ...], page: Path | None,
    as_json: bool, everything: bool, where: points.Where,
) -> None:
    """Draw or tabulate the frequency response, peaks resolved.

    The grid resolves every lightly damped peak; for a discretised arm it ends at the tenth mode unless --to says
    otherwise. Picture, table and JSON state which modes lie outside. Without -o or --json: a table of the peaks.
    Numbers in .csv, .json and --json cover all channels unless some are named.

    JSON: omega_rad_s, inputs, outputs, modes_outside_hz, response.real and response.imag as [output][input][frequency];
    plant, model, overrides, version, whichever of pose, load, held and joint_rates was given, and sigma (standard
    deviations) of a measured response that has them; pictures shade two of them.

    PLANT may also be a linear plant in a .mat, .npz, .json or .mtx file, a plant file of matrices, or a measured
    response in a .mat, .npz or .json file, which is drawn at its own frequencies.
    """
    targets = [common.target(name, (*common.PICTURES, ".csv", ".json")) for name in files]
    _check_band(low, high)
    data = measured(plant)
    if data is not None:
        require(not settings and kind is None, f"{plant} is measured: --set and --model are for plants")
        require(not (where.moved or where.hold), f"{plant} is measured: there is no other pose, load or spin of it")
        found = _cut(data, low, high)
        _show_data(found, (inputs, outputs), targets, as_json)
        common.write_report(found, page, title=plant)
        return
    with common.patiently(f"linear plant of {plant}"):
        linear = chosen(linear_plant(plant, settings, kind, where), inputs, outputs)
    require(bool(linear.inputs), f"{plant} has no input, hence no frequency response; give it a matrix B")
    about = {**common.identity(linear), **points.described(linear)}
    into, out_of = shown_signals(linear, inputs, outputs, everything)
    numbers = as_json or any(path.suffix.lower() in (".csv", ".json") for path in targets)
    with common.progress() as report:
        report(f"frequency response of {about['plant'] or plant}", 0.0)
        found = _response(linear if numbers else chosen(linear, into, out_of), low, high, count)
    channels = live_channels(found, into, out_of)
    others = left_out(linear, found, len(channels))
    for path in targets:
        _write_response(found, about, path, channels)
        common.tell(path)
    common.write_report(found, page, title=f"{about['plant'] or plant}{points.title(linear)}")
    if others and any(path.suffix.lower() in common.PICTURES for path in targets):
        click.echo(f"drawn: {others}", err=True)
    if as_json:
        common.print_json({**found.to_dict(), **about})
    elif not (targets or page):
        print_peaks(found, channels, f"{about['plant']} ({about['model']}){points.title(linear)}", others)


def _cut(data: FrequencyResponse, low: float | None, high: float | None) -> FrequencyResponse:
    """Return the lines from low to high [Hz]."""
    hertz = data.omega / (2 * np.pi)
    inside = (hertz >= (low or 0.0)) & (hertz <= (high or np.inf))
    require(bool(inside.any()), f"no line lies in this band; they reach from {hertz[0]:.4g} to {hertz[-1]:.4g} Hz")
    sigma = None if data.sigma is None else data.sigma[:, :, inside]
    return replace(data, omega=data.omega[inside], response=data.response[:, :, inside], sigma=sigma)


def _show_data(
    found: FrequencyResponse, named: tuple[Sequence[str], Sequence[str]], targets: Sequence[Path], as_json: bool
) -> None:
    """Draw, write or tabulate a measured response at its own frequencies."""
    into, out_of = (
        list(some) or [s.name for s in every] for some, every in zip(named, (found.inputs, found.outputs), strict=True)
    )
    channels, about = live_channels(found, into, out_of), {**common.identity(found), "model": "measured"}
    for path in targets:
        _write_response(found, about, path, channels)
        common.tell(path)
    if as_json:
        common.print_json({**found.to_dict(), **about})
    elif not targets:
        print_peaks(found, channels, f"{about['plant']} (measured)", "")


def _check_band(low: float | None, high: float | None) -> None:
    for name, value in (("--from", low), ("--to", high)):
        require(value is None or value > 0, f"{name} {value} Hz must be positive")
    require(low is None or high is None or low < high, f"--from {low} Hz is not below --to {high} Hz")


def _response(linear: LinearPlant, low: float | None, high: float | None, points: int) -> FrequencyResponse:
    from ..frequency import frequency_response

    lo, hi = (None if hertz is None else 2 * np.pi * hertz for hertz in (low, high))
    return frequency_response(linear, lo=lo, hi=hi, points=points)


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


def _write_response(found: FrequencyResponse, about: dict[str, Any], path: Path, channels: Channels) -> None:
    from ..support.files import write_atomically

    if path.suffix.lower() in common.PICTURES:
        from ..io.plot import bode as draw

        draw(found, channels, path=path, title=_title(about))
    elif path.suffix.lower() == ".json":
        text = common.as_text({**found.to_dict(), **about})
        write_atomically(path, lambda stream: stream.write(text.encode()))
    else:
        text = response_csv(found)
        write_atomically(path, lambda stream: stream.write(text.encode()))


def _title(about: dict[str, Any]) -> str:
    changed = ", ".join(f"{key} = {value}" for key, value in about["overrides"].items())
    return ", ".join(part for part in (about["plant"], changed) if part)


def response_csv(found: FrequencyResponse) -> str:
    """Return a response as comma-separated columns: frequency [Hz], then four per channel, and its sigma if known."""
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
            if found.sigma is not None:
                heads.append(f"{output.name} from {input_.name} standard deviation [{unit}]")
                columns.append(found.sigma[i, j])
    return common.csv(heads, columns)
