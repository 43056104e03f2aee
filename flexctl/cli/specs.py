"""Signals, motions and payload changes as short words on the command line.

bang-bang:0.1,0.3            KIND:NUMBER,NUMBER,...          numbers are SI, or carry a unit: 60deg, 250ms, 15g
joint1_torque=sine:0.05,12      NAME=... for one input or reference channel
run.csv                      a file, see `flexctl.cli.recorded`
0.5:20g                      TIME:MASS[,INERTIA], a payload change

`flexctl.cli.quantities` reads the numbers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import require, unknown
from ..model import Signal, names
from ..motion.moves import (
    Cycloid,
    InputSignal,
    Motion,
    PiecewiseConstant,
    Polynomial,
    Sine,
    Step,
    Trapezoid,
    bang_bang,
    quintic,
)
from .quantities import quantity, setting
from .recorded import recorded

OWN = "own"
"""Stands for the unit of the signal itself."""


@dataclass(frozen=True)
class Kind:
    """A kind of signal or motion: how it is made, what it is called with, the units of its numbers."""

    make: Callable[..., Any]
    usage: str
    least: int
    units: tuple[str, ...]

    @property
    def most(self) -> int:
        """How many numbers it takes at most."""
        return len(self.units)


def _constant(value: float) -> PiecewiseConstant:
    return PiecewiseConstant((), (value,))


def _step(value: float, start: float = 0.0) -> PiecewiseConstant:
    return PiecewiseConstant((start,), (0.0, value))


def _pulse(value: float, length: float, start: float = 0.0) -> PiecewiseConstant:
    return PiecewiseConstant((start, start + length), (0.0, value, 0.0))


def _quintic(to: float, time: float, start: float = 0.0) -> Polynomial:
    return quintic(0.0, to, time, start)


def _cubic(to: float, time: float, start: float = 0.0) -> Polynomial:
    return Polynomial(0.0, to, time, start, 3)


def _cycloid(to: float, time: float, start: float = 0.0) -> Cycloid:
    return Cycloid(0.0, to, time, start)


def _trapezoid(to: float, time: float, ramp: float, start: float = 0.0) -> Trapezoid:
    return Trapezoid(0.0, to, time, ramp, start)


def _jump(to: float, start: float = 0.0) -> Step:
    return Step(0.0, to, start)


SIGNALS = {
    "bang-bang": Kind(bang_bang, "bang-bang:AMPLITUDE,HALF_TIME[,START]", 2, (OWN, "s", "s")),
    "step": Kind(_step, "step:VALUE[,START]", 1, (OWN, "s")),
    "pulse": Kind(_pulse, "pulse:VALUE,LENGTH[,START]", 2, (OWN, "s", "s")),
    "sine": Kind(Sine, "sine:AMPLITUDE,HERTZ[,START[,END]]", 2, (OWN, "Hz", "s", "s")),
    "constant": Kind(_constant, "constant:VALUE", 1, (OWN,)),
}
MOTIONS = {
    "quintic": Kind(_quintic, "quintic:TO,TIME[,START]", 2, (OWN, "s", "s")),
    "cubic": Kind(_cubic, "cubic:TO,TIME[,START]", 2, (OWN, "s", "s")),
    "cycloid": Kind(_cycloid, "cycloid:TO,TIME[,START]", 2, (OWN, "s", "s")),
    "trapezoid": Kind(_trapezoid, "trapezoid:TO,TIME,RAMP[,START]", 3, (OWN, "s", "s", "s")),
    "step": Kind(_jump, "step:TO[,START]", 1, (OWN, "s")),
}


def _made(text: str, kinds: dict[str, Kind], what: str, unit: str, most: float | None = None) -> Any:
    """Return the signal or motion of a word; `unit` is that of the signal, empty where it is not known."""
    word, _, arguments = text.partition(":")
    if word not in kinds:
        raise unknown(what, word, [kind.usage for kind in kinds.values()] if not word else kinds)
    kind = kinds[word]
    parts = arguments.split(",") if arguments.strip() else []
    require(kind.least <= len(parts) <= kind.most, f'{what} "{text}" has {len(parts)} numbers; write {kind.usage}')
    units = [(unit, most) if each == OWN else (each, None) for each in kind.units]
    label = f'{what} "{text}"'
    return kind.make(*(quantity(part, unit, label, most) for part, (unit, most) in zip(parts, units, strict=False)))


def _named(text: str) -> tuple[str, str]:
    name, equals, rest = text.partition("=")
    return (name.strip(), rest) if equals else ("", text)


def inputs(texts: Sequence[str], available: Sequence[Signal], torque: Sequence[str] = ()) -> dict[str, InputSignal]:
    """Return the input signals of `[NAME=]KIND:...` words; without a name they go to the first input.

    `torque` holds the values of --torque, which without a name go to the first input in N m: that of a joint.
    """
    found: dict[str, InputSignal] = {}
    torques = [s.name for s in available if s.unit == "N m"]
    require(
        not torque or bool(torques), f"no input is a torque; the inputs are {names(available)}: use --input NAME=..."
    )
    joints = [s.name for s in available if s.name.startswith("joint")]
    elsewhere = bool(joints) and bool(torques) and not torques[0].startswith("joint")
    require(
        not elsewhere or all(_named(text)[0] for text in torque),
        f"no joint takes a torque ({', '.join(torques)} acts elsewhere): name the input, as --torque "
        f"{next(iter(torques), '')}=..., or drive a joint with --input {next(iter(joints), '')}=...",
    )
    require(not texts or bool(available), "the plant has no input")
    for text, default in [*((t, available[0].name) for t in texts), *((t, torques[0]) for t in torque)]:
        name, word = _named(text)
        name = name or default
        if name not in names(available):
            raise unknown("input", name, names(available))
        require(name not in found, f'input "{name}" is given twice')
        unit = next(s.unit for s in available if s.name == name)
        own = word.lower().endswith(".csv")
        found[name] = recorded(Path(word), name, unit) if own else _made(word, SIGNALS, "input signal", unit)
    return found


def reference(
    texts: Sequence[str], units: Mapping[str, str] | None = None, follows: Sequence[str] = (), reach: float = math.inf
) -> Motion | dict[str, Motion] | None:
    """Return the motions of `[NAME=]KIND:...` words; a single one without a name is for all channels.

    `units` holds the unit of each channel, `follows` the channels of the law. A number alone is not taken for a way
    longer than twice the arm's `reach` [m], nor, where the unit is not known, for more than one revolution.
    """
    found: dict[str, Motion] = {}
    own = {(units or {}).get(name, "") for name in follows}
    common = own.pop() if len(own) == 1 else ""
    most = {"m": 2.0 * reach, "": 2.0 * math.pi}
    for text in texts:
        name, word = _named(text)
        require(
            name not in found, f'the reference of "{name}" is given twice' if name else "name the channels: NAME=..."
        )
        unit = (units or {}).get(name, "") if name else common
        found[name] = _made(word, MOTIONS, "motion", unit, most.get(unit))
    if "" not in found:
        return found or None
    require(len(found) == 1, "name the channel of every reference: NAME=KIND:...")
    return found[""]


def payload_changes(texts: Iterable[str]) -> list[tuple[float, float, float]]:
    """Return (time [s], mass [kg], inertia [kg m^2]) of `TIME:MASS[,INERTIA]` words."""
    changes = []
    for text in texts:
        when, colon, what = text.partition(":")
        require(bool(colon), f'payload change "{text}" is not understood; write TIME:MASS, for example 0.5:20g')
        parts = what.split(",")
        require(len(parts) <= 2, f'payload change "{text}" has {len(parts)} numbers; write TIME:MASS[,INERTIA]')
        label = f'payload change "{text}"'
        mass = quantity(parts[0], "kg", label)
        inertia = quantity(parts[1], "kg m^2", label) if len(parts) == 2 else 0.0
        require(mass >= 0 and inertia >= 0, f"{label}: mass and inertia must not be negative")
        changes.append((quantity(when, "s", label), mass, inertia))
    return changes


def usage(kinds: dict[str, Kind]) -> str:
    """Return the kinds as they are written, for a help page."""
    return "  ".join(kind.usage for kind in kinds.values())


def formulation(text: str) -> str | dict[str, Any]:
    """Return a kind of model, or its table [model] when options follow a colon: "ancf:elements=16,law=omar".

    A kind may have a colon itself, "my_model.py:MyModel:stiffness=3.0"; options begin with KEY=.
    """
    require(bool(text.strip()), "the kind of model is empty; `flexctl list` names them")
    found = re.search(r":(?=\s*\w+\s*=)", text)
    kind, options = (text, "") if found is None else (text[: found.start()], text[found.end() :])
    colon = found is not None or (text.endswith(":"))
    # a comma before KEY= ends an option; others belong to a list
    return {"kind": kind, **dict(map(setting, re.split(r",(?=\s*\w+\s*=)", options)))} if colon else kind
