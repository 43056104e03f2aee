"""Whether the numbers of an arm fit each other: the unit mistakes that no single bound can see.

For a link of length L with section area A, second moment I, radius of gyration r = sqrt(I / A):

    3 <= L / r <= 2e4             a beam, not a block and not a thread
    0.005 <= r / sqrt(A) <= 30    from a foil to a thin tube; a solid circle has 0.28
    r <= c <= 20 r                no fibre lies inside the radius of gyration, c the outermost one

and for the machine, with m the mass of links, joints and bodies, and J the inertia m (sum of lengths)^2 / 3:

    hub inertia <= 1e4 J,  payload mass <= 50 m,  payload inertia <= max(m, payload mass) (sum of lengths)^2.

Of an arm of massless links without bodies the payload is all there is to compare with: m is then its mass.

The bounds are generous; what lies beyond is a number in the wrong unit.
"""

from __future__ import annotations

from ..errors import require
from .arm import Arm, Section

SLENDERNESS = (3.0, 2e4)
SHAPE = (5e-3, 30.0)
FIBRE = 20.0
HUB_RATIO = 1e4
PAYLOAD_RATIO = 50.0


def check_plausible(arm: Arm) -> None:
    """Raise `DefinitionError` when two numbers of the arm cannot be in the same system of units."""
    for i, link in enumerate(arm.links, 1):
        if link.kind == "massless":
            continue
        for section in (link.section, *link.next_sections):
            _check_section(link.length or link.kink, section, f"[[link]] {i}: ")
    masses = [*(link.mass for link in arm.links), *(j.mass for j in arm.joints), *(b.mass for b in arm.bodies)]
    mass = sum(masses) or arm.payload.mass
    reach = sum(link.length + link.kink for link in arm.links)
    if mass == 0.0:
        return  # nothing has a mass: an inertia has none to be compared with
    for i, joint in enumerate(arm.joints, 1):
        ratio = joint.hub_inertia / (mass * reach**2 / 3)
        require(
            ratio <= HUB_RATIO,
            f"[[joint]] {i}: hub_inertia = {joint.hub_inertia:g} kg m^2 is {ratio:.3g} times the inertia of the "
            f"links and bodies, above the plausible bound {HUB_RATIO:g}; inertias are in kg m^2, check its unit",
        )
    _check_payload(arm, mass, reach)


def _check_section(length: float, section: Section, where: str) -> None:
    r = section.gyration_radius
    units = "check the units of length (m), area (m^2) and second_moment (m^4)"
    for label, value, (low, high) in (
        ("length / radius of gyration", length / r, SLENDERNESS),
        ("radius of gyration / sqrt(area)", r / section.area**0.5, SHAPE),
    ):
        ok = low <= value <= high
        require(ok, f"{where}{label} = {value:.3g} is outside the plausible range {low:g} ... {high:g}; {units}")
    if section.outer_distance is not None:
        c = section.outer_distance
        require(
            r * (1 - 1e-9) <= c <= FIBRE * r,
            f"{where}outer_distance = {c:g} m is outside {r:.3g} ... {FIBRE * r:.3g} m, which area and second_moment "
            "allow; check its unit (m)",
        )


def _check_payload(arm: Arm, mass: float, reach: float) -> None:
    payload = arm.payload
    require(
        payload.mass <= PAYLOAD_RATIO * mass,
        f"[payload]: mass = {payload.mass:g} kg is {payload.mass / mass:.3g} times the mass of the links and "
        f"bodies, above the plausible bound {PAYLOAD_RATIO:g}; masses are in kilograms "
        f"({payload.mass * 1e-3:.4g} if g was meant)",
    )
    bound = max(mass, payload.mass) * reach**2
    require(
        payload.inertia <= bound,
        f"[payload]: inertia = {payload.inertia:g} kg m^2 is above the plausible bound {bound:.3g} kg m^2, a body as "
        "large as the arm; inertias are in kg m^2, check its unit",
    )
