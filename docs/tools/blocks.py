"""Code blocks of a page: what they are, and what a console block promises."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

BLOCK = re.compile(r"(?ms)^```(?:\{code-block\} *)?(?P<kind>\w+)\n(?::caption: *(?P<name>\S+)\n)?(?P<text>.*?)^```$")
NUMBER = r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
SKIP = "..."


@dataclass
class Block:
    """A fenced block: its language, the file that its caption names, its text."""

    kind: str
    name: str | None
    text: str


@dataclass
class Command:
    """A line after `$ `, and the lines that it should print; `...` stands for any number of lines."""

    words: str
    shown: list[str] = field(default_factory=list)


def blocks(page: str) -> list[Block]:
    """Return the fenced blocks of a page."""
    return [Block(m["kind"], m["name"], m["text"]) for m in BLOCK.finditer(page)]


def files(page: str) -> dict[str, str]:
    """Return the text of every block with a caption by the name of its file."""
    return {block.name: block.text for block in blocks(page) if block.name}


def commands(block: Block) -> list[Command]:
    """Return the commands of a console block."""
    found: list[Command] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            found.append(Command(line[2:].partition("  #")[0].strip()))
        elif found:
            found[-1].shown.append(line)
    return found


def missing(shown: list[str], printed: str) -> str | None:
    """Return the first line of `shown` that was not printed in this order, None if all were."""
    rest = [line for line in printed.splitlines() if line.strip()]
    free = False
    for line in shown:
        if line.strip() == SKIP:
            free = True
            continue
        if not line.strip():
            continue
        place = next((i for i, found in enumerate(rest) if alike(line, found)), None)
        if place is None or (place > 0 and not free):
            return line
        rest, free = rest[place + 1:], False
    return None


def alike(wanted: str, found: str) -> bool:
    """Return whether two lines have the same words, and numbers that differ by one in the last digit at most."""
    words = [" ".join(re.sub(NUMBER, "#", text).split()) for text in (wanted, found)]
    numbers = [re.findall(NUMBER, text) for text in (wanted, found)]
    return words[0] == words[1] and all(
        abs(float(a) - float(b)) <= 1.001 * unit(a) for a, b in zip(*numbers, strict=True)
    )


def unit(text: str) -> float:
    """Return what one is in the last digit of a number; a whole number is exact."""
    digits, _, power = text.partition("e")
    _, point, places = digits.partition(".")
    return 10.0 ** (int(power or 0) - len(places)) if point else 1e-9 * max(1.0, abs(float(text)))
