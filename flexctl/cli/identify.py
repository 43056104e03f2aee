"""`flexctl identify`: models from measurements."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import DefinitionError, require
from . import cli
from .common import (
    PICTURES, command, debug_option, json_option, load, plant_argument, plant_options, print_json, print_table,
    progress, table, target, tell,
)
from .quantities import between, key_unit, quantity
from .warned import telling_warnings

if TYPE_CHECKING:
    from ..identify import Identified, MeasuredResponse, Record

TABLES = (".csv", ".npz", ".mat", ".json")


class Identify(click.Group):
    """A group whose usual command, `parameters`, may be left out."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Return the command, `parameters` where the first word is none."""
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            args = ["parameters", *args]
        return super().resolve_command(ctx, args)


@cli.group(cls=Identify, name="identify")
def identify() -> None:
    """Find models from measurements: parameters of a plant file, modal models, state space models.

    \b
      flexctl identify PLANT DATA... --free KEY      parameters of a plant file, written back with their deviations
      flexctl identify frf RECORD                    frequency responses
      flexctl identify modal DATA                    a modal model of them, over orders
      flexctl identify subspace RECORD --order N     a sampled state space model

    DATA are records or frequency responses in .csv (with units in the head), .npz, .mat, .json or universal files (.uff).
    A joint that rubs is identified from records of two amplitudes at least.
    """


identify.params.append(debug_option())


def record_options(function: Any) -> Any:
    """Add what says how a record is to be read."""
    for option in (
        click.option("--input", "inputs", multiple=True, metavar="NAME", help="Column that is an input; repeatable."),
        click.option("--reference", "references", multiple=True, metavar="NAME", help="Column that is a reference."),
        click.option("--unit", "units", multiple=True, metavar="NAME=UNIT", help="Unit of a column that states none."),
        click.option("--rename", "names", multiple=True, metavar="OLD=NEW", help="Call a column as the plant does."),
        click.option("--period", metavar="SECONDS", help="Period of the excitation; 0: none.  [default: found]"),
    ):
        function = option(function)
    return function


def _pairs(option: str, texts: Sequence[str]) -> dict[str, str]:
    found = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        require(bool(name and equals and value), f'{option} "{text}" is not understood; write NAME=VALUE')
        found[name] = value
    return found


def _record(
    path: str, inputs: Sequence[str], references: Sequence[str], units: Sequence[str], names: Sequence[str], period: str | None
) -> Record:
    from ..identify import read_record

    return read_record(
        path, inputs=inputs, references=references, units=_pairs("--unit", units), rename=_pairs("--rename", names),
        period=None if period is None else quantity(period, "s", "--period"),
    )


def _is_response(path: str) -> bool:
    """Whether a file holds frequency responses: told by its columns."""
    if Path(path).suffix.lower() in (".uff", ".unv"):
        from ..identify.uff import RESPONSE, read_functions

        return all(f.kind == RESPONSE for f in read_functions(path))
    from ..identify.reading import signals_of

    return any(name.endswith(":real") for name in signals_of(path)[0])


@command(
    identify,
    """
flexctl identify my_arm.toml small.csv large.csv --free material.steel.youngs_modulus --free friction.dry.coulomb -o found.toml
flexctl identify my_arm.toml record.npz --free payload.mass=0.1,joint.1.hub_inertia --validate doublets.npz -o fit.png
""",
)
@plant_argument
@click.argument("data", metavar="DATA...", nargs=-1, required=True)
@plant_options
@record_options
@click.option(
    "--free", multiple=True, required=True, metavar="KEY[=START],...", help="Parameter that is identified, and where to begin."
)
@click.option("--delay", default="scan", show_default=True, metavar="SAMPLES", help="Samples by which inputs come late.")
@click.option("--validate", "others", multiple=True, metavar="FILE", help="Record that the result is tried on; repeatable.")
@click.option("--no-mesh", is_flag=True, help="Leave out the check of the mesh.")
@click.option(
    "-o", "files", multiple=True, metavar="FILE",
    help="Write the plant (.toml), the table (.csv, .json, .npz, .mat) or a picture (.png, .pdf, .svg); repeatable.",
)
@json_option
def parameters(
    plant: str, data: tuple[str, ...], settings: tuple[str, ...], kind: str | None, inputs: tuple[str, ...],
    references: tuple[str, ...], units: tuple[str, ...], names: tuple[str, ...], period: str | None, free: tuple[str, ...],
    delay: str, others: tuple[str, ...], no_mesh: bool, files: tuple[str, ...], as_json: bool,
) -> None:
    """Find parameters of a plant file from records and frequency responses together.

    Prints each value with its standard deviation; what is to be known of it (correlation, misfits that are no noise,
    parameters that the data do not tell) comes as warnings. The plant file written with -o has the values, where they are
    from, and an [uncertainty] table that sweeps and certificates draw from.

    JSON: values, sigma, start, correlation, delay_samples, chi2, condition, fit_percent, whiteness, validation_percent,
    cautions; plant, model, overrides, version.
    """
    from ..identify import parameters as identified, read_frf

    targets = [target(file, (".toml", *TABLES, *PICTURES)) for file in files]
    arm = load(plant, settings, kind)
    keys, start = _free(free)
    how = (inputs, references, units, names, period)
    with progress() as report, telling_warnings():
        items: list[Any] = [read_frf(p, **_pairs("--unit", units)) if _is_response(p) else _record(p, *how) for p in data]
        trials = [(p, _record(p, *how)) for p in others]
        found = identified(
            arm, items, keys, start=start, delay=delay if delay == "scan" else _whole(delay), mesh=not no_mesh, progress=report
        )
        tried = {Path(p).name: found.validate(r) for p, r in trials}
    for path in targets:
        _write(found, items, trials, path)
        tell(path)
    if as_json:
        print_json({**_about(found), "validation_percent": tried, **_identity(found)})
        return
    rows = table("parameter<", "start", "value", "sigma", "sigma %", "unit<")
    known = {row.key: row.unit for row in found.plant.rows}
    for key, value in found.values.items():
        part = 100.0 * found.sigma[key] / value
        rows.add_row(key, f"{found.start[key]:.5g}", f"{value:.7g}", f"{found.sigma[key]:.2g}", f"{part:.2g}", known[key])
    print_table(f"{arm.name}: delay {found.delay} samples, chi^2 {found.chi2:.3g}", rows)
    fits = table("data<", "output<", "fit %", "lags outside the 99 % band %")
    for (source, output), part in found.whiteness.items():
        fit = found.fit.get((source, output))
        fits.add_row(source, output, "" if fit is None else f"{fit:.3f}", f"{100 * part:.0f}")
    for source, outputs in tried.items():
        for output, value in outputs.items():
            fits.add_row(f"{source} (not used)", output, f"{value:.3f}", "")
    print_table("what is left", fits)


def _whole(text: str) -> int:
    require(text.isdigit(), f'--delay "{text}" is not a whole number of samples, nor scan')
    return int(text)


def _free(texts: Sequence[str]) -> tuple[list[str], dict[str, float]]:
    keys: list[str] = []
    start: dict[str, float] = {}
    for text in (part for several in texts for part in several.split(",")):
        key, equals, value = (part.strip() for part in text.partition("="))
        require(bool(key), f'--free "{text}" is not understood; write KEY or KEY=START')
        keys.append(key)
        if equals:
            start[key] = quantity(value, key_unit(key) or "", f"--free {key}")
    return keys, start


def _about(found: Identified) -> dict[str, Any]:
    about = dict(found._about())
    return {
        "values": dict(found.values), "sigma": dict(found.sigma), "start": dict(found.start),
        "correlation": about["correlation"], "delay_samples": found.delay, "chi2": found.chi2, "condition": found.condition,
        "fit_percent": about["fit_percent"], "whiteness": about["whiteness"], "cautions": list(found.cautions),
    }


def _identity(found: Identified) -> dict[str, Any]:
    from .common import identity

    return identity(found.plant)


def _write(found: Identified, items: Sequence[Any], trials: Sequence[tuple[str, Record]], path: Path) -> None:
    if path.suffix.lower() not in PICTURES:
        found.save(path)
        return
    from ..identify import Record
    from ..io.plot import frequency_fit, time_fit

    records = [r for _, r in trials] or [item for item in items if isinstance(item, Record)]
    if records:
        time_fit(found, records[0], path=path, title=f"{found.plant.name}: {records[0].provenance.get('file', '')}")
    else:
        frequency_fit(items[0], found.response(items[0]), path=path, title=found.plant.name)


@command(
    identify,
    """
flexctl identify frf record.npz --band 0.5Hz..60Hz -o frf.npz -o frf.png
flexctl identify frf random.csv --method H1 --segment 4s -o frf.csv
""",
)
@click.argument("records", metavar="RECORD...", nargs=-1, required=True)
@record_options
@click.option("--method", default="auto", show_default=True, help="periods, H1, H2, Hv, reference (closed loop), or auto.")
@click.option("--band", metavar="LOW..HIGH", help="Frequencies, e.g. 0.5Hz..60Hz.")
@click.option("--segment", metavar="SECONDS", help="Length of averaged segments.")
@click.option("-o", "files", multiple=True, metavar="FILE", help="Write .csv, .npz, .mat, .json or a picture; repeatable.")
@json_option
def frf(
    records: tuple[str, ...], inputs: tuple[str, ...], references: tuple[str, ...], units: tuple[str, ...],
    names: tuple[str, ...], period: str | None, method: str, band: str | None, segment: str | None, files: tuple[str, ...],
    as_json: bool,
) -> None:
    """Estimate frequency responses of records, with standard deviations and coherence.

    JSON: omega_rad_s, inputs, outputs, response, sigma, coherence, method; version.
    """
    from .. import __version__, identify as methods

    targets = [target(file, (*TABLES, *PICTURES)) for file in files]
    with telling_warnings():
        data = [_record(p, inputs, references, units, names, period) for p in records]
        found = methods.frf(
            data, method, band=_band(band), segment=None if segment is None else quantity(segment, "s", "--segment")
        )
    _write_response(found, None, targets)
    if as_json:
        print_json({
            **found.to_dict(), "sigma": found.sigma, "coherence": found.coherence, "method": found.method,
            "version": __version__,
        })
        return
    rows = table("output<", "input<", "lines", "from Hz", "to Hz", "median sigma %", "median coherence")
    import numpy as np

    for i, y in enumerate(found.outputs):
        for k, u in enumerate(found.inputs):
            part = np.nanmedian(found.sigma[i, k] / np.maximum(np.abs(found.response[i, k]), 1e-300))
            ends = found.omega[[0, -1]] / (2 * np.pi)
            rows.add_row(y.name, u.name, str(found.omega.size), f"{ends[0]:.4g}", f"{ends[1]:.4g}", f"{100 * part:.3g}",
                         f"{np.nanmedian(found.coherence[i]):.4f}")
    print_table(f"frequency responses ({found.method})", rows)


def _band(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    low, high = between(text, "Hz", "--band")
    return 6.283185307179586 * low, 6.283185307179586 * high


def _write_response(found: MeasuredResponse, model: Any, targets: Sequence[Path]) -> None:
    from ..io.plot import frequency_fit

    for path in targets:
        if path.suffix.lower() in PICTURES:
            frequency_fit(found, model, path=path)
        else:
            found.save(path)
        tell(path)


@command(
    identify,
    """
flexctl identify modal record.npz -o modal.npz -o stabilisation.png
flexctl identify modal frf.uff --most 20 -o plant.mat
""",
)
@click.argument("data", metavar="DATA")
@record_options
@click.option("--band", metavar="LOW..HIGH", help="Frequencies, e.g. 0.5Hz..60Hz.")
@click.option("--pairs", type=click.IntRange(min=1), help="Number of pole pairs.  [default: as many as pay]")
@click.option("--most", default=12, show_default=True, help="Highest order that is tried.")
@click.option("--delay", default="scan", show_default=True, metavar="SECONDS", help="Delay in the data.")
@click.option(
    "-o", "files", multiple=True, metavar="FILE",
    help="Write the plant (.npz, .mat, .json), the modes (.csv) or a picture: NAME.png the stabilisation diagram, "
    "NAME-fit.png measured beside model.",
)
@json_option
def modal(
    data: str, inputs: tuple[str, ...], references: tuple[str, ...], units: tuple[str, ...], names: tuple[str, ...],
    period: str | None, band: str | None, pairs: int | None, most: int, delay: str, files: tuple[str, ...], as_json: bool,
) -> None:
    """Fit a modal model to frequency responses, or to those of a record: common poles, order by order.

    JSON: frequencies_hz, damping, sigma_frequency_hz, sigma_damping, stable, chi2, delay_s, orders; version.
    """
    from .. import __version__, identify as methods

    targets = [target(file, (".npz", ".mat", ".json", ".csv", *PICTURES)) for file in files]
    with progress() as report, telling_warnings():
        if _is_response(data):
            response = methods.read_frf(data, **_pairs("--unit", units))
            limits = _band(band)
            response = response if limits is None else response.band(*limits)
        else:
            response = methods.frf(_record(data, inputs, references, units, names, period), band=_band(band))
        found = methods.modal(
            response, pairs=pairs, most=most, delay=delay if delay == "scan" else quantity(delay, "s", "--delay"), progress=report
        )
    for path in targets:
        if path.suffix.lower() in PICTURES:
            from ..io.plot import frequency_fit, stabilisation

            stabilisation(found, path=path)
            beside = path.with_name(f"{path.stem}-fit{path.suffix}")
            frequency_fit(found.data, found.model, path=beside)
            tell(beside)
        elif path.suffix.lower() == ".csv":
            found.save(path)
        else:
            found.plant.save(path)
        tell(path)
    hertz, zeta = found.frequencies_hz, found.damping
    if as_json:
        print_json({
            "frequencies_hz": hertz, "damping": zeta, "sigma_frequency_hz": hertz * found.sigma_frequency,
            "sigma_damping": zeta * found.sigma_damping, "stable": [bool(s) for s in found.stable], "chi2": found.chi2,
            "delay_s": found.delay, "orders": [{"pairs": o.pairs, "chi2": o.chi2} for o in found.orders],
            "version": __version__,
        })
        return
    rows = table("mode", "frequency Hz", "sigma", "damping %", "sigma", "stable<")
    for k, f in enumerate(hertz):
        rows.add_row(
            str(k + 1), f"{f:.6g}", f"{f * found.sigma_frequency[k]:.2g}", f"{100 * zeta[k]:.4g}",
            f"{100 * zeta[k] * found.sigma_damping[k]:.2g}", "yes" if found.stable[k] else "no",
        )
    print_table(f"{found.poles.size} modes, chi^2 {found.chi2:.3g}, delay {found.delay:.4g} s", rows)


@command(
    identify,
    """
flexctl identify subspace record.csv --order 6 -o model.mat -o fit.png
flexctl identify subspace record.csv --order 4 --split 0.5
""",
)
@click.argument("path", metavar="RECORD")
@record_options
@click.option("--order", type=click.IntRange(min=1), required=True, help="Number of states.")
@click.option("--split", metavar="PART", help="Fit to this part of the record, validate on the rest, e.g. 0.5.")
@click.option("--no-refine", is_flag=True, help="Leave out the output error.")
@click.option("-o", "files", multiple=True, metavar="FILE", help="Write the plant (.npz, .mat, .json) or a picture.")
@json_option
def subspace(
    path: str, inputs: tuple[str, ...], references: tuple[str, ...], units: tuple[str, ...], names: tuple[str, ...],
    period: str | None, order: int, split: str | None, no_refine: bool, files: tuple[str, ...], as_json: bool,
) -> None:
    """Find a sampled state space model of a record: PO-MOESP, then output error.

    JSON: fit_percent, validation_percent, frequencies_hz, damping, order, horizon, on_bound_hz; version.
    """
    from .. import __version__, identify as methods

    targets = [target(file, (".npz", ".mat", ".json", *PICTURES)) for file in files]
    with progress() as report, telling_warnings():
        data = _record(path, inputs, references, units, names, period)
        used, rest = _split(data, split)
        found = methods.subspace(used, order, refine=not no_refine, progress=report)
        tried = found.validate(rest) if rest is not None else {}
    for file in targets:
        if file.suffix.lower() in PICTURES:
            from ..io.plot import time_fit

            time_fit(found, rest or used, path=file)
        else:
            found.plant.save(file)
        tell(file)
    if as_json:
        print_json({
            "fit_percent": dict(found.fit), "validation_percent": tried, "frequencies_hz": found.frequencies_hz,
            "damping": found.damping, "order": order, "horizon": found.horizon,
            "on_bound_hz": [w / 6.283185307179586 for w in found.on_bound], "version": __version__,
        })
        return
    fits = table("output<", "fit %", "validation %")
    for name, value in found.fit.items():
        fits.add_row(name, f"{value:.3f}", f"{tried[name]:.3f}" if tried else "")
    print_table(f"order {order}, horizon {found.horizon}", fits)
    rows = table("mode", "frequency Hz", "damping %")
    for k, f in enumerate(found.frequencies_hz):
        rows.add_row(str(k + 1), f"{f:.6g}", f"{100 * found.damping[k]:.4g}")
    print_table("modes", rows)


def _split(data: Record, part: str | None) -> tuple[Record, Record | None]:
    if part is None:
        return data, None
    share = quantity(part, "1", "--split")
    if not 0.05 <= share <= 0.95:
        raise DefinitionError(f"--split {part} must be a part from 0.05 to 0.95")
    length = float(data.t[-1] - data.t[0]) + data.dt
    edge = round(share * data.t.size) * data.dt
    return data.part(0.0, edge - data.dt), data.part(edge, length)
