"""The controller interface, the linear law that most designs end in, and the wrappers around any law.

    x[k+1] = A x[k] + By y[k] + Br r[k] + Bu u[k],    u[k] = sat(C x[k] + Dy y[k] + Dr r[k])

y are the measured plant outputs, r the reference with three numbers per followed channel: value, rate, acceleration.
`Bu` feeds the command after the limits back, as an observer or an anti-windup needs. `sample_time` 0 means a continuous
law x' = A x + By y + Br r, which `simulate` integrates together with the plant.

Sums run in a defined order (`ordered_kernel`), so that a law gives the same numbers wherever it runs.

Saturation, delay, quantisation and noise are wrappers: ``Delayed(Quantised(law, {"joint1_angle": 1e-4}), 1)``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from ..abilities.ability import Ability
from ..errors import DefinitionError, require
from ..linear import FirstOrder
from ..model import FloatArray, Signal
from ..support.checks import number, positive, real_array, table
from ..support.kinds import AnyLaw
from .abilities import AroundLaw, NeedsReferences, StartsFromReadings
from .ordered import as_data, period, product, readings


@runtime_checkable
class Controller(Protocol, metaclass=Ability):
    """A sampled control law. Its state is passed, never stored.

    Optional abilities of laws are listed in `laws.abilities`; a law has one by having its attributes:
    `NeedsReferences`, `StartsFromReadings`, `LinearFeedback`, `DesignedForRange`, `Limited`, `AroundLaw`,
    `OfSeveralLaws`, `ChangesAtTimes`.

    Examples
    --------
    >>> law = fx.load_controller("tokhi_azad_lqg").design(fx.load_plant("tokhi_azad_1994"))
    >>> isinstance(law, fx.Controller)
    True
    """

    @property
    def sample_time(self) -> float:
        """Control period [s]; 0 for a continuous law."""
        ...

    @property
    def measures(self) -> tuple[str, ...]:
        """Names of the plant outputs it reads, in the order of y."""
        ...

    @property
    def drives(self) -> tuple[str, ...]:
        """Names of the plant inputs it sets, in the order of u."""
        ...

    @property
    def follows(self) -> tuple[str, ...]:
        """Names of the reference channels; r holds value, rate, acceleration of each."""
        ...

    def initial(self) -> Any:
        """Return the state before the first call."""
        ...

    def step(self, state: Any, t: float, y: FloatArray, r: FloatArray) -> tuple[FloatArray, Any]:
        """Return the command held from t on, and the next state."""
        ...


def inside(law: Any) -> Any:
    """Return the law inside a wrapper, or the law itself."""
    return law.law if isinstance(law, AroundLaw) else law


def is_wrapper(law: Any) -> bool:
    """Whether a law is around another one that `dataclasses.replace` can put in its place."""
    return is_dataclass(law) and isinstance(law, AroundLaw)


def layers(law: Any) -> Iterator[Any]:
    """Yield a law and every law inside it, from the outermost; nothing for None."""
    while law is not None:
        yield law
        law = law.law if isinstance(law, AroundLaw) else None


def with_references(law: Any, references: Mapping[str, Any]) -> Any:
    """Return the law with its references where it needs them in advance, else as it is."""
    return law.with_references(references) if isinstance(law, NeedsReferences) else law


def not_a_law(thing: Any) -> DefinitionError:
    """Return the error for something that is no control law: it says what is missing."""
    needed = ("sample_time", "measures", "drives", "follows", "initial", "step")
    missing = ", ".join(key for key in needed if not hasattr(thing, key))
    return DefinitionError(
        f"{type(thing).__name__} is not a controller: it lacks {missing}; see flexctl.laws.controller"
    )


def checked(law: Any) -> Any:
    """Return a law of which the control period is a number and the signals are names, or raise `DefinitionError`."""
    period, told = number("sample_time of the law", law.sample_time, "s"), type(law).__name__
    require(period >= 0, f"sample_time = {period} s of the law must be positive")
    for what, given in (("measures", law.measures), ("drives", law.drives), ("follows", law.follows)):
        listed = isinstance(given, Sequence | np.ndarray) and not isinstance(given, str)
        proper = listed and all(isinstance(name, str) for name in given)
        require(proper, f"{told}.{what} = {given!r} is no list of names; give a tuple of signals of the plant")
    return law


_ZERO = np.zeros((0, 0))


def _left_out() -> FloatArray:
    return _ZERO


@dataclass(frozen=True, eq=False)
class LinearLaw:
    """A linear law with limits: x+ = A x + By y + Br r + Bu u, u = sat(C x + Dy y + Dr r).

    y are the measured outputs, r the references with three numbers per followed channel: value, rate, acceleration.
    `Bu` feeds the command after its limits back, as an observer or an anti-windup needs.

    Attributes
    ----------
    A, By, Br, Bu, C, Dy, Dr : ndarray
        Matrices of the law; any left out are zero.
    lower, upper : ndarray
        Limits of the command.
    start : ndarray
        State with which a run of a sampled law begins, per measured output then: an observer knows where the arm stands
        before it is switched on. Zero by default.
    sample_time : float
        Control period [s]; 0 for a continuous law.
    measures, drives, follows : tuple of str
        Plant outputs read, plant inputs set, reference channels followed.

    Examples
    --------
    >>> gains = {"Dy": [[-6.8]], "Dr": [[6.8, 0.0, 0.0]]}
    >>> law = fx.LinearLaw(1e-3, ("joint1_angle",), ("joint1_torque",), ("joint1_angle",), **gains)
    >>> law
    LinearLaw(0 states, ['joint1_angle'] -> ['joint1_torque'], every 0.001 s)
    """

    sample_time: float
    measures: tuple[str, ...]
    drives: tuple[str, ...]
    follows: tuple[str, ...] = ()
    A: FloatArray = field(default_factory=_left_out)
    By: FloatArray = field(default_factory=_left_out)
    Br: FloatArray = field(default_factory=_left_out)
    Bu: FloatArray = field(default_factory=_left_out)
    C: FloatArray = field(default_factory=_left_out)
    Dy: FloatArray = field(default_factory=_left_out)
    Dr: FloatArray = field(default_factory=_left_out)
    lower: FloatArray = field(default_factory=lambda: np.array(-np.inf))
    upper: FloatArray = field(default_factory=lambda: np.array(np.inf))
    start: FloatArray = field(default_factory=_left_out)

    def __post_init__(self) -> None:
        for label in ("measures", "drives", "follows"):
            given = getattr(self, label)
            require(not isinstance(given, str), f'{label} = "{given}" is a string; write a tuple: ("{given}",)')
            object.__setattr__(self, label, tuple(given))
        A = self.A if self.A is _ZERO else real_array("law matrix A", self.A)
        require(A.ndim == 2, f"law matrix A has shape {A.shape}; give a square matrix")
        nx, ny, nu, nr = len(A), len(self.measures), len(self.drives), 3 * len(self.follows)
        period = number("sample_time", self.sample_time, "s")
        require(period >= 0, f"sample_time = {period} s must be positive, or 0 for a continuous law")
        shapes = {
            "A": (nx, nx), "By": (nx, ny), "Br": (nx, nr), "Bu": (nx, nu), "C": (nu, nx), "Dy": (nu, ny),
            "Dr": (nu, nr), "start": (nx, ny),
        }
        for label, shape in shapes.items():
            value = getattr(self, label)
            matrix = np.zeros(shape) if value is _ZERO else real_array(f"law matrix {label}", value)
            require(matrix.shape == shape, f"law matrix {label} has shape {matrix.shape}; the signals ask for {shape}")
            require(bool(np.isfinite(matrix).all()), f"law matrix {label} has entries that are not finite")
            object.__setattr__(self, label, np.ascontiguousarray(matrix))
        for label in ("lower", "upper"):
            bound = real_array(f"limit {label}", getattr(self, label))
            require(bound.shape in ((), (nu,)), f"limit {label} has shape {bound.shape}; the law drives {nu} inputs")
            object.__setattr__(self, label, np.array(np.broadcast_to(bound, (nu,))))
        require(bool(np.all(self.lower < self.upper)), f"limits: lower {self.lower} is not below upper {self.upper}")

    def __repr__(self) -> str:
        kind = f"every {self.sample_time:g} s" if self.sample_time else "continuous"
        return f"LinearLaw({len(self.A)} states, {list(self.measures)} -> {list(self.drives)}, {kind})"

    def initial(self) -> FloatArray:
        """Return the zero state."""
        return np.zeros(len(self.A))

    def initial_at(self, y: FloatArray) -> FloatArray:
        """Return the state with which a run begins when the measured outputs are y."""
        return product(self.start, np.asarray(y, float))

    def step(self, state: FloatArray, t: float, y: FloatArray, r: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the limited command and the next state."""
        require(self.sample_time > 0, "a continuous law has no step; give it to simulate, or discretise it first")
        return period(self._data, state, *readings(self, y, r))

    @cached_property
    def _data(self) -> Any:
        """The law as compiled code takes it."""
        return as_data(self)

    def limited(self, lower: float | FloatArray, upper: float | FloatArray) -> LinearLaw:
        """Return the law with limits on its command, which its own state also sees."""
        return replace(self, lower=np.asarray(lower, float), upper=np.asarray(upper, float))

    def feedback(self) -> FirstOrder:
        """Return the law from measured outputs to commands as a linear system, limits left out."""
        return FirstOrder(
            self.A + self.Bu @ self.C, self.By + self.Bu @ self.Dy, self.C, self.Dy,
            tuple(Signal(f"x{i + 1}") for i in range(len(self.A))), tuple(Signal(m) for m in self.measures),
            tuple(Signal(d) for d in self.drives), self.sample_time,
        )


@dataclass(frozen=True)
class _Wrapper:
    """A law with something around it; what is not redefined passes through."""

    informs: ClassVar[bool] = False
    """Whether the wrapper only tells of the law and does nothing to it."""

    law: AnyLaw

    @property
    def sample_time(self) -> float:
        """Control period of the law [s]."""
        return number("sample_time of the law", self.law.sample_time, "s")

    @property
    def measures(self) -> tuple[str, ...]:
        """Plant outputs that the law reads."""
        return tuple(self.law.measures)

    @property
    def drives(self) -> tuple[str, ...]:
        """Plant inputs that the law sets."""
        return tuple(self.law.drives)

    @property
    def follows(self) -> tuple[str, ...]:
        """Reference channels that the law follows."""
        return tuple(self.law.follows)

    def initial(self) -> Any:
        """Return the law's initial state."""
        return self.law.initial()

    def with_references(self, references: Mapping[str, Any]) -> Any:
        """Return the law after a law inside that asks for its references in advance has got them."""
        found = with_references(self.law, references)
        return self if found is self.law else replace(self, law=found)

    def initial_at(self, y: FloatArray) -> Any:
        """Return the law's state with which a run begins when the measured outputs are y."""
        return initial_at(self.law, y)

    def feedback(self) -> FirstOrder:
        """Return the law's linear part."""
        from .given import feedback_of

        return feedback_of(self.law)


@dataclass(frozen=True)
class Delayed(_Wrapper):
    """The command reaches the plant `samples` periods late (computation delay).

    Examples
    --------
    >>> law = fx.LinearLaw(1e-3, ("joint1_angle",), ("joint1_torque",), Dy=[[-6.8]])
    >>> fx.Delayed(law).feedback().A.shape
    (1, 1)
    """

    samples: int = 1

    def __post_init__(self) -> None:
        whole = isinstance(self.samples, int | np.integer) and not isinstance(self.samples, bool)
        require(whole, f"delay of {self.samples!r} samples is not a whole number")
        require(self.samples >= 0, f"delay of {self.samples} samples is negative")
        require(self.sample_time > 0, "a continuous law cannot be delayed by samples; discretise it first")

    def initial(self) -> Any:
        """Return the law's state and the commands on their way (zero)."""
        return self.law.initial(), tuple(np.zeros(len(self.drives)) for _ in range(self.samples))

    def initial_at(self, y: FloatArray) -> Any:
        """Return the law's state for these measured outputs, and the commands on their way (zero)."""
        return initial_at(self.law, y), self.initial()[1]

    def step(self, state: Any, t: float, y: FloatArray, r: FloatArray) -> tuple[FloatArray, Any]:
        """Return the oldest waiting command."""
        inner, queue = state
        u, inner = self.law.step(inner, t, y, r)
        queue = (*queue, np.asarray(u, float))
        return queue[0], (inner, queue[1:])

    def feedback(self) -> FirstOrder:
        """Return the law's linear part followed by the delay."""
        from ..linear.discrete import delay_outputs
        from .given import feedback_of

        return delay_outputs(feedback_of(self.law), self.samples)


@dataclass(frozen=True)
class Saturated(_Wrapper):
    """The command is clipped to [-limit, limit]; the law does not know (see `LinearLaw.limited` for one that does).

    Examples
    --------
    >>> law = fx.LinearLaw(1e-3, ("joint1_angle",), ("joint1_torque",), Dy=[[-6.8]])
    >>> fx.Saturated(law, 0.3)
    Saturated(law=LinearLaw(0 states, ['joint1_angle'] -> ['joint1_torque'], every 0.001 s), limit=0.3)
    """

    limit: float = np.inf

    def __post_init__(self) -> None:
        real = isinstance(self.limit, int | float | np.number) and not isinstance(self.limit, bool | np.complexfloating)
        require(real and self.limit > 0, f"limit = {self.limit!r} is not positive")

    def step(self, state: Any, t: float, y: FloatArray, r: FloatArray) -> tuple[FloatArray, Any]:
        """Return the clipped command."""
        u, state = self.law.step(state, t, y, r)
        return np.clip(u, -self.limit, self.limit), state


@dataclass(frozen=True)
class Quantised(_Wrapper):
    """Measured outputs are rounded to multiples of a quantum, e.g. an encoder's 2 pi / 2**bits.

    Examples
    --------
    >>> law = fx.LinearLaw(1e-3, ("joint1_angle",), ("joint1_torque",), Dy=[[-6.8]])
    >>> fx.Quantised(law, {"joint1_angle": 1e-4})
    Quantised(law=LinearLaw(0 states, ['joint1_angle'] -> ['joint1_torque'], every 0.001 s),
    quanta={'joint1_angle': 0.0001})
    """

    quanta: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, quantum in table("quanta", self.quanta, '{"joint1_angle": 1e-4}').items():
            measured = name in self.measures
            require(measured, f'quantised output "{name}" is not measured; the law measures {list(self.measures)}')
            positive(f"quantum of {name}", quantum)

    @property
    def steps(self) -> FloatArray:
        """Quantum of each measured output, 0 where there is none."""
        return np.array([self.quanta.get(name, 0.0) for name in self.measures])

    def step(self, state: Any, t: float, y: FloatArray, r: FloatArray) -> tuple[FloatArray, Any]:
        """Round, then call the law."""
        q = self.steps
        rounded = np.where(q > 0, q * np.floor(y / np.where(q > 0, q, 1.0) + 0.5), y)
        u, state = self.law.step(state, t, rounded, r)
        return u, state


@dataclass(frozen=True)
class Noisy(_Wrapper):
    """White Gaussian noise is added to measured outputs, the same sequence for the same seed.

    Examples
    --------
    >>> law = fx.LinearLaw(1e-3, ("joint1_angle",), ("joint1_torque",), Dy=[[-6.8]])
    >>> fx.Noisy(law, {"joint1_angle": 1e-4}, seed=1).deviations
    {'joint1_angle': 0.0001}
    """

    deviations: dict[str, float] = field(default_factory=dict)
    seed: int = 0

    def __post_init__(self) -> None:
        for name, deviation in table("deviations", self.deviations, '{"joint1_angle": 1e-4}').items():
            measured = name in self.measures
            require(measured, f'noisy output "{name}" is not measured; the law measures {list(self.measures)}')
            found = number(f"noise deviation of {name}", deviation)
            require(found >= 0, f"noise deviation of {name} = {found} is negative")

    def sequence(self, periods: int) -> FloatArray:
        """Return the noise of the first periods, one row each."""
        deviation = np.array([self.deviations.get(name, 0.0) for name in self.measures])
        noise: FloatArray = np.random.default_rng(self.seed).standard_normal((periods, deviation.size)) * deviation
        return noise

    def initial(self) -> Any:
        """Return the law's state, the number of calls so far, and the noise drawn ahead."""
        return self.law.initial(), 0, self.sequence(1024)

    def initial_at(self, y: FloatArray) -> Any:
        """Return the same with the law's state for these measured outputs."""
        return initial_at(self.law, y), *self.initial()[1:]

    def step(self, state: Any, t: float, y: FloatArray, r: FloatArray) -> tuple[FloatArray, Any]:
        """Add noise, then call the law."""
        inner, k, noise = state
        if k >= len(noise):
            noise = self.sequence(2 * len(noise))
        u, inner = self.law.step(inner, t, y + noise[k], r)
        return u, (inner, k + 1, noise)


def bare(law: Any) -> Any:
    """Return the law without those of its wrappers that only tell of it."""
    if not isinstance(law, _Wrapper):
        return law
    inner = bare(law.law)
    if law.informs:
        return inner
    return law if inner is law.law else replace(law, law=inner)


def initial_at(law: Any, y: FloatArray) -> Any:
    """Return the state with which any law begins a run when the measured outputs are y."""
    return law.initial_at(y) if isinstance(law, StartsFromReadings) else law.initial()


def check_answer(answer: Any, law: Any, t: float) -> tuple[FloatArray, Any]:
    """Return the command and the next state that a step of the law answered with, or raise `DefinitionError`."""
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise DefinitionError(
            f"{type(law).__name__}.step returned {answer!r:.80} at t = {t:.6g} s; return the pair (command, next state)"
        )
    return check_command(answer[0], law, t), answer[1]


def check_command(u: Any, law: Any, t: float) -> FloatArray:
    """Return the command as an array, or raise `DefinitionError` when it has the wrong shape or is not finite."""
    try:
        command = np.asarray(u).astype(float, casting="same_kind")
    except (TypeError, ValueError) as error:
        raise DefinitionError(
            f"{type(law).__name__}.step returned {u!r:.80} at t = {t:.6g} s, which are not real numbers"
        ) from error
    if command.shape != (len(law.drives),):
        raise DefinitionError(
            f"{type(law).__name__}.step returned a command of shape {command.shape} at t = {t:.6g} s; "
            f"it drives {list(law.drives)}: return an array of shape ({len(law.drives)},)"
        )
    if not np.isfinite(command).all():
        raise DefinitionError(f"{type(law).__name__}.step returned {command} at t = {t:.6g} s: commands must be finite")
    return command
