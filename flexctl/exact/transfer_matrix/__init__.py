"""Exact transfer functions of planar serial arms of continuous beams, by transfer matrices: the judge of every solver.

    w' = theta + Q / (kt G A),  theta' = M / (E I),  u' = N / (E A)
    Q' = rho A sigma w,  M' = -Q + rho I sigma theta,  N' = rho A sigma u,     sigma = s^2 + alpha s

is the beam at the Laplace variable s, u along and w across the link, theta the angle of its sections, (N, Q, M) what
the outboard part exerts on the inboard part. "rayleigh" damping makes E, G of E (1 + beta s), G (1 + beta s); it is
exact. Through a joint theta_out = theta_in + phi + M / (K + c s) and M = (Jr sigma + kv s + kp) phi - torque; a point
mass takes sigma m (u, w) off (N, Q) and sigma J theta off M. The base is fixed, the tip bears the payload. This is the
arm linearised about rest without gravity; centrifugal and Coriolis terms are of second order there.

The product of transfer matrices exp(A h) itself (Holzer, Myklestad, Pestel; the classical form, which the method of
Li and Zhang carries into the time domain) loses every digit when exp(k h) does. Here a subspace is carried instead, in
O(elements) per frequency and without overflow at any k h: see `exact.transfer_matrix.kernel.sweep`. Natural frequencies
are counted exactly (Wittrick and Williams 1971), zeros by the argument principle, so that none is missed.

Theories: "timoshenko"; "euler_bernoulli" without shear and rotary inertia; "rigid", the limit of a stiff link.
Inputs and outputs have the names, units and frames of `timoshenko_planar`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ...errors import ConvergenceError, NotAvailable, require
from ...machine.arm import Arm, Damping, Joint
from ...machine.given import ArmGiven, as_arm
from ...model import ComplexArray, FloatArray
from ...models.features import check_exact, takers
from ...models.loads import POINT
from . import modes as transfer_modes
from . import poles as transfer_poles
from .chain import build_chain, joint_numbers, per_link
from .channels import Sweep, by_input, input_signals, output_rows, output_signals
from .drives import per_input, renamed, without_motors
from .modes import FREE, ModeShape

if TYPE_CHECKING:
    from ...linear import SecondOrder


class TransferMatrixArm:
    """Transfer functions, natural frequencies, zeros and modes of an arm of continuous beams without approximation.

    Parameters
    ----------
    arm : Arm
        One or more links, without gravity; [[actuator]] tables that act at a point.
    theory : str or sequence of str
        "timoshenko", "euler_bernoulli" or "rigid", one or one for each link.
    extensible : bool
        Whether links stretch.
    held : sequence of str, or bool
        Joints that do not turn, "joint1", ..; True for all. Those driven by motion must not be among them.
    angles : array_like, optional
        Joint angles [rad], by default those of the arm.
    pieces : int
        Uniform pieces that stand for a link with a continuous profile: the only approximation, with an error
        of second order.

    Examples
    --------
    >>> model = fx.TransferMatrixArm(fx.load_plant("planar_2r_flexible").arm, held=True)
    >>> fx.names(model.inputs)
    ['tip_force_x', 'tip_force_y', 'tip_torque']
    """

    kind = "transfer_matrix"
    features = frozenset({
        "actuator", "load_along_x", "body",
        "pieces", "joint_angle", "joint_mass", "housing_inertia", "rotor_inertia", "servo_drive", "motion_drive",
        "free_drive", "joint_stiffness", "joint_friction", "motor", "voltage_drive", "current_drive",
    })

    def __init__(
        self, arm: ArmGiven, *, theory: str | Sequence[str] = "timoshenko", extensible: bool = True,
        held: Sequence[str] | bool = (), angles: npt.ArrayLike | None = None, pieces: int = 64,
    ) -> None:
        arm = as_arm(arm)
        check_exact(arm, self.kind, self.features)
        _check_points(arm)
        arm, motors, windings = without_motors(arm)
        require(pieces >= 1, f"pieces = {pieces}: a link has at least one")
        n = len(arm.links)
        at = np.array([joint.angle for joint in arm.joints] if angles is None else angles, float)
        require(at.shape == (n,), f"angles of shape {at.shape} given; the arm has {n} joints")
        self.arm, self.theory, self.extensible = arm, per_link(theory, n), bool(extensible)
        self.angles, self.held, self.pieces = at, joint_numbers(held, arm), pieces
        self.windings = {i: winding for i, winding in windings.items() if i not in self.held}
        self.chain = build_chain(arm, at, self.held, self.theory, self.extensible, pieces, self.windings)
        damping = arm.damping
        self.alpha, self.beta = (damping.alpha, damping.beta) if damping.kind == "rayleigh" else (0.0, 0.0)
        self.inputs, self.levers = renamed(input_signals(arm, self.held), motors)
        self.outputs = output_signals(arm)

    def __repr__(self) -> str:
        theory = self.theory[0] if len(set(self.theory)) == 1 else list(self.theory)
        return f"TransferMatrixArm({self.arm.name}, {theory}, joints at {self.angles.tolist()} rad)"

    @property
    def free_joints(self) -> int:
        """Joints that turn without a spring or follow a commanded acceleration: with one of them s = 0 is a pole."""
        return sum(self.arm.joints[i].servo_stiffness == 0 for i in self.chain.drives)

    @property
    def rigid_modes(self) -> int:
        """Number of rigid-body modes, joints that follow a commanded motion not among them."""
        return sum(joint.drive in FREE for joint in self._turning())

    @property
    def poles_at_zero(self) -> int:
        """Multiplicity of s = 0 among the poles, joints that follow a commanded motion not counted."""
        arm, slides = self.arm, self.alpha > 0
        return sum(
            1 if slides or i in self.windings or arm.joints[i].friction > 0 else 2
            for i in self.chain.drives if arm.joints[i].drive in FREE
        )

    @property
    def joint_dampers(self) -> bool:
        """Whether joints have dampers, motors among them, which act otherwise than Rayleigh damping."""
        dampers = any(j.servo_damping + j.friction > 0 for j in self._turning() if j.drive != "motion")
        return dampers or bool(self.windings) or any(j.damping > 0 for j in self.arm.joints)

    def _turning(self) -> list[Joint]:
        return [self.arm.joints[i] for i in self.chain.drives]

    def undamped(self) -> TransferMatrixArm:
        """Return the model without any damping."""
        if self.arm.damping.kind == "none" and not self.joint_dampers:
            return self
        joints = tuple(replace(j, servo_damping=0.0, friction=0.0, damping=0.0) for j in self.arm.joints)
        return self.like(replace(self.arm, joints=joints, damping=Damping()))

    def like(self, arm: Arm) -> TransferMatrixArm:
        """Return the model of another arm with the same options."""
        return TransferMatrixArm(
            arm, theory=self.theory, extensible=self.extensible, held=[f"joint{i + 1}" for i in self.held],
            angles=self.angles, pieces=self.pieces,
        )

    def derivatives(self, output: str) -> int:
        """Return how often an output is differentiated in time, from an angle or a displacement."""
        if output.startswith("tip_acceleration"):
            return 2
        kinds = {s.name: s.kind for s in self.arm.sensors}
        return 2 if kinds.get(output) == "acceleration" else int(output.endswith("_rate") and output not in kinds)

    def channel(self, row: int, column: int, s: ComplexArray) -> ComplexArray:
        """Return one entry of the transfer matrix by its numbers."""
        return np.asarray(self._assembled(s)[row, column])

    def count_below(self, omega: float) -> int:
        """Return the exact number of flexible undamped natural frequencies below omega [rad/s]."""
        return transfer_poles.count_below(self, omega) - self.rigid_modes if omega > 0 else 0

    def natural_frequencies(self, count: int | None = None, below: float | None = None) -> FloatArray:
        """Return the undamped flexible natural frequencies [rad/s], ascending: the lowest `count`, or all `below`.

        Joints driven by motion are held; dampers and structural damping are left out (see `poles`).
        """
        return transfer_poles.natural_frequencies(self, count, below)

    def poles(self, below: float | None = None) -> ComplexArray:
        """Return the poles with Im >= 0 and 0 < |s| < below [rad/s], by size (default: about eleven flexible modes)."""
        return transfer_poles.poles(self, below)

    def zeros(self, output: str, source: str, below: float | None = None) -> ComplexArray:
        """Return the zeros from an input (`source`) to an output with Im >= 0 and 0 < |s| < below [rad/s], by size.

        Their number is known from the argument principle; `ConvergenceError` if not all of them are found. A zero
        within 1e-7 of a pole cancels it: the channel does not see that mode.
        """
        return transfer_poles.zeros(self, output, source, below)

    def modal_plant(self, count: int) -> SecondOrder:
        """Return the plant of the rigid and the lowest `count` flexible modes, exact but for the modes left out.

        Any damping of the arm is in it, a modal ratio too, here of modes that bend the springs of joints as well.
        Joints driven by motion and dampers beside joint springs are not available.
        """
        return transfer_modes.modal_plant(self, count)

    def mode_shapes(self, count: int, stations: int = 41) -> tuple[ModeShape, ...]:
        """Return the shapes of the lowest `count` flexible undamped modes, of unit modal mass."""
        return transfer_modes.mode_shapes(self, count, stations)

    def transfer(self, s: ComplexArray | npt.ArrayLike) -> ComplexArray:
        """Return the transfer matrix, (outputs, inputs, len(s)), at Laplace variables s [rad/s].

        s = 0 is refused where a joint is free, and modal damping always: it has no closed form (see `modal_plant`).
        """
        at = np.atleast_1d(np.asarray(s, complex))
        damping = self.arm.damping
        if damping.kind == "modal" and damping.ratio > 0:
            raise NotAvailable("a constant modal ratio has no closed form; use modal_plant(count) or Rayleigh damping")
        if self.free_joints:
            require(bool(np.all(at != 0)), "s = 0 is the pole of the rigid-body motion; leave it out")
        H = self._assembled(at)
        wrong = ~np.isfinite(H).all(axis=(0, 1))
        if wrong.any():
            raise ConvergenceError(f"s = {at[wrong][0]:g} rad/s is a pole to the last digit, or beyond all numbers")
        return H

    def _assembled(self, s: ComplexArray) -> ComplexArray:
        states, turns = (by_input(self.arm, self.chain, x, s) for x in self.sweep(s))
        factor = 1.0 + self.beta * s
        rows = output_rows(self.arm, self.chain, s, Sweep(states, turns), self.alpha, factor)
        H = np.asarray(rows, np.complex128).reshape(len(self.outputs), len(self.inputs), s.size)
        return H * per_input(self.inputs, self.levers, self.windings, s)

    def sweep(self, s: ComplexArray, free: bool = False) -> Sweep:
        """Return the states for unit inputs of the chain, or those of the vibration without inputs (of any size)."""
        chain, l = self.chain, self.chain.units(s)
        states, turns, _, _ = self._swept(s, l, free)
        force, moment, one = chain.E0 / l**2, chain.E0 / l, np.ones_like(l)
        states *= np.array([l, l, one, force, force, moment, l, l, one])[None, :, None]
        if not free:
            per = [force, force, moment]
            moments = {("load", k): a.kind == "moment" for k, a in enumerate(self.arm.actuators)}
            motions = [("joint", i) for i, joint in enumerate(self.arm.joints) if joint.drive == "motion"]
            for what in reversed(chain.inputs):
                per.append(one if what in motions else moment if moments.get(what, True) else force)
            states /= np.array(per)
            turns /= np.array(per)
        return Sweep(states, turns)

    def _swept(
        self, s: ComplexArray, unit: FloatArray, free: bool
    ) -> tuple[ComplexArray, ComplexArray, ComplexArray, FloatArray]:
        from ...kernels.arrays import writable
        from .kernel import sweep as kernels  # compiled code is loaded when a response is asked for

        chain = self.chain
        p = 1 if free else 3 + len(chain.inputs)
        states = np.zeros((chain.probe.max() + 1, 9, p, s.size), complex)
        turns = np.zeros((len(chain.drives), p, s.size), complex)
        phase, size = np.empty(s.size, complex), np.empty(s.size)
        s, unit = np.ascontiguousarray(s, complex), np.ascontiguousarray(unit, float)
        with np.errstate(all="ignore"):
            kernels.sweep(
                kernels.Chain(*writable(chain.kind, chain.values, chain.probe)), free, self.alpha, s, unit, chain.E0,
                kernels.Answer(states, turns, phase, size),
            )
        return states, turns, phase, size

    def characteristic(self, s: ComplexArray, unit: FloatArray | None = None) -> tuple[ComplexArray, FloatArray]:
        """Return f(s) over its modulus, and ln |f(s)|: an entire function whose zeros are the poles of the arm.

        `unit` [m] scales f by a positive factor that is constant where `unit` is, and depends on |s| by default.
        """
        at = np.asarray(s, complex)
        _, _, phase, size = self._swept(at, self.chain.units(at) if unit is None else unit, False)
        return phase, size


def _check_points(arm: Arm) -> None:
    for actuator in arm.actuators:
        if actuator.end - actuator.start > POINT:
            raise NotAvailable(
                f'transfer_matrix takes loads at a point; actuator "{actuator.name}" is spread from {actuator.start:g} '
                f"to {actuator.end:g} L; let it act at one station, or use {takers('actuator')}"
            )
