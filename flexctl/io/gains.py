"""Measured frequency responses in files of arrays, .mat, .npz or .json.

    omega [rad/s] or frequency_hz [Hz]
    response, or response_real and response_imag      (outputs, inputs, lines), or a vector of one channel
    sigma                                             standard deviations sqrt(E |error|^2), of the same shape; optional
    dt                                                sample time [s] of a sampled plant, whose input is held; optional
    inputs, outputs, input_units, output_units        names, or "name [unit]"; u1, y1, .. by default
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DefinitionError, require
from ..frequency import FrequencyResponse
from ..linear.matrices import signals
from ..model import FloatArray, Signal

_LINES, _GAINS = ("omega", "frequency_hz"), ("response", "response_real")


def holds_columns(content: Mapping[str, Any]) -> bool:
    """Whether the content of a file is a frequency response with a column for each channel, as `identify` writes it."""
    named = content.get("columns", ())  # of a .mat file, whose own names cannot have a colon
    columns = [str(name) for name in named] if isinstance(named, list | tuple | np.ndarray) else []
    return any(name.endswith(":real") for name in (*content, *columns))


def holds_gains(content: Mapping[str, Any]) -> bool:
    """Whether the content of a file is a frequency response, not a plant."""
    return any(key in content for key in _LINES) and any(key in content for key in _GAINS)


def gains_in(content: Mapping[str, Any], path: Path) -> FrequencyResponse:
    """Return the frequency response that the content of a file is."""
    period = float(np.asarray(content.get("dt", 0.0)).ravel()[0])
    require(math.isfinite(period) and period >= 0.0, f"{path}: dt = {period:g} s must be 0 or the sample time")
    try:
        raw = content["omega"] if "omega" in content else 2.0 * np.pi * np.asarray(content["frequency_hz"], float)
        omega = np.asarray(raw, float).ravel()
        if "response" in content:
            H = np.asarray(content["response"], complex)
        else:
            H = np.asarray(content["response_real"], float) + 1j * np.asarray(content["response_imag"], float)
    except (KeyError, TypeError, ValueError) as error:
        raise DefinitionError(f"{path}: no frequency response: {error}") from error
    H = _shaped("response", H, omega.size, path)
    sigma = content.get("sigma")
    spread: FloatArray | None = None if sigma is None else _shaped("sigma", np.asarray(sigma, float), omega.size, path)
    require(spread is None or bool(np.all(spread >= 0.0)), f"{path}: sigma has negative entries, or not numbers")
    finite = bool(np.isfinite(omega).all() and np.isfinite(H).all())
    require(finite, f"{path}: the response has entries that are not finite; leave those lines out")
    try:
        u, y = _labels(content, "input", H.shape[1]), _labels(content, "output", H.shape[0])
        note = {"plant": path.stem, "source": path.name}
        if period > 0.0:  # the input of a sampled plant is held
            from ..identify import MeasuredResponse

            known = np.zeros((0, 0, 0)) if spread is None else spread
            return MeasuredResponse(omega, H, u, y, note, None, known, dt=period, held=True)
        return FrequencyResponse(omega, H, u, y, note, sigma=spread)
    except DefinitionError as error:
        raise DefinitionError(f"{path}: {error}") from error


def _shaped(what: str, values: Any, lines: int, path: Path) -> Any:
    """Return values as (outputs, inputs, lines)."""
    if values.ndim < 3 and values.size == lines:
        return values.reshape(1, 1, lines)
    if values.ndim == 2 and values.shape[1] == lines:  # one input
        return values[:, None, :]
    told = f"{path}: {what} has shape {values.shape}; give (outputs, inputs, {lines}), a matrix for each line"
    require(values.ndim == 3 and values.shape[2] == lines, told)
    return values


def _labels(content: Mapping[str, Any], word: str, count: int) -> tuple[Signal, ...]:
    """Return names and units of inputs or outputs."""
    found, units = (content.get(key) for key in (f"{word}s", f"{word}_units"))
    texts = [found] if isinstance(found, str) else found
    kinds = [units] if isinstance(units, str) else units
    given: list[str | Signal] | None = texts if isinstance(texts, list) else None
    if given is not None and isinstance(kinds, list):
        require(len(kinds) == len(given), f"{word}_units has {len(kinds)} entries for {len(given)} names")
        given = [Signal(str(name), unit) for name, unit in zip(given, kinds, strict=True)]
    return signals(word, given, count, "u" if word == "input" else "y")
