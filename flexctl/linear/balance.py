"""Balancing of A that does not blow up rounding, and the check that a first-order form is the plant it was made of.

Balancing, A -> S^-1 A S, makes rows and columns of equal size. A coupling of 1e-110 that is nothing but rounding makes
S span 50 decades, and B and C then drown in it. So entries below rounding of rounding of A, both as it is given and as
balanced, are left out where S would span more than `_WIDE`; what this does not mend, `check_same` refuses.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.linalg as sla

from ..abilities import sample_time_of
from ..errors import ConvergenceError
from ..model import ComplexArray, FloatArray
from . import FirstOrder, SecondOrder

Gain = Callable[[ComplexArray], ComplexArray]

# Far below rounding: the low modes of a fine mesh live on entries of 1e-20, which only look like it.
_NOTHING = float(np.finfo(float).eps) ** 2
_WIDE = 1e8
# A first-order form that differs from its plant by more than this part of the terms that make up its gain is wrong.
_SAME = 1e-6
_NONE = 1e-9
# Of the change of a gain by one rounding in every entry, what solving it may cost.
_ROUNDINGS = 10.0


class Balanced(NamedTuple):
    """S^-1 A S of A, its rows and columns first put in `order`.

    Attributes
    ----------
    A : ndarray
        The balanced matrix.
    scale : ndarray
        The diagonal of S, powers of two.
    order : ndarray
        0, 1, .. n - 1 unless permuted.
    """

    A: FloatArray
    scale: FloatArray
    order: npt.NDArray[np.intp]


def balanced(A: FloatArray, permute: bool = False) -> Balanced:
    """Return A balanced, couplings that are rounding left out where they alone ask for the scaling.

    Raises
    ------
    ConvergenceError
        When the entries or the scales are not finite.
    """
    found = _gebal(A, permute)
    for _ in range(8 if np.isfinite(A).all() else 0):
        if found.scale.max(initial=1.0) <= _WIDE * found.scale.min(initial=1.0):
            break
        small = _rounding(A[np.ix_(found.order, found.order)]) & _rounding(found.A)
        if not small.any():
            break
        kept = A.copy()
        kept[np.ix_(found.order, found.order)] = np.where(small, 0.0, A[np.ix_(found.order, found.order)])
        A, found = kept, _gebal(kept, permute)
    if not (np.isfinite(A).all() and np.isfinite(found.scale).all() and np.isfinite(found.A).all()):
        raise ConvergenceError(
            f"a first-order form of {len(A)} states cannot be balanced: its entries reach from "
            f"{np.abs(A[A != 0.0]).min():.3g} to {np.abs(A).max():.3g}; scale its states, or leave out what is rounding"
        )
    return found


def _rounding(A: FloatArray) -> npt.NDArray[np.bool_]:
    size = np.abs(A)
    return np.asarray((size > 0.0) & (size <= _NOTHING * size.max(initial=0.0)))


def _gebal(A: FloatArray, permute: bool) -> Balanced:
    """Return LAPACK's balancing; scipy's own casts the scales to integers, which overflows."""
    n = len(A)
    scale, order = np.ones(n), np.arange(n)
    if n == 0:
        return Balanced(A, scale, order)
    found, lo, hi, told, _ = sla.lapack.dgebal(np.asarray(A, float), scale=True, permute=permute)
    scale[lo : hi + 1] = told[lo : hi + 1]
    swaps = [(n - 1 - k, told[n - 1 - k]) for k in range(n - 1 - hi)] + [(k, told[k]) for k in range(lo)]
    for here, there in swaps:
        other = int(there) - 1
        order[[here, other]] = order[[other, here]]
    return Balanced(np.asarray(found, float), scale, order)


def check_same(
    found: FirstOrder | Gain, plant: SecondOrder | FirstOrder, what: str, limit: FloatArray | float = 0.0
) -> None:
    """Raise `ConvergenceError` where a first-order form does not have the gain of the plant it was made of.

    Parameters
    ----------
    found, plant
        The form, or its gain as a function of s (z), and what it stands for.
    what : str
        How messages call the form.
    limit : float or ndarray
        Difference that is granted, of the size (outputs, inputs).
    """
    for s in _points(found if isinstance(found, FirstOrder) else plant):
        wanted, size = _gain(plant, s)
        if isinstance(found, FirstOrder):
            H, own = _gain(found, s)
            size = np.maximum(size, own)
        else:
            H = found(np.array([s]))[:, :, 0]
        # a channel that is nothing beside what another input does to its output, or beside what input and output do
        # where they are, is known to that rounding only
        beside = np.maximum(size.max(axis=1, keepdims=True, initial=0.0), _driving(plant, s))
        error = np.abs(H - wanted) - limit - _NONE * beside
        worst = _worst(error, size)
        if not worst <= _SAME:  # of channels that are next to nothing among fast poles neither gain is known that well
            error = error - _ROUNDINGS * _uncertain(plant, s)
            if isinstance(found, FirstOrder):
                error = error - _ROUNDINGS * _uncertain(found, s)
            worst = _worst(error, size)
        if not worst <= _SAME:
            raise ConvergenceError(
                f"{what} is not the plant: at s = {s:.6g} rad/s its gain is wrong by {worst:.3g} of the terms that it "
                f"is the sum of, more than {_SAME:g}; scale the coordinates, or keep to the second-order form"
            )


def _worst(error: FloatArray, size: FloatArray) -> float:
    return float(np.max(error / np.where(size > 0.0, size, 1.0), initial=0.0))


def _uncertain(plant: SecondOrder | FirstOrder, s: complex) -> FloatArray:
    """Return what rounding of the entries of P changes in C P^-1 B: eps |C| |P^-1| |P| |P^-1 B|."""
    P, B, C, _ = _at(plant, s)
    inverse = _solved(P, np.eye(len(P), dtype=complex))
    change = np.abs(inverse) @ (np.abs(P) @ np.abs(_solved(P, B)))
    return np.asarray(float(np.finfo(float).eps) * np.abs(C) @ change, float)


def _points(plant: SecondOrder | FirstOrder) -> ComplexArray:
    """Return a few values of s (z) among the poles, away from the axis on which they lie."""
    if isinstance(plant, SecondOrder):
        mass, stiffness = (float(np.abs(X).max(initial=0.0)) for X in (plant.M, plant.K))
        size = float(np.sqrt(stiffness / mass)) if mass > 0.0 else 1.0
    else:
        size = float(np.abs(_gebal(plant.A, False).A).max(initial=0.0))
    if sample_time_of(plant):
        return np.asarray(1.05 * np.exp(1j * np.array([0.03, 0.4, 1.7])), complex)
    return np.asarray((size or 1.0) * np.array([1e-3, 3e-2, 0.6]) * np.exp(1.1j), complex)


def _gain(plant: SecondOrder | FirstOrder, s: complex) -> tuple[ComplexArray, FloatArray]:
    """Return H(s) and the size of the terms it is the sum of."""
    P, B, C, D = _at(plant, s)
    x = _solved(P, B)
    return C @ x + D, np.abs(C) @ np.abs(x) + np.abs(D)


def _at(plant: SecondOrder | FirstOrder, s: complex) -> tuple[ComplexArray, ComplexArray, ComplexArray, FloatArray]:
    """Return P, B, C, D of H(s) = C P^-1 B + D."""
    B = plant.B.astype(complex)
    if isinstance(plant, FirstOrder):
        return np.asarray(s * np.eye(len(plant.A)) - plant.A, complex), B, plant.C.astype(complex), plant.D
    P = np.asarray(s * s * plant.M + s * plant.D + plant.K, complex)
    return P, B, np.asarray(plant.Cq + s * plant.Cv + s * s * plant.Ca, complex), plant.Du


def _driving(plant: SecondOrder | FirstOrder, s: complex) -> FloatArray:
    """Return what bounds the gain of symmetric plants at rest, by Cauchy and Schwarz: the gains at input and output.

    With one input alone, nothing else tells that an arm does not stretch when its joint is turned.
    """
    if isinstance(plant, FirstOrder):
        return np.zeros((1, 1))
    P, B, C, _ = _at(plant, s)
    here = np.abs(np.sum(B * _solved(P, B), axis=0))
    there = np.abs(np.sum(C.T * _solved(P, C.T), axis=0))
    return np.asarray(np.sqrt(there[:, None] * here[None, :]), float)


def _solved(P: ComplexArray, B: ComplexArray) -> ComplexArray:
    """Return P^-1 B with rows and columns of one size, refined once."""
    row = np.abs(P).max(axis=1, initial=0.0)
    row[row == 0.0] = 1.0
    P, B = P / row[:, None], B / row[:, None]
    column = np.abs(P).max(axis=0, initial=0.0)
    column[column == 0.0] = 1.0
    factors = sla.lu_factor(P / column, check_finite=False)
    x = sla.lu_solve(factors, B, check_finite=False) / column[:, None]
    return np.asarray(x + sla.lu_solve(factors, B - P @ x, check_finite=False) / column[:, None], complex)
