"""`flexctl simulate`: an arm under torques or a law."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from ..abilities import HasArm
from ..errors import require
from ..laws.controller import Controller
from ..simulation.response import Response, error_numbers
from . import cli, common, specs, tables
from .effect import no_effect
from .quantities import quantity
from .warned import telling_warnings

SERIES = (".npz", ".csv", ".parquet", ".mat")
"""Files with the time series of a run."""


def to_part(ctx: click.Context, parameter: click.Parameter, value: str) -> float:
    """Return a tolerance, e.g. of 0.1%."""
    return quantity(value, "1", parameter.opts[0])


def to_number(ctx: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """Return the seconds of an option, e.g. of 250ms."""
    return None if value is None else quantity(value, "s", parameter.opts[0])


def to_step(ctx: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """Return the step [s] of an option; a number without a unit is not taken for more than a second."""
    return None if value is None else quantity(value, "s", parameter.opts[0], 1.0)


@common.command(
    cli,
    """
flexctl simulate tokhi_azad_1994 --torque bang-bang:0.1,0.3 --duration 1.2 -o run.png
flexctl simulate tokhi_azad_1994 --torque bang-bang:0.1,0.3 --method march --payload-change 0.5:20g --json
flexctl simulate tokhi_azad_1994 --controller tokhi_azad_pd --reference quintic:60deg,1.25 --duration 2.5 -o run.npz
flexctl simulate spatial_3r --torque joint1_torque=bang-bang:50,0.25 --duration 1 --animate arm.gif
""",
)
@common.plant_argument
@common.plant_options
@click.option("--controller", metavar="NAME", help="Controller of the catalogue, or the path of a .py file.")
@click.option(
    "--torque",
    "torques",
    multiple=True,
    metavar="[NAME=]SIGNAL",
    help=f"Torque. SIGNAL: {specs.usage(specs.SIGNALS)}, or a .csv file of time,value or of a run.",
)
@click.option(
    "--input", "signals", multiple=True, metavar="[NAME=]SIGNAL", help="Signal added to any input, as for --torque."
)
@click.option(
    "--reference",
    "references",
    multiple=True,
    metavar="[NAME=]MOTION",
    help=f"Reference of the controller. MOTION: {specs.usage(specs.MOTIONS)}.",
)
@click.option(
    "--duration", metavar="SECONDS", callback=to_number, help="Length of the run.  [default: twice the command's]"
)
@click.option(
    "--step", metavar="SECONDS", callback=to_step, help="Fixed step, e.g. 200us.  [default: steps follow --rtol]"
)
@click.option(
    "--rtol", default="0.01", show_default=True, callback=to_part, metavar="PART",
    help="Largest error, as a fraction of the range of each output.",
)
@click.option(
    "--method", default="auto", show_default=True, help="exact, march, generalised_alpha, newmark or trapezoidal."
)
@click.option(
    "--payload-change",
    "changes",
    multiple=True,
    metavar="TIME:MASS[,INERTIA]",
    help="Change the payload at a time, e.g. 0.5:20g; repeatable.",
)
@common.law_option
@click.option("--states", is_flag=True, help="Record coordinates and rates too (in .npz, .csv, .parquet and .mat).")
@click.option(
    "-o", "files", multiple=True, metavar="FILE",
    help="Write time series (.npz, .csv, .parquet, .mat), scores (.json) or a picture (.png, .pdf, .svg); repeatable.",
)
@common.animate_option("the arm")
@common.report_option
@common.json_option
def simulate(
    plant: str, settings: tuple[str, ...], kind: str | None, controller: str | None, torques: tuple[str, ...],
    signals: tuple[str, ...], references: tuple[str, ...], duration: float | None, step: float | None, rtol: float,
    method: str, changes: tuple[str, ...], law_kind: str, states: bool, files: tuple[str, ...], film: Path | None,
    page: Path | None, as_json: bool,
) -> None:
    """Simulate an arm driven by torques or by a controller.

    Numbers may carry a unit: 60deg, 250ms, 20g.

    JSON: scores, error (estimated, by output; null where none is estimated), method, step_s, duration_s, steps taken;
    plant, model, overrides, version. A settling time is null where the output does not settle within the run.

    PLANT may also be a linear plant in a .mat, .npz, .json or .mtx file, or a plant file of matrices: it is propagated
    exactly, and has no payload to change.
    """
    from ..catalogue import load_controller
    from ..judging.scenario import blamed, design
    from ..simulation.simulate import simulate as simulated

    targets = [common.target(name, (*SERIES, ".json", *common.PICTURES)) for name in files]
    if not any(path.suffix.lower() in SERIES for path in targets):
        no_effect("states", without="without a file of time series (-o run.npz, .csv, .parquet or .mat)")
    with common.patiently(f"reading {plant}"):
        arm = common.load(plant, settings, kind)
        model = arm.model
    inputs, payload = specs.inputs(signals, model.inputs, torques), specs.payload_changes(changes)
    require(bool(inputs) or controller is not None, "nothing moves the arm: give --torque, --input or --controller")
    script = None if controller is None else load_controller(controller)
    turned = common.law_as(law_kind)
    require(turned is None or script is not None, f"--law-as {law_kind} has no effect without --controller")
    with common.patiently(f"designing {controller}"):
        law = None if script is None else design(script, arm)
        law = law if turned is None else turned(law)
    units = {signal.name: signal.unit for signal in model.outputs}
    reference = specs.reference(references, units, law.follows if isinstance(law, Controller) else (), _reach(arm))
    length = duration if duration is not None else length_of([*inputs.values()], reference, [row[0] for row in payload])
    with common.progress() as report, telling_warnings(), blamed(script):
        found = simulated(
            arm, law, reference, duration=length, step=step, rtol=rtol, method=method, inputs=inputs, payload=payload,
            record_states=states or page is not None or film is not None,
            progress=lambda fraction: report(f"simulating {length:g} s", fraction),
        )
    about = common.identity(arm)
    for path in targets:
        _write(found, about, path)
        common.tell(path)
    drawn = arm if isinstance(arm, HasArm) else None
    common.write_report(found, page, plant=drawn, title=f"{about['plant']}, {length:g} s")
    if film is not None:
        from ..io.animate import animate

        with common.patiently(f"drawing {film.name}"):
            animate(found, drawn, film, title=f"{about['plant']}, {length:g} s")
        common.tell(film)
    if as_json:
        common.print_json(_scores(found, about))
    else:
        common.stdout().print(f"{about['plant']} ({about['model']}), {length:g} s", style="bold")
        for title, listed in tables.of_one(found).items():
            common.print_table(title, listed)


RUN = (
    "method", "step_s", "duration_s", "steps", "rejected", "shortest_step_s", "longest_step_s", "worst_output",
    "worst_error", "not_estimated",
)
"""Facts about the integration that are shown."""


def _reach(arm: Any) -> float:
    """Return the length of a stretched arm [m]; unbounded for a linear plant from a file."""
    links = arm.arm.links if isinstance(arm, HasArm) else ()
    return sum(link.length for link in links) or math.inf


def length_of(signals: Sequence[Any], reference: Any, times: Sequence[float]) -> float:
    """Return twice the time [s] at which signals, references and other changes have ended."""
    motions = list(reference.values()) if isinstance(reference, Mapping) else [reference] if reference else []
    last = [*times, *(b for signal in signals for b in signal.breakpoints), *(motion.duration for motion in motions)]
    longest = max(last, default=0.0)
    require(longest > 0, "the command has no end that would set the length of the run: give --duration")
    return 2.0 * longest


def _scores(found: Response, about: Mapping[str, Any]) -> dict[str, Any]:
    run = {key: found.provenance[key] for key in RUN if key in found.provenance}
    return {"scores": dict(found.scores), "error": error_numbers(found), **run, **about}


def _write(found: Response, about: Mapping[str, Any], path: Path) -> None:
    from ..support.files import write_atomically

    suffix = path.suffix.lower()
    if suffix in SERIES:
        found.save(path)
    elif suffix in common.PICTURES:
        from ..io.plot import run

        run(found, path=path)
    else:
        text = common.as_text(_scores(found, about))
        write_atomically(path, lambda stream: stream.write(text.encode()))
