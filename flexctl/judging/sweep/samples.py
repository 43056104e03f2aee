"""Which values a sweep takes: a grid, random points, or a Latin hypercube.

    payload.mass=0,10g,20g                 a list
    payload.mass=0..20g                    a range, for random points and Latin hypercubes
    payload.mass=0..20g/5                  a range of 5 equal steps for a grid;  1e-6..1e-2/5log  in equal ratios
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import DefinitionError, require, unknown

METHODS = ("grid", "random", "lhs")


@dataclass(frozen=True)
class Span:
    """A continuous range of values.

    Attributes
    ----------
    low, high : float
        Its ends.
    points : int
        Number of values of a grid; 0: not stated.
    logarithmic : bool
        Whether values are spread evenly in their logarithm.

    Examples
    --------
    >>> fx.Span(0.0, 0.02, 3)
    Span(low=0.0, high=0.02, points=3, logarithmic=False)
    """

    low: float
    high: float
    points: int = 0
    logarithmic: bool = False

    def __post_init__(self) -> None:
        finite = math.isfinite(self.low) and math.isfinite(self.high)
        require(finite and self.low < self.high, f"range {self.low:g} .. {self.high:g}: low < high, both finite")
        require(not self.logarithmic or self.low > 0, f"range {self.low:g} .. {self.high:g}: a logarithm needs low > 0")
        require(self.points >= 0 and self.points != 1, f"a range of {self.points} points; give 2 or more")

    def at(self, part: float) -> float:
        """Return the value at a fraction 0 to 1 of the range."""
        if self.logarithmic:
            return float(self.low * (self.high / self.low) ** part)
        return float(self.low + (self.high - self.low) * part)


Values = Span | tuple[Any, ...]


def as_values(name: str, given: Any) -> Values:
    """Return a span or a tuple of values from what a user gives in Python."""
    if isinstance(given, Span):
        return given
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
        raise DefinitionError(f"sweep over {name}: give a list of values or a flexctl.Span, not {given!r}")
    values = tuple(value.item() if hasattr(value, "item") else value for value in given)
    require(bool(values), f"sweep over {name}: the list of values is empty")
    return values


def drawn(over: Mapping[str, Values], method: str, count: int | None, seed: int) -> list[dict[str, Any]]:
    """Return the cases: one mapping from name to value each.

    Parameters
    ----------
    over : mapping
        Name -> span or values.
    method : str
        "grid", "random" or "lhs" (Latin hypercube).
    count : int, optional
        Number of random points or of the hypercube's.
    seed : int
        Seed of the random numbers: the same cases for the same seed.
    """
    if method not in METHODS:
        raise unknown("way to sample", method, METHODS)
    require(bool(over), "there is nothing to sweep over; name at least one parameter")
    if method == "grid":
        require(count is None, "a grid has as many points as its values make; leave the count out, or sample otherwise")
        lists = [_listed(name, values) for name, values in over.items()]
        return [dict(zip(over, combination, strict=True)) for combination in itertools.product(*lists)]
    require(count is not None and count > 0, f"{method}: say how many points, count = N")
    n = int(count or 0)
    rng = np.random.default_rng(seed)
    parts = rng.random((n, len(over)))
    if method == "lhs":
        # every parameter has one point in each of n equal parts of its range
        strata = np.array([rng.permutation(n) for _ in over]).T
        parts = (strata + parts) / n
    return [{name: _taken(v, float(x)) for (name, v), x in zip(over.items(), row, strict=True)} for row in parts]


def _listed(name: str, values: Values) -> tuple[Any, ...]:
    if not isinstance(values, Span):
        return values
    require(values.points > 0, f"sweep over {name}: a grid needs values or a number of points, LOW..HIGH/POINTS")
    return tuple(values.at(i / (values.points - 1)) for i in range(values.points))


def _taken(values: Values, part: float) -> Any:
    if isinstance(values, Span):
        return values.at(part)
    return values[min(int(part * len(values)), len(values) - 1)]
