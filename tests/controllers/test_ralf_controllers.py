"""What RALF's controllers leave of the vibration after one cycle of 2 deg at 0.5 Hz of both joints, full nonlinear arm.

Ratios are those to the position servos alone; vibration counts from 0.2 s after the end of the command on. Numbers
of shaping and of the servo are those of an independent code of the same arm; goals of the feedback laws are those that
an independent H-infinity and LQG design reached. Loops, norms and Riccati equations are checked by other formulations.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.linalg import expm, solve_discrete_lyapunov

import flexctl as fx
from flexctl.__main__ import cli
from flexctl.design.hinf import Problem, synthesise
from flexctl.design.lqg_regulator import filter_gain, lqg_regulator, regulator_gain, slow
from flexctl.design.sampled_model import sampled_model
from flexctl.design.shaping import shaped, shaper_for
from flexctl.judging.certify.loops import examine, growth, loop_poles
from flexctl.judging.scenario import Scenario, scenarios
from flexctl.judging.variations import changed, vibration_ratios
from flexctl.laws.controller import Delayed, LinearLaw
from flexctl.linear.conversion import discretise
from flexctl.linear.interconnect import closed_loop
from flexctl.model import Signal, index_of, names
from flexctl.motion.profiles import Swing
from flexctl.motion.resting import Rest
from flexctl.motion.signals import Sine
from flexctl.simulation.simulate import simulate
from flexctl.testing.differences import Array

NAMES = ("ralf_shaped", "ralf_hinf", "ralf_lqg")
OFF = {"": 0.0, ", frequencies -10 %": -0.1, ", frequencies +10 %": 0.1}
UNDAMPED = {"damping.kind": "none", "damping.ratio": 0.0}
script = cache(fx.load_controller)
SIGNALS = {"measures": script("ralf_servo").STRAINS, "drives": script("ralf_hinf").DRIVES, "sample_time": 1e-3}


@cache
def arm(ratio: float = 0.01, change: float = 0.0):
    plant = fx.load_plant("ralf")
    damping = {"damping.kind": "modal", "damping.ratio": ratio} if ratio else {}
    return plant.with_(overrides={**changed(plant, frequency=change), **damping})


@cache
def linear(ratio: float = 0.01, change: float = 0.0):
    return arm(ratio, change).linearise()


@cache
def law(name: str):
    return script(name).design(fx.load_plant("ralf"))


@cache
def items(name: str) -> dict[str, Scenario]:
    return {item.name: item for item in scenarios(script(name), fx.load_plant("ralf"))}


@cache
def run(name: str, scenario: str, damped: bool = True):
    item = items(name)[scenario]
    if not damped:
        item = replace(item, overrides={**item.overrides, **UNDAMPED})
    return item.run(law(name), fx.load_plant("ralf"))


def ratios(name: str, scenario: str, damped: bool = True) -> list[float]:
    """Of the lower and the upper link."""
    against = items(name)[scenario].against
    servo = "ralf_hinf" if name == "ralf_lqg" else name  # the same run
    both = {scenario: run(name, scenario, damped), against: run(servo, against, damped)}
    found = vibration_ratios(both, {scenario: against})[scenario]
    return [found["strain_lower"], found["strain_upper"]]


def correction(response) -> float:
    """Largest deviation of a command from its cycle [deg]; one sample late for a law that passes it on."""
    cycle = np.radians(2.0) * np.sin(np.pi * response.t) * (response.t < 2.0 - 1e-9)
    return float(np.degrees(max(np.abs(response[f"joint{i}_command"] - cycle).max() for i in (1, 2))))


# --- what is left


@pytest.mark.parametrize(
    ("scenario", "wanted"),
    [
        ("both links", (2000, 330)),
        ("both links, frequencies -10 %", (68, 50)),
        ("both links, frequencies +10 %", (89, 75)),
        ("both links, ZV", (1300, 170)),
    ],
)
def test_shaping_leaves_what_an_independent_code_has(scenario: str, wanted: tuple[float, float]) -> None:
    assert ratios("ralf_shaped", scenario) == pytest.approx(wanted, rel=0.1)


@pytest.mark.slow
def test_zv_is_shorter_and_ten_times_less_robust() -> None:
    shapers = script("ralf_shaped").shapers(fx.load_plant("ralf"))
    assert [shapers[key].length for key in ("", ", ZV")] == pytest.approx([0.187, 0.0934], abs=1e-3)
    f = [7.834, 16.941]
    for key, off in ((", frequencies -10 %", -0.1), (", frequencies +10 %", 0.1)):
        zvd, zv = (ratios("ralf_shaped", f"both links{kind}{key}") for kind in ("", ", ZV"))
        assert all(6.0 < x < 10.0 for x in zv)
        assert all(a > 5 * b for a, b in zip(zvd, zv, strict=True))
        # by the formula, each link by its mode: the arm is close to linear
        v = [float(1 / shapers[""].residual(x * (1 + off), 0.01)) for x in f]
        assert zvd[0] == pytest.approx(v[0], rel=0.35)


def test_undamped_arm_shaped() -> None:
    """Independent code: 276.9 and 57.6 microstrain unshaped, ratios 955 and 163, with the cylinders' own loops.

    What is left is a third of a microstrain: at 0.2 ms the integrator takes away a tenth of the ratios.
    """
    cycle = Sine(np.radians(2.0), 0.5, 0.0, 2.0)
    by = shaper_for(linear(0.0), "zvd", 2)
    strains = script("ralf_servo").STRAINS

    def left(signal, until: float) -> Array:
        inputs = dict.fromkeys(script("ralf_hinf").DRIVES, signal)
        response = simulate(arm(0.0), inputs=inputs, duration=3.3, step=1e-4)
        late = response.t > until + 0.2
        return np.array([1e6 * np.abs(response[s] - response[s][0])[late].max() for s in strains])

    unshaped = left(cycle, 2.0)
    assert unshaped == pytest.approx([276.9, 57.6], rel=0.01)
    assert unshaped / left(shaped(cycle, by), 2.0 + by.length) == pytest.approx([955, 163], rel=0.1)


@pytest.mark.parametrize(
    ("name", "scenario", "wanted", "goal"),
    [
        ("ralf_hinf", "both links", (19.3, 37.0), 10.0),
        ("ralf_hinf", "both links, frequencies -10 %", (4.14, 19.7), 4.0),
        ("ralf_hinf", "both links, frequencies +10 %", (23.9, 35.3), 4.0),
        ("ralf_lqg", "both links", (64.6, 60.2), 22.0),
        ("ralf_lqg", "both links, frequencies -10 %", (7.52, 38.4), 2.8),
        ("ralf_lqg", "both links, frequencies +10 %", (58.5, 27.9), 8.0),
        ("ralf_lqg", "not told", (11.2, 25.3), 10.0),
        pytest.param("ralf_lqg", "not told, frequencies -10 %", (4.0, 15.9), 2.8, marks=pytest.mark.slow),
        pytest.param("ralf_lqg", "not told, frequencies +10 %", (13.9, 26.1), 8.0, marks=pytest.mark.slow),
    ],
)
def test_feedback_leaves(name: str, scenario: str, wanted: tuple[float, float], goal: float) -> None:
    found = ratios(name, scenario)
    assert found == pytest.approx(wanted, rel=0.05)
    assert min(found) >= goal


@pytest.mark.parametrize(
    ("name", "scenario", "wanted"),
    [
        ("ralf_hinf", "both links", (29.1, 56.8)),
        ("ralf_lqg", "not told", (16.8, 42.6)),
        pytest.param("ralf_lqg", "both links", None, marks=pytest.mark.slow),
    ],
)
def test_feedback_on_the_undamped_arm(name: str, scenario: str, wanted: tuple[float, float] | None) -> None:
    found = ratios(name, scenario, damped=False)
    assert min(found) > 10.0
    if wanted:
        assert found == pytest.approx(wanted, rel=0.05)


def test_corrections_are_small_and_those_of_feedback_no_more_than_a_tenth_of_a_degree() -> None:
    assert correction(run("ralf_hinf", "both links")) < 0.1
    assert correction(run("ralf_lqg", "not told")) < 0.1
    for off in OFF:
        assert correction(run("ralf_hinf", f"both links{off}")) < 0.12
    told = correction(run("ralf_lqg", "both links"))
    assert 0.1 < told < 0.25
    assert correction(run("ralf_hinf", "servo alone")) < 1e-9


def test_a_law_that_is_told_follows_the_slow_part_of_the_command() -> None:
    """Without x_ref the joint swings 8 % too far; with it, half a percent."""
    response = run("ralf_lqg", "both links")
    assert np.abs(response["joint1_command"]).max() == pytest.approx(np.radians(2.0), rel=0.006)
    model = sampled_model(linear(0.0), law("ralf_lqg").law.law.measures, script("ralf_lqg").DRIVES, 1e-3, 1, 20.0)
    N = slow(model)
    x = N[:, [0, 3]] @ np.array([1.0, 2.0])  # constant commands
    np.testing.assert_allclose(model.A @ x + model.B @ [1.0, 2.0], x, rtol=0, atol=1e-9 * np.abs(x).max())
    ramp = [N @ np.array([k * 1e-3, 1.0, 0.0, 0.0, 0.0, 0.0]) for k in (0, 1)]
    np.testing.assert_allclose(model.A @ ramp[0], ramp[1], rtol=0, atol=1e-9 * np.abs(x).max())


# --- loops


def dense(ratio: float, change: float) -> tuple[Array, Array, Array]:
    """Sampled plant from commands to strains in physical coordinates, by the matrix exponential of all of it.

    States: 8 coordinates, their rates, the accelerations z of the two joints, M v' + D v + K q = - L z and
    z' + c2 z + c1 v + c0 q = b u; scaled to one size.
    """
    p, k = linear(ratio, change), 8
    M, scale = p.M[:k, :k], np.r_[np.ones(k), np.full(k, 1e2), np.full(2, 1e4)]
    A, B = np.zeros((18, 18)), np.zeros((18, 2))
    A[:k, k : 2 * k] = np.eye(k)
    A[k : 2 * k] = -np.linalg.solve(M, np.hstack([p.K[:k, :k], p.D[:k, :k], p.K[:k, k:]]))
    A[2 * k :] = -np.hstack([p.K[k:, :k], p.D[k:, :k], p.K[k:, k:]])
    B[2 * k :] = p.B[k:, :2]
    A, B = A * scale / scale[:, None], B / scale[:, None]
    Z = expm(1e-3 * np.block([[A, B], [np.zeros((2, 20))]]))
    y = [index_of("output", name, p.outputs) for name in script("ralf_servo").STRAINS]
    return Z[:18, :18], Z[:18, 18:], np.hstack([p.Cq[y, :k], p.Cv[y, :k], p.Cq[y, k:]]) * scale


def own_poles(name: str, ratio: float, change: float) -> Array:
    """Poles of the loop by one step of everything, one state after the other."""
    F, G, C = dense(ratio, change)
    inner = law(name).law.law
    n, m = len(F), len(inner.A)

    def step(x: Array) -> Array:
        plant, state, late = np.split(x, [n, n + m])
        y = C @ plant
        u = inner.C @ state + inner.Dy @ y
        return np.concatenate([F @ plant + G @ late, inner.A @ state + inner.By @ y + inner.Bu @ u, u])

    return np.linalg.eigvals(np.array([step(e) for e in np.eye(n + m + 2)]).T)


@pytest.mark.parametrize("name", ["ralf_hinf", "ralf_lqg"])
@pytest.mark.parametrize(("ratio", "change"), [(0.01, 0.0), (0.01, -0.1), (0.01, 0.1), (0.0, 0.0)])
def test_the_sampled_loop_on_the_whole_plant(name: str, ratio: float, change: float) -> None:
    found = examine(linear(ratio, change), law(name), with_margins=True)
    assert found.stable
    assert 1e3 * np.log(np.abs(own_poles(name, ratio, change)).max()) == pytest.approx(-found.decay, rel=1e-3, abs=1e-3)
    assert found.smallest("disk_margin") > {"ralf_hinf": 0.6, "ralf_lqg": 0.5}[name]
    assert found.smallest("phase_margin_deg") > 35.0
    assert found.law_pole > -0.8 or np.isnan(found.law_pole)


def test_margins_by_the_determinant() -> None:
    """Disk margin of the first loop of the H-infinity law with the second closed, by plain complex arithmetic."""
    F, G, C = dense(0.01, 0.0)
    inner = law("ralf_hinf").law.law
    z = np.exp(1e-3j * np.concatenate([np.geomspace(0.5, 3e3, 4000), np.linspace(40.0, 60.0, 500)]))
    P = C @ np.linalg.solve(z[:, None, None] * np.eye(len(F)) - F, G[None] + 0j)
    A = inner.A + inner.Bu @ inner.C
    K = inner.C @ np.linalg.solve(z[:, None, None] * np.eye(len(A)) - A, inner.By[None] + 0j) + inner.Dy
    S = np.linalg.inv(np.eye(2) - (K @ P) / z[:, None, None])
    margins = examine(linear(), law("ralf_hinf")).margins
    for j, drive in enumerate(script("ralf_hinf").DRIVES):
        L = 1.0 / S[:, j, j] - 1.0
        assert margins[drive].disk_margin == pytest.approx(np.min(np.abs(2 * (1 + L) / (1 - L))), rel=1e-3)


def test_damping_of_the_first_mode() -> None:
    """An independent design: 0.31 to 0.37."""
    poles = examine(linear(), law("ralf_hinf"), with_margins=False).poles
    first = min(poles[poles.imag > 20], key=lambda s: abs(abs(s) / (2 * np.pi) - 11.0))
    assert 0.31 <= -first.real / abs(first) <= 0.38


@pytest.mark.parametrize("change", [-0.1, 0.1])
def test_frequencies_off_without_any_damping_make_the_loops_slowly_unstable(change: float) -> None:
    """Undamped modes above 100 Hz and at 31 Hz: 0.3 % of damping are enough, and that much any arm has."""
    for name in ("ralf_hinf", "ralf_lqg"):
        assert 0.0 < growth(loop_poles(linear(0.0, change), law(name)), 1e-3) < 3.0
        assert growth(loop_poles(linear(0.003, change), law(name)), 1e-3) < 0.0


# --- syntheses


def test_h_infinity_norm_by_the_responses_themselves() -> None:
    """From (command disturbance, strain noise) to (strains, commands), scaled, on a grid: that is what gamma bounds."""
    F, G, C = dense(0.0, 0.0)
    design = law("ralf_hinf")
    inner = design.law.law
    omega = np.unique(np.concatenate([np.geomspace(0.3, 3e3, 6000), np.linspace(20.0, 250.0, 6000)]))
    z = np.exp(1e-3j * omega)[:, None, None]
    p, unit = np.exp(-0.02), (1e-3, 1e-4)
    high = (z - 1.0) / (z - p)
    P = high * (C @ np.linalg.solve(z * np.eye(len(F)) - F, G[None] + 0j)) * unit[0] / unit[1]
    K = inner.C @ np.linalg.solve(z * np.eye(len(inner.A)) - inner.A, inner.By[None] + 0j) + inner.Dy
    K = K / high * unit[1] / unit[0]  # on the high-passed strains
    S = np.linalg.inv(np.eye(2) - P @ K / z)
    T = np.linalg.inv(np.eye(2) - K @ P / z)
    blocks = np.concatenate([
        np.concatenate([S @ P, 0.3 * (S @ P @ K) / z], axis=2),
        np.concatenate([0.3 * (T @ K @ P), 0.09 * (T @ K)], axis=2),
    ], axis=1)
    peak = np.linalg.svd(blocks, compute_uv=False)[:, 0].max()
    assert design.found["smallest_norm"] == pytest.approx(0.70, abs=0.01)
    assert peak == pytest.approx(design.found["norm"], rel=2e-3)
    assert design.found["norm"] <= 1.001 * design.found["gamma"]


def test_lqg_gains_are_fixed_points() -> None:
    """Cost of the loop by a Lyapunov equation; the gain that is best for this cost is the gain itself, both ways."""
    given = script("ralf_lqg")
    model = sampled_model(linear(0.0), given.SERVO.STRAINS, given.DRIVES, 1e-3, 1, given.HINF.HIGH_PASS)
    weights = given.WEIGHTS
    K, L = regulator_gain(model, weights), filter_gain(model, weights)
    A, B, C, R = model.A, model.B, model.C, weights.command * np.eye(2)
    closed = A - B @ K
    X = solve_discrete_lyapunov(closed.T, C.T @ C + K.T @ R @ K)
    np.testing.assert_allclose(np.linalg.solve(R + B.T @ X @ B, B.T @ X @ A), K, rtol=0, atol=1e-5 * np.abs(K).max())
    W, V = weights.disturbance * model.E @ model.E.T, weights.noise * np.eye(2)
    closed = A - A @ L @ C
    Y = solve_discrete_lyapunov(closed, W + A @ L @ V @ L.T @ A.T)
    np.testing.assert_allclose(Y @ C.T @ np.linalg.inv(C @ Y @ C.T + V), L, rtol=0, atol=1e-5 * np.abs(L).max())
    assert law("ralf_lqg").found["regulator_decay"] > 0.0


# --- traps


def test_an_observer_without_the_high_modes_drives_them_unstable_when_it_is_fast() -> None:
    """Spill-over: at 1e-4 of the noise modes 4 to 6 must be in the observer; at the script's noise they need not."""
    given, whole = script("ralf_lqg"), linear(0.0).first_order()
    kept = [i for i, s in enumerate(whole.states) if s.name[:5] not in ("mode4", "mode5", "mode6")]
    states = tuple(whole.states[i] for i in kept)
    reduced = replace(whole, A=whole.A[np.ix_(kept, kept)], B=whole.B[kept], C=whole.C[:, kept], states=states)
    options = {**SIGNALS, "corner": given.HINF.HIGH_PASS}
    fast = replace(given.WEIGHTS, noise=1e-4 * given.WEIGHTS.noise)
    design = lqg_regulator(reduced, fast, **options)
    assert design.stable
    for ratio in (0.0, 0.01):
        assert growth(loop_poles(linear(ratio), design), 1e-3) > 10.0
    assert lqg_regulator(linear(0.0), fast, **options).stable
    assert growth(loop_poles(linear(0.01), lqg_regulator(reduced, given.WEIGHTS, **options)), 1e-3) < -1.0


def test_a_continuous_design_sampled_by_tustin_is_slowly_unstable_on_the_undamped_arm() -> None:
    """0.6 to 1.2 1/s in an independent design, 8 1/s here; the same problem posed for the sampled plant is stable."""
    p = linear(0.0).first_order()
    given = script("ralf_hinf")
    rows = [index_of("output", name, p.outputs) for name in given.SERVO.STRAINS]
    columns = [index_of("input", name, p.inputs) for name in given.DRIVES]
    C, none = p.C[rows], np.zeros((2, 2))
    A = np.block([[p.A, np.zeros((18, 2))], [C, -20.0 * np.eye(2)]])
    y = np.hstack([C, -20.0 * np.eye(2)])
    B = np.vstack([p.B[:, columns], none])
    weigh = 0.3 * np.eye(2)
    zero = np.zeros((20, 2))
    b, c = B * 1e-3 / 50, y / 1e-4
    problem = Problem(
        A / 50, np.hstack([b, zero]), b, np.vstack([c, zero.T]), c, np.zeros((4, 4)), np.vstack([none, weigh]),
        np.hstack([none, weigh]), none,
    )
    K = synthesise(problem)
    assert K.norm == pytest.approx(0.70, abs=0.01)
    m = len(K.A)
    states = tuple(Signal(f"k{i}") for i in range(m + 2))
    gain = 1e-3 / 1e-4
    # the high-pass, then the controller
    whole = fx.FirstOrder(
        np.block([[50 * K.A, -20.0 * 50 * K.B], [np.zeros((2, m)), -20.0 * np.eye(2)]]),
        np.vstack([50 * K.B, np.eye(2)]),
        gain * np.hstack([K.C, -20.0 * K.D]), gain * K.D, states, tuple(p.outputs[i] for i in rows),
        tuple(p.inputs[j] for j in columns),
    )
    k = discretise(whole, 1e-3)
    law = Delayed(LinearLaw(1e-3, tuple(names(k.inputs)), tuple(names(k.outputs)), A=k.A, By=k.B, C=k.C, Dy=k.D), 1)
    assert 0.5 < growth(loop_poles(linear(0.0), law), 1e-3) < 10.0


@pytest.mark.parametrize("name", ["ralf_hinf", "ralf_lqg"])
def test_the_high_pass_keeps_the_joints_from_leaning_against_gravity(name: str) -> None:
    """A constant command is followed to the last digit; penalised strain itself pulls the tip away by millimetres."""
    def error(design) -> float:
        loop = closed_loop(linear(0.01).discrete(1e-3), design.linear.feedback())
        x = [index_of("input", drive, loop.inputs) for drive in design.drives]
        rows = [index_of("output", f"tip_{axis}", loop.outputs) for axis in "xy"]
        gain = loop.transfer(np.array([1.0 + 0j]))[rows][:, x, 0].real
        alone = linear(0.01).transfer(np.array([0j]))[rows][:, :2, 0].real
        return 1e3 * np.radians(20.0) * float(np.abs(gain - alone).max())  # mm for 20 deg

    assert error(law(name)) < 1e-6
    if name == "ralf_lqg":
        given = script(name)
        assert 1.0 < error(lqg_regulator(linear(0.0), given.WEIGHTS, **SIGNALS)) < 100.0


def test_noise_of_the_observer_says_nothing_when_it_is_told() -> None:
    """On the linear arm; what an observer that is told corrects it has not measured."""
    given, p = script("ralf_lqg"), linear(0.01)
    options = {**SIGNALS, "corner": given.HINF.HIGH_PASS}
    rest = dict.fromkeys(given.SERVO.STRAINS, Rest(0.0, 2.0))
    cycle = dict.fromkeys(given.DRIVES, Swing(0.0, np.radians(2.0), 0.5))
    inputs = items("ralf_hinf")["both links"].inputs

    def left(told: bool, factor: float) -> float:
        weights = replace(given.WEIGHTS, noise=factor * given.WEIGHTS.noise)
        design = lqg_regulator(linear(0.0), weights, pass_commands=told, **options)
        motions, signals = ({**rest, **cycle}, {}) if told else (rest, inputs)
        return float(simulate(p, design, motions, duration=3.0, inputs=signals).scores["strain_lower.vibration"])

    assert left(True, 100.0) < 1.4 * left(True, 1.0)
    assert left(False, 100.0) > 2.0 * left(False, 1.0)


# --- command line


def test_run_tells_the_ratios(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    only = ["--only", "both links", "--only", "servo alone"]
    answer = CliRunner().invoke(cli, ["run", "ralf_hinf", *only, "-o", "out"])
    assert answer.exit_code == 0, answer.output
    assert "less by" in answer.output
    told = json.loads(Path("out/ralf_hinf.json").read_text())
    assert list(told["vibration_ratios"]) == ["both links"]
    assert list(told["vibration_ratios"]["both links"].values()) == pytest.approx(ratios("ralf_hinf", "both links"))


@pytest.mark.slow
def test_compare_puts_the_controllers_side_by_side() -> None:
    found = fx.compare(["ralf_servo", "ralf_hinf", "ralf_shaped"], only=["both links"], workers=1)
    less = found.ratios["both links"]
    assert list(less) == ["ralf_hinf", "ralf_shaped"]
    assert list(less["ralf_shaped"].values()) == pytest.approx((2000, 330), rel=0.1)
    assert found.to_dict()["runs"]["ralf_hinf"]["both links"]["vibration_ratios"] == less["ralf_hinf"]
    assert {"strain_lower", "strain_upper"} <= set(found.signals)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ralf_servo", *NAMES])
def test_certificates_are_passed(name: str) -> None:
    found = fx.certify(name, bits=(16,), workers=1)
    assert found.passed, str(found)
    if name != "ralf_servo":
        assert found.to_dict()["vibration_ratios"]["both links"] == pytest.approx(dict(zip(
            ("strain_lower", "strain_upper"), ratios(name, "both links"), strict=True)))


@pytest.mark.parametrize(
    ("change", "disk"),
    [(0.1, 0.745), *(pytest.param(*x, marks=pytest.mark.slow) for x in ((0.0, 0.757), (-0.1, 0.764)))],
)
def test_loads_in_the_observer_hold_with_other_frequencies(change: float, disk: float) -> None:
    own = arm(0.01, change).with_(script("ralf_servo").VALVES).linearise()
    found = examine(own, law("ralf_disturbance").linear)
    assert found.smallest("disk_margin") == pytest.approx(disk, abs=5e-3)
    assert found.decay > 1.6


def test_an_offset_of_a_valve_is_gone_and_the_servos_keep_it() -> None:
    servo, plant = script("ralf_servo"), arm().with_(script("ralf_servo").VALVES)
    held = {f"joint{i}_angle": fx.Step(at, at) for i, at in enumerate((j.angle for j in plant.arm.joints[:2]), 1)}
    offset = {"joint1_valve": fx.PiecewiseConstant((0.1,), (0.0, 1.0 / 6.0))}
    left = {}
    for name in ("ralf_disturbance", "ralf_servo"):
        wanted = {**held, **(fx.rest_references(plant, servo.STRAINS, 0.0) if name == "ralf_disturbance" else {})}
        run = simulate(plant, law(name), wanted, duration=1.2, inputs=offset)
        left[name] = np.abs(run["joint1_angle"] - run["joint1_angle"][0])
    assert left["ralf_disturbance"].max() < 4.2e-3
    assert left["ralf_disturbance"][-1] < 1e-3 * left["ralf_disturbance"].max()
    assert left["ralf_servo"][-1] == pytest.approx(1.0 / 6.0 / 74.9, rel=0.01)
