"""Criteria of tuning: numbers of its linear loops on several plants, quickly, and scores of runs.

One decomposition of the closed loop gives its poles and, as sums over them, every response that is asked for:

    disk_margin     1 / max |S - 1/2| of every loop, the others closed; at least a bound
    decay_rate      of the slowest pole [1/s]; at least a bound
    damping         smallest damping ratio; at least a bound
    load_response   max |(1 + corner / (j w)) G| from a load at any driven input to any followed output that is
                    recorded; at most a bound. The factor makes a slow pole count, which would else be left where it is
    noise_gain      root of the summed variances of the commands with white noise of variance 1 on every sensor; at most
                    a bound. Leave it out, and encoders make twice the ripple
    OUTPUT.SCORE, SCENARIO: OUTPUT.SCORE    the worst of the runs; at most a bound

Each becomes a number that is 1 at its bound and smaller where it is better. The grid of frequencies has fans around the
poles of the closed loop, whose number changes with the law; what comes out in the end is examined again on whole plants
by the functions that certificates use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import FlexctlError, require, unknown
from ...laws.linear_part import linear_part
from ...linear import FirstOrder, SecondOrder
from ...linear.discrete import zero_order_hold
from ...machine.given import as_linear
from ...model import ComplexArray, FloatArray, names
from ..certify.requirements import concerns

if TYPE_CHECKING:
    from ...catalogue import Plant
    from ..scenario import Scenario

AT_LEAST = ("disk_margin", "decay_rate", "damping")
AT_MOST = ("load_response", "noise_gain")
POINTS = 120
"""Frequencies of the fixed part of the grid."""
_FAN = np.array([-3.0, -1.5, -0.75, -0.3, 0.0, 0.3, 0.75, 1.5, 3.0])
"""Frequencies around a pole, in parts of its decay rate."""
UNSTABLE = 20.0
"""Logarithm of what an unstable loop counts, before its growth is added: above that of any stable one."""


@dataclass(frozen=True, eq=False)
class Model:
    """One plant as the search sees it: sampled, with a few modes, strictly from inputs to measured outputs.

    Attributes
    ----------
    name : str
        Label.
    whole : SecondOrder or FirstOrder
        The plant with all its modes.
    few : SecondOrder or FirstOrder
        With as many modes as the search takes.
    """

    name: str
    whole: Any
    few: Any


def models(over: Mapping[str, Any], modes: int | None) -> list[Model]:
    """Return the plants of the search; second-order ones with their rigid and at most so many flexible modes."""
    require(bool(over), "tune over at least one plant")
    found = []
    for name, given in over.items():
        whole = as_linear(given)
        few = whole
        if isinstance(whole, SecondOrder) and modes is not None:
            few = whole.first_order()
            if sum(state.startswith("mode") and "_" not in state for state in names(few.states)) > modes:
                few = whole.first_order(modes=modes)
        found.append(Model(name, whole, few))
    return found


@dataclass(frozen=True, eq=False)
class Goals:
    """Bounds to be met (`require`) and numbers to be made small (`minimise`): name -> bound.

    Attributes
    ----------
    minimise, require : mapping
        See the module docstring.
    corner : float
        Of the load response [rad/s].
    scenarios, plant
        Runs and their nominal plant, for scores.
    """

    minimise: Mapping[str, float]
    require: Mapping[str, float]
    corner: float = 1.0
    scenarios: tuple[Scenario, ...] = ()
    plant: Plant | None = None

    def __post_init__(self) -> None:
        require(bool(self.minimise), "nothing to minimise: name at least one goal with its bound")
        for name, bound in {**self.minimise, **self.require}.items():
            if "." in name:
                ready = bool(self.scenarios) and self.plant is not None
                require(ready, f'"{name}" is the score of a run: give scenarios and their plant')
            elif name not in (*AT_LEAST, *AT_MOST):
                raise unknown("goal", name, [*AT_LEAST, *AT_MOST, "OUTPUT.SCORE", "SCENARIO: OUTPUT.SCORE"])
            proper = isinstance(bound, int | float) and not isinstance(bound, bool) and 0.0 < bound < np.inf
            require(proper, f"the bound of {name} = {bound!r} must be positive and finite")

    @property
    def linear(self) -> list[str]:
        """Those of linear loops."""
        return [name for name in (*self.minimise, *self.require) if "." not in name]

    @property
    def scores(self) -> list[str]:
        """Those of runs."""
        return [name for name in (*self.minimise, *self.require) if "." in name]

    def part(self, name: str, value: float) -> float:
        """Return a value in parts of its bound: below 1 where it is better."""
        bound = self.require.get(name, self.minimise.get(name, 1.0))
        if name in AT_LEAST:
            return bound / value if value > 0.0 else np.inf
        return value / bound

    def total(self, values: Mapping[str, Mapping[str, float]]) -> float:
        """Return what the search makes small, from goal -> plant or run -> value."""
        worst = {name: max(self.part(name, x) for x in per.values()) for name, per in values.items()}
        aim = max(np.log(max(worst[name], 1e-12)) for name in self.minimise)
        over = max((np.log(max(worst[name], 1e-12)) for name in self.require), default=0.0)
        return float(min(aim + 10.0 * max(over, 0.0), UNSTABLE - 1e-6))


def judged(law: Any, on: Sequence[Model], goals: Goals) -> tuple[float, dict[str, dict[str, float]]]:
    """Return what the search makes small, and goal -> plant or run -> value: none where a loop is unstable."""
    linear = linear_part(law, lambda name: 0.0)
    values: dict[str, dict[str, float]] = {name: {} for name in (*goals.linear, *goals.scores)}
    grown = 0.0
    for model in on:
        loop = _Loop(model.few, linear.feedback(), law)
        grown = max(grown, loop.radius - 1.0)
        if grown <= 0.0:
            for name, value in loop.values(goals).items():
                values[name][model.name] = value
    if grown > 0.0:
        return UNSTABLE + 1.0 + 1e3 * grown, {}
    if goals.scores:
        _run(law, goals, values)
    return goals.total(values), values


def _run(law: Any, goals: Goals, values: dict[str, dict[str, float]]) -> None:
    for item in goals.scenarios:
        about = [name for name in goals.scores if concerns(name, item.name)]
        if not about or goals.plant is None:
            continue
        try:
            scores: Mapping[str, float] = item.run(law, goals.plant).scores
        except FlexctlError:
            scores = {}
        for name in about:
            key = name.rpartition(": ")[2]
            if scores and key not in scores:
                raise unknown("goal: score", key, scores)
            value = scores.get(key, np.inf)  # one that does not settle, or a run that fails, is worse than any other
            values[name][item.name] = value if np.isfinite(value) else 100.0 * item.duration
    empty = [name for name in goals.scores if not values[name]]
    require(not empty, f"the goals {empty} are about none of the scenarios {[item.name for item in goals.scenarios]}")


class _Loop:
    """The closed loop of a plant and a law in the coordinates of its poles."""

    def __init__(self, plant: Any, feedback: FirstOrder, law: Any) -> None:
        self.dt = feedback.dt
        view = _held(plant, self.dt)
        self.drives = len(feedback.outputs)
        inputs, outputs = names(view.inputs), names(view.outputs)
        columns = [inputs.index(s.name) for s in feedback.outputs]
        rows = [outputs.index(s.name) for s in feedback.inputs]
        followed = [outputs.index(name) for name in law.follows if name in outputs]
        B, C, D = view.B[:, columns], view.C[rows], view.D[np.ix_(rows, columns)]
        # u = K xk + F (C x + D (u + d) + n),   x+ = A x + B (u + d)
        solved = np.linalg.inv(np.eye(self.drives) - feedback.D @ D)
        Ux = solved @ np.hstack([feedback.D @ C, feedback.C])
        Ud, Un = solved @ feedback.D @ D, solved @ feedback.D
        n, m = len(view.A), len(feedback.A)
        A = np.zeros((n + m, n + m))
        A[:n, :n], A[n:, n:], A[n:, :n] = view.A, feedback.A, feedback.B @ C
        into = np.vstack([B, feedback.B @ D])
        A += into @ Ux
        one = np.eye(self.drives)
        self.load = into @ (one + Ud)
        self.noise = np.vstack([np.zeros((n, len(rows))), feedback.B]) + into @ Un
        self.Ux: FloatArray = np.asarray(Ux, np.float64)
        self.Ud, self.Un = Ud, Un
        through = view.D[np.ix_(followed, columns)]
        self.Cz = np.hstack([view.C[followed], np.zeros((len(followed), m))]) + through @ Ux
        self.Dz = through @ (one + Ud)
        self.z, self.V = np.linalg.eig(A)
        self.radius = float(np.abs(self.z).max(initial=0.0)) if self.dt else 1.0 + float(self.z.real.max(initial=-1.0))
        self.solved = None if np.linalg.cond(self.V) > 1e10 else np.linalg.inv(self.V)
        self.A = A

    @property
    def s(self) -> ComplexArray:
        """Poles as s [rad/s], those that are gone within a period left out."""
        if not self.dt:
            return np.asarray(self.z, complex)
        return np.asarray(np.log(self.z[np.abs(self.z) > 1e-6].astype(complex)) / self.dt)

    def grid(self) -> FloatArray:
        """Return frequencies [rad/s] with fans around the poles."""
        s = self.s[self.s.imag >= 0.0]
        size = np.abs(s)
        last = np.pi / self.dt if self.dt else 10.0 * float(size.max())
        first = min(0.1 * float(size.min()), 1e-3 * last)
        fans = (s.imag[:, None] + np.abs(s.real)[:, None] * _FAN).ravel()
        fans = fans[(fans > first) & (fans < last)]
        return np.unique(np.concatenate([np.geomspace(first, last, POINTS), fans]))

    def response(self, C: FloatArray, B: FloatArray, D: FloatArray, omega: FloatArray) -> ComplexArray:
        """Return C (z - A)^-1 B + D, frequencies first."""
        at = np.exp(1j * omega * self.dt) if self.dt else 1j * omega
        if self.solved is None:
            I = np.eye(len(self.A))
            return np.asarray(C @ np.linalg.solve(at[:, None, None] * I - self.A, B[None].astype(complex)) + D)
        left, right = C @ self.V, self.solved @ B
        return np.asarray(np.einsum("im,wm,mj->wij", left, 1.0 / (at[:, None] - self.z), right) + D)

    def values(self, goals: Goals) -> dict[str, float]:
        """Return the linear goals of a stable loop."""
        found: dict[str, float] = {}
        wanted = goals.linear
        omega = self.grid() if {"disk_margin", "load_response"} & set(wanted) else np.zeros(0)
        if "disk_margin" in wanted:
            one: FloatArray = np.asarray(np.eye(self.drives) + self.Ud, np.float64)
            S = self.response(self.Ux, self.load, one, omega)
            own = np.abs(np.diagonal(S, axis1=1, axis2=2) - 0.5)
            found["disk_margin"] = 1.0 / float(own.max())
        if "load_response" in wanted:
            require(len(self.Cz) > 0, "load_response: the plant records no output that the law follows")
            G = np.abs(self.response(self.Cz, self.load, self.Dz, omega)).max(axis=(1, 2))
            found["load_response"] = float(np.max(G * np.abs(1.0 + goals.corner / (1j * omega))))
        if "decay_rate" in wanted:
            found["decay_rate"] = float(-self.s.real.max())
        if "damping" in wanted:
            found["damping"] = float(np.min(-self.s.real / np.maximum(np.abs(self.s), 1e-300)))
        if "noise_gain" in wanted:
            found["noise_gain"] = self._noise_gain()
        return found

    def _noise_gain(self) -> float:
        require(self.dt > 0, "noise_gain is about sampled laws: a continuous one may answer white noise without bound")
        import scipy.linalg as sla

        P = sla.solve_discrete_lyapunov(self.A, self.noise @ self.noise.T)
        return float(np.sqrt(np.trace(self.Ux @ P @ self.Ux.T + self.Un @ self.Un.T)))


_HELD: dict[tuple[int, float], tuple[Any, FirstOrder]] = {}


def _held(plant: Any, dt: float) -> FirstOrder:
    """Return the plant as the law sees it; the same plant is sampled once."""
    if not dt:
        return plant if isinstance(plant, FirstOrder) else plant.first_order()
    key = id(plant), dt
    if key not in _HELD or _HELD[key][0] is not plant:
        if len(_HELD) > 200:
            _HELD.clear()
        _HELD[key] = plant, zero_order_hold(plant, dt)
    return _HELD[key][1]
