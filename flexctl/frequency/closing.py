"""How the loop that a loop gain belongs to goes on, by the poles that it has closed: rounding apart, see `decay`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import DefinitionError
from ..linear import FirstOrder, SecondOrder
from ..linear.decay import state_of
from ..linear.interconnect import closed_loop
from ..machine.given import as_first_order
from .loops import Series


def closed_state(loop: Any) -> str | None:
    """Return "stable", "MARGINAL" or "UNSTABLE" of (1 + L)^-1; None where its poles are not known."""
    known = FirstOrder | SecondOrder
    if isinstance(loop, Series) and isinstance(loop.first, known) and isinstance(loop.second, known):
        plant, law, sign = loop.first, as_first_order(loop.second), -loop.sign
    elif isinstance(loop, known):
        plant, sign = as_first_order(loop), -1.0
        law = replace(
            plant, A=np.zeros((0, 0)), B=np.zeros((0, len(loop.outputs))), C=np.zeros((len(loop.inputs), 0)),
            D=np.eye(len(loop.inputs)), states=(), inputs=loop.outputs, outputs=loop.inputs,
        )
    else:
        return None
    try:
        poles = closed_loop(plant, replace(law, C=sign * law.C, D=sign * law.D)).poles()
    except DefinitionError:  # signals that are not wired by their names, or an algebraic loop without a solution
        return None
    if law.dt:  # a pole at 0, a delay, is gone within a period
        poles = np.log(np.where(np.abs(poles) > 1e-12, poles, 1e-12).astype(complex)) / law.dt
    return state_of(np.asarray(poles, complex), law.dt)
