"""For how many steps an estimate of the error counts."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from flexctl.kernels.estimate import longest_wait


@pytest.mark.parametrize(
    ("rtol", "length", "most"), [(0.0, 1.0, 15), (0.0, 3.8, 15), (0.0, 10.0, 39), (0.0, 60.0, 60), (1e-2, 60.0, 15)]
)
def test_of_long_runs_in_given_steps_the_error_is_looked_at_some_hundred_times(rtol, length, most):
    """It counts down to zero, and is a whole number therefore."""
    scheme = SimpleNamespace(rtol=rtol, length=length)
    assert longest_wait.py_func(scheme, 1e-3) == most
