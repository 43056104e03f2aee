"""`flexctl certify --float32`: what single precision costs the law."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..errors import NotAvailable
from . import specs
from .common import compact, print_table, stdout, table

if TYPE_CHECKING:
    from types import ModuleType

    from ..export.precision import SinglePrecision


def examined(script: ModuleType, arm: Any, scenario: str, kind: str | None) -> SinglePrecision | str:
    """Return what single precision costs the law of a script in a scenario, or why that is not known."""
    from ..export.precision import single_precision
    from ..judging.scenario import design, scenarios

    item = scenarios(script, arm, [scenario])[0]
    if kind is not None:
        item = item.in_formulation(specs.formulation(kind), arm)
    try:
        return single_precision(design(script, arm), arm, item)
    except NotAvailable as error:
        return str(error)


def as_json(found: SinglePrecision | str) -> dict[str, Any]:
    """Return it for JSON."""
    return {"float32": {"not_examined": found} if isinstance(found, str) else found.to_dict()}


def show(found: SinglePrecision | str) -> None:
    """Print it."""
    console = stdout()
    if isinstance(found, str):
        console.print(f"not examined: single precision: {found}\n", soft_wrap=True, markup=False)
        return
    listed = table("signal<", "largest", "changed by\nat most", "bound", "unit<")
    for name, lost in found.signals.items():
        bound = compact(lost.bound, 3) if math.isfinite(lost.bound) else "not known"
        listed.add_row(name.replace("_", " "), compact(lost.largest, 3), compact(lost.measured, 3), bound, lost.unit)
    print_table(f"The law in single precision ({found.scenario})", listed)
    told = f"poles of the law move by at most {found.pole_shift:.3g}"
    if found.unbounded:
        told += f"; no bound: {found.unbounded}"
    console.print(f"{told}\n", soft_wrap=True, markup=False)
