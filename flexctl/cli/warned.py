"""Warnings of flexctl as messages of the command line."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import click

from ..errors import Caution


@contextmanager
def telling_warnings() -> Iterator[None]:
    """Print what flexctl warns of as messages on stderr, each once; other packages' warnings go on."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        finally:
            for text in dict.fromkeys(str(w.message) for w in caught if issubclass(w.category, Caution)):
                click.echo(f"{click.style('warning:', fg='yellow')} {text}", err=True)
    for w in caught:
        if not issubclass(w.category, Caution):
            warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)
