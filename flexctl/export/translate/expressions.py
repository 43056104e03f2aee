"""Expressions in C: each becomes one expression without statements of its own."""

from __future__ import annotations

import ast
from typing import Any

from .indexing import element, shape_of, view
from .types import (
    BOOL,
    COMPLEX,
    INT,
    ORDER,
    REAL,
    Array,
    Group,
    Known,
    Number,
    Structures,
    Type,
    Untranslatable,
    joined,
)
from .values import Value, c_name, constant, converted, letter, member, number, truth

ARITHMETIC: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}
BITS: dict[type[ast.operator], str] = {ast.LShift: "<<", ast.RShift: ">>", ast.BitOr: "|", ast.BitAnd: "&"}
COMPARED: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}


class NotYet(Exception):
    """A name is used whose type is not known so far."""


class Versions:
    """The C names of a Python name that stands for values of several sorts, by turns: one for each sort.

    Numbers are of one sort. Which one is meant is what was assigned last in the text: where two ways lead to a place,
    numba has seen to it that the name stands for the same sort on both.
    """

    def __init__(self) -> None:
        self._names: dict[str, dict[str, str]] = {}
        self._now: dict[str, str] = {}

    def again(self) -> None:
        """Begin at the first line."""
        self._now = {}

    def now(self, name: str) -> str:
        """Return the C name that is meant here."""
        return self._now.get(name, name)

    def assigned(self, name: str, kind: Type) -> str:
        """Return the C name for a value of this type, which is meant from here on."""
        known = self._names.setdefault(name, {})
        sort = type(kind).__name__ + (f"{kind.item}{kind.ndim}" if isinstance(kind, Array) else "")
        sort += str(len(kind.items)) if isinstance(kind, Group) else ""
        if sort not in known:
            known[sort] = name if not known else f"{name}_{len(known) + 1}_"
        self._now[name] = known[sort]
        return known[sort]


class Expressions:
    """Translates expressions of a function whose names are known by `types` and `outside`.

    Parameters
    ----------
    structures : Structures
        The C structures of the program.
    """

    def __init__(self, structures: Structures) -> None:
        self.structures = structures
        self.types: dict[str, Type] = {}
        self.versions = Versions()
        self.loops: dict[str, str] = {}
        self.pointers: set[str] = set()
        self.least: dict[str, int] = {}
        self.own: set[str] = set()
        self.outside: dict[str, Any] = {}

    def value(self, node: ast.expr) -> Value:
        """Return the value of an expression."""
        method: Any = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            raise Untranslatable(f"line {node.lineno}: {ast.unparse(node)}: no such expression is translated")
        found: Value = method(node)
        return found

    def whole(self, node: ast.expr) -> Value:
        """Return an integer."""
        value = self.value(node)
        if not isinstance(value.kind, Number) or value.kind.letter not in "bi":
            raise Untranslatable(f"line {node.lineno}: {ast.unparse(node)} is no integer")
        return value

    def _constant(self, node: ast.Constant) -> Value:
        return constant(node.value)

    def _name(self, node: ast.Name) -> Value:
        name = node.id
        if name not in self.own:
            if name not in self.outside:
                raise Untranslatable(f"line {node.lineno}: nothing is called {name}")
            return constant(self.outside[name])
        if name in self.loops:
            return Value(self.loops[name], INT, least=self.least.get(name))
        version = self.versions.now(name)
        if version not in self.types:
            raise NotYet(name)
        kind = self.types[version]
        if isinstance(kind, Known):
            return Value("", kind, kind.value)
        code = f"(*{c_name(version)})" if version in self.pointers else c_name(version)
        return Value(code, kind, least=self.least.get(name))

    def _attribute(self, node: ast.Attribute) -> Value:
        base, name = self.value(node.value), node.attr
        kind = base.kind
        if isinstance(kind, Known):
            return constant(getattr(kind.value, name))
        if isinstance(kind, Group) and name in kind.names:
            return member(base, kind.names.index(name))
        if isinstance(kind, Array) and name in ("size", "shape"):
            return shape_of(base, self.structures) if name == "shape" else _size(base)
        if kind == COMPLEX and name in ("real", "imag"):
            return Value(f"({base.code}).{'re' if name == 'real' else 'im'}", REAL)
        raise Untranslatable(f"line {node.lineno}: {ast.unparse(node)}: no such attribute is translated")

    def _subscript(self, node: ast.Subscript) -> Value:
        base = self.value(node.value)
        if isinstance(base.kind, Group):
            at = self.whole(node.slice)
            return self.item(base, int(at.known)) if at.is_known else self._one_of(base, at)
        parts = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        array = base.kind
        if not isinstance(array, Array):
            raise Untranslatable(f"line {node.lineno}: {ast.unparse(node)}: this has no entries")
        sliced = any(isinstance(part, ast.Slice) for part in parts)
        return view(self, base, parts) if sliced or len(parts) < array.ndim else element(self, base, parts)

    def item(self, group: Value, at: int) -> Value:
        """Return one value of a group."""
        assert isinstance(group.kind, Group)
        at += len(group.kind.items) if at < 0 else 0
        if isinstance(group.known, tuple):
            return group.known[at]  # type: ignore[no-any-return]
        return member(group, at)

    def _one_of(self, group: Value, at: Value) -> Value:
        """Return the value of a group of numbers that stands at a place which is found while running."""
        assert isinstance(group.kind, Group)
        items = [self.item(group, k) for k in range(len(group.kind.items))]
        kind: Type = items[0].kind
        for one in items[1:]:
            kind = joined(kind, one.kind)
        words = ", ".join(converted(one, kind) for one in items)
        place = at.code if at.least is not None and at.least >= 0 else f"fx_at({at.code}, {len(items)})"
        return Value(f"(({self.structures.name(kind)}[]){{{words}}})[{place}]", kind)

    def _tuple(self, node: ast.Tuple) -> Value:
        return self.group([self.value(part) for part in node.elts])

    def group(self, parts: list[Value], names: tuple[str, ...] = (), word: str = "tuple") -> Value:
        """Return a group of values; its parts stay known one by one."""
        kind = Group(tuple(part.kind for part in parts), names, word)
        stored = [part.code for part in parts if not isinstance(part.kind, Known)]
        code = f"(({self.structures.name(kind)}){{{', '.join(stored) or '0'}}})"
        return Value(code, kind, tuple(parts))

    def _unaryop(self, node: ast.UnaryOp) -> Value:
        value = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            return constant(not value.known) if value.is_known else Value(f"!({truth(value)})", BOOL)
        if not isinstance(node.op, ast.USub):
            raise Untranslatable(f"line {node.lineno}: {ast.unparse(node)}: no such operation is translated")
        if value.is_known:
            return constant(-value.known)
        if value.kind == COMPLEX:
            return Value(f"fx_minus({value.code})", COMPLEX)
        return Value(f"(-{value.code})", INT if letter(value) in "bi" else REAL)

    def _boolop(self, node: ast.BoolOp) -> Value:
        every, parts = isinstance(node.op, ast.And), list[str]()
        for part in node.values:
            value = self.value(part)
            if value.is_known and bool(value.known) != every:
                if not parts:
                    return constant(not every)
                parts.append(str(int(not every)))
                break
            if not value.is_known:
                parts.append(truth(value))
        if not parts:
            return constant(every)
        return Value(f"({(' && ' if every else ' || ').join(parts)})", BOOL)

    def _compare(self, node: ast.Compare) -> Value:
        values = [self.value(node.left)]
        parts = []
        for op, right in zip(node.ops, node.comparators, strict=True):
            if isinstance(op, ast.In):
                return self._among(values[-1], self.value(right), node)
            values.append(self.value(right))
            parts.append(self._compared(values[-2], op, values[-1], node))
        if all(part.is_known for part in parts):
            return constant(all(part.known for part in parts))
        if len(parts) == 1:
            return parts[0]
        return Value("(" + " && ".join(part.code for part in parts) + ")", BOOL)

    def _compared(self, left: Value, op: ast.cmpop, right: Value, node: ast.expr) -> Value:
        if isinstance(op, ast.Is | ast.IsNot):
            same = left.is_known and right.is_known and left.known is right.known
            return constant(same == isinstance(op, ast.Is))
        if type(op) not in COMPARED:
            raise Untranslatable(f"line {node.lineno}: {ast.unparse(node)}: no such comparison is translated")
        word, common = COMPARED[type(op)], max(letter(left), letter(right), key=ORDER.index)
        if left.is_known and right.is_known:
            return constant(bool(eval(f"a {word} b", {}, {"a": left.known, "b": right.known})))
        a, b = number(left, common), number(right, common)
        if common == "c":
            return Value(f"{'' if word == '==' else '!'}fx_same({a}, {b})", BOOL)
        return Value(f"({a} {word} {b})", BOOL)

    def _among(self, value: Value, group: Value, node: ast.expr) -> Value:
        items = group.known
        if not isinstance(items, tuple):
            raise Untranslatable(f"line {node.lineno}: {ast.unparse(node)}: what it is looked for in is not known")
        found = [self._compared(value, ast.Eq(), item, node) for item in items]
        return Value("(" + " || ".join(one.code for one in found) + ")", BOOL)

    def _ifexp(self, node: ast.IfExp) -> Value:
        test = self.value(node.test)
        if test.is_known:
            return self.value(node.body if test.known else node.orelse)
        yes, no = self.value(node.body), self.value(node.orelse)
        kind = joined(yes.kind, no.kind)
        least = None if yes.least is None or no.least is None else min(yes.least, no.least)
        return Value(f"({truth(test)} ? {converted(yes, kind)} : {converted(no, kind)})", kind, least=least)

    def _binop(self, node: ast.BinOp) -> Value:
        left, right = self.value(node.left), self.value(node.right)
        common = max(letter(left), letter(right), key=ORDER.index)
        op = type(node.op)
        if op in BITS:
            if common == "f":
                raise Untranslatable(f"line {node.lineno}: {ast.unparse(node)}: bits of a real number")
            kind = BOOL if common == "b" else INT
            return Value(f"({left.code} {BITS[op]} {right.code})", kind, least=0 if _natural(left, right) else None)
        if op is ast.Pow:
            return _power(left, right)
        if common == "c":
            return _complex(op, left, right, node)
        if op is ast.Div:
            return Value(f"({number(left, 'f')} / {number(right, 'f')})", REAL)
        if op in (ast.FloorDiv, ast.Mod):
            return _divided(op, left, right)
        if op not in ARITHMETIC:
            raise Untranslatable(f"line {node.lineno}: {ast.unparse(node)}: no such operation is translated")
        kind = REAL if common == "f" else INT
        code = f"({number(left, kind.letter)} {ARITHMETIC[op]} {number(right, kind.letter)})"
        return Value(code, kind, least=_least(op, left, right))

    def _slice(self, node: ast.Slice) -> Value:
        raise Untranslatable(f"line {node.lineno}: a slice stands where none can")


def _size(array: Value) -> Value:
    kind = array.kind
    assert isinstance(kind, Array)
    return Value("(" + " * ".join(f"{array.code}.n{axis}" for axis in range(kind.ndim)) + ")", INT, least=0)


def _natural(*values: Value) -> bool:
    return all(value.least is not None and value.least >= 0 for value in values)


def _least(op: type[ast.operator], left: Value, right: Value) -> int | None:
    """Return the least value of a sum, difference or product of integers, None where it is not known."""
    if left.least is None:
        return None
    if op is ast.Sub:
        return left.least - right.known if right.is_known and isinstance(right.known, int) else None
    if right.least is None:
        return None
    if op is ast.Add:
        return left.least + right.least
    return left.least * right.least if _natural(left, right) else None


def _power(left: Value, right: Value) -> Value:
    if right.is_known and right.known in (2, 3) and isinstance(right.known, int):
        return Value(f"fx_{'square' if right.known == 2 else 'cube'}({number(left, 'f')})", REAL)
    return Value(f"pow({number(left, 'f')}, {number(right, 'f')})", REAL)


def _divided(op: type[ast.operator], left: Value, right: Value) -> Value:
    word = "fx_floor_div" if op is ast.FloorDiv else "fx_floor_mod"
    if "f" in letter(left) + letter(right):
        return Value(f"{word}_f({number(left, 'f')}, {number(right, 'f')})", REAL)
    return Value(f"{word}({left.code}, {right.code})", INT, least=0 if _natural(left, right) else None)


def _complex(op: type[ast.operator], left: Value, right: Value, node: ast.expr) -> Value:
    words = {ast.Add: "fx_plus", ast.Sub: "fx_less", ast.Mult: "fx_times", ast.Div: "fx_over"}
    if op not in words:
        raise Untranslatable(f"line {node.lineno}: {ast.unparse(node)}: no such operation is translated")
    if op is ast.Mult and COMPLEX not in (left.kind, right.kind):  # pragma: no cover - one of them is complex
        raise Untranslatable("no complex number")
    if op is ast.Mult and (left.kind != COMPLEX or right.kind != COMPLEX):
        factor, other = (left, right) if right.kind == COMPLEX else (right, left)
        return Value(f"fx_scaled({number(factor, 'f')}, {other.code})", COMPLEX)
    return Value(f"{words[op]}({number(left, 'c')}, {number(right, 'c')})", COMPLEX)
