"""The solvers. Each is a class that turns an `Arm` into a `MechanicalModel`; `build` makes one by its registry name.

A new solver is one class with `__init__(self, arm, *, option=default, ...)` and one line in `REGISTRY`.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any

from ..arm import Arm
from ..errors import unknown
from ..model import MechanicalModel

REGISTRY = {"finite_difference": "flexctl.models.finite_difference:FiniteDifference"}
"""Registry name -> "module:Class"; the module is imported when a model of that kind is built."""


def model_class(kind: str) -> Callable[..., MechanicalModel]:
    """Return the class of a kind of model."""
    if kind not in REGISTRY:
        raise unknown("kind of model", kind, REGISTRY)
    module, name = REGISTRY[kind].split(":")
    found: Callable[..., MechanicalModel] = getattr(importlib.import_module(module), name)
    return found


def options(kind: str) -> dict[str, Any]:
    """Return the options of a kind of model with their default values."""
    arguments = list(inspect.signature(model_class(kind)).parameters.values())[1:]
    return {a.name: a.default for a in arguments}


def build(arm: Arm, kind: str, **chosen: Any) -> MechanicalModel:
    """Return the model of an arm.

    Parameters
    ----------
    arm : Arm
        The machine.
    kind : str
        Registry name of the solver.
    **chosen
        Options of that solver; an unknown one is refused.
    """
    known = options(kind)
    for name in chosen:
        if name not in known:
            raise unknown(f"option of {kind}", name, known)
    return model_class(kind)(arm, **chosen)
