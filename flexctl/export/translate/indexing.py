"""Entries and parts of arrays in C."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from .types import INT, Array, Group, Number, Structures, array_name
from .values import Value, extent, strides

if TYPE_CHECKING:
    from .expressions import Expressions


def place(index: Value, array: Value, axis: int) -> str:
    """Return the code of an index, which counts from the end if it is negative."""
    if index.least is not None and index.least >= 0:
        return index.code
    if index.is_known:
        return f"({array.code}.n{axis} - {-int(index.known)})"
    return f"fx_at({index.code}, {array.code}.n{axis})"


def element(words: Expressions, array: Value, parts: list[ast.expr]) -> Value:
    """Return an entry of an array."""
    kind = array.kind
    assert isinstance(kind, Array)
    offset = _offset([place(words.whole(part), array, axis) for axis, part in enumerate(parts)], strides(array))
    return Value(f"{array.code}.p[{offset}]", Number(kind.item))


def _offset(places: list[str], steps: list[str]) -> str:
    terms = [at if step == "1" else f"{at} * {step}" if "*" not in step else f"{at} * ({step})"
             for at, step in zip(places, steps, strict=True) if at != "0"]
    return " + ".join(terms) or "0"


def view(words: Expressions, array: Value, parts: list[ast.expr]) -> Value:
    """Return a part of an array, which stands in the same memory."""
    kind = array.kind
    assert isinstance(kind, Array)
    every: list[ast.expr] = [*parts, *[ast.Slice()] * (kind.ndim - len(parts))]
    starts, sizes, kept = [], [], []
    for axis, part in enumerate(every):
        if isinstance(part, ast.Slice):
            start, size = _stretch(words, array, axis, part)
            starts.append(start)
            sizes.append(size)
            kept.append(axis)
        else:
            starts.append(place(words.whole(part), array, axis))
    steps = strides(array)
    packed = kind.packed and _without_gaps(every)
    found = Array(kind.item, len(kept), packed)
    offset = _offset(starts, steps)
    pointer = f"{array.code}.p" if offset == "0" else f"{array.code}.p + {offset}"
    fields = [pointer, *sizes, *(() if packed else [steps[axis] for axis in kept])]
    return Value(f"(({array_name(found)}){{{', '.join(fields)}}})", found)


def _without_gaps(parts: list[ast.expr]) -> bool:
    """Whether the part of a packed array is packed: numbers, then at most one stretch, then whole axes."""
    seen = False
    for part in parts:
        whole = isinstance(part, ast.Slice) and part.lower is None and part.upper is None
        if seen and not whole:
            return False
        seen = seen or isinstance(part, ast.Slice)
    return True


def _stretch(words: Expressions, array: Value, axis: int, part: ast.Slice) -> tuple[str, str]:
    """Return where a slice begins and how many entries it has."""
    if part.step is not None:
        from .types import Untranslatable

        raise Untranslatable("slices with a step are not translated")
    n = extent(array, axis).code
    low = "0" if part.lower is None else f"fx_bound({words.whole(part.lower).code}, {n})"
    high = n if part.upper is None else f"fx_bound({words.whole(part.upper).code}, {n})"
    return low, high if low == "0" else f"fx_between({low}, {high})"


def shape_of(array: Value, structures: Structures) -> Value:
    """Return the numbers of entries along all axes."""
    kind = array.kind
    assert isinstance(kind, Array)
    parts = tuple(extent(array, axis) for axis in range(kind.ndim))
    group = Group(tuple(INT for _ in parts))
    code = f"(({structures.name(group)}){{{', '.join(part.code for part in parts)}}})"
    return Value(code, group, parts)
