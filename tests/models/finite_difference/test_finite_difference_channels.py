from __future__ import annotations

from dataclasses import replace
from typing import Any

import analytical as ref
import numpy as np
import numpy.typing as npt
import pytest
import scipy.linalg as sla
from analytical import CASES, tokhi_arm

from flexctl.exact.euler_bernoulli import ExactBeam
from flexctl.machine.arm import Actuator, Damping, Sensor
from flexctl.model import names
from flexctl.models.finite_difference import FiniteDifference
from flexctl.models.finite_difference.mesh import unit_load, weights

FORMS = ("paper", "slope")

# error [%] of hub angle and tip per torque at 1, 5, 10, 20 Hz, with the hub
TRANSFER = {
    ("paper", 19): ((1.29, -14.3, -6.0, -53.0), (-0.16, -0.52, 0.04, -7.6)),
    ("paper", 40): ((0.66, -7.0, -3.4, -29.0), (-0.04, -0.22, -0.53, -3.5)),
    ("paper", 80): ((0.34, -3.5, -1.8, -15.0), (-0.01, -0.10, -0.39, -1.7)),
    ("slope", 19): ((-0.20, 0.61, 2.1, 11.5), (-0.14, -0.11, 2.2, -1.0)),
    ("slope", 40): ((-0.045, 0.14, 0.46, 2.6), (-0.032, -0.026, 0.48, -0.23)),
    ("slope", 80): ((-0.011, 0.034, 0.11, 0.65), (-0.008, -0.0065, 0.12, -0.06)),
}


def mesh(case: str = "hub", n: int = 19, form: str = "slope", **tables: Any) -> FiniteDifference:
    return FiniteDifference(tokhi_arm(*CASES[case], **tables), sections=n, form=form)


def rigid(m: FiniteDifference) -> npt.NDArray[np.float64]:
    """The coordinates at unit hub angle without bending."""
    x = m.dx * np.arange(1, m.sections + 1)
    return np.concatenate([[1.0] * m.has_theta, x, [1.0] * m.has_phi])


def omegas(m: FiniteDifference) -> npt.NDArray[np.float64]:
    return np.sqrt(np.maximum(sla.eigvalsh(m.K, m.M), 0.0))


def transfer(m: FiniteDifference, s: complex) -> npt.NDArray[np.complex128]:
    c = m.sensors
    q = np.linalg.solve(s**2 * m.M + s * m.D + m.K, m.B)
    return (c.position + s * c.rate + s**2 * c.acceleration) @ q + c.input


@pytest.mark.parametrize(("form", "n"), TRANSFER)
def test_transfer_functions_against_the_exact_beam(form: str, n: int) -> None:
    """The printed digits of each error; half a unit of the last one is allowed."""
    m = mesh("hub", n, form)
    s = 2j * np.pi * np.array([1.0, 5.0, 10.0, 20.0])
    exact = ExactBeam(m.arm).transfer(s)[:, 0]
    got = np.array([transfer(m, x)[:, 0] for x in s]).T
    for row, table in zip((0, 2), TRANSFER[form, n], strict=True):
        percent = (100 * (got[row] / exact[row] - 1)).real
        for value, printed in zip(percent, table, strict=True):
            digits = len(f"{printed!r}".split(".")[1]) if printed % 1 else 0
            assert value == pytest.approx(printed, abs=0.501 * 10.0**-digits)


def test_joint_angle_near_its_zero() -> None:
    """50 Hz lies next to the zero at 50.128 Hz: only an absolute bound makes sense there."""
    s = 100j * np.pi
    for form in FORMS:
        assert abs(transfer(mesh(form=form), s)[0, 0] + 3.308475332278e-04) < 4e-3


SENSORS = (
    Sensor("middle", "displacement", 67 / 180), Sensor("push", "acceleration", 146 / 180),
    Sensor("root", "curvature", 0.0), Sensor("first", "curvature", 2 / 180), Sensor("bend", "curvature", 77 / 180),
    Sensor("gauge", "strain", 4 / 180), Sensor("last", "curvature", 177 / 180),
)


@pytest.mark.parametrize("case", ["no hub", "hub", "20 g, Ip"])
def test_sensors_are_of_second_order(case: str) -> None:
    """Every output of the default form against the exact field at a point off the axis, as a rate.

    All stations are multiples of L/180: on n and n + 180 sections they lie at the same part of a section.
    """
    s = 4 + 2j * np.pi * 7
    at_tip = (Sensor("end", "curvature", 1.0),) if case == "20 g, Ip" else ()
    arm = tokhi_arm(*CASES[case], sensors=SENSORS + at_tip)
    beam = ExactBeam(arm)
    exact, known = beam.transfer([s])[:, 0, 0], names(beam.outputs)

    def wrong(n: int) -> npt.NDArray[np.float64]:
        model = FiniteDifference(arm, sections=n)
        rows = [names(model.outputs).index(name) for name in known]
        return np.abs(transfer(model, s)[rows, 0] - exact)

    coarse, fine = (np.mean([wrong(n) for n in (k, k + 1, k + 2)], axis=0) for k in (60, 240))
    order = np.log(coarse / fine) / np.log(4)
    rates = dict(zip(known, order, strict=True))
    if case == "no hub":  # its rate leaves out what jumps with the torque; the root's curvature is exact
        assert rates.pop("joint1_rate") == pytest.approx(1.0, abs=0.1)
        assert fine[6] < 1e-12 * abs(exact[6])
        rates.pop("root")
    assert min(rates.values()) > 1.9, rates
    assert np.all(fine[[0, 2, 3, 4, 5, 7, 8, 9]] < 5e-4 * np.abs(exact[[0, 2, 3, 4, 5, 7, 8, 9]]))


def test_joint_angle_needs_its_feed_through() -> None:
    """Ih = 0: with dx tau/(2 EI) the angle is of second order, without it of first."""
    s = 40j * np.pi
    exact = ExactBeam(tokhi_arm(0.0)).transfer([s])[0, 0, 0]
    with_it, without = [], []
    for n in (40, 80):
        m = mesh("no hub", n)
        value = transfer(m, s)[0, 0]
        with_it.append(abs(value - exact))
        without.append(abs(value - m.dx / (2 * ref.EI) - exact))
    assert np.log2(with_it[0] / with_it[1]) == pytest.approx(2, abs=0.05)
    assert np.log2(without[0] / without[1]) == pytest.approx(1, abs=0.1)
    assert mesh("no hub").sensors.input[0, 0] == pytest.approx(ref.L / 19 / (2 * ref.EI))
    assert not mesh("no hub", form="paper").sensors.input.any()


def test_paper_form_balances_moments_at_the_ends() -> None:
    """Its curvature at an end comes from the balance there: Ih theta'' - EI y'' = tau, Ip phi'' + EI y'' = 0."""
    sensors = (Sensor("root", "curvature", 0.0), Sensor("end", "curvature", 1.0))
    m, s = mesh("20 g, Ip", 19, "paper", sensors=sensors), 3 + 50j
    q = np.linalg.solve(s**2 * m.M + m.K, m.B[:, 0])
    root, end = transfer(m, s)[-2:, 0]
    assert ref.HUB * s**2 * q[0] / m.dx - ref.EI * root == pytest.approx(1.0, rel=1e-12)
    assert 1e-4 * s**2 * (q[-1] - q[-2]) / m.dx + ref.EI * end == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(("start", "end"), [(0.2, 0.7), (0.0, 1.0), (0.31, 0.33), (0.55, 0.55), (0.9, 1.0)])
def test_loads_reproduce_force_and_moment(start: float, end: float) -> None:
    for n in (3, 10, 19):
        load = unit_load(start, end, n)
        assert load.sum() == pytest.approx(1.0, rel=1e-13)
        assert load @ np.arange(n + 1) / n == pytest.approx(0.5 * (start + end), rel=1e-13)
        assert np.all(load >= 0)
        assert np.array_equal(unit_load(0.4, 0.4, n), weights(0.4, n))
    whole = unit_load(0.0, 1.0, 10)
    assert whole == pytest.approx([0.05, *[0.1] * 9, 0.05])
    assert weights(0.25, 8)[2] == 1.0


@pytest.mark.parametrize("case", ["no hub", "hub", "20 g, Ip"])
def test_distributed_force_by_reciprocity(case: str) -> None:
    """Force to hub angle is torque to mean displacement of the loaded stretch, an integral of the exact field."""
    s = 3 + 2j * np.pi * 6
    forces = (Actuator("patch", 0.23, 0.61), Actuator("point", 0.77, 0.77))
    arm = tokhi_arm(*CASES[case], actuators=forces)
    beam = ExactBeam(replace(arm, actuators=()))
    points, gauss = np.polynomial.legendre.leggauss(12)
    mean = 0.5 * sum(w * beam.station([s], 0.42 + 0.19 * x)[0] for x, w in zip(points, gauss, strict=True))
    exact = np.array([mean, beam.station([s], 0.77)[0]])
    found = [FiniteDifference(arm, sections=n) for n in (61, 62, 63, 241, 242, 243)]
    errors_left = np.array([np.abs(transfer(m, s)[0, 1:] - exact) for m in found]).reshape(2, 3, 2).mean(axis=1)
    assert names(found[0].inputs) == ["joint1_torque", "patch", "point"]
    assert [u.unit for u in found[0].inputs] == ["N m", "N", "N"]
    assert np.all(np.log(errors_left[0] / errors_left[1]) / np.log(241 / 61) > 1.8)
    assert np.all(errors_left[1] < 1e-3 * np.abs(exact))


def test_rayleigh_damping_converges_to_the_damped_beam() -> None:
    s = 2j * np.pi * 10.0  # near the first resonance
    arm = tokhi_arm(*CASES["20 g"], damping=Damping("rayleigh", alpha=0.8, beta=4e-4))
    exact = ExactBeam(arm).transfer([s])[:, 0, 0]
    coarse, fine = (np.abs(transfer(FiniteDifference(arm, sections=n), s)[:4, 0] - exact) for n in (80, 160))
    assert np.log2(coarse / fine) == pytest.approx(2, abs=0.05)
