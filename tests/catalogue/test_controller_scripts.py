"""Controller scripts: found by name and path, executed, wrong ones refused."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import flexctl as fx


def test_controllers_load_by_path_and_are_executed(tmp_path: Path) -> None:
    script = tmp_path / "my_law.py"
    script.write_text("from dataclasses import dataclass\n@dataclass\nclass Law:\n    gain: float\n"
                      "def design(plant):\n    return Law(2.0)\n")
    module = fx.load_controller(script)
    assert module.design(None).gain == 2.0
    assert fx.load_controller(str(script)).__name__ == module.__name__
    assert "my_law" not in sys.modules


@pytest.mark.parametrize(
    ("text", "message", "cause"),
    [
        ("def design(plant)\n    pass\n", r"law\.py, line 1: SyntaxError", SyntaxError),
        ("x = 1\n\ny = 1 / 0\n", r"law\.py, line 3: ZeroDivisionError: division by zero", ZeroDivisionError),
        ("import math\ndef f():\n    math.sqrt(-1)\nf()\n", r"law\.py, line 3: ValueError", ValueError),
        ("import no_such_module\n", r"law\.py, line 1: ModuleNotFoundError", ModuleNotFoundError),
        ("raise SystemExit(3)\n", r"law\.py, line 1: SystemExit", SystemExit),
        ("x = 1\0\n", r"law\.py", Exception),
        ("design = 3\n", r"law\.py: has no function design\(plant\)", type(None)),
    ],
)
def test_errors_in_a_controller_script(tmp_path: Path, text: str, message: str, cause: type) -> None:
    script = tmp_path / "law.py"
    script.write_text(text)
    before = set(sys.modules)
    with pytest.raises(fx.DefinitionError, match=message) as caught:
        fx.load_controller(script)
    assert isinstance(caught.value.__cause__, cause)
    assert not [name for name in set(sys.modules) - before if name.startswith("flexctl_controller_law")]


def test_controllers_that_do_not_exist(tmp_path: Path) -> None:
    with pytest.raises(fx.DefinitionError, match='unknown controller "no_such_law"'):
        fx.load_controller("no_such_law")
    with pytest.raises(fx.DefinitionError, match=r"none\.py: cannot read"):
        fx.load_controller(tmp_path / "none.py")


def test_every_controller_of_the_catalogue_loads() -> None:
    for name in fx.list_controllers():
        assert callable(fx.load_controller(name).design), name


# ------------------------------------------------------------------------------------------------------- documentation
