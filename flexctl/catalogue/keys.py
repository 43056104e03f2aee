"""The meaning of a dotted key of a plant file or of a sweep: a quantity with its unit, or a plain value."""

from __future__ import annotations

from ..machine.schema import Ascending, Quantity
from .definition import TABLES
from .linear_plant import key_unit as unit_of_linear


def key_unit(key: str) -> str | None:
    """Return the unit of a key of a plant file or of a sweep; None for a plain value, empty if unknown.

    "payload.mass" -> "kg", "joint.1.stiffness" -> "N m/rad", "scenario.step" -> "s", "model.sections" -> None.
    """
    table, _, name = key.partition(".")
    of_linear = unit_of_linear(key)
    if of_linear is not None:
        return of_linear
    if table == "scenario":
        return "s" if name in ("duration", "step") else None
    if not name:
        return ""
    if table == "model":
        return None
    if table not in TABLES:
        return ""
    field = TABLES[table].fields.get(name.rpartition(".")[2])
    if field is None:
        return ""
    return field.spec.unit if isinstance(field.spec, Quantity | Ascending) else None
