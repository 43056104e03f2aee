"""Time laws that are averaged over windows, and sides with blended corners."""

from __future__ import annotations

import numpy as np
import pytest

import flexctl as fx
from flexctl.errors import DefinitionError
from flexctl.motion.retimed import Retimed

WINDOWS = (0.2, 0.1, 0.1)
MOVES = [([1.0, 1.0], [1.0, -1.0]), ([0.5, 0.5], [2.0, -2.0])]


def test_a_law_ends_where_its_moves_end_and_rests_between_them() -> None:
    law = Retimed(MOVES, WINDOWS)
    value, rate, acceleration = law(np.array([0.0, *law.breakpoints[1:], 9.0]))
    assert value == pytest.approx([0.0, 1.0, 1.5, 1.5], abs=1e-13)
    assert np.abs(rate).max() < 1e-12
    assert np.abs(acceleration).max() < 1e-10
    assert law.duration == pytest.approx(3.0 + 2 * sum(WINDOWS) + 2 * 0.1 / 8, abs=1e-9)


def test_it_never_turns_back_and_its_derivatives_are_those_of_one_function() -> None:
    law = Retimed(MOVES, WINDOWS)
    t = np.linspace(0.0, law.duration, 40001)
    assert np.diff(law(t)[0]).min() > -1e-14
    for order in range(4):
        slope = np.gradient(law.derivative(t, order), t)[2:-2]
        exact = law.derivative(t, order + 1)[2:-2]
        assert np.abs(slope - exact).max() < 2e-3 * np.abs(exact).max()


def test_a_window_of_one_period_removes_its_mode() -> None:
    """The Fourier transform of the acceleration vanishes where a window is one period."""
    law = Retimed(MOVES[:1], WINDOWS)
    t = np.linspace(0.0, law.duration, 200001)
    a = law(t)[2]
    size = [abs(np.trapezoid(a * np.exp(-2j * np.pi * f * t), t)) for f in (5.0, 10.0, 3.1)]
    assert max(size[:2]) < 1e-8
    assert size[2] > 1e-3


@pytest.mark.parametrize(
    ("moves", "windows", "told"),
    [
        ([], WINDOWS, "one move or more"), (MOVES, (0.1, 0.0), "must be positive"),
        ([([1.0], [1.0])], WINDOWS, "a move ends at rest"), ([([1.0, 1.0], [1.0])], WINDOWS, "as many of each"),
    ],
)
def test_laws_that_are_none_are_refused(moves, windows, told: str) -> None:
    with pytest.raises(DefinitionError, match=told):
        Retimed(moves, windows)


@pytest.mark.parametrize(
    "points", [[(0.0, 0.0), (1.0, 0.0), (0.2, 0.5)], [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (2.0, 1.0)]],
)
def test_blends_are_smooth_reach_the_end_and_are_parametrised_by_arc_length(points) -> None:
    curve = fx.Rounded(points, 0.3)
    s = np.linspace(0.0, curve.length, 100001)
    p, along, bend = curve(s, np.zeros(s.size, int))
    assert p[[0, -1]] == pytest.approx(np.array([points[0], points[-1]]), abs=1e-12)
    assert np.abs(np.gradient(p, s, axis=0) - along)[1:-1].max() < 1e-7
    assert np.abs(np.gradient(along, s, axis=0) - bend)[2:-2].max() < 1e-4
    assert np.abs(np.diff(bend, axis=0)).max() < 1e-2
    assert np.linalg.norm(along, axis=1) == pytest.approx(1.0)
    corner = np.array(points[1])
    assert np.linalg.norm(p - corner, axis=1).min() == pytest.approx(curve.cut, rel=1e-6) or len(points) > 3


def test_a_blend_that_does_not_fit_is_refused() -> None:
    with pytest.raises(DefinitionError, match=r"does not fit into side 2 of 0\.4 m: at most 0\.2 m"):
        fx.Rounded([(0.0, 0.0), (1.0, 0.0), (1.0, 0.4), (0.0, 0.4)], 0.3)
    with pytest.raises(DefinitionError, match="turns back"):
        fx.Rounded([(0.0, 0.0), (1.0, 0.0), (0.2, 0.0)], 0.1)
