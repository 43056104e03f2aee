"""Singular mass matrices: massless coordinates, constraints written as matrices, anything with a regular pencil.

    P(s) = s^2 M + s D + K,   det P(s) not identically zero

Massless directions N (M N = 0) that carry neither damping nor a singular stiffness are condensed statically, exactly:
N'K q = N'B u, so q = T z + S u. Everything else goes through the first-order pencil

    E x' = A x + B u,   y = C x + Du u,   x = (q, v, a):   q' = v,   v' = a,   0 = B u - K q - D v - M a

whose infinite eigenvalues are deflated stage by stage with orthogonal transformations (Van Dooren 1981): the null space
of E is moved to the front, A of it is triangularised, and the rest has fewer infinite eigenvalues. The fast variables
are then polynomials in s of the slow ones and of u. Outputs that contain u', u'', ... are refused: such a plant has no
first-order form.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..errors import DefinitionError, require
from ..model import FloatArray, Signal
from . import FirstOrder, SecondOrder, independent_basis
from .balance import balanced

_EPS = float(np.finfo(float).eps)
# A mass matrix whose eigenvalues, each coordinate scaled to unit mass, fall below this has massless directions.
_MASSLESS = 1e-12


def massless_directions(M: FloatArray) -> FloatArray | None:
    """Return an orthonormal basis of the null space of M, or None when M is regular."""
    n = M.shape[0]
    size = np.sqrt(np.maximum(np.abs(M).max(axis=0, initial=0.0), np.abs(M).max(axis=1, initial=0.0)))
    size[size == 0.0] = 1.0
    _, sigma, Vt = np.linalg.svd(M / np.outer(size, size))
    rank = int(np.sum(sigma > _MASSLESS * max(1.0, sigma.max(initial=0.0))))
    if rank == n:
        return None
    zero = [i for i in range(n) if not M[:, i].any()]
    if len(zero) == n - rank:  # massless coordinates by name: keep the basis free of rounding
        return np.asarray(np.eye(n)[:, zero])
    basis: FloatArray = np.linalg.qr(Vt[rank:].T / size[:, None])[0]
    return basis


def regular(plant: SecondOrder) -> SecondOrder | FirstOrder:
    """Return the same plant with a regular mass matrix, or its first-order form when there is none.

    Raises
    ------
    DefinitionError
        When the pencil is singular (the motion is not determined), or the plant is impulsive (an output contains the
        derivative of an input).
    """
    N = massless_directions(plant.M)
    if N is None:
        return plant
    check_regular(plant.M, plant.D, plant.K)
    return condense(plant, N) if _condensable(plant, N) else deflate(plant)


def check_regular(M: FloatArray, D: FloatArray, K: FloatArray) -> None:
    """Raise `DefinitionError` when det(s^2 M + s D + K) vanishes for every s."""
    sizes = [float(np.abs(m).max(initial=0.0)) for m in (M, K)]
    s = np.sqrt((sizes[1] or 1.0) / (sizes[0] or 1.0)) * np.exp(1j * np.array([0.7, 1.1, 2.3]))
    for value in s:
        P = value * value * M + value * D + K
        row = np.abs(P).max(axis=1, initial=0.0)
        P = P / np.where(row > 0, row, 1.0)[:, None]
        column = np.abs(P).max(axis=0, initial=0.0)
        sigma = np.linalg.svd(P / np.where(column > 0, column, 1.0), compute_uv=False)
        if sigma.size == 0 or sigma[-1] > 10 * sigma.size * _EPS * sigma[0]:
            return
    raise DefinitionError(
        "det(s^2 M + s D + K) is zero for every s: some coordinate has neither mass, damping nor stiffness, so its "
        "motion is not determined; remove that coordinate or give it mass"
    )


def _condensable(plant: SecondOrder, N: FloatArray) -> bool:
    """Whether the massless directions N are undamped, on both sides massless, and hold by stiffness alone."""
    size = np.abs(plant.D).max(initial=0.0)
    damped = max(np.abs(plant.D @ N).max(initial=0.0), np.abs(N.T @ plant.D).max(initial=0.0))
    coupled = np.abs(N.T @ plant.M).max(initial=0.0)
    K = N.T @ plant.K @ N
    sigma = np.linalg.svd(K, compute_uv=False)
    stiff = sigma[-1] > 1e-13 * max(sigma[0], np.abs(N.T @ plant.K).max(initial=0.0))
    return bool(damped <= 1e-14 * size and coupled <= 1e-14 * np.abs(plant.M).max(initial=0.0) and stiff)


def condense(plant: SecondOrder, N: FloatArray) -> SecondOrder:
    """Return the plant without its massless, undamped directions N.

    The remaining coordinates keep their names. Forces on massless directions reach position outputs directly (Du).
    """
    K, B = plant.K, plant.B
    T, kept = independent_basis(N.T @ K)
    S = N @ np.linalg.solve(N.T @ K @ N, N.T @ B)
    for label, C in (("rate", plant.Cv), ("acceleration", plant.Ca)):
        _refuse_impulses(plant, C @ S, np.abs(C) @ np.abs(S), f"the {label} of a massless coordinate")
    return replace(
        plant,
        M=T.T @ plant.M @ T, D=T.T @ plant.D @ T, K=T.T @ K @ T, B=T.T @ (B - K @ S),
        Cq=plant.Cq @ T, Cv=plant.Cv @ T, Ca=plant.Ca @ T, Du=plant.Du + plant.Cq @ S,
        coordinates=tuple(plant.coordinates[i] for i in kept),
        basis=T if plant.basis is None else plant.basis @ T,
    )


def _refuse_impulses(plant: SecondOrder, gain: FloatArray, bound: FloatArray, what: str) -> None:
    bad = np.argwhere(np.abs(gain) > 1e-9 * np.maximum(bound, 1e-300))
    if bad.size:
        y, u = bad[0]
        raise DefinitionError(
            f'output "{plant.outputs[y].name}" contains the derivative of input "{plant.inputs[u].name}" ({what}): the '
            "plant is impulsive and has no first-order form; give the driven coordinate mass, or leave that output out"
        )


@dataclass
class _Pencil:
    """E x' = A x + B u, y = C x, transformed in place to Z' x; the first `fast` variables have infinite eigenvalues."""

    E: FloatArray
    A: FloatArray
    B: FloatArray
    C: FloatArray
    Z: FloatArray
    fast: int = 0

    def rows(self, Q: FloatArray) -> None:
        """Multiply the equations of the slow part by Q'."""
        f = self.fast
        for m in (self.E, self.A, self.B):
            m[f:] = Q.T @ m[f:]

    def columns(self, Z: FloatArray) -> None:
        """Replace the slow variables x by Z' x."""
        f = self.fast
        for m in (self.E, self.A, self.C, self.Z):
            m[:, f:] = m[:, f:] @ Z

    def deflate_once(self) -> int:
        """Move the null space of the slow E to the front and return its dimension."""
        f = self.fast
        E = self.E[f:, f:]
        _, sigma, Vt = np.linalg.svd(E)
        null = int(np.sum(sigma <= 1e-12 * max(sigma.max(initial=0.0), 1e-300))) if E.any() else E.shape[0]
        if null == 0:
            return 0
        self.columns(np.roll(Vt.T, null, axis=1))
        self.E[f:, f : f + null] = 0.0
        Q, R = np.linalg.qr(self.A[f:, f : f + null], mode="complete")
        sizes = np.linalg.svd(R[:null], compute_uv=False)
        if sizes[-1] <= 1e-12 * max(sizes[0], np.abs(self.A[f:]).max(initial=0.0)):
            raise DefinitionError("the pencil s^2 M + s D + K is singular: some coordinate's motion is not determined")
        self.rows(Q)
        self.A[f + null :, f : f + null] = 0.0
        self.fast += null
        return null


def _scaled_pencil(plant: SecondOrder) -> tuple[_Pencil, tuple[FloatArray, FloatArray], float]:
    """Return the pencil of x = (q, v, a) in scaled coordinates and time, its rigid motions, and the unit of 1/time."""
    n, p = plant.B.shape
    sizes = [float(np.abs(m).max(initial=0.0)) for m in (plant.M, plant.D, plant.K)]
    w = _time_scale(*sizes)
    P = w * w * np.abs(plant.M) + w * np.abs(plant.D) + np.abs(plant.K)
    scale = 1.0 / np.sqrt(np.maximum(P.max(axis=0), P.max(axis=1)))
    M, D, K = (scale[:, None] * m * scale for m in (w * w * plant.M, w * plant.D, plant.K))
    I, O = np.eye(n), np.zeros((n, n))
    E = np.block([[I, O, O], [O, I, O], [O, O, O]])
    A = np.block([[O, I, O], [O, O, I], [-K, -D, -M]])
    B = np.vstack([np.zeros((2 * n, p)), scale[:, None] * plant.B])
    C = np.hstack([plant.Cq * scale, w * plant.Cv * scale, w * w * plant.Ca * scale])
    return _Pencil(E, A, B, C, np.eye(3 * n)), _rigid_motions(D, K), w


def _rigid_motions(D: FloatArray, K: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the states (q, v, a) of motions without stiffness, displaced; and moving, for the undamped ones."""
    n = K.shape[0]
    free = _null(K)
    coasting = _null(D @ free) if free.size else free[:0]
    # undamped ones first, so that rate i integrates into displacement i
    free = free @ np.linalg.qr(coasting, mode="complete")[0] if coasting.size else free
    displaced, moving = np.zeros((3 * n, free.shape[1])), np.zeros((3 * n, coasting.shape[1]))
    displaced[:n], moving[n : 2 * n] = free, free[:, : coasting.shape[1]]
    return displaced, moving


def _null(m: FloatArray) -> FloatArray:
    _, sigma, Vt = np.linalg.svd(m)
    rank = int(np.sum(sigma > 1e-12 * max(1.0, sigma.max(initial=0.0))))
    return np.asarray(Vt[rank:].T, float)


def _time_scale(mass: float, damping: float, stiffness: float) -> float:
    """Return a frequency [rad/s] at which the three terms are of one size."""
    if mass > 0 and stiffness > 0:
        return float(np.sqrt(stiffness / mass))
    if damping > 0:
        return stiffness / damping if stiffness > 0 else (damping / mass if mass > 0 else 1.0)
    return 1.0


def deflate(plant: SecondOrder) -> FirstOrder:
    """Return the first-order form of a plant whose mass matrix is singular, by deflating infinite eigenvalues."""
    pencil, rigid, w = _scaled_pencil(plant)
    stages = 0
    while pencil.deflate_once():
        stages += 1
    f = pencil.fast
    Es, Ef = pencil.E[f:, f:], pencil.E[:f]
    slow: FloatArray = np.asarray(np.linalg.solve(Es, np.hstack([pencil.A[f:, f:], pencil.B[f:]])), float)
    k = Es.shape[0]
    A, B = slow[:, :k], slow[:, k:]
    # fast x_f: A_f x_f = E_f x_f' + E_fs x_s' - A_fs x_s - B_f u, with A_f^-1 E_f nilpotent
    H = np.linalg.solve(pencil.A[:f, :f], np.hstack([Ef, pencil.A[:f, f:], pencil.B[:f]]))
    nilpotent, Hs, Has, Hu = H[:, :f], H[:, f : f + k], H[:, f + k : f + 2 * k], H[:, f + 2 * k :]
    X0, U0 = Hs @ A - Has, Hs @ B - Hu
    X, U = X0, [U0]
    for _ in range(stages):
        U = [U0 + nilpotent @ X @ B, *(nilpotent @ term for term in U)]
        X = X0 + nilpotent @ X @ A
    Cf, Cs = pencil.C[:, :f], pencil.C[:, f:]
    for power, term in enumerate(U[1:], 1):
        bound = np.abs(Cf).max(axis=1, initial=0.0)[:, None] * max(np.abs(t).max(initial=0.0) for t in U)
        _refuse_impulses(plant, Cf @ term, bound * np.ones_like(Cf @ term), f"derivative of order {power}")
    C, D = Cs + Cf @ X, plant.Du + Cf @ U[0]
    displaced, moving = (pencil.Z[:, f:].T @ motion for motion in rigid)
    A, B, C = _with_exact_integrators(A, B, C, displaced, moving)
    return _labelled(plant, w * A, w * B, C, D, displaced.shape[1], moving.shape[1])


def _with_exact_integrators(
    A: FloatArray, B: FloatArray, C: FloatArray, displaced: FloatArray, moving: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the matrices with the rigid motions as first states, their columns of A free of rounding."""
    k, n = displaced.shape[1], A.shape[0]
    first = np.hstack([displaced, moving])
    j = first.shape[1]
    if j == 0:
        return A, B, C
    rest = np.linalg.qr(first, mode="complete")[0][:, j:]
    T = np.hstack([first, rest])
    solved: FloatArray = np.asarray(np.linalg.solve(T, np.hstack([A @ rest, B])), float)
    # without stiffness and damping a rate does nothing but integrate into its displacement
    fixed = np.vstack([np.eye(k)[:, : j - k], np.zeros((n - k, j - k))])
    return np.hstack([np.zeros((n, k)), fixed, solved[:, : n - j]]), solved[:, n - j :], C @ T


def _labelled(
    plant: SecondOrder, A: FloatArray, B: FloatArray, C: FloatArray, D: FloatArray, displaced: int, moving: int
) -> FirstOrder:
    """Return the plant with its states scaled and named."""
    require(bool(np.all(np.isfinite(A))), "the first-order form overflows: scale the coordinates of M, D and K")
    A, diagonal, _ = balanced(A)
    B, C = B / diagonal[:, None], C * diagonal
    names = [f"rigid{i + 1}" for i in range(displaced)] + [f"rigid{i + 1}_rate" for i in range(moving)]
    names += [f"x{i + 1}" for i in range(A.shape[0] - displaced - moving)]
    provenance = {**plant.provenance, "form": "deflated"}
    states = tuple(Signal(name) for name in names)
    return FirstOrder(A, B, C, D, states, plant.inputs, plant.outputs, 0.0, provenance)
