"""`flexctl identify frf`, `modal` and `subspace`: models from measurements without a plant file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from ..errors import DefinitionError
from .common import (
    PICTURES,
    command,
    json_option,
    print_json,
    print_table,
    progress,
    report_option,
    table,
    target,
    tell,
    write_report,
)
from .identify import TABLES, Reading, identify, is_response, record_options
from .quantities import between, quantity
from .warned import telling_warnings

if TYPE_CHECKING:
    from ..identify import MeasuredResponse, Record


@command(
    identify,
    """
flexctl identify frf record.npz --band 0.5Hz..60Hz -o frf.npz -o frf.png
flexctl identify frf random.csv --method H1 --segment 4s -o frf.csv
""",
)
@click.argument("records", metavar="RECORD...", nargs=-1, required=True)
@record_options
@click.option(
    "--method", default="auto", show_default=True, help="periods, H1, H2, Hv, reference (closed loop), or auto."
)
@click.option("--band", metavar="LOW..HIGH", help="Frequencies, e.g. 0.5Hz..60Hz.")
@click.option("--segment", metavar="SECONDS", help="Length of averaged segments.")
@click.option(
    "-o", "files", multiple=True, metavar="FILE", help="Write .csv, .npz, .mat, .json or a picture; repeatable."
)
@json_option
def frf(
    records: tuple[str, ...],
    how: Reading,
    method: str,
    band: str | None,
    segment: str | None,
    files: tuple[str, ...],
    as_json: bool,
) -> None:
    """Estimate frequency responses of records, with standard deviations and coherence.

    JSON: omega_rad_s, inputs, outputs, response, sigma, coherence, method; version.
    """
    from .. import __version__
    from .. import identify as methods

    targets = [target(file, (*TABLES, *PICTURES)) for file in files]
    with telling_warnings():
        how.check(records)
        data = [how.record(p) for p in records]
        found = methods.frf(
            data, method, band=_band(band), segment=None if segment is None else quantity(segment, "s", "--segment")
        )
    _write_response(found, None, targets)
    if as_json:
        print_json(
            {
                **found.to_dict(),
                "sigma": found.sigma,
                "coherence": found.coherence,
                "method": found.method,
                "version": __version__,
            }
        )
        return
    rows = table("output<", "input<", "lines", "from Hz", "to Hz", "median sigma %", "median coherence")
    for i, y in enumerate(found.outputs):
        for k, u in enumerate(found.inputs):
            part = np.nanmedian(found.sigma[i, k] / np.maximum(np.abs(found.response[i, k]), 1e-300))
            ends = found.omega[[0, -1]] / (2 * np.pi)
            rows.add_row(
                y.name,
                u.name,
                str(found.omega.size),
                f"{ends[0]:.4g}",
                f"{ends[1]:.4g}",
                f"{100 * part:.3g}",
                f"{np.nanmedian(found.coherence[i]):.4f}",
            )
    print_table(f"frequency responses ({found.method})", rows)


def _band(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    low, high = between(text, "Hz", "--band")
    return 2.0 * math.pi * low, 2.0 * math.pi * high


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
@click.option("--pairs", type=click.IntRange(min=1), help="Number of pole pairs.  [default: as many as pay off]")
@click.option("--most", default=12, show_default=True, help="Highest order to try.")
@click.option("--delay", default="scan", show_default=True, metavar="SECONDS", help="Delay in the data.")
@click.option(
    "-o",
    "files",
    multiple=True,
    metavar="FILE",
    help="Write the plant (.npz, .mat, .json), the modes (.csv) or a picture: NAME.png the stabilisation diagram, "
    "NAME-fit.png measured beside model.",
)
@report_option
@json_option
def modal(
    data: str,
    how: Reading,
    band: str | None,
    pairs: int | None,
    most: int,
    delay: str,
    files: tuple[str, ...],
    page: Path | None,
    as_json: bool,
) -> None:
    """Fit a modal model with common poles to frequency responses, or to those of a record, order by order.

    JSON: frequencies_hz, damping, sigma_frequency_hz, sigma_damping, stable, chi2, delay_s, orders; version.
    """
    from .. import __version__
    from .. import identify as methods

    targets = [target(file, (".npz", ".mat", ".json", ".csv", *PICTURES)) for file in files]
    how.check([data])
    with progress() as report, telling_warnings():
        if is_response(data):
            response = how.response(data)
            limits = _band(band)
            response = response if limits is None else response.band(*limits)
        else:
            response = methods.frf(how.record(data), band=_band(band))
        found = methods.modal(
            response,
            pairs=pairs,
            most=most,
            delay=delay if delay == "scan" else quantity(delay, "s", "--delay"),
            progress=report,
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
    write_report(found, page, title=f"{Path(data).stem}: modal model")
    hertz, zeta = found.frequencies_hz, found.damping
    if as_json:
        print_json(
            {
                "frequencies_hz": hertz,
                "damping": zeta,
                "sigma_frequency_hz": hertz * found.sigma_frequency,
                "sigma_damping": zeta * found.sigma_damping,
                "stable": [bool(s) for s in found.stable],
                "chi2": found.chi2,
                "delay_s": found.delay,
                "orders": [{"pairs": o.pairs, "chi2": o.chi2} for o in found.orders],
                "version": __version__,
            }
        )
        return
    rows = table("mode", "frequency Hz", "sigma", "damping %", "sigma", "stable<")
    for k, f in enumerate(hertz):
        rows.add_row(
            str(k + 1),
            f"{f:.6g}",
            f"{f * found.sigma_frequency[k]:.2g}",
            f"{100 * zeta[k]:.4g}",
            f"{100 * zeta[k] * found.sigma_damping[k]:.2g}",
            "yes" if found.stable[k] else "no",
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
@click.option("--split", metavar="PART", help="Fit to this fraction of the record and validate on the rest, e.g. 0.5.")
@click.option("--no-refine", is_flag=True, help="Skip the output-error refinement.")
@click.option("-o", "files", multiple=True, metavar="FILE", help="Write the plant (.npz, .mat, .json) or a picture.")
@report_option
@json_option
def subspace(
    path: str,
    how: Reading,
    order: int,
    split: str | None,
    no_refine: bool,
    files: tuple[str, ...],
    page: Path | None,
    as_json: bool,
) -> None:
    """Find a sampled state space model of a record: PO-MOESP, then output error.

    JSON: fit_percent, validation_percent, frequencies_hz, damping, order, horizon, on_bound_hz; version.
    """
    from .. import __version__
    from .. import identify as methods

    targets = [target(file, (".npz", ".mat", ".json", *PICTURES)) for file in files]
    with progress() as report, telling_warnings():
        how.check([path])
        data = how.record(path)
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
    write_report(found, page, data=rest or used, title=f"{Path(path).stem}: state space model")
    if as_json:
        print_json(
            {
                "fit_percent": dict(found.fit),
                "validation_percent": tried,
                "frequencies_hz": found.frequencies_hz,
                "damping": found.damping,
                "order": order,
                "horizon": found.horizon,
                "on_bound_hz": [w / (2.0 * math.pi) for w in found.on_bound],
                "version": __version__,
            }
        )
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
