"""The chain of segments: frequencies of every closure, non-uniform and flexible arms, derivatives, statics, refusals.

Reference numbers of the paper's arms (Li and Zhang, "A method for modeling flexible manipulators: transfer matrix
method with finite segments") come from an assembly written independently of the library, and from closed forms.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from analytical import wedge_frequencies

import flexctl as fx
from flexctl.errors import DefinitionError
from flexctl.exact.transfer_matrix import TransferMatrixArm
from flexctl.linear import linearise
from flexctl.linear.equilibrium import equilibrium
from flexctl.linear.modes import normal_modes
from flexctl.linear.steady import lock, spinning_plant
from flexctl.machine.arm import Arm, Damping, Joint, Link, Material, Payload, Section, Sensor
from flexctl.model import OperatingPoint, names
from flexctl.models import build
from flexctl.models.finite_segment import FiniteSegment
from flexctl.models.finite_segment.mesh import CLOSURES
from flexctl.testing.differences import order

Array = npt.NDArray[Any]
EXACT = np.array([6.09844, 38.21828, 107.01230])  # Hz, clamped Euler-Bernoulli beam
FREE = np.array([26.74250, 86.66282, 180.81506, 309.20444])  # Hz, hinged
FIRST = {  # Hz, by closure and number of segments
    "paper": {5: 7.6151, 10: 6.7745, 20: 6.4191, 60: 6.2018, 200: 6.1291},
    "base": {5: 5.9886, 10: 6.0706, 20: 6.0915, 60: 6.0977, 200: 6.0984},
    "half": {5: 6.1549, 10: 6.1125, 20: 6.1019, 60: 6.0988, 200: 6.0985},
}
ERRORS = {  # %, as printed
    "paper": "24.9 11.1 5.26 1.69 0.50", "base": "-1.80 -0.457 -0.115 -0.013 -0.001",
    "half": "0.925 0.230 0.057 0.006 0.001",
}
ALUMINIUM = Material(70e9, 2700.0)
BAR = Link(1.0, ALUMINIUM, Section(350e-6, 1e-8, 0.8864, 0.0106))
SENSORS = tuple(
    Sensor(f"{kind}{link}", kind, station, link)
    for kind in ("displacement", "acceleration", "curvature", "strain")
    for link, station in ((1, 0.33), (2, 0.8))
)
DAMPINGS = (Damping(), Damping("rayleigh", alpha=0.3, beta=1e-3), Damping("modal", ratio=0.02))


def single() -> Arm:
    return fx.load_plant("li_zhang_single_link").arm


def locked(arm: Arm, count: int = 3, **options: Any) -> Array:
    """Lowest frequencies with all joints held [Hz]."""
    model = FiniteSegment(arm, **options)
    plant = linearise(model, OperatingPoint.at_rest(model))
    return np.asarray(lock(plant, list(model.joints.values())).modes(count).frequencies_hz)


def full_arm(damping: Damping) -> Arm:
    """Two unlike links, one of two pieces, a flexible and a servo joint, all kinds of inertia and sensors, gravity."""
    thin = Section(200e-6, 0.5e-8, 0.8, 0.01)
    joints = (
        Joint(0.1, angle=0.3, mass=3.0, rotor_inertia=0.04, stiffness=50.0, damping=0.7, friction=0.2),
        Joint(0.05, "servo", 0.5, 1.2, 0.02, 0.03, servo_stiffness=100.0, servo_damping=3.0, friction=0.1),
    )
    second = Link(0.7, ALUMINIUM, BAR.section, (thin,), (0.4,))
    return Arm("full", (BAR, second), joints, Payload(0.5, 0.01), damping, SENSORS, (), (1.0, -9.81))


@pytest.mark.parametrize("closure", CLOSURES)
def test_first_frequency_of_the_single_link(closure: str) -> None:
    found = {n: locked(single(), 1, segments=n, closure=closure)[0] for n in FIRST[closure]}
    np.testing.assert_allclose(list(found.values()), list(FIRST[closure].values()), rtol=0, atol=6e-5)
    errors = 100.0 * (np.array(list(found.values())) / EXACT[0] - 1.0)
    for error, said in zip(errors, ERRORS[closure].split(), strict=True):
        assert error == pytest.approx(float(said), abs=0.51 * 10.0 ** -len(said.partition(".")[2]))


@pytest.mark.parametrize(("closure", "declared", "sign"), [("paper", 1, 1), ("base", 2, -1), ("half", 2, 1)])
def test_order_and_side_from_which_frequencies_are_approached(closure: str, declared: int, sign: int) -> None:
    errors = np.array([locked(single(), segments=n, closure=closure) / EXACT - 1.0 for n in (20, 40, 80)])
    assert np.all(np.sign(errors) == sign)
    for mode in range(3):
        assert order(np.abs(errors[:, mode]))[-1] == pytest.approx(declared, abs=0.1)


def test_a_free_joint_does_not_see_the_missing_root_spring() -> None:
    base, paper = (linearise(FiniteSegment(single(), segments=60, closure=c)).modes(4) for c in ("base", "paper"))
    assert base.rigid_modes == paper.rigid_modes == 1
    np.testing.assert_allclose(base.frequencies_hz, FREE, rtol=5e-6)
    np.testing.assert_allclose(base.frequencies_hz, paper.frequencies_hz, rtol=2e-6)
    coarse = linearise(FiniteSegment(single(), segments=10)).modes(4).frequencies_hz
    np.testing.assert_allclose(coarse, [26.742, 86.644, 180.618, 308.033], rtol=1e-5)


@pytest.mark.parametrize("closure", CLOSURES)
def test_zeros_at_the_hub_are_the_clamped_frequencies(closure: str) -> None:
    model = FiniteSegment(single(), segments=20, closure=closure)
    plant = linearise(model)
    row, column = names(plant.outputs).index("joint1_angle"), names(plant.inputs).index("joint1_torque")
    for f in lock(plant, ["joint1"]).modes(3).frequencies_hz:
        below, at, above = (plant.transfer([2j * np.pi * f * x])[row, column, 0].real for x in (0.99, 1.0, 1.01))
        assert below * above < 0.0
        assert abs(at) < 1e-6 * abs(below)


def bent_arm() -> Arm:
    """Two links at an angle, the second of two pieces, with every kind of inertia and flexible joints."""
    thin = Section(200e-6, 0.5e-8, 0.8, 0.01)
    joints = (
        Joint(0.1, angle=0.3, stiffness=500.0, rotor_inertia=0.04),
        Joint(0.05, "torque", 1.2, 0.5, 0.02, 0.03, stiffness=200.0),
    )
    return Arm("bent", (BAR, Link(0.7, ALUMINIUM, BAR.section, (thin,), (0.4,))), joints, Payload(0.5, 0.01))


@pytest.mark.parametrize("closure", ["base", "half"])
@pytest.mark.parametrize(
    ("arm", "held"),
    [(lambda: fx.load_plant("li_zhang_three_link").arm, True),
     (lambda: fx.load_plant("li_zhang_three_link_flexible_joints").arm, True), (bent_arm, True), (bent_arm, False)],
    ids=["three links", "flexible joints", "bent, held", "bent, free"],
)
def test_the_mesh_converges_to_the_exact_beams(arm: Any, held: bool, closure: str) -> None:
    """Inextensible Euler-Bernoulli beams by exact transfer matrices: the limit, approached at second order."""
    made = arm()
    hold = held and made.joints[0].drive != "motion"  # those driven by motion are held in the modes anyway
    oracle = TransferMatrixArm(made, theory="euler_bernoulli", held=hold, extensible=False)
    exact = np.asarray(oracle.natural_frequencies(6)) / (2.0 * np.pi)
    errors = []
    for n in (20, 40):
        model = FiniteSegment(made, segments=n, closure=closure)
        plant = linearise(model, OperatingPoint.at_rest(model))
        plant = lock(plant, list(model.joints.values())) if held else plant
        errors.append(plant.modes(6).frequencies_hz / exact - 1.0)
    assert np.abs(errors[1]).max() < 2e-3
    large = np.abs(errors[1]) > 1e-5  # a mode whose error changes its sign says nothing about the order
    assert large.sum() >= 3
    assert np.abs(order(np.abs(errors))[0][large] - 2.0).max() < 0.2


def test_a_stiff_joint_is_a_rigid_one() -> None:
    flexible = fx.load_plant("li_zhang_three_link_flexible_joints")
    stiff = flexible.with_({f"joint.{i}.stiffness": 1e8 for i in (1, 2, 3)}).arm
    np.testing.assert_allclose(locked(stiff), locked(fx.load_plant("li_zhang_three_link").arm), rtol=1e-6)


@pytest.mark.parametrize("closure", ["base", "half"])
def test_a_tapered_link_against_bessel_functions(closure: str) -> None:
    def section(s: float) -> Section:
        h = 0.01 * (1.0 - 0.5 * s)
        return Section(0.02 * h, 0.02 * h**3 / 12.0)

    arm = Arm("wedge", (Link(1.0, ALUMINIUM, section(0.0), profile=section),), (Joint(),))
    scale = 2.0 * np.pi * (2700.0 * section(0.0).area / (70e9 * section(0.0).second_moment)) ** 0.5
    exact = wedge_frequencies(3, 0.5)
    np.testing.assert_allclose(exact, [3.82379, 18.3173, 47.2648], rtol=1e-5)  # known from tables
    errors = np.array([scale * locked(arm, segments=n, closure=closure) / exact - 1.0 for n in (20, 40)])
    assert np.abs(errors[1]).max() < 1.4e-3
    np.testing.assert_allclose(order(np.abs(errors))[0], 2.0, atol=0.03)


@pytest.mark.parametrize("closure", CLOSURES)
def test_the_chain_has_the_mass_and_the_compliance_of_the_beam(closure: str) -> None:
    """Mass, centre, inertia of a link of pieces and of a cone, and the sum of 1 / K, by integrals done by hand."""
    thin = Section(200e-6, 0.5e-8, 0.8, 0.01)
    pieces = Link(1.0, ALUMINIUM, BAR.section, (thin,), (0.37,))
    chain = FiniteSegment(Arm("p", (pieces,), (Joint(),)), segments=7, closure=closure).chain
    moments = [2700.0 * (350e-6 * 0.37**k + 200e-6 * (1.0 - 0.37**k)) / k for k in (1, 2, 3)]
    start = np.cumsum(chain.length) - chain.length
    arms = start + chain.centre
    inertia = chain.inertia.copy()
    if closure == "base":  # rotary inertia of half a segment at root and end
        halves = 0.5 * 2700.0 * np.array([1e-8 * chain.length[1], 0.5e-8 * chain.length[-2]])
        np.testing.assert_allclose(inertia[[0, -1]], halves, rtol=1e-12)
        inertia[[0, -1]] = 0.0
    found = [chain.mass.sum(), chain.mass @ arms, chain.mass @ arms**2 + inertia.sum()]
    np.testing.assert_allclose(found, moments, rtol=1e-12)
    if closure != "paper":
        compliance = 0.37 / 700.0 + 0.63 / 350.0
        np.testing.assert_allclose(np.sum(1.0 / chain.stiffness[1:]), compliance, rtol=1e-12)


def test_it_is_the_timoshenko_arm_in_the_slender_limit() -> None:
    """The same arm by another solver: frequencies, statics under gravity, inverse dynamics, sensors."""
    arm = Arm("2r", (BAR, Link(0.8, ALUMINIUM, BAR.section)), (Joint(0.2, angle=0.3), Joint(0.05, angle=0.8, mass=0.5)),
              Payload(0.3, 0.01), Damping(), SENSORS, (), (0.0, -9.81))
    ours, theirs = build(arm, "finite_segment", segments=60), build(arm, "timoshenko_planar", elements=60)
    assert names(ours.outputs) == names(theirs.outputs)
    assert names(ours.inputs) == names(theirs.inputs)
    hold = {"joint1": 0.3, "joint2": 0.8}
    at = [equilibrium(m, hold=hold) for m in (ours, theirs)]
    np.testing.assert_allclose(at[0].u, at[1].u, rtol=1e-3)
    readings = [m.output(x.q, x.v, x.a, x.u) for m, x in zip((ours, theirs), at, strict=True)]
    np.testing.assert_allclose(readings[0], readings[1], rtol=2e-3, atol=1e-12)
    plants = [linearise(m, x) for m, x in zip((ours, theirs), at, strict=True)]
    s = 2j * np.pi * np.array([0.5, 2.3, 9.0, 31.0])
    one, other = (p.transfer(s) for p in plants)
    scale = np.abs(other).max(axis=2, keepdims=True)
    assert np.abs((one - other) / scale).max() < 6e-3
    np.testing.assert_allclose(
        [m.rigid_torques([0.2, -0.9], [1.0, 2.0], [3.0, -1.0]) for m in (ours, ours)],
        [theirs.rigid_torques([0.2, -0.9], [1.0, 2.0], [3.0, -1.0])] * 2, rtol=1e-3,
    )


@pytest.mark.parametrize("closure", CLOSURES)
@pytest.mark.parametrize("damping", DAMPINGS, ids=lambda d: d.kind)
def test_tangents_against_complex_step(damping: Damping, closure: str) -> None:
    model = FiniteSegment(full_arm(damping), segments=4, closure=closure)
    draw, n, h = np.random.default_rng(1).standard_normal, len(model.coordinates), 1e-30
    q, v, a = model.reference() + 0.3 * draw(n), draw(n), np.zeros(n)
    tangent = model.tangent(q, v, a, np.zeros(5), np.zeros(0))
    K = np.array([np.imag(model.force(q + 1j * h * e, v)) / h for e in np.eye(n)]).T
    D = np.array([np.imag(model.force(q, v + 1j * h * e)) / h for e in np.eye(n)]).T
    assert np.abs(tangent.stiffness - K).max() < 1e-13 * np.abs(K).max()
    assert np.abs(tangent.damping - D).max() < 1e-13 * np.abs(D).max()


def test_the_lagrangian_gives_the_equations() -> None:
    """M a + h = d/dt dT/dq' - dT/dq + dV/dq with T, V summed body by body from positions: an assembly of its own."""
    model = FiniteSegment(full_arm(Damping()), segments=3, closure="base")
    chain, n = model.chain, len(model.coordinates)
    draw = np.random.default_rng(4).standard_normal
    q, v, a = model.reference() + 0.2 * draw(n), draw(n), draw(n)

    def energies(q: Array, v: Array) -> tuple[Any, Any]:
        theta, w = model.angles(q), model.angles(v)
        place, rate, kinetic, potential = np.zeros(2), np.zeros(2), 0.0, 0.0
        for k in range(n):
            R = np.array([np.cos(theta[k]), np.sin(theta[k])])
            T = np.array([-R[1], R[0]])
            u = rate + chain.centre[k] * w[k] * T
            kinetic = kinetic + 0.5 * chain.mass[k] * (u @ u) + 0.5 * chain.inertia[k] * w[k] ** 2
            potential = potential - chain.mass[k] * (model.gravity @ (place + chain.centre[k] * R))
            before = theta[k - 1] if k else 0.0
            potential = potential + 0.5 * chain.stiffness[k] * (theta[k] - before) ** 2
            place, rate = place + chain.length[k] * R, rate + chain.length[k] * w[k] * T
        kinetic = kinetic + 0.5 * (model.rotor @ v[chain.joint] ** 2)
        return kinetic, potential + 0.5 * (model.kp @ q[chain.joint] ** 2)

    h, eye = 1e-20j, np.eye(n)
    energy = model.energy(q, v)
    np.testing.assert_allclose(energies(q, v), [energy.kinetic, energy.potential], rtol=1e-12)

    def slopes(q: Array, v: Array) -> Array:
        return np.array([np.imag(energies(q + h * e, v)[0] - energies(q + h * e, v)[1]) / 1e-20 for e in eye])

    step = 1e-4
    momentum = [
        np.array([np.imag(energies(q + s * v, v + s * a + h * e)[0]) / 1e-20 for e in eye])
        for s in (-2 * step, -step, step, 2 * step)
    ]
    change = (momentum[0] - 8 * momentum[1] + 8 * momentum[2] - momentum[3]) / (12 * step)
    dissipated = model.force(q, v) - model.force(q, 0 * v)
    gyroscopic = dissipated - (model.tangent(q, 0 * v, 0 * v, np.zeros(5), np.zeros(0)).damping @ v)
    wanted = change - slopes(q, v)
    found = model.mass(q) @ a + model.force(q, 0 * v) + gyroscopic
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-9 * np.abs(wanted).max())


def test_modal_damping_has_its_ratio_and_leaves_rigid_motion_alone() -> None:
    arm = Arm("2r", (BAR, BAR), (Joint(), Joint(0.05, rotor_inertia=0.02, stiffness=300.0)), damping=DAMPINGS[2])
    model = FiniteSegment(arm, segments=6)
    np.testing.assert_allclose(linearise(model).modes().damping, 0.02, rtol=1e-6)
    _, v, _ = model.rigid_motion((0.4, 1.9), (1.0, -2.0), (0.0, 0.0))
    assert np.abs(model.C @ v).max() < 1e-9 * np.abs(model.C).max()


def test_structural_damping_is_that_of_the_springs_and_friction_that_of_the_joint() -> None:
    beta, c = 1e-3, 0.02
    arm = Arm("1r", (BAR,), (Joint(0.1, friction=c),), damping=Damping("rayleigh", beta=beta))
    model = FiniteSegment(arm, segments=20)
    plant = linearise(model)
    clamped = lock(plant, ["joint1"]).modes(3)
    np.testing.assert_allclose(clamped.damping, 0.5 * beta * 2.0 * np.pi * clamped.frequencies_hz, rtol=1e-6)
    q, v, _ = model.rigid_motion((0.4,), (1.5,), (0.0,))
    friction = np.zeros(q.size)
    friction[0] = c * 1.5
    np.testing.assert_allclose(model.force(q, v), friction, atol=1e-9)


def test_mass_damping_is_exact_on_rigid_motion() -> None:
    """alpha M v: a free link slows down as exp(-alpha t)."""
    model = FiniteSegment(Arm("1r", (BAR,), (Joint(0.1),), damping=Damping("rayleigh", alpha=2.0)), segments=5)
    _, v, _ = model.rigid_motion((0.0,), (1.0,), (0.0,))
    run = fx.simulate(model, duration=0.5, step=1e-4, method="trapezoidal", initial=(model.reference(), v))
    np.testing.assert_allclose(run["joint1_rate"], np.exp(-2.0 * run.t), rtol=1e-4)


def test_a_cantilever_under_its_weight_and_a_soft_one_that_hangs() -> None:
    slender = Arm("c", (BAR,), (Joint(),), gravity=(0.0, -9.81))
    model = FiniteSegment(slender, segments=40)
    sag = model.sensors.read(model.angles(model.rest([0.0])), *np.zeros((2, len(model.coordinates))))
    w, EI = 9.81 * 350e-6 * 2700.0, 700.0
    assert sag[names(model.outputs).index("tip_error_y")] == pytest.approx(-w / (8.0 * EI), rel=2e-3)
    soft = Arm("s", (Link(1.0, Material(2e6, 2700.0), BAR.section),), (Joint(),), gravity=(0.0, -9.81))
    model = FiniteSegment(soft, segments=20)
    q, zero = model.rest([0.0]), np.zeros(len(model.coordinates))
    left = model.force(q, zero)
    assert np.abs(left[1:]).max() < 1e-9
    assert model.angles(q)[-1] < -1.4  # hangs


def test_an_arm_that_spins_is_stiffened_by_its_axial_forces() -> None:
    """Against geometrically exact beams; no term of its own, it comes from the sines of the chain."""
    arm = Arm("1r", (BAR,), (Joint(0.1),))
    ours, theirs = build(arm, "finite_segment", segments=60), build(arm, "timoshenko_planar", elements=60)
    for rate in (0.0, 60.0):
        one, other = (lock(spinning_plant(m, [rate]), ["joint1"]).modes(2).frequencies_hz for m in (ours, theirs))
        np.testing.assert_allclose(one, other, rtol=2e-3)
    still = 2.0 * np.pi * locked(arm, 1, segments=60)[0]
    # Southwell: omega^2 + (1.193 - 1) Omega^2 for the first mode in the plane of rotation
    assert 2.0 * np.pi * one[0] == pytest.approx(np.sqrt(still**2 + 0.193 * 60.0**2), rel=3e-3)


def test_refusals() -> None:
    plain = Link(1.0, ALUMINIUM, Section(350e-6, 1e-8))
    with pytest.raises(DefinitionError, match=r'unknown closure "bas" .did you mean "base"'):
        FiniteSegment(Arm("a", (BAR,), (Joint(),)), closure="bas")
    with pytest.raises(DefinitionError, match="segments = 0 per link must be a whole number from 1"):
        FiniteSegment(Arm("a", (BAR,), (Joint(),)), segments=0)
    with pytest.raises(DefinitionError, match=r"rotor_inertia = 0 .* give rotor_inertia"):
        FiniteSegment(Arm("a", (BAR,), (Joint(stiffness=10.0),)))
    with pytest.raises(DefinitionError, match="rotor_inertia"):
        build(Arm("a", (BAR,), (Joint(stiffness=10.0),)), "finite_difference")
    rubbing = build(Arm("a", (BAR,), (Joint(friction=0.1),)), "timoshenko_planar", elements=2)
    assert linearise(rubbing).D[0, 0] == pytest.approx(0.1)
    with pytest.raises(DefinitionError, match="no spring beside it"):
        Joint(damping=0.1)
    with pytest.raises(DefinitionError, match="no spring that bends"):
        FiniteSegment(Arm("a", (BAR,), (Joint(),), sensors=(Sensor("e", "strain", 0.1),)), segments=1, closure="paper")
    with pytest.raises(DefinitionError, match="outer_distance"):
        FiniteSegment(Arm("a", (plain,), (Joint(),), sensors=(Sensor("e", "strain", 0.1),)))
    with pytest.raises(DefinitionError, match="the root does not move"):
        FiniteSegment(Arm("a", (BAR,), (Joint(),), sensors=(Sensor("e", "displacement", 0.0),)))
    with pytest.raises(DefinitionError, match="taken by the model"):
        FiniteSegment(Arm("a", (BAR,), (Joint(),), sensors=(Sensor("tip_x", "displacement", 0.5),)))


def test_one_segment_per_link_is_the_rigid_arm() -> None:
    """With "paper" a link of one segment is rigid: the mass matrix is that of the textbook two-link arm."""
    model = FiniteSegment(Arm("2r", (BAR, BAR), (Joint(), Joint())), segments=1, closure="paper")
    m, l = BAR.mass, 1.0
    M = model.mass(np.array([0.4, 0.9]))
    c = np.cos(0.9)
    m22 = m * l**2 / 3.0
    m12 = m22 + 0.5 * m * l**2 * c
    m11 = 5.0 * m * l**2 / 3.0 + m * l**2 * c
    np.testing.assert_allclose(M, [[m11, m12], [m12, m22]], rtol=1e-12)
    assert normal_modes(M, model.tangent(*(np.zeros(2),) * 3, np.zeros(5), np.zeros(0)).stiffness).rigid == 2
    # with masses and inertias at elbow and tip
    joints, own, tip = (Joint(), Joint(mass=0.5, housing_inertia=0.02)), 0.5, Payload(0.3, 0.01)
    M = FiniteSegment(Arm("2r", (BAR, BAR), joints, tip), segments=1, closure="paper").mass(np.array([0.4, 0.9]))
    m22 += tip.mass * l**2 + tip.inertia
    m12 += tip.mass * l**2 * (1.0 + c) + tip.inertia
    m11 += own * l**2 + 0.02 + tip.mass * 2.0 * l**2 * (1.0 + c) + tip.inertia
    np.testing.assert_allclose(M[1, 1], m22, rtol=1e-12)
    np.testing.assert_allclose(M[0, 1], m12, rtol=1e-12)
    np.testing.assert_allclose(M[0, 0], m11, rtol=1e-12)
