"""First guesses from records of any kind, by transforms that decay: nothing need be periodic or come to rest.

    Y(z) = sum of y[k] z^-k,  z = exp((sigma + j w) dt),  k from the onset of the input

With sigma the record fades before its end, so that there is no transient and no leakage. The peaks of an arm without
damping are as wide as sigma, so that the misfit of magnitudes has one minimum, where that of the record itself has one
for every period that a mode swings through. And what counts is the beginning, where turns are still small.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from scipy.optimize import least_squares

from ..errors import FlexctlError
from ..model import ComplexArray, FloatArray
from . import quality
from .problem import LOSSES, Problem, Setting, onset
from .record import Record
from .search import DELAYS, Say

DECAYS = (1.0, 0.3, 0.1)
"""Decays, one after the other, in parts of the lowest mode's frequency [rad/s]."""
LINES = 100
FADED, RUN = 6.0, 8.0
"""Least decay over a record, and that up to which models are run [Np]."""
CLEAR = 5.0
"""How far above its error a line must be."""
STRONG = 0.01
"""Least size of the input's transform, as a part of the largest."""
QUIET = (0.8, 1.0)
"""Band, in parts of Nyquist's frequency, that is taken for nothing but noise."""
BAND = 8.0
"""Frequency of the highest line, in parts of that of the lowest mode."""
MOST = 4.0
"""Most that a logarithm moves."""
ROUNDS = 15
MAGNITUDES = "magnitudes"
FAILED = 5.0
"""Misfit [Np] of a line where the plant is refused or its run fails."""


class Transformed(NamedTuple):
    """Transforms of the outputs of a record, which of them are clear, and the samples they are made of."""

    record: Record
    omega: ComplexArray
    size: FloatArray
    clear: FloatArray
    onset: int
    samples: int


def guessed(found: Problem, x: FloatArray, delay: int | None, say: Say) -> FloatArray:
    """Return parameters that fit the magnitudes of decaying transforms of all records.

    What makes losses stays as it is: it hardly shows there. A delay of the inputs does, as exp(-sigma delay dt), which
    masses would take up: it is fitted too, unless it is known. One decay cannot tell the two, several can.
    """
    which = [k for k, key in enumerate(found.keys) if not any(word in key for word in LOSSES)]
    modes = found.plant_at(x).linearise().modes().frequencies_hz
    if not which or not modes.size:
        return x
    lowest, n = 2.0 * np.pi * float(modes[0]), len(which)
    begin = np.append(x[which], [0.0] * (delay is None))
    low, high = np.full(begin.size, -MOST), np.full(begin.size, MOST)
    low[n:], high[n:] = -1.0, DELAYS  # beside what is possible: a search begins inside of its bounds
    calls, most = 0, ROUNDS * (begin.size + 1) * len(DECAYS)
    data: list[Transformed] = []
    for number, part in enumerate(DECAYS):
        data += [transformed(r, part * lowest, BAND * lowest) for r in found.records]

        def misfit(moved: FloatArray, data: tuple[Transformed, ...] = tuple(data)) -> FloatArray:
            nonlocal calls
            calls += 1
            say(MAGNITUDES, min(0.99, calls / most))
            if time.monotonic() > found.deadline:  # no step is better: the search ends where it is
                return np.full(sum(one.size.size for one in data), FAILED)
            z = x.copy()
            z[which] = moved[:n]
            late = float(moved[n]) if delay is None else delay
            return np.concatenate([_log_magnitude(found, z, one, late) for one in data])

        solved = least_squares(
            misfit, begin, loss="soft_l1", f_scale=0.1, diff_step=1e-3, x_scale=1.0, max_nfev=ROUNDS,
            bounds=(low, high),
        )
        begin = solved.x
        calls = (number + 1) * most // len(DECAYS)
    say(MAGNITUDES, 1.0)
    y = x.copy()
    y[which] = begin[:n]
    return y


def transformed(data: Record, sigma: float, highest: float) -> Transformed:
    """Return a record with a decay [1/s], at lines up to a frequency [rad/s], or four fifths of Nyquist's."""
    begin = onset(data)
    u, y = data.u[begin:], data.y[begin:] - data.y[: begin + 1].mean(axis=0)
    length = data.dt * len(y)
    decay = max(sigma, FADED / length)
    top = min(QUIET[0] * data.nyquist, max(highest, 4.0 * decay))
    omega = np.asarray(np.geomspace(min(decay, 0.25 * top), top, LINES) - 1j * decay, complex)
    U, Y = (_transform(block, omega, data.dt) for block in (u, y))
    beyond = np.asarray(np.linspace(*QUIET, LINES) * data.nyquist - 1j * decay, complex)
    noise = np.median(np.abs(_transform(y, beyond, data.dt)), axis=1)
    least = np.array([max(0.5 * quality.quantum(y), 1e-9 * float(y.std())) for y in data.y.T])
    first = np.maximum(noise * np.sqrt(2.0 * decay * data.dt), least)  # of the sample from which all are measured
    lost = np.abs(y[-1]) * np.exp(-decay * length)
    error = np.hypot(noise[:, None], (first + lost)[:, None] / np.abs(1.0 - np.exp(-1j * omega * data.dt)))
    driven = np.abs(U).max(axis=0) > STRONG * np.abs(U).max()
    count = min(data.t.size, begin + int(np.ceil(RUN / (decay * data.dt))))
    return Transformed(data, omega, np.abs(Y), np.asarray((np.abs(Y) > CLEAR * error) & driven), begin, count)


def _log_magnitude(found: Problem, x: FloatArray, data: Transformed, delay: float) -> FloatArray:
    """Return the misfit of log |Y| [Np], lines that are not clear left out."""
    try:
        with np.errstate(all="ignore"):
            y = found.simulated(x, data.record, data.samples)
            if not found.full:
                y = found.model(x, data.record).shifted(y, data.record.u[: data.samples], *Setting())
            size = np.abs(_transform(y[data.onset :] - y[0], data.omega, data.record.dt))
    except FlexctlError:
        return np.full(data.size.size, FAILED)
    faded = float(data.omega[0].imag) * delay * data.record.dt
    e = np.log(data.size + 1e-300) - np.log(size + 1e-300) - faded
    return np.asarray(np.where(data.clear & np.isfinite(e), np.clip(e, -FAILED, FAILED), 0.0).ravel())


def _transform(x: FloatArray, omega: ComplexArray, dt: float) -> ComplexArray:
    k = dt * np.arange(len(x))
    return np.asarray([np.exp(-1j * w * k) @ x for w in omega], complex).T
