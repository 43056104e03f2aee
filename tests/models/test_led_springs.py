"""Flexible joints whose motor's side follows a motion: `drive = "motion"` with a stiffness.

Segments and transfer matrices have them by themselves (their joint's angle is the motor's), all others in the layer.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import flexctl as fx
from flexctl.abilities import led_of, steps_itself
from flexctl.exact.transfer_matrix import TransferMatrixArm
from flexctl.machine.given import as_model
from flexctl.motion.moves import Part
from flexctl.simulation.commanded import commanded
from flexctl.testing.abilities import check_abilities

SPRING = {"hub_inertia": 0.02, "stiffness": 200.0, "damping": 0.2, "rotor_inertia": 0.03}
LED = fx.Joint(drive="motion", friction=0.3, **SPRING)
SERVO = fx.Joint(hub_inertia=0.02, drive="servo", servo_stiffness=200.0, servo_damping=0.2)
MESHES: dict[str, dict[str, Any]] = {
    "timoshenko_planar": {"elements": 3}, "assumed_modes": {"modes": 2},
    "ancf": {"elements": 3}, "timoshenko_spatial": {"elements": 3},
}
MOVES = {"joint1": fx.quintic(0.1, 0.5, 0.2), "joint2": fx.quintic(0.2, -0.3, 0.2)}


def arm(*joints: fx.Joint, **more: Any) -> fx.Arm:
    """Return two links with such joints."""
    return replace(fx.load_plant("planar_2r_flexible").arm, joints=joints, **more)


@pytest.mark.parametrize("kind", MESHES)
def test_a_spring_that_is_led_is_a_servo_without_the_motor_and_tells_its_torque(kind: str) -> None:
    led, servo = (fx.build(arm(joint, joint), kind, **MESHES[kind]) for joint in (LED, SERVO))
    run, other = (fx.simulate(plant, motions=MOVES, duration=0.25, step=2.5e-4) for plant in (led, servo))
    for name in ("joint1_angle", "joint2_angle", "tip_y", "elbow_strain"):
        np.testing.assert_allclose(run[name], other[name], rtol=0, atol=2e-5 * np.ptp(other[name]))
    for name, motion in MOVES.items():
        value, rate, acceleration = motion(run.t)
        np.testing.assert_allclose(run[f"{name}_motor_angle"], value, rtol=0, atol=1e-5)
        spring = 200.0 * (value - run[f"{name}_angle"]) + 0.2 * (rate - run[f"{name}_rate"])
        torque = spring + 0.03 * acceleration + 0.3 * rate
        inside = slice(8, -240)  # at both ends the acceleration jumps
        np.testing.assert_allclose(run[f"{name}_torque"][inside], torque[inside], rtol=0, atol=0.02)
    assert names_of(led)[:2] == ["joint1_acceleration", "joint2_acceleration"]


def names_of(model: Any) -> list[str]:
    return fx.names(model.inputs)


@pytest.mark.parametrize("kind", MESHES)
def test_the_linear_plant_is_the_exact_one(kind: str) -> None:
    given = arm(LED, LED)
    plant = fx.linearise(fx.build(given, kind, **{key: 4 * n for key, n in MESHES[kind].items()}))
    exact = TransferMatrixArm(given)
    w = 2.0 * np.pi * np.array([0.7, 3.0, 6.0])
    outputs, inputs = fx.names(exact.outputs), names_of(exact)
    found, sure = plant.transfer(1j * w), exact.transfer(1j * w)
    for output in ("tip_y", "tip_x", "chord1_angle", "joint1_torque", "joint2_torque"):
        for source in ("joint1_acceleration", "joint2_acceleration"):
            ours = found[fx.names(plant.outputs).index(output), names_of(plant).index(source)]
            theirs = sure[outputs.index(output), inputs.index(source)]
            np.testing.assert_allclose(ours, theirs, rtol=0.02, atol=1e-9 + 0.01 * np.abs(theirs).max(), err_msg=output)


@pytest.mark.parametrize("joints", [
    (LED, fx.Joint(hub_inertia=0.02)), (fx.Joint(hub_inertia=0.02), LED), (LED, fx.Joint(drive="motion")),
    (fx.Joint(drive="motion", friction=0.2), LED),
    (replace(LED, backlash=1e-3, friction_law=fx.Friction("lugre", coulomb=0.1, bristle_stiffness=50.0)), LED),
], ids=["led and torque", "torque and led", "led and rigid", "rigid and led", "play and bristles"])
def test_what_stands_beside_it(joints: tuple[fx.Joint, fx.Joint]) -> None:
    model = fx.build(arm(*joints), "assumed_modes", modes=1)
    check_abilities(model)
    for name, signal in zip(led_of(model), model.inputs, strict=False):
        assert signal.name == f"{name.removesuffix('_motor')}_acceleration"
    moves = {f"joint{i}": MOVES[f"joint{i}"] for i, joint in enumerate(joints, 1) if joint.drive == "motion"}
    run = fx.simulate(model, motions=moves, duration=0.03, step=1e-3, initial=None)
    for name, motion in moves.items():
        angle = f"{name}_motor_angle" if f"{name}_motor_angle" in fx.names(model.outputs) else f"{name}_angle"
        np.testing.assert_allclose(run[angle], motion(run.t)[0], rtol=0, atol=1e-4)


@pytest.mark.parametrize("kind", MESHES)
def test_it_begins_where_the_weight_leaves_it(kind: str) -> None:
    given = arm(LED, LED, gravity=(0.0, -9.81, 0.0))
    still = {"joint1": fx.Step(0.4, 0.4), "joint2": fx.Step(0.2, 0.2)}
    run = fx.simulate(fx.build(given, kind, **MESHES[kind]), motions=still, duration=0.02, step=1e-3)
    for name in ("joint1_angle", "joint1_motor_angle", "joint2_motor_angle", "tip_y", "joint1_torque"):
        assert np.ptp(run[name]) <= 1e-7 * np.abs(run[name]).max(), name
    assert run["joint1_motor_angle"][0] == pytest.approx(0.4, abs=1e-11)
    assert run["joint1_torque"][0] == pytest.approx(200.0 * (0.4 - run["joint1_angle"][0]), rel=1e-6)


def test_segments_lead_their_motors_to_the_same_place() -> None:
    layer, own = (
        fx.simulate(fx.build(arm(LED, LED), kind, **mesh), motions=MOVES, duration=0.25, step=5e-4)
        for kind, mesh in (("timoshenko_planar", {"elements": 12}), ("finite_segment", {"segments": 24}))
    )
    for name, other in (("tip_y", "tip_y"), ("joint1_motor_angle", "joint1_angle"), ("joint1_torque", "joint1_torque")):
        inside = slice(4, -120)  # at both ends the acceleration jumps
        off = np.abs(layer[name] - own[other])[inside].max()
        assert off <= 3e-3 * np.ptp(own[other]), name


def test_finite_differences_are_led_too() -> None:
    given = fx.load_plant("tokhi_azad_1994").arm
    led = replace(given.joints[0], drive="motion", stiffness=20.0, damping=0.02, rotor_inertia=1e-3)
    model = fx.build(replace(given, joints=(led,)), "finite_difference")
    assert names_of(model)[0] == "joint1_acceleration"
    held = replace(given.joints[0], drive="servo", servo_stiffness=20.0, servo_damping=0.02)
    servo = fx.build(replace(given, joints=(held,)), "finite_difference")
    push = fx.quintic(0.0, 0.1, 0.2)
    run = fx.simulate(model, inputs={"joint1_acceleration": fx.acceleration_of(push)}, duration=0.3, step=1e-3)
    command = {"joint1_command": Part(push, 0), "joint1_command_rate": Part(push, 1)}
    other = fx.simulate(servo, inputs=command, duration=0.3, step=1e-3)
    tip = next(name for name in fx.names(model.outputs) if name.startswith("tip"))
    np.testing.assert_allclose(run[tip], other[tip], rtol=0, atol=1e-5 * np.ptp(other[tip]))


@pytest.mark.parametrize("kind", [*MESHES, "finite_segment"])
def test_motors_that_torques_drive_are_led_where_they_are_commanded(kind: str) -> None:
    """The run is the same, in compiled steps; of segments, whose own springs are led otherwise, that of the layer."""
    mesh, torque = MESHES.get(kind, {"segments": 6}), replace(LED, drive="torque")
    models = [fx.build(arm(one, one), kind, **mesh) for one in (torque, LED)]
    assert steps_itself(commanded(as_model(models[0]), None, MOVES, {}).plant)  # plain ones take 200 times as long
    runs = [fx.simulate(model, motions=MOVES, duration=0.25, step=2.5e-4) for model in models]
    for name in ("tip_y", "joint1_torque", "joint2_torque", "elbow_strain"):
        led = runs[1][name] if name in fx.names(runs[1].outputs) else runs[1].u[:, int(name[5]) - 1]
        off = np.abs(runs[0][name] - led)[4:-120].max()
        assert off <= (1e-12 if kind != "finite_segment" else 3e-3) * np.ptp(led), name


def test_a_torque_is_not_given_to_a_motor_that_is_commanded() -> None:
    model = fx.build(arm(replace(LED, drive="torque"), replace(LED, drive="torque")), "assumed_modes", modes=1)
    with pytest.raises(fx.DefinitionError, match="joint is commanded"):
        fx.simulate(model, motions=MOVES, inputs={"joint1_torque": fx.Sine(1.0, 1.0)}, duration=0.05)


@pytest.mark.parametrize(("stiffness", "angle"), [(2.0, -1.5), (5.0, 0.3), (20.0, -1.2)])
def test_an_arm_hangs_from_soft_springs_where_it_stays(stiffness: float, angle: float) -> None:
    """Weight that turns the arm more than its springs do, and a second rest, above, that does not last."""
    soft = replace(LED, stiffness=stiffness, friction=0.0)
    model = fx.build(arm(soft, soft, gravity=(0.0, -9.81, 0.0)), "timoshenko_planar", elements=2)
    still = {"joint1": fx.Step(angle, angle), "joint2": fx.Step(0.2, 0.2)}
    run = fx.simulate(model, motions=still, duration=0.3, step=1e-3)
    assert run["joint1_motor_angle"][0] == pytest.approx(angle, abs=2e-9)
    assert np.ptp(run["joint1_angle"]) < 1e-7


def test_an_arm_in_space_hangs_although_its_rest_is_rounded() -> None:
    joint = fx.Joint(hub_inertia=0.02, stiffness=200.0, damping=0.2, rotor_inertia=0.02, drive="motion")
    model: Any = fx.build(replace(fx.load_plant("spatial_3r").arm, joints=(joint,) * 3), "timoshenko_spatial")
    q, _ = model.start({f"joint{i}": (0.0, 0.0) for i in (1, 2, 3)})
    known = fx.names(model.coordinates)
    assert q[known.index("joint2")] == pytest.approx(0.576468783, abs=1e-8)
    assert max(abs(q[known.index(f"joint{i}_motor")]) for i in (1, 2, 3)) < 1e-9
