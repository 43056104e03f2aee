"""Exact transfer functions against closed forms, the exact beam, plain transfer matrices and finite elements."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.linalg as sla
from analytical import CASES, EI, RHO, L, tokhi_arm
from scipy.optimize import brentq

import flexctl as fx
from flexctl.exact.euler_bernoulli import ExactBeam
from flexctl.exact.transfer_matrix import TransferMatrixArm
from flexctl.linear import linearise
from flexctl.linear.steady import lock
from flexctl.machine.arm import Arm, Damping, Joint, Link, Material, Payload, Section, Sensor
from flexctl.model import names
from flexctl.models import build

HZ = 2 * np.pi
ALUMINIUM = Material(70e9, 2700.0)
THICK, THIN = Section(350e-6, 1e-8, 0.8864, 10e-3), Section(200e-6, 0.4e-8, 0.8864, 8e-3)
BAR = Link(1.0, ALUMINIUM, Section(350e-6, 1e-8, 0.8864))
LINKS = (Link(1.0, ALUMINIUM, THICK, (THIN,), (0.4,)), Link(0.7, ALUMINIUM, THIN), Link(0.5, ALUMINIUM, THIN))
SENSORS = (
    Sensor("gauge", "strain", 0.0, 1), Sensor("bend", "curvature", 0.5, 2), Sensor("side", "displacement", 0.55, 2),
    Sensor("push", "acceleration", 1.0, 1), Sensor("end", "displacement", 1.0, 3),
)


def joint(drive: str = "torque", **numbers: float) -> Joint:
    servo = {"servo_stiffness": 300.0, "servo_damping": 4.0} if drive == "servo" else {}
    return Joint(drive=drive, **servo, **numbers)


def bent_arm(drives: tuple[str, str, str] = ("torque", "torque", "torque"), **tables: Any) -> Arm:
    """Everything an arm can have: pieces, joint angles, masses, hubs, housings, rotors, payload, sensors."""
    joints = (
        joint(drives[0], hub_inertia=0.02, angle=0.4, rotor_inertia=0.03),
        joint(drives[1], hub_inertia=0.01, mass=0.3, housing_inertia=2e-3, angle=-0.9, rotor_inertia=0.004),
        joint(drives[2], mass=0.2, angle=0.7),
    )
    return Arm("bent", LINKS, joints, Payload(0.25, 3e-3), sensors=SENSORS, **tables)


def two_bars(**tables: Any) -> Arm:
    return Arm("2r", (BAR, BAR), (Joint(), Joint(**tables)))


def one_bar(**options: Any) -> TransferMatrixArm:
    return TransferMatrixArm(Arm("1r", (BAR,), (Joint(),)), **options)


def row(model: Any, output: str) -> int:
    return names(model.outputs).index(output)


def column(model: Any, source: str) -> int:
    return names(model.inputs).index(source)


def entry(model: Any, output: str, source: str, s: Any) -> Any:
    return model.transfer(np.atleast_1d(np.asarray(s, complex)))[row(model, output), column(model, source)]


# one link: the exact beam


@pytest.mark.parametrize("case", CASES)
def test_one_link_is_the_exact_beam_to_rounding(case: str) -> None:
    """Ten decades in the frequency, all directions of s with Re s > 0 or well off the axis; kL from 1e-5 to 900."""
    arm = tokhi_arm(*CASES[case])
    rng = np.random.default_rng(3)
    s = 10.0 ** rng.uniform(-6, 7, 400) * np.exp(1j * rng.choice([-1, 1], 400) * rng.uniform(0.0, 1.45, 400))
    ours, theirs = TransferMatrixArm(arm, theory="euler_bernoulli").transfer(s), ExactBeam(arm).transfer(s)[:, 0]
    side = row(TransferMatrixArm(arm), "tip_y")
    for i, j in ((0, 0), (1, 1), (side, 2)):
        assert np.abs(ours[i, 0] / theirs[j] - 1.0)[theirs[j] != 0.0].max() < 2e-11
        assert np.median(np.abs(ours[i, 0] / theirs[j] - 1.0)[theirs[j] != 0.0]) < 2e-15
    assert np.all(ours[side - 1, 0] == 0.0)  # a torque does not stretch a straight arm


def test_sensors_of_one_link_are_those_of_the_exact_beam() -> None:
    sensors = tuple(
        Sensor(f"{kind}{i}", kind, x)
        for kind in ("displacement", "acceleration", "curvature", "strain")
        for i, x in enumerate((0.2, 0.71, 1.0))
    )
    arm = tokhi_arm(*CASES["20 g, Ip"], sensors=sensors, damping=Damping("rayleigh", alpha=0.8, beta=2e-4))
    model, beam = TransferMatrixArm(arm, theory="euler_bernoulli"), ExactBeam(arm)
    s = np.array([0.03j, 5 + 70j, 1j * 500, -40 + 2500j])
    ours, theirs = model.transfer(s), beam.transfer(s)
    for sensor in sensors:
        expected = theirs[row(beam, sensor.name), 0]
        assert ours[row(model, sensor.name), 0] == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("case", CASES)
def test_frequencies_and_zeros_of_the_exact_beam(case: str) -> None:
    arm = tokhi_arm(*CASES[case])
    model, beam = TransferMatrixArm(arm, theory="euler_bernoulli", extensible=False), ExactBeam(arm)
    assert model.natural_frequencies(20) == pytest.approx(beam.natural_frequencies(20), rel=1e-14)
    hub = model.zeros("joint1_angle", "joint1_torque", below=5000.0)
    assert hub == pytest.approx(beam.zeros("joint1_angle", below=5000.0), rel=1e-13)
    tip, wanted = model.zeros("tip_y", "joint1_torque", below=5000.0), beam.zeros("tip_displacement", below=5000.0)
    assert tip[tip.real >= 0] == pytest.approx(wanted, rel=1e-13)
    assert np.sort(tip[tip.real < 0]) == pytest.approx(-wanted[wanted.imag == 0][::-1], rel=1e-13)
    assert np.sum(tip.imag != 0) == np.sum(wanted.imag != 0) == (case == "20 g, Ip")
    assert beam.zeros("tip_displacement", 4) == pytest.approx(wanted[:4])


@pytest.mark.parametrize("inertia", [1e-5, 1e-3, 0.1, 10.0, 1e4])
def test_tip_body_of_any_inertia_gives_the_exact_beam_its_oscillating_zero(inertia: float) -> None:
    """The one pair of zeros on the imaginary axis, where the tip body turns and the tip stands still."""
    arm = tokhi_arm(*CASES["20 g, Ip"][:2], inertia)
    model, beam = TransferMatrixArm(arm, theory="euler_bernoulli", extensible=False), ExactBeam(arm)
    found = beam.zeros("tip_displacement", 12)
    (zero,) = found[found.imag != 0]
    tip = model.zeros("tip_y", "joint1_torque", below=1.01 * zero.imag)
    assert tip[tip.imag != 0] == pytest.approx([zero], rel=1e-12)


def test_payload_inertia_gives_the_tip_one_zero_on_the_imaginary_axis() -> None:
    """Numerator sin z + sinh z = k z^3 (cosh z - cos z), k = Ip/(rho L^3): a root near z = k^(-1/3)."""
    inertia = CASES["20 g, Ip"][2]
    k = inertia / (RHO * L**3)
    z = brentq(lambda z: (np.sin(z) + np.sinh(z)) / np.cosh(z) - k * z**3 * (1 - np.cos(z) / np.cosh(z)), 5, 20)
    model = TransferMatrixArm(tokhi_arm(*CASES["20 g, Ip"]), theory="euler_bernoulli", extensible=False)
    tip = model.zeros("tip_y", "joint1_torque", below=1000.0)
    assert tip[tip.imag > 0] == pytest.approx([1j * z**2 * (EI / RHO) ** 0.5 / L**2], rel=1e-12)


# closed forms


def test_published_numbers_of_one_bar() -> None:
    """Euler-Bernoulli, torque at the pin: closed forms of a 1 m bar of 350 mm^2, worked out by hand."""
    model = one_bar(theory="euler_bernoulli", extensible=False)
    assert model.natural_frequencies(3) / HZ == pytest.approx([66.78625, 216.43024, 451.56442], rel=1e-7)
    hub = model.zeros("joint1_angle", "joint1_torque", below=1700.0)
    assert hub.imag / HZ == pytest.approx([15.23014, 95.44568, 267.25067], rel=1e-6)
    tip = model.zeros("tip_y", "joint1_torque", below=1700.0)
    assert np.sort(tip.real) == pytest.approx([-1645.287, -304.4619, 304.4619, 1645.287], rel=1e-6)
    s = 1j * HZ * np.array([1.0, 5.0, 10.0, 30.0])
    hub_gain = (-8.00768624e-2, -2.87878803e-3, -4.63242348e-4, 2.92968017e-4)
    tip_gain = (-8.04697746e-2, -3.27302809e-3, -8.61724490e-4, -1.61668310e-4)
    assert entry(model, "joint1_angle", "joint1_torque", s).real == pytest.approx(hub_gain, rel=1e-8)
    assert entry(model, "tip_y", "joint1_torque", s).real == pytest.approx(tip_gain, rel=1e-8)


@pytest.mark.parametrize("r", [0.02, 0.06, 0.1])
def test_timoshenko_beam_on_two_pins(r: float) -> None:
    """Zeros of a force across the tip to the tip's displacement are the frequencies of the pinned-pinned beam.

    (s^4/c) X^2 - [1 + (1 + 1/c)(n pi s)^2] X + (n pi)^4 = 0, X = omega^2 rho A L^4/(E I), s = r/L, c = kt G/E, both
    roots: bending and shear. n = 0, the shear mode without deflection, is there too.
    """
    section = Section(1e-2, 1e-2 * r**2, 0.8864)
    model = TransferMatrixArm(Arm("pins", (Link(1.0, ALUMINIUM, section),), (Joint(),)))
    c, unit = 0.8864 / 2.6, (ALUMINIUM.youngs_modulus * r**2 / ALUMINIUM.density) ** 0.5
    n = np.arange(0, 60) * np.pi
    b = 1 + (1 + 1 / c) * (n * r) ** 2
    large = (b + np.sqrt(b**2 - 4 * r**4 / c * n**4)) / (2 * r**4 / c)
    expected = np.sort(np.sqrt(np.concatenate([large, (n**4 / (r**4 / c) / large)[1:]]))) * unit
    bound = 0.5 * (expected[11] + expected[12])
    found = model.zeros("tip_y", "tip_force_y", below=bound)
    assert found == pytest.approx(1j * expected[:12], rel=1e-11)


def test_lag_of_an_accelerated_link() -> None:
    """tip - rigid tip at 1 rad/s^2 in the limit s = 0: 11 rho A L^5/(120 E I), with shear, with rotary inertia."""
    arm = Arm("lag", (BAR,), (Joint(drive="motion"),))
    lags = []
    for theory in ("euler_bernoulli", "timoshenko"):
        lags += [entry(TransferMatrixArm(arm, theory=theory), "tip_error_y", "joint1_acceleration", 1e-5j)[0].real]
    assert lags == pytest.approx([-1.237500e-4, -1.238006e-4], rel=5e-7)
    rho, shear = 2700.0 * 350e-6, 0.8864 * 70e9 / 2.6 * 350e-6
    # the root bears M = rho L^3/3 + rho I L; shear sags by rho L^3/(3 kGA), rotary inertia by rho I L^3/(2 EI) (2/3)
    assert lags[1] - lags[0] == pytest.approx(-rho / (3 * shear) - 2700.0 / 70e9 / 3, rel=1e-6)


def test_three_links_of_li_and_zhang() -> None:
    """Table III of the paper, arm straight, joints held, rigid and with the motor springs.

    An independent assembly of geometrically exact beams has 5.1224 31.019 70.266 and 4.5089 26.579 59.494 Hz: a mesh's
    numbers, up to 0.08 % high. Here finite elements, extrapolated from two meshes, hit the exact ones to 1e-6.
    """
    side = 0.00508
    link = Link(0.254, Material(71e9, 2710.0), Section(side**2, side**4 / 12))
    for stiffness, frequencies in ((0.0, (5.1224, 31.019, 70.266)), (100.0, (4.5089, 26.579, 59.494))):
        arm = Arm("li_zhang", (link,) * 3, tuple(Joint(mass=0.04, stiffness=stiffness) for _ in range(3)))
        exact = TransferMatrixArm(arm, held=True).natural_frequencies(3) / HZ
        assert exact == pytest.approx(frequencies, rel=8e-4)
        assert np.all(exact < frequencies)
        if stiffness == 0.0:
            a, b = (
                lock(linearise(build(arm, "timoshenko_planar", elements=n)), ["joint1", "joint2", "joint3"])
                .modes(3).frequencies_hz for n in (20, 40)
            )
            assert b + (b - a) / 3 == pytest.approx(exact, rel=2e-6)


@pytest.mark.parametrize("elbow", [0.0, 0.8])
def test_rigid_links_are_the_rigid_arm(elbow: float) -> None:
    """H = (s^2 M)^-1 with the inertia of two thin rods, (m L^2)[5/3 + c, 1/3 + c/2; 1/3 + c/2, 1/3]."""
    for section, theory in ((BAR.section, "rigid"), (replace(BAR.section, second_moment=1e-2), "euler_bernoulli")):
        bar = replace(BAR, section=section)
        model = TransferMatrixArm(Arm("2r", (bar, bar), (Joint(), Joint(angle=elbow))), theory=theory)
        c, m, s = np.cos(elbow), bar.mass, np.array([0.01j, 0.3 + 0.1j])
        M = m * np.array([[5 / 3 + c, 1 / 3 + c / 2], [1 / 3 + c / 2, 1 / 3]])
        if theory == "rigid":
            M = M + 2700.0 * 1e-8 * np.array([[2, 1], [1, 1]])  # rotary inertia rho I L of each rod
        H = model.transfer(s)[[0, 2]][:, :2]
        expected = np.linalg.inv(M)[:, :, None] / s**2
        assert pytest.approx(expected, rel=1e-11 if theory == "rigid" else 1e-4) == H
    assert model.rigid_modes == 2


# the plain product of transfer matrices, where it still has digits


def plain_product(arm: Arm, s: complex) -> np.ndarray[Any, Any]:
    """Tip displacement (along, across, angle) of the last link per unit tip force and moment, by exp(A h) alone."""
    sigma = s * s
    P = np.eye(6, dtype=complex)
    for i, (link, j) in enumerate(zip(arm.links, arm.joints, strict=True)):
        c, d = np.cos(j.angle), np.sin(j.angle)
        turn = np.eye(6, dtype=complex)
        for k in (0, 3):
            turn[k : k + 2, k : k + 2] = [[c, d], [-d, c]]
        mass = np.eye(6, dtype=complex)
        if i:
            mass[3, 0] = mass[4, 1] = sigma * j.mass
            mass[5, 2] = sigma * j.housing_inertia
        hub = np.eye(6, dtype=complex)
        hub[5, 2] = sigma * j.hub_inertia
        P = turn @ mass @ P
        section = [link.section, *link.next_sections]
        edges = [0.0, *link.breaks, 1.0]
        T = hub
        for part, (a, b) in zip(section, pairwise(edges), strict=True):
            E, G, rho = link.material.youngs_modulus, link.material.shear_modulus, link.material.density
            A = np.zeros((6, 6), complex)  # (u, w, theta, N, Q, M)
            A[0, 3], A[3, 0] = 1 / (E * part.area), rho * part.area * sigma
            A[1, 2], A[1, 4], A[2, 5] = 1.0, 1 / (part.shear_factor * G * part.area), 1 / (E * part.second_moment)
            A[4, 1], A[5, 4], A[5, 2] = rho * part.area * sigma, -1.0, rho * part.second_moment * sigma
            T = sla.expm(A * (b - a) * link.length) @ T
        P = T @ P
    end = np.eye(6, dtype=complex)
    end[3, 0] = end[4, 1] = sigma * arm.payload.mass
    end[5, 2] = sigma * arm.payload.inertia
    P = end @ P
    return np.asarray(P[:3, 3:] @ np.linalg.inv(P[3:, 3:]))


def test_held_arm_against_the_plain_product() -> None:
    arm = bent_arm()
    model = TransferMatrixArm(arm, held=True)
    assert names(model.inputs) == ["tip_force_x", "tip_force_y", "tip_torque"]
    angle = sum(j.angle for j in arm.joints)
    R = np.array([[np.cos(angle), -np.sin(angle), 0.0], [np.sin(angle), np.cos(angle), 0.0], [0.0, 0.0, 1.0]])
    for s in (0.0, 3j, 20 + 90j, 400j, -50 + 700j, 900.0):
        expected = (R @ plain_product(arm, s) @ R.T)[:2]
        found = model.transfer([s])[[row(model, "tip_x"), row(model, "tip_y")], :, 0]
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-10 * np.abs(expected).max())


# finite elements converge to it


@pytest.mark.parametrize("elbow", [0.0, np.pi / 3])
def test_finite_elements_converge_at_second_order(elbow: float) -> None:
    """The 2R arm of the catalogue: frequencies free and held, and the response of every channel."""
    arm = replace(fx.load_plant("planar_2r_flexible").arm, joints=(Joint(), Joint(angle=elbow)))
    exact, held = TransferMatrixArm(arm), TransferMatrixArm(arm, held=True)
    s = np.array([2 + 12j, 10 + 150j, 30 + 400j])
    H, errors = exact.transfer(s), []
    for elements in (16, 32, 64):
        plant = linearise(build(arm, "timoshenko_planar", elements=elements))
        assert names(plant.outputs) == names(exact.outputs)
        assert names(plant.inputs) == names(exact.inputs)
        free = plant.modes(4).frequencies_hz * HZ / exact.natural_frequencies(4) - 1.0
        stuck = lock(plant, ["joint1", "joint2"]).modes(4).frequencies_hz * HZ / held.natural_frequencies(4) - 1.0
        error, size = np.abs(plant.transfer(s) - H).max(axis=1)[:10], np.abs(H).max(axis=1)[:10]
        errors.append([*free, *stuck, *np.ravel(error / size)])  # strains at the root are extrapolated: not among them
    coarse, middle, fine = np.array(errors)
    used = fine > 1e-9
    assert used.sum() > 30
    assert np.log2(coarse / middle)[used] == pytest.approx(2.0, abs=0.1)
    assert np.log2(middle / fine)[used] == pytest.approx(2.0, abs=0.03)
    assert fine[:8].max() < 1.5e-3  # the frequencies at 64 elements
    assert fine.max() < 5e-3


@pytest.mark.parametrize(
    ("drives", "damping"),
    [
        (("torque",) * 3, Damping()),
        (("torque",) * 3, Damping("rayleigh", alpha=0.7, beta=3e-5)),
        (("servo",) * 3, Damping()),
        (("motion", "torque", "servo"), Damping("rayleigh", alpha=0.7, beta=3e-5)),
    ],
)
def test_arm_with_everything_against_finite_elements(drives: Any, damping: Damping) -> None:
    """Extrapolated from 40 and 80 elements (order 4): all inputs, outputs and sensors, at the same names."""
    arm = bent_arm(drives, damping=damping)
    exact = TransferMatrixArm(arm)
    s = np.array([1j, 3 + 30j, 20 + 100j, 20 + 400j])
    H, found = exact.transfer(s), []
    for elements in (40, 80):
        plant = linearise(build(arm, "timoshenko_planar", elements=elements))
        assert names(plant.outputs) == names(exact.outputs)
        assert names(plant.inputs) == names(exact.inputs)
        found.append(plant.transfer(s))
    best = found[1] + (found[1] - found[0]) / 3
    size = np.abs(H).max(axis=1, keepdims=True) + 1e-300
    assert np.abs(best - H).max(axis=1) / size[:, 0] == pytest.approx(0.0, abs=3e-4)
    assert np.median(np.abs(best - H) / size) < 2e-6


# high and low frequencies


def at_wave_number(kL: float) -> complex:
    return 1j * kL**2 * (BAR.bending_stiffness / BAR.mass_per_length) ** 0.5


def cut(arm: Arm, parts: int) -> Arm:
    """The same arm cut by sensors into pieces so short that power series serve instead of waves."""
    sensors = tuple(
        Sensor(f"at{i}_{k}", "displacement", k / parts, i + 1) for i in range(len(arm.links)) for k in range(1, parts)
    )
    return replace(arm, sensors=sensors)


@pytest.mark.parametrize("turn", [1.0, 1.0 + 0.02j, np.exp(-0.6j)])
def test_waves_and_series_agree_at_high_frequency(turn: complex) -> None:
    """kL = 2 .. 200, over the cut-off frequency sqrt(kt G A/(rho I)), and next to it, where two waves are one."""
    arm = replace(two_bars(angle=0.5, hub_inertia=1e-3, mass=0.1), payload=Payload(0.1, 1e-4))
    cut_off = (0.8864 * ALUMINIUM.shear_modulus * 350e-6 / (2700.0 * 1e-8)) ** 0.5
    s = turn * np.array([*(at_wave_number(k) for k in (2.01, 5.0, 20.0, 60.0, 200.0)),
                         *(1j * cut_off * (1 + e) for e in (0.0, 1e-9, 1e-5, -1e-3))])
    whole_arm, short = TransferMatrixArm(arm), TransferMatrixArm(cut(arm, 140))
    H = whole_arm.transfer(s)
    assert np.all(np.isfinite(H))
    G = short.transfer(s)[: H.shape[0]]
    size = np.maximum(np.abs(H), 1e-6 * np.abs(H).max(axis=1, keepdims=True)) + 1e-290
    assert (np.abs(G - H) / size).max() < 1e-8
    assert np.median(np.abs(G - H) / size) < 1e-12


def test_no_overflow_far_beyond() -> None:
    s = np.array([at_wave_number(3000.0), 1e9, -1e7 + 1e6j, 1e8 * np.exp(0.3j)])
    assert np.all(np.isfinite(TransferMatrixArm(two_bars(angle=0.5)).transfer(s)))


def test_double_integrator_to_the_last_digit() -> None:
    """s^2 H -> M^-1, and tip = rigid tip + elastic part, without loss at kL = 1e-5."""
    model = TransferMatrixArm(two_bars(angle=0.8), theory="euler_bernoulli")
    c, m, s = np.cos(0.8), BAR.mass, 1e-8j
    M = m * np.array([[5 / 3 + c, 1 / 3 + c / 2], [1 / 3 + c / 2, 1 / 3]])
    H = model.transfer([s])[:, :, 0]
    assert s**2 * H[[0, 2], :2] == pytest.approx(np.linalg.inv(M), rel=1e-13)
    error = H[[row(model, "tip_error_x"), row(model, "tip_error_y")]]
    steady = model.transfer([0.05j])[[row(model, "tip_error_x"), row(model, "tip_error_y")], :, 0]
    assert error == pytest.approx(steady, rel=1e-6)


def test_reciprocity_and_passivity() -> None:
    model = TransferMatrixArm(bent_arm(damping=Damping("rayleigh", alpha=0.1, beta=1e-5)))
    s = np.array([0.1j, 33j, 5 + 300j, 4000j, 1e6j])
    H = model.transfer(s)
    own = [row(model, f"joint{i}_angle") for i in (1, 2, 3)] + [row(model, "tip_x"), row(model, "tip_y")]
    collocated = H[own, :5]  # no output turns with the moment at the tip
    assert collocated == pytest.approx(collocated.transpose(1, 0, 2), rel=1e-9)
    for k in range(s.size):  # the real part of s H is positive definite
        power = s[k] * collocated[:, :, k]
        assert np.linalg.eigvalsh(power + power.conj().T).min() > 0


# counts


LOADS = (
    fx.Actuator("push", 0.4, 0.4), fx.Actuator("pull", 0.7, 0.7, link=2, direction="x"),
    fx.Actuator("thrust", 1.0, 1.0, direction="x", follower=True), fx.Actuator("bend", 0.0, 0.0, link=2, kind="moment"),
    fx.Actuator("twist", 0.55, 0.55, kind="moment"),
)


class TestLoads:
    """Forces and moments at a point of a link."""

    @staticmethod
    def arm(*loads: fx.Actuator, **joint: Any) -> fx.Arm:
        link = fx.Link(0.8, fx.Material(7e10, 2700.0), fx.Section(4e-4, 4e-10))
        sensor = fx.Sensor("mid", "strain", 0.3, 1)
        joints = (fx.Joint(hub_inertia=0.01, **joint), fx.Joint(angle=0.7, hub_inertia=0.02))
        link = replace(link, section=replace(link.section, outer_distance=1e-3))
        return fx.Arm("bent", (link, link), joints, sensors=(sensor,), actuators=loads)

    @pytest.mark.parametrize("drive", ["torque", "motion"])
    def test_they_act_as_on_a_fine_mesh(self, drive: str) -> None:
        arm = self.arm(*LOADS, drive=drive)
        exact, fine = fx.TransferMatrixArm(arm), fx.linearise(fx.build(arm, "timoshenko_planar", elements=80))
        assert fx.names(exact.inputs) == fx.names(fine.inputs)
        s = 2j * np.pi * np.array([0.3, 4.0, 7.0])  # a mesh is 3 % off at 60 Hz
        seen = ("joint2_angle", "tip_x", "tip_y", "mid", "chord1_angle")
        wanted, found = (
            model.transfer(s)[[fx.names(model.outputs).index(name) for name in seen]] for model in (fine, exact)
        )
        size = np.abs(wanted).max(axis=2, keepdims=True)
        size = np.maximum(size, 1e-4 * size.max(axis=1, keepdims=True))
        assert (np.abs(found - wanted) / size).max() < 2e-3

    def test_reciprocity_at_every_frequency(self) -> None:
        """A force along y at a sensor's place does to the hub what a torque at the hub does there."""
        link = fx.Link(0.8, fx.Material(7e10, 2700.0), fx.Section(4e-4, 4e-10))
        arm = fx.Arm(
            "one", (link,), (fx.Joint(hub_inertia=0.01),), sensors=(fx.Sensor("at", "displacement", 0.4),),
            actuators=(fx.Actuator("push", 0.4, 0.4),),
        )
        model = fx.TransferMatrixArm(arm)
        s = 1j * np.geomspace(0.1, 1e5, 40)
        H = dict(zip(fx.names(model.outputs), model.transfer(s), strict=True))
        push, torque = fx.names(model.inputs).index("push"), fx.names(model.inputs).index("joint1_torque")
        np.testing.assert_allclose(H["joint1_angle"][push], H["at"][torque], rtol=1e-8)

    def test_statics_and_modes(self) -> None:
        link = fx.Link(0.8, fx.Material(7e10, 2700.0), fx.Section(4e-4, 4e-10))
        loads = (fx.Actuator("push", 0.4, 0.4), fx.Actuator("bend", 0.4, 0.4, kind="moment"))
        arm = fx.Arm("beam", (link,), (fx.Joint(),), actuators=loads)
        held = fx.TransferMatrixArm(arm, theory="euler_bernoulli", held=True)
        EI, L, x = link.bending_stiffness, 0.8, 0.4 * 0.8
        y = held.transfer(np.array([1e-6 + 0j]))[fx.names(held.outputs).index("tip_y"), :, 0].real
        by = dict(zip(fx.names(held.inputs), y, strict=True))
        assert by["push"] == pytest.approx(x**2 * (3.0 * L - x) / (6.0 * EI), rel=1e-9)
        assert by["bend"] == pytest.approx(x * (L - x / 2.0) / EI, rel=1e-9)
        free = fx.TransferMatrixArm(arm)
        s = 2j * np.pi * np.array([0.5, 3.0, 20.0])
        row = fx.names(free.outputs).index("tip_y")
        np.testing.assert_allclose(free.modal_plant(40).transfer(s)[row], free.transfer(s)[row], rtol=2e-3)

    def test_a_load_that_is_spread_is_refused(self) -> None:
        with pytest.raises(fx.NotAvailable, match=r'at a point; actuator "push" is spread from 0.4 to 0.6 L'):
            fx.TransferMatrixArm(self.arm(fx.Actuator("push", 0.4, 0.6)))
