"""LQG with integral action on a few modes, designed in discrete time with the computation delay as a state.

Plant for the design: the rigid mode and the first flexible ones, exact zero-order hold, x = (eta, eta'), and the
command p on its way to the actuator. The cost is

    sum of (c x)^2 + w_rate (c' x)^2 + w_energy (eta'^2 + omega^2 eta^2) + q_int s^2 + R u^2,     s+ = s + Ts (y - r)

with c the followed output and y its reading (its estimate, where it is not measured). A Kalman filter with the
*applied* (limited, delayed) command as input estimates x:

    u = u_ff - Kx (x^ - x_ref) - Kp (p - u_ff) - Ks s,     u_ff = J r''

x_ref is (r, r') on the rigid mode and the quasi-static bending b_i u_ff / omega_i^2 on mode i: without it the hub would
be pulled to the rigid angle. When the command is limited, s is corrected by the part that was cut off (anti-windup).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg as sla

from ..errors import ConvergenceError, require
from ..linear import SecondOrder
from ..linear.discrete import exact_pair
from ..model import FloatArray
from .controller import Delayed, LinearLaw
from .design_model import design_model


@dataclass(frozen=True)
class Weights:
    """Weights of the design; outputs in rad, torque in N m.

    Attributes
    ----------
    rate : float
        Weight of the followed output's rate squared [s^2].
    energy : float
        Weight of the modal energies.
    integral : float
        Weight of the integral squared [1/s^2].
    command : float
        Weight R of the command squared [1/(N m)^2].
    disturbance : float
        Process noise variance on the modal rates per Ts^2, beside that of the input (1 N m)^2.
    noise : sequence of float
        Measurement noise variance of each measured output.
    """

    rate: float
    energy: float
    integral: float
    command: float
    disturbance: float
    noise: Sequence[float]


def lqg(
    plant: SecondOrder, weights: Weights, *, modes: int, sample_time: float, measures: tuple[str, ...], drive: str,
    follow: str, limit: float = np.inf,
) -> Delayed:  # fmt: skip
    """Return the law, one sample of computation delay included.

    Parameters
    ----------
    plant : SecondOrder
        Linear plant with one rigid-body mode.
    weights : Weights
        See there.
    modes : int
        Flexible modes in the design; the rest is spill-over to be certified on the full plant.
    sample_time : float
        Control period [s].
    measures, drive, follow : str
        Measured outputs, torque input, and the followed output, which must be an angle like the rigid mode's.
    limit : float
        Largest torque [N m].
    """
    require(sample_time > 0, f"sample_time = {sample_time} s must be positive")
    given, wanted = len(weights.noise), len(measures)
    require(given == wanted, f"{given} noise variances for {wanted} measured outputs; give one each")
    positive = all(weight > 0 for weight in (weights.command, weights.integral, *weights.noise))
    require(positive, f"the weights of command and integral and all noise variances must be positive; got {weights}")
    others = all(weight >= 0 for weight in (weights.rate, weights.energy, weights.disturbance))
    require(others, f"the weights of rate, energy and disturbance must not be negative; got {weights}")
    model = design_model(plant, modes, measures, drive, follow)
    b, c, omega = model.b, model.c, model.omega
    A, B, C = model.statespace
    Phi, integral = exact_pair(A, sample_time)
    Gamma = integral @ B
    gain = _regulator(Phi, Gamma, c, omega, weights, sample_time)
    correct = _filter(Phi, Gamma, C, weights, sample_time)
    return Delayed(_assemble(Phi, Gamma, C, c, b, omega, gain, correct, sample_time, measures, drive, follow, limit), 1)


def _regulator(
    Phi: FloatArray, Gamma: FloatArray, c: FloatArray, omega: FloatArray, w: Weights, Ts: float
) -> FloatArray:
    """Return the gain on (x, p, s)."""
    k, n = omega.size, 2 * omega.size
    A = np.zeros((n + 2, n + 2))
    A[:n, :n], A[:n, n] = Phi, Gamma[:, 0]
    A[n + 1, :k], A[n + 1, n + 1] = Ts * c, 1.0
    B = np.zeros((n + 2, 1))
    B[n] = 1.0
    Q = np.zeros((n + 2, n + 2))
    Q[:k, :k] = np.outer(c, c) + w.energy * np.diag(omega**2)
    Q[k:n, k:n] = w.rate * np.outer(c, c) + w.energy * np.eye(k)
    Q[n + 1, n + 1] = w.integral
    R = np.array([[w.command]])
    P = _riccati(A, B, Q, R, "regulator")
    gain: FloatArray = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)[0]
    return gain


def _filter(Phi: FloatArray, Gamma: FloatArray, C: FloatArray, w: Weights, Ts: float) -> FloatArray:
    """Return the gain of the current estimator, x^ = x^- + L (y - C x^-)."""
    k = len(Phi) // 2
    W = Gamma @ Gamma.T + np.diag(np.r_[np.zeros(k), np.full(k, w.disturbance * Ts**2)])
    V = np.diag(np.asarray(w.noise, float))
    P = _riccati(Phi.T, C.T, W, V, "filter")
    return np.asarray(np.linalg.solve(C @ P @ C.T + V, C @ P).T, float)


def _riccati(A: FloatArray, B: FloatArray, Q: FloatArray, R: FloatArray, what: str) -> FloatArray:
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
    Phi: FloatArray, Gamma: FloatArray, C: FloatArray, c: FloatArray, b: FloatArray, omega: FloatArray,
    gain: FloatArray, L: FloatArray, Ts: float, measures: tuple[str, ...], drive: str, follow: str, limit: float,
) -> LinearLaw:  # fmt: skip
    k, n = omega.size, 2 * omega.size
    Kx, Kp, Ks = gain[:n], gain[n], gain[n + 1]
    J = 1.0 / (c[0] * b[0])
    reference = np.zeros((n, 3))  # x_ref from (r, r', r'')
    reference[0, 0] = reference[k, 1] = 1.0 / c[0]
    reference[1:k, 2] = b[1:] * J / omega[1:] ** 2
    update = np.eye(n) - L @ C  # x^ = update x^- + L y
    # law states: x^- (n), p (1), s (1)
    out_x, out_y = -Kx @ update, -Kx @ L
    Cu = np.concatenate([out_x, [-Kp, -Ks]])[None, :]
    Dr = Kx @ reference
    Dr[2] += (1.0 + Kp) * J
    A = np.zeros((n + 2, n + 2))
    A[:n, :n], A[:n, n] = Phi @ update, Gamma[:, 0]
    By, Br, Bu = np.zeros((n + 2, len(measures))), np.zeros((n + 2, 3)), np.zeros((n + 2, 1))
    By[:n] = Phi @ L
    Bu[n] = 1.0
    # integral of the followed output minus the reference, less what the limits cut off; the estimate of an output would
    # leave the error that a constant load makes in the estimate
    A[n + 1, n + 1] = 1.0
    if follow in measures:
        By[n + 1, measures.index(follow)] = Ts
    else:
        A[n + 1, :n], By[n + 1] = Ts * c @ update[:k], Ts * c @ L[:k]
    Br[n + 1, 0] = -Ts
    back = 0.1 / Ks
    A[n + 1] += back * Cu[0]
    By[n + 1] += back * out_y
    Br[n + 1] += back * Dr
    Bu[n + 1] -= back
    law = LinearLaw(
        Ts, measures, (drive,), (follow,), A=A, By=By, Br=Br, Bu=Bu, C=Cu, Dy=out_y[None, :], Dr=Dr[None, :]
    )  # fmt: skip
    return law.limited(-limit, limit)
