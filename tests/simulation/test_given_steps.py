"""Steps that were given: a second run in half steps tells what jumps hide, and ends where it tells nothing any more."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from accuracy_unseen import pd

import flexctl as fx
from flexctl.simulation import given_steps
from flexctl.simulation.run import Run

SERVO = {"drive": "servo", "servo_stiffness": 40.0, "servo_damping": 8.0}
STEP, LENGTH = 2e-3, 6.0
ONCE = round(LENGTH / STEP)
OUTPUTS = ("joint1_angle", "link1_deflection", "link2_deflection", "root_strain", "elbow_strain", "joint2_rate")


@dataclass(frozen=True)
class Zigzag:
    """On at a constant rate [rad/s], and back from a time [s] on: rates jump at both."""

    rate: float
    turns: float
    target: float = 0.0
    duration: float = LENGTH

    @property
    def breakpoints(self) -> tuple[float, ...]:
        return (self.turns,)

    def __call__(self, t: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        t = np.asarray(t, float)
        back = np.asarray(t >= self.turns)
        value = np.where(back, self.rate * (2.0 * self.turns - t), self.rate * t)
        return value, np.where(back, -self.rate, self.rate) * np.ones_like(t), np.zeros_like(t)


def run_of(plant: fx.Plant, **options: Any) -> tuple[fx.Response, int]:
    """Return a run, whose warnings are not asked here, and the steps of all its passes."""
    run, work = work_of(plant, **options)
    return run, sum(one["steps"] for one in work)


def work_of(plant: fx.Plant, **options: Any) -> tuple[fx.Response, list[dict[str, int]]]:
    """Return a run, whose warnings are not asked here, and the work of each of its passes."""
    work, once = [], Run.once

    def counted(run: Run, *arguments: Any) -> None:
        once(run, *arguments)
        work.append(run.work)

    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore", fx.AccuracyWarning)
        patch.setattr(Run, "once", counted)
        return fx.simulate(plant, **options), work


def arm(beta: float, joint: dict[str, Any]) -> fx.Plant:
    """Return two links with Rayleigh's damping, and what is said of their joints."""
    given = {f"joint.{i}.{key}": value for i in (1, 2) for key, value in joint.items()}
    damping = {"damping.kind": "rayleigh", "damping.beta": beta}
    return fx.load_plant("planar_2r_flexible", overrides={"model.elements": 3, **damping, **given})


def servos(turns: float, step: float | None = STEP) -> tuple[fx.Response, int]:
    """Return a run of a damped arm whose servos are told to go on at once, and back later."""
    moves = {"joint1": Zigzag(0.02, turns), "joint2": Zigzag(-0.03, turns)}
    return run_of(arm(2e-3, SERVO), motions=moves, duration=LENGTH, step=step, initial=rest)


def rest(model: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return where it starts: at rest, so that the rates that are told jump."""
    return model.reference(), 0.0 * model.reference()


def pushed(beta: float, push: float, step: float = STEP, **inputs: Any) -> tuple[fx.Response, int]:
    """Return a run of a free arm that is pushed."""
    given = {"joint1_torque": fx.bang_bang(push, 0.05), **inputs}
    return run_of(arm(beta, {}), inputs=given, duration=LENGTH, step=step)


def whole(found: Any, *arguments: Any, **named: Any) -> tuple[fx.Response, int]:
    """Return a run of which the second one goes to the end."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(given_steps, "LOOKS", 0)
        return found(*arguments, **named)


@pytest.mark.parametrize("turns", [0.5, 2.5])
def test_the_second_run_ends_where_its_difference_is_gone(turns: float) -> None:
    (run, steps), (every, most) = servos(turns), whole(servos, turns)
    assert most == 3 * ONCE
    behind = 2.0 * turns / LENGTH  # in half steps, up to the last jump
    assert (1.0 + behind) * ONCE < steps < (1.0 + behind + 1.1 * (1.0 - turns / LENGTH)) * ONCE
    exact = servos(turns, 1e-4)[0]
    for name in OUTPUTS:
        assert 0.5 * every.error[name] <= run.error[name] <= 2.0 * every.error[name], name
        error = np.abs(run[name] - np.interp(run.t, exact.t, exact[name])).max()
        assert error <= run.error[name], name
    np.testing.assert_array_equal(run.y, every.y)  # the run itself is the same


def test_what_rings_on_is_compared_to_the_end() -> None:
    (run, steps), (every, most) = pushed(1e-6, 0.1), whole(pushed, 1e-6, 0.1)
    assert steps == most == 3 * ONCE
    np.testing.assert_array_equal(list(run.error.values()), list(every.error.values()))


class Kick:
    """A torque [N m] that is over in some steps: they take another impulse for it, with which the arm goes on."""

    breakpoints: tuple[float, ...] = ()

    def __call__(self, t: Any, before: bool = False) -> np.ndarray:
        return 0.3 * np.exp(-np.asarray(t, float) / 1e-3)


def test_what_drifts_on_is_compared_to_the_end() -> None:
    """Nothing is wrong in the steps that come later, but the angle is further and further off."""
    (run, steps), exact = (pushed(2e-3, 0.0, step, joint2_torque=Kick()) for step in (STEP, 5e-5))
    assert steps == 3 * ONCE
    for name in OUTPUTS:
        error = np.abs(run[name] - np.interp(run.t, exact[0].t, exact[0][name])).max()
        assert error <= run.error[name], name


class Burst:
    """A torque [N m] that shakes the arm for some time, long after the push."""

    breakpoints: tuple[float, ...] = ()

    def __call__(self, t: Any, before: bool = False) -> np.ndarray:
        t = np.asarray(t, float)
        return 0.05 * np.exp(-(((t - 4.0) / 0.3) ** 2)) * np.sin(60.0 * t)


def test_local_errors_that_come_later_are_not_left_out() -> None:
    """What a weak push hides is gone when the arm is shaken, with larger errors than that: they are compared too."""
    (run, steps), short = pushed(2e-3, 1e-4, joint2_torque=Burst()), pushed(2e-3, 1e-4)[1]
    assert steps == 3 * ONCE > 2 * short
    exact = pushed(2e-3, 1e-4, 1e-4, joint2_torque=Burst())[0]
    for name in OUTPUTS:
        error = np.abs(run[name] - np.interp(run.t, exact.t, exact[name])).max()
        assert error <= run.error[name], name


@pytest.mark.parametrize("drive", ["hydraulic", "torque"])
def test_tangents_that_the_second_run_keeps_leave_what_it_tells(drive: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """RALF hit by jumps: in the second run closures are met with tangents of some steps before, and Newton leaves."""
    pushes = {"joint1_command": fx.bang_bang(0.05, 1.0), "joint2_command": fx.bang_bang(-0.05, 1.0)}
    if drive == "torque":
        pushes = {"joint1_torque": fx.bang_bang(1000.0, 0.5), "joint2_torque": fx.bang_bang(150.0, 0.5)}
    plant = fx.load_plant("ralf", overrides={f"joint.{i}.drive": "torque" for i in (1, 2)} if "torque" in drive else {})
    run, (first, second) = work_of(plant, inputs=pushes, duration=0.6, step=1e-3)
    assert second["steps"] == 2 * first["steps"]
    assert second["factorisations"] < second["steps"]
    monkeypatch.setattr(given_steps, "LEAVES", 0.0)
    exact, (_, every) = work_of(plant, inputs=pushes, duration=0.6, step=1e-3)
    assert every["factorisations"] >= every["steps"]
    assert every["iterations"] > 1.2 * second["iterations"]
    np.testing.assert_array_equal(run.y, exact.y)  # the run itself is the same
    known = [name for name, error in exact.error.items() if np.isfinite(error)]
    assert len(known) > 10
    for name in known:
        assert abs(run.error[name] - exact.error[name]) <= 0.02 * exact.error[name], name


def test_commands_of_a_sampled_law_are_off_by_what_half_steps_change() -> None:
    """And not by all that the law may answer to errors of what it reads, which is thirty times as much here."""
    law, moves = pd((8.0, 1.0), (4.0, 0.5), (0.4, -0.3), 0.3, 4e-3)()
    plant = arm(3e-4, {})
    run, _ = run_of(plant, controller=law, reference=moves, duration=0.6, step=STEP)
    exact, _ = run_of(plant, controller=law, reference=moves, duration=0.6, step=STEP / 16)
    near = np.searchsorted(exact.t, run.t - 1e-9)
    for name in ("joint1_torque", "joint2_torque"):
        error = float(np.abs(run[name] - exact[name][near]).max())
        assert error <= run.error[name] <= 12.0 * error, name
