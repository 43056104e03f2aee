"""Transfer matrices at complex frequencies, by the method that the structure of the plant calls for.

    H(s) = (Cq + s Cv + s^2 Ca)(s^2 M + s D + K)^-1 B + Du         second order
    H(s) = C (s I - A)^-1 B + D                                    first order; z = s for a sampled plant

    structure                                        method
    symmetric, narrow band (reordered if that helps) compiled banded L d L^T, 64 frequencies at once
    (`kernels.resolvent`)
    unsymmetric, narrow band                         compiled banded LU with row interchanges
    full, normal modes diagonalise the damping       sum over modes, rigid ones with 1/s^2 exactly
    full, anything else                              Schur form of the first-order plant in modal coordinates
    first order                                      Schur form of the balanced A, one step of iterative refinement

Balancing and refinement matter: without them a beam of 300 coordinates in (q, q') loses every digit (error 18 times H).
At a pole the limit is returned: inf in channels that see the pole, the finite limit in those that do not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.linalg as sla

from ..abilities import Preparable, sample_time_of
from ..errors import require
from ..linear import FirstOrder, LinearPlant, SecondOrder
from ..linear.balance import balanced, check_same
from ..linear.eigen import NormalModes, damping_in_modes, is_modal, normal_modes
from ..linear.modes import has_normal_modes
from ..machine.given import LinearGiven, as_linear
from ..model import ComplexArray, FloatArray, FrequencyModel
from ..support.checks import complex_numbers

Transfer = Callable[[ComplexArray], ComplexArray]
Order = npt.NDArray[np.intp]

_CHUNK = 1024  # frequencies at once in dense products
# A sensor's reading of a rigid-body vector below this part of |C| |R| is rounding: strain does not see rigid motion.
_UNSEEN = 1e-11


def transfer(plant: LinearGiven, s: ComplexArray | npt.ArrayLike) -> ComplexArray:
    """Return the transfer matrix, (outputs, inputs, len(s)), at complex s [rad/s] (z for a sampled plant).

    The module docstring explains how. At a pole (within rounding) an entry is inf if it grows there and the finite
    limit if it does not; no warning is given.

    Examples
    --------
    >>> plant = fx.from_matrices([[1.0]], K=[[4.0]], B=[[1.0]], C=[[1.0]])
    >>> fx.transfer(plant, [0.0, 1j]).real.ravel().round(4).tolist()
    [0.25, 0.3333]
    """
    plant = as_linear(plant)
    at = complex_numbers("s", s, "rad/s")
    require(bool(np.isfinite(at).all()), "s has entries that are not finite")
    return evaluator(plant)(at)


def evaluator(plant: LinearPlant) -> Transfer:
    """Return s -> H(s) with everything that does not depend on s done once."""
    return with_limits(_first_order(plant) if isinstance(plant, FirstOrder) else _second_order(plant))


def prepared(model: FrequencyModel) -> Transfer:
    """Return the transfer function of any model in its own variable, s or z, prepared once where the model can be."""
    if isinstance(model, SecondOrder | FirstOrder):
        return evaluator(model)
    return model.prepared() if isinstance(model, Preparable) else model.transfer


def channels(model: FrequencyModel, rows: Sequence[int], columns: Sequence[int]) -> Transfer:
    """Return the transfer function of some outputs (rows) and inputs (columns) of a model, as `prepared` does."""
    if isinstance(model, FirstOrder):  # the others cost as much as these do
        return with_limits(_first_order(model, (list(rows), list(columns))))
    whole, at = prepared(model), np.ix_(rows, columns)
    return lambda s: np.asarray(whole(s)[at])


def on_axis(model: FrequencyModel) -> Transfer:
    """Return s -> H for Laplace s of any model, prepared once; sampled models are evaluated at z = exp(s dt)."""
    raw, dt = prepared(model), sample_time_of(model)
    return raw if dt == 0.0 else lambda s: raw(np.exp(s * dt))


def axis(omega: FloatArray) -> ComplexArray:
    """Return j omega."""
    return np.asarray(1j * omega, complex)


def with_limits(evaluate: Transfer) -> Transfer:
    """Return the transfer function with its limits where it is not finite."""

    def limited(s: ComplexArray) -> ComplexArray:
        s = np.ascontiguousarray(s, complex)
        H = evaluate(s) if s.size else evaluate(np.ones(1, complex))[:, :, :0]
        if not np.isfinite(H).all():
            at = np.flatnonzero(~np.isfinite(H).all(axis=(0, 1)))
            H[:, :, at] = _limit(evaluate, s[at])
        return H

    return limited


def _limit(evaluate: Transfer, s: ComplexArray) -> ComplexArray:
    """Return the limit: inf where the response grows as s is approached, else the mean on a circle, right to r^4."""
    radius = 1e-6 * np.where(s == 0.0, 1.0, np.abs(s))
    with np.errstate(all="ignore"):
        far, near = evaluate(s + 10.0 * radius), evaluate(s + radius)
        grows = ~np.isfinite(near) | (np.abs(near) > 3.0 * np.abs(far))
        around = (near + sum(evaluate(s + turn * radius) for turn in (1j, -1.0, -1j))) / 4.0
        return np.where(grows, np.inf, around)


def _second_order(plant: SecondOrder) -> Transfer:
    from ..kernels import bands  # compiled code is loaded when a response is asked for

    M, D, K = (np.ascontiguousarray(m, float) for m in (plant.M, plant.D, plant.K))
    reach, symmetric = bands.profile(M, D, K)
    n = M.shape[0]
    if n == 0:
        return _constant(plant.Du)
    if reach <= max(8, n // 6):
        return _banded(plant, M, D, K, reach, symmetric, np.arange(n))
    order = _narrowing_order(M, D, K)
    if order is not None:
        M, D, K = (np.ascontiguousarray(m[np.ix_(order, order)]) for m in (M, D, K))
        reach, symmetric = bands.profile(M, D, K)
        if reach <= max(8, n // 6):
            return _banded(plant, M, D, K, reach, symmetric, order)
    if has_normal_modes(plant):
        normal = normal_modes(plant.M, plant.K)
        damping = damping_in_modes(plant.D, normal)
        if is_modal(damping):
            return _modal(plant, normal, np.diag(damping))
    return _first_order(plant.first_order("modal"))


def _narrowing_order(M: FloatArray, D: FloatArray, K: FloatArray) -> Order | None:
    """Return the reverse Cuthill-McKee order of sparse matrices, None for full ones."""
    pattern = (M != 0.0) | (D != 0.0) | (K != 0.0)
    if np.count_nonzero(pattern) > 0.25 * pattern.size:
        return None
    from scipy.sparse import csr_array  # heavy
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    return np.asarray(reverse_cuthill_mckee(csr_array(pattern | pattern.T), symmetric_mode=True), np.intp)


class _Channels(NamedTuple):
    """Inputs and outputs in terms of few columns of the sweep; see `kernels.resolvent_pivoted.Channels`."""

    columns: FloatArray
    first: npt.NDArray[np.intp]
    c: FloatArray
    b: FloatArray
    Du: FloatArray
    Cr: FloatArray
    Br: FloatArray
    W: FloatArray
    power: int


def _banded(
    plant: SecondOrder, M: FloatArray, D: FloatArray, K: FloatArray, reach: int, symmetric: bool, order: Order
) -> Transfer:
    """Return the banded evaluator; M, D, K are given in the order `order` of the plant's coordinates."""
    from ..kernels import bands
    from ..kernels import resolvent as banded
    from ..kernels import resolvent_pivoted as pivoted
    from ..kernels.arrays import writable

    solves = banded.sweep if symmetric else pivoted.banded_lu
    if not (solves.loaded and pivoted.assemble.loaded):
        from ..kernels.ahead import ahead, together

        ahead(solves, pivoted.assemble)
        together(bands.factorise, bands.take_apart, pivoted.assemble, solves)
    used = np.flatnonzero(_carries_channel(plant)[order])
    reverse = bool(2 * used.sum() < used.size * (order.size - 1))  # channels late in the sweep cost least
    f = bands.factor(M, D, K, reach, symmetric, reverse)
    ch = _channels(plant, order[::-1] if reverse else order, f.rigid, f.datum)
    m, (ny, p) = ch.columns.shape[1], plant.Du.shape
    channels = pivoted.Channels(*writable(ch.c, ch.b, ch.Du, ch.Cr, ch.Br, ch.W))

    def evaluate(s: ComplexArray) -> ComplexArray:
        gram = np.empty((m, m, s.size), complex)
        points = np.arange(s.size)
        if symmetric:
            broken = np.empty(s.size, bool)
            banded.sweep(f.lower, f.static, ch.columns, ch.first, s, gram, broken)
            points = np.flatnonzero(broken)
        if points.size:
            pivoted.banded_lu(f.full, ch.columns, s, points, gram)
        H = np.empty((ny, p, s.size), complex)
        pivoted.assemble(gram, s, channels, ch.power, H)
        return H

    return evaluate


def _carries_channel(plant: SecondOrder) -> npt.NDArray[np.bool_]:
    """Return which coordinates an input acts on or an output reads."""
    rows = np.vstack([plant.B.T, plant.Cq, plant.Cv, plant.Ca])
    return np.asarray(rows.any(axis=0), bool)


def _channels(plant: SecondOrder, order: Order, rigid: FloatArray, datum: Order) -> _Channels:
    """Return the columns to sweep: unit columns at the coordinates that carry channels if these are few, else B, C."""
    n, p = plant.B.shape
    ny, r = plant.Cq.shape[0], datum.size
    B = plant.B[order]
    C = np.empty((ny, n, 3))
    for i, X in enumerate((plant.Cq, plant.Cv, plant.Ca)):
        C[:, :, i] = X[:, order]
    used = np.flatnonzero(_carries_channel(plant)[order])
    m = min(used.size, p + ny)
    columns = np.zeros((n, m + r, 3))
    if used.size <= p + ny:
        c, b = np.ascontiguousarray(C[:, used]), np.ascontiguousarray(B[used])
        columns[used, np.arange(m), 0] = 1.0
    else:
        c, b = np.zeros((ny, m, 3)), np.eye(m, p)
        c[:, p:, 0] = np.eye(ny)
        columns[:, :p, 0], columns[:, p:m] = B, C.transpose(1, 0, 2)
    Cr, Br, W, power = np.zeros((ny, r, 3)), np.zeros((r, p)), np.zeros((r, r, 2)), 2
    if r:
        R = np.zeros((n, r))
        R[order] = rigid
        DR, MR = _seen(plant.D, R), plant.M @ R
        power = 1 if DR.any() else 2
        for i, part in enumerate((DR, MR) if power == 1 else (MR,)):
            columns[:, m:, i], W[:, :, i] = part[order], R.T @ part
        Cr = np.empty((ny, r, 3))
        Cr.transpose(2, 0, 1)[:] = _seen(np.concatenate((plant.Cq, plant.Cv, plant.Ca)), R).reshape(3, ny, r)
        Br = R.T @ plant.B
        columns[datum] = 0.0
    live = columns.any(axis=2)
    first = np.where(live.any(axis=0), live.argmax(axis=0), n)
    Du, Br = (np.ascontiguousarray(x, float) for x in (plant.Du, Br))
    return _Channels(columns, first.astype(np.int64), c, b, Du, Cr, Br, W, power)


def _seen(C: FloatArray, R: FloatArray) -> FloatArray:
    """Return C R with exact zeros where only rounding is left."""
    result: FloatArray = C @ R
    result[np.abs(result) <= _UNSEEN * (np.abs(C) @ np.abs(R))] = 0.0
    return result


def _modal(plant: SecondOrder, normal: NormalModes, damping: FloatArray) -> Transfer:
    """Return the sum over modes of (C phi)(phi^T B) / (s^2 + s c + omega^2)."""
    Phi, r = normal.shapes, normal.rigid
    Bm = Phi.T @ plant.B
    weights = []
    for C in (plant.Cq, plant.Cv, plant.Ca):
        Cm = np.hstack([_seen(C, Phi[:, :r]), C @ Phi[:, r:]])
        weights.append((Cm[:, None, :] * Bm.T[None]).reshape(-1, Phi.shape[1]))
    shape = (plant.Cq.shape[0], plant.B.shape[1])

    def evaluate(s: ComplexArray) -> ComplexArray:
        H = np.empty((*shape, s.size), complex)
        for at in range(0, s.size, _CHUNK):
            z = s[at : at + _CHUNK]
            with np.errstate(all="ignore"):
                gains = 1.0 / (normal.eigenvalues[:, None] + z * (damping[:, None] + z))
                parts = [z**k * (G @ gains) for k, G in enumerate(weights) if G.any()]
                H[:, :, at : at + _CHUNK] = np.sum(parts, axis=0).reshape(*shape, -1) + plant.Du[:, :, None]
        return H

    return evaluate


def _constant(D: FloatArray) -> Transfer:
    return lambda s: np.repeat(D.astype(complex)[:, :, None], s.size, axis=2)


def _first_order(plant: FirstOrder, some: tuple[list[int], list[int]] | None = None) -> Transfer:
    """Return the evaluator by the Schur form of the balanced A, on the smaller of inputs and outputs.

    some: the outputs and inputs that are asked for, if not all.
    """
    ny, p = plant.D.shape
    rows, columns = some or (list(range(ny)), list(range(p)))
    if plant.A.shape[0] == 0:
        return _constant(plant.D[np.ix_(rows, columns)])
    swap = len(columns) > len(rows)
    A, B, C, D = (plant.A.T, plant.C.T, plant.B.T, plant.D.T) if swap else (plant.A, plant.B, plant.C, plant.D)
    A, scale, order = balanced(A, permute=True)
    B, C = B[order] / scale[:, None], C[:, order] * scale
    A, (T, Q) = np.ascontiguousarray(A), sla.rsf2csf(*sla.schur(A))
    form = A, np.ascontiguousarray(T), Q
    whole = _by_schur_form(form, B, C, D)
    check_same(lambda s: _turned(whole(s), swap), plant, "the Schur form of a first-order plant")
    at, of = (columns, rows) if swap else (rows, columns)
    part = _by_schur_form(form, B[:, of], C[at], D[np.ix_(at, of)])
    return lambda s: _turned(part(s), swap)


def _turned(H: ComplexArray, swap: bool) -> ComplexArray:
    """Return a response with inputs for outputs, if asked."""
    return H.transpose(1, 0, 2) if swap else H


def _by_schur_form(
    form: tuple[FloatArray, ComplexArray, ComplexArray], B: FloatArray, C: FloatArray, D: FloatArray
) -> Transfer:
    """Return C (s I - A)^-1 B + D with A = Q T Q^H, one step of iterative refinement with A itself."""
    from ..kernels import resolvent_pivoted as pivoted

    A, T, Q = form
    Qh, count = Q.conj().T, B.shape[1]
    chunk, own, last = max(1, _CHUNK // max(count, 1)), Qh @ B, C @ Q

    def evaluate(s: ComplexArray) -> ComplexArray:
        H = np.empty((C.shape[0], count, s.size), complex)
        for at in range(0, s.size if count else 0, chunk):
            part = s[at : at + chunk]
            z = np.tile(part, count)  # all columns of B at once: T is read from memory once
            y = np.repeat(own, part.size, axis=1)
            with np.errstate(all="ignore"):
                pivoted.triangular(T, z, y)
                x = Q @ y
                rest = (A @ x.view(float)).view(complex) - z * x  # A is real, and half the work of a complex one
                rest.reshape(-1, count, part.size)[:] += B[:, :, None]
                y = np.ascontiguousarray(Qh @ rest)
                pivoted.triangular(T, z, y)
                H[:, :, at : at + chunk] = (C @ x + last @ y).reshape(-1, count, part.size)
        return np.asarray(H + D[:, :, None], complex)

    return evaluate
