"""A law in the words of another model: the same arm, modelled otherwise, calls its signals differently.

A law made for the finite-difference arm reads hub_angle, hub_rate, tip (displacement along the arc) or tip_angle
(the same divided by the length) and drives hub_torque. Every other solver has joint1_angle, joint1_rate, joint1_torque,
and a displacement sensor can be put at the tip of its link. `Dictionary` says what stands for what,
`translated` makes the law that reads and drives those, and `told_back` gives a run its first names again, so that
scores and pictures compare.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..abilities import IsLinear
from ..errors import DefinitionError, did_you_mean
from ..laws.controller import Delayed, LinearLaw, Quantised, Saturated, bare, initial_at, with_references
from ..laws.given import feedback_of
from ..linear import FirstOrder
from ..model import FloatArray, Signal, names
from ..motion.moves import Motion
from ..simulation.response import Response
from ..simulation.scores import scores

if TYPE_CHECKING:
    from ..catalogue import Plant

TIP = "tip_displacement"
"""The displacement sensor that is put at the tip where one is needed."""
UNITS = {"hub_angle": "rad", "hub_rate": "rad/s", "tip": "m", "tip_angle": "rad", "hub_torque": "N m"}


@dataclass(frozen=True)
class Dictionary:
    """What stands for the signals of a law: (law's reading) = factor (plant's output); inputs have no factor.

    Attributes
    ----------
    outputs : mapping
        Law's name -> (plant's name, factor).
    inputs : mapping
        Law's name -> plant's name.
    """

    outputs: Mapping[str, tuple[str, float]]
    inputs: Mapping[str, str]

    def told(self, drive: str) -> str:
        """Return how the law calls an input of the plant."""
        return next((own for own, name in self.inputs.items() if name == drive), drive)


class Fitted(NamedTuple):
    """A plant with the sensors that a law needs, the law in the words of that plant, and what stands for what."""

    plant: Plant
    law: Any
    words: Dictionary


def fitted(plant: Plant, law: Any) -> Fitted:
    """Return the plant and the law in its words; both are as given where the law's names are known."""
    plant, words = dictionary(plant, law)
    return Fitted(plant, translated(law, words), words)


def dictionary(plant: Plant, law: Any) -> tuple[Plant, Dictionary]:
    """Return the plant, with a sensor at the tip if the law reads it, and what stands for the law's signals there."""
    model = plant.model
    outputs, inputs = set(names(model.outputs)), set(names(model.inputs))
    if law is None or (outputs.issuperset((*law.measures, *law.follows)) and inputs.issuperset(law.drives)):
        return plant, Dictionary({}, {})
    known = {"hub_angle": ("joint1_angle", 1.0), "hub_rate": ("joint1_rate", 1.0)}
    if not isinstance(plant, IsLinear) and len(plant.arm.links) == 1:
        known |= {"tip": (TIP, 1.0), "tip_angle": (TIP, 1.0 / plant.arm.links[0].length)}
    wanted = [name for name in dict.fromkeys((*law.measures, *law.follows)) if name not in outputs]
    used = {name: known[name] for name in wanted if name in known}
    if any(name == TIP for name, _ in used.values()):
        plant = _with_tip_sensor(plant)
        outputs = set(names(plant.model.outputs))
    for name in law.measures:
        if name not in outputs and used.get(name, ("", 0.0))[0] not in outputs:
            raise _no_word("output", name, plant, outputs)
    driven = {"hub_torque": "joint1_torque"}
    for name in law.drives:
        if name not in inputs and driven.get(name) not in inputs:
            raise _no_word("input", name, plant, inputs)
    return plant, Dictionary(used, {name: driven[name] for name in law.drives if name not in inputs})


def _no_word(kind: str, name: str, plant: Plant, known: set[str]) -> DefinitionError:
    listed = ", ".join(sorted(known))
    return DefinitionError(
        f'{plant.kind} has no {kind} "{name}" of the law{did_you_mean(name, known)}, and nothing that stands for it; '
        f"it has {listed}"
    )


def _with_tip_sensor(plant: Plant) -> Plant:
    sensors = [asdict(sensor) for sensor in plant.arm.sensors]
    if any(sensor["name"] == TIP for sensor in sensors):
        return plant
    sensors.append({"name": TIP, "kind": "displacement", "position": 1.0})
    return plant.with_(overrides={"sensor": sensors})


def translated(law: Any, words: Dictionary) -> Any:
    """Return the law that reads and drives what stands for its signals; a linear one stays compiled."""
    if not words.outputs and not words.inputs:
        return law
    law = bare(law)
    if type(law) in (Delayed, Saturated):
        return replace(law, law=translated(law.law, words))
    if type(law) is Quantised:
        scaled = {name: words.outputs.get(name, (name, 1.0)) for name in law.quanta}
        quanta = {name: law.quanta[own] / abs(factor) for own, (name, factor) in scaled.items()}
        return Quantised(translated(law.law, words), quanta)
    if type(law) is not LinearLaw:
        return Translated(law, words)
    factor = _factors(law, words)
    return replace(
        law, measures=_measures(law, words), drives=_drives(law, words), By=law.By * factor, Dy=law.Dy * factor,
        start=law.start * factor,
    )


def _factors(law: Any, words: Dictionary) -> FloatArray:
    return np.array([words.outputs.get(name, (name, 1.0))[1] for name in law.measures])


def _measures(law: Any, words: Dictionary) -> tuple[str, ...]:
    return tuple(words.outputs.get(name, (name, 1.0))[0] for name in law.measures)


def _drives(law: Any, words: Dictionary) -> tuple[str, ...]:
    return tuple(words.inputs.get(name, name) for name in law.drives)


@dataclass(frozen=True, eq=False)
class Translated:
    """Any controller, reading and driving what stands for its signals."""

    law: Any
    words: Dictionary

    @property
    def sample_time(self) -> float:
        """Control period [s]."""
        return float(self.law.sample_time)

    @property
    def measures(self) -> tuple[str, ...]:
        """Plant outputs that are read."""
        return _measures(self.law, self.words)

    @property
    def drives(self) -> tuple[str, ...]:
        """Plant inputs that are set."""
        return _drives(self.law, self.words)

    @property
    def follows(self) -> tuple[str, ...]:
        """Reference channels."""
        return tuple(self.law.follows)

    def with_references(self, references: Mapping[str, Motion]) -> Translated:
        """Return the same around a law that has got its references in advance, if it asks for them."""
        return replace(self, law=with_references(self.law, references))

    def initial(self) -> Any:
        """Return the law's state."""
        return self.law.initial()

    def initial_at(self, y: FloatArray) -> Any:
        """Return the law's state with which a run begins at these outputs of the plant."""
        return initial_at(self.law, y * _factors(self.law, self.words))

    def step(self, state: Any, t: float, y: FloatArray, r: FloatArray) -> tuple[FloatArray, Any]:
        """Return the law's command."""
        answer: tuple[FloatArray, Any] = self.law.step(state, t, y * _factors(self.law, self.words), r)
        return answer

    def feedback(self) -> FirstOrder:
        """Return the law's linear part."""
        linear = feedback_of(self.law)
        factor = _factors(self.law, self.words)
        return replace(
            linear, B=linear.B * factor, D=linear.D * factor, inputs=tuple(Signal(m) for m in self.measures),
            outputs=tuple(Signal(d) for d in self.drives),
        )


def told_back(run: Response, words: Dictionary, references: Mapping[str, Motion]) -> Response:
    """Return the run with the law's names for its signals, beside the plant's other ones, and its scores."""
    if not words.outputs and not words.inputs:
        return run
    columns = [factor * run[name] for name, factor in words.outputs.values()]
    y = np.column_stack([run.y, *columns])
    outputs = (*run.outputs, *(Signal(name, UNITS[name]) for name in words.outputs))
    inputs = tuple(replace(s, name=words.told(s.name)) for s in run.inputs)
    units = {s.name: s.unit for s in outputs}
    channels = tuple(replace(s, unit=units.get(s.name, s.unit)) for s in run.references)
    numbers = scores(run.t, y, run.u, outputs, inputs, references)
    return replace(run, y=y, outputs=outputs, inputs=inputs, references=channels, scores=numbers)

