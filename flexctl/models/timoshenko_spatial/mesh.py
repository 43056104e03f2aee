"""The mesh of a spatial serial arm: segments, elements, rigid bodies, and where the coordinates stand.

Link i consists of up to two *segments*: its kink along the joint's axis z, then the link itself along x. A flexible
segment has elements; a rigid kink is an offset and a body. Nodes p = 0 .. N run from the base to the tip, node 0 is
clamped to the base; element e joins nodes e and e + 1. The left end of the first element of a segment may stand off
its node by rigid kinks in between. Coordinates:

    joint_1, nodes of link 1 (kink first), joint_2, nodes of link 2, ..     node: x, y, z [m], rx, ry, rz [rad]

(rx, ry, rz) is the rotation vector, in base axes, from the section of the rigid arm to the section of the flexible arm
with the same joint variables. Element axes (e1, e2, e3) are (x, y, z) of the link, and its (z, x, y) in a kink.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...errors import NotAvailable, require
from ...machine.arm import Arm, Joint, Link
from ...model import FloatArray, Signal
from ..bodies import NEAR, inner_bodies, node_at, places
from ..sections import Properties, element_counts, element_properties, element_stations

IntArray = npt.NDArray[np.int64]
BASE = -1
"""Index of what is fixed at the base; arrays of coordinates are read with a zero appended."""
NONE = -1
"""In `slide`: the element does not belong to a sliding segment."""
AXES = np.stack([np.eye(3), np.eye(3)[:, [2, 0, 1]]])
"""Columns e1, e2, e3 of a link (0) and of a kink (1), in the frame of the link."""
Z = np.array([0.0, 0.0, 1.0])


class Bodies(NamedTuple):
    """Rigid bodies B fixed to a section: kinks, lumped masses, hubs, housings, payload.

    Attributes
    ----------
    node, link : ndarray
        Node that carries the body, and the link (from 0) whose frame turns with it.
    offset : ndarray
        From the node to the centre of mass: one vector in the frame of each link, B x J x 3, which add up.
    mass, inertia : ndarray
        Mass [kg], and inertia about the centre of mass in the frame of the link [kg m^2], B x 3 x 3.
    """

    node: IntArray
    link: IntArray
    offset: FloatArray
    mass: FloatArray
    inertia: FloatArray


class SpatialMesh(NamedTuple):
    """Elements N, joints J and indices.

    Attributes
    ----------
    length : ndarray
        Length l [m] of each element; of a sliding one in the reference pose.
    stiffness : ndarray
        EA, kt GA, kt GA [N], GJ, EI2, EI3 [N m^2], N x 6: for (eps, gamma2, gamma3, kappa1, kappa2, kappa3).
    rhoA, rhoJ : ndarray
        Mass per length [kg/m]; inertia per length rho (I2 + I3, I2, I3) [kg m], N x 3.
    station : ndarray
        Both ends of each element divided by the length of its segment, N x 2; for a sliding one the fixed fractions xi.
    slide : ndarray
        Joint (from 0) whose variable is the length of the element's segment; NONE for fixed lengths.
    link, kink : ndarray
        Link of each element (from 0), and 1 in a kink, 0 in a link proper: the index into AXES.
    offset : ndarray
        From node e to the left end of element e, N x J x 3: one vector in the frame of each link, which add up.
    root : ndarray
        First element of each link, kink included; of a link without elements the one that follows.
    joint : ndarray
        Coordinate of each joint.
    node : ndarray
        Coordinates (x, y, z, rx, ry, rz) of nodes 0 .. N; BASE for node 0.
    dof : ndarray
        Coordinates of each element: left node, right node, all joints; N x (12 + J).
    prismatic : ndarray
        Whether each joint slides.
    turn, twist : ndarray
        Fixed turn of a prismatic joint about its axis (0 for a revolute one), and twist of each link [rad].
    kinks, lengths : ndarray
        Offset s (that of a prismatic joint is its variable instead) and length a of each link [m].
    rotor : ndarray
        Rotor inertia of each joint [kg m^2].
    bodies : Bodies
        Rigid bodies.
    """

    length: FloatArray
    stiffness: FloatArray
    rhoA: FloatArray
    rhoJ: FloatArray
    station: FloatArray
    slide: IntArray
    link: IntArray
    kink: IntArray
    offset: FloatArray
    root: IntArray
    joint: IntArray
    node: IntArray
    dof: IntArray
    prismatic: npt.NDArray[np.bool_]
    turn: FloatArray
    twist: FloatArray
    kinks: FloatArray
    lengths: FloatArray
    rotor: FloatArray
    bodies: Bodies

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return 6 * self.length.size + self.joint.size

    def part(self, elements: IntArray) -> SpatialMesh:
        """Return the mesh with the arrays of these elements only."""
        names = ("length", "stiffness", "rhoA", "rhoJ", "station", "slide", "link", "kink", "offset", "dof")
        return self._replace(**{name: getattr(self, name)[elements] for name in names})

    def segment(self, link: int, kink: bool) -> IntArray:
        """Return the elements of a segment."""
        return np.flatnonzero((self.link == link) & (self.kink == kink))


class _Builder:
    """Walks from the base to the tip and collects elements and bodies."""

    def __init__(self, joints: int) -> None:
        self.joints, self.nodes = joints, 0
        self.pending = np.zeros((joints, 3))  # rigid offset from the last node, by link
        self.elements: list[dict[str, Any]] = []
        self.bodies: list[tuple[int, int, FloatArray, float, FloatArray]] = []

    def body(self, link: int, mass: float, inertia: FloatArray, arm: FloatArray | None = None) -> None:
        """Fix a body to the place reached, its centre of mass `arm` beyond it in the frame of the link."""
        offset = self.pending.copy()
        if arm is not None:
            offset[link] += arm
        if mass or np.any(inertia):
            self.bodies.append((self.nodes, link, offset, mass, inertia))

    def joint(self, i: int, joint: Joint, twist: float) -> None:
        """Add what is lumped at joint i: its mass, its housing on the previous link, its hub on this one."""
        if i > 0:
            axis = np.array([0.0, -np.sin(twist), np.cos(twist)])  # seen by the previous link
            self.body(i - 1, joint.mass, joint.housing_inertia * np.outer(axis, axis))
        self.body(i, 0.0, joint.hub_inertia * np.outer(Z, Z))

    def rigid_kink(self, i: int, link: Link) -> None:
        """Add a uniform rigid kink."""
        s, p = link.kink, element_properties(link, np.zeros(2))
        across = float(p.rhoA[0]) * s**3 / 12.0
        spins = s * np.array([p.rhoI2[0], p.rhoI[0], p.rhoI2[0] + p.rhoI[0]])
        self.body(i, float(p.rhoA[0]) * s, np.diag(spins + np.array([across, across, 0.0])), 0.5 * s * Z)
        self.pending[i] += s * Z

    def beam(self, i: int, kink: bool, length: float, stations: FloatArray, p: Properties, slide: int) -> None:
        """Add the elements of a flexible segment."""
        for e in range(stations.size - 1):
            self.elements.append({
                "length": length * (stations[e + 1] - stations[e]),
                "stiffness": [x[e] for x in (p.EA, p.GA, p.GA, p.GJ, p.EI2, p.EI)],
                "rhoA": p.rhoA[e], "rhoJ": [p.rhoI2[e] + p.rhoI[e], p.rhoI2[e], p.rhoI[e]],
                "station": stations[e : e + 2], "slide": slide, "link": i, "kink": int(kink), "offset": self.pending,
            })
            self.pending = np.zeros((self.joints, 3))
        self.nodes += stations.size - 1

    def column(self, key: str) -> npt.NDArray[Any]:
        """Return one property of all elements."""
        return np.array([element[key] for element in self.elements])

    def all_bodies(self) -> Bodies:
        """Return the bodies as arrays."""
        J, rows = self.joints, self.bodies
        shapes: tuple[tuple[int, ...], ...] = ((), (), (J, 3), (), (3, 3))
        columns = [np.array([row[k] for row in rows]).reshape(len(rows), *shape) for k, shape in enumerate(shapes)]
        return Bodies(columns[0].astype(int), columns[1].astype(int), columns[2], columns[3], columns[4])


def build_mesh(arm: Arm, elements: int | Sequence[int]) -> SpatialMesh:
    """Return the mesh; each flexible kink, and each link proper, has so many elements."""
    counts, J = element_counts(arm, elements), len(arm.links)
    build, roots = _Builder(J), []
    for i, (link, joint, count) in enumerate(zip(arm.links, arm.joints, counts, strict=True)):
        roots.append(build.nodes)
        build.joint(i, joint, arm.links[i - 1].twist)
        if link.kink and link.kink_kind == "rigid":
            build.rigid_kink(i, link)
        elif link.kink:
            stations = np.linspace(0.0, 1.0, count + 1)
            uniform = element_properties(link, np.zeros(count + 1))  # the section at the root throughout
            build.beam(i, True, link.kink, stations, uniform, NONE if joint.revolute else i)
        if link.length:
            stations, first = element_stations(link, count, i + 1, bodies=places(arm, i)), build.nodes
            for body in arm.bodies:
                if body.link == i + 1 and body.position <= NEAR:
                    build.body(i, body.mass, body.inertia * np.eye(3))
            build.beam(i, False, link.length, stations, element_properties(link, stations), NONE)
            for inner in inner_bodies(arm):
                if inner.link == i:
                    node, inertia = first + node_at(stations, inner.position), inner.inertia * np.eye(3)
                    build.bodies.append((node, i, np.zeros((J, 3)), inner.mass, inertia))
            for body in arm.bodies:
                if body.link == i + 1 and body.position >= 1.0 - NEAR:
                    build.body(i, body.mass, body.inertia * np.eye(3))
        else:
            stranded = any(body.link == i + 1 for body in arm.bodies)
            require(not stranded, f"[[body]] on link {i + 1}, which has length 0: name a link that has one")
    if build.pending.any():
        raise NotAvailable(f"link {J} ends with a rigid kink; the last part of a spatial arm is flexible")
    build.body(J - 1, arm.payload.mass, arm.payload.inertia * np.eye(3))
    return _finish(arm, build, np.array(roots))


def _finish(arm: Arm, build: _Builder, roots: IntArray) -> SpatialMesh:
    """Number the coordinates."""
    N, J, link = len(build.elements), len(arm.links), build.column("link")
    joint = 6 * roots + np.arange(J)
    node = np.full((N + 1, 6), BASE)
    node[1:] = (6 * np.arange(N) + link + 1)[:, None] + np.arange(6)
    dof = np.hstack([node[:-1], node[1:], np.broadcast_to(joint, (N, J))])
    prismatic = np.array([not j.revolute for j in arm.joints])
    columns = {key: build.column(key) for key in build.elements[0]}
    return SpatialMesh(
        **columns, root=roots, joint=joint, node=node, dof=dof, prismatic=prismatic,
        turn=np.where(prismatic, [j.angle for j in arm.joints], 0.0), twist=np.array([x.twist for x in arm.links]),
        kinks=np.array([x.kink for x in arm.links]), lengths=np.array([x.length for x in arm.links]),
        rotor=np.array([j.rotor_inertia for j in arm.joints]), bodies=build.all_bodies(),
    )


def coordinate_signals(mesh: SpatialMesh) -> tuple[Signal, ...]:
    """Return the names: joint1, link1_x1, link1_y1, link1_z1, link1_rx1, .., joint2, .."""
    signals = []
    for i, slides in enumerate(mesh.prismatic):
        unit, text = ("m", "free length of the kink") if slides else ("rad", "angle from the previous link's end")
        signals.append(Signal(f"joint{i + 1}", unit, text))
        units = {"x": "m", "y": "m", "z": "m", "rx": "rad", "ry": "rad", "rz": "rad"}
        for k in range(int(np.sum(mesh.link == i))):
            signals += [Signal(f"link{i + 1}_{letter}{k + 1}", unit) for letter, unit in units.items()]
    return tuple(signals)
