"""Damping of vibration by H-infinity, from any measurements to any inputs of a plant whose joints are held or led.

    w = (a disturbance of every command, noise of every measurement),     z = (every measurement, every command)

in units in which a good design has numbers near 1 (`HinfScales`). The disturbance stands for the moves that the law is
does not see: what a commanded joint does to the arm enters where the law's own corrections enter.

The problem is posed for the sampled plant, with its hold and its computation delay (`sampled_model`), and carried over
to continuous time by the bilinear map, which keeps norm and stability; so is the controller on its way back. A design
in continuous time put through Tustin's rule instead, with a sample of delay behind it, is unstable on an undamped arm:
slowly, in modes far above the ones it is meant for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..laws.controller import LinearLaw
from ..linear import FirstOrder
from ..linear.balance import balanced
from ..linear.conversion import continued, discretise
from ..machine.given import LinearGiven, as_linear
from ..model import FloatArray, Signal
from ..support.checks import each
from .design import Design
from .hinf import Problem, synthesise
from .mixed_sensitivity import HinfScales
from .sampled_model import SampledModel, sampled_model


@dataclass(frozen=True)
class VibrationWeights:
    """Sizes in scaled units; one number serves all channels, or give one for each.

    Attributes
    ----------
    noise : float or sequence of float
        Noise of each measurement, beside a disturbance of 1 of every command.
    command : float or sequence of float
        Weight of each command, beside 1 of every measurement.

    Examples
    --------
    >>> fx.VibrationWeights(noise=0.3, command=0.3).noise
    0.3
    """

    noise: float | Sequence[float]
    command: float | Sequence[float]


def vibration_damping(
    plant: LinearGiven, weights: VibrationWeights, scales: HinfScales, *, measures: tuple[str, ...],
    drives: tuple[str, ...],
    sample_time: float, delay: int = 1, corner: float = 0.0, slack: float = 1.1, limit: float = np.inf,
) -> Design:
    """Return the design of a law that uses only its measurements and their values at rest.

    That is their reference, see `flexctl.judging.variations.resting`.

    Parameters
    ----------
    plant : SecondOrder or FirstOrder
        Continuous linear plant; all of its states are in the law.
    weights : VibrationWeights
        See there.
    scales : HinfScales
        Units of time, commands and measurements.
    measures, drives, sample_time, delay, corner, limit
        As for `lqg_regulator`.
    slack : float
        gamma over its verified minimum; see `hinf.synthesise`.

    Examples
    --------
    >>> ralf = fx.load_plant("ralf").linearise()
    >>> law = fx.vibration_damping(
    ...     ralf, fx.VibrationWeights(noise=0.3, command=0.3), fx.HinfScales(rate=50.0, command=1e-3, output=1e-4),
    ...     measures=("strain_lower",), drives=("joint1_command",), sample_time=1e-3, corner=20.0,
    ... )
    >>> law.stable
    True
    """
    plant = as_linear(plant)
    model = sampled_model(plant, measures, drives, sample_time, delay, corner)
    made = synthesise(generalised(model, weights, scales), slack)
    law = model.law(_controller(model, scales, made.A, made.B, made.C, made.D), limit)
    assumed = {
        "design": "H-infinity damping", "sample_time": sample_time, "delay": delay, "corner": corner, "limit": limit,
        "weights": weights, "scales": scales, "states": len(model.A),
    }
    return Design(law, plant, assumed, {"gamma": made.gamma, "norm": made.norm, "smallest_norm": made.best})


def generalised(model: SampledModel, weights: VibrationWeights, scales: HinfScales) -> Problem:
    """Return the problem of the module docstring in scaled units."""
    k, p = len(model.measures), len(model.drives)
    noise = np.diag(each("noise", weights.noise, k, "positive"))
    command = np.diag(each("command", weights.command, p, "positive"))
    C = model.C / scales.output
    none = np.zeros((p, len(model.A)))
    unit = scales.commands(p)
    B = np.hstack([model.E @ unit, np.zeros((len(model.A), k)), model.B @ unit])
    D = np.zeros((k + p + k, p + k + p))
    D[k : k + p, p + k :], D[k + p :, p : p + k] = command, noise
    P = continued(_system(model.A, B, np.vstack([C, none, C]), D, scales.rate * model.sample_time))
    w, z = p + k, k + p
    return Problem(
        P.A, P.B[:, :w], P.B[:, w:], P.C[:z], P.C[z:], P.D[:z, :w], P.D[:z, w:], P.D[z:, :w], P.D[z:, w:]
    )


def _controller(
    model: SampledModel, scales: HinfScales, A: FloatArray, B: FloatArray, C: FloatArray, D: FloatArray
) -> LinearLaw:
    """Return the sampled law in SI units, states balanced: the smallest ones carry strains."""
    K = discretise(_system(A, B, C, D), scales.rate * model.sample_time)
    gain = scales.commands(len(model.drives)) / scales.output
    A, scale, _ = balanced(K.A)
    return LinearLaw(
        model.sample_time, model.measures, model.drives, A=A, By=K.B / scale[:, None], C=gain @ K.C * scale,
        Dy=gain @ K.D,
    )


def _system(A: FloatArray, B: FloatArray, C: FloatArray, D: FloatArray, dt: float = 0.0) -> FirstOrder:
    sizes = {"x": len(A), "u": D.shape[1], "y": D.shape[0]}
    x, u, y = (tuple(Signal(f"{letter}{i + 1}") for i in range(n)) for letter, n in sizes.items())
    return FirstOrder(A, B, C, D, x, u, y, dt)
