"""Output to the terminal, and how a command ends when its output cannot be written.

Titles of plant files, names of signals and messages may hold any character; control characters are spelled out before
they get to a terminal, so that no file can move its cursor or change its title.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
import warnings
from typing import TYPE_CHECKING, Any, NoReturn

import click

from ..errors import printable

if TYPE_CHECKING:
    from rich.console import Console

EXIT_FAILED, EXIT_WRONG_INPUT, EXIT_INTERRUPTED = 1, 2, 130
PLAIN_WIDTH = 140
"""Columns of a table that does not go to a terminal."""


def say(text: str) -> None:
    """Print a message on stderr."""
    click.echo(printable(text), err=True)


def leave(message: str, code: int) -> NoReturn:
    """Print a message on stderr, one line, and leave the process."""
    with contextlib.suppress(OSError):
        click.echo(f"{click.style('flexctl:', fg='red')} {printable(message)}", err=True)
    sys.exit(code)


def flush() -> None:
    """Put what was printed where it belongs, while an error can still be reported."""
    if sys.stdout is not None:
        sys.stdout.flush()


def leave_unwritten(error: OSError) -> NoReturn:
    """Leave after an error of the system: most often stdout is full, or its reader has gone."""
    silence()
    if error.errno == errno.EPIPE:  # `flexctl list | head -1`: the reader has what it wanted
        sys.exit(EXIT_FAILED)
    what = f"cannot use {error.filename}" if error.filename else "cannot write the output"
    leave(f"{what}: {error.strerror or error}", EXIT_FAILED)


def silence() -> None:
    """Let what is still in the buffers of stdout go nowhere; Python would complain when it ends."""
    with contextlib.suppress(OSError, ValueError, AttributeError, io.UnsupportedOperation):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


def accept_any_encoding() -> None:
    """Let a stream that cannot write a Greek letter or an arrow write a question mark, rather than fail."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def spell_out_warnings() -> None:
    """Let warnings of Python, too, spell control characters out."""
    usual = warnings.formatwarning

    def spelled(message: Any, category: Any, filename: str, lineno: int, line: str | None = None) -> str:
        return printable(usual(message, category, filename, lineno, line))

    warnings.formatwarning = spelled


def console(stream: Any, is_stderr: bool) -> Console:
    """Return a console of rich on which every text is printed as `printable` has it."""
    from rich.console import Console

    class Printable(Console):
        def render_str(self, text: str, **options: Any) -> Any:
            return super().render_str(printable(text), **options)

    if stream is None:  # closed by the shell, `>&-`
        return Printable(file=io.StringIO(), markup=False)
    width = None if stream.isatty() or os.environ.get("COLUMNS") else PLAIN_WIDTH
    return Printable(stderr=is_stderr, highlight=False, markup=False, width=width)
