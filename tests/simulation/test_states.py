"""Plants in states in `simulate`: against closed forms, against the same plant in mass and stiffness, and sampled."""

from __future__ import annotations

import control
import numpy as np
import pytest
import scipy.linalg as sla
from scipy.integrate import solve_ivp

import flexctl as fx

A = np.array([[0.0, 1.0], [-400.0, -0.4]])
OSCILLATOR = control.ss(
    A, [[0.0], [1.0]], [[1.0, 0.0], [0.0, 1.0], [-400.0, -0.4]], [[0.0], [0.0], [1.0]], inputs=["f"],
    outputs=["x", "v", "a"],
)
SAMPLED = control.ss([[0.9]], [[0.1]], [[1.0]], [[0.5]], 0.01, inputs=["u"], outputs=["y"])


def law(**more):
    return fx.LinearLaw(0.01, ("y",), ("u",), ("y",), Dy=[[-0.5]], Dr=[[0.5, 0.0, 0.0]], **more)


def test_held_inputs_are_propagated_exactly() -> None:
    run = fx.simulate(OSCILLATOR, inputs={"f": fx.PiecewiseConstant((0.05, 0.3125), (0.0, 2.0, -1.0))}, duration=0.5,
                      step=0.01, initial=[0.1, 0.0], record_states=True)
    x = np.array([0.1, 0.0])
    for h, u in ((0.05, 0.0), (0.2625, 2.0), (0.1875, -1.0)):
        E = sla.expm(np.block([[A * h, np.array([[0.0], [u]]) * h], [np.zeros((1, 3))]]))
        x = E[:2, :2] @ x + E[:2, 2]
    assert run.q[-1] == pytest.approx(x, rel=1e-10)
    assert run["a"][-1] == pytest.approx(-400 * x[0] - 0.4 * x[1] - 1.0, rel=1e-9)
    assert run.v[-1] == pytest.approx([x[1], run["a"][-1]], rel=1e-9)
    assert set(run.error.values()) == {0.0}
    assert run.provenance["method"] == "exact"


@pytest.mark.parametrize(("hertz", "step"), [(3.0, 0.02), (1.0, 0.05), (8.0, 0.01)])
def test_the_error_of_a_curved_input_is_honest(hertz, step) -> None:
    signal = fx.Sine(1.0, hertz)
    run = fx.simulate(OSCILLATOR, inputs={"f": signal}, duration=1.0, step=step)
    truth = solve_ivp(lambda t, x: A @ x + np.array([0.0, float(signal(np.array(t)))]), (0.0, 1.0), [0.0, 0.0],
                      rtol=1e-11, atol=1e-13, t_eval=run.t).y.T
    off = np.abs(run.y[:, :2] - truth).max(axis=0)
    claimed = np.array([run.error["x"], run.error["v"]])
    assert np.all(off <= claimed)
    assert np.all(claimed <= 5.0 * off)


def test_samples_finer_than_the_step_do_not_pass_for_exact() -> None:
    noise = fx.Sampled(np.linspace(0.0, 1.0, 1001), np.random.default_rng(0).standard_normal(1001))
    with pytest.warns(fx.AccuracyWarning, match="curves within a step"):
        run = fx.simulate(OSCILLATOR, inputs={"f": noise}, duration=1.0, step=0.005)
    fine = fx.simulate(OSCILLATOR, inputs={"f": noise}, duration=1.0, step=0.001)
    assert np.abs(run["x"] - fine["x"][::5]).max() <= run.error["x"]
    assert fine.error["x"] < 1e-12


def test_states_and_coordinates_give_the_same_runs() -> None:
    arm = fx.load_plant("tokhi_azad_1994", model={"sections": 6}, damping={"kind": "modal", "ratio": 0.01})
    plant, move = arm.linearise(), fx.quintic(0.0, 0.09, 0.2)
    gains = {"Dy": [[-2.0, -0.1]], "Dr": [[2.0, 0.0, 0.0]]}
    signals = (("joint1_angle", "joint1_rate"), ("joint1_torque",), ("joint1_angle",))
    for period in (1e-3, 0.0):
        known = fx.LinearLaw(period, *signals, **gains)
        one, two = (fx.simulate(p, known, move, duration=0.4) for p in (plant, plant.first_order()))
        assert two.y == pytest.approx(one.y, abs=1e-9)
        assert two.u == pytest.approx(one.u, abs=1e-8)
    sampled = fx.simulate(plant.discrete(1e-3), fx.LinearLaw(1e-3, *signals, **gains), move, duration=0.4)
    held = fx.simulate(plant, fx.LinearLaw(1e-3, *signals, **gains), move, duration=0.4)
    assert sampled.y == pytest.approx(held.y, abs=1e-9)


def test_a_sampled_plant_is_its_equation() -> None:
    run = fx.simulate(SAMPLED, fx.Delayed(law()), fx.Step(0.0, 1.0), duration=0.1)
    x, u, y = 0.0, [0.0], []
    for k in range(run.t.size):
        y.append(x + 0.5 * u[k])
        u.append(-0.5 * y[k] + 0.5)
        x = 0.9 * x + 0.1 * u[k]
    assert run["y"][:-1] == pytest.approx(y[:-1], abs=1e-14)
    slow = fx.simulate(control.ss([[0.9]], [[0.1]], [[1.0]], [[0.0]], 0.01, inputs=["u"], outputs=["y"]),
                       fx.LinearLaw(0.03, ("y",), ("u",), Dy=[[-0.5]]), initial=[1.0], duration=0.09)
    assert slow["u"][:6] == pytest.approx([-0.5] * 3 + [-0.5 * slow["y"][3]] * 3)


class InPython:
    """A law of which only the step is known."""

    sample_time, measures, drives, follows = 0.01, ("y",), ("u",), ()

    def initial(self):
        return 0

    def step(self, state, t, y, r):
        return np.array([1.0 - 0.5 * y[0]]), state + 1


@pytest.mark.parametrize("known", [law(), fx.Saturated(law(), 0.45), InPython()])
def test_an_algebraic_loop_within_a_sample_is_refused(known) -> None:
    reference = fx.Step(0.0, 1.0) if known.follows else None
    with pytest.raises(fx.NotAvailable, match="algebraic loop"):
        fx.simulate(SAMPLED, known, reference, duration=0.1)


def test_feed_through_of_a_continuous_loop_is_solved_for() -> None:
    known = fx.LinearLaw(0.0, ("a",), ("f",), Dy=[[-2.0]])
    run = fx.simulate(OSCILLATOR, known, initial=[1.0, 0.0], duration=0.5)
    # a = -400 x - .4 v + f, f = -2 a: a third of the stiffness and damping
    exact = np.array([(sla.expm(A * [[1.0], [1.0 / 3.0]] * t) @ [1.0, 0.0])[0] for t in run.t])
    assert run["x"] == pytest.approx(exact, abs=1e-10)
    assert run["f"] == pytest.approx(-2.0 * run["a"])


def test_what_does_not_go_is_said() -> None:
    cases = [
        ({"method": "newmark"}, "propagated exactly"), ({"initial": [1.0]}, "initial state has shapes"),
        ({"payload": [(0.05, 0.1, 0.0)], "inputs": {"f": fx.Sine(1.0, 1.0)}}, "cannot change its payload"),
        ({"motions": {"x": fx.quintic(0.0, 1.0, 0.1)}}, 'unknown input of a linear plant .*"x"'),
        ({"motions": {"f": fx.quintic(0.0, 1.0, 0.1)}, "inputs": {"f": fx.Sine(1.0, 1.0)}}, "driven although"),
    ]
    for options, message in cases:
        with pytest.raises(fx.FlexctlError, match=message):
            fx.simulate(OSCILLATOR, duration=0.1, **options)
    for known, message in (
        (fx.LinearLaw(0.015, ("y",), ("u",), Dy=[[-0.5]]), "give a multiple"),
        (fx.LinearLaw(0.0, ("y",), ("u",), Dy=[[-0.5]]), "continuous law on a plant that is sampled"),
    ):
        with pytest.raises(fx.DefinitionError, match=message):
            fx.simulate(SAMPLED, known, duration=0.1)
    with pytest.warns(fx.AccuracyWarning, match=r"u at t = 0.034 s acts from the next sample on"):
        run = fx.simulate(SAMPLED, inputs={"u": fx.PiecewiseConstant((0.034,), (0.0, 1.0))}, duration=0.1)
    assert run["u"].tolist() == [0.0] * 4 + [1.0] * 7


def test_motions_lead_inputs_and_states_may_be_of_any_size() -> None:
    move = fx.quintic(0.0, 1.0, 0.05)
    run = fx.simulate(OSCILLATOR, motions={"f": move}, duration=0.1)
    assert run["f"] == pytest.approx(move(run.t)[0])
    huge = control.ss([[-1.0]], [[1e9]], [[1e-9]], [[0.0]], inputs=["u"], outputs=["y"])
    run = fx.simulate(huge, inputs={"u": fx.PiecewiseConstant((0.0,), (0.0, 1.0))}, duration=5.0, step=0.5)
    assert run["y"] == pytest.approx(1.0 - np.exp(-run.t), rel=1e-12)
    growing = control.ss([[100.0]], [[1.0]], [[1.0]], [[0.0]], inputs=["u"], outputs=["y"])
    with pytest.raises(fx.ConvergenceError, match="diverge"):
        fx.simulate(growing, inputs={"u": fx.PiecewiseConstant((0.0,), (0.0, 1.0))}, duration=10.0)
