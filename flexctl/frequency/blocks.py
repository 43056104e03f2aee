"""Bounds of the structured singular value, from above and from below, at many frequencies at once.

    mu(M) = 1 / min { max |delta_i| : det(I - M diag(delta_i)) = 0 }

From above: scaling (slycot's ab13md: Fan, Tits and Doyle 1991), or the spectral radius of the matrix of the blocks'
norms, which is larger and much cheaper; between them, in size and cost, the norm after balancing. From below: a
perturbation that makes the matrix singular, looked for among the diagonal unitary ones; for one or two scalar complex
blocks it attains mu.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ..model import ComplexArray, FloatArray

REAL, COMPLEX = 1, 2
"""Kinds of blocks, as ab13md has them."""
_ANGLES = 48
_SWEEPS = 6
_ITERATIONS = 60
_BALANCED = 8


def scaled_bound(M: ComplexArray, sizes: Sequence[int], kinds: Sequence[int]) -> FloatArray:
    """Return an upper bound of mu for matrices (count, n, n).

    Parameters
    ----------
    M : ndarray
        The matrices.
    sizes, kinds : sequence of int
        Of every block: its order, and whether it is `REAL` (then of order 1) or `COMPLEX`.

    Where the search for the best scaling breaks down, a coarser bound stands; infinity where M is not finite.
    """
    import slycot

    order, kind = np.asarray(sizes, int), np.asarray(kinds, int)
    largest = np.abs(M).max(axis=(1, 2), initial=0.0)
    mu = np.where(np.isfinite(largest), 0.0, np.inf)
    for i in np.flatnonzero((largest > 0) & np.isfinite(largest)):
        unit = np.asfortranarray(M[i] / largest[i])
        try:  # never started from its neighbour's solution: slycot 0.7 then returns bounds up to 40 % too large
            mu[i] = largest[i] * slycot.ab13md(unit, order, kind)[0]
        except slycot.exceptions.SlycotArithmeticError:
            coarse = (norm_bound(unit[None], sizes)[0], balanced_bound(unit[None], sizes)[0])
            mu[i] = largest[i] * float(min(coarse))
    return mu


def norm_bound(M: ComplexArray, sizes: Sequence[int]) -> FloatArray:
    """Return the spectral radius of the matrix of the blocks' norms: never below mu, whatever the blocks are."""
    return np.asarray(np.abs(np.linalg.eigvals(_norms(M, sizes))).max(axis=1))


def balanced_bound(M: ComplexArray, sizes: Sequence[int]) -> FloatArray:
    """Return the largest singular value after balancing the blocks (Osborne): never below mu, whatever they are.

    Any scaling bounds mu; this one makes the Frobenius norm smallest. It costs a hundredth of `scaled_bound`.
    """
    squares, scale = _norms(M, sizes) ** 2, np.ones((len(M), len(sizes)))
    squares[:, range(len(sizes)), range(len(sizes))] = 0.0
    tiny = np.maximum(1e-30 * squares.max(axis=(1, 2)), 1e-200)  # a block that nothing drives stays finite
    for _ in range(_BALANCED):
        for i in range(len(sizes)):
            row, column = squares[:, i].sum(axis=1) + tiny, squares[:, :, i].sum(axis=1) + tiny
            ratio = np.sqrt(column / row)  # of squares: the row is multiplied by it, the column divided
            squares[:, i] *= ratio[:, None]
            squares[:, :, i] /= ratio[:, None]
            scale[:, i] *= np.sqrt(ratio)
    whole = np.repeat(scale, sizes, axis=1)
    return np.asarray(np.linalg.svd(M * whole[:, :, None] / whole[:, None, :], compute_uv=False)[:, 0])


def _norms(M: ComplexArray, sizes: Sequence[int]) -> FloatArray:
    """Return the Frobenius norms of the blocks, (count, blocks, blocks)."""
    ends = np.concatenate([[0], np.cumsum(sizes)])
    parts = [slice(a, b) for a, b in pairwise(ends)]
    norms = [[np.linalg.norm(M[:, r, c], axis=(1, 2)) for c in parts] for r in parts]
    return np.moveaxis(np.array(norms), 2, 0)


def attained(M: ComplexArray) -> FloatArray:
    """Return a lower bound of mu for scalar complex blocks: the largest spectral radius of U M found, U unitary.

    One angle is scanned after the other and refined, so that it is mu itself for one and two blocks; with more of them
    from where the power iteration ends, which is close as a rule.
    """
    size = M.shape[1]
    if size == 1:
        return np.asarray(np.abs(M[:, 0, 0]))
    angles = np.zeros((len(M), size))
    best = _radius(M, angles)
    if size > 2:
        likely = _aligned(M)
        radius = _radius(M, likely)
        better = radius > best
        angles[better], best = likely[better], np.where(better, radius, best)
    for sweep in range(_SWEEPS if size > 2 else 1):
        before = best
        for channel in range(1, size):
            angles, best = _turned(M, angles, best, channel, everywhere=not sweep)
        if sweep and np.all(best <= before * (1.0 + 1e-6)):
            break
    return best


def _aligned(M: ComplexArray) -> FloatArray:
    """Return the angles of U at which the power iteration of complex scalars ends (Packard, Fan, Doyle 1988)."""
    adjoint = np.conj(np.swapaxes(M, 1, 2))
    b = np.ones(M.shape[:2], complex)
    w = b.copy()
    for _ in range(_ITERATIONS):
        a = _unit((M @ b[:, :, None])[:, :, 0])
        z = _phase(np.conj(w) * a) * w
        w = _unit((adjoint @ z[:, :, None])[:, :, 0])
        b = _phase(np.conj(a) * w) * a
    return np.asarray(np.angle(b * np.conj(a)))


def _unit(vectors: ComplexArray) -> ComplexArray:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1), 1e-300)[:, None])


def _phase(values: ComplexArray) -> ComplexArray:
    size = np.abs(values)
    return np.where(size > 0.0, values / np.maximum(size, 1e-300), 1.0)


def _turned(
    M: ComplexArray, angles: FloatArray, best: FloatArray, channel: int, everywhere: bool
) -> tuple[FloatArray, FloatArray]:
    """Return the angles with one of them at its best, everywhere or near by, and the spectral radius there."""
    width = 2.0 * np.pi / _ANGLES
    scans = [width * np.arange(_ANGLES)] if everywhere else []
    for offsets in (*scans, *(width / 4.0**k * np.linspace(-1.0, 1.0, 9) for k in range(6))):
        centre = angles[:, channel].copy()
        for offset in offsets:
            tried = angles.copy()
            tried[:, channel] = centre + offset
            radius = _radius(M, tried)
            better = radius > best
            angles[better], best = tried[better], np.where(better, radius, best)
    return angles, best


def _radius(M: ComplexArray, angles: FloatArray) -> FloatArray:
    if M.shape[1] == 2:  # roots of z^2 - 2 h z + d; eigvals takes fifty times as long
        turned = np.exp(1j * angles)
        a, d = turned[:, 0] * M[:, 0, 0], turned[:, 1] * M[:, 1, 1]
        half, apart = 0.5 * (a + d), 0.5 * (a - d)
        root = np.sqrt(apart**2 + turned[:, 0] * turned[:, 1] * M[:, 0, 1] * M[:, 1, 0])
        return np.asarray(np.maximum(np.abs(half + root), np.abs(half - root)))
    return np.asarray(np.abs(np.linalg.eigvals(np.exp(1j * angles)[:, :, None] * M)).max(axis=1))
