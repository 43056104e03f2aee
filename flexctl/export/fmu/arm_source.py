"""The C file of an arm: its time loop translated, the numbers that it is called with, and the run's arrays by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...errors import NotAvailable
from ...kernels.engine import Stepper
from ...kernels.schemes import generalised_alpha
from ...kernels.tables import Acting, Course, no_law
from ...model import FloatArray, MechanicalModel
from ...simulation.run import Run, Setup
from ..translate.data import BLOCKS, Memory, bound
from ..translate.program import translated
from ..translate.types import Group, Known, Number, Untranslatable, field, type_of
from ..translate.values import real


@dataclass(frozen=True, eq=False)
class Loop:
    """A run of an arm that is at its start.

    Attributes
    ----------
    function : callable
        The loop.
    arguments : tuple
        What it is called with.
    places : ndarray or None
        Where each coordinate stands in the state of the kernels; None if they are combinations of what stands there.
    start : ndarray
        Rows of coordinates and rates at the start.
    inputs : ndarray
        Inputs at the start.
    step : float
        Inner step [s].
    closed : bool
        Whether closures tie the coordinates.
    motion, gauge, acting, course : tuple
        Groups among the arguments.
    """

    function: Any
    arguments: tuple[Any, ...]
    places: Any
    start: FloatArray
    inputs: FloatArray
    step: float
    closed: bool
    motion: Any
    gauge: Any
    acting: Acting
    course: Course

    @property
    def bytes(self) -> int:
        """Size of the memory of an instance."""
        memory = Memory()
        bound(self.arguments, "", memory, None, "")  # type: ignore[arg-type]
        return 8 * sum(memory.sizes.values())


def loop_of(model: MechanicalModel, q: FloatArray, u: FloatArray, step: float) -> Loop:
    """Return the loop that `simulate(model, step=step)` runs, at rest in q with inputs u."""
    setup = Setup(
        model, model, None, {}, {}, 2.0 * step, step, "generalised_alpha", generalised_alpha(), (),
        (q, np.zeros_like(q)), False,
    )
    run = Run(setup)
    run.plan = run.plan._replace(begins=False)
    engine = run._engine(model, u, 0)
    if not isinstance(engine, Stepper) or not isinstance(engine.form, tuple):
        raise NotAvailable(_NO_LOOP.format(kind=model.kind))
    acting = Acting(no_law(), np.zeros((1, 1)), engine.held, engine.u)
    course = Course(run.tables, run.record, np.zeros(2, np.int64))
    arguments = (
        engine.form, engine.motion, None, acting, course, engine.scheme, run.plan.gauge
    )
    return Loop(
        engine.loops.text(), arguments, _places(engine), np.array([q, np.zeros_like(q)]), u, step,
        bool(model.closures), engine.motion, run.plan.gauge, acting, course,
    )


_NO_LOOP = (
    "{kind} has no compiled time loop here, of which the FMU is made (strong modal damping, an analysis other than "
    "nonlinear, equations in Python): export the linear plant at the pose that matters, or use another model of the "
    "arm (--model)"
)


def _places(engine: Stepper) -> Any:
    """Return where each coordinate stands in motion.q, found by numbers that are all different."""
    q, v = engine.motion.q, engine.motion.v
    kept, rates = q.copy(), v.copy()
    q[:] = v[:] = np.arange(q.size) + 0.5
    shown = engine.state()
    q[:], v[:] = kept, rates
    found = np.round(shown[0] - 0.5).astype(np.int64)
    one = np.array_equal(found + 0.5, shown[0]) and np.array_equal(found + 0.5, shown[1])
    return found if one and np.unique(found).size == found.size and found.size else None


class _Array(NamedTuple):
    name: str
    array: Any


def source(loop: Loop, name: str, title: str) -> str:
    """Return the C file of an arm, without its GUID."""
    try:
        program, entry, lines = translated(loop.function, loop.arguments)
    except Untranslatable as error:
        told = f"the equations of this arm cannot be written as C: {error}; export its linear plant"
        raise NotAvailable(told) from error
    memory = Memory()
    passed = [
        (f"a{at}", value) for at, value in enumerate(loop.arguments) if not isinstance(type_of(value), Known)
    ]
    binds = [line for own, value in passed
             for line in bound(value, f"c->cache.{own}", memory, program.structures, "c->now.model")]
    named = _named(loop)
    counts = [len(loop.inputs), loop.gauge.kind.size, 0 if loop.places is None else 2 * len(loop.places)]
    return "\n".join([
        *_head(name, title, counts, loop), *lines,
        *_images(memory), *_states(loop, memory), _reals("ARM_INPUTS", loop.inputs), "",
        "typedef struct {", f"    double real[{max(memory.sizes['f'], 1)}];",
        f"    int64_t whole[{max(memory.sizes['i'], 1)}];", "    int begun; /* whether a step was taken */",
        "} flexctl_model_state;", "",
        "typedef struct {", "    fx_context fx;", "    flexctl_model_state *kept;",
        *(f"    {program.structures.name(type_of(value))} {own};" for own, value in passed),
        "} flexctl_model_cache;", "", '#include "flexctl_unit.h"', "",
        *(_place(one, memory) for one in named), "",
        "static void arm_bind(unit *c)", "{", *(f"    {line}" for line in binds), "}", "",
        *_call(entry, passed), "", '#include "flexctl_arm.c"', '#include "flexctl_unit.c"', "",
    ])


def _head(name: str, title: str, counts: list[int], loop: Loop) -> list[str]:
    words = "".join(c if " " <= c < "\x7f" else "?" for c in title).replace("*/", "* /").replace("/*", "/ *")
    inputs, outputs, states = counts
    return [
        f"/* The arm {words} as a functional mock-up unit, written by flexctl: the compiled time loop of its",
        "   equations, translated function by function. modelDescription.xml says names, units, value references. */",
        f'#define MODEL_NAME "{name}"', '#include "flexctl_guid.h"', f"#define N_INPUTS {inputs}",
        f"#define N_OUTPUTS {outputs}", f"#define N_STATES {states}", "#define MODEL_EXCHANGE 0",
        f"#define STATES_MAY_BE_SET {int(not loop.closed)}",
        f"#define ARM_STEP {real(loop.step)} /* s */", "",
    ]


def _named(loop: Loop) -> list[_Array]:
    tables = loop.course.tables
    return [
        _Array("TIMES", tables.t), _Array("STEPS", tables.h), _Array("BEFORE", tables.before),
        _Array("AFTER", tables.after), _Array("SPAN", loop.course.span), _Array("READINGS", loop.gauge.readings),
        _Array("ACTING", loop.acting.u),
    ]


def _place(one: _Array, memory: Memory) -> str:
    letter, start = memory.place(one.array)
    return f"#define ARM_{one.name}(c) ((c)->now.model.{BLOCKS[letter]} + {start})"


def _reals(name: str, values: Any) -> str:
    return _list("double", name, [real(float(v)) for v in values] or ["0.0"])


def _list(kind: str, name: str, words: list[str]) -> str:
    rows = [", ".join(words[i : i + 6]) for i in range(0, len(words), 6)]
    return f"static const {kind} {name}[] = {{\n    " + ",\n    ".join(rows) + "};"


def _images(memory: Memory) -> list[str]:
    """Return what the blocks hold at first."""
    lines = []
    for letter, kind, word in (("f", "double", "ARM_IMAGE"), ("i", "int64_t", "ARM_WHOLE_IMAGE")):
        rows = []
        for number, (start, values) in enumerate(memory.image(letter)):
            words = [real(float(v)) if letter == "f" else str(int(v)) for v in values]
            lines.append(_list(kind, f"{word}_{number}", words))
            rows.append(f"    {{{start}, {len(words)}, {word}_{number}}},")
        lines += [
            "static const struct {", "    size_t at, count;", f"    const {kind} *value;", f"}} {word}[] = {{",
            *(rows or ["    {0, 0, NULL},"]), "};", "",
        ]
    return lines


def _states(loop: Loop, memory: Memory) -> list[str]:
    """Return where coordinates and rates stand in the block of reals."""
    if loop.places is None:
        return ["static const int ARM_STATE[] = {0};"]
    words = []
    for array in (loop.motion.q, loop.motion.v):
        _, start = memory.place(array)
        words += [str(start + int(place)) for place in loop.places]
    return [_list("int", "ARM_STATE", words)]


def _call(entry: Any, passed: list[tuple[str, Any]]) -> list[str]:
    """Return the function that calls the loop once."""
    words = ["&c->cache.fx"]
    for own, value in passed:
        words.append(f"{'&' if isinstance(value, tuple) else ''}c->cache.{own}")
    result = entry.result
    assert isinstance(result, Group)
    assert all(isinstance(item, Number) for item in result.items)
    kind = entry.head.split()[1]
    return [
        "static void arm_loop(unit *c, double found[4])", "{",
        f"    const {kind} all = {entry.name}({', '.join(words)});",
        *(f"    found[{at}] = (double)all.{field(result, at)};" for at in range(len(result.items))), "}",
    ]
