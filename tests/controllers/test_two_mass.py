"""The two-mass benchmark of 1990: settled within 15 s at k = 1, stable from 0.5 to 2, |u| below 1."""

from __future__ import annotations

import numpy as np
import pytest

import flexctl as fx

SCRIPT = fx.load_controller("two_mass_fixed")
PLANT = fx.load_plant(SCRIPT.PLANT)
LAW = SCRIPT.design(PLANT)
# settling within 0.1 [s] after impulses on the second and on the first mass
REACHED = {0.5: (17.94, 18.82), 0.7: (13.74, 12.16), 1.0: (12.86, 13.18), 1.5: (16.98, 15.62), 2.0: (17.76, 16.52)}


@pytest.mark.parametrize("spring", REACHED)
def test_settling_and_torque(spring: float) -> None:
    for which, wanted in zip(("second", "first"), REACHED[spring], strict=True):
        run = SCRIPT.impulse(which, spring).run(LAW, PLANT)
        assert fx.settling_time(run.t, run["joint1_angle"], SCRIPT.BAND) == pytest.approx(wanted, abs=0.1)
        assert np.abs(run["joint1_torque"][run.t > 2 * SCRIPT.WIDTH]).max() < 0.7


def test_the_impulse_leaves_a_unit_of_momentum() -> None:
    """Without a law both masses end up turning at half a unit, and swing against each other with sqrt(2) rad/s."""
    item = SCRIPT.impulse("second")
    run = fx.simulate(PLANT, inputs=item.inputs, duration=20.0)
    t = run.t - 0.5 * SCRIPT.WIDTH
    wanted = 0.5 * t + 0.5 * np.sin(np.sqrt(2.0) * t) / np.sqrt(2.0)
    later = run.t > SCRIPT.WIDTH
    assert run["joint1_angle"][later] == pytest.approx(wanted[later], abs=2e-2)


def test_it_is_stable_over_the_whole_range_and_not_far_beyond() -> None:
    def growth(spring: float) -> float:
        linear = PLANT.with_({SCRIPT.KEY: spring}).linearise()
        return float(np.abs(fx.closed_loop(linear.discrete(SCRIPT.SAMPLE_TIME), LAW.feedback()).poles()).max())

    assert all(growth(k) < 1.0 - 1e-3 for k in np.geomspace(0.5, 2.0, 40))
    assert growth(0.3) > 1.0
    assert growth(3.5) > 1.0


@pytest.mark.slow
def test_requirements_are_met() -> None:
    found = fx.certify("two_mass_fixed", bits=(), workers=2)
    assert found.passed, str(found)
