"""A planar serial arm as a chain of beam pieces, masses and joints, as the kernel `exact.transfer_matrix` sweeps it.

From the base outwards: at every joint its mass and housing, the turn of the frame by the joint angle, the drive, the
spring of a flexible joint, the hub inertia; then the pieces of the link, cut at its breaks, its sensors and its loads;
last the payload. States are measured along and across each link.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import DefinitionError, require, unknown
from ...machine.arm import Arm, Joint, Link, Section
from ...model import FloatArray
from ...models.bodies import Inner, inner_bodies, lumped
from ...models.loads import ACROSS, ALONG, MOMENT, X, plane_kind
from .drives import Winding

THEORIES = ("timoshenko", "euler_bernoulli", "rigid")
PIECE, MASS, TURN, SPRING, DRIVE, MOTION, LOAD = range(7)  # as in the kernel


@dataclass(frozen=True, eq=False)
class Chain:
    """The elements from the base outwards.

    Attributes
    ----------
    kind, values : ndarray (n), (n, 7)
        See the kernel.
    probe : ndarray (n + 1)
        Number of the probe at the section before each element, or -1.
    places : mapping
        Probe of (link, station); ("joint", i) is the section before the drive of joint i, whose moment it bears.
    compliance : mapping
        1/EI [1/(N m^2)] at each (link, station).
    drives : tuple of int
        Joints that turn, from the base outwards.
    inputs : tuple of (str, int)
        What acts on the chain, from the base outwards, but for the tip: ("joint", number), ("load", number).
    angle, ends : ndarray
        Direction of each link [rad] and position of its end (x, y) [m].
    E0, length : float
        Scales: the largest bending stiffness [N m^2] and the longest link [m].
    """

    kind: npt.NDArray[np.int64]
    values: FloatArray
    probe: npt.NDArray[np.int64]
    places: Mapping[tuple[Any, Any], int]
    compliance: Mapping[tuple[int, float], float]
    drives: tuple[int, ...]
    inputs: tuple[tuple[str, int], ...]
    angle: FloatArray
    ends: FloatArray
    E0: float
    length: float

    @property
    def pieces(self) -> FloatArray:
        """Values of the beam pieces."""
        return np.asarray(self.values[self.kind == PIECE])

    def units(self, s: npt.NDArray[Any]) -> FloatArray:
        """Return the unit of length at each s: 1 / (wave number), not more than the longest link."""
        rho = float(np.max(self.pieces[:, 1] / self.E0))
        with np.errstate(divide="ignore"):
            waves = rho**-0.25 * np.abs(s) ** -0.5
        l: FloatArray = np.fmin(waves, self.length)
        return l


@dataclass
class _Builder:
    """Elements as they are added."""

    kind: list[int] = field(default_factory=list)
    values: list[tuple[float, ...]] = field(default_factory=list)
    places: dict[tuple[Any, Any], int] = field(default_factory=dict)
    at: list[int] = field(default_factory=list)
    inputs: list[tuple[str, int]] = field(default_factory=list)
    acting: dict[tuple[str, int], int] = field(default_factory=dict)

    def add(self, kind: int, *values: float) -> None:
        self.kind.append(kind)
        self.values.append((*values, *(0.0,) * (7 - len(values))))

    def report(self, what: Any, where: Any) -> None:
        self.places[what, where] = len(self.at)
        self.at.append(len(self.kind))


def build_chain(
    arm: Arm, angles: FloatArray, held: Sequence[int], theories: Sequence[str], extensible: bool, pieces: int,
    windings: Mapping[int, Winding] | None = None,
) -> Chain:
    """Return the chain of an arm.

    Parameters
    ----------
    arm : Arm
        The machine; its damping by stiffness is included, that by mass left to the sweep.
    angles : ndarray
        Joint angles [rad].
    held : sequence of int
        Joints, from 0, that do not turn.
    theories : sequence of str
        "timoshenko", "euler_bernoulli" or "rigid" for each link.
    extensible : bool
        Whether links stretch.
    pieces : int
        Uniform pieces that stand for a link with a continuous profile.
    windings : mapping
        Windings with inductance by joint, from 0.
    """
    b, drives, arm = _Builder(), [], lumped(arm)
    direction = np.cumsum(angles)
    compliance: dict[tuple[int, float], float] = {}
    beta = arm.damping.beta if arm.damping.kind == "rayleigh" else 0.0
    for i, (link, joint) in enumerate(zip(arm.links, arm.joints, strict=True)):
        if i > 0:
            b.add(MASS, joint.mass, joint.housing_inertia)
        b.add(TURN, math.cos(angles[i]), math.sin(angles[i]))
        b.report("joint", i)
        if i not in held:
            drives.append(i)
            b.inputs.append(("joint", i))
            b.acting["joint", i] = len(b.kind)
            _drive(b, joint, (windings or {}).get(i))
        if joint.stiffness > 0:
            b.add(SPRING, joint.stiffness, joint.damping)
        b.add(MASS, 0.0, joint.hub_inertia)
        stations = sorted({s.position for s in arm.sensors if s.link == i + 1} | {1.0})
        bodies = {x.position: (x.mass, x.inertia) for x in _gathered(arm, i)}
        loads = _loads(arm, i, float(direction[i]))
        _link(b, i, link, stations, theories[i], extensible, beta, pieces, bodies, loads)
        for x in stations:
            compliance[i, x] = _properties(link, link.section_at(x), theories[i], extensible)[-1]
    b.add(MASS, arm.payload.mass, arm.payload.inertia)
    probe = np.full(len(b.kind) + 1, -1, np.int64)
    for number, node in enumerate(b.at):
        probe[node] = number
    for k, name in enumerate(reversed(b.inputs), 3):  # a joint that follows a motion is that input
        if name[0] == "joint" and b.kind[b.acting[name]] == MOTION:
            b.values[b.acting[name]] = (float(k), *b.values[b.acting[name]][1:])
    angle = direction
    lengths = np.array([link.length for link in arm.links])[:, None]
    ends = np.cumsum(lengths * np.column_stack([np.cos(angle), np.sin(angle)]), axis=0)
    E0 = max(link.material.youngs_modulus * link.section_at(0.0).second_moment for link in arm.links)
    return Chain(
        np.array(b.kind, np.int64), np.array(b.values, float), probe, b.places, compliance, tuple(drives),
        tuple(b.inputs), angle, ends, E0, float(lengths.max()),
    )


def _drive(b: _Builder, joint: Joint, winding: Winding | None) -> None:
    if joint.drive == "motion":
        b.add(MOTION)
        return
    electric = (0.0, 1.0, 0.0) if winding is None else (winding.gain * winding.emf, *winding[2:])
    b.add(DRIVE, joint.rotor_inertia, joint.servo_stiffness, joint.servo_damping + joint.friction, *electric)


def _link(
    b: _Builder, i: int, link: Link, stations: Sequence[float], theory: str, extensible: bool, beta: float, pieces: int,
    bodies: Mapping[float, tuple[float, float]], loads: Mapping[float, Mapping[int, tuple[float, ...]]],
) -> None:
    edges = {0.0, *link.breaks, *stations, *bodies, *loads}
    if link.profile is not None:
        edges |= set(np.linspace(0.0, 1.0, pieces + 1).tolist())
    ordered = sorted(edges)
    b.report(i, 0.0)
    _push(b, loads.get(0.0, {}))
    for begin, end in pairwise(ordered):
        section = link.section_at(0.5 * (begin + end))
        b.add(PIECE, (end - begin) * link.length, *_properties(link, section, theory, extensible), beta)
        if end in stations:
            b.report(i, end)
        if end in bodies:
            b.add(MASS, *bodies[end])
        _push(b, loads.get(end, {}))


def _push(b: _Builder, loads: Mapping[int, tuple[float, ...]]) -> None:
    for number, parts in loads.items():
        b.inputs.append(("load", number))
        b.add(LOAD, *parts)


def _loads(arm: Arm, link: int, angle: float) -> dict[float, dict[int, tuple[float, ...]]]:
    """Return by station the loads on a link, by number: what a unit is along, across and about it at rest."""
    c, s = math.cos(angle), math.sin(angle)
    found: dict[float, dict[int, tuple[float, ...]]] = {}
    for number, actuator in enumerate(arm.actuators):
        if actuator.link != link + 1:
            continue
        kind = plane_kind(actuator)
        parts = {ALONG: (1.0, 0.0, 0.0), ACROSS: (0.0, 1.0, 0.0), MOMENT: (0.0, 0.0, 1.0), X: (c, -s, 0.0)}
        found.setdefault(actuator.end, {})[number] = parts.get(kind, (s, c, 0.0))
    return found


def _gathered(arm: Arm, link: int) -> list[Inner]:
    """Return the bodies between the ends of a link, those at one place as one."""
    found: dict[float, Inner] = {}
    for body in inner_bodies(arm):
        if body.link == link:
            other = found.get(body.position, Inner(link, body.position, 0.0, 0.0))
            found[body.position] = Inner(link, body.position, other.mass + body.mass, other.inertia + body.inertia)
    return list(found.values())


def _properties(link: Link, section: Section, theory: str, extensible: bool) -> tuple[float, ...]:
    """Return rho A, rho I and the compliances 1/EA, 1/(kt G A), 1/EI."""
    E, G, rho = link.material.youngs_modulus, link.material.shear_modulus, link.material.density
    A, I = section.area, section.second_moment
    stretch = 1.0 / (E * A) if extensible else 0.0
    if theory == "timoshenko":
        return rho * A, rho * I, stretch, 1.0 / (section.shear_factor * G * A), 1.0 / (E * I)
    if theory == "euler_bernoulli":
        return rho * A, 0.0, stretch, 0.0, 1.0 / (E * I)
    return rho * A, rho * I, 0.0, 0.0, 0.0


def per_link(theory: str | Sequence[str], links: int) -> tuple[str, ...]:
    """Return one theory for each link."""
    given = (theory,) * links if isinstance(theory, str) else tuple(theory)
    require(len(given) == links, f"theory = {theory}: give one, or one for each of {links} links")
    for name in given:
        if name not in THEORIES:
            raise unknown("beam theory", str(name), THEORIES)
    return given


def joint_numbers(held: Sequence[str] | bool, arm: Arm) -> tuple[int, ...]:
    """Return the joints that do not turn, from 0, from their names (True: all of them)."""
    known = [f"joint{i}" for i in range(1, len(arm.joints) + 1)]
    if isinstance(held, bool):
        held = known if held else ()
    for name in [held] if isinstance(held, str) else held:
        if name not in known:
            raise unknown("joint", str(name), known)
    numbers = sorted({known.index(name) for name in ([held] if isinstance(held, str) else held)})
    for i in numbers:
        if arm.joints[i].drive == "motion":
            raise DefinitionError(f'joint {i + 1} has drive = "motion": it cannot be held too; leave it out of held')
    return tuple(numbers)
