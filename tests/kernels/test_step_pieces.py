"""Questions about all coordinates, whose loops look at each of them: what is not a number is never within bounds."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from flexctl.kernels import estimate, pieces
from flexctl.kernels.tables import BOUND
from flexctl.models.finite_segment import recording


def plain(function):
    """Return the text of a compiled function as Python runs it."""
    return getattr(function, "py_func", function)


@pytest.mark.parametrize("place", [0, 3, 6])
def test_one_coordinate_is_enough(place):
    x, zero = np.zeros(7), np.zeros(7)
    x[place] = -2.0
    assert plain(pieces.swings)(SimpleNamespace(q=x, d=x), 1.9)
    assert not plain(pieces.swings)(SimpleNamespace(q=x, d=x), 2.0)
    moved = SimpleNamespace(a=x, before=zero)
    assert plain(estimate.changes)(moved, 1.9)
    assert not plain(estimate.changes)(moved, 2.0)
    assert plain(estimate.change_of)(moved) == 2.0
    assert plain(recording.any_between)(x, 1.9)
    assert not plain(recording.any_between)(x, 2.0)
    assert plain(recording.most_between)(x) == 2.0


@pytest.mark.parametrize("place", [0, 3, 6])
@pytest.mark.parametrize("value", [2.0 * BOUND, -np.inf, np.nan])
def test_what_is_beyond_or_not_a_number_is_not_bounded(place, value):
    q = np.ones(7)
    assert plain(pieces.bounded)(q)
    q[place] = value
    assert not plain(pieces.bounded)(q)


def test_a_state_that_is_saved_comes_back(monkeypatch):
    rng = np.random.default_rng(1)
    names = ("q", "v", "a", "shifted", "before")
    motion = SimpleNamespace(**{name: rng.normal(size=5) for name in names}, lam=rng.normal(size=2))
    motion.saved, motion.spare = np.zeros((6, 5)), np.zeros((2, 2))
    expected = {name: getattr(motion, name).copy() for name in (*names, "lam")}
    monkeypatch.setattr(pieces, "copy", plain(pieces.copy))
    plain(pieces.save)(motion)
    for name in expected:
        getattr(motion, name)[:] = 0.0
    plain(pieces.restore)(motion)
    for name, values in expected.items():
        assert np.array_equal(getattr(motion, name), values)
