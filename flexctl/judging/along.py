"""The soonest run along a path that keeps its limits: planned for the slowly bending arm, run, planned again.

`fx.fastest_track` plans within limits. Its law then runs along it on the full nonlinear arms, and where a run goes
beyond a limit, by what a plan knows nothing of (modes, encoders, another payload, a law that is slow), the plan gets
less of it; where a run leaves room, more. What is returned is the fastest track whose runs keep every limit.

    found = fx.fastest_along(
        lambda track: fx.tip_tracking(track, gains, filter_time=20e-3), arm, fx.Circle((1.6, 0.0), 0.3),
        {"joint1_torque": 90.0, "joint2_torque": 45.0, "tip.max_contour": 0.5e-3},
    )
    found.track, found.duration, found.runs
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from inspect import isroutine
from typing import Any

import numpy as np

from ..design.fastest_track import CONTOUR, ERROR, fastest_track
from ..design.optimal import Limit, limits_of
from ..errors import Caution, ConvergenceError, NotAvailable, require, unknown
from ..laws.given import as_law
from ..machine.given import as_simulated, opened
from ..model import names
from ..motion.curves import Curve
from ..motion.led import LedTrack
from ..simulation.path_stability import path_stability
from ..simulation.response import Response
from ..simulation.simulate import simulate
from ..support import checks
from ..support.kinds import SystemGiven
from ..support.telling import telling

SCORES = (CONTOUR, ERROR)
ROUNDS = 8
AFTER = 0.5
"""How long runs go on after the motion [s]."""
_NEAR = 0.01
"""Part of a limit that a plan may leave unused."""
_POSES = 5
_MOST = 1.5
"""Largest factor by which a planned limit grows in one round."""


@dataclass(frozen=True, eq=False)
class FastestAlong:
    """The fastest track that was found, and its runs.

    Attributes
    ----------
    track : LedTrack
        Path, time law and joints.
    law : Controller
        Made for the track where a function was given.
    duration : float
        Of the motion [s].
    planned : dict
        Limits with which `fastest_track` gives this track again.
    peaks : dict
        Plant -> limited signal or score -> largest size in its run.
    runs : dict
        Plant -> run.
    bound : float
        Time that no motion of the slowly bending arm beats within the limits that were asked for [s]; nan where that is
        not known.

    Examples
    --------
    >>> arm, circle = fx.load_plant("tian_2r_beam", model={"elements": 2}), fx.Circle((1.6, 0.0), 0.3)
    >>> law = lambda track: fx.tip_tracking(track, fx.pd_gains((35.0, 20.5), 8.0), filter_time=20e-3)
    >>> found = fx.fastest_along(law, arm, circle, {"joint1_torque": 40.0, "joint2_torque": 25.0})
    >>> found.bound < found.duration < 1.2 * found.bound
    True
    """

    track: LedTrack
    law: Any
    duration: float
    planned: dict[str, tuple[float, float]]
    peaks: dict[str, dict[str, float]]
    runs: dict[str, Response] = field(repr=False)
    bound: float = np.nan


def fastest_along(
    law: Any,
    plants: Mapping[str, Any] | SystemGiven,
    curve: Curve,
    limits: Mapping[str, Limit],
    *,
    known: SystemGiven = None,
    elbow: int = 1,
    smooth: float | None = None,
    bend: bool = True,
    points: int = 200,
    rounds: int = ROUNDS,
    after: float = AFTER,
    progress: bool | Callable[[float, float], None] | None = None,
    **options: Any,
) -> FastestAlong:
    """Return the fastest track along a curve on which a law keeps all limits, on every plant.

    Parameters
    ----------
    law : Controller or callable
        The law, or what makes it for a track: ``law(track)``.
    plants : Plant or mapping
        The arm, or label -> arm. All follow one motion.
    curve, elbow, smooth, bend, points
        As for `fastest_track`.
    limits : mapping
        Input or output -> largest size or (low, high), kept by every run; and scores "tip.max_contour",
        "tip.max_error" [m].
    known : Plant, optional
        The arm that the track is planned for; the first of the plants by default.
    rounds : int
        Plans that are run, at most.
    after : float
        How long the runs go on after the motion [s].
    progress : bool or callable, optional
        Called with the duration of every plan [s] and the largest part of a limit that its runs took. By default what
        takes more than a second is told on the error stream; False: never.
    **options
        Further arguments of `simulate`.

    Raises
    ------
    ConvergenceError
        When no plan keeps the limits.

    Examples
    --------
    >>> arm, circle = fx.load_plant("tian_2r_beam", model={"elements": 2}), fx.Circle((1.6, 0.0), 0.3)
    >>> gains = fx.pd_gains((35.0, 20.5), 8.0)
    >>> limits = {"joint1_torque": 40.0, "joint2_torque": 25.0, "tip.max_contour": 1e-3}
    >>> law = lambda track: fx.tip_tracking(track, gains, filter_time=20e-3)
    >>> found = fx.fastest_along(law, arm, circle, limits)
    >>> found.duration < 3.3, max(found.peaks["arm"].values()) <= 40.0
    (True, True)
    """
    arms = {str(k): opened(x) for k, x in plants.items()} if isinstance(plants, Mapping) else {"arm": opened(plants)}
    require(bool(arms), "plants: give at least one")
    checks.positive("after", after, "s")
    require(isinstance(rounds, int) and rounds > 0, f"rounds = {rounds}: give a positive number")
    asked = limits_of(limits)
    _check_names(asked, arms)
    base = next(iter(arms.values())) if known is None else known
    how: dict[str, Any] = {"elbow": elbow, "smooth": smooth, "bend": bend, "points": points}
    task = _Task(law, arms, asked, after, options)
    with telling(progress, "looking for the fastest motion along the path", _words) as report:
        return _search(task, lambda bounds: fastest_track(base, curve, bounds, **how), rounds, report)


def _words(duration: float, taken: float) -> str:
    return f"{duration:.3f} s take {100.0 * taken:.0f} % of the limits"


def _check_names(asked: Mapping[str, Any], arms: Mapping[str, Any]) -> None:
    for label, arm in arms.items():
        model = as_simulated(arm)
        have = [*names(model.inputs), *names(model.outputs), *SCORES]
        for name in asked:
            if name not in have:
                raise unknown(f"limited input, output or score of {label}", name, have)


@dataclass(frozen=True, eq=False)
class _Task:
    """The runs and the limits that they must keep."""

    law: Any
    arms: Mapping[str, Any]
    asked: Mapping[str, tuple[float, float]]
    after: float
    options: Mapping[str, Any]

    def made(self, track: LedTrack) -> Any:
        """Return the law of a track."""
        makes = isroutine(self.law) or isinstance(self.law, partial)
        return as_law(self.law(track) if makes else self.law)

    def check_stable(self, track: LedTrack) -> None:
        """Raise where the linear loop is unstable on the path: such a run keeps no limit, however slow."""
        for label, arm in self.arms.items():
            try:
                found = path_stability(arm, self.made(track), track, _POSES)
            except NotAvailable:
                continue
            require(
                found.stable,
                f"the loop of {label} is unstable on the path ({found}): no motion along it keeps the limits; mend the "
                "law first (fx.path_stability)",
            )

    def run(self, track: LedTrack, quiet: bool) -> dict[str, Response]:
        """Return the runs of all arms along a track."""
        law, duration = self.made(track), track.path.duration + self.after
        found = {}
        with warnings.catch_warnings():
            if quiet:
                warnings.simplefilter("ignore", Caution)
            for label, arm in self.arms.items():
                options = {"initial": track.start, **self.options}
                found[label] = simulate(arm, law, track.references(arm, law), duration=duration, **options)
        return found

    def peaks(self, run: Response) -> dict[str, float]:
        """Return the largest size of every limited signal."""
        return {n: float(run.scores[n] if n in SCORES else np.abs(run[n]).max()) for n in self.asked}

    def taken(self, run: Response) -> dict[str, float]:
        """Return the largest part of every limit that a run took."""
        found = {}
        for name, (low, high) in self.asked.items():
            x = np.array([run.scores[name]]) if name in SCORES else run[name]
            parts = [float((x / edge).max()) for edge in (low, high) if edge != 0.0 and np.isfinite(edge)]
            beyond = float(x.min()) < 0.0 if low == 0.0 else float(x.max()) > 0.0 if high == 0.0 else False
            found[name] = np.inf if beyond and name not in SCORES else max(parts, default=0.0)
        return found


def _search(task: _Task, plan: Callable[[Any], LedTrack], rounds: int, report: Callable[..., None]) -> FastestAlong:
    bounds = {name: pair for name, pair in task.asked.items() if name not in SCORES}
    require(bool(bounds), "limit a torque, a rate or a strain too: the first plan needs one")
    best: tuple[LedTrack, dict[str, tuple[float, float]]] | None = None
    least, bound = ("", np.inf), np.nan
    for n in range(rounds):
        track = plan(bounds)
        if n == 0:
            bound = track.bound
            task.check_stable(track)
        runs = task.run(track, quiet=True)
        taken = {name: max(task.taken(run)[name] for run in runs.values()) for name in task.asked}
        worst = max(taken, key=lambda name: taken[name])
        report(track.path.duration, taken[worst])
        least = min(least, (worst, taken[worst]), key=lambda pair: pair[1])
        if taken[worst] <= 1.0 and (best is None or track.path.duration < best[0].path.duration):
            best = track, dict(bounds)
        new = _renewed(bounds, task.asked, track, taken)
        if new is None:
            break
        bounds = new
    if best is None:
        raise ConvergenceError(
            f"none of {rounds} plans keeps the limits in its runs: at best {least[0]} took {100 * least[1]:.1f} % of "
            "its limit; raise it, smooth more (smooth=..), or give a stiffer law or more rounds"
        )
    track, planned = best
    runs = task.run(track, quiet=False)
    peaks = {label: task.peaks(run) for label, run in runs.items()}
    return FastestAlong(track, task.made(track), track.path.duration, planned, peaks, runs, bound)


def _renewed(
    bounds: Mapping[str, tuple[float, float]], asked: Mapping[str, tuple[float, float]], track: LedTrack,
    taken: Mapping[str, float],
) -> dict[str, tuple[float, float]] | None:
    """Return the limits of the next plan, None where this one uses what it may."""
    new, changed = dict(bounds), False
    for name, part in taken.items():
        if name not in bounds:  # a score that the plan knows nothing of yet
            if part > 1.0:
                new[name] = _scaled((-track.planned[name], track.planned[name]), (1.0 - 0.5 * _NEAR) / part)
                changed = True
            continue
        size = max(abs(x) for x in bounds[name] if np.isfinite(x))
        active = track.planned[name] >= (1.0 - 1e-3) * size
        if part > 1.0 or (active and part < 1.0 - _NEAR):
            aim = min((1.0 - 0.5 * _NEAR) / part, _MOST)
            new[name] = _scaled(bounds[name], aim * (1.0 if active else track.planned[name] / size))
            changed = True
    return new if changed else None


def _scaled(pair: tuple[float, float], factor: float) -> tuple[float, float]:
    return pair[0] * factor, pair[1] * factor
