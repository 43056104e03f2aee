"""`flexctl export` and `--law-as`: what is written and told, what is refused, exit codes."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from exported_laws import needs_compiler

import flexctl as fx
from flexctl.__main__ import cli


def call(*words: str) -> Any:
    return CliRunner().invoke(cli, words)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_law_is_written_and_told(place: Path) -> None:
    done = call("export", "law", "tokhi_azad_pd", "--to", "c", "-o", "out/pd", "--set", "payload.mass=10g", "--json")
    assert done.exit_code == 0, done.stderr
    told = json.loads(done.stdout)
    files = ["CMakeLists.txt", "Makefile", "README.md", "test.c", "tokhi_azad_pd.c", "tokhi_azad_pd.h"]
    files += [f"tokhi_azad_pd_{word}" for word in ("sfun.c", "step.c", "step.m")]
    assert told["files"] == files
    assert told["folder"] == "out/pd"
    assert (told["state_bytes"], told["states"], told["delay_periods"]) == (32, 2, 1)
    assert "single precision" in told["notes"][0]
    assert f"note: {told['notes'][0]}" in done.stderr
    assert "payload.mass = 0.01" in (place / "out/pd/tokhi_azad_pd.h").read_text()
    done = call("export", "law", "tokhi_azad_pd", "--to", "c", "-o", "out/pd", "--name", "other")
    assert "state bytes: 32" in done.stdout
    assert sorted(p.name for p in (place / "out/pd").glob("other.*")) == ["other.c", "other.h"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["planar_2r_servo", "--to", "c"], "the LinearLaw is continuous"),
        (["planar_2r_servo", "--to", "c", "--sample-time", "1ms", "--method", "euler"], "euler"),
        (["tokhi_azad_pd", "--to", "c", "--sample-time", "1ms"], "sampled already"),
        (["tokhi_azad_pd", "--to", "fortran"], "fortran"),
        (["tokhi_azad_pd", "--to", "c", "--scenario", "no such"], "no such"),
        (["tokhi_azad_pd", "--to", "c", "--certificate", "missing.json"], "missing.json is not a certificate"),
        (["tokhi_azad_pd", "--to", "c", "--test-steps", "1"], "1"),
        (["nobody", "--to", "c"], "nobody"),
    ],
)
def test_wrong_input_is_refused_and_leaves_nothing(place: Path, words: list[str], told: str) -> None:
    done = call("export", "law", *words, "-o", "out/x")
    assert done.exit_code == 2, done.stdout
    assert told in done.stderr
    assert list(place.iterdir()) == []


@pytest.mark.slow
def test_large_tables_are_refused_until_they_are_asked_for(place: Path) -> None:
    words = ("export", "law", "tip_circle", "--to", "c", "-o", "out")
    done = call(*words)
    assert done.exit_code == 2
    assert "176996 bytes" in done.stderr
    assert "--tables" in done.stderr
    assert call(*words, "--tables").exit_code == 0
    assert (place / "out" / "tip_circle.c").is_file()


def test_a_folder_with_other_things_is_left_alone(place: Path) -> None:
    (place / "mine").mkdir()
    (place / "mine" / "thesis.tex").write_text("precious")
    done = call("export", "law", "tokhi_azad_pd", "--to", "c", "-o", "mine")
    assert done.exit_code == 2
    assert "holds thesis.tex, which no export wrote" in done.stderr
    assert [p.name for p in (place / "mine").iterdir()] == ["thesis.tex"]


@needs_compiler
@pytest.mark.slow
def test_a_law_runs_as_c() -> None:
    words = ("run", "tokhi_azad_pd", "--only", "5 deg, 0 g", "--json")
    own, in_c = (call(*words, "--law-as", kind) for kind in ("python", "c"))
    assert own.exit_code == in_c.exit_code == 0
    results = [json.loads(one.stdout) for one in (own, in_c)]
    known, unknown = (result.pop("error")["5 deg, 0 g"].values() for result in results)
    assert results[0] == results[1]
    # exact steps beside the march tell its errors; a law that keeps its state to itself cannot run twice
    assert all(x is not None for x in known)
    assert all(x is None for x in unknown)
    single = call(*words, "--law-as", "c-float")
    a, b = (json.loads(done.stdout)["scores"]["5 deg, 0 g"]["joint1_torque.rms"] for done in (own, single))
    assert 0.0 < abs(a - b) < 1e-4 * a


def test_what_cannot_run_as_c_says_so() -> None:
    done = call("simulate", "tokhi_azad_1994", "--torque", "bang-bang:0.1,0.3", "--law-as", "c")
    assert done.exit_code == 2
    assert "--law-as c has no effect without --controller" in done.stderr


@needs_compiler
def test_laws_that_stay_in_python_say_so() -> None:
    for name, why in (("tokhi_azad_governor", "a governor decides"), ("planar_2r_servo", "is continuous")):
        done = call("run", name, "--law-as", "c")
        assert done.exit_code == 2
        assert why in done.stderr

def test_plants_are_written_at_a_pose_and_from_a_file(place: Path) -> None:
    words = ["planar_2r_flexible", "--pose", "joint2=60deg", "--hold", "all", "--modes", "3"]
    done = call("export", "plant", *words, "--to", "fmu", "--no-binary", "-o", "fmu", "--json")
    assert done.exit_code == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["files"], told["states"], told["binary"]) == (["planar_2r_flexible.fmu"], 6, False)
    with zipfile.ZipFile("fmu/planar_2r_flexible.fmu") as archive:
        described = archive.read("modelDescription.xml").decode()
    assert "joint2 = 1.0472 rad" in described
    assert "joint1, joint2 held" in described
    assert call("export", "plant", *words, "--to", "matlab", "-o", "matlab").exit_code == 0
    done = call("export", "plant", "matlab/planar_2r_flexible.mat", "--to", "json", "-o", "json", "--name", "bent")
    assert done.exit_code == 0, done.stderr
    back = fx.load_linear("json/bent.json")
    assert len(back.poles()) == 6


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["tokhi_azad_1994", "--to", "c"], "known: fmu, json, matlab"),
        (["tokhi_azad_1994", "--to", "fmu3"], 'a plant is not written for FMI 3.0 ("fmu3"); "fmu" is FMI 2.0'),
        (["tokhi_azad_1994", "--to", "FMI 3.0"], "a plant is not written for FMI 3.0"),
        (["planar_2r_flexible", "--to", "fmu", "--nonlinear", "--plain-states"], "plain_states has no effect"),
        (["tokhi_azad_1994", "--to", "json", "--step", "1ms"], "step has no effect on a plant as json"),
        (["tokhi_azad_1994", "--to", "fmu", "--step", "0"], "step = 0.0 s must be positive"),
        (["tokhi_azad_1994", "--to", "fmu", "--modes", "99"], "modes = 99"),
        (["tokhi_azad_1994", "--to", "fmu", "--nonlinear"], "finite_difference is linear: leave --nonlinear out"),
        (["planar_2r_flexible", "--to", "fmu", "--nonlinear", "--hold", "all"], "--hold is for linear plants"),
        (["tokhi_azad_1994", "--to", "matlab", "--name", "end"], '"end" is a word of MATLAB'),
        (["missing.mat", "--to", "json"], "missing.mat"),
    ],
)
def test_wrong_plants_are_refused_and_leave_nothing(place: Path, words: list[str], told: str) -> None:
    done = call("export", "plant", *words, "-o", "out/x")
    assert done.exit_code == 2, done.stdout
    assert told in done.stderr
    assert list(place.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_refused(place: Path) -> None:
    (place / "file").write_text("")
    for to in ("file", "file/inside"):
        done = call("export", "plant", "tokhi_azad_1994", "--to", "json", "-o", to)
        assert done.exit_code == 2
        assert "file" in done.stderr
    (place / "mine").mkdir()
    (place / "mine" / "thesis.tex").write_text("x")
    done = call("export", "plant", "tokhi_azad_1994", "--to", "json", "-o", "mine")
    assert done.exit_code == 2
    assert "thesis.tex" in done.stderr
    assert (place / "mine" / "thesis.tex").read_text() == "x"
