"""A plant in states as a model that `simulate` runs: x' = A x + B u, y = C x + D u, or its sampled sister.

The coordinates are the states, so that the balance of `MechanicalModel` is 0 a + 1 v - A q = B u: it has no inertia,
and only exact steps integrate it (`flexctl.simulation.states`). `run.q` then holds the states of a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..model import FloatArray, LinearMechanics, OutputTangent
from . import FirstOrder


class StateModel(LinearMechanics):
    """A `FirstOrder` as a model.

    Attributes
    ----------
    plant : FirstOrder
        The plant itself.
    dt : float
        Its sample time [s], 0 for a continuous one.
    """

    kind = "state_space"

    def __init__(self, plant: FirstOrder) -> None:
        n = len(plant.states)
        self.plant, self.dt = plant, float(plant.dt)
        self.coordinates, self.inputs, self.outputs = plant.states, plant.inputs, plant.outputs
        # of a sampled plant x[k+1] - x[k] over dt takes the place of x'
        A, B = (plant.A, plant.B) if plant.dt == 0 else ((plant.A - np.eye(n)) / plant.dt, plant.B / plant.dt)
        self.M, self.D, self.K, self.B = np.zeros((n, n)), np.eye(n), -A, B
        nothing = np.zeros_like(plant.C)
        self.sensors = OutputTangent(plant.C, nothing, nothing, plant.D)

    @property
    def provenance(self) -> Mapping[str, Any]:
        """Where the plant comes from."""
        return self.plant.provenance

    def compiled(self) -> None:
        """Return None: only exact steps integrate it."""
        return None

    def rates(self, x: FloatArray, u: FloatArray) -> FloatArray:
        """Return x' (of a sampled plant the change of x in a period, over the period) for rows of states and inputs."""
        rates: FloatArray = np.asarray(x @ -self.K.T + u @ self.B.T, float)
        return rates
