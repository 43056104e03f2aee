"""Compiled functions that are called by their address: a run compiles those that it needs, whatever loop calls them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from types import FunctionType
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir  # type: ignore[import-untyped]
from numba import int64, types
from numba.core.errors import NumbaError
from numba.extending import intrinsic, typeof_impl

from ..model import FloatArray
from .jit import Entry, kernel
from .tables import LAW, MAT, VEC

IntArray = npt.NDArray[np.int64]
OWN = types.void(LAW, int64, VEC, VEC, MAT, VEC)
"""own(law, k, readings, r, memory, command): one period of a law that is not a linear one; fills the command."""


def address(function: Entry) -> int:
    """Return where an entry of signature `OWN` begins; 0 where nothing is compiled (NUMBA_DISABLE_JIT)."""
    if function.signature != OWN:
        raise TypeError(f"{function!r} is not of the signature {OWN}")
    return begin_of(function)


@cache
def begin_of(function: Entry) -> int:
    """Return where an entry begins for compiled code that calls it by its address; 0 where nothing is compiled."""
    dispatcher = function.load()
    if isinstance(dispatcher, FunctionType):
        return 0
    made = dispatcher.overloads[function.signature.args]
    return int(made.library.get_pointer_to_function(made.fndesc.llvm_cfunc_wrapper_name))


class Pointer(np.int64):
    """Where a compiled function begins, as a group holds it (`groups`); in Python it is called as the function is.

    A number of NumPy: numba then knows a group that it has seen before at once, and need not go through its fields.
    """

    function: Any
    kind: types.FunctionType

    def __call__(self, *arguments: Any) -> Any:
        """Call the function."""
        return self.function(*arguments)


@cache
def pointer(function: Any, kind: types.FunctionType) -> Pointer:
    """Return where a compiled function of a signature begins; 0 where nothing is compiled (NUMBA_DISABLE_JIT)."""
    dispatcher = function.load() if isinstance(function, Entry) else function
    begin = 0
    if not isinstance(dispatcher, FunctionType):
        try:
            made = dispatcher.get_compile_result(kind.signature)
        except NumbaError as error:
            raise TypeError(f"{function!r} is not of the signature {kind.signature}") from error
        if made.signature.return_type != kind.signature.return_type:
            raise TypeError(f"{function!r} returns {made.signature.return_type}, not {kind.signature.return_type}")
        begin = made.library.get_pointer_to_function(made.fndesc.llvm_func_name)
    found = Pointer(begin)
    found.function, found.kind = dispatcher, kind
    return found


@typeof_impl.register(Pointer)
def _type_of(value: Pointer, context: Any) -> Any:
    return value.kind


@intrinsic
def call_own(context: Any, where: Any, law: Any, k: Any, y: Any, r: Any, memory: Any, command: Any) -> Any:
    """Call the function of signature `OWN` at an address."""

    def code(target: Any, builder: Any, signature: Any, given: Any) -> Any:
        kinds = [target.get_value_type(kind) for kind in OWN.args]
        kind = ir.FunctionType(target.get_value_type(OWN.return_type), kinds)
        builder.call(builder.inttoptr(given[0], kind.as_pointer()), given[1:])
        return target.get_dummy_value()

    return types.void(int64, *OWN.args), code


def packed(arrays: Sequence[npt.ArrayLike]) -> tuple[FloatArray, IntArray]:
    """Return matrices (a vector is a row) one behind the other, and rows, columns and begin of each."""
    matrices = [np.atleast_2d(np.asarray(array, float)) for array in arrays]
    begins = np.cumsum([0, *(m.size for m in matrices)])[:-1]
    places = [number for m, begin in zip(matrices, begins, strict=True) for number in (*m.shape, int(begin))]
    return np.concatenate([m.ravel() for m in matrices]), np.array(places, np.int64)


@kernel
def view(more, places, number):
    """Matrix of `packed` without a copy."""
    rows, columns, begin = places[3 * number], places[3 * number + 1], places[3 * number + 2]
    return more[begin : begin + rows * columns].reshape((rows, columns))
