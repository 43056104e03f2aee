"""Values of data: unit, plausible range, meaning.

A data class states this next to each field, in one line,

    length: Annotated[float, Quantity("m", 1e-3, 100.0, "L: length of the link")]

and that line is the whole definition: it checks objects made in Python (finite, right sign), it checks plant files
(plausible size, with the unit that was probably meant), it is the row that `flexctl show` prints and the row of the
reference of the file format.
"""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from numbers import Real
from typing import Any, Protocol, get_args, get_origin, get_type_hints, runtime_checkable

from ..errors import DefinitionError, require, unknown

UNITS: dict[str, tuple[str, dict[str, float]]] = {
    "m": ("lengths are in metres", {"mm": 1e-3, "cm": 1e-2}),
    "m^2": ("areas are in square metres", {"mm^2": 1e-6, "cm^2": 1e-4}),
    "m^4": ("second moments of area are in m^4", {"mm^4": 1e-12, "cm^4": 1e-8}),
    "Pa": ("moduli are in pascals", {"MPa": 1e6, "GPa": 1e9}),
    "kg/m^3": ("densities are in kg/m^3", {"g/cm^3": 1e3, "g/m^3": 1e-3}),
    "kg": ("masses are in kilograms", {"g": 1e-3}),
    "kg m^2": ("inertias are in kg m^2", {"kg cm^2": 1e-4, "kg mm^2": 1e-6, "g cm^2": 1e-7}),
    "m/s^2": ("accelerations are in m/s^2", {"g": 9.80665}),
    "Hz": ("frequencies are in hertz", {"kHz": 1e3, "rad/s": 1 / (2 * math.pi)}),
    "s": ("times are in seconds", {"ms": 1e-3, "us": 1e-6}),
    "1/s": ("rates are in 1/s", {"1/ms": 1e3}),
    "rad": ("angles are in radians", {"degrees": math.pi / 180}),
    "N m/rad": ("rotational stiffnesses are in N m/rad", {"N mm/rad": 1e-3, "kN m/rad": 1e3}),
    "N m s/rad": ("rotational damping is in N m s/rad", {"N mm s/rad": 1e-3}),
    "N m^2": ("bending stiffnesses are in N m^2", {"N mm^2": 1e-6, "kN m^2": 1e3}),
    "kg/m": ("masses per length are in kg/m", {"g/m": 1e-3, "g/cm": 0.1}),
    "N m/rad^3": ("cubic stiffnesses are in N m/rad^3", {}),
    "N m": ("torques are in newton metres", {"N mm": 1e-3, "mN m": 1e-3}),
    "rad/s": ("angular rates are in rad/s", {"rpm": math.pi / 30.0, "degrees/s": math.pi / 180}),
    "N m/A": ("torque constants are in N m/A", {"mN m/A": 1e-3}),
    "V s/rad": ("back EMF constants are in V s/rad", {"mV s/rad": 1e-3, "V/krpm": 0.03 / math.pi}),
    "ohm": ("resistances are in ohms", {"mohm": 1e-3}),
    "H": ("inductances are in henries", {"mH": 1e-3}),
    "V": ("voltages are in volts", {"mV": 1e-3}),
    "A": ("currents are in amperes", {"mA": 1e-3}),
    "1": ("a plain ratio", {"%": 1e-2}),
}
"""For each unit: the sentence of the error message, and what a wrong number may have been meant in."""


def shown(value: object) -> str:
    """Return a value as the file would show it, on one short line."""
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, str | bool) else f"{value!r}"
    return text if len(text) <= 60 else text[:57] + "..."


@dataclass(frozen=True)
class Quantity:
    """A number with a unit. The bounds are inclusive; a quantity that must not be zero has a lower bound above zero.

    The sign, and both bounds of a plain ratio, are part of the meaning and hold for every object. The bounds of a
    number with a unit say what is plausible for a flexible arm; only plant files are held to them. With `zero`,
    exactly 0 is allowed too.
    """

    unit: str
    low: float
    high: float
    text: str
    zero: bool = False

    def check(self, name: str, value: object) -> None:
        """Raise `DefinitionError` unless the value is a finite number of the right sign."""
        number = self._number(name, value)
        if self.zero and number == 0:
            return
        if self.unit == "1":
            self._within(name, number)
        elif number < 0 <= self.low or number == 0 < self.low:  # the remedy takes longer than the check
            wanted = "positive" if self.low > 0 else "zero or more"
            raise DefinitionError(f"{self._equation(name, number)} must be {wanted}{self._remedy(number)}")

    def read(self, name: str, value: object) -> float:
        """Return the number of a plant file, or raise `DefinitionError` when it is not plausible."""
        self.check(name, value)
        number = self._number(name, value)
        if number or not self.zero:
            self._within(name, number)
        return number

    def _within(self, name: str, number: float) -> None:
        for beyond, where, bound in ((number < self.low, "below", self.low), (number > self.high, "above", self.high)):
            if beyond:
                limit = f"{where} the plausible bound {self._with_unit(bound)}"
                raise DefinitionError(f"{self._equation(name, number)} is {limit}{self._remedy(number)}")

    def _number(self, name: str, value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, Real):
            raise DefinitionError(f"{name} = {shown(value)} is not a number; {self._sentence}, without the unit")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise DefinitionError(f"{name} = {number} is not finite; {self._sentence}")
        return number

    @property
    def _sentence(self) -> str:
        return UNITS[self.unit][0]

    def _with_unit(self, number: float) -> str:
        return f"{number:g}" if self.unit == "1" else f"{number:g} {self.unit}"

    def _equation(self, name: str, number: float) -> str:
        return f"{name} = {self._with_unit(number)}"

    def _remedy(self, number: float) -> str:
        scaled = ((number * factor, unit) for unit, factor in UNITS[self.unit][1].items())
        meant = [(value, unit) for value, unit in scaled if value and self.low <= value <= self.high]
        guesses = [f"{value:.4g} if {unit} was meant" for value, unit in meant]
        return f"; {self._sentence}" + (f" ({', '.join(guesses)})" if guesses else "")


class AsItStands:
    """A value of a plant file that is taken as it is once it is checked."""

    def read(self: Spec, name: str, value: object) -> object:
        """Return the checked value."""
        self.check(name, value)
        return value


@dataclass(frozen=True)
class Count(AsItStands):
    """A whole number."""

    low: int
    high: int
    text: str
    unit: str = "1"

    def check(self, name: str, value: object) -> None:
        """Raise `DefinitionError` unless the value is a whole number within its bounds."""
        if isinstance(value, bool) or not isinstance(value, int):
            raise DefinitionError(f"{name} = {shown(value)} is not a whole number")
        require(self.low <= value <= self.high, f"{name} = {shown(value)} is outside {self.low} ... {self.high}")


@dataclass(frozen=True)
class Choice(AsItStands):
    """One word out of a few."""

    options: tuple[str, ...]
    text: str
    unit: str = ""

    def check(self, name: str, value: object) -> None:
        """Raise `DefinitionError` unless the value is one of the options."""
        if not isinstance(value, str):
            raise DefinitionError(f"{name} = {shown(value)} is not one of: {', '.join(self.options)}")
        if value not in self.options:
            raise unknown(name, value, self.options)


@dataclass(frozen=True)
class Flag(AsItStands):
    """Yes or no."""

    text: str
    unit: str = ""

    def check(self, name: str, value: object) -> None:
        """Raise `DefinitionError` unless the value is true or false."""
        require(isinstance(value, bool), f"{name} = {shown(value)} is not true or false; write one of them, unquoted")


@dataclass(frozen=True)
class Name(AsItStands):
    """A name: letters, digits, `_` and `-`, so that it can stand in a dotted key, a file and a plot."""

    text: str
    unit: str = ""

    def check(self, name: str, value: object) -> None:
        """Raise `DefinitionError` unless the value is a name."""
        ok = isinstance(value, str) and value.isascii() and value.replace("-", "_").isidentifier()
        require(ok, f"{name} = {shown(value)} is not a name; use letters, digits, _ and -, beginning with a letter")


@dataclass(frozen=True)
class Reference:
    """The name of a `[table.NAME]` of the same file; in Python the object itself."""

    table: str
    text: str
    unit: str = ""

    def check(self, name: str, value: object) -> None:
        """Objects check themselves."""

    def read(self, name: str, value: object) -> object:
        """Return the name."""
        ok = isinstance(value, str)
        require(ok, f"{name} = {shown(value)} is not a string; it names a [{self.table}.NAME] table")
        return value


class References(Reference):
    """Names of several `[table.NAME]` of the same file; in Python a tuple of the objects themselves."""

    def read(self, name: str, value: object) -> object:
        """Return the names."""
        ok = isinstance(value, list) and all(isinstance(item, str) for item in value)
        require(ok, f"{name} = {shown(value)} is not a list of strings; they name [{self.table}.NAME] tables")
        return tuple(value) if isinstance(value, list) else value


@dataclass(frozen=True)
class Ascending:
    """Numbers in ascending order, strictly between two bounds."""

    unit: str
    low: float
    high: float
    text: str

    def check(self, name: str, value: object) -> None:
        """Raise `DefinitionError` unless the numbers ascend within the bounds."""
        items: Any = value if isinstance(value, tuple | list) else [value]
        numbers = all(isinstance(x, Real) and not isinstance(x, bool) for x in items)
        inside = numbers and all(a < b for a, b in pairwise([self.low, *items, self.high]))
        require(inside, f"{name} = {shown(value)} must ascend and lie between {self.low:g} and {self.high:g}")

    def read(self, name: str, value: object) -> object:
        """Return the numbers."""
        self.check(name, value)
        return tuple(value) if isinstance(value, list) else (value,)


@runtime_checkable
class Spec(Protocol):
    """The remarks in `Annotated[type, ...]` of a field."""

    @property
    def unit(self) -> str:
        """Unit of the value; empty for words."""
        ...

    @property
    def text(self) -> str:
        """Meaning of the key."""
        ...

    def check(self, name: str, value: object) -> None:
        """Raise `DefinitionError` unless the value makes sense."""
        ...

    def read(self, name: str, value: object) -> object:
        """Return the value of a plant file, or raise `DefinitionError`."""
        ...


REQUIRED: Any = inspect.Parameter.empty


@dataclass(frozen=True)
class Field:
    """One key: what it may hold and its default (`REQUIRED` when there is none)."""

    name: str
    spec: Spec
    default: Any

    @property
    def required(self) -> bool:
        """Whether a plant file must give the key."""
        return self.default is REQUIRED


@cache
def schema(cls: Callable[..., Any]) -> dict[str, Field]:
    """Return the keys of a data class, in its order."""
    hints, parameters = get_type_hints(cls, include_extras=True), inspect.signature(cls).parameters
    found = {}
    for name, parameter in parameters.items():
        spec = next((a for hint in _alternatives(hints[name]) for a in getattr(hint, "__metadata__", ())), None)
        if isinstance(spec, Spec):
            found[name] = Field(name, spec, parameter.default)
    return found


def check(thing: Any) -> None:
    """Raise `DefinitionError` unless every field of an object is finite and of the right sign."""
    kind: Callable[..., Any] = type(thing)
    for field in schema(kind).values():
        value = getattr(thing, field.name)
        if not (value is None and field.default is None):
            field.spec.check(f"{kind.__name__}.{field.name}", value)


def _alternatives(hint: Any) -> tuple[Any, ...]:
    """Return the hint itself, or the members of a union (`Annotated[...] | None`)."""
    return (hint,) if get_origin(hint) is None or hasattr(hint, "__metadata__") else get_args(hint)
