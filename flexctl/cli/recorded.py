"""Signals from .csv files: two columns of one's own, or a run that flexctl has written.

    # t,u                                              time [s],joint1_angle [rad] +- 1e-06,joint1_torque [N m]
    0,0                                                0.0,0.0,0.1
    0.5,1                                              0.001,8.384e-05,0.1

Without a head there are two columns, time [s] and value, linear in between. With a head the columns are found by name,
and their units are converted to those of the input; a column that mostly repeats the value before is held between its
changes, as torques and sampled commands are, any other is linear in between.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..errors import DefinitionError, require, unknown
from ..model import FloatArray
from ..motion.moves import InputSignal, PiecewiseConstant, Sampled
from ..support.checks import is_number
from .quantities import quantity

_HEAD = re.compile(r"\s*(?P<name>[^\[]*?)\s*(?:\[(?P<unit>[^\]]*)\]\s*(?:\+-.*)?)?")
_TIMES = ("time", "t")


def recorded(path: Path, name: str, unit: str) -> InputSignal:
    """Return the signal of an input from a file; lines that begin with # are skipped.

    Parameters
    ----------
    path : Path
        The file.
    name, unit : str
        The input: which column is read, and the unit that it is converted to.
    """
    rows = _rows(path)
    heads = [] if is_number(rows[0][1][0]) else rows.pop(0)[1]
    require(bool(rows), f"{path}: holds no numbers")
    table = _numbers(path, rows, len(heads) or 2)
    if not heads:
        return Sampled(table[:, 0], table[:, 1])
    time, value = _columns(path, heads, name)
    t = table[:, time] * _factor(path, heads[time], "s")
    u = table[:, value] * _factor(path, heads[value], unit)
    require(bool(np.all(np.diff(t) > 0.0)), f"{path}: times must ascend")
    return _held(t, u) if _is_held(u) else Sampled(t, u)


def _rows(path: Path) -> list[tuple[int, list[str]]]:
    """Return the lines with their numbers."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            reader = csv.reader(stream)
            rows = [(reader.line_num, row) for row in reader if row and not row[0].lstrip().startswith("#")]
    except (OSError, ValueError, csv.Error) as error:
        raise DefinitionError(f"{path}: not a table of time and value: {error}") from error
    require(bool(rows), f"{path}: is empty; write time [s],value in each line")
    return rows


def _numbers(path: Path, rows: Sequence[tuple[int, list[str]]], count: int) -> FloatArray:
    for line, row in rows:
        require(len(row) == count, f"{path}, line {line}: has {len(row)} columns, not {count}")
        wrong = next((text for text in row if not is_number(text)), None)
        require(wrong is None, f'{path}, line {line}: "{wrong}" is not a number')
    return np.array([[float(text) for text in row] for _, row in rows])


def _columns(path: Path, heads: Sequence[str], name: str) -> tuple[int, int]:
    """Return the columns of time and of an input; of two columns the second, whatever its name."""
    names = [_parts(head)[0] for head in heads]
    time = next((i for i, found in enumerate(names) if found in _TIMES), None)
    if time is None:
        raise DefinitionError(f'{path}: no column is the time; its header is "time [s]", there are {names}')
    if name in names:
        return time, names.index(name)
    if len(names) == 2:
        return time, 1 - time
    raise unknown(f"column of {path}", name, [x for x in names if x not in _TIMES])


def _parts(head: str) -> tuple[str, str]:
    """Return name and unit of a head, empty where it has none."""
    found = _HEAD.fullmatch(head)
    return (head.strip(), "") if found is None else (found["name"], found["unit"] or "")


def _factor(path: Path, head: str, unit: str) -> float:
    """Return what the numbers of a column are multiplied by."""
    stated = _parts(head)[1]
    return quantity(f"1 {stated}", unit, f'{path}, column "{head}"') if stated not in ("", unit) else 1.0


def _is_held(u: FloatArray) -> bool:
    return u.size > 2 and bool(2 * np.count_nonzero(np.diff(u) == 0.0) > u.size - 1)


def _held(t: FloatArray, u: FloatArray) -> PiecewiseConstant:
    changes = np.flatnonzero(np.diff(u)) + 1
    return PiecewiseConstant(tuple(t[changes].tolist()), (float(u[0]), *u[changes].tolist()))
