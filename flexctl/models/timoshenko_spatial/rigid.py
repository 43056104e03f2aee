"""The rigid spatial arm: its frames, its motion, its tip, and the axial forces in it.

    R_1 = Rz(phi_1),   R_i = R_(i-1) Rx(twist_(i-1)) Rz(phi_i)          a prismatic joint has a fixed turn for phi
    link i reaches  s_i R_i e_z + a_i R_i e_x  beyond its joint          a prismatic joint has d_i for s_i

The flexible arm's coordinates are measured from this arm. Joint variables [rad] or [m], their rates and accelerations
may carry leading axes (time, directions of a derivative); the results then carry them too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...model import FloatArray
from .mesh import AXES, SpatialMesh
from .rotation import apply, cross, dot, skew

Array = npt.NDArray[Any]
Motion = tuple[FloatArray, FloatArray, FloatArray]
"""Coordinates, rates, accelerations."""


class Frames(NamedTuple):
    """Frames of the rigid arm in base axes.

    Attributes
    ----------
    axis : ndarray
        Axis about which each joint turns, .. x J x 3; zero for prismatic joints.
    R : ndarray
        Frame of each link, .. x J x 3 x 3.
    w, alpha : ndarray
        Its angular velocity [rad/s] and acceleration [rad/s^2], .. x J x 3.
    """

    axis: Array
    R: Array
    w: Array
    alpha: Array


def frames(mesh: SpatialMesh, phi: Array, rate: Array, acceleration: Array) -> Frames:
    """Return the frames at joint variables, rates and accelerations (.., J)."""
    joints = mesh.joint.size
    angle = np.where(mesh.prismatic, mesh.turn, phi)
    axes, frame, here = [], [], np.broadcast_to(np.eye(3), (*angle.shape[:-1], 3, 3))
    for i in range(joints):
        if i and mesh.twist[i - 1]:
            c, s = np.cos(mesh.twist[i - 1]), np.sin(mesh.twist[i - 1])
            here = here @ np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])
        axes.append(here[..., 2] * (0.0 if mesh.prismatic[i] else 1.0))
        c, s = np.cos(angle[..., i, None]), np.sin(angle[..., i, None])
        x, y = here[..., 0], here[..., 1]
        here = np.stack([c * x + s * y, c * y - s * x, here[..., 2]], axis=-1)
        frame.append(here)
    axis = np.stack(axes, axis=-2)
    turned = axis * rate[..., None]
    w = np.cumsum(turned, axis=-2)
    alpha = np.cumsum(axis * acceleration[..., None] + cross(w - turned, turned), axis=-2)
    return Frames(axis, np.stack(frame, axis=-3), w, alpha)


def _carried(f: Frames, link: Any, u: Array, rate: Array, acceleration: Array) -> tuple[Array, Array, Array]:
    """Return R u in base axes with its rate and acceleration; u, u', u'' in the frame of a link."""
    R, w, alpha = f.R[..., link, :, :], f.w[..., link, :], f.alpha[..., link, :]
    x, v, a = apply(R, u), apply(R, rate), apply(R, acceleration)
    turned = cross(w, x)
    return x, v + turned, a + 2.0 * cross(w, v) + cross(alpha, x) + cross(w, turned)


def _extents(mesh: SpatialMesh, values: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
    """Return what each link reaches beyond its joint, in its frame, .. x J x 3, with rate and acceleration."""
    found = []
    for k, joint in enumerate(values):
        u = np.zeros((*joint.shape, 3), joint.dtype)
        u[..., 2] = np.where(mesh.prismatic, joint, mesh.kinks if k == 0 else 0.0)
        u[..., 0] = mesh.lengths if k == 0 else 0.0
        found.append(u)
    return found[0], found[1], found[2]


def rigid_tip(mesh: SpatialMesh, phi: Array) -> Array:
    """Return the tip (.., 3) [m] of the rigid arm with joint variables phi (.., J)."""
    zero = np.zeros_like(phi)
    R = frames(mesh, phi, zero, zero).R
    return np.asarray(apply(R, _extents(mesh, (phi, zero, zero))[0]).sum(axis=-2))


def rigid_tip_rows(mesh: SpatialMesh, phi: FloatArray) -> FloatArray:
    """Return d(rigid tip)/d(joint variables), 3 x J."""
    h = 1e-30
    return np.asarray(rigid_tip(mesh, phi + 1j * h * np.eye(phi.size)).imag.T / h)


def rigid_motion(mesh: SpatialMesh, phi: FloatArray, rate: FloatArray, acceleration: FloatArray) -> Motion:
    """Return coordinates, rates and accelerations (.., n) of the rigid arm from those of its joints (.., J)."""
    given = (phi, rate, acceleration)
    f = frames(mesh, *given)
    extents = _extents(mesh, given)
    ends = _carried(f, slice(None), *extents)
    begins = [np.cumsum(x, axis=-2) - x for x in ends]
    kinked, part, link = mesh.kink == 1, mesh.station[:, 1], mesh.link
    # at a node of the kink a part of it is passed and nothing of the link proper; on the link the whole kink
    passed = np.stack([np.where(kinked, 0.0, part), part, np.where(kinked, part, 1.0)], axis=-1)
    along = [x[..., link, :] * passed for x in extents]
    found = []
    places = _carried(f, link, along[0], along[1], along[2])
    for joint, begin, place in zip(given, begins, places, strict=True):
        x = np.zeros((*phi.shape[:-1], mesh.size))
        x[..., mesh.joint] = joint
        x[..., mesh.node[1:, :3]] = begin[..., link, :] + place
        found.append(x)
    return found[0], found[1], found[2]


def rigid_jacobian(mesh: SpatialMesh, phi: FloatArray) -> FloatArray:
    """Return d(coordinates)/d(joint variables), transposed, .. x J x n."""
    shape, J = (*phi.shape[:-1], phi.shape[-1], phi.shape[-1]), phi.shape[-1]
    unit = np.broadcast_to(np.eye(J), shape)
    return rigid_motion(mesh, np.broadcast_to(phi[..., None, :], shape), unit, np.zeros(shape))[1]


def turning(mesh: SpatialMesh, phi: FloatArray, rates: FloatArray) -> FloatArray:
    """Return W with d(R z)/dt = R (z' + W z): node by node, R turns with the link that ends or goes on there."""
    w = frames(mesh, phi, rates, np.zeros_like(rates)).w[mesh.link]
    W = np.zeros((mesh.size, mesh.size))
    for part in (mesh.node[1:, :3], mesh.node[1:, 3:]):  # positions and rotation vectors are vectors in base axes
        W[part[:, :, None], part[:, None, :]] = skew(w)
    return W


def axial_forces(mesh: SpatialMesh, forces: FloatArray, phi: FloatArray) -> FloatArray:
    """Return the axial force of each element [N], tension positive, that holds back what lies beyond it.

    `forces` are those that the rigid arm's motion needs, M a + .. - weight; the nodes beyond an element add up to the
    mean force within it.
    """
    beyond = np.cumsum(forces[mesh.node[1:, :3]][::-1], axis=0)[::-1]
    return np.asarray(-dot(beyond, element_axes(mesh, phi)[:, :, 0]))


def element_axes(mesh: SpatialMesh, phi: FloatArray) -> FloatArray:
    """Return (e1, e2, e3) of each element of the rigid arm, N x 3 x 3."""
    zero = np.zeros_like(phi)
    return np.asarray(frames(mesh, phi, zero, zero).R[mesh.link] @ AXES[mesh.kink])
