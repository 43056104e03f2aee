"""Names that C allows, made from names of signals."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..errors import require

_WORDS = """
auto break case char const continue default do double else enum extern float for goto if inline int long
register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
asm bool true false main alignas alignof atomic_bool constexpr nullptr typeof thread_local complex imaginary
noreturn and or not xor bitand bitor compl and_eq or_eq not_eq xor_eq class namespace template this new delete
try catch throw private protected public operator friend virtual using typename
"""
KEYWORDS = frozenset(_WORDS.split())
"""Reserved in C, or in C++ that includes the header."""

FILES = frozenset({"test"})
"""Names of C files that stand beside that of a law, whatever the law is called."""


def identifier(text: str) -> str:
    """Return a text as a C identifier: other characters become "_", a keyword gets one behind it.

    Parameters
    ----------
    text : str
        A name, e.g. of a signal: "joint1.angle".
    """
    found = re.sub(r"[^A-Za-z0-9_]", "_", text).strip("_")
    require(bool(found), f'"{text}" has no letter or digit of which a name in C could be made; give name="..."')
    if found[0].isdigit():
        found = f"n{found}"
    return f"{found}_" if found in KEYWORDS or found.lower() in FILES else found


def identifiers(texts: Iterable[str]) -> list[str]:
    """Return C identifiers in upper case for names, different ones for different names, in their order."""
    found: list[str] = []
    for text in texts:
        wanted = identifier(text).upper()
        name, number = wanted, 2
        while name in found:
            name, number = f"{wanted}_{number}", number + 1
        found.append(name)
    return found
