"""First-order form of an arm behind actuators that it does not load, every state by its name.

    M11 a1 + D11 v1 + K11 q1                             = B1 u           actuators: nothing of q2 acts on them
    M21 a1 + D21 v1 + K21 q1 + M22 a2 + D22 v2 + K22 q2  = B2 u           the arm

Among q1 some coordinates w have damping but no mass: states of first order. The actuators keep the states (p, p', w)
under their names, the arm is brought to its own modes. The poles are those of the two parts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..model import FloatArray, Signal
from . import FirstOrder, SecondOrder
from .descriptor import massless_directions

Indices = npt.NDArray[np.intp]


class Actuators(NamedTuple):
    """Coordinates with mass and of first order that nothing else acts on."""

    p: Indices
    w: Indices


def actuators(plant: SecondOrder) -> Actuators | None:
    """Return the actuators of a plant, or None where there are none that the rest does not load.

    Each has one coordinate of first order and moves at most one with mass.
    """
    pattern = (plant.M != 0.0) | (plant.D != 0.0) | (plant.K != 0.0)
    without_mass = ~(plant.M.any(axis=0) | plant.M.any(axis=1))
    first = without_mass & plant.D.any(axis=1)
    chosen = first.copy()
    for _ in range(chosen.size):
        grown = chosen | pattern[chosen].any(axis=0)
        if np.array_equal(grown, chosen):
            break
        chosen = grown
    if not first.any() or chosen.all():
        return None
    p, w = np.flatnonzero(chosen & ~first), np.flatnonzero(first)
    if p.size > w.size:  # a motor that the arm loads: nothing but what does not bend, as its stretch, is left to drive
        return None
    blocks = (plant.M[np.ix_(p, p)], plant.D[np.ix_(w, w)])
    rest = plant.M[np.ix_(~chosen, ~chosen)]
    if any(massless_directions(block) is not None for block in (*blocks, rest)) or plant.Ca[:, w].any():
        return None
    return Actuators(p, w)


def _own_states(plant: SecondOrder, p: Indices, w: Indices) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return A, B of x = (p, p', w), and S, T of (p, p', p'', w, w') = S x + T u."""
    k, m, nu = p.size, w.size, plant.B.shape[1]

    def part(matrix: FloatArray, rows: Indices, columns: Indices) -> FloatArray:
        return matrix[np.ix_(rows, columns)]

    right = np.hstack([-part(plant.K, w, p), -part(plant.D, w, p), -part(plant.K, w, w), plant.B[w]])
    lag = np.asarray(np.linalg.solve(part(plant.D, w, w), right), float)
    right = np.hstack([-part(plant.K, p, p), -part(plant.D, p, p), -part(plant.K, p, w), plant.B[p]])
    push = np.asarray(np.linalg.solve(part(plant.M, p, p), right - part(plant.D, p, w) @ lag), float)
    rate = np.hstack([np.zeros((k, k)), np.eye(k), np.zeros((k, m + nu))])
    position, state = np.eye(k, 2 * k + m + nu), np.eye(m, 2 * k + m + nu, 2 * k)
    A, S = np.vstack([rate, push, lag]), np.vstack([position, rate, push, state, lag])
    n = 2 * k + m
    return A[:, :n], A[:, n:], S[:, :n], S[:, n:]


def driven_arm(plant: SecondOrder, found: Actuators) -> SecondOrder:
    """Return the arm alone, with p, p', p'', w and w' as further inputs."""
    p, w = found
    rest = np.setdiff1d(np.arange(len(plant.coordinates)), np.concatenate([p, w]))
    columns = ((plant.K, p), (plant.D, p), (plant.M, p), (plant.K, w), (plant.D, w))
    driving = [-matrix[np.ix_(rest, at)] for matrix, at in columns]
    through = [plant.Cq[:, p], plant.Cv[:, p], plant.Ca[:, p], plant.Cq[:, w], plant.Cv[:, w]]
    nu, inner = len(plant.inputs), np.ix_(rest, rest)
    more = tuple(Signal(f"input {i}") for i in range(nu, nu + sum(block.shape[1] for block in driving)))
    return replace(
        plant, M=plant.M[inner], D=plant.D[inner], K=plant.K[inner], B=np.hstack([plant.B[rest], *driving]),
        Cq=plant.Cq[:, rest], Cv=plant.Cv[:, rest], Ca=plant.Ca[:, rest], Du=np.hstack([plant.Du, *through]),
        coordinates=tuple(plant.coordinates[i] for i in rest), inputs=plant.inputs + more, basis=None,
    )


def own_poles(plant: SecondOrder, found: Actuators) -> FirstOrder:
    """Return the actuators alone, without inputs and outputs."""
    A = _own_states(plant, *found)[0]
    n, none = len(A), ()
    return FirstOrder(A, np.zeros((n, 0)), np.zeros((0, n)), np.zeros((0, 0)), _names(plant, found), none, none)


def _names(plant: SecondOrder, found: Actuators) -> tuple[Signal, ...]:
    own = [plant.coordinates[i] for i in found.p]
    rates = (Signal(f"{c.name}_rate", f"{c.unit}/s") for c in own)
    return (*own, *rates, *(plant.coordinates[i] for i in found.w))


def cascade(plant: SecondOrder, found: Actuators, modes: int | None = None) -> FirstOrder:
    """Return the first-order form; the arm in modal coordinates, with this many flexible modes (default: all)."""
    from .realise import first_order

    flexible, nu = first_order(driven_arm(plant, found), "modal", modes), len(plant.inputs)
    A, B, S, T = _own_states(plant, *found)
    states = _names(plant, found)
    push, reach = flexible.B[:, nu:], flexible.D[:, nu:]
    return FirstOrder(
        np.block([[A, np.zeros((len(A), len(flexible.A)))], [push @ S, flexible.A]]),
        np.vstack([B, flexible.B[:, :nu] + push @ T]), np.hstack([reach @ S, flexible.C]),
        flexible.D[:, :nu] + reach @ T, (*states, *flexible.states), plant.inputs, plant.outputs, 0.0,
        {**flexible.provenance},
    )
