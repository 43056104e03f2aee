"""`flexctl new`: a commented file to begin with, which works as it is."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

from ..errors import DefinitionError, NotAvailable
from ..support.files import write_atomically
from . import cli
from .common import command, tell, writable

TRIES, LESS = 8, 1.5
MARGINS = (50.0, 60.0, 70.0, 80.0, 88.0)
TORQUES = "of every torque (N where a joint slides): twice what the move below takes"
MOTORS = ("_voltage", "_current")
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
@click.option("--plant", metavar="PLANT", help="The plant that a controller is made for.")
@click.option("-o", "--output", "place", default=".", metavar="FOLDER", help="Folder to write to. [default: here]")
@click.option("--force", is_flag=True, help="Replace an existing file.")
def new(what: str, name: str, plant: str | None, place: str, force: bool) -> None:
    """Write a commented, working starting file: NAME.toml for an arm, NAME.py for a controller or a model.

    Beside a model stands NAME.toml, an arm that it can take.

    A controller is made for a plant: a PID for every joint to start from, a third as fast as the first mode with the
    joints held, or as fast as the plant allows.
    """
    if not re.fullmatch("[A-Za-z][A-Za-z0-9_]*", name):
        raise DefinitionError(f'NAME "{name}" must be letters, digits and underscores, a letter first; e.g. my_{what}')
    if plant is not None and what != "controller":
        raise DefinitionError(f"--plant is for a controller; a new {what} has none")
    target = Path(place) / (f"{name}.toml" if what == "arm" else f"{name}.py")
    files = {target: {"arm": "arm.toml", "controller": "controller.py.txt", "model": "model.py.txt"}[what]}
    if what == "model":
        files[target.with_suffix(".toml")] = "model.toml"
    for file in files:
        writable(file.parent, file)
        if file.exists() and not force:
            raise DefinitionError(f"{file} is there already; choose another name, or replace it with --force")
    fields = {"NAME": name, "FILE": target.name, "CLASS": "".join(part.title() for part in name.split("_"))}
    if what == "controller":
        if plant is None:
            raise DefinitionError("a controller is made for a plant: add --plant NAME or --plant FILE.toml")
        fields |= _numbers(plant, target.parent)
    for file, source in files.items():
        tell(_written(file, template(source, fields)))


def _written(file: Path, text: str) -> Path:
    return write_atomically(file, lambda stream: stream.write(text.encode()))


def template(file: str, fields: dict[str, str]) -> str:
    """Return a template with its fields filled in."""
    text = resources.files(str(__package__)).joinpath("templates", file).read_text(encoding="utf-8")
    for key, value in fields.items():
        text = text.replace(f"@{key}@", value)
    return text


def _numbers(name: str, folder: Path) -> dict[str, str]:
    """Return what a controller of a plant begins with: crossover, limit and a move of three of its periods."""
    from ..catalogue import load_plant
    from ..linear.steady import lock

    plant = load_plant(name)
    linear = plant.linearise()
    drives = _drives(plant, linear)
    joints, motors = [drive.partition("_")[0] for drive in drives], drives[0].endswith(MOTORS)
    frequency = float(lock(linear, joints).modes(1).frequencies_hz[0])
    crossover, margin = _crossover(linear, np.pi * frequency)
    duration = float(f"{max(3.0 / frequency, 8.0 / crossover):.2g}")
    load, links = plant.arm.payload.mass, sum(link.mass for link in plant.arm.links)
    payloads = load, float(f"{1.5 * load if load > 0.0 else 0.1 * links:.4g}")
    limit = (
        (_amplifier(plant), "V" if "voltage" in drives[0] else "A", "the smallest of the amplifiers")
        if motors else (f"{_torque(plant, duration, payloads[-1]):.2g}", "N m", TORQUES)
    )
    return {
        "PLANT": _shown(name, folder), "CROSSOVER": f"{crossover:.3g}", "MOVE": f"{MOVE:g}", "MARGIN": f"{margin:.1f}",
        "DURATION": f"{duration:g}", "PAYLOADS": _listed(payloads),
        **dict(zip(("LIMIT", "UNIT", "LARGEST"), limit, strict=True)),
    }


def _listed(masses: tuple[float, ...]) -> str:
    """Return what stands between the brackets of a tuple of different masses [kg]."""
    found = list(dict.fromkeys(f"{mass:.4g}" for mass in masses))
    return ", ".join(found) + ("," if len(found) == 1 else "")


def _drives(plant: Any, linear: Any) -> list[str]:
    """Return the inputs of all joints, which must be torques and forces, or all those of motors."""
    known = [signal.name for signal in linear.inputs]
    for kinds in (("_torque", "_force"), ("_voltage",), ("_current",)):
        found = [f"joint{i}{kind}" for i in range(1, len(plant.arm.joints) + 1) for kind in kinds]
        found = [name for name in found if name in known]
        if len(found) == len(plant.arm.joints):
            return found
    raise NotAvailable(
        f"what is written is a PID of joints that are all driven by torques or forces, by voltages, or by currents; "
        f"the inputs of {plant.name} are {', '.join(known)}: start from a script that `flexctl list` shows"
    )


def _amplifier(plant: Any) -> str:
    """Return the smallest limit that the motors of an arm state, as Python has it [V or A]."""
    joints = [joint for joint in plant.arm.joints if joint.motor is not None]
    limits = [j.motor.max_voltage if j.drive == "voltage" else j.motor.max_current for j in joints]
    stated = [limit for limit in limits if limit > 0.0]
    return f"{min(stated):g}" if stated else 'float("inf")'


def _shown(name: str, folder: Path) -> str:
    """Return the plant as the script names it: a file is looked for beside the script first."""
    path = Path(name)
    if path.suffix != ".toml":
        return name
    return path.name if path.resolve().parent == folder.resolve() else str(path.resolve())


def _crossover(linear: Any, wanted: float) -> tuple[float, float]:
    """Return the first of ever lower crossovers [rad/s], with the least phase margin [deg], with which a PID of every
    joint is stable; a motor damps so much that only large margins leave it a lead to give."""
    from ..design.joint_pid import joint_pids

    trouble: DefinitionError | None = None
    for k in range(TRIES):
        for margin in MARGINS:
            try:
                for crossover in (wanted / LESS**k, wanted / LESS ** (k + 1)):  # with some room
                    joint_pids(linear, crossover=crossover, phase_margin_deg=margin, sample_time=1e-3)
            except DefinitionError as error:
                trouble = trouble or error
                continue
            return crossover, margin
    raise NotAvailable(
        f"no PID of the joints is stable on this plant, down to {wanted / LESS**TRIES:.3g} rad/s; a plant "
        f"without any damping often has none: add [damping]. The first trial: {trouble}"
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
