"""Values in C code: their text, their type, and what is known of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .types import BOOL, COMPLEX, INT, REAL, Array, Group, Known, Number, Type, Untranslatable, array_name, field

NOTHING = Known(object())
"""Stands for: the value is not known while translating."""
_WORDS = """
auto break case char const continue default do double else enum extern float for goto if inline int long register
restrict return short signed sizeof static struct switch typedef union unsigned void volatile while main errno sin
cos tan asin acos atan sinh cosh atan2 sqrt exp log log1p expm1 floor ceil tanh hypot fabs pow isfinite memset
memcpy fx NULL NAN INFINITY I EOF int64_t size_t time near far j0 j1 jn y0 y1 yn gamma abs div free malloc signal
read write index unix linux
"""
RESERVED = frozenset(_WORDS.split())
"""Names that mean something in C already."""


@dataclass(frozen=True)
class Value:
    """A value: its C text, its type, what it is if known, and its least value if it is an integer with one."""

    code: str
    kind: Type
    known: Any = NOTHING
    least: int | None = None

    @property
    def is_known(self) -> bool:
        """Whether the value is known while translating."""
        return self.known is not NOTHING


def c_name(name: str) -> str:
    """Return the C name of a Python name."""
    return f"{name}_" if name in RESERVED else name


def constant(value: Any) -> Value:
    """Return what a Python object is in C."""
    if isinstance(value, bool | np.bool_):
        return Value(str(int(value)), BOOL, bool(value), int(value))
    if isinstance(value, int | np.integer):
        return Value(f"({value})" if value < 0 else str(value), INT, int(value), int(value))
    if isinstance(value, float | np.floating):
        return Value(real(float(value)), REAL, float(value))
    if isinstance(value, complex):
        return Value(f"fx_complex_of({real(value.real)}, {real(value.imag)})", COMPLEX, value)
    return Value("", Known(value), value)


def real(value: float) -> str:
    """Return a double as C reads it back to the last bit."""
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "(-INFINITY)"
    text = repr(value)
    text = text if "." in text or "e" in text else f"{text}.0"
    return f"({text})" if value < 0 or text.startswith("-") else text


def member(group: Value, at: int) -> Value:
    """Return a member of a group."""
    assert isinstance(group.kind, Group)
    kind = group.kind.items[at]
    if isinstance(kind, Known):
        return Value("", kind, kind.value)
    if group.code.startswith("(*") and group.code.endswith(")") and group.code.count("(") == 1:
        return Value(f"{group.code[2:-1]}->{field(group.kind, at)}", kind)
    return Value(f"{group.code}.{field(group.kind, at)}", kind)


def letter(value: Value) -> str:
    """Return the letter of a number."""
    if not isinstance(value.kind, Number):
        raise Untranslatable(f"{value.kind} where a number is needed")
    return value.kind.letter


def number(value: Value, wanted: str) -> str:
    """Return the code of a number as one of the kind `wanted`."""
    have = letter(value)
    if have == wanted or {have, wanted} == {"b", "i"}:
        return value.code if have == wanted or wanted == "i" else f"({value.code} != 0)"
    if wanted == "c":
        return f"fx_complex_of({number(value, 'f')}, 0.0)"
    if wanted == "f" and have in "bi":
        return real(float(value.known)) if value.is_known else f"(double)({value.code})"
    raise Untranslatable(f"a number of kind {have} where {wanted} is needed")


def truth(value: Value) -> str:
    """Return the code of a value as a condition."""
    if letter(value) == "c":
        return f"!fx_same({value.code}, fx_complex_of(0.0, 0.0))"
    zero = {"b": "", "i": " != 0", "f": " != 0.0"}[letter(value)]
    return f"({value.code}{zero})" if zero else value.code


def extent(array: Value, axis: int) -> Value:
    """Return how many entries an array has along an axis."""
    return Value(f"{array.code}.n{axis}", INT, least=0)


def strides(array: Value) -> list[str]:
    """Return the distance of neighbours along each axis."""
    kind = array.kind
    assert isinstance(kind, Array)
    if not kind.packed:
        return [f"{array.code}.s{axis}" for axis in range(kind.ndim)]
    return [" * ".join(f"{array.code}.n{later}" for later in range(axis + 1, kind.ndim)) or "1"
            for axis in range(kind.ndim)]


def converted(value: Value, wanted: Type) -> str:
    """Return the code of a value as one of another type, which `joined` made of it."""
    if value.kind == wanted:
        return value.code
    if isinstance(wanted, Number):
        return number(value, wanted.letter)
    if isinstance(wanted, Array) and isinstance(value.kind, Array):
        sizes = [f"{value.code}.n{axis}" for axis in range(wanted.ndim)]
        return f"(({array_name(wanted)}){{{', '.join([f'{value.code}.p', *sizes, *strides(value)])}}})"
    raise Untranslatable(f"{value.kind} where {wanted} is needed")
