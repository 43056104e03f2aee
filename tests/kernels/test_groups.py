"""Groups of arrays in compiled code: what is read, written, handed on and refused."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numba import boolean, complex128, float32, float64, int64, types

from flexctl.kernels.groups import Group, group
from flexctl.kernels.jit import entry, kernel
from flexctl.kernels.pointers import pointer

rng = np.random.default_rng(3)


class Inner(NamedTuple):
    """Arrays of every kind."""

    row: np.ndarray
    table: np.ndarray
    columns: np.ndarray
    every_other: np.ndarray
    waves: np.ndarray


class Outer(NamedTuple):
    """Numbers and a group."""

    weight: float
    number: int
    yes: bool
    inner: Inner


INNER = group((float64[::1], float64[:, ::1], float64[::1, :], int64[:], complex128[:, :, ::1]), Inner)
OUTER = group((float64, int64, boolean, INNER), Outer)


def made(yes: bool) -> Outer:
    """Return a group with random arrays."""
    waves = rng.standard_normal((2, 3, 4)) + 1j * rng.standard_normal((2, 3, 4))
    inner = Inner(
        rng.standard_normal(5), rng.standard_normal((2, 3)), np.asfortranarray(rng.standard_normal((4, 2))),
        np.arange(10)[::2], waves,
    )
    return Outer(0.5, -3, yes, inner)


@kernel
def weighted(table):
    """Return a sum in which no entry can take the place of another one."""
    total, count = 0.0, 1.0
    for i in range(table.shape[0]):
        for j in range(table.shape[1]):
            total, count = total + count * table[i, j], count + 1.0
    return total


@kernel
def everything(inner):
    """Return a sum in which no entry can take the place of another one."""
    total, count = 0.0, 1.0
    for i in range(inner.row.size):
        total, count = total + count * inner.row[i], count + 1.0
    for i in range(inner.every_other.size):
        total, count = total + count * inner.every_other[i], count + 1.0
    for wave in inner.waves.flat:
        total, count = total + count * wave.real - wave.imag / count, count + 1.0
    total += weighted(inner.table) - weighted(inner.columns)
    return total + inner.table[1].sum() + inner.columns[:, 1].sum() + inner.waves[1, 2, 3].real


@entry(float64(OUTER))
def read(outer):
    """Numbers, and what a helper makes of the inner group."""
    weight, number, _, inner = outer
    return weight * number + everything(inner) if outer.yes else -everything(outer[3]) + outer[1]


@pytest.mark.parametrize("yes", [True, False])
def test_reads_as_python_does(yes):
    for _ in range(3):
        outer = made(yes)
        assert read(outer) == pytest.approx(read.py_func(outer), rel=1e-12)


def test_of_two_groups_of_one_kind_each_is_read():
    """The place of a group in memory may be that of the one before."""
    groups = [made(True) for _ in range(20)]
    assert [read(g) for g in groups] == pytest.approx([read.py_func(g) for g in groups], rel=1e-12)


@entry(types.void(INNER, int64))
def shift(inner, times):
    """Write to what is read."""
    for _ in range(times):
        for i in range(inner.row.size - 1):
            inner.row[i] += inner.row[i + 1]
        inner.table[0, 0] = inner.table[0, 0] + inner.row[0]


def test_what_is_written_is_read_again():
    inner = made(True).inner
    other = Inner(*(field.copy() for field in inner))
    shift(inner, 7)
    shift.py_func(other, 7)
    for field, expected in zip(inner, other, strict=True):
        assert np.array_equal(field, expected)


def test_empty_arrays():
    inner = made(True).inner._replace(row=np.zeros(0), table=np.zeros((2, 0)), waves=np.zeros((0, 3, 4), complex))
    shift(inner._replace(table=np.zeros((1, 1)), row=np.ones(1)), 3)
    assert Group(INNER.types, Inner) == INNER
    assert inner.row.size == 0


def test_other_arrays_are_refused():
    with pytest.raises(TypeError, match="No matching definition"):
        read(made(True)._replace(weight="heavy"))
    inner = made(True).inner
    with pytest.raises(TypeError, match="No matching definition"):
        shift(inner._replace(row=inner.row.astype(np.float32)), 1)


def test_only_words_of_eight_bytes():
    class Small(NamedTuple):
        x: float

    with pytest.raises(TypeError, match="cannot hold float32"):
        group((float32,), Small)


class Able(NamedTuple):
    """A function and a number."""

    change: object
    weight: float


CHANGE = types.FunctionType(types.float64(types.float64, types.float64))
ABLE = group((CHANGE, float64), Able)


@entry(CHANGE.signature)
def add(x, y):
    """Return the sum."""
    return x + y


@entry(CHANGE.signature)
def take(x, y):
    """Return the difference."""
    return x - y


@entry(float64(ABLE, float64))
def changed(able, x):
    """Call the function of the group."""
    return able.change(x, able.weight)


def test_a_group_holds_functions_by_their_addresses() -> None:
    """One loop serves all functions of a signature; Python calls them by what the group holds."""
    for function, wanted in ((add, 5.5), (take, 2.5), (add, 5.5)):
        able = Able(pointer(function, CHANGE), 1.5)
        assert changed(able, 4.0) == wanted
        assert able.change(4.0, 1.5) == wanted


def test_a_function_of_another_signature_is_refused() -> None:
    @entry(float64(float64))
    def half(x):
        return 0.5 * x

    with pytest.raises(TypeError, match="signature"):
        pointer(half, CHANGE)
