"""A large function that several entries call: compiled once, by itself, and called by its name in machine code.

`parts` are called by an address that is known where the loop runs; what is called here is known when its caller is
compiled. The caller names it among what it needs (`jit.entry`), so that it is there before the caller is loaded.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm  # type: ignore[import-untyped]
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

from .contents import CALLS, Contents
from .jit import Entry, kernel
from .pointers import begin_of
from .tables import INSIDE


def named(part: Entry, itself: Any) -> Any:
    """Return a kernel that calls an entry of eight arguments which returns nothing.

    Parameters
    ----------
    part : Entry
        What is called. Those that call it have it among their `needs`.
    itself : compiled function
        What the entry does, for C code.
    """
    if config.DISABLE_JIT:
        return itself
    symbol, given = f"flexctl_{Contents(part.py_func).digest()[:32]}", part.signature  # type: ignore[arg-type]

    @intrinsic
    def call(context: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any) -> Any:
        def code(target: Any, builder: Any, signature: Any, values: Any) -> Any:
            kind = ir.FunctionType(ir.VoidType(), [target.get_value_type(argument) for argument in given.args])
            builder.call(cgutils.get_or_insert_function(builder.module, kind, symbol), values)
            return target.get_dummy_value()

        return types.void(*given.args), code

    @kernel(**INSIDE)
    def called(a, b, c, d, e, f, g, h):
        """Call it."""
        call(a, b, c, d, e, f, g, h)

    def ready() -> None:
        llvm.add_symbol(symbol, begin_of(part))

    part.ready = ready
    setattr(called.py_func, CALLS, itself)
    return called
