"""The examples of what `flexctl.identify` offers run and print what they say."""

from __future__ import annotations

import doctest
import inspect
import io
import warnings
from pathlib import Path

import numpy as np
import pytest

import flexctl as fx


@pytest.mark.parametrize("name", fx.identify.__all__)
def test_the_example_prints_what_it_says(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = inspect.getdoc(getattr(fx.identify, name)) or ""
    test = doctest.DocTestParser().get_doctest(text, {"fx": fx, "np": np}, name, name, 0)
    assert test.examples, name
    said = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    with warnings.catch_warnings():
        warnings.simplefilter("error", fx.Caution)
        runner.run(test, out=said.write)
    assert runner.failures == 0, said.getvalue()
