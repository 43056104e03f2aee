"""Warnings after a run, or when one fails: laws beyond the range of their design, unstable loops, growing motions.

A bounded record does not show that a loop is stable: growth may be slow, or a limit holds it. And a law that blends
designs stays what it is beyond the last of them, without anybody noticing. Nor does a record show that a model was
driven beyond what it assumes: `driven` asks the model, whose class declares it (`flexctl.models.ranges`).
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..abilities import Assuming, FollowsAssumptions, Pressed, innermost, steps_itself
from ..design.design import Design
from ..errors import Caution, ConvergenceError, FlexctlError, NotAvailable, caution
from ..laws.abilities import DesignedForRange
from ..laws.controller import layers
from ..laws.given import feedback_of
from ..laws.linear_part import linear_law
from ..linear import linearise
from ..linear.decay import grows
from ..linear.interconnect import loop_poles
from ..linear.operating import linearisation_point
from ..model import FloatArray, names
from ..models.ranges import ALLOWED, BeyondModel, Driven, in_range
from .growth import SMALLER, growth, told
from .path_stability import HiddenInstability
from .response import Response

if TYPE_CHECKING:
    from ..kernels.tables import Record

SLACK = 0.02
"""Part of the range of a law by which its variable may overshoot without a word."""


RECORDED = 2**23
"""Largest number of coordinates times points of the grid that is recorded to see how far a model was driven."""


class OutsideDesign(Caution):
    """A law was used beyond what it was designed for.

    Examples
    --------
    >>> issubclass(fx.OutsideDesign, fx.Caution)
    True
    """


def after_run(controller: Any, run: Response) -> None:
    """Warn of what a finished run does not show by itself; see the module docstring."""
    for law in layers(controller):
        if isinstance(law, Design):
            _warn_of_unstable(law)
        ranges = law.designed_for if isinstance(law, DesignedForRange) else {}
        for name, (low, high) in ranges.items():
            if name in names(run.outputs):
                _warn_of_range(run, name, low, high)


def watched(model: Any, duration: float, step: float) -> bool:
    """Whether a run is recorded to be asked afterwards how far its model was driven: where that costs little memory."""
    return isinstance(innermost(model), Assuming) and len(model.coordinates) * duration / step <= RECORDED


def followed(model: Any) -> int:
    """Return how many states compiled steps keep that drive the assumptions of a model furthest; 0: all are needed."""
    inner = innermost(model)
    follows = isinstance(inner, FollowsAssumptions) and not isinstance(inner, Pressed) and steps_itself(model)
    return inner.furthest if follows else 0


def driven(model: Any, run: Response) -> tuple[Driven, ...]:
    """Return how far a run drove the assumptions of its model; empty for one without any, or without recorded states.

    Parameters
    ----------
    model : MechanicalModel
        The plant of the run.
    run : Response
        With coordinates and rates.
    """
    if run.q is None or run.v is None:
        return ()
    by_name = dict(zip(names(run.inputs), run.u.T, strict=True))
    u = [by_name.get(name, np.zeros(run.t.size)) for name in names(model.inputs)]
    return in_range(model, run.q, run.v, np.column_stack(u) if u else None)


def with_range(model: Any, run: Response, keep: bool, record: Record | None = None) -> Response:
    """Return the run with how far its model was driven in its provenance, warned of where that costs more than 5 %.

    Without its coordinates and rates unless they are to be kept. `record`: that of a run whose steps kept the states
    that drive the model furthest (`kernels.furthest`).
    """
    if record is None:
        found = driven(model, run)
    else:
        at = record.furthest[1].astype(np.int64)
        found = tuple(replace(one, sample=int(at[one.sample])) for one in in_range(model, record.q, record.v))
    for one in found:
        if one.cost > ALLOWED:
            _warn_of_model(model, run, one)
    told = {one.what: {"value": one.value, "unit": one.unit, "cost": one.cost, "bound": one.bound} for one in found}
    run = run if keep else replace(run, q=None, v=None)
    return replace(run, provenance={**run.provenance, "driven": told}) if told else run


def _warn_of_model(model: Any, run: Response, one: Driven) -> None:
    caution(
        f"{model.kind}: {one.what} reached {one.value:.3g} {one.unit} at t = {run.t[one.sample]:.4g} s, "
        f"{one.told()}, or move less",
        BeyondModel,
    )


def _warn_of_range(run: Response, name: str, low: float, high: float) -> None:
    value = run[name]
    beyond = np.maximum(low - value, value - high)
    k = int(beyond.argmax())
    if beyond[k] <= SLACK * (high - low):
        return
    unit = run.unit(name)
    scale, shown = (180.0 / np.pi, "deg") if unit == "rad" else (1.0, unit)
    first = int(np.flatnonzero(beyond > SLACK * (high - low))[0])
    caution(
        f"{name} = {scale * value[k]:.4g} {shown} at t = {run.t[k]:.4g} s is outside {scale * low:.4g} to "
        f"{scale * high:.4g} {shown}, for which the law was designed (since t = {run.t[first]:.4g} s): it acts there "
        "as at the nearest design, and nothing is known of that loop; add designs, or keep the motion inside",
        OutsideDesign,
    )


def _warn_of_unstable(design: Design) -> None:
    pole = unstable_pole(design)
    if pole is not None:
        caution(
            f"the loop of the design is unstable on its own linear plant: {_pole(pole)}. A bounded run only shows that "
            "it is short, that a limit holds the motion, or that the integrator damps it; see Design.poles and "
            "flexctl.certify",
            HiddenInstability,
        )


def _pole(pole: complex) -> str:
    return f"{pole.real:+.3g} 1/s at {abs(pole.imag) / (2 * np.pi):.4g} Hz"


def unstable_pole(design: Design) -> complex | None:
    """Return the pole [rad/s] of a design's loop that grows most; None where none does, or there is no linear loop."""
    try:
        poles = design.poles if design.law.measures else np.zeros(0, complex)
    except NotAvailable:
        return None
    return complex(poles[np.argmax(poles.real)]) if grows(poles, design.sample_time) else None


def _pole_at_rest(controller: Any, plant: Any) -> complex | None:
    """Return the pole [rad/s] that grows most in the loop of any law with a linear part about the arm at rest."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is to be said of the point is not asked here
            linear = linearise(plant, linearisation_point(plant))
            feedback = feedback_of(linear_law(controller, plant))
            poles = loop_poles(linear, feedback)
    except FlexctlError:
        return None
    return complex(poles[np.argmax(poles.real)]) if grows(poles, feedback.dt) else None


def explained(
    error: ConvergenceError, controller: Any, t: FloatArray, y: FloatArray, plant: Any, looped: bool = True,
) -> ConvergenceError:
    """Return the error of a run that failed, with whether its motion was growing and its linear loop is unstable.

    Parameters
    ----------
    error : ConvergenceError
        With the time of the failure; one without is returned as it is.
    controller : Controller or None
        The law as it was given.
    t, y : ndarray
        The time grid [s] and the outputs recorded so far; rows after the failure are ignored.
    plant : MechanicalModel
        What was run.
    looped : bool
        Whether there is a loop that may be unstable: a law that measures, or a servo or cylinder of the arm.
    """
    until = int(np.searchsorted(t, error.time, side="left")) if np.isfinite(error.time) else 0
    if until == 0:
        return error
    outputs = plant.outputs
    record = t[:until], y[:until, : len(outputs)], names(outputs)
    parts, grown = [told(str(error), *record, looped)], growth(*record)
    for law in layers(controller):
        pole = unstable_pole(law) if isinstance(law, Design) else None
        if pole is not None:
            parts.append(f"the loop of the design is unstable on its own linear plant: {_pole(pole)}")
    pole = _pole_at_rest(controller, plant) if looped and not parts[1:] else None
    if pole is not None:
        parts = [parts[0].partition(SMALLER)[0], f"the linear loop where the arm rests is unstable: {_pole(pole)}"]
        parts.append("change the gain or the control period of the law: a smaller step only fails later")
    message = "; ".join(parts)
    growing = "" if grown is None else str(grown)
    return ConvergenceError(
        message, time=error.time, iteration=error.iteration, residual=error.residual, growing=growing
    )
