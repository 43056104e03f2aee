"""The laboratory's flexible link and joint under their laws: 30 deg by motor voltage."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

import flexctl as fx

# settling to 1 and 0.1 % [s], largest voltage [V] of every scenario; disk margin of the loop
WANTED = {
    "quanser_link_pd": (
        {"30 deg": (0.882, 1.222, 0.828), "30 deg, longer link": (0.872, 1.078, 0.850),
         "step of 30 deg": (0.668, 1.070, 3.142)}, 1.396,
    ),
    "quanser_link_lqg": (
        {"30 deg": (0.616, 0.862, 1.198), "30 deg, longer link": (0.606, 0.842, 1.270)}, 0.950,
    ),
    "quanser_joint_lqg": (
        {"30 deg": (0.644, 0.912, 1.161), "30 deg, frequencies -10 %": (0.690, 1.286, 1.181),
         "30 deg, frequencies +10 %": (0.618, 0.844, 1.185)}, 1.014,
    ),
}


@cache
def performed(name: str) -> tuple[Any, Any, dict[str, fx.Response]]:
    script = fx.load_controller(name)
    plant = fx.load_plant(script.PLANT)
    law = script.design(plant)
    return script, law, {item.name: run for item, run in fx.run_scenarios(script, plant, controller=law)}


@pytest.mark.parametrize("name", WANTED)
def test_the_move_settles_and_the_amplifier_has_room(name: str) -> None:
    script, law, runs = performed(name)
    wanted, disk = WANTED[name]
    assert law.stable
    assert law.margins["joint1_voltage"].disk_margin == pytest.approx(disk, rel=0.01)
    assert law.margins["joint1_voltage"].disk_margin > script.REQUIREMENTS["disk_margin"]
    assert set(runs) == set(wanted)
    for scenario, (coarse, fine, peak) in wanted.items():
        scores = runs[scenario].scores
        followed = next(key.rpartition(".")[0] for key in scores if key.endswith("settle_1pct_s"))
        assert scores[f"{followed}.settle_1pct_s"] == pytest.approx(coarse, abs=5e-3), scenario
        assert scores[f"{followed}.settle_0p1pct_s"] == pytest.approx(fine, abs=2e-2), scenario
        assert scores["joint1_voltage.peak"] == pytest.approx(peak, rel=0.02), scenario
        assert scores["joint1_voltage.peak"] < script.LIMIT


@pytest.mark.slow
@pytest.mark.parametrize("name", WANTED)
def test_requirements_are_met(name: str) -> None:
    found = fx.certify(name, bits=(), workers=2)
    assert found.passed, str(found)
