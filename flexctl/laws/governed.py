"""A law whose references run at the pace that its limits allow; see `governor` for what is decided, and why.

Time is cut into intervals of some control periods. Within one the pace s changes at the rate w, from one to the next
w+ = keep w - (1 - keep) brake s, unless the governor decides for another w.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import require
from ..model import FloatArray
from .controller import Delayed, _Wrapper, initial_at

if TYPE_CHECKING:
    from .governed_kernel import Governor

@dataclass(frozen=True, eq=False)
class Predictor:
    """The governor's model of the loop.

    Attributes
    ----------
    loop : tuple of ndarray
        A, B0, Bm, B1, C, D of the closed loop over one interval: state (plant, law, waiting commands); references at
        its beginning, middle and end, between which they are interpolated; bounded signals.
    lower, upper : ndarray
        Bounds of these signals, the margin taken off.
    Phi, Gamma, measure, correct : ndarray
        The design plant over one control period, the rows of its measured outputs, and the filter's gain.
    rigid : ndarray
        Estimate of the plant's state at rest per measured output.
    """

    loop: tuple[FloatArray, ...]
    lower: FloatArray
    upper: FloatArray
    Phi: FloatArray
    Gamma: FloatArray
    measure: FloatArray
    correct: FloatArray
    rigid: FloatArray

    def excess(self, z: FloatArray) -> float:
        """Return by how much predicted signals exceed their bounds, at worst, in parts of the bound; <= 0 if none."""
        half = 0.5 * (self.upper - self.lower)
        return float((np.maximum(z - self.upper, self.lower - z) / half).max())


class Pace(NamedTuple):
    """The pace within one interval: sigma = t - lag at its beginning, pace s, its slope w [1/s]."""

    begin: float
    lag: float
    s: float
    w: float

    def at(self, t: float) -> tuple[float, float]:
        """Return sigma and s at time t [s]; sigma = t to the last bit where nothing was ever slowed."""
        since = t - self.begin
        return t - (self.lag + (1.0 - self.s) * since - 0.5 * self.w * since**2), self.s + self.w * since


class GovernorState(NamedTuple):
    """State of a governed law: the law's, the estimate of the plant's before the measurement, calls, the pace."""

    law: Any
    estimate: FloatArray | None
    calls: int
    pace: Pace


@dataclass(frozen=True, eq=False)
class Governed(_Wrapper):
    """A law whose references run at the pace that its limits allow; made by `governor`.

    Attributes
    ----------
    law : LinearLaw or Delayed
        The law that gets the slowed references.
    predictor : Predictor
        The closed loop and its bounds.
    interval : int
        Control periods between two decisions.
    slope : float
        Largest rise or fall of the pace per second while something moves [1/s].
    keep : float
        Part of the slope that is left in the next interval.
    brake : float
        Rate at which the pace decays in the predicted continuation [1/s]; 0: it is held.
    horizon : float
        Longest motion that is predicted to its end, and longest prediction of a stop [s].
    rests : ndarray
        Path parameters at which the path comes to rest for three intervals or for good [s].
    path : ndarray
        Value, rate, acceleration of each reference channel at every control period; empty before `with_references`.
    """

    predictor: Predictor
    interval: int
    slope: float
    keep: float
    brake: float
    horizon: float
    rests: FloatArray = field(default_factory=lambda: np.zeros(1))
    path: FloatArray = field(default_factory=lambda: np.zeros((2, 0)))

    def with_references(self, references: Mapping[str, Any]) -> Governed:
        """Return the law that knows the motions it will be asked for."""
        motions = [references[name] for name in self.follows]
        for name, motion in zip(self.follows, motions, strict=True):
            _check_path(name, motion, self.sample_time)
        t = self.sample_time * np.arange(int(np.ceil(max(m.duration for m in motions) / self.sample_time)) + 2)
        path = np.ascontiguousarray(np.vstack([row for motion in motions for row in motion(t)]).T)
        rests = self.sample_time * self._rests(path)
        longest = float(np.diff(rests, prepend=0.0).max())
        remedy = "make it longer, or give brake = (time constant of a stop on the path)"
        covered = self.brake > 0 or longest < self.horizon
        require(covered, f"a motion takes {longest:g} s, horizon = {self.horizon:g} s ends before; {remedy}")
        return replace(self, rests=rests, path=path)

    def _rests(self, path: FloatArray) -> FloatArray:
        """Return the samples at which a rest of three intervals begins, and the last one."""
        still = np.asarray(~_rates(path).any(axis=1))
        begins = np.flatnonzero(still[1:] & ~still[:-1]) + 1
        long = [int(k) for k in begins if still[k : k + 3 * self.interval + 1].all()]
        return np.array(sorted({*long, len(path) - 1}), float)

    def initial(self) -> GovernorState:
        """Return the state before the first call: nothing has been measured, the pace is free."""
        return GovernorState(self.law.initial(), None, 0, Pace(0.0, 0.0, 1.0, 0.0))

    def initial_at(self, y: FloatArray) -> GovernorState:
        """Return the same for measured outputs y, with the state of the law that belongs to them."""
        return self.initial()._replace(law=initial_at(self.law, y))

    def step(self, state: GovernorState, t: float, y: FloatArray, r: FloatArray) -> tuple[FloatArray, GovernorState]:
        """Return the law's command for the slowed references."""
        require(self.path.size > 0, "a governed law must know its path: simulate it, or call with_references")
        from .governed_kernel import carry, correct

        estimators, pace = self._estimators, state.pace
        estimate, x = np.zeros(len(estimators[0])), np.zeros(len(estimators[0]))
        if state.estimate is not None:
            estimate[:] = state.estimate
        correct(estimators, estimate, state.estimate is not None, np.ascontiguousarray(y, float), x)
        if state.calls % self.interval == 0:
            pace = self._decide(state, t, np.concatenate([x, self._known(state.law)]))
        u, law = self.law.step(state.law, t, y, self._slowed(pace, t, r))
        carry(estimators, x, np.ascontiguousarray(u, float), estimate)
        return u, GovernorState(law, estimate, state.calls + 1, pace)

    @cached_property
    def _estimators(self) -> tuple[FloatArray, ...]:
        from ..kernels.arrays import writable

        p = self.predictor
        return tuple(writable(p.Phi, p.Gamma, p.measure, p.correct, p.rigid))

    def _known(self, law: Any) -> FloatArray:
        """Return the law's state and the waiting commands, the newest first."""
        if isinstance(self.law, Delayed):
            return np.concatenate([law[0], *law[1][::-1]])
        return np.asarray(law, float)

    def _slowed(self, pace: Pace, t: float, r: FloatArray) -> FloatArray:
        """Return the references at time t: r itself where nothing was ever slowed."""
        if pace.lag == 0.0 and pace.s == 1.0 and pace.w == 0.0:
            return r
        from .governed_kernel import reference_at

        slowed = np.empty(self.path.shape[1])
        reference_at(self.path, self.sample_time, *pace.at(t), pace.w, slowed)
        return slowed

    def _decide(self, state: GovernorState, t: float, x: FloatArray) -> Pace:
        """Return the pace of the interval that begins at t."""
        from .governed_kernel import decide

        pace = np.array(state.pace)
        decide(self.governor, t, np.ascontiguousarray(x), pace)
        return Pace(*pace.tolist())

    @cached_property
    def governor(self) -> Governor:
        """The governor as compiled code takes it."""
        from ..kernels.arrays import writable
        from .governed_kernel import Governor, Loop

        p, Ts = self.predictor, self.sample_time
        arrays = writable(*p.loop, p.lower, p.upper, self.path, self.rests)
        numbers = Ts, self.interval * Ts, self.slope, self.keep, self.brake, self.horizon
        return Governor(Loop(*arrays[:6]), *arrays[6:], *map(float, numbers))

    def prediction(self, x: FloatArray, sigma: float, s: float, w: float) -> FloatArray:
        """Return the bounded signals [interval, signal] for a state, a pace and its first slope."""
        from .governed_kernel import predict

        return np.asarray(predict(self.governor, np.ascontiguousarray(x), sigma, s, w))


def _rates(path: FloatArray) -> FloatArray:
    """Return rates and accelerations of a sampled path, one row per sample."""
    return path[:, np.arange(path.shape[1]) % 3 > 0]


def _check_path(name: str, motion: Any, sample_time: float) -> None:
    """Refuse a motion that jumps or does not end at rest."""
    t = np.arange(-1.0, motion.duration / sample_time + 2.0) * sample_time
    value, rate, _ = motion(t)
    extent, largest = np.ptp(value), np.abs(rate).max()
    smooth = bool(np.all(np.abs(np.diff(value)) <= 1.5 * sample_time * largest + 1e-9 * extent))
    require(smooth, f'the motion of "{name}" jumps: no pace makes it slower; give e.g. flexctl.motion.moves.quintic')
    require(bool(rate[-1] == 0.0), f'the motion of "{name}" ends at a rate of {rate[-1]:.3g}/s; it must end at rest')
