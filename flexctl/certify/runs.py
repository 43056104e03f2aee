"""Runs on the full model: encoder resolution, saturation, and how far the linear prediction holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..errors import FlexctlError, NotAvailable
from ..laws.controller import LinearLaw, Quantised, bare
from ..laws.linear_part import linear_law
from ..laws.rigid_reference import is_torque
from ..model import FloatArray, OperatingPoint, names
from ..response import Response
from ..simulate import simulate
from ..track import Track
from ..trajectories import InputSignal, Motion
from ..translate import UNITS, told_back

if TYPE_CHECKING:
    from ..catalogue import Plant
    from ..scenario import Scenario

TAIL = 0.3
"""Last part of a run in which what is left of the motion counts as a limit cycle."""
STRAIN = "1"
"""Unit of strain outputs: they take part in the comparison with the linear prediction, each against its own size."""
PARTED = 0.05
"""Deviation from the linear prediction, in parts of the move, at which the two have parted."""


@dataclass(frozen=True, eq=False)
class QuantisedRun:
    """A run with encoders of a number of bits.

    Attributes
    ----------
    bits : int
        Resolution: one turn is 2^bits steps; for other sensors than angles twice the largest reading is.
    quanta : mapping
        Step of each measured output.
    ripple : mapping
        Half of peak to peak of every driven input and followed output over the last 30 % of the run;
        along a path without the motion itself.
    scores : mapping
        Scores of the run.
    failure : str
        Why there is no run.
    """

    bits: int
    quanta: Mapping[str, float]
    ripple: Mapping[str, float]
    scores: Mapping[str, float]
    failure: str = ""


@dataclass(frozen=True, eq=False)
class LinearValidity:
    """How far the linear prediction holds: the law without limits on the linear plant against the full run.

    Attributes
    ----------
    amplitudes : ndarray
        Factors on the scenario's move.
    deviation : ndarray
        Largest deviation of the followed outputs from the prediction, in parts of the move; infinite for a failed run.
    saturated : ndarray
        Whether the law was at a limit in that run.
    """

    amplitudes: FloatArray
    deviation: FloatArray
    saturated: npt.NDArray[np.bool_]

    @property
    def parting(self) -> float:
        """Return the factor at which the deviation passes 5 % of the move; inf when it never does in the range."""
        above = np.flatnonzero(self.deviation > PARTED)
        if not above.size:
            return np.inf
        k = int(above[0])
        if k == 0:
            return float(self.amplitudes[0])
        a, b = np.log(self.amplitudes[k - 1 : k + 1])
        low, high = np.log(np.clip(self.deviation[k - 1 : k + 1], 1e-12, 1e12))
        return float(np.exp(a + (b - a) * (np.log(PARTED) - low) / (high - low)))


@dataclass(frozen=True)
class Scaled:
    """A motion whose departure from its first value is multiplied by a factor."""

    motion: Motion
    factor: float
    shift: float = 0.0

    @property
    def duration(self) -> float:
        """Time after which the value stays [s]."""
        return self.motion.duration

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Those of the motion [s]."""
        return self.motion.breakpoints

    @property
    def begin(self) -> float:
        """Value before the motion begins."""
        return float(self.motion(np.nextafter(0.0, -1.0))[0])

    @property
    def target(self) -> float:
        """Value that is reached in the end."""
        return self.begin + self.factor * (self.motion.target - self.begin) - self.shift

    def __call__(self, t: npt.ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return value, rate and acceleration at times t [s]."""
        value, rate, acceleration = self.motion(t)
        value = self.begin + self.factor * (value - self.begin) - self.shift
        return value, self.factor * rate, self.factor * acceleration


@dataclass(frozen=True)
class ScaledSignal:
    """An input signal multiplied by a factor."""

    signal: InputSignal
    factor: float

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Those of the signal [s]."""
        return self.signal.breakpoints

    def __call__(self, t: npt.ArrayLike, before: bool = False) -> FloatArray:
        """Return the signal at times t [s]."""
        value: FloatArray = self.factor * self.signal(t, before)
        return value


def limits(law: Any) -> dict[str, float]:
    """Return the smallest limit of every driven input of a law; inf where there is none."""
    found = dict.fromkeys(law.drives, np.inf)
    while True:
        if isinstance(law, LinearLaw):
            for drive, low, high in zip(law.drives, law.lower, law.upper, strict=True):
                found[drive] = min(found[drive], max(abs(float(low)), abs(float(high))))
            return found
        bound = getattr(law, "limit", np.inf)
        found = {drive: min(value, float(bound)) for drive, value in found.items()}
        inner = getattr(law, "law", None) or next(iter(getattr(law, "laws", ())), None)
        if inner is None:
            return found
        law = inner


def quantised(plant: Plant, law: Any, item: Scenario, bits: int) -> QuantisedRun:
    """Return the run of a scenario with encoders of so many bits."""
    quanta: dict[str, float] = {}
    try:
        quanta = {name: scale / 2.0**bits for name, scale in full_scales(plant, law, item).items()}
        inner = bare(law)
        if isinstance(inner, Quantised):  # these encoders take the place of its own
            quanta, inner = {**inner.quanta, **quanta}, inner.law
        run = item.run(Quantised(inner, quanta), plant)
    except FlexctlError as error:
        return QuantisedRun(bits, quanta, {}, {}, str(error))
    return QuantisedRun(bits, quanta, ripples(run, law, item.track), run.scores)


def ripples(run: Response, law: Any, track: Track | None = None) -> dict[str, float]:
    """Return half of peak to peak of every driven input and followed output over the last part of a run.

    Along a path the motion itself is taken off: what the rigid arm would read, and the torques that it would need.
    """
    tail = run.t >= run.t[-1] * (1.0 - TAIL)
    t, rigid = run.t[tail], {} if track is None else track.channels()
    motion = {name.replace("_feedforward", "_torque"): channel for name, channel in rigid.items()}
    followed = [name for name in law.follows if name in names(run.outputs)]
    driven = [name for name in law.drives if name in names(run.inputs)]  # motions are prescribed, not recorded
    left = {n: run[n][tail] - (motion[n](t)[0] if n in motion else 0.0) for n in (*driven, *followed)}
    return {name: 0.5 * float(np.ptp(value)) for name, value in left.items()}


def full_scales(plant: Plant, law: Any, item: Scenario) -> dict[str, float]:
    """Return what 2^bits steps of each sensor span: one turn for angles, twice the largest reading otherwise."""
    units = {**UNITS, **{signal.name: signal.unit for signal in item.plant(plant).model.outputs}}
    found = {name: 2 * np.pi for name in law.measures if units.get(name) == "rad"}
    if len(found) < len(law.measures):
        run = item.run(law, plant)
        largest = {name: float(np.abs(run[name]).max()) for name in law.measures if name not in found}
        found |= {name: 2.0 * value for name, value in largest.items() if value > 0.0}
    return found


def predicted(plant: Plant, law: Any, item: Scenario) -> Response:
    """Return the run of the law without limits on the linear plant, everything counted from the operating point."""
    arm, known, words = item.fitted(law, plant)
    point = start_point(arm, item)
    read = arm.model.output(point.q, point.v, point.a, point.u)
    start = dict(zip(names(arm.model.outputs), (float(x) for x in read), strict=True))
    start |= {own: factor * start[name] for own, (name, factor) in words.outputs.items()}
    references = item.motions(law)
    # a torque that is fed forward carries the weight from the start
    start |= {name: Scaled(m, 1.0).begin for name, m in references.items() if is_torque(m)}
    moved = {name: Scaled(m, 1.0, start.get(name, 0.0)) for name, m in references.items()}
    inputs = {words.inputs.get(name, name): signal for name, signal in item.inputs.items()}
    linear, free = arm.linearise(point), linear_law(known, arm.model, point)
    return told_back(simulate(linear, free, moved, duration=item.duration, inputs=inputs), words, moved)


def start_point(arm: Plant, item: Scenario) -> OperatingPoint:
    """Return the pose in which a scenario begins, at rest: about it the arm is linearised."""
    initial = item.options.get("initial")
    if callable(initial):
        initial = initial(arm.model)
    return OperatingPoint.at_rest(arm.model, None if initial is None else initial[0])


@dataclass(frozen=True, eq=False)
class Scaling:
    """The full run of a scenario whose moves are multiplied by a factor."""

    factor: float
    run: Response | None
    failure: str


def scaled_run(plant: Plant, law: Any, item: Scenario, factor: float) -> Scaling:
    """Return the run with all moves and disturbances multiplied by a factor."""
    moved = {name: Scaled(m, factor) for name, m in item.motions(law).items()}
    inputs = {name: ScaledSignal(signal, factor) for name, signal in item.inputs.items()}
    try:
        return Scaling(factor, replace(item, reference=moved, inputs=inputs, payload=()).run(law, plant), "")
    except FlexctlError as error:
        return Scaling(factor, None, str(error))


def validity(prediction: Response, scalings: list[Scaling], law: Any) -> LinearValidity:
    """Return how far the scaled runs are from the scaled prediction, in followed outputs and strains."""
    followed = [n for n in law.follows if n in names(prediction.outputs)] or list(law.measures)
    strained = [s.name for s in prediction.outputs if s.unit == STRAIN]
    moves = {n: float(np.ptp(prediction[n])) for n in (*followed, *strained)}
    followed = [n for n, size in moves.items() if size > 0.0]
    bound = limits(law)
    rows = []
    for item in sorted(scalings, key=lambda s: s.factor):
        if item.run is None:
            rows.append((item.factor, np.inf, False))
            continue
        off = max(_apart(prediction, item.run, n, item.factor) / (item.factor * moves[n]) for n in followed)
        at_limit = any(np.abs(item.run[d]).max() >= (1 - 1e-9) * bound[d] for d in law.drives)
        rows.append((item.factor, off, bool(at_limit)))
    if not rows:
        raise NotAvailable("no run to compare with the prediction")
    factors, deviations, saturated = zip(*rows, strict=True)
    return LinearValidity(np.array(factors), np.array(deviations), np.array(saturated, bool))


def _apart(prediction: Response, run: Response, name: str, factor: float) -> float:
    t = prediction.t
    actual = np.interp(t, run.t, run[name])
    return float(np.abs(actual - actual[0] - factor * (prediction[name] - prediction[name][0])).max())
