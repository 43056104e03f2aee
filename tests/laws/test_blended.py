"""Gain scheduling: at a design point the loop is that design; on the bending two-link arm it serves every pose."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import flexctl as fx
from flexctl.design.lqg import LqgWeights, lqg
from flexctl.laws.blended import Blended, blended
from flexctl.laws.controller import Delayed, LinearLaw
from flexctl.linear.interconnect import closed_loop
from flexctl.motion.moves import quintic

JOINTS, TORQUES = ("joint1_angle", "joint2_angle"), ("joint1_torque", "joint2_torque")
POSES = (0.0, np.pi / 4, np.pi / 2, 3 * np.pi / 4)


@cache
def arm():
    damping = {"kind": "rayleigh", "beta": 6.4e-5}
    return fx.load_plant("planar_2r_flexible", overrides={"model.elements": 6, "damping": damping})


@cache
def plant(elbow: float):
    model = arm().model
    return arm().linearise(fx.OperatingPoint.at_rest(model, model.pose([0.0, elbow])))


@cache
def designs():
    weights = LqgWeights(rate=1e-3, energy=1e-4, integral=25.0, command=3e-3, disturbance=0.1, noise=(1e-8, 1e-8))
    return tuple(
        lqg(plant(pose), weights, modes=2, sample_time=1e-3, measures=JOINTS, drive=TORQUES, follow=JOINTS, limit=30.0)
        for pose in POSES
    )


def growth(elbow: float, law) -> float:
    """Largest real part of the loop's poles [1/s]."""
    z = closed_loop(plant(elbow).discrete(1e-3), law.feedback()).poles()
    return float(np.log(np.abs(z).max()) / 1e-3)


def test_between_and_at_design_points_the_loop_is_stable():
    law = blended(designs(), POSES, "joint2_angle").law
    for elbow in np.linspace(0.0, POSES[-1], 7):
        assert growth(elbow, Delayed(law.frozen(elbow), 1)) < -1.0
    for pose, design in zip(POSES, designs(), strict=True):
        assert growth(pose, Delayed(law.frozen(pose), 1)) == pytest.approx(growth(pose, design), rel=1e-6)
    # one design does not serve all poses: the one for the folded arm hardly settles the stretched one
    assert growth(POSES[0], designs()[-1]) > -0.5


def test_the_frozen_law_steps_like_the_schedule():
    law = blended(designs(), POSES, "joint2_angle").law
    frozen, rng = law.frozen(0.6), np.random.default_rng(0)
    one, other = law.initial(), frozen.initial()
    for _ in range(4):
        y, r = np.array([rng.standard_normal(), 0.6]), rng.standard_normal(6)
        u, one = law.step(one, 0.0, y, r)
        v, other = frozen.step(other, 0.0, y, r)
        assert u == pytest.approx(v, abs=1e-10)


def test_it_moves_the_nonlinear_arm_through_all_poses():
    motions = {"joint1_angle": quintic(0.0, 1.0, 1.5), "joint2_angle": quintic(0.0, 2.2, 1.5)}
    law = blended(designs(), POSES, "joint2_angle")
    run = fx.simulate(arm(), law, motions, duration=3.5, step=5e-4)
    assert abs(run["joint1_angle"][-1] - 1.0) < 2e-3
    assert abs(run["joint2_angle"][-1] - 2.2) < 2e-3
    assert run.scores["joint2_angle.settle_1pct_s"] < 2.5


def test_the_scheduling_output_may_be_another_than_the_measured_ones():
    law = LinearLaw(0.01, ("y",), ("u",), Dy=np.array([[1.0]]))
    double = LinearLaw(0.01, ("y",), ("u",), Dy=np.array([[2.0]]))
    both = Blended((law, double), (0.0, 1.0), "p")
    assert both.measures == ("y", "p")
    for value, gain in ((-1.0, 1.0), (0.25, 1.25), (3.0, 2.0)):
        assert both.step(both.initial(), 0.0, np.array([3.0, value]), np.zeros(0))[0] == pytest.approx([3.0 * gain])


def test_bad_schedules_are_named():
    law = LinearLaw(0.01, ("y",), ("u",), Dy=np.array([[1.0]]))
    with pytest.raises(fx.DefinitionError, match="not ascending"):
        Blended((law, law), (1.0, 0.0), "p")
    with pytest.raises(fx.DefinitionError, match="1 laws for 2 points"):
        Blended((law,), (0.0, 1.0), "p")
    with pytest.raises(fx.DefinitionError, match="differ in their limits"):
        Blended((law, law.limited(-1.0, 1.0)), (0.0, 1.0), "p")
    with pytest.raises(fx.DefinitionError, match="different delays"):
        blended((Delayed(law, 1), Delayed(law, 2)), (0.0, 1.0), "p")


def test_every_law_of_the_blend_begins_where_the_arm_stands() -> None:
    start = [[2.0]]
    laws = [fx.LinearLaw(1e-3, ("a",), ("u",), A=[[0.5]], By=[[k]], C=[[1.0]], start=start) for k in (1.0, 3.0)]
    blend = Blended(laws, (0.0, 1.0), "b")
    states = fx.Delayed(blend).initial_at(np.array([0.7, 0.2]))[0]
    assert [float(x[0]) for x in states] == [1.4, 1.4]
    assert blend.frozen(0.2).initial_at(np.array([0.7])).tolist() == [1.4, 1.4]
