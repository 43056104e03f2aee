"""Equilibrium and consistent accelerations.

    h(q, 0) + G(q)^T lam = B u,   g(q) = 0          equilibrium
    M a + G^T lam = B u - h,      G a = -bias       accelerations
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from .errors import ConvergenceError, require
from .model import FloatArray, MechanicalModel, OperatingPoint, closure_forces, index_of, names


def accelerations(
    model: MechanicalModel, q: FloatArray, v: FloatArray, u: FloatArray, t: float = 0.0
) -> tuple[FloatArray, FloatArray]:
    """Return the accelerations and closure forces of a state."""
    M, G = model.mass(q), model.closure_jacobian(q)
    n, m = M.shape[0], G.shape[0]
    kkt = np.block([[M, closure_forces(model, q)], [G, np.zeros((m, m))]])
    right = np.concatenate([model.input_matrix(q) @ u - model.force(q, v, t), -model.closure_bias(q, v)])
    try:
        solution = np.linalg.solve(kkt, right)
    except np.linalg.LinAlgError as error:
        raise ConvergenceError(
            f"the mass matrix of {model.kind} is singular on the free directions at t = {t:.6g} s; give every free "
            "coordinate a mass, or eliminate it",
            time=t,
        ) from error
    return solution[:n], solution[n:]


def equilibrium(
    model: MechanicalModel,
    *,
    hold: Mapping[str, float] | None = None,
    balance: Sequence[str] | None = None,
    u: FloatArray | None = None,
    guess: FloatArray | None = None,
    tolerance: float = 1e-11,
    iterations: int = 50,
) -> OperatingPoint:
    """Return the rest state in which all forces balance.

    Parameters
    ----------
    model : MechanicalModel
        The model.
    hold : mapping, optional
        Coordinates kept at a value, e.g. ``{"theta": 0.5}`` [unit of the coordinate].
    balance : sequence of str, optional
        Inputs that are free to take the value the equilibrium needs; by default as many of the first inputs as
        coordinates are held.
    u : ndarray, optional
        The other inputs (zero by default).
    guess : ndarray, optional
        Start of the iteration; the reference pose by default.
    tolerance : float
        Accepted size of the last correction relative to the pose.
    iterations : int
        Newton iterations before giving up.

    Raises
    ------
    ConvergenceError
        When there is no equilibrium nearby, e.g. an arm under gravity without its joints held.
    """
    n, m, p = len(model.coordinates), len(model.closures), len(model.inputs)
    hold = dict(hold or {})
    held = [index_of("coordinate", name, model.coordinates) for name in hold]
    enough = balance is not None or len(held) <= p
    require(enough, f"{len(held)} coordinates are held by the {p} inputs of {model.kind}; name free ones in balance")
    inputs = names(model.inputs)[: len(held)] if balance is None else list(balance)
    free_inputs = [index_of("input", name, model.inputs) for name in inputs]
    q = (model.reference() if guess is None else np.asarray(guess, float)).copy()
    require(q.shape == (n,), f"guess has shape {q.shape}; {model.kind} has {n} coordinates")
    q[held] = list(hold.values())
    inputs_now = np.zeros(p) if u is None else np.asarray(u, float).copy()
    require(inputs_now.shape == (p,), f"u has shape {inputs_now.shape}; {model.kind} has {p} inputs")
    given = bool(np.isfinite(q).all() and np.isfinite(inputs_now).all())
    require(given, "hold, guess and u must be finite")
    free = [i for i in range(n) if i not in held]
    lam, zero = np.zeros(m), np.zeros(n)
    size, iteration = np.inf, 0
    while iteration < iterations:
        iteration += 1
        G, W, B = model.closure_jacobian(q), closure_forces(model, q), model.input_matrix(q)
        residual = np.concatenate([model.force(q, zero) + W @ lam - B @ inputs_now, model.closure(q)])
        K = model.tangent(q, zero, zero, inputs_now, lam).stiffness
        jacobian = np.block([
            [K[:, free], W, -B[:, free_inputs]],
            [G[:, free], np.zeros((m, m + len(free_inputs)))],
        ])  # fmt: skip
        # least squares: an arm that is free to turn has a whole line of equilibria, and the nearest is taken; scaled,
        # or the softest bending of a slender beam would be lost beside its axial stiffness
        rows, columns = (np.sqrt(np.abs(jacobian).max(axis=axis, initial=0.0)) for axis in (1, 0))
        rows[rows == 0], columns[columns == 0] = 1.0, 1.0
        scaled, *_ = np.linalg.lstsq(jacobian / np.outer(rows, columns), -residual / rows, rcond=1e-13)
        step = scaled / columns
        q[free] += step[: len(free)]
        lam = lam + step[len(free) : len(free) + m]
        inputs_now[free_inputs] += step[len(free) + m :]
        size = float(np.abs(step[: len(free)]).max(initial=0.0))
        if not np.isfinite(size):
            break
        settled = size <= tolerance * (1.0 + _largest(q))
        if settled and _balanced(model, q, inputs_now, lam, K):
            return OperatingPoint(q, zero, zero, inputs_now, lam)
        if settled and _largest(step) <= tolerance * (1.0 + _largest(q) + _largest(lam) + _largest(inputs_now)):
            break  # a least-squares minimum that is no equilibrium
    raise ConvergenceError(
        f"no equilibrium of {model.kind} found: correction {size:.3g} after {iteration} iterations; hold the joints "
        "(hold=...) with the inputs that balance them (balance=...), or give a better guess",
        iteration=iteration,
        residual=size,
    )


def _largest(x: FloatArray) -> float:
    return float(np.abs(x).max(initial=0.0))


def _balanced(model: MechanicalModel, q: FloatArray, u: FloatArray, lam: FloatArray, K: FloatArray) -> bool:
    """Whether the forces cancel to 1e-6 of the largest, rounding of K q aside, and the closures are met."""
    G = model.closure_jacobian(q)
    terms = [model.force(q, np.zeros(q.size)), closure_forces(model, q) @ lam, -model.input_matrix(q) @ u]
    rounding, extent = 1e-13 * _largest(K), 1.0 + _largest(q)
    forces = _largest(sum(terms, np.zeros(q.size))) <= 1e-6 * max(map(_largest, terms)) + rounding * extent
    return forces and _largest(model.closure(q)) <= 1e-9 * (1.0 + _largest(G)) * extent
