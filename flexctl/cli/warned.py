"""Warnings of flexctl as messages of the command line."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import click

from ..errors import Caution

MOST = 5


@contextmanager
def telling_warnings() -> Iterator[None]:
    """Print what flexctl warns of as messages on stderr, each once; other packages' warnings go on.

    Of more than `MOST` of one kind, as many runs may give, the others are counted.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        finally:
            _tell([w for w in caught if issubclass(w.category, Caution)])
    for w in caught:
        if not issubclass(w.category, Caution):
            warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)


def _tell(caught: list[warnings.WarningMessage]) -> None:
    for kind in dict.fromkeys(w.category for w in caught):
        texts = list(dict.fromkeys(str(w.message) for w in caught if w.category is kind))
        for text in texts[:MOST]:
            click.echo(f"{click.style('warning:', fg='yellow')} {text}", err=True)
        if texts[MOST:]:
            click.echo(f"{click.style('warning:', fg='yellow')} and {len(texts) - MOST} more like these", err=True)
