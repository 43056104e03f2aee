"""Natural frequencies, damping ratios and mode shapes of a plant.

    (lambda^2 M + lambda D + K) psi = 0,   omega = |lambda|, zeta = -Re lambda / |lambda|

The undamped modes come from `flexctl.linear.eigen`. Where damping couples them, the poles are the eigenvalues of the
first-order form in energy coordinates (omega eta, eta'), the rigid displacements taken out, so that rigid modes stay
exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as sla

from .errors import DefinitionError, require
from .linear import FirstOrder, LinearPlant, SecondOrder
from .linear.cascade import Actuators, actuators, driven_arm, own_poles
from .linear.eigen import NormalModes, damping_in_modes, is_modal, modal_damping, normal_modes
from .model import ComplexArray, FloatArray

__all__ = ["Modes", "NormalModes", "modal_damping", "modes", "normal_modes"]

# A singular value of A below this part of the largest is an integrator: rounding leaves up to 1e-13, beams have 4e-13.
_INTEGRATOR = 2e-13


@dataclass(frozen=True, eq=False)
class Modes:
    """The modes of a plant, flexible ones by ascending frequency.

    Attributes
    ----------
    frequencies_hz : ndarray
        Undamped natural frequencies |lambda| / (2 pi) of the flexible modes [Hz].
    damping : ndarray
        Damping ratios [1]; negative for an oscillation that grows.
    rigid_modes : int
        Number of rigid-body modes (K phi = 0), whatever damping acts on them; integrators of a first-order plant.
    poles : ndarray
        One complex pole of each flexible pair, Im > 0 [rad/s].
    shapes : ndarray or None
        Columns in the model's full coordinates: normal modes with phi^T M phi = 1, or the complex shapes where the
        damping couples them. None for a first-order plant.
    real_poles : ndarray
        Every real pole but the zeros of rigid modes [rad/s]: overdamped modes, actuators, unstable poles.
    """

    frequencies_hz: FloatArray
    damping: FloatArray
    rigid_modes: int
    poles: ComplexArray
    shapes: FloatArray | ComplexArray | None
    real_poles: FloatArray

    def __str__(self) -> str:
        lines = [f"{self.rigid_modes} rigid mode{'' if self.rigid_modes == 1 else 's'}"]
        if self.frequencies_hz.size:
            lines.append(f"{'mode':>4} {'frequency [Hz]':>15} {'[rad/s]':>12} {'damping [%]':>12}")
        for i, (f, zeta) in enumerate(zip(self.frequencies_hz, self.damping, strict=True), 1):
            lines.append(f"{i:>4} {f:>15.6g} {2 * math.pi * f:>12.6g} {100 * zeta:>12.4g}")
        if self.real_poles.size:
            near = sorted(self.real_poles, key=abs)[:8]
            more = f" and {self.real_poles.size - 8} faster" if self.real_poles.size > 8 else ""
            lines.append("real poles [rad/s]: " + ", ".join(f"{p:.6g}" for p in near) + more)
        return "\n".join(lines)

    def to_dict(self) -> Mapping[str, Any]:
        """Return the numbers of `flexctl modes --json`."""
        return {
            "frequencies_hz": self.frequencies_hz.tolist(),
            "damping": self.damping.tolist(),
            "rigid_modes": self.rigid_modes,
            "real_poles": self.real_poles.tolist(),
        }


def modes(plant: LinearPlant, count: int | None = None) -> Modes:
    """Return the modes of a plant, the `count` lowest flexible ones (default: all).

    Symmetric M (positive definite) and K: normal modes, and with damping that couples them the eigenvalues of the
    first-order form in energy coordinates. Everything else, a singular M included: the eigenvalues of the first-order
    form, from which the integrator chains of rigid modes are taken out first. Poles of a sampled plant are returned as
    log(z) / dt; its poles at z = 0 are pure delays and not listed.
    """
    require(count is None or count >= 1, f"count = {count} modes: ask for at least 1")
    if not isinstance(plant, SecondOrder | FirstOrder):
        raise DefinitionError(
            f"a {type(plant).__name__} is not a linear plant: take its linearise(), or flexctl.from_control of a system"
        )
    if isinstance(plant, SecondOrder) and has_normal_modes(plant):
        return _second_order(plant, count)
    driving = actuators(plant) if isinstance(plant, SecondOrder) else None
    if isinstance(plant, SecondOrder) and driving is not None:
        return _collect(*_poles_apart(plant, driving), count)
    poles, rigid = _first_order_poles(plant if isinstance(plant, FirstOrder) else plant.first_order("modal"))
    return _collect(poles, None, rigid, count)


def _poles_apart(plant: SecondOrder, driving: Actuators) -> tuple[ComplexArray, None, int]:
    """Return the poles of the actuators and of the arm that they drive, neither with the rounding of the other."""
    own, integrators = _first_order_poles(own_poles(plant, driving))
    arm = modes(driven_arm(plant, driving))
    poles = np.concatenate([own, arm.poles, arm.real_poles])
    return poles, None, integrators + arm.rigid_modes


def has_normal_modes(plant: SecondOrder) -> bool:
    for X in (plant.M, plant.K):
        if np.abs(X - X.T).max(initial=0.0) > 1e-14 * np.abs(X).max(initial=0.0):
            return False
    try:
        np.linalg.cholesky(plant.M)
    except np.linalg.LinAlgError:
        return False
    return True


def _second_order(plant: SecondOrder, count: int | None) -> Modes:
    normal = normal_modes(plant.M, plant.K)
    C = damping_in_modes(plant.D, normal)
    if is_modal(C):
        roots = _quadratic(np.diag(C), normal.eigenvalues)
        flexible = np.arange(normal.rigid, normal.omega.size)
        poles = np.concatenate([roots[0, flexible], roots[1, flexible], roots[1, : normal.rigid]])
        shapes: FloatArray | ComplexArray = normal.shapes[
            :, np.concatenate([flexible, flexible, np.arange(normal.rigid)])
        ]
    else:
        poles, vectors = _energy_eigenvectors(C, normal)
        shapes = _normalised(normal.shapes @ vectors, plant.M)
    keep = poles != 0.0
    full = shapes if plant.basis is None else plant.basis @ shapes
    return _collect(poles[keep], full[:, keep], normal.rigid, count)


def _quadratic(c: FloatArray, k: FloatArray) -> ComplexArray:
    """Return both roots of s^2 + c s + k without cancellation, the one with Im >= 0 first where they are complex."""
    root = np.sqrt((c * c - 4.0 * k).astype(complex))
    q = -0.5 * (c + np.where(c < 0.0, -root, root))
    with np.errstate(divide="ignore", invalid="ignore"):
        other = np.where(q != 0.0, k / q, 0.0)
    roots = np.array([other, q])
    roots[:, k == 0.0] = np.array([np.zeros_like(c), -c])[:, k == 0.0]
    return np.asarray(roots, complex)


def _energy_eigenvectors(C: FloatArray, normal: NormalModes) -> tuple[ComplexArray, ComplexArray]:
    """Return the poles and eta(lambda); the states are sqrt|k| eta of flexible modes and the rates."""
    n, r = C.shape[0], normal.rigid
    moving = np.flatnonzero(C.any(axis=0) | C.any(axis=1) | (np.arange(n) >= r))
    size, flexible = np.sqrt(np.abs(normal.eigenvalues[r:])), n - r
    first = moving.size - flexible  # rigid modes with damping come first among the rates
    A = np.zeros((flexible + moving.size, flexible + moving.size))
    A[:flexible, flexible + first :] = np.diag(size)
    A[flexible + first :, :flexible] = -np.diag(np.sign(normal.eigenvalues[r:]) * size)
    A[flexible:, flexible:] = -C[np.ix_(moving, moving)]
    poles, vectors = np.linalg.eig(A)
    eta = np.zeros((n, poles.size), complex)
    with np.errstate(divide="ignore", invalid="ignore"):
        eta[moving] = np.where(poles == 0.0, 0.0, vectors[flexible:] / poles)
    return np.asarray(poles, complex), eta


def _normalised(shapes: ComplexArray, M: FloatArray) -> ComplexArray:
    """Return shapes with psi^H M psi = 1 and their largest entry real."""
    largest = shapes[np.abs(shapes).argmax(axis=0), np.arange(shapes.shape[1])]
    size = np.sqrt(np.abs(np.sum(shapes.conj() * (M @ shapes), axis=0)))
    turn = np.where(size > 0.0, np.abs(largest) / np.where(largest == 0.0, 1.0, largest), 0.0)
    result: ComplexArray = shapes * turn / np.where(size > 0.0, size, 1.0)
    return result


def _first_order_poles(plant: FirstOrder) -> tuple[ComplexArray, int]:
    """Return the poles [rad/s] without integrator chains, and how many (rigid modes, integrators) there are."""
    n = plant.A.shape[0]
    if n == 0:
        return np.zeros(0, complex), 0
    with np.errstate(invalid="ignore"):  # scipy casts the scales to integers too, which it then does not use
        A = sla.matrix_balance(plant.A - np.eye(n) if plant.dt else plant.A)[0]
    chains = []
    while A.size:
        # divide and conquer breaks down with NaN on some sampled plants whose entries span forty decades
        _, sigma, Vt = sla.svd(A, lapack_driver="gesvd")
        null = int(np.sum(sigma <= _INTEGRATOR * max(1.0 if plant.dt else 0.0, sigma[0])))
        if null == 0:
            break
        chains.append(null)
        rest = Vt[: A.shape[0] - null]
        A = rest @ A @ rest.T
    poles = np.linalg.eigvals(A).astype(complex)
    if plant.dt:
        poles = np.log(poles[np.abs(poles + 1.0) > 1e-8] + 1.0) / plant.dt
    return poles, chains[0] if chains else 0


def _collect(poles: ComplexArray, shapes: FloatArray | ComplexArray | None, rigid: int, count: int | None) -> Modes:
    upper = np.flatnonzero(poles.imag > 0.0)
    upper = upper[np.argsort(np.abs(poles[upper]), kind="stable")][:count]
    kept = poles[upper]
    omega = np.abs(kept)
    return Modes(
        omega / (2.0 * math.pi), -kept.real / omega, rigid, kept,
        None if shapes is None else shapes[:, upper], np.sort(poles[poles.imag == 0.0].real),
    )  # fmt: skip
