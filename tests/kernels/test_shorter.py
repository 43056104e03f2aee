"""Numba's passes done in a shorter way: whatever a function holds, it is compiled to the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest
from numba.core import typed_passes, untyped_passes

from flexctl.kernels.compiling import inside


def loops(x):
    """Variables with several definitions, on some ways alone, and used before they are defined again."""
    total, last = 0.0, 0.0
    for i in range(x.size):
        if i == 0:
            before = x[i]
        else:
            total += before * last
            if total > 5.0:
                last = -last
                continue
            before = x[i]
        while last < before:
            last += 0.5
    else:
        total -= 1.0
    return total + last


def array_expression(x):
    """An expression of whole arrays."""
    y = 2.0 * x + x * x
    return y.sum() + np.sqrt(x)[0]


def closure(x):
    """A function within it."""
    factor = 3.0

    def inside_it(y):
        return factor * y

    return inside_it(x[0]) + inside_it(x[1])


def listed(x):
    """Arrays of lists, one of them of constants."""
    return np.array([x[0], x[1]]).sum() + np.array([i * i for i in range(3)]).sum() + np.array([1.0, 2.0])[1]


FUNCTIONS = loops, array_expression, closure, listed
X = np.array([1.0, 2.5, 0.5, 3.0])


def compiled(function: Callable[..., Any], x: Any, **options: Any) -> Any:
    """Return the value of a function that is compiled as an entry is."""
    made = numba.njit(**options)(function)
    with inside(function.__qualname__):
        made.compile((numba.typeof(x),))
    return made(x)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_same_as_python(function: Callable[..., Any]) -> None:
    assert compiled(function, X) == pytest.approx(function(X), rel=1e-14)


def test_passes_are_left_out_where_there_is_nothing_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three of them would go over every variable, only to say where it ends: a quarter of the time of compiling."""
    done: list[str] = []
    for owner in (untyped_passes.InlineClosureLikes, typed_passes.NopythonRewrites):
        whole = owner.run_pass

        def told(self: Any, state: Any, whole: Any = whole) -> Any:
            done.append(state.func_id.func_name)
            return whole(self, state)

        monkeypatch.setattr(owner, "run_pass", told)
    ends = typed_passes.check_and_legalize_ir
    monkeypatch.setattr(typed_passes, "check_and_legalize_ir", lambda *a, **k: (done.append("ends"), ends(*a, **k)))
    assert compiled(loops, X, _nrt=False) == pytest.approx(loops(X), rel=1e-14)
    assert done == []
    assert compiled(closure, X, _nrt=False) == pytest.approx(closure(X), rel=1e-14)
    assert done == ["closure"]
