"""Every controller script of the catalogue, run as its own scenarios ask, reaches the scores stated here.

Settling times are asserted to 5 % and margins to 10 % of numbers computed independently of flexctl on a 41-mode plant
of the same arm; a controller without an entry fails.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import pytest

import flexctl as fx
from flexctl.scenario import design, robustness, run_scenarios, scenarios


@dataclass(frozen=True)
class Entry:
    settling: dict[str, tuple[float | None, float | None]]  # scenario: to 1 %, to 0.1 % [s]; None: not asserted
    disk: tuple[float, ...]  # per variant of the plant
    torque: float  # limit [N m]


ENTRIES = {
    "tokhi_azad_pd": Entry(
        {"60 deg, 0 g": (1.18, None), "60 deg, 10 g": (1.13, 2.49), "60 deg, 20 g": (1.10, None)},
        (0.26, 0.26, 0.26),
        0.3,
    ),
    "tokhi_azad_lqg": Entry(
        {
            "5 deg, 0 g": (0.437, 0.652),
            "5 deg, 10 g": (0.399, 0.524),
            "5 deg, 20 g": (0.435, 0.611),
            "60 deg, 0 g": (1.117, 1.197),
            "60 deg, 10 g": (1.108, 1.167),
            "60 deg, 20 g": (1.099, 1.250),
        },
        (0.30, 0.40, 0.43),
        0.3,
    ),
}


@dataclass(frozen=True)
class Shaken:
    """What is asserted of an arm that vibrates after its move: 1 % of the model's own numbers, checked elsewhere."""

    left: dict[str, tuple[float, float]]  # scenario: largest change of both strains after 2.2 s [microstrain]
    disk: tuple[float, ...]  # per joint
    angle: float  # largest deviation of a joint from its reference [rad]


# sampled at 5 kHz; the cylinders' own loops leave 173.9, 32.6 (both links), found by an independent code
SHAKEN = {
    "ralf_servo": Shaken(
        {"both links": (174.5, 32.9), "lower link": (167.3, 23.9), "upper link": (10.9, 23.7)}, (0.80, 1.00), 1.71e-3
    ),
}


@cache
def runs(name: str):
    script = fx.load_controller(name)
    plant = fx.load_plant(script.PLANT)
    return {item.name: run for item, run in run_scenarios(script, plant)}


def test_every_controller_has_an_entry():
    assert sorted([*ENTRIES, *SHAKEN]) == fx.list_controllers()


@pytest.mark.parametrize(("name", "scenario"), [(n, s) for n, e in ENTRIES.items() for s in e.settling])
def test_settling(name, scenario):
    for band, wanted in zip(("1pct", "0p1pct"), ENTRIES[name].settling[scenario], strict=True):
        if wanted is not None:
            assert runs(name)[scenario].scores[f"tip_angle.settle_{band}_s"] == pytest.approx(wanted, rel=0.05)


@pytest.mark.parametrize("name", ENTRIES)
def test_the_torque_limit_is_kept(name):
    for run in runs(name).values():
        assert run.scores["hub_torque.peak"] <= ENTRIES[name].torque + 1e-12


@pytest.mark.parametrize("name", [*ENTRIES, *SHAKEN])
def test_margins_on_the_whole_plant(name):
    script = fx.load_controller(name)
    plant = fx.load_plant(script.PLANT)
    found = robustness(design(script, plant), plant, scenarios(script, plant))
    assert all(stable for _, stable in found.values())
    wanted = {**ENTRIES, **SHAKEN}[name].disk
    assert [margins.disk_margin for margins, _ in found.values()] == pytest.approx(wanted, rel=0.1)


def test_lqg_settles_the_small_move_several_times_faster_than_the_pd():
    """Worst payload: at least 5 times to 1 %; the PD is still outside at the end of 2.5 s or close to it."""
    def worst(name):
        return max(min(runs(name)[f"5 deg, {g} g"].scores["tip_angle.settle_1pct_s"], 2.5) for g in (0, 10, 20))

    assert worst("tokhi_azad_pd") / worst("tokhi_azad_lqg") > 5


@pytest.mark.parametrize(("name", "scenario"), [(n, s) for n, e in SHAKEN.items() for s in e.left])
def test_vibration_that_is_left(name, scenario):
    run = runs(name)[scenario]
    late = run.t > 2.2
    left = [1e6 * abs(run[strain] - run[strain][0])[late].max() for strain in ("strain_lower", "strain_upper")]
    assert left == pytest.approx(SHAKEN[name].left[scenario], rel=0.01)
    errors = [run.scores[f"joint{i}_angle.max_error"] for i in (1, 2)]
    assert max(errors) <= SHAKEN[name].angle
