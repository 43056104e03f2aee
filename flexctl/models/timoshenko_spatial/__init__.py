"""Spatial serial arms of geometrically exact Timoshenko beams, with revolute and prismatic joints.

    M(q) q'' + h(q, q') = B u
    V = sum over elements of l/2 (gamma . diag(EA, kt GA, kt GA) gamma + kappa . diag(GJ, EI2, EI3) kappa)
    gamma = Rm^T (x2 - x1)/l - e1,   kappa = Theta/l,   Theta = log(R1^T R2),   Rm = R1 exp(Theta/2)

Links and joints by Hartenberg and Denavit: joint i turns about (or slides along) z; from it the kink of the link goes
along z and the link proper along the turned x; its twist about x gives the next joint's axis. Coordinates: the joint
variables phi, and for every node its position r [m] in the base frame and the rotation vector psi [rad], in base axes,
from the section of the *rigid arm with the same joint variables* to the actual section:

    R = exp(psi) R0(phi),     spin of the section = T(psi) psi' + exp(psi) sum axis_j phi_j'

psi is small however far the joints travel, is shared by all that meets in a node (joints, kinks) without being
transformed, and leaves the torque of joint i acting on phi_i alone. Positions are interpolated linearly, rotations
along the shortest way, the strains taken at the middle of the element (reduced integration); the mass is consistent,
with rotary inertia in section axes:

    T = sum over elements of rho A l/6 (v1.v1 + v1.v2 + v2.v2) + l/6 (W1.J W1 + W1.J W2 + W2.J W2)

Nothing is linearised. With all kinks and twists zero this is `timoshenko_planar`, to rounding. A *prismatic* joint
feeds its link's kink through a guide: free length d, nodes at fixed fractions xi of it from the guide, so that material
passes the nodes, with the velocity x' + d' (1 - xi)/d dx/dxi. Lagrange's equations of that T, minus the momentum that
enters at the guide: exact d'Alembert forces of the free part. What has not come out yet is massless and rigid, enters
unstrained, and has the spin of the guide; rotary inertia of the flow along a bent axis (rho I d' kappa) is neglected.
Rigid kinks, joint masses, housings, hubs (inertias about the joint's axis) and the payload (equal about all axes) are
rigid bodies.

Damping as in `timoshenko_planar`: "rayleigh" is alpha M v and stresses beta times strain rates, "modal" a law of the
strain rates made for the reference pose. `analysis` says how a run with commanded joints is done: "nonlinear";
"linear", the deformation from the commanded rigid arm to first order, with the stiffening by the rigid arm's axial
forces unless `stiffening` is off; "quasi_static", that without the inertia of the deformation. Nothing else depends on
it.

Derivatives are complex steps over the coordinates of one element, all elements at once: exact to rounding.

Source: Reissner 1972, Simo 1985, Simo and Vu-Quoc 1986 for the beam; a thesis of the 1980s on flexible manipulators for
the arms, chapter V. Where the thesis keeps coordinates fixed to the sleeve of a prismatic joint and changes only the
length, the terms 2 d' u', d'^2 u'', d'' u' of the flow are missing; its equation (5.8) counts a rotation twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import ConvergenceError, require
from ...machine.arm import Arm
from ...model import Energy, FloatArray, OutputTangent, Tangent
from ..null_space import unheld
from ..serial import Motion, SerialArm
from . import element
from .assembly import assemble, collect, directions, slopes, square, widen
from .element import Joints
from .loads import SpatialLoads
from .mesh import build_mesh, coordinate_signals
from .rigid import axial_forces, element_axes, rigid_jacobian, rigid_motion, rigid_tip, turning
from .sensors import SpatialSensors

Array = npt.NDArray[Any]
WHOLE = 0.1
"""Angle from a whole turn [rad] within which a rotation vector is taken by the turn shorter. Chosen."""


class TimoshenkoSpatial(SerialArm):
    """A spatial serial arm; see the module for the equations.

    Parameters
    ----------
    arm : Arm
        One or more links with revolute or prismatic joints. Joints with drive "servo" have their commanded variable and
        its rate as inputs, the others a torque or a force.
    elements : int or sequence of int
        Elements per link; a flexible kink has as many.
    analysis, stiffening
        As for `TimoshenkoPlanar`.

    Examples
    --------
    >>> model = fx.TimoshenkoSpatial(fx.load_plant("spatial_3r").arm, elements=2)
    >>> fx.names(model.inputs)[:3]
    ['joint1_torque', 'joint2_torque', 'joint3_torque']
    """

    kind, letters = "timoshenko_spatial", "xyz"
    features = frozenset(
        {
            "pieces", "joint_angle", "joint_mass", "housing_inertia", "rotor_inertia", "servo_drive", "motion_drive",
            "kink", "twist", "second_moment_y", "torsion_constant", "prismatic_joint", "sensor_direction_z",
            "gravity_along_z", "load_along_x", "body", "load_out_of_plane",
        }
    )

    def __init__(
        self, arm: Arm, *, elements: int | Sequence[int] = 8, analysis: str = "nonlinear", stiffening: bool = True
    ) -> None:
        super().__init__(arm, elements, analysis, stiffening)
        self.mesh = build_mesh(arm, elements)
        self.sensors = SpatialSensors(self.mesh, arm)
        self._lay_out(coordinate_signals(self.mesh), self.sensors.signals)
        self.loads = SpatialLoads(self.mesh, arm, self.inputs)
        self.inputs += self.loads.signals
        self.gravity = np.array(arm.gravity, float)
        carriers = self.mesh.node[self.mesh.bodies.node]
        self.body_dof = np.hstack([carriers, np.broadcast_to(self.mesh.joint, (len(carriers), self.mesh.joint.size))])
        self._damp()

    def _rigid_motion(self, angles: FloatArray, rates: FloatArray, accelerations: FloatArray) -> Motion:
        return rigid_motion(self.mesh, angles, rates, accelerations)

    def rigid_torques(self, angles: npt.ArrayLike, rates: npt.ArrayLike, accelerations: npt.ArrayLike) -> FloatArray:
        """Return the joint torques and forces (.., joints) that move the rigid arm: inverse dynamics with weight."""
        q, v, a = self.rigid_motion(angles, rates, accelerations)
        needed = self._needed(q, v, a) - self.load(q)
        if self.alpha:
            needed += self.alpha * self._needed(q, 0.0 * v, v)
        return np.asarray((rigid_jacobian(self.mesh, q[..., self.mesh.joint]) * needed[..., None, :]).sum(axis=-1))

    def turning(self, rates: npt.ArrayLike, angles: npt.ArrayLike | None = None) -> FloatArray:
        """Return W of d(R z)/dt = R (z' + W z) in the frames that turn with the links at these joint rates [rad/s]."""
        phi = np.array(self.arm.reference_joints if angles is None else angles, float)
        given = np.asarray(rates, float)
        still = not np.any(given[self.mesh.prismatic])
        require(still, f"joint rates {given.tolist()}: an arm whose prismatic joint moves has no steady state")
        return turning(self.mesh, phi, given)

    def rigid_tip(self, angles: FloatArray) -> FloatArray:
        """Return the tip (.., 3) [m] of the rigid arm with joint variables (.., joints)."""
        return np.asarray(rigid_tip(self.mesh, np.asarray(angles, float)))

    def rewound(self, q: FloatArray) -> FloatArray:
        """Return the same pose without rotation vectors near whole turns, where they have no mass and no stiffness."""
        rows = self.mesh.node[:, 3:6]
        rows, found = rows[(rows >= 0).all(axis=1) & (rows < self.mesh.size).all(axis=1)], np.array(q, float)
        turn = np.linalg.norm(found[rows], axis=1)
        whole = 2.0 * np.pi * np.round(turn / (2.0 * np.pi))
        near = (whole > 0.0) & (np.abs(turn - whole) < WHOLE)
        found[rows[near]] *= (1.0 - whole[near] / turn[near])[:, None]
        return found

    def prestress(self, angles: FloatArray) -> FloatArray:
        """Return the geometric stiffness of the axial forces that the weight causes in the rigid arm."""
        mesh = self.mesh
        N = axial_forces(mesh, -self.load(self.pose(angles)), angles)
        axes = element_axes(mesh, angles)[:, :, 1:]
        across = np.zeros((mesh.length.size, 12 + mesh.joint.size, 2))
        across[:, :3], across[:, 6:9] = -axes, axes
        return assemble(mesh.size, mesh.dof, np.einsum("eia,e,eja->eij", across, N / self._length(angles), across))

    def _length(self, phi: Array) -> FloatArray:
        mesh = self.mesh
        share = np.diff(mesh.station, axis=1)[:, 0]
        return np.asarray(np.where(mesh.slide >= 0, phi[mesh.slide] * share, mesh.length))

    def _split(self, dof: Array, *motion: Array) -> tuple[list[Array], Joints]:
        """Return the local coordinates of elements or bodies and the joint variables, each with its rates."""
        phi = self.mesh.joint
        local = [np.concatenate([x, 0.0 * x[..., :1]], axis=-1)[..., dof[:, : -phi.size]] for x in motion]
        return local, (motion[0][..., phi], motion[1][..., phi], motion[2][..., phi])

    def _needed(self, q: Array, v: Array, a: Array) -> FloatArray:
        """Return the forces (.., n) that a motion needs, M a and its quadratic terms."""
        mesh = self.mesh
        local, joints = self._split(mesh.dof, q, v, a)
        e = element.ends(mesh, local[0], local[1], local[2], joints)
        h = collect(mesh.size, mesh.dof, element.local_forces(mesh, e, element.inertia(mesh, e)))
        local, joints = self._split(self.body_dof, q, v, a)
        bodies = element.bodies(mesh, local[0], local[1], local[2], joints)
        h += collect(mesh.size, self.body_dof, element.body_inertia(mesh, *bodies))
        h[..., mesh.joint] += mesh.rotor * a[..., mesh.joint]
        return h

    def _elements(self, local: list[Array], joints: Joints, extra: Array | float) -> Array:
        """Return the left side of the elements in their local coordinates, with `extra` stresses times length."""
        mesh = self.mesh
        e = element.ends(mesh, local[0], local[1], local[2], joints)
        s = element.strains(mesh, e)
        stress = e.length[..., None] * mesh.stiffness * (s.strain + self.beta * s.rate) + extra
        parts = [element.inertia(mesh, e), element.internal(mesh, e, s, stress)]
        if self.gravity.any():
            parts.append(element.weight(mesh, e, -self.gravity))
        found = element.local_forces(mesh, e, element.total(*parts))
        if self.alpha:
            zero = (joints[0], 0.0 * joints[1], joints[1])
            e = element.ends(mesh, local[0], 0.0 * local[1], local[1], zero)
            found = found + self.alpha * element.local_forces(mesh, e, element.inertia(mesh, e))
        return found

    def _bodies(self, local: list[Array], joints: Joints) -> Array:
        """Return the left side of the bodies in their local coordinates."""
        mesh = self.mesh
        moving = element.bodies(mesh, local[0], local[1], local[2], joints)
        found = element.body_inertia(mesh, *moving) - element.body_weight(mesh, *moving, self.gravity)
        if self.alpha:
            zero = (joints[0], 0.0 * joints[1], joints[1])
            moving = element.bodies(mesh, local[0], 0.0 * local[1], local[1], zero)
            found = found + self.alpha * element.body_inertia(mesh, *moving)
        return found

    def _rates(self, local: list[Array], joints: Joints) -> Array:
        """Return the strain rates, .. x N x 6."""
        return element.strains(self.mesh, element.ends(self.mesh, local[0], local[1], local[2], joints)).rate

    def _extra(self, local: list[Array], joints: Joints) -> Array | float:
        """Return the stresses times length of modal damping."""
        if not self.C.size:
            return 0.0
        rate = self._rates(local, joints)
        return (self.C @ rate.ravel()).reshape(rate.shape)

    def force(self, q: Array, v: Array, t: float = 0.0) -> FloatArray:
        """Return inertia forces but M a, elastic and damping forces, servo springs and dampers, minus the weight."""
        mesh, a = self.mesh, 0.0 * v
        self._check_free(q, t)
        local, joints = self._split(mesh.dof, q, v, a)
        h = collect(mesh.size, mesh.dof, self._elements(local, joints, self._extra(local, joints)))
        h = h + collect(mesh.size, self.body_dof, self._bodies(*self._split(self.body_dof, q, v, a)))
        phi = mesh.joint
        h[phi] += self.kp * q[phi] + (self.kv + self.alpha * mesh.rotor) * v[phi]
        return h

    def _check_free(self, q: Array, t: float) -> None:
        """Raise `ConvergenceError` when a slide is in."""
        d = q[self.mesh.joint].real
        for i in np.flatnonzero(self.mesh.prismatic):
            if not d[i] > 0.0:
                raise ConvergenceError(
                    f"joint{i + 1} of {self.kind} has retracted to {d[i]:.3g} m at t = {t:.6g} s; its free length must "
                    "stay above 0: change the motion or the load",
                    time=t, residual=float(d[i]),
                )

    def stepper(self, *arguments: Any) -> Any:
        """Return the compiled stepper (see `timoshenko_spatial.stepper`), or None with strong modal damping."""
        if not self.own_stepper:
            return None
        from .stepper import stepper  # compiled code is loaded when a time loop needs it

        return stepper(self, *arguments)

    def load(self, q: FloatArray) -> FloatArray:
        """Return the weight as forces (.., n) on the coordinates."""
        mesh, zero = self.mesh, 0.0 * q
        local, joints = self._split(mesh.dof, q, zero, zero)
        e = element.ends(mesh, local[0], local[1], local[2], joints)
        h = collect(mesh.size, mesh.dof, element.local_forces(mesh, e, element.weight(mesh, e, self.gravity)))
        local, joints = self._split(self.body_dof, q, zero, zero)
        bodies = element.bodies(mesh, local[0], local[1], local[2], joints)
        return h + collect(mesh.size, self.body_dof, element.body_weight(mesh, *bodies, self.gravity))

    def mass(self, q: FloatArray) -> FloatArray:
        """Return M: what unit accelerations need."""
        mesh, zero = self.mesh, np.zeros_like(q)
        local, joints = self._split(mesh.dof, q, zero, zero)
        unit, turned = directions(12, mesh.joint.size)
        e = element.ends(mesh, local[0], local[1], unit, (joints[0], joints[1], turned))
        M = assemble(mesh.size, mesh.dof, square(element.local_forces(mesh, e, element.inertia(mesh, e))))
        local, joints = self._split(self.body_dof, q, zero, zero)
        unit, turned = directions(6, mesh.joint.size)
        bodies = element.bodies(mesh, local[0], local[1], unit, (joints[0], joints[1], turned))
        M += assemble(mesh.size, self.body_dof, square(element.body_inertia(mesh, *bodies)))
        M[mesh.joint, mesh.joint] += mesh.rotor
        return M

    def tangent(self, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray, lam: FloatArray) -> Tangent:
        """Return M, D, K of the whole left side, inertia forces included."""
        mesh = self.mesh
        local, joints = self._split(mesh.dof, q, v, a)
        extra = self._extra(local, joints)
        found = [
            assemble(mesh.size, mesh.dof, block)
            for block in slopes(lambda x, phi: self._elements(x, phi, extra), local, joints)
        ]
        for total, block in zip(found, slopes(self._bodies, *self._split(self.body_dof, q, v, a)), strict=True):
            total += assemble(mesh.size, self.body_dof, block)
        K, D, M = found
        if self.C.size:
            by_q, by_v, _ = (widen(mesh.size, mesh.dof, block) for block in slopes(self._rates, local, joints))
            D += by_v.T @ self.C @ by_v
            K += by_v.T @ self.C @ by_q
        phi = mesh.joint
        K[phi, phi] += self.kp
        D[phi, phi] += self.kv + self.alpha * mesh.rotor
        M[phi, phi] += mesh.rotor
        if u[self.loads.first :].any():
            K -= self.loads.slope(*self._split(self.loads.dof, q, 0.0 * q, 0.0 * q), u)
        return Tangent(M, D, K)

    def _modal_damping(self, ratio: float) -> FloatArray:
        """Return C of `timoshenko_planar`'s docstring."""
        from ...linear.modes import normal_modes  # a higher layer, needed here only

        mesh, q = self.mesh, self.reference()
        free = unheld(self.arm, mesh.joint, mesh.size)
        G = widen(mesh.size, mesh.dof, slopes(self._rates, *self._split(mesh.dof, q, 0.0 * q, 0.0 * q))[1])[:, free]
        S = (mesh.length[:, None] * mesh.stiffness).ravel()
        normal = normal_modes(self.mass(q)[np.ix_(free, free)], (G.T * S) @ G)
        flexible = normal.eigenvalues > 0
        stress = S[:, None] * (G @ normal.shapes[:, flexible])
        return np.asarray((stress * (2.0 * ratio / normal.omega[flexible] ** 3)) @ stress.T)

    def energy(self, q: FloatArray, v: FloatArray) -> Energy:
        """Return kinetic energy, and elastic energy (servo springs included, command 0) plus that of the weight."""
        mesh, phi, zero = self.mesh, self.mesh.joint, np.zeros_like(v)
        local, joints = self._split(mesh.dof, q, zero, zero)
        e = element.ends(mesh, local[0], local[1], local[2], joints)
        strain = element.strains(mesh, e).strain
        elastic = 0.5 * float(np.sum(e.length[:, None] * mesh.stiffness * strain**2))
        height = float(np.sum(0.5 * mesh.rhoA * e.length * ((e.left.x + e.right.x) @ self.gravity)))
        local, joints = self._split(self.body_dof, q, zero, zero)
        _, bodies = element.bodies(mesh, local[0], local[1], local[2], joints)
        height += float(mesh.bodies.mass @ (bodies.x @ self.gravity))
        springs = 0.5 * float(self.kp @ q[phi] ** 2)
        return Energy(0.5 * float(v @ self._needed(q, zero, v)), elastic + springs - height)

    def input_matrix(self, q: FloatArray) -> FloatArray:
        """Return B: constant for joints and forces at the tip, the other loads in the pose."""
        return np.hstack([self.B, self.loads.columns(*self._split(self.loads.dof, q, 0.0 * q, 0.0 * q))])

    def inflow(self, q: FloatArray, v: FloatArray) -> float:
        """Return the energy [W] that entering mass brings in at prismatic joints; `energy` is of the free parts."""
        local, joints = self._split(self.mesh.dof, q, v, 0.0 * v)
        e = element.ends(self.mesh, local[0], local[1], local[2], joints)
        return float(element.inflow_power(self.mesh, e, self.gravity))

    def output(self, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray) -> FloatArray:
        """Return the sensor readings; `timoshenko_spatial.sensors` says what they mean."""
        return np.asarray(self.sensors.read(q, v, a))

    def output_tangent(self, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray) -> OutputTangent:
        """Return the derivatives of `output`."""
        return self.sensors.rows(q, v, a, len(self.inputs))

    def compiled(self) -> None:
        """Return None: what runs compiled is the model's own stepper."""
