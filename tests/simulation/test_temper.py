"""Sums of local errors of sampled loops are taken for as large as a run in longer steps shows them to be."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from accuracy_unseen import TORQUE, driven, pd

import flexctl as fx
from flexctl.errors import AccuracyWarning
from flexctl.simulation.accuracy import SHARE, Accuracy

ARM = driven(TORQUE)
LAW = pd((20.0, 6.0), (4.0, 1.0), (0.3, -0.2), 0.3, 1e-3, 0, "joint{}_rate")


def run(**options: Any) -> fx.Response:
    """Return a run in which something is gripped, so that steps are divided."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        return fx.simulate(ARM(), *LAW(), duration=0.5, payload=[(0.35, 0.8, 1e-3)], **options)


def test_claims_are_nearer_to_the_errors_and_cover_them(monkeypatch: pytest.MonkeyPatch) -> None:
    now, exact = run(), run(rtol=1e-4, method="sdirk")
    monkeypatch.setattr(Accuracy, "temper", lambda *given: None)
    before = run()
    np.testing.assert_array_equal(now.y, before.y)
    fell = []
    for name, claimed in now.error.items():
        if np.isfinite(claimed):
            error = np.abs(now[name] - exact[name]).max()
            assert error <= claimed, name
            assert claimed <= before.error[name], name
            if before.error[name] > 2e-3 * np.ptp(exact[name]):  # what is above the least claim
                fell.append(before.error[name] / claimed)
    assert sum(by > 5.0 for by in fell) > 2


def test_what_a_run_in_longer_steps_says_of_sums() -> None:
    accuracy = Accuracy(tuple(fx.Signal(name, "rad/s" if name == "e" else "rad") for name in "abcde"), True)
    accuracy.gauge.error[:] = 1.0
    still = np.zeros((2, 5))
    moved = np.array([[0.5, 100.0, 0.0, 0.5, 0.5], [-1.0, 0.0, 0.5, -1.0, 0.0]])
    accuracy.temper(still, moved, np.array([3.5, 9.0, 1.9, 90.0, 9.0]))
    # 1 of 2.5 is there; more than 8; the sums of both are alike, and nothing is known; of sums that fall by more than
    # errors can, 1 of 3; a rate
    np.testing.assert_allclose(accuracy.share, [0.4, 1.0, 1.0, 1.0 / 3.0, 1.0])
    accuracy.temper(still, still, np.full(5, 9.0))
    np.testing.assert_allclose(accuracy.share, [SHARE] * 4 + [1.0])
