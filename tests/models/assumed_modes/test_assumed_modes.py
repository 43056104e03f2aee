"""Trees by assumed modes, against closed forms, another solver, and themselves in other coordinates."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from test_conformance import tree

from flexctl.errors import DefinitionError, NotAvailable
from flexctl.linear import linearise
from flexctl.linear.equilibrium import accelerations, equilibrium
from flexctl.linear.modes import normal_modes
from flexctl.linear.steady import lock
from flexctl.machine.arm import Arm, Body, Closure, Damping, Gravity, Joint, Link, Material, Payload, Section, Sensor
from flexctl.model import OperatingPoint, names
from flexctl.models import build
from flexctl.models.assumed_modes.shapes import SHAPES, attachment, bending, wave_numbers
from flexctl.models.null_space import null_space
from flexctl.models.wrappers.motion_driven import motion_driven
from flexctl.motion.moves import acceleration_of, quintic
from flexctl.simulation.simulate import simulate
from flexctl.testing.checks import plain as plain_of
from flexctl.testing.differences import Array, check_closures, check_tangent, order, some_motion

STEEL = Material(2e11, 7800.0)
STRIP = Section(2e-4, 6e-10, outer_distance=3e-3)
BAR = Link(1.0, STEEL, STRIP)
PIN = partial(Closure, "pin")


def frequencies(model, held=()) -> Array:
    plant = linearise(model)
    return 2 * np.pi * (lock(plant, held) if held else plant).modes().frequencies_hz


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_are_modes_of_the_beam(shape: str) -> None:
    """The roots of the closed characteristic equations, the ends, orthogonality, and y'''' = z^4 y."""
    mu, x = 0.7, np.linspace(0.0, 1.0, 2001)
    z = wave_numbers(shape, 6, mu)
    c, C, s, S = np.cos(z), np.cosh(z), np.sin(z), np.sinh(z)
    equation = {
        "clamped_free": c * C + 1, "clamped_mass": 1 + c * C + mu * z * (c * S - s * C), "clamped_clamped": c * C - 1,
        "clamped_pinned": s * C - c * S, "pinned_pinned": s,
    }[shape]
    assert np.all(np.abs(equation) < 1e-9 * C)
    y = bending(shape, 6, x, 0, mu)
    fourth = bending(shape, 6, x, 4, mu)
    np.testing.assert_allclose(fourth, z**4 * y, atol=1e-9 * z.max() ** 4 * np.abs(y).max())
    right = shape.split("_")[1]
    for end, kind in ((0.0, shape.split("_")[0]), (1.0, right)):
        zero = {"clamped": (0, 1), "pinned": (0, 2), "free": (2, 3), "mass": (2,)}[kind]
        for k in zero:
            assert np.all(np.abs(bending(shape, 6, end, k, mu)) < 1e-9 * z**k * np.abs(y).max(axis=0))
    weight = np.full(x.size, 1.0 / 2000)
    weight[[0, -1]] /= 2
    gram = (y * weight[:, None]).T @ y + (mu if right == "mass" else 0.0) * np.outer(y[-1], y[-1])
    scale = np.sqrt(np.diag(gram))
    np.testing.assert_allclose(gram / np.outer(scale, scale), np.eye(6), atol=1e-4)


@pytest.mark.parametrize("derivative", [1, 2, 3])
def test_derivatives_of_shapes_are_derivatives(derivative: int) -> None:
    x = np.linspace(0.05, 0.95, 7)
    for shape in SHAPES:
        step = 1e-4
        near, far = (bending(shape, 3, x + sign * step, derivative - 1, 0.7) for sign in (1, -1))
        slope = (near - far) / (2 * step)
        exact = bending(shape, 3, x, derivative, 0.7)
        np.testing.assert_allclose(exact, slope, atol=1e-4 * np.abs(exact).max())


def test_one_link_approaches_the_exact_beam_from_above() -> None:
    """Held with the payload of its shapes: exact at once. Free at the hub: from above, with every shape closer."""
    held = Arm("held", (BAR,), (Joint(),), Payload(0.7 * BAR.mass))
    unit = np.sqrt(BAR.bending_stiffness / BAR.mass_per_length)
    model = build(held, "assumed_modes", modes=3, shapes="clamped_mass", mass_ratio=0.7)
    wanted = unit * wave_numbers("clamped_mass", 3, 0.7) ** 2
    np.testing.assert_allclose(frequencies(model, ["joint1"]), wanted, rtol=1e-9)
    free = replace(held, payload=Payload())
    exact = unit * np.array([3.926602312, 7.068582746]) ** 2  # pinned and free: tan z = tanh z
    errors = [frequencies(build(free, "assumed_modes", modes=n))[:2] / exact - 1.0 for n in (2, 4, 8)]
    assert np.all(np.array(errors) > 0)
    assert np.all(np.diff(errors, axis=0) < 0)
    assert errors[-1].max() < 1e-3


def test_two_links_agree_with_the_beam_elements() -> None:
    """Frequencies, weight and a run of the slender arm, against geometrically exact elements."""
    arm = Arm("two", (BAR, BAR), (Joint(0.05), Joint(0.02, angle=0.6, mass=0.5)), Payload(0.3, 1e-3))
    modes = build(arm, "assumed_modes", modes=10, foreshortening=True)
    beams = build(arm, "timoshenko_planar", elements=60)  # second order in the elements: 4e-4 for the third mode
    np.testing.assert_allclose(frequencies(modes)[:4], frequencies(beams)[:4], rtol=1e-3)
    hanging = replace(arm, gravity=Gravity(0.0, -1.0))
    tips = []
    for model in (build(hanging, "assumed_modes", modes=16), build(hanging, "timoshenko_planar", elements=24)):
        q = model.rest([0.3, 0.2])
        zero = np.zeros(q.size)
        y = dict(zip(names(model.outputs), model.output(q, zero, zero, np.zeros(len(model.inputs))), strict=True))
        tips.append([y["tip_error_x"], y["tip_error_y"]])
    assert abs(tips[0][1]) > 0.01
    np.testing.assert_allclose(tips[0][1], tips[1][1], rtol=0.01)


def test_a_spinning_link_is_stiffened_by_foreshortening_only() -> None:
    """Southwell: omega^2 = omega0^2 + (1.193 - 1) Omega^2 in the plane of rotation of a clamped-free beam."""
    arm, rate = Arm("spin", (BAR,), (Joint(drive="motion"),)), 20.0
    found = []
    for option in (True, False):
        model = build(arm, "assumed_modes", modes=4, foreshortening=option).inner
        q, v = model.reference(), np.zeros(5)
        v[0] = rate
        t = model.tangent(q, v, np.zeros(5), np.zeros(len(model.inputs)), np.zeros(0))
        found.append(normal_modes(t.mass[1:, 1:], t.stiffness[1:, 1:]).omega[0] ** 2)
    still = wave_numbers("clamped_free", 1)[0] ** 4 * BAR.bending_stiffness / BAR.mass_per_length
    assert (found[0] - still) / rate**2 == pytest.approx(0.193, abs=0.01)
    assert (found[1] - still) / rate**2 == pytest.approx(-1.0, abs=1e-9)


def test_stretch_of_a_link_is_that_of_a_rod() -> None:
    """Held at the root, pulled by nothing: (pi/2) sqrt(E/rho)/L, from above with every shape closer."""
    exact = 0.5 * np.pi * np.sqrt(STEEL.youngs_modulus / STEEL.density)
    arm = Arm("rod", (BAR,), (Joint(),))
    made = [build(arm, "assumed_modes", modes=0, axial=n) for n in (1, 2, 4)]
    errors = [frequencies(model, ["joint1"])[0] / exact - 1.0 for model in made]
    assert errors[0] == pytest.approx(np.sqrt(3.0) / (0.5 * np.pi) - 1.0, rel=1e-9)
    assert np.all(np.diff(errors) < 0)
    assert 0 < errors[-1] < 5e-3


def five_bar(**changes) -> Arm:
    links = (BAR, BAR, replace(BAR, parent=0, base_x=0.5), BAR)
    joints = tuple(Joint(angle=a, drive=d) for a, d in zip((1.9, -1.0, 1.2, 1.1), ("torque", "free") * 2, strict=True))
    return Arm("five bars", links, joints, Payload(0.2, link=2), closures=(PIN(2, 1.0, 4),), **changes)


def test_five_bars_close_in_every_pose_and_rigid_ones_move_as_the_formula_says() -> None:
    model = build(five_bar(), "assumed_modes", modes=0)
    for angles in ([2.4, 0.9], [1.6, 1.6], [2.0, 0.4]):
        q = model.pose(angles)
        assert np.abs(model.closure(q)).max() < 1e-14
        elbows = np.array([np.exp(1j * angles[0]), 0.5 + np.exp(1j * angles[1])])
        half, reach = 0.5 * np.diff(elbows)[0], abs(np.diff(elbows)[0])
        tip = elbows.mean() + 1j * half / abs(half) * np.sqrt(1.0 - 0.25 * reach**2)
        y = model.output(q, 0 * q, 0 * q, np.zeros(4))
        place = [y[names(model.outputs).index(name)] for name in ("tip_x", "tip_y")]
        np.testing.assert_allclose(place, [tip.real, tip.imag], atol=1e-12)
    with pytest.raises(DefinitionError, match=r'closure "pin_[xy]" stays open by .* m at joint angles'):
        model.pose([3.1, 0.0])


def test_a_serial_arm_is_the_same_in_both_kinds_of_angle() -> None:
    """A free joint counts its angle from the base, a driven one from the link before: the same arm, unloaded."""
    arm = Arm("two", (BAR, BAR), (Joint(0.05), Joint(0.02, angle=0.6)))
    free = replace(arm, joints=(arm.joints[0], replace(arm.joints[1], drive="free")))
    np.testing.assert_allclose(
        frequencies(build(arm, "assumed_modes")), frequencies(build(free, "assumed_modes")), rtol=1e-9
    )


def test_modal_damping_has_the_ratio_in_every_mode() -> None:
    plant = linearise(build(five_bar(damping=Damping("modal", ratio=0.03)), "assumed_modes"))
    np.testing.assert_allclose(plant.modes().damping, 0.03, rtol=1e-6)


def readings(model, q: Array, v: Array) -> dict[str, float]:
    return dict(zip(names(model.outputs), model.output(q, v, 0 * q, np.zeros(len(model.inputs))), strict=True))


@pytest.mark.parametrize("options", [{}, {"foreshortening": True, "axial": 1}])
def test_chords_and_deflections_are_those_of_the_drawn_links(options: dict[str, object]) -> None:
    """From the points of `outline`, also where a link hangs on a free joint; the rate is the change of the angle."""
    loop = build(five_bar(), "assumed_modes", **options)
    for model, carriers in ((tree(**options)(0), (-1, 0)), (loop, (-1, 0, -1, 2))):
        x = some_motion(model, seed=3)
        place = model.tree.T @ x.q
        lines = model.outline(x.q)
        chords = [np.arctan2(*(line[-1] - line[0])[::-1]) for line in lines]
        ahead, behind = (readings(model, x.q + h * x.v, x.v) for h in (1e-6, -1e-6))
        y = readings(model, x.q, x.v)
        for i, carrier in enumerate(carriers):
            wanted = chords[i] - (chords[carrier] if carrier >= 0 else 0.0)
            assert np.exp(1j * y[f"chord{i + 1}_angle"]) == pytest.approx(np.exp(1j * wanted), abs=1e-12)
            slope = (ahead[f"chord{i + 1}_angle"] - behind[f"chord{i + 1}_angle"]) / 2e-6
            assert y[f"chord{i + 1}_rate"] == pytest.approx(slope, rel=1e-6, abs=1e-7)
            (dx, dy), theta = lines[i][-1] - lines[i][0], place[i]
            across = dy * np.cos(theta) - dx * np.sin(theta)
            assert y[f"link{i + 1}_deflection"] == pytest.approx(across, rel=1e-12)


def test_what_has_no_chord_and_no_deflection_does_not_offer_them() -> None:
    """A root that tilts, a link that cannot bend, an end that its shapes hold."""
    model = build(five_bar(), "assumed_modes", modes=(2, 0, 2, 2), shapes=(*("clamped_free",) * 2, *SHAPES[-2:]))
    found = [name for name in names(model.outputs) if name.startswith(("chord", "link")) and "rate" not in name]
    assert found == ["chord1_angle", "link1_deflection", "chord2_angle", "chord3_angle"]


def test_null_space_is_that_of_the_paper() -> None:
    model = build(five_bar(), "assumed_modes")
    G = model.closure_jacobian(model.reference())
    V2 = null_space(G, model.closures)
    assert V2.shape == (12, 10)
    np.testing.assert_allclose(G @ V2, 0.0, atol=1e-14)
    np.testing.assert_allclose(V2.T @ V2, np.eye(10), atol=1e-14)


def test_redundant_closures_are_refused_by_name() -> None:
    twice = replace(five_bar(), closures=(PIN(2, 1.0, 4), Closure("again", 4, 1.0, 2)))
    with pytest.raises(DefinitionError, match=r"'pin_x', 'pin_y', 'again_x', 'again_y'.* redundant: rank 2 of 4"):
        build(twice, "assumed_modes")


@pytest.mark.parametrize("kind", ["timoshenko_planar", "finite_difference"])
def test_other_models_refuse_trees_and_closures(kind: str) -> None:
    with pytest.raises(DefinitionError, match=rf"{kind} has no tree \(link 3\)"):
        build(replace(five_bar(), closures=(), payload=Payload()), kind)
    loop = Arm("loop", (BAR, BAR), (Joint(), Joint(angle=0.5)), closures=(PIN(2, 1.0, 0, base_x=1.0, base_y=0.4),))
    with pytest.raises(DefinitionError, match=rf"{kind} has no (closure|joint angle)"):
        build(loop, kind)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Link(1.0), "a flexible link needs a material; add it"),
        (lambda: Link(1.0, STEEL, STRIP, kind="massless"), "a massless link has no material; leave it out"),
        (lambda: Arm("x", (replace(BAR, parent=1),), (Joint(),)), "parent = 1, but a link comes after the one"),
        (lambda: Arm("x", (BAR, replace(BAR, base_x=1.0)), (Joint(), Joint())), "have no effect on link 1; set root"),
        (lambda: replace(five_bar(), closures=(PIN(2, 1.0, 7),)), r"\[\[closure\]\] 1: link = 7, but the arm has 4"),
        (lambda: replace(five_bar(), closures=(PIN(2, 1.0, 2),)), "joins link 2 to itself"),
        (lambda: replace(five_bar(), bodies=(Body(9, 0.5, 1.0),)), r"\[\[body\]\] 1: link = 9"),
        (lambda: build(five_bar(), "assumed_modes", modes=(1, 2)), "give one, or one for each of 4 links"),
        (lambda: build(five_bar(), "assumed_modes", modes=99), "must be a whole number from 0 to 30"),
        (lambda: build(five_bar(), "assumed_modes", shapes="clamped_fre"), 'did you mean "clamped_free"'),
        (lambda: build(five_bar(sensors=(Sensor("tip_x", "strain", 0.5),)), "assumed_modes"), "is taken by the model"),
    ],
)
def test_wrong_definitions_are_refused(make, message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        make()


def led():
    inner = tree(True, gravity=0.5, foreshortening=False, damping=Damping("rayleigh", alpha=0.1))(0)
    return motion_driven(inner, inner.joints)


def test_motion_driven_loop_has_its_derivatives() -> None:
    model = led()
    for seed in (1, 2):
        x = some_motion(model, seed=seed)
        check_tangent(model, x)
        check_closures(model, x)


def test_motion_driven_loop_runs_compiled_as_plain_and_its_torques_drive_the_free_loop() -> None:
    model, h = led(), 5e-3
    inner = model.inner
    start = inner.pose([1.9, 1.2])
    inputs = {f"joint{i}_acceleration": acceleration_of(quintic(0.0, x, 0.6)) for i, x in ((1, 0.3), (3, -0.2))}
    run = partial(simulate, duration=0.2, initial=(start, 0 * start), inputs=inputs, record_states=True)
    fast, plain = run(model, step=h), run(plain_of(model), step=h)
    for one, other in ((fast.y[1:], plain.y[1:]), (fast.q, plain.q), (fast.v, plain.v)):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-9 * np.abs(other).max(axis=0).max())
    # the torques with which the run begins: the closure forces are those where the filtered jump leads, or recomputed
    finer = run(model, step=h / 4, duration=2 * h), run(plain_of(model), step=h / 4, duration=2 * h)
    coarse, fine = (np.abs(one.y[0] - other.y[0]).max() for one, other in ((fast, plain), finer))
    assert fine < coarse / 12.0
    q, v = plain.q[-1], plain.v[-1]
    y = dict(zip(names(model.outputs), plain.y[-1], strict=True))
    u = np.array([y["joint1_torque"], y["joint3_torque"], 0.0, 0.0, 0.0])
    a, _ = accelerations(inner, q, v, u)
    commanded = [float(quintic(0.0, x, 0.6)(0.2)[2]) for x in (0.3, -0.2)]
    np.testing.assert_allclose(a[[0, 2]], commanded, rtol=2e-2)


def test_a_loop_that_holds_its_joints_cannot_be_led() -> None:
    q = build(five_bar(), "assumed_modes", modes=0).reference()
    angles = [q[0], q[1] - q[0], q[2], q[3] - q[2]]
    arm = replace(five_bar(), joints=tuple(Joint(angle=float(x)) for x in angles))
    model = build(arm, "assumed_modes", modes=0)
    with pytest.raises(NotAvailable, match=r"do not leave .* free to follow a motion; drive fewer joints"):
        motion_driven(model, model.joints)


def test_closures_hold_for_places_and_rates_along_a_run() -> None:
    model = build(five_bar(gravity=Gravity(0.0, -9.81)), "assumed_modes")
    run = simulate(model, duration=0.3, step=1e-3, record_states=True)
    gaps = [np.abs(model.closure(q)).max() for q in run.q]
    drifts = [np.abs(model.closure_jacobian(q) @ v).max() for q, v in zip(run.q, run.v, strict=True)]
    assert np.ptp(run["joint1_angle"]) > 0.1
    assert max(gaps) < 1e-10
    assert max(drifts) < 1e-8


def test_run_converges_to_the_differential_equation_at_second_order() -> None:
    model = build(five_bar(gravity=Gravity(0.0, -9.81)), "assumed_modes", modes=1)
    ends = [simulate(model, duration=0.1, step=h, record_states=True).q[-1] for h in (4e-4, 2e-4, 1e-4, 5e-5)]
    errors = [float(np.abs(a - b).max()) for a, b in pairwise(ends)]
    assert order(errors)[-1] == pytest.approx(2.0, abs=0.2)


def test_equilibrium_holds_the_joints_and_the_pin_balances() -> None:
    model = build(five_bar(gravity=Gravity(0.0, -9.81)), "assumed_modes")
    at = equilibrium(model, hold={"joint1": 1.9, "joint3": 1.2})
    a, lam = accelerations(model, at.q, at.v, at.u)
    assert np.abs(a).max() < 1e-6
    np.testing.assert_allclose(lam, at.lam, rtol=1e-9)


ALUMINIUM = Material(70e9, 2700.0)


def held_frequency(arm: Arm, kind: str, angle: float, **options) -> float:
    """Return the lowest frequency [rad/s] at rest under the weight, the joint held."""
    model = build(arm, kind, **options)
    plant = lock(linearise(model, OperatingPoint.at_rest(model, model.rest([angle]))), ["joint1"])
    return float(2 * np.pi * plant.modes(1).frequencies_hz[0])


@pytest.mark.parametrize(("angle", "g", "mass"), [(-0.5 * np.pi, 9.81, 0.5), (0.5 * np.pi, 0.3, 0.05)])
def test_bending_shortens_by_default_where_the_weight_needs_it(angle: float, g: float, mass: float) -> None:
    """A soft link that hangs is stiffer, one that stands is softer: against the exact beam, and 44 % off without."""
    soft = Link(1.0, ALUMINIUM, Section(350e-6, 2e-11, 0.8864, 0.0106))
    arm = Arm("soft", (soft,), (Joint(angle=angle),), Payload(mass), gravity=Gravity(0.0, -g))
    exact = held_frequency(arm, "timoshenko_planar", angle, elements=40)
    assert held_frequency(arm, "assumed_modes", angle, modes=6) == pytest.approx(exact, rel=2e-3)
    bare = held_frequency(arm, "assumed_modes", angle, modes=6, foreshortening=False)
    assert abs(bare / exact - 1.0) > 0.01
    stiff = replace(arm, links=(replace(soft, section=Section(350e-6, 1e-6, 0.8864, 0.0106)),))
    assert not build(stiff, "assumed_modes").options["foreshortening"]
    assert not build(replace(arm, gravity=Gravity()), "assumed_modes").options["foreshortening"]
    assert build(arm, "assumed_modes").with_payload(0.0).options["foreshortening"]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("count", [1, 6, 30])
def test_attachment_shapes_are_static_and_keep_the_root(shape: str, count: int) -> None:
    """With the modes they span the cubics of static moments and forces; orthogonal to the modes, of largest value 1."""
    x = np.linspace(0.0, 1.0, 201)
    values = attachment(shape, count, x, 0, 0.7)
    assert np.abs(values).max(axis=0) == pytest.approx(1.0, abs=1e-2)  # as far as 201 stations show it
    slopes = attachment(shape, count, x, 1, 0.7)
    assert np.abs(values[0]).max() < 1e-7  # the highest modes are thousands where the end hardly moves
    assert shape == "pinned_pinned" or np.abs(slopes[0]).max() < 1e-8 * np.abs(slopes).max()
    cubic = {"pinned_pinned": x - x**3, "clamped_pinned": x**2 - x**3}.get(shape, x**2)
    span = np.hstack([bending(shape, count, x, 0, 0.7), values])
    left = cubic - span @ np.linalg.lstsq(span, cubic, rcond=None)[0]
    assert np.abs(left).max() < 1e-10


@pytest.mark.parametrize(("part", "needed"), [(0.9, True), (1.1, False)])
def test_the_weight_needs_it_from_a_hundredth_of_the_buckling_load_on(part: float, needed: bool) -> None:
    """pi^2 EI / (2 L)^2, here of a link of 0.8 m with a payload."""
    weight = 9.81 * (0.8 * 2700.0 * 350e-6 + 0.3)
    section = Section(350e-6, part * 100.0 * weight * 1.6**2 / (np.pi**2 * 70e9))
    arm = Arm("soft", (Link(0.8, ALUMINIUM, section),), (Joint(),), Payload(0.3), gravity=Gravity(0.0, -9.81))
    assert build(arm, "assumed_modes").options["foreshortening"] == needed


def test_derivatives_of_attachment_shapes() -> None:
    x, step = np.linspace(0.1, 0.9, 9), 1e-4
    for derivative in (1, 2):
        near, far = (attachment("clamped_free", 3, x + sign * step, derivative - 1) for sign in (1, -1))
        exact = attachment("clamped_free", 3, x, derivative)
        assert (near - far) / (2 * step) == pytest.approx(exact, abs=1e-5 * np.abs(exact).max())


def test_attachment_shapes_where_a_moment_acts_at_a_links_end() -> None:
    """Two bars and a payload with inertia: the first frequency is 12, 6 and 3 % off with 2, 4 and 8 modes alone."""
    bar = Link(1.0, ALUMINIUM, Section(350e-6, 1e-8, 0.8864, 0.0106))
    arm = Arm("2r", (bar, bar), (Joint(0.02), Joint(0.02, housing_inertia=0.01)), Payload(0.2, 0.05))
    beams = linearise(build(arm, "timoshenko_planar", elements=80)).modes(2).frequencies_hz

    def off(modes: int, attachment: bool) -> float:
        plant = linearise(build(arm, "assumed_modes", modes=modes, attachment=attachment))
        return float(plant.modes(1).frequencies_hz[0] / beams[0] - 1.0)

    assert [off(n, False) for n in (2, 4, 8)] == pytest.approx([0.121, 0.0597, 0.0294], rel=0.02)
    assert abs(off(2, True)) < 1e-4  # of which the shear and the mesh of the other model are most
    assert off(2, True) == pytest.approx(off(8, True), abs=1e-5)


def test_attachment_is_checked() -> None:
    with pytest.raises(DefinitionError, match="attachment = 1 "):
        build(tree_arm(), "assumed_modes", attachment=1)
    assert len(build(tree_arm(), "assumed_modes", modes=0, attachment=True).coordinates) == 1


def tree_arm() -> Arm:
    return Arm("one", (Link(1.0, ALUMINIUM, Section(350e-6, 1e-8, 0.8864, 0.0106)),), (Joint(),))
