"""A program run in Python with the arithmetic of the code that is written for it: double or single precision.

Every sum runs over its products from left to right, one rounding each: column by column for all rows at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..model import FloatArray
from .program import Program

KEYS = ("A", "By", "Br", "Bu", "C", "Dy", "Dr", "lower", "upper", "start")


class Mirror:
    """One instance of a law; `v` is the last command before wrappers act on it, `limited` whether a limit acted.

    Parameters
    ----------
    program : Program
        What is run.
    dtype : type
        `numpy.float64` or `numpy.float32`: constants are rounded to it, and all arithmetic is done in it.
    """

    def __init__(self, program: Program, dtype: Any = np.float64) -> None:
        self.program, self.dtype = program, dtype
        with np.errstate(over="ignore"):  # what is too large for single precision becomes infinite, as in C
            self.laws = [{key: getattr(law, key).astype(dtype) for key in KEYS} for law in program.laws]
            self.quanta = [q.astype(dtype) for q in program.quanta]
            self.limit = dtype(program.limit)
        if program.blend is not None:
            points = np.array(program.blend.points)
            self.points, self.slopes = points.astype(dtype), (1.0 / np.diff(points)).astype(dtype)
            self.by = program.blend.measures.index(program.blend.by)
        self.v, self.limited = np.zeros(len(program.drives), dtype), False
        self.restart()

    def restart(self, y: FloatArray | None = None) -> None:
        """Begin, with zero states or those that belong to readings y."""
        program, dtype = self.program, self.dtype
        count = len(program.states)
        own = np.zeros(program.own, dtype) if y is None else np.asarray(y, float).astype(dtype)[: program.own]
        self.x = [self.ordered((self.laws[i]["start"], own)) for i in range(count)]
        self.queue = [np.zeros(len(program.drives), dtype) for _ in range(program.delay)]

    def ordered(self, *pairs: tuple[FloatArray, FloatArray]) -> FloatArray:
        """Return the running sum of products of matrices and vectors."""
        total = np.zeros(len(pairs[0][0]), self.dtype)
        for matrix, vector in pairs:
            for j in range(matrix.shape[1]):
                total = total + matrix[:, j] * vector[j]
        return total

    def step(self, period: int, y: FloatArray, r: FloatArray) -> FloatArray:
        """Return the command of a period."""
        program = self.program
        y, r = np.asarray(y, float).astype(self.dtype), np.asarray(r, float).astype(self.dtype)
        half = self.dtype(0.5)
        for q in self.quanta:
            safe = np.where(q > 0, q, self.dtype(1))
            y = np.where(q > 0, q * np.floor(y / safe + half), y)
        own = y[: program.own]
        if program.blend is None:
            law = self.laws[int(np.searchsorted(program.switches, period, side="right"))]
            v = self.ordered((law["C"], self.x[0]), (law["Dy"], own), (law["Dr"], r))
            on = [law]
        else:
            v, law, on = self._blended(y, own, r), self.laws[0], self.laws
        bounded = np.minimum(np.maximum(v, law["lower"]), law["upper"])
        self.limited = bool(np.any(bounded != v) or np.any(np.abs(bounded) > self.limit))
        v = self.v = bounded
        self.x = [
            self.ordered((one["A"], x), (one["By"], own), (one["Br"], r), (one["Bu"], v))
            for one, x in zip(on, self.x, strict=True)
        ]
        self.queue.append(np.minimum(np.maximum(v, -self.limit), self.limit))
        return self.queue.pop(0)

    def _blended(self, y: FloatArray, own: FloatArray, r: FloatArray) -> FloatArray:
        value, points = y[self.by], self.points
        if self.program.blend is not None and self.program.blend.mirrored:
            value = abs(value)
        j, last = 0, len(points) - 1
        if value >= points[last]:
            j = last
        elif value > points[0]:
            j = int(np.searchsorted(points, value, side="right")) - 1
        weights = [(j, self.dtype(1))]
        if j < last and value > points[j]:
            rise = self.slopes[j] * (value - points[j])
            weights = [(j, -self.slopes[j] * (value - points[j]) + self.dtype(1)), (j + 1, rise)]
        v = np.zeros(len(self.program.drives), self.dtype)
        for i, w in weights:
            if w != 0:
                one = self.laws[i]
                v = v + w * self.ordered((one["C"], self.x[i]), (one["Dy"], own), (one["Dr"], r))
        return v
