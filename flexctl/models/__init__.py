"""The solvers. Each is a class that turns an `Arm` into a `MechanicalModel`; `build` makes one by its registry name.

A new solver is one class with `__init__(self, arm, *, option=default, ...)` and one line in `REGISTRY`; one from
outside of flexctl is named by where its class is (`outside`).
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from ..abilities import Knowing, joints_of
from ..errors import DefinitionError, NotAvailable, unknown
from ..machine.arm import Arm, Joint
from ..machine.given import ArmGiven, as_arm
from ..model import MechanicalModel
from . import outside
from .features import check_features

REGISTRY = {
    "ancf": "flexctl.models.ancf:Ancf",
    "finite_difference": "flexctl.models.finite_difference:FiniteDifference",
    "finite_segment": "flexctl.models.finite_segment:FiniteSegment",
    "assumed_modes": "flexctl.models.assumed_modes:AssumedModes",
    "timoshenko_planar": "flexctl.models.timoshenko_planar:TimoshenkoPlanar",
    "timoshenko_spatial": "flexctl.models.timoshenko_spatial:TimoshenkoSpatial",
}
"""Registry name -> "module:Class"; the module is imported when a model of that kind is built."""


def kinds() -> dict[str, str]:
    """Return every kind of model that has a name, with where its class is: those of flexctl, then installed ones."""
    return {**REGISTRY, **{kind: place for kind, place in outside.announced().items() if kind not in REGISTRY}}


def model_class(kind: str) -> Callable[..., MechanicalModel]:
    """Return the class of a kind of model: a name, or "module:Class" or "file.py:Class" (`flexctl.models.outside`)."""
    if not isinstance(kind, str):
        raise DefinitionError(f"kind of model {kind!r:.60} is a {type(kind).__name__}; {outside.FORMS}")
    if kind not in REGISTRY:
        if not outside.is_outside(kind) and kind not in kinds():
            raise unknown("kind of model", kind, kinds())
        return outside.outside_class(kinds().get(kind, kind))
    module, name = REGISTRY[kind].split(":")
    found: Callable[..., MechanicalModel] = getattr(importlib.import_module(module), name)
    return found


def options(kind: str) -> dict[str, Any]:
    """Return the options of a kind of model with their default values."""
    arguments = list(inspect.signature(model_class(kind)).parameters.values())[1:]
    return {a.name: a.default for a in arguments if a.kind not in (a.VAR_POSITIONAL, a.VAR_KEYWORD)}


def build(arm: ArmGiven, kind: str, **chosen: Any) -> MechanicalModel:
    """Return the model of an arm.

    Parameters
    ----------
    arm : Arm, Plant, str or Path
        The machine, or a plant, whose arm is taken.
    kind : str
        Name of the solver, or where its class is: "module:Class", "file.py:Class".
    **chosen
        Options of that solver; an unknown one is refused.

    Examples
    --------
    >>> arm = fx.load_plant("tokhi_azad_1994").arm
    >>> print(fx.linearise(fx.build(arm, "timoshenko_planar", elements=8)).modes(1))
    1 rigid mode
    mode  frequency [Hz]      [rad/s]  damping [%]
       1         12.0186      75.5149            0
    """
    arm = as_arm(arm)
    known = options(kind)
    for name in chosen:
        if name not in known:
            raise unknown(f"option of {kind}", name, known)
    found = model_class(kind)
    features = found.features if isinstance(found, Knowing) else ()
    from .wrappers.drive import split

    inner, around = split(arm, features, kind)
    if kind not in REGISTRY:
        outside.check_known(inner, kind, features)
    check_features(inner, kind, features)
    try:
        model = found(inner, **chosen) if kind in REGISTRY else outside.made(kind, lambda: found(inner, **chosen))
    except DefinitionError as error:
        if kind in REGISTRY or not around:
            raise
        joints = ", ".join(str(i + 1) for i in around)
        raise DefinitionError(
            f"{error}; the class does not know everything that the file says about joint {joints}, so flexctl put the "
            "whole drive around the model: leave out what the class does not know, or name it in its features"
        ) from error
    return _with_motions(arm, _with_drives(model, around), around)


def _with_drives(model: MechanicalModel, around: Mapping[int, Joint]) -> MechanicalModel:
    """Return the model with motors, gears, friction, springs and play around its joints, by index."""
    if not around:
        return model
    from .wrappers.driven_joints import driven_joints

    torques = {name: torque for torque, name in joints_of(model).items()}
    named = model.inputs[0].name if not torques else ""  # a model of one link that names no joints
    return driven_joints(model, {torques.get(f"joint{i + 1}", named): joint for i, joint in around.items()})


def _with_motions(arm: Arm, model: MechanicalModel, around: Mapping[int, Joint]) -> MechanicalModel:
    """Return the model with joints commanded by their acceleration (drive = "motion") or moved by cylinders.

    around: the drives around its joints, which lead the motor's side of flexible ones already.
    """
    from .wrappers.drive import is_led

    torques: Mapping[str, str] = {name: torque for torque, name in joints_of(model).items()}
    numbers = {drive: [i for i, j in enumerate(arm.joints, 1) if j.drive == drive] for drive in ("motion", "hydraulic")}
    layered = {i + 1 for i, joint in around.items() if is_led(joint)}
    led = {
        drive: {_torque(torques, i, drive): f"joint{i}" for i in found if i not in layered}
        for drive, found in numbers.items()
    }
    if numbers["hydraulic"]:
        from .wrappers.hydraulic import HydraulicDriven

        if numbers["motion"]:
            raise NotAvailable(
                f'joint {numbers["motion"][0]}: drive = "motion" beside a hydraulic joint; give both the same drive'
            )
        return HydraulicDriven(model, led["hydraulic"], [arm.joints[i - 1] for i in numbers["hydraulic"]])
    if led["motion"]:
        from .wrappers.motion_driven import motion_driven

        return motion_driven(model, led["motion"])
    return model


def _torque(torques: Mapping[str, str], number: int, drive: str) -> str:
    """Return the input of a joint that is to be driven otherwise."""
    if f"joint{number}" not in torques:
        raise NotAvailable(f'joint {number}: drive = "{drive}" needs a model that names its torque in `joints`')
    return torques[f"joint{number}"]
