"""Runs in which joints are commanded: what `simulate(.., motions=..)` makes of a model.

A model with its own `stepper` takes commands as they are, flexible joints that torques drive as those whose motors are
led. Any other model that names its `joints` is wrapped by `wrappers.motion_driven` and gets the accelerations of the
motions as inputs; the angles then follow up to the error of the integrator, and the torques are outputs. Servo joints
get angle and rate as inputs in either case, hydraulic ones the angle less the reference angle.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..abilities import Analysed, Resting, Startable, commands_of, joints_of, led_of, origins_of, steps_itself
from ..errors import DefinitionError, NotAvailable, require, unknown
from ..laws.compiled import acts_within_steps
from ..linear.linear_model import LinearModel
from ..linear.state_model import StateModel
from ..model import FloatArray, MechanicalModel, index_of, names
from ..models.wrappers.motion_driven import MotionDriven, motion_driven
from ..motion.moves import InputSignal, Motion, Part, Step, acceleration_of
from ..motion.remembered import Remembered


class Commanded(NamedTuple):
    """The model to run, the motions that its stepper takes, signals for its inputs, and its start (or None)."""

    plant: MechanicalModel
    motions: Mapping[str, Motion]
    signals: Mapping[str, InputSignal]
    start: tuple[FloatArray, FloatArray] | None


def commanded(
    plant: MechanicalModel, law: Any, motions: Mapping[str, Motion] | None, inputs: Mapping[str, InputSignal]
) -> Commanded:
    """Return how to run a model whose joints follow these motions; what is driven by motion otherwise stays put."""
    if not motions:
        return Commanded(plant, {}, {}, None)
    if isinstance(plant, StateModel | LinearModel):
        return Commanded(plant, {}, _of_inputs(plant, law, motions, inputs), None)
    inner = plant.inner if isinstance(plant, MotionDriven) else plant
    torques, servos, origins = joints_of(inner), commands_of(inner), origins_of(inner)
    pairs = zip(led_of(inner), inner.inputs, strict=False)  # cylinders lead joints too, as valves ask them to
    leads = {name: by.name for name, by in pairs if by.unit.endswith("/s^2") and name not in servos}
    joints = {*torques.values(), *servos, *leads}
    # the motor's side of a flexible joint is what is commanded
    found = {name if {name, f"{name}_motor"} & joints <= {name} else f"{name}_motor": x for name, x in motions.items()}
    led = tuple(led_of(plant)) if isinstance(plant, MotionDriven) else tuple(leads)
    if led:  # not asked of arms that lead nothing: some have no pose as they are
        here = dict(zip(names(plant.coordinates), plant.reference().tolist(), strict=True))
        for name in led:
            found.setdefault(name, Step(here[name], here[name]))
    _check(inner, found, joints)
    found |= {joint: Remembered(found[joint]) for joint in servos if joint in found}
    signals: dict[str, InputSignal] = {
        name: Part(found[joint], k, 0.0 if k else origins.get(joint, 0.0))
        for joint in servos
        if joint in found
        for k, name in enumerate(servos[joint])
    }
    for name, by in leads.items():
        _check_followable(name, found[name])
        signals[by] = acceleration_of(found[name])
    taken = {torque for torque, joint in torques.items() if joint in found} | set(signals)
    for name in (*(() if law is None else law.drives), *inputs):
        require(name not in taken, f'"{name}" is driven although its joint is commanded; leave one of them out')
    other = None if plant is not inner else _with_led_motors(inner, [x for x in torques.values() if x in found])
    if other is not None:
        return commanded(other, law, motions, inputs)
    began = None
    if isinstance(inner, Startable):
        began = inner.start({name: [float(x) for x in motion(0.0)[:2]] for name, motion in found.items()})
    continuous = law is not None and law.sample_time == 0
    within = continuous and acts_within_steps(law, inner)
    own = steps_itself(inner) and not (isinstance(inner, Resting) and set(found) & set(torques.values()))
    if own and (within or not continuous):
        return Commanded(inner, found, signals, began)
    analysis = inner.analysis if isinstance(inner, Analysed) else "nonlinear"
    if analysis != "nonlinear":
        raise NotAvailable(f'analysis = "{analysis}" takes no modal damping and no continuous law; use "nonlinear"')
    driven = {torque: joint for torque, joint in torques.items() if joint in found}
    for joint in driven.values():
        _check_followable(joint, found[joint])
    signals |= {f"{joint}_acceleration": acceleration_of(found[joint]) for joint in driven.values()}
    if began is None:
        began = _moved(inner, found)
    return Commanded(motion_driven(inner, driven) if driven else inner, {}, signals, began)


def _with_led_motors(plant: MechanicalModel, joints: list[str]) -> MechanicalModel | None:
    """Return the arm with its flexible joints led at their motors, if that is what is commanded: in compiled steps."""
    if not any(name.endswith("_motor") for name in joints):
        return None
    from ..models.wrappers.led_motors import led_instead  # needs numba

    return led_instead(plant, joints)


def _of_inputs(
    plant: StateModel | LinearModel, law: Any, motions: Mapping[str, Any], inputs: Mapping[str, InputSignal]
) -> dict[str, InputSignal]:
    """Return the signals of inputs of a linear plant that follow the values of motions."""
    for name, motion in motions.items():
        index_of("input of a linear plant that is to follow a motion,", name, plant.inputs)
        require(isinstance(motion, Motion), f'motions["{name}"] is a {type(motion).__name__}; give a Motion')
        twice = name in inputs or (law is not None and name in law.drives)
        require(not twice, f'"{name}" is driven although it follows a motion; leave one of them out')
    return {name: Part(motion, 0) for name, motion in motions.items()}


def _check_followable(joint: str, motion: Motion) -> None:
    """Refuse a motion that its acceleration does not tell in full."""
    for b in motion.breakpoints:
        left, right = (np.array(motion(t)[:2], float) for t in (np.nextafter(b, -np.inf), b))
        if b > 0 and np.any(np.abs(right - left) > 1e-6 * (1.0 + np.abs(left))):
            raise DefinitionError(
                f'motions["{joint}"] jumps in value or rate at t = {b:.6g} s, which no joint can follow; give a motion '
                "with finite accelerations"
            )


def _moved(model: MechanicalModel, motions: Mapping[str, Motion]) -> tuple[FloatArray, FloatArray]:
    """Return the reference pose with the commanded coordinates where their motions begin."""
    q, v = model.reference().copy(), np.zeros(len(model.coordinates))
    for i, coordinate in enumerate(model.coordinates):
        if coordinate.name in motions:
            q[i], v[i] = (float(x) for x in motions[coordinate.name](0.0)[:2])
    return q, v


def _check(model: MechanicalModel, motions: Mapping[str, Any], joints: set[str]) -> None:
    if not joints:
        raise NotAvailable(f"{model.kind} names no joints to command; wrap it by flexctl.models.wrappers.motion_driven")
    for name, motion in motions.items():
        if name not in joints:
            raise unknown(f"commanded joint of {model.kind}", name, joints)
        if not isinstance(motion, Motion):
            kind = type(motion).__name__
            raise DefinitionError(f'motions["{name}"] is a {kind}; give a motion of flexctl.motion.moves')
