"""What is known of a controller on a plant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from ..response import Response
from .loops import Loop
from .robust import INPUT_UNCERTAINTY, Limit, Point
from .runs import LinearValidity, QuantisedRun

if TYPE_CHECKING:
    from ..frequency.structured import RobustBound
    from .requirements import Verdict


@dataclass(frozen=True, eq=False)
class Certificate:
    """What was found.

    Attributes
    ----------
    controller, plant : str
        Names.
    scenario : str
        The scenario that was run with other payloads, encoders and amplitudes.
    drives : tuple of str
        Inputs that the controller sets.
    loops : tuple of Loop
        The linear loop on every variant of the plant that the scenarios use.
    points : tuple of Point
        The grid over payload and stiffness.
    limits : tuple of Limit
        Limits of stability.
    bound : RobustBound or str
        The structured-singular-value bound, or why there is none.
    quantised : tuple of QuantisedRun
        Runs with encoders.
    still : mapping
        The same ripple with exact sensors: what the run itself has left at its end.
    validity : LinearValidity or None
        How far the linear prediction holds.
    runs, failures : mapping
        Scores of every scenario; why one failed.
    saturation : mapping
        Largest command of all runs in parts of its limit, by input; empty without limits.
    ratios : mapping
        How many times less each scenario leaves of the motion than the one it stands against, by signal.
    verdicts : tuple of Verdict
        The requirements.
    notes : tuple of str
        What could not be examined and why.
    responses : mapping
        The nominal run "full" and its prediction "linear", for a picture.
    identity : mapping
        Plant, model, overrides, version.
    elapsed : float
        Wall-clock time [s].
    """

    controller: str
    plant: str
    scenario: str
    drives: tuple[str, ...]
    loops: tuple[Loop, ...]
    points: tuple[Point, ...]
    limits: tuple[Limit, ...]
    bound: RobustBound | str
    quantised: tuple[QuantisedRun, ...]
    still: Mapping[str, float]
    validity: LinearValidity | None
    runs: Mapping[str, Mapping[str, float]]
    failures: Mapping[str, str]
    saturation: Mapping[str, float]
    notes: tuple[str, ...]
    responses: Mapping[str, Response]
    identity: Mapping[str, Any]
    elapsed: float
    ratios: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    verdicts: tuple[Verdict, ...] = field(default=())

    @property
    def passed(self) -> bool:
        """Whether every requirement is met."""
        return all(verdict.passed for verdict in self.verdicts)

    @property
    def worst(self) -> Point | None:
        """The point of the grid that grows fastest, or has the smallest disk margin when all are stable."""
        return min(self.points, key=_rank, default=None)

    def __repr__(self) -> str:
        return f"Certificate({self.controller} on {self.plant}, {'passed' if self.passed else 'FAILED'})"

    def __str__(self) -> str:
        lines = [f"{self.controller} on {self.plant}: {'passed' if self.passed else 'FAILED'}"]
        lines += [f"  {'ok  ' if v.passed else 'FAIL'} {v.name} {v.bound}: {v.found}" for v in self.verdicts]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the time series, for JSON."""
        bound = self.bound
        valid = self.validity
        return {
            "controller": self.controller, "passed": self.passed, "requirements": [v.to_dict() for v in self.verdicts],
            "scenario": self.scenario, "loops": {loop.variant: loop.to_dict() for loop in self.loops},
            "grid": [p.to_dict() for p in self.points],
            "limits": [asdict(limit) for limit in self.limits],
            "mu": {"note": bound} if isinstance(bound, str) else {
                "largest": bound.largest, "at_rad_s": bound.frequency, "input_uncertainty": INPUT_UNCERTAINTY},
            "quantisation": [
                {"bits": q.bits, "quanta": dict(q.quanta), "ripple": dict(q.ripple), "scores": dict(q.scores),
                 "failure": q.failure} for q in self.quantised],
            "ripple_with_exact_sensors": dict(self.still),
            "linear_validity": None if valid is None else {
                "amplitudes": valid.amplitudes, "deviation": valid.deviation, "saturated": valid.saturated,
                "parting": valid.parting},
            "scores": {name: dict(scores) for name, scores in self.runs.items()}, "failures": dict(self.failures),
            "vibration_ratios": {name: dict(ratios) for name, ratios in self.ratios.items()},
            "saturation": dict(self.saturation), "notes": list(self.notes), "elapsed_s": self.elapsed, **self.identity,
        }  # fmt: skip


def _rank(p: Point) -> tuple[bool, float]:
    if p.loop is None:
        return p.stable, 0.0
    return p.stable, p.loop.smallest("disk_margin") if p.stable else p.loop.decay
