"""Inputs that answer to the noise of an output: found in loops, and in no record without one."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.signal import butter, chirp, lfilter

import flexctl as fx
from flexctl import identify
from flexctl.identify.feedback import answers
from flexctl.identify.output_error import simulated

DT, COUNT = 1e-3, 12000
ARM = fx.load_plant(
    "tokhi_azad_1994", payload={"mass": 0.05}, damping={"kind": "modal", "ratio": 0.01},
    joint={1: {"hub_inertia": 0.01}},
)
PLANT = fx.zero_order_hold(ARM.linearise().first_order(modes=4), DT)
ROWS = [fx.names(PLANT.outputs).index(name) for name in ("joint1_angle", "joint1_rate", "tip_displacement")]
HEADS = ["joint1_angle [rad]", "joint1_rate [rad/s]", "tip_displacement [m]"]
DRAW = np.random.default_rng(0)
T = np.arange(COUNT) * DT
EXCITATIONS = {
    "white": DRAW.standard_normal(COUNT), "coloured": lfilter([0.01], [1.0, -0.99], DRAW.standard_normal(COUNT)),
    "band": lfilter(*butter(4, [0.004, 0.12], "band"), DRAW.standard_normal(COUNT)),
    "multisine": sum(np.cos(2 * np.pi * f * T + DRAW.uniform(0.0, 6.28)) for f in np.arange(1, 61) * 0.97531),
    "sweep": chirp(T, 0.5, T[-1], 60.0),
    "telegraph": np.sign(lfilter([1.0], [1.0, -0.98], DRAW.standard_normal(COUNT))),
    "steps": np.repeat(DRAW.standard_normal(COUNT // 100), 100),
    "doublets": np.where(T % 2 < 0.1, 1.0, np.where(T % 2 < 0.2, -1.0, 0.0)),
}


def outputs(u: np.ndarray) -> np.ndarray:
    return np.asarray(simulated(PLANT.A, PLANT.B, u[:, None]) @ PLANT.C.T + u[:, None] @ PLANT.D.T)[:, ROWS]


def recorded(u: np.ndarray, y: np.ndarray) -> identify.Record:
    heads = HEADS[: y.shape[1]]
    return identify.record(DT, {"joint1_torque [N m]": u}, dict(zip(heads, y.T, strict=True)), period=0.0)


@pytest.mark.parametrize("kind", EXCITATIONS)
def test_nothing_is_told_of_open_loops(kind) -> None:
    u = 0.1 * EXCITATIONS[kind] / np.std(EXCITATIONS[kind])
    y, rng = outputs(u), np.random.default_rng(1)
    noise = y.std(axis=0) * rng.standard_normal(y.shape)
    step = 2 * np.pi / 4096
    rubbed = outputs(u - 0.02 * np.tanh(y[:, 1] / 0.01))
    noisy = [y + part * noise for part in (0.0, 1e-4, 1e-2, 0.3)]
    at_once = np.vstack([y[1:], y[-1:]])  # what is recorded at the end of a sample answers to the input of the sample
    for data in (*noisy, np.round(y / step) * step, rubbed + 1e-3 * noise, at_once, at_once + 1e-2 * noise):
        assert answers(recorded(u, data)) == []


def closed(r: np.ndarray, gains: tuple[float, float], noise: float, delay: int) -> tuple[np.ndarray, np.ndarray]:
    """Return torque and angle, with its noise, of a PD loop about the arm."""
    e = noise * np.random.default_rng(2).standard_normal(r.size)
    x, before, row = np.zeros(len(PLANT.states)), 0.0, PLANT.C[ROWS[0]]
    u, y = r.copy(), np.zeros(r.size)
    for k in range(r.size):
        y[k] = row @ x + e[k]
        if k + delay < r.size:
            u[k + delay] -= gains[0] * y[k] + gains[1] * (y[k] - before) / DT
        before = y[k]
        x = PLANT.A @ x + PLANT.B[:, 0] * u[k]
    return u, y


@pytest.mark.parametrize(("noise", "delay"), [(1e-3, 0), (1e-3, 1), (1e-3, 3), (1e-4, 1)])
def test_loops_are_told(noise, delay) -> None:
    r = 0.2 * lfilter(*butter(2, 0.06), np.random.default_rng(3).standard_normal(COUNT))
    u, y = closed(r, (2.0, 0.1), noise, delay)
    data = recorded(u, y[:, None])
    (found,) = answers(data)
    assert found.part > (0.5 if delay else 0.2)  # without delay a part of it shows within the sample alone
    with pytest.warns(fx.DataWarning, match=r'answers to the noise of "joint1_angle" .*--reference NAME'):
        identify.frf(data, segment=2.0)
    both = identify.record(
        DT, {"joint1_torque [N m]": u}, {"joint1_angle [rad]": y}, {"asked [N m]": r}, period=0.0
    )
    with pytest.warns(fx.DataWarning, match='method = "reference"'):
        identify.frf(both, "H1", segment=2.0)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "the input answers")
        warnings.filterwarnings("ignore", "output")
        assert identify.frf(both, segment=2.0).method == "reference"


@pytest.mark.parametrize("noise", [1e-5, 2e-4, 1e-3])
@pytest.mark.parametrize("delay", [0, 1])
def test_loops_about_references_that_the_past_tells_are_told(noise: float, delay: int) -> None:
    """Of a multisine the law leaves no noise at all: angle and torque are tied as an arm and its torque would be."""
    u, y = closed(0.2 * EXCITATIONS["multisine"] / np.std(EXCITATIONS["multisine"]), (2.0, 0.1), noise, delay)
    (found,) = answers(recorded(u[:6000], y[:6000, None]))
    assert found.part > 0.5


@pytest.mark.parametrize(("gain", "noise"), [(2.0, 0.1), (1.0, 1.0), (0.0, 0.1)])
def test_loops_that_answer_within_the_sample_are_told_of_angles(gain: float, noise: float) -> None:
    """A gain without delay about a white reference; H1 is wrong by what it feeds back."""
    r = 0.2 * np.random.default_rng(3).standard_normal(COUNT)
    u, y = closed(r, (gain, 0.0), noise, 0)
    assert len(answers(recorded(u, y[:, None]))) == (gain > 0.0)


@pytest.mark.parametrize("loop", [True, False])
def test_fits_of_records_tell_of_loops_too(loop: bool) -> None:
    """Of a mass on a spring in a loop gains were off by their own size, silently."""
    r = 0.2 * lfilter(*butter(2, 0.06), np.random.default_rng(3).standard_normal(COUNT))
    u, y = closed(r, (2.0, 0.1) if loop else (0.0, 0.0), 1e-2, 1)
    data = identify.record(DT, {"joint1_torque [N m]": u[:4000]}, {"joint1_angle [rad]": y[:4000]}, period=0.0)
    for what, fit in (
        ("poles and gains", lambda: identify.subspace(data, 4, horizons=(20,), refine=False)),
        ("parameters and their deviations",
         lambda: identify.parameters(ARM, data, ["joint.1.hub_inertia"], delay=0, mesh=False, engine="linear")),
    ):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            fit()
        said = [str(x.message) for x in told if "answers to the noise" in str(x.message)]
        assert len(said) == loop
        assert all(f"{what} are biased by what is fed back" in text for text in said)


def test_loops_without_noise_and_noisy_inputs() -> None:
    r = 0.2 * lfilter(*butter(2, 0.06), np.random.default_rng(3).standard_normal(COUNT))
    u, y = closed(r, (2.0, 0.1), 0.0, 1)
    assert answers(recorded(u, y[:, None])) == []  # H1 is right
    u = EXCITATIONS["band"]
    noisy = u + 0.1 * u.std() * np.random.default_rng(4).standard_normal(COUNT)
    # H1 is too low by the noise of the torque sensor
    assert {a.output.name for a in answers(recorded(noisy, outputs(u)))} >= {"joint1_rate"}


def test_short_records_tell_nothing() -> None:
    u = DRAW.standard_normal(60)
    assert answers(recorded(u, outputs(u))) == []


def test_what_follows_within_the_sample_without_noise_is_no_loop() -> None:
    """A stiff arm, sampled slowly; with noise it cannot be told from a loop, and the words say both."""
    u = np.random.default_rng(4).standard_normal(4000)
    still = identify.record(DT, {"force [N]": u}, {"y [m]": 2e-3 * u}, period=0.0)
    assert answers(still) == []
    noisy = identify.record(DT, {"force [N]": u}, {"y [m]": 2e-3 * u + 1e-4 * np.roll(u, 7) ** 2}, period=0.0)
    with pytest.warns(fx.DataWarning, match="so slow that outputs follow within a sample"):
        identify.frf(noisy, segment=0.5)
