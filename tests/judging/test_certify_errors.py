"""A verdict whose margin is smaller than the error of its run is not "met": ripple, recovery, peak, amplitude, rest."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import flexctl as fx
from flexctl.judging.certify.requirements import Verdict, judged
from flexctl.judging.certify.settling import sustained
from flexctl.judging.validity import LinearValidity
from flexctl.motion.moves import quintic

GAINS = {"Dy": [[-0.4, -0.2]], "Dr": [[0.4, 0.2, 0.0]]}
SETTINGS = {"model": {"kind": "timoshenko_planar", "elements": 2}, "damping": {"kind": "modal", "ratio": 0.05}}


@cache
def found() -> fx.Certificate:
    """A PD on two beam elements, with everything asked for that a run is needed for."""
    names = ("joint1_angle", "joint1_rate"), ("joint1_torque",), ("joint1_angle",)
    law = fx.LinearLaw(1e-3, *names, **GAINS).limited(-0.3, 0.3)
    arm = fx.load_plant("tokhi_azad_1994", model=SETTINGS["model"], overrides={"damping": SETTINGS["damping"]})
    item = fx.Scenario("move", quintic(0.0, 0.1, 0.3), 1.5)
    return fx.certify(law, arm, scenarios=[item], bits=(12,), workers=1, loads={"joint1_torque": 2e-5}, requirements={
        "ripple_at_bits": {12: 1.0}, "load_recovery_s": 10.0, "peak_over_limit": 1.0, "linear_amplitude": 0.5,
    })


def verdict(certificate: fx.Certificate, name: str, bound: Any) -> Verdict:
    (_, answer) = judged(certificate, {name: bound})
    return answer


def test_every_number_of_a_run_has_an_error() -> None:
    certificate = found()
    (ripple,), (load, *_) = certificate.quantised, certificate.loads
    assert 0.0 <= ripple.errors["joint1_torque"] < 0.5 * ripple.ripple["joint1_torque"]
    assert 0.0 <= load.error < 0.01 * load.watched
    assert 0.0 < certificate.saturation_errors["joint1_torque"] < 0.01 * certificate.saturation["joint1_torque"]
    told = certificate.to_dict()
    assert told["quantisation"][0]["ripple_errors"] == ripple.errors
    assert told["load_steps"][0]["error"] == load.error
    assert told["saturation_errors"] == certificate.saturation_errors


def test_a_bound_within_the_error_is_too_close_to_tell() -> None:
    """The numbers are those of the run; the errors are made ten times what they are, so that bounds fit in between."""
    (ripple,), (load, *_) = found().quantised, found().loads
    certificate = replace(
        found(), quantised=(replace(ripple, errors={"joint1_torque": 1e-3}),), loads=(replace(load, error=0.1),),
        saturation_errors={"joint1_torque": 0.01},
    )
    cases = (
        ("ripple_at_bits", ripple.ripple["joint1_torque"], 1e-3, lambda x: {12: x}),
        ("load_recovery_s", load.recovery, 0.1, float),
        ("peak_over_limit", certificate.saturation["joint1_torque"], 0.01, float),
    )
    for name, value, error, bound in cases:
        within, beyond, below = (verdict(certificate, name, bound(value + x * error)) for x in (0.5, 2.0, -0.5))
        assert (within.word, within.passed) == ("TOO CLOSE TO TELL", False), name
        assert "error of the run" in within.found
        assert (beyond.word, beyond.passed) == ("met", True), name
        assert (below.word, below.passed) == ("NOT MET", False), name


def test_a_second_run_that_fails_leaves_the_verdict_open() -> None:
    (ripple,) = found().quantised
    certificate = replace(found(), quantised=(replace(ripple, errors={"joint1_torque": math.inf}),))
    assert verdict(certificate, "ripple_at_bits", {12: 1.0}).word == "TOO CLOSE TO TELL"


class TestLinearAmplitude:
    A = np.array([0.5, 1.0, 2.0, 4.0])

    def word(self, bound: float, off: Any, error: float = 0.0) -> tuple[str, str]:
        rows = {"tip": np.asarray(off)}
        valid = LinearValidity(self.A, rows["tip"], np.zeros(4, bool), rows, {}, {"tip": np.full(4, error)})
        answer = verdict(replace(found(), validity=valid), "linear_amplitude", bound)
        return answer.word, answer.found

    def test_it_counts_with_the_errors_of_the_runs(self) -> None:
        """a^2 / 100 passes 5 % at sqrt(5); with 1 % of error on top it is the 4 % that count."""
        off = self.A**2 / 100
        assert self.word(2.1, off)[0] == "met"
        word, told = self.word(2.1, off, 0.01)
        assert word == "TOO CLOSE TO TELL"
        assert told.startswith("2.236, 2 with the errors")
        assert self.word(1.9, off, 0.01)[0] == "met"
        assert self.word(2.3, off)[0] == "NOT MET"

    def test_beyond_what_was_tried_it_is_not_examined(self) -> None:
        assert self.word(4.0, 1e-9 * self.A)[0] == "met"
        assert self.word(4.1, 1e-9 * self.A) == ("NOT EXAMINED", "not examined beyond 4")

    def test_below_what_was_tried_nothing_is_known(self) -> None:
        """At the smallest one they are apart already: that is no amplitude up to which they agree."""
        assert self.word(0.5, self.A) == ("NOT MET", "0.5 or less")
        assert "at or below 0.5 times" in str(LinearValidity(self.A, self.A, np.zeros(4, bool)))

    def test_the_errors_are_those_of_the_runs(self) -> None:
        valid = found().validity
        assert valid is not None
        worst = {name: float(errors.max()) for name, errors in valid.errors.items()}
        assert set(worst) == set(valid.outputs)
        assert 0.0 < max(worst.values()) < 0.02
        assert 1.0 < valid.agreed <= valid.parting
        assert next(v for v in found().verdicts if v.name == "linear_amplitude").passed


def test_rest_that_the_error_of_a_run_leaves_open() -> None:
    """1.5 % of the move go on: below what counts as moving, unless the output may be off by 0.5 % of it."""
    t = np.linspace(0.0, 2.0, 2001)
    y = np.where(t < 1.0, 0.1 * t, 0.1 + 0.00075 * np.sin(60.0 * t))[:, None]
    law = fx.LinearLaw(1e-3, ("x",), ("u",), ("x",), Dy=[[-1.0]], Dr=[[1.0, 0.0, 0.0]])
    zero = np.zeros((t.size, 1))
    reference = {"x": quintic(0.0, 0.1, 1.0)}
    for error, doubted in ((1e-6, ""), (5e-4, "x grows: 0.0025 peak to peak"), (math.nan, "")):
        run = fx.Response(t, y, zero, zero, (fx.Signal("x", "m"),), (fx.Signal("u", "N"),), error={"x": error})
        assert sustained(run, law, reference) == ""
        assert sustained(run, law, reference, doubted=True).startswith(doubted)
        assert bool(sustained(run, law, reference, doubted=True)) == bool(doubted)


@pytest.mark.parametrize(
    ("tail", "rate", "decay", "begins"),
    [
        (0.15, 20.0, 2.0, "not examined whether it settles: the run ends 0.15 s after its motion"),  # half a cycle
        (1.0, 20.0, 2.0, "not examined"),  # three cycles of a loop that is to fall by 1/e in the half of it
        (4.0, 20.0, 2.0, "x goes on"),  # a half of it is enough for any stable loop
        (1.0, 200.0, 2.0, "x goes on"),  # thirty cycles
        (0.15, 20.0, np.inf, "x g"),  # no linear loop that might do it
    ],
)
def test_a_run_that_ends_too_soon_is_not_called_unstable(tail: float, rate: float, decay: float, begins: str) -> None:
    t = np.linspace(0.0, 1.0 + tail, 2001)
    y = np.where(t < 1.0, 0.1 * t, 0.1 + 0.01 * np.sin(rate * (t - 1.0) - 2.0))[:, None]
    law = fx.LinearLaw(1e-3, ("x",), ("u",), ("x",), Dy=[[-1.0]], Dr=[[1.0, 0.0, 0.0]])
    zero = np.zeros((t.size, 1))
    run = fx.Response(t, y, zero, zero, (fx.Signal("x", "m"),), (fx.Signal("u", "N"),))
    assert sustained(run, law, {"x": quintic(0.0, 0.1, 1.0)}, decay).startswith(begins)
    limited = fx.Response(t, y, zero + 0.3, zero, (fx.Signal("x", "m"),), (fx.Signal("u", "N"),))
    told = sustained(limited, law, {"x": quintic(0.0, 0.1, 1.0)}, decay)
    assert told.startswith("x g"), "at a limit of its command no linear loop is to blame"


def test_a_point_whose_run_ends_too_soon_is_not_examined(monkeypatch: pytest.MonkeyPatch) -> None:
    from flexctl.judging.certify import robust

    monkeypatch.setattr(robust, "sustained", lambda *rest, **options: "not examined whether it settles: too soon")
    law = fx.LinearLaw(1e-3, ("joint1_angle", "joint1_rate"), ("joint1_torque",), ("joint1_angle",), **GAINS)
    settings = {"model.sections": 4, "damping": SETTINGS["damping"]}
    item = fx.Scenario("move", quintic(0.0, 0.1, 0.2), 0.4, settings, options={"method": "march"})
    point = robust.point(fx.load_plant("tokhi_azad_1994"), law, item, robust.Point(0.01, 0.0, None))
    assert (point.state, point.examined, point.sustained) == ("not examined", False, "")


def test_a_finer_run_decides_what_the_error_leaves_open(monkeypatch: pytest.MonkeyPatch) -> None:
    from flexctl.judging.certify import robust

    asked: list[Any] = []

    def open_(run: fx.Response, *rest: Any, doubted: bool = False) -> str:
        asked.append(run)
        return "x goes on" if doubted or len(asked) > 2 else ""

    monkeypatch.setattr(robust, "sustained", open_)
    law = fx.LinearLaw(1e-3, ("joint1_angle", "joint1_rate"), ("joint1_torque",), ("joint1_angle",), **GAINS)
    settings = {"model.sections": 4, "damping": SETTINGS["damping"]}
    item = fx.Scenario("move", quintic(0.0, 0.1, 0.2), 0.4, settings, options={"method": "march"})
    point = robust.point(fx.load_plant("tokhi_azad_1994"), law, item, robust.Point(0.01, 0.0, None))
    assert point.state == "DOES NOT SETTLE"
    assert asked[0] is asked[1]
    assert asked[2] is not asked[0]


def test_a_time_that_a_run_does_not_reach_is_said_so() -> None:
    answer = verdict(replace(found(), runs={"move": {"x.settle_1pct_s": math.inf}}), "x.settle_1pct_s", 1.0)
    assert (answer.word, answer.found) == ("NOT MET", "not within the run (move)")
