"""The rigid planar arm: its motion, its torques, and the frames that turn with its links.

Where the joints are commanded the deformation is measured from this arm. Angles, rates and accelerations of the joints
may carry leading axes (time), the coordinates then carry them too.
"""

from __future__ import annotations

import numpy as np

from ...model import FloatArray
from .mesh import Mesh, assemble

Motion = tuple[FloatArray, FloatArray, FloatArray]
"""Coordinates, rates, accelerations."""


def rigid_motion(mesh: Mesh, angles: FloatArray, rates: FloatArray, accelerations: FloatArray) -> Motion:
    """Return coordinates, rates and accelerations (.., n) of the rigid arm from those of its joints (.., joints)."""
    theta, w, alpha = (np.cumsum(x, axis=-1)[..., mesh.link] for x in (angles, rates, accelerations))
    along = np.stack([np.cos(theta), np.sin(theta)], axis=-1)
    across = np.stack([-along[..., 1], along[..., 0]], axis=-1)
    l, w1, a1 = mesh.length[:, None], w[..., None], alpha[..., None]
    steps = (l * along, l * w1 * across, l * (a1 * across - w1**2 * along))
    found = []
    for joint, turn, step in zip((angles, rates, accelerations), (theta, w, alpha), steps, strict=True):
        x = np.zeros((*theta.shape[:-1], mesh.size))
        x[..., mesh.joint] = joint
        x[..., mesh.node[1:, :2]] = np.cumsum(step, axis=-2)
        x[..., mesh.node[1:, 2]] = turn
        found.append(x)
    return found[0], found[1], found[2]


def rigid_jacobian(mesh: Mesh, angles: FloatArray) -> FloatArray:
    """Return d(coordinates)/d(joint angles), n x joints."""
    zero = np.zeros_like(angles)
    columns = [rigid_motion(mesh, angles, row, zero)[1] for row in np.eye(angles.size)]
    return np.column_stack(columns)


def turning(mesh: Mesh, rates: FloatArray) -> FloatArray:
    """Return W with d(R z)/dt = R (z' + W z): node by node, R turns with the link that ends or goes on there."""
    w = np.cumsum(rates)[mesh.link]
    x, y = mesh.node[1:, 0], mesh.node[1:, 1]
    W = np.zeros((mesh.size, mesh.size))
    W[x, y], W[y, x] = -w, w
    return W


def axial_forces(mesh: Mesh, forces: FloatArray, angles: FloatArray) -> FloatArray:
    """Return the axial force of each element [N], tension positive, that holds back what lies beyond it.

    `forces` are M a - weight of the rigid arm; the nodes beyond an element add up to the mean force within it.
    """
    theta = np.cumsum(angles)[mesh.link]
    beyond = np.cumsum(forces[mesh.node[1:, :2]][::-1], axis=0)[::-1]
    return np.asarray(-beyond[:, 0] * np.cos(theta) - beyond[:, 1] * np.sin(theta))


def prestress(mesh: Mesh, forces: FloatArray, angles: FloatArray) -> FloatArray:
    """Return the geometric stiffness of the rigid arm's axial forces; `forces` are its M a - weight."""
    theta = np.cumsum(angles)[mesh.link]
    across = np.zeros((mesh.length.size, 6))
    across[:, 3], across[:, 4] = -np.sin(theta), np.cos(theta)
    across[:, :2] = -across[:, 3:5]
    N = axial_forces(mesh, forces, angles)
    return np.asarray(assemble(mesh, np.einsum("ei,e,ej->eij", across, N / mesh.length, across)))
