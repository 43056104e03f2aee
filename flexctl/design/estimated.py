"""The model of a Kalman filter on an arm: a few modes, the loads at the inputs, the static bending of left-out modes.

    x+ = Phi x + Gamma (p + d) + noise,     d+ = d + noise,     y = C x + R (l + d) + noise

x are the modes that are kept and their rates, p the torques on their way to the arm for the next period, d a load at
each of the inputs (left out where no load is estimated), l the torques of the period that has just ended. R is what the
input feeds through, together with the static remainder of the modes that were left out: they follow the torque without
delay, and a strain near a root converges so slowly with the number of modes (51 % of its static value with two modes of
the 0.96 m arm, 84 % with three) that an observer without R takes the missing part for motion.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as sla

from ..errors import ConvergenceError
from ..linear.discrete import exact_pair
from ..model import FloatArray


@dataclass(frozen=True, eq=False)
class EstimatedModel:
    """The model of the module docstring, sampled.

    Attributes
    ----------
    Phi, Gamma, C, R : ndarray
        Matrices; R has one column per input.
    loads : bool
        Whether d is among the states.
    """

    Phi: FloatArray
    Gamma: FloatArray
    C: FloatArray
    R: FloatArray
    loads: bool

    @property
    def A(self) -> FloatArray:
        """Transition of (x, d)."""
        if not self.loads:
            return self.Phi
        n, k = self.Gamma.shape
        return np.asarray(np.block([[self.Phi, self.Gamma], [np.zeros((k, n)), np.eye(k)]]), float)

    @property
    def B(self) -> FloatArray:
        """The part of p in the rates of (x, d)."""
        k = self.Gamma.shape[1]
        return np.vstack([self.Gamma, np.zeros((k, k))]) if self.loads else self.Gamma

    @property
    def Cz(self) -> FloatArray:
        """The part of (x, d) in the readings."""
        return np.hstack([self.C, self.R]) if self.loads else self.C

    def gain(self, disturbance: float, load: FloatArray, noise: FloatArray, dt: float) -> FloatArray:
        """Return the gain L of the current estimator, z^ = z^- + L (y - Cz z^- - R l).

        Parameters
        ----------
        disturbance : float
            Process noise variance on the modal rates per dt^2, beside that of the inputs (1 N m)^2.
        load : ndarray
            Variance by which each load changes per sample.
        noise : ndarray
            Variance of each measurement.
        dt : float
            Sample time [s].
        """
        k = len(self.Phi) // 2
        W = self.Gamma @ self.Gamma.T + np.diag(np.r_[np.zeros(k), np.full(k, disturbance * dt**2)])
        if self.loads:
            W = sla.block_diag(W, np.diag(load))
        C, V = self.Cz, np.diag(noise)
        P = riccati(self.A.T, C.T, W, V, "filter")
        return np.asarray(np.linalg.solve(C @ P @ C.T + V, C @ P).T, float)


def estimated_model(
    A: FloatArray, B: FloatArray, C: FloatArray, R: FloatArray, dt: float, loads: bool
) -> EstimatedModel:
    """Return the model of continuous matrices, held exactly between samples."""
    Phi, integral = exact_pair(A, dt)
    return EstimatedModel(Phi, integral @ B, C, R, loads)


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
