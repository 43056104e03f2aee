"""Whether the input of a record answers to its output: noise that a loop feeds back makes H1 wrong.

    y[k] = sum a_i y[k-i] + b_0 u[k] + sum b_i u[k-i]  +  sum g_i u[k+i]  +  e[k],      i = 1, 2, ..    (Sims 1972)

Where nothing is fed back the input that comes after knows nothing of the noise: the g are zero, whatever the input is.
Those of a loop are not, and neither are those of an input that is measured with noise, of which H1 is as wrong. The
part of e that they explain is the finding. What answers within the sample and no later, a gain without delay about a
white reference, looks like an output that is fed through, b_0. It is told of angles, displacements and strains: nothing
is fed through to them, and recorded at the end of a sample they answer less to the input of this sample, h_0 = b_0,
than to that of the one before, h_1 = b_1 + a_1 b_0. Of rates and accelerations it cannot be told, and is not. A law
about a reference that the past tells (a multisine, steps) leaves no noise at all: y and u are then tied by the law.
That is told where inputs alone do not make the output, as they would of an arm that follows within few samples.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ..model import FloatArray, Signal
from .quality import STEADY
from .record import Record

PAST, AHEAD = 50, 12
"""Samples before and after, of each signal."""
MOST = 12000
"""Samples that are looked at: enough to see what matters."""
EXPLAINED = 0.02
"""Part of the noise that the input ahead must explain to be told."""
SURE = 8.0
"""How many standard deviations above what chance explains, too."""
STILL = 1e-6
"""Noise below this part of an output can spoil nothing."""
FOLLOWED = 0.25
"""Least part of what a gain would make of the past of an output that is found in the input."""
FITTED = (
    "record what the loop was asked for, give it (references, --reference NAME), and fit the response that "
    "identify.frf returns by it; or excite without the loop"
)
"""The remedy where a record itself is fitted."""


class Answer(NamedTuple):
    """An output whose noise shows in the inputs, and the part of it that does; whether in those of its sample alone."""

    output: Signal
    part: float
    at_once: bool


def answers(data: Record) -> list[Answer]:
    """Return the outputs whose noise the inputs answer to; empty of a record that is too short to tell."""
    found = []
    for k, signal in enumerate(data.outputs):
        part, at_once = explained(data.u[:MOST], data.y[:MOST, k], signal.unit in STEADY)
        if part > EXPLAINED:
            found.append(Answer(signal, part, at_once))
    return found


def told(records: Iterable[Record], what: str, remedy: str) -> list[str]:
    """Return that inputs answer to the noise of outputs, which makes something wrong; empty where none does."""
    parts: dict[str, float] = {}
    every = [answer for record in records for answer in answers(record)]
    for answer in every:
        parts[answer.output.name] = max(parts.get(answer.output.name, 0.0), answer.part)
    if not parts:
        return []
    slow = " Or the sampling is so slow that outputs follow within a sample." * all(one.at_once for one in every)
    listed = ", ".join(f'"{name}" ({part:.0%})' for name, part in parts.items())
    return [
        f"the input answers to the noise of {listed}: so much of it shows in what the input does next. A loop is "
        f"closed around the arm, or the input is measured with noise; {what} biased by what is fed back, the more the "
        f"larger the noise.{slow} "
        f"Remedy: {remedy}"
    ]


def explained(u: FloatArray, y: FloatArray, steady: bool = False) -> tuple[float, bool]:
    """Return the part of the noise of an output that the inputs after it explain, 0 if by chance.

    Of a steady output, to which nothing is fed through, it may be that which inputs of the same sample explain; the
    second value says so. Without any noise the output is no more than an answer to the input.
    """
    size, p = u.shape
    past = min(PAST, (size // 8 - AHEAD * p) // (p + 1))
    if past < 4:
        return 0.0, False
    rows = np.arange(past, size - AHEAD)
    late = [y[rows - i] for i in range(1, past + 1)] + [u[rows - i, j] for j in range(p) for i in range(1, past + 1)]
    now = [u[rows, j] for j in range(p)]
    early = [u[rows + i, j] for j in range(p) for i in range(1, AHEAD + 1)]
    columns = np.column_stack([np.ones(rows.size), *late, *now, *early, y[rows]])
    scale = np.maximum(np.abs(columns).max(axis=0), 1e-300)
    columns /= scale
    triangle = _triangle(columns)
    least = STILL**2 * float(np.var(columns[:, -1])) * rows.size
    begin = 1 + len(late)
    part = _sure(triangle[:, -1], begin + p, rows.size, least)
    noisy = float(np.sum(triangle[begin + p :, -1] ** 2)) > least
    if part == 0.0 and steady and _at_once(triangle, scale, past, p):
        alone = [0, *range(1 + past, begin + p), columns.shape[1] - 1]  # the constant, the inputs till now, the output
        tied = float(np.sum(triangle[begin:, -1] ** 2))
        if _is_gain(triangle, begin, p) if noisy else _left(np.asarray(triangle[:, alone], float)) > tied:
            return _sure(triangle[:, -1], begin, rows.size, least), True
    return part, False


def _is_gain(triangle: FloatArray, begin: int, p: int) -> bool:
    """Whether an input follows what the past tells of the output as it follows what is new of it, as a gain would.

    Displacements that something is fed through to exist too: there the input does not know the past of the output.
    """
    new, told = triangle[begin:, -1], float(np.sum(triangle[1:begin, -1] ** 2))
    for now in range(begin, begin + p):
        gain = float(triangle[begin:, now] @ new) / max(float(new @ new), 1e-300)
        if float(np.sum(triangle[1:begin, now] ** 2)) > FOLLOWED * gain**2 * told:
            return True
    return False


def _left(triangle: FloatArray) -> float:
    """Return the sum of squares of the last column that the others leave."""
    return float(_triangle(triangle)[-1, -1] ** 2)


def _triangle(columns: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.qr(columns, mode="r"), float)


def _sure(last: FloatArray, begin: int, count: int, least: float) -> float:
    """Return the part of what is left by the columns before `begin` that the others explain, 0 if by chance."""
    told, left = float(np.sum(last[begin:-1] ** 2)), float(last[-1] ** 2)
    if told + left <= least:
        return 0.0
    part, freedom, columns = told / (told + left), count - begin, last.size - 1 - begin
    return part if part > columns / freedom + SURE * np.sqrt(2.0 * columns) / freedom else 0.0


def _at_once(triangle: FloatArray, scale: FloatArray, past: int, p: int) -> bool:
    """Whether an output answers more to the input of a sample than to that of the one before."""
    ahead = 1 + past + p * past + p
    c = np.linalg.lstsq(triangle[:ahead, :ahead], triangle[:ahead, -1], rcond=1e-14)[0] / scale[:ahead]
    first, now = c[1 + past : 1 + past + p * past : past], c[ahead - p :]
    return bool((np.abs(now) > np.abs(first + c[1] * scale[-1] * now)).any())
