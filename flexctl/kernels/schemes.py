"""Implicit time integration of any mechanical model, closures included: generalised-alpha, Newmark, trapezoidal.

One step solves, at its end, M a + h + W lam = B u, G v = 0 and g(q) = 0 with (Arnold and Brüls 2007)

    q+ = q + h v + h^2 ((1/2 - beta) a~ + beta a~+) + d,     v+ = v + h ((1 - gamma) a~ + gamma a~+)
    (1 - alpha_m) a~+ + alpha_m a~ = (1 - alpha_f) a+ + alpha_f a

Closures hold for coordinates and rates alike (stabilised index 2, after Gear, Gupta and Leimkuhler): lam answers for
the rates, and d, of the order of the truncation error and in the direction of the closure forces, for the coordinates.
With g = 0 alone the rates would leave the closures. W is G^T (`model.closure_forces`).

The Newton iteration may keep its tangent or correct it by Broyden's updates, the first steps after a jump may be of the
backward Euler rule (the trapezoidal rule would ring), and closures may enter by Baumgarte's stabilisation in place of
the above; see `Scheme`. `flexctl.simulation.compare_methods.compare_methods` puts them side by side.

The step itself stands in `kernels.stepper`, once for all formulations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ..errors import require, unknown

NEWTON = ("auto", "full", "modified", "broyden")


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
    baumgarte : tuple of float
        alpha, beta [1/s]: closures enter as g'' + 2 alpha g' + beta^2 g = 0; () for g = 0 and G v = 0.
    stages : int
        1: the generalised-alpha family; 5: SDIRK4(3), a step of five backward Euler stages; see `kernels.dirk`.

    Examples
    --------
    >>> fx.trapezoidal().alpha_m
    0.0
    """

    alpha_m: float
    alpha_f: float
    beta: float
    gamma: float
    tolerance: float = 1e-10
    iterations: int = 20
    newton: str = "auto"
    settle: int = 0
    baumgarte: tuple[float, ...] = ()
    stages: int = 1

    def __post_init__(self) -> None:
        if self.newton not in NEWTON:
            raise unknown("newton", self.newton, NEWTON)
        require(self.settle >= 0, f"settle = {self.settle} steps must not be negative")
        require(len(self.baumgarte) in (0, 2), "baumgarte has two numbers, alpha and beta [1/s]")
        require(self.stages in (1, 5), f"stages = {self.stages} must be 1 or 5 (SDIRK4)")
        require(self.tolerance > 0, f"tolerance = {self.tolerance} must be positive")
        require(self.iterations >= 1, f"iterations = {self.iterations} must be at least 1")


def generalised_alpha(rho: float = 0.9, *, tolerance: float = 1e-10, iterations: int = 20) -> Scheme:
    """Return the scheme with spectral radius `rho` at infinite frequency (1: no dissipation, 0: the most).

    Examples
    --------
    >>> print(f"{fx.generalised_alpha(0.9).beta:.4f}")
    0.2770
    """
    require(0.0 <= rho <= 1.0, f"rho = {rho} must lie between 0 (most dissipation) and 1 (none)")
    am, af = (2.0 * rho - 1.0) / (rho + 1.0), rho / (rho + 1.0)
    gamma = 0.5 + af - am
    return Scheme(am, af, 0.25 * (gamma + 0.5) ** 2, gamma, tolerance, iterations)


def newmark(
    beta: float = 0.25, gamma: float = 0.5, *, tolerance: float = 1e-10, iterations: int = 20
) -> Scheme:
    """Return Newmark's scheme; gamma = 1/2 is second order, gamma > 1/2 dissipates at first order.

    Examples
    --------
    >>> fx.newmark(0.25, 0.5).gamma
    0.5
    """
    stable = gamma >= 0.5 and 2.0 * beta >= gamma
    require(stable, f"beta = {beta}, gamma = {gamma} is unstable: 2 beta >= gamma >= 1/2 is needed")
    return Scheme(0.0, 0.0, beta, gamma, tolerance, iterations)


def trapezoidal(*, tolerance: float = 1e-10, iterations: int = 20) -> Scheme:
    """Return the trapezoidal rule: no dissipation, second order.

    Examples
    --------
    >>> fx.trapezoidal().beta
    0.25
    """
    return newmark(0.25, 0.5, tolerance=tolerance, iterations=iterations)


def modified_newton(rho: float = 0.9, *, tolerance: float = 1e-10, iterations: int = 30) -> Scheme:
    """Return generalised-alpha with a kept tangent.

    Examples
    --------
    >>> fx.modified_newton().newton
    'modified'
    """
    return replace(generalised_alpha(rho, tolerance=tolerance, iterations=iterations), newton="modified")


def broyden(*, tolerance: float = 1e-10, iterations: int = 30, baumgarte: tuple[float, ...] = (50.0, 50.0)) -> Scheme:
    """Return the trapezoidal rule with Broyden's updates, closures by Baumgarte's: Tian, Zhang, Chen and Yang.

    Examples
    --------
    >>> fx.broyden().newton
    'broyden'
    """
    return replace(
        trapezoidal(tolerance=tolerance, iterations=iterations), newton="broyden", baumgarte=baumgarte
    )


def settled(*, tolerance: float = 1e-10, iterations: int = 20) -> Scheme:
    """Return the trapezoidal rule with two backward Euler steps after jumps, so that it does not ring.

    Examples
    --------
    >>> fx.settled().settle
    2
    """
    return replace(trapezoidal(tolerance=tolerance, iterations=iterations), settle=2)


def sdirk(*, tolerance: float = 1e-10, iterations: int = 20) -> Scheme:
    """Return SDIRK4(3) of Hairer and Wanner: L-stable, of fourth order, five stages with one matrix.

    Examples
    --------
    >>> fx.sdirk().stages
    5
    """
    return Scheme(0.0, 0.0, 1.0, 1.0, tolerance, iterations, stages=5)


SCHEMES: dict[str, Callable[..., Scheme]] = {
    "generalised_alpha": generalised_alpha, "newmark": newmark, "trapezoidal": trapezoidal,
    "modified_newton": modified_newton, "broyden": broyden, "settled": settled, "sdirk": sdirk,
}
