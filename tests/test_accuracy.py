"""How accurate `simulate` is at its default settings, and that it says so: the cases of `accuracy_cases`."""

from __future__ import annotations

import warnings
from functools import cache

import accuracy_truth as truth
import numpy as np
import pytest
from accuracy_cases import CASES, REFERENCE, numbers, samples

import flexctl as fx
from flexctl.errors import AccuracyWarning

WORST = 0.02  # of the range, which no output may be off by
MOST = 0.95  # of the pairs of case and output are within rtol
COMPILED_QUICKLY = "ABCDFHKL"
HEAVY = [pytest.param(name, marks=pytest.mark.slow) for name in "EGIJ"]


@cache
def default_run(name: str, rtol: float = 1e-2) -> tuple[fx.Response, list[str]]:
    """Return a case at the default settings, and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = CASES[name].run() if rtol == 1e-2 else CASES[name].run(rtol=rtol)
    return run, [str(w.message) for w in caught if issubclass(w.category, AccuracyWarning)]


def off(run: fx.Response, name: str) -> dict[str, float]:
    """Return by what part of its range each output is off the published numbers."""
    found = {}
    for output, wanted in CASES[name].wanted.items():
        series = samples(run, output)
        found[output] = float(np.abs(numbers(series) - wanted).max() / np.ptp(series))
    return found


def off_all(run: fx.Response, exact: dict[str, np.ndarray]) -> dict[str, tuple[float, float]]:
    """Return largest error and its estimate, as parts of the range, of what moves and is estimated."""
    found = {}
    for output, wanted in exact.items():
        extent, claimed = float(np.ptp(wanted)), run.error[output]
        if extent > 1e-12 and np.isfinite(claimed):
            error = float(np.abs(samples(run, output) - wanted).max())
            found[output] = error / extent, claimed / extent
    return found


@pytest.mark.parametrize("name", [*COMPILED_QUICKLY, *HEAVY])
def test_a_default_run_is_right(name: str) -> None:
    run, said = default_run(name)
    found = off(run, name)
    assert max(found.values()) < WORST, found
    assert np.mean([error <= 1e-2 for error in found.values()]) >= MOST, found
    for output, error in found.items():
        claimed = run.error.get(output, np.nan) / np.ptp(samples(run, output))
        covered = np.isnan(claimed) or error <= claimed + REFERENCE or any(output in text for text in said)
        assert covered, (output, error, claimed)
    assert not said, said  # all of them are damped or moved smoothly: no warning is due


def exact_of_a(t: np.ndarray) -> dict[str, np.ndarray]:
    """Return the exact motion of case A, which is linear while it hardly turns."""
    linear = CASES["A"].arm().linearise()
    jumps = [(0.0, 1e-4), (0.2, -2e-4), (0.4, 1e-4)]
    rows = {s.name: (linear.sensors.position[i], linear.sensors.rate[i]) for i, s in enumerate(linear.outputs)}
    found = {}
    for output in ("link1_deflection", "root_strain", "joint1_rate", "joint1_angle"):
        rate = output.endswith("rate")
        found[output] = truth.modal_sum(linear, rows[output][rate], rate, jumps, t)
    return found


def test_the_exact_modal_sum_has_the_published_numbers() -> None:
    t = np.arange(601) * 1e-3
    for output, series in exact_of_a(t).items():
        if output in CASES["A"].wanted:
            assert np.abs(numbers(series) - CASES["A"].wanted[output]).max() < 2e-5 * np.ptp(series), output


def test_against_the_exact_modal_sum_at_every_sample() -> None:
    run, _ = default_run("A")
    for output, (error, claimed) in off_all(run, exact_of_a(np.arange(601) * 1e-3)).items():
        assert error < 1e-2, output
        assert error <= claimed, output
        assert claimed < 30.0 * max(error, 1e-3), output
