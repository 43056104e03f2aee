"""Motions and input signals: derivatives, ends, jumps, refusals."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from flexctl.errors import DefinitionError
from flexctl.motion.moves import (
    Cycloid,
    InputSignal,
    Motion,
    PiecewiseConstant,
    Polynomial,
    Sampled,
    Sine,
    Step,
    Trapezoid,
    acceleration_of,
    bang_bang,
    quintic,
)
from flexctl.motion.profiles import Cosine
from flexctl.testing.differences import slope

BEGIN, END, TIME, START = 0.3, -1.2, 0.8, 0.25
MOVES = {
    "cubic": Polynomial(BEGIN, END, TIME, START, 3),
    "quintic": quintic(BEGIN, END, TIME, START),
    "degree 7": Polynomial(BEGIN, END, TIME, START, 7),
    "degree 9": Polynomial(BEGIN, END, TIME, START, 9),
    "cycloid": Cycloid(BEGIN, END, TIME, START),
    "cosine": Cosine(BEGIN, END, TIME, START),
    "trapezoid": Trapezoid(BEGIN, END, TIME, 0.2, START),
    "triangle": Trapezoid(BEGIN, END, TIME, TIME / 2, START),
}
moves = pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)


@moves
def test_rate_and_acceleration_are_the_derivatives(move: Motion) -> None:
    edges = np.array([0.0, *sorted(set(move.breakpoints)), 1.5])
    for low, high in pairwise(edges):
        for t in np.linspace(low, high, 7)[1:-1]:
            _, rate, acceleration = move(t)
            assert slope(lambda s, t=t: move(t + s)[0]) == pytest.approx(rate, abs=1e-8)
            assert slope(lambda s, t=t: move(t + s)[1]) == pytest.approx(acceleration, abs=1e-6)


@moves
def test_moves_go_from_rest_to_rest(move: Motion) -> None:
    assert isinstance(move, Motion)
    assert move.duration == pytest.approx(START + TIME)
    assert move.target == END
    for t, wanted in ((0.0, BEGIN), (START, BEGIN), (START + TIME, END), (50.0, END)):
        value, rate, _ = move(t)
        assert value == pytest.approx(wanted, abs=1e-14)
        assert rate == pytest.approx(0.0, abs=1e-14)
    assert move(0.0)[2] == 0.0
    assert move(50.0)[2] == pytest.approx(0.0, abs=1e-13)
    assert move(START + TIME / 2)[0] == pytest.approx(0.5 * (BEGIN + END))


@moves
def test_arrays_give_what_single_times_give(move: Motion) -> None:
    t = np.linspace(0.0, 1.5, 31)
    together = np.array(move(t))
    np.testing.assert_array_equal(together, np.array([move(one) for one in t]).T)


@moves
@pytest.mark.parametrize(("start", "time"), [(0.25, 0.8), (0.1, 0.3), (0.5, 0.7), (0.7, 0.1), (1 / 3, 0.49)])
def test_values_at_breakpoints_are_the_right_limits(move: Motion, start: float, time: float) -> None:
    """Whatever start + time rounds to."""
    extra = {"ramp": move.ramp / move.time * time} if isinstance(move, Trapezoid) else {}
    move = replace(move, start=start, time=time, **extra)
    peak = np.abs(move(np.linspace(start, start + time, 50))[2]).max()
    for b in move.breakpoints:
        for now, later in zip(move(b), move(b + 1e-9), strict=True):
            assert now == pytest.approx(later, abs=1e-6 * peak)


@moves
def test_nothing_jumps_between_breakpoints(move: Motion) -> None:
    t = np.linspace(0.0, 1.5, 150_001)
    steps = np.abs(np.diff(move(t)[2]))
    jumps = {round(float(x), 2) for x in t[1:][steps > 0.05]}
    assert jumps <= {round(b, 2) for b in move.breakpoints}


@pytest.mark.parametrize(("degree", "vanishing"), [(3, 1), (5, 2), (7, 3), (9, 4)])
def test_so_many_derivatives_vanish_at_both_ends(degree: int, vanishing: int) -> None:
    move = Polynomial(0.0, 1.0, 1.0, degree=degree)
    for away in (lambda z: move(z)[0], lambda z: 1.0 - move(1.0 - z)[0]):
        assert np.log2(away(0.02) / away(0.01)) == pytest.approx(vanishing + 1, abs=0.1)


def test_the_quintic_is_the_textbook_one() -> None:
    z = np.linspace(0, 1, 11)
    np.testing.assert_allclose(quintic(0.0, 2.0, 3.0)(3 * z)[0], 2 * (10 * z**3 - 15 * z**4 + 6 * z**5), atol=1e-14)


def test_trapezoid_has_its_plateau() -> None:
    move = Trapezoid(0.0, 1.2, 1.0, 0.2)
    np.testing.assert_allclose(move([0.3, 0.5, 0.7])[1], 1.2 / 0.8)
    np.testing.assert_allclose(move([0.1, 0.9])[2], [1.2 / 0.8 / 0.2, -1.2 / 0.8 / 0.2])


def test_step_takes_its_new_value_at_once() -> None:
    step = Step(1.0, 3.0, 0.5)
    np.testing.assert_array_equal(step([0.0, 0.4999999, 0.5, 2.0])[0], [1.0, 1.0, 3.0, 3.0])
    assert not np.any(step([0.0, 0.5, 1.0])[1:])
    assert (step.target, step.breakpoints) == (3.0, (0.5,))


def test_bang_bang_has_its_limits_and_no_net_impulse() -> None:
    signal = bang_bang(0.1, 0.3, 0.2)
    assert isinstance(signal, InputSignal)
    t = np.array(signal.breakpoints)
    np.testing.assert_allclose(t, [0.2, 0.5, 0.8])
    np.testing.assert_array_equal(signal(t, before=True), [0.0, 0.1, -0.1])
    np.testing.assert_array_equal(signal(t), [0.1, -0.1, 0.0])
    np.testing.assert_array_equal(signal([0.0, 0.3, 0.6, 1.0]), [0.0, 0.1, -0.1, 0.0])


def test_sine_acts_between_its_ends() -> None:
    signal = Sine(2.0, 5.0, 0.1, 0.26)
    inside = np.linspace(0.11, 0.25, 5)
    np.testing.assert_allclose(signal(inside), 2.0 * np.sin(10 * np.pi * (inside - 0.1)))
    assert signal(0.26) == 0.0
    assert signal(0.26, before=True) == pytest.approx(2.0 * np.sin(10 * np.pi * 0.16))
    np.testing.assert_array_equal(signal([0.0, 0.3]), 0.0)
    assert signal.breakpoints == (0.1, 0.26)
    assert Sine(1.0, 1.0).breakpoints == (0.0,)


def test_acceleration_of_a_motion_is_a_signal_with_both_limits() -> None:
    move = Trapezoid(0.0, 1.2, 1.0, 0.2, 0.5)
    signal, a = acceleration_of(move), 1.2 / 0.8 / 0.2
    assert isinstance(signal, InputSignal)
    t = np.array(move.breakpoints)
    np.testing.assert_allclose(t, [0.5, 0.7, 1.3, 1.5])
    np.testing.assert_allclose(signal(t, before=True), [0.0, a, 0.0, -a])
    np.testing.assert_allclose(signal(t), [a, 0.0, -a, 0.0])
    np.testing.assert_allclose(signal([0.0, 0.6, 1.0, 1.4]), [0.0, a, 0.0, -a])


def test_samples_are_joined_by_lines_and_held() -> None:
    signal = Sampled(np.array([0.0, 1.0, 3.0]), np.array([1.0, 3.0, -1.0]))
    np.testing.assert_allclose(signal([-1.0, 0.0, 0.25, 2.0, 3.0, 9.0]), [1.0, 1.0, 1.5, 1.0, -1.0, -1.0])


@pytest.mark.parametrize(("make", "message"), [
    (lambda: quintic(0.0, 1.0, 0.0), "time = 0.0 s must be positive"),
    (lambda: quintic(0.0, 1.0, float("inf")), "time = inf s must be positive and finite"),
    (lambda: Cycloid(0.0, 1.0, 1.0, -0.1), "start = -0.1 s"),
    (lambda: quintic(0.0, float("nan"), 1.0), "end = nan|from 0.0 to nan"),
    (lambda: Polynomial(0.0, 1.0, 1.0, degree=4), "degree = 4"),
    (lambda: Trapezoid(0.0, 1.0, 1.0, 0.6), "at most half the move, 0.5 s"),
    (lambda: Trapezoid(0.0, 1.0, 1.0, 0.0), "ramp = 0.0 s must be positive"),
    (lambda: bang_bang(0.1, 0.0), "half_time = 0.0 s"),
    (lambda: bang_bang(float("nan"), 1.0), "must be finite"),
    (lambda: PiecewiseConstant((0.1, 0.2), (1.0, 2.0)), "2 jumps need 3 values, got 2"),
    (lambda: PiecewiseConstant((0.2, 0.1), (1.0, 2.0, 3.0)), "not ascending"),
    (lambda: Sine(1.0, float("nan")), "frequency.* = nan"),
    (lambda: Sine(1.0, 1.0, 0.5, 0.2), "end = 0.2 s must lie after start = 0.5 s"),
    (lambda: Sampled(np.zeros(3), np.zeros(2)), "vectors of one length"),
    (lambda: Sampled(np.array([0.0, 0.0]), np.zeros(2)), "times must ascend"),
    (lambda: Sampled(np.array([0.0, 1.0]), np.array([0.0, np.nan])), "finite"),
])
def test_wrong_numbers_are_refused_by_name(make, message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        make()
