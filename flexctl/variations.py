"""How the plant of a run differs from the one a controller was designed for, and what its sensors should come back to.

Stiffness is varied through Young's modulus of all materials, E = E0 (1 + x)^2, so that natural frequencies change by x.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from .errors import NotAvailable
from .model import OperatingPoint, index_of
from .trajectories import Step

if TYPE_CHECKING:
    from .catalogue import Plant


def changed(plant: Plant, payload: float | None = None, frequency: float = 0.0) -> dict[str, Any]:
    """Return the overrides for a payload [kg] and a relative change of all natural frequencies."""
    found: dict[str, Any] = {} if payload is None else {"payload.mass": payload}
    if frequency:
        moduli = {r.key: r.value for r in plant.rows if re.fullmatch(r"material\.[^.]+\.youngs_modulus", r.key)}
        if not moduli:
            raise NotAvailable(f"{plant.name} has no Young's modulus: its stiffness cannot be varied")
        found |= {key: float(value) * (1.0 + frequency) ** 2 for key, value in moduli.items()}
    return found


def frequencies(plant: Plant, settings: Mapping[str, Any], changes: Iterable[float]) -> dict[str, dict[str, Any]]:
    """Return overrides by what to add to a scenario's name: settings with natural frequencies changed by each part."""
    return {
        f", frequencies {100 * x:+g} %" if x else "": {**settings, **changed(plant, frequency=x)} for x in changes
    }  # fmt: skip


def resting(plant: Plant, outputs: Iterable[str], until: float) -> dict[str, Step]:
    """Return references of outputs that should read what they read at rest once a move is over, at `until` [s].

    The score `residual` counts from there on.
    """
    point = OperatingPoint.at_rest(plant.model)
    y = plant.model.output(point.q, point.v, point.a, point.u)
    value = {name: float(y[index_of("output", name, plant.model.outputs)]) for name in outputs}
    return {name: Step(x, x, until) for name, x in value.items()}
