"""Command governor: a path is followed as fast as the torques allow, and not left.

A law gets its references at a path parameter sigma in place of the time, and sigma runs at a pace s between 0 and 1:

    r = p(sigma),   r' = p'(sigma) s,   r'' = p''(sigma) s^2 + p'(sigma) s',        sigma' = s

Every `interval` control periods the governor predicts the linear closed loop of law and design plant, delay included,
and lets the pace rise by as much as keeps every predicted command within (1 - margin) of its limit, were the pace held
from then on (or lowered to a stop, with `brake`). Both predictions, without a rise and with the largest one, are nearly
linear in the rise: one division per predicted command gives the largest that is admitted, and one more prediction
confirms it. Where nothing moves the pace is free, so that a move begins at the fastest pace at which all of it is
admitted. Far from the limits the pace is 1 and the law gets what it would get without the governor, to the last bit.

Why it stays possible (Gilbert and Kolmanovsky 1999 for set points; here for a pace): a pace that is admitted stays so,
since holding it is what was predicted. With `brake`, which looks ahead no further than it takes to stop, a path may be
of any length.

Assumptions: the design plant, and limits that are not reached, so that the loop is linear. The governor estimates the
state of the design plant by a Kalman filter of its own; states of the law and commands on their way are known. Payload,
higher modes and disturbances are not predicted: `margin` is kept for them, and the limits of the law stay in force. If
no pace is admitted the one that exceeds the bounds least is taken. The feedback loop is the law's own: the governor
passes references that stay bounded whatever it decides, so that it cannot make a stable linear loop unstable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import DefinitionError, require
from ..laws.controller import Delayed, LinearLaw, bare
from ..laws.given import feedback_of
from ..laws.governed import Governed, Predictor
from ..linear import FirstOrder
from ..linear.discrete import delay_outputs, zero_order_hold
from ..linear.interconnect import closed_loop
from ..linear.realise import first_order
from ..machine.given import LinearGiven, as_second_order
from ..model import FloatArray, Signal, index_of, names
from .design import Design
from .estimated import riccati


def governor(
    law: LinearLaw | Delayed | Design, plant: LinearGiven, *, modes: int, margin: float = 0.2,
    bounds: Mapping[str, float] | None = None, interval: int = 10, slope: float = 0.2, smooth: float = 0.05,
    brake: float | None = None, horizon: float = 4.0, noise: float = 1e-4, disturbance: float = 0.1,
) -> Design:
    """Return the law with a governor that slows its references so that its limits are not reached.

    Parameters
    ----------
    law : LinearLaw, Delayed or Design
        A sampled linear law with limits, delayed by some samples or not, that follows references.
    plant : SecondOrder
        Linear plant for the prediction.
    modes : int
        Flexible modes of the plant that are predicted.
    margin : float
        Part of every limit that is kept for what is not predicted, such as a payload: the torque that accelerates it.
    bounds : mapping, optional
        Further bounds by output of the plant, e.g. ``{"root_strain": 3e-4}``: |output| stays below in the prediction.
    interval : int
        Control periods between two decisions; also the step of the prediction.
    slope : float
        Largest change of the pace per second while something moves [1/s]. A change of the pace is an acceleration,
        which takes torque too: 1 would make the law work for the governor. What happens faster is left to `margin`.
    smooth : float
        Time constant with which this change begins and ends [s]; a jump of it would be a jump of the torque.
    brake : float, optional
        Time constant of a stop on the path [s], for motions longer than the horizon. By default the pace is held in the
        prediction, to the end of the path.
    horizon : float
        Longest motion, between two rests, that is predicted to its end [s]; with `brake` the longest prediction.
    noise : float
        Standard deviation of the measured outputs for the estimate, in their unit.
    disturbance : float
        Standard deviation of the input torques for the estimate, in parts of the limit.

    Examples
    --------
    >>> script = fx.load_controller("tokhi_azad_lqg")
    >>> arm = fx.load_plant(script.PLANT)
    >>> fx.governor(script.design(arm), arm.linearise(), modes=2).sample_time
    0.001
    """
    plant = as_second_order(plant)
    assumed = dict(law.assumptions) if isinstance(law, Design) else {}
    law = bare(law)
    inner = law.law if isinstance(law, Delayed) else law
    if not isinstance(inner, LinearLaw):
        kind = type(inner).__name__
        raise DefinitionError(f"a {kind} cannot be governed: give a LinearLaw, or one in Delayed")
    require(law.sample_time > 0, "a continuous law cannot be governed; discretise it first")
    require(bool(law.follows), "a law that follows nothing cannot be governed: it has no path to be slowed on")
    finite = bool(np.isfinite([inner.lower, inner.upper]).all())
    limited = finite and bool((inner.lower < 0).all() and (inner.upper > 0).all())
    require(limited, "the law has no limits on both sides of zero: use law.limited(-limit, limit)")
    require(0 <= margin < 1, f"margin = {margin} must lie between 0 and 1")
    require(interval >= 1, f"interval = {interval} control periods must be at least 1")
    given: dict[str, Any] = {"slope": slope, "smooth": smooth, "brake": brake, "horizon": horizon}
    for name, value in {**given, "noise": noise, "disturbance": disturbance}.items():
        proper = (name == "brake" and value is None) or (bool(np.isfinite(value)) and value > 0)
        require(proper, f"{name} = {value} must be positive and finite")
    h = interval * law.sample_time
    require(brake is None or brake > h, f"brake = {brake} s must be longer than the interval of {h:g} s")
    model = zero_order_hold(first_order(plant, "modal", modes), law.sample_time)
    predictor = _predictor(law, inner, model, margin, bounds or {}, interval, noise, disturbance)
    rate = 0.0 if brake is None else 1.0 / brake
    governed = Governed(law, predictor, interval, slope, float(np.exp(-h / smooth)), rate, horizon)
    chosen = {"governor_modes": modes, "margin": margin, "bounds": dict(bounds or {}), "interval": interval, **given}
    return Design(governed, plant, {**assumed, **chosen})


def _predictor(
    law: Any, inner: LinearLaw, model: FirstOrder, margin: float, bounds: Mapping[str, float],
    interval: int, noise: float, disturbance: float,
) -> Predictor:
    rows = [index_of("output", name, model.outputs) for name in law.measures]
    columns = [index_of("input", name, model.inputs) for name in law.drives]
    direct = bool(np.any(model.D[np.ix_(rows, columns)]))
    require(not direct, f"one of {list(law.measures)} reads the input directly; the governor's filter cannot use it")
    loop = closed_loop(model, _with_references(law, inner))
    references = 3 * len(law.follows)
    extra = [index_of("output", name, model.outputs) for name in bounds]
    kept = [*range(len(model.outputs), len(loop.outputs)), *extra]
    A, B = loop.A, np.ascontiguousarray(loop.B[:, :references])
    steps = np.array([np.linalg.matrix_power(A, interval - 1 - k) @ B for k in range(interval)])
    z = np.arange(interval) / interval
    weights = (1 - z) * (1 - 2 * z), 4 * z * (1 - z), z * (2 * z - 1)
    inputs = (np.ascontiguousarray(np.tensordot(weight, steps, 1)) for weight in weights)
    large = np.array([*bounds.values()], float)
    require(bool((large > 0).all()), f"bounds {dict(bounds)} must be positive")
    C, D = np.ascontiguousarray(loop.C[kept]), np.ascontiguousarray(loop.D[kept, :references])
    Gamma, measure = model.B[:, columns], model.C[rows]
    strength = disturbance * 0.5 * (inner.upper - inner.lower)
    return Predictor(
        (np.linalg.matrix_power(A, interval), *inputs, C, D), (1 - margin) * np.r_[inner.lower, -large],
        (1 - margin) * np.r_[inner.upper, large], model.A, Gamma, measure,
        _filter(model.A, Gamma * strength, measure, noise), _at_rest(model, measure),
    )


def _with_references(law: Any, inner: LinearLaw) -> FirstOrder:
    """Return the law from measured outputs and references to commands, limits left out, delay included."""
    back = feedback_of(inner)
    parts = [Signal(f"{name}, {part}") for name in law.follows for part in ("value", "rate", "acceleration")]
    whole = replace(
        back, B=np.hstack([back.B, inner.Br + inner.Bu @ inner.Dr]), D=np.hstack([back.D, inner.Dr]),
        inputs=(*back.inputs, *parts),
    )
    return delay_outputs(whole, law.samples) if isinstance(law, Delayed) else whole


def _filter(Phi: FloatArray, Gamma: FloatArray, C: FloatArray, noise: float) -> FloatArray:
    """Return the gain of the current estimator against torques at the inputs."""
    V = noise**2 * np.eye(len(C))
    P = riccati(Phi.T, C.T, Gamma @ Gamma.T, V, "governor's filter")
    return np.asarray(np.linalg.solve(C @ P @ C.T + V, C @ P).T, float)


def _at_rest(model: FirstOrder, measure: FloatArray) -> FloatArray:
    """Return the state at rest, all in the rigid modes, that reads as measured."""
    rigid = [i for i, name in enumerate(names(model.states)) if name.startswith("rigid") and "_" not in name]
    state = np.zeros((len(model.states), len(measure)))
    state[rigid] = np.linalg.pinv(measure[:, rigid])
    return state
