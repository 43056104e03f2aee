"""The soonest motion of a tip along a path, within limits of torques, rates, strains: planned, not yet run.

    arm, circle = fx.load_plant("tian_2r_beam"), fx.Circle((1.6, 0.0), 0.3)
    track = fx.fastest_track(arm, circle, {"joint1_torque": 90.0, "joint2_torque": 45.0})
    law = fx.tip_tracking(track, fx.pd_gains((35.0, 20.5), 8.0), filter_time=20e-3)
    run = fx.simulate(arm, law, track.references(arm, law), duration=2.5, initial=track.start)

The limits are those of the slowly bending arm (`path_loads`), and within them there is nothing faster (`path_speed`).
The accelerations of that motion jump; they are averaged over windows of a period of the arm's lowest mode and of half
of it, twice, which costs two periods. Corners are met at rest; `Rounded` ones need no rest. `fastest_along` goes on
from here with runs of the closed loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import require
from ..linear import linearise
from ..machine.given import ArmGiven, as_arm, as_model
from ..model import FloatArray, OperatingPoint
from ..motion.curves import Curve
from ..motion.kinematics import RigidArm
from ..motion.led import LedTrack
from ..motion.paths import Path
from ..motion.retimed import Retimed
from ..support import checks
from .optimal import Limit, limits_of
from .path_loads import PathLoads, check_signal, path_loads
from .path_speed import Row, Speed, soonest

CONTOUR, ERROR = "tip.max_contour", "tip.max_error"
"""Scores of a run that can be limited; of a plan what the links bend, across the path and in all."""
_ANY = (-np.inf, np.inf)
_POSES = 7
_FINE = 12
"""Samples of the lead in the shortest window."""


def fastest_track(
    arm: ArmGiven,
    curve: Curve,
    limits: Mapping[str, Limit],
    *,
    elbow: int = 1,
    smooth: float | None = None,
    bend: bool = True,
    points: int = 200,
) -> LedTrack:
    """Return the track that takes the tip along a curve soonest, from rest to rest.

    Parameters
    ----------
    arm : Plant, Arm, str or Path
        A planar arm of two links with a torque at each joint.
    curve : Curve
        Where the tip goes: `Circle`, `Spline`, `Rounded`, or sides with a stop in each corner.
    limits : mapping
        Input or output of the arm -> largest size or (low, high), in its unit: torques, rates, strains. Further
        "tip.max_contour" and "tip.max_error", what the links may bend [m].
    elbow : int
        Sign of the second angle.
    smooth : float, optional
        What the averages add to the time of the motion [s]; two periods of the lowest flexible mode by default.
    bend : bool
        Whether joints and torques lead by what the links bend.
    points : int
        Points of each smooth piece of the curve.

    Raises
    ------
    DefinitionError
        When the path leaves the reach, no motion keeps the limits, or they do not bound the rate.

    Examples
    --------
    >>> limits = {"joint1_torque": 90.0, "joint2_torque": 45.0}
    >>> track = fx.fastest_track("tian_2r_beam", fx.Circle((1.6, 0.0), 0.3), limits)
    >>> print(f"{track.path.duration:.2f} s, of which {track.path.duration - track.bound:.2f} s are for smoothness")
    2.07 s, of which 0.07 s are for smoothness
    """
    bounds = limits_of(limits)
    require(bool(bounds), "give limits: without any there is no soonest time")
    require(points >= 20, f"points = {points}: give 20 or more")
    model, own = as_model(arm), as_arm(arm)
    edges = (0.0, *curve.corners, curve.length)
    pieces = [path_loads(model, curve, elbow, k, points) for k in range(len(edges) - 1)]
    speeds = [soonest(piece.s, rows_of(piece, bounds)) for piece in pieces]
    own_choice = smooth is None
    total = _two_periods(model, RigidArm(own), curve, elbow) if own_choice else checks.positive("smooth", smooth, "s")
    law = Retimed([_move(piece.s, speed) for piece, speed in zip(pieces, speeds, strict=True)], _windows(total))
    times = np.linspace(0.0, law.duration, _samples(law))
    lead, inertia = _led(law, pieces, times) if bend else (None, None)
    unsmoothed, bound = sum(speed.time for speed in speeds), sum(speed.bound for speed in speeds)
    peaks = _peaks(pieces, speeds, {CONTOUR: _ANY, ERROR: _ANY, **bounds})
    return LedTrack(own, Path(curve, law), elbow, 0.0, times, lead, inertia, unsmoothed, bound, peaks)


def rows_of(loads: PathLoads, bounds: Mapping[str, tuple[float, float]]) -> list[Row]:
    """Return the limits of one piece of a path as rows of its programme."""
    rows = []
    for name, (low, high) in bounds.items():
        if name == CONTOUR:
            rows.append(Row(name, loads.across, -high, high))
        elif name == ERROR:
            rows += [Row(name, np.sqrt(2.0) * loads.bend[:, axis], -high, high) for axis in range(2)]
        else:
            check_signal(loads, name)
            rows.append(Row(name, loads.signals[name], low, high))
    return rows


def _peaks(pieces: Sequence[PathLoads], speeds: Sequence[Speed], bounds: Any) -> dict[str, float]:
    """Return the largest size of every limited signal, as planned before the averages are taken."""
    found = dict.fromkeys(bounds, 0.0)
    for piece, speed in zip(pieces, speeds, strict=True):
        rate, push = np.sqrt(speed.b), 0.5 * np.diff(speed.b) / np.diff(piece.s)
        for row in rows_of(piece, bounds):
            for own, acceleration in ((slice(0, -1), push), (slice(1, None), push)):
                terms = np.stack([np.ones_like(push), rate[own], speed.b[own], acceleration], axis=-1)
                found[row.name] = max(found[row.name], float(np.abs(np.sum(row.c[own] * terms, axis=-1)).max()))
    return found


def _windows(total: float) -> tuple[float, float, float]:
    return (0.5 * total, 0.25 * total, 0.25 * total)


def _samples(law: Retimed) -> int:
    return int(np.clip(_FINE * law.duration / min(law.windows), 1000, 40000)) + 1


def _move(s: FloatArray, speed: Speed) -> tuple[FloatArray, FloatArray]:
    """Return durations and accelerations between the points."""
    rate = np.sqrt(speed.b)
    durations = 2.0 * np.diff(s) / (rate[1:] + rate[:-1])
    return durations, np.diff(rate) / durations


def _led(law: Retimed, pieces: Sequence[PathLoads], times: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return what the joints lead by, and the inertia that lead and bending move, at times."""
    from scipy.interpolate import make_interp_spline

    s, rate, acceleration = law(times)
    terms = np.stack([np.ones_like(s), rate, rate**2, acceleration], axis=-1)
    at = np.clip(np.searchsorted([piece.s[-1] for piece in pieces[:-1]], s, side="right"), 0, len(pieces) - 1)
    lead, inertia = np.zeros((times.size, 2)), np.zeros((times.size, 2))
    for k, piece in enumerate(pieces):
        own = at == k
        for found, given in ((lead, piece.lead), (inertia, piece.inertia)):
            found[own] = np.einsum("tjk,tk->tj", make_interp_spline(piece.s, given, k=3)(s[own]), terms[own])
    return lead, inertia


def _two_periods(model: Any, rigid: RigidArm, curve: Curve, elbow: int) -> float:
    """Return two periods of the lowest flexible mode, at the slowest of some poses on the path [s]."""
    edges = (0.0, *curve.corners, curve.length)
    s = np.linspace(0.0, curve.length, _POSES)
    piece = np.clip(np.searchsorted(edges, s, side="right") - 1, 0, len(edges) - 2)
    angles = rigid.inverse(curve(s, piece)[0], elbow)
    lowest = []
    for pose in angles:
        found = linearise(model, OperatingPoint.at_rest(model, model.pose(pose))).modes(1)
        lowest.append(float(np.abs(found.frequencies_hz[0])))
    return 2.0 / min(lowest)
