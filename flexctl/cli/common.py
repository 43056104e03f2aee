"""Shared by all commands: error and exit codes, options, tables on stdout, progress on stderr, strict JSON."""

from __future__ import annotations

import inspect
import io
import json
import math
import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click
import numpy as np
from click.shell_completion import CompletionItem

from ..abilities import Identified, provenance_of
from ..errors import ConvergenceError, DefinitionError, FlexctlError, OutOfMemory, WriteError, printable, require
from ..kernels import jit
from ..model import FloatArray
from ..support.files import check_writable
from . import terminal
from .terminal import EXIT_INTERRUPTED, EXIT_WRONG_INPUT, say
from .warned import telling_warnings

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ..catalogue import Plant

F = TypeVar("F", bound=Callable[..., Any])
EXIT_FAILED = terminal.EXIT_FAILED
FAILURES = (ConvergenceError, WriteError, OutOfMemory)
"""Errors of a computation, not of the input."""
WORDS = "flexctl.words"
PICTURES = (".png", ".pdf", ".svg")
NAMED = {"PLANT": "list_plants", "CONTROLLER": "list_controllers"}
"""The command that lists the names that a word of the command line may be."""
PATIENCE = 1.0
"""Time after which a command says what it is doing [s]."""
ORDER = (
    "demo", "list", "show", "modes", "bode", "norms", "linearise", "simulate", "validity", "run", "margins", "certify",
    "compare", "sweep", "excite", "measure", "identify", "export", "new", "doctor",
)


class Command(click.Command):
    """A command that refuses an option of one value that is given twice: the first would be ignored, without a word."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Return what is left of the words once options and arguments are known."""
        order = self.make_parser(ctx).parse_args(list(args))[2]
        options = [one for one in order if isinstance(one, click.Option)]
        once = [one for one in options if not (one.multiple or one.count or one.is_flag)]
        for one in once:
            if once.count(one) > 1:
                raise click.UsageError(f"{max(one.opts, key=len)} is given {once.count(one)} times; it takes one value")
        return super().parse_args(ctx, args)


class Group(click.Group):
    """A group of such commands."""

    command_class = Command


class Commands(Group):
    """A group that turns flexctl's errors into one line on stderr and an exit code; `--debug` shows the traceback."""

    group_class = Group

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order of a first session."""
        return sorted(self.commands, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))

    def make_context(self, info_name: str | None, args: list[str], *more: Any, **extra: Any) -> click.Context:
        """Keep the words of the line, which a report states."""
        words = list(args)
        ctx = super().make_context(info_name, args, *more, **extra)
        ctx.meta[WORDS] = words
        return ctx

    def main(
        self, args: Sequence[str] | None = None, prog_name: str | None = None, complete_var: str | None = None,
        standalone_mode: bool = True, **extra: Any,
    ) -> Any:
        """Run a command and leave the process with its exit code."""
        words = list(sys.argv[1:] if args is None else args)
        tell_what_is_compiled()
        if not standalone_mode:
            return super().main(words, prog_name, complete_var, False, **extra)
        try:
            code = super().main(words, prog_name, complete_var, False, **extra)
            terminal.flush()
        except click.ClickException as error:
            told = io.StringIO()
            error.show(told)
            say(told.getvalue().rstrip())
            sys.exit(error.exit_code)
        except (click.Abort, KeyboardInterrupt):
            terminal.leave("interrupted; nothing half-written is left behind", EXIT_INTERRUPTED)
        except (FlexctlError, OSError, MemoryError) as error:
            if "--debug" in words:
                raise
            _leave(error)
        sys.exit(code if isinstance(code, int) else 0)


def _leave(error: FlexctlError | OSError | MemoryError) -> NoReturn:
    if isinstance(error, FlexctlError):
        terminal.leave(str(error), EXIT_FAILED if isinstance(error, FAILURES) else EXIT_WRONG_INPUT)
    if isinstance(error, MemoryError):
        remedy = "use a coarser model, a shorter run or fewer workers"
        terminal.leave(f"out of memory{f' ({error})' if str(error) else ''}; {remedy}", EXIT_FAILED)
    terminal.leave_unwritten(error)


def end_as_interrupt() -> None:
    """Let a request to terminate (SIGTERM), or a terminal that is closed (SIGHUP), clean up as Ctrl-C does."""
    for name in ("SIGTERM", "SIGHUP"):
        kind = getattr(signal, name, None)  # Windows has no SIGHUP; under nohup it is ignored, and stays so
        if kind is not None and signal.getsignal(kind) != signal.SIG_IGN:
            signal.signal(kind, signal.default_int_handler)


def tell_what_is_compiled() -> None:
    """Print a line on stderr when code is compiled for the first time: it takes seconds, and looks like a hang."""
    jit.announce = jit.tell


def debug_option() -> click.Option:
    """Return the --debug option, which `Commands.main` looks for anywhere on the line."""
    return click.Option(["--debug"], is_flag=True, expose_value=False, help="Show the traceback of an error.")


COMPLETED = (".toml", ".py", ".mat", ".npz", ".json", ".mtx")
"""Files that are offered beside names of the catalogue."""


class Known(click.types.StringParamType):
    """A name of the catalogue or the path of a file: any text, and what the shell offers to complete it."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the names and files that begin so; where no name does, the shell completes with files by itself.

        Both at once cannot be left to the shell: the scripts of click forget all names at the word "file".
        """
        import flexctl

        names = [name for name in getattr(flexctl, NAMED[self.kind])() if name.startswith(incomplete)]
        if not names:
            return [CompletionItem(incomplete, type="file")]
        files = sorted(path.name for path in Path().glob("*.*") if path.suffix in COMPLETED)
        return [CompletionItem(name) for name in (*names, *(name for name in files if name.startswith(incomplete)))]


def command(group: click.Group, examples: str) -> Callable[[F], Any]:
    """Register a command whose help page ends with examples."""

    def register(function: F) -> Any:
        lines = [f"  {line}" for line in examples.strip().splitlines()]
        text = "\n".join([inspect.cleandoc(function.__doc__ or ""), "", "\b", "Examples:", *lines])
        made = group.command(function.__name__.strip("_"), help=text)(function)
        for parameter in made.params:
            kind = (parameter.metavar or "").strip("[].")
            if kind in NAMED:
                parameter.type = Known(kind)
        made.params.append(debug_option())
        return made

    return register


plant_argument = click.argument("plant", metavar="PLANT")
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object on stdout instead of tables.")


report_option = click.option(
    "--report", "page", metavar="FILE.html", callback=lambda ctx, option, value: value and target(value, (".html",)),
    help="Write a report that opens in any browser, offline: verdicts, sortable tables, charts to zoom, the "
    "arm in motion.",
)


def repeatable(flag: str, name: str, metavar: str, text: str, *, default: str = "") -> Callable[[F], F]:
    """Return an option that may be given several times, with what holds by default in its help."""
    return click.option(
        flag, name, multiple=True, metavar=metavar,
        help=f"{text}; repeatable." + (f"  [default: {default}]" if default else ""),
    )


def animate_option(text: str) -> Callable[[F], F]:
    """Return --animate."""
    from ..io.film_files import SUFFIXES

    return click.option(
        "--animate", "film", metavar="FILE", callback=lambda ctx, option, value: value and target(value, SUFFIXES),
        help=f"Write {text} in motion: .gif, .html, or .mp4 (which needs ffmpeg).",
    )


def plant_options(function: F) -> F:
    """Add --set and --model."""
    changes = click.option(
        "--set", "settings", multiple=True, metavar="KEY=VALUE",
        help="Override a value of the plant file, e.g. payload.mass=20g or model.sections=40; a number alone is SI; "
        "repeatable.",
    )
    kind = click.option(
        "--model", "kind", metavar="KIND[:KEY=VALUE,...]",
        help="Use another solver than the plant file's, with its options; see `flexctl list`. file.py:Class "
        "and module:Class work too.",
    )
    return changes(kind(function))


LAWS_AS = ("python", "c", "c-float")


def law_option(function: F) -> F:
    """Add --law-as."""
    return click.option(
        "--law-as", "law_kind", type=click.Choice(LAWS_AS), default="python", show_default=True,
        help="How the law runs: c compiles the code that `export law --to c` writes and runs it; c-float "
        "does the same in single precision.",
    )(function)


def law_as(kind: str) -> Callable[[Any], Any] | None:
    """Return what turns a law into what --law-as says, None for the law itself."""
    if kind == "python":
        return None
    from ..export.compiled_c import compiled_c

    return lambda law: compiled_c(law, kind == "c-float")


def load(name: str, settings: Sequence[str], kind: str | None) -> Plant:
    """Return a plant of the catalogue or of a file, with overrides."""
    from ..catalogue import load_plant
    from .specs import formulation

    with telling_warnings():
        return load_plant(name, model=None if kind is None else formulation(kind), overrides=overrides(settings))


def overrides(settings: Sequence[str]) -> dict[str, Any]:
    """Return the values of `--set KEY=VALUE` by key."""
    from .quantities import setting

    table: dict[str, Any] = {}
    for text in settings:
        key, value = setting(text)
        require(key not in table, f'"{key}" is set twice')
        table[key] = value
    return table


def identity(source: Any) -> dict[str, Any]:
    """Return plant, model, overrides and version, which every JSON object carries."""
    from .. import __version__

    about = source.identity if isinstance(source, Identified) else provenance_of(source)
    base = {"plant": "", "model": "", "overrides": {}, "version": __version__}
    return {key: about.get(key, default) for key, default in base.items()}


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it; infinity and NaN, which JSON has not, become null."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, str | int | bool | None) else str(value)


def as_text(value: Mapping[str, Any]) -> str:
    """Return an object as strict JSON."""
    return json.dumps(plain(value), allow_nan=False)


def print_json(value: Mapping[str, Any]) -> None:
    """Print an object as strict JSON on stdout."""
    click.echo(as_text(value))


def stdout() -> Console:
    """Return the console for results."""
    return terminal.console(sys.stdout, False)


def stderr() -> Console:
    """Return the console for progress and messages."""
    return terminal.console(sys.stderr, True)


def table(*columns: str) -> Table:
    """Return an empty table; columns whose heading ends with "<" are aligned left, the others are numbers."""
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for heading in columns:
        made.add_column(
            heading.removesuffix("<"), justify="left" if heading.endswith("<") else "right", overflow="fold"
        )
    return made


def print_table(title: str, listed: Table) -> None:
    """Print a table under its title on stdout; on a narrow terminal one that is too wide is turned, rows for columns,
    and texts wrap, but no number is cut."""
    console = stdout()
    if _least_width(console, listed) > console.width and (console.is_terminal or os.environ.get("COLUMNS")):
        turned = _turned(listed)
        listed = turned if _least_width(console, turned) < _least_width(console, listed) else listed
    console.width = max(console.width, _least_width(console, listed))
    console.print(title, style="bold")
    console.print(listed)
    console.print()


def _least_width(console: Console, listed: Table) -> int:
    """Return how wide a table must be at least; from here on no number in it is broken."""
    for column in listed.columns:
        if column.justify == "right" or column is listed.columns[0]:
            column.no_wrap = True
            texts = [str(text) for text in (column.header, *column.cells)]
            column.min_width = max(len(line) for text in texts for line in text.split("\n"))
    unbounded = console.options.update(max_width=10_000)  # a measure is cut at the width it may have
    return console.measure(listed, options=unbounded).minimum


def _turned(listed: Table) -> Table:
    """Return the table with a row for each of its columns of numbers; its rows, called by their texts, are columns."""
    count, texts = len(listed.rows), [column.justify != "right" for column in listed.columns]
    lead = texts.index(False) if False in texts else 1
    labels, last = [], [""] * lead
    for i in range(count):
        last = [str(list(column.cells)[i]) or last[k] for k, column in enumerate(listed.columns[:lead])]
        labels.append("\n".join(last))
    turned = table("<", *labels)
    for column in listed.columns[lead:]:
        turned.add_row(" ".join(str(column.header).split("\n")), *map(str, column.cells))
    return turned


@contextmanager
def progress(total: int = 1) -> Iterator[Callable[[str, float], None]]:
    """Show a bar on stderr for a job of several runs; yields a function of (what is running, fraction of it done).

    Where stderr is not a terminal, each run is announced on a line of its own instead.
    """
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
    )
    console = stderr()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("preparing", total=float(total))
        done: dict[str, float] = {}

        def report(what: str, fraction: float) -> None:
            if what not in done and not console.is_terminal:
                console.print(f"  {what}")
            done[what] = fraction
            bar.update(task, completed=sum(done.values()), description=printable(what))

        yield report


@contextmanager
def patiently(what: str) -> Iterator[None]:
    """Say on stderr what is being done when it takes more than a second, with the time that it takes on a terminal."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = stderr()
    columns = TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn()
    bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    bar.add_task(printable(what), total=None)

    def show() -> None:
        if console.is_terminal:
            bar.start()
        else:
            console.print(f"  {what}")

    timer = threading.Timer(PATIENCE, show)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        bar.stop()


def target(path: str | Path, suffixes: Sequence[str]) -> Path:
    """Return a path to be written later, or refuse it now rather than after a long computation."""
    found = Path(path)
    if found.suffix.lower() not in suffixes:
        raise DefinitionError(f'-o {found}: the suffix "{found.suffix}" is not one of {", ".join(suffixes)}')
    writable(found.parent, found)
    return found


def folder(path: str | Path) -> Path:
    """Return a folder to be filled later, which may not exist yet, or refuse it now."""
    found = Path(path)
    if os.path.exists(found) and not found.is_dir():
        raise DefinitionError(f"-o {found} is a file; give a folder")
    new = [place for place in (found, *found.parents) if not os.path.exists(place)]
    if new and not new[-1].parent.is_dir():
        raise DefinitionError(f"cannot write {found}: {new[-1].parent} is not an existing folder; make it first")
    try:
        check_writable(made(found) / "out")  # the folder is made, and tried, before anything is computed
    finally:
        for place in new:
            with suppress(OSError):
                place.rmdir()
    return found


def writable(place: Path, wanted: Path) -> None:
    """Raise `DefinitionError` unless a file can be made in a folder."""
    if not place.is_dir():
        raise DefinitionError(f"cannot write {wanted}: {place} is not an existing folder; make it first")
    check_writable(wanted)


def made(place: Path) -> Path:
    """Create a folder."""
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DefinitionError(f"cannot make the folder {place}: {error.strerror}") from error
    return place


def write_report(result: Any, path: Path | None, **options: Any) -> None:
    """Write the page of `--report`; it says what was asked."""
    if path is not None:
        from ..io.report import report

        words = click.get_current_context().find_root().meta.get(WORDS, [])
        tell(report(result, path, asked=" ".join(["flexctl", *(shlex.quote(word) for word in words)]), **options))


def tell(path: Path) -> None:
    """Say on stderr that a file was written."""
    say(f"wrote {path}")


def csv(heads: Sequence[str], columns: Sequence[FloatArray]) -> str:
    """Return columns as comma-separated text that reads back to the same numbers."""
    rows = [",".join(repr(float(x)) for x in row) for row in np.column_stack(columns)]
    return "\n".join([",".join(heads), *rows, ""])


def compact(value: float | None, digits: int = 4) -> str:
    """Return a number for a table."""
    return "" if value is None else f"{value:.{digits}g}"
