"""Where an arm with drives in its joints rests under its weight: as without them, springs wound by what they carry."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import flexctl as fx
from flexctl.abilities import Restable
from flexctl.testing.abilities import ABILITIES

BRISTLES = fx.Friction("lugre", coulomb=2.0, bristle_stiffness=2e4, bristle_damping=20.0)
MOTOR = {"gear_ratio": 70.0, "torque_constant": 7.68e-3, "resistance": 2.6}
ANGLES = (0.2, -0.6, 0.9)


def arm(**joint: Any) -> tuple[Any, Any]:
    """Return the spatial arm under its weight with and without something in its last two joints."""
    plant = fx.load_plant("spatial_3r")
    joints = plant.arm.joints
    changed = [joints[0], *(replace(x, **joint) for x in joints[1:])]
    return replace(plant, arm=replace(plant.arm, joints=tuple(changed))).model, plant.model


@pytest.mark.parametrize(
    "joint",
    [
        {"friction_law": BRISTLES},
        {"drive": "voltage", "motor": fx.Motor(**MOTOR, inductance=1e-3)},
    ],
    ids=["bristles", "winding"],
)
def test_stiff_joints_leave_the_arm_where_it_rests(joint: dict[str, Any]) -> None:
    model, plain = arm(**joint)
    n = len(plain.coordinates)
    q = model.rest(ANGLES)
    np.testing.assert_array_equal(q[:n], plain.rest(ANGLES))
    np.testing.assert_array_equal(q[n:], 0.0)


@pytest.mark.parametrize(
    "spring",
    [
        {"stiffness": 2e4, "rotor_inertia": 0.1},
        {"stiffness": 2e4, "cubic_stiffness": 5e7, "rotor_inertia": 0.1},
        {"stiffness": 2e4, "backlash": 1e-3, "rotor_inertia": 0.1},
    ],
    ids=["linear", "cubic", "play"],
)
def test_springs_of_joints_carry_the_weight(spring: dict[str, float]) -> None:
    model, plain = arm(**spring)
    n, names = len(plain.coordinates), fx.names(model.coordinates)
    q = model.rest(ANGLES)
    np.testing.assert_array_equal(q[:n], plain.rest(ANGLES))
    held = fx.equilibrium(plain, hold=dict(zip(("joint1", "joint2", "joint3"), ANGLES, strict=True)))
    for i in (1, 2):
        torque = held.u[fx.names(plain.inputs).index(f"joint{i + 1}_torque")]
        turn = q[names.index(f"joint{i + 1}_motor")] - q[names.index(f"joint{i + 1}")]
        left = turn - np.copysign(spring.get("backlash", 0.0), torque)
        carried = spring["stiffness"] * left + spring.get("cubic_stiffness", 0.0) * left**3
        # the corner of the play is rounded
        assert carried == pytest.approx(torque, rel=1e-5 if "backlash" in spring else 1e-9)
    ABILITIES[Restable](model)  # what holds the motors leaves nothing out of balance


def test_a_free_joint_has_no_rest_in_any_pose() -> None:
    model, _ = arm(drive="free", friction=0.1)
    assert not hasattr(model, "rest")


def two_joints(*joints: fx.Joint, gravity: float = -9.81) -> Any:
    """A stiff arm of two links that hangs in some pose."""
    link = fx.measured_link(0.5, bending_stiffness=1e5, mass_per_length=1.0)
    arm = fx.Arm("two", (link, link), joints, gravity=fx.Gravity(y=gravity))
    return fx.build(arm, "assumed_modes", modes=0)


@pytest.mark.parametrize("flexible", [(0,), (1,), (0, 1)])
def test_a_pose_given_as_a_list_is_that_of_the_joints_in_order(flexible: tuple[int, ...]) -> None:
    """Motors stand behind the arm: with a flexible first joint alone the list was taken crosswise."""
    soft = {"stiffness": 30.0, "rotor_inertia": 0.01}
    model = two_joints(*(fx.Joint(**(soft if i in flexible else {})) for i in range(2)), gravity=0.0)
    by_list, by_name = fx.rest_point(model, [0.3, 1.1]), fx.rest_point(model, {"joint1": 0.3, "joint2": 1.1})
    assert by_list.q == pytest.approx(by_name.q, abs=1e-12)
    assert by_list.q[:2] == pytest.approx([0.3, 1.1], abs=1e-12)


@pytest.mark.parametrize("cubic", [0.0, 2000.0])
def test_a_joint_with_play_rests_against_it_in_any_pose(cubic: float) -> None:
    """Within the play nothing carries the weight: no equilibrium grows out of the undeformed arm."""
    spring = {"stiffness": 20.0, "cubic_stiffness": cubic, "backlash": 0.01, "rotor_inertia": 0.01}
    model = two_joints(fx.Joint(), fx.Joint(**spring))
    q = fx.rest_point(model, [0.3, 1.1]).q
    load = 0.5 * 1.0 * 0.5**2 * 9.81 * np.cos(q[0] + q[1])
    turn = 1.1 - q[1] - 0.01  # beyond the play
    assert 20.0 * turn + cubic * turn**3 == pytest.approx(load, rel=2e-3)
    assert q[0] == pytest.approx(0.3, abs=1e-12)


@pytest.mark.parametrize("kind", ["timoshenko_planar", "assumed_modes", "finite_segment"])
@pytest.mark.parametrize(("stiffness", "angle"), [(2.0, 0.3), (5.0, 0.3)])
def test_soft_springs_hold_an_arm_where_it_stays(kind: str, stiffness: float, angle: float) -> None:
    """The lowest of all poses of two rigid bars; another rest of these springs, above, does not last."""
    plain = fx.load_plant("planar_2r_flexible").arm
    joint = fx.Joint(stiffness=stiffness, damping=0.2, rotor_inertia=0.02)
    mesh = {"timoshenko_planar": {"elements": 2}, "assumed_modes": {"modes": 1}, "finite_segment": {"segments": 4}}
    model = fx.build(replace(plain, joints=(joint, joint), gravity=(0.0, -9.81, 0.0)), kind, **mesh[kind])
    point = fx.rest_point(model, pose=[angle, 0.2])
    l1, l2 = (x.length for x in plain.links)
    m1, m2 = (x.material.density * x.section.area * x.length for x in plain.links)

    def energy(q: np.ndarray) -> float:
        first, second = np.sin(q[0]), np.sin(q[0] + q[1])
        weight = 9.81 * (m1 * 0.5 * l1 * first + m2 * (l1 * first + 0.5 * l2 * second))
        return float(weight + 0.5 * stiffness * ((q[0] - angle) ** 2 + (q[1] - 0.2) ** 2))

    lowest = minimize(energy, [-1.3, -0.2], tol=1e-12).x
    known = fx.names(model.outputs)
    y = model.output(point.q, point.v, point.a, point.u)
    np.testing.assert_allclose([y[known.index(f"joint{i}_angle")] for i in (1, 2)], lowest, atol=3e-3)
    np.testing.assert_allclose(point.u[:2], stiffness * (np.array([angle, 0.2]) - lowest), rtol=5e-3, atol=0.02)
