"""The mesh of a planar serial arm: elements, their sections, and where the coordinates stand.

Nodes p = 0 .. N run from the base to the tip, node 0 fixed at the origin; element e joins nodes e and e + 1. Where two
links meet they share the node's position; the root of the distal link has the angle theta + phi, theta the end of the
proximal link and phi the joint. Coordinates in this order keep every matrix banded (6 places):

    phi_1, x_1, y_1, theta_1, x_2, y_2, theta_2, ..  phi_2, x, y, theta, ..      (phi_i before the nodes of link i)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...machine.arm import Arm
from ...model import FloatArray, Signal
from ..bodies import Inner, inner_bodies, lumped, node_at
from ..sections import element_properties, link_stations

IntArray = npt.NDArray[np.int64]
BASE = -1
"""Index of what is fixed at the base; the arrays below are read with a zero appended."""


class Mesh(NamedTuple):
    """Elements and indices.

    Attributes
    ----------
    length, EA, GA, EI, rhoA, rhoI : ndarray
        Length l [m], stiffnesses EA, kt G A [N], E I [N m^2], and mass and inertia per length of each element.
    station : ndarray
        s / L of both ends of each element on its link, N x 2.
    link : ndarray
        Link of each element, from 0.
    root : ndarray
        First element of each link.
    joint : ndarray
        Coordinate of each joint.
    node : ndarray
        Coordinates (x, y, theta) of nodes 0 .. N; BASE for node 0.
    dof : ndarray
        Coordinates (x, y, theta, x, y, theta, phi) of each element, N x 7; phi is BASE unless the element is a root.
    """

    length: FloatArray
    EA: FloatArray
    GA: FloatArray
    EI: FloatArray
    rhoA: FloatArray
    rhoI: FloatArray
    station: FloatArray
    link: IntArray
    root: IntArray
    joint: IntArray
    node: IntArray
    dof: IntArray

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return 3 * self.length.size + self.root.size


def build_mesh(arm: Arm, elements: int | Sequence[int]) -> Mesh:
    """Return the mesh with so many elements per link."""
    stations = link_stations(arm, elements)
    counts = [s.size - 1 for s in stations]
    columns = [element_properties(link, s)[:5] for link, s in zip(arm.links, stations, strict=True)]
    length = np.concatenate([link.length * np.diff(s) for link, s in zip(arm.links, stations, strict=True)])
    EA, GA, EI, rhoA, rhoI = np.concatenate(columns, axis=1)
    link = np.repeat(np.arange(len(counts)), counts)
    root = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)
    joint = 3 * root + np.arange(len(counts))
    node = np.full((length.size + 1, 3), BASE)
    node[1:] = (3 * np.arange(length.size) + link + 1)[:, None] + np.arange(3)
    dof = np.hstack([node[:-1], node[1:], np.full((length.size, 1), BASE)])
    dof[root, 6] = joint
    ends = np.concatenate([np.column_stack([s[:-1], s[1:]]) for s in stations])
    return Mesh(length, EA, GA, EI, rhoA, rhoI, ends, link, root, joint, node, dof)


def coordinate_signals(mesh: Mesh) -> tuple[Signal, ...]:
    """Return the names: joint1, link1_x1, link1_y1, link1_theta1, .., joint2, .."""
    signals = []
    for i in range(mesh.root.size):
        signals.append(Signal(f"joint{i + 1}", "rad", "angle from the previous link's end"))
        for k in range(int(np.sum(mesh.link == i))):
            place = f"link{i + 1}"
            units = {"x": "m", "y": "m", "theta": "rad"}
            signals += [Signal(f"{place}_{letter}{k + 1}", unit) for letter, unit in units.items()]
    return tuple(signals)


def assemble(mesh: Mesh, blocks: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the n x n sum of element matrices N x 6 x 6; what turns a link's root turns joint and node alike."""
    wide = blocks[:, [0, 1, 2, 3, 4, 5, 2]][:, :, [0, 1, 2, 3, 4, 5, 2]]
    n = mesh.size
    out = np.zeros((n + 1, n + 1), blocks.dtype)
    np.add.at(out, (mesh.dof[:, :, None], mesh.dof[:, None, :]), wide)
    return out[:n, :n]


def collect(mesh: Mesh, parts: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the n entries that element vectors N x 6 add up to."""
    out = np.zeros(mesh.size + 1, parts.dtype)
    np.add.at(out, mesh.dof, parts[:, [0, 1, 2, 3, 4, 5, 2]])
    return out[: mesh.size]


def spread(mesh: Mesh, q: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the local coordinates (x, y, theta at the left end, x, y, theta at the right end) of every element."""
    wide = np.append(q, 0.0)[mesh.dof]
    local = wide[:, :6].copy()
    local[:, 2] += wide[:, 6]
    return local


def mass_matrix(mesh: Mesh, arm: Arm) -> FloatArray:
    """Return the constant M: elements (consistent, with rotary inertia), joints, payload."""
    T = np.array([[2.0, 1.0], [1.0, 2.0]]) / 6.0
    per = np.zeros((mesh.length.size, 3, 3))
    per[:, 0, 0] = per[:, 1, 1] = mesh.rhoA * mesh.length
    per[:, 2, 2] = mesh.rhoI * mesh.length
    M = assemble(mesh, np.einsum("ab,eij->eaibj", T, per).reshape(-1, 6, 6))
    return M + lumped_mass(mesh, arm)


def lumped_mass(mesh: Mesh, arm: Arm) -> FloatArray:
    """Return the part of M that belongs to joints, payload and bodies."""
    n, arm = mesh.size, lumped(arm)
    M = np.zeros((n + 1, n + 1))
    for i, joint in enumerate(arm.joints):
        x, y, theta = mesh.node[mesh.root[i]]
        phi = mesh.joint[i]
        M[[x, y], [x, y]] += joint.mass
        M[theta, theta] += joint.housing_inertia
        M[np.ix_([theta, phi], [theta, phi])] += joint.hub_inertia
        M[phi, phi] += joint.rotor_inertia
    x, y, theta = mesh.node[-1]
    M[[x, y], [x, y]] += arm.payload.mass
    M[theta, theta] += arm.payload.inertia
    for body in inner_bodies(arm):
        x, y, theta = mesh.node[_node(mesh, body)]
        M[[x, y], [x, y]] += body.mass
        M[theta, theta] += body.inertia
    return M[:n, :n]


def gravity_load(mesh: Mesh, arm: Arm) -> FloatArray:
    """Return the weight of everything, as forces on the coordinates."""
    g = np.array(arm.gravity[:2], float)
    ends = np.zeros((mesh.length.size, 2, 3))
    ends[:, :, :2] = 0.5 * (mesh.rhoA * mesh.length)[:, None, None] * g
    load, arm = np.append(collect(mesh, ends.reshape(-1, 6)), 0.0), lumped(arm)
    for i, joint in enumerate(arm.joints):
        load[mesh.node[mesh.root[i], :2]] += joint.mass * g
    load[mesh.node[-1, :2]] += arm.payload.mass * g
    for body in inner_bodies(arm):
        load[mesh.node[_node(mesh, body), :2]] += body.mass * g
    return load[:-1]


def _node(mesh: Mesh, body: Inner) -> int:
    """Return the node that a body stands on."""
    own = np.flatnonzero(mesh.link == body.link)
    return int(own[0]) + node_at(np.append(mesh.station[own, 0], 1.0), body.position)
