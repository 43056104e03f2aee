"""Grey boxes on the full model: play, large turns."""

from __future__ import annotations

import numpy as np
import pytest

import flexctl as fx
from flexctl import identify
from flexctl.identify import damped
from flexctl.identify.explained import explained
from flexctl.identify.full_model import away, outputs_of
from flexctl.identify.parted import parted
from flexctl.identify.problem import Setting, problem
from flexctl.identify.search import fitted, reweighted

COUNT = 2.0 * np.pi / 4096.0
KEYS = {"joint.1.backlash": 0.03, "joint.1.stiffness": 1.0142308, "joint.1.friction": 0.004}


def record(delay: int) -> tuple[fx.Plant, identify.Record]:
    plant = fx.load_plant("quanser_flexible_joint", overrides={"joint.1.backlash": 0.03})
    drive = identify.doublets("joint1_voltage [V]", 2.0, count=2)
    read = ["joint1_motor_angle", "joint1_angle"]
    return plant, identify.measure(plant, drive, read, delay=delay, quanta=dict.fromkeys(read, COUNT))


def test_a_synthetic_record_has_the_play_of_the_joint() -> None:
    _plant, data = record(0)
    assert data.provenance["engine"] == "full"
    wound = data.y[:, 0] - data.y[:, 1]
    assert np.ptp(wound) > 0.025  # play of 0.03 rad from end to end, without a link to wind it up at first


@pytest.mark.filterwarnings("ignore::flexctl.errors.Caution")
@pytest.mark.parametrize("delay", [1, pytest.param("scan", marks=pytest.mark.slow)])
def test_play_is_identified(delay: int | str) -> None:
    plant, data = record(1)
    start = plant.with_({"joint.1.backlash": 0.015, "joint.1.stiffness": 1.6, "joint.1.friction": 6e-3})
    found = identify.parameters(start, data, list(KEYS), delay=delay)
    assert found.delay == 1
    assert found.substeps > 0
    for key, value in KEYS.items():
        true = {row.key: row.value for row in plant.rows}[key]
        assert found.values[key] == pytest.approx(true, rel=2e-3)
        assert found.values[key] == pytest.approx(true, abs=4 * found.sigma[key])
        assert value == pytest.approx(true, rel=1e-4)
    assert found.validate(data)["joint1_angle"] == pytest.approx(found.fit["record 1", "joint1_angle"], abs=1e-6)


def pendulum() -> fx.Plant:
    return fx.load_plant(
        "planar_2r_rigid", model={"kind": "finite_segment", "segments": 1},
        overrides={"gravity.y": 0.0, "joint.1.friction": 1.0, "joint.2.friction": 0.5, "payload.mass": 5.0},
    )


@pytest.fixture(scope="module")
def turned() -> tuple[fx.Plant, identify.Record]:
    """Two rigid rods whose second joint turns by 0.2 rad; the start has 40 % less payload."""
    plant = pendulum()
    drive = identify.doublets("joint2_torque [N m]", 4.0, count=1)
    read = ["joint1_angle", "joint2_angle"]
    data = identify.measure(plant, drive, read, noise=dict.fromkeys(read, 1e-4), engine="full")
    assert 0.15 < np.ptp(data.y[:, 1]) < 0.25
    return plant.with_({"payload.mass": 3.0}), data


def test_the_linear_model_says_when_a_record_has_large_turns(turned: tuple[fx.Plant, identify.Record]) -> None:
    start, data = turned
    with pytest.warns(fx.DataWarning, match=r"the full model \(large turns\) is .* identify with engine='full'"):
        linear = identify.parameters(start, data, ["payload.mass"], delay=0, mesh=False, engine="linear")
    assert linear.substeps == 0
    full = identify.parameters(start, data, ["payload.mass"], delay=0, mesh=False, engine="full")
    assert full.values["payload.mass"] == pytest.approx(5.0, rel=1e-3)
    assert abs(full.values["payload.mass"] - 5.0) < 0.1 * abs(linear.values["payload.mass"] - 5.0)


def test_the_search_goes_on_with_the_full_model(turned: tuple[fx.Plant, identify.Record]) -> None:
    start, data = turned
    said: list[str] = []
    with pytest.warns(fx.DataWarning, match=r"compared with the full model \(large turns\), since the linear one"):
        found = identify.parameters(
            start, data, ["payload.mass"], delay=0, mesh=False, progress=lambda what, part: said.append(what)
        )
    assert found.substeps > 0
    assert found.unexplained == 0.0
    assert found.values["payload.mass"] == pytest.approx(5.0, rel=1e-3)
    assert not any("engine='full'" in text for text in found.cautions)
    assert any("the full model (at most" in text for text in said)


def test_a_full_model_that_would_take_hours_is_not_fitted_unasked(
    turned: tuple[fx.Plant, identify.Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    start, data = turned
    monkeypatch.setattr("flexctl.identify.to_full.LONGEST", 1e-6)
    with pytest.warns(fx.DataWarning, match=r"large turns\) would take up to \d+ runs of .* and was not fitted"):
        found = identify.parameters(start, data, ["payload.mass"], delay=0, mesh=False)
    assert found.substeps == 0
    assert found.unexplained > 0.0
    with pytest.warns(fx.DataWarning, match="compared with the full model"):  # asked for in so much time
        found = identify.parameters(start, data, ["payload.mass"], delay=0, mesh=False, time_limit=600.0)
    assert found.substeps > 0


def test_the_linear_solution_is_kept_where_the_full_model_fails(
    turned: tuple[fx.Plant, identify.Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    start, data = turned

    def fails(*_: object) -> int:
        raise fx.ConvergenceError("it does not run")

    monkeypatch.setattr("flexctl.identify.to_full.enough_steps", fails)
    with pytest.warns(fx.DataWarning, match="could not be fitted to them, so that .* linear one: it does not run"):
        found = identify.parameters(start, data, ["payload.mass"], delay=0, mesh=False)
    assert found.substeps == 0
    assert found.unexplained > 0.0


RUBBING = """\
title = "An arm whose joint rubs"
[material.strip]
youngs_modulus = 7e10
density = 2700.0
[section.strip]
area = 9.0e-5
second_moment = 6.75e-11
outer_distance = 1.5e-3
[[link]]
length = 0.7
material = "strip"
section = "strip"
[friction.dry]
kind = "tanh"
coulomb = 0.06
creep_rate = 4e-3
[[joint]]
hub_inertia = 5e-3
friction = 0.02
friction_law = "dry"
[payload]
mass = 0.08
[damping]
kind = "modal"
ratio = 0.008
[model]
kind = "timoshenko_planar"
elements = 3
"""


@pytest.fixture(scope="module")
def rubbing(tmp_path_factory: pytest.TempPathFactory) -> fx.Plant:
    path = tmp_path_factory.mktemp("arm") / "arm.toml"
    path.write_text(RUBBING)
    return fx.load_plant(path)


def test_the_distance_of_the_full_model_is_none_of_its_steps(rubbing: fx.Plant) -> None:
    """In two steps a sample friction was turned so late that this was six times the distance."""
    drive = identify.doublets("joint1_torque [N m]", 0.4, count=1)
    data = identify.measure(rubbing, drive, ["joint1_angle"], engine="linear")
    fine = outputs_of(rubbing, data, 1200, 64) - data.y[:1200]
    coarse = outputs_of(rubbing, data, 1200, 2) - data.y[:1200]
    assert coarse.std() > 1.5 * fine.std()
    assert away(rubbing, data, data.y, 0)[:1200].std() == pytest.approx(fine.std(), rel=0.3)


def test_a_response_that_holds_dry_friction_is_told(rubbing: fx.Plant) -> None:
    w = np.linspace(5.0, 200.0, 60)
    H = rubbing.linearise().transfer(1j * w)[:1, :1]
    sure = {"omega": w, "inputs": ["joint1_torque [N m]"], "outputs": ["joint1_angle [rad]"], "sigma": 0.01 * np.abs(H)}
    for part, count in ((1.0, 0), (1.0 + 0.2j, 1)):
        found, _ = problem(rubbing, identify.measured_response(response=part * H, **sure), ["payload.mass"], None)
        said = explained(found, np.zeros(1), Setting()).parted
        assert len(said) == count
        assert all("without its dry friction" in text for text in said)


@pytest.mark.slow
def test_a_record_of_the_linear_model_does_not_ask_for_the_full_one(rubbing: fx.Plant) -> None:
    """Its turns are large enough for the full model to differ, but it is explained to its noise without."""
    drive = identify.doublets("joint1_torque [N m]", 1.5, count=1)
    noise = {"joint1_angle": 2e-5}
    plain = identify.measure(rubbing, drive, ["joint1_angle"], noise=noise, engine="linear")
    true, _ = problem(rubbing, plain, ["payload.mass", "joint.1.hub_inertia"], None)
    reweighted(true, np.zeros(2), Setting())
    left = parted(true, np.zeros(2), plain, Setting(), true.misfit(np.zeros(2), plain, Setting()))
    assert left.words  # the models are apart
    said = explained(true, np.zeros(2), Setting())
    assert not said.far
    assert not said.parted
    turned = identify.measure(rubbing, drive, ["joint1_angle"], noise=noise, engine="full")
    real, _ = problem(rubbing, turned, ["payload.mass", "joint.1.hub_inertia"], None)
    reweighted(real, np.zeros(2), Setting())
    assert explained(real, np.zeros(2), Setting()).far


def test_unknown_engines_are_refused() -> None:
    plant, data = record(0)
    with pytest.raises(fx.DefinitionError, match='unknown engine "fast"'):
        identify.parameters(plant, data, ["joint.1.friction"], engine="fast")


def test_runs_of_a_search_are_made_once_and_end_with_its_time(
    turned: tuple[fx.Plant, identify.Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    def compared(*_: object) -> None:
        raise AssertionError("a run of a search was compared with another")

    start, data = turned
    monkeypatch.setattr("flexctl.simulation.given_steps._compare", compared)
    outputs_of(start, data, 200, 2)
    run = {"inputs": {"joint2_torque": fx.bang_bang(1.0, 0.01)}, "duration": 0.02, "step": 1e-3}
    with pytest.raises(AssertionError, match="compared"):
        fx.simulate(start, **run)


def test_a_limit_of_time_ends_guesses_and_differences() -> None:
    arm = fx.load_plant("tokhi_azad_1994", payload={"mass": 0.02})
    data = identify.measure(arm, identify.doublets("joint1_torque [N m]", 0.05, count=1), ["joint1_angle"])
    found, _ = problem(arm, [data], ["payload.mass"], {"payload.mass": 0.01})
    said: list[float] = []
    late = found.changed(deadline=0.0)
    assert damped.guessed(late, np.zeros(1), None, lambda what, part: said.append(part)) == 0.0
    assert said[-1] == 1.0
    assert not late.kept  # nothing was run
    x, _ = fitted(late, np.zeros(1), Setting(), 500, 5, lambda what, part: None, "")
    assert x == 0.0
    assert late.unfinished == "the limit of time was reached"
