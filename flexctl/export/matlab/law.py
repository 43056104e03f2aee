"""A law for MATLAB and Octave: NAME.m rebuilds law, plant and closed loop as named systems; NAME.mat holds them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import __version__
from ...errors import DefinitionError, NotAvailable
from ...io.python_control import linear_bytes_beside
from ...laws.blended import Blended
from ...laws.controller import Delayed, LinearLaw, Noisy, Quantised, Saturated, _Wrapper, inside, is_wrapper
from ...laws.governed import Governed
from ...laws.linear_part import linear_law, linear_part
from ...laws.scheduled import ScheduledLaw
from ...linear import FirstOrder
from ...linear.discrete import delay_outputs
from ...linear.interconnect import closed_loop
from ...linear.seen import as_seen
from ...machine.given import as_first_order, as_simulated
from ...model import MechanicalModel, Signal, names
from ..c import units_of
from ..given import distinct_names
from ..program import PARTS, Units, derivative
from ..provenance import design_of, plant_text
from ..sampled import Sampling, note_of
from .text import MADE, NEEDS_SS, check_function_name, comment, system, told

if TYPE_CHECKING:
    from .. import Request, Written


def write(request: Request) -> Written:
    """Return NAME.m and NAME.mat of a law."""
    from .. import Written

    check_function_name(request.name)
    design = design_of(request.thing)
    law, notes = _sampled(request, design)
    about = _left_out(law)
    linear = law_system(law, request.plant, units_of(request.plant, design))
    systems: dict[str, FirstOrder] = {"law": linear}
    if design is None and request.plant is None:
        notes.append("no plant is known: NAME.m has the law alone; give one, plant=... (on the command line PLANT)")
    else:
        plant = as_first_order(request.plant if design is None else design.plant)
        systems |= {"plant": plant, "loop": _loop(plant, linear)}
    for key in systems:
        systems[key], renamed = distinct_names(systems[key])
        notes += [f"{key}: {note}" for note in renamed]
    title = request.title or request.name
    lines = _about(request, title, systems, about, notes)
    files = {
        f"{request.name}.m": function(request.name, lines, systems).encode(),
        f"{request.name}.mat": linear_bytes_beside(systems["law"], {k: v for k, v in systems.items() if k != "law"}),
    }
    facts: dict[str, Any] = {"sample_time_s": linear.dt, "states": len(linear.states), "systems": list(systems)}
    return Written(files, (*notes, *about), facts)


def law_system(law: Any, plant: Any, units: Units) -> FirstOrder:
    """Return the linear part of a law from readings and references to commands, delays included.

    Raises
    ------
    NotAvailable
        Where the law is not one linear system: it changes with time, or its step is not linear about rest.
    """
    inner = law
    while is_wrapper(inner) or isinstance(inner, _Wrapper):
        inner = inside(inner)
    if isinstance(inner, ScheduledLaw):
        raise NotAvailable(
            "the law changes with time, which one ss object cannot: export it as C code (--to c) or FMU (--to fmu)"
        )
    if plant is None:
        found = linear_part(law, _unknown_reading)
    else:
        found = linear_law(law, plant if isinstance(plant, MechanicalModel) else as_simulated(plant))
    delay = 0
    while type(found) is Delayed:
        delay, found = delay + found.samples, found.law
    linear = _with_references(found, units) if isinstance(found, LinearLaw) else _told(found.feedback(), units)
    return delay_outputs(linear, delay)


def _unknown_reading(name: str) -> float:
    raise DefinitionError(f"the law depends on what {name} reads: give the plant, whose operating point says it")


def _with_references(law: LinearLaw, units: Units) -> FirstOrder:
    """Return the law with all its inputs, the command after the limits fed back."""
    references = tuple(
        Signal(f"{s.name}_reference{'' if i == 0 else '_' + part}", derivative(s.unit, i), f"{part} of the reference")
        for s in (units.reference(name) for name in law.follows) for i, part in enumerate(PARTS)
    )
    inputs = (*(units.output(name) for name in law.measures), *references)
    return FirstOrder(
        law.A + law.Bu @ law.C, np.hstack([law.By + law.Bu @ law.Dy, law.Br + law.Bu @ law.Dr]), law.C,
        np.hstack([law.Dy, law.Dr]), tuple(Signal(f"x{i + 1}") for i in range(len(law.A))), inputs,
        tuple(units.input(name) for name in law.drives), float(law.sample_time),
    )


def _told(linear: FirstOrder, units: Units) -> FirstOrder:
    """Return the readings and commands with their units."""
    return replace(
        linear, inputs=tuple(units.output(s.name) for s in linear.inputs),
        outputs=tuple(units.input(s.name) for s in linear.outputs),
    )


def _sampled(request: Request, design: Any) -> tuple[Any, list[str]]:
    """Return the law, sampled where that is asked for; MATLAB takes a continuous one as it is."""
    options: Mapping[str, Any] = request.options
    law = request.thing
    if not options:
        return law, []
    sampling = Sampling(options.get("sample_time"), options.get("method"), None if design is None else design.plant)
    bare = law
    while isinstance(bare, _Wrapper) and bare.informs:
        bare = bare.law
    found, effect = sampling.applied(bare)
    return found, list(note_of(effect))


def _left_out(law: Any) -> list[str]:
    """Return what a linear system cannot say of a law."""
    said = []
    while True:
        if isinstance(law, Quantised):
            quanta = ", ".join(f"{name} {quantum:.9g}" for name, quantum in law.quanta.items())
            said.append(f"the rounding of readings is left out: {quanta}")
        elif isinstance(law, Noisy):
            said.append("measurement noise is left out")
        elif isinstance(law, Saturated) and np.isfinite(law.limit):
            said.append(f"the limit of the command is left out: {law.limit:g}")
        elif isinstance(law, LinearLaw) and (np.isfinite(law.lower).any() or np.isfinite(law.upper).any()):
            ends = ", ".join(
                f"{name} {low:g} .. {high:g}" for name, low, high in zip(law.drives, law.lower, law.upper, strict=True)
            )
            said.append(f"the limits of the command are left out: {ends}")
        elif isinstance(law, Governed):
            said.append("the governor, which slows the references down, is left out")
        elif isinstance(law, Blended):
            said.append(f"the law is scheduled by {law.by}: this is the one that acts at the plant's operating point")
        elif not isinstance(law, LinearLaw | _Wrapper):
            said.append(f"this is the linear part of the {type(law).__name__} about rest")
        if not (isinstance(law, _Wrapper) or is_wrapper(law)):
            return said
        law = inside(law)


def _loop(plant: FirstOrder, law: FirstOrder) -> FirstOrder:
    """Return the closed loop; of a sampled law with the plant behind a hold."""
    loop = closed_loop(as_seen(plant, law.dt, names(law.inputs)), law)
    # commands are called like the plant's inputs, which are inputs of the loop too: disturbances that add to them
    p = len(plant.inputs)
    inputs = tuple(
        s if i < len(loop.inputs) - p else replace(s, name=f"{s.name}_disturbance") for i, s in enumerate(loop.inputs)
    )
    return replace(loop, inputs=inputs)


def _about(
    request: Request, title: str, systems: Mapping[str, FirstOrder], about: list[str], notes: list[str]
) -> list[str]:
    law = systems["law"]
    kind = f"sampled every {law.dt:.9g} s" if law.dt else "continuous"
    design = design_of(request.thing)
    source = request.plant if request.plant is not None else design and design.plant
    lines = [
        f"{request.name.upper()}  Control law {title}, {kind}, as named ss objects.",
        f"  [{', '.join(systems)}] = {request.name}() needs no other file. Written by flexctl {__version__}.",
        f"  plant: {plant_text(source)}",
        "  command = law * [readings; references]: the law's own sign, so that the loop is closed by feedback(.., +1).",
    ]
    if "loop" in systems:
        lines.append("  loop: references, and disturbances that add to the commands, to outputs and commands.")
    lines += [f"  {line}" for line in (*told("inputs of the law", law.inputs), *told("commands", law.outputs))]
    return [*lines, *(f"  note: {note}" for note in (*about, *notes))]


def function(name: str, about: list[str], systems: Mapping[str, FirstOrder]) -> str:
    """Return the .m file: a function without arguments that returns the systems."""
    body = [line for key, value in systems.items() for line in system(key, f"{name}_{key}", value)]
    results = f"[{', '.join(systems)}]" if len(systems) > 1 else next(iter(systems))
    return "\n".join([f"function {results} = {name}()", comment(about), NEEDS_SS, *body, "end", MADE])
