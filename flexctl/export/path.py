"""References that are known in advance: those of a scenario, and what a governor makes of them in a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import DefinitionError, require
from ..judging.scenario import scenarios
from ..laws.controller import _Wrapper, bare
from ..laws.governed import Governed, Pace
from ..model import FloatArray
from ..simulation.simulate import simulate
from .program import moves_on
from .provenance import design_of

if TYPE_CHECKING:
    from . import Request

LONGER = 6.0
"""A governed run without a scenario lasts so many times the motion."""


@dataclass(frozen=True, eq=False)
class _Recording(Governed):
    """A governed law that keeps the references that it gives, by period."""

    rows: dict[int, FloatArray] = field(default_factory=dict)

    def _slowed(self, pace: Pace, t: float, r: FloatArray) -> FloatArray:
        slowed = super()._slowed(pace, t, r)
        self.rows[round(t / self.sample_time)] = np.array(slowed, float)
        return slowed


def slowed(request: Request) -> tuple[Mapping[str, Any] | None, Callable[[Any], FloatArray]]:
    """Return the motions of a request, None without any, and what runs a governed law that knows them."""
    options, law = request.options, request.thing
    name, given = options.get("scenario"), options.get("references")
    if name is not None:
        require(given is None, "references and a scenario are given; leave one of them out")
        if request.script is None:
            raise DefinitionError(f'scenario = "{name}": the law comes without a script, which alone knows scenarios')
        item = replace(scenarios(request.script, request.plant, [name])[0], law=None)
        return item.motions(law), lambda known: _run(known, lambda told: item.run(told, request.plant))
    if given is not None and not isinstance(given, Mapping):
        given = dict.fromkeys(law.follows, given)
    design = design_of(law)
    arm = request.plant if request.plant is not None or design is None else design.plant

    def run(known: Any) -> FloatArray:
        require(arm is not None, "a governed law must be run to know its references: give the plant, plant=...")
        motions: Mapping[str, Any] = given or {}
        duration = LONGER * max(float(motion.duration) for motion in motions.values())
        return _run(known, lambda told: simulate(arm, told, motions, duration=duration))

    return given, run


def _run(law: Any, run: Callable[[Any], Any]) -> FloatArray:
    """Return the references that a governed law gave in a run, up to where they rest for good."""
    rows: dict[int, FloatArray] = {}
    run(_recorded(bare(law), rows))
    table = np.array([rows[k] for k in sorted(rows)])
    ends = np.any(table != table[-1], axis=1)
    last = int(np.flatnonzero(ends)[-1]) + 1 if ends.any() else 0
    remedy = "give a scenario that lasts longer"
    require(not moves_on(table), f"the governed motion has not ended when the run does: {remedy}")
    return np.ascontiguousarray(table[: last + 1])


def _recorded(law: Any, rows: dict[int, FloatArray]) -> Any:
    if type(law) is Governed:
        return _Recording(**{item.name: getattr(law, item.name) for item in fields(law)}, rows=rows)
    return replace(law, law=_recorded(law.law, rows)) if isinstance(law, _Wrapper) else law
