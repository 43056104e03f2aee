"""A linear plant as a mechanical model, so that users' own matrices run in `simulate` like any arm."""

from __future__ import annotations

from ..errors import NotAvailable
from ..linear import SecondOrder
from ..model import LinearMechanics, OutputTangent, Signal


class LinearModel(LinearMechanics):
    """M a + D v + K q = B u with the sensors of a `SecondOrder`; q is the deviation from its operating point."""

    kind = "linear"

    def __init__(self, plant: SecondOrder) -> None:
        self.M, self.D, self.K, self.B = plant.M, plant.D, plant.K, plant.B
        self.sensors = OutputTangent(plant.Cq, plant.Cv, plant.Ca, plant.Du)
        self.coordinates: tuple[Signal, ...] = plant.coordinates
        self.inputs: tuple[Signal, ...] = plant.inputs
        self.outputs: tuple[Signal, ...] = plant.outputs
        point = plant.operating_point
        if point is not None and (point.v.any() or point.a.any()):
            raise NotAvailable("a plant linearised about a moving state has no constant reference to run from")
