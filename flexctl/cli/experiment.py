"""`flexctl excite` designs an experiment, `flexctl measure` makes a synthetic record of it."""

from __future__ import annotations

from typing import Any

import click

from ..abilities import kind_of
from ..errors import require
from ..model import Signal, names
from . import cli, common
from .effect import no_effect
from .quantities import between, named, quantity
from .warned import telling_warnings

SERIES = (".csv", ".npz", ".mat", ".json")


@common.command(
    cli,
    """
flexctl excite tokhi_azad_1994 --band 0.5Hz..60Hz --limit 0.1Nm -o multisine.csv
flexctl excite tokhi_azad_1994 --band 0.5..60 --limit 0.1 --shape 3:1,10:0.3 -o multisine.csv -o multisine.png
flexctl excite tokhi_azad_1994 --doublets 0.3s --limit 0.15Nm --count 4 -o doublets.csv
""",
)
@common.plant_argument
@common.plant_options
@click.option("--input", "name", metavar="NAME", help="Driven input.  [default: the first torque of the plant]")
@click.option("--band", metavar="LOW..HIGH", help="Frequencies of the multisine, e.g. 0.5Hz..60Hz.")
@click.option("--limit", required=True, metavar="VALUE", help="Largest torque, or other input, e.g. 0.1Nm.")
@click.option("--period", default="4.096", show_default=True, metavar="SECONDS", help="Period of the multisine.")
@click.option("--periods", default=5, show_default=True, help="Number of periods; the first is lost to the transient.")
@click.option("--crest", default=1.5, show_default=True, help="Largest crest factor.")
@click.option("--shape", metavar="HZ:AMPLITUDE,...", help="Relative amplitudes over frequency. [default: equal]")
@click.option(
    "--doublets", "width", metavar="SECONDS", help="Use pulses of both signs, of this width, instead of a multisine."
)
@click.option("--count", default=3, show_default=True, help="Number of doublets.")
@click.option("--growth", default=1.0, show_default=True, help="Factor from one doublet to the next.")
@click.option("--sample", default="1ms", show_default=True, metavar="SECONDS", help="Sample time.")
@click.option("--seed", default=0, show_default=True, help="Seed of the phases.")
@click.option(
    "-o", "files", multiple=True, required=True, metavar="FILE", help=".csv, .npz, .mat, .json, or a picture."
)
@common.json_option
def excite(
    plant: str,
    settings: tuple[str, ...],
    kind: str | None,
    name: str | None,
    band: str | None,
    limit: str,
    period: str,
    periods: int,
    crest: float,
    shape: str | None,
    width: str | None,
    count: int,
    growth: float,
    sample: str,
    seed: int,
    files: tuple[str, ...],
    as_json: bool,
) -> None:
    """Design an experiment for an arm: a multisine within a band and a torque limit, or doublets.

    JSON: input, unit, crest_factor, lines, largest, rms, duration_s, period_s; plant, version.
    """
    from .. import __version__, identify

    targets = [common.target(file, (*SERIES, *common.PICTURES)) for file in files]
    arm = common.load(plant, settings, kind)
    signal = _input(arm, name)
    most, dt = quantity(limit, signal.unit, "--limit"), quantity(sample, "s", "--sample")
    head = f"{signal.name} [{signal.unit or '1'}]"
    if width is not None:
        require(band is None and shape is None, "--doublets has no band and no shape; leave them out")
        no_effect("period", "periods", "crest", "seed", without="with --doublets, which are no multisine")
        made = identify.doublets(
            head, most, width=quantity(width, "s", "--doublets"), count=count, dt=dt, growth=growth
        )
    else:
        require(band is not None, "say --band LOW..HIGH for a multisine, or --doublets SECONDS")
        no_effect("count", "growth", without="without --doublets")
        points = [tuple(float(x) for x in part.split(":")) for part in shape.split(",")] if shape else []
        require(
            all(len(point) == 2 for point in points), f'--shape "{shape}" is not understood; write HZ:AMPLITUDE,...'
        )
        made = identify.multisine(
            head,
            between(str(band), "Hz", "--band"),
            limit=most,
            period=quantity(period, "s", "--period"),
            dt=dt,
            periods=periods,
            crest=crest,
            shape=[(a, b) for a, b in points],
            seed=seed,
        )
    _write(made, targets, "excitation")
    about = {
        "input": signal.name,
        "unit": signal.unit,
        "crest_factor": made.crest,
        "lines": int(made.lines_hz.size),
        "largest": float(abs(made.u).max()),
        "rms": float((made.u**2).mean() ** 0.5),
        "duration_s": float(made.t[-1] + made.dt),
        "period_s": made.period * made.dt,
    }
    if as_json:
        common.print_json({**about, "plant": arm.name, "version": __version__})
        return
    rows = common.table("what<", "value", "unit<")
    for key, value in about.items():
        if isinstance(value, float | int):
            unit = "s" if key.endswith("_s") else signal.unit if key in ("largest", "rms") else ""
            rows.add_row(key.removesuffix("_s").replace("_", " "), f"{value:.6g}", unit)
    common.print_table(f"{signal.name} of {arm.name}", rows)


def _input(arm: Any, name: str | None) -> Signal:
    from ..model import index_of

    signals: tuple[Signal, ...] = arm.model.inputs
    require(bool(signals), f"{arm.name} ({kind_of(arm.model)}) has no input that could be driven")
    return signals[0] if name is None else signals[index_of(f"input of {arm.name}", name, signals)]


@common.command(
    cli,
    """
flexctl measure tokhi_azad_1994 multisine.csv --delay 2 --encoder 20 -o record.npz
flexctl measure my_arm.toml multisine.csv --output chord1_angle --noise chord1_angle=1e-5 -o record.csv
""",
)
@common.plant_argument
@click.argument("excitation", metavar="EXCITATION")
@common.plant_options
@click.option("--input", "name", metavar="NAME", help="Driven input.  [default: the column of the file]")
@click.option(
    "--output", "outputs", multiple=True, metavar="NAME", help="Sensor to record; repeatable.  [default: all]"
)
@click.option("--delay", default=0, show_default=True, metavar="SAMPLES", help="Delay of the input in samples.")
@click.option("--encoder", default=0, metavar="BITS", help="Bits per turn of the encoders of joint angles; 0: none.")
@click.option(
    "--quantum", "quanta", multiple=True, metavar="NAME=STEP", help="Resolution of an output; repeatable."
)
@click.option("--noise", "noises", multiple=True, metavar="NAME=SIGMA", help="White noise of a sensor; repeatable.")
@click.option("--input-noise", default="0", metavar="SIGMA", help="White noise of the torque sensor.")
@click.option("--seed", default=0, show_default=True, help="Seed of the noise.")
@click.option("--engine", default="auto", show_default=True, help="linear (with dry friction), full, or auto.")
@click.option(
    "-o", "files", multiple=True, required=True, metavar="FILE", help=".csv, .npz, .mat, .json, or a picture."
)
@common.json_option
def measure(
    plant: str,
    excitation: str,
    settings: tuple[str, ...],
    kind: str | None,
    name: str | None,
    outputs: tuple[str, ...],
    delay: int,
    encoder: int,
    quanta: tuple[str, ...],
    noises: tuple[str, ...],
    input_noise: str,
    seed: int,
    engine: str,
    files: tuple[str, ...],
    as_json: bool,
) -> None:
    """Make a synthetic record of an arm under an excitation, with delay, encoders, noise and joint friction.

    EXCITATION is a file from `flexctl excite`, or your own with time and input.

    JSON: samples, sample_time_s, inputs, outputs, ranges, engine, seed; plant, version.
    """
    from .. import __version__, identify

    targets = [common.target(file, (*SERIES, *common.PICTURES)) for file in files]
    arm = common.load(plant, settings, kind)
    units = {s.name: s.unit for s in arm.model.outputs}
    signal = _named_input(arm, excitation, name)
    drive = identify.read_excitation(excitation, signal.name, signal.unit)
    if not noises and not quantity(input_noise, signal.unit, "--input-noise"):
        no_effect("seed", without="without --noise or --input-noise")
    with common.progress() as report, telling_warnings():
        made = identify.measure(
            arm,
            drive,
            list(outputs) or None,
            delay=delay,
            encoder_bits=encoder,
            quanta=named("--quantum", quanta, units, "output"),
            noise=named("--noise", noises, units, "output"),
            input_noise=quantity(input_noise, signal.unit, "--input-noise"),
            seed=seed,
            engine=engine,
            progress=report,
        )
    _write(made, targets, "record")
    ranges = {s.name: float(made.y[:, k].max() - made.y[:, k].min()) for k, s in enumerate(made.outputs)}
    if as_json:
        about = {
            "samples": made.t.size,
            "sample_time_s": made.dt,
            "inputs": names(made.inputs),
            "outputs": names(made.outputs),
        }
        told = {"ranges": ranges, "engine": made.provenance["engine"], "seed": seed, "plant": arm.name}
        click.echo(common.as_text({**about, **told, "version": __version__}))
        return
    rows = common.table("output<", "range", "unit<")
    for s in made.outputs:
        rows.add_row(s.name, f"{ranges[s.name]:.5g}", s.unit or "1")
    common.print_table(f"{arm.name}, {made.t.size} samples of {made.dt:g} s ({made.provenance['engine']})", rows)


def _named_input(arm: Any, path: str, name: str | None) -> Signal:
    """Return the input that a file drives: the one named, or that which a column is called like."""
    from ..identify.reading import signals_of

    if name is not None:
        return _input(arm, name)
    found = [s for s in arm.model.inputs if s.name in signals_of(path)[0]]
    return found[0] if len(found) == 1 else _input(arm, None)


def _write(made: Any, targets: list[Any], kind: str) -> None:
    """Write a result into files: as a picture of its kind, or as a table."""
    for path in targets:
        if path.suffix.lower() in common.PICTURES:
            from ..io import plot

            getattr(plot, kind)(made, path=path)
        else:
            made.save(path)
        common.tell(path)
