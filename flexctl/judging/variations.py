"""How the plant of a run differs from the one a controller was designed for, and what a move leaves of vibration.

Stiffness is varied through Young's modulus of all materials, E = E0 (1 + x)^2, so that natural frequencies change by x;
of links that are given by what was measured through that, and of an arm of rigid links through the springs of its
joints; those of a linear plant are changed themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..abilities import IsLinear
from ..catalogue.linear_plant import FACTOR as FREQUENCY_FACTOR
from ..errors import NotAvailable
from ..machine.given import as_plant
from ..model import OperatingPoint, index_of
from ..motion.resting import Rest

if TYPE_CHECKING:
    from ..catalogue import Plant
    from ..simulation.response import Response


def changed(plant: Plant, payload: float | None = None, frequency: float = 0.0) -> dict[str, Any]:
    """Return the overrides for a payload [kg] and a relative change of all natural frequencies."""
    if isinstance(plant, IsLinear):
        if payload is not None:
            raise NotAvailable(f"{plant.name} is a linear plant: it has no payload")
        return {FREQUENCY_FACTOR: plant.overrides.get(FREQUENCY_FACTOR, 1.0) * (1.0 + frequency)} if frequency else {}
    found: dict[str, Any] = {} if payload is None else {"payload.mass": payload}
    if frequency:
        stiff = _given(plant, r"material\.[^.]+\.youngs_modulus|link\.\d+\.bending_stiffness")
        measured = _given(plant, r"link\.\d+\.clamped_frequency_hz")
        if not (stiff or measured):
            stiff = _given(plant, r"joint\.\d+\.(cubic_)?stiffness")
        if not (stiff or measured):
            raise NotAvailable(f"{plant.name} has no link or joint that bends: its stiffness cannot be varied")
        for keys, factor in ((stiff, (1.0 + frequency) ** 2), (measured, 1.0 + frequency)):
            found |= {key: float(f"{value * factor:.12g}") for key, value in keys.items()}
    return found


def _given(plant: Plant, pattern: str) -> dict[str, float]:
    """Return the numbers of a plant that are not zero, of the keys of a pattern."""
    return {r.key: r.value for r in plant.rows if re.fullmatch(pattern, r.key) and r.value}


def frequency_variations(
    plant: Plant, settings: Mapping[str, Any], changes: Iterable[float]
) -> dict[str, dict[str, Any]]:
    """Return overrides by what to add to a scenario's name: settings with natural frequencies changed by each part.

    Examples
    --------
    >>> arm = fx.load_plant("tokhi_azad_1994")
    >>> list(fx.frequency_variations(arm, {}, (0.0, -0.1)))
    ['', ', frequencies -10 %']
    """
    plant = as_plant(plant)
    return {
        f", frequencies {100 * x:+g} %" if x else "": {**settings, **changed(plant, frequency=x)} for x in changes
    }


def rest_references(plant: Plant, outputs: Iterable[str], until: float) -> dict[str, Rest]:
    """Return references of outputs that should read as at rest once a move is over, at `until` [s].

    Examples
    --------
    >>> arm = fx.load_plant("ralf")
    >>> list(fx.rest_references(arm, ["strain_lower"], 2.0))
    ['strain_lower']
    """
    plant = as_plant(plant)
    point = OperatingPoint.at_rest(plant.model)
    y = plant.model.output(point.q, point.v, point.a, point.u)
    return {name: Rest(float(y[index_of("output", name, plant.model.outputs)]), until) for name in outputs}


def vibration_ratios(runs: Mapping[str, Response], against: Mapping[str, str]) -> dict[str, dict[str, float]]:
    """Return by run and signal how many times less vibration is left than in the run it stands against.

    Parameters
    ----------
    runs : mapping
        Runs by name.
    against : mapping
        Name of the run that each is compared with; those with none, or one that is missing, are left out.
    """
    pairs = {name: (runs[other], run) for name, run in runs.items() if (other := against.get(name, "")) in runs}
    return {
        name: {
            key.removesuffix(".vibration"): base.scores[key] / max(left, 1e-300)
            for key, left in run.scores.items() if key.endswith(".vibration") and key in base.scores
        } for name, (base, run) in pairs.items()
    }
