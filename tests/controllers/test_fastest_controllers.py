"""Commands that were found by runs of nonlinear arms: what they reach on the full models, within their limits."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import flexctl as fx

TORQUES = {"joint1_torque": 90.0, "joint2_torque": 45.0}


@cache
def loaded(name: str):
    script = fx.load_controller(name)
    plant = fx.load_plant(script.PLANT)
    return script, plant, script.design(plant), {item.name: item for item in script.scenarios(plant)}


def run(name: str, scenario: str, duration: float) -> fx.Response:
    _, plant, law, items = loaded(name)
    return replace(items[scenario], duration=duration).run(law, plant)


def at_rest(found: fx.Response, name: str, size: float, about: float | None = None) -> float:
    """Return the time from which on an output stays within a size of a value, or of where it ends [s]."""
    off = np.abs(found[name] - (found[name][-1] if about is None else about))
    return float(found.t[np.flatnonzero(off > size)[-1] + 1])


@pytest.mark.parametrize("off", ["", ", frequencies -10 %", ", frequencies +10 %"])
def test_ralf_is_at_rest_sooner_than_a_shaped_quintic_within_the_same_limits(off: str) -> None:
    script, plant, _, _ = loaded("ralf_fastest")
    plan = script.command(plant)
    found = run("ralf_fastest", f"planned{off}", 1.0)
    for name, limit in script.LIMITS.items():
        assert np.abs(found[name]).max() <= limit
    times = [at_rest(found, name, size) for name, size in script.REST.items()]
    for joint, begin in zip(script.JOINTS, plant.arm.joints[:2], strict=True):
        times.append(at_rest(found, joint, script.BAND * script.ANGLE, begin.angle + script.ANGLE))
    assert max(times) <= plan.arrival + 1e-3
    shaped = run("ralf_fastest", f"shaped{off}", 1.0)
    assert at_rest(shaped, "joint1_angle", script.BAND * script.ANGLE, shaped["joint1_angle"][-1]) > max(times) + 0.03


@pytest.mark.slow
@pytest.mark.parametrize("mass", [0.0, 250.0, 500.0])
def test_the_2r_arm_arrives_as_planned_with_every_payload(mass: float) -> None:
    script, plant, _, _ = loaded("planar_2r_fastest")
    plan = script.command(plant)
    found = run("planar_2r_fastest", f"planned, {mass:g} g", plan.examined)
    for name, limit in script.LIMITS.items():
        assert np.abs(found[name]).max() <= limit
    times = [at_rest(found, name, size) for name, size in script.REST.items()]
    times += [at_rest(found, name, script.BAND * move, move) for name, move in script.TARGET.items()]
    assert max(times) <= plan.arrival + 1e-3


def test_the_2r_command_is_refused_with_another_law_or_another_known_arm() -> None:
    script, plant, law, _ = loaded("planar_2r_fastest")
    path = fx.find("controllers") / "planar_2r_fastest.json"
    with pytest.raises(fx.DefinitionError, match="known is not the arm of the plan"):
        fx.load_command(path, law, script.arm(plant, 0.5))
    with pytest.raises(fx.DefinitionError, match="say by known="):
        fx.load_command(path, law)
    with pytest.raises(fx.DefinitionError, match="another law"):
        fx.load_command(path, script.design(plant, 0.5), script.arm(plant, script.SCHEDULED.RATED))


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "time", "off"), [("circle", 2.081, 0.240e-3), ("square", 2.127, 0.165e-3)])
def test_the_soonest_circle_and_square_use_the_torques(shape: str, time: float, off: float) -> None:
    script, plant, _, items = loaded("tian_circle_fastest")
    found = items[shape].run(script.design(plant), plant)
    track = script.track(plant, shape)
    assert track.path.duration == pytest.approx(time, rel=2e-3)
    assert track.bound > 0.94 * track.path.duration  # of the plan's own limits
    for name in ("joint1_torque", "joint2_torque"):
        assert 0.985 * script.LIMITS[name] < found.scores[f"{name}.peak"] <= script.LIMITS[name]
    assert found.scores["tip.max_contour"] == pytest.approx(off, rel=0.05)


@pytest.mark.slow
def test_the_same_torques_take_longer_at_constant_speed() -> None:
    script, plant, law, items = loaded("tian_circle_fastest")
    found = items["circle at constant speed"].run(law, plant)
    assert items["circle at constant speed"].duration > 1.29 * items["circle"].duration
    assert found.scores["joint2_torque.peak"] > 0.99 * script.LIMITS["joint2_torque"]
    assert found.scores["tip.max_contour"] == pytest.approx(3.68e-3, rel=0.03)
    for share in (0.15, 0.175, 0.225, 0.25):  # other easings within the torques take longer
        ease = share * script.CONSTANT
        speed = fx.ConstantSpeed(script.CIRCLE.length, script.CONSTANT, ease, ease)
        torques = fx.Track(plant, fx.Path(script.CIRCLE, speed), settled=0.0).torques(np.linspace(0.0, 2.69, 2001))
        assert max(np.abs(torques).max(axis=0) / [90.0, 45.0]) > 1.0


def test_what_the_plan_was_given_is_what_a_search_finds() -> None:
    script, plant, _, _ = loaded("tian_circle_fastest")
    nothing_sooner = fx.fastest_track(script.arm(plant), script.CIRCLE, TORQUES)
    assert nothing_sooner.bound == pytest.approx(1.997, abs=2e-3)
    assert script.track(plant).path.duration < 1.045 * nothing_sooner.bound
