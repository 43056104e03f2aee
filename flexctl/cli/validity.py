"""`flexctl validity`: up to which size of a motion the linear plant predicts it."""

from __future__ import annotations

from pathlib import Path

import click

from ..errors import require
from . import cli, common, specs
from .common import compact
from .quantities import quantities
from .simulate import length_of, to_number, to_step
from .warned import telling_warnings


@common.command(
    cli,
    """
flexctl validity planar_2r_flexible --torque bang-bang:2,0.2 --set model.elements=4
flexctl validity planar_2r_flexible --torque joint2_torque=pulse:1,0.1 --duration 1 --times 0.1,1,10 --json
flexctl validity tokhi_azad_1994 --torque bang-bang:0.1,0.3 --report validity.html
""",
)
@common.plant_argument
@common.plant_options
@click.option(
    "--torque", "torques", multiple=True, metavar="[NAME=]SIGNAL",
    help=f"Torque. SIGNAL: {specs.usage(specs.SIGNALS)}, or a .csv file of time,value or of a run.",
)
@click.option(
    "--input", "signals", multiple=True, metavar="[NAME=]SIGNAL", help="Signal of any input, as for --torque."
)
@click.option("--times", default="0.25,0.5,1,2,4", show_default=True, help="Factors by which the signals are scaled.")
@click.option(
    "--duration", metavar="SECONDS", callback=to_number, help="Length of the runs.  [default: twice the signals']"
)
@click.option("--step", metavar="SECONDS", callback=to_step, help="Longest integration step, e.g. 200us.")
@common.report_option
@common.json_option
def validity(
    plant: str, settings: tuple[str, ...], kind: str | None, torques: tuple[str, ...], signals: tuple[str, ...],
    times: str, duration: float | None, step: float | None, page: Path | None, as_json: bool,
) -> None:
    """Compare the linear plant with the full model under signals of growing size.

    There is no law in the loop. For every output the table gives the largest deviation from the linear prediction,
    as a fraction of the predicted range, and the size at which it exceeds 5 %.

    JSON: amplitudes, deviation, parting, agreed, outputs, partings, errors, failures; plant, model, overrides, version.
    A size that is not reached is null; up to `agreed` they agree whatever the errors of the runs.
    """
    from ..judging.validity import linear_validity

    factors = quantities(times, "1", "--times")
    arm = common.load(plant, settings, kind)
    inputs = specs.inputs(signals, arm.model.inputs, torques)
    require(bool(inputs), "nothing moves the arm: give --torque or --input")
    length = duration if duration is not None else length_of([*inputs.values()], None, [])
    with common.progress(len(factors) + 1) as report, telling_warnings():
        found = linear_validity(arm, inputs, duration=length, amplitudes=factors, step=step, progress=report)
    about = common.identity(arm)
    common.write_report(found, page, title=f"{about['plant']}: up to where the linear plant holds")
    if as_json:
        common.print_json({**found.to_dict(), "duration_s": length, **about})
        return
    heads = [f"at {factor:g} times" for factor in found.amplitudes]
    listed = common.table("deviation of<", *heads, "5 % at times")
    for name, factor in found.partings.items():
        least = "<= " if factor <= found.amplitudes[0] else ""
        listed.add_row(name, *(compact(float(x), 2) for x in found.outputs[name]), least + compact(factor, 3))
    common.print_table(f"{about['plant']} ({about['model']}), {length:g} s, fraction of the predicted range", listed)
    common.stdout().print(f"linear plant and arm differ by 5 % {found.where(found.parting)}")
    for factor, why in found.failures.items():
        common.stdout().print(f"no run at {factor:g} times the move: {why}")
