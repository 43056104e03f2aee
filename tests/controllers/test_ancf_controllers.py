"""The controllers of the ANCF arm on its full nonlinear model: two sets of gains, feedforward with tip, eased corners.

Numbers called the reference are those of independent code: the same elements and elastic forces, its own integrators,
a continuous law over the angles of the root sections. Tolerances: 2 % of tracking errors, 10 % of contour errors, 5 %
of peak torques.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from test_ancf_tracking import without_rate_of_correction

import flexctl as fx
from flexctl.design.tracking import gains_by_period, pd_gains, tip_tracking
from flexctl.errors import ConvergenceError, DefinitionError
from flexctl.judging.certify import certify
from flexctl.judging.scenario import Scenario, scenarios
from flexctl.judging.tracking_scenarios import tracking_scenario
from flexctl.kernels.schemes import trapezoidal
from flexctl.laws.scheduled import ScheduledLaw
from flexctl.motion.paths import ConstantSpeed, Path, by_sides
from flexctl.motion.track import Track
from flexctl.simulation.path_stability import HiddenInstability, path_stability

TWO, EASED, TIP = "tian_two_phase", "tian_square_eased", "tian_feedforward_tip"
slow = pytest.mark.slow


@cache
def script(name: str) -> tuple[ModuleType, fx.Plant]:
    found = fx.load_controller(name)
    return found, fx.load_plant(found.PLANT)


@cache
def items(name: str) -> dict[str, Scenario]:
    return {item.name: item for item in scenarios(*script(name))}


@cache
def run(name: str, scenario: str) -> fx.Response:
    made, plant = script(name)
    return items(name)[scenario].run(made.design(plant), plant)


def tracking(found: fx.Response) -> list[float]:
    """Rms error in x and y, then after 5 s [mm]."""
    return [1e3 * found.scores[f"tip_{a}.{kind}"] for kind in ("rms_error", "settled_rms_error") for a in "xy"]


def contour(found: fx.Response) -> list[float]:
    """Rms and largest distance from the outline once settled [mm]."""
    return [1e3 * found.scores[f"tip.settled_{kind}_contour"] for kind in ("rms", "max")]


def torques(found: fx.Response) -> list[float]:
    return [found.scores[f"joint{i}_torque.settled_peak"] for i in (1, 2)]


# ---- two sets of gains ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("scenario", "wanted"), [
    ("circle, encoders", [0.282, 2.022, 0.202, 0.671]),
    pytest.param("circle, encoders, first gains only", [0.287, 2.350, 0.210, 1.496], marks=slow),
    pytest.param("square, encoders", [0.200, 1.571, 0.210, 1.749], marks=slow),
])
def test_two_sets_of_gains_track_as_in_the_reference(scenario: str, wanted: list[float]) -> None:
    assert tracking(run(TWO, scenario)) == pytest.approx(wanted, rel=0.02)


@slow
def test_chords_on_a_damped_arm_track_as_encoders_do() -> None:
    """Once the start is over; 2 %: the damping of 3 ms bends the links less."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", HiddenInstability)
        found = run(TWO, "circle, chords, damped arm")
    assert tracking(found)[2:] == pytest.approx([0.202, 0.671], rel=0.02)


def test_chords_on_the_undamped_arm_only_look_stable() -> None:
    """With the most dissipation 20 s pass and a warning comes; the trapezoidal rule does not get that far."""
    item = items(TWO)["square, chords, 2 rad/s, undamped arm"]
    with pytest.warns(HiddenInstability, match=r"\+3\.2\de\+03 1/s at 3\.72\de\+04 Hz .*generalised_alpha, step 0.001"):
        found = item.run(None, script(TWO)[1])
    assert found.scores["tip.max_error"] < 0.031
    exact = replace(item, options={**item.options, "scheme": trapezoidal()}, duration=3.0)
    with pytest.raises(ConvergenceError, match=r"t = [012]\."):
        exact.run(None, script(TWO)[1])


@pytest.mark.parametrize(
    ("beta", "w", "growth"),
    [(0.0, 4.0, 7414.0), (0.0, 12.0, 2.02e4), (1e-3, 12.0, 14.9), (3e-3, 4.0, -2.02), (3e-3, 12.0, -6.06)],
)
def test_growth_that_the_script_states(beta: float, w: float, growth: float) -> None:
    """Along the circle; 7414 1/s is the reference's, whose poses differ by up to 1.2 %, the others are our own."""
    made, plant = script(TWO)
    arm = plant.with_({"damping.kind": "rayleigh", "damping.beta": beta}) if beta else plant
    where = made.track(arm, "circle")
    found = path_stability(arm, made.law(where, "circle", w, angles="chord"), where)
    assert found.worst == pytest.approx(growth, rel=0.02)
    encoders = path_stability(arm, made.law(where, "circle", w), where)
    assert encoders.worst < 0.0


def test_the_set_that_is_on_decides() -> None:
    """The 12 rad/s of the second half are what 1 ms of damping does not hold: at 12.5 s and later, not before."""
    made, plant = script(TWO)
    arm = plant.with_({"damping.kind": "rayleigh", "damping.beta": 1e-3})
    where = made.track(arm, "circle")
    found = path_stability(arm, made.law(where, "circle", angles="chord"), where)
    assert found.worst == pytest.approx(14.9, rel=0.02)
    assert bool((found.times[found.growth > 0.0] >= 12.5).all())


def test_gains_by_period_share_the_time() -> None:
    three = gains_by_period((2.0, 1.0), (1.0, 2.0, 3.0), 6.0)
    assert [g.start for g in three] == [0.0, 2.0, 4.0]
    assert three[1] == pd_gains((2.0, 1.0), 2.0, start=2.0)
    assert three[2].kp == (18.0, 9.0)
    assert three[2].kd == (12.0, 6.0)


# ---- eased corners -------------------------------------------------------------------------------------------------

ROWS: dict[str, tuple[list[float], list[float]]] = {
    # the peak after a hard corner is that of an integrator: see test_what_a_hard_corner_asks_for
    "constant speed": ([1.094, 7.90], []),
    "constant speed, feedforward": ([1.12, 8.05], []),
    "0.1 s": ([1.10, 7.81], [8.2, 4.9]),
    "0.1 s, feedforward": ([0.0099, 0.100], [13.1, 9.5]),
    "0.25 s, feedforward": ([0.0075, 0.072], [5.4, 3.9]),
    "0.5 s, feedforward": ([0.0049, 0.036], [2.9, 2.0]),
}
QUICK = ("constant speed", "0.1 s, feedforward")


@pytest.mark.parametrize("row", [pytest.param(row, marks=[slow] * (row not in QUICK)) for row in ROWS])
def test_contour_errors_and_torques_are_those_of_the_reference(row: str) -> None:
    wanted, peaks = ROWS[row]
    assert contour(run(EASED, row)) == pytest.approx(wanted, rel=0.1)
    if peaks:
        assert torques(run(EASED, row)) == pytest.approx(peaks, rel=0.05)


def test_what_a_hard_corner_asks_for() -> None:
    """Kd times the jump of the rate, at the corner itself; the reference's largest after it is 62.9 and 34.5 N m."""
    made, plant = script(EASED)
    where = made.track(plant, 0.0)
    jumps = [where.joints(t).rates - where.joints(np.nextafter(t, 0.0)).rates for t in where.path.corner_times]
    asked = np.abs(np.array(made.GAINS.kd) * jumps).max(axis=0)
    assert asked == pytest.approx([80.57, 53.38], abs=0.01)
    found = run(EASED, "constant speed")
    at = [np.searchsorted(found.t, t - 1e-9) for t in where.path.corner_times]
    held = np.abs(np.column_stack([found["joint1_torque"], found["joint2_torque"]])[at]).max(axis=0)
    assert held == pytest.approx(asked, abs=0.5)


def test_a_hundred_times_less_contour_error_at_less_torque_in_the_same_time() -> None:
    hard, eased = run(EASED, "constant speed"), run(EASED, "0.1 s, feedforward")
    assert items(EASED)["constant speed"].duration == items(EASED)["0.1 s, feedforward"].duration == 20.0
    assert contour(hard)[0] > 100 * contour(eased)[0]
    assert contour(hard)[1] > 70 * contour(eased)[1]
    assert np.all(np.array(torques(eased)) < [62.9 / 4, 34.5 / 3])


def test_the_contour_error_is_the_distance_from_the_outline() -> None:
    found = run(EASED, "constant speed")
    x, y = np.abs(found["tip_x"] - 1.6), np.abs(found["tip_y"])
    outside = np.hypot(np.maximum(x - 0.2, 0.0), np.maximum(y - 0.2, 0.0))
    distance = np.where(outside > 0.0, outside, 0.2 - np.maximum(x, y))
    late = found.t >= 4.0
    t, d = found.t[late], distance[late]
    rms = np.sqrt(np.trapezoid(d**2, t) / (t[-1] - t[0]))
    assert contour(found) == pytest.approx([1e3 * rms, 1e3 * d.max()], rel=1e-9)


def sides(integral: float, feedforward: bool) -> fx.Response:
    """The reference's law on sides from rest to rest by the quintic."""
    made, plant = script(EASED)
    where = Track(plant.arm, Path(made.SQUARE, by_sides(made.SQUARE, made.TIME)), settled=made.SETTLED)
    law = tip_tracking(where, made.GAINS, integral=integral, sample_time=0.0)
    known = without_rate_of_correction(law) if isinstance(law, ScheduledLaw) else law
    return tracking_scenario("quintic", plant, where, known, feedforward, **made.EASED).run(None, plant)


@slow
@pytest.mark.parametrize(("integral", "feedforward", "wanted"), [
    (0.0, False, [0.475, 1.8]), (0.0, True, [0.0027, 0.006]), (2.0, True, [0.0023, 0.014]),
])
def test_whole_sides_from_rest_to_rest(integral: float, feedforward: bool, wanted: list[float]) -> None:
    found = sides(integral, feedforward)
    assert contour(found) == pytest.approx(wanted, rel=0.1)
    assert torques(found) == pytest.approx([1.0, 0.72], rel=0.05)


def test_what_sampling_and_encoders_leave() -> None:
    """1 kHz, rates by a filter, 20 bits: a third more error than the continuous law, and honest peaks at the corner."""
    hard, eased = run(EASED, "constant speed, 1 kHz"), run(EASED, "0.1 s, feedforward, 1 kHz, 20 bits")
    assert contour(hard) == pytest.approx([1.093, 8.28], rel=0.02)
    assert contour(eased) == pytest.approx([0.0132, 0.138], rel=0.1)
    assert contour(hard)[0] > 75 * contour(eased)[0]
    assert torques(hard) == pytest.approx([30.2, 18.8], rel=0.05)
    assert torques(eased) == pytest.approx([12.9, 9.3], rel=0.05)


@slow
def test_coarse_encoders_cost_what_easing_gains() -> None:
    """The rates are differences of angles: at 12 bits they ask the elbow for more torque than a hard corner does."""
    hard = run(EASED, "constant speed, 1 kHz")
    fair, bad = (run(EASED, f"0.1 s, feedforward, 1 kHz, {bits} bits") for bits in (14, 12))
    assert contour(hard)[0] / contour(fair)[0] == pytest.approx(50, rel=0.1)
    assert contour(hard)[0] / contour(bad)[0] == pytest.approx(12, rel=0.15)
    assert torques(bad)[1] > 1.1 * torques(hard)[1]
    assert torques(bad)[0] == pytest.approx(torques(hard)[0], rel=0.03)
    assert torques(hard)[0] > 1.7 * torques(fair)[0]


# ---- feedforward and tip -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("scenario", "settled"), [
    ("feedforward and tip", 0.00097),
    pytest.param("1 kHz, 20 bits", 0.0012, marks=slow),
    pytest.param("feedforward and tip, 2 kg unknown", 0.0054, marks=slow),
    pytest.param("PD", 0.419, marks=slow),
    pytest.param("feedforward", 0.0146, marks=slow),
    pytest.param("feedforward, 2 kg unknown", 0.112, marks=slow),
    pytest.param("1 kHz, 16 bits", 0.0133, marks=slow),
])
def test_what_the_script_states_of_the_circle(scenario: str, settled: float) -> None:
    """Rms distance after 5 s [mm]; with the tip's integral at most 0.01 mm, even with 2 kg it does not know of."""
    found = run(TIP, scenario)
    assert 1e3 * found.scores["tip.settled_rms_error"] == pytest.approx(settled, rel=0.1)
    if "tip" in scenario or "20 bits" in scenario:
        assert found.scores["tip.settled_rms_error"] <= 0.01e-3
    assert found.scores["joint1_torque.peak"] < (5.0 if "16 bits" in scenario else 2.0)


@slow
def test_the_eased_start_of_the_reference() -> None:
    """Its law: 2 1/s, the correction moves the wanted angles but not their rates; the speed of 25 s, so 26 s in all."""
    made, plant = script(TIP)
    where = Track(plant.arm, Path(made.CIRCLE, ConstantSpeed(made.CIRCLE.length, 26.0, 2.0)))
    law = made.law(where, 2.0)
    assert isinstance(law, ScheduledLaw)
    found = tracking_scenario("x", plant, where, without_rate_of_correction(law), **made.OPTIONS).run(None, plant)
    assert tracking(found) == pytest.approx([0.0016, 0.0130, 0.0002, 0.0022], rel=0.02, abs=6e-5)
    assert 1e3 * found.scores["tip_y.max_error"] == pytest.approx(0.069, rel=0.02)


# ---- certification along a path ------------------------------------------------------------------------------------


def short(plant: fx.Plant) -> tuple[Any, list[Scenario]]:
    """The circle of another script in three seconds, one run with the design and one to compare with."""
    made = fx.load_controller("tip_circle")
    where = Track(plant.arm, Path(made.CIRCLE, ConstantSpeed(made.CIRCLE.length, 3.0, 1.0)), settled=2.0)
    law = made.law(where, 8.0, integral=2.0)
    runs = [tracking_scenario("other", plant, where, made.law(where, 8.0), False, step=1e-3)]
    return law, [*runs, tracking_scenario("own", plant, where, law, own=True, step=1e-3)]


def test_certify_goes_along_the_path() -> None:
    plant = fx.load_plant("tian_2r_beam", overrides={"model.elements": 4})
    law, both = short(plant)
    found = certify(law, plant, scenarios=both, bits=(12, 20), workers=1, frequency=(0.0, 0.0),
                    requirements={"disk_margin": 0.3})
    assert found.scenario == "own"
    assert list(found.runs) == ["own"]
    where = both[1].track
    assert where is not None
    loops = {loop.variant: loop for loop in found.loops if "path" in loop.variant}
    assert list(loops) == [f"t = {t:5.2f} s of the path" for t in (0.5, 1, 1.5, 2, 2.5, 3)]
    along = path_stability(plant, law, where, 7)
    assert [loop.decay for loop in loops.values()] == pytest.approx(list(-along.growth[1:]), rel=1e-6)
    assert found.passed
    # the motion is not ripple: half of peak to peak of the angle itself is 0.4 rad
    assert found.still["joint1_angle"] < 0.01
    coarse, fine = found.quantised
    assert coarse.ripple["joint1_torque"] > 2 * fine.ripple["joint1_torque"]
    assert found.validity is None


def test_certify_wants_a_run_of_the_law_itself() -> None:
    plant = fx.load_plant("tian_2r_beam", overrides={"model.elements": 4})
    law, both = short(plant)
    with pytest.raises(DefinitionError, match="all scenarios have laws of their own"):
        certify(law, plant, scenarios=both[:1])


@slow
@pytest.mark.parametrize("name", [TWO, EASED, TIP, "tip_circle", "tip_square"])
def test_certify_finds_the_requirements_met(name: str) -> None:
    found = certify(name, bits=(20,))
    assert found.passed, [str(v) for v in found.verdicts if not v.passed]
