"""What a stepper reports becomes an error, or nothing."""

from __future__ import annotations

import pytest

from flexctl.errors import ConvergenceError
from flexctl.kernels.engine import check
from flexctl.kernels.tables import DIVERGED, DONE, NOT_CONVERGED, SINGULAR


@pytest.mark.parametrize("status", [NOT_CONVERGED, SINGULAR, DIVERGED, 4.0, 17.0])
def test_whatever_is_not_done_is_an_error(status: float) -> None:
    """A status of one formulation alone (a slide that is in) was once taken for a run that is complete."""
    with pytest.raises(ConvergenceError, match=r"t = 0\.25 s"):
        check((status, 0.25, 3.0, 1e-3), 1e-3, "an arm")


def test_done_is_not() -> None:
    check((DONE, 0.25, 3.0, 1e-3), 1e-3, "an arm")
