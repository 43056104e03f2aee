"""Motion and forces of the elements and bodies of a spatial arm; `timoshenko_spatial` states the equations.

Everything works on arrays with leading axes (directions of a derivative) and takes complex steps: no conjugation, no
branch on a complex number. *Local coordinates* are those of one element, left node and right node (12), or of one body
(6), and the joint variables of the arm.

A point that stands off its node by y_i in the frames of links i moves with x = r + exp(psi) sum R_i y_i.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .mesh import AXES, IntArray, SpatialMesh
from .rigid import Frames, frames
from .rotation import apply, back, cross, dot, exp_and_spin, log, spin_bias, spin_inverse

Array = npt.NDArray[Any]
Joints = tuple[Array, Array, Array]
"""Joint variables, rates, accelerations, (.., J)."""


class Place(NamedTuple):
    """A section and a point fixed to it: position, velocity, acceleration; axes, spin and its rate, all in base axes.

    The rest maps forces back: exp(psi), T(psi), the point's offset (.. x J x 3, what lies beyond each joint) or None.
    """

    x: Array
    v: Array
    a: Array
    R: Array
    w: Array
    alpha: Array
    E: Array
    T: Array
    offset: Array | None


def place(f: Frames, link: IntArray, local: Array | None, q: Array, v: Array, a: Array) -> Place:
    """Return a place of each link at nodes with coordinates, rates, accelerations (.., P, 6); offsets P x J x 3."""
    psi, rate = q[..., 3:], v[..., 3:]
    E, T = exp_and_spin(psi)
    own, carried = apply(T, rate), apply(E, f.w[..., link, :])
    change = apply(T, a[..., 3:]) + spin_bias(psi, rate)
    w, alpha = own + carried, change + cross(own, carried) + apply(E, f.alpha[..., link, :])
    x, velocity, acceleration, beyond = q[..., :3], v[..., :3], a[..., :3], None
    if local is not None:
        y, y1, y2, beyond = _offset(f, local)
        y, y1, y2 = apply(E, y), apply(E, y1), apply(E, y2)
        turned = cross(own, y)
        x, velocity = x + y, velocity + turned + y1
        acceleration = acceleration + cross(change, y) + cross(own, turned + 2.0 * y1) + y2
    return Place(x, velocity, acceleration, E @ f.R[..., link, :, :], w, alpha, E, T, beyond)


def _offset(f: Frames, local: Array) -> tuple[Array, Array, Array, Array]:
    """Return sum R_i y_i with rate and acceleration, and its part beyond each joint."""
    parts = apply(f.R[..., None, :, :, :], local)
    w = f.w[..., None, :, :]
    turned = cross(w, parts)
    y2 = cross(f.alpha[..., None, :, :], parts) + cross(w, turned)
    beyond = np.cumsum(parts[..., ::-1, :], axis=-2)[..., ::-1, :]
    return beyond[..., 0, :], turned.sum(axis=-2), y2.sum(axis=-2), beyond


def pull(p: Place, f: Frames, link: IntArray, force: Array, moment: Array) -> tuple[Array, Array]:
    """Return what force and moment (base axes) at a place do on its node (.., P, 6) and on the joints (.., P, J)."""
    force_back, moment_back = back(p.E, force), back(p.E, moment)
    reached = np.arange(f.axis.shape[-2]) <= link[:, None]
    axis = f.axis[..., None, :, :]
    joints = reached * dot(axis, moment_back[..., None, :])
    if p.offset is not None:
        joints = joints + dot(cross(axis, p.offset), force_back[..., None, :])
        moment = moment + apply(p.E, cross(p.offset[..., 0, :], force_back))
    return np.concatenate([force, back(p.T, moment)], axis=-1), joints


class Ends(NamedTuple):
    """Both ends of all elements, and what slides.

    `length`, `stretching` are l and l'; `flow` (.., N, 2) are g = (1 - xi)/(d dxi) at both ends, zero where nothing
    slides; `rate`, `change` are d', d'' of the element's segment, `free` its d (1 where nothing slides).
    """

    f: Frames
    left: Place
    right: Place
    length: Array
    stretching: Array
    flow: Array
    free: Array
    rate: Array
    change: Array


def ends(mesh: SpatialMesh, q: Array, v: Array, a: Array, joints: Joints) -> Ends:
    """Return the ends of all elements from local coordinates (.., N, 12) and joint variables with rates (.., J)."""
    f = frames(mesh, *joints)
    local = mesh.offset if mesh.offset.any() else None
    left = place(f, mesh.link, local, q[..., :6], v[..., :6], a[..., :6])
    right = place(f, mesh.link, None, q[..., 6:], v[..., 6:], a[..., 6:])
    slides = mesh.slide >= 0
    share = mesh.station[:, 1] - mesh.station[:, 0]
    d, rate, change = (np.where(slides, x[..., mesh.slide], rest) for x, rest in zip(joints, (1, 0, 0), strict=True))
    flow = np.where(slides[:, None], 1.0 - mesh.station, 0.0) / (d * share)[..., None]
    length, stretching = np.where(slides, d * share, mesh.length), np.where(slides, rate * share, 0.0)
    return Ends(f, left, right, length, stretching, flow, d, rate, change)


class Loads(NamedTuple):
    """Forces and moments (base axes) on both ends of the elements, and forces on the free length of their segment."""

    left_force: Array
    left_moment: Array
    right_force: Array
    right_moment: Array
    free: Array


def total(*loads: Loads) -> Loads:
    """Return the sum of loads."""
    parts = zip(*loads, strict=True)
    return Loads(*(sum(part[1:], start=part[0]) for part in parts))


def local_forces(mesh: SpatialMesh, e: Ends, loads: Loads) -> Array:
    """Return the generalised forces on the local coordinates of each element, .. x N x (12 + J)."""
    left, one = pull(e.left, e.f, mesh.link, loads.left_force, loads.left_moment)
    right, other = pull(e.right, e.f, mesh.link, loads.right_force, loads.right_moment)
    joints = one + other
    if mesh.prismatic.any():
        sliding = np.flatnonzero(mesh.slide >= 0)
        joints[..., sliding, mesh.slide[sliding]] += loads.free[..., sliding]
    return np.concatenate([left, right, joints], axis=-1)


def inertia(mesh: SpatialMesh, e: Ends) -> Loads:
    """Return the forces that the elements' accelerations need."""
    A, B, g, l, l1 = e.left, e.right, e.flow[..., None], e.length[..., None], e.stretching[..., None]
    chord, chord1 = B.x - A.x, B.v - A.v
    rate, change, free = e.rate[..., None], e.change[..., None], e.free[..., None]
    v, a = [], []
    for k, end in enumerate((A, B)):  # of the material that passes the node
        v.append(end.v + rate * g[..., k, :] * chord)
        a.append(end.a + g[..., k, :] * ((change - rate**2 / free) * chord + rate * chord1))
    m = mesh.rhoA[:, None] / 6.0
    P = [m * l * (2.0 * v[k] + v[1 - k]) for k in (0, 1)]
    P1 = [m * (l * (2.0 * a[k] + a[1 - k]) + l1 * (2.0 * v[k] + v[1 - k])) for k in (0, 1)]
    axes = [end.R @ AXES[mesh.kink] for end in (A, B)]
    W = [back(R, end.w) for R, end in zip(axes, (A, B), strict=True)]
    W1 = [back(R, end.alpha) for R, end in zip(axes, (A, B), strict=True)]
    J = mesh.rhoJ / 6.0
    H = [J * l * (2.0 * W[k] + W[1 - k]) for k in (0, 1)]
    H1 = [J * (l * (2.0 * W1[k] + W1[1 - k]) + l1 * (2.0 * W[k] + W[1 - k])) for k in (0, 1)]
    moments = [apply(axes[k], H1[k] + cross(W[k], H[k])) for k in (0, 1)]
    if not mesh.prismatic.any():
        return Loads(P1[0], moments[0], P1[1], moments[1], np.zeros(l.shape[:-1]))
    passing, pushed = g[..., 0, :] * P[0] + g[..., 1, :] * P[1], g[..., 0, :] * P1[0] + g[..., 1, :] * P1[1]
    energy = 0.5 * sum(dot(P[k], v[k]) + dot(H[k], W[k]) for k in (0, 1))
    push = dot(pushed, chord) + dot(passing, chord1) - energy / e.free
    first, first_moment, entering = _inflow(mesh, e, axes[0], W[0])
    return Loads(
        P1[0] + rate * passing - first, moments[0] - first_moment, P1[1] - rate * passing, moments[1], push - entering
    )


def _inflow(mesh: SpatialMesh, e: Ends, R: Array, W: Array) -> tuple[Array, Array, Array]:
    """Return momentum and spin that enter at the guide per time, and what they do on the free length.

    Mass enters with v0 = r0' + d' e, e the axis of the guide, and turns with it. Lagrange's form counts the mass that
    is there; what entered brought its momentum along.
    """
    guide = (mesh.slide >= 0) & (mesh.station[:, 0] == 0.0)
    rate, m = e.rate[..., None], np.where(guide, mesh.rhoA, 0.0)
    v0 = e.left.v + rate * R[..., 0]
    spin = np.where(guide[:, None], mesh.rhoJ, 0.0) * W
    push = m * (e.rate * dot(v0, R[..., 0]) - 0.5 * dot(v0, v0)) - 0.5 * dot(spin, W)
    return m[:, None] * rate * v0, apply(R, rate * spin), push


def inflow_power(mesh: SpatialMesh, e: Ends, gravity: Array) -> Array:
    """Return the energy that entering mass brings in at the guides per time [W]: kinetic and of its weight."""
    guide = (mesh.slide >= 0) & (mesh.station[:, 0] == 0.0)
    R = e.left.R @ AXES[mesh.kink]
    W, v0 = back(R, e.left.w), e.left.v + e.rate[..., None] * R[..., 0]
    per_length = mesh.rhoA * (0.5 * dot(v0, v0) - e.left.x @ gravity) + 0.5 * dot(mesh.rhoJ * W, W)
    return np.asarray(np.where(guide, e.rate * per_length, 0.0).sum(axis=-1))


def weight(mesh: SpatialMesh, e: Ends, gravity: Array) -> Loads:
    """Return the weight of the elements."""
    force = np.broadcast_to((0.5 * mesh.rhoA * e.length)[..., None] * gravity, e.right.x.shape)
    zero = np.zeros_like(force)
    # what slides is displaced by g dx at either end
    return Loads(force, zero, force, zero, dot(force, e.right.x - e.left.x) * e.flow.sum(axis=-1))


class Strains(NamedTuple):
    """Strains (gamma, kappa), .. x N x 6, their rates, and what maps stresses to forces.

    `stretch` is gamma + e1, `Rm` the axes of the middle, `turn` Theta, `ends` the axes of the ends.
    """

    strain: Array
    rate: Array
    stretch: Array
    Rm: Array
    turn: Array
    ends: tuple[Array, Array]


def strains(mesh: SpatialMesh, e: Ends) -> Strains:
    """Return the strains in the middle of each element.

    Theta = log(R1^T R2), Rm = R1 exp(Theta/2); kappa = Theta/l, gamma = Rm^T (x2 - x1)/l - e1. The rates use
    Theta' = T^-T W2 - T^-1 W1 (T at Theta) and Wm = exp(-Theta/2) W1 + T(Theta/2)^T Theta'/2, spins in section axes.
    """
    R1, R2 = (end.R @ AXES[mesh.kink] for end in (e.left, e.right))
    turn = log(np.swapaxes(R1, -1, -2) @ R2)
    half, half_spin = exp_and_spin(0.5 * turn)
    inverse, Rm, l = spin_inverse(turn), R1 @ half, e.length[..., None]
    W1, W2 = back(R1, e.left.w), back(R2, e.right.w)
    turn1 = back(inverse, W2) - apply(inverse, W1)
    Wm = back(half, W1) + 0.5 * back(half_spin, turn1)
    stretch, thinning = back(Rm, e.right.x - e.left.x) / l, e.stretching[..., None] / l
    stretch1 = back(Rm, e.right.v - e.left.v) / l + cross(stretch, Wm) - thinning * stretch
    strain = np.concatenate([stretch - AXES[0, 0], turn / l], axis=-1)
    rate = np.concatenate([stretch1, (turn1 - thinning * turn) / l], axis=-1)
    return Strains(strain, rate, stretch, Rm, turn, (R1, R2))


def internal(mesh: SpatialMesh, e: Ends, s: Strains, stress: Array) -> Loads:
    """Return the forces of stresses times length, l (N, Q2, Q3, M1, M2, M3), .. x N x 6.

    On the free length acts what changes the strains, smaller by (stretch, kappa)/l in a longer element with fixed ends,
    and the elastic energy per length.
    """
    n, m, l = stress[..., :3], stress[..., 3:], e.length[..., None]
    force = apply(s.Rm, n / l)
    half, half_spin = exp_and_spin(0.5 * s.turn)
    inverse, shear = spin_inverse(s.turn), cross(n, s.stretch)
    on_turn = m / l + 0.5 * apply(half_spin, shear)
    left = apply(s.ends[0], apply(half, shear) - back(inverse, on_turn))
    right = apply(s.ends[1], apply(inverse, on_turn))
    stored = 0.5 * e.length * dot(mesh.stiffness * s.strain, s.strain)
    free = (stored - dot(n, s.stretch) - dot(m, s.strain[..., 3:])) / e.free
    return Loads(-force, left, force, right, free)


def bodies(mesh: SpatialMesh, q: Array, v: Array, a: Array, joints: Joints) -> tuple[Frames, Place]:
    """Return the motion of the bodies' centres of mass from the local coordinates (.., B, 6) of their nodes."""
    f = frames(mesh, *joints)
    local = mesh.bodies.offset if mesh.bodies.offset.any() else None
    return f, place(f, mesh.bodies.link, local, q, v, a)


def body_inertia(mesh: SpatialMesh, f: Frames, p: Place) -> Array:
    """Return the generalised forces that the motion of the bodies needs, .. x B x (6 + J)."""
    J = mesh.bodies.inertia
    W, W1 = back(p.R, p.w), back(p.R, p.alpha)
    moment = apply(p.R, apply(J, W1) + cross(W, apply(J, W)))
    return np.concatenate(pull(p, f, mesh.bodies.link, mesh.bodies.mass[:, None] * p.a, moment), axis=-1)


def body_weight(mesh: SpatialMesh, f: Frames, p: Place, gravity: Array) -> Array:
    """Return the generalised forces of the bodies' weight, .. x B x (6 + J)."""
    force = np.broadcast_to(mesh.bodies.mass[:, None] * gravity, p.x.shape)
    return np.concatenate(pull(p, f, mesh.bodies.link, force, np.zeros_like(force)), axis=-1)
