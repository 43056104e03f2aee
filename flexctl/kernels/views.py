"""Parts of a row of numbers as arrays, without the care that numba takes of slices.

A slice is a hundred instructions, which see to negative and to too large bounds; scratch that is cut into thirty arrays
was two fifths of what the compiler had to read. Bounds are not looked at here: who cuts knows how long the row is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import complex128, config, int64, types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

from .contents import CALLS
from .tables import MAT, VEC

CVEC = complex128[::1]


def _cut(result: Any, lengths: slice) -> Any:
    """Return what makes an array of a type, whose lengths are given behind the row and where it begins."""

    def code(target: Any, builder: Any, signature: Any, given: Any) -> Any:
        row = make_array(signature.args[0])(target, builder, given[0])
        kind = target.get_data_type(result.dtype)
        size = target.get_abi_sizeof(kind)
        data = builder.bitcast(builder.gep(row.data, [given[1]], inbounds=True), kind.as_pointer())
        shape = list(given[lengths])
        steps = [target.get_constant(types.intp, size)]
        for length in shape[:0:-1]:
            steps.insert(0, builder.mul(steps[0], length))
        array = make_array(result)(target, builder)
        populate_array(array, data, shape, steps, target.get_constant(types.intp, size), None)
        return array._getvalue()

    return code


@intrinsic
def part(context: Any, row: Any, start: Any, size: Any) -> Any:
    """Return row[start : start + size]."""
    return VEC(VEC, int64, int64), _cut(VEC, slice(2, 3))


@intrinsic
def square(context: Any, row: Any, start: Any, size: Any) -> Any:
    """Return the matrix of so many rows and columns that begins there."""
    return MAT(VEC, int64, int64), _square


def _square(target: Any, builder: Any, signature: Any, given: Any) -> Any:
    return _cut(MAT, slice(2, 4))(target, builder, signature, [*given, given[2]])


@intrinsic
def complex_part(context: Any, row: Any, start: Any, size: Any) -> Any:
    """Return so many complex numbers, two entries of the row each, that begin there."""
    return CVEC(VEC, int64, int64), _cut(CVEC, slice(2, 3))


def _part(row, start, size):
    return row[start : start + size]


def _matrix(row, start, size):
    return row[start : start + size * size].reshape((size, size))


def _complex_part(row, start, size):
    return row[start : start + 2 * size].view(np.complex128)


for _view, _text in ((part, _part), (square, _matrix), (complex_part, _complex_part)):
    setattr(_view, CALLS, _text)  # what C code is written from
if config.DISABLE_JIT:
    part, square, complex_part = _part, _matrix, _complex_part
