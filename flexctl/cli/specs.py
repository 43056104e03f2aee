"""Signals, motions and payload changes as short words on the command line.

bang-bang:0.1,0.3            KIND:NUMBER,NUMBER,...          numbers are SI, or carry a unit: 60deg, 250ms, 15g
hub_torque=sine:0.05,12      NAME=... for one input or reference channel
0.5:20g                      TIME:MASS[,INERTIA], a payload change
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DefinitionError, require, unknown
from ..model import Signal, names
from ..trajectories import (
    Cycloid,
    InputSignal,
    Motion,
    PiecewiseConstant,
    Polynomial,
    Sampled,
    Sine,
    Step,
    Trapezoid,
    bang_bang,
    quintic,
)

FACTORS = {
    "": 1.0, "rad": 1.0, "deg": math.pi / 180.0, "m": 1.0, "cm": 1e-2, "mm": 1e-3, "s": 1.0, "ms": 1e-3, "us": 1e-6,
    "Hz": 1.0, "Nm": 1.0, "N": 1.0, "kg": 1.0, "g": 1e-3,
}  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """A kind of signal or motion: how it is made, and what it is called with."""

    make: Callable[..., Any]
    usage: str
    least: int
    most: int


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
    "bang-bang": Kind(bang_bang, "bang-bang:AMPLITUDE,HALF_TIME[,START]", 2, 3),
    "step": Kind(_step, "step:VALUE[,START]", 1, 2),
    "pulse": Kind(_pulse, "pulse:VALUE,LENGTH[,START]", 2, 3),
    "sine": Kind(Sine, "sine:AMPLITUDE,HERTZ[,START[,END]]", 2, 4),
    "constant": Kind(_constant, "constant:VALUE", 1, 1),
}
MOTIONS = {
    "quintic": Kind(_quintic, "quintic:TO,TIME[,START]", 2, 3),
    "cubic": Kind(_cubic, "cubic:TO,TIME[,START]", 2, 3),
    "cycloid": Kind(_cycloid, "cycloid:TO,TIME[,START]", 2, 3),
    "trapezoid": Kind(_trapezoid, "trapezoid:TO,TIME,RAMP[,START]", 3, 4),
    "step": Kind(_jump, "step:TO[,START]", 1, 2),
}


def number(text: str) -> float:
    """Return the SI value of "0.3", "60deg", "250ms", "15g"."""
    match = re.fullmatch(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([A-Za-z]*)\s*", text)
    if match is None:
        raise DefinitionError(f'"{text.strip()}" is not a finite number; write for example 0.3, 60deg or 250ms')
    if match[2] not in FACTORS:
        raise unknown("unit", match[2], [unit for unit in FACTORS if unit])
    return float(match[1]) * FACTORS[match[2]]


def numbers(text: str) -> list[float]:
    """Return the SI values of a list separated by commas."""
    return [number(part) for part in text.split(",")]


def _made(text: str, kinds: dict[str, Kind], what: str) -> Any:
    word, _, arguments = text.partition(":")
    if word not in kinds:
        raise unknown(what, word, [kind.usage for kind in kinds.values()] if not word else kinds)
    kind = kinds[word]
    values = numbers(arguments) if arguments.strip() else []
    require(kind.least <= len(values) <= kind.most, f'{what} "{text}" has {len(values)} numbers; write {kind.usage}')
    return kind.make(*values)


def _named(text: str) -> tuple[str, str]:
    name, equals, rest = text.partition("=")
    return (name.strip(), rest) if equals else ("", text)


def inputs(texts: Sequence[str], available: Sequence[Signal], torque: Sequence[str] = ()) -> dict[str, InputSignal]:
    """Return the input signals of `[NAME=]KIND:...` words; without a name they go to the first input.

    `torque` holds the words of --torque, which without a name go to the first input in N m.
    """
    found: dict[str, InputSignal] = {}
    torques = [s.name for s in available if s.unit == "N m"]
    require(
        not torque or bool(torques), f"no input is a torque; the inputs are {names(available)}: use --input NAME=..."
    )
    require(not texts or bool(available), "the plant has no input")
    for text, default in [*((t, available[0].name) for t in texts), *((t, torques[0]) for t in torque)]:
        name, word = _named(text)
        name = name or default
        if name not in names(available):
            raise unknown("input", name, names(available))
        require(name not in found, f'input "{name}" is given twice')
        found[name] = _sampled(Path(word)) if word.endswith(".csv") else _made(word, SIGNALS, "input signal")
    return found


def _sampled(path: Path) -> Sampled:
    """Return a signal from a file of two columns, time [s] and value; lines that begin with # are skipped."""
    try:
        table = np.loadtxt(path, delimiter=",", comments="#", ndmin=2)
    except (OSError, ValueError) as error:
        raise DefinitionError(f"{path}: not a table of time and value: {error}") from error
    require(table.shape[1] == 2, f"{path}: has {table.shape[1]} columns; write time [s],value in each line")
    return Sampled(table[:, 0], table[:, 1])


def reference(texts: Sequence[str]) -> Motion | dict[str, Motion] | None:
    """Return the motions of `[NAME=]KIND:...` words; a single one without a name is for all channels."""
    found: dict[str, Motion] = {}
    for text in texts:
        name, word = _named(text)
        require(
            name not in found, f'the reference of "{name}" is given twice' if name else "name the channels: NAME=..."
        )
        found[name] = _made(word, MOTIONS, "motion")
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
        values = numbers(what)
        require(len(values) <= 2, f'payload change "{text}" has {len(values)} numbers; write TIME:MASS[,INERTIA]')
        mass, inertia = values[0], values[1] if len(values) == 2 else 0.0
        require(mass >= 0 and inertia >= 0, f'payload change "{text}": mass and inertia must not be negative')
        changes.append((number(when), mass, inertia))
    return changes


def usage(kinds: dict[str, Kind]) -> str:
    """Return the kinds as they are written, for a help page."""
    return "  ".join(kind.usage for kind in kinds.values())


def formulation(text: str) -> str | dict[str, Any]:
    """Return a kind of model, or its table [model] when options follow a colon: "ancf:elements=16,law=omar"."""
    from ..catalogue.overrides import parse_override

    kind, colon, options = text.partition(":")
    # a comma before KEY= ends an option; others belong to a list
    return {"kind": kind, **dict(map(parse_override, re.split(r",(?=\s*\w+\s*=)", options)))} if colon else kind
