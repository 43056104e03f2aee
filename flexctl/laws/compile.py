"""Laws as data for the compiled time loop: the linear law with its wrappers, the held command, no law at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..model import FloatArray, MechanicalModel, index_of
from .controller import Delayed, LinearLaw, Noisy, Quantised, Saturated

if TYPE_CHECKING:
    from ..models._kernels.loop import Law


def compile_law(law: Any, model: MechanicalModel, periods: int) -> tuple[Law, FloatArray] | None:
    """Return the law and its memory for the time loop, or None when it is not linear inside standard wrappers."""
    delay, limit, noisy, quantised = 0, np.inf, None, None
    # exactly these types: a subclass may step differently
    while type(law) is not LinearLaw:
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
    if np.isfinite(limit) and np.any(law.Bu):
        return None  # the law feeds back its own limited command, not the one clipped outside
    lower, upper = np.maximum(law.lower, -limit), np.minimum(law.upper, limit)
    if np.any(lower > upper):
        return None  # disjoint limits: clipping twice is not clipping once
    noise = np.zeros((0, len(law.measures))) if noisy is None else noisy.sequence(periods)
    quantum = np.zeros(len(law.measures)) if quantised is None else quantised.steps
    matrices = [law.A, law.By, law.Br, law.Bu, law.C, law.Dy, law.Dr]
    kernel = _law(matrices, lower, upper, quantum, noise, law, model)
    return kernel, np.zeros((1 + delay, max(len(law.A), len(law.drives), 1)))


def hold_law(law: Any, model: MechanicalModel) -> Law:
    """Return the law that applies what stands in the reference table, for controllers called from Python."""
    nu, zero = len(law.drives), np.zeros
    matrices = [zero((0, 0)), zero((0, 0)), zero((0, nu)), zero((0, nu)), zero((nu, 0)), zero((nu, 0)), np.eye(nu)]
    bound = np.full(nu, np.inf)
    held = LinearLaw(1.0, (), tuple(law.drives))
    return _law(matrices, -bound, bound, zero(0), zero((0, 0)), held, model)


def empty_law() -> tuple[Law, FloatArray]:
    """Return the law that does nothing."""
    from ..models._kernels.loop import Law

    none, empty, index = np.zeros((0, 0)), np.zeros(0), np.zeros(0, np.int64)
    law = Law(none, none, none, none, none, none, none, empty, empty, empty, none, index, index)
    return law, np.zeros((1, 1))


def _law(
    matrices: list[FloatArray], lower: FloatArray, upper: FloatArray, quantum: FloatArray, noise: FloatArray,
    law: LinearLaw, model: MechanicalModel,
) -> Law:  # fmt: skip
    from ..models._kernels.loop import Law

    measures = np.array([index_of("output", name, model.outputs) for name in law.measures], np.int64)
    drives = np.array([index_of("input", name, model.inputs) for name in law.drives], np.int64)
    A, By, Br, Bu, C, Dy, Dr = (np.ascontiguousarray(m, float) for m in matrices)
    return Law(A, By, Br, Bu, C, Dy, Dr, lower, upper, quantum, np.ascontiguousarray(noise), measures, drives)
