"""Planar serial arms by absolute nodal coordinates (ANCF), shear-deformable elements of 12 coordinates.

    J(q)^T [M (x'' + alpha x') + F(x, x') - weight] + servo joints = B(q) u

x are the positions r and slopes r_x, r_y of all nodes in the base frame (`ancf.mesh`), M their constant mass, F the
elastic force (`ancf.element`, with the laws and what they cost), J = dx/dq. Coordinates q are x itself but for the
section at the root of each link, which is given by the joint angle phi and its stretch: the torque of joint i then acts
on phi_i alone, and M is constant but for these four entries. Angles are counter-clockwise.

Links share the position at a joint (`revolute = "shared"`). With "multipliers" each root has its own position, and the
arm the closures r_root - r_end = 0, the paper's C; a joint at the base has r_root = 0, which the paper leaves out.
"rayleigh" damping is alpha M and the stress D (E + beta dE/dt), which leaves rigid motion alone (Kelvin-Voigt). "modal"
damping acts on strain rates too, of all elements together: the given ratio in every mode of the reference pose, joints
free (`ancf.damping`); the compiled steps take it up to a ratio of 0.2, and leave it out of their tangent.
`ancf.loads` says how loads act; `tip_torque` turns the tip's section.

Source: Tian, Zhang, Chen and Yang, "Two-link flexible manipulator modeling and tip trajectory tracking based on
absolute nodal coordinate method"; element of Omar and Shabana 2001. Corrected here: the torque on a section (its
equation 5 has two entries too few and the sign of a clockwise torque, and the elbow's torque acts on link 1 too); the
constraints (its 8 reads r = r); the inverse of the saddle matrix, where H_ll = -(C M^-1 C^T)^-1 (positive in print, and
accelerations 44 % wrong); the tangent of the elastic force (sum over j, plus signs); theta2 from (20) is the
absolute rate; "converges unconditionally" is A-stability only. Its chord-angle feedback is unstable on the undamped arm
for every gain; that of the root section (joint_angle) is collocated and is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ...errors import require, unknown
from ...machine.arm import Arm, Payload
from ...model import Energy, FloatArray, OutputTangent, Tangent
from ..features import check_bare
from . import element
from .arm import AncfArm
from .damping import ModalDamping
from .loads import AncfInputs
from .mesh import Expanded, block_mass, build_ancf_mesh, chain, columns, coordinate_signals
from .sensors import AncfSensors

Array = npt.NDArray[Any]
ROOTS, REVOLUTE = ("pinned", "clamped"), ("shared", "multipliers")


MODAL = 0.2
"""Largest modal damping ratio of the compiled stepper: its tangent leaves modal damping out."""


class Ancf(AncfArm):
    """A planar serial arm; see the module for the equations.

    Parameters
    ----------
    arm : Arm
        One or more links with revolute joints. Sections are rectangles with the given area and second moment.
    elements : int or sequence of int
        Elements per link.
    law : str
        "split", "omar", "pstress" or "diag", see `ancf.element`.
    root : str
        "pinned": joint 1 turns; "clamped": it is welded at its angle.
    revolute : str
        "shared" or "multipliers".
    forces : str
        "invariants", "quadrature" or "legendre": how the elastic force is computed outside of the compiled loop.

    Examples
    --------
    >>> model = fx.Ancf(fx.load_plant("tian_ancf_circle").arm, elements=[2, 4])
    >>> print(fx.linearise(model).modes(1))
    2 rigid modes
    mode  frequency [Hz]      [rad/s]  damping [%]
       1         33.3196      209.353            0
    """

    kind = "ancf"
    analysis = "nonlinear"
    features = frozenset(
        {"pieces", "joint_angle", "joint_mass", "housing_inertia", "rotor_inertia", "servo_drive", "motion_drive",
         "load_along_x", "body"}
    )

    def __init__(
        self, arm: Arm, *, elements: int | Sequence[int] = 8, law: str = "split", root: str = "pinned",
        revolute: str = "shared", forces: str = "invariants",
    ) -> None:
        for what, value, known in (
            ("law", law, element.LAWS), ("root", root, ROOTS), ("revolute", revolute, REVOLUTE),
            ("forces", forces, element.FORMS),
        ):
            if value not in known:
                raise unknown(f"{what} of {self.kind}", value, known)
        check_bare(arm, self.kind, self.features)
        _check(arm, root, law)
        self.arm, self.elements, self.law, self.root, self.revolute, self.forces = (
            arm, elements, law, root, revolute, forces
        )
        self.mesh = build_ancf_mesh(arm, elements, self.clamped, revolute == "multipliers")
        self.coordinates, self.base = coordinate_signals(self.mesh), arm.joints[0].angle
        self.kp, self.kv = (
            np.array([getattr(j, f"servo_{part}") for j in arm.joints]) for part in ("stiffness", "damping")
        )
        self.sensors = AncfSensors(self.mesh, arm, self.clamped, np.array([self.kp, self.kv]))
        self.outputs = self.sensors.signals
        self.drives = AncfInputs(self.mesh, arm, self.clamped)
        self.inputs = self.drives.signals
        self.blocks = block_mass(self.mesh, arm)
        self.forms = element.make_forms(self.mesh.stuff, law, forces)
        self.load = self.blocks @ np.tile([*arm.gravity[:2], 0.0, 0.0, 0.0, 0.0], len(self.mesh.place))
        self.alpha, self.beta = (arm.damping.alpha, arm.damping.beta) if arm.damping.kind == "rayleigh" else (0.0, 0.0)
        self.rotor = np.array([joint.rotor_inertia for joint in arm.joints])
        damped = arm.damping.kind == "modal" and arm.damping.ratio > 0
        self.modal = ModalDamping(self) if damped else None

    @property
    def own_stepper(self) -> bool:
        """Whether `stepper` gives a compiled stepper: not with multipliers, and not with strong modal damping."""
        return not self.closures and (self.modal is None or self.arm.damping.ratio <= MODAL)

    def stepper(self, *arguments: Any) -> Any:
        """Return the model's own compiled stepper; see `ancf.stepper`."""
        from .stepper import stepper  # compiled code is loaded when a time loop needs it

        return stepper(self, *arguments)

    def with_payload(self, mass: float, inertia: float = 0.0) -> Ancf:
        """Return the model with another payload [kg], [kg m^2]."""
        return self._again(replace(self.arm, payload=Payload(mass, inertia)))

    def _again(self, arm: Arm) -> Ancf:
        return Ancf(
            arm, elements=self.elements, law=self.law, root=self.root, revolute=self.revolute, forces=self.forces
        )

    def _elements(self, blocks: Array) -> Array:
        """Return the vectors of each element, N x 6 x 2, from the blocks."""
        return np.asarray(np.stack([blocks[self.mesh.left], blocks[self.mesh.left + 1]], axis=1).reshape(-1, 6, 2))

    def _balance(self, full: Expanded) -> Array:
        """Return M (x'' + alpha x') + F - weight, on the blocks."""
        F = element.force(self.forms, self._elements(full.x), self._elements(full.v), self.beta)
        P = (self.blocks @ (full.a + self.alpha * full.v).ravel() - self.load).reshape(full.x.shape)
        np.add.at(P, self.mesh.left, F[:, :3].reshape(-1, 6))
        np.add.at(P, self.mesh.left + 1, F[:, 3:].reshape(-1, 6))
        if self.modal is not None:
            P = P + self.modal.force(full.x, full.v)
        return np.asarray(P.ravel())

    def _add_joints(self, target: Array, values: Array) -> None:
        phi = self.mesh.joint
        here = phi < self.mesh.size
        target[phi[here]] += values[here]

    def mass(self, q: FloatArray) -> FloatArray:
        """Return M(q)."""
        J = chain(self.mesh, self._expand(q))[0]
        M = J.T @ self.blocks @ J
        self._add_joints(M.ravel()[:: q.size + 1], self.rotor)
        return np.asarray(M)

    def input_matrix(self, q: FloatArray) -> FloatArray:
        """Return B(q)."""
        return self.drives.matrix(q)

    def force(self, q: Array, v: Array, t: float = 0.0) -> FloatArray:
        """Return all forces at zero acceleration of the coordinates, the servo joints' springs and dampers included."""
        full = self._expand(q, v)
        h = chain(self.mesh, full)[0].T @ self._balance(full)
        wide = np.append(q, [self.base, 1.0]), np.append(v, [0.0, 0.0])
        phi, rate = wide[0][self.mesh.joint], wide[1][self.mesh.joint]
        self._add_joints(h, self.kp * phi + (self.kv + self.alpha * self.rotor) * rate)
        return np.asarray(h)

    def tangent(self, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray, lam: FloatArray) -> Tangent:
        """Return the derivatives of the whole left side; no term is left out."""
        full, mesh = self._expand(q, v, a), self.mesh
        J, JV, JA = chain(mesh, full)
        Ke, De = element.stiffness(self.forms, self._elements(full.x), self._elements(full.v), self.beta)
        K, D = (self._assemble(part) for part in (Ke, De))
        D = D + self.alpha * self.blocks
        if self.modal is not None:
            more = self.modal.tangent(full.x, full.v)
            K, D = K + more[0], D + more[1]
        M = J.T @ self.blocks @ J
        stiff = J.T @ (K @ J + D @ JV + self.blocks @ JA)
        damp = J.T @ (D @ J + 2.0 * self.blocks @ JV)
        stiff = stiff + self._turning_of_sections(full, q) - self.drives.slope(q, u)
        for matrix, values in ((stiff, self.kp), (damp, self.kv + self.alpha * self.rotor), (M, self.rotor)):
            self._add_joints(matrix.ravel()[:: q.size + 1], values)
        return Tangent(M, damp, stiff)

    def _correction(self, q: FloatArray, angles: FloatArray, part: float) -> FloatArray:
        """Return Newton's correction for a part of the weight; held joints do not move."""
        zero, here = np.zeros(q.size), self.mesh.joint < q.size  # a welded joint is no coordinate
        phi, kp = self.mesh.joint[here], self.kp[here]
        residual = self.force(q, zero) + (1.0 - part) * self.weight
        residual[phi] -= kp * angles[here]
        K = self.tangent(q, zero, zero, np.zeros(len(self.inputs)), np.zeros(0)).stiffness
        free = np.ones(q.size, bool)
        free[phi] = kp > 0
        step = np.zeros(q.size)
        step[free] = np.linalg.solve(K[np.ix_(free, free)], residual[free])
        return step

    def _turning_of_sections(self, full: Expanded, q: FloatArray) -> FloatArray:
        """Return P . d2x/dq2."""
        n, P = self.mesh.size, self._balance(full)
        out, f = np.zeros((n + 3, n + 3)), np.append(q, [0.0, 1.0])[self.mesh.stretch]
        for i, (b, s) in enumerate(zip(self.mesh.roots, full.sections, strict=True)):
            cols = columns(self.mesh, i)
            np.add.at(out, (cols[:, None], cols[None]), s.curvature(P[6 * b + 4 : 6 * b + 6], f[i]))
        return out[:n, :n]

    def _assemble(self, parts: FloatArray) -> FloatArray:
        out = np.zeros_like(self.blocks)
        for b, part in zip(self.mesh.left, parts, strict=True):
            out[6 * b : 6 * b + 12, 6 * b : 6 * b + 12] += part
        return out

    def energy(self, q: FloatArray, v: FloatArray) -> Energy:
        """Return the kinetic energy, and the elastic energy (servo springs included, command 0) minus load . x."""
        full = self._expand(q, v)
        phi, rate = (np.append(x, [0.0] * 3)[self.mesh.joint] for x in (q, v))
        x, w = full.x.ravel(), full.v.ravel()
        kinetic = 0.5 * float(w @ self.blocks @ w + self.rotor @ rate**2)
        elastic = element.energy(self.forms, self._elements(full.x)) + 0.5 * float(self.kp @ phi**2)
        return Energy(kinetic, elastic - float(self.load @ x))

    def output(self, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray) -> FloatArray:
        """Return the sensor readings; `ancf.sensors` says what they mean."""
        return self.sensors.read(q, v, u, self._expand(q, v, a), self.input_matrix(q))

    def output_tangent(self, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray) -> OutputTangent:
        """Return the derivatives of `output`."""
        return self.sensors.rows(q, self._expand(q, v, a), self.input_matrix(q))

    def compiled(self) -> None:
        """Return None: what runs compiled is the model's own stepper."""


def _check(arm: Arm, root: str, law: str) -> None:
    for i, link in enumerate(arm.links, 1):
        nu = link.material.poisson_ratio
        bound = nu < 0.5 or law != "omar"
        require(bound, f"link {i}: poisson_ratio = {nu:g} makes the plane-strain law singular; use law = \"split\"")
    drive = arm.joints[0].drive
    welded = root != "clamped" or drive == "torque"
    require(welded, f'joint 1 has drive = "{drive}", but root = "clamped" welds it; leave one of them out')
