"""The header file of a law in C99: types, names of signals with units, functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .names import identifiers
from .program import PARTS, Program, derivative


def dimensions(program: Program) -> tuple[int, int, int, int]:
    """Return states (of the widest law), readings, reference numbers, commands."""
    return max(program.states), len(program.measures), 3 * len(program.follows), len(program.drives)


def started(program: Program) -> bool:
    """Whether the state begins with what the readings tell."""
    return program.used("start") and bool(max(program.states))


def comment(lines: Sequence[str]) -> str:
    """Return lines as a comment of C; what would end it is taken out."""
    plain = (line.encode("ascii", "backslashreplace").decode() for line in lines)
    safe = (line.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?").rstrip("\\") for line in plain)
    return "/*\n" + "".join(f" * {line}".rstrip() + "\n" for line in safe) + " */\n"


def signal_names(program: Program, name: str) -> dict[str, list[str]]:
    """Return the names of the indices of readings, references and commands."""
    upper = name.upper()
    return {
        kind: identifiers(f"{upper}_{letter}_{s.name}" for s in signals)
        for kind, letter, signals in (
            ("measures", "Y", program.measures), ("follows", "R", program.follows), ("drives", "U", program.drives),
        )
    }


def header(program: Program, name: str, about: Sequence[str]) -> str:
    """Return the header file."""
    up, (n, ny, nr, nu) = name.upper(), dimensions(program)
    words = signal_names(program, name)
    members = []
    if n:
        lead = f"[{len(program.states)}]" if program.blend else ""
        members.append(f"    {name}_real x{lead}[{n}];  /* states of the law */")
    if program.delay:
        members.append(f"    {name}_real queue[{program.delay}][{nu}];  /* commands that wait, the oldest first */")
    members.append(f"    {name}_real last[{nu}];  /* command of the last period */")
    if program.counts:
        members.append("    uint32_t period;  /* number of the period, from 0 */")
    lines = [comment(about), f"#ifndef {up}_H\n#define {up}_H\n"]
    if program.counts:
        lines.append("#include <stdint.h>\n")
    lines += [
        "#ifdef __cplusplus\nextern \"C\" {\n#endif\n",
        f"#ifdef {up}_FLOAT\ntypedef float {name}_real;\n#else\ntypedef double {name}_real;\n#endif\n",
        "/* One instance of the law. */\ntypedef struct {\n" + "\n".join(members) + f"\n}} {name}_state;\n",
        f"enum {{ {up}_MEASURES = {ny}, {up}_FOLLOWS = {nr}, {up}_DRIVES = {nu} }};\n",
        _indices(up, "readings y", words["measures"], program.measures, 1),
        _indices(up, "references r", words["follows"], program.follows, 3),
        _indices(up, "commands u", words["drives"], program.drives, 1),
        f"#define {up}_SAMPLE_TIME {program.sample_time!r}  /* s */\n",
        f"/* Begin with zero states. */\nvoid {name}_init({name}_state *s);\n",
        "/* Begin where the readings y say the arm stands; no command waits. Returns 1 if they are not finite: states\n"
        f" * are then zero. */\nint {name}_start({name}_state *s, const {name}_real *y);\n",
        "/* One period: call it every sample time with the readings y and the references r; it fills the commands u.\n"
        " * Returns 0; 1 if y or r is not finite, 2 if the command would not be finite: the last command is held\n"
        f" * then, and the state stays. */\nint {name}_step({name}_state *s, const {name}_real *y, "
        f"const {name}_real *r, {name}_real *u);\n",
    ]
    if program.table is not None:
        lines += [
            f"enum {{ {up}_PERIODS = {len(program.table)} }};\n",
            "/* Fill r with the references of a period; those of the last one go on. */\n"
            f"void {name}_reference(uint32_t period, {name}_real *r);\n",
            "/* One period with the references of the table. */\n"
            f"int {name}_follow({name}_state *s, const {name}_real *y, {name}_real *u);\n",
        ]
    lines.append("#ifdef __cplusplus\n}\n#endif\n\n#endif")
    return "\n".join(line for line in lines if line) + "\n"


def _indices(up: str, what: str, words: list[str], signals: Any, each: int) -> str:
    """Return an enumeration of signals with units."""
    if not signals:
        return f"/* {what}: none */\n"
    lines = []
    for i, (word, signal) in enumerate(zip(words, signals, strict=True)):
        units = [derivative(signal.unit, order) or "unit not known" for order in range(each)]
        told = f"[{units[0]}]"
        if each > 1:
            told = ", ".join(f"{part} [{unit}]" for part, unit in zip(PARTS, units, strict=True))
        comma = "," if i + 1 < len(signals) else ""
        lines.append(f"    {word} = {each * i}{comma}  /* {told} */")
    return f"/* {what} */\nenum {{\n" + "\n".join(lines) + "\n};\n"
