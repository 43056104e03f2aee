"""The planar arm at rest: held at joint angles and bent by its weight.

    f(q) + kp (phi - command) = weight        with phi held where the joint is not a servo

Newton's iteration from the undeformed arm; where it fails, as for an arm so soft that it hangs, the weight is applied
in steps. To first order (analyses "linear", "quasi_static") it is one iteration, with the stiffness that the axial
forces of the rigid arm add.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ConvergenceError
from ..model import FloatArray
from .planar_mesh import Mesh, assemble
from .planar_rigid import axial_forces

if TYPE_CHECKING:
    from .timoshenko_planar import TimoshenkoPlanar


def rest(model: TimoshenkoPlanar, angles: FloatArray) -> FloatArray:
    """Return the coordinates at rest."""
    q, linear = model.pose(angles), model.analysis != "nonlinear"
    if linear:
        extra = prestress(model.mesh, -model.weight, angles) if model.stiffening else np.zeros_like(model.M)
        return q - _correction(model, q, angles, 1.0, extra)
    return settle(q, lambda q, part: _correction(model, q, angles, part, None), angles)


def settle(
    start: FloatArray, correction: Callable[[FloatArray, float], FloatArray], angles: FloatArray
) -> FloatArray:
    """Return the pose at which `correction(q, part)`, Newton's for a part of the weight, vanishes for all of it."""
    for parts in (np.ones(1), np.geomspace(1e-2, 1.0, 20), np.geomspace(1e-6, 1.0, 300)):
        found = _by_steps(start, correction, parts)
        if found is not None:
            return found
    message = f"no rest pose at joint angles {angles.tolist()} rad found: the arm is too soft for its weight"
    raise ConvergenceError(message)


def _by_steps(
    start: FloatArray, correction: Callable[[FloatArray, float], FloatArray], parts: FloatArray
) -> FloatArray | None:
    q = start
    for part in parts:
        for _ in range(25):
            step = correction(q, float(part))
            size = float(np.abs(step).max())
            if not size < 1.0:
                return None
            q = q - step
            if size <= 1e-12 * (1.0 + np.abs(q).max()):
                break
        else:
            return None
    return q


def _correction(
    model: TimoshenkoPlanar, q: FloatArray, angles: FloatArray, part: float, extra: FloatArray | None
) -> FloatArray:  # fmt: skip
    """Return Newton's correction for a part of the weight; held joints do not move."""
    zero, phi = np.zeros(q.size), model.mesh.joint
    residual = model.force(q, zero) + (1.0 - part) * model.weight
    residual[phi] -= model.kp * angles
    K = model.tangent(q, zero, zero, np.zeros(len(model.inputs)), np.zeros(0)).stiffness
    free = np.ones(q.size, bool)
    free[phi] = model.kp > 0
    step = np.zeros(q.size)
    total = K if extra is None else K + extra
    step[free] = np.linalg.solve(total[np.ix_(free, free)], residual[free])
    return step


def prestress(mesh: Mesh, forces: FloatArray, angles: FloatArray) -> FloatArray:
    """Return the geometric stiffness of the rigid arm's axial forces; `forces` are its M a - weight."""
    theta = np.cumsum(angles)[mesh.link]
    across = np.zeros((mesh.length.size, 6))
    across[:, 3], across[:, 4] = -np.sin(theta), np.cos(theta)
    across[:, :2] = -across[:, 3:5]
    N = axial_forces(mesh, forces, angles)
    return np.asarray(assemble(mesh, np.einsum("ei,e,ej->eij", across, N / mesh.length, across)))
