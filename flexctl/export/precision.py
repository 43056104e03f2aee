"""The cost of single precision to a law: measured in a run, and bounded for the linear loop.

One period of the law in single precision is one in exact numbers with errors added,

    v = C x + Dy (y + e_y) + Dr r + e_v,      x+ = A x + By (y + e_y) + Br r + Bu v + e_x

of which each is bounded, for sums of m products, by (m + 2) u / (1 - (m + 2) u) times the sum of the absolute values,
u = 2^-24: rounding of the constants, of the readings, of every product and every addition. e_y is the rounding of the
reading, or a whole quantum where it is quantised: single precision may decide for the neighbour. The largest values
are those of the run. What the loop makes of bounded errors is bounded by the sum of the absolute values of its impulse
responses; the plant is the linear one, sampled exactly. Numbers too small for single precision (1e-38) are left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import DefinitionError
from ..judging.scenario import Scenario
from ..laws.controller import LinearLaw, _Wrapper, bare
from ..laws.given import as_law
from ..laws.ordered import readings
from ..linear import FirstOrder
from ..linear.discrete import zero_order_hold
from ..model import FloatArray, LinearMechanics, index_of
from ..models.wrappers.driven_joints import DrivenJoints
from ..support.kinds import LawGiven, SystemGiven
from ..support.tabular import Column, Tabular
from .mirror import Mirror
from .program import Program, Units, program_of
from .sampled import Sampling

ROUNDING = 2.0**-24
MODES = 20
"""Flexible modes of the linear plant that the bound counts."""
LONGEST, FORGOTTEN = 400_000, 1e-8
"""Periods of the longest impulse response, and what is left of it where it is cut off."""
SLACK = 1.01
LEVEL = 1e-12
"""Largest bound of an output that is level, as a part of that of the others of its unit: it is rounding."""


@dataclass(frozen=True)
class Lost:
    """The change of one signal by single precision.

    Attributes
    ----------
    unit : str
        Of the signal.
    measured : float
        Largest difference between the runs in single and in double precision.
    bound : float
        What it cannot exceed in the linear loop, where the tip is by the angles that this turns by; NaN where that is
        not known, as of an output that is level at the operating point.
    largest : float
        Largest absolute value in the run.
    """

    unit: str
    measured: float
    bound: float
    largest: float


@dataclass(frozen=True, eq=False)
class SinglePrecision(Tabular):
    """How single precision changes a run of a law.

    Attributes
    ----------
    scenario : str
        The run.
    signals : mapping
        Command or plant output -> `Lost`.
    pole_shift : float
        By how much a pole of the law moves, at most [1].
    unbounded : str
        Why there is no bound; empty where there is one.

    Examples
    --------
    >>> lost = fx.SinglePrecision("move", {}, 1e-7, "the command is at a limit")
    >>> lost.to_dict()["pole_shift"]
    1e-07
    """

    scenario: str
    signals: Mapping[str, Lost]
    pole_shift: float
    unbounded: str = ""

    def _table(self) -> list[Column]:
        lost = list(self.signals.values())
        return [
            Column("signal", list(self.signals)), Column("unit", [s.unit for s in lost]),
            Column("measured", [s.measured for s in lost]), Column("bound", [s.bound for s in lost]),
            Column("largest", [s.largest for s in lost]),
        ]

    def _about(self) -> Mapping[str, Any]:
        return {"scenario": self.scenario, "pole_shift": self.pole_shift, "unbounded": self.unbounded}

    def to_dict(self) -> dict[str, Any]:
        """Return everything for JSON; a bound that is not known is null."""
        rows = {
            name: {"unit": s.unit, "measured": s.measured, "bound": s.bound if math.isfinite(s.bound) else None,
                   "largest": s.largest}
            for name, s in self.signals.items()
        }
        return {
            "scenario": self.scenario, "signals": rows, "pole_shift": self.pole_shift, "unbounded": self.unbounded,
        }


@dataclass
class _Largest:
    """Largest absolute values that a law met, and how often its command was at a limit."""

    y: FloatArray
    r: FloatArray
    x: FloatArray
    u: FloatArray
    at_limit: int = 0
    calls: int = 0


@dataclass(frozen=True)
class MirroredLaw(_Wrapper):
    """A law that computes as its code does, in single or double precision, for `simulate`; no compiler is needed."""

    program: Program = field(repr=False, kw_only=True)
    dtype: Any = np.float32
    met: _Largest | None = None

    def initial(self) -> Any:
        """Return states and waiting commands."""
        return self._begun(None)

    def initial_at(self, y: FloatArray) -> Any:
        """Return the same for measured outputs y."""
        return self._begun(y)

    def _begun(self, y: FloatArray | None) -> Any:
        mirror = Mirror(self.program, self.dtype)
        mirror.restart(y)
        return mirror, mirror.x, tuple(mirror.queue)

    def step(self, state: Any, t: float, y: FloatArray, r: FloatArray) -> tuple[FloatArray, Any]:
        """Return the command and the next state."""
        mirror, x, queue = state
        y, r = readings(self, y, r)
        mirror.x, mirror.queue = x, list(queue)
        u = mirror.step(round(t / self.sample_time), y, r)
        if self.met is not None:
            self._note(self.met, x, y, r, mirror.v, mirror.limited)
        return u.astype(float), (mirror, mirror.x, tuple(mirror.queue))

    @staticmethod
    def _note(met: _Largest, x: Any, y: FloatArray, r: FloatArray, v: FloatArray, limited: bool) -> None:
        for name, now in (("y", y), ("r", r), ("x", np.concatenate(x)), ("u", v)):
            setattr(met, name, np.maximum(getattr(met, name), np.abs(now)))
        met.at_limit, met.calls = met.at_limit + limited, met.calls + 1


def single_precision(controller: LawGiven, plant: SystemGiven, scenario: Scenario) -> SinglePrecision:
    """Return how much single precision changes a scenario of a law.

    Parameters
    ----------
    controller : Controller
        A sampled law that can be written as C.
    plant : Plant
        The nominal plant; the scenario runs on its own variant.
    scenario : Scenario
        The run; the bound rests on how large its signals become.

    Examples
    --------
    >>> arm = fx.load_plant("tokhi_azad_1994", overrides={"damping.kind": "modal", "damping.ratio": 0.01})
    >>> law = fx.load_controller("tokhi_azad_pd").design(arm)
    >>> found = fx.single_precision(law, arm, fx.Scenario("move", fx.quintic(0.0, 0.02, 0.4), 0.4))
    >>> found.signals["joint1_torque"].measured < found.signals["joint1_torque"].bound < 1e-3
    True
    """
    from .c import pole_shift

    law = bare(as_law(controller))
    if law is None:
        raise DefinitionError("there is no law whose precision could be examined")
    program = program_of(law, Units({}, {}), Sampling(), None, None)
    met = _Largest(
        np.zeros(len(program.measures)), np.zeros(3 * len(program.follows)), np.zeros(sum(program.states)),
        np.zeros(len(program.drives)),
    )
    exact = scenario.run(MirroredLaw(program.law, program=program, dtype=np.float64, met=met), plant)
    single = scenario.run(MirroredLaw(program.law, program=program), plant)
    bounds, reason = _bounds(program, met, scenario.plant(plant))
    signals = {}
    for kind, names, before, after in (
        ("u", exact.inputs, exact.u, single.u), ("y", exact.outputs, exact.y, single.y),
    ):
        for i, signal in enumerate(names):
            if kind == "u" and signal.name not in law.drives:
                continue
            largest = float(np.abs(before[:, i]).max())
            away = float(np.abs(after[:, i] - before[:, i]).max())
            signals[signal.name] = Lost(signal.unit, away, bounds.get(signal.name, math.nan), largest)
    return SinglePrecision(scenario.name, signals, pole_shift(program), reason)


def _bounds(program: Program, met: _Largest, arm: Any) -> tuple[dict[str, float], str]:
    """Return the bound of every signal of the linear loop, or why there is none."""
    if program.blend is not None or program.switches:
        return {}, "the law changes: a bound is known for one linear law"
    if met.at_limit:
        share = 100.0 * met.at_limit / max(met.calls, 1)
        return {}, f"the command is at a limit in {share:.2g} % of the periods: there the loop is not linear"
    linear = arm.linearise()
    missing = {*program.laws[0].measures} - {s.name for s in linear.outputs}
    if missing:
        return {}, f"the linear plant has no {sorted(missing)}"
    first = linear.first_order()
    if len(first.states) > 2 * MODES + 20:
        first = linear.first_order(modes=MODES)
    loop = _Loop(program, zero_order_hold(first, program.sample_time))
    if not loop.radius < 1.0:
        return {}, f"the linear loop is not stable (a pole at |z| = {loop.radius:.6g})"
    if math.log(FORGOTTEN) / math.log(loop.radius) > LONGEST:
        return {}, f"the linear loop decays too slowly (a pole at |z| = {loop.radius:.9g})"
    sums, peaks = loop.gains()
    more = np.zeros(len(sums))
    for _ in range(4):  # the run in single precision is larger by what is bounded
        each, once = _errors(program, met, loop, more)
        more = SLACK * (sums @ each + peaks @ once)
    bounds = dict(zip(loop.names, more[: len(loop.names)].tolist(), strict=True))
    return bounds | _curved(arm.model, first, bounds), ""


def _curved(model: Any, plant: FirstOrder, bounds: Mapping[str, float]) -> dict[str, float]:
    """Return the bounds of the outputs that the linear plant does not tell.

    Where a point of a circle is: the radius by the bounds of the angles, since sine and cosine change by no more than
    their angle. What is level at the operating point moves all the same: its bound is not known.
    """
    largest: dict[str, float] = {}
    for signal in plant.outputs:
        largest[signal.unit] = max(largest.get(signal.unit, 0.0), bounds[signal.name])
    found = {s.name: math.nan for s in plant.outputs if bounds[s.name] <= LEVEL * largest[s.unit]}
    inner = model.inner if isinstance(model, DrivenJoints) else model
    own = [s.name for s in inner.outputs]
    for row, _, angle, less, radius in inner.turned if isinstance(inner, LinearMechanics) else ():
        found[own[row]] = radius * sum(bounds[own[k]] for k in (angle, less) if k >= 0)
    return found


def _gamma(terms: int) -> float:
    part = (terms + 2) * ROUNDING
    return part / (1.0 - part)


def _errors(program: Program, met: _Largest, loop: _Loop, more: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return bounds of (e_x, e_v, e_y) in every period, and of what the first state is off by."""
    law = program.laws[0]
    nu, ny, n, nr = len(law.drives), len(law.measures), len(law.A), 3 * len(law.follows)
    names = list(loop.names)
    X = met.x + more[len(names) :]
    Y = met.y + np.array([more[names.index(name)] for name in law.measures])
    U = met.u + np.array([more[names.index(name)] for name in law.drives])
    quanta = np.max([np.zeros(ny), *program.quanta], axis=0)
    e_y = np.where(quanta > 0, quanta, ROUNDING * Y)
    Y, R = Y + e_y, met.r
    e_v = _gamma(n + ny + nr) * (np.abs(law.C) @ X + np.abs(law.Dy) @ Y + np.abs(law.Dr) @ R)
    e_x = _gamma(n + ny + nr + nu) * (
        np.abs(law.A) @ X + np.abs(law.By) @ Y + np.abs(law.Br) @ R + np.abs(law.Bu) @ U
    )
    begun = _gamma(ny) * np.abs(law.start) @ met.y
    return np.concatenate([e_x, e_v, e_y]), np.concatenate([begun, np.zeros(nu + ny)])


class _Loop:
    """The linear loop with errors as inputs; signals (commands, plant outputs) and states of the law as outputs."""

    def __init__(self, program: Program, plant: FirstOrder) -> None:
        law: LinearLaw = program.laws[0]
        nu, ny, n, delay, np_ = len(law.drives), len(law.measures), len(law.A), program.delay, len(plant.A)
        rows = [index_of("output", name, plant.outputs) for name in law.measures]
        columns = [index_of("input", name, plant.inputs) for name in law.drives]
        G, Dp = plant.B[:, columns], plant.D[:, columns]
        size = np_ + n + (delay + 1) * nu
        # plant, law, commands that wait (the oldest first), the command that is held
        own, wait, held = slice(np_, np_ + n), np_ + n, slice(size - nu, size)
        everything = np.eye(size)
        y = np.zeros((len(plant.outputs), size))
        y[:, :np_], y[:, held] = plant.C, Dp
        v = law.C @ everything[own] + law.Dy @ y[rows]
        e = np.eye(n + nu + ny)
        ex, ev, ey = e[:n], e[n : n + nu], e[n + nu :]
        v_e = ev + law.Dy @ ey
        first = everything[wait : wait + nu] if delay else v
        first_e = np.zeros_like(v_e) if delay else v_e
        A = np.vstack([
            plant.A @ everything[:np_] + G @ first, law.A @ everything[own] + law.By @ y[rows] + law.Bu @ v,
            *((everything[wait + nu : wait + delay * nu], v) if delay else ()), first,
        ])
        B = np.vstack([
            G @ first_e, ex + law.By @ ey + law.Bu @ v_e,
            *((np.zeros(((delay - 1) * nu, len(e))), v_e) if delay else ()), first_e,
        ])
        self.A, self.B = A, B
        self.C = np.vstack([v, y, everything[own]])
        self.D = np.vstack([v_e, np.zeros((len(plant.outputs) + n, len(e)))])
        self.names = (*law.drives, *(s.name for s in plant.outputs))
        self.radius = float(np.abs(np.linalg.eigvals(A)).max(initial=0.0))

    def gains(self) -> tuple[FloatArray, FloatArray]:
        """Return the sums of the absolute values of all impulse responses, and their largest values."""
        count = math.ceil(math.log(FORGOTTEN) / math.log(self.radius)) if self.radius > 0 else len(self.A)
        sums = np.abs(self.D)
        peaks = sums.copy()
        state = self.B
        for _ in range(max(count, len(self.A))):
            now = np.abs(self.C @ state)
            sums = sums + now
            np.maximum(peaks, now, out=peaks)
            state = self.A @ state
        return sums, peaks

