"""Forces of loads along links, whose effect on bending assumed modes leave out without `foreshortening`: told."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import flexctl as fx
from flexctl.machine.arm import Actuator

BAR = fx.Link(1.0, fx.Material(7e10, 2700.0), fx.Section(4e-4, 1e-10))
"""EI 7 N m^2, which buckles under 17.3 N at its tip with the root clamped."""
BUCKLING = np.pi**2 * BAR.bending_stiffness / 4.0


def arm(links: int = 1, *loads: Actuator) -> fx.Arm:
    return fx.Arm("bars", (BAR,) * links, (fx.Joint(),) * links, actuators=loads)


def told(call: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    texts = [str(w.message) for w in caught if issubclass(w.category, fx.BeyondModel)]
    return [text for text in texts if "force of loads" in text]


@pytest.mark.parametrize("force", [0.2, -0.2])
def test_a_force_along_a_link_is_told_with_its_size(force: float) -> None:
    model = fx.build(arm(), "assumed_modes")
    (text,) = told(lambda: fx.linearise(model, load={"tip_force_x": force * BUCKLING}))
    assert "along link 1 is 3.45 N" in text
    assert "20 %" in text
    assert "foreshortening = true" in text


def test_neither_small_forces_nor_forces_across_nor_a_model_that_has_them() -> None:
    model = fx.build(arm(), "assumed_modes")
    assert told(lambda: fx.linearise(model, load={"tip_force_x": 0.04 * BUCKLING})) == []
    assert told(lambda: fx.equilibrium(model, hold={"joint1": 0.0}, load={"tip_force_y": 0.2 * BUCKLING})) == []
    whole = fx.build(arm(), "assumed_modes", foreshortening=True)
    assert told(lambda: fx.linearise(whole, load={"tip_force_x": 0.2 * BUCKLING})) == []


def test_each_link_feels_what_acts_on_it_and_beyond_it_in_its_own_direction() -> None:
    """With the elbow at 90 deg a force along x presses on the first link, one along y on the second."""
    model = fx.build(arm(2, Actuator("middle", 0.5, 0.5, link=1, direction="x")), "assumed_modes")
    q = np.array([model.pose([0.0, 0.5 * np.pi])])
    place = {name: k for k, name in enumerate(fx.names(model.inputs))}

    def pressed(name: str) -> dict[str, float]:
        u = np.zeros((1, len(place)))
        u[0, place[name]] = 2.0
        return {"link 1": 0.0, "link 2": 0.0} | {one.what[-6:]: one.value for one in model.pressed(q, u)}

    assert pressed("tip_force_x") == pytest.approx({"link 1": 2.0, "link 2": 0.0}, abs=1e-12)
    assert pressed("tip_force_y") == pytest.approx({"link 1": 0.0, "link 2": 2.0}, abs=1e-12)
    assert pressed("middle") == pytest.approx({"link 1": 2.0, "link 2": 0.0})


def test_a_run_names_the_time() -> None:
    load = Actuator("press", 1.0, 1.0, direction="x", follower=True)
    model = fx.build(arm(1, load), "assumed_modes")
    pull = fx.PiecewiseConstant((0.1,), (0.0, 5.0))
    (text,) = told(lambda: fx.simulate(model, inputs={"press": pull}, duration=0.2))
    assert "along link 1 reached 5 N at t = 0.1" in text


def test_finite_differences_tell_of_dead_forces_on_an_arm_that_turns() -> None:
    """They take them to stay across the link; after 0.5 rad the rates were 8 % off, without a word."""
    thick = fx.Link(0.8, fx.Material(7e10, 2700.0), fx.Section(4e-4, 3e-9))

    def cautions(follower: bool, size: float = 2.0) -> list[str]:
        pushed = Actuator("push", 0.5, 0.9, follower=follower)
        model = fx.build(fx.Arm("bar", (thick,), (fx.Joint(0.02),), actuators=(pushed,)), "finite_difference")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            run = fx.simulate(model, inputs={"push": fx.PiecewiseConstant((), (size,))}, duration=0.4)
        assert ("turn of link 1 under push" in run.provenance["driven"]) is not follower
        return [str(w.message) for w in caught if issubclass(w.category, fx.BeyondModel)]

    (told,) = cautions(False)
    assert "turn of link 1 under push reached" in told
    assert "(5 % at 0.316 rad)" in told
    assert cautions(True) == []
    assert cautions(False, 0.5) == []
