"""One period of a law as data: the chain of its wrappers taken apart, for the writers of code.

    y    rounded to each set of quanta, the outermost wrapper first
    v    = C x + Dy y + Dr r of the law that is on, or the blend of several; limited by the law
    x+   = A x + By y + Br r + Bu v
    u    = v clipped to the limit of `Saturated`, then late by the periods of `Delayed`

Clipping to symmetric limits and delaying commute, so that the order of those wrappers does not matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..abilities import LinearFeedback
from ..errors import DefinitionError, NotAvailable, require
from ..laws.blended import Blended
from ..laws.controller import Delayed, LinearLaw, Noisy, Quantised, Saturated, _Wrapper, layers
from ..laws.governed import Governed
from ..laws.motion_command import MotionCommand
from ..laws.scheduled import ScheduledLaw
from ..model import FloatArray, Signal
from ..simulation.grid import samples
from .sampled import Sampling

PARTS = ("value", "rate", "acceleration")
"""The parts of a reference channel."""
REST = 1e-9
"""Part of its largest rate below which a motion is at rest."""
NEAR = 1e-4
"""Distance from the unit circle below which rounding to single precision may matter to a pole."""


@dataclass(frozen=True, eq=False)
class Program:
    """One period of a law.

    Attributes
    ----------
    law : Any
        The law in Python of which this is the program: what runs must equal its `step`.
    laws : tuple of LinearLaw
        The linear law, or those of the blend, or those that are on one after the other.
    switches : tuple of int
        Number of the period with which the second, third, ... law takes over; empty for a blend.
    blend : Blended, optional
        How the laws are blended by a reading.
    quanta : tuple of ndarray
        Quanta of the readings, the outermost wrapper first, 0 where a reading is exact.
    limit : float
        Of the wrapper `Saturated`; infinite without one.
    delay : int
        Periods by which the command is late.
    measures, drives, follows : tuple of Signal
        Signals with units.
    table : ndarray, optional
        Value, rate, acceleration of every reference channel at every period, known in advance; the last row goes on.
    notes : tuple of str
        What was left out or changed.
    about : mapping
        Further remarks on the law, by heading.
    """

    law: Any
    laws: tuple[LinearLaw, ...]
    switches: tuple[int, ...]
    blend: Blended | None
    quanta: tuple[FloatArray, ...]
    limit: float
    delay: int
    measures: tuple[Signal, ...]
    drives: tuple[Signal, ...]
    follows: tuple[Signal, ...]
    table: FloatArray | None = None
    notes: tuple[str, ...] = ()
    about: Mapping[str, str] = field(default_factory=dict)

    @property
    def sample_time(self) -> float:
        """Control period [s]."""
        return self.laws[0].sample_time

    @property
    def own(self) -> int:
        """Number of readings that the linear laws take; a blend may read one more."""
        return len(self.laws[0].measures)

    @property
    def states(self) -> tuple[int, ...]:
        """Number of states of each law that runs: one for laws that follow each other, which share them."""
        return tuple(len(law.A) for law in (self.laws if self.blend else self.laws[:1]))

    @property
    def counts(self) -> bool:
        """Whether the program must know the number of the period."""
        return bool(self.switches) or self.table is not None

    def used(self, key: str) -> bool:
        """Whether a matrix of any law has an entry that is not zero."""
        return any(bool(np.any(getattr(law, key))) for law in self.laws)

    def varies(self, key: str) -> bool:
        """Whether laws that follow each other differ in a matrix or limit."""
        return bool(self.switches) and any(
            not np.array_equal(getattr(law, key), getattr(self.laws[0], key)) for law in self.laws[1:]
        )

    def near_the_circle(self) -> int:
        """Return how many of a law's own poles lie within `NEAR` of the unit circle, of the law that has most."""
        poles = (np.linalg.eigvals(law.A + law.Bu @ law.C) for law in self.laws if len(law.A))
        return max((int(np.sum(np.abs(np.abs(z) - 1.0) < NEAR)) for z in poles), default=0)


def program_of(law: Any, units: Units, sampling: Sampling, references: Mapping[str, Any] | None, path: Any) -> Program:
    """Take a law apart.

    Parameters
    ----------
    law : Controller
        A law with its wrappers; `Design` is one of them.
    units : Units
        Gives signals their units.
    sampling : Sampling
        How a continuous law is sampled, if it may be.
    references : mapping, optional
        Motion of every reference channel, where they are known in advance.
    path : callable
        Takes a governed law that knows its references; returns the references that it makes of them, period by period.
    """
    notes: list[str] = []
    law = _without_noise(law, notes)
    law, effect = sampling.applied(law)
    table = None
    if any(type(layer) is Governed for layer in layers(law)):
        law, table = _ungoverned(law, references, path, notes)
    elif references is not None:
        table = _table(law, references, notes)
    quanta, limit, delay, inner = _wrappers(law)
    laws, switches = _laws(inner)
    blend = inner if isinstance(inner, Blended) else None
    return Program(
        law, laws, switches, blend, quanta, limit, delay,
        tuple(units.output(name) for name in law.measures), tuple(units.input(name) for name in law.drives),
        tuple(units.reference(name) for name in law.follows), table, tuple(notes), effect,
    )


@dataclass(frozen=True)
class Units:
    """Signals of the plant by name; others have no known unit."""

    outputs: Mapping[str, Signal]
    inputs: Mapping[str, Signal]

    def output(self, name: str) -> Signal:
        """Return a plant output."""
        return self.outputs.get(name, Signal(name, ""))

    def input(self, name: str) -> Signal:
        """Return a plant input."""
        return self.inputs.get(name, Signal(name, ""))

    def reference(self, name: str) -> Signal:
        """Return a reference channel: an output, an input, or the torque that is fed forward to one."""
        known = {**self.inputs, **self.outputs}
        if name not in known and name.endswith("_feedforward"):
            joint = name.removesuffix("_feedforward")
            drive = next((s for s in self.inputs.values() if s.name.rsplit("_", 1)[0] == joint), None)
            return Signal(name, drive.unit if drive else "")
        return Signal(name, known[name].unit if name in known else "")


def derivative(unit: str, order: int) -> str:
    """Return the unit of a rate (1) or acceleration (2)."""
    if not unit or not order:
        return unit
    base = f"({unit})" if "/" in unit or " " in unit else unit
    return f"{base}/s{'^2' if order == 2 else ''}"


def _without_noise(law: Any, notes: list[str]) -> Any:
    """Return the law without `Noisy`, and note that."""
    if type(law) is Noisy:
        told = ", ".join(f"{name} {deviation:g}" for name, deviation in law.deviations.items())
        notes.append(f"measurement noise ({told}) is left out: it belongs to the simulation")
        return _without_noise(law.law, notes)
    if isinstance(law, _Wrapper):
        inner = _without_noise(law.law, notes)
        if law.informs:
            return inner
        return law if inner is law.law else replace(law, law=inner)
    return law


def _wrappers(law: Any) -> tuple[tuple[FloatArray, ...], float, int, Any]:
    """Return quanta, limit and delay of the wrappers, and the law inside; a subclass of one of them may differ."""
    quanta: list[FloatArray] = []
    limit, delay = np.inf, 0
    while type(law) in (Delayed, Saturated, Quantised):
        if type(law) is Delayed:
            delay += int(law.samples)
        elif type(law) is Saturated:
            limit = min(limit, float(law.limit))
        else:
            quanta.append(law.steps)
        law = law.law
    return tuple(quanta), limit, delay, law


def _laws(law: Any) -> tuple[tuple[LinearLaw, ...], tuple[int, ...]]:
    """Return the linear laws inside all wrappers, and when they change."""
    if type(law) is LinearLaw:
        return (law,), ()
    if type(law) is Blended:
        return tuple(law.laws), ()
    if type(law) is ScheduledLaw:
        return tuple(law.laws), switches(law)
    name = type(law).__name__
    if isinstance(law, _Wrapper):
        raise NotAvailable(
            f"the wrapper {name} cannot be written as code: only Delayed, Saturated, Quantised and Noisy can; "
            "put what it does into the law"
        )
    remedy = (
        f"give {name}.feedback() with a sample_time to LinearLaw (A, By = B, C, Dy = D), and export that"
        if isinstance(law, LinearFeedback)
        else f"export the LinearLaw that fx.realised({name}(..), readings) finds if its step is linear, or write the "
        "law as matrices: LinearLaw, ScheduledLaw or blended, in the wrappers Delayed, Saturated, Quantised"
    )
    raise NotAvailable(f"{name} is a class of its own whose step cannot be written as code; {remedy}")


def switches(law: ScheduledLaw) -> tuple[int, ...]:
    """Return the number of the period at which each law but the first takes over, as `ScheduledLaw.phase` says."""
    period = law.sample_time
    found = []
    for number, time in enumerate(law.times, 1):
        k = max(0, int(np.floor(time / period)) - 2)
        while law.phase(k * period) < number:
            k += 1
        found.append(k)
    return tuple(found)


def _table(law: Any, references: Mapping[str, Any], notes: list[str]) -> FloatArray:
    """Return value, rate, acceleration of every channel at every period until all motions have ended."""
    motions = []
    for name in law.follows:
        if name not in references:
            raise DefinitionError(f'no reference for channel "{name}"; given: {sorted(references)}')
        motions.append(references[name])
    require(bool(motions), "the law follows no reference that could become a table; leave scenario and references out")
    longest = max(float(motion.duration) for motion in motions)
    require(bool(np.isfinite(longest)), f"a reference goes on for ever (duration {longest} s): it has no table")
    t = law.sample_time * np.arange(int(np.ceil(longest / law.sample_time)) + 2)
    each = [samples(name, motion, t, law.sample_time) for name, motion in zip(law.follows, motions, strict=True)]
    table = np.ascontiguousarray(np.vstack(each).T)
    require(bool(np.isfinite(table).all()), "a reference is not finite")
    if moves_on(table):
        notes.append("a reference does not end at rest: its last row, which goes on, has a rate or acceleration")
    return table


def moves_on(table: FloatArray) -> bool:
    """Whether references have a rate or acceleration in the last row of their table, rounding aside."""
    moving = np.arange(table.shape[1]) % 3 > 0
    return bool(np.any(np.abs(table[-1, moving]) > REST * np.abs(table[:, moving]).max(axis=0)))


def _ungoverned(
    law: Any, references: Mapping[str, Any] | None, path: Any, notes: list[str]
) -> tuple[Any, FloatArray]:
    """Return the law inside the governor, and the references that the governor gave it in a run."""
    if references is None:
        raise NotAvailable(
            "a governed law slows the references that it knows in advance: name them, --scenario NAME (Python: "
            'scenario="NAME", or references={channel: motion}); what it makes of them in that run becomes a table'
        )
    known = law.with_references(references)
    table = path(known)
    notes.append(
        "the governor's pace is the one of the recorded run: the table holds the references that it gave to its law "
        "there; the code does not decide again"
    )
    return _unwrapped(law), table


def _unwrapped(law: Any) -> Any:
    """Return the law without the governor."""
    if type(law) is Governed:
        return law.law
    return replace(law, law=_unwrapped(law.law))


def commanded_accelerations(law: MotionCommand, sample_time: float) -> LinearLaw:
    """Return the sampled law whose commands are the accelerations of the joints that are driven by motion."""
    count = len(law.joints)
    return LinearLaw(
        sample_time, (), law.drives, law.follows, Dr=np.kron(np.eye(count), np.array([[0.0, 0.0, 1.0]]))
    )
