"""A sampled law as C99: header, source, recorded test, Makefile, CMakeLists, README, wrappers for Simulink and mex.

    NAME_init(&s); NAME_start(&s, y); NAME_step(&s, y, r, u);      in every period

Sums run as `flexctl.laws.ordered_kernel` defines, so that the code gives the numbers of the law in Python to the last
bit; single precision (`-DNAME_FLOAT`) is compared with it, and the difference stated.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import DefinitionError, require
from ..linear import FirstOrder
from ..machine.given import as_simulated
from .c_files import cmake, makefile, readme, test_source
from .c_header import header
from .c_source import Sizes, sizes, source
from .path import slowed
from .program import NEAR, Program, Units, program_of
from .provenance import design_of, provenance
from .sampled import Sampling, note_of
from .sfunction import wrappers
from .vectors import Vectors, record

if TYPE_CHECKING:
    from . import Request, Written

LARGEST_TABLE = 64 * 1024
"""Bytes of tables [byte] above which they must be asked for."""
STEPS, STEPS_OF_BLEND = 200, 800
"""Periods in the recorded test; a blend must be seen at all its points without moving fast."""
OPTIONS = ("sample_time", "method", "scenario", "references", "tables", "test_steps")


def write(request: Request) -> Written:
    """Return the folder of a law as C code."""
    from . import Written

    program = program_for(request)
    name, taken = request.name, sizes(program)
    check_tables(taken, bool(request.options.get("tables")))
    steps = request.options.get("test_steps", STEPS_OF_BLEND if program.blend else STEPS)
    whole = isinstance(steps, int | np.integer) and not isinstance(steps, bool) and bool(steps >= 2)
    require(whole, f"test_steps = {steps!r} is not a whole number of at least 2 periods")
    vectors = record(program, int(steps))
    told = provenance(request, program)
    notes = (*program.notes, *note_of(program.about), *precision(program, vectors))
    about = told.lines(program, taken, notes)
    files = {
        f"{name}.h": header(program, name, about), f"{name}.c": source(program, name, about[:3]),
        "test.c": test_source(program, name, vectors), "Makefile": makefile(name, program),
        "CMakeLists.txt": cmake(name, program), "README.md": readme(program, name, told, taken, vectors, notes),
        **wrappers(program, name, told.title),
    }
    return Written({path: text.encode() for path, text in files.items()}, notes, facts(program, taken, vectors))


def program_for(request: Request) -> Program:
    """Return the program of the law of a request; `c_sources` of it are what other writers put into their own."""
    options, design = request.options, design_of(request.thing)
    units = units_of(request.plant, design)
    sampling = Sampling(options.get("sample_time"), options.get("method"), None if design is None else design.plant)
    references, run = slowed(request)
    program = program_of(request.thing, units, sampling, references, run)
    require(bool(program.drives), "the law drives nothing: there is no command to compute")
    return program


def units_of(plant: Any, design: Any) -> Units:
    """Return the signals of a plant, or else of the linear plant of a design."""
    source: Any = design.plant if plant is None and design is not None else plant
    if source is None:
        return Units({}, {})
    found: Any = source if isinstance(source, FirstOrder) else as_simulated(source)
    return Units({s.name: s for s in found.outputs}, {s.name: s for s in found.inputs})


def check_tables(taken: Sizes, allowed: bool) -> None:
    """Refuse large tables that were not asked for."""
    if taken.table > LARGEST_TABLE and not allowed:
        raise DefinitionError(
            f"the law needs tables of {taken.table} bytes, more than {LARGEST_TABLE} ({LARGEST_TABLE // 1024} kB): "
            "give --tables (Python: tables=True) if the target has the room, or sample more coarsely"
        )


def precision(program: Program, vectors: Vectors) -> tuple[str, ...]:
    """Return what must be known of single precision, and warn where a pole is too near the unit circle for it."""
    part = vectors.deviation / max(vectors.largest, 1e-300)
    told = (
        f"single precision: the command differs by at most {vectors.deviation:.3g} over the recorded test, {part:.2g} "
        f"of the largest command; the law's own poles move by at most {pole_shift(program):.3g}"
    )
    near = program.near_the_circle()
    if near:
        text = (
            f"{near} of the law's own poles lie within {NEAR:g} of the unit circle (integrators among them): in "
            "single precision small errors are lost in their sums; use double, or test with the target's precision"
        )
        return (told, text)
    return (told,)


def pole_shift(program: Program) -> float:
    """Return by how much rounding the matrices to single precision moves a pole of the law, at most [1]."""
    worst = 0.0
    for law in program.laws[:: max(1, len(program.laws) // 20)]:
        if len(law.A):
            exact = np.linalg.eigvals(law.A + law.Bu @ law.C)
            parts = (m.astype(np.float32).astype(float) for m in (law.A, law.Bu, law.C))
            A, Bu, C = parts
            rounded = np.linalg.eigvals(A + Bu @ C)
            away = np.abs(exact[:, None] - rounded)
            worst = max(worst, float(max(away.min(axis=0).max(), away.min(axis=1).max())))
    return worst


def facts(program: Program, taken: Sizes, vectors: Vectors) -> Mapping[str, Any]:
    """Return the numbers of an export."""
    return {
        "sample_time_s": program.sample_time, "states": sum(program.states), "delay_periods": program.delay,
        "state_bytes": taken.state, "state_bytes_float": taken.state_float, "constant_bytes": taken.constants,
        "table_bytes": taken.table, "multiply_adds": taken.multiply_adds, "other_operations": taken.other,
        "test_steps": len(vectors.u), "test_at_limits": vectors.limited,
        "float_deviation": vectors.deviation, "largest_command": vectors.largest,
        "float_pole_shift": pole_shift(program),
    }
