"""The command line on linear plants and measured responses."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import flexctl as fx
from flexctl.__main__ import cli

LAW = '''
"""A PD law."""
import flexctl as fx
PLANT = "plant.mat"
def design(plant):
    return fx.LinearLaw(1e-3, ("joint1_angle", "joint1_rate"), ("joint1_torque",), ("joint1_angle",), Dy=[[-2.0, -0.2]],
                        Dr=[[2.0, 0.2, 0.0]])
'''


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("cli")
    arm = fx.load_plant("tokhi_azad_1994", model={"sections": 4}, damping={"kind": "modal", "ratio": 0.02})
    arm.linearise().save(place / "plant.mat")
    (place / "law.py").write_text(LAW)
    (place / "wild.py").write_text(LAW.replace("-2.0, -0.2", "2.0, 0.2"))
    omega = np.geomspace(1.0, 2e4, 3000)
    H = arm.linearise().frequency_response(omega).response[:2]
    np.savez(place / "frf.npz", omega=omega, response=H, sigma=0.01 * np.abs(H), inputs=["joint1_torque"],
             outputs=["joint1_angle", "joint1_rate"])
    return place


def said(folder, *words, code=0):
    found = CliRunner().invoke(cli, [str(folder / w) if w in ("plant.mat", "law.py", "wild.py", "frf.npz") else w
                                     for w in words])
    assert found.exit_code == code, found.output
    return found


def test_plants(folder, tmp_path) -> None:
    modes = json.loads(said(folder, "modes", "plant.mat", "--set", "mode.1.frequency_hz=10Hz", "--json").stdout)
    assert modes["frequencies_hz"][0] == pytest.approx(10.0)
    run = json.loads(said(folder, "simulate", "plant.mat", "--torque", "bang-bang:0.1,0.1", "--json").stdout)
    assert run["method"] == "exact"
    assert set(run["error"].values()) == {0.0}
    said(folder, "linearise", "plant.mat", "--modes", "1", "-o", str(tmp_path / "one.npz"))
    moved = said(folder, "simulate", str(tmp_path / "one.npz"), "--controller", "law.py", "--reference",
                 "quintic:5deg,0.3", "--json")
    assert json.loads(moved.stdout)["method"] == "exact"
    assert "mode.1.damping" in said(folder, "show", "plant.mat", "--all").stdout
    norms = json.loads(said(folder, "norms", "plant.mat", "--json").stdout)
    assert norms["h2"] == {"value": None, "error": None, "frequency_rad_s": None,
                           "why": "rigid modes or integrators: 1"}


def test_margins(folder) -> None:
    exact = json.loads(said(folder, "margins", "law.py", "--json").stdout)
    data = json.loads(said(folder, "margins", "law.py", "frf.npz", "--unstable", "0", "--json").stdout)
    assert exact["stable"]
    assert data["stable"]
    one, two = (found["margins"]["joint1_torque"] for found in (exact, data))
    for key in ("phase_margin_deg", "disk_margin"):
        assert two[key] == pytest.approx(one[key], rel=0.02)
        assert 0.0 < two["sigma"][key] < 0.05 * two[key]
    assert said(folder, "margins", "law.py", "frf.npz", "--unstable", "0").stdout.count("1 sigma") == 1
    assert "UNSTABLE" in said(folder, "margins", "wild.py", code=1).stdout
    assert "UNSTABLE" in said(folder, "margins", "wild.py", "frf.npz", "--unstable", "0", code=1).stdout


@pytest.mark.parametrize(("words", "message"), [
    (("modes", "plant.mat", "--pose", "joint1=3deg"), "is a linear plant: --pose, --load, --spin and"),
    (("modes", "plant.mat", "--model", "finite_segment"), "there is no other model"),
    (("modes", "plant.mat", "--set", "payload.mass=20g"), "a linear plant"),
    (("certify", "law.py", "plant.mat", "--payload", "0,20g"), "a linear plant, which has no payload"),
    (("certify", "law.py", "plant.mat", "--pose", "10deg"), "a linear plant, which has no poses"),
    (("simulate", "plant.mat", "--torque", "bang-bang:0.1,0.1", "--payload-change", "0.05:20g"), "no payload"),
    (("validity", "plant.mat", "--torque", "bang-bang:0.1,0.1"), "its own prediction"),
    (("margins", "law.py", "frf.npz"), "give unstable_poles"),
    (("margins", "law.py", "plant.mat", "--unstable", "0"), "poles of .* are known"),
    (("bode", "frf.npz", "--hold", "joint1"), "is measured"),
])
def test_refusals(folder, words, message) -> None:
    found = CliRunner().invoke(cli, [str(folder / w) if w in ("plant.mat", "law.py", "frf.npz") else w for w in words])
    assert isinstance(found.exception, fx.FlexctlError | SystemExit)
    text = str(found.exception) + found.output

    assert re.search(message, text.replace("\n", " ")), text


def test_measured_responses_are_drawn(folder, tmp_path) -> None:
    table = said(folder, "bode", "frf.npz", "--output", "joint1_angle", "--to", "100").stdout
    assert "measured" in table
    said(folder, "bode", "frf.npz", "-o", str(tmp_path / "frf.png"))
    assert (tmp_path / "frf.png").stat().st_size > 10_000
    said(folder, "bode", "frf.npz", "--from", "1", "--to", "10", "-o", str(tmp_path / "frf.csv"))
    assert np.loadtxt(tmp_path / "frf.csv", delimiter=",", skiprows=1)[:, 0].max() <= 10.0


def test_standard_deviations_are_not_dropped(folder, tmp_path) -> None:
    """A line is off by sigma / sqrt(2) along its gain: 1 % is 0.06 dB, of which two are shaded either side."""
    numbers = json.loads(said(folder, "bode", "frf.npz", "--json").stdout)
    gain = np.abs(np.array(numbers["response"]["real"]) + 1j * np.array(numbers["response"]["imag"]))
    np.testing.assert_allclose(numbers["sigma"], 0.01 * gain, rtol=1e-12)
    said(folder, "bode", "frf.npz", "-o", str(tmp_path / "frf.csv"))
    heads = (tmp_path / "frf.csv").read_text().splitlines()[0].split(",")
    table = np.loadtxt(tmp_path / "frf.csv", delimiter=",", skiprows=1)
    (at,) = (k for k, head in enumerate(heads) if head.startswith("joint1_rate from joint1_torque standard deviation"))
    np.testing.assert_allclose(table[:, at], np.array(numbers["sigma"])[1, 0], rtol=1e-6)
    with np.load(folder / "frf.npz") as lines:
        signals = (fx.Signal("u", "N m"),), (fx.Signal("y", "rad"),)
        data = fx.FrequencyResponse(lines["omega"], lines["response"][:1], *signals, sigma=lines["sigma"][:1])
    top, bottom = fx.plot.bode(data).axes
    (shade,), (turn,) = top.collections, bottom.collections
    middle = data.magnitude_db()[0, 0]
    box = shade.get_paths()[0].vertices[:, 1]
    assert box.max() == pytest.approx(middle.max() + 20.0 * np.log10(1.0 + np.sqrt(2.0) * 0.01), abs=1e-9)
    assert np.ptp(turn.get_paths()[0].vertices[:, 1]) == pytest.approx(
        np.ptp(data.phase_deg()[0, 0]) + 2.0 * np.degrees(np.sqrt(2.0) * 0.01), abs=1e-6)
    assert "sigma" not in replace(data, sigma=None).to_dict()
    assert not fx.plot.bode(replace(data, sigma=None)).axes[0].collections
