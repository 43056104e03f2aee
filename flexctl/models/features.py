"""Features of an arm that not every model supports, and the one check by which a model refuses the others.

A model class names what it knows in `features`; the words are the keys of `Arm.features()`. The models that solve
exactly in frequency (`EXACT`) go through the same check as the solvers of the registry.
"""

from __future__ import annotations

import importlib
from collections.abc import Collection

from ..abilities import Knowing
from ..errors import DefinitionError, NotAvailable, require
from ..machine.arm import Arm
from ..machine.given import refused

EXACT = {
    "exact_beam": "flexctl.exact.euler_bernoulli:ExactBeam",
    "transfer_matrix": "flexctl.exact.transfer_matrix:TransferMatrixArm",
}
"""Exact models in frequency, name -> "module:Class"; they are no solvers and not in the registry."""

_SERIAL = ("ancf", "finite_segment", "assumed_modes", "timoshenko_planar", "timoshenko_spatial")
OTHERS = {"links": _SERIAL, "gravity": _SERIAL, "actuator": (*_SERIAL, "finite_difference")}
"""Features that models refuse with messages of their own -> the kinds that support them; a test builds them."""

_PLANE = ": links bend in the plane alone, by second_moment, and without it everything there is the same"
_REASONS = {"second_moment_y": _PLANE, "torsion_constant": _PLANE}
"""Why a feature is refused, where that is not plain."""

LAYERED = frozenset({
    "friction_law", "motor", "cubic_stiffness", "backlash", "joint_stiffness", "joint_friction", "rotor_inertia",
    "servo_drive", "voltage_drive", "current_drive", "free_drive",
})
"""Features that `models.wrappers.driven_joints` puts around a model of the registry that does not know it by itself."""


def takers(word: str) -> str:
    """Return the kinds that take what is named in `OTHERS`, for a message."""
    return ", ".join(OTHERS[word])


def known_features(kind: str) -> frozenset[str]:
    """Return the features that a kind of model, of the registry or exact, knows."""
    from . import REGISTRY

    module, name = (REGISTRY | EXACT)[kind].split(":")
    found = vars(importlib.import_module(module))[name]
    return frozenset(found.features if isinstance(found, Knowing) else ())


def check_features(arm: Arm, kind: str, known: Collection[str]) -> None:
    """Raise `DefinitionError` when the arm has a feature that is not among the known ones.

    The message names the models that can take the arm, or else those that know the feature.
    """
    for feature, place in arm.features().items():
        if feature not in known:
            reason = _REASONS.get(feature, "")
            what = feature.replace("_", " ")
            raise DefinitionError(f"{kind} has no {what} ({place}){reason}; {_remedy(arm, feature)}")


def check_exact(arm: Arm, kind: str, known: Collection[str]) -> None:
    """Refuse what an exact model in frequency does not have: weight, unknown features, forces along links."""
    pull = f"gravity = {tuple(arm.gravity)} m/s^2"
    require(not any(arm.gravity), f"{kind} has no weight, {pull}; set it to zero, or use {takers('gravity')}")
    check_features(arm, kind, known)
    if arm.actuators and "actuator" not in known:
        exact = "TransferMatrixArm, exact for loads at a point"
        remedy = f"remove the [[actuator]] tables, or use {exact}; {takers('actuator')}"
        raise NotAvailable(f"{kind} has no forces along a link; {remedy}")


def check_bare(arm: Arm, kind: str, known: Collection[str]) -> None:
    """Refuse an arm whose joints have drives that a class of models would leave out when it is called by itself."""
    if not isinstance(arm, Arm):
        raise refused("an arm", arm, "an Arm", f'fx.build(.., "{kind}") takes a Plant, its name or path too')
    for feature, place in arm.features().items():
        if feature in LAYERED and feature not in known:
            what = feature.replace("_", " ")
            raise DefinitionError(f'{kind} by itself has no {what} ({place}); fx.build(arm, "{kind}") puts it around')


def _remedy(arm: Arm, feature: str) -> str:
    from . import REGISTRY

    models = {kind: known_features(kind) | LAYERED for kind in REGISTRY}
    knowing = ", ".join(kind for kind, features in models.items() if feature in features)
    able = ", ".join(kind for kind, features in models.items() if features >= arm.features().keys())
    if able:
        return f"leave it out, or use a model that has all that this arm has: {able}"
    if knowing:
        return f"leave it out, or use a model that has it ({knowing}) and leave out what that one refuses"
    return "leave it out; no model has it"
