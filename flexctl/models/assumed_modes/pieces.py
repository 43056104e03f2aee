"""Shape functions of a link that is not uniform: those of `shapes`, with their moments instead of their curvatures.

    psi'' = (E I at the root / E I) (phi'' + a + b x),    phi a shape of the uniform beam

The bending moment is smooth where the section changes and the curvature jumps: uniform shapes, which cannot jump, made
a link of two pieces 20 % too stiff with two modes, and converged as 1/n. psi keeps the conditions of phi at the root;
a and b, moments of a static force and moment at the end, keep those at the end (`clamped_clamped`, `clamped_pinned`;
the chord of `pinned_pinned` is turned back). Attachment shapes become the static shapes of the link itself. Where the
link is uniform psi is phi.

A moment that acts within the link, of a body with inertia or of a link that is joined there, makes the bending moment
jump: with attachment shapes there is one more for each such station, the link under a static moment there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from itertools import pairwise

import numpy as np

from ...machine.arm import Link
from ...model import FloatArray
from . import shapes

NODES = 48
"""Gauss nodes of a piece; half as many of a part of a profile."""
PARTS = 8
"""Parts of a link with a profile."""


class PieceShapes:
    """Shapes of a link that is not uniform, by station, with derivatives by station."""

    def __init__(
        self, link: Link, shape: str, modes: int, mass_ratio: float, attached: bool, bent: tuple[float, ...] = ()
    ) -> None:
        self.shape, self.modes, self.mass_ratio, self.attached, self.bent = shape, modes, mass_ratio, attached, bent
        pieces = link.profile is None
        edges = (0.0, *link.breaks, 1.0) if pieces else tuple(np.linspace(0.0, 1.0, PARTS + 1).tolist())
        self.edges = np.array(sorted({*edges, *bent}))
        self.rule = np.polynomial.legendre.leggauss(NODES if pieces else NODES // 2)
        root, degree = link.section_at(0.0).second_moment, 0 if pieces else NODES // 2

        def softer(x: FloatArray) -> FloatArray:
            return np.array([root / link.section_at(float(at)).second_moment for at in x])

        # the root's stiffness over that of each piece: a profile is asked for once
        fit = np.polynomial.Chebyshev.interpolate
        self.softness = [fit(softer, degree, domain=[a, b]) for a, b in pairwise(self.edges)]

    def __call__(self, s: FloatArray, derivative: int) -> FloatArray:
        """Return the derivative of modes and attachment shapes by the station, s.shape + (number,)."""
        turned, held = self._conditions
        psi = self._integrated(self._moments, s, derivative) - self._integrated(_linear, s, derivative) @ held
        chord = (s, np.ones_like(s), np.zeros_like(s))[derivative]
        return np.asarray((psi - chord[..., None] * turned) * self._scale)

    def _moments(self, s: FloatArray) -> FloatArray:
        phi = shapes.bending(self.shape, self.modes, s, 2, self.mass_ratio)
        if not self.attached:
            return phi
        more = shapes.attachment(self.shape, self.modes, s, 2, self.mass_ratio)
        steps = np.asarray(s[..., None] < np.array(self.bent), float)  # the moment of a unit moment at a station
        return np.concatenate([phi, more, steps], axis=-1)

    def _integrated(self, moments: Callable[[FloatArray], FloatArray], s: FloatArray, derivative: int) -> FloatArray:
        """Return the curvature of moments, its integral or its second integral from the root, where both are zero."""
        total, (nodes, weights) = 0.0 * moments(s), self.rule
        for k, (low, high) in enumerate(pairwise(self.edges)):
            softness = self.softness[k]
            if derivative == 2:
                here = (s >= low) & ((s < high) | (k == len(self.softness) - 1))
                total[here] = softness(s[here])[..., None] * moments(s[here])
                continue
            half = 0.5 * (np.clip(s, low, high) - low)[..., None]
            x = low + half * (nodes + 1.0)
            lever = np.ones_like(x) if derivative else s[..., None] - x
            total += np.einsum("...r,...rk->...k", half * weights * lever * softness(x), moments(x))
        return total

    @cached_property
    def _conditions(self) -> tuple[FloatArray, FloatArray]:
        """Return what meets the conditions at the end: the turn of the chord, parts of static moments (2 x shapes)."""
        end = np.ones(1)
        value, slope = (self._integrated(self._moments, end, k)[0] for k in (0, 1))
        static = np.array([self._integrated(_linear, end, k)[0] for k in (0, 1)])
        turned, held = np.zeros(value.size), np.zeros((2, value.size))
        if self.shape == "pinned_pinned":
            turned = value
        elif self.shape == "clamped_pinned":
            held[1] = value / static[0, 1]
        elif self.shape == "clamped_clamped":  # its attachment shapes move the end
            held[:, : self.modes] = np.linalg.solve(static, np.stack([value, slope]))[:, : self.modes]
        return turned, held

    @cached_property
    def _scale(self) -> FloatArray:
        """Return the factors that make a shape 1 at an end that moves, or at its largest."""
        turned, held = self._conditions
        x = np.linspace(0.0, 1.0, 101)
        psi = self._integrated(self._moments, x, 0) - self._integrated(_linear, x, 0) @ held - x[:, None] * turned
        if self.shape in ("clamped_free", "clamped_mass"):
            largest = np.abs(psi).max(axis=0)
            end = psi[-1]
            return np.asarray(1.0 / np.where(np.abs(end) > 0.1 * largest, end, largest))
        return np.asarray(1.0 / np.abs(psi).max(axis=0))


def _linear(s: FloatArray) -> FloatArray:
    """Return the moments of a static moment and of a static force at the end."""
    return np.stack([np.ones_like(s), 1.0 - s], axis=-1)
