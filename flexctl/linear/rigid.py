"""Rigid shapes to the last digit: K Phi_r = 0, Phi_r' M Phi_r = I, Phi_r' M Phi_f = 0.

An eigenvalue routine leaves in a rigid shape a trace of the flexible ones, of the size of rounding times
(omega_max / omega_1)^2: 1e-8 at 100 elements. A strain sensor would integrate it twice, and modal damping would brake
the rigid motion. Residuals in 80-bit arithmetic remove it.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as sla

from ..errors import DefinitionError
from ..model import FloatArray

_CORRECTIONS = 3
_REGULAR = 4e-16  # smallest singular value of the scaled K with its rigid motions held


def clean_rigid_shapes(M: FloatArray, K: FloatArray, shapes: FloatArray, rigid: int) -> FloatArray:
    """Return mass-orthonormal shapes, the first `rigid` of which are in the null space of symmetric K."""
    if rigid == 0 or not K.any():
        return shapes
    R, F = shapes[:, :rigid], shapes[:, rigid:]
    # K with the rigid motions held by a spring of its own size is regular
    anchored = K + np.abs(K).max() / np.abs(M).max() * (M @ R) @ (M @ R).T
    size = np.sqrt(np.abs(np.diag(anchored)))
    size[size == 0.0] = 1.0
    scaled, stiff = anchored / np.outer(size, size), K.astype(np.longdouble)
    smallest = float(np.linalg.svd(scaled, compute_uv=False)[-1])
    lower, pivots, singular = sla.lapack.dgetrf(scaled)
    if singular or not smallest > _REGULAR:
        raise DefinitionError(
            f"the stiffness matrix K holds some motion by {smallest:.1e} of its own size besides {rigid} rigid "
            f"mode{'' if rigid == 1 else 's'}, below what numbers resolve ({_REGULAR:.0e}): set to zero what is "
            "rounding in K, or scale its coordinates"
        )
    for _ in range(_CORRECTIONS):
        residual = (stiff @ R).astype(float) / size[:, None]
        R = R - sla.lu_solve((lower, pivots), residual) / size[:, None]
    # a component far below what other modes have there is rounding, and damping may be all that is left to see it
    R[np.abs(R) <= np.finfo(float).eps * np.abs(shapes).max(axis=1)[:, None]] = 0.0
    R = sla.solve_triangular(np.linalg.cholesky(R.T @ M @ R), R.T, lower=True).T
    return np.hstack([R, F - R @ (R.T @ M @ F)])
