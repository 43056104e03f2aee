"""MATLAB 5 to 7 files, the part of the format that plants need: matrices, sparse matrices, texts, cells of texts.

SciPy's reader takes type codes from the file as array indices and ends the process when a damaged file holds a wrong
one (scipy pull request 25349), so files from elsewhere are read here. Structs, objects and functions are skipped.

    file      = header (128 bytes), element, element, ...
    element   = type, size, data, padded to 8 bytes; up to 4 bytes of data share the word of a small tag
    matrix    = element of elements: flags (class, complex), dimensions, name, then data by class, column by column
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

_MATRIX, _COMPRESSED = 14, 15
_CELL, _CHAR, _SPARSE, _DOUBLE, _UINT64 = 1, 4, 5, 6, 15
_COMPLEX, _LOGICAL = 0x0800, 0x0200
_NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_TEXTS = {1: "latin-1", 2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}

Array = npt.NDArray[Any]
Content = Array | str | list[str]


class OtherVersion(ValueError):
    """A MATLAB file of a version that is not read here."""


def read_mat(data: bytes) -> dict[str, Content]:
    """Return the variables of a file; raises ValueError for anything that is not one."""
    if len(data) < 128 or data[126:128] not in (b"IM", b"MI"):
        raise ValueError("it has no header of a MATLAB 5 file; save with '-v7'")
    order = "<" if data[126:128] == b"IM" else ">"
    if struct.unpack(order + "H", data[124:126])[0] != 0x0100:
        raise OtherVersion("not MATLAB version 5 to 7")
    variables: dict[str, Content] = {}
    for kind, part in _elements(data[128:], order, padded=False):
        inner = list(_elements(zlib.decompress(part), order)) if kind == _COMPRESSED else [(kind, part)]
        for kind_inside, matrix in inner:
            if kind_inside == _MATRIX:
                name, content = _matrix(matrix, order)
                if content is not None and name:
                    variables[name] = content
    return variables


def _elements(data: bytes, order: str, padded: bool = True) -> Iterator[tuple[int, bytes]]:
    """Yield type and data of each element; compressed ones, at the top level, are not padded."""
    at = 0
    while at + 8 <= len(data):
        kind, size = struct.unpack_from(order + "II", data, at)
        start, step = at + 8, 8
        if kind >> 16:  # a small element: size and type share a word, the data the next
            kind, size, start, step = kind & 0xFFFF, kind >> 16, at + 4, 0
            if size > 4:
                raise ValueError(f"a small element of {size} bytes")
        if start + size > len(data):
            raise ValueError(f"an element of {size} bytes where {len(data) - start} are left")
        yield kind, data[start : start + size]
        length = size if kind == _COMPRESSED and not padded else -(-size // 8) * 8
        at += step + length if step else 8


@dataclass
class _Header:
    kind: int
    complex: bool
    logical: bool
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return math.prod(self.shape)


def _matrix(data: bytes, order: str) -> tuple[str, Content | None]:
    """Return the name and content of a matrix element; None for kinds that are not read."""
    parts = _elements(data, order)
    first = next(parts, None)
    if first is None:  # an empty cell
        return "", np.zeros((0, 0))
    flags = np.frombuffer(first[1], order + "u4")
    kind = int(flags[0]) & 0xFF
    if kind not in (_CELL, _CHAR, _SPARSE) and not _DOUBLE <= kind <= _UINT64:
        return "", None
    shape = tuple(int(n) for n in _numbers(*next(parts), order))
    if len(shape) < 2 or min(shape) < 0:
        raise ValueError(f"dimensions {shape}")
    name = next(parts)[1].decode("latin-1")
    header = _Header(kind, bool(flags[0] & _COMPLEX), bool(flags[0] & _LOGICAL), shape)
    if kind == _CELL:
        return name, _cells(header, parts, order)
    if kind == _CHAR:
        return name, _text(header, *next(parts, (2, b"")), order)
    return name, _sparse(header, parts, order) if kind == _SPARSE else _dense(header, parts, order)


def _numbers(kind: int, data: bytes, order: str) -> Array:
    if kind not in _NUMBERS:
        raise ValueError(f"unknown type of numbers {kind}")
    return np.frombuffer(data, order + _NUMBERS[kind])


def _values(header: _Header, parts: Iterator[tuple[int, bytes]], order: str) -> Array:
    """Return real, or real and imaginary, numbers."""
    real = _numbers(*next(parts), order)
    if not header.complex:
        return real
    imaginary = _numbers(*next(parts), order)
    if imaginary.size != real.size:
        raise ValueError(f"{real.size} real and {imaginary.size} imaginary numbers")
    values = np.empty(real.size, complex)
    values.real, values.imag = real, imaginary  # a sum with 1j times infinity would not be a number
    return values


def _dense(header: _Header, parts: Iterator[tuple[int, bytes]], order: str) -> Array:
    values = _values(header, parts, order)
    if values.size != header.size:
        raise ValueError(f"{values.size} numbers for dimensions {header.shape}")
    return values.reshape(header.shape, order="F")


def _sparse(header: _Header, parts: Iterator[tuple[int, bytes]], order: str) -> Array:
    rows, starts = (_numbers(*next(parts), order).astype(np.int64) for _ in range(2))
    height, width = header.shape
    if starts.size != width + 1 or starts[0] != 0 or np.any(np.diff(starts) < 0):
        raise ValueError("a sparse matrix with wrong column starts")
    count = int(starts[-1])
    if header.logical:  # MATLAB calls these doubles and writes single bytes
        parts = ((2 if len(part) == count else kind, part) for kind, part in parts)
    values = _values(header, parts, order)[:count]
    columns = np.repeat(np.arange(width), np.diff(starts))
    if (
        values.size != count
        or rows.size < count
        or (count and not 0 <= rows[:count].min() <= rows[:count].max() < height)
    ):
        raise ValueError("a sparse matrix with wrong rows")
    full = np.zeros((height, width), dtype=values.dtype.newbyteorder("="))
    full[rows[:count], columns] = values
    return full


def _text(header: _Header, kind: int, data: bytes, order: str) -> str | list[str]:
    """Return a text, or one per row of a character matrix."""
    if kind not in _TEXTS:
        raise ValueError(f"unknown type of text {kind}")
    codec = _TEXTS[kind]
    letters = data.decode(codec + {"<": "-le", ">": "-be"}[order] if codec in ("utf-16", "utf-32") else codec)
    rows = header.shape[0]
    if rows <= 1:
        return letters
    return [letters[i::rows] for i in range(rows)]


def _cells(header: _Header, parts: Iterator[tuple[int, bytes]], order: str) -> list[str] | None:
    """Return the texts of a cell array, or None when it holds anything else; an empty matrix is an empty text."""
    texts: list[str] = []
    for kind, data in parts:
        content = _matrix(data, order)[1] if kind == _MATRIX else None
        if isinstance(content, np.ndarray) and content.size == 0:
            content = ""
        if not isinstance(content, str):
            return None
        texts.append(content)
    if len(texts) != header.size:
        raise ValueError(f"{len(texts)} cells for dimensions {header.shape}")
    return texts
