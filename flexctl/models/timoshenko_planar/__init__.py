"""Planar serial arms of geometrically exact Timoshenko beams, in absolute coordinates.

    M q'' + h(q, q') = B u
    V = sum over elements of l/2 (EA eps^2 + kt G A gamma^2 + E I kappa^2)  -  weight . q
    (1 + eps, gamma) = R(theta)^T (r_2 - r_1) / l,   kappa = (theta_2 - theta_1) / l,   theta = (theta_1 + theta_2) / 2

r = (x, y) [m] and theta [rad] are the position and angle of the sections in the base frame; R turns by theta. Positions
and angles are interpolated linearly, the strains taken at the middle of the element (reduced integration: the shear
does not lock), the mass is consistent and has rotary inertia. Root of link i: theta = theta of the previous end +
phi_i, so that the joint angles phi are coordinates, the torque of joint i acts on phi_i alone, and M stays constant.

Nothing is linearised: the coupling of gross motion and deformation, and the stiffening by axial forces (the centrifugal
one above all), are in it once, with no term of their own. "rayleigh" damping is D = alpha M and, on the strain rates,
N = EA (eps + beta eps') and so on (Kelvin-Voigt), which leaves rigid motion alone. "modal" damping acts on the strain
rates too: with K = G^T S G and modes phi of the reference pose, joints that follow a motion held and the others free,
sum 2 zeta omega M phi phi^T M equals G^T C G with C = sum (2 zeta / omega^3) (S G phi) (S G phi)^T, kept in every pose.

`analysis` says how a run with commanded joints (`simulate(.., motions=..)`) is done: "nonlinear" as above; "linear",
the deformation from the commanded rigid arm kept to first order, with the stiffening by the axial forces of the rigid
arm unless `stiffening` is off; "quasi_static", that without the inertia of the deformation. Nothing else depends on it.

Source: Reissner 1972, Simo and Vu-Quoc 1986 for the beam; a thesis of the 1980s on flexible planar manipulators for the
arms, the analyses and the servo joints (`timoshenko_planar.element` has its matrices). The thesis counts the motion of
a distal link twice, in the rates of its frame and in the shared nodes (2.764 instead of 3.808 Hz for its 2R arm), and
leaves out the geometric stiffness; neither can happen here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ...machine.arm import Arm
from ...model import Energy, FloatArray, OutputTangent, Tangent
from ..null_space import unheld
from ..sensors import rigid_tip
from ..serial import SerialArm
from .loads import PlanarLoads
from .mesh import assemble, build_mesh, collect, coordinate_signals, gravity_load, mass_matrix, spread
from .rigid import Motion, prestress, rigid_motion, turning
from .sensors import PlanarSensors

Array = npt.NDArray[Any]


class TimoshenkoPlanar(SerialArm):
    """A planar serial arm; see the module for the equations.

    Parameters
    ----------
    arm : Arm
        One or more links with revolute joints. Joints with drive "servo" have their commanded angle and its rate as
        inputs, the others a torque.
    elements : int or sequence of int
        Elements per link.
    analysis : str
        "nonlinear", "linear" or "quasi_static", for runs with commanded joints.
    stiffening : bool
        Whether the linear analysis knows the axial forces of the rigid arm.

    Examples
    --------
    >>> model = fx.TimoshenkoPlanar(fx.load_plant("planar_2r_flexible").arm, elements=4)
    >>> print(fx.linearise(model).modes(1).frequencies_hz.round(4))
    [54.0665]
    """

    kind, letters = "timoshenko_planar", "xy"
    features = frozenset(
        {"pieces", "joint_angle", "joint_mass", "housing_inertia", "rotor_inertia", "servo_drive", "motion_drive",
         "load_along_x", "body"}
    )

    def __init__(
        self, arm: Arm, *, elements: int | Sequence[int] = 16, analysis: str = "nonlinear", stiffening: bool = True
    ) -> None:
        super().__init__(arm, elements, analysis, stiffening)
        self.mesh = build_mesh(arm, elements)
        self.sensors = PlanarSensors(self.mesh, arm)
        self._lay_out(coordinate_signals(self.mesh), self.sensors.signals)
        self.loads = PlanarLoads(self.mesh, arm, self.inputs)
        self.inputs, self.B = self.inputs + self.loads.signals, np.hstack([self.B, self.loads.dead])
        self.M, self.weight = mass_matrix(self.mesh, arm), gravity_load(self.mesh, arm)
        self.section = np.column_stack([self.mesh.EA, self.mesh.GA, self.mesh.EI])
        self._damp()

    def _rigid_motion(self, angles: FloatArray, rates: FloatArray, accelerations: FloatArray) -> Motion:
        return rigid_motion(self.mesh, angles, rates, accelerations)

    def load(self, q: FloatArray) -> FloatArray:
        """Return the weight, which is constant."""
        return self.weight

    def prestress(self, angles: FloatArray) -> FloatArray:
        """Return the geometric stiffness of the axial forces that the weight causes in the rigid arm."""
        return prestress(self.mesh, -self.weight, angles)

    def rigid_torques(self, angles: npt.ArrayLike, rates: npt.ArrayLike, accelerations: npt.ArrayLike) -> FloatArray:
        """Return the joint torques (.., joints) [N m] that move the rigid arm: inverse dynamics, weight included."""
        q, v, a = self.rigid_motion(angles, rates, accelerations)
        needed = (a + self.alpha * v) @ self.M - self.weight
        # the torque of joint j is the moment of all that lies beyond
        phi = q[..., self.mesh.joint]
        unit, zero = np.eye(phi.shape[-1]), np.zeros_like(phi)
        columns = [self._rigid_motion(phi, np.broadcast_to(row, phi.shape), zero)[1] for row in unit]
        return np.stack([(column * needed).sum(axis=-1) for column in columns], axis=-1)

    def turning(self, rates: npt.ArrayLike, angles: npt.ArrayLike | None = None) -> FloatArray:
        """Return W of d(R z)/dt = R (z' + W z) in the frames that turn with the links at these joint rates [rad/s]."""
        return turning(self.mesh, np.asarray(rates, float))

    def rigid_tip(self, angles: FloatArray) -> FloatArray:
        """Return the tip (.., 2) [m] of the rigid arm with joint angles (.., joints) [rad]."""
        return np.asarray(rigid_tip(self.sensors.lengths, angles))

    def stepper(self, *arguments: Any) -> Any:
        """Return the compiled stepper (see `timoshenko_planar.stepper`), or None with strong modal damping."""
        if not self.own_stepper:
            return None
        from .stepper import stepper  # compiled code is loaded when a time loop needs it

        return stepper(self, *arguments)

    def mass(self, q: FloatArray) -> FloatArray:
        """Return the constant M."""
        return self.M

    def strains(self, q: Array) -> tuple[Array, Array, Array]:
        """Return (eps, gamma, kappa), N x 3, their gradients by element coordinates, N x 3 x 6, and R(theta)."""
        local, l = spread(self.mesh, q), self.mesh.length
        theta = 0.5 * (local[:, 2] + local[:, 5])
        d, c, s = (local[:, 3:5] - local[:, :2]) / l[:, None], np.cos(theta), np.sin(theta)
        R = np.stack([np.stack([c, -s], -1), np.stack([s, c], -1)], -2)
        stretch = np.einsum("eij,ei->ej", R, d)  # (1 + eps, gamma)
        strain = np.column_stack([stretch[:, 0] - 1.0, stretch[:, 1], (local[:, 5] - local[:, 2]) / l])
        g = np.zeros((l.size, 3, 6), strain.dtype)
        g[:, :2, 3:5] = np.swapaxes(R, 1, 2) / l[:, None, None]
        g[:, :2, :2] = -g[:, :2, 3:5]
        # turning the section turns (1 + eps, gamma) by as much: d/dtheta = (gamma, -(1 + eps))
        g[:, 0, [2, 5]], g[:, 1, [2, 5]] = 0.5 * stretch[:, 1:], -0.5 * stretch[:, :1]
        g[:, 2, 2], g[:, 2, 5] = -1.0 / l, 1.0 / l
        return strain, g, R

    def _stress(self, strain: Array, rate: Array) -> Array:
        """Return l (N, Q, M), N x 3."""
        stress = self.mesh.length[:, None] * self.section * (strain + self.beta * rate)
        if self.C.size:
            stress = stress + (self.C @ rate.ravel()).reshape(rate.shape)
        return np.asarray(stress)

    def input_matrix(self, q: FloatArray) -> FloatArray:
        """Return B, constant but for follower forces."""
        return np.asarray(self.loads.add(self.B, q))

    def force(self, q: Array, v: Array, t: float = 0.0) -> FloatArray:
        """Return the elastic and damping forces, the servo joints' springs and dampers, minus the weight."""
        strain, g, _ = self.strains(q)
        stress = self._stress(strain, np.einsum("ekj,ej->ek", g, spread(self.mesh, v)))
        h = collect(self.mesh, np.einsum("ekj,ek->ej", g, stress)) - self.weight
        phi = self.mesh.joint
        h[phi] += self.kp * q[phi] + self.kv * v[phi]
        if self.alpha:
            h = h + self.alpha * (self.M @ v)
        return np.asarray(h)

    def tangent(self, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray, lam: FloatArray) -> Tangent:
        """Return M, D, K; K contains the geometric terms and, with damping, the turning of the strain rates."""
        mesh, l = self.mesh, self.mesh.length
        strain, g, R = self.strains(q)
        local = spread(mesh, v)
        rate = np.einsum("ekj,ej->ek", g, local)
        H = self._hessians(strain, R)
        stress, stiff = self._stress(strain, rate), l[:, None] * self.section
        gH = np.einsum("ekij,ej->eki", H, local)  # d(rate)/dq
        K6 = np.einsum("eki,ek,ekj->eij", g, stiff, g + self.beta * gH) + np.einsum(
            "ek,ekij->eij", stress[:, :2], H[:, :2]
        )
        K, D = assemble(mesh, K6), np.zeros_like(self.M)
        if self.beta:
            D = D + assemble(mesh, self.beta * np.einsum("eki,ek,ekj->eij", g, stiff, g))
        if self.alpha:
            D = D + self.alpha * self.M
        if self.C.size:
            G, W = self._wide(g), self._wide(gH)
            D, K = D + G.T @ self.C @ G, K + G.T @ self.C @ W
        phi = mesh.joint
        K[phi, phi] += self.kp
        D[phi, phi] += self.kv
        return Tangent(self.M, D, K - self.loads.slope(q, u))

    def _hessians(self, strain: Array, R: Array) -> Array:
        """Return the second derivatives of (eps, gamma, kappa), N x 3 x 6 x 6."""
        H = np.zeros((strain.shape[0], 3, 6, 6))
        turned = 0.5 * np.stack([R[:, :, 1], -R[:, :, 0]], axis=1) / self.mesh.length[:, None, None]
        for k in (0, 1):
            for j in (2, 5):
                H[:, k, 3:5, j] = H[:, k, j, 3:5] = turned[:, k]
                H[:, k, :2, j] = H[:, k, j, :2] = -turned[:, k]
            second = -0.25 * (strain[:, k] + (1.0 if k == 0 else 0.0))
            H[:, k][np.ix_(range(len(strain)), [2, 5], [2, 5])] = second[:, None, None]
        return H

    def _wide(self, g: FloatArray) -> FloatArray:
        """Return N 3 x n from gradients in element coordinates, N x 3 x 6."""
        out = np.zeros((g.shape[0], 3, self.mesh.size + 1))
        for j, column in enumerate((0, 1, 2, 3, 4, 5, 2)):
            np.add.at(out, (np.arange(g.shape[0])[:, None], np.arange(3)[None], self.mesh.dof[:, [j]]), g[:, :, column])
        return out[:, :, :-1].reshape(-1, self.mesh.size)

    def _modal_damping(self, ratio: float) -> FloatArray:
        """Return C of the module's docstring."""
        from ...linear.modes import normal_modes  # a higher layer, needed here only

        _, g, _ = self.strains(self.reference())
        free = unheld(self.arm, self.mesh.joint, self.mesh.size)
        G = self._wide(g)[:, free]
        S = (self.mesh.length[:, None] * self.section).ravel()
        normal = normal_modes(self.M[np.ix_(free, free)], (G.T * S) @ G)
        flexible = normal.eigenvalues > 0
        stress = S[:, None] * (G @ normal.shapes[:, flexible])
        return np.asarray((stress * (2.0 * ratio / normal.omega[flexible] ** 3)) @ stress.T)

    def energy(self, q: FloatArray, v: FloatArray) -> Energy:
        """Return the kinetic energy, and the elastic energy (servo springs included, command 0) minus weight . q."""
        strain, _, _ = self.strains(q)
        elastic = 0.5 * float(np.sum(self.mesh.length[:, None] * self.section * strain**2))
        springs = 0.5 * float(self.kp @ q[self.mesh.joint] ** 2)
        return Energy(0.5 * float(v @ self.M @ v), elastic + springs - float(self.weight @ q))

    def output(self, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray) -> FloatArray:
        """Return the sensor readings; `timoshenko_planar.sensors` says what they mean."""
        return np.asarray(self.sensors.read(q, v, a))

    def output_tangent(self, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray) -> OutputTangent:
        """Return the derivatives of `output`."""
        return self.sensors.rows(q, v, a, len(self.inputs))

    def compiled(self) -> None:
        """Return None: what runs compiled is the model's own stepper."""
