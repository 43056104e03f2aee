"""`flexctl new` writes files that work; `flexctl doctor` says what there is."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import flexctl as fx
from flexctl.__main__ import cli
from flexctl.catalogue import find
from flexctl.cli import doctor as doctor_module
from flexctl.models import build


def call(*words: str) -> Result:
    return CliRunner().invoke(cli, list(words))


def test_an_arm_that_is_complete(tmp_path: Path) -> None:
    assert call("new", "arm", "my_arm", "-o", str(tmp_path)).exit_code == 0
    plant = fx.load_plant(tmp_path / "my_arm.toml")
    assert plant.linearise().modes().rigid_modes == 1
    shown = json.loads(call("show", str(tmp_path / "my_arm.toml"), "--json").stdout)
    assert "my_arm" in shown["title"]


def test_every_step_of_a_beginner_works_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Turned by its joint alone the arm does not stretch: channels that are nothing but rounding stop no Bode plot."""
    monkeypatch.chdir(tmp_path)
    call("new", "arm", "my_arm")
    for words in (["modes"], ["bode", "-o", "bode.png"], ["linearise", "-o", "plant.mat"]):
        done = call(words[0], "my_arm.toml", *words[1:])
        assert done.exit_code == 0, done.output
    plant = fx.load_plant("my_arm.toml")
    assert plant.arm.sensors[0].position == 0.03
    assert "of the length" in Path("my_arm.toml").read_text().partition("position = 0.03")[2].splitlines()[0]


def test_a_controller_that_holds_its_requirements(tmp_path: Path) -> None:
    """Of a new arm: the loop is stable with the margins that the script asks for, and moves both payloads."""
    call("new", "arm", "my_arm", "-o", str(tmp_path))
    made = call("new", "controller", "my_law", "--plant", str(tmp_path / "my_arm.toml"), "-o", str(tmp_path))
    assert made.exit_code == 0, made.stderr
    script = fx.load_controller(tmp_path / "my_law.py")
    assert script.PLANT == "my_arm.toml"  # beside it
    arm = fx.load_plant(tmp_path / script.PLANT)
    for margins in script.design(arm).margins.values():
        assert margins.disk_margin > script.REQUIREMENTS["disk_margin"]
        assert margins.phase_margin_deg > script.REQUIREMENTS["phase_margin_deg"]
    scenarios = script.scenarios(arm)
    assert [item.overrides["payload.mass"] for item in scenarios] == [0.05, 0.075]
    assert all(item.duration == pytest.approx(3.0 * script.DURATION) for item in scenarios)


def test_a_controller_for_several_joints(tmp_path: Path) -> None:
    overrides = 'kind = "modal"\nratio = 0.01\n'
    text = find("plants").joinpath("planar_2r_flexible.toml").read_text(encoding="utf-8")
    (tmp_path / "arm.toml").write_text(text + f"\n[damping]\n{overrides}", encoding="utf-8")
    made = call("new", "controller", "two", "--plant", str(tmp_path / "arm.toml"), "-o", str(tmp_path))
    assert made.exit_code == 0, made.stderr
    assert fx.load_controller(tmp_path / "two.py").design(fx.load_plant(tmp_path / "arm.toml")).stable


@pytest.mark.parametrize("weight", [0.0, -9.81])
def test_a_controller_for_geared_motors(tmp_path: Path, weight: float) -> None:
    """It was refused; standing upright no function designed a law, for gears that lose under their load stuck."""
    text = find("plants").joinpath("planar_2r_flexible.toml").read_text(encoding="utf-8")
    text = text.replace("[[joint]]", '[[joint]]\ndrive = "voltage"\nmotor = "gear"\nfriction = 0.01')
    text += f"\n[gravity]\ny = {weight}\n" if weight else ""
    text += "\n[damping]\nkind = 'modal'\nratio = 0.01\n[motor.gear]\ngear_ratio = 300\ntorque_constant = 0.02\n"
    text += "resistance = 2.2\nmax_voltage = 48\nrotor_inertia = 3e-6\ngear_efficiency = 0.7\n"
    (tmp_path / "arm.toml").write_text(text, encoding="utf-8")
    result = call("new", "controller", "law", "--plant", str(tmp_path / "arm.toml"), "-o", str(tmp_path))
    assert result.exit_code == 0, result.stderr
    script, plant = fx.load_controller(tmp_path / "law.py"), fx.load_plant(tmp_path / "arm.toml")
    law = script.design(plant)
    assert law.stable
    assert script.LIMIT == 48
    (wanted, *_) = script.scenarios(plant)
    assert {"joint1_feedforward", "joint2_feedforward"} <= set(wanted.reference)


def test_a_model_that_flexctl_takes(tmp_path: Path) -> None:
    assert call("new", "model", "my_model", "-o", str(tmp_path)).exit_code == 0
    changes = {"joint.1.rotor_inertia": 1e-3, "joint.1.stiffness": 5.0}
    arm = fx.load_plant("rotating_link", overrides=changes, sensor=[]).arm
    model = build(arm, f"{tmp_path / 'my_model.py'}:MyModel")
    assert fx.linearise(model).modes().rigid_modes == 1


def test_a_model_has_an_arm_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command in the file named an arm of `flexctl new arm`, which the model refuses."""
    monkeypatch.chdir(tmp_path)
    assert call("new", "model", "my_model").exit_code == 0
    (command,) = [x.strip() for x in Path("my_model.py").read_text().splitlines() if x.strip().startswith("flexctl ")]
    done = call(*command.split()[1:], "--json")
    assert done.exit_code == 0, done.output
    inertia = 2e-3 + 0.5 * 0.5**3 / 3.0 + 0.1 * 0.5**2
    expected = np.sqrt(20.0 * (1.0 / 1e-2 + 1.0 / inertia)) / (2.0 * np.pi)
    assert json.loads(done.stdout)["frequencies_hz"][0] == pytest.approx(expected, rel=1e-2)
    assert call("new", "model", "my_model").exit_code == 2


@pytest.mark.parametrize(("words", "said"), [
    (("arm", "my arm"), "letters"), (("controller", "law"), "--plant"), (("model", "m", "--plant", "ralf"), "--plant"),
    (("controller", "law", "--plant", "ralf"), "joint1_command"), (("arm", "x", "-o", "nowhere/at/all"), "nowhere"),
])
def test_what_is_refused(words: tuple[str, ...], said: str) -> None:
    result = call("new", *words)
    assert result.exit_code == 2
    assert said in result.stderr


def test_a_file_is_not_replaced_unless_asked(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("mine")
    assert call("new", "arm", "a", "-o", str(tmp_path)).exit_code == 2
    assert (tmp_path / "a.toml").read_text() == "mine"
    assert call("new", "arm", "a", "-o", str(tmp_path), "--force").exit_code == 0


def test_doctor_says_what_there_is_and_what_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    found = json.loads(call("doctor", "--json").stdout)
    assert found["version"] == fx.__version__
    assert set(doctor_module.NEEDED) == set(found["packages"])
    assert found["compiled_code"]["usable"]
    monkeypatch.setattr(doctor_module, "NEEDED", ("numpy", "no_such_package"))
    result = call("doctor")
    assert result.exit_code == 1
    assert "no_such_package" in result.stderr


class TestCompletion:
    """What the shell is offered; the scripts for it are those of click."""

    @staticmethod
    def offered(*words: str) -> list[str]:
        line = shlex.join(["flexctl", *words])
        asked = {"_FLEXCTL_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words))}
        done = CliRunner().invoke(cli, env=asked, prog_name="flexctl")
        return [text.partition(",")[2] for text in done.stdout.split()]

    def test_names_of_plants_and_controllers_are_offered(self) -> None:
        assert "tokhi_azad_1994" in self.offered("modes", "tok")
        assert self.offered("run", "quanser_link_p") == ["quanser_link_pd"]

    def test_a_real_bash_completes_names_and_files(self, tmp_path: Path) -> None:
        """The script of click empties its list at the word "file": no name of the catalogue was ever completed."""
        (tmp_path / "tokyo.toml").write_text("")
        (tmp_path / "mine.toml").write_text("")
        script = """
            compopt() { echo "files by the shell"; }
            eval "$(_FLEXCTL_COMPLETE=bash_source flexctl)"
            for word in tok mine; do
                COMP_WORDS=(flexctl modes $word) COMP_CWORD=2 COMPREPLY=()
                _flexctl_completion flexctl
                printf '%s\\n' "${COMPREPLY[@]}"
            done"""
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-c", script], cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True,
            timeout=60, check=True,
        )
        assert done.stdout.split("\n")[:3] == ["tokhi_azad_1994", "tokyo.toml", "files by the shell"], done.stderr

    def test_further_arguments_are_completed_too(self) -> None:
        assert "tokhi_azad_lqg" in self.offered("compare", "tokhi_azad_pd", "tok")
        assert "planar_2r_flexible" in self.offered("run", "tokhi_azad_pd", "planar")
        assert "tokhi_azad_1994" in self.offered("new", "controller", "mine", "--plant", "tok")

    def test_commands_and_options_are_offered(self) -> None:
        assert "certify" in self.offered("cert")
        assert "--report" in self.offered("run", "tokhi_azad_pd", "--rep")
