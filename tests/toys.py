"""Small mechanical models with closed-form answers; they exercise what the registered models do not have.

| toy | exercises |
|---|---|
| `RodPendulum` | a closure equation, plain and compiled, an input matrix that depends on the pose, gravity |
| `ElasticPendulum` | M(q), Coriolis terms, compiled functions |
| `Crane` | inertial coupling between a driven coordinate and the rest |
| `Chain` | LinearMechanics |
| `Called` | a law that cannot be compiled |
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import toys_kernels
from scipy.integrate import solve_ivp
from scipy.special import ellipk

from flexctl.model import (
    Compiled,
    Energy,
    FloatArray,
    LinearMechanics,
    MechanicalModel,
    OutputTangent,
    Signal,
    Tangent,
    Unconstrained,
)

GRAVITY = 9.81


class RodPendulum:
    """A uniform rod on a pivot, in Cartesian coordinates of its tip; y points up, it hangs at (0, -L).

    M = (m/3) I (the rod's inertia m L^2/3 seen at the tip), gravity m g/2 at the tip, g = (x^2 + y^2 - L^2)/2. A torque
    about the pivot acts as the force tau (-y, x)/(x^2 + y^2), the gradient of the angle atan2(x, -y).
    """

    kind = "rod pendulum"
    coordinates = (Signal("x", "m"), Signal("y", "m"))
    inputs = (Signal("torque", "N m"),)
    outputs = (Signal("angle", "rad"), Signal("rate", "rad/s"), Signal("side", "m"), Signal("sway", "m/s^2"))
    closures = ("length",)

    def __init__(self, m: float = 0.3, L: float = 0.8, g: float = GRAVITY, damping: float = 0.0) -> None:
        self.m, self.L, self.g, self.c = m, L, g, damping

    @property
    def omega(self) -> float:
        """Small oscillations: sqrt(3 g / (2 L)) [rad/s]."""
        return float(np.sqrt(1.5 * self.g / self.L))

    def period(self, amplitude: float) -> float:
        """Period of free swings of this amplitude [s], by the complete elliptic integral."""
        return float(4.0 / self.omega * ellipk(np.sin(amplitude / 2.0) ** 2))

    def at(self, angle: float, rate: float = 0.0) -> tuple[FloatArray, FloatArray]:
        """Coordinates and rates for an angle [rad] and its rate [rad/s]."""
        s, c = np.sin(angle), np.cos(angle)
        return self.L * np.array([s, -c]), self.L * rate * np.array([c, s])

    def reference(self) -> FloatArray:
        return np.array([0.0, -self.L])

    def mass(self, q: FloatArray) -> FloatArray:
        return self.m / 3.0 * np.eye(2)

    def force(self, q: FloatArray, v: FloatArray, t: float = 0.0) -> FloatArray:
        return np.array([0.0, 0.5 * self.m * self.g]) + self.c * v

    def input_matrix(self, q: FloatArray) -> FloatArray:
        return np.array([[-q[1]], [q[0]]]) / (q @ q)

    def output(self, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray) -> FloatArray:
        rate = self.input_matrix(q)[:, 0] @ v
        return np.array([np.arctan2(q[0], -q[1]), rate, q[0], a[0]])

    def output_tangent(self, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray) -> OutputTangent:
        b = self.input_matrix(q)[:, 0]
        position, rate, acceleration = np.zeros((4, 2)), np.zeros((4, 2)), np.zeros((4, 2))
        position[0], rate[1], position[2, 0], acceleration[3, 0] = b, b, 1.0, 1.0
        position[1] = v @ self._turn(q)
        return OutputTangent(position, rate, acceleration, np.zeros((4, 1)))

    def _turn(self, q: FloatArray) -> FloatArray:
        """d/dq of (-y, x)/(x^2 + y^2)."""
        square = q @ q
        return np.array([[0.0, -1.0], [1.0, 0.0]]) / square - 2.0 * np.outer([-q[1], q[0]], q) / square**2

    def closure(self, q: FloatArray) -> FloatArray:
        return np.array([0.5 * (q @ q - self.L**2)])

    def closure_jacobian(self, q: FloatArray) -> FloatArray:
        return q[None, :].copy()

    def closure_bias(self, q: FloatArray, v: FloatArray) -> FloatArray:
        return np.array([v @ v])

    def tangent(self, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray, lam: FloatArray) -> Tangent:
        return Tangent(self.mass(q), self.c * np.eye(2), lam[0] * np.eye(2) - u[0] * self._turn(q))

    def energy(self, q: FloatArray, v: FloatArray) -> Energy:
        return Energy(float(self.m * (v @ v) / 6.0), float(0.5 * self.m * self.g * q[1]))

    def compiled(self) -> Compiled | None:
        k, reals = toys_kernels, np.array([self.m, self.L, self.g, self.c])
        none = np.zeros(0, np.int64)
        return Compiled(k.rod_residual, k.rod_tangent, k.rod_output, reals, none, 1, False, k.rod_closure)


class ElasticPendulum(Unconstrained):
    """A mass m on a spring, with an inertia J on the pivot: q = (r, theta), theta = 0 hanging.

    m r'' - m r theta'^2 + k (r - r0) - m g cos theta + c_r r' = 0
    (m r^2 + J) theta'' + 2 m r r' theta' + m g r sin theta + c_theta theta' = tau
    """

    kind = "elastic pendulum"
    coordinates = (Signal("r", "m"), Signal("theta", "rad"))
    inputs = (Signal("torque", "N m"),)
    outputs = (Signal("angle", "rad"), Signal("rate", "rad/s"), Signal("tip", "m"), Signal("pull", "m/s^2"))

    def __init__(
        self, m: float = 0.5, J: float = 0.05, k: float = 60.0, r0: float = 0.7, g: float = GRAVITY, c_r: float = 0.0,
        c_theta: float = 0.0, compile: bool = True,
    ) -> None:
        self.m, self.J, self.k, self.r0, self.g, self.c_r, self.c_theta = m, J, k, r0, g, c_r, c_theta
        self.compile = compile

    def plain(self) -> ElasticPendulum:
        """The same without compiled functions."""
        return ElasticPendulum(self.m, self.J, self.k, self.r0, self.g, self.c_r, self.c_theta, compile=False)

    @property
    def length(self) -> float:
        """Length at rest r0 + m g/k [m]."""
        return self.r0 + self.m * self.g / self.k

    @property
    def omega(self) -> FloatArray:
        """Small oscillations: swing, bounce [rad/s]."""
        m, r = self.m, self.length
        return np.sqrt([m * self.g * r / (m * r**2 + self.J), self.k / m])

    def reference(self) -> FloatArray:
        return np.array([self.length, 0.0])

    def mass(self, q: FloatArray) -> FloatArray:
        return np.diag([self.m, self.m * q[0] ** 2 + self.J])

    def force(self, q: FloatArray, v: FloatArray, t: float = 0.0) -> FloatArray:
        (r, th), (w, om), m = q, v, self.m
        return np.array([
            -m * r * om**2 + self.k * (r - self.r0) - m * self.g * np.cos(th) + self.c_r * w,
            2 * m * r * w * om + m * self.g * r * np.sin(th) + self.c_theta * om,
        ])

    def input_matrix(self, q: FloatArray) -> FloatArray:
        return np.array([[0.0], [1.0]])

    def output(self, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray) -> FloatArray:
        return np.array([q[1], v[1], q[0] * np.sin(q[1]), a[0]])

    def output_tangent(self, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray) -> OutputTangent:
        position, rate, acceleration = np.zeros((4, 2)), np.zeros((4, 2)), np.zeros((4, 2))
        position[0, 1] = rate[1, 1] = acceleration[3, 0] = 1.0
        position[2] = np.sin(q[1]), q[0] * np.cos(q[1])
        return OutputTangent(position, rate, acceleration, np.zeros((4, 1)))

    def tangent(self, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray, lam: FloatArray) -> Tangent:
        (r, th), (w, om), m, g = q, v, self.m, self.g
        D = np.array([[self.c_r, -2 * m * r * om], [2 * m * r * om, 2 * m * r * w + self.c_theta]])
        swing = 2 * m * r * a[1] + 2 * m * w * om + m * g * np.sin(th)
        K = np.array([[self.k - m * om**2, m * g * np.sin(th)], [swing, m * g * r * np.cos(th)]])
        return Tangent(self.mass(q), D, K)

    def energy(self, q: FloatArray, v: FloatArray) -> Energy:
        (r, th), m = q, self.m
        kinetic = 0.5 * float(v @ self.mass(q) @ v)
        return Energy(kinetic, float(0.5 * self.k * (r - self.r0) ** 2 - m * self.g * r * np.cos(th)))

    def compiled(self) -> Compiled | None:
        if not self.compile:
            return None
        reals = np.array([self.m, self.J, self.k, self.r0, self.g, self.c_r, self.c_theta])
        k = toys_kernels
        return Compiled(k.residual, k.tangent, k.output, reals, np.zeros(0, np.int64), 1, False)


class Crane(Unconstrained):
    """A pendulum (m, l) below a cart (M): q = (x, theta); the force drives the cart.

    (M + m) x'' + m l (theta'' cos theta - theta'^2 sin theta) = force
    m l^2 theta'' + m l x'' cos theta + m g l sin theta = wind
    """

    kind = "crane"
    coordinates = (Signal("x", "m"), Signal("theta", "rad"))
    inputs = (Signal("force", "N"), Signal("wind", "N m"))
    outputs = (Signal("cart", "m"), Signal("cart_rate", "m/s"), Signal("load", "m"), Signal("swing", "rad"))

    def __init__(self, cart: float = 1.2, m: float = 0.4, l: float = 0.6, g: float = GRAVITY) -> None:
        self.cart, self.m, self.l, self.g = cart, m, l, g

    def with_payload(self, mass: float, inertia: float) -> Crane:
        return Crane(self.cart, mass, self.l, self.g)

    def reference(self) -> FloatArray:
        return np.zeros(2)

    def mass(self, q: FloatArray) -> FloatArray:
        coupling = self.m * self.l * np.cos(q[1])
        return np.array([[self.cart + self.m, coupling], [coupling, self.m * self.l**2]])

    def force(self, q: FloatArray, v: FloatArray, t: float = 0.0) -> FloatArray:
        ml = self.m * self.l
        return np.array([-ml * v[1] ** 2 * np.sin(q[1]), ml * self.g * np.sin(q[1])])

    def input_matrix(self, q: FloatArray) -> FloatArray:
        return np.eye(2)

    def output(self, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray) -> FloatArray:
        return np.array([q[0], v[0], q[0] + self.l * np.sin(q[1]), q[1]])

    def output_tangent(self, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray) -> OutputTangent:
        position, rate = np.zeros((4, 2)), np.zeros((4, 2))
        position[0, 0] = rate[1, 0] = position[3, 1] = 1.0
        position[2] = 1.0, self.l * np.cos(q[1])
        return OutputTangent(position, rate, np.zeros((4, 2)), np.zeros((4, 2)))

    def tangent(self, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray, lam: FloatArray) -> Tangent:
        ml, s, c = self.m * self.l, np.sin(q[1]), np.cos(q[1])
        D, K = np.zeros((2, 2)), np.zeros((2, 2))
        D[0, 1] = -2 * ml * v[1] * s
        K[:, 1] = -ml * s * a[1] - ml * v[1] ** 2 * c, -ml * s * a[0] + ml * self.g * c
        return Tangent(self.mass(q), D, K)

    def energy(self, q: FloatArray, v: FloatArray) -> Energy:
        return Energy(0.5 * float(v @ self.mass(q) @ v), float(-self.m * self.l * self.g * np.cos(q[1])))

    def compiled(self) -> Compiled | None:
        return None


class Chain(LinearMechanics):
    """n equal masses m in a row, joined by springs k with dampers d; the last one is free.

    With `wall` the first is held by a spring too: omega_i = 2 sqrt(k/m) sin((2 i - 1) pi / (4 n + 2)).
    Without it both ends are free: omega_i = 2 sqrt(k/m) sin((i - 1) pi / (2 n)), one rigid mode.
    The force drives the first mass.
    """

    kind = "chain"

    def __init__(self, n: int, m: float = 0.5, k: float = 200.0, d: float = 0.0, wall: bool = False) -> None:
        self.n, self.m, self.k, self.wall = n, m, k, wall
        first = np.diff(np.eye(n), axis=0)
        stretch = np.vstack([np.eye(n)[:1], first]) if wall else first
        self.M, self.K, self.D = m * np.eye(n), k * stretch.T @ stretch, d * stretch.T @ stretch
        self.B = np.eye(n)[:, :1].copy()
        self.coordinates = tuple(Signal(f"x{i + 1}", "m") for i in range(n))
        self.inputs = (Signal("force", "N"),)
        self.outputs = (
            Signal("first", "m"), Signal("first_rate", "m/s"), Signal("last", "m"), Signal("shake", "m/s^2")
        )
        position, rate, acceleration = np.zeros((4, n)), np.zeros((4, n)), np.zeros((4, n))
        position[0, 0] = rate[1, 0] = position[2, -1] = acceleration[3, -1] = 1.0
        self.sensors = OutputTangent(position, rate, acceleration, np.zeros((4, 1)))

    @property
    def omega(self) -> FloatArray:
        """Natural frequencies [rad/s]."""
        i = np.arange(1, self.n + 1)
        angle = (2 * i - 1) * np.pi / (4 * self.n + 2) if self.wall else (i - 1) * np.pi / (2 * self.n)
        return 2.0 * np.sqrt(self.k / self.m) * np.sin(angle)


def oscillator(omega: float, zeta: float = 0.0, m: float = 1.0) -> Chain:
    """One mass on a wall: x'' + 2 zeta omega x' + omega^2 x = F/m."""
    return Chain(1, m, m * omega**2, 2.0 * zeta * omega * m, wall=True)


def flow(
    model: MechanicalModel, q: FloatArray, v: FloatArray, until: float, u: Callable[[float], FloatArray],
    start: float = 0.0,
) -> tuple[FloatArray, FloatArray]:
    """Coordinates and rates at time `until` of a model without closures, by an adaptive method of order 8."""
    n = q.size

    def rates(t: float, x: FloatArray) -> FloatArray:
        right = model.input_matrix(x[:n]) @ u(t) - model.force(x[:n], x[n:], t)
        return np.concatenate([x[n:], np.linalg.solve(model.mass(x[:n]), right)])

    solution = solve_ivp(rates, (start, until), np.concatenate([q, v]), method="DOP853", rtol=1e-12, atol=1e-13)
    end = solution.y[:, -1]
    return end[:n], end[n:]


@dataclass
class Called:
    """Any law, hidden from the compiler: it is called from Python once per period."""

    law: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.law, name)
