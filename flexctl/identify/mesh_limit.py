"""The linear model on an infinitely fine mesh, extrapolated from one mesh and one twice as fine (Richardson).

Errors of meshes fall with the square of the element, so that in normal coordinates, scaled to unit mass,

    X = (4 X_2n - X_n) / 3,      X any of Phi' D Phi, omega^2, Phi' B, C Phi

is right to its fourth power. A record tells the arm, not its mesh: sixteen linear elements put the third mode of a
link several per cent off, and stiffness and masses would take that up. The modes of both meshes are paired by their
order; modes that are as close as the meshes leave them, and the rigid ones, are turned into each other. Modes above
twice the Nyquist frequency follow statically, on either mesh.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..errors import Caution, FlexctlError
from ..linear import SecondOrder
from ..linear.realise import first_order, modal_coordinates, truncated
from ..model import FloatArray, names
from .record import Record
from .sampled import KEPT, LARGEST, Rubbing, Sampled, rubbing, sampled

if TYPE_CHECKING:
    from ..catalogue import Plant

MESHES = ("sections", "elements", "segments")
APART = 3.0
"""Distance of two eigenvalues, in parts of what the meshes change, up to which their modes may turn into each other."""
OFF = 0.5
"""Part of what a mode does at inputs and outputs by which it may differ between the meshes."""
NEAR, LOWEST = 1e-3, 3
COARSE = 0.4
"""Change of an eigenvalue from one mesh to the other from which on a mode is not taken for the same."""


def mesh_of(plant: Plant) -> str | None:
    """Return the key of the number of elements, None where the model has none."""
    rows = {row.key: row.value for row in plant.rows}
    for key in (f"model.{m}" for m in MESHES):
        value = rows.get(key)
        counts = value if isinstance(value, list | tuple) else [value]
        if value is not None and all(isinstance(n, int) and not isinstance(n, bool) for n in counts) and len(counts):
            return key
    return None


def on_mesh(plant: Plant, times: int) -> Plant | None:
    """Return the plant on a mesh so many times as fine, None where it has none."""
    key = mesh_of(plant)
    if key is None:
        return None
    value = {row.key: row.value for row in plant.rows}[key]
    finer = [times * n for n in value] if isinstance(value, list | tuple) else times * int(value)
    return plant.with_({key: finer})


def in_the_limit(
    plant: Plant, inputs: Sequence[str], outputs: Sequence[str], nyquist: float, strict: bool = True
) -> Sampled | None:
    """Return a plant between inputs and outputs on an infinitely fine mesh, None where that cannot be extrapolated.

    It cannot where the plant has no mesh or massless dampers, or where one of its modes that move, up to the Nyquist
    frequency [rad/s], is not the same on both meshes. With `strict` off such a mode follows statically: a search may
    pass by where the mesh is too coarse, and must not end there.
    """
    if not np.isfinite(nyquist):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Caution)
            finer = on_mesh(plant, 2)
            if finer is None:
                return None
            two = rubbing(plant, inputs, outputs), rubbing(finer, inputs, outputs)
            limit = _extrapolated(*two, nyquist, strict)
    except FlexctlError:
        return None
    if limit is None:
        return None
    whole = first_order(limit, modes=sum(c.name.startswith("mode") for c in limit.coordinates), static_correction=True)
    D = whole.D.copy()
    D[len(outputs) :] = 0.0  # rates are those of the modes that move: a force must not act on a rate at once
    if len(whole.states) > LARGEST:
        return None
    return Sampled(replace(whole, D=D), two[0].laws, len(outputs), len(inputs))


def left_by_mesh(plant: Plant, data: Record, count: int, substeps: int) -> FloatArray:
    """Return what an infinitely fine mesh changes of the linear outputs of a record, zero where that is not known.

    Added to the full model of a mesh it takes the error of that mesh out of what is linear of it.
    """
    between = names(data.inputs), names(data.outputs), data.nyquist
    limit, own = in_the_limit(plant, *between), sampled(plant, *between)
    if limit is None:
        return np.zeros((count, len(data.outputs)))
    first, second = (one.outputs(data.u[:count], data.dt, data.held, 0, 1, substeps) for one in (limit, own))
    return np.asarray(first - second)


def fine_enough(plant: Plant, finest: int) -> Plant:
    """Return the plant on a mesh on which its lowest frequencies are within `NEAR` of those of one twice as fine.

    Or on the finest one of at most so many coordinates.
    """
    while (finer := on_mesh(plant, 2)) is not None and len(finer.model.coordinates) <= finest:
        one, two = (p.linearise().modes().frequencies_hz[:LOWEST] for p in (plant, finer))
        if bool((np.abs(one - two) <= NEAR * two).all()):
            break
        plant = finer
    return plant


def _extrapolated(coarse: Rubbing, fine: Rubbing, nyquist: float, strict: bool) -> SecondOrder | None:
    """Return the extrapolated plant in normal coordinates, those that move."""
    modal = [modal_coordinates(one.plant) for one in (coarse, fine)]
    values = [np.diag(one.K) for one in modal]
    first, second = (value[value > 0.0] for value in values)
    always = values[0].size - first.size
    count = min(first.size, int(np.sum(second <= (KEPT * nyquist) ** 2)))
    near = np.abs(first[:count] / second[:count] - 1.0) < COARSE
    count = count if near.all() else int(np.argmin(near))
    if values[1].size - second.size != always or count == 0:
        return None
    if strict and count < second.size and second[count] <= nyquist**2:
        return None  # a mode of the record would have to follow statically
    a, b = (truncated(one, always + count, True) for one in modal)
    turned = _turned(a, b, OFF if strict else np.inf)
    if turned is None:
        return None
    mixed = {name: (4.0 * getattr(b, name) - getattr(turned, name)) / 3.0 for name in _PARTS}
    return replace(b, **mixed, basis=None)


_PARTS = ("D", "K", "B", "Cq", "Cv", "Ca", "Du")


def _turned(a: SecondOrder, b: SecondOrder, most: float) -> SecondOrder | None:
    """Return the plant a with its modes turned into those of b, None where one of them is off by too much."""
    mine, theirs = _seen(a), _seen(b)
    size = np.maximum(np.linalg.norm(theirs, axis=0), 1e-300)
    mine, theirs = mine / size, theirs / size
    Q = np.zeros((len(mine), len(mine)))
    for rows in _clusters(np.diag(a.K), np.diag(b.K)):
        U, _, V = np.linalg.svd(theirs[rows] @ mine[rows].T)
        Q[rows, rows] = U @ V
        far = np.linalg.norm(Q[rows, rows] @ mine[rows] - theirs[rows])
        if far > most * np.linalg.norm(theirs[rows]):
            return None
    return replace(
        a, D=Q @ a.D @ Q.T, K=Q @ a.K @ Q.T, B=Q @ a.B, Cq=a.Cq @ Q.T, Cv=a.Cv @ Q.T, Ca=a.Ca @ Q.T
    )


def _seen(plant: SecondOrder) -> FloatArray:
    """Return what inputs and outputs see of each mode, a row for each."""
    return np.asarray(np.hstack([plant.B, plant.Cq.T, plant.Cv.T, plant.Ca.T]))


def _clusters(first: FloatArray, second: FloatArray) -> list[slice]:
    """Return the rigid modes, and groups of modes whose eigenvalues are as close as the meshes leave them."""
    change = np.abs(first - second)
    edges = [0]
    for k in range(1, second.size):
        gap = APART * max(change[k - 1], change[k], 1e-9 * second[k])
        same = second[k] == second[k - 1] == 0.0 or (second[k - 1] > 0.0 and second[k] - second[k - 1] < gap)
        if not same:
            edges.append(k)
    return [slice(i, j) for i, j in zip(edges, [*edges[1:], second.size], strict=True)]
