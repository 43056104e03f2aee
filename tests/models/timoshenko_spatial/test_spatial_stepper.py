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
from test_planar_motion import Turning
from test_timoshenko_spatial import everything

import flexctl as fx
from flexctl.errors import ConvergenceError, DefinitionError, NotAvailable
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
from flexctl.models.timoshenko_spatial.rigid import axial_forces, frames
from flexctl.motion.moves import Cycloid, PiecewiseConstant, Sine, Step, bang_bang, quintic
from flexctl.motion.profiles import SpinUp
from flexctl.simulation.grid import commands
from flexctl.testing.differences import assert_same, order

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


BENDING = {"joint1": quintic(0.3, 1.5, 0.3), "joint2": quintic(0.4, 0.6, 0.3), "joint3": quintic(0.1, -0.9, 0.3)}


def apart(stiffness: float, one: str, other: str, section: Section = FLAT) -> tuple[float, float, float]:
    """Largest tip error, and how far two analyses differ: tip, and efforts relative to the largest."""
    options = {"motions": BENDING, "duration": 0.4, "step": 1e-3, "scheme": generalised_alpha(0.6)}
    run, wanted = (
        fx.simulate(crooked(stiffness, x, section), **options)
        for x in (one, other)
    )
    tip = max(float(np.abs(run[f"tip_{x}"] - wanted[f"tip_{x}"]).max()) for x in "xyz")
    efforts = ("joint1_torque", "joint2_force", "joint3_torque")
    force = max(float(np.abs(run[x] - wanted[x]).max() / np.abs(wanted[x]).max()) for x in efforts)
    return max(float(np.abs(wanted[f"tip_error_{x}"]).max()) for x in "xyz"), tip, force


def test_linear_analysis_is_the_nonlinear_one_to_first_order() -> None:
    """Four times stiffer: a quarter of the deformation, a sixteenth of what the linear analysis misses."""
    soft, stiff = apart(16e9, "linear", "nonlinear"), apart(64e9, "linear", "nonlinear")
    assert soft[0] / stiff[0] == pytest.approx(4.0, rel=0.1)
    assert 5e-3 < soft[0] < 1e-2
    assert soft[1] / stiff[1] > 14.0
    assert soft[1] < 5e-3 * soft[0]
    assert soft[2] / stiff[2] > 3.0
    assert stiff[2] < 2e-3


def test_linear_analysis_has_the_rotary_inertia_to_first_order() -> None:
    """Sections with a radius of gyration of 0.3 m in fast turns: spin, and its change by the deformation."""
    heavy = Section(900e-6, 8e-5, 0.5314, second_moment_y=2e-5)
    soft, stiff = apart(16e9, "linear", "nonlinear", heavy), apart(64e9, "linear", "nonlinear", heavy)
    assert soft[1] / stiff[1] > 14.0
    assert soft[1] < 5e-3 * soft[0]


def test_axial_forces_are_those_of_the_rigid_arm() -> None:
    """Of bodies, rigid kinks, and what slides, with its Coriolis force, in the linear analysis."""
    model, h, n = crooked(64e9, "linear"), 1e-3, 150
    rows = np.array([commands(name, m, h * np.arange(n + 1), h)[[0, 1, 2], n] for name, m in BENDING.items()])
    stepper, _ = prepared(model, TIGHT, *model.start({k: [float(x) for x in m(0.0)[:2]] for k, m in BENDING.items()}),
                          n, h, BENDING)
    law, memory = empty_law()
    stepper.advance(law, memory, 0, n)
    q, v, a = model.rigid_motion(*rows.T)
    rigid = model.mass(q) @ a + TimoshenkoSpatial(replace(model.arm, damping=Damping()), elements=2).force(q, v)
    wanted = axial_forces(model.mesh, rigid, rows[:, 0])
    assert np.abs(wanted).min() > 1.0
    np.testing.assert_allclose(stepper.form.work.pull, wanted, rtol=0, atol=1e-6 * np.abs(wanted).max())


def test_quasi_static_analysis_is_what_a_stiff_damped_arm_does() -> None:
    """Four times stiffer: a sixteenth of the inertia of the deformation, a quarter of its damping."""
    soft, stiff = apart(16e9, "quasi_static", "linear"), apart(64e9, "quasi_static", "linear")
    assert soft[1] / stiff[1] > 6.0
    assert stiff[1] < 0.15 * stiff[0]


def test_quasi_static_arm_that_stays_is_at_rest() -> None:
    model = crooked(1e9, "quasi_static")
    phi = (0.5, 0.45, -0.3)
    moves = {f"joint{i}": Step(x, x) for i, x in enumerate(phi, 1)}
    run = fx.simulate(model, motions=moves, duration=0.01, record_states=True)
    assert run.q is not None
    still = model.rest(phi)
    sag = np.abs(still - model.pose(phi)).max()
    np.testing.assert_allclose(run.q[-1], still, rtol=0, atol=2e-3 * sag)
    efforts = [run[name][-1] for name in ("joint1_torque", "joint2_force", "joint3_torque")]
    held = model.rigid_torques(phi, (0.0,) * 3, (0.0,) * 3)  # statically determinate
    np.testing.assert_allclose(efforts, held, rtol=0, atol=0.05 * np.abs(held).max())
    bare = TimoshenkoSpatial(model.arm, elements=2, analysis="quasi_static", stiffening=False)
    run = fx.simulate(bare, motions=moves, duration=0.01, record_states=True)
    assert run.q is not None
    np.testing.assert_allclose(run.q[-1], bare.rest(phi), rtol=0, atol=2e-3 * sag)


def test_linear_spin_needs_the_stiffening() -> None:
    """A soft bar about a vertical axis at three times its frequency: it stands only with its centrifugal force."""
    bar = Link(1.0, Material(2e9, 1000.0), Section(1e-4, 1e-9))
    arm = Arm("spun", (replace(bar, twist=0.0),), (Joint(),))
    spin = {"joint1": SpinUp(40.0, 8.0)}
    lifted = {"tip_force_z": PiecewiseConstant((8.0,), (0.0, 0.05))}
    runs = [
        fx.simulate(TimoshenkoSpatial(arm, elements=4, analysis=x), motions=spin, duration=8.5, inputs=lifted)
        for x in ("nonlinear", "linear")
    ]
    assert runs[0]["tip_z"].max() > 1e-3
    assert np.abs(runs[1]["tip_z"] - runs[0]["tip_z"]).max() < 0.02 * runs[0]["tip_z"].max()
    bare = TimoshenkoSpatial(arm, elements=4, analysis="linear", stiffening=False)
    with pytest.raises(ConvergenceError, match="diverged"):
        fx.simulate(bare, motions=spin, duration=8.5)


def test_post_that_spins_about_itself_whirls_in_the_linear_analysis_too() -> None:
    """A stout post at 60 rad/s, pushed sideways: rotary inertia, its gyroscopic moments first of all, bends it.

    Both analyses take the same steps: by rtol each would choose its own, and differ by what rtol allows.
    """
    post = Link(0.0, Material(1e6, 1000.0), Section(0.01, 1e-4), kink=0.5)
    spin = {"joint1": Turning(60.0)}
    push = {"tip_force_x": bang_bang(1e-3, 0.1)}
    runs = {
        name: [
            fx.simulate(
                TimoshenkoSpatial(
                    Arm("post", (post,), (Joint(),)), elements=3, analysis=analysis, stiffening=analysis == "nonlinear"
                ),
                motions=motions, duration=0.5, step=1e-3, inputs=push,
            )
            for analysis in ("nonlinear", "linear")
        ]
        for name, motions in (("spinning", spin), ("still", {"joint1": Step(0.0, 0.0)}))
    }
    one, other = runs["spinning"]
    largest = np.abs(one["tip_x"]).max()
    assert np.abs(one["tip_y"]).max() > 0.03 * largest
    assert np.abs(runs["still"][0]["tip_y"]).max() < 1e-6 * largest
    for x in ("tip_x", "tip_y"):
        np.testing.assert_allclose(other[x], one[x], rtol=0, atol=1e-4 * largest)


# --- energy, payload, refusals


def test_free_arm_in_space_keeps_its_energy_at_second_order() -> None:
    model = TimoshenkoSpatial(arm_3r(SOFT, gravity=(0.0, 0.0, -9.81)), elements=2)
    start = moving(model, (0.5, -1.0, 1.5))

    def drift(step: float) -> float:
        run = fx.simulate(
            model, duration=0.3, step=step, scheme=trapezoidal(), initial=start, record_states=True
        )
        energy = np.array([model.energy(q, v) for q, v in zip(run.q[::20], run.v[::20], strict=True)])  # type: ignore[index]
        assert np.ptp(energy, axis=0).min() > 0.5
        return float(np.abs(energy.sum(axis=1) - energy[0].sum()).max())

    errors = [drift(h) for h in (5e-4, 2.5e-4, 1.25e-4)]
    assert errors[-1] < 1e-3
    assert order(errors).min() > 1.8


def test_payload_taken_on_the_way() -> None:
    """Joints commanded all along: before the change as without it, afterwards not.

    By steps of one length: those chosen by rtol depend on the range of the outputs, which the payload changes.
    """
    model = thesis_arm(3)
    runs = [fx.simulate(model, motions=MOTIONS, duration=1.5, step=1e-3, payload=p) for p in ((), [(0.8, 5.0, 0.0)])]
    early = runs[0].t < 0.799
    assert_same(*(replace(r, t=r.t[early], y=r.y[early], u=r.u[early]) for r in runs), tolerance=1e-13)
    assert np.abs(runs[0]["tip_z"] - runs[1]["tip_z"]).max() > 1e-4


def test_linear_analyses_need_every_joint_commanded_and_no_controller() -> None:
    with pytest.raises(DefinitionError, match="joint2 has no command"):
        fx.simulate(thesis_arm(1, analysis="linear"), motions={"joint1": MOTIONS["joint1"]}, duration=0.1)
    law = LinearLaw(1e-3, ("tip_x",), ("tip_force_x",), Dy=[[1.0]])
    with pytest.raises(NotAvailable, match="no rates for a controller"):
        fx.simulate(thesis_arm(1, analysis="quasi_static"), law, motions=MOTIONS, duration=0.1)


@pytest.mark.parametrize("analysis", ["nonlinear", "linear", "quasi_static"])
def test_slide_that_is_commanded_into_its_guide_is_refused(analysis: str) -> None:
    model = TimoshenkoSpatial(fx.load_plant("spatial_rp").arm, elements=2, analysis=analysis)
    moves = {"joint1": Step(0.0, 0.0), "joint2": Cycloid(0.5, -0.1, 0.5)}
    with pytest.raises(ConvergenceError, match=r"joint2 .* retracted .* at t = 0\.3\d* s.* above 0") as caught:
        fx.simulate(model, motions=moves, duration=0.5)
    assert 0.3 < caught.value.time < 0.4


def test_divergence_names_time_and_step() -> None:
    law = LinearLaw(1e-2, ("joint1_rate",), ("joint1_torque",), Dy=[[5e4]])
    with pytest.raises(ConvergenceError, match=r"t = .*(smaller step|diverged)") as caught:
        fx.simulate(thesis_arm(1), law, duration=2.0, inputs={"joint1_torque": bang_bang(1.0, 0.1)})
    assert math.isfinite(caught.value.time)
