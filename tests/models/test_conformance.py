"""One suite over all models. Adding a model is adding entries to CASES; nothing else here changes.

A case states what the model claims (rigid modes, damping, order of its mesh, closed-form frequencies); the checks are
the same for every case: derivatives, energy, linear plant, closed loop, compiled form, mesh.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import toys
from analytical import ALPHA, HUB, RHO, L, beam_frequencies, tokhi_arm

from flexctl.machine.arm import Actuator, Arm, Body, Closure, Damping, Joint, Link, Material, Payload, Section, Sensor
from flexctl.model import MechanicalModel
from flexctl.models import REGISTRY, build
from flexctl.models.finite_segment import FiniteSegment
from flexctl.testing import Case, conformance
from flexctl.testing.checks import free_directions
from flexctl.testing.differences import Array

Build = Callable[[int], MechanicalModel]


def beam(hub: float, mass: float = 0.0, inertia: float = 0.0, **tables: Any) -> Build:
    arm = tokhi_arm(hub, mass, inertia, **tables)
    return lambda n, **options: build(arm, "finite_difference", sections=n, **options)


joint = partial(
    Case, drive="joint1_torque", angle="joint1_angle", rate="joint1_rate", gains=(0.9, 0.12), period=4e-3, rigid=1
)
beams = partial(joint, kind="finite_difference")
ALONG = {
    "sensors": (Sensor("bend", "displacement", 0.63), Sensor("shake", "acceleration", 0.31)),
    "actuators": (Actuator("puff", 0.63, 0.63),),
}

LOADS = (
    Actuator("dead", 0.2, 0.7, direction="x"), Actuator("follow", 1.0, 1.0, follower=True),
    Actuator("press", 0.1, 0.55, follower=True), Actuator("pull", 0.4, 0.4, direction="x", follower=True),
    Actuator("bend", 0.0, 0.63, kind="moment"), Actuator("twist", 0.0, 0.0, kind="moment"),
)
"""One of every kind of load, the follower ones large beside the others in the tangent."""
SPREAD = (*(replace(load, name=f"{load.name}_1") for load in LOADS), *(replace(load, link=2) for load in LOADS))

LOADS_ACROSS = tuple(load for load in LOADS if load.axis != "x")
NO_PULL = tuple(load for load in SPREAD if not load.name.startswith("pull"))
"""Without followers along what does not stretch, which act on nothing; the first is dead, along the first link."""


def finite_difference(name: str, form: str, body: tuple[float, float, float], order: int, **more: Any) -> Case:
    made = partial(beam(*body), form=form)
    # the paper's form comes into its first order slowly
    meshes = (20, 40, 80) if order == 2 else (80, 160, 320)
    exact = partial(beam_frequencies, 2, *body)
    return beams(name, build=made, frequencies=exact, order=order, meshes=meshes, **more)


chain = partial(Case, kind="", drive="force", angle="first", rate="first_rate", gains=(40.0, 4.0), period=0.04)
pendulum = partial(Case, kind="", drive="torque", angle="angle", rate="rate", gains=(8.0, 1.0), period=0.04)


def planar_arm(
    links: int = 1, hanging: bool = False, second_moment: float = 1e-5, hub: float = 0.05,
    angle: float = 0.0, elbow: dict[str, float] | None = None, **tables: Any,
) -> Arm:
    """One or two links of rubber, stretched out or hanging: soft enough for differences (EA = 1 kN, rho A = 1 kg/m)."""
    link = Link(0.8, Material(1e5, 100.0), Section(0.01, second_moment, outer_distance=0.05))
    second = Joint(0.03, mass=0.1, housing_inertia=1e-2, rotor_inertia=2e-2, **(elbow or {}))
    body = Payload(0.2 * hanging, 1e-2 * hanging)
    joints = (Joint(hub, angle=angle - 0.5 * np.pi * hanging), second)[:links]
    return Arm("planar", (link,) * links, joints, body, gravity=(0.0, -9.81 * hanging), **tables)


def planar(*arguments: Any, **tables: Any) -> Build:
    arm = planar_arm(*arguments, **tables)
    return lambda n: build(arm, "timoshenko_planar", elements=n)


def chain_of_segments(*arguments: Any, closure: str = "base", **tables: Any) -> Build:
    """Turned by 0.4 rad: along the arm itself a chain cannot be pulled, and does not move at first order."""
    arm = planar_arm(*arguments, angle=0.4, **tables)
    if any(joint.stiffness for joint in arm.joints):  # the class has such joints itself; `build` puts drives around it
        return lambda n: FiniteSegment(arm, segments=n, closure=closure)
    return lambda n: build(arm, "finite_segment", segments=n, closure=closure)


planars = partial(
    Case, kind="timoshenko_planar", drive="joint1_torque", angle="joint1_angle", rate="joint1_rate", gains=(4.0, 0.8),
    period=0.01, mesh=3, push=1.0,
    twins=(("joint1_torque", "tip_y"), ("tip_force_y", "joint1_angle")),
)


def nodal(links: int = 1, hanging: bool = False, options: Any = (), **tables: Any) -> Build:
    """The same arms softer still, by absolute nodal coordinates: slopes that are off by 0.3 are strained by as much."""
    link = Link(0.8, Material(2e4, 100.0), Section(0.01, 1e-5, outer_distance=0.05))
    elbow = Joint(0.03, mass=0.1, housing_inertia=1e-2, rotor_inertia=2e-2)
    body = Payload(0.2 * hanging, 1e-2 * hanging)
    joints = (Joint(0.05, angle=-0.5 * np.pi * hanging), elbow)[:links]
    arm = Arm("nodal", (link,) * links, joints, body, gravity=(0.0, -2.0 * hanging), **tables)
    return lambda n: build(arm, "ancf", elements=n, **dict(options))


nodals = partial(
    Case, kind="ancf", drive="joint1_torque", angle="joint1_angle", rate="joint1_rate", gains=(1.0, 0.2),
    period=0.04, mesh=2, push=0.5,
    twins=(("joint1_torque", "tip_y"), ("tip_force_y", "joint1_angle")),
)

SIDEWAYS = (("joint1_torque", "tip_x"), ("tip_force_x", "joint1_angle"))

segments = partial(planars, kind="finite_segment")
SLENDER: dict[str, Any] = {
    "rigid": 1, "gains": (0.02, 0.02), "push": 0.01,
    "frequencies": lambda: beam_frequencies(2, HUB) * (1e-4**0.5 / 0.64) / (ALPHA / L**2),
}


def swinging(model: Any) -> tuple[Array, Array]:
    """Joints turned and turning."""
    angles = np.array(model.arm.reference_joints)
    q, v, _ = model.rigid_motion(angles + 0.6, 1.0 + np.arange(angles.size), 0.0 * angles)
    return q, v


def shaken(model: Any) -> tuple[Array, Array]:
    """The same with rates of its own for every body: one straight link of segments would turn without any error."""
    q, v = swinging(model)
    return q, v + 10.0 * np.random.default_rng(5).standard_normal(v.size)


def tree(loop: bool = False, gravity: float = 0.0, **options: Any) -> Build:
    """Links of rubber by assumed modes: a chain of two, or five bars (the base is one) with two driven at the base."""
    tables: dict[str, Any] = {key: options.pop(key) for key in ("damping", "sensors", "actuators") if key in options}
    bar = partial(Link, 0.8, Material(1e5, 100.0), Section(0.01, 1e-5, outer_distance=0.05))
    angles, drives = (1.9, -1.0, 1.2, 1.1), ("torque", "free") * 2
    if loop:
        links = (bar(), bar(), bar(parent=0, base_x=0.5), bar())
        joints = [Joint(0.05, angle=angle, drive=drive) for angle, drive in zip(angles, drives, strict=True)]
        tables |= {"closures": (Closure("pin", 2, 1.0, 4),), "bodies": (Body(4, 0.5, 0.1, 1e-2),)}
        body = Payload(0.2, link=2)
    else:
        links, body = (bar(), bar()), Payload(0.2, 1e-2)
        joints = [Joint(0.05), Joint(0.03, angle=0.4, mass=0.1, housing_inertia=1e-2, rotor_inertia=2e-2)]
    arm = Arm("tree", links, tuple(joints), body, gravity=(0.0, gravity), **tables)
    return lambda n: build(arm, "assumed_modes", **options)


trees = partial(
    Case, kind="assumed_modes", drive="joint1_torque", angle="joint1_angle", rate="joint1_rate", gains=(4.0, 0.8),
    period=0.01, push=1.0, twins=(("joint1_torque", "tip_y"), ("tip_force_y", "joint1_angle")),
)


BODY = (0.02, 0.05, 0.02)
"""Hub inertia [kg m^2], mass [kg] and inertia [kg m^2] of a payload that is all moment for its arm."""


def with_body(attachment: bool) -> Build:
    """The paper's arm by assumed modes with a heavy payload, so many modes."""
    arm = replace(tokhi_arm(*BODY), joints=(Joint(BODY[0], angle=0.4),))
    return lambda n: build(arm, "assumed_modes", modes=n, attachment=attachment)


def turning(model: Any) -> tuple[Array, Array]:
    """Bent, and turning with the loops closed."""
    q = model.pose([joint.angle for joint in model.arm.joints if joint.drive != "free"])
    v = np.random.default_rng(5).standard_normal(q.size)
    N = free_directions(model.closure_jacobian(q))
    return q, N @ N.T @ v


def spatial(*joints: Joint, twist: float = -1.4, offset: float = 0.0, **tables: Any) -> Build:
    """Post, and links (off the axis by a rigid kink) or slides of rubber on twisted axes, as soft as `planar`."""
    rubber, flat = Material(1e5, 100.0), Section(0.01, 1e-5, outer_distance=0.05, second_moment_y=2e-5)
    links = [Link(0.0, rubber, flat, kink=0.4, twist=twist)]
    for joint in joints:
        if joint.revolute:
            stiff = "rigid" if offset else "flexible"
            links.append(Link(0.8, rubber, flat, kink=offset, kink_kind=stiff, twist=0.3))
        else:
            links.append(Link(0.0, rubber, flat, kink=1.5))
    hub, body = Joint(0.05, mass=0.1), Payload(0.2, 1e-2)
    arm = Arm("spatial", tuple(links), (hub, *joints), body, **tables)
    return lambda n: build(arm, "timoshenko_spatial", elements=n)


ELBOW = Joint(0.03, mass=0.1, housing_inertia=1e-2, rotor_inertia=2e-2)
SHOULDER = replace(ELBOW, angle=0.5 * np.pi)
spatials = partial(
    Case, kind="timoshenko_spatial", drive="joint1_torque", angle="joint1_angle", rate="joint1_rate", gains=(4.0, 0.8),
    period=0.01, mesh=1, start=swinging, twins=(("joint1_torque", "tip_z"), ("tip_force_z", "joint1_angle")),
)


def rod(n: int, wall: bool) -> toys.Chain:
    """A chain as a mesh of an elastic rod with unit mass and stiffness: wave speed 1, length 1."""
    return toys.Chain(n, m=1.0 / n, k=1.0 * n, wall=wall)


CASES = [
    finite_difference("slope, no hub", "slope", (0.0, 0.0, 0.0), 2),
    finite_difference("slope, hub", "slope", (HUB, 0.0, 0.0), 2),
    finite_difference("slope, 10 g", "slope", (HUB, 0.01, 0.0), 2),
    finite_difference("slope, 20 g and inertia", "slope", (HUB, 0.02, 1e-4), 2),
    finite_difference("paper, no hub", "paper", (0.0, 0.0, 0.0), 2),
    finite_difference("paper, hub", "paper", (HUB, 0.0, 0.0), 1),
    finite_difference("paper, 20 g and inertia", "paper", (HUB, 0.02, 1e-4), 1),
    beams("slope, Rayleigh damping", build=beam(HUB, damping=Damping("rayleigh", alpha=0.3, beta=1e-4)), damped=True),
    beams("slope, modal damping", build=beam(HUB, damping=Damping("modal", ratio=0.01)), damped=True),
    beams(
        "slope, sensors and actuators", build=beam(HUB, 0.01, **ALONG),
        twins=(("joint1_torque", "bend"), ("puff", "joint1_angle")),
    ),
    beams(
        "paper, sensors and actuators", build=partial(beam(HUB, 0.01, **ALONG), form="paper"),
        twins=(("joint1_torque", "bend"), ("puff", "joint1_angle")),
    ),
    *(
        beams(
            f"{form}, loads", build=partial(beam(HUB, 0.01, 1e-4, actuators=LOADS_ACROSS), form=form),
        )
        for form in ("slope", "paper")
    ),
    planars(
        # the paper's beam on another scale: r / L = 4e-4, so that its shear and rotary inertia are below 1e-5
        "planar, one slender link", build=planar(second_moment=1e-9, hub=0.512 * HUB / (RHO * L**3)), rigid=1, order=2,
        frequencies=lambda: beam_frequencies(2, HUB) * (1e-4**0.5 / 0.64) / (ALPHA / L**2), start=swinging,
        gains=(0.02, 0.02), push=0.01,
    ),
    planars("planar, two links", build=planar(2), rigid=2, start=swinging),
    planars("planar, hanging", build=planar(2, hanging=True), start=swinging, twins=SIDEWAYS),
    planars(
        "planar, hanging, damped", build=planar(2, hanging=True, damping=Damping("rayleigh", alpha=0.3, beta=1e-4)),
        start=swinging, damped=True, twins=SIDEWAYS,
    ),
    planars("planar, modal damping", build=planar(2, damping=Damping("modal", ratio=0.02)), rigid=2, damped=True),
    planars("planar, sensors", build=planar(2, **{"sensors": ALONG["sensors"]}), rigid=2, start=swinging),
    planars("planar, loads", build=planar(2, actuators=SPREAD), rigid=2, start=swinging),
    nodals("nodal, one link", build=nodal(), rigid=1, start=swinging),
    nodals("nodal, two links, as in the paper", build=nodal(2, options={"law": "omar"}), rigid=2, start=swinging),
    nodals("nodal, hanging", build=nodal(2, hanging=True), start=swinging, twins=SIDEWAYS),
    nodals(
        "nodal, hanging, damped", build=nodal(2, hanging=True, damping=Damping("rayleigh", alpha=0.3, beta=1e-3)),
        start=swinging, damped=True, twins=SIDEWAYS,
    ),
    nodals("nodal, modal damping", build=nodal(2, damping=Damping("modal", ratio=0.02)), rigid=2, damped=True),
    nodals(
        "nodal, multipliers", build=nodal(1, options={"revolute": "multipliers"}), rigid=1, start=swinging,
    ),
    nodals(
        "nodal, sensors and pressure", build=nodal(2, **ALONG), rigid=2, start=swinging,
        twins=(("joint1_torque", "bend"), ("puff", "joint1_angle")),
    ),
    nodals("nodal, loads", build=nodal(2, actuators=SPREAD), rigid=2, start=swinging),
    *(
        segments(
            f"segments, one slender link, {closure}", order=2, meshes=(40, 80, 160), start=shaken, **SLENDER,
            build=chain_of_segments(second_moment=1e-9, hub=0.512 * HUB / (RHO * L**3), closure=closure),
        )
        for closure in ("base", "half")
    ),
    segments("segments, two links", build=chain_of_segments(2), rigid=2, start=swinging),
    segments("segments, rigid roots", build=chain_of_segments(2, closure="paper"), rigid=2, start=swinging),
    segments("segments, hanging", build=chain_of_segments(2, hanging=True), start=swinging),
    segments(
        "segments, hanging, damped", start=swinging, damped=True,
        build=chain_of_segments(2, hanging=True, damping=Damping("rayleigh", alpha=0.3, beta=1e-4)),
    ),
    segments(
        "segments, modal damping", build=chain_of_segments(2, damping=Damping("modal", ratio=0.02)), rigid=2,
        damped=True,
    ),
    segments("segments, sensors", build=chain_of_segments(2, **{"sensors": ALONG["sensors"]}), rigid=2, start=swinging),
    segments("segments, flexible joint", build=chain_of_segments(2, elbow={"stiffness": 3.0}), rigid=2, start=swinging),
    segments(
        "segments, damped joint", rigid=2, damped=True,
        build=chain_of_segments(2, elbow={"stiffness": 3.0, "damping": 0.02, "friction": 0.01}),
    ),
    segments("segments, loads", build=chain_of_segments(2, actuators=NO_PULL), rigid=2, start=swinging),
    trees("tree, two links", build=tree(), rigid=2, start=turning),
    trees("tree, loads", build=tree(actuators=NO_PULL[1:]), rigid=2, start=turning),
    trees("tree, two links, attachment shapes", build=tree(modes=1, attachment=True), rigid=2, start=turning),
    *(
        # a moment at the end: what is left of it by n modes falls as 1 / n, with attachment shapes as n^-7
        trees(
            f"tree, one link and a body, {name}", build=with_body(attachment), rigid=1, mesh=3, order=claimed,
            meshes=meshes, frequencies=partial(beam_frequencies, 2, *BODY), gains=(0.9, 0.12), period=4e-3, push=0.1,
        )
        for name, attachment, claimed, meshes in (
            ("modes alone", False, 1, (7, 14, 28)), ("attachment shapes", True, 7, (4, 8, 16))
        )
    ),
    trees(
        "tree, two links that shorten and stretch", rigid=2, start=turning,
        build=tree(foreshortening=True, axial=(0, 1), sensors=ALONG["sensors"]),
    ),
    trees("tree, five bars", build=tree(True), rigid=2, start=turning),
    trees(
        "tree, five bars hanging upwards", start=turning,
        build=tree(
            True, 1.0, shapes=("clamped_mass", "pinned_pinned") * 2, mass_ratio=0.7, foreshortening=False,
            sensors=ALONG["sensors"],
        ),
    ),
    trees(
        "tree, Rayleigh damping", build=tree(damping=Damping("rayleigh", alpha=0.3, beta=1e-3)), rigid=2, damped=True
    ),
    trees("tree, modal damping", build=tree(damping=Damping("modal", ratio=0.02)), rigid=2, damped=True),
    spatials("spatial, 3R with a post", build=spatial(ELBOW, ELBOW), rigid=3),
    spatials(
        # the links hang from the post; a little off its axis, or turning it would be no motion at all
        "spatial, hanging", rigid=1,
        build=spatial(SHOULDER, ELBOW, twist=-0.5 * np.pi, offset=0.01, gravity=(0.0, 0.0, -9.81)),
        drive="joint2_torque", angle="joint2_angle", rate="joint2_rate",
        twins=(("joint2_torque", "tip_x"), ("tip_force_x", "joint2_angle")),
    ),
    spatials("spatial, loads", build=spatial(ELBOW, actuators=(
        Actuator("push", 0.2, 0.7, 2, direction="z"), Actuator("follow", 1.0, 1.0, 2, follower=True),
        Actuator("pull", 0.0, 0.4, 2, direction="x", follower=True), Actuator("turn", 0.0, 0.6, 2, "moment", "x"),
        Actuator("bend", 0.0, 0.7, 2, "moment", "y", follower=True),
    )), rigid=2),
    spatials(
        "spatial, damped", build=spatial(ELBOW, damping=Damping("rayleigh", alpha=0.3, beta=1e-4)), rigid=2, damped=True
    ),
    spatials(
        "spatial, slide on a post", build=spatial(Joint(mass=0.1, housing_inertia=1e-2, kind="prismatic")), rigid=2,
        mesh=2, drive="joint2_force", angle="joint2_extension", rate="joint2_rate",
        twins=(("joint2_force", "tip_z"), ("tip_force_z", "joint2_extension")),
    ),
    spatials(
        "spatial, sensors", build=spatial(ELBOW, sensors=(
            Sensor("bend", "displacement", 0.63, 2), Sensor("shake", "acceleration", 0.31, 2, "z"),
            Sensor("side", "strain", 0.4, 1, "z"),
        )), rigid=2,
    ),
    chain("chain", build=lambda n: toys.Chain(n), rigid=1),
    chain("chain with dampers", build=lambda n: toys.Chain(n, d=0.7), rigid=1, damped=True),
    chain(
        "free rod", build=partial(rod, wall=False), rigid=1, frequencies=lambda: np.pi * np.arange(1, 3), order=2,
        gains=(1.0, 0.5),
    ),
    chain(
        "held rod", build=partial(rod, wall=True), frequencies=lambda: np.pi * (np.arange(2) + 0.5), order=1,
        gains=(1.0, 0.5),
    ),
    pendulum("rod pendulum", build=lambda n: toys.RodPendulum(), start=lambda m: m.at(1.0, 0.7), push=0.2),
    pendulum("rod pendulum in honey", build=lambda n: toys.RodPendulum(damping=0.2), push=0.2, damped=True),
    pendulum(
        "elastic pendulum", build=lambda n: toys.ElasticPendulum(), push=0.6,
        start=lambda m: (np.array([1.1 * m.length, 0.8]), np.array([0.2, -0.5])),
    ),
    pendulum(
        "elastic pendulum with dampers", build=lambda n: toys.ElasticPendulum(c_r=1.0, c_theta=0.05), push=0.6,
        damped=True,
    ),
    Case(
        "crane", lambda n: toys.Crane(), "force", "cart", "cart_rate", (20.0, 8.0), 0.04, push=8.0, rigid=1,
        start=lambda m: (np.array([0.1, 0.9]), np.array([-0.2, 0.4])),
        twins=(("force", "swing"), ("wind", "cart")),
    ),
]

test_conformance = conformance(*CASES)


def test_every_registered_model_has_a_case() -> None:
    missing = set(REGISTRY) - {case.kind for case in CASES}
    assert not missing, f"add entries to CASES for {missing}"
