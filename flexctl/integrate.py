"""Implicit time integration of any mechanical model, closures included: generalised-alpha, Newmark, trapezoidal.

One step solves, at its end, M a + h + W lam = B u, G v = 0 and g(q) = 0 with (Arnold and Brüls 2007)

    q+ = q + h v + h^2 ((1/2 - beta) a~ + beta a~+) + d,     v+ = v + h ((1 - gamma) a~ + gamma a~+)
    (1 - alpha_m) a~+ + alpha_m a~ = (1 - alpha_f) a+ + alpha_f a

Closures hold for coordinates and rates alike (stabilised index 2, after Gear, Gupta and Leimkuhler): lam answers for
the rates, and d, of the order of the truncation error and in the direction of the closure forces, for the coordinates.
With g = 0 alone the rates would leave the closures. W is G^T (`model.closure_forces`).

This is the plain form: it reads like the equations and serves every model. Models with compiled functions run the same
scheme in `models._kernels.loop`; the suite checks that both give the same run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .errors import ConvergenceError, require
from .model import FloatArray, MechanicalModel, closure_forces, closure_turn
from .models._kernels import REFRESH
from .statics import accelerations


@dataclass(frozen=True)
class Scheme:
    """Parameters of the generalised-alpha family, and when Newton stops.

    Attributes
    ----------
    alpha_m, alpha_f, beta, gamma : float
        See the module docstring.
    tolerance : float
        Newton stops when the largest correction is below this, relative to max(1, largest coordinate).
    iterations : int
        Newton iterations before `ConvergenceError`.
    """

    alpha_m: float
    alpha_f: float
    beta: float
    gamma: float
    tolerance: float = 1e-10
    iterations: int = 20

    def __post_init__(self) -> None:
        require(self.tolerance > 0, f"tolerance = {self.tolerance} must be positive")
        require(self.iterations >= 1, f"iterations = {self.iterations} must be at least 1")


def generalised_alpha(rho: float = 0.9, *, tolerance: float = 1e-10, iterations: int = 20) -> Scheme:
    """Return the scheme with spectral radius `rho` at infinite frequency (1: no dissipation, 0: the most)."""
    require(0.0 <= rho <= 1.0, f"rho = {rho} must lie between 0 (most dissipation) and 1 (none)")
    am, af = (2.0 * rho - 1.0) / (rho + 1.0), rho / (rho + 1.0)
    gamma = 0.5 + af - am
    return Scheme(am, af, 0.25 * (gamma + 0.5) ** 2, gamma, tolerance, iterations)


def newmark(
    beta: float = 0.25, gamma: float = 0.5, *, tolerance: float = 1e-10, iterations: int = 20
) -> Scheme:  # fmt: skip
    """Return Newmark's scheme; gamma = 1/2 is second order, gamma > 1/2 dissipates at first order."""
    stable = gamma >= 0.5 and 2.0 * beta >= gamma
    require(stable, f"beta = {beta}, gamma = {gamma} is unstable: 2 beta >= gamma >= 1/2 is needed")
    return Scheme(0.0, 0.0, beta, gamma, tolerance, iterations)


def trapezoidal(*, tolerance: float = 1e-10, iterations: int = 20) -> Scheme:
    """Return the trapezoidal rule: no dissipation, second order."""
    return newmark(0.25, 0.5, tolerance=tolerance, iterations=iterations)


SCHEMES: dict[str, Callable[..., Scheme]] = {
    "generalised_alpha": generalised_alpha, "newmark": newmark, "trapezoidal": trapezoidal
}  # fmt: skip


@dataclass
class State:
    """Coordinates, rates, accelerations, their shifted copy, closure forces."""

    q: FloatArray
    v: FloatArray
    a: FloatArray
    algorithmic: FloatArray
    lam: FloatArray


def start(model: MechanicalModel, q: FloatArray, v: FloatArray, u: FloatArray, t: float = 0.0) -> State:
    """Return the state at rest or in motion with the accelerations that its forces ask for."""
    a, lam = accelerations(model, q, v, u, t)
    return State(q.copy(), v.copy(), a, a.copy(), lam)


def jump(model: MechanicalModel, state: State, u: FloatArray, t: float) -> None:
    """Recompute the accelerations after a jump of the inputs; the shifted ones jump by as much."""
    a, lam = accelerations(model, state.q, state.v, u, t)
    state.algorithmic += a - state.a
    state.a, state.lam = a, lam


def step(model: MechanicalModel, scheme: Scheme, state: State, t: float, h: float, u: FloatArray) -> None:
    """Advance the state from t by h [s] with inputs u at the end of the step."""
    am, af, beta, gamma = scheme.alpha_m, scheme.alpha_f, scheme.beta, scheme.gamma
    old, a = state.algorithmic, state.a.copy()
    new = (a - am * old) / (1.0 - am)
    q = state.q + h * state.v + h * h * ((0.5 - beta) * old + beta * new)
    v = state.v + h * ((1.0 - gamma) * old + gamma * new)
    lam, n = state.lam.copy(), state.q.size
    cv, ca = gamma / (h * beta), (1.0 - am) / (h * h * beta * (1.0 - af))
    size, iteration, scale = np.inf, 0, 1.0
    kkt: FloatArray | None = None
    while iteration < scheme.iterations:
        iteration += 1
        G, W = model.closure_jacobian(q), closure_forces(model, q)
        m = G.shape[0]
        residual = model.mass(q) @ a + model.force(q, v, t + h) + W @ lam - model.input_matrix(q) @ u
        if kkt is None:
            tangent = model.tangent(q, v, a, u, lam)
            S = ca * tangent.mass + cv * tangent.damping + tangent.stiffness
            # multipliers and closures scaled to the size of the rest: the condition then does not grow as 1 / h^2
            scale = max(float(np.abs(S).max()), 1e-300)
            turning = G + closure_turn(model, q, v) / cv if m else G
            kkt = np.block([[S, scale * W], [scale * turning, np.zeros((m, m))]])
        right = np.zeros((n + m, 2))
        right[:n, 0], right[n:, 0], right[n:, 1] = residual, scale / cv * (G @ v), scale * model.closure(q)
        try:
            correction = -np.linalg.solve(kkt, right)
        except np.linalg.LinAlgError:
            break
        dq, d = correction[:n].T
        q, v, a, new = q + dq + d, v + cv * dq, a + ca * dq, new + (1.0 - af) / (1.0 - am) * ca * dq
        lam = lam + scale * correction[n:, 0]
        before, size = size, max(float(np.abs(x).max(initial=0.0)) for x in (dq, d))
        if not np.isfinite(size):
            break
        if m == 0 or size > REFRESH * before:
            kkt = None
        if size <= scheme.tolerance * max(1.0, float(np.abs(q).max(initial=0.0))):
            state.q, state.v, state.a, state.algorithmic, state.lam = q, v, a, new, lam
            return
    raise not_converged(t + h, iteration, size, h)


def not_converged(t: float, iteration: int, size: float, h: float) -> ConvergenceError:
    """Return the error of a step whose Newton iteration failed."""
    return ConvergenceError(
        f"Newton did not converge at t = {t:.6g} s: correction {size:.3g} after {iteration} iterations with step "
        f"{h:.3g} s; use a smaller step (e.g. {h / 4:.3g} s)",
        time=t,
        iteration=iteration,
        residual=size,
    )
