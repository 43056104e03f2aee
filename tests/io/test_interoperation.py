"""Working with python-control and MATLAB: our plants in their functions, their controllers in our runs."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from toys import Crane

import flexctl as fx
from flexctl.motion.moves import quintic

control = pytest.importorskip("control")

ARM = "tokhi_azad_1994"
S = 1j * np.array([2.0, 20.0, 150.0])


@pytest.fixture(scope="module")
def arm() -> fx.Plant:
    return fx.load_plant(ARM, model={"sections": 10}, damping={"kind": "modal", "ratio": 0.02}, payload={"mass": 0.01})


@pytest.fixture(scope="module")
def plant(arm: fx.Plant) -> fx.SecondOrder:
    return arm.linearise()


def pd(dt: float = 0.0, gain: float = 1.0) -> control.StateSpace:
    """A PD on angle and rate with the names of the arm."""
    return control.ss(
        np.zeros((0, 0)), np.zeros((0, 2)), np.zeros((1, 0)), [[-0.4 * gain, -0.05 * gain]], dt,
        inputs=["joint1_angle", "joint1_rate"], outputs=["joint1_torque"], name="pd",
    )


def response(system: control.StateSpace, output: str, input: str) -> np.ndarray:
    i, j = system.output_labels.index(output), system.input_labels.index(input)
    return np.array([system(s)[i, j] for s in S])


def test_interconnect_joins_by_the_names(plant: fx.SecondOrder) -> None:
    """From a disturbance torque to the tip, closed by the PD: P / (1 + K P) by hand."""
    add = control.summing_junction(inputs=["joint1_torque", "disturbance"], output="torque")
    P = plant.statespace()
    P = control.ss(P.A, P.B, P.C, P.D, inputs=["torque"], outputs=P.output_labels, states=P.state_labels, name="arm")
    outputs = ["tip_displacement", "chord1_angle", "joint1_angle"]
    closed = control.interconnect([P, pd(), add], inputs=["disturbance"], outputs=outputs)
    hub, rate, tip = plant.transfer(S)[:3, 0]
    wanted = tip / (1.0 + 0.4 * hub + 0.05 * rate)
    np.testing.assert_allclose(response(closed, "tip_displacement", "disturbance"), wanted, rtol=1e-8)
    assert closed.poles().real.max() < 0.0


def test_feedback(plant: fx.SecondOrder) -> None:
    """The same poles as our own closed loop, which keeps the names."""
    from flexctl.linear.interconnect import closed_loop

    P = plant.statespace()
    measured = P[[P.output_labels.index(n) for n in ("joint1_angle", "joint1_rate")], :]
    theirs = control.feedback(measured, pd(), sign=1)
    ours = closed_loop(plant.first_order(), fx.from_control(pd()))
    for part in (np.abs, np.real):
        np.testing.assert_allclose(np.sort(part(theirs.poles())), np.sort(part(ours.poles())), rtol=1e-6)
    assert ours.outputs[0].name == "joint1_angle"


def test_nyquist_plot_counts_what_our_poles_say(plant: fx.SecondOrder) -> None:
    """Encirclements = unstable closed-loop poles (none of the plant's is in the right half plane), stable and not."""
    from flexctl.linear.interconnect import closed_loop

    omega, P = fx.grid(plant), plant.statespace()
    measured = P[[P.output_labels.index(n) for n in ("joint1_angle", "joint1_rate")], :]
    for gain, unstable in ((1.0, False), (-1.0, True)):
        loop = -pd(gain=gain) * measured
        found = control.nyquist_response(loop, omega=omega, warn_encirclements=False)
        poles = closed_loop(plant.first_order(), fx.from_control(pd(gain=gain))).poles()
        assert (found.count > 0) == unstable == bool((poles.real > 1e-9).any())
    figure = control.nyquist_plot(loop, omega=omega, warn_encirclements=False)
    assert figure.lines.size > 0


def test_lqr(plant: fx.SecondOrder) -> None:
    """Their gain solves the Riccati equation of our modal plant and moves every pole to the left."""
    P = plant.statespace(modes=3)
    Q, R = np.eye(P.nstates), 1e3 * np.eye(1)
    K, X, poles = control.lqr(P, Q, R)
    residual = P.A.T @ X + X @ P.A - X @ P.B @ np.linalg.solve(R, P.B.T @ X) + Q
    assert np.abs(residual).max() < 1e-8 * np.abs(X).max()
    np.testing.assert_allclose(K, np.linalg.solve(R, P.B.T @ X), rtol=1e-9)
    assert poles.real.max() < 0.0


def test_input_output_response_of_the_nonlinear_export() -> None:
    """A crane under a large push: their integrator on our equations against our own run, to its tolerance."""
    model, push = Crane(), fx.bang_bang(3.0, 0.5)
    run = fx.simulate(model, inputs={"force": push}, duration=2.0, step=1e-3)
    t = np.arange(0.0, 2.0005, 0.001)
    u = np.vstack([push(t), np.zeros_like(t)])
    system = fx.nonlinear(model)
    theirs = control.input_output_response(
        system, t, u, np.zeros(4), solve_ivp_kwargs={"rtol": 1e-9, "atol": 1e-10, "max_step": 1e-3}
    )
    ours = np.interp(t, run.t, run["load"])
    assert np.abs(run["swing"]).max() > 0.1, "far enough to be nonlinear"
    # their input is linear between samples, so that the jumps are half a sample late
    np.testing.assert_allclose(theirs.outputs[system.output_labels.index("load")], ours, atol=5e-3 * np.abs(ours).max())


@pytest.mark.parametrize("dt", [0.0, 1e-3])
def test_their_controllers_run_in_our_simulation(arm: fx.Plant, dt: float) -> None:
    """A python-control PD, continuous or sampled, gives the run of our own law; a disturbance excites it."""
    push = {"joint1_torque": fx.bang_bang(0.05, 0.1)}
    theirs = fx.simulate(arm, pd(dt), inputs=push, duration=0.5)
    law = fx.LinearLaw(dt, ("joint1_angle", "joint1_rate"), ("joint1_torque",), Dy=[[-0.4, -0.05]])
    ours = fx.simulate(arm, law, inputs=push, duration=0.5)
    np.testing.assert_array_equal(theirs.y, ours.y)
    assert np.abs(theirs["joint1_torque"]).max() > 0.05


@pytest.mark.parametrize("dt", [0.0, 1e-3])
def test_their_transfer_functions_run_too(arm: fx.Plant, dt: float) -> None:
    """A lead with the names of the arm, against a LinearLaw written by hand: -0.4 - 0.05 s / (1 + s tf)."""
    push, tf = {"joint1_torque": fx.bang_bang(0.05, 0.1)}, 0.02
    names = {"inputs": ["joint1_angle"], "outputs": ["joint1_torque"]}
    if dt:  # -0.4 - 0.05 (z - 1) / (tf (z - a)), a = exp(-dt / tf)
        a, gain = np.exp(-dt / tf), 0.05 / tf
        lead = control.tf([-0.4 - gain, 0.4 * a + gain], [1.0, -a], dt, **names)
        law = fx.LinearLaw(
            dt, ("joint1_angle",), ("joint1_torque",), A=[[a]], By=[[1.0]], C=[[gain * (1 - a)]], Dy=[[-0.4 - gain]]
        )
    else:
        lead = control.tf([-0.4 * tf - 0.05, -0.4], [tf, 1.0], **names)
        law = fx.LinearLaw(
            0.0, ("joint1_angle",), ("joint1_torque",), A=[[-1 / tf]], By=[[1 / tf]], C=[[0.05 / tf]],
            Dy=[[-0.4 - 0.05 / tf]],
        )
    theirs, ours = (fx.simulate(arm, one, inputs=push, duration=0.5) for one in (lead, law))
    np.testing.assert_allclose(theirs.y, ours.y, rtol=0, atol=1e-10 * np.abs(ours.y).max())
    assert np.abs(theirs["joint1_torque"]).max() > 0.05


def test_a_controller_that_cannot_run_says_what_to_do(arm: fx.Plant) -> None:
    names = {"inputs": ["joint1_angle"], "outputs": ["joint1_torque"]}
    wrong = {
        "no state space.*filter of the derivative": control.tf([-0.05, -0.4], [1.0], **names),
        r"have no names.*inputs=\[plant outputs\]": control.tf([-0.4], [0.02, 1.0]),
        "have no names": control.ss([], [], [], [[-0.4]]),
        "dt = True": control.tf([-0.4], [1.0, 0.5], True, **names),
        "FrequencyResponseData is not a controller": control.frd([1.0, 2.0], [1.0, 2.0]),
    }
    for message, law in wrong.items():
        with pytest.raises(fx.DefinitionError, match=message):
            fx.simulate(arm, law, duration=0.1)


def test_a_nonlinear_loop_in_their_interconnect() -> None:
    """A crane, exported, and a PD of theirs, joined by names and integrated by them; ours on the same loop."""
    model = Crane()
    gains = control.ss([], [], [], [[-20.0, -2.0]], inputs=["cart", "cart_rate"], outputs=["force"], name="pd")
    plant = fx.nonlinear(model)
    others = [name for name in plant.input_labels if name != "force"]
    loop = control.interconnect([plant, gains], inputs=others, outputs=plant.output_labels)
    start = np.array([0.4, 0.8, 0.0, 0.0])
    t = np.linspace(0.0, 2.0, 401)
    theirs = control.input_output_response(
        loop, t, np.zeros((len(others), t.size)), start, solve_ivp_kwargs={"rtol": 1e-9, "atol": 1e-10}
    )
    run = fx.simulate(model, gains, duration=2.0, step=1e-3, initial=(start[:2], start[2:]))
    for name in plant.output_labels:
        ours = np.interp(t, run.t, run[name])
        found = theirs.outputs[loop.output_labels.index(name)]
        np.testing.assert_allclose(found, ours, atol=2e-4 * np.abs(ours).max())
    assert np.abs(run["swing"]).max() > 0.5, "far enough to be nonlinear"


def test_a_controller_with_states_from_their_synthesis(arm: fx.Plant, plant: fx.SecondOrder) -> None:
    """lqr and lqe of python-control make a continuous observer controller that brings our arm to rest."""
    P = plant.statespace(modes=2)
    P = P[[P.output_labels.index("joint1_angle"), P.output_labels.index("tip_displacement")], :]
    K, _, _ = control.lqr(P, np.eye(P.nstates), 3.0 * np.eye(1))
    # not lqe(P, ...): python-control 0.10.2 refuses B QN B' where it is unsymmetric by rounding
    L, _, _ = control.lqe(P.A, np.eye(P.nstates), P.C, 1e2 * np.diag(np.diag(P.B @ P.B.T)), 1e-4 * np.eye(2))
    A = P.A - P.B @ K - L @ P.C
    names = {"inputs": ["joint1_angle", "tip_displacement"], "outputs": ["joint1_torque"]}
    law = control.ss(A, L, -K, np.zeros((1, 2)), **names, name="lqg")
    start = np.linspace(0.0, 0.02, len(arm.model.coordinates))
    run = fx.simulate(arm, law, duration=3.0, initial=(start, 0 * start))
    assert np.abs(run["tip_displacement"][run.t > 2.5]).max() < 0.1 * np.abs(run["tip_displacement"][run.t < 0.5]).max()


def test_matrices_to_matlab_and_back(plant: fx.SecondOrder, tmp_path: Path) -> None:
    """What MATLAB's load and save see: plain arrays under plain names, read back as the same plant."""
    from scipy.io import loadmat, savemat

    path = plant.save(tmp_path / "arm.mat")
    seen = loadmat(path)
    for name in ("A", "B", "C", "D", "M", "K"):
        assert seen[name].dtype == float
    # a MATLAB user stiffens the arm and saves M, D, K, B, C under his own names
    savemat(tmp_path / "user.mat", {"M": seen["M"], "K": 1.21 * seen["K"], "D": seen["Damping"], "B": seen["B_force"],
                                    "Cq": seen["Cq"]})
    back = fx.load_linear(tmp_path / "user.mat")
    np.testing.assert_allclose(back.modes().frequencies_hz, 1.1 * plant.modes().frequencies_hz, rtol=1e-9)
    # and a controller designed there comes as A, B, C, D with names
    savemat(tmp_path / "pd.mat", {"A": [[-50.0]], "B": [[1.0, 0.0]], "C": [[-20.0]], "D": [[-0.4, -0.05]],
                                  "inputs": np.array(["joint1_angle", "joint1_rate"], object),
                                  "outputs": "joint1_torque"})
    law = fx.load_linear(tmp_path / "pd.mat")
    assert [s.name for s in law.inputs] == ["joint1_angle", "joint1_rate"]
    arm = fx.load_plant(ARM)
    run = fx.simulate(arm, law, inputs={"joint1_torque": fx.bang_bang(0.05, 0.1)}, duration=0.3)
    assert np.isfinite(run["tip_displacement"]).all()


@pytest.mark.skipif(shutil.which("octave") is None, reason="Octave is not installed: apt install octave")
def test_octave_computes_the_same_poles(plant: fx.SecondOrder, tmp_path: Path) -> None:
    plant.save(tmp_path / "arm.mat")
    script = "load arm.mat; p = sort(abs(eig(A))); printf('%.17g\\n', p);"
    words = ["octave", "--quiet", "--eval", script]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    wanted = np.sort(np.abs(plant.first_order().poles()))
    found = np.array([float(x) for x in done.stdout.split()])
    rigid = wanted < 1e-3  # a double integrator: any eigenvalue code spreads it
    assert rigid.sum() == (found < 1e-3).sum() == 2
    np.testing.assert_allclose(found[~rigid], wanted[~rigid], rtol=1e-9)


def test_a_reference_is_followed_by_their_controller_with_two_degrees_of_freedom(arm: fx.Plant) -> None:
    """Inputs of their controller that are no outputs of the plant are refused with a name, not ignored."""
    law = control.ss([], [], [], [[-0.4, 0.4]], 1e-3, inputs=["joint1_angle", "wanted"], outputs=["joint1_torque"])
    with pytest.raises(fx.DefinitionError, match="wanted"):
        fx.simulate(arm, law, quintic(0.0, 0.1, 0.2), duration=0.1)
