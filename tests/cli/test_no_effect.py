"""Options that would change nothing beside the others are refused or told of, and those that looked ignored act."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import flexctl as fx
from flexctl.__main__ import cli

ARM = "tokhi_azad_1994"
LAW = '''"""A PD for the tests."""
import flexctl as fx

PLANT = "tokhi_azad_1994"


def design(plant):
    names = ("joint1_angle", "joint1_rate"), ("joint1_torque",), ("joint1_angle",)
    return fx.LinearLaw(1e-3, *names, Dy=[[-0.4, -0.05]], Dr=[[0.4, 0.05, 0.05]])


def scenarios(plant):
    damped = {"damping.kind": "modal", "damping.ratio": 0.01}
    move = fx.quintic(0.0, 0.1, 0.2)
    return [fx.Scenario(f"{g} g", move, 0.3, {**damped, "payload.mass": g / 1000}) for g in (0, 20)]
'''


@pytest.fixture
def law(tmp_path: Path) -> str:
    """Return the path of a small script whose scenarios set the payload."""
    path = tmp_path / "small_pd.py"
    path.write_text(LAW)
    return str(path)


def call(*words: str) -> Result:
    """Return what a command prints."""
    return CliRunner().invoke(cli, [str(word) for word in words])


PULSE = ("simulate", ARM, "--torque", "pulse:0.1,0.1", "--duration", "0.2")
SINES = ("excite", ARM, "--limit", "0.1", "--band", "0.5..60", "-o", "made.csv")
PULSES = ("excite", ARM, "--limit", "0.1", "--doublets", "0.3s", "-o", "made.csv")
SWEPT = ("sweep", "tokhi_azad_pd", "--over", "payload.mass=0,5g")


@pytest.mark.parametrize(
    ("words", "option"),
    [
        ((*PULSE, "--states"), "--states"),
        ((*PULSE, "--states", "-o", "made.png"), "--states"),
        (("modes", ARM, "--mode", "2"), "--mode"),
        ((*SINES, "--count", "4"), "--count"),
        ((*SINES, "--growth", "1.5"), "--growth"),
        ((*PULSES, "--period", "2"), "--period"),
        ((*PULSES, "--periods", "3"), "--periods"),
        ((*PULSES, "--crest", "1.2"), "--crest"),
        ((*PULSES, "--seed", "3"), "--seed"),
        ((*SWEPT, "--seed", "3"), "--seed"),
        ((*SWEPT, "--fresh"), "--fresh"),
    ],
)
def test_an_option_without_effect_is_refused(
    words: tuple[str, ...], option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = call(*words)
    assert found.exit_code == 2, found.output
    assert f"{option} has no effect" in found.stderr
    assert "leave it out" in found.stderr
    assert not list(tmp_path.iterdir())


def test_defaults_are_not_taken_for_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert call(*SINES).exit_code == 0
    assert call(*PULSES, "--count", "2", "--growth", "1.2").exit_code == 0


def test_the_seed_of_a_record_without_noise_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert call(*PULSES).exit_code == 0
    found = call("measure", ARM, "made.csv", "--seed", "3", "-o", "record.csv")
    assert found.exit_code == 2
    assert "--seed has no effect without --noise or --input-noise" in found.stderr
    assert call("measure", ARM, "made.csv", "--seed", "3", "--noise", "tip_x=1e-4", "-o", "record.csv").exit_code == 0


@pytest.mark.parametrize("words", [("modes",), ("linearise",), ("bode", "--to", "20", "--points", "5")])
def test_pose_of_an_arm_whose_joint_is_no_coordinate(words: tuple[str, ...]) -> None:
    command, *more = words
    for pose in ("0.3", "joint1=0.3"):
        found = call(command, ARM, "--pose", pose, "--json", *more)
        assert found.exit_code == 0, found.output
        assert json.loads(found.stdout)["pose"] == {"joint1": 0.3}


@pytest.mark.parametrize("spring", [(), ("--set", "joint.1.stiffness=2", "--set", "joint.1.rotor_inertia=1e-3")])
def test_the_joint_of_finite_differences_is_held_by_its_name(spring: tuple[str, ...]) -> None:
    own = "joint1_motor" if spring else "theta"
    wanted = json.loads(call("modes", ARM, "--hold", own, "--json", *spring).stdout)["frequencies_hz"]
    for word in ("all",) if spring else ("all", "joint1"):
        found = call("modes", ARM, "--hold", word, "--json", *spring)
        assert found.exit_code == 0, found.output
        assert json.loads(found.stdout)["frequencies_hz"] == wanted
    assert "has no input, hence no norm" in call("norms", ARM, "--hold", own, *spring).stderr


def test_signals_that_begin_when_the_run_has_ended_are_told_of() -> None:
    arm = fx.load_plant(ARM)
    late = {"joint1_torque": fx.PiecewiseConstant((2.0, 2.1), (0.0, 1.0, 0.0))}
    with pytest.warns(fx.Caution, match=r"joint1_torque is zero in the whole run: its signal begins at 2 s, .* at 1 s"):
        fx.simulate(arm, inputs=late, duration=1.0)
    now = {"joint1_torque": fx.PiecewiseConstant((2.0,), (0.1, 0.0))}
    fx.simulate(arm, inputs=now, duration=1.0)  # warnings are errors in the tests
    with pytest.warns(fx.Caution, match="payload change at 0.5 s has no effect"):
        fx.simulate(arm, inputs=now, duration=0.5, payload=[(0.5, 0.01, 0.0)])


def test_values_that_scenarios_replace_are_told_of(law: str) -> None:
    told = 'payload.mass = 0.01 does not reach the runs of scenarios that set it themselves: "0 g" (0.0), "20 g" (0.02)'
    for words in (("run", law), ("compare", law, "--workers", "1")):
        found = call(*words, "--set", "payload.mass=10g", "--json")
        assert found.exit_code == 0, found.output
        assert told in found.stderr
    found = call("sweep", law, "--set", "payload.mass=10g", "--over", "controller.PLANT=a", "--workers", "1")
    assert told in found.stderr
    assert told.replace("0.01", "0.005") in call("run", law, "--also", ":payload.mass=5g").stderr
    assert "does not reach" not in call("run", law, "--set", "link.1.length=1").stderr
    assert "does not reach" not in call("run", law, "--only", "20 g", "--set", "payload.mass=20g").stderr


def test_certificates_tell_of_values_that_scenarios_replace(law: str) -> None:
    arm = fx.load_plant(ARM, payload={"mass": 0.01})
    from flexctl.judging.certify.task import prepared

    with pytest.warns(fx.Caution, match=r"payload.mass = 0.01 does not reach the runs"):
        prepared(law, arm, None, None, None, None)


def test_overrides_reach_plants_that_are_no_names(law: str) -> None:
    longer = {"link.1.length": 1.1}
    named = fx.compare([law], [ARM], overrides=longer, only=["0 g"], workers=1)
    given = fx.compare([law], [fx.load_plant(ARM)], overrides=longer, only=["0 g"], workers=1)
    one, other = (found.runs[0].response for found in (named, given))
    assert one is not None
    assert other is not None
    assert np.array_equal(one["tip_x"], other["tip_x"])


def test_a_sweep_takes_a_formulation_with_options(law: str) -> None:
    words = ("sweep", law, "--over", "payload.mass=0,5g", "--only", "0 g", "--workers", "1", "--json")
    fine = call(*words, "--model", "finite_difference:sections=40")
    assert fine.exit_code == 0, fine.output
    same = call(*words, "--set", "model.sections=40")
    columns = json.loads(same.stdout)["columns"]
    at = columns.index("joint1_angle.final_error")
    rows = [[row[at] for row in json.loads(found.stdout)["rows"]] for found in (fine, same, call(*words))]
    assert rows[0] == rows[1]
    assert rows[0] != rows[2]


@pytest.mark.parametrize(
    "words", [("certify", "tokhi_azad_pd"), SWEPT, ("compare", "tokhi_azad_pd"), ("modes", ARM)], ids=lambda x: x[0]
)
def test_an_empty_kind_of_model_is_refused(words: tuple[str, ...]) -> None:
    found = call(*words, "--model", "")
    assert found.exit_code == 2
    assert "the kind of model is empty" in found.stderr
