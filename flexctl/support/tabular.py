"""Results as tables: `to_pandas`, `save` and the look in a notebook, the same for every kind of result.

A result says what its columns are (`_table`) and what else there is to know of it (`_about`); the rest is here.

    .csv      a head with units, then numbers with all their digits; any program
    .npz      an array for each column, "units" and "about" as JSON text
    .mat      a variable for each column, named as MATLAB allows; "columns", "units" and "about" beside them
    .json     {"about": {...}, "units": {...}, "columns": {...}}; null for what is not a number
    .parquet  needs pandas with pyarrow
"""

from __future__ import annotations

import csv
import html
import io
import json
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, ClassVar

import numpy as np

from ..errors import DefinitionError, NotAvailable, did_you_mean
from .files import write_atomically

_MATLAB_WORDS = (
    "break", "case", "catch", "classdef", "continue", "else", "elseif", "end", "for", "function", "global", "if",
    "otherwise", "parfor", "persistent", "return", "spmd", "switch", "try", "while",
)
SHOWN = 6
"""Rows at either end of a long table that a notebook shows."""


@dataclass(frozen=True, eq=False)
class Column:
    """One column: numbers, or texts and numbers with None where there is nothing.

    Attributes
    ----------
    name : str
        Its name.
    values : sequence
        As many as every other column has.
    unit : str
        Unit of the numbers; empty where there is none.
    note : str
        What follows the unit in the head of a .csv file.
    """

    name: str
    values: Any
    unit: str = ""
    note: str = ""

    @property
    def head(self) -> str:
        """Name and unit, as in the head of a .csv file."""
        return self.name + (f" [{self.unit}]" if self.unit else "") + self.note

    @property
    def array(self) -> Any:
        """The numbers, nan where there is none; texts where one of them is a text."""
        if isinstance(self.values, np.ndarray):
            return self.values
        if any(isinstance(x, str) for x in self.values):
            return np.array(["" if x is None else str(x) for x in self.values], dtype=str)
        return np.array([math.nan if x is None else x for x in self.values], dtype=float)


class Tabular:
    """A result that is a table: mixed into `Response`, `FrequencyResponse`, `Modes`, `Certificate` and others."""

    _index: ClassVar[str] = ""
    """Column that pandas takes for the index."""

    def _table(self) -> list[Column]:
        """Return the columns, all of one length."""
        raise NotImplementedError

    def _about(self) -> Mapping[str, Any]:
        """Return what else there is to know, for files: numbers, texts, lists and tables of them."""
        return {}

    def _summary(self) -> list[Column]:
        """Return the columns that a notebook shows."""
        return self._table()

    def _caption(self) -> str:
        """Return the line above them."""
        return repr(self)

    def _formats(self) -> dict[str, Callable[[IO[bytes]], Any]]:
        """Return what writes a file, by its suffix."""
        return {
            ".npz": lambda stream: _write_npz(self, stream), ".csv": lambda stream: _write_csv(self._table(), stream),
            ".parquet": lambda stream: _write_parquet(self, stream),
            ".json": lambda stream: _write_json(self, stream), ".mat": lambda stream: _write_mat(self, stream),
        }

    def to_pandas(self) -> Any:
        """Return a `pandas.DataFrame`; units and origin are in its `attrs`. Needs pandas."""
        try:
            import pandas
        except ImportError as error:
            raise NotAvailable("to_pandas needs pandas: pip install flexctl[pandas]") from error
        columns = self._table()
        frame = pandas.DataFrame({c.name: c.values for c in columns})
        frame.attrs.update({**plain(self._about()), "units": {c.name: c.unit for c in columns}})
        return frame.set_index(self._index) if self._index else frame

    def save(self, path: str | Path) -> Path:
        """Write a .npz, .csv, .parquet, .json or .mat file, whole or not at all.

        Raises
        ------
        DefinitionError
            When the suffix is another one, or the folder does not exist.
        NotAvailable
            When a package that the format needs is missing.
        WriteError
            When writing fails: disk full, file too large.
        """
        if not isinstance(path, str | os.PathLike):
            raise DefinitionError(f"path = {path!r:.40} is not a path; give the name of a file, e.g. \"run.csv\"")
        target, formats = Path(path), self._formats()
        return write_atomically(target, formats[known_suffix(target, formats)])

    def _repr_html_(self) -> str:
        """Return the table for a notebook."""
        return as_html(self._summary(), self._caption())


def known_suffix(path: Path, known: Iterable[str]) -> str:
    """Return the suffix in small letters, or raise `DefinitionError` that names those on offer."""
    suffix, known = path.suffix.lower(), list(known)
    if suffix not in known:
        hint = did_you_mean(suffix, known)
        raise DefinitionError(f'"{path.name}": unknown file type "{path.suffix}"{hint}; use one of {", ".join(known)}')
    return suffix


def check_parquet() -> None:
    """Raise `NotAvailable` unless .parquet files can be written."""
    try:
        import pandas  # noqa: F401
        import pyarrow  # type: ignore[import-not-found,unused-ignore]  # noqa: F401
    except ImportError as error:
        raise NotAvailable(
            "a .parquet file needs pandas and pyarrow: pip install 'flexctl[parquet]'; .csv and .json need nothing"
        ) from error


def plain(value: Any) -> Any:
    """Return numbers, texts, lists and tables of them as JSON knows them; None for what is no finite number."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if isinstance(value, complex):
        return {"real": plain(value.real), "imag": plain(value.imag)}
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def as_html(columns: Sequence[Column], caption: str) -> str:
    """Return a table in HTML, every text escaped; of a long one both ends."""
    count = len(columns[0].values) if columns else 0
    rows = range(count) if count <= 2 * SHOWN + 1 else [*range(SHOWN), -1, *range(count - SHOWN, count)]
    shown = [["…" if k < 0 else _shown(c.values[k]) for c in columns] for k in rows]
    head = "".join(f"<th>{html.escape(c.head)}</th>" for c in columns)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(x)}</td>" for x in row) + "</tr>" for row in shown)
    above = html.escape(caption).replace("\n", "<br>")
    return f"<table><caption>{above}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _shown(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.5g}" if isinstance(value, float | np.floating) else str(value)


def _write_csv(columns: Sequence[Column], stream: IO[bytes]) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([c.head for c in columns])
    lists = [c.values.tolist() if isinstance(c.values, np.ndarray) else c.values for c in columns]
    writer.writerows(zip(*lists, strict=True))
    stream.write(text.getvalue().encode())


def _write_npz(result: Tabular, stream: IO[bytes]) -> None:
    columns, extra = _split(result)
    arrays: dict[str, Any] = {c.name: c.array for c in columns}
    arrays |= {key: np.array(text) for key, text in extra.items()}
    np.savez_compressed(stream, **arrays)


def _write_parquet(result: Tabular, stream: IO[bytes]) -> None:
    check_parquet()
    frame = result.to_pandas()
    stream.write((frame.reset_index() if result._index else frame).to_parquet(None, index=False))


def _write_json(result: Tabular, stream: IO[bytes]) -> None:
    columns = result._table()
    units = {c.name: c.unit for c in columns if c.unit}
    told = {"about": result._about(), "units": units, "columns": {c.name: c.values for c in columns}}
    stream.write((json.dumps(plain(told), allow_nan=False) + "\n").encode())


def _write_mat(result: Tabular, stream: IO[bytes]) -> None:
    from scipy.io import savemat  # heavy, and needed here only

    columns, extra = _split(result)
    taken = [*extra, "columns"]
    variables: dict[str, Any] = {**extra, "columns": _cells([c.name for c in columns])}
    for column in columns:
        array = column.array
        name = matlab_name(column.name, taken)
        taken.append(name)
        variables[name] = _cells(array.tolist()) if array.dtype.kind == "U" else array
    savemat(stream, variables, long_field_names=True, do_compression=True, oned_as="column")


def _split(result: Tabular) -> tuple[list[Column], dict[str, str]]:
    """Return the columns, and what stands beside them as JSON text."""
    columns = result._table()
    extra = {"units": {c.name: c.unit for c in columns}, "about": result._about()}
    return columns, {key: json.dumps(plain(value), allow_nan=False) for key, value in extra.items()}


def matlab_name(name: str, taken: Sequence[str]) -> str:
    """Return a name that MATLAB takes, unlike the others."""
    base = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_")
    base = (base if base[:1].isalpha() and base not in _MATLAB_WORDS else f"x_{base}")[:58]
    return next(x for x in (base, *(f"{base}_{k}" for k in range(2, len(taken) + 3))) if x not in taken)


def _cells(texts: Sequence[str]) -> Any:
    column = np.empty((len(texts), 1), dtype=object)
    column[:, 0] = texts
    return column
