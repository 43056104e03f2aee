"""The compiled steps of the spatial arm: those of the plain engine, and the analyses with commanded joints."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from numba import float64, types
from test_timoshenko_spatial import everything

import flexctl as fx
from flexctl.errors import ConvergenceError
from flexctl.kernels import state
from flexctl.kernels.engine import Plan, Stepper
from flexctl.kernels.jit import entry
from flexctl.kernels.schemes import Scheme, generalised_alpha, trapezoidal
from flexctl.kernels.tables import VEC, Record, Tables
from flexctl.laws.compiled import empty_law
from flexctl.laws.controller import LinearLaw
from flexctl.linear.equilibrium import accelerations
from flexctl.machine.arm import Arm, Damping, Joint, Link, Material, Payload, Section
from flexctl.model import index_of, names
from flexctl.models.timoshenko_planar import TimoshenkoPlanar
from flexctl.models.timoshenko_spatial import TimoshenkoSpatial
from flexctl.models.timoshenko_spatial.kernel.operations import EXACT
from flexctl.models.timoshenko_spatial.kernel.state import FORM
from flexctl.models.timoshenko_spatial.rigid import frames
from flexctl.motion.moves import Cycloid, Sine, Step, quintic
from flexctl.simulation.grid import commands

Array = npt.NDArray[Any]
RIGHT = 0.5 * math.pi
STEEL, SOFT = Material(207e9, 7850.0), Material(2e8, 1000.0)
TUBE = Section(915e-6, 1.08e-6, 0.5314)
FLAT = Section(915e-6, 1.08e-6, 0.5314, second_moment_y=4e-7, torsion_constant=9e-7)
TIGHT = generalised_alpha(tolerance=1e-15)
DAMPINGS = (Damping(), Damping("rayleigh", alpha=0.3, beta=1e-3), Damping("modal", ratio=0.05))


class Plainly(TimoshenkoSpatial):
    """The same arm on the plain engine."""

    own_stepper = False


def arm_3r(material: Material = STEEL, **tables: Any) -> Arm:
    """Post and two links of 1 m, one of them stiffer sideways."""
    links = (Link(0.0, material, TUBE, kink=0.5, twist=-RIGHT), Link(1.0, material, FLAT), Link(1.0, material, TUBE))
    return Arm("3R", links, tables.pop("joints", (Joint(), Joint(), Joint())), **tables)


def moving(model: TimoshenkoSpatial, rates: tuple[float, ...]) -> tuple[Array, Array]:
    q, v, _ = model.rigid_motion(model.arm.reference_joints, rates, [0.0] * len(rates))
    return q, v


def prepared(
    model: TimoshenkoSpatial, scheme: Scheme, q: Array, v: Array, steps: int, h: float,
    moves: Mapping[str, Any] | None = None,
) -> tuple[Stepper, Record]:
    """A stepper with nothing on its inputs, and its record."""
    p, n, ny, t = len(model.inputs), model.mesh.size, len(model.outputs), h * np.arange(steps + 1)
    nothing, none = np.zeros((steps + 1, p)), np.zeros((0, 0))
    tables = Tables(
        t, np.full(steps, h), np.full(steps + 1, -1, np.int64), nothing, nothing, np.zeros((steps, p)), none
    )
    record = Record(*(np.zeros((steps + 1, k)) for k in (ny, p, n, n)))
    gauge = state.gauge(np.zeros(ny, np.int64), np.zeros(ny, np.int64), 1.0)
    rows = {name: commands(name, motion, t, h) for name, motion in (moves or {}).items()}
    plan = Plan(tables, record, gauge, scheme, 0.0, False, rows)
    return model.stepper(q, v, np.zeros(p), plan, 0), record


# --- the plain model is the oracle


one_correction = EXACT.solve


@entry(types.UniTuple(float64, 2)(FORM, state.MOTION, VEC, float64, float64))
def corrected(form: Any, motion: Any, u: Any, ca: Any, cq: Any) -> Any:
    """One correction by ca M + cq K, of the acceleration (1, 0) or at rest (0, 1)."""
    return one_correction(form, motion, u, ca, 0.0, cq, True)


@pytest.mark.parametrize("turn", [0.07, 0.3])
@pytest.mark.parametrize("damping", DAMPINGS, ids=lambda d: d.kind)
def test_accelerations_are_those_of_the_model_in_any_motion(damping: Damping, turn: float) -> None:
    """Residual, mass matrix and its factors at once; small turns by power series, up to half a radian beyond them.

    The kernel is asked for them: an engine that was just made has none, since it looked at the jump with which the run
    begins and went back. What it read then are those filtered by its step, which a step of 1e-13 s does not do.
    """
    limp = Material(10.0, 1000.0)  # so that rates count
    for arm in (everything(damping), arm_3r(limp, damping=damping, gravity=(1.0, 2.0, -9.81))):
        model, rng = TimoshenkoSpatial(arm, elements=2), np.random.default_rng(1)
        q = model.reference()
        for part, size in ((slice(0, 3), 0.05), (slice(3, 6), turn)):
            q[model.mesh.node[1:, part]] += size * rng.normal(size=(model.mesh.length.size, 3))
        v = rng.normal(size=q.size)
        stepper, _ = prepared(model, TIGHT, q, v, 1, 1e-13)
        motion, u = stepper.motion, np.zeros(len(model.inputs))
        a, _ = accelerations(model, q, v, u, 0.0)
        scale = np.abs(a).max()
        np.testing.assert_allclose(stepper.measure(), model.output(q, v, a, np.zeros(1)), rtol=0, atol=1e-10 * scale)
        assert not motion.a.any()
        status, _ = corrected(stepper.form, motion, u, 1.0, 0.0)  # linear in accelerations: one correction finds them
        assert status == 0.0
        np.testing.assert_allclose(-motion.d[stepper.place], a, rtol=0, atol=1e-10 * scale)


@pytest.mark.parametrize("damping", DAMPINGS, ids=lambda d: d.kind)
@pytest.mark.parametrize("scheme", [TIGHT, trapezoidal(tolerance=1e-15)], ids=["generalised-alpha", "trapezoidal"])
def test_arm_that_has_everything_runs_as_on_the_plain_engine(damping: Damping, scheme: Scheme) -> None:
    """Slides, rigid kinks, bodies, servo, all sensors; its payload changes on the way."""
    arm = everything(damping)
    options: dict[str, Any] = {
        "duration": 0.03, "step": 2e-3, "scheme": scheme, "payload": [(0.015, 0.5, 0.01)], "record_states": True,
        "inputs": {"joint1_torque": Sine(3.0, 9.0), "joint4_force": Sine(2.0, 7.0), "joint3_command": Sine(0.1, 5.0)},
    }
    models = (kind(arm, elements=1) for kind in (TimoshenkoSpatial, Plainly))
    one, other = (fx.simulate(m, initial=moving(m, (0.5, 0.7, -0.4, -0.3)), **options) for m in models)
    for a, b in ((one.q, other.q), (one.v, other.v)):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-10)
    for i, signal in enumerate(other.outputs):
        atol = 1e-7 * max(1.0, float(np.abs(other.y[:, i]).max()))
        np.testing.assert_allclose(one.y[:, i], other.y[:, i], rtol=0, atol=atol, err_msg=signal.name)


def test_closed_loop_runs_as_on_the_plain_engine() -> None:
    """A sampled PD on a free joint of a soft arm, the other joints swinging; u jumps at every period."""
    law = LinearLaw(
        4e-3, ("joint2_angle", "joint2_rate"), ("joint2_torque",), ("joint2_angle",), Dy=[[-4.0, -0.6]],
        Dr=[[4.0, 0.6, 0.0]],
    )
    hub = Joint(hub_inertia=0.05)
    arm = arm_3r(SOFT, joints=(hub, hub, hub), gravity=(0.0, 0.0, -9.81))
    reference = {"joint2_angle": quintic(0.0, 0.3, 0.2)}
    one, other = (
        fx.simulate(kind(arm, elements=1), law, reference, duration=0.08, step=2e-3, scheme=TIGHT)
        for kind in (TimoshenkoSpatial, Plainly)
    )
    assert np.abs(other["joint2_torque"]).max() > 0.3
    for name in (*names(other.outputs)[:9], "joint2_torque"):
        np.testing.assert_allclose(one[name], other[name], rtol=0, atol=1e-9, err_msg=name)


def beyond(model: TimoshenkoSpatial, q: Array) -> Array:
    """Axis of each joint at the rotation coordinates of the nodes beyond it, n x J."""
    mesh, zero = model.mesh, np.zeros(model.mesh.joint.size)
    axis = frames(mesh, q[mesh.joint], zero, zero).axis
    turned = np.zeros((q.size, zero.size))
    for j, root in enumerate(mesh.root):
        for node in mesh.node[root + 1 :]:
            turned[node[3:], j] = axis[j]
    return turned


def commanded_plainly(
    model: TimoshenkoSpatial, moves: Mapping[str, Any], q: Array, v: Array, steps: int, h: float
) -> tuple[Array, Array]:
    """Coordinates and forces of commanded joints, by the scheme written out with their rows left out.

    Rotation vectors count from the rigid arm: they take up by how much the scheme misses the commanded angles. From
    rest, the accelerations jump to those for which the balance holds where they lead (see `kernels.stepper`).
    """
    driven = [index_of("coordinate", name, model.coordinates) for name in moves]
    free = np.setdiff1d(np.arange(q.size), driven)
    rows = np.array([commands(name, motion, h * np.arange(steps + 1), h) for name, motion in moves.items()])
    am, af, beta, gamma = TIGHT.alpha_m, TIGHT.alpha_f, TIGHT.beta, TIGHT.gamma
    cv, ca = gamma / (h * beta), (1.0 - am) / (h * h * beta * (1.0 - af))
    assert not v.any()
    a, u, there = np.zeros(q.size), np.zeros(len(model.inputs)), q.copy()
    a[driven] = rows[:, 3, 0]
    for _ in range(12):
        t = model.tangent(there, v, a, u, np.zeros(0))
        S = (t.mass + t.stiffness / ca)[np.ix_(free, free)]
        a[free] -= np.linalg.solve(S, (model.mass(there) @ a + model.force(there, v))[free])
        there[free] = q[free] + a[free] / ca
    shifted, states, torques = a.copy(), [q], [(model.mass(there) @ a + model.force(there, v))[driven]]
    for k in range(1, steps + 1):
        new, shifted_then, rates = (a - am * shifted) / (1.0 - am), shifted[driven].copy(), v[driven].copy()
        q = q + h * v + h * h * ((0.5 - beta) * shifted + beta * new)
        v, shifted = v + h * ((1.0 - gamma) * shifted + gamma * new), new
        now = shifted_then, states[-1][driven], rates
        shifted[driven] = ((1.0 - af) * rows[:, 2, k] + af * rows[:, 3, k - 1] - am * now[0]) / (1.0 - am)
        missed = now[1] + h * now[2] + h * h * ((0.5 - beta) * now[0] + beta * shifted[driven]) - rows[:, 0, k]
        slow = now[2] + h * ((1.0 - gamma) * now[0] + gamma * shifted[driven]) - rows[:, 1, k]
        q[driven], v[driven], a[driven] = rows[:, 0, k], rows[:, 1, k], rows[:, 2, k]
        turned = beyond(model, q)[:, [model.mesh.joint.tolist().index(i) for i in driven]]
        q, v = q + turned @ missed, v + turned @ slow
        for _ in range(12):
            t = model.tangent(q, v, a, u, np.zeros(0))
            S = (ca * t.mass + cv * t.damping + t.stiffness)[np.ix_(free, free)]
            d = np.linalg.solve(S, (model.mass(q) @ a + model.force(q, v))[free])
            q[free], v[free], a[free] = q[free] - d, v[free] - cv * d, a[free] - ca * d
            shifted[free] -= (1.0 - af) / (1.0 - am) * ca * d
            if np.abs(d).max() < 1e-13:
                break
        states.append(q.copy())
        torques.append((model.mass(q) @ a + model.force(q, v))[driven])
    return np.array(states), np.array(torques)


COMMANDED = {
    "slides and turns": ("joint1", "joint2", "joint3", "joint4"),
    "one slide, one joint": ("joint1", "joint4"),
    "one slide": ("joint2",),
}


@pytest.mark.parametrize("case", COMMANDED)
def test_commanded_joints_follow_and_show_their_force(case: str) -> None:
    torqued = tuple(Joint(**{**vars(j), "drive": "torque", "servo_stiffness": 0.0}) for j in everything().joints)
    arm = replace(everything(Damping("rayleigh", alpha=0.3)), joints=torqued)
    model = TimoshenkoSpatial(arm, elements=1)
    at, h, n = dict(zip(names(model.coordinates), model.reference(), strict=True)), 2e-3, 12
    moves = {name: Cycloid(at[name], at[name] + 0.02, 0.05) for name in COMMANDED[case]}
    q, v = moving(model, (0.0,) * 4)
    wanted, efforts = commanded_plainly(model, moves, q.copy(), v.copy(), n, h)
    stepper, record = prepared(model, TIGHT, q, v, n, h, moves)
    law, memory = empty_law()
    stepper.advance(law, memory, 0, n)
    np.testing.assert_allclose(record.q, wanted, rtol=0, atol=1e-10)
    acting = {coordinate: name for name, coordinate in model.joints.items()}
    for k, name in enumerate(moves):
        found = record.u[:, index_of("input", acting[name], model.inputs)]
        np.testing.assert_allclose(found, efforts[:, k], rtol=0, atol=1e-6 * np.abs(efforts).max(), err_msg=name)


# --- Newton


def servo_arm(case: str) -> tuple[TimoshenkoSpatial, tuple[float, ...], tuple[float, ...]]:
    """A soft arm on springs, the variables these pull to, and a load at the tip that bends it by half a radian."""
    if case == "plain":
        arm, stiffness, phi, load = arm_3r(Material(2e7, 1000.0)), (50.0, 50.0, 50.0), (0.3, 0.3, 0.3), (3.0, 4.0, 6.0)
    else:
        arm, stiffness, phi, load = crooked(2e7, "nonlinear").arm, (3e3, 1e5, 2e3), (0.3, 0.4, 0.3), (5.0, 7.0, 8.0)
    servos = (replace(j, drive="servo", servo_stiffness=k) for j, k in zip(arm.joints, stiffness, strict=True))
    arm = replace(arm, joints=tuple(servos), damping=Damping(), gravity=(0.0, 0.0, 0.0))
    return TimoshenkoSpatial(arm, elements=2), phi, load


@pytest.mark.parametrize("case", ["plain", "rigid kinks, bodies and a slide"])
def test_tangent_is_exact_at_rest(case: str) -> None:
    """Newton's corrections square themselves down to rounding: no geometric term of sections, joints, kinks lacks.

    Of the engine it needs the arrays only: a short step, so that no jump from springs let loose (0.4 m of 1e5 N/m) is
    solved to TIGHT, where corrections shrink to 0.24 each as the tangent lacks how M a changes with q.
    """
    model, phi, load = servo_arm(case)
    q = model.pose(phi)
    stepper, _ = prepared(model, TIGHT, q, 0.0 * q, 1, 1e-13)
    motion, place, u = stepper.motion, stepper.place, np.zeros(len(model.inputs))
    motion.a[:] = 0.0
    for i, x in enumerate(phi):
        u[index_of("input", f"joint{i + 1}_command", model.inputs)] = x

    def correct() -> float:
        status, size = corrected(stepper.form, motion, u, 0.0, 1.0)
        assert status == 0.0
        motion.q[:] -= motion.d
        return float(size)

    for part in np.linspace(0.05, 1.0, 20):
        u[-6:-3] = part * np.array(load)
        for _ in range(8):
            correct()
    assert np.abs(motion.q[place][model.mesh.node[1:, 3:]]).max() > 0.3
    assert np.abs(model.force(motion.q[place], 0.0 * q) - model.input_matrix(motion.q[place]) @ u).max() < 1e-9
    motion.q[place] += 1e-3 * np.random.default_rng(0).normal(size=q.size)
    sizes = [correct() for _ in range(8)]
    assert sizes[0] > 5e-3
    late = [(earlier, later) for earlier, later in pairwise(sizes) if earlier < 1e-5]
    assert len(late) >= 3
    assert all(later < 10.0 * earlier**2 + 2e-15 for earlier, later in late)


@pytest.mark.parametrize("case", ["held", "free", "kinks and bodies"])
def test_newton_decays_in_motion(case: str) -> None:
    """One long step of a soft arm: quadratically, down to what gyroscopic terms of light sections and bodies leave."""
    model = TimoshenkoSpatial(arm_3r(Material(2e7, 1000.0)), elements=2)
    if case == "kinks and bodies":
        model = crooked(2e7, "nonlinear")
        model = TimoshenkoSpatial(replace(model.arm, damping=Damping(), gravity=(0.0, 0.0, 0.0)), elements=2)
    moves = {} if case == "free" else {f"joint{i}": Step(0.3, 0.3) for i in (1, 2, 3)}
    q, v = model.pose((0.3, 0.3, 0.3)), np.zeros(model.mesh.size)
    v[model.mesh.node[1:, :3]] += np.array([0.0, 1.0, 1.6])
    law, memory, sizes = *empty_law(), []
    for iterations in range(1, 8):
        scheme = replace(trapezoidal(tolerance=1e-30), iterations=iterations)
        stepper, _ = prepared(model, scheme, q, v, 1, 5e-3, moves)
        with pytest.raises(ConvergenceError) as failed:
            stepper.advance(law, memory, 0, 1)
        assert failed.value.iteration == iterations
        sizes.append(failed.value.residual)
    assert sizes[0] > 0.01
    assert sizes[-1] < 1e-14
    assert all(later < 8.0 * earlier**2 + 2e-2 * earlier for earlier, later in pairwise(sizes[:-1]))


MOTIONS = {f"joint{i}": Cycloid(0.0, math.pi / 3, 1.0) for i in (1, 2, 3)}


def thesis_arm(elements: int = 8, **options: Any) -> TimoshenkoSpatial:
    arm = replace(fx.load_plant("spatial_3r").arm, gravity=(0.0, 0.0, 0.0), sensors=())
    return TimoshenkoSpatial(arm, elements=elements, **options)


def test_one_correction_per_step_is_enough() -> None:
    """The accepted correction leaves an error of its square: the run is that solved to rounding."""
    model = thesis_arm(4)
    runs = [
        fx.simulate(model, motions=MOTIONS, duration=1.0, scheme=generalised_alpha(0.9, tolerance=tolerance))
        for tolerance in (1e-10, 1e-14)
    ]
    assert max(np.abs(runs[0][f"tip_{x}"] - runs[1][f"tip_{x}"]).max() for x in "xyz") < 1e-10
    stepper, _ = prepared(model, generalised_alpha(0.9), *moving(model, (0.0, 0.0, 0.0)), 1000, 1e-3, MOTIONS)
    law, memory = empty_law()
    stepper.advance(law, memory, 0, 1000)
    assert stepper.counts["iterations"] / stepper.counts["steps"] < 1.05


@pytest.mark.parametrize("analysis", ["nonlinear", "linear"])
def test_joint_rates_that_are_fast_for_the_step_are_solved_to_the_tolerance(analysis: str) -> None:
    """10 rad/s by steps of 10 ms, heavy payload: gyroscopic terms are missing in the tangent, not in the result."""
    arm = arm_3r(payload=Payload(5.0, 2.0))
    moves = {f"joint{i}": Cycloid(0.0, 5.0, 1.0) for i in (1, 2, 3)}
    model = TimoshenkoSpatial(arm, elements=2, analysis=analysis)
    runs = [
        fx.simulate(model, motions=moves, duration=0.5, step=0.01, scheme=generalised_alpha(0.9, tolerance=tolerance))
        for tolerance in (1e-8, 1e-13)
    ]
    assert max(np.abs(runs[0][f"tip_{x}"] - runs[1][f"tip_{x}"]).max() for x in "xyz") < 1e-7


# --- analyses

SPOTS = {  # time: tip of an independent code [m], 1 ms; its elastic part, agreed with a third code to 0.1 % [mm]
    0.2: ((1.991032, 0.100293, 0.348853), (0.097, -1.193, 1.445)),
    0.5: ((1.182429, 0.684330, -0.865918), (-0.583, 1.317, 0.107)),
}


@pytest.mark.parametrize("analysis", ["nonlinear", "linear"])
def test_thesis_arm_without_gravity(analysis: str) -> None:
    """Within half a percent of the elastic displacement; the linear analysis is the independent code's own."""
    run = fx.simulate(thesis_arm(analysis=analysis), motions=MOTIONS, duration=0.6)
    for t, (tip, elastic) in SPOTS.items():
        k = int(np.argmin(np.abs(run.t - t)))
        allowed = 5e-3 * np.linalg.norm(elastic)
        found = [run[f"tip_{x}"][k] for x in "xyz"]
        np.testing.assert_allclose(found, tip, rtol=0, atol=1e-3 * allowed)
        error = [1e3 * run[f"tip_error_{x}"][k] for x in "xyz"]
        np.testing.assert_allclose(error, elastic, rtol=0, atol=allowed)


def planar_pair(analysis: str, **changes: Any) -> tuple[TimoshenkoSpatial, TimoshenkoPlanar]:
    joints = Joint(0.02, mass=1.0), Joint(0.01, mass=0.3, housing_inertia=0.02, rotor_inertia=0.01)
    arm = replace(
        fx.load_plant("planar_2r_rigid").arm, joints=joints, payload=Payload(0.2, 0.01), gravity=(1.0, -9.81), **changes
    )
    return TimoshenkoSpatial(arm, elements=4, analysis=analysis), TimoshenkoPlanar(arm, elements=4, analysis=analysis)


TURNS = {"joint1": Cycloid(0.1, 1.0, 1.0), "joint2": Cycloid(0.4, -0.5, 1.0)}


@pytest.mark.parametrize("damping", DAMPINGS, ids=lambda d: d.kind)
def test_planar_arm_is_the_planar_model_quasi_statically(damping: Damping) -> None:
    """Tip, sensors and torques, stiffened by its axial forces."""
    one, other = (
        fx.simulate(m, motions=TURNS, duration=1.2, step=5e-3) for m in planar_pair("quasi_static", damping=damping)
    )
    assert len(other.outputs) == 17
    for name in {*names(other.outputs), "joint1_torque", "joint2_torque"}:
        atol = 1e-8 * np.abs(other[name]).max() + 1e-12
        np.testing.assert_allclose(one[name], other[name], rtol=0, atol=atol, err_msg=name)


@pytest.mark.parametrize("damping", DAMPINGS, ids=lambda d: d.kind)
@pytest.mark.parametrize("analysis", ["nonlinear", "linear"])
def test_planar_arm_follows_commands_as_the_planar_model(analysis: str, damping: Damping) -> None:
    """Joints are exact and the rest is stepped, theta there and theta - phi here: the sections step alike."""
    one, other = (
        fx.simulate(m, motions=TURNS, duration=0.3, step=2e-3) for m in planar_pair(analysis, damping=damping)
    )
    for name in ("tip_x", "tip_y", "joint1_torque", "joint2_torque"):
        atol = 1e-8 * np.abs(other[name]).max()
        np.testing.assert_allclose(one[name], other[name], rtol=0, atol=atol, err_msg=name)


def crooked(stiffness: float, analysis: str, section: Section = FLAT) -> TimoshenkoSpatial:
    """Twists, rigid and flexible kinks, a slide, bodies; heavily damped, so that stiffness makes it follow."""
    tough = Material(stiffness, 1000.0)
    links = (
        Link(0.0, tough, TUBE, kink=0.3, kink_kind="rigid", twist=-1.0),
        Link(0.5, tough, section, kink=0.4, twist=0.7),
        Link(0.6, tough, section, kink=0.2, kink_kind="rigid", twist=0.3),
    )
    slide = Joint(0.03, mass=0.1, housing_inertia=0.02, kind="prismatic")
    joints = (Joint(0.05, mass=0.2), slide, Joint(0.02, mass=0.1))
    arm = Arm(
        "crooked", links, joints, Payload(0.3, 0.02), Damping("rayleigh", beta=2e-3), gravity=(1.0, 2.0, -9.81)
    )
    return TimoshenkoSpatial(arm, elements=2, analysis=analysis)
