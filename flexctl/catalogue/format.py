"""The reference of the plant file format, written from the data classes that define it.

`python -m flexctl.catalogue.format` prints it; with `docs/plant-files.md` behind, it replaces the tables of that file.
A test compares the two.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ..errors import require
from ..machine.schema import Ascending, Count, Field, Quantity
from .definition import TABLES, Table
from .expected import EVALUATORS, Expected

BRACKETS = {"single": "[{}]", "array": "[[{}]]", "named": "[{}.NAME]"}


def reference() -> str:
    """Return the tables of the file format as Markdown."""
    parts = [_section(table) for table in TABLES.values()]
    # no list of kinds: a new solver is one line in the registry, not an edit here too
    outside = "or where a class of your own is, whose code is then executed (own-model.md)"
    text = f"`kind`, one that `flexctl list` names, {outside}; every other key is an option of that kind."
    parts.append(f"### `[model]`\n\n{text}\n")
    parts.append(_section(Table("expected", "array", Expected, "a value that the built plant must reproduce")))
    rows = [f"| `{name}` | {(f.__doc__ or '').splitlines()[0]} |" for name, f in sorted(EVALUATORS.items())]
    parts.append("\n".join(["| quantity | |", "|---|---|", *rows]) + "\n")
    return "\n".join(parts)


def _section(table: Table) -> str:
    title = f"### `{BRACKETS[table.shape].format(table.name)}`: {table.text}"
    rows = [_row(field) for field in table.fields.values()]
    head = ["| key | unit | from | to | default | meaning |", "|---|---|---|---|---|---|"]
    return "\n".join([title, "", *head, *rows, ""])


def _row(field: Field) -> str:
    spec = field.spec
    low, high = (f"{spec.low:g}", f"{spec.high:g}") if isinstance(spec, Quantity | Count | Ascending) else ("", "")
    default = "required" if field.required else _default(field.default)
    return f"| `{field.name}` | {spec.unit} | {low} | {high} | {default} | {spec.text} |"


def _default(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value) if isinstance(value, int) or (isinstance(value, str) and value) else "none"


def main(arguments: list[str]) -> None:
    """Print the reference, or put it in place of what follows the last `## Tables` of the file named."""
    for path in map(Path, arguments):
        head, mark, _ = path.read_text().rpartition("\n## Tables\n")
        require(bool(mark), f'{path}: has no line "## Tables"; the reference goes below it')
        path.write_text(f"{head}{mark}\n{reference()}")
    if not arguments:
        print(reference())


if __name__ == "__main__":
    main(sys.argv[1:])
