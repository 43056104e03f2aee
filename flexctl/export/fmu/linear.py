"""A linear plant as the data that `csource/flexctl_linear.c` runs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.linalg as sla
from scipy.sparse.csgraph import connected_components

from ...linear import FirstOrder
from ...model import FloatArray

RUNTIME = tuple(f"flexctl_{name}" for name in ("fmi2.h", "unit.h", "unit.c", "linear.h", "linear.c"))
"""Files of `csource` that go with the data."""


MOTION = "flexctl_motion.c"
"""The file that goes with them where importers integrate departures from the motion that held inputs lead to."""


def source(plant: FirstOrder, name: str, title: str, nominal: FloatArray, departures: bool = False) -> str:
    """Return the C file of a plant, without its GUID.

    Parameters
    ----------
    plant : FirstOrder
        Continuous or sampled.
    name, title : str
        Name in C; what the plant is called in the comment.
    nominal : ndarray
        Nominal values of the states.
    departures : bool
        Whether importers integrate departures (`MOTION`).
    """
    n, p, ny = len(plant.states), len(plant.inputs), len(plant.outputs)
    lines = [
        f"/* {_comment(title)} as a functional mock-up unit, written by flexctl: the linear plant with",
        f"   {n} states, {p} inputs and {ny} outputs. modelDescription.xml says their names, units and value",
        "   references. */",
        f'#define MODEL_NAME "{name}"',
        '#include "flexctl_guid.h"',
        f"#define N_INPUTS {p}",
        f"#define N_OUTPUTS {ny}",
        f"#define N_STATES {n}",
        f"#define MODEL_EXCHANGE {int(plant.dt == 0.0)}",
        "#define HAS_DIRECTIONS",
        *(["#define HELD_MOTION"] if departures else ()),
        *([f"#define SAMPLE_TIME {plant.dt.hex()} /* {plant.dt!r} s */"] if plant.dt else ()),
        '#include "flexctl_linear.h"',
        '#include "flexctl_unit.h"',
        "",
    ]
    for label in "ABCD":
        lines += _sparse(label, getattr(plant, label))
    lines += [_doubles("NOMINAL", nominal), ""]
    if plant.dt == 0.0:
        lines += _blocks(plant.A)
    parts = ("flexctl_linear.c", *([MOTION] if departures else ()), "flexctl_unit.c")
    return "\n".join([*lines, *(f'#include "{part}"' for part in parts), ""])


def _comment(text: str) -> str:
    return "".join(c if " " <= c < "\x7f" else "?" for c in text).replace("*/", "* /").replace("/*", "/ *")


def _doubles(name: str, values: FloatArray) -> str:
    return _array("double", name, [float(v).hex() for v in values] or ["0.0"], 4)


def _integers(name: str, values: Iterable[Any]) -> str:
    return _array("int", name, [str(int(v)) for v in values] or ["0"], 20)


def _array(kind: str, name: str, words: list[str], columns: int) -> str:
    rows = [", ".join(words[i : i + columns]) for i in range(0, len(words), columns)]
    return f"static const {kind} {name}[] = {{\n    " + ",\n    ".join(rows) + "};"


def _sparse(label: str, matrix: FloatArray) -> list[str]:
    rows, columns = np.nonzero(matrix)
    start = np.searchsorted(rows, np.arange(len(matrix) + 1))
    return [
        _integers(f"{label}_START", start),
        _integers(f"{label}_COLUMN", columns),
        _doubles(f"{label}_VALUE", matrix[rows, columns]),
        f"static const sparse {label} = {{{len(matrix)}, {label}_START, {label}_COLUMN, {label}_VALUE}};",
        "",
    ]


def _blocks(A: FloatArray) -> list[str]:
    """Return the groups of states that do not influence each other, and how each is balanced."""
    n = len(A)
    count, label = connected_components(A != 0.0, directed=False) if n else (0, np.zeros(0, int))
    order: list[int] = np.argsort(label, kind="stable").tolist()
    sizes = np.bincount(label, minlength=count)
    groups = np.split(np.array(order), np.cumsum(sizes)[:-1]) if count else []
    series = [int(not (A[np.ix_(g, g)] @ A[np.ix_(g, g)]).any()) for g in groups]
    balance, longest = np.ones(n), np.ones(count)
    for k, group in enumerate(groups):
        part = A[np.ix_(group, group)]
        balance[group] = _balance(part)
        longest[k] = _step_of(part * balance[group] / balance[group][:, None])
    still = np.asarray(~A.any(axis=0))
    ramp = np.asarray(~still & ~A[~still].any(axis=0))
    return [
        f"#define N_BLOCKS {count}",
        f"#define PHI_SIZE {int(np.sum(sizes**2))}",
        _integers("BLOCK_START", [0, *np.cumsum(sizes).tolist()]),
        _integers("BLOCK_STATE", order),
        _integers("BLOCK_IS_SERIES", series),
        _integers("INTEGRATES", (still | ramp).tolist()),
        _doubles("BALANCE", balance),
        "#ifdef HELD_MOTION",
        _doubles("BLOCK_STEP", longest),
        "#endif",
        "",
    ]


def _step_of(A: FloatArray) -> float:
    """Return a power of two [s] with which A times it has a norm of at most 1."""
    norm = float(np.abs(A).sum(axis=1).max(initial=0.0))
    return 2.0 ** -math.ceil(math.log2(norm)) if norm > 0.0 else 1.0


def _balance(A: FloatArray) -> FloatArray:
    """Return powers of two that make rows and columns of equal size, all 1 where that would span too much."""
    scale = np.asarray(sla.matrix_balance(A, permute=False, separate=True)[1][0], float)
    wide = not np.isfinite(scale).all() or scale.max() > 1e15 * scale.min()
    return np.ones(len(A)) if wide else scale
