"""What happens on the way: gripped payloads, frozen readings, missed samples in certificates."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import flexctl as fx
from flexctl.judging.certify.events import Event, event, event_names, event_time
from flexctl.judging.certify.jobs import payloads
from flexctl.judging.certify.requirements import _score
from flexctl.judging.certify.task import prepared


def task(name: str = "tokhi_azad_lqg"):
    return prepared(name, None, None, None, None, None)


def test_what_is_tried_follows_from_law_and_payloads() -> None:
    found = task()
    assert event_names(found, payloads(found)) == [
        "gripped", "missed sample", "frozen joint1_angle", "frozen chord1_angle"
    ]
    assert event_names(found, (0.0, 0.0))[0] == "missed sample"
    assert event_names(task("tip_circle"), None) == []  # on a path
    assert event_time(found.law, found.chosen) == pytest.approx(0.2)


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
