"""Copies and products of small arrays in compiled code.

An assignment `out[:] = x` of an array compiles a message about shapes, with strings: 1.4 s in every process that
compiles one. These loops take 0.05 s and run as fast; lengths must agree.
"""

from __future__ import annotations

from .jit import kernel


@kernel(fastmath=False)
def row_sum(total, A, i, x):
    """Continue a running sum by row i of a matrix times a vector, from left to right."""
    for j in range(x.size):
        total += A[i, j] * x[j]
    return total


@kernel
def put(x, out):
    """Copy a vector."""
    for i in range(out.size):
        out[i] = x[i]


@kernel
def put_matrix(x, out):
    """Copy a matrix."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = x[i, j]
