"""SDIRK4(3): its coefficients, its order on every formulation, jumps, commands, what it refuses, what it claims."""

from __future__ import annotations

import warnings
from functools import cache
from itertools import pairwise
from typing import Any

import accuracy_truth as truth
import numpy as np
import pytest
from accuracy_cases import samples

import flexctl as fx
from flexctl.kernels import stages, state
from flexctl.kernels.schemes import sdirk
from flexctl.kernels.stages import NOTHING, SMOOTH, START
from flexctl.laws.controller import LinearLaw
from flexctl.simulation import engines
from flexctl.simulation.plain import interpreted

DAMPED = {"damping.kind": "rayleigh", "damping.beta": 8e-5, "model.elements": 2}
MODES = {"damping.kind": "rayleigh", "damping.beta": 8e-5, "model.kind": "assumed_modes", "model.modes": [1, 1]}
TORQUES = {"joint1_torque": fx.bang_bang(0.1, 0.016), "joint2_torque": fx.Sine(0.04, 10.0)}


def full() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    A = np.zeros((5, 5))
    for i, row in enumerate(stages.A):
        A[i, :4] = row
        A[i, i] = stages.GAMMA
    return A, A[4], np.array(stages.TIMES)


def conditions(A: np.ndarray, b: np.ndarray, c: np.ndarray) -> list[list[float]]:
    """Return by how much the conditions of order 1 to 4 are missed (Hairer, Norsett and Wanner, II.2)."""
    return [
        [b.sum() - 1.0],
        [b @ c - 1 / 2],
        [b @ c**2 - 1 / 3, b @ A @ c - 1 / 6],
        [b @ c**3 - 1 / 4, b @ (c * (A @ c)) - 1 / 8, b @ A @ c**2 - 1 / 12, b @ A @ A @ c - 1 / 24],
    ]


def test_the_coefficients_are_of_order_four_and_three() -> None:
    A, b, c = full()
    assert np.allclose(A.sum(axis=1), c, atol=1e-14)
    assert np.abs(np.concatenate(conditions(A, b, c))).max() < 1e-13
    embedded = np.array(stages.EMBEDDED)
    assert np.abs(np.concatenate(conditions(A, embedded, c)[:3])).max() < 1e-13
    assert np.abs(conditions(A, embedded, c)[3]).max() > 1e-3
    assert np.allclose(b - embedded, stages.LESS, atol=1e-14)


def test_it_is_l_stable() -> None:
    A, b, _ = full()
    for z in (*(1j * np.logspace(-2, 4, 200)), -1e8):
        gain = abs(1.0 + z * b @ np.linalg.solve(np.eye(5) - z * A, np.ones(5)))
        assert gain <= 1.0 + 1e-12
    assert gain < 1e-6


@cache
def arm(**overrides: Any) -> fx.Plant:
    return fx.load_plant("planar_2r_flexible", overrides={**DAMPED, **overrides})


def quietly(plant: Any, law: Any = None, **options: Any) -> fx.Response:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fx.simulate(plant, law, **options)


def test_fourth_order_across_jumps_on_the_grid() -> None:
    """To the run of the trapezoidal rule in steps a hundred times shorter; its error is below 1e-9."""
    options: dict[str, Any] = {"inputs": TORQUES, "duration": 0.04, "record_states": True}
    exact = quietly(arm(), step=0.04 / 6400, scheme=sdirk(tolerance=1e-14), **options).q[-1]
    other = quietly(arm(), step=0.04 / 12800, method="trapezoidal", **options).q[-1]
    assert np.abs(exact - other).max() < 1e-8 * np.abs(other).max()
    steps = (50, 100, 200, 400)
    found = [np.abs(quietly(arm(), step=0.04 / n, method="sdirk", **options).q[-1] - exact).max() for n in steps]
    for coarse, fine in pairwise(found):
        assert np.log2(coarse / fine) == pytest.approx(4.0, abs=0.3), found


def test_commanded_joints_bend_an_arm_with_the_same_order() -> None:
    """The command is met at every grid point; the deflection has no error of stages that follow it otherwise."""
    moves = {"joint1": fx.Cycloid(0.0, 0.5, 0.2), "joint2": fx.Cycloid(0.0, -0.3, 0.2)}
    options: dict[str, Any] = {"motions": moves, "duration": 0.2}
    exact = quietly(arm(), step=2e-5, method="trapezoidal", **options)
    run = quietly(arm(), step=1e-3, method="sdirk", **options)
    place = np.searchsorted(exact.t, run.t - 1e-9)
    wanted = np.array([moves["joint1"](t)[0] for t in run.t])
    assert np.abs(run["joint1_angle"] - wanted).max() < 1e-9
    for name in ("link1_deflection", "link2_deflection", "elbow_strain", "joint1_torque"):
        assert np.abs(run[name] - exact[name][place]).max() < 1e-2 * np.ptp(exact[name]), name
    alpha = quietly(arm(), step=1e-3, method="generalised_alpha", **options)
    name = "link1_deflection"
    ours, theirs = (np.abs(x[name] - exact[name][place]).max() for x in (run, alpha))
    assert ours < theirs


@pytest.mark.slow
def test_errors_of_modes_beyond_the_step_do_not_add_up() -> None:
    """A stiff arm on commanded joints takes the steps that it needs, and claims no less than what is true."""
    plant = fx.load_plant("planar_2r_flexible", overrides={"model.elements": 8})
    moves = {name: fx.Cycloid(0.0, np.pi / 3, 0.4) for name in ("joint1", "joint2")}
    exact = quietly(plant, motions=moves, duration=0.5, step=2e-5, method="trapezoidal")
    run = quietly(plant, motions=moves, duration=0.5, method="sdirk")
    assert run.provenance["steps"] < 9300  # 9570 where everything was summed
    for name in ("link1_deflection", "link2_deflection", "root_strain", "elbow_strain"):
        error, extent = np.abs(samples(run, name) - samples(exact, name)).max(), np.ptp(exact[name])
        assert error <= run.error[name] <= 1e-2 * extent, name


def test_small_tolerances_take_it_and_get_what_they_ask_for() -> None:
    options: dict[str, Any] = {"inputs": TORQUES, "duration": 0.3}
    run = quietly(arm(), rtol=1e-3, **options)
    assert run.provenance["method"] == "sdirk"
    assert quietly(arm(), rtol=1e-2, **options).provenance["method"] == "generalised_alpha"
    exact = quietly(arm(), step=5e-6, method="trapezoidal", **options)
    place = np.searchsorted(exact.t, run.t - 1e-9)
    for signal in run.outputs:
        if signal.unit in ("m", "rad", "1"):
            error = np.abs(run[signal.name] - exact[signal.name][place]).max()
            assert error <= run.error[signal.name], signal.name
            assert error <= 1e-3 * np.ptp(exact[signal.name]), signal.name


def test_plain_steps_are_the_compiled_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    plant = fx.load_plant("planar_2r_flexible", overrides=MODES)
    options: dict[str, Any] = {"inputs": TORQUES, "duration": 0.02, "step": 1e-3, "method": "sdirk"}
    run = quietly(plant, **options)
    monkeypatch.setattr(engines, "implicit", engines.plain)
    plain = quietly(plant, **options)
    assert np.abs(run.y - plain.y).max() < 1e-7 * np.abs(run.y).max()
    assert run.provenance["steps"] == plain.provenance["steps"]


def test_continuous_laws_become_a_part_of_the_model() -> None:
    law = LinearLaw(0.0, ("joint1_angle",), ("joint1_torque",), A=[[-200.0]], By=[[200.0]], C=[[-1.0]])
    plant = fx.load_plant("planar_2r_flexible", overrides=MODES)
    runs = [
        quietly(plant, law, inputs=TORQUES, duration=0.02, step=h, method=m)
        for m, h in (("sdirk", 1e-3), ("generalised_alpha", 2e-5))
    ]
    (coarse, fine), name = runs, "joint1_angle"
    place = np.searchsorted(fine.t, coarse.t - 1e-9)
    assert np.abs(coarse[name] - fine[name][place]).max() < 1e-2 * np.ptp(fine[name])


FREE = {"joint.1.drive": "torque", "joint.2.drive": "torque"}
CLOSED = {"joint1_torque": fx.bang_bang(400.0, 0.02), "joint2_torque": fx.bang_bang(-150.0, 0.02)}


@cache
def closed_truth() -> dict[str, np.ndarray]:
    """An explicit method of order 8 on index 1, of none of the product's steps."""
    return truth.open_loop(fx.load_plant("ralf", overrides=FREE), CLOSED, 0.06, 1e-11)


@pytest.mark.slow
def test_fourth_order_with_closures_across_jumps() -> None:
    plant = fx.load_plant("ralf", overrides=FREE)
    options: dict[str, Any] = {"inputs": CLOSED, "duration": 0.06, "scheme": sdirk(tolerance=1e-12)}
    exact, steps = closed_truth(), (2.5e-4, 1.25e-4, 6.25e-5)
    for name in ("strain_upper", "joint3_angle", "tip_x", "joint3_rate"):
        found = []
        for h in steps:
            run = quietly(plant, step=h, **options)
            found.append(np.abs(samples(run, name) - exact[name]).max() / np.ptp(exact[name]))
        for coarse, fine in pairwise(found):
            assert np.log2(coarse / fine) == pytest.approx(4.0, abs=0.15), (name, found)
        assert found[-1] < 1e-4, (name, found)


def test_closures_hold_at_every_point() -> None:
    plant = fx.load_plant("ralf", overrides=FREE)
    run = quietly(plant, inputs=CLOSED, duration=0.06, record_states=True)
    assert run.provenance["method"] == "sdirk"  # the default of closures without a law
    for q, v in zip(run.q, run.v, strict=True):
        assert np.abs(plant.model.closure(q)).max() < 1e-13
        assert np.abs(plant.model.closure_jacobian(q) @ v).max() < 1e-11


def test_plain_steps_with_closures_are_the_compiled_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {
        "inputs": {"joint2_command": fx.bang_bang(0.02, 0.005)}, "duration": 0.012, "step": 1e-3,
        "scheme": sdirk(tolerance=1e-13),
    }
    run = quietly(fx.load_plant("ralf"), **options)
    monkeypatch.setattr(engines, "implicit", engines.plain)
    plain = quietly(fx.load_plant("ralf"), **options)
    assert np.abs(run.y - plain.y).max() < 1e-8 * np.abs(run.y).max()


@pytest.mark.parametrize(("known", "degree"), [(NOTHING, 0), (START, 1), (SMOOTH, 2)])
def test_a_stage_is_guessed_from_what_is_known(known: float, degree: int) -> None:
    """Accelerations and closure forces that are polynomials in time are met; what they are off is learnt."""
    guess, keeps = (interpreted(f.py_func) for f in (stages.extrapolate, stages.keep))
    now = state.motion(np.zeros(2), np.zeros(2), closures=1, joints=0, gap=True, broyden=False)

    def truth(t: float, off: float = 0.0) -> np.ndarray:
        return np.array([1.0 + t**degree, 3.0 - 2.0 * t**degree, 50.0 * t**degree]) + off

    steps = {NOTHING: (0.0,), START: (0.0,), SMOOTH: (-1.0, 0.0, 1.0, 2.0)}[known]
    for number, begin in enumerate(steps):
        for stage, c in enumerate(stages.TIMES):
            off = 0.1 * (stage + 1) * (1.0 + 0.5 * begin) if known == SMOOTH else 0.0
            if stage == 0 and number == 0:
                now.a[:], now.lam[:] = truth(begin)[:2], truth(begin)[2:]
                now.stages[stages.ACCELERATIONS + 4, :3] = truth(begin)
            guess(now, stage, known if number else min(known, START), 1.0, float(min(max(number - 1, 0), 2)))
            if (number > 2 or known != SMOOTH) and (stage > 0 or number > 2):
                found = np.append(now.a, now.lam)
                np.testing.assert_allclose(found, truth(begin + c, off), rtol=1e-9, atol=1e-9)
            now.a[:], now.lam[:] = truth(begin + c, off)[:2], truth(begin + c, off)[2:]
            keeps(now, stage)


def test_a_closed_arm_takes_little_more_than_one_correction_a_stage() -> None:
    pushed = {f"joint{i}_command": fx.bang_bang(np.radians(2.0), 0.25) for i in (1, 2)}
    run = fx.simulate(fx.load_plant("ralf"), inputs=pushed, duration=0.5)
    taken = 5 * (run.provenance["steps"] + run.provenance["rejected"])
    # 1.76 where closure forces are not foreseen; 1.2 as long as Newton left rests that put strains of loops off
    # (`tests/simulation/test_left_by_newton.py`)
    assert run.provenance["iterations"] < 1.65 * taken
