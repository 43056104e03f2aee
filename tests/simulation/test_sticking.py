"""Joints that stick: steps twice as long say how wrong a run is, in half of its time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from test_given_steps import work_of

import flexctl as fx
from flexctl.simulation.given_steps import uncompared

STEP, LENGTH = 1e-3, 1.0
ONCE = round(LENGTH / STEP)
JOINTS = {
    "lugre": fx.Joint(
        hub_inertia=0.02, friction=0.1,
        friction_law=fx.Friction(kind="lugre", coulomb=0.05, static=0.07, bristle_stiffness=40.0, bristle_damping=0.05),
    ),
    "tanh": fx.Joint(hub_inertia=0.02, friction_law=fx.Friction(kind="tanh", coulomb=0.05, creep_rate=5e-3)),
    "play": fx.Joint(hub_inertia=0.02, friction=0.05, stiffness=200.0, damping=0.2, rotor_inertia=0.02, backlash=1e-3),
}


def arm(joint: fx.Joint) -> Any:
    """Return two links with such joints."""
    plain = fx.load_plant("planar_2r_flexible").arm
    return fx.build(replace(plain, joints=(joint, joint)), "assumed_modes", modes=1)


def run_of(joint: fx.Joint, push: float = 0.5, **options: Any) -> tuple[fx.Response, int]:
    """Return a run that is pushed to and fro, and the steps of all its passes."""
    pushes = {"joint1_torque": fx.Sine(push, 1.5), "joint2_torque": fx.Sine(-0.4 * push, 1.5)}
    run, work = work_of(arm(joint), inputs=pushes, duration=LENGTH, **options)
    return run, sum(one["steps"] for one in work)


@pytest.mark.parametrize("kind", JOINTS)
def test_steps_twice_as_long_tell_the_error_of_joints_that_stick(kind: str) -> None:
    run, steps = run_of(JOINTS[kind], step=STEP)
    assert steps == 1.5 * ONCE
    with uncompared():
        exact = run_of(JOINTS[kind], step=STEP / 32)[0]
    for name, claimed in run.error.items():
        if np.isnan(claimed):
            continue
        error = np.abs(run[name] - exact[name][::32]).max()
        assert error <= 1.02 * claimed + 1e-9, name
    worst = max(run.error[name] / np.ptp(run[name]) for name in ("joint1_angle", "joint2_angle"))
    assert worst < 0.05  # it is no bound that any run would keep


def test_steps_that_follow_the_error_stop_where_longer_ones_say_that_they_are_good() -> None:
    run, steps = run_of(JOINTS["lugre"], rtol=0.08)
    once = run.t.size - 1
    assert steps == once / 2  # behind the first pass
    assert max(run.error[name] / np.ptp(run[name]) for name in ("joint1_angle", "joint2_angle")) <= 0.08
    strict, more = run_of(JOINTS["lugre"], rtol=1e-2)
    assert more > 2 * once
    assert strict.error["joint1_angle"] < run.error["joint1_angle"]


def test_half_steps_are_compared_where_a_force_jumps_and_where_longer_ones_would_miss_what_swings() -> None:
    blow = {"joint1_torque": fx.bang_bang(0.5, 0.5)}
    work = work_of(arm(JOINTS["lugre"]), inputs=blow, duration=LENGTH, step=STEP)[1]
    assert sum(one["steps"] for one in work) == 3 * ONCE
    assert run_of(JOINTS["lugre"], step=2 * STEP)[1] == 1.5 * ONCE  # half as many, thrice
