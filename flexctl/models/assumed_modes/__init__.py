"""Planar trees of flexible links by assumed modes, with loops closed by pins.

    M(q) q'' + h(q, q') + G(q)^T lam = B(q) u,     g(q) = 0
    M = sum m Re(J^H J),   h = sum m Re(J^H (a0 - gravity)) + C q' + K q,   G q'' = -(G q')_q q'

The sums go over the mass points of the links (`assumed_modes.mesh`), J is the derivative of a point's place (complex,
x + i y), a0 its acceleration at q'' = 0. A link's place is that of its root plus x along and w = sum psi_j(x) p_j
across the direction of the root (`assumed_modes.motion`); psi are the shapes of `assumed_modes.shapes`, 1 at an end
that moves, p_j [m]. Small bending of each link, large motion of all of them. Euler-Bernoulli: no shear, no rotary
inertia along the links.

q: first the angle of every joint, then p of link 1, 2, ... ("link3_w1"; "link3_u1" where a link stretches). A joint
with a drive has the angle against the tangent of the link that carries it ("joint1"), a free joint the angle of its
link against the base ("theta3"). Counterclockwise is positive. Closures ("pin_x", "pin_y") bring a point of one link
and a point of another, or of the base, together; lam [N] is the force of the first link on the second.

Options that refine the paper's model: `axial` shapes let a link stretch; `foreshortening` lets bending pull the ends of
a link together by half the integral of w'^2, which stiffens a link that is pulled or spins. Without it a bent link
keeps its length along the chord. `attachment` adds the shapes of static moments and forces at a link's end.

"modal" damping is C = sum (2 zeta / omega^3) (K phi)(K phi)^T over the modes phi of the reference pose, closures met,
with joints held that follow a motion or a cylinder and the others free; it acts on p alone. "rayleigh" is alpha M +
beta K.

Source: Lee, Huggins and Book 1988, "Experimental verification of a large flexible manipulator" (RALF). There: (2.3) has
no integral, (2.4) psi'' for psi'' psi''^T, (2.5) no gravity, (2.6) no d/dt of dT/dq' less dT/dq; (2.18), (2.19), (2.21)
write (Phi_q)_q q'^2 for (Phi_q q')_q q'; (2.20), q = V2 z, holds near one pose only, V2 turning with q, so that the run
is integrated in q here, with g = 0 and G q' = 0 at every step; (3.1) leaves out what weight and closure forces add to
the stiffness; (4.2) has K_rf, which is zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ...errors import DefinitionError, require
from ...machine.arm import Arm
from ...model import Compiled, Energy, FloatArray, OutputTangent, Signal, Tangent
from ..features import check_bare
from ..null_space import check_rank, null_space, unheld
from ..ranges import BENDING, SPIN, Driven, by_blocks, linear, squared
from .loads import TreeLoads
from .mesh import Discretisation, Station, Tree
from .motion import TreeMotion, work
from .sensors import TreeSensors
from .weight import buckling, needs_shortening


class AssumedModes:
    """A planar tree of flexible links; see the module for the equations.

    Parameters
    ----------
    arm : Arm
        One or more links with revolute joints, a chain or a tree, with or without closures.
    modes : int or sequence of int
        Bending shapes of each link; massless links have none.
    shapes : str or sequence of str
        Boundary conditions of the shapes of each link: "clamped_free", "clamped_mass", "clamped_clamped",
        "clamped_pinned" or "pinned_pinned".
    mass_ratio : float or sequence of float
        For "clamped_mass": mass at the end of the link divided by its own.
    axial : int or sequence of int
        Axial shapes of each link: 1 is an even stretch.
    foreshortening : bool
        Whether bending pulls the ends of a link together; by default where the weight needs it, see `needs_shortening`.
    attachment : bool or sequence of bool
        Whether a link has, beside its modes, the shapes of static forces and moments at its end, and of a moment at
        every body on it that has an inertia and every link joined within it. They come last among its bending
        coordinates. Without them the error falls as 1 / modes where a moment acts there: of the next link's motor, of
        the inertia of a payload or a body.

    Examples
    --------
    >>> model = fx.AssumedModes(fx.load_plant("tokhi_azad_1994").arm, modes=3)
    >>> print(fx.linearise(model).modes(1).frequencies_hz.round(4))
    [11.8024]
    """

    kind = "assumed_modes"
    features = frozenset(
        {"pieces", "joint_angle", "joint_mass", "housing_inertia", "rotor_inertia", "servo_drive", "motion_drive",
         "hydraulic_drive", "free_drive", "massless_link", "tree", "closure", "body", "tip_on_another_link",
         "load_along_x", "body_on_extension"}
    )

    def __init__(
        self, arm: Arm, *, modes: int | Sequence[int] = (2,), shapes: str | Sequence[str] = ("clamped_free",),
        mass_ratio: float | Sequence[float] = (0.0,), axial: int | Sequence[int] = (0,),
        foreshortening: bool | None = None, attachment: bool | Sequence[bool] = False,
    ) -> None:
        check_bare(arm, self.kind, self.features)
        self.arm = arm
        self.options: dict[str, Any] = {"modes": modes, "shapes": shapes, "mass_ratio": mass_ratio, "axial": axial}
        each = [_each(arm, key, value) for key, value in self.options.items()]
        attached = _flags("attachment", _each(arm, "attachment", attachment))
        shorten = needs_shortening(arm) if foreshortening is None else bool(foreshortening)
        self.options |= {"foreshortening": shorten, "attachment": attached}
        counts = _counts("modes", each[0]), _counts("axial", each[3])
        self.tree = Tree(arm, Discretisation(each[1], *counts, each[2], shorten, attached))
        self._recent: dict[bytes, TreeMotion] = {}
        self._compiled: dict[tuple[int, ...], Compiled] = {}
        self.driven = [i for i, joint in enumerate(arm.joints) if joint.drive != "free"]
        self.coordinates = self._coordinates()
        plain, B = self._inputs()
        self.loads, self.push = TreeLoads(self.tree, arm, plain), len(plain) - 2
        self.inputs, self.B = plain + self.loads.signals, np.hstack([B, self.loads.moments])
        self.closures = tuple(f"{c.name}_{axis}" for c in arm.closures for axis in "xy")
        self.pins = [self._pin(c.link, c.position, c.other_link, c.other_position) for c in arm.closures]
        self.pinned = np.array([0.0 if c.other_link else c.base_x + 1j * c.base_y for c in arm.closures], complex)
        self.sensors = TreeSensors(self.tree, arm)
        self.outputs = tuple(self.sensors.signals)
        self.kp, self.kv = np.zeros(self.tree.size), np.zeros(self.tree.size)
        for i, joint in enumerate(arm.joints):
            self.kp[i], self.kv[i] = joint.servo_stiffness, joint.servo_damping
        self._reference = self.pose([arm.joints[i].angle for i in self.driven])
        check_rank(self.closure_jacobian(self._reference), self.closures)
        damping = arm.damping
        self.alpha, beta = (damping.alpha, damping.beta) if damping.kind == "rayleigh" else (0.0, 0.0)
        self.C = beta * self.tree.K + np.diag(self.kv)
        if damping.kind == "modal" and damping.ratio > 0:
            self.C += self._modal_damping(damping.ratio)

    def _coordinates(self) -> tuple[Signal, ...]:
        signals = [
            Signal(f"joint{i}", "rad", "angle against the link that carries it") if joint.drive != "free"
            else Signal(f"theta{i}", "rad", "angle against the base") for i, joint in enumerate(self.arm.joints, 1)
        ]
        for i, s in enumerate(self.tree.shapes, 1):
            signals += [Signal(f"link{i}_w{j + 1}", "m", "bending") for j in range(s.nb)]
            signals += [Signal(f"link{i}_u{j + 1}", "m", "stretch") for j in range(s.na)]
        return tuple(signals)

    def _inputs(self) -> tuple[tuple[Signal, ...], FloatArray]:
        """Return the inputs and their constant levers; those of the tip forces are added in `input_matrix`."""
        signals: list[Signal] = []
        columns: list[tuple[int, float]] = []
        for i, joint in enumerate(self.arm.joints):
            name = f"joint{i + 1}"
            if joint.drive == "servo":
                signals += [Signal(f"{name}_command", "rad"), Signal(f"{name}_command_rate", "rad/s")]
                columns += [(i, joint.servo_stiffness), (i, joint.servo_damping)]
            elif joint.drive != "free":
                signals.append(Signal(f"{name}_torque", "N m"))
                columns.append((i, 1.0))
        B = np.zeros((self.tree.size, len(signals) + 2))
        for j, (row, lever) in enumerate(columns):
            B[row, j] = lever
        return (*signals, Signal("tip_force_x", "N"), Signal("tip_force_y", "N")), B

    def _pin(self, link: int, s: float, other: int, other_s: float) -> tuple[Station, Station]:
        return self.tree.station(link - 1, s), self.tree.station(other - 1, other_s)

    @property
    def joints(self) -> dict[str, str]:
        """Torque input of each torque-driven joint and the coordinate it acts on."""
        kept = [i for i in self.driven if self.arm.joints[i].drive != "servo"]
        return {f"joint{i + 1}_torque": f"joint{i + 1}" for i in kept}

    @property
    def commands(self) -> dict[str, tuple[str, str]]:
        """Inputs for commanded angle and rate of each servo joint, by coordinate."""
        servos = [f"joint{i}" for i, j in enumerate(self.arm.joints, 1) if j.drive == "servo"]
        return {name: (f"{name}_command", f"{name}_command_rate") for name in servos}

    def reference(self) -> FloatArray:
        """Return the undeformed arm with the joint angles of its definition."""
        return self._reference.copy()

    def pose(self, angles: Sequence[float] | FloatArray) -> FloatArray:
        """Return the undeformed arm with these angles [rad] of the driven joints.

        Free joints start from their defined angles and close the loops; far from these, the loop that is found is the
        one that small steps of the driven angles lead to.
        """
        from .poses import pose

        return pose(self, np.asarray(angles, float))

    def rest(self, angles: Sequence[float] | FloatArray) -> FloatArray:
        """Return the arm at rest under its weight, driven joints held at (servos: commanded to) these angles [rad]."""
        from .poses import rest

        return rest(self, np.asarray(angles, float))

    def start(self, commands: Mapping[str, Sequence[float]]) -> tuple[FloatArray, FloatArray]:
        """Return coordinates and rates where commanded joints begin, by name their angle [rad] and rate [rad/s].

        Bent by the weight if every driven joint is commanded; otherwise the arm is undeformed, other joints as defined.
        """
        from .poses import start

        return start(self, commands)

    def with_payload(self, mass: float, inertia: float = 0.0) -> AssumedModes:
        """Return the model with another payload [kg], [kg m^2]."""
        payload = replace(self.arm.payload, mass=mass, inertia=inertia)
        return AssumedModes(replace(self.arm, payload=payload), **self.options)

    def assumptions(self, q: FloatArray, v: FloatArray) -> list[Driven]:
        """Return how far recorded coordinates and rates (nt x n) drive the assumptions: small bending, no axial force.

        Spin counts against the first frequency with all joint angles held.
        """
        found, stations = [], np.linspace(0.0, 1.0, 21)
        links = [(i, s, e) for i, (s, e) in enumerate(zip(self.tree.shapes, self.tree.elastic, strict=True)) if s.nb]
        for i, s, e in links:
            slopes = s.slope(stations).T
            remedy = "model = timoshenko_planar, ancf or finite_segment"
            bent = by_blocks(q[:, e], partial(_steepest, slopes))
            found.append(squared(f"bending angle of link {i + 1}", bent, "rad", BENDING, remedy))
        if not links or self.options["foreshortening"]:
            return found
        first = self._first_held()
        for i, *_ in links:
            remedy = "foreshortening = true, or another model"
            found.append(squared(f"spin of link {i + 1}", v @ self.tree.T[i], "rad/s", SPIN, remedy, first))
        return found

    def pressed(self, q: FloatArray, u: FloatArray) -> list[Driven]:
        """Return how large loads make the forces along the links, whose effect on bending needs `foreshortening`."""
        if self.options["foreshortening"] or not u.any():
            return []
        eta, remedy = q @ self.tree.T.T, "foreshortening = true, or another model"
        flexible = [i for i, s in enumerate(self.tree.shapes) if s.nb]
        along = {i: self.loads.along(i, eta, u) for i in flexible}
        return [
            linear(f"force of loads along link {i + 1}", force, "N", buckling(self.arm, i), remedy)
            for i, force in along.items() if force.any()
        ]

    def _first_held(self) -> float:
        """Return the lowest natural frequency [rad/s] with every joint angle held."""
        from scipy.linalg import eigh  # heavy, and needed here only

        e = np.concatenate(self.tree.elastic)
        M = self.mass(self._reference)[np.ix_(e, e)]
        return float(np.sqrt(max(eigh(self.tree.K[np.ix_(e, e)], M, eigvals_only=True)[0], 1e-300)))

    def _motion(self, q: FloatArray, v: FloatArray | None = None, a: FloatArray | None = None) -> TreeMotion:
        zero = np.zeros(q.size)
        state = tuple(self.tree.T @ (zero if x is None else x) for x in (q, v, a))
        key = b"".join(x.tobytes() for x in state)
        if key not in self._recent:  # mass, closures and levers of one state share its kinematics
            if len(self._recent) >= 4:
                self._recent.clear()
            self._recent[key] = TreeMotion(self.tree, *state)
        return self._recent[key]

    def mass(self, q: FloatArray) -> FloatArray:
        """Return M(q)."""
        motion, M = self._motion(q), self.tree.inertia.copy()
        for i, f in enumerate(self.tree.points):
            J = motion.points(i, f).J
            M += (np.conj(J).T @ J).real
        return np.asarray(self.tree.T.T @ M @ self.tree.T)

    def force(self, q: FloatArray, v: FloatArray, t: float = 0.0) -> FloatArray:
        """Return Coriolis and centrifugal forces, weight, damping and elastic forces."""
        # alpha M v is the inertia force of the accelerations alpha v
        a = self.alpha * v
        motion, T = self._motion(q, v, a), self.tree.T
        h = self.tree.inertia @ (T @ a)
        for i, f in enumerate(self.tree.points):
            points = motion.points(i, f)
            h += work(points.J, points.acceleration - f.c0 * self.tree.gravity)
        return np.asarray(T.T @ h + self.C @ v + self.tree.K @ q + self.kp * q)

    def input_matrix(self, q: FloatArray) -> FloatArray:
        """Return B: joint torques on their angles, tip forces on the tip, loads on their links."""
        motion, k = self._motion(q), self.push
        B, J = self.B.copy(), motion.at(self.tree.tip).J[0] @ self.tree.T
        B[:, k], B[:, k + 1] = J.real, J.imag
        B[:, k + 2 :] = self.loads.columns(motion)
        return B

    def tangent(self, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray, lam: FloatArray) -> Tangent:
        """Return the derivatives of the whole left side."""
        tree, T, total = self.tree, self.tree.T, a + self.alpha * v
        motion = self._motion(q, v, total)
        M, D, K = tree.inertia.copy(), np.zeros((tree.size, tree.size)), np.zeros((tree.size, tree.size))
        for i, f in enumerate(tree.points):
            points = motion.points(i, f)
            back = np.conj(points.J).T
            M += (back @ points.J).real
            D += (back @ points.by_rate).real
            K += (back @ points.by_position).real
            motion.bend(i, f, points.acceleration - f.c0 * tree.gravity, K)
        self._bend_by_loads(motion, u, lam, K)
        M, D, K = (T.T @ part @ T for part in (M, D, K))
        return Tangent(M, D + self.alpha * M + self.C, K + tree.K + np.diag(self.kp))

    def _bend_by_loads(self, motion: TreeMotion, u: FloatArray, lam: FloatArray, K: FloatArray) -> None:
        """Add the derivatives of G^T lam and of -B u at given lam and u."""
        for (one, other), x, y in zip(self.pins, lam[::2], lam[1::2], strict=True):
            for station, sign in ((one, 1.0), (other, -1.0)):
                motion.bend(station.link, station.field, np.array([sign * (x + 1j * y)]), K)
        push = u[self.push] + 1j * u[self.push + 1]
        motion.bend(self.tree.tip.link, self.tree.tip.field, -np.array([push]), K)
        self.loads.bend(motion, u, K)

    def output(self, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray) -> FloatArray:
        """Return the sensor readings; `assumed_modes.sensors` says what they mean."""
        T = self.tree.T
        return self.sensors.read(T @ q, T @ v, T @ a)

    def output_tangent(self, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray) -> OutputTangent:
        """Return the derivatives of `output`."""
        T = self.tree.T
        rows = self.sensors.rows(T @ q, T @ v, T @ a, len(self.inputs))
        return OutputTangent(rows.position @ T, rows.rate @ T, rows.acceleration @ T, rows.input)

    def closure(self, q: FloatArray) -> FloatArray:
        """Return the gaps (x, y) [m] of the pins."""
        motion = self._motion(q)
        gaps = [motion.at(one).place[0] - motion.at(other).place[0] for one, other in self.pins]
        gap = np.array(gaps, complex) - self.pinned
        return np.column_stack([gap.real, gap.imag]).ravel()

    def closure_jacobian(self, q: FloatArray) -> FloatArray:
        """Return G."""
        motion, G = self._motion(q), np.zeros((2 * len(self.pins), self.tree.size))
        for k, (one, other) in enumerate(self.pins):
            row = (motion.at(one).J[0] - motion.at(other).J[0]) @ self.tree.T
            G[2 * k], G[2 * k + 1] = row.real, row.imag
        return G

    def closure_bias(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Return (G v)_q v: how the gaps accelerate at q'' = 0."""
        motion = self._motion(q, v)
        gaps = [motion.at(one).acceleration[0] - motion.at(other).acceleration[0] for one, other in self.pins]
        bias = np.array(gaps, complex)
        return np.column_stack([bias.real, bias.imag]).ravel()

    def closure_turn(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Return d(G v)/dq; the bias is quadratic in v, and this is half its derivative by v."""
        motion, V = self._motion(q, v), np.zeros((2 * len(self.pins), self.tree.size))
        for k, (one, other) in enumerate(self.pins):
            row = 0.5 * (motion.at(one).by_rate[0] - motion.at(other).by_rate[0]) @ self.tree.T
            V[2 * k], V[2 * k + 1] = row.real, row.imag
        return V

    def outline(self, q: FloatArray, points: int = 21) -> list[FloatArray]:
        """Return for each link x and y [m] of points along it, from where others are fixed to it to its end."""
        motion, lines = self._motion(q), []
        for i, link in enumerate(self.arm.links):
            used = [other.root for j, other in enumerate(self.arm.links) if self.tree.parent[j] == i]
            for c in self.arm.closures:
                used += [s for n, s in ((c.link, c.position), (c.other_link, c.other_position)) if n == i + 1]
            used += [0.0, 1.0] if link.kind == "flexible" or i == self.arm.tip_link else [0.0]
            stations = [self.tree.station(i, s) for s in np.linspace(min(used), max(used), points)]
            places = np.array([motion.at(station).place[0] for station in stations])
            lines.append(np.column_stack([places.real, places.imag]))
        return lines

    def energy(self, q: FloatArray, v: FloatArray) -> Energy:
        """Return kinetic energy, and elastic energy (servo springs included, command 0) less the work of the weight."""
        motion, dq = self._motion(q, v), self.tree.T @ v
        kinetic, fallen = dq @ self.tree.inertia @ dq, 0.0
        for i, f in enumerate(self.tree.points):
            points = motion.points(i, f)
            kinetic += float(np.sum(np.abs(points.rate) ** 2))
            fallen += float(np.sum((np.conj(f.c0 * self.tree.gravity) * points.place).real))
        return Energy(0.5 * float(kinetic), 0.5 * float(q @ self.tree.K @ q + self.kp @ q**2) - fallen)

    def _modal_damping(self, ratio: float) -> FloatArray:
        """Return C of the module's docstring."""
        from ...linear.modes import normal_modes  # a higher layer, needed here only

        q, K = self._reference, self.tree.K
        free = unheld(self.arm, range(len(self.arm.joints)), q.size)
        N = np.eye(q.size)[:, free]
        if self.closures:
            N = N @ null_space(self.closure_jacobian(q)[:, free], self.closures)
        normal = normal_modes(N.T @ self.mass(q) @ N, N.T @ K @ N)
        flexible = normal.eigenvalues > 0
        forces = K @ N @ normal.shapes[:, flexible]
        return np.asarray((forces * (2.0 * ratio / normal.omega[flexible] ** 3)) @ forces.T)

    def compiled(self) -> Compiled | None:
        """Return the compiled form."""
        return self.compiled_driven()

    def compiled_driven(self, driven: tuple[int, ...] = (), levers: tuple[float, ...] = ()) -> Compiled:
        """Return the compiled form in which coordinates follow commanded accelerations: `wrappers.motion_driven`."""
        from .kernel import functions as kernels  # compiled code is loaded when a time loop needs it

        if driven not in self._compiled:
            self._compiled[driven] = kernels.compiled(self, driven, levers)
        return self._compiled[driven]

    def compiled_hydraulic(self, driven: tuple[int, ...], levers: tuple[float, ...], cubics: FloatArray) -> Compiled:
        """Return the compiled form in which cylinders move coordinates (see `wrappers.hydraulic`)."""
        from .kernel import hydraulic as kernels

        return kernels.compiled(self, driven, levers, cubics)


def _flags(key: str, values: tuple[Any, ...]) -> tuple[bool, ...]:
    for value in values:
        require(isinstance(value, bool | np.bool_), f"{key} = {value!r} per link must be true or false")
    return tuple(bool(value) for value in values)


def _each(arm: Arm, key: str, value: Any) -> tuple[Any, ...]:
    """Return an option for every link, given once or for each."""
    many = isinstance(value, Sequence | np.ndarray) and not isinstance(value, str)
    given = tuple(value) if many else (value,)
    count = len(arm.links)
    require(len(given) in (1, count), f"{key} = {value}: give one, or one for each of {count} links")
    return given * count if len(given) == 1 else given


def _counts(key: str, values: tuple[Any, ...]) -> tuple[int, ...]:
    for value in values:
        whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if not (whole and 0 <= value <= 30):
            raise DefinitionError(f"{key} = {value!r} per link must be a whole number from 0 to 30")
    return tuple(int(value) for value in values)


def _steepest(slopes: FloatArray, rows: FloatArray) -> FloatArray:
    """Return the largest slope along a link for each row of its elastic coordinates."""
    found: FloatArray = np.abs(rows @ slopes).max(axis=1)
    return found
