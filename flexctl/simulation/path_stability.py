"""Whether a tracking loop is stable where it works: poles of law and linear plant along the path.

At each of some poses of the path the plant is linearised at rest and closed with the law that is on at that time: a
continuous law with the continuous plant, a sampled one with the exact zero-order hold of it. The growth is the largest
real part of a pole, or log|z| / T [1/s].

It matters because a simulation may hide it. Feedback of chord angles (Tian et al.) is not collocated with the
torques: on their undamped arm the loop is unstable at every gain, in modes far above the motion, and an integrator that
damps these modes shows a clean run. `simulate` therefore looks here after a run along a path, and warns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..abilities import LinearFeedback, Posable, Restable
from ..errors import Caution, NotAvailable, caution
from ..laws.abilities import ChangesAtTimes, ScheduledByReading
from ..laws.controller import is_wrapper, layers
from ..laws.given import as_known, feedback_of
from ..linear import linearise
from ..linear.decay import GROWTH
from ..linear.interconnect import loop_poles
from ..machine.given import as_model, as_plant
from ..model import ComplexArray, FloatArray, OperatingPoint, index_of
from ..motion.track import Track
from ..support.kinds import LawGiven, SystemGiven
from ..support.tabular import Column, Tabular

if TYPE_CHECKING:
    from ..catalogue import Plant


class HiddenInstability(Caution):
    """A run looks stable, and its loop is not.

    Examples
    --------
    >>> issubclass(fx.HiddenInstability, fx.Caution)
    True
    """


@dataclass(frozen=True, eq=False)
class PathStability(Tabular):
    """Growth of the loop along a path.

    Attributes
    ----------
    times : ndarray
        Times of the poses [s].
    angles : ndarray
        Joint angles of the poses [rad].
    growth : ndarray
        Largest growth in each pose [1/s]; negative: every mode decays.
    frequency : ndarray
        Frequency of the pole that grows most [Hz].
    poles : tuple of ndarray
        All poles [rad/s] in each pose, those of a sampled loop as log(z) / T.

    Examples
    --------
    >>> script = fx.load_controller("tip_circle")
    >>> arm = fx.load_plant(script.PLANT)
    >>> law, track = script.design(arm), script.track(arm)
    >>> fx.path_stability(arm, law, track, count=3).times.tolist()
    [0.0, 12.5, 25.0]
    """

    times: FloatArray
    angles: FloatArray
    growth: FloatArray
    frequency: FloatArray
    poles: tuple[ComplexArray, ...]

    @property
    def worst(self) -> float:
        """Largest growth of all poses [1/s]."""
        return float(self.growth.max())

    @property
    def stable(self) -> bool:
        """Whether nothing grows, rounding apart."""
        fastest = max(float(np.abs(p).max(initial=0.0)) for p in self.poles)
        return self.worst <= GROWTH * fastest

    _index = "time"

    def _table(self) -> list[Column]:
        angles = [Column(f"joint{i + 1}_angle", column, "rad") for i, column in enumerate(self.angles.T)]
        growth = [Column("growth", self.growth, "1/s"), Column("frequency", self.frequency, "Hz")]
        return [Column("time", self.times, "s"), *angles, *growth]

    def _about(self) -> Mapping[str, Any]:
        return {"worst": self.worst, "stable": self.stable}

    def _caption(self) -> str:
        return f"PathStability({self})"

    def __str__(self) -> str:
        k = int(self.growth.argmax())
        where = f"{self.growth[k]:+.3g} 1/s at {self.frequency[k]:.4g} Hz, t = {self.times[k]:.3g} s"
        return f"{'stable' if self.stable else 'UNSTABLE'}, {where}"


def law_at(law: Any, t: float, read: Callable[[str], float] | None = None) -> Any:
    """Return the linear law that is on at time t [s], in its wrappers; `read` tells an output in the pose of then."""
    if is_wrapper(law):
        return replace(law, law=law_at(law.law, t, read))
    if isinstance(law, ScheduledByReading) and read is not None:
        return law.frozen(read(law.by))
    return law.at(t) if isinstance(law, ChangesAtTimes) else law


def path_stability(system: SystemGiven, law: LawGiven, track: Track, count: int = 13) -> PathStability:
    """Return the poles of a law on the linear plant at evenly spaced times of a track.

    Parameters
    ----------
    system : Plant or MechanicalModel
        A model with a method `pose(angles)`.
    law : LinearLaw, ScheduledLaw, Blended, these in wrappers, or control.StateSpace
        A blended law is taken as it is in each pose. Limits and quantisation are left out.
    track : Track
        Where the loop works.
    count : int
        Number of poses.

    Examples
    --------
    >>> arm = fx.load_plant("tian_ancf_circle")
    >>> circle = fx.Circle((1.6, 0.0), 0.3)
    >>> track = fx.Track(arm, fx.Path(circle, fx.ConstantSpeed(circle.length, 25.0)))
    >>> law = fx.tip_tracking(track, fx.pd_gains((35.0, 20.5), 8.0), sample_time=0.0)
    >>> found = fx.path_stability(arm, law, track, count=3)
    >>> bool(found.growth.max() < 1e-6)
    True
    """
    model = as_model(system)
    if not isinstance(model, Posable):
        raise NotAvailable(f"{model.kind} cannot be put into a pose of the path")
    law = as_known(law)
    *_, inner = layers(law)
    if not isinstance(inner, LinearFeedback | ScheduledByReading):
        raise NotAvailable(f"{type(inner).__name__} has no linear part")
    times = np.linspace(0.0, track.path.duration, count)
    angles = track.joints(times).angles
    settle = model.rest if any(track.rigid.arm.gravity) and isinstance(model, Restable) else model.pose
    poles = []
    for t, pose in zip(times, angles, strict=True):
        point = OperatingPoint.at_rest(model, np.asarray(settle(pose)))
        own = law_at(law, float(t), partial(_reading, model, point))
        poles.append(loop_poles(linearise(model, point), feedback_of(own)))
    first = [p[np.argmax(p.real)] for p in poles]
    growth, frequency = np.array([p.real for p in first]), np.array([abs(p.imag) for p in first]) / (2.0 * np.pi)
    return PathStability(times, angles, growth, frequency, tuple(poles))


def _reading(model: Any, point: OperatingPoint, name: str) -> float:
    """Return an output where the arm stands."""
    y = model.output(point.q, np.zeros_like(point.q), np.zeros_like(point.q), np.zeros(len(model.inputs)))
    return float(y[index_of("output", name, model.outputs)])


def stability_over_damping(
    plant: Plant, laws: Mapping[str, Any], track: Track, damping: Sequence[float], count: int = 13
) -> dict[str, list[PathStability]]:
    """Return the stability of laws by name for several dampings beta of D = beta K [s], 0 for none.

    Examples
    --------
    >>> script = fx.load_controller("tip_circle")
    >>> arm = fx.load_plant(script.PLANT)
    >>> law, track = script.design(arm), script.track(arm)
    >>> found = fx.stability_over_damping(arm, {"PD": law}, track, [0.0, 1e-3], count=2)
    >>> len(found["PD"])
    2
    """
    plant = as_plant(plant)
    found: dict[str, list[PathStability]] = {label: [] for label in laws}
    for beta in damping:
        kind = "rayleigh" if beta else "none"
        damped = plant.with_({"damping": {"kind": kind, "alpha": 0.0, "beta": float(beta), "ratio": 0.0}})
        for label, law in laws.items():
            found[label].append(path_stability(damped, law, track, count))
    return found


def warn_if_unstable(system: Any, law: Any, track: Track, how: str) -> PathStability | None:
    """Warn of a loop that is unstable although its run was bounded; None where that cannot be decided.

    `how` says how the run was integrated.
    """
    try:
        found = path_stability(system, law, track, 7)
    except NotAvailable:
        return None
    if not found.stable:
        k = int(found.growth.argmax())
        caution(
            f"the linear loop is unstable on its own path: {found.growth[k]:+.3g} 1/s at {found.frequency[k]:.4g} Hz "
            f"in the pose of t = {found.times[k]:.3g} s. A bounded run ({how}) only shows that the integrator damps "
            "this, or that the run is short; feed back joint angles in place of chords, filter the rates "
            "(filter_time), give the arm damping, or use a shorter step without dissipation",
            HiddenInstability,
        )
    return found
