"""H-infinity loop shaping (Glover and McFarlane): shape the plant, then make the loop as robust as it can be.

    G = W_y P E W_u,   X: A'X + XA - XBB'X + C'C = 0,     Z: AZ + ZA' - ZC'CZ + BB' = 0
    gamma_min = sqrt(1 + rho(XZ)),   gamma = slack gamma_min,   F = -B'X,   L = (1 - gamma^2) I + XZ
    B_k = gamma^2 L^-T Z C',   A_k = A + B F + B_k C,   C_k = B'X,     u = +K y

E is the computation delay as a first-order Pade factor. gamma_min needs no search; 1/gamma is the coprime-factor
uncertainty the loop tolerates. Nothing to tune but the shape: one gain per measurement and a roll-off. The best first
design.

Source: McFarlane and Glover 1992; Glover and McFarlane 1989.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.linalg as sla

from ..errors import ConvergenceError, require
from ..linear import FirstOrder
from ..machine.given import LinearGiven, as_second_order
from ..model import FloatArray, Signal
from .design import Design
from .design_model import DesignModel, Names, design_model, sampled_loop


def loop_shaping(
    plant: LinearGiven, *, modes: int, sample_time: float, measures: Names, drive: Names, follow: Names,
    gains: npt.ArrayLike, roll_off: float, slack: float = 1.1, limit: float = np.inf,
) -> Design:
    """Return the law u = J r'' + K (y - y_ref), sampled by Tustin's rule, with one sample of computation delay.

    Parameters
    ----------
    plant : SecondOrder
        Linear plant with as many rigid-body modes as there are inputs and followed outputs.
    modes : int
        Flexible modes in the design.
    sample_time : float
        Control period [s].
    measures, drive, follow : str or tuple of str
        Measured outputs, inputs and followed outputs.
    gains : sequence of float, or matrix
        Weight of each measurement: input per output, e.g. N m/rad. Their size sets the bandwidth. For several inputs a
        matrix, inputs by measurements, that uncouples them; see `recipes.shaping_gains`.
    roll_off : float
        Pole of the roll-off at the plant's input [rad/s].
    slack : float
        gamma over its minimum, above 1.
    limit : float
        Largest input.

    Examples
    --------
    >>> plant = fx.load_plant("tokhi_azad_1994", overrides={"damping.kind": "modal", "damping.ratio": 0.01}).linearise()
    >>> names = {"measures": ("joint1_angle", "chord1_angle"), "drive": "joint1_torque", "follow": "chord1_angle"}
    >>> gains, roll_off = fx.shaping_gains(plant, bandwidth=10.0, **names)
    >>> fx.loop_shaping(plant, modes=2, sample_time=1e-3, gains=gains, roll_off=roll_off, **names).stable
    True
    """
    plant = as_second_order(plant)
    model = design_model(plant, modes, measures, drive, follow)
    K, least = shaped_controller(model, gains, roll_off, 1.5 * sample_time, slack)
    law, assumed = sampled_loop(model, K, "loop shaping", modes, sample_time, limit)
    numbers = {"gamma_min": least, "gamma": slack * least}
    return Design(law, plant, {**assumed, "gains": np.asarray(gains).tolist(), "roll_off": roll_off}, numbers)


def shaped_controller(
    model: DesignModel, gains: npt.ArrayLike, roll_off: float, delay: float, slack: float = 1.1
) -> tuple[FirstOrder, float]:
    """Return the continuous controller u = K y and gamma_min."""
    W = _shape(model, gains)
    require(roll_off > 0, f"roll_off = {roll_off} rad/s must be positive")
    require(slack > 1, f"slack = {slack} must be above 1: at the optimum the controller is singular")
    A0, B0, C0 = model.statespace
    n, k, unit = len(A0), B0.shape[1], np.eye(B0.shape[1])
    delayed, rolled = slice(n, n + k), slice(n + k, n + 2 * k)
    # plant, delay, roll-off in series; Pade: -1 + (4/delay) / (s + 2/delay)
    A = np.zeros((n + 2 * k, n + 2 * k))
    A[:n, :n], A[:n, delayed], A[:n, rolled] = A0, 4.0 / delay * B0, -B0
    A[delayed, delayed], A[delayed, rolled], A[rolled, rolled] = -2.0 / delay * unit, unit, -roll_off * unit
    B = np.zeros((n + 2 * k, k))
    B[rolled] = roll_off * unit
    C = np.hstack([W @ C0, np.zeros((len(W), 2 * k))])
    X, Z = _riccati(A, B, C), _riccati(A.T, C.T, B.T)
    least = float(np.sqrt(1.0 + np.abs(np.linalg.eigvals(X @ Z)).max()))
    gamma = slack * least
    L = (1.0 - gamma**2) * np.eye(len(A)) + X @ Z
    Bk = gamma**2 * np.linalg.solve(L.T, Z @ C.T)
    Ak = A - B @ B.T @ X + Bk @ C
    # the shaping belongs to the controller: gains in front, roll-off behind
    m, ny = len(Ak), W.shape[1]
    Ac: FloatArray = np.block([[Ak, np.zeros((m, k))], [roll_off * B.T @ X, -roll_off * unit]])
    note: dict[str, Any] = {"design": "loop shaping", "gamma_min": least, "gamma": gamma}
    K = FirstOrder(
        Ac, np.vstack([Bk @ W, np.zeros((k, ny))]), np.hstack([np.zeros((k, m)), unit]), np.zeros((k, ny)),
        tuple(Signal(f"k{i + 1}") for i in range(m + k)), tuple(Signal(s) for s in model.measures),
        tuple(Signal(s) for s in model.drives), 0.0, note,
    )
    return K, least


def _shape(model: DesignModel, gains: npt.ArrayLike) -> FloatArray:
    """Return W_y: a gain for each measurement, or a matrix, inputs by measurements."""
    W, wanted = np.asarray(gains, float), len(model.measures)
    if W.ndim == 1:
        require(W.size == wanted, f"{W.size} gains for {wanted} measured outputs; give one each")
        W = np.diag(W)
    k = len(model.drives)
    fits = W.ndim == 2 and W.shape[1] == wanted and len(W) in (k, wanted)
    require(fits, f"gains of shape {W.shape} for {k} inputs and {wanted} measured outputs")
    sound = bool(np.isfinite(W).all() and np.any(W))
    require(sound, f"gains {W.tolist()} must be finite and not all zero")
    return W


def _riccati(A: FloatArray, B: FloatArray, C: FloatArray) -> FloatArray:
    try:
        X: FloatArray = sla.solve_continuous_are(A, B, C.T @ C, np.eye(B.shape[1]))
    except (np.linalg.LinAlgError, ValueError) as error:
        raise ConvergenceError(f"a Riccati equation has no stabilising solution: {error}") from error
    residual = A.T @ X + X @ A - X @ B @ B.T @ X + C.T @ C
    size = float(np.abs(residual).max() / np.abs(X).max() / max(np.abs(A).max(), 1.0))
    if size > 1e-7:
        raise ConvergenceError(f"the Riccati equation is solved to {size:.1e} only; scale the gains", residual=size)
    return X
