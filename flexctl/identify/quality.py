"""Faults of measured data: a clear word for each, an error where the data cannot be used."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..errors import DataWarning, DefinitionError, caution, require
from ..model import FloatArray, Signal

CLIPPED = 0.01
"""Part of the samples at an end of the range from which on a signal is called saturated."""
COARSE = 0.02
"""Step of quantisation, as a part of the standard deviation, from which on it is reported."""


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
    """Return the part of the samples that rest at an end of the range, and that value.

    A signal that takes few values (bang-bang, steps) is not called saturated.
    """
    values = np.unique(x)
    if values.size < 20:
        return 0.0, 0.0
    worst = (0.0, 0.0)
    for end in (values[0], values[-1]):
        at = x == end
        resting = at & (np.concatenate([[False], at[:-1]]) | np.concatenate([at[1:], [False]]))
        part = float(resting.mean())
        worst = max(worst, (part, float(end)))
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


def output_caution(signal: Signal, x: FloatArray) -> str:
    """Return a word on an output that is saturated or coarsely quantised."""
    part, end = saturation(x)
    if part >= CLIPPED:
        return (
            f'output "{signal.name}" rests at {end:.6g} {signal.unit} in {part:.1%} of the samples: the sensor is '
            "saturated, and what it hides is missing; measure with a smaller amplitude"
        )
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
