"""The explicit march of the finite-difference beam: scheme, stability, start, run.

    Y+ = A Y - Y- + B u,      A = 2 I - dt^2 M^-1 K,      B = dt^2 M^-1 B_model

second order in dt, stable for dt <= 2/omega_max; without damping v'M v/2 + Y+'K Y/2, v = (Y+ - Y)/dt, is constant. The
start is of second order too: Y1 = Y0 + dt V0 + (A/2 - I) Y0 + B u0/2. Mass-proportional damping is taken centrally,
g = alpha dt/2: (1 + g) Y+ = A Y - (1 - g) Y- + B u, and leaves the limit as it is. Other damping couples all nodes at
the new time; it is refused here and belongs to the implicit integrators of `flexctl.simulate`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import scipy.linalg as sla

from ...errors import ConvergenceError, DefinitionError, NotAvailable, require
from ...machine.arm import Payload
from ...model import FloatArray, Signal, names
from ..bodies import inner_bodies
from .inputs import InputHistory, table

if TYPE_CHECKING:
    from ...linear import FirstOrder
    from . import FiniteDifference
    from .kernel import Mesh

InitialState = tuple[npt.ArrayLike, npt.ArrayLike]
"""Coordinates and their rates."""


@dataclass(frozen=True, eq=False)
class March:
    """The record of a march.

    Attributes
    ----------
    dt : float
        Time step [s].
    joint1_angle, tip_displacement : ndarray
        Joint angle [rad] and displacement of the tip along the arc [m] at the times `t`.
    stride : int
        Steps between the rows of `coordinates`.
    coordinates : ndarray
        Recorded coordinates, one row per record; without rows if nothing was recorded.
    position, rate : ndarray
        Coordinates and their rates at the end, of the model with the payload that is there then; a run that starts
        from them continues this one.
    """

    dt: float
    joint1_angle: FloatArray
    tip_displacement: FloatArray
    stride: int
    coordinates: FloatArray
    position: FloatArray
    rate: FloatArray

    @property
    def t(self) -> FloatArray:
        """Times, start and end included [s]."""
        return np.asarray(self.dt * np.arange(self.tip_displacement.size), np.float64)

    def __repr__(self) -> str:
        steps = self.tip_displacement.size - 1
        return f"March({steps} steps, {steps * self.dt:g} s, tip {self.tip_displacement[-1]:.6g} m at the end)"


def scheme(model: FiniteDifference, dt: float) -> tuple[FloatArray, FloatArray]:
    """Return A and B of Y+ = A Y - Y- + B u."""
    if _mass_damping(model) > 0:
        raise NotAvailable("Y+ = A Y - Y- + B tau has no place for damping; use scheme_plant(dt) or damping kind none")
    increments = _increments(model, _positive_step(dt))
    return 2.0 * np.eye(model.M.shape[0]) - increments[0], increments[1]


def scheme_plant(model: FiniteDifference, dt: float) -> FirstOrder:
    """Return the march as a discrete plant with sample time dt.

    States are Y_k and (Y_k - Y_{k-1})/dt, called `<coordinate>_rate`; rate and acceleration outputs are the central
    differences. Its response from zero is the march from rest if the first sample of the input is halved (with damping:
    times (1 + alpha dt/2)/2).
    """
    from ...linear import FirstOrder  # a higher layer, needed here only

    _check_stable(model, dt)
    g = 0.5 * _mass_damping(model) * dt
    s1, s2 = 1.0 / (1.0 + g), (1.0 - g) / (1.0 + g)
    dK, dB = (s1 / dt * m for m in _increments(model, dt))
    one, zero = np.eye(model.M.shape[0]), np.zeros_like(model.M)
    rate, rate_input = np.hstack([-dK, s2 * one]), dB  # (Y_{k+1} - Y_k)/dt
    here, before = np.hstack([one, zero]), np.hstack([zero, one])
    c = model.sensors
    return FirstOrder(
        np.vstack([here + dt * rate, rate]),
        np.vstack([dt * rate_input, rate_input]),
        c.position @ here + 0.5 * c.rate @ (rate + before) + c.acceleration @ (rate - before) / dt,
        c.input + 0.5 * c.rate @ rate_input + c.acceleration @ rate_input / dt,
        (*model.coordinates, *(Signal(f"{q.name}_rate", f"{q.unit}/s") for q in model.coordinates)),
        model.inputs, model.outputs, float(dt),
        {"model": model.kind, "form": model.form, "sections": model.sections, "scheme": "explicit march"},
    )


def stability_limit(model: FiniteDifference) -> float:
    """Return 2/omega_max [s]."""
    top = model.M.shape[0] - 1
    largest = sla.eigh(model.K, model.M, eigvals_only=True, subset_by_index=[top, top])[0]
    return 2.0 / math.sqrt(largest)


def run(
    model: FiniteDifference,
    torque: InputHistory,
    dt: float,
    duration: float | None,
    steps: int | None,
    payload: Sequence[tuple[float, Payload]],
    forces: Mapping[str, InputHistory],
    initial: InitialState | None,
    stride: int,
) -> March:
    """March; see `FiniteDifference.march`."""
    from ...kernels.arrays import writable
    from . import kernel as kernels

    count = _step_count(_positive_step(dt), duration, steps)
    change, models = _schedule(model, payload, dt, count)
    for loaded in models:
        _check_stable(loaded, dt)
    first, final = models[0], models[-1]
    inputs = table(names(model.inputs), {model.inputs[0].name: torque, **forces}, dt, count)
    g = 0.5 * _mass_damping(model) * dt
    q, v = _initial(first, initial)
    increment = (1.0 + g) * dt * v - 0.5 * _pull(first, dt, q, inputs[:, 0])  # over the step before the first
    for actuator in model.arm.actuators:
        needed = f'the march has no place for the moment "{actuator.name}"; use simulate, which takes it'
        require(actuator.kind == "force" or actuator.name not in forces, needed)
    acting = [i for i, name in enumerate(names(model.inputs)) if name in forces]
    loads = model.B[model.nodes, acting].T * (dt**2 / (model.arm.links[0].mass_per_length * model.dx))
    payloads = np.array([[m.lumped.payload.mass, m.lumped.payload.inertia] for m in models])
    hub, tip = np.empty(count + 1), np.empty(count + 1)
    stored = np.empty((count // stride + 1 if stride > 0 else 0, model.sections + 3))
    end, before = kernels.march(
        _constants(first, dt, g), _slots(first, q), _slots(first, increment),
        kernels.Drive(*writable(inputs[0], loads, inputs[acting].T)), change, payloads,
        kernels.Log(stride, hub, tip, stored),
    )
    _check_finite(dt, hub, tip)
    q = _coordinates(final, end)
    increment = _coordinates(final, before) + 0.5 * _pull(final, dt, q, inputs[:, -1])
    rate = np.asarray(increment / ((1.0 + g) * dt), np.float64)
    return March(dt, hub, tip, stride, _coordinates(first, stored), q, rate)


def _increments(model: FiniteDifference, dt: float) -> tuple[FloatArray, FloatArray]:
    """Return dt^2 M^-1 K and dt^2 M^-1 B."""
    n = model.M.shape[0]
    both = _accelerations(model, np.hstack([model.K, model.B]))
    return dt**2 * both[:, :n], dt**2 * both[:, n:]


def _pull(model: FiniteDifference, dt: float, q: FloatArray, u: FloatArray) -> FloatArray:
    """Return dt^2 M^-1 (B u - K q)."""
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows here is found and reported after the march
        return dt**2 * _accelerations(model, model.B @ u - model.K @ q)


def _accelerations(model: FiniteDifference, forces: FloatArray) -> FloatArray:
    """Return M^-1 forces: M is diagonal, but for nodes n-1 and n of the paper's form if Ip > 0.

    Every march asks for this, and is refused where bodies couple its nodes.
    """
    for body in inner_bodies(model.arm):
        where = f"the body at {body.position:g} L couples the nodes that the explicit march moves one by one"
        raise NotAvailable(f"{where}; use simulate, or a body at an end of the link")
    a = np.asarray((forces.T / model.M.diagonal()).T, np.float64)
    i, j = model.nodes.stop - 2, model.nodes.stop - 1
    if model.M[i, j] != 0:
        a[i : j + 1] = np.linalg.solve(model.M[i : j + 1, i : j + 1], forces[i : j + 1])
    return a


def _constants(model: FiniteDifference, dt: float, g: float) -> Mesh:
    from .kernel import Mesh

    link, Ih, dx = model.arm.links[0], model.hub, model.dx
    rho, EI = link.mass_per_length, link.bending_stiffness
    c, h = EI * dt**2 / (rho * dx**4), Ih / (rho * dx**3)
    theta = model.has_theta
    return Mesh(
        c=c, s1=1.0 / (1.0 + g), s2=(1.0 - g) / (1.0 + g),
        hub_mass=1.0 if theta else 1.0 / (1.0 + h),
        hub_spring=2.0 * c if theta else 0.0,
        hub_gain=2.0 * c / h if theta else 0.0,
        torque_node=0.0 if theta else dt**2 / (rho * dx**2),
        torque_hub=dx * dt**2 / Ih if theta else 0.0,
        hub_slot=0 if theta else 2,
        feed=model.dx * float(model.sensors.input[0, 0]),
        dx=dx, node_mass=rho * dx, slope=model.form == "slope",
    )


def _slots(model: FiniteDifference, q: FloatArray) -> FloatArray:
    """Return [dx theta, 0, y_1 .. y_n, dx phi], the layout of the compiled march."""
    slots = np.zeros(model.sections + 3)
    slots[2:-1] = q[model.nodes]
    if model.has_theta:
        slots[0] = model.dx * q[0]
    if model.has_phi:
        slots[-1] = model.dx * q[-1]
    return slots


def _coordinates(model: FiniteDifference, slots: FloatArray) -> FloatArray:
    """Return the coordinates from (.., slots)."""
    q = np.empty((*slots.shape[:-1], len(model.coordinates)))
    q[..., model.nodes] = slots[..., 2:-1]
    if model.has_theta:
        q[..., 0] = slots[..., 0] / model.dx
    if model.has_phi:
        q[..., -1] = slots[..., -1] / model.dx
    return q


def _mass_damping(model: FiniteDifference) -> float:
    """Return alpha of D = alpha M, or raise `NotAvailable`."""
    damping = model.arm.damping
    if damping.kind == "none" or not np.any(model.D):
        return 0.0
    if damping.kind == "rayleigh" and damping.beta == 0:
        return damping.alpha
    raise NotAvailable(
        f"the explicit march takes no damping but D = alpha M, this arm has {damping}; use an implicit integrator of "
        "flexctl.simulate"
    )


def _positive_step(dt: float) -> float:
    require(math.isfinite(dt) and dt > 0, f"dt = {dt} s must be positive and finite")
    return dt


def _check_stable(model: FiniteDifference, dt: float) -> None:
    if _positive_step(dt) ** 2 * _frequency_bound(model) <= 4.0:
        return
    limit = stability_limit(model)
    if dt > limit:
        digit = 10.0 ** (math.floor(math.log10(limit)) - 2)
        raise DefinitionError(
            f"dt = {dt * 1e6:.6g} us is above the stability limit {limit * 1e6:.2f} us of this mesh "
            f"({model.sections} sections); use dt <= {math.floor(limit / digit) * digit * 1e6:.3g} us or fewer sections"
        )


def _frequency_bound(model: FiniteDifference) -> float:
    """Return a bound on omega_max^2: the largest row sum of |M^-1 K| (Gershgorin), with slopes counted as dx slope."""
    scale = np.array([model.dx if q.unit == "rad" else 1.0 for q in model.coordinates])
    rows = np.abs(_accelerations(model, model.K)) * scale[:, None] / scale
    return float(rows.sum(axis=1).max())


def _step_count(dt: float, duration: float | None, steps: int | None) -> int:
    if (duration is None) == (steps is None):
        raise DefinitionError("say how long to march: give duration or steps, one of them")
    if duration is not None:
        require(math.isfinite(duration) and duration >= dt, f"duration = {duration} s is below one step of {dt} s")
        return round(duration / dt)
    whole = isinstance(steps, int | np.integer) and steps > 0
    require(whole, f"steps = {steps} must be a positive whole number")
    return int(steps or 0)


def _schedule(
    model: FiniteDifference, payload: Sequence[tuple[float, Payload]], dt: float, steps: int
) -> tuple[npt.NDArray[np.int64], list[FiniteDifference]]:
    """Return the steps from which each payload holds, and the model with each."""
    change, models = [0], [model]
    for time, load in payload:
        step = round(time / dt) if math.isfinite(time) else -1
        inside = change[-1] < step < steps or (step == 0 and len(change) == 1)
        require(inside, f"payload change at {time} s: times must rise, within 0 and the end at {steps * dt:g} s")
        loaded = model.with_payload(load.mass, load.inertia)
        if step == 0:
            models[0] = loaded
        else:
            change.append(step)
            models.append(loaded)
    return np.array(change, np.int64), models


def _initial(model: FiniteDifference, initial: InitialState | None) -> tuple[FloatArray, FloatArray]:
    n = len(model.coordinates)
    if initial is None:
        return np.zeros(n), np.zeros(n)
    q, v = (np.asarray(part, float) for part in initial)
    require(q.shape == v.shape == (n,), f"initial position and rate have shapes {q.shape}, {v.shape}, not ({n},)")
    return q, v


def _check_finite(dt: float, hub: FloatArray, tip: FloatArray) -> None:
    if not math.isfinite(hub[-1]) or not math.isfinite(tip[-1]):  # once lost, a number never comes back
        time = dt * float(np.argmin(np.isfinite(hub) & np.isfinite(tip)))
        raise ConvergenceError(f"the march overflowed at t = {time:g} s; check the size of the inputs", time=time)
