"""Tables on a terminal: no number is cut, wide ones are turned, units are said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from flexctl.__main__ import cli

ARM = "tokhi_azad_1994"
LAW = '''"""A PD with a rate measurement."""
import flexctl as fx

PLANT = "tokhi_azad_1994"
DAMPED = {"damping.kind": "modal", "damping.ratio": 0.01}

def design(plant):
    gains = {"Dy": [[-0.4, -0.05]], "Dr": [[0.4, 0.05, 0.05]]}
    names = ("joint1_angle", "joint1_rate"), ("joint1_torque",), ("joint1_angle",)
    return fx.LinearLaw(1e-3, *names, **gains).limited(-0.3, 0.3)

def scenarios(plant):
    move = fx.quintic(0.0, 0.1, 0.2)
    return [fx.Scenario(f"{grams} g", move, 0.4, {**DAMPED, "payload.mass": grams / 1000}) for grams in (0, 20)]
'''


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my_controller.py").write_text(LAW)


def call(*words: str) -> Result:
    return CliRunner().invoke(cli, list(words))


def answer(*words: str) -> Any:
    return json.loads(call(*words, "--json").stdout)


def test_no_number_is_cut_on_a_narrow_terminal(place: None, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = answer("run", "my_controller.py")["scores"]
    monkeypatch.setenv("COLUMNS", "24")
    printed = call("run", "my_controller.py").stdout.split()
    for run in scores.values():
        assert f"{run['joint1_torque.peak']:.4g}" in printed
        assert f"{run['joint1_torque.rms']:.4g}" in printed


def test_a_table_too_wide_for_the_terminal_is_turned(place: None, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = answer("run", "my_controller.py")["scores"]
    monkeypatch.setenv("COLUMNS", "60")
    text = call("run", "my_controller.py").stdout
    row = next(line for line in text.splitlines() if line.startswith("joint1 torque peak [N m]"))
    assert row.split()[5:] == [f"{run['joint1_torque.peak']:.4g}" for run in scores.values()]
    assert max(len(line) for line in text.partition("Closed loop")[2].splitlines()) <= 60


def test_units_stand_beside_their_signals() -> None:
    text = call("simulate", ARM, "--torque", "bang-bang:0.1,0.3").stdout
    rows = {line.split("  ")[0]: line.split() for line in text.splitlines() if line}
    assert rows["joint1 torque"][2:4] == ["N", "m"]
    assert rows["tip displacement"][2] == "m"
    assert "magnitude [dB]" in call("bode", ARM, "--output", "tip_displacement").stdout
