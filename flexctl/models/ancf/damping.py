"""Modal damping of an ANCF arm, as a law of its strain rates.

    sigma = C eps',    C = sum (2 zeta / omega^3) (S G phi) (S G phi)^T,    G = d eps/dq,  K = G^T S G

over the flexible modes phi (unit modal mass) of the undamped, unloaded arm in its reference pose, joints driven by
motion held; eps are the strain
numbers of all elements (`ancf.element`), S their stiffness. G^T C G = sum (2 zeta / omega^3) (K phi)(K phi)^T then has
the ratio zeta in each of these modes. Strain numbers do not change in rigid motion, and neither does the damping: it
is the same in every pose, and a link that turns undeformed is not braked. In other poses the ratios are others, as the
modes are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...model import FloatArray, names
from ..null_space import null_space, unheld
from .mesh import chain, expand

if TYPE_CHECKING:
    from . import Ancf


class ModalDamping:
    """The damping force on the blocks of an arm and its derivatives."""

    def __init__(self, model: Ancf) -> None:
        from ...linear.modes import normal_modes  # a higher layer, needed here only

        self.forms, self.left, q = model.forms, model.mesh.left, model.reference()
        full = expand(model.mesh, model.base, q, 0 * q, 0 * q)
        known = names(model.coordinates)
        free = unheld(model.arm, [known.index(f"joint{i + 1}") for i in range(len(model.arm.joints))], q.size)
        N = np.eye(q.size)[:, free]
        if model.closures:
            N = N @ null_space(model.closure_jacobian(q)[:, free], model.closures)
        G, S = self._wide(self._gradient(full.x)) @ chain(model.mesh, full)[0] @ N, self.forms.C
        stress = np.einsum("ecd,edn->ecn", S, G.reshape(*S.shape[:2], -1)).reshape(G.shape)
        normal = normal_modes(N.T @ model.mass(q) @ N, G.T @ stress)
        flexible = normal.eigenvalues > 0
        forces = stress @ normal.shapes[:, flexible]
        ratio = model.arm.damping.ratio
        self.C: FloatArray = (forces * (2.0 * ratio / normal.omega[flexible] ** 3)) @ forces.T

    def force(self, blocks: FloatArray, rates: FloatArray) -> FloatArray:
        """Return the force on the blocks."""
        G = self._wide(self._gradient(blocks))
        return np.asarray(G.T @ (self.C @ (G @ rates.ravel()))).reshape(blocks.shape)

    def tangent(self, blocks: FloatArray, rates: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the derivatives of the force by the blocks and by their rates."""
        G, W = self._wide(self._gradient(blocks)), self._wide(self._gradient(rates))
        sigma = (self.C @ (G @ rates.ravel())).reshape(self.forms.zero.shape)
        turned = np.einsum("ec,ecij->eij", sigma, self.forms.N)
        K = G.T @ self.C @ W
        for b, part in zip(self.left, turned, strict=True):
            K[6 * b : 6 * b + 12, 6 * b : 6 * b + 12] += np.kron(part, np.eye(2))
        return K, G.T @ self.C @ G

    def _gradient(self, blocks: FloatArray) -> FloatArray:
        """Return N X of each element, (elements, m, 12): d eps/dX, linear in X."""
        X = np.stack([blocks[self.left], blocks[self.left + 1]], axis=1).reshape(-1, 6, 2)
        X = X - X[:, :1] * np.array([1.0, 0, 0, 1, 0, 0])[:, None]  # from the left end, as in `ancf.element`
        return np.asarray(np.einsum("ecij,ejk->ecik", self.forms.N, X).reshape(*self.forms.zero.shape, 12))

    def _wide(self, g: FloatArray) -> FloatArray:
        """Return the gradients by all blocks, (elements m) x 6 blocks."""
        out = np.zeros((*g.shape[:2], 6 * (int(self.left.max()) + 2)))
        for e, b in enumerate(self.left):
            out[e, :, 6 * b : 6 * b + 12] = g[e]
        return out.reshape(-1, out.shape[-1])
