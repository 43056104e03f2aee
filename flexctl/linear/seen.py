"""The plant as a sampled law sees it, which is also how `simulate` runs it.

A continuous plant is sampled exactly behind a zero-order hold. What it feeds through, a sensor reads before the new
command acts: y[k] = C x[k] + D u[k-1]. The equation y[k] = C x[k] + D u[k], taken for the same plant, would let the law
answer to its own command within the sample, and an acceleration fed back would look stable at every gain.

A plant that is sampled already is what its equation says; under a law of a longer period, a multiple of its own,
several of its samples make one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..errors import require
from ..machine.given import LinearGiven, as_first_order
from ..model import names
from . import FirstOrder
from .discrete import zero_order_hold


def as_seen(plant: LinearGiven, dt: float, reads: Sequence[str] = ()) -> FirstOrder:
    """Return a plant in first order as a law of control period dt sees it.

    Parameters
    ----------
    plant : FirstOrder, SecondOrder or what becomes one
        The plant, continuous or sampled.
    dt : float
        Control period [s]; 0 for a continuous law, which needs a continuous plant.
    reads : sequence of str
        Outputs that the law measures; of others it does not matter when they read.
    """
    known = as_first_order(plant)
    if dt == 0 or known.dt > 0:
        return resampled(known, dt)
    found = zero_order_hold(known, dt)
    rows = [i for i, name in enumerate(names(known.outputs)) if name in reads]
    columns = np.flatnonzero(np.any(known.D[rows] != 0.0, axis=0)) if rows else np.zeros(0, np.intp)
    if not columns.size:
        return found
    n, p, held = len(found.states), len(found.inputs), columns.size
    A = np.block([[found.A, np.zeros((n, held))], [np.zeros((held, n + held))]])
    B = np.vstack([found.B, np.eye(p)[columns]])
    D, late = found.D.copy(), np.zeros((len(found.outputs), held))
    at = np.ix_(np.array(rows), columns)
    late[rows] = found.D[at]
    D[at] = 0.0
    waiting = tuple(replace(known.inputs[j], name=f"{known.inputs[j].name}_held") for j in columns)
    return replace(found, A=A, B=B, C=np.hstack([found.C, late]), D=D, states=(*found.states, *waiting))


def resampled(plant: FirstOrder, dt: float) -> FirstOrder:
    """Return a plant at another sample time [s], a multiple of its own; a continuous one for dt = 0 alone."""
    if plant.dt == dt:
        return plant
    require(plant.dt > 0, f"the plant is continuous and the law acts every {dt:g} s: sample the plant")
    require(dt > 0, f"the law is continuous, the plant is sampled every {plant.dt:g} s: give the law this sample_time")
    count = round(dt / plant.dt)
    fits = count >= 1 and abs(dt / plant.dt - count) <= 1e-9 * count
    require(fits, f"the law acts every {dt:g} s, the plant is sampled every {plant.dt:g} s: give a multiple of that")
    A, B = np.eye(len(plant.states)), np.zeros_like(plant.B)
    for _ in range(count):
        A, B = plant.A @ A, plant.A @ B + plant.B
    note = {**plant.provenance, "resampled": float(dt)}
    return replace(plant, A=A, B=B, dt=float(dt), provenance=note)
