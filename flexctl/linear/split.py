"""A plant as a sum of two: rigid and flexible, unstable and stable, slow and fast.

    x' = [A1 A12; 0 A2] x,   A1 X - X A2 = -A12,   x1 = z1 + X x2      ->      G(s) = G1(s) + G2(s)

States that only integrate are the leading block of a plant in modal coordinates; anything else is brought to this shape
by an ordered Schur form.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import scipy.linalg as sla

from ..machine.given import LinearGiven, as_linear
from ..model import ComplexArray, FloatArray, Signal
from . import FirstOrder, SecondOrder
from .balance import balanced
from .realise import first_order

_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class Split:
    """A plant as a sum of two: their states together are as many as before, the feed-through is in `flexible`.

    Attributes
    ----------
    rigid : FirstOrder
        Rigid-body modes (and, for `balanced_truncation`, whatever else is not stable).
    flexible : FirstOrder
        The rest.
    """

    rigid: FirstOrder
    flexible: FirstOrder

    def join(self) -> FirstOrder:
        """Return the sum, rigid states first."""
        a, b = self.rigid, self.flexible
        A = sla.block_diag(a.A, b.A) if a.A.size and b.A.size else (a.A if a.A.size else b.A)
        return replace(
            b, A=A, B=np.vstack([a.B, b.B]), C=np.hstack([a.C, b.C]), D=a.D + b.D, states=(*a.states, *b.states)
        )


def as_first_order(plant: SecondOrder | FirstOrder) -> FirstOrder:
    """Return the plant itself, or its modal form."""
    return first_order(plant) if isinstance(plant, SecondOrder) else plant


def split_rigid(plant: LinearGiven) -> Split:
    """Return the rigid-body modes and the rest of a plant, their sum being the plant.

    States that only integrate (rigid modes of the modal form, coupled by damping or not) are recognised by their exact
    zeros in A and split off without disturbing them. Zero poles of any other first-order form are collected by an
    ordered Schur form; they are then as exact as the matrices given.

    Examples
    --------
    >>> split = fx.split_rigid(fx.load_plant("tokhi_azad_1994").linearise())
    >>> split.rigid.A.shape
    (2, 2)
    """
    plant = as_linear(plant)
    return split_zero_poles(as_first_order(plant))[0]


def split_zero_poles(plant: FirstOrder) -> tuple[Split, ComplexArray]:
    """Return the split and the poles of its flexible part."""
    structural = _integrators(plant.A) if plant.dt == 0 else np.zeros(0, np.intp)
    order = np.concatenate([structural, np.setdiff1d(np.arange(plant.A.shape[0]), structural)])
    split = _decouple(_permuted(plant, order), structural.size)
    poles = _poles(split.flexible.A)
    chosen = _near_zero(split.flexible, poles, gap=np.inf if structural.size else 100.0)
    return move_poles(split, chosen, poles, "rigid")


Predicate = Callable[[ComplexArray], npt.NDArray[np.bool_]]


def move_poles(split: Split, chosen: Predicate, poles: ComplexArray, word: str) -> tuple[Split, ComplexArray]:
    """Move the poles chosen from the flexible to the rigid part; return the split and the poles left."""
    pick = chosen(poles)
    if not pick.any():
        return split, poles
    rest = split_by(split.flexible, chosen, word)
    still = replace(rest.rigid, D=np.zeros_like(rest.rigid.D))
    return Split(Split(split.rigid, still).join(), rest.flexible), poles[~pick]


def _groups(A: FloatArray) -> list[npt.NDArray[np.intp]]:
    """Return the groups of states that do not influence each other."""
    from scipy.sparse.csgraph import connected_components

    if not A.size:
        return []
    count, label = connected_components(A != 0.0, directed=False)
    order = np.argsort(label, kind="stable")
    return np.split(order, np.cumsum(np.bincount(label, minlength=count))[:-1])


def _poles(A: FloatArray) -> ComplexArray:
    """Return the eigenvalues of A, group by group; real parts of the size of rounding are set to zero."""
    parts = [np.zeros(0, complex)]
    for group in _groups(A):
        block = A[np.ix_(group, group)]
        poles = sla.eigvals(block, check_finite=False).astype(complex)
        poles.real[np.abs(poles.real) <= 10 * _EPS * np.abs(block).max()] = 0.0
        parts.append(poles)
    return np.concatenate(parts)


def _integrators(A: FloatArray) -> npt.NDArray[np.intp]:
    """Return the states that drive nothing, and those that drive nothing but them: columns of Jordan blocks at zero."""
    still = ~A.any(axis=0)
    ramp = ~still & ~A[~still].any(axis=0)
    return np.flatnonzero(still | ramp)


def _permuted(plant: FirstOrder, order: npt.NDArray[np.intp]) -> FirstOrder:
    states = tuple(plant.states[i] for i in order)
    return replace(plant, A=plant.A[np.ix_(order, order)], B=plant.B[order], C=plant.C[:, order], states=states)


def _decouple(plant: FirstOrder, k: int) -> Split:
    """Split A = [A1 A12; 0 A2] after k states, by A1 X - X A2 = -A12 and x1 = z1 + X x2."""
    A1, A12, A2 = plant.A[:k, :k], plant.A[:k, k:], plant.A[k:, k:]
    B1, B2, C1, C2 = plant.B[:k], plant.B[k:], plant.C[:, :k], plant.C[:, k:]
    if A12.any():
        X = sla.solve_sylvester(A1, -A2, -A12)
        B1, C2 = B1 - X @ B2, C2 + C1 @ X
    rigid = replace(plant, A=A1, B=B1, C=C1, D=np.zeros_like(plant.D), states=plant.states[:k])
    return Split(rigid, replace(plant, A=A2, B=B2, C=C2, states=plant.states[k:]))


def split_by(plant: FirstOrder, chosen: Predicate, word: str) -> Split:
    """Return the poles chosen and the others; groups of states that do not interact keep their names and numbers."""
    groups = _groups(plant.A)
    votes = [chosen(sla.eigvals(plant.A[np.ix_(g, g)])) for g in groups]
    if all(v.all() or not v.any() for v in votes):
        first = [g for g, v in zip(groups, votes, strict=True) if v.any()]
        last = [g for g, v in zip(groups, votes, strict=True) if not v.any()]
        order = np.concatenate([*first, *last, np.zeros(0, np.intp)]).astype(np.intp)
        return _decouple(_permuted(plant, order), sum(g.size for g in first))
    return _schur_split(plant, chosen, word)


def _schur_split(plant: FirstOrder, chosen: Predicate, word: str) -> Split:
    A, scale, _ = balanced(plant.A)
    T, Z, k = sla.schur(A, sort=lambda re, im: bool(chosen(np.array([complex(re, im)]))[0]))
    n = A.shape[0]
    states = [Signal(f"{word}_state{i + 1}") for i in range(k)] + [Signal(f"state{i + 1}") for i in range(n - k)]
    ordered = replace(plant, A=T, B=Z.T @ (plant.B / scale[:, None]), C=(plant.C * scale) @ Z, states=tuple(states))
    return _decouple(ordered, k)


def _near_zero(plant: FirstOrder, poles: ComplexArray, gap: float) -> Predicate:
    """Return the test for zero poles (1 if sampled).

    A double zero pole moves by up to sqrt(eps) |A| through rounding. Below that, poles count as zero when the next one
    is `gap` times larger; poles of the size of eps |A| always do.
    """
    centre = 1.0 if plant.dt else 0.0
    A = plant.A - centre * np.eye(plant.A.shape[0])
    norm = float(np.abs(balanced(A).A).max()) if A.size else 0.0
    sizes = np.append(np.sort(np.abs(poles - centre)), np.inf)
    limit = 10 * _EPS * norm
    for here, following in pairwise(sizes):
        if here <= np.sqrt(_EPS) * norm and following >= gap * max(here, limit):
            limit = max(limit, float(np.sqrt(here * min(following, 1e6 * here))))
    return lambda poles: np.asarray(np.abs(poles - centre) <= limit)
