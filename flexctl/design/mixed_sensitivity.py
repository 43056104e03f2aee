"""H-infinity tracking from several measurements: error against command, with a disturbance at the plant's input.

    w = (torque disturbance, noise of each measurement),   z = (W_1 (followed measurement), W_u u)
    W(s) = (b1 s + b0) / (a1 s + a0)

The computation delay is in the problem as a first-order Pade factor at the input. The disturbance is what makes the
problem regular: without it the rigid poles on the axis are invariant zeros of it. All weights are meant in scaled units
(`HinfScales`), in which a good design has numbers near 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import require
from ..linear import FirstOrder
from ..machine.given import LinearGiven, as_second_order
from ..model import FloatArray, Signal
from .design import Design
from .design_model import DesignModel, Names, design_model, sampled_loop
from .hinf import Problem, Synthesis, synthesise


@dataclass(frozen=True)
class Lag:
    """A first-order weight (b1 s + b0) / (a1 s + a0), proper and stable.

    Examples
    --------
    >>> fx.Lag(1.0, 8.5, 0.03, 4.1).b1
    1.0
    """

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
class HinfScales:
    """Units of the design: `rate` [rad/s] for time, `command` for the input, `output` for the measurements.

    For several inputs `command` may be a matrix: the commands that make up each scaled one, which uncouples the joints
    of an arm (`recipes.hinf_weights`).

    Examples
    --------
    >>> fx.HinfScales(rate=50.0, command=0.3, output=0.0024).rate
    50.0
    """

    rate: float
    command: float | Sequence[Sequence[float]]
    output: float

    def commands(self, count: int) -> FloatArray:
        """Return the commands of each scaled command of so many inputs, as the columns of a matrix."""
        given = np.asarray(self.command, float)
        matrix = given * np.eye(count) if given.ndim == 0 else given
        fits = matrix.shape == (count, count) and bool(np.linalg.cond(matrix) < 1e12)
        require(
            fits, f"scales of the command {given.tolist()} for {count} inputs: give one number, or a regular matrix"
        )
        return np.asarray(matrix, float)


@dataclass(frozen=True)
class HinfWeights:
    """Weights in scaled units.

    Attributes
    ----------
    disturbance : float
        Size of the disturbance at the plant's input.
    noise : sequence of float
        Size of the noise of each measurement.
    error, command : Lag
        W_1 on each followed measurement and W_u on each command.

    Examples
    --------
    >>> error, command = fx.Lag(0.55, 0.0034, 1.0, 3.4e-6), fx.Lag(1.0, 8.5, 0.03, 4.1)
    >>> fx.HinfWeights(disturbance=0.24, noise=(1.7, 0.2), error=error, command=command).disturbance
    0.24
    """

    disturbance: float
    noise: Sequence[float]
    error: Lag
    command: Lag


def hinf(
    plant: LinearGiven, weights: HinfWeights, scales: HinfScales, *, modes: int, sample_time: float, measures: Names,
    drive: Names, follow: Names, slack: float = 1.5, limit: float = np.inf,
) -> Design:
    """Return the law u = J r'' + K (y - y_ref), sampled by Tustin's rule, with one sample of computation delay.

    Parameters
    ----------
    plant : SecondOrder
        Linear plant with as many rigid-body modes as there are inputs and followed outputs.
    weights, scales
        See there.
    modes, measures, drive, limit
        As for `loop_shaping`.
    sample_time : float
        Control period [s]; the delay in the design is 1.5 periods, with the hold.
    follow : str or tuple of str
        Followed outputs, which must be measured.
    slack : float
        gamma over its verified minimum; see `hinf.synthesise`.

    Examples
    --------
    >>> plant = fx.load_plant("tokhi_azad_1994", overrides={"damping.kind": "modal", "damping.ratio": 0.01}).linearise()
    >>> names = {"measures": ("joint1_angle", "chord1_angle"), "drive": "joint1_torque", "follow": "chord1_angle"}
    >>> weights, scales = fx.hinf_weights(plant, bandwidth=10.0, **names)
    >>> law = fx.hinf(plant, weights, scales, modes=2, sample_time=1e-3, limit=0.3, **names)
    >>> law.stable
    True
    """
    plant = as_second_order(plant)
    model = design_model(plant, modes, measures, drive, follow)
    K, found = tracking_controller(model, weights, scales, 1.5 * sample_time, slack)
    law, assumed = sampled_loop(model, K, "H-infinity", modes, sample_time, limit)
    numbers = {"gamma": found.gamma, "norm": found.norm, "smallest_norm": found.best}
    return Design(law, plant, {**assumed, "weights": weights, "scales": scales}, numbers)


def tracking_controller(
    model: DesignModel, weights: HinfWeights, scales: HinfScales, delay: float, slack: float
) -> tuple[FirstOrder, Synthesis]:
    """Return the continuous controller u = K y in SI units and the synthesis behind it."""
    found = synthesise(generalised_plant(model, weights, scales, delay), slack)
    states = tuple(Signal(f"k{i + 1}") for i in range(len(found.A)))
    gain = scales.commands(len(model.drives)) / scales.output
    note = {"design": "mixed sensitivity", "gamma": found.gamma, "norm": found.norm, "smallest_norm": found.best}
    K = FirstOrder(
        scales.rate * found.A, scales.rate * found.B, gain @ found.C, gain @ found.D, states,
        tuple(Signal(s) for s in model.measures), tuple(Signal(s) for s in model.drives), 0.0, note,
    )
    return K, found


def generalised_plant(model: DesignModel, weights: HinfWeights, scales: HinfScales, delay: float) -> Problem:
    """Return the problem of the module docstring in scaled units; states: plant, delay, W_1, W_u."""
    for name in model.follows:
        require(name in model.measures, f'the followed output "{name}" must be measured')
    given, ny, k = len(weights.noise), len(model.measures), len(model.drives)
    require(given == ny, f"{given} noise sizes for {ny} measured outputs; give one each")
    positive = min(weights.disturbance, *weights.noise, scales.rate, scales.output, delay) > 0
    require(positive, "disturbance, noise, scales and delay must be positive")
    A, B, C = (np.asarray(part) for part in model.statespace)
    A, B, C = A / scales.rate, B @ scales.commands(k) / scales.rate, C / scales.output
    n, tau, unit = len(A), delay * scales.rate, np.eye(k)
    read = np.eye(ny)[[model.measures.index(name) for name in model.follows]]
    noisy = read * np.asarray(weights.noise)
    (a1, c1, d1), (au, cu, du) = weights.error.realisation, weights.command.realisation
    N, late, w1, wu = n + 3 * k, slice(n, n + k), slice(n + k, n + 2 * k), slice(n + 2 * k, n + 3 * k)
    full: FloatArray = np.zeros((N, N))
    # Pade: -1 + (4/tau) / (s + 2/tau)
    full[:n, :n], full[:n, late], full[late, late] = A, 4.0 / tau * B, -2.0 / tau * unit
    full[w1, :n], full[w1, w1], full[wu, wu] = read @ C, a1 * unit, au * unit
    B1, B2 = np.zeros((N, k + ny)), np.zeros((N, k))
    B1[:n, :k], B1[w1, k:] = weights.disturbance * B, noisy
    B2[:n], B2[late], B2[wu] = -B, unit, unit
    C1, C2 = np.zeros((2 * k, N)), np.zeros((ny, N))
    C1[:k, :n], C1[:k, w1], C1[k:, wu], C2[:, :n] = d1 * read @ C, c1 * unit, cu * unit, C
    D11, D12, D21 = np.zeros((2 * k, k + ny)), np.vstack([0.0 * unit, du * unit]), np.zeros((ny, k + ny))
    D11[:k, k:] = d1 * noisy
    D21[:, k:] = np.diag(weights.noise)
    return Problem(full, B1, B2, C1, C2, D11, D12, D21, np.zeros((ny, k)))
