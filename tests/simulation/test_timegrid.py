"""The time grid of a run: uniform, with its breakpoints and control periods."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
import toys
from analytical import tokhi_arm
from hypothesis import given
from hypothesis import strategies as st

from flexctl.errors import OutOfMemory
from flexctl.model import FloatArray
from flexctl.models import build
from flexctl.motion.moves import PiecewiseConstant
from flexctl.simulation.grid import limits, time_grid
from flexctl.simulation.simulate import simulate

OSCILLATOR = toys.oscillator(7.0, 0.05)


@given(
    st.floats(1e-3, 10.0), st.integers(1, 400), st.sampled_from([None, 1, 3, 8]),
    st.lists(st.floats(0.0, 12.0), max_size=6),
)
def test_any_grid_ascends_holds_its_breakpoints_and_divides_the_period(
    duration: float, count: int, per_period: int | None, breaks: list[float]
) -> None:
    step = duration / count * 1.0371
    period = per_period and per_period * step
    t, h, due = time_grid(duration, step, period, breaks)
    assert t[0] == 0.0
    assert duration <= t[-1] * (1 + 1e-12)
    assert t[-1] < duration + step
    assert np.all(np.diff(t) > 1e-9 * h.max())
    np.testing.assert_allclose(h, np.diff(t), rtol=1e-6, atol=2e-9 * step)
    assert h.max() <= step * (1 + 1e-12)
    for b in breaks:
        if b <= t[-1]:
            assert np.abs(t - b).min() <= 2e-9 * step
    calls = np.flatnonzero(due >= 0)
    np.testing.assert_array_equal(due[calls], np.arange(calls.size))
    if period:
        np.testing.assert_allclose(t[calls], period * np.arange(calls.size), atol=2e-9 * step)
        assert calls.size == pytest.approx(t[-1] / period, abs=1)
    else:
        assert calls.size == 0


def test_two_jumps_of_one_signal_at_one_time_are_one_jump() -> None:
    t = 0.1 * np.arange(6)
    signal = PiecewiseConstant((0.3, 0.1 + 0.2), (1.0, 50.0, 2.0))
    left, right = limits("force", signal, t, 0.1)
    np.testing.assert_array_equal(left, [1.0, 1.0, 1.0, 1.0, 2.0, 2.0])
    np.testing.assert_array_equal(right, [1.0, 1.0, 1.0, 2.0, 2.0, 2.0])


def test_equal_steps_are_equal_to_the_last_bit() -> None:
    _, h, _ = time_grid(1.0, 1e-3, 1e-3, [0.1 + 0.2, 0.71234])
    assert len(set(h.tolist())) == 3  # the step, and the two parts of the one that is divided


def test_too_many_steps_are_refused_before_memory_is_asked_for() -> None:
    with pytest.raises(OutOfMemory, match="use a longer step"):
        simulate(OSCILLATOR, duration=1e9, step=1e-3)


def test_defaults_of_the_step() -> None:
    assert simulate(OSCILLATOR, duration=0.01).provenance["step_s"] == pytest.approx(1e-3)
    arm = build(tokhi_arm(), "finite_difference", sections=19)
    run = simulate(arm, duration=0.01, method="march")
    assert run.provenance["step_s"] == pytest.approx(0.9 * arm.stability_limit(), rel=0.05)
    assert run.provenance["step_s"] <= 0.9 * arm.stability_limit()


def test_a_record_of_many_jumps_is_asked_for_in_a_few_calls() -> None:
    """A call for every jump, each of which makes its arrays anew, costs the square of the samples."""
    calls = 0

    class Counted(PiecewiseConstant):
        def __call__(self, t: npt.ArrayLike, before: bool = False) -> FloatArray:
            nonlocal calls
            calls += 1
            return super().__call__(t, before)

    t = np.arange(501) * 1e-3
    values = np.random.default_rng(0).standard_normal(501)
    signal = Counted(tuple(t[1:-1].tolist()), tuple(values[:-1].tolist()))
    left, right = limits("u", signal, t, 1e-3)
    assert calls <= 4
    assert signal._arrays is signal._arrays
    assert np.array_equal(right, np.r_[values[:-1], values[-2]])
    assert np.array_equal(left[1:], values[:-1])


def test_the_limits_where_two_jumps_meet_one_time_are_the_outer_ones() -> None:
    signal = PiecewiseConstant((0.2, 0.2 + 1e-15), (1.0, 5.0, 2.0))
    t = np.arange(5) * 0.1
    left, right = limits("u", signal, t, 0.1)
    assert (left[2], right[2]) == (1.0, 2.0)
