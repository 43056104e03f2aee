"""Abilities of plants, linear plants and frequency models, of laws in the frequency domain, and of classes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from .ability import Ability

if TYPE_CHECKING:
    from ..linear import FirstOrder, SecondOrder
    from ..machine.arm import Arm
    from ..model import ComplexArray, FloatArray, MechanicalModel

@runtime_checkable
class HasModel(Protocol, metaclass=Ability):
    """Something with a mechanical model inside, as a `Plant` has."""

    @property
    def model(self) -> MechanicalModel:
        """The model."""
        ...


@runtime_checkable
class IsLinear(Protocol, metaclass=Ability):
    """Something in the place of an arm that is a linear plant."""

    @property
    def linear_plant(self) -> SecondOrder | FirstOrder:
        """The linear plant."""
        ...


@runtime_checkable
class HasArm(Protocol, metaclass=Ability):
    """Something with the data of an arm inside, as a `Plant` has."""

    @property
    def arm(self) -> Arm:
        """The arm."""
        ...


@runtime_checkable
class Identified(Protocol, metaclass=Ability):
    """Something that says what results made from it carry."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """Plant, model, overrides, version, source."""
        ...


@runtime_checkable
class Documented(Protocol, metaclass=Ability):
    """Something that says where its numbers come from."""

    @property
    def provenance(self) -> Mapping[str, Any]:
        """The plant and model it was made from, by name."""
        ...


@runtime_checkable
class PayloadChecking(Protocol, metaclass=Ability):
    """A plant that knows which payloads are plausible."""

    def check_payload(self, mass: float, inertia: float) -> None:
        """Raise `DefinitionError` for a payload [kg], [kg m^2] in the wrong unit."""
        ...


@runtime_checkable
class SampledModel(Protocol, metaclass=Ability):
    """A linear plant or frequency model that may be sampled."""

    @property
    def dt(self) -> float:
        """Sample time [s]; 0: continuous."""
        ...


@runtime_checkable
class KnowsPoles(Protocol, metaclass=Ability):
    """A frequency model that knows its poles."""

    def poles(self) -> ComplexArray | None:
        """Return the poles with Im >= 0 [rad/s], or None."""
        ...


@runtime_checkable
class Preparable(Protocol, metaclass=Ability):
    """A frequency model that does once what does not depend on the frequency."""

    def prepared(self) -> Callable[[ComplexArray], ComplexArray]:
        """Return the evaluator of `transfer`."""
        ...


@runtime_checkable
class Gains(Protocol, metaclass=Ability):
    """A frequency response: gains on lines, of a model, or measured and then perhaps with standard deviations."""

    omega: FloatArray
    response: ComplexArray
    sigma: FloatArray | None

    @property
    def source(self) -> Any:
        """The model behind the response, None for data."""
        ...


# a law as the frequency functions see it, which stand below the laws


@runtime_checkable
class LinearFeedback(Protocol, metaclass=Ability):
    """A law with a linear part: poles, margins and robust bounds speak about it."""

    def feedback(self) -> FirstOrder:
        """Return the law from measured outputs to commands, limits, quantisation and noise left out."""
        ...


# a class of models


@runtime_checkable
class Knowing(Protocol, metaclass=Ability):
    """A class of models that knows more of an arm than every one does (`flexctl.machine.arm.Arm.features`)."""

    features: Collection[str]
