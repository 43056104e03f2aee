"""Up to which size of a motion a linear plant holds, as blocks of a page."""

from __future__ import annotations

import numpy as np

from ...judging.validity import PARTED, LinearValidity
from ..plot.canvas import words
from . import page


def of_validity(found: LinearValidity) -> list[page.Block]:
    """Return up to where prediction and run agree, the deviation of every output over the size, and the numbers."""
    apart = np.isfinite(found.parting)
    told = f"Linear plant and arm part ({100 * PARTED:g} %) {found.where(found.parting)}."
    size, part = page.axis("times the signals", log=True), page.axis("part of the range", log=True)
    off = {name: there for name, x in found.outputs.items() if np.isfinite(there := _there(x)).any()}
    series = [
        page.curve(words(name), found.amplitudes, x, **page.one_of(k)) for k, (name, x) in enumerate(off.items())
    ]
    drawn = page.chart("Deviation from the linear prediction", size, part, series, lines=[{"y": PARTED}])
    rows = [[words(name), *off, found.errors.get(name, np.array([np.nan])).max(), _at(found, factor)]
            for name, factor in found.partings.items() for off in [found.outputs[name]]]
    heads = ["output<", *(f"at {a:g}\ntimes" for a in found.amplitudes), "may be\noff by", "5 % at\ntimes"]
    failed = [page.text(f"No run at {a:g} times: {why}", "bad") for a, why in found.failures.items()]
    parted = page.text(told) if apart else page.text(told, "good")
    return [
        parted, *failed, page.charts([drawn], linked=False),
        page.table("Largest deviation, as a fraction of the predicted range", heads, rows),
    ]


def _there(off: np.ndarray) -> np.ndarray:
    """Return deviations that can be drawn: finite and above zero."""
    return np.where(np.isfinite(off) & (off > 0.0), off, np.nan)


def _at(found: LinearValidity, factor: float) -> object:
    if not np.isfinite(factor):
        return {"text": "not in this range", "key": 1e308}
    below = factor <= found.amplitudes[0]
    return {"text": f"<= {factor:.3g}", "key": factor} if below else factor
