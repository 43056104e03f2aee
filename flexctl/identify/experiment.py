"""Experiments: what to drive an arm with so that it can be identified.

    multisine   many frequencies at once, their phases chosen so that the peak is low against the rms (crest factor)
    doublets    pulses of either sign, for validation and for friction

The phases of a multisine begin at random; clipping the signal and restoring the magnitudes, over and over, lowers the
crest factor (Van der Ouderaa 1988). Below 1.5 it is usual; a random one has 3 to 4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ConvergenceError, require
from ..model import FloatArray, Signal
from ..motion.signals import PiecewiseConstant
from ..support.checks import positive
from ..support.tabular import Column, Tabular

CREST = 1.5
ROUNDS = 2000


@dataclass(frozen=True, eq=False)
class Excitation(Tabular):
    """An input signal for an experiment, held between samples.

    Attributes
    ----------
    t, u : ndarray
        Times [s] and values.
    signal : Signal
        Name and unit.
    period : int
        Samples of a period; 0 if it has none.
    lines_hz : ndarray
        Frequencies that it holds [Hz]; empty for pulses.
    crest : float
        Largest value divided by the rms.

    Examples
    --------
    >>> found = fx.identify.multisine("joint1_torque [N m]", (0.5, 60.0), limit=0.1, period=4.096, dt=1e-3)
    >>> print(found.crest < 1.5, abs(found.u).max().round(6))
    True 0.1
    """

    t: FloatArray
    u: FloatArray
    signal: Signal
    period: int
    lines_hz: FloatArray
    crest: float
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        band = (
            f", {self.lines_hz.size} lines, {self.lines_hz[0]:.4g} to {self.lines_hz[-1]:.4g} Hz"
            if self.lines_hz.size
            else ""
        )
        return f"Excitation({self.signal.name}, {self.t[-1] + self.dt:.6g} s{band}, crest factor {self.crest:.3f})"

    @property
    def dt(self) -> float:
        """Sample time [s]."""
        return float(self.t[1] - self.t[0])

    def as_input(self) -> PiecewiseConstant:
        """Return the signal for `flexctl.simulate`, held between samples."""
        return held(self.t, self.u)

    _index = "time"

    def _table(self) -> list[Column]:
        return [Column("time", self.t, "s"), Column(self.signal.name, self.u, self.signal.unit or "1")]

    def _about(self) -> Mapping[str, Any]:
        return {**self.provenance, "period_samples": self.period, "crest_factor": self.crest, "lines_hz": self.lines_hz}


def held(t: FloatArray, u: FloatArray) -> PiecewiseConstant:
    """Return samples as a signal that is held between them."""
    changes = np.flatnonzero(np.diff(u)) + 1
    return PiecewiseConstant(tuple(t[changes].tolist()), (float(u[0]), *u[changes].tolist()))


def multisine(
    signal: str,
    band: Sequence[float],
    *,
    limit: float,
    period: float,
    dt: float = 1e-3,
    periods: int = 5,
    crest: float = CREST,
    shape: Sequence[tuple[float, float]] = (),
    seed: int = 0,
) -> Excitation:
    """Return a multisine: all harmonics of its period in a band.

    Parameters
    ----------
    signal : str
        "name [unit]" of the input.
    band : (low, high)
        Frequencies [Hz].
    limit : float
        Largest value, in the unit of the signal.
    period : float
        Period [s]; a whole number of samples. Lines are 1 / period apart: several should lie in the narrowest peak.
    dt : float
        Sample time [s].
    periods : int
        How many; the first is lost to the transient.
    crest : float
        Largest crest factor; `ConvergenceError` where it is not reached.
    shape : sequence of (frequency [Hz], amplitude)
        Relative amplitudes, linear in between (logarithms); equal by default. Less above the first mode keeps the arm
        calm.
    seed : int
        Of the first phases.

    Examples
    --------
    >>> found = fx.identify.multisine("torque [N m]", (1.0, 20.0), limit=0.5, period=2.0, dt=1e-2)
    >>> found.lines_hz.size, found.t.size
    (39, 1000)
    """
    from .record import parsed_head

    named, factor = parsed_head(signal)
    require(factor == 1.0, f'"{signal}": give the limit in SI units, [{named.unit}]')
    dt, period, limit = positive("dt", dt, "s"), positive("period", period, "s"), positive("limit", limit, named.unit)
    n = round(period / dt)
    require(
        abs(n * dt - period) <= 1e-9 * period, f"period = {period:g} s is not a whole number of samples of {dt:g} s"
    )
    require(
        isinstance(periods, int) and periods >= 2,
        f"periods = {periods!r} must be 2 or more: the first is the transient",
    )
    low, high = (positive(f"band {word}", x, "Hz") for word, x in zip(("low", "high"), band, strict=True))
    nyquist = 0.5 / dt
    require(
        low < high < nyquist, f"band {low:g} to {high:g} Hz must ascend and end below {nyquist:g} Hz, half the sampling"
    )
    f = np.asarray(np.fft.rfftfreq(n, dt), float)
    lines = np.flatnonzero((f >= low * (1 - 1e-12)) & (f <= high * (1 + 1e-12)) & (f > 0.0))
    require(
        lines.size >= 3,
        f"a period of {period:g} s has {lines.size} lines from {low:g} to {high:g} Hz; it needs 3 at least: "
        "make the period longer or the band wider",
    )
    size = _amplitudes(f[lines], shape)
    best, value = _flattened(n, lines, size, crest, seed)
    if value > crest:
        raise ConvergenceError(
            f"the crest factor is {value:.3f}, above {crest:g}: with {lines.size} lines and these amplitudes it "
            "stays so; allow "
            "more (crest), try another seed, or take more lines"
        )
    u = np.tile(best * (limit / np.abs(best).max()), periods)
    note = {
        "signal": named.name,
        "seed": seed,
        "band_hz": [low, high],
        "limit": limit,
        "periods": periods,
        "kind": "multisine",
    }
    return Excitation(np.asarray(np.arange(u.size) * dt, float), u, named, n, f[lines], value, note)


def _amplitudes(f: FloatArray, shape: Sequence[tuple[float, float]]) -> FloatArray:
    if not shape:
        return np.ones(f.size)
    points = np.array(sorted(tuple(p) for p in shape), float)
    fine = points.ndim == 2 and points.shape[1] == 2 and bool((points > 0.0).all())
    require(fine, "shape must be pairs of frequency [Hz] and amplitude, both positive")
    return np.asarray(np.exp(np.interp(np.log(f), np.log(points[:, 0]), np.log(points[:, 1]))))


def _flattened(n: int, lines: Any, size: FloatArray, wanted: float, seed: int) -> tuple[FloatArray, float]:
    """Return one period and its crest factor: clipped and restored from several beginnings."""
    best, least = np.zeros(n), np.inf
    for attempt in range(4):
        phase = np.random.default_rng([seed, attempt]).uniform(0.0, 2.0 * np.pi, lines.size)
        level = 0.7
        for round_ in range(ROUNDS):
            spectrum = np.zeros(n // 2 + 1, complex)
            spectrum[lines] = size * np.exp(1j * phase)
            u = np.fft.irfft(spectrum, n)
            peak = np.abs(u).max()
            value = float(peak / np.sqrt(np.mean(u**2)))
            if value < least:
                best, least = u, value
            if least <= min(wanted, 1.42) or (round_ > 400 and least <= wanted):
                return best, least
            level = min(0.97, level + 2e-4)
            phase = np.angle(np.fft.rfft(np.clip(u, -level * peak, level * peak))[lines])
    return best, least


def doublets(
    signal: str,
    amplitude: float,
    *,
    width: float = 0.3,
    every: float = 2.0,
    count: int = 3,
    dt: float = 1e-3,
    growth: float = 1.0,
) -> Excitation:
    """Return pulses of either sign, +amplitude then -amplitude, one after the other.

    Parameters
    ----------
    signal : str
        "name [unit]" of the input.
    amplitude : float
        Of the first, in the unit of the signal.
    width : float
        Length of each half [s].
    every : float
        From one to the next [s].
    count : int
        How many.
    dt : float
        Sample time [s].
    growth : float
        Factor from one to the next.

    Examples
    --------
    >>> print(fx.identify.doublets("torque [N m]", 0.1, count=2).t.size)
    4000
    """
    from .record import parsed_head

    named, factor = parsed_head(signal)
    require(factor == 1.0, f'"{signal}": give the amplitude in SI units, [{named.unit}]')
    for name, value, unit in (
        ("amplitude", amplitude, named.unit),
        ("width", width, "s"),
        ("dt", dt, "s"),
        ("growth", growth, ""),
    ):
        positive(name, value, unit)
    require(every >= 2 * width, f"every = {every:g} s is shorter than a doublet of twice {width:g} s")
    require(isinstance(count, int) and count >= 1, f"count = {count!r} must be 1 or more")
    n, half = round(every / dt), round(width / dt)
    require(half >= 1, f"width = {width:g} s is shorter than a sample of {dt:g} s")
    u = np.zeros(n * count)
    for k in range(count):
        level = amplitude * growth**k
        u[k * n : k * n + half] = level
        u[k * n + half : k * n + 2 * half] = -level
    crest = float(np.abs(u).max() / np.sqrt(np.mean(u**2)))
    note = {"signal": named.name, "kind": "doublets", "amplitude": amplitude, "width_s": width, "growth": growth}
    return Excitation(np.asarray(np.arange(u.size) * dt, float), u, named, 0, np.zeros(0), crest, note)


def read_excitation(path: str | Path, name: str, unit: str) -> Excitation:
    """Return an excitation from a .csv, .npz, .mat or .json file: a column of time and one for the input.

    Examples
    --------
    >>> made = fx.identify.doublets("torque [N m]", 0.1).save("doublets.csv")
    >>> fx.identify.read_excitation(made, "torque", "N m").t.size
    6000
    """
    from .reading import TIMES, signals_of
    from .record import parsed_head

    columns, stated, about = signals_of(path)
    time = next((key for key in columns if key in TIMES), None)
    require(time is not None, f'{path}: no column is the time; call it "time [s]"')
    others = [key for key in columns if key != time]
    chosen = name if name in others else others[0] if len(others) == 1 else ""
    require(bool(chosen), f'{path}: no column is called "{name}"; there are {", ".join(others)}')
    named, factor = parsed_head(f"{chosen} [{stated[chosen]}]" if chosen in stated else chosen)
    same = named.unit == unit
    require(same, f'{path}: "{chosen}" is in {stated.get(chosen)}, the input in {unit}')
    t, u = columns[str(time)] * parsed_head(f"t [{stated.get(str(time), 's')}]")[1], factor * columns[chosen]
    steps = np.diff(t)
    even = t.size > 1 and bool(np.all(np.abs(steps - np.median(steps)) <= 1e-3 * np.median(steps)))
    require(even, f"{path}: times are not equally spaced")
    require(bool(np.isfinite(u).all()), f"{path}: some values are not numbers")
    crest = float(np.abs(u).max() / max(np.sqrt(np.mean(u**2)), 1e-300))
    return Excitation(
        t - t[0], u, Signal(name, unit), int(about.get("period_samples", 0)), np.zeros(0), crest, {"file": str(path)}
    )
