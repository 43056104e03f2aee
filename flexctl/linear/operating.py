"""Operating points: the posed arm at rest, and the unbalanced forces where an arm is meant to rest.

One rule for all drives: every joint stands at its variable, and the input of what drives it, a torque or force, the
command of a servo or a cylinder, has the value that keeps it there. Free joints stand where the forces let them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..abilities import (
    ArmModel,
    Jointed,
    KnowsRestPoint,
    Restable,
    Resting,
    commands_of,
    joints_of,
    lags_of,
    led_of,
    within,
)
from ..errors import Caution, ConvergenceError, FlexctlError, caution, require, unknown
from ..machine.given import as_model
from ..model import FloatArray, MechanicalModel, OperatingPoint, closure_forces, index_of, names
from ..models.continuation import largest
from ..support.checks import real_array
from ..support.kinds import SystemGiven
from .equilibrium import as_inputs, equilibrium, posed, resting_part

Pose = Mapping[str, float] | Sequence[float] | FloatArray
SMALL = 1e-6
"""Unbalanced force relative to the largest of those that should balance, up to which a point counts as at rest."""


FALLS = 1e-12
"""Negative stiffness relative to the largest that is no rounding. Chosen."""


class NotBalanced(Caution):
    """A plant is linearised where its arm would not stay.

    Examples
    --------
    >>> issubclass(fx.NotBalanced, fx.Caution)
    True
    """


def drives(model: MechanicalModel) -> dict[str, str]:
    """Return the input that holds each driven joint, by coordinate."""
    inner, known = within(model), set(names(model.inputs))
    found: dict[str, str] = {}
    # around a flexible joint the same input turns the motor's side in place of the link's
    turned = {**joints_of(model), **{own[0]: x for x, own in commands_of(model).items()}}
    for source in (inner, model):
        found |= {x: torque for torque, x in joints_of(source).items() if turned.get(torque, x) == x}
        found |= {x: own[0] for x, own in commands_of(source).items() if turned.get(own[0], x) == x}
    found |= {name: model.inputs[i].name for i, name in enumerate(led_of(model))}
    return {coordinate: name for coordinate, name in (found or _hub(model)).items() if name in known}


def _hub(model: MechanicalModel) -> dict[str, str]:
    """Return what holds the arm of one link that names no joint: finite differences turn with their first coordinate.

    That is the angle of the hub, or without a hub the displacement of the section beside it.
    """
    inner = within(model)
    if not isinstance(inner, ArmModel) or len(inner.arm.joints) != 1:
        return {}
    own = [name for name in names(model.inputs) if name.startswith("joint1_")]
    turned = [name for name in names(model.coordinates) if name == "joint1_motor"] or names(model.coordinates)[:1]
    return {turned[0]: own[0]} if own and turned else {}


def rest_point(
    system: SystemGiven, pose: Pose | None = None, load: Mapping[str, float] | FloatArray | None = None
) -> OperatingPoint:
    """Return the equilibrium of the posed arm: its joints held, each by the input that drives it.

    Parameters
    ----------
    system : Plant, MechanicalModel or SecondOrder
        The arm.
    pose : mapping or sequence, optional
        Joint variables by coordinate, ``{"joint2": 0.5}`` [rad; m of prismatic joints], or of all driven joints in
        order; those of the reference pose by default. Of a flexible joint that of its motor's side: its link sags.
    load : mapping or ndarray, optional
        Other inputs that act, ``{"tip_force_y": 5.0}`` [unit of the input].

    Raises
    ------
    ConvergenceError
        When there is no such equilibrium.

    Examples
    --------
    >>> arm = fx.load_plant("planar_2r_flexible", gravity={"y": -9.81})
    >>> print(fx.rest_point(arm, pose=[0.0, 0.0]).u[:2].round(2), "N m")
    [18.54  4.63] N m
    """
    model = as_model(system)
    if isinstance(model, Resting) and model.resting is not model:
        return model.lifted(rest_point(model.resting, pose, as_inputs(model, load)))
    held, given = drives(model), as_inputs(model, load)
    chosen = _variables(model, held, pose)
    if not chosen and not given.any():
        point = _as_it_stands(model)
        if point is not None:
            return point
    q = posed(model, chosen) if chosen else model.reference()
    hold = {s.name: chosen.get(s.name, float(q[i])) for i, s in enumerate(model.coordinates) if s.name in held}
    taken = [name for name in held.values() if given[names(model.inputs).index(name)]]
    require(not taken, f"{', '.join(taken)} holds a joint of {model.kind} and takes what this needs: leave it out")
    balance = [held[name] for name in hold]
    def rests(guess: FloatArray) -> OperatingPoint:
        return equilibrium(model, hold=hold, balance=balance, load=given, guess=guess)

    point, refused = None, None
    try:
        point = rests(q)
    except ConvergenceError as error:
        refused = error
    if point is not None and _lasts(model, point, hold):
        return point
    near = _hung(model, hold)
    if near is not None:
        try:
            other = rests(near)
        except ConvergenceError:
            other = None
        if other is not None and (point is None or _lasts(model, other, hold)):
            return other
    if point is None:
        assert refused is not None
        raise refused
    return point


def _lasts(model: MechanicalModel, point: OperatingPoint, hold: Mapping[str, float]) -> bool:
    """Whether an arm with flexible joints would go back to an equilibrium; of others and of loops it is not asked."""
    if model.closures or not any(name.endswith("_motor") for name in hold):
        return True
    free = [i for i, name in enumerate(names(model.coordinates)) if name not in hold]
    K = model.tangent(point.q, point.v, point.a, point.u, point.lam).stiffness[np.ix_(free, free)]
    values = np.linalg.eigvalsh(0.5 * (K + K.T))
    return bool(values.min(initial=0.0) >= -FALLS * values.max(initial=0.0))


def _hung(model: MechanicalModel, hold: Mapping[str, float]) -> FloatArray | None:
    """Return coordinates of the arm as it hangs from the motors of its flexible joints under its weight alone.

    Out of the undeformed arm no equilibrium grows where a joint has play, within which nothing carries the weight, and
    one that does not last where the springs are so soft that they would not hold it as it stands.
    """
    place = {name: i for i, name in enumerate(names(model.coordinates))}
    joints = [name.removesuffix("_motor") for name in _in_order(model, dict.fromkeys(hold, ""))]
    motors = {i: place[f"{name}_motor"] for i, name in enumerate(joints) if f"{name}_motor" in hold and name in place}
    if not motors or not isinstance(model, Restable):
        return None
    from ..models.wrappers.resting import hanging  # needs numba

    asked = np.array([hold.get(f"{name}_motor", hold.get(name, 0.0)) for name in joints])
    rest = model.rest
    try:
        q = hanging(lambda links: np.array(rest(links), float), asked, motors)
    except (FlexctlError, ValueError):
        return None  # it has joints that nothing holds, or a spring that does not carry them
    if q is not None:
        for i, motor in motors.items():
            q[motor] = asked[i]
    return q


def _variables(model: MechanicalModel, held: Mapping[str, str], pose: Pose | None) -> dict[str, float]:
    if pose is None:
        return {}
    hub, lever = _turned_hub(model, held)
    if not isinstance(pose, Mapping):
        values = np.atleast_1d(real_array("pose", pose)).tolist()
        require(len(values) == len(held), f"{len(values)} joint variables given; {model.kind} has {len(held)} to hold")
        return {name: x / lever for name, x in zip(_in_order(model, held), values, strict=True)}
    own = {name: name if name in held else f"{name}_motor" for name in pose}  # a flexible joint is held by its motor
    if hub and "joint1" in own:
        own["joint1"], pose = hub, {**pose, "joint1": pose["joint1"] / lever}
    for name, motor in own.items():
        if motor not in held:
            raise unknown(f"driven joint of {model.kind}", name, held)
    chosen = {own[name]: float(value) for name, value in pose.items()}
    require(bool(np.isfinite(list(chosen.values())).all()), f"pose {chosen} must be finite")
    return chosen


def _turned_hub(model: MechanicalModel, held: Mapping[str, str]) -> tuple[str, float]:
    """Return the coordinate of `_hub` in place of joint 1, "" for none, and by how much it turns the joint [rad/m; 1].

    The rate of a joint is B_j^T v: beside a root without a hub that of the section by its distance.
    """
    inner, arm = within(model), within(model)
    if isinstance(inner, Jointed) or len(held) != 1 or not isinstance(inner, ArmModel) or len(inner.arm.joints) != 1:
        return "", 1.0
    name, = held
    if name not in names(arm.coordinates):
        return "", 1.0  # a motor's side
    return name, float(arm.input_matrix(arm.reference())[index_of("coordinate", name, arm.coordinates), 0])


def _in_order(model: MechanicalModel, held: Mapping[str, str]) -> list[str]:
    """Return the coordinates that are held in the order of the joints: motors of flexible ones stand behind the arm."""
    place = {name: i for i, name in enumerate(names(model.coordinates))}
    return sorted(held, key=lambda name: place.get(name.removesuffix("_motor"), place[name]))


def _as_it_stands(model: MechanicalModel) -> OperatingPoint | None:
    """Return the reference pose where it is an equilibrium, else None."""
    if isinstance(model, KnowsRestPoint):
        return model.rest_point()
    point = OperatingPoint.at_rest(model)
    if unbalanced(model, point, 0.0) is None:
        return point
    if drives(model):
        return None
    point = carried(model, point.q)
    return None if unbalanced(model, point) else point


def carried(model: MechanicalModel, q: FloatArray) -> OperatingPoint:
    """Return a pose at rest with the closure forces that balance it best, and the inputs of what drives its joints.

    A model that names no drives may use all of its inputs.
    """
    q, zero, u = np.asarray(q, float), np.zeros(len(model.coordinates)), np.zeros(len(model.inputs))
    W, B = closure_forces(model, q), model.input_matrix(q)
    own = _inputs_of(model) or list(range(u.size))
    parts = np.hstack([W, -B[:, own]])
    found = np.asarray(np.linalg.lstsq(parts, -model.force(q, zero), rcond=1e-10)[0], float)
    u[own] = found[W.shape[1] :]
    return OperatingPoint(q, zero, zero, u, found[: W.shape[1]])


def _inputs_of(model: MechanicalModel) -> list[int]:
    """Return the indices of the inputs that hold joints."""
    known = names(model.inputs)
    return [known.index(name) for name in drives(model).values()]


def unbalanced(model: MechanicalModel, point: OperatingPoint, small: float = SMALL) -> str | None:
    """Return what is unbalanced at a point of rest, in words, or None where it is an equilibrium.

    With `small` above 0 it is no matter if `u` leaves out what holds the joints, which changes no matrix.
    """
    if isinstance(model, Resting) and model.resting is not model:
        part = [resting_part(model, x) for x in (point.q, 0.0 * point.v, 0.0 * point.a)]
        return unbalanced(model.resting, OperatingPoint(part[0], part[1], part[2], point.u, point.lam), small)
    q, zero = point.q, np.zeros(point.q.size)
    B, W = model.input_matrix(q), closure_forces(model, q)
    terms = [model.force(q, zero), W @ point.lam, -B @ point.u]
    left = np.asarray(sum(terms, zero))
    K = model.tangent(q, zero, zero, point.u, point.lam).stiffness
    floor = 4.0 * np.finfo(float).eps * largest(K) * (1.0 + largest(q))
    if small:
        own = B[:, _inputs_of(model)]
        left = left - own @ np.linalg.lstsq(own, left, rcond=1e-10)[0]
        floor = 100.0 * floor + small * max(map(largest, terms))
    if largest(left) <= floor:
        return None
    worst = int(np.argmax(np.abs(left)))
    signal = model.coordinates[worst]
    unit = {"m": "N", "rad": "N m"}.get(signal.unit, f"J/({signal.unit})")
    return f"{abs(left[worst]):.3g} {unit} at {signal.name} of the {max(map(largest, terms)):.3g} that act there"


def linearisation_point(model: MechanicalModel) -> OperatingPoint:
    """Return where a model is linearised by default: `rest_point`, or its reference pose with a warning."""
    try:
        return rest_point(model)
    except ConvergenceError as error:
        point = carried(model, model.reference())
        _warn(model, unbalanced(model, point), f"no equilibrium was found ({error})")
        return point


def check_balanced(model: MechanicalModel, point: OperatingPoint) -> None:
    """Warn when an arm would not stay at a point at which it is linearised at rest."""
    remedy = "take flexctl.rest_point(plant, angles) or flexctl.equilibrium"
    require(isinstance(point, OperatingPoint), f"the point of linearisation is a {type(point).__name__}; {remedy}")
    moving = [value for value, s in zip(point.v, model.coordinates, strict=True) if s.name not in lags_of(model)]
    if not (any(moving) or point.a.any()):
        remedy = "take flexctl.rest_point or flexctl.equilibrium"
        _warn(model, unbalanced(model, point), f"the point given is no equilibrium: {remedy}")


def _warn(model: MechanicalModel, what: str | None, why: str) -> None:
    if what is not None:
        caution(f"{model.kind} is linearised where it is not at rest, {what}: {why}", NotBalanced)
