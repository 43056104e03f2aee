"""The linear part of a law: what poles, margins and robust bounds speak about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..abilities import LinearFeedback
from ..errors import DefinitionError, NotAvailable
from ..machine.given import is_control
from ..model import FloatArray, MechanicalModel, OperatingPoint, index_of
from .blended import Blended
from .controller import Controller, Delayed, LinearLaw, _Wrapper, inside, not_a_law
from .given import as_known
from .realised import realised


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
    return linear_part(law, lambda name: _reading(model, name, at))


def linear_part(law: Any, reading: Callable[[str], float]) -> Any:
    """Return the same, from what an output that schedules a law reads."""
    law = as_known(law)
    if isinstance(law, LinearLaw):
        return law.limited(-np.inf, np.inf)
    if isinstance(law, Blended):
        return law.frozen(reading(law.by)).limited(-np.inf, np.inf)
    if isinstance(law, Delayed):
        return replace(law, law=linear_part(law.law, reading))
    if isinstance(law, _Wrapper):  # saturated, quantised, noisy; a design
        return linear_part(law.law, reading)
    if isinstance(law, LinearFeedback) and isinstance(inside(law), LinearFeedback):
        return _Converted(law) if is_control(law.feedback()) else law
    if not isinstance(law, Controller):
        raise not_a_law(law)
    return realised(law, [reading(name) for name in law.measures], _at_rest(law, reading))


@dataclass(frozen=True)
class _Converted(_Wrapper):
    """A law that states its linear part as a system of python-control."""

    def step(self, state: Any, t: float, y: FloatArray, r: FloatArray) -> tuple[FloatArray, Any]:
        """Return the command and the next state of the law."""
        answer: tuple[FloatArray, Any] = self.law.step(state, t, y, r)
        return answer


def _at_rest(law: Any, reading: Callable[[str], float]) -> list[float]:
    """Return what the reference channels of a law are at rest: the reading of that name, 0 where there is none."""
    found = []
    for name in law.follows:
        try:
            found.append(reading(name))
        except DefinitionError:
            found.append(0.0)
    return found


def _reading(model: MechanicalModel, name: str, at: OperatingPoint | None) -> float:
    point = OperatingPoint.at_rest(model) if at is None else at
    return float(model.output(point.q, point.v, point.a, point.u)[index_of("output", name, model.outputs)])
