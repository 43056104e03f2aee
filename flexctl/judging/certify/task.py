"""The task of a certificate: controller, plant, scenarios, requirements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ...abilities import IsLinear
from ...errors import DefinitionError, require, unknown
from ...laws.given import as_law
from ...laws.motion_command import MotionCommand
from ...machine.given import as_plant
from ...model import names
from ...simulation.simulate import check_law_fits
from ...support.checks import several, table
from .. import scenario as judged_by
from ..scenario import Scenario, design, label
from .requirements import concerns

if TYPE_CHECKING:
    from ...catalogue import Plant


@dataclass(frozen=True, eq=False)
class Task:
    """The controller, plant, scenarios and requirements to examine.

    Attributes
    ----------
    name : str
        The controller's.
    plant : Plant
        The nominal one, for which the law is designed.
    law : Controller
        The law.
    items, bases : tuple of Scenario
        Scenarios of this law, and those of other laws against which they stand.
    chosen : Scenario
        The one that is run on plants that differ.
    requirements : mapping
        What is required, checked.
    scripts : tuple of str
        Scripts that a worker has to load.
    poses : tuple of sequences of float
        Joint angles [rad].
    bits : tuple of int
        Encoder resolutions.
    loads : mapping
        Load steps by input; by default a sixth of its limit, or largest command.
    """

    name: str
    plant: Plant
    law: Any
    items: tuple[Scenario, ...]
    bases: tuple[Scenario, ...]
    chosen: Scenario
    requirements: Mapping[str, Any]
    scripts: tuple[str, ...]
    poses: tuple[Sequence[float], ...]
    bits: tuple[int, ...] = ()
    loads: Mapping[str, float] = field(default_factory=dict)
    poses_of_script: bool = False
    """Whether the script names poses that a linear plant has not."""

    def signals(self) -> set[str]:
        """Return the names of all inputs and outputs of the arms on which the scenarios run, and of what is driven."""
        models = [item.plant(self.plant).model for item in self.items]
        return {*self.law.drives, *(name for model in models for name in names((*model.inputs, *model.outputs)))}


def prepared(
    controller: Any, plant: Any, requirements: Mapping[str, Any] | None, given: Sequence[Scenario] | None,
    only: str | None, model: str | Mapping[str, Any] | None,
) -> Task:
    """Return the task of `flexctl.certify`, nothing of it computed."""
    from ...catalogue import load_controller, own_plant

    script = load_controller(controller) if isinstance(controller, str | Path) else controller
    is_script = isinstance(script, ModuleType)
    own = own_plant(script) if isinstance(script, ModuleType) else None
    where = plant if plant is not None else own
    if where is None:
        raise DefinitionError("name the plant: the controller does not say which (PLANT)")
    arm = as_plant(where)
    given = several("scenarios", () if given is None else given, "[fx.Scenario(...), ...]")
    require(all(isinstance(item, Scenario) for item in given), f"scenarios = {given!r}: give fx.Scenario objects")
    requirements = table("requirements", {} if requirements is None else requirements, '{"disk_margin": 0.3}')
    if is_script:
        law, items = design(script, arm), list(given or judged_by.scenarios(script, arm))
    else:
        law, items = controller, list(given)
        require(bool(items), "a law without a script needs scenarios=[Scenario(...), ...] to be run")
    judged_by.say_what_scenarios_set(arm, items)
    every, law, items = items, as_law(law), [item for item in items if item.law is None]
    require(bool(items), "all scenarios have laws of their own: there is none to examine this one with")
    if model is not None:
        every, items = ([item.in_formulation(model, arm) for item in some] for some in (every, items))
    against = {item.against for item in items}
    bases = tuple(item for item in every if item.law is not None and item.name in against)
    chosen = items[0] if only is None else next((item for item in items if item.name == only), None)
    if chosen is None:
        raise unknown("scenario", str(only), [item.name for item in items])
    own = getattr(script, "REQUIREMENTS", {})  # of these, what speaks of the scenarios given
    own = {key: bound for key, bound in own.items() if not given or any(concerns(key, item.name) for item in items)}
    stated = {**own, **requirements}
    if not isinstance(law, MotionCommand):  # such a law moves joints that have no torque to drive
        for item in items:  # here once, instead of in every run
            if not item.options.get("motions"):
                check_law_fits(item.plant(arm).model, law)
    path = getattr(script, "__file__", None) if is_script else None
    poses = tuple(getattr(script, "POSES", ())) if is_script else ()
    left = isinstance(arm, IsLinear) and bool(poses)
    poses = () if left else poses
    name = label(script).removesuffix(".py") if is_script else type(law).__name__
    scripts = (str(path),) if path else ()
    return Task(name, arm, law, tuple(items), bases, chosen, stated, scripts, poses, poses_of_script=left)
