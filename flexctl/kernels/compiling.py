"""Work that numba may skip while an entry is compiled: more than half of its time.

* Helpers are not optimised by themselves, and no machine code is made of those that Python cannot call: that is done
  once, of the entry with everything in it.
* Which operator takes which types is looked for once a process, not once an expression.
* Options of compilation are the same where what was set is the same; numba compares all of them, thirty thousand times.
* A helper is compiled once for all whole numbers and truth values it is called with, not once for each constant.
* The helpers of an entry are its own, so that those that are called once need not be kept beside it.
* Python's search for garbage rests: a compiler keeps nearly all that it makes.
* What the passes over a function do to each of its expressions, tens of thousands of times, is done in a shorter way
  (`shorter`).

All of it happens within `inside` alone, under numba's compiler lock. These are private names of numba: where one is
missing, the code is compiled in full.
"""

from __future__ import annotations

import contextlib
import gc
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

WRAPPER = "_ZN7cpython"
"""Prefix of the names of what Python calls, in machine code."""

LARGE = 10
"""Blocks of a helper that is not made a part of `glue`."""

_entries: list[str] = []
"""Names of the entries that are being compiled: one, and those that it calls."""
_glue: set[str] = set()
"""Those that do little but call others."""
_signatures: dict[Any, Any] = {}
"""Result of an operator for types that were met before."""


@contextlib.contextmanager
def inside(name: str, *, glue: bool = False) -> Iterator[None]:
    """Compile an entry of this name, and what it calls; `glue`: it does little but call others."""
    _entries.append(name)
    if glue:
        _glue.add(name)
    try:
        if len(_entries) > 1:
            yield
            return
        with contextlib.ExitStack() as stack:
            try:
                redirect(stack)
            except (ImportError, AttributeError):  # another numba
                stack.close()
            if gc.isenabled():
                gc.disable()
                stack.callback(gc.enable)
            yield
    finally:
        _glue.discard(_entries.pop())


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Let what a signal raises within come out: LLVM calls back into Python, where it would be swallowed.

    The code is then lacking in part, and numba would fail on that in place of it.
    """
    raised: list[BaseException] = []

    def noting(handler: Any) -> Any:
        def note(number: int, frame: FrameType | None) -> None:
            try:
                handler(number, frame)
            except BaseException as error:
                raised.append(error)
                raise

        return note

    main = threading.current_thread() is threading.main_thread()  # no other may set handlers
    found = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)} if main else {}
    kept = {number: handler for number, handler in found.items() if callable(handler)}
    for number, handler in kept.items():
        signal.signal(number, noting(handler))
    try:
        yield
    except Exception:
        if not raised:
            raise
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
    if raised:
        raise raised[0] from None


def redirect(stack: contextlib.ExitStack) -> None:
    """Let numba skip, until the stack is closed, what is not needed."""
    from numba.core.codegen import CPUCodeLibrary, JITCPUCodegen
    from numba.core.targetconfig import TargetConfig
    from numba.core.types.functions import BaseFunction, Dispatcher

    from . import shorter

    for owner, name, replaced in (
        (CPUCodeLibrary, "_optimize_functions", _untouched(CPUCodeLibrary._optimize_functions)),
        (CPUCodeLibrary, "_optimize_final_module", _optimised(CPUCodeLibrary._optimize_final_module)),
        (CPUCodeLibrary, "_finalize_final_module", _finished(CPUCodeLibrary)),
        (JITCPUCodegen, "set_env", _env_set(JITCPUCodegen.set_env)),
        (TargetConfig, "__eq__", _same(TargetConfig.__eq__)),
        (TargetConfig, "__hash__", _one_hash),
        (BaseFunction, "get_call_type", _remembered(BaseFunction.get_call_type)),
        (Dispatcher, "get_call_type", _any_number(Dispatcher.get_call_type)),
        *shorter.replaced(),
    ):
        stack.callback(setattr, owner, name, getattr(owner, name))
        setattr(owner, name, replaced)


def _untouched(optimise: Any) -> Any:
    def untouched(library: Any, module: Any) -> None:
        if any(function.name.startswith("NRT_") for function in module.functions):
            optimise(library, module)  # it makes arrays: else nobody sees that these cannot overlap
        else:
            module.data_layout = library._codegen._data_layout

    return untouched


def _optimised(optimise: Any) -> Any:
    def optimised(library: Any) -> None:
        if library.name not in _entries:
            return
        for function in library._final_module.functions:
            if not function.is_declaration and function.linkage.name == "linkonce_odr":
                function.linkage = "internal"
        if library.name in _glue:
            _keep_apart(library._final_module)
        optimise(library)

    return optimised


def _keep_apart(module: Any) -> None:
    """Let helpers of some size stay functions, in which loops take several numbers at a time; the entry be short."""
    for function in module.functions:
        if function.is_declaration:
            continue
        if function.linkage.name != "internal":
            function.add_function_attribute("optsize")
        elif sum(1 for _ in function.blocks) >= LARGE:
            function.add_function_attribute("noinline")


def _any_number(get_call_type: Any) -> Any:
    from numba.core.types import BooleanLiteral, IntegerLiteral
    from numba.core.types.misc import unliteral

    def any_number(dispatcher: Any, context: Any, args: Any, kws: Any) -> Any:
        plain = (unliteral(a) if isinstance(a, BooleanLiteral | IntegerLiteral) else a for a in args)
        return get_call_type(dispatcher, context, tuple(plain), kws)

    return any_number


def _finished(kind: Any) -> Any:
    finish, dynamic = kind._finalize_final_module, kind._finalize_dynamic_globals

    def finished(library: Any) -> None:
        python = any(f.name.startswith(WRAPPER) and not f.is_declaration for f in library._final_module.functions)
        if library.name in _entries or python:
            finish(library)
        else:
            dynamic(library)
            library._finalized = True

    return finished


def _env_set(set_env: Any) -> Any:
    def env_set(codegen: Any, name: str, env: Any) -> None:
        if codegen._engine.is_symbol_defined(name):
            set_env(codegen, name, env)

    return env_set


def _same(equal: Any) -> Any:
    def same(options: Any, other: Any) -> Any:
        if options is other or (type(options) is type(other) and options._values == other._values):
            return True
        return equal(options, other)

    return same


def _one_hash(options: Any) -> int:
    """Return the same for all options of a kind, as numba does in a longer way: it hashes their names alone."""
    return hash(type(options).__name__)


def _remembered(get_call_type: Any) -> Any:
    from numba.core import types
    from numba.core.targetconfig import ConfigStack

    plain = (types.Number, types.Boolean, types.Array, types.Literal)

    def remembered(function: Any, context: Any, args: Any, kws: Any) -> Any:
        if type(function) is not types.Function or kws or not all(isinstance(a, plain) for a in args):
            return get_call_type(function, context, args, kws)
        flags = ConfigStack.top_or_none()
        key = function, context, tuple(args), None if flags is None else tuple(map(str, flags._values.items()))
        known = _signatures.get(key)
        if known is None or known.args not in vars(function)["_impl_keys"]:
            known = _signatures[key] = get_call_type(function, context, args, kws)
        return known

    return remembered
