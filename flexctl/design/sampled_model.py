"""The model on which a damping law is designed: the sampled plant, commands on their way, high-passed measurements.

    x[k+1] = A x[k] + B u[k] + E w[k],     y[k] = C x[k]

x are the states of the plant, held exactly between samples, then the commands that wait for the computation, and one
state per measurement of a high-pass, so that the law does not lean against what gravity does to a strain:

    h[k+1] = p h[k] + (1 - p) y_raw[k],     y[k] = y_raw[k] - h[k],     p = exp(-corner T)

The commands u arrive `delay` samples late, the disturbance w is added to them where they arrive. Nothing of the plant
is left out: modes that a law does not know are what it drives unstable.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg as sla

from ..errors import require, unknown
from ..laws.controller import Delayed, LinearLaw
from ..linear import FirstOrder
from ..linear.discrete import delay_inputs, zero_order_hold
from ..machine.given import LinearGiven, as_linear
from ..model import FloatArray, index_of, names


@dataclass(frozen=True, eq=False)
class SampledModel:
    """The model of the module docstring.

    Attributes
    ----------
    plant : FirstOrder
        The sampled plant with its waiting commands: `drives` to all outputs.
    measures : tuple of str
        Measured outputs.
    delay : int
        Samples of computation delay.
    corner : float
        Corner of the high-pass [rad/s]; 0 for none.
    A, B, E, C : ndarray
        Matrices.
    """

    plant: FirstOrder
    measures: tuple[str, ...]
    delay: int
    corner: float
    A: FloatArray
    B: FloatArray
    E: FloatArray
    C: FloatArray

    @property
    def drives(self) -> tuple[str, ...]:
        """Driven inputs."""
        return tuple(names(self.plant.inputs))

    @property
    def sample_time(self) -> float:
        """Control period [s]."""
        return self.plant.dt

    def row(self, name: str) -> FloatArray:
        """Return the row on x of a measurement as the law sees it, of another output, or of a state of the plant."""
        if name in self.measures:
            return np.asarray(self.C[self.measures.index(name)])
        own, states = names(self.plant.outputs), names(self.plant.states)
        if name not in own and name not in states:
            raise unknown("output or state", name, [*own, *states])
        found = np.zeros(len(self.A))
        found[: len(states)] = self.plant.C[own.index(name)] if name in own else np.eye(len(states))[states.index(name)]
        return found

    def law(self, K: LinearLaw, limit: float = np.inf, zeroed: tuple[str, ...] | None = None) -> Delayed:
        """Return a law designed on y as one that reads the sensors: high-pass before it, limits and delay behind.

        It follows the measurements too, or those `zeroed`: what they read at rest is taken off them, as strain gauges
        are zeroed; of them it begins with no change.
        """
        k, p = len(self.measures), self._pole
        zeroed = self.measures if zeroed is None else zeroed
        if self.corner:  # states: of K, of the high-pass; K reads y = y_raw - h
            A = sla.block_diag(K.A, p * np.eye(k))
            A[: len(K.A), len(K.A) :] = -K.By
            K = replace(
                K, A=A, By=np.vstack([K.By, (1.0 - p) * np.eye(k)]), Br=np.pad(K.Br, ((0, k), (0, 0))),
                Bu=np.pad(K.Bu, ((0, k), (0, 0))), C=np.hstack([K.C, -K.Dy]),
                start=np.pad(K.start, ((0, k), (0, 0))),
            )
        own = np.eye(k)[:, [self.measures.index(name) for name in zeroed]]
        value = np.kron(own, [[1.0, 0.0, 0.0]])
        law = replace(
            K, follows=(*K.follows, *zeroed), Br=np.hstack([K.Br, -K.By @ value]),
            Dr=np.hstack([K.Dr, -K.Dy @ value]), start=K.start - K.start @ own @ own.T,
        )
        return Delayed(law.limited(-limit, limit), self.delay)

    @property
    def _pole(self) -> float:
        return float(np.exp(-self.corner * self.sample_time))


def sampled_model(
    plant: LinearGiven, measures: tuple[str, ...], drives: tuple[str, ...], sample_time: float, delay: int = 1,
    corner: float = 0.0,
) -> SampledModel:
    """Return the model of a continuous linear plant.

    Parameters
    ----------
    plant : SecondOrder or FirstOrder
        The plant with all its modes.
    measures, drives : tuple of str
        Measured outputs, which must not feed the inputs through, and driven inputs.
    sample_time : float
        Control period [s].
    delay : int
        Samples of computation delay.
    corner : float
        Corner of the high-pass of the measurements [rad/s]; 0 for none.
    """
    plant = as_linear(plant)
    require(bool(np.isfinite(corner) and corner >= 0), f"corner = {corner} rad/s must be zero or positive")
    require(bool(measures and drives), "a law needs something to measure and something to drive")
    held = zero_order_hold(plant, sample_time)
    columns = [index_of("input", name, held.inputs) for name in drives]
    rows = [index_of("output", name, held.outputs) for name in measures]
    through = np.abs(held.D[np.ix_(rows, columns)]).max() if measures else 0.0
    require(bool(through == 0.0), f"one of {list(measures)} feeds the inputs through; measure positions or rates")
    own = replace(held, B=held.B[:, columns], D=held.D[:, columns], inputs=tuple(held.inputs[j] for j in columns))
    late = delay_inputs(own, delay)
    n, k = len(late.A), len(measures) if corner else 0
    p = float(np.exp(-corner * sample_time))
    A = sla.block_diag(late.A, p * np.eye(k))
    A[n:, :n] = (1.0 - p) * late.C[rows] if k else 0.0
    C = np.hstack([late.C[rows], -np.eye(len(measures))[:, :k]])
    B, E = np.zeros((n + k, len(drives))), np.zeros((n + k, len(drives)))
    B[:n], E[: len(own.A)] = late.B, own.B
    return SampledModel(late, measures, delay, corner, A, B, E, C)
