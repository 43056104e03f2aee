"""A measured record: inputs and outputs sampled at equal intervals, with names and units.

What cannot be used is refused when a record is made: values that are not numbers, unequal sampling, inputs that are
zero, outputs that do not move. What can be used with care (saturation, coarse quantisation) is warned of, see
`flexctl.identify.quality`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from ..errors import DefinitionError, require, unknown
from ..model import FloatArray, Signal, names
from ..support.checks import real_array
from ..support.tabular import Column, Tabular, plain
from ..support.units import known_units, si_unit
from . import quality

JITTER = 1e-3
"""Part of the sample time by which sampling intervals may differ: what is left of times that were written with few
digits."""
SHORTEST = 16
"""Samples of the shortest record."""
ALIKE = 0.5
"""Correlation of an input with itself a period later from which on it is said to repeat but for noise."""


@dataclass(frozen=True, eq=False)
class Record(Tabular):
    """Inputs and outputs of a machine at equal intervals, in SI units.

    Attributes
    ----------
    t : ndarray
        Times [s], nt.
    u, y, r : ndarray
        Inputs, outputs and references (what a loop was asked for), nt rows each.
    inputs, outputs, references : tuple of Signal
        Names and units of their columns.
    period : int
        Samples of a period of the inputs (of the references in closed loop), 0 where they are not periodic.
    held : bool
        Whether inputs are held between samples, as a digital controller does; else they are taken as linear.
    provenance : mapping
        Where the data come from.

    Examples
    --------
    >>> t = np.arange(0.0, 1.0, 1e-2)
    >>> found = fx.identify.record(1e-2, {"torque [N m]": np.sin(9 * t)}, {"joint1_angle [deg]": np.sin(9 * t - 0.3)})
    >>> found
    Record(100 samples of 0.01 s, ['torque'] -> ['joint1_angle'], not periodic)
    >>> print(found.outputs[0].unit, abs(found["joint1_angle"]).max().round(4))
    rad 0.0175
    """

    t: FloatArray
    u: FloatArray
    y: FloatArray
    inputs: tuple[Signal, ...]
    outputs: tuple[Signal, ...]
    r: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    references: tuple[Signal, ...] = ()
    period: int = 0
    held: bool = True
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for key in ("t", "u", "y", "r"):
            object.__setattr__(self, key, real_array(key, getattr(self, key)))
        require(self.t.ndim == 1, f"t has shape {self.t.shape}; give a row of times [s]")
        if not self.references:
            object.__setattr__(self, "r", np.zeros((self.t.size, 0)))
        _check_times(self.t)
        for what, block, signals in (
            ("input", self.u, self.inputs),
            ("output", self.y, self.outputs),
            ("reference", self.r, self.references),
        ):
            shape = (self.t.size, len(signals))
            require(block.shape == shape, f"{what}s have shape {block.shape}; times and names ask for {shape}")
            for k, signal in enumerate(signals):
                quality.check_numbers(what, signal.name, block[:, k], self.t)
        every = [*names(self.inputs), *names(self.outputs), *names(self.references)]
        twice = sorted({name for name in every if every.count(name) > 1})
        require(not twice, f"two signals of a record have one name: {', '.join(twice)}")
        require(bool(self.inputs) and bool(self.outputs), "a record needs an input and an output at least; name them")
        for k, signal in enumerate(self.inputs):
            quality.check_input(signal, self.u[:, k])
        for k, signal in enumerate(self.outputs):
            quality.check_output(signal, self.y[:, k])
        whole = isinstance(self.period, int) and self.period >= 0
        require(whole, f"period = {self.period!r} must be a whole number of samples, 0 for none")
        enough = 2 * self.period <= self.t.size
        require(
            enough,
            f"the record has {self.t.size} samples, less than two periods of {self.period}: measure longer, or "
            "say period = 0",
        )

    def __repr__(self) -> str:
        periodic = f"{self.t.size // self.period} periods of {self.period}" if self.period else "not periodic"
        channels = f"{names(self.inputs)} -> {names(self.outputs)}"
        return f"Record({self.t.size} samples of {self.dt:.6g} s, {channels}, {periodic})"

    @property
    def dt(self) -> float:
        """Sample time [s]."""
        return float((self.t[-1] - self.t[0]) / (self.t.size - 1))

    @property
    def nyquist(self) -> float:
        """Half the sampling frequency [rad/s]."""
        return float(np.pi / self.dt)

    def __getitem__(self, name: str) -> FloatArray:
        """Return one signal by name."""
        columns = self._columns()
        if name not in columns:
            raise unknown("signal", name, columns)
        return columns[name][1]

    def _columns(self) -> dict[str, tuple[str, FloatArray]]:
        groups = ((self.inputs, self.u), (self.outputs, self.y), (self.references, self.r))
        return {s.name: (s.unit, data[:, k]) for signals, data in groups for k, s in enumerate(signals)}

    def warnings(self) -> list[str]:
        """Return the flaws of the data that do not forbid their use."""
        found = [quality.input_caution(s, self.u[:, k]) for k, s in enumerate(self.inputs)]
        found += [quality.output_caution(s, self.y[:, k]) for k, s in enumerate(self.outputs)]
        return [text for text in found if text]

    def part(self, begin: float = 0.0, end: float | None = None) -> Record:
        """Return the record from `begin` to `end` [s], measured from its first sample; times stay."""
        since = self.t - self.t[0]
        last = float(since[-1]) if end is None else float(end)
        inside = (since >= begin - 0.5 * self.dt) & (since <= last + 0.5 * self.dt)
        require(int(inside.sum()) >= SHORTEST, f"from {begin:g} to {last:g} s there are {int(inside.sum())} samples")
        short = 2 * self.period > int(inside.sum())
        return replace(
            self,
            t=self.t[inside],
            u=self.u[inside],
            y=self.y[inside],
            r=self.r[inside],
            period=0 if short else self.period,
        )

    def choose(self, inputs: Sequence[str] | None = None, outputs: Sequence[str] | None = None) -> Record:
        """Return the record with some of its inputs and outputs, in that order."""
        found = self
        for kind, block, chosen in (("inputs", "u", inputs), ("outputs", "y", outputs)):
            if chosen is None:
                continue
            signals = getattr(self, kind)
            at = [_position(kind.removesuffix("s"), name, signals) for name in chosen]
            content: dict[str, Any] = {kind: tuple(signals[i] for i in at), block: getattr(self, block)[:, at]}
            found = replace(found, **content)
        return found

    _index = "time"

    def _table(self) -> list[Column]:
        return [Column("time", self.t, "s"), *(Column(n, x, unit or "1") for n, (unit, x) in self._columns().items())]

    def _formats(self) -> dict[str, Callable[[IO[bytes]], Any]]:
        """Return what writes a file: a .csv begins with a comment that holds what the other formats say too."""
        found = super()._formats()
        table = found[".csv"]

        def told(stream: IO[bytes]) -> None:
            stream.write(f"# about: {json.dumps(plain(self._about()), allow_nan=False)}\n".encode())
            table(stream)

        return {**found, ".csv": told}

    def _about(self) -> Mapping[str, Any]:
        return {
            **self.provenance,
            "inputs": names(self.inputs),
            "outputs": names(self.outputs),
            "references": names(self.references),
            "period_samples": self.period,
            "held": self.held,
        }


def _position(kind: str, name: str, signals: Sequence[Signal]) -> int:
    if name not in names(signals):
        raise unknown(f"{kind} of the record", name, names(signals))
    return names(signals).index(name)


def record(
    time: float | npt.ArrayLike,
    inputs: Mapping[str, npt.ArrayLike],
    outputs: Mapping[str, npt.ArrayLike],
    references: Mapping[str, npt.ArrayLike] | None = None,
    *,
    period: float | None = None,
    held: bool = True,
    provenance: Mapping[str, Any] | None = None,
) -> Record:
    """Return a record of arrays.

    Parameters
    ----------
    time : float or array
        Sample time [s], or the time of every sample [s], equally spaced to 0.1 %.
    inputs, outputs, references : mapping
        "name [unit]" -> numbers. The unit must be stated ("1" for a ratio such as strain); it is converted to SI.
    period : float, optional
        Period of the excitation [s]; by default it is found, where inputs (references in closed loop) repeat exactly.
        0: treat them as not periodic.
    held : bool
        Whether inputs are held between samples (zero-order hold).
    provenance : mapping, optional
        Where the data come from.

    Raises
    ------
    DefinitionError
        Missing units, NaN, wrong lengths, unequal sampling, an input that is zero, an output that does not move.

    Examples
    --------
    >>> found = fx.identify.record(1e-3, {"torque [N m]": [0.0, 0.1] * 8}, {"joint1_angle [rad]": np.arange(16) * 1e-3})
    >>> found.period
    2
    """
    require(bool(inputs) and bool(outputs), "a record needs an input and an output at least; name them")
    blocks, signals = [], []
    size = None if np.ndim(time) == 0 else np.size(time)
    for what, table in (("input", inputs), ("output", outputs), ("reference", references or {})):
        columns, found = [], []
        for head, values in table.items():
            signal, factor = parsed_head(head)
            column = _numbers(what, signal.name, values)
            size = column.size if size is None else size
            if column.size != size:
                raise DefinitionError(
                    f'{what} "{signal.name}" has {column.size} samples where the record has {size}; all signals need '
                    "the same length"
                )
            columns.append(factor * column)
            found.append(signal)
        blocks.append(np.column_stack(columns) if columns else np.zeros((size or 0, 0)))
        signals.append(tuple(found))
    count = int(size or 0)
    scalar = np.ndim(time) == 0
    t = np.arange(count, dtype=float) * _sample_time(time) if scalar else _numbers("time", "time", time)
    t = np.asarray(t, float)
    made = Record(
        t, blocks[0], blocks[1], signals[0], signals[1], blocks[2], signals[2], 0, held, dict(provenance or {})
    )
    return replace(made, period=_period(made, period))


def parsed_head(head: str) -> tuple[Signal, float]:
    """Return the signal of "name [unit]" in SI units, and what its numbers are multiplied by."""
    name, bracket, rest = head.partition("[")
    unit = rest.partition("]")[0].strip()
    name = name.strip()
    require(bool(name), f'"{head}" has no name; write "name [unit]"')
    if not bracket or not unit:
        remedy = f'write "{name} [rad]" or whatever it is, "{name} [1]" for a ratio'
        raise DefinitionError(f'signal "{name}" has no unit: {remedy}')
    try:
        stated, factor = si_unit(unit)
    except KeyError:
        raise unknown(f'unit of signal "{name}"', unit, known_units()) from None
    return Signal(name, stated), factor


def _numbers(what: str, name: str, values: Any) -> FloatArray:
    try:
        column = np.asarray(values)
        require(column.dtype.kind in "fiub", f'{what} "{name}" is not an array of real numbers')
        column = column.astype(float)
    except (TypeError, ValueError) as error:
        if isinstance(error, DefinitionError):
            raise
        raise DefinitionError(f'{what} "{name}" is not an array of numbers: {error}') from error
    column = column.ravel() if column.ndim == 2 and 1 in column.shape else column
    require(column.ndim == 1, f'{what} "{name}" has {column.ndim} dimensions; give one number for each sample')
    return np.ascontiguousarray(column)


def _sample_time(time: Any) -> float:
    ok = isinstance(time, int | float | np.number) and not isinstance(time, bool) and 0 < float(time) < np.inf
    require(ok, f"sample time = {time!r} must be a positive number of seconds")
    return float(time)


def _check_times(t: FloatArray) -> None:
    require(t.ndim == 1, f"times have {t.ndim} dimensions; give one number for each sample")
    require(t.size >= SHORTEST, f"the record has {t.size} samples, too few to identify anything; at least {SHORTEST}")
    quality.check_numbers("time", "time", t, t)
    steps = np.diff(t)
    dt = float(np.median(steps))
    back = np.flatnonzero(steps <= 0.0)
    if back.size:
        raise DefinitionError(f"times do not ascend at sample {back[0] + 2} (t = {t[back[0] + 1]:.9g} s)")
    uneven = np.flatnonzero(np.abs(steps - dt) > max(JITTER * dt, 4.0 * np.spacing(np.abs(t).max())))
    if not uneven.size:
        return
    first = int(uneven[0])
    missing = np.abs(steps[uneven] / dt - np.round(steps[uneven] / dt)).max() < 0.05 and steps.max() > 1.5 * dt
    what = "samples are missing" if missing else "sampling is not equal"
    raise DefinitionError(
        f"{what}: intervals go from {steps.min():.6g} to {steps.max():.6g} s where {dt:.6g} s is usual, {uneven.size} "
        f"differ by more than {JITTER:.1%}, first after t = {t[first]:.6g} s; interpolate to equal intervals, or cut "
        "the record there"
    )


def _period(made: Record, given: float | None) -> int:
    """Return the samples of a period: as given, or found where the excitation repeats exactly."""
    if given is not None:
        count = round(given / made.dt)
        whole = abs(given / made.dt - count) <= 1e-3 * max(count, 1)
        require(given >= 0 and whole, f"period = {given:g} s is not a whole number of samples of {made.dt:.6g} s")
        return count
    found = repeating(made.r if made.references else made.u)
    return found if 2 * found <= made.t.size else 0


def repeating(x: FloatArray) -> int:
    """Return the least number of samples after which all columns repeat exactly (to 1e-9 of their size), 0 if none."""
    n = x.shape[0]
    scale = np.abs(x).max(axis=0) + 1e-300
    z = x / scale
    spectrum = np.abs(np.fft.rfft(z, 2 * n, axis=0)) ** 2
    product = np.fft.irfft(spectrum, axis=0)[:n].sum(axis=1)
    power = np.concatenate([[0.0], np.cumsum((z**2).sum(axis=1))])
    # sum of (z[k + p] - z[k])^2 over the overlap
    lags = np.arange(n)
    gap = power[n - lags] + (power[n] - power[lags]) - 2.0 * product
    for p in np.flatnonzero(gap[: n // 2 + 1] < 1e-9 * power[n]):
        if p > 1 and np.abs(z[p:] - z[:-p]).max() < 1e-9 and np.ptp(z[:p], axis=0).max() > 0:
            return int(p)
    return 0


def nearly_repeating(x: FloatArray) -> int:
    """Return the samples after which a column repeats but for noise, 0 if it does not.

    It must have forgotten itself in between, come back to more than `ALIKE` of itself, and be as large each time.
    """
    n = x.size
    z = x - x.mean()
    spectrum = np.abs(np.fft.rfft(z, 2 * n)) ** 2
    lags = np.arange(n // 2 + 1)
    rho = np.fft.irfft(spectrum)[: lags.size] / max(float(z @ z), 1e-300) * n / (n - lags)
    forgotten = np.flatnonzero(rho < 0.2)
    if not forgotten.size:
        return 0
    begin = int(forgotten[0])
    high = begin + np.flatnonzero(rho[begin:] > 0.9 * rho[begin:].max())  # of multiples the first
    first = high[: int(np.argmax(np.diff(high, append=n) > 1)) + 1]
    period = int(first[np.argmax(rho[first])])
    if period < SHORTEST or rho[period] < ALIKE:
        return 0
    sizes = [float(np.std(part)) for part in np.split(z[: n // period * period], n // period)]
    return period if max(sizes) < 1.2 * min(sizes) else 0
