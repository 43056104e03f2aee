"""Tables of measured numbers as laboratories write them: .csv in UTF-8 or UTF-16, decimal points or commas.

Lines that begin with # or % are comments; so is "sep=;", which spreadsheets write first. A column that holds words or
gaps is kept with its fault, which is raised where the column is used.
"""

from __future__ import annotations

import codecs
import csv
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import DefinitionError, require
from ..model import FloatArray
from ..support.checks import is_number
from ..support.files import check_kind
from ..support.units import is_unit

Columns = dict[str, FloatArray]
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
_ROUND, _SLASHED = re.compile(r"(.+?)\s*\((.+)\)"), re.compile(r"([^/]+)/(.+)")


class Table(NamedTuple):
    """Columns by head, what the first comment tells, and why a column cannot be used."""

    columns: Columns
    about: dict[str, Any]
    faults: dict[str, str]


def read_table(source: Path) -> Table:
    """Return the table of a .csv file."""
    about: dict[str, Any] = {}
    rows: list[tuple[int, list[str]]] = []
    lines = _text(source).splitlines()
    separator = _separator(lines)
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if text.startswith("# about:"):
            about = json_object(text.removeprefix("# about:"), "about")
        elif not _is_remark(text, not rows):
            rows.append((number, next(csv.reader([line], delimiter=separator))))
    require(bool(rows), "is empty; it begins with a header: time [s],torque [N m],angle [rad]")
    heads = [bracketed(head.strip()) for head in rows[0][1]]
    numeric = all(is_number(head) for head in heads)
    require(not numeric, "has no header with names and units; write one: time [s],torque [N m],angle [rad]")
    rows = rows[1:]
    if rows and _is_units(heads, rows[0]):
        heads = [f"{name} [{unit.strip().strip('[]()')}]" for name, unit in zip(heads, rows[0][1], strict=True)]
        rows = rows[1:]
    for number, row in rows:
        if len(row) != len(heads):
            raise DefinitionError(_other_count(number, row, lines[number - 1], heads, separator))
    if heads[-1] == "" and all(not row[-1].strip() for _, row in rows):  # every line ends with a separator
        heads, rows = heads[:-1], [(number, row[:-1]) for number, row in rows]
    require(len({*heads}) == len(heads), f"two columns have one name; there are {', '.join(heads)}")
    decimal = _decimal(rows, separator)
    columns, faults = {}, {}
    for i, head in enumerate(heads):
        columns[head], fault = _numbers([(number, row[i]) for number, row in rows], head, decimal)
        if fault:
            faults[head] = fault
    return Table(columns, about, faults)


def _is_remark(text: str, first: bool) -> bool:
    """Whether a line holds nothing of the table; "sep=;" does only before the head."""
    return not text or text.startswith(("#", "%")) or (first and text.lower().startswith("sep="))


def _other_count(number: int, row: Sequence[str], line: str, heads: Sequence[str], separator: str) -> str:
    """Return that a line has more or fewer columns than the header, and why that may be."""
    said = f"line {number} has {len(row)} columns where the header has {len(heads)}"
    fitting = [word for mark, word in SEPARATORS.items() if line.count(mark) == len(heads) - 1]
    if len(row) == 1 and fitting:
        other = fitting[0]
        return f"{said}: its columns are parted by {other}, those of the header by {SEPARATORS[separator]}"
    if len(heads) == 1:
        return f"{said}: part the columns of the header as those of the numbers"
    if separator == "," and len(row) > len(heads):
        return f"{said}: with decimal commas part the columns by semicolons or tabs"
    return said


def _decimal(rows: Sequence[tuple[int, Sequence[str]]], separator: str) -> str:
    """Return the decimal mark: a comma may be one where it does not part columns, but not beside points."""
    if separator == ",":
        return "."
    seen: dict[str, int] = {}
    for number, row in rows:
        for text in row:
            for mark, other in ((",", "."), (".", ",")):
                if mark in text and other not in text and is_number(text.replace(mark, ".", 1)):
                    seen.setdefault(mark, number)
    if len(seen) == 2:
        raise DefinitionError(
            f"numbers have decimal commas (line {seen[',']}) and points (line {seen['.']}): one of them may part "
            "thousands; write all with one of them"
        )
    return next(iter(seen), ".")


def _numbers(cells: Sequence[tuple[int, str]], head: str, decimal: str) -> tuple[FloatArray, str]:
    """Return the numbers of a column, and its first fault."""
    found, fault = np.full(len(cells), np.nan), ""
    for k, (number, text) in enumerate(cells):
        said = text.replace(decimal, ".", 1)
        if is_number(said) and "_" not in said:
            found[k] = float(said)
        elif not fault:
            wrong = "is empty" if not text.strip() else f'"{text.strip()}" is not a number'
            fault = f'line {number}, column "{head}": {wrong}'
    return found, fault


def _text(source: Path) -> str:
    """Return the text of a file: UTF-8, or UTF-16 with its mark, as spreadsheets write it."""
    try:
        content = source.read_bytes()
    except OSError as error:
        raise DefinitionError(f"cannot read it: {error.strerror or error}") from error
    check_kind(content, ".csv")
    marked = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        text = content.decode("utf-16" if marked else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DefinitionError(
            f"line {line}: not UTF-8 text (byte 0x{content[error.start]:02x}); save it as CSV in UTF-8, or write units "
            "in plain letters (deg, um)"
        ) from error
    require("\0" not in text, "has zero bytes: UTF-16 without its mark, or no text at all; save it as CSV in UTF-8")
    return text


def bracketed(head: str) -> str:
    """Return "name [unit]" of "name (unit)" and "name/unit"; what holds no known unit stays as it is."""
    found = _ROUND.fullmatch(head) or _SLASHED.fullmatch(head)
    if found is None or "[" in head or not is_unit(found[2].strip()):
        return head
    return f"{found[1].strip()} [{found[2].strip()}]"


def _is_units(heads: Sequence[str], line: tuple[int, Sequence[str]]) -> bool:
    """Whether a row holds units of columns whose heads state none; one that holds some is refused for the others."""
    number, row = line
    if len(row) != len(heads) or any("[" in head for head in heads):
        return False
    words = [text.strip().strip("[]()") for text in row]
    if any(is_number(word) and word != "1" for word in words):
        return False
    told = zip(heads, words, strict=True)
    unknown = [f'"{word}" ({head})' for head, word in told if word != "1" and not is_unit(word)]
    if len(unknown) == len(words):
        return False
    require(not unknown, f"line {number}: unknown unit {', '.join(unknown)}")
    return True


def _separator(lines: Sequence[str]) -> str:
    head = next((line for line in lines if not _is_remark(line.strip(), True)), "")
    return max(SEPARATORS, key=head.count)


def json_object(value: Any, what: str) -> dict[str, Any]:
    """Return an object of JSON text."""
    if isinstance(value, dict):
        return value
    try:
        found = json.loads(str(np.asarray(value).item()) if not isinstance(value, str) else value)
    except ValueError as error:
        raise DefinitionError(f'"{what}" is not JSON: {error}') from error
    require(isinstance(found, dict), f'"{what}" must be an object {{name: unit}} in JSON')
    return dict(found)
