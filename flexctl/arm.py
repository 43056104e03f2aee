"""What a machine is: links, joints, sections, materials, payload. Frozen, checked, SI.

An `Arm` is data only. A solver (`flexctl.models`) turns it into a mechanical model; `flexctl.catalogue` reads it from a
plant file and knows where every number comes from. Each field states its unit, its plausible range and its meaning once
(see `flexctl.schema`): a new field here is a new key of the plant files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from .errors import require
from .schema import Ascending, Choice, Count, Name, Quantity, Reference, References, check


class _Checked:
    """A data class whose fields are checked when an object is made."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class Material(_Checked):
    """An isotropic elastic material."""

    youngs_modulus: Annotated[float, Quantity("Pa", 1e6, 2e12, "E: Young's modulus")]
    density: Annotated[float, Quantity("kg/m^3", 25.0, 25e3, "rho: mass per volume")]
    poisson_ratio: Annotated[float, Quantity("1", 0.0, 0.5, "nu: Poisson's ratio")] = 0.3

    @property
    def shear_modulus(self) -> float:
        """G = E / (2 (1 + nu)) [Pa]."""
        return self.youngs_modulus / (2.0 * (1.0 + self.poisson_ratio))


@dataclass(frozen=True)
class Section(_Checked):
    """A beam cross section."""

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


@dataclass(frozen=True)
class Link(_Checked):
    """A flexible link, uniform or of several pieces with one section each, and a kink (offset post) before it.

    `profile` (in Python only) is a section for every station, its distance from the root divided by the length. In
    space: from the joint the kink goes along the joint's axis z, from there the link along x, and the next joint's axis
    is z turned about x by the twist (Hartenberg-Denavit). The kink of a prismatic joint is what slides.
    """

    length: Annotated[float, Quantity("m", 1e-3, 100.0, "L: length; 0 for a link that is only a kink", zero=True)]
    material: Annotated[Material, Reference("material", "what it is made of")]
    section: Annotated[Section, Reference("section", "its cross section, or that of the piece at the root")]
    next_sections: Annotated[tuple[Section, ...], References("section", "sections of the pieces that follow")] = ()
    breaks: Annotated[
        tuple[float, ...], Ascending("1", 0.0, 1.0, "where each of them begins: distance from the root divided by L")
    ] = ()
    profile: Callable[[float], Section] | None = None
    kink: Annotated[
        float, Quantity("m", 0.0, 100.0, "s: offset along the joint's axis before the link; prismatic: free length")
    ] = 0.0
    kink_kind: Annotated[
        str, Choice(("flexible", "rigid"), "flexible: a beam with the section at the root; rigid: has its mass only")
    ] = "flexible"
    twist: Annotated[float, Quantity("rad", -7.0, 7.0, "from this joint's axis to the next one, about the link")] = 0.0

    def __post_init__(self) -> None:
        check(self)
        require(
            self.length > 0 or self.kink > 0,
            f"length = {self.length:g} m must be positive, or the link needs a kink; lengths are in metres",
        )
        require(self.length > 0 or self.uniform, "a link of length 0 has no pieces and no profile: leave them out")
        needed = self.kink > 0 or self.kink_kind == "flexible"
        require(needed, f'kink_kind = "{self.kink_kind}" has no effect without a kink; leave it out')
        count = len(self.next_sections)
        same = len(self.breaks) == count
        require(same, f"{count} next_sections need {count} breaks, got {len(self.breaks)}; give as many")
        require(not (count and self.profile), "a link has next_sections or a profile, not both")

    @property
    def uniform(self) -> bool:
        """Whether the section is the same everywhere."""
        return not self.next_sections and self.profile is None

    def section_at(self, station: float) -> Section:
        """Return the section at a station, 0 at the root to 1; at a break the one that begins there."""
        if self.profile is not None:
            return self.profile(station)
        return (self.section, *self.next_sections)[sum(station >= b for b in self.breaks)]

    @property
    def mass_per_length(self) -> float:
        """rho A [kg/m]."""
        return self.material.density * self.section.area

    @property
    def bending_stiffness(self) -> float:
        """E I [N m^2]."""
        return self.material.youngs_modulus * self.section.second_moment

    @property
    def mass(self) -> float:
        """Total mass [kg], kink included; of a profile by Simpson's rule with 200 intervals."""
        kink = self.material.density * self.section_at(0.0).area * self.kink
        if self.profile is not None:
            weights = [1.0, *([4.0, 2.0] * 100)[:-1], 1.0]
            area = sum(w * self.profile(i / 200).area for i, w in enumerate(weights)) / 600.0
            return kink + self.material.density * area * self.length
        edges = (0.0, *self.breaks, 1.0)
        pieces = zip((self.section, *self.next_sections), edges[:-1], edges[1:], strict=True)
        return kink + self.material.density * self.length * sum(s.area * (end - begin) for s, begin, end in pieces)

    @property
    def sections(self) -> tuple[Section, ...]:
        """The sections of its pieces; of a profile the one at the root."""
        return (self.section_at(0.0),) if self.profile is not None else (self.section, *self.next_sections)


@dataclass(frozen=True)
class Joint(_Checked):
    """A joint at the root of the link of the same number: revolute about its axis z, or prismatic along it.

    The variable of a prismatic joint is the free length of what slides, the link's `kink` in the reference pose.
    """

    hub_inertia: Annotated[float, Quantity("kg m^2", 0.0, 1e4, "Ih: inertia that turns with the link's root")] = 0.0
    drive: Annotated[
        str,
        Choice(
            ("torque", "motion", "servo"),
            "torque: the input is a torque; motion: the joint follows a commanded angle; servo: a spring and a damper "
            "pull it to a commanded angle",
        ),
    ] = "torque"
    angle: Annotated[
        float, Quantity("rad", -7.0, 7.0, "reference angle, from the previous link's end; prismatic: a fixed turn")
    ] = 0.0
    mass: Annotated[float, Quantity("kg", 0.0, 1e4, "point mass at the joint")] = 0.0
    housing_inertia: Annotated[
        float, Quantity("kg m^2", 0.0, 1e4, "inertia at the joint that turns with the previous link's end")
    ] = 0.0
    rotor_inertia: Annotated[
        float, Quantity("kg m^2", 0.0, 1e4, "N^2 Jr: rotor inertia beyond the gear, for the joint's own rate")
    ] = 0.0
    servo_stiffness: Annotated[
        float, Quantity("N m/rad", 0.0, 1e9, "kp: torque per angle between command and joint (servo); prismatic N/m")
    ] = 0.0
    servo_damping: Annotated[
        float, Quantity("N m s/rad", 0.0, 1e8, "kv: torque per rate between command and joint (servo); prismatic N s/m")
    ] = 0.0
    kind: Annotated[
        str, Choice(("revolute", "prismatic"), "revolute: turns about its axis; prismatic: slides the kink along it")
    ] = "revolute"

    def __post_init__(self) -> None:
        check(self)
        servo = self.drive == "servo"
        for key in ("servo_stiffness", "servo_damping"):
            value = getattr(self, key)
            remedy = f'set drive = "servo" or leave {key} out'
            require(value == 0 or servo, f'{key} = {value:g} has no effect with drive = "{self.drive}"; {remedy}')
        require(not servo or self.servo_stiffness > 0, 'drive = "servo" needs servo_stiffness [N m/rad] above zero')
        require(
            self.revolute or self.rotor_inertia == 0,
            f"rotor_inertia = {self.rotor_inertia:g} kg m^2 needs a revolute joint; leave it out of a prismatic one",
        )

    @property
    def revolute(self) -> bool:
        """Whether the joint turns."""
        return self.kind == "revolute"


@dataclass(frozen=True)
class Payload(_Checked):
    """A rigid body at the tip."""

    mass: Annotated[float, Quantity("kg", 0.0, 1e4, "Mp: mass")] = 0.0
    inertia: Annotated[float, Quantity("kg m^2", 0.0, 1e4, "Ip: inertia about the tip")] = 0.0


@dataclass(frozen=True)
class Damping(_Checked):
    """Structural damping."""

    kind: Annotated[
        str,
        Choice(
            ("none", "modal", "rayleigh"),
            "none; modal: the same ratio in every flexible mode; rayleigh: D = alpha M + beta K",
        ),
    ] = "none"
    ratio: Annotated[float, Quantity("1", 0.0, 1.0, "zeta: damping ratio of every flexible mode (modal)")] = 0.0
    alpha: Annotated[float, Quantity("1/s", 0.0, 1e4, "alpha in D = alpha M + beta K (rayleigh)")] = 0.0
    beta: Annotated[float, Quantity("s", 0.0, 1.0, "beta in D = alpha M + beta K (rayleigh)")] = 0.0

    def __post_init__(self) -> None:
        check(self)
        for key, kind in (("ratio", "modal"), ("alpha", "rayleigh"), ("beta", "rayleigh")):
            value = getattr(self, key)
            remedy = f'set kind = "{kind}" or leave {key} out'
            used = value == 0 or self.kind == kind
            require(used, f'{key} = {value:g} has no effect with kind = "{self.kind}"; {remedy}')


@dataclass(frozen=True)
class Sensor(_Checked):
    """An extra sensor on a link."""

    name: Annotated[str, Name("output name")]
    kind: Annotated[
        str,
        Choice(
            ("displacement", "acceleration", "curvature", "strain"),
            "displacement [m], acceleration [m/s^2], curvature [1/m] or strain [1]",
        ),
    ]
    position: Annotated[float, Quantity("1", 0.0, 1.0, "distance from the link's root divided by its length")]
    link: Annotated[int, Count(1, 1000, "link number, from 1")] = 1
    direction: Annotated[
        str, Choice(("y", "z"), "y: in the plane in which the joint turns the link; z: along the joint's axis")
    ] = "y"


@dataclass(frozen=True)
class Actuator(_Checked):
    """An extra transverse force on a link, constant between two stations; equal stations make a point force."""

    name: Annotated[str, Name("input name; the input is the total force [N]")]
    start: Annotated[float, Quantity("1", 0.0, 1.0, "first station divided by the link's length")]
    end: Annotated[float, Quantity("1", 0.0, 1.0, "last station divided by the link's length")]
    link: Annotated[int, Count(1, 1000, "link number, from 1")] = 1


class Gravity(NamedTuple):
    """Acceleration of free fall; zero for a planar arm that moves in a horizontal plane."""

    x: Annotated[float, Quantity("m/s^2", -30.0, 30.0, "component along x of the base frame")] = 0.0
    y: Annotated[float, Quantity("m/s^2", -30.0, 30.0, "component along y of the base frame")] = 0.0
    z: Annotated[
        float, Quantity("m/s^2", -30.0, 30.0, "component along z, the axis of the first joint (spatial arms)")
    ] = 0.0


@dataclass(frozen=True)
class Arm:
    """A serial flexible arm: its links from the base outwards, and one joint per link.

    Attributes
    ----------
    name : str
        Catalogue name.
    links, joints : tuple
        Link i turns about joint i.
    payload, damping, sensors, actuators, gravity
        The rest of the machine.
    """

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    payload: Payload = Payload()
    damping: Damping = Damping()
    sensors: tuple[Sensor, ...] = ()
    actuators: tuple[Actuator, ...] = ()
    gravity: tuple[float, ...] = Gravity()

    def __post_init__(self) -> None:
        count = len(self.links)
        require(count > 0, "an arm has at least one link; add a [[link]] table")
        require(
            len(self.joints) == count,
            f"{count} links need {count} joints, got {len(self.joints)}; write one [[joint]] per [[link]]",
        )
        gravity = Gravity(*self.gravity)
        check(gravity)
        object.__setattr__(self, "gravity", gravity)
        _check_slides(self.links, self.joints)
        _check_stations("sensor", self.sensors, count)
        _check_stations("actuator", self.actuators, count)

    @property
    def reference_joints(self) -> tuple[float, ...]:
        """Joint variables of the reference pose: angles [rad], free lengths [m] of prismatic joints."""
        pairs = zip(self.links, self.joints, strict=True)
        return tuple(joint.angle if joint.revolute else link.kink for link, joint in pairs)

    def features(self) -> dict[str, str]:
        """Return what not every kind of model knows, and where the arm has it: {feature: place}."""
        found = {}
        for i, link in enumerate(self.links, 1):
            if not link.uniform:
                found["pieces"] = f"link {i}"
            for key in ("kink", "twist"):
                if getattr(link, key):
                    found[key] = f"link {i}"
            for key in ("second_moment_y", "torsion_constant"):
                if any(getattr(section, key) is not None for section in link.sections):
                    found[key] = f"section of link {i}"
        for i, joint in enumerate(self.joints, 1):
            for key, feature in (("angle", "joint_angle"), ("mass", "joint_mass")):
                if getattr(joint, key):
                    found[feature] = f"joint {i}"
            for key in ("housing_inertia", "rotor_inertia"):
                if getattr(joint, key):
                    found[key] = f"joint {i}"
            if joint.drive != "torque":
                found[f"{joint.drive}_drive"] = f"joint {i}"
            if not joint.revolute:
                found["prismatic_joint"] = f"joint {i}"
        for sensor in self.sensors:
            if sensor.direction != "y":
                found["sensor_direction_z"] = f"sensor {sensor.name}"
        if Gravity(*self.gravity).z:
            found["gravity_along_z"] = f"{Gravity(*self.gravity).z:g} m/s^2"
        return found


def _check_slides(links: Sequence[Link], joints: Sequence[Joint]) -> None:
    for i, (link, joint) in enumerate(zip(links, joints, strict=True), 1):
        if not joint.revolute:
            need = f"joint {i} is prismatic: link {i} needs"
            require(link.kink > 0, f"{need} a kink [m], the length that is out in the reference pose")
            require(link.kink_kind == "flexible", f'{need} kink_kind = "flexible"; a rigid slide is not modelled')


def _check_stations(what: str, things: Sequence[Sensor | Actuator], links: int) -> None:
    used: set[str] = set()
    for i, thing in enumerate(things, 1):
        where = f"[[{what}]] {i}"
        require(thing.link <= links, f"{where}: link = {thing.link}, but the arm has {links}; links count from 1")
        require(thing.name not in used, f'{where}: the name "{thing.name}" is taken; every {what} has its own')
        used.add(thing.name)
        if isinstance(thing, Actuator):
            ordered = thing.start <= thing.end
            require(ordered, f"{where}: start = {thing.start:g} lies beyond end = {thing.end:g}; swap them")
