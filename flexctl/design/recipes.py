"""Weights without magic numbers: what a design wants, from the plant and a bandwidth.

    weights = bryson(plant, bandwidth=20.0, measures="joint1_angle", drive="joint1_torque", follow="joint1_angle")
    law = lqg(plant, weights, modes=2, ...)

Bryson's rule makes every weight one over the square of the largest acceptable value. For an arm these values hang
together: an error e that is to vanish within 1/w asks for the rate w e and the command J w^2 e, J the inertia of the
rigid arm as the inputs feel it. So a bandwidth w is all that has to be chosen, and the same few numbers serve a link of
50 g and an arm of 100 kg. The numbers here are those that proved good on the single flexible link of Tokhi and Azad
(1994) with feedback from hub and tip; like any weights they are a beginning, to be judged by margins and runs.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.linalg as sla

from ..errors import require
from ..linear import SecondOrder
from ..machine.given import LinearGiven, as_second_order
from ..model import FloatArray, index_of
from . import lqg, mixed_sensitivity
from .design_model import DesignModel, Names, design_model

ROLL_OFF = 120.0
"""Pole of the roll-off of a shaped loop, in parts of its bandwidth."""


def held_frequency(plant: LinearGiven, measures: Names) -> float:
    """Return the lowest natural frequency [rad/s] of the plant with these outputs held still.

    With the joint angles it is that of the arm with its joints locked, the frequency at which feedback from the joints
    alone can do nothing: a joint law stays well below it, a model-based one at about half of it.

    Examples
    --------
    >>> print(f"{fx.held_frequency(fx.load_plant('tokhi_azad_1994').linearise(), 'joint1_angle'):.2f} rad/s")
    17.91 rad/s
    """
    plant = as_second_order(plant)
    names = measures if isinstance(measures, tuple) else (measures,)
    rows = plant.Cq[[index_of("output", name, plant.outputs) for name in names]]
    free = sla.null_space(rows)
    K, M = (free.T @ part @ free for part in (plant.K, plant.M))
    squares = sla.eigh(K, M, eigvals_only=True)
    lowest, rounding = float(squares[0]), 10.0 * squares.size * np.finfo(float).eps * float(squares[-1])
    require(lowest > rounding, f"the plant moves freely with {list(names)} held: name an output of every joint")
    return math.sqrt(lowest)


def bryson(
    plant: LinearGiven, *, bandwidth: float, measures: Names, drive: Names, follow: Names, observer: float = 5.0,
    integral: float = 0.01,
) -> lqg.LqgWeights:
    """Return weights of `lqg.lqg` by Bryson's rule.

    Parameters
    ----------
    plant : SecondOrder
        Linear plant with as many rigid-body modes as there are inputs and followed outputs.
    bandwidth : float
        w [rad/s]: a command of J w^2 is as acceptable as an error of 1 rad (or m).
    measures, drive, follow : str or tuple of str
        As for the design.
    observer : float
        Bandwidth of the observer in parts of w: how far the measurements are trusted.
    integral : float
        Rate of the integral action in parts of w.

    Examples
    --------
    >>> plant = fx.load_plant("tokhi_azad_1994").linearise()
    >>> names = {"measures": "joint1_angle", "drive": "joint1_torque", "follow": "joint1_angle"}
    >>> weights = fx.bryson(plant, bandwidth=10.0, **names)
    >>> print(f"{weights.rate:.2g}")
    0.0001
    """
    plant = as_second_order(plant)
    model = _model(plant, bandwidth, measures, drive, follow)
    require(observer > 0 and integral > 0, f"observer = {observer} and integral = {integral} must be positive")
    J = np.abs(np.diag(model.inertia))
    k = J.size
    # what each measurement reads of the accelerations that the unit torques of the observer's noise cause
    reads = np.linalg.norm(model.rows[:, :k] @ model.b[:k], axis=1)
    bends = np.linalg.norm(model.flexibility, axis=1)
    push = np.sum(model.b[:k] ** 2, axis=0).min()  # of the weakest input on the rigid modes
    noise = (reads / (observer * bandwidth) ** 2) ** 2 + (3e-3 * bends) ** 2
    return lqg.LqgWeights(
        rate=(0.1 / bandwidth) ** 2, energy=4e-3 / (J.max() * bandwidth**2), integral=(integral * bandwidth) ** 2,
        command=tuple(1.0 / (J * bandwidth**2) ** 2), disturbance=0.01 * float(push), noise=tuple(noise),
    )


def hinf_weights(
    plant: LinearGiven, *, bandwidth: float, measures: Names, drive: Names, follow: Names
) -> tuple[mixed_sensitivity.HinfWeights, mixed_sensitivity.HinfScales]:
    """Return weights and scales of `mixed_sensitivity.hinf`; the parameters are those of `bryson`.

    The unit of time is 1/w, that of a command accelerates one joint at a time, that of an output is how far this moves
    it in 1/w.

    Examples
    --------
    >>> plant = fx.load_plant("tokhi_azad_1994").linearise()
    >>> names = {"measures": ("joint1_angle", "chord1_angle"), "drive": "joint1_torque", "follow": "chord1_angle"}
    >>> weights, scales = fx.hinf_weights(plant, bandwidth=10.0, **names)
    >>> weights.noise
    [1.7, 0.19]
    """
    plant = as_second_order(plant)
    model = _model(plant, bandwidth, measures, drive, follow)
    noise = [0.19 if name in model.follows else 1.7 for name in model.measures]
    error, command = mixed_sensitivity.Lag(0.55, 0.0034, 1.0, 3.4e-6), mixed_sensitivity.Lag(1.0, 8.5, 0.03, 4.1)
    scales = mixed_sensitivity.HinfScales(bandwidth, tuple(map(tuple, model.inertia)), 1.0 / bandwidth**2)
    return mixed_sensitivity.HinfWeights(0.24, noise, error, command), scales


def shaping_gains(
    plant: LinearGiven, *, bandwidth: float, measures: Names, drive: Names, follow: Names
) -> tuple[FloatArray, float]:
    """Return gains and roll-off [rad/s] of `loop_shaping.loop_shaping`; the parameters are those of `bryson`.

    With several measurements of one motion each gets an equal part of it.

    Examples
    --------
    >>> plant = fx.load_plant("tokhi_azad_1994").linearise()
    >>> names = {"measures": ("joint1_angle", "chord1_angle"), "drive": "joint1_torque", "follow": "chord1_angle"}
    >>> gains, roll_off = fx.shaping_gains(plant, bandwidth=10.0, **names)
    >>> print(roll_off)
    1200.0
    """
    plant = as_second_order(plant)
    model = _model(plant, bandwidth, measures, drive, follow)
    gains = 0.15 * bandwidth**2 * model.inertia @ np.linalg.pinv(model.gain)
    return (gains[0] if len(gains) == 1 else gains), ROLL_OFF * bandwidth


def _model(plant: SecondOrder, bandwidth: float, measures: Names, drive: Names, follow: Names) -> DesignModel:
    require(math.isfinite(bandwidth) and bandwidth > 0, f"bandwidth = {bandwidth} rad/s must be positive and finite")
    return design_model(plant, 0, measures, drive, follow)
