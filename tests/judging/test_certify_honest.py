"""What a certificate must not say: laws that do not settle, sets that do not hold, what was not looked at."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import flexctl as fx
from flexctl.__main__ import cli
from flexctl.judging import certify as judging_certify
from flexctl.judging.certify import loads, varied
from flexctl.judging.certify.between import Between
from flexctl.judging.certify.jobs import perform
from flexctl.judging.certify.loops import examine
from flexctl.judging.certify.requirements import judged
from flexctl.judging.certify.robust import Point, stability_limit
from flexctl.judging.certify.runs import start_point
from flexctl.judging.workers import run_all
from flexctl.laws.linear_part import linear_law
from flexctl.motion.moves import quintic

HEAD = '''"""A law of which nothing is known but its step."""
import numpy as np
from flexctl.judging.scenario import Scenario
from flexctl.motion.moves import Step, quintic

PLANT = "tokhi_azad_1994"
DAMPED = {"model.sections": 8, "damping": {"kind": "modal", "ratio": 0.01}, "payload.mass": 0.01}
REQUIREMENTS = {"payload_kg": (0.0, 0.02)}

class Law:
    sample_time, measures = 1e-3, ("joint1_angle", "joint1_rate")
    drives, follows = ("joint1_torque",), ("joint1_angle",)
    def initial(self):
        return 0.0
    def step(self, state, t, y, r):
        e = r[0] - y[0]
        BODY

def design(plant):
    return Law()

def scenarios(plant):
    return [Scenario("move", MOVE, 3.0, DAMPED, options={"method": "march"})]
'''
PD = "return np.clip(np.array([0.4 * e + 0.05 * (r[1] - y[1])]), -0.3, 0.3), 0.0"
POSITIVE = "return np.clip(np.array([-0.02 * e + 0.002 * y[1]]), -0.003, 0.003), 0.0"
WINDUP = "return np.clip(np.array([0.4 * e + 0.2 * state - 0.06 * y[1]]), -0.02, 0.02), state + 1e-3 * e"
RELAY = "return np.array([0.1 * np.sign(e - 0.02 * y[1] + 1e-12)]), 0.0"
QUINTIC, JUMP = "quintic(0.0, 0.1, 0.3)", "Step(0.0, 1.0)"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def certify(body: str, move: str, *words: str) -> tuple[int, dict[str, Any]]:
    Path("law.py").write_text(HEAD.replace("BODY", body).replace("MOVE", move))
    result = CliRunner().invoke(cli, ["certify", "law.py", "--workers", "1", "--json", *words])
    return result.exit_code, json.loads(result.stdout)


def verdicts(told: dict[str, Any]) -> dict[str, str]:
    return {v["name"]: v["verdict"] for v in told["requirements"]}


class TestLawsWithoutLinearPart:
    def test_a_law_that_is_linear_about_rest_is_certified_by_its_loop(self, place: Path) -> None:
        code, told = certify(PD, QUINTIC, "--require", "disk_margin=0.1")
        assert code == 0, told["requirements"]
        (loop,) = told["loops"].values()
        arm = fx.load_plant("tokhi_azad_1994", overrides={
            "model.sections": 8, "damping": {"kind": "modal", "ratio": 0.01}, "payload.mass": 0.01
        })
        gains = {"Dy": [[-0.4, -0.05]], "Dr": [[0.4, 0.05, 0.0]]}
        exact = fx.LinearLaw(1e-3, ("joint1_angle", "joint1_rate"), ("joint1_torque",), ("joint1_angle",), **gains)
        wanted = examine(arm.linearise(), exact)
        assert loop["slowest_decay_1_s"] == pytest.approx(wanted.decay, rel=1e-6)
        found = loop["margins"]["joint1_torque"]["disk_margin"]
        assert found == pytest.approx(wanted.smallest("disk_margin"), rel=1e-6)
        assert told["mu"]["largest"] >= told["mu"]["attained"] > 0.0

    def test_positive_feedback_clipped_at_the_limit(self, place: Path) -> None:
        code, told = certify(POSITIVE, QUINTIC)
        assert code == 1
        assert verdicts(told)["stable"] == "not met"
        assert not next(iter(told["loops"].values()))["stable"]
        assert told["holds"].startswith("Does NOT hold")

    def test_a_pid_with_windup_that_never_settles(self, place: Path) -> None:
        code, told = certify(WINDUP, JUMP)
        assert next(iter(told["loops"].values()))["stable"], "about rest it is a good law"
        assert code == 1
        assert verdicts(told)["stable"] == "not met"
        assert "joint1_angle" in told["does_not_settle"]["move"]
        assert told["grid"][0]["state"] == "DOES NOT SETTLE"

    def test_a_relay_is_not_examined_and_goes_on_for_ever(self, place: Path) -> None:
        code, told = certify(RELAY, QUINTIC, "--require", "disk_margin=0.1")
        assert code == 1
        assert told["loops"] == {}
        found = verdicts(told)
        assert found["stable"] == "not met"
        assert found["disk_margin"] == "not examined"
        assert "joint1_torque" in told["does_not_settle"]["move"]
        assert told["holds"].startswith("Holds for no set: the linear loop was not examined")
        assert any("not linear about rest" in reason for reason in told["not_examined"])

    def test_not_examined_never_counts_as_met(self, place: Path) -> None:
        """A law with a dead zone that settles: nothing is wrong, and nothing is known."""
        dead = "d = 1e-4; e = e - np.clip(e, -d, d); return np.array([0.4 * e + 0.05 * (r[1] - y[1])]), 0.0"
        code, told = certify(dead, QUINTIC)
        assert code == 1
        assert told["does_not_settle"] == {}
        assert verdicts(told) == {"stable": "not examined", "payload_kg": "not examined"}
        assert {p["state"] for p in told["grid"]} == {"not examined"}
        assert told["passed"] is False


@cache
def lqg() -> fx.Certificate:
    script = fx.load_controller("tokhi_azad_lqg")
    move = fx.Scenario("5 deg", quintic(0.0, np.radians(5.0), 0.4), 2.5, {**script.SETTINGS, "payload.mass": 0.01})
    return fx.certify(script, scenarios=[move], bits=(), workers=1, requirements={
        "5 deg: chord1_angle.settle_1pct_s": 0.5, "ripple_at_bits": {20: 0.01}, "mu": 1.0
    })


class TestTheSet:
    def test_unstable_cells_outside_the_set_are_named(self) -> None:
        found = lqg()
        assert found.passed, str(found)
        assert any(not p.stable for p in found.points)
        assert found.holds.startswith("Holds for payloads of 0 to 20 g, natural frequencies as given, damping as given")
        nearest = found.counterexample
        assert nearest is not None
        assert not nearest.inside
        assert nearest.what in found.holds
        (verdict,) = (v for v in found.verdicts if v.name == "stable")
        assert "(outside the set)" in verdict.found
        assert found.to_dict()["holds"] == found.holds

    def test_within_the_set_it_does_not_hold(self) -> None:
        script = fx.load_controller("tokhi_azad_lqg")
        move = fx.Scenario("5 deg", quintic(0.0, np.radians(5.0), 0.4), 1.0, {**script.SETTINGS, "payload.mass": 0.01})
        found = fx.certify(
            script, scenarios=[move], bits=(), workers=1, payload=(0.0, 0.02), frequency=(-0.05, 0.05),
            requirements={"ripple_at_bits": {20: 0.01}},
        )
        assert found.holds.startswith("Does NOT hold")
        assert found.counterexample is not None
        assert found.counterexample.inside
        wrong = {v.name for v in found.verdicts if not v.passed}
        assert {"payload_kg", "frequency_change"} <= wrong

    def test_damping_is_varied_and_told(self) -> None:
        """At 0 and 0.1 % the LQG is unstable with the payloads of its scenarios."""
        states = {next(iter(p.values)): p.state for p in lqg().dampings}
        assert states["no structural damping"] == states["damping 0.1 %"] == "UNSTABLE"
        assert states["2 times the damping"] == "stable"
        assert "damping" in lqg().holds.split("counterexample")[1]

    def test_a_load_that_comes_on(self) -> None:
        """0.05 N m leave 0.013 deg after 2.4 s: the integral is slow, -0.42 1/s."""
        (load,) = lqg().loads
        assert load.size == pytest.approx(0.05)
        assert math.isinf(load.recovery)
        assert math.degrees(load.left) == pytest.approx(0.0135, rel=0.1)
        assert 0.6e-3 < load.peak < 0.75e-3


def test_two_certificates_of_the_same_are_the_same_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes end in an order of their own; tables have another one."""
    kept: dict[tuple[str, ...], list[tuple[int, Any]]] = {}

    def once(*given: Any, labels: Any, **named: Any) -> list[tuple[int, Any]]:
        key = tuple(labels)
        if key not in kept:
            kept[key] = list(run_all(*given, labels=labels, **named))
        return kept[key]

    def found() -> str:
        damped = {"model.sections": 8, "damping": {"kind": "modal", "ratio": 0.01}}
        item = fx.Scenario("move", quintic(0.0, 0.1, 0.3), 0.5, damped, options={"method": "march"})
        law = fx.load_controller("tokhi_azad_pd").design(fx.load_plant("tokhi_azad_1994"))
        told = fx.certify(law, "tokhi_azad_1994", scenarios=[item], payload=(0.0, 0.01), bits=(), workers=1)
        return str(replace(told, elapsed=0.0))

    monkeypatch.setattr(judging_certify, "run_all", once)
    first = found()
    for results in kept.values():
        results.reverse()
    assert found() == first


def test_a_law_without_limits_gets_a_load_too() -> None:
    """A sixth of the largest command of its scenario; a proportional law gives way by load over gain."""
    gains = {"Dy": [[-0.4, -0.2]], "Dr": [[0.4, 0.2, 0.0]]}
    law = fx.LinearLaw(1e-3, ("joint1_angle", "joint1_rate"), ("joint1_torque",), ("joint1_angle",), **gains)
    settings = {"model.sections": 8, "damping": {"kind": "modal", "ratio": 0.05}}
    item, arm = fx.Scenario("move", quintic(0.0, 0.1, 0.3), 4.0, settings), fx.load_plant("tokhi_azad_1994")
    (size,) = loads.sizes(law, {}).values()
    found = loads.load_step(arm, law, item, "joint1_torque", size, "")
    assert found.size == pytest.approx(item.run(law, arm).scores["joint1_torque.peak"] / 6.0, rel=1e-6)
    assert found.left == pytest.approx(found.size / 0.4, rel=0.02)
    assert math.isinf(found.recovery)
    jump = replace(item, reference=fx.Step(0.0, 0.1))  # all of its way at the start
    there = loads.load_step(arm, law, jump, "joint1_torque", 0.01, "")
    assert there.left == pytest.approx(0.01 / 0.4, rel=0.02)
    idle = replace(item, reference=quintic(0.0, 0.0, 0.3))
    assert "no output that moves" in loads.load_step(arm, law, idle, "joint1_torque", size, "").failure


class TestTogether:
    @pytest.mark.parametrize(("key", "wanted"), [("inputs", 0.498), ("sensors", 0.287)])
    def test_the_two_link_arm(self, key: str, wanted: float) -> None:
        """Computed independently; one at a time they are 0.74 and 0.77 at the torques."""
        _, _, loop = self.case()
        assert loop.together[key].margin == pytest.approx(wanted, abs=2e-3)
        assert sorted(m.disk_margin for m in loop.margins.values()) == pytest.approx([0.739, 0.771], abs=2e-3)

    def test_there_are_factors_of_that_size_that_make_it_marginal(self) -> None:
        """At the frequency of the margin: det(I + diag(f) L) = 0 for f_i = (1 + d_i/2)/(1 - d_i/2), |d_i| = margin."""
        linear, law, loop = self.case()
        found = loop.together["inputs"]
        L = fx.loop_gain(linear, law).transfer(np.exp(1j * np.array([found.frequency]) * law.sample_time))[:, :, 0]
        M = np.linalg.inv(np.eye(2) + L) - 0.5 * np.eye(2)
        angles = np.linspace(0.0, 2 * np.pi, 20_001)
        radius = [np.abs(np.linalg.eigvals(np.diag([1.0, np.exp(1j * a)]) @ M)).max() for a in angles]
        a = angles[int(np.argmax(radius))]
        value = max(np.linalg.eigvals(np.diag([1.0, np.exp(1j * a)]) @ M), key=abs)
        d = np.diag([1.0, np.exp(1j * a)]) / value
        assert np.abs(np.diag(d)).max() == pytest.approx(found.margin, rel=1e-5)
        for sign in (1.0, -1.0):
            f = (np.eye(2) + sign * 0.5 * d) @ np.linalg.inv(np.eye(2) - sign * 0.5 * d)
            if abs(np.linalg.det(np.eye(2) + f @ L)) < 1e-5:
                return
        pytest.fail("no factors found")

    @staticmethod
    @cache
    def case() -> tuple[Any, Any, Any]:
        script = fx.load_controller("planar_2r_scheduled")
        plant = fx.load_plant(script.PLANT)
        item = next(s for s in script.scenarios(plant) if s.plant(plant).arm.payload.mass == 0.0)
        arm, known = item.plant(plant), item.own_law(script.design(plant))
        at = fx.OperatingPoint.at_rest(arm.model)
        law = linear_law(known, arm.model, at)
        return arm.linearise(at), law, examine(arm.linearise(at), law)


class TestRanges:
    def test_any_parameter(self, place: Path) -> None:
        words = ("--vary", "damping.ratio=0.002..0.02", "--vary", "link.1.length=0.9..1.0", "--payload", "0,10g")
        code, told = certify(PD, QUINTIC, *words)
        assert code == 0, told["requirements"]
        assert verdicts(told)["vary"] == "met"
        assert len(told["varied"]) == 28, "all combinations of ends and middles, and the worst that a search found"
        assert {p["payload_kg"] for p in told["varied"]} == {0.0, 0.005, 0.01}, "the set is all of them at once"
        assert "damping.ratio from 0.002 to 0.02" in told["holds"]

    def test_an_unstable_end_is_found(self) -> None:
        """The LQG is unstable from 24.8 g."""
        script = fx.load_controller("tokhi_azad_lqg")
        move = fx.Scenario("5 deg", quintic(0.0, 0.1, 0.4), 0.6, {**script.SETTINGS, "payload.mass": 0.01})
        found = fx.certify(
            script, scenarios=[move], bits=(), workers=1, payload=(0.01, 0.01), vary={"payload.mass": (0.0, 0.03)},
            requirements={"ripple_at_bits": {20: 0.01}},
        )
        (verdict,) = (v for v in found.verdicts if v.name == "vary")
        assert not verdict.passed
        assert "UNSTABLE at payload.mass = 0.03" in verdict.found
        assert found.holds.startswith("Does NOT hold")

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (("--vary", "joint.1.stiffness"), "KEY=LOW..HIGH"),
            (("--vary", "payload.mas=0..0.01"), "payload.mas"),
            (("--vary", "payload.mass=0.02..0.01"), "write the lower value first"),
            (("--vary", "model.sections=10..20"), "a whole number, which has no range between two of them"),
            (("--vary", "joint.1.stiffness=0.5..2"), "a flexible joint needs an inertia on its motor side"),
            (("--load", "joint1_torque"), "NAME=VALUE"),
        ],
    )
    def test_wrong_words_are_refused_before_anything_is_computed(
        self, place: Path, words: tuple[str, ...], message: str
    ) -> None:
        Path("law.py").write_text(HEAD.replace("BODY", PD).replace("MOVE", QUINTIC))
        result = CliRunner().invoke(cli, ["certify", "law.py", *words])
        assert result.exit_code == 2
        assert message in result.stderr.replace("\n", " ")

    def test_several_parameters_have_corners_and_points_between(self) -> None:
        ranges = {f"k{i}": (0.0, 1.0) for i in range(4)}
        points = varied.samples(ranges)
        assert len(points) == 16 + 1 + varied.SPREAD
        assert {0.0, 1.0} <= {p["k0"] for p in points}


class TestWhatCannotBeComputed:
    """It stays in the certificate, as not examined: never dropped, never met."""

    def test_a_point_of_a_range(self) -> None:
        """An equilibrium that is not found: any error of flexctl, not only what is known not to be available."""

        def fails(about: Point) -> Point:
            raise fx.ConvergenceError("no equilibrium", time=0.0)

        found = perform((fails, (Point(None, 0.0, None, values={"joint.1.stiffness": 0.75}),)))
        assert found.state == "not examined"
        stated = {**lqg().stated, "vary": {"joint.1.stiffness": (0.5, 2.0)}}
        missing = replace(lqg(), varied=(found,), stated=stated)
        told = replace(missing, verdicts=judged(missing, {"vary": stated["vary"]}))
        assert [v.word for v in told.verdicts] == ["NOT EXAMINED"] * 2
        assert not told.passed
        assert told.holds.startswith("Not shown to hold for")
        assert "joint.1.stiffness = 0.75 (no equilibrium" in told.holds
        assert told.to_dict()["varied"][0]["stable"] is None

    def test_a_pose_in_which_the_law_is_a_relay(self) -> None:
        class Law:
            sample_time, follows = 1e-3, ("joint1_angle", "joint2_angle")
            measures, drives = ("joint1_angle", "joint2_angle"), ("joint1_torque", "joint2_torque")

            def initial(self) -> None:
                return None

            def step(self, state: None, t: float, y: Any, r: Any) -> Any:
                e = r[::3] - y
                return (np.sign(e + 1e-12) if y[1] > 1.0 else 5.0 * e), None

        move = fx.Scenario("move", {"joint1": quintic(0.0, 0.01, 0.1)}, 0.02, {"model.elements": 1})
        options: Any = {"scenarios": [move], "bits": (), "workers": 1, "requirements": {"disk_margin": 1e-9}}
        found = fx.certify(Law(), "planar_2r_flexible", poses=[(0.0, 1.5)], **options)
        found_at = {v.name: v.word for v in found.verdicts}
        assert found_at["disk_margin"] == "NOT EXAMINED"
        assert not found.passed
        assert found.holds.startswith("Holds for no set: the linear loop was not examined (loop joints at 0, 85.94 deg")
        assert {p.state for p in found.posed} == {"not examined"}

    def test_a_load_at_an_input_that_there_is_not(self, place: Path) -> None:
        Path("law.py").write_text(HEAD.replace("BODY", PD).replace("MOVE", QUINTIC))
        result = CliRunner().invoke(cli, ["certify", "law.py", "--load", "joint1_torqe=0.05"])
        assert result.exit_code == 2
        assert 'did you mean "joint1_torque"' in result.stderr.replace("\n", " ")


class TestVerdictAndSentenceAgree:
    @staticmethod
    def judged(**parts: Any) -> fx.Certificate:
        changed = replace(lqg(), **parts)
        return replace(changed, verdicts=judged(changed, {}))

    def test_a_cell_of_the_set_that_is_unstable(self) -> None:
        """Whether or not a range of payloads is required: "Does NOT hold" is never exit 0."""
        cell = next(p for p in lqg().points if p.payload == 0.01 and p.frequency == 0.0)
        found = self.judged(points=(*lqg().points, replace(cell, payload=0.0125, failure="it diverged")))
        assert found.holds.startswith("Does NOT hold")
        assert "RUN FAILS at 12.5 g" in found.verdicts[0].found
        assert not found.passed

    def test_a_cell_of_the_set_that_was_not_examined(self) -> None:
        cell = next(p for p in lqg().points if p.payload == 0.01 and p.frequency == 0.0)
        found = self.judged(points=(replace(cell, loop=None, unknown="no such plant"),))
        assert found.holds.startswith("Not shown to hold for")
        assert "10 g (no such plant)" in found.holds
        assert found.verdicts[0].word == "NOT EXAMINED"

    def test_margins_are_those_of_the_whole_set(self) -> None:
        """A grid had 0.964 at +5 %, within the set, and the verdict was "0.9875: met": that of the scenarios alone."""
        cell = next(p for p in lqg().points if p.payload == 0.01 and p.frequency == 0.0)
        assert cell.loop is not None
        less = replace(cell.loop, margins={}, disk=0.05)

        def verdict(**parts: Any) -> Any:
            return judged(replace(lqg(), **parts), {"disk_margin": 0.25})[1]

        assert verdict().passed
        inside = replace(cell, payload=0.0125, loop=less)
        for parts in ({"points": (inside,)}, {"posed": (replace(inside, pose="bent"),)},
                      {"varied": (inside,)}, {"between": Between(inside, 24)}):
            found = verdict(**parts)
            assert not found.passed
            assert found.found.startswith("0.05 (12.5 g")
        found = verdict(points=(cell, replace(inside, frequency=0.04)))
        assert found.passed
        assert found.found.endswith("; outside the set 0.05 (12.5 g, frequencies +4 %)")
        unknown = verdict(points=(replace(cell, loop=None, unknown="no such plant"),))
        assert unknown.word == "NOT EXAMINED"

    def test_a_search_goes_between_the_points(self) -> None:
        worst = lqg().between
        assert worst is not None
        assert worst.point is not None
        assert worst.point.loop is not None
        assert 0.0 <= (worst.point.payload or 0.0) <= 0.02
        inside = [p.loop.smallest("disk_margin") for p in lqg().points if p.loop and p.frequency == 0.0]
        assert worst.point.loop.smallest("disk_margin") < (1.0 + 1e-6) * min(inside), "it begins at the worst of them"
        assert "on a grid and with a search between its points and with the bound" in lqg().holds
        assert "payloads, all else as given" not in lqg().holds
        wider = replace(lqg(), stated={**lqg().stated, "frequency_change": (-0.01, 0.01)})
        assert "with the bound between its payloads, all else as given" in wider.holds
        assert lqg().to_dict()["between"]["tried"] >= 8

    def test_a_run_that_fails(self) -> None:
        found = self.judged(failures={"5 deg": "Newton failed"})
        assert found.holds.startswith("Does NOT hold for")
        assert "run 5 deg fails: Newton failed" in found.holds


def test_the_search_for_the_heaviest_payload_ends_at_what_is_plausible() -> None:
    """100 times the range asked for was more than the file of a light arm takes: the limit was "not examined"."""
    light = fx.load_plant("tokhi_azad_1994", overrides={"model.sections": 4})
    law = fx.LinearLaw(1e-3, ("joint1_angle", "joint1_rate"), ("joint1_torque",), Dy=[[-0.1, -0.02]])
    item = fx.Scenario("rest", {}, 0.1)
    found = stability_limit(light, law, item, "payload_kg", (0.0, 0.5, 200.0), "")
    assert (found.value, found.reached) == (6.25, False)


def test_another_arm_begins_at_rest_where_the_scenario_gives_coordinates_of_its_own() -> None:
    """Under weight the shape at rest changes with the payload; the joints stay."""
    arm = fx.load_plant("spatial_3r", overrides={"model.elements": 1})
    q = arm.model.rest([0.0, -0.6, 1.0])  # type: ignore[attr-defined]
    item = fx.Scenario("held", {}, 1.0, options={"initial": (q, 0.0 * q)})
    heavy = arm.with_(payload={"mass": 1.5})
    at = start_point(heavy, item)
    assert np.array_equal(at.q, fx.rest_point(heavy, [0.0, -0.6, 1.0]).q)
    assert not np.allclose(at.q, q, atol=1e-6)
    assert np.array_equal(start_point(arm, item).q, q)
