"""Models from outside: the example of docs/own-model.md in a little project of its own, its tests, the command line."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flexctl as fx
from flexctl import models
from flexctl.cli import specs
from flexctl.judging.sweep.case import digest_of
from flexctl.judging.workers import run_all
from flexctl.models import outside

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "own-model.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^`([\w.-]+)`:\n\n```\w+\n(.*?)```", PAGE, re.MULTILINE | re.DOTALL))
SCRIPTS = [code for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if code not in FILES.values()]
HOLD = '''"""A PD at the motor."""
import numpy as np
import flexctl as fx
PLANT = "arm.toml"
REQUIREMENTS = {"disk_margin": 0.1}
def design(plant):
    Dy, Dr = np.array([[-20.0, -1.0]]), np.array([[20.0, 1.0, 0.0]])
    law = fx.LinearLaw(
        5e-3, ("joint1_angle", "joint1_rate"), ("joint1_torque",), ("joint1_angle",), Dy=Dy, Dr=Dr
    )
    return fx.Design(law, plant.linearise())
def scenarios(plant):
    return [fx.Scenario("turn", fx.quintic(0.0, 0.3, 0.5), 1.0)]
'''


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the files of the page, a controller, and the metadata of an installed package."""
    for name, text in {**FILES, "hold.py": HOLD}.items():
        (tmp_path / name).write_text(text)
    about = tmp_path / "two_mass-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: two-mass\nVersion: 1.0\n")
    points = re.search(r'(?m)^\[project\.entry-points\."flexctl\.models"\]\n(.*)$', PAGE)
    assert points is not None
    (about / "entry_points.txt").write_text("[flexctl.models]\n" + points[1].replace('"', "") + "\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("two_mass", None)


def told(*words: str, module: str = "flexctl") -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(ROOT), str(Path.cwd())])
    return subprocess.run(
        [sys.executable, "-m", module, *words], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}
    )


def test_the_page_has_its_files_and_about_forty_lines_make_a_model() -> None:
    assert set(FILES) == {"two_mass.py", "arm.toml", "test_two_mass.py"}
    assert len(SCRIPTS) == 1
    assert len(FILES["two_mass.py"].splitlines()) <= 45


def test_its_closed_form(project: Path) -> None:
    arm = fx.load_plant("arm.toml", overrides={"joint.1.damping": 0.0})
    J1, J2 = 0.02, 7850.0 * 1e-4 * 0.5**3 / 3.0 + 0.2 * 0.25
    assert arm.modes().frequencies_hz == pytest.approx([np.sqrt(40.0 * (1 / J1 + 1 / J2)) / (2 * np.pi)], rel=1e-12)
    s = 2.0 + 9.0j
    wanted = (s**2 * J2 + 40.0) / (s**2 * (J1 * J2 * s**2 + 40.0 * (J1 + J2)))
    assert arm.linearise().transfer(np.array([s]))[0, 0, 0] == pytest.approx(wanted, rel=1e-12)


def test_the_script_of_the_page_prints_what_it_says(project: Path) -> None:
    lines = [line for line in SCRIPTS[0].splitlines() if line.startswith("print(")]
    shown: list[Any] = []
    exec(compile(SCRIPTS[0], "own-model.md", "exec"), {"print": shown.append})
    for line, value in zip(lines, shown, strict=True):
        text = re.findall(r"[\d.]+", line.partition("#")[2])[0]
        assert np.squeeze(value) == pytest.approx(float(text), abs=0.501 * 10.0 ** -len(text.partition(".")[2]))


def test_pytest_in_that_project_runs_the_suite_on_its_model(project: Path) -> None:
    done = told("-q", "-p", "no:cacheprovider", "test_two_mass.py", module="pytest")
    assert done.returncode == 0, done.stdout[-3000:]
    assert re.search(r"3\d passed", done.stdout)
    wrong = FILES["two_mass.py"].replace("self.B = np.array([[1.0], [0.0]])", "self.B = np.array([[0.0], [1.0]])")
    (project / "two_mass.py").write_text(wrong)
    done = told("-q", "-p", "no:cacheprovider", "test_two_mass.py", "-k", "positive_real", module="pytest")
    assert done.returncode == 1
    assert "joint1_torque -> joint1_rate is" in done.stdout


def test_the_command_line_sees_it(project: Path) -> None:
    done = told("list", "--json")
    rows = {row["name"]: row["title"] for row in json.loads(done.stdout)["models"]}
    assert rows["two_mass"] == "two_mass:TwoMass; options: softening = 1.0"
    assert "ancf" in rows
    done = told("show", "arm.toml", "--json", "--model", "two_mass:softening=2.0")
    assert done.returncode == 0, done.stderr
    found = {row["key"]: row["value"] for row in json.loads(done.stdout)["parameters"]}
    assert (found["model.kind"], found["model.softening"]) == ("two_mass", 2.0)
    done = told("show", "planar_2r_flexible", "--model", "two_mass.py:TwoMass")
    assert done.returncode == 2
    assert "does not know the further links of the arm" in done.stderr
    assert "Traceback" not in done.stderr


PACKAGE = """[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "two-mass"
version = "1.0"

[tool.hatch.build.targets.wheel]
include = ["two_mass.py"]

"""


@pytest.mark.slow
def test_a_package_that_is_installed_is_seen_everywhere(tmp_path: Path) -> None:
    """A wheel, made and installed by pip; far from its source the name alone says which class."""
    source, site, work = (tmp_path / name for name in ("source", "site packages", "work"))
    source.mkdir()
    work.mkdir()
    points = re.search(r'(?m)^\[project\.entry-points\."flexctl\.models"\]\n.*$', PAGE)
    assert points is not None
    (source / "pyproject.toml").write_text(PACKAGE + points[0] + "\n")
    (source / "two_mass.py").write_text(FILES["two_mass.py"])
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "install", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--no-build-isolation", "--target", str(site), str(source)], check=True)
    (work / "arm.toml").write_text(FILES["arm.toml"].replace("two_mass.py:TwoMass", "two_mass"))
    (work / "hold.py").write_text(HOLD)
    path = os.pathsep.join([str(ROOT), str(site)])

    def flexctl(*words: str) -> str:
        command = [sys.executable, "-m", "flexctl", *words]
        done = subprocess.run(command, capture_output=True, text=True, cwd=work, env={**os.environ, "PYTHONPATH": path})
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "two_mass:TwoMass" in {row["title"].split(";")[0] for row in json.loads(flexctl("list", "--json"))["models"]}
    assert "7.93" in flexctl("bode", "arm.toml")
    assert json.loads(flexctl("modes", "arm.toml", "--json", "--model", "two_mass:softening=4.0"))
    assert '"model": "two_mass"' in flexctl("certify", "hold.py", "--payload", "0.1,0.3", "--json")
    table = json.loads(flexctl("sweep", "hold.py", "--over", "payload.mass=0.1,0.3", "--json"))
    assert (len(table["rows"]), table["failed"]) == (2, 0)


@pytest.mark.parametrize("kind", ["two_mass.py:TwoMass", "two_mass:TwoMass", "two_mass"])
def test_three_ways_to_name_it(project: Path, kind: str) -> None:
    arm = fx.load_plant("arm.toml", model={"kind": kind, "softening": 4.0})
    soft, stiff = (x.linearise().K[0, 0] for x in (arm, fx.load_plant("arm.toml")))
    assert soft == pytest.approx(0.25 * stiff)
    assert arm.with_(payload={"mass": 0.5}).model.M[1, 1] > arm.model.M[1, 1]
    assert type(fx.build(arm.arm, kind)).__name__ == "TwoMass"


def test_the_file_is_looked_for_beside_the_plant_file(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "elsewhere").mkdir()
    monkeypatch.chdir(project / "elsewhere")
    assert fx.load_plant("../arm.toml").modes().frequencies_hz.size == 1
    with pytest.raises(fx.DefinitionError, match=r"two_mass\.py: cannot read the model's file: there is no such file"):
        fx.load_plant("../arm.toml", model="two_mass.py:TwoMass")


def test_certificates_comparisons_and_sweeps_in_worker_processes(project: Path) -> None:
    found = fx.certify("hold.py", bits=(16,), payload=(0.1, 0.3), workers=2)
    assert found.verdicts
    table = fx.sweep("hold.py", over={"payload.mass": [0.1, 0.2, 0.3]}, workers=2)
    assert table["status"] == ["ok"] * 3
    runs = fx.compare(["hold.py"], models=["two_mass.py:TwoMass", {"kind": "two_mass", "softening": 2.0}], workers=2)
    assert [run.failure for run in runs.runs] == ["", ""]


def _kind(model: Any) -> tuple[str, str]:
    return model.kind, type(model).__module__


def test_models_of_a_file_travel_to_workers_and_back(project: Path) -> None:
    model = fx.load_plant("arm.toml").model
    assert dict(run_all(_kind, [model, model], 2)) == {n: ("two_mass", type(model).__module__) for n in (0, 1)}


def test_a_file_that_changed_is_read_again(project: Path) -> None:
    before = digest_of("hold.py", "arm.toml", {})
    assert fx.load_plant("arm.toml").model.outputs[2].name == "tip_displacement"
    (project / "two_mass.py").write_text(FILES["two_mass.py"].replace('"tip_displacement", "m"', '"tip_x", "m"'))
    assert fx.load_plant("arm.toml").model.outputs[2].name == "tip_x"
    assert digest_of("hold.py", "arm.toml", {}) != before  # a sweep is not gone on with by another model


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("two_mass.py:TwoMas", "has no class TwoMas; it has .*TwoMass"),
        ("nowhere.py:TwoMass", "cannot read the model's file: there is no such file"),
        ("no_such_package.models:A", "cannot import no_such_package.models: ModuleNotFoundError"),
        ("two_mass.py:", "is not understood"),
        (":TwoMass", "is not understood"),
        ("two_mass.py:Two Mass", "is not understood"),
        ("two_mass.py:__import__('os')", "is not understood"),
        ("two_mass.py\n:TwoMass", "is not printable text"),
        ("\x1b[31mtwo_mass:TwoMass", "is not printable text"),
        ("a" * 5000 + ":B", "is not printable text"),
        ("two_mas", "two_mass"),
        ("broken.py:A", "broken.py, line 2: ZeroDivisionError"),
        ("syntax.py:A", "syntax.py, line 1: SyntaxError"),
        ("leaves.py:A", "SystemExit"),
        ("poor.py:Poor", "a Poor is not a mechanical model; it lacks coordinates, inputs"),
        ("poor.py:Fails", "line 6: KeyError: 'x'"),
        ("poor.py:number", "has no class number"),
    ],
)
def test_what_cannot_be_a_model_is_refused(project: Path, kind: str, message: str) -> None:
    (project / "broken.py").write_text("class A: pass\n1 / 0\n")
    (project / "syntax.py").write_text("class A(:\n")
    (project / "leaves.py").write_text("raise SystemExit(3)\n")
    (project / "poor.py").write_text(
        "class Poor:\n    features = 'rotor_inertia', 'joint_stiffness'\n    def __init__(self, arm): pass\n"
        "class Fails(Poor):\n    def __init__(self, arm):\n        raise KeyError('x')\nnumber = 3\n"
    )
    with pytest.raises(fx.DefinitionError, match=message):
        fx.load_plant("arm.toml", model=kind).model  # noqa: B018


WRONG = {
    "def mass(self, q): return np.eye(3)": r"mass\(q\) returns an array of shape \(3, 3\) in place of \(2, 2\)",
    "def mass(self, q): return 'M'": "which is no array of real numbers",
    "def mass(self, q): return 1j * np.eye(2)": "returns complex numbers",
    "def force(self, q, v): return np.zeros(2)": r"TypeError: .*force\(\) takes 3 positional arguments",
    "def force(self, q, v, t=0.0): return np.array([np.nan, 0.0])": r"force\(q, v, t\) is not finite",
    "def force(self, q, v, t=0.0): return 1 / 0": "line 4: ZeroDivisionError",
    "def input_matrix(self, q): return np.ones(2)": r"shape \(2,\) in place of \(2, 1\)",
    "def output(self, q, v, a, u): return np.zeros(2)": r"output\(q, v, a, u\) returns an array of shape \(2,\)",
    "def output_tangent(self, q, v, a, u): return ()": r"\(tuple\) in place of a flexctl.model.OutputTangent",
    "def tangent(self, q, v, a, u, lam): return np.eye(2)": r"in place of a flexctl.model.Tangent",
    "def reference(self): return np.zeros(5)": r"reference\(\) returns an array of shape \(5,\) in place of \(2,\)",
    "def energy(self, q, v): return 0.0": "in place of a flexctl.model.Energy",
    "coordinates = property(lambda s: ('a', 'b'), lambda s, x: None)": "coordinates = .* give a tuple of signals",
    "outputs = property(lambda s: (fx.Signal('y'),) * 3, lambda s, x: None)": 'outputs: "y" stands there twice',
}


@pytest.mark.parametrize("line", WRONG)
def test_a_method_that_answers_wrongly_is_named_with_what_it_should_answer(project: Path, line: str) -> None:
    (project / "wrong.py").write_text(
        f"from two_mass import TwoMass, fx, np\n\nclass Wrong(TwoMass):\n    {line}\n"
    )
    with pytest.raises(fx.DefinitionError, match=WRONG[line]):
        fx.load_plant("arm.toml", model="wrong.py:Wrong").model  # noqa: B018


def test_what_the_class_does_not_know_is_refused(project: Path) -> None:
    for key, value, what in (
        ("gravity.y", -9.81, "gravity"), ("damping.kind", "modal", r"\[damping\]"),
        ("sensor", [{"name": "bend", "kind": "displacement", "position": 0.5}], r"\[\[sensor\]\]"),
    ):
        changes = {key: value, **({"damping.ratio": 0.1} if key == "damping.kind" else {})}
        with pytest.raises(fx.DefinitionError, match=f"does not know the {what} of the arm"):
            fx.load_plant("arm.toml", overrides=changes).model  # noqa: B018
    with pytest.raises(fx.DefinitionError, match="does not know everything that the file says about joint 1"):
        fx.load_plant("arm.toml", overrides={"joint.1.friction": 0.1}).model  # noqa: B018
    with pytest.raises(fx.DefinitionError, match=r'unknown option of .* "softning".*did you mean "softening"'):
        fx.load_plant("arm.toml", model={"softning": 2.0})


def test_words_of_the_command_line() -> None:
    assert specs.formulation("a.py:B") == "a.py:B"
    assert specs.formulation("a.py:B:x=2.0,n=[1, 2]") == {"kind": "a.py:B", "x": 2.0, "n": [1, 2]}
    assert specs.formulation("ancf:elements=3") == {"kind": "ancf", "elements": 3}
    assert outside.absolute("ancf", Path("/x")) == "ancf"


def test_installed_models_do_not_hide_those_of_flexctl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outside, "announced", lambda: {"ancf": "evil:Ancf", "mine": "m:M"})
    assert models.kinds()["ancf"] == models.REGISTRY["ancf"]
    assert models.kinds()["mine"] == "m:M"


def test_a_model_without_an_outline_says_what_it_lacks_to_be_drawn(project: Path) -> None:
    run = fx.simulate("arm.toml", inputs={"joint1_torque": fx.bang_bang(1.0, 0.1)}, duration=0.1, record_states=True)
    for drawn in (lambda: fx.animate(run, "arm.toml", "run.gif"), lambda: fx.animate_mode("arm.toml", "mode.gif")):
        with pytest.raises(fx.DefinitionError, match=r"model of arm does not say .* method outline\(q\)"):
            drawn()
    done = told("simulate", "arm.toml", "--torque", "bang-bang:1,0.1", "--animate", "run.gif", "--report", "run.html")
    assert (done.returncode, (project / "run.html").exists()) == (2, True)
    assert "outline(q)" in done.stderr
