"""Certificates where warnings are errors, as in `pytest -W error`: all is done before the first is raised."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import flexctl as fx
from flexctl.errors import caution, finished_first
from flexctl.judging import certify as certificates
from flexctl.judging.workers import run_all


def works(told: list[int]) -> None:
    with finished_first():
        for number in (1, 2, 2):
            caution(f"number {number}", fx.AccuracyWarning)
            told.append(number)


@pytest.mark.filterwarnings("error")
def test_the_work_is_done_before_a_warning_is_an_error() -> None:
    told: list[int] = []
    with pytest.raises(fx.AccuracyWarning, match="number 1") as found:
        works(told)
    assert told == [1, 2, 2]
    assert found.value.__notes__ == ["AccuracyWarning: number 2"]


def test_warnings_are_told_once_where_they_are_none() -> None:
    with pytest.warns(fx.AccuracyWarning) as found:
        works([])
    assert [str(w.message) for w in found] == ["number 1", "number 2"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        works([])


def fails() -> None:
    with finished_first():
        caution("before")
        raise ZeroDivisionError


@pytest.mark.filterwarnings("error")
def test_an_error_of_the_work_is_raised_and_not_what_was_warned_of() -> None:
    with pytest.raises(ZeroDivisionError):
        fails()


def warned_of(number: int) -> int:
    caution(f"case {number}", fx.AccuracyWarning)
    return number


@pytest.mark.filterwarnings("error")
def test_cases_are_all_done_before_a_warning_of_one_is_an_error() -> None:
    found = []
    answers = run_all(warned_of, [1, 2, 3], workers=1)
    with pytest.raises(fx.AccuracyWarning, match="case 1") as error:
        found += [found.append(value) for _, value in answers]
    assert found[:3] == [1, 2, 3]
    assert error.value.__notes__ == ["AccuracyWarning: case 2", "AccuracyWarning: case 3"]


@pytest.mark.filterwarnings("error")
def test_a_certificate_comes_to_its_end(monkeypatch: Any) -> None:
    done: list[str] = []
    prepared = certificates.prepared

    def warned(*arguments: Any) -> Any:
        caution("an intermediate run is less accurate", fx.AccuracyWarning)
        return prepared(*arguments)

    monkeypatch.setattr(certificates, "prepared", warned)
    names = ("joint1_angle", "joint1_rate"), ("joint1_torque",), ("joint1_angle",)
    law = fx.LinearLaw(1e-3, *names, Dy=[[-0.4, -0.2]], Dr=[[0.4, 0.2, 0.0]])
    arm = fx.load_plant("tokhi_azad_1994", model={"kind": "timoshenko_planar", "elements": 2})
    item = fx.Scenario("move", fx.quintic(0.0, 0.1, 0.3), 0.4)
    with pytest.raises(fx.AccuracyWarning, match="intermediate run"):
        fx.certify(
            law, arm, scenarios=[item], bits=(), workers=1, loads={}, payload=(0.0, 0.0), frequency=(0.0, 0.0),
            progress=lambda what, part: done.append(what),
        )
    assert done  # it went on
