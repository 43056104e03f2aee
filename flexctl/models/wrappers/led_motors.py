"""Motors that are commanded although torques drive them: as the same joints do whose motors are led from the start."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from ...abilities import joints_of, steps_itself
from ...kernels import drive_places
from ...model import MechanicalModel
from .driven_joints import DrivenJoints, driven_joints


def led_instead(model: MechanicalModel, motors: Collection[str]) -> MechanicalModel | None:
    """Return the model with these motors led by motion, and in compiled steps; None where that is not the same.

    Of a motor that a voltage or a current drives the command is what is read, not the torque.

    Parameters
    ----------
    model : MechanicalModel
        The model with its joints driven by torque.
    motors : collection of str
        Coordinates of the commanded joints.
    """
    if not isinstance(model, DrivenJoints):
        return None
    found = {coordinate: name for name, coordinate in joints_of(model).items()}
    if not all(found.get(name) in model.drives and name.endswith("_motor") for name in motors):
        return None
    own = [list(model.drives).index(found[name]) for name in motors]
    if not all(c[drive_places.FLEXIBLE] and c[drive_places.INPUT] == drive_places.TORQUE for c in model.constants[own]):
        return None
    led = {found[name] for name in motors}
    drives = {name: replace(one, drive="motion") if name in led else one for name, one in model.drives.items()}
    other = driven_joints(model.inner, drives)
    return other if steps_itself(other) else None
