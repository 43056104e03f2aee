"""Scores of a run: the same numbers for every model and every law.

For each reference channel that is also an output (its error is output minus reference value):

* `settle_1pct_s`, `settle_0p1pct_s`: time from which on the output stays within 1 % (0.1 %) of the move from the
  target, counted from the start of the command; infinite when it is outside at the end of the record
* `overshoot_pct`: how far it goes beyond the target, in percent of the move
* `rms_error`, `max_error`: deviation from the reference over the whole record, in the output's unit
* `final_error`: at the end of the record
* `residual`: largest distance from the target once the command has ended (not given when the record ends before)

Of an output that should come to rest where it began (`flexctl.motion.resting.Rest`) the first three make no sense;
instead

* `vibration`: the largest deviation from its first value from 0.2 s after the end of the command on

For each input: `peak` and `rms`. When nothing is followed only these and the outputs' extremes are given.

When the tip follows a path (`flexctl.motion.track`) a move from one value to another has no meaning; instead, with the
same names for every law and every model:

* of tip_x, tip_y and the joints: `rms_error` and `max_error`
* of `tip`: the distance from where it should be (`rms_error`, `max_error`) and from the nearest point of the path,
  early or late (`rms_contour`, `max_contour`), and when it has come near for good: `settle_1pct_s`,
  `settle_0p1pct_s`, within 1 % (0.1 %) of the path's extent
* of each link where the model reads it: `link1_deflection.peak`, the end of the link from the tangent at its root
* all of these and the inputs' again from the time on at which the start is over: `settled_rms_error` and so on
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..errors import require
from ..model import FloatArray, Signal, names
from ..motion.moves import Motion
from ..motion.resting import Rest
from ..motion.track import Channel, Track, track_of
from ..support.checks import real_array

LATER = 0.2
"""Time after the end of a command from which on what is left of the motion counts as vibration [s]."""
_ROUNDING = 1e-12
"""A move smaller than this part of the values is none: sums of shifted copies return to where they were up to it."""


def settling_time(t: FloatArray, error: FloatArray, band: float) -> float:
    """Return the time [s] from which on |error| stays within the band; infinity when it is outside at the end.

    Examples
    --------
    >>> t = np.linspace(0.0, 1.0, 1001)
    >>> print(f"{fx.settling_time(t, np.exp(-10 * t), 0.01):.3f} s")
    0.461 s
    """
    t, error = real_array("t", t), real_array("error", error)
    require(t.ndim == 1 and t.shape == error.shape, f"{t.shape} times and {error.shape} errors: give as many of both")
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
) -> dict[str, float]:
    """Return the scores of a run, keyed ``signal.score``."""
    result: dict[str, float] = {}
    track = track_of(references.values())
    if track is not None:
        result.update(tracking_scores(t, y, outputs, references, track))
    for name, motion in references.items():
        if name not in names(outputs) or isinstance(motion, Channel):
            continue
        value = y[:, names(outputs).index(name)]
        wanted = motion(t)[0]
        if isinstance(motion, Rest):
            wanted = value[0]
            score, left = "vibration", np.abs(value - wanted)[t > motion.duration + LATER]
        else:
            result.update(_move_scores(name, t, value, motion))
            score, left = "residual", np.abs(value - motion.target)[t >= motion.duration]
        if left.size:
            result[f"{name}.{score}"] = float(left.max())
        error = value - wanted
        result[f"{name}.rms_error"] = _rms(t, error)
        result[f"{name}.max_error"] = float(np.abs(error).max())
        result[f"{name}.final_error"] = float(error[-1])
    for i, signal in enumerate(inputs):
        result[f"{signal.name}.peak"] = float(np.abs(u[:, i]).max())
        result[f"{signal.name}.rms"] = _held_rms(t, u[:, i])
        if track is not None:
            late = _settled(t, track)
            result[f"{signal.name}.settled_peak"] = float(np.abs(u[late, i]).max())
            result[f"{signal.name}.settled_rms"] = _held_rms(t[late], u[late, i])
    if not references:
        for i, signal in enumerate(outputs):
            result[f"{signal.name}.min"], result[f"{signal.name}.max"] = float(y[:, i].min()), float(y[:, i].max())
            result[f"{signal.name}.final"] = float(y[-1, i])
    return result


def _move_scores(name: str, t: FloatArray, value: FloatArray, motion: Motion) -> dict[str, float]:
    # from where the command jumps or begins; where it stays, from where the output starts
    begin = float(motion(np.nextafter(0.0, -1.0))[0])
    move = motion.target - begin or motion.target - float(value[0])
    if abs(move) <= _ROUNDING * max(abs(motion.target), float(np.abs(value).max())):
        return {}
    result, error = {}, value - motion.target
    start = min(motion.breakpoints, default=0.0)
    for label, band in (("1pct", 0.01), ("0p1pct", 0.001)):
        settled = settling_time(t, error, band * abs(move))
        result[f"{name}.settle_{label}_s"] = max(0.0, settled - start)
    result[f"{name}.overshoot_pct"] = 100.0 * max(0.0, float((error * np.sign(move)).max() / abs(move)))
    return result


def tracking_scores(
    t: FloatArray, y: FloatArray, outputs: Sequence[Signal], references: Mapping[str, Motion], track: Track
) -> dict[str, float]:
    """Return what the module's docstring says of a run whose tip follows a path, but for the inputs."""
    result: dict[str, float] = {}
    known, late = names(outputs), _settled(t, track)

    def both(label: str, score: str, x: FloatArray) -> None:
        for prefix, part in (("", slice(None)), ("settled_", late)):
            result[f"{label}.{prefix}rms_{score}"] = _rms(t[part], x[part])
            result[f"{label}.{prefix}max_{score}"] = float(np.abs(x[part]).max())

    for name, motion in references.items():
        if name in known:
            both(name, "error", y[:, known.index(name)] - motion(t)[0])
    tip = [f"tip_{axis}" for axis in "xy"]
    if all(name in known for name in tip):
        at = y[:, [known.index(name) for name in tip]]
        distance = np.linalg.norm(at - track.path(t)[0], axis=1)
        both("tip", "error", distance)
        both("tip", "contour", track.path.distance(at))
        for label, band in (("1pct", 0.01), ("0p1pct", 0.001)):
            result[f"tip.settle_{label}_s"] = settling_time(t, distance, band * track.path.extent)
    for i, name in enumerate(known):
        if name.endswith("_deflection"):
            result[f"{name}.peak"] = float(np.abs(y[:, i]).max())
            result[f"{name}.settled_peak"] = float(np.abs(y[late, i]).max())
    return result


def _settled(t: FloatArray, track: Track) -> slice:
    """Return the part of a run after its start; all of one that ends before."""
    first = int(np.searchsorted(t, track.settled))
    return slice(first, None) if first < t.size - 1 else slice(None)
