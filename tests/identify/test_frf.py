"""Frequency responses of records against the plant that made them, with the traps of real ones."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.signal import lfilter

import flexctl as fx
from flexctl import identify
from flexctl.identify.record import nearly_repeating

DT = 1e-3
ARM = fx.load_plant(
    "tokhi_azad_1994",
    payload={"mass": 0.05},
    damping={"kind": "modal", "ratio": 0.02},
    joint={1: {"hub_inertia": 0.01}},
)


def moving(plant: fx.FirstOrder) -> fx.FirstOrder:
    """Return the plant without the outputs along a straight link, which its linear model leaves still."""
    rows = [k for k, s in enumerate(plant.outputs) if s.name not in ("tip_x", "tip_error_x")]
    outputs = tuple(plant.outputs[k] for k in rows)
    return replace(plant, C=plant.C[rows], D=plant.D[rows], outputs=outputs)


PLANT = moving(fx.zero_order_hold(ARM.linearise().first_order(modes=4), DT, delay=2e-3))
HEADS = [f"{s.name} [{s.unit}]" for s in PLANT.outputs]
DRIVE = identify.multisine("joint1_torque [N m]", (1.0, 60.0), limit=0.1, period=4.096, periods=6)


def simulated(plant: Any, u: np.ndarray) -> np.ndarray:
    from flexctl.identify.output_error import simulated as states

    u = np.atleast_2d(u.T).T
    return np.asarray(states(plant.A, plant.B, u) @ plant.C.T + u @ plant.D.T)


OUT = simulated(PLANT, DRIVE.u)


def made(u: np.ndarray, y: np.ndarray, **options: Any) -> identify.Record:
    return identify.record(DT, {"joint1_torque [N m]": u}, dict(zip(HEADS, y.T, strict=True)), **options)


def true(found: identify.MeasuredResponse) -> np.ndarray:
    return np.asarray(PLANT.transfer(np.exp(1j * found.omega * DT)))


def error(found: identify.MeasuredResponse, output: str) -> np.ndarray:
    k = fx.names(PLANT.outputs).index(output)
    return np.asarray(np.abs(found.response[k, 0] / true(found)[k, 0] - 1.0))


def test_a_joint_that_turns_freely_drifts_and_its_response_is_right() -> None:
    found = identify.frf(made(DRIVE.u, OUT))
    assert found.method == "periods"
    assert found.omega.size == DRIVE.lines_hz.size
    assert np.median(error(found, "joint1_angle")) < 2e-3  # 2.0 without differences
    assert np.median(error(found, "joint1_rate")) < 2e-2


def test_the_standard_deviation_of_a_line_is_honest() -> None:
    rate = fx.names(PLANT.outputs).index("joint1_rate")
    ratios = []
    for seed in range(4):
        noise = np.random.default_rng(seed).standard_normal(OUT.shape) * OUT.std(axis=0) * 1e-2
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", fx.DataWarning)
            found = identify.frf(made(DRIVE.u, OUT + noise))
        e = np.abs(found.response[rate, 0] - true(found)[rate, 0])
        ratios.append(np.mean(e**2) / np.mean(found.sigma[rate, 0] ** 2))
    assert 0.6 < np.mean(ratios) < 1.7


def test_noise_of_the_torque_sensor() -> None:
    noisy = DRIVE.u + 0.5 * DRIVE.u.std() * np.random.default_rng(1).standard_normal(DRIVE.u.size)
    band = (2 * np.pi * 1.0, 2 * np.pi * 60.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fx.DataWarning)
        periods = identify.frf(made(noisy, OUT, period=4.096), band=band)
        plain = identify.frf(made(noisy, OUT, period=0.0), "H1", segment=4.096, window="none", band=band)
    with pytest.warns(fx.DataWarning, match="differs from period to period"):
        identify.frf(made(noisy, OUT, period=4.096), band=band)
    rate = fx.names(PLANT.outputs).index("joint1_rate")

    def bias(found: identify.MeasuredResponse) -> float:
        return float(np.mean(np.abs(found.response[rate, 0] / true(found)[rate, 0]) - 1.0))

    assert abs(bias(periods)) < 0.01
    assert bias(plain) < -0.01  # H1 is too low by the noise on the input


@pytest.mark.parametrize(("method", "tolerance"), [("H1", 2e-2), ("H2", 3e-2), ("Hv", 3e-2)])
def test_random_excitation(method: str, tolerance: float) -> None:
    u = lfilter([0.2], [1.0, -0.8], np.random.default_rng(3).standard_normal(40960)) * 0.1
    y = simulated(PLANT, u)
    y = y + 1e-3 * y.std(axis=0) * np.random.default_rng(4).standard_normal(y.shape)
    found = identify.frf(made(u, y).choose(outputs=["joint1_rate"]), method, segment=8.0, band=(20.0, 300.0))
    truth = PLANT.transfer(np.exp(1j * found.omega * DT))[1]
    assert np.median(np.abs(found.response[0, 0] / truth[0] - 1.0)) < tolerance
    assert 0.9 < np.median(found.coherence[0]) <= 1.0


def test_closed_loop_with_its_reference() -> None:
    """y = G u + e, u = r - 2 y: Syu / Suu is biased, Syr / Sur is not."""
    rng = np.random.default_rng(5)
    n, a, b = 60000, 0.9, 0.1
    r, e = rng.standard_normal(n), 0.3 * rng.standard_normal(n)
    x, u, y = 0.0, np.zeros(n), np.zeros(n)
    for k in range(n):
        y[k] = x + e[k]
        u[k] = r[k] - 2.0 * y[k]
        x = a * x + b * u[k]
    data = identify.record(0.1, {"u [N]": u}, {"y [m]": y}, {"r [N]": r}, period=0.0)
    z = lambda found: np.exp(1j * found.omega * 0.1)  # noqa: E731
    biased, right = identify.frf(data, "H1", segment=20.0), identify.frf(data, segment=20.0)
    assert right.method == "reference"
    off = [np.mean(np.real(f.response[0, 0] / (b / (z(f) - a)) - 1.0)[:30]) for f in (biased, right)]
    assert abs(off[0]) > 0.05
    assert abs(off[1]) < 0.02
    truth = b / (z(right) - a)
    deviations = np.abs(right.response[0, 0] - truth) / right.sigma[0, 0]
    assert 0.8 < np.sqrt(np.mean(deviations**2)) < 1.25  # sigma is honest, whatever part of u is fed back noise


def test_an_input_that_repeats_but_for_noise() -> None:
    """A periodic reference that nobody recorded, noise fed back into the input: the period helps."""
    rng = np.random.default_rng(7)
    n, period = 8000, 1000
    r, e = np.tile(rng.standard_normal(period), n // period), 0.3 * rng.standard_normal(n)
    x, u, y = 0.0, np.zeros(n), np.zeros(n)
    for k in range(n):
        y[k] = x + e[k]
        u[k] = r[k] - 1.0 * y[k]
        x = 0.9 * x + 0.1 * u[k]
    with pytest.warns(fx.DataWarning, match=r'input "u" repeats every 100 s but for noise.*--period 100'):
        identify.frf(identify.record(0.1, {"u [N]": u}, {"y [m]": y}))
    told = identify.record(0.1, {"u [N]": u}, {"y [m]": y}, period=100.0)
    with pytest.warns(fx.DataWarning, match="differs from period to period"):
        found = identify.frf(told)
    assert found.method == "periods"
    growing = np.concatenate([k * np.sin(np.linspace(0, 9.0, 500)) for k in (1.0, 1.5, 2.25)])
    for other in (rng.standard_normal(4000), np.cumsum(rng.standard_normal(4000)), growing):
        assert nearly_repeating(other) == 0


def test_several_inputs_by_as_many_records() -> None:
    rng = np.random.default_rng(6)
    G = np.array([[1.0, 0.5], [-0.3, 2.0]])
    u1 = np.tile(rng.standard_normal((128, 2)), (4, 1))
    u2 = u1 * [1.0, -1.0]
    datas = [
        identify.record(0.1, {"a [N]": u[:, 0], "b [N]": u[:, 1]}, {"x [m]": u @ G[0], "y [m]": u @ G[1]})
        for u in (u1, u2)
    ]
    found = identify.frf(datas)
    assert np.allclose(found.response, G[:, :, None], atol=1e-9)
    with pytest.raises(fx.DefinitionError, match="2 inputs need as many records"):
        identify.frf(datas[0])
    with pytest.raises(fx.DefinitionError, match="excite the inputs alike"):
        identify.frf([datas[0], datas[0]])


def test_hold_and_delay_are_taken_out() -> None:
    found = identify.frf(made(DRIVE.u, OUT)).unheld(2e-3)
    plant = ARM.linearise().first_order(modes=4)
    truth = plant.transfer(1j * found.omega)
    k = fx.names(plant.outputs).index("joint1_angle")
    below = found.omega < 2 * np.pi * 40
    assert np.median(np.abs(found.response[k, 0] / truth[k, 0] - 1.0)[below]) < 3e-3


def test_spectra() -> None:
    x = np.random.default_rng(1).standard_normal(8192)
    found = identify.spectra(identify.record(1e-2, {"u [N]": x}, {"y [m]": 3 * x}), segment=1.28)
    assert found.auto("u").mean() == pytest.approx(1e-2, rel=0.05)  # two-sided: variance times dt
    assert np.allclose(found.auto("y") / found.auto("u"), 9.0)
    assert np.allclose(found.coherence("u", "y"), 1.0)
    assert found.averages == pytest.approx(102, rel=0.1)


def test_too_few_averages_and_wrong_words() -> None:
    data = made(DRIVE.u, OUT, period=0.0)
    with pytest.raises(fx.DefinitionError, match=r"too short: 1\.0 independent segments"):
        identify.frf(data, "H1", segment=DRIVE.t.size * DT)
    with pytest.raises(fx.DefinitionError, match='unknown estimator "H3"'):
        identify.frf(data, "H3")
    with pytest.raises(fx.DefinitionError, match="not periodic"):
        identify.frf(data, "periods")
    with pytest.raises(fx.DefinitionError, match="0 references for 1 inputs"):
        identify.frf(data, "reference")
