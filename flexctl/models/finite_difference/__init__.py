"""Finite differences for one flexible link that turns about a hub in a horizontal plane.

    rho y_tt + EI y_xxxx = f(x, t)                                       0 < x < L
    y = 0,                Ih y_xtt - EI y_xx  = tau(t)                   x = 0
    Mp y_tt - EI y_xxx = 0,  Ip y_xtt + EI y_xx = 0                      x = L

y(x, t) [m] is the displacement along the arc, rigid rotation included; y_x at the hub is the joint angle. The link has
n sections of length dx and nodes 0 .. n. With D the second differences at nodes 1 .. n-1 (y_0 = 0) the elastic energy
of the interior is (EI/dx^3) |D y|^2 / 2 and the mass rho dx per node, half of it at node n:

    M y'' + K y = B u,      K = (EI/dx^3) D'D + ends,      M = rho dx diag(1, .., 1, 1/2) + ends

`form` says what the ends are.

Ih is the inertia of the hub and, the base being fixed, of the rotor.

"slope" (default)
    Central slopes at both ends; the moment at the ghost node is elastic. theta = y_x(0) is a coordinate if Ih > 0,
    phi = y_x(L) if Ip > 0:  K += (2EI/dx^3)(y_1 - dx theta)^2 and (2EI/dx^3)(y_{n-1} - y_n + dx phi)^2, as quadratic
    forms; M is diagonal. Second order. For Ih = 0 the joint angle is y_1/dx + dx tau/(2EI).
"paper"
    The scheme of the paper, its misprints removed: one-sided slopes y_1/dx and (y_n - y_{n-1})/dx, hence
    M += (Ih/dx^2) e_1 e_1' + (Ip/dx^2)(e_n - e_{n-1})(e_n - e_{n-1})', joint angle y_1/dx. First order if Ih or Ip > 0:
    the hub then acts as Ih/(1 + w^2 Ih dx/(2EI)) at frequency w.

Both are symmetric, K is zero for y = x theta, and Mp = 0, Ip = 0, Ih = 0 need no special case. Assumptions: slender,
small slopes, no shear, no rotary inertia of the section, plane of motion horizontal. Loads along the link are forces
across it and moments, dead and follower alike: to first order these are the same. A moment acts on the slopes of the
nodes, by shares; on the slope at an end only if it is there. A body on the link is m y_tt^2 / 2 + J y_xtt^2 / 2 with y
and y_x at its station, linear between nodes: it is collocated with a force, and a moment, there. Its
inertia is of first order in dx: it acts as J/(1 + w^2 J dx/(4EI)) at a node. One at an end counts to hub or payload.
For Ih = 0 the joint rate is y_1'/dx, the rate that the torque works on: the joint angle jumps with the torque, and this
is its slope between jumps.

What is read of it: `sensors`.

Source: M. O. Tokhi and A. K. M. Azad, "Real-time finite difference simulation of a single-link flexible manipulator
system", Research Report 541, ACSE, University of Sheffield, 1994: (1)-(3) the beam, (10)-(39) the scheme. Wrong there,
and right here: sign of tau in (14) and (16); m22 = -2c after (22); F1 of (27) is EI dt^2/(Ip dx); Q4 of (30) is
dt^2 dx/(rho dx^3 + Ih); T and P of (36), (37) (M and K above replace them); (42) is sufficient, not necessary; with
c = 0.2 and 19 sections the step is 242.666 us, not 21 us.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import require, unknown
from ...machine.arm import Arm, Payload
from ...model import FloatArray, LinearMechanics, Signal
from ...support.moved import OldMembers
from ..bodies import inner_bodies, lumped
from ..features import check_bare, takers
from ..loads import load_signals
from ..ranges import ACROSS, ARC, BENDING, Driven, by_blocks, squared
from .mesh import second_differences, short, unit_load, weights
from .scheme import scheme, scheme_plant
from .sensors import sensor_rows, signals, turned

if TYPE_CHECKING:
    from ...linear import FirstOrder

FORMS = ("slope", "paper")
TORQUE = Signal("joint1_torque", "N m")


class FiniteDifference(LinearMechanics, OldMembers):
    """One flexible link with hub and payload by finite differences; see the module for the equations.

    Parameters
    ----------
    arm : Arm
        An arm with exactly one link, without gravity.
    sections : int
        n: number of sections, 3 to 2000.
    form : str
        "slope" (second order) or "paper".

    Attributes
    ----------
    M, D, K, B, sensors
        Constant matrices in the order of `coordinates`: theta (if any) [rad], y1 .. yn [m], phi (if any) [rad].
    dx : float
        Length of a section [m].

    Examples
    --------
    >>> model = fx.FiniteDifference(fx.load_plant("tokhi_azad_1994").arm, sections=40)
    >>> print(fx.linearise(model).modes(1).frequencies_hz.round(4))
    [11.7879]
    """

    kind = "finite_difference"
    features = frozenset({"rotor_inertia", "body"})

    def __init__(self, arm: Arm, *, sections: int = 19, form: str = "slope") -> None:
        check_bare(arm, self.kind, self.features)
        _check(arm, sections, form)
        self.arm, self.sections, self.form = arm, sections, form
        self.dx = arm.links[0].length / sections
        first = int(self.has_theta)
        self.nodes = slice(first, first + sections)
        self.coordinates = self._coordinates()
        self.inputs = (TORQUE, *load_signals(arm, (TORQUE,)))
        self.outputs, self.turned = signals(arm), turned(arm.links[0].length)
        self.K, self.B = self._stiffness(), self._input_matrix()
        self._take_masses()

    @property
    def hub(self) -> float:
        """Inertia that turns with the root of the link [kg m^2]: that of the hub and, on a fixed base, of the rotor."""
        return self.lumped.joints[0].hub_inertia + self.arm.joints[0].rotor_inertia

    @property
    def lumped(self) -> Arm:
        """The arm with bodies at the ends of the link as parts of hub and payload."""
        return lumped(self.arm)

    @property
    def has_theta(self) -> bool:
        """Whether the hub's slope is a coordinate."""
        return self.form == "slope" and self.hub > 0

    @property
    def has_phi(self) -> bool:
        """Whether the tip's slope is a coordinate."""
        return self.form == "slope" and self.lumped.payload.inertia > 0

    def with_payload(self, mass: float, inertia: float = 0.0) -> FiniteDifference:
        """Return the model with another payload [kg], [kg m^2]; only the mass rows at the tip are computed anew.

        Where phi appears or vanishes (slope form, inertia from or to zero) the model is built from the start.
        """
        arm = replace(self.arm, payload=Payload(mass, inertia))
        if self.form == "slope" and (lumped(arm).payload.inertia > 0) != self.has_phi:
            return FiniteDifference(arm, sections=self.sections, form=self.form)
        other = copy(self)
        other.arm = arm
        other._take_masses()
        return other

    def scheme(self, dt: float) -> tuple[FloatArray, FloatArray]:
        """Return A, B of Y+ = A Y - Y- + B tau with step dt [s], as the paper has it; B has one column per input.

        `simulate(model, method="march")` runs this scheme.
        """
        return scheme(self, dt)

    def scheme_plant(self, dt: float) -> FirstOrder:
        """Return the scheme as a discrete plant: states Y and its backward difference."""
        return scheme_plant(self, dt)

    def assumptions(self, q: FloatArray, v: FloatArray) -> list[Driven]:
        """Return how far recorded coordinates and rates (nt x n) drive them: small slopes, no axial force."""
        spin = v[:, 0] if self.has_theta else v[:, 0] / self.dx
        bent = by_blocks(q, self._bent)
        other = "model = timoshenko_planar, ancf or finite_segment"
        return [
            squared("bending angle of link 1", bent, "rad", BENDING, other),
            squared("spin of link 1", spin, "rad/s", ARC, other, self._first_held()),
        ]

    def pressed(self, q: FloatArray, u: FloatArray) -> list[Driven]:
        """Return how far the arm turns while dead forces act, which it takes to stay across it."""
        hub = q[:, 0] if self.has_theta else q[:, 0] / self.dx
        other = "follower = true if the force turns with the link, else model = timoshenko_planar or another"
        dead = {
            j: one for j, one in enumerate(self.arm.actuators, 1)
            if one.kind == "force" and not one.follower and u[:, j].any()
        }
        return [
            squared(f"turn of link 1 under {one.name}", np.where(u[:, j] != 0.0, hub, 0.0), "rad", ACROSS, other)
            for j, one in dead.items()
        ]

    def _bent(self, q: FloatArray) -> FloatArray:
        """Return the largest angle between the sections and the hub, for each row of coordinates."""
        rows = np.ascontiguousarray(q.T)  # along times, of which there are more, numpy is faster
        hub, turned = rows[0] if self.has_theta else rows[0] / self.dx, rows[self.nodes].copy()
        turned[1:] -= rows[self.nodes][:-1]
        bent: FloatArray = np.maximum(turned.max(axis=0) / self.dx - hub, hub - turned.min(axis=0) / self.dx)
        return bent

    def _first_held(self) -> float:
        """Return the lowest natural frequency [rad/s] with the hub held."""
        from scipy.linalg import eigh  # heavy, and needed here only

        rest = slice(1, None)  # theta, or y1 = 0
        lowest = eigh(self.K[rest, rest], self.M[rest, rest], eigvals_only=True, subset_by_index=[0, 0])[0]
        return float(np.sqrt(lowest))

    def _coordinates(self) -> tuple[Signal, ...]:
        hub = [Signal("theta", "rad", "slope at the hub")] if self.has_theta else []
        tip = [Signal("phi", "rad", "slope at the tip")] if self.has_phi else []
        return (*hub, *(Signal(f"y{i}", "m") for i in range(1, self.sections + 1)), *tip)

    def _stiffness(self) -> FloatArray:
        n, dx, y = self.sections, self.dx, self.nodes
        stiff = short(self.arm.links[0].bending_stiffness / dx**3)
        K = np.zeros((len(self.coordinates),) * 2)
        second = second_differences(n)
        K[y, y] = stiff * (second.T @ second)
        ends = np.zeros((2, len(K)))
        if self.has_theta:
            ends[0, :2] = -dx, 1.0
        if self.has_phi:
            ends[1, -3:] = 1.0, -1.0, dx
        total: FloatArray = K + 2.0 * stiff * (ends.T @ ends)
        return total

    def _hub_and_link_mass(self) -> FloatArray:
        rho, Ih = self.arm.links[0].mass_per_length, self.hub
        diagonal = np.zeros(len(self.coordinates))
        diagonal[self.nodes] = rho * self.dx
        diagonal[0] += Ih if self.has_theta else Ih / self.dx**2
        return np.diag(diagonal)

    def _take_masses(self) -> None:
        """Set the mass matrix, and what depends on it."""
        self.M, payload = self._hub_and_link_mass(), self.lumped.payload
        Mp, Ip = payload.mass, payload.inertia
        rho_dx = self.arm.links[0].mass_per_length * self.dx
        end = self.nodes.stop
        block = np.diag([rho_dx, 0.5 * rho_dx + Mp])
        if self.has_phi:
            self.M[end, end] = Ip
        else:
            block += Ip / self.dx**2 * np.array([[1.0, -1.0], [-1.0, 1.0]])
        self.M[end - 2 : end, end - 2 : end] = block
        for body in inner_bodies(self.arm):
            shares = weights(body.position, self.sections)
            moved, turned = np.zeros(len(self.M)), shares @ self._slopes()
            moved[self.nodes] = shares[1:]
            self.M += body.mass * np.outer(moved, moved) + body.inertia * np.outer(turned, turned)
        self.D, self.sensors = self._damping(), sensor_rows(self)

    def _input_matrix(self) -> FloatArray:
        B = np.zeros((len(self.coordinates), len(self.inputs)))
        B[0, 0] = 1.0 if self.has_theta else 1.0 / self.dx
        slopes = self._slopes()
        for j, actuator in enumerate(self.arm.actuators, 1):
            load = unit_load(actuator.start, actuator.end, self.sections)
            if actuator.kind == "moment":
                B[:, j] = load @ slopes
            else:
                B[self.nodes, j] = load[1:]
        return B

    def _slopes(self) -> FloatArray:
        """Return y_x at nodes 0 .. n from the coordinates: central differences, at the ends as in `form`."""
        n, dx, y = self.sections, self.dx, self.nodes
        rows = np.zeros((n + 1, len(self.coordinates)))
        wide = (np.eye(n - 1, n + 1, 2) - np.eye(n - 1, n + 1))[:, 1:] / (2.0 * dx)
        rows[1:n, y] = wide
        if self.has_theta:
            rows[0, 0] = 1.0
        else:
            rows[0, y.start] = 1.0 / dx
        if self.has_phi:
            rows[n, -1] = 1.0
        else:
            rows[n, y.stop - 2 : y.stop] = -1.0 / dx, 1.0 / dx
        return rows

    def _damping(self) -> FloatArray:
        damping = self.arm.damping
        if damping.kind == "modal":
            from ...linear.modes import modal_damping  # a higher layer, needed here only

            D: FloatArray = modal_damping(self.M, self.K, damping.ratio)
            return D
        if damping.kind == "rayleigh":
            return damping.alpha * self.M + damping.beta * self.K
        return np.zeros_like(self.M)

    def end_moments(self) -> FloatArray:
        """Return what each input puts on the sections at root and tip, 2 x inputs: the torque, moments at points."""
        rows = np.zeros((2, len(self.inputs)))
        rows[0, 0] = 1.0
        for j, actuator in enumerate(self.arm.actuators, 1):
            if actuator.kind == "moment":
                load = unit_load(actuator.start, actuator.end, self.sections)
                rows[:, j] = load[0], load[-1]
        return rows


def _check(arm: Arm, sections: Any, form: Any) -> None:
    count = len(arm.links)
    require(count == 1, f"finite_difference is a model of one link, the arm has {count}; use {takers('links')}")
    whole = isinstance(sections, int | np.integer) and not isinstance(sections, bool)
    require(whole and 3 <= sections <= 2000, f"sections = {sections!r} must be a whole number from 3 to 2000")
    if form not in FORMS:
        raise unknown("form of finite_difference", str(form), FORMS)
    weight = f"gravity = {tuple(arm.gravity)} m/s^2; set it to zero, or use {takers('gravity')}"
    require(not any(arm.gravity), f"finite_difference is horizontal, {weight}")
