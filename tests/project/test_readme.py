"""The code of the README and of the pages of docs/ runs, and prints what they say."""

from __future__ import annotations

import re
import shlex
import sys
import warnings
from pathlib import Path

import pytest
from click.testing import CliRunner

from flexctl.__main__ import cli

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))

from tools import blocks  # noqa: E402

PAGES = {path.stem: path.read_text(encoding="utf-8") for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]}
SNIPPETS = [
    pytest.param(block.text, id=f"{page}-{number}")
    for page, text in PAGES.items() for number, block in enumerate(blocks.blocks(text))
    if page != "own-model"  # tests/models/test_outside.py runs it, with its files
    and block.kind == "python" and not block.name and "\nprint(" in block.text
]
CONSOLES = [name for name, text in PAGES.items() if any(block.kind == "console" for block in blocks.blocks(text))]
NUMBER = r"\d+\.\d+"
SIBLING = re.compile(r"\]\((?!https?:|#)([^)#\s]+)(?:#([\w-]+))?\)")
MADE = ("commands.md", "gallery/", "api/")
"""Folders that exist on the site alone."""


def test_there_is_code_with_numbers() -> None:
    codes = [snippet.values[0] for snippet in SNIPPETS]
    assert len(codes) >= 9
    assert sum(len(re.findall(rf"(?m)^print\(.*#.*{NUMBER}", str(code))) for code in codes) >= 20
    assert "start" in CONSOLES


@pytest.mark.parametrize("code", SNIPPETS)
def test_it_runs_and_prints_the_numbers_of_its_comments(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Comment and print are compared number by number, to the digits of the comment."""
    monkeypatch.chdir(tmp_path)  # some write files
    printed: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("always")  # one of them is what a block shows
        exec(compile(code, "page", "exec"), {"print": lambda *values: printed.append(" ".join(map(str, values)))})
    lines = [line for line in code.splitlines() if line.startswith("print(")]
    for line, shown in zip(lines, printed, strict=True):
        wanted, found = (re.findall(NUMBER, text) for text in (line.partition("#")[2], shown))
        assert found or not wanted
        for text, value in zip(wanted, found, strict=False):
            assert float(value) == pytest.approx(float(text), abs=0.501 * 10.0 ** -len(text.partition(".")[2])), line


@pytest.mark.parametrize("page", CONSOLES)
def test_commands_print_what_the_page_shows(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In an empty folder with the files of the page, in a terminal as wide as the page's tables."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    for name, text in blocks.files(PAGES[page]).items():
        Path(name).write_text(text, encoding="utf-8")
    for block in blocks.blocks(PAGES[page]):
        for command in blocks.commands(block) if block.kind == "console" else ():
            program, *words = shlex.split(command.words)
            assert program == "flexctl"
            done = CliRunner().invoke(cli, words)
            assert done.exit_code == 0, f"{command.words}\n{done.output}"
            assert (line := blocks.missing(command.shown, done.stdout)) is None, f"{line}\nnot in\n{done.stdout}"


@pytest.mark.parametrize("page", CONSOLES)
def test_numbers_of_the_text_are_those_of_the_blocks(page: str) -> None:
    shown = [float(x) for block in blocks.blocks(PAGES[page]) for x in re.findall(blocks.NUMBER, block.text)]
    text = blocks.BLOCK.sub("", PAGES[page])
    told = re.findall(rf"(?<![\w.]){NUMBER}(?![\w.]*\.)", re.sub(r"`[^`]*`", "", text))
    assert told
    strangers = [x for x in told if not any(abs(abs(y) - float(x)) <= 0.501 * blocks.unit(x) for y in shown)]
    assert strangers == []


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    folder = ROOT if page == "README" else ROOT / "docs"
    for file, heading in SIBLING.findall(blocks.BLOCK.sub("", PAGES[page])):
        if not file.startswith(MADE):
            assert (folder / file).exists(), file
        if heading:
            names = re.findall(r"(?m)^#+ (.+)$", (folder / file).read_text(encoding="utf-8"))
            assert heading in [re.sub(r"[^\w -]", "", name.lower()).replace(" ", "-") for name in names], heading


class TestTheComparison:
    """What the checks above rest on."""

    def test_another_number_is_noticed(self) -> None:
        assert blocks.missing(["a  1.25 m"], "a 1.26 m\n") is None
        assert blocks.missing(["a  1.25 m"], "a 1.27 m\n") == "a  1.25 m"
        assert blocks.missing(["a  1 m"], "a 2 m\n") == "a  1 m"

    def test_another_word_order_or_gap_is_noticed(self) -> None:
        assert blocks.missing(["b", "a"], "a\nb\n") == "b"
        assert blocks.missing(["a", "c"], "a\nb\nc\n") == "c"
        assert blocks.missing(["a", "...", "c"], "a\nb\nc\n") is None
        assert blocks.missing(["...", "d"], "a\nb\nc\n") == "d"

    def test_blocks_have_their_names(self) -> None:
        page = "```{code-block} toml\n:caption: x.toml\na = 1\n```\n\n```console\n$ flexctl list  # all\nb\n```\n"
        assert blocks.files(page) == {"x.toml": "a = 1\n"}
        (command,) = blocks.commands(blocks.blocks(page)[1])
        assert (command.words, command.shown) == ("flexctl list", ["b"])
