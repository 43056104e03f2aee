"""What motors are told so that torques reach the links, against the equations of one joint and against rest."""

from __future__ import annotations

import numpy as np
import pytest

import flexctl as fx
from flexctl.abilities import within
from flexctl.models.wrappers.motor_commands import motor_commands


def arm(drive: str = "voltage", weight: float = 0.0, efficiency: float = 1.0) -> fx.Plant:
    motor = {"gear_loss": "directed", "gear_efficiency": efficiency, "motor_efficiency": 0.8}
    changes = {"joint.1.drive": drive, "gravity.y": weight, "model.elements": 2}
    changes |= {f"motor.srv02.{key}": value for key, value in motor.items()}
    return fx.load_plant("quanser_flexible_link", overrides=changes, sensor=[])


@pytest.mark.parametrize("drive", ["voltage", "current"])
def test_one_joint_by_hand(drive: str) -> None:
    plant = arm(drive)
    joint, (link,) = plant.arm.joints[0], plant.arm.links
    motor = joint.motor
    assert motor is not None
    q, w, a = np.array([[0.2], [0.4]]), np.array([[0.5], [-0.3]]), np.array([[2.0], [1.0]])
    inertia = joint.hub_inertia + link.mass * link.length**2 / 3.0 + motor.gear_ratio**2 * motor.rotor_inertia
    push = 0.8 * motor.gear_ratio * motor.torque_constant
    current = (inertia * a + joint.friction * w) / push
    wanted = current if drive == "current" else motor.resistance * current + motor.gear_ratio * motor.back_emf * w
    torques = within(plant.model).rigid_torques(q, w, a)
    np.testing.assert_allclose(motor_commands(plant.model, torques, w, a), wanted, rtol=1e-5)  # sections turn, too


def test_before_a_move_the_motor_carries_the_weight() -> None:
    plant = arm(weight=-9.81, efficiency=0.7)
    law = fx.joint_pids(plant.linearise(), crossover=2.0, phase_margin_deg=88.0, sample_time=1e-3)
    fed = fx.references(plant, {"joint1": fx.quintic(0.0, 0.5, 1.0)}, law)["joint1_feedforward"]
    held = fx.rest_point(plant).u[0]
    assert float(fed(np.array([0.0]))[0][0]) == pytest.approx(held, rel=1e-2)


def test_losses_of_a_loaded_gear_are_left_out_at_rest() -> None:
    """They were linearised where their sign turns: viscous friction of 1e5 N m s/rad, and no joint moved."""
    lossy, ideal = (arm(weight=-9.81, efficiency=x).linearise() for x in (0.7, 1.0))
    np.testing.assert_allclose(lossy.D, ideal.D, atol=1e-9)
    assert "losses of the gear" in lossy.provenance["joints"]
    stuck = arm(weight=-9.81, efficiency=0.7).linearise(friction="stick")
    assert np.abs(stuck.D).max() > 1e3
    level = arm(efficiency=0.7).linearise()  # what drives it turns it less than the plant says: that is told, too
    assert level.provenance["joints"] == "joint1: losses of the gear under no load left out"


def test_losses_of_a_gear_go_the_way_of_the_power() -> None:
    """Turning without a load they went the way that rounding of the torque had."""
    J, Jm = 2e-3, 70.0**2 * 4.606e-7
    signals = {"inputs": ["joint1_torque [N m]"], "coordinates": ["joint1 [rad]"], "outputs": ["joint1_angle [rad]"]}
    load = fx.from_matrices([[J]], None, [[0.0]], [[1.0]], [[1.0]], **signals)
    motor = fx.Motor(gear_ratio=70.0, torque_constant=7.68e-3, rotor_inertia=4.606e-7, gear_efficiency=0.7)
    model = fx.driven_joints(load, {"joint1_torque": fx.Joint(motor=motor, stiffness=5.0)})
    loaded = (1e-3, 0.7, "drives"), (-1e-3, 1.0 / 0.7, "is driven by")
    for load_, eta, word in (*loaded, (1e-17, 1.0, "left out"), (-1e-17, 1.0, "left out")):
        q = np.array([0.0, load_ / 5.0])
        a = np.array([load_ / J, 0.0])
        point = fx.OperatingPoint(q, np.full(2, 3.0), a, np.array([load_ / eta]))
        plant = fx.linearise(model, point)
        assert plant.M[1, 1] == pytest.approx(Jm)
        assert -plant.K[1, 0] == pytest.approx(5.0 / eta)
        assert word in plant.provenance["joints"]
