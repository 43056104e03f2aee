"""Which kind of model takes which feature of an arm: a table, found by building small arms that have it.

`python -m flexctl.catalogue.features` prints it; with `docs/models.md` behind, it replaces the table of that file.
A test compares the two.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache

from ..errors import DefinitionError, NotAvailable
from ..machine.arm import Actuator, Arm, Body, Closure, Joint, Link, Material, Payload, Section, Sensor
from ..machine.drives import Friction, Motor
from ..models import REGISTRY, build
from ..models.features import EXACT
from .document import put_below

_SECTION = Section(2e-4, 1e-9, outer_distance=5e-3)
_MOTOR = Motor(gear_ratio=50.0, torque_constant=0.01, resistance=1.0, rotor_inertia=1e-6)
_BAR = Link(1.0, Material(7e10, 2700.0, 0.33), _SECTION)
_ONE = Arm("one link", (_BAR,), (Joint(),))


def _links(count: int, **changes: object) -> Arm:
    """Return a chain with changes to its last link."""
    last = replace(_BAR, **changes)  # type: ignore[arg-type]
    return Arm("chain", (*(_BAR,) * (count - 1), last), (Joint(),) * count)


def _joint(**changes: object) -> Arm:
    return replace(_ONE, joints=(Joint(**changes),))  # type: ignore[arg-type]


def _section(**changes: float) -> Arm:
    return _links(1, section=replace(_SECTION, **changes))


def _loaded(actuator: Actuator) -> Arm:
    return replace(_ONE, actuators=(actuator,))


def _loop() -> Arm:
    """Return three bars, the last two free to turn, whose end is pinned to the base: a four-bar linkage."""
    joints = (Joint(angle=1.5), Joint(angle=-1.5, drive="free"), Joint(angle=-1.5, drive="free"))
    x = 0.0707372016677029 + 1.0 + 0.0707372016677029
    pin = Closure("pin", 3, 1.0, 0, base_x=x, base_y=0.0)
    return Arm("loop", (_BAR,) * 3, joints, closures=(pin,))


PROBES: dict[str, tuple[str, Callable[[], Arm]]] = {
    "links": ("more than one link", lambda: _links(2)),
    "pieces": ("links of pieces, or with a profile", lambda: _links(1, next_sections=(_SECTION,), breaks=(0.5,))),
    "massless_link": (
        'rigid levers, `kind = "massless"`', lambda: replace(_links(2), links=(_BAR, Link(0.3, kind="massless")))
    ),
    "tree": ("`parent`, `root`, `base_x`: links that do not form a chain", lambda: _links(2, root=0.5)),
    "kink": ("`kink`: an offset along the joint's axis", lambda: _links(1, kink=0.1)),
    "twist": ("`twist`: joints about different axes", lambda: _links(1, twist=0.5)),
    "second_moment_y": ("`second_moment_y`: bending out of the plane", lambda: _section(second_moment_y=2e-9)),
    "torsion_constant": ("`torsion_constant`", lambda: _section(torsion_constant=2e-9)),
    "joint_angle": ("`angle` of a joint", lambda: _joint(angle=0.4)),
    "joint_mass": ("`mass` of a joint", lambda: _joint(mass=0.1)),
    "housing_inertia": ("`housing_inertia`", lambda: _joint(housing_inertia=0.01)),
    "rotor_inertia": ("`rotor_inertia`", lambda: _joint(rotor_inertia=0.01)),
    "joint_stiffness": ("flexible joints: `stiffness`, `damping`", lambda: _joint(stiffness=100.0, rotor_inertia=0.01)),
    "joint_friction": ("`friction`", lambda: _joint(friction=0.1)),
    "friction_law": (
        "`friction_law`: Coulomb, Stribeck, LuGre, Dahl", lambda: _joint(friction_law=Friction(coulomb=0.1))
    ),
    "motor": ("`motor` with gear and rotor", lambda: _joint(motor=_MOTOR)),
    "voltage_drive": ('`drive = "voltage"`', lambda: _joint(drive="voltage", motor=_MOTOR)),
    "current_drive": ('`drive = "current"`', lambda: _joint(drive="current", motor=_MOTOR)),
    "cubic_stiffness": (
        "`cubic_stiffness`", lambda: _joint(stiffness=100.0, rotor_inertia=0.01, cubic_stiffness=10.0)
    ),
    "backlash": ("`backlash`", lambda: _joint(stiffness=100.0, rotor_inertia=0.01, backlash=0.01)),
    "servo_drive": ('`drive = "servo"`', lambda: _joint(drive="servo", servo_stiffness=10.0, servo_damping=1.0)),
    "motion_drive": ('`drive = "motion"`', lambda: _joint(drive="motion")),
    "hydraulic_drive": (
        '`drive = "hydraulic"`', lambda: _joint(drive="hydraulic", hydraulic_frequency=30.0, hydraulic_damping=0.8)
    ),
    "free_drive": ('`drive = "free"`', lambda: replace(_links(2), joints=(Joint(), Joint(drive="free")))),
    "prismatic_joint": ("sliding joints", lambda: replace(_links(1, kink=0.5), joints=(Joint(kind="prismatic"),))),
    "closure": ("`[[closure]]`: loops", _loop),
    "body": ("`[[body]]`: rigid bodies on links", lambda: replace(_ONE, bodies=(Body(1, 0.5, 0.1),))),
    "body_on_extension": (
        "bodies beyond the ends of links, `position` below 0 or above 1",
        lambda: replace(_ONE, bodies=(Body(1, 1.2, 0.1),)),
    ),
    "tip_on_another_link": ("`link` of the payload", lambda: replace(_links(2), payload=Payload(0.1, 0.0, link=1))),
    "sensor_direction_z": (
        "sensors out of the plane", lambda: replace(_ONE, sensors=(Sensor("z", "displacement", 0.5, direction="z"),))
    ),
    "gravity": ("weight in the plane", lambda: replace(_ONE, gravity=(0.0, -9.81, 0.0))),
    "gravity_along_z": ("weight along the first joint's axis", lambda: replace(_ONE, gravity=(0.0, 0.0, -9.81))),
    "actuator": (
        "`[[actuator]]`: forces across links, moments; `follower`", lambda: _loaded(Actuator("f", 0.4, 0.4))
    ),
    "load_along_x": ("forces along x", lambda: _loaded(Actuator("f", 0.4, 0.4, direction="x"))),
    "load_out_of_plane": (
        "forces along z, moments about x and y", lambda: _loaded(Actuator("f", 0.4, 0.4, direction="z"))
    ),
}
"""Feature -> what it is, and a small arm that has it."""


@cache
def refusal(feature: str, kind: str) -> str:
    """Return the message by which a kind of model refuses an arm with the feature, "" where it takes it."""
    arm = PROBES[feature][1]()
    try:
        if kind in REGISTRY:
            build(arm, kind)
        else:
            module, name = EXACT[kind].split(":")
            getattr(importlib.import_module(module), name)(arm)
    except (DefinitionError, NotAvailable) as error:
        return str(error)
    return ""


def table() -> str:
    """Return the table as Markdown."""
    kinds = [*REGISTRY, *EXACT]
    lines = ["| an arm with | " + " | ".join(f"`{kind}`" for kind in kinds) + " |", "|---" * (len(kinds) + 1) + "|"]
    for feature, (text, _) in PROBES.items():
        marks = " | ".join("" if refusal(feature, kind) else "yes" for kind in kinds)
        lines.append(f"| {text} | {marks} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    put_below("## Features", table(), sys.argv[1:])
