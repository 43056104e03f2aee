"""Linear plants: the second-order form M a + D v + K q = B u, the first-order form, and the way to them.

`linearise` differentiates a model at an operating point and removes closure equations by the null space of their
Jacobian. The second-order form is kept as long as possible (symmetry, modes, banded solves); the first-order form, in
modal coordinates, is for the border to python-control. Names and units travel along.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg as sla

from ..abilities import Identified, Smoothable, joints_of, lags_of, led_of
from ..errors import DefinitionError, require
from ..machine.given import ModelGiven, as_model, opened
from ..model import (
    ComplexArray,
    FloatArray,
    MechanicalModel,
    OperatingPoint,
    OutputTangent,
    Signal,
    closure_forces,
    input_tangent,
    names,
)
from ..models.null_space import check_rank
from ..support.moved import OldMembers
from .operating import Pose, check_balanced, linearisation_point, rest_point
from .rounding import cleaned, projected_noise, tangent_noise

if TYPE_CHECKING:
    from pathlib import Path

    import control

    from ..frequency import FrequencyResponse
    from ..frequency.norms import Norm
    from .modes import Modes


class _Analysed(OldMembers):
    """The methods of a linear plant in either form."""

    def modes(self: Any, count: int | None = None) -> Modes:
        """Return the `count` lowest flexible modes (all of them by default); rigid ones are counted apart."""
        from .modes import modes

        return modes(self, count)

    def transfer(self: Any, s: ComplexArray) -> ComplexArray:
        """Return the transfer matrix, (outputs, inputs, len(s)), at s [rad/s], or at z of a discrete plant."""
        from ..frequency import transfer

        return transfer(self, s)

    def frequency_response(self: Any, omega: FloatArray | None = None) -> FrequencyResponse:
        """Return the frequency response on a grid [rad/s]; without one, a grid that resolves every peak."""
        from ..frequency import frequency_response

        return frequency_response(self, omega)

    def norm(self: Any, kind: float | str = 2) -> Norm:
        """Return the H2 norm, or with `inf` the H-infinity norm, of all inputs to all outputs; see `flexctl.norm`."""
        from ..frequency.norms import norm

        return norm(self, kind)

    def save(self: Any, path: str | Path) -> Path:
        """Write the plant to .mat, .npz or .json; `flexctl.load_linear` reads back the identical plant."""
        from ..io.python_control import save_linear

        return save_linear(self, path)


@dataclass(frozen=True, eq=False)
class FirstOrder(_Analysed):
    """A plant x' = A x + B u, y = C x + D u (dt = 0) or x[k+1] = A x[k] + B u[k] (dt > 0), with names and units.

    Examples
    --------
    >>> fx.load_plant("tokhi_azad_1994").linearise().first_order(modes=2)
    FirstOrder(6 states, ['joint1_torque'] ->
    ['joint1_angle', 'joint1_rate', 'tip_displacement', 'chord1_angle', 'chord1_rate', 'link1_deflection', 'tip_x',
    'tip_y', 'tip_error_x', 'tip_error_y'],
    continuous)
    """

    A: FloatArray
    B: FloatArray
    C: FloatArray
    D: FloatArray
    states: tuple[Signal, ...]
    inputs: tuple[Signal, ...]
    outputs: tuple[Signal, ...]
    dt: float = 0.0
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n, p, ny = len(self.states), len(self.inputs), len(self.outputs)
        for label, matrix, shape in (
            ("A", self.A, (n, n)),
            ("B", self.B, (n, p)),
            ("C", self.C, (ny, n)),
            ("D", self.D, (ny, p)),
        ):
            _check_matrix(label, matrix, shape)
        require(self.dt >= 0, f"dt = {self.dt} s is negative; use 0 for a continuous plant")

    def __repr__(self) -> str:
        kind = "continuous" if self.dt == 0 else f"dt = {self.dt:g} s"
        return f"FirstOrder({len(self.states)} states, {names(self.inputs)} -> {names(self.outputs)}, {kind})"

    def poles(self) -> ComplexArray:
        """Return the eigenvalues of A [rad/s, or 1 for a discrete plant]."""
        poles: ComplexArray = sla.eigvals(self.A).astype(complex)
        return poles

    def statespace(self) -> control.StateSpace:
        """Return the plant as a labelled `control.StateSpace`."""
        import control

        return control.ss(
            self.A, self.B, self.C, self.D, self.dt,
            states=names(self.states), inputs=names(self.inputs), outputs=names(self.outputs),
            name=str(self.provenance.get("plant", "plant")),
        )

    def discrete(self, dt: float) -> FirstOrder:
        """Return the exact zero-order-hold discretisation with sample time dt [s]; the plant itself at its own."""
        from .discrete import zero_order_hold
        from .seen import resampled

        return resampled(self, dt) if self.dt else zero_order_hold(self, dt)


@dataclass(frozen=True, eq=False)
class SecondOrder(_Analysed):
    """A linear plant M a + D v + K q = B u, y = Cq q + Cv v + Ca a + Du u about an operating point.

    Attributes
    ----------
    M, D, K : ndarray
        n x n mass, damping and stiffness. M may be singular where the pencil is regular.
    B : ndarray
        n x p input matrix.
    Cq, Cv, Ca : ndarray
        Output rows for coordinates, rates and accelerations, each ny x n.
    Du : ndarray
        Direct feed-through, ny x p.
    basis : ndarray or None
        Full coordinates of the model = basis @ q, when closure equations were projected out.
    provenance : mapping
        plant, model, overrides, version and whatever else says where the numbers come from.

    Examples
    --------
    >>> plant = fx.load_plant("tokhi_azad_1994").linearise()
    >>> plant
    SecondOrder(20 coordinates, ['joint1_torque'] ->
    ['joint1_angle', 'joint1_rate', 'tip_displacement', 'chord1_angle', 'chord1_rate', 'link1_deflection', 'tip_x',
    'tip_y', 'tip_error_x', 'tip_error_y'])
    >>> plant.M.shape, fx.names(plant.outputs)[:4]
    ((20, 20), ['joint1_angle', 'joint1_rate', 'tip_displacement', 'chord1_angle'])
    """

    M: FloatArray
    D: FloatArray
    K: FloatArray
    B: FloatArray
    Cq: FloatArray
    Cv: FloatArray
    Ca: FloatArray
    Du: FloatArray
    coordinates: tuple[Signal, ...]
    inputs: tuple[Signal, ...]
    outputs: tuple[Signal, ...]
    operating_point: OperatingPoint | None = None
    basis: FloatArray | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n, p, ny = len(self.coordinates), len(self.inputs), len(self.outputs)
        for label in ("M", "D", "K"):
            _check_matrix(label, getattr(self, label), (n, n))
        _check_matrix("B", self.B, (n, p))
        for label in ("Cq", "Cv", "Ca"):
            _check_matrix(label, getattr(self, label), (ny, n))
        _check_matrix("Du", self.Du, (ny, p))

    def __repr__(self) -> str:
        return f"SecondOrder({len(self.coordinates)} coordinates, {names(self.inputs)} -> {names(self.outputs)})"

    @property
    def symmetric(self) -> bool:
        """Whether M, D and K are symmetric to rounding."""
        pairs = ((np.abs(m - m.T).max(initial=0.0), np.abs(m).max(initial=0.0)) for m in (self.M, self.D, self.K))
        return all(bool(skew <= 1e-12 * size) for skew, size in pairs)

    def first_order(self, form: str = "modal", modes: int | None = None) -> FirstOrder:
        """Return the first-order form; see `flexctl.linear.realise.first_order` for the coordinates on offer."""
        from .realise import first_order

        return first_order(self, form, modes)

    def statespace(self, form: str = "modal", modes: int | None = None) -> control.StateSpace:
        """Return the plant as a labelled `control.StateSpace`, by default in modal coordinates and with all modes."""
        return self.first_order(form, modes).statespace()

    def discrete(self, dt: float, modes: int | None = None) -> FirstOrder:
        """Return the exact zero-order-hold discretisation with sample time dt [s]."""
        from .discrete import zero_order_hold

        return zero_order_hold(self.first_order("modal", modes), dt)

    def with_modal_damping(self, ratio: float) -> SecondOrder:
        """Return the plant with damping ratio `ratio` [1] in every flexible mode, in place of its damping."""
        from .modes import modal_damping

        return replace(self, D=modal_damping(self.M, self.K, ratio))


LinearPlant = SecondOrder | FirstOrder


def linearise(
    model: ModelGiven,
    at: OperatingPoint | None = None,
    provenance: Mapping[str, Any] | None = None,
    friction: str = "viscous",
    load: Mapping[str, float] | None = None,
    pose: Pose | None = None,
) -> SecondOrder:
    """Return the linear plant of an arm, a `Plant` or a mechanical model, about an operating point.

    By default that is the equilibrium of the arm in its reference pose, every joint held by what drives it
    (`flexctl.rest_point`). Where there is none, and at a point `at` where the arm would not stay, it warns with the
    force that is unbalanced.

    With `load`, constant inputs by name [unit of the input], and `pose`, joint variables [rad; m], it is the
    equilibrium under them: ``load={"tip_force_y": 5.0, "tip_torque": 0.2}``. Loads turn the arm and stiffen or soften
    it; those that follow it make the stiffness unsymmetric.

    A coordinate whose rate alone has a meaning (`model.lags`) becomes that rate, without mass: the state of an
    actuator.

    With closure equations the motion is restricted to the null space of their Jacobian G: q = q0 + N z, and M, D, K, B
    are projected. The stiffness contains the geometric term d(G^T lam)/dq. The null space turns with the motion, so
    such a model is linearised at rest only.

    Of a joint with dry friction or play a plant about rest has the viscous friction only, its play closed; with
    ``friction="stick"`` it is linearised as it is at rest. A joint that turns at `at` has the friction of that rate.
    The plant's provenance says under "joints" which it is (see `models.wrappers.driven_joints`).

    What is rounding in M, D, K, judged by what it was computed from, is zero (see `rounding`).

    Examples
    --------
    >>> fx.linearise(fx.load_plant("tokhi_azad_1994").model)
    SecondOrder(20 coordinates, ['joint1_torque'] ->
    ['joint1_angle', 'joint1_rate', 'tip_displacement', 'chord1_angle', 'chord1_rate', 'link1_deflection', 'tip_x',
    'tip_y', 'tip_error_x', 'tip_error_y'])
    >>> plant = fx.linearise(fx.load_plant("planar_2r_flexible"), load={"tip_force_x": 50.0})
    >>> plant.provenance["load"]
    {'tip_force_x': 50.0}
    """
    system, model = opened(model), as_model(model)
    about = dict(provenance or (system.identity if isinstance(system, Identified) else {"model": model.kind}))
    at = _loaded_point(model, at, load, pose, about)
    point = linearisation_point(model) if at is None else at
    if at is not None:
        check_balanced(model, at)
    if isinstance(model, Smoothable):
        model, point, told = model.smoothed(point, friction)
        about |= {"joints": told} if told else {}
    else:
        require(friction == "viscous", f'friction = "{friction}": {model.kind} has no joint with dry friction or play')
    at_rest = not (any(_moving(model, point)) or point.a.any())
    require(at_rest or not model.closures, f"{model.kind} has closure equations: linearise it at rest (v = 0, a = 0)")
    tangent = model.tangent(point.q, point.v, point.a, point.u, point.lam)
    noise, (M, D, K) = tangent_noise(model, point, tangent), tangent
    B = input_tangent(model, point.q, point.v, point.a, point.u)
    c = model.output_tangent(point.q, point.v, point.a, point.u)
    coordinates, basis = model.coordinates, None
    if model.closures:
        # what is driven stays a coordinate: it can then be held
        joints = {*joints_of(model).values(), *led_of(model)}
        keep = [i for i, signal in enumerate(coordinates) if signal.name in joints]
        basis, kept = independent_basis(model.closure_jacobian(point.q), model.closures, keep)
        forces, _ = independent_basis(closure_forces(model, point.q).T, model.closures, keep)
        coordinates = tuple(coordinates[i] for i in kept)
        M, D, K = (forces.T @ m @ basis for m in (M, D, K))
        noise = projected_noise(noise, forces, basis)
        B = forces.T @ B
        led = [i for i, signal in enumerate(coordinates) if signal.name in led_of(model)]
        M, D, K, B = _without_inertia_of_the_led(M, D, K, B, led)
        c = c._replace(position=c.position @ basis, rate=c.rate @ basis, acceleration=c.acceleration @ basis)
    M, D, K = (cleaned(part, rounding) for part, rounding in zip((M, D, K), noise, strict=True))
    lags = lags_of(model)
    if lags:
        z = [i for i, signal in enumerate(coordinates) if signal.name in lags]
        M, D, K = _rates_for((M, D, K), z)
        Ca, Cv, Cq = _rates_for((c.acceleration, c.rate, c.position), z)
        c = OutputTangent(Cq, Cv, Ca, c.input)
        coordinates = tuple(lags.get(signal.name, signal) for signal in coordinates)
    return SecondOrder(
        M, D, K, B, c.position, c.rate, c.acceleration, c.input,
        coordinates, model.inputs, model.outputs, point, basis, about,
    )


def _loaded_point(
    model: MechanicalModel, at: OperatingPoint | None, load: Mapping[str, float] | None, pose: Pose | None,
    about: dict[str, Any],
) -> OperatingPoint | None:
    """Return the equilibrium in a pose under loads, which `about` then names; else the point that was given."""
    if load is None and pose is None:
        return at
    require(at is None, "linearise takes an operating point, or load and pose: leave one of them out")
    point = rest_point(model, pose, load)
    about |= {"load": {name: float(value) for name, value in load.items()}} if load else {}
    if isinstance(pose, Mapping):
        about |= {"pose": {name: float(value) for name, value in pose.items()}}
    return point


def _moving(model: MechanicalModel, point: OperatingPoint) -> list[float]:
    """Return the rates of what moves; those of lagging coordinates are states of actuators."""
    return [float(v) for v, s in zip(point.v, model.coordinates, strict=True) if s.name not in lags_of(model)]


def _without_inertia_of_the_led(
    M: FloatArray, D: FloatArray, K: FloatArray, B: FloatArray, led: Sequence[int]
) -> list[FloatArray]:
    """Return the equations less those of coordinates driven by motion, a = .., times the inertia they put on the rest.

    Free coordinates that closures take along bring this inertia; without it M is symmetric.
    """
    rest = np.setdiff1d(np.arange(len(M)), led)
    inertia = M[rest][:, list(led)]
    parts = [part.copy() for part in (M, D, K, B)]
    for part in parts if led else ():
        part[rest] -= inertia @ part[led]
    return parts


def _rates_for(parts: Sequence[FloatArray], z: Sequence[int]) -> list[FloatArray]:
    """Return the columns by acceleration, rate, position with the rates of z in place of z."""
    acceleration, rate, position = (part.copy() for part in parts)
    require(not position[:, z].any(), "a coordinate of which the rate alone counts has stiffness or is measured")
    position[:, z], rate[:, z], acceleration[:, z] = rate[:, z], acceleration[:, z], 0.0
    return [acceleration, rate, position]


def independent_basis(
    G: FloatArray, closures: tuple[str, ...] = (), keep: Sequence[int] = ()
) -> tuple[FloatArray, list[int]]:
    """Return N with G N = 0 whose rows `kept` are the identity, so that z are plain coordinates of the model.

    The dependent coordinates are chosen by QR with pivoting, those in `keep` only where the others do not suffice.
    Raises `DefinitionError` for redundant closures.
    """
    m, n = G.shape
    check_rank(G, closures)
    others = [i for i in range(n) if i not in keep]
    scale = np.abs(G).max(initial=0.0)
    _, R, pivots = sla.qr(G[:, others], mode="economic", pivoting=True)
    if len(others) < m or np.abs(np.diag(R)).min(initial=np.inf) <= 1e-8 * scale:
        others = list(range(n))
        pivots = sla.qr(G, mode="economic", pivoting=True)[2]
    dependent = np.array(others, int)[pivots[:m]]
    kept = [i for i in range(n) if i not in dependent]
    basis = np.zeros((n, n - m))
    basis[kept, range(n - m)] = 1.0
    basis[dependent] = -np.linalg.solve(G[:, dependent], G[:, kept])
    return basis, kept


def _check_matrix(label: str, matrix: FloatArray, shape: tuple[int, int]) -> None:
    if np.shape(matrix) != shape:
        raise DefinitionError(f"matrix {label} has shape {np.shape(matrix)}; the names given ask for {shape}")
    if not np.all(np.isfinite(matrix)):
        raise DefinitionError(f"matrix {label} has entries that are not finite")
