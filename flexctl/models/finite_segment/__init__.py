"""Planar serial arms of rigid segments joined by torsion springs: the finite segment method.

    M(q) q'' + h(q, q') = B(q) u
    T = 1/2 sum_jk mu_jk cos(theta_j - theta_k) theta_j' theta_k'
    V = 1/2 sum_k K_k (theta_k - theta_(k-1))^2 - sum_k b_k g . R_k,     R = (cos theta, sin theta)
    mu_jk = l_j b_k (j < k),   mu_kk = J_k + m_k d_k^2 + l_k^2 W_k,   b_k = m_k d_k + l_k W_k

theta_k [rad] are the angles of the bodies in the base frame, W_k the mass beyond body k, d_k the distance of its centre
of mass from its inboard end, l_k its length. The mu are constants: the whole inertia of the chain is in them. q holds
theta_k, but for the first body beyond joint i its angle phi_i = theta_k - theta_(k-1) from the previous body, so that
the torque of joint i acts on phi_i alone. `finite_segment.mesh` says what the bodies and springs are: closures,
flexible joints, non-uniform sections.

"rayleigh" damping is alpha M theta' and, on the springs of the links, dampers beta K (a flexible joint has its own
damper). "modal" damping has the given ratio in every mode of the reference pose, joints that follow a motion held and
the others free, and acts on the springs of links and joints, in every pose the same.

Assumptions: planar motion, no axial and no shear deformation; geometrically nonlinear, the paper's "purely linear"
holds for one step only.

Source: H. Li, X. Zhang, "A method for modeling flexible manipulators: transfer matrix method with finite segments".
`finite_segment.transfer` has its transfer matrices and lists its misprints; `models.finite_segment.kernel` the compiled
sweep.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import require
from ...machine.arm import Arm, Payload
from ...model import Energy, FloatArray, OutputTangent, Tangent, Unconstrained
from ..features import check_bare
from ..null_space import unheld
from ..ranges import CHORD, Driven, squared
from ..rest import commanded_joints
from ..sensors import rigid_tip
from ..serial import STRONG
from ..timoshenko_planar.rigid import Motion
from .loads import SegmentLoads
from .mesh import build_chain, coordinate_signals, input_signals
from .rest import rest
from .sensors import SegmentSensors

Array = npt.NDArray[Any]


class FiniteSegment(Unconstrained):
    """A planar serial arm; see the module for the equations.

    Parameters
    ----------
    arm : Arm
        One or more links with revolute joints, with inputs as of `TimoshenkoPlanar`.
    segments : int or sequence of int
        Segments per link.
    closure : str
        "base", "half" or "paper": how the springs end at the joints.

    Examples
    --------
    >>> model = fx.FiniteSegment(fx.load_plant("planar_2r_flexible").arm, segments=20)
    >>> print(fx.linearise(model).modes(1).frequencies_hz.round(4))
    [49.8737]
    """

    kind = "finite_segment"
    features = frozenset({
        "pieces", "joint_angle", "joint_mass", "housing_inertia", "rotor_inertia", "servo_drive", "motion_drive",
        "joint_stiffness", "joint_friction", "load_along_x", "body",
    })

    def __init__(self, arm: Arm, *, segments: int | Sequence[int] = 20, closure: str = "base") -> None:
        check_bare(arm, self.kind, self.features)
        self.arm, self.segments, self.closure_kind = arm, segments, closure
        self.chain = build_chain(arm, segments, closure)
        self.coordinates = coordinate_signals(self.chain)
        self.sensors = SegmentSensors(self.chain, arm)
        plain = input_signals(arm)
        self.loads = SegmentLoads(self.chain, arm, plain)
        self.outputs, self.inputs = self.sensors.signals, plain + self.loads.signals
        self.tip = len(plain) - 2
        self.rotor, self.kp, self.kv, self.friction = (
            np.array([getattr(joint, key) for joint in arm.joints])
            for key in ("rotor_inertia", "servo_stiffness", "servo_damping", "friction")
        )
        self.gravity = np.array(arm.gravity[:2], float)
        damping = arm.damping
        self.alpha, self.beta = (damping.alpha, damping.beta) if damping.kind == "rayleigh" else (0.0, 0.0)
        self.damper = self.chain.damper + self.beta * np.where(self.chain.span > 0, self.chain.stiffness, 0.0)
        self.C = self.hinges_coupled = np.zeros((0, 0))
        if damping.kind == "modal" and damping.ratio > 0:
            self.hinges_coupled = self._modal_damping(damping.ratio)
            self.C = self._gather_both(_between_hinges(self.hinges_coupled))

    @property
    def joints(self) -> dict[str, str]:
        """Torque input of each torque-driven joint and the coordinate it acts on."""
        return {f"joint{i}_torque": f"joint{i}" for i, j in enumerate(self.arm.joints, 1) if j.drive != "servo"}

    @property
    def commands(self) -> dict[str, tuple[str, str]]:
        """Inputs for commanded angle and rate of each servo joint, by coordinate."""
        servos = [i for i, j in enumerate(self.arm.joints, 1) if j.drive == "servo"]
        return {f"joint{i}": (f"joint{i}_command", f"joint{i}_command_rate") for i in servos}

    @cached_property
    def B(self) -> FloatArray:
        """Levers of the joint inputs; the columns of the loads depend on the pose."""
        B = np.zeros((self.chain.length.size, len(self.inputs)))
        gains = [(j.servo_stiffness, j.servo_damping) if j.drive == "servo" else (1.0,) for j in self.arm.joints]
        levers = [(k, lever) for k, own in zip(self.chain.joint, gains, strict=True) for lever in own]
        for column, (k, lever) in enumerate(levers):
            B[k, column] = lever
        return B

    @cached_property
    def mu(self) -> FloatArray:
        """Constants of the inertia, in the angles of the bodies."""
        upper = np.triu(np.outer(self.chain.length, self.chain.first_moment), 1)
        return np.asarray(upper + upper.T + np.diag(self.chain.second_moment))

    def angles(self, q: Array) -> Array:
        """Return the angles (rates, accelerations) of the bodies from the coordinates, or rows of them."""
        theta = np.array(q)
        for k in self.chain.joint[1:]:
            theta[..., k] += theta[..., k - 1]
        return theta

    def coordinates_of(self, theta: Array) -> Array:
        """Return the coordinates from the angles (rates, accelerations) of the bodies, or rows of them."""
        q = np.array(theta)
        for k in self.chain.joint[1:]:
            q[..., k] -= theta[..., k - 1]
        return q

    def _gather(self, h: Array) -> Array:
        """Return forces on the coordinates from moments on the bodies, along the last axis."""
        out = np.array(h)
        for k in self.chain.joint[:0:-1]:
            out[..., k - 1] += out[..., k]
        return out

    def _gather_both(self, S: FloatArray) -> FloatArray:
        return np.asarray(self._gather(self._gather(S).T).T)

    def pose(self, angles: Sequence[float] | FloatArray) -> FloatArray:
        """Return the coordinates of the undeformed arm with these joint angles [rad]."""
        zero = np.zeros(len(self.arm.joints))
        return self.rigid_motion(angles, zero, zero)[0]

    def outline(self, q: FloatArray) -> list[FloatArray]:
        """Return the ends x and y [m] of the segments of every link, from its root."""
        theta, length = self.angles(np.asarray(q, float)), self.chain.length
        ends = np.cumsum(np.column_stack([length * np.cos(theta), length * np.sin(theta)]), axis=0)
        places = np.vstack([np.zeros((1, 2)), ends])
        return [places[np.append(own, own[-1] + 1)] for own in map(np.flatnonzero, self._of_links())]

    def _of_links(self) -> list[FloatArray]:
        return [np.asarray(self.chain.link == i) for i in range(len(self.arm.links))]

    def rigid_motion(self, angles: npt.ArrayLike, rates: npt.ArrayLike, accelerations: npt.ArrayLike) -> Motion:
        """Return coordinates, rates, accelerations (.., n) of the rigid arm from those of its joints (.., joints)."""
        joints, found = len(self.arm.joints), []
        for given in (angles, rates, accelerations):
            x = np.asarray(given, float)
            require(x.shape[-1:] == (joints,), f"joint values of shape {x.shape} given; the arm has {joints} joints")
            found.append(self.coordinates_of(np.cumsum(x, axis=-1)[..., self.chain.link]))
        return found[0], found[1], found[2]

    def rigid_torques(self, angles: npt.ArrayLike, rates: npt.ArrayLike, accelerations: npt.ArrayLike) -> FloatArray:
        """Return the joint torques (.., joints) [N m] that move the rigid arm: inverse dynamics, weight included."""
        rows = (np.atleast_2d(x) for x in self.rigid_motion(angles, rates, accelerations))
        # the torque of joint j is the moment of all that lies beyond; rotors belong to their joint alone
        turn = self.coordinates_of((self.chain.link >= np.arange(self.rotor.size)[:, None]).astype(float))
        torques = [turn @ (self.mass(q) @ a + self.force(q, v)) for q, v, a in zip(*rows, strict=True)]
        return np.reshape(torques, np.shape(angles))

    def turning(self, rates: npt.ArrayLike, angles: npt.ArrayLike | None = None) -> FloatArray:
        """Return W of `steady`, zero: angles are the same in frames that turn with the links, but for a constant."""
        return np.zeros((self.chain.length.size,) * 2)

    def reference(self) -> FloatArray:
        """Return the undeformed arm with the joint angles of its definition."""
        return self.pose([joint.angle for joint in self.arm.joints])

    def rigid_tip(self, angles: FloatArray) -> FloatArray:
        """Return the tip (.., 2) [m] of the rigid arm with joint angles (.., joints) [rad]."""
        return np.asarray(rigid_tip(self.sensors.lengths, angles))

    def rest(self, angles: Sequence[float] | FloatArray) -> FloatArray:
        """Return the arm at rest under its weight, its joints held at (servo joints: commanded to) these angles."""
        return rest(self, np.asarray(angles, float))

    def assumptions(self, q: FloatArray, v: FloatArray) -> list[Driven]:
        """Return how far recorded coordinates (nt x n) drive the assumption of straight segments."""
        theta, chain = q.copy(), self.chain
        for k in chain.joint:
            theta[:, k] += theta[:, k - 1] if k else 0.0
        found = []
        for i in range(len(self.arm.links)):
            bodies = np.flatnonzero(chain.link == i)
            if bodies.size > 1:
                turn = np.abs(np.diff(theta[:, bodies], axis=1)).max(axis=1)
                found.append(squared(f"turn of a segment of link {i + 1}", turn, "rad", CHORD, "more segments"))
        return found

    @property
    def furthest(self) -> int:
        """How many assumptions the compiled steps follow, see `kernels.furthest`: one a link."""
        return len(self.arm.links)

    def start(self, commands: Mapping[str, Sequence[float]]) -> tuple[FloatArray, FloatArray]:
        """Return coordinates and rates where commanded joints begin, by name their angle [rad] and rate [rad/s].

        Bent by the weight if every joint is commanded; otherwise the arm is undeformed, other joints as defined.
        """
        angles, rates = commanded_joints(self.arm, commands)
        q, v, _ = self.rigid_motion(angles, rates, 0.0 * rates)
        return (self.rest(angles) if len(commands) == angles.size and self.gravity.any() else q), v

    @property
    def own_stepper(self) -> bool:
        """Whether `stepper` gives a compiled stepper: not with modal damping so strong that its iteration is slow."""
        return not self.C.size or self.arm.damping.ratio <= STRONG

    def stepper(self, *arguments: Any) -> Any:
        """Return the model's own compiled stepper (see `finite_segment.stepper`), or None with strong modal damping."""
        if not self.own_stepper:
            return None
        from .stepper import stepper  # compiled code is loaded when a time loop needs it

        return stepper(self, *arguments)

    def with_payload(self, mass: float, inertia: float = 0.0) -> FiniteSegment:
        """Return the model with another payload [kg], [kg m^2]."""
        arm = replace(self.arm, payload=Payload(mass, inertia))
        return FiniteSegment(arm, segments=self.segments, closure=self.closure_kind)

    def mass(self, q: FloatArray) -> FloatArray:
        """Return M(q)."""
        theta = self.angles(q)
        M = self._gather_both(self.mu * np.cos(theta[:, None] - theta))
        M[self.chain.joint, self.chain.joint] += self.rotor
        return M

    def input_matrix(self, q: FloatArray) -> FloatArray:
        """Return B(q)."""
        theta, l = self.angles(q), self.chain.length
        B = self.B.copy()
        tip = np.stack([-l * np.sin(theta), l * np.cos(theta)], axis=-1)
        B[:, self.tip :] = self._gather(np.hstack([tip, self.loads.columns(theta)]).T).T
        return B

    def force(self, q: Array, v: Array, t: float = 0.0) -> FloatArray:
        """Return the moments of inertia without acceleration, springs, dampers, servo joints, minus the weight's."""
        theta, w, chain = self.angles(q), self.angles(v), self.chain
        turn = theta[:, None] - theta
        h = (self.mu * np.sin(turn)) @ w**2 - self._moment(theta)
        if self.alpha:
            h = h + self.alpha * ((self.mu * np.cos(turn)) @ w)
        moment = chain.stiffness * _bend(theta) + self.damper * _bend(w)
        h = self._gather(h + moment - np.append(moment[1:], 0.0))
        joint = chain.joint
        h[joint] += self.kp * q[joint] + (self.kv + self.friction + self.alpha * self.rotor) * v[joint]
        return np.asarray(h + self.C @ v if self.C.size else h)

    def _moment(self, theta: Array) -> Array:
        """Return the moment of the weight on each body, b g . R'."""
        across = self.gravity[1] * np.cos(theta) - self.gravity[0] * np.sin(theta)
        return np.asarray(self.chain.first_moment * across)

    def weight(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the weight as forces on the coordinates, and its derivative."""
        theta = self.angles(q)
        along = self.gravity[0] * np.cos(theta) + self.gravity[1] * np.sin(theta)
        return self._gather(self._moment(theta)), self._gather_both(np.diag(-self.chain.first_moment * along))

    def tangent(self, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray, lam: FloatArray) -> Tangent:
        """Return M, D, K."""
        theta, w, chain = self.angles(q), self.angles(v), self.chain
        turn = theta[:, None] - theta
        C, S = self.mu * np.cos(turn), self.mu * np.sin(turn)
        moved = self.angles(a) + self.alpha * w
        K, D = S * moved - C * w**2, self.alpha * C + 2.0 * S * w
        K -= np.diag(K.sum(axis=1))  # angles enter by their differences only
        pull = chain.first_moment[:, None] * self.gravity + chain.length[:, None] * u[self.tip : self.tip + 2]
        K -= self.loads.slope(theta, u)
        K += np.diag(pull[:, 0] * np.cos(theta) + pull[:, 1] * np.sin(theta))
        K, D = self._gather_both(K + _springs(chain.stiffness)), self._gather_both(D + _springs(self.damper))
        joint = chain.joint
        K[joint, joint] += self.kp
        D[joint, joint] += self.kv + self.friction + self.alpha * self.rotor
        return Tangent(self.mass(q), D + self.C if self.C.size else D, K)

    def _modal_damping(self, ratio: float) -> FloatArray:
        """Return the moments at all hinges by the rates at which all of them bend.

        On the coordinates they are C with C phi = 2 ratio omega M phi for flexible modes phi, zero for rigid motion.
        """
        from ...linear.modes import normal_modes  # a higher layer, needed here only

        K, M = self._gather_both(_springs(self.chain.stiffness)), self.mass(self.reference())
        free = unheld(self.arm, self.chain.joint, len(K))
        normal = normal_modes(M[np.ix_(free, free)], K[np.ix_(free, free)])
        flexible = normal.eigenvalues > 0
        shapes = np.zeros((len(K), int(flexible.sum())))
        shapes[free] = normal.shapes[:, flexible]
        moments = self.chain.stiffness * np.apply_along_axis(_bend, 1, self.angles(shapes.T))
        return np.asarray((moments.T * (2.0 * ratio / normal.omega[flexible] ** 3)) @ moments)

    def energy(self, q: FloatArray, v: FloatArray) -> Energy:
        """Return the kinetic energy, and that of springs (servo ones included, command 0) minus the weight's work."""
        theta, joint = self.angles(q), self.chain.joint
        elastic = 0.5 * float(self.chain.stiffness @ _bend(theta) ** 2)
        servo = 0.5 * float(self.kp @ q[joint] ** 2)
        along = self.gravity[0] * np.cos(theta) + self.gravity[1] * np.sin(theta)
        weight = float(self.chain.first_moment @ along)
        return Energy(0.5 * float(v @ self.mass(q) @ v), elastic + servo - weight)

    def output(self, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray) -> FloatArray:
        """Return the sensor readings; `timoshenko_planar.sensors` says what they mean."""
        return np.asarray(self.sensors.read(self.angles(q), self.angles(v), self.angles(a)))

    def output_tangent(self, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray) -> OutputTangent:
        """Return the derivatives of `output`."""
        rows = self.sensors.rows(self.angles(q), self.angles(v), self.angles(a), len(self.inputs))
        position, rate, acceleration = (self._gather(x) for x in rows[:3])
        return OutputTangent(position, rate, acceleration, rows.input)

    def compiled(self) -> None:
        """Return None: what runs compiled is the model's own stepper."""


def _bend(theta: Array) -> Array:
    """Return theta_k - theta_(k-1) at every hinge."""
    return np.diff(theta, prepend=0.0)


def _between_hinges(H: FloatArray) -> FloatArray:
    """Return the moments on the bodies by their rates, from those of the hinges by the rates at which they bend."""
    for _ in range(2):
        H = (H - np.vstack([H[1:], np.zeros(len(H))])).T
    return H


def _springs(K: FloatArray) -> FloatArray:
    """Return the tridiagonal stiffness of springs between neighbours."""
    S = np.diag(K + np.append(K[1:], 0.0))
    k = np.arange(1, K.size)
    S[k, k - 1] = S[k - 1, k] = -K[1:]
    return S
