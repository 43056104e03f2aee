"""H-infinity tracking from several measurements: error against command, with a disturbance at the plant's input.

    w = (torque disturbance, noise of each measurement),   z = (W_1 (followed measurement), W_u u)
    W(s) = (b1 s + b0) / (a1 s + a0)

The computation delay is in the problem as a first-order Pade factor at the input. The disturbance is what makes the
problem regular: without it the rigid poles on the axis are invariant zeros of it. All weights are meant in scaled units
(`Scales`), in which a good design has numbers near 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import require
from ..linear import FirstOrder, SecondOrder
from ..linear.conversion import discretise
from ..model import FloatArray, Signal
from .controller import Delayed
from .design import Design
from .design_model import DesignModel, design_model
from .hinf import Problem, Synthesis, synthesise


@dataclass(frozen=True)
class Lag:
    """A first-order weight (b1 s + b0) / (a1 s + a0), proper and stable."""

    b1: float
    b0: float
    a1: float
    a0: float

    def __post_init__(self) -> None:
        require(self.a1 > 0 and self.a0 > 0, f"weight (.. )/({self.a1} s + {self.a0}): both must be positive")

    @property
    def realisation(self) -> tuple[float, float, float]:
        """Pole a, gain c and feed-through d of c/(s - a) + d."""
        d = self.b1 / self.a1
        return -self.a0 / self.a1, (self.b0 - d * self.a0) / self.a1, d


@dataclass(frozen=True)
class Scales:
    """Units of the design: `rate` [rad/s] for time, `command` for the input, `output` for the measurements."""

    rate: float
    command: float
    output: float


@dataclass(frozen=True)
class Weights:
    """Weights in scaled units.

    Attributes
    ----------
    disturbance : float
        Size of the disturbance at the plant's input.
    noise : sequence of float
        Size of the noise of each measurement.
    error, command : Lag
        W_1 on the followed measurement and W_u on the command.
    """

    disturbance: float
    noise: Sequence[float]
    error: Lag
    command: Lag


def mixed_sensitivity(
    plant: SecondOrder, weights: Weights, scales: Scales, *, modes: int, sample_time: float, measures: tuple[str, ...],
    drive: str, follow: str, slack: float = 1.5, limit: float = np.inf,
) -> Design:  # fmt: skip
    """Return the law u = J r'' + K (y - y_ref), sampled by Tustin's rule, with one sample of computation delay.

    Parameters
    ----------
    plant : SecondOrder
        Linear plant with one rigid-body mode.
    weights, scales
        See there.
    modes : int
        Flexible modes in the design.
    sample_time : float
        Control period [s]; the delay in the design is 1.5 periods, with the hold.
    measures, drive, follow : str
        Measured outputs, input, and the followed output, which must be measured.
    slack : float
        gamma over its verified minimum; see `hinf.synthesise`.
    limit : float
        Largest input.
    """
    model = design_model(plant, modes, measures, drive, follow)
    K, found = tracking_controller(model, weights, scales, 1.5 * sample_time, slack)
    law = Delayed(model.law(discretise(K, sample_time), limit), 1)
    assumed = {"design": "H-infinity", "modes": modes, "sample_time": sample_time, "delay": 1, "limit": limit}
    numbers = {"gamma": found.gamma, "norm": found.norm, "smallest_norm": found.best}
    return Design(law, plant, {**assumed, "weights": weights, "scales": scales}, numbers)


def tracking_controller(
    model: DesignModel, weights: Weights, scales: Scales, delay: float, slack: float
) -> tuple[FirstOrder, Synthesis]:
    """Return the continuous controller u = K y in SI units and the synthesis behind it."""
    found = synthesise(generalised_plant(model, weights, scales, delay), slack)
    states = tuple(Signal(f"k{i + 1}") for i in range(len(found.A)))
    gain = scales.command / scales.output
    note = {"design": "mixed sensitivity", "gamma": found.gamma, "norm": found.norm, "smallest_norm": found.best}
    K = FirstOrder(
        scales.rate * found.A, scales.rate * found.B, gain * found.C, gain * found.D, states,
        tuple(Signal(s) for s in model.measures), (Signal(model.drives[0]),), 0.0, note,
    )  # fmt: skip
    return K, found


def generalised_plant(model: DesignModel, weights: Weights, scales: Scales, delay: float) -> Problem:
    """Return the problem of the module docstring in scaled units; states: plant, delay, W_1, W_u."""
    require(model.follows[0] in model.measures, f'the followed output "{model.follows[0]}" must be measured')
    given, ny = len(weights.noise), len(model.measures)
    require(given == ny, f"{given} noise sizes for {ny} measured outputs; give one each")
    positive = min(weights.disturbance, *weights.noise, scales.rate, scales.command, scales.output, delay) > 0
    require(positive, "disturbance, noise, scales and delay must be positive")
    A, B, C = (np.asarray(part) for part in model.statespace)
    A, B, C = A / scales.rate, B * scales.command / scales.rate, C / scales.output
    n, at, tau = len(A), model.measures.index(model.follows[0]), delay * scales.rate
    (a1, c1, d1), (au, cu, du) = weights.error.realisation, weights.command.realisation
    N = n + 3
    full: FloatArray = np.zeros((N, N))
    # Pade: -1 + (4/tau) / (s + 2/tau)
    full[:n, :n], full[:n, n], full[n, n] = A, 4.0 / tau * B[:, 0], -2.0 / tau
    full[n + 1, :n], full[n + 1, n + 1], full[n + 2, n + 2] = C[at], a1, au
    B1, B2 = np.zeros((N, 1 + ny)), np.zeros((N, 1))
    B1[:n, 0], B1[n + 1, 1 + at] = weights.disturbance * B[:, 0], weights.noise[at]
    B2[:n, 0], B2[n, 0], B2[n + 2, 0] = -B[:, 0], 1.0, 1.0
    C1, C2 = np.zeros((2, N)), np.zeros((ny, N))
    C1[0, :n], C1[0, n + 1], C1[1, n + 2], C2[:, :n] = d1 * C[at], c1, cu, C
    D11, D12, D21 = np.zeros((2, 1 + ny)), np.array([[0.0], [du]]), np.zeros((ny, 1 + ny))
    D11[0, 1 + at] = d1 * weights.noise[at]
    D21[:, 1:] = np.diag(weights.noise)
    return Problem(full, B1, B2, C1, C2, D11, D12, D21, np.zeros((ny, 1)))
