"""The table that a finished sweep leaves on disk; `flexctl.judging.sweep.journal` has what is there while it runs.

The table is tidy: a row for every case and scenario; the columns are the number of the case, the parameters, the
scenario, "status" ("ok" or "failed"), "reason", "wall_s", the scores, and of every signal that has any the estimated
largest error in its unit ("estimated_error").

    .nc       NetCDF 3, one dimension "row"; read by xarray and MATLAB
    .csv .parquet .npz .json .mat            see `flexctl.support.tabular`
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from ...errors import DefinitionError, require
from ...support.files import check_writable
from ...support.tabular import Column, Tabular, check_parquet, known_suffix

TEXTS = ("scenario", "status", "reason")


@dataclass(frozen=True, eq=False)
class Table(Tabular):
    """The rows of a sweep, all with the same columns.

    Attributes
    ----------
    columns : tuple of str
        Their names, parameters first.
    rows : tuple of tuple
        Numbers and texts; None where a failed case has no score.

    Examples
    --------
    >>> table = fx.Table(("case", "score"), ((0, 0.5), (1, None)))
    >>> table["score"]
    [0.5, None]
    >>> table.save("table.csv").name
    'table.csv'
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def __repr__(self) -> str:
        return f"Table({len(self.rows)} rows of {list(self.columns)})"

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    def __getitem__(self, name: str) -> list[Any]:
        """Return one column."""
        if name not in self.columns:
            raise DefinitionError(f'no column "{name}"; there are {list(self.columns)}')
        at = self.columns.index(name)
        return [row[at] for row in self.rows]

    def _table(self) -> list[Column]:
        return [Column(name, self[name]) for name in self.columns]

    def _formats(self) -> dict[str, Callable[[IO[bytes]], Any]]:
        return {**super()._formats(), ".nc": lambda stream: _write_netcdf(self, stream)}


def checked_path(path: str | Path) -> Path:
    """Return the path, or refuse it before anything is computed: its suffix, or a package that is missing."""
    target = Path(path)
    if known_suffix(target, Table((), ())._formats()) == ".parquet":
        check_parquet()
    require(target.parent.is_dir(), f"cannot write {target}: {target.parent} is not an existing folder; make it first")
    check_writable(target)
    return target


Rows = Sequence[Mapping[str, Any]]


def tabulated(parameters: Sequence[str], cases: Iterable[tuple[int, Mapping[str, Any], Rows]]) -> Table:
    """Return the table of (number, values of the parameters, rows) triples, ordered by number."""
    ordered = sorted(cases, key=lambda item: item[0])
    scores = dict.fromkeys(key for _, _, rows in ordered for row in rows for key in row)
    first = ("scenario", "status", "reason", "wall_s")
    columns = ("case", *parameters, *first, *(key for key in scores if key not in first))
    table = [
        tuple({"case": number, **values, **row}.get(column) for column in columns)
        for number, values, rows in ordered for row in rows
    ]
    return Table(columns, tuple(table))


def _write_netcdf(table: Table, stream: IO[bytes]) -> None:
    from scipy.io import netcdf_file  # heavy, and needed here only

    buffer = _Kept()
    with netcdf_file(buffer, "w") as out:
        out.title = "flexctl sweep"
        out.createDimension("row", len(table))
        for name in table.columns:
            _netcdf_column(out, name, table[name])
    stream.write(buffer.content)


class _Kept(io.BytesIO):
    """A buffer that keeps its bytes when it is closed."""

    content = b""

    def close(self) -> None:
        self.content = self.getvalue()
        super().close()


def _netcdf_column(out: Any, name: str, column: list[Any]) -> None:
    safe = name.replace("/", "_")
    numbers = all(x is None or (isinstance(x, int | float) and not isinstance(x, bool)) for x in column)
    if numbers and name not in TEXTS:
        variable = out.createVariable(safe, "d", ("row",))
        variable[:] = [math.nan if x is None else float(x) for x in column]
        return
    texts = [("" if x is None else str(x)).encode() for x in column]
    width = max((len(text) for text in texts), default=0) or 1
    length = f"{safe.replace('.', '_')}_length"
    out.createDimension(length, width)
    variable = out.createVariable(safe, "c", ("row", length))
    variable[:] = np.array([list(text.ljust(width, b"\0")) for text in texts], np.uint8).view("S1").reshape(-1, width)
