"""Kinds of values: a number, an array, a group of values, or something known while translating."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import NotAvailable
from ...kernels.pointers import Pointer

ORDER = "bifc"
"""Truth values, integers, reals, complex numbers: each can be made of the ones before it."""
C_NAMES = {"b": "int", "i": "int64_t", "f": "double", "c": "fx_complex"}


class Untranslatable(NotAvailable):
    """Python of which the translator does not know what it is in C."""


@dataclass(frozen=True)
class Number:
    """A number: one of `ORDER`."""

    letter: str


@dataclass(frozen=True)
class Array:
    """An array of numbers; `packed` when its entries lie without gaps, the last index fastest."""

    item: str
    ndim: int
    packed: bool = True


@dataclass(frozen=True)
class Group:
    """A tuple, or a named tuple: `names` are empty, and `word` is "tuple", of a plain one."""

    items: tuple[Any, ...]
    names: tuple[str, ...] = ()
    word: str = "tuple"


class Known:
    """A value that is known while translating and has no place in C: a function, None, a module."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Known) and self.value is other.value

    def __hash__(self) -> int:
        return hash(id(self.value))

    def __repr__(self) -> str:
        return f"Known({self.value!r})"


Type = Number | Array | Group | Known
BOOL, INT, REAL, COMPLEX = (Number(letter) for letter in ORDER)


def type_of(value: Any) -> Type:
    """Return the type of a value that a loop is called with."""
    if isinstance(value, Pointer):
        return Known(value.function)
    if isinstance(value, bool | np.bool_):
        return BOOL
    if isinstance(value, int | np.integer):
        return INT
    if isinstance(value, float | np.floating):
        return REAL
    if isinstance(value, complex):
        return COMPLEX
    if isinstance(value, np.ndarray):
        return Array(_letter(value), value.ndim)
    if isinstance(value, tuple):
        names = getattr(value, "_fields", ())
        word = type(value).__name__ if names else "tuple"
        return Group(tuple(type_of(item) for item in value), tuple(names), word)
    return Known(value)


def _letter(array: np.ndarray[Any, Any]) -> str:
    letters = {"f": "f", "c": "c", "i": "i", "b": "b"}
    if array.dtype.kind not in letters or array.dtype.itemsize not in (1, 8, 16):
        raise Untranslatable(f"an array of {array.dtype} has no place in the C code")
    if not array.flags.c_contiguous:
        raise Untranslatable("an array with gaps between its entries has no place in the C code")
    return letters[array.dtype.kind]


def joined(one: Type, other: Type) -> Type:
    """Return the type that holds both: of a name that is given values of two types."""
    if one == other:
        return one
    if isinstance(one, Number) and isinstance(other, Number):
        return Number(max(one.letter, other.letter, key=ORDER.index))
    if isinstance(one, Array) and isinstance(other, Array) and (one.item, one.ndim) == (other.item, other.ndim):
        return Array(one.item, one.ndim, packed=False)
    if isinstance(one, Group) and isinstance(other, Group) and len(one.items) == len(other.items):
        items = tuple(joined(a, b) for a, b in zip(one.items, other.items, strict=True))
        return Group(items, one.names, one.word) if one.word == other.word else Group(items)
    raise Untranslatable(f"a name stands for {one} and for {other}")


def array_name(array: Array) -> str:
    """Return the name of the C structure of an array."""
    return f"fx_{array.item}{array.ndim}{'' if array.packed else 's'}"


class Structures:
    """The C structures of groups, each declared after those that it holds."""

    def __init__(self) -> None:
        self.names: dict[Group, str] = {}
        self.lines: list[str] = []

    def name(self, kind: Type) -> str:
        """Return the C name of a type; a group that is new is declared."""
        if isinstance(kind, Number):
            return C_NAMES[kind.letter]
        if isinstance(kind, Array):
            return array_name(kind)
        if isinstance(kind, Group):
            return self.names[kind] if kind in self.names else self._declared(kind)
        raise Untranslatable(f"{kind} has no place in the C code")

    def _declared(self, kind: Group) -> str:
        fields = [
            f"    {self.name(item)} {field(kind, at)};"
            for at, item in enumerate(kind.items) if not isinstance(item, Known)
        ]
        name = f"fx_{kind.word}_{len(self.names) + 1}"
        self.names[kind] = name
        self.lines += ["typedef struct {", *(fields or ["    int nothing;"]), f"}} {name};", ""]
        return name


def field(kind: Group, at: int) -> str:
    """Return the C name of a member of a group."""
    return f"{kind.names[at]}_" if kind.names else f"m{at}"
