"""Scores of a run: the same numbers for every model and every law.

For each reference channel that is also an output (its error is output minus reference value):

* `settle_1pct_s`, `settle_0p1pct_s`: time from which on the output stays within 1 % (0.1 %) of the move from the
  target, counted from the start of the command; infinite when it is outside at the end of the record
* `overshoot_pct`: how far it goes beyond the target, in percent of the move
* `rms_error`, `max_error`: deviation from the reference over the whole record, in the output's unit
* `final_error`: at the end of the record

For each input: `peak` and `rms`. When nothing is followed only these and the outputs' extremes are given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from .model import FloatArray, Signal, names
from .trajectories import Motion


def settling_time(t: FloatArray, error: FloatArray, band: float) -> float:
    """Return the time [s] from which on |error| stays within the band; infinity when it is outside at the end."""
    outside = np.flatnonzero(np.abs(error) > band)
    if outside.size == 0:
        return float(t[0])
    return np.inf if outside[-1] == t.size - 1 else float(t[outside[-1] + 1])


def _rms(t: FloatArray, x: FloatArray) -> float:
    return float(np.sqrt(np.trapezoid(x**2, t) / (t[-1] - t[0])))


def _held_rms(t: FloatArray, u: FloatArray) -> float:
    # inputs are held within a step
    return float(np.sqrt(np.sum(u[:-1] ** 2 * np.diff(t)) / (t[-1] - t[0])))


def scores(
    t: FloatArray, y: FloatArray, u: FloatArray, outputs: Sequence[Signal], inputs: Sequence[Signal],
    references: Mapping[str, Motion],
) -> dict[str, float]:  # fmt: skip
    """Return the scores of a run, keyed ``signal.score``."""
    result: dict[str, float] = {}
    for name, motion in references.items():
        if name not in names(outputs):
            continue
        value = y[:, names(outputs).index(name)]
        wanted = motion(t)[0]
        # from where the command jumps or begins; where it stays, from where the output starts
        begin = float(motion(np.nextafter(0.0, -1.0))[0])
        move = motion.target - begin or motion.target - float(value[0])
        error = value - motion.target
        if move != 0.0:
            start = min(motion.breakpoints, default=0.0)
            for label, band in (("1pct", 0.01), ("0p1pct", 0.001)):
                settled = settling_time(t, error, band * abs(move))
                result[f"{name}.settle_{label}_s"] = max(0.0, settled - start)
            result[f"{name}.overshoot_pct"] = 100.0 * max(0.0, float((error * np.sign(move)).max() / abs(move)))
        result[f"{name}.rms_error"] = _rms(t, value - wanted)
        result[f"{name}.max_error"] = float(np.abs(value - wanted).max())
        result[f"{name}.final_error"] = float(value[-1] - wanted[-1])
    for i, signal in enumerate(inputs):
        result[f"{signal.name}.peak"] = float(np.abs(u[:, i]).max())
        result[f"{signal.name}.rms"] = _held_rms(t, u[:, i])
    if not references:
        for i, signal in enumerate(outputs):
            result[f"{signal.name}.min"], result[f"{signal.name}.max"] = float(y[:, i].min()), float(y[:, i].max())
            result[f"{signal.name}.final"] = float(y[-1, i])
    return result
