"""Parameters of plant files from measurements: right within honest deviations, from frequency responses and records."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from one_link import FREE, OUTPUTS, PLANT, TRUE, measured
from reference_rows import Row, assert_rows

import flexctl as fx
from flexctl import identify
from flexctl.identify.sampled import delayed, sampled

SENSORS = [head.split(" ")[0] for head in OUTPUTS]
KEYS = [key for key in TRUE if key != "friction.dry.coulomb"]
OFF = {
    "material.steel.youngs_modulus": 2.6e11,
    "joint.1.hub_inertia": 4.5e-3,
    "payload.mass": 0.05,
    "joint.1.friction": 1e-2,
    "damping.ratio": 0.01,
    "friction.dry.coulomb": 0.015,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("arm")
    (found / "dry.toml").write_text(PLANT)
    (found / "free.toml").write_text(FREE)
    return found


def response(arm: fx.Plant, seed: int, count: int = 600) -> identify.MeasuredResponse:
    plant = arm.linearise()
    w = 2 * np.pi * np.linspace(1, 80, count)
    H = plant.transfer(1j * w)[[fx.names(plant.outputs).index(name) for name in SENSORS]]
    rng = np.random.default_rng(seed)
    sigma = 0.01 * np.abs(H)
    H = H + sigma * (rng.standard_normal(H.shape) + 1j * rng.standard_normal(H.shape)) / np.sqrt(2)
    return identify.measured_response(w, H, ["joint1_torque [N m]"], list(OUTPUTS), sigma=sigma)


@pytest.mark.parametrize("seeds", [1, pytest.param(8, marks=pytest.mark.slow)])
def test_parameters_from_a_response_and_honest_deviations(folder: Path, seeds: int) -> None:
    arm = fx.load_plant(folder / "free.toml")
    off = []
    for seed in range(seeds):
        found = identify.parameters(
            arm, response(arm, seed), KEYS, start={key: OFF[key] for key in KEYS}, delay=0, mesh=False
        )
        off.append([(found.values[key] - TRUE[key]) / found.sigma[key] for key in KEYS])
        errors = {key: abs(found.values[key] / TRUE[key] - 1) for key in KEYS}
        assert errors["material.steel.youngs_modulus"] < 1e-4
        assert errors["joint.1.hub_inertia"] < 5e-4
        assert errors["payload.mass"] < 1e-3
        assert errors["joint.1.friction"] < 1e-2
        assert found.chi2 == pytest.approx(1.0, abs=0.06)
        assert max(found.whiteness.values()) < 0.1
    assert np.abs(off).max() < (3.0 if seeds == 1 else 3.6)
    if seeds > 1:
        assert 0.6 < np.sqrt(np.mean(np.square(off))) < 1.4


def drives() -> list[identify.Excitation]:
    return [
        identify.multisine("joint1_torque [N m]", (0.5, 60.0), limit=limit, period=4.096, periods=3, seed=seed)
        for seed, limit in ((1, 0.12), (2, 0.25))
    ]


@pytest.mark.slow
def test_the_held_out_arm(folder: Path) -> None:
    """Another model of the arm, friction by another code: limits of the specification, on a mesh that is too coarse."""
    records = []
    for k, drive in enumerate(drives()):
        y = measured(drive.u, 3, k)
        records.append(identify.record(1e-3, {"joint1_torque [N m]": drive.u}, dict(zip(OUTPUTS, y.T, strict=True))))
    pulses = identify.doublets("joint1_torque [N m]", 0.15, count=3)
    y = measured(pulses.u, 3, 9)
    other = identify.record(1e-3, {"joint1_torque [N m]": pulses.u}, dict(zip(OUTPUTS, y.T, strict=True)))
    with pytest.warns(fx.DataWarning, match="too coarse"):
        found = identify.parameters(folder / "dry.toml", records, list(TRUE), start=OFF)
    assert all(abs(found.values[key] - TRUE[key]) < 3.0 * found.sigma[key] for key in TRUE)
    fit = found.validate(other)

    def rows() -> Iterator[Row]:
        yield Row("held-out arm: delay [samples]", 3.0, float(found.delay), 0.0)
        for key, most in zip(TRUE, (5e-3, 5e-3, 5e-3, 1e-2, 2e-2, 5e-3), strict=True):
            yield Row(f"held-out arm: {key}, error", most, abs(found.values[key] / TRUE[key] - 1.0), 0.0, most=True)
        for name, most in (("joint1_angle", 0.5), ("strain", 1.0)):
            yield Row(f"held-out arm: {name}, not explained [%]", most, 100.0 - fit[name], 0.0, most=True)

    assert_rows(rows)


@pytest.mark.slow
@pytest.mark.parametrize("late", [1, 0])
def test_sensors_read_after_a_jump_where_the_data_tell(folder: Path, late: int) -> None:
    """Noise hides the jumps of the record below; here they stand far above it."""
    arm = fx.load_plant(folder / "dry.toml")
    drive = identify.doublets("joint1_torque [N m]", 0.1, count=3, every=1.0, growth=1.4)
    noise = {"strain": 2e-7, "tip_acceleration": 1e-5}
    data = identify.measure(arm, drive, SENSORS, delay=2, encoder_bits=20, noise=noise)
    if not late:
        feed = sampled(arm, ["joint1_torque"], SENSORS, np.pi / data.dt).plant.D[:3, :1]
        data = replace(data, y=data.y + (delayed(data.u, 2) - delayed(data.u, 3)) @ feed.T)
    keys = ["joint.1.hub_inertia", "payload.mass"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fx.DataWarning)
        found = identify.parameters(arm, data, keys, start={key: OFF[key] for key in keys}, mesh=False)
    assert (found.delay, found.late) == (2, late)


def test_a_record_with_dry_friction(folder: Path, tmp_path: Path) -> None:
    """Three parameters of the plant's own synthetic record; the file comes back with them and their deviations."""
    arm = fx.load_plant(folder / "dry.toml")
    drive = identify.doublets("joint1_torque [N m]", 0.1, count=3, every=1.0, growth=1.4)
    data = identify.measure(
        arm, drive, SENSORS, delay=2, encoder_bits=20, noise={"strain": 2e-7, "tip_acceleration": 2e-2}
    )
    keys = ["joint.1.hub_inertia", "payload.mass", "friction.dry.coulomb"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fx.DataWarning)
        found = identify.parameters(arm, data, keys, start={key: OFF[key] for key in keys}, mesh=False)
    assert found.delay == 2
    assert found.late == 1
    for key in keys:
        assert found.values[key] == pytest.approx(TRUE[key], rel=2e-3)
        assert abs(found.values[key] - TRUE[key]) < 4.0 * found.sigma[key]
    assert found.validate(data)["joint1_angle"] > 99.9
    again = fx.load_plant(found.save(tmp_path / "found.toml"))
    assert again.arm.payload.mass == found.values["payload.mass"]
    assert again.provenance["payload.mass"].startswith("identified: measured data, 20")
    assert again.uncertainty is not None
    assert again.uncertainty.parameters == tuple(keys)
    assert again.arm.links == arm.arm.links
    drawn = again.uncertainty.draw(again, 4000, seed=1)
    spread = np.std([case["payload.mass"] for case in drawn])
    assert spread == pytest.approx(found.sigma["payload.mass"], rel=0.05)
    logs = np.log([[case[key] for key in keys] for case in drawn])
    assert np.allclose(np.corrcoef(logs.T), found.correlation, atol=0.06)


def test_friction_runs_agree_with_another_code(folder: Path) -> None:
    """The compiled run on a fine mesh beside Hermite elements with friction solved for in Python."""
    arm = fx.load_plant(folder / "dry.toml", model={"sections": 120})
    u = np.concatenate([np.zeros(50), np.full(250, 0.12), np.full(250, -0.12), np.zeros(350)])
    y = sampled(arm, ["joint1_torque"], SENSORS, np.pi / 1e-3).outputs(u[:, None], 1e-3, True, 1, 1)
    other = measured(u, 1, 0)
    for k, tolerance in ((0, 2e-3), (1, 5e-3), (2, 2e-2)):
        assert np.abs(y[:, k] - other[:, k]).max() < tolerance * np.ptp(other[:, k])


def test_what_cannot_be_told_apart_is_told(folder: Path) -> None:
    arm = fx.load_plant(folder / "free.toml")
    data = response(arm, 0, 150)
    with pytest.warns(fx.DataWarning) as told:
        identify.parameters(
            arm, data, ["material.steel.youngs_modulus", "section.strip.second_moment"], delay=0, mesh=False
        )
    said = " ".join(str(w.message) for w in told)
    assert "not identifiable together" in said
    assert "correlated by" in said
    with pytest.warns(fx.DataWarning, match="hardly determined"):
        identify.parameters(arm, data.band(300.0, 500.0).choose(["strain"]), ["joint.1.friction"], delay=0, mesh=False)


def test_outputs_that_the_plant_lacks_are_told_and_wrong_words_refused(folder: Path) -> None:
    arm = fx.load_plant(folder / "free.toml")
    w = np.linspace(10.0, 200.0, 60)
    H = arm.linearise().transfer(1j * w)[:1]
    data = identify.measured_response(
        w, np.vstack([H, H]), ["joint1_torque [N m]"], ["joint1_angle [rad]", "elbow [rad]"], relative=0.01
    )
    with pytest.warns(fx.DataWarning, match="elbow: no outputs of free, left out"):
        identify.parameters(arm, data, ["payload.mass"], mesh=False)
    for free, start, words in (
        (["payload.mas"], None, 'unknown free parameter "payload.mas" .did you mean "payload.mass"'),
        (["payload.inertia"], None, "starts above zero"),
        ([], None, "no parameter is free"),
        (["payload.mass", "payload.mass"], None, "named twice"),
        (["model.kind"], None, "not a physical number"),
    ):
        with pytest.raises(fx.DefinitionError, match=words):
            identify.parameters(arm, data.choose(["joint1_angle"]), free, start=start)
    dry = fx.load_plant(folder / "dry.toml")
    with pytest.raises(fx.DefinitionError, match="dry friction is identified in the time domain"):
        identify.parameters(dry, data.choose(["joint1_angle"]), ["friction.dry.coulomb"])
    wrong = identify.measured_response(w, H, ["torque [N m]"], ["joint1_angle [rad]"], relative=0.01)
    with pytest.raises(fx.DefinitionError, match=r'unknown input of free .rename the record.s. "torque"'):
        identify.parameters(arm, wrong, ["payload.mass"])


def test_a_mode_that_nothing_excites_is_told(folder: Path) -> None:
    arm = fx.load_plant(folder / "free.toml")
    with pytest.warns(fx.DataWarning, match=r"nothing excites the mode at 11\.5"):
        identify.parameters(arm, response(arm, 0, 400).band(1.0, 50.0), ["joint.1.hub_inertia"], delay=0, mesh=False)


@pytest.mark.parametrize(("factor", "words"), [(1e3, "sampled every 1 s"), (1e-3, "lasts 0.001 s, less than one per")])
def test_a_time_in_another_unit_is_asked_about(folder: Path, factor: float, words: str) -> None:
    rng = np.random.default_rng(0)
    heads = {"joint1_torque [N m]": rng.standard_normal(1000)}, {"joint1_angle [rad]": rng.standard_normal(1000)}
    data = identify.record(1e-3 * factor, *heads)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fx.DataWarning)
        found = identify.parameters(folder / "free.toml", data, ["joint.1.hub_inertia"], delay=0, mesh=False)
    assert any(words in text and "unit of its time" in text for text in found.cautions)
