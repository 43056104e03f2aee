"""Tables of the documentation that are made from the code, put into the files that show them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..errors import require


def put_below(heading: str, text: str, paths: Sequence[str]) -> None:
    """Put a text in place of what follows the last line with a heading in each file; print it when none is given."""
    for path in map(Path, paths):
        head, mark, _ = path.read_text().rpartition(f"\n{heading}\n")
        require(bool(mark), f'{path}: has no line "{heading}"; the table goes below it')
        path.write_text(f"{head}{mark}\n{text}")
    if not paths:
        print(text)
