"""Names, signals and columns of driven joints, in place of the torques of the model inside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...errors import NotAvailable, require
from ...kernels import drive_places as kernel
from ...machine.arm import Joint
from ...model import FloatArray, MechanicalModel, Signal

SUFFIXES = ("_torque", "_force")


class Seen(NamedTuple):
    """One joint at a state: residual, its derivatives by accelerations, rates, positions, inputs; readings."""

    r: FloatArray
    M: FloatArray
    D: FloatArray
    K: FloatArray
    B: FloatArray
    y: FloatArray
    Y: FloatArray


def columns_of(model: MechanicalModel, replaced: Sequence[int], names: Sequence[str]) -> FloatArray:
    """Return the columns of B of some inputs, which must be the same in every pose."""
    q = model.reference()
    here = model.input_matrix(q)[:, replaced]
    there = model.input_matrix(q + 0.1 * np.cos(np.arange(q.size)))[:, replaced]
    require(
        bool(np.array_equal(here, there)) and bool(np.all(np.any(here, axis=0))),
        f"inputs {list(names)} are not torques of joints: what they act on depends on the pose",
    )
    return here


def prefix_of(torque: str) -> str:
    """Return what the signals of a joint begin with, from its torque."""
    for suffix in SUFFIXES:
        if torque.endswith(suffix):
            return torque.removesuffix(suffix)
    return torque


def inputs_in_place(name: str, kind: int, torque: Signal, unit: str) -> list[Signal]:
    """Return the inputs of a joint in place of its torque."""
    turn = "rad" if unit == "N m" else "m"
    if kind == kernel.NONE:
        return []
    if kind == kernel.TORQUE:
        return [torque]
    if kind == kernel.LED:
        return [Signal(f"{name}_acceleration", f"{turn}/s^2", "of the motor's side")]
    if kind == kernel.CURRENT:
        return [Signal(f"{name}_current", "A")]
    if kind == kernel.SERVO:
        return [Signal(f"{name}_command", turn), Signal(f"{name}_command_rate", f"{turn}/s")]
    return [Signal(f"{name}_voltage", "V")]


def check_alone(joint: Joint, name: str) -> None:
    """Refuse what a drive is not about: that belongs to the arm inside."""
    for key in ("hub_inertia", "mass", "housing_inertia", "angle"):
        value = getattr(joint, key)
        require(not value, f"{name}: {key} = {value:g} belongs to the arm, not to the drive of a joint; leave it out")
    if joint.drive == "hydraulic":
        raise NotAvailable(f'{name}: drive = "hydraulic" is another layer (models.wrappers.hydraulic)')


def at_rest(joint: Joint) -> Joint:
    """Return a drive for statics: without a winding and without dry friction."""
    motor = joint.motor
    return replace(joint, friction_law=None, motor=None if motor is None else replace(motor, inductance=0.0))
