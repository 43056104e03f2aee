"""Universal files: dataset 58 (functions at nodal degrees of freedom), in text and binary (58b), and 164 (units), read
only.

A dataset stands between two lines "    -1". Of 58 the first line is the number, then

    lines 1 to 5     texts
    line 6           kind of function (1 time response, 2 and 3 spectra, 4 frequency response, 6 coherence), ...,
                     response name, node, direction, reference name, node, direction
    line 7           kind of numbers (2, 4 real; 5, 6 complex; even ones double), how many, 1 if equally spaced, first
                     abscissa, its increment
    lines 8 to 11    abscissa, ordinate numerator, denominator, z axis: kind, exponents, label, unit
    then             the numbers

Names of signals come from nodes and directions ("1+Z"), units from lines 9 and 10: the unit in words, else that of the
kind, in SI or in the units of dataset 164 before it. Files as pyuff writes them are read too: their binary data are
all of double precision and longer than they say, their times have six digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DefinitionError, require
from ..model import FloatArray
from ..support.files import check_kind

_DIRECTIONS = {
    0: "",
    1: "+X",
    -1: "-X",
    2: "+Y",
    -2: "-Y",
    3: "+Z",
    -3: "-Z",
    4: "+RX",
    -4: "-RX",
    5: "+RY",
    -5: "-RY",
    6: "+RZ",
    -6: "-RZ",
}
TIME, RESPONSE = 1, 4
_UNITS = {8: "m", 11: "m/s", 12: "m/s^2", 13: "N", 9: "N", 16: "V", 2: "1", 3: "1", 15: "Pa"}
"""Kinds of data with the SI unit that a file means which states none."""
_FACTORS = {"m": (1, 0), "m/s": (1, 0), "m/s^2": (1, 0), "N": (0, 1), "Pa": (-2, 1)}
"""Powers of the factors of length and force (dataset 164) by which a number is divided to be in SI."""


@dataclass(frozen=True, eq=False)
class Function:
    """One function of a universal file."""

    kind: int
    response: str
    reference: str
    x: Any
    values: Any
    unit: str
    reference_unit: str
    title: str


def read_functions(path: str | Path) -> list[Function]:
    """Return every function (dataset 58) of a universal file; other datasets are passed over.

    Raises
    ------
    DefinitionError
        When the file cannot be read, holds no dataset 58 or a damaged one.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise DefinitionError(f"cannot read it: {error.strerror or error}") from error
    check_kind(content, Path(path).suffix.lower() or ".uff")
    found = []
    at, factors = 0, (1.0, 1.0)
    while (block := _next_block(content, at)) is not None:
        head, body, at = block
        words = head.split()
        if words and words[0] in (b"58", b"58b"):
            try:
                found.append(_function(words, body, factors))
            except (ValueError, IndexError) as error:
                raise DefinitionError(f"dataset 58 number {len(found) + 1} is damaged: {error}") from error
        if words and words[0] == b"164":
            factors = _factors(body)
    require(bool(found), "holds no dataset 58 (functions); is it a universal file?")
    return found


def _next_block(content: bytes, at: int) -> tuple[bytes, bytes, int] | None:
    """Return head line, body and end of the next dataset."""
    begin = _marker(content, at)
    if begin is None:
        return None
    start = begin[1]
    line_end = content.find(b"\n", start)
    if line_end < 0:
        return None
    head = content[start:line_end].strip()
    body_at = line_end + 1
    words = head.split()
    if words and words[0] == b"58b" and len(words) >= 5:  # binary: its size is stated, its bytes may look like anything
        lines, size = int(words[3]), int(words[4])
        data_at = body_at
        for _ in range(lines):
            data_at = content.index(b"\n", data_at) + 1
        sizes = [size, *_sizes(content[body_at:data_at])]
        size = next((n for n in sizes if _ends(content, data_at + n)), size)
        end = _marker(content, data_at + size)
        return head, content[body_at : data_at + size], end[1] if end else len(content)
    end = _marker(content, body_at)
    if end is None:
        raise DefinitionError(f"dataset {head.decode('ascii', 'replace')} has no end; the file is cut off")
    return head, content[body_at : end[0]], end[1]


def _sizes(lines: bytes) -> list[int]:
    """Return the lengths that binary data may have by line 7: as the format says, and all of double precision."""
    try:
        kind, count, even = (int(lines.split(b"\n")[6][i : i + 10]) for i in (0, 10, 20))
    except (ValueError, IndexError):
        return []
    parts, wide = (2 if kind in (5, 6) else 1), (8 if kind in (4, 6) else 4)
    return [count * (parts * wide + (0 if even else 4)), count * (parts + (0 if even else 1)) * 8]


def _ends(content: bytes, at: int) -> bool:
    """Whether a dataset ends there: with the line "-1", perhaps after the end of a line."""
    return content[at : at + 12].lstrip(b"\r\n").partition(b"\n")[0].strip() == b"-1"


def _factors(body: bytes) -> tuple[float, float]:
    """Return the factors of length and force of dataset 164."""
    text = body.decode("latin-1").replace("D", "E").replace("d", "e")
    numbers = "".join(text.splitlines(True)[1:]).split()
    try:
        length, force = float(numbers[0]), float(numbers[1])
    except (ValueError, IndexError):
        raise DefinitionError("dataset 164 (units) is damaged: it holds no factors of length and force") from None
    require(length > 0.0 and force > 0.0, f"dataset 164 (units) has factors {length:g} and {force:g}, not above zero")
    return length, force


def _marker(content: bytes, at: int) -> tuple[int, int] | None:
    """Return start and end of the next line that is "-1"."""
    while at < len(content):
        end = content.find(b"\n", at)
        end = len(content) if end < 0 else end
        if content[at:end].strip() == b"-1":
            return at, end + 1
        at = end + 1
    return None


def _function(words: list[bytes], body: bytes, factors: tuple[float, float]) -> Function:
    lines, rest = [], body
    for _ in range(11):
        line, _, rest = rest.partition(b"\n")
        lines.append(line.decode("latin-1").rstrip("\r"))
    kind, response, reference = _places(lines[5])
    fields = [lines[6][i : i + 10] for i in (0, 10, 20)] + [lines[6][i : i + 13] for i in (30, 43, 56)]
    number, count, even = (int(f) for f in fields[:3])
    first, step = float(fields[3] or 0.0), float(fields[4] or 0.0)
    require(number in (2, 4, 5, 6), f"numbers of kind {number} are not known")
    complex_, double = number in (5, 6), number in (4, 6)
    per = (2 if complex_ else 1) + (0 if even else 1)
    raw = _binary(words, rest, double, per * count, bool(even), complex_) if words[0] == b"58b" else _text(rest, double)
    if raw.size < per * count:
        raise ValueError(f"{raw.size} numbers where {per * count} are announced")
    table = raw[: per * count].reshape(count, per)
    x = first + step * np.arange(count) if even else table[:, 0]
    parts = table if even else table[:, 1:]
    values = parts[:, 0] + 1j * parts[:, 1] if complex_ else parts[:, 0]
    (top, above), (bottom, below) = (_unit(line, factors) for line in lines[8:10])
    if kind != RESPONSE:
        below = 1.0
    return Function(kind, response, reference, x, values * (above / below), top, bottom, lines[0].strip())


def _places(line: str) -> tuple[int, str, str]:
    kind = int(line[0:5])
    named = [(line[31:41], line[41:51], line[51:55]), (line[56:66], line[66:76], line[76:80])]
    places = []
    for name, node, direction in named:
        text = name.strip()
        text = "" if text.upper() == "NONE" else text
        places.append(f"{text or int(node or 0)}{_DIRECTIONS.get(int(direction or 0), '')}")
    return kind, places[0], places[1]


def _unit(line: str, factors: tuple[float, float]) -> tuple[str, float]:
    """Return the unit of an axis: what stands in the text, else the SI unit of its kind; and what numbers are times."""
    text = line[46:68].strip()
    if text and text.upper() != "NONE":
        return text, 1.0
    unit = _UNITS.get(int(line[0:10] or 0), "")
    length, force = _FACTORS.get(unit, (0, 0))
    return unit, float(factors[0] ** -length * factors[1] ** -force)


def _text(rest: bytes, double: bool) -> FloatArray:
    """Return the numbers of a text; fixed columns may run together, and exponents may be written D."""
    text = rest.decode("latin-1").replace("D", "E").replace("d", "e")
    try:
        return np.array(text.split(), float)
    except ValueError:
        width = 20 if double else 13
        cells = [line[i : i + width] for line in text.splitlines() for i in range(0, len(line.rstrip()), width)]
        return np.array([float(cell) for cell in cells if cell.strip()])


def _binary(
    words: list[bytes], rest: bytes, double: bool, numbers: int, even: bool, complex_: bool
) -> FloatArray:
    order = "<" if int(words[1]) == 1 else ">"
    require(int(words[2]) == 2, "binary numbers are not IEEE 754, which alone is read")
    all_double = len(rest) >= 8 * numbers
    if all_double or even or not double:
        double |= all_double
        return np.frombuffer(rest, f"{order}f{8 if double else 4}", len(rest) // (8 if double else 4)).astype(float)
    # unequally spaced: the abscissa stays in single precision
    fields = [("x", f"{order}f4"), ("y", f"{order}f8", (2 if complex_ else 1,))]
    kind = np.dtype(fields)
    table = np.frombuffer(rest, kind, len(rest) // kind.itemsize)
    return np.column_stack([table["x"].astype(float), table["y"].astype(float)]).ravel()


def time_signals(path: str | Path) -> tuple[dict[str, Any], dict[str, str], dict[str, Any]]:
    """Return the time responses of a universal file as columns, units and whatever else the file says."""
    found = [f for f in read_functions(path) if f.kind == TIME]
    require(bool(found), "holds no time responses (functions of kind 1); its frequency responses: identify.read_frf")
    columns: dict[str, Any] = {"time": evened(found[0].x)}
    units = {"time": "s"}
    for f in found:
        same = f.x.size == found[0].x.size and np.allclose(f.x, found[0].x, rtol=1e-6, atol=1e-9)
        require(same, f'signal "{f.response}" has other times than "{found[0].response}"; records need the same')
        require(f.response not in columns, f'two signals are called "{f.response}"')
        columns[f.response] = f.values.real
        if f.unit:
            units[f.response] = f.unit
    return columns, units, {}


def evened(x: FloatArray) -> FloatArray:
    """Return times at equal intervals where they are so to the six digits that a text of single precision has."""
    x = np.asarray(x, float)
    even = np.asarray(np.linspace(x[0], x[-1], x.size), float)
    with np.errstate(divide="ignore"):
        unit = 10.0 ** (np.floor(np.log10(np.maximum(np.abs(x), 1e-300))) - 5.0)
    # both ends are rounded too
    allowed = 0.5 * unit + 0.5 * max(float(unit[0]), float(unit[-1])) + 1e-12 * abs(float(x[-1]))
    return even if bool(np.all(np.abs(x - even) <= allowed)) else x
