"""The track of a two-link arm whose tip follows a path: references for laws, start, check of reach.

The joints' angles, rates and accelerations are those of the rigid arm (`flexctl.motion.kinematics`), and so are the
torques that may be fed forward. Channels, each a `Motion`:

| channel | value |
|---|---|
| joint1_angle, joint2_angle; chord1_angle, chord2_angle | angles of the rigid arm [rad] |
| tip_x, tip_y | the path [m] |
| joint1_feedforward, joint2_feedforward | torques of the rigid arm [N m] |
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ..abilities import Posable
from ..errors import DefinitionError, require
from ..linear import SecondOrder, linearise
from ..machine.given import ArmGiven, as_model
from ..model import FloatArray, OperatingPoint, names
from ..support.kinds import LawGiven, SystemGiven
from .kinematics import JointMotion, RigidArm
from .moves import Motion
from .paths import Path

AXES = "xy"


@dataclass(frozen=True, eq=False)
class Track:
    """A path of the tip bound to an arm.

    Attributes
    ----------
    arm : Plant, Arm, str or Path
        A planar arm of two links.
    path : Path
        Where and when.
    elbow : int
        Sign of the second angle, +1 or -1.
    settled : float
        Time from which the run counts as settled [s]: scores are given over the whole run and from here on.

    Raises
    ------
    DefinitionError
        When the path leaves the reach of the arm; the point and its time are named.

    Examples
    --------
    >>> circle = fx.Circle((1.6, 0.0), 0.3)
    >>> arm = fx.load_plant("tian_2r_beam")
    >>> track = fx.Track(arm, fx.Path(circle, fx.ConstantSpeed(circle.length, 25.0, ease_in=2.0)))
    >>> track.path.duration
    25.0
    """

    arm: ArmGiven
    path: Path
    elbow: int = 1
    settled: float = 5.0
    rigid: RigidArm = field(init=False)
    _turns: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        duration = self.path.duration
        inside = bool(np.isfinite(self.settled)) and 0.0 <= self.settled < duration
        require(inside, f"settled = {self.settled} s must lie within the path's {duration:g} s")
        object.__setattr__(self, "rigid", RigidArm(self.arm))
        self.rigid.check_inverse(self.elbow)
        t = np.unique(np.concatenate([np.linspace(0.0, duration, 4001), self.path.breakpoints]))
        points = self.path(t)[0]
        bad = np.flatnonzero(~(self.rigid.margin(points) > 0.0))
        if bad.size:
            raise self.rigid.unreachable(points[bad[0]], f" of the path, t = {t[bad[0]]:.4g} s,")
        angles = self.rigid.inverse(points, self.elbow)
        object.__setattr__(self, "_turns", np.array([t, np.unwrap(angles[:, 0])]))

    @property
    def margin(self) -> float:
        """Least distance of the path from the edges of the reach [m]."""
        return float(self.rigid.margin(self.path.points()).min())

    def joints(self, t: npt.ArrayLike) -> JointMotion:
        """Return the motion of the joints at times t [s]; the first angle goes on beyond pi."""
        found = self.rigid.inverse_motion(*self.path(t), self.elbow)
        near = np.interp(np.asarray(t, float), *self._turns)
        turns = np.round((near - found.angles[..., 0]) / (2.0 * np.pi))
        found.angles[..., 0] += 2.0 * np.pi * turns
        return found

    def torques(self, t: npt.ArrayLike) -> FloatArray:
        """Return the torques of the rigid arm at times t [s], (.., 2) [N m]."""
        return self.rigid.torques(*self.joints(t))

    def channels(self, feedforward: bool = True) -> dict[str, Motion]:
        """Return all channels of the table above; without feedforward its torques are zero."""
        found: dict[str, Motion] = {}
        for i in range(2):
            found[f"tip_{AXES[i]}"] = Channel(self, "tip", i)
            for angle in ("joint", "chord"):
                found[f"{angle}{i + 1}_angle"] = Channel(self, "angle", i)
            found[f"joint{i + 1}_feedforward"] = Channel(self, "torque" if feedforward else "none", i)
        return found

    def references(
        self, system: SystemGiven, law: LawGiven | None = None, feedforward: bool = True
    ) -> dict[str, Motion]:
        """Return the channels that a law follows and those that the outputs of a plant or model are scored against."""
        model = as_model(system)
        wanted = {*names(model.outputs), *(() if law is None else law.follows)}
        return {name: motion for name, motion in self.channels(feedforward).items() if name in wanted}

    def start(self, system: SystemGiven, moving: bool = False) -> tuple[FloatArray, FloatArray]:
        """Return coordinates and rates of a plant or model with straight links and the tip where the path begins.

        At rest, or `moving` as the path does. The model needs a method `pose(angles)`.
        """
        model = as_model(system)
        if not isinstance(model, Posable):
            raise DefinitionError(f"{model.kind} cannot be put into a pose; give the initial state yourself")
        angles, rates, _ = self.joints(0.0)
        q = np.asarray(model.pose(angles), float)
        if not (moving and rates.any()):
            return q, np.zeros_like(q)
        h = 1e-4 / float(np.abs(rates).max())
        ahead, behind = (np.asarray(model.pose(angles + k * h * rates), float) for k in (1.0, -1.0))
        further, back = (np.asarray(model.pose(angles + k * h * rates), float) for k in (2.0, -2.0))
        return q, (8.0 * (ahead - behind) - (further - back)) / (12.0 * h)  # fourth order: exact to rounding

    def linear_plant(self, system: SystemGiven) -> SecondOrder:
        """Return the linear plant of a plant or model about `start`, at rest."""
        model = as_model(system)
        return linearise(model, OperatingPoint.at_rest(model, self.start(model)[0]))

    def poses(self, count: int = 13) -> FloatArray:
        """Return joint angles (count, 2) [rad] at evenly spaced times of the path."""
        return self.joints(np.linspace(0.0, self.path.duration, count)).angles


@dataclass(frozen=True, eq=False)
class Channel:
    """One number of a track over time.

    Attributes
    ----------
    track : Track
        The track.
    kind : str
        "tip", "angle", "torque" or "none" (zero).
    index : int
        Axis or joint, from 0.
    """

    track: Track
    kind: str
    index: int

    @property
    def duration(self) -> float:
        """End of the path [s]."""
        return self.track.path.duration

    @property
    def target(self) -> float:
        """Value at the end of the path."""
        return float(self(self.duration)[0])

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Those of the path [s]."""
        return self.track.path.breakpoints

    def __call__(self, t: npt.ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return value, rate and acceleration at times t [s]; of a torque the value only."""
        if self.kind == "tip":
            x, v, a = (part[..., self.index] for part in self.track.path(t))
            return x, v, a
        if self.kind == "angle":
            x, v, a = (part[..., self.index] for part in self.track.joints(t))
            return x, v, a
        zero = np.zeros(np.shape(t))
        return (self.track.torques(t)[..., self.index] if self.kind == "torque" else zero), zero, zero


def track_of(references: Iterable[Motion]) -> Track | None:
    """Return the track whose tip a run is asked to follow, if there is one."""
    for motion in references:
        if isinstance(motion, Channel) and motion.kind == "tip":
            return motion.track
    return None
