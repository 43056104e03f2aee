"""Runs of slow laws whose steps follow the error and were not divided: they are as the first, in steps of the grid."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from accuracy_unseen import pd, plant

import flexctl as fx
from flexctl.errors import AccuracyWarning
from flexctl.simulation.accuracy import Accuracy
from flexctl.simulation.run import Run


def run(period: float, **options: Any) -> fx.Response:
    """Return a move of the Quanser joint under a law with this control period [s]."""
    law, moves = pd((12.0,), (0.3,), (0.5,), 0.3, period, 1, "joint{}_rate", "joint{}_voltage")()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        return fx.simulate(plant("quanser_flexible_joint")(), law, moves, duration=0.5, **options)


def test_rates_are_estimated_where_a_law_jumps_in_every_long_step() -> None:
    """All of their steps begin with a jump; half a per cent was off, and the least that is claimed was claimed."""
    found, exact = run(5e-3), run(5e-3, step=1e-4, method="sdirk")
    assert found.provenance["steps"] == 100
    at = np.searchsorted(exact.t, found.t - 1e-9)
    error = np.abs(found["joint1_motor_rate"] - exact["joint1_motor_rate"][at]).max()
    assert 2e-3 * np.ptp(exact["joint1_motor_rate"]) < error < found.error["joint1_motor_rate"] < 20.0 * error


def test_a_run_in_the_same_steps_tempers_no_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    """What jumps hide from it is claimed as far as the tolerance lets be."""
    told, hidden, following = [], [], Run._after_following

    def watched(self: Run, first: Any) -> None:
        following(self, first)
        hidden.append(float(self.accuracy.hides.max()))

    monkeypatch.setattr(Accuracy, "temper", lambda *given: told.append(given))
    monkeypatch.setattr(Run, "_after_following", watched)
    assert run(2e-3).provenance["steps"] == 250
    assert not told
    assert hidden == [pytest.approx(0.99e-2)]
