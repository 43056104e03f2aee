"""Sampled loops that ring for long correct no errors: what is claimed covers them, and runs are as good as asked."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from accuracy_unseen import pd

import flexctl as fx
from flexctl.errors import AccuracyWarning
from flexctl.simulation.ringing import ringing

ONE = """
title = "one link that hardly damps its modes"
reference = "made up"
material.alu = { youngs_modulus = %g, density = 2700.0 }
section.a = { area = 3.5e-4, second_moment = 1e-8, outer_distance = 0.0105 }
link = [{ length = %g, material = "alu", section = "a" }]
joint = [{ hub_inertia = 0.01 }]
payload = { mass = %g, inertia = 1e-4 }
damping = { kind = "modal", ratio = 0.005 }
sensor = [{ name = "root_strain", kind = "strain", position = 0.0 }]
model = { kind = "assumed_modes", modes = %d }
"""
# stiffness [Pa], length [m], payload [kg], modes; gains, period [s], samples late, move and run [s]
ARMS: dict[str, Any] = {
    "soft, 2 ms": ((3e10, 1.2, 0.2, 3), (4.0, 2.0), 2e-3, 0, 0.5, 1.0),
    "2 ms, one sample late": ((7e10, 0.9, 0.1, 2), (6.0, 1.5), 2e-3, 1, 0.4, 0.8),
    "4 ms, one sample late": ((4e10, 1.1, 0.1, 2), (3.0, 1.5), 4e-3, 1, 0.4, 1.6),
    "5 ms, slow": ((7e10, 1.5, 0.1, 2), (2.0, 2.0), 5e-3, 1, 0.8, 2.0),
    "0.5 ms": ((7e10, 0.5, 0.05, 2), (8.0, 0.6), 5e-4, 1, 0.3, 0.6),
}


def loop(name: str, folder: Path, end: float) -> tuple[fx.Plant, tuple[Any, Any], dict[str, Any], dict[str, Any]]:
    """Return an arm, its law and moves, the options of a run, and those of one in twenty steps per period."""
    numbers, (kp, kv), period, late, time, duration = ARMS[name]
    (folder / "one.toml").write_text(ONE % numbers)
    length = {"duration": duration}
    law = pd((kp,), (kv,), (end,), time, period, late)()
    return fx.load_plant(folder / "one.toml"), law, length, {**length, "step": period / 20, "method": "sdirk"}


def off(run: fx.Response, exact: fx.Response, output: str) -> float:
    """Return the largest difference to a run in smaller steps, as a part of the range."""
    near = np.minimum(np.searchsorted(exact.t, run.t - 1e-9), exact.t.size - 1)
    return float(np.abs(run[output] - exact[output][near]).max() / np.ptp(exact[output]))


@pytest.mark.parametrize("name", ARMS)
def test_an_error_that_no_feedback_corrects_is_covered_and_no_larger_than_asked(name: str, tmp_path: Path) -> None:
    arm, law, options, fine = loop(name, tmp_path, 0.5)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = fx.simulate(arm, *law, **options)
    said = " ".join(str(w.message) for w in caught if w.category is AccuracyWarning)
    exact = fx.simulate(arm, *law, **fine)
    for signal in (*run.outputs, *run.inputs):
        claimed = run.error[signal.name] / np.ptp(exact[signal.name])
        if np.isfinite(claimed):
            error = off(run, exact, signal.name)
            assert error <= claimed, signal.name
            assert error <= 1e-2 or signal.name in said, signal.name


def test_small_steps_are_what_the_exact_propagation_of_the_linear_plant_is(tmp_path: Path) -> None:
    """That is, of moves that are so small that the arm is linear: the runs above are compared with such steps."""
    arm, law, options, fine = loop("soft, 2 ms", tmp_path, 1e-4)
    small, exact = fx.simulate(arm, *law, **fine), fx.simulate(fx.linearise(arm), *law, **options, step=1e-4)
    for output in ("joint1_angle", "chord1_angle", "link1_deflection", "joint1_rate", "joint1_torque"):
        assert off(small, exact, output) < 1e-4, output


def decaying(lasts: float, frequency: float = 30.0, size: float = 1e-3) -> tuple[np.ndarray, Any]:
    """Return times and a smooth move with something on it that rings from its end on, falling to 1/e in `lasts` [s]."""
    t = np.arange(0.0, 2.0, 2e-3)
    late = np.maximum(t - 0.5, 0.0)
    y = np.minimum(t, 0.5) - np.sin(4.0 * np.pi * np.minimum(t, 0.5)) / (4.0 * np.pi)
    return t, y + size * np.exp(-late / lasts) * np.sin(2.0 * np.pi * frequency * late)


def test_what_rings_on_is_off_by_the_phase_that_it_loses_meanwhile() -> None:
    found = {}
    for lasts in (0.05, 0.15, 0.4, 0.8):
        t, y = decaying(lasts)
        (found[lasts],) = ringing(t, y[:, None], (0.0, 0.5))
    assert found[0.05] == found[0.15] == 0.0
    w = 2.0 * np.pi * 30.0
    for lasts in (0.4, 0.8):
        assert found[lasts] == pytest.approx(1e-3 * w * lasts * (w * 2e-3) ** 2 / 12.0, rel=0.1), lasts
    t, y = decaying(1e9)
    assert ringing(t, y[:, None], (0.0, 0.5))[0] == pytest.approx(2e-3, rel=0.1)  # it is as large, and turned by half


def test_a_smooth_move_does_not_ring() -> None:
    t, y = decaying(1.0, size=0.0)
    assert ringing(t, y[:, None], (0.0, 0.5))[0] == 0.0
    assert ringing(t[:10], y[:10, None], ())[0] == 0.0
    t, y = decaying(1.0)
    assert ringing(t, y[:, None], np.arange(0.0, 2.0, 0.05))[0] == 0.0  # it jumps too often to tell
