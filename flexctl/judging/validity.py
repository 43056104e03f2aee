"""How far a linear plant can be trusted: its prediction against runs of the full model, larger and larger.

    fx.linear_validity(arm, {"joint1_torque": fx.bang_bang(0.1, 0.3)}, duration=1.2)     an open plant
    flexctl validity tokhi_azad_1994 --torque bang-bang:0.1,0.3                       the same from the command line
    fx.certify(...).validity                                                          with a law

Every judged output counts by itself: its largest deviation from the scaled prediction, in parts of the range that it is
predicted to go through. An output that is predicted to stay where it is (tip_x of a stretched arm moves with the square
of the angle) is measured against the largest range predicted in its unit. 5 % of that is where the two have parted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ..abilities import IsLinear
from ..errors import DefinitionError, FlexctlError, NotAvailable, require, unknown
from ..linear import FirstOrder, SecondOrder, linearise
from ..machine.given import as_model, is_control, opened
from ..model import FloatArray, LinearMechanics, MechanicalModel, OperatingPoint, index_of, names
from ..motion.moves import InputSignal
from ..motion.signals import PiecewiseConstant
from ..simulation.response import Response
from ..simulation.simulate import simulate
from ..support.kinds import SystemGiven
from ..support.tabular import Column, Tabular
from .scenario import Progress

AMPLITUDES = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Factors on the move."""
PARTED = 0.05
"""Deviation from the linear prediction, in parts of the move, at which the two have parted."""
STILL = 1e-6
"""An output that is predicted to move by less than this part of the most in its unit is predicted to stay."""


@dataclass(frozen=True, eq=False)
class LinearValidity(Tabular):
    """How far the linear prediction holds: the law without limits on the linear plant against the full run.

    Attributes
    ----------
    amplitudes : ndarray
        Factors on the move.
    deviation : ndarray
        Largest deviation of all judged outputs from the prediction, as a fraction of the move; infinite for a failed
        run.
    saturated : ndarray
        Whether a law was at a limit in that run.
    outputs : mapping
        The deviation of every judged output.
    errors : mapping
        By how much each of them may be off: by the estimated errors of run and prediction, or, in certificates that
        require it, by what runs at a finer tolerance change.
    failures : mapping
        Why there is no run, by factor.

    Examples
    --------
    >>> arm = fx.load_plant("tokhi_azad_1994")
    >>> found = fx.linear_validity(arm, {"joint1_torque": fx.bang_bang(0.1, 0.1)}, duration=0.3, amplitudes=(1.0, 2.0))
    >>> found.amplitudes.tolist()
    [1.0, 2.0]
    """

    amplitudes: FloatArray
    deviation: FloatArray
    saturated: npt.NDArray[np.bool_]
    outputs: Mapping[str, FloatArray] = field(default_factory=dict)
    failures: Mapping[float, str] = field(default_factory=dict)
    errors: Mapping[str, FloatArray] = field(default_factory=dict)

    @property
    def parting(self) -> float:
        """Return the factor at which the deviation passes 5 % of the move; inf when it never does in the range.

        The smallest factor where it is larger there already: see `agreed`.
        """
        return _parting(self.amplitudes, self.deviation)

    @property
    def agreed(self) -> float:
        """Return up to which factor prediction and run agree within 5 % whatever the errors of the runs are.

        0 if they do not at the smallest one, never more than the largest one.
        """
        off = [self.outputs[name] + self.errors.get(name, 0.0) for name in self.outputs]
        worst = np.max([self.deviation, *off], axis=0)
        return 0.0 if worst[0] > PARTED else min(_parting(self.amplitudes, worst), float(self.amplitudes[-1]))

    @property
    def partings(self) -> dict[str, float]:
        """Return the same of every output, the first to part first."""
        found = {name: _parting(self.amplitudes, off) for name, off in self.outputs.items()}
        return dict(sorted(found.items(), key=lambda item: item[1]))

    def __str__(self) -> str:
        rows = zip(self.amplitudes, self.deviation, strict=True)
        lines = [f"deviation {d:.2g} at {a:g} times the move" for a, d in rows]
        lines.append(f"they differ by 5 % {self.where(self.parting)}")
        lines += [f"  {name} {self.where(factor)}" for name, factor in self.partings.items() if np.isfinite(factor)]
        return "\n".join(lines)

    def where(self, factor: float) -> str:
        """Return at which factor prediction and run part, in words."""
        if not np.isfinite(factor):
            return "nowhere in this range"
        below = factor <= self.amplitudes[0]  # the smallest one that was tried
        return f"{'at or below' if below else 'at'} {factor:.3g} times the move"

    def _table(self) -> list[Column]:
        saturated = ["yes" if at_limit else "no" for at_limit in self.saturated]
        outputs = [Column(name, off, "1") for name, off in self.outputs.items()]
        why = [self.failures.get(float(factor), "") for factor in self.amplitudes]
        return [
            Column("amplitude", self.amplitudes, "1"), Column("deviation", self.deviation, "1"), *outputs,
            Column("at_a_limit", saturated), Column("failure", why),
        ]

    def _about(self) -> Mapping[str, Any]:
        return {"parting": self.parting, "agreed": self.agreed, "errors": dict(self.errors)}

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers for JSON."""
        return {
            "amplitudes": self.amplitudes, "deviation": self.deviation, "saturated": self.saturated,
            "parting": self.parting, "agreed": self.agreed, "outputs": dict(self.outputs), "partings": self.partings,
            "errors": dict(self.errors),
            "failures": {f"{factor:g}": why for factor, why in self.failures.items()},
        }


def _parting(amplitudes: FloatArray, deviation: FloatArray) -> float:
    above = np.flatnonzero(deviation > PARTED)
    if not above.size:
        return np.inf
    k = int(above[0])
    if k == 0:
        return float(amplitudes[0])
    a, b = np.log(amplitudes[k - 1 : k + 1])
    low, high = np.log(np.clip(deviation[k - 1 : k + 1], 1e-12, 1e12))
    return float(np.exp(a + (b - a) * (np.log(PARTED) - low) / (high - low)))


@dataclass(frozen=True)
class ScaledSignal:
    """An input signal multiplied by a factor, on top of a constant."""

    signal: InputSignal
    factor: float
    shift: float = 0.0

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Those of the signal [s]."""
        return self.signal.breakpoints

    def __call__(self, t: npt.ArrayLike, before: bool = False) -> FloatArray:
        """Return the signal at times t [s]."""
        value: FloatArray = self.shift + self.factor * self.signal(t, before)
        return value


@dataclass(frozen=True, eq=False)
class Scaling:
    """The full run of a move multiplied by a factor.

    Attributes
    ----------
    factor : float
        On the move.
    run : Response or None
        The run.
    failure : str
        Why there is none.
    saturated : bool
        Whether a law was at a limit in it.
    """

    factor: float
    run: Response | None
    failure: str
    saturated: bool = False


def linear_validity(
    plant: SystemGiven,
    inputs: Mapping[str, InputSignal],
    *,
    duration: float,
    at: OperatingPoint | None = None,
    amplitudes: Sequence[float] = AMPLITUDES,
    outputs: Sequence[str] | None = None,
    step: float | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> LinearValidity:
    """Return how far the linear plant of an arm without a law predicts its motion.

    The arm starts at rest in the operating point, with the inputs that hold it there; the signals are added to them.
    Linear and full run use the same method and step.

    Parameters
    ----------
    plant : Plant or MechanicalModel
        The arm.
    inputs : mapping
        Signals by input, e.g. ``{"joint1_torque": fx.bang_bang(0.1, 0.3)}``.
    duration : float
        Length of the runs [s].
    at : OperatingPoint, optional
        By default where the arm is linearised anyway.
    amplitudes : sequence of float
        Factors by which the signals are scaled.
    outputs : sequence of str, optional
        Names of the judged outputs; all by default.
    step : float, optional
        Longest integration step [s].
    progress : callable, optional
        Called with what is running and the fraction of that run done.
    **options
        Further arguments of `flexctl.simulate` for the full runs, e.g. method.

    Examples
    --------
    >>> arm = fx.load_plant("tokhi_azad_1994")
    >>> found = fx.linear_validity(arm, {"joint1_torque": fx.bang_bang(0.1, 0.1)}, duration=0.3, amplitudes=(1.0, 2.0))
    >>> bool(found.outputs["tip_displacement"].max() < 1e-3), bool(found.outputs["tip_x"].max() > 1e-3)
    (True, True)
    """
    plant = opened(plant)
    if isinstance(plant, SecondOrder | FirstOrder | IsLinear) or is_control(plant):
        raise DefinitionError("a linear plant is its own prediction; give the arm: a plant or a mechanical model")
    model = as_model(plant)
    require(bool(inputs), "nothing moves the arm: give inputs, a mapping from name to signal")
    factors = np.sort(np.asarray(amplitudes, float))
    proper = factors.size > 0 and bool(np.isfinite(factors).all() and np.all(factors > 0.0))
    require(proper, f"amplitudes {list(amplitudes)} must be positive and finite factors")
    judged = _judged(outputs, model)
    linear = linearise(plant, at)
    point = linear.operating_point
    if point is None:
        raise NotAvailable(f"{model.kind} does not say where it is linearised: give the operating point (at=...)")
    _check_rest(model, point)
    told = _told(progress, "linear prediction")
    prediction = simulate(
        linear, None, duration=duration, inputs=inputs, step=step, progress=told, **alike(model, options)
    )
    found = []
    for factor in factors:
        told = _told(progress, f"{factor:g} times the move")
        run = {"duration": duration, "step": step, "progress": told, **options}
        found.append(_scaled(plant, model, point, inputs, factor, **run))
    return compared(prediction, found, judged)


def _told(progress: Progress | None, what: str) -> Callable[[float], None] | bool:
    return False if progress is None else lambda part: progress(what, part)


def alike(model: MechanicalModel, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of `simulate` by which a linear run makes the errors of integration of the full one."""
    if isinstance(model, LinearMechanics):
        return {}
    same = {key: options[key] for key in ("scheme", "step", "rtol") if key in options}
    method = options.get("method", "auto")
    return {**same, "method": "generalised_alpha" if method == "auto" else method}


def _judged(outputs: Sequence[str] | None, model: MechanicalModel) -> list[str]:
    known = names(model.outputs)
    for name in outputs or ():
        if name not in known:
            raise unknown("output", name, known)
    return list(known if outputs is None else outputs)


def _check_rest(model: MechanicalModel, point: OperatingPoint) -> None:
    still = not (np.any(point.v) or np.any(point.a))
    require(still, f"the operating point of {model.kind} moves (v or a is not zero); give one at rest")


def _scaled(
    plant: Any, model: MechanicalModel, point: OperatingPoint, inputs: Mapping[str, InputSignal], factor: float,
    **options: Any,
) -> Scaling:
    """Return the full run from the operating point with its inputs, and the signals times a factor on top."""
    signals: dict[str, InputSignal] = {}
    for i, name in enumerate(names(model.inputs)):
        held = float(point.u[i])
        if name in inputs:
            signals[name] = ScaledSignal(inputs[name], factor, held)
        elif held:
            signals[name] = PiecewiseConstant((), (held,))
    for name in inputs:
        index_of(f"input of {model.kind}", name, model.inputs)
    start = (np.asarray(point.q, float), np.zeros(len(model.coordinates)))
    try:
        return Scaling(factor, simulate(plant, None, inputs=signals, initial=start, **options), "")
    except DefinitionError:
        raise
    except FlexctlError as error:
        return Scaling(factor, None, str(error))


def compared(prediction: Response, scalings: Sequence[Scaling], judged: Sequence[str]) -> LinearValidity:
    """Return how far runs are from the scaled prediction.

    Parameters
    ----------
    prediction : Response
        The linear run, of factor 1.
    scalings : sequence of Scaling
        The full runs.
    judged : sequence of str
        Names of the outputs that count.
    """
    scalings = sorted(scalings, key=lambda s: s.factor)
    if not any(s.run is not None for s in scalings):
        raise NotAvailable("no run to compare with the prediction")
    sizes = _sizes(prediction, judged)
    rows = {name: np.array([_off(prediction, s, name, size) for s in scalings]) for name, size in sizes.items()}
    errors = {name: np.array([_error(prediction, s, name, size) for s in scalings]) for name, size in sizes.items()}
    none = np.array([0.0 if s.run is not None else np.inf for s in scalings])
    worst = np.max([none, *rows.values()], axis=0)
    failures = {s.factor: s.failure for s in scalings if s.run is None}
    saturated = np.array([s.saturated for s in scalings], bool)
    return LinearValidity(np.array([s.factor for s in scalings]), worst, saturated, rows, failures, errors)


def _sizes(prediction: Response, judged: Sequence[str]) -> dict[str, float]:
    """Return by what each judged output is measured; without one of a unit in which nothing is predicted to move."""
    known = names(prediction.outputs)
    own = {name: float(np.ptp(prediction[name])) for name in known}
    most: dict[str, float] = {}
    for name, size in own.items():
        unit = prediction.unit(name)
        most[unit] = max(most.get(unit, 0.0), size)
    top = {name: most[prediction.unit(name)] for name in judged if name in own}
    return {name: own[name] if own[name] > STILL * top[name] else top[name] for name in top if top[name] > 0.0}


def _off(prediction: Response, scaling: Scaling, name: str, size: float) -> float:
    """Return the largest deviation of one output [1]; at the common times only, so that jumps are not smeared."""
    run, factor = scaling.run, scaling.factor
    if run is None:
        return np.inf
    expected, actual = (x - x[0] for x in (prediction[name], run[name]))
    nearest = np.clip(np.searchsorted(run.t, prediction.t - 1e-9), 0, run.t.size - 1)
    common = np.abs(run.t[nearest] - prediction.t) <= 2e-9
    if common.sum() >= 0.5 * min(run.t.size, prediction.t.size):
        apart = actual[nearest[common]] - factor * expected[common]
    else:
        apart = np.interp(prediction.t, run.t, actual) - factor * expected
    return float(np.abs(apart).max() / (factor * size))


def _error(prediction: Response, scaling: Scaling, name: str, size: float) -> float:
    """Return by how much a deviation may be off [1], by the estimated errors of both runs; 0 where none is known."""
    if scaling.run is None:
        return 0.0
    off = scaling.run.error.get(name, np.nan), scaling.factor * prediction.error.get(name, np.nan)
    return float(np.nansum(off) / (scaling.factor * size))
