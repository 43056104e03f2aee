"""Faults of measured data: a clear word for each, an error where the data cannot be used."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..errors import DataWarning, DefinitionError, caution, require
from ..model import FloatArray, Signal

CLIPPED = 0.01
"""Part of the samples at an end of the range from which on a signal is called saturated."""
CORNER = 0.1
"""Least way into or out of a rest, in parts of what a signal seldom exceeds in that time, of what is cut off."""
COARSE = 0.02
"""Step of quantisation, as a part of the standard deviation, from which on it is reported."""

JUMP, SMOOTH, MANY, BRIEF = 0.5, 0.2, 0.1, 3
"""Least jump, and most that other steps may be, in parts of what a signal goes through; most jumps, as a part of the
samples; samples of an outlier."""
STEADY = ("rad", "m", "1")
"""Units of what cannot jump: angles, displacements, strains."""


def check_numbers(what: str, name: str, x: FloatArray, t: FloatArray) -> None:
    """Refuse NaN and infinity; the message counts them and says where the first is."""
    bad = np.flatnonzero(~np.isfinite(x))
    if bad.size:
        at = f", t = {t[bad[0]]:.6g} s" if np.isfinite(t[bad[0]]) else ""
        raise DefinitionError(
            f'{what} "{name}" has {bad.size} values that are not numbers (NaN or infinite), the first at sample '
            f"{bad[0] + 1}{at}; cut the record there or repair it: nothing is interpolated silently"
        )


def check_input(signal: Signal, x: FloatArray) -> None:
    """Refuse an input that is zero or constant all the time."""
    if not x.any():
        raise DefinitionError(f'input "{signal.name}" is zero all the time: nothing excites the arm; leave it out')
    if np.ptp(x) == 0.0:
        said = f"{x[0]:g} {signal.unit}"
        raise DefinitionError(f'input "{signal.name}" is {said} all the time: a constant excites no mode; leave it out')


def check_output(signal: Signal, x: FloatArray) -> None:
    """Refuse an output that does not move."""
    require(bool(np.ptp(x) > 0.0), f'output "{signal.name}" is {x[0]:g} {signal.unit} all the time; leave it out')


def saturation(x: FloatArray) -> tuple[float, float]:
    """Return the part of the samples that rest at an end of the range where it is cut off, and that value.

    A signal that takes few values (bang-bang, steps) is not called saturated, nor one that has not moved yet. And what
    comes to rest there slowly, or leaves slowly, has turned or stands still: a joint that sticks, an arm that has
    arrived.
    """
    values = np.unique(x)
    if values.size < 20:
        return 0.0, 0.0
    width, step = BRIEF, quantum(x)
    while (fast := CORNER * float(np.quantile(np.abs(x[width:] - x[:-width]), 0.95))) < 3.0 * step and (
        20 * width < x.size
    ):
        width *= 2  # slower than steps of the sensor tell
    worst = (0.0, 0.0)
    for end in (values[0], values[-1]):
        edges = np.flatnonzero(np.diff(np.concatenate([[0], (x == end).astype(int), [0]]))).reshape(-1, 2)
        rests = [(a, b) for a, b in edges.tolist() if b - a > 1 and a > 0]
        ways = [np.abs(x[[max(a - width, 0), min(b + width, x.size) - 1]] - end) for a, b in rests]
        cut = [b - a for (a, b), way in zip(rests, ways, strict=True) if way.max() > fast]
        worst = max(worst, (sum(cut) / x.size, float(end)))
    return worst


def quantum(x: FloatArray) -> float:
    """Return the step in which a signal is quantised, 0 where none is seen."""
    values = np.unique(x)
    steps = np.diff(values)
    if values.size < 3 or steps.size == 0:
        return float(steps[0]) if steps.size else 0.0
    least = float(steps.min())
    if least <= 1e-9 * np.abs(values).max():
        return 0.0
    whole = steps / least
    return least if bool(np.all(np.abs(whole - np.round(whole)) < 0.02 * np.minimum(whole, 10.0))) else 0.0


def input_caution(signal: Signal, x: FloatArray) -> str:
    """Return a word on an input that is clipped."""
    part, end = saturation(x)
    if part < CLIPPED:
        return ""
    return (
        f'input "{signal.name}" rests at {end:.6g} {signal.unit} in {part:.1%} of the samples: if an amplifier clips, '
        "the record must hold what the arm got, not what was asked for"
    )


def jump(x: FloatArray) -> tuple[int, float, bool]:
    """Return the sample after which a signal jumps as far as nothing else does, how far, and whether it comes back.

    -1 where it does not. A jump is more than half of what the whole signal goes through, within a sample, where it
    moves by less than a fifth otherwise: an angle that wraps, an outlier.
    """
    steps = np.diff(x)
    size, span = np.abs(steps), float(np.ptp(x))
    far = np.flatnonzero(size > JUMP * span)
    usual = np.delete(size, far)
    few = np.unique(x).size < 20  # steps of the sensor
    if few or not far.size or far.size > MANY * x.size or usual.max(initial=0.0) > SMOOTH * span:
        return -1, 0.0, False
    first = int(far[0])
    back = far.size > 1 and int(far[1]) - first <= BRIEF and steps[far[1]] * steps[first] < 0.0
    return first, float(steps[first]), bool(back)


def _jump_caution(signal: Signal, x: FloatArray) -> str:
    """Return a word on an output that wraps or has an outlier."""
    at, far, back = jump(x) if signal.unit in STEADY else (-1, 0.0, False)
    if at < 0:
        return ""
    said = f'output "{signal.name}" jumps by {far:.4g} {signal.unit} after sample {at + 1}, smooth as it is otherwise'
    if back:
        return f"{said}, and comes back: an outlier? cut the record there, or repair it"
    return f"{said}: does it wrap (an angle of one turn), or count anew? unwrap it, or cut the record there"


def output_caution(signal: Signal, x: FloatArray) -> str:
    """Return a word on an output that is saturated, jumps or is coarsely quantised."""
    part, end = saturation(x)
    if part >= CLIPPED:
        return (
            f'output "{signal.name}" rests at {end:.6g} {signal.unit} in {part:.1%} of the samples: the sensor is '
            "saturated, and what it hides is missing; measure with a smaller amplitude"
        )
    jumped = _jump_caution(signal, x)
    if jumped:
        return jumped
    step, spread = quantum(x), float(x.std())
    if step > COARSE * spread and spread > 0.0:
        return (
            f'output "{signal.name}" is quantised in steps of {step:.3g} {signal.unit}, {step / spread:.0%} of its '
            f"standard deviation: the error {step / np.sqrt(12.0):.2g} {signal.unit} is not white noise; excite more"
        )
    return ""


def tell(found: Iterable[str]) -> None:
    """Warn of each."""
    for text in found:
        caution(text, DataWarning)
