"""A planar tree of flexible links as `assumed_modes` sees it: shape values, mass points, constant matrices.

A point of link i, seen in the frame at the link's root that turns with it (complex numbers, x along the link):

    zeta = c0 (0) + x + a . z - z . H z / 2 + i b . z        z the link's elastic coordinates [m]

a and b are the axial and bending shapes there, and H [1/m] the integral of psi' psi'^T dx from the root: bending
shortens the chord; zero unless asked for. The mass of a link acts through integrals of products of 1, x, a, b (and H)
only. They are taken by Gauss's rule and stored as a few *mass points* with the same products (the triangular factor of
a QR decomposition), where "1" becomes the weight c0 of the root's own motion: exact, and as cheap as it can be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...machine.arm import Arm, Link
from ...model import FloatArray
from . import shapes
from .pieces import PieceShapes

NODES = 48  # Gauss nodes of a piece of a link: exact to rounding for the highest shapes allowed


class Field(NamedTuple):
    """Shape values at r points of one link: c0, x [m] (r), a, b (r x k), H [1/m] (r x k x k)."""

    c0: FloatArray
    x: FloatArray
    a: FloatArray
    b: FloatArray
    H: FloatArray


class Station(NamedTuple):
    """A place on a link (from 0), or on the base (-1): a single point."""

    link: int
    field: Field


@dataclass(frozen=True)
class Discretisation:
    """How the links bend: modes and axial shapes of each link, mass ratio of "clamped_mass", shortening, attachment."""

    shape: tuple[str, ...]
    bending: tuple[int, ...]
    axial: tuple[int, ...]
    mass_ratio: tuple[float, ...]
    foreshortening: bool
    attachment: tuple[bool, ...]


class LinkShapes:
    """The shape functions of one link; with attachment also those of moments at the stations `bent` within it."""

    def __init__(self, link: Link, how: Discretisation, i: int, bent: Sequence[float] = ()) -> None:
        flexible = link.kind == "flexible"
        self.link, self.length, self.foreshortening = link, link.length, how.foreshortening
        self.shape, self.mass_ratio = how.shape[i], how.mass_ratio[i]
        self.modes, self.na = (how.bending[i], how.axial[i]) if flexible else (0, 0)
        self.attachment = how.attachment[i] and self.modes > 0
        self.bent = tuple(sorted({float(s) for s in bent})) if self.attachment else ()
        self.nb = self.modes + (len(shapes.ATTACHMENT[self.shape]) + len(self.bent) if self.attachment else 0)
        self.size = self.nb + self.na
        own = (self.shape, self.modes, self.mass_ratio, self.attachment, self.bent)
        self.pieces = PieceShapes(link, *own) if self.modes and (self.bent or not link.uniform) else None

    def _bending(self, s: FloatArray, derivative: int = 0) -> FloatArray:
        """Return bending shapes, derivatives with respect to x [1/m^derivative], (.., k) with zeros for axial ones."""
        if self.pieces is not None:
            psi = self.pieces(s, derivative)
        else:
            psi = shapes.bending(self.shape, self.modes, s, derivative, self.mass_ratio)
        if self.attachment and self.pieces is None:
            more = shapes.attachment(self.shape, self.modes, s, derivative, self.mass_ratio)
            psi = np.concatenate([psi, more], axis=-1)
        psi = psi / self.length**derivative
        return np.concatenate([psi, np.zeros((*s.shape, self.na))], axis=-1)

    def _axial(self, s: FloatArray, derivative: int = 0) -> FloatArray:
        phi = shapes.axial(self.na, s, derivative) / self.length**derivative
        return np.concatenate([np.zeros((*s.shape, self.nb)), phi], axis=-1)

    def slope(self, s: npt.ArrayLike) -> FloatArray:
        """Return slopes per elastic coordinate at stations [1/m], s.shape + (k,); on an extension that of the end."""
        return self._bending(np.asarray(np.clip(s, 0.0, 1.0)), 1)

    def curvature(self, s: float) -> FloatArray:
        """Return the curvature per elastic coordinate at a station [1/m^2]."""
        return self._bending(np.array(s), 2)

    def field(self, s: npt.ArrayLike) -> Field:
        """Return the shape values at stations; beyond 0 ... 1 on the straight, rigid extension."""
        s = np.atleast_1d(np.asarray(s, float))
        inside = np.clip(s, 0.0, 1.0)
        beyond, slope = self.length * (s - inside), self._bending(inside, 1)
        H = np.array([self._shortening(float(at)) for at in inside]).reshape(s.size, self.size, self.size)
        if self.foreshortening:
            H = H + beyond[:, None, None] * np.einsum("ri,rj->rij", slope, slope)
        b = self._bending(inside) + beyond[:, None] * slope
        return Field(np.ones_like(s), self.length * s, self._axial(inside), b, H)

    def _shortening(self, s: float) -> FloatArray:
        if not self.foreshortening:
            return np.zeros((self.size, self.size))
        x, w = _gauss(0.0, s)
        slope = self._bending(x, 1)
        return np.asarray(np.einsum("r,ri,rj->ij", w * self.length, slope, slope))

    def stiffness(self) -> FloatArray:
        """Return the integral of E I psi'' psi''^T + E A phi' phi'^T [N/m]."""
        K = np.zeros((self.size, self.size))
        if not self.size:
            return K
        E = self.link.material.youngs_modulus
        x, w = self._nodes()
        at = [self.link.section_at(float(s)) for s in x]
        for values, size in (
            (self._bending(x, 2), [s.second_moment for s in at]), (self._axial(x, 1), [s.area for s in at])
        ):
            K += np.einsum("r,ri,rj->ij", E * w * np.array(size), values, values)
        return K

    def _nodes(self) -> tuple[FloatArray, FloatArray]:
        """Return stations and weights [m] for integrals along the link, piece by piece."""
        edges = sorted({0.0, *self.link.breaks, *self.bent, 1.0})
        pieces = [_gauss(a, b) for a, b in pairwise(edges)]
        return np.concatenate([p[0] for p in pieces]), self.length * np.concatenate([p[1] for p in pieces])

    def mass_points(self, lumped: Sequence[tuple[float, float]]) -> Field:
        """Return the mass points of the link with lumped masses (station, mass [kg])."""
        stations = np.array([s for s, _ in lumped])
        masses = np.array([m for _, m in lumped])
        if self.link.kind == "flexible":
            x, w = self._nodes()
            density = self.link.material.density * np.array([self.link.section_at(float(s)).area for s in x])
            stations, masses = np.concatenate([x, stations]), np.concatenate([density * w, masses])
        f, k = self.field(stations), self.size
        columns = [f.c0[:, None], f.x[:, None], f.a, f.b, f.H.reshape(stations.size, k * k)]
        R: FloatArray = np.asarray(np.linalg.qr(np.sqrt(masses)[:, None] * np.hstack(columns), mode="r"))
        R = R[np.abs(R).max(axis=1, initial=0.0) > 1e-14 * np.abs(R).max(initial=0.0)]
        c0, x, a, b, H = np.split(R, np.cumsum([1, 1, k, k]), axis=1)
        return Field(c0[:, 0], x[:, 0], a, b, H.reshape(len(R), k, k))


def _bent(arm: Arm, i: int) -> list[float]:
    """Return the stations within a link at which a moment acts: of bodies that turn with it, of links joined there."""
    turned = [body.position for body in arm.bodies if body.link == i + 1 and body.inertia]
    joined = [link.root for k, link in enumerate(arm.links) if k and arm.parent(k) == i]
    return [s for s in (*turned, *joined) if 0.0 < s < 1.0]


def _gauss(low: float, high: float) -> tuple[FloatArray, FloatArray]:
    x, w = np.polynomial.legendre.leggauss(NODES)
    return low + 0.5 * (high - low) * (x + 1.0), 0.5 * (high - low) * w


class Tree:
    """Everything constant about the tree.

    Coordinates q: one angle for each joint, then the elastic ones link by link. The angle of a driven joint is that
    against the tangent of the link that carries it, the angle of a free joint that of its link against the base. The
    kinematics is written in eta = T q, in which every angle is that of a link's root against the base.

    Attributes
    ----------
    size : int
        Number n of coordinates.
    angle, elastic : list
        Indices of each link's angle and elastic coordinates.
    root : list of Station
        Where each link is joined to the one that carries it.
    base : ndarray of complex
        Place of the root of each link that stands on the base.
    points : list of Field
        Mass points of each link.
    T, K, inertia : ndarray
        eta = T q; elastic stiffness (of q and eta alike); rotary inertias at joints and bodies, for eta.
    """

    def __init__(self, arm: Arm, how: Discretisation) -> None:
        self.arm, count = arm, len(arm.links)
        self.shapes = [LinkShapes(link, how, i, _bent(arm, i)) for i, link in enumerate(arm.links)]
        ends = count + np.concatenate([[0], np.cumsum([s.size for s in self.shapes])])
        self.size = int(ends[-1])
        self.elastic = [np.arange(a, b) for a, b in pairwise(ends)]
        self.dof = [np.concatenate([[i], e]) for i, e in enumerate(self.elastic)]
        self.parent = [arm.parent(i) for i in range(count)]
        self.base = np.array([link.base_x + 1j * link.base_y for link in arm.links])
        self.root = [self.station(self.parent[i], link.root) for i, link in enumerate(arm.links)]
        self.tip = self.station(arm.tip_link, 1.0)
        self.gravity = complex(*arm.gravity[:2])
        self.K = np.zeros((self.size, self.size))
        for e, s in zip(self.elastic, self.shapes, strict=True):
            self.K[np.ix_(e, e)] = s.stiffness()
        self.T = self._angles()
        self.points = [s.mass_points(self._lumped(i)) for i, s in enumerate(self.shapes)]
        self.inertia = self._inertia()

    def station(self, link: int, s: float) -> Station:
        """Return a place on a link; on the base the field is empty of shapes."""
        zero = np.zeros(1)
        if link < 0:
            return Station(-1, Field(zero + 1.0, zero, zero[:, None][:, :0], zero[:, None][:, :0], np.zeros((1, 0, 0))))
        return Station(link, self.shapes[link].field(s))

    def slope(self, link: int, s: float) -> FloatArray:
        """Return the row of eta that gives the angle of the tangent at a station against the base."""
        row = np.zeros(self.size)
        if link >= 0:
            row[link], row[self.elastic[link]] = 1.0, self.shapes[link].slope(s)
        return row

    def carries(self, link: int, other: int) -> bool:
        """Return whether a link is another one or carries it."""
        while other > link:  # who carries comes first
            other = self.parent[other]
        return other == link

    def joint(self, i: int) -> FloatArray:
        """Return the row of eta that gives the angle of joint i against the tangent of the link that carries it."""
        row = -self.slope(self.parent[i], self.arm.links[i].root)
        row[i] += 1.0
        return row

    def _angles(self) -> FloatArray:
        T = np.eye(self.size)
        for i, joint in enumerate(self.arm.joints):
            if joint.drive != "free":
                T[i] += self.slope(self.parent[i], self.arm.links[i].root) @ T
        return T

    def _lumped(self, i: int) -> list[tuple[float, float]]:
        arm = self.arm
        found = [(0.0, arm.joints[i].mass)] + [(b.position, b.mass) for b in arm.bodies if b.link == i + 1]
        return [pair for pair in [*found, (1.0, arm.payload.mass * (i == arm.tip_link))] if pair[1]]

    def _inertia(self) -> FloatArray:
        arm, rows = self.arm, []
        for i, joint in enumerate(arm.joints):
            rows.append((joint.hub_inertia, np.eye(self.size)[i]))
            rows.append((joint.housing_inertia, self.slope(self.parent[i], arm.links[i].root)))
            rows.append((joint.rotor_inertia, self.joint(i)))
        rows += [(b.inertia, self.slope(b.link - 1, b.position)) for b in arm.bodies]
        rows.append((arm.payload.inertia, self.slope(arm.tip_link, 1.0)))
        M = np.zeros((self.size, self.size))
        for J, row in rows:
            M += J * np.outer(row, row)
        return M
