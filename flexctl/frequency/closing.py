"""Whether the loop that a loop gain belongs to is stable, by the poles that it has closed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import DefinitionError
from ..linear import FirstOrder, SecondOrder
from ..linear.interconnect import closed_loop
from ..machine.given import as_first_order
from .loops import Series


def growth(loop: Any) -> float | None:
    """Return the largest growth of (1 + L)^-1 [1/s], negative of a stable loop; None where its poles are not known."""
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
    if not poles.size:
        return -np.inf
    return float(np.log(np.abs(poles).max()) / law.dt) if law.dt else float(poles.real.max())
