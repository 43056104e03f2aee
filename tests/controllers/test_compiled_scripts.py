"""Every shipped law runs in compiled steps: a law in Python costs up to 0.3 ms a period."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import flexctl as fx
from flexctl.laws.compiled import compile_law, runs_compiled
from flexctl.laws.controller import with_references
from flexctl.laws.given import as_law

NAMES = sorted(path.stem for path in fx.find("controllers").glob("*.py"))
QUICK = ("tokhi_azad_pd", "tokhi_azad_strain", "two_mass_fixed")


@cache
def plants(name: str) -> fx.Plant:
    return fx.load_plant(name)


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in NAMES]
)
def test_the_laws_of_a_script_are_compiled(name: str) -> None:
    script = fx.load_controller(name)
    plant = plants(script.PLANT)
    controller, seen = script.design(plant), set()
    items = [] if "learnt" in vars(script) else script.scenarios(plant)  # those of learning run it first
    for item in items or [fx.Scenario("alone", {}, 1.0)]:
        given = item.own_law(controller)
        if given is None or id(given) in seen or isinstance(given, fx.MotionCommand):  # which has no steps
            continue
        seen.add(id(given))
        law, model = with_references(given, item.motions(given)), item.plant(plant).model
        times = np.arange(101) * (law.sample_time or 1e-3)
        assert compile_law(law, model, times) is not None, f"{item.name}: {given} is called in Python"
        assert runs_compiled(model), f"{item.name}: {model.kind} is stepped in Python"


def test_a_law_of_steps_alone_is_told_apart() -> None:
    """The walk above can fail."""
    script = fx.load_controller("tokhi_azad_pd")
    plant = plants(script.PLANT)
    law = as_law(script.design(plant))

    class Steps:
        sample_time, measures, drives, follows = law.sample_time, law.measures, law.drives, law.follows

        def initial(self):
            return law.initial()

        def step(self, state, t, y, r):
            return law.step(state, t, y, r)

    assert compile_law(Steps(), plant.model, np.arange(11) * law.sample_time) is None
