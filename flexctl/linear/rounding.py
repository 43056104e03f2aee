"""Rounding errors in the matrices of a linearised model, recognised by the size of the terms they were computed from.

A stiffness of 1e-46 N m/rad is no spring: it comes of closure forces of 1e-30 N that an equilibrium leaves behind, or
of a coordinate of 1e-35 m beside others of a metre. From the matrix alone nobody can tell. So the tangent is taken
again with the operating point moved by its own rounding,

    dq = r max(1, |q|),   (dlam, du) balance K dq,   r = 16 eps,

and an entry that changes by its own size under that is zero. Projection on the motion that closures leave adds
r |N|' |K| |N|, and entries are sums known to 2 eps sqrt(K_ii K_jj) at best. Where an entry and its mirror image differ
by no more than rounding, both become their mean.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..model import FloatArray, MechanicalModel, OperatingPoint, Tangent, closure_forces

_EPS = float(np.finfo(float).eps)
_STEP = 16 * _EPS
_DRAWS = 2
# An entry up to this many times the change it shows is rounding.
_SAFETY = 4.0
# Rounding is small: a larger change is a model that jumps at this point, which tells nothing about its entries.
_LARGEST = 1e-9


def tangent_noise(model: MechanicalModel, at: OperatingPoint, tangent: Tangent) -> Tangent:
    """Return how much each entry of a tangent changes when the operating point moves by its rounding."""
    rng = np.random.default_rng(0)
    noise = [_STEP * np.abs(matrix) for matrix in tangent]
    push = np.hstack([closure_forces(model, at.q), model.input_matrix(at.q)])
    m = push.shape[1] - at.u.size
    for _ in range(_DRAWS):
        sign = rng.choice([-1.0, 1.0], at.q.size)
        dq = _STEP * sign * np.maximum(1.0, np.abs(at.q))
        force = tangent.stiffness @ dq
        balance = np.linalg.lstsq(push, force, rcond=None)[0] if push.size else np.zeros(push.shape[1])
        moved = model.tangent(
            at.q + dq,
            at.v * (1.0 + _STEP * sign),
            at.a * (1.0 + _STEP * sign),
            at.u + balance[m:],
            at.lam + balance[:m],
        )
        noise = [np.maximum(n, np.abs(b - a)) for n, a, b in zip(noise, tangent, moved, strict=True)]
    return Tangent(*noise)


def cleaned(matrix: FloatArray, noise: FloatArray) -> FloatArray:
    """Return a matrix with exact zeros and exact symmetry wherever noise is all that speaks against it."""
    size = np.sqrt(np.abs(np.diag(matrix)))
    noise = np.maximum(noise, 2 * _EPS * np.outer(size, size))
    noise = np.where(noise <= _LARGEST * (np.abs(matrix).max(initial=0.0) + 1.0), _SAFETY * noise, 0.0)
    matrix = np.where(np.abs(matrix) <= noise, 0.0, matrix)
    mirrored = np.abs(matrix - matrix.T) <= noise + noise.T
    return np.where(mirrored, 0.5 * (matrix + matrix.T), matrix)


def projected_noise(noise: Sequence[FloatArray], left: FloatArray, right: FloatArray) -> Tangent:
    """Return the noise of left' X right, which sums products of both signs."""
    return Tangent(*(np.abs(left).T @ n @ np.abs(right) for n in noise))
