"""The public names: all there, documented, the same for Python and for type checkers, and light to import."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import flexctl as fx
from flexctl.support import moved

ROOT = Path(__file__).parents[2]
NAMES = [name for name in fx.__all__ if name != "__version__"]
HEAVY = ("numba", "control", "slycot", "matplotlib", "pandas", "click", "rich", "scipy.integrate", "scipy.signal")


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_exists_and_is_documented(name: str) -> None:
    value = getattr(fx, name)
    if inspect.isclass(value) or inspect.isroutine(value):
        assert value.__module__.partition(".")[0] == "flexctl", "a public name of ours is ours"
        own = inspect.getdoc(value) or ""
        assert len(own) > 10
        assert not own.startswith(f"{name}("), "the signature that dataclass makes up is not a docstring"


def public_members() -> list[tuple[str, object]]:
    classes = [getattr(fx, name) for name in NAMES if inspect.isclass(getattr(fx, name))]
    return [
        (f"{cls.__name__}.{key}", member)
        for cls in classes
        for key, member in vars(cls).items()
        if not key.startswith("_") and (inspect.isroutine(member) or isinstance(member, property))
    ]


def test_every_public_method_is_documented() -> None:
    members = public_members()
    assert len(members) > 30
    assert [name for name, member in members if not inspect.getdoc(member)] == []


def test_type_checkers_and_python_see_the_same_names() -> None:
    tree = ast.parse((ROOT / "flexctl" / "__init__.pyi").read_text())
    stated = {
        alias.asname: ("." * node.level + (node.module or ""), alias.name)
        for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert stated == fx._HOME
    assert sorted(fx.__all__) == fx.__all__ == sorted({"__version__", *fx._HOME})
    assert set(NAMES) <= set(dir(fx))
    assert (ROOT / "flexctl" / "py.typed").is_file()


def test_no_public_name_is_that_of_a_folder_or_of_something_the_package_imports() -> None:
    """`fx.design` would be a function until the folder is imported; `fx.Path` must not be that of pathlib."""
    inside = {path.stem for path in (ROOT / "flexctl").iterdir()}
    whole = {name for name, (place, _) in fx._HOME.items() if place == "."}  # a folder that is public as a whole
    assert [name for name in NAMES if name in inside and name not in whole] == []
    for name, (place, own) in fx._HOME.items():
        module = importlib.import_module(place, "flexctl")
        assert inspect.unwrap(getattr(fx, name)) is getattr(module, own), name


@pytest.mark.parametrize("path", sorted((ROOT / "controllers").glob("*.py")), ids=lambda path: path.stem)
def test_a_controller_script_needs_flexctl_and_numpy_alone(path: Path) -> None:
    assert imports(path.read_text(encoding="utf-8")) <= {
        "__future__.annotations", "dataclasses.replace", "flexctl as fx", "numpy as np", "matplotlib"
    }


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_needs_nothing_of_flexctl_but_its_public_names(path: Path) -> None:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    found = set().union(*(imports("".join(c["source"])) for c in cells if c["cell_type"] == "code"))
    assert {name for name in found if name.startswith("flexctl")} == {"flexctl as fx"}


def imports(source: str) -> set[str]:
    nodes = list(ast.walk(ast.parse(source)))
    whole = [a for n in nodes if isinstance(n, ast.Import) for a in n.names]
    plain = {a.name + (f" as {a.asname}" if a.asname else "") for a in whole}
    return plain | {f"{n.module}.{a.name}" for n in nodes if isinstance(n, ast.ImportFrom) for a in n.names}


def test_what_scripts_notebooks_and_pages_take_from_flexctl_is_public() -> None:
    pages = [*(ROOT / "docs").glob("*.md"), *(ROOT / "controllers").glob("*.py"), *(ROOT / "notebooks").glob("*.ipynb")]
    used = {
        name for path in [ROOT / "README.md", *pages]
        for name in re.findall(r"(?<![\w.])fx\.([A-Za-z_]\w*)", path.read_text(encoding="utf-8"))
    }
    assert len(used) > 80
    assert used - set(NAMES) - {"__version__"} == set()


def test_the_names_of_the_readme_are_there() -> None:
    promised = {
        "lqg", "lqg_regulator", "lqg_servo", "joint_pd", "pid", "joint_pids", "hinf", "loop_shaping",
        "vibration_damping", "strain_feedback", "shaper", "shaped", "shaper_for", "stable_inversion", "governor",
        "tip_tracking",
        "pd_gains", "blended", "together", "valve_law", "Track", "Circle", "Path", "ConstantSpeed", "square", "Swing",
        "Cosine", "Sine", "Scenario", "main", "robustness", "run_scenarios", "plot", "separate_modes", "normal_modes",
        "path_stability", "generalised_alpha", "trapezoidal",
        "load_plant", "list_plants", "load_controller", "Plant", "Arm", "Link", "Joint", "Material", "Section",
        "Payload", "linearise", "SecondOrder", "FirstOrder", "Signal", "OperatingPoint", "simulate", "Response",
        "modes", "frequency_response", "grid", "margins", "load_linear", "save_linear", "from_matrices", "from_control",
        "equilibrium", "verify",
        "FlexctlError", "DefinitionError", "ConvergenceError", "NotAvailable",
    }
    assert promised <= set(NAMES)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nothing_like_it", "has no attribute 'nothing_like_it'$"),
        ("linearize", "did you mean 'linearise'"),
        ("lgq", "did you mean 'lqg'"),
        ("trajectories", "is now flexctl.motion.moves"),
        ("response", "it is now fx.frequency_response$"),
        ("Weights", "it is now fx.LqgWeights, fx.RegulatorWeights, fx.HinfWeights or fx.VibrationWeights$"),
    ],
)
def test_an_unknown_name_is_an_attribute_error(name: str, message: str) -> None:
    with pytest.raises(AttributeError, match=message):
        getattr(fx, name)


def test_an_old_name_of_a_method_says_the_new_one_and_other_errors_stay_their_own() -> None:
    plant = fx.load_plant("tokhi_azad_1994")
    for item in (plant, plant.linearise()):
        with pytest.raises(AttributeError, match=r"has no attribute 'response': it is now 'frequency_response'$"):
            item.response()  # type: ignore[attr-defined]
        with pytest.raises(AttributeError, match=r"has no attribute 'nothing'$"):
            item.nothing  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError, match=r"'march': it is now fx\.simulate\(model, .*, method=\"march\"\)$"):
        plant.model.march(0.1, 1e-4, steps=3)
    modes = plant.modes(1)
    for old, new in moved.MEMBERS.items():
        with pytest.raises(AttributeError, match=rf"{old!r}: it is now {new!r}$"):
            getattr(modes, old)
        assert isinstance(getattr(modes, new)(), list)


def test_an_old_name_of_an_argument_says_the_new_one() -> None:
    for (function, old), new in moved.ARGUMENTS.items():
        with pytest.raises(fx.DefinitionError, match=rf"has no argument {old!r}: it is now {new!r}$"):
            getattr(fx, function)(None, **{old: 1.0})
        assert new in inspect.signature(getattr(fx, function)).parameters


def test_the_new_names_of_the_table_exist() -> None:
    new = {name for text in moved.NAMES.values() for name in re.findall(r"\w+", text)} - {"or", "fx"}
    assert new <= set(NAMES)
    assert not set(moved.NAMES) & set(NAMES)


@pytest.mark.parametrize(("old", "new"), moved.MODULES.items())
def test_an_old_module_says_where_it_went(old: str, new: str) -> None:
    assert importlib.import_module(f"flexctl.{new}")
    with pytest.raises(ModuleNotFoundError, match=f"flexctl.{old} is now flexctl.{new}(;|$)"):
        importlib.import_module(f"flexctl.{old}")


def loaded_by(statements: str) -> list[str]:
    code = f"import json, sys\n{statements}\nprint(json.dumps(sorted(sys.modules)))"
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=True
    )
    found: list[str] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    "statements",
    [
        "import flexctl",
        "import flexctl as fx; fx.load_plant; fx.simulate; fx.linearise; fx.frequency_response; fx.modes; fx.lqg",
        "import flexctl; flexctl.load_plant('tokhi_azad_1994').linearise()",
    ],
)
def test_importing_and_linearising_load_nothing_heavy(statements: str) -> None:
    loaded = loaded_by(statements)
    assert "flexctl" in loaded
    assert [name for name in HEAVY if name in loaded] == []


def test_the_heavy_names_are_spelt_right() -> None:
    assert set(HEAVY) <= set(loaded_by(f"import {', '.join(HEAVY)}"))
