"""Errors of rates are claimed by what local errors change in time, and nothing is claimed below what is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from accuracy_unseen import TORQUE, driven, pd, plant

import flexctl as fx
from flexctl.motion.signals import bang_bang
from flexctl.simulation.accuracy import VARIED, Accuracy
from flexctl.simulation.defaults import CLAIM, COMPARED, SUMMED

MOVE = pd((60.0, 20.0), (8.0, 2.0), (0.5, -0.4), 0.3, 0.0, 0, "joint{}_rate")


def over(run: fx.Response, exact: fx.Response, names: tuple[str, ...]) -> dict[str, float]:
    """Return by how much the claims are above the errors."""
    near = np.minimum(np.searchsorted(exact.t, run.t - 1e-9), exact.t.size - 1)
    return {name: run.error[name] / float(np.abs(run[name] - exact[name][near]).max()) for name in names}


def test_a_local_error_is_compared_with_one_that_is_some_steps_old() -> None:
    """Where nothing jumps it is found in every sixteenth step: over one step the change is sixteen times too large."""
    arm, law = driven(TORQUE), MOVE()
    run = fx.simulate(arm(), *law, duration=0.5)
    exact = fx.simulate(arm(), *law, duration=0.5, step=2e-5, method="settled")
    assert run.provenance["steps"] == run.t.size - 1
    found = over(run, exact, ("joint1_rate", "joint2_rate", "chord1_rate", "joint1_torque", "joint2_torque"))
    assert all(1.0 <= part < 30.0 for part in found.values()), found  # 70 to 210 over one step


@pytest.mark.slow
def test_local_errors_of_steps_of_two_lengths_are_compared_as_those_of_one() -> None:
    """A step of half the length has an eighth of the error: that is no change of it."""
    arm = plant("planar_2r_flexible", 8e-5)
    given: dict[str, Any] = {"joint1_torque": bang_bang(0.1, 0.3), "joint2_torque": bang_bang(0.03, 0.2)}
    run = fx.simulate(arm(), inputs=given, duration=0.8)
    exact = fx.simulate(arm(), inputs=given, duration=0.8, step=2e-5, method="sdirk")
    assert run.provenance["shortest_step_s"] < run.provenance["longest_step_s"]
    found = over(run, exact, ("chord1_rate", "chord2_rate", "joint1_rate"))
    assert all(1.0 <= part < 24.0 for part in found.values()), found  # 24.5 to 36 otherwise


def test_what_lasts_of_a_local_error_is_told_apart_under_continuous_laws() -> None:
    """Modes of a stiff arm that are far beyond the step do not carry an error on."""
    arm, law = plant("planar_2r_flexible", 1e-3), pd((20.0, 2.0), (8.0, 0.8), (0.5, -0.4), 0.8, 0.0, 0, "joint{}_rate")
    run = fx.simulate(arm(), *law(), duration=1.0)
    assert run.error["link2_deflection"] < 2.3e-3 * np.ptp(run["link2_deflection"])  # 2.7e-3 if all of it lasts


def test_the_least_claim_is_how_well_an_error_is_known() -> None:
    outputs = (fx.Signal("a", "rad"), fx.Signal("b", "rad"))
    free, struck, looped = Accuracy(outputs, False), Accuracy(outputs, False), Accuracy(outputs, True)
    struck.jumps = True
    for accuracy, least in ((free, SUMMED), (struck, CLAIM), (looped, CLAIM)):
        accuracy.gauge.low[:], accuracy.gauge.high[:] = 0.0, 2.0
        accuracy.gauge.number[:2] = accuracy.gauge.number[3:5] = 1e-3
        assert accuracy.error(outputs, "generalised_alpha", 1e-2)["a"] == pytest.approx(2e-2 * least)
        accuracy.second = np.zeros(2)
        assert accuracy.error(outputs, "generalised_alpha", 1e-2)["a"] == pytest.approx(2e-2 * SUMMED)
        accuracy.looked = True
        assert accuracy.error(outputs, "generalised_alpha", 1e-2)["a"] == pytest.approx(2e-2 * COMPARED)


def test_steps_of_a_grid_are_not_those_that_an_error_asked_for() -> None:
    """A grid that divides a step at a breakpoint has steps of two lengths; the estimate is not raised for them."""
    accuracy = Accuracy((fx.Signal("a", "rad"),), False)
    accuracy.gauge.number[3], accuracy.gauge.number[4] = 1e-4, 1e-3
    assert accuracy._safety == VARIED
    accuracy.follows = False
    assert accuracy._safety == 1.0


def test_what_a_jump_of_a_force_hides_is_covered() -> None:
    """The strain at a joint without a hub is 0.1 % off 1 ms after the jump; sums tell less than 0.02 %."""
    arm = plant("planar_2r_rigid", gravity__y=0.0)
    given = {"joint1_torque": bang_bang(200.0, 0.5), "joint2_torque": bang_bang(60.0, 0.5)}
    run = fx.simulate(arm(), inputs=given, duration=0.6)
    exact = fx.simulate(arm(), inputs=given, duration=0.6, rtol=1e-4)
    assert over(run, exact, ("root_strain",))["root_strain"] >= 1.0


def test_so_is_what_a_step_of_a_reference_hides() -> None:
    """Under a continuous law it is a jump of torques."""
    law, moves = MOVE()
    for move in (fx.Step(0.0, 0.2, 0.05), fx.Step(0.0, 0.2)):
        run = fx.simulate(driven(TORQUE)(), law, {**moves, "joint1_angle": move}, duration=0.2)
        assert run.error["joint2_angle"] >= 0.99 * CLAIM * 1e-2 * np.ptp(run["joint2_angle"])


def test_a_second_run_lets_less_be_claimed_than_sums_do() -> None:
    """That of a joint that is led, beside a pilot."""
    run = fx.simulate(plant("planar_2r_rigid")(), motions={"joint1": fx.quintic(0.0, 0.5, 0.4)}, duration=0.5)
    parts = [error / np.ptp(run[name]) for name, error in run.error.items() if error > 0.0 and np.ptp(run[name]) > 0.0]
    assert min(parts) < 0.5 * CLAIM * 1e-2
