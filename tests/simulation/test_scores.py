"""Scores of runs whose scores are known in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from flexctl.model import Signal
from flexctl.motion.moves import Step, quintic
from flexctl.motion.resting import Rest
from flexctl.simulation.scores import scores, settling_time

ANGLE, TORQUE = Signal("angle", "rad"), Signal("torque", "N m")
T = np.linspace(0.0, 4.0, 4001)


def of(y: np.ndarray, u: np.ndarray | None = None, **references):
    u = np.zeros_like(T) if u is None else u
    return scores(T, y[:, None], u[:, None], [ANGLE], [TORQUE], references)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_first_order_lag_settles_after_its_logarithms(sign: float) -> None:
    tau = 0.3
    found = of(sign * 2.0 * (1.0 - np.exp(-T / tau)), angle=Step(0.0, sign * 2.0))
    assert found["angle.settle_1pct_s"] == pytest.approx(tau * np.log(100), abs=1.1e-3)
    assert found["angle.settle_0p1pct_s"] == pytest.approx(tau * np.log(1000), abs=1.1e-3)
    assert found["angle.overshoot_pct"] == 0.0
    assert found["angle.max_error"] == pytest.approx(2.0)
    assert found["angle.rms_error"] == pytest.approx(2.0 * np.sqrt(0.5 * tau / 4.0), rel=1e-4)
    assert found["angle.final_error"] == pytest.approx(-sign * 2.0 * np.exp(-4.0 / tau))


def test_second_order_overshoot() -> None:
    zeta, w = 0.3, 8.0
    wd = w * np.sqrt(1 - zeta**2)
    y = 1.0 - np.exp(-zeta * w * T) * (np.cos(wd * T) + zeta * w / wd * np.sin(wd * T))
    found = of(3.0 - 2.0 * y, angle=Step(3.0, 1.0))
    assert found["angle.overshoot_pct"] == pytest.approx(100 * np.exp(-np.pi * zeta / np.sqrt(1 - zeta**2)), rel=1e-4)


def test_settling_counts_from_the_start_of_the_command() -> None:
    late = quintic(0.0, 1.0, 0.5, start=1.2)
    found = of(late(T)[0], angle=late)
    early = quintic(0.0, 1.0, 0.5)
    assert found["angle.settle_1pct_s"] == pytest.approx(of(early(T)[0], angle=early)["angle.settle_1pct_s"], abs=2e-3)
    assert 0.3 < found["angle.settle_1pct_s"] < 0.5
    assert found["angle.max_error"] == 0.0


def test_a_run_that_ends_outside_never_settles() -> None:
    found = of(0.98 * np.ones_like(T), angle=Step(0.0, 1.0))
    assert found["angle.settle_1pct_s"] == np.inf
    assert of(0.995 * np.ones_like(T), angle=Step(0.0, 1.0))["angle.settle_1pct_s"] == 0.0


def test_residual_is_what_swings_once_the_command_has_ended() -> None:
    move = quintic(0.0, 2.0, 1.0)
    y = move(T)[0] + np.where(T < 0.5, 0.3, 0.0) + np.where(T >= 1.0, 0.05 * np.exp(-T) * np.cos(40.0 * (T - 1.0)), 0.0)
    assert of(y, angle=move)["angle.residual"] == pytest.approx(0.05 * np.exp(-1.0))
    assert "angle.residual" not in of(y, angle=quintic(0.0, 2.0, 5.0))


def test_leaving_the_band_late_counts() -> None:
    error = np.where((T > 2.0) & (T < 2.5), 0.02, 0.0)
    assert settling_time(T, error, 0.01) == pytest.approx(2.5, abs=1e-3)
    assert settling_time(T, 0.0 * T, 0.01) == 0.0


def test_a_reference_that_does_not_move_has_errors_only() -> None:
    found = of(1.0 + 0.1 * np.exp(-T), angle=quintic(1.1, 1.1, 1.0))
    assert "angle.settle_1pct_s" not in found
    assert found["angle.max_error"] == pytest.approx(0.1 * (1 - np.exp(-4.0)))


def test_a_regulated_start_is_a_move() -> None:
    found = of(0.5 * np.exp(-T / 0.3), angle=Step(0.0, 0.0))
    assert found["angle.settle_1pct_s"] == pytest.approx(0.3 * np.log(100), abs=1.1e-3)


def test_inputs_have_peak_and_rms() -> None:
    u = np.where(T < 1.0, -3.0, 1.0)
    found = of(0.0 * T, u)
    assert found["torque.peak"] == 3.0
    assert found["torque.rms"] == pytest.approx(np.sqrt((9.0 + 3.0) / 4.0), rel=1e-12)


def test_without_a_reference_the_extremes_are_told() -> None:
    found = of(np.sin(T))
    assert found["angle.max"] == pytest.approx(1.0, abs=1e-6)
    assert found["angle.min"] == pytest.approx(np.sin(4.0))
    assert found["angle.final"] == pytest.approx(np.sin(4.0))


def test_a_channel_that_is_no_output_is_not_scored() -> None:
    assert set(of(np.sin(T), speed=Step(0.0, 1.0))) == {"torque.peak", "torque.rms"}


def test_what_should_come_to_rest_is_scored_by_what_is_left_from_a_fifth_of_a_second_after_the_command_on() -> None:
    """From where it began, not from the value given: the sensor's zero."""
    y = 5.0 + 3.0 * np.exp(-T) * np.sin(2 * np.pi * 5.0 * T)
    found = of(y, angle=Rest(4.9, 1.8))
    assert found["angle.vibration"] == pytest.approx(3.0 * np.exp(-2.05), rel=1e-3)  # the first crest after 2 s
    assert found["angle.max_error"] == pytest.approx(3.0 * np.exp(-0.05), rel=2e-3)
    assert not any(key.startswith("angle.settle") for key in found)
    assert "angle.vibration" not in of(y, angle=Rest(5.0, 3.9))


def test_a_sum_of_shifted_copies_that_comes_back_has_not_moved() -> None:
    begin = float(np.nextafter(1.1, 2.0))
    found = of(1.1 + 0.1 * np.sin(T), angle=Step(begin, 1.1))
    assert not any(key.startswith("angle.settle") for key in found)
