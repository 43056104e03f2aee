"""The planar arm of geometrically exact Timoshenko beams: derivatives, frequencies, statics, sensors, refusals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from analytical import tokhi_arm

import flexctl as fx
from flexctl.errors import ConvergenceError, DefinitionError, NotAvailable
from flexctl.linear import linearise
from flexctl.linear.equilibrium import equilibrium
from flexctl.linear.modes import normal_modes
from flexctl.linear.steady import lock, spinning_plant, steady_state
from flexctl.machine.arm import Arm, Damping, Joint, Link, Material, Payload, Section, Sensor
from flexctl.model import OperatingPoint, names
from flexctl.models import build
from flexctl.models.timoshenko_planar import TimoshenkoPlanar

Array = npt.NDArray[Any]
ALUMINIUM = Material(70e9, 2700.0)
BAR = Link(1.0, ALUMINIUM, Section(350e-6, 1e-8, 0.8864, 0.0106))
JOINTS = ["joint1", "joint2"]
SENSORS = tuple(
    Sensor(f"{kind}{link}", kind, station, link)
    for kind in ("displacement", "acceleration", "curvature", "strain")
    for link, station in ((1, 0.33), (2, 0.8))
)


def arm_2r(*joints: Joint, **tables: Any) -> Arm:
    return Arm("2r", (BAR, BAR), joints or (Joint(), Joint()), **tables)


def planar(arm: Arm, elements: int = 16, **options: Any) -> TimoshenkoPlanar:
    return TimoshenkoPlanar(arm, elements=elements, **options)


def at_pose(model: TimoshenkoPlanar, *angles: float) -> fx.SecondOrder:
    return linearise(model, OperatingPoint.at_rest(model, model.pose(angles)))


DAMPINGS = (Damping(), Damping("rayleigh", alpha=0.3, beta=1e-3), Damping("modal", ratio=0.02))


def full_arm(damping: Damping) -> Arm:
    """Two unlike links, one of two pieces, every kind of inertia, a servo, gravity, all sensors."""
    thin = Section(200e-6, 0.5e-8, 0.8, 0.01)
    joints = (
        Joint(0.1, angle=0.3, mass=3.0),
        Joint(0.05, "servo", 0.5, 1.2, 0.02, 0.03, servo_stiffness=100.0, servo_damping=3.0),
    )
    second = Link(0.7, ALUMINIUM, BAR.section, (thin,), (0.4,))
    return Arm("full", (BAR, second), joints, Payload(0.5, 0.01), damping, SENSORS, (), (1.0, -9.81))


@pytest.mark.parametrize("damping", DAMPINGS, ids=lambda d: d.kind)
def test_tangents_against_complex_step(damping: Damping) -> None:
    """Geometric terms and the turning of the strain rates included, far from the reference, to rounding."""
    model = planar(full_arm(damping), 4)
    draw, n, h = np.random.default_rng(1).standard_normal, model.mesh.size, 1e-30
    q, v, a = model.reference() + 0.1 * draw(n), draw(n), draw(n)
    tangent = model.tangent(q, v, a, np.zeros(5), np.zeros(0))
    K = np.array([np.imag(model.force(q + 1j * h * e, v)) / h for e in np.eye(n)]).T
    D = np.array([np.imag(model.force(q, v + 1j * h * e)) / h for e in np.eye(n)]).T
    assert np.abs(tangent.stiffness - K).max() < 1e-12 * np.abs(K).max()
    assert np.abs(tangent.damping - D).max() <= 1e-12 * np.abs(D).max()
    rows = model.output_tangent(q, v, a, np.zeros(5))
    for k in range(3):
        x = [q, v, a]
        columns = []
        for e in np.eye(n):
            moved = [part + 1j * h * e if i == k else part + 0j for i, part in enumerate(x)]
            columns.append(np.imag(model.sensors.read(*moved)) / h)
        np.testing.assert_allclose(rows[k], np.array(columns).T, rtol=0, atol=1e-12)


def test_modal_damping_has_its_ratio_in_every_mode_and_leaves_rigid_motion_alone() -> None:
    model = planar(arm_2r(damping=DAMPINGS[2]), 6)
    modes = linearise(model).modes()
    np.testing.assert_allclose(modes.damping, 0.02, rtol=1e-9)
    for angles in ((0.0, 0.0), (0.4, 1.9)):  # in every pose
        q, v, _ = model.rigid_motion(angles, (1.0, -2.0), (0.0, 0.0))
        assert (
            np.abs(model.force(q, v) - model.force(q, 0 * v)).max()
            < 1e-9 * np.abs(model.tangent(q, v, v, v[:4], v[:0]).damping).max()
        )


def test_strain_rate_damping_leaves_rigid_motion_alone() -> None:
    model = planar(arm_2r(damping=Damping("rayleigh", beta=1e-2)), 6)
    q, v, _ = model.rigid_motion((0.4, 1.9), (1.0, -2.0), (0.0, 0.0))
    assert np.abs(model.force(q, v) - model.force(q, 0 * v)).max() < 1e-6  # of forces of E A = 2e7 N


def test_locked_frequencies_count_the_motion_of_the_distal_link_once() -> None:
    """3.808 Hz; the double counting of the thesis has 2.764 or 3.163 Hz."""
    model = planar(arm_2r())
    straight = lock(at_pose(model, 0.0, 0.0), JOINTS).modes(3)
    np.testing.assert_allclose(straight.frequencies_hz, [3.8077, 23.908, 67.201], rtol=2e-5)
    bent = lock(at_pose(model, 0.0, np.pi / 3), JOINTS).modes(2)
    np.testing.assert_allclose(bent.frequencies_hz, [4.3077, 16.967], rtol=3e-5)
    turned = lock(at_pose(model, 1.1, np.pi / 3), JOINTS).modes(2)  # the frame it stands in does not matter
    np.testing.assert_allclose(turned.frequencies_hz, bent.frequencies_hz, rtol=1e-10)


def test_both_joints_free() -> None:
    plant = at_pose(planar(arm_2r()), 0.0, 0.0)
    assert plant.modes().rigid_modes == 2
    np.testing.assert_allclose(plant.modes(3).frequencies_hz, [50.094, 86.721, 188.79], rtol=2e-5)
    phi = [names(plant.coordinates).index(j) for j in JOINTS]
    G = planar(arm_2r()).rigid_motion([0.0, 0.0], [1.0, 0.0], [0.0, 0.0])[1]
    H = planar(arm_2r()).rigid_motion([0.0, 0.0], [0.0, 1.0], [0.0, 0.0])[1]
    inertia = np.array([[x @ plant.M @ y for x in (G, H)] for y in (G, H)])
    rotary = 2.7e-5  # rho I L of one link, on top of the slender 2.52, 0.7875, 0.315
    np.testing.assert_allclose(
        inertia, [[2.52 + 2 * rotary, 0.7875 + rotary], [0.7875 + rotary, 0.315 + rotary]], rtol=1e-12
    )
    assert len(phi) == 2


@pytest.mark.parametrize(("elements", "pole"), [(8, 68.233), (16, 67.103), (32, 66.822)])
def test_single_link_pole(elements: int, pole: float) -> None:
    assert linearise(planar(Arm("1r", (BAR,), (Joint(),)), elements)).modes(1).frequencies_hz[0] == pytest.approx(
        pole, rel=1e-5
    )


def test_single_link_modal_gains_and_zeros() -> None:
    """Gains of the torque in the modes, hub zeros (clamped link) and real tip zeros of the exact beam."""
    model = planar(Arm("1r", (BAR,), (Joint(),)), 32)
    plant = linearise(model)
    normal = normal_modes(plant.M, plant.K)
    np.testing.assert_allclose((normal.shapes[:, :3].T @ plant.B[:, 0]) ** 2, [3.1743, 30.90, 106.5], rtol=5e-4)
    fine = linearise(planar(Arm("1r", (BAR,), (Joint(),)), 150))
    clamped = lock(fine, ["joint1"]).modes(2).frequencies_hz
    np.testing.assert_allclose(clamped, [15.23014, 95.44568], rtol=2e-3)
    tip = names(fine.outputs).index("tip_y")
    for zero in (304.4619, 1645.287):  # rad/s: the response of the tip changes sign there
        low, high = fine.transfer(np.array([0.99 * zero, 1.01 * zero], complex))[tip, 0].real
        assert low * high < 0
    assert not np.any(np.sign(fine.transfer(np.array([320.0, 700.0, 1500.0], complex))[tip, 0].real[0]) != np.sign(
        fine.transfer(np.array([320.0, 700.0, 1500.0], complex))[tip, 0].real
    ))


def test_slender_limit_is_the_exact_beam_and_the_finite_differences() -> None:
    """Three models of the 0.96 m arm: transfer to the hub angle, and the flexible frequencies."""
    arm = tokhi_arm(payload_mass=0.01)
    beam = linearise(planar(arm, 100))
    differences = linearise(build(arm, "finite_difference", sections=100))
    np.testing.assert_allclose(beam.modes(3).frequencies_hz, differences.modes(3).frequencies_hz, rtol=2.5e-3)
    from flexctl.exact.euler_bernoulli import ExactBeam

    s = 2j * np.pi * np.array([1.0, 5.0, 10.0, 20.0])
    exact = ExactBeam(arm).transfer(s)
    for ours, theirs in (("joint1_angle", "joint1_angle"), ("tip_y", "tip_displacement")):
        one = beam.transfer(s)[names(beam.outputs).index(ours), 0]
        np.testing.assert_allclose(one, exact[names(ExactBeam(arm).outputs).index(theirs), 0], rtol=2e-3)


def test_static_frame_with_a_kink() -> None:
    """Right angle, 240 + 240 in, 1000 lb at the end: exact for a uniform moment, 1/(4 n^2) short for a varying one."""
    for area, values in ((2e5, (3.5536, 3.5959, 3.6037)), (20.0, (3.5552, 3.5975, 3.6054))):
        link = Link(240.0, Material(30e6, 1.0), Section(area, 170.194, 5 / 6))
        arm = Arm("frame", (link, link), (Joint(), Joint(angle=np.pi / 2)))
        for elements, deflection in zip(((2, 2), (4, 4), (4, 6)), values, strict=True):
            model = TimoshenkoPlanar(arm, elements=elements)
            u = np.zeros(5)
            u[2] = 1.0  # a thousandth of the load keeps it linear
            q = equilibrium(model, hold={"joint1": 0.0, "joint2": np.pi / 2}, load=u).q
            moved = model.output(q, 0 * q, 0 * q, u)[names(model.outputs).index("tip_error_x")]
            assert 1000 * moved == pytest.approx(deflection, abs=3e-4)


def test_cantilever_of_elastica_size_deflections() -> None:
    """F L^2 / E I = 1, 5, 10 across the end: Mattiasson 1981, elliptic integrals."""
    table = {1.0: (0.30172, 0.05643), 5.0: (0.71379, 0.38763), 10.0: (0.81061, 0.55500)}
    link = Link(1.0, Material(70e9, 2700.0), Section(1e-4, 1e-9))
    model = planar(Arm("elastica", (link,), (Joint(),)), 40)
    guess = model.reference()
    for load in np.arange(0.5, 10.1, 0.5):
        u = np.array([0.0, 0.0, load * link.bending_stiffness, 0.0])
        guess = equilibrium(model, hold={"joint1": 0.0}, load=u, guess=guess).q
        if load in table:
            across, along = table[load]
            error = model.output(guess, 0 * guess, 0 * guess, u)[-2:]
            np.testing.assert_allclose(error, [-along, across], atol=4e-4)


def test_rest_under_the_weight() -> None:
    steel, tube = Material(207e9, 7850.0), Section(9.142035e-4, 1.076246e-6, 0.5315)
    links = Link(1.0, steel, tube), Link(1.5, steel, tube)
    model = planar(Arm("tube", links, (Joint(), Joint()), gravity=(0.0, -9.81)))
    w, EI, GA, L = 7850 * 9.142035e-4 * 9.81, 207e9 * 1.076246e-6, 0.5315 * 207e9 / 2.6 * 9.142035e-4, 2.5
    closed = w * L**4 / (8 * EI) + w * L**2 / (2 * GA)
    q = model.rest([0.0, 0.0])
    error = model.output(q, 0 * q, 0 * q, np.zeros(5))[-2:]
    assert error[1] == pytest.approx(-1.5487e-3, abs=1e-7)
    assert -error[1] == pytest.approx(closed, rel=2e-3)
    held = equilibrium(model, hold={"joint1": 0.0, "joint2": 0.0})
    np.testing.assert_allclose(held.q, q, atol=1e-10)
    torque = w * L**2 / 2, w * 1.5**2 / 2  # the whole weight and that of the distal link at their centres
    np.testing.assert_allclose(held.u[:2], torque, rtol=1e-5)
    first_order = TimoshenkoPlanar(model.arm, analysis="linear").rest(np.zeros(2))
    assert 0 < np.abs(first_order - q).max() < 1e-5


def test_an_arm_too_soft_to_find_its_rest_at_once_hangs_in_the_end() -> None:
    rubber = Link(1.0, Material(2e6, 1000.0), Section(1e-4, 1e-10))  # w L^3 / E I = 5000
    model = planar(Arm("rope", (rubber,), (Joint(),), gravity=(0.0, -9.81)), 20)
    q = model.rest([0.0])
    assert np.abs(model.force(q, 0 * q)[1:]).max() < 1e-9
    assert model.output(q, 0 * q, 0 * q, np.zeros(4))[names(model.outputs).index("tip_y")] < -0.9


def test_equal_pieces_are_one_section_and_breaks_are_nodes() -> None:
    same = replace(BAR, next_sections=(BAR.section,), breaks=(0.37,))
    whole, pieces = (planar(Arm("1r", (link,), (Joint(),)), 20) for link in (BAR, same))
    assert np.any(np.isclose(pieces.mesh.station[:, 0], 0.37, rtol=0, atol=1e-15))
    one, other = (linearise(m).modes(3).frequencies_hz for m in (whole, pieces))
    np.testing.assert_allclose(one, other, rtol=2e-4)
    turned = [m.rigid_motion([0.0], [1.0], [0.0])[1] for m in (whole, pieces)]
    inertia = [v @ m.M @ v for v, m in zip(turned, (whole, pieces), strict=True)]
    assert inertia[0] == pytest.approx(inertia[1], rel=1e-12)


def test_stepped_cantilever_against_the_flexibility_integral() -> None:
    """Tip deflection by Castigliano over two pieces; piecewise-constant mass."""
    thin, P, b = Section(100e-6, 0.2e-8), 1e-3, 0.4
    link = Link(1.0, ALUMINIUM, BAR.section, (thin,), (b,))
    model = planar(Arm("step", (link,), (Joint(),)), 60)
    u = np.array([0.0, 0.0, P, 0.0])
    q = equilibrium(model, hold={"joint1": 0.0}, load=u).q
    E, G = ALUMINIUM.youngs_modulus, ALUMINIUM.shear_modulus
    bending = (1 - (1 - b) ** 3) / (3 * E * 1e-8) + (1 - b) ** 3 / (3 * E * 0.2e-8)
    shear = b / (0.8864 * G * 350e-6) + (1 - b) / (5 / 6 * G * 100e-6)
    found = model.output(q, 0 * q, 0 * q, u)[-1]
    assert found == pytest.approx(P * (bending + shear), rel=2e-4)
    ones = np.zeros(model.mesh.size)
    ones[model.mesh.node[1:, 0]] = 1.0
    base = model.mesh.rhoA[0] * model.mesh.length[0] * (1 / 3 + 2 / 6)  # of the held node and its couplings
    assert ones @ model.M @ ones + base == pytest.approx(link.mass, rel=1e-12)


def test_profile_of_a_tapered_link_converges_to_its_mass_and_deflection() -> None:
    """Depth falls linearly to a half: I as its cube; deflection by quadrature."""

    def section(s: float) -> Section:
        d = 1.0 - 0.5 * s
        return Section(350e-6 * d, 1e-8 * d**3, 0.8864)

    link = Link(1.0, ALUMINIUM, section(0.0), profile=section)
    assert link.mass == pytest.approx(2700 * 350e-6 * 0.75, rel=1e-12)
    x, weights = np.polynomial.legendre.leggauss(20)
    s, g = 0.5 * (1 + x), 0.5 * weights
    E, GA = ALUMINIUM.youngs_modulus, 0.8864 * ALUMINIUM.shear_modulus * 350e-6
    d = 1 - 0.5 * s
    exact = np.sum(g * ((1 - s) ** 2 / (E * 1e-8 * d**3) + 1 / (GA * d)))
    errors = []
    for n in (10, 20, 40):
        model = planar(Arm("taper", (link,), (Joint(),)), n)
        u = np.array([0.0, 0.0, 1e-4, 0.0])
        q = equilibrium(model, hold={"joint1": 0.0}, load=u).q
        errors.append(abs(model.output(q, 0 * q, 0 * q, u)[-1] / (1e-4 * exact) - 1))
    assert np.log2(np.array(errors[:-1]) / errors[1:]) == pytest.approx([2.0, 2.0], abs=0.12)


def test_masses_and_inertias_stand_where_they_belong() -> None:
    """Kinetic energy of the rigid arm against the sum over its bodies."""
    joints = Joint(0.1, mass=3.0), Joint(0.05, mass=0.5, housing_inertia=0.02, rotor_inertia=0.03)
    model = planar(arm_2r(*joints, payload=Payload(0.4, 0.01)), 5)
    phi, w = np.array([0.3, 0.9]), np.array([0.7, -1.9])
    q, v, _ = model.rigid_motion(phi, w, 0 * w)
    w1, w2, rho, rotary = w[0], w.sum(), 0.945, 2.7e-5
    elbow = w1**2
    cross = w1 * w2 * np.cos(phi[1])
    twice = rho * w1**2 / 3 + rho * (elbow + w2**2 / 3 + cross) + rotary * (w1**2 + w2**2)
    twice += 0.1 * w1**2 + 0.05 * w2**2 + 0.5 * elbow + 0.02 * w1**2 + 0.03 * w[1] ** 2
    twice += 0.4 * (elbow + w2**2 + 2 * cross) + 0.01 * w2**2
    assert model.energy(q, v).kinetic == pytest.approx(twice / 2, rel=1e-13)


def test_rigid_torques_are_those_of_lagrange() -> None:
    """Two slender rods and their rotary inertia, closed form; weight too."""
    model = planar(arm_2r(gravity=(0.0, -9.81)), 3)
    rho, rotary = 0.945, 2.7e-5
    rng = np.random.default_rng(4)
    phi, w, a = (rng.standard_normal((5, 2)) for _ in range(3))
    c2, s2, c1, c12 = np.cos(phi[:, 1]), np.sin(phi[:, 1]), np.cos(phi[:, 0]), np.cos(phi.sum(axis=1))
    m22 = rho / 3 + rotary
    m12 = m22 + rho * c2 / 2
    m11 = rho / 3 + rotary + rho + m22 + rho * c2
    h = rho * s2 / 2
    weight2 = rho * 9.81 * c12 / 2
    tau1 = m11 * a[:, 0] + m12 * a[:, 1] - h * w[:, 1] * (2 * w[:, 0] + w[:, 1]) + 1.5 * rho * 9.81 * c1 + weight2
    tau2 = m12 * a[:, 0] + m22 * a[:, 1] + h * w[:, 0] ** 2 + weight2
    np.testing.assert_allclose(model.rigid_torques(phi, w, a), np.column_stack([tau1, tau2]), rtol=1e-12, atol=1e-12)


def test_sensors_read_what_they_say() -> None:
    """A cantilever under an end force: curvature F (L - x) / E I, deflection, strain; a rigid arm: geometry."""
    model = planar(replace(arm_2r(sensors=SENSORS), payload=Payload(0.1, 0.0)), 40)
    u = np.array([0.0, 0.0, 0.0, 1e-2, 0.0])
    q = equilibrium(model, hold={"joint1": 0.0, "joint2": 0.0}, load=u).q
    y = dict(zip(names(model.outputs), model.output(q, 0 * q, 0 * q, u), strict=True))
    EI, L = 700.0, 2.0
    for link, x in ((1, 0.33), (2, 1.8)):
        curvature = 1e-2 * (L - x) / EI
        assert y[f"curvature{link}"] == pytest.approx(curvature, rel=1e-6)
        assert y[f"strain{link}"] == pytest.approx(0.0106 * curvature, rel=1e-6)
    assert y["displacement1"] == pytest.approx(1e-2 * 0.33**2 * (3 * L - 0.33) / (6 * EI), rel=2e-3)
    phi, w, a = np.array([0.4, 1.0]), np.array([0.3, -0.2]), np.array([2.0, 1.0])
    y = dict(zip(names(model.outputs), model.output(*model.rigid_motion(phi, w, a), u), strict=True))
    assert y["displacement1"] == pytest.approx(0.33 * 0.4, abs=1e-12)
    assert y["displacement2"] == pytest.approx(0.8 * 1.0, abs=1e-12)
    assert y["acceleration1"] == pytest.approx(0.33 * 2.0, abs=1e-12)
    across = 2.0 * np.cos(1.0) + 0.3**2 * np.sin(1.0) + 0.8 * 3.0
    assert y["acceleration2"] == pytest.approx(across, abs=1e-12)
    assert y["tip_error_x"] == pytest.approx(0.0, abs=1e-14)
    np.testing.assert_allclose([y["tip_x"], y["tip_y"]], model.rigid_tip(phi), atol=1e-14)


def test_another_payload_is_another_model() -> None:
    model = planar(arm_2r(), 4)
    loaded = model.with_payload(0.3, 0.02)
    assert loaded.arm.payload == Payload(0.3, 0.02)
    assert (loaded.M - model.M)[model.mesh.node[-1], model.mesh.node[-1]] == pytest.approx([0.3, 0.3, 0.02])
    first = [lock(linearise(m), JOINTS).modes(1).frequencies_hz[0] for m in (model, loaded)]
    assert first[1] < first[0]


def test_spinning_arm_is_stiffer_and_gyroscopic() -> None:
    """Frequencies of the beam of Simo and Vu-Quoc, from the exact prestressed state; and a spinning 2R arm."""
    beam = fx.load_plant("simo_vu_quoc_1986").model
    for spin, with_stretch, without in ((1.0, 3.8231, 3.6638), (3.0, 4.0106, 2.3289)):
        for stiffening, expected in ((True, with_stretch), (False, without)):
            plant = lock(spinning_plant(beam, [spin], stiffening=stiffening), ["joint1"])
            assert plant.modes(1).poles[0].imag == pytest.approx(expected, rel=2e-5)
    fast = lock(spinning_plant(beam, [6.0]), ["joint1"]).modes(1)
    assert fast.poles[0].imag == pytest.approx(4.5116, rel=1e-4)
    unstable = lock(spinning_plant(beam, [6.0], stiffening=False), ["joint1"]).modes(1)
    assert unstable.real_poles.max() == pytest.approx(4.6444, rel=1e-3)
    stretch = steady_state(beam, [6.0]).q[beam.mesh.node[-1, 0]] - 10.0
    assert stretch == pytest.approx(1.2 * 36 * 1000 / (3 * 2.8e7), rel=1e-3)


def test_the_steady_state_is_balanced_and_the_same_at_any_angle() -> None:
    """That the plant about it is the motion near it: test_spinning.py."""
    model = planar(arm_2r(), 4)
    rates, angles = (8.0, 0.0), (0.0, 0.7)
    point = steady_state(model, rates, angles)
    assert np.abs(model.mass(point.q) @ point.a + model.force(point.q, point.v) - model.B @ point.u).max() < 1e-6
    W = model.turning(rates)
    q0 = model.rigid_motion(angles, rates, (0.0, 0.0))[0]
    residual = point.a - model.rigid_motion(angles, rates, (0.0, 0.0))[2] - W @ W @ (point.q - q0)
    assert np.abs(residual).max() < 1e-9
    # turned by any angle it is the same state, by invariance: the tangent's rigid spin costs nothing
    plant = spinning_plant(model, rates, angles)
    turned = model.rigid_motion(angles, (1.0, 0.0), (0.0, 0.0))[1]
    turned[model.mesh.node[1:, :2]] = np.stack(
        [-point.q[model.mesh.node[1:, 1]], point.q[model.mesh.node[1:, 0]]], axis=1
    )
    assert np.abs(plant.K @ turned).max() < 1e-6 * np.abs(plant.K).max() * 1e-3


def test_what_cannot_spin_is_refused() -> None:
    heavy = planar(arm_2r(gravity=(0.0, -9.81)), 2)
    with pytest.raises(DefinitionError, match="set gravity to zero"):
        steady_state(heavy, [1.0, 0.0])
    with pytest.raises(DefinitionError, match="3 joint rates given; the arm has 2"):
        steady_state(heavy, [1.0, 0.0, 0.0])
    with pytest.raises(NotAvailable, match="finite_difference"):
        steady_state(build(tokhi_arm(), "finite_difference"), [1.0])
    plant = linearise(build(tokhi_arm(), "finite_difference", sections=3))
    with pytest.raises(DefinitionError, match="nothing is left"):
        lock(plant, names(plant.coordinates))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"elements": 0}, "elements = 0 per link"),
        ({"elements": (3, 4, 5)}, "one for each of 2 links"),
        ({"analysis": "linaer"}, 'did you mean "linear"'),
    ],
)
def test_bad_options_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        TimoshenkoPlanar(arm_2r(), **change)


def test_bad_arms_are_refused() -> None:
    plain = Link(1.0, ALUMINIUM, Section(350e-6, 1e-8))
    with pytest.raises(DefinitionError, match="needs outer_distance"):
        planar(Arm("1r", (plain,), (Joint(),), sensors=(Sensor("s", "strain", 0.0),)))
    with pytest.raises(DefinitionError, match="taken by the model"):
        planar(arm_2r(sensors=(Sensor("tip_x", "curvature", 0.5),)))
    with pytest.raises(DefinitionError, match="2 pieces and needs at least as many elements"):
        planar(Arm("p", (Link(1.0, ALUMINIUM, BAR.section, (BAR.section,), (0.5,)),), (Joint(),)), 1)
    with pytest.raises(DefinitionError, match=r"joint values of shape \(1,\) given; the arm has 2 joints"):
        planar(arm_2r(), 2).pose([0.1])


@pytest.mark.parametrize(
    ("joint", "message"),
    [
        (Joint(angle=0.3), "no joint angle .joint 1."),
        (Joint(mass=0.3), "no joint mass"),
    ],
)
def test_what_a_model_does_not_know_is_refused_not_ignored(joint: Joint, message: str) -> None:
    arm = replace(tokhi_arm(), joints=(joint,))
    with pytest.raises(DefinitionError, match=f"finite_difference has {message}"):
        build(arm, "finite_difference")
    assert build(arm, "timoshenko_planar", elements=2)


def test_servo_gains_without_a_servo_are_refused() -> None:
    with pytest.raises(DefinitionError, match='no effect with drive = "torque"'):
        Joint(servo_stiffness=1.0)
    with pytest.raises(DefinitionError, match="needs servo_stiffness"):
        Joint(drive="servo")


def test_no_rest_pose_says_so() -> None:
    jelly = Link(1.0, Material(50.0, 1000.0), Section(1e-4, 1e-12))
    with pytest.raises(ConvergenceError, match="too soft for its weight"):
        planar(Arm("jelly", (jelly,), (Joint(),), gravity=(0.0, -9.81)), 20).rest([0.0])
