"""Readings that freeze and samples that are missed, against what they mean."""

from __future__ import annotations

import numpy as np
import pytest

import flexctl as fx

LAW = fx.LinearLaw(
    0.1, ("a", "b"), ("u",), (), A=[[1.0]], By=[[1.0, 0.0]], C=[[1.0]], Dy=[[0.0, 10.0]]
)  # u = sum of a before + 10 b


def commands(law, y):
    state, found = law.initial(), []
    for k, row in enumerate(y):
        u, state = law.step(state, 0.1 * k, np.array(row, float), np.zeros(0))
        found.append(float(u[0]))
    return found


Y = [(1, 1), (2, 2), (3, 3), (4, 4)]


def test_a_reading_that_freezes_is_the_last_one_before() -> None:
    assert commands(LAW, Y) == [10.0, 21.0, 33.0, 46.0]
    assert commands(fx.Frozen(LAW, {"b": 0.2}), Y) == [10.0, 21.0, 23.0, 26.0]
    assert commands(fx.Frozen(LAW, {"a": 0.2}), Y) == [10.0, 21.0, 33.0, 45.0]


def test_a_missed_sample_holds_the_command_and_the_state() -> None:
    assert commands(fx.Missed(LAW, (0.2,)), Y) == [10.0, 21.0, 21.0, 43.0]


def test_what_cannot_freeze_is_refused() -> None:
    with pytest.raises(fx.DefinitionError, match="not measured"):
        fx.Frozen(LAW, {"c": 0.2})
    with pytest.raises(fx.DefinitionError, match="continuous"):
        fx.Missed(fx.LinearLaw(0.0, ("a",), ("u",), Dy=[[1.0]]), (0.2,))
    with pytest.raises(fx.DefinitionError, match="finite"):
        fx.Missed(LAW, (np.nan,))


def test_a_run_with_a_missed_sample_is_one_of_a_law_that_skips_it() -> None:
    script = fx.load_controller("tokhi_azad_lqg")
    arm = fx.load_plant(script.PLANT).with_(script.SETTINGS)
    law, move = script.design(arm), fx.quintic(0.0, 0.1, 0.4)
    whole, less = (fx.simulate(arm, one, move, duration=0.5, method="march") for one in (law, fx.Missed(law, (0.2,))))
    at = int(np.searchsorted(whole.t, 0.2 - 1e-9))
    same = np.abs(whole["joint1_torque"] - less["joint1_torque"])
    assert same[:at].max() < 1e-12
    assert less["joint1_torque"][at] == less["joint1_torque"][at - 1]
    assert same[at:].max() > 1e-4
