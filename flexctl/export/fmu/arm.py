"""A nonlinear arm as functional mock-up unit for co-simulation: the compiled time loop of a run, translated to C."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import __version__
from ...abilities import Identified, kind_of, provenance_of
from ...errors import NotAvailable, require
from ...linear.operating import rest_point
from ...machine.given import as_simulated, opened
from ...model import FloatArray, LinearMechanics, MechanicalModel, Signal, names
from ...support.checks import number
from .arm_source import Loop, loop_of, source
from .description import Description, Variable, distinct
from .package import packed, runtime
from .page import page

if TYPE_CHECKING:
    from .. import Request, Written

RUNTIME = tuple(f"flexctl_{name}" for name in ("fmi2.h", "unit.h", "unit.c", "numbers.h", "arm.c"))
STEP, STOP = 1e-3, 1.0
FOLLOWED = 0.3
"""Steps times angular frequency of an oscillation whose period is followed to 1 %."""


def write(request: Request) -> Written:
    """Return NAME.fmu of an arm with all that is nonlinear in it."""
    from .. import Written

    options = dict(request.options)
    for key in ("modes", "plain_states"):
        require(options.get(key) is None, f"{key} has no effect on a nonlinear arm; leave it out")
    model = _arm(request.thing)
    step, stop = (_seconds(key, options.get(key), usual) for key, usual in (("step", STEP), ("stop", STOP)))
    q, u = _begin(model, options)
    loop = loop_of(model, q, u, step)
    variables, notes = _variables(model, loop, u)
    title = request.title or request.name
    text = (
        f"Nonlinear arm {title}, model {model.kind}{_overrides(request.thing)}, {len(model.coordinates)} coordinates; "
        f"generalised-alpha steps of at most {step:g} s, inputs held over a communication step."
    )
    notes += [
        f"an oscillation is followed to 1 % of its period up to {FOLLOWED / (2.0 * np.pi * step):.3g} Hz, faster ones "
        f"are slowed and damped by the inner step of {step:g} s (--step)"
    ]
    description = Description(
        request.name, text, variables, (f"{request.name}.c",), step, stop, exchange=False, variable_step=True,
        directional=False, version=__version__,
    )
    sources = {f"{request.name}.c": source(loop, request.name, title), **runtime(RUNTIME)}
    told = page(request.name, (text, _ORDER), variables, notes)
    content, lacking, guid = packed(description, sources, told, bool(options.get("binary", True)))
    facts: dict[str, Any] = {
        "nonlinear": True, "coordinates": len(model.coordinates), "inputs": len(model.inputs),
        "outputs": len(model.outputs), "guid": guid, "step": step, "stop": stop, "binary": not lacking,
        "state_bytes": loop.bytes, "bytes": len(content),
    }
    return Written({f"{request.name}.fmu": content}, (*notes, *lacking), facts)


_ORDER = (
    "Values are those of the arm itself, no deviations. Inputs are held over a communication step, which is divided "
    "into equal inner steps; outputs are those of its end, before inputs change. Where the iteration fails the step is "
    "discarded and the state stays that of its start."
)


def _arm(thing: Any) -> MechanicalModel:
    """Return the model to be exported, or say why it is none."""
    model = as_simulated(opened(thing))
    if not isinstance(model, MechanicalModel) or isinstance(model, LinearMechanics):
        raise NotAvailable(f"{kind_of(model)} is linear: leave --nonlinear out, its FMU is exact at any step")
    return model


def _seconds(label: str, value: Any, usual: float) -> float:
    found = usual if value is None else number(label, value, "s")
    require(bool(np.isfinite(found) and found > 0.0), f"{label} = {found} s must be positive and finite")
    return found


def _begin(model: MechanicalModel, options: Mapping[str, Any]) -> tuple[FloatArray, FloatArray]:
    """Return coordinates and inputs at the start: the reference pose without inputs, or the rest asked for."""
    pose, load = options.get("pose"), options.get("load")
    if not pose and not load:
        return model.reference(), np.zeros(len(model.inputs))
    point = rest_point(model, pose or None, load or None)
    return np.asarray(point.q, float), np.asarray(point.u, float)


def _variables(model: MechanicalModel, loop: Loop, u: FloatArray) -> tuple[list[Variable], list[str]]:
    """Return inputs, outputs, coordinates and rates, in the order of the value references, and notes."""
    shown = model.coordinates if loop.places is not None else ()
    groups, notes = distinct([
        ("input", names(model.inputs)), ("output", names(model.outputs)), ("state", names(shown)),
        ("rate", [f"{name}_rate" for name in names(shown)]),
    ])
    found = [
        Variable(name, "input", s.unit, s.description or "input of the arm", start=float(value))
        for name, s, value in zip(groups[0], model.inputs, u, strict=True)
    ]
    found += [
        Variable(name, "output", s.unit, s.description or "output of the arm")
        for name, s in zip(groups[1], model.outputs, strict=True)
    ]
    start = loop.start if not model.closures else None
    for order, group in enumerate(groups[2:]):
        found += [
            Variable(
                name, "local", _unit(s, order), ("coordinate", "rate of the coordinate")[order] + f" {s.name}",
                start=None if start is None else float(start[order, i]),
            )
            for i, (name, s) in enumerate(zip(group, shown, strict=True))
        ]
    if loop.places is None:
        notes.append(f"the coordinates of {model.kind} are combinations of its states and stay inside")
    return found, notes


def _unit(signal: Signal, order: int) -> str:
    if order == 0 or not signal.unit or signal.unit == "1":
        return signal.unit if order == 0 else "1/s"
    return f"{signal.unit}/s"


def _overrides(thing: Any) -> str:
    found = opened(thing)
    record = dict((found.identity if isinstance(found, Identified) else provenance_of(found)) or {})
    changed = dict(record.get("overrides") or {})
    return " with " + ", ".join(f"{key} = {value}" for key, value in changed.items()) if changed else ""
