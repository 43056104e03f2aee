"""Functions in C: statements one by one, with the types of all names found by going over them until nothing changes."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from .calls import Calls
from .expressions import NotYet
from .reading import assigned, body_of, surroundings, tree_of
from .types import INT, Array, Group, Known, Number, Structures, Type, Untranslatable, joined
from .values import Value, c_name, converted, extent, number, strides, truth

ROUNDS = 12
"""Types of names only grow: number, array with gaps; so few rounds are enough."""


@dataclass(eq=False)
class Made:
    """A C function: its name, what it returns (None: nothing), its text, those that it calls, its rooms for arrays."""

    name: str
    result: Any = None
    head: str = ""
    text: str = ""
    called: list[Made] = field(default_factory=list)
    rooms: list[str] = field(default_factory=list)


class Body(Calls):
    """One function for one set of types.

    Parameters
    ----------
    program : Program
        Makes the functions that it calls.
    function : callable
        The Python function.
    kinds : tuple of Type
        Of its arguments.
    made : Made
        What is filled.
    """

    def __init__(
        self, program: Any, structures: Structures, function: Callable[..., Any], kinds: tuple[Type, ...], made: Made
    ) -> None:
        super().__init__(structures)
        self.program, self.made, self.label = program, made, made.name
        self.tree = tree_of(function)
        self.told, self.statements = body_of(self.tree)
        self.outside, self.own = surroundings(function), assigned(self.tree)
        self.parameters = [argument.arg for argument in self.tree.args.args]
        if len(self.parameters) != len(kinds):
            raise Untranslatable(f"{function.__qualname__} takes {len(self.parameters)} arguments, not {len(kinds)}")
        self.types = dict(zip(self.parameters, kinds, strict=True))
        for name, kind in self.types.items():
            self.versions.assigned(name, kind)
        again = {n.id for n in ast.walk(self.tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        self.pointers = {
            name for name, kind in self.types.items() if isinstance(kind, Group) and name not in again
        }
        self.copied = [name for name, kind in self.types.items() if isinstance(kind, Group) and name in again]
        self.counted = _counted_only(self.tree)
        self.apart = _counted_apart(self.tree) - self.counted
        self.result: Any = None
        self.complete = False
        self.rooms, self.called = [], []
        self.lines: list[str] = []
        self.depth, self.temporaries = 1, 0

    def translate(self) -> None:
        """Fill `made`."""
        for _ in range(ROUNDS):
            before, result = dict(self.types), self.result
            self._once()
            if self.complete and before == self.types and result == self.result:
                break
        else:
            raise Untranslatable(f"the types of the names in {self.label} are not found")
        made = self.made
        made.result, made.called, made.rooms = self.result, self.called, self.rooms
        if made.rooms and isinstance(made.result, Array | Group) and _holds_array(made.result):
            raise Untranslatable(f"{self.label} makes arrays and returns some: where they stand is not known")
        made.head = self._head()
        made.text = "\n".join([*self._comment(), made.head, "{", *self._declared(), *self.lines, "}", ""])

    def _once(self) -> None:
        self.lines, self.rooms, self.called, self.temporaries, self.complete = [], [], [], 0, True
        self.least, self.loops = {}, {}
        self.versions.again()
        self._block(self.statements)

    def _head(self) -> str:
        words = ["fx_context *fx"]
        for name in self.parameters:
            kind = self.types[name]
            if isinstance(kind, Known):
                continue
            c = self.structures.name(kind)
            own = c_name(name)
            if isinstance(kind, Group):
                own = f"*{own}" if name in self.pointers else f"*{own}_given"
                c = f"const {c}"
            words.append(f"{c} {own}")
        result = "void" if self.result is None else self.structures.name(self.result)
        return f"static {result} {self.made.name}({', '.join(words)})"

    def _comment(self) -> list[str]:
        told = "".join(c if " " <= c < "\x7f" else "?" for c in self.told).replace("*/", "* /").replace("/*", "/ *")
        return [f"/* {told} */"] if told else []

    def _declared(self) -> list[str]:
        lines: list[str] = []
        for name, kind in sorted(self.types.items()):
            if name in self.parameters or name in self.counted or isinstance(kind, Known):
                continue
            zero = "{0}" if isinstance(kind, Group | Array) or kind == Number("c") else "0"
            lines.append(f"    {self.structures.name(kind)} {c_name(name)} = {zero};")
        lines += [
            f"    {self.structures.name(self.types[name])} {c_name(name)} = *{c_name(name)}_given;"
            for name in self.copied
        ]
        return [*lines, *(f"    (void){name};" for name in self._unread())]

    def _unread(self) -> list[str]:
        """Return the C names that are given and never read, which is no mistake of the translation."""
        text = "\n".join(self.lines)
        names = [c_name(n) for n, kind in self.types.items() if not isinstance(kind, Known) and n not in self.counted]
        found = []
        for name in ["fx", *sorted(names)]:
            given = len(re.findall(rf"^\s*{name} = ", text, re.MULTILINE))
            if len(re.findall(rf"\b{name}\b", text)) == given:
                found.append(name)
        return found

    # --- statements ----------------------------------------------------------------------------------------------

    def _say(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    @contextmanager
    def _inside(self, head: str) -> Iterator[None]:
        self._say(f"{head} {{")
        self.depth += 1
        yield
        self.depth -= 1
        self._say("}")

    def _block(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            method: Any = getattr(self, f"_do_{type(statement).__name__.lower()}", None)
            if method is None:
                raise Untranslatable(f"{self.label}, line {statement.lineno}: no such statement is translated")
            depth, length = self.depth, len(self.lines)
            try:
                method(statement)
            except NotYet:
                self.complete = False
                self.depth = depth
                del self.lines[length:]
            except Untranslatable as error:
                if str(error).startswith(self.made.name) or ": in " in str(error):
                    raise
                raise Untranslatable(f"{self.label}, line {statement.lineno}: in {ast.unparse(statement)[:60]}: "
                                     f"{error}") from error

    def _do_pass(self, node: ast.Pass) -> None:
        return

    def _do_break(self, node: ast.Break) -> None:
        self._say("break;")

    def _do_continue(self, node: ast.Continue) -> None:
        self._say("continue;")

    def _do_expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self._say(f"{self.value(node.value).code};")

    def _do_return(self, node: ast.Return) -> None:
        if node.value is None:
            self._say("return;")
            return
        value = self.value(node.value)
        self.result = value.kind if self.result is None else joined(self.result, value.kind)
        self._say(f"return {self._as(value, self.result)};")

    def _do_if(self, node: ast.If) -> None:
        test = self.value(node.test)
        if test.is_known:
            self._block(node.body if test.known else node.orelse)
            return
        with self._inside(f"if ({_bare(truth(test))})"):
            self._block(node.body)
        if node.orelse:
            with self._inside("else"):
                self._block(node.orelse)

    def _do_while(self, node: ast.While) -> None:
        test = self.value(node.test)
        with self._inside("for (;;)" if test.is_known else f"while ({_bare(truth(test))})"):
            self._block(node.body)

    def _do_for(self, node: ast.For) -> None:
        if not isinstance(node.target, ast.Name) or node.orelse:
            raise Untranslatable("such a loop is not translated")
        source = node.iter
        if isinstance(source, ast.Call) and isinstance(source.func, ast.Name) and source.func.id == "range":
            self._count(node, node.target.id, source)
        else:
            self._each(node, node.target.id, self.value(source))

    def _count(self, node: ast.For, name: str, source: ast.Call) -> None:
        parts = [self.whole(argument) for argument in source.args]
        start, stop = (Value("0", INT, 0, 0), parts[0]) if len(parts) == 1 else (parts[0], parts[1])
        step = int(parts[2].known) if len(parts) == 3 else 1
        self.temporaries += 1
        end = f"end_{self.temporaries}"
        least = start.least if step > 0 else (None if stop.least is None else stop.least + 1)
        own = c_name(name) if name in self.counted else f"at_{self.temporaries}"
        compare = "<" if step > 0 else ">"
        move = {1: f"{own}++", -1: f"{own}--"}.get(step, f"{own} += {step}")
        head = f"for (int64_t {own} = {start.code}, {end} = {stop.code}; {own} {compare} {end}; {move})"
        if name in self.apart:
            self.loops[name] = own
        else:
            version = self._name_is(name, INT)
        with self._inside(head):
            if name not in self.counted and name not in self.apart:
                self._say(f"{c_name(version)} = {own};")
            before = self.least.pop(name, None)
            if least is not None and not _changed_inside(node, name):
                self.least[name] = least
            self._block(node.body)
            self.least.pop(name, None)
            if before is not None:
                self.least[name] = before
        self.loops.pop(name, None)

    def _each(self, node: ast.For, name: str, source: Value) -> None:
        """Go over the numbers of a group or an array."""
        self.temporaries += 1
        own = f"at_{self.temporaries}"
        if isinstance(source.kind, Group) and isinstance(source.known, tuple):
            kind: Type = source.known[0].kind
            for item in source.known[1:]:
                kind = joined(kind, item.kind)
            items = ", ".join(self._as(item, kind) for item in source.known)
            count, entry = str(len(source.known)), f"list_{self.temporaries}[{own}]"
            self._say(f"const {self.structures.name(kind)} list_{self.temporaries}[] = {{{items}}};")
        elif isinstance(source.kind, Array) and source.kind.ndim == 1:
            kind, count = Number(source.kind.item), extent(source, 0).code
            entry = f"{source.code}.p[{own} * {strides(source)[0]}]"
        else:
            raise Untranslatable("a loop over this is not translated")
        version = self._name_is(name, kind)
        with self._inside(f"for (int64_t {own} = 0; {own} < {count}; {own}++)"):
            if name in self.counted:
                self._say(f"const {self.structures.name(kind)} {c_name(version)} = {entry};")
            else:
                self._say(f"{c_name(version)} = {entry};")
            self._block(node.body)

    # --- assignments ---------------------------------------------------------------------------------------------

    def _do_assign(self, node: ast.Assign) -> None:
        value = self.value(node.value)
        if len(node.targets) > 1 and not value.is_known:
            value = self._kept(value)
        for target in node.targets:
            self._give(target, value)

    def _do_annassign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._give(node.target, self.value(node.value))

    def _do_augassign(self, node: ast.AugAssign) -> None:
        loaded = ast.copy_location(ast.parse(ast.unparse(node.target), mode="eval").body, node)
        for inner in ast.walk(loaded):
            if isinstance(inner, ast.expr):
                inner.lineno = node.lineno
        self._give(node.target, self.value(ast.copy_location(ast.BinOp(loaded, node.op, node.value), node)))

    def _name_is(self, name: str, kind: Type) -> str:
        """Note the type of a name; returns its name in C."""
        version = self.versions.assigned(name, kind)
        self.types[version] = joined(self.types[version], kind) if version in self.types else kind
        return version

    def _as(self, value: Value, kind: Type) -> str:
        """Return a value as one of another type, groups part by part."""
        if value.kind == kind or not isinstance(kind, Group):
            return converted(value, kind)
        assert isinstance(value.kind, Group)
        parts = [
            self._as(self.item(value, at), item) for at, item in enumerate(kind.items) if not isinstance(item, Known)
        ]
        return f"(({self.structures.name(kind)}){{{', '.join(parts)}}})"

    def _kept(self, value: Value) -> Value:
        """Return a value that is computed once, here."""
        if isinstance(value.kind, Known) or (value.is_known and not isinstance(value.kind, Group)):
            return value
        self.temporaries += 1
        name = f"t_{self.temporaries}"
        self._say(f"const {self.structures.name(value.kind)} {name} = {value.code};")
        return Value(name, value.kind, least=value.least)

    def _give(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Tuple):
            self._give_all(target, value)
        elif isinstance(target, ast.Name):
            version = self._name_is(target.id, value.kind)
            kind = self.types[version]
            if not isinstance(kind, Known):
                code = self._as(value, kind)
                own = c_name(version)
                if code != own:
                    self._say(f"{own} = {_bare(code)};")
        elif isinstance(target, ast.Subscript):
            self._store(target, value)
        else:
            raise Untranslatable(f"{ast.unparse(target)} cannot be assigned to")

    def _give_all(self, target: ast.Tuple, value: Value) -> None:
        """Take a group apart; all its values are there before the first name changes."""
        if not isinstance(value.kind, Group) or len(value.kind.items) != len(target.elts):
            raise Untranslatable(f"{ast.unparse(target)} does not fit what is assigned")
        if isinstance(value.known, tuple):
            parts = list(value.known)
            if _depends(target, parts):
                parts = [self._kept(part) for part in parts]
        else:
            whole = value if re.fullmatch(r"[\w.>\-]+|\(\*\w+\)", value.code) else self._kept(value)
            parts = [self.item(whole, at) for at in range(len(target.elts))]
        for one, part in zip(target.elts, parts, strict=True):
            self._give(one, part)

    def _store(self, target: ast.Subscript, value: Value) -> None:
        place = self.value(target)
        if isinstance(place.kind, Number):
            self._say(f"{place.code} = {_bare(number(value, place.kind.letter))};")
            return
        if not isinstance(place.kind, Array):
            raise Untranslatable(f"{ast.unparse(target)} cannot be assigned to")
        name = f"{place.kind.item}{place.kind.ndim}"
        if isinstance(value.kind, Number):
            self._say(f"fx_fill_{name}({self._loose(place)}, {number(value, place.kind.item)});")
        elif isinstance(value.kind, Array) and (value.kind.item, value.kind.ndim) == (place.kind.item, place.kind.ndim):
            self._say(f"fx_put_{name}({self._loose(place)}, {self._loose(value)});")
        else:
            raise Untranslatable(f"{ast.unparse(target)} does not fit what is assigned")


def _bare(code: str) -> str:
    """Return code without parentheses around all of it."""
    if not (code.startswith("(") and code.endswith(")")) or code.startswith("((fx_"):
        return code
    depth = 0
    for at, c in enumerate(code):
        depth += (c == "(") - (c == ")")
        if depth == 0:
            return code[1:-1] if at == len(code) - 1 else code
    return code


def _depends(target: ast.Tuple, parts: list[Value]) -> bool:
    """Whether a value is read from what an earlier target changes."""
    for at, one in enumerate(target.elts[:-1]):
        names = {n.id for n in ast.walk(one) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        later = " ".join(part.code for part in parts[at + 1:])
        if any(re.search(rf"\b{c_name(name)}\b", later) for name in names):
            return True
        if not isinstance(one, ast.Name) and ".p[" in later:
            return True
    return False


def _counted_only(tree: ast.FunctionDef) -> set[str]:
    """Return the names that are variables of loops and nothing else."""
    inside: set[int] = set()
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
            inside |= {
                id(n) for part in node.body for n in ast.walk(part)
                if isinstance(n, ast.Name) and n.id == node.target.id and isinstance(n.ctx, ast.Load)
            }
            inside.add(id(node.target))
    others = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and id(n) not in inside}
    return found - others - {argument.arg for argument in tree.args.args}


def _counted_apart(tree: ast.FunctionDef) -> set[str]:
    """Return the names that count in loops and mean something else elsewhere: each use sees which of both it is.

    Outside of its loops such a name is read behind an assignment that is no loop, and within them it is not assigned.
    """
    loops = [n for n in ast.walk(tree) if isinstance(n, ast.For) and isinstance(n.target, ast.Name)]
    found: set[str] = set()
    for name in {n.target.id for n in loops if isinstance(n.target, ast.Name)}:
        own = [n for n in loops if isinstance(n.target, ast.Name) and n.target.id == name]
        inside = {id(n) for loop in own for part in loop.body for n in ast.walk(part)}
        uses = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == name]
        heads = [loop.target for loop in own]
        stores = [n for n in uses if isinstance(n.ctx, ast.Store) and n not in heads]
        loads = [n for n in uses if isinstance(n.ctx, ast.Load) and id(n) not in inside]
        def fits(load: ast.Name, stores: list[ast.Name] = stores, heads: list[ast.expr] = heads) -> bool:
            last = max((s.lineno for s in stores if s.lineno <= load.lineno), default=-1)
            return last > max((h.lineno for h in heads if h.lineno <= load.lineno), default=-1)
        if stores and not any(id(s) in inside for s in stores) and all(fits(load) for load in loads):
            found.add(name)
    return found


def _changed_inside(node: ast.For, name: str) -> bool:
    stored = (n for part in node.body for n in ast.walk(part) if isinstance(n, ast.Name))
    return any(n.id == name and isinstance(n.ctx, ast.Store) for n in stored)


def _holds_array(kind: Type) -> bool:
    return isinstance(kind, Array) or (isinstance(kind, Group) and any(_holds_array(item) for item in kind.items))
