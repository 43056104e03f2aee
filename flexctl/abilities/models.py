"""Abilities of models: joints and their drives, poses and rigid motion, forces that are not linear."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from .ability import Ability

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..machine.arm import Arm
    from ..model import FloatArray, MechanicalModel, OperatingPoint, Signal

# joints and their drives


@runtime_checkable
class Wrapping(Protocol, metaclass=Ability):
    """A model around another one whose coordinates come first: joints driven by motion or by cylinders, a loop."""

    inner: Any


@runtime_checkable
class ArmModel(Protocol, metaclass=Ability):
    """A model that was made of an arm."""

    arm: Arm


@runtime_checkable
class Jointed(Protocol, metaclass=Ability):
    """A model with joints that are driven by torque or force."""

    @property
    def joints(self) -> Mapping[str, str]:
        """Input of each such joint -> its coordinate, from the base outwards: ``{"joint1_torque": "joint1"}``."""
        ...


@runtime_checkable
class Commandable(Protocol, metaclass=Ability):
    """A model with joints that follow a command as a servo does."""

    @property
    def commands(self) -> Mapping[str, Sequence[str]]:
        """Coordinate of each such joint -> its inputs: the commanded value, and its rate where that is one too."""
        ...


@runtime_checkable
class CountedFrom(Protocol, metaclass=Ability):
    """A model whose commands count from the reference pose, not from zero."""

    @property
    def origins(self) -> Mapping[str, float]:
        """Coordinate of each commanded joint -> the value from which its command counts [rad; m]."""
        ...


@runtime_checkable
class MotionLed(Protocol, metaclass=Ability):
    """A model some of whose coordinates follow what drives them, whatever the arm does: a motion, or a cylinder."""

    @property
    def led(self) -> Sequence[str]:
        """These coordinates; the first inputs drive them, in the same order."""
        ...


@runtime_checkable
class Lagging(Protocol, metaclass=Ability):
    """A model with coordinates of which only the rate means something, the states of actuators."""

    @property
    def lags(self) -> Mapping[str, Signal]:
        """Such a coordinate -> what its rate is; `linearise` keeps that in its place."""
        ...


@runtime_checkable
class PartlyDriven(Protocol, metaclass=Ability):
    """A model of an arm some of whose joints are free; closures make them follow the driven ones."""

    driven: Sequence[int]
    """Numbers of the driven joints, from 0."""


# poses and rigid motion


@runtime_checkable
class Posable(Protocol, metaclass=Ability):
    """A model that can be put into a pose by its joint variables."""

    arm: Arm

    def pose(self, angles: Sequence[float] | FloatArray) -> FloatArray:
        """Return the coordinates of the undeformed arm at these variables of all driven joints [rad; m]."""
        ...


@runtime_checkable
class Restable(Protocol, metaclass=Ability):
    """A model that finds the shape in which its arm rests under its weight."""

    def rest(self, angles: Sequence[float] | FloatArray) -> FloatArray:
        """Return the coordinates of the arm at rest with its driven joints held at these variables [rad; m]."""
        ...


@runtime_checkable
class Rewinding(Protocol, metaclass=Ability):
    """A model some of whose coordinates tell the same pose in several ways, of which some have no stiffness."""

    def rewound(self, q: FloatArray) -> FloatArray:
        """Return the same pose in coordinates that have mass and stiffness."""
        ...


@runtime_checkable
class KnowsRestPoint(Protocol, metaclass=Ability):
    """A model that knows its equilibrium in the reference pose."""

    def rest_point(self) -> OperatingPoint:
        """Return the equilibrium, with the inputs that hold it."""
        ...


@runtime_checkable
class Startable(Protocol, metaclass=Ability):
    """A model that begins a run of commanded joints in a shape of its own, such as the arm bent by its weight."""

    def start(self, commands: Mapping[str, Sequence[float]]) -> tuple[FloatArray, FloatArray]:
        """Return coordinates and rates for joints that begin with these values and rates, by coordinate."""
        ...


@runtime_checkable
class RigidlyMovable(Protocol, metaclass=Ability):
    """A model that knows how its arm moves with rigid links."""

    arm: Arm

    def rigid_motion(
        self, angles: npt.ArrayLike, rates: npt.ArrayLike, accelerations: npt.ArrayLike
    ) -> Sequence[FloatArray]:
        """Return q, v, a of the rigid arm for values [rad; m], rates and accelerations of its joints."""
        ...


@runtime_checkable
class RigidDynamics(Protocol, metaclass=Ability):
    """A model that knows the torques of its arm with rigid links."""

    arm: Arm

    def rigid_torques(self, angles: npt.ArrayLike, rates: npt.ArrayLike, accelerations: npt.ArrayLike) -> FloatArray:
        """Return the torques [N m] (forces [N]) of all joints, (.., joints) like the arguments, weight included."""
        ...


@runtime_checkable
class RigidTip(Protocol, metaclass=Ability):
    """A model that knows where the tip of its arm is with rigid links."""

    arm: Arm

    def rigid_tip(self, angles: FloatArray) -> FloatArray:
        """Return the position of the tip [m], (.., axes), for joint variables (.., joints)."""
        ...


@runtime_checkable
class Spinning(RigidlyMovable, Jointed, Protocol):
    """A model in inertial coordinates with frames that turn with its links; it has plants about steady rotation."""

    def turning(self, rates: npt.ArrayLike, angles: npt.ArrayLike | None = None) -> FloatArray:
        """Return W, n x n, at joint rates: a deviation z that stands still in the turning frames has the rate W z."""
        ...


@runtime_checkable
class Turned(Protocol, metaclass=Ability):
    """A model that knows what its drives do while the arm inside turns steadily."""

    def turned_as(self, point: OperatingPoint) -> OperatingPoint:
        """Return the whole state, and the inputs that keep it, for one of the arm inside with its joints' torques."""
        ...


@runtime_checkable
class MassEntering(Protocol, metaclass=Ability):
    """A model that mass enters or leaves while it moves, such as a link that slides out of its guide."""

    def inflow(self, q: FloatArray, v: FloatArray) -> float:
        """Return the power of what enters [W]."""
        ...


# forces that are not linear in inputs or accelerations


@runtime_checkable
class Inseparable(Protocol, metaclass=Ability):
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
class Resting(Protocol, metaclass=Ability):
    """A model with another one for statics: at rest currents flow, which are rates of its coordinates."""

    @property
    def resting(self) -> MechanicalModel:
        """The model whose equilibria are meant."""
        ...

    def lifted(self, point: OperatingPoint) -> OperatingPoint:
        """Return a point of rest of `resting` as one of this model."""
        ...


@runtime_checkable
class Smoothable(Protocol, metaclass=Ability):
    """A model with dry friction or play, which a linear plant takes or leaves out."""

    def smoothed(self, point: OperatingPoint, friction: str) -> tuple[MechanicalModel, OperatingPoint, str]:
        """Return the model to linearise, the point for it, and what was done, in words."""
        ...


@runtime_checkable
class Outlined(Protocol, metaclass=Ability):
    """A model that says where its links are, for pictures."""

    def outline(self, q: FloatArray) -> list[FloatArray]:
        """Return for each link places (points, 2 or 3) [m] from its root to its end."""
        ...
