"""A linear plant as a mechanical model, so that users' own matrices run in `simulate` like any arm."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..errors import NotAvailable
from ..model import FloatArray, LinearMechanics, OutputTangent, Signal
from . import SecondOrder


class LinearModel(LinearMechanics):
    """M a + D v + K q = B u with the sensors of a `SecondOrder`; q is the deviation from its operating point.

    A coordinate w of first order, that is with damping but without mass, becomes the rate of one of its own, z' = w.
    """

    kind = "linear"

    def __init__(self, plant: SecondOrder) -> None:
        w = np.flatnonzero(~(plant.M.any(axis=0) | plant.M.any(axis=1)) & (np.diag(plant.D) != 0.0))
        self.M, self.D, self.K = _integrated((plant.M, plant.D, plant.K), w)
        Ca, Cv, Cq = _integrated((plant.Ca, plant.Cv, plant.Cq), w)
        self.B, self.sensors = plant.B, OutputTangent(Cq, Cv, Ca, plant.Du)
        self.coordinates: tuple[Signal, ...] = tuple(
            Signal(f"{signal.name}_integral", f"{signal.unit} s") if i in w else signal
            for i, signal in enumerate(plant.coordinates)
        )
        self.inputs: tuple[Signal, ...] = plant.inputs
        self.outputs: tuple[Signal, ...] = plant.outputs
        point = plant.operating_point
        if point is not None and (point.v.any() or point.a.any()):
            raise NotAvailable("a plant linearised about a moving state has no constant reference to run from")


def _integrated(parts: Sequence[FloatArray], w: npt.NDArray[np.intp]) -> list[FloatArray]:
    """Return the columns by acceleration, rate and position with z' = w in place of w."""
    acceleration, rate, position = (part.copy() for part in parts)
    acceleration[:, w], rate[:, w], position[:, w] = rate[:, w], position[:, w], 0.0
    return [acceleration, rate, position]
