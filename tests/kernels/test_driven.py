"""Driven joints in the common step: what they cost it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import flexctl as fx
from flexctl.kernels.driven import BORDERED, Set
from flexctl.models.wrappers import driven_stepper
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


@pytest.mark.filterwarnings("ignore::flexctl.AccuracyWarning")  # given steps
@pytest.mark.parametrize(("name", "kind", "law", "most"), [
    ("planar_2r_flexible", "timoshenko_planar", "lugre", 1.07),  # 1.12 where bristles are judged by their rate alone
    ("planar_2r_flexible", "timoshenko_planar", "tanh", 1.15),
    ("spatial_3r", "timoshenko_spatial", "tanh", 1.15),  # 1.25 where one look is for the rest of a step
])
def test_joints_that_stick_and_slide_cost_few_corrections(name: str, kind: str, law: str, most: float) -> None:
    """Where joints do as their tangents say, corrections are the arm's own; smooth steps keep what they know."""
    given = {"lugre": {"bristle_stiffness": 40.0, "bristle_damping": 0.01}, "tanh": {"creep_rate": 1e-2}}
    rubbing = fx.Joint(hub_inertia=0.02, friction=0.1, friction_law=fx.Friction(kind=law, coulomb=0.02, **given[law]))
    plain, work = fx.load_plant(name).arm, []
    for joint in (fx.Joint(hub_inertia=0.02), rubbing):
        model = fx.build(replace(plain, joints=(joint,) * len(plain.joints)), kind)
        torques = [f"joint{i}_torque" for i in range(1, len(plain.joints) + 1)]
        pushes = dict(zip(torques, (Sine(push, 1.0) for push in (0.2, -0.08, 0.05)), strict=False))
        work.append(fx.simulate(model, inputs=pushes, duration=1.0, step=1e-3).provenance)
    assert work[1]["iterations"] / work[1]["steps"] <= most * work[0]["iterations"] / work[0]["steps"]


@pytest.mark.filterwarnings("ignore::flexctl.AccuracyWarning")  # given steps
def test_stiffnesses_in_the_factors_and_at_the_border_give_the_same_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Springs that stiffen, limits and friction move away from what was factored: the border has the difference."""
    motor = fx.Motor(torque_constant=0.05, resistance=1.0, rotor_inertia=1e-5, gear_ratio=50.0, max_current=2.0)
    friction = fx.Friction(kind="lugre", coulomb=0.05, bristle_stiffness=50.0, bristle_damping=0.05)
    spring = fx.Joint(hub_inertia=0.02, stiffness=50.0, cubic_stiffness=1e5, damping=0.05, rotor_inertia=0.02)
    limited = fx.Joint(hub_inertia=0.02, drive="voltage", motor=motor, friction=0.1, friction_law=friction)
    plain = fx.load_plant("planar_2r_flexible").arm
    model = fx.build(replace(plain, joints=(limited, spring)), "assumed_modes", modes=1)
    pushes = {s.name: Sine(5.0 - 6.0 * i, 2.0) for i, s in enumerate(model.inputs[:2])}

    def outputs() -> np.ndarray:
        return fx.simulate(model, inputs=pushes, duration=0.3, step=1e-3).y

    inside, made = outputs(), driven_stepper.joints

    def soft(*given: Any) -> Any:
        return made(*given[:-1], False)

    monkeypatch.setattr(driven_stepper, "joints", soft)
    assert np.abs(inside - outputs()).max() < 1e-7 * np.abs(inside).max()


@pytest.mark.filterwarnings("ignore::flexctl.AccuracyWarning")  # given steps
def test_drives_of_constant_stiffness_leave_no_border(monkeypatch: pytest.MonkeyPatch) -> None:
    """Motors and linear springs are in the factors: a correction takes nothing besides."""
    sets: list[Set] = []
    made = driven_stepper.joints

    def kept(*given: Any) -> Set:
        sets.append(made(*given))
        return sets[-1]

    monkeypatch.setattr(driven_stepper, "joints", kept)
    motor = fx.Motor(torque_constant=0.05, back_emf_constant=0.05, resistance=1.0, rotor_inertia=1e-5, gear_ratio=50.0)
    joint = fx.Joint(hub_inertia=0.02, drive="voltage", motor=motor, friction=0.1, stiffness=200.0, damping=0.2)
    arm = replace(fx.load_plant("planar_2r_flexible").arm, joints=(joint, joint))
    model = fx.build(arm, "assumed_modes", modes=1)
    fx.simulate(model, inputs={s.name: Sine(2.0, 1.0) for s in model.inputs[:2]}, duration=0.05, step=1e-3)
    assert sets
    assert all(drives.outputs[BORDERED] == 0 and drives.held.all() for drives in sets)
