"""Control laws as designs: poles, separation, feedforward, limits; the laws as linear systems.

Reference numbers of the LQG are from an independent study of the same recipe (41 modes, 1 kHz, one sample of delay).
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial

import control
import numpy as np
import pytest
import scipy.linalg as sla
import toys
from analytical import HUB, RHO, L, tokhi_arm

from flexctl.design.lqg import LqgWeights, lqg
from flexctl.design.pd import joint_pd, rigid_and_bending
from flexctl.errors import DefinitionError
from flexctl.laws.controller import Delayed, LinearLaw, Noisy, Quantised, Saturated
from flexctl.linear import FirstOrder, SecondOrder, linearise
from flexctl.linear.modes import normal_modes
from flexctl.machine.arm import Damping
from flexctl.models import build
from flexctl.models.finite_difference import FiniteDifference
from flexctl.motion.moves import PiecewiseConstant, quintic
from flexctl.simulation.simulate import simulate
from flexctl.testing.differences import Array

TS = 1e-3
WEIGHTS = LqgWeights(
    rate=5.9e-6, energy=3.4e-5, integral=0.18, command=7.9e-5, disturbance=0.21, noise=(1.65e-7, 0.38e-7)
)
design_lqg = partial(
    lqg, weights=WEIGHTS, modes=2, sample_time=TS, measures=("joint1_angle", "chord1_angle"), drive="joint1_torque",
    follow="chord1_angle", limit=0.3,
)


@cache
def arm(grams: float = 10.0, sections: int = 40) -> FiniteDifference:
    model = build(
        tokhi_arm(HUB, 1e-3 * grams, damping=Damping("modal", ratio=0.01)), "finite_difference", sections=sections
    )
    assert isinstance(model, FiniteDifference)
    return model


@cache
def plant(grams: float = 10.0) -> SecondOrder:
    return linearise(arm(grams))


@cache
def designed() -> Delayed:
    return design_lqg(plant())


def held(M: Array, D: Array, K: Array, B: Array, C: Array) -> tuple[Array, Array, Array]:
    """The plant in normal coordinates behind a hold, by one matrix exponential: Phi, Gamma, C."""
    shapes = sla.eigh(K, M)[1]
    n, p = B.shape
    K, D = shapes.T @ K @ shapes, shapes.T @ D @ shapes
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-K, -D]])
    block = np.zeros((2 * n + p, 2 * n + p))
    block[: 2 * n, : 2 * n], block[n : 2 * n, 2 * n :] = A, shapes.T @ B
    E = sla.expm(TS * block)
    return E[: 2 * n, : 2 * n], E[: 2 * n, 2 * n :], np.hstack([C @ shapes, 0 * C])


def closed_loop(Phi: Array, Gamma: Array, C: Array, law: FirstOrder) -> Array:
    """Poles of plant and sampled law in a loop."""
    A = np.block([[Phi + Gamma @ law.D @ C, Gamma @ law.C], [law.B @ C, law.A]])
    return np.linalg.eigvals(A)


def full_loop(grams: float, law: FirstOrder) -> Array:
    p = plant(grams)
    rows = [[s.name for s in p.outputs].index(s.name) for s in law.inputs]
    return closed_loop(*held(p.M, p.D, p.K, p.B, p.Cq[rows]), law)


# ---- LQG ------------------------------------------------------------------------------------------------------------


def riccati(A: Array, B: Array, Q: Array, R: Array) -> Array:
    """Gain of the regulator by iterating the cost to go, doubling the horizon each time."""
    a, g, h = A.copy(), B @ np.linalg.solve(R, B.T), Q.copy()
    one = np.eye(len(A))
    for _ in range(60):
        w = np.linalg.inv(one + g @ h)
        a, g, h = a @ w @ a, g + a @ w @ g @ a.T, h + a.T @ h @ w @ a
    return np.linalg.solve(R + B.T @ h @ B, B.T @ h @ A)


def design_model() -> tuple[Array, Array, Array, Array, Array]:
    """Rigid and two flexible modes: Phi, Gamma, C of hub and tip, tip row, frequencies."""
    p, normal = plant(), normal_modes(plant().M, plant().K)
    shapes = normal.shapes[:, :3]
    M, D, K = (shapes.T @ m @ shapes for m in (p.M, p.D, p.K))
    names = [s.name for s in p.outputs]
    C = p.Cq[[names.index("joint1_angle"), names.index("chord1_angle")]] @ shapes
    order = np.argsort(np.diag(K))
    Phi, Gamma, rows = held(M, D, np.diag(np.diag(K)), shapes.T @ p.B, C)
    return Phi, Gamma, rows, rows[1], np.sqrt(np.maximum(np.diag(K)[order], 0.0))


def with_delay_and_integral(Phi: Array, Gamma: Array, tip: Array) -> tuple[Array, Array]:
    """The plant with the command on its way and the integral of the tip as further states."""
    n = len(Phi)
    A = np.block([[Phi, Gamma, np.zeros((n, 1))], [np.zeros((1, n + 2))], [TS * tip, 0.0, 1.0]])
    return A, np.eye(n + 2)[:, n : n + 1]


def gains(
    Phi: Array, Gamma: Array, C: Array, tip: Array, omega: Array, noise: tuple[float, ...]
) -> tuple[Array, Array]:
    """Regulator gain on (x, p, s) and the gain that corrects an estimate."""
    A, B = with_delay_and_integral(Phi, Gamma, tip)
    rate = np.concatenate([np.zeros(3), tip[:3]])
    Q = np.zeros_like(A)
    Q[:6, :6] = np.outer(tip, tip) + WEIGHTS.rate * np.outer(rate, rate)
    Q[:6, :6] += WEIGHTS.energy * np.diag(np.concatenate([omega**2, np.ones(3)]))
    Q[-1, -1] = WEIGHTS.integral
    W = Gamma @ Gamma.T + np.diag([0.0] * 3 + [WEIGHTS.disturbance * TS**2] * 3)
    predict = riccati(Phi.T, C.T, W, np.diag(noise)).T  # Phi times what corrects the estimate
    return riccati(A, B, Q, np.array([[WEIGHTS.command]])), np.linalg.solve(Phi, predict)


@pytest.mark.parametrize("measured", [(0, 1), (0,)], ids=["hub and tip", "hub"])
def test_closed_loop_poles_are_those_of_regulator_and_estimator(measured: tuple[int, ...]) -> None:
    """The separation principle, with both halves designed again here."""
    Phi, Gamma, C, tip, omega = design_model()
    C = C[list(measured)]
    names, noise = (tuple(x[i] for i in measured) for x in (("joint1_angle", "chord1_angle"), WEIGHTS.noise))
    law = design_lqg(plant(), measures=names, weights=replace(WEIGHTS, noise=noise))
    K, correct = gains(Phi, Gamma, C, tip, omega, noise)
    A, B = with_delay_and_integral(Phi, Gamma, tip)
    regulator, estimator = np.linalg.eigvals(A - B @ K), np.linalg.eigvals(Phi - Phi @ correct @ C)
    # the law keeps its own copy of the command on its way: a pole at 0
    wanted = np.concatenate([regulator, estimator, [0.0]])
    found = closed_loop(Phi, Gamma, C, law.feedback())
    assert found.size == wanted.size
    for pole in wanted:
        nearest = np.argmin(np.abs(found - pole))
        assert abs(found[nearest] - pole) < 1e-6
        found = np.delete(found, nearest)
    assert np.abs(wanted).max() < 1.0


def test_lqg_is_its_formulas_step_by_step() -> None:
    """Estimate, quasi-static reference, command with its limits, and anti-windup, written out with gains found here."""
    Phi, Gamma, C, tip, omega = design_model()
    K, correct = gains(Phi, Gamma, C, tip, omega, WEIGHTS.noise)
    Kx, Kp, Ks = K[0, :6], K[0, 6], K[0, 7]
    J = 1.0 / (tip[0] * Gamma[3, 0] / TS)
    bending = held_bending(omega)
    law = designed().law.law
    rng, state = np.random.default_rng(2), law.initial()
    predicted, p, s, limited = np.zeros(6), 0.0, 0.0, 0
    for k in range(60):
        y, r = 1e-3 * rng.standard_normal(2), np.array([1e-3, 0.02, 1.0]) * rng.standard_normal(3)
        u, state = law.step(state, k * TS, y, r)
        x = predicted + correct @ (y - C @ predicted)
        feedforward = J * r[2]
        wanted = np.concatenate([[r[0] / tip[0]], bending * feedforward, [r[1] / tip[0], 0.0, 0.0]])
        asked = feedforward - Kx @ (x - wanted) - Kp * (p - feedforward) - Ks * s
        given = np.clip(asked, -0.3, 0.3)
        limited += asked != given
        assert u[0] == pytest.approx(given, rel=1e-6, abs=1e-9)
        s += TS * (y[1] - r[0]) + 0.1 / Ks * (asked - given)
        predicted, p = Phi @ x + Gamma[:, 0] * p, given
    assert 5 < limited < 55


def held_bending(omega: Array) -> Array:
    """Quasi-static b_i/omega_i^2 of the flexible modes, b_i from the plant's normal modes."""
    b = normal_modes(plant().M, plant().K).shapes[:, 1:3].T @ plant().B[:, 0]
    return b / omega[1:] ** 2


@pytest.mark.parametrize(("grams", "stable"), [(0.0, True), (10.0, True), (20.0, True), (25.0, False)])
def test_lqg_on_the_whole_plant(grams: float, stable: bool) -> None:
    assert (np.abs(full_loop(grams, designed().feedback())).max() < 1.0) == stable


@pytest.mark.parametrize(("grams", "one_percent", "per_mille"), [
    (0.0, 0.437, 0.652), (10.0, 0.399, 0.524), (20.0, 0.435, 0.611),
])
def test_lqg_settles_as_fast_as_the_study_says(grams: float, one_percent: float, per_mille: float) -> None:
    run = simulate(arm(grams), designed(), quintic(0.0, np.radians(5.0), 0.4), duration=1.5)
    assert run.scores["chord1_angle.settle_1pct_s"] == pytest.approx(one_percent, rel=0.05)
    assert run.scores["chord1_angle.settle_0p1pct_s"] == pytest.approx(per_mille, rel=0.05)
    assert run.scores["joint1_torque.peak"] <= 0.3


def test_lqg_removes_a_constant_load_by_its_slowest_pole() -> None:
    load = {"joint1_torque": PiecewiseConstant((0.5,), (0.0, 0.05))}
    run = simulate(arm(), designed(), quintic(0.0, np.radians(5.0), 0.4), duration=12.0, inputs=load)
    error = run["chord1_angle"] - np.radians(5.0)
    poles = full_loop(10.0, designed().feedback())
    slowest = np.log(np.abs(poles).max()) / TS
    assert np.log(error[8000] / error[4000]) / 4.0 == pytest.approx(slowest, rel=1e-3)
    assert abs(error[-1]) < 0.02 * np.abs(error[1000:]).max()
    assert run["joint1_torque"][-1] == pytest.approx(0.0, abs=1e-5)  # the command balances the load


def test_lqg_keeps_its_limit_and_recovers() -> None:
    """60 deg in 0.9 s is as fast as 0.3 N m can do: the command is limited, and the integral is not wound up by it."""
    run = simulate(arm(), designed(), quintic(0.0, np.radians(60.0), 0.9), duration=2.5)
    assert np.abs(run["joint1_torque"]).max() == pytest.approx(0.3)
    assert run.scores["chord1_angle.overshoot_pct"] < 5.0
    assert run.scores["chord1_angle.settle_1pct_s"] < 1.5


@pytest.mark.parametrize(("change", "message"), [
    ({"sample_time": 0.0}, "sample_time = 0.0 s must be positive"),
    ({"modes": -1}, "modes = -1 must lie between 0 and 40"),
    ({"modes": 99}, "modes = 99"),
    ({"measures": ("joint1_angle",)}, "2 noise variances for 1 measured outputs"),
    ({"measures": ("joint1_angle", "joint1_rate")}, "reads rates, accelerations or the input"),
    ({"follow": "chord1_angel"}, r'did you mean "chord1_angle"\?'),
    ({"drive": "torque"}, "unknown input"),
    ({"weights": replace(WEIGHTS, command=0.0)}, r"must be positive; got .*command=0\.0"),
    ({"weights": replace(WEIGHTS, noise=(1e-7, -1.0))}, "must be positive"),
    ({"weights": replace(WEIGHTS, integral=0.0)}, "one way holds against loads"),
    ({"weights": replace(WEIGHTS, energy=-1.0)}, "must not be negative"),
    ({"weights": replace(WEIGHTS, noise=(float("nan"), 1.0))}, "must be positive"),
])
def test_lqg_refuses_by_name(change: dict, message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        design_lqg(plant(), **change)


def test_laws_for_one_rigid_mode_refuse_other_plants() -> None:
    clamped = linearise(toys.Chain(3, wall=True))
    with pytest.raises(DefinitionError, match="the plant has 0 rigid-body modes"):
        lqg(
            clamped, replace(WEIGHTS, noise=(1e-6,)), modes=1, sample_time=TS, measures=("first",), drive="force",
            follow="last",
        )
    with pytest.raises(DefinitionError, match="the plant has 0 rigid-body modes"):
        rigid_and_bending(clamped, "first", "force")


# ---- joint PD -------------------------------------------------------------------------------------------------------

SETTINGS = {"kp": 4.4, "kd": 0.05, "filter_time": 2e-3, "sample_time": TS}


def test_inertia_and_quasi_static_flexibility() -> None:
    """J in closed form; q_h from the static bending under unit torque and the inertia forces that balance it."""
    p, model = plant(), arm()
    J, q_h = rigid_and_bending(p, "joint1_angle", "joint1_torque")
    n = model.sections
    inertia = HUB + RHO * L**3 / 3 * (1 + 1 / (2 * n**2)) + 0.010 * L**2
    assert pytest.approx(inertia, rel=1e-9) == J
    turn = np.concatenate([[1.0], model.dx * np.arange(1, n + 1)])
    forces = p.B[:, 0] - p.M @ turn / J
    bend = np.linalg.lstsq(p.K, forces, rcond=None)[0]
    bend -= turn * (turn @ p.M @ bend) / J
    assert q_h == pytest.approx(bend[0], rel=1e-6)
    assert q_h == pytest.approx(0.0634, rel=0.01)  # of the study


def test_flexibility_counts_the_feed_through_of_an_arm_without_hub() -> None:
    small, none = (
        linearise(build(tokhi_arm(hub), "finite_difference", sections=12)) for hub in (1e-9, 0.0)
    )
    assert none.Du.any()
    pair = [rigid_and_bending(p, "joint1_angle", "joint1_torque") for p in (small, none)]
    np.testing.assert_allclose(pair[0], pair[1], rtol=1e-4)


def test_pd_is_its_formula_step_by_step() -> None:
    law = joint_pd(plant(), **SETTINGS)
    J, q_h = rigid_and_bending(plant(), "joint1_angle", "joint1_torque")
    kp, kd, tf = SETTINGS["kp"], SETTINGS["kd"], SETTINGS["filter_time"]
    rng, state = np.random.default_rng(5), law.initial()
    lagged, before = 0.0, 0.0
    for k in range(40):
        y, r = rng.standard_normal(1), rng.standard_normal(3)
        u, state = law.step(state, k * TS, y, r)
        reference = r[0] + q_h * J * r[2]
        reference_rate = r[1] + q_h * J * (r[2] - before) / TS
        wanted = kp * (reference - y[0]) + kd * (reference_rate - (y[0] - lagged) / tf) + J * r[2]
        assert u[0] == pytest.approx(wanted, rel=1e-9)
        lagged, before = lagged + (1 - np.exp(-TS / tf)) * (y[0] - lagged), r[2]


def test_rate_filter_of_the_pd_is_discretised_exactly() -> None:
    """Step invariance: python-control's zero-order hold of -kp - kd s/(tf s + 1)."""
    kp, kd, tf = SETTINGS["kp"], SETTINGS["kd"], SETTINGS["filter_time"]
    wanted = control.c2d(control.ss([[-1 / tf]], [[1.0]], [[kd / tf**2]], [[-kp - kd / tf]]), TS, "zoh")
    found = joint_pd(plant(), **SETTINGS).feedback()
    z = np.exp(1j * np.geomspace(1e-3, 3.0, 30))
    for one in z:
        value = found.C @ np.linalg.solve(one * np.eye(2) - found.A, found.B) + found.D
        assert value[0, 0] == pytest.approx(complex(wanted(one)), rel=1e-9)


def test_pd_poles_of_the_loop_and_the_hold_of_its_limit() -> None:
    law = joint_pd(plant(), **SETTINGS, limit=0.2)
    assert np.abs(full_loop(10.0, law.feedback())).max() < 1.0
    run = simulate(arm(), law, quintic(0.0, 1.0, 0.6), duration=0.8)
    assert np.abs(run["joint1_torque"]).max() == 0.2
    strong = joint_pd(plant(), **{**SETTINGS, "kd": 5.0})
    assert np.abs(full_loop(10.0, strong.feedback())).max() > 1.0


def test_the_quasi_static_hub_reference_follows_the_tip_better() -> None:
    """Without it the PD fights the bending."""
    law = joint_pd(plant(), **SETTINGS)
    plain = law.Dr.copy()
    J, _ = rigid_and_bending(plant(), "joint1_angle", "joint1_torque")
    plain[0, 2] = J
    without = replace(law, Dr=plain, C=law.C * [1.0, 0.0])
    move = quintic(0.0, 0.5, 1.0)
    good, bad = (simulate(arm(), x, move, duration=1.2).scores["chord1_angle.rms_error"] for x in (law, without))
    assert good < 0.6 * bad


@pytest.mark.parametrize(("change", "message"), [
    ({"sample_time": 0.0}, "sample_time = 0.0 s must be positive"),
    ({"filter_time": -1.0}, "filter_time = -1.0 s must be positive"),
    ({"measure": "joint1_angel"}, r'did you mean "joint1_angle"\?'),
    ({"measure": "joint1_rate"}, '"joint1_torque" does not turn the rigid arm as "joint1_rate" reads it'),
    ({"limit": -0.1}, "limits: lower"),
])
def test_pd_refuses_by_name(change: dict, message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        joint_pd(plant(), **{**SETTINGS, **change})


# ---- laws as linear systems ------------------------------------------------------------------------------------------

RNG = np.random.default_rng(11)
LAW = LinearLaw(
    0.1, ("a", "b"), ("u", "w"), ("a",), A=0.3 * RNG.standard_normal((3, 3)), By=RNG.standard_normal((3, 2)),
    Br=RNG.standard_normal((3, 3)), Bu=0.2 * RNG.standard_normal((3, 2)), C=RNG.standard_normal((2, 3)),
    Dy=RNG.standard_normal((2, 2)), Dr=RNG.standard_normal((2, 3)),
)


LINEAR = {
    "bare": LAW,
    "delayed": Delayed(LAW),
    "limited far off, delayed": Delayed(Saturated(LAW, 1e9), 3),
    "finely quantised": Noisy(Quantised(LAW, {"a": 1e-12}), {"b": 0.0}),
    "not delayed": Delayed(LAW, 0),
}


@pytest.mark.parametrize("law", LINEAR.values(), ids=LINEAR)
def test_feedback_is_the_law_step_by_step(law: LinearLaw) -> None:
    linear, state, x = law.feedback(), law.initial(), None
    assert [s.name for s in linear.inputs] == ["a", "b"]
    assert [s.name for s in linear.outputs] == ["u", "w"]
    assert linear.dt == 0.1
    x = np.zeros(len(linear.A))
    for k in range(20):
        y = np.random.default_rng(k).standard_normal(2)
        u, state = law.step(state, 0.1 * k, y, np.zeros(3))
        np.testing.assert_allclose(u, linear.C @ x + linear.D @ y, atol=1e-9)
        x = linear.A @ x + linear.B @ y


def test_laws_are_values() -> None:
    """A step changes neither the law nor the state it is given."""
    law = Delayed(Noisy(LAW, {"a": 0.1}), 2)
    state = law.initial()
    first, after = law.step(state, 0.0, np.ones(2), np.ones(3))
    again, _ = law.step(state, 0.0, np.ones(2), np.ones(3))
    np.testing.assert_array_equal(first, again)
    assert after is not state
    for _ in range(3):
        u, state = law.step(state, 0.0, np.ones(2), np.ones(3))
    assert np.abs(u).max() > 0


def test_noise_continues_past_its_first_block() -> None:
    law = Noisy(LinearLaw(0.1, ("a",), ("u",), Dy=[[1.0]]), {"a": 1.0}, seed=3)
    state, seen = law.initial(), []
    for _ in range(2500):
        u, state = law.step(state, 0.0, np.zeros(1), np.zeros(0))
        seen.append(u[0])
    np.testing.assert_array_equal(seen, law.sequence(2500)[:, 0])


@pytest.mark.parametrize(("make", "message"), [
    (lambda: LinearLaw(-1.0, (), ()), r"sample_time = -1\.0 s"),
    (lambda: LinearLaw(float("nan"), (), ()), "sample_time = nan of fx.LinearLaw is not a number"),
    (lambda: LinearLaw(0.1, "angle", ("u",)), r"measures = 'angle' \(str\) is of the wrong kind .* write \('angle',\)"),
    (lambda: LinearLaw(0.1, ("a",), ("u",), Dy=[[1.0, 2.0]]), r"law matrix Dy has shape \(1, 2\); the signals ask for"),
    (lambda: LinearLaw(0.1, ("a",), ("u",), Dy=[[np.nan]]), "Dy has entries that are not finite"),
    (lambda: LinearLaw(0.1, ("a",), ("u",), A=np.eye(2), By=np.zeros((0, 0))), "law matrix By has shape"),
    (lambda: LAW.limited(1.0, -1.0), "limits: lower"),
    (lambda: LAW.limited([1.0, 2.0, 3.0], 9.0), r"limit lower has shape \(3,\)"),
    (lambda: Delayed(LAW, -1), "delay of -1 samples"),
    (lambda: Delayed(replace(LAW, sample_time=0.0)), "cannot be delayed"),
    (lambda: Saturated(LAW, 0.0), "limit = 0.0 is not positive"),
    (lambda: Quantised(LAW, {"c": 0.1}), 'quantised output "c" is not measured'),
    (lambda: Quantised(LAW, {"a": 0.0}), "quantum of a = 0.0"),
    (lambda: Noisy(LAW, {"c": 0.1}), 'noisy output "c" is not measured'),
    (lambda: Noisy(LAW, {"a": -0.1}), "noise deviation of a = -0.1 is negative"),
    (lambda: replace(LAW, sample_time=0.0).step(np.zeros(3), 0.0, np.zeros(2), np.zeros(3)), "has no step"),
])
def test_wrong_laws_are_refused_by_name(make, message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        make()
