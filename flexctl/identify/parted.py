"""Where the full model is further from the linear one, which was fitted, than the data are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import ConvergenceError
from ..model import FloatArray
from .full_model import distance, limits, reasons
from .problem import Problem, Setting
from .record import Record

PARTED = 0.3
"""Error of the linear model beside the full one, as a part of the unexplained rest, from which on it is reported."""


class Parted(NamedTuple):
    """For each output of a record whether the models part, and in words where they do most."""

    outputs: npt.NDArray[np.bool_]
    words: tuple[str, ...]


def parted(found: Problem, x: FloatArray, data: Record, at: Setting, misfit: FloatArray) -> Parted:
    """Return where the full model is away from the linear one by much of what is left over."""
    plant, nowhere = found.plant_at(x), np.zeros(len(data.outputs), bool)
    why = [*reasons(plant), *limits(plant)]
    if found.full or not why:
        return Parted(nowhere, ())
    said = ", ".join(why)
    linear = found.model(x, data).shifted(found.simulated(x, data, data.t.size), data.u, 0, at.late)
    left = np.sqrt(np.mean(misfit**2, axis=0))
    try:
        off = distance(plant, data, linear)
    except ConvergenceError as error:
        return Parted(nowhere, (
            f"the full model ({said}) could not be run over a record, so that it is not known how far it is from the "
            f"linear one: {error}",
        ))
    far = off > PARTED * left
    if not far.any():
        return Parted(nowhere, ())
    k = int(np.argmax(off / np.maximum(left, 1e-300)))
    unit, name = data.outputs[k].unit, data.outputs[k].name
    return Parted(far, (
        f"the full model ({said}) is {off[k]:.3g} {unit} rms from the linear one in {name}, where {left[k]:.3g} is "
        "left over: identify with engine='full' (--engine full), or with smaller motions",
    ))
