"""Stable inversion of the tip against numbers computed independently and against exact runs of the full plant."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import flexctl as fx
from flexctl.design.inversion import deviation, stable_inversion
from flexctl.motion.moves import Polynomial, Tabulated, quintic

SETTINGS = {"model.sections": 40, "damping": {"kind": "modal", "ratio": 0.01}}
NAMES = {"drive": "joint1_torque", "follow": "chord1_angle", "measures": ("joint1_angle",)}


@cache
def arm():
    return fx.load_plant("tokhi_azad_1994", overrides=SETTINGS)


def inverse(angle: float, time: float, modes: int):
    return stable_inversion(arm().linearise(), Polynomial(0.0, np.radians(angle), time, degree=9), modes=modes, **NAMES)


def run(found):
    inputs = {"joint1_torque": found.torque}
    return fx.simulate(arm().linearise(), inputs=inputs, duration=found.lead + 0.8, step=2.5e-4, method="exact")


@pytest.mark.parametrize(
    ("angle", "time", "peak", "lead"),
    [(5.0, 0.30, 0.322, 0.083), (5.0, 0.40, 0.208, 0.071), (60.0, 1.25, 0.306, 0.019), (60.0, 1.02, 0.454, None)],
)
def test_peak_torque_and_pre_actuation(angle, time, peak, lead):
    found = inverse(angle, time, 6)
    assert found.peak == pytest.approx(peak, rel=3e-3)
    if lead is not None:
        assert found.pre_actuation == pytest.approx(lead, abs=2e-3)
        assert found.lead >= found.pre_actuation


@pytest.mark.parametrize(("modes", "error"), [(1, 0.67e-3), (2, 0.20e-3), (3, 0.042e-3)])
def test_tip_error_on_the_full_plant_falls_with_the_modes_of_the_inverse(modes, error):
    """Open loop on 41 modes; the wanted motion begins after the pre-actuation."""
    found = inverse(5.0, 0.3, modes)
    result = run(found)
    wanted = Polynomial(0.0, np.radians(5.0), 0.3, degree=9)(np.maximum(result.t - found.lead, 0.0))[0]
    assert 0.96 * np.abs(result["chord1_angle"] - wanted).max() == pytest.approx(error, rel=0.15)


def test_six_modes_leave_less_than_four_micrometres():
    found = inverse(5.0, 0.3, 6)
    result = run(found)
    wanted = Polynomial(0.0, np.radians(5.0), 0.3, degree=9)(np.maximum(result.t - found.lead, 0.0))[0]
    assert 0.96 * np.abs(result["chord1_angle"] - wanted).max() < 4e-6


def test_predicted_motions_are_what_the_plant_does():
    found = inverse(5.0, 0.3, 6)
    result = run(found)
    for name in ("joint1_angle", "chord1_angle"):
        value = found.references[name](result.t)[0]
        assert np.abs(result[name] - value).max() < 1e-3 * np.abs(value).max()


def test_a_law_on_deviations_holds_a_wrong_payload():
    """With 10 g instead of none the open loop misses; the LQG on deviations brings the tip back."""
    script = fx.load_controller("tokhi_azad_lqg")
    nominal = fx.load_plant(script.PLANT)
    found, law = inverse(5.0, 0.4, 3), deviation(script.design(nominal))
    assert law.follows == ("joint1_angle", "chord1_angle")
    heavier = arm().with_(payload={"mass": 0.01})
    inputs = {"joint1_torque": found.torque}
    options = {"inputs": inputs, "duration": 1.5, "method": "march"}
    closed = fx.simulate(heavier, law, dict(found.references), **options)
    free = fx.simulate(heavier, **options)
    target = np.radians(5.0)
    assert np.abs(free["chord1_angle"][free.t > 1.0] - target).max() > 0.1 * target
    assert np.abs(closed["chord1_angle"][closed.t > 1.0] - target).max() < 0.01 * target


def test_bad_motions_are_refused():
    plant = arm().linearise()
    with pytest.raises(fx.DefinitionError, match="acceleration jumps"):
        stable_inversion(plant, Polynomial(0.0, 1.0, 0.5, degree=3), modes=2, **NAMES)
    with pytest.raises(fx.DefinitionError, match="too short for the pre-actuation"):
        stable_inversion(plant, Polynomial(0.0, 0.1, 0.3, degree=9), modes=2, room=0.02, **NAMES)
    with pytest.raises(fx.DefinitionError, match="does not move"):
        stable_inversion(plant, Polynomial(1.0, 1.0, 0.5, degree=9), modes=2, **NAMES)


def test_tabulated_motion_converges_at_sixth_order():
    exact = quintic(0.0, 1.0, 1.0)
    sine = np.sin

    def error(n):
        t = np.linspace(0.0, 1.0, n + 1)
        table = Tabulated(t, sine(3 * t), 3 * np.cos(3 * t), -9 * sine(3 * t))
        x = np.linspace(0.0, 1.0, 997)
        return np.abs(table(x)[0] - sine(3 * x)).max()

    assert np.log2(error(4) / error(8)) == pytest.approx(6.0, abs=0.3)
    t = np.linspace(0.0, 1.0, 4)
    value, rate, acceleration = Tabulated(t, *exact(t))(np.array([-1.0, 0.35, 2.0]))
    assert value == pytest.approx([0.0, float(exact(0.35)[0]), 1.0], abs=1e-14)
    assert rate[[0, 2]] == pytest.approx([0.0, 0.0])
    assert acceleration[1] == pytest.approx(float(exact(0.35)[2]))
