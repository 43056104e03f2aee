"""What may be asked of a model or a plant beyond `MechanicalModel`, one small Protocol for each ability.

A model has an ability by having the attributes; nothing is inherited or registered. Whoever needs one asks by
`isinstance(model, Posable)` and then uses the attributes as usual, or takes a function below that has an answer for
models without it. Nowhere else is a model searched for names; a test holds that. `flexctl.testing` checks each
ability of whoever has it. The abilities of control laws stand in `flexctl.laws.controller`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from .linear import FirstOrder
    from .machine.arm import Arm
    from .model import Compiled, ComplexArray, FloatArray, MechanicalModel, OperatingPoint, Signal

# joints and their drives


@runtime_checkable
class Wrapping(Protocol):
    """A model around another one whose coordinates come first: joints driven by motion or by cylinders, a loop."""

    inner: Any


@runtime_checkable
class ArmModel(Protocol):
    """A model that was made of an arm."""

    arm: Arm


@runtime_checkable
class Jointed(Protocol):
    """A model with joints that are driven by torque or force."""

    @property
    def joints(self) -> Mapping[str, str]:
        """Input of each such joint -> its coordinate, from the base outwards: ``{"joint1_torque": "joint1"}``."""
        ...


@runtime_checkable
class Commandable(Protocol):
    """A model with joints that follow a command as a servo does."""

    @property
    def commands(self) -> Mapping[str, Sequence[str]]:
        """Coordinate of each such joint -> its inputs: the commanded value, and its rate where that is one too."""
        ...


@runtime_checkable
class CountedFrom(Protocol):
    """A model whose commands count from the reference pose, not from zero."""

    @property
    def origins(self) -> Mapping[str, float]:
        """Coordinate of each commanded joint -> the value from which its command counts [rad; m]."""
        ...


@runtime_checkable
class MotionLed(Protocol):
    """A model some of whose coordinates follow what drives them, whatever the arm does: a motion, or a cylinder."""

    @property
    def led(self) -> Sequence[str]:
        """These coordinates; the first inputs drive them, in the same order."""
        ...


@runtime_checkable
class Lagging(Protocol):
    """A model with coordinates of which only the rate means something, the states of actuators."""

    @property
    def lags(self) -> Mapping[str, Signal]:
        """Such a coordinate -> what its rate is; `linearise` keeps that in its place."""
        ...


@runtime_checkable
class PartlyDriven(Protocol):
    """A model of an arm some of whose joints are free; closures make them follow the driven ones."""

    driven: Sequence[int]
    """Numbers of the driven joints, from 0."""


# poses and rigid motion


@runtime_checkable
class Posable(Protocol):
    """A model that can be put into a pose by its joint variables."""

    arm: Arm

    def pose(self, angles: Sequence[float] | FloatArray) -> FloatArray:
        """Return the coordinates of the undeformed arm at these variables of all driven joints [rad; m]."""
        ...


@runtime_checkable
class Restable(Protocol):
    """A model that finds the shape in which its arm rests under its weight."""

    def rest(self, angles: Sequence[float] | FloatArray) -> FloatArray:
        """Return the coordinates of the arm at rest with its driven joints held at these variables [rad; m]."""
        ...


@runtime_checkable
class KnowsRestPoint(Protocol):
    """A model that knows its equilibrium in the reference pose."""

    def rest_point(self) -> OperatingPoint:
        """Return the equilibrium, with the inputs that hold it."""
        ...


@runtime_checkable
class Startable(Protocol):
    """A model that begins a run of commanded joints in a shape of its own, such as the arm bent by its weight."""

    def start(self, commands: Mapping[str, Sequence[float]]) -> tuple[FloatArray, FloatArray]:
        """Return coordinates and rates for joints that begin with these values and rates, by coordinate."""
        ...


@runtime_checkable
class RigidlyMovable(Protocol):
    """A model that knows how its arm moves with rigid links."""

    arm: Arm

    def rigid_motion(self, angles: Any, rates: Any, accelerations: Any) -> Sequence[FloatArray]:
        """Return q, v, a of the rigid arm for values [rad; m], rates and accelerations of its joints."""
        ...


@runtime_checkable
class RigidDynamics(Protocol):
    """A model that knows the torques of its arm with rigid links."""

    arm: Arm

    def rigid_torques(self, angles: Any, rates: Any, accelerations: Any) -> FloatArray:
        """Return the torques [N m] (forces [N]) of all joints, (.., joints) like the arguments, weight included."""
        ...


@runtime_checkable
class RigidTip(Protocol):
    """A model that knows where the tip of its arm is with rigid links."""

    arm: Arm

    def rigid_tip(self, angles: FloatArray) -> FloatArray:
        """Return the position of the tip [m], (.., axes), for joint variables (.., joints)."""
        ...


@runtime_checkable
class Spinning(RigidlyMovable, Jointed, Protocol):
    """A model in inertial coordinates with frames that turn with its links; it has plants about steady rotation."""

    def turning(self, rates: Any, angles: Any = None) -> FloatArray:
        """Return W, n x n, at joint rates: a deviation z that stands still in the turning frames has the rate W z."""
        ...


@runtime_checkable
class MassEntering(Protocol):
    """A model that mass enters or leaves while it moves, such as a link that slides out of its guide."""

    def inflow(self, q: FloatArray, v: FloatArray) -> float:
        """Return the power of what enters [W]."""
        ...


# forces that are not linear in inputs or accelerations


@runtime_checkable
class Inseparable(Protocol):
    """A model whose left side is not M a + h - B u everywhere: its inputs have limits, its gears lose energy.

    `mass`, `force` and `input_matrix` are its parts where nothing is at a limit.
    """

    def balance(self, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray, t: float) -> FloatArray:
        """Return the whole left side, closures left out."""
        ...

    def input_tangent(self, q: FloatArray, v: FloatArray, a: FloatArray, u: FloatArray) -> FloatArray:
        """Return what inputs do at a state, n x p: minus the derivative of `balance` by u."""
        ...


@runtime_checkable
class Resting(Protocol):
    """A model with another one for statics: at rest currents flow, which are rates of its coordinates."""

    @property
    def resting(self) -> MechanicalModel:
        """The model whose equilibria are meant."""
        ...

    def lifted(self, point: OperatingPoint) -> OperatingPoint:
        """Return a point of rest of `resting` as one of this model."""
        ...


@runtime_checkable
class Smoothable(Protocol):
    """A model with dry friction or play, which a linear plant takes or leaves out."""

    def smoothed(self, point: OperatingPoint, friction: str) -> tuple[MechanicalModel, OperatingPoint, str]:
        """Return the model to linearise, the point for it, and what was done, in words."""
        ...


# time stepping


@runtime_checkable
class Stepping(Protocol):
    """A model with a compiled stepper of its own, beside or in place of `compiled`."""

    @property
    def own_stepper(self) -> bool:
        """Whether the stepper serves this model with its options."""
        ...

    def stepper(self, q: FloatArray, v: FloatArray, u: FloatArray, plan: Any, first: int) -> Any:
        """Return the engine of a run from a state at point `first` of the grid (`flexctl.kernels.engine`)."""
        ...


@runtime_checkable
class PayloadChanging(Protocol):
    """A model that can change its payload during a run."""

    def with_payload(self, mass: float, inertia: float) -> Any:
        """Return the model with another payload [kg], [kg m^2] and the same coordinates."""
        ...


@runtime_checkable
class ClosureForces(Protocol):
    """A model that does not feel its closures by G^T: a joint driven by motion takes its share."""

    def closure_forces(self, q: FloatArray) -> FloatArray:
        """Return W of M a + h + W lam = B u, n x m."""
        ...


@runtime_checkable
class ClosureTurn(Protocol):
    """A model that knows d(G v)/dq; of any other it is found from the bias."""

    def closure_turn(self, q: FloatArray, v: FloatArray) -> FloatArray:
        """Return d(G v)/dq, m x n."""
        ...


@runtime_checkable
class CompiledDriven(Protocol):
    """A model that is compiled with some of its coordinates led by motion."""

    def compiled_driven(self, driven: tuple[int, ...] = (), levers: tuple[float, ...] = ()) -> Compiled:
        """Return the compiled form with these coordinates led; levers are the entries of B for their torques."""
        ...


@runtime_checkable
class CompiledHydraulic(Protocol):
    """A model that is compiled with some of its coordinates moved by hydraulic cylinders."""

    def compiled_hydraulic(self, driven: tuple[int, ...], levers: tuple[float, ...], cubics: FloatArray) -> Compiled:
        """Return the compiled form with the cylinders' states behind the coordinates."""
        ...


@runtime_checkable
class Kinked(Protocol):
    """A model whose forces may have kinks: limits, dry friction, play. They take a method of high order its order."""

    kinks: bool
    sticks: bool
    """Whether a joint may stick and break away, at which errors grow."""


@runtime_checkable
class ExplicitScheme(Protocol):
    """A model with an explicit scheme of its own."""

    def stability_limit(self) -> float:
        """Return the largest stable step [s]."""
        ...


@runtime_checkable
class Analysed(Protocol):
    """A model with several analyses of the same equations."""

    analysis: str
    """"nonlinear" unless the model leaves something out."""


@runtime_checkable
class Assuming(Protocol):
    """A model that says how far a run drove what it assumes."""

    def assumptions(self, q: FloatArray, v: FloatArray) -> Sequence[Any]:
        """Return one `flexctl.models.ranges.Driven` for each assumption, from states (nt, n)."""
        ...


@runtime_checkable
class ContinuousLoop(Protocol):
    """A model with a continuous law inside."""

    applied: Callable[[FloatArray, FloatArray], FloatArray]
    """Outputs (nt, ny) and inputs (nt, p) of the loop -> what acted on the inputs of the plant, (nt, p)."""


# plants, linear plants and frequency models


@runtime_checkable
class HasModel(Protocol):
    """Something with a mechanical model inside, as a `Plant` has."""

    @property
    def model(self) -> MechanicalModel:
        """The model."""
        ...


@runtime_checkable
class HasArm(Protocol):
    """Something with the data of an arm inside, as a `Plant` has."""

    @property
    def arm(self) -> Arm:
        """The arm."""
        ...


@runtime_checkable
class Identified(Protocol):
    """Something that says what results made from it carry."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """Plant, model, overrides, version, source."""
        ...


@runtime_checkable
class Documented(Protocol):
    """Something that says where its numbers come from."""

    @property
    def provenance(self) -> Mapping[str, Any]:
        """What it was made from, by name."""
        ...


@runtime_checkable
class PayloadChecking(Protocol):
    """A plant that knows which payloads are plausible."""

    def check_payload(self, mass: float, inertia: float) -> None:
        """Raise `DefinitionError` for a payload [kg], [kg m^2] in the wrong unit."""
        ...


@runtime_checkable
class SampledModel(Protocol):
    """A linear plant or frequency model that may be sampled."""

    @property
    def dt(self) -> float:
        """Sample time [s]; 0: continuous."""
        ...


@runtime_checkable
class KnowsPoles(Protocol):
    """A frequency model that knows its poles."""

    def poles(self) -> ComplexArray | None:
        """Return the poles with Im >= 0 [rad/s], or None."""
        ...


@runtime_checkable
class Preparable(Protocol):
    """A frequency model that does once what does not depend on the frequency."""

    def prepared(self) -> Callable[[ComplexArray], ComplexArray]:
        """Return the evaluator of `transfer`."""
        ...


# a law as the frequency functions see it, which stand below the laws


@runtime_checkable
class LinearFeedback(Protocol):
    """A law with a linear part: poles, margins and robust bounds speak about it."""

    def feedback(self) -> FirstOrder:
        """Return the law from measured outputs to commands, limits, quantisation and noise left out."""
        ...


# a class of models


@runtime_checkable
class Knowing(Protocol):
    """A class of models that knows more of an arm than every one does (`flexctl.machine.arm.Arm.features`)."""

    features: Collection[str]


# answers for every model


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
    from .model import MechanicalModel  # this module stands below it

    return system.kind if isinstance(system, MechanicalModel) else type(system).__name__
