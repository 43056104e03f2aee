"""Spectra of records: averaged over windowed segments (Welch), or over the periods of a periodic excitation.

    S_ab = mean of conj(A) B dt / (sum of w^2)            two-sided density [unit_a unit_b / Hz]

An output that drifts (the angle of a joint that turns freely) is differenced twice before it is transformed, and the
spectrum divided by (1 - 1/z)^2: what is linear in time then leaves nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import DefinitionError, require
from ..model import ComplexArray, FloatArray, Signal, names
from ..support.tabular import Column, Tabular
from .record import Record

DRIFT = 0.02
"""Range of the means of the periods, as a part of what a period does beside a ramp, from which on it is drift."""
WANDER = 1.5
"""The same of a signal that is not periodic: from the lowest to the highest mean."""


@dataclass(frozen=True, eq=False)
class Spectra(Tabular):
    """Spectral densities of all signals of a record.

    Attributes
    ----------
    omega : ndarray
        Frequencies [rad/s].
    density : ndarray
        Cross spectral densities, (signals, signals, len(omega)), two-sided, per Hz: conj(row) column.
    signals : tuple of Signal
        Inputs, then outputs, then references.
    averages : float
        Number of independent segments that were averaged.

    Examples
    --------
    >>> x = np.random.default_rng(1).standard_normal(4096)
    >>> found = fx.identify.spectra(fx.identify.record(1e-2, {"u [N]": x}, {"y [m]": 2e-3 * x}), segment=2.56)
    >>> print(found.coherence("y", "u").round(3).min())
    1.0
    """

    omega: FloatArray
    density: ComplexArray
    signals: tuple[Signal, ...]
    averages: float
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Spectra({names(self.signals)}, {self.omega.size} frequencies, {self.averages:.1f} averages)"

    def auto(self, name: str) -> FloatArray:
        """Return the spectral density of a signal."""
        k = names(self.signals).index(name)
        return np.asarray(self.density[k, k].real)

    def coherence(self, one: str, other: str) -> FloatArray:
        """Return |S_ab|^2 / (S_aa S_bb), 0 to 1."""
        a, b = (names(self.signals).index(name) for name in (one, other))
        power = self.density[a, a].real * self.density[b, b].real
        return np.asarray(np.abs(self.density[a, b]) ** 2 / np.maximum(power, 1e-300))

    _index = "omega"

    def _table(self) -> list[Column]:
        autos = [Column(s.name, self.density[k, k].real, f"({s.unit or '1'})^2/Hz") for k, s in enumerate(self.signals)]
        return [Column("omega", self.omega, "rad/s"), *autos]

    def _about(self) -> Mapping[str, Any]:
        return {**self.provenance, "averages": self.averages}


def spectra(data: Record, *, segment: float | None = None, window: str = "hann", overlap: float = 0.5) -> Spectra:
    """Return spectra and cross spectra of a record.

    Parameters
    ----------
    data : Record
        The data.
    segment : float, optional
        Length of a segment [s]; by default a period of a periodic excitation, else an eighth of the record.
    window : str
        "hann" or "none" (rectangular; the default for segments of whole periods).
    overlap : float
        Fraction by which segments overlap, 0 to 0.9; none where segments are periods.

    Examples
    --------
    >>> x = np.random.default_rng(1).standard_normal(4096)
    >>> data = fx.identify.record(1e-2, {"u [N]": x}, {"y [m]": 2e-3 * x})
    >>> print(fx.identify.spectra(data, segment=1.28).auto("u").mean().round(3))
    0.01
    """
    length, step, taper = segments_of(data, segment, window, overlap)
    parts, omega = transformed(data, length, step, taper)
    scale = data.dt / float(np.sum(taper**2))
    count = parts.shape[0]
    density = np.einsum("kaf,kbf->abf", parts.conj(), parts) * (scale / count)
    return Spectra(omega, density, (*data.inputs, *data.outputs, *data.references), independent(count, length, step))


def segments_of(data: Record, segment: float | None, window: str, overlap: float) -> tuple[int, int, FloatArray]:
    """Return samples of a segment, samples from one to the next, and the window."""
    require(window in ("hann", "none"), f'window "{window}" is not one of: hann, none')
    require(0.0 <= overlap <= 0.9, f"overlap = {overlap} must be from 0 to 0.9")
    periodic = segment is None and data.period > 0
    length = data.period if periodic else data.t.size // 8 if segment is None else round(segment / data.dt)
    if segment is None and length < 8:
        raise DefinitionError(f"the record has {data.t.size} samples, too few for spectra: eight times 8 at least")
    enough = 8 <= length <= data.t.size
    require(
        enough,
        f"a segment of {length} samples ({length * data.dt:.4g} s) is not between 8 and the record's {data.t.size}",
    )
    whole = data.period > 0 and length % data.period == 0
    if whole or window == "none":
        return length, length, np.ones(length)
    taper = 0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(length) / length)
    return length, max(1, round(length * (1.0 - overlap))), taper


def independent(count: int, length: int, step: int) -> float:
    """Return the independent averages that overlapping Hann segments equal (Welch 1967: 9/11 at half overlap)."""
    return float(count) if step >= length or count == 1 else max(1.0, count * min(1.0, 18.0 / 11.0 * step / length))


def transformed(data: Record, length: int, step: int, taper: FloatArray) -> tuple[ComplexArray, FloatArray]:
    """Return transforms of all segments, (segments, signals, frequencies), without the mean, and the frequencies."""
    signals = np.column_stack([data.u, data.y, data.r])
    starts = range(0, data.t.size - length + 1, step)
    omega = 2.0 * np.pi * np.fft.rfftfreq(length, data.dt)
    drifting = drifts(data, length)
    z = np.exp(1j * omega * data.dt)
    out = np.empty((len(starts), signals.shape[1], omega.size), complex)
    with np.errstate(divide="ignore", invalid="ignore"):
        undo = 1.0 / (1.0 - 1.0 / z) ** 2
    undo[0] = 0.0
    for c in range(signals.shape[1]):
        x, factor = signals[:, c], np.ones(omega.size, complex)
        if drifting[c]:  # the first two differences of a record are made of its own beginning
            second = np.zeros_like(x)
            second[2:] = x[2:] - 2.0 * x[1:-1] + x[:-2]
            second[:2] = second[2]
            x, factor = second, undo
        for k, begin in enumerate(starts):
            piece = x[begin : begin + length]
            out[k, c] = np.fft.rfft((piece - piece.mean()) * taper) * factor
    return out, np.asarray(omega, float)


def drifts(data: Record, length: int) -> list[bool]:
    """Return for every signal whether its mean wanders from segment to segment; inputs never count.

    The means of a periodic signal do not move at all; those of a stationary one move less than the signal does within a
    segment.
    """
    found = [False] * len(data.inputs)
    blocks = data.t.size // length
    share = DRIFT if data.period and length % data.period == 0 else WANDER
    for column in np.column_stack([data.y, data.r]).T:
        pieces = column[: blocks * length].reshape(blocks, length)
        ramp = np.linspace(-0.5, 0.5, length)
        slopes = pieces @ ramp / (ramp @ ramp)
        within = float(np.sqrt(np.mean((pieces - pieces.mean(axis=1, keepdims=True) - np.outer(slopes, ramp)) ** 2)))
        means = pieces.mean(axis=1)
        wander = float(np.ptp(means)) if blocks > 1 else abs(float(slopes[0]))
        found.append(wander > share * max(within, 1e-300))
    return found


def used(omega: FloatArray, band: Sequence[float] | None) -> Any:
    """Return which frequencies lie in a band [rad/s], zero left out."""
    inside = omega > 0.0
    if band is not None:
        require(len(band) == 2 and 0.0 <= band[0] < band[1], f"band {tuple(band)} must be (low, high) [rad/s]")
        inside &= (omega >= band[0]) & (omega <= band[1])
    return inside
