"""The search: residuals that move smoothly, Stribeck curves from afar, rounds that are worth it."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from one_link import PLANT

import flexctl as fx
from flexctl import identify
from flexctl.identify import search
from flexctl.identify.problem import STEP, Problem, Setting, problem
from flexctl.identify.sampled import FINE
from flexctl.identify.steps import MOST

SEEN = ("joint1_angle", "strain", "tip_acceleration")
NOISE = {"strain": 2e-7, "tip_acceleration": 2e-2}
BRISTLES = 'kind = "lugre"\ncoulomb = 0.03\nstatic = 0.042\nstribeck_rate = 0.05\nbristle_stiffness = 40.0\n'


def arm_with(law: str, folder: Path) -> fx.Plant:
    text = PLANT.replace('kind = "tanh"\ncoulomb = 0.03\ncreep_rate = 1e-3\n', law)
    (folder / "arm.toml").write_text(text.replace("sections = 30", "sections = 12"))
    return fx.load_plant(folder / "arm.toml")


def record_of(arm: fx.Plant, limit: float, seed: int = 1) -> identify.Record:
    drive = identify.multisine("joint1_torque [N m]", (0.5, 60.0), limit=limit, period=1.024, periods=2, seed=seed)
    return identify.measure(arm, drive, SEEN, delay=1, encoder_bits=20, noise=NOISE, seed=seed)


def test_outputs_move_smoothly_with_the_parameters(tmp_path: Path) -> None:
    """Where steps are divided moves with them; all that jumps is less than the noise of a single sample."""
    arm = arm_with('kind = "tanh"\ncoulomb = 0.03\ncreep_rate = 1e-3\n', tmp_path)
    found, _ = problem(arm, record_of(arm, 0.12), ["friction.dry.coulomb", "payload.mass"], None)
    found.scales = [np.array([1.7e-6, *NOISE.values()])]
    for k in range(2):
        one = np.eye(2)[k] * STEP
        before, here, after = (found.residual(m * one, Setting(1)) for m in (-1.0, 0.0, 1.0))
        assert np.linalg.norm(after - before) > 30.0
        assert np.linalg.norm(after - 2.0 * here + before) < 0.5


@pytest.mark.filterwarnings("ignore::flexctl.errors.Caution")
@pytest.mark.parametrize(("coulomb", "static", "rate"), [(0.015, 0.08, 0.2), (0.06, 0.08, 0.01)])
def test_a_stribeck_curve_is_found_from_afar(coulomb: float, static: float, rate: float, tmp_path: Path) -> None:
    """From the first beginning a curve that goes under in Coulomb friction explains the data best, nearby."""
    arm = arm_with(BRISTLES + "bristle_damping = 0.05\n", tmp_path)
    true = {row.key: row.value for row in arm.rows}
    start = {"coulomb": coulomb, "static": static, "stribeck_rate": rate, "bristle_stiffness": 30.0}
    start = {f"friction.dry.{key}": value for key, value in start.items()}
    records = [record_of(arm, 0.12), record_of(arm, 0.25, 2)]
    found = identify.parameters(arm, records, list(start), start=start, delay=1, mesh=False)
    assert found.unexplained == 0.0
    for key in start:
        assert found.values[key] == pytest.approx(true[key], rel=1e-2)
        assert abs(found.values[key] - true[key]) < 4.0 * found.sigma[key]


def test_static_friction_is_never_below_the_coulomb_friction(tmp_path: Path) -> None:
    """Each moves for itself; a law that refuses the other order is never asked for it."""
    arm = arm_with(BRISTLES + "bristle_damping = 0.05\n", tmp_path)
    keys = ["friction.dry.coulomb", "friction.dry.static"]
    found, _ = problem(arm, record_of(arm, 0.12), keys, {keys[0]: 0.04, keys[1]: 0.041})
    for x in ([1.0, -1.0], [-2.0, 3.0], [0.0, -9.0]):
        values = found.values(np.array(x))
        assert values[1] > values[0]
        plain, same = found.in_logarithms(np.array(x))
        assert plain.values(same) == pytest.approx(values, rel=1e-12)
    held, _ = problem(arm, record_of(arm, 0.12), keys[1:], {keys[1]: 0.041})
    assert held.values(np.array([-3.0]))[0] > 0.03


def test_rounds_that_change_nothing_are_not_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of all records until three parameters are known to a part of their deviations."""
    runs = 0
    residual = Problem.residual

    def counted(self: Problem, x: np.ndarray, at: Setting, horizon: int = 0) -> np.ndarray:
        nonlocal runs
        runs += not horizon
        return residual(self, x, at, horizon)

    monkeypatch.setattr(Problem, "residual", counted)
    arm = arm_with('kind = "tanh"\ncoulomb = 0.03\ncreep_rate = 1e-3\n', tmp_path)
    start = {"joint.1.hub_inertia": 4.5e-3, "payload.mass": 0.05, "friction.dry.coulomb": 0.015}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fx.DataWarning)
        found = identify.parameters(
            arm, [record_of(arm, 0.12), record_of(arm, 0.25, 2)], list(start), start=start, delay=1, mesh=False
        )
    assert abs(found.values["payload.mass"] - 0.08) < 4.0 * found.sigma["payload.mass"]
    assert runs < 50


def test_a_search_that_is_ended_says_so(tmp_path: Path) -> None:
    arm = arm_with('kind = "tanh"\ncoulomb = 0.03\ncreep_rate = 1e-3\n', tmp_path)
    data, keys = record_of(arm, 0.12), ["joint.1.hub_inertia", "payload.mass"]
    start = {keys[0]: 4.5e-3, keys[1]: 0.05}
    with pytest.warns(fx.DataWarning, match="not converged: the limit of time was reached"):
        found = identify.parameters(arm, data, keys, start=start, delay=1, mesh=False, time_limit=1e-3)
    assert "the limit of time" in found.not_converged
    assert repr(found).endswith("NOT CONVERGED)")
    whole = identify.parameters(arm, data, keys, start=start, delay=1, mesh=False, time_limit=600.0)
    assert whole.not_converged == ""
    with pytest.raises(fx.DefinitionError, match=r"time_limit = -1\.0 s must be positive"):
        identify.parameters(arm, data, keys, time_limit=-1.0)


def test_rounds_that_are_too_few_are_told(tmp_path: Path) -> None:
    arm = arm_with('kind = "tanh"\ncoulomb = 0.03\ncreep_rate = 1e-3\n', tmp_path)
    keys = ["joint.1.hub_inertia", "payload.mass"]
    found, _ = problem(arm, record_of(arm, 0.12), keys, {keys[0]: 4.5e-3, keys[1]: 0.05})
    search.fitted(found, np.zeros(2), Setting(1), 0, 2, lambda what, part: None, "", 1e-6)
    assert found.unfinished.startswith("2 rounds were not enough")
    search.fitted(found, np.zeros(2), Setting(1), 0, 40, lambda what, part: None, "", 1e-6)
    assert found.unfinished == ""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::flexctl.errors.Caution")
def test_two_links_on_the_full_model(tmp_path: Path) -> None:
    """An arm whose full model departs from the linear one by fifty times the noise."""
    keys = {"payload.mass": 0.4, "joint.1.friction": 0.6, "joint.2.friction": 0.3, "damping.beta": 2e-4}
    values = {**keys, "damping.kind": "rayleigh", "model.elements": 4}
    arm = fx.load_plant("planar_2r_flexible", overrides=values)
    drive = identify.multisine("joint1_torque [N m]", (1.0, 60.0), limit=3.0, period=1.024, periods=2)
    read = ["joint1_angle", "joint2_angle", "root_strain"]
    data = identify.measure(arm, drive, read, delay=2, encoder_bits=20, noise={"root_strain": 1e-6})
    start = {"payload.mass": 0.25, "joint.1.friction": 1.0, "joint.2.friction": 0.15, "damping.beta": 1e-4}
    found = identify.parameters(arm, data, list(keys), start=start)
    assert found.delay == 2
    assert found.substeps > 0
    assert (found.unexplained, found.not_converged) == (0.0, "")
    for key, value in keys.items():
        assert found.values[key] == pytest.approx(value, rel=1e-3)
        assert abs(found.values[key] - value) < 4.0 * found.sigma[key]


def test_synthetic_records_are_finer_than_the_runs_of_a_search() -> None:
    """Else a search whose steps are shorter finds what the record's own steps left out, which no deviation covers."""
    assert FINE >= 2 * MOST


@pytest.mark.filterwarnings("ignore::flexctl.errors.Caution")
def test_a_stribeck_curve_that_a_record_does_not_tell_is_said_not_to_be(tmp_path: Path) -> None:
    """A coarse encoder and fast motions: the deviation is wide, and covers the error."""
    arm = arm_with(BRISTLES.replace("0.042", "0.0305") + "bristle_damping = 0.05\n", tmp_path)
    drive = identify.doublets("joint1_torque [N m]", 0.3, width=0.1, every=0.5, count=2)
    data = identify.measure(arm, drive, ["joint1_angle"], encoder_bits=10)
    keys = {"friction.dry.coulomb": 0.03, "friction.dry.static": 0.0305, "friction.dry.stribeck_rate": 0.05}
    start = {**keys, "friction.dry.coulomb": 0.027}
    found = identify.parameters(arm, data, list(keys), start=start, delay=0, mesh=False)
    told = [text for text in found.cautions if "hardly determined" in text]
    assert any("slow motion through zero tells it" in text for text in told)
    for key, value in keys.items():
        assert abs(found.values[key] - value) < 4.0 * found.sigma[key]
