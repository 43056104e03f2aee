"""Uncertain numbers of a plant: [uncertainty] of its file, a Gaussian of some of its numbers.

    [uncertainty]
    parameters = ["payload.mass", "joint.1.hub_inertia"]
    sigma = [2e-4, 1e-6]                               # standard deviations, in the units of the keys
    correlation = [[1.0, -0.3], [-0.3, 1.0]]           # optional; none without it
    source = "identified: multisine.npz, 2026-11-19"   # optional

All numbers are positive, so that the Gaussian is one of their logarithms: value exp(sigma / value xi), xi normal.
`draw` returns overrides; sweeps and certificates take their plants from it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import require, unknown
from ..machine.schema import shown
from ..model import FloatArray

KEYS = ("parameters", "sigma", "correlation", "source")


@dataclass(frozen=True)
class Uncertainty:
    """Standard deviations and correlation of numbers of a plant file.

    Attributes
    ----------
    parameters : tuple of str
        Dotted keys.
    sigma : tuple of float
        Standard deviations in the keys' units.
    correlation : tuple of tuple of float
        Of the logarithms; empty for none.
    source : str
        Where they come from.

    Examples
    --------
    >>> from flexctl.catalogue.uncertainty import Uncertainty
    >>> arm = fx.load_plant("tokhi_azad_1994", payload={"mass": 0.02})
    >>> drawn = Uncertainty(("payload.mass",), (1e-3,)).draw(arm, 3, seed=1)
    >>> [round(case["payload.mass"], 5) for case in drawn]
    [0.02035, 0.02083, 0.02033]
    """

    parameters: tuple[str, ...]
    sigma: tuple[float, ...]
    correlation: tuple[tuple[float, ...], ...] = ()
    source: str = ""

    def __post_init__(self) -> None:
        n = len(self.parameters)
        require(n > 0, "parameters is empty; name keys of the file, or leave [uncertainty] out")
        require(len(set(self.parameters)) == n, "a parameter is named twice")
        require(len(self.sigma) == n, f"sigma has {len(self.sigma)} numbers for {n} parameters")
        for key, value in zip(self.parameters, self.sigma, strict=True):
            real = (
                isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0
            )
            require(real, f"sigma of {key} = {value!r} must be a number, zero or above")
        if self.correlation:
            self._check_correlation(n)

    def _check_correlation(self, n: int) -> None:
        square = len(self.correlation) == n and all(len(row) == n for row in self.correlation)
        require(square, f"correlation must have {n} rows of {n} numbers")
        c = np.array(self.correlation, float)
        require(bool(np.isfinite(c).all()), "correlation holds values that are not numbers")
        require(bool(np.allclose(np.diag(c), 1.0, atol=1e-6)), "the diagonal of correlation must be 1")
        require(bool(np.allclose(c, c.T, atol=1e-6)), "correlation is not symmetric")
        least = float(np.linalg.eigvalsh(c)[0])
        require(
            least > -1e-6,
            f"correlation is not positive (smallest eigenvalue {least:.3g}): no numbers are correlated so",
        )

    def draw(self, plant: Any, count: int, seed: int = 0) -> list[dict[str, float]]:
        """Return overrides of so many plants, drawn about the values of a `Plant`; the same for the same seed."""
        rows = {row.key: row.value for row in plant.rows}
        given = [rows.get(key) for key in self.parameters]
        # what an override took away (a payload of 0) is known then
        at = [i for i, x in enumerate(given) if isinstance(x, int | float) and not isinstance(x, bool) and x > 0]
        values = np.array([float(given[i] or 0.0) for i in at])
        c = (np.array(self.correlation, float) if self.correlation else np.eye(len(given)))[np.ix_(at, at)]
        w, V = np.linalg.eigh(c)
        root = V * np.sqrt(np.maximum(w, 0.0))
        xi = np.random.default_rng(seed).standard_normal((count, len(at))) @ root.T
        drawn: FloatArray = values * np.exp(xi * np.array(self.sigma)[at] / values)
        keys = [self.parameters[i] for i in at]
        return [dict(zip(keys, map(float, row), strict=True)) for row in drawn]


def read_uncertainty(content: Any, rows: Sequence[Any]) -> Uncertainty | None:
    """Return what the table [uncertainty] says, None without one; every key must be a positive number of the file."""
    if content is None:
        return None
    require(isinstance(content, Mapping), f"{shown(content)} is not a table")
    for key in content:
        if key not in KEYS:
            raise unknown("key", str(key), KEYS)
    for key in ("parameters", "sigma"):
        require(key in content, f'missing key "{key}"; add it')
        require(isinstance(content[key], list), f"{key} = {shown(content[key])} is not a list")
    known = {row.key for row in rows if row.physical}
    for key in content["parameters"]:
        if key not in known:
            raise unknown("parameter", str(key), known)
    correlation = content.get("correlation", [])
    listed = isinstance(correlation, list) and all(isinstance(row, list) for row in correlation)
    require(listed, f"correlation = {shown(correlation)} is not a list of rows")
    numeric = all(isinstance(x, int | float) and not isinstance(x, bool) for row in correlation for x in row)
    require(numeric, "correlation holds something that is not a number")
    source = content.get("source", "")
    require(isinstance(source, str), f"source = {shown(source)} is not a text")
    return Uncertainty(
        tuple(content["parameters"]),
        tuple(content["sigma"]),
        tuple(tuple(map(float, row)) for row in correlation),
        source,
    )
