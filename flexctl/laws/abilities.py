"""Abilities of control laws beyond `Controller`: a law has one by having the attributes.

`flexctl.testing.check_law` checks each one of every law that has it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from ..abilities.ability import Ability
from ..model import FloatArray


@runtime_checkable
class NeedsReferences(Protocol, metaclass=Ability):
    """A law that needs its references in advance, or has one inside that may; `simulate` gives them before the run."""

    def with_references(self, references: Mapping[str, Any]) -> Any:
        """Return the law that knows the motion of each reference channel, by name."""
        ...


@runtime_checkable
class StartsFromReadings(Protocol, metaclass=Ability):
    """A law whose first state depends on what it reads: an observer that knows where the arm stands."""

    def initial_at(self, y: FloatArray) -> Any:
        """Return the state with which a run begins when the measured outputs are y; else it is `initial`."""
        ...


@runtime_checkable
class DesignedForRange(Protocol, metaclass=Ability):
    """A law that is good for a range of plant outputs only: a run that leaves it is warned of."""

    @property
    def designed_for(self) -> Mapping[str, tuple[float, float]]:
        """Output -> (low, high), in its unit."""
        ...


@runtime_checkable
class Limited(Protocol, metaclass=Ability):
    """A law whose command stays within [-limit, limit]."""

    limit: float


@runtime_checkable
class AroundLaw(Protocol, metaclass=Ability):
    """A law around another one: what reads, limits or delays it. A data class, so that the law can be replaced."""

    law: Any


@runtime_checkable
class OfSeveralLaws(Protocol, metaclass=Ability):
    """A law made of several with the same signals."""

    laws: Sequence[Any]


@runtime_checkable
class ChangesAtTimes(Protocol, metaclass=Ability):
    """A law that is another one at other times."""

    times: Sequence[float]
    """Times at which the next one takes over [s], ascending."""

    def at(self, t: float) -> Any:
        """Return the law that is on at time t [s]."""
        ...


@runtime_checkable
class ScheduledByReading(Protocol, metaclass=Ability):
    """A law that is another linear one at other values of an output."""

    by: str
    """The output."""

    def frozen(self, value: float) -> Any:
        """Return the linear law that acts while the output stays at a value."""
        ...
