"""`flexctl margins`: the margins of a law on an arm, a linear plant or a measured frequency response."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import require
from ..machine.given import SAVED
from . import cli, common
from .common import compact
from .warned import telling_warnings

if TYPE_CHECKING:
    from ..frequency import FrequencyResponse, Margins

ROWS = {
    "gain_margin": ("gain margin", 1.0, "1"), "gain_reduction": ("gain reduction", 1.0, "1"),
    "phase_margin_deg": ("phase margin", 1.0, "deg"), "delay_margin": ("delay margin", 1e3, "ms"),
    "disk_margin": ("disk margin", 1.0, "1"), "sensitivity_peak": ("peak of the sensitivity", 1.0, "1"),
}


def measured(name: str) -> FrequencyResponse | None:
    """Return the measured response in a file, None for anything else."""
    if Path(name).suffix.lower() not in SAVED:
        return None
    from ..frequency import FrequencyResponse
    from ..machine.given import opened

    found = opened(name)
    return found if isinstance(found, FrequencyResponse) else None


@common.command(
    cli,
    """
flexctl margins tokhi_azad_lqg --set damping.kind=modal --set damping.ratio=0.01
flexctl margins tokhi_azad_pd tokhi_azad_1994 --set damping.kind=modal --set damping.ratio=0.01 --json
""",
)
@click.argument("controller", metavar="CONTROLLER")
@click.argument("plant", metavar="[PLANT]", required=False)
@common.plant_options
@click.option(
    "--unstable", type=click.IntRange(min=0), metavar="COUNT",
    help="Number of unstable poles of a measured plant, required for one; integrators and rigid modes do not count.",
)
@click.option(
    "--design", "designed", metavar="PLANT",
    help="Plant for which the law is designed.  [default: PLANT; for a measured response the script's own]",
)
@common.json_option
def margins(
    controller: str, plant: str | None, settings: tuple[str, ...], kind: str | None, unstable: int | None,
    designed: str | None, as_json: bool,
) -> None:
    """Print the margins of every loop of a law; exit code 1 when the closed loop is not stable.

    PLANT is an arm, a linear plant (.mat, .npz, .json, .mtx, or a plant file of matrices) or a measured frequency
    response: a .mat, .npz or .json file with omega [rad/s] or frequency_hz, response (outputs, inputs, lines), and
    sigma, inputs and outputs if they are known. Between its lines the log of the magnitude and the unwrapped phase are
    interpolated, sigma gives the standard deviation of every margin, and stability is decided from the number of
    unstable poles given with --unstable: flexctl margins my_law.py frf.mat --unstable 0 --design plant.mat

    JSON: margins by input (gain_margin, gain_reduction, phase_margin_deg, delay_margin [s], disk_margin,
    sensitivity_peak, each with _frequency [rad/s], and sigma of measured ones), stable (null: not known), why_unknown,
    why_marginal, controller, plant, version.
    """
    from .. import __version__
    from ..catalogue import load_controller
    from .runs import own_plant

    script = load_controller(controller)
    name = plant or own_plant(script, controller)
    data = measured(name)
    with common.progress() as report, telling_warnings():
        report("designing", 0.0)
        if data is None:
            require(unstable is None, f"--unstable {unstable}: the poles of {name} are known; leave it out")
            found, stable, why = _of_plant(script, name, settings, kind, designed)
        else:
            require(not settings and kind is None, f"{name} is measured: --set and --model are for plants")
            found, stable, why = _of_data(script, controller, data, unstable, designed)
    told = {"why_unknown": why if stable is None else "", "why_marginal": why if stable is False else ""}
    if as_json:
        common.print_json({
            "margins": {drive: m.to_dict() for drive, m in found.items()}, "stable": stable, **told,
            "controller": Path(controller).stem, "plant": Path(name).stem, "version": __version__,
        })
    else:
        _print(Path(controller).stem, Path(name).stem, found, stable, why)
    if not stable:
        click.get_current_context().exit(common.EXIT_FAILED)


def _law(script: Any, plant: Any) -> Any:
    from ..judging.scenario import design
    from ..laws.given import as_law

    return as_law(design(script, plant))


def _of_plant(
    script: Any, name: str, settings: tuple[str, ...], kind: str | None, designed: str | None
) -> tuple[dict[str, Margins], bool | None, str]:
    from ..frequency import loop_gain
    from ..frequency import margins as margins_of
    from ..laws.given import feedback_of
    from ..laws.linear_part import linear_law
    from ..linear.decay import MARGINAL, STABLE, state_of
    from ..linear.interconnect import loop_poles

    arm = common.load(name, settings, kind)
    known = _law(script, arm if designed is None else common.load(designed, (), None))
    law, linear = linear_law(known, arm.model), arm.linearise()
    loop = loop_gain(linear, law)
    feedback = feedback_of(law)
    state = state_of(loop_poles(linear, feedback), feedback.dt)
    told = "a mode neither grows nor decays" if state == MARGINAL else ""
    return {drive: margins_of(loop, drive) for drive in law.drives}, state == STABLE, told


def _of_data(
    script: Any, controller: str, data: FrequencyResponse, unstable: int | None, designed: str | None
) -> tuple[dict[str, Margins], bool | None, str]:
    from ..frequency import loop_gain
    from ..frequency.measured import MeasuredMargins, margins_of
    from ..laws.linear_part import linear_part
    from .runs import own_plant

    own = designed or own_plant(script, controller)
    known = _law(script, common.load(own, (), None))
    law = linear_part(known, lambda name: 0.0)
    loop, found = loop_gain(data, law), {}
    for drive in law.drives:
        found[drive] = margins_of(loop, drive, unstable, None, None)
    first: MeasuredMargins = next(iter(found.values()))
    return dict(found), first.stable, first.why_unknown


def _print(controller: str, plant: str, found: dict[str, Margins], stable: bool | None, why: str) -> None:
    from ..frequency.measured import MeasuredMargins

    for drive, m in found.items():
        data = isinstance(m, MeasuredMargins)
        listed = common.table("margin<", "value", *(["+- (1 sigma)"] if data else []), "unit<", "at [rad/s]")
        for key, (word, factor, unit) in ROWS.items():
            value, at = getattr(m, key), getattr(m, f"{key.removesuffix('_deg')}_frequency")
            spread = m.sigma.get(key, math.nan) if isinstance(m, MeasuredMargins) else math.nan
            cells = [compact(factor * spread, 2) if math.isfinite(spread) else ""] if data else []
            listed.add_row(word, compact(factor * value), *cells, unit, compact(at, 6) if math.isfinite(at) else "")
        common.print_table(f"{controller} on {plant}: loop broken at {drive}", listed)
        if isinstance(m, MeasuredMargins) and m.outside:
            common.stdout().print(m.outside, soft_wrap=True, markup=False)
    state = f"MARGINAL, {why}" if why else "UNSTABLE"
    word = {True: "stable", False: f"{state}: these are distances, not margins", None: f"not known: {why}"}[stable]
    common.stdout().print(f"closed loop: {word}", soft_wrap=True, markup=False)
