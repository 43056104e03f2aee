"""What takes more than a second says so on stderr; results on stdout are the same with and without."""

from __future__ import annotations

import io
import json
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

import flexctl as fx
from flexctl.__main__ import cli
from flexctl.cli import common

VALIDITY = [
    "validity", "planar_2r_flexible", "--torque", "pulse:1,0.1", "--set", "model.elements=2", "--times", "0.1,1"
]


def call(*words: str) -> Result:
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 0, result.stderr
    return result


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["modes", "tokhi_azad_1994"], "modes of tokhi_azad_1994"),
        (["modes", "tokhi_azad_1994", "--json"], "modes of tokhi_azad_1994"),
        (["linearise", "tokhi_azad_1994"], "linear plant of tokhi_azad_1994"),
        (["linearise", "tokhi_azad_1994", "--json"], "poles of tokhi_azad_1994"),
        (["linearise", "tokhi_azad_1994", "-o", "plant.npz"], "writing plant.npz"),
        (["bode", "tokhi_azad_1994", "--points", "20"], "linear plant of tokhi_azad_1994"),
    ],
)
def test_after_a_while_commands_say_what_they_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: list[str], told: str
) -> None:
    """The while is a second; here it is none."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(common, "PATIENCE", 60.0)
    quick = call(*words)
    assert told not in quick.stderr
    monkeypatch.setattr(common, "PATIENCE", 0.0)
    slow = call(*words)
    assert f"  {told}\n" in slow.stderr
    assert slow.stdout == quick.stdout


def test_on_a_terminal_the_time_runs() -> None:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=80)
    patch = pytest.MonkeyPatch()
    with patch.context() as monkeypatch:
        monkeypatch.setattr(common, "stderr", lambda: console)
        monkeypatch.setattr(common, "PATIENCE", 0.05)
        with common.patiently("modes of an arm"):
            time.sleep(0.5)
        shown = stream.getvalue()
        assert "modes of an arm" in shown
        assert "0:00:00" in shown
        with common.patiently("nothing much"):
            pass
        assert "nothing much" not in stream.getvalue()


def test_an_error_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common, "PATIENCE", 0.0)
    result = CliRunner().invoke(cli, ["modes", "planar_2r_flexible", "--pose", "joint3=10deg"])
    assert result.exit_code == 2
    assert "joint3" in result.stderr


def test_validity_tells_every_run() -> None:
    result = call(*VALIDITY, "--json")
    for line in ("linear prediction", "0.1 times the move", "1 times the move"):
        assert f"  {line}\n" in result.stderr
    assert json.loads(result.stdout)["amplitudes"] == [0.1, 1.0]


def test_progress_of_linear_validity() -> None:
    told: list[tuple[str, float]] = []
    arm = fx.load_plant("tokhi_azad_1994", overrides={"model.sections": 4})
    fx.linear_validity(
        arm, {"joint1_torque": fx.bang_bang(0.1, 0.1)}, duration=0.3, amplitudes=(2.0,),
        progress=lambda what, part: told.append((what, part)),
    )
    assert {what for what, _ in told} == {"linear prediction", "2 times the move"}
    assert [part for what, part in told if what == "2 times the move"][-1] == pytest.approx(1.0)


def test_certify_says_at_once_that_it_works(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not when its first part is done: compiling and designing may take a minute."""

    def fails(*_: object, **__: object) -> None:
        raise fx.DefinitionError("stop here")

    monkeypatch.setattr("flexctl.judging.certify.certify", fails)
    result = CliRunner().invoke(cli, ["certify", "tokhi_azad_pd"])
    assert "stop here" in result.stderr
    assert "  examining\n" in result.stderr


class TestShow:
    @pytest.mark.parametrize(
        ("name", "meant"),
        [("tokhi_azad_lqgg", "tokhi_azad_lqg"), ("tokhi_azad_199", "tokhi_azad_1994"), ("ralf_hin", "ralf_hinf")],
    )
    def test_a_wrong_name_may_be_a_plant_or_a_controller(self, name: str, meant: str) -> None:
        result = CliRunner().invoke(cli, ["show", name])
        assert result.exit_code == 2
        assert f'unknown plant or controller "{name}" (did you mean "{meant}"?)' in result.stderr

    def test_one_name_of_a_plant_and_a_controller(self) -> None:
        """Neither hides the other."""
        assert "planar_2r_servo" in set(fx.list_plants()) & set(fx.list_controllers())
        shown = call("show", "planar_2r_servo").stdout
        assert shown.index("Servo joints on the flexible 2R arm") < shown.index("link.1.length")
        told = json.loads(call("show", "planar_2r_servo", "--json").stdout)
        assert told["controller"] == told["plant"] == "planar_2r_servo"
        assert told["description"]
        assert told["parameters"]
        changed = call("show", "planar_2r_servo", "--set", "payload.mass=1g", "--json")
        assert "controller" not in json.loads(changed.stdout)

    def test_the_other_kind_of_thing(self) -> None:
        for words, message in (
            (["show", "tip_circle", "--set", "payload.mass=1g"], "tip_circle is a controller, not a plant; plants: "),
            (["modes", "ralf_hinf"], "ralf_hinf is a controller, not a plant"),
            (["run", "ralf"], "ralf is a plant, not a controller; controllers: "),
            (["show", "nowhere.py"], "nowhere.py: cannot read the file: No such file"),
        ):
            result = CliRunner().invoke(cli, words)
            assert result.exit_code == 2
            assert message in result.stderr
