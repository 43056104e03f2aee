"""The plain methods of a model as the operations of the common step.

They serve every model and read like the equations. The suite checks that compiled models give the same runs.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
import scipy.linalg as sla
from scipy.linalg import lapack

from ..abilities import reach
from ..kernels.dirk import dirk
from ..kernels.engine import Loops
from ..kernels.general import CLOSED_ENOUGH, CLOSINGS, NEARLY, YIELDS
from ..kernels.operations import Operations
from ..kernels.state import KEPT, LOOSE, OWN, SDIRK, TIME, Motion
from ..kernels.stepper import stepper
from ..kernels.tables import DONE, SINGULAR, Record
from ..model import FloatArray, MechanicalModel, balance, closure_forces, closure_turn


class Plain:
    """A model's plain methods as the operations of `kernels.stepper`, with full matrices.

    Parameters
    ----------
    model : MechanicalModel
        The model.
    baumgarte : tuple of float
        alpha, beta [1/s], or nothing.
    """

    def __init__(self, model: MechanicalModel, baumgarte: tuple[float, ...] = ()) -> None:
        self.model, self.baumgarte = model, baumgarte
        self.factors: tuple[Any, float] | None = None
        self.given: Any = np.arange(len(model.closures))

    def solve(
        self, motion: Motion, u: FloatArray, ca: float, cv: float, cq: float, fresh: bool
    ) -> tuple[float, float]:
        """Fill the correction; see `kernels.operations.Operations`."""
        model, q, v, a, lam = self.model, motion.q, motion.v, motion.a, motion.lam
        G, W = model.closure_jacobian(q), closure_forces(model, q)
        (m, n), t = G.shape, motion.number[TIME]
        residual = balance(model, q, v, a, u, t) + W @ lam
        if fresh:
            tangent = model.tangent(q, v, a, u, lam)
            rates = m > 0 and cv > 0.0 and not self.baumgarte
            turning = G + closure_turn(model, q, v) / cv if rates else G
            self.factors = _factor(ca * tangent.mass + cv * tangent.damping + cq * tangent.stiffness, W, turning)
        if self.factors is None:
            return SINGULAR, np.inf
        lu, scale = self.factors
        right = np.zeros((n + m, 2))
        right[:n, 0] = residual
        if m and cv == 0.0:
            right[n:, 0] = scale * (G @ a + model.closure_bias(q, v)) / ca
        elif m and self.baumgarte:
            right[n:, 0] = scale * _gap(model, self.baumgarte, q, v, a, ca, cv)
        elif m:
            right[n:, 0], right[n:, 1] = scale / cv * (G @ v), scale * model.closure(q)
        correction = sla.lu_solve(lu, right, check_finite=False)
        motion.d[:n] = correction[:n, 0]
        if m:
            motion.gap[:], motion.lift[:] = correction[:n, 1], scale * correction[n:, 0]
        return DONE, _size(motion, correction[:n])

    def choose(self, motion: Motion) -> None:
        """Choose the coordinates that closures give; see `kernels.general.choose`."""
        model, zero = self.model, np.zeros(len(self.model.inputs))
        tangent = model.tangent(motion.q, motion.v, motion.a, zero, motion.lam)
        soft = np.sqrt(np.maximum(np.abs(np.diag(YIELDS * tangent.mass + tangent.stiffness)), 1e-300))
        W = closure_forces(model, motion.q)
        self.given = sla.qr((W / soft[:, None]).T, mode="r", pivoting=True)[1][: W.shape[1]]

    def close(self, motion: Motion, enough: float = CLOSED_ENOUGH) -> None:
        """Put the coordinates and rates that closures give where the others ask for."""
        for _ in range(CLOSINGS):
            G, g = self.model.closure_jacobian(motion.q), self.model.closure(motion.q)
            moved = np.linalg.solve(G[:, self.given], np.column_stack([g, G @ motion.v]))
            motion.q[self.given] -= moved[:, 0]
            motion.v[self.given] -= moved[:, 1]
            if np.abs(moved[:, 0]).max() < enough:
                return

    def solve_given(
        self, motion: Motion, u: FloatArray, ca: float, cv: float, cq: float, fresh: bool
    ) -> tuple[float, float]:
        """Fill the correction where closures give some of the coordinates; see `kernels.general.solve_given`."""
        loose = motion.number[LOOSE] != 0.0
        if cv != 0.0 and not loose:
            self.close(motion, NEARLY)
        model, q, v, a, lam = self.model, motion.q, motion.v, motion.a, motion.lam
        G, W, n = model.closure_jacobian(q), closure_forces(model, q), motion.q.size
        residual = balance(model, q, v, a, u, motion.number[TIME]) + W @ lam
        if fresh:
            tangent = model.tangent(q, v, a, u, lam)
            turning = G + 2.0 * closure_turn(model, q, v) / cv if cv > 0.0 else G
            self.factors = _factor(ca * tangent.mass + cv * tangent.damping + cq * tangent.stiffness, W, turning)
        if self.factors is None:
            return SINGULAR, np.inf
        lu, scale = self.factors
        opening = np.zeros(lam.size) if loose else G @ a + model.closure_bias(q, v)
        found = sla.lu_solve(lu, np.concatenate([residual, scale * opening / ca]), check_finite=False)
        motion.d[:n], motion.lift[:] = found[:n], scale * found[n:]
        return DONE, _size(motion, found[:n])

    def reach(self, motion: Motion, cv: float) -> float:
        """Return the part of a correction that is taken at once; see `kernels.operations.Operations`."""
        return reach(self.model, motion.v, -cv * motion.d[: motion.v.size])

    def measure(self, motion: Motion, u: FloatArray, y: FloatArray) -> None:
        """Fill the sensor readings."""
        y[:] = self.model.output(motion.q, motion.v, motion.a, u)


def _size(motion: Motion, d: FloatArray) -> float:
    """Return the largest entry of a correction of the arm; see `kernels.general.size_of`."""
    if not np.isfinite(d).all():
        return np.inf
    return float(np.abs(d[: int(motion.number[OWN])]).max(initial=0.0))


def _limit(form: Plain, motion: Motion, tolerance: float, h: float) -> float:
    return tolerance * max(1.0, float(np.abs(motion.q).max(initial=0.0)))


def _store(form: Plain, motion: Motion, record: Record, k: int) -> None:
    if record.q.shape[0] > 1:
        record.q[k], record.v[k] = motion.q, motion.v


def _nothing(*arguments: Any) -> None:
    """Nothing is needed here: prescribed motions are inputs, torques are outputs."""


def _no(*arguments: Any) -> bool:
    return False


def plain_loops(*, closed: bool) -> Loops:
    """Return the loops in Python, for `Plain`."""
    found = Loops(_operations().traits(closed))
    found |= {False: plain_loop(), SDIRK: plain_stages(closed=closed)}
    return found


def plain_loop() -> Callable[..., Any]:
    """Return the loop of `kernels.stepper` in Python, for `Plain`."""
    return interpreted(stepper(_operations(), plain=True))


def plain_stages(*, closed: bool) -> Callable[..., Any]:
    """Return the loop of `kernels.dirk` in Python, for `Plain`."""
    ops = _operations()
    if closed:
        ops = ops._replace(
            solve=lambda form, *step: form.solve_given(*step), begin=Plain.choose, close=Plain.close
        )
    return interpreted(dirk(ops, interpreted))


def _operations() -> Operations:
    return Operations(
        lambda form, motion, u, y: form.measure(motion, u, y), lambda form, *step: form.solve(*step), _nothing,
        _nothing, _no, _nothing, _nothing, _limit, _store, _nothing, _no, keeps=True, prefers=KEPT, spans=True,
        reach=lambda form, motion, cv: form.reach(motion, cv),
    )


def interpreted(run: Any) -> Callable[..., Any]:
    """Return a loop that is not compiled, with its compiled helpers as plain Python; those in closures are called."""
    inside = dict(run.__globals__)
    for name in run.__code__.co_names:  # compiled helpers cannot be called from Python, nor those that they call
        helper = getattr(inside.get(name), "py_func", None)
        if helper is not None:
            inside[name] = interpreted(helper)
    made: Callable[..., Any] = FunctionType(run.__code__, inside, run.__name__, closure=run.__closure__)
    return made


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
) -> FloatArray:
    """Return what Baumgarte makes zero, in the unit of the closures."""
    g = model.closure(q)
    G, (alpha, beta) = model.closure_jacobian(q), baumgarte
    opening = G @ a + model.closure_bias(q, v) + 2.0 * alpha * (G @ v) + beta**2 * g
    return np.asarray(opening / (ca + 2.0 * alpha * cv + beta**2))
