"""Single modes out of a response: zero-phase band filters, as in Figs 7 and 8 of Tokhi and Azad (1994).

A Butterworth filter of the given order runs forwards and backwards (no phase shift, its gain squared). Within a few
periods of the lower band edge from either end of the record, the result is influenced by the end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ..errors import require
from ..model import FloatArray

PERIODS = 3
"""Periods of the lower band edge that a record must hold; so much is reflected at either end."""


def mode_bands(frequencies_hz: npt.ArrayLike) -> list[tuple[float, float]]:
    """Return a band [Hz] around each frequency, its edges the geometric means with the neighbours.

    The outermost edges mirror the inner ones; a single frequency f gets f/sqrt(2) to f sqrt(2).

    Examples
    --------
    >>> fx.mode_bands([2.0, 8.0])
    [(1.0, 4.0), (4.0, 16.0)]
    """
    f = np.atleast_1d(np.asarray(frequencies_hz, float))
    ordered = f.ndim == 1 and f.size > 0 and bool(np.all(np.diff(f, prepend=0.0) > 0) and np.all(np.isfinite(f)))
    require(ordered, f"frequencies {f} Hz must be positive and ascending")
    ratio = np.sqrt(f[1:] / f[:-1]) if f.size > 1 else np.full(1, math.sqrt(2.0))
    edges = np.concatenate([[f[0] / ratio[0]], f[:-1] * ratio if f.size > 1 else [], [f[-1] * ratio[-1]]])
    return [(float(a), float(b)) for a, b in pairwise(edges)]


def separate_modes(
    t: npt.ArrayLike,
    y: npt.ArrayLike,
    frequencies_hz: npt.ArrayLike | None = None,
    *,
    bands: Sequence[tuple[float, float]] | None = None,
    order: int = 4,
) -> FloatArray:
    """Return the part of a response around each natural frequency, (modes, len(t)).

    Parameters
    ----------
    t, y : array
        Times, equally spaced [s], and the response.
    frequencies_hz : array
        Natural frequencies [Hz], ascending; `mode_bands` says what belongs to each.
    bands : sequence of (low, high)
        The bands themselves [Hz], instead of frequencies.
    order : int
        Order of the Butterworth filter.

    Examples
    --------
    >>> t = np.linspace(0.0, 5.0, 5001)
    >>> y = np.sin(2 * np.pi * 2.0 * t) + 0.1 * np.sin(2 * np.pi * 11.0 * t)
    >>> first, second = fx.separate_modes(t, y, [2.0, 11.0])
    >>> print(f"{abs(second[1000:4000]).max():.2f}")
    0.10
    """
    require((frequencies_hz is None) != (bands is None), "give frequencies or bands, one of them")
    chosen = mode_bands(frequencies_hz) if frequencies_hz is not None else (bands or [])
    return np.array([_filtered(t, y, low, high, order) for low, high in chosen])


def flexible_part(t: npt.ArrayLike, y: npt.ArrayLike, above_hz: float, *, order: int = 4) -> FloatArray:
    """Return the part of a response above a frequency [Hz], e.g. all modes without the rigid-body motion.

    Examples
    --------
    >>> t = np.linspace(0.0, 2.0, 2001)
    >>> y = t + 0.1 * np.sin(2 * np.pi * 11.0 * t)
    >>> print(f"{abs(fx.flexible_part(t, y, above_hz=5.0)[500:1500]).max():.2f}")
    0.10
    """
    return _filtered(t, y, above_hz, None, order)


def _filtered(t: npt.ArrayLike, y: npt.ArrayLike, low: float, high: float | None, order: int) -> FloatArray:
    from scipy import signal  # heavy, and needed here only

    t, y = np.asarray(t, float), np.asarray(y, float)
    rate = _sampling_rate(t, y)
    top = low if high is None else high
    require(low > 0 and (high is None or low < high), f"band {low} to {high} Hz must be positive and ascending")
    require(top < 0.5 * rate, f"band edge {top:g} Hz is not below {0.5 * rate:g} Hz, half the sampling rate")
    padding = math.ceil(PERIODS * rate / low)
    short = f"a record of {t[-1] - t[0]:g} s is too short for a band from {low:g} Hz"
    require(t.size > padding + 1, f"{short}; it needs {PERIODS} periods, {padding / rate:.3g} s")
    edges, kind = (low, "highpass") if high is None else ((low, high), "bandpass")
    sections = signal.butter(order, edges, kind, fs=rate, output="sos")
    part: FloatArray = signal.sosfiltfilt(sections, y, padlen=padding)
    return part


def _sampling_rate(t: FloatArray, y: FloatArray) -> float:
    fits = t.ndim == 1 and t.size > 2 and y.shape == t.shape
    require(fits, f"t {t.shape} and y {y.shape} must be vectors of one size")
    require(bool(np.all(np.isfinite(t)) and np.all(np.isfinite(y))), "t and y must be finite")
    steps = np.diff(t)
    even = bool(steps[0] > 0) and bool(np.all(np.abs(steps - steps.mean()) <= 1e-6 * steps.mean()))
    require(even, "the times are not equally spaced and rising; interpolate the response first")
    return float(1.0 / steps.mean())
