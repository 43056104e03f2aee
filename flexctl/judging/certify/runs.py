"""Runs on the full model: encoder resolution, saturation, and how far the linear prediction holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...abilities import IsLinear, Posable
from ...errors import FlexctlError, NotAvailable
from ...laws.abilities import AroundLaw, Limited, OfSeveralLaws
from ...laws.controller import LinearLaw, Quantised, bare
from ...laws.linear_part import linear_law
from ...laws.rigid_reference import is_torque
from ...linear.operating import carried, drives, rest_point, unbalanced
from ...model import FloatArray, OperatingPoint, names
from ...motion.moves import Motion
from ...motion.track import Track
from ...simulation.response import Response
from ...simulation.simulate import simulate
from ..validity import LinearValidity, ScaledSignal, Scaling, alike, compared

if TYPE_CHECKING:
    from ...catalogue import Plant
    from ..scenario import Scenario

TAIL = 0.3
"""Last part of a run in which what is left of the motion counts as a limit cycle."""
STRAIN = "1"
"""Unit of strain outputs: they take part in the comparison with the linear prediction, each against its own size."""


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
    errors : mapping
        Error of every ripple, by what a second run at a finer tolerance changes; empty without one.
    """

    bits: int
    quanta: Mapping[str, float]
    ripple: Mapping[str, float]
    scores: Mapping[str, float]
    failure: str = ""
    errors: Mapping[str, float] = field(default_factory=dict)


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


def limits(law: Any) -> dict[str, float]:
    """Return the smallest limit of every driven input of a law; inf where there is none."""
    found = dict.fromkeys(law.drives, np.inf)
    while True:
        if isinstance(law, LinearLaw):
            for drive, low, high in zip(law.drives, law.lower, law.upper, strict=True):
                found[drive] = min(found[drive], max(abs(float(low)), abs(float(high))))
            return found
        bound = law.limit if isinstance(law, Limited) else np.inf
        found = {drive: min(value, float(bound)) for drive, value in found.items()}
        if isinstance(law, AroundLaw):
            law = law.law
        elif isinstance(law, OfSeveralLaws):
            law = law.laws[0]
        else:
            return found


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
    units = {signal.name: signal.unit for signal in item.plant(plant).model.outputs}
    found = {name: 2 * np.pi for name in law.measures if units.get(name) == "rad"}
    if len(found) < len(law.measures):
        run = item.run(law, plant)
        largest = {name: float(np.abs(run[name]).max()) for name in law.measures if name not in found}
        found |= {name: 2.0 * value for name, value in largest.items() if value > 0.0}
    return found


def predicted(plant: Plant, law: Any, item: Scenario) -> Response:
    """Return the run of the law without limits on the linear plant, everything counted from the operating point."""
    arm, own = item.plant(plant), item.own_law(law)
    point = start_point(arm, item)
    read = arm.model.output(point.q, point.v, point.a, point.u)
    start = dict(zip(names(arm.model.outputs), (float(x) for x in read), strict=True))
    references = item.motions(law)
    # a torque that is fed forward carries the weight from the start
    start |= {name: Scaled(m, 1.0).begin for name, m in references.items() if is_torque(m)}
    moved = {name: Scaled(m, 1.0, start.get(name, 0.0)) for name, m in references.items()}
    linear, free = arm.linearise(point), linear_law(own, arm.model, point)
    same = alike(arm.model, item.options)
    return simulate(linear, free, moved, duration=item.duration, inputs=item.inputs, **same)


def start_point(arm: Plant, item: Scenario, pose: Sequence[float] | None = None) -> OperatingPoint:
    """Return where a scenario begins, or a pose (joint angles [rad]), at rest with what carries it.

    Coordinates that the scenario gives are those of its own arm; where another one, heavier or softer, is not at rest
    in them, it is taken at rest with its joints at the same angles.
    """
    if isinstance(arm, IsLinear):
        if pose is not None:
            raise NotAvailable(f"{arm.name} is a linear plant: it has no poses")
        return OperatingPoint.at_rest(arm.model)
    if pose is not None:
        if not isinstance(arm.model, Posable):
            raise NotAvailable(f"{arm.kind} has no poses: leave them out")
        return rest_point(arm, [float(x) for x in pose])
    initial = item.options.get("initial")
    if callable(initial):
        initial = initial(arm.model)
    point = carried(arm.model, arm.model.reference() if initial is None else initial[0])
    if initial is None or np.any(initial[1]) or unbalanced(arm.model, point) is None:
        return point
    held = drives(arm.model)
    joints = {s.name: float(point.q[i]) for i, s in enumerate(arm.model.coordinates) if s.name in held}
    try:
        return rest_point(arm, joints) if joints else point
    except FlexctlError:
        return point


def scaled_run(plant: Plant, law: Any, item: Scenario, factor: float) -> Scaling:
    """Return the run with all moves and disturbances multiplied by a factor."""
    moved = {name: Scaled(m, factor) for name, m in item.motions(law).items()}
    inputs = {name: ScaledSignal(signal, factor) for name, signal in item.inputs.items()}
    try:
        return Scaling(factor, replace(item, reference=moved, inputs=inputs, payload=()).run(law, plant), "")
    except FlexctlError as error:
        return Scaling(factor, None, str(error))


def validity(prediction: Response, scalings: list[Scaling], law: Any) -> LinearValidity:
    """Return how far the scaled runs are from the prediction, in every output that is measured, followed or scored."""
    bound = limits(law)
    told = [replace(s, saturated=_at_limit(s.run, law, bound)) for s in scalings]
    return compared(prediction, told, judged_outputs(prediction, law))


def judged_outputs(prediction: Response, law: Any) -> list[str]:
    """Return the outputs that a law measures or follows, that have a score, and strains."""
    scored = {key.rpartition(".")[0] for key in prediction.scores}
    wanted = {*law.measures, *law.follows, *scored}
    return [s.name for s in prediction.outputs if s.name in wanted or s.unit == STRAIN]


def _at_limit(run: Response | None, law: Any, bound: Mapping[str, float]) -> bool:
    if run is None:
        return False
    return any(bool(np.abs(run[d]).max() >= (1 - 1e-9) * bound[d]) for d in law.drives)
