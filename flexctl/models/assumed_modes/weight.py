"""Whether the links of a tree are so soft that their weight changes how they bend."""

from __future__ import annotations

import math

from ...machine.arm import Arm

SLENDER = 0.01
"""Part of the buckling load from which on the weight changes the bending of a link noticeably."""


def needs_shortening(arm: Arm) -> bool:
    """Return whether the weight beyond the root of a link is above 1 % of its buckling load, pi^2 EI / (2 L)^2."""
    g = math.hypot(*arm.gravity[:2])
    return any(
        link.kind == "flexible" and g * _mass_beyond(arm, i) > SLENDER * buckling(arm, i)
        for i, link in enumerate(arm.links)
    )


def buckling(arm: Arm, i: int) -> float:
    """Return the buckling load [N] of a link clamped at its root."""
    link = arm.links[i]
    softest = min(link.section_at(s).second_moment for s in (0.0, *link.breaks, 1.0))
    return math.pi**2 * link.material.youngs_modulus * softest / (2.0 * link.length) ** 2


def _mass_beyond(arm: Arm, i: int) -> float:
    """Return the mass [kg] of a link and of all that it carries."""
    link = arm.links[i]
    own = link.mass_per_length * link.length if link.kind == "flexible" else 0.0
    own += arm.joints[i].mass + sum(body.mass for body in arm.bodies if body.link == i + 1)
    own += arm.payload.mass * (i == arm.tip_link)
    return own + sum(_mass_beyond(arm, j) for j in range(len(arm.links)) if arm.parent(j) == i)
