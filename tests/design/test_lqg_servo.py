"""LQG that follows without an offset: whatever constant load acts on an arm, with torques and with valves."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import flexctl as fx
from flexctl.laws.given import feedback_of
from flexctl.linear.discrete import zero_order_hold
from flexctl.linear.interconnect import closed_loop
from flexctl.model import names

JOINTS = tuple(f"joint{i}" for i in (1, 2, 3))
ANGLES, TORQUES = (tuple(f"{joint}_{word}" for joint in JOINTS) for word in ("angle", "torque"))
POSE = [0.2, 0.7, -0.5]
WEIGHTS = fx.ServoWeights(
    penalty={**dict.fromkeys(ANGLES, 1.0), **{f"{joint}_rate": 1e-3 for joint in JOINTS}}, command=(1e-4, 1e-3, 1e-2),
    disturbance=1.0, noise=1e-7, load=1e-4,
)
BAR = fx.Section(area=300e-6, second_moment=9e-9, shear_factor=0.85, outer_distance=9e-3)
ALUMINIUM = fx.Material(density=2700.0, youngs_modulus=70e9, poisson_ratio=0.3)


@cache
def arm():
    """Three links, as no plant file has them."""
    links = tuple(fx.Link(length, ALUMINIUM, BAR) for length in (0.8, 0.6, 0.4))
    found = fx.Arm("own", links, (fx.Joint(),) * 3, damping=fx.Damping("rayleigh", beta=1e-4))
    return fx.build(found, "timoshenko_planar", elements=2)


@cache
def linear():
    return fx.linearise(arm(), fx.OperatingPoint.at_rest(arm(), arm().pose(POSE)))


@cache
def law(period: float = 1e-3):
    return fx.lqg_servo(
        linear(), WEIGHTS, measures=ANGLES, drives=TORQUES, follow=ANGLES, sample_time=period, limit=30.0
    )


def left(plant, design, loads, follow) -> np.ndarray:
    """Steady response of the followed outputs to constant loads, on the whole plant."""
    loop = closed_loop(zero_order_hold(plant, design.sample_time), feedback_of(design.linear))
    assert np.abs(loop.poles()).max() < 1.0
    columns, rows = ([names(of).index(name) for name in given] for of, given in
                     ((loop.inputs, loads), (loop.outputs, follow)))
    steady = loop.C @ np.linalg.solve(np.eye(len(loop.A)) - loop.A, loop.B) + loop.D
    return steady[np.ix_(rows, columns)]


def test_no_constant_load_leaves_anything_wherever_it_acts() -> None:
    forces = ("tip_force_x", "tip_force_y", "tip_torque")
    assert np.abs(left(linear(), law(), TORQUES + forces, ANGLES)).max() < 1e-8
    integral = fx.bryson(linear(), bandwidth=8.0, measures=ANGLES, drive=TORQUES, follow=ANGLES)
    other = fx.lqg(
        linear(), integral, modes=2, sample_time=1e-3, measures=ANGLES, drive=TORQUES, follow=ANGLES, limit=30.0
    )
    assert law().poles.real.max() < -3.0 < other.poles.real.max(), "an integral of the same arm takes seconds"


def test_the_nonlinear_arm_comes_back_from_loads_at_joints_and_tip() -> None:
    start = arm().pose(POSE)
    held = {name: fx.Step(at, at) for name, at in zip(ANGLES, POSE, strict=True)}
    for drive, size in (("joint2_torque", 2.0), ("tip_force_y", 1.0)):
        run = fx.simulate(
            arm(), law(), held, duration=2.5, inputs={drive: fx.PiecewiseConstant((0.1,), (0.0, size))},
            initial=(start, np.zeros(start.size)),
        )
        for name in ANGLES:
            off = np.abs(run[name] - run[name][0])
            assert off[-1] < 1e-3 * off.max() < 1e-4


def test_references_of_constant_acceleration_are_followed_exactly() -> None:
    """On the linear plant of the design, once the start has died out."""
    period = 1e-3
    plant, K = zero_order_hold(linear(), period), feedback_of(law(period).linear)
    rows = [names(plant.outputs).index(name) for name in ANGLES]
    columns = [names(plant.inputs).index(name) for name in TORQUES]
    design = law(period).law
    x, state, off = np.zeros(len(plant.A)), design.initial(), []
    assert K.dt == period
    for k in range(5000):
        t = period * k
        r = np.array([(a * t * t, 2 * a * t, 2 * a) for a in (1e-3, -2e-3, 3e-3)]).ravel()
        y = plant.C[rows] @ x
        off.append(np.abs(y - r[::3]).max())
        u, state = design.step(state, t, y, r)
        x = plant.A @ x + plant.B[:, columns] @ u
    assert off[-1] < 1e-6 * np.abs(r[::3]).max()


def test_valves_and_gauges_that_read_the_weight() -> None:
    script = fx.load_controller("ralf_disturbance")
    plant = fx.load_plant("ralf")
    design = script.design(plant)
    assert design.follows == (*script.ANGLES, *script.SERVO.STRAINS)
    whole = plant.with_(script.SERVO.SETTINGS).linearise()
    loads = (*script.VALVES, "tip_force_y")
    assert np.abs(left(whole, design, loads, script.ANGLES)).max() < 1e-9
    blind = fx.lqg_servo(
        whole, replace(script.WEIGHTS, bias=1e-30), measures=(*script.ANGLES, *script.SERVO.STRAINS),
        drives=script.VALVES, follow=script.ANGLES, sample_time=1e-3,
    )
    slow = blind.poles.real.max()
    assert slow > -0.1, "without the offset of a strain what a force does to it is not known for long"


def test_a_run_begins_without_a_jump_where_the_plant_rests() -> None:
    """RALF with its position loops closed rests at any angle with the command that belongs to it."""
    plant = fx.load_plant("ralf", overrides={"damping": {"kind": "modal", "ratio": 0.01}})
    angles, drives = ("joint1_angle", "joint2_angle"), ("joint1_command", "joint2_command")
    weights = fx.ServoWeights(dict.fromkeys(angles, 1.0), 0.1, 1e-5, 1e-9, 1e-8)
    design = fx.lqg_servo(
        plant.linearise(), weights, measures=angles, drives=drives, follow=angles, sample_time=1e-3
    )
    at = np.array([joint.angle for joint in plant.arm.joints[:2]])
    state = design.law.initial_at(at)
    for k in range(20):
        u, state = design.law.step(state, 1e-3 * k, at, np.kron(at, [1.0, 0.0, 0.0]))
        assert np.abs(u).max() < 1e-9


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"follow": "joint1_angle"}, "1 followed outputs for 3 inputs"), ({"measures": ANGLES[:2]}, "are not measured"),
        ({"follow": ("joint1_rate", *ANGLES[1:]), "measures": ("joint1_rate", *ANGLES)}, "cannot be held"),
        ({"weights": replace(WEIGHTS, load=0.0)}, "load"), ({"weights": replace(WEIGHTS, noise=(1.0, 2.0))}, "noise"),
        ({"weights": replace(WEIGHTS, penalty={})}, "nothing is penalised"),
        ({"drives": ("motor", *TORQUES[1:])}, "motor"),
    ],
)
def test_what_is_wrong_is_refused(change, told: str) -> None:
    given = {"measures": ANGLES, "drives": TORQUES, "follow": ANGLES, "sample_time": 1e-3, "weights": WEIGHTS}
    given |= change
    with pytest.raises(fx.DefinitionError, match=told):
        fx.lqg_servo(linear(), **given)
