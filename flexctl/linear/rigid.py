"""Rigid shapes to the last digit: K Phi_r = 0, Phi_r' M Phi_r = I, Phi_r' M Phi_f = 0.

An eigenvalue routine leaves in a rigid shape a trace of the flexible ones, of the size of rounding times
(omega_max / omega_1)^2: 1e-8 at 100 elements. A strain sensor would integrate it twice, and modal damping would brake
the rigid motion. Residuals in 80-bit arithmetic remove it.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as sla

from ..model import FloatArray

_CORRECTIONS = 3


def clean_rigid_shapes(M: FloatArray, K: FloatArray, shapes: FloatArray, rigid: int) -> FloatArray:
    """Return mass-orthonormal shapes, the first `rigid` of which are in the null space of symmetric K."""
    if rigid == 0 or not K.any():
        return shapes
    R, F = shapes[:, :rigid], shapes[:, rigid:]
    # K with the rigid motions held by a spring of its own size is regular
    anchored = sla.lu_factor(K + np.abs(K).max() / np.abs(M).max() * (M @ R) @ (M @ R).T)
    for _ in range(_CORRECTIONS):
        residual = K.astype(np.longdouble) @ R
        R = R - sla.lu_solve(anchored, residual.astype(float))
    R = sla.solve_triangular(np.linalg.cholesky(R.T @ M @ R), R.T, lower=True).T
    return np.hstack([R, F - R @ (R.T @ M @ F)])
