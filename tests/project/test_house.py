"""The house: what CONTRIBUTING says is where it says, files stay readable, the top of the package stays small."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "flexctl"
GUIDE = (ROOT / "CONTRIBUTING.md").read_text()
LONGEST, MOST_HOPS, TOP = 500, 12, 6
ROOMS = {"mesh", "rigid", "sensors", "stepper", "kernel"}
EMPTY = {
    "finite_difference": {
        "rigid": "a single link",
        "stepper": "it is linear: exact steps, and those of method=\"march\"",
        "kernel": "it is linear: `kernels.linear` and `kernels.explicit` serve",
    },
    "finite_segment": {"rigid": "angles of links are its coordinates: a rigid arm is one line"},
    "assumed_modes": {
        "rigid": "`poses`: with loops a pose must be solved for",
        "stepper": "it is small: the general stepper, with its functions in `kernel`",
    },
}
"""Rooms that a formulation has no use for, and why."""


def sources() -> list[Path]:
    """All Python files of the repository but copies that a build leaves behind."""
    folders = (PACKAGE, ROOT / "tests", ROOT / "controllers")
    found = [path for folder in folders for path in folder.rglob("*.py")]
    return [path for path in found if "_catalogue" not in path.parts and "__pycache__" not in path.parts]


def walks() -> dict[int, str]:
    """The three walks of CONTRIBUTING, by number."""
    text = GUIDE.split("### Three walks")[1].split("\n## ")[0]
    return {int(n): walk for n, walk in re.findall(r"^(\d)\. (.*?)(?=^\d\. |\Z)", text, re.M | re.S)}


def stops(walk: str) -> list[Path]:
    """The files of a walk: a name with a suffix; of a formulation "its mesh.py" in the folder named before."""
    found: list[Path] = []
    for name in re.findall(r"`([\w/.]+)`", walk):
        if not name.endswith((".py", ".toml")) or "NAME" in name:
            continue
        beside = found[-1].parent / name if found else None
        places = [ROOT / name, PACKAGE / name, *([beside] if beside else [])]
        found.append(next((place for place in places if place.is_file()), PACKAGE / name))
    return found


def test_the_walks_pass_files_that_exist_in_few_hops() -> None:
    assert sorted(walks()) == [1, 2, 3]
    for number, walk in walks().items():
        files = stops(walk)
        assert len(files) >= (2 if number == 3 else 8), f"walk {number} names {files}"
        assert len(files) <= MOST_HOPS, f"walk {number} has {len(files)} hops"
        assert [str(path) for path in files if not path.is_file()] == []


def test_a_walk_past_a_file_that_is_not_there_is_noticed() -> None:
    assert not all(path.is_file() for path in stops("`cli/runs.py`, `cli/walks.py`"))


def test_every_file_and_folder_that_the_guide_names_exists() -> None:
    named = set(re.findall(r"`((?:flexctl|tests|plants|controllers|docs)/[\w/.]*)`", GUIDE))
    named = {name for name in named if "NAME" not in name and "_catalogue" not in name}  # a pattern; made by a build
    named |= {f"flexctl/{name}" for name in re.findall(r"^\| `(\w+/?)`", GUIDE, re.M)}
    beside = re.findall(r"\(`([a-z_]+/[a-z_]+\.py)`|[ (]`([a-z_]+/[a-z_/]+\.py)`", GUIDE)
    loose = {one or other for one, other in beside}
    assert len(named) > 20
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []
    assert [name for name in sorted(loose) if not any((root / name).exists() for root in (ROOT, PACKAGE))] == []


def test_the_table_of_folders_is_complete() -> None:
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")} - {"_catalogue"}
    table = GUIDE.split("## Where things are")[1].split("### Three walks")[0]
    assert [name for name in sorted(folders) if f"`{name}/`" not in table] == []


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_file_is_too_long(path: Path) -> None:
    lines = path.read_text().count("\n")
    assert lines <= LONGEST, f"{path.relative_to(ROOT)} has {lines} lines; split it"


def test_the_top_of_the_package_is_small() -> None:
    files = sorted(path.name for path in PACKAGE.iterdir() if path.is_file())
    assert len(files) <= TOP, files


def test_formulations_have_the_same_rooms() -> None:
    """A room is a file or a folder; one that a formulation lacks is in the list, with the reason."""
    for path in (PACKAGE / "models").glob("*/mesh.py"):
        here = {item.stem for item in path.parent.iterdir()}
        assert here - ROOMS != here, path.parent
        assert ROOMS - here == set(EMPTY.get(path.parent.name, {})), path.parent.name


ODD = re.compile(
    r'^\s*"""What |what (?:they|it) (?:are|is) worth|in the words of|\b(?:is|are) no (?:numbers?|texts?|tables?)\b'
    r"|\b(?:the|its) begin\b|\bof whoever\b|\bis no (?:multiple|certificate|scheme|plant)\b", re.MULTILINE
)
"""What earlier readers with an ear for English stumbled over."""


@pytest.mark.parametrize("folder", sorted(path.name for path in PACKAGE.iterdir() if path.is_dir()))
def test_words_that_were_mended_do_not_come_back(folder: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}: {match[0].strip()}"
        for ending in ("*.py", "*.c", "*.h") for path in (PACKAGE / folder).rglob(ending)
        if not {"_catalogue", "__pycache__"} & set(path.parts)
        for match in ODD.finditer(path.read_text())
    ]
    assert found == []


def test_kernels_say_what_they_evaluate_and_in_which_units() -> None:
    """Of each formulation the kernel, a file or a folder, whose own docstring then lists its files."""
    for path in (PACKAGE / "models").glob("*/mesh.py"):
        room = path.parent / "kernel"
        if "kernel" in EMPTY.get(path.parent.name, {}):
            continue
        file = room / "__init__.py" if room.is_dir() else room.with_suffix(".py")
        text = ast.get_docstring(ast.parse(file.read_text()))
        assert text is not None, path.parent
        assert "=" in text, path.parent
        assert re.search(r"\[m\]|\[N", text), path.parent
        parts = {item.stem for item in room.glob("*.py")} - {"__init__", "operations", "state", "vectors"}
        assert [part for part in sorted(parts) if not re.search(rf"^ +{part} ", text, re.MULTILINE)] == [], path.parent


def test_kernels_have_few_arguments() -> None:
    """At most eight, nested ones too; signatures that a caller of another kind prescribes are listed.

    What is compiled is decorated so, or has no annotations: a factory's functions are compiled where it is called.
    """
    found = {}
    for path in sources():
        if PACKAGE not in path.parents:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and len(node.args.args) > 8 and (
                any(_is_compiled(one) for one in node.decorator_list)
                or all(argument.annotation is None for argument in node.args.args)
            ):
                found[f"{path.relative_to(PACKAGE)}:{node.name}"] = len(node.args.args)
    assert found.keys() == PRESCRIBED.keys()


def _is_compiled(decorator: ast.expr) -> bool:
    name = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(name, ast.Name) and name.id in ("entry", "kernel")


_TANGENT, _CLOSURE = "TANGENT of kernels.model", "CLOSURE of kernels.model"
PRESCRIBED = {
    "kernels/linear.py:tangent": _TANGENT, "models/assumed_modes/kernel/functions.py:tangent": _TANGENT,
    "models/assumed_modes/kernel/hydraulic.py:hydraulic_tangent": _TANGENT,
    "models/assumed_modes/kernel/functions.py:closure": _CLOSURE, "kernels/general.py:no_closure": _CLOSURE,
    "models/assumed_modes/kernel/hydraulic.py:hydraulic_closure": _CLOSURE,
}
"""Kernel -> who prescribes its arguments."""


def test_every_controller_script_appears_in_the_gallery() -> None:
    gallery = "\n".join(path.read_text() for path in (ROOT / "docs" / "gallery").glob("*.py"))
    scripts = [path.stem for path in (ROOT / "controllers").glob("*.py")]
    assert [name for name in sorted(scripts) if f'"{name}"' not in gallery] == []
