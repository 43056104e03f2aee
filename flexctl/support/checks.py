"""Numbers and matrices that users give: real, finite, of the right size, or an error that names them."""

from __future__ import annotations

import math
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
    require(ok, f"{name} = {_short(value)} is not a number" + (f"; give it in {unit}" if unit else ""))
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


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."
