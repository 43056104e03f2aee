"""A sampled law as functional mock-up unit for co-simulation: its generated C code in a unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ... import __version__
from ...model import Signal
from ..c import check_tables, program_for
from ..c_header import header
from ..c_source import sizes, source
from ..program import PARTS, Program, derivative
from ..provenance import bounds, provenance
from ..sampled import note_of
from .description import Description, Variable, distinct
from .package import packed, runtime
from .page import page

if TYPE_CHECKING:
    from .. import Request, Written

RUNTIME = tuple(f"flexctl_{name}" for name in ("fmi2.h", "unit.h", "unit.c", "law.c"))
_ORDER = (
    "At a communication point set the readings and references and step the law, then give its command to the plant and "
    "step that: this is the loop of flexctl's simulate. A master that steps all units at once, on values of the point "
    "before, makes the command one period later; a law with a delay of its own is then to be exported with one period "
    "less."
)


def write(request: Request) -> Written:
    """Return NAME.fmu of a sampled law, or of a continuous one that options sample."""
    from .. import Written

    program = program_for(request)
    name, taken = request.name, sizes(program)
    check_tables(taken, bool(request.options.get("tables")))
    told = provenance(request, program)
    notes = [*program.notes, *note_of(program.about)]
    # the date stays out: it is in modelDescription.xml, and the GUID is that of the content
    first = f"{told.title}: sampled control law, made by flexctl {__version__}"
    about = [first, *told.lines(program, taken, notes)[1:]]
    variables, renamed = _variables(program)
    text = (
        f"Sampled control law {told.title}, made on the plant {told.plant}; one period is {program.sample_time:.9g} s, "
        f"the command is late by {program.delay} periods."
    ) + (f" Designed for: {told.designed_for}." if told.designed_for else "")
    description = Description(
        name, text, variables, (f"{name}_fmu.c", f"{name}.c"), program.sample_time,
        float(f"{1000 * program.sample_time:.12g}"), exchange=False, variable_step=False, directional=False,
        version=__version__,
    )
    sources = {
        f"{name}_fmu.c": _unit(program, name, told.title), f"{name}.c": source(program, name, about[:3]),
        f"{name}.h": header(program, name, about), **runtime(RUNTIME),
    }
    notes += renamed
    content, lacking, guid = packed(
        description, sources, page(name, (text, _ORDER), variables, notes), bool(request.options.get("binary", True))
    )
    facts = {
        "sample_time_s": program.sample_time, "states": sum(program.states), "delay_periods": program.delay,
        "inputs": sum(v.causality == "input" for v in variables), "outputs": len(program.drives), "guid": guid,
        "binary": not lacking, "bytes": len(content),
    }
    return Written({f"{name}.fmu": content}, (*notes, *lacking), facts)


def _unit(program: Program, name: str, title: str) -> str:
    ny, nu = len(program.measures), len(program.drives)
    nr = 0 if program.table is not None else 3 * len(program.follows)
    step = f"{name}_step(s, y, r, u)" if program.table is None else f"((void)(r), {name}_follow(s, y, u))"
    words = "".join(c if " " <= c < "\x7f" else "?" for c in title).replace("*/", "* /").replace("/*", "/ *")
    return "\n".join([
        f"/* The sampled law {words} as a functional mock-up unit, written by flexctl. */",
        f'#define MODEL_NAME "{name}"',
        '#include "flexctl_guid.h"',
        f"#define N_MEASURES {ny}",
        f"#define N_INPUTS {ny + nr}",
        f"#define N_OUTPUTS {nu}",
        "#define N_STATES 0",
        "#define MODEL_EXCHANGE 0",
        f"#define SAMPLE_TIME {program.sample_time!r}",
        f'#include "{name}.h"',
        f"#define LAW_START(s, y) {name}_start(s, y)",
        f"#define LAW_STEP(s, y, r, u) {step}",
        "typedef struct {", f"    {name}_state law;", f"    double command[{nu}];", "} flexctl_model_state;",
        "typedef struct {", "    int nothing;", "} flexctl_model_cache;",
        '#include "flexctl_unit.h"', '#include "flexctl_law.c"', '#include "flexctl_unit.c"', "",
    ])


def _variables(program: Program) -> tuple[list[Variable], list[str]]:
    """Return readings, references and commands, in the order of the value references, and what was renamed."""
    references = [
        (f"{s.name}_reference{'' if order == 0 else '_' + PARTS[order]}", derivative(s.unit, order), s, order)
        for s in (program.follows if program.table is None else ())
        for order in range(3)
    ]
    groups, renamed = distinct([
        ("reading", [s.name for s in program.measures]), ("command", [s.name for s in program.drives]),
        ("reference", [name for name, *_ in references]),
    ])
    readings, commands, names = groups
    found = [
        Variable(name, "input", s.unit, _about(s, "measured output of the plant"), "discrete", 0.0)
        for name, s in zip(readings, program.measures, strict=True)
    ]
    found += [
        Variable(name, "input", unit, f"{PARTS[order]} of the reference of {s.name}", "discrete", 0.0)
        for name, (_, unit, s, order) in zip(names, references, strict=True)
    ]
    lower, upper = (np.asarray(bound, float) for bound in bounds(program))
    for i, (name, s) in enumerate(zip(commands, program.drives, strict=True)):
        ends = (float(lower[i]), float(upper[i]))
        found.append(Variable(
            name, "output", s.unit, _about(s, "command, from the step on that gave it"), "discrete", None,
            bounds=ends, depends=(),
        ))
    return found, renamed


def _about(signal: Signal, otherwise: str) -> str:
    return signal.description or otherwise
