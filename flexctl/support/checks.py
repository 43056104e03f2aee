"""Numbers and matrices that users give: real, finite, of the right size, or an error that names them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import DefinitionError, require


def number(name: str, value: Any, unit: str = "") -> float:
    """Return a finite real number, or raise `DefinitionError` that says what was given instead."""
    found = real(name, value, unit)
    require(math.isfinite(found), f"{name} = {found} {unit}".rstrip() + " must be finite")
    return found


def real(name: str, value: Any, unit: str = "") -> float:
    """Return a real number, which may be infinite or NaN."""
    if np.ndim(value) == 0 and isinstance(value, np.ndarray):
        value = value.item()
    ok = isinstance(value, Real) and not isinstance(value, bool)
    if not ok:
        raise DefinitionError(f"{name} = {_short(value)} is not a number" + (f"; give it in {unit}" if unit else ""))
    return float(value)


def positive(name: str, value: Any, unit: str = "") -> float:
    """Return a positive finite number."""
    found = real(name, value, unit)
    require(0.0 < found < math.inf, f"{name} = {found} {unit}".rstrip() + " must be positive and finite")
    return found


def real_array(name: str, value: Any) -> npt.NDArray[np.float64]:
    """Return an array of real numbers; a complex one is refused, whose imaginary part would be lost without a word."""
    try:
        found = np.array(value)
        require(found.dtype.kind != "c", f"{name} is complex; it must be real")
        return found.astype(float, casting="unsafe" if found.dtype.kind == "O" else "same_kind")
    except (TypeError, ValueError) as error:
        if isinstance(error, DefinitionError):
            raise
        raise DefinitionError(f"{name} = {_short(value)} is not an array of real numbers") from error


def each(name: str, value: Any, count: int, sign: str = "") -> npt.NDArray[np.float64]:
    """Return one number per channel of what was given as one for all or one for each.

    Parameters
    ----------
    name : str
        What it is.
    value : array_like
        One number, or as many as there are channels.
    count : int
        Number of channels.
    sign : str
        "positive" or "zero or positive": refuses others, and those that are not finite; empty: any number.
    """
    given = real_array(name, value).ravel()
    require(given.size in (1, count), f"{given.size} numbers for {name}, {count} channels; give one, or one each")
    proper = not sign or bool(np.isfinite(given).all() and (given > 0 if sign == "positive" else given >= 0).all())
    require(proper, f"{name} = {value} must be {sign} and finite")
    return np.array(np.broadcast_to(given, (count,)))


def square_matrix(name: str, value: Any) -> npt.NDArray[np.float64]:
    """Return a square matrix of real numbers."""
    found = real_array(name, value)
    square = found.ndim == 2 and found.shape[0] == found.shape[1]
    require(square, f"{name} has shape {found.shape}; give a square matrix")
    return found


def complex_numbers(name: str, value: Any, unit: str) -> npt.NDArray[np.complex128]:
    """Return one complex number or a row of them as a row."""
    try:
        found = np.atleast_1d(np.asarray(value)).astype(complex, casting="same_kind")
    except (TypeError, ValueError) as error:
        raise DefinitionError(f"{name} = {_short(value)} is not a row of complex numbers [{unit}]") from error
    require(found.ndim == 1, f"{name} has shape {found.shape}; give a row of complex numbers [{unit}]")
    return found


def several(name: str, value: Any, example: str) -> list[Any]:
    """Return the entries of a sequence; a single value, a text and a mapping are refused with how it is written."""
    single = np.ndim(value) == 0 if isinstance(value, np.ndarray) else not isinstance(value, Iterable)
    wrong = single or isinstance(value, str | bytes | Mapping)
    if wrong:  # the text is written where it is needed: printing an array takes longer than a short run
        raise DefinitionError(f"{name} = {_short(value)} is not a sequence; write {example}")
    return list(value)


def table(name: str, value: Any, example: str) -> dict[Any, Any]:
    """Return a mapping as a dict; anything else is refused with how it is written."""
    if not isinstance(value, Mapping):
        raise DefinitionError(f"{name} = {_short(value)} is not a mapping; write {example}")
    return dict(value)


def whole(name: str, value: Any) -> int:
    """Return a whole number, also one that is written as 3.0."""
    found = number(name, value)
    require(found == int(found), f"{name} = {found:g} is not a whole number")
    return int(found)


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."


def is_number(text: str) -> bool:
    """Return whether a text is a number, nan and inf included."""
    try:
        float(text)
    except ValueError:
        return False
    return True
