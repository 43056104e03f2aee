"""Arguments accepted where a function asks for a plant, a model or a linear plant: one rule for all of them.

    a model         a `Plant`, a model, the name of a plant of the catalogue, the path of a plant file, a `SecondOrder`
    a linear plant  any of these, linearised at rest (`flexctl.rest_point`), a `SecondOrder`, a `FirstOrder`, a
                    python-control system, the path of a saved linear plant
    an arm          a `Plant`, its name or path, an `Arm`
    what runs       a model or a linear plant, or a measured response (of python-control, too), to which a plant is
                    fitted (`identify.fitted`)

Anything else is refused (`DefinitionError`) with what was given and what is taken.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from ..abilities import Gains, HasArm, IsLinear, plain_model
from ..errors import DefinitionError
from ..model import MechanicalModel
from .arm import Arm

if TYPE_CHECKING:
    import control

    from ..catalogue import Plant
    from ..linear import FirstOrder, SecondOrder

    ArmGiven: TypeAlias = Plant | Arm | str | Path
    ModelGiven: TypeAlias = Plant | MechanicalModel | SecondOrder | str | Path
    LinearGiven: TypeAlias = Plant | MechanicalModel | SecondOrder | FirstOrder | control.StateSpace | str | Path
else:  # for annotations alone
    ArmGiven = ModelGiven = LinearGiven = Any

MEASURED = (".csv", ".uff", ".unv")
"""Files of measured frequency responses alone."""
SAVED = (".mat", ".npz", ".json", ".mtx", *MEASURED)
"""Files of linear plants and of measured responses; any other path is that of a plant file."""
FIT = "fit a plant to it first (fx.identify.modal), or ask for its margins (fx.margins, flexctl margins)"
"""Advice for a measured response where a plant is needed."""
PLANT = "a Plant, the name of one or the path of its file"
MODEL = f"{PLANT}, a mechanical model or a SecondOrder"
LINEAR = f"{PLANT}, a mechanical model, a SecondOrder, a FirstOrder or a control.StateSpace"


def refused(wanted: str, given: object, taken: str, remedy: str = "") -> DefinitionError:
    """Return the error for something that is not what a function needs.

    Parameters
    ----------
    wanted : str
        What the function needs, "a linear plant".
    given : object
        What it got.
    taken : str
        What it takes.
    remedy : str
        What to do about it, where that is known.
    """
    said = "None" if given is None else f"{given!r:.40}" if isinstance(given, int | float | complex) else ""
    text = said or f"a {type(given).__name__}"
    return DefinitionError(f"{text} is not {wanted}: give {taken}{remedy and '; ' + remedy}")


def lines_of(given: Any) -> Any:
    """Return frequency response data of python-control as a `FrequencyResponse`; anything else as it is."""
    control = sys.modules.get("control")  # it need not be loaded to know
    if control is None or not isinstance(given, control.FrequencyResponseData):
        return given
    from ..io.python_control import response_from_control

    return response_from_control(given)


def opened(given: Any) -> Any:
    """Return the plant, or the saved linear plant, of a name or path; anything else as `lines_of` does."""
    if not isinstance(given, str | Path):
        return lines_of(given)
    if Path(given).suffix.lower() in SAVED:
        from ..io.python_control import load_any

        return load_any(given)
    from ..catalogue import load_plant

    return load_plant(given)


def linear_kinds() -> tuple[type, ...]:
    """Return the classes of linear plants."""
    from ..linear import FirstOrder, SecondOrder

    return SecondOrder, FirstOrder


def as_plant(given: Any) -> Plant:
    """Return a plant, or that of a name or path, a linear plant as one, or raise `DefinitionError`."""
    from ..catalogue import Plant, load_plant

    found: Any = load_plant(given) if isinstance(given, str | Path) else lines_of(given)
    if is_measured(found):
        from ..identify.fitted import fitted_plant

        return fitted_plant(found)
    if isinstance(found, linear_kinds()) or is_control(found):
        from ..catalogue.linear_plant import LinearSystem

        return LinearSystem(as_linear(found))
    if not isinstance(found, Plant):
        raise refused("a plant", found, f"{PLANT}, a SecondOrder, a FirstOrder or a control.StateSpace")
    return found


def as_arm(given: Any) -> Arm:
    """Return an arm, or that of a plant, or raise `DefinitionError`."""
    found = opened(given)
    arm = found.arm if isinstance(found, HasArm) else found
    if not isinstance(arm, Arm):
        raise refused("an arm", found, f"an Arm, {PLANT}")
    return arm


def as_runnable(given: Any) -> Any:
    """Return a plant fitted to a measured response, or to that in a file; anything else as `opened` does."""
    found = opened(given)
    return as_plant(given) if is_measured(found) else found


def as_simulated(given: Any) -> MechanicalModel:
    """Return what `simulate` runs: a model as `as_model` returns it, or a plant in states as one."""
    from ..linear import FirstOrder
    from ..linear.state_model import StateModel

    found = as_runnable(given)
    inside = plain_model(found)
    if isinstance(inside, StateModel):
        return inside
    if isinstance(found, FirstOrder) or is_control(found):
        return StateModel(as_first_order(found))
    try:
        return as_model(found)
    except DefinitionError as error:
        raise DefinitionError(str(error).replace(MODEL, f"{MODEL}, a FirstOrder or a control.StateSpace")) from error


def as_model(given: Any) -> MechanicalModel:
    """Return the mechanical model of a plant, a model itself, or a linear plant made movable."""
    from ..linear import FirstOrder, SecondOrder
    from ..linear.state_model import StateModel

    found = opened(given)
    if isinstance(found, SecondOrder):
        from ..linear.linear_model import LinearModel

        return LinearModel(found)
    model = plain_model(found)
    in_states = isinstance(model, StateModel)
    if isinstance(model, MechanicalModel) and not isinstance(model, type) and not in_states:
        return model
    has, wanted = set(dir(model)), {name for name in dir(MechanicalModel) if not name.startswith("_")}
    remedy = f"as a model it lacks {', '.join(sorted(wanted - has))}" if {"mass", "force"} <= has else ""
    if isinstance(found, Arm):
        remedy = "fx.build(arm, kind) makes a model of an Arm"
    elif isinstance(found, Gains):
        remedy = FIT
    elif isinstance(found, FirstOrder) or in_states or is_control(found):
        remedy = "it has states, not coordinates with mass and stiffness; fx.from_matrices(M=.., K=..) makes a plant"
    raise refused("a mechanical model", found, MODEL, remedy)


def as_linear(given: Any) -> SecondOrder | FirstOrder:
    """Return a linear plant, or that of a plant, model or python-control system."""
    from ..linear import FirstOrder, SecondOrder, linearise

    found = opened(given)
    if isinstance(found, IsLinear):
        return found.linear_plant
    if isinstance(found, SecondOrder | FirstOrder):
        return found
    if is_control(found):
        from ..io.python_control import from_control

        return from_control(found)
    if isinstance(plain_model(found), MechanicalModel):
        return linearise(found)
    raise refused("a linear plant", found, LINEAR, FIT if isinstance(found, Gains) else "")


def as_second_order(given: Any, why: str = "it needs mass, damping and stiffness") -> SecondOrder:
    """Return a linear plant of second order, as `as_linear` does; one of first order is refused, and why."""
    from ..linear import FirstOrder

    found = as_linear(given)
    if isinstance(found, FirstOrder):
        taken = f"{PLANT}, a mechanical model or a SecondOrder"
        raise refused("a linear plant of second order", given, taken, why)
    return found


def as_first_order(given: Any) -> FirstOrder:
    """Return a linear plant of first order, as `as_linear` does; one of second order in modal coordinates."""
    from ..linear import FirstOrder

    found = as_linear(given)
    return found if isinstance(found, FirstOrder) else found.first_order()


def is_measured(system: Any) -> bool:
    """Whether something is a frequency response of data, behind which there is no model."""
    return isinstance(system, Gains) and system.source is None


def is_control(system: Any) -> bool:
    """Whether something is a linear system of python-control, which need not be loaded to know."""
    control = sys.modules.get("control")
    return control is not None and isinstance(system, control.StateSpace | control.TransferFunction)
