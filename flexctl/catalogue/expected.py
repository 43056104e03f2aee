"""The `[[expected]]` tables of a plant file: numbers that the built plant must reproduce, and how each is computed.

An evaluator is a function (plant, entry) -> numbers, registered under its name; a new quantity is one more function.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from ..abilities import ExplicitScheme, Restable, Resting, joints_of, within
from ..errors import DefinitionError, NotAvailable, require, unknown
from ..machine.schema import AsItStands, Quantity, shown
from ..model import MechanicalModel

if TYPE_CHECKING:
    from . import Plant


@dataclass(frozen=True)
class Numbers:
    """One number or a list of numbers."""

    text: str
    unit: str = ""

    def check(self, name: str, value: object) -> None:
        """Raise `DefinitionError` unless every entry is a finite number."""
        for item in value if isinstance(value, Sequence) and not isinstance(value, str) else [value]:
            ok = isinstance(item, int | float) and not isinstance(item, bool) and abs(item) < math.inf
            require(ok, f"{name} = {shown(item)} is not a finite number")

    def read(self, name: str, value: object) -> tuple[float, ...]:
        """Return the numbers."""
        self.check(name, value)
        items: Any = value if isinstance(value, list) else [value]
        require(len(items) > 0, f"{name} is empty; give at least one number")
        try:
            return tuple(float(item) for item in items)
        except OverflowError as error:
            raise DefinitionError(f"{name} has a number that is not finite") from error


@dataclass(frozen=True)
class Text(AsItStands):
    """A string."""

    text: str
    unit: str = ""

    def check(self, name: str, value: object) -> None:
        """Raise `DefinitionError` unless the value is a string that says something."""
        require(isinstance(value, str) and bool(value.strip()), f"{name} = {shown(value)} is not a text")


@dataclass(frozen=True)
class Tables(AsItStands):
    """A table of overrides."""

    text: str
    unit: str = ""

    def check(self, name: str, value: object) -> None:
        """Raise `DefinitionError` unless the value is a table."""
        ok = isinstance(value, Mapping)
        require(ok, f'{name} = {shown(value)} is not a table; write {{ "payload.mass" = 0.02 }}')


@dataclass(frozen=True)
class Expected:
    """One `[[expected]]` entry. Passed when |computed - values| <= atol + rtol |values|; exact equality by default."""

    quantity: Annotated[str, Text("what to compute, one of the registered evaluators")]
    values: Annotated[tuple[float, ...], Numbers("what must come out [SI]; real part of transfer functions and poles")]
    source: Annotated[str, Text("where the values come from")]
    rtol: Annotated[float, Quantity("1", 0.0, 0.5, "relative tolerance")] = 0.0
    atol: Annotated[float, Quantity("1", 0.0, 1e3, "absolute tolerance, in the unit of the quantity")] = 0.0
    overrides: Annotated[Mapping[str, Any], Tables("overrides under which it holds")] = field(default_factory=dict)
    imaginary: Annotated[
        tuple[float, ...], Numbers("imaginary part of transfer functions and poles; zero if left out")
    ] = ()
    frequency_hz: Annotated[tuple[float, ...], Numbers("frequencies of a transfer function [Hz]")] = ()
    decay: Annotated[float, Quantity("1/s", -1e6, 1e6, "real part of s of a transfer function")] = 0.0
    input: Annotated[str, Text("input name; the first by default")] = ""
    output: Annotated[str, Text("output name; the first by default")] = ""
    joint_rates: Annotated[tuple[float, ...], Numbers("rates at which the joints of a spinning arm turn [rad/s]")] = ()

    def __post_init__(self) -> None:
        if self.quantity not in EVALUATORS:
            raise unknown("quantity", self.quantity[:60], EVALUATORS)
        same = len(self.imaginary) in (0, len(self.values))
        require(same, f"imaginary has {len(self.imaginary)} numbers and values {len(self.values)}; give as many")

    @property
    def target(self) -> np.ndarray[Any, np.dtype[np.complex128]]:
        """The expected numbers as a complex array."""
        return np.asarray(self.values) + 1j * np.asarray(self.imaginary or [0.0] * len(self.values))


@dataclass(frozen=True)
class Check:
    """The outcome of one entry.

    Attributes
    ----------
    entry : Expected
        What was asked for.
    computed : tuple of complex
        What came out.
    error : float
        Largest |computed - expected| divided by the allowed error; passed up to 1. Infinite when the shapes differ.
    """

    entry: Expected
    computed: tuple[complex, ...]
    error: float

    @property
    def passed(self) -> bool:
        """Whether every number is within its tolerance."""
        return self.error <= 1.0

    def __str__(self) -> str:
        verdict = "passed" if self.passed else "FAILED"
        what = f"{self.entry.quantity} {dict(self.entry.overrides) or ''}".strip()
        computed, target = (
            ", ".join(f"{z.real:.9g}" if z.imag == 0 else f"{z:.9g}" for z in numbers)
            for numbers in (self.computed, self.entry.target)
        )
        return f"{verdict}: {what}: computed {computed}; expected {target} ({self.entry.source})"


Evaluator = Callable[["Plant", Expected], Any]
ZERO = 1e-6
"""Poles up to this size [1/s] are those of free motion."""
EVALUATORS: dict[str, Evaluator] = {}


def evaluator(function: Evaluator) -> Evaluator:
    """Register a quantity under the name of its function."""
    EVALUATORS[function.__name__] = function
    return function


def verify(plant: Plant) -> list[Check]:
    """Return the outcome of every `[[expected]]` entry of a plant.

    Examples
    --------
    >>> checks = fx.verify(fx.load_plant("tokhi_azad_1994"))
    >>> all(check.passed for check in checks)
    True
    """
    from ..machine.given import as_plant

    plant = as_plant(plant)
    return [check_one(plant.with_(entry.overrides) if entry.overrides else plant, entry) for entry in plant.expected]


def check_one(plant: Plant, entry: Expected) -> Check:
    """Return the outcome of one entry; its overrides are applied already."""
    computed = np.atleast_1d(np.asarray(EVALUATORS[entry.quantity](plant, entry), complex))
    target = entry.target
    if computed.shape != target.shape or not np.all(np.isfinite(computed)):
        return Check(entry, tuple(computed.ravel()), math.inf)
    difference, allowed = np.abs(computed - target), entry.atol + entry.rtol * np.abs(target)
    error = np.where(difference <= allowed, 0.0, math.inf)
    np.divide(difference, allowed, out=error, where=allowed > 0)
    return Check(entry, tuple(computed), float(error.max()))


@evaluator
def frequencies_hz(plant: Plant, entry: Expected) -> Any:
    """Natural frequencies of the lowest flexible modes [Hz], as many as there are values."""
    return plant.modes(len(entry.values)).frequencies_hz


@evaluator
def damping(plant: Plant, entry: Expected) -> Any:
    """Damping ratios of the lowest flexible modes [1]."""
    return plant.modes(len(entry.values)).damping


@evaluator
def poles(plant: Plant, entry: Expected) -> Any:
    """Poles of the linear plant but those at zero, Im >= 0, the smallest first [1/s]; as many as there are values."""
    found = plant.linearise().first_order().poles()
    found = found[(found.imag >= 0.0) & (np.abs(found) > ZERO)]
    return found[np.argsort(np.abs(found))][: len(entry.values)]


@evaluator
def rigid_modes(plant: Plant, entry: Expected) -> Any:
    """Number of rigid-body modes."""
    return plant.modes().rigid_modes


@evaluator
def total_mass(plant: Plant, entry: Expected) -> Any:
    """Mass of links and payload [kg]."""
    return sum(link.mass for link in plant.arm.links) + plant.arm.payload.mass


@evaluator
def rigid_inertia(plant: Plant, entry: Expected) -> Any:
    """Inertia that the named input feels in the only rigid-body mode [kg m^2]: 1 / (phi^T B)^2 for phi^T M phi = 1."""
    from ..linear.modes import normal_modes
    from ..model import index_of

    linear = plant.linearise()
    rigid = normal_modes(linear.M, linear.K)
    require(rigid.rigid == 1, f"rigid_inertia needs exactly one rigid-body mode; {plant.name} has {rigid.rigid}")
    drive = index_of("input", entry.input, linear.inputs) if entry.input else 0
    return 1.0 / float(rigid.shapes[:, 0] @ linear.B[:, drive]) ** 2


@evaluator
def stability_limit_s(plant: Plant, entry: Expected) -> Any:
    """Largest stable step of `simulate(method="march")` [s]; of linear models."""
    if not isinstance(plant.model, ExplicitScheme):
        raise NotAvailable(f"{plant.kind} is not linear: explicit steps do not serve it")
    return plant.model.stability_limit()


@evaluator
def locked_frequencies_hz(plant: Plant, entry: Expected) -> Any:
    """Lowest natural frequencies with every joint held [Hz], with `joint_rates` those of the arm that spins so."""
    from ..linear import linearise
    from ..linear.steady import lock, spinning_plant

    model = plant.model if isinstance(plant.model, Resting) else within(plant.model)
    joints = list(joints_of(model).values())
    if not joints:
        raise NotAvailable(f"{plant.kind} names no torque-driven joints to hold")
    linear = spinning_plant(model, entry.joint_rates) if entry.joint_rates else linearise(model)
    return lock(linear, joints).modes(len(entry.values)).frequencies_hz


@evaluator
def rest_tip_error(plant: Plant, entry: Expected) -> Any:
    """Tip minus tip of the rigid arm (x, y) [m], at rest under its weight with every joint held."""
    model = within(plant.model)
    if not (isinstance(model, MechanicalModel) and isinstance(model, Restable)):
        raise NotAvailable(f"{plant.kind} has no rest pose with joints held")
    q, zero = model.rest(np.array(plant.arm.reference_joints)), np.zeros(len(model.coordinates))
    y = model.output(q, zero, zero, np.zeros(len(model.inputs)))
    return y[[s.name.startswith("tip_error") for s in model.outputs]]


@evaluator
def transfer(plant: Plant, entry: Expected) -> Any:
    """Transfer function from `input` to `output` at s = decay + 2 pi j frequency_hz."""
    from ..model import index_of

    require(len(entry.frequency_hz) > 0, 'transfer needs "frequency_hz"')
    linear = plant.linearise()
    row = index_of("output", entry.output, linear.outputs) if entry.output else 0
    column = index_of("input", entry.input, linear.inputs) if entry.input else 0
    return linear.transfer(entry.decay + 2j * math.pi * np.asarray(entry.frequency_hz))[row, column]
