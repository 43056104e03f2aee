"""Calls in C: functions of Python, NumPy and math, new arrays, groups, and other compiled functions."""

from __future__ import annotations

import ast
import inspect
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ...kernels.pointers import call_own
from .expressions import Expressions
from .types import BOOL, COMPLEX, INT, ORDER, REAL, Array, Group, Known, Number, Type, Untranslatable, array_name
from .values import Value, extent, letter, number

SINGLE: dict[Any, str] = {
    np.sin: "sin", np.cos: "cos", np.tan: "tan", np.sqrt: "sqrt", np.exp: "exp", np.log: "log", np.floor: "floor",
    np.ceil: "ceil", np.tanh: "tanh", np.arcsin: "asin", np.arccos: "acos", np.arctan: "atan", np.sinh: "sinh",
    np.cosh: "cosh", math.sin: "sin", math.cos: "cos", math.sqrt: "sqrt", math.exp: "exp", math.log: "log",
    math.tanh: "tanh", np.log1p: "log1p", np.expm1: "expm1", math.tan: "tan",
}
"""Functions of one real number, with their names in C."""
DOUBLE: dict[Any, str] = {np.arctan2: "atan2", np.hypot: "hypot", math.atan2: "atan2", math.hypot: "hypot"}
"""Functions of two."""
ITEMS: dict[Any, str] = {
    float: "f", np.float64: "f", complex: "c", np.complex128: "c", int: "i", np.int64: "i", bool: "b", np.bool_: "b",
}


class Calls(Expressions):
    """Translates calls; a function translates the compiled functions that it calls by `program`."""

    program: Any
    rooms: list[str]
    label: str
    called: list[Any]

    def _call(self, node: ast.Call) -> Value:
        if isinstance(node.func, ast.Attribute):
            base = self.value(node.func.value)
            if not isinstance(base.kind, Known | Group):
                return self._method(base, node.func.attr, node)
        function = self.value(node.func)
        if not function.is_known:
            raise Untranslatable(f"line {node.lineno}: {ast.unparse(node.func)} is not known beforehand")
        found = function.known
        made = self._built_in(found, node)
        if made is not None:
            return made
        if isinstance(found, type) and issubclass(found, tuple):
            return self._named(found, node)
        return self._compiled(found, node)

    def _built_in(self, found: Any, node: ast.Call) -> Value | None:
        """Return the value of a call of Python's, math's or NumPy's own functions."""
        special: dict[Any, Callable[[ast.Call], Value]] = {
            max: self._extreme, min: self._extreme, abs: self._size_of, np.abs: self._size_of, int: self._as_integer,
            float: self._as_real, complex: self._as_complex, len: self._length, np.isfinite: self._finite,
            math.isfinite: self._finite, np.empty: self._new, np.zeros: self._new, np.sign: self._sign,
            call_own: self._no_law,
        }
        try:
            if found in special:
                return special[found](node)
            if found in SINGLE or found in DOUBLE:
                word = SINGLE.get(found) or DOUBLE[found]
                return Value(f"{word}({', '.join(number(self.value(a), 'f') for a in node.args)})", REAL)
        except TypeError:  # no key
            return None
        return None

    def _no_law(self, node: ast.Call) -> Value:
        """Return nothing for the call of a law by its address: what is translated runs an arm without a law."""
        return Value("(void)0", REAL)

    def _method(self, base: Value, name: str, node: ast.Call) -> Value:
        if base.kind == COMPLEX and name == "conjugate":
            return Value(f"fx_conjugate({base.code})", COMPLEX)
        if isinstance(base.kind, Array) and name == "copy":
            new = self._room(base.kind.item, [extent(base, axis).code for axis in range(base.kind.ndim)], "copy")
            return Value(f"fx_copy_{base.kind.item}{base.kind.ndim}({new.code}, {self._loose(base)})", new.kind)
        if isinstance(base.kind, Array) and name == "view":
            return self._seen_as(base, self.value(node.args[0]).known)
        if isinstance(base.kind, Array) and base.kind.packed and name == "reshape":
            return self._shaped(base, [self.value(argument) for argument in node.args])
        raise Untranslatable(f"line {node.lineno}: {ast.unparse(node)}: no such method is translated")

    def _seen_as(self, base: Value, wanted: Any) -> Value:
        """Return reals in pairs as complex numbers, or complex numbers as pairs of reals, in the same memory."""
        assert isinstance(base.kind, Array)
        item, last = ITEMS.get(wanted, ""), base.kind.ndim - 1
        if not base.kind.packed or {base.kind.item, item} != {"f", "c"}:
            raise Untranslatable(f"an array of {base.kind.item} is not seen as one of {wanted}")
        sizes = [extent(base, axis).code for axis in range(last)]
        sizes.append(f"{base.code}.n{last} / 2" if item == "c" else f"2 * {base.code}.n{last}")
        kind, pointer = Array(item, base.kind.ndim), {"f": "double", "c": "fx_complex"}[item]
        return Value(f"(({array_name(kind)}){{{', '.join([f'({pointer} *)({base.code}.p)', *sizes])}}})", kind)

    def _shaped(self, base: Value, given: list[Value]) -> Value:
        """Return an array without gaps as one of another shape in the same memory; all lengths are given."""
        assert isinstance(base.kind, Array)
        sizes = [self.item(given[0], at) for at in range(len(given[0].kind.items))] if (
            isinstance(given[0].kind, Group)
        ) else given
        if any(size.is_known and size.known == -1 for size in sizes):
            raise Untranslatable("a shape with a length that is left open is not translated")
        kind = Array(base.kind.item, len(sizes))
        code = f"(({array_name(kind)}){{{', '.join([f'{base.code}.p', *(number(size, 'i') for size in sizes)])}}})"
        return Value(code, kind)

    def _loose(self, array: Value) -> str:
        from .values import converted

        assert isinstance(array.kind, Array)
        return converted(array, Array(array.kind.item, array.kind.ndim, packed=False))

    def _extreme(self, node: ast.Call) -> Value:
        values = [self.value(argument) for argument in node.args]
        common = max((letter(v) for v in values), key=ORDER.index)
        common = "i" if common == "b" else common
        word = "fx_max" if self.value(node.func).known is max else "fx_min"
        code = number(values[0], common)
        for value in values[1:]:
            code = f"{word}_{common}({code}, {number(value, common)})"
        return Value(code, Number(common), least=self._least_of(word, values) if common == "i" else None)

    @staticmethod
    def _least_of(word: str, values: list[Value]) -> int | None:
        known = [value.least for value in values if value.least is not None]
        if word == "fx_max":
            return max(known, default=None)
        return min(known) if len(known) == len(values) else None

    def _size_of(self, node: ast.Call) -> Value:
        value = self.value(node.args[0])
        if value.kind == COMPLEX:
            return Value(f"fx_modulus({value.code})", REAL)
        if value.kind == REAL:
            return Value(f"fabs({value.code})", REAL)
        return Value(f"fx_size_i({value.code})", INT, least=0)

    def _as_integer(self, node: ast.Call) -> Value:
        return Value(f"(int64_t)({self.value(node.args[0]).code})", INT)

    def _as_real(self, node: ast.Call) -> Value:
        return Value(number(self.value(node.args[0]), "f"), REAL)

    def _as_complex(self, node: ast.Call) -> Value:
        parts = [number(self.value(argument), "f") for argument in node.args]
        return Value(f"fx_complex_of({', '.join([*parts, '0.0'][:2])})", COMPLEX)

    def _length(self, node: ast.Call) -> Value:
        value = self.value(node.args[0])
        if isinstance(value.kind, Group):
            return Value(str(len(value.kind.items)), INT, len(value.kind.items), len(value.kind.items))
        return extent(value, 0)

    def _finite(self, node: ast.Call) -> Value:
        return Value(f"(isfinite({number(self.value(node.args[0]), 'f')}) != 0)", BOOL)

    def _sign(self, node: ast.Call) -> Value:
        return Value(f"fx_sign({number(self.value(node.args[0]), 'f')})", REAL)

    def _new(self, node: ast.Call) -> Value:
        """Return a new array, which stands where the last one of this place in the code did."""
        shape = self.value(node.args[0])
        sizes = list(shape.known) if isinstance(shape.kind, Group) else [shape]
        kind = self.value(node.args[1]).known if len(node.args) > 1 else float
        if kind not in ITEMS or any(letter(size) not in "bi" for size in sizes):
            raise Untranslatable(f"line {node.lineno}: {ast.unparse(node)}: no such array is made")
        word = "zeros" if self.value(node.func).known is np.zeros else "empty"
        return self._room(ITEMS[kind], [size.code for size in sizes], word)

    def _room(self, item: str, sizes: list[str], word: str) -> Value:
        place = f"ROOM_{self.label}_{len(self.rooms) + 1}"
        self.rooms.append(place)
        kind = Array(item, len(sizes))
        count = " * ".join(f"({size})" for size in sizes)
        name = f"fx_room_{item}(fx, {place}, {count}, {int(word == 'zeros')})"
        return Value(f"(({array_name(kind)}){{{', '.join([name, *sizes])}}})", kind)

    def _named(self, found: Any, node: ast.Call) -> Value:
        by_name = {word.arg: self.value(word.value) for word in node.keywords if word.arg}
        parts = [self.value(argument) for argument in node.args]
        parts += [by_name[name] for name in found._fields[len(parts):]]
        return self.group(parts, found._fields, found.__name__)

    def _compiled(self, found: Any, node: ast.Call) -> Value:
        """Return the call of another compiled function."""
        from .reading import plain

        values = self._bound(plain(found), node)
        made = self.program.made(found, tuple(value.kind for value in values))
        self.called.append(made)
        arguments = ["fx", *(self._passed(value) for value in values if not isinstance(value.kind, Known))]
        return Value(f"{made.name}({', '.join(arguments)})", made.result)

    def _bound(self, function: Callable[..., Any], node: ast.Call) -> list[Value]:
        """Return the arguments in order, whether given by place or by name."""
        given = [self.value(argument) for argument in node.args]
        by_name = {word.arg: self.value(word.value) for word in node.keywords if word.arg}
        order = list(inspect.signature(function).parameters)
        return given + [by_name[name] for name in order[len(given):]]

    def _passed(self, value: Value) -> str:
        """Return the code of an argument; groups go by their address."""
        if not isinstance(value.kind, Group):
            return value.code
        if value.code.startswith("(*") and value.code.count("(") == 1:
            return value.code[2:-1]
        if value.code.startswith("((fx_") and value.code.endswith("})"):
            return f"&{value.code[1:-1]}"
        if re.fullmatch(r"[\w.>\-]+", value.code):
            return f"&{value.code}"
        # what a function returns has no address of its own
        return f"({self.structures.name(value.kind)}[1]){{{value.code}}}"


def arguments_of(kinds: tuple[Type, ...]) -> list[Type]:
    """Return the types of arguments that have a place in C."""
    return [kind for kind in kinds if not isinstance(kind, Known)]
