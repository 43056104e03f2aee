"""Loops that correct little of what steps do wrong, so that sums of local errors which forget say less than there is.

One rings for long, see `ringing`. Another lets its joints go far beyond where they are asked to be: an arm of several
links is as good as free then, and errors grow. Where either is so a second run is to tell, see `second_look`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..kernels.schemes import SCHEMES
from ..model import FloatArray, names
from .defaults import DEFAULT
from .ringing import ringing

if TYPE_CHECKING:
    from .run import Run

RINGS = 0.6
"""Part of rtol from which on it matters what a ringing puts off. Chosen: what is raised of the sums covers less."""
FAR = 1.0
"""So far [rad] may a joint go beyond all that it is asked before its loop is not trusted to correct errors. Chosen: of
148 random loops the one that was 30 times further off than claimed went 4 rad beyond, most good ones 0.5 at most."""


def corrects_little(run: Run) -> bool:
    """Whether errors of a step stay, or grow, in the loop of a run, as they do without a law."""
    if run.setup.method not in SCHEMES or run.sticks:  # runs that stick are taken in halves anyway
        return False
    return _rings(run) or _flails(run)


def beyond(y: FloatArray, asked: FloatArray) -> float:
    """Return how far a signal goes beyond where it begins and all that it is asked to be, in its unit."""
    low, high = min(float(asked.min()), float(y[0])), max(float(asked.max()), float(y[0]))
    return max(float(y.max()) - high, low - float(y.min()))


def _rings(run: Run) -> bool:
    """Whether the loop of a sampled law rings for so long that this matters."""
    setup, rows = run.setup, run.accuracy.controlled
    if not run.looped:
        return False
    acting: Any = (*setup.references.values(), *setup.inputs.values(), *setup.motions.values())
    breaks = [b for signal in acting for b in signal.breakpoints] + [row[0] for row in setup.payload]
    y = run.record.y[:, rows]
    off = ringing(run.t, y, breaks, 4 if setup.scheme.stages > 1 else 2)
    return bool(np.any(off > RINGS * (setup.rtol or DEFAULT) * np.ptp(y, axis=0)))


def _flails(run: Run) -> bool:
    """Whether the law, sampled or not, lets a joint go further than it is asked."""
    law, outputs = run.setup.law, run.setup.model.outputs
    if law is None or not law.measures:
        return False
    place = {name: i for i, name in enumerate(names(outputs)) if outputs[i].unit == "rad"}
    return any(
        beyond(run.record.y[:, place[name]], asked) > FAR for name, asked in run.channels.items() if name in place
    )
