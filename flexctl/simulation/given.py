"""How wrong the inputs of a run are: given ones are not, others are computed from what is.

What a law commands is at most so wrong as its answers to the errors of what it reads, see `answered`. Of a law whose
answers are not known so, and of torques of prescribed joints, the commands are compared with those of a second run: in
longer steps, at a larger tolerance, or, where a control period cannot be longer, in half steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..abilities import ContinuousLoop
from ..errors import ConvergenceError
from ..laws.blended import Blended
from ..laws.controller import Noisy, Quantised, layers
from ..model import FloatArray, index_of, names
from . import answered
from .pilot import apart, lengthened

if TYPE_CHECKING:
    from .run import Run

COARSER = 8.0
"""So many times is the tolerance of the second run: its error is four times as large, or more. Derived: errors of the
second order go with rtol^(2/3)."""
REDUCED = 2.0
"""On the change of SDIRK4, which is nearer to the first order where torques of stiff arms jump with what leads them: at
eight times the tolerance the error may be no more than 1.5 times as large, and half of ours is the change then. Fitted;
`tests/accuracy_factors.py` measures what it has to be."""
HALF = 2.0
"""On the change by half steps, which is e / 2 at the first order, where commands jump. Derived."""

PYTHON = "commands of a law in Python that cannot be copied and asked again"
AGAIN = "commands and torques for which a second run would be needed, which failed or does not serve"
FIXED = "torques of prescribed joints in steps that were given"


def errors_of_inputs(run: Run, known: Mapping[str, float]) -> tuple[dict[str, float], dict[str, str]]:
    """Return the estimated largest error of each input, and why there is none where it is nan.

    known: the errors of the outputs of the model, however small.
    """
    setup = run.setup
    why: dict[str, str] = {}
    found = dict.fromkeys(names(setup.plant.inputs), 0.0)
    if isinstance(setup.model, ContinuousLoop):
        found = _applied(run, known)
        return found, {name: AGAIN for name, x in found.items() if np.isnan(x)}
    if setup.law is not None and setup.law.measures:
        read = np.array([known.get(name, np.nan) for name in setup.law.measures])
        drives = [index_of("input", name, setup.model.inputs) for name in setup.law.drives]
        found_change = run.changed if run.accuracy.looked else None
        bound, reason = _commanded(run, read) if found_change is None else (found_change[drives], "")
        if not setup.rtol and run.changed is not None:  # steps that were given were halved, see `given_steps`
            bound = np.fmin(bound, HALF * run.changed[drives])
        least = run.accuracy.least * setup.rtol * np.ptp(run.record.u, axis=0)
        for name, x in zip(setup.law.drives, bound, strict=True):
            found[name] = float(np.maximum(x, least[index_of("input", name, setup.model.inputs)]))  # nan stays
            why |= {name: reason} if np.isnan(x) else {}
    torques = [f"{name}_{kind}" for name in run.commands for kind in ("torque", "force")]
    led = [name for name in torques if name in found]
    if led:
        changed = _change(run)
        place = {name: i for i, name in enumerate(names(setup.model.inputs))}
        found |= {name: np.nan if changed is None else float(changed[place[name]]) for name in led}
        why |= dict.fromkeys(led, FIXED if not setup.rtol else AGAIN) if changed is None else {}
    return found, why


def _applied(run: Run, known: Mapping[str, float]) -> dict[str, float]:
    """Return the errors of what a continuous law inside the model applies: it is linear in outputs of the loop."""
    model: Any = run.setup.model
    error = np.array([known.get(name, np.nan) for name in names(model.outputs)])
    still, u = np.zeros((1, error.size)), np.zeros((1, len(model.inputs)))
    gains = np.array([model.applied(row[None], u)[0] - model.applied(still, u)[0] for row in np.eye(error.size)])
    bound = np.where(gains != 0.0, np.abs(gains) * error[:, None], 0.0).sum(axis=0)
    return {name: float(x) for name, x in zip(names(run.setup.plant.inputs), bound, strict=False)}


def _commanded(run: Run, read: FloatArray) -> tuple[FloatArray, str]:
    """Return the errors of the commands of a law that reads with these errors, and why where they are nan."""
    law, memory = run.setup.law, run.accuracy.memory
    none = np.full(len(law.drives), np.nan)
    if np.isnan(read).any():
        return none, f"commands of a law that reads {law.measures[int(np.argmax(np.isnan(read)))]}, of which none is"
    read = _rounded(run, read)
    if run.compiled is None:
        if not run.kept:
            return none, PYTHON
        calls = np.flatnonzero(run.due >= 0)
        rows = [index_of("output", name, run.setup.model.outputs) for name in law.measures]
        y = run.record.y[calls][:, rows]
        found = answered.of_python(law, run.kept, run.t[calls], y, run.wanted, read, memory)
        return (none, PYTHON) if found is None else (found, "")
    inner = [*layers(law)][-1]
    if not run.compiled[0].own:
        gains = answered.answers(run.compiled[0], none.size, law.sample_time, memory)
        return (none, "commands of an unstable law") if gains is None else (gains @ read, "")
    drives = [index_of("input", name, run.setup.model.inputs) for name in law.drives]
    if isinstance(inner, Blended):
        used = np.ptp(run.record.u[:, drives], axis=0)
        blended = answered.of_blended(inner, memory, read, used)
        return (none, "commands of an unstable law") if blended is None else (blended, "")
    changed = np.zeros(len(run.setup.model.inputs)) if not read.any() else _change(run)
    return (none, AGAIN) if changed is None else (changed[drives], "")


def _rounded(run: Run, read: FloatArray) -> FloatArray:
    """Return by how much readings are off once they are rounded: one that is near its next value may be that.

    With noise on it, of which the record shows nothing, any reading may be near.
    """
    law = run.setup.law
    steps = [layer.steps for layer in layers(law) if isinstance(layer, Quantised)]
    if not steps or not read.any():
        return read
    quantum, noisy = np.max(steps, axis=0), any(isinstance(layer, Noisy) for layer in layers(law))
    y = run.record.y[run.due >= 0][:, [index_of("output", name, run.setup.model.outputs) for name in law.measures]]
    turns = y / np.where(quantum > 0.0, quantum, 1.0) + 0.5  # it is rounded down from here
    near = np.any(np.abs(turns - np.round(turns)) * quantum <= read, axis=0) | noisy
    return np.where((quantum > 0.0) & near, read + quantum, read)


def _change(run: Run) -> FloatArray | None:
    """Return by how much the inputs are others in a second run; None where none serves."""
    if run.changed is not None:
        return run.changed
    setup = run.setup
    if run.compiled is None or not setup.rtol or run.sticks or setup.method == "exact":
        return None
    if not run.plan.rtol and run.due.max() >= 0:  # the control periods, which were good enough
        return _in_halves(run)
    fixed = not run.plan.rtol
    if run.due.max() < 0:
        setup = lengthened(setup, 2)
    if setup.duration < 2.0 * setup.step:
        return None
    other = type(run)(replace(setup, record_states=False))
    other.accuracy.gauge.least[:] = 0.5 * run.accuracy.ranges
    other.plan = other.plan._replace(rtol=0.0 if fixed else min(COARSER * setup.rtol, 1.0))
    return _changed(run, other, REDUCED if setup.scheme.stages > 1 else 1.0)


def _in_halves(run: Run) -> FloatArray | None:
    """Return by how much inputs change in half steps of a grid that was good enough."""
    from ..kernels import state

    other = type(run)(replace(run.setup, record_states=False))
    other.accuracy.gauge.number[state.FLOOR] = 1.0
    other.plan = other.plan._replace(rtol=0.0, level=1)
    return _changed(run, other, HALF)


def _changed(run: Run, other: Run, factor: float) -> FloatArray | None:
    """Return `factor` times the largest difference of the inputs of two runs, where both are recorded."""
    try:
        other.once(lambda part: None)
    except ConvergenceError:
        return None
    return apart(run, other)[1] * factor


def told_why(error: Mapping[str, float], why: Mapping[str, str]) -> dict[str, dict[str, list[str]]]:
    """Return the signals without an estimated error by the reason, as what the provenance of a run says of them."""
    found: dict[str, list[str]] = {}
    for name in (name for name, x in error.items() if np.isnan(x)):
        found.setdefault(why.get(name, "not known"), []).append(name)
    return {"not_estimated": found} if found else {}
