"""Beam elements of a link: how many, where they end, and the section properties of each.

Stiffness is that at the middle of an element; the mass of a tapered one is its mean by Simpson's rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import DefinitionError, require
from ..machine.arm import Arm, Link, Section
from ..model import FloatArray
from .bodies import NEAR, places


class Properties(NamedTuple):
    """Stiffnesses EA, kt G A [N], E I [N m^2], and mass and inertia per length of elements; the same in space.

    Bending in the plane x-y of the link has E I and rho I, out of it E I2 and rho I2; torsion has G J.
    """

    EA: FloatArray
    GA: FloatArray
    EI: FloatArray
    rhoA: FloatArray
    rhoI: FloatArray
    EI2: FloatArray
    rhoI2: FloatArray
    GJ: FloatArray


def link_stations(arm: Arm, elements: int | Sequence[int], what: str = "elements") -> list[FloatArray]:
    """Return the nodes of every link, s / L, with so many elements (`what` they are called) per link."""
    counts = element_counts(arm, elements, what)
    pairs = enumerate(zip(arm.links, counts, strict=True), 1)
    return [element_stations(link, count, i, what, places(arm, i - 1)) for i, (link, count) in pairs]


def element_counts(arm: Arm, elements: int | Sequence[int], what: str = "elements") -> list[int]:
    """Return the number of elements of each link."""
    given: list[Any] = [elements] * len(arm.links) if isinstance(elements, int | np.integer) else list(elements)
    require(
        len(given) == len(arm.links), f"{what} = {given}: give one number, or one for each of {len(arm.links)} links"
    )
    for count in given:
        whole = isinstance(count, int | np.integer) and not isinstance(count, bool)
        require(
            whole and bool(1 <= count <= 5000), f"{what} = {count!r} per link must be a whole number from 1 to 5000"
        )
    return [int(count) for count in given]


def element_stations(
    link: Link, count: int, number: int, what: str = "elements", bodies: Sequence[float] = ()
) -> FloatArray:
    """Return the nodes of link `number`, s / L; the breaks of its section and places of bodies are among them."""
    known = [0.0, *link.breaks, 1.0]
    for place in bodies:
        if min(abs(place - x) for x in known) > NEAR:
            known.append(place)
    edges = np.array(sorted(known))
    pieces = edges.size - 1
    if count < pieces:
        between = " (between breaks and bodies)" if pieces > len(link.breaks) + 1 else ""
        raise DefinitionError(
            f"link {number} has {pieces} pieces{between} and needs at least as many {what}, got {count}"
        )
    shares = np.diff(edges) * count
    each = np.maximum(1, np.floor(shares).astype(int))
    while each.sum() < count:  # to the piece with the longest elements
        each[np.argmax(np.diff(edges) / each)] += 1
    while each.sum() > count:
        each[np.argmin(np.where(each > 1, np.diff(edges) / each, np.inf))] -= 1
    parts = [np.linspace(a, b, n, endpoint=False) for a, b, n in zip(edges[:-1], edges[1:], each, strict=True)]
    return np.append(np.concatenate(parts), 1.0)


def element_properties(link: Link, stations: FloatArray) -> Properties:
    """Return the properties of the elements between stations of a link."""
    E, G, rho = link.material.youngs_modulus, link.material.shear_modulus, link.material.density
    at = [link.section_at(float(s)) for s in 0.5 * (stations[:-1] + stations[1:])]
    A, I, I2, J = _areas(at)
    kt = np.array([s.shear_factor for s in at])
    mean = np.array([A, I, I2])
    if link.profile is not None:
        ends = _areas([link.section_at(float(s)) for s in stations])[:3]
        mean = (ends[:, :-1] + 4 * mean + ends[:, 1:]) / 6
    return Properties(E * A, kt * G * A, E * I, rho * mean[0], rho * mean[1], E * I2, rho * mean[2], G * J)


def _areas(sections: Sequence[Section]) -> FloatArray:
    """Return A, I, I about the other axis, and the torsion constant, one column per section."""
    rows = []
    for s in sections:
        other = s.second_moment if s.second_moment_y is None else s.second_moment_y
        torsion = s.second_moment + other if s.torsion_constant is None else s.torsion_constant
        rows.append((s.area, s.second_moment, other, torsion))
    return np.array(rows).T
