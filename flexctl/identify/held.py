"""Parameters that were not free (the tip's body, hubs, friction), and what the data say of them.

A payload's inertia is easily forgotten, and moves stiffness and masses by several of their deviations although nearly
nothing is left over. So each parameter of this kind is let go for one Gauss-Newton step beside the free ones:

    [dx, dp] = -(J'J)^-1 J'r,   J = [dr/dx, dr/dp]

If dp is far beyond its deviation, the data ask for it. Where the data cannot tell, but a compact body of the payload's
mass would move the free parameters by more than their deviations, that is said too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import FlexctlError
from ..model import FloatArray
from .problem import Block, Problem, Setting

if TYPE_CHECKING:
    from ..catalogue import Plant

HELD = re.compile(r"payload\.(mass|inertia)|joint\.\d+\.(hub_inertia|friction)|damping\.ratio")
PART = 0.05
"""Change for differences, as a part of the value or of what would be usual."""
SURE, MATERIAL = 4.0, 1e-3
"""Deviations beyond which the data ask for another value; least part of it that matters."""
UNTOLD = 0.1
"""Deviation, in parts of what is usual, from which on the data cannot tell a value from zero."""
MOVES = 1.0
"""Deviations by which a free parameter must move for a word."""
STEEL, HUB = 7850.0, 1e-3
"""Density [kg/m^3] of a compact payload; inertia of a light hub as a part of that of its link about the joint."""

Middle = Callable[[FloatArray, FloatArray, Block, float], FloatArray]


class Release(NamedTuple):
    """One step with a held parameter free: its change and deviation in parts of `unit`, and what the others do."""

    change: float
    deviation: float
    others: FloatArray
    usual: FloatArray  # what the others do when it changes by one unit


def words(
    found: Problem, x: FloatArray, at: Setting, r: FloatArray, J: FloatArray, sigma: FloatArray, middle: Middle
) -> list[str]:
    """Return a word on every held parameter that the data ask for, or that they cannot tell and that matters."""
    plant, said = found.plant_at(x), []
    for row in plant.rows:
        if not HELD.fullmatch(row.key) or row.key in found.keys or isinstance(row.value, bool | str):
            continue
        value = float(row.value or 0.0)
        unit = value or _usual(plant, row.key)
        if unit <= 0.0:
            continue
        try:
            other = found.changed(plant=found.plant.with_({row.key: value + PART * unit}))
            g = (other.residual(x, at) - r) / PART
        except FlexctlError:
            continue
        step = _released(found, r, J, g, middle)
        told = _asked(found, row.key, value, row.unit, unit, step, sigma)
        if not told and row.key == "payload.inertia" and value == 0.0:
            told = _compact(found, unit, step, sigma)
        said += told
    return said


def _usual(plant: Plant, key: str) -> float:
    """Return what a parameter that is zero might be: a compact body at the tip, a light hub; else 0."""
    arm = plant.arm
    if key == "payload.inertia":
        side = (arm.payload.mass / STEEL) ** (1.0 / 3.0)
        return float(arm.payload.mass * side**2 / 6.0)
    if key.endswith("hub_inertia"):
        link = arm.links[int(key.split(".")[1]) - 1]
        return float(HUB * link.mass * link.length**2 / 3.0) if link.length else 0.0
    return 0.0


def _released(found: Problem, r: FloatArray, J: FloatArray, g: FloatArray, middle: Middle) -> Release:
    blocks, n = found.blocks(), J.shape[1]
    wide = np.column_stack([J, g])
    size = np.maximum(np.linalg.norm(wide, axis=0), 1e-300)
    wide = wide / size
    inverse = np.asarray(np.linalg.pinv(wide.T @ wide, rcond=1e-12), float)
    scale = max(1.0, float(r @ r) / max(r.size - n, 1))
    spread = inverse @ sum(middle(wide, r, block, scale) for block in blocks) @ inverse
    step = -(inverse @ (wide.T @ r)) / size
    usual = -np.asarray(np.linalg.pinv(wide[:, :n], rcond=1e-12) @ g, float) / size[:n]
    return Release(float(step[n]), float(np.sqrt(max(spread[n, n], 0.0)) / size[n]), step[:n], usual)


def _asked(
    found: Problem, key: str, value: float, unit_name: str, unit: float, step: Release, sigma: FloatArray
) -> list[str]:
    new, moved = value + step.change * unit, np.abs(step.others) / np.maximum(sigma, 1e-300)
    sure = abs(step.change) > SURE * step.deviation and abs(step.change) > MATERIAL and new > 0.0
    if not sure or moved.max(initial=0.0) < MOVES:
        return []
    k = int(np.argmax(moved))
    return [
        f"{key} = {value:.4g} {unit_name} is held, but the data ask for about {new:.3g} "
        f"({abs(step.change) / max(step.deviation, 1e-300):.3g} deviations off), with which {found.keys[k]} would move "
        f"by {step.others[k]:+.2%}, {moved[k]:.2g} of its deviations: free it too, or give its value"
    ]


def _compact(found: Problem, unit: float, step: Release, sigma: FloatArray) -> list[str]:
    """Return a word where the data cannot tell a point from a compact body, and that matters."""
    doubt = min(step.deviation, 1.0)
    moved = np.abs(step.usual) * doubt / np.maximum(sigma, 1e-300)
    k = int(np.argmax(moved))
    if doubt < UNTOLD or moved[k] < MOVES:
        return []
    return [
        f"payload.inertia = 0 is held, and the data tell it only within {step.deviation * unit:.2g} kg m^2 (a steel "
        f"cube of the payload's mass has {unit:.2g}): {doubt * unit:.2g} would move {found.keys[k]} by "
        f"{step.usual[k] * doubt:+.2%}, {moved[k]:.2g} of its deviations; give it in the plant file"
    ]
