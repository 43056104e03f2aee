"""What flexctl raises, and the wording that every message shares.

A message states the quantity, its value with unit, the bound, and the remedy.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable


class FlexctlError(Exception):
    """Base of everything flexctl raises on purpose."""


class DefinitionError(FlexctlError, ValueError):
    """The input is wrong: a plant file, an override, an argument."""


class ConvergenceError(FlexctlError, ArithmeticError):
    """A computation failed numerically; nothing is returned in its place.

    Attributes
    ----------
    time : float
        Simulated time of the failure [s]; NaN outside a time integration.
    iteration : int
        Iteration at which the computation was given up.
    residual : float
        Size of the remaining residual.
    """

    def __init__(self, message: str, *, time: float = math.nan, iteration: int = 0, residual: float = math.nan) -> None:
        super().__init__(message)
        self.time = time
        self.iteration = iteration
        self.residual = residual


class NotAvailable(FlexctlError):
    """The thing asked for does not exist for this model or this installation."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ``' (did you mean "x"?)'`` for the nearest known word, or an empty string."""
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f' (did you mean "{near[0]}"?)' if near else ""


def unknown(what: str, word: str, known: Iterable[str]) -> DefinitionError:
    """Return the error for a name that is not among the known ones."""
    names = sorted(known)
    return DefinitionError(f'unknown {what} "{word}"{did_you_mean(word, names)}; known: {", ".join(names) or "none"}')


def require(ok: bool, message: str) -> None:
    """Raise `DefinitionError` with the message unless the condition holds."""
    if not ok:
        raise DefinitionError(message)
