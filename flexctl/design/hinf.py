"""H-infinity synthesis: slycot's solver inside a bounded search that believes only what it verifies.

    x' = A x + B1 w + B2 u,   z = C1 x + D11 w + D12 u,   y = C2 x + D21 w + D22 u,   u = K y,   min |T_zw|

The solver (SLICOT's sb10ad, Glover and Doyle 1988) has two faults. For some sizes of the problem (hub and tip as
measurements is one) it calls every gamma below 67 or a multiple inadmissible, whatever the plant; a zero column more in
w cures it. And it may accept a gamma that its controller does not achieve. So a gamma counts only if the closed loop,
put together here, is stable and has norm <= 1.001 gamma; several paddings with zero columns are tried; and the best
*achieved* norm is reported. Only single calls for a given gamma are made (job 4): its own searches may not end.

Scale time, inputs and outputs to about 1 first, and keep the problem small: the order of the controller is that of the
problem.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np

from ..errors import ConvergenceError, require
from ..model import FloatArray

Quadruple = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
LARGEST = 60
"""Most states of a problem; the cost of a call grows with the cube."""
_PADDINGS = 4
_BELIEVED = 1.001


@dataclass(frozen=True, eq=False)
class Problem:
    """The matrices of a generalised plant; see the module docstring."""

    A: FloatArray
    B1: FloatArray
    B2: FloatArray
    C1: FloatArray
    C2: FloatArray
    D11: FloatArray
    D12: FloatArray
    D21: FloatArray
    D22: FloatArray

    def __post_init__(self) -> None:
        n, m1, m2, p1, p2 = len(self.A), self.B1.shape[1], self.B2.shape[1], len(self.C1), len(self.C2)
        shapes = {
            "A": (n, n), "B1": (n, m1), "B2": (n, m2), "C1": (p1, n), "C2": (p2, n),
            "D11": (p1, m1), "D12": (p1, m2), "D21": (p2, m1), "D22": (p2, m2),
        }
        for name, shape in shapes.items():
            value = getattr(self, name)
            require(value.shape == shape, f"{name} has shape {value.shape}; the problem asks for {shape}")
            require(bool(np.isfinite(value).all()), f"{name} has entries that are not finite")
        require(n <= LARGEST, f"{n} states; at most {LARGEST}: reduce the plant first (flexctl.modal_truncation)")
        require(min(m2, p2) > 0, "the controller has no input or no output")
        require(p1 >= m2 and _rank(self.D12) == m2, "D12 has not full column rank: give every input a cost in z")
        require(m1 >= p2 and _rank(self.D21) == p2, "D21 has not full row rank: give every measurement noise in w")

    def loop(self, K: Quadruple) -> Quadruple:
        """Return A, B, C, D of the closed loop from w to z with a controller (A, B, C, D)."""
        Ak, Bk, Ck, Dk = K
        S = np.linalg.inv(np.eye(len(Dk)) - Dk @ self.D22)
        # u = S (Dk C2 x + Ck xk + Dk D21 w)
        ux, uw = np.hstack([S @ Dk @ self.C2, S @ Ck]), S @ Dk @ self.D21
        yx = np.hstack([self.C2, np.zeros((len(self.C2), len(Ak)))]) + self.D22 @ ux
        A = np.vstack([self.B2 @ ux, Bk @ yx])
        A[: len(self.A), : len(self.A)] += self.A
        A[len(self.A) :, len(self.A) :] += Ak
        C = self.D12 @ ux
        C[:, : len(self.A)] += self.C1
        B = np.vstack([self.B1 + self.B2 @ uw, Bk @ (self.D21 + self.D22 @ uw)])
        return A, B, C, self.D11 + self.D12 @ uw


@dataclass(frozen=True, eq=False)
class Synthesis:
    """A controller and what is certain about it.

    Attributes
    ----------
    A, B, C, D : ndarray
        The controller u = K y, in the problem's scaling.
    gamma : float
        The bound it was made for.
    norm : float
        The closed-loop norm it achieves, at most 1.001 gamma.
    best : float
        Smallest norm found by the search.
    calls : int
        Calls of the solver.
    """

    A: FloatArray
    B: FloatArray
    C: FloatArray
    D: FloatArray
    gamma: float
    norm: float
    best: float
    calls: int


def synthesise(problem: Problem, slack: float = 1.0, tolerance: float = 1e-3) -> Synthesis:
    """Return the central controller for `slack` times the smallest gamma that can be verified.

    Parameters
    ----------
    problem : Problem
        The generalised plant, scaled.
    slack : float
        1 or more; 1.1 to 1.5 avoids the fast poles that appear near the optimum.
    tolerance : float
        Relative width at which the search for gamma ends.

    Raises
    ------
    ConvergenceError
        When no gamma can be verified.
    """
    require(slack >= 1.0, f"slack = {slack} must be at least 1")
    search = _Search(_balanced(problem))
    start = search.start()
    for padding in range(_PADDINGS):
        search.bisect(padding, start, tolerance)
    found = search.best
    if found is None:
        raise ConvergenceError(
            "no H-infinity controller could be verified; check that every unstable or rigid mode is driven by u, seen "
            "in y, and disturbed at its input, and that the problem is scaled",
            iteration=search.calls,
        )
    padding, gamma, norm, K = found
    if slack > 1.0:
        relaxed = search.attempt(padding, slack * gamma)
        if relaxed is None:
            raise ConvergenceError(f"no controller at {slack:g} gamma = {slack * gamma:.6g}; try another slack")
        return Synthesis(*relaxed[1], gamma=slack * gamma, norm=relaxed[0], best=norm, calls=search.calls)
    return Synthesis(*K, gamma=gamma, norm=norm, best=norm, calls=search.calls)


class _Search:
    """The verified search: every accepted gamma has a controller that achieves it."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.calls = problem, 0
        self.best: tuple[int, float, float, Quadruple] | None = None

    def attempt(self, padding: int, gamma: float) -> tuple[float, Quadruple] | None:
        """Return the achieved norm and the controller for gamma, or None if it cannot be verified."""
        import slycot

        p = self.problem
        zero = np.zeros((len(p.A) + len(p.C1) + len(p.C2), padding))
        B1, D11, D21 = (
            np.hstack([part, rows])
            for part, rows in zip((p.B1, p.D11, p.D21), np.split(zero, [len(p.A), len(p.A) + len(p.C1)]), strict=True)
        )
        B, C = np.hstack([B1, p.B2]), np.vstack([p.C1, p.C2])
        D = np.block([[D11, p.D12], [D21, p.D22]])
        self.calls += 1
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what it warns of is verified below
                answer = slycot.sb10ad(
                    len(p.A), B.shape[1], len(C), p.B2.shape[1], len(p.C2), gamma, p.A, B, C, D, job=4
                )
        except slycot.exceptions.SlycotError:
            return None
        K = (answer[1], answer[2], answer[3], answer[4])
        norm = closed_norm(*p.loop(K)) if all(np.isfinite(part).all() for part in K) else np.inf
        return (norm, K) if norm <= _BELIEVED * gamma else None

    def start(self) -> float:
        """Return a gamma that can be verified, to begin from."""
        for gamma in 10.0 ** np.arange(2, 9):
            for padding in range(_PADDINGS):
                found = self.attempt(padding, gamma)
                if found is not None:
                    return float(min(gamma, found[0]))
        return 1e8

    def bisect(self, padding: int, start: float, tolerance: float) -> None:
        """Narrow gamma down with so many zero columns added to w."""
        low, high = 0.0, 1.001 * (start if self.best is None else min(start, self.best[2]))
        found = self.attempt(padding, high)
        while found is not None and high - low > tolerance * high:
            if self.best is None or found[0] < self.best[2]:
                self.best = (padding, high, *found)
            high = min(high, _BELIEVED * found[0])
            middle = 0.5 * (low + high) if low > 0 else 0.5 * high
            if middle < 1e-9 * start:
                break
            trial = self.attempt(padding, middle)
            if trial is None:
                low = middle
            else:
                found, high = trial, middle


def _balanced(p: Problem) -> Problem:
    """Return the problem with its states scaled: the solver's answers depend on it."""
    import slycot

    n, B, C = len(p.A), np.hstack([p.B1, p.B2]), np.vstack([p.C1, p.C2])
    if n == 0:
        return p
    _, A, B, C, _ = slycot.tb01id(n, B.shape[1], len(C), 0.0, p.A.copy(), B.copy(), C.copy())
    m1, p1 = p.B1.shape[1], len(p.C1)
    return replace(p, A=A, B1=B[:, :m1], B2=B[:, m1:], C1=C[:p1], C2=C[p1:])


def closed_norm(A: FloatArray, B: FloatArray, C: FloatArray, D: FloatArray) -> float:
    """Return the H-infinity norm of a continuous system, infinite when it is not stable; checked on a grid."""
    import slycot

    poles = np.linalg.eigvals(A)
    if not poles.real.max(initial=-1.0) < 0:
        return float(np.inf)
    peak, _ = slycot.ab13dd("C", "I", "S", "D", len(A), B.shape[1], len(C), A, np.eye(len(A)), B, C, D)
    return max(float(peak), _grid_norm(A, B, C, D, np.abs(poles)))


def _grid_norm(A: FloatArray, B: FloatArray, C: FloatArray, D: FloatArray, places: FloatArray) -> float:
    """Return the largest singular value on a grid with points at and around every pole."""
    around = np.concatenate([places * f for f in (0.97, 1.0, 1.03)])
    omega = np.concatenate([[0.0], np.geomspace(0.01 * max(places.min(), 1e-9), 100.0 * places.max(), 200), around])
    Hessenberg = 1j * omega[:, None, None] * np.eye(len(A)) - A
    G = C @ np.linalg.solve(Hessenberg, np.broadcast_to(B, (omega.size, *B.shape))) + D
    return float(np.linalg.svd(G, compute_uv=False)[:, 0].max())


def _rank(D: FloatArray) -> int:
    return int(np.linalg.matrix_rank(D)) if D.size else 0
