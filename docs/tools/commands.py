"""The reference of the command line, from the commands themselves."""

from __future__ import annotations

import re
from typing import Any

import click

HEAD = """# Commands

`flexctl COMMAND --help` prints what stands here. Numbers go to stdout, progress and messages to stderr; commands that
print numbers take `--json`. Exit codes: 0 done, 1 failed numerically or a requirement not met, 2 wrong input,
130 interrupted.
[A session on the command line](command-line.md) shows them at work.

"""


def pages() -> dict[str, str]:
    """Return commands.md."""
    from flexctl.__main__ import cli

    context = click.Context(cli, info_name="flexctl")
    text = "".join(_section(cli.get_command(context, name), context, name) for name in cli.list_commands(context))
    return {"commands.md": HEAD + text}


def _section(command: Any, parent: click.Context, name: str, level: int = 2) -> str:
    context = click.Context(command, info_name=name, parent=parent)
    words = f"{context.command_path} {' '.join(command.collect_usage_pieces(context))}"
    prose, _, examples = (command.help or "").partition("Examples:\n")
    parts = [f"{'#' * level} {context.command_path}\n", f"```text\n{words}\n```\n", _prose(prose)]
    rows = [row for row in (p.get_help_record(context) for p in command.get_params(context)) if row]
    if rows:
        parts.append("| option | |\n|---|---|")
        parts += [f"| `{_cell(option)}` | {_cell(_escaped(text))} |" for option, text in rows]
        parts.append("")
    if examples:
        lines = examples.rstrip().splitlines()
        parts.append("```text\n" + "\n".join(line.removeprefix("  ") for line in lines) + "\n```\n")
    if isinstance(command, click.Group):
        parts += [
            _section(command.get_command(context, inner), context, inner, level + 1)
            for inner in command.list_commands(context)
        ]
    return "\n".join(parts) + "\n"


def _prose(text: str) -> str:
    """Return paragraphs; those after a \\b keep their lines."""
    found = []
    for block in re.split(r"\n\s*\n", text.strip()):
        lines = block.replace("\b", "\b\n").splitlines() if block.startswith("\b") else [block]
        if lines[0].strip() == "\b" and any(lines[1:]):
            found.append("```text\n" + "\n".join(line for line in lines[1:] if line.strip()) + "\n```")
        elif lines[0].strip() != "\b":
            found.append(_escaped(" ".join(block.split())))
    return "\n\n".join(found) + "\n"


def _escaped(text: str) -> str:
    return re.sub(r"([*_<>\[\]{}$])", r"\\\1", text)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
