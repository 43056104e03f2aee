"""Scheduled laws while the arm swings: what a tap leaves fades, or a counterexample is found."""

from __future__ import annotations

from functools import cache
from types import ModuleType

import numpy as np
import pytest

import flexctl as fx


@cache
def script() -> ModuleType:
    return fx.load_controller("planar_2r_scheduled")


@cache
def arm() -> fx.Plant:
    settings = {**script().SETTINGS, "model.elements": 2}
    return fx.load_plant(script().PLANT, overrides=settings, payload={"mass": 0.25})


def base() -> fx.Plant:
    return fx.load_plant(script().PLANT)


@pytest.mark.slow
def test_the_scheduled_law_is_stable_while_the_elbow_swings_and_a_frozen_one_is_not() -> None:
    found = fx.swing_stability(arm(), script().design(base()), [2.5])
    assert found.by == "joint2_angle"
    assert found.amplitude == pytest.approx(np.radians(150.0))  # mirrored: to both sides
    assert found.states == ("stable",)
    assert found.stable_to == 2.5
    assert found.grows_at is None
    frozen = script().design(base(), frozen=0.0)
    worse = fx.swing_stability(arm(), frozen, [2.5], by="joint2_angle", between=(0.0, 2.6))
    assert worse.states == ("GROWS",)
    assert worse.grows_at == 2.5
    assert worse.stable_to == 0.0


def test_a_swing_that_needs_more_than_there_is_tells_nothing() -> None:
    found = fx.swing_stability(arm(), script().design(base()), [12.0])
    assert found.states == ("at a limit",)
    assert found.stable_to == 0.0
    assert "no counterexample found" in str(found)


def test_refusals() -> None:
    law = script().design(base(), frozen=0.0)
    with pytest.raises(fx.DefinitionError, match="not scheduled by an output"):
        fx.swing_stability(arm(), law)
    with pytest.raises(fx.DefinitionError, match="does not follow tip_x"):
        fx.swing_stability(arm(), law, by="tip_x", between=(0.0, 1.0))
    with pytest.raises(fx.DefinitionError, match="two ascending numbers"):
        fx.swing_stability(arm(), law, by="joint2_angle")
    with pytest.raises(fx.DefinitionError, match="must be positive"):
        fx.swing_stability(arm(), law, [0.0], by="joint2_angle", between=(0.0, 1.0))
