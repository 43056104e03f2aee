"""A linear plant as JSON: one object with matrices, names, units, operating point and origin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..io.python_control import linear_bytes
from ..linear import SecondOrder
from ..machine.given import as_linear
from .given import first_order_of

if TYPE_CHECKING:
    from . import Request, Written


def write(request: Request) -> Written:
    """Return NAME.json of a plant, which `flexctl.load_linear` reads back to the identical plant."""
    from . import Written

    found, modes = as_linear(request.thing), request.options.get("modes")
    plant = found if modes is None else first_order_of(found, modes)
    size = {"coordinates": len(plant.coordinates)} if isinstance(plant, SecondOrder) else {"states": len(plant.states)}
    return Written(
        {f"{request.name}.json": linear_bytes(plant, ".json")}, (),
        {**size, "inputs": len(plant.inputs), "outputs": len(plant.outputs)},
    )
