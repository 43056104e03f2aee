"""Abilities of models that have to do with runs: steppers, payloads, closures, compiled forms, kinks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from .ability import Ability

if TYPE_CHECKING:
    from ..model import Compiled, FloatArray

@runtime_checkable
class Stepping(Protocol, metaclass=Ability):
    """A model with a compiled stepper of its own, beside or in place of `compiled`."""

    @property
    def own_stepper(self) -> bool:
        """Whether the stepper serves this model with its options."""
        ...

    def stepper(self, q: FloatArray, v: FloatArray, u: FloatArray, plan: Any, first: int) -> Any:
        """Return the engine of a run from a state at point `first` of the grid (`flexctl.kernels.engine`)."""
        ...


@runtime_checkable
class PayloadChanging(Protocol, metaclass=Ability):
    """A model that can change its payload during a run."""

    def with_payload(self, mass: float, inertia: float) -> Any:
        """Return the model with another payload [kg], [kg m^2] and the same coordinates."""
        ...


@runtime_checkable
class ClosureForces(Protocol, metaclass=Ability):
    """A model that does not feel its closures by G^T: a joint driven by motion takes its share."""

    def closure_forces(self, q: FloatArray) -> FloatArray:
        """Return W of M a + h + W lam = B u, n x m."""
        ...


@runtime_checkable
class ClosureTurn(Protocol, metaclass=Ability):
    """A model that knows d(G v)/dq; of any other it is found from the bias."""

    def closure_turn(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Return d(G v)/dq, m x n."""
        ...


@runtime_checkable
class CompiledDriven(Protocol, metaclass=Ability):
    """A model that is compiled with some of its coordinates led by motion."""

    def compiled_driven(self, driven: tuple[int, ...] = (), levers: tuple[float, ...] = ()) -> Compiled:
        """Return the compiled form with these coordinates led; levers are the entries of B for their torques."""
        ...


@runtime_checkable
class CompiledHydraulic(Protocol, metaclass=Ability):
    """A model that is compiled with some of its coordinates moved by hydraulic cylinders."""

    def compiled_hydraulic(self, driven: tuple[int, ...], levers: tuple[float, ...], cubics: FloatArray) -> Compiled:
        """Return the compiled form with the cylinders' states behind the coordinates."""
        ...


@runtime_checkable
class Kinked(Protocol, metaclass=Ability):
    """A model whose forces may have kinks: limits, dry friction, play. They take a method of high order its order."""

    kinks: bool
    sticks: bool
    """Whether a joint may stick and break away, at which errors grow."""


@runtime_checkable
class Reversing(Protocol, metaclass=Ability):
    """A model with forces that turn round within a very small rate, such as dry friction: Newton is told where."""

    def reach(self, rates: FloatArray, change: FloatArray) -> float:
        """Return the part of a change of rates (0 to 1) after which Newton should look at the forces again."""
        ...


@runtime_checkable
class ExplicitScheme(Protocol, metaclass=Ability):
    """A model that explicit steps serve: linear ones, by `simulate(method="march")`."""

    def stability_limit(self) -> float:
        """Return the largest stable step [s]."""
        ...


@runtime_checkable
class Analysed(Protocol, metaclass=Ability):
    """A model with several analyses of the same equations."""

    analysis: str
    """"nonlinear" unless the model leaves something out."""


@runtime_checkable
class Assuming(Protocol, metaclass=Ability):
    """A model that says how far a run drove what it assumes."""

    def assumptions(self, q: FloatArray, v: FloatArray) -> Sequence[Any]:
        """Return one `flexctl.models.ranges.Driven` for each assumption, from states (nt, n)."""
        ...


@runtime_checkable
class FollowsAssumptions(Protocol, metaclass=Ability):
    """A model whose compiled steps keep the states that drive its assumptions furthest (`flexctl.kernels.furthest`)."""

    @property
    def furthest(self) -> int:
        """How many states are kept; 0: its steps keep none, and all states are recorded to ask `assumptions`."""
        ...


@runtime_checkable
class Pressed(Protocol, metaclass=Ability):
    """A model that leaves out something of what loads do, and says how large they make it."""

    def pressed(self, q: FloatArray, u: FloatArray) -> Sequence[Any]:
        """Return a `flexctl.models.ranges.Driven` of each thing, from coordinates (nt, n) and inputs (nt, p)."""
        ...


@runtime_checkable
class ContinuousLoop(Protocol, metaclass=Ability):
    """A model with a continuous law inside."""

    applied: Callable[[FloatArray, FloatArray], FloatArray]
    """Outputs (nt, ny) and inputs (nt, p) of the loop -> what acted on the inputs of the plant, (nt, p)."""
