"""Checks of every ability of `flexctl.abilities` that a model has: signatures, then meaning."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import abilities as able
from ..errors import NotAvailable
from ..linear.operating import unbalanced
from ..model import MechanicalModel, OperatingPoint, Signal, names
from ..models.ranges import Driven
from .differences import claim, slope, some_motion


def _is(model: Any, protocol: type) -> bool:
    """Whether a model has an ability; it stays what it is for the type checker."""
    return isinstance(model, protocol)


def _names_known(what: str, given: Any, known: Any) -> None:
    missing = [name for name in given if name not in names(known)]
    claim(not missing, f"{what}: {missing} are not among {names(known)}")


def joints(model: Any) -> None:
    """Check that joints names inputs and coordinates."""
    _names_known("joints, inputs", model.joints, model.inputs)
    _names_known("joints, coordinates", model.joints.values(), model.coordinates)


def outline(model: Any) -> None:
    """Check that the outline is of places, and that the tip is on it where the model reads the tip."""
    x = some_motion(model)
    links = model.outline(x.q)
    claim(bool(links), "the outline has no links")
    for number, points in enumerate(links, 1):
        shaped = points.ndim == 2 and len(points) > 1 and points.shape[1] in (2, 3) and np.isfinite(points).all()
        claim(bool(shaped), f"outline of link {number}: not points in the plane or in space")
    known = names(model.outputs)
    axes = ["tip_x", "tip_y", "tip_z"][: links[0].shape[1]]
    if set(axes) <= set(known):
        y = model.output(x.q, x.v, x.a, np.zeros(len(model.inputs)))
        tip = np.array([y[known.index(name)] for name in axes])
        every = np.concatenate(links)
        size = float(np.abs(every).max())
        away = float(np.linalg.norm(every - tip, axis=1).min())
        claim(away < 1e-6 * size, f"the tip, {tip.tolist()} m, is {away:.3g} m from the nearest point of the outline")


def commands(model: Any) -> None:
    """Check that commands names coordinates and one or two inputs of each."""
    _names_known("commands, coordinates", model.commands, model.coordinates)
    for coordinate, own in model.commands.items():
        _names_known(f"commands of {coordinate}", own, model.inputs)
        claim(1 <= len(own) <= 2, f"commands of {coordinate}: {list(own)} are not a value, or a value and its rate")


def origins(model: Any) -> None:
    """Check that origins names coordinates and gives finite values."""
    _names_known("origins", model.origins, model.coordinates)
    claim(bool(np.isfinite(list(model.origins.values())).all()), f"origins {model.origins} are not finite")


def led(model: Any) -> None:
    """Check that nothing of the arm acts on what is led by motion: no inertia, force or closure in its equations."""
    _names_known("led", model.led, model.coordinates)
    claim(len(model.led) <= len(model.inputs), f"led {list(model.led)} has fewer inputs than coordinates")
    known, x = names(model.coordinates), some_motion(model)
    own = {*model.led, *(model.lags if _is(model, able.Lagging) else ())}
    rows, others = [known.index(name) for name in model.led], [i for i, name in enumerate(known) if name not in own]
    parts = [*model.tangent(*x)]
    claim(not any(part[np.ix_(rows, others)].any() for part in parts), f"the arm acts on {list(model.led)}")
    if _is(model, able.ClosureForces):
        claim(not model.closure_forces(x.q)[rows].any(), f"closures act on {list(model.led)}")


def lags(model: Any) -> None:
    """Check that the value of a lagging coordinate means nothing: no stiffness, and no sensor reads it."""
    _names_known("lags", model.lags, model.coordinates)
    claim(all(isinstance(s, Signal) for s in model.lags.values()), "lags says what the rates are by a Signal each")
    x = some_motion(model)
    columns = [names(model.coordinates).index(name) for name in model.lags]
    seen = model.tangent(*x).stiffness[:, columns], model.output_tangent(*x[:4]).position[:, columns]
    claim(not any(part.any() for part in seen), f"the value of {list(model.lags)} has stiffness or is measured")


def driven(model: Any) -> None:
    """Check that driven numbers joints of the arm, each once."""
    count = len(model.arm.joints)
    claim(sorted(set(model.driven)) == sorted(model.driven), f"driven {list(model.driven)} names a joint twice")
    claim(all(0 <= i < count for i in model.driven), f"driven {list(model.driven)} goes beyond the {count} joints")


def _variables(model: Any) -> np.ndarray:
    """Return the variables of all driven joints in the reference pose, somewhat moved."""
    known = np.asarray(model.arm.reference_joints, float)
    chosen = known[list(model.driven)] if _is(model, able.PartlyDriven) else known
    return np.asarray(chosen + 0.05 * np.cos(np.arange(chosen.size)))


def pose(model: Any) -> None:
    """Check that a posed model closes its loops, with its joints where they are asked to be."""
    variables = _variables(model)
    q = model.pose(variables)
    claim(np.shape(q) == (len(model.coordinates),), f"pose has shape {np.shape(q)}")
    np.testing.assert_allclose(model.closure(q), 0.0, atol=1e-9, err_msg="closures of a pose")
    numbers = model.driven if _is(model, able.PartlyDriven) else range(variables.size)
    for value, i in zip(variables, numbers, strict=True):
        if f"joint{i + 1}" in names(model.coordinates):
            stands = q[names(model.coordinates).index(f"joint{i + 1}")]
            claim(abs(stands - value) < 1e-9, f"pose puts joint{i + 1} at {stands:.9g}, not at {value:.9g}")


def rest(model: Any) -> None:
    """Check that nothing but what holds the driven joints is out of balance at rest."""
    try:
        q = model.rest(_variables(model))
    except NotAvailable:  # with some options; it says so
        return
    n = len(model.coordinates)
    h = model.force(q, np.zeros(n))
    driven = (*able.joints_of(model).values(), *able.commands_of(model))
    held = [names(model.coordinates).index(name) for name in driven]
    holding = np.hstack([model.closure_jacobian(q).T, np.eye(n)[:, held]])
    left = h - holding @ np.linalg.lstsq(holding, h, rcond=1e-12)[0]
    scale = np.abs(model.tangent(q, 0 * q, 0 * q, np.zeros(len(model.inputs)), np.zeros(len(model.closures))).stiffness)
    bound = 1e-8 * np.abs(h).max(initial=0.0) + 1e-12 * scale.max(initial=0.0)
    claim(np.abs(left).max(initial=0.0) <= bound, f"rest leaves {np.abs(left).max():.3g} out of balance")


def rest_point(model: Any) -> None:
    """Check that the point is an equilibrium."""
    left = unbalanced(model, model.rest_point())
    claim(left is None, f"rest_point is no equilibrium: {left}")


def start(model: Any) -> None:
    """Check that a run begins with closed loops and its joints where their motions begin."""
    wanted = {**{name: name for name in able.joints_of(model).values()}, **dict.fromkeys(able.commands_of(model))}
    q0, n = model.reference(), len(model.coordinates)
    given = {name: (float(q0[names(model.coordinates).index(name)]), 0.0) for name in wanted}
    q, v = model.start(given)
    claim(np.shape(q) == np.shape(v) == (n,), f"start has shapes {np.shape(q)}, {np.shape(v)}, not ({n},)")
    np.testing.assert_allclose(model.closure(q), 0.0, atol=1e-9, err_msg="closures at the start")
    np.testing.assert_allclose(model.closure_jacobian(q) @ v, 0.0, atol=1e-9, err_msg="closure rates at the start")


def rigid_motion(model: Any) -> None:
    """Check that v and a are the derivatives of q along a motion of the joints."""
    phi = np.asarray(model.arm.reference_joints, float)
    w, dw = 0.7 + 0.1 * np.arange(phi.size), 0.3 - 0.2 * np.arange(phi.size)

    def at(s: float) -> Any:
        return model.rigid_motion(phi + s * w + 0.5 * s * s * dw, w + s * dw, dw)

    q, v, a = at(0.0)
    np.testing.assert_allclose(v, slope(lambda s: at(s)[0]), atol=1e-8 * (1.0 + np.abs(q).max()), err_msg="v is not q'")
    np.testing.assert_allclose(a, slope(lambda s: at(s)[1]), atol=1e-8 * (1.0 + np.abs(v).max()), err_msg="a is not v'")


def rigid_torques(model: Any) -> None:
    """Check the shape, and that the torques do the work that the equations of the rigid motion ask for."""
    count = len(model.arm.joints)
    phi = np.asarray(model.arm.reference_joints, float) + 0.2
    w, dw = 0.7 + 0.1 * np.arange(count), 0.3 - 0.2 * np.arange(count)
    rows = [np.array([x, x]) for x in (phi, w, dw)]
    shape = np.shape(model.rigid_torques(*rows))
    claim(shape == (2, count), f"rigid_torques of two instants has shape {shape}, not (2, {count})")
    if not _is(model, able.RigidlyMovable) or model.closures or able.commands_of(model):
        return
    q, v, a = model.rigid_motion(phi, w, dw)
    power, wanted = float(model.rigid_torques(phi, w, dw) @ w), float(v @ (model.mass(q) @ a + model.force(q, v)))
    close = abs(power - wanted) <= 1e-8 * abs(wanted)
    claim(close, f"rigid_torques do {power:.9g} W, the rigid motion takes {wanted:.9g} W")


def rigid_tip(model: Any) -> None:
    """Check against what the tip sensors read in a pose."""
    if not _is(model, able.Posable):
        return
    angles = _variables(model)
    q, zero = model.pose(angles), np.zeros(len(model.coordinates))
    y = model.output(q, zero, zero, np.zeros(len(model.inputs)))
    tip = np.asarray(model.rigid_tip(angles))
    for i, name in enumerate(("tip_x", "tip_y", "tip_z")[: tip.size]):
        if name in names(model.outputs):
            read = y[names(model.outputs).index(name)]
            claim(abs(read - tip[i]) < 1e-9, f"rigid_tip: {name} = {tip[i]:.9g}, the sensor reads {read:.9g}")


def turning(model: Any) -> None:
    """Check that W is of the size of the model and linear in the joint rates."""
    phi = np.asarray(model.arm.reference_joints, float)
    rates, n = 0.5 * (np.arange(phi.size) == 0), len(model.coordinates)  # an arm whose slide moves has no such state
    W = model.turning(rates, phi)
    claim(np.shape(W) == (n, n), f"turning has shape {np.shape(W)}, not {(n, n)}")
    np.testing.assert_allclose(model.turning(2.0 * rates, phi), 2.0 * W, atol=1e-12 * np.abs(W).max())


def stepper(model: Any) -> None:
    """Check that own_stepper is yes or no; the runs themselves are compared with plain ones elsewhere."""
    claim(isinstance(model.own_stepper, bool), f"own_stepper = {model.own_stepper!r} is not True or False")


def with_payload(model: Any) -> None:
    """Check that another payload is another model with the same signals, and heavier."""
    light, heavy = model.with_payload(0.1, 1e-2), model.with_payload(0.3, 2e-2)
    claim(isinstance(heavy, MechanicalModel), f"with_payload returns a {type(heavy).__name__}")
    for what, one, other in (
        ("coordinates", light.coordinates, heavy.coordinates), ("inputs", light.inputs, heavy.inputs),
        ("outputs", light.outputs, heavy.outputs),
    ):
        claim(names(one) == names(other), f"a heavier payload changes the {what}")
    q = light.reference()
    more = heavy.mass(q) - light.mass(q)
    claim(float(np.trace(more)) > 0.0, "a heavier payload adds no mass")


def closure_forces(model: Any) -> None:
    """Check the shape of W."""
    q = model.reference()
    wanted = (len(model.coordinates), len(model.closures))
    claim(np.shape(model.closure_forces(q)) == wanted, f"closure_forces is not of shape {wanted}")


def closure_turn(model: Any) -> None:
    """Check d(G v)/dq by differences along a direction."""
    x = some_motion(model)
    turn = model.closure_turn(x.q, x.v)
    claim(np.shape(turn) == (len(model.closures), x.q.size), f"closure_turn has shape {np.shape(turn)}")
    wanted = slope(lambda s: model.closure_jacobian(x.q + s * x.a) @ x.v)
    np.testing.assert_allclose(turn @ x.a, wanted, atol=1e-8 * (1.0 + np.abs(wanted).max(initial=0.0)))


def stability_limit(model: Any) -> None:
    """Check for a positive step; without springs any step is stable."""
    limit = model.stability_limit()
    claim(bool(limit > 0), f"stability_limit() = {limit} s")


def analysis(model: Any) -> None:
    """Check for a word."""
    claim(bool(model.analysis) and isinstance(model.analysis, str), f"analysis = {model.analysis!r} is not a word")


def assumptions(model: Any) -> None:
    """Check that what a motion drives is reported with its sample, and that at rest it is no more than in motion."""
    n = len(model.coordinates)
    q = model.reference() + 1e-3 * np.linspace(0.0, 1.0, 5)[:, None] * np.ones(n)
    for one in model.assumptions(q, 0.1 * np.ones((5, n))):
        claim(isinstance(one, Driven), f"assumptions: a {type(one).__name__}, not a flexctl.models.ranges.Driven")
        claim(0 <= one.sample < 5, f"{one.what}: sample {one.sample} of 5")
        claim(bool(one.value >= 0 and one.bound > 0), f"{one.what}: value {one.value}, bound {one.bound}")


def furthest(model: Any) -> None:
    """Check that it is a number; what is kept is compared with what a record of all states tells elsewhere."""
    claim(isinstance(model.furthest, int) and model.furthest >= 0, f"furthest = {model.furthest!r} is not a count")


def pressed(model: Any) -> None:
    """Check that loads are reported with their sample, and that nothing is where none acts."""
    q, u = np.tile(model.reference(), (5, 1)), np.linspace(0.0, 1.0, 5)[:, None] * np.ones(len(model.inputs))
    for one in model.pressed(q, u):
        claim(isinstance(one, Driven), f"pressed: a {type(one).__name__}, not a flexctl.models.ranges.Driven")
        largest = one.sample == 4 or one.value == 0.0
        claim(largest, f"{one.what}: sample {one.sample}, not the last of 5, where the loads are largest")
        claim(bool(one.value >= 0 and one.bound > 0), f"{one.what}: value {one.value}, bound {one.bound}")
    claim(not any(one.value for one in model.pressed(q, 0.0 * u)), "pressed: forces along links without loads")


def inflow(model: Any) -> None:
    """Check for a number, zero at rest."""
    q = model.reference()
    claim(float(model.inflow(q, 0.0 * q)) == 0.0, "mass enters a model at rest")


def of_itself(model: Any) -> None:
    """Check nothing but the signatures: another check of `flexctl.testing` compares the results."""


def balance(model: Any) -> None:
    """Check the left side by inputs and accelerations against differences."""
    x, p = some_motion(model, spread=1e-3), len(model.inputs)
    u, change = 1e-3 * np.ones(p), np.linspace(0.5, 1.5, p)
    by_input = slope(lambda s: model.balance(x.q, x.v, x.a, u + s * change, 0.0))
    given = -model.input_tangent(x.q, x.v, x.a, u) @ change
    claim(bool(np.allclose(by_input, given, rtol=1e-6, atol=1e-9 * np.abs(given).max(initial=1.0))), "input_tangent")
    by_rate = slope(lambda s: model.balance(x.q, x.v, x.a + s * x.a, u, 0.0))
    wanted = model.tangent(x.q, x.v, x.a, u, np.zeros(0)).mass @ x.a
    scale = np.abs(wanted).max(initial=1e-9)
    claim(bool(np.allclose(by_rate, wanted, rtol=1e-5, atol=1e-6 * scale)), "balance and the mass of tangent differ")


def resting(model: Any) -> None:
    """Check that a point of rest of the other model is one of this model."""
    other = model.resting
    claim(isinstance(other, MechanicalModel), "resting is not a mechanical model")
    zero = np.zeros(len(other.coordinates))
    at = OperatingPoint(other.reference(), zero, zero, np.zeros(len(other.inputs)), np.zeros(len(other.closures)))
    point = model.lifted(at)
    claim(point.q.size == len(model.coordinates), f"lifted has {point.q.size} coordinates")


def smoothed(model: Any) -> None:
    """Check that friction taken and left out both give a model and a point of it."""
    at = OperatingPoint.at_rest(model, model.reference())
    for how in ("viscous", "stick"):
        other, point, said = model.smoothed(at, how)
        claim(isinstance(other, MechanicalModel) and isinstance(said, str), f"smoothed({how!r}) is no model")
        claim(point.q.size == len(other.coordinates), f"smoothed({how!r}) has {point.q.size} coordinates")


def kinked(model: Any) -> None:
    """Check that both answers are yes or no."""
    for name in ("kinks", "sticks"):
        claim(isinstance(getattr(model, name), bool), f"{name} is not True or False")


def rewound(model: Any) -> None:
    """Check that a pose stays the pose that it is, also where it has turned by a whole circle."""
    q, zero = model.reference(), np.zeros(len(model.coordinates))
    np.testing.assert_array_equal(model.rewound(q), q, err_msg="rewound changes the reference pose")
    u = np.zeros(len(model.inputs))
    turned = 2.0 * np.pi * np.array(["_rz" in s.name for s in model.coordinates])
    seen = [model.output(x, zero, zero, u) for x in (q + turned, model.rewound(q + turned))]
    np.testing.assert_allclose(seen[1], seen[0], atol=1e-9, err_msg="rewound changes what sensors read")


def turned_as(model: Any) -> None:
    """Check that the arm inside is as it was, and that the whole is in balance, at rest in the reference pose."""
    inner = model.inner
    if inner.closures:
        return
    q, n = inner.reference(), len(inner.coordinates)
    still, torques = np.zeros(n), [i for i, signal in enumerate(inner.inputs) if signal.name in able.joints_of(inner)]
    u = np.zeros(len(inner.inputs))
    u[torques] = np.linalg.lstsq(inner.input_matrix(q)[:, torques], inner.force(q, still), rcond=None)[0]
    whole = model.turned_as(OperatingPoint(q, still, still, u))
    np.testing.assert_allclose(whole.q[:n], q, err_msg="turned_as moves the arm inside")
    left = model.balance(whole.q, whole.v, whole.a, whole.u)[:n] - inner.force(q, still) + inner.input_matrix(q) @ u
    np.testing.assert_allclose(left, 0.0, atol=1e-8 * (1.0 + np.abs(u).max()), err_msg="turned_as: no balance")


def reversing(model: Any) -> None:
    """Check that the part of a change is a part, and the whole of none."""
    n = len(model.coordinates)
    claim(model.reach(np.zeros(n), np.zeros(n)) == 1.0, "reach of no change is not 1")
    part = model.reach(np.ones(n), np.full(n, -2.0))
    claim(0.0 < part <= 1.0, f"reach is {part}, not a part of the change")


ABILITIES: dict[type, Callable[[Any], None]] = {
    able.Wrapping: lambda model: claim(isinstance(model.inner, MechanicalModel), "inner is not a mechanical model"),
    able.ArmModel: lambda model: claim(bool(model.arm.links), "arm has no links"),
    able.Jointed: joints,
    able.Commandable: commands,
    able.CountedFrom: origins,
    able.MotionLed: led,
    able.Lagging: lags,
    able.PartlyDriven: driven,
    able.Posable: pose,
    able.Outlined: outline,
    able.Restable: rest,
    able.KnowsRestPoint: rest_point,
    able.Startable: start,
    able.RigidlyMovable: rigid_motion,
    able.RigidDynamics: rigid_torques,
    able.RigidTip: rigid_tip,
    able.Spinning: turning,
    able.Turned: turned_as,
    able.Rewinding: rewound,
    able.MassEntering: inflow,
    able.Stepping: stepper,
    able.PayloadChanging: with_payload,
    able.ClosureForces: closure_forces,
    able.ClosureTurn: closure_turn,
    able.CompiledDriven: of_itself,
    able.CompiledHydraulic: of_itself,
    able.ExplicitScheme: stability_limit,
    able.Analysed: analysis,
    able.Inseparable: balance,
    able.Resting: resting,
    able.Smoothable: smoothed,
    able.Kinked: kinked,
    able.Reversing: reversing,
    able.Assuming: assumptions,
    able.FollowsAssumptions: furthest,
    able.Pressed: pressed,
}
"""Every ability of a model, and what is checked of each model that has it."""


def check_signatures(thing: Any, protocol: Any) -> None:
    """Check that each method of a protocol can be called as the protocol says."""
    for name, method in inspect.getmembers(protocol, inspect.isfunction):
        if name.startswith("_"):
            continue
        wanted = list(inspect.signature(method).parameters.values())[1:]
        own = inspect.signature(getattr(thing, name))
        for count in {len(wanted), sum(p.default is p.empty for p in wanted)}:
            try:
                own.bind(*[None] * count)
            except TypeError as error:
                asked = ", ".join(p.name for p in wanted[:count])
                message = f"{type(thing).__name__}.{name}{own} cannot be called as {name}({asked}): {error}"
                raise AssertionError(message) from None


def check_abilities(model: Any) -> list[str]:
    """Check every ability that a model has; return their names."""
    found: list[str] = []
    for protocol, check in ABILITIES.items():
        if _is(model, protocol):
            check_signatures(model, protocol)
            try:
                check(model)
            except AssertionError as error:
                raise AssertionError(f"{model.kind} as {protocol.__name__}: {error}") from error
            found.append(protocol.__name__)
    return found
