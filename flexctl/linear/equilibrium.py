"""Equilibrium and consistent accelerations.

    h(q, 0) + G(q)^T lam = B u,   g(q) = 0          equilibrium
    M a + G^T lam = B u - h,      G a = -bias       accelerations
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..abilities import ArmModel, Inseparable, PartlyDriven, Posable, Resting, Rewinding, joints_of, within
from ..errors import ConvergenceError, require
from ..machine.given import as_model
from ..model import FloatArray, MechanicalModel, OperatingPoint, balance, closure_forces, index_of, names
from ..models.continuation import Balance, Outcome, follow
from ..models.ranges import check_rest
from ..support.checks import real, real_array, table
from ..support.kinds import SystemGiven


def accelerations(
    model: MechanicalModel, q: FloatArray, v: FloatArray, u: FloatArray, t: float = 0.0
) -> tuple[FloatArray, FloatArray]:
    """Return the accelerations and closure forces of a state."""
    G, W = model.closure_jacobian(q), closure_forces(model, q)
    (m, n), bias = G.shape, -model.closure_bias(q, v)
    a, lam = np.zeros(n), np.zeros(m)
    for _ in range(20 if isinstance(model, Inseparable) else 1):  # the losses of a gear depend on accelerations
        M = model.tangent(q, v, a, u, lam).mass if isinstance(model, Inseparable) else model.mass(q)
        kkt = np.block([[M, W], [G, np.zeros((m, m))]])
        left = balance(model, q, v, a, u, t)
        try:
            solution = np.linalg.solve(kkt, np.concatenate([M @ a - left, bias]))
        except np.linalg.LinAlgError as error:
            raise ConvergenceError(
                f"the mass matrix of {model.kind} is singular on the free directions at t = {t:.6g} s; give every free "
                "coordinate a mass, or eliminate it",
                time=t,
            ) from error
        change = np.abs(solution[:n] - a).max(initial=0.0)
        a, lam = solution[:n], solution[n:]
        if change <= 1e-12 * np.abs(a).max(initial=0.0):
            break
    return a, lam


def equilibrium(
    system: SystemGiven,
    *,
    hold: Mapping[str, float] | None = None,
    balance: Sequence[str] | None = None,
    load: Mapping[str, float] | FloatArray | None = None,
    guess: FloatArray | None = None,
    tolerance: float = 1e-11,
    iterations: int = 4000,
) -> OperatingPoint:
    """Return the rest state in which all forces balance.

    Loads and pose are applied in steps (see `flexctl.models.continuation`): the equilibrium is the one that grows
    out of the undeformed arm, its joints at the values they are held at, or out of the guess.

    Parameters
    ----------
    system : Plant, MechanicalModel or SecondOrder
        The arm.
    hold : mapping, optional
        Coordinates kept at a value, e.g. ``{"theta": 0.5}`` [unit of the coordinate].
    balance : sequence of str, optional
        Inputs that are free to take the value the equilibrium needs; by default as many of the first inputs as
        coordinates are held.
    load : mapping or ndarray, optional
        The other inputs that act (zero by default), e.g. ``{"tip_force_y": 5.0}`` [unit of the input].
    guess : ndarray, optional
        Start of the continuation; by default the undeformed arm with its joints as they are held, the others as in the
        reference pose.
    tolerance : float
        Accepted size of the last correction relative to the pose.
    iterations : int
        Newton iterations, of all steps together, before giving up.

    Warns
    -----
    BeyondModel
        When the arm is bent beyond what its model assumes, with what that costs.

    Raises
    ------
    ConvergenceError
        When there is no equilibrium nearby, e.g. an arm under gravity without its joints held, or one that buckles
        before all of its load is on; the message says at which part of it.

    Examples
    --------
    >>> arm = fx.load_plant("planar_2r_flexible", gravity={"y": -9.81})
    >>> point = fx.equilibrium(arm.model, hold={"joint1": 0.0, "joint2": 0.0})
    >>> print(point.u[:2].round(2), "N m")
    [18.54  4.63] N m
    """
    model = as_model(system)
    if isinstance(model, Resting) and model.resting is not model:
        there = None if guess is None else resting_part(model, guess)
        rests = equilibrium(
            model.resting, hold=hold, balance=balance, load=as_inputs(model, load), guess=there, tolerance=tolerance,
            iterations=iterations,
        )
        return model.lifted(rests)
    p, held = len(model.inputs), table("hold", {} if hold is None else hold, '{"joint1": 0.5}')
    indices = {
        index_of("coordinate", name, model.coordinates): real(f"hold {name}", value) for name, value in held.items()
    }
    enough = balance is not None or len(indices) <= p
    require(enough, f"{len(indices)} coordinates are held by the {p} inputs of {model.kind}; name free ones in balance")
    inputs = names(model.inputs)[: len(indices)] if balance is None else list(balance)
    free_inputs = [index_of("input", name, model.inputs) for name in inputs]
    given = as_inputs(model, load)
    finite = all(np.isfinite(x).all() for x in (given, list(held.values()), [] if guess is None else guess))
    require(bool(finite), "hold, guess and load must be finite")
    q = _start(model, held, guess)
    equations = Balance(model, q, indices, free_inputs, given)
    found = follow(equations, tolerance, iterations)
    if not found.complete:
        raise ConvergenceError(_refusal(model, held, found), iteration=found.iterations, residual=found.size)
    point = equations.point(found.last.x)
    inner = within(model)
    n = len(inner.coordinates)
    if isinstance(inner, Rewinding):
        point = replace(point, q=np.concatenate([inner.rewound(point.q[:n]), point.q[n:]]))
    _check_limits(model, point)
    check_rest(model, point)
    return point


def resting_part(model: Any, x: FloatArray) -> FloatArray:
    """Return what belongs to the model for statics of coordinates, rates or accelerations of a `Resting` one."""
    known = {s.name for s in model.resting.coordinates}
    given = np.asarray(x, float)
    n = len(model.coordinates)
    require(given.shape == (n,), f"{given.shape} numbers given; {model.kind} has {n} coordinates")
    return np.array([value for value, s in zip(given, model.coordinates, strict=True) if s.name in known])


def as_inputs(model: MechanicalModel, load: Mapping[str, float] | FloatArray | None) -> FloatArray:
    """Return all inputs of a model, those that are not named being zero."""
    p = len(model.inputs)
    if isinstance(load, Mapping):
        values = np.zeros(p)
        for name, value in load.items():
            values[index_of("input", name, model.inputs)] = real(f"load {name}", value)
        return values
    values = np.zeros(p) if load is None else real_array("load", load)
    require(values.shape == (p,), f"load has shape {values.shape}; {model.kind} has {p} inputs")
    return values


def posed(model: MechanicalModel, variables: Mapping[str, float]) -> FloatArray:
    """Return the undeformed arm with these joint variables, by coordinate, the others as in the reference pose.

    A model that cannot be posed is left in its reference pose.
    """
    inner: Any = model if isinstance(model, Posable) else within(model)
    if not isinstance(inner, Posable):
        return model.reference().copy()
    arm, values = inner.arm, {name.removesuffix("_motor"): value for name, value in variables.items()}
    driven = within(inner).driven if isinstance(within(inner), PartlyDriven) else range(len(arm.joints))
    q = inner.pose([values.get(f"joint{i + 1}", arm.reference_joints[i]) for i in driven])
    return np.concatenate([q, np.zeros(len(model.coordinates) - q.size)])


def _check_limits(model: MechanicalModel, point: OperatingPoint) -> None:
    """Refuse an equilibrium that drives could hold only beyond their limits."""
    if not isinstance(model, Inseparable):
        return
    away = model.input_matrix(point.q)
    lost = np.any(away != model.input_tangent(point.q, point.v, point.a, point.u), axis=0).tolist()
    beyond = [f"{s.name} = {value:.4g} {s.unit}" for s, value, x in zip(model.inputs, point.u, lost, strict=True) if x]
    if beyond:
        raise ConvergenceError(
            f"{model.kind} does not rest there: {', '.join(beyond)} is beyond the limits of voltage or current of its "
            "drive; load it less, or raise the limits"
        )


def _start(model: MechanicalModel, hold: Mapping[str, float], guess: FloatArray | None) -> FloatArray:
    n = len(model.coordinates)
    q = posed(model, hold) if guess is None else real_array("guess", guess)
    require(q.shape == (n,), f"guess has shape {q.shape}; {model.kind} has {n} coordinates")
    return q


def _free(model: MechanicalModel, hold: Mapping[str, float]) -> list[str]:
    """Return the joints that nothing holds."""
    inner: Any = within(model)
    if not isinstance(inner, ArmModel) or len(hold) >= len(inner.arm.joints):
        return []
    numbered = [f"joint{i + 1}" for i in range(len(inner.arm.joints))]
    return [name for name in numbered if name not in hold and f"{name}_motor" not in hold]


def _refusal(model: MechanicalModel, hold: Mapping[str, float], found: Outcome) -> str:
    joints = [name for name in joints_of(model).values() if name not in hold]
    free = _free(model, hold)
    near = "reduce the load, or give fx.equilibrium a guess near it (guess=...)"
    remedy = f"hold the joints too ({', '.join(joints)})" if joints else near
    if free and not joints:
        remedy = f"{', '.join(free)} of the arm turns freely: begin near where it hangs (its angle in the plant file)"
    part = f"{100.0 * found.last.s:.4g} % of the way from the start to the full load and pose"
    return (
        f"no equilibrium of {model.kind} found beyond {part} after {found.iterations} iterations, last correction "
        f"{found.size:.3g}: there it buckles, turns back or has no stiffness; {remedy}"
    )
