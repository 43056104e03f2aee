"""The certificate: all findings about a controller on a plant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from ...simulation.response import Response
from ...support.tabular import Column, Tabular
from .between import Between
from .bound import INPUT_UNCERTAINTY, PayloadBound
from .events import Event
from .holds import Counterexample, counterexamples, statement
from .loads import LoadStep
from .loops import Loop
from .robust import Limit, Point
from .runs import QuantisedRun

if TYPE_CHECKING:
    from ..validity import LinearValidity
    from .requirements import Verdict


@dataclass(frozen=True, eq=False)
class Certificate(Tabular):
    """The findings.

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
        The grid over payload and stiffness, in the pose in which the scenario begins.
    posed : tuple of Point
        The linear loop in the other poses, with payloads and stiffnesses.
    dampings, varied, drawn : tuple of Point
        The linear loop with other structural dampings, over the ranges of other parameters, and on plants drawn from
        what is not known exactly of the plant.
    between : Between or None
        The worst that a search between the points of the grids found; None where nothing lies between them.
    limits : tuple of Limit
        Limits of stability.
    bounds : mapping
        How much uncertainty every command tolerates at any payload, or why that is not known, by pose; "" is the first.
    loads : tuple of LoadStep
        The effect of a constant load that sets in while the arm holds still.
    quantised : tuple of QuantisedRun
        Runs with encoders.
    events : tuple of Event
        Runs in which something happens: a payload gripped, a reading frozen, a sample missed.
    still : mapping
        The same ripple with exact sensors: what the run itself has left at its end.
    validity : LinearValidity or None
        How far the linear prediction holds.
    runs, failures, unsettled : mapping
        Scores of every scenario; why one failed; what does not come to rest in one.
    saturation : mapping
        Largest command of all runs as a fraction of its limit, by input; empty without limits.
    ratios : mapping
        By what factor each scenario leaves less motion than the one it is compared with, by signal.
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
    no_loop : str
        Why the linear loop of a law that measures something was not examined.
    open_loop : bool
        Whether the law measures nothing.
    stated : mapping
        Ranges of the set for which the certificate holds.
    poses : tuple of str
        Poses that were examined.
    errors, ratio_errors, saturation_errors : mapping
        Errors of scores, ratios and largest commands, by what a second run at a finer tolerance changes.

    Examples
    --------
    >>> found = fx.certify("tokhi_azad_pd", payload=(0.0, 0.01), bits=(), workers=1)
    >>> found.save("certificate.json").name
    'certificate.json'
    """

    controller: str
    plant: str
    scenario: str
    drives: tuple[str, ...]
    loops: tuple[Loop, ...]
    points: tuple[Point, ...]
    posed: tuple[Point, ...]
    dampings: tuple[Point, ...]
    varied: tuple[Point, ...]
    drawn: tuple[Point, ...]
    limits: tuple[Limit, ...]
    bounds: Mapping[str, PayloadBound | str]
    loads: tuple[LoadStep, ...]
    quantised: tuple[QuantisedRun, ...]
    still: Mapping[str, float]
    validity: LinearValidity | None
    runs: Mapping[str, Mapping[str, float]]
    failures: Mapping[str, str]
    unsettled: Mapping[str, str]
    saturation: Mapping[str, float]
    notes: tuple[str, ...]
    responses: Mapping[str, Response]
    identity: Mapping[str, Any]
    elapsed: float
    ratios: Mapping[str, Mapping[str, float]]
    no_loop: str
    open_loop: bool
    stated: Mapping[str, Any]
    poses: tuple[str, ...]
    verdicts: tuple[Verdict, ...] = ()
    events: tuple[Event, ...] = ()
    between: Between | None = None
    errors: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    ratio_errors: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    saturation_errors: Mapping[str, float] = field(default_factory=dict)

    @property
    def bound(self) -> PayloadBound | str:
        """The worst bound of all poses, or why there is none: one that is missing counts as the worst."""
        for pose, bound in self.bounds.items():
            if isinstance(bound, str):
                return f"{pose}: {bound}" if pose else bound
        return max((b for b in self.bounds.values() if not isinstance(b, str)), key=lambda b: b.largest)

    @property
    def holds(self) -> str:
        """The set for which this holds and the nearest counterexample, in one sentence."""
        return statement(self)

    @property
    def counterexample(self) -> Counterexample | None:
        """The nearest plant on which the loop is not stable, None where none was found."""
        return next(iter(self.counterexamples), None)

    @property
    def counterexamples(self) -> list[Counterexample]:
        """The nearest one of every kind (payload, frequencies, damping, several at once), the nearest of all first."""
        return counterexamples(self)

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
        lines += [f"  {self.holds}"]
        lines += [f"  {'ok  ' if v.passed else 'FAIL'} {v.name} {v.bound}: {v.found}" for v in self.verdicts]
        return "\n".join(lines)

    def _table(self) -> list[Column]:
        """Return the requirements."""
        rows = [verdict.to_dict() for verdict in self.verdicts]
        return [Column(key, [row[key] for row in rows]) for key in ("name", "required", "found", "passed", "verdict")]

    def _about(self) -> Mapping[str, Any]:
        return self.to_dict()

    def _caption(self) -> str:
        return f"{self!r}\n{self.holds}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the time series, for JSON."""
        valid = self.validity
        return {
            "controller": self.controller, "passed": self.passed, "holds": self.holds,
            "counterexamples": [{**asdict(c), "inside": c.inside} for c in self.counterexamples],
            "requirements": [v.to_dict() for v in self.verdicts],
            "scenario": self.scenario, "loops": {loop.variant: loop.to_dict() for loop in self.loops},
            "not_examined": [x for x in (self.no_loop, *self.notes) if x],
            "grid": [p.to_dict() for p in self.points], "poses": [p.to_dict() for p in self.posed],
            "dampings": [p.to_dict() for p in self.dampings], "varied": [p.to_dict() for p in self.varied],
            "drawn": [p.to_dict() for p in self.drawn],
            "between": None if self.between is None or self.between.point is None else {
                **self.between.point.to_dict(), "tried": self.between.tried},
            "limits": [asdict(limit) for limit in self.limits],
            "mu": {**_mu(self.bound), "poses": {pose: _mu(b) for pose, b in self.bounds.items() if pose}},
            "load_steps": [asdict(x) for x in self.loads],
            "events": [
                {"name": x.name, "time": x.time, "output": x.output, "largest": x.largest, "left": x.left,
                 "scores": dict(x.scores), "failure": x.failure, "diverges": bool(x.diverges), "beyond": x.beyond,
                 "about": x.about, "score_errors": dict(x.errors)} for x in self.events],
            "quantisation": [
                {"bits": q.bits, "quanta": dict(q.quanta), "ripple": dict(q.ripple), "scores": dict(q.scores),
                 "failure": q.failure, "ripple_errors": dict(q.errors)} for q in self.quantised],
            "ripple_with_exact_sensors": dict(self.still),
            "linear_validity": None if valid is None else valid.to_dict(),
            "scores": {name: dict(scores) for name, scores in self.runs.items()}, "failures": dict(self.failures),
            "score_errors": {name: dict(errors) for name, errors in self.errors.items()},
            "does_not_settle": dict(self.unsettled),
            "vibration_ratios": {name: dict(ratios) for name, ratios in self.ratios.items()},
            "saturation": dict(self.saturation), "saturation_errors": dict(self.saturation_errors),
            "notes": list(self.notes), "elapsed_s": self.elapsed, **self.identity,
        }


def _mu(bound: PayloadBound | str) -> dict[str, Any]:
    if isinstance(bound, str):
        return {"note": bound}
    return {
        "largest": bound.largest, "attained": bound.lower, "at_rad_s": bound.frequency, "at_payload_kg": bound.payload,
        "unstable_at_kg": bound.unstable,
        "pose": bound.where, "input_uncertainty": INPUT_UNCERTAINTY, "worst_case_gain": bound.worst_case_gain,
    }


def _rank(p: Point) -> tuple[bool, float]:
    if p.loop is None:
        return p.stable, 0.0
    return p.stable, p.loop.smallest("disk_margin") if p.stable else p.loop.decay
