"""Where the coordinates of an ANCF arm stand, and how they give positions and slopes.

Blocks of six numbers (r, r_x, r_y) run from the base to the tip: the root of link 1, its nodes, the root of link 2, ..
Element e of link i (from 0) joins blocks e + i and e + i + 1. All coordinates are those numbers themselves, in the base
frame, but for the section at the root of a link, which is given by the joint angle phi and its stretch f = |r_y|,

    r_y = f R(phi) e / |e|,      e = r_y at the end of the previous link, (0, 1) at the base

so that the joint angle is a coordinate, counts turns, and the joint's torque acts on it alone. Order:

    phi_1, f_1, r_x (2), then per node r (2), r_x (2), r_y (2), ..  phi_2, f_2, r_x, nodes, ..

The position of a root is that of the previous link's end, or, with multipliers, two more coordinates after f. Where the
base is clamped phi_1 and f_1 are constants.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...machine.arm import Arm
from ...model import FloatArray, Signal
from ..bodies import Inner, inner_bodies, lumped, node_at
from ..ranges import CHORD
from ..timoshenko_planar.mesh import IntArray, Mesh, build_mesh
from .element import Stuff, mass6

SECTION = 600.0
"""A turn phi costs phi^2 A L^2 / (600 I): the energies are apart by 1/720, and a clamped beam bears a force."""

Array = npt.NDArray[Any]


class AncfMesh(NamedTuple):
    """Elements and indices.

    Attributes
    ----------
    stuff : Stuff
        Length, material and section of each element.
    mass : ndarray
        Mass of each element [kg].
    station, link, root : ndarray
        s / L of both ends, link, and first element of each link, as in `timoshenko_planar.mesh`.
    left : ndarray
        Left block of each element; the right one follows.
    roots : ndarray
        Root block of each link.
    joint, stretch : ndarray
        Coordinate of phi and f of each link; n and n + 1 for the constants of a clamped base.
    place : ndarray
        Coordinates of the six numbers of each block; n + 2 for what is zero. A root's r_y is filled in apart.
    size : int
        Number n of coordinates.
    """

    stuff: Stuff
    mass: FloatArray
    station: FloatArray
    link: IntArray
    root: IntArray
    left: IntArray
    roots: IntArray
    joint: IntArray
    stretch: IntArray
    place: IntArray
    size: int

    @property
    def tip(self) -> IntArray:
        """Coordinates of the tip's position."""
        return self.place[-1, :2]

    @property
    def costs(self) -> FloatArray:
        """By what the square of the turn within each element costs [1/rad^2], see `models.ranges`."""
        found: FloatArray = CHORD + self.stuff.area * self.stuff.length**2 / (SECTION * self.stuff.second_moment)
        return found

    @property
    def end(self) -> IntArray:
        """End block of each link."""
        return np.append(self.roots[1:] - 1, len(self.place) - 1)


def build_ancf_mesh(arm: Arm, elements: Any, clamped: bool, multipliers: bool) -> AncfMesh:
    """Return the mesh with so many elements per link."""
    beam = build_mesh(arm, elements)
    return _number(beam, _stuff(beam, arm), clamped, multipliers)


def _stuff(beam: Mesh, arm: Arm) -> Stuff:
    material = [arm.links[i].material for i in beam.link]
    E, nu = (np.array([getattr(m, key) for m in material]) for key in ("youngs_modulus", "poisson_ratio"))
    A, G = beam.EA / E, E / (2 * (1 + nu))
    return Stuff(beam.length, E, nu, beam.GA / (G * A), A, beam.EI / E)


def _number(beam: Mesh, stuff: Stuff, clamped: bool, multipliers: bool) -> AncfMesh:
    N, J = beam.length.size, beam.root.size
    place = np.full((N + J, 6), -1, np.int64)
    joint, stretch = np.full(J, -1), np.full(J, -1)
    roots, n = beam.root + np.arange(J), 0
    for b in range(N + J):
        if b not in roots:
            place[b], n = np.arange(n, n + 6), n + 6
            continue
        i = int(np.flatnonzero(roots == b)[0])
        if not (clamped and i == 0):
            joint[i], stretch[i], n = n, n + 1, n + 2
        if multipliers:
            place[b, :2], n = (n, n + 1), n + 2
        elif i:
            place[b, :2] = place[b - 1, :2]
        place[b, 2:4], n = (n, n + 1), n + 2
    joint[joint < 0], stretch[stretch < 0], place[place < 0] = n, n + 1, n + 2
    left = np.arange(N) + beam.link
    return AncfMesh(
        stuff, beam.rhoA * beam.length, beam.station, beam.link, beam.root, left, roots, joint, stretch, place, n
    )


def coordinate_signals(mesh: AncfMesh) -> tuple[Signal, ...]:
    """Return the names: joint1, link1_stretch, link1_xs0 .. of the root, link1_x1, link1_y1, .. of the nodes.

    x, y are the position r, xs, ys the slope r_x along the link, xt, yt the slope r_y across it.
    """
    names: dict[int, Signal] = {}
    for i, b in enumerate(mesh.roots):
        names[int(mesh.joint[i])] = Signal(f"joint{i + 1}", "rad", "angle from the previous link's end section")
        names[int(mesh.stretch[i])] = Signal(f"link{i + 1}_stretch", "1", "|r_y| at the root")
        last = mesh.end[i]
        for k, block in enumerate(range(b, last + 1)):
            letters = (("x", "m"), ("y", "m"), ("xs", "1"), ("ys", "1"), ("xt", "1"), ("yt", "1"))
            for (letter, unit), c in zip(letters, mesh.place[block], strict=True):
                names.setdefault(int(c), Signal(f"link{i + 1}_{letter}{k}", unit))
    return tuple(names[c] for c in range(mesh.size))


def turn(angle: Array) -> Array:
    """Return the rotation by an angle."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s], [s, c]])


def _times(a: Array, b: Array) -> Array:
    """Return the product of two complex numbers as pairs (so that complex steps can be taken through it)."""
    return np.array([a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]])


class Section(NamedTuple):
    """A root's section: r_y, its rate and acceleration, and what they depend on.

    z = (e, phi, f) are four numbers; `jacobian` is d r_y / dz, `rate_q` and `acceleration_q` are those of the rate
    and of the acceleration (2 x 4); those of the acceleration by the rates of z are twice `rate_q`.
    """

    value: Array
    rate: Array
    acceleration: Array
    jacobian: Array
    rate_q: Array
    acceleration_q: Array
    slope: Array
    bend: Array

    def curvature(self, P: Array, f: Array) -> Array:
        """Return the 4 x 4 matrix P . d2 r_y / dz2."""
        u = self.value / f
        n = np.array([-u[1], u[0]])
        g, k = self.slope, np.array([0.0, 0, 0, 1])
        out = (P @ n) * (np.outer(g, k) + np.outer(k, g)) - f * (P @ u) * np.outer(g, g)
        out[:2, :2] += f * (P @ n) * self.bend
        return np.asarray(out)


def section(z: Array, dz: Array, ddz: Array) -> Section:
    """Return the section of a root from z = (e, phi, f), its rates and accelerations."""
    e, de, dde, f, df, ddf = z[:2], dz[:2], ddz[:2], z[3], dz[3], ddz[3]
    u = turn(z[2]) @ e / np.sqrt(e[0] ** 2 + e[1] ** 2)
    n = np.array([-u[1], u[0]])
    # psi = arg(e) + phi; with e as a complex number its derivatives are Im(1/e), Im(-1/e^2), Im(2/e^3)
    inverse = np.array([e[0], -e[1]]) / (e[0] ** 2 + e[1] ** 2)
    square = _times(inverse, inverse)
    g = np.array([inverse[1], inverse[0], 1.0 + 0 * f, 0.0 * f])
    bend = -np.array([[square[1], square[0]], [square[0], -square[1]]])  # second derivatives
    third = 2 * _times(_times(square, inverse), _times(de, de))
    w, wq = g @ dz, np.append(bend @ de, [0.0, 0.0])
    a = g @ ddz + de @ bend @ de
    aq = np.append(bend @ dde + np.array([third[1], third[0]]), [0.0, 0.0])
    k = np.array([0.0, 0, 0, 1])
    return Section(
        f * u, f * n * w + u * df, f * n * a - f * u * w**2 + 2 * n * w * df + u * ddf,
        f * np.outer(n, g) + np.outer(u, k),
        np.outer(n * w, k) + np.outer(n * df - f * u * w, g) + f * np.outer(n, wq),
        np.outer(n * a - u * w**2, k) + np.outer(n * ddf - f * u * a - f * n * w**2 - 2 * u * w * df, g)
        + f * np.outer(n, aq) + np.outer(2 * n * df - 2 * f * u * w, wq),
        g, bend,
    )


class Expanded(NamedTuple):
    """Blocks (blocks, 6) of positions and slopes, their rates and accelerations, and the sections of the roots."""

    x: Array
    v: Array
    a: Array
    sections: tuple[Section, ...]


def expand(mesh: AncfMesh, base: float, q: Array, v: Array, a: Array) -> Expanded:
    """Return the blocks; `base` is the angle of a clamped base."""
    wide = np.append(q, [base, 1.0, 0.0]), np.append(v, [0.0] * 3), np.append(a, [0.0] * 3)
    X, V, A = (row[mesh.place] for row in wide)
    sections = []
    for i, b in enumerate(mesh.roots):
        ends = (X[b - 1, 4:], V[b - 1, 4:], A[b - 1, 4:]) if i else (np.array([0.0, 1]), np.zeros(2), np.zeros(2))
        z = [np.append(end, row[[mesh.joint[i], mesh.stretch[i]]]) for end, row in zip(ends, wide, strict=True)]
        found = section(*z)
        X[b, 4:], V[b, 4:], A[b, 4:] = found.value, found.rate, found.acceleration
        sections.append(found)
    return Expanded(X, V, A, tuple(sections))


def columns(mesh: AncfMesh, i: int) -> IntArray:
    """Return the coordinates z of the section at the root of link i; those beyond n - 1 are constants."""
    e = mesh.place[mesh.roots[i] - 1, 4:] if i else np.array([mesh.size + 2] * 2)
    return np.append(e, [mesh.joint[i], mesh.stretch[i]])


def chain(mesh: AncfMesh, full: Expanded) -> tuple[Array, Array, Array]:
    """Return d(blocks)/dq, d(rates)/dq and d(accelerations)/dq, each (6 blocks) x n."""
    size, n = mesh.place.size, mesh.size
    J, JV, JA = (np.zeros((size, n + 3)) for _ in range(3))
    J[np.arange(size), mesh.place.ravel()] = 1.0
    for i, b in enumerate(mesh.roots):
        rows, cols, s = 6 * b + np.array([[4], [5]]), columns(mesh, i), full.sections[i]
        J[rows] = 0.0
        for target, part in ((J, s.jacobian), (JV, s.rate_q), (JA, s.acceleration_q)):
            np.add.at(target, (rows, cols), part)
    return J[:, :n], JV[:, :n], JA[:, :n]


def block_mass(mesh: AncfMesh, arm: Arm) -> FloatArray:
    """Return the constant mass of the blocks (blocks, blocks), each entry of 6 x 6 times the unit 2 x 2.

    Bodies at joints and tip turn with the section there; their inertia is that of masses along it, like the element's.
    """
    arm = lumped(arm)
    m6 = mass6(mesh.stuff.length, mesh.mass, mesh.stuff.second_moment / mesh.stuff.area)
    M = np.zeros((3 * len(mesh.place),) * 2)
    for e, b in enumerate(mesh.left):
        M[3 * b : 3 * b + 6, 3 * b : 3 * b + 6] += m6[e]
    for i, joint in enumerate(arm.joints):
        b = mesh.roots[i]
        M[3 * b, 3 * b] += joint.mass
        M[3 * b + 2, 3 * b + 2] += joint.hub_inertia
        if i:
            M[3 * b - 1, 3 * b - 1] += joint.housing_inertia
    M[-3, -3] += arm.payload.mass
    M[-1, -1] += arm.payload.inertia
    for body in inner_bodies(arm):
        b = body_block(mesh, body)
        M[3 * b, 3 * b] += body.mass
        M[3 * b + 2, 3 * b + 2] += body.inertia
    return np.asarray(np.kron(M, np.eye(2)), float)


def body_block(mesh: AncfMesh, body: Inner) -> int:
    """Return the block of the node that a body stands on."""
    own = np.flatnonzero(mesh.link == body.link)
    return int(mesh.roots[body.link]) + node_at(np.append(mesh.station[own, 0], 1.0), body.position)
