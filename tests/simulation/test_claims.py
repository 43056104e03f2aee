"""Whatever a run claims to be further off than was asked for is named in a warning, of whatever kind it is."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from accuracy_cases import CASES, Case, sampled_pd

import flexctl as fx
from flexctl.errors import AccuracyWarning
from flexctl.judging.workers import run_all
from flexctl.model import Signal
from flexctl.simulation.accuracy import SAFETY
from flexctl.simulation.claims import FOLLOWS, claims, gathered, poor, warn_of

SIGNALS = (
    Signal("joint1_angle", "rad"), Signal("joint1_rate", "rad/s"), Signal("joint1_friction", "N m"),
    Signal("joint1_current", "A"), Signal("joint1_torque", "N m"), Signal("tip_acceleration_x", "m/s^2"),
)


def claimed(**errors: float) -> Any:
    """Return claims of signals that all have the range 2, right to 1e-9 but for those given."""
    series = np.outer([-1.0, 1.0], np.ones(len(SIGNALS)))
    return claims(SIGNALS, series, {**dict.fromkeys((s.name for s in SIGNALS), 1e-9), **errors})


@pytest.mark.parametrize("name", [s.name for s in SIGNALS])
@pytest.mark.parametrize("rtol", [1e-2, 1e-3, 0.0])
def test_a_signal_of_any_kind_above_the_tolerance_is_named(name: str, rtol: float) -> None:
    """Displacements at the tolerance, what follows them at five times that."""
    bound = 2.0 * (rtol or 1e-2) * (1.0 if name == "joint1_angle" else FOLLOWS)
    with pytest.warns(AccuracyWarning, match=name + r" \(estimated error"):
        warn_of(claimed(**{name: 1.01 * bound}), rtol, 0.0, 1e-3, ())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of(claimed(**{name: 0.99 * bound}), rtol, 0.0, 1e-3, ())


def test_displacements_are_named_by_what_is_estimated_of_them_not_by_what_is_claimed() -> None:
    found = claimed(joint1_angle=0.05)  # 2.5 % of the range is claimed
    assert [one.signal.name for one in poor(found, 1e-2, 2.0)] == ["joint1_angle"]
    assert poor(found, 1e-2, 3.0) == []


def test_the_worst_comes_first_and_what_is_not_resolved_is_called_so() -> None:
    found = claimed(joint1_rate=0.12, joint1_friction=3.0)
    assert [one.signal.name for one in found[:2]] == ["joint1_friction", "joint1_rate"]
    with pytest.warns(AccuracyWarning, match=r"joint1_friction .*not resolved: its range is 2\), joint1_rate .*6\.0%"):
        warn_of(found, 1e-2, 0.0, 1e-3, ())


def test_what_another_warning_names_is_not_named_twice() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of(claimed(joint1_rate=3.0), 1e-2, 0.0, 1e-3, ["joint1_rate"])


def test_what_does_not_move_and_what_has_no_estimate_claims_nothing() -> None:
    series = np.array([[0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 1.0, 1e-9, 1.0, 1.0, 1.0]])
    found = claims(SIGNALS, series, {**dict.fromkeys((s.name for s in SIGNALS), 0.5), "tip_acceleration_x": np.nan})
    assert {one.signal.name for one in found} == {"joint1_rate", "joint1_current", "joint1_torque"}


class Given(NamedTuple):
    """A run, and what of it is known to be worse than the tolerance."""

    run: Callable[[], fx.Response]
    poor: str


def undamped() -> fx.Response:
    """Return a run after jumps that excite what nothing damps."""
    return Case("rotating_link", 0.1, {"joint1_torque": fx.bang_bang(1e-4, 0.03)}).run()


def driven() -> fx.Response:
    """Return a run of a motor with friction in steps that are too long for it."""
    plant = fx.load_plant("quanser_flexible_link", overrides={"model.elements": 4})
    return fx.simulate(plant, inputs={"joint1_voltage": fx.Sine(5.0, 25.0)}, duration=0.15, step=4e-3)


def sampled() -> fx.Response:
    """Return a run under a slow law, on an arm that nothing damps."""
    law, reference = sampled_pd(kp=(6.0, 0.8), kv=(4.0, 0.5), time=0.2, period=5e-3)
    plant = fx.load_plant("planar_2r_flexible", overrides={"model.elements": 4, "payload.mass": 0.3})
    return fx.simulate(plant, law, reference, duration=0.3)


RUNS = {
    "rates of an undamped arm": Given(undamped, "joint1_rate"),
    "steps that are given": Given(lambda: CASES["A"].run(step=1e-3), "joint1_rate"),
    "currents and friction": Given(driven, "joint1_current"),
    "a sampled law": Given(sampled, "joint1_rate"),
}


@pytest.mark.parametrize("name", RUNS)
def test_no_claim_above_the_tolerance_is_silent(name: str) -> None:
    """A friction was 3 % off and 59 % was claimed: rates, and what reads them, were not looked at."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = RUNS[name].run()
    said = " ".join(str(w.message) for w in caught if issubclass(w.category, AccuracyWarning))
    found = claims((*run.outputs, *run.inputs), np.hstack([run.y, run.u]), run.error)
    must = [one.signal.name for one in poor(found, 1e-2, SAFETY)]
    assert RUNS[name].poor in must
    assert [output for output in must if f"{output} (" not in said and f"{output}, " not in said
            and f"{output} are" not in said] == []
    assert run.provenance["worst_output"] == found[0].signal.name
    assert run.provenance["worst_error"] == run.error[found[0].signal.name]


def said_of(rtol: float = 1e-2, **errors: float) -> str:
    """Return what a run says of such errors."""
    with pytest.warns(AccuracyWarning) as caught:
        warn_of(claimed(**errors), rtol, 0.0, 1e-3, ())
    return str(caught[0].message)


def test_claims_of_several_runs_are_gathered_output_by_output() -> None:
    first, second = said_of(joint1_rate=0.12, joint1_friction=3.0), said_of(joint1_rate=0.5, joint1_angle=0.05)
    third, other = said_of(1e-3, joint1_torque=0.4), "something else; and why"
    found = gathered([("run a", first), ("run b", second), ("run c", other), ("run d", third)])
    assert found == [
        "run c: something else; and why",
        "not within 0.01 of the range in 2 runs; rtol = 0.002:\n"
        "  joint1_friction: in 1, at worst run a (estimated error 3 N m, not resolved: its range is 2)\n"
        "  joint1_rate: in 2, at worst run b (estimated error 0.5 rad/s, 25.0%)\n"
        "  joint1_angle: in 1, at worst run b (estimated error 0.05 rad, 2.5%)",
        f"run d: {third}",
    ]


def test_what_cannot_be_read_is_said_as_it_is() -> None:
    odd = "not within 0.01 of the range: joint1_rate (who knows); rtol = 0.002"
    assert gathered([("a", odd), ("b", odd)]) == [f"a: {odd}", f"b: {odd}"]


def job(rate: float) -> float:
    """A run with this error."""
    warn_of(claimed(joint1_rate=rate), 1e-2, 0.0, 1e-3, ())
    return rate


def test_runs_one_after_the_other_say_it_in_the_end() -> None:
    with pytest.warns(AccuracyWarning) as caught:
        done = dict(run_all(job, [0.2, 0.0, 0.9, 0.5], 1, labels=["p", "q", "r", "s"]))
    assert done == {0: 0.2, 1: 0.0, 2: 0.9, 3: 0.5}
    (text,) = (str(one.message) for one in caught)
    assert "in 3 runs" in text
    assert "joint1_rate: in 3, at worst r (estimated error 0.9 rad/s, 45.0%)" in text
