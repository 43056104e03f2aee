"""Planar arms under commands: drives, payloads on the way, what is refused."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from test_planar_motion import CYCLOID, Array, planar

import flexctl as fx
from flexctl.errors import ConvergenceError, DefinitionError, NotAvailable
from flexctl.laws.controller import LinearLaw
from flexctl.linear.steady import steady_state
from flexctl.model import names
from flexctl.motion.moves import Step, bang_bang, quintic


def test_drive_motion_of_a_plant() -> None:
    """Its linear plant is commanded by accelerations; a run by motions, joints left out stay where they are."""
    plant = fx.load_plant(
        "planar_2r_flexible", overrides={"joint.1.drive": "motion", "joint.2.drive": "motion", "joint.2.angle": 0.5}
    )
    assert names(plant.model.inputs)[:2] == ["joint1_acceleration", "joint2_acceleration"]
    run = fx.simulate(plant, motions={"joint1": quintic(0.0, 0.4, 0.5)}, duration=0.6)
    np.testing.assert_allclose(run["joint2_angle"], 0.5, atol=1e-15)
    assert run["joint1_angle"][-1] == pytest.approx(0.4, abs=1e-15)
    held = fx.simulate(
        plant.model.inner, motions={"joint1": quintic(0.0, 0.4, 0.5), "joint2": Step(0.5, 0.5)}, duration=0.6
    )
    np.testing.assert_array_equal(run.y, held.y)


def test_payload_taken_on_the_way() -> None:
    """Joints commanded all along: before the change as without it, afterwards the residual vibration is slower."""
    model = planar("planar_2r_flexible", 4)
    runs = [fx.simulate(model, motions=CYCLOID, duration=5.0, step=1e-3, payload=p) for p in ((), [(2.0, 0.5, 0.0)])]
    early = runs[0].t < 1.99
    np.testing.assert_array_equal(runs[0]["tip_y"][early], runs[1]["tip_y"][early])
    late = runs[0].t > 2.6
    crossings = [np.sum(np.diff(np.sign(r["tip_error_x"][late] - r["tip_error_x"][late].mean())) != 0) for r in runs]
    assert crossings[1] < crossings[0]


def test_states_are_recorded_in_the_order_of_the_coordinates() -> None:
    model = planar("planar_2r_flexible", 3)
    run = fx.simulate(model, motions=CYCLOID, duration=0.5, record_states=True)
    assert run.q is not None
    assert run.v is not None
    for k in (0, 100, 500):
        y = model.output(run.q[k], run.v[k], 0 * run.q[k], np.zeros(5))
        still = [i for i, name in enumerate(names(model.outputs)) if "acceleration" not in name]
        np.testing.assert_allclose(run.y[k, still], y[still], rtol=0, atol=1e-14)


@dataclass(frozen=True)
class Turning:
    """A constant rate all the time [rad/s]."""

    rate: float
    duration: float = 0.0
    target: float = 0.0
    breakpoints: tuple[float, ...] = ()

    def __call__(self, t: npt.ArrayLike) -> tuple[Array, Array, Array]:
        t = np.asarray(t, float)
        return self.rate * t, np.full_like(t, self.rate), np.zeros_like(t)


def test_a_command_under_way_finds_the_arm_moving_with_it() -> None:
    """Then the arm stretches and bends by the centrifugal forces only."""
    model = planar("planar_2r_flexible", 4)
    run = fx.simulate(model, motions={"joint1": Turning(1.0), "joint2": Step(0.4, 0.4)}, duration=0.5)
    np.testing.assert_allclose(run["joint1_angle"], run.t, atol=1e-15)
    bent = np.hypot(run["tip_error_x"], run["tip_error_y"])
    quiet = steady_state(model, (1.0, 0.0), (0.0, 0.4))
    still = float(np.hypot(*model.output(quiet.q, quiet.v, quiet.a, quiet.u)[-4:-2]))
    assert bent[0] == pytest.approx(0.0, abs=1e-15)
    assert 1.5 * still < bent.max() < 2.5 * still


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"motions": {"joint3": Step(0, 1)}}, DefinitionError, 'did you mean "joint2"|known: joint1'),
        ({"motions": {"joint1": 3.0}}, DefinitionError, "give a mapping from texts to motions"),
        (
            {"motions": {"joint1": Step(0, 0)}, "inputs": {"joint1_torque": bang_bang(1.0, 0.1)}},
            DefinitionError,
            "leave one of them out",
        ),
    ],
)
def test_wrong_commands_are_refused(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        fx.simulate(planar("planar_2r_flexible", 2), duration=0.1, **arguments)


def test_linear_analyses_need_every_joint_commanded_and_no_controller() -> None:
    model = planar("planar_2r_flexible", 2, analysis="linear")
    with pytest.raises(DefinitionError, match="joint2 has no command"):
        fx.simulate(model, motions={"joint1": CYCLOID["joint1"]}, duration=0.1)
    law = LinearLaw(1e-3, ("tip_x",), ("tip_force_x",), Dy=[[1.0]])
    with pytest.raises(NotAvailable, match="no rates for a controller"):
        fx.simulate(planar("planar_2r_flexible", 2, analysis="quasi_static"), law, motions=CYCLOID, duration=0.1)


def test_models_without_named_joints_are_not_commanded() -> None:
    arm_1 = fx.load_plant("tokhi_azad_1994")
    with pytest.raises(NotAvailable, match="names no joints to command"):
        fx.simulate(arm_1, motions={"theta": quintic(0.0, 0.1, 0.1)}, duration=0.1)


def test_divergence_names_time_and_step() -> None:
    law = LinearLaw(1e-2, ("joint1_rate",), ("joint1_torque",), Dy=[[500.0]])
    with pytest.raises(ConvergenceError, match=r"(smaller step|diverged at t = )") as caught:
        fx.simulate(planar("rotating_link", 4), law, duration=2.0, inputs={"joint1_torque": bang_bang(1.0, 0.1)})
    assert math.isfinite(caught.value.time)
