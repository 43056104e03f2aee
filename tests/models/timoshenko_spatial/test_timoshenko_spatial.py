"""The spatial arm: planar limit, the thesis's frequencies and statics, closed forms, rigid dynamics, refusals."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from test_timoshenko_planar import DAMPINGS, full_arm

import flexctl as fx
from flexctl.errors import DefinitionError
from flexctl.kernels.schemes import generalised_alpha
from flexctl.linear import linearise
from flexctl.linear.equilibrium import equilibrium
from flexctl.linear.steady import lock, spinning_plant, steady_state
from flexctl.machine.arm import Arm, Damping, Joint, Link, Material, Payload, Section, Sensor
from flexctl.model import OperatingPoint, balance, names
from flexctl.models.timoshenko_planar import TimoshenkoPlanar
from flexctl.models.timoshenko_spatial import TimoshenkoSpatial
from flexctl.motion.moves import Cycloid, Sine
from flexctl.testing.differences import order, slope, some_motion

Array = npt.NDArray[Any]
RIGHT = 0.5 * np.pi
STEEL, ALUMINIUM = Material(207e9, 7850.0), Material(70e9, 2700.0)
TUBE = Section(915e-6, 1.08e-6, 0.5314, 0.05)
RUBBER = Material(1e5, 100.0)
FLAT = Section(0.01, 1e-5, outer_distance=0.05, second_moment_y=2e-5, torsion_constant=1.5e-5)


def spatial(arm: Arm, elements: int = 8, **options: Any) -> TimoshenkoSpatial:
    return TimoshenkoSpatial(arm, elements=elements, **options)


def read(model: Any, q: Array, u: Array | None = None) -> dict[str, float]:
    y = model.output(q, 0 * q, 0 * q, np.zeros(len(model.inputs)) if u is None else u)
    return dict(zip(names(model.outputs), y, strict=True))


def everything(damping: Damping = Damping(), gravity: tuple[float, ...] = (1.0, 2.0, -9.81)) -> Arm:  # noqa: B008
    """Rigid and flexible kinks, twists, slides on moving guides, bodies of every kind, a servo, sensors both ways."""
    sensors = tuple(
        Sensor(f"{kind}{link}", kind, station, link, direction)
        for kind in ("displacement", "acceleration", "curvature", "strain")
        for link, station, direction in ((2, 0.33, "y"), (3, 0.8, "z"))
    )
    links = (
        Link(0.0, RUBBER, FLAT, kink=0.3, kink_kind="rigid", twist=-1.0),
        Link(0.5, RUBBER, FLAT, kink=0.4, twist=0.7),
        Link(0.6, RUBBER, FLAT, kink=0.2, kink_kind="rigid", twist=0.3),
        Link(0.3, RUBBER, FLAT, kink=0.5),
    )
    joints = (
        Joint(0.05, angle=0.3, mass=0.2, rotor_inertia=0.1),
        Joint(0.03, angle=0.4, mass=0.1, housing_inertia=0.02, kind="prismatic"),
        Joint(0.02, "servo", 0.2, 0.3, 0.04, 0.05, servo_stiffness=3.0),
        Joint(0.01, angle=0.1, housing_inertia=0.03, mass=0.1, kind="prismatic"),
    )
    return Arm("everything", links, joints, Payload(0.3, 0.02), damping, sensors, (), gravity)


# --- derivatives, energy, invariance


@pytest.mark.parametrize("damping", DAMPINGS, ids=lambda d: d.kind)
def test_tangents_of_an_arm_that_has_everything(damping: Damping) -> None:
    """Along random directions, of left side and outputs, by differences."""
    model = spatial(everything(damping), 2)
    x = some_motion(model, spread=0.1)
    tangent, rows = model.tangent(*x), model.output_tangent(*x[:4])
    for seed, (k, block) in enumerate(((0, "stiffness"), (1, "damping"), (2, "mass")) * 2):
        way = np.random.default_rng(seed).standard_normal(x.q.size)

        def moved(s: float, k: int = k, way: Array = way) -> list[Array]:
            return [part + s * way * (i == k) for i, part in enumerate(x[:3])]

        left = slope(lambda s: balance(model, *moved(s), x.u), 2e-4)
        np.testing.assert_allclose(getattr(tangent, block) @ way, left, rtol=0, atol=1e-8 * np.abs(left).max() + 1e-13)
        y = slope(lambda s: model.output(*moved(s), x.u), 2e-4)
        np.testing.assert_allclose(rows[k] @ way, y, rtol=0, atol=1e-9 * np.abs(y).max())
    M = model.mass(x.q)
    np.testing.assert_allclose(model.tangent(*x).mass, M, rtol=0, atol=1e-15)
    np.testing.assert_allclose(M, M.T, rtol=0, atol=1e-16)
    assert np.linalg.eigvalsh(M)[0] > 0


def test_modal_damping_has_its_ratio_in_every_mode_and_leaves_rigid_motion_alone() -> None:
    arm = replace(fx.load_plant("spatial_3r").arm, damping=Damping("modal", ratio=0.02), gravity=(0.0, 0.0))
    model = spatial(arm, 3)
    np.testing.assert_allclose(linearise(model).modes().damping, 0.02, rtol=1e-9)
    q, v, _ = model.rigid_motion((0.4, 1.9, -2.0), (1.0, -2.0, 0.5), (0.0, 0.0, 0.0))
    assert np.abs(model.C).max() > 1.0
    free = model.force(q, v) - spatial(replace(arm, damping=Damping()), 3).force(q, v)
    assert np.abs(free).max() < 1e-6  # of damping coefficients of 1e5


def test_energy_grows_by_what_enters_at_the_guides() -> None:
    """Both slides move on moving guides, one of them on a moving slide, under a weight askew: an identity of powers."""
    model = spatial(everything(), 2)
    x = some_motion(model, spread=0.1)
    power = x.v @ (model.mass(x.q) @ x.a + model.force(x.q, x.v))
    gain = slope(lambda s: model.energy(x.q + s * x.v, x.v + s * x.a).total)
    inflow = model.inflow(x.q, x.v)
    assert abs(inflow) > 1e-2
    assert abs(power + inflow - gain) < 1e-9 * abs(gain)


def test_strains_do_not_see_where_the_arm_stands() -> None:
    """Undeformed at any joint variables: no forces. Bent, then turned as a whole: the same forces, turned."""
    joints = (*everything().joints[:2], Joint(), Joint(kind="prismatic"))
    model = spatial(replace(everything(gravity=(0.0, 0.0)), joints=joints), 2)
    for phi in ((0.0, 0.4, 0.0, 0.5), (2.0, 1.3, -3.0, 0.2), (-60.0, 0.1, 40.0, 2.0)):
        q = model.pose(phi)
        assert np.abs(model.force(q, 0 * q)).max() < 1e-10
    x = some_motion(model, spread=0.2)
    c, s = np.cos(2.2), np.sin(2.2)
    Q = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    turned, nodes = x.q.copy(), model.mesh.node[1:].reshape(-1, 3)
    turned[nodes] = x.q[nodes] @ Q.T
    turned[model.mesh.joint[0]] += 2.2
    before, after = model.force(x.q, 0 * x.q), model.force(turned, 0 * x.q)
    np.testing.assert_allclose(after[nodes], before[nodes] @ Q.T, rtol=0, atol=1e-12 * np.abs(before).max())
    phi = model.mesh.joint
    np.testing.assert_allclose(after[phi], before[phi], rtol=0, atol=1e-12 * np.abs(before).max())
    assert model.energy(turned, 0 * x.v).potential == pytest.approx(model.energy(x.q, 0 * x.v).potential, rel=1e-12)


# --- planar limit


def flat(planar: TimoshenkoPlanar, model: TimoshenkoSpatial) -> tuple[Array, Array]:
    """T with planar = T spatial coordinates (theta = psi_z + sum of the joint angles), and which are in the plane."""
    T, one, other = np.zeros((planar.mesh.size, model.mesh.size)), planar.mesh, model.mesh
    T[one.joint, other.joint] = 1.0
    for k in range(1, len(one.node)):
        T[one.node[k], other.node[k, [0, 1, 5]]] = 1.0
        T[one.node[k, 2], other.joint[: one.link[k - 1] + 1]] = 1.0
    return T, np.abs(T).sum(axis=0) > 0


@pytest.mark.parametrize("damping", DAMPINGS, ids=lambda d: d.kind)
def test_planar_arm_is_the_planar_model(damping: Damping) -> None:
    """Forces, mass, tangents, sensors, energy, rigid torques: unlike links, pieces, every inertia, a servo, weight."""
    arm = full_arm(damping)
    planar, model = TimoshenkoPlanar(arm, elements=4), spatial(arm, 4)
    T, inside = flat(planar, model)
    plane = np.ix_(inside, inside)
    draw = np.random.default_rng(1).standard_normal
    q, v, a = (size * inside * draw(inside.size) for size in (0.1, 1.0, 1.0))
    q = q + model.reference()

    # modal damping is made from the shapes of two different eigenvalue problems
    near = 1e-10 if damping.kind == "modal" else 2e-13

    def same(found: Array, wanted: Array) -> None:
        np.testing.assert_allclose(found, wanted, rtol=0, atol=near * max(np.abs(wanted).max(), 1e-9))

    same(T @ model.reference(), planar.reference())
    same(model.mass(q)[plane], (T.T @ planar.mass(T @ q) @ T)[plane])
    h = model.force(q, v)
    same(h[inside], (T.T @ planar.force(T @ q, T @ v))[inside])
    assert np.abs(h[~inside]).max() <= near * np.abs(h).max()
    u = draw(5)
    ours = model.tangent(q, v, a, np.append(u, 0.0), u[:0])
    for one, other in zip(ours, planar.tangent(T @ q, T @ v, T @ a, u, u[:0]), strict=True):
        same(one[plane], (T.T @ other @ T)[plane])
    y = dict(zip(names(model.outputs), model.output(q, v, a, u), strict=True))
    for name, value in zip(names(planar.outputs), planar.output(T @ q, T @ v, T @ a, u), strict=True):
        assert y[name] == pytest.approx(value, rel=1e-12, abs=1e-12), name
    for one, other in zip(model.energy(q, v), planar.energy(T @ q, T @ v), strict=True):
        assert one == pytest.approx(other, rel=1e-12)
    phi, w, alpha = draw((3, 5, 2))
    same(model.rigid_torques(phi, w, alpha), planar.rigid_torques(phi, w, alpha))
    same(T @ model.rigid_motion(phi, w, alpha)[2].T, planar.rigid_motion(phi, w, alpha)[2].T)


def in_space(name: str) -> str:
    """Return the name in space of a signal in the plane."""
    return "tip_torque_z" if name == "tip_torque" else name


PLANAR = ("planar_2r_flexible", "planar_2r_rigid")


@pytest.mark.parametrize("name", PLANAR)
@pytest.mark.parametrize("analysis", ["nonlinear", "linear"])
def test_planar_plants_at_rest_and_as_linear_plants(name: str, analysis: str) -> None:
    arm = replace(fx.load_plant(name).arm, gravity=(0.0, -9.81), sensors=())
    planar, model = (kind(arm, elements=6, analysis=analysis) for kind in (TimoshenkoPlanar, TimoshenkoSpatial))
    T, _ = flat(planar, model)
    phi = np.array([0.3, 1.1])
    q = model.rest(phi)
    np.testing.assert_allclose(T @ q, planar.rest(phi), rtol=0, atol=1e-10)
    plants = [linearise(m, OperatingPoint.at_rest(m, m.rest(phi))) for m in (model, planar)]
    s = 2j * np.pi * np.array([0.5, 3.0, 20.0, 90.0])
    ours = [names(plants[0].outputs).index(name) for name in names(planar.outputs)]
    inputs = [names(plants[0].inputs).index(in_space(name)) for name in names(planar.inputs)]
    one, other = plants[0].transfer(s)[np.ix_(ours, inputs)], plants[1].transfer(s)
    np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-8 * np.abs(other).max())
    wanted = lock(plants[1], ["joint1", "joint2"]).modes(4).frequencies_hz
    found = lock(plants[0], ["joint1", "joint2"]).modes().frequencies_hz
    assert wanted.size >= 3
    assert all(np.abs(found / f - 1).min() < 1e-9 for f in wanted)


def test_planar_arm_spins_as_the_planar_model() -> None:
    arm = fx.load_plant("planar_2r_flexible").arm
    planar, model = (kind(arm, elements=5) for kind in (TimoshenkoPlanar, TimoshenkoSpatial))
    T, _ = flat(planar, model)
    rates, angles = (8.0, 0.0), (0.2, 0.7)
    points = [steady_state(m, rates, angles) for m in (model, planar)]
    for key in ("q", "v", "a"):
        np.testing.assert_allclose(T @ getattr(points[0], key), getattr(points[1], key), rtol=0, atol=1e-8)
    np.testing.assert_allclose(points[0].u[:2], points[1].u[:2], rtol=0, atol=1e-8 * np.abs(points[1].u).max())
    found, wanted = (lock(spinning_plant(m, rates, angles), ["joint1", "joint2"]).modes() for m in (model, planar))
    assert [np.abs(found.poles / p - 1).min() < 1e-8 for p in wanted.poles[:4]] == [True] * 4


def planar_runs(step: float, analysis: str = "nonlinear", **options: Any) -> list[Any]:
    """The same run of both models: rubber, because beside metal rounding alone moves light inertias by 1e-8."""
    soft = Link(0.8, RUBBER, Section(0.01, 1e-5))
    joints = Joint(0.05), Joint(0.03, angle=0.4, mass=0.1, housing_inertia=0.01, rotor_inertia=0.02)
    arm = Arm("soft", (soft, soft), joints, Payload(0.2, 0.01), gravity=(0.0, -9.81))
    tight = generalised_alpha(tolerance=1e-12)
    kinds = TimoshenkoSpatial, TimoshenkoPlanar
    models = [kind(arm, elements=2, analysis=analysis) for kind in kinds]
    return [fx.simulate(model, duration=0.2, step=step, scheme=tight, **options) for model in models]


def largest_difference(one: Any, other: Any) -> float:
    """Of all signals that both runs have, relative to the largest value of each."""
    shared = {*names(other.outputs), *names(other.inputs)}
    return max(
        float(np.abs(one[in_space(x)] - other[x]).max() / np.abs(other[x]).max(initial=1e-6)) for x in shared
    )


def test_planar_arm_runs_as_the_planar_model() -> None:
    runs = planar_runs(1e-2, inputs={"joint1_torque": Sine(3.0, 4.0), "tip_force_y": Sine(1.0, 3.0)})
    assert largest_difference(*runs) < 1e-8


@pytest.mark.parametrize("analysis", ["nonlinear", "linear"])
def test_planar_arm_follows_commands_as_the_planar_model(analysis: str) -> None:
    """Joints are exact and the rest is stepped, theta there and psi = theta - phi here: the sections step alike."""
    moves = {"joint1": Cycloid(0.0, 0.1, 0.4), "joint2": Cycloid(0.4, 0.2, 0.4)}
    assert largest_difference(*planar_runs(1e-2, analysis, motions=moves)) < 1e-8


# --- the thesis's arms

TABLE_3 = {"flexible": (15.9966, 17.2319, 98.288, 102.938), "rigid": (24.5820, 24.5820, 150.513, 150.513)}
TIPS_3 = {"flexible": (0.078796e-3, -1.264799e-3), "rigid": (0.0, -0.634011e-3)}


@pytest.mark.parametrize("post", TABLE_3)
def test_table_3_arm(post: str) -> None:
    """Locked frequencies of an independent frame code, joints where they may; static tip; the mesh at second order."""
    arm = fx.load_plant("spatial_3r").arm
    arm = replace(arm, links=(replace(arm.links[0], kink_kind=post), *arm.links[1:]))
    found = []
    for n in (5, 10, 20):
        plant = linearise(spatial(replace(arm, gravity=(0.0, 0.0)), n))
        found.append(lock(plant, ["joint1", "joint2", "joint3"]).modes(4).frequencies_hz)
    assert order([x[0] - y[0] for x, y in pairwise(found)])[0] == pytest.approx(2.0, abs=0.05)
    limit = found[2] + (found[2] - found[1]) / 3.0
    np.testing.assert_allclose(limit, TABLE_3[post], rtol=3e-4)
    model = spatial(arm, 16, analysis="linear", stiffening=False)
    y = read(model, model.rest(np.zeros(3)))
    np.testing.assert_allclose([y["tip_error_x"], y["tip_error_z"]], TIPS_3[post], rtol=1e-4, atol=1e-12)
    assert abs(y["tip_error_y"]) < 1e-12
    exact = spatial(arm, 16)
    large = read(exact, exact.rest(np.zeros(3)))
    assert 0 < abs(large["tip_error_z"] / y["tip_error_z"] - 1) < 1e-4


TABLE_4 = {  # A [mm^2], d: frequencies with the post flexible, tip; first frequency with the post rigid, tip
    (315e-6, 0.5): ((20.1684, 21.3916, 55.646), (0.186237e-3, -0.465907e-3), 64.1277, -0.093292e-3),
    (315e-6, 1.0): ((7.9794, 8.7633, 30.685), (0.744947e-3, -4.470613e-3), 16.0485, -1.490592e-3),
    (350e-6, 1.0): ((7.5702, 8.3139, 29.121), (0.827719e-3, -4.967122e-3), 15.2261, -1.656014e-3),
}


def arm_rp(area: float, out: float, post: str, gravity: float = 0.0, **joint: Any) -> Arm:
    bar = Section(area, 1e-8, 0.8864)
    links = (Link(0.0, ALUMINIUM, bar, kink=0.5, kink_kind=post, twist=-RIGHT), Link(0.0, ALUMINIUM, bar, kink=out))
    joints = (Joint(angle=-RIGHT), Joint(kind="prismatic", **joint))
    return Arm("rp", links, joints, gravity=(0.0, 0.0, -gravity))


@pytest.mark.parametrize(("area", "out"), TABLE_4)
def test_table_4_arm(area: float, out: float) -> None:
    frequencies, tip, rigid, sag = TABLE_4[area, out]
    for post, wanted, place in (("flexible", frequencies, tip), ("rigid", (rigid,), (0.0, sag))):
        found = []
        for n in (12, 24):
            plant = lock(linearise(spatial(arm_rp(area, out, post), n)), ["joint1", "joint2"])
            found.append(plant.modes(len(wanted)).frequencies_hz)
        np.testing.assert_allclose(found[1] + (found[1] - found[0]) / 3.0, wanted, rtol=3e-4)
        model = spatial(arm_rp(area, out, post, 9.81), 40, analysis="linear", stiffening=False)
        y = read(model, model.rest(model.arm.reference_joints))
        np.testing.assert_allclose([y["tip_error_x"], y["tip_error_z"]], place, rtol=1e-3, atol=1e-12)


def test_slid_out_is_as_long_as_a_fixed_link() -> None:
    """0.5 m slid out to 0.8 m: matrices of the arm made with 0.8 m, and the frequencies of a bar without a joint."""
    slid, made = spatial(arm_rp(315e-6, 0.5, "flexible"), 6), spatial(arm_rp(315e-6, 0.8, "flexible"), 6)
    q = slid.pose((-RIGHT, 0.8))
    for one, other in zip(linearise(slid, OperatingPoint.at_rest(slid, q)).K, linearise(made).K, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-6)
    np.testing.assert_allclose(slid.mass(q), made.mass(made.reference()), rtol=0, atol=1e-14)
    arm = arm_rp(315e-6, 0.8, "flexible")
    fixed = spatial(replace(arm, joints=(arm.joints[0], Joint())), 6)
    found, wanted = (lock(linearise(m), ["joint1", "joint2"]).modes(6).frequencies_hz for m in (made, fixed))
    np.testing.assert_allclose(found, wanted, rtol=1e-9)


# --- closed forms


def test_torsion_against_closed_forms() -> None:
    """A shaft on the base, along its joint's axis: its frequencies; a cross arm's moment twists it by M L / G J."""
    G, L = RUBBER.shear_modulus, 0.9
    shaft = Link(0.0, RUBBER, FLAT, kink=L)
    model = spatial(Arm("shaft", (shaft,), (Joint(),), gravity=(0.0, 0.0)), 40)
    plant = lock(linearise(model), ["joint1"])
    polar = RUBBER.density * 3e-5
    wave = np.sqrt(G * 1.5e-5 / polar) / L / (2 * np.pi)
    found, wanted = plant.modes().frequencies_hz, wave * (np.arange(2) + 0.5) * np.pi
    for f in wanted:
        assert np.abs(found / f - 1).min() < 1e-3
    # a stiff cross bar of 0.2 m at the end, a force across it: torsion turns it, bending of the shaft moves its root
    cross = Link(0.2, Material(1e9, 1.0), FLAT)
    arm = Arm("cross", (shaft, cross), (Joint(), Joint()))
    model = spatial(arm, 40)
    u = np.zeros(len(model.inputs))
    u[3] = 1e-4  # tip force along y, the bar along x
    q = equilibrium(model, hold={"joint1": 0.0, "joint2": 0.0}, load=u).q
    root = model.mesh.node[40]
    assert q[root[5]] == pytest.approx(1e-4 * 0.2 * L / (G * 1.5e-5), rel=1e-6)


def test_space_frame_against_castigliano() -> None:
    """Post, link, and a second link at right angles sideways: three deflections under a force askew at the tip."""
    flat = Section(9e-4, 1.0e-6, 0.6, second_moment_y=0.5e-6, torsion_constant=0.8e-6)
    h, a, b = 0.5, 1.0, 0.7
    links = Link(0.0, STEEL, flat, kink=h, twist=-RIGHT), Link(a, STEEL, flat, twist=RIGHT), Link(b, STEEL, flat)
    model = spatial(Arm("frame", links, (Joint(), Joint(), Joint(angle=RIGHT))), 40)
    np.testing.assert_allclose(model.rigid_tip(np.array([0.0, 0.0, RIGHT])), [a, b, h], atol=1e-15)
    F = np.array([0.3, -0.2, 0.5])
    u = np.zeros(len(model.inputs))
    u[3:6] = F
    q = equilibrium(model, hold={"joint1": 0.0, "joint2": 0.0, "joint3": RIGHT}, load=u).q
    y = read(model, q, u)
    # unit-load theorem: section forces of F and of a unit force along each axis, integrated part by part
    E, G, A, kt = STEEL.youngs_modulus, STEEL.shear_modulus, 9e-4, 0.6
    x, w = np.polynomial.legendre.leggauss(3)
    wanted = np.zeros(3)
    # start, length, (e1, e2, e3) of each part: post with e2, e3 = x, y; link 2 along x, its e2 down; link 3 along y
    parts = (
        (np.zeros(3), h, np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0]])),
        (np.array([0, 0, h]), a, np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]])),
        (np.array([a, 0, h]), b, np.array([[0, 1, 0], [-1, 0, 0], [0, 0, 1]])),
    )
    stiffness = np.array([E * A, kt * G * A, kt * G * A, G * 0.8e-6, E * 0.5e-6, E * 1.0e-6])
    for start, length, axes in parts:
        for s, weight in zip(0.5 * length * (1 + x), 0.5 * length * w, strict=True):
            lever = np.array([a, b, h]) - (start + s * axes[0])
            forces = [np.concatenate([axes @ f, axes @ np.cross(lever, f)]) for f in (F, *np.eye(3))]
            wanted += weight * np.array([forces[0] @ (unit / stiffness) for unit in forces[1:]])
    found = [y[f"tip_error_{axis}"] for axis in "xyz"]
    np.testing.assert_allclose(found, wanted, rtol=2e-4)


def test_flapping_frequencies_of_a_spinning_beam() -> None:
    """Uniform clamped blade, Wright, Smith, Thresher and Wang 1982: flap; in the plane the square is less by w^2."""
    blade = Section(1e-4, 1e-11, second_moment_y=1e-11)
    arm = Arm("blade", (Link(1.0, ALUMINIUM, blade),), (Joint(),))
    unit = np.sqrt(ALUMINIUM.youngs_modulus * 1e-11 / (2700.0 * 1e-4))
    for spin, flap in ((0.0, 3.5160), (2.0, 4.1373), (6.0, 7.3604)):
        found = []
        for n in (15, 30):
            plant = lock(spinning_plant(spatial(arm, n), [spin * unit]), ["joint1"])
            found.append(plant.modes(2).frequencies_hz * 2 * np.pi / unit)
        limit = found[1] + (found[1] - found[0]) / 3.0
        np.testing.assert_allclose(limit, [np.sqrt(flap**2 - spin**2), flap], rtol=2e-4)


def test_arm_turns_steadily_about_the_vertical_under_its_weight() -> None:
    arm = fx.load_plant("spatial_3r").arm
    model = spatial(arm, 3)
    rates, angles = (4.0, 0.0, 0.0), (0.3, 0.4, 0.5)
    point = steady_state(model, rates, angles)
    assert np.abs(balance(model, point.q, point.v, point.a, point.u)).max() < 1e-6
    assert abs(point.u[0]) < 1e-6  # about the vertical nothing brakes it
    plant = spinning_plant(model, rates, angles)
    turned, nodes = np.zeros(point.q.size), model.mesh.node[1:].reshape(-1, 3)
    turned[nodes] = np.cross([0.0, 0.0, 1.0], point.q[nodes])
    turned[model.mesh.joint[0]] = 1.0
    assert np.abs(plant.K @ turned).max() < 1e-9 * np.abs(plant.K).max()  # the same state, turned
    for bad in ((0.0, 1.0, 0.0), (1.0, 0.0, 1.0)):
        with pytest.raises(DefinitionError, match="about a vertical first joint"):
            steady_state(model, bad, angles)
    with pytest.raises(DefinitionError, match="about a vertical first joint"):
        steady_state(spatial(replace(arm, gravity=(1.0, 0.0, -9.81)), 2), rates, angles)
    slide = spatial(arm_rp(315e-6, 0.5, "rigid"), 2)
    with pytest.raises(DefinitionError, match="prismatic joint moves has no steady state"):
        steady_state(slide, [1.0, 0.1])
    # a bar that stays out d turns as the blade of that length
    assert steady_state(slide, [3.0, 0.0]).u[1] == pytest.approx(-0.8505 * 9.0 * 0.5**2 / 2, rel=1e-3)


# --- rigid dynamics
