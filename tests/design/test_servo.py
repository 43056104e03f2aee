"""Servo compliance: the rule, the gains from a model, and its three forms, which must be the same."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import flexctl as fx
from flexctl.design.servo import Servo, design_servos, servo_law, servo_rule, with_servo
from flexctl.errors import DefinitionError, NotAvailable
from flexctl.linear import linearise
from flexctl.machine.arm import Joint
from flexctl.model import names
from flexctl.models import build
from flexctl.motion.moves import quintic
from flexctl.testing.differences import order

GAINS = {"joint1": Servo(360.741, 60.3015), "joint2": Servo(722.503, 30.1721)}


def planar(elements: int = 16, gains: dict[str, Servo] | None = None, **joint: Any) -> Any:
    machine = fx.load_plant("planar_2r_flexible").arm
    drives = [{"drive": "servo", "servo_stiffness": g.kp, "servo_damping": g.kv} for g in (gains or {}).values()] or [
        {},
        {},
    ]
    machine = replace(machine, joints=tuple(Joint(**joint, **drive) for drive in drives), sensors=())
    return build(machine, "timoshenko_planar", elements=elements)


def test_rule() -> None:
    """kp = J (pi f0)^2: the servo at half the structural frequency; kv: critical."""
    gains = servo_rule(2.52, 3.8084)
    assert (gains.kp, gains.kv) == pytest.approx((360.741, 60.3015), rel=5e-5)
    omega = math.sqrt(gains.kp / 2.52)
    assert omega / (2 * math.pi) == pytest.approx(3.8084 / 2)
    assert gains.kv / (2 * 2.52 * omega) == pytest.approx(1.0)
    other = servo_rule(0.315, 15.2445)
    assert (other.kp, other.kv) == pytest.approx((722.503, 30.1721), rel=5e-5)


def test_gains_from_the_model() -> None:
    """J = 2.52 and 0.315 kg m^2 (stretched arm, plus rotary inertia), f0 of each joint's own arm or of the whole."""
    found = design_servos(planar(60))
    rotary = 2.7e-5
    assert found["joint1"].inertia == pytest.approx(2.52 + 2 * rotary, rel=1e-9)
    assert found["joint2"].inertia == pytest.approx(0.315 + rotary, rel=1e-9)
    assert found["joint1"].frequency == pytest.approx(3.8084, rel=1e-3)
    assert found["joint2"].frequency == pytest.approx(15.2445, rel=2e-3)
    assert found["joint1"].kp == pytest.approx(360.741, rel=1e-3)
    whole = design_servos(planar(60), whole_arm=True)["joint2"]
    assert (whole.kp, whole.kv) == pytest.approx((45.0927, 7.5377), rel=1e-3)
    bent = design_servos(planar(16), (0.0, math.pi / 2))
    assert bent["joint1"].inertia == pytest.approx(2.52 - 0.945, rel=1e-4)  # m L^2 cos(elbow) less
    assert bent["joint1"].frequency > found["joint1"].frequency
    plant = fx.load_plant("planar_2r_flexible")
    assert design_servos(plant) == design_servos(plant.model)


def test_linear_plant_with_servos_has_the_poles_of_the_arm_with_servo_joints() -> None:
    closed = with_servo(linearise(planar()), GAINS)
    joints = linearise(planar(gains=GAINS))
    assert names(closed.inputs) == names(joints.inputs)
    s = np.array([3.0j, 2.0 + 30.0j, 200.0j])
    np.testing.assert_allclose(closed.transfer(s), joints.transfer(s), rtol=1e-9, atol=1e-12)
    poles = closed.first_order().poles()
    slow = sorted(poles[np.abs(poles) < 60.0], key=lambda p: (abs(p), p.imag))
    wanted = [-8.684, -9.266 - 14.860j, -9.266 + 14.860j, -32.296]
    np.testing.assert_allclose(slow, wanted, rtol=5e-4)
    still = closed.transfer(np.array([0j]))[names(closed.outputs).index("joint1_angle"), 0, 0]
    assert still == pytest.approx(1.0)  # the joint goes where it is told


def test_continuous_law_is_the_servo_joint() -> None:
    """The same spring and damper from outside and inside, nonlinear runs to the integrator's accuracy."""
    moves = {"joint1": quintic(0.0, 0.5, 0.5), "joint2": quintic(0.0, -0.3, 0.5)}
    inside = fx.simulate(planar(2, GAINS), motions=moves, duration=0.6, step=1e-3)
    follow = {f"{joint}_angle": motion for joint, motion in moves.items()}
    outside = fx.simulate(planar(2), servo_law(GAINS), follow, duration=0.6, step=1e-3)
    for name in ("joint1_angle", "joint2_angle", "tip_x", "tip_y"):
        np.testing.assert_allclose(outside[name], inside[name], rtol=0, atol=1e-9)


def test_sampled_law_tends_to_the_continuous_one() -> None:
    """At first order in the period, as a hold of half a period asks for; hubs and housings keep it stable."""
    moves = {"joint1": quintic(0.0, 0.5, 0.5), "joint2": quintic(0.0, -0.3, 0.5)}
    heavy = {"hub_inertia": 0.5, "housing_inertia": 0.5}
    exact = fx.simulate(planar(2, GAINS, **heavy), motions=moves, duration=0.6, step=2.5e-4)["tip_y"]
    follow = {f"{joint}_angle": motion for joint, motion in moves.items()}
    errors = []
    for period in (2e-3, 1e-3, 5e-4):
        run = fx.simulate(planar(2, **heavy), servo_law(GAINS, period), follow, duration=0.6, step=2.5e-4)
        errors.append(float(np.abs(run["tip_y"] - exact).max()))
    assert order(errors) == pytest.approx([1.0, 1.0], abs=0.15)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: servo_rule(0.0, 3.0), "inertia = 0.0 kg m"),
        (lambda: servo_rule(1.0, math.nan), "frequency = nan Hz"),
        (lambda: Servo(-1.0, 0.0), "kp = -1.0 must be above zero"),
        (lambda: servo_law({}), "no joint is given gains"),
        (lambda: with_servo(linearise(planar(2)), {"joint3": Servo(1.0, 1.0)}), "joint3_torque"),
    ],
)
def test_wrong_gains_are_refused(call: Any, message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        call()


def test_a_model_without_torque_joints_cannot_be_designed_for() -> None:
    with pytest.raises(NotAvailable, match="no torque-driven joints"):
        design_servos(planar(2, GAINS))
    with pytest.raises(NotAvailable, match="finite_difference"):
        design_servos(fx.load_plant("tokhi_azad_1994").model)


@pytest.mark.parametrize("kind", ["timoshenko_planar", "timoshenko_spatial", "finite_segment", "ancf", "assumed_modes"])
def test_springs_of_servos_keep_what_is_put_into_them(kind: str) -> None:
    """The potential energy changes by the work against the forces."""
    servo = {"drive": "servo", "servo_stiffness": 90.0}
    changes = {f"joint.{i}.{key}": value for i in (1, 2) for key, value in servo.items()}
    model = fx.load_plant("planar_2r_flexible", model=kind, overrides=changes).model
    rng, zero = np.random.default_rng(2), np.zeros(len(model.coordinates))
    q, step = model.reference() + 1e-3 * rng.standard_normal(zero.size), 1e-6 * rng.standard_normal(zero.size)
    change = model.energy(q + step, zero).total - model.energy(q - step, zero).total
    assert change == pytest.approx(2.0 * float(model.force(q, zero) @ step), rel=1e-6)
    # the springs of the joints alone: one that turns by 0.2 rad
    turned = fx.rest_point(model, [0.0, 0.2]).q
    assert model.energy(turned, zero).total == pytest.approx(0.5 * 90.0 * 0.2**2, rel=1e-9)
