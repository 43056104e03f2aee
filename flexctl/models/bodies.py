"""Rigid bodies on links, for the formulations that have a mesh: those at the ends of a link, and those in between.

A body at the root turns with the link's root, as a hub does; one at the end is a payload, or what is lumped at the next
joint on the side of its housing. Those in between get a node of the mesh.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..machine.arm import Arm
from ..model import FloatArray

NEAR = 1e-6
"""Part of the length within which a body is at a node that is there anyway."""


class Inner(NamedTuple):
    """A body between the ends of a link (from 0): s / L, mass [kg], inertia [kg m^2]."""

    link: int
    position: float
    mass: float
    inertia: float


def inner_bodies(arm: Arm) -> list[Inner]:
    """Return the bodies between the ends of their links, from the base outwards."""
    found = [Inner(b.link - 1, b.position, b.mass, b.inertia) for b in arm.bodies]
    return sorted(x for x in found if NEAR < x.position < 1.0 - NEAR)


def lumped(arm: Arm) -> Arm:
    """Return the arm with the bodies at the ends of links as parts of its joints and payload."""
    kept = tuple(b for b in arm.bodies if NEAR < b.position < 1.0 - NEAR)
    if len(kept) == len(arm.bodies):  # asked for at every payload of a run
        return arm
    joints, payload = list(arm.joints), arm.payload
    for body in arm.bodies:
        i = body.link - 1
        if body.position <= NEAR:
            joint = joints[i]
            joints[i] = replace(joint, mass=joint.mass + body.mass, hub_inertia=joint.hub_inertia + body.inertia)
        elif body.position >= 1.0 - NEAR and i + 1 < len(joints):
            joint, inertia = joints[i + 1], joints[i + 1].housing_inertia + body.inertia
            joints[i + 1] = replace(joint, mass=joint.mass + body.mass, housing_inertia=inertia)
        elif body.position >= 1.0 - NEAR:
            payload = replace(payload, mass=payload.mass + body.mass, inertia=payload.inertia + body.inertia)
    return replace(arm, joints=tuple(joints), payload=payload, bodies=kept)


def places(arm: Arm, link: int) -> list[float]:
    """Return where bodies stand between the ends of a link (from 0), s / L."""
    return [x.position for x in inner_bodies(arm) if x.link == link]


def node_at(stations: FloatArray, position: float) -> int:
    """Return the node of a link that a body stands on."""
    return int(np.argmin(np.abs(stations - position)))
