"""The frontier on the 0.96 m arm: tuned over nine models, loads estimated, commands optimised through the loop."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import flexctl as fx
from flexctl.judging.certify.loops import examine
from flexctl.judging.variations import changed

ARM = "tokhi_azad_1994"


def worst(name: str, scenarios, *scores: str) -> list[float]:
    script, plant = fx.load_controller(name), fx.load_plant(ARM)
    law = script.design(plant)
    runs = [item.run(law, plant) for item in scenarios]
    assert all(run.scores["joint1_torque.peak"] <= 0.3 for run in runs)
    return [max(run.scores[f"chord1_angle.{score}"] for run in runs) for score in scores]


def shortened(name: str, move: str, changes=(0.0,), masses=(0.0, 0.01, 0.02)):
    script, plant = fx.load_controller(name), fx.load_plant(ARM)
    items = [item for item in script.scenarios(plant) if item.name.startswith(move)]
    first = replace(items[0], duration=1.2 if move == "5 deg" else 1.6)
    variants = [changed(plant, mass, x) for mass in masses for x in changes]
    return [replace(first, overrides={**script.SETTINGS, **variant}) for variant in variants]


@pytest.mark.parametrize(
    ("name", "move", "one", "tenth"),
    [
        ("tokhi_azad_disturbance", "5 deg", 0.4545, 0.757), ("tokhi_azad_disturbance", "60 deg", 1.123, 1.280),
        ("tokhi_azad_tuned", "5 deg", 0.466, 0.719), ("tokhi_azad_tuned", "60 deg", 1.125, 1.291),
        ("tokhi_azad_strain", "5 deg", 0.605, 0.881), ("tokhi_azad_strain", "60 deg", 1.135, 1.313),
        ("tokhi_azad_order4", "5 deg", 0.498, 1.196), ("tokhi_azad_order4", "60 deg", 1.128, 1.479),
        ("tokhi_azad_fastest", "5 deg", 0.470, 0.513), ("tokhi_azad_fastest", "60 deg", 0.971, 1.100),
    ],
)
def test_settling_of_the_worst_payload(name: str, move: str, one: float, tenth: float) -> None:
    found = worst(name, shortened(name, move), "settle_1pct_s", "settle_0p1pct_s")
    assert found == pytest.approx([one, tenth], rel=0.01)


@pytest.mark.parametrize(("move", "one", "tenth"), [("5 deg", 0.48, 0.516), ("60 deg", 0.985, 1.106)])
def test_the_fastest_commands_hold_what_was_planned_on_all_nine_models(move: str, one: float, tenth: float) -> None:
    name = "tokhi_azad_fastest"
    found = worst(name, shortened(name, move, (-0.05, 0.0, 0.05)), "settle_1pct_s", "settle_0p1pct_s")
    assert found[0] <= one
    assert found[1] <= tenth


PAYLOADS = (0.0, 0.005, 0.01, 0.0175, 0.02)  # some of those that were planned for, in kg


@pytest.mark.parametrize(("move", "one", "tenth"), [("5 deg", 0.36, 0.45), ("60 deg", 0.94, 1.06)])
def test_with_known_frequencies_one_command_serves_every_payload_in_the_time_asked_for(move, one, tenth) -> None:
    name = "tokhi_azad_fastest_payloads"
    found = worst(name, shortened(name, move, masses=PAYLOADS), "settle_1pct_s", "settle_0p1pct_s")
    assert found[0] <= one
    assert found[1] <= tenth


@pytest.mark.slow
@pytest.mark.parametrize(("angle", "one", "tenth"), [(5.0, 0.36, 0.45), (60.0, 0.94, 1.06)])
def test_such_commands_are_found_anew_for_three_payloads(angle: float, one: float, tenth: float) -> None:
    """With a margin near 1 every bound is tight, and the programme has to end all the same."""
    plant, script = fx.load_plant(ARM), fx.load_controller("tokhi_azad_fastest_payloads")
    law, target = script.design(plant), {"chord1_angle": float(np.radians(angle))}
    three = {name: linear for name, linear in script.models(plant).items() if name in ("0 g", "10 g", "20 g")}
    found = fx.optimal_command(
        law, three, target, within=0.001, also={0.01: one - 0.002}, longest=tenth + 0.01, margin=0.97, progress=False
    )
    assert found.arrival <= tenth
    for mass in (0.0, 0.01, 0.02):
        arm = plant.with_({**script.SETTINGS, "payload.mass": mass})
        run = fx.simulate(arm, law, found.references, duration=1.6, method="march")
        assert run.scores["chord1_angle.settle_1pct_s"] <= one
        assert run.scores["chord1_angle.settle_0p1pct_s"] <= tenth
        assert run.scores["joint1_torque.peak"] <= 0.3


def test_the_fastest_commands_are_refused_with_another_law() -> None:
    plant, script = fx.load_plant(ARM), fx.load_controller("tokhi_azad_fastest")
    command = script.commands(plant)["5 deg"]
    assert len(command.plants) == 9
    assert np.degrees(command.target["chord1_angle"]) == pytest.approx(5.0)
    other = fx.load_controller("tokhi_azad_lqg").design(plant)
    with pytest.raises(fx.DefinitionError, match="another law"):
        fx.simulate(plant, other, command.references, duration=0.1)


@pytest.mark.parametrize(("name", "least"), [("tokhi_azad_tuned", 0.52), ("tokhi_azad_disturbance", 0.25)])
def test_disk_margins_of_the_two_worst_of_nine_models(name: str, least: float) -> None:
    plant, script = fx.load_plant(ARM), fx.load_controller(name)
    law, base = script.design(plant).linear, plant.with_(script.SETTINGS)
    for mass, change in ((0.0, 0.05), (0.02, -0.05)):
        found = examine(base.with_(changed(base, mass, change)).linearise(), law)
        assert found.smallest("disk_margin") > least


def test_the_law_of_order_four_has_four_states_and_its_margin_on_all_nine_models() -> None:
    plant, script = fx.load_plant(ARM), fx.load_controller("tokhi_azad_order4")
    law, base = script.design(plant), plant.with_(script.SETTINGS)
    assert len(law.law.law.A) == 4
    for mass in (0.0, 0.01, 0.02):
        for change in (-0.05, 0.0, 0.05):
            found = examine(base.with_(changed(base, mass, change)).linearise(), law.linear)
            assert found.smallest("disk_margin") > 0.96  # 0.6 was asked for


def test_the_law_without_a_tip_sensor_needs_the_remainder_of_the_modes_that_it_leaves_out() -> None:
    plant, script = fx.load_plant(ARM), fx.load_controller("tokhi_azad_strain")
    law, bare = script.design(plant), script.design(plant, remainder=False)
    assert "chord1_angle" not in law.measures
    margins = [examine(script.linear(plant, m), law.linear).smallest("disk_margin") for m in (0.0, 0.01, 0.02)]
    assert min(margins) > 0.3
    assert not examine(script.linear(plant, 0.0), bare.linear).stable


@pytest.mark.parametrize(("mass", "error"), [(0.0, 1.35), (0.01, 0.09), (0.02, 1.06)])
def test_the_estimate_of_the_tip_from_hub_and_strain(mass: float, error: float) -> None:
    """Largest errors [mm] on 5 deg, against an independent Kalman filter of other noise settings."""
    plant, script = fx.load_plant(ARM), fx.load_controller("tokhi_azad_strain")
    item = next(i for i in script.scenarios(plant) if i.name == f"5 deg, {1e3 * mass:g} g")
    run = replace(item, duration=0.8).run(script.design(plant), plant)
    found = script.observer(plant).over(run)
    assert 960.0 * found.errors["chord1_angle"] == pytest.approx(error, rel=0.12)
    assert found.innovations.shape == (found.t.size, 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "most"), [("tokhi_azad_disturbance", (0.225, 0.13, 0.12)), ("tokhi_azad_lqg", (0.135, 0.135, 0.135))]
)
@pytest.mark.parametrize(("which", "mass"), enumerate((0.0, 0.01, 0.02)))
def test_hunting_under_dry_friction(name: str, most: tuple[float, ...], which: int, mass: float) -> None:
    """0.01 N m at the hub: the tip [mrad] stays near its target for ever; an independent code has 0.13 for the LQG."""
    plant, script = fx.load_plant(ARM), fx.load_controller(name)
    arm = plant.with_({**script.SETTINGS, "model.sections": 20, "payload.mass": mass})
    law = fx.Friction("lugre", coulomb=0.01, bristle_stiffness=2000.0, bristle_damping=2.0)
    rubbing = replace(arm.arm, joints=tuple(replace(joint, friction_law=law) for joint in arm.arm.joints))
    run = fx.simulate(
        replace(arm, arm=rubbing), script.design(plant), fx.quintic(0.0, np.radians(5.0), 0.4), duration=4.0,
        method="generalised_alpha", rtol=2e-4,
    )
    off = 1e3 * np.abs(run["chord1_angle"] - np.radians(5.0))[run.t > 1.5].max()
    assert 0.05 < off + 1e3 * run.error["chord1_angle"] < most[which]
