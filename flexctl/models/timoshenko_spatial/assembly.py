"""Local vectors and matrices of elements and bodies: derivatives by complex steps, and where they add up.

A local function takes coordinates, rates and accelerations of its nodes and of the joints, with directions as leading
axis, and returns an array of directions x elements x components.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ...model import FloatArray
from .element import Joints

Array = npt.NDArray[Any]
STEP = 1e-30
"""Far below rounding: a complex step has no difference to lose digits in."""


def directions(size: int, joints: int) -> tuple[FloatArray, FloatArray]:
    """Return unit local coordinates (D, 1, size) and joint variables (D, joints) of D = size + joints directions."""
    unit = np.eye(size + joints)
    return unit[:, None, :size], unit[:, size:]


def square(forces: Array) -> Array:
    """Return elements x forces x directions from directions x elements x forces."""
    return np.ascontiguousarray(np.moveaxis(forces, 0, -1))


def slopes(function: Callable[[list[Array], Joints], Array], local: list[Array], joints: Joints) -> list[Array]:
    """Return the derivatives of a local function by local coordinates, rates and accelerations."""
    unit, turned = directions(local[0].shape[-1], joints[0].size)
    D = len(unit)
    moved, phi = [], []
    for k in range(3):
        step, turn = (np.zeros((3 * D, *x.shape[1:]), complex) for x in (unit, turned))
        step[k * D : (k + 1) * D], turn[k * D : (k + 1) * D] = 1j * STEP * unit, 1j * STEP * turned
        moved.append(local[k] + step)
        phi.append(joints[k] + turn)
    change = function(moved, (phi[0], phi[1], phi[2])).imag / STEP
    return [square(change[k * D : (k + 1) * D]) for k in range(3)]


def assemble(size: int, dof: Array, blocks: Array) -> FloatArray:
    """Return the n x n sum of local matrices."""
    out = np.zeros((size + 1, size + 1))
    np.add.at(out, (dof[:, :, None], dof[:, None, :]), blocks)
    return out[:size, :size]


def collect(size: int, dof: Array, parts: Array) -> FloatArray:
    """Return the n entries that local vectors (.., elements, local) add up to."""
    out = np.zeros((*parts.shape[:-2], size + 1), parts.dtype)
    where: Any = (..., dof)
    np.add.at(out, where, parts)
    return out[..., :size]


def widen(size: int, dof: Array, blocks: FloatArray) -> FloatArray:
    """Return (N m) x n rows of all elements from their derivatives by local coordinates, N x m x local."""
    N, m = blocks.shape[:2]
    out = np.zeros((N, m, size + 1))
    np.add.at(out, (np.arange(N)[:, None, None], np.arange(m)[None, :, None], dof[:, None, :]), blocks)
    return out[:, :, :-1].reshape(-1, size)
