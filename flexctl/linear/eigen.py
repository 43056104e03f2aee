"""Undamped modes of a symmetric pencil, accurate on fine meshes, and damping in their coordinates.

    K phi = omega^2 M phi,   phi_i^T M phi_k = delta_ik

A finely meshed beam has (omega_1 / omega_max)^2 = 1e-11, so that eigenvalues of the pencil (K, M) lose five digits of
omega_1 and cannot tell a rigid mode from a soft one. With K = F F^T and M = L L^T the natural frequencies are the
singular values of L^-1 F, accurate to rounding of omega_max instead of omega_max^2; F comes from a Cholesky
factorisation with pivoting of the scaled K, whose rank is n - (number of rigid modes), and the lowest eigenvalues are
polished by their Rayleigh quotients in extended precision (omega_1 is then right to 1e-10 at 400 coordinates).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.linalg as sla

from ..errors import DefinitionError, require
from ..model import FloatArray
from ..support.checks import square_matrix
from .rigid import clean_rigid_shapes

_EPS = float(np.finfo(float).eps)
# phi^T K phi below this part of |phi|^T |K| |phi| is zero: the entries of K are themselves known to rounding only.
_RIGID = 64 * _EPS
# Entries of Phi' M Phi that differ by more from those of the identity are no rounding.
_MIXED = 1e-10
# Modal damping, a first-order form and its reduction ask for the modes of the same pencil, one after the other.
_KEPT = 4


class NormalModes(NamedTuple):
    """Undamped modes: the rigid ones first, then by ascending eigenvalue.

    Attributes
    ----------
    omega : ndarray
        Natural frequencies [rad/s]; exactly 0 for rigid modes, NaN where the eigenvalue is negative.
    shapes : ndarray
        Columns phi with phi^T M phi = 1.
    rigid : int
        Number of rigid modes.
    eigenvalues : ndarray
        omega^2 [rad^2/s^2]; exactly 0 for rigid modes, negative where K is not positive (statically unstable).

    Examples
    --------
    >>> fx.normal_modes(np.eye(2), np.array([[1.0, -1.0], [-1.0, 1.0]])).rigid
    1
    """

    omega: FloatArray
    shapes: FloatArray
    rigid: int
    eigenvalues: FloatArray


_kept: dict[tuple[bytes, bytes], NormalModes] = {}


def normal_modes(M: FloatArray, K: FloatArray) -> NormalModes:
    """Return the normal modes of a symmetric pencil, M positive definite; K may be singular or indefinite.

    Examples
    --------
    >>> found = fx.normal_modes(np.eye(2), np.array([[2.0, -1.0], [-1.0, 2.0]]))
    >>> print(found.omega.round(4), found.rigid)
    [1.     1.7321] 0
    """
    M, K = (square_matrix(name, given) for name, given in (("M", M), ("K", K)))
    require(M.shape == K.shape, f"M is {M.shape[0]} x {M.shape[0]} and K {K.shape[0]} x {K.shape[0]}: give both alike")
    n = M.shape[0]
    if n == 0:
        return NormalModes(np.zeros(0), np.zeros((0, 0)), 0, np.zeros(0))
    try:
        L = np.asarray(np.linalg.cholesky(0.5 * (M + M.T)), float)
    except np.linalg.LinAlgError:
        raise DefinitionError(
            "the mass matrix M is not positive definite; normal modes need mass on every coordinate "
            "(for massless coordinates use plant.first_order(), which condenses them)"
        ) from None
    K = 0.5 * (K + K.T)
    key = (M.tobytes(), K.tobytes())
    found = _kept.get(key)
    if found is None:
        found = _kept[key] = _normal_modes(M, K, L)
        for old in list(_kept)[:-_KEPT]:
            _kept.pop(old, None)
    return NormalModes(found.omega.copy(), found.shapes.copy(), found.rigid, found.eigenvalues.copy())


def _normal_modes(M: FloatArray, K: FloatArray, L: FloatArray) -> NormalModes:
    """Return the normal modes of symmetric K and M = L L'."""
    n, shift, F = len(M), 0.0, _semidefinite_factor(K)
    if F is None:
        shift, F = _shifted_factor(M, K, L)
    U, sigma, _ = np.linalg.svd(sla.solve_triangular(L, F, lower=True), full_matrices=True)
    eigenvalues = np.zeros(n)
    eigenvalues[: sigma.size] = sigma**2
    eigenvalues -= shift
    shapes: FloatArray = sla.solve_triangular(L, U, lower=True, trans="T")
    if shift:  # otherwise the rank of F has shown it
        eigenvalues[_invisible(K, shapes)] = 0.0
    _refine(eigenvalues, shapes, M, K)
    order = np.lexsort((eigenvalues, eigenvalues != 0.0))
    eigenvalues, rigid = eigenvalues[order], int(np.sum(eigenvalues == 0.0))
    shapes, mended = _orthonormal(M, clean_rigid_shapes(M, K, shapes[:, order], rigid), rigid)
    if mended:
        _refine(eigenvalues, shapes, M, K)
    omega = np.sqrt(np.where(eigenvalues < 0.0, np.nan, eigenvalues))
    return NormalModes(omega, _signed(shapes), rigid, eigenvalues)


def _orthonormal(M: FloatArray, shapes: FloatArray, rigid: int) -> tuple[FloatArray, bool]:
    """Return the shapes with flexible ones orthonormal once more, and whether they had to be mended.

    A mode so soft that rounding mixes it with the rigid ones loses a part of itself when those are cleaned.
    """
    F = shapes[:, rigid:]
    off = F.T @ M @ F - np.eye(F.shape[1])
    off[np.abs(off) <= _MIXED] = 0.0
    if rigid == 0 or not off.any():
        return shapes, False
    own, turned = np.linalg.eigh(off)
    return np.hstack([shapes[:, :rigid], F @ ((turned / np.sqrt(1.0 + own)) @ turned.T)]), True


def _semidefinite_factor(K: FloatArray) -> FloatArray | None:
    """Return F with K = F F^T and as many columns as K has rank, or None when K is indefinite."""
    diagonal = np.diag(K)
    if np.any(diagonal < 0.0):
        return None
    scale = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    scaled = K / np.outer(scale, scale)
    factor, pivots, top, _ = sla.lapack.dpstrf(scaled, tol=1e-15, lower=1)
    lower, pivots = np.tril(factor), pivots - 1
    scaled = scaled[np.ix_(pivots, pivots)]
    small = np.flatnonzero(np.diag(lower)[:top] ** 2 < 1e-8)
    for rank in range(int(small[0]) if small.size else top, top + 1):
        if _rest_is_rounding(scaled, lower, rank):
            F = np.zeros((K.shape[0], rank))
            F[pivots] = lower[:, :rank] * scale[pivots, None]
            return F
    return None


def _rest_is_rounding(K: FloatArray, lower: FloatArray, rank: int) -> bool:
    """Return whether y^T K y is rounding for all y that the first `rank` columns of the factor do not see."""
    rest = K[rank:, rank:] - lower[rank:, :rank] @ lower[rank:, :rank].T
    head = -sla.solve_triangular(lower[:rank, :rank], lower[rank:, :rank].T, lower=True, trans="T")
    y = np.abs(np.vstack([head, np.eye(K.shape[0] - rank)]))
    return bool(np.all(np.abs(rest) <= _RIGID * (y.T @ np.abs(K) @ y)))


def _shifted_factor(M: FloatArray, K: FloatArray, L: FloatArray) -> tuple[float, FloatArray]:
    """Return a shift and F with K + shift M = F F^T."""
    inner = sla.solve_triangular(L, sla.solve_triangular(L, K, lower=True).T, lower=True)
    eigenvalues = np.linalg.eigvalsh(0.5 * (inner + inner.T))
    shift = 1.5 * abs(float(eigenvalues[0])) + _EPS * float(np.abs(eigenvalues).max())
    for _ in range(60):
        try:
            return shift, np.asarray(np.linalg.cholesky(K + shift * M), float)
        except np.linalg.LinAlgError:
            shift *= 2.0
    raise DefinitionError("the stiffness matrix K is too ill-conditioned for normal modes; check its units")


def _invisible(K: FloatArray, shapes: FloatArray) -> npt.NDArray[np.bool_]:
    """Return which shapes have a stiffness phi^T K phi that is only rounding of K."""
    stiffness = np.abs(np.sum(shapes * (K @ shapes), axis=0))
    result: npt.NDArray[np.bool_] = stiffness <= _RIGID * np.sum(np.abs(shapes) * (np.abs(K) @ np.abs(shapes)), axis=0)
    return result


def _refine(eigenvalues: FloatArray, shapes: FloatArray, M: FloatArray, K: FloatArray) -> None:
    """Replace low eigenvalues by the Rayleigh quotient in extended precision; errors of the shapes enter squared."""
    low = (np.abs(eigenvalues) < 1e-5 * eigenvalues.max(initial=0.0)) & (eigenvalues != 0.0)
    phi = shapes[:, low].astype(np.longdouble)
    stiffness = np.sum(phi * (K.astype(np.longdouble) @ phi), axis=0)
    eigenvalues[low] = (stiffness / np.sum(phi * (M @ phi), axis=0)).astype(float)


def _signed(shapes: FloatArray) -> FloatArray:
    """Return the shapes with their largest entry positive, so that results repeat."""
    largest = shapes[np.abs(shapes).argmax(axis=0), np.arange(shapes.shape[1])]
    result: FloatArray = shapes * np.where(largest < 0.0, -1.0, 1.0)
    return result


def modal_damping(M: FloatArray, K: FloatArray, ratio: float) -> FloatArray:
    """Return D = sum 2 zeta omega M phi phi^T M: damping ratio `ratio` [1] in flexible modes, none in rigid ones.

    Examples
    --------
    >>> D = fx.modal_damping(np.eye(2), np.diag([4.0, 9.0]), 0.01)
    >>> print(D.round(6))
    [[0.04 0.  ]
     [0.   0.06]]
    """
    require(
        math.isfinite(ratio) and ratio >= 0.0, f"modal damping ratio = {ratio} is not a number >= 0; use 0.01 for 1 %"
    )
    normal = normal_modes(M, K)
    flexible = normal.eigenvalues > 0.0
    shapes = normal.shapes[:, flexible]
    momentum = M @ shapes
    # a coordinate that moves alone in a rigid mode has no momentum in a flexible one, and must get no damping
    momentum[np.abs(momentum) <= 16 * math.sqrt(len(M)) * _EPS * (np.abs(M) @ np.abs(shapes))] = 0.0
    D = (momentum * (2.0 * ratio * normal.omega[flexible])) @ momentum.T
    return np.asarray(0.5 * (D + D.T))


def damping_in_modes(D: FloatArray, normal: NormalModes) -> FloatArray:
    """Return Phi^T D Phi with exact zeros where only rounding is left."""
    return in_modes(normal.shapes, D, rigid=normal.eigenvalues == 0.0)


def in_modes(
    Phi: FloatArray, X: FloatArray, origin: FloatArray | None = None, rigid: npt.NDArray[np.bool_] | None = None
) -> FloatArray:
    """Return Phi^T X Phi with exact zeros where only rounding is left.

    `origin` is what X was computed from, where that is larger than X itself: the skew part of a matrix is known to the
    rounding of the matrix. A symmetric X that does nothing to a `rigid` mode does not couple it either: of a
    semidefinite one x_ik^2 <= x_ii x_kk, so that a coupling below this with the rounding of x_ii is rounding too.
    """
    if not X.any():
        return np.zeros((Phi.shape[1], Phi.shape[1]))
    C: FloatArray = Phi.T @ X @ Phi
    size = np.abs(X if origin is None else origin)
    noise = 16 * math.sqrt(len(C) + 1.0) * _EPS * (np.abs(Phi).T @ size @ np.abs(Phi))
    C[np.abs(C) <= noise] = 0.0
    if rigid is not None and np.abs(X - X.T).max() <= 1e-14 * np.abs(X).max():
        C = 0.5 * (C + C.T)
        own = np.diag(noise) + np.abs(np.diag(C))
        limit = np.sqrt(np.outer(np.where(rigid & (np.diag(C) == 0.0), np.diag(noise), 0.0), own))
        C[np.abs(C) <= np.maximum(limit, limit.T)] = 0.0
    return C


def is_modal(C: FloatArray) -> bool:
    """Return whether the damping C = Phi^T D Phi leaves the normal modes uncoupled."""
    size = np.sqrt(np.abs(np.diag(C)))
    coupling = np.abs(C - np.diag(np.diag(C)))
    return bool(np.all(coupling <= 1e-9 * np.outer(size, size)))
