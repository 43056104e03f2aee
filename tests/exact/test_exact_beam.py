from __future__ import annotations

import analytical as ref
import numpy as np
import pytest
from analytical import CASES, tokhi_arm

from flexctl import errors
from flexctl.exact.beam_functions import _by_exponentials, _by_series
from flexctl.exact.euler_bernoulli import ExactBeam
from flexctl.machine.arm import Damping, Joint, Sensor
from flexctl.model import FrequencyModel

# Hz; from a 4 x 4 determinant and from its expansion, which agree to 7e-16, and from cubic Hermite elements
FREQUENCIES = {
    "no hub": (12.52716701, 40.59604488, 84.70040728, 144.84270835, 221.02295633),
    "hub": (11.80151261, 32.15406765, 58.29328935, 102.09867765, 164.58345203),
    "10 g": (10.78631608, 30.29677562, 54.89700130, 95.68788211, 154.92945812),
    "20 g": (10.17163340, 29.36698756, 53.51348511, 93.48250065, 152.11686230),
    "20 g, Ip": (10.03460188, 28.49149465, 50.51670051, 82.55333248, 125.89458324),
}

# rad/(N m) and m/(N m) at s = 2 pi j f, f = 1, 5, 10, 20, 50 Hz; undamped, hence real
ON_AXIS = {
    "no hub": (
        (-4.534768754671e-01, 4.692329904642e-02, 1.129458044354e-01, 1.123027358890e-02, -3.373017546843e-04),
        (-5.042622597992e-01, -3.170286183846e-02, -3.455257228130e-02, 8.228655388697e-03, -4.097974358928e-03),
    ),
    "hub": (
        (-4.487688886323e-01, 4.823225014886e-02, 1.528965815172e-01, 1.253269708872e-02, -3.308475332278e-04),
        (-4.990270202339e-01, -3.258723051665e-02, -4.677438184488e-02, 9.182968216902e-03, -4.019560198112e-03),
    ),
    "10 g": (
        (-3.656827237412e-01, 5.751703626439e-02, 3.021018106501e-01, 2.215691485636e-02, 1.487284230375e-02),
        (-4.217401177560e-01, -2.886853237226e-02, -8.080090973465e-02, 6.636859624363e-03, -3.832399004093e-03),
    ),
    "20 g": (
        (-3.048811925198e-01, 6.489980151600e-02, 1.247823207645e00, 2.760274689888e-02, 2.872367775455e-02),
        (-3.651824222579e-01, -2.591162253073e-02, -2.964744198242e-01, 5.196152432176e-03, -3.661891783218e-03),
    ),
}
HZ = 2 * np.pi * np.array([1.0, 5.0, 10.0, 20.0, 50.0])

# at s = 2 + 2 pi j f, with the hub
OFF_AXIS = (
    (-3.169530011288e-01 - 2.673034838822e-01j, 4.839963696238e-02 - 3.910644831666e-03j,
     1.491643904616e-01 - 2.149703437356e-02j, 1.255713836215e-02 - 1.629628824869e-03j,
     -3.448930679863e-04 - 8.129779613621e-04j),
    (-3.724452432879e-01 - 2.563760118328e-01j, -3.232626347660e-02 - 2.053637609667e-03j,
     -4.552141670523e-02 + 6.626907719937e-03j, 9.168140686764e-03 + 2.002977584464e-04j,
     -4.015051131722e-03 + 6.383052565363e-05j),
)

# tip [m] of the bang-bang manoeuvre at these times [s]
TIMES = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.2])
TIP = {
    "no hub": (
        0.00855578, 0.03681800, 0.08676978, 0.13916964, 0.16929064,
        0.17578429, 0.17587114, 0.17518351, 0.17564561,
    ),
    "hub": (
        0.00910759, 0.03696304, 0.08464843, 0.13460835, 0.16693387,
        0.17808121, 0.17024885, 0.17290463, 0.17826909,
    ),
    "10 g": (
        0.00791669, 0.03206966, 0.07216402, 0.11288742, 0.13730385,
        0.14655118, 0.14830019, 0.14861606, 0.14719114,
    ),
    "20 g": (
        0.00699064, 0.02813223, 0.06338744, 0.09863597, 0.11973587,
        0.12665554, 0.12650220, 0.12641660, 0.12642775,
    ),
}
ANGLE = (0.01385720, 0.05043829, 0.10154086, 0.13867102, 0.15133784, 0.16135542, 0.19900450, 0.17442930, 0.17406382)


def beam(case: str = "hub", **tables: object) -> ExactBeam:
    return ExactBeam(tokhi_arm(*CASES[case], **tables))


def wave_number(kL: float, b: ExactBeam) -> float:
    """The angular frequency with b L = kL."""
    return kL**2 * (b.EI / b.rho) ** 0.5 / b.length**2


@pytest.mark.parametrize("case", CASES)
def test_natural_frequencies(case: str) -> None:
    found = beam(case).natural_frequencies(5) / (2 * np.pi)
    assert found == pytest.approx(FREQUENCIES[case], rel=1e-9)
    assert found == pytest.approx(ref.beam_frequencies(5, *CASES[case]) / (2 * np.pi), rel=1e-13)


@pytest.mark.parametrize("seed", range(6))
def test_no_frequency_is_missed(seed: int) -> None:
    """Random hubs and tip bodies over eight decades against a scan of the determinant, and against the exact count."""
    hub, mass, inertia = 10.0 ** np.random.default_rng(seed).uniform((-7, -4, -7), (1, 2, 1))
    b = ExactBeam(tokhi_arm(hub, mass, inertia))
    scan = ref.beam_frequencies(12, hub, mass, inertia)
    found = b.natural_frequencies(below=1.0001 * scan[-1])
    assert found == pytest.approx(scan, rel=1e-8)  # the determinant of the scan cancels for heavy bodies
    assert [b.count_below(w * (1 + 1e-6)) for w in found] == list(range(1, 13))


def test_counts_agree_with_the_roots_far_up() -> None:
    b = beam("20 g, Ip")
    omega = b.natural_frequencies(60)
    assert np.all(np.diff(omega) > 0)
    assert b.count_below(omega[-1] * (1 + 1e-9)) == 60
    assert b.count_below(1e-9) == 0
    z = (omega / wave_number(1.0, b)) ** 0.5
    assert np.diff(z)[40:] == pytest.approx(np.pi, rel=1e-3)


@pytest.mark.parametrize("case", ON_AXIS)
def test_transfer_functions_on_the_axis(case: str) -> None:
    H = beam(case).transfer(1j * HZ)[:, 0]
    for row, expected in ((0, ON_AXIS[case][0]), (2, ON_AXIS[case][1])):
        scale = np.where(np.abs(expected) < 1e-3, 1e-2, np.abs(expected))  # 50 Hz lies next to a zero of the hub angle
        assert np.abs(H[row].real - expected) / scale == pytest.approx(0, abs=2e-12)
        assert H[row].imag == pytest.approx(0, abs=1e-14)
    assert H[1] == pytest.approx(1j * HZ * H[0], rel=1e-14)


def test_transfer_functions_off_the_axis() -> None:
    H = beam("hub").transfer(2 + 1j * HZ)[:, 0]
    assert H[0] == pytest.approx(np.array(OFF_AXIS[0]), rel=1e-11)
    assert H[2] == pytest.approx(np.array(OFF_AXIS[1]), rel=1e-11)


@pytest.mark.parametrize("case", ["no hub", "hub", "20 g"])
def test_transfer_agrees_with_the_closed_form_anywhere(case: str) -> None:
    rng = np.random.default_rng(1)
    s = 10.0 ** rng.uniform(0.5, 4.3, 60) * np.exp(1j * rng.uniform(0, 2 * np.pi, 60))
    G, N, D = ref.beam_transfer(s**2, *CASES[case][:2])
    H = beam(case).transfer(s)[:, 0]
    assert H[0] == pytest.approx(G / D, rel=1e-10)
    assert H[2] == pytest.approx(N / D, rel=1e-10)


@pytest.mark.parametrize("case", CASES)
def test_rigid_body_at_low_frequency(case: str) -> None:
    """s^2 H -> 1/J and L/J: the double integrator must survive b L = 1e-6."""
    b, s = beam(case), np.array([1e-10j, 1e-6, 1e-3j])
    hub, mass, inertia = CASES[case]
    J = ref.RHO * ref.L**3 / 3 + hub + mass * ref.L**2 + inertia
    assert s**2 * b.transfer(s)[0, 0] == pytest.approx(np.full(3, 1 / J), rel=1e-7)
    assert (s**2 * b.transfer(s)[0, 0])[:2] == pytest.approx(np.full(2, 1 / J), rel=1e-12)
    assert (s**2 * b.transfer(s)[2, 0])[:2] == pytest.approx(np.full(2, ref.L / J), rel=1e-12)


def test_series_and_exponentials_meet() -> None:
    z = np.exp(1j * np.linspace(-np.pi / 4, np.pi / 4, 9))
    ends = beam("20 g, Ip").ends
    a, b = -ends.hub * z**4, -np.ones_like(z)
    for x in (0.0, 0.3, 1.0):
        for order in range(4):
            scale = np.abs(_by_series(z, a, b, ends, 1.0, 1))
            difference = _by_series(z, a, b, ends, x, order) - _by_exponentials(z, a, b, ends, x, order)
            assert np.abs(difference) / scale == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("angle", [0.0, 0.4, np.pi / 4])
def test_no_overflow_at_large_wave_numbers(angle: float) -> None:
    """At b L = 200 the hub sees a half-infinite beam, y = exp(-b x) - exp(i b x), i = j or -j, whichever decays."""
    b = beam("20 g, Ip")
    s = 1j * wave_number(1.0, b) * np.array([50.0, 200.0, 2000.0]) ** 2 * np.exp(-2j * angle)
    wave = (-b.rho * s**2 / b.EI) ** 0.25
    i = np.where(wave.imag >= 0, 1j, -1j)
    H = b.transfer(s)
    assert np.all(np.isfinite(H))
    if angle > 0.1:  # on the axis the travelling wave returns from the tip
        curvature_per_slope = (wave**2 - (i * wave) ** 2) / (-wave - i * wave)
        expected = 1 / (CASES["20 g, Ip"][0] * s**2 - b.EI * curvature_per_slope)
        assert H[0, 0] == pytest.approx(expected, rel=1e-9)
        assert np.abs(H[2, 0, -1]) < 1e-100


def test_residues_and_modal_series() -> None:
    plant = beam("hub").modal_plant(4)
    assert np.sqrt(np.diag(plant.K))[1:] == pytest.approx(
        [74.1510906251, 202.0299654424, 366.2675391232, 641.5049112676], rel=1e-11
    )
    hub, tip = plant.Cq[0] * plant.B[:, 0], plant.Cq[2] * plant.B[:, 0]
    assert hub[:3] == pytest.approx([20.0913457911, 207.5018354771, 732.6624750978], rel=1e-10)
    assert hub[3:] == pytest.approx([504.6495163242, 144.3217598247], rel=1e-10)
    assert tip[:3] == pytest.approx([19.2876919595, -68.6376977217, 111.3991926558], rel=1e-10)
    assert tip[3:] == pytest.approx([-99.0510861367, 58.1102895144], rel=1e-10)
    _, r_hub, r_tip = ref.modal_series(4, *CASES["hub"][:2])
    assert hub == pytest.approx(r_hub, rel=1e-10)
    assert tip == pytest.approx(r_tip, rel=1e-10)


def test_modal_plant_tends_to_the_beam() -> None:
    """What is left out is sum r/(w^2 + s^2) over the higher modes, all of one sign at the hub."""
    stations = {"middle": ("displacement", 0.5), "bend": ("curvature", 0.2), "push": ("acceleration", 0.7)}
    sensors = tuple(Sensor(name, *what) for name, what in stations.items())
    b, s = beam("20 g, Ip", sensors=sensors), np.array([30j, 5 + 200j])
    errors_left = []
    for count in (10, 20, 40):
        plant = b.modal_plant(count)
        found = [y.name for y in plant.outputs]
        assert found == ["joint1_angle", "joint1_rate", "tip_displacement", "chord1_angle", "middle", "bend", "push"]
        left = [
            (plant.Cq + x * plant.Cv + x**2 * plant.Ca) @ np.linalg.solve(x**2 * plant.M + plant.K, plant.B) for x in s
        ]
        exact = np.moveaxis(b.transfer(s), 2, 0)
        errors_left.append((np.abs(np.array(left) - exact) / np.abs(exact)).max(axis=(0, 2)))
    assert np.all(errors_left[2][[0, 2, 3, 5]] < 3e-6)
    assert np.all(np.log2(np.array(errors_left[0]) / errors_left[1])[[0, 2, 3]] > 2.5)
    assert errors_left[2][4] < 0.02  # the curvature series converges slowly


@pytest.mark.parametrize("case", TIP)
def test_manoeuvre(case: str) -> None:
    """The whole table to its last digit, and the modal series of the closed form."""
    modes = 400 if case == "no hub" else 60
    y = beam(case).time_response(TIMES, [0.0, 0.3, 0.6], [0.1, -0.1, 0.0], modes=modes)
    assert y[2] == pytest.approx(TIP[case], abs=1.01e-8)
    if case == "hub":
        assert y[0] == pytest.approx(ANGLE, abs=0.6e-8)
    hub, tip = ref.manoeuvre(TIMES, 40, *CASES[case][:2])
    fewer = beam(case).time_response(TIMES, [0.0, 0.3, 0.6], [0.1, -0.1, 0.0], modes=40)
    assert fewer[0] == pytest.approx(hub, abs=1e-11)
    assert fewer[2] == pytest.approx(tip, abs=1e-11)


@pytest.mark.parametrize(
    ("case", "peak", "when", "dip", "dip_when"),
    [
        ("no hub", 0.17896325, 0.5764, -0.00109083, 0.0283),
        ("hub", 0.17935136, 0.7685, -0.00120555, 0.0298),
        ("10 g", 0.14869177, 1.0916, -0.00093746, 0.0317),
        ("20 g", 0.12759392, 0.5686, -0.00075569, 0.0328),
    ],
)
def test_the_tip_first_moves_backwards(case: str, peak: float, when: float, dip: float, dip_when: float) -> None:
    t = np.arange(0.0, 1.2001, 1e-4)
    tip = beam(case).time_response(t, [0.0, 0.3, 0.6], [0.1, -0.1, 0.0], modes=100)[2]
    assert (tip.max(), t[tip.argmax()]) == pytest.approx((peak, when), abs=1.1e-4)
    assert tip.max() == pytest.approx(peak, abs=1e-7)
    assert tip.min() == pytest.approx(dip, abs=1e-7)
    assert t[tip.argmin()] == pytest.approx(dip_when, abs=1.1e-4)


@pytest.mark.parametrize(
    ("case", "hertz"),
    [
        ("no hub", (2.856733869, 17.902845560, 50.128485965)),
        ("hub", (2.856733869, 17.902845560, 50.128485965)),
        ("10 g", (2.553745, 16.305839, 46.249093)),
        ("20 g", (2.328803, 15.429793, 44.571106)),
    ],
)
def test_zeros_of_the_joint_angle(case: str, hertz: tuple[float, ...]) -> None:
    zeros = beam(case).zeros("joint1_angle", 3)
    assert zeros.real == pytest.approx(0, abs=0)
    assert zeros.imag / (2 * np.pi) == pytest.approx(hertz, rel=2e-7)
    assert np.abs(beam(case).transfer(zeros)[0, 0]) == pytest.approx(0, abs=1e-12)
    assert beam(case).zeros("joint1_angle", below=2 * np.pi * 60) == pytest.approx(zeros)


@pytest.mark.parametrize("case", CASES)
def test_zeros_of_the_tip(case: str) -> None:
    b = beam(case)
    zeros = b.zeros("tip_displacement", 3)
    assert (zeros.imag != 0).tolist() == [False, False, case == "20 g, Ip"]
    if case == "20 g, Ip":
        beside = np.abs(b.transfer(zeros * 1.01)[2, 0])
        assert np.abs(b.transfer(zeros)[2, 0]) / beside == pytest.approx(0, abs=1e-10)
    else:
        assert zeros == pytest.approx([57.1082257572, 308.6081481235, 762.0685370708], rel=1e-12)
    below = b.zeros("tip_displacement", below=float(np.abs(zeros[2])) * 1.0001)
    assert below == pytest.approx(zeros)


def test_rayleigh_damping_is_the_undamped_beam_at_another_frequency() -> None:
    alpha, beta = 0.7, 3e-4
    s = np.array([3 + 40j, 200j])
    damped = beam("20 g, Ip", damping=Damping("rayleigh", alpha=alpha, beta=beta)).transfer(s)[2, 0]
    # (M (s^2 + alpha s) + K (1 + beta s)) is (1 + beta s) (M p^2 + K) with p^2 = (s^2 + alpha s)/(1 + beta s)
    p = np.sqrt(s * (s + alpha) / (1 + beta * s))
    assert damped == pytest.approx(beam("20 g, Ip").transfer(p)[2, 0] / (1 + beta * s), rel=1e-11)
    plant = beam("20 g, Ip", damping=Damping("rayleigh", alpha=alpha, beta=beta)).modal_plant(30)
    H = [plant.Cq[2] @ np.linalg.solve(x**2 * plant.M + x * plant.D + plant.K, plant.B[:, 0]) for x in s]
    assert damped == pytest.approx(np.array(H), rel=1e-4)


def test_damped_step_response_solves_the_modal_equation() -> None:
    """Long after a step the flexible part has settled; the rigid part slides at tau/(J alpha)."""
    b = beam("hub", damping=Damping("rayleigh", alpha=2.0, beta=1e-3))
    angle, rate, tip, _ = b.time_response([30.0], [0.0], [0.1])[:, 0]
    J = ref.RHO * ref.L**3 / 3 + ref.HUB
    assert rate == pytest.approx(0.1 / (2.0 * J), rel=1e-12)
    assert tip - ref.L * angle == pytest.approx(0.1 * -_static_sag(), rel=1e-6)
    modal = beam("hub", damping=Damping("modal", ratio=0.05)).time_response([9.0], [0.0], [0.1])[:, 0]
    assert modal[2] - ref.L * modal[0] == pytest.approx(0.1 * -_static_sag(), rel=1e-6)


def _static_sag() -> float:
    """L theta - y(L) per unit torque of the beam in steady angular acceleration 1/J (load -rho x/J, no tip body).

    EI y'''' = -rho x/J with y'' = y''' = 0 at L gives EI y'' = -(rho/J)(L^3/3 - L^2 x/2 + x^3/6) and, twice integrated
    from the tangent at the hub, EI (y(L) - L theta) = -(rho/J) 11 L^5/120.
    """
    J = ref.RHO * ref.L**3 / 3 + ref.HUB
    return ref.RHO / J * 11 * ref.L**5 / 120 / ref.EI


def test_stations_and_sensors() -> None:
    sensors = (
        Sensor("here", "displacement", 0.4), Sensor("push", "acceleration", 0.4), Sensor("bend", "curvature", 0.4),
        Sensor("gauge", "strain", 0.4),
    )
    b, s = beam("20 g", sensors=sensors), np.array([3 + 120j])
    H = b.transfer(s)[:, 0, 0]
    y, y2 = b.station(s, 0.4)[0], b.station(s, 0.4, 2)[0]
    assert H[4:] == pytest.approx([y, s[0] ** 2 * y, y2, 1.6002e-3 * y2], rel=1e-14)
    step = 1e-4  # differences of the displacement field
    around = [b.station(s, 0.4 + i * step)[0] for i in (-1, 0, 1)]
    assert y2 == pytest.approx((around[0] - 2 * around[1] + around[2]) / (step * ref.L) ** 2, rel=1e-5)
    assert b.station(s, 1.0)[0] == H[2]
    # the field obeys the equation: EI y'''' = -rho s^2 y
    third = [b.station(s, 0.4 + i * step, 3)[0] for i in (-1, 1)]
    assert ref.EI * (third[1] - third[0]) / (2 * step * ref.L) == pytest.approx(-ref.RHO * s[0] ** 2 * y, rel=1e-6)


def test_bad_input() -> None:
    b = beam()
    assert isinstance(b, FrequencyModel)
    with pytest.raises(errors.DefinitionError, match="s = 0 is the pole"):
        b.transfer([1j, 0.0])
    with pytest.raises(errors.NotAvailable, match="modal_plant"):
        beam(damping=Damping("modal", ratio=0.01)).transfer(1j)
    with pytest.raises(errors.DefinitionError, match=r'joint1_angel" \(did you mean "joint1_angle"\?\)'):
        b.zeros("joint1_angel", 3)
    for wrong in ({}, {"count": 3, "below": 4.0}, {"count": -1}, {"below": 0.0}):
        with pytest.raises(errors.DefinitionError):
            b.natural_frequencies(**wrong)
    for position, order in ((1.5, 0), (0.5, 4)):
        with pytest.raises(errors.DefinitionError):
            b.station([1j], position, order)
    with pytest.raises(errors.DefinitionError, match="acceleration diverges"):
        beam(sensors=(Sensor("a", "acceleration", 0.5),)).time_response([1.0], [0.0], [1.0])
    two = tokhi_arm()
    two = type(two)("two", two.links * 2, (Joint(), Joint()))
    with pytest.raises(errors.DefinitionError, match="one link"):
        ExactBeam(two)
    with pytest.raises(errors.DefinitionError, match="gravity"):
        beam(gravity=(0.0, -9.81))
