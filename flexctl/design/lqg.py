"""LQG with integral action on a few modes, designed in discrete time with the computation delay as a state.

Plant for the design: the rigid modes and the first flexible ones, exact zero-order hold, x = (eta, eta'), and the
commands p on their way to the actuators. The cost is

    sum over followed outputs of z^2 + w_rate z'^2 + q_int s^2,  plus w_energy (eta'^2 + omega^2 eta^2) + R u^2

with s+ = s + Ts (z - r), z its reading (its estimate, where it is not measured). A Kalman filter with the *applied*
(limited, delayed) commands as inputs estimates x:

    u = u_ff - Kx (x^ - x_ref) - Kp (p - u_ff) - Ks s,     u_ff = J r'' + d r'

x_ref is r and r' on the rigid modes and the quasi-static bending b_i J r'' / omega_i^2 on mode i: without it the hub
would be pulled to the rigid angle. When a command is limited, s is corrected by what was cut off (anti-windup).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg as sla

from ..errors import ConvergenceError, require
from ..laws.controller import Delayed, LinearLaw
from ..linear.discrete import exact_pair
from ..machine.given import LinearGiven, as_second_order
from ..model import FloatArray
from ..support import checks
from .design import Design
from .design_model import DesignModel, Names, design_model


@dataclass(frozen=True)
class LqgWeights:
    """Weights of the design; outputs in rad, torque in N m. One number serves all channels, or give one for each.

    Attributes
    ----------
    rate : float
        Weight of a followed output's rate squared [s^2].
    energy : float
        Weight of the modal energies.
    integral : float or sequence of float
        Weight of a followed output's integral squared [1/s^2].
    command : float or sequence of float
        Weight R of a command squared [1/(N m)^2].
    disturbance : float
        Process noise variance on the modal rates per Ts^2, beside that of the inputs (1 N m)^2.
    noise : sequence of float
        Measurement noise variance of each measured output.

    Examples
    --------
    >>> fx.LqgWeights(rate=1e-5, energy=1e-4, integral=0.2, command=1e-4, disturbance=0.2, noise=(1e-7, 1e-7)).rate
    1e-05
    """

    rate: float
    energy: float
    integral: float | Sequence[float]
    command: float | Sequence[float]
    disturbance: float
    noise: Sequence[float]


def lqg(
    plant: LinearGiven, weights: LqgWeights, *, modes: int, sample_time: float, measures: Names, drive: Names,
    follow: Names, limit: float = np.inf,
) -> Design:
    """Return the design, one sample of computation delay included.

    Parameters
    ----------
    plant : SecondOrder
        Linear plant with as many rigid-body modes as there are inputs and followed outputs.
    weights : LqgWeights
        See there.
    modes : int
        Flexible modes in the design; the rest is spill-over to be certified on the full plant.
    sample_time : float
        Control period [s].
    measures, drive, follow : str or tuple of str
        Measured outputs, torque inputs, followed outputs, which must be angles or positions of the rigid arm.
    limit : float
        Largest torque [N m].

    Examples
    --------
    >>> plant = fx.load_plant("tokhi_azad_1994", overrides={"damping.kind": "modal", "damping.ratio": 0.01}).linearise()
    >>> names = {"measures": ("hub_angle", "tip_angle"), "drive": "hub_torque", "follow": "tip_angle"}
    >>> law = fx.lqg(plant, fx.bryson(plant, bandwidth=10.0, **names), modes=2, sample_time=1e-3, limit=0.3, **names)
    >>> law.stable
    True
    """
    plant = as_second_order(plant)
    checks.positive("sample_time", sample_time, "s")
    model = design_model(plant, modes, measures, drive, follow)
    given, wanted = len(weights.noise), len(model.measures)
    require(given == wanted, f"{given} noise variances for {wanted} measured outputs; give one each")
    k = len(model.drives)
    for name in ("command", "integral"):
        count = np.size(getattr(weights, name))
        require(count in (1, k), f"{count} weights of the {name} for {k} channels; give one, or one each")
    smallest = np.min([*np.atleast_1d(weights.command), *np.atleast_1d(weights.integral), *weights.noise])
    positive = bool(smallest > 0)
    require(positive, f"the weights of command and integral and all noise variances must be positive; got {weights}")
    others = all(weight >= 0 for weight in (weights.rate, weights.energy, weights.disturbance))
    require(others, f"the weights of rate, energy and disturbance must not be negative; got {weights}")
    A, B, C = model.statespace
    Phi, integral = exact_pair(A, sample_time)
    Gamma = integral @ B
    gain = _regulator(Phi, Gamma, model, weights, sample_time)
    correct = _filter(Phi, Gamma, C, weights, sample_time)
    law = Delayed(_assemble(Phi, Gamma, model, gain, correct, sample_time).limited(-limit, limit), 1)
    assumed = {"design": "LQG", "modes": modes, "sample_time": sample_time, "delay": 1, "limit": limit}
    return Design(law, plant, {**assumed, "weights": weights})


def _regulator(Phi: FloatArray, Gamma: FloatArray, model: DesignModel, w: LqgWeights, Ts: float) -> FloatArray:
    """Return the gain on (x, p, s)."""
    m, c, omega = model.omega.size, model.c, model.omega
    n, k = 2 * m, len(c)
    A = np.zeros((n + 2 * k, n + 2 * k))
    A[:n, :n], A[:n, n : n + k] = Phi, Gamma
    A[n + k :, :m], A[n + k :, n + k :] = Ts * c, np.eye(k)
    B: FloatArray = np.zeros((n + 2 * k, k))
    B[n : n + k] = np.eye(k)
    Q = np.zeros((n + 2 * k, n + 2 * k))
    Q[:m, :m] = c.T @ c + w.energy * np.diag(omega**2)
    Q[m:n, m:n] = w.rate * c.T @ c + w.energy * np.eye(m)
    Q[n + k :, n + k :] = np.diag(np.broadcast_to(w.integral, k))
    R = np.diag(np.broadcast_to(np.asarray(w.command, float), k))
    P = riccati(A, B, Q, R, "regulator")
    return np.asarray(np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A), float)


def _filter(Phi: FloatArray, Gamma: FloatArray, C: FloatArray, w: LqgWeights, Ts: float) -> FloatArray:
    """Return the gain of the current estimator, x^ = x^- + L (y - C x^-)."""
    k = len(Phi) // 2
    W = Gamma @ Gamma.T + np.diag(np.r_[np.zeros(k), np.full(k, w.disturbance * Ts**2)])
    V = np.diag(np.asarray(w.noise, float))
    P = riccati(Phi.T, C.T, W, V, "filter")
    return np.asarray(np.linalg.solve(C @ P @ C.T + V, C @ P).T, float)


def riccati(A: FloatArray, B: FloatArray, Q: FloatArray, R: FloatArray, what: str) -> FloatArray:
    """Return the stabilising solution of the discrete Riccati equation, its residual checked."""
    try:
        P: FloatArray = sla.solve_discrete_are(A, B, Q, R)
    except (np.linalg.LinAlgError, ValueError) as error:
        raise ConvergenceError(f"the Riccati equation of the {what} has no stabilising solution: {error}") from error
    residual: FloatArray = A.T @ P @ A - P - A.T @ P @ B @ np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A) + Q
    size = float(np.abs(residual).max() / max(np.abs(P).max(), 1e-300))
    if size > 1e-7:
        message = f"the Riccati equation of the {what} is solved to {size:.1e} only; scale the weights"
        raise ConvergenceError(message, residual=size)
    return P


def _assemble(
    Phi: FloatArray, Gamma: FloatArray, model: DesignModel, gain: FloatArray, L: FloatArray, Ts: float
) -> LinearLaw:
    m, k = model.omega.size, len(model.drives)
    n, C = 2 * m, model.statespace[2]
    Kx, Kp, Ks = gain[:, :n], gain[:, n : n + k], gain[:, n + k :]
    reference = np.zeros((n, 3 * k))  # x_ref from (r, r', r'') of each followed output
    rigid = np.linalg.inv(model.c[:, :k])
    reference[:k], reference[m : m + k] = np.kron(rigid, [[1.0, 0.0, 0.0]]), np.kron(rigid, [[0.0, 1.0, 0.0]])
    reference[k:m] = model.b[k:] / model.omega[k:, None] ** 2 @ model.inertial
    update = np.eye(n) - L @ C  # x^ = update x^- + L y
    # law states: x^- (n), p (k), s (k)
    Cu, Dy = np.hstack([-Kx @ update, -Kp, -Ks]), -Kx @ L
    Dr = Kx @ reference + (np.eye(k) + Kp) @ model.feedforward
    A = np.zeros((n + 2 * k, n + 2 * k))
    A[:n, :n], A[:n, n : n + k] = Phi @ update, Gamma
    ny = len(model.measures)
    By, Br, Bu = np.zeros((n + 2 * k, ny)), np.zeros((n + 2 * k, 3 * k)), np.zeros((n + 2 * k, k))
    By[:n] = Phi @ L
    Bu[n : n + k] = np.eye(k)
    # integral of the followed output minus the reference, less what the limits cut off; the estimate of an output would
    # leave the error that a constant load makes in the estimate
    s = slice(n + k, None)
    A[s, s] = np.eye(k)
    for i, name in enumerate(model.follows):
        if name in model.measures:
            By[n + k + i, model.measures.index(name)] = Ts
        else:
            A[n + k + i, :n], By[n + k + i] = Ts * model.c[i] @ update[:m], Ts * model.c[i] @ L[:m]
    Br[s] = np.kron(-Ts * np.eye(k), [[1.0, 0.0, 0.0]])
    back: FloatArray = np.asarray(0.1 * np.linalg.inv(Ks), float)
    A[s] += back @ Cu
    By[s] += back @ Dy
    Br[s] += back @ Dr
    Bu[s] -= back
    start = np.zeros((n + 2 * k, ny))  # the rigid arm that stands where it is measured
    start[:k] = np.linalg.pinv(model.rows[:, :k])
    return LinearLaw(
        Ts, model.measures, model.drives, model.follows, A=A, By=By, Br=Br, Bu=Bu, C=Cu, Dy=Dy, Dr=Dr, start=start
    )
