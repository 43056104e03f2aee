"""The constants of `assumed_modes` in the order that `assumed_chain` states."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ....model import FloatArray
from .chain import (
    AXIAL,
    B_AT,
    C_AT,
    CHANNELS,
    DRIVE,
    DRIVEN,
    DRIVEN_AT,
    ENDS,
    HEADER,
    J_AT,
    K_AT,
    LINKS,
    LOADS,
    LOADS_AT,
    OUTPUTS,
    PIN_TABLE,
    PINNED,
    PINS,
    PLAIN_T,
    SHAPES,
    SHORT,
    SPARE,
    T_AT,
    TABLE,
    TIP,
    TIP_INPUT,
    TIP_LINK,
    WAY,
    WAY_AT,
    N,
    P,
    sizes,
)

if TYPE_CHECKING:
    from .. import AssumedModes
    from ..mesh import Field, Station


Constants = tuple[FloatArray, npt.NDArray[np.int64]]


class Packer:
    """Collects reals and tells where they stand."""

    def __init__(self) -> None:
        self.parts: list[FloatArray] = []
        self.size = 0

    def __call__(self, values: object) -> int:
        part = np.ascontiguousarray(values, float).ravel()
        start = self.size
        self.parts.append(part)
        self.size += part.size
        return start

    def field(self, f: Field) -> int:
        """Store the points of a field, one after the other."""
        start = self.size
        for c0, x, a, b, H in zip(*f, strict=True):
            self(np.concatenate([[c0, x], a, b, H.ravel()]))
        return start


def root_place(model: AssumedModes, link: int) -> complex:
    """Return the place on the base of the tree that a link belongs to."""
    while link >= 0 and model.tree.parent[link] >= 0:
        link = model.tree.parent[link]
    return complex(model.tree.base[link]) if link >= 0 else 0j


def products(f: Field, axial: bool, short: bool) -> FloatArray:
    """Return P of `sweep`: the sums over mass points of products of their shape values."""
    parts = [f.c0[:, None], f.x[:, None], f.b]
    parts += [f.a] if axial else []
    parts += [f.H.reshape(len(f.c0), -1)] if short else []
    phi = np.hstack(parts)
    return np.asarray(phi.T @ phi)


def pack(model: AssumedModes, driven: tuple[int, ...], levers: tuple[float, ...]) -> Constants:
    """Return reals and ints; `levers` are those of the torques of driven coordinates."""
    tree, put, n = model.tree, Packer(), model.tree.size
    gravity = tree.gravity
    put([model.alpha, gravity.real, gravity.imag])
    replaced = [int(np.flatnonzero(model.B[i])[0]) for i in driven]
    kept = [j for j in range(model.B.shape[1]) if j not in replaced]
    B = np.hstack([np.zeros((n, len(driven))), model.B[:, kept]])
    header = np.zeros(HEADER, np.int64)
    header[[N, LINKS, P, PINS]] = n, len(tree.parent), B.shape[1], len(model.pins)
    header[PLAIN_T] = int(np.array_equal(tree.T, np.eye(n)))
    header[SHORT] = int(any(f.H.any() for f in tree.points))
    header[AXIAL] = int(any(s.na for s in tree.shapes))
    header[T_AT], header[K_AT], header[C_AT] = put(tree.T), put(tree.K + np.diag(model.kp)), put(model.C)
    header[J_AT], header[B_AT] = put(tree.inertia), put(B)
    rows: list[int] = []

    def place(station: Station) -> list[int]:
        return [station.link, put.field(station.field)]

    header[TABLE] = HEADER
    for i, parent in enumerate(tree.parent):
        s, f = tree.shapes[i], tree.points[i]
        first = int(tree.elastic[i][0]) if s.size else 0
        P_of = products(f, bool(header[AXIAL]), bool(header[SHORT]))
        count = len(P_of) if len(f.c0) else 0
        header[SHAPES] = max(header[SHAPES], count)
        rows += [parent, first, s.size, count, put(P_of[:count]), place(tree.root[i])[1]]
    header[PIN_TABLE] = HEADER + len(rows)
    for one, other in model.pins:
        rows += place(one) + place(other)
    gaps = [root_place(model, a.link) - root_place(model, b.link) for a, b in model.pins]
    offset = np.array(gaps, complex) - model.pinned
    header[PINNED] = put(np.column_stack([offset.real, offset.imag]))
    header[CHANNELS] = HEADER + len(rows)
    base = root_place(model, tree.tip.link)
    for c in model.sensors.channels:
        rows += [c.kind, put(np.append(c.row, [base.real, base.imag])), *place(c.station), c.axis]
    for i, lever in zip(driven, levers, strict=True):
        rows += [DRIVE, put([lever]), 0, 0, i]
    header[OUTPUTS] = len(model.sensors.channels) + len(driven)
    header[TIP_LINK], header[TIP] = place(tree.tip)
    number = {j: len(driven) + k for k, j in enumerate(kept)}
    header[TIP_INPUT] = number[model.push]
    steps = model.sensors.rigid_steps()
    header[WAY], header[WAY_AT] = len(steps), put([np.append(step, turn) for step, turn in steps])
    header[ENDS] = HEADER + len(rows)
    rows += [put.field(tree.station(i, 1.0).field) for i in range(len(tree.parent))]
    header[DRIVEN], header[DRIVEN_AT] = len(driven), HEADER + len(rows)
    rows += list(driven)
    header[LOADS], header[LOADS_AT] = len(model.loads.parts), HEADER + len(rows)
    for part in model.loads.parts:
        slope = part.angle[tree.elastic[part.station.link]]
        rows += [*place(part.station), number[part.column], part.kind, put(np.append(part.weight, slope))]
    inputs = B.shape[1] + 2 * len(model.pins)
    header[SPARE] = put(np.zeros(sum(sizes(n, len(tree.parent), inputs, int(header[SHAPES])))))
    return np.concatenate(put.parts), np.concatenate([header, np.array(rows, np.int64)])
