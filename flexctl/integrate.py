"""Implicit time integration of any mechanical model, closures included: generalised-alpha, Newmark, trapezoidal.

One step solves, at its end, M a + h + W lam = B u, G v = 0 and g(q) = 0 with (Arnold and Brüls 2007)

    q+ = q + h v + h^2 ((1/2 - beta) a~ + beta a~+) + d,     v+ = v + h ((1 - gamma) a~ + gamma a~+)
    (1 - alpha_m) a~+ + alpha_m a~ = (1 - alpha_f) a+ + alpha_f a

Closures hold for coordinates and rates alike (stabilised index 2, after Gear, Gupta and Leimkuhler): lam answers for
the rates, and d, of the order of the truncation error and in the direction of the closure forces, for the coordinates.
With g = 0 alone the rates would leave the closures. W is G^T (`model.closure_forces`).

The Newton iteration may keep its tangent or correct it by Broyden's updates, the first steps after a jump may be of the
backward Euler rule (the trapezoidal rule would ring), steps may be divided, and closures may enter by Baumgarte's
stabilisation in place of the above; see `Scheme`. `flexctl.methods.compare_methods` puts them side by side.

This is the plain form: it reads like the equations and serves every model. Models with compiled functions run the same
scheme in `models._kernels.loop`; the suite checks that both give the same run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.linalg as sla
from scipy.linalg import lapack

from .errors import ConvergenceError, require, unknown
from .model import FloatArray, MechanicalModel, closure_forces, closure_turn
from .models._kernels import REFRESH
from .statics import accelerations

NEWTON = ("auto", "full", "modified", "broyden")
COUNTS = ("steps", "iterations", "factorisations", "rejected")
LEFT = 1e-4
"""Of the tolerance, what a kept tangent may leave as the error of a step: full Newton leaves about its square."""
DEEPEST, BEGIN = 16, 6
"""At most this many times is a step divided by two; so many times after a jump."""


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
    newton : str
        "full": a fresh tangent in every iteration; "modified": it is kept, over several steps, until the iteration is
        slow; "broyden": kept and corrected by Broyden's rank-one updates within a step; "auto": a model's own stepper
        chooses, full elsewhere.
    settle : int
        Steps of the backward Euler rule after each jump of a prescribed input or motion (and at the start): what the
        jump excites far beyond the step is gone after them, and the trapezoidal rule does not ring.
    error : float
        If above zero, steps are divided until the local error of each, h^2 |beta - 1/6| max |change of acceleration|,
        is below this [m or rad].
    baumgarte : tuple of float
        alpha, beta [1/s]: closures enter as g'' + 2 alpha g' + beta^2 g = 0; () for g = 0 and G v = 0.
    """

    alpha_m: float
    alpha_f: float
    beta: float
    gamma: float
    tolerance: float = 1e-10
    iterations: int = 20
    newton: str = "auto"
    settle: int = 0
    error: float = 0.0
    baumgarte: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.newton not in NEWTON:
            raise unknown("newton", self.newton, NEWTON)
        require(self.settle >= 0, f"settle = {self.settle} steps must not be negative")
        require(0.0 <= self.error < np.inf, f"error = {self.error} must be a finite number, zero or more")
        require(len(self.baumgarte) in (0, 2), "baumgarte has two numbers, alpha and beta [1/s]")
        require(self.tolerance > 0, f"tolerance = {self.tolerance} must be positive")
        require(self.iterations >= 1, f"iterations = {self.iterations} must be at least 1")

    @property
    def special(self) -> bool:
        """Whether it asks for more than the compiled loop for any model has."""
        return self.newton not in ("auto", "full") or self.settle > 0 or self.error > 0 or bool(self.baumgarte)


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


def modified_newton(rho: float = 0.9, *, tolerance: float = 1e-10, iterations: int = 30) -> Scheme:
    """Return generalised-alpha with a kept tangent."""
    return replace(generalised_alpha(rho, tolerance=tolerance, iterations=iterations), newton="modified")


def broyden(*, tolerance: float = 1e-10, iterations: int = 30, baumgarte: tuple[float, ...] = (50.0, 50.0)) -> Scheme:
    """Return the trapezoidal rule with Broyden's updates, closures by Baumgarte's: Tian, Zhang, Chen and Yang."""
    return replace(
        trapezoidal(tolerance=tolerance, iterations=iterations), newton="broyden", baumgarte=baumgarte
    )  # fmt: skip


def settled(*, tolerance: float = 1e-10, iterations: int = 20) -> Scheme:
    """Return the trapezoidal rule with two backward Euler steps after jumps, so that it does not ring."""
    return replace(trapezoidal(tolerance=tolerance, iterations=iterations), settle=2)


def adaptive(error: float = 1e-8, *, rho: float = 0.9, tolerance: float = 1e-11, iterations: int = 20) -> Scheme:
    """Return generalised-alpha with steps divided until the local error of each is below `error` [m or rad]."""
    return replace(generalised_alpha(rho, tolerance=tolerance, iterations=iterations), error=error, settle=2)


SCHEMES: dict[str, Callable[..., Scheme]] = {
    "generalised_alpha": generalised_alpha, "newmark": newmark, "trapezoidal": trapezoidal,
    "modified_newton": modified_newton, "broyden": broyden, "settled": settled, "adaptive": adaptive,
}  # fmt: skip


@dataclass
class State:
    """Coordinates, rates, accelerations, their shifted copy, closure forces; soft steps to come; level of division."""

    q: FloatArray
    v: FloatArray
    a: FloatArray
    algorithmic: FloatArray
    lam: FloatArray
    soft: int = 0
    level: int = 0
    kept: Any = None
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTS, 0))


def start(model: MechanicalModel, q: FloatArray, v: FloatArray, u: FloatArray, t: float = 0.0) -> State:
    """Return the state at rest or in motion with the accelerations that its forces ask for."""
    a, lam = accelerations(model, q, v, u, t)
    return State(q.copy(), v.copy(), a, a.copy(), lam)


def jump(model: MechanicalModel, state: State, u: FloatArray, t: float) -> None:
    """Recompute the accelerations after a jump of the inputs; the shifted ones jump by as much."""
    a, lam = accelerations(model, state.q, state.v, u, t)
    state.algorithmic += a - state.a
    state.a, state.lam = a, lam


def advance(
    model: MechanicalModel, scheme: Scheme, state: State, t: float, h: float, start: FloatArray, end: FloatArray
) -> None:
    """Advance from t by h [s] with inputs linear from `start` to `end`, in as many steps as the scheme's error asks."""
    place = 0.0
    while place < 1.0:
        part = 0.5**state.level
        saved = (state.q, state.v, state.a, state.algorithmic, state.lam)
        error, soft = 0.0, state.soft > 0
        u = end if place + part >= 1.0 else start + (place + part) * (end - start)
        try:
            step(model, scheme, state, t + place * h, part * h, u)
        except ConvergenceError:
            if not scheme.error or state.level >= DEEPEST:
                raise
            error = np.inf
        if scheme.error and not soft and np.isfinite(error):
            error = (part * h) ** 2 * abs(scheme.beta - 1.0 / 6.0) * float(np.abs(state.a - saved[2]).max(initial=0.0))
        if error <= scheme.error:
            place += part
            state.soft = max(state.soft - 1, 0)
            aligned = place % (2.0 * part) == 0.0
            if scheme.error and not soft and error < 0.08 * scheme.error and state.level > 0 and aligned:
                state.level -= 1
            continue
        if state.level >= DEEPEST:
            raise not_converged(t + place * h, 0, error, part * h)
        state.q, state.v, state.a, state.algorithmic, state.lam = saved
        state.level += 1
        state.counts["rejected"] += 1


def step(model: MechanicalModel, scheme: Scheme, state: State, t: float, h: float, u: FloatArray) -> None:
    """Advance the state from t by h [s] with inputs u at the end of the step."""
    soft = state.soft > 0
    am, af, beta, gamma = (
        (0.0, 0.0, 1.0, 1.0) if soft else (scheme.alpha_m, scheme.alpha_f, scheme.beta, scheme.gamma)
    )  # fmt: skip
    old, a = state.algorithmic, state.a.copy()
    if soft:  # backward Euler knows no old acceleration
        old, a = 0.0 * old, 0.0 * a
    new = (a - am * old) / (1.0 - am)
    q = state.q + h * state.v + h * h * ((0.5 - beta) * old + beta * new)
    v = state.v + h * ((1.0 - gamma) * old + gamma * new)
    lam, n = state.lam.copy(), state.q.size
    cv, ca = gamma / (h * beta), (1.0 - am) / (h * h * beta * (1.0 - af))
    fresh, rates = scheme.newton in ("auto", "full"), not scheme.baumgarte
    key, rate = (h, soft), 0.02
    steps: list[FloatArray] = []
    factors = state.kept[1:] if not fresh and state.kept is not None and state.kept[0] == key else None
    size, previous, iteration = np.inf, np.inf, 0
    while iteration < scheme.iterations:
        iteration += 1
        G, W = model.closure_jacobian(q), closure_forces(model, q)
        m = G.shape[0]
        residual = model.mass(q) @ a + model.force(q, v, t + h) + W @ lam - model.input_matrix(q) @ u
        if factors is None:
            tangent = model.tangent(q, v, a, u, lam)
            turning = G + closure_turn(model, q, v) / cv if m and rates else G
            factors = _factor(ca * tangent.mass + cv * tangent.damping + tangent.stiffness, W, turning)
            state.counts["factorisations"] += 1
            if factors is None:
                break
            state.kept = (key, *factors)
        scale, right = factors[1], np.zeros((n + m, 2))
        right[:n, 0] = residual
        if rates:
            right[n:, 0], right[n:, 1] = scale / cv * (G @ v), scale * model.closure(q)
        else:
            right[n:, 0] = scale * _gap(model, scheme.baumgarte, q, v, a, ca, cv)
        correction = -sla.lu_solve(factors[0], right, check_finite=False)
        if scheme.newton == "broyden":
            correction = _broyden(correction.ravel(), steps).reshape(n + m, 2)
            steps.append(correction.ravel())
        dq, d = correction[:n].T
        q, v, a, new = q + dq + d, v + cv * dq, a + ca * dq, new + (1.0 - af) / (1.0 - am) * ca * dq
        lam = lam + scale * correction[n:, 0]
        previous, size = size, max(float(np.abs(x).max(initial=0.0)) for x in (dq, d))
        if not np.isfinite(size):
            break
        if fresh and (m == 0 or size > REFRESH * previous):
            factors = None
        rate = size / previous if iteration > 1 and previous > 0.0 else rate
        limit = scheme.tolerance * max(1.0, float(np.abs(q).max(initial=0.0)))
        done = size <= limit
        if not fresh:  # what is left after a correction, by the rate at which they shrink
            done = iteration > 1 and (size * rate <= LEFT * limit * (1.0 - rate) if rate < 0.5 else done)
        if done:
            state.q, state.v, state.a, state.algorithmic, state.lam = q, v, a, new, lam
            state.counts["steps"] += 1
            state.counts["iterations"] += iteration
            return
        if not fresh and iteration > 1 and rate > 0.1:  # the kept tangent is too old; Broyden starts again
            factors, steps = None, []
    raise not_converged(t + h, iteration, size, h)


def _factor(S: FloatArray, W: FloatArray, turning: FloatArray) -> tuple[Any, float] | None:
    """Return the factors of the saddle matrix and its scale, or None where it is singular."""
    m = turning.shape[0]
    # multipliers and closures scaled to the size of the rest: the condition then does not grow as 1 / h^2
    scale = max(float(np.abs(S).max()), 1e-300)
    kkt = np.block([[S, scale * W], [scale * turning, np.zeros((m, m))]])
    if not np.isfinite(kkt).all():
        return None
    lu, pivots, info = lapack.dgetrf(kkt)
    return None if info else ((lu, pivots), scale)


def _gap(
    model: MechanicalModel, baumgarte: tuple[float, ...], q: FloatArray, v: FloatArray, a: FloatArray, ca: float,
    cv: float,
) -> FloatArray:  # fmt: skip
    """Return what Baumgarte makes zero, in the unit of the closures."""
    g = model.closure(q)
    G, (alpha, beta) = model.closure_jacobian(q), baumgarte
    opening = G @ a + model.closure_bias(q, v) + 2.0 * alpha * (G @ v) + beta**2 * g
    return np.asarray(opening / (ca + 2.0 * alpha * cv + beta**2))


def _broyden(correction: FloatArray, steps: list[FloatArray]) -> FloatArray:
    """Return the correction with Broyden's updates of the inverse, one for each step made so far (Kelley 1995)."""
    for j, s in enumerate(steps):
        along = float(s @ correction) / float(s @ s) if s.any() else 0.0
        if j < len(steps) - 1:
            correction = correction + along * steps[j + 1]
        elif along < 0.9:  # else the update would be singular
            correction = correction / (1.0 - along)
    return correction


def not_converged(t: float, iteration: int, size: float, h: float) -> ConvergenceError:
    """Return the error of a step whose Newton iteration failed."""
    return ConvergenceError(
        f"Newton did not converge at t = {t:.6g} s: correction {size:.3g} after {iteration} iterations with step "
        f"{h:.3g} s; use a smaller step (e.g. {h / 4:.3g} s)",
        time=t,
        iteration=iteration,
        residual=size,
    )
