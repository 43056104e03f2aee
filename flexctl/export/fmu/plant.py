"""A linear plant as functional mock-up unit for co-simulation and model exchange."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import __version__
from ...errors import require
from ...linear import FirstOrder, SecondOrder
from ...machine.given import as_linear
from ...model import FloatArray, Signal, names
from ...support.checks import number
from ..given import first_order_of
from . import linear
from .description import Description, Variable, distinct
from .exchange import departs, notes_of, tolerance_for
from .nominal import horizon, nominals
from .package import packed, runtime
from .page import page

if TYPE_CHECKING:
    from .. import Request, Written


def write(request: Request) -> Written:
    """Return NAME.fmu of a plant, or of what has one."""
    from .. import Written

    options = dict(request.options)
    if options.get("nonlinear"):
        from .arm import write as write_arm

        return write_arm(request)
    for key in ("pose", "load"):
        require(not options.get(key), f"{key} is for nonlinear=True; a linear plant is taken where it was linearised")
    found = as_linear(request.thing)
    plant = first_order_of(found, options.get("modes"))
    shows = horizon(plant)
    stop = shows if options.get("stop") is None else _positive("stop", options["stop"])
    step = _step(plant, options.get("step"), stop)
    require(
        plant.dt == 0.0 or options.get("plain_states") is None,
        "plain_states is of model exchange, which a sampled plant does not have; leave it out",
    )
    nominal, sizes = nominals(plant, min(stop, shows))  # a plant that runs away is not to be called that large
    departures = departs(plant, step, stop) and not options.get("plain_states")
    groups, notes = distinct([
        ("input", names(plant.inputs)), ("output", names(plant.outputs)), ("state", names(plant.states)),
        ("departure", [f"{name}_departure" for name in names(plant.states)]),
    ])
    offsets = _operating_inputs(found)
    if any(offsets):
        at = ", ".join(f"{s.name} = {v:.6g} {s.unit}" for s, v in zip(plant.inputs, offsets, strict=True) if v)
        notes.append(f"all values are deviations from the operating point, where {at}")
    tolerance = tolerance_for(plant, stop)
    notes += notes_of(plant, step, stop, tolerance, departures)
    variables = _variables(plant, groups, nominal, sizes, offsets, departures)
    title = request.title or request.name
    text = _text(plant, title)
    description = Description(
        request.name, text, variables, (f"{request.name}.c",), step, stop, exchange=plant.dt == 0.0,
        variable_step=plant.dt == 0.0, directional=True, tolerance=tolerance, version=__version__,
    )
    files = (*linear.RUNTIME, *([linear.MOTION] if departures else ()))
    sources = {
        f"{request.name}.c": linear.source(plant, request.name, title, nominal, departures), **runtime(files),
    }
    kind = "x[k+1] = A x[k] + B u[k], y = C x + D u" if plant.dt else "x' = A x + B u, y = C x + D u"
    told = page(request.name, (text, f"{kind}, {len(plant.states)} states."), variables, notes)
    content, lacking, guid = packed(description, sources, told, bool(options.get("binary", True)))
    facts: dict[str, Any] = {
        "states": len(plant.states), "inputs": len(plant.inputs), "outputs": len(plant.outputs), "guid": guid,
        "step": step, "stop": stop, "tolerance": tolerance, "departures": departures,
        "binary": not lacking, "bytes": len(content),
    }
    return Written({f"{request.name}.fmu": content}, (*notes, *lacking), facts)


def _positive(label: str, value: Any) -> float:
    found = number(label, value, "s")
    require(math.isfinite(found) and found > 0.0, f"{label} = {found} s must be positive and finite")
    return found


def _step(plant: FirstOrder, step: Any, stop: float) -> float:
    """Return the communication step that importers use by default: 1/1000 of the time, or the sample time."""
    if step is None:
        return plant.dt or float(f"{stop / 1000.0:.12g}")
    found = _positive("step", step)
    periods = found / plant.dt if plant.dt else 1.0
    require(
        abs(periods - round(periods)) < 1e-9 * periods and round(periods) >= 1,
        f"step = {found:g} s is not a multiple of the plant's sample time of {plant.dt:g} s",
    )
    return found


def _operating_inputs(found: SecondOrder | FirstOrder) -> list[float]:
    point = found.operating_point if isinstance(found, SecondOrder) else None
    if point is None or np.size(point.u) != len(found.inputs):
        return [0.0] * len(found.inputs)
    return [float(value) for value in point.u]


def _variables(
    plant: FirstOrder, groups: Sequence[Sequence[str]], nominal: FloatArray, sizes: FloatArray,
    offsets: Sequence[float], departures: bool,
) -> list[Variable]:
    """Return inputs, outputs, states and rates, in the order of the value references.

    With departures these stand in place of the states, and the states come last.
    """
    u, y, x, e = groups
    p, ny = len(u), len(y)
    at_x = p + ny
    found = [
        Variable(
            name, "input", s.unit, _about(s, f"input of the plant{_from(offset, s.unit)}"), start=0.0, nominal=1.0,
        )
        for name, s, offset in zip(u, plant.inputs, offsets, strict=True)
    ]
    for i, (name, s) in enumerate(zip(y, plant.outputs, strict=True)):
        depends = (*np.flatnonzero(plant.D[i]), *(at_x + np.flatnonzero(plant.C[i])))
        found.append(Variable(
            name, "output", s.unit, _about(s, "output of the plant"), nominal=float(sizes[i]),
            depends=tuple(int(k) for k in depends),
        ))
    kind = "discrete" if plant.dt > 0.0 else "continuous"
    states = [
        Variable(name, "local", s.unit, _about(s, "state of the plant"), kind, 0.0, float(nominal[i]))
        for i, (name, s) in enumerate(zip(x, plant.states, strict=True))
    ]
    if departures:
        about = "departure of {} from the motion that held inputs lead to"
        shown = at_x + 2 * len(x)
        found += [
            Variable(e[i], "local", one.unit, about.format(one.name), nominal=one.nominal, depends=(shown + i,))
            for i, one in enumerate(states)
        ]
        return [*found, *_rates(plant, e, at_x), *states]
    return [*found, *states, *(_rates(plant, x, at_x) if plant.dt == 0.0 else ())]


def _rates(plant: FirstOrder, integrated: Sequence[str], at: int) -> list[Variable]:
    """Return the derivatives of what importers integrate; `at` is the place of the first of these variables."""
    found = []
    for i, (name, s) in enumerate(zip(integrated, plant.states, strict=True)):
        depends = (*np.flatnonzero(plant.B[i]), *(at + np.flatnonzero(plant.A[i])))
        found.append(Variable(
            f"der({name})", "local", f"{s.unit}/s" if s.unit not in ("", "1") else "1/s", f"rate of {name}",
            derivative_of=at + i, depends=tuple(int(k) for k in depends),
        ))
    return found


def _about(signal: Signal, otherwise: str) -> str:
    return signal.description or otherwise


def _from(offset: float, unit: str) -> str:
    return f", less {offset:.6g} {unit} of the operating point" if offset else ""


def _text(plant: FirstOrder, title: str) -> str:
    about = plant.provenance
    words = [f"Linear plant of {title}"]
    if about.get("model"):
        words.append(f"model {about['model']}")
    if about.get("overrides"):
        words.append("with " + ", ".join(f"{key} = {value}" for key, value in dict(about["overrides"]).items()))
    words += [str(word) for word in about.get("point", ())]
    if about.get("held"):
        words.append(f"{', '.join(map(str, about['held']))} held")
    words.append(f"sampled every {plant.dt:g} s" if plant.dt else "inputs held over a step, exact for any step")
    return ", ".join(words) + "; all values are deviations from the operating point."
