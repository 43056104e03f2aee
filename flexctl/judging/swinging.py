"""Whether a scheduled law stays stable while what it is scheduled by moves.

Margins in frozen poses say nothing of how fast the pose may change. So the full model swings through the range for
which the law is designed, faster and faster, and every swing is run twice: as it is, and tapped at the drives once at
its beginning. What the tap leaves, the difference of the two runs, fades where the motion is stable and grows where it
is not: a Lyapunov exponent, seen over cycles. It is a search for a counterexample. What it does not find may be there:
other swings, other taps, rates beyond those that were tried, or at which a command is at its limit.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from ..abilities import Identified, Posable, RigidDynamics
from ..errors import AccuracyWarning, DefinitionError, FlexctlError, NotAvailable, require
from ..laws.blended import Blended
from ..laws.controller import Controller, layers
from ..laws.given import as_law
from ..laws.rigid_reference import references
from ..machine.given import ModelGiven, as_runnable, as_simulated
from ..model import FloatArray, names
from ..motion.profiles import Swing
from ..motion.signals import PiecewiseConstant
from ..simulation.response import Response
from ..simulation.simulate import simulate
from ..support.kinds import LawGiven
from ..support.tabular import Column, Tabular

CYCLES = 5
"""Cycles of a swing; the tap comes in the first."""
TAP = 1e-3
"""Size of the tap, as a part of the largest command of the swing."""
PARTS = 6
"""Parts of the run after the tap whose largest differences are compared."""
SLOWEST, FASTER = 8.0, np.array([1.0, 1.6, 2.5, 4.0, 6.3])
"""Period [s] of the slowest swing that is tried by default, and factors on its rate."""
NEEDLESS = 0.5
"""A command at its limit where the rigid arm needs less than this part of it tells of a loop that swings up."""
FLOOR = 1e-9
"""Differences below this part of the first are rounding."""
FADED = 0.3
"""The difference of the last part, over the largest, up to which a swing is called stable."""


@dataclass(frozen=True, eq=False)
class SwingStability(Tabular):
    """Vibration that taps leave behind while the arm swings.

    Attributes
    ----------
    by : str
        The output that swings.
    rates : ndarray
        Largest rate of each swing, in the output's unit per second.
    exponents : ndarray
        Growth of the difference of tapped and untapped run [1/s]; negative where it fades, NaN where there is no run.
    left : ndarray
        What is left of it in the last part of the run, as a fraction of its largest value.
    states : tuple of str
        "stable", "GROWS" (also to a limit of the commands that the motion does not need), "at a limit" that it needs
        (which says nothing about the law alone), or why there is no run.
    amplitude : float
        Half the range through which it swings.

    Examples
    --------
    >>> found = fx.SwingStability("joint2_angle", np.array([1.0, 2.0]), np.array([-3.0, 0.5]), np.array([0.0, 1.0]),
    ...                           ("stable", "GROWS"), 1.3)
    >>> found.stable_to, found.grows_at
    (1.0, 2.0)
    """

    by: str
    rates: FloatArray
    exponents: FloatArray
    left: FloatArray
    states: tuple[str, ...]
    amplitude: float
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def grows_at(self) -> float | None:
        """The smallest rate at which a tap grew; None where none did."""
        found = [float(r) for r, s in zip(self.rates, self.states, strict=True) if s == "GROWS"]
        return min(found, default=None)

    @property
    def stable_to(self) -> float:
        """The largest rate up to which every swing was stable; 0 where the slowest was not."""
        best = 0.0
        for rate, state in sorted(zip(self.rates, self.states, strict=True)):
            if state != "stable":
                break
            best = float(rate)
        return best

    def __str__(self) -> str:
        lines = [f"swings of {self.by} by +-{self.amplitude:.4g}", f"{'rate [1/s]':>12} {'growth [1/s]':>13}  state"]
        rows = zip(self.rates, self.exponents, self.states, strict=True)
        lines += [f"{rate:>12.4g} {growth:>13.4g}  {state}" for rate, growth, state in rows]
        end = f"a counterexample at {self.grows_at:.4g}" if self.grows_at is not None else "no counterexample found"
        return "\n".join([*lines, f"stable to {self.stable_to:.4g} per second; {end}"])

    def _table(self) -> list[Column]:
        return [
            Column("rate", self.rates, "1/s"), Column("growth", self.exponents, "1/s"), Column("left", self.left, "1"),
            Column("state", list(self.states)),
        ]

    def _about(self) -> Mapping[str, Any]:
        return {**self.provenance, "by": self.by, "amplitude": self.amplitude}


def swing_stability(
    plant: ModelGiven, law: LawGiven, rates: Sequence[float] | None = None, *, by: str | None = None,
    between: tuple[float, float] | None = None, progress: Callable[[str, float], None] | None = None,
) -> SwingStability:
    """Return how taps fade while the arm swings through the range of a scheduled law, faster and faster.

    Parameters
    ----------
    plant : Plant, model, name or path
        The arm, run in full.
    law : Controller or Design
        The law; it follows the output that swings.
    rates : sequence of float, optional
        Largest rates of the swings [unit of the output per s]; by default five, from that of a swing in 8 s to
        six times as fast.
    by : str, optional
        The output that swings; by default what a blended law is scheduled by.
    between : (float, float), optional
        The range of the swings; by default that for which a blended law is designed.
    progress : callable, optional
        Called with what is running and the fraction done.

    Examples
    --------
    >>> script = fx.load_controller("planar_2r_scheduled")
    >>> arm = fx.load_plant(script.PLANT, overrides={**script.SETTINGS, "model.elements": 2}, payload={"mass": 0.25})
    >>> fx.swing_stability(arm, script.design(fx.load_plant(script.PLANT)), [0.5], between=(0.9, 1.1)).states
    ('stable',)
    """
    system, known = as_runnable(plant), as_law(law)
    model: Any = as_simulated(system)
    scheduled = next((one for one in layers(known) if isinstance(one, Blended)), None)
    name = by or (scheduled.by if scheduled is not None else "")
    require(bool(name), "the law is not scheduled by an output: say what swings (by) and between which values")
    if name not in known.follows:
        raise DefinitionError(f"the law does not follow {name}, so that it cannot be made to swing; it follows "
                              f"{', '.join(known.follows)}")
    known_range = {} if scheduled is None else scheduled.designed_for
    low, high = between or known_range.get(name, (math.nan, math.nan))
    proper = math.isfinite(low) and math.isfinite(high) and low < high
    require(proper, f"between = {(low, high)}: give the range of {name}, two ascending numbers")
    half = 0.5 * (high - low)
    tried = np.array(2.0 * np.pi * half / SLOWEST * FASTER if rates is None else list(rates), float)
    positive = tried.size > 0 and bool(np.isfinite(tried).all() and (tried > 0).all())
    require(positive, f"rates = {tried.tolist()} must be positive numbers")
    rows = []
    for k, rate in enumerate(tried):
        if progress is not None:
            progress(f"{name} swings at {rate:.3g} per second", k / tried.size)
        swing = Swing(0.5 * (low + high), half, float(rate) / (2.0 * math.pi * half), CYCLES)
        rows.append(_one(system, model, known, name, swing))
    return SwingStability(
        name, tried, np.array([r[0] for r in rows]), np.array([r[1] for r in rows]), tuple(r[2] for r in rows), half,
        dict(system.identity) if isinstance(system, Identified) else {},
    )


def _one(system: Any, model: Any, law: Controller, name: str, swing: Swing) -> tuple[float, float, str]:
    """Return growth, what is left, and the state of one swing."""
    motions, start = _motions(model, law, name, swing)
    step = law.sample_time if law.sample_time > 0 else 1e-3
    period = 1.0 / swing.frequency

    begin, end = 0.25 * period, 0.25 * period + min(0.02 * period, 0.05)

    def run(size: Mapping[str, float]) -> Response:
        taps = {drive: PiecewiseConstant((begin, end), (0.0, x, 0.0)) for drive, x in size.items()}
        with warnings.catch_warnings():  # the two runs are off by the same
            warnings.simplefilter("ignore", AccuracyWarning)
            return simulate(system, law, motions, duration=swing.duration, step=step, inputs=taps, initial=start)

    try:
        plain = run(dict.fromkeys(law.drives, 0.0))
        if _limited(plain, law):
            needless = _needed(model, name, swing) < NEEDLESS * max(float(np.abs(plain[d]).max()) for d in law.drives)
            return (math.inf, math.nan, "GROWS") if needless else (math.nan, math.nan, "at a limit")
        tapped = run({drive: TAP * float(np.abs(plain[drive]).max()) for drive in law.drives})
    except FlexctlError as error:
        return math.nan, math.nan, f"no run: {error}"
    return _growth(plain, tapped, end)


def _motions(model: Any, law: Controller, name: str, swing: Swing) -> tuple[dict[str, Any], Any]:
    """Return what a run refers to, all but one joint at rest, and the state in which it begins."""
    joint = name.removesuffix("_angle").removesuffix("_extension")
    joints = names(model.coordinates)
    if joint not in joints or not isinstance(model, RigidDynamics) or not isinstance(model, Posable):
        others = {other: Swing(0.0, 0.0, swing.frequency) for other in law.follows if other != name}
        return {name: swing, **others}, None
    count = len(model.arm.joints)
    rest = Swing(0.0, 0.0, swing.frequency)
    every = {f"joint{i}": swing if f"joint{i}" == joint else rest for i in range(1, count + 1)}
    angles = [swing.begin if f"joint{i}" == joint else 0.0 for i in range(1, count + 1)]
    found = references(model, every, law)
    arm: Any = model
    pose = np.array(arm.pose(angles), float)
    return {key: motion for key, motion in found.items() if key in law.follows}, (pose, np.zeros_like(pose))


def _needed(model: Any, name: str, swing: Swing) -> float:
    """Return the largest drive that the rigid arm needs for a swing; infinite where that is not known."""
    joint = name.removesuffix("_angle").removesuffix("_extension")
    if joint not in names(model.coordinates) or not isinstance(model, RigidDynamics):
        return math.inf
    value, rate, acceleration = swing(np.linspace(0.0, swing.duration, 400, endpoint=False))
    at = int(joint.removeprefix("joint")) - 1
    every = np.zeros((3, value.size, len(model.arm.joints)))
    every[:, :, at] = value, rate, acceleration
    return float(np.abs(model.rigid_torques(*every)).max())


def _limited(run: Response, law: Controller) -> bool:
    """Whether a command stood at its largest for more than an instant: a limit, not a peak."""
    for drive in law.drives:
        u = np.abs(run[drive])
        most = float(u.max())
        if most > 0.0 and np.sum(u > (1.0 - 1e-12) * most) > 3:
            return True
    return False


def _growth(plain: Response, tapped: Response, begin: float) -> tuple[float, float, str]:
    """Return growth [1/s], what is left, and the word for it, from the differences after the tap."""
    after = plain.t > begin
    parts = []
    for signal in plain.outputs:
        if signal.unit in ("rad", "m"):
            d = np.abs(tapped[signal.name] - plain[signal.name])[after]
            most = float(d.max())
            parts.append(d / most if most > 0.0 else d)
    if not parts:
        raise NotAvailable("the arm has no angle or place among its outputs by which to see what a tap leaves")
    whole = np.max(parts, axis=0)
    t = plain.t[after]
    edges = np.linspace(0, t.size, PARTS + 1).astype(int)
    sizes = np.array([max(float(whole[a:b].max()), FLOOR) for a, b in pairwise(edges)])
    middle = np.array([t[(a + b - 1) // 2] for a, b in pairwise(edges)])
    held = sizes > 10.0 * FLOOR
    use = held if held.sum() > 1 else np.ones(PARTS, bool)
    growth = float(np.polyfit(middle[use], np.log(sizes[use]), 1)[0])
    left = float(sizes[-1] / sizes.max())
    return growth, left, "stable" if left < FADED and growth < 0.0 else "GROWS"
