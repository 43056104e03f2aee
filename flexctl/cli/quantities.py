"""Numbers with units: the one parser of every option that takes a number.

    60deg   1.05rad   250ms   20g   5mm   0.3Nm   -5%   2.5Hz   0.02        a number alone is in SI units

The SI unit, written as for signals and in plant files, says what an option asks for: ``quantity("60deg", "rad")``. A
suffix of another dimension is refused. A number alone that is too large to be meant in the SI unit (60 for an angle) is
refused too, with what to write instead; so is a list in which some numbers have a unit and others do not.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import DefinitionError, require, unknown
from ..support.units import DEG as _DEG
from ..support.units import FACTORS
from ..support.units import SPELLINGS as _SPELLINGS

PLAUSIBLE = {
    "rad": (2.0 * math.pi, 1e3), "m": (100.0, 1e4), "s": (100.0, 1e6), "kg": (1e4, 1e6), "N m": (1e5, 1e8),
    "N": (1e6, 1e9), "Hz": (1e6, 1e9), "rad/s": (100.0, 1e5), "deg": (360.0, 1e5), "1": (1e6, 1e6),
}
"""SI unit -> the largest size of a number alone, and of one whose unit is stated."""

_WORD = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([A-Za-zµμ°%/][A-Za-z/^*·%² ]*(?:[234])?)?\s*")


def quantity(text: str, unit: str = "", what: str = "", most: float | None = None) -> float:
    """Return the value of a number with or without a unit.

    Parameters
    ----------
    text : str
        "60deg", "20 g", "0.3".
    unit : str
        Unit of the value, as signals and plant files write it: "rad", "N m", "1" for a plain ratio; empty where
        it is not known, any unit is taken then and the value is in its SI unit.
    what : str
        What the number is, for messages: "--payload".
    most : float, optional
        Largest size of a number without a unit, in place of that of `PLAUSIBLE`.
    """
    value, suffix = _split(text, what)
    if not suffix:
        return _plausible(value, text, unit, what, most)
    known = FACTORS.get(unit, {_plain(unit): 1.0}) if unit else _every()
    if suffix not in known:
        raise _wrong_unit(text, suffix, unit, what)
    found = value * known[suffix]
    bound = PLAUSIBLE.get(unit, (0.0, math.inf))[1]
    require(abs(found) <= bound, f"{_of(what)}{found:g} {unit} is above the plausible bound {bound:g} {unit}; check it")
    return found


def quantities(text: str | Sequence[str], unit: str = "", what: str = "", most: float | None = None) -> list[float]:
    """Return the values of several numbers of the same kind, "0,10g,20g"; all have a unit, or none but zeros."""
    parts = [part.strip() for part in (text.split(",") if isinstance(text, str) else text)]
    split = [_split(part, what) for part in parts]
    stated = next((suffix for _, suffix in split if suffix), "")
    if stated:
        quantity(next(part for part, (_, suffix) in zip(parts, split, strict=True) if suffix), unit, what, most)
    for part, (value, suffix) in zip(parts, split, strict=True):
        clear = bool(suffix) or not stated or value == 0.0
        require(clear, f"{_of(what)}{part} has no unit beside {', '.join(parts)}; write {part}{stated}")
    return [quantity(part, unit, what, most) for part in parts]


def between(text: str, unit: str = "", what: str = "", most: float | None = None) -> tuple[float, float]:
    """Return the ends of "LOW,HIGH" or "LOW..HIGH"."""
    found = quantities(text.split("..") if ".." in text else text, unit, what, most)
    require(len(found) == 2, f'{_of(what)}"{text}" is not a range; write LOW,HIGH, for example {_example(unit, 2)}')
    return found[0], found[1]


def named(option: str, texts: Sequence[str], units: Mapping[str, str], kind: str) -> dict[str, float]:
    """Return the values of `NAME=VALUE` words; a word may hold several, with commas between them.

    Parameters
    ----------
    option : str
        The option, for messages.
    texts : sequence of str
        The words.
    units : mapping
        The names there are, and the unit of each.
    kind : str
        What they name: "input".
    """
    found: dict[str, float] = {}
    for text in (part for several in texts for part in several.split(",")):
        name, equals, value = (part.strip() for part in text.partition("="))
        require(bool(name and equals and value), f'{option} "{text}" is not understood; write NAME=VALUE')
        require(name not in found, f'{option}: "{name}" is given twice')
        if name not in units:
            raise unknown(kind, name, units)
        found[name] = quantity(value, units[name], f"{option} {name}")
    return found


def each(option: str, text: str, units: Sequence[str]) -> list[float]:
    """Return the numbers of a list, the unit of every one known: "10deg,0.2m"."""
    if len(set(units)) == 1:
        return quantities(text, units[0], option)
    return [quantity(part, unit, option) for part, unit in zip(text.split(","), units, strict=True)]


def has_unit(text: str) -> bool:
    """Whether a text is a number with a unit behind it."""
    found = _WORD.fullmatch(text)
    return found is not None and bool(found[2])


def key_unit(key: str) -> str | None:
    """Return the unit of a key of a plant file, as `flexctl.catalogue.keys.key_unit`, which is imported when asked."""
    from ..catalogue.keys import key_unit as unit_of_key

    return unit_of_key(key)


def setting(text: str) -> tuple[str, Any]:
    """Return (dotted key, value) of `KEY=VALUE` for a plant file: "payload.mass=20g", "link.1.length=960mm"."""
    from ..catalogue.overrides import parse_override

    key, _, value = (part.strip() for part in text.partition("="))
    return (key, valued(key, value)) if key and has_unit(value) else parse_override(text)


def valued(key: str, text: str) -> float:
    """Return the value of a key of a plant file, written with its unit."""
    unit = key_unit(key)
    if unit is None:
        raise DefinitionError(f'{key} = "{text}" has a unit, but {key} is a plain value; leave the unit out')
    return quantity(text, unit, key)


def _split(text: str, what: str) -> tuple[float, str]:
    match = _WORD.fullmatch(text)
    value = math.inf if match is None else float(match[1])
    if match is None or not math.isfinite(value):
        remedy = "write for example 0.3, 60deg or 250ms"
        raise DefinitionError(f'{_of(what)}"{text.strip()}" is not a finite number; {remedy}')
    return value, _plain(match[2] or "")


def _plain(unit: str) -> str:
    return unit.translate(_SPELLINGS)


def _every() -> dict[str, float]:
    """Return all suffixes; of one that means several things, the first."""
    found: dict[str, float] = {}
    for unit, factors in FACTORS.items():
        for suffix, factor in factors.items():
            if unit != "deg":
                found.setdefault(suffix, factor)
    # radians per second are a rate where nothing says that a frequency is meant
    return {**found, "rad/s": 1.0}


def _wrong_unit(text: str, suffix: str, unit: str, what: str) -> DefinitionError:
    if suffix not in _every():
        return DefinitionError(f"{_of(what)}{unknown('unit', suffix, FACTORS.get(unit, {}) or _every())}")
    return DefinitionError(f'{_of(what)}"{text.strip()}" is not in {unit or "its unit"}; write {_example(unit)}')


def _plausible(value: float, text: str, unit: str, what: str, most: float | None) -> float:
    bound = PLAUSIBLE.get(unit, (math.inf,))[0] if most is None else most
    # the end of the range may be written with as few digits as one likes
    if abs(value) <= bound * (1.0 + 1e-2):
        return value
    word, factors = text.strip(), FACTORS.get(unit, {"deg": _DEG, "mm": 1e-3})
    smaller = [f"{word}{x}" for x, factor in factors.items() if factor != 1.0 and abs(value) * factor <= bound]
    own = "" if unit in ("", "1") else f"{word}{_plain(unit)} if {unit} is meant"
    remedy = ", or ".join(filter(None, (" or ".join(smaller[:2]), own))) or "it with its unit"
    named = f" {unit}" if unit not in ("", "1") else ""
    raise DefinitionError(
        f"{_of(what)}{word} without a unit is {value:g}{named}, more than {bound:.4g}{named}; write {remedy}"
    )


def _of(what: str) -> str:
    return f"{what}: " if what else ""


def _example(unit: str, count: int = 1) -> str:
    suffixes = list(FACTORS.get(unit, {"": 1.0}))
    return ",".join(f"{x}{suffixes[min(1, len(suffixes) - 1)]}" for x in ("5", "20")[:count])
