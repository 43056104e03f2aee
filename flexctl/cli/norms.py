"""`flexctl norms`: the H2 and H-infinity norms of a linear plant."""

from __future__ import annotations

import math
from typing import Any

import click

from ..errors import require
from ..linear import LinearPlant
from . import cli, common, points
from .bode import chosen
from .linear import linear_plant
from .warned import telling_warnings


@common.command(
    cli,
    """
flexctl norms tokhi_azad_1994 --output joint1_rate --json
flexctl norms planar_2r_servo --hold all --output tip_y --set damping.kind=modal --set damping.ratio=0.01
""",
)
@common.plant_argument
@common.plant_options
@click.option(
    "--input", "inputs", multiple=True, metavar="NAME", help="Input of the plant; repeatable.  [default: all]"
)
@click.option(
    "--output", "outputs", multiple=True, metavar="NAME", help="Output of the plant; repeatable.  [default: all]"
)
@points.point_options
@common.json_option
def norms(
    plant: str, settings: tuple[str, ...], kind: str | None, inputs: tuple[str, ...], outputs: tuple[str, ...],
    as_json: bool, where: points.Where,
) -> None:
    """Print the H2 and H-infinity norms of the linear plant, in SI units, each computed in two ways.

    They are infinite where a pole that the channels see does not decay (a rigid mode, an undamped or unstable one),
    and the H2 norm also where an input is fed straight through.

    JSON: h2 and hinf with value, error (relative difference of the two ways), frequency_rad_s and why; plant, model,
    overrides, version. An infinite value is null.
    """
    linear = chosen(linear_plant(plant, settings, kind, where), inputs, outputs)
    require(bool(linear.inputs and linear.outputs), f"{plant} has no {_missing(linear)}, hence no norm{_why(where)}")
    with telling_warnings():
        found = {"h2": linear.norm(2), "hinf": linear.norm(math.inf)}
    about = common.identity(linear)
    if as_json:
        told: dict[str, Any] = {
            key: {"value": float(n), "error": n.error, "frequency_rad_s": n.frequency, "why": n.why}
            for key, n in found.items()
        }
        common.print_json({**told, **about})
        return
    listed = common.table("norm<", "value", "known to", "at [rad/s]", "<")
    for key, n in found.items():
        known = common.compact(n.error, 2) if math.isfinite(n.error) else ""
        at = common.compact(n.frequency, 6) if math.isfinite(n.frequency) else ""
        listed.add_row({"h2": "H2", "hinf": "H-infinity"}[key], common.compact(float(n), 8), known, at, n.why)
    common.print_table(f"{about['plant']} ({about['model']}){points.title(linear)}", listed)


def _missing(linear: LinearPlant) -> str:
    return "output" if linear.inputs else "input"


def _why(where: points.Where) -> str:
    return "; inputs that act on nothing else than the joints that --hold holds are left out" if where.hold else ""
