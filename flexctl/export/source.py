"""Sources of exports: the law or plant behind a name, a script, an object."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..abilities import Identified, provenance_of
from ..catalogue import load_controller, own_plant
from ..errors import DefinitionError, require
from ..judging.scenario import design
from ..laws.controller import Controller
from ..laws.given import as_law
from ..machine.given import PLANT, as_plant, opened, refused


def law_of(law: Any, plant: Any = None) -> tuple[Any, str, Any, Any]:
    """Return the law with its wrappers, its title, the plant it was designed on and its script, where there are such.

    Parameters
    ----------
    law : Any
        A law, a linear system, or the name or path of a controller script.
    plant : Any
        The plant in place of the script's own.
    """
    if isinstance(law, str | Path):
        script = load_controller(law)
        given = own_plant(script) if plant is None else plant
        if given is None:
            raise DefinitionError(f'{law} names no plant (PLANT = "..."): give one, plant=...')
        arm = as_plant(given)
        found = design(script, arm)
        return _as_law(found), Path(law).stem, arm, script
    return _as_law(law), "", None if plant is None else opened(plant), None


def _as_law(law: Any) -> Any:
    """Return a law as it is, with its design; a linear system as a law."""
    require(law is not None, "law = None is not a law; give the name of a script, a design or a law")
    return law if isinstance(law, Controller) else as_law(law)


def plant_of(plant: Any) -> tuple[Any, str]:
    """Return the plant behind a name or path, and its name."""
    found = opened(plant)
    if isinstance(found, type):
        raise refused("a plant", found, f"{PLANT}, a model or a linear plant")
    record = found.identity if isinstance(found, Identified) else provenance_of(found)
    return found, str(dict(record or {}).get("plant", ""))
