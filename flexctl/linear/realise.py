"""First-order forms of M a + D v + K q = B u, scaled so that python-control and slycot keep their digits.

    form        states                                               A
    modal       rigid (eta, eta'), flexible (omega eta, eta')        [0 1; 0 0],  [0 omega; -omega -2 zeta omega]
    energy      (Lk' q, L' v),  M = L L',  K + sigma M = Lk Lk'      [0  Lk' L^-T; -L^-1 K Lk^-T  -L^-1 D L^-T]
    physical    (q, v)                                               [0  I; -M^-1 K  -M^-1 D]

In the modal form q = Phi eta with Phi' M Phi = I. A flexible mode's states square to twice its energy, so all entries
of A are of the size of the natural frequencies; in physical coordinates A mixes 1 with omega^2 of the finest element,
and slycot's frequency response then loses every digit (relative error 18 at 300 coordinates). Rigid modes are exact: a
double integrator free of rounding. Damping that is not modal stays in full, Phi' D Phi. Unsymmetric matrices
(gyroscopic, circulatory, follower loads) take the modes of the symmetric parts of M and K as coordinates and keep every
entry. Accelerations in outputs are replaced through the equation of motion and become feed-through.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import scipy.linalg as sla

from ..errors import DefinitionError, require, unknown
from ..machine.given import LinearGiven, as_second_order
from ..model import FloatArray, Signal
from ..support.checks import whole
from . import FirstOrder, SecondOrder
from .balance import check_same
from .cascade import actuators, cascade
from .descriptor import regular
from .eigen import in_modes, is_modal, normal_modes

FORMS = ("modal", "energy", "physical")
# A sensor whose coefficients cancel to this part on a rigid mode does not see it: K, hence the shape, is rounded too.
_UNSEEN = 1e-10


def first_order(
    plant: LinearGiven, form: str = "modal", modes: int | None = None, static_correction: bool = False
) -> FirstOrder:
    """Return the plant as x' = A x + B u, y = C x + D u.

    Parameters
    ----------
    plant : SecondOrder
        M may be singular where s^2 M + s D + K is regular: massless coordinates held by springs alone are condensed;
        with massless dampers the result is a balanced form (`provenance["form"]` is "deflated") whatever `form` says.
    form : str
        "modal" (default): of each mode omega eta and its rate, all entries of the size of the natural frequencies;
        "energy": states whose squares are energies; "physical": (q, v), whose digits fine meshes lose.
    modes : int, optional
        Keep the rigid and unstable modes and this many of the lowest flexible ones (modal form only; default: all).
    static_correction : bool
        Let the modes left out follow statically. The response at low frequency is then exact, at the price of
        feed-through from forces to positions; off by default, so that position outputs stay strictly proper.
    """
    plant = as_second_order(plant)
    if form not in FORMS:
        raise unknown("form", form, FORMS)
    require(modes is None or form == "modal", f'modes = {modes} needs the form "modal", not "{form}"')
    found = _form(plant, form, modes, static_correction)
    if modes is None:
        check_same(found, plant, f'the first-order form "{form}"')
    return found


def _form(plant: SecondOrder, form: str, modes: int | None, static_correction: bool) -> FirstOrder:
    driving = None if form != "modal" or static_correction else actuators(plant)
    if driving is not None:
        return cascade(plant, driving, modes)
    reduced = regular(plant)
    if isinstance(reduced, FirstOrder):
        require(modes is None, f"modes = {modes}: {_NO_MODES}")
        return reduced
    if form == "physical":
        return _physical(reduced)
    if form == "energy":
        return _energy(reduced)
    return _interleaved(modal_coordinates(reduced, modes, static_correction))


_NO_MODES = "a plant with massless dampers has no normal modes; take its first-order form and reduce that"


def modal_coordinates(plant: SecondOrder, modes: int | None = None, static_correction: bool = False) -> SecondOrder:
    """Return the plant in normal coordinates: M = I, D = Phi' D Phi, K = diag(omega^2) (in full when unsymmetric).

    Order: rigid, unstable, flexible by frequency. Rigid modes have exact zeros in K, and in D and the outputs wherever
    only rounding is left. The basis of the result leads from modal to full coordinates. For `modes` and
    `static_correction` see `first_order`.
    """
    reduced = regular(plant)
    if isinstance(reduced, FirstOrder):
        raise DefinitionError(_NO_MODES)
    plant = _positive_mass(reduced)
    result = _project(plant)
    if modes is None:
        return result
    always = sum(not c.name.startswith("mode") for c in result.coordinates)
    available = len(result.coordinates) - always
    modes = whole("modes", modes)
    require(0 <= modes <= available, f"modes = {modes} is not between 0 and the plant's {available} flexible modes")
    return _truncate(result, always + modes, static_correction)


def _symmetric(m: FloatArray) -> FloatArray:
    return 0.5 * (m + m.T)


def _positive_mass(plant: SecondOrder) -> SecondOrder:
    """Return the plant with M of positive definite symmetric part; otherwise all equations are multiplied by M^-1."""
    try:
        np.linalg.cholesky(_symmetric(plant.M))
    except np.linalg.LinAlgError:
        D, K, B = (np.asarray(np.linalg.solve(plant.M, m), float) for m in (plant.D, plant.K, plant.B))
        return replace(plant, M=np.eye(plant.M.shape[0]), D=D, K=K, B=B)
    return plant


def _project(plant: SecondOrder) -> SecondOrder:
    """Return the plant in the normal coordinates of the symmetric parts of M and K, nothing left out."""
    modes = normal_modes(_symmetric(plant.M), _symmetric(plant.K))
    order = np.argsort(np.where(modes.eigenvalues == 0.0, -np.inf, modes.eigenvalues), kind="stable")
    eigenvalues, Phi = modes.eigenvalues[order], modes.shapes[:, order]
    rigid = eigenvalues == 0.0
    K = np.diag(eigenvalues) + in_modes(Phi, 0.5 * (plant.K - plant.K.T), plant.K)
    D, B = in_modes(Phi, plant.D, rigid=rigid), Phi.T @ plant.B
    if is_modal(D):
        D = np.diag(np.diag(D))
    skew = 0.5 * (plant.M - plant.M.T)
    if np.abs(skew).max(initial=0.0) > 1e-14 * np.abs(plant.M).max(initial=0.0):
        mass = np.eye(rigid.size) + in_modes(Phi, skew, plant.M)
        K, D, B = (np.asarray(np.linalg.solve(mass, m), float) for m in (K, D, B))
    Cq, Cv, Ca = (_columns(C, Phi, rigid) for C in (plant.Cq, plant.Cv, plant.Ca))
    return replace(
        plant, M=np.eye(rigid.size), D=D, K=K, B=B, Cq=Cq, Cv=Cv, Ca=Ca,
        coordinates=_modal_names(eigenvalues), basis=Phi if plant.basis is None else plant.basis @ Phi,
    )


def _columns(C: FloatArray, Phi: FloatArray, rigid: npt.NDArray[np.bool_]) -> FloatArray:
    """Return C Phi with exact zeros where a sensor sees nothing but rounding of a rigid mode (strain, say)."""
    result: FloatArray = C @ Phi
    result[(np.abs(result) <= _UNSEEN * (np.abs(C) @ np.abs(Phi))) & rigid] = 0.0
    return result


def _modal_names(eigenvalues: FloatArray) -> tuple[Signal, ...]:
    words = np.where(eigenvalues == 0.0, "rigid", np.where(eigenvalues < 0.0, "unstable", "mode"))
    counts = dict.fromkeys(("rigid", "unstable", "mode"), 0)
    result = []
    for word in words.tolist():
        counts[word] += 1
        result.append(Signal(f"{word}{counts[word]}", "kg^0.5 m"))
    return tuple(result)


def _truncate(plant: SecondOrder, keep: int, static_correction: bool) -> SecondOrder:
    """Return the first `keep` modal coordinates; the others vanish or follow statically."""
    k, t = slice(None, keep), slice(keep, None)
    K, B, Cq, Du = plant.K[k, k], plant.B[k], plant.Cq[:, k], plant.Du
    if static_correction:
        follow = np.linalg.solve(plant.K[t, t], np.hstack([plant.K[t, k], plant.B[t]]))
        stiff, flexibility = follow[:, :keep], follow[:, keep:]
        K, B = K - plant.K[k, t] @ stiff, B - plant.K[k, t] @ flexibility
        Cq, Du = Cq - plant.Cq[:, t] @ stiff, Du + plant.Cq[:, t] @ flexibility
    return replace(
        plant, M=plant.M[k, k], D=plant.D[k, k], K=K, B=B, Cq=Cq, Cv=plant.Cv[:, k], Ca=plant.Ca[:, k], Du=Du,
        coordinates=plant.coordinates[k], basis=None if plant.basis is None else plant.basis[:, k],
        provenance={**plant.provenance, "modes": keep, "static_correction": static_correction},
    )


def _interleaved(plant: SecondOrder) -> FirstOrder:
    """Return the first-order form of a plant in modal coordinates, two states per mode."""
    n, eigenvalues = plant.M.shape[0], np.diag(plant.K)
    scale = np.where(eigenvalues == 0.0, 1.0, np.sqrt(np.abs(eigenvalues)))
    stiffness = plant.K / scale
    np.fill_diagonal(stiffness, np.sign(eigenvalues) * scale)
    A, B = np.zeros((2 * n, 2 * n)), np.zeros((2 * n, plant.B.shape[1]))
    C = np.zeros((plant.Cq.shape[0], 2 * n))
    A[0::2, 1::2], A[1::2, 0::2], A[1::2, 1::2], B[1::2] = np.diag(scale), -stiffness, -plant.D, plant.B
    C[:, 0::2], C[:, 1::2] = plant.Cq / scale - plant.Ca @ stiffness, plant.Cv - plant.Ca @ plant.D
    states = [
        state
        for c, eigenvalue in zip(plant.coordinates, eigenvalues, strict=True)
        for state in (
            Signal(c.name, "kg^0.5 m" if eigenvalue == 0.0 else "J^0.5"),
            Signal(f"{c.name}_rate", "J^0.5"),
        )
    ]
    return _finish(plant, "modal", A, B, C, plant.Du + plant.Ca @ plant.B, states)


def _physical(plant: SecondOrder) -> FirstOrder:
    n = plant.M.shape[0]
    solved = np.linalg.solve(plant.M, np.hstack([plant.K, plant.D, plant.B]))
    K, D, B = solved[:, :n], solved[:, n : 2 * n], solved[:, 2 * n :]
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-K, -D]])
    C = np.hstack([plant.Cq - plant.Ca @ K, plant.Cv - plant.Ca @ D])
    states = [*plant.coordinates, *(Signal(f"{c.name}_rate", f"{c.unit}/s") for c in plant.coordinates)]
    return _finish(plant, "physical", A, np.vstack([np.zeros_like(B), B]), C, plant.Du + plant.Ca @ B, states)


def _energy(plant: SecondOrder) -> FirstOrder:
    """Return states whose squares are twice the potential and the kinetic energy.

    Rigid and unstable modes have no positive potential energy: sigma, the square of the lowest flexible frequency
    beyond the most negative eigenvalue, makes up for it.
    """
    plant = _positive_mass(plant)
    M, K = _symmetric(plant.M), _symmetric(plant.K)
    eigenvalues = normal_modes(M, K).eigenvalues
    positive = eigenvalues[eigenvalues > 0.0]
    lowest = float(eigenvalues.min(initial=np.inf))
    sigma = 0.0 if lowest > 0.0 else float(positive.min(initial=np.inf) if positive.size else 1.0) - lowest
    L, Lk = np.linalg.cholesky(M), np.linalg.cholesky(K + sigma * M)
    # rows of the balance are multiplied by L^-1; an unsymmetric M leaves L^-1 M L^-T, which is then inverted
    inner = sla.solve_triangular(L, sla.solve_triangular(L, plant.M.T, lower=True).T, lower=True)
    right = np.hstack([plant.K, plant.D, plant.B])
    solved = sla.solve_triangular(L, right, lower=True)
    if not np.array_equal(plant.M, plant.M.T):
        solved = np.linalg.solve(inner, solved)
    n = M.shape[0]
    stiffness = sla.solve_triangular(Lk, solved[:, :n].T, lower=True).T
    damping = sla.solve_triangular(L, solved[:, n : 2 * n].T, lower=True).T
    rate = sla.solve_triangular(L, Lk, lower=True).T
    Cq = sla.solve_triangular(Lk, plant.Cq.T, lower=True).T
    Cv, Ca = (sla.solve_triangular(L, c.T, lower=True).T for c in (plant.Cv, plant.Ca))
    B = solved[:, 2 * n :]
    A = np.block([[np.zeros((n, n)), rate], [-stiffness, -damping]])
    C = np.hstack([Cq - Ca @ stiffness, Cv - Ca @ damping])
    states = [Signal(f"{c.name}_{word}", "J^0.5") for word in ("potential", "kinetic") for c in plant.coordinates]
    return _finish(plant, "energy", A, np.vstack([np.zeros_like(B), B]), C, plant.Du + Ca @ B, states)


def _finish(
    plant: SecondOrder, form: str, A: FloatArray, B: FloatArray, C: FloatArray, D: FloatArray, states: list[Signal]
) -> FirstOrder:
    provenance = {**plant.provenance, "form": form}
    # adding 0.0 turns -0.0 into 0.0, so that exact zeros also print as such
    return FirstOrder(A + 0.0, B + 0.0, C + 0.0, D + 0.0, tuple(states), plant.inputs, plant.outputs, 0.0, provenance)
