"""Margins of measured responses: the figures of a published servo with a flexible link, honest sigma, stability."""

from __future__ import annotations

import warnings

import beams
import numpy as np
import pytest

import flexctl as fx
from flexctl.frequency.measured import MeasuredMargins

LINES = np.geomspace(1.0, 2000.0, 400)


def servo() -> fx.SecondOrder:
    """A rotary flexible link of 0.419 m on a geared servo (Quanser's numbers), by the Hermite elements of the tests."""
    M, K = beams.hermite(40, length=0.419, stiffness=0.146736125, density=0.155131265, hub=2.28418e-3)
    b = np.eye(len(M))[:, :1]
    D = (0.004 + 0.12845334 * 7.67763e-3 * 70.0) * b @ b.T + 2e-4 * K
    return fx.from_matrices(M, D, K, 0.12845334 * b, b.T, inputs=["voltage"], outputs=["angle"])


class Delay:
    """gain (20 + 0.6 s) exp(-0.003 s) from the error of the angle."""

    inputs, outputs = (fx.Signal("angle"),), (fx.Signal("voltage"),)

    def __init__(self, gain=1.0):
        self.gain = gain

    def transfer(self, s):
        return (self.gain * (20.0 + 0.6 * s) * np.exp(-0.003 * s))[None, None, :]

    def poles(self):
        return np.zeros(0, complex)


@pytest.fixture(scope="module")
def plant():
    return servo()


def data_of(plant, omega=LINES, noise=0.0, seed=0):
    H = plant.transfer(1j * omega)
    rng = np.random.default_rng(seed)
    sigma = noise * np.abs(H)
    error = (rng.standard_normal(H.shape) + 1j * rng.standard_normal(H.shape)) / np.sqrt(2.0) * sigma
    return fx.FrequencyResponse(omega, H + error, plant.inputs, plant.outputs, sigma=sigma if noise else None)


def margins_of(data, law, unstable=0, **more) -> MeasuredMargins:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the phase turns", fx.AccuracyWarning)
        return fx.margins(fx.loop_gain(data, law), unstable_poles=unstable, **more)


def test_the_published_loop(plant) -> None:
    exact, found = fx.margins(fx.loop_gain(plant, Delay())), margins_of(data_of(plant), Delay())
    assert exact.gain_crossings == pytest.approx([15.01464, 24.16216, 43.29112], rel=1e-6)
    assert exact.phase_margin_deg == pytest.approx(44.7710, abs=1e-4)
    assert (exact.gain_margin_db, exact.gain_margin_frequency) == pytest.approx((23.7794, 523.404), rel=2e-6)
    assert exact.sensitivity_peak == pytest.approx(1.53649, rel=5e-6)
    assert found.phase_margin_deg == pytest.approx(44.7710, abs=0.01)
    assert found.gain_margin_db == pytest.approx(23.7794, abs=1e-3)
    assert found.sensitivity_peak == pytest.approx(1.53649, abs=5e-4)
    assert found.stable
    # the loop itself as data, interpolated
    loop = fx.loop_gain(plant, Delay())
    L = fx.FrequencyResponse(LINES, loop.transfer(1j * LINES), loop.inputs, loop.outputs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone = fx.margins(L, unstable_poles=0)
    assert alone.phase_margin_deg == pytest.approx(44.774, abs=5e-4)
    assert alone.gain_margin_db == pytest.approx(23.779, abs=5e-4)
    assert alone.sensitivity_peak == pytest.approx(1.5363, abs=1e-4)


def test_standard_deviations_are_those_of_the_scatter(plant) -> None:
    keys = ("gain_margin", "phase_margin_deg", "delay_margin", "disk_margin", "sensitivity_peak")
    omega = LINES  # close enough that noise is all that counts
    runs = [margins_of(data_of(plant, omega, 0.01, seed), Delay()) for seed in range(60)]
    for key in keys:
        scatter = np.std([getattr(m, key) for m in runs])
        told = np.median([m.sigma[key] for m in runs])
        assert 0.6 < told / scatter < 2.0, key
    assert np.isnan(margins_of(data_of(plant, omega), Delay()).sigma["disk_margin"])


def test_stability_is_counted(plant) -> None:
    assert margins_of(data_of(plant), Delay()).closed_loop_unstable == 0
    assert margins_of(data_of(plant), Delay(30.0)).closed_loop_unstable == 2
    # K (s + 3)/(s (s - 1)): unstable alone, stable for K > 1
    s = 1j * LINES
    H = ((s + 3.0) / (s * (s - 1.0)))[None, None]
    for gain, unstable in ((4.0, 0), (0.5, 2)):
        data = fx.FrequencyResponse(LINES, gain * H, (fx.Signal("u"),), (fx.Signal("y"),))
        law = fx.LinearLaw(0.0, ("y",), ("u",), Dy=[[-1.0]])
        # the first line, 1 rad/s, is too high to tell an integrator from its slope
        assert margins_of(data, law, 1).stable is None
        w = np.geomspace(1e-3, 2000.0, 800)
        H2 = gain * ((1j * w + 3.0) / (1j * w * (1j * w - 1.0)))[None, None]
        data = fx.FrequencyResponse(w, H2, (fx.Signal("u"),), (fx.Signal("y"),))
        assert margins_of(data, law, 1).closed_loop_unstable == unstable
    cut = margins_of(data_of(plant, np.geomspace(1.0, 30.0, 200)), Delay())
    assert cut.stable is None
    assert "at the last line" in cut.why_unknown


def test_two_commands_with_the_other_closed() -> None:
    plant = fx.from_matrices(
        np.eye(2), np.array([[0.4, 0.1], [0.1, 0.6]]), np.array([[4.0, -1.0], [-1.0, 9.0]]), np.eye(2), np.eye(2),
        inputs=["u1", "u2"], outputs=["y1", "y2"],
    )
    law = fx.LinearLaw(0.0, ("y1", "y2"), ("u1", "u2"), A=[[-8.0]], By=[[1.0, 0.5]], C=[[2.0], [-1.0]],
                       Dy=[[-9.0, 1.0], [2.0, -5.0]])
    data = data_of(plant, np.geomspace(0.05, 500.0, 3000))
    for channel in ("u1", "u2"):
        exact = fx.margins(fx.loop_gain(plant, law), channel)
        found = margins_of(data, law, channel=channel)
        assert found.phase_margin_deg == pytest.approx(exact.phase_margin_deg, rel=1e-4)
        assert found.disk_margin == pytest.approx(exact.disk_margin, rel=1e-4)
        assert found.stable


def test_a_sampled_law_sees_hold_and_what_folds_back() -> None:
    plant = fx.from_matrices([[1.0]], [[0.5]], [[25.0]], [[1.0]], Cv=[[1.0]], inputs=["f"], outputs=["v"])
    law = fx.Delayed(fx.LinearLaw(0.05, ("v",), ("f",), Dy=[[-6.0]]))
    exact = fx.margins(fx.loop_gain(plant, law))
    wide = margins_of(data_of(plant, np.geomspace(0.01, 3e3, 2000)), law)
    assert wide.gain_margin == pytest.approx(exact.gain_margin, rel=0.01)
    assert wide.stable
    with pytest.warns(fx.AccuracyWarning, match="folds back"):
        narrow = margins_of(data_of(plant, np.geomspace(0.01, 60.0, 2000)), law)
    assert narrow.gain_margin == pytest.approx(exact.gain_margin, rel=0.3)


def test_what_data_do_not_tell_is_asked_for(plant) -> None:
    with pytest.raises(fx.DefinitionError, match="give unstable_poles"):
        fx.margins(fx.loop_gain(data_of(plant), Delay()))
    with pytest.raises(fx.DefinitionError, match="poles of this loop are known"):
        fx.margins(fx.loop_gain(plant, Delay()), unstable_poles=0)
    with pytest.raises(fx.DefinitionError, match=r"lines reach from 1 to 2000 rad/s"):
        margins_of(data_of(plant), Delay(), lo=0.1)
    with pytest.warns(fx.AccuracyWarning, match="measure closer lines"):
        fx.margins(fx.loop_gain(data_of(plant, LINES[::10]), Delay()), unstable_poles=0)
    with pytest.raises(fx.DefinitionError, match=r"fit a plant to it first"):
        fx.transfer(data_of(plant), s=[1j])
    with pytest.warns(fx.DataWarning, match="what runs is a plant fitted to its lines"):
        fx.simulate(data_of(plant), inputs={"voltage": fx.bang_bang(1.0, 0.005)}, duration=0.01)


def test_an_infinite_margin_is_one_within_the_lines() -> None:
    """1/(s (s + 1)) never turns by 180 deg, but nobody knows of a plant beyond its last line."""
    omega = np.geomspace(0.1, 100.0, 400)
    law = fx.LinearLaw(0.0, ("y",), ("u",), Dy=[[-1.0]])
    for lag, told in ((0.0, "no crossing of -180 deg from 0.1 to 100 rad/s"), (1.0 / 300.0, "")):
        H = 1.0 / (1j * omega * (1j * omega + 1.0) * (1.0 + lag * 1j * omega))
        data = fx.FrequencyResponse(omega, H[None, None], (fx.Signal("u"),), (fx.Signal("y"),))
        found = margins_of(data, law)
        assert found.outside.startswith(told)
        assert bool(found.outside) == bool(told) == ("nothing is known outside" in str(found))
    quiet = margins_of(fx.FrequencyResponse(omega, 1e-3 * H[None, None], (fx.Signal("u"),), (fx.Signal("y"),)), law)
    assert quiet.outside.startswith("no crossing of 0 dB from 0.1")
