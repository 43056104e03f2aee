"""Loops of which the plant is a measured frequency response: margins with their standard deviations.

Between the lines each channel of the plant is interpolated, its log magnitude and its unwrapped phase linearly in the
log of the frequency; the law is evaluated at every frequency. Data tell nothing about poles, so that stability rests on
the number of unstable poles that the plant is said to have: it is counted from how often 1 + det turns around,

    Z = P - turn / pi + k / 2,      k integrators, seen in the slope at the first lines,

which needs a loop that is small at the last line. A sampled law sees a response of continuous time through its hold,
with what folds back from above the Nyquist frequency as far as the lines reach; what they do not reach is estimated
from the last one, and said where it matters.

Standard deviations are to first order, from the sigma of the lines, sqrt(E |error|^2), half of it along the gain and
half across; a crossing moves with its gain, and the phase there with it. What interpolation may be off is part of them
(`flexctl.frequency.guessed`), and said where it matters; so is how far apart the lines are that cannot be told from
those at -180 deg.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from ..abilities import KnowsPoles, sample_time_of
from ..errors import AccuracyWarning, DefinitionError, caution, require, unknown
from ..linear import FirstOrder, SecondOrder
from ..linear.decay import STABLE, UNSTABLE
from ..model import ComplexArray, FloatArray, FrequencyModel, Signal, index_of, names
from .evaluate import axis, on_axis
from .grids import known_poles
from .guessed import off_between
from .margins import Margins, measured_margins

COARSE = 2.0
"""Turn [rad] between neighbouring lines from which on their order around the circle is a guess."""
BASE = 4000
"""Points between the first and the last line, besides the lines, at which crossings are looked for."""
FOLDED = 0.02
"""Part of the plant that may fold back without a word."""
SURE = 0.15
"""By how much a slope in decades a decade, or a count of poles, may be off a whole number to be taken for it."""
NEIGHBOURS = 4
"""Lines on either side from which slopes are estimated."""
GUESSED = 0.02
"""Part of a margin that interpolation between the lines may be off without a word."""
SAME, APART = 3.0, 2
"""Standard deviations within which a line cannot be told from one at -180 deg; lines beyond that end the search."""
MARGINS = ("gain_margin", "gain_reduction", "phase_margin_deg", "delay_margin", "disk_margin", "sensitivity_peak")
"""Margins that have a standard deviation."""


@dataclass(frozen=True, eq=False)
class MeasuredMargins(Margins):
    """Margins of a loop with a measured plant.

    Attributes
    ----------
    sigma : mapping
        Standard deviation of gain_margin, gain_reduction, phase_margin_deg, delay_margin, disk_margin and
        sensitivity_peak, in their units; NaN where the response has none.
    unstable_poles : int
        How many unstable poles plant and law have together, the plant's as given.
    closed_loop_unstable : int or None
        How many the closed loop then has; None where the lines do not determine it.
    why_unknown : str
        Why they do not.
    band : (low, high)
        First and last line [rad/s]: nothing is known outside.

    Examples
    --------
    >>> w = np.geomspace(0.1, 100.0, 400)
    >>> H = (1.0 / (1j * w * (1j * w + 1.0)))[None, None]
    >>> data = fx.FrequencyResponse(w, H, (fx.Signal("u"),), (fx.Signal("y"),), sigma=0.01 * abs(H))
    >>> law = fx.LinearLaw(0.0, ("y",), ("u",), Dy=[[-1.0]])
    >>> found = fx.margins(fx.loop_gain(data, law), unstable_poles=0)
    >>> print(f"{found.phase_margin_deg:.1f} +- {found.sigma['phase_margin_deg']:.1f} deg, stable: {found.stable}")
    51.8 +- 0.4 deg, stable: True
    """

    sigma: Mapping[str, float] = field(default_factory=dict)
    unstable_poles: int = 0
    closed_loop_unstable: int | None = None
    why_unknown: str = ""
    band: tuple[float, float] = (0.0, math.inf)

    @property
    def stable(self) -> bool | None:
        """Whether the closed loop is stable; None where the lines do not determine it."""
        return None if self.closed_loop_unstable is None else self.closed_loop_unstable == 0

    @property
    def state(self) -> str | None:
        """The same in a word; what is marginal a measurement cannot tell."""
        return {True: STABLE, False: UNSTABLE, None: None}[self.stable]

    @property
    def outside(self) -> str:
        """Between which lines a crossing is missing; empty where every margin has one."""
        crossings = {"-180 deg": self.gain_margin_frequency, "0 dB": self.phase_margin_frequency}
        missing = [word for word, omega in crossings.items() if math.isnan(omega)]
        low, high = self.band
        return f"no crossing of {' or of '.join(missing)} from {low:.4g} to {high:.4g} rad/s, the first and the last " \
               "line: nothing is known outside" if missing else ""

    def _lines(self) -> list[str]:
        lines = super()._lines()
        told = [self.sigma.get(key, math.nan) for key in MARGINS]
        lines = [f"{line}  +- {s:.2g}" if math.isfinite(s) else line for line, s in zip(lines, told, strict=True)]
        return [*lines, *([self.outside] if self.outside else [])]

    def _verdict(self) -> str:
        return super()._verdict() if self.stable is not None else f"not known: {self.why_unknown}"


@dataclass(frozen=True, eq=False)
class MeasuredLoop:
    """The loop gain of a measured plant and a law; made by `loop_gain`.

    Attributes
    ----------
    plant : FrequencyResponse
        The data.
    law : FrequencyModel
        The law.
    sign : float
        -1 for a law that acts with its own sign, 1 for one that acts on the error.
    dt : float
        Control period [s], 0 for a continuous law.
    """

    plant: Any
    law: FrequencyModel
    inputs: tuple[Signal, ...]
    outputs: tuple[Signal, ...]
    sign: float
    dt: float

    @property
    def folds(self) -> bool:
        """Whether the law samples a response that is of continuous time."""
        own = sample_time_of(self.plant)
        return self.dt > 0 and abs(own - self.dt) > 1e-9 * self.dt

    def lines(self) -> tuple[ComplexArray, FloatArray | None]:
        """Return the channels that close the loop, (reads, drives, lines), and their sigma.

        Of continuous time where the law samples them: without the hold of data that are of another sample time.
        """
        reads = [index_of("plant output", name, self.plant.outputs) for name in names(self.law.inputs)]
        drives = [index_of("plant input", name, self.plant.inputs) for name in names(self.law.outputs)]
        own = sample_time_of(self.plant)
        factor = 1.0 / hold(np.asarray(self.plant.omega, float), own) if self.folds and own else np.ones(1)
        H = np.asarray(self.plant.response)[np.ix_(reads, drives)] * factor
        sigma = self.plant.sigma
        known = sigma is not None and bool(np.isfinite(sigma).all())
        return H, np.asarray(sigma)[np.ix_(reads, drives)] * np.abs(factor) if known else None


def measured_loop(plant: Any, law: FrequencyModel, sign: float) -> MeasuredLoop:
    """Return the loop of data and a law, checked."""
    for word, wanted, known in (
        ("output", names(law.inputs), names(plant.outputs)), ("input", names(law.outputs), names(plant.inputs)),
    ):
        for name in wanted:
            if name not in known:
                raise unknown(f"plant {word}", name, known)
    require(plant.omega.size > 2, f"{plant.omega.size} lines are too few for margins")
    require(bool(np.isfinite(plant.response).all()), "the response has lines that are not finite; leave them out")
    dt, own = sample_time_of(law), sample_time_of(plant)
    if dt == 0 and own > 0:
        raise DefinitionError(
            f"the response is of a plant sampled every {own:g} s, the law is continuous: give the law this sample_time"
        )
    nyquist = math.pi / dt if dt else math.inf
    below = bool(plant.omega[0] < nyquist)
    require(below, f"the first line lies above the Nyquist frequency of the law, {nyquist:g} rad/s")
    drives = tuple(law.outputs)
    return MeasuredLoop(plant, law, drives, drives, sign, dt)


def alone(gains: Any) -> MeasuredLoop:
    """Return measured loop gains as a loop."""
    size = len(gains.inputs)
    require(size == len(gains.outputs) > 0, f"{gains!r} is not square: margins need a loop gain (flexctl.loop_gain)")
    dt = sample_time_of(gains)
    nothing = np.zeros((0, size))
    one = FirstOrder(np.zeros((0, 0)), nothing, nothing.T, np.eye(size), (), gains.outputs, gains.inputs, dt)
    return measured_loop(gains, one, 1.0)


def hold(omega: FloatArray, dt: float) -> ComplexArray:
    """Return what a hold of dt [s] does at frequencies [rad/s]: (1 - exp(-s dt)) / (s dt)."""
    s = np.where(omega != 0.0, 1j * omega, 1.0)
    return np.asarray(np.where(omega != 0.0, (1.0 - np.exp(-s * dt)) / (s * dt), 1.0), complex)


def margins_of(
    loop: MeasuredLoop, channel: str | None, unstable_poles: int | None, lo: float | None, hi: float | None
) -> MeasuredMargins:
    """Return the margins of one channel; see `flexctl.margins`."""
    if unstable_poles is None:
        raise DefinitionError(
            "a measured response does not show how many unstable poles the plant has: give unstable_poles (at the "
            "command line --unstable), 0 for a plant whose motion does not grow; integrators and rigid modes do not "
            "count"
        )
    whole = isinstance(unstable_poles, int | np.integer) and not isinstance(unstable_poles, bool)
    require(whole and unstable_poles >= 0, f"unstable_poles = {unstable_poles!r} is not a number of poles")
    at = _position(loop, channel)
    omega, low, high = _band(loop, lo, hi)
    curve = _Curve(loop, at, omega)
    nyquist = math.pi / loop.dt if loop.dt else math.inf
    grid = np.unique(np.concatenate([omega[(omega >= low) & (omega <= high)], np.geomspace(low, high, BASE)]))
    grid = grid[(grid >= low) & (grid <= min(high, nyquist))]
    base = measured_margins(curve, grid, curve(grid))
    curve.tell_folded(np.array([getattr(base, f.name) for f in fields(base) if f.name.endswith("_frequency")]))
    poles = _unstable_of_law(loop.law) + int(unstable_poles)
    curve.tell_guessed(base)
    outside, why = _count(curve, grid, poles)
    kept = {f.name: getattr(base, f.name) for f in fields(base)}
    return MeasuredMargins(
        **kept, sigma=curve.deviations(base), unstable_poles=poles, closed_loop_unstable=outside, why_unknown=why,
        band=(float(low), float(min(high, nyquist))),
    )


def _position(loop: MeasuredLoop, channel: str | None) -> int:
    if channel is None and len(loop.inputs) > 1:
        raise DefinitionError(f"{len(loop.inputs)} loops: name the channel to break, one of {names(loop.inputs)}")
    return 0 if channel is None else index_of("channel", channel, loop.inputs)


def _band(loop: MeasuredLoop, lo: float | None, hi: float | None) -> tuple[FloatArray, float, float]:
    omega = np.asarray(loop.plant.omega, float)
    omega = omega[omega > 0.0]
    low, high = (float(omega[0]) if lo is None else float(lo)), (float(omega[-1]) if hi is None else float(hi))
    require(omega[0] <= low < high <= omega[-1], f"lo = {low:g}, hi = {high:g} rad/s: the lines reach from "
            f"{omega[0]:g} to {omega[-1]:g} rad/s")
    return omega, low, high


class _Curve:
    """omega -> L of one loop, the others closed; and how far an error of the lines moves it."""

    def __init__(self, loop: MeasuredLoop, at: int, omega: FloatArray) -> None:
        self.loop, self.at = loop, at
        H, self.sigma = loop.lines()
        used = np.asarray(loop.plant.omega, float) > 0.0
        H = H[:, :, used]
        self.sigma = None if self.sigma is None else self.sigma[:, :, used]
        self.place = np.log(omega)
        with np.errstate(divide="ignore"):
            self.size = np.log(np.maximum(np.abs(H), 1e-300))
        self.phase = np.unwrap(np.angle(H), axis=2)
        self.omega = omega
        self.evaluate = on_axis(loop.law)
        noise = None if self.sigma is None else self.sigma / np.maximum(np.abs(H), 1e-300)
        self.off = off_between(self.place, self.size + 1j * self.phase, noise)
        self._tell_coarse(H)

    def _tell_coarse(self, H: ComplexArray) -> None:
        turn = np.abs(np.angle(H[:, :, 1:] * H[:, :, :-1].conj())).max(axis=(0, 1))
        wide = np.flatnonzero(turn > COARSE)
        if wide.size:
            k = int(wide[np.argmax(turn[wide])])
            caution(
                f"the phase turns by {math.degrees(turn[k]):.0f} deg between the lines at {self.omega[k]:.5g} and "
                f"{self.omega[k + 1]:.5g} rad/s: to which side is a guess; measure closer lines there",
                AccuracyWarning,
            )

    def channels(self, omega: FloatArray) -> ComplexArray:
        """Return the channels of the plant as the law sees them, (frequencies, reads, drives)."""
        dt = self.loop.dt
        if not self.loop.folds or not omega.size:
            return self._between(omega)
        found = self._between(omega) * hold(omega, dt)[:, None, None]
        turn, k = 2.0 * math.pi / dt, 1
        while k * turn - omega.max() <= self.omega[-1]:
            for at, negative in ((k * turn - omega, True), (k * turn + omega, False)):
                there = (at >= self.omega[0]) & (at <= self.omega[-1])
                term = self._between(at[there]) * hold(at[there], dt)[:, None, None]
                found[there] += term.conj() if negative else term
            k += 1
        return found

    def tell_folded(self, omega: FloatArray) -> None:
        """Warn where the lines end too low to tell what folds back at frequencies where a margin is taken."""
        omega = omega[np.isfinite(omega) & (omega > 0.0)]
        if not self.loop.folds or not omega.size:
            return
        turn = 2.0 * math.pi / self.loop.dt
        first = np.ceil((self.omega[-1] - omega) / turn) * turn + omega  # the first frequency that is not there
        first = np.minimum(first, np.ceil((self.omega[-1] + omega) / turn) * turn - omega)
        last = np.abs(self._between(self.omega[-1:]))[0]
        missing = last * np.abs(hold(first, self.loop.dt))[:, None, None]
        # of a plant that falls as slowly as its rates do, all that follows is about twice the first again
        part = 3.0 * float(np.max(missing / np.abs(self.channels(omega))))
        if part > FOLDED:
            caution(
                f"the law acts every {self.loop.dt:g} s and the lines end at {self.omega[-1]:.4g} rad/s: what folds "
                f"back from above may be {part:.1%} of the plant where a margin is taken; measure higher, or the "
                "sampled response itself", AccuracyWarning,
            )

    def _between(self, omega: FloatArray) -> ComplexArray:
        """Return the interpolated lines, (frequencies, reads, drives)."""
        x = np.log(omega)
        shape = (*self.size.shape[:2], omega.size)
        H = np.empty(shape, complex)
        for i in range(shape[0]):
            for j in range(shape[1]):
                size, turn = (np.interp(x, self.place, part[i, j]) for part in (self.size, self.phase))
                H[i, j] = np.exp(size + 1j * turn)
        return np.moveaxis(H, 2, 0)

    def matrices(self, omega: FloatArray) -> tuple[ComplexArray, ComplexArray]:
        """Return law and loop gain, (frequencies, drives, ..)."""
        F = self.loop.sign * np.moveaxis(self.evaluate(axis(omega)), 2, 0)
        return F, F @ self.channels(omega)

    def __call__(self, omega: FloatArray) -> ComplexArray:
        _, L = self.matrices(omega)
        if L.shape[1] == 1:
            return np.asarray(L[:, 0, 0])
        with np.errstate(all="ignore"):
            return np.asarray(1.0 / np.linalg.inv(np.eye(L.shape[1]) + L)[:, self.at, self.at] - 1.0)

    def determinant(self, omega: FloatArray) -> ComplexArray:
        """Return det(I + L)."""
        _, L = self.matrices(omega)
        return np.asarray(np.linalg.det(np.eye(L.shape[1]) + L))

    def deviation(self, omega: float, noisy: bool = True) -> float:
        """Return the standard deviation of L, sqrt(E |error|^2), from noise and interpolation, or from that alone.

        With noise NaN where the sigma of the lines is not known.
        """
        w = np.array([omega])
        F, L = self.matrices(w)
        x = math.log(omega)
        # at a line itself, where the peaks of what is interpolated are, either side counts
        k = np.searchsorted(self.place, [x - 1e-9, x + 1e-9]) - 1
        spread = self.off[:, :, np.clip(k, 0, self.off.shape[2] - 1)].max(axis=2) * np.abs(self._between(w)[0])
        if noisy:
            if self.sigma is None:
                return math.nan
            noise = np.array([[np.interp(x, self.place, row) for row in rows] for rows in self.sigma])
            spread = np.hypot(noise, spread)
        if self.loop.folds:
            spread = spread * abs(hold(w, self.loop.dt)[0])
        S = np.linalg.inv(np.eye(L.shape[1]) + L[0])
        left, right = S[self.at] @ F[0], S[:, self.at]  # d(1/S_ii) = (S dL S)_ii / S_ii^2
        parts = np.abs(left[:, None] * right[None, :]) * spread
        return float(np.sqrt(np.sum(parts**2)) / abs(S[self.at, self.at]) ** 2)

    def slopes(self, omega: float) -> tuple[float, float]:
        """Return d ln|L| / d omega and d arg L / d omega, from some lines around."""
        k = int(np.clip(np.searchsorted(self.omega, omega), NEIGHBOURS, max(NEIGHBOURS, self.omega.size - NEIGHBOURS)))
        some = self.omega[max(k - NEIGHBOURS, 0) : k + NEIGHBOURS]
        L = self(some)
        x = some - some.mean()
        values = np.log(np.abs(L)), np.unwrap(np.angle(L))
        first, second = (float(x @ (v - v.mean()) / (x @ x)) for v in values)
        return first, second

    def deviations(self, found: Margins, noisy: bool = True) -> dict[str, float]:
        """Return the standard deviation of every margin, or what interpolation alone may change."""
        out = dict.fromkeys(MARGINS, math.nan)
        if noisy and self.sigma is None:
            return out

        def part(omega: float) -> float:
            # the standard deviation of ln|L|, which is that of its phase [rad] too
            L = complex(self(np.array([omega]))[0])
            return self.deviation(omega, noisy) / abs(L) / math.sqrt(2.0)

        for key in ("gain_margin", "gain_reduction"):
            w, k = getattr(found, f"{key}_frequency"), getattr(found, key)
            if math.isfinite(w):
                rho = part(w)
                size, turn = self.slopes(w)
                out[key] = k * rho * math.hypot(1.0, size / turn) if turn else math.inf
                if noisy:
                    out[key] = max(out[key], 0.5 * self._told_apart(w, k))
        at = (("phase_margin_deg", found.phase_margin_frequency), ("delay_margin", found.delay_margin_frequency))
        for key, w in at:
            if not math.isfinite(w):
                continue
            rho, (size, turn) = part(w), self.slopes(w)
            if key == "phase_margin_deg":
                out[key] = math.degrees(rho * math.hypot(1.0, turn / size)) if size else math.inf
            elif size:
                # delay = angle / omega at the crossing, which moves by -error / size
                out[key] = rho * math.hypot(1.0 / w, (turn / w - found.delay_margin / w) / size)
        if math.isfinite(found.disk_margin_frequency):
            L = complex(self(np.array([found.disk_margin_frequency]))[0])
            out["disk_margin"] = abs(4.0 / (1.0 - L) ** 2) * part(found.disk_margin_frequency) * abs(L)
        if math.isfinite(found.sensitivity_peak_frequency):
            L = complex(self(np.array([found.sensitivity_peak_frequency]))[0])
            out["sensitivity_peak"] = part(found.sensitivity_peak_frequency) * abs(L) / abs(1.0 + L) ** 2
        return out

    def _told_apart(self, omega: float, factor: float) -> float:
        """Return how far the factors 1/|L| reach of the lines around a crossing that may be the crossing too."""
        start, reach = int(np.searchsorted(self.omega, omega)), 0.0
        for lines in (range(start, self.omega.size), range(start - 1, -1, -1)):
            apart = 0
            for i in lines:
                L = complex(self(self.omega[i : i + 1])[0])
                if L.real >= 0.0 or abs(L.imag) > SAME * self.deviation(float(self.omega[i])) / math.sqrt(2.0):
                    apart += 1
                    if apart == APART:
                        break
                    continue
                apart, reach = 0, max(reach, abs(1.0 / abs(L) - factor))
        return reach

    def tell_guessed(self, found: Margins) -> None:
        """Warn of the margin that interpolation between the lines may change most, where that is more than a little."""
        offs = {key: off for key, off in self.deviations(found, noisy=False).items() if off > 0.0}  # NaN: there is none
        parts = {key: off / max(abs(getattr(found, key)), 1e-300) for key, off in offs.items()}
        key = max(parts, key=lambda k: parts[k], default="")
        if not key or parts[key] <= GUESSED:
            return
        word, at = key.removesuffix("_deg"), getattr(found, f"{key.removesuffix('_deg')}_frequency")
        k = int(np.clip(np.searchsorted(self.omega, at), 1, self.omega.size - 1))
        caution(
            f"the response is guessed between its lines at {self.omega[k - 1]:.5g} and {self.omega[k]:.5g} rad/s, "
            f"where the {word.replace('_', ' ')} is taken: it may be off by {min(parts[key], 1.0):.0%} for that; "
            "measure closer lines there, or fit a plant to them", AccuracyWarning,
        )


def _unstable_of_law(law: FrequencyModel) -> int:
    """Return the number of unstable poles of the law."""
    if isinstance(law, SecondOrder | FirstOrder):
        poles: Any = law.poles() if isinstance(law, FirstOrder) else law.first_order().poles()
        if sample_time_of(law):
            return int(np.sum(np.abs(poles) > 1.0 + 1e-9))
        return int(np.sum(poles.real > 1e-9 * np.abs(poles).max(initial=1.0)))
    known = known_poles(law) if isinstance(law, KnowsPoles) else None
    return 0 if known is None else int(np.sum(np.where(known.imag > 0, 2, 1)[known.real > 1e-9 * np.abs(known)]))


def _count(curve: _Curve, grid: FloatArray, poles: int) -> tuple[int | None, str]:
    """Return the number of unstable poles of the closed loop, or None and why it is not known."""
    f = curve.determinant(grid)
    last, nyquist = complex(f[-1]), math.pi / curve.loop.dt if curve.loop.dt else math.inf
    if abs(last - 1.0) >= 1.0 and grid[-1] < 0.999 * nyquist:
        return None, f"at the last line, {grid[-1]:.4g} rad/s, the loop gain is still {abs(last - 1.0):.2g}"
    turns = np.angle(f[1:] / f[:-1])
    if np.abs(turns).max(initial=0.0) > COARSE:
        j = int(np.abs(turns).argmax())
        return None, f"1 + L turns by {math.degrees(abs(turns[j])):.0f} deg at once near {grid[j]:.4g} rad/s"
    end = float(np.angle(last))
    # on from the last line the loop goes to zero; at the Nyquist frequency it is real
    turn = float(turns.sum()) - (end if grid[-1] < 0.999 * nyquist else end - math.pi * round(end / math.pi))
    slope, k = _integrators(curve, grid, f)
    if k is None:
        return None, f"the first lines fall by {-slope:.2f} decades a decade, as no integrators do; measure lower"
    counted = poles - turn / math.pi + 0.5 * k
    # the first line is not at zero: what is left of the turn must be small
    count = round(counted)
    if abs(counted - count) > SURE or count < 0:
        return None, f"the count is {counted:.2f}: the lines start too high or end too low, or unstable_poles is wrong"
    return count, ""


def _integrators(curve: _Curve, grid: FloatArray, f: ComplexArray) -> tuple[float, int | None]:
    """Return the slope of the first lines and how many integrators it is of; none where the loop is small there."""
    first = grid[: max(3, int(np.searchsorted(grid, 1.6 * grid[0])))]
    size = np.log(np.abs(f[: first.size]))
    x = np.log(first)
    slope = float((x - x.mean()) @ (size - size.mean()) / ((x - x.mean()) @ (x - x.mean())))
    if abs(complex(f[0]) - 1.0) < 1.0:
        return slope, 0
    k = round(-slope)
    return slope, k if abs(-slope - k) < SURE and k >= 0 else None


