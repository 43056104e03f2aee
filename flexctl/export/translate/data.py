"""The arguments of a loop as memory in C: one block of reals, one of integers, and groups that point into them.

Arrays of Python that share memory share it in C.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .types import Array, Group, Known, Number, Structures, Untranslatable, field, type_of
from .values import constant

BLOCKS = {"f": "real", "i": "whole"}
Owner = np.ndarray[Any, Any]


class Memory:
    """Places of arrays in the two blocks, and what stands there at first."""

    def __init__(self) -> None:
        self.sizes = {"f": 0, "i": 0}
        self._places: dict[int, tuple[str, int]] = {}
        self.owners: list[tuple[Owner, str, int]] = []

    def place(self, array: Owner) -> tuple[str, int]:
        """Return in which block an array begins, and where."""
        owner = array
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        if not owner.flags.c_contiguous or owner.dtype != array.dtype:
            owner = array
        if id(owner) not in self._places:
            self._places[id(owner)] = self._new(owner)
        letter, start = self._places[id(owner)]
        return letter, start + _distance(owner, array)

    def _new(self, owner: Owner) -> tuple[str, int]:
        letter = owner.dtype.kind
        if letter not in BLOCKS or owner.dtype.itemsize != 8:
            raise Untranslatable(f"an array of {owner.dtype} has no place in the memory of the C code")
        start = self.sizes[letter]
        self.sizes[letter] += owner.size
        self.owners.append((owner, letter, start))
        return letter, start

    def image(self, letter: str) -> list[tuple[int, Owner]]:
        """Return what is not zero at first in a block: where, and the numbers."""
        return [
            (start, owner.ravel().copy()) for owner, kind, start in self.owners
            if kind == letter and owner.size and (owner.ravel() != 0).any()
        ]


def _distance(owner: Owner, array: Owner) -> int:
    if array.size == 0 or owner.size == 0:
        return 0
    first = owner.__array_interface__["data"][0]
    return int((array.__array_interface__["data"][0] - first) // owner.dtype.itemsize)


def bound(value: Any, target: str, memory: Memory, structures: Structures, block: str) -> list[str]:
    """Return C statements that give a group, array or number its value; arrays point into `block`."""
    kind = type_of(value)
    if isinstance(kind, Known):
        return []
    if isinstance(kind, Group):
        lines = []
        for at, item in enumerate(value):
            lines += bound(item, f"{target}.{field(kind, at)}", memory, structures, block)
        return lines
    if isinstance(kind, Number):
        return [f"{target} = {constant(value).code};"]
    assert isinstance(kind, Array)
    letter, start = memory.place(value)
    lines = [f"{target}.p = {block}.{BLOCKS[letter]} + {start};"]
    return lines + [f"{target}.n{axis} = {size};" for axis, size in enumerate(value.shape)]
