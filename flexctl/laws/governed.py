"""A law whose references run at the pace that its limits allow; see `governor` for what is decided, and why.

Time is cut into intervals of some control periods. Within one the pace s changes at the rate w, from one to the next
w+ = keep w - (1 - keep) brake s, unless the governor decides for another w.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from ..errors import require
from ..model import FloatArray
from .controller import Delayed, _Wrapper, initial_at

FINEST = 1e-3
"""Relative error of the pace at which a move begins."""
TAIL = 0.3
"""How long the loop is predicted after the path's end [s]."""
SLACK = 5e-3
"""Excess over a bound, in parts of it, that counts as rounding: references are interpolated within an interval."""


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

    def admitted(self, z: FloatArray, more: FloatArray) -> float:
        """Return the largest part of the way from predicted signals z to `more` that stays within the bounds."""
        change = more - z
        room = np.where(change > 0, self.upper - z, self.lower - z)
        with np.errstate(divide="ignore", invalid="ignore"):
            parts = np.where(change == 0, np.inf, room / change)
        return float(np.clip(parts.min(), 0.0, 1.0))


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
        p = self.predictor
        before = p.rigid @ y if state.estimate is None else state.estimate
        x = before + p.correct @ (y - p.measure @ before)
        pace = state.pace
        if state.calls % self.interval == 0:
            pace = self._decide(state, t, np.concatenate([x, self._known(state.law)]))
        u, law = self.law.step(state.law, t, y, self._slowed(pace, t, r))
        return u, GovernorState(law, p.Phi @ x + p.Gamma @ u, state.calls + 1, pace)

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
        sigma, s = state.pace.at(t)
        lag, h = state.pace.lag if s == 1.0 and state.pace.w == 0.0 else t - sigma, self.interval * self.sample_time
        if not self._moves(sigma, sigma + h):
            return Pace(t, lag, 1.0, 0.0)
        if not self._moves(sigma - h, sigma):
            return Pace(t, lag, self._begin(x, sigma), 0.0)
        return Pace(t, lag, s, self._slope(x, sigma, s, state.pace.w))

    def _moves(self, begin: float, end: float) -> bool:
        rows = np.clip(np.array([begin, end]) / self.sample_time + [0.5, 1.5], 0, len(self.path)).astype(int)
        return bool(np.any(_rates(self.path[slice(*rows)])))

    def _end(self, sigma: float) -> float:
        """Return where the path comes to the next rest that is long enough for the pace to be free again."""
        return float(self.rests[np.searchsorted(self.rests, sigma)]) if sigma < self.rests[-1] else sigma

    def prediction(self, x: FloatArray, sigma: float, s: float, w: float) -> FloatArray:
        """Return the bounded signals [interval, signal] for a state, a pace and its first slope."""
        from .governed_kernel import Going, Loop, Path, predict

        h, end = self.interval * self.sample_time, self._end(sigma)
        slowest = max(min(s, s + w * h / (1.0 - self.keep)), FINEST)
        longest = self.horizon if self.brake > 0 else (end - sigma) / slowest
        tail = int(np.ceil(TAIL / h))
        z = np.empty((int(np.ceil(longest / h)) + tail + 2, self.predictor.lower.size))
        path = Path(self.path, self.sample_time, end)
        going = Going(sigma, s, w, h, self.keep, self.brake)
        return z[: predict(Loop(*self.predictor.loop), path, going, x, tail, z)]

    def _begin(self, x: FloatArray, sigma: float) -> float:
        """Return the fastest pace, held, at which a move can begin."""
        def possible(s: float) -> bool:
            return self.predictor.excess(self.prediction(x, sigma, s, 0.0)) <= 0.0

        if possible(1.0):
            return 1.0
        low, high = 0.0, 1.0
        while high - low > FINEST * high and high > FINEST:
            middle = 0.5 * (low + high)
            low, high = (middle, high) if possible(middle) else (low, middle)
        return low

    def _slope(self, x: FloatArray, sigma: float, s: float, w: float) -> float:
        """Return the slope of the pace for one interval."""
        p, keep, h = self.predictor, self.keep, self.interval * self.sample_time
        rest, kick = keep * w - (1.0 - keep) * self.brake * s, (1.0 - keep) * (self.slope + self.brake * s)
        held = self.prediction(x, sigma, s, rest)
        # the pace ends at s + h w / (1 - keep), which stays between 0 and 1
        most = min(rest + kick, (1.0 - s) * (1.0 - keep) / h)
        if p.excess(held) > SLACK:
            least = max(rest - kick, -s * (1.0 - keep) / h)
            return self._remedy(x, sigma, s, (rest, p.excess(held)), (least, most))
        if most <= rest:
            return rest
        more = self.prediction(x, sigma, s, most)
        if p.excess(more) <= 0.0:
            return most
        size = min(len(held), len(more))
        w = rest + p.admitted(held[:size], more[:size]) * (most - rest)
        return w if p.excess(self.prediction(x, sigma, s, w)) <= 0.0 else rest

    def _remedy(
        self, x: FloatArray, sigma: float, s: float, held: tuple[float, float], others: tuple[float, float]
    ) -> float:
        """Return the slope that exceeds the bounds least, no farther from the held one than it takes."""
        excess, w = min((self.predictor.excess(self.prediction(x, sigma, s, w)), w) for w in others)
        if excess >= held[1]:
            return held[0]
        return held[0] + (w - held[0]) * min(1.0, held[1] / (held[1] - excess))


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
