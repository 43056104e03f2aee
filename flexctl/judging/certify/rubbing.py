"""The chosen scenario with dry friction in the driven joints, which sticks: how far a law that integrates hunts.

Nobody knows the friction of a joint before there is one, so every certificate tries some: Coulomb friction of a
thirtieth of the largest torque, by bristles (LuGre) that yield by 1e-4 rad before it slides. A joint that has a law of
friction in the plant file keeps that alone, and joints that are not driven by torques are left out: a cylinder or a
prescribed motion holds its course against any friction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...abilities import IsLinear
from ...machine.drives import Friction
from ...machine.joint import Joint
from ...model import names
from .runs import limits

if TYPE_CHECKING:
    from ...catalogue import Plant
    from ..scenario import Scenario
    from .task import Task

NAME = "dry friction"
PART = 1.0 / 30.0
"""Friction in parts of the limit of that joint's torque; without one, of the largest torque of the scenario."""
YIELD, SLOW = 1e-4, 1e-3
"""How far the bristles of a joint yield before it slides [rad], and the time constant of their damper [s]."""
TORQUE = ("torque", "voltage", "current")


def rubs(task: Task) -> bool:
    """Whether a joint that the law drives by a torque has no law of friction yet."""
    plant = task.chosen.plant(task.plant)
    return not isinstance(plant, IsLinear) and bool(_joints(plant, task.chosen.own_law(task.law)))


def without(task: Task) -> str:
    """Return why dry friction is not tried, where `rubs` says that it is not."""
    plant, law = task.chosen.plant(task.plant), task.chosen.own_law(task.law)
    if isinstance(plant, IsLinear):
        return f"{plant.name} is a linear plant"
    given = [f"joint {i + 1}" for i, joint in enumerate(plant.arm.joints)
             if joint.friction_law is not None and f"joint{i + 1}_{joint.drive}" in law.drives]
    return f"{', '.join(given)}: friction of its own" if given else "the law drives no revolute joint by a torque"


def _joints(plant: Plant, law: Any) -> dict[int, str]:
    """Return number (from 0) and input of every joint in which friction is tried."""
    driven = {f"joint{i + 1}_{joint.drive}": i for i, joint in enumerate(plant.arm.joints) if _takes(joint)}
    return {driven[name]: name for name in law.drives if name in driven}


def _takes(joint: Joint) -> bool:
    return joint.drive in TORQUE and joint.friction_law is None and joint.revolute


def rubbing(plant: Plant, law: Any, item: Scenario) -> tuple[Plant, str]:
    """Return the plant of a scenario with dry friction in its driven joints, and what was put in."""
    arm, bound = item.plant(plant), limits(law)
    chosen = _joints(arm, law)
    if not all(np.isfinite(bound[name]) for name in chosen.values()):
        run = item.run(law, plant)
        most = {name: float(np.abs(run[name]).max()) for name in chosen.values() if name in names(run.inputs)}
        bound = {name: min(bound[name], most.get(name, np.inf)) for name in chosen.values()}
    sizes = {i: PART * _torque(arm.arm.joints[i], bound[name]) for i, name in chosen.items()}
    sizes = {i: size for i, size in sizes.items() if np.isfinite(size) and size > 0.0}
    joints = list(arm.arm.joints)
    for i, size in sizes.items():
        bristles = {"bristle_stiffness": size / YIELD, "bristle_damping": size / YIELD * SLOW}
        joints[i] = replace(joints[i], friction_law=Friction("lugre", coulomb=size, **bristles))
    told = ", ".join(f"{size:.3g} N m in joint {i + 1}" for i, size in sizes.items())
    return replace(arm, arm=replace(arm.arm, joints=tuple(joints))), told


def _torque(joint: Joint, command: float) -> float:
    """Return the torque at the joint of a command that holds it at rest."""
    if joint.drive == "torque" or joint.motor is None:
        return command
    current = command / joint.motor.resistance if joint.drive == "voltage" else command
    return current * joint.motor.torque_per_current


def begun(before: Plant, after: Plant, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a run on the plant with friction: its bristles are coordinates more, at rest."""
    found = {key: value for key, value in options.items() if key != "method"}
    initial = options.get("initial")
    if initial is None or callable(initial):
        return found
    old, new = names(before.model.coordinates), names(after.model.coordinates)
    q, v = after.model.reference(), np.zeros(len(new))
    place = [new.index(name) for name in old]
    q[place], v[place] = initial
    return {**found, "initial": (q, v)}
