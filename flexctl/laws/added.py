"""Sequences that are added to the commands of a law, each through a reference channel of its own, `<input>_learnt`.

    u = sat(C x + Dy y + Dr r + v)

v is added before the limits, and an observer knows of it as of any other command. A law that is linear inside its
wrappers, or made of linear ones, stays so and keeps its compiled steps; to any other the wrapper `Added` adds v.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import require
from ..model import FloatArray
from ..support.kinds import AnyLaw
from .blended import Blended
from .controller import Controller, Delayed, LinearLaw, Noisy, Quantised, Saturated, _Wrapper, bare, not_a_law
from .scheduled import ScheduledLaw


def added_channel(drive: str) -> str:
    """Return the reference channel of an input: joint1_torque -> joint1_torque_learnt."""
    return f"{drive}_learnt"


@dataclass(frozen=True)
class Added(_Wrapper):
    """Any law whose commands get a sequence added, within limits."""

    lower: tuple[float, ...]
    upper: tuple[float, ...]

    @property
    def follows(self) -> tuple[str, ...]:
        """Channels of the law, then one for every input."""
        return (*self.law.follows, *(added_channel(drive) for drive in self.law.drives))

    def step(self, state: Any, t: float, y: FloatArray, r: FloatArray) -> tuple[FloatArray, Any]:
        """Call the law, then add."""
        own = 3 * len(self.law.follows)
        u, state = self.law.step(state, t, y, r[:own])
        return np.clip(np.asarray(u, float) + r[own::3], self.lower, self.upper), state


def with_added(law: AnyLaw, limits: Mapping[str, float] | None = None) -> Any:
    """Return a sampled law that also follows a channel `<input>_learnt` for every input, which is added to the command.

    Parameters
    ----------
    law : Controller
        Any sampled law.
    limits : dict, optional
        Largest size of the sum by input, for a law known by its step alone; others have their own.

    Examples
    --------
    >>> law = fx.LinearLaw(1e-3, ("joint1_angle",), ("joint1_torque",), Dy=[[-6.8]])
    >>> fx.with_added(law).follows
    ('joint1_torque_learnt',)
    """
    law = bare(law)
    if not isinstance(law, Controller):
        raise not_a_law(law)
    require(law.sample_time > 0, "the law is continuous; sequences are added to sampled laws")
    taken = {added_channel(drive) for drive in law.drives} & set(law.follows)
    require(not taken, f"the law follows {sorted(taken)} already")
    if isinstance(law, LinearLaw):
        return _linear(law)
    if isinstance(law, ScheduledLaw | Blended):
        return replace(law, laws=tuple(_linear(one) for one in law.laws))
    if isinstance(law, Delayed | Saturated | Quantised | Noisy) and not isinstance(_core(law), Added):
        return replace(law, law=with_added(law.law, limits))
    bounds = tuple((limits or {}).get(drive, np.inf) for drive in law.drives)
    return Added(law, tuple(-x for x in bounds), bounds)


def _core(law: Any) -> Any:
    while isinstance(law, _Wrapper) and not isinstance(law, Added):
        law = law.law
    return law


def _linear(law: LinearLaw) -> LinearLaw:
    count = len(law.drives)
    value = np.kron(np.eye(count), [[1.0, 0.0, 0.0]])
    return replace(
        law, follows=(*law.follows, *(added_channel(drive) for drive in law.drives)), Dr=np.hstack([law.Dr, value]),
        Br=np.pad(law.Br, ((0, 0), (0, 3 * count))),
    )
