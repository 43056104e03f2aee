"""Steps that keep the states that drive a model furthest tell what a record of all states tells."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import flexctl as fx
from flexctl.kernels.furthest import angle, grown
from flexctl.simulation.cautions import BeyondModel, followed

MOVES = {f"joint{i}": fx.quintic(0.0, 1.2, 0.25) for i in (1, 2)}
SPRING = fx.Joint(hub_inertia=0.02, rotor_inertia=0.02, stiffness=200.0, damping=0.2)
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "planar": ("timoshenko_planar", {"elements": 6}),
    "planar, linear": ("timoshenko_planar", {"elements": 4, "analysis": "linear"}),
    "segments": ("finite_segment", {"segments": 6}),
    "ancf": ("ancf", {"elements": (2, 3)}),
}


def told(model: Any, **options: Any) -> tuple[dict[str, Any], list[str]]:
    """Return what a run says of how far it drove its model, and its warnings of that."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = fx.simulate(model, **options)
    assert (run.q is None) == (not options.get("record_states"))
    return run.provenance["driven"], [str(w.message) for w in caught if w.category is BeyondModel]


def same(model: Any, **options: Any) -> dict[str, Any]:
    """Check that few states tell what all tell, times of warnings too; return it."""
    assert followed(model) > 0
    kept, warned = told(model, **options)
    every, expected = told(model, record_states=True, **options)
    assert list(kept) == list(every)
    assert warned == expected
    for name, one in kept.items():
        assert one["unit"] == every[name]["unit"]
        for part in ("value", "cost", "bound"):
            assert one[part] == pytest.approx(every[name][part], rel=1e-9)
    assert any(one["value"] > 1e-3 for one in kept.values())
    return kept


@pytest.mark.parametrize("name", CASES)
def test_few_states_tell_what_all_tell(name):
    kind, mesh = CASES[name]
    model = fx.build(fx.load_plant("planar_2r_flexible").arm, kind, **mesh)
    same(model, motions=MOVES, duration=0.3, step=1e-3)


def test_few_states_tell_what_all_tell_of_a_run_that_is_warned_of():
    model = fx.build(fx.load_plant("planar_2r_flexible").arm, "finite_segment", segments=2)
    moves = {name: fx.quintic(0.0, 2.5, 0.2) for name in MOVES}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fx.simulate(model, motions=moves, duration=0.25, step=5e-4)
    assert any(w.category is BeyondModel for w in caught)
    same(model, motions=moves, duration=0.25, step=5e-4)


def test_few_states_tell_what_all_tell_around_drives_and_of_a_run_that_is_taken_again():
    arm = fx.load_plant("planar_2r_flexible").arm
    model = fx.build(replace(arm, joints=(SPRING, SPRING)), "finite_segment", segments=5)
    same(model, inputs={"joint1_torque": fx.bang_bang(20.0, 0.1)}, duration=0.2)


def test_states_of_a_run_that_is_compared_are_those_of_the_first():
    """Given steps with a jump are run again in half steps, for the estimate alone."""
    model = fx.build(fx.load_plant("planar_2r_flexible").arm, "timoshenko_planar", elements=4)
    same(model, inputs={"joint1_torque": fx.bang_bang(20.0, 0.1)}, duration=0.2, step=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("analysis", ["nonlinear", "linear"])
def test_few_states_tell_what_all_tell_in_space(analysis):
    model = fx.build(fx.load_plant("spatial_3r").arm, "timoshenko_spatial", elements=4, analysis=analysis)
    same(model, motions=MOVES | {"joint3": MOVES["joint1"]}, duration=0.3, step=1e-3)


def test_quasi_static_runs_record_all():
    arm = fx.load_plant("planar_2r_flexible").arm
    model = fx.build(arm, "timoshenko_planar", elements=4, analysis="quasi_static")
    assert followed(model) == 0
    assert told(model, motions=MOVES, duration=0.3, step=1e-3)[0]["bending angle of link 1"]["value"] > 1e-3


def test_the_number_of_an_angle_grows_with_it():
    angles = np.linspace(0.0, np.pi, 181)
    numbers = [grown.py_func(abs(np.sin(x)), np.cos(x)) for x in angles]
    assert np.all(np.diff(numbers) > 0.0)
    assert [angle.py_func(x) for x in numbers] == pytest.approx(angles, abs=1e-12)
