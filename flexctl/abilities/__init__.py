"""Abilities of a model or a plant beyond `MechanicalModel`, one small Protocol for each ability.

A model has an ability by having the attributes; nothing is inherited or registered. Whoever needs one asks by
`isinstance(model, Posable)` and then uses the attributes as usual, or takes a function below that has an answer for
models without it. Nowhere else is a model searched for names; a test holds that. `flexctl.testing` checks each
ability of every model that has it. The abilities of control laws stand in `flexctl.laws.abilities`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .models import (
    ArmModel as ArmModel,
)
from .models import (
    Commandable as Commandable,
)
from .models import (
    CountedFrom as CountedFrom,
)
from .models import (
    Inseparable as Inseparable,
)
from .models import (
    Jointed as Jointed,
)
from .models import (
    KnowsRestPoint as KnowsRestPoint,
)
from .models import (
    Lagging as Lagging,
)
from .models import (
    MassEntering as MassEntering,
)
from .models import (
    MotionLed as MotionLed,
)
from .models import (
    Outlined as Outlined,
)
from .models import (
    PartlyDriven as PartlyDriven,
)
from .models import (
    Posable as Posable,
)
from .models import (
    Restable as Restable,
)
from .models import (
    Resting as Resting,
)
from .models import (
    Rewinding as Rewinding,
)
from .models import (
    RigidDynamics as RigidDynamics,
)
from .models import (
    RigidlyMovable as RigidlyMovable,
)
from .models import (
    RigidTip as RigidTip,
)
from .models import (
    Smoothable as Smoothable,
)
from .models import (
    Spinning as Spinning,
)
from .models import (
    Startable as Startable,
)
from .models import (
    Turned as Turned,
)
from .models import (
    Wrapping as Wrapping,
)
from .plants import (
    Documented as Documented,
)
from .plants import (
    Gains as Gains,
)
from .plants import (
    HasArm as HasArm,
)
from .plants import (
    HasModel as HasModel,
)
from .plants import (
    Identified as Identified,
)
from .plants import (
    IsLinear as IsLinear,
)
from .plants import (
    Knowing as Knowing,
)
from .plants import (
    KnowsPoles as KnowsPoles,
)
from .plants import (
    LinearFeedback as LinearFeedback,
)
from .plants import (
    PayloadChecking as PayloadChecking,
)
from .plants import (
    Preparable as Preparable,
)
from .plants import (
    SampledModel as SampledModel,
)
from .stepping import (
    Analysed as Analysed,
)
from .stepping import (
    Assuming as Assuming,
)
from .stepping import (
    ClosureForces as ClosureForces,
)
from .stepping import (
    ClosureTurn as ClosureTurn,
)
from .stepping import (
    CompiledDriven as CompiledDriven,
)
from .stepping import (
    CompiledHydraulic as CompiledHydraulic,
)
from .stepping import (
    ContinuousLoop as ContinuousLoop,
)
from .stepping import (
    ExplicitScheme as ExplicitScheme,
)
from .stepping import (
    FollowsAssumptions as FollowsAssumptions,
)
from .stepping import (
    Kinked as Kinked,
)
from .stepping import (
    PayloadChanging as PayloadChanging,
)
from .stepping import (
    Pressed as Pressed,
)
from .stepping import (
    Reversing as Reversing,
)
from .stepping import (
    Stepping as Stepping,
)

if TYPE_CHECKING:
    from ..model import FloatArray, Signal


def within(model: Any) -> Any:
    """Return the model inside a wrapper, or the model itself."""
    return model.inner if isinstance(model, Wrapping) else model


def innermost(model: Any) -> Any:
    """Return the model of the arm itself, without anything around it."""
    while isinstance(model, Wrapping):
        model = model.inner
    return model


def plain_model(system: Any) -> Any:
    """Return the model of a plant; anything else is returned as it is."""
    return system.model if isinstance(system, HasModel) else system


def has_kinks(model: Any) -> bool:
    """Whether the forces of a model, or of one inside it, may have kinks."""
    return any(isinstance(one, Kinked) and one.kinks for one in layers(model))


def sticks(model: Any) -> bool:
    """Whether a joint of a model, or of one inside it, may stick and break away."""
    return any(isinstance(one, Kinked) and one.sticks for one in layers(model))


def reach(model: Any, rates: FloatArray, change: FloatArray) -> float:
    """Return the part of a change of the rates of a model that Newton may take at once; see `Reversing`."""
    part = 1.0
    for one in layers(model):
        n = len(one.coordinates)
        if isinstance(one, Reversing):
            part = min(part, one.reach(rates[:n], change[:n]))
    return part


def layers(model: Any) -> Iterator[Any]:
    """Yield a model and what is inside of it."""
    yield model
    while isinstance(model, Wrapping):
        model = model.inner
        yield model


def joints_of(model: Any) -> Mapping[str, str]:
    """Return the coordinate of each joint that is driven by torque, by input; empty where a model names none."""
    return model.joints if isinstance(model, Jointed) else {}


def commands_of(model: Any) -> Mapping[str, Sequence[str]]:
    """Return the inputs of each joint that follows a command, by coordinate; empty where a model names none."""
    return model.commands if isinstance(model, Commandable) else {}


def origins_of(model: Any) -> Mapping[str, float]:
    """Return from where commands count, by coordinate; empty where they count from zero."""
    return model.origins if isinstance(model, CountedFrom) else {}


def lags_of(model: Any) -> Mapping[str, Signal]:
    """Return the coordinates of which the rate alone means something, and what it is; empty where there are none."""
    return model.lags if isinstance(model, Lagging) else {}


def led_of(model: Any) -> Sequence[str]:
    """Return the coordinates that are driven by motion."""
    return model.led if isinstance(model, MotionLed) else ()


def steps_itself(model: Any) -> bool:
    """Whether a model is stepped by its own compiled stepper."""
    return isinstance(model, Stepping) and bool(model.own_stepper)


def sample_time_of(model: Any) -> float:
    """Return the sample time of a linear plant or frequency model [s]; 0: continuous."""
    return float(model.dt) if isinstance(model, SampledModel) else 0.0


def provenance_of(system: Any) -> Mapping[str, Any]:
    """Return where the numbers of a plant or linear plant come from; empty where it does not say."""
    return system.provenance if isinstance(system, Documented) else {}


def kind_of(system: Any) -> str:
    """Return what a message calls a model or something in its place."""
    from ..model import MechanicalModel  # this module stands below it

    return system.kind if isinstance(system, MechanicalModel) else type(system).__name__
