"""Equilibria by continuation: large deflections, random poses and loads, buckling; where linear plants are taken."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import flexctl as fx
from flexctl.__main__ import cli
from flexctl.linear import linearise
from flexctl.linear.operating import NotBalanced, carried, drives, rest_point, unbalanced
from flexctl.machine.arm import Arm, Joint, Link, Material, Section
from flexctl.model import OperatingPoint, names
from flexctl.models import build

STRIP = Link(1.0, Material(70e9, 2700.0), Section(1e-4, 1e-9))
MATTIASSON = {1.0: (0.30172, 0.05643), 3.0: (0.60325, 0.25442), 5.0: (0.71379, 0.38763), 10.0: (0.81061, 0.55500)}
"""F L^2 / E I: tip deflection across and along the undeformed beam [L], by elliptic integrals (Mattiasson 1981)."""
BEAMS: dict[str, dict[str, Any]] = {
    "timoshenko_planar": {"elements": 40}, "timoshenko_spatial": {"elements": 20}, "finite_segment": {"segments": 80},
    "ancf": {"elements": 40},
}


@pytest.mark.parametrize("load", MATTIASSON)
@pytest.mark.parametrize("kind", BEAMS)
def test_cantilever_under_a_tip_force_in_one_call(kind: str, load: float) -> None:
    """From the undeformed beam, without a guess; at any angle of the joint, the force turning with it."""
    model = build(Arm("elastica", (STRIP,), (Joint(),)), kind, **BEAMS[kind])
    across, along = MATTIASSON[load]
    for angle in (0.0, 2.0):
        force = load * STRIP.bending_stiffness * np.array([-np.sin(angle), np.cos(angle)])
        at = fx.equilibrium(
            model, hold={"joint1": angle}, load={"tip_force_x": float(force[0]), "tip_force_y": float(force[1])}
        )
        y = dict(zip(names(model.outputs), model.output(at.q, 0 * at.q, 0 * at.q, at.u), strict=True))
        turned = np.exp(1j * angle) * (1.0 - along + 1j * across)
        # ANCF of a strip this slender is the stiffest: 0.3 % with 40 elements
        allowed = 3e-3 if kind == "ancf" else 8e-4
        assert [y["tip_x"], y["tip_y"]] == pytest.approx([turned.real, turned.imag], abs=allowed)
        # what the joint carries is the moment of the tip force
        assert at.u[0] == pytest.approx(-(y["tip_x"] * force[1] - y["tip_y"] * force[0]), rel=1e-6)


def random_cases(plant: fx.Plant, count: int, seed: int) -> Any:
    """Yield poses and tip forces, up to P = F L^2 / E I = 10 with L the whole arm."""
    rng, joints = np.random.default_rng(seed), list(plant.model.joints.values())  # type: ignore[attr-defined]
    forces = [name for name in names(plant.model.inputs) if name.startswith("tip_force")]
    unit = plant.arm.links[-1].bending_stiffness / sum(link.length for link in plant.arm.links) ** 2
    closed = bool(plant.model.closures)
    for _ in range(count):
        angles = rng.uniform(-np.pi, np.pi, len(joints))
        if closed:  # a parallelogram of which the links must not meet
            angles = np.array([np.pi / 2, 0.0]) + angles / 4
        F = rng.normal(size=len(forces))
        F *= rng.uniform(0.0, 10.0) * unit / np.linalg.norm(F)
        yield dict(zip(joints, angles.tolist(), strict=True)), dict(zip(forces, F.tolist(), strict=True))


PLANTS: dict[str, dict[str, Any]] = {
    "planar_2r_flexible": {}, "spatial_3r": {"model.elements": 4},
    "planar_2r_flexible finite_segment": {"model.kind": "finite_segment"},
    "planar_2r_flexible ancf": {"model.kind": "ancf", "model.elements": 6},
    "ralf": {"joint.1.drive": "torque", "joint.2.drive": "torque"},
}


def check_random(name: str, count: int, seed: int) -> None:
    plant = fx.load_plant(name.split()[0], overrides=PLANTS[name])
    model = plant.model
    for hold, load in random_cases(plant, count, seed):
        at = fx.equilibrium(plant, hold=hold, load=load)
        assert unbalanced(model, at) is None
        assert {key: at.q[names(model.coordinates).index(key)] for key in hold} == hold
        assert [at.u[names(model.inputs).index(key)] for key in load] == list(load.values())
        # what grows out of the undeformed arm is stable: no other branch was fallen upon
        K = fx.lock(linearise(model, at), list(hold)).K
        assert np.linalg.eigvalsh(0.5 * (K + K.T)).min() > 0.0 or name == "spatial_3r"  # whose K is not symmetric


@pytest.mark.parametrize("name", PLANTS)
def test_random_poses_and_loads(name: str) -> None:
    check_random(name, 12, 3)


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANTS)
def test_a_hundred_random_poses_and_loads(name: str) -> None:
    check_random(name, 100, 1)


def test_what_buckles_is_refused_at_the_load_of_euler() -> None:
    """A column under 4 E I / L^2 along its axis: straight it cannot stand beyond pi^2 / 4 = 61.7 % of that."""
    model = build(Arm("column", (STRIP,), (Joint(),)), "timoshenko_planar", elements=20)
    with pytest.raises(fx.ConvergenceError, match=r"beyond 61\.[5-9]\d* % of the way .*it buckles"):
        fx.equilibrium(model, hold={"joint1": 0.0}, load={"tip_force_x": -4.0 * STRIP.bending_stiffness})
    # a push from the side decides where it goes
    load = {"tip_force_x": -4.0 * STRIP.bending_stiffness, "tip_force_y": 0.01 * STRIP.bending_stiffness}
    at = fx.equilibrium(model, hold={"joint1": 0.0}, load=load)
    assert model.output(at.q, 0 * at.q, 0 * at.q, at.u)[names(model.outputs).index("tip_y")] > 0.5


def test_wrong_arguments() -> None:
    arm = fx.load_plant("planar_2r_flexible")
    with pytest.raises(fx.DefinitionError, match='unknown input "tip_force_z"'):
        fx.equilibrium(arm, load={"tip_force_z": 1.0})
    with pytest.raises(fx.DefinitionError, match="a dict is not a mechanical model: give a Plant"):
        fx.equilibrium({})
    with pytest.raises(fx.DefinitionError, match='unknown driven joint of timoshenko_planar "joint3"'):
        rest_point(arm, {"joint3": 0.1})
    with pytest.raises(fx.DefinitionError, match="3 joint variables given; timoshenko_planar has 2"):
        rest_point(arm, [0.1, 0.2, 0.3])
    with pytest.raises(fx.DefinitionError, match="joint1_torque holds a joint"):
        rest_point(arm, load={"joint1_torque": 1.0})


# --- where linear plants are taken


def test_an_arm_is_taken_as_a_plant_or_as_its_model() -> None:
    """With what the plant is on record."""
    plant = fx.load_plant("planar_2r_flexible", overrides={"gravity.y": -9.81, "joint.2.angle": 0.4})
    found, own = fx.linearise(plant), plant.linearise()
    np.testing.assert_array_equal(found.K, own.K)
    assert found.provenance == own.provenance == plant.identity
    arm = plant.with_({"gravity.y": 0.0})
    np.testing.assert_array_equal(fx.steady_state(arm, (6.0, 0.0)).q, fx.steady_state(arm.model, (6.0, 0.0)).q)
    spinning = fx.spinning_plant(arm, (6.0, 0.0))
    np.testing.assert_array_equal(spinning.K, fx.spinning_plant(arm.model, (6.0, 0.0)).K)
    assert spinning.provenance["plant"] == "planar_2r_flexible"


@pytest.mark.parametrize(
    "call",
    [
        lambda x: fx.lock(x, ["joint1"]), lambda x: fx.modal_truncation(x, 4), fx.modal_bounds, fx.split_rigid,
        lambda x: fx.balanced_truncation(x, order=4), lambda x: fx.zero_order_hold(x, 0.01), fx.modes,
    ],
)
def test_a_plant_of_the_catalogue_stands_for_its_linear_one(call: Any) -> None:
    changes = {"model.elements": 2, "damping": {"kind": "modal", "ratio": 0.01}}
    arm = fx.load_plant("planar_2r_flexible", overrides=changes)
    one, two = (found if isinstance(found, tuple) else (found,) for found in (call(arm), call(arm.linearise())))
    assert one
    for a, b in zip(one, two, strict=True):
        assert type(a) is type(b)
        for name, value in (vars(a) if hasattr(a, "__dict__") else {}).items():
            if isinstance(value, np.ndarray):
                np.testing.assert_array_equal(value, getattr(b, name))
        if isinstance(a, np.ndarray):
            np.testing.assert_array_equal(a, b)


def soft(drive: str = "torque", **joint: float) -> Any:
    """Two soft links under gravity, posed askew."""
    joints = Joint(angle=0.3, drive=drive, **joint), Joint(angle=0.5, drive=drive, **joint)  # type: ignore[arg-type]
    return Arm("soft", (STRIP, STRIP), joints, gravity=(0.0, -9.81))


SOFT = ("timoshenko_planar", "timoshenko_spatial", "finite_segment", "ancf")


@pytest.mark.parametrize("kind", SOFT)
def test_default_plant_under_gravity_is_taken_in_equilibrium(kind: str) -> None:
    arm = soft()
    if kind == "timoshenko_spatial":  # its joints turn about z too, with gravity across
        arm = Arm("soft", arm.links, arm.joints, gravity=(0.0, -9.81, 0.0))
    model: Any = build(arm, kind)
    assert unbalanced(model, OperatingPoint.at_rest(model)) is not None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plant = linearise(model)
    point: Any = plant.operating_point
    assert unbalanced(model, point) is None
    np.testing.assert_allclose(point.q, model.rest([0.3, 0.5]), atol=1e-8)
    # the torques carry the weight beyond the joints, of the rigid arm but for what it bends towards the base
    rigid = model.rigid_torques([0.3, 0.5], [0.0, 0.0], [0.0, 0.0])
    assert point.u[:2] == pytest.approx(rigid, rel=0.05)
    assert point.u[0] > rigid[0]  # bent down, it reaches further out from 46 deg above the horizontal
    held = fx.lock(plant, ["joint1", "joint2"]).modes(1).frequencies_hz[0]
    with pytest.warns(NotBalanced, match=r"linearised where it is not at rest, [\d.]+ N"):
        before = linearise(model, OperatingPoint.at_rest(model))
    # angles as coordinates (segments) feel the weight's stiffness in any pose; the others need the axial forces
    assert abs(held / fx.lock(before, ["joint1", "joint2"]).modes(1).frequencies_hz[0] - 1.0) > (
        5e-4 if kind == "finite_segment" else 9e-3
    )


def test_frequencies_in_equilibrium_are_those_of_small_motions() -> None:
    """The nonlinear arm, plucked at rest under its weight, swings at the frequency of its linear plant."""
    model: Any = build(Arm("soft", (STRIP,), (Joint(angle=0.3, drive="motion"),), gravity=(0.0, -9.81)),
                       "timoshenko_planar", elements=8)
    plant = fx.lock(linearise(model), ["joint1"])
    f = plant.modes(1).frequencies_hz[0]
    at = rest_point(model)
    shape = np.zeros(at.q.size)
    shape[:] = plant.basis @ np.linalg.eig(np.linalg.solve(plant.K, plant.M))[1][:, 0].real  # type: ignore[operator]
    start = at.q + 1e-5 * shape / np.abs(shape).max()
    run = fx.simulate(model, duration=2.2 / f, step=5e-3 / f, initial=(start, np.zeros(start.size)))
    y = run["tip_y"] - model.output(at.q, 0 * at.q, 0 * at.q, at.u)[names(model.outputs).index("tip_y")]
    k = np.flatnonzero((y[:-1] > 0) != (y[1:] > 0))
    crossings = run.t[k] + (run.t[k + 1] - run.t[k]) * y[k] / (y[k] - y[k + 1])
    assert 0.5 / np.diff(crossings).mean() == pytest.approx(f, rel=2e-4)


SERVO = {"servo_stiffness": 50.0, "servo_damping": 1.0}


@pytest.mark.parametrize(("drive", "more"), [("torque", {}), ("servo", SERVO), ("motion", {})])
def test_one_rule_for_all_drives(drive: str, more: dict[str, float]) -> None:
    """Joints stand at their variables, and the arm is bent alike, whatever drives them."""
    model = build(soft(drive, **more), "timoshenko_planar", elements=8)
    held = build(soft(), "timoshenko_planar", elements=8)
    at, same = rest_point(model), rest_point(held)
    np.testing.assert_allclose(at.q, same.q, atol=1e-9)
    assert set(drives(model)) == {"joint1", "joint2"}
    assert unbalanced(model, at) is None
    if drive == "servo":  # the command leads by what the torque twists the spring
        commands = [at.u[names(model.inputs).index(f"joint{i}_command")] for i in (1, 2)]
        assert commands == pytest.approx([0.3 + same.u[0] / 50.0, 0.5 + same.u[1] / 50.0], rel=1e-8)
    if drive == "motion":
        assert not at.u.any()


def test_ralf_is_one_arm_with_any_drive() -> None:
    """7.830 Hz at the undeformed pose without closure forces; 7.83403 Hz in equilibrium."""
    changes = ({}, *({f"joint.{i}.drive": drive for i in (1, 2)} for drive in ("torque", "motion")))
    for overrides in changes:
        plant = fx.load_plant("ralf", overrides=overrides).linearise()
        held = fx.lock(plant, ["joint1", "joint2"])
        assert held.modes(1).frequencies_hz == pytest.approx([7.83403], rel=1e-6)
        assert not held.modes().real_poles.size


def test_without_gravity_the_reference_pose_is_kept_to_the_last_digit() -> None:
    for name in ("planar_2r_flexible", "spatial_rp", "tian_2r_beam", "tian_ancf_circle", "li_zhang_three_link"):
        plant = fx.load_plant(name)
        at = rest_point(plant)
        assert at.q.tolist() == plant.model.reference().tolist()
        assert not at.u.any()


def test_where_there_is_no_equilibrium_it_says_what_is_unbalanced() -> None:
    """A column of rho A g L^3 / E I = 14.5 cannot stand (7.837): it is linearised as it is, with a warning."""
    steep = Arm("column", (STRIP,), (Joint(angle=np.pi / 2),), gravity=(0.0, -30.0))
    long = Arm("column", (Link(5.0, STRIP.material, STRIP.section),), steep.joints, gravity=steep.gravity)
    model = build(long, "timoshenko_planar", elements=12)
    with pytest.raises(fx.ConvergenceError, match="buckles"):
        rest_point(model)
    with pytest.warns(NotBalanced, match="no equilibrium was found"):
        linearise(model)


def test_carried_takes_the_pose_as_it_is() -> None:
    plant = fx.load_plant("ralf", overrides={"joint.1.drive": "torque", "joint.2.drive": "torque"})
    at = rest_point(plant)
    again = carried(plant.model, at.q)
    np.testing.assert_allclose(again.lam, at.lam, rtol=1e-6, atol=1e-9)


# --- on the command line


def modes(*words: str) -> dict[str, Any]:
    result = CliRunner().invoke(cli, ["modes", *words, "--json"], standalone_mode=False)
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_modes_of_held_posed_loaded_and_spinning_arms() -> None:
    assert modes("planar_2r_flexible", "--hold", "joint1", "--lock", "joint2", "--count", "1")["frequencies_hz"] == (
        pytest.approx([3.808], abs=5e-4)
    )
    spun = modes("simo_vu_quoc_1986", "--spin", "6", "--hold", "all", "--count", "1")
    assert spun["frequencies_hz"] == pytest.approx([0.718], abs=5e-4)
    assert spun["joint_rates"] == [6.0]
    assert spun["held"] == ["joint1"]
    arm = fx.load_plant("planar_2r_flexible")
    at = fx.equilibrium(arm, hold={"joint1": 0.0, "joint2": np.radians(60)}, load={"tip_force_y": 5.0})
    wanted = fx.lock(arm.linearise(at), ["joint1", "joint2"]).modes(2).frequencies_hz
    words = ("--pose", "joint2=60deg", "--load", "tip_force_y=5", "--hold", "all", "--count", "2")
    found = modes("planar_2r_flexible", *words)
    assert found["frequencies_hz"] == pytest.approx(wanted, rel=1e-9)
    assert found["load"] == {"tip_force_y": 5.0}
    assert found["pose"] == pytest.approx({"joint2": np.radians(60)})
    every = modes("planar_2r_flexible", "--pose", "0,60deg", "--load", "tip_force_y=5", "--hold", "all", "--count", "2")
    assert every["frequencies_hz"] == pytest.approx(wanted, rel=1e-9)
    words = ("--pose", "joint1=0,joint2=60deg", "--load", "tip_force_y=5,tip_force_x=0", "--hold", "joint1,joint2")
    assert modes("planar_2r_flexible", *words, "--count", "2")["frequencies_hz"] == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("words", [
    ("--pose", "joint7=1"), ("--pose", "1,2,3"), ("--load", "tip_force_y"),
    ("--load", "tip_force_y=5", "--spin", "1,0"), ("--load", "tip_force_q=5"),
    ("--hold", "joint9"), ("--pose", "joint1=1", "--pose", "joint1=2"),
])
def test_wrong_points_are_refused(words: tuple[str, ...]) -> None:
    with pytest.raises(fx.DefinitionError):
        CliRunner().invoke(
            cli, ["modes", "planar_2r_flexible", *words], standalone_mode=False, catch_exceptions=False
        )


def test_bode_and_linearise_take_the_same_point(tmp_path: Any) -> None:
    words = ["planar_2r_flexible", "--pose", "joint2=60deg", "--hold", "joint1"]
    run = CliRunner().invoke(cli, ["linearise", *words, "-o", str(tmp_path / "bent.json")], standalone_mode=False)
    assert run.exit_code == 0, run.output
    saved: Any = fx.load_linear(tmp_path / "bent.json")
    assert "joint1" not in names(saved.coordinates)
    drawn = CliRunner().invoke(
        cli, ["bode", *words, "--input", "joint2_torque", "--output", "tip_x", "--points", "5", "--json"],
        standalone_mode=False,
    )
    data = json.loads(drawn.stdout)
    row, column = names(saved.outputs).index("tip_x"), names(saved.inputs).index("joint2_torque")
    wanted = saved.transfer(1j * np.array(data["omega_rad_s"]))[row, column]
    np.testing.assert_allclose(data["response"]["real"][0][0], wanted.real, rtol=1e-6, atol=1e-9 * np.abs(wanted).max())


# --- loops

TORQUES = {"joint.1.drive": "torque", "joint.2.drive": "torque"}


@pytest.mark.parametrize("degrees", [0.0, 5.0, -30.0, 60.0, 80.0, -80.0])
@pytest.mark.parametrize("drives_", [{}, TORQUES])
def test_ralf_stays_a_parallelogram(degrees: float, drives_: dict[str, str]) -> None:
    """Opposite links stay parallel: theta3 = theta2, theta4 = theta1; not -197 deg at 0, nor -5755 deg at 5."""
    model: Any = fx.load_plant("ralf", overrides={**drives_, "joint.2.angle": np.radians(degrees)}).model
    assert model.reference()[:4] == pytest.approx(np.radians([90.0, degrees, degrees, 90.0]), abs=2e-3)  # bent a little
    inner = getattr(model, "inner", model)
    assert np.degrees(inner.reference()[:4]) == pytest.approx([90.0, degrees, degrees, 90.0], abs=1e-9)


def test_ralf_in_random_poses() -> None:
    """Followed wherever links 1 and 2 do not meet on the way; refused beyond, where the loop could flip."""
    plant = fx.load_plant("ralf", overrides=TORQUES)
    model: Any = plant.model
    rng = np.random.default_rng(0)
    for _ in range(60):
        one, two = rng.uniform([0.0, -np.pi / 2], [np.pi, np.pi / 2])
        if 0.0 < one - two < np.pi:
            assert model.pose([one, two])[:4] == pytest.approx([one, two, two, one], abs=1e-9)
        else:
            with pytest.raises(fx.DefinitionError, match=r'closure "tail_[xy]" stays open by .* can be followed to'):
                model.pose([one, two])
    crossed = fx.load_plant("ralf", overrides={"joint.2.angle": 1.8})
    with pytest.raises(fx.DefinitionError, match=r"can be followed to \[1.5708, 1.5\d*\] rad only"):
        crossed.linearise()


def test_a_file_with_angles_that_do_not_close_is_closed_the_way_they_say() -> None:
    """Free joints 17 deg off: the loop closes to the same parallelogram; the mirror image of it is another arm."""
    plant = fx.load_plant("ralf", overrides=TORQUES)
    for off, wanted in ((0.3, 30.0), (-0.6, 30.0), (0.6, 136.2195)):
        joints = list(plant.arm.joints)
        joints[2], joints[3] = (replace(joints[i], angle=joints[i].angle + x) for i, x in ((2, off), (3, -off)))
        model: Any = build(replace(plant.arm, joints=tuple(joints)), "assumed_modes", **plant.options)
        assert np.degrees(model.reference()[2]) == pytest.approx(wanted, abs=1e-3)
    with pytest.raises(fx.DefinitionError, match="assembled has 1 joint angles for 4 joints"):
        replace(plant.arm, assembled=(0.0,))


def test_locked_frequencies_of_ralf_follow_its_pose() -> None:
    """12 to 21 % off on the wrong branch; they vary by 1 to 5 % over the poses of the arm."""
    home = fx.load_plant("ralf", overrides=TORQUES)
    found = []
    for degrees in (5.0, 0.0, -30.0):
        plant = fx.load_plant("ralf", overrides={**TORQUES, "joint.2.angle": np.radians(degrees)})
        found.append(fx.lock(plant.linearise(), ["joint1", "joint2"]).modes(3).frequencies_hz)
        posed = home.linearise(rest_point(home, {"joint2": np.radians(degrees)}))  # the same by another way
        assert fx.lock(posed, ["joint1", "joint2"]).modes(3).frequencies_hz == pytest.approx(found[-1], rel=1e-8)
    assert np.abs(found[1] / found[0] - 1.0).max() < 1e-3


def test_a_soft_chain_is_followed_through_its_large_turn() -> None:
    """Four slender tapered links swing round under P = 9: a step that is not quite solved has a wrong axial force.

    Against 4 x 300 rigid segments with springs between, assembled independently. It failed by rounding: the numbers
    are as they were drawn.
    """
    section, plastic = Section(0.00015394671732566885, 1.5172598590506042e-10), Material(3e9, 7800.0)
    lengths = (0.44805653982669114, 0.4607146903569347, 0.6790699328060597, 0.952764544268615)
    tapers = (0.7266952666227857, 0.6023298380431924, 0.8532639784146231, 1.0)
    links = tuple(
        fx.measured_link(x, material=plastic, section=section, taper=taper)
        for x, taper in zip(lengths, tapers, strict=True)
    )
    angles = (0.9566851763887065, -1.1875264362494926, -0.5978786505673384, -0.3438662561129693)
    model = build(Arm("chain", links, tuple(Joint(0.01, angle=x) for x in angles)), "timoshenko_planar")
    held = {f"joint{i + 1}": x for i, x in enumerate(angles)}
    at = fx.equilibrium(model, hold=held, load={"tip_force_x": -0.2430877, "tip_force_y": 0.37366367})
    y = dict(zip(names(model.outputs), model.output(at.q, at.v, at.a, at.u), strict=True))
    assert [y["tip_x"], y["tip_y"]] == pytest.approx([0.29422, 2.44938], abs=1.5e-3)


@pytest.mark.parametrize("hub", [0.0, 0.01])
@pytest.mark.parametrize("pose", [{"joint1": 0.3}, [0.3]])
def test_a_pose_of_finite_differences_is_the_angle_of_the_joint(hub: float, pose: Any) -> None:
    """Without a hub they have no such coordinate: a list was taken for the place of the first section, 19 rad off."""
    arm = Arm("one link", (STRIP,), (Joint(hub_inertia=hub),))
    model = build(arm, "finite_difference", sections=10)
    point = rest_point(model, pose)
    np.testing.assert_allclose(point.q[-10:], 0.03 * np.arange(1, 11), rtol=1e-10)
    np.testing.assert_allclose(linearise(model, pose=pose).K, linearise(model).K)
    motor = fx.Motor(gear_ratio=50.0, torque_constant=0.05, resistance=1.0)
    driven = build(replace(arm, joints=(Joint(hub_inertia=hub, drive="voltage", motor=motor),)), "finite_difference")
    np.testing.assert_allclose(rest_point(driven, pose).q[-1], 0.3, rtol=1e-10)


@pytest.mark.parametrize("turns", [1, 2])
@pytest.mark.parametrize("kind", ["timoshenko_planar", "timoshenko_spatial"])
def test_a_beam_rolls_up_into_whole_circles(kind: str, turns: int) -> None:
    """Where a section has turned by 2 pi rotation vectors have no stiffness: 6 and 7 rad were found, 2 pi not."""
    model = build(Arm("roll", (STRIP,), (Joint(),)), kind, elements=12 * turns)
    torque = next(name for name in ("tip_torque", "tip_torque_z") if name in names(model.inputs))
    given = {torque: 2.0 * np.pi * turns * STRIP.bending_stiffness}
    point = fx.equilibrium(model, hold={"joint1": 0.0}, load=given)
    tip = model.output(point.q, point.v, point.a, point.u)
    assert [tip[names(model.outputs).index(f"tip_{x}")] for x in "xy"] == pytest.approx([0.0, 0.0], abs=1e-9)


def test_modes_of_a_beam_that_has_turned_by_a_whole_circle_are_all_there() -> None:
    """A pair out of the plane was lost where the rotation vector of its end has no stiffness."""
    model = build(Arm("roll", (STRIP,), (Joint(hub_inertia=0.01),)), "timoshenko_spatial", elements=6)
    found = []
    for part in (0.999, 1.0):
        load = {"tip_torque_z": part * 2.0 * np.pi * STRIP.bending_stiffness}
        found.append(linearise(model, fx.equilibrium(model, hold={"joint1": 0.0}, load=load)).modes(4).frequencies_hz)
    np.testing.assert_allclose(found[1], found[0], rtol=0.005)
