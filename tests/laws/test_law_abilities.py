"""The abilities of control laws: checked of every law of flexctl that has them; a broken promise is noticed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import flexctl as fx
from flexctl.abilities import LinearFeedback
from flexctl.laws import abilities
from flexctl.laws.blended import Blended
from flexctl.laws.scheduled import ScheduledLaw
from flexctl.testing import check_law
from flexctl.testing.laws import ABILITIES

PD = fx.LinearLaw(
    4e-3, ("joint1_angle", "joint1_rate"), ("joint1_torque",), ("joint1_angle",), Dy=np.array([[-0.9, -0.12]]),
    Dr=np.array([[0.9, 0.12, 0.0]]),
)
MOVE = {"joint1_angle": fx.quintic(0.0, 0.3, 0.5)}


@dataclass(frozen=True)
class Preview:
    """A law of a user that needs its references in advance: it acts on the target from the start."""

    target: float = 0.0
    sample_time: float = 4e-3
    measures: tuple[str, ...] = ("joint1_angle", "joint1_rate")
    drives: tuple[str, ...] = ("joint1_torque",)
    follows: tuple[str, ...] = ("joint1_angle",)

    def with_references(self, references: Any) -> Preview:
        return replace(self, target=references["joint1_angle"].target)

    def initial(self) -> None:
        return None

    def step(self, state: None, t: float, y: Any, r: Any) -> tuple[Any, None]:
        return np.array([0.2 * (self.target - y[0]) - 0.1 * y[1]]), None


LAWS: dict[str, Any] = {
    "linear": PD,
    "delayed, limited, quantised, noisy": fx.Delayed(
        fx.Saturated(fx.Quantised(fx.Noisy(PD, {"joint1_angle": 1e-4}), {"joint1_angle": 1e-3}), 0.2), 1
    ),
    "limited": fx.Saturated(PD, 0.2),
    "continuous": replace(PD, sample_time=0.0),
    "scheduled": ScheduledLaw((0.5,), (PD, replace(PD, Dy=0.5 * PD.Dy))),
    "blended": Blended((PD, replace(PD, Dy=0.5 * PD.Dy)), (0.0, 1.0), "joint1_angle"),
    "preview": Preview(),
    "delayed preview": fx.Delayed(Preview(), 2),
}


@pytest.mark.parametrize("name", LAWS)
def test_laws_keep_their_promises(name: str) -> None:
    check_law(LAWS[name], references=MOVE)


def test_every_ability_has_a_check_and_some_law_has_it() -> None:
    protocols = {x for x in vars(abilities).values() if isinstance(x, type) and getattr(x, "_is_protocol", False)}
    protocols = {p for p in protocols if p.__module__ == abilities.__name__} | {LinearFeedback}
    assert protocols == set(ABILITIES)
    assert {p for p in ABILITIES if not any(isinstance(law, p) for law in LAWS.values())} == set()


def test_simulate_gives_a_law_its_references_under_the_new_name_only() -> None:
    plant = fx.load_plant("tokhi_azad_1994", model={"sections": 4})
    for law in (Preview(), fx.Delayed(Preview(), 1)):
        run = fx.simulate(plant, law, MOVE, duration=0.02)
        assert run["joint1_torque"][2:8].max() > 0.05  # the reference itself has hardly begun: the target is known

    class Old(Preview):
        told = Preview.with_references
        with_references = None  # type: ignore[assignment]

    assert abs(fx.simulate(plant, Old(), MOVE, duration=0.02)["joint1_torque"]).max() < 1e-9


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"step": lambda self, state, t, y, r: (np.zeros(1), None) if t else (np.ones(1), None)}, None),
        ({"step": lambda self, state, t, y: None}, "cannot be called as step"),
        ({"with_references": lambda self, references: PD.limited(-1, 1)}, None),
        ({"with_references": lambda self, references: replace(PD, sample_time=1.0)}, "changes sample_time"),
        ({"feedback": lambda self: PD.feedback().A}, "not a FirstOrder"),
        ({"designed_for": {"joint1_angle": (1.0, 0.0)}}, "designed_for: joint1_angle from 1.0 to 0.0"),
        ({"limit": -1.0}, "is not positive"),
    ],
)
def test_a_broken_promise_is_noticed(broken: dict[str, Any], message: str | None) -> None:
    law = type("Broken", (Preview,), broken)()
    if message is None:
        check_law(law, references=MOVE)
        return
    with pytest.raises(AssertionError, match=message):
        check_law(law, references=MOVE)


def test_a_law_that_keeps_its_state_inside_is_noticed() -> None:
    class Counting(Preview):
        calls = [0]  # noqa: RUF012

        def step(self, state: None, t: float, y: Any, r: Any) -> tuple[Any, None]:
            self.calls[0] += 1
            return np.array([float(self.calls[0])]), None

    with pytest.raises(AssertionError, match="a second run of the law differs"):
        check_law(Counting())
