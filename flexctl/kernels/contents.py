"""The ingredients of a compiled function as digests: the key of the disk cache.

Compiled code depends on everything that its functions reach: their bytecode and constants, what they close over, the
global names they read, and so on through every compiled function among these, in whatever file it stands. Two digests:

* `identity`, which function it is: module, name, and the names and constants of what it closes over. It survives an
  edit, so that what was compiled before the edit is found and removed.
* `state`, all the rest: bytecode, values of the globals, and the sources of all modules in which a function or a class
  was found on the way.

The walk follows the values that the names have, which is what the compiler does as well: an import that no compiled
function uses costs nothing when it is edited.
"""

from __future__ import annotations

import contextlib
import dis
import functools
import hashlib
import os
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

LOCAL = "<locals>"
NAMED = "__flexctl_name__"  # of a renamed function: the name that it had
CALLS = "__flexctl_calls__"  # of a function that calls another by its address: that one


class Unknown(TypeError):
    """A value of which it cannot be said what it contributes to compiled code."""


class Contents:
    """Walks through a function and everything it reaches.

    Attributes
    ----------
    identity, state : list of str
        Descriptions of what was found, in order; see the module docstring.
    """

    def __init__(self, function: types.FunctionType) -> None:
        self.identity: list[str] = []
        self.state: list[str] = []
        self._seen: dict[int, int] = {}
        self._keep: list[Any] = []  # ids are only unique while their objects live
        self._modules: set[tuple[str, tuple[str, ...]]] = set()
        self._function(function, self.identity)

    def digest(self) -> str:
        """Return one digest of both."""
        return digest(self.identity, self.state)

    def _function(self, function: Any, out: list[str]) -> None:
        out.append(f"def {function.__module__}.{name_of(function)}")
        if self._again(function):
            return
        code = function.__code__
        self.state += [_code_digest(code), *source(code.co_filename)]
        for value in (function.__defaults__, function.__kwdefaults__ and sorted(function.__kwdefaults__.items())):
            self._value(value, out)
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            out.append(f"free {name}")
            try:
                value = cell.cell_contents
            except ValueError:  # not yet assigned
                out.append("empty")
                continue
            self._value(value, out, names=code.co_names)
        for name, attributes in _reads(code):
            if name in function.__globals__:
                self.state.append(f"global {name}")
                self._value(function.__globals__[name], self.state, names=attributes)

    def _again(self, value: Any) -> bool:
        if id(value) in self._seen:
            self.state.append(f"again {self._seen[id(value)]}")
            return True
        self._seen[id(value)] = len(self._seen)
        self._keep.append(value)
        return False

    def _value(self, value: Any, out: list[str], names: tuple[str, ...] = ()) -> None:
        if value is None or isinstance(value, bool | int | float | complex | str | bytes | np.generic):
            out.append(f"{type(value).__name__} {value!r}")
        elif isinstance(value, tuple | list):
            kind = type(value)
            out.append(f"{kind.__module__}.{kind.__qualname__} {len(value)} {getattr(kind, '_fields', '')}")
            for item in value:
                self._value(item, out, names)
        elif isinstance(value, np.ndarray) and not value.dtype.hasobject:
            flags = value.flags
            out.append(f"array {value.dtype.str} {value.shape} {flags.c_contiguous} {flags.f_contiguous}")
            out.append(hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest())
        elif isinstance(value, types.ModuleType):
            self._module(value, out, names)
        elif isinstance(value, type):
            self._class(value, out)
        elif isinstance(value, types.FunctionType):
            self._function(value, out)
        else:
            self._object(value, out)

    def _object(self, value: Any, out: list[str]) -> None:
        function = getattr(value, "py_func", None)
        if isinstance(function, types.FunctionType):  # compiled, by numba or by `jit.entry`
            out.append(f"compiled {described(getattr(value, 'targetoptions', None) or getattr(value, 'options', {}))}")
            out.append(str(getattr(value, "signature", None) or _fixed(value)))
            self._function(function, out)
        elif isinstance(intrinsic := getattr(value, "_defn", None), types.FunctionType):
            out.append("intrinsic")
            self._function(intrinsic, out)
        elif isinstance(value, np.ufunc | types.BuiltinFunctionType):
            out.append(f"{getattr(value, '__module__', '')}.{value.__name__}")
        elif type(value).__module__.split(".")[0] in ("numba", "numpy"):  # types and signatures
            out.append(f"{type(value).__qualname__} {value}")
        elif type(value).__name__ == "Group":
            out.append(f"{type(value).__module__}.Group {value} {value.types}")
        else:
            raise Unknown(f"{type(value).__module__}.{type(value).__qualname__}")

    def _module(self, module: types.ModuleType, out: list[str], names: tuple[str, ...]) -> None:
        path = getattr(module, "__file__", None)
        out.append(f"module {module.__name__} {getattr(module, '__version__', '')}")
        if _foreign(module.__name__):
            return
        self.state += source(path or "")
        if (module.__name__, names) in self._modules:
            return
        self._modules.add((module.__name__, names))
        for name in names:
            if name in vars(module):  # or it is an attribute of something else
                self.state.append(f"attribute {name}")
                with contextlib.suppress(Unknown):
                    self._value(vars(module)[name], self.state, names)

    def _class(self, kind: type, out: list[str]) -> None:
        out.append(f"class {kind.__module__}.{kind.__qualname__} {getattr(kind, '_fields', '')}")
        if not _foreign(kind.__module__):
            self.state += source(getattr(sys.modules.get(kind.__module__), "__file__", None) or "")


def digest(*parts: list[str]) -> str:
    """Return a digest of lists of words."""
    hashed = hashlib.sha256()
    for part in parts:
        for word in (*part, ""):
            data = word.encode(errors="backslashreplace")
            hashed.update(len(data).to_bytes(8, "little") + data)
        hashed.update(b"|")
    return hashed.hexdigest()


def name_of(function: Any) -> str:
    """Return the name that a function had before `renamed`."""
    return str(function.__dict__.get(NAMED, function.__qualname__))


def renamed(function: Any, suffix: str) -> types.FunctionType:
    """Return a copy of a function under a name of its own.

    numba makes the names in machine code from the function's name and a count in the process. Two closures of one
    factory, compiled by two processes and loaded from the disk by a third, can have the same names there, and the
    linker then takes one for the other.
    """
    copy = types.FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__module__, copy.__doc__ = function.__module__, function.__doc__
    copy.__annotations__ = function.__annotations__
    copy.__qualname__ = f"{name_of(function)}_{suffix}"
    copy.__dict__[NAMED] = name_of(function)
    return copy


def described(options: Any) -> str:
    """Return options of a compilation, in an order that does not depend on the process."""
    if isinstance(options, dict):
        return "{" + ", ".join(f"{k}: {described(options[k])}" for k in sorted(options)) + "}"
    if isinstance(options, set | frozenset):
        return "{" + ", ".join(sorted(map(repr, options))) + "}"
    return repr(options)


def _fixed(dispatcher: Any) -> str:
    """Return the signatures of a compiled function that takes no others; a kernel is compiled for each caller."""
    open_to_others = getattr(dispatcher, "_can_compile", True)
    return "" if open_to_others else str(sorted(map(str, getattr(dispatcher, "signatures", ()))))


def _foreign(module: str) -> bool:
    """Return whether a module belongs to Python or to an installed library that has a version in the key."""
    top = module.partition(".")[0]
    return top in sys.stdlib_module_names or top in ("numpy", "numba", "llvmlite", "scipy")


@functools.cache
def _code_digest(code: types.CodeType) -> str:
    constants = [
        _code_digest(c) if isinstance(c, types.CodeType) else _constant(c) for c in code.co_consts
    ]
    words = [*constants, *code.co_names, *code.co_varnames, *code.co_freevars, *code.co_cellvars, str(code.co_flags)]
    return digest([hashlib.sha256(code.co_code).hexdigest(), *words])


def _constant(value: Any) -> str:
    if isinstance(value, frozenset):
        return "{" + ", ".join(sorted(map(_constant, value))) + "}"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_constant, value)) + ")"
    return f"{type(value).__name__} {value!r}"


@functools.cache
def _reads(code: types.CodeType) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the global names that a function reads, each with the attributes it may read of them."""
    names = {i.argval for part in _codes(code) for i in dis.get_instructions(part) if i.opname in _GLOBAL}
    attributes = tuple(sorted({name for part in _codes(code) for name in part.co_names}))
    return tuple((name, attributes) for name in sorted(names))


_GLOBAL = ("LOAD_GLOBAL", "LOAD_NAME")


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def source(path: str) -> list[str]:
    """Return the digest of a file, or nothing where the code comes from none."""
    try:
        stat = os.stat(path)
    except OSError:
        return []
    return [_file_digest(path, stat.st_mtime_ns, stat.st_size)]


@functools.cache
def _file_digest(path: str, changed: int, size: int) -> str:
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()
