"""`flexctl identify`: models from measurements."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ..errors import require
from . import cli, common
from .quantities import key_unit, quantity
from .warned import telling_warnings

if TYPE_CHECKING:
    from ..identify import Identified, MeasuredResponse, Record

DAY = 86400.0
"""Longest limit of time [s] that is believed without its unit."""
TABLES = (".csv", ".npz", ".mat", ".json")
RECORDS = (*TABLES, ".uff", ".unv")


class Identify(common.Group):
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
      flexctl identify PLANT DATA... --free KEY      parameters of a plant file, written back with standard deviations
      flexctl identify frf RECORD                    frequency responses
      flexctl identify modal DATA                    a modal model fitted to them, over a range of orders
      flexctl identify subspace RECORD --order N     a sampled state space model

    DATA are records or frequency responses in .csv (with units in the header), .npz, .mat, .json or universal files
    (.uff). A joint with dry friction needs records at two amplitudes or more.

    \b
    Examples:
      flexctl identify frf record.csv -o frf.png
      flexctl identify modal record.csv -o stabilisation.png
    """


identify.params.append(common.debug_option())


class Reading(NamedTuple):
    """How records and frequency responses of files are to be read."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    references: tuple[str, ...]
    units: dict[str, str]
    names: dict[str, str]
    period: float | None

    def check(self, files: Sequence[str]) -> None:
        """Refuse a choice for a file that is not among those given."""
        for word in (*self.inputs, *self.outputs, *self.references):
            file, _ = _of_file(word)
            known = [Path(path).name for path in files]
            require(not file or file in known, f"{word}: {file} is not among the files given, {', '.join(known)}")

    def record(self, path: str) -> Record:
        """Return the record of a file."""
        from ..identify import read_record

        inputs, outputs, references = (_chosen(w, path) for w in (self.inputs, self.outputs, self.references))
        return read_record(
            path, inputs=inputs, outputs=outputs, references=references, units=self.units, rename=self.names,
            period=self.period,
        )

    def response(self, path: str) -> MeasuredResponse:
        """Return the frequency responses of a file."""
        from ..identify import read_frf

        inputs, outputs = _chosen(self.inputs, path), _chosen(self.outputs, path)
        return read_frf(path, **self.units).choose(outputs or None, inputs or None)


def _of_file(word: str) -> tuple[str, str]:
    """Return the name of the file and that of the signal in FILE:NAME; a signal may have a colon of its own."""
    file, _, name = word.partition(":")
    return (Path(file).name, name) if name and Path(file).suffix.lower() in RECORDS else ("", word)


def _chosen(words: Sequence[str], path: str) -> list[str]:
    """Return the signals chosen for a file: those under its name, else those for all."""
    split = [_of_file(word) for word in words]
    own = [name for file, name in split if file == Path(path).name]
    return own or [name for file, name in split if not file]


def record_options(function: Any) -> Any:
    """Add what says how files are to be read, and hand it on as `how`."""

    @functools.wraps(function)
    def reading(
        *, inputs: Any, outputs: Any, references: Any, units: Any, names: Any, period: str | None, **others: Any
    ) -> Any:
        told = pairs_of("--unit", units), pairs_of("--rename", names)
        seconds = None if period is None else quantity(period, "s", "--period")
        return function(how=Reading(inputs, outputs, references, *told, seconds), **others)

    made: Any = reading
    for option in (
        click.option(
            "--input", "inputs", multiple=True, metavar="[FILE:]NAME",
            help="Column to use as an input, of every file or of one; repeatable.",
        ),
        click.option(
            "--output", "outputs", multiple=True, metavar="[FILE:]NAME",
            help="Column to use as an output, others are left out; repeatable.",
        ),
        click.option(
            "--reference", "references", multiple=True, metavar="[FILE:]NAME", help="Column to use as a reference."
        ),
        click.option("--unit", "units", multiple=True, metavar="NAME=UNIT", help="Unit of a column without one."),
        click.option("--rename", "names", multiple=True, metavar="OLD=NEW", help="Rename a column as in the plant."),
        click.option("--period", metavar="SECONDS", help="Period of the excitation; 0: none.  [default: detected]"),
    ):
        made = option(made)
    return made


def pairs_of(option: str, texts: Sequence[str]) -> dict[str, str]:
    """Return NAME=VALUE words as a table."""
    found = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        require(bool(name and equals and value), f'{option} "{text}" is not understood; write NAME=VALUE')
        found[name] = value
    return found


def is_response(path: str) -> bool:
    """Whether a file holds frequency responses, judged by its columns."""
    if Path(path).suffix.lower() in (".uff", ".unv"):
        from ..identify.uff import RESPONSE, read_functions

        return all(f.kind == RESPONSE for f in read_functions(path))
    from ..identify.reading import names_in

    return any(name.endswith(":real") for name in names_in(path))


@common.command(
    identify,
    """
flexctl identify my_arm.toml small.csv large.csv --free material.steel.youngs_modulus --free friction.dry.coulomb -o
found.toml
flexctl identify my_arm.toml record.npz --free payload.mass=0.1,joint.1.hub_inertia --validate doublets.npz -o fit.png
flexctl identify two.toml a.csv b.csv --input a.csv:joint1_torque --input b.csv:joint2_torque --output joint1_angle
--output joint2_angle --free joint.2.hub_inertia
""",
)
@common.plant_argument
@click.argument("data", metavar="DATA...", nargs=-1, required=True)
@common.plant_options
@record_options
@click.option(
    "--free",
    multiple=True,
    required=True,
    metavar="KEY[=START],...",
    help="Parameter to identify, with an optional start value.",
)
@click.option(
    "--delay", default="scan", show_default=True, metavar="SAMPLES", help="Delay of the inputs in samples."
)
@click.option(
    "--validate", "others", multiple=True, metavar="FILE", help="Record for validation; repeatable."
)
@click.option("--no-mesh", is_flag=True, help="Skip the mesh check.")
@click.option(
    "--engine", type=click.Choice(["auto", "linear", "full"]), default="auto", show_default=True,
    help="Model for records: linear (with dry friction), full, or auto: full if joints have play, stiffening springs "
    "or lossy gears, and where the linear one was fitted and the full one is away from it.",
)
@click.option(
    "--time-limit", metavar="SECONDS", help="Time after which the search ends, converged or not.  [default: none]"
)
@click.option(
    "-o",
    "files",
    multiple=True,
    metavar="FILE",
    help="Write the plant (.toml), the table (.csv, .json, .npz, .mat) or a picture (.png, .pdf, .svg); repeatable.",
)
@common.report_option
@common.json_option
def parameters(
    plant: str,
    data: tuple[str, ...],
    settings: tuple[str, ...],
    kind: str | None,
    how: Reading,
    free: tuple[str, ...],
    delay: str,
    others: tuple[str, ...],
    no_mesh: bool,
    engine: str,
    time_limit: str | None,
    files: tuple[str, ...],
    page: Path | None,
    as_json: bool,
) -> None:
    """Find parameters of a plant file from records and frequency responses together.

    Prints each value with its standard deviation; correlations, misfits beyond noise and parameters that the data do
    not determine are reported as warnings. The plant file written with -o holds the values, their origin,
    and an [uncertainty] table from which sweeps and certificates draw.

    If the model does not explain the data, a line in capitals says so, and "unexplained" in JSON is not 0. If the
    search ended too early, a line says so, and "not_converged" in JSON says why.

    JSON: values, sigma, start, correlation, delay_samples, chi2, unexplained, not_converged, times_noise, condition,
    fit_percent, whiteness, validation_percent, cautions; plant, model, overrides, version.
    """
    from ..identify import parameters as identified

    targets = [common.target(file, (".toml", *TABLES, *common.PICTURES)) for file in files]
    arm = common.load(plant, settings, kind)
    keys, start = _free(free)
    how.check([*data, *others])
    with common.progress() as report, telling_warnings():
        items: list[Any] = [how.response(p) if is_response(p) else how.record(p) for p in data]
        trials = [(p, how.record(p)) for p in others]
        found = identified(
            arm,
            items,
            keys,
            start=start,
            delay=delay if delay == "scan" else _whole(delay),
            mesh=not no_mesh,
            engine=engine,
            time_limit=float("inf") if time_limit is None else quantity(time_limit, "s", "--time-limit", most=DAY),
            progress=report,
        )
        tried = {Path(p).name: found.validate(r) for p, r in trials}
    for path in targets:
        _write(found, items, trials, path)
        common.tell(path)
    common.write_report(found, page, data=[*items, *(r for _, r in trials)], title=f"{arm.name}: identified")
    if as_json:
        common.print_json({**_about(found), "validation_percent": tried, **_identity(found)})
        return
    rows = common.table("parameter<", "start", "value", "sigma", "sigma %", "unit<")
    known = {row.key: row.unit for row in found.plant.rows}
    for key, value in found.values.items():
        part = 100.0 * found.sigma[key] / value
        rows.add_row(
            key, f"{found.start[key]:.5g}", f"{value:.7g}", f"{found.sigma[key]:.2g}", f"{part:.2g}", known[key]
        )
    early = "; NOT CONVERGED" if found.not_converged else ""
    common.print_table(f"{arm.name}: delay {found.delay} samples, chi^2 {found.chi2:.3g}{early}", rows)
    fits = common.table("data<", "output<", "fit %", "times the noise", "lags outside the 99 % band %")
    for (source, output), part in found.whiteness.items():
        fit = found.fit.get((source, output))
        noise = f"{found.times_noise[source, output]:.3g}"
        fits.add_row(source, output, "" if fit is None else f"{fit:.3f}", noise, f"{100 * part:.0f}")
    for source, outputs in tried.items():
        for output, value in outputs.items():
            fits.add_row(f"{source} (not used)", output, f"{value:.3f}", "", "")
    wrong = f"; NOT EXPLAINED BY THE MODEL: {found.unexplained:.3g} times the noise" if found.unexplained else ""
    common.print_table(f"what is left{wrong}", fits)


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
        "values": dict(found.values),
        "sigma": dict(found.sigma),
        "start": dict(found.start),
        "correlation": about["correlation"],
        "delay_samples": found.delay,
        "chi2": found.chi2,
        "unexplained": found.unexplained,
        "not_converged": found.not_converged,
        "times_noise": about["times_noise"],
        "condition": found.condition,
        "fit_percent": about["fit_percent"],
        "whiteness": about["whiteness"],
        "cautions": list(found.cautions),
    }


def _identity(found: Identified) -> dict[str, Any]:
    from .common import identity

    return identity(found.plant)


def _write(found: Identified, items: Sequence[Any], trials: Sequence[tuple[str, Record]], path: Path) -> None:
    if path.suffix.lower() not in common.PICTURES:
        found.save(path)
        return
    from ..identify import Record
    from ..io.plot import frequency_fit, time_fit

    records = [r for _, r in trials] or [item for item in items if isinstance(item, Record)]
    if records:
        time_fit(found, records[0], path=path, title=f"{found.plant.name}: {records[0].provenance.get('file', '')}")
    else:
        frequency_fit(items[0], found.response(items[0]), path=path, title=found.plant.name)
