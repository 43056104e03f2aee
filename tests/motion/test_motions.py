"""Further commanded motions: each is the integral of its acceleration, meets its ends, knows its jumps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import cumulative_simpson

from flexctl.errors import DefinitionError
from flexctl.motion.moves import Cycloid, Motion, Trapezoid, quintic
from flexctl.motion.profiles import LinearAcceleration, Moves, SpinUp, Swing, trapezoidal_acceleration

MOTIONS = {
    "trapezoidal acceleration": trapezoidal_acceleration(0.2, 1.5, 2.0, 0.6, 0.2, 0.3),
    "no plateau": trapezoidal_acceleration(1.0, -1.0, 2.0, 0.6, 0.3),
    "no constant rate": trapezoidal_acceleration(0.0, 1.0, 2.0, 1.0, 0.25),
    "triangles": trapezoidal_acceleration(0.0, 1.0, 2.0, 1.0, 0.5),
    "three moves": Moves((quintic(0.0, 1.0, 0.5), Cycloid(1.0, 0.2, 0.6, 0.8), quintic(0.2, 2.0, 0.3, 1.6))),
    "spin-up": SpinUp(6.0, 1.5, 0.2, 0.4),
    "to a rate": LinearAcceleration((0.1, 0.5, 1.0), (0.0, 2.0, 0.0), 0.7),
}


@pytest.mark.parametrize("name", MOTIONS)
def test_value_and_rate_are_the_integrals_of_the_acceleration(name: str) -> None:
    motion = MOTIONS[name]
    assert isinstance(motion, Motion)
    t = np.linspace(0.0, motion.duration + 0.5, 20001)
    value, rate, acceleration = motion(t)
    np.testing.assert_allclose(cumulative_simpson(acceleration, x=t, initial=0.0), rate - rate[0], atol=1e-5)
    np.testing.assert_allclose(cumulative_simpson(rate, x=t, initial=0.0), value - value[0], atol=1e-9)
    assert rate[0] == 0.0
    at_end = float(motion(motion.duration)[0])
    assert at_end == pytest.approx(motion.target, abs=1e-12)
    assert np.abs(np.diff(acceleration)).max() < 0.02 * np.abs(acceleration).max()  # none of them jumps


def test_trapezoid_of_acceleration_has_the_shape_asked_for() -> None:
    motion = trapezoidal_acceleration(0.0, 1.0, 2.0, 0.6, 0.2)
    top = motion(0.3)[2]
    assert motion.breakpoints == pytest.approx((0.0, 0.2, 0.4, 0.6, 1.4, 1.6, 1.8, 2.0))
    assert motion(0.1)[2] == pytest.approx(top / 2)
    assert motion(1.7)[2] == pytest.approx(-top)
    assert motion(1.0)[1] == pytest.approx(top * 0.4)
    assert motion.target == pytest.approx(1.0, abs=1e-14)
    assert motion(5.0) == pytest.approx((1.0, 0.0, 0.0), abs=1e-12)


def test_it_tends_to_the_trapezoid_of_rate_when_the_jerk_is_short() -> None:
    t = np.linspace(0.0, 1.2, 500)
    sharp, soft = Trapezoid(0.0, 1.0, 1.0, 0.25), trapezoidal_acceleration(0.0, 1.0, 1.0, 0.25, 1e-6)
    np.testing.assert_allclose(soft(t)[0], sharp(t)[0], atol=1e-5)


def test_moves_dwell_in_between() -> None:
    motion = MOTIONS["three moves"]
    assert motion(0.65) == pytest.approx((1.0, 0.0, 0.0))
    assert motion(1.5) == pytest.approx((0.2, 0.0, 0.0))
    assert motion.breakpoints == pytest.approx((0.0, 0.5, 0.8, 1.4, 1.6, 1.9))


def test_spin_up_is_that_of_simo_and_vu_quoc() -> None:
    motion, T = SpinUp(6.0, 15.0), 15.0
    t = np.array([2.0, 7.5, 15.0])
    wanted = 6.0 / T * (t**2 / 2 + (T / (2 * np.pi)) ** 2 * (np.cos(2 * np.pi * t / T) - 1))
    np.testing.assert_allclose(motion(t)[0], wanted, rtol=1e-13)
    assert motion(20.0) == pytest.approx((6.0 * 20 - 45.0, 6.0, 0.0))
    assert motion.target == pytest.approx(45.0)


def test_swing_is_a_sine_between_two_rests() -> None:
    motion, w = Swing(0.4, 0.3, 0.8, 2, 0.1), 2 * np.pi * 0.8
    assert (motion.duration, motion.target) == (pytest.approx(2.6), 0.4)
    assert motion.breakpoints == (0.1, motion.duration)
    for t in (0.05, np.nextafter(0.1, 0.0), motion.duration, 3.0):
        assert motion(t) == pytest.approx((0.4, 0.0, 0.0), abs=1e-15)
    inside = np.linspace(0.1, 2.6 - 1e-9, 2001)
    value, rate, acceleration = motion(inside)
    np.testing.assert_allclose(value, 0.4 + 0.3 * np.sin(w * (inside - 0.1)), atol=1e-12)
    np.testing.assert_allclose(cumulative_simpson(rate, x=inside, initial=0.0), value - 0.4, atol=1e-9)
    np.testing.assert_allclose(cumulative_simpson(acceleration, x=inside, initial=0.0), rate - 0.3 * w, atol=1e-8)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: trapezoidal_acceleration(0, 1, 2.0, 1.2, 0.1), "at most half the move"),
        (lambda: trapezoidal_acceleration(0, 1, 2.0, 0.5, 0.3), "at most half the ramp"),
        (lambda: trapezoidal_acceleration(0, np.nan, 2.0, 0.5, 0.1), "must be finite"),
        (lambda: LinearAcceleration((0.0, 1.0), (0.0, 1.0)), "must be zero"),
        (lambda: LinearAcceleration((0.0, 0.0), (0.0, 0.0)), "not ascending"),
        (lambda: LinearAcceleration((0.0,), (0.0,)), "two or more"),
        (lambda: Moves(()), "at least one move"),
        (lambda: Moves((quintic(0, 1, 0.5), quintic(1, 2, 0.5, 0.3))), "before move 1 ends"),
        (lambda: Moves((quintic(0, 1, 0.5), quintic(0, 2, 0.5, 0.6))), "move 2 begins at 0"),
        (lambda: SpinUp(1.0, 0.0), "time = 0.0 s must be positive"),
        (lambda: SpinUp(np.inf, 1.0), "rate = inf"),
        (lambda: SpinUp(1.0, 1.0, -1.0), "must not be negative"),
        (lambda: Swing(0.0, np.inf, 1.0), "must be finite"),
        (lambda: Swing(0.0, 1.0, 0.0), "frequency = 0.0 Hz must be positive"),
        (lambda: Swing(0.0, 1.0, 1.0, 0), "cycles = 0 must be a whole number above zero"),
        (lambda: Swing(0.0, 1.0, 1.0, 1, -1.0), "start = -1.0 s must not be negative"),
    ],
)
def test_wrong_motions_are_refused(make: Any, message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        make()
