"""A linear plant for MATLAB and Octave: NAME.m, a function that rebuilds it, and NAME.mat."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import __version__
from ...io.python_control import linear_bytes
from ...linear import FirstOrder
from ...machine.given import as_linear
from ..given import distinct_names, first_order_of
from .text import MADE, NEEDS_SS, check_function_name, comment, system, told

if TYPE_CHECKING:
    from .. import Request, Written


def write(request: Request) -> Written:
    """Return NAME.m and NAME.mat of a plant."""
    from .. import Written

    check_function_name(request.name)
    found = as_linear(request.thing)
    modes = request.options.get("modes")
    plant, notes = distinct_names(first_order_of(found, modes))
    title = request.title or request.name
    files = {
        f"{request.name}.m": function(request.name, title, plant).encode(),
        f"{request.name}.mat": linear_bytes(found if modes is None else plant, ".mat"),
    }
    facts = {"states": len(plant.states), "inputs": len(plant.inputs), "outputs": len(plant.outputs), "dt": plant.dt}
    return Written(files, tuple(notes), facts)


def function(name: str, title: str, plant: FirstOrder) -> str:
    """Return the .m file: a function without arguments that returns the system."""
    kind = f"sampled every {plant.dt:g} s" if plant.dt else "continuous"
    about = comment([
        f"{name.upper()}  Linear plant of {title}, {kind}, {len(plant.states)} states, as a named ss object.",
        f"  system = {name}() needs no other file. Written by flexctl {__version__}.",
        "  All values are deviations from the operating point.",
        *(f"  {line}" for line in (*told("inputs", plant.inputs), *told("outputs", plant.outputs))),
    ])
    return "\n".join([f"function system = {name}()", about, NEEDS_SS, *system("system", name, plant), "end", MADE])
