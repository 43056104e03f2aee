"""A linear plant as the data that `csource/flexctl_linear.c` runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.linalg as sla
from scipy.sparse.csgraph import connected_components

from ...linear import FirstOrder
from ...model import FloatArray

RUNTIME = tuple(f"flexctl_{name}" for name in ("fmi2.h", "unit.h", "unit.c", "linear.h", "linear.c"))
"""Files of `csource` that go with the data."""


def source(plant: FirstOrder, name: str, title: str, nominal: FloatArray) -> str:
    """Return the C file of a plant, without its GUID.

    Parameters
    ----------
    plant : FirstOrder
        Continuous or sampled.
    name, title : str
        Name in C; what the plant is called in the comment.
    nominal : ndarray
        Nominal values of the states.
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
    return "\n".join([*lines, '#include "flexctl_linear.c"', '#include "flexctl_unit.c"', ""])


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
    balance = np.ones(n)
    for group in groups:
        balance[group] = _balance(A[np.ix_(group, group)])
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
        "",
    ]


def _balance(A: FloatArray) -> FloatArray:
    """Return powers of two that make rows and columns of equal size, all 1 where that would span too much."""
    scale = np.asarray(sla.matrix_balance(A, permute=False, separate=True)[1][0], float)
    wide = not np.isfinite(scale).all() or scale.max() > 1e15 * scale.min()
    return np.ones(len(A)) if wide else scale
