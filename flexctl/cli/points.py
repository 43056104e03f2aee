"""Where `modes`, `bode` and `linearise` take the linear plant: pose, joints held, loads, spin."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, TypeVar, cast

import click

from ..catalogue import Plant
from ..errors import require
from ..linear import LinearPlant, SecondOrder
from ..model import Signal
from .quantities import each, named
from .warned import telling_warnings

F = TypeVar("F", bound=Callable[..., Any])
JOINT = re.compile(r"joint\d+(_motor)?")
HUB = "theta"
"""How finite differences call the angle of their joint."""


@dataclass(frozen=True)
class Where:
    """The options as given."""

    pose: tuple[str, ...] = ()
    hold: tuple[str, ...] = ()
    load: tuple[str, ...] = ()
    spin: str | None = None
    friction: str = "viscous"

    @property
    def moved(self) -> bool:
        """Whether the plant is taken elsewhere than at rest in the pose of the file."""
        return bool(self.pose or self.load or self.spin or self.friction != "viscous")


def point_options(function: F) -> F:
    """Add --pose, --hold, --load, --spin and --friction, and pass them on as `where`."""

    @wraps(function)
    def called(
        *arguments: Any, pose: tuple[str, ...], hold: tuple[str, ...], load: tuple[str, ...], spin: str | None,
        friction: str, **others: Any,
    ) -> Any:
        return function(*arguments, where=Where(pose, hold, load, spin, friction), **others)

    options = (
        click.option(
            "--pose", multiple=True, metavar="JOINT=VALUE",
            help="Joint variables of the pose, e.g. joint2=30deg,joint3=0.2, or all of them, e.g. 10deg,30deg; in rad, "
            "or m for a slide; repeatable.  [default: the plant file's]",
        ),
        click.option(
            "--hold", "--lock", "hold", multiple=True, metavar="JOINT",
            help='Joint to hold fixed, e.g. joint1, or "all"; repeatable.',
        ),
        click.option(
            "--load", multiple=True, metavar="INPUT=VALUE",
            help="Constant inputs that act at the equilibrium, e.g. tip_force_y=5,tip_force_x=2; SI units; "
            "repeatable.",
        ),
        click.option("--spin", metavar="RATE,...", help="Steady rate of every joint [rad/s], e.g. 6 or 6,0."),
        click.option(
            "--friction", type=click.Choice(["viscous", "stick"]), default="viscous", show_default=True,
            help="Dry friction and play at rest: viscous leaves them out, stick linearises them too.",
        ),
    )
    for option in reversed(options):
        called = option(called)
    return cast("F", called)


def taken_at(where: Where, plant: Plant) -> LinearPlant:
    """Return the linear plant of an arm there, or say what is wrong with the place."""
    with telling_warnings():
        return _taken_at(where, plant)


def _taken_at(where: Where, plant: Plant) -> LinearPlant:
    from ..linear import linearise
    from ..linear.operating import rest_point

    if not where.moved:
        return held(where, plant.linearise())
    pose, load = _pose(where, plant), named("--load", where.load, signal_units(plant.model.inputs), "input")
    if where.spin is None:
        linear = linearise(plant.model, rest_point(plant, pose or None, load), plant.identity, where.friction)
        return held(where, _noted(plant, linear, pose=pose, load=load))
    from ..linear.steady import spinning_plant

    require(not load, "--spin takes no --load: leave one of them out")
    require(where.friction == "viscous", "--spin takes no --friction: joints turn there, and have that friction")
    angles = list(plant.arm.reference_joints)
    for name, value in pose.items():
        angles[_joints(plant).index(name)] = value
    linear = spinning_plant(plant.model, _spin(where.spin, plant), angles, provenance=plant.identity)
    return held(where, _noted(plant, linear, pose=pose))


def rest_of(where: Where, plant: Plant) -> dict[str, dict[str, float]]:
    """Return pose and load of an arm that is not linearised, by name, where they are given."""
    wrong = [f"--{key}" for key in ("hold", "spin") if getattr(where, key)]
    wrong += ["--friction"] if where.friction != "viscous" else []
    require(not wrong, f"{', '.join(wrong)} is for linear plants and has no effect on the arm itself; leave it out")
    require(isinstance(plant, Plant), "--nonlinear needs the plant file of an arm; a linear plant is exact as it is")
    pose, load = _pose(where, plant), named("--load", where.load, signal_units(plant.model.inputs), "input")
    return {key: value for key, value in (("pose", pose), ("load", load)) if value}


def held(where: Where, linear: LinearPlant) -> LinearPlant:
    """Return the plant with the joints of --hold held."""
    from ..linear.steady import lock

    if not where.hold:
        return linear
    require(isinstance(linear, SecondOrder), "--hold needs a second-order plant: the file holds a first-order one")
    plant = cast("SecondOrder", linear)
    known = {s.name for s in plant.coordinates}
    own = {"joint1": HUB} if HUB in known and "joint1" not in known else {}
    joints = [name.removesuffix("_motor") for name in known if JOINT.fullmatch(name)] or list(own)
    order = dict.fromkeys(s.name for s in plant.coordinates)
    # what drives a joint stands still: of a flexible one the motor
    every = {joint: next(x for x in (f"{joint}_motor", joint, own.get(joint, "")) if x in known) for joint in joints}
    held_all = sorted(every.values(), key=[*order].index)
    require(bool(every) or "all" not in where.hold, "--hold all: the plant has no coordinate joint1, joint2, ...")
    found = [name.strip() for given in where.hold for name in (held_all if given == "all" else given.split(","))]
    return lock(plant, list(dict.fromkeys(name if name in known else own.get(name, name) for name in found)))


def described(linear: LinearPlant) -> dict[str, Any]:
    """Return what was asked for about the operating point: pose, load, held, joint_rates, joints."""
    keys = ("pose", "load", "held", "joint_rates", "joints")
    return {key: linear.provenance[key] for key in keys if linear.provenance.get(key)}


def title(linear: LinearPlant) -> str:
    """Return the same in words, with a comma in front."""
    found = described(linear)
    words = [*linear.provenance.get("point", ()), *filter(None, [linear.provenance.get("joints")])]
    if "joint_rates" in found:
        words.append(f"spinning at {', '.join(f'{w:g}' for w in found['joint_rates'])} rad/s")
    if "held" in found:
        words.append(f"{', '.join(found['held'])} held")
    return "".join(f", {word}" for word in words)


def _noted(plant: Plant, linear: SecondOrder, **what: dict[str, float]) -> SecondOrder:
    unit = {**_units(plant), **signal_units((*plant.model.coordinates, *plant.model.inputs))}
    point = [f"{name} = {value:.6g} {unit[name]}" for part in what.values() for name, value in part.items()]
    return replace(linear, provenance={**linear.provenance, **what, "point": point})


def signal_units(signals: Sequence[Signal]) -> dict[str, str]:
    """Return the unit of every signal by name."""
    return {signal.name: signal.unit for signal in signals}


def _units(plant: Plant) -> dict[str, str]:
    """Return the unit of every joint variable by name, also of a joint that is no coordinate (finite differences)."""
    return {name: "rad" if j.revolute else "m" for name, j in zip(_joints(plant), plant.arm.joints, strict=True)}


def _joints(plant: Plant) -> list[str]:
    return [f"joint{i}" for i in range(1, len(plant.arm.joints) + 1)]


def _pose(where: Where, plant: Plant) -> dict[str, float]:
    """Return the joint variables that are given, by name."""
    units = _units(plant)
    if len(where.pose) == 1 and "=" not in where.pose[0]:
        driven = [name for name, j in zip(_joints(plant), plant.arm.joints, strict=True) if j.drive != "free"]
        count = len(where.pose[0].split(","))
        require(count == len(driven), f"--pose has {count} values; the arm has {len(driven)} driven joints")
        return dict(zip(driven, each("--pose", where.pose[0], [units[name] for name in driven]), strict=True))
    return named("--pose", where.pose, units, "joint")


def _spin(text: str, plant: Plant) -> list[float]:
    """Return the rate of every joint."""
    units = ["rad/s" if j.revolute else "m/s" for j in plant.arm.joints]
    count = len(text.split(","))
    require(count == len(units), f"--spin has {count} values; the arm has {len(units)} joints")
    return each("--spin", text, units)
