"""Margins of measured responses whose lines are far apart, or noisy where the phase is nearly -180 deg."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import flexctl as fx
from flexctl.frequency.guessed import off_between


def plant() -> fx.SecondOrder:
    """Two masses of 2 and 1 kg on springs, 1.4 and 2.4 Hz, damping ratios of 0.9 and 1.5 %."""
    K = np.array([[300.0, -100.0], [-100.0, 150.0]])
    return fx.from_matrices(np.diag([2.0, 1.0]), 2e-3 * K, K, [[1.0], [0.0]], [[1.0, 0.0]], inputs=["f"], outputs=["x"])


LAW = fx.LinearLaw(1e-2, ("x",), ("f",), Dy=[[-5.0]])


def margins_of(lines: int, noise: float, seed: int = 0):
    omega = np.geomspace(1.0, 100.0, lines)
    H = plant().transfer(1j * omega)
    rng, sigma = np.random.default_rng(seed), noise * np.abs(H)
    error = (rng.standard_normal(H.shape) + 1j * rng.standard_normal(H.shape)) / np.sqrt(2.0) * sigma
    data = fx.FrequencyResponse(omega, H + error, plant().inputs, plant().outputs, sigma=sigma)
    return fx.margins(fx.loop_gain(data, LAW), unstable_poles=0)


def test_curvature_tells_what_interpolation_is_off() -> None:
    x = np.linspace(0.0, 1.0, 11)
    curve = 3.0 * x**2 + 1j * (2.0 - 4.0 * x**2)
    # off by c h^2 / 8 in the middle of every interval, c = |6 - 8j|
    assert off_between(x, curve, None) == pytest.approx(np.full(10, 10.0 * 0.01 / 8.0), rel=1e-9)
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((2, 400, 2)) @ np.array([1.0, 1j]) * 1e-3 / np.sqrt(2.0)
    straight = off_between(np.linspace(0.0, 1.0, 400), noise, np.full((2, 400), 1e-3))
    # noise is not taken for curvature: what is left of it is far below it
    assert np.sqrt(np.mean(straight**2)) < 4e-4


def test_peaks_between_the_lines_are_part_of_sigma() -> None:
    exact = fx.margins(fx.loop_gain(plant(), LAW))
    for lines in (200, 300):
        with pytest.warns(fx.AccuracyWarning, match=r"guessed between its lines .* the disk margin is taken"):
            found = margins_of(lines, 0.001)
        for key in ("disk_margin", "sensitivity_peak"):
            # 7 % off with 300 lines, 70 times what the noise is
            assert abs(getattr(found, key) - getattr(exact, key)) < 2.0 * found.sigma[key]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        close = margins_of(3000, 0.001)
    assert close.disk_margin == pytest.approx(exact.disk_margin, abs=3.0 * close.sigma["disk_margin"])
    assert close.sigma["disk_margin"] < 0.002 * close.disk_margin


@pytest.mark.filterwarnings("ignore:the response is guessed:flexctl.errors.AccuracyWarning")
def test_a_phase_that_stays_near_half_a_turn() -> None:
    exact = fx.margins(fx.loop_gain(plant(), LAW)).gain_margin
    found = [margins_of(1500, 0.05, seed) for seed in range(12)]
    off = np.array([(m.gain_margin - exact) / m.sigma["gain_margin"] for m in found])
    assert np.sqrt(np.mean(off**2)) < 2.5
    assert all(m.phase_margin_deg == 180.0 for m in found)  # no gain crossing at all
