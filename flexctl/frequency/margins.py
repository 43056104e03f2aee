"""Stability margins of a loop L (closed loop 1/(1 + L)), from its refined response, never through a transfer function.

    gain margin    factors k nearest to 1, above and below, with 1 + k L(j omega) = 0:  k = 1/|L| where L is negative
    phase margin   smallest |arg(-L)| where |L| = 1
    delay margin   smallest (arg(-L) mod 2 pi) / omega where |L| = 1
    disk margin    1 / max |S - 1/2|,  S = 1/(1 + L)

All crossings count, however many a flexible plant has; each is located on the model itself by bisection, not between
grid points. The phase is never unwrapped: that jumps at undamped poles. The numbers are distances to the stability
boundary; they are margins only if the closed loop is stable, which its poles tell: `Margins.stable`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..abilities import Gains, sample_time_of
from ..errors import DefinitionError, require
from ..linear.decay import STABLE
from ..machine.given import lines_of
from ..model import ComplexArray, FloatArray, FrequencyModel, index_of, names
from ..support.kinds import LoopGiven, MaybeNan
from .evaluate import Transfer, axis, on_axis
from .grids import frequency_model, known_poles, refine, start_grid

_ROUNDING = 1e-9  # |Im L| below this part of |L| is on the real axis
_BESIDE, _HUGE = 1e-7, 1e4  # where several loops meet at a pole; gains that pass for infinite there
_REACH = 12  # decades by which the range is extended in search of a gain crossing
_NARROW = 1e-10  # width of a minimum in parts of its frequency; beyond it its place is rounding

Curve = Callable[[FloatArray], ComplexArray]


@dataclass(frozen=True, eq=False)
class Margins:
    """Margins of one loop, each with the frequency [rad/s] where it is taken (NaN if there is none).

    Attributes
    ----------
    gain_margin : float
        Smallest factor above 1 by which the gain may grow [1]; inf if there is none.
    gain_reduction : float
        Largest factor below 1 to which the gain may fall [1]; 0 if there is none.
    phase_margin_deg : float
        Smallest distance of L from -1 along the unit circle [deg], to either side; 180 if there is no crossing.
    delay_margin : float
        Smallest additional delay that destabilises [s]; inf if there is no crossing.
    disk_margin : float
        1 / max |S - 1/2| [1]: gain may change by (2 + d)/(2 - d) up or down, phase by 2 atan(d/2), and both at once.
    gain_crossings, phase_crossings : ndarray
        All frequencies with |L| = 1 and with L negative real [rad/s].
    loop : FrequencyModel
        The loop gain; None of a curve.
    sensitivity_peak : float
        Largest |1/(1 + L)| [1].

    Examples
    --------
    >>> law = fx.load_controller("tokhi_azad_lqg").design(fx.load_plant("tokhi_azad_1994"))
    >>> found = law.margins["joint1_torque"]
    >>> print(f"{found.gain_margin:.2f}, {found.phase_margin_deg:.0f} deg, stable: {found.stable}")
    1.68, 24 deg, stable: True
    """

    gain_margin: MaybeNan
    gain_margin_frequency: MaybeNan
    gain_reduction: MaybeNan
    gain_reduction_frequency: MaybeNan
    phase_margin_deg: MaybeNan
    phase_margin_frequency: MaybeNan
    delay_margin: MaybeNan
    delay_margin_frequency: MaybeNan
    disk_margin: MaybeNan
    disk_margin_frequency: MaybeNan
    gain_crossings: FloatArray
    phase_crossings: FloatArray
    sensitivity_peak: MaybeNan = math.nan
    sensitivity_peak_frequency: MaybeNan = math.nan
    loop: LoopGiven = field(default=None, repr=False)

    @property
    def stable(self) -> bool | None:
        """Whether the closed loop is stable, all its poles decaying by more than rounding; None if they are not known.

        Otherwise the numbers are distances to the boundary of stability from its other side.
        """
        return None if self.state is None else self.state == STABLE

    @property
    def state(self) -> str | None:
        """How the closed loop goes on, "stable", "MARGINAL" (a mode neither grows nor decays) or "UNSTABLE"."""
        from .closing import closed_state

        return closed_state(self.loop)

    @property
    def gain_margin_db(self) -> float:
        """Gain margin [dB]."""
        return 20.0 * math.log10(self.gain_margin)

    @property
    def disk_gain_margin(self) -> float:
        """Factor by which the gain may change up or down with any phase change within the disk [1]."""
        return (2.0 + self.disk_margin) / (2.0 - self.disk_margin) if self.disk_margin < 2.0 else math.inf

    @property
    def disk_phase_margin_deg(self) -> float:
        """Phase change allowed by the disk [deg]."""
        return 2.0 * math.degrees(math.atan(0.5 * self.disk_margin))

    def __str__(self) -> str:
        return "\n".join([*self._lines(), f"closed loop     {self._verdict()}"])

    def _lines(self) -> list[str]:
        rows = (
            ("gain margin", f"{self.gain_margin:.4g} ({self.gain_margin_db:.3g} dB)", self.gain_margin_frequency),
            ("gain reduction", f"{self.gain_reduction:.4g}", self.gain_reduction_frequency),
            ("phase margin", f"{self.phase_margin_deg:.4g} deg", self.phase_margin_frequency),
            ("delay margin", f"{1e3 * self.delay_margin:.4g} ms", self.delay_margin_frequency),
            ("disk margin", f"{self.disk_margin:.4g}", self.disk_margin_frequency),
            ("peak of S", f"{self.sensitivity_peak:.4g}", self.sensitivity_peak_frequency),
        )
        return [f"{what:<15} {value:<22} at {omega:.6g} rad/s" for what, value, omega in rows]

    def _verdict(self) -> str:
        state = "not known" if self.stable is None else str(self.state)
        return state if self.stable is not False else f"{state}: these are distances, not margins"

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers by name; lists for the crossings."""
        found = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in self.__dict__.items() if k != "loop"}
        return {**found, "stable": self.stable}


def margins(
    loop: LoopGiven, channel: str | None = None, lo: float | None = None, hi: float | None = None,
    unstable_poles: int | None = None,
) -> Margins:
    """Return the stability margins of a loop gain, continuous or sampled.

    Parameters
    ----------
    loop : FrequencyModel
        Square; usually from `loop_gain`. Sampled loops are followed on z = exp(j omega dt) up to the Nyquist frequency.
        Of a measured plant the margins come with standard deviations (`flexctl.frequency.measured.MeasuredMargins`).
    channel : str, optional
        Of several loops, the one to break while the others stay closed (name of the input); may be left out for one.
    lo, hi : float, optional
        Frequencies to search [rad/s]; needed only where the poles are not known. Default: from two decades below the
        slowest pole, further if the gain still rises there, to a decade above the fastest, or the Nyquist frequency of
        a sampled loop. Of a measured plant: its first and last line.
    unstable_poles : int, optional
        How many unstable poles a measured plant has; needed there, and only there.

    Examples
    --------
    >>> script = fx.load_controller("tokhi_azad_lqg")
    >>> law = script.design(fx.load_plant(script.PLANT))
    >>> print(f"{fx.margins(fx.loop_gain(law.plant, law), 'joint1_torque').disk_margin:.2f}")
    0.40
    """
    from .measured import MeasuredLoop, alone, margins_of

    loop = lines_of(loop)
    if isinstance(loop, Gains):
        loop = alone(loop) if loop.source is None else loop.source
    if isinstance(loop, MeasuredLoop):
        return margins_of(loop, channel, unstable_poles, lo, hi)
    require(unstable_poles is None, "unstable_poles is for measured plants; the poles of this loop are known")
    loop = frequency_model(loop)
    L = _broken(loop, channel)
    poles = known_poles(loop)
    dt = sample_time_of(loop)
    low, high = _range(L, poles, dt, lo, hi)

    def both(s: ComplexArray) -> ComplexArray:
        values = L(s.imag)
        with np.errstate(all="ignore"):
            return np.stack([values, 1.0 / (1.0 + values)])

    omega, H = refine(both, start_grid(low, high, 400, poles), poles)
    values = H[0]
    if poles is not None:  # an undamped pole is a gain crossing on each side, however weakly it is coupled
        undamped = poles.imag[(poles.imag > low) & (poles.imag < high) & (np.abs(poles.real) < 1e-6 * np.abs(poles))]
        undamped = np.setdiff1d(undamped, omega)
        omega, values = np.append(omega, undamped), np.append(values, L(undamped))
        order = np.argsort(omega)
        omega, values = omega[order], values[order]
    return replace(_measured(L, omega, values, *_ends(L, high, dt, lo, hi)), loop=loop)


def _broken(loop: FrequencyModel, channel: str | None) -> Curve:
    """Return omega -> L of one loop, the others closed: 1/S_ii - 1."""
    size = len(loop.inputs)
    require(
        size == len(loop.outputs) and size > 0, f"{loop!r} is not square: margins need a loop gain (flexctl.loop_gain)"
    )
    if channel is None and size > 1:
        raise DefinitionError(f"{size} loops: name the channel to break, one of {names(loop.inputs)}")
    at = 0 if channel is None else index_of("channel", channel, loop.inputs)
    evaluate: Transfer = on_axis(loop)

    def curve(omega: FloatArray) -> ComplexArray:
        H = evaluate(axis(omega))
        if size == 1:
            return np.asarray(H[0, 0])
        pole = ~np.isfinite(H).all(axis=(0, 1))
        if pole.any():  # right beside it: a loop that sees the pole is huge there, another keeps its value
            H = H.copy()
            H[:, :, pole] = evaluate(axis(omega[pole]) + _BESIDE * np.maximum(omega[pole], 1.0))
        with np.errstate(all="ignore"):
            S = np.linalg.inv(np.eye(size) + H.transpose(2, 0, 1))
            L = np.asarray(1.0 / S[:, at, at] - 1.0)
        L[pole & (np.abs(L) > _HUGE)] = np.inf
        return L

    return curve


def _range(L: Curve, poles: ComplexArray | None, dt: float, lo: float | None, hi: float | None) -> tuple[float, float]:
    if poles is None and (lo is None or hi is None) and not (dt and lo is not None):
        raise DefinitionError("the poles of this loop are not known: give lo and hi [rad/s]")
    size = np.abs(poles[poles != 0.0]) if poles is not None and np.any(poles != 0.0) else np.array([1.0])
    nyquist = math.pi / dt if dt else math.inf
    low = float(lo) if lo is not None else min(1e-2 * float(size.min()), 0.1 * nyquist)
    # a delayed law turns the phase of a sampled loop all the way to the Nyquist frequency, however slow its poles are
    high = min(float(hi) if hi is not None else nyquist if dt else 10.0 * float(size.max()), nyquist)

    def gain(omega: float) -> float:
        return abs(complex(L(np.array([omega]))[0]))

    for _ in range(_REACH if lo is None else 0):
        if not (gain(low) < 1.0 and gain(0.1 * low) > 2.0 * gain(low)):
            break
        low *= 0.1
    for _ in range(_REACH if hi is None else 0):
        if gain(high) < 1.0 or high >= nyquist:
            break
        high = min(10.0 * high, nyquist)
    require(0.0 < low < high, f"frequency range lo = {low:g}, hi = {high:g} rad/s: 0 < lo < hi")
    return low, high


def _ends(L: Curve, high: float, dt: float, lo: float | None, hi: float | None) -> tuple[FloatArray, ComplexArray]:
    """Return the ends of the frequency axis, zero and infinity or the Nyquist frequency, and L there."""
    omega = [0.0] if lo is None else []
    values = L(np.array(omega))
    if hi is None and dt:
        return np.append(omega, high), np.append(values, L(np.array([high])))
    if hi is None:
        far, farther = L(high * np.array([1e4, 1e6]))
        settled = abs(far - farther) < 1e-2 * abs(farther)
        return np.append(omega, np.inf), np.append(values, farther if settled else 0.0)
    return np.array(omega), values


def _measured(
    L: Curve, omega: FloatArray, values: ComplexArray, end_omega: FloatArray, end_values: ComplexArray
) -> Margins:
    gain_crossings = _crossings(lambda w: _log(L(w)), omega, _log(values))
    at_gain = -L(gain_crossings)
    phase_crossings = _crossings(lambda w: L(w).imag, omega, _imaginary(values))
    at_phase = L(phase_crossings)
    true = (at_phase.real < 0.0) & (np.abs(at_phase.imag) < 1e-6 * np.abs(at_phase)) & np.isfinite(at_phase)
    real = np.isfinite(end_values) & (end_values.real < 0.0) & (np.abs(end_values.imag) <= 1e-6 * np.abs(end_values))
    phase_crossings = np.append(phase_crossings[true], end_omega[real])
    factor = -1.0 / np.append(at_phase[true].real, end_values[real].real)
    angle = np.angle(at_gain)
    on_boundary = np.abs(angle) < 1e-9
    factor = np.append(factor, np.ones(int(on_boundary.sum())))
    places = np.append(phase_crossings, gain_crossings[on_boundary])
    up, down = factor >= 1.0, factor <= 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        delay = np.where(gain_crossings > 0.0, np.mod(angle, 2.0 * math.pi) / gain_crossings, math.inf)
    distance, disk_at = _lowest(L, _distance, omega, values, end_omega, end_values)
    least, peak_at = _lowest(L, _return_difference, omega, values, end_omega, end_values)
    return Margins(
        *_best(factor[up], places[up], math.inf), *_best(-factor[down], places[down], -0.0, -1.0),
        *_best(np.degrees(np.abs(angle)), gain_crossings, 180.0), *_best(delay, gain_crossings, math.inf),
        distance, disk_at, gain_crossings, np.sort(phase_crossings), 1.0 / least if least > 0.0 else math.inf, peak_at,
    )


def measured_margins(L: Curve, omega: FloatArray, values: ComplexArray) -> Margins:
    """Return the margins of a curve that is known between its first and its last frequency [rad/s] alone."""
    return _measured(L, omega, values, np.zeros(0), np.zeros(0, complex))


def _best(values: FloatArray, places: FloatArray, none: float, sign: float = 1.0) -> tuple[float, float]:
    """Return sign times the smallest value and where it is."""
    if not values.size:
        return abs(none), math.nan
    k = int(np.argmin(values))
    return sign * float(values[k]), float(places[k])


def _log(values: ComplexArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.abs(values)))


def _imaginary(values: ComplexArray) -> FloatArray:
    """Return Im L, zero where it is only rounding."""
    with np.errstate(invalid="ignore"):
        return np.where(np.abs(values.imag) <= _ROUNDING * np.abs(values), 0.0, values.imag)


def _crossings(f: Callable[[FloatArray], FloatArray], omega: FloatArray, values: FloatArray) -> FloatArray:
    """Return all sign changes of f between grid points, by bisection of all brackets at once."""
    known = np.flatnonzero(~np.isnan(values) & (values != 0.0))
    sign = np.sign(values[known])
    k = np.flatnonzero(sign[1:] != sign[:-1])
    a, b, left = omega[known[k]], omega[known[k + 1]], sign[k]
    for _ in range(80):
        if not k.size or np.all(b - a <= 4e-16 * b):
            break
        middle = 0.5 * (a + b)
        same = np.sign(f(middle)) == left
        a, b = np.where(same, middle, a), np.where(same, b, middle)
    return np.asarray(0.5 * (a + b))


def _lowest(
    L: Curve, of: Callable[[ComplexArray], FloatArray], omega: FloatArray, values: ComplexArray, end_omega: FloatArray,
    end_values: ComplexArray,
) -> tuple[float, float]:
    """Return the minimum of a function of L and where it is, the lowest grid minima polished by golden section."""
    distance = of(values)
    inner = np.flatnonzero((distance[1:-1] <= distance[:-2]) & (distance[1:-1] <= distance[2:])) + 1
    inner = inner[distance[inner] < 1.5 * distance.min()]
    a, b = omega[inner - 1], omega[inner + 1]
    a, b = _bracketed(lambda w: of(L(w)), a, b)
    places = np.concatenate([0.5 * (a + b), omega, end_omega])
    distance = np.concatenate([of(L(0.5 * (a + b))), distance, of(end_values)])
    k = int(np.argmin(distance))
    return float(distance[k]), float(places[k])


def _bracketed(
    f: Callable[[FloatArray], FloatArray], a: FloatArray, b: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return closer brackets of minima by golden section, all at once; one new point of each a step."""
    ratio = 0.5 * (math.sqrt(5.0) - 1.0)
    if not a.size:
        return a, b
    c, d = b - ratio * (b - a), a + ratio * (b - a)
    at_c, at_d = np.split(f(np.concatenate([c, d])), 2)
    for _ in range(50):
        lower = at_c < at_d
        a, b = np.where(lower, a, c), np.where(lower, d, b)
        if np.all(b - a <= _NARROW * b):
            break
        new = np.where(lower, b - ratio * (b - a), a + ratio * (b - a))
        at_new = f(new)
        c, d = np.where(lower, new, d), np.where(lower, c, new)
        at_c, at_d = np.where(lower, at_new, at_d), np.where(lower, at_c, at_new)
    return a, b


def _return_difference(values: ComplexArray) -> FloatArray:
    """Return |1 + L|; infinite where L is."""
    with np.errstate(all="ignore"):
        return np.where(np.isfinite(values), np.abs(1.0 + values), math.inf)


def _distance(values: ComplexArray) -> FloatArray:
    """Return |2 (1 + L)/(1 - L)|."""
    with np.errstate(all="ignore"):
        distance = np.abs(2.0 * (1.0 + values) / (1.0 - values))
    return np.where(np.isfinite(values), distance, 2.0)
