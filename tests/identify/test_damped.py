"""Undamped arms that turn far: first guesses by transforms that decay, the full model in longer and longer parts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import flexctl as fx
from flexctl import identify
from flexctl.identify import damped
from flexctl.identify.explained import explained
from flexctl.identify.problem import Setting, counted, onset, problem

ARM = """\
title = "A planar arm without damping"
[material.steel]
youngs_modulus = 2.1e11
density = 7850.0
poisson_ratio = 0.3
[section.strip]
area = 6.0e-5
second_moment = 2.0e-11
shear_factor = 0.85
outer_distance = 1e-3
[[link]]
length = 0.5
material = "steel"
section = "strip"
[[joint]]
hub_inertia = 8e-3
[payload]
mass = 0.12
[[sensor]]
name = "strain"
kind = "strain"
position = 0.02
[model]
kind = "timoshenko_planar"
elements = 3
"""
START = {"material.steel.youngs_modulus": 1.65, "payload.mass": 0.7, "joint.1.hub_inertia": 1.4}
SEEN = ["joint1_angle", "strain"]


@pytest.fixture(scope="module")
def turned(tmp_path_factory: pytest.TempPathFactory) -> tuple[fx.Plant, identify.Record, dict[str, float]]:
    """An arm that turns by several radians, its record with noise, and the parameters to find."""
    path: Path = tmp_path_factory.mktemp("arm") / "arm.toml"
    path.write_text(ARM)
    arm = fx.load_plant(path)
    drive = identify.doublets("joint1_torque [N m]", 2.5, count=1, every=1.5)
    noise = {"joint1_angle": 1e-5, "strain": 1e-6}
    data = identify.measure(arm, drive, SEEN, delay=2, noise=noise, engine="full")
    assert np.ptp(data.y[:, 0]) > 2.0
    return arm, data, {row.key: float(row.value) for row in arm.rows if row.key in START}


def test_a_guess_from_afar_is_near(turned: tuple[fx.Plant, identify.Record, dict[str, float]]) -> None:
    """Over the record the mode swings a dozen times: the misfit itself has a minimum every few per cent."""
    arm, data, true = turned
    keys = list(START)
    found, _ = problem(arm, data, keys, {key: true[key] * START[key] for key in keys})
    x = damped.guessed(found, np.zeros(3), None, lambda what, part: None)
    off = found.values(x) / np.array([true[key] for key in keys]) - 1.0
    assert np.abs(off).max() < 0.06


def test_a_guess_from_a_record_that_begins_with_rest_and_comes_late(
    turned: tuple[fx.Plant, identify.Record, dict[str, float]]
) -> None:
    """All counted from the first sample saw nothing of the arm; and exp(-sigma delay dt) was taken for mass."""
    arm, data, true = turned
    u, y = (np.vstack([np.zeros((700, n)), x[: data.t.size - 700]]) for x, n in ((data.u, 1), (data.y, 2)))
    u = np.vstack([u[5:], np.zeros((5, 1))])  # comes seven samples late then
    late = identify.Record(data.t, u, y, data.inputs, data.outputs)
    keys = list(START)
    found, _ = problem(arm, late, keys, {key: true[key] * START[key] for key in keys})
    assert onset(late) >= 695
    assert counted(late, 250) == onset(late) + 250
    x = damped.guessed(found, np.zeros(3), None, lambda what, part: None)
    off = found.values(x) / np.array([true[key] for key in keys]) - 1.0
    assert np.abs(off).max() < 0.06


def test_what_the_steps_of_the_runs_leave_is_no_fault_of_the_model(
    turned: tuple[fx.Plant, identify.Record, dict[str, float]]
) -> None:
    arm, data, true = turned
    found, _ = problem(arm, data, list(START), true)
    full = found.changed(full=True, substeps=1)
    right = explained(full, np.zeros(3), Setting(2))
    assert right.worst == 0.0
    assert not right.explains
    assert right.steps
    assert "no more than what the steps of the runs leave" in right.words()[0]
    wrong = explained(full, np.array([0.0, 0.1, 0.0]), Setting(2))
    assert wrong.worst > 2.0
    assert not wrong.steps
    closer = explained(full.changed(substeps=16), np.zeros(3), Setting(2))
    assert max(closer.times.values()) < 0.3 * max(right.times.values())


@pytest.mark.filterwarnings("ignore::flexctl.errors.Caution")
@pytest.mark.slow
@pytest.mark.parametrize("stiff", [1.65, 0.61])
def test_an_undamped_arm_with_large_turns_is_identified(
    stiff: float, turned: tuple[fx.Plant, identify.Record, dict[str, float]]
) -> None:
    arm, data, true = turned
    factors = {**START, "material.steel.youngs_modulus": stiff}
    start = {key: true[key] * factor for key, factor in factors.items()}
    found = identify.parameters(arm, data, list(start), start=start, mesh=False)
    assert found.delay == 2
    assert found.unexplained == 0.0
    assert not found.not_converged
    for key, value in true.items():
        assert found.values[key] == pytest.approx(value, rel=2e-3)
        assert abs(found.values[key] - value) < 4.0 * found.sigma[key]


@pytest.mark.filterwarnings("ignore::flexctl.errors.Caution")
def test_a_mesh_that_leads_the_search_astray_is_refined_and_the_search_begins_again(tmp_path: Path) -> None:
    """Deviations that hold what the mesh leaves over allowed that mesh: stiffness stayed per cents off."""
    fine, coarse = tmp_path / "fine.toml", tmp_path / "coarse.toml"
    damped_arm = ARM.replace("[payload]", "friction = 0.05\n[payload]")
    coarse.write_text(damped_arm)
    fine.write_text(damped_arm.replace('timoshenko_planar"\nelements = 3', 'finite_difference"\nsections = 60'))
    truth = fx.load_plant(fine)
    drive = identify.multisine("joint1_torque [N m]", (1.0, 60.0), limit=0.2, period=0.512, periods=2)
    data = identify.measure(truth, drive, SEEN, noise={"joint1_angle": 1e-6, "strain": 1e-7})
    key = "material.steel.youngs_modulus"
    true = {row.key: row.value for row in truth.rows}[key]
    found = identify.parameters(fx.load_plant(coarse), data, [key], start={key: 0.7 * true}, delay=0, engine="linear")
    assert any("the search began again there" in text for text in found.cautions)
    assert found.values[key] == pytest.approx(true, rel=5e-3)
