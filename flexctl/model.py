"""The one interface every solver has.

    M(q) a + h(q, v, t) + G(q)^T lam = B(q) u        balance, n equations
                                g(q) = 0             closure, m equations (m may be 0)
                                   y = y(q, v, a, u) sensors

`h` is everything that is neither inertia times acceleration, closure nor input: Coriolis and centrifugal terms,
damping, elasticity, gravity. SI units throughout.

A solver is a class with these methods (see `MechanicalModel`); everything a control engineer wants from it is written
once against them. `Unconstrained` supplies the closure of a model that has none, `LinearMechanics` everything for a
model whose matrices are constant. What some models can do besides stands in `flexctl.abilities`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from .abilities import ClosureForces, ClosureTurn, Inseparable, PayloadChanging
from .abilities.ability import Ability
from .errors import DefinitionError, NotAvailable, unknown

FloatArray = npt.NDArray[np.float64]
ComplexArray = npt.NDArray[np.complex128]


@dataclass(frozen=True, slots=True)
class Signal:
    """A named quantity with its unit: a coordinate, an input, an output.

    Examples
    --------
    >>> fx.Signal("joint1_angle", "rad").unit
    'rad'
    """

    name: str
    unit: str = "1"
    description: str = ""

    def __str__(self) -> str:
        return f"{self.name} [{self.unit}]"


def names(signals: Sequence[Signal]) -> list[str]:
    """Return the bare names.

    Examples
    --------
    >>> fx.names([fx.Signal("joint1_angle", "rad"), fx.Signal("tip_displacement", "m")])
    ['joint1_angle', 'tip_displacement']
    """
    return [s.name for s in signals]


TIP_LOADS = ("tip_force_x", "tip_force_y", "tip_torque")
"""Loads that planar formulations with large turns have of themselves."""


def index_of(what: str, name: str, signals: Sequence[Signal]) -> int:
    """Return the position of a named signal, or raise `DefinitionError` with the nearest name.

    Examples
    --------
    >>> fx.index_of("output", "tip_x", [fx.Signal("joint1_angle", "rad"), fx.Signal("tip_x", "m")])
    1
    """
    for i, signal in enumerate(signals):
        if signal.name == name:
            return i
    error = unknown(what, name, names(signals))
    if name in TIP_LOADS and what.startswith("input"):
        instead = f'an [[actuator]] with start = end = 1, name = "{name}" is that load'
        raise DefinitionError(f"{error}; without it, {instead}")
    raise error


class Tangent(NamedTuple):
    """Derivatives of the whole left side `M a + h + G^T lam - B u` at (q, v, a, u, lam).

    `stiffness` contains d(M a)/dq, dh/dq, d(G^T lam)/dq and -d(B u)/dq; leaving out the closure term gives wrong poles
    at every loaded equilibrium.
    """

    mass: FloatArray
    damping: FloatArray
    stiffness: FloatArray


class OutputTangent(NamedTuple):
    """Derivatives of the outputs with respect to q, v, a (each ny x n) and u (ny x p)."""

    position: FloatArray
    rate: FloatArray
    acceleration: FloatArray
    input: FloatArray


class Energy(NamedTuple):
    """Kinetic and potential (elastic and gravitational) energy [J]."""

    kinetic: float
    potential: float

    @property
    def total(self) -> float:
        """Kinetic plus potential energy [J]."""
        return self.kinetic + self.potential


class Compiled(NamedTuple):
    """A model as compiled functions for the time loop (`flexctl.kernels.model` states the signatures).

    Attributes
    ----------
    residual, tangent, output : callable
        Compiled functions of exactly the signatures RESIDUAL, TANGENT and OUTPUT; never closures.
    reals, ints : ndarray
        All constants the functions read.
    bandwidth : int
        Half bandwidth of the tangent; n - 1 when it is full.
    constant_tangent : bool
        True when mass, damping and stiffness never change: the iteration matrix is then factored once per step size.
    closure : callable, optional
        Compiled closures of exactly the signature CLOSURE. The other functions then find the m closure forces behind
        the p inputs in u, and residual and tangent contain them.
    """

    residual: Callable[..., Any]
    tangent: Callable[..., Any]
    output: Callable[..., Any]
    reals: FloatArray
    ints: npt.NDArray[np.int64]
    bandwidth: int
    constant_tangent: bool
    closure: Callable[..., Any] | None = None


@runtime_checkable
class MechanicalModel(Protocol, metaclass=Ability):
    """The interface of a solver. n coordinates, m closures, p inputs.

    Examples
    --------
    >>> model = fx.load_plant("tokhi_azad_1994").model
    >>> isinstance(model, fx.MechanicalModel)
    True
    >>> fx.names(model.inputs), fx.names(model.outputs)[:4]
    (['joint1_torque'], ['joint1_angle', 'joint1_rate', 'tip_displacement', 'chord1_angle'])
    """

    @property
    def kind(self) -> str:
        """Registry name of the solver."""
        ...

    @property
    def coordinates(self) -> tuple[Signal, ...]:
        """The n generalised coordinates."""
        ...

    @property
    def inputs(self) -> tuple[Signal, ...]:
        """The p inputs."""
        ...

    @property
    def outputs(self) -> tuple[Signal, ...]:
        """The sensors."""
        ...

    @property
    def closures(self) -> tuple[str, ...]:
        """Names of the m closure equations."""
        ...

    def reference(self) -> FloatArray:
        """Return a pose q with g(q) = 0."""
        ...

    def mass(self, q: FloatArray) -> FloatArray:
        """Return M(q), n x n."""
        ...

    def force(self, q: FloatArray, v: FloatArray, t: float = 0.0) -> FloatArray:
        """Return h(q, v, t), n."""
        ...

    def input_matrix(self, q: FloatArray) -> FloatArray:
        """Return B(q), n x p."""
        ...

    def output(self, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray) -> FloatArray:
        """Return the sensor readings y."""
        ...

    def output_tangent(self, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray) -> OutputTangent:
        """Return the derivatives of `output`."""
        ...

    def closure(self, q: FloatArray) -> FloatArray:
        """Return g(q), m."""
        ...

    def closure_jacobian(self, q: FloatArray) -> FloatArray:
        """Return G(q) = dg/dq, m x n."""
        ...

    def closure_bias(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Return (dG/dt) v, so that g'' = G a + bias."""
        ...

    def tangent(self, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray, lam: FloatArray) -> Tangent:
        """Return the derivatives of the whole left side."""
        ...

    def energy(self, q: FloatArray, v: FloatArray) -> Energy:
        """Return kinetic and potential energy."""
        ...

    def compiled(self) -> Compiled | None:
        """Return the compiled form for the time loop, or None: the plain methods are then used."""
        ...


@runtime_checkable
class FrequencyModel(Protocol, metaclass=Ability):
    """Anything that is evaluated at complex frequencies: transfer matrices, the exact beam, measured data, plants.

    Examples
    --------
    >>> isinstance(fx.load_plant("tokhi_azad_1994").linearise(), fx.FrequencyModel)
    True
    """

    @property
    def inputs(self) -> tuple[Signal, ...]:
        """The inputs."""
        ...

    @property
    def outputs(self) -> tuple[Signal, ...]:
        """The outputs."""
        ...

    def transfer(self, s: ComplexArray) -> ComplexArray:
        """Return the transfer matrix, (outputs, inputs, len(s)), at complex Laplace variables s [rad/s]."""
        ...


@dataclass(frozen=True, eq=False)
class OperatingPoint:
    """A state about which a model is linearised.

    Attributes
    ----------
    q, v, a : ndarray
        Coordinates, rates, accelerations.
    u : ndarray
        Inputs that hold the model there.
    lam : ndarray
        Closure forces.

    Examples
    --------
    >>> model = fx.load_plant("planar_2r_flexible").model
    >>> fx.OperatingPoint.at_rest(model, model.pose([0.0, 1.0])).q.size
    98
    """

    q: FloatArray
    v: FloatArray
    a: FloatArray
    u: FloatArray
    lam: FloatArray = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def at_rest(cls, model: MechanicalModel, q: FloatArray | None = None) -> OperatingPoint:
        """Return pose q (the model's reference pose by default), at rest and with zero inputs and closure forces."""
        pose = model.reference() if q is None else np.asarray(q, float)
        n = len(model.coordinates)
        if pose.shape != (n,):
            raise DefinitionError(f"pose has shape {pose.shape}; {model.kind} has {n} coordinates")
        zero = np.zeros(n)
        return cls(pose, zero, zero, np.zeros(len(model.inputs)), np.zeros(len(model.closures)))


def with_payload(model: MechanicalModel, mass: float, inertia: float) -> MechanicalModel:
    """Return the model with another payload [kg], [kg m^2], or raise `NotAvailable` where it cannot take one."""
    if not isinstance(model, PayloadChanging):
        raise NotAvailable(f"{model.kind} cannot change its payload")
    changed: MechanicalModel = model.with_payload(mass, inertia)
    return changed


def closure_forces(model: MechanicalModel, q: FloatArray) -> FloatArray:
    """Return W of M a + h + W lam = B u, n x m.

    It is G^T, unless the model has `closure_forces` of its own: a joint driven by motion does not feel the closures.
    """
    W: FloatArray = model.closure_forces(q) if isinstance(model, ClosureForces) else model.closure_jacobian(q).T
    return W


def balance(
    model: MechanicalModel, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray, t: float = 0.0
) -> FloatArray:
    """Return the whole left side M a + h - B u, closures left out."""
    if isinstance(model, Inseparable):
        return model.balance(q, v, a, u, t)
    left: FloatArray = model.mass(q) @ a + model.force(q, v, t) - model.input_matrix(q) @ u
    return left


def input_tangent(model: MechanicalModel, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray) -> FloatArray:
    """Return what inputs do at a state, n x p; B(q) of a model that is linear in them."""
    return model.input_tangent(q, v, a, u) if isinstance(model, Inseparable) else model.input_matrix(q)


def closure_turn(model: MechanicalModel, q: FloatArray, v: FloatArray) -> FloatArray:
    """Return d(G v)/dq, m x n, from the model's own `closure_turn` or from its bias, which is quadratic in v."""
    if isinstance(model, ClosureTurn):
        return model.closure_turn(q, v)
    n = q.size
    columns = [model.closure_bias(q, v + e) - model.closure_bias(q, v - e) for e in np.eye(n)]
    return 0.25 * np.array(columns).reshape(n, -1).T


class Unconstrained:
    """The closure of a model that has none."""

    @property
    def closures(self) -> tuple[str, ...]:
        """No closure equations."""
        return ()

    def closure(self, q: FloatArray) -> FloatArray:
        """Return the empty g."""
        return np.zeros(0)

    def closure_jacobian(self, q: FloatArray) -> FloatArray:
        """Return the empty G."""
        return np.zeros((0, q.size))

    def closure_bias(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Return the empty bias."""
        return np.zeros(0)


class Turned(NamedTuple):
    """An output r (cos y_i - cos y_k), or with sines, made of outputs y_i, y_k: where a point of a circle is."""

    row: int
    """The output."""
    sine: bool
    """Sines, not cosines."""
    angle: int
    """i, an output that is linear."""
    less: int
    """k, or -1: nothing is taken away."""
    radius: float
    """r [m]."""


def turn(y: npt.NDArray[Any], turned: Sequence[Turned]) -> None:
    """Overwrite the turned outputs of readings (.., outputs)."""
    for row, sine, angle, less, radius in turned:
        part = np.sin if sine else np.cos
        y[..., row] = radius * (part(y[..., angle]) - (part(y[..., less]) if less >= 0 else 0.0))


class LinearMechanics(Unconstrained):
    """The methods of a model with constant M, D, K, B and linear sensors.

    A subclass sets the attributes below; the reference pose is q = 0. `sensors` are the derivatives of the outputs
    there; the outputs that `turned` lists are not linear, but functions of others.
    """

    kind: str
    coordinates: tuple[Signal, ...]
    inputs: tuple[Signal, ...]
    outputs: tuple[Signal, ...]
    M: FloatArray
    D: FloatArray
    K: FloatArray
    B: FloatArray
    sensors: OutputTangent
    turned: tuple[Turned, ...] = ()

    def reference(self) -> FloatArray:
        """Return q = 0."""
        return np.zeros(self.M.shape[0])

    def mass(self, q: FloatArray) -> FloatArray:
        """Return M."""
        return self.M

    def force(self, q: FloatArray, v: FloatArray, t: float = 0.0) -> FloatArray:
        """Return D v + K q."""
        h: FloatArray = self.D @ v + self.K @ q
        return h

    def input_matrix(self, q: FloatArray) -> FloatArray:
        """Return B."""
        return self.B

    def output(self, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray) -> FloatArray:
        """Return the sensor readings."""
        c = self.sensors
        y: FloatArray = c.position @ q + c.rate @ v + c.acceleration @ a + c.input @ u
        turn(y, self.turned)
        return y

    def output_tangent(self, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray) -> OutputTangent:
        """Return the sensor matrices, constant but for the turned outputs."""
        if not self.turned:
            return self.sensors
        y, rows = self.output(q, v, a, u), OutputTangent(*(part.copy() for part in self.sensors))
        for row, sine, angle, less, radius in self.turned:
            slope = np.cos if sine else lambda x: -np.sin(x)
            for part in rows:
                part[row] = radius * slope(y[angle]) * part[angle]
                if less >= 0:
                    part[row] -= radius * slope(y[less]) * part[less]
        return rows

    def tangent(self, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray, lam: FloatArray) -> Tangent:
        """Return M, D, K."""
        return Tangent(self.M, self.D, self.K)

    def energy(self, q: FloatArray, v: FloatArray) -> Energy:
        """Return v M v / 2 and q K q / 2."""
        return Energy(0.5 * float(v @ self.M @ v), 0.5 * float(q @ self.K @ q))

    def stability_limit(self) -> float:
        """Return the longest stable step of central differences, 2/omega_max [s]; damping does not lower it."""
        from scipy.linalg import eigh  # heavy, and needed here only

        top = eigh(self.K, self.M, eigvals_only=True, subset_by_index=[len(self.M) - 1] * 2)[0]
        return float(2.0 / np.sqrt(top)) if top > 0 else np.inf

    def compiled(self) -> Compiled | None:
        """Return the banded linear kernels with these matrices."""
        from .kernels import linear  # compiled code is loaded when a time loop needs it

        return linear.compiled(self.M, self.D, self.K, self.B, self.sensors, self.turned)
