"""Equilibria by continuation: loads and pose are brought on in steps that Newton's iteration can follow.

    F(x, s) = F(x; hold(s), s u) - (1 - s) F(x0; hold(0), 0) = 0,        s = 0 .. 1

with x the free coordinates, the closure forces and the inputs that path. The start x0 solves this at s = 0: what is
unbalanced there, as the weight of an undeformed arm, comes with s. Steps begin with the whole way. Each is predicted by
the cubic through the last two points and their tangents dx/ds, and kept where Newton's iteration confirms it: its
corrections are small beside the step, shrink, and det dF/dx keeps its sign (if it has one at the start) and the path
its direction. Else it is tried again with half the step. The pose that is found so lies on the branch that begins at
the start, not on one that an iteration fell upon; what buckles on the way, or has no equilibrium, is refused.

Source: Allgower and Georg 1990, "Numerical Continuation Methods", chapters 2 and 6.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
import scipy.linalg as sla

from ..model import FloatArray, MechanicalModel, OperatingPoint, closure_forces

NEAR = 0.2
"""Largest correction in a step, and all of them together one and a half times as much, relative to the step."""
BEND = 0.5
"""Largest difference between the tangent at the end of a step and its prediction, relative to them."""
SMALLEST = 1e-6
"""Part of the way below which a step is not halved again."""
ITERATIONS = 25
"""Newton's corrections in one step."""
ROUGH = 1e-8
"""Relative size of the last correction of a point on the way; the end has the tolerance that is asked for."""
BEYOND = 0.01
"""Part of the last step by which it is looked beyond an end whose determinant is lost: rotation vectors have none where
a section has turned by 2 pi, and on either side the same. Chosen."""
SINGULAR = 1e-13
"""Inverse condition, after scaling, below which a matrix counts as singular."""


class Equations(ABC):
    """F(x, s) = 0 on the way from s = 0 to 1; the first `count` of x are coordinates, of which steps are measured.

    Attributes
    ----------
    begin : ndarray
        x at s = 0.
    count : int
        Number of coordinates in x; what follows are forces.
    speed : float
        Largest d/ds of the coordinates that are prescribed.
    """

    begin: FloatArray
    count: int
    speed: float

    @abstractmethod
    def residual(self, x: FloatArray, s: float) -> FloatArray:
        """Return F."""

    @abstractmethod
    def jacobian(self, x: FloatArray, s: float) -> Factors:
        """Return dF/dx, factored, and dF/ds."""

    @abstractmethod
    def settled(self, x: FloatArray, J: Factors) -> bool:
        """Whether x solves the equations at the end of the way."""

    def size(self, step: FloatArray) -> float:
        """Return the largest change of a coordinate in a step of x."""
        return largest(step[: self.count])


class Balance(Equations):
    """The equations of an equilibrium; x = (free coordinates, closure forces, free inputs).

    Parameters
    ----------
    model : MechanicalModel
        The model.
    q : ndarray
        Where the continuation starts.
    hold : mapping
        Index of each coordinate that is held, and its value.
    inputs : sequence of int
        Inputs that path.
    u : ndarray
        Value of the other inputs; where those that balance begin.
    """

    def __init__(
        self, model: MechanicalModel, q: FloatArray, hold: dict[int, float], inputs: list[int], u: FloatArray
    ) -> None:
        self.model, self.q0, self.inputs = model, q.copy(), inputs
        self.held, self.hold = list(hold), np.array(list(hold.values()))
        self.free = [i for i in range(q.size) if i not in hold]
        self.count, self.closures, self.zero, self.u = len(self.free), len(model.closures), np.zeros(q.size), u
        self.speed = largest(self.hold - q[self.held])
        self.left = np.zeros(q.size + self.closures)
        self.begin = np.concatenate([q[self.free], np.zeros(self.closures), u[inputs]])
        self.begin[len(self.free) :] += self._reactions()
        self.left = self.residual(self.begin, 0.0)

    def _reactions(self) -> FloatArray:
        """Return the closure forces and inputs that balance most of what is unbalanced at the start."""
        parts = [closure_forces(self.model, self.q0), -self.model.input_matrix(self.q0)[:, self.inputs]]
        forces = self.residual(self.begin, 0.0)[: self.q0.size]
        return np.asarray(np.linalg.lstsq(np.hstack(parts), -forces, rcond=1e-10)[0], float)

    def spread(self, x: FloatArray, s: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return q, lam, u of x at a part s of the way."""
        q, n = self.q0.copy(), len(self.free)
        q[self.free] = x[:n]
        q[self.held] = self.hold if s == 1.0 else q[self.held] + s * (self.hold - q[self.held])
        u = s * self.u
        u[self.inputs] = x[n + self.closures :]
        return q, x[n : n + self.closures], u

    def residual(self, x: FloatArray, s: float) -> FloatArray:
        """Return what is unbalanced, and the gaps of the closures."""
        (q, lam, u), model = self.spread(x, s), self.model
        forces = model.force(q, self.zero) + closure_forces(model, q) @ lam - model.input_matrix(q) @ u
        total = np.concatenate([forces, model.closure(q)])
        return total if s == 1.0 else total - (1.0 - s) * self.left

    def jacobian(self, x: FloatArray, s: float) -> Factors:
        """Return dF/dx, factored, and dF/ds."""
        (q, lam, u), model = self.spread(x, s), self.model
        G, W, B = model.closure_jacobian(q), closure_forces(model, q), model.input_matrix(q)
        K, m = model.tangent(q, self.zero, self.zero, u, lam).stiffness, self.closures
        matrix = np.block([
            [K[:, self.free], W, -B[:, self.inputs]],
            [G[:, self.free], np.zeros((m, m + len(self.inputs)))],
        ])
        moved = np.vstack([K, G])[:, self.held] @ (self.hold - self.q0[self.held])
        moved[: q.size] -= B @ np.where(np.isin(np.arange(u.size), self.inputs), 0.0, self.u)
        return Factors(matrix, moved + self.left)

    def point(self, x: FloatArray) -> OperatingPoint:
        """Return the operating point at the end of the way."""
        q, lam, u = self.spread(x, 1.0)
        return OperatingPoint(q, self.zero, self.zero, u, lam)

    def settled(self, x: FloatArray, J: Factors) -> bool:
        """Whether the forces cancel to 1e-6 of the largest, rounding of K q aside, and the closures are met."""
        (q, lam, u), model = self.spread(x, 1.0), self.model
        terms = [model.force(q, self.zero), closure_forces(model, q) @ lam, -model.input_matrix(q) @ u]
        rounding, extent = 1e-13 * J.largest, 1.0 + largest(q)
        forces = largest(sum(terms, self.zero)) <= 1e-6 * max(map(largest, terms)) + rounding * extent
        return forces and largest(model.closure(q)) <= 1e-9 * (1.0 + largest(model.closure_jacobian(q))) * extent


class Factors:
    """A matrix, factored; scaled, or the softest bending of a slender beam would be lost beside its stretch.

    Solutions are by least squares where the matrix is singular or not square: an arm that is free to turn has a whole
    line of equilibria, and the nearest is taken.

    Attributes
    ----------
    sign : float
        Sign of the determinant; 0 where it is lost to rounding.
    largest : float
        Largest entry.
    slope : ndarray
        dx/ds, from dF/ds.
    """

    def __init__(self, matrix: FloatArray, change: FloatArray) -> None:
        self.rows, self.columns = (np.sqrt(np.abs(matrix).max(axis=axis, initial=0.0)) for axis in (1, 0))
        self.rows[self.rows == 0], self.columns[self.columns == 0] = 1.0, 1.0
        self.scaled, self.sign, self.largest = matrix / np.outer(self.rows, self.columns), 0.0, largest(matrix)
        if matrix.shape[0] == matrix.shape[1] > 0 and np.isfinite(self.scaled).all():
            self.lu, self.pivots, info = sla.lapack.dgetrf(self.scaled)
            norm = np.abs(self.scaled).sum(axis=0).max()
            if info == 0 and sla.lapack.dgecon(self.lu, norm)[0] > SINGULAR:
                swaps = int(np.sum(self.pivots != np.arange(self.pivots.size)))
                self.sign = float(np.prod(np.sign(np.diag(self.lu)))) * (-1.0) ** swaps
        self.slope = self.solve(-change)

    def solve(self, right: FloatArray) -> FloatArray:
        """Return the solution."""
        scaled = right / self.rows
        if self.sign:
            found = sla.lapack.dgetrs(self.lu, self.pivots, scaled)[0]
        elif not (np.isfinite(self.scaled).all() and np.isfinite(scaled).all()):
            found = np.full(self.columns.size, np.nan)
        else:
            found, *_ = np.linalg.lstsq(self.scaled, scaled, rcond=SINGULAR)
        return np.asarray(found / self.columns)


class Node(NamedTuple):
    """A point of the way: s, x, and dF/dx, which knows dx/ds."""

    s: float
    x: FloatArray
    J: Factors

    @property
    def slope(self) -> FloatArray:
        """dx/ds."""
        return self.J.slope


class Outcome(NamedTuple):
    """Where the continuation ended: the last point, all of Newton's corrections, the last of them."""

    last: Node
    iterations: int
    size: float

    @property
    def complete(self) -> bool:
        """Whether it came to the end of its way."""
        return self.last.s == 1.0


def follow(path: Equations, tolerance: float, iterations: int) -> Outcome:
    """Return how far a solution can be followed with so many of Newton's corrections."""
    before, here = None, Node(0.0, path.begin, path.jacobian(path.begin, 0.0))
    step, spent, size = 1.0, 0, 0.0
    while here.s < 1.0 and spent < iterations and step >= SMALLEST:
        s = 1.0 if here.s + step > 1.0 - 0.1 * step else here.s + step
        found, count, size = _advance(path, before, here, s, tolerance)
        spent += count
        if found is None:
            step = 0.5 * (s - here.s)
            continue
        step = (s - here.s) * (2.0 if count <= 4 else 1.4 if count <= 6 else 1.0)
        before, here = here, found
    if here.s == 0.0 and here.J.sign == 0.0:
        return _straight(path, here, tolerance, spent)
    return Outcome(here, spent, size)


def _straight(path: Equations, begin: Node, tolerance: float, spent: int) -> Outcome:
    """Return where Newton's iteration leads at the end of the way, no correction larger than the first.

    For a start without stiffness, as a joint that hangs freely has none before the weight is on: the way of the
    equations begins elsewhere then.
    """
    x, first, size = begin.x, np.inf, np.inf
    for count in range(1, 2 * ITERATIONS + 1):
        J = path.jacobian(x, 1.0)
        step = J.solve(-path.residual(x, 1.0))
        x, size = x + step, path.size(step)
        floor = tolerance * (1.0 + largest(x[: path.count]))
        if size <= floor and _forces_settled(step, x, tolerance):
            end = Node(1.0, x, J) if path.settled(x, J) else begin
            return Outcome(end, spent + count, size)
        if not size <= max(first, 100.0 * floor):
            return Outcome(begin, spent + count, size)
        first = size if count == 1 else first
    return Outcome(begin, spent + 2 * ITERATIONS, size)


def _advance(
    path: Equations, before: Node | None, here: Node, s: float, tolerance: float
) -> tuple[Node | None, int, float]:
    """Return the point at s, or None; the corrections made, and the last of them."""
    start, slope = _predicted(before, here, s)
    way = max(path.size(start - here.x), (s - here.s) * max(path.size(here.slope), path.speed))
    x, last, close = start, 0.0, False
    small = tolerance if s == 1.0 else max(tolerance, ROUGH)
    for count in range(1, ITERATIONS + 1):
        J = path.jacobian(x, s)
        step = J.solve(-path.residual(x, s))
        x, size = x + step, path.size(step)
        floor = small * (1.0 + largest(x[: path.count]))
        if not np.isfinite(size):
            return None, count, size
        if size <= floor and _forces_settled(step, x, small):
            if not close and size > floor * tolerance / small:
                close, last = True, size  # 1e-8 of a slender link may be all of its axial force: J is not right yet
                continue
            near = path.size(x - start) <= 1.5 * NEAR * way + 100.0 * floor
            if not near or (s == 1.0 and not path.settled(x, J)):
                return None, count, size
            found = Node(s, x, J)
            if here.J.sign not in (0.0, J.sign):
                goes_on = s == 1.0 and _advance(path, before, here, s + BEYOND * (s - here.s), tolerance)[0] is not None
                return (found if goes_on else None), count, size
            smooth = _turned(path, slope, found.slope) <= BEND or here.J.sign == 0.0
            return (found if smooth else None), count, size
        if size > max(0.5 * last, NEAR * way, 100.0 * floor):
            return None, count, size
        last = size
    return None, ITERATIONS, last


def _forces_settled(step: FloatArray, x: FloatArray, small: float) -> bool:
    """Whether forces, which may be far larger than coordinates, have stopped to change too."""
    return largest(step) <= 1e3 * small * (1.0 + largest(x))


def _turned(path: Equations, predicted: FloatArray, slope: FloatArray) -> float:
    """Return the difference of two tangents relative to the larger one, or to how the rest is led."""
    size = max(path.size(predicted), path.size(slope), path.speed)
    return path.size(slope - predicted) / size if size > 0.0 else 0.0


def _predicted(before: Node | None, here: Node, s: float) -> tuple[FloatArray, FloatArray]:
    """Return the continuation to s of the cubic through two points and their tangents, and its tangent there."""
    if before is None:
        return here.x + (s - here.s) * here.slope, here.slope
    h = here.s - before.s
    t = (s - before.s) / h
    past = (2.0 * t**3 - 3.0 * t**2 + 1.0) * before.x + (t**3 - 2.0 * t**2 + t) * h * before.slope
    x = past + (3.0 * t**2 - 2.0 * t**3) * here.x + (t**3 - t**2) * h * here.slope
    turn = (3.0 * t**2 - 4.0 * t + 1.0) * before.slope + (3.0 * t**2 - 2.0 * t) * here.slope
    return x, turn + (6.0 * t - 6.0 * t**2) / h * (here.x - before.x)


def largest(x: FloatArray) -> float:
    """Return the largest absolute value."""
    return float(np.abs(x).max(initial=0.0))
