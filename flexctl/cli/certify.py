"""`flexctl certify`: what is known of a controller on a plant, against what is required."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..abilities import IsLinear
from ..errors import DefinitionError, require
from . import cli, common, precision, specs
from .common import compact
from .points import signal_units
from .quantities import between, each, has_unit, key_unit, named, quantities, quantity
from .tables import times
from .warned import telling_warnings

if TYPE_CHECKING:
    from rich.table import Table

    from ..judging.certify import Certificate
    from ..judging.certify.loops import Loop
    from ..judging.certify.robust import Point
    from ..judging.validity import LinearValidity

SHOWN = 12

RANGE = re.compile(r"(.+?)\.\.(.+)")
SETTLING = ("settle_1pct_s", "settle_0p1pct_s")


def ends(text: str, unit: str = "", what: str = "", most: float | None = None) -> tuple[float, float]:
    """Return the two numbers of "0,25g"."""
    return between(text, unit, what, most)


def vary(texts: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Return the ranges of `KEY=LOW..HIGH` words, absolute values in SI units."""
    found: dict[str, tuple[float, float]] = {}
    for text in texts:
        key, equals, rest = (part.strip() for part in text.partition("="))
        match = RANGE.fullmatch(rest)
        if not (key and equals and match):
            raise DefinitionError(f'--vary "{text}" is not understood; write KEY=LOW..HIGH: joint.1.stiffness=0.5..2')
        require(key not in found, f"--vary {key} is given twice")
        unit = key_unit(key)
        require(unit is not None or not has_unit(match[2]), f"--vary {key}: a plain value; leave the unit out")
        low, high = quantities([match[1], match[2]], unit or "", f"--vary {key}")
        require(low <= high, f"--vary {key}: {match[1]} is above {match[2]}; write the lower value first")
        found[key] = low, high
    return found


def requirements(texts: Sequence[str], signals: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the bounds of `NAME=BOUND` words: a number, a range LOW,HIGH, or BITS:RIPPLE.

    The units of the plant's signals tell in what a score is that has the unit of its signal.
    """
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, bound = (part.strip() for part in text.partition("="))
        require(bool(equals and bound), f'requirement "{text}" is not understood; write NAME=BOUND: disk_margin=0.3')
        unit, most = requirement_unit(name, signals or {})
        if ":" in bound:
            bits, _, ripple = bound.partition(":")
            require(bits.strip().isdigit(), f'requirement "{text}": "{bits}" is not a number of bits; write 16:0.03')
            found.setdefault(name, {})[int(bits)] = quantity(ripple, unit, name, most)
        else:
            found[name] = ends(bound, unit, name, most) if "," in bound else quantity(bound, unit, name, most)
    return found


def requirement_unit(name: str, signals: Mapping[str, str]) -> tuple[str, float | None]:
    """Return the unit in which a requirement is stated, as its name says, and the largest number without a unit."""
    from ..judging.certify.requirements import LEAST, MOST, VIBRATION

    if name == "frequency_change":
        return "1", 1.0
    ends_with = {"_deg": "deg", "_kg": "kg", "_s": "s", "_pct": "%", "delay_margin": "s", "decay_rate": "1/s"}
    stated = next((unit for ending, unit in ends_with.items() if name.endswith(ending)), None)
    if stated is not None:
        return stated, None
    if name in (*LEAST, *MOST, VIBRATION):
        return "1", math.inf
    return signals.get(name.rpartition(": ")[2].partition(".")[0], ""), math.inf


def payloads(text: str | None, arm: Any) -> tuple[float, float] | None:
    """Return the range of --payload [kg]; a mass without a unit is not taken for more than the arm's own."""
    if text is None:
        return None
    require(not isinstance(arm, IsLinear), f"--payload {text}: {arm.name} is a linear plant, which has no payload")
    own = sum(link.mass for link in arm.arm.links)
    found = ends(text, "kg", "--payload", own or None)
    arm.check_payload(max(found), 0.0)
    return found


def pose(text: str, arm: Any) -> list[float]:
    """Return the joint angles [rad] of --pose; displacements [m] of joints that slide."""
    require(not isinstance(arm, IsLinear), f"--pose {text}: {arm.name} is a linear plant, which has no poses")
    units = ["rad" if joint.revolute else "m" for joint in arm.arm.joints]
    count = len(text.split(","))
    require(count == len(units), f"--pose {text} has {count} numbers; the arm has {len(units)} joints")
    return each("--pose", text, units)


@common.command(
    cli,
    """
flexctl certify tokhi_azad_lqg
flexctl certify tokhi_azad_lqg -o out                        numbers and pictures in out/
flexctl certify tokhi_azad_lqg --payload 0,20g --require disk_margin=0.25 --require chord1_angle.settle_1pct_s=1.2
flexctl certify tokhi_azad_robust --model finite_segment:segments=20  designed on one formulation, examined on another
flexctl certify tokhi_azad_lqg --vary damping.ratio=0.01..0.02 --vary payload.mass=0..20g  all at once
flexctl certify tokhi_azad_robust --frequency -0.06,0.06 --require disk_margin=0.24 --require ripple_at_bits=16:0.03
""",
)
@click.argument("controller", metavar="CONTROLLER")
@click.argument("plant", metavar="[PLANT]", required=False)
@common.plant_options
@click.option("--payload", metavar="LOW,HIGH", help="Payloads over which the loop must be stable, e.g. 0,25g.")
@click.option(
    "--frequency", metavar="LOW,HIGH", help="Relative changes of all natural frequencies, likewise, e.g. -10%,10%."
)
@common.repeatable(
    "--require", "required", "NAME=BOUND",
    "A requirement in addition to those of the script: disk_margin, disk_margin_inputs, disk_margin_sensors, "
    "gain_margin, phase_margin_deg, delay_margin, damping, decay_rate, linear_amplitude, vibration_ratio (at least); "
    "mu, load_recovery_s, peak_over_limit, OUTPUT.SCORE (at most); ripple_at_bits=BITS:RIPPLE",
)
@common.repeatable(
    "--vary", "varied", "KEY=LOW..HIGH",
    "A range of a parameter of the plant file over which the loop must be stable, in absolute values and SI "
    "units, e.g. joint.1.stiffness=0.5..2; all vary at once",
)
@click.option(
    "--draws", type=click.IntRange(min=0),
    help="Plants drawn from [uncertainty] of the plant file.  [default: 24 where it "
    "has one]",
)
@common.repeatable(
    "--load", "loaded", "INPUT=VALUE",
    "A constant load that sets in while the arm holds still, e.g. joint1_torque=0.05",
    default="a sixth of each limit, or largest command",
)
@click.option(
    "--scenario", metavar="NAME",
    help="Scenario to run with other payloads, encoders and amplitudes.  [default: the first]"
)
@common.repeatable(
    "--pose", "poses", "ANGLES", "Joint angles at which the linear loop is examined as well, e.g. 0,90deg",
)
@click.option(
    "--float32", "single", is_flag=True,
    help="Show how single precision changes every signal of the scenario, with a bound.",
)
@click.option("--workers", type=click.IntRange(min=1), help="Processes.  [default: one per core]")
@click.option("-o", "output", metavar="PATH", help="A folder for everything, or a file .json, .png, .pdf or .svg.")
@common.report_option
@common.json_option
def certify(
    controller: str, plant: str | None, settings: tuple[str, ...], kind: str | None, payload: str | None,
    frequency: str | None, required: tuple[str, ...], varied: tuple[str, ...], draws: int | None,
    loaded: tuple[str, ...], scenario: str | None, poses: tuple[str, ...],
    single: bool, workers: int | None, output: str | None, page: Path | None, as_json: bool,
) -> None:
    """Examine a controller on its plant; exit code 1 when it falls short.

    On the whole plant, sampled and with the computation delay of the law: poles, margins of every loop and of all
    at once, spill-over; other payloads and stiffnesses, also in other poses, with the limits of stability
    and the uncertainty that every command tolerates at any payload; other damping, and ranges of
    any parameter (--vary); encoder resolution, saturation, a sudden load, and the amplitude at which the full model
    departs from the linear prediction.

    One sentence states the set for which the certificate holds and the nearest plant for which it does not. Stability
    and margins are judged over that set, with a search between the points of its grids, scores in the scenarios; a
    requirement is never met by what was not examined, nor by a value closer to its bound than the error of the run:
    every scenario is run again at a finer tolerance.

    With --model the controller is designed on the plant as its file has it and examined in another
    formulation; the law reads and drives the corresponding signals there. Options of the formulation follow a colon: a
    coarse mesh is too stiff in its higher modes, and the margins are smaller than they should be.

    PLANT may also be a linear plant: a .mat, .npz, .json or .mtx file, or a plant file of matrices. Its frequencies are
    varied by --frequency, and by --vary mode.1.frequency_hz, mode.1.damping, modes.damping_factor, input.NAME.gain and
    the like (`flexctl show PLANT --all`); payloads, poses and large motion are named as not examined.

    A script states its requirements in REQUIREMENTS = {"disk_margin": 0.3, "payload_kg": (0, 0.02)}. Stability on
    every variant of the plant that its scenarios use is always required.

    JSON: passed, holds, counterexamples, requirements, not_examined, loops, grid, poses, dampings, varied, drawn,
    between, limits, mu, load_steps, quantisation, linear_validity, saturation, scores, score_errors, does_not_settle,
    notes; controller, plant, model, overrides, version; with --float32 also float32 (signals: unit, largest, measured,
    bound; pole_shift).
    """
    from ..catalogue import load_controller
    from ..judging.certify import certify as examined
    from ..judging.scenario import blamed
    from .runs import own_plant

    place = None if output is None else _place(output)
    script = load_controller(controller)
    arm = common.load(plant or own_plant(script, controller), settings, None)
    units = {**signal_units(arm.model.inputs), **signal_units(arm.model.outputs)}
    units = {"tip": "m", "ripple_at_bits": arm.model.inputs[0].unit, **units}  # ripple is that of commands
    asked: dict[str, Any] = {
        "requirements": requirements(required, units), "scenario": scenario,
        "model": None if kind is None else specs.formulation(kind), "workers": workers,
        "payload": payloads(payload, arm),
        "frequency": None if frequency is None else ends(frequency, "1", "--frequency", 1.0),
        "poses": [pose(text, arm) for text in poses], "vary": vary(varied) or None,
        "loads": named("--load", loaded, signal_units(arm.model.inputs), "input"),
    }
    with common.progress(1) as bar, telling_warnings(), blamed(script):
        # one line in a log, the name of each part on a terminal
        report = bar if common.stderr().is_terminal else lambda what, part: bar("examining", part)
        report("preparing", 0.0)
        found = examined(script, arm, progress=report, draws=draws, **asked)
        lost = precision.examined(script, arm, found.scenario, kind) if single else None
    whole = {**found.to_dict(), **(precision.as_json(lost) if lost is not None else {})}
    if place is not None:
        _write(place, found, whole)
    common.write_report(found, page)
    if as_json:
        common.print_json(whole)
    else:
        _print(found)
        if lost is not None:
            precision.show(lost)
    if not found.passed:
        click.get_current_context().exit(common.EXIT_FAILED)


def _place(output: str) -> Path:
    return common.target(output, (*common.PICTURES, ".json")) if Path(output).suffix else common.folder(output)


def _write(place: Path, found: Certificate, numbers: Mapping[str, Any]) -> None:
    from ..io.plot import certificate
    from ..support.files import write_atomically

    name = f"{found.controller}_certificate"
    whole = not place.suffix
    paths = [common.made(place) / f"{name}.json", place / f"{name}.png"] if whole else [place]
    for path in paths:
        if path.suffix.lower() == ".json":
            text = common.as_text(numbers).encode()
            write_atomically(path, lambda stream, text=text: stream.write(text))  # type: ignore[misc]
        else:
            certificate(found, path=path)
        common.tell(path)


def _print(found: Certificate) -> None:
    console = common.stdout()
    console.print(found.holds, soft_wrap=True, markup=False)
    console.print()
    if found.loops:
        common.print_table(f"{found.controller} on {found.plant}: linear loop on the whole plant", loops(found.loops))
        common.print_table("All commands, or all sensors, at once", together(found.loops))
        _print_spillover(found.loops)
    common.print_table(f"Other payloads and stiffnesses ({found.scenario})", grid(found))
    others = {
        "In other poses": found.posed, "Other dampings": found.dampings, "Ranges": found.varied,
        "Drawn plants": found.drawn,
    }
    for title, points in others.items():
        if points:
            common.print_table(f"{title}: linear loop", plants(points))
    for line in limits(found):
        console.print(line, soft_wrap=True, markup=False)
    console.print()
    if any(not x.failure for x in found.loads):
        common.print_table("A constant load that sets in while the arm holds still", load_steps(found))
    if any(not x.failure for x in found.events):
        common.print_table(f"When something happens on the way ({found.scenario})", happenings(found))
    if any(not q.failure for q in found.quantised):
        common.print_table(f"Encoders: 2^bits steps to a turn ({found.scenario})", encoders(found))
    missing = [f"not examined: {note}" for note in (found.no_loop, *found.notes) if note]
    happened = [x.told for x in found.events if x.told]
    for line in [*predictions(found), *vibrations(found), *happened, *missing]:
        console.print(line, soft_wrap=True, markup=False)
    console.print()
    listed = common.table("requirement<", "bound<", "found<", "verdict<")
    for v in found.verdicts:
        listed.add_row(v.name, v.bound, v.found, v.word)
    common.print_table("Requirements", listed)


def together(found: Sequence[Loop]) -> Table:
    """Return the simultaneous disk margins of every loop, with the factor by which all gains may change at once."""
    listed = common.table("plant<", "commands\n[1]", "gains\nby", "sensors\n[1]", "gains\nby")
    for loop in found:
        cells = []
        for key in ("inputs", "sensors"):
            d = loop.simultaneous(key)
            known = loop.stable and math.isfinite(d)
            cells += [compact(d, 3), compact((2.0 + d) / (2.0 - d), 3) if d < 2.0 else "any"] if known else ["", ""]
        listed.add_row(loop.variant or "nominal", *cells)
    return listed


def plants(points: Sequence[Point]) -> Table:
    """Return the linear loop on plants that differ, of many the unstable ones, the slowest and the first ones."""
    listed = common.table("plant<", "loop<", "slowest\n[1/s]", "least damping\n[1]", "disk\nmargin\n[1]")
    slow = sorted(points, key=lambda p: p.loop.decay if p.loop else -math.inf)[:SHOWN]
    for p in slow if len(points) > SHOWN else points:
        numbers = [compact(p.loop.decay, 3), compact(p.loop.least_damped[0], 3)] if p.loop else ["", ""]
        disk = compact(p.loop.smallest("disk_margin"), 3) if p.loop and p.loop.stable else ""
        listed.add_row(p.where(), p.state, *numbers, disk)
    if len(points) > SHOWN:
        listed.add_row(f"and {len(points) - SHOWN} that decay faster", "", "", "", "")
    return listed


def load_steps(found: Certificate) -> Table:
    """Return what loads do."""
    listed = common.table("plant<", "load at<", "size", "gives way<", "largest", "left at the end", "back to 0.1 % [s]")
    for x in found.loads:
        if not x.failure:
            back = compact(x.recovery, 3) if math.isfinite(x.recovery) else f"not in {compact(x.watched, 3)}"
            listed.add_row(
                x.variant or "nominal", x.drive, compact(x.size, 3), x.output, compact(x.peak, 3), compact(x.left, 3),
                back,
            )
    return listed


def happenings(found: Certificate) -> Table:
    """Return what is left of a run in which something happens."""
    listed = common.table("what<", "at [s]", "followed<", "largest error\n[fraction of the move]", "at the end")
    for x in found.events:
        if not x.failure:
            told = f"{x.name} ({x.about})" if x.about else x.name
            listed.add_row(told, compact(x.time, 3), x.output, compact(x.largest, 3), compact(x.left, 3))
    return listed


def loops(found: Sequence[Loop]) -> Table:
    """Return poles and margins of every loop."""
    listed = common.table(
        "plant<", "loop<", "slowest\n[1/s]", "least damping\n[1]", "at\n[Hz]", "gain\nmargin\n[1]",
        "gain\nreduction\n[1]", "phase\nmargin\n[deg]", "delay\nmargin\n[ms]", "disk\nmargin\n[1]",
    )
    for loop in found:
        zeta, hertz = loop.least_damped
        for drive, m in loop.margins.items():
            numbers = (m.gain_margin, m.gain_reduction, m.phase_margin_deg, 1e3 * m.delay_margin, m.disk_margin)
            cells = [compact(x, 3) for x in numbers] if loop.stable else [""] * 5
            state = drive if loop.stable else f"{drive}: {loop.state}"
            slow = (compact(loop.decay, 3), compact(zeta, 3), compact(hertz))
            listed.add_row(loop.variant or "nominal", state, *slow, *cells)
    return listed


def _print_spillover(found: Sequence[Loop]) -> None:
    hit = [loop for loop in found if loop.spillover.losing]
    if not hit:
        common.stdout().print("Spill-over: no mode of the plant loses damping.\n")
        return
    listed = common.table("plant<", "mode", "frequency [Hz]", "damping [1]", "with the law [1]")
    for loop in hit:
        s = loop.spillover
        for i in s.losing[:3]:
            row = (compact(s.frequencies_hz[i]), compact(s.before[i], 3), compact(s.after[i], 3))
            listed.add_row(loop.variant or "nominal", str(i + 1), *row)
    common.print_table("Spill-over: modes that lose damping, the worst three of each plant", listed)


def grid(found: Certificate) -> Table:
    """Return the grid over payload and stiffness, the worst point marked."""
    keys = [k for k in (next((p.scores for p in found.points if p.scores), {})) if k.endswith(SETTLING)]
    bands = {key: "to 1 %" if key.endswith(SETTLING[0]) else "to 0.1 %" for key in keys}
    heads = [f"{key.rpartition('.')[0].replace('_', ' ')}\n{band}\n[s]" for key, band in bands.items()]
    listed = common.table("payload\n[g]", "frequencies\n[%]", "loop<", "disk\nmargin\n[1]", *heads, "<")
    for p in found.points:
        disk = compact(p.loop.smallest("disk_margin"), 3) if p.loop and p.loop.stable else ""
        state = p.state
        mass = "" if p.payload is None else compact(1e3 * p.payload)
        cells = [_seconds(p.scores, k) for k in keys]
        mark = "worst" if p is found.worst else ""
        listed.add_row(mass, f"{100 * p.frequency:+g}", state, disk, *cells, mark)
    return listed


def _seconds(scores: Mapping[str, float], key: str) -> str:
    value = scores.get(key)
    return "" if value is None else "never" if math.isinf(value) else compact(value)


def limits(found: Certificate) -> list[str]:
    """Return the limits of stability and the bounds, a line each."""
    lines = []
    for limit in found.limits:
        value = f"{1e3 * limit.value:.4g} g" if limit.what == "payload_kg" else f"{100 * limit.value:+.3g} %"
        what = "payload" if limit.what == "payload_kg" else "natural frequencies"
        end = "unstable beyond" if limit.reached else "searched no further"
        at = f" ({limit.variant})" if limit.variant else ""
        lines.append(f"{what}{at}: stable to {value}, {end}")
    for pose, bound in found.bounds.items():
        where = pose or "where it begins"
        told = f"not examined: {bound}" if isinstance(bound, str) else str(bound)
        lines.append(f"30 % / mu at every command, whatever the payload ({where}): {told}")
        if not isinstance(bound, str) and bound.unstable is None:
            lines.append(f"worst-case gain of T over these payloads ({where}): {bound.worst_case_gain:.4g}")
    worst = found.between
    if worst is not None and worst.point is not None and worst.point.loop is not None:
        p, loop = worst.point, worst.point.loop
        least = f"disk margin {loop.smallest('disk_margin'):.4g}" if loop.stable else loop.state
        lines.append(f"between the points of the set ({worst.tried} tried), at worst: {least}, at {p.where()}")
    return lines


def encoders(found: Certificate) -> Table:
    """Return the runs with encoders."""
    ripples = list(next((q.ripple for q in found.quantised if q.ripple), {}))
    keys = [k for k in (next((q.scores for q in found.quantised if q.scores), {})) if k.endswith(SETTLING[0])]
    heads = [f"ripple of\n{name.replace('_', ' ')}" for name in ripples]
    listed = common.table("bits", *heads, *(f"{k.rpartition('.')[0].replace('_', ' ')}\nto 1 % [s]" for k in keys))
    for q in found.quantised:
        if not q.failure:
            ripple = [compact(q.ripple[n], 3) for n in ripples]
            listed.add_row(str(q.bits), *ripple, *(_seconds(q.scores, k) for k in keys))
    exact = found.runs.get(found.scenario, {})
    if exact:
        listed.add_row("exact", *(compact(found.still[n], 3) for n in ripples), *(_seconds(exact, k) for k in keys))
    return listed


def vibrations(found: Certificate) -> list[str]:
    """Return what is left of the motion, a line for each scenario that stands against another."""
    told = {name: [f"{s.replace('_', ' ')} {times(x)}" for s, x in less.items()] for name, less in found.ratios.items()}
    return [f"vibration left, {name}: less by {', '.join(texts)}" for name, texts in told.items()]


def parted(found: LinearValidity) -> list[str]:
    """Return where run and prediction part, and every output that does so within the range, the first one first."""
    each = [f"{name} {found.where(factor)}" for name, factor in found.partings.items() if math.isfinite(factor)]
    return [f"they differ by 5 % {found.where(found.parting)}{': ' if each else ''}{', '.join(each)}"]


def predictions(found: Certificate) -> list[str]:
    """Return linear validity and saturation, a line each."""
    lines = []
    if found.validity is not None:
        rows = zip(found.validity.amplitudes, found.validity.deviation, found.validity.saturated, strict=True)
        told = [f"{d:.2g} at {a:g}{' (at a limit)' if s else ''}" for a, d, s in rows]
        what = "deviation from the linear prediction [fraction of the move], at times the move"
        lines.append(f"{what}: {', '.join(told)}")
        lines += parted(found.validity)
    for drive, part in found.saturation.items():
        lines.append(f"largest {drive.replace('_', ' ')} of all scenarios: {100 * part:.3g} % of its limit")
    return lines
