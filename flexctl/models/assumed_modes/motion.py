"""Kinematics of the tree of `assumed_modes`, in complex numbers.

With zeta of `assumed_modes.mesh`, E = exp(i theta) and the root at R, a point of a link stands at c0 R + zeta E. Dots
are time derivatives, subscripts derivatives by the elastic coordinates z (zeta_z = a - H z + i b, zeta_zz = -H):

    acceleration   c0 R'' + (zeta'' + 2 i theta' zeta' + (i theta'' - theta'^2) zeta) E
    zeta' = zeta_z z',     zeta'' = zeta_z z'' - z' . H z'

A force F (complex, x + i y) does the work Re(conj(F) d(place)).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...model import ComplexArray, FloatArray
from .mesh import Field, Station, Tree


class Points(NamedTuple):
    """Motion of r points, for k coordinates: in the base frame all of eta, against the root of a link its (theta, z).

    place, J: positions (r) and their derivatives (r x k); acceleration (r) and its derivatives by coordinates and
    rates, each r x k.
    """

    place: ComplexArray
    J: ComplexArray
    rate: ComplexArray
    acceleration: ComplexArray
    by_position: ComplexArray
    by_rate: ComplexArray


def local(f: Field, q: FloatArray, v: FloatArray, a: FloatArray) -> Points:
    """Return the motion of the points of a field, from (theta, z) and its derivatives."""
    E, z, w, dz, alpha, ddz = np.exp(1j * q[0]), q[1:], v[0], v[1:], a[0], a[1:]
    Hz, Hdz, Hddz = f.H @ z, f.H @ dz, f.H @ ddz
    zeta = f.x + (f.a - 0.5 * Hz) @ z + 1j * (f.b @ z)
    slope = f.a - Hz + 1j * f.b
    rate, turn = slope @ dz, 1j * alpha - w * w
    acceleration = (slope @ ddz - Hdz @ dz + 2j * w * rate + turn * zeta) * E
    by_z = -Hddz - 2j * w * Hdz + turn * slope
    by_dz = -2.0 * Hdz + 2j * w * slope
    return Points(
        zeta * E, _columns(1j * zeta, slope) * E, (rate + 1j * w * zeta) * E, acceleration,
        _columns(1j * acceleration / E, by_z) * E, _columns(2j * rate - 2.0 * w * zeta, by_dz) * E,
    )


def _columns(first: ComplexArray, rest: ComplexArray) -> ComplexArray:
    return np.concatenate([first[:, None], rest], axis=1)


def second(f: Field, q: FloatArray, force: ComplexArray) -> FloatArray:
    """Return the second derivatives by (theta, z) of the work of given forces at the points of a field."""
    E, z = np.exp(1j * q[0]), q[1:]
    Hz = f.H @ z
    back = np.conj(force) * E
    out = np.zeros((1 + z.size, 1 + z.size))
    out[0, 0] = -np.sum((back * (f.x + (f.a - 0.5 * Hz) @ z + 1j * (f.b @ z))).real)
    out[0, 1:] = out[1:, 0] = (back @ (1j * (f.a - Hz + 1j * f.b))).real
    out[1:, 1:] = -np.einsum("r,rij->ij", back.real, f.H)
    return out


class TreeMotion:
    """Places, rates and accelerations in one state of the tree."""

    def __init__(self, tree: Tree, q: FloatArray, v: FloatArray | None = None, a: FloatArray | None = None) -> None:
        self.tree, zero = tree, np.zeros(tree.size)
        self.q, self.v, self.a = q, zero if v is None else v, zero if a is None else a
        self.origin: list[Points] = []
        for i, station in enumerate(tree.root):
            self.origin.append(self.at(station) if station.link >= 0 else self._base(complex(tree.base[i])))

    def _base(self, place: complex) -> Points:
        row, one = np.zeros((1, self.tree.size), complex), np.zeros(1, complex)
        return Points(one + place, row, one, one, row, row)

    def at(self, station: Station) -> Points:
        """Return the motion of a place on a link."""
        return self.points(station.link, station.field)

    def own(self, link: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return (theta, z) of a link with rates and accelerations."""
        dof = self.tree.dof[link]
        return self.q[dof], self.v[dof], self.a[dof]

    def points(self, link: int, f: Field) -> Points:
        """Return the motion of the points of a field."""
        if link < 0:
            return self._base(0j)
        here, root = local(f, *self.own(link)), self.origin[link]
        c0, dof = f.c0, self.tree.dof[link]
        found = []
        for own, carried in zip(here, root, strict=True):
            total = np.multiply.outer(c0, carried[0])
            if total.ndim == 1:
                total = total + own
            else:
                total[:, dof] += own
            found.append(total)
        return Points(*found)

    def bend(self, link: int, f: Field, force: ComplexArray, out: FloatArray) -> None:
        """Add to `out` the second derivatives of the work of given forces at the points of a field, way down."""
        pull = force
        while link >= 0:
            dof = self.tree.dof[link]
            out[np.ix_(dof, dof)] += second(f, self.q[dof], pull)
            pull = np.array([np.sum(f.c0 * pull)])
            link, f = self.tree.root[link]


def work(J: npt.NDArray[np.complex128], force: ComplexArray) -> FloatArray:
    """Return the generalised forces Re(conj(J)^T F)."""
    return np.asarray((np.conj(J).T @ force).real)
