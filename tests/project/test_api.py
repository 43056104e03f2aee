"""The public names: all there, documented, the same for Python and for type checkers, and light to import."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import os
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
        assert value.__module__.startswith("flexctl."), "a public name of ours is ours"
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
        alias.asname: "." * node.level + (node.module or "")
        for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert stated == fx._HOME
    assert sorted(fx.__all__) == fx.__all__ == sorted({"__version__", *fx._HOME})
    assert set(NAMES) <= set(dir(fx))
    assert (ROOT / "flexctl" / "py.typed").is_file()


def test_the_names_of_the_readme_are_there() -> None:
    promised = {
        "load_plant", "list_plants", "load_controller", "Plant", "Arm", "Link", "Joint", "Material", "Section",
        "Payload", "linearise", "SecondOrder", "FirstOrder", "Signal", "OperatingPoint", "simulate", "Response",
        "modes", "response", "grid", "margins", "load_linear", "save_linear", "from_matrices", "from_control",
        "equilibrium", "verify",
        "FlexctlError", "DefinitionError", "ConvergenceError", "NotAvailable",
    }
    assert promised <= set(NAMES)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nothing_like_it", "has no attribute 'nothing_like_it'$"),
        ("linearize", "did you mean 'linearise'"),
        ("trajectories", "is now flexctl.motion.moves"),
    ],
)
def test_an_unknown_name_is_an_attribute_error(name: str, message: str) -> None:
    with pytest.raises(AttributeError, match=message):
        getattr(fx, name)


@pytest.mark.parametrize(("old", "new"), moved.MODULES.items())
def test_an_old_module_says_where_it_went(old: str, new: str) -> None:
    assert importlib.import_module(f"flexctl.{new}")
    with pytest.raises(ModuleNotFoundError, match=f"flexctl.{old} is now flexctl.{new}$"):
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
        "import flexctl; flexctl.load_plant; flexctl.simulate; flexctl.linearise; flexctl.response; flexctl.modes",
        "import flexctl; flexctl.load_plant('tokhi_azad_1994').linearise()",
    ],
)
def test_importing_and_linearising_load_nothing_heavy(statements: str) -> None:
    loaded = loaded_by(statements)
    assert "flexctl" in loaded
    assert [name for name in HEAVY if name in loaded] == []


def test_the_heavy_names_are_spelt_right() -> None:
    assert set(HEAVY) <= set(loaded_by(f"import {', '.join(HEAVY)}"))
