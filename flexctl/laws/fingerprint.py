"""Which law it is, in numbers: what is made for one law is refused with another.

The numbers are samples of the law's own responses from every reading and reference to every command, with its rate,
delay, limits and signals. They do not depend on the coordinates of its states, nor on the last digits that another
machine rounds otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import DefinitionError, NotAvailable
from .blended import Blended
from .controller import Delayed, LinearLaw, Noisy, Quantised, Saturated, bare
from .faults import Frozen, Missed
from .scheduled import ScheduledLaw

_AT = (0, 1, 2, 4, 8, 16, 32, 64)
"""Samples at which the responses are compared."""
_ALIKE = 1e-5
"""Part of the largest by which two responses of one law may differ."""
_LOOKED_THROUGH = Quantised | Noisy
_FAULTS = Frozen | Missed
"""A law with a fault is the law that it was: what was made for it is what meets the fault."""


@dataclass(frozen=True)
class Fingerprint:
    """The signals, and samples of the responses, by which two laws differ.

    Attributes
    ----------
    signals : str
        Rate, delay, limits, names.
    numbers : tuple of tuple of float
        Responses, a row for every pair of a command and a reading or reference.
    """

    signals: str
    numbers: tuple[tuple[float, ...], ...]

    def difference(self, other: Fingerprint) -> str:
        """Return in what another law differs, empty if it is the same."""
        if self.signals != other.signals:
            return f"it is {other.signals}, made for {self.signals}"
        for own, given in zip(self.numbers, other.numbers, strict=True):
            size = max(abs(x) for x in own)
            off = max(abs(a - b) for a, b in zip(own, given, strict=True))
            if off > _ALIKE * max(size, 1e-12):
                return f"its gains differ by {off / max(size, 1e-300):.2g} of their size"
        return ""

    def to_dict(self) -> dict[str, Any]:
        """Return both for JSON."""
        return {"signals": self.signals, "numbers": [list(row) for row in self.numbers]}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Fingerprint:
        """Return what `to_dict` wrote."""
        return cls(str(given["signals"]), tuple(tuple(float(x) for x in row) for row in given["numbers"]))


def linear_core(law: Any, through: Any = _LOOKED_THROUGH) -> tuple[LinearLaw, int]:
    """Return the linear law inside its wrappers and its delay in samples; encoders and noise are looked through."""
    law, delay = bare(law), 0
    while not isinstance(law, LinearLaw):
        if isinstance(law, Delayed):
            delay += law.samples
        elif isinstance(law, Saturated) and isinstance(law.law, LinearLaw) and not np.any(law.law.Bu):
            return law.law.limited(np.maximum(law.law.lower, -law.limit), np.minimum(law.law.upper, law.limit)), delay
        elif not isinstance(law, through):
            raise NotAvailable(f"{type(law).__name__} is not a linear law with limits and a delay")
        law = bare(law.law)
    return law, delay


def fingerprint(law: Any) -> Fingerprint:
    """Return what tells a sampled law that is linear, or made of linear ones, in its wrappers, from any other."""
    several = _several(law)
    if several is None:
        return _of_linear(*linear_core(law, _LOOKED_THROUGH | _FAULTS))
    made, delay = several
    parts = [_of_linear(one, delay) for one in made.laws]
    kind = [float(f"{x:.9g}") for x in (made.points if isinstance(made, Blended) else made.times)]
    told = f"{len(parts)} laws {'by ' + made.by if isinstance(made, Blended) else 'by time'} at {kind}, the first "
    return Fingerprint(told + parts[0].signals, tuple(row for part in parts for row in part.numbers))


def _several(law: Any) -> tuple[Blended | ScheduledLaw, int] | None:
    """Return laws that are blended or take over from each other, and the delay of their wrappers; None for others."""
    law, delay = bare(law), 0
    while isinstance(law, Delayed | _LOOKED_THROUGH | _FAULTS):
        delay += law.samples if isinstance(law, Delayed) else 0
        law = bare(law.law)
    return (law, delay) if isinstance(law, Blended | ScheduledLaw) else None


def _of_linear(core: LinearLaw, delay: int) -> Fingerprint:
    limits = [f"{low:.6g} to {high:.6g}" for low, high in zip(core.lower, core.upper, strict=True)]
    signals = (
        f"{list(core.measures)} -> {list(core.drives)} within {limits}, following {list(core.follows)}, every "
        f"{core.sample_time:.9g} s, {delay} samples late"
    )
    A, B, D = core.A + core.Bu @ core.C, np.hstack([core.By, core.Br]), np.hstack([core.Dy, core.Dr])
    B = B + core.Bu @ D
    found, x = [D], B
    for k in range(1, _AT[-1] + 1):
        if k in _AT:
            found.append(core.C @ x)
        x = A @ x
    rows = np.moveaxis(np.array(found), 0, -1).reshape(-1, len(_AT))
    return Fingerprint(signals, tuple(tuple(float(x) for x in row) for row in rows))


def check_made_for(law: Any, made_for: Mapping[str, Fingerprint | None]) -> None:
    """Raise `DefinitionError` unless a law is the one for which commands were made, by name of channel or file."""
    for name, wanted in made_for.items():
        if wanted is None:  # made for a law that is known by its step alone
            continue
        try:
            different = wanted.difference(fingerprint(law))
        except NotAvailable as error:
            different = str(error)
        if different:
            raise DefinitionError(
                f"the command of {name} was optimised through the loop of another law ({different}); make it again "
                "with optimal_command for this one"
            )
