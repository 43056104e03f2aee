"""`flexctl new`: a commented file to begin with, which works as it is."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

from ..errors import DefinitionError, NotAvailable
from ..support.files import write_atomically
from . import cli
from .common import command, tell, writable

TRIES, LESS = 8, 1.5
MOVE = 0.5


@command(
    cli,
    """
flexctl new arm first_arm
flexctl new controller first_law --plant first_arm.toml
flexctl new model first_model
""",
)
@click.argument("what", type=click.Choice(["arm", "controller", "model"]))
@click.argument("name")
@click.option("--plant", metavar="PLANT", help="For a controller: the plant it is made for.")
@click.option("-o", "--output", "place", default=".", metavar="FOLDER", help="Where to write; here by default.")
@click.option("--force", is_flag=True, help="Replace a file of that name.")
def new(what: str, name: str, plant: str | None, place: str, force: bool) -> None:
    """Write a commented starting file that works: NAME.toml of an arm, NAME.py of a controller or a model.

    A controller is made for a plant: a PID of every joint, as fast as this plant lets it, to be changed from there.
    """
    if not re.fullmatch("[A-Za-z][A-Za-z0-9_]*", name):
        raise DefinitionError(f'NAME "{name}" must be letters, digits and underscores, a letter first; e.g. my_{what}')
    if plant is not None and what != "controller":
        raise DefinitionError(f"--plant is for a controller; a new {what} has none")
    target = Path(place) / (f"{name}.toml" if what == "arm" else f"{name}.py")
    writable(target.parent, target)
    if target.exists() and not force:
        raise DefinitionError(f"{target} is there already; choose another name, or replace it with --force")
    fields = {"NAME": name, "FILE": target.name, "CLASS": "".join(part.title() for part in name.split("_"))}
    if what == "controller":
        if plant is None:
            raise DefinitionError("a controller is made for a plant: add --plant NAME or --plant FILE.toml")
        fields |= _numbers(plant, target.parent)
    text = template({"arm": "arm.toml", "controller": "controller.py.txt", "model": "model.py.txt"}[what], fields)
    tell(write_atomically(target, lambda stream: stream.write(text.encode())))


def template(file: str, fields: dict[str, str]) -> str:
    """Return a template with its fields filled in."""
    text = files(__package__).joinpath("templates", file).read_text(encoding="utf-8")
    for key, value in fields.items():
        text = text.replace(f"@{key}@", value)
    return text


def _numbers(name: str, folder: Path) -> dict[str, str]:
    """Return what a controller of a plant begins with: crossover, torque limit and a move of three of its periods."""
    from ..catalogue import load_plant
    from ..linear.steady import lock

    plant = load_plant(name)
    linear = plant.linearise()
    drives = [f"joint{i}_{kind}" for i in range(1, len(plant.arm.joints) + 1) for kind in ("torque", "force")]
    joints = [signal.name.partition("_")[0] for signal in linear.inputs if signal.name in drives]
    if len(joints) < len(plant.arm.joints):
        raise NotAvailable(
            f"what is written is a PID of joints that torques or forces drive; the inputs of {plant.name} are "
            f"{', '.join(signal.name for signal in linear.inputs)}: start from a script that `flexctl list` shows"
        )
    frequency = float(lock(linear, joints).modes(1).frequencies_hz[0])
    crossover = _crossover(linear, 2.0 * np.pi * frequency / 5.0)
    duration = float(f"{max(3.0 / frequency, 8.0 / crossover):.2g}")
    load, links = plant.arm.payload.mass, sum(link.mass for link in plant.arm.links)
    payloads = load, float(f"{1.5 * load if load > 0.0 else 0.1 * links:.4g}")
    return {
        "PLANT": _shown(name, folder), "CROSSOVER": f"{crossover:.3g}", "MOVE": f"{MOVE:g}",
        "DURATION": f"{duration:g}", "LIMIT": f"{_torque(plant, duration, payloads[-1]):.2g}",
        "PAYLOADS": ", ".join(f"{mass:.4g}" for mass in payloads),
    }


def _shown(name: str, folder: Path) -> str:
    """Return the plant as the script names it: a file is looked for beside the script first."""
    path = Path(name)
    if path.suffix != ".toml":
        return name
    return path.name if path.resolve().parent == folder.resolve() else str(path.resolve())


def _crossover(linear: Any, wanted: float) -> float:
    """Return the first of ever lower crossovers with which a PID of every joint is stable [rad/s]."""
    from ..design.joint_pid import joint_pids

    trouble: DefinitionError | None = None
    for k in range(TRIES):
        try:
            joint_pids(linear, crossover=wanted / LESS**k, phase_margin_deg=50.0, sample_time=1e-3)
        except DefinitionError as error:
            trouble = error
            continue
        return wanted / LESS**k / LESS  # with some room
    raise NotAvailable(
        f"no PID of the joints is stable on this plant, down to {wanted / LESS ** (TRIES - 1):.3g} rad/s; a plant "
        f"without any damping often has none: add [damping]. The last trial: {trouble}"
    )


def _torque(plant: Any, duration: float, payload: float) -> float:
    """Return twice the largest torque that the rigid arm with a payload [kg] needs for the move."""
    from ..laws.rigid_reference import references
    from ..motion.moves import quintic

    arm = plant.with_({"payload.mass": payload})
    moves = {f"joint{i}": quintic(a, a + MOVE, duration) for i, a in enumerate(arm.arm.reference_joints, 1)}
    wanted = references(arm, moves, _Fed(tuple(f"{joint}_feedforward" for joint in moves)))
    t = np.linspace(0.0, duration, 200)
    return 2.0 * max(float(np.abs(motion(t)[0]).max()) for name, motion in wanted.items() if "feedforward" in name)


class _Fed(NamedTuple):
    """The one attribute of a law that `references` needs."""

    follows: tuple[str, ...]
