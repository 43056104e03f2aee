"""Loads among the estimated states of the LQG, and the observer by itself.

Numbers of the 0.96 m arm are those of an independent sampled model with 41 modes; the rest is checked by stepping the
filter beside the whole plant.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import flexctl as fx
from flexctl.design.lqg import LqgWeights, lqg
from flexctl.judging.certify.loops import examine
from flexctl.judging.variations import changed
from flexctl.laws.controller import bare
from flexctl.linear.discrete import zero_order_hold
from flexctl.linear.interconnect import closed_loop
from flexctl.model import names

SETTINGS = {
    "model.sections": 40, "damping": {"kind": "modal", "ratio": 0.01},
    "sensor": [{"name": "root_curvature", "kind": "curvature", "position": 0.0},
               {"name": "tip_acceleration", "kind": "acceleration", "position": 0.96}],
}
ENCODER = (2 * np.pi / 2**20) ** 2 / 12  # rad^2, 20 bits


@cache
def arm(mass: float = 0.01, change: float = 0.0):
    plain = fx.load_plant("tokhi_azad_1994", overrides=SETTINGS)
    return plain.with_(overrides=changed(plain, mass, change))


@cache
def linear(mass: float = 0.01, change: float = 0.0):
    return arm(mass, change).linearise()


@cache
def law(name: str = "disturbance"):
    return fx.load_controller(f"tokhi_azad_{name}").design(fx.load_plant("tokhi_azad_1994"))


@pytest.mark.parametrize(
    ("mass", "change", "disk"), [(0.0, 0.0, 0.386), (0.01, 0.0, 0.415), (0.02, 0.0, 0.425), (0.0, 0.05, 0.254)]
)
def test_margins_and_the_slowest_pole(mass: float, change: float, disk: float) -> None:
    found = examine(linear(mass, change), law().linear)
    assert found.smallest("disk_margin") == pytest.approx(disk, rel=0.01)
    assert found.decay > 5.0


@pytest.mark.parametrize("mass", [0.0, 0.01, 0.02])
def test_a_load_is_gone_in_a_quarter_of_a_second_and_the_integral_takes_seconds(mass: float) -> None:
    """0.05 N m at the hub; back within 0.1 % of 5 deg."""
    hold = {"chord1_angle": fx.Step(0.0, 0.0)}
    load = {"joint1_torque": fx.PiecewiseConstant((0.1,), (0.0, 0.05))}
    wanted = {0.0: (0.49e-3, 0.24), 0.01: (0.43e-3, 0.20), 0.02: (0.38e-3, 0.21)}[mass]
    back = {}
    for name in ("disturbance", "lqg"):
        run = fx.simulate(arm(mass), law(name), hold, duration=2.0, inputs=load, method="march")
        back[name] = fx.settling_time(run.t, run["chord1_angle"], 1e-3 * np.radians(5.0)) - 0.1
        if name == "disturbance":
            assert np.abs(run["chord1_angle"]).max() == pytest.approx(wanted[0], rel=0.05)
    assert back["disturbance"] == pytest.approx(wanted[1], rel=0.05)
    assert back["lqg"] > 1.5


def gain_of_loads(plant, design, drives, follows) -> np.ndarray:
    """Steady response of followed outputs to constant loads, on the whole plant."""
    loop = closed_loop(zero_order_hold(plant, design.sample_time), design.linear.feedback())
    assert np.abs(loop.poles()).max() < 1.0
    columns = [names(loop.inputs).index(name) for name in drives]
    rows = [names(loop.outputs).index(name) for name in follows]
    steady = loop.C @ np.linalg.solve(np.eye(len(loop.A)) - loop.A, loop.B) + loop.D
    return steady[np.ix_(rows, columns)]


def test_loads_at_two_joints_leave_nothing() -> None:
    script = fx.load_controller("planar_2r_scheduled")
    plant = fx.load_plant(script.PLANT).with_(script.SETTINGS, payload={"mass": 0.25})
    at = script.at(plant, np.radians(50.0))
    weights = replace(script.WEIGHTS, integral=0.0, load=(1e-4, 1e-4))
    options = {"modes": 2, "sample_time": script.SAMPLE_TIME, "measures": script.JOINTS, "drive": script.TORQUES,
               "follow": script.JOINTS}
    for given, size in ((weights, 1e-6), (replace(weights, integral=script.WEIGHTS.integral, load=0.0), 1e-6)):
        design = lqg(at, given, **options)
        steady = gain_of_loads(at, design, script.TORQUES, script.JOINTS)
        assert np.abs(steady).max() < size * 1e-3
    nothing = lqg(at, replace(weights, load=(1e-12, 1e-12)), **options)  # hardly estimated: it gives way for long
    assert nothing.poles.real.max() > -0.1


def test_a_load_elsewhere_needs_an_integral_of_the_tip() -> None:
    """A force at the tip bends the arm in a way that a load at the hub does not: the docstring says so."""
    mass, force = 0.01, 0.05
    tip = fx.load_plant("tokhi_azad_1994", overrides=SETTINGS).with_(payload={"mass": mass}).linearise()
    row = tip.Cq[names(tip.outputs).index("tip_displacement")]
    pushed = replace(tip, B=np.column_stack([tip.B, row]), inputs=(*tip.inputs, fx.Signal("tip_force", "N")),
                     Du=np.zeros((len(tip.outputs), 2)))
    left = [force * gain_of_loads(pushed, law(name), ["tip_force"], ["chord1_angle"])[0, 0]
            for name in ("disturbance", "lqg")]
    assert abs(left[0]) > 1e-4
    assert abs(left[1]) < 1e-9


@pytest.mark.parametrize(
    "change", [{"load": 0.0}, {"integral": 0.1}, {"load": -1e-4}, {"load": (1e-4, 1e-4)}, {"load": (1e-4, 0.0)}]
)
def test_one_way_to_hold_against_loads_and_no_other(change) -> None:
    weights = replace(law().assumptions["weights"], **change)
    with pytest.raises(fx.DefinitionError, match=r"load"):
        lqg(linear(), weights, modes=3, sample_time=1e-3, measures=("joint1_angle", "chord1_angle"),
            drive="joint1_torque", follow="chord1_angle")


def hub_and_strain(**options):
    return fx.observer(
        linear(), modes=3, measures=("joint1_angle", "root_curvature"), drive="joint1_torque", estimates="chord1_angle",
        sample_time=1e-3, noise=(ENCODER, 1e-8), load=1e-6, **options
    )


@cache
def moved(mass: float, change: float = 0.0):
    return fx.simulate(
        arm(mass, change), law("lqg"), fx.quintic(0.0, np.radians(5.0), 0.4), duration=0.8, method="march"
    )


def test_the_tip_from_hub_and_strain() -> None:
    """Largest error in mm; hub and strain are three times better than hub alone where the payload is wrong."""
    strain = hub_and_strain()
    alone = fx.observer(
        linear(), modes=3, measures="joint1_angle", drive="joint1_torque", estimates="chord1_angle", sample_time=1e-3,
        noise=ENCODER, load=1e-6,
    )

    def error(found, *variant) -> float:
        return 960 * found.over(moved(*variant)).errors["chord1_angle"]

    assert error(strain, 0.01) < 0.2
    assert max(error(strain, mass) for mass in (0.0, 0.02)) < 1.35
    assert error(strain, 0.0, 0.05) < 1.4
    assert error(alone, 0.0) > 3 * error(strain, 0.0)


def test_the_static_remainder_of_the_other_modes_is_what_makes_strain_useful() -> None:
    """84 % of the static curvature are in three modes; without the rest the estimate is worse with the right one."""
    found = hub_and_strain()
    static = -0.26818  # 1/m per N m at the root
    three = static - found.model.R[1, 0]
    assert three / static == pytest.approx(0.8388, abs=1e-3)
    without = replace(found, model=replace(found.model, R=0.0 * found.model.R))
    errors = [f.over(moved(0.01)).errors["chord1_angle"] for f in (found, without)]
    assert errors[1] > 3 * errors[0]


def test_the_filter_as_a_system_and_step_by_step() -> None:
    found, run = hub_and_strain(), moved(0.02)
    told = found.over(run)
    system = found.system
    k = np.arange(0, told.t.size)
    y = np.column_stack([np.interp(told.t, run.t, run[n]) for n in ("joint1_angle", "root_curvature")])
    held = np.concatenate([[0.0], np.interp(told.t[:-1] + 0.5e-3, run.t, run["joint1_torque"])])
    x, rows = np.zeros(len(system.A)), []
    for i in k:
        given = np.array([*y[i], held[i]])
        rows.append(system.C @ x + system.D @ given)
        x = system.A @ x + system.B @ given
    # the march records steps within the period, over which the torque is held
    np.testing.assert_allclose(np.array(rows)[:, 0], told["chord1_angle"], rtol=0, atol=2e-5)
    assert np.abs(np.linalg.eigvals(system.A)).max() < 1.0


def test_the_innovation_is_white_noise_on_the_plant_of_the_design() -> None:
    """With the noise of the design the estimate is as far off as the filter says, by its own variance."""
    found = hub_and_strain()
    plant = zero_order_hold(linear().first_order(modes=4), 1e-3)
    rows = [names(plant.outputs).index(n) for n in ("joint1_angle", "root_curvature", "chord1_angle")]
    rng = np.random.default_rng(5)
    x, state, off = np.zeros(len(plant.A)), np.zeros(len(found.model.A)), []
    for _ in range(20000):
        y = plant.C[rows] @ x
        noise = rng.standard_normal(2) * np.sqrt(found.noise)
        estimate, _, state = found.step(state, y[:2] + noise, np.zeros(1))
        off.append(estimate[0] - y[2])
    assert np.std(off[2000:]) == pytest.approx(found.deviations["chord1_angle"], rel=0.15)


def test_no_torque_within_the_limit_does_worse_than_the_bound() -> None:
    found, plant = hub_and_strain(), linear(0.02)
    bound = found.error_bound(plant, 0.3)["chord1_angle"]
    A, B, C, _ = found._error_system(plant)
    h, x = [], B[:, 0]
    for _ in range(8000):
        h.append((C @ x)[0])
        x = A @ x
    worst = 0.3 * np.sign(h[::-1])  # the torque that is worst at the end
    assert np.convolve(h, worst)[7999] == pytest.approx(bound, rel=0.01)
    assert found.over(moved(0.02)).errors["chord1_angle"] < bound
    undamped = fx.load_plant("tokhi_azad_1994", overrides={**SETTINGS, "damping": {"kind": "none"}}).linearise()
    with pytest.raises(fx.ConvergenceError, match="does not decay"):
        found.error_bound(undamped, 0.3, longest=5.0)


def test_an_accelerometer_is_read_with_what_it_feeds_through() -> None:
    """Innovations vanish on the plant of the design, all of whose modes the filter knows."""
    plant = linear().first_order(modes=4)
    assert plant.D.any()
    found = fx.observer(
        linear(), modes=10, measures=("joint1_angle", "tip_acceleration"), drive="joint1_torque",
        estimates=("chord1_angle",), sample_time=1e-3, noise=(ENCODER, 2.5e-3),
    )
    told = found.over(fx.simulate(arm(), inputs={"joint1_torque": fx.Sine(0.05, 2.0)}, duration=0.6))
    assert told.errors["chord1_angle"] < 2e-4
    assert np.abs(told["innovation:tip_acceleration"]).max() < 0.05 * np.abs(
        np.gradient(np.gradient(told["truth:chord1_angle"], 1e-3), 1e-3)).max()


def test_estimates_are_a_table_and_a_picture(tmp_path) -> None:
    told = hub_and_strain().over(moved(0.0))
    path = told.save(tmp_path / "estimates.csv")
    assert path.read_text().splitlines()[0].startswith("time [s],chord1_angle [rad],truth:chord1_angle [rad]")
    figure = fx.plot.estimates(told, path=tmp_path / "estimates.png")
    assert len(figure.axes) == 5
    assert told["load:joint1_torque"].shape == told.t.shape
    with pytest.raises(fx.DefinitionError, match="unknown estimate"):
        told["tip_displacement"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"modes": 60}, "modes = 60"), ({"noise": (1e-9,) * 3}, "3 numbers for noise"), ({"noise": 0.0}, "positive"),
        ({"load": -1.0}, "load"), ({"measures": "hub"}, "output"), ({"disturbance": -1.0}, "disturbance"),
    ],
)
def test_what_is_wrong_is_refused(change, told: str) -> None:
    options = {"modes": 3, "measures": ("joint1_angle", "root_curvature"), "drive": "joint1_torque",
               "estimates": "chord1_angle", "sample_time": 1e-3, "noise": (ENCODER, 1e-8)}
    with pytest.raises(fx.DefinitionError, match=told):
        fx.observer(linear(), **{**options, **change})


def test_an_lqg_knows_the_remainder_too() -> None:
    """The law holds the same filter: with the same variances it predicts the same readings."""
    weights = LqgWeights(rate=4e-5, energy=6e-5, integral=0.0, command=6e-5, disturbance=1.0, noise=(ENCODER, 1e-8),
                         load=1e-6)
    options = {"modes": 3, "sample_time": 1e-3, "measures": ("joint1_angle", "root_curvature"),
               "drive": "joint1_torque", "follow": "chord1_angle"}
    inner, found = bare(lqg(linear(), weights, remainder=True, **options)).law, hub_and_strain()
    rng = np.random.default_rng(0)
    state, own, sent = inner.initial(), np.zeros(len(found.model.A)), [0.0, 0.0]
    for _ in range(50):  # what the law sends at a sample acts after the next one, and is seen after the one then
        y = 1e-3 * rng.standard_normal(2)
        _, _, own = found.step(own, y, np.array([sent[0]]))
        u, state = inner.step(state, 0.0, y, np.zeros(3))
        sent = [sent[1], float(u[0])]
        ahead = found.model.A @ own + found.model.B @ [sent[0]]
        np.testing.assert_allclose(state[: len(ahead)], ahead, rtol=1e-6, atol=1e-10)


@pytest.mark.slow
def test_loads_of_all_three_joints_of_a_spatial_arm_under_its_weight_are_estimated() -> None:
    """Designed without weight, which is fed forward, and looked at on the arm that carries it."""
    script = fx.load_controller("spatial_3r_pid")
    arm = fx.load_plant(script.PLANT).with_({**script.SETTINGS, "model.elements": 1, "payload.mass": 1.0})
    weightless = arm.with_({"gravity.x": 0.0, "gravity.y": 0.0, "gravity.z": 0.0})
    heavy, light = (
        one.linearise(fx.OperatingPoint.at_rest(one.model, one.model.rest(script.BEGIN))) for one in (arm, weightless)
    )
    angles, torques = ([f"joint{i}_{kind}" for i in (1, 2, 3)] for kind in ("angle", "torque"))
    signals = {"measures": tuple(angles), "drive": tuple(torques), "follow": tuple(angles)}
    weights = fx.LqgWeights(
        rate=1e-4, energy=1e-3, integral=0.0, command=(1e-6,) * 3, disturbance=3.0, noise=(1e-8,) * 3, load=(10.0,) * 3
    )
    with pytest.raises(fx.DefinitionError, match=r"1 rigid-body modes.*weight or springs hold.*gravity\.z"):
        fx.lqg(heavy, weights, modes=2, sample_time=5e-4, **signals)
    law = fx.lqg(light, weights, modes=2, sample_time=5e-4, limit=400.0, **signals)
    found = fx.Design(law, heavy)
    assert max(pole.real for pole in found.poles) < -5.0
    assert min(margins.disk_margin for margins in found.margins.values()) > 0.6
    hold = {f"joint{i}": fx.quintic(at, at, 0.1) for i, at in enumerate(script.BEGIN, 1)}
    push = {name: fx.PiecewiseConstant((0.1,), (0.0, size)) for name, size in zip(torques, (20, -30, 15), strict=True)}
    run = fx.simulate(
        arm, law, fx.references(arm, hold, law, known=arm), inputs=push, duration=1.2, initial=script.start
    )
    for name, at in zip(angles, script.BEGIN, strict=True):
        off = np.abs(run[name] - at)
        assert 5e-4 < off.max() < 5e-3
        assert off[-1] < 2e-5, "what is left decays at 6 1/s"
