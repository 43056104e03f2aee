from __future__ import annotations

import itertools
from typing import Any

import analytical as ref
import numpy as np
import numpy.typing as npt
import pytest
import scipy.linalg as sla
from analytical import CASES, tokhi_arm

from flexctl import errors, models
from flexctl.linear import linearise
from flexctl.machine.arm import Actuator, Arm, Damping, Joint, Link, Payload, Section, Sensor
from flexctl.model import MechanicalModel, OutputTangent, names
from flexctl.models.finite_difference import FiniteDifference

FORMS = ("paper", "slope")
MESHES = (10, 19, 40, 80)

# f1, f2, f3 [Hz] of the mesh with 10, 19, 40, 80 sections: eigenvalues of M, K assembled elsewhere
FREQUENCIES = {
    ("no hub", "paper"): (
        (12.249746, 38.312291, 75.964768), (12.448959, 39.939121, 82.128887),
        (12.509427, 40.446082, 84.108834), (12.522727, 40.558457, 84.551871),
    ),
    ("no hub", "slope"): (
        (12.249746, 38.312291, 75.964768), (12.448959, 39.939121, 82.128887),
        (12.509427, 40.446082, 84.108834), (12.522727, 40.558457, 84.551871),
    ),
    ("hub", "paper"): (
        (11.612163, 32.801269, 62.477927), (11.756221, 32.899300, 61.898973),
        (11.795247, 32.609082, 60.297244), (11.801829, 32.402612, 59.348588),
    ),
    ("hub", "slope"): (
        (11.586364, 31.127324, 53.971633), (11.741194, 31.862054, 57.011173),
        (11.787854, 32.087624, 57.997641), (11.798095, 32.137425, 58.219017),
    ),
    ("10 g", "paper"): (
        (10.641368, 30.811491, 59.201845), (10.750961, 30.878561, 58.305084),
        (10.780965, 30.651495, 56.749866), (10.786229, 30.490657, 55.866048),
    ),
    ("10 g", "slope"): (
        (10.623801, 29.488856, 51.485573), (10.740894, 30.069072, 53.899548),
        (10.776040, 30.245113, 54.668108), (10.783746, 30.283844, 54.839562),
    ),
    ("20 g", "paper"): (
        (10.051283, 29.835126, 57.872740), (10.142060, 29.883193, 56.855044),
        (10.167002, 29.680310, 55.313686), (10.171447, 29.538071, 54.452222),
    ),
    ("20 g", "slope"): (
        (10.037442, 28.659238, 50.441073), (10.134205, 29.168485, 52.620401),
        (10.163171, 29.322019, 53.308937), (10.169517, 29.355735, 53.462178),
    ),
}

# largest stable c = dt^2 EI/(rho dx^4)
STABLE = {
    ("no hub", "paper"): (0.26182596, 0.25331926, 0.25075895, 0.25019116),
    ("hub", "paper"): (0.26386163, 0.25362996, 0.25079211, 0.25019529),
    ("10 g", "paper"): (0.26455562, 0.25373997, 0.25080470, 0.25019692),
    ("20 g", "paper"): (0.26471759, 0.25375465, 0.25080554, 0.25019698),
    ("20 g, Ip", "paper"): (0.26682268, 0.25409907, 0.25084084, 0.25020124),
    ("hub", "slope"): (0.26100370, 0.25319965, 0.25074580, 0.25018949),
}

# largest error [%] of f1, f2, f3 over all payloads against the exact beam, 19, 40, 80 sections
BOUNDS = {
    "no hub": ((0.65, 1.7, 3.1), (0.15, 0.38, 0.71), (0.04, 0.10, 0.18)),
    "paper": ((0.40, 2.4, 6.3), (0.06, 1.5, 3.5), (0.01, 0.8, 1.9)),
    "slope": ((0.55, 0.95, 2.3), (0.12, 0.21, 0.52), (0.03, 0.053, 0.13)),
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


@pytest.mark.parametrize(("case", "form"), FREQUENCIES)
def test_frequencies(case: str, form: str) -> None:
    for n, expected in zip(MESHES, FREQUENCIES[case, form], strict=True):
        assert omegas(mesh(case, n, form))[1:4] / (2 * np.pi) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("case", "form"), list(itertools.product(("no hub", "hub", "10 g", "20 g"), FORMS)))
def test_frequencies_against_the_exact_beam(case: str, form: str) -> None:
    exact = ref.beam_frequencies(3, *CASES[case])
    bounds = BOUNDS["no hub" if case == "no hub" else form]
    for n, bound in zip((19, 40, 80), bounds, strict=True):
        percent = 100 * (omegas(mesh(case, n, form))[1:4] / exact - 1)
        assert np.all(np.abs(percent) <= bound)
        # the sign tells the one-sided hub slope from a second-order hub
        assert np.all(percent[1:] > 0) if case != "no hub" and form == "paper" else np.all(percent[1:] < 0)


@pytest.mark.parametrize(
    ("case", "form", "order"),
    [
        ("hub", "paper", 0.87),
        ("hub", "slope", 2.0),
        ("no hub", "paper", 2.0),
        ("20 g", "slope", 2.0),
        ("20 g, Ip", "slope", 2.0),
    ],
)
def test_order_of_the_second_frequency(case: str, form: str, order: float) -> None:
    exact = ref.beam_frequencies(2, *CASES[case])[1]
    coarse, fine = (abs(omegas(mesh(case, n, form))[2] - exact) for n in (40, 80))
    assert np.log2(coarse / fine) == pytest.approx(order, abs=0.01)


@pytest.mark.parametrize(("case", "form"), STABLE)
def test_stability_limit(case: str, form: str) -> None:
    for n, expected in zip(MESHES, STABLE[case, form], strict=True):
        assert mesh(case, n, form).stability_limit() == pytest.approx(ref.step_of(expected, n), rel=2e-8)
    assert mesh("hub", form="paper").stability_limit() == pytest.approx(273.271e-6, abs=5e-10)
    assert mesh("no hub", form="paper").stability_limit() == pytest.approx(273.104e-6, abs=5e-10)


@pytest.mark.parametrize(("n", "us"), [(10, 876.024), (19, 242.666), (40, 54.7515), (80, 13.6879)])
def test_step_at_c_02(n: int, us: float) -> None:
    """The paper's 21 us at n = 19 is ten times too short."""
    m = mesh(n=n)
    link = m.arm.links[0]
    c = link.bending_stiffness * (us * 1e-6) ** 2 / (link.mass_per_length * m.dx**4)
    assert c == pytest.approx(0.2, rel=1e-5)


@pytest.mark.parametrize(("case", "form", "n"), list(itertools.product(("no hub", "hub", "10 g"), FORMS, (19, 40))))
def test_spectral_radius(case: str, form: str, n: int) -> None:
    """Roots of z^2 - a z + 1 for the eigenvalues a of A: on the unit circle at c = 0.25, outside at 0.26."""
    radius = []
    for c in (0.25, 0.26):
        a = np.linalg.eigvals(mesh(case, n, form).scheme(ref.step_of(c, n))[0])
        radius.append(np.abs([np.roots([1, -x, 1]) for x in a]).max())
    assert radius[0] == pytest.approx(1, abs=1e-6)
    assert radius[1] > 1.05


def test_a_tiny_hub_inertia_lowers_the_limit() -> None:
    """Slope form: c <= 1/4 is safe for Ih >= rho dx^3/4 (5.4e-6 here); 1e-6 brings the limit down to 0.088."""
    dx = ref.L / 19
    limits = [FiniteDifference(tokhi_arm(Ih)).stability_limit() for Ih in (ref.RHO * dx**3 / 4, 1e-6)]
    c = [ref.ALPHA**2 * dt**2 / dx**4 for dt in limits]
    assert c[0] >= 0.25
    assert c[1] == pytest.approx(0.088, abs=5e-4)


@pytest.mark.parametrize(("case", "n", "c"), list(itertools.product(CASES, (5, 19, 40), (0.2, 0.05))))
def test_scheme_is_the_papers(case: str, n: int, c: float) -> None:
    """M, K give the paper's matrix, ghost points and all."""
    A, B = mesh(case, n, "paper").scheme(ref.step_of(c, n))
    A_paper, B_paper = ref.paper_matrix(c, n, *CASES[case])
    assert A_paper == pytest.approx(A, abs=1e-12)
    assert B[:, 0] == pytest.approx(B_paper, rel=1e-12)


def test_rows_for_a_direct_look() -> None:
    dt = ref.step_of(0.2, 19)
    A, B = mesh("hub", form="paper").scheme(dt)
    assert A[0, :4] == pytest.approx([1.96458787, 0.02832971, -0.00708243, 0], abs=6e-9)
    assert B[0, 0] == pytest.approx(4.8975581741e-06, rel=1e-10)
    A, B = mesh("no hub", form="paper").scheme(dt)
    assert A[0, :4] == pytest.approx([1, 0.8, -0.2, 0], abs=1e-12)
    assert B[0, 0] == pytest.approx(1.3830169980e-04, rel=1e-10)
    last = {case: mesh(case, form="paper").scheme(dt)[0][-1, -4:] for case in ("10 g", "20 g")}
    assert last["10 g"] == pytest.approx([0, -0.11857734, 0.23715468, 1.88142266], abs=6e-9)
    assert last["20 g"] == pytest.approx([0, -0.06960575, 0.13921150, 1.93039425], abs=6e-9)
    A, _ = mesh("20 g, Ip", form="paper").scheme(dt)
    assert A[-2, -4:] == pytest.approx([-0.07205422, 0.24368809, 1.72878650, 0.09957964], abs=6e-9)
    assert A[-1, -4:] == pytest.approx([-0.04452881, 0.12400679, -0.11442716, 2.03494917], abs=6e-9)


@pytest.mark.parametrize(("case", "form", "n"), list(itertools.product(CASES, FORMS, MESHES)))
def test_rigid_body(case: str, form: str, n: int) -> None:
    """A x = 2 x, x M B/dt^2 = 1, symmetry, and the inertia of the mesh: catches m22, T, P, F and Q4 of the print."""
    m, dt = mesh(case, n, form), ref.step_of(0.2, n)
    A, B = m.scheme(dt)
    x = rigid(m)
    assert A @ x == pytest.approx(2 * x, rel=1e-12)
    assert x @ m.M @ B[:, 0] / dt**2 == pytest.approx(1, rel=1e-12)
    assert np.array_equal(m.M, m.M.T)
    assert np.abs(m.K - m.K.T).max() <= 1e-15 * np.abs(m.K).max()
    hub, mass, inertia = CASES[case]
    J = hub + ref.RHO * ref.L**3 / 3 * (1 + 1 / (2 * n**2)) + mass * ref.L**2 + inertia
    assert x @ m.M @ x == pytest.approx(J, rel=1e-13)
    w = sla.eigvalsh(m.K, m.M)
    assert abs(w[0]) < 1e-9 * w[1]
    assert w[1] > 0
    c = m.sensors
    assert c.position[0] @ x == pytest.approx(1)
    assert c.rate[1] @ x == pytest.approx(1)
    assert c.position[2] @ x == pytest.approx(ref.L)


def test_limits_need_no_special_case() -> None:
    """Ih -> 0 turns (30) into (16), Mp, Ip -> 0 the tip rows into (19), (22)."""
    dt = ref.step_of(0.2, 19)
    bare = mesh("no hub", form="paper").scheme(dt)
    tiny = FiniteDifference(tokhi_arm(1e-19, 1e-19, 1e-19), form="paper").scheme(dt)
    assert tiny[0] == pytest.approx(bare[0], abs=1e-11)
    assert tiny[1] == pytest.approx(bare[1], rel=1e-10)


@pytest.mark.parametrize("form", FORMS)
def test_with_payload_is_the_rebuilt_model(form: str) -> None:
    sensors = (Sensor("end", "curvature", 0.99), Sensor("middle", "displacement", 0.5))
    tables = {"sensors": sensors, "damping": Damping("rayleigh", alpha=1.0)}
    for before, after in itertools.product(((0.0, 0.0), (0.02, 1e-4)), ((0.01, 0.0), (0.03, 2e-4))):
        start = FiniteDifference(tokhi_arm(ref.HUB, *before, **tables), form=form)
        kept = start.M.copy()
        changed = start.with_payload(*after)
        rebuilt = FiniteDifference(tokhi_arm(ref.HUB, *after, **tables), form=form)
        for name in ("M", "K", "D", "B"):
            assert np.array_equal(getattr(changed, name), getattr(rebuilt, name))
        for a, b in zip(changed.sensors, rebuilt.sensors, strict=True):
            assert np.array_equal(a, b)
        assert changed.coordinates == rebuilt.coordinates
        assert changed.arm == rebuilt.arm
        assert np.array_equal(start.M, kept)
        if form == "paper" or (before[1] > 0) == (after[1] > 0):
            assert changed.K is start.K  # nothing but the tip was computed anew
            rows = np.flatnonzero(np.any(changed.M != start.M, axis=1))
            assert rows.min() >= start.nodes.stop - 2
    with pytest.raises(errors.DefinitionError, match="mass"):
        mesh().with_payload(-0.01)


def test_damping() -> None:
    m = mesh("20 g", damping=Damping("modal", ratio=0.03))
    w, phi = sla.eigh(m.K, m.M)
    modal = phi.T @ m.D @ phi
    assert np.diag(modal)[1:] == pytest.approx(0.06 * np.sqrt(w[1:]), rel=1e-8)
    assert modal - np.diag(np.diag(modal)) == pytest.approx(0, abs=1e-8 * modal.max())
    assert m.D @ rigid(m) == pytest.approx(0, abs=1e-9 * np.abs(m.D).max())
    m = mesh(damping=Damping("rayleigh", alpha=0.4, beta=2e-5))
    assert pytest.approx(0.4 * m.M + 2e-5 * m.K) == m.D
    assert not mesh().D.any()


def test_is_a_mechanical_model_with_names() -> None:
    m = mesh("20 g, Ip", 5)
    assert isinstance(m, MechanicalModel)
    assert [str(q) for q in m.coordinates] == ["theta [rad]", *(f"y{i} [m]" for i in range(1, 6)), "phi [rad]"]
    wanted = ["joint1_angle [rad]", "joint1_rate [rad/s]", "tip_displacement [m]", "chord1_angle [rad]"]
    wanted += ["chord1_rate [rad/s]", "link1_deflection [m]"]
    wanted += ["tip_x [m]", "tip_y [m]", "tip_error_x [m]", "tip_error_y [m]"]
    assert [str(y) for y in m.outputs] == wanted
    assert names(mesh("hub", 5, "paper").coordinates) == ["y1", "y2", "y3", "y4", "y5"]
    assert names(mesh("no hub", 5).coordinates) == ["y1", "y2", "y3", "y4", "y5"]
    plant = linearise(m)
    assert plant.symmetric
    assert np.array_equal(plant.K, m.K)
    assert names(plant.outputs) == names(m.outputs)
    assert isinstance(m.sensors, OutputTangent)
    assert m.energy(rigid(m), rigid(m)).potential == pytest.approx(0, abs=1e-12)


def test_build_and_options() -> None:
    m = models.build(tokhi_arm(), "finite_difference", sections=7, form="paper")
    assert isinstance(m, FiniteDifference)
    assert (m.sections, m.form, m.kind) == (7, "paper", "finite_difference")
    assert models.options("finite_difference") == {"sections": 19, "form": "slope"}
    with pytest.raises(
        errors.DefinitionError, match=r'option of finite_difference "section" \(did you mean "sections"'
    ):
        models.build(tokhi_arm(), "finite_difference", section=7)
    with pytest.raises(errors.DefinitionError, match=r'"finite_diference" \(did you mean "finite_difference"\?\)'):
        models.build(tokhi_arm(), "finite_diference")


@pytest.mark.parametrize(
    ("tables", "options", "message"),
    [
        ({}, {"sections": 2}, "from 3 to 2000"),
        ({}, {"sections": 10**9}, "from 3 to 2000"),
        ({}, {"sections": 19.0}, "whole number"),
        ({}, {"sections": True}, "whole number"),
        ({}, {"form": "slop"}, r'did you mean "slope"'),
        ({}, {"form": 3}, "form"),
        ({"gravity": (0.0, -9.81)}, {}, "gravity"),
        ({"sensors": (Sensor("x", "displacement", 0.0),)}, {}, "does not move"),
        ({"sensors": (Sensor("x", "acceleration", 0.0),)}, {}, "does not move"),
        ({"sensors": (Sensor("x", "strain", 1.0),)}, {}, "free tip"),
        ({"sensors": (Sensor("tip_displacement", "displacement", 0.5),)}, {}, 'name "tip_displacement" is taken'),
        ({"actuators": (Actuator("joint1_torque", 0.1, 0.2),)}, {}, 'name "joint1_torque" is taken'),
        ({"actuators": (Actuator("x", 0.0, 0.0),)}, {}, "does nothing"),
    ],
)
def test_bad_definitions(tables: dict[str, Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises(errors.DefinitionError, match=message):
        FiniteDifference(tokhi_arm(**tables), **options)


def test_one_link_only_and_strain_needs_a_distance() -> None:
    arm = tokhi_arm()
    with pytest.raises(errors.DefinitionError, match="one link, the arm has 2"):
        FiniteDifference(Arm("two", arm.links * 2, (Joint(), Joint())))
    plain = Link(ref.L, arm.links[0].material, Section(ref.AREA, ref.I))
    gauge = (Sensor("gauge", "strain", 0.1),)
    with pytest.raises(errors.DefinitionError, match=r'"gauge".*outer_distance'):
        FiniteDifference(Arm("plain", (plain,), (Joint(),), Payload(), sensors=gauge))
