"""An arm as a chain of rigid bodies and torsion springs.

Hinge k joins body k - 1 (the base, if k = 0) to body k. A spring carries the bending of the stretch of beam it stands
for, 1 / K = integral of ds / (E I) over it, so that sections may change along the link as they like; in a uniform link
with segments of length l inner springs have K = E I / l.

| closure | segments | springs | frequencies |
|---|---|---|---|
| base | N of length l | between middles of segments; half a segment (2 E I / l) at root and end | second order, low |
| half | half ones at both ends | N, each for one element (E I / l) | second order, high |
| paper | N of length l | N - 1 between middles; the first segment is rigid on the joint | first order, high |

"paper" is the printed equation (13). Its free length is L - l/2: the first frequency is 1.7 % high with 60 segments.

With "base" the root section and the end section of a link are bodies of no length. They carry the hub, the next joint's
housing and mass, or the payload, and the rotary inertia rho I l / 2 of the sections next to them (that of all others is
left out, as for an Euler-Bernoulli beam): a torque needs something to act on. A flexible joint adds its drive side, a
body without mass whose angle is the joint's, and a spring from there to the root.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...errors import DefinitionError, unknown
from ...machine.arm import Arm, Joint, Link
from ...model import FloatArray, Signal
from ..bodies import NEAR, inner_bodies, lumped
from ..sections import link_stations

IntArray = npt.NDArray[np.int64]
CLOSURES = ("base", "paper", "half")
NODES, WEIGHTS = np.polynomial.legendre.leggauss(3)


class Chain(NamedTuple):
    """Bodies 0 .. n - 1 from the base to the tip, and the hinge before each.

    Attributes
    ----------
    length, centre, mass, inertia : ndarray
        Length [m], distance of the centre of mass from the inboard end [m], mass [kg], inertia about the centre
        [kg m^2] of each body.
    stiffness, damper : ndarray
        Spring [N m/rad] and damper [N m s/rad] of each hinge; zero where a joint is.
    span, place : ndarray
        Length of beam [m] that the spring stands for (0: a joint, or its spring) and the middle of it, s / L.
    station : ndarray
        s / L of both ends of each body, n x 2.
    link : ndarray
        Link of each body, from 0.
    joint : ndarray
        First body beyond each joint.
    root : ndarray
        Body that holds the root section of each link; the one beyond the spring of a flexible joint.
    """

    length: FloatArray
    centre: FloatArray
    mass: FloatArray
    inertia: FloatArray
    stiffness: FloatArray
    damper: FloatArray
    span: FloatArray
    place: FloatArray
    station: FloatArray
    link: IntArray
    joint: IntArray
    root: IntArray

    @property
    def beyond(self) -> FloatArray:
        """Mass of all bodies beyond each [kg]."""
        return np.append(np.cumsum(self.mass[::-1])[::-1][1:], 0.0)

    @property
    def first_moment(self) -> FloatArray:
        """b = m d + l (mass beyond) [kg m]: what the weight turns each body with."""
        return np.asarray(self.mass * self.centre + self.length * self.beyond)

    @property
    def second_moment(self) -> FloatArray:
        """J + m d^2 + l^2 (mass beyond) [kg m^2]: the diagonal of the mass matrix."""
        return np.asarray(self.inertia + self.mass * self.centre**2 + self.length**2 * self.beyond)


class _Body(NamedTuple):
    """One row of the chain without link and joints."""

    length: float
    centre: float
    mass: float
    inertia: float
    stiffness: float
    damper: float
    span: float
    place: float
    begin: float
    end: float


def build_chain(arm: Arm, segments: int | Sequence[int], closure: str) -> Chain:
    """Return the chain with so many segments per link."""
    if closure not in CLOSURES:
        raise unknown("closure", closure, CLOSURES)
    _check_inertia(arm)
    arm = lumped(arm)
    bodies: list[_Body] = []
    link_of: list[int] = []
    joints, roots = [], []
    for i, (link, stations) in enumerate(zip(arm.links, link_stations(arm, segments, "segments"), strict=True)):
        joint = arm.joints[i]
        turning = sorted({b.position for b in inner_bodies(arm) if b.link == i and b.inertia > 0})
        own, attached = _link_bodies(link, stations, closure, turning), _attached(arm, i)
        own[0] = own[0]._replace(inertia=own[0].inertia + joint.hub_inertia)
        own[-1] = _with_mass(own[-1], *attached)
        for body in inner_bodies(arm):
            if body.link == i:
                k = next(k for k, x in enumerate(own) if x.length > 0 and body.position <= x.end + 1e-12)
                section = k + 1 < len(own) - 1 and own[k + 1].length == 0.0  # of its own, between two segments
                own[k] = _with_mass(
                    own[k], body.mass, 0.0 if section else body.inertia, (body.position - own[k].begin) * link.length
                )
                if section:
                    own[k + 1] = own[k + 1]._replace(inertia=own[k + 1].inertia + body.inertia)
        joints.append(len(bodies))
        if joint.stiffness > 0:
            bodies.append(_point(0.0))
            own[0] = own[0]._replace(stiffness=joint.stiffness, damper=joint.damping)
        roots.append(len(bodies))
        bodies += own
        link_of += [i] * (len(bodies) - len(link_of))
    l, d, m, J, K, c, span, place, begin, end = np.array(bodies, float).T.copy()
    station = np.column_stack([begin, end])
    return Chain(l, d, m, J, K, c, span, place, station, np.array(link_of), np.array(joints), np.array(roots))


def _attached(arm: Arm, i: int) -> tuple[float, float]:
    """Return mass and inertia at the end of link i: the next joint's, or the payload's."""
    if i + 1 < len(arm.links):
        following: Joint = arm.joints[i + 1]
        return following.mass, following.housing_inertia
    return arm.payload.mass, arm.payload.inertia


def _link_bodies(link: Link, stations: FloatArray, closure: str, turning: Sequence[float]) -> list[_Body]:
    """Return the bodies of a link; with "base" sections where something turns with it are among them."""
    middles = 0.5 * (stations[:-1] + stations[1:])
    ends, borders = stations, np.concatenate([[0.0], middles, [1.0]])
    if closure == "half":
        ends, borders = borders, stations
    elif closure == "paper":
        borders = middles
    inside = [x for x in turning if closure == "base" and float(np.abs(stations[1:-1] - x).min(initial=1.0)) < NEAR]
    borders = np.sort(np.concatenate([borders, inside]))
    springs = [_spring(link, a, b) for a, b in pairwise(borders)]
    rigid = [_segment(link, a, b) for a, b in pairwise(ends)]
    if closure == "base":
        l1, l2 = (link.length * (stations[k + 1] - stations[k]) for k in (0, -2))
        for x in inside:
            rigid.insert(next(k for k, body in enumerate(rigid) if body.begin > x - NEAR), _point(0.0, x))
        rigid = [_point(_rotary(link, 0.0) * l1 / 2.0), *rigid, _point(_rotary(link, 1.0) * l2 / 2.0, 1.0)]
    return [
        rigid[0],
        *(body._replace(stiffness=K, span=span, place=place)
          for body, (K, span, place) in zip(rigid[1:], springs, strict=True)),
    ]


def _point(inertia: float, station: float = 0.0) -> _Body:
    return _Body(0.0, 0.0, 0.0, inertia, 0.0, 0.0, 0.0, 0.0, station, station)


def _rotary(link: Link, station: float) -> float:
    """Return rho I [kg m]."""
    return link.material.density * link.section_at(station).second_moment


def _quadrature(link: Link, begin: float, end: float) -> list[tuple[float, float, float, float]]:
    """Return (weight [m], distance from `begin` [m], area, second moment) at Gauss points between breaks."""
    edges = [begin, *(b for b in link.breaks if begin < b < end), end]
    rows = []
    for a, b in pairwise(edges):
        for x, w in zip(NODES, WEIGHTS, strict=True):
            s = float(0.5 * (a + b) + 0.5 * (b - a) * x)
            section = link.section_at(s)
            weight, distance = 0.5 * float(w) * link.length * (b - a), link.length * (s - begin)
            rows.append((weight, distance, section.area, section.second_moment))
    return rows


def _spring(link: Link, begin: float, end: float) -> tuple[float, float, float]:
    """Return stiffness, span and place of the spring for a stretch of the link."""
    E = link.material.youngs_modulus
    compliance = sum(w / (E * I) for w, _, _, I in _quadrature(link, begin, end))
    return 1.0 / compliance, link.length * (end - begin), 0.5 * (begin + end)


def _segment(link: Link, begin: float, end: float) -> _Body:
    """Return the rigid segment of a stretch of the link."""
    points = _quadrature(link, begin, end)
    rho = link.material.density
    m, first, second = (rho * sum(w * x**k * A for w, x, A, _ in points) for k in range(3))
    d = first / m
    return _Body(link.length * (end - begin), d, m, second - m * d**2, 0.0, 0.0, 0.0, 0.0, begin, end)


def _with_mass(body: _Body, mass: float, inertia: float, distance: float | None = None) -> _Body:
    """Return the body with a point mass and an inertia, at its outboard end or a distance [m] from its inboard one."""
    x, total = body.length if distance is None else distance, body.mass + mass
    if total == 0.0:
        return body._replace(inertia=body.inertia + inertia)
    d = (body.mass * body.centre + mass * x) / total
    J = body.inertia + inertia + body.mass * (d - body.centre) ** 2 + mass * (x - d) ** 2
    return body._replace(mass=total, centre=d, inertia=J)


def coordinate_signals(chain: Chain) -> tuple[Signal, ...]:
    """Return the names: joint1, link1_theta1, link1_theta2, .., joint2, .."""
    signals, count = [], 0
    for k, i in enumerate(chain.link):
        count = 0 if k == chain.joint[i] else count + 1
        joint = Signal(f"joint{i + 1}", "rad", "angle from the previous link's end")
        signals.append(Signal(f"link{i + 1}_theta{count}", "rad") if count else joint)
    return tuple(signals)


def input_signals(arm: Arm) -> tuple[Signal, ...]:
    """Return the inputs: of every joint its torque, or its command and the rate of it, and forces at the tip."""
    signals: list[Signal] = []
    for i, joint in enumerate(arm.joints, 1):
        if joint.drive == "servo":
            signals += [Signal(f"joint{i}_command", "rad"), Signal(f"joint{i}_command_rate", "rad/s")]
        else:
            signals.append(Signal(f"joint{i}_torque", "N m"))
    return (*signals, Signal("tip_force_x", "N"), Signal("tip_force_y", "N"))


def _check_inertia(arm: Arm) -> None:
    """Refuse a drive that would act on a body without inertia."""
    for i, joint in enumerate(arm.joints, 1):
        free = joint.drive != "motion" or arm.damping.kind == "modal"
        if free and joint.stiffness > 0 and joint.rotor_inertia == 0:
            raise DefinitionError(
                f"joint {i} is flexible with rotor_inertia = 0 kg m^2: its drive side has no inertia for a torque to "
                'act on; give rotor_inertia, or drive = "motion"'
            )
