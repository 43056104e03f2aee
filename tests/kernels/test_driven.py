"""Driven joints in the common step: what they cost it."""

from __future__ import annotations

from dataclasses import replace

import pytest

import flexctl as fx
from flexctl.motion.moves import Sine

MESH = {"assumed_modes": {"modes": 2}, "ancf": {"elements": 2}}


@pytest.mark.filterwarnings("ignore::flexctl.AccuracyWarning")  # given steps
@pytest.mark.parametrize("kind", MESH)
@pytest.mark.parametrize("drive", ["motor", "spring"])
def test_joints_at_the_border_of_kept_factors_cost_no_corrections(kind: str, drive: str) -> None:
    """What a torque moves, and what the drive takes of it, are in the matrix of the step: it converges as without."""
    motor = fx.Motor(torque_constant=0.05, back_emf_constant=0.05, resistance=1.0, rotor_inertia=1e-5, gear_ratio=50.0)
    driven = {
        "motor": fx.Joint(hub_inertia=0.02, drive="voltage", motor=motor, friction=0.1),
        "spring": fx.Joint(hub_inertia=0.02, stiffness=200.0, damping=0.2, rotor_inertia=0.02),
    }
    plain = fx.load_plant("planar_2r_flexible").arm
    work = []
    for joint in (fx.Joint(hub_inertia=0.02), driven[drive]):
        model = fx.build(replace(plain, joints=(joint, joint)), kind, **MESH[kind])
        pushes = {s.name: Sine(2.0 - 2.8 * i, 1.0) for i, s in enumerate(model.inputs[:2])}
        work.append(fx.simulate(model, inputs=pushes, duration=0.5, step=1e-3).provenance)
    assert work[1]["steps"] == work[0]["steps"] == 500
    assert work[1]["iterations"] <= 1.15 * work[0]["iterations"]
    assert work[1]["factorisations"] <= 1.15 * work[0]["factorisations"] + 5


@pytest.mark.filterwarnings("ignore::flexctl.AccuracyWarning")  # given steps
@pytest.mark.parametrize("kind", ["timoshenko_planar", "finite_segment"])
def test_smooth_stretches_of_joints_with_kinks_cost_no_corrections(kind: str) -> None:
    """Limits that are not reached, and dry friction at speed, leave a joint its tangent: one correction does."""
    motor = fx.Motor(torque_constant=0.05, resistance=1.0, gear_ratio=50.0, max_voltage=10.0, max_current=8.0)
    friction = fx.Friction(kind="lugre", coulomb=0.05, bristle_stiffness=50.0, bristle_damping=0.05)
    drive = {"hub_inertia": 0.02, "drive": "voltage", "motor": motor, "friction": 0.1}
    plain = fx.load_plant("planar_2r_flexible").arm
    work = []
    for joint in (fx.Joint(hub_inertia=0.02), fx.Joint(**drive), fx.Joint(**drive, friction_law=friction)):
        model = fx.build(replace(plain, joints=(joint, joint)), kind)
        pushes = {s.name: Sine(1.0 - 1.4 * i, 1.0) for i, s in enumerate(model.inputs[:2])}
        run = fx.simulate(model, inputs=pushes, duration=0.5, step=1e-3)
        work.append(run.provenance["iterations"] / run.provenance["steps"])
    assert work[1] <= 1.1 * work[0]
    assert work[2] <= 1.6 * work[0]  # it begins at rest
