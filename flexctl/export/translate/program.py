"""A C program of a compiled function and of all that it calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .reading import plain
from .statements import Body, Made
from .types import Structures, Type, Untranslatable, type_of


class Program:
    """The functions that were translated so far, each once for every set of types."""

    def __init__(self) -> None:
        self.structures = Structures()
        self._functions: dict[tuple[Any, ...], Made] = {}
        self._names: set[str] = set()
        self._under_way: set[tuple[Any, ...]] = set()

    def made(self, function: Any, kinds: tuple[Type, ...]) -> Made:
        """Return the C function of a Python function for these types."""
        text = plain(function)
        key = (text.__code__, _cells(text), kinds)
        if key in self._under_way:
            raise Untranslatable(f"{text.__qualname__} calls itself")
        if key not in self._functions:
            self._under_way.add(key)
            made = Made(self._name(text))
            Body(self, self.structures, text, kinds, made).translate()
            self._functions[key] = made
            self._under_way.discard(key)
        return self._functions[key]

    def _name(self, function: Callable[..., Any]) -> str:
        base = f"{function.__module__.rsplit('.', 1)[-1]}_{function.__code__.co_name}".replace("__", "_")
        name, number = base, 1
        while name in self._names:
            number += 1
            name = f"{base}_{number}"
        self._names.add(name)
        return name


def _cells(function: Callable[..., Any]) -> tuple[Any, ...]:
    """Return what a function closes over, as a key: two of one factory are two functions."""
    return tuple(id(cell.cell_contents) for cell in function.__closure__ or ())


def translated(function: Any, arguments: tuple[Any, ...]) -> tuple[Program, Made, list[str]]:
    """Return the program of a function called with these arguments, its entry, and its lines without data."""
    program = Program()
    entry = program.made(function, tuple(type_of(value) for value in arguments))
    order = _in_order(entry)
    rooms = [room for made in order for room in made.rooms]
    lines = [
        "enum {", *(f"    {room}," for room in rooms), "    ROOMS", "};", '#include "flexctl_numbers.h"', "",
        *program.structures.lines, *(made.text for made in order),
    ]
    return program, entry, lines


def _in_order(entry: Made) -> list[Made]:
    """Return the functions that are needed, each after those that it calls."""
    found: list[Made] = []

    def visit(made: Made) -> None:
        if made not in found:
            for other in made.called:
                visit(other)
            if made not in found:
                found.append(made)

    visit(entry)
    return found
