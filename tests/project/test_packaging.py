"""The package as a stranger gets it: source archive, wheel, a fresh environment far from the checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flexctl as fx

ROOT = Path(__file__).parents[2]
PLANTS = sorted(path.stem for path in (ROOT / "plants").glob("*.toml"))
CONTROLLERS = sorted(path.stem for path in (ROOT / "controllers").glob("*.py"))
QUIET = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL_ENV"))}


def run(*command: str | Path, cwd: Path) -> str:
    words = [str(part) for part in command]
    done = subprocess.run(words, cwd=cwd, env=QUIET, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built the long way: checkout -> source archive -> wheel."""
    folder = tmp_path_factory.mktemp("build")
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", folder, cwd=ROOT)
    (archive,) = folder.glob("flexctl-*.tar.gz")
    with tarfile.open(archive) as content:
        content.extractall(folder, filter="data")
    source = folder / archive.name.removesuffix(".tar.gz")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=source)
    (found,) = folder.glob("flexctl-*.whl")
    return found


def environment(folder: Path, *what: str | Path) -> Path:
    """Make an environment that borrows the dependencies of this one and install into it; nothing is downloaded."""
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).strip())
    # A plain path entry: the .pth files inside the borrowed folder, an editable flexctl among them, are not followed.
    borrowed = {str(Path(module.__file__ or "").parents[1]) for module in (np, pytest)}
    (site / "borrowed.pth").write_text("\n".join(sorted(borrowed)))
    options = ("--quiet", "--disable-pip-version-check", "--no-deps", "--no-index", "--no-build-isolation")
    run(sys.executable, "-m", "pip", "--python", python, "install", *options, *what, cwd=folder)
    return python


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return environment(tmp_path_factory.mktemp("fresh") / "venv", wheel)


REPORT = """
import json, sys
import flexctl as fx
plant = fx.load_plant("tokhi_azad_1994", payload={"mass": 0.01})
print(json.dumps({
    "file": fx.__file__,
    "folders": [str(fx.find("plants")), str(fx.find("controllers"))],
    "plants": fx.list_plants(),
    "controllers": [name for name in fx.list_controllers() if callable(fx.load_controller(name).design)],
    "source": plant.source,
    "frequency": plant.modes(1).frequencies_hz[0],
    "path": sys.path,
}))
"""


def report(python: Path, cwd: Path) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(run(python, "-c", REPORT, cwd=cwd).splitlines()[-1])
    return answer


def test_the_wheel_holds_the_catalogue_and_nothing_stray(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    held = {name.removeprefix("flexctl/_catalogue/") for name in names if name.startswith("flexctl/_catalogue/")}
    beside = {f"controllers/{path.name}" for path in (ROOT / "controllers").glob("*.json")}
    scripts = {f"controllers/{name}.py" for name in CONTROLLERS}
    assert held == {f"plants/{name}.toml" for name in PLANTS} | scripts | beside
    assert "flexctl/py.typed" in names
    assert {name.split("/")[0] for name in names} == {"flexctl", f"flexctl-{fx.__version__}.dist-info"}
    assert not [name for name in names if name.endswith(".pyc") or "__pycache__" in name]
    assert [name for name in names if name.endswith("licenses/LICENSE")]


def test_installed_wheel_works_outside_the_checkout(installed: Path, tmp_path: Path) -> None:
    said = report(installed, tmp_path)
    place = installed.parents[1]
    assert ROOT not in [Path(entry or tmp_path).resolve() for entry in said["path"]], "the checkout is in the way"
    assert Path(said["file"]).is_relative_to(place)
    assert all(Path(folder).is_relative_to(place) for folder in said["folders"])
    assert said["plants"] == PLANTS
    assert said["controllers"] == CONTROLLERS
    assert said["source"] == "plants/tokhi_azad_1994.toml"
    here = fx.load_plant("tokhi_azad_1994", payload={"mass": 0.01}).modes(1).frequencies_hz[0]
    assert said["frequency"] == pytest.approx(here, rel=1e-12)


def test_the_installed_command_runs(installed: Path, tmp_path: Path) -> None:
    assert "tokhi_azad_1994" in run(installed.parent / "flexctl", "list", cwd=tmp_path)


def test_an_editable_install_reads_the_checkout(tmp_path: Path) -> None:
    python = environment(tmp_path / "venv", "--editable", ROOT)
    said = report(python, tmp_path)
    assert Path(said["file"]).parent == ROOT / "flexctl"
    assert [Path(folder) for folder in said["folders"]] == [ROOT / "plants", ROOT / "controllers"]
    assert (said["plants"], said["controllers"]) == (PLANTS, CONTROLLERS)


def test_the_version_is_stated_once() -> None:
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == fx.__version__


def test_every_dependency_is_pinned() -> None:
    """Each requirement of run time, tests and benchmarks has one exact version, and no local path is among them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    wanted += [item for group in project["project"]["optional-dependencies"].values() for item in group]
    names = {item.split(">=")[0].split("[")[0].lower().replace("_", "-") for item in wanted} - {"flexctl"}
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line and not line.startswith("#")]
    assert all(line.count("==") == 1 and "/" not in line and "@" not in line for line in lines)
    assert names <= {line.split("==")[0].lower().replace("_", "-") for line in lines}
