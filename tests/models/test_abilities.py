"""The abilities of models: every one is checked of models that have it, and a broken promise is noticed."""

from __future__ import annotations

import typing
from typing import Any

import numpy as np
import pytest
from test_conformance import CASES

import flexctl as fx
from flexctl import abilities as able
from flexctl.abilities.ability import Ability, asked_of
from flexctl.testing.abilities import ABILITIES, check_abilities

OF_SYSTEMS = {
    able.HasModel, able.HasArm, able.Identified, able.Documented, able.PayloadChecking, able.SampledModel,
    able.KnowsPoles, able.Preparable, able.LinearFeedback, able.Knowing, able.ContinuousLoop,
    able.IsLinear, able.Gains,
}
"""Of plants, frequency models, laws and classes, which have no suite of models."""


VOLTAGE = fx.Joint(
    drive="voltage", motor=fx.Motor(gear_ratio=70.0, torque_constant=7.68e-3, resistance=2.6, inductance=0.18e-3,
                                    rotor_inertia=4.6e-7, max_current=3.0),
    friction_law=fx.Friction("lugre", coulomb=0.02, static=0.03, stribeck_rate=0.05, bristle_stiffness=40.0,
                             bristle_damping=0.05),
    stiffness=20.0, cubic_stiffness=5.0, backlash=1e-3, friction=0.004,
)


def around() -> dict[str, Any]:
    """Models around models, and the formulations of the catalogue that no case has."""
    planar = fx.load_plant("planar_2r_flexible").model
    return {
        "motion-driven": fx.motion_driven(planar, {"joint1_torque": "joint1"}),
        "motion-driven and linear": fx.motion_driven("tokhi_azad_1994", {"joint1_torque": "theta"}),
        "cylinders": fx.load_plant("ralf", model={"modes": 1}).model,
        "servos": fx.load_plant("planar_2r_servo").model,
        "motors": fx.driven_joints(planar, {"joint1_torque": VOLTAGE}),
        "motor of the laboratory": fx.load_plant("quanser_flexible_link").model,
    }


@pytest.mark.parametrize("name", [
    "motion-driven", "motion-driven and linear", "cylinders", "servos", "motors", "motor of the laboratory",
])
def test_abilities_of_models_around_models(name: str) -> None:
    assert check_abilities(around()[name])


def test_every_ability_has_a_check_and_somebody_has_it() -> None:
    protocols = {x for x in vars(able).values() if isinstance(x, type) and getattr(x, "_is_protocol", False)}
    assert protocols == set(ABILITIES) | OF_SYSTEMS
    models = [case.model for case in CASES if case.kind] + list(around().values())
    idle = {p.__name__ for p in ABILITIES if not any(isinstance(model, p) for model in models)}
    assert not idle, f"nobody has {idle}: delete them"


@pytest.mark.parametrize(
    ("name", "broken", "message"),
    [
        ("pose", lambda model: lambda angles: type(model).pose(model, np.asarray(angles) + 0.1), "pose puts joint1 at"),
        ("rigid_tip", lambda model: lambda angles: 1.01 * type(model).rigid_tip(model, angles), "the sensor reads"),
        (
            "rigid_torques", lambda model: lambda *motion: 1.01 * type(model).rigid_torques(model, *motion),
            "the rigid motion takes",
        ),
        ("turning", lambda model: lambda rates, angles=None: np.ones((2, 2)), "turning has shape"),
        ("rest", lambda model: lambda angles: model.pose(angles) + 1e-3, "out of balance"),
        ("with_payload", lambda model: lambda mass, inertia: model, "adds no mass"),
        ("with_payload", lambda model: lambda mass: model, "cannot be called as with_payload"),
        ("assumptions", lambda model: lambda q, v: [1.0], "not a flexctl.models.ranges.Driven"),
    ],
)
def test_a_broken_promise_is_noticed(name: str, broken: Any, message: str) -> None:
    model = fx.load_plant("planar_2r_flexible").model
    object.__setattr__(model, name, broken(model))
    with pytest.raises(AssertionError, match=message):
        check_abilities(model)


def test_protocols_ask_for_the_names_that_python_finds():
    """`Ability` collects them once, Python 3.11 in every check."""
    protocols = [x for x in vars(able).values() if isinstance(x, Ability) and vars(x).get("_is_protocol")]
    assert len(protocols) > 30
    for one in protocols:
        names = set(typing._get_protocol_attrs(one)) if hasattr(typing, "_get_protocol_attrs") else set()
        assert set(asked_of(one)) == names or not names

    class Half:
        own_stepper = True
        stepper = None

    assert not isinstance(Half(), able.Stepping)  # a method that is None is none
    Half.stepper = lambda self: None
    assert isinstance(Half(), able.Stepping)
