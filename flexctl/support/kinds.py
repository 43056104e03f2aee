"""Kinds of arguments of public functions: stated by annotations, checked where a user calls.

`flexctl.__getattr__` hands out every public function and class through `guarded`; so do `fx.identify` and `fx.plot`.
Methods of public classes are checked likewise from the import of their module on (`guard_methods`).
The annotation is the whole statement: `float` refuses a text, `Motion` a number, `Mapping[str, float]` a list. What
annotations call by a name of their own (`LawGiven`) stands in `KINDS`. Code inside flexctl imports a function from its
module, unguarded, and pays nothing. What a value means, its range and its length, is the function's own to check.
"""

from __future__ import annotations

import ast
import functools
import inspect
import math
import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Set, Sized
from dataclasses import is_dataclass
from numbers import Number, Real
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..errors import DefinitionError, did_you_mean, listed
from .moved import ARGUMENTS
from .tabular import Tabular

AnyLaw: TypeAlias = Any
"""A `Controller`; what it has besides is its own."""
LawGiven: TypeAlias = Any
"""Whatever is accepted as a law (`laws.given.as_law`)."""
SystemGiven: TypeAlias = Any
"""Whatever `machine.given` takes for a plant, a model or a linear plant, or refuses in words."""
LoopGiven: TypeAlias = Any
"""Something to close a loop with: a law, a linear plant, a frequency response."""
Matrix: TypeAlias = Any
"""An array, nested lists or a sparse matrix."""
MaybeNan: TypeAlias = float
"""A number, NaN where it is not known or there is none. Any other `float` is a known one."""


EVERY_STEP = frozenset({
    "step", "initial", "initial_at", "mass", "force", "input_matrix", "output", "output_tangent", "tangent", "energy",
    "closure", "closure_jacobian", "closure_bias", "closure_turn", "assumptions", "pressed", "stepper",
})
"""Methods that a run calls in every step or control period: they are not checked."""
CHECKED = "_checks_kinds"
"""Attribute of a function that checks its arguments."""


class Kind(NamedTuple):
    """The things that an argument may be: a test, and the words for one of them."""

    fits: Callable[[Any], bool]
    words: str
    several: str = ""
    needs: tuple[str, ...] = ()
    """Attributes of a protocol."""

    @property
    def plural(self) -> str:
        """The words for several of them."""
        return self.several or self.words


def _is_number(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim == 0 and value.dtype.kind in "fiu"
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_known_number(value: Any) -> bool:
    return _is_number(value) and not math.isnan(value)


def _is_whole(value: Any) -> bool:
    return _is_number(value) and float(value).is_integer()


def _is_array(value: Any) -> bool:
    if isinstance(value, str | bytes | Mapping | None):
        return False
    try:
        return np.asarray(value).dtype.kind in "biufc"
    except ValueError:  # rows of different lengths
        return False


def _is_real_array(value: Any) -> bool:
    return _is_array(value) and np.asarray(value).dtype.kind != "c"


def _is_matrix(value: Any) -> bool:
    sparse = sys.modules.get("scipy.sparse")
    return _is_array(value) or (sparse is not None and bool(sparse.issparse(value)))


def _is_row(value: Any) -> bool:
    """Whether a value has an order and a length: no text, no mapping, no set, no array of one number."""
    if isinstance(value, np.ndarray):
        return bool(value.ndim)
    without = isinstance(value, str | bytes | Mapping | Set)
    return isinstance(value, Sized) and isinstance(value, Iterable) and not without


def _public(name: str) -> Any:
    return getattr(sys.modules["flexctl"], name)


def _is_a(name: str) -> Callable[[Any], bool]:
    """Return whether a value is an instance of a public class, or has what a public protocol lists."""
    return lambda value: not isinstance(value, type) and isinstance(value, _public(name))


def _acts(value: Any) -> bool:
    """Whether a value is a law, or a linear system, which is one by its signals."""
    system = type(value).__module__.partition(".")[0] == "control"
    return system or isinstance(value, _public("FirstOrder")) or _is_a("Controller")(value)


LAW = "a control law (fx.LinearLaw, or what a design such as fx.lqg returns)"
STEPS = ("sample_time", "measures", "drives", "follows", "initial", "step")
MOVES = ("duration", "target", "breakpoints", "__call__")
ANYTHING = Kind(lambda value: True, "")
PATH = Kind(lambda value: isinstance(value, os.PathLike), "a path", "paths")
NUMBERS = Kind(_is_array, "an array of real numbers", "arrays of real numbers")
KINDS: dict[str, Kind] = {
    "Any": ANYTHING, "object": ANYTHING,
    # `machine.given` takes these apart and refuses the rest in its own words
    **dict.fromkeys(("ModelGiven", "LinearGiven", "ArmGiven", "SystemGiven", "LoopGiven", "Plant"), ANYTHING),
    "float": Kind(_is_known_number, "a real number", "real numbers"),
    "MaybeNan": Kind(_is_number, "a real number", "real numbers"),
    "complex": Kind(lambda value: isinstance(value, Number) and not isinstance(value, bool), "a number", "numbers"),
    "int": Kind(_is_whole, "a whole number", "whole numbers"),
    "bool": Kind(lambda value: isinstance(value, bool | np.bool_), "True or False", "True or False each"),
    "str": Kind(lambda value: isinstance(value, str), "a text", "texts"),
    "None": Kind(lambda value: value is None, "None"),
    "Callable": Kind(callable, "a function", "functions"),
    "ModuleType": Kind(lambda value: isinstance(value, ModuleType), "a module", "modules"),
    **dict.fromkeys(("FloatArray", "NDArray", "ndarray"), NUMBERS),
    "ArrayLike": NUMBERS._replace(fits=_is_real_array),
    "ComplexArray": Kind(_is_array, "an array of numbers", "arrays of numbers"),
    "Matrix": Kind(_is_matrix, "a matrix", "matrices"),
    "LawGiven": Kind(_acts, LAW, needs=STEPS),
    "AnyLaw": Kind(_is_a("Controller"), LAW, needs=STEPS),
    "Motion": Kind(_is_a("Motion"), "a motion (fx.quintic, fx.Trapezoid, ..)", "motions (fx.quintic, ..)", MOVES),
    "InputSignal": Kind(_is_a("InputSignal"), "an input over time (fx.bang_bang, fx.Sine, ..)", "inputs over time"),
    "Curve": Kind(_is_a("Curve"), "a curve (fx.Circle, fx.Polyline, fx.Spline)", "curves"),
    "Track": Kind(_is_a("Track"), "fx.Track(arm, path)"),
    "Response": Kind(_is_a("Response"), "a run (what fx.simulate returns)", "runs (what fx.simulate returns)"),
}
"""Names that annotations use; any other is that of a class and means its instances."""


def _of_class(name: str) -> Kind:
    """Return the kind of the instances of a class, which need not be imported yet: none of them exists before."""
    if name in _public("__all__"):
        if getattr(_public(name), "_is_protocol", False):
            return Kind(_is_a(name), f"fx.{name}")
        name_in_words = f"fx.{name}"
    else:
        name_in_words = f"{'an' if name.startswith(tuple('AEIOU')) else 'a'} {name}"
    return Kind(
        lambda value: any(c.__name__ == name and c.__module__.startswith("flexctl") for c in type(value).__mro__),
        name_in_words,
    )


def _any_of(kinds: list[Kind]) -> Kind:
    if any(kind is ANYTHING for kind in kinds):
        return ANYTHING
    one, more = (" or ".join(dict.fromkeys(getattr(kind, what) for kind in kinds)) for what in ("words", "plural"))
    needs = next((kind.needs for kind in kinds if kind.needs), ())
    return Kind(lambda value: any(kind.fits(value) for kind in kinds), one, more, needs)


def _row_of(kind: Kind) -> Kind:
    def fits(value: Any) -> bool:
        alike = isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "fiu"
        return _is_row(value) and all(map(kind.fits, value[:1] if alike else value))

    return _row_words(kind, fits)


def _each_of(kind: Kind) -> Kind:
    """Return the kind of whatever can be gone through once; only what has a length is looked into."""

    def fits(value: Any) -> bool:
        if isinstance(value, str | bytes) or (isinstance(value, np.ndarray) and value.ndim == 0):
            return False
        return isinstance(value, Iterable) and (not isinstance(value, Sized) or all(map(kind.fits, value)))

    return _row_words(kind, fits)


def _row_words(kind: Kind, fits: Callable[[Any], bool]) -> Kind:
    inside = f" of {kind.plural}" if kind.words else ""
    return Kind(fits, f"a sequence{inside}", f"sequences{inside}", kind.needs)


def _these(kinds: list[Kind]) -> Kind:
    def fits(value: Any) -> bool:
        return _is_row(value) and len(value) == len(kinds) and all(k.fits(v) for k, v in zip(kinds, value, strict=True))

    alike = len({kind.words for kind in kinds}) == 1
    words = f"{len(kinds)} {kinds[0].plural}" if alike else f"({', '.join(kind.words for kind in kinds)})"
    return Kind(fits, words, f"{words} each")


def _table_of(key: Kind, value: Kind) -> Kind:
    def fits(given: Any) -> bool:
        return isinstance(given, Mapping) and all(key.fits(k) and value.fits(v) for k, v in given.items())

    inside = f" from {key.plural} to {value.plural}" if key.words and value.words else ""
    return Kind(fits, f"a mapping{inside}", f"mappings{inside}", value.needs)


class Reader:
    """Reads annotations.

    Parameters
    ----------
    known : mapping
        The names of the module in which they stand.
    nan : bool
        Whether NaN is a number: in results, where it means unknown. Within sequences and mappings it always is.
    checked : bool
        Whether numbers, texts and flags that state their bounds are checked elsewhere (`machine.schema`).
    """

    def __init__(self, known: Mapping[str, Any], nan: bool, checked: bool) -> None:
        self.known, self.nan, self.checked = known, nan, checked

    def kind(self, annotation: str) -> Kind:
        """Return the kind that an annotation states."""
        return self._read(ast.parse(annotation.strip(), mode="eval").body)

    def _read(self, node: ast.expr) -> Kind:
        match node:
            case ast.BinOp():
                return _any_of([self._read(node.left), self._read(node.right)])
            case ast.Constant(value=str(text)):
                return self.kind(text)
            case ast.Constant():
                return KINDS["None"]
            case ast.Subscript():
                inside = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
                return self._subscripted(_last(node.value), inside)
        module = self.known.get(ast.unparse(node.value)) if isinstance(node, ast.Attribute) else None
        name = _last(node)
        return self._named(name, vars(module).get(name) if isinstance(module, ModuleType) else self.known.get(name))

    def _named(self, name: str, meant: Any) -> Kind:
        if (meant is None and name == "Path") or meant is Path:  # else it is `fx.Path`
            return PATH
        if name in KINDS:
            return KINDS[name]._replace(fits=_is_number) if name == "float" and self.nan else KINDS[name]
        if name in ("Mapping", "dict"):
            return _table_of(ANYTHING, ANYTHING)
        if name in ("Sequence", "tuple", "list"):
            return _row_of(ANYTHING)
        if meant is not None and not isinstance(meant, type):  # a name for a longer annotation
            return self.kind(str(meant))
        if meant is not None and not meant.__module__.startswith("flexctl"):
            return Kind(lambda value: isinstance(value, meant), f"a {name}")
        return _of_class(name)

    def _subscripted(self, name: str, inside: list[ast.expr]) -> Kind:
        if name == "Annotated":
            plain = self.checked and ast.unparse(inside[0]) in ("float", "int", "str", "bool", "tuple[float, ...]")
            return ANYTHING if plain else self._read(inside[0])
        if name not in ("Iterable", "Mapping", "Optional", "Sequence", "Union", "dict", "list", "tuple"):
            return KINDS.get(name, ANYTHING)
        endless = isinstance(inside[-1], ast.Constant) and inside[-1].value is ...
        within = self if name in ("Optional", "Union") else Reader(self.known, True, self.checked)
        kinds = [within._read(node) for node in inside[: len(inside) - endless]]
        if name in ("Mapping", "dict"):
            return _table_of(*kinds)
        if name in ("Optional", "Union"):
            return _any_of([*kinds, KINDS["None"]] if name == "Optional" else kinds)
        if name == "tuple" and not endless:
            return _these(kinds)
        return _each_of(*kinds) if name == "Iterable" else _row_of(*kinds)


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else ast.unparse(node)


class Argument(NamedTuple):
    """An argument of a function."""

    name: str
    kind: Kind
    missing: Any = inspect.Parameter.empty
    """Its default, which always fits."""

    def fits(self, value: Any) -> bool:
        """Whether a value is of its kind."""
        return value is self.missing or self.kind.fits(value)


class Taken:
    """The arguments of a function, by place and by name."""

    def __init__(self, function: Callable[..., Any], nan: bool = False, checked: bool = False) -> None:
        self.placed: list[Argument] = []
        self.named: dict[str, Argument] = {}
        self.more: Argument | None = None
        """Of ``*laws`` each one."""
        self.rest: Argument | None = None
        """Of ``**options`` each one."""
        for at in inspect.signature(function).parameters.values():
            unknown = isinstance(at.default, float) and math.isnan(at.default)
            reader = Reader(function.__globals__, nan or unknown, checked)
            kind = ANYTHING if at.annotation is at.empty else reader.kind(_text(at.annotation))
            self._add(at, Argument(at.name, kind, at.default))

    def _add(self, at: inspect.Parameter, argument: Argument) -> None:
        if at.kind is at.VAR_POSITIONAL:
            self.more = argument
        elif at.kind is at.VAR_KEYWORD:
            self.rest = argument
        else:
            self.named[at.name] = argument
            self.placed += [argument] if at.kind is not at.KEYWORD_ONLY else []

    def unknown(self, options: Mapping[str, Any]) -> str | None:
        """Return the first keyword that there is not."""
        return None if self.rest else next((name for name in options if name not in self.named), None)

    def wrong(self, args: tuple[Any, ...], options: Mapping[str, Any]) -> tuple[Argument, Any] | None:
        """Return the first argument that is not of its kind, and what was given for it."""
        for argument, value in zip(self.placed, args, strict=False):
            if not argument.fits(value):
                return argument, value
        for value in args[len(self.placed) :]:
            if self.more and not self.more.fits(value):
                return self.more, value
        for name, value in options.items():
            found = self.named.get(name, self.rest)
            if found and not found.fits(value):
                return found._replace(name=name), value
        return None


def _text(annotation: Any) -> str:
    if isinstance(annotation, type):
        return annotation.__name__
    return str(getattr(annotation, "__forward_arg__", annotation))


def refusal(public: str, documented: Any, argument: Argument, value: Any) -> DefinitionError:
    """Return the error for an argument of the wrong kind: what was given, what is taken, what it means."""
    shown = " ".join(repr(value).split())
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    given = shown if value is None else f"{shown} ({type(value).__name__})"
    if isinstance(value, float) and math.isnan(value):
        return DefinitionError(f"{argument.name} = nan of fx.{public} is not a number; give {argument.kind.words}")
    lacking = [name for name in argument.kind.needs if name not in dir(value)]
    some = 0 < len(lacking) < len(argument.kind.needs)
    lacks = f"; it lacks {', '.join(lacking)}" if some else ""
    entry = rf"^ *(?:\w+, )*{argument.name}(?:, \w+)*(?: :.*)?\n((?: {{4,}}\S.*\n?)+)"
    said = re.search(entry, inspect.getdoc(documented) or "", re.MULTILINE)
    sentence = re.split(r"[.](?: |$)", " ".join(said[1].split()))[0] if said else ""
    meaning = f" ({textwrap.shorten(sentence, 150, placeholder=' ..')})" if sentence else ""
    single = isinstance(value, str | int | float) and argument.kind.fits((value,))
    remedy = f"{argument.kind.words}{meaning}{lacks}" + (f"; write {(value,)!r}" if single else "")
    return DefinitionError(f"{argument.name} = {given} is of the wrong kind for fx.{public}: give {remedy}")


class UnknownKeyword(DefinitionError, TypeError):
    """A keyword that a function does not have; also the TypeError that Python would raise."""


def unknown_keyword(public: str, word: str, taken: Taken) -> UnknownKeyword:
    """Return the error for a keyword that a public function does not have."""
    known = [name for name in taken.named if name not in ("self", "cls", "_cls")]
    now = ARGUMENTS.get((public, word))
    if now in known:
        return UnknownKeyword(f"fx.{public} has no argument {word!r}: it is now {now!r}")
    return UnknownKeyword(f"fx.{public} has no argument {word!r}{did_you_mean(word, known)}; it takes {listed(known)}")


def guarded(thing: Any, public: str, home: str = "flexctl") -> Any:
    """Return a public function that refuses arguments of the wrong kind; a class, which then does the same.

    Parameters
    ----------
    thing : object
        What is public; anything but a function and a class is returned as it is.
    public : str
        Its name in `fx`, by which errors call it.
    home : str
        The module of which it is an attribute, where pickle finds it.
    """
    if inspect.isfunction(thing):
        found = _checking(thing, thing, public)
        found.__module__, found.__qualname__ = home, public.rpartition(".")[2]
        return found
    if _is_plain_class(thing):
        guard_methods(thing)
        maker = "__new__" if "__new__" in vars(thing) else "__init__"
        made = getattr(thing, maker)
        if inspect.isfunction(made):
            setattr(thing, maker, _checking(made, thing, public))
    return thing


def _is_plain_class(thing: Any) -> bool:
    protocol = getattr(thing, "_is_protocol", False)
    return inspect.isclass(thing) and not issubclass(thing, BaseException) and not protocol


def _as_called(public: str, args: tuple[Any, ...]) -> str:
    """Return the name of a method with the class of its object, which may have inherited it."""
    owner = args[0] if args and isinstance(args[0], type) else type(args[0]) if args else None
    method = public.rpartition(".")[2]
    if owner is not None and method == "__call__":
        return f"{owner.__name__}(...)"  # an object that is called, as a motion is with times
    return f"{owner.__name__}.{method}" if owner is not None and hasattr(owner, method) else public


def guard_methods(cls: type) -> None:
    """Let the public methods of a class and its calls, inherited ones too, refuse arguments of the wrong kind."""
    for owner in cls.__mro__:
        if not owner.__module__.startswith("flexctl.") or getattr(owner, "_is_protocol", False):
            continue
        for name, member in list(vars(owner).items()):
            function = getattr(member, "__func__", member)  # of a classmethod or staticmethod
            takes = inspect.isfunction(function) and function.__code__.co_varnames[:2] not in ((), ("self",), ("cls",))
            own = name.startswith("_") and name != "__call__"
            if own or name in EVERY_STEP or not takes or hasattr(function, CHECKED):
                continue
            checking = _checking(function, function, f"{cls.__name__}.{name}", method=True)
            setattr(owner, name, checking if function is member else type(member)(checking))


def _checking(function: Callable[..., Any], documented: Any, public: str, method: bool = False) -> Callable[..., Any]:
    """Return the function behind a check of its arguments; a method is checked where it is called from outside."""
    taken: Taken | None = None  # made by the first call: most names are never called

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        nonlocal taken
        if method and sys._getframe(1).f_globals.get("__name__", "").startswith("flexctl."):
            return function(*args, **options)
        if taken is None:
            result = isinstance(documented, type) and issubclass(documented, Tabular)
            taken = Taken(function, result, is_dataclass(documented))
        if unknown := taken.unknown(options):
            raise unknown_keyword(_as_called(public, args) if method else public, unknown, taken)
        if wrong := taken.wrong(args, options):
            raise refusal(_as_called(public, args) if method else public, documented, *wrong)
        return function(*args, **options)

    setattr(call, CHECKED, True)
    return call
