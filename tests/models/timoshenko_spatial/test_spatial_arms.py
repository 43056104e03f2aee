"""Spatial arms: rigid torques, kinks, bodies, slides, servos, sensors, what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from test_timoshenko_planar import BAR
from test_timoshenko_spatial import ALUMINIUM, RIGHT, STEEL, TUBE, Array, arm_rp, everything, read, spatial

import flexctl as fx
from flexctl.errors import ConvergenceError, DefinitionError, NotAvailable
from flexctl.linear.equilibrium import equilibrium
from flexctl.machine.arm import Arm, Joint, Link, Payload, Section, Sensor
from flexctl.model import names
from flexctl.models import build
from flexctl.motion.moves import Cycloid, bang_bang
from flexctl.testing.differences import slope


def chain_points(arm: Arm, phi: Array, count: int = 6) -> tuple[Array, Array]:
    """Points (.., 3) and masses of the rigid arm by Gauss' rule, fixed to the material; phi may be complex."""
    x, w = np.polynomial.legendre.leggauss(count)
    s, w = 0.5 * (1 + x), 0.5 * w
    R, o, points, masses = np.eye(3), np.zeros(3), [], []
    for i, (link, joint) in enumerate(zip(arm.links, arm.joints, strict=True)):
        angle, out = (phi[i], link.kink) if joint.revolute else (joint.angle, phi[i])
        c, n = np.cos(angle), np.sin(angle)
        R = R @ np.array([[c, -n, 0], [n, c, 0], [0, 0, 1]])
        density = link.material.density * link.section.area
        if i:  # the lumped mass of a joint
            points.append(o)
            masses.append(joint.mass)
        reference = link.kink  # a slide is as long as in the reference pose: what is in the guide does not count
        for part, weight in zip(s, w, strict=True):
            points.append(o + R[:, 2] * (out - (1 - part) * reference))
            masses.append(weight * density * reference)
        o = o + R[:, 2] * out
        for part, weight in zip(s, w, strict=True):
            points.append(o + R[:, 0] * part * link.length)
            masses.append(weight * density * link.length)
        o = o + R[:, 0] * link.length
        c, n = np.cos(link.twist), np.sin(link.twist)
        R = R @ np.array([[1, 0, 0], [0, c, -n], [0, n, c]])
    points.append(o)
    masses.append(arm.payload.mass)
    return np.array(points), np.array(masses)


def test_rigid_torques_by_d_alembert_on_material_points() -> None:
    """sum m (x'' - g) . dx/dphi, accelerations by differences along a path: no rotary inertia in a thin arm."""
    thin = Section(1e-3, 1e-13)
    links = (
        Link(0.3, STEEL, thin, kink=0.5, twist=-1.2), Link(0.0, STEEL, thin, kink=0.7, twist=0.6),
        Link(0.4, STEEL, thin, kink=0.2, kink_kind="rigid", twist=0.3), Link(0.5, STEEL, thin, kink=0.3),
    )
    joints = Joint(), Joint(angle=0.4, mass=2.0, kind="prismatic"), Joint(mass=1.0), Joint(angle=0.2, kind="prismatic")
    arm = Arm("path", links, joints, Payload(1.5, 0.0), gravity=(1.0, 2.0, -9.81))
    model = spatial(arm, 3)
    draw = np.random.default_rng(5).standard_normal
    phi, w, a = np.array(arm.reference_joints) + 0.0 * draw(4), 0.5 * draw(4), draw(4)
    path = [chain_points(arm, phi + w * t + 0.5 * a * t * t)[0] for t in 1e-3 * np.arange(-3, 4)]
    weights = np.array([2, -27, 270, -490, 270, -27, 2]) / 180e-6
    acceleration = np.einsum("k,kpi->pi", weights, np.array(path))
    masses = chain_points(arm, phi)[1]
    gradient = np.array([chain_points(arm, phi + 1e-30j * unit)[0].imag / 1e-30 for unit in np.eye(4)])
    wanted = np.einsum("p,pi,jpi->j", masses, acceleration - np.array(arm.gravity), gradient)
    np.testing.assert_allclose(model.rigid_torques(phi, w, a), wanted, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(model.rigid_tip(phi), chain_points(arm, phi)[0][-1], atol=1e-14)


def test_rigid_motion_has_its_own_rates() -> None:
    model = spatial(everything(), 2)
    phi, w, a = np.array(model.arm.reference_joints), np.array([0.4, -0.3, 0.8, 0.2]), np.array([1.0, 0.5, -2.0, 0.7])

    def along(t: float) -> tuple[Array, ...]:
        return model.rigid_motion(phi + w * t + 0.5 * a * t * t, w + a * t, a)

    np.testing.assert_allclose(slope(lambda t: along(t)[0]), along(0.0)[1], rtol=0, atol=1e-9)
    np.testing.assert_allclose(slope(lambda t: along(t)[1]), along(0.0)[2], rtol=0, atol=1e-9)


def test_rigid_kink_is_a_flexible_one_that_does_not_bend() -> None:
    """The same torques of the rigid arm, rotary inertia, weight and Coriolis terms included."""
    arm = everything()
    soft = replace(arm, links=tuple(replace(link, kink_kind="flexible") for link in arm.links))
    draw = np.random.default_rng(2).standard_normal
    motion = draw((3, 4, 4))
    motion[0] = np.abs(motion[0])
    one, other = (spatial(x, 3).rigid_torques(*motion) for x in (arm, soft))
    np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_kinetic_energy_of_the_bodies() -> None:
    """Two joints about one vertical: masses, hub, housing, rotor and payload turn as they should."""
    rod = Section(1e-3, 1e-13)
    joints = (
        Joint(0.1, mass=5.0, housing_inertia=7.0, rotor_inertia=0.2),
        Joint(0.03, mass=2.0, housing_inertia=0.5, rotor_inertia=0.7),
    )
    arm = Arm("bodies", (Link(0.8, STEEL, rod), Link(0.5, STEEL, rod)), joints, Payload(3.0, 0.4))
    model = spatial(arm, 2)
    w1, w2, c = 1.3, 1.3 - 0.9, np.cos(0.6)
    q, v, _ = model.rigid_motion((0.2, 0.6), (w1, -0.9), (0.0, 0.0))
    rho, cross = 7.85, 2 * 0.8 * w1 * w2 * c
    twice = rho * (0.8**3 / 3 * w1**2 + 0.5 * (0.8 * w1) ** 2 + 0.5**3 / 3 * w2**2 + 0.5**2 / 2 * cross)
    twice += 0.1 * w1**2 + 0.2 * w1**2 + 2.0 * (0.8 * w1) ** 2 + 0.5 * w1**2 + 0.03 * w2**2 + 0.7 * 0.9**2
    twice += 3.0 * ((0.8 * w1) ** 2 + (0.5 * w2) ** 2 + 0.5 * cross) + 0.4 * w2**2
    assert model.energy(q, v).kinetic == pytest.approx(twice / 2, rel=1e-8)


def test_housing_turns_with_the_link_before_about_the_axis_of_its_joint() -> None:
    """Its inertia is that of a disc on the twisted axis: h n n^T for the end of the link before."""
    links = (replace(BAR, twist=0.7), BAR)
    plain, housed = (spatial(Arm("a", links, (Joint(), Joint(housing_inertia=h))), 1) for h in (0.0, 0.3))
    q = plain.pose((0.0, 0.4))
    change, turn = housed.mass(q) - plain.mass(q), plain.mesh.node[1, 3:]
    n = np.array([0.0, -np.sin(0.7), np.cos(0.7)])
    np.testing.assert_allclose(change[np.ix_(turn, turn)], 0.3 * np.outer(n, n), rtol=0, atol=1e-12)
    assert abs(change[plain.mesh.joint[1]]).max() == 0.0  # the joint's own rate does not turn it


def test_servo_joint_gives_way_to_the_weight() -> None:
    """Shoulder commanded to the horizontal: it sags by the moment of the weight divided by kp, as the arm bends."""
    arm = fx.load_plant("spatial_3r").arm
    arm = replace(arm, joints=(Joint(), Joint(drive="servo", servo_stiffness=1e6), Joint()))
    model = spatial(arm, 4)
    q = model.rest((0.0, 0.1, 0.0))
    moment = 7850 * 915e-6 * 2.0 * 9.81 * np.cos(0.1)
    assert q[model.mesh.joint[1]] - 0.1 == pytest.approx(moment / 1e6, rel=1e-3)


# --- prismatic joints


def test_straight_rod_fed_at_a_constant_rate_needs_no_force() -> None:
    model = spatial(Arm("rod", (Link(0.0, ALUMINIUM, TUBE, kink=0.5),), (Joint(kind="prismatic"),)), 4)
    q, v, a = model.rigid_motion([0.7], [0.4], [0.0])
    assert np.abs(model.mass(q) @ a + model.force(q, v)).max() < 1e-6  # of E A = 6e7 N
    assert model.rigid_torques([0.7], [0.4], [0.0]) == pytest.approx([0.0], abs=1e-12)
    assert model.rigid_torques([0.7], [0.4], [2.0]) == pytest.approx([2700 * 915e-6 * 0.7 * 2.0], rel=1e-12)
    assert model.inflow(q, v) == pytest.approx(2700 * 915e-6 * 0.4**3 / 2, rel=1e-12)


def test_stiff_slide_moves_as_rigid_material() -> None:
    """R-P arm: Euler, Coriolis and centripetal forces of a rod fixed to itself; nothing enters or leaves along it."""
    model = spatial(arm_rp(315e-6, 0.5, "flexible"), 3)
    d, d1, d2, w, w1, rho = 0.7, 0.4, 2.0, 1.3, 3.0, 2700 * 315e-6
    torque, force = model.rigid_torques((0.2, d), (w, d1), (w1, d2))
    spins = 2700 * (2e-8 * 0.5 + 1e-8 * d)  # post about its axis, rod about its diameter
    assert torque == pytest.approx(rho * (d**3 / 3 * w1 + d**2 * d1 * w) + spins * w1, rel=1e-12)
    assert force == pytest.approx(rho * (d * d2 - w**2 * d**2 / 2), rel=1e-12)


def test_slide_runs_into_its_guide_with_a_clear_error() -> None:
    """By steps that resolve how it goes in: the tangent has no convective terms, which are of the size of h d'/d.

    By steps of 10 ms, d halves in one of them: corrections shrink to 0.4 each, and Newton may not get to the tolerance.
    """
    model = spatial(arm_rp(315e-6, 0.5, "rigid"), 1)
    push = {"joint2_force": bang_bang(-60.0, 1.0)}
    with pytest.raises(ConvergenceError, match=r"joint2 .* has retracted to .* must\s+stay above 0"):
        fx.simulate(model, inputs=push, duration=0.5, step=2e-3)
    q = model.pose((0.0, -0.1))
    with pytest.raises(ConvergenceError, match=r"joint2 .* has retracted to -0.1 m"):
        model.force(q, 0 * q)


def test_slide_follows_a_commanded_length() -> None:
    """Metres in `motions`; the force that pushes a stiff horizontal rod is m(d) d''."""
    model = spatial(arm_rp(315e-6, 0.5, "rigid"), 1)
    assert model.joints == {"joint1_torque": "joint1", "joint2_force": "joint2"}
    move = Cycloid(0.5, 0.7, 0.4)
    run = fx.simulate(model, motions={"joint1": Cycloid(-RIGHT, -RIGHT, 1.0), "joint2": move}, duration=0.06, step=2e-3)
    np.testing.assert_allclose(run["joint2_extension"], move(run.t)[0], rtol=0, atol=1e-5)
    d, _, d2 = move(run.t)
    np.testing.assert_allclose(run["joint2_force"], 2700 * 315e-6 * d * d2, rtol=0, atol=0.02 * np.abs(d2).max())


def test_slide_with_a_servo_and_a_payload() -> None:
    model = spatial(arm_rp(315e-6, 0.5, "rigid", drive="servo", servo_stiffness=100.0, servo_damping=3.0), 2)
    assert names(model.inputs)[:3] == ["joint1_torque", "joint2_command", "joint2_command_rate"]
    assert [s.unit for s in model.inputs[:3]] == ["N m", "m", "m/s"]
    assert model.commands == {"joint2": ("joint2_command", "joint2_command_rate")}
    q, v = model.pose((0.0, 0.6)), np.zeros(model.mesh.size)
    v[model.mesh.joint[1]] = 2.0
    damped, free = (
        m.force(q, v)[model.mesh.joint[1]]
        for m in (model, spatial(arm_rp(315e-6, 0.5, "rigid", drive="servo", servo_stiffness=100.0), 2))
    )
    assert damped - free == pytest.approx(6.0, rel=1e-9)
    assert model.force(q, 0 * v)[model.mesh.joint[1]] == pytest.approx(60.0, rel=1e-9)
    loaded = model.with_payload(0.3, 0.02)
    tip = model.mesh.node[-1]
    change = loaded.mass(q) - model.mass(q)
    assert np.diag(change)[tip] == pytest.approx([0.3] * 3 + [0.02] * 3, rel=1e-12)


# --- sensors, mesh, refusals


def test_sensors_read_what_they_say() -> None:
    """A cantilever with unlike stiffnesses under end forces both ways; a rigid arm for the accelerometers."""
    sensors = tuple(
        Sensor(f"{kind}_{way}", kind, 0.6, 1, way)
        for kind in ("displacement", "acceleration", "curvature", "strain")
        for way in ("y", "z")
    )
    bar = Section(350e-6, 1e-8, 0.8864, 0.01, second_moment_y=2e-8)
    arm = Arm("one", (Link(1.0, ALUMINIUM, bar),), (Joint(),), sensors=sensors)
    model = spatial(arm, 40)
    u = np.array([0.0, 0.0, 2e-3, 3e-3, 0.0, 0.0, 0.0])
    y = read(model, equilibrium(model, hold={"joint1": 0.0}, load=u).q, u)
    for way, force, EI in (("y", 2e-3, 700.0), ("z", 3e-3, 1400.0)):
        assert y[f"curvature_{way}"] == pytest.approx(force * 0.4 / EI, rel=1e-6)
        assert y[f"strain_{way}"] == pytest.approx(0.01 * force * 0.4 / EI, rel=1e-6)
        assert y[f"displacement_{way}"] == pytest.approx(force * 0.36 * (3.0 - 0.6) / (6 * EI), rel=1e-3)
        assert y[f"tip_error_{way}"] == pytest.approx(force / (3 * EI), rel=1e-3)
    state = model.rigid_motion([0.4], [0.3], [2.0])
    y = dict(zip(names(model.outputs), model.output(*state, u), strict=True))
    assert [y["displacement_y"], y["displacement_z"]] == pytest.approx([0.6 * 0.4, 0.0], abs=1e-12)
    assert [y["acceleration_y"], y["acceleration_z"]] == pytest.approx([0.6 * 2.0, 0.0], abs=1e-12)


def test_names_and_order_of_the_coordinates() -> None:
    model = spatial(everything(), 1)
    found = names(model.coordinates)
    assert found[:8] == ["joint1", "joint2", *(f"link2_{x}1" for x in ("x", "y", "z", "rx", "ry", "rz"))]
    assert found[8] == "link2_x2"  # kink first, then the link proper
    assert [found[i] for i in model.mesh.joint] == ["joint1", "joint2", "joint3", "joint4"]
    assert [s.unit for s in model.coordinates[:2]] == ["rad", "m"]
    assert names(model.outputs)[2:4] == ["joint2_extension", "joint2_rate"]
    for row, i in zip(model.mesh.node[-1], range(6), strict=True):
        assert found[row] == f"link4_{('x', 'y', 'z', 'rx', 'ry', 'rz')[i]}2"


@pytest.mark.parametrize(
    ("change", "feature"),
    [
        ({"kink": 0.2}, "no kink .link 1."),
        ({"twist": 0.2}, "no twist .link 1."),
        ({"section": replace(TUBE, second_moment_y=1e-6)}, "no second moment y .section of link 1.: links bend in"),
        ({"section": replace(TUBE, torsion_constant=1e-6)}, "no torsion constant .section of link 1."),
    ],
)
def test_planar_models_refuse_what_is_spatial(change: dict[str, Any], feature: str) -> None:
    arm = Arm("plain", (replace(Link(1.0, STEEL, TUBE), **change),), (Joint(),))
    for kind in ("timoshenko_planar", "finite_difference"):
        with pytest.raises(DefinitionError, match=f"{kind} has {feature}"):
            build(arm, kind)
    assert build(arm, "timoshenko_spatial", elements=1)


def test_planar_models_refuse_slides_directions_and_vertical_weight() -> None:
    plain = Link(1.0, STEEL, TUBE)
    arms = {
        "no prismatic joint .joint 1.": Arm("p", (replace(plain, kink=0.3),), (Joint(kind="prismatic"),)),
        "no sensor direction z .sensor s.": Arm("s", (plain,), (Joint(),), sensors=(Sensor("s", "strain", 0, 1, "z"),)),
        "no gravity along z .-9.81": Arm("g", (plain,), (Joint(),), gravity=(0.0, 0.0, -9.81)),
    }
    for feature, arm in arms.items():
        with pytest.raises(DefinitionError, match="timoshenko_planar has no"):
            build(arm, "timoshenko_planar")
        assert any(feature[3:].split(" .")[0].replace(" ", "_") == found for found in arm.features())
        assert build(arm, "timoshenko_spatial", elements=1)


def test_bad_definitions_are_refused() -> None:
    link, slide = Link(1.0, STEEL, TUBE), Joint(kind="prismatic")
    for make, message in (
        (lambda: Link(0.0, STEEL, TUBE), "must be positive, or the link needs a kink"),
        (lambda: Link(0.0, STEEL, TUBE, (TUBE,), (0.5,), kink=1.0), "length 0 has no pieces"),
        (lambda: Link(1.0, STEEL, TUBE, kink_kind="rigid"), 'kink_kind = "rigid" has no effect'),
        (lambda: Link(1.0, STEEL, TUBE, kink=-0.1), "must be zero or more"),
        (lambda: Joint(kind="prismatic", rotor_inertia=0.1), "needs a revolute joint"),
        (lambda: Joint(kind="prismatc"), 'did you mean "prismatic"'),
        (lambda: Arm("a", (link,), (slide,)), "joint 1 is prismatic: link 1 needs a kink"),
        (lambda: Arm("a", (replace(link, kink=0.1, kink_kind="rigid"),), (slide,)), 'needs kink_kind = "flexible"'),
    ):
        with pytest.raises(DefinitionError, match=message):
            make()


def test_arms_the_model_cannot_take_are_refused() -> None:
    post = Link(0.0, STEEL, TUBE, kink=0.5, kink_kind="rigid")
    with pytest.raises(NotAvailable, match="the last part of a spatial arm is flexible"):
        spatial(Arm("a", (BAR, post), (Joint(), Joint())))
    with pytest.raises(NotAvailable, match="link 1 has no flexible part"):
        spatial(Arm("a", (post, BAR), (Joint(), Joint()), sensors=(Sensor("s", "curvature", 0.5, 1),)))
    slide = Link(0.0, STEEL, TUBE, kink=0.5)
    with pytest.raises(NotAvailable, match="an accelerometer sits at position 1"):
        spatial(Arm("a", (slide,), (Joint(kind="prismatic"),), sensors=(Sensor("s", "acceleration", 0.5),)))
    with pytest.raises(DefinitionError, match='did you mean "linear"'):
        spatial(Arm("a", (BAR,), (Joint(),)), analysis="linaer")
