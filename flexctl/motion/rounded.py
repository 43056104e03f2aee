"""Straight sides with blended corners: the curvature rises from zero and falls back to it without a kink.

    heading along a blend of length l:   psi(u) = turn (10 u^3 - 15 u^4 + 6 u^5),     u = (s - s_begin) / l

A tip can go through such a corner without stopping; the curve is three times continuously differentiable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import require
from ..model import FloatArray
from ..support.checks import positive
from .curves import Point, Polyline, Sample

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)


@dataclass(frozen=True)
class Rounded:
    """Straight sides from point to point whose corners are blended; where it begins and ends it is sharp.

    Attributes
    ----------
    points : sequence of (float, float)
        Corners [m].
    reach : float
        What a blend takes off each of its two sides [m].
    closed : bool
        Whether the last side ends at the first point.

    Examples
    --------
    >>> box = fx.Rounded([(1.4, -0.2), (1.8, -0.2), (1.8, 0.2), (1.4, 0.2)], 0.1, closed=True)
    >>> print(f"{box.length:.3f} m instead of 1.6 m, {1e3 * box.cut:.1f} mm off the corners")
    1.510 m instead of 1.6 m, 28.2 mm off the corners
    """

    points: Sequence[Point]
    reach: float
    closed: bool = False
    cut: float = field(init=False)
    """Largest distance of a corner from the curve [m]."""
    _pieces: FloatArray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        positive("reach", self.reach, "m")
        line = Polyline(self.points, self.closed)
        p = np.vstack([line._p[0], *line._p[1:-1], line._p[-1]])
        sides = np.linalg.norm(np.diff(p, axis=0), axis=1)
        taken = self.reach * (np.r_[0.0, np.ones(len(p) - 2)] + np.r_[np.ones(len(p) - 2), 0.0])
        short = int(np.argmin(sides - taken))
        require(
            bool(sides[short] >= taken[short] - 1e-12),
            f"reach = {self.reach} m does not fit into side {short + 1} of {sides[short]:g} m: at most "
            f"{self.reach * sides[short] / max(taken[short], 1e-300):g} m",
        )
        object.__setattr__(self, "_pieces", self._laid(p, sides - taken))
        object.__setattr__(self, "cut", self._cut(p))

    def _laid(self, p: FloatArray, straight: FloatArray) -> FloatArray:
        """Return the pieces, side and blend in turn: begin of the arc length, length, x, y, heading, turn."""
        heads = np.arctan2(*np.diff(p, axis=0).T[::-1])
        turns = (np.diff(heads) + np.pi) % (2.0 * np.pi) - np.pi
        back = np.abs(np.abs(turns) - np.pi) < 1e-6
        require(not back.any(), "two sides lie on each other: a path that turns back has no blend there")
        rows, s, here = [], 0.0, p[0]
        for k, (head, length) in enumerate(zip(heads, straight, strict=True)):
            rows.append([s, length, *here, head, 0.0])
            s, along = s + length, np.array([np.cos(head), np.sin(head)])
            if k < len(turns):
                blend = 2.0 * self.reach * np.cos(0.5 * turns[k]) / _chord(turns[k])
                rows.append([s, blend, *(p[k + 1] - self.reach * along), head, turns[k]])
                s, following = s + blend, heads[k + 1]
                here = p[k + 1] + self.reach * np.array([np.cos(following), np.sin(following)])
        return np.array(rows)

    def _cut(self, p: FloatArray) -> float:
        """Return the largest distance of a corner from the middle of its blend."""
        middle = self._pieces[1::2, 0] + 0.5 * self._pieces[1::2, 1]
        away = self(middle, np.zeros(middle.size, int))[0] - p[1:-1]
        return float(np.linalg.norm(away, axis=-1).max(initial=0.0))

    @property
    def length(self) -> float:
        """Length of sides and blends [m]."""
        return float(self._pieces[-1, 0] + self._pieces[-1, 1])

    @property
    def corners(self) -> tuple[float, ...]:
        """None: the tangent does not jump."""
        return ()

    def __call__(self, s: FloatArray, piece: npt.NDArray[Any]) -> Sample:
        """Return point, tangent and curvature vector at arc length s [m]."""
        s = np.asarray(s, float)
        k = np.clip(np.searchsorted(self._pieces[:, 0], s, side="right") - 1, 0, len(self._pieces) - 1)
        begin, length, x, y, head, turn = np.moveaxis(self._pieces[k], -1, 0)
        u = (s - begin) / np.maximum(length, 1e-300)
        psi = head + turn * _step(u)
        between = head[..., None] + turn[..., None] * _step(0.5 * u[..., None] * (1.0 + _NODES))
        gone = 0.5 * (s - begin)
        place = np.stack([x + gone * (np.cos(between) @ _WEIGHTS), y + gone * (np.sin(between) @ _WEIGHTS)], axis=-1)
        along = np.stack([np.cos(psi), np.sin(psi)], axis=-1)
        bend = (turn * 30.0 * (u * (1.0 - u)) ** 2 / np.maximum(length, 1e-300))[..., None]
        return place, along, bend * np.stack([-along[..., 1], along[..., 0]], axis=-1)


def _step(u: FloatArray) -> FloatArray:
    return np.asarray(u**3 * (10.0 + u * (-15.0 + 6.0 * u)))


def _chord(turn: float) -> float:
    """Return the distance between the ends of a blend of length 1."""
    psi = turn * (_step(0.5 * (1.0 + _NODES)) - 0.5)
    return float(0.5 * (np.cos(psi) @ _WEIGHTS))
