"""Scenarios: the runs by which a controller is judged, and the loop over them.

A controller script (`controllers/NAME.py`, or any file) is a plain module, which needs `import flexctl as fx` alone:

    '''One line that says what it is.'''          first line of the docstring: shown by `flexctl list`
    PLANT = "tokhi_azad_1994"                     optional: the plant it is made for
    REQUIREMENTS = {"disk_margin": 0.3}           optional: what `flexctl certify` holds it to
    POSES = [(0.0, 1.57)]                         optional: joint angles at which that looks at the linear loop too
    def design(plant): ...                        -> Controller (or LinearLaw, or control.StateSpace)
    def scenarios(plant): ...                     -> list of Scenario
    if __name__ == "__main__":
        fx.main(__name__)                         the same as `flexctl run NAME -o out`

The controller is designed once, on the nominal plant; every scenario then runs it on its own variant of that plant.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..abilities import LinearFeedback
from ..errors import DefinitionError, FlexctlError, NotAvailable, caution, require, unknown
from ..laws.given import as_law, feedback_of
from ..laws.linear_part import linear_law
from ..machine.given import as_plant
from ..motion.moves import InputSignal, Motion
from ..motion.track import Track, track_of
from ..simulation.defaults import DEFAULT, LEAST_RTOL
from ..simulation.response import Response
from ..simulation.simulate import simulate
from ..support.checks import table
from ..support.kinds import AnyLaw, LawGiven
from .workers import frames_of

if TYPE_CHECKING:
    from ..catalogue import Plant
    from ..frequency import Margins
    from ..linear import LinearPlant
    from ..simulation.path_stability import PathStability

Progress = Callable[[str, float], None]
"""Receives the name of the run and the fraction of it that is done."""
MOST = 4
"""So many scenarios are named in a message."""


def model_table(model: str | Mapping[str, Any]) -> dict[str, Any]:
    """Return the table [model] of a formulation given by its kind or as that table; empty for none."""
    if isinstance(model, str):
        return {"kind": model} if model else {}
    require("kind" in model, f'{dict(model)} names no kind of model; write {{"kind": "ancf", "elements": 16}}')
    return dict(model)


@dataclass(frozen=True, eq=False)
class Scenario:
    """One run of a controller on one variant of a plant.

    Attributes
    ----------
    name : str
        Label in tables and legends; unique within a script.
    reference : motion or mapping
        What the law's channels follow; a single motion goes to all channels. Empty for a law that follows nothing.
    duration : float
        Length of the run [s].
    overrides : mapping
        How the plant of this run differs from the nominal one, e.g. ``{"payload.mass": 0.02}``.
    inputs : mapping
        Signals added to named inputs: disturbances.
    payload : sequence of (time [s], mass [kg], inertia [kg m^2])
        Changes of the payload during the run.
    options : mapping
        Further arguments of `flexctl.simulate`: step, method, scheme, initial, record_states.
    law : Controller, optional
        Another law for this run, to compare the script's own with.
    formulation : str or mapping
        Kind of model in which the arm is run instead of the plant's own, or "kind" and options, like the table [model]
        of a plant file. Every formulation has the same names for the same signals.
    against : str
        Name of the scenario with which the vibration that this one leaves is compared.

    Examples
    --------
    >>> item = fx.Scenario("5 deg, 20 g", fx.quintic(0.0, 0.0873, 0.4), 1.2, {"payload.mass": 0.02})
    >>> arm = fx.load_plant("tokhi_azad_1994")
    >>> run = item.run(fx.load_controller("tokhi_azad_lqg").design(arm), arm)
    >>> print(f"{run.scores['chord1_angle.settle_1pct_s']:.2f} s")
    0.43 s
    """

    name: str
    reference: Motion | Mapping[str, Motion]
    duration: float
    overrides: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, InputSignal] = field(default_factory=dict)
    payload: Sequence[tuple[float, float, float]] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    law: LawGiven = None
    formulation: str | Mapping[str, Any] = ""
    against: str = ""

    def __post_init__(self) -> None:
        require(isinstance(self.name, str), f"name = {self.name!r} of a scenario is not a text")
        for key in ("overrides", "inputs", "options"):
            table(f'{key} of scenario "{self.name}"', getattr(self, key), '{"NAME": value}')

    @property
    def track(self) -> Track | None:
        """The track that the tip follows, if it follows one."""
        motions = self.reference if isinstance(self.reference, Mapping) else {"": self.reference}
        return track_of(motions.values())

    def plant(self, nominal: Plant) -> Plant:
        """Return the variant of the nominal plant that this run uses."""
        arm = nominal.with_(overrides=self.overrides) if self.overrides else nominal
        wanted = model_table(self.formulation)
        return arm.with_(model=wanted) if wanted and wanted != {"kind": arm.kind} else arm

    def in_formulation(self, model: str | Mapping[str, Any], nominal: Plant) -> Scenario:
        """Return the scenario on another kind of model; how the first one is integrated says nothing about that."""
        if model_table(model) == {"kind": self.plant(nominal).kind}:
            return self
        options = {key: value for key, value in self.options.items() if key not in ("method", "scheme")}
        if not callable(options.get("initial")):  # coordinates of the other model
            options.pop("initial", None)
        return replace(self, formulation=model, options=options)

    def finer(self) -> Scenario:
        """Return the scenario at an eighth of its tolerance, or in half of its steps where they are given.

        The error of a run then is a quarter of what it was.
        """
        options = dict(self.options)
        if options.get("step") is not None:
            options["step"] *= 0.5
        else:
            options["rtol"] = max(options.get("rtol", DEFAULT) / 8.0, LEAST_RTOL)
        return replace(self, options=options)

    def own_law(self, controller: LawGiven | None) -> Any:
        """Return the law of this run: its own, or else the script's controller."""
        return as_law(controller if self.law is None else self.law)

    def run(
        self, controller: LawGiven | None, nominal: Plant, progress: Callable[[float], None] | None = None
    ) -> Response:
        """Return the run of a controller on this scenario's variant of the nominal plant."""
        law = self.own_law(controller)
        return simulate(
            self.plant(nominal), law, self.motions(law) or None, duration=self.duration, inputs=self.inputs,
            payload=self.payload, progress=progress or False, **self.options,
        )

    def motions(self, law: AnyLaw | None) -> dict[str, Motion]:
        """Return the motion of every channel of a law."""
        found = self.reference
        if isinstance(found, Mapping):
            return dict(found)
        return dict.fromkeys(() if law is None else law.follows, found)


def moves_with_payloads(
    moves: Mapping[str, Motion], payloads: Iterable[float], duration: float, settings: Mapping[str, Any], **options: Any
) -> list[Scenario]:
    """Return a scenario for every move with every payload.

    Parameters
    ----------
    moves : mapping
        Motions by name, e.g. ``{"5 deg": quintic(0.0, 0.0873, 0.4)}``.
    payloads : iterable of float
        Payload masses [kg].
    duration : float
        Length of each run [s].
    settings : mapping
        Overrides that all the plants share.
    **options
        Further arguments of `flexctl.simulate`.

    Examples
    --------
    >>> items = fx.moves_with_payloads({"5 deg": fx.quintic(0.0, 0.0873, 0.4)}, (0.0, 0.02), 1.2, {})
    >>> [item.name for item in items]
    ['5 deg, 0 g', '5 deg, 20 g']
    """
    return [
        Scenario(f"{name}, {1e3 * mass:g} g", move, duration, {**settings, "payload.mass": mass}, options=options)
        for name, move in moves.items()
        for mass in payloads
    ]


def say_what_scenarios_set(plant: Plant, items: Sequence[Scenario], asked: Iterable[str] | None = None) -> None:
    """Warn of values of the plant that do not reach the runs, since scenarios set the same keys.

    Parameters
    ----------
    plant : Plant
        The nominal plant, with overrides.
    items : sequence of Scenario
        What is run on it.
    asked : iterable of str, optional
        The keys that were asked for; by default all in which the plant differs from its file.
    """
    for key in plant.overrides if asked is None else asked:
        lost = [item for item in items if key in item.overrides and item.overrides[key] != plant.overrides.get(key)]
        told = ", ".join(f'"{item.name}" ({item.overrides[key]})' for item in lost[:MOST])
        more = f" and {len(lost) - MOST} more" if len(lost) > MOST else ""
        if lost:
            caution(
                f"{key} = {plant.overrides.get(key)} does not reach the runs of scenarios that set it themselves: "
                f"{told}{more}; at most the law is designed with it"
            )


@contextmanager
def written_for(script: ModuleType, plant: Plant) -> Iterator[None]:
    """Say for which plant a script was written when it does not fit another one."""
    try:
        yield
    except (DefinitionError, NotAvailable) as error:
        own = Path(str(getattr(script, "PLANT", ""))).stem
        name = getattr(plant, "name", own)
        told = f"{label(script)} was written for {own}"
        if not own or name == own or told in str(error):
            raise
        raise type(error)(f"{told} and does not fit {name}: {error}") from error


def design(script: ModuleType, plant: Plant) -> Any:
    """Return the script's controller for a plant; an error inside the script names its line."""
    with written_for(script, plant), blamed(script):
        controller = script.design(plant)
    require(controller is not None, f"{label(script)}: design(plant) returned nothing; return the controller")
    return controller


def scenarios(script: ModuleType, plant: Plant, only: Iterable[str] = ()) -> list[Scenario]:
    """Return the script's scenarios, all of them or those named."""
    make = getattr(script, "scenarios", None)
    if not callable(make):
        raise DefinitionError(
            f"{label(script)} has no function scenarios(plant); add one that returns a list of "
            "fx.Scenario objects, or run one case: "
            "flexctl simulate PLANT --controller ... --reference ... --duration ..."
        )
    with written_for(script, plant), blamed(script):
        made = make(plant)
    listed = isinstance(made, Iterable) and not isinstance(made, str | Mapping)
    told = f"{label(script)}: scenarios(plant) returned {type(made).__name__}"
    require(listed, f"{told}; return a list of Scenario objects")
    with blamed(script):
        found = list(made)
    wrong = [type(item).__name__ for item in found if not isinstance(item, Scenario)]
    require(not wrong, f"{label(script)}: scenarios(plant) returned {', '.join(wrong)}; return Scenario objects")
    table = {item.name: item for item in found}
    require(bool(found), f"{label(script)}: scenarios(plant) returned an empty list")
    require(len(table) == len(found), f"{label(script)}: two scenarios share a name: {[s.name for s in found]}")
    for name in only:
        if name not in table:
            raise unknown("scenario", name, table)
    return [table[name] for name in only] or found


def run_scenarios(
    script: ModuleType,
    plant: Plant,
    progress: Progress | None = None,
    *,
    controller: LawGiven = None,
    only: Iterable[str] = (),
    method: str | None = None,
    record_states: bool = False,
    law_as: Callable[[Any], Any] | None = None,
) -> list[tuple[Scenario, Response]]:
    """Design the controller once on the nominal plant and run it through the script's scenarios.

    Parameters
    ----------
    script : module
        A controller script; see `flexctl.load_controller`.
    plant : Plant
        The nominal plant.
    progress : callable, optional
        Called with the scenario's name and the fraction of its run that is done.
    controller : Controller, optional
        A controller that is already designed.
    only : iterable of str, optional
        Names of the scenarios to run, in this order.
    method : str, optional
        Method of integration for all runs, in place of the scenarios' own.
    record_states : bool
        Keep coordinates and rates of every run, e.g. to draw the arm.
    law_as : callable, optional
        What every law is turned into before it runs, e.g. `flexctl.compiled_c`: software in the loop.

    Examples
    --------
    >>> script = fx.load_controller("tokhi_azad_lqg")
    >>> runs = fx.run_scenarios(script, fx.load_plant(script.PLANT), only=["5 deg, 0 g"])
    >>> [(item.name, run.outputs[0].name) for item, run in runs]
    [('5 deg, 0 g', 'joint1_angle')]
    """
    plant = as_plant(plant)
    wanted = scenarios(script, plant, only)
    say_what_scenarios_set(plant, wanted)
    more: dict[str, Any] = {"method": method} if method is not None else {}
    if record_states:
        more["record_states"] = True
    wanted = [replace(item, options={**item.options, **more}) for item in wanted]
    law = design(script, plant) if controller is None else controller
    if law_as is not None:
        law, turn = law_as(law), law_as
        wanted = [item if item.law is None else replace(item, law=turn(item.law)) for item in wanted]
    runs = []
    for item in wanted:
        report = None if progress is None else _reporter(progress, item.name)
        with written_for(script, plant), blamed(script):
            runs.append((item, item.run(law, plant, report)))
    return runs


def on_plants(
    script: ModuleType,
    plants: Mapping[str, Plant],
    progress: Progress | None = None,
    *,
    controller: Any = None,
    **options: Any,
) -> dict[str, list[tuple[Scenario, Response]]]:
    """Run one controller through the same scenarios on several plants: other models of one arm, say.

    Parameters
    ----------
    script : module
        A controller script.
    plants : mapping
        Plants by label. The controller is designed on the first one.
    progress, controller
        As for `run_scenarios`.
    **options
        The others of `run_scenarios`: only, method, record_states, law_as.

    Returns
    -------
    dict
        The runs by the plant's label.
    """
    require(bool(plants), "no plant to run on")
    law = design(script, next(iter(plants.values()))) if controller is None else controller
    found = {}
    for name, plant in plants.items():
        report = None if progress is None else _labelled(progress, name)
        found[name] = run_scenarios(script, plant, report, controller=law, **options)
    return found


def path_stabilities(controller: Any, plant: Plant, items: Sequence[Scenario]) -> dict[str, PathStability]:
    """Return the stability of the linear loop along the path of every scenario in which the tip follows one."""
    from ..simulation.path_stability import path_stability

    found: dict[str, PathStability] = {}
    for item in items:
        track = item.track
        law = as_law(controller if item.law is None else item.law)
        if track is not None and isinstance(law, LinearFeedback):
            found[item.name] = path_stability(item.plant(plant), law, track)
    return found


def _labelled(progress: Progress, label: str) -> Progress:
    return lambda name, fraction: progress(f"{label}: {name}", fraction)


def _reporter(progress: Progress, name: str) -> Callable[[float], None]:
    return lambda fraction: progress(name, fraction)


def robustness(controller: LawGiven, plant: Plant, items: Sequence[Scenario]) -> dict[str, tuple[Margins, bool]]:
    """Return margins and stability of the linear loop on every variant of the plant, by what tells the variants apart.

    Of a law with several commands each loop is broken in turn. Empty for a controller that has no linear part.

    Examples
    --------
    >>> script = fx.load_controller("tokhi_azad_lqg")
    >>> arm = fx.load_plant(script.PLANT)
    >>> found = fx.robustness(script.design(arm), arm, script.scenarios(arm)[:1])
    >>> [stable for margins, stable in found.values()]
    [True]
    """
    plant = as_plant(plant)
    from ..frequency import loop_gain, margins

    given, found = as_law(controller), {}
    for variant, arm in variants([item.plant(plant) for item in items]).items():
        try:
            law = linear_law(given, arm.model)
        except NotAvailable:
            return {}
        linear = arm.linearise()
        loop, stable = loop_gain(linear, law), _is_stable(linear, law)
        for drive in law.drives:
            parts = (variant, drive if len(law.drives) > 1 else "")
            found[", ".join(filter(None, parts)) or plant.name] = margins(loop, drive), stable
    return found


def variants(plants: Sequence[Plant]) -> dict[str, Plant]:
    """Return the plants that differ, by the overrides in which they do."""
    keys = dict.fromkeys(key for plant in plants for key in plant.overrides)
    differing = [key for key in keys if len({repr(plant.overrides.get(key)) for plant in plants}) > 1]
    found: dict[str, Plant] = {}
    for plant in plants:
        told = {key: plant.overrides[key] for key in differing if key in plant.overrides}
        found.setdefault(", ".join(f"{key} = {_short(value)}" for key, value in told.items()), plant)
    return found


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) and abs(value) >= 1e6 else str(value)


def _is_stable(linear: LinearPlant, law: Any) -> bool:
    from ..linear.decay import decays
    from ..linear.interconnect import loop_poles

    feedback = feedback_of(law)
    return decays(loop_poles(linear, feedback), feedback.dt)


def label(script: ModuleType) -> str:
    """Return how messages call a script."""
    return Path(script.__file__ or script.__name__).name


@contextmanager
def blamed(script: ModuleType | None) -> Iterator[None]:
    """Turn an error raised by the script's own code into a `DefinitionError` that names file and line."""
    try:
        yield
    except FlexctlError:
        raise
    except Exception as error:
        own = getattr(script, "__file__", None)
        frames = [(f.filename, f.lineno) for f in traceback.extract_tb(error.__traceback__)]
        lines = [line for file, line in (*frames, *frames_of(error)) if file == own]
        if script is None or not lines:
            raise
        raise DefinitionError(f"{label(script)}, line {lines[-1]}: {type(error).__name__}: {error}") from error


def main(script: str | ModuleType) -> None:
    """Run a controller script from its own file: ``main(__name__)`` does what `flexctl run NAME -o out` does.

    Examples
    --------
    >>> if __name__ == "__main__":
    ...     fx.main(__name__)
    """
    from ..__main__ import cli

    module = sys.modules.get(script) if isinstance(script, str) else script
    if module is None:
        raise DefinitionError(f'"{script}" is not the name of a module that runs; write fx.main(__name__)')
    arguments = sys.argv[1:]
    if not any(a.startswith("-o") or a in ("-h", "--help", "--json") for a in arguments):
        arguments = [*arguments, "-o", "out"]
    cli.main(["run", str(module.__file__), *arguments], prog_name=Path(str(module.__file__)).name)
