"""What happens on the way: gripped payloads, frozen readings, missed samples in certificates."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import flexctl as fx
from flexctl.judging.certify.collect import _notes
from flexctl.judging.certify.events import Event, event, event_names, event_time, not_tried
from flexctl.judging.certify.jobs import payloads
from flexctl.judging.certify.loads import LoadStep, tip_sizes
from flexctl.judging.certify.requirements import _WORST_AND_ERROR, _score
from flexctl.judging.certify.rubbing import begun, rubbing, rubs
from flexctl.judging.certify.task import prepared
from flexctl.model import names


def task(name: str = "tokhi_azad_lqg"):
    return prepared(name, None, None, None, None, None)


def test_what_is_tried_follows_from_law_and_payloads() -> None:
    found = task()
    assert event_names(found, payloads(found)) == [
        "dry friction", "gripped", "missed sample", "frozen joint1_angle", "frozen chord1_angle"
    ]
    assert event_names(found, (0.0, 0.0))[:2] == ["dry friction", "missed sample"]
    assert event_names(task("tip_circle"), None) == [  # on a path, too
        "dry friction", "missed sample", *(f"frozen {name}" for name in task("tip_circle").law.measures)
    ]
    assert event_time(found.law, found.chosen) == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("name", "ends", "told"),
    [
        ("tokhi_azad_lqg", (0.0, 0.02), []), ("tokhi_azad_lqg", (0.0, 0.0), ["gripped: no range of payloads"]),
        ("tokhi_azad_shaped", (0.0, 0.02),
         ["dry friction, gripped, missed sample, frozen readings: the law measures nothing"]),
        ("ralf_servo", None,
         ["dry friction: the law drives no revolute joint by a torque", "gripped: no range of payloads"]),
        ("tian_square_eased", None,
         ["gripped: no range of payloads", "missed sample, frozen readings: the law is continuous"]),
    ],
)
def test_what_does_not_apply_is_said_with_the_reason(name: str, ends, told: list[str]) -> None:
    about = task(name)
    assert not_tried(about, ends) == told
    assert not {text.partition(":")[0] for text in told} & set(event_names(about, ends))


def test_a_payload_is_gripped_under_a_continuous_law() -> None:
    about = task()
    law = fx.LinearLaw(
        0.0, ("joint1_angle", "joint1_rate"), ("joint1_torque",), ("joint1_angle",), Dy=[[-3.0, -0.1]],
        Dr=[[3.0, 0.1, 0.0]],
    )
    item = replace(about.chosen, reference={"joint1_angle": fx.quintic(0.0, 0.1, 0.4)}, duration=0.8)
    own = replace(about, law=law, chosen=item)
    assert event_names(own, (0.0, 0.02)) == ["dry friction", "gripped"]
    found = event(own.plant, law, item, "gripped", (0.0, 0.02))
    light, heavy = (replace(item, overrides={**item.overrides, "payload.mass": m}).run(law, own.plant)
                    for m in (0.0, 0.02))
    assert (found.failure, found.time) == ("", pytest.approx(0.2))
    errors = [run.scores["joint1_angle.max_error"] for run in (light, heavy)]
    assert errors[0] < found.scores["joint1_angle.max_error"]
    assert found.scores["joint1_angle.max_error"] != pytest.approx(errors[1], rel=1e-3)


def test_faults_are_met_along_commands_that_were_optimised_for_the_law() -> None:
    about = task("tokhi_azad_fastest")
    short = replace(about.chosen, duration=0.6)
    missed, frozen = (event(about.plant, about.law, short, name, None) for name in
                      ("missed sample", "frozen chord1_angle"))
    assert (missed.failure, frozen.failure) == ("", "")
    assert missed.output == frozen.output == "chord1_angle"
    assert missed.left < 0.01 < 0.1 < frozen.left, "in parts of the move, though the reference is constant"
    other = fx.Missed(fx.load_controller("tokhi_azad_lqg").design(about.plant).law, (0.2,))
    with pytest.raises(fx.DefinitionError, match="another law"):
        fx.simulate(about.plant, other, short.reference, duration=0.1)


@pytest.mark.parametrize("name", ["gripped", "missed sample", "frozen chord1_angle"])
def test_an_event_is_the_run_in_which_it_happens(name: str) -> None:
    about = task()
    short = replace(about.chosen, duration=1.0)
    found = event(about.plant, about.law, short, name, (0.0, 0.02))
    assert (found.name, found.time, found.output, found.failure) == (name, pytest.approx(0.2), "chord1_angle", "")
    arm, law = short.plant(about.plant), about.law
    options: dict = {"method": "march"}
    if name == "gripped":
        options["payload"] = [(0.2, 0.02, 0.0)]
    else:
        law = fx.Missed(law, (0.2,)) if name == "missed sample" else fx.Frozen(law, {"chord1_angle": 0.2})
    run = fx.simulate(arm, law, short.reference, duration=1.0, **options)
    assert found.scores["chord1_angle.max_error"] == pytest.approx(run.scores["chord1_angle.max_error"], rel=1e-9)
    off = np.abs(run["chord1_angle"] - short.reference(run.t)[0]) / np.radians(5.0)
    assert found.largest == pytest.approx(off[run.t >= 0.2 - 1e-9].max(), rel=1e-6)
    assert found.left == pytest.approx(off[-1], rel=1e-6)
    # a sample that is missed hardly matters, a payload is learnt, without the tip the arm is lost
    assert found.left < 0.01 if name != "frozen chord1_angle" else found.left > 0.1


def test_scores_of_events_are_required_with_their_errors() -> None:
    happened = (
        Event("gripped", 0.2, scores={"y.settle": 0.5}, errors={"y.settle": 0.02}),
        Event("missed sample", 0.2, failure="it diverges"),
    )
    found: Any = SimpleNamespace(
        runs={"5 deg": {"y.settle": 0.4}}, errors={"5 deg": {"y.settle": 0.0}}, events=happened
    )
    assert _score(found, "gripped: y.settle", 0.6).passed
    assert _score(found, "gripped: y.settle", 0.51).close
    assert not _score(found, "gripped: y.settle", 0.45).passed
    assert "diverges" in _score(found, "missed sample: y.settle", 1.0).found
    assert _score(found, "y.settle", 0.45).passed  # about the scenarios alone


def test_an_event_that_is_not_tried_is_refused() -> None:
    with pytest.raises(fx.DefinitionError, match="frozen hub"):
        fx.certify("tokhi_azad_lqg", requirements={"frozen hub: chord1_angle.max_error": 1.0}, workers=1)


def test_dry_friction_is_a_thirtieth_of_the_limit_and_sticks() -> None:
    about = task()
    short = replace(about.chosen, duration=1.5)
    found = event(about.plant, about.law, short, "dry friction", None)
    assert (found.time, found.about, found.failure) == (0.0, "0.01 N m in joint 1", "")
    free = short.run(about.law, about.plant)
    off = np.abs(free["chord1_angle"] - short.reference(free.t)[0]) / np.radians(5.0)
    assert found.largest > 1.02 * off.max()
    assert 10.0 * off[-1] < found.left < 5e-3, "the law hunts for its integral"


def test_friction_is_tried_where_nobody_said_what_there_is() -> None:
    own = fx.load_plant("tokhi_azad_1994")
    law = fx.Friction("tanh", coulomb=0.02)
    rough = replace(own, arm=replace(own.arm, joints=tuple(replace(j, friction_law=law) for j in own.arm.joints)))
    item = replace(task().chosen, overrides={})
    assert rubs(replace(task(), plant=own, chosen=item))
    smooth = replace(task(), plant=rough, chosen=item)
    assert not rubs(smooth)
    assert not_tried(smooth, (0.0, 0.02)) == ["dry friction: joint 1: friction of its own"]
    assert not rubs(task("ralf_servo"))
    assert rubs(task("quanser_link_pd"))


def test_a_run_that_begins_somewhere_begins_there_with_friction_too() -> None:
    about = task("spatial_3r_pid")
    before = about.chosen.plant(about.plant)
    after, told = rubbing(about.plant, about.law, about.chosen)
    assert told == "13.3 N m in joint 1, 13.3 N m in joint 2, 13.3 N m in joint 3"
    given = about.chosen.options["initial"]
    assert begun(before, after, {"initial": given, "method": "march"}) == {"initial": given}, "a function serves both"
    q, v = begun(before, after, {"initial": given(before.model)})["initial"]
    np.testing.assert_array_equal(given(after.model)[0], q)
    new = names(after.model.coordinates)
    assert len(new) == len(names(before.model.coordinates)) + 3
    for name, at in zip(("joint1", "joint2", "joint3"), (0.0, -0.6, 1.0), strict=True):
        assert q[new.index(name)] == pytest.approx(at)
    assert not v.any()


def test_a_force_at_the_tip_is_a_tenth_of_the_weight() -> None:
    plant = fx.load_plant("planar_2r_flexible", overrides={"payload.mass": 0.5})
    mass = 2 * 2700.0 * 350e-6 + 0.5
    sizes = tip_sizes(plant, {"tip_force_x": 1.0})
    assert sizes == {"tip_force_y": pytest.approx(0.1 * 9.81 * mass)}
    assert tip_sizes(fx.load_plant("tokhi_azad_1994"), {}) == {}  # finite differences take none


def test_forces_at_the_tip_are_required_apart_from_loads_at_the_motors() -> None:
    step = LoadStep("", "joint1_torque", 1.0, "y", 0.1, 0.0, 0.5, 2.0, error=0.01)
    found: Any = SimpleNamespace(loads=(step, replace(step, drive="tip_force_y", recovery=1.5, at_tip=True)))
    names_ = ("load_recovery_s", "tip_load_recovery_s")
    assert [_WORST_AND_ERROR[name](found)[0] for name in names_] == [0.5, 1.5]



def test_an_event_beyond_the_model_was_examined_and_says_so() -> None:
    """An arm without a reading of its joint spins away; the run goes to its end, and was called "not examined"."""
    about = task("tokhi_azad_tuned")
    found = event(about.plant, about.law, about.chosen, "frozen joint1_angle", None)
    assert not found.failure
    assert found.largest > 1.0
    assert found.told.startswith("frozen joint1_angle (from 0.2 s on): the run goes to its end, but its numbers")
    assert "spin of link 1 reached" in found.told
    assert _notes({found.name: found}) == ()
    assert event(about.plant, about.law, about.chosen, "missed sample", None).told == ""


@pytest.mark.parametrize(
    ("measured", "driven", "told"),
    [("chord7_angle", "joint1_torque", 'measured by the law, "chord7_angle"'),
     ("joint1_angle", "joint7_torque", 'driven by the law, "joint7_torque"')],
)
def test_a_law_of_another_arm_is_refused_before_anything_is_run(measured: str, driven: str, told: str) -> None:
    law = fx.LinearLaw(1e-3, (measured,), (driven,), ("joint1_angle",), Dy=[[-3.0]], Dr=[[3.0, 0.0, 0.0]])
    item = fx.Scenario("move", fx.quintic(0.0, 0.1, 0.4), 0.5)
    with pytest.raises(fx.DefinitionError, match=told):
        fx.certify(law, "planar_2r_flexible", scenarios=[item])


@pytest.mark.parametrize(("name", "astray"), [("frozen chord1_angle", True), ("missed sample", False)])
def test_a_run_that_leaves_its_course_is_called_so_and_not_one_that_was_not_examined(
    monkeypatch, name: str, astray: bool
) -> None:
    """Without the tip the arm turns on until something ends the run; with a missed sample it held its course."""
    about, whole = task(), fx.Scenario.run

    def failing(self: fx.Scenario, *given: Any) -> Any:
        if self.duration > 1.9:
            raise fx.ConvergenceError("Newton did not converge", time=1.9, growing="x grew 20 times")
        return whole(self, *given)

    monkeypatch.setattr(fx.Scenario, "run", failing)
    found = event(about.plant, about.law, about.chosen, name, None)
    notes = _notes({name: found})
    if astray:
        assert found.failure == found.diverges
        factor = float(found.diverges.split("is off by ")[1].split(" times its move")[0])
        frozen = fx.Frozen(about.law, {"chord1_angle": 0.2})
        run = replace(about.chosen, duration=0.2 + 0.95 * 1.7).run(frozen, about.plant)
        off = np.abs(run["chord1_angle"] - about.chosen.motions(about.law)["chord1_angle"](run.t)[0])
        assert factor == pytest.approx(off[run.t > 0.2].max() / np.radians(5.0), rel=1e-2)
        assert "ends at 1.9 s; x grew 20 times" in found.diverges
        assert notes == ()
        told: Any = SimpleNamespace(runs={}, errors={}, events=(found,))
        assert not _score(told, f"{name}: y.settle", 1.0).passed
    else:
        assert found.diverges == ""
        assert notes == (f"{name}: Newton did not converge",)
