"""How far a model was driven, and what its assumptions cost there.

A formulation with assumptions has a method `assumptions(q, v)` that takes recorded coordinates and rates (nt x n) and
returns a `Driven` for each of them. The costs, in parts of the deflection, are those of a clamped beam:

* small bending: under a force F at its end the elastica deflects less than F L^3 / 3EI by 0.45 phi^2 of it, where
  phi = F L^2 / 2EI is the slope of its end
* no axial forces: a beam that spins at Omega has omega^2 = omega1^2 + 0.193 Omega^2 in its plane of rotation (uniform,
  clamped at the axis). In the turning frame omega1^2 - Omega^2 are left without them, along the arc omega1^2
* a dead force stays across the link: after a turn of phi less of it is across, by phi^2 / 2
* no axial forces from loads: a force P along a link moves its stiffness by P over the link's buckling load
* straight elements: an arc that turns by phi is longer than its chord by phi^2 / 24; by as much the curvature in the
  middle of a cubic between the slopes at its ends is too small
* sections that are linear along an element (ANCF): see `models/ancf/element.py`

and of the linear analysis of several links, which leaves out what the bending of one turns the next by: 1.6 of the
square of the turn of all links together, the largest found on two equal links in moves of 0.25 to 2 s.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..abilities import Assuming, Pressed, innermost
from ..errors import Caution, caution
from ..model import FloatArray, OperatingPoint, names

BENDING, CHAIN, SPIN, ARC, CHORD, ACROSS = 0.45, 1.6, 1.193, 0.193, 1.0 / 24.0, 0.5
"""Coefficients of the module's docstring."""


@dataclass(frozen=True)
class Driven:
    """How far one assumption was driven.

    Attributes
    ----------
    what : str
        The quantity on which it depends.
    value : float
        Its largest value in the run.
    unit : str
        Its unit.
    cost : float
        About how much of the deflection is wrong there [1].
    bound : float
        The value at which it costs 5 %.
    sample : int
        Row of the record where it is largest.
    remedy : str
        What to use instead.
    """

    what: str
    value: float
    unit: str
    cost: float
    bound: float
    sample: int
    remedy: str

    def told(self) -> str:
        """Return what it costs and what to use instead, in words."""
        return (
            f"where what the model leaves out costs about {100 * self.cost:.2g} % of the deflection (5 % at "
            f"{self.bound:.3g} {self.unit}); use {self.remedy}"
        )


class BeyondModel(Caution):
    """A run went where the assumptions of its model cost more than 5 %.

    Examples
    --------
    >>> issubclass(fx.BeyondModel, fx.Caution)
    True
    """


def in_range(model: Any, q: FloatArray, v: FloatArray, u: FloatArray | None = None) -> tuple[Driven, ...]:
    """Return how far coordinates and rates (nt x n) drive the assumptions of a model; empty for one without any.

    `u` are the inputs of `model` (nt x p), of which loads may press on the links.
    """
    inner = innermost(model)
    n = len(inner.coordinates)  # those of cylinders come behind
    if not isinstance(inner, Assuming):
        return ()
    found = tuple(inner.assumptions(q[:, :n], v[:, :n]))
    if u is None or not isinstance(inner, Pressed):
        return found
    columns = dict(zip(names(model.inputs), u.T, strict=True))
    arm: Any = inner
    loads = [columns.get(name, np.zeros(len(u))) for name in names(arm.inputs)]
    return (*found, *inner.pressed(q[:, :n], np.column_stack(loads)))


def check_rest(model: Any, point: OperatingPoint) -> None:
    """Warn when an arm that rests there is bent or pressed beyond what its model assumes."""
    for one in in_range(model, point.q[None], 0.0 * point.q[None], point.u[None]):
        if one.cost > ALLOWED:
            reached = f"{model.kind}: {one.what} is {one.value:.3g} {one.unit} in this equilibrium, {one.told()}"
            caution(f"{reached}, or load it less", BeyondModel)


def by_blocks(rows: FloatArray, each: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Return what `each` makes of the rows, block by block: of long runs fresh memory takes longer than arithmetic."""
    parts = [each(rows[k : k + BLOCK]) for k in range(0, max(len(rows), 1), BLOCK)]
    return np.concatenate(parts)


BLOCK = 1024
ALLOWED = 0.05
"""Cost from which on a run is warned of."""


def squared(what: str, history: FloatArray, unit: str, coefficient: float, remedy: str, scale: float = 1.0) -> Driven:
    """Return an assumption that costs coefficient (value / scale)^2, from the history of the value."""
    size = np.abs(history)
    k = int(size.argmax())
    value = float(size[k])
    cost, bound = coefficient * (value / scale) ** 2, scale * float(np.sqrt(ALLOWED / coefficient))
    return Driven(what, value, unit, cost, bound, k, remedy)


def linear(what: str, history: FloatArray, unit: str, scale: float, remedy: str) -> Driven:
    """Return an assumption that costs the size of a value over its scale, from the history of the value."""
    size = np.abs(history)
    k = int(size.argmax())
    return Driven(what, float(size[k]), unit, float(size[k]) / scale, ALLOWED * scale, k, remedy)


def turns(places: FloatArray, *, neighbours: bool) -> FloatArray:
    """Return the angles [rad] of the chords of a link against its first one, nt x (elements - 1).

    `places` are those of its nodes, nt x nodes x 2 or 3 [m]; with `neighbours` each is turned against the one before.
    """
    chords = [np.diff(places[:, :, i], axis=1) for i in range(places.shape[2])]
    before, these = [x[:, :-1] if neighbours else x[:, :1] for x in chords], [x[:, 1:] for x in chords]
    along = sum(a * x for a, x in zip(before, these, strict=True))
    pairs = [(i, j) for i in range(len(chords)) for j in range(i)]
    across = [before[i] * these[j] - before[j] * these[i] for i, j in pairs]
    size = np.abs(across[0]) if len(across) == 1 else np.sqrt(sum(x * x for x in across))
    found: FloatArray = np.arctan2(size, along)
    return found
