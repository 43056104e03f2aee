"""Deviations where the model is wrong, where noise has a colour, and what is said of it."""

from __future__ import annotations

import json
import re
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from one_link import FREE, PLANT, TRUE

import flexctl as fx
from flexctl import identify
from flexctl.identify import explained, scatter
from flexctl.identify.problem import Block
from flexctl.model import FloatArray

RNG = np.random.default_rng(3)
N = 2048


def peaked(rng: np.random.Generator, count: int) -> FloatArray:
    """Noise with a peak, as a resonance makes it."""
    e, y = rng.standard_normal(N), np.zeros((N, count))
    a, b = 2 * 0.99 * np.cos(0.2), -(0.99**2)
    for k in range(2, N):
        y[k] = a * y[k - 1] + b * y[k - 2] + e[k]
    return y


def test_deviations_under_noise_with_a_peak() -> None:
    """A sine at the peak is known ten times worse than white noise of that power says, one beside it better."""
    t = np.arange(N)
    at, beside = np.sin(0.2 * t), np.sin(1.5 * t)
    J = np.column_stack([at, beside])
    estimates, told = [], []
    for seed in range(12):
        r = peaked(np.random.default_rng(seed), 1)[:, 0]
        inverse = np.linalg.inv(J.T @ J)
        left = r - J @ (inverse @ (J.T @ r))
        estimates.append(inverse @ (J.T @ r))
        block = Block("record", "y", slice(0, N), 0, 1e-3)
        told.append(np.sqrt(np.diag(inverse @ scatter.coloured(J, left, block) @ inverse)))
    ratio = np.std(estimates, axis=0) / np.mean(told, axis=0)
    assert np.all((ratio > 0.6) & (ratio < 1.6))
    assert np.mean(told, axis=0)[0] > 30.0 * np.mean(told, axis=0)[1]


def of_lines(folder: Path, inertia: float, noise: float) -> identify.MeasuredResponse:
    """Frequency responses of the arm with a payload of this inertia [kg m^2]."""
    (folder / "free.toml").write_text(FREE)
    plant = fx.load_plant(folder / "free.toml").with_({"payload.inertia": inertia}).linearise()
    w = np.linspace(5.0, 400.0, 200)
    heads = ["joint1_angle [rad]", "strain [1]", "tip_acceleration [m/s^2]"]
    H = plant.transfer(1j * w)[[fx.names(plant.outputs).index(name) for name in SEEN]]
    rng = np.random.default_rng(1)
    sigma = noise * np.abs(H)
    H = H + sigma * (rng.standard_normal(H.shape) + 1j * rng.standard_normal(H.shape)) / np.sqrt(2.0)
    return identify.measured_response(w, H, ["joint1_torque [N m]"], heads, sigma=sigma)


@pytest.mark.parametrize(("inertia", "words"), [(2e-6, "payload.inertia = 0 .* is held, but the data ask"), (0.0, "")])
def test_a_payload_inertia_that_is_not_free(inertia: float, words: str, tmp_path: Path) -> None:
    """A third of what a steel cube of that mass has moves Young's modulus by 0.8 %."""
    data = of_lines(tmp_path, inertia, 0.01)
    keys = ["material.steel.youngs_modulus", "joint.1.hub_inertia", "payload.mass"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fx.DataWarning)
        found = identify.parameters(tmp_path / "free.toml", data, keys, mesh=False)
    told = [text for text in found.cautions if "payload.inertia" in text]
    assert len(told) == bool(words)
    if words:
        assert re.search(words, told[0])
        both = identify.parameters(
            tmp_path / "free.toml", data, [*keys, "payload.inertia"], start={"payload.inertia": 1e-6}, mesh=False
        )
        assert both.unexplained == 0.0
        assert abs(both.values["payload.inertia"] - inertia) < 3.0 * both.sigma["payload.inertia"]
        assert abs(both.values[keys[0]] - TRUE[keys[0]]) < 3.0 * both.sigma[keys[0]]


def test_the_deviations_of_a_single_response_are_those_of_its_noise(tmp_path: Path) -> None:
    """One angle, noise of one size at all lines: without a quarter of the band nothing told stiffness from masses."""
    (tmp_path / "free.toml").write_text(FREE)
    plant = fx.load_plant(tmp_path / "free.toml").with_({"model.sections": 12})
    w = np.linspace(3.0, 150.0, 500)
    H = plant.linearise().transfer(1j * w)[:1, :1]
    sigma = np.full(H.shape, 0.01 * np.median(np.abs(H)))
    keys, off = ["material.steel.youngs_modulus", "joint.1.hub_inertia", "payload.mass", "joint.1.friction"], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        noisy = H + sigma * (rng.standard_normal(H.shape) + 1j * rng.standard_normal(H.shape)) / np.sqrt(2.0)
        data = identify.measured_response(w, noisy, ["joint1_torque [N m]"], ["joint1_angle [rad]"], sigma=sigma)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", fx.DataWarning)
            found = identify.parameters(plant, data, keys, mesh=False)
        assert found.unexplained == 0.0
        assert all(found.sigma[key] < 2.0 * found.formal[key] for key in keys)
        off += [(found.values[key] - TRUE[key]) / found.sigma[key] for key in keys]
    assert max(map(abs, off)) < 4.0
    assert 0.3 < np.sqrt(np.mean(np.square(off))) < 1.6


def test_columns_that_are_swapped_are_no_noise_of_a_sensor(tmp_path: Path) -> None:
    """Torque and angle in each other's place: the fit is poor, whatever the misfits have in common."""
    (tmp_path / "free.toml").write_text(FREE)
    drive = identify.multisine("joint1_torque [N m]", (0.5, 60.0), limit=0.1, period=1.024, periods=2)
    y = identify.measure(tmp_path / "free.toml", drive, ["joint1_angle", "strain"], noise={"strain": 1e-7}).y
    heads = {"joint1_angle [rad]": drive.u, "strain [1]": y[:, 1]}
    data = identify.record(1e-3, {"joint1_torque [N m]": y[:, 0]}, heads)
    with pytest.warns(fx.DataWarning, match="THE MODEL DOES NOT EXPLAIN THE DATA"):
        found = identify.parameters(tmp_path / "free.toml", data, ["joint.1.hub_inertia"], delay=0, mesh=False)
    assert found.unexplained > 2.0


def made(e: FloatArray) -> identify.Record:
    u = np.random.default_rng(9).standard_normal(N)
    names = ["a [rad]", "b [1]", "c [m/s^2]"][: e.shape[1]]
    return identify.record(1e-3, {"u [N m]": u}, {n: 50.0 * u + e[:, i] for i, n in enumerate(names)})


def test_noise_of_sensors_is_told_from_what_all_of_them_see() -> None:
    white = RNG.standard_normal((N, 3))
    assert explained.floor(white[:, 0]) == pytest.approx(1.0, rel=0.1)
    own = np.column_stack([peaked(np.random.default_rng(k), 1)[:, 0] for k in range(3)])
    common = 3.0 * peaked(np.random.default_rng(5), 1) * np.array([1.0, 0.4, -2.0])
    for e, mine in ((white, True), (own, True), (white + common, False)):
        assert [explained.is_own(made(e), e, j) for j in range(3)] == [mine] * 3
    u = made(white).u
    follows = white[:, :1] + np.convolve(u[:, 0], np.exp(-np.arange(60) / 9.0))[:N, None]
    assert explained.is_own(made(white[:, :1]), white[:, :1], 0)
    assert not explained.is_own(made(follows), follows, 0)


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> tuple[identify.Identified, Path]:
    """A record with bristles, taken for tanh friction; the hub's inertia suffers."""
    folder = tmp_path_factory.mktemp("arm")
    bristles = 'kind = "lugre"\ncoulomb = 0.03\nstatic = 0.03\nbristle_stiffness = 400.0\nbristle_damping = 0.1\n'
    begin = PLANT.index('kind = "tanh"')
    text = PLANT[:begin] + bristles + "stribeck_rate = 0.05\n" + PLANT[PLANT.index("[[joint]]") :]
    (folder / "bristles.toml").write_text(text)
    (folder / "dry.toml").write_text(PLANT)
    drive = identify.doublets("joint1_torque [N m]", 0.1, count=1, every=1.0)
    noise = {"strain": 2e-7, "tip_acceleration": 2e-2}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fx.Caution)
        data = identify.measure(folder / "bristles.toml", drive, list(SEEN), delay=1, encoder_bits=20, noise=noise)
        data.save(folder / "data.npz")
        found = identify.parameters(folder / "dry.toml", data, KEYS, delay=1, mesh=False)
    return found, folder


SEEN = ("joint1_angle", "strain", "tip_acceleration")
KEYS = ["joint.1.hub_inertia", "friction.dry.coulomb"]


@pytest.mark.slow
def test_a_wrong_friction_law_is_told_and_deviations_cover_it(wrong: tuple[identify.Identified, Path]) -> None:
    found, _ = wrong
    assert found.unexplained > 5.0
    assert any("THE MODEL DOES NOT EXPLAIN THE DATA" in text for text in found.cautions)
    assert "NOT EXPLAINED" in repr(found)
    for key in KEYS:
        assert abs(found.values[key] - TRUE[key]) < 3.0 * found.sigma[key]
    assert found.sigma[KEYS[0]] > 10.0 * found.formal[KEYS[0]]


def test_the_verdict_is_in_files(tmp_path: Path) -> None:
    """A payload whose inertia the model does not know, from frequency responses."""
    data = of_lines(tmp_path, 2e-5, 0.01)
    arm = fx.load_plant(tmp_path / "free.toml")
    keys = ["joint.1.hub_inertia", "payload.mass"]
    with pytest.warns(fx.DataWarning, match="THE MODEL DOES NOT EXPLAIN THE DATA"):
        found = identify.parameters(arm, data, keys, mesh=False)
    assert found.unexplained > 2.0
    assert "NOT EXPLAINED" in repr(found)
    assert all(abs(found.values[key] - TRUE[key]) < 3.0 * found.sigma[key] for key in keys)
    told = json.loads(found.save(tmp_path / "found.json").read_text())
    assert told["about"]["unexplained"] == pytest.approx(found.unexplained)
    again = fx.load_plant(found.save(tmp_path / "found.toml"))
    assert again.uncertainty is not None
    assert "times the noise" in again.uncertainty.source


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["white", "coloured", "quantised"])
def test_deviations_are_honest_where_the_model_is_right(noise: str, tmp_path: Path) -> None:
    (tmp_path / "free.toml").write_text(FREE)
    arm = fx.load_plant(tmp_path / "free.toml")
    keys = [key for key in TRUE if key != "friction.dry.coulomb"]
    off = []
    for seed in range(6):
        drive = identify.multisine("joint1_torque [N m]", (0.5, 60.0), limit=0.1, period=2.048, periods=2, seed=seed)
        data = identify.measure(arm, drive, list(SEEN), delay=2, encoder_bits=0)
        rng = np.random.default_rng(seed)
        e = rng.standard_normal(data.y.shape)
        if noise == "coloured":
            for k in range(1, len(e)):
                e[k] = 0.95 * e[k - 1] + np.sqrt(1 - 0.95**2) * e[k]
        y = data.y + e * np.array([2e-4, 2e-6, 0.1])
        if noise == "quantised":
            y[:, 0] = 1.5e-3 * np.round(data.y[:, 0] / 1.5e-3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", fx.DataWarning)
            found = identify.parameters(arm, replace(data, y=y), keys, delay=2, mesh=False)
        assert found.unexplained == 0.0
        off.append([(found.values[key] - TRUE[key]) / found.sigma[key] for key in keys])
    assert np.abs(off).max() < 3.6
    assert 0.5 < np.sqrt(np.mean(np.square(off))) < 1.4
