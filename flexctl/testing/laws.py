"""Checks that a control law keeps what its attributes promise: signals of `Controller`, abilities that it has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..abilities import LinearFeedback
from ..laws import abilities as able
from ..laws import controller as laws
from ..linear import FirstOrder
from ..model import names
from .abilities import check_signatures
from .differences import Array, claim


def _same_signals(one: Any, other: Any, what: str) -> None:
    for key, mine, its in (
        ("measures", one.measures, other.measures), ("drives", one.drives, other.drives),
        ("follows", one.follows, other.follows), ("sample_time", one.sample_time, other.sample_time),
    ):
        claim(mine == its, f"{what} changes {key} from {mine} to {its}")


def _feedback(law: Any) -> None:
    found = law.feedback()
    claim(isinstance(found, FirstOrder), f"feedback() is a {type(found).__name__}, not a FirstOrder")
    read, drive = tuple(names(found.inputs)), tuple(names(found.outputs))
    claim(read == tuple(law.measures), f"feedback() reads {read}, the law {law.measures}")
    claim(drive == tuple(law.drives), f"feedback() drives {drive}, the law {law.drives}")
    claim(found.dt == law.sample_time, f"feedback() has dt = {found.dt} s, the law {law.sample_time} s")


def _ranges(law: Any) -> None:
    for name, (low, high) in law.designed_for.items():
        claim(low < high, f"designed_for: {name} from {low} to {high}")


def _changes(law: Any) -> None:
    claim(list(law.times) == sorted(law.times), f"times {list(law.times)} are not ascending")
    for t in (-1.0, *law.times):
        _same_signals(law, law.at(t), f"at({t:g})")


def _scheduled(law: Any) -> None:
    claim(law.by in law.measures, f"by = {law.by} is not among what it measures, {law.measures}")
    claim(isinstance(law.frozen(0.0), LinearFeedback), "frozen(0.0) is no linear law")


def _several(law: Any) -> None:
    claim(len(law.laws) > 0, "laws is empty")
    for one in law.laws:
        claim(tuple(one.drives) == tuple(law.drives), f"a law inside drives {one.drives}, not {law.drives}")


ABILITIES: dict[Any, Callable[[Any], None]] = {
    able.StartsFromReadings: lambda law: None,  # checked with the steps
    LinearFeedback: _feedback,
    able.DesignedForRange: _ranges,
    able.Limited: lambda law: claim(float(law.limit) > 0, f"limit = {law.limit} is not positive"),
    able.AroundLaw: lambda law: claim(isinstance(law.law, laws.Controller), "law is not a controller"),
    able.OfSeveralLaws: _several,
    able.ChangesAtTimes: _changes,
    able.ScheduledByReading: _scheduled,
    able.NeedsReferences: lambda law: None,  # checked with the references
}
"""Every ability of a law, and what is checked of each law that has it."""


def check_law(
    law: Any, y: Sequence[float] | Array | None = None, references: Mapping[str, Any] | None = None
) -> list[str]:
    """Check a control law; return the names of its abilities.

    Parameters
    ----------
    law : Controller
        Any law.
    y : sequence of float, optional
        What it measures at rest; zero by default.
    references : mapping, optional
        A motion for each channel that it follows; those that need references in advance are checked with them.
    """
    claim(isinstance(law, laws.Controller), f"a {type(law).__name__} is not a flexctl.Controller")
    check_signatures(law, laws.Controller)
    found = [protocol for protocol in ABILITIES if isinstance(law, protocol)]
    for protocol in found:
        check_signatures(law, protocol)
        if not (protocol is LinearFeedback and not _is_linear(law)):
            ABILITIES[protocol](law)
    known = laws.with_references(law, references or {}) if references else law
    _same_signals(law, known, "with_references")
    if law.sample_time > 0:
        _steps(known, np.zeros(len(law.measures)) if y is None else np.asarray(y, float))
    return [protocol.__name__ for protocol in found]


def _is_linear(law: Any) -> bool:
    """Whether the innermost law has a linear part; wrappers pass the question on."""
    return isinstance(list(laws.layers(law))[-1], LinearFeedback)


def _steps(law: Any, y: Array) -> None:
    """Check that two runs of a few steps are the same: the state is passed, never stored."""
    r = np.zeros(3 * len(law.follows))

    def commands() -> Array:
        state, found = laws.initial_at(law, y), []
        for k in range(5):
            t = k * law.sample_time
            u, state = laws.check_answer(law.step(state, t, y.copy(), r.copy()), law, t)
            found.append(u.copy())
        return np.array(found)

    np.testing.assert_array_equal(commands(), commands(), err_msg="a second run of the law differs from the first")


