"""Links as people know them: bending stiffness and mass per length, the frequency of the clamped link, taper.

A link needs a material and a section. What is measured tells E I and rho A and nothing else; the rest is chosen so that
it does not matter: the radius of gyration r of the section is L / 1000 (with `thickness` h it is h / sqrt(12)), and it
is as compact as a square, A = 12 r^2. Stretch, shear and rotary inertia then change the first frequency by parts in a
million.

    E I = m' (2 pi f)^2 L^4 / z^4,   1 + cos z cosh z + mu z (cos z sinh z - sin z cosh z) = 0,   mu = Mp / (m' L)

for a uniform link with the root clamped and a mass Mp at its end; of any other shape E is scaled by the square of the
measured frequency over that of the shape, which 16 cubic elements give to 1e-7.

Taper: thickness t and width w go linearly to a ratio of their values at the root; A ~ t w, I ~ t^3 w.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, Any

import numpy as np

from ..errors import require
from .arm import Link, Material, Section
from .schema import Quantity, schema

SLENDER = 1000.0
"""Length of a link by its radius of gyration, where that is not known."""
ELEMENTS = 16


@dataclass(frozen=True)
class Measured:
    """Keys of a link in place of material and section, or beside them; see the module docstring."""

    bending_stiffness: Annotated[
        float, Quantity("N m^2", 1e-9, 1e10, "E I, in place of material and section; needs mass_per_length")
    ] | None = None
    mass_per_length: Annotated[
        float, Quantity("kg/m", 1e-6, 1e4, "m': in place of material and section")
    ] | None = None
    clamped_frequency_hz: Annotated[
        float,
        Quantity("Hz", 1e-3, 1e5, "f: first frequency with the root clamped, as measured; sets E I, or scales E"),
    ] | None = None
    clamped_tip_mass: Annotated[
        float, Quantity("kg", 0.0, 1e4, "Mp: mass at the end while that was measured")
    ] = 0.0
    thickness: Annotated[
        float, Quantity("m", 1e-5, 1.0, "h: of a link known by E I; twice the distance of its outermost fibre")
    ] | None = None
    taper: Annotated[float, Quantity("1", 0.01, 10.0, "thickness at the end divided by that at the root")] = 1.0
    taper_width: Annotated[float, Quantity("1", 0.01, 10.0, "the same of the width")] = 1.0


@dataclass(frozen=True)
class Taper:
    """Sections of a link whose thickness and width change linearly, by station; see `machine.measured`."""

    root: Section
    thickness: float
    width: float

    def __call__(self, station: float) -> Section:
        """Return the section at a station, 0 at the root to 1."""
        t, w = (1.0 + (end - 1.0) * station for end in (self.thickness, self.width))
        root = self.root
        scaled: dict[str, float | None] = {
            "area": t * w * root.area, "second_moment": t**3 * w * root.second_moment,
            "outer_distance": None if root.outer_distance is None else t * root.outer_distance,
            "second_moment_y": None if root.second_moment_y is None else t * w**3 * root.second_moment_y,
            "torsion_constant": None if root.torsion_constant is None else t**3 * w * root.torsion_constant,
        }
        return replace(root, **scaled)  # type: ignore[arg-type]


def measured_link(
    length: float, *, material: Material | None = None, section: Section | None = None, **keys: Any
) -> Link:
    """Return a link from measurements of it.

    Parameters
    ----------
    length : float
        L [m].
    material, section
        Its material and section, where they are known.
    **keys
        `bending_stiffness` [N m^2] and `mass_per_length` [kg/m], or `mass_per_length` and `clamped_frequency_hz` [Hz]
        with `clamped_tip_mass` [kg], in place of material and section, or the frequency beside them; `thickness` [m];
        `taper`, `taper_width` [1]; any other field of a `Link`.

    Examples
    --------
    >>> link = fx.measured_link(0.419, mass_per_length=0.065 / 0.419, clamped_frequency_hz=3.1)
    >>> print(f"E I = {link.bending_stiffness:.6f} N m^2")
    E I = 0.146736 N m^2
    """
    known = schema(Measured)
    for name, value in keys.items():
        if name in known and not (value is None and known[name].default is None):
            known[name].spec.check(f"link: {name}", value)
    given: dict[str, Any] = {"length": length, **keys}
    if material is not None:
        given["material"] = material
    if section is not None:
        given["section"] = section
    return link_of(given)


def link_of(keys: Mapping[str, Any]) -> Link:
    """Return the link with some keys of `Measured` among those of a `Link`."""
    measured = Measured(**{key: value for key, value in keys.items() if key in schema(Measured)})
    rest = {key: value for key, value in keys.items() if key not in schema(Measured)}
    if measured == Measured():
        return Link(**rest)
    require(rest.get("kind", "flexible") == "flexible", "a massless link has no stiffness and no taper; leave them out")
    _check(measured, rest)
    if "section" not in rest:
        rest |= _equivalent(measured, rest["length"])
    if measured.taper != 1.0 or measured.taper_width != 1.0:
        rest["profile"] = Taper(rest["section"], measured.taper, measured.taper_width)
    link = Link(**rest)
    if measured.clamped_frequency_hz is None:
        return link
    scale = (measured.clamped_frequency_hz / clamped_frequency_hz(link, measured.clamped_tip_mass)) ** 2
    return replace(link, material=replace(link.material, youngs_modulus=link.material.youngs_modulus * scale))


def _check(measured: Measured, rest: Mapping[str, Any]) -> None:
    """Refuse keys that lack something or contradict each other."""
    made = [key for key in ("material", "section") if key in rest]
    known = [key for key in ("bending_stiffness", "mass_per_length") if getattr(measured, key) is not None]
    stiff, frequency = measured.bending_stiffness, measured.clamped_frequency_hz
    if made:
        require(len(made) == 2, f"a link with {made[0]} needs material and section, or neither")
        require(
            not known, f"{' and '.join(known)} stand in place of material and section; give the one or the other"
        )
        require(measured.thickness is None, "thickness is of a link without a section; this one has outer_distance")
    else:
        needs = "a link without material and section needs"
        require(measured.mass_per_length is not None, f"{needs} mass_per_length [kg/m]")
        both = (stiff is None) + (frequency is None)
        require(
            both == 1,
            f"{needs} bending_stiffness [N m^2] or clamped_frequency_hz [Hz]"
            f"{', not both' if both == 0 else ''}",
        )
    require(
        measured.clamped_tip_mass == 0 or frequency is not None,
        f"clamped_tip_mass = {measured.clamped_tip_mass:g} kg has no effect without clamped_frequency_hz; give it too",
    )
    tapered = measured.taper != 1.0 or measured.taper_width != 1.0
    pieces = rest.get("next_sections") or rest.get("profile")
    require(not (tapered and pieces), "a link has a taper, or next_sections, or a profile; give one of them")
    require(not tapered or not rest.get("kink"), "a tapered link has no kink: that would have the section of its root")
    kinked = frequency is not None and rest.get("kink")
    require(not kinked, "clamped_frequency_hz is of a link without a kink; leave one of them out")


def _equivalent(measured: Measured, length: float) -> dict[str, Any]:
    """Return material and section of a uniform link with this E I and m'."""
    m = float(measured.mass_per_length or 0.0)
    r = length / SLENDER if measured.thickness is None else measured.thickness / math.sqrt(12.0)
    EI = measured.bending_stiffness or m * length**4  # to be scaled
    area = 12.0 * r * r
    fibre = None if measured.thickness is None else 0.5 * measured.thickness
    section = Section(area, r * r * area, outer_distance=fibre)
    return {"material": Material(EI / section.second_moment, m / area), "section": section}


def clamped_frequency_hz(link: Link, tip_mass: float = 0.0) -> float:
    """Return the first natural frequency of a link with its root clamped [Hz], without shear and rotary inertia."""
    if link.uniform:
        z = clamped_root(tip_mass / (link.mass_per_length * link.length))
        omega = z * z / link.length**2 * math.sqrt(link.bending_stiffness / link.mass_per_length)
        return omega / (2.0 * math.pi)
    M, K = _matrices(link)
    M[-2, -2] += tip_mass
    half = np.linalg.inv(np.linalg.cholesky(K))
    return float(1.0 / math.sqrt(np.linalg.eigvalsh(half @ M @ half.T)[-1]) / (2.0 * math.pi))


def clamped_root(ratio: float) -> float:
    """Return the first root z of the frequency equation for a tip mass of `ratio` times the mass of the link."""

    def f(z: float) -> float:
        c, s, C, S = math.cos(z), math.sin(z), math.cosh(z), math.sinh(z)
        return 1.0 + c * C + ratio * z * (c * S - s * C)

    low, high = 1e-6, 1.9
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if f(middle) > 0.0 else (low, middle)
    return 0.5 * (low + high)


def _matrices(link: Link) -> tuple[Any, Any]:
    """Return mass and stiffness of a clamped link by cubic elements, for all deflections and slopes but the root's."""
    cuts = np.union1d(np.linspace(0.0, 1.0, ELEMENTS + 1), np.asarray(link.breaks, float))
    points, weights = np.polynomial.legendre.leggauss(6)
    n = cuts.size
    M, K = np.zeros((2 * n, 2 * n)), np.zeros((2 * n, 2 * n))
    for e, (low, high) in enumerate(pairwise(cuts.tolist())):
        h = (high - low) * link.length
        for x, w in zip(0.5 * (points + 1.0), 0.5 * weights * h, strict=True):
            section = link.section_at(float(low + x * (high - low)))
            N = np.array([1 - 3 * x**2 + 2 * x**3, h * (x - 2 * x**2 + x**3), 3 * x**2 - 2 * x**3, h * (x**3 - x**2)])
            B = np.array([12 * x - 6, h * (6 * x - 4), 6 - 12 * x, h * (6 * x - 2)]) / h**2
            at = slice(2 * e, 2 * e + 4)
            M[at, at] += w * link.material.density * section.area * np.outer(N, N)
            K[at, at] += w * link.material.youngs_modulus * section.second_moment * np.outer(B, B)
    return M[2:, 2:], K[2:, 2:]
