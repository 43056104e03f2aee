"""The code of the README runs and prints what its comments say."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
NUMBER = r"\d+\.\d+"


def test_there_is_code_with_numbers() -> None:
    assert len(BLOCKS) >= 2
    assert sum(len(re.findall(rf"(?m)^print\(.*#.*{NUMBER}", code)) for code in BLOCKS) >= 3


@pytest.mark.parametrize("code", BLOCKS, ids=range(len(BLOCKS)))
def test_it_runs_and_prints_the_numbers_of_its_comments(code: str) -> None:
    """Comment and print are compared number by number, to the digits of the comment."""
    printed: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("always")  # one of them is what a block shows
        exec(compile(code, "README.md", "exec"), {"print": lambda *values: printed.append(" ".join(map(str, values)))})
    lines = [line for line in code.splitlines() if line.startswith("print(")]
    for line, shown in zip(lines, printed, strict=True):
        wanted, found = (re.findall(NUMBER, text) for text in (line.partition("#")[2], shown))
        assert found or not wanted
        for text, value in zip(wanted, found, strict=False):
            assert float(value) == pytest.approx(float(text), abs=0.501 * 10.0 ** -len(text.partition(".")[2])), line
