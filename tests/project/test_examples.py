"""The example in the docstring of every public class and function runs and prints what it says."""

from __future__ import annotations

import doctest
import inspect
import io
import warnings
from pathlib import Path

import numpy as np
import pytest

import flexctl as fx

SLOW = {  # seconds of compiling on an empty cache, or whole studies
    "AssumedModes", "Certificate", "Comparison", "InverseDynamics", "PathStability", "animate", "certify", "compare",
    "compare_methods", "inverse_dynamics", "path_stability", "payload_bound", "prescribed_response",
    "stability_over_damping", "sweep", "transfer_matrix_run",
}
NAMES = [
    name for name in fx.__all__ if inspect.isclass(getattr(fx, name)) or inspect.isroutine(getattr(fx, name))
]


def example(name: str) -> doctest.DocTest:
    """Return the example of a public name; `fx` and `np` are known to it."""
    text = inspect.getdoc(getattr(fx, name)) or ""
    return doctest.DocTestParser().get_doctest(text, {"fx": fx, "np": np, "__name__": "example"}, name, name, 0)


def test_every_public_name_has_an_example() -> None:
    assert len(NAMES) > 200
    assert [name for name in NAMES if not example(name).examples] == []
    assert [name for name in NAMES if "\nExamples\n--------\n" not in (inspect.getdoc(getattr(fx, name)) or "")] == []
    assert set(NAMES) >= SLOW


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in SLOW)) for n in NAMES])
def test_the_example_prints_what_it_says(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    with warnings.catch_warnings():
        warnings.simplefilter("error", fx.Caution)
        runner.run(example(name), out=said.write)
    assert runner.failures == 0, said.getvalue()


def test_an_example_that_prints_something_else_fails() -> None:
    runner = doctest.DocTestRunner()
    said = io.StringIO()
    runner.run(doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "wrong", "wrong", 0), out=said.write)
    assert runner.failures == 1
