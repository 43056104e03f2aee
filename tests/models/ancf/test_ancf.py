"""ANCF arms: statics, frequencies, linear plants under load, inputs, sensors, closures.

Numbers without another source are from an independent code of the same element.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.linalg as sla
from scipy.integrate import solve_bvp
from tip_paths import material, paper_arm, section

from flexctl.errors import DefinitionError
from flexctl.linear import linearise
from flexctl.linear.equilibrium import accelerations, equilibrium
from flexctl.linear.steady import lock, spinning_plant
from flexctl.machine.arm import Actuator, Arm, Damping, Joint, Link, Material, Payload, Section, Sensor
from flexctl.model import OperatingPoint, names
from flexctl.models import build
from flexctl.models.ancf import Ancf

Array = np.ndarray[Any, Any]
L = 1.6
LAWS = ("omar", "pstress", "diag", "split")


def link(path: str, length: float = L, side: float = 0.05) -> Link:
    return Link(length, material(path), section(path, side))


def cantilever(path: str, n: int, law: str = "split", side: float = 0.05, **options: Any) -> Ancf:
    return Ancf(Arm("cantilever", (link(path, side=side),), (Joint(),)), elements=n, law=law, root="clamped", **options)


def settle(model: Any, loads: Array, steps: int, held: Any = ()) -> OperatingPoint:
    """Newton with the loads in steps; `held` coordinates stay."""
    q = model.reference()
    zero, free = 0 * q, np.setdiff1d(np.arange(q.size), held)
    for f in np.linspace(0, 1, steps + 1)[1:]:
        for _ in range(40):
            K = model.tangent(q, zero, zero, f * loads, zero[:0]).stiffness[np.ix_(free, free)]
            residual = model.force(q, zero) - model.input_matrix(q) @ (f * loads)
            d = np.linalg.solve(K, residual[free])
            q[free] -= d
            if np.abs(d).max() < 1e-11:
                break
        else:
            raise AssertionError("Newton did not converge")
    return OperatingPoint(q, zero, zero, loads)


def small_load(path: str, n: int, law: str, **load: float) -> Array:
    model = cantilever(path, n, law)
    u = np.array([load.get(s.name, 0.0) for s in model.inputs])
    return equilibrium(model, load=u).q


# relative error of the tip's deflection under a small end load against Timoshenko's beam, 1 .. 16 elements
DEFLECTION = {
    ("circle", "omar"): (-0.3748, -0.2187, -0.1797, -0.1699, -0.1675),
    ("circle", "pstress"): (-0.2968, -0.1211, -0.0772, -0.0662, -0.0635),
    ("circle", "diag"): (-0.2499, -0.0626, -0.0157, -0.0040, -0.0011),
    ("circle", "split"): (-0.2498, -0.0625, -0.0156, -0.0039, -0.0010),
    ("square", "omar"): (-0.4426, -0.3035, -0.2687, -0.2600, -0.2578),
    ("square", "pstress"): (-0.3174, -0.1469, -0.1043, -0.0936, -0.0909),
    ("square", "split"): (-0.2498, -0.0625, -0.0156, -0.0039, -0.0010),
}


@pytest.mark.parametrize(("path", "law"), DEFLECTION)
def test_tip_deflection_of_a_cantilever(path: str, law: str) -> None:
    one, m = section(path), material(path)
    timoshenko = L**3 / (3 * m.youngs_modulus * one.second_moment)
    timoshenko += L / (one.shear_factor * m.shear_modulus * one.area)
    assert timoshenko == pytest.approx({"circle": 8.744427e-5, "square": 3.279248e-5}[path], rel=1e-6)
    for n, error in zip((1, 2, 4, 8, 16), DEFLECTION[path, law], strict=True):
        q = small_load(path, n, law, tip_force_y=1.0)
        assert q[-5] / timoshenko - 1 == pytest.approx(error, abs=1e-4)


@pytest.mark.parametrize("path", ["circle", "square"])
@pytest.mark.parametrize("law", LAWS)
def test_pure_bending_is_too_stiff_by_the_poisson_effect_alone(path: str, law: str) -> None:
    """Closed form: plane strain (1+nu)(1-2nu)/(1-nu), plane stress 1-nu^2; the others are right, with any mesh."""
    m, nu = material(path), material(path).poisson_ratio
    EI = m.youngs_modulus * section(path).second_moment
    factor = {"omar": (1 + nu) * (1 - 2 * nu) / (1 - nu), "pstress": 1 - nu**2}.get(law, 1.0)
    for n in (1, 3):
        q = small_load(path, n, law, tip_torque=1e-4 * EI / L)
        turned = np.arctan2(-q[-2], q[-1])
        assert turned == pytest.approx(1e-4 * factor, rel=2e-6)


FREQUENCIES = {
    ("circle", 0.4): ((128.27, 587.67), (111.64, 477.47), (111.56, 476.6)),
    ("circle", 1.6): ((7.8169, 34.821), (7.0550, 30.918), (7.0497, 30.860)),
    ("square", 0.4): ((290.01, 1325.1), (238.62, 1020.1), (238.45, 1018.3)),
    ("square", 1.6): ((17.700, 78.834), (15.084, 66.102), (15.073, 65.979)),
}


@pytest.mark.parametrize(("path", "length"), FREQUENCIES)
def test_first_frequencies_of_single_links(path: str, length: float) -> None:
    """Clamped and pinned [Hz]: omar with the paper's mesh, split with 16 elements; last the classical beam."""
    paper, split, exact = FREQUENCIES[path, length]
    arm = Arm("link", (link(path, length),), (Joint(),))
    for i, root in enumerate(("clamped", "pinned")):
        for law, n, wanted in (("omar", 2 if length < 1 else 4, paper[i]), ("split", 16, split[i])):
            model = build(arm, "ancf", elements=n, law=law, root=root)
            assert linearise(model).modes(1).frequencies_hz[0] == pytest.approx(wanted, rel=2e-4)
        assert split[i] == pytest.approx(exact[i], rel=3e-3)


def test_inertia_of_the_rigid_arm() -> None:
    for path, wanted in (
        ("circle", [[35.3263, 25.8250], [25.8250, 20.4850]]),
        ("square", [[9.33698, 9.42958], [9.42958, 11.94958]]),
    ):
        model = build(paper_arm(path), "ancf", elements=(2, 4))
        angles = [joint.angle for joint in model.arm.joints]
        turning = np.array([model.rigid_motion(angles, w, [0.0, 0.0])[1] for w in np.eye(2)])
        np.testing.assert_allclose(turning @ model.mass(model.reference()) @ turning.T, wanted, rtol=3e-6)


def reissner(load: float, moment: float, EI: float, EA: float, GA: float) -> tuple[float, float, float]:
    """Tip (x, y, theta) of Reissner's beam, clamped along x, under an end load along y and an end moment."""

    def slope(s: Array, w: Array) -> Array:
        c, sn = np.cos(w[2]), np.sin(w[2])
        stretch, shear = 1 + load * sn / EA, load * c / GA
        along = stretch * c - shear * sn
        return np.array([along, stretch * sn + shear * c, w[3] / EI, -load * along])

    def ends(a: Array, b: Array) -> Array:
        return np.array([a[0], a[1], a[2], b[3] - moment])

    s = np.linspace(0, L, 200)
    guess = np.array([s, 0 * s, 0 * s, moment + load * (L - s)])
    found = solve_bvp(slope, ends, s, guess, tol=1e-9, max_nodes=20000)
    assert found.success
    return tuple(found.y[:3, -1])


@pytest.mark.parametrize(
    ("n", "error", "share"), [(4, -0.168, 0.01), (8, -0.021, 0.03), (16, -0.0017, 0.03), (32, -6.7e-5, 0.1)]
)
def test_elastica_under_an_end_load(n: int, error: float, share: float) -> None:
    """P L^2 / E I = 3: y / L = 0.603695 of Reissner's beam; the error falls faster than with the second power."""
    model = cantilever("circle", n)
    EI, nu = model.arm.links[0].bending_stiffness, 0.25
    EA = material("circle").youngs_modulus * 0.05**2
    exact = reissner(3 * EI / L**2, 0.0, EI, EA, section("circle").shear_factor * EA / (2 * (1 + nu)))
    np.testing.assert_allclose(np.array(exact) / [L, L, 1], [0.745464, 0.603695, 0.98584], atol=2e-5)
    at = settle(model, np.array([0.0, 3 * EI / L**2, 0.0]), 4)
    assert at.q[model.mesh.tip[1]] / exact[1] - 1 == pytest.approx(error, rel=share)
    if n == 16:  # the solver of the library finds the same
        again = equilibrium(model, load=at.u, guess=at.q + 1e-4)
        np.testing.assert_allclose(again.q, at.q, atol=1e-10)


def test_elastica_of_the_paper_s_law_stays_wrong() -> None:
    """The law of the paper converges to the deflection of a stiffer beam."""
    model = cantilever("square", 32, "omar")
    EI = model.arm.links[0].bending_stiffness
    at = settle(model, np.array([0.0, 3 * EI / L**2, 0.0]), 4)
    assert at.q[model.mesh.tip[1]] / L == pytest.approx(0.603695 * (1 - 0.1313), abs=2e-4)


def loaded_timoshenko(side: float, load: float, moment: float) -> tuple[Array, Array]:
    """Tip and lowest frequencies [Hz] of the geometrically exact beam (another formulation) under the same load."""
    model: Any = build(Arm("c", (link("square", side=side),), (Joint(),)), "timoshenko_planar", elements=64)
    q, zero, free = model.reference(), np.zeros(model.mesh.size), np.arange(1, model.mesh.size)
    F = np.zeros(q.size)
    F[model.mesh.node[-1]] = 0.0, load, moment
    for f in np.linspace(0, 1, 17)[1:]:
        for _ in range(12):
            K = model.tangent(q, zero, zero, np.zeros(3), zero[:0]).stiffness[np.ix_(free, free)]
            q[free] -= np.linalg.solve(K, (model.force(q, zero) - f * F)[free])
    K = model.tangent(q, zero, zero, np.zeros(3), zero[:0]).stiffness[np.ix_(free, free)]
    values = np.sort(sla.eigvals(K, model.M[np.ix_(free, free)]).real)
    return q[model.mesh.node[-1]], np.sqrt(values[:4]) / (2 * np.pi)


@pytest.mark.parametrize(
    ("side", "n", "load", "moment", "rtol"),
    [(0.05, 32, 3.0, 0.0, 5e-3), (0.05, 32, 0.0, np.pi, 1e-2), (0.02, 40, 0.0, 2 * np.pi, 2e-2)],
    ids=["end load", "half a ring", "rolled up"],
)
def test_poles_of_a_heavily_loaded_beam(side: float, n: int, load: float, moment: float, rtol: float) -> None:
    """Against the geometrically exact beam; a ring of thickness h and radius R differs by (h/R)^2."""
    model = cantilever("square", n, side=side)
    EI = model.arm.links[0].bending_stiffness
    tip, wanted = loaded_timoshenko(side, load * EI / L**2, moment * EI / L)
    at = settle(model, np.array([0.0, load * EI / L**2, moment * EI / L]), 8)
    np.testing.assert_allclose(at.q[model.mesh.tip], tip[:2], atol=0.008 * L)  # the ring closes
    np.testing.assert_allclose(at.q[-2:], [-np.sin(tip[2]), np.cos(tip[2])], atol=0.03)
    found = linearise(model, at).modes(4).frequencies_hz
    np.testing.assert_allclose(found, wanted, rtol=rtol)
    straight = linearise(model).modes(4).frequencies_hz
    assert np.abs(found / straight - 1).max() > 0.1  # else the load would not matter


@pytest.mark.parametrize("path", ["circle", "square"])
def test_frequencies_of_the_arm_approach_those_of_the_timoshenko_beam(path: str) -> None:
    arm = paper_arm(path)
    held = ["joint1", "joint2"]
    fine, exact = (linearise(build(arm, k, elements=n)) for k, n in (("ancf", (8, 24)), ("timoshenko_planar", 60)))
    for plants in ((fine, exact), (lock(fine, held), lock(exact, held))):
        one, other = (plant.modes(5).frequencies_hz for plant in plants)
        np.testing.assert_allclose(one, other, rtol=1.5e-2)
        np.testing.assert_allclose(one[0], other[0], rtol=2e-3)
    s = 2j * np.pi * np.array([1.0, 5.0, 20.0])
    for output in ("joint1_angle", "joint2_angle", "tip_x", "tip_y"):
        pair = [plant.transfer(s)[names(plant.outputs).index(output), :2] for plant in (fine, exact)]
        np.testing.assert_allclose(pair[0], pair[1], rtol=2e-2)


def test_rest_and_rigid_torques_are_those_of_the_timoshenko_beam() -> None:
    joints = Joint(0.1, mass=3.0), Joint(0.05, mass=0.5, housing_inertia=0.02, rotor_inertia=0.03)
    arm = Arm(
        "heavy", (link("circle", 0.4), link("circle")), joints, Payload(2.0, 0.1), Damping("rayleigh", alpha=0.3),
        gravity=(0.5, -9.81),
    )
    one, other = (build(arm, kind, elements=(6, 20)) for kind in ("ancf", "timoshenko_planar"))
    rng = np.random.default_rng(1)
    motion = rng.standard_normal((3, 4, 2))
    np.testing.assert_allclose(one.rigid_torques(*motion), other.rigid_torques(*motion), rtol=1e-9)
    for angles in ([0.0, 0.0], [0.7, -1.1]):
        reads = []
        for model in (one, other):
            q = model.rest(angles)
            y = model.output(q, 0 * q, 0 * q, np.zeros(len(model.inputs)))
            reads.append(y[[s.name.startswith("tip_error") for s in model.outputs]])
        np.testing.assert_allclose(reads[0], reads[1], rtol=4e-3, atol=1e-5)
    q, v, a = one.rigid_motion(*motion[:, 0])
    turned = np.array([one.rigid_motion(motion[0, 0], w, [0.0, 0.0])[1] for w in np.eye(2)])
    np.testing.assert_allclose(turned @ (one.mass(q) @ a + one.force(q, v)), one.rigid_torques(*motion)[0], rtol=1e-7)


def test_spinning_link_stiffens_as_the_timoshenko_beam() -> None:
    arm = Arm("spin", (Link(10.0, Material(2.8e9, 120.0), Section(0.01, 5e-6, 0.9285714)),), (Joint(),))
    for rate in (0.0, 3.0, 6.0):
        one, other = (
            lock(spinning_plant(build(arm, kind, elements=n), [rate]), ["joint1"]).modes(2).frequencies_hz
            for kind, n in (("ancf", 24), ("timoshenko_planar", 60))
        )
        np.testing.assert_allclose(one, other, rtol=4e-3)


def test_multipliers_and_shared_positions_are_one_arm() -> None:
    """Accelerations of a moving arm under torques, and the closure forces; linear plants."""
    arm = paper_arm("circle", gravity=(0.0, -9.81))
    shared, tied = (Ancf(arm, elements=(2, 4), law="omar", revolute=r) for r in ("shared", "multipliers"))
    assert len(tied.coordinates) == 48
    assert len(shared.coordinates) == 44
    assert len(tied.closures) == 4
    place = [names(tied.coordinates).index(s.name) for s in shared.coordinates]
    q, v, _ = shared.rigid_motion([-0.6, 0.8], [1.0, -2.0], [0.0, 0.0])
    Q, V, _ = tied.rigid_motion([-0.6, 0.8], [1.0, -2.0], [0.0, 0.0])
    bend = 1e-4 * np.random.default_rng(0).standard_normal(q.size)
    q[4:] += bend[4:]
    Q[place] = q
    Q[tied.mesh.place[tied.mesh.roots[1], :2]] = q[shared.mesh.place[shared.mesh.roots[1], :2]]
    np.testing.assert_allclose(tied.closure(Q), 0.0, atol=1e-15)
    u = np.array([3.0, -1.0, 0.5, 0.2, 0.0])
    a, _ = accelerations(shared, q, v, u)
    A, lam = accelerations(tied, Q, V, u)
    np.testing.assert_allclose(A[place], a, rtol=0, atol=1e-9 * np.abs(a).max())
    assert np.abs(lam).max() > 1.0
    one, other = (linearise(m).modes(4).frequencies_hz for m in (shared, tied))
    np.testing.assert_allclose(other, one, rtol=1e-8)


def test_the_inverse_of_the_saddle_matrix_has_a_minus_sign() -> None:
    """H_ll = -(C M^-1 C^T)^-1; with the sign in print the accelerations open the joint."""
    tied = Ancf(paper_arm("circle"), elements=(2, 4), law="omar", revolute="multipliers")
    M, C = tied.mass(tied.reference()), tied.closure_jacobian(tied.reference())
    forces = np.random.default_rng(0).standard_normal(len(M))
    inverse = np.linalg.inv(M)
    S = np.linalg.inv(C @ inverse @ C.T)
    for sign, closed in ((-1.0, True), (1.0, False)):
        H = inverse + sign * inverse @ C.T @ S @ C @ inverse
        assert (np.abs(C @ H @ forces).max() < 1e-9 * np.abs(H @ forces).max()) == closed
    a, _ = accelerations(tied, tied.reference(), 0 * forces, np.zeros(5))
    np.testing.assert_allclose(a, 0.0, atol=1e-4)  # rounding of E A over the inertia of a section


def test_a_torque_on_a_section_does_its_work() -> None:
    """B^T v of the tip's torque and of the joints are the rates of those sections (the paper's sign is the other)."""
    model = Ancf(paper_arm("circle"), elements=(2, 4))
    rng = np.random.default_rng(2)
    q, v = model.reference() + 0.05 * rng.standard_normal(44), rng.standard_normal(44)
    d = 1e-6

    def section_angle(x: Array) -> float:
        return float(np.arctan2(-x[-2], x[-1]))

    rate = (section_angle(q + d * v) - section_angle(q - d * v)) / (2 * d)
    power = model.input_matrix(q).T @ v
    assert power[names(model.inputs).index("tip_torque")] == pytest.approx(rate, rel=1e-8)
    y = dict(zip(names(model.outputs), model.output(q, v, 0 * q, np.zeros(5)), strict=True))
    assert power[:2] == pytest.approx([y["joint1_rate"], y["joint2_rate"]], rel=1e-14)


def test_distributed_pressure_on_a_cantilever() -> None:
    """Total force P over the link: P L^3 / 8 E I + P L / 2 k G A; over a part by superposition, a point force too."""
    EI = material("circle").youngs_modulus * section("circle").second_moment
    GA = section("circle").shear_factor * material("circle").shear_modulus * 0.05**2
    for start, end in ((0.0, 1.0), (0.25, 0.6), (0.5, 0.5), (1.0, 1.0)):
        base = replace(Arm("c", (link("circle"),), (Joint(),)), actuators=(Actuator("blow", start, end),))
        model = Ancf(base, elements=20, root="clamped")
        u = np.array([0.0, 0.0, 0.0, 1.0])
        s = np.linspace(start, end, 2001)
        exact = np.mean((s * L) ** 2 * (3 * L - s * L) / (6 * EI) + s * L / GA)
        assert equilibrium(model, load=u).q[model.mesh.tip[1]] == pytest.approx(exact, rel=1.5e-3)


SENSORS = (
    Sensor("curvature", "curvature", 0.33), Sensor("strain", "strain", 0.33), Sensor("away", "displacement", 0.4),
    Sensor("shake", "acceleration", 0.7),
)


def test_sensors_read_what_they_say() -> None:
    """A cantilever under an end force; a rigid arm in motion."""
    arm = replace(paper_arm("circle", angles=(0.0, 0.0)), sensors=SENSORS)
    model = Ancf(arm, elements=(10, 20))
    u = np.zeros(5)
    u[3] = 1.0
    q = equilibrium(model, hold={"joint1": 0.0, "joint2": 0.0}, load=u).q
    y = dict(zip(names(model.outputs), model.output(q, 0 * q, 0 * q, u), strict=True))
    EI, GA = 30e9 * 0.05**4 / 12, section("circle").shear_factor * 12e9 * 0.05**2
    assert y["curvature"] == pytest.approx((2.0 - 0.132) / EI, rel=1e-3)
    assert y["strain"] == pytest.approx(0.025 * (2.0 - 0.132) / EI, rel=1e-3)
    assert y["away"] == pytest.approx(0.16**2 * (3 * 2.0 - 0.16) / (6 * EI) + 0.16 / GA, rel=4e-3)
    assert y["link1_deflection"] == pytest.approx(0.4**2 * (3 * 2.0 - 0.4) / (6 * EI) + 0.4 / GA, rel=4e-3)
    elbow, tip = y["link1_deflection"], y["tip_y"]
    assert y["chord1_angle"] == pytest.approx(elbow / 0.4, rel=1e-6)
    assert y["chord2_angle"] == pytest.approx((tip - elbow) / 1.6 - elbow / 0.4, rel=1e-6)
    assert y["tip_error_y"] == tip

    q, v, a = model.rigid_motion([4.0, 5.5], [1.0, -2.0], [3.0, 0.5])  # more than half a turn: no jump
    y = dict(zip(names(model.outputs), model.output(q, v, a, 0 * u), strict=True))
    for i, (angle, rate) in enumerate(((4.0, 1.0), (5.5, -2.0)), 1):
        for kind in ("joint", "chord"):
            assert y[f"{kind}{i}_angle"] == pytest.approx(angle, rel=1e-12)
            assert y[f"{kind}{i}_rate"] == pytest.approx(rate, rel=1e-12)
        assert y[f"link{i}_deflection"] == pytest.approx(0.0, abs=1e-14)
    assert y["shake"] == pytest.approx(3.0 * 0.28, rel=1e-12)
    assert (y["tip_error_x"], y["tip_error_y"]) == pytest.approx((0.0, 0.0), abs=1e-14)
    assert y["away"] == pytest.approx(4.0 * 0.16, rel=1e-12)


def test_kelvin_voigt_damping_of_the_first_mode() -> None:
    """D = eta K: zeta = eta omega / 2."""
    model = Ancf(paper_arm("circle", damping=Damping("rayleigh", beta=1e-4)), elements=(2, 4), law="omar")
    modes = linearise(model).modes(3)
    np.testing.assert_allclose(modes.damping, 0.5e-4 * 2 * np.pi * modes.frequencies_hz, rtol=1e-3)


def test_wrong_choices_are_refused_with_a_remedy() -> None:
    arm = paper_arm("circle")
    for options, text in (
        ({"law": "omer"}, 'did you mean "omar"'), ({"root": "welded"}, "clamped, pinned"),
        ({"revolute": "share"}, "shared"), ({"forces": "quadrat"}, "quadrature"), ({"elements": (2, 4, 4)}, "2 links"),
    ):
        with pytest.raises(DefinitionError, match=text):
            build(arm, "ancf", **options)
    rubber = replace(arm.links[0], material=Material(1e7, 1000.0, 0.5))
    with pytest.raises(DefinitionError, match="split"):
        build(Arm("rubber", (rubber,), (Joint(),)), "ancf", law="omar")
    build(Arm("rubber", (rubber,), (Joint(),)), "ancf")
    with pytest.raises(DefinitionError, match="welds"):
        build(Arm("servo", arm.links[:1], (Joint(drive="servo", servo_stiffness=1.0),)), "ancf", root="clamped")


# ---- modal damping -------------------------------------------------------------------------------------------------


def modally_damped(**options: Any) -> Ancf:
    arm = replace(paper_arm("circle"), damping=Damping("modal", ratio=0.02))
    return Ancf(arm, **{"elements": (2, 4), **options})


@pytest.mark.parametrize("options", [{}, {"law": "omar", "forces": "quadrature"}, {"revolute": "multipliers"}])
def test_modal_damping_has_the_ratio_in_every_mode_of_the_reference_pose(options: dict[str, Any]) -> None:
    np.testing.assert_allclose(linearise(modally_damped(**options)).modes().damping, 0.02, rtol=1e-9)


def test_modal_damping_leaves_rigid_motion_alone_and_turns_with_the_arm() -> None:
    model, plain = modally_damped(), Ancf(paper_arm("circle"), elements=(2, 4))
    rates, none = np.array([3.0, -5.0]), np.zeros(2)
    q, v, _ = model.rigid_motion([0.3, -1.1], rates, none)
    forces = [arm.force(q, v) for arm in (model, plain)]
    np.testing.assert_allclose(forces[0], forces[1], rtol=0, atol=1e-6 * np.abs(model.force(q, 1.001 * v)).max())
    # bent, and turned as a whole: the power taken away is the same
    bent, shaken = model.pose([0.3, -1.1]), np.random.default_rng(1).standard_normal(q.size)
    shaken[0] = 0.0
    power = []
    for turn in (0.0, 1.0):
        J = np.eye(q.size)
        x = turned(model, bent + 1e-3 * shaken, turn)
        for k in range(q.size):
            J[:, k] = turned(model, np.eye(q.size)[k], turn, vector=True)
        w = J @ shaken
        power.append(w @ (model.force(x, w) - plain.force(x, w)))
    assert power[0] > 0.0
    assert power[1] == pytest.approx(power[0], rel=1e-9)


def turned(model: Ancf, q: Array, angle: float, vector: bool = False) -> Array:
    """Coordinates (or, of a vector, rates) of the arm turned as a whole about its base."""
    x, c, s = q.copy(), np.cos(angle), np.sin(angle)
    own = set(model.mesh.joint) | set(model.mesh.stretch)
    for a, b in model.mesh.place.reshape(-1, 2):
        if max(a, b) < q.size and not {a, b} & own:
            x[[a, b]] = c * q[a] - s * q[b], s * q[a] + c * q[b]
    x[model.mesh.joint[0]] += 0.0 if vector else angle
    return x


def test_modal_damping_in_another_pose_is_that_of_beam_elements() -> None:
    """The ratios of the reference pose, elbow at 0.8 rad, change a little at 2.4 rad: by as much in both models."""
    changes = []
    for kind, options in (("ancf", {"elements": (8, 16)}), ("timoshenko_planar", {"elements": (16, 32)})):
        model = build(modally_damped().arm, kind, **options)
        q = model.pose([0.0, 2.4])
        zero = np.zeros(q.size)
        at = OperatingPoint(q, zero, zero, np.zeros(len(model.inputs)))
        changes.append(linearise(model, at).modes(3).damping / 0.02 - 1.0)
    assert np.abs(changes[1]).max() > 0.01
    np.testing.assert_allclose(changes[0], changes[1], rtol=0.05)
