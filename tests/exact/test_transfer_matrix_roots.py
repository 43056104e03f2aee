"""Roots of transfer matrices: no frequency is missed, zeros, modes; joints of every kind; what is refused."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.linalg as sla
from scipy.optimize import brentq
from test_transfer_matrix import ALUMINIUM, BAR, HZ, THICK, THIN, bent_arm, column, entry, row, two_bars

import flexctl as fx
from flexctl.errors import ConvergenceError, DefinitionError, NotAvailable
from flexctl.exact.transfer_matrix import TransferMatrixArm
from flexctl.exact.transfer_matrix.roots import search, turns, whole
from flexctl.linear import linearise
from flexctl.linear.steady import lock
from flexctl.machine.arm import Actuator, Arm, Damping, Joint, Link, Material, Payload, Section, Sensor
from flexctl.model import FrequencyModel, names
from flexctl.models import build


@pytest.mark.parametrize("seed", range(4))
def test_no_frequency_is_missed(seed: int) -> None:
    """Random arms: the count steps by one at every frequency found, and finite elements have as many."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 4))
    links = tuple(Link(float(rng.uniform(0.2, 1.5)), ALUMINIUM, (THICK, THIN)[int(rng.integers(2))]) for _ in range(n))
    joints = tuple(
        Joint(angle=float(rng.uniform(-2, 2)), mass=float(10 ** rng.uniform(-3, 0.5)),
              hub_inertia=float(10 ** rng.uniform(-6, -1)), rotor_inertia=float(10 ** rng.uniform(-6, 0)))
        for _ in range(n)
    )
    arm = Arm("random", links, joints, Payload(float(10 ** rng.uniform(-3, 1)), float(10 ** rng.uniform(-6, -1))))
    model = TransferMatrixArm(arm, held=[f"joint{i + 1}" for i in range(n) if rng.random() < 0.3])
    omega = model.natural_frequencies(25)
    assert np.all(np.diff(omega) > 0)
    assert [model.count_below(w * (1 - 1e-9)) for w in omega] == list(range(25))
    assert [model.count_below(w * (1 + 1e-9)) for w in omega] == list(range(1, 26))
    plant = lock(linearise(build(arm, "timoshenko_planar", elements=60)), [f"joint{i + 1}" for i in model.held])
    fine = plant.modes(10).frequencies_hz * HZ
    assert fine == pytest.approx(omega[:10], rel=2e-2)
    bound = 0.5 * (omega[5] + omega[6])
    assert model.natural_frequencies(below=bound) == pytest.approx(omega[:6], rel=1e-13)


def test_coincident_frequencies_are_both_found() -> None:
    """A straight held arm: the axial frequency is tuned onto a bending one, which it does not couple with."""
    E, rho, area = 70e9, 2700.0, 350e-6
    axial = 0.5 * np.pi * (E / rho) ** 0.5  # of a rod of 1 m, rad/s
    x = brentq(lambda x: np.cos(x) + 1 / np.cosh(x), 10.0, 12.0)  # the fourth clamped-free mode
    second = (axial / x**2) ** 2 * rho * area / E
    arm = Arm("tuned", (Link(1.0, ALUMINIUM, Section(area, second)),), (Joint(),))
    model = TransferMatrixArm(arm, theory="euler_bernoulli", held=True)
    assert model.natural_frequencies(5)[3:] == pytest.approx([axial, axial], rel=1e-12)


def test_count_agrees_with_the_argument_principle() -> None:
    model = TransferMatrixArm(bent_arm())
    omega = model.natural_frequencies(16)
    radius = float(np.sqrt(omega[14] * omega[15]))
    change = turns(lambda s: model.characteristic(s)[0], radius, np.pi)
    assert whole(change, "test") == 2 * 15 + model.poles_at_zero == 36
    with pytest.raises(ConvergenceError, match=r"0\.500 pi"):
        whole(0.5, "test")


# zeros and poles


def pencil_zeros(plant: Any, output: str, source: str, below: float) -> np.ndarray[Any, Any]:
    """Zeros of one channel of M, D, K by the first-order system pencil."""
    n = plant.M.shape[0]
    i, j = row(plant, output), column(plant, source)
    A = np.block([[np.zeros((n, n)), np.eye(n), np.zeros((n, 1))], [-plant.K, -plant.D, plant.B[:, [j]]],
                  [plant.Cq[[i]], plant.Cv[[i]], np.zeros((1, 1))]])
    Q = sla.block_diag(np.eye(n), plant.M, np.zeros((1, 1)))
    s = sla.eigvals(A, Q)
    s = s[np.isfinite(s) & (np.abs(s) < below) & (np.abs(s) > 3.0) & (s.imag > -1e-6 * np.abs(s))]
    return s[np.argsort(np.abs(s))]


def same_roots(found: Any, expected: Any, tolerance: float) -> bool:
    """Whether two sets agree one to one."""
    left = list(expected)
    for root in found:
        k = int(np.argmin([abs(root - x) for x in left]))
        if abs(root - left[k]) > tolerance * abs(root):
            return False
        left.pop(k)
    return not left


CHANNELS = [
    ("joint1_angle", "joint1_torque"), ("joint1_angle", "joint3_torque"), ("tip_x", "joint1_torque"),
    ("tip_y", "joint2_torque"), ("tip_error_y", "joint1_torque"), ("gauge", "joint2_torque"),
    ("side", "joint1_torque"), ("tip_x", "tip_force_x"),
]


@pytest.mark.parametrize("damping", [Damping(), Damping("rayleigh", alpha=2.0, beta=1e-4)])
def test_zeros_are_those_of_fine_elements(damping: Damping) -> None:
    """Real, imaginary and complex ones: as many, and within the error of the mesh."""
    arm = bent_arm(damping=damping)
    model, plant = TransferMatrixArm(arm), linearise(build(arm, "timoshenko_planar", elements=14))
    kinds = set()
    for output, source in CHANNELS if damping.kind == "none" else CHANNELS[1:3]:
        zeros = model.zeros(output, source, below=600.0)
        assert same_roots(zeros, pencil_zeros(plant, output, source, 640.0)[: zeros.size], 5e-2), (output, source)
        step = np.maximum(np.abs(zeros) * 1e-4, 1e-9)
        around = np.abs(entry(model, output, source, zeros + step))
        assert np.abs(entry(model, output, source, zeros)) / around == pytest.approx(0.0, abs=1e-7)
        kinds |= set(zip((zeros.real != 0).tolist(), (zeros.imag != 0).tolist(), strict=True))
    assert kinds >= ({(True, False), (False, True), (True, True)} if damping.kind == "none" else {(True, True)})


def test_poles_and_zeros_with_dampers_at_the_joints() -> None:
    """Servo dampers, friction and a damped spring: nothing is proportional any more."""
    arm = bent_arm(("servo",) * 3)
    model, plant = TransferMatrixArm(arm), linearise(build(arm, "timoshenko_planar", elements=14))
    assert model.joint_dampers
    poles = model.poles(below=600.0)
    found = plant.modes()
    expected = np.concatenate([found.poles, found.real_poles])
    assert same_roots(poles, expected[np.abs(expected) < 610.0], 5e-2)
    assert np.any(poles.imag == 0)
    assert np.all(poles.real < 0)
    for output, source in (("tip_y", "joint1_command"), ("joint2_angle", "joint2_command"), ("gauge", "tip_force_y")):
        zeros = model.zeros(output, source, below=400.0)
        assert same_roots(zeros, pencil_zeros(plant, output, source, 410.0)[: zeros.size], 5e-2)
    joints = (Joint(stiffness=200.0, damping=1.0, friction=0.3, rotor_inertia=0.01),)
    loose = TransferMatrixArm(Arm("loose", (BAR,), joints))
    assert loose.poles_at_zero == 1
    poles = loose.poles(below=1000.0)
    beside = np.abs(entry(loose, "joint1_angle", "joint1_torque", poles * (1 + 1e-9)))
    assert np.all(beside > 1e3 * np.abs(entry(loose, "joint1_angle", "joint1_torque", poles * (1 + 1e-4))))


def test_damped_poles() -> None:
    plant = linearise(build(bent_arm(damping=Damping("rayleigh", alpha=2.0, beta=1e-4)), "timoshenko_planar"))
    model = TransferMatrixArm(bent_arm(damping=Damping("rayleigh", alpha=2.0, beta=1e-4)))
    found = plant.modes(4)
    poles = model.poles(below=700.0)
    assert poles[:3] == pytest.approx(-2.0)  # rigid-body motion: s^2 + alpha s
    assert poles[3:] == pytest.approx(found.poles, rel=1e-2)
    omega = model.natural_frequencies(4)
    assert poles[3:].imag ** 2 + (1.0 + 5e-5 * omega**2) ** 2 == pytest.approx(omega**2)
    modal = TransferMatrixArm(bent_arm(damping=Damping("modal", ratio=0.02)))
    assert modal.poles(below=700.0) == pytest.approx(omega * (-0.02 + 1j * np.sqrt(1 - 0.02**2)))
    with pytest.raises(DefinitionError, match=r"-1/beta; ask for less than 9900"):
        model.poles(below=2e4)


def test_search_finds_what_is_counted_and_divides_out_what_is_known() -> None:
    roots = np.array([-3.0, 2.0, 1 + 2j, 1 - 2j, 0.5 + 0.1j, 0.5 - 0.1j])
    starts = np.array([1j, 3.0, 0.4 + 0j, 2 + 2j])
    found = search(lambda s: np.prod(s[:, None] - roots, axis=1), roots[:1], 5, starts, 5.0)
    assert same_roots(found, [2.0, 1 + 2j, 0.5 + 0.1j], 1e-9)


# modes


def test_modal_plant_converges_to_the_exact_response() -> None:
    arm = bent_arm(damping=Damping("rayleigh", alpha=0.7, beta=3e-5))
    model = TransferMatrixArm(arm)
    s = np.array([0.5j, 30j, 20 + 200j])
    H = model.transfer(s)
    plants = [model.modal_plant(count) for count in (15, 60)]
    assert names(plants[0].coordinates)[:4] == ["rigid1", "rigid2", "rigid3", "mode1"]
    for output in ("joint1_angle", "joint2_rate", "tip_y", "tip_acceleration_x"):
        i, size = row(model, output), np.abs(H[row(model, output)]).max(axis=0)
        error = [(np.abs(p.transfer(s)[i] - H[i]) / size).max() for p in plants]
        assert error[1] < 0.05 * error[0]
        assert error[1] < 1e-4
    assert plants[0].modes(5).frequencies_hz * HZ == pytest.approx(model.natural_frequencies(5), rel=1e-12)
    modal = TransferMatrixArm(bent_arm(damping=Damping("modal", ratio=0.013))).modal_plant(6)
    assert modal.modes(6).damping == pytest.approx(0.013, rel=1e-9)
    assert modal.modes(6).rigid_modes == 3


def test_mode_shapes_have_unit_modal_mass() -> None:
    """Mass by Simpson's rule over the shapes, orthogonal ones; their joint angles are the gains of the modal plant."""
    arm = bent_arm()
    model = TransferMatrixArm(arm, theory="euler_bernoulli")
    shapes, plant = model.mode_shapes(4, stations=101), model.modal_plant(4)
    modal = np.zeros((4, 4))
    for a, first in enumerate(shapes):
        assert first.joints == pytest.approx(plant.B[3 + a, :3], rel=1e-9)
        assert first.displacement[-1, -1] == pytest.approx(plant.B[3 + a, 3:5], rel=1e-9)
        # a moment works on the slope at the tip, here one-sided, of fourth order
        across = (first.displacement[-1] @ np.array([-np.sin(model.chain.angle[-1]), np.cos(model.chain.angle[-1])]))
        slope = across[-5:] @ np.array([3.0, -16.0, 36.0, -48.0, 25.0]) / 12.0 * 100.0 / arm.links[-1].length
        assert slope == pytest.approx(plant.B[3 + a, 5], rel=1e-4)
        for b, second in enumerate(shapes):
            modal[a, b] = _overlap(arm, first, second)
    assert modal == pytest.approx(np.eye(4), abs=2e-6)
    assert shapes[0].position[-1, -1] == pytest.approx(model.chain.ends[-1])
    assert shapes[2].deflection[:, 0] == pytest.approx(np.zeros((3, 2)))


def _overlap(arm: Arm, a: Any, b: Any) -> float:
    """Integral of rho A a b over the links plus joints and payload."""
    total, slope = 0.0, []
    for i, link in enumerate(arm.links):
        product = np.sum(a.displacement[i] * b.displacement[i], axis=1)
        n = product.size - 1
        edges = [0, *(round(x * n) for x in link.breaks), n]
        for section, (p, q) in zip((link.section, *link.next_sections), pairwise(edges), strict=True):
            weights = np.array([1.0, *([4.0, 2.0] * ((q - p) // 2))[:-1], 1.0]) / 3
            total += float(weights @ product[p : q + 1]) * link.length / n * link.material.density * section.area
        ends = [[_slope(shape, i, link.length, at) for at in (0, -1)] for shape in (a, b)]
        slope.append(ends)
        j = arm.joints[i]
        total += j.hub_inertia * ends[0][0] * ends[1][0] + j.rotor_inertia * a.joints[i] * b.joints[i]
        if i:
            total += j.mass * float(a.displacement[i, 0] @ b.displacement[i, 0])
            total += j.housing_inertia * slope[i - 1][0][1] * slope[i - 1][1][1]
    total += arm.payload.mass * float(a.displacement[-1, -1] @ b.displacement[-1, -1])
    return total + arm.payload.inertia * slope[-1][0][1] * slope[-1][1][1]


def _slope(shape: Any, link: int, length: float, at: int) -> float:
    """Angle of a link's end: fourth-order difference of the displacement across it."""
    along = shape.position[link, -1] - shape.position[link, 0]
    across = shape.displacement[link] @ np.array([-along[1], along[0]]) / length
    h = length / (across.shape[0] - 1)
    side = across[:5] if at == 0 else -across[::-1][:5]
    return float(np.array([-25, 48, -36, 16, -3]) @ side / (12 * h))


# options


def test_commanded_joints_and_their_torque() -> None:
    """The motion-driven arm is the torque-driven one solved for its torque."""
    s = np.array([3j, 10 + 80j])
    free, moved = (TransferMatrixArm(bent_arm((drive, "torque", "torque"))) for drive in ("torque", "motion"))
    angle, tip = (entry(free, output, "joint1_torque", s) for output in ("joint1_angle", "tip_y"))
    assert entry(moved, "tip_y", "joint1_acceleration", s) == pytest.approx(tip / angle / s**2, rel=1e-10)
    assert entry(moved, "joint1_torque", "joint1_acceleration", s) == pytest.approx(1 / (angle * s**2), rel=1e-10)
    assert entry(moved, "joint1_angle", "joint2_torque", s) == pytest.approx(0.0)
    held = TransferMatrixArm(bent_arm(), held=["joint1"])
    assert moved.natural_frequencies(6) == pytest.approx(held.natural_frequencies(6), rel=1e-13)


def test_flexible_joint_is_a_spring_in_series() -> None:
    """Rigid link on a drive of inertia Jr through K + c s: two masses; the joint angle is the link's."""
    joint = Joint(rotor_inertia=0.05, stiffness=80.0, damping=0.4, friction=0.2, hub_inertia=0.03)
    model = TransferMatrixArm(Arm("two masses", (BAR,), (joint,)), theory="rigid")
    J = 0.03 + BAR.mass / 3 + 2700.0 * 1e-8
    for s in (0.5j, 3 + 20j, 200j):
        k = 80.0 + 0.4 * s
        Z = np.array([[0.05 * s**2 + 0.2 * s + k, -k], [-k, J * s**2 + k]])
        drive, link = np.linalg.solve(Z, [1.0, 0.0])
        assert entry(model, "joint1_motor_angle", "joint1_torque", s)[0] == pytest.approx(drive, rel=1e-12)
        assert entry(model, "joint1_motor_rate", "joint1_torque", s)[0] == pytest.approx(s * drive, rel=1e-12)
        assert entry(model, "joint1_angle", "joint1_torque", s)[0] == pytest.approx(link, rel=1e-12)
        assert entry(model, "tip_y", "joint1_torque", s)[0] == pytest.approx(link, rel=1e-12)
        assert abs(entry(model, "tip_error_y", "joint1_torque", s)[0]) <= 1e-10 * abs(link)


def test_finite_segments_converge_at_second_order() -> None:
    """Flexible joints with dampers, friction, Rayleigh damping: the segment model has the same channels and limit."""
    flexible = {"stiffness": 100.0, "damping": 0.01, "friction": 0.02, "rotor_inertia": 1e-4}
    joints = (Joint(**flexible), Joint(mass=0.04, angle=0.5, **flexible), Joint(mass=0.04, angle=-0.8, **flexible))
    link = Link(0.254, Material(71e9, 2710.0), Section(0.00508**2, 0.00508**4 / 12, outer_distance=0.00254))
    sensors = (Sensor("c", "displacement", 0.5, 2), Sensor("s", "strain", 0.5, 2), Sensor("a", "acceleration", 1.0, 1))
    damping = Damping("rayleigh", alpha=0.2, beta=1e-4)
    arm = Arm("three", (link,) * 3, joints, Payload(0.03, 1e-5), damping, sensors)
    exact = TransferMatrixArm(arm, theory="euler_bernoulli", extensible=False)
    s = np.array([1j, 20j, 100 + 300j])
    H, errors = exact.transfer(s), []
    for segments in (20, 40):
        plant = linearise(build(arm, "finite_segment", segments=segments))
        assert set(names(exact.outputs)) <= set(names(plant.outputs))
        assert names(plant.inputs) == names(exact.inputs)
        own = [names(plant.outputs).index(name) for name in names(exact.outputs)]
        errors.append((np.abs(plant.transfer(s)[own] - H) / np.abs(H).max(axis=1, keepdims=True)).max(axis=(1, 2)))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.02)
    assert errors[1].max() < 1e-3


def test_stiff_joint_spring_is_no_spring() -> None:
    s = np.array([5j, 10 + 300j])
    stiff, plain = (TransferMatrixArm(two_bars(angle=0.5, stiffness=K)) for K in (1e9, 0.0))
    both = [names(stiff.outputs).index(name) for name in names(plain.outputs)]
    assert stiff.transfer(s)[both] == pytest.approx(plain.transfer(s), rel=1e-4)


def test_tapered_link_converges_at_second_order() -> None:
    def taper(x: float) -> Section:
        return Section(4e-4 * (1 - 0.5 * x), 1e-8 * (1 - 0.5 * x) ** 3)

    arm = Arm("taper", (Link(1.0, ALUMINIUM, taper(0.0), profile=taper),), (Joint(),))
    found = [TransferMatrixArm(arm, held=True, pieces=n).natural_frequencies(3) for n in (8, 16, 32, 64)]
    steps = np.diff(found, axis=0)
    assert np.log2(steps[:-1] / steps[1:]) == pytest.approx(2.0, abs=0.1)
    limit = found[-1] + steps[-1] / 3
    elements = lock(linearise(build(arm, "timoshenko_planar", elements=150)), ["joint1"]).modes(3).frequencies_hz
    assert elements * HZ == pytest.approx(limit, rel=1e-3)


def test_angles_and_theories_by_argument() -> None:
    s = np.array([10j])
    bent = TransferMatrixArm(two_bars(angle=0.7)).transfer(s)
    assert TransferMatrixArm(two_bars(), angles=[0.0, 0.7]).transfer(s) == pytest.approx(bent, rel=1e-14)
    mixed = TransferMatrixArm(two_bars(), theory=["rigid", "timoshenko"]).natural_frequencies(1)
    assert mixed > TransferMatrixArm(two_bars()).natural_frequencies(1)
    plain, stiff = (TransferMatrixArm(two_bars(angle=0.7), extensible=e).natural_frequencies(1) for e in (True, False))
    assert stiff == pytest.approx(plain, rel=1e-3)
    assert stiff > plain


def test_response_and_bode_like_any_other_model() -> None:
    arm = two_bars(angle=0.7)
    model = TransferMatrixArm(arm)
    assert isinstance(model, FrequencyModel)
    found = fx.frequency_response(model)
    assert np.all(np.isfinite(found.response))
    peaks = np.log10(np.abs(found.response[row(model, "joint1_angle"), 0]))
    near = [np.abs(found.omega / w - 1).min() for w in model.natural_frequencies(8)]
    assert max(near) < 1e-4
    assert peaks.max() > 0
    other = fx.frequency_response(build(arm, "timoshenko_planar", elements=60), found.omega[:200])
    assert names(other.outputs) == names(found.outputs)
    assert other.response[0, 0] == pytest.approx(found.response[0, 0, :200], rel=5e-2, abs=1e-4)


def test_bad_input() -> None:
    model = TransferMatrixArm(two_bars())
    with pytest.raises(DefinitionError, match="s = 0 is the pole"):
        model.transfer([1j, 0.0])
    with pytest.raises(ConvergenceError, match="pole to the last digit"):
        model.transfer([1j, np.nan])
    with pytest.raises(NotAvailable, match="modal_plant"):
        TransferMatrixArm(bent_arm(damping=Damping("modal", ratio=0.01))).transfer([1j])
    with pytest.raises(NotAvailable, match="modal_plant"):
        TransferMatrixArm(bent_arm(damping=Damping("modal", ratio=0.01))).zeros("tip_x", "joint1_torque")
    with pytest.raises(NotAvailable, match="motion-driven"):
        TransferMatrixArm(bent_arm(("motion", "torque", "torque"))).modal_plant(3)
    with pytest.raises(DefinitionError, match="gravity"):
        TransferMatrixArm(replace(two_bars(), gravity=(0.0, -9.81)))
    with pytest.raises(NotAvailable, match="actuator"):
        TransferMatrixArm(replace(two_bars(), actuators=(Actuator("push", 0.1, 0.2),)))
    with pytest.raises(DefinitionError, match=r'"timoschenko" \(did you mean "timoshenko"\?\)'):
        TransferMatrixArm(two_bars(), theory="timoschenko")
    with pytest.raises(DefinitionError, match='unknown joint "joint3"'):
        TransferMatrixArm(two_bars(), held=["joint3"])
    with pytest.raises(DefinitionError, match="cannot be held too"):
        TransferMatrixArm(bent_arm(("motion", "torque", "torque")), held=True)
    with pytest.raises(DefinitionError, match="2 joints"):
        TransferMatrixArm(two_bars(), angles=[0.0])
    with pytest.raises(DefinitionError, match="one for each of 2 links"):
        TransferMatrixArm(two_bars(), theory=["rigid"])
    with pytest.raises(DefinitionError, match='unknown output "tip_z"'):
        model.zeros("tip_z", "joint1_torque", below=100.0)
    for wrong in ({}, {"count": 3, "below": 4.0}, {"count": -1}, {"below": 0.0}):
        with pytest.raises(DefinitionError):
            model.natural_frequencies(**wrong)
    bare = Arm("x", (BAR,), (Joint(),), sensors=(Sensor("gauge", "strain", 0.0),))
    with pytest.raises(DefinitionError, match="outer_distance"):
        TransferMatrixArm(bare).transfer([1j])
    taken = Arm("x", (BAR,), (Joint(),), sensors=(Sensor("tip_x", "curvature", 0.0),))
    with pytest.raises(DefinitionError, match="taken by the model"):
        TransferMatrixArm(taken)
