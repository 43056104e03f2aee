"""Input shaping: a command is replaced by a sum of delayed copies, so that chosen modes end at rest.

    r_shaped(t) = sum of A_i r(t - t_i),     sum of A_i = 1

The vibration that any command leaves in a mode (natural frequency w, damping ratio zeta) of a linear plant is
multiplied exactly by

    V(w, zeta) = e^(-zeta w t_n) |sum of A_i e^(zeta w t_i) e^(j wd t_i)|,     wd = w sqrt(1 - zeta^2)

With K = exp(-zeta pi / sqrt(1 - zeta^2)) and half a period T = pi / wd:

    zv   V = 0                                    (1, K) / (1 + K)                         at 0, T
    zvd  V = dV/dw = 0                            (1, 2K, K^2) / (1 + K)^2                 at 0, T, 2T
    ei   V = a tolerance at w, 0 on both sides    ((1+V), 2 (1-V) K, (1+V) K^2), sum to 1  at 0, T, 2T

Shapers of several modes are convolved. `optimised` is the shortest one with non-negative impulses that keeps V below a
tolerance over bands of frequencies. In a sampled command an impulse between two samples is split linearly between them;
rounding it to the nearer one costs most of the effect.

A shaper for a closed loop needs the modes of the closed loop.

Sources: Smith 1957 (posicast); Singer and Seering 1990 (zv, zvd); Singhose, Seering and Singer 1994 (ei).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ConvergenceError, require, unknown
from ..linear.modes import modes
from ..machine.given import LinearGiven, as_linear
from ..model import FloatArray
from ..motion.moves import Motion
from ..motion.resting import Rest
from ..motion.signals import InputSignal
from ..support.checks import real_array

KINDS = ("zv", "zvd", "ei")
EI_TOLERANCE = 0.05


@dataclass(frozen=True, eq=False)
class Shaper:
    """A sequence of impulses.

    Attributes
    ----------
    times : ndarray
        Times of the impulses [s], ascending from 0.
    amplitudes : ndarray
        Their sizes [1]; they sum to 1.

    Examples
    --------
    >>> print(f"{fx.shaper('zvd', [2.0, 11.0], 0.01).length:.4f} s")
    0.5909 s
    """

    times: FloatArray
    amplitudes: FloatArray

    def __post_init__(self) -> None:
        t, a = np.asarray(self.times, float), np.asarray(self.amplitudes, float)
        require(t.ndim == 1 and t.shape == a.shape and t.size > 0, f"times {t.shape} and amplitudes {a.shape} differ")
        require(bool(np.isfinite(t).all() and np.isfinite(a).all()), "times and amplitudes must be finite")
        require(bool(t[0] >= 0 and np.all(np.diff(t) > 0)), f"times {t} s must ascend from 0 or later")
        require(abs(a.sum() - 1.0) < 1e-9, f"amplitudes sum to {a.sum():.6g}; a shaper keeps the target: they sum to 1")
        object.__setattr__(self, "times", t)
        object.__setattr__(self, "amplitudes", a)

    def __repr__(self) -> str:
        return f"Shaper({self.times.size} impulses over {self.length:.4g} s)"

    @property
    def length(self) -> float:
        """Time by which the command becomes longer [s]."""
        return float(self.times[-1])

    def __mul__(self, other: Shaper) -> Shaper:
        """Return the convolution: both shapers one after the other."""
        times = np.add.outer(self.times, other.times).ravel()
        return _merged(times, np.multiply.outer(self.amplitudes, other.amplitudes).ravel())

    def residual(self, frequency_hz: npt.ArrayLike, damping: float = 0.0) -> FloatArray:
        """Return the factor V by which vibration at frequencies [Hz] with a damping ratio is multiplied."""
        w = 2 * np.pi * np.asarray(frequency_hz, float)[..., None]
        late = self.times - self.length
        s = damping * w + 1j * w * np.sqrt(1.0 - damping**2)
        return np.asarray(np.abs((self.amplitudes * np.exp(s * late)).sum(-1)))

    def on_samples(self, period: float) -> Shaper:
        """Return the shaper for a command sampled every `period` [s]: impulses split between neighbouring samples."""
        require(period > 0, f"period = {period} s must be positive")
        k = np.floor(self.times / period + 1e-9)
        part = np.clip(self.times / period - k, 0.0, 1.0)
        part[part < 1e-9] = 0.0
        both = np.concatenate([k, k + 1]) * period
        return _merged(both, np.concatenate([self.amplitudes * (1 - part), self.amplitudes * part]))

    def rounded(self, period: float) -> Shaper:
        """Return the shaper with every impulse moved to the nearest sample, as it is often done; see the module."""
        require(period > 0, f"period = {period} s must be positive")
        return _merged(np.round(self.times / period) * period, self.amplitudes)


def _merged(times: npt.NDArray[Any], amplitudes: npt.NDArray[Any]) -> Shaper:
    """Return the shaper with coinciding impulses added up and vanishing ones left out."""
    order = np.argsort(times, kind="stable")
    times, amplitudes = times[order], amplitudes[order]
    group = np.concatenate([[0], np.cumsum(np.diff(times) > 1e-9 * max(float(times[-1]), 1e-300))])
    total = np.bincount(group, weights=amplitudes)
    first = times[np.searchsorted(group, np.arange(total.size))]
    keep = total != 0.0
    return Shaper(first[keep], total[keep])


def _one_mode(kind: str, frequency_hz: float, damping: float) -> Shaper:
    require(frequency_hz > 0, f"frequency = {frequency_hz} Hz must be positive")
    require(0 <= damping < 1, f"damping ratio {damping} must lie between 0 and 1: other modes need no shaping")
    K = float(np.exp(-damping * np.pi / np.sqrt(1.0 - damping**2)))
    half = 0.5 / (frequency_hz * np.sqrt(1.0 - damping**2))
    V = EI_TOLERANCE
    sizes = {
        "zv": [1.0, K],
        "zvd": [1.0, 2.0 * K, K * K],
        "ei": [1.0 + V, 2.0 * (1.0 - V) * K, (1.0 + V) * K * K],
    }
    if not (isinstance(kind, str) and kind in sizes):
        raise unknown("kind of shaper", kind, KINDS)
    a = np.array(sizes[kind])
    return Shaper(half * np.arange(a.size), a / a.sum())


def shaper(kind: str, frequencies_hz: Sequence[float], damping: Sequence[float] | float = 0.0) -> Shaper:
    """Return the shaper of one or several modes.

    Parameters
    ----------
    kind : str
        "zv", "zvd" or "ei" (see the module; the tolerance of ei is 5 %).
    frequencies_hz : sequence of float
        Undamped natural frequencies of the modes [Hz].
    damping : float or sequence of float
        Their damping ratios.

    Examples
    --------
    >>> zv = fx.shaper("zv", [2.0])
    >>> print(zv.times.round(4), zv.amplitudes.round(4))
    [0.   0.25] [0.5 0.5]
    """
    f = np.atleast_1d(real_array("frequencies_hz", frequencies_hz))
    require(f.ndim == 1, f"frequencies_hz has shape {f.shape}; give a row of numbers")
    require(f.size > 0, "no frequency given; name at least one mode")
    ratios = real_array("damping", damping)
    require(ratios.shape in ((), (1,), f.shape), f"{ratios.size} damping ratios for {f.size} modes; give one or each")
    zeta = np.broadcast_to(ratios, f.shape)
    return reduce(Shaper.__mul__, [_one_mode(kind, float(a), float(b)) for a, b in zip(f, zeta, strict=True)])


def shaper_for(plant: LinearGiven, kind: str = "zvd", count: int = 2) -> Shaper:
    """Return the shaper for the first oscillating modes of a linear plant; of a closed loop give the closed loop.

    Examples
    --------
    >>> plant = fx.load_plant("tokhi_azad_1994", damping={"kind": "modal", "ratio": 0.01}).linearise()
    >>> print(f"{fx.shaper_for(plant, 'zvd', 2).length:.4f} s")
    0.1166 s
    """
    plant = as_linear(plant)
    require(count >= 1, f"count = {count} must be at least 1")
    found = modes(plant)
    f, zeta = np.asarray(found.frequencies_hz), np.asarray(found.damping)
    ringing = zeta < 0.7  # faster decay than that leaves nothing to shape
    require(int(ringing.sum()) >= count, f"the plant has {int(ringing.sum())} oscillating modes; {count} are asked for")
    return shaper(kind, f[ringing][:count].tolist(), np.maximum(zeta[ringing][:count], 0.0).tolist())


def optimised_shaper(
    bands_hz: Sequence[tuple[float, float]], tolerance: float, period: float, damping: float = 0.0, limit: float = 2.0
) -> Shaper:
    """Return the shortest shaper with non-negative impulses on samples that keeps V below a tolerance over bands.

    Parameters
    ----------
    bands_hz : sequence of (low, high)
        Frequencies of the uncertain modes [Hz].
    tolerance : float
        Largest V anywhere in the bands.
    period : float
        Sample time of the command [s].
    damping : float
        Damping ratio of the modes.
    limit : float
        Longest shaper to try [s].

    Raises
    ------
    ConvergenceError
        When no shaper up to the limit suffices.

    Examples
    --------
    >>> found = fx.optimised_shaper([(1.9, 2.1)], 0.05, 1e-2)
    >>> print(f"{found.amplitudes.sum():.4f}")
    1.0000
    """
    require(0 < tolerance < 1, f"tolerance = {tolerance} must lie between 0 and 1")
    require(period > 0 and limit > period, f"period = {period} s and limit = {limit} s: 0 < period < limit")
    for low, high in bands_hz:
        require(0 < low <= high, f"band ({low}, {high}) Hz must be positive and ascending")
    longest = int(limit / period)
    least, most = 1, min(longest, int(1.0 / (period * min(low for low, _ in bands_hz))) + 2)
    require(0 <= damping < 1, f"damping ratio {damping} must lie between 0 and 1: other modes need no shaping")
    while (best := _feasible(bands_hz, tolerance, period, damping, most)) is None and most < longest:
        least, most = most, min(longest, 2 * most)
    if best is None:
        message = f"no shaper of at most {limit:g} s keeps {tolerance:g} over {list(bands_hz)} Hz; allow a longer one"
        raise ConvergenceError(message, residual=tolerance)
    while most - least > 1:
        middle = (least + most) // 2
        found = _feasible(bands_hz, tolerance, period, damping, middle)
        if found is None:
            least = middle
        else:
            most, best = middle, found
    return best


def _feasible(
    bands: Sequence[tuple[float, float]], tolerance: float, period: float, damping: float, samples: int
) -> Shaper | None:
    """Return a shaper of so many samples by linear programming, V bounded on a grid through a polygon."""
    from scipy.optimize import linprog

    t = period * np.arange(samples + 1)
    spacing = 1.0 / (40.0 * t[-1])  # V varies over 1 / length
    f = np.concatenate([np.linspace(a, b, max(3, int((b - a) / spacing) + 1)) for a, b in bands])
    w = 2 * np.pi * f[:, None]
    rows = np.exp((damping * w + 1j * w * np.sqrt(1 - damping**2)) * (t - t[-1]))
    corners = 16  # the polygon lies inside the circle of the tolerance
    angles = np.exp(-2j * np.pi * np.arange(corners) / corners)
    A = np.concatenate([(rows * turn).real for turn in angles])
    b = np.full(len(A), 0.999 * tolerance * np.cos(np.pi / corners))
    answer = linprog(t, A_ub=A, b_ub=b, A_eq=np.ones((1, t.size)), b_eq=[1.0], bounds=(0.0, None), method="highs")
    if not answer.success:
        return None
    a = np.where(answer.x > 1e-9, answer.x, 0.0)
    return _merged(np.asarray(t, np.float64), a / a.sum())


@dataclass(frozen=True)
class ShapedSignal:
    """An input signal through a shaper."""

    signal: InputSignal
    shaper: Shaper

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Those of every copy [s]."""
        return _copies(self.signal, self.shaper)

    def __call__(self, t: npt.ArrayLike, before: bool = False) -> FloatArray:
        """Return the signal at times t [s]."""
        return _sum(self.shaper, lambda shifted: self.signal(shifted, before), t)


@dataclass(frozen=True)
class ShapedMotion:
    """A commanded motion through a shaper."""

    motion: Motion
    shaper: Shaper

    @property
    def duration(self) -> float:
        """Time after which the value stays [s]."""
        return self.motion.duration + self.shaper.length

    @property
    def target(self) -> float:
        """Value that is reached in the end."""
        return self.motion.target

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Those of every copy [s]."""
        return _copies(self.motion, self.shaper)

    def __call__(self, t: npt.ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return value, rate and acceleration at times t [s]."""
        t = np.asarray(t, float)
        total = np.zeros((3, *t.shape))
        for delay, size in zip(self.shaper.times, self.shaper.amplitudes, strict=True):
            copy = self.motion(np.round(t - delay, 12))  # see `_sum`
            for k in range(3):
                total[k] += size * copy[k]
        return total[0], total[1], total[2]


def _sum(shaper: Shaper, copy: Callable[[FloatArray], Any], t: npt.ArrayLike) -> FloatArray:
    t = np.asarray(t, float)
    total = np.zeros(t.shape)
    for delay, size in zip(shaper.times, shaper.amplitudes, strict=True):
        # rounded back onto the breakpoints: t + delay - delay need not be t
        total = total + size * copy(np.round(t - delay, 12))
    return total


def _copies(what: InputSignal | Motion, shaper: Shaper) -> tuple[float, ...]:
    times = {round(b + delay, 12) for b in what.breakpoints for delay in shaper.times}
    return tuple(sorted(times))


def shaped(command: Motion | InputSignal, by: Shaper) -> Any:
    """Return a motion or an input signal through a shaper; what should be at rest after it is so after the shaper.

    Examples
    --------
    >>> move = fx.shaped(fx.quintic(0.0, 1.0, 0.5), fx.shaper("zv", [2.0]))
    >>> move.duration
    0.75
    """
    if isinstance(command, Rest):
        return replace(command, until=command.until + by.length)
    return ShapedMotion(command, by) if isinstance(command, Motion) else ShapedSignal(command, by)
