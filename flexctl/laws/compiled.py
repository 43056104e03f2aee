"""Laws as data for the compiled time loop: linear laws, one phase or many, blended, governed; wrappers; no law at all.

Blended and governed laws bring a function that the loop calls by its address, so that it is compiled only for them;
so do laws inside wrappers in an order, or of a kind (faults), that is no part of the loop.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..abilities import steps_itself
from ..model import FloatArray, LinearMechanics, MechanicalModel, OperatingPoint, index_of
from .blended import Blended
from .controller import Delayed, LinearLaw, Noisy, Quantised, Saturated, _Wrapper
from .governed import Governed
from .layered import layered, layers_of
from .ordered import MATRICES, stacked
from .scheduled import ScheduledLaw

if TYPE_CHECKING:
    from ..kernels.tables import Law


def compile_law(law: Any, model: MechanicalModel, times: FloatArray) -> tuple[Law, FloatArray] | None:
    """Return the law and its memory for the time loop, or None when it is not one that the loop knows inside wrappers.

    `times` [s] are those of its calls, or of the grid if it is continuous.
    """
    found = _usual(law, model, times)
    layers, inside = layers_of(law)
    if found is not None or not layers or law.sample_time == 0:
        return found
    core = _usual(inside, model, times)
    return None if core is None else layered(layers, core, times)


def _usual(law: Any, model: MechanicalModel, times: FloatArray) -> tuple[Law, FloatArray] | None:
    """Return the same where the wrappers stand in an order that the loop itself has."""
    delay, limit, noisy, quantised = 0, np.inf, None, None
    # exactly these types: a subclass may step differently
    while type(law) not in (LinearLaw, ScheduledLaw, Blended, Governed):
        if type(law) is Delayed:
            delay += law.samples
        elif type(law) is Saturated:
            limit = min(limit, law.limit)
        elif type(law) is Noisy and noisy is None and quantised is None:
            noisy = law
        elif type(law) is Quantised and quantised is None:
            quantised = law
        else:
            return None
        law = law.law
    noise = np.zeros((0, len(law.measures))) if noisy is None else noisy.sequence(times.size)
    quantum = np.zeros(len(law.measures)) if quantised is None else quantised.steps
    if isinstance(law, Governed):
        return None if delay or np.isfinite(limit) else _governed(law, quantum, noise, model, times)
    phases = (law,) if isinstance(law, LinearLaw) else law.laws
    if np.isfinite(limit) and any(np.any(one.Bu) for one in phases):
        return None  # the law feeds back its own limited command, not the one clipped outside
    lower = np.concatenate([np.maximum(one.lower, -limit) for one in phases])
    upper = np.concatenate([np.minimum(one.upper, limit) for one in phases])
    if np.any(lower > upper):
        return None  # disjoint limits: clipping twice is not clipping once
    if isinstance(law, Blended):
        limits = lower[: len(law.drives)], upper[: len(law.drives)]
        return _blended(law, limits, quantum, noise, model, delay)
    if law.sample_time == 0:
        phases = tuple(unlimited(one) for one in phases)
    matrices = [np.vstack([getattr(one, key) for one in phases]) for key in MATRICES]
    kernel = _law(matrices, lower, upper, quantum, noise, law, model)
    phase = law.phase(times) if isinstance(law, ScheduledLaw) else np.zeros(0, np.int64)
    kernel = kernel._replace(phase=phase, continuous=int(law.sample_time == 0))
    return kernel, np.zeros((1 + delay, max(len(phases[0].A), len(law.drives), 1)))


def _blended(
    law: Blended, limits: tuple[FloatArray, FloatArray], quantum: FloatArray, noise: FloatArray,
    model: MechanicalModel, delay: int,
) -> tuple[Law, FloatArray] | None:
    from ..kernels.pointers import address, packed
    from .ordered_kernel import blended_law

    where = address(blended_law)
    if not where or law.sample_time == 0:
        return None
    stack = stacked(law.laws, law.points)
    kernel = _law([getattr(stack.law, key) for key in MATRICES], *limits, quantum, noise, law, model)
    more, places = packed([stack.points, stack.first, [law.measures.index(law.by), law.mirrored]])
    kernel = kernel._replace(own=where, more=more, places=places)
    return kernel, np.zeros((1 + delay, max(len(stack.law.A), len(law.drives), 1)))


def _governed(
    law: Governed, quantum: FloatArray, noise: FloatArray, model: MechanicalModel, times: FloatArray
) -> tuple[Law, FloatArray] | None:
    from ..kernels.pointers import address, packed
    from .governed_kernel import STATE, governed_period

    inner, delay = law.law, 0
    if type(inner) is Delayed:
        inner, delay = inner.law, inner.samples
    where = address(governed_period)
    if not where or type(inner) is not LinearLaw or not law.path.size:
        return None
    p, g = law.predictor, law.governor
    kernel = _law([getattr(inner, key) for key in MATRICES], inner.lower, inner.upper, quantum, noise, inner, model)
    numbers = [g.spacing, g.interval, g.slope, g.keep, g.brake, g.horizon, law.interval]
    estimate = [p.Phi, p.Gamma, p.measure, p.correct, p.rigid]
    more, places = packed([*estimate, times, numbers, p.lower, p.upper, law.path, law.rests, *p.loop])
    kernel = kernel._replace(own=where, more=more, places=places)
    return kernel, np.zeros((1 + delay, max(len(inner.A) + len(p.Phi) + STATE, len(law.drives))))


def begin(law: Any, y: FloatArray, memory: FloatArray) -> None:
    """Put the state with which a law begins at measured outputs y into its memory; see `LinearLaw.start`."""
    while isinstance(law, _Wrapper):
        law = law.law
    state = np.concatenate(law.initial_at(y)) if isinstance(law, Blended) else law.initial_at(y)
    memory[0, : state.size] = state


def unlimited(law: LinearLaw) -> LinearLaw:
    """Return a law without limits in the form with Bu = 0: the command that it feeds back is known."""
    A, By, Br = law.A + law.Bu @ law.C, law.By + law.Bu @ law.Dy, law.Br + law.Bu @ law.Dr
    return replace(law, A=A, By=By, Br=Br, Bu=np.zeros_like(law.Bu))


def acts_within_steps(law: Any, model: MechanicalModel) -> bool:
    """Whether the compiled loop of a model can integrate a continuous law together with it.

    The law must be linear (in phases or not) without limits, the model compiled, and no sensor may read accelerations
    or feed the inputs through. A linear model with one linear law is a linear model again, which has exact steps.
    """
    if type(law) is LinearLaw:
        free = not (np.isfinite(law.lower).any() or np.isfinite(law.upper).any())
    else:
        free = type(law) is ScheduledLaw and not law.limited
    exactly = type(law) is LinearLaw and isinstance(model, LinearMechanics)
    if not free or exactly or not runs_compiled(model):
        return False
    rows = [index_of("output", name, model.outputs) for name in law.measures]
    point = OperatingPoint.at_rest(model)
    c = model.output_tangent(point.q, point.v, point.a, point.u)
    return not (np.any(c.acceleration[rows]) or np.any(c.input[rows]))


def runs_compiled(model: MechanicalModel) -> bool:
    """Whether a model is stepped by compiled code: its own stepper, or its functions."""
    if steps_itself(model):
        return True
    compiled = model.compiled()
    return compiled is not None and (not model.closures or compiled.closure is not None)


def hold_law(law: Any, model: MechanicalModel) -> Law:
    """Return the law that applies what stands in the reference table, for controllers called from Python."""
    nu, zero = len(law.drives), np.zeros
    matrices = [zero((0, 0)), zero((0, 0)), zero((0, nu)), zero((0, nu)), zero((nu, 0)), zero((nu, 0)), np.eye(nu)]
    bound = np.full(nu, np.inf)
    held = LinearLaw(1.0, (), tuple(law.drives))
    return _law(matrices, -bound, bound, zero(0), zero((0, 0)), held, model)


def empty_law() -> tuple[Law, FloatArray]:
    """Return the law that does nothing."""
    from ..kernels.tables import no_law

    return no_law(), np.zeros((1, 1))


def _law(
    matrices: list[FloatArray], lower: FloatArray, upper: FloatArray, quantum: FloatArray, noise: FloatArray,
    law: LinearLaw | ScheduledLaw | Blended, model: MechanicalModel,
) -> Law:
    from ..kernels.tables import Law

    measures = np.array([index_of("output", name, model.outputs) for name in law.measures], np.int64)
    drives = np.array([index_of("input", name, model.inputs) for name in law.drives], np.int64)
    A, By, Br, Bu, C, Dy, Dr = (np.ascontiguousarray(m, float) for m in matrices)
    sensors = (quantum, np.ascontiguousarray(noise), measures, drives)
    scratch = np.zeros((3, max(len(A), measures.size, drives.size, 1)))
    return Law(A, By, Br, Bu, C, Dy, Dr, lower, upper, *sensors, np.zeros(0, np.int64), 0, scratch)
