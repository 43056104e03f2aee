"""Joints with motor, gear, friction, spring and play: one wrapper for every model.

The model inside has its joints driven by torque, B_j tau_j. In all formulations the rate of joint j is B_j^T v, so that
B_j is all that is needed of the arm: its equations stay as they are, with the torque that reaches the link as input,
and those of the drive come behind (`drive` states them):

    M a + h = B u + sum B_j tau_j(q_j, q_j', theta_j, theta_j', ..)
    r_j(q_j, theta_j, Q_j, Z_j and their rates and accelerations, V_j) = 0

A flexible joint adds the coordinate `jointN_motor`, theta; a winding with inductance `jointN_charge`, of which only the
rate means something, the current; bristles `jointN_bristle`, of which only the rate means something, their force s0 z
divided by Coulomb friction.
Readings come behind the sensors of the arm: motor angle and rate of a flexible joint (the arm's own joint angle is that
of the link), the current, the torque that reaches the link, dry and viscous friction.

Limits of voltage and current, and the losses of a gear, are not linear in inputs and accelerations: the whole left side
is `balance`; `mass`, `force` and `input_matrix` are its parts away from limits.

**Linear plants.** At rest the dry friction is left out and the play is closed, only viscous friction acts; the
provenance of the plant says so. `friction="stick"` of `linearise` takes everything as it is at rest: tanh friction has
the damping Fs / ve there, LuGre the stiffness s0, which turns the rigid mode into one of sqrt(s0 / J), and a joint in
its play has no spring. About a motion every joint that turns has its friction as it is there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from ...abilities import Analysed, ArmModel, PartlyDriven, Posable, Restable, Spinning, commands_of, joints_of
from ...errors import require, unknown
from ...kernels import drive_places
from ...kernels import drives as kernel
from ...machine.arm import Joint
from ...machine.given import ModelGiven, as_model
from ...model import (
    Compiled,
    Energy,
    FloatArray,
    LinearMechanics,
    MechanicalModel,
    OperatingPoint,
    OutputTangent,
    Signal,
    Tangent,
    closure_forces,
    closure_turn,
    index_of,
    with_payload,
)
from .drive import breaks_away, check_joint, constants, has_kinks, is_linear, smooth
from .drive_signals import Seen, at_rest, check_alone, columns_of, inputs_in_place, prefix_of
from .resting import begun, joint_seen, rest
from .turning import turned_as


def driven_joints(model: ModelGiven, drives: Mapping[str, Joint]) -> MechanicalModel:
    """Return the model with drives around some of its joints.

    Parameters
    ----------
    model : MechanicalModel
        The model with these joints driven by torque.
    drives : mapping
        Torque input of each such joint -> its drive: the keys of a `Joint` that are about friction, motor, spring and
        play, and how it is driven.

    Examples
    --------
    >>> motor = fx.Motor(gear_ratio=70.0, torque_constant=7.68e-3, resistance=2.6)
    >>> model = fx.load_plant("tokhi_azad_1994").model
    >>> fx.names(fx.driven_joints(model, {"joint1_torque": fx.Joint(drive="voltage", motor=motor)}).inputs)
    ['joint1_voltage']
    """
    wrapped = DrivenJoints(as_model(model), drives)
    return _LinearDrivenJoints(wrapped) if wrapped.linear else wrapped


class DrivenJoints:
    """See the module docstring."""

    arm: Any
    """The arm that the model inside was made of, without its drives; only where that has one."""
    pose: Callable[[Sequence[float] | FloatArray], FloatArray]
    """Only where the model inside can be posed."""
    rest: Callable[[Sequence[float] | FloatArray], FloatArray]
    """Only where the model inside finds its rest, and something drives every joint."""
    turned_as: Callable[[OperatingPoint], OperatingPoint]  # only where the model inside may turn steadily
    driven: Sequence[int]
    """Numbers of the driven joints, from 0; only where the model inside has free ones."""

    def __init__(self, model: MechanicalModel, drives: Mapping[str, Joint]) -> None:
        require(bool(drives), "no joint is named that has a drive")
        self.inner, self.kind, self.drives = model, model.kind, dict(drives)
        self.n = len(model.coordinates)
        self.replaced = [index_of("input", name, model.inputs) for name in drives]
        self.columns = columns_of(model, self.replaced, list(drives))
        self.prefix = [prefix_of(name) for name in drives]
        for name, joint in drives.items():
            check_alone(joint, name)
            check_joint(joint, prefix_of(name))
        self.constants = np.array([constants(joint) for joint in drives.values()])
        self._lay_out()
        self.closures = model.closures
        self._as_inside()
        self.kinks, self.sticks = (any(map(find, self.constants)) for find in (has_kinks, breaks_away))
        self.linear = isinstance(model, LinearMechanics) and all(map(is_linear, self.constants))

    def _lay_out(self) -> None:
        """Set coordinates, inputs and outputs, and the rows that pick the slots of a joint out of all coordinates."""
        model, units = self.inner, [self.inner.inputs[i].unit for i in self.replaced]
        added, places = list[Signal](), list[list[int]]()
        self.lags: dict[str, Signal] = {}
        for c, name, unit in zip(self.constants, self.prefix, units, strict=True):
            turn = "rad" if unit == "N m" else "m"
            own = [-1] * drive_places.SLOTS
            if c[drive_places.FLEXIBLE]:
                own[drive_places.MOTOR] = self.n + len(added)
                added.append(Signal(f"{name}_motor", turn, "angle of the motor's side, at the joint side of the gear"))
            if c[drive_places.INPUT] == drive_places.WINDING:
                own[drive_places.CHARGE] = self.n + len(added)
                added.append(Signal(f"{name}_charge", "A s", "its rate is the current"))
                self.lags[f"{name}_charge"] = Signal(f"{name}_current", "A")
            if c[drive_places.FRICTION] == drive_places.BRISTLES:
                own[drive_places.BRISTLE] = self.n + len(added)
                added.append(Signal(f"{name}_bristle", "s", "its rate is the bristles' force by Coulomb friction"))
                self.lags[f"{name}_bristle"] = Signal(f"{name}_bristle_force", "1")
            places.append(own)
        self.coordinates = (*model.coordinates, *added)
        self.size = self.n + len(added)
        self.places = np.array(places)
        self.pick = np.zeros((len(places), drive_places.SLOTS, self.size))
        for rows, own, column in zip(self.pick, places, self.columns.T, strict=True):
            rows[drive_places.LINK, : self.n] = column
            for slot, place in enumerate(own):
                if place >= 0:
                    rows[slot, place] = 1.0
        self._name_inputs(units)
        self._name_outputs(units)

    def _name_inputs(self, units: Sequence[str]) -> None:
        signals: list[Signal] = []
        self.own: list[list[int]] = [[] for _ in self.drives]
        self.kept: list[tuple[int, int]] = []
        first = {self.replaced[j] for j in self._leading()}
        for i, signal in sorted(enumerate(self.inner.inputs), key=lambda pair: pair[0] not in first):
            if i not in self.replaced:
                self.kept.append((i, len(signals)))
                signals.append(signal)
                continue
            j = self.replaced.index(i)
            for new in inputs_in_place(self.prefix[j], int(self.constants[j, drive_places.INPUT]), signal, units[j]):
                self.own[j].append(len(signals))
                signals.append(new)
        self.inputs = tuple(signals)

    def _name_outputs(self, units: Sequence[str]) -> None:
        """Set the outputs: the sensors, with the link's side named, and what is read of the drives."""
        joints = zip(self.prefix, self.constants, strict=True)
        link = {f"{name}_angle" for name, c in joints if c[drive_places.FLEXIBLE]}
        side = "of the link's side"
        sensors = [s if s.name not in link else replace(s, description=side) for s in self.inner.outputs]
        self.readings: list[tuple[int, int]] = []
        for j, (c, name, unit) in enumerate(zip(self.constants, self.prefix, units, strict=True)):
            turn = "rad" if unit == "N m" else "m"
            if c[drive_places.FLEXIBLE]:
                side = "of the motor's side, at the joint side of the gear"
                sensors += [Signal(f"{name}_motor_angle", turn, side), Signal(f"{name}_motor_rate", f"{turn}/s", side)]
                self.readings += [(j, -1), (j, -2)]
            if c[drive_places.INPUT] in (drive_places.CURRENT, drive_places.VOLTAGE, drive_places.WINDING):
                sensors.append(Signal(f"{name}_current", "A"))
                self.readings.append((j, drive_places.CURRENT_READING))
            effort = "torque" if unit == "N m" else "force"
            sensors.append(Signal(f"{name}_link_{effort}", unit, "what reaches the link"))
            self.readings.append((j, drive_places.TORQUE_READING))
            if c[drive_places.FRICTION] or c[drive_places.VISCOUS]:
                sensors.append(Signal(f"{name}_friction", unit, "viscous and dry, on the motor's side"))
                self.readings.append((j, drive_places.FRICTION_READING))
        sensors += [self.inner.inputs[self.replaced[j]] for j in self._leading()]
        self.readings += [(j, drive_places.CURRENT_READING) for j in self._leading()]
        self.led = tuple(f"{self.prefix[j]}_motor" for j in self._leading())
        self.outputs = tuple(sensors)

    def _leading(self) -> list[int]:
        """Return the joints whose motor's side follows a motion."""
        return np.flatnonzero(self.constants[:, drive_places.INPUT] == drive_places.LED).tolist()

    # what it is, beside a model

    def _as_inside(self) -> None:
        """Take over from the model inside what the drives leave as it is: its arm, poses, free joints."""
        if isinstance(self.inner, ArmModel):
            self.arm = self.inner.arm
        if isinstance(self.inner, Posable):
            self.pose = self._pose
        if isinstance(self.inner, Restable) and not self._idle():
            self.rest = partial(rest, self)
        if isinstance(self.inner, Spinning):
            self.turned_as = partial(turned_as, self)
        if isinstance(self.inner, PartlyDriven):
            self.driven = [i for i in self.inner.driven if f"joint{i + 1}_torque" not in self._idle()]

    def _idle(self) -> set[str]:
        """Return the torques of joints that nothing drives."""
        return {name for name, own in zip(self.drives, self.own, strict=True) if not own}

    def _pose(self, angles: Sequence[float] | FloatArray) -> FloatArray:
        """Return the coordinates of the undeformed arm at these joint variables [rad; m], springs unwound."""
        inner: Any = self.inner
        return self.extended(inner.pose(angles))

    @property
    def joints(self) -> dict[str, str]:
        """Input of each joint that is driven by torque, current or voltage, and the coordinate that it turns."""
        found: dict[str, str] = {}
        for torque, name in joints_of(self.inner).items():
            j = list(self.drives).index(torque) if torque in self.drives else -1
            if j < 0:
                found[torque] = name
            elif len(self.own[j]) == 1 and j not in self._leading():
                found[self.inputs[self.own[j][0]].name] = self._turned(j, name)
        return found

    @property
    def commands(self) -> dict[str, tuple[str, ...]]:
        """Inputs for the commanded angle and rate of each servo joint, by coordinate."""
        found = {name: tuple(own) for name, own in commands_of(self.inner).items()}
        for torque, name in joints_of(self.inner).items():
            if torque in self.drives:
                j = list(self.drives).index(torque)
                if len(self.own[j]) == 2:
                    found[self._turned(j, name)] = tuple(self.inputs[i].name for i in self.own[j])
        return found

    def _turned(self, j: int, name: str) -> str:
        return f"{self.prefix[j]}_motor" if self.constants[j, drive_places.FLEXIBLE] else name

    @property
    def analysis(self) -> str:
        """The analysis of the model inside; only a nonlinear one takes drives."""
        return self.inner.analysis if isinstance(self.inner, Analysed) else "nonlinear"

    def start(self, commands: Mapping[str, Sequence[float]]) -> tuple[FloatArray, FloatArray]:
        """Return coordinates and rates where commanded joints begin, by coordinate their variable and its rate."""
        return begun(self, {name.removesuffix("_motor"): value for name, value in commands.items()})

    def with_payload(self, mass: float, inertia: float) -> MechanicalModel:
        """Return the model with another payload [kg], [kg m^2]."""
        return driven_joints(with_payload(self.inner, mass, inertia), self.drives)

    def reach(self, rates: FloatArray, change: FloatArray) -> float:
        """Return the part of a change of rates that leads to where the friction of a joint turns round, at most 1."""
        slots = (drive_places.MOTOR if c[drive_places.FLEXIBLE] else drive_places.LINK for c in self.constants)
        rows = [pick[slot] for pick, slot in zip(self.pick, slots, strict=True)]
        joints = zip(self.constants, rows, strict=True)
        return float(min(kernel.reach_entry(c, x @ rates, x @ change) for c, x in joints))

    # rest, and linear plants

    @cached_property
    def resting(self) -> MechanicalModel:
        """The model for statics: no winding, and no bristles, whose deflection at rest is whatever it was before."""
        if not self.lags:
            return self
        return driven_joints(self.inner, {name: at_rest(joint) for name, joint in self.drives.items()})

    def lifted(self, point: OperatingPoint) -> OperatingPoint:
        """Return a point of rest of `resting` as one of this model: currents flow."""
        known = [s.name for s in self.resting.coordinates]
        where = [i for i, s in enumerate(self.coordinates) if s.name in known]
        q, v, a = np.zeros((3, self.size))
        q[where], v[where], a[where] = point.q, point.v, point.a
        outputs = [s.name for s in self.resting.outputs]
        y = self.resting.output(point.q, point.v, point.a, point.u)
        for i, signal in enumerate(self.coordinates):
            if signal.name.endswith("_charge") and signal.name in self.lags:
                v[i] = y[outputs.index(self.lags[signal.name].name)]
        return OperatingPoint(q, v, a, point.u, point.lam)

    def smoothed(self, point: OperatingPoint, friction: str) -> tuple[MechanicalModel, OperatingPoint, str]:
        """Return the model that is linearised at a point, the point for it, and what was left out, in words.

        friction: "viscous" leaves out the dry friction of joints at rest and closes their play; "stick" nothing.
        """
        if friction not in ("viscous", "stick"):
            raise unknown("friction of a linear plant", friction, ("viscous", "stick"))
        told: list[str] = []
        drives = dict(self.drives)
        loads = self._see(point.q, point.v, point.a, point.u)
        for j, (name, joint) in enumerate(self.drives.items()):
            x, v = self.pick[j] @ point.q, self.pick[j] @ point.v
            m = int(self.constants[j, drive_places.FLEXIBLE])
            rate, open_ = float(v[m]), abs(float(x[drive_places.MOTOR] - x[drive_places.LINK])) <= joint.backlash
            load = float(loads[j].y[drive_places.TORQUE_READING])
            drives[name], words = smooth(joint, rate, load, open_, friction == "stick")
            told += [f"{self.prefix[j]}: {word}" for word in words]
        if drives == self.drives:
            return self, point, "; ".join(told)
        other = driven_joints(self.inner, drives)
        known = [s.name for s in other.coordinates]
        where = [i for i, s in enumerate(self.coordinates) if s.name in known]
        at = OperatingPoint(point.q[where], point.v[where], point.a[where], point.u, point.lam)
        return other, at, "; ".join(told)

    # equations

    def extended(self, q: FloatArray) -> FloatArray:
        """Return all coordinates for those of the arm, springs unwound."""
        whole = np.zeros(self.size)
        whole[: self.n] = q
        for rows in self.pick:
            whole += rows[drive_places.MOTOR] * (rows[drive_places.LINK] @ whole)
        return whole

    def _see(self, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray) -> list[Seen]:
        found = []
        for c, rows, own in zip(self.constants, self.pick, self.own, strict=True):
            given = np.zeros(2)
            given[: len(own)] = u[own]
            found.append(joint_seen(c, rows @ q, rows @ v, rows @ a, given))
        return found

    def _inside(self, u: FloatArray, seen: Sequence[Seen]) -> FloatArray:
        """Return the inputs of the model inside: those that stay, and the torques that reach the links."""
        full = np.zeros(len(self.inner.inputs))
        for i, k in self.kept:
            full[i] = u[k]
        for i, one in zip(self.replaced, seen, strict=True):
            full[i] = -one.r[drive_places.LINK]
        return full

    def balance(self, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray, t: float = 0.0) -> FloatArray:
        """Return the whole left side M a + h - B u, closures left out."""
        n, seen = self.n, self._see(q, v, a, u)
        out = np.zeros(self.size)
        inner = self.inner
        out[:n] = inner.mass(q[:n]) @ a[:n] + inner.force(q[:n], v[:n], t)
        out[:n] -= inner.input_matrix(q[:n]) @ self._inside(u, seen)
        for rows, one in zip(self.pick, seen, strict=True):
            out += rows[1:].T @ one.r[1:]
        return out

    def reference(self) -> FloatArray:
        """Return the arm's reference pose, springs unwound."""
        return self.extended(self.inner.reference())

    def mass(self, q: FloatArray) -> FloatArray:
        """Return the mass of the arm, and rotors, windings and bristles behind it."""
        zero = np.zeros(self.size)
        M = np.zeros((self.size, self.size))
        M[: self.n, : self.n] = self.inner.mass(q[: self.n])
        for rows, one in zip(self.pick, self._see(q, zero, zero, np.zeros(len(self.inputs))), strict=True):
            M += rows.T @ one.M @ rows
        return M

    def force(self, q: FloatArray, v: FloatArray, t: float = 0.0) -> FloatArray:
        """Return the left side without accelerations and inputs."""
        return self.balance(q, v, np.zeros(self.size), np.zeros(len(self.inputs)), t)

    def input_matrix(self, q: FloatArray) -> FloatArray:
        """Return the columns of all inputs, away from limits."""
        zero = np.zeros(self.size)
        return self._input_columns(q, self._see(q, zero, zero, np.zeros(len(self.inputs))))

    def input_tangent(self, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray) -> FloatArray:
        """Return what inputs do at a state, zero at a limit."""
        return self._input_columns(q, self._see(q, v, a, u))

    def _input_columns(self, q: FloatArray, seen: Sequence[Seen]) -> FloatArray:
        B = np.zeros((self.size, len(self.inputs)))
        inner = self.inner.input_matrix(q[: self.n])
        for i, k in self.kept:
            B[: self.n, k] = inner[:, i]
        for rows, own, one in zip(self.pick, self.own, seen, strict=True):
            B[:, own] -= rows.T @ one.B[:, : len(own)]
        return B

    def tangent(self, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray, lam: FloatArray) -> Tangent:
        """Return the derivatives of the whole left side."""
        n, seen = self.n, self._see(q, v, a, u)
        inner = self.inner.tangent(q[:n], v[:n], a[:n], self._inside(u, seen), lam)
        parts = [np.zeros((self.size, self.size)) for _ in range(3)]
        for part, own in zip(parts, inner, strict=True):
            part[:n, :n] = own
        for rows, one in zip(self.pick, seen, strict=True):
            for part, local in zip(parts, (one.M, one.D, one.K), strict=True):
                part += rows.T @ local @ rows
        return Tangent(*parts)

    def output(self, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray) -> FloatArray:
        """Return the sensors of the arm, and what is read of the drives."""
        n, seen = self.n, self._see(q, v, a, u)
        read = [
            (self.pick[j, drive_places.MOTOR] @ (q if what == -1 else v)) if what < 0 else seen[j].y[what]
            for j, what in self.readings
        ]
        return np.concatenate([self.inner.output(q[:n], v[:n], a[:n], self._inside(u, seen)), read])

    def output_tangent(self, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray) -> OutputTangent:
        """Return the derivatives of `output`."""
        n, s, seen = self.n, drive_places.SLOTS, self._see(q, v, a, u)
        c = self.inner.output_tangent(q[:n], v[:n], a[:n], self._inside(u, seen))
        ny, N, p = len(c.position), len(self.outputs), len(self.inputs)
        rows = OutputTangent(*(np.zeros((N, width)) for width in (self.size, self.size, self.size, p)))
        for part, inner in zip(rows[:3], c[:3], strict=True):
            part[:ny, :n] = inner
        for i, k in self.kept:
            rows.input[:ny, k] = c.input[:, i]
        for i, pick, own, one in zip(self.replaced, self.pick, self.own, seen, strict=True):
            through = c.input[:, i]
            for part, local in zip(rows[:3], (one.K, one.D, one.M), strict=True):
                part[:ny] -= np.outer(through, local[drive_places.LINK] @ pick)
            rows.input[:ny, own] -= np.outer(through, one.B[drive_places.LINK, : len(own)])
        for row, (j, what) in enumerate(self.readings, ny):
            if what < 0:
                rows[0 if what == -1 else 1][row] = self.pick[j, drive_places.MOTOR]
                continue
            Y = seen[j].Y[what]
            rows.acceleration[row], rows.rate[row] = Y[:s] @ self.pick[j], Y[s : 2 * s] @ self.pick[j]
            rows.position[row] = Y[2 * s : 3 * s] @ self.pick[j]
            rows.input[row, self.own[j]] = Y[3 * s : 3 * s + len(self.own[j])]
        return rows

    def closure(self, q: FloatArray) -> FloatArray:
        """Return the closure of the arm."""
        return self.inner.closure(q[: self.n])

    def closure_jacobian(self, q: FloatArray) -> FloatArray:
        """Return the closure Jacobian of the arm; drives have none."""
        return self._wide(self.inner.closure_jacobian(q[: self.n]))

    def closure_bias(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Return the closure bias of the arm."""
        return self.inner.closure_bias(q[: self.n], v[: self.n])

    def closure_turn(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Return the d(G v)/dq of the arm."""
        return self._wide(closure_turn(self.inner, q[: self.n], v[: self.n]))

    def closure_forces(self, q: FloatArray) -> FloatArray:
        """Return what closures do to the arm; nothing to the drives."""
        return self._wide(closure_forces(self.inner, q[: self.n]).T).T

    def _wide(self, G: FloatArray) -> FloatArray:
        return np.hstack([G, np.zeros((len(G), self.size - self.n))])

    def energy(self, q: FloatArray, v: FloatArray) -> Energy:
        """Return the energy of the arm, and that of rotors, windings, springs and bristles."""
        kinetic, potential = self.inner.energy(q[: self.n], v[: self.n])
        for c, rows in zip(self.constants, self.pick, strict=True):
            moving, stored = kernel.energy(c, rows @ q, rows @ v)
            kinetic, potential = kinetic + moving, potential + stored
        return Energy(kinetic, potential)

    def compiled(self) -> Compiled | None:
        """Return None: what runs compiled is a stepper of its own."""
        return None

    @property
    def own_stepper(self) -> bool:
        """Whether `stepper` gives a compiled stepper: around every formulation that has one, without closures."""
        from .driven_stepper import has_stepper

        return has_stepper(self)

    def stepper(self, *arguments: Any) -> Any:
        """Return the compiled stepper (see `kernels.driven`), or None where there is none."""
        if not self.own_stepper:
            return None
        from .driven_stepper import stepper  # compiled code is loaded when a time loop needs it

        return stepper(self, *arguments)


class _LinearDrivenJoints(LinearMechanics):
    """The same around a linear model with linear drives: constant matrices again."""

    arm: Any

    def __init__(self, wrapped: DrivenJoints) -> None:
        self.wrapped, self.kind, self.inner = wrapped, wrapped.kind, wrapped.inner
        self.coordinates, self.inputs, self.outputs = wrapped.coordinates, wrapped.inputs, wrapped.outputs
        self.lags, self.led, self.joints, self.commands = wrapped.lags, wrapped.led, wrapped.joints, wrapped.commands
        q, u = wrapped.reference(), np.zeros(len(wrapped.inputs))
        self.M, self.D, self.K = wrapped.tangent(q, q, q, u, np.zeros(0))
        self.B = wrapped.input_matrix(q)
        self.sensors = wrapped.output_tangent(q, q, q, u)
        self.turned = wrapped.inner.turned if isinstance(wrapped.inner, LinearMechanics) else ()
        if self.lags:  # no winding at rest
            self.resting, self.lifted = wrapped.resting, wrapped.lifted
        if isinstance(wrapped.inner, ArmModel):
            self.arm = wrapped.inner.arm

    def with_payload(self, mass: float, inertia: float) -> MechanicalModel:
        """Return the model with another payload [kg], [kg m^2]."""
        return self.wrapped.with_payload(mass, inertia)
