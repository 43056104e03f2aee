"""`flexctl modes` and `flexctl linearise`: the linear plant and what is read off it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from ..abilities import IsLinear
from ..errors import DefinitionError, require, unknown
from ..model import names
from . import cli, common, points
from .effect import no_effect

if TYPE_CHECKING:
    from ..linear import FirstOrder, LinearPlant, SecondOrder

WRITTEN = (".mat", ".npz", ".json")
"""Files of linear plants that are written."""
SHOWN = 10
"""So many modes are shown where no number is asked for."""


def linear_plant(
    name: str, settings: Sequence[str], kind: str | None, where: points.Where | None = None
) -> LinearPlant:
    """Return the linear plant of an arm about rest, or another point, or the one in a file."""
    where, plant = where or points.Where(), common.load(name, settings, kind)
    if isinstance(plant, IsLinear):
        told = f"{name} is a linear plant"
        require(not where.moved, f"{told}: --pose, --load, --spin and --friction are for the plant file of an arm")
        return points.held(where, plant.linear_plant)
    return points.taken_at(where, plant)


@common.command(
    cli,
    """
flexctl modes tokhi_azad_1994
flexctl modes tokhi_azad_1994 --set payload.mass=0.02 --set model.sections=40 --count 3
flexctl modes planar_2r_flexible --hold all --pose joint2=60deg --load tip_force_y=5
flexctl modes simo_vu_quoc_1986 --spin 6 --hold joint1
flexctl modes spatial_3r --mode 3 --animate mode3.gif --report modes.html
flexctl modes tokhi_azad_1994 --json | jq .frequencies_hz
""",
)
@common.plant_argument
@common.plant_options
@click.option(
    "--count",
    type=click.IntRange(min=1),
    help="Number of flexible modes, from the lowest.  [default: 10, all with --json]",
)
@click.option("--mode", "number", type=click.IntRange(min=1), default=1, show_default=True, help="Mode to animate.")
@common.animate_option("a mode of the arm about its equilibrium")
@common.report_option
@points.point_options
@common.json_option
def modes(
    plant: str, settings: tuple[str, ...], kind: str | None, count: int | None, number: int, film: Path | None,
    page: Path | None, as_json: bool, where: points.Where,
) -> None:
    """Print natural frequencies and damping ratios about the equilibrium under gravity, every joint held by its drive.

    Frequencies are |lambda| of the damped poles; undamped frequencies are shown where they differ. Poles of
    actuators are marked with their joint.

    JSON: frequencies_hz, damping, rigid_modes, real_poles, undamped_hz, owners, real_owners; plant, model, overrides,
    version, and whichever of pose, load, held and joint_rates was given.

    PLANT may also be a linear plant in a .mat, .npz, .json or .mtx file, or a plant file of matrices.
    """
    if film is None:
        no_effect("number", without="without --animate; --count says how many are shown")
    with common.patiently(f"modes of {plant}"):
        linear = linear_plant(plant, settings, kind, where)
        found = linear.modes(count if as_json or count else SHOWN + 1)
    if film is not None:
        from ..io.animate import animate_mode

        require(not points.described(linear), "--animate shows modes about rest: leave --pose, --load and --lock out")
        with common.patiently(f"drawing {film.name}"):
            animate_mode(common.load(plant, settings, kind), film, number)
        common.tell(film)
    arm = common.load(plant, settings, kind) if page is not None and not points.described(linear) else None
    common.write_report(found, page, plant=arm, title=f"modes of {plant}")
    if as_json:
        common.print_json({**found.to_dict(), **common.identity(linear), **points.described(linear)})
        return
    about = common.identity(linear)
    heads, whose = ("mode", "frequency [Hz]", "damping ratio [1]"), any(found.owners)
    listed = common.table(*heads, *(["of<"] if whose else []))
    shown = slice(count or SHOWN)
    rows = zip(found.frequencies_hz[shown], found.damping[shown], strict=True)
    for number, (frequency, damping) in enumerate(rows, 1):
        owner = f"actuator of {found.owner(number - 1)}" if found.owner(number - 1) else "arm"
        listed.add_row(str(number), f"{frequency:.6g}", f"{damping:.4g}", *([owner] if whose else []))
    common.print_table(f"{about['plant']} ({about['model']}){points.title(linear)}", listed)
    common.stdout().print(f"rigid modes: {found.rigid_modes}")
    if found.damping_shifts and found.undamped_hz is not None:
        told = ("unstable" if math.isnan(f) else f"{f:.6g}" for f in found.undamped_hz[shown])
        common.stdout().print(f"without damping [Hz]: {', '.join(told)}")
    for line in found.in_short():
        common.stdout().print(line)
    if count is None and len(found.frequencies_hz) > SHOWN:
        common.stdout().print(f"the lowest {SHOWN} modes; --count shows more")


@common.command(
    cli,
    """
flexctl linearise tokhi_azad_1994
flexctl linearise tokhi_azad_1994 -o plant.mat              A, B, C, D and M, D, K with names
flexctl linearise tokhi_azad_1994 --modes 3 -o plant.json   rigid and 3 flexible modes, first order
flexctl linearise spatial_3r --pose 0,-30deg,60deg -o bent.mat
""",
)
@common.plant_argument
@common.plant_options
@click.option(
    "--modes", "count", type=click.IntRange(min=0),
    help="Keep the rigid modes and this many flexible ones; first order."
)
@click.option("--form", help="First-order form: modal, energy or physical.  [default: the second-order plant]")
@click.option("-o", "files", multiple=True, metavar="FILE", help="Write .mat, .npz or .json; repeatable.")
@points.point_options
@common.json_option
def linearise(
    plant: str, settings: tuple[str, ...], kind: str | None, count: int | None, form: str | None,
    files: tuple[str, ...], as_json: bool, where: points.Where,
) -> None:
    """Write the linear plant about the equilibrium under gravity, or print a summary of it.

    The file holds A, B, C, D and M, D, K with names, operating point and provenance.

    JSON: coordinates or states, inputs, outputs, poles_rad_s.real and .imag; plant, model, overrides, version, and
    whichever of pose, load, held and joint_rates was given.
    """
    targets = [common.target(name, WRITTEN) for name in files]
    with common.patiently(f"linear plant of {plant}"):
        linear = linear_plant(plant, settings, kind, where)
        if count is not None or form is not None:
            linear = _first_order(linear, form or "modal", count)
    for path in targets:
        with common.patiently(f"writing {path}"):
            linear.save(path)
        common.tell(path)
    if as_json:
        with common.patiently(f"poles of {plant}"):
            summary = _summary(linear)
        common.print_json({**summary, **common.identity(linear), **points.described(linear)})
    elif not targets:
        _print_plant(linear)


def _first_order(linear: LinearPlant, form: str, count: int | None) -> FirstOrder:
    from ..linear import SecondOrder
    from ..linear.realise import FORMS

    if form not in FORMS:
        raise unknown("form", form, FORMS)
    if not isinstance(linear, SecondOrder):
        raise DefinitionError("the file holds a first-order plant already: leave --form and --modes out")
    return linear.first_order(form, count)


def _summary(linear: LinearPlant) -> dict[str, Any]:
    from ..linear import FirstOrder

    first = linear if isinstance(linear, FirstOrder) else linear.first_order()
    poles = first.poles()
    own = (
        {"states": names(first.states)}
        if first is linear
        else {"coordinates": names(cast("SecondOrder", linear).coordinates)}
    )
    signals = {"inputs": names(linear.inputs), "outputs": names(linear.outputs)}
    return {**own, **signals, "poles_rad_s": {"real": poles.real, "imag": poles.imag}}


def _print_plant(linear: LinearPlant) -> None:
    from ..linear import SecondOrder

    about = common.identity(linear)
    second = isinstance(linear, SecondOrder)
    columns = linear.coordinates if isinstance(linear, SecondOrder) else linear.states
    listed = common.table("what<", "value<")
    listed.add_row("equation", "M a + D v + K q = B u" if second else "x' = A x + B u, y = C x + D u")
    listed.add_row(f"{len(columns)} {'coordinates' if second else 'states'}", _few(names(columns)))
    listed.add_row(f"{len(linear.inputs)} inputs", ", ".join(map(str, linear.inputs)))
    listed.add_row(f"{len(linear.outputs)} outputs", ", ".join(map(str, linear.outputs)))
    with common.patiently(f"modes of {about['plant']}"):
        found = linear.modes(5)
    listed.add_row("rigid modes", str(found.rigid_modes))
    listed.add_row("lowest modes", ", ".join(f"{f:.5g}" for f in found.frequencies_hz) + " Hz")
    common.print_table(f"{about['plant']} ({about['model']}){points.title(linear)}", listed)


def _few(words: Sequence[str]) -> str:
    return ", ".join(words) if len(words) <= 8 else f"{', '.join(words[:4])}, ..., {words[-1]}"
