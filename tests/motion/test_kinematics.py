"""The rigid planar arm against closed forms of two rods, differences, and the beam model's own inverse dynamics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flexctl as fx
from flexctl.errors import DefinitionError, NotAvailable
from flexctl.models import build
from flexctl.motion.kinematics import RigidArm

BAR = fx.Section(2.5e-3, 5.208333333333333e-7)
ROCK, LIGHT = fx.Material(3e10, 6000.0, 0.25), fx.Material(8e10, 3500.0, 0.3)


def arm(material: fx.Material = ROCK, lengths: tuple[float, ...] = (0.4, 1.6), **more: object) -> fx.Arm:
    links = tuple(fx.Link(length, material, BAR) for length in lengths)
    return fx.Arm("arm", links, tuple(fx.Joint() for _ in lengths), **more)


TWO = RigidArm(arm())
POSES = np.random.default_rng(3).uniform(-3.0, 3.0, (20, 2))


def test_the_inertia_of_the_arm_where_circle_and_square_begin() -> None:
    """Independent code, kg m^2, to the digits it prints."""
    circle = TWO.inertia(TWO.inverse([1.9, 0.0]))
    np.testing.assert_allclose(circle, [[35.3263, 25.8250], [25.8250, 20.4850]], atol=5.1e-5)
    light = RigidArm(arm(LIGHT))
    square = light.inertia(light.inverse([1.4, -0.2]))
    np.testing.assert_allclose(square, [[9.33698, 9.42958], [9.42958, 11.94958]], atol=5.1e-6)


def test_the_angles_where_circle_and_square_begin() -> None:
    np.testing.assert_allclose(TWO.inverse([1.9, 0.0]), [-0.6500515, 0.8019417], atol=1e-7)
    np.testing.assert_allclose(TWO.inverse([1.4, -0.2]), [-2.0740605, 2.1682027], atol=1e-7)


def two_rods(theta: np.ndarray, w: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """Textbook equations of two uniform rods with rotary inertia, torques [N m]."""
    L1, L2, m1, m2 = 0.4, 1.6, 6000.0 * 2.5e-3 * 0.4, 6000.0 * 2.5e-3 * 1.6
    r2 = 5.208333333333333e-7 / 2.5e-3
    J1, J2 = m1 * (L1**2 / 3 + r2), m2 * (L2**2 / 3 + r2)
    c, s = 0.5 * m2 * L1 * L2 * np.cos(theta[1]), 0.5 * m2 * L1 * L2 * np.sin(theta[1])
    M = np.array([[J1 + J2 + m2 * L1**2 + 2 * c, J2 + c], [J2 + c, J2]])
    coriolis = s * np.array([-2 * w[0] * w[1] - w[1] ** 2, w[0] ** 2])
    return np.asarray(M @ alpha + coriolis)


def test_torques_are_those_of_two_rods_and_of_the_beam_model() -> None:
    rng = np.random.default_rng(5)
    w, alpha = rng.normal(size=(2, 20, 2))
    found = TWO.torques(POSES, w, alpha)
    wanted = [two_rods(*row) for row in zip(POSES, w, alpha, strict=True)]
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-10)
    loaded = arm(payload=fx.Payload(0.7, 0.02), gravity=(1.0, -9.81))
    model = build(loaded, "timoshenko_planar", elements=3)
    np.testing.assert_allclose(
        RigidArm(loaded).torques(POSES, w, alpha), model.rigid_torques(POSES, w, alpha), rtol=1e-11, atol=1e-9
    )


def test_torques_hold_the_weight_of_the_payload() -> None:
    """Virtual work: the torque against gravity is J^T m g for a payload, and linear in it."""
    heavy = RigidArm(arm(payload=fx.Payload(2.0), gravity=(0.0, -9.81)))
    light = RigidArm(arm(gravity=(0.0, -9.81)))
    zero = np.zeros_like(POSES)
    added = heavy.torques(POSES, zero, zero) - light.torques(POSES, zero, zero)
    np.testing.assert_allclose(added, 2.0 * 9.81 * TWO.jacobian(POSES)[:, 1], atol=1e-11)


@pytest.mark.parametrize("elbow", [1, -1])
def test_the_inverse_puts_the_tip_there_with_the_elbow_as_told(elbow: int) -> None:
    rng = np.random.default_rng(7)
    r, a = rng.uniform(1.2001, 1.9999, 200), rng.uniform(-np.pi, np.pi, 200)
    points = np.stack([r * np.cos(a), r * np.sin(a)], axis=-1).reshape(10, 20, 2)
    angles = TWO.inverse(points, elbow)
    assert angles.shape == points.shape
    np.testing.assert_allclose(TWO.tip(angles), points, atol=1e-13)
    assert np.all(np.sign(angles[..., 1]) == elbow)


def test_rates_and_accelerations_are_derivatives() -> None:
    """Along a straight line that speeds up: central differences of the angles, error falling as the step squared."""
    def along(t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        s, v, a = 0.3 * t + 0.1 * t**2, 0.3 + 0.2 * t, 0.2 + 0 * t
        way = np.array([0.4, 0.7])
        return np.array([1.4, -0.2]) + s[:, None] * way, v[:, None] * way, a[:, None] * way

    t = np.linspace(0.1, 0.7, 5)
    found = TWO.inverse_motion(*along(t), -1)
    errors = []
    for h in (1e-2, 5e-3):
        ahead, here, behind = (TWO.inverse(along(t + k * h)[0], -1) for k in (1, 0, -1))
        rate, acceleration = (ahead - behind) / (2 * h), (ahead - 2 * here + behind) / h**2
        errors.append([np.abs(rate - found.rates).max(), np.abs(acceleration - found.accelerations).max()])
    assert max(errors[1]) < 1e-3
    np.testing.assert_allclose(np.divide(*errors), 4.0, rtol=0.05)


def test_the_jacobian_is_a_derivative() -> None:
    three = RigidArm(arm(lengths=(0.4, 1.6, 0.3)))
    theta, h = np.array([0.3, -1.1, 0.8]), 1e-5
    columns = [(three.tip(theta + h * e) - three.tip(theta - h * e)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(three.jacobian(theta), np.transpose(columns), atol=1e-9)


def test_reach_and_margin() -> None:
    assert TWO.reach == pytest.approx((1.2, 2.0))
    assert RigidArm(arm(lengths=(0.5, 0.4, 0.3))).reach == pytest.approx((0.0, 1.2))
    np.testing.assert_allclose(TWO.margin([[1.5, 0.0], [0.0, 1.9], [0.0, 1.1], [-2.2, 0.0]]), [0.3, 0.1, -0.1, -0.2])


@pytest.mark.parametrize("point", [(2.1, 0.0), (0.0, 1.1), (0.0, -2.0), (np.nan, 0.0)])
def test_points_out_of_reach_are_refused_by_name(point: tuple[float, float]) -> None:
    with pytest.raises(DefinitionError, match=r"the point \(.*\) m is .* reaches 1.2 to 2 m .*move the path"):
        TWO.inverse([(1.5, 0.0), point])


def test_what_has_no_inverse_says_so() -> None:
    with pytest.raises(NotAvailable, match="2 links; this arm has 3"):
        RigidArm(arm(lengths=(0.4, 1.6, 0.3))).inverse([1.5, 0.0])
    with pytest.raises(DefinitionError, match="elbow = 0 must be"):
        TWO.inverse([1.5, 0.0], 0)


@pytest.mark.parametrize(
    "kind",
    [
        {"kind": "timoshenko_planar", "elements": 2}, {"kind": "finite_segment", "segments": 2},
        {"kind": "assumed_modes"},
    ],
)
def test_chords_and_encoders_agree_on_a_straight_arm_beyond_half_a_turn(kind: dict[str, Any]) -> None:
    model = build(arm(), **kind)
    for angles in ([3.5, 2.0], [-4.0, -2.9], [0.1, 0.0]):
        q, v = model.start({"joint1": (angles[0], 0.3), "joint2": (angles[1], -0.7)})
        y = dict(zip(fx.model.names(model.outputs), model.output(q, v, 0 * q, np.zeros(4)), strict=True))
        assert [y["chord1_angle"], y["chord2_angle"]] == pytest.approx(angles, abs=1e-12)
        assert [y["chord1_rate"], y["chord2_rate"]] == pytest.approx([0.3, -0.7], abs=1e-12)
        assert [y["link1_deflection"], y["link2_deflection"]] == pytest.approx([0.0, 0.0], abs=1e-12)


@pytest.mark.parametrize(
    ("kind", "shear"),
    [
        ({"kind": "timoshenko_planar", "elements": 64}, 1.0), ({"kind": "finite_segment", "segments": 128}, 0.0),
        ({"kind": "assumed_modes", "modes": 16}, 0.0),
    ],
)
def test_the_deflection_of_a_link_under_a_force_is_that_of_a_cantilever(kind: dict[str, Any], shear: float) -> None:
    """P L^3 / 3 E I + P L / kt G A, and the chord turns by it over the length; joint angles held at zero."""
    model = build(arm(lengths=(1.6,)), **kind)
    load, u = 0.5, np.zeros(len(model.inputs))
    u[2] = load
    state = fx.equilibrium(model, hold={"joint1": 0.0}, balance=["joint1_torque"], load=u)
    y = dict(zip(fx.model.names(model.outputs), model.output(state.q, state.v, state.a, state.u), strict=True))
    bent = load * (1.6**3 / (3 * 3e10 * BAR.second_moment) + shear * 1.6 / (BAR.shear_factor * 1.2e10 * BAR.area))
    assert y["link1_deflection"] == pytest.approx(bent, rel=1e-4)
    assert y["chord1_angle"] == pytest.approx(bent / 1.6, rel=1e-4)
