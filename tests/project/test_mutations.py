"""The table of `make mutants` fits the code: its texts stand where they are looked for, its tests exist."""

from __future__ import annotations

import ast
from pathlib import Path

import mutants
import pytest
from mutations import MUTATIONS, Mutation


def test_every_mutation_can_be_made() -> None:
    assert len(MUTATIONS) == 60
    assert len(mutants.located(MUTATIONS, mutants.ROOT)) == 60


def test_every_test_that_is_named_exists() -> None:
    for test in {test for mutation in MUTATIONS for test in mutation.tests}:
        file, _, rest = mutants.placed(test, mutants.ROOT).partition("::")
        tree = ast.parse((mutants.ROOT / file).read_text())
        known = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        known |= {x.id for node in tree.body if isinstance(node, ast.Assign) for x in node.targets
                  if isinstance(x, ast.Name)}
        wanted = rest.partition("[")[0].split("::") if rest else []
        assert set(wanted) <= known, test


def test_a_text_or_a_test_that_is_not_there_stops_it(tmp_path: Path) -> None:
    (tmp_path / "flexctl").mkdir()
    (tmp_path / "flexctl" / "a.py").write_text("x = 1\ny = 2\ny = 2\n")
    (tmp_path / "tests" / "b").mkdir(parents=True)
    (tmp_path / "tests" / "b" / "test_a.py").write_text("")
    good = Mutation("x = 1", "x = 2", ("test_a.py::test_x",))
    (change,) = mutants.located([good], tmp_path)
    assert change.source == "x = 2\ny = 2\ny = 2\n"
    assert mutants.placed("test_a.py::test_x[1-b]", tmp_path) == "tests/b/test_a.py::test_x[1-b]"
    for wrong, message in (
        (good._replace(old="y = 2"), "found 2 times"), (good._replace(old="z"), "found 0 times"),
        (good._replace(new="x ="), "not Python"),
        (good._replace(tests=("test_b.py",)), "test test_b.py: found 0 times"),
    ):
        with pytest.raises(mutants.Broken, match=message):
            mutants.located([wrong], tmp_path)
