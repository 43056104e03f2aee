"""Modal models of frequency responses: the figures that are asked for, and what they are warned of."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

import flexctl as fx
from flexctl import identify

HEADS = ["joint1_angle [rad]", "strain [1]", "tip_acceleration [m/s^2]"]
ARM = fx.load_plant(
    "tokhi_azad_1994",
    model={"kind": "finite_difference", "sections": 30},
    payload={"mass": 0.05},
    damping={"kind": "modal", "ratio": 0.012},
    joint={1: {"hub_inertia": 0.02}},
    sensor=[
        {"name": "strain", "kind": "strain", "position": 0.0},
        {"name": "tip_acceleration", "kind": "acceleration", "position": 1.0},
    ],
)


def plant(modes: int) -> fx.FirstOrder:
    whole = ARM.linearise().first_order(modes=modes)
    at = [fx.names(whole.outputs).index(head.split(" ")[0]) for head in HEADS]
    return replace(whole, C=whole.C[at], D=whole.D[at], outputs=tuple(whole.outputs[i] for i in at))


def noisy(system: fx.FirstOrder, w: np.ndarray, seed: int, relative: float = 0.01) -> identify.MeasuredResponse:
    H = system.transfer(1j * w)
    rng = np.random.default_rng(seed)
    sigma = relative * np.abs(H)
    H = H + sigma * (rng.standard_normal(H.shape) + 1j * rng.standard_normal(H.shape)) / np.sqrt(2)
    return identify.measured_response(w, H, ["joint1_torque [N m]"], HEADS, sigma=sigma)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)])
def test_one_percent_of_noise(seed: int) -> None:
    """Five modes in the band: frequencies to 1e-4, damping to 1e-2, and the number of modes is found."""
    system = plant(5)
    found = identify.modal(noisy(system, 2 * np.pi * np.linspace(0.5, 180, 3591), seed), most=7)
    modes = system.modes()
    assert found.poles.size == 5
    assert found.delay == 0.0
    assert np.abs(found.frequencies_hz / modes.frequencies_hz - 1).max() < 1e-4
    assert np.abs(found.damping / modes.damping - 1).max() < 1e-2
    assert 0.95 < found.chi2 < 1.05
    off = np.concatenate(
        [
            (found.frequencies_hz / modes.frequencies_hz - 1) / found.sigma_frequency,
            (found.damping / modes.damping - 1) / found.sigma_damping,
        ]
    )
    assert np.abs(off).max() < 4.0
    assert 0.3 < np.sqrt(np.mean(off**2)) < 2.0  # sigma is honest
    w = 2 * np.pi * np.linspace(1, 150, 100)
    assert np.abs(found.plant.transfer(1j * w) / system.transfer(1j * w) - 1).max() < 2e-2
    assert found.stable.all()


def test_a_delay_is_found_and_what_it_does_when_it_is_not_taken_out() -> None:
    system = plant(3)
    w = 2 * np.pi * np.linspace(1.0, 60.0, 500)
    sampled = fx.zero_order_hold(system, 1e-3, delay=3e-3)
    made = noisy(system, w, 0)
    noise = made.response - system.transfer(1j * w)
    data = replace(made, response=sampled.transfer(np.exp(1j * w * 1e-3)) + noise, dt=1e-3, held=True)
    found = identify.modal(data.choose(["joint1_angle", "strain"]), most=5)
    assert found.delay == pytest.approx(3e-3)
    assert not found.plant.D.any()
    assert np.abs(found.frequencies_hz[:3] / system.modes().frequencies_hz - 1).max() < 1e-3


def test_without_rigid_terms_the_first_damping_is_wrong() -> None:
    system = plant(3)
    data = noisy(system, 2 * np.pi * np.linspace(1.0, 60.0, 600), 0)
    right = identify.modal(data, pairs=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fx.DataWarning)
        wrong = identify.modal(data, pairs=3, rigid=False)
    assert right.chi2 < 1.1
    assert wrong.chi2 > 10.0


def test_several_inputs_get_residues_of_rank_one() -> None:
    M, K = np.diag([1.0, 2.0]), np.array([[300.0, -100.0], [-100.0, 400.0]])
    two = fx.from_matrices(M, 0.002 * K, K, np.eye(2), np.eye(2), inputs=["f1", "f2"], outputs=["x1", "x2"])
    w = np.linspace(5.0, 40.0, 400)
    data = identify.measured_response(
        w, two.transfer(1j * w), ["f1 [N]", "f2 [N]"], ["x1 [m]", "x2 [m]"], relative=0.001
    )
    found = identify.modal(data, pairs=2, delay=0.0)
    assert len(found.plant.states) == 4
    assert np.abs(found.plant.transfer(1j * w) / two.transfer(1j * w) - 1).max() < 1e-3


def test_a_mode_between_lines_is_told() -> None:
    w = np.linspace(1.0, 30.0, 60)
    H = 1.0 / (100.3 - w**2 + 2e-3j * w) + 1.0 / (400.0 - w**2 + 2j * w)
    data = identify.measured_response(w, H, ["force [N]"], ["x [m]"], relative=0.01)
    with pytest.warns(fx.DataWarning, match="no excited line lies within the peak of the mode at 1.59"):
        identify.modal(data, pairs=2, delay=0.0)


def test_unknown_deviations_and_too_few_lines() -> None:
    w = np.linspace(1.0, 30.0, 60)
    data = identify.measured_response(w, 1.0 / (100.0 - w**2 + 0.4j * w), ["force [N]"], ["x [m]"])
    with pytest.warns(fx.DataWarning, match="standard deviation of the lines is not known"):
        found = identify.modal(data, pairs=1)
    assert found.damping[0] == pytest.approx(0.02, rel=1e-6)
    with pytest.raises(fx.DefinitionError, match="5 lines are too few"):
        identify.modal(data.lines(slice(0, 5)), pairs=1)
    with pytest.raises(fx.DefinitionError, match="not finite"):
        identify.measured_response(w, w * np.nan, ["force [N]"], ["x [m]"])


@pytest.mark.parametrize("noise", [1e-6, 0.01])
def test_a_joint_with_viscous_friction_integrates_once(noise: float) -> None:
    """1 / (s (s + 0.76)) and a mode: a second integrator made of noise would be one that no law moves."""
    A = np.array([[0.0, 1.0, 0.0, 0.0], [0.0, -0.8, 30.0, 0.0], [0.0, 0.0, 0.0, 1.0], [0.0, 0.4, -300.0, -0.6]])
    B, C = np.array([[0.0], [5.0], [0.0], [-5.0]]), np.eye(2, 4)
    w = np.geomspace(0.5, 200.0, 400)
    H = np.array([C @ np.linalg.solve(1j * x * np.eye(4) - A, B) for x in w])[:, :, 0].T[:, None]
    rng = np.random.default_rng(2)
    H = H * (1.0 + noise * (rng.standard_normal(H.shape) + 1j * rng.standard_normal(H.shape)) / np.sqrt(2.0))
    heads = ["joint1_angle [rad]", "joint1_rate [rad/s]"]
    found = identify.modal(identify.measured_response(w, H, ["joint1_torque [N m]"], heads, relative=noise))
    poles = found.plant.poles()
    assert int(np.sum(np.abs(poles) < 1e-9)) == 1
    assert np.abs(poles + 0.760016).min() < 0.03
    law = found.plant.B @ np.array([[-1.0, -0.3]]) @ found.plant.C
    assert np.linalg.eigvals(found.plant.A + law).real.max() < -0.1


@pytest.mark.parametrize(("noise", "delay", "direct"), [(0.0, 0, True), (0.0, 3, False), (1e-3, 2, True)])
def test_held_samples_up_to_nyquist_give_the_modes_and_no_others(noise: float, delay: int, direct: bool) -> None:
    """With the lag of the hold divided out, what is folded back was fitted with six fast modes and another delay."""
    dt, system = 1e-3, plant(5)
    system = replace(system, C=system.C[:2], D=system.D[:2], outputs=system.outputs[:2])
    held = fx.zero_order_hold(system, dt, delay=delay * dt)
    w = np.pi / dt * np.linspace(1e-3, 1.0, 800)
    H = held.transfer(np.exp(1j * w * dt))
    rng = np.random.default_rng(0)
    H = H * (1.0 + noise * (rng.standard_normal(H.shape) + 1j * rng.standard_normal(H.shape)) / np.sqrt(2.0))
    heads = ["joint1_torque [N m]"], HEADS[:2]
    data = identify.measured_response(w, H, *heads, relative=noise or 1e-6, dt=dt, held=True)
    found = identify.modal(data, most=8, direct=direct)
    modes = system.modes()
    assert found.delay == pytest.approx(delay * dt)
    assert found.poles.size == 5
    limit = 1e-9 if noise == 0.0 else 5.0 * found.sigma_frequency
    assert np.all(np.abs(found.frequencies_hz / modes.frequencies_hz - 1.0) < limit)
    limit = 1e-7 if noise == 0.0 else 5.0 * found.sigma_damping
    assert np.all(np.abs(found.damping / modes.damping - 1.0) < limit)
    again = fx.zero_order_hold(found.plant, dt, delay=found.delay).transfer(np.exp(1j * w * dt))
    assert np.abs(again / held.transfer(np.exp(1j * w * dt)) - 1.0).max() < (1e-9 if noise == 0.0 else 10.0 * noise)


def test_lines_above_half_the_sampling_are_refused() -> None:
    w = np.linspace(1.0, 40.0, 60)
    H = 1.0 / (100.0 - w**2 + 0.4j * w)
    data = identify.measured_response(w, H, ["force [N]"], ["x [m]"], relative=0.01, dt=0.1, held=True)
    with pytest.raises(fx.DefinitionError, match=r"the line at 6.36\d* Hz is above 5 Hz, half the sampling"):
        identify.modal(data)


def fed(response: np.ndarray, w: np.ndarray, sigma: np.ndarray | None = None) -> fx.FirstOrder:
    data = identify.measured_response(w, response, ["force [N]"], ["x [m]", "a [m/s^2]"], sigma=sigma)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of deviations that are not known
        return identify.modal(data, delay=0.0).plant


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_only_what_is_fed_through_has_feed_through(noise: float) -> None:
    """A displacement had 1e-9 of it, and with it no H2 norm; its acceleration has it."""
    w = 2.0 * np.pi * np.linspace(0.5, 60.0, 300)
    x = 1.0 / (100.0 - w**2 + 0.4j * w) + 0.3 / (900.0 - w**2 + 0.6j * w)
    true = np.array([x, -(w**2) * x])
    rng = np.random.default_rng(0)
    sigma = noise * np.abs(true)
    made = true + sigma * (rng.standard_normal(true.shape) + 1j * rng.standard_normal(true.shape)) / np.sqrt(2.0)
    found = fed(made[:, None], w, sigma[:, None] if noise else None)
    assert found.D[0, 0] == 0.0
    assert found.D[1, 0] == pytest.approx(1.3, rel=1e-2 if noise else 1e-6)
    one = replace(found, C=found.C[:1], D=found.D[:1], outputs=found.outputs[:1])
    assert np.abs(one.transfer(1j * w)[0, 0] / x - 1.0).max() < (0.1 if noise else 1e-6)
    assert float(one.norm(2)) == pytest.approx(0.11218, rel=1e-2 if noise else 1e-4)


def test_what_modes_above_the_band_feed_through_is_kept() -> None:
    w = 2.0 * np.pi * np.linspace(0.5, 60.0, 300)
    x = sum(c / (k**2 - w**2 + 0.1j * k * w) for k, c in ((10.0, 1.0), (30.0, 0.5), (3e3, 5.0), (4e3, 8.0)))
    data = identify.measured_response(w, np.asarray(x), ["force [N]"], ["x [m]"], relative=0.01)
    found = identify.modal(data, pairs=2, delay=0.0).plant
    assert found.D[0, 0] == pytest.approx(5.0 / 3e3**2 + 8.0 / 4e3**2, rel=0.05)


def test_a_pole_at_zero_agrees_with_no_mode() -> None:
    """Which of the poles of an order that are hardly there fall on zero hangs on the last digit."""
    from flexctl.identify.modal import _agrees

    pole = complex(-0.02, 2.0)
    assert not _agrees(pole, np.array([0.0 + 0.0j]))
    assert _agrees(pole, np.array([0.0 + 0.0j, 1.001 * pole]))
