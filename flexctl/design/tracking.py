"""Tip tracking of a two-link arm: PD on the joints, rigid feedforward, tip integral.

    tau = Kp e + Kd e' + tau_rigid,     e = theta_ref + c - theta,     c' = ki J^-1(theta_ref) (p_ref - p)

theta_ref is the rigid arm's angle on the path and tau_rigid its inverse dynamics (`flexctl.motion.track`). What the
links bend leaves the tip off the path although the joints are on it: the integral of the tip's error, turned into joint
angles by the rigid Jacobian, moves the reference until the tip is there. J depends on the path alone, which is known,
and is therefore scheduled in time.

theta is either what an encoder at the joint reads, the angle of the root section ("joint"), or that of the chord from
joint to joint or tip ("chord", Tian et al., equations 19 to 21). Torque and root section belong together: that loop is
passive and a continuous PD stable at any gain. The chord is elsewhere on the arm: without damping every positive Kd
makes the loop unstable (`flexctl.simulation.path_stability`), a thing that a dissipative integrator hides.

Equation 20 gives the absolute rate of the second chord and equation 19 its relative angle; used as printed they make
125 mm of error on the circle in place of 1.5 mm. Here both are relative. Its gains are not published.

e' is either measured (`filter_time` 0) or made of the angle by a filter, e' = (e - e_f) / tf with tf e_f' = e - e_f. A
sampled law needs the filter: the section at the joint has next to no inertia of its own, and a rate gain held over a
control period overshoots it. Sampled: exact for e held; c by Euler's rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ..errors import require, unknown
from ..laws.controller import LinearLaw
from ..laws.scheduled import ScheduledLaw
from ..model import FloatArray
from ..motion.track import Track
from ..support.checks import each

ANGLES = ("joint", "chord")
REFRESH = 0.1
"""The Jacobian of the tip integral is renewed every so many seconds."""


@dataclass(frozen=True)
class TrackingGains:
    """PD gains of the two joints.

    Attributes
    ----------
    kp, kd : tuple of float
        [N m/rad], [N m s/rad].
    start : float
        Time from which they hold [s].

    Examples
    --------
    >>> fx.TrackingGains(kp=(2240.0, 1312.0), kd=(560.0, 328.0)).start
    0.0
    """

    kp: tuple[float, float]
    kd: tuple[float, float]
    start: float = 0.0

    def __post_init__(self) -> None:
        for label in ("kp", "kd"):
            value = getattr(self, label)
            proper = len(value) == 2 and bool(np.isfinite(value).all()) and min(value) >= 0
            require(proper, f"{label} = {value} must be two finite numbers, not negative")
        require(bool(np.isfinite(self.start) and self.start >= 0), f"start = {self.start} s must not be negative")


def pd_gains(
    inertia: Sequence[float], frequency: float, ratio: float = 1.0, start: float = 0.0
) -> TrackingGains:
    """Return kp = I wn^2 and kd = 2 zeta I wn for an inertia per joint [kg m^2], wn [rad/s] and damping ratio zeta.

    Examples
    --------
    >>> fx.pd_gains((35.0, 20.5), 8.0)
    TrackingGains(kp=(2240.0, 1312.0), kd=(560.0, 328.0), start=0.0)
    """
    require(len(inertia) == 2 and min(inertia) > 0, f"inertia = {inertia} kg m^2 must be two positive numbers")
    require(frequency > 0 and ratio > 0, f"frequency = {frequency} rad/s and ratio = {ratio} must be positive")
    kp, kd = ([float(factor * i) for i in inertia] for factor in (frequency**2, 2.0 * ratio * frequency))
    return TrackingGains((kp[0], kp[1]), (kd[0], kd[1]), start)


def gains_by_period(
    inertia: Sequence[float], frequencies: Sequence[float], duration: float
) -> tuple[TrackingGains, ...]:
    """Return critically damped `pd_gains` at each frequency [rad/s], each for its share of the duration [s].

    Examples
    --------
    >>> [gains.start for gains in fx.gains_by_period((35.0, 20.5), (4.0, 12.0), 25.0)]
    [0.0, 12.5]
    """
    share = duration / max(1, len(frequencies))
    return tuple(pd_gains(inertia, w, start=share * i) for i, w in enumerate(frequencies))


def tip_tracking(
    track: Track,
    gains: TrackingGains | Sequence[TrackingGains],
    *,
    angles: str = "joint",
    integral: float = 0.0,
    filter_time: float = 0.0,
    sample_time: float = 1e-3,
    limit: float | Sequence[float] = np.inf,
) -> LinearLaw | ScheduledLaw:
    """Return the law of the module's docstring; its references are `track.references(plant, law)`.

    Parameters
    ----------
    track : Track
        The arm and the path.
    gains : TrackingGains or sequence of TrackingGains
        PD gains; several, with ascending `start` times, take over from each other.
    angles : str
        "joint" (root sections, as encoders read) or "chord".
    integral : float
        ki [1/s]; 0 leaves the tip alone.
    filter_time : float
        tf [s]; 0 measures the rates.
    sample_time : float
        Control period [s]; 0: continuous.
    limit : float or two
        Largest torque [N m]; not for a continuous law.

    Examples
    --------
    >>> circle = fx.Circle((1.6, 0.0), 0.3)
    >>> track = fx.Track("tian_2r_beam", fx.Path(circle, fx.ConstantSpeed(circle.length, 25.0)))
    >>> fx.tip_tracking(track, fx.pd_gains((35.0, 20.5), 8.0), filter_time=20e-3).drives
    ('joint1_torque', 'joint2_torque')
    """
    require(isinstance(track, Track), f"track is a {type(track).__name__}; give fx.Track(arm, path)")
    if angles not in ANGLES:
        raise unknown("angles", angles, ANGLES)
    sets = (gains,) if isinstance(gains, TrackingGains) else tuple(gains)
    require(bool(sets) and sets[0].start == 0.0, "the first gains must start at 0 s")
    starts = [one.start for one in sets]
    require(starts == sorted(set(starts)), f"gains start at {starts} s; the times must ascend")
    for name, value, unit in (("integral", integral, "1/s"), ("filter_time", filter_time, "s")):
        require(bool(np.isfinite(value) and value >= 0), f"{name} = {value} {unit} must not be negative")
    changes = sorted({*starts[1:], *_refreshes(track, integral)})
    edges = [0.0, *changes, max([track.path.duration, *changes])]
    laws = []
    for begin, end in pairwise(edges):
        now = sets[int(np.searchsorted(starts, begin + 1e-12, side="right")) - 1]
        J = track.rigid.jacobian(track.joints(0.5 * (begin + end)).angles)
        inverse = np.asarray(np.linalg.inv(J), float)
        laws.append(_law(now, inverse, angles, integral, filter_time, sample_time, limit))
    return laws[0] if len(laws) == 1 else ScheduledLaw(changes, laws)


def _refreshes(track: Track, integral: float) -> list[float]:
    count = int(np.ceil(track.path.duration / REFRESH - 1e-9)) if integral else 0
    return [REFRESH * k for k in range(1, count)]


def _law(
    gains: TrackingGains, inverse: FloatArray, angles: str, ki: float, tf: float, T: float,
    limit: npt.ArrayLike,
) -> LinearLaw:
    """Return the law while gains and Jacobian stay; state c (with ki) then e_f (with a filter)."""
    # measures: angles, rates unless filtered, tip with ki; follows: angles, tip with ki, torques, three numbers each
    I, Kp, Kd = np.eye(2), np.diag(gains.kp), np.diag(gains.kd)
    measures = [f"{angles}{i}_{part}" for part in (("angle",) if tf else ("angle", "rate")) for i in (1, 2)]
    measures += ["tip_x", "tip_y"] if ki else []
    follows = [f"{angles}{i}_angle" for i in (1, 2)] + (["tip_x", "tip_y"] if ki else [])
    follows += [f"joint{i}_feedforward" for i in (1, 2)]
    ny, nr, nc, nx = len(measures), 3 * len(follows), 2 if ki else 0, (2 if ki else 0) + (2 if tf else 0)
    # e and c' by state, readings and references
    ex, ey, er = np.zeros((2, nx)), np.zeros((2, ny)), np.zeros((2, nr))
    cy, cr = np.zeros((2, ny)), np.zeros((2, nr))
    ey[:, :2], er[:, [0, 3]] = -I, I
    if ki:
        ex[:, :2] = I
        cy[:, -2:], cr[:, [6, 9]] = -ki * inverse, ki * inverse
    if tf:
        fx = np.zeros((2, nx))
        fx[:, nc:] = I
        dx, dy, dr = (ex - fx) / tf, ey / tf, er / tf
    else:
        rate_y, rate_r = np.zeros((2, ny)), np.zeros((2, nr))
        rate_y[:, 2:4], rate_r[:, [1, 4]] = -I, I
        dx, dy, dr = np.zeros((2, nx)), rate_y + cy, rate_r + cr
    C, Dy, Dr = Kp @ ex + Kd @ dx, Kp @ ey + Kd @ dy, Kp @ er + Kd @ dr
    Dr[:, [nr - 6, nr - 3]] += I
    # rates of the states; sampled, the filter decays by exp(-T / tf) a period
    step = T or 1.0
    gain = (1.0 - np.exp(-T / tf)) * tf if tf and T else step
    A, By, Br = np.zeros((nx, nx)), np.zeros((nx, ny)), np.zeros((nx, nr))
    By[:nc], Br[:nc] = (step * cy, step * cr) if ki else (By[:nc], Br[:nc])
    if tf:
        A[nc:], By[nc:], Br[nc:] = gain * dx, gain * dy, gain * dr
    A += np.eye(nx) if T else 0.0
    bound = each("limit", limit, 2)
    return LinearLaw(
        T, tuple(measures), ("joint1_torque", "joint2_torque"), tuple(follows),
        A=A, By=By, Br=Br, C=C, Dy=Dy, Dr=Dr, lower=-bound, upper=bound,
    )
