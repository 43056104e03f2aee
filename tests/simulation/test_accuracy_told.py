"""What is said of the error of a run: exact runs, certificates, pictures, provenance."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest

import flexctl as fx
from flexctl.errors import AccuracyWarning
from flexctl.io.plot import compare, run
from flexctl.judging.certify.collect import differences
from flexctl.judging.certify.requirements import judged
from flexctl.judging.scenario import Scenario
from flexctl.model import Signal
from flexctl.motion.signals import Sine, bang_bang
from flexctl.simulation.engines import quadratic_hold

ARM = {"model.sections": 8}


def exact_run(frequency: float, **options: float) -> fx.Response:
    arm = fx.load_plant("tokhi_azad_1994", overrides=ARM)
    return fx.simulate(arm, inputs={"joint1_torque": Sine(0.1, frequency, 0.0, 0.05)}, duration=0.1, **options)


def test_the_exact_method_follows_inputs_that_curve_within_a_step() -> None:
    """100 Hz at 1 ms: linear between the grid points it would be off by 2 %."""
    coarse, fine = exact_run(100.0), exact_run(100.0, step=2e-5)
    assert coarse.provenance["method"] == "exact"
    for signal in coarse.outputs:
        wanted = np.interp(coarse.t, fine.t, fine[signal.name])
        error = np.abs(coarse[signal.name] - wanted).max()
        assert error < 2e-4 * np.ptp(wanted)
        assert error <= coarse.error[signal.name] < 0.02 * np.ptp(wanted)


def test_an_input_beyond_the_step_is_named() -> None:
    with pytest.warns(AccuracyWarning, match="curves within a step"):
        exact_run(400.0)


def test_piecewise_constant_inputs_are_exact() -> None:
    arm = fx.load_plant("tokhi_azad_1994", overrides=ARM)
    found = fx.simulate(arm, inputs={"joint1_torque": bang_bang(0.1, 0.05)}, duration=0.2)
    assert set(found.error.values()) == {0.0}


def test_a_quadratic_input_is_held_exactly() -> None:
    """x' = -3 x + 4 s (1 - s), s = t / h, against its integral by Gauss's formula."""
    h, (points, weights) = 0.7, np.polynomial.legendre.leggauss(20)
    s = 0.5 * (points + 1.0)
    wanted = 0.5 * h * weights @ (np.exp(-3.0 * h * (1.0 - s)) * 4.0 * s * (1.0 - s))
    *_, G2 = quadratic_hold(np.array([[-3.0]]), np.array([[1.0]]), h)
    assert G2[0, 0] == pytest.approx(wanted, rel=1e-12)


def test_errors_of_scores_are_four_thirds_of_what_a_finer_run_changes() -> None:
    found = differences({"a": 1.0, "b": math.inf, "c": 2.0, "d": math.inf}, {"a": 0.97, "b": math.inf, "d": 1.0})
    assert found["a"] == pytest.approx(0.04)
    assert found["b"] == 0.0
    assert found["c"] == math.inf  # the finer run failed
    assert found["d"] == math.inf


def certificate(**known: object) -> SimpleNamespace:
    """What `judged` reads of a certificate in which nothing else is known."""
    lists = dict.fromkeys(("points", "posed", "varied", "drawn", "loops", "events"), ())
    none = {**lists, "failures": {}, "unsettled": {}}
    return SimpleNamespace(**{**none, "errors": {}, "ratio_errors": {}, "no_loop": "", "counterexample": None, **known})


@pytest.mark.parametrize(("value", "error", "word"), [
    (0.90, 0.02, "met"), (0.99, 0.02, "TOO CLOSE TO TELL"), (1.01, 0.02, "NOT MET"), (1.0, 0.0, "met"),
])
def test_a_margin_below_the_error_of_the_run_is_not_met(value: float, error: float, word: str) -> None:
    known = {"runs": {"move": {"tip.max_error": value}}, "errors": {"move": {"tip.max_error": error}}}
    found = certificate(**known)
    verdict = judged(found, {"tip.max_error": 1.0})[1]
    assert verdict.word == word
    assert verdict.passed == (word == "met")
    assert json.dumps(verdict.to_dict())


@pytest.mark.parametrize(("ratio", "error", "passed"), [(5.0, 0.5, True), (4.1, 0.5, False), (3.9, 0.0, False)])
def test_a_ratio_closer_than_its_error_is_not_met(ratio: float, error: float, passed: bool) -> None:
    known = {"ratios": {"move": {"tip": ratio}}, "ratio_errors": {"move": {"tip": error}}, "runs": {"move": {}}}
    found = certificate(**known)
    assert judged(found, {"vibration_ratio": 4.0})[1].passed is passed


def test_a_finer_scenario_has_a_quarter_of_the_error() -> None:
    item = Scenario("move", {}, 1.0)
    assert item.finer().options["rtol"] == pytest.approx(1.25e-3)
    assert Scenario("move", {}, 1.0, options={"step": 1e-3}).finer().options["step"] == pytest.approx(5e-4)
    assert Scenario("move", {}, 1.0, options={"rtol": 1e-6}).finer().options["rtol"] == 1e-6


def response(error: float) -> fx.Response:
    t = np.linspace(0.0, 1.0, 11)
    none = np.zeros((11, 0))
    return fx.Response(t, np.sin(t)[:, None], none, none, (Signal("tip", "m"),), (), error={"tip": error})


def test_pictures_tell_errors_above_one_percent() -> None:
    for draw in (run, lambda r: compare({"one": r, "two": r})):
        assert "estimated error" in draw(response(0.1)).get_supxlabel()
        assert not draw(response(0.001)).get_supxlabel()
        assert not draw(response(math.nan)).get_supxlabel()


def test_what_is_told_below_a_picture_is_not_cut_at_its_edges() -> None:
    t, count = np.linspace(0.0, 1.0, 11), 14
    outputs = tuple(Signal(f"a_long_name_of_an_output_{k}", "m") for k in range(count))
    none = np.zeros((11, 0))
    many = fx.Response(
        t, np.outer(np.sin(t), np.ones(count)), none, none, outputs, (), error={s.name: 0.1 for s in outputs}
    )
    for draw in (run, lambda r: compare({"one": r, "two": r}, [outputs[0].name, outputs[1].name])):
        figure = draw(many)
        figure.draw_without_rendering()
        (below,) = [text for text in figure.texts if text.get_text() == figure.get_supxlabel()]
        extent = below.get_window_extent()
        assert "estimated error" in below.get_text()
        assert extent.x0 >= 0.0
        assert extent.x1 <= figure.bbox.x1
        assert extent.y1 < min(ax.get_tightbbox().y0 for ax in figure.axes)
