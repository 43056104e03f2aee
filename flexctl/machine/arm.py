"""The data of an arm: links, joints, sections, materials, payload. Frozen, checked, SI.

An `Arm` is data only. A solver (`flexctl.models`) turns it into a mechanical model; `flexctl.catalogue` reads it from a
plant file and knows where every number comes from. Each field states its unit, its plausible range and its meaning once
(see `flexctl.machine.schema`): a new field here is a new key of the plant files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from ..errors import require
from .joint import Joint as Joint
from .material import NO_MATERIAL as NO_MATERIAL
from .material import NO_SECTION as NO_SECTION
from .material import Checked
from .material import Material as Material
from .material import Section as Section
from .schema import Ascending, Choice, Count, Flag, Name, Quantity, Reference, References, check


@dataclass(frozen=True)
class Link(Checked):
    """A flexible link, uniform or of several pieces with one section each, or a massless lever; a kink may come before.

    `profile` (in Python only) is a section for every station, its distance from the root divided by the length. In
    space: from the joint the kink (an offset post) goes along the joint's axis z, from there the link along x, and the
    next joint's axis is z turned about x by the twist (Hartenberg-Denavit). The kink of a prismatic joint slides.
    Links count from 1, the base is 0. Without `parent` the links form a chain.

    Examples
    --------
    >>> fx.Link(1.0, fx.Material(70e9, 2700.0), fx.Section(4e-4, 1.333e-8)).length
    1.0
    """

    length: Annotated[float, Quantity("m", 1e-3, 100.0, "L: length; 0 for a link that is only a kink", zero=True)]
    material: Annotated[Material, Reference("material", "its material; a massless link has none")] = NO_MATERIAL
    section: Annotated[
        Section,
        Reference("section", "its cross section, or that of the piece at the root; a massless link has none"),
    ] = NO_SECTION
    next_sections: Annotated[tuple[Section, ...], References("section", "sections of the pieces that follow")] = ()
    breaks: Annotated[
        tuple[float, ...], Ascending("1", 0.0, 1.0, "where each of them begins: distance from the root divided by L")
    ] = ()
    profile: Callable[[float], Section] | None = None
    kind: Annotated[
        str, Choice(("flexible", "massless"), "flexible; massless: a rigid lever without material and section")
    ] = "flexible"
    parent: Annotated[int, Count(0, 1000, "link that carries it, 0: the base; by default the one before")] | None = None
    root: Annotated[
        float,
        Quantity("1", -10.0, 10.0, "where on it: distance from its root divided by its length; beyond 0 ... 1 on its "
                 "rigid, massless extension"),
    ] = 1.0
    base_x: Annotated[float, Quantity("m", -100.0, 100.0, "x of the joint of a link on the base")] = 0.0
    base_y: Annotated[float, Quantity("m", -100.0, 100.0, "y of the joint of a link on the base")] = 0.0
    kink: Annotated[
        float, Quantity("m", 0.0, 100.0, "s: offset along the joint's axis before the link; prismatic: free length")
    ] = 0.0
    kink_kind: Annotated[
        str, Choice(("flexible", "rigid"), "flexible: a beam with the section at the root; rigid: has its mass only")
    ] = "flexible"
    twist: Annotated[float, Quantity("rad", -7.0, 7.0, "from this joint's axis to the next one, about the link")] = 0.0

    def __post_init__(self) -> None:
        check(self)
        for key, none in (("material", NO_MATERIAL), ("section", NO_SECTION)):
            given = getattr(self, key) is not none
            require(given or self.kind == "massless", f"a flexible link needs a {key}; add it")
            require(not given or self.kind == "flexible", f"a massless link has no {key}; leave it out")
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
        return 0.0 if self.kind == "massless" else self.material.density * self.section.area

    @property
    def bending_stiffness(self) -> float:
        """E I [N m^2]."""
        return self.material.youngs_modulus * self.section.second_moment

    @property
    def mass(self) -> float:
        """Total mass [kg], kink included; of a profile by Simpson's rule with 200 intervals."""
        if self.kind == "massless":
            return 0.0
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
class Payload(Checked):
    """A rigid body at the tip.

    Examples
    --------
    >>> fx.Payload(mass=0.5).mass
    0.5
    """

    mass: Annotated[float, Quantity("kg", 0.0, 1e4, "Mp: mass")] = 0.0
    inertia: Annotated[float, Quantity("kg m^2", 0.0, 1e4, "Ip: inertia about the tip")] = 0.0
    link: Annotated[int, Count(1, 1000, "link whose end is the tip; by default the last")] | None = None


@dataclass(frozen=True)
class Damping(Checked):
    """Structural damping.

    Examples
    --------
    >>> fx.Damping("modal", ratio=0.01).ratio
    0.01
    """

    kind: Annotated[
        str,
        Choice(
            ("none", "modal", "rayleigh"),
            "none; modal: the same ratio in every flexible mode (servos and springs of joints left out); rayleigh: D = "
            "alpha M + beta K",
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
class Sensor(Checked):
    """An extra sensor on a link.

    Examples
    --------
    >>> fx.Sensor("root_strain", "strain", position=0.0).kind
    'strain'
    """

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
class Actuator(Checked):
    """A force or a moment on a link, spread evenly between two stations; equal stations make it act at a point.

    It is dead by default: its direction is that of an axis of the base frame, however the link turns. With `follower`
    it turns with the link: x along the deformed axis, y across it in the plane in which the joint turns the link, z
    along the joint's axis. In the plane a moment, about z, is the same either way.

    Examples
    --------
    >>> fx.Actuator("patch", start=0.0, end=0.1).unit
    'N'
    >>> fx.Actuator("bend", 0.5, 0.5, kind="moment").axis
    'z'
    """

    name: Annotated[str, Name("input name; the input is the total force [N] or moment [N m]")]
    start: Annotated[float, Quantity("1", 0.0, 1.0, "first station divided by the link's length")]
    end: Annotated[float, Quantity("1", 0.0, 1.0, "last station divided by the link's length")]
    link: Annotated[int, Count(1, 1000, "link number, from 1")] = 1
    kind: Annotated[str, Choice(("force", "moment"), "force [N], or moment [N m]")] = "force"
    direction: (
        Annotated[
            str,
            Choice(("x", "y", "z"), "axis of the base frame, of a follower that of the deformed link: x along it, y "
                   "across; default y for a force, z for a moment; planar arms have forces along x and y, moments "
                   "about z"),
        ]
        | None
    ) = None
    follower: Annotated[bool, Flag("false: dead, keeps its direction in the base frame; true: turns with the link")] = (
        False
    )

    @property
    def axis(self) -> str:
        """Direction, the default filled in."""
        return self.direction or ("y" if self.kind == "force" else "z")

    @property
    def unit(self) -> str:
        """Unit of the input."""
        return "N" if self.kind == "force" else "N m"


@dataclass(frozen=True)
class Body(Checked):
    """A rigid body fixed to a link."""

    link: Annotated[int, Count(1, 1000, "link number, from 1")]
    position: Annotated[float, Quantity("1", -10.0, 10.0, "distance from the link's root divided by its length")]
    mass: Annotated[float, Quantity("kg", 0.0, 1e4, "mass")]
    inertia: Annotated[float, Quantity("kg m^2", 0.0, 1e4, "inertia about that point; turns with the link there")] = 0.0


@dataclass(frozen=True)
class Closure(Checked):
    """A pin that closes a loop: a point of one link stays at a point of another, or of the base.

    Positions beyond 0 ... 1 lie on the rigid, massless extension of the link.
    """

    name: Annotated[str, Name("name; its two equations are NAME_x and NAME_y")]
    link: Annotated[int, Count(1, 1000, "link number, from 1")]
    position: Annotated[float, Quantity("1", -10.0, 10.0, "distance from the link's root divided by its length")]
    other_link: Annotated[int, Count(0, 1000, "the other link, 0: the base")]
    other_position: Annotated[float, Quantity("1", -10.0, 10.0, "the same on the other link")] = 1.0
    base_x: Annotated[float, Quantity("m", -100.0, 100.0, "x of the pin if the other link is the base")] = 0.0
    base_y: Annotated[float, Quantity("m", -100.0, 100.0, "y of the pin if the other link is the base")] = 0.0


class Gravity(NamedTuple):
    """Acceleration of free fall; zero for a planar arm that moves in a horizontal plane.

    Examples
    --------
    >>> fx.Gravity(y=-9.81).y
    -9.81
    """

    x: Annotated[float, Quantity("m/s^2", -30.0, 30.0, "component along x of the base frame")] = 0.0
    y: Annotated[float, Quantity("m/s^2", -30.0, 30.0, "component along y of the base frame")] = 0.0
    z: Annotated[
        float, Quantity("m/s^2", -30.0, 30.0, "component along z, the axis of the first joint (spatial arms)")
    ] = 0.0


@dataclass(frozen=True)
class Arm:
    """A flexible arm: its links from the base outwards, and one joint per link.

    The links form a chain unless they name a `parent`; closures make loops of such a tree.

    Attributes
    ----------
    name : str
        Catalogue name.
    links, joints : tuple
        Link i turns about joint i.
    payload, damping, sensors, actuators, gravity, bodies, closures
        The rest of the machine.
    assembled : tuple of float
        Angle of every joint [rad] where the loops are put together, when that is another pose than the reference: the
        loops are followed from there. Empty: the angles of `joints`.

    Examples
    --------
    >>> link = fx.Link(1.0, fx.Material(70e9, 2700.0), fx.Section(4e-4, 1.333e-8))
    >>> arm = fx.Arm("bar", (link,), (fx.Joint(hub_inertia=0.01),))
    >>> print(f"{fx.linearise(fx.build(arm, 'finite_difference')).modes(1).frequencies_hz[0]:.2f} Hz")
    62.44 Hz
    """

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    payload: Payload = Payload()
    damping: Damping = Damping()
    sensors: tuple[Sensor, ...] = ()
    actuators: tuple[Actuator, ...] = ()
    gravity: tuple[float, ...] = Gravity()
    bodies: tuple[Body, ...] = ()
    closures: tuple[Closure, ...] = ()
    assembled: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        count = len(self.links)
        require(count > 0, "an arm has at least one link; add a [[link]] table")
        require(
            len(self.joints) == count,
            f"{count} links need {count} joints, got {len(self.joints)}; write one [[joint]] per [[link]]",
        )
        given = len(self.assembled)
        require(given in (0, count), f"assembled has {given} joint angles for {count} joints; give one for each")
        gravity = Gravity(*self.gravity)
        check(gravity)
        object.__setattr__(self, "gravity", gravity)
        _check_slides(self.links, self.joints)
        _check_stations("sensor", self.sensors, count)
        _check_stations("actuator", self.actuators, count)
        _check_tree(self)

    def parent(self, i: int) -> int:
        """Return the index of the link that carries link i, both from 0; -1 is the base."""
        given = self.links[i].parent
        return i - 1 if given is None else given - 1

    @property
    def tip_link(self) -> int:
        """Index of the link whose end is the tip, from 0."""
        return len(self.links) - 1 if self.payload.link is None else self.payload.link - 1

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
            if link.kind == "massless":
                found["massless_link"] = f"link {i}"
            chained = self.parent(i - 1) == i - 2 and (link.root == 1.0 or i == 1)
            if not chained or link.base_x or link.base_y:
                found["tree"] = f"link {i}"
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
            for key in ("stiffness", "friction"):
                if getattr(joint, key):
                    found[f"joint_{key}"] = f"joint {i}"
            for key in ("friction_law", "motor", "cubic_stiffness", "backlash"):
                if getattr(joint, key):
                    found[key] = f"joint {i}"
            if joint.drive != "torque":
                found[f"{joint.drive}_drive"] = f"joint {i}"
            if not joint.revolute:
                found["prismatic_joint"] = f"joint {i}"
        for feature, things in (("closure", self.closures), ("body", self.bodies)):
            if things:
                found[feature] = f"{feature} 1"
        for body in self.bodies:
            if not 0.0 <= body.position <= 1.0:
                found["body_on_extension"] = f"body on link {body.link} at {body.position:g} L"
        if self.tip_link != len(self.links) - 1:
            found["tip_on_another_link"] = f"payload.link = {self.tip_link + 1}"
        for sensor in self.sensors:
            if sensor.direction != "y":
                found["sensor_direction_z"] = f"sensor {sensor.name}"
        for actuator in self.actuators:
            if (actuator.kind, actuator.axis) == ("force", "x"):
                found["load_along_x"] = f"actuator {actuator.name}"
            if (actuator.axis == "z") != (actuator.kind == "moment"):
                found["load_out_of_plane"] = f"actuator {actuator.name}"
        if Gravity(*self.gravity).z:
            found["gravity_along_z"] = f"{Gravity(*self.gravity).z:g} m/s^2"
        return found


def _check_tree(arm: Arm) -> None:
    """Refuse links that hang on later ones, and places on links that do not exist."""
    count, names = len(arm.links), set[str]()
    for i, link in enumerate(arm.links):
        parent, where = arm.parent(i), f"[[link]] {i + 1}"
        require(parent < i, f"{where}: parent = {parent + 1}, but a link comes after the one that carries it")
        offset = link.base_x != 0 or link.base_y != 0
        require(parent < 0 or not offset, f"{where}: base_x and base_y have no effect on link {parent + 1}; set root")
    tip = arm.payload.link or count
    require(tip <= count, f"[payload]: link = {tip}, but the arm has {count}; links count from 1")
    places = [(f"[[body]] {i}", body.link) for i, body in enumerate(arm.bodies, 1)]
    places += [(f"[[closure]] {i}", max(c.link, c.other_link)) for i, c in enumerate(arm.closures, 1)]
    for where, largest in places:
        require(largest <= count, f"{where}: link = {largest}, but the arm has {count}; links count from 1")
    for i, closure in enumerate(arm.closures, 1):
        where = f"[[closure]] {i}"
        require(closure.name not in names, f'{where}: the name "{closure.name}" is taken; every closure has its own')
        names.add(closure.name)
        require(closure.link != closure.other_link, f"{where} joins link {closure.link} to itself; name another link")


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
