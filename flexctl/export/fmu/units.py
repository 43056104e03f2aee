"""Units as FMI 2.0 has them: the factor to SI and the whole exponents of its base units."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple

BASE = ("kg", "m", "s", "A", "K", "mol", "cd", "rad")
_KNOWN: dict[str, tuple[float, dict[str, int]]] = {
    **{unit: (1.0, {unit: 1}) for unit in BASE},
    "1": (1.0, {}), "": (1.0, {}), "%": (1e-2, {}),
    "g": (1e-3, {"kg": 1}), "t": (1e3, {"kg": 1}),
    "mm": (1e-3, {"m": 1}), "cm": (1e-2, {"m": 1}), "um": (1e-6, {"m": 1}), "l": (1e-3, {"m": 3}),
    "ms": (1e-3, {"s": 1}), "us": (1e-6, {"s": 1}), "min": (60.0, {"s": 1}), "h": (3600.0, {"s": 1}),
    "deg": (math.pi / 180.0, {"rad": 1}), "°": (math.pi / 180.0, {"rad": 1}),
    "N": (1.0, {"kg": 1, "m": 1, "s": -2}), "kN": (1e3, {"kg": 1, "m": 1, "s": -2}),
    "Nm": (1.0, {"kg": 1, "m": 2, "s": -2}),
    "J": (1.0, {"kg": 1, "m": 2, "s": -2}), "W": (1.0, {"kg": 1, "m": 2, "s": -3}),
    "Pa": (1.0, {"kg": 1, "m": -1, "s": -2}), "MPa": (1e6, {"kg": 1, "m": -1, "s": -2}),
    "bar": (1e5, {"kg": 1, "m": -1, "s": -2}),
    "Hz": (1.0, {"s": -1}), "C": (1.0, {"A": 1, "s": 1}), "V": (1.0, {"kg": 1, "m": 2, "s": -3, "A": -1}),
    "mA": (1e-3, {"A": 1}), "mV": (1e-3, {"kg": 1, "m": 2, "s": -3, "A": -1}),
    "Wb": (1.0, {"kg": 1, "m": 2, "s": -2, "A": -1}), "T": (1.0, {"kg": 1, "s": -2, "A": -1}),
    "H": (1.0, {"kg": 1, "m": 2, "s": -2, "A": -2}), "F": (1.0, {"kg": -1, "m": -2, "s": 4, "A": 2}),
    "Ohm": (1.0, {"kg": 1, "m": 2, "s": -3, "A": -2}), "ohm": (1.0, {"kg": 1, "m": 2, "s": -3, "A": -2}),
}
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_TERM = re.compile(r"(?P<name>1(?![0-9.])|[A-Za-z°%]+)(?:\^?(?P<power>[-+]?\d+(?:\.\d+)?))?$")


class BaseUnit(NamedTuple):
    """A unit as a factor times whole powers of SI base units and rad.

    Attributes
    ----------
    factor : float
        Size of the unit in base units.
    exponents : dict
        Base unit -> exponent, those that are not zero, in the order of `BASE`.
    """

    factor: float
    exponents: dict[str, int]


def base_unit(unit: str) -> BaseUnit | None:
    """Return the meaning of a unit, or None where FMI cannot say it: an unknown word, half an exponent (J^0.5).

    Parameters
    ----------
    unit : str
        Factors with blanks, "*" or "·" between them and "/" before each one below the line: "N m s/rad", "m/s^2".
    """
    text = re.sub(r"[²³⁰¹⁴⁵⁶⁷⁸⁹⁻]+", lambda found: "^" + found[0].translate(_SUPERSCRIPTS), unit.strip())
    factor, powers = 1.0, dict.fromkeys(BASE, Fraction(0))
    sign = 1
    for part in re.findall(r"[^\s*·/]+|/", text):
        if part == "/":
            sign = -1
            continue
        found = _TERM.match(part)
        if found is None or found["name"] not in _KNOWN:
            return None
        size, bases = _KNOWN[found["name"]]
        power = sign * Fraction(found["power"] or "1")
        factor *= size ** float(power)
        for name, exponent in bases.items():
            powers[name] += power * exponent
        sign = 1
    if any(power.denominator != 1 for power in powers.values()):
        return None
    return BaseUnit(factor, {name: int(power) for name, power in powers.items() if power})


def unit_definitions(units: Iterable[str]) -> list[str]:
    """Return the lines of the table of units, each unit once."""
    lines = []
    for unit in sorted(set(units) - {""}):
        meaning = base_unit(unit)
        if meaning is None:
            lines.append(f'    <Unit name="{escaped(unit)}"/>')
            continue
        words = [f'{name}="{power}"' for name, power in meaning.exponents.items()]
        if meaning.factor != 1.0:
            words.append(f'factor="{meaning.factor!r}"')
        inner = f"<BaseUnit {' '.join(words)}/>" if words else "<BaseUnit/>"
        lines.append(f'    <Unit name="{escaped(unit)}">{inner}</Unit>')
    return lines


def escaped(text: str) -> str:
    """Return a text as an XML attribute holds it; characters that XML has not become "?"."""
    return "".join(_ENTITIES.get(c, c if _XML.match(c) else "?") for c in text)


_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\n": "&#10;", "\t": "&#9;", "\r": "&#13;"}
_XML = re.compile("[ -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
