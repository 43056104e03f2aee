"""Values, loads and differences on a uniform mesh.

The mesh has n sections and nodes 0 .. n; a station is a distance divided by the length, 0 to 1. Values between nodes
are linear (second order); loads are the adjoint, so a point force and a displacement sensor at one station are
collocated.
"""

from __future__ import annotations

import math

import numpy as np

from ...model import FloatArray


def weights(station: float, n: int) -> FloatArray:
    """Return the weights of nodes 0 .. n that interpolate linearly at a station."""
    cell = min(int(station * n), n - 1)
    part = station * n - cell
    row = np.zeros(n + 1)
    row[cell], row[cell + 1] = 1.0 - part, part
    return row


def unit_load(start: float, end: float, n: int) -> FloatArray:
    """Return loads on nodes 0 .. n of a unit force spread evenly from start to end.

    They reproduce its resultant and its moment; start = end makes a point force.
    """
    if (end - start) * n < 1e-9:
        return weights(0.5 * (start + end), n)
    nodes = np.arange(n)
    low, high = (np.clip(station * n - nodes, 0.0, 1.0) for station in (start, end))
    covered, middle = high - low, 0.5 * (high + low)
    load = np.zeros(n + 1)
    load[:-1] += covered * (1.0 - middle)
    load[1:] += covered * middle
    total: FloatArray = load / ((end - start) * n)
    return total


def second_differences(n: int) -> FloatArray:
    """Return y_{i-1} - 2 y_i + y_{i+1} at i = 1 .. n-1 for y_1 .. y_n with y_0 = 0, (n - 1, n)."""
    full = np.eye(n - 1, n + 1) - 2.0 * np.eye(n - 1, n + 1, 1) + np.eye(n - 1, n + 1, 2)
    return full[:, 1:]


def short(x: float) -> float:
    """Return x rounded to 48 bits, so that its products with the small whole numbers of differences are exact.

    Stiffnesses of nodes then add up to nothing when the arm turns as a whole. Rounded one by one they hold it like a
    spring to the ground: 40 sections were 6e-9 off the final angle after 1.2 s.
    """
    part, exponent = math.frexp(x)
    return math.ldexp(round(math.ldexp(part, 48)), exponent - 48)
