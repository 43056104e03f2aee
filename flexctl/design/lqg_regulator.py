"""LQG as a regulator of any plant: all of its states, in discrete time with the computation delay among them.

    minimise    sum of q_i y_i^2 + sum of R_j u_j^2           y_i: measurements as the law sees them, outputs or states
    estimate    x^ = x^- + L (y - C x^-),      x^-[k+1] = A x^ + B u
    command     u = -K x^                     or, with commands,  u = r - K (x^ - x_ref)

on the model of `sampled_model`. With `pass_commands` the commands r of the joints pass through the law: the
observer knows what they will do to the arm, and K undoes most of it before any sensor has seen it. That is
feedforward, as good as the model is. x_ref is the state that follows a command of constant rate for ever,

    x_ref = N0 r + N1 r',      N0 = (I - A)^-1 B,      N1 = -T (I - A)^-1 N0

without which the law would take slow moves for vibration and pull the joints away from their course. Without commands
the moves are disturbances at the inputs of the plant, and only the sensors tell of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import require
from ..laws.controller import LinearLaw
from ..machine.given import LinearGiven, as_linear
from ..model import FloatArray
from ..support.checks import each
from .design import Design
from .estimated import riccati
from .sampled_model import SampledModel, sampled_model


@dataclass(frozen=True)
class RegulatorWeights:
    """Weights of the design, in the units of the plant; one number serves all channels, or give one for each.

    Attributes
    ----------
    penalty : mapping
        Weight of the square of measurements (as the law sees them, high-passed), other outputs or states, by name.
    command : float or sequence of float
        Weight of each command's square.
    disturbance : float or sequence of float
        Variance of a disturbance of each command.
    noise : float or sequence of float
        Variance of each measurement's noise.

    Examples
    --------
    >>> fx.RegulatorWeights(penalty={"strain_lower": 1.0}, command=9e-4, disturbance=1e-6, noise=1e-10).command
    0.0009
    """

    penalty: Mapping[str, float]
    command: float | Sequence[float]
    disturbance: float | Sequence[float]
    noise: float | Sequence[float]


def lqg_regulator(
    plant: LinearGiven, weights: RegulatorWeights, *, measures: tuple[str, ...], drives: tuple[str, ...],
    sample_time: float,
    delay: int = 1, corner: float = 0.0, pass_commands: bool = False, limit: float = np.inf,
) -> Design:
    """Return the design of a law that follows what its measurements read at rest; see `variations.resting`.

    Parameters
    ----------
    plant : SecondOrder or FirstOrder
        Continuous linear plant; all of its states are in the law.
    weights : RegulatorWeights
        See there.
    measures, drives : tuple of str
        Measured outputs and driven inputs.
    sample_time : float
        Control period [s].
    delay : int
        Samples of computation delay.
    corner : float
        Corner of a high-pass of the measurements [rad/s]; 0 for none.
    pass_commands : bool
        Whether the law passes commands on: it then follows channels named like the inputs, and adds its corrections.
    limit : float
        Largest command of the law.

    Examples
    --------
    >>> ralf = fx.load_plant("ralf").linearise()
    >>> weights = fx.RegulatorWeights(penalty={"strain_lower": 1.0}, command=9e-4, disturbance=1e-6, noise=1e-10)
    >>> law = fx.lqg_regulator(
    ...     ralf, weights, measures=("strain_lower",), drives=("joint1_command",), sample_time=1e-3, corner=20.0
    ... )
    >>> law.stable
    True
    """
    plant = as_linear(plant)
    model = sampled_model(plant, measures, drives, sample_time, delay, corner)
    n, p = len(model.A), len(drives)
    x_ref = slow(model) if pass_commands else np.zeros((n, 0))
    K, L = regulator_gain(model, weights), filter_gain(model, weights)
    update = np.eye(n) - L @ model.C  # x^ = update x^- + L y
    passed = np.kron(np.eye(p), [[1.0, 0.0, 0.0]]) if pass_commands else x_ref[:p]
    law = LinearLaw(
        sample_time, measures, drives, drives if pass_commands else (), A=model.A @ update, By=model.A @ L, Bu=model.B,
        C=-K @ update, Dy=-K @ L, Dr=passed + K @ x_ref,
    )
    assumed = {
        "design": "LQG regulator", "sample_time": sample_time, "delay": delay, "corner": corner, "limit": limit,
        "pass_commands": pass_commands, "weights": weights, "states": n,
    }
    return Design(model.law(law, limit), plant, assumed, _slowest(model, K, L))


def slow(model: SampledModel) -> FloatArray:
    """Return the rows of x_ref on (r, r', r'') of every command."""
    rest = np.eye(len(model.A)) - model.A
    comes_to_rest = bool(np.linalg.cond(rest) < 1e14)
    what = "a law that passes commands on needs a plant that rests under a constant command; this one integrates it"
    require(comes_to_rest, what)
    N0 = np.linalg.solve(rest, model.B)
    N1 = -model.sample_time * np.linalg.solve(rest, N0)
    parts = zip((N0, N1), np.eye(3)[:2], strict=True)
    return np.asarray(sum(np.kron(N, row[None, :]) for N, row in parts), float)


def regulator_gain(model: SampledModel, weights: RegulatorWeights) -> FloatArray:
    """Return K."""
    require(bool(weights.penalty), "nothing is penalised: the best command is zero")
    require(all(q >= 0 for q in weights.penalty.values()), f"penalties {dict(weights.penalty)} must not be negative")
    Q = sum((q * np.outer(row, row) for q, row in ((q, model.row(n)) for n, q in weights.penalty.items())),
            np.zeros_like(model.A))
    R = np.diag(each("command", weights.command, len(model.drives), "positive"))
    P = riccati(model.A, model.B, Q, R, "regulator")
    return np.asarray(np.linalg.solve(R + model.B.T @ P @ model.B, model.B.T @ P @ model.A), float)


def filter_gain(model: SampledModel, weights: RegulatorWeights) -> FloatArray:
    """Return L."""
    W = model.E @ np.diag(each("disturbance", weights.disturbance, len(model.drives), "positive")) @ model.E.T
    V = np.diag(each("noise", weights.noise, len(model.measures), "positive"))
    P = riccati(model.A.T, model.C.T, W, V, "filter")
    return np.asarray(np.linalg.solve(model.C @ P @ model.C.T + V, model.C @ P).T, float)


def _slowest(model: SampledModel, K: FloatArray, L: FloatArray) -> dict[str, float]:
    """Return the decay of the slowest pole of regulator and filter [1/s]."""
    loops = {"regulator_decay": model.A - model.B @ K, "filter_decay": model.A @ (np.eye(len(L)) - L @ model.C)}
    return {
        key: float(-np.log(np.abs(np.linalg.eigvals(A)).max()) / model.sample_time) for key, A in loops.items()
    }
