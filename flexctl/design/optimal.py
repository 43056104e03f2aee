"""Time-optimal commands: through the closed loop for several plants at once, or of a known plant without feedback.

With an unknown payload no torque brings an arm to its target in open loop: the angle that is reached is the double
integral of torque over inertia. Feedback has to correct it, so the command is optimised with the loop closed. As long
as no limit is hit, what every plant does is affine in one common sequence v that is added to the command,

    u = K(y, own past commands) + v,     y_p = G_p v + y_p0,     u_p = H_p v + u_p0

and the earliest time from which on all of them stay in their bands, with every limit kept at every sample, is found by
bisection, a linear programme each (`.optimal_lp`). The reference is the target from the start. v enters through the
acceleration that the law feeds forward: any linear law with J r'' in it will do, and it knows of v what it knows of any
command, so that its observer knows of it.

    command = fx.optimal_command(law, {"0 g": .., "10 g": .., "20 g": ..}, {"chord1_angle": 1.047}, longest=1.3)
    run = fx.simulate(arm, law, command.references, duration=2.5)

The command is good for this law at this rate alone, and `simulate` refuses it with any other. Plan for a narrow band:
one that is planned for 1 % parks the arm at the edge of it for seconds. `bound` is what no law can beat: the torque of
a plant that is known, planned with the same bands and limits.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import Caution, ConvergenceError, DefinitionError, NotAvailable, caution, require, unknown
from ..laws.controller import LinearLaw
from ..laws.fingerprint import Fingerprint, check_made_for, fingerprint, linear_core
from ..laws.given import as_law
from ..machine.given import as_linear
from ..model import FloatArray
from ..motion.optimal import OptimalMotion
from ..motion.signals import PiecewiseConstant
from ..support import checks
from ..support.files import write_atomically
from ..support.kinds import LawGiven, SystemGiven
from ..support.telling import telling
from ..support.threads import one_thread
from .optimal_loops import AffineSystem, holding, of_other_inertia, tell_of_linearised, through_loop, without_loop
from .optimal_lp import Bounded, Solution, solve
from .optimal_why import in_the_way
from .planned_command import PlannedCommand, read

BAND = 0.001
"""Default band, in parts of the move."""
MARGIN = 0.85
"""Part of a band that is planned for."""
RESERVE = 0.98
"""Part of a law's own limit that is planned for."""
_NEAR = 0.004
"""Part of the arrival to which it is searched."""
Limit = float | tuple[float, float]
Progress = Callable[[float, float], None]


@dataclass(frozen=True, eq=False)
class OptimalCommand:
    """A command for one law.

    Attributes
    ----------
    references : dict
        Motion of every channel of the law: what `simulate` takes.
    arrival : float
        Time from which on every plant is in the narrowest band that was minimised, as planned [s].
    bands : mapping
        Band as a fraction of the move -> time from which on it is kept, as planned [s].
    plants : tuple of str
        Those it was made for.
    sample_time : float
        Of the law [s].
    made_for : Fingerprint
        Which law it is for.
    knots, values : ndarray
        Samples of the knots of v, and v there, a row for every driven input.
    target : mapping
        How far every followed output moves.
    peaks : mapping
        Plant -> driven input or limited output -> largest size, as planned.

    Examples
    --------
    >>> script = fx.load_controller("tokhi_azad_fastest")
    >>> plan = script.commands(fx.load_plant(script.PLANT))["5 deg"]
    >>> len(plan.plants), round(plan.arrival, 2)
    (9, 0.52)
    """

    references: dict[str, OptimalMotion]
    arrival: float
    bands: Mapping[float, float]
    plants: tuple[str, ...]
    sample_time: float
    made_for: Fingerprint
    knots: FloatArray
    values: FloatArray
    target: Mapping[str, float]
    peaks: Mapping[str, Mapping[str, float]]

    def save(self, path: str | Path) -> Path:
        """Write the command with its law, rate and plants as JSON; `load_command` reads it."""
        content = {
            "law": self.made_for.to_dict(), "sample_time_s": self.sample_time, "plants": list(self.plants),
            "target": dict(self.target), "arrival_s": self.arrival, "bands": {str(b): t for b, t in self.bands.items()},
            "peaks": {plant: dict(per) for plant, per in self.peaks.items()}, "knots": self.knots.astype(int).tolist(),
            "values": [[float(f"{x:.12g}") for x in row] for row in self.values],
        }
        text = json.dumps(content, indent=1)
        return write_atomically(path, lambda stream: stream.write(text.encode()))

    def __repr__(self) -> str:
        told = ", ".join(f"{100 * band:g} % at {t:.3f} s" for band, t in self.bands.items())
        return f"OptimalCommand({told}; {len(self.plants)} plants, every {self.sample_time:g} s)"


@dataclass(frozen=True, eq=False)
class OptimalTorque:
    """The best command for a known plant, without feedback.

    Attributes
    ----------
    inputs : dict
        Signal of every driven input.
    arrival : float
        Time from which on every plant is in the band [s].
    bands : mapping
        Band as a fraction of the move -> time [s].
    plants : tuple of str
        Those that one torque serves.

    Examples
    --------
    >>> mass = fx.from_matrices([[1.0]], B=[[1.0]], C=[[1.0]], K=[[0.0]], inputs=["force"], outputs=["x"])
    >>> best = fx.bound(
    ...     {"1 kg": mass}, {"x": 1.0}, drive="force", limits={"force": 1.0}, within=0.01, longest=2.2, sample_time=0.05
    ... )
    >>> list(best.inputs), best.plants
    (['force'], ('1 kg',))
    """

    inputs: dict[str, PiecewiseConstant]
    arrival: float
    bands: Mapping[float, float]
    plants: tuple[str, ...]


def optimal_command(
    law: Any,
    plants: Mapping[str, Any],
    target: Mapping[str, float],
    *,
    longest: float,
    within: float = BAND,
    also: Mapping[float, float] | None = None,
    limits: Mapping[str, Limit] | None = None,
    margin: float = MARGIN,
    progress: Progress | None = None,
) -> OptimalCommand:
    """Return the command that brings every plant to the target soonest, through the loop of one law.

    Parameters
    ----------
    law : Controller
        A sampled linear law that feeds accelerations forward, inside delay and limits; a `Design` is one.
    plants : mapping
        Label -> linear plant with all its modes, about the point where the move begins.
    target, longest, within, also, limits, margin
        As for `flexctl.judging.fastest.optimal_command`, which is public and calls this one.
    progress : callable, optional
        Called with the bracket of the arrival [s] as it becomes smaller.
    """
    core, delay = linear_core(law)
    require(core.sample_time > 0, "the law is continuous; an optimal command is made for a sampled one")
    moves = moves_of(target, core.follows)
    fed = core.Dr[:, 2::3]
    if np.linalg.matrix_rank(fed) < len(core.drives):
        raise NotAvailable(
            f"the law does not feed the accelerations of {list(core.follows)} forward to each of {list(core.drives)}: "
            "an optimal command cannot act through it; design it with J r'' (lqg, hinf, loop_shaping, joint_pd do)"
        )
    ends = zip(core.drives, RESERVE * core.lower, RESERVE * core.upper, strict=True)
    own = {drive: (float(low), float(high)) for drive, low, high in ends if np.isfinite([low, high]).any()}
    bounds = within_both(own, limits_of(limits or {}))
    way: FloatArray = np.asarray(np.linalg.pinv(fed), float)
    systems = [through_loop(name, given, core, delay, moves, way) for name, given in _plants(plants).items()]
    with one_thread():
        planned = _soonest(
            systems, moves, bounds, core.sample_time, longest, within, also or {}, margin, False, progress
        )
    word, found = fingerprint(law), planned.solution
    return OptimalCommand(
        _references(core, word, found.at, found.values, moves, planned.arrival), planned.arrival, planned.bands,
        tuple(plants), core.sample_time, word, found.at, found.values, moves, planned.peaks,
    )


def bound(
    plants: Mapping[str, Any],
    target: Mapping[str, float],
    *,
    drive: str | tuple[str, ...],
    limits: Mapping[str, Limit],
    longest: float,
    within: float = BAND,
    also: Mapping[float, float] | None = None,
    sample_time: float = 1e-3,
    margin: float = 1.0,
    progress: bool | Progress | None = None,
) -> OptimalTorque:
    """Return the torque that brings plants that are known to the target soonest, without feedback.

    In the end the torque is what holds the target against springs and weight, zero where nothing pulls. The bands are
    kept at every sample; modes that are fast beside `sample_time` may leave them in between.

    For one plant no law is faster; a nonlinear one is linearised about rest, with a warning: turning arms
    couple their joints and change their inertia on the way. Several at once (other frequencies) are possible as long
    as their rigid inertia is the same: the angle that is reached depends on nothing else.

    Parameters
    ----------
    plants, target, longest, within, also, margin, progress
        As for `optimal_command`.
    drive : str or tuple of str
        Driven inputs.
    limits : mapping
        Input or output -> largest size or (low, high); every driven input must have one.
    sample_time : float
        Step of the torque [s], which is held in between.

    Examples
    --------
    >>> mass = fx.from_matrices([[1.0]], B=[[1.0]], C=[[1.0]], K=[[0.0]], inputs=["force"], outputs=["x"])
    >>> best = fx.bound(
    ...     {"1 kg": mass}, {"x": 1.0}, drive="force", limits={"force": 1.0}, within=0.01, longest=2.2, sample_time=0.05
    ... )
    >>> 1.8 < best.arrival < 2.0
    True
    """
    drives = drive if isinstance(drive, tuple) else (drive,)
    checks.positive("sample_time", sample_time, "s")
    bounds = limits_of(limits)
    for name in drives:
        require(name in bounds, f"{name} has no limit: without one there is no earliest arrival; give limits")
    moves = moves_of(target, tuple(target))
    known = _plants(plants)
    held_by = holding(known.values(), drives, moves)
    systems = [without_loop(name, given, drives, sample_time, held_by) for name, given in known.items()]
    tell_of_linearised(plants)
    between = "between {:.3f} and {:.3f} s".format
    with one_thread(), telling(progress, "looking for the earliest arrival", between) as report:
        try:
            planned = _soonest(systems, moves, bounds, sample_time, longest, within, also or {}, margin, True, report)
        except ConvergenceError as error:
            other = of_other_inertia(systems, tuple(moves))
            if other is None:
                raise
            raise other from error
    torques = held_by[:, None] + planned.solution.sequences[:, : int(planned.solution.at[-1]) + 1]
    t = tuple((sample_time * np.arange(1, torques.shape[1])).tolist())
    found = {name: PiecewiseConstant(t, tuple(torques[j].tolist())) for j, name in enumerate(drives)}
    return OptimalTorque(found, planned.arrival, planned.bands, tuple(plants))


def _references(
    core: LinearLaw, made_for: Fingerprint, at: FloatArray, values: FloatArray, moves: Mapping[str, float],
    arrival: float,
) -> dict[str, OptimalMotion]:
    """Return the channels of a law: v at knots becomes accelerations at samples."""
    k = np.arange(int(at[-1]) + 1)
    v = np.array([np.interp(k, at, row) for row in values])
    accelerations = np.linalg.pinv(core.Dr[:, 2::3]) @ v
    return {
        name: OptimalMotion(0.0, moves.get(name, 0.0), core.sample_time, row, arrival, made_for)
        for name, row in zip(core.follows, accelerations, strict=True)
    }


def load_command(path: str | Path, law: LawGiven, known: SystemGiven = None) -> OptimalCommand | PlannedCommand:
    """Return a command that its `save` wrote, for its law; with any other law it is refused.

    Parameters
    ----------
    path : path
        The file.
    law : Controller
        The law with which it is to run.
    known : Plant or model, optional
        The arm whose torques the law is fed forward, for a command of nonlinear loops; any other than that of the plan
        is refused.

    Examples
    --------
    >>> script = fx.load_controller("tokhi_azad_fastest")
    >>> law = script.design(fx.load_plant(script.PLANT))
    >>> fx.load_command(fx.find("controllers") / "tokhi_azad_fastest_5deg.json", law).sample_time
    0.001
    """
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        planned = "motions" in content
        if not planned:
            made_for = Fingerprint.from_dict(content["law"])
            at, values = np.array(content["knots"], float), np.array(content["values"], float)
            bands = {float(band): float(t) for band, t in content["bands"].items()}
            moves = {str(name): float(x) for name, x in content["target"].items()}
            plants, arrival, dt, peaks = (content[k] for k in ("plants", "arrival_s", "sample_time_s", "peaks"))
    except FileNotFoundError as error:
        raise DefinitionError(f"{path}: no such file") from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DefinitionError(f"{path} is damaged or not an optimal command: {error!r}") from error
    if planned:
        return read(content, path, as_law(law), known)
    require(known is None, f"{path} is a command of linear loops: known has no effect; leave it out")
    proper = values.ndim == 2 and at.shape == values.shape[1:] and bool(np.isfinite(values).all())
    require(proper and at.size > 1, f"{path}: values of shape {values.shape} at {at.size} knots")
    check_made_for(law, {str(path): made_for})
    core, _ = linear_core(law)
    references = _references(core, made_for, at, values, moves, float(arrival))
    plan = (float(arrival), bands, tuple(plants), float(dt), made_for, at, values, moves, peaks)
    return OptimalCommand(references, *plan)


def _plants(plants: Mapping[str, Any]) -> dict[str, Any]:
    require(isinstance(plants, Mapping) and bool(plants), "plants: give at least one, as {label: plant}")
    return {str(name): as_linear(given) for name, given in plants.items()}


def moves_of(target: Mapping[str, float], follows: Sequence[str]) -> dict[str, float]:
    """Return how far every followed output moves; `DefinitionError` for a target that is none, or for no move."""
    found = {}
    for name, value in target.items():
        if name not in follows:
            raise unknown("followed output of the target", name, follows)
        require(bool(np.isfinite(value)), f"the target of {name} = {value} must be finite")
        found[name] = float(value)
    require(any(found.values()), "nothing moves: every target is zero")
    return {**dict.fromkeys(follows, 0.0), **found}


def limits_of(given: Mapping[str, Limit]) -> dict[str, tuple[float, float]]:
    """Return limits as (low, high)."""
    found = {}
    for name, value in given.items():
        low, high = (-value, value) if isinstance(value, int | float) else (float(value[0]), float(value[1]))
        require(low <= 0.0 <= high and low < high, f"limit of {name}: {low:g} to {high:g} must hold 0 in it")
        found[name] = float(low), float(high)
    return found


def within_both(
    own: Mapping[str, tuple[float, float]], given: Mapping[str, tuple[float, float]]
) -> dict[str, tuple[float, float]]:
    """Return the limits that are given, within those of the law: beyond its own it commands something else."""
    far, room = (-np.inf, np.inf), 1.0 / RESERVE
    found = dict(own)
    for name, (low, high) in given.items():
        least, most = own.get(name, far)
        found[name] = max(low, least * room), min(high, most * room)
    return found


@dataclass(frozen=True, eq=False)
class _Planned:
    solution: Solution
    arrival: float
    bands: dict[float, float]
    peaks: dict[str, dict[str, float]]


def _soonest(
    systems: Sequence[AffineSystem], moves: Mapping[str, float], bounds: Mapping[str, tuple[float, float]], dt: float,
    longest: float, within: float, also: Mapping[float, float], margin: float, end_zero: bool,
    progress: Progress | None,
) -> _Planned:
    """Return the solution with the earliest arrival, by bisection over samples."""
    checks.positive("longest", longest, "s")
    for band in (within, *also):
        require(0.0 < band < 1.0, f"band = {band} must lie between 0 and 1, as a fraction of the move")
    require(0.0 < margin <= 1.0, f"margin = {margin} must lie between 0 and 1")
    last = round(longest / dt)
    require(last >= 20, f"longest = {longest} s are {last} samples: too few")
    horizon = round(2.5 * last)
    total = round(1.5 * horizon)
    wanted = list(dict.fromkeys([*moves, *bounds]))
    for system in systems:
        for name in wanted:
            if name not in system.rows:
                raise unknown(f"limited input or output of {system.name}", name, system.rows)
    told = {system.name: system.responses(wanted, total) for system in systems}
    unit = _unit(systems, told, bounds)
    fixed = {band: round(t / dt) for band, t in also.items()}

    def attempt(
        arrival: int, limits: Mapping[str, tuple[float, float]] = bounds, plants: Sequence[str] = tuple(told)
    ) -> Solution | None:
        rows = _rows({name: told[name] for name in plants}, moves, limits, {**fixed, within: arrival}, margin)
        return solve(rows, max(arrival, *fixed.values(), 20), horizon, unit, end_zero)

    best, good, bad = attempt(last), last, 0
    if best is None:
        why = in_the_way(lambda limits, plants: attempt(last, limits, plants) is not None, bounds, tuple(told))
        what = "the plant" if len(systems) == 1 else f"{len(systems)} plants"
        raise ConvergenceError(
            f"no command brings {what} within {100 * within:g} % by {longest:g} s with these limits; {why}"
        )
    part = 0.03
    while good - bad > max(1, round(_NEAR * good)):
        middle = (good + bad) // 2 if bad else max(round((1.0 - part) * good), 1)
        part = min(2.0 * part, 0.5)  # longest is often near
        try:
            found = attempt(middle)
        except ConvergenceError as error:  # what was found before holds
            caution(f"the search ended early, at {good * dt:.4g} s: {error}", Caution)
            break
        if found is None:
            bad = middle
        else:
            best, good = found, middle
        if progress is not None:
            progress(bad * dt, good * dt)
    if best is None:
        raise DefinitionError("no arrival")  # for the type checker: the first attempt succeeded
    bands = {within: good * dt, **{band: k * dt for band, k in fixed.items()}}
    return _Planned(best, good * dt, dict(sorted(bands.items(), reverse=True)), _peaks(told, bounds, best))


def _unit(
    systems: Sequence[AffineSystem], told: Mapping[str, Any], bounds: Mapping[str, tuple[float, float]]
) -> FloatArray:
    """Return what a sequence is measured in: the largest command that has to be cancelled, or the limit."""
    sizes = []
    for j in range(systems[0].B.shape[1]):
        found = [1e-300]
        for name, pair in bounds.items():
            for per in told.values():
                if np.abs(per[name][1][j]).max() > 0.1:  # an input that this sequence drives
                    found += [float(np.abs(per[name][0]).max()), *(abs(x) for x in pair if np.isfinite(x))]
        sizes.append(max(found))
    return np.maximum(sizes, 1e-3 * max(sizes))


def _rows(
    told: Mapping[str, Mapping[str, tuple[FloatArray, FloatArray]]], moves: Mapping[str, float],
    bounds: Mapping[str, tuple[float, float]], arrivals: Mapping[float, int], margin: float,
) -> list[Bounded]:
    """Return the responses with their bounds."""
    found = []
    extent = max(abs(x) for x in moves.values())
    for plant, responses in told.items():
        for name, move in moves.items():
            base, impulses = responses[name]
            k = np.arange(base.size)
            for band, arrival in arrivals.items():
                size = margin * band * (abs(move) or extent)
                free = k < arrival
                high, low = np.where(free, np.inf, move + size), np.where(free, -np.inf, move - size)
                found.append(Bounded(f"{name}, {plant}", base, list(impulses), low, high, size, True))
        for name, (low_, high_) in bounds.items():
            base, impulses = responses[name]
            size = min(abs(x) for x in (low_, high_) if np.isfinite(x) and x)
            limit = np.full(base.size, low_), np.full(base.size, high_)
            found.append(Bounded(f"{name}, {plant}", base, list(impulses), *limit, size, False))
    return found


def _peaks(told: Mapping[str, Any], bounds: Mapping[str, Any], best: Solution) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for plant, responses in told.items():
        found[plant] = {}
        for name in bounds:
            base, impulses = responses[name]
            y = base + sum(np.convolve(v, h)[: base.size] for v, h in zip(best.sequences, impulses, strict=True))
            found[plant][name] = float(np.abs(y).max())
    return found
