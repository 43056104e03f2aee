"""Experiments, synthetic records, the command line and what draws from uncertainty."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from one_link import FREE

import flexctl as fx
from flexctl import identify
from flexctl.__main__ import cli
from flexctl.catalogue.uncertainty import Uncertainty


@pytest.mark.parametrize(
    ("band", "period", "dt"), [((0.5, 60.0), 4.096, 1e-3), ((1.0, 20.0), 2.0, 1e-2), ((5.0, 200.0), 1.0, 5e-4)]
)
def test_a_multisine_holds_its_band_its_limit_and_its_crest_factor(
    band: tuple[float, float], period: float, dt: float
) -> None:
    found = identify.multisine("joint1_torque [N m]", band, limit=0.1, period=period, dt=dt)
    assert found.crest <= 1.5
    assert np.abs(found.u).max() == pytest.approx(0.1, rel=1e-12)
    n = found.period
    size = np.abs(np.fft.rfft(found.u[:n]))
    f = np.fft.rfftfreq(n, dt)
    inside = (f >= band[0] - 1e-9) & (f <= band[1] + 1e-9)
    assert size[~inside].max() < 1e-9 * size.max()
    assert size[inside].min() == pytest.approx(size[inside].max(), rel=1e-6)  # flat
    assert np.array_equal(found.u[:n], found.u[n : 2 * n])


def test_the_shape_of_a_multisine_and_what_is_refused() -> None:
    found = identify.multisine("u [N]", (1.0, 40.0), limit=1.0, period=2.0, shape=[(5.0, 1.0), (20.0, 0.25)])
    size = np.abs(np.fft.rfft(found.u[: found.period]))
    f = np.fft.rfftfreq(found.period, 1e-3)
    assert size[f == 20.0] / size[f == 5.0] == pytest.approx(0.25, rel=1e-6)
    for change, words in (
        ({"band": (1.0, 600.0)}, "end below 500 Hz"),
        ({"period": 0.00055}, "not a whole number of samples"),
        ({"limit": -1.0}, "limit = -1.0 N must be positive"),
        ({"band": (1.0, 1.2)}, "has 1 lines"),
    ):
        with pytest.raises(fx.DefinitionError, match=words):
            identify.multisine("u [N]", **{"band": (1.0, 40.0), "limit": 1.0, "period": 2.0, **change})  # type: ignore[arg-type]
    with pytest.raises(fx.ConvergenceError, match=r"crest factor is 1\.\d+, above 1.01"):
        identify.multisine("u [N]", (1.0, 40.0), limit=1.0, period=2.0, crest=1.01)


def test_a_synthetic_record_is_the_run_of_the_model() -> None:
    arm = fx.load_plant("tokhi_azad_1994", damping={"kind": "modal", "ratio": 0.01})
    drive = identify.doublets("joint1_torque [N m]", 0.1, count=1, every=1.0)
    plain = identify.measure(arm, drive, ["joint1_angle", "tip_displacement"], delay=3)
    late = fx.PiecewiseConstant((0.003, 0.303, 0.603), (0.0, 0.1, -0.1, 0.0))
    run = fx.simulate(arm, inputs={"joint1_torque": late}, duration=0.999, step=1e-3)
    for name in ("joint1_angle", "tip_displacement"):
        assert np.abs(plain[name] - run[name]).max() < 1e-6 * np.ptp(run[name])
    options = {"delay": 3, "encoder_bits": 12, "noise": {"tip_displacement": 1e-3}, "seed": 5}
    noisy = identify.measure(arm, drive, ["joint1_angle", "tip_displacement"], **options)
    step = 2 * np.pi / 4096
    assert np.allclose(noisy["joint1_angle"] / step, np.round(noisy["joint1_angle"] / step))
    assert np.abs(noisy["joint1_angle"] - plain["joint1_angle"]).max() <= step / 2 * (1 + 1e-9)
    assert np.std(noisy["tip_displacement"] - plain["tip_displacement"]) == pytest.approx(1e-3, rel=0.1)
    again = identify.measure(arm, drive, ["joint1_angle", "tip_displacement"], **options)
    assert np.array_equal(again.y, noisy.y)
    full = identify.measure(arm, drive, ["joint1_angle"], engine="full")
    plain = identify.measure(arm, drive, ["joint1_angle"])
    assert np.abs(full["joint1_angle"][3:] - plain["joint1_angle"][3:]).max() < 1e-5


def test_uncertainty_of_a_plant_file(tmp_path: Path) -> None:
    path = tmp_path / "arm.toml"
    table = '[uncertainty]\nparameters = ["payload.mass", "joint.1.hub_inertia"]\nsigma = [2e-3, 1e-4]\n'
    path.write_text(FREE + table + "correlation = [[1.0, -0.6], [-0.6, 1.0]]\n")
    arm = fx.load_plant(path)
    assert arm.uncertainty is not None
    drawn = arm.uncertainty.draw(arm, 4000, seed=2)
    masses, hubs = (np.array([case[key] for case in drawn]) for key in arm.uncertainty.parameters)
    assert masses.std() == pytest.approx(2e-3, rel=0.05)
    assert np.corrcoef(masses, hubs)[0, 1] == pytest.approx(-0.6, abs=0.05)
    light = arm.with_(payload={"mass": 0.0})
    assert set(light.uncertainty.draw(light, 1)[0]) == {"joint.1.hub_inertia"}
    for text, words in (
        (table.replace("payload.mass", "payload.mas"), 'unknown parameter "payload.mas"'),
        (table.replace("2e-3, ", ""), "sigma has 1 numbers for 2"),
        (table.replace("2e-3", "-2e-3"), "sigma of payload.mass"),
        (table + "correlation = [[1.0, 1.5], [1.5, 1.0]]\n", "not positive"),
        (table + "colour = 1\n", 'unknown key "colour"'),
    ):
        path.write_text(FREE + text)
        with pytest.raises(fx.DefinitionError, match=rf"\[uncertainty\]: .*{words}"):
            fx.load_plant(path)
    with pytest.raises(fx.DefinitionError, match="named twice"):
        Uncertainty(("a", "a"), (1.0, 1.0))


UNCERTAIN = '\n[uncertainty]\nparameters = ["joint.1.hub_inertia"]\nsigma = [2e-5]\nsource = "chosen: a test"\n'


def test_sweeps_draw_plants(tmp_path: Path) -> None:
    path = tmp_path / "arm.toml"
    path.write_text((fx.find("plants") / "tokhi_azad_1994.toml").read_text() + UNCERTAIN)
    table = fx.sweep("tokhi_azad_pd", path, draws=3, scenarios=["5 deg, 0 g"], workers=1)
    assert len(set(table["joint.1.hub_inertia"])) == 3
    assert np.abs(np.array(table["joint.1.hub_inertia"]) - 5.86e-4).max() < 8e-5
    assert table["status"] == ["ok"] * 3
    with pytest.raises(fx.DefinitionError, match="does not state what is uncertain"):
        fx.sweep("tokhi_azad_pd", draws=3, scenarios=["5 deg, 0 g"])


@pytest.mark.slow
def test_certificates_draw_plants(tmp_path: Path) -> None:
    path = tmp_path / "arm.toml"
    path.write_text((fx.find("plants") / "tokhi_azad_1994.toml").read_text() + UNCERTAIN)
    found = fx.certify("tokhi_azad_pd", path, bits=(), draws=5, workers=1)
    assert len(found.drawn) == 5
    assert all(p.loop is not None and p.stable for p in found.drawn)
    assert len({p.values["joint.1.hub_inertia"] for p in found.drawn}) == 5
    assert next(v for v in found.verdicts if v.name == "drawn").passed
    assert "5 plants drawn" in found.holds
    with pytest.raises(fx.DefinitionError, match="does not state what is uncertain"):
        fx.certify("tokhi_azad_pd", draws=5)


@pytest.mark.slow
def test_the_commands_from_excitation_to_plant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("arm.toml").write_text(FREE)
    run = CliRunner()

    def told(*words: str) -> str:
        result = run.invoke(cli, words, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.stdout

    made = json.loads(
        told(
            "excite",
            "arm.toml",
            "--band",
            "0.5..60",
            "--limit",
            "100mNm",
            "--periods",
            "6",
            "-o",
            "drive.csv",
            "-o",
            "drive.png",
            "--json",
        )
    )
    assert made["crest_factor"] <= 1.5
    assert made["largest"] == pytest.approx(0.1)
    told(
        "measure",
        "arm.toml",
        "drive.csv",
        "--output",
        "joint1_angle",
        "--output",
        "strain",
        "--delay",
        "1",
        "--encoder",
        "20",
        "--noise",
        "strain=2e-7",
        "-o",
        "record.csv",
        "-o",
        "record.npz",
        "-o",
        "record.png",
    )
    assert identify.read_record("record.csv").period == 4096
    found = json.loads(
        told("identify", "frf", "record.csv", "--band", "1Hz..60Hz", "-o", "frf.npz", "-o", "frf.png", "--json")
    )
    assert found["method"] == "periods"
    modes = json.loads(
        told("identify", "modal", "frf.npz", "--pairs", "3", "-o", "plant.mat", "-o", "modes.png", "--json")
    )
    truth = fx.load_plant("arm.toml").linearise().modes(3).frequencies_hz
    assert modes["frequencies_hz"] == pytest.approx(truth, rel=5e-3)
    assert modes["delay_s"] == pytest.approx(1e-3)
    assert fx.load_linear("plant.mat").modes().frequencies_hz == pytest.approx(modes["frequencies_hz"])
    answer = json.loads(
        told(
            "identify",
            "arm.toml",
            "record.npz",
            "--free",
            "payload.mass=60g,joint.1.hub_inertia=2e-3",
            "--delay",
            "1",
            "--no-mesh",
            "--validate",
            "record.csv",
            "-o",
            "found.toml",
            "-o",
            "fit.png",
            "--json",
        )
    )
    assert answer["values"]["payload.mass"] == pytest.approx(0.08, rel=2e-3)
    assert answer["validation_percent"]["record.csv"]["joint1_angle"] > 99
    assert fx.load_plant("found.toml").uncertainty is not None
    for name in ("drive.png", "record.png", "frf.png", "modes.png", "modes-fit.png", "fit.png"):
        assert Path(name).stat().st_size > 5000
    shown = told("identify", "subspace", "record.csv", "--order", "6", "--split", "0.6", "-o", "model.npz")
    assert "validation" in shown
    for words in (
        ("identify", "arm.toml", "record.npz", "--free", "payload.mas"),
        ("identify", "modal", "missing.npz"),
        ("excite", "arm.toml", "--limit", "1", "-o", "a.csv"),
        ("measure", "arm.toml", "drive.csv", "-o", "a.txt"),
    ):
        result = run.invoke(cli, words)
        assert result.exit_code == 2, result.output
    assert not Path("a.csv").exists()


def test_excite_measure_and_frf_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("arm.toml").write_text(FREE)
    run = CliRunner()
    for words in (
        ("excite", "arm.toml", "--band", "1..40", "--limit", "0.1", "--period", "1.024", "-o", "drive.csv"),
        ("measure", "arm.toml", "drive.csv", "--output", "joint1_angle", "--encoder", "16", "-o", "record.csv"),
        ("identify", "frf", "record.csv", "-o", "frf.csv"),
    ):
        result = run.invoke(cli, words)
        assert result.exit_code == 0, result.output
    assert identify.read_frf("frf.csv").omega.size == 39  # multiples of 1 / 1.024 s from 1.95 to 39.06 Hz
    for words in (
        ("identify", "frf", "missing.csv"),
        ("excite", "arm.toml", "--limit", "1", "-o", "a.csv"),
        ("measure", "arm.toml", "drive.csv", "-o", "a.txt"),
        ("identify", "arm.toml", "record.csv", "--free", "payload.x"),
    ):
        assert run.invoke(cli, words).exit_code != 0
    assert not Path("a.csv").exists()


def test_an_encoder_that_reads_nothing_is_refused() -> None:
    drive = identify.doublets("joint1_torque [N m]", 0.1, count=1, every=1.0)
    with pytest.raises(fx.DefinitionError, match="encoder_bits = 16 changes nothing: of tip_displacement none"):
        identify.measure("tokhi_azad_1994", drive, ["tip_displacement"], encoder_bits=16)
