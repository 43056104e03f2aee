"""Where the full model is further from the linear one, which was fitted, than the data are.

If the linear one leaves nothing but noise, and the full one would leave far more, the record is one of small motions
whatever the plant says (of a linear simulation, say), and nothing is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import ConvergenceError
from ..model import FloatArray
from .full_model import away, limits, reasons
from .problem import Problem, Setting, onset
from .record import Record
from .sampled import delayed

PARTED = 0.3
"""Error of the linear model beside the full one, as a part of the unexplained rest, from which on it is reported."""


WORSE = 4.0
"""Sum of squares of the full model, in parts of that of a linear one that explains the data, from which on they speak
against it."""


class Parted(NamedTuple):
    """For each output of a record whether the models part, in words where they do most, and full less linear model."""

    outputs: npt.NDArray[np.bool_]
    words: tuple[str, ...]
    away: FloatArray


def parted(found: Problem, x: FloatArray, data: Record, at: Setting, misfit: FloatArray) -> Parted:
    """Return where the full model is away from the linear one by much of what is left over."""
    plant, nowhere = found.plant_at(x), np.zeros(len(data.outputs), bool)
    why, nothing = [*reasons(plant), *limits(plant)], np.zeros((1, nowhere.size))
    if found.full or not why:
        return Parted(nowhere, (), nothing)
    said = ", ".join(why)
    linear = found.model(x, data).shifted(found.simulated(x, data, data.t.size), data.u, 0, at.late)
    left = np.sqrt(np.mean(misfit**2, axis=0))
    try:
        apart = away(plant, data, linear, onset(data))
    except ConvergenceError as error:
        return Parted(nowhere, (
            f"the full model ({said}) could not be run over a record, so that it is not known how far it is from the "
            f"linear one: {error}",
        ), nothing)
    off = apart.std(axis=0)
    far = off > PARTED * left
    if not far.any():
        return Parted(far, (), apart)
    k = int(np.argmax(off / np.maximum(left, 1e-300)))
    unit, name = data.outputs[k].unit, data.outputs[k].name
    return Parted(far, (
        f"the full model ({said}) is {off[k]:.3g} {unit} rms from the linear one in {name}, where {left[k]:.3g} is "
        "left over: identify with engine='full' (--engine full), or with smaller motions",
    ), apart)


def contradicted(found: Problem, x: FloatArray, at: Setting, apart: Sequence[FloatArray]) -> bool:
    """Whether data that the linear model explains speak against the full one, `apart` from it in each record.

    They do where it would leave more by far, its parameters moved by a step of Gauss and Newton: what turns far in
    truth leaves the linear one more than noise.
    """
    r = found.residual(x, at)
    J = found.jacobian(x, r, at, central=True)
    rows, other = np.zeros(r.size, bool), np.zeros(r.size)
    for block in found.blocks():
        if block.dt > 0.0:
            k = block.item - len(found.responses)
            data = found.records[k]
            j = [signal.name for signal in data.outputs].index(block.output)
            shift = delayed(apart[k], at.delay)[:, j]
            part = slice(block.rows.start, block.rows.start + shift.size)
            rows[part] = True
            other[part] = r[part] - (shift - shift.mean()) / found.scales[k][j]
    other, J = other[rows], J[rows]
    left = other - J @ np.linalg.lstsq(J, other, rcond=1e-12)[0]
    return float(left @ left) > WORSE * float(r[rows] @ r[rows])
