"""The rigid ANCF arm: its motion, its torques, and the frames that turn with its links.

Angles, rates and accelerations of the joints may carry leading axes (time), the coordinates then carry them too.
"""

from __future__ import annotations

import numpy as np

from ...model import FloatArray
from ..timoshenko_planar.rigid import Motion
from .mesh import AncfMesh


def _blocks(mesh: AncfMesh, angles: FloatArray, rates: FloatArray, accelerations: FloatArray) -> Motion:
    """Return positions and slopes (.., blocks, 6), their rates and accelerations."""
    link = np.searchsorted(mesh.roots, np.arange(len(mesh.place)), side="right") - 1
    theta, w, alpha = (np.cumsum(x, axis=-1)[..., link, None] for x in (angles, rates, accelerations))
    along = np.concatenate([np.cos(theta), np.sin(theta)], axis=-1)
    across = np.stack([-along[..., 1], along[..., 0]], axis=-1)
    step = np.zeros(len(mesh.place))
    step[mesh.left + 1] = mesh.stuff.length
    directions = (along, across), (w * across, -w * along)
    turned = alpha * across - w**2 * along, -alpha * along - w**2 * across
    found = []
    for one, other in (*directions, turned):
        found.append(np.concatenate([np.cumsum(step[:, None] * one, axis=-2), one, other], axis=-1))
    return found[0], found[1], found[2]


def rigid_motion(mesh: AncfMesh, angles: FloatArray, rates: FloatArray, accelerations: FloatArray) -> Motion:
    """Return coordinates, rates and accelerations (.., n) of the rigid arm from those of its joints (.., joints)."""
    found = []
    given = (angles, rates, accelerations)
    for k, (joint, blocks) in enumerate(zip(given, _blocks(mesh, *given), strict=True)):
        x = np.zeros((*joint.shape[:-1], mesh.size + 3))
        x[..., mesh.place] = blocks
        x[..., mesh.joint], x[..., mesh.stretch] = joint, float(k == 0)
        found.append(x[..., : mesh.size])
    return found[0], found[1], found[2]


def rigid_torques(
    mesh: AncfMesh, mass: FloatArray, load: FloatArray, alpha: float, angles: FloatArray, rates: FloatArray,
    accelerations: FloatArray,
) -> FloatArray:
    """Return the joint torques (.., joints) that move the rigid arm: the moment of all that lies beyond each joint."""
    x, v, a = _blocks(mesh, angles, rates, accelerations)
    force = ((a + alpha * v).reshape(*a.shape[:-2], -1) @ mass - load).reshape(a.shape)
    torques = []
    for root in mesh.roots:
        arm = x[..., root:, :].copy()
        arm[..., :2] -= x[..., root : root + 1, :2]
        F = force[..., root:, :]
        torques.append(np.sum(arm[..., 0::2] * F[..., 1::2] - arm[..., 1::2] * F[..., 0::2], axis=(-2, -1)))
    return np.stack(torques, axis=-1)


def turning(mesh: AncfMesh, rates: FloatArray) -> FloatArray:
    """Return W with d(R z)/dt = R (z' + W z); R turns pairs of coordinates with their link, phi and f stay."""
    link = np.searchsorted(mesh.roots, np.arange(len(mesh.place)), side="right") - 1
    W = np.zeros((mesh.size + 3,) * 2)
    w = np.cumsum(rates)[link]
    for b in range(len(mesh.place) - 1, -1, -1):  # an elbow's position turns with the link that ends there
        for x, y in mesh.place[b].reshape(3, 2):
            if x < mesh.size:
                W[x, y], W[y, x] = -w[b], w[b]
    return W[: mesh.size, : mesh.size]
