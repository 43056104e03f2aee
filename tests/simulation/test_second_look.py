"""Runs of sampled loops are looked at again before they are warned of: what is claimed then is true."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import accuracy_unseen as unseen
import numpy as np
import pytest
from accuracy_cases import CASES

import flexctl as fx
from flexctl.errors import AccuracyWarning

ANGLES = ("joint1_angle", "joint2_angle")
PLANT = unseen.plant("tian_2r_beam", 2e-4)
MAKE = unseen.pd((900.0, 300.0), (150.0, 50.0), (0.3, 0.2), 0.4, 2e-3)


def told(*arguments: Any, look: bool = True, **options: Any) -> tuple[fx.Response, list[str]]:
    """Return a run by SDIRK4, and what is warned of."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if not look:
            patch.setattr("flexctl.simulation.run.second_look", lambda run: False)
        run = fx.simulate(*arguments, **{"method": "sdirk", **options})
    return run, [str(w.message) for w in caught if w.category is AccuracyWarning]


@cache
def run_of(rtol: float, look: bool = True) -> tuple[fx.Response, list[str]]:
    """Return a run of a sampled PD, and what is warned of."""
    return told(PLANT(), *MAKE(), duration=0.6, rtol=rtol, look=look)


def errors(run: fx.Response, exact: fx.Response) -> dict[str, tuple[float, float]]:
    """Return true and claimed errors as parts of the ranges, of what has claims."""
    found = {}
    for name, claimed in run.error.items():
        extent = float(np.ptp(exact[name]))
        if np.isfinite(claimed) and extent > 0.0:
            found[name] = float(np.abs(run[name] - exact[name]).max()) / extent, claimed / extent
    return found


def test_a_claim_that_is_too_large_is_not_warned_of() -> None:
    (run, said), (_, before) = run_of(1e-2), run_of(1e-2, look=False)
    exact = run_of(1e-5, look=False)[0]
    assert any("joint2_rate" in text for text in before)
    assert not said
    found = errors(run, exact)
    for name, (error, claimed) in found.items():
        assert error <= claimed, name
        assert claimed <= max(4.0 * error, 1.01e-3), name  # the least that is claimed is a tenth of rtol
    old = errors(run_of(1e-2, look=False)[0], exact)
    assert np.median([claimed / error for error, claimed in old.values() if claimed > 1.01e-3]) > 10.0
    np.testing.assert_array_equal(run.y, run_of(1e-2, look=False)[0].y)


def test_a_run_without_such_a_claim_is_not_taken_again() -> None:
    calls = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("flexctl.simulation.run.second_look", lambda run: bool(calls.append(run)))
        CASES["K"].run()
        assert not calls
        told(PLANT(), *MAKE(), duration=0.6)
        assert len(calls) == 1


def test_what_rounded_readings_leave_open_is_said() -> None:
    """To which value a reading is rounded hangs on less than any tolerance, and is as far off at a hundredth of it."""
    script = fx.load_controller("planar_2r_disturbance")
    plant = fx.load_plant(script.PLANT)
    law, item = script.design(plant), script.scenarios(plant)[0]
    rounded = fx.Quantised(law.law, dict.fromkeys(ANGLES, 2.0 * np.pi / 2**12))
    arm, moves = item.plant(plant), item.motions(law)
    run, said = told(arm, rounded, moves, duration=2.5)
    exact, better = (told(arm, rounded, moves, duration=2.5, rtol=rtol, look=False)[0] for rtol in (1e-5, 1e-4))
    found = errors(run, exact)
    assert min(found["joint1_torque"][0], errors(better, exact)["joint1_torque"][0]) > 0.02
    assert all(error <= claimed for error, claimed in found.values())
    (text,) = said
    assert "rounded values" in text
    assert "joint1_torque" in text
    assert "rtol" not in text


def rounded_run(bits: int, gain: float = 1.0, late: int = 1, **options: Any) -> fx.Response:
    """Return a run of a law that reads angles of so many bits a turn."""
    gains = (12.0 * gain, 1.5 * gain), (5.0 * gain, 0.6 * gain)
    law, moves = unseen.pd(*gains, (0.4, -0.3), 0.4, 2e-3, late)()
    law = fx.Quantised(law, dict.fromkeys(ANGLES, 2.0 * np.pi / 2**bits))
    return told(unseen.plant("planar_2r_flexible", 5e-4, model__elements=3)(), law, moves, duration=0.6, **options)[0]


@pytest.mark.parametrize("bits", [9, 10, 12])
def test_a_reading_that_another_run_rounds_otherwise_is_counted(bits: int) -> None:
    """Of 12 bits a count moves no command by the tolerance, and is claimed; of less, readings are moved as well."""
    run, exact = rounded_run(bits), rounded_run(bits, rtol=1e-5)
    found = errors(run, exact)
    assert found["joint1_torque"][0] + found["joint2_torque"][0] > 1.5e-3  # one count
    for name, (error, claimed) in found.items():
        assert error <= claimed, name
