"""Materials and cross sections of links."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from .schema import Quantity, check


class Checked:
    """A data class whose fields are checked when an object is made."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class Material(Checked):
    """An isotropic elastic material.

    Examples
    --------
    >>> fx.Material(youngs_modulus=70e9, density=2700.0).density
    2700.0
    """

    youngs_modulus: Annotated[float, Quantity("Pa", 1e6, 2e12, "E: Young's modulus")]
    density: Annotated[float, Quantity("kg/m^3", 25.0, 25e3, "rho: mass per volume")]
    poisson_ratio: Annotated[float, Quantity("1", 0.0, 0.5, "nu: Poisson's ratio")] = 0.3

    @property
    def shear_modulus(self) -> float:
        """G = E / (2 (1 + nu)) [Pa]."""
        return self.youngs_modulus / (2.0 * (1.0 + self.poisson_ratio))


@dataclass(frozen=True)
class Section(Checked):
    """A beam cross section.

    Examples
    --------
    >>> section = fx.Section(area=4e-4, second_moment=1.333e-8)
    >>> print(f"{section.second_moment / section.area:.2e} m^2")
    3.33e-05 m^2
    """

    area: Annotated[float, Quantity("m^2", 1e-9, 0.5, "A: area")]
    second_moment: Annotated[float, Quantity("m^4", 1e-19, 0.02, "I: second moment of area about the bending axis")]
    shear_factor: Annotated[float, Quantity("1", 0.1, 1.0, "kt in the shear stiffness kt G A")] = 5.0 / 6.0
    outer_distance: (
        Annotated[float, Quantity("m", 1e-6, 1.0, "c: neutral axis to outermost fibre, strain = c curvature")] | None
    ) = None
    second_moment_y: (
        Annotated[
            float, Quantity("m^4", 1e-19, 0.02, "I about the other axis, for bending out of the plane (default I)")
        ]
        | None
    ) = None
    torsion_constant: (
        Annotated[float, Quantity("m^4", 1e-19, 0.04, "J in the torsional stiffness G J (default: sum of both I)")]
        | None
    ) = None

    @property
    def gyration_radius(self) -> float:
        """r = sqrt(I / A) [m]."""
        return float((self.second_moment / self.area) ** 0.5)


NO_MATERIAL, NO_SECTION = Material(1.0, 1.0), Section(1.0, 1.0)
"""The material of a massless link; recognised by identity, the numbers are never used."""
