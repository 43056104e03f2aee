"""Steps of joints with dry friction: where it turns round, and what no step can follow."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from test_driven_joints import FORMULATIONS, LUGRE, TANH, plain, rigid, step

import flexctl as fx


@pytest.mark.filterwarnings("ignore::flexctl.AccuracyWarning")  # given steps, the same in both runs
@pytest.mark.parametrize("kind", ["timoshenko_planar", "assumed_modes"])
def test_friction_that_turns_round_within_a_small_rate_is_solved(kind: str) -> None:
    """Two joints without hubs, on nodes so light that a step's rates lie far on either side of the friction's slope."""
    joint = fx.Joint(friction=0.05, friction_law=fx.Friction("tanh", coulomb=0.3, creep_rate=1e-3))
    arm = replace(fx.load_plant("planar_2r_flexible").arm, joints=(joint, joint), sensors=())
    model = fx.build(arm, kind, **{key: 3 if key != "modes" else 2 for key in FORMULATIONS[kind]})
    fine = fx.trapezoidal(tolerance=1e-11)
    inputs = {"joint1_torque": fx.PiecewiseConstant((0.0, 4e-3), (0.0, 2.0, -2.0))}
    runs = [fx.simulate(one, inputs=inputs, duration=8e-3, step=5e-4, scheme=fine) for one in (model, plain(model))]
    for name in ("joint1_angle", "joint2_angle", "tip_y"):
        assert np.abs(runs[0][name] - runs[1][name]).max() <= 1e-6 * np.abs(runs[1][name]).max()
    assert runs[0]["joint1_friction"].max() == pytest.approx(0.3, rel=0.2)


def test_steps_are_not_halved_for_what_none_can_follow() -> None:
    """A torque that jumps on joints without hubs rings far beyond the steps: that is warned of, the rest is right."""
    joint = fx.Joint(friction=0.05, friction_law=fx.Friction("tanh", coulomb=0.3, creep_rate=1e-3))
    arm = replace(fx.load_plant("planar_2r_flexible").arm, joints=(joint, joint))
    model = fx.build(arm, "timoshenko_planar")
    with pytest.warns(fx.AccuracyWarning, match=r"elbow_strain.* not resolved above"):
        run = fx.simulate(model, inputs={"joint1_torque": step(2.0)}, duration=0.1)
    assert run.provenance["steps"] < 25000  # with six halvings 200000
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        finer = fx.simulate(model, inputs={"joint1_torque": step(2.0)}, duration=0.1, step=5e-6)
    for name in ("joint1_angle", "joint2_angle", "chord1_angle", "tip_x", "tip_y"):
        off = np.abs(run[name] - np.interp(run.t, finer.t, finer[name])).max()
        assert off <= run.error[name] < 0.015 * np.ptp(run[name])


def test_a_correction_ends_where_friction_turns_round() -> None:
    tanh, lossy = rigid("torque", friction_law=TANH), rigid("current", motor={"gear_efficiency": 0.9})
    rate, away = np.array([0.5]), np.array([-2.0])
    for model in (tanh, lossy):
        assert model.reach(rate, away) == pytest.approx(0.25)
        assert model.reach(-rate, -away) == pytest.approx(0.25)
        assert model.reach(rate, -rate) == model.reach(rate, rate) == model.reach(np.zeros(1), away) == 1.0
    bristles = rigid("torque", friction_law=LUGRE)
    assert bristles.reach(np.array([0.5, 0.0]), np.array([-2.0, 0.0])) == 1.0
