"""The exceptions of flexctl, and the wording that every message shares.

A message states the quantity, its value with unit, the bound, and the remedy.
"""

from __future__ import annotations

import difflib
import math
import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from .support.moved import renamed_signal

MOST, NEAREST = 40, 12
"""Up to so many known names are listed, else the nearest."""
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class FlexctlError(Exception):
    """Base of everything flexctl raises on purpose.

    Examples
    --------
    >>> issubclass(fx.DefinitionError, fx.FlexctlError)
    True
    """


class DefinitionError(FlexctlError, ValueError):
    """The input is wrong: a plant file, an override, an argument.

    Examples
    --------
    >>> try:
    ...     fx.load_plant("tokhi_azad_1995")
    ... except fx.DefinitionError as error:
    ...     print(str(error).splitlines()[0][:60])
    unknown plant "tokhi_azad_1995" (did you mean "tokhi_azad_19
    """


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
    growing : str
        What was growing before, by which factor and from when to when; empty where nothing was, or it is not known.

    Examples
    --------
    >>> error = fx.ConvergenceError("no convergence", time=0.1, iteration=20, residual=1e-3)
    >>> error.time
    0.1
    """

    def __init__(
        self, message: str, *, time: float = math.nan, iteration: int = 0, residual: float = math.nan, growing: str = ""
    ) -> None:
        super().__init__(message)
        self.time = time
        self.iteration = iteration
        self.residual = residual
        self.growing = growing


class NotAvailable(FlexctlError):
    """The thing asked for does not exist for this model or this installation.

    Examples
    --------
    >>> issubclass(fx.NotAvailable, fx.FlexctlError)
    True
    """


class WriteError(FlexctlError, OSError):
    """A result cannot be written although its path is valid: the disk is full, a quota is reached, a device is gone.

    Nothing half-written is left behind.

    Examples
    --------
    >>> issubclass(fx.WriteError, OSError)
    True
    """


class OutOfMemory(FlexctlError, MemoryError):
    """The arrays of a computation do not fit into memory.

    Examples
    --------
    >>> issubclass(fx.OutOfMemory, MemoryError)
    True
    """


class Caution(UserWarning):
    """Base of everything flexctl warns of: a number that is right, but says less than it seems to.

    Examples
    --------
    >>> issubclass(fx.Caution, UserWarning)
    True
    """


class AccuracyWarning(Caution):
    """A run is less accurate than asked for; the message names the outputs.

    Examples
    --------
    >>> issubclass(fx.AccuracyWarning, fx.Caution)
    True
    """


class DataWarning(Caution):
    """Measured data are worse than they look: saturated, quantised, drifting, without excitation where it is needed.

    Examples
    --------
    >>> issubclass(fx.DataWarning, fx.Caution)
    True
    """


def caution(message: str, category: type[Warning] = Caution) -> None:
    """Warn where the user's code called: at the first line on the way up that is not flexctl's."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and str(frame.f_globals.get("__name__")).partition(".")[0] == "flexctl":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def finished_first() -> Iterator[None]:
    """Keep warnings until the work is done: where they are errors none ends it half way, and one tells all of them."""
    caught: list[warnings.WarningMessage] = []
    done, raised = False, list[Warning]()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        done = True
    finally:
        for w in {(w.category, str(w.message)): w for w in caught}.values():
            try:
                warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)
            except Warning as error:
                raised.append(error)
        if done and raised:
            for other in raised[1:]:
                raised[0].add_note(f"{type(other).__name__}: {other}")
            raise raised[0]


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ``' (did you mean "x"?)'`` for the nearest known word, or an empty string; of an old name the new one."""
    word, words = str(word), list(known)  # what a user gives for a name may be anything
    if new := renamed_signal(word, words):
        return f' (it is now "{new}")'
    near = difflib.get_close_matches(word, words, n=1, cutoff=0.6)
    return f' (did you mean "{near[0]}"?)' if near else ""


def unknown(what: str, word: str, known: Iterable[str]) -> DefinitionError:
    """Return the error for a name that is not among the known ones."""
    names = sorted(known)
    shown = names if len(names) <= MOST else difflib.get_close_matches(word, names, NEAREST, 0.0)
    more = f" and {len(names) - len(shown)} more" if shown != names else ""
    return DefinitionError(f'unknown {what} "{word}"{did_you_mean(word, names)}; known: {listed(shown)}{more}')


def listed(names: Iterable[str]) -> str:
    """Return names for a message, in quotation marks when one of them holds a blank or a comma."""
    found = list(names)
    quoted = any(re.search(r"[\s,;\"]", name) for name in found)
    return ", ".join(f'"{name}"' if quoted else name for name in found) or "none"


def printable(text: str) -> str:
    """Return a text in which control characters are spelled out, ESC as ``\\x1b``: none reaches a terminal as such.

    Line ends and tabs stay; marks that turn the direction of writing are spelled out too.
    """
    return _UNPRINTABLE.sub(lambda found: repr(found[0])[1:-1], text)


def require(ok: bool, message: str) -> None:
    """Raise `DefinitionError` with the message unless the condition holds."""
    if not ok:
        raise DefinitionError(message)
