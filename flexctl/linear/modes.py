"""Natural frequencies, damping ratios and mode shapes of a plant.

    (lambda^2 M + lambda D + K) psi = 0,   |lambda|, zeta = -Re lambda / |lambda|
    (omega^2 M - K) phi = 0                without damping

Where damping leaves the modes apart (modal, Rayleigh) |lambda| is omega; a damper in a joint couples them, and
stiffens or even clamps: both are given, `frequencies_hz` of the plant as it is and `undamped_hz` without it.

The undamped modes come from `flexctl.linear.eigen`. Where damping couples them, the poles are the eigenvalues of the
first-order form in energy coordinates (omega eta, eta'), the rigid displacements taken out, so that rigid modes stay
exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg as sla

from ..errors import DefinitionError, require
from ..machine.given import LinearGiven, as_linear
from ..model import ComplexArray, FloatArray, names
from ..support.checks import whole
from ..support.moved import OldMembers
from ..support.tabular import Column, Tabular
from . import FirstOrder, SecondOrder
from .balance import balanced
from .cascade import Actuators, actuators, driven_arm, own_poles
from .eigen import NormalModes, damping_in_modes, is_modal, modal_damping, normal_modes

__all__ = ["Modes", "NormalModes", "modal_damping", "modes", "normal_modes"]

# A singular value of A below this part of the largest is an integrator: rounding leaves up to 1e-13, beams have 4e-13.
_INTEGRATOR = 2e-13
_BACKWARD = 10.0 * float(np.finfo(float).eps)
"""Rounding of the Schur form, relative to the largest entry."""
_ROUNDING = 1e-13
"""Damping of an oscillation below this is what eigenvalues leave of none."""
LISTED = 8
"""So many real poles are listed; damping in proportion to stiffness makes one or two of every fast mode."""


@dataclass(frozen=True, eq=False)
class Modes(Tabular, OldMembers):
    """The modes of a plant, flexible ones by ascending frequency.

    Attributes
    ----------
    frequencies_hz : ndarray
        |lambda| / (2 pi) of the flexible modes of the plant with its damping [Hz].
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
    undamped_hz : ndarray or None
        Natural frequencies of the flexible modes without any damping [Hz], as many as there are, NaN where K is not
        positive; of the arm alone behind actuators. None for plants without them: first-order and gyroscopic
        ones.
    owners : tuple of str
        For each mode the coordinate of the actuator whose pole it is, e.g. "joint1" of a hydraulic cylinder; empty for
        modes of the arm.
    real_owners : tuple of str
        The same for the real poles.

    Examples
    --------
    >>> found = fx.load_plant("tokhi_azad_1994").modes(2)
    >>> found.rigid_modes, found.frequencies_hz.round(3).tolist()
    (1, [11.741, 31.862])
    >>> found.to_pandas()[["frequency", "damping"]].round(3)
       frequency  damping
    0     11.741      0.0
    1     31.862      0.0
    """

    frequencies_hz: FloatArray
    damping: FloatArray
    rigid_modes: int
    poles: ComplexArray
    shapes: FloatArray | ComplexArray | None
    real_poles: FloatArray
    undamped_hz: FloatArray | None = None
    owners: tuple[str, ...] = ()
    real_owners: tuple[str, ...] = ()

    @property
    def damped_hz(self) -> FloatArray:
        """Frequencies at which the modes ring, Im lambda / (2 pi) [Hz]."""
        found: FloatArray = self.poles.imag / (2.0 * math.pi)
        return found

    @property
    def damping_shifts(self) -> bool:
        """Whether modes without damping have other frequencies than |lambda|: by 0.01 %, from the lowest."""
        if self.undamped_hz is None:
            return False
        arm = self.frequencies_hz[[not owner for owner in self.owners] if self.owners else slice(None)]
        undamped = np.sort(self.undamped_hz[np.isfinite(self.undamped_hz)])
        both = min(arm.size, undamped.size)
        return not np.allclose(undamped[:both], arm[:both], rtol=1e-4, atol=0.0)

    def owner(self, i: int) -> str:
        """Return whose pole mode i (from 0) is: the coordinate of an actuator, or an empty string for the arm."""
        return self.owners[i] if self.owners else ""

    def __str__(self) -> str:
        lines = [f"{self.rigid_modes} rigid mode{'' if self.rigid_modes == 1 else 's'}"]
        if self.frequencies_hz.size:
            lines.append(f"{'mode':>4} {'frequency [Hz]':>15} {'[rad/s]':>12} {'damping [%]':>12}")
        for i, (f, zeta) in enumerate(zip(self.frequencies_hz, self.damping, strict=True), 1):
            whose = f"  actuator of {self.owner(i - 1)}" if self.owner(i - 1) else ""
            lines.append(f"{i:>4} {f:>15.6g} {2 * math.pi * f:>12.6g} {100 * zeta:>12.4g}{whose}")
        if self.damping_shifts and self.undamped_hz is not None:
            near = ", ".join("unstable" if math.isnan(f) else f"{f:.6g}" for f in self.undamped_hz[:8])
            lines.append(f"without damping [Hz]: {near}{', ...' if self.undamped_hz.size > 8 else ''}")
        lines += self.in_short()
        return "\n".join(lines)

    def in_short(self) -> list[str]:
        """Return a line with the slowest real poles and how many there are besides; none without any."""
        listed = self.real_poles_listed()
        more = f" and {len(listed) - LISTED} faster, down to {listed[-1]}" if len(listed) > LISTED else ""
        return [f"real poles [rad/s]: {', '.join(listed[:LISTED])}{more}"] if listed else []

    def real_poles_listed(self) -> list[str]:
        """Return the real poles from the slowest, each with whose it is."""
        owners = self.real_owners or ("",) * self.real_poles.size
        pairs = sorted(zip(self.real_poles, owners, strict=True), key=lambda pair: abs(pair[0]))
        return [f"{pole:.6g}{f' (actuator of {owner})' if owner else ''}" for pole, owner in pairs]

    def _table(self) -> list[Column]:
        """Return a row for every flexible mode."""
        return [
            Column("mode", list(range(1, self.frequencies_hz.size + 1))),
            Column("frequency", self.frequencies_hz, "Hz"), Column("damping", self.damping, "1"),
            Column("damped_frequency", self.damped_hz, "Hz"), Column("pole:real", self.poles.real, "rad/s"),
            Column("pole:imag", self.poles.imag, "rad/s"),
            Column("actuator", [self.owner(i) for i in range(self.frequencies_hz.size)]),
        ]

    def _about(self) -> Mapping[str, Any]:
        return self.to_dict()

    def _caption(self) -> str:
        return str(self).splitlines()[0]

    def to_dict(self) -> Mapping[str, Any]:
        """Return the numbers of `flexctl modes --json`."""
        undamped = None if self.undamped_hz is None else self.undamped_hz.tolist()
        return {
            "frequencies_hz": self.frequencies_hz.tolist(),
            "damping": self.damping.tolist(),
            "rigid_modes": self.rigid_modes,
            "real_poles": self.real_poles.tolist(),
            "undamped_hz": undamped,
            "owners": list(self.owners) or [""] * self.frequencies_hz.size,
            "real_owners": list(self.real_owners) or [""] * self.real_poles.size,
        }


def modes(plant: LinearGiven, count: int | None = None) -> Modes:
    """Return the modes of a plant, the `count` lowest flexible ones (default: all).

    Symmetric M (positive definite) and K: normal modes, and with damping that couples them the eigenvalues of the
    first-order form in energy coordinates. Everything else, a singular M included: the eigenvalues of the first-order
    form, from which the integrator chains of rigid modes are taken out first. Poles of a sampled plant are returned as
    log(z) / dt; its poles at z = 0 are pure delays and not listed.

    Examples
    --------
    >>> print(fx.modes(fx.load_plant("tokhi_azad_1994").linearise(), 2))
    1 rigid mode
    mode  frequency [Hz]      [rad/s]  damping [%]
       1         11.7412      73.7721            0
       2         31.8621      200.195            0
    """
    plant = as_linear(plant)
    count = None if count is None else whole("count", count)
    require(count is None or count >= 1, f"count = {count} modes: ask for at least 1")
    if isinstance(plant, SecondOrder) and has_normal_modes(plant):
        return _second_order(plant, count)
    driving = actuators(plant) if isinstance(plant, SecondOrder) else None
    if isinstance(plant, SecondOrder) and driving is not None:
        return _apart(plant, driving, count)
    poles, rigid = _first_order_poles(plant if isinstance(plant, FirstOrder) else plant.first_order("modal"))
    found = _collect(poles, None, rigid, count)
    return found if isinstance(plant, FirstOrder) else replace(found, undamped_hz=_without_damping(plant, found, count))


def _without_damping(plant: SecondOrder, found: Modes, count: int | None) -> FloatArray | None:
    """Return the frequencies of M and K alone; None where D has gyroscopic terms or stands in for a missing mass."""
    if not plant.D.any():
        return found.frequencies_hz
    if "joint_rates" in plant.provenance or (plant.operating_point is not None and np.any(plant.operating_point.v)):
        return None
    try:
        return modes(replace(plant, D=np.zeros_like(plant.D)), count).frequencies_hz
    except DefinitionError:
        return None


def _apart(plant: SecondOrder, driving: Actuators, count: int | None) -> Modes:
    """Return the modes of the actuators and of the arm that they drive, neither with the rounding of the other."""
    alone = own_poles(plant, driving)
    own, integrators = _first_order_poles(alone)
    arm = modes(driven_arm(plant, driving))
    poles = np.concatenate([own, arm.poles, arm.real_poles])
    owners = [*_owners(alone, own, names([plant.coordinates[i] for i in driving.p])), *[""] * (poles.size - own.size)]
    found = _collect(poles, None, integrators + arm.rigid_modes, count, owners)
    return replace(found, undamped_hz=None if arm.undamped_hz is None else arm.undamped_hz[:count])


def _owners(alone: FirstOrder, poles: ComplexArray, coordinates: list[str]) -> list[str]:
    """Return for each pole of actuators the coordinate that takes part in it most; the states begin with them."""
    found, vectors = np.linalg.eig(alone.A)
    if not coordinates:
        return ["actuator"] * poles.size
    nearest = [int(np.argmin(np.abs(found - pole))) for pole in poles]
    return [coordinates[int(np.argmax(np.abs(vectors[: len(coordinates), k])))] for k in nearest]


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
    undamped = normal.omega[normal.rigid :][:count] / (2.0 * math.pi)
    return replace(_collect(poles[keep], full[:, keep], normal.rigid, count), undamped_hz=undamped)


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
    return _rounded(np.asarray(poles, complex)), eta


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
    A = balanced(plant.A - np.eye(n) if plant.dt else plant.A, permute=True).A
    rest, chains, sure = _without_integrators(A, _INTEGRATOR if plant.dt else 0.0)
    fast = np.zeros(0, complex)
    if not (sure or plant.dt):
        slow, fast = _slow_and_fast(A)
        rest, chains, _ = _without_integrators(balanced(slow).A, _BACKWARD * float(np.abs(A).max()))
    poles = np.concatenate([np.linalg.eigvals(rest).astype(complex), fast])
    if plant.dt:
        poles = np.log(poles[np.abs(poles + 1.0) > 1e-8] + 1.0) / plant.dt
    return _rounded(poles), chains[0] if chains else 0


def _without_integrators(A: FloatArray, least: float) -> tuple[FloatArray, list[int], bool]:
    """Return A without its chains of integrators, how many begin and go on, and whether none of them is in doubt.

    Singular values are zero up to rounding of the largest, or `least`. In doubt are those near that bound: beside poles
    of 1e10 rad/s the slow ones of an arm lie there.
    """
    chains, sure = [], True
    while A.size:
        # divide and conquer breaks down with NaN on some sampled plants whose entries span forty decades
        _, sigma, Vt = sla.svd(A, lapack_driver="gesvd")
        bound = max(_INTEGRATOR * sigma[0], least)
        null = int(np.sum(sigma <= bound))
        sure = sure and not np.any((sigma > 1e-2 * bound) & (sigma < 1e2 * bound))
        if null == 0:
            break
        chains.append(null)
        rest = Vt[: A.shape[0] - null]
        A = rest @ A @ rest.T
    return A, chains, sure


def _slow_and_fast(A: FloatArray) -> tuple[FloatArray, ComplexArray]:
    """Return what has the slow poles of A, up to a thousandth of the largest, and the fast poles."""
    bound = 1e-3 * float(np.abs(np.linalg.eigvals(A)).max(initial=0.0))
    T, _, count = sla.schur(A, sort=lambda re, im: np.hypot(re, im) <= bound)
    return T[:count, :count], np.linalg.eigvals(T[count:, count:]).astype(complex)


def _rounded(poles: ComplexArray) -> ComplexArray:
    """Return eigenvalues; oscillations whose damping is rounding have none."""
    none = (poles.imag != 0.0) & (np.abs(poles.real) <= _ROUNDING * np.abs(poles))
    return np.where(none, 1j * poles.imag, poles)


def _collect(
    poles: ComplexArray, shapes: FloatArray | ComplexArray | None, rigid: int, count: int | None,
    owners: list[str] | None = None,
) -> Modes:
    upper = np.flatnonzero(poles.imag > 0.0)
    upper = upper[np.argsort(np.abs(poles[upper]), kind="stable")][:count]
    real = np.flatnonzero(poles.imag == 0.0)
    real = real[np.argsort(poles[real].real, kind="stable")]
    kept = poles[upper]
    omega = np.abs(kept)
    whose = [() if owners is None else tuple(owners[i] for i in rows) for rows in (upper, real)]
    return Modes(
        omega / (2.0 * math.pi), -kept.real / omega, rigid, kept, None if shapes is None else shapes[:, upper],
        poles[real].real, None, *whose,
    )
