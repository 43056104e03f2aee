"""The linear part of a law: what poles, margins and robust bounds speak about."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..abilities import LinearFeedback
from ..errors import DefinitionError, NotAvailable
from ..machine.given import is_control
from ..model import FloatArray, MechanicalModel, OperatingPoint, index_of
from .blended import Blended
from .controller import Controller, Delayed, LinearLaw, _Wrapper, inside, not_a_law
from .given import as_known, feedback_of
from .realised import check_stated, realised


def linear_law(law: Any, model: MechanicalModel, at: OperatingPoint | None = None) -> Any:
    """Return the law without its limits, quantisation and noise; one that schedules is frozen at an operating point.

    Parameters
    ----------
    law : Controller
        Any law. Of one that has only `step`, the linear part is found numerically (`flexctl.laws.realised`);
        `NotAvailable` is raised where that is not linear about rest, and for a law that measures nothing.
    model : MechanicalModel
        The plant's model.
    at : OperatingPoint, optional
        By default the model's reference pose at rest.
    """
    law = as_known(law)
    if isinstance(law, Controller) and not law.measures:
        raise NotAvailable(f"{type(law).__name__} measures nothing: there is no loop, so no poles and no margins")
    point = OperatingPoint.at_rest(model) if at is None else at
    y = model.output(point.q, point.v, point.a, point.u)
    rest = Holding(
        lambda name: float(point.u[index_of("input", name, model.inputs)]),
        {signal.name for signal in model.outputs if "/s" in signal.unit},
    )
    return linear_part(law, lambda name: float(y[index_of("output", name, model.outputs)]), rest)


class Holding(NamedTuple):
    """The commands that hold an arm at rest, and the outputs that are zero wherever it is at rest."""

    command: Callable[[str], float]
    moving: Collection[str]


def linear_part(law: Any, reading: Callable[[str], float], rest: Holding | None = None) -> Any:
    """Return the same, from what an output that schedules a law reads, and what holds the arm at rest."""
    law = as_known(law)
    if isinstance(law, LinearLaw):
        return law.limited(-np.inf, np.inf)
    if isinstance(law, Blended):
        return law.frozen(reading(law.by)).limited(-np.inf, np.inf)
    if isinstance(law, Delayed):
        return replace(law, law=linear_part(law.law, reading, rest))
    if isinstance(law, _Wrapper):  # saturated, quantised, noisy; a design
        return linear_part(law.law, reading, rest)
    if isinstance(law, LinearFeedback) and isinstance(inside(law), LinearFeedback):
        return _stated(law, reading)
    if not isinstance(law, Controller):
        raise not_a_law(law)
    y, r = [reading(name) for name in law.measures], _at_rest(law, reading)
    if rest is None:
        return realised(law, y, r)
    return realised(law, y, r, [rest.command(name) for name in law.drives], [x in rest.moving for x in law.measures])


def _stated(law: Any, reading: Callable[[str], float]) -> Any:
    """Return a law that states its linear part, which must be that of its `step`."""
    if isinstance(law, Controller) and law.sample_time > 0.0:
        check_stated(law, feedback_of(law), [_known(reading, name) for name in law.measures], _at_rest(law, reading))
    return _Converted(law) if is_control(law.feedback()) else law


@dataclass(frozen=True)
class _Converted(_Wrapper):
    """A law that states its linear part as a system of python-control."""

    def step(self, state: Any, t: float, y: FloatArray, r: FloatArray) -> tuple[FloatArray, Any]:
        """Return the command and the next state of the law."""
        answer: tuple[FloatArray, Any] = self.law.step(state, t, y, r)
        return answer


def _at_rest(law: Any, reading: Callable[[str], float]) -> list[float]:
    """Return what the reference channels of a law are at rest: the reading of that name, 0 where there is none."""
    return [_known(reading, name) for name in law.follows]


def _known(reading: Callable[[str], float], name: str) -> float:
    try:
        return reading(name)
    except (DefinitionError, KeyError):
        return 0.0
