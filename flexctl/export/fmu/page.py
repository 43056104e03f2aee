"""The page that goes with a unit."""

from __future__ import annotations

import html
from collections.abc import Sequence

from .description import Variable


def page(name: str, text: Sequence[str], variables: Sequence[Variable], notes: Sequence[str]) -> str:
    """Return documentation/index.html: paragraphs, notes, and the inputs and outputs in a table."""
    rows = [
        f"<tr><td>{html.escape(v.name)}</td><td>{v.causality}</td><td>{html.escape(v.unit)}</td>"
        f"<td>{html.escape(v.description)}</td></tr>"
        for v in variables
        if v.causality != "local"
    ]
    told = "".join(f"<li>{html.escape(note)}</li>" for note in notes)
    return "\n".join([
        "<!DOCTYPE html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>{html.escape(name)}</title></head><body>',
        f"<h1>{html.escape(name)}</h1>", *(f"<p>{html.escape(part)}</p>" for part in text),
        f"<ul>{told}</ul>" if told else "",
        "<table><tr><th>variable</th><th>kind</th><th>unit</th><th>what it is</th></tr>", *rows, "</table>",
        "</body></html>", "",
    ])
