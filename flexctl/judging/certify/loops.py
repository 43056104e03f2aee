"""The linear loop on the whole plant: poles, damping, margins, spill-over.

A sampled law sees the plant through sampler and hold; the plant is discretised exactly with all its modes, the law
comes with its computation delay, and the poles z of that loop decide. They are reported as s = ln(z) / T. Modes above
the Nyquist frequency appear folded; their decay rate -ln|z| / T is true all the same.

Spill-over: every flexible mode of the plant is paired with the pole of the closed loop that lies where it was (all
pairs at once, smallest total distance), and its damping with and without the law is compared. Modes that die out within
two control periods are left out: their poles crowd around z = 0, and no pairing of those means anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...errors import require
from ...frequency import Margins, loop_gain, margins
from ...frequency.disk import Together, one_at_a_time, simultaneous
from ...frequency.grids import start_grid
from ...laws.given import feedback_of
from ...linear import LinearPlant
from ...linear.decay import STABLE, decays, state_of
from ...linear.interconnect import closed_loop
from ...linear.modes import modes
from ...linear.seen import as_seen
from ...model import ComplexArray, FloatArray, names

LOST = 0.01
"""Part of its damping that a mode must lose to be listed."""


@dataclass(frozen=True, eq=False)
class Spillover:
    """The effect of the loop on the damping of every flexible mode of the plant.

    Attributes
    ----------
    frequencies_hz : ndarray
        Natural frequencies of the plant [Hz].
    before, after : ndarray
        Damping ratios without and with the law; negative where the mode grows.
    """

    frequencies_hz: FloatArray
    before: FloatArray
    after: FloatArray

    @property
    def losing(self) -> list[int]:
        """Return the numbers (from 0) of the modes that lose more than 1 % of their damping, the worst first."""
        lost = np.flatnonzero(self.after < self.before - LOST * np.abs(self.before) - 1e-9)
        left = self.after[lost] / np.maximum(self.before[lost], 1e-9)
        return [int(i) for i in lost[np.argsort(left, kind="stable")]]

    @property
    def worst(self) -> int | None:
        """Return the mode that loses the largest part of its damping, or None when none does."""
        return self.losing[0] if self.losing else None


@dataclass(frozen=True, eq=False)
class Loop:
    """One linear loop.

    Attributes
    ----------
    variant : str
        What tells the plant from the others, e.g. "payload.mass = 0.02".
    state : str
        "stable": all poles decay; "MARGINAL": nothing grows, and something does not decay; or "UNSTABLE".
    poles : ndarray
        Poles of the closed loop as s [rad/s], Im >= 0, by decay rate from the slowest; those of pure delays left out.
    margins : mapping
        Margins by the input at which the loop is broken; distances to the boundary only where it is stable.
    spillover : Spillover
        Damping of the plant's modes.
    law_pole : float
        Real part of the law's pole nearest to z = -1; below -0.8 the command rings at the Nyquist frequency. NaN for a
        continuous law.
    hidden : int
        Modes of the plant above the Nyquist frequency.
    together : mapping
        Disk margin of all commands at once, "inputs", and of all sensors at once, "sensors"; empty where the loop is
        unstable or margins were not asked for.
    disk : float
        Smallest disk margin of all commands, one at a time, where the other margins were not asked for.
    """

    variant: str
    state: str
    poles: ComplexArray
    margins: dict[str, Margins]
    spillover: Spillover
    law_pole: float
    hidden: int
    together: Mapping[str, Together] = field(default_factory=dict)
    disk: float = np.nan

    @property
    def stable(self) -> bool:
        """Whether all poles decay, by more than rounding."""
        return self.state == STABLE

    @property
    def decay(self) -> float:
        """Decay rate of the slowest pole [1/s]; negative when it grows."""
        return float(-self.poles.real.max(initial=-np.inf))

    @property
    def least_damped(self) -> tuple[float, float]:
        """Damping ratio [1] and frequency [Hz] of the least damped oscillation of the closed loop."""
        s = self.poles[self.poles.imag > 1e-9 * np.abs(self.poles)]
        if not s.size:
            return 1.0, np.nan
        zeta = -s.real / np.abs(s)
        k = int(np.argmin(zeta))
        return float(zeta[k]), float(np.abs(s[k]) / (2 * np.pi))

    def smallest(self, key: str) -> float:
        """Return the smallest margin of a name over all inputs; 0 for an unstable loop, NaN where it is not known."""
        if not self.stable:
            return 0.0
        none = self.disk if key == "disk_margin" else np.nan
        return min((getattr(m, key) for m in self.margins.values()), default=none)

    def simultaneous(self, key: str) -> float:
        """Return the disk margin of all "inputs" or all "sensors" at once; 0 for an unstable loop."""
        if not self.stable:
            return 0.0
        return self.together[key].margin if key in self.together else np.nan

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers for JSON."""
        zeta, hertz = self.least_damped
        keys = ("gain_margin", "gain_reduction", "phase_margin_deg", "delay_margin", "disk_margin")
        spill = self.spillover
        return {
            "stable": self.stable, "state": self.state, "slowest_decay_1_s": self.decay,
            "least_damping": zeta, "at_hz": hertz,
            "poles_rad_s": {"real": self.poles.real, "imag": self.poles.imag},
            "margins": {d: {k: getattr(m, k) if self.stable else None for k in keys} for d, m in self.margins.items()},
            "disk_margin_together": {
                key: {"margin": x.margin, "attained": x.attained, "at_rad_s": x.frequency}
                for key, x in self.together.items()},
            "law_pole_next_to_minus_one": self.law_pole, "modes_above_nyquist": self.hidden,
            "spillover": [
                {"mode": i + 1, "frequency_hz": spill.frequencies_hz[i], "damping": spill.before[i],
                 "damping_with_law": spill.after[i]} for i in spill.losing
            ],
        }


def loop_poles(plant: LinearPlant, law: Any) -> ComplexArray:
    """Return the poles of the closed loop of a linear law, z or s."""
    feedback = feedback_of(law)
    return closed_loop(as_seen(plant, feedback.dt, names(feedback.inputs)), feedback).poles()


def decaying(poles: ComplexArray, dt: float) -> bool:
    """Whether all poles (z or s) decay, by more than rounding."""
    return decays(_mapped(poles, dt), dt)


def growth(poles: ComplexArray, dt: float) -> float:
    """Return the growth rate of the slowest pole [1/s]; negative when the loop is stable."""
    if dt == 0:
        return float(poles.real.max(initial=-np.inf))
    return float(np.log(np.abs(poles).max(initial=1e-300)) / dt)


def examine(plant: LinearPlant, law: Any, variant: str = "", with_margins: bool = True) -> Loop:
    """Return what is to be known of a linear loop.

    Parameters
    ----------
    plant : LinearPlant
        The whole plant.
    law : Controller
        A linear law, see `flexctl.laws.linear_part`.
    variant : str
        Label.
    with_margins : bool
        Without them (but for the disk margin) it is ten times faster.
    """
    feedback = feedback_of(law)
    dt = feedback.dt
    view = as_seen(plant, dt, names(feedback.inputs))
    poles = closed_loop(view, feedback).poles()
    s = _mapped(poles, dt)
    state = state_of(s, dt)
    loop = loop_gain(view, law) if with_margins else None
    found = {} if loop is None else {drive: margins(loop, drive) for drive in law.drives}
    stable, places = state == STABLE, frequencies(plant, poles, dt) if state == STABLE else np.zeros(0)
    together = simultaneous(view, feedback, places) if with_margins and stable else {}
    disk = np.nan if with_margins or not stable else one_at_a_time(view, feedback, places)
    own = feedback.poles()
    ringing = float(own.real[np.argmin(np.abs(own + 1.0))]) if dt > 0 and own.size else np.nan
    flexible = np.asarray(modes(plant).poles, complex)
    hidden = int(np.sum(flexible.imag * dt > np.pi))
    return Loop(variant, state, s, found, spillover(flexible, poles, dt), ringing, hidden, together, disk)


def frequencies(plant: LinearPlant, poles: ComplexArray, dt: float, points: int = 300) -> FloatArray:
    """Return a grid with fans around the poles of the closed loop (z or s) and of the plant, up to the Nyquist one."""
    s = np.log(poles[np.abs(poles) > 1e-3].astype(complex)) / dt if dt > 0 else poles
    s, own = s[s.imag >= 0], np.asarray(modes(plant).poles, complex)
    own = own[own.imag < np.pi / dt] if dt > 0 else own
    apart = np.abs(own[:, None] - s[None, :]).min(axis=1, initial=np.inf)
    every = np.concatenate([s, own[apart > 0.3 * np.abs(own.real)]])  # a mode that the law leaves alone has one fan
    size = np.abs(every)[np.abs(every) > 0]
    last = np.pi / dt if dt > 0 else 10.0 * float(size.max())
    return start_grid(min(0.1 * float(size.min()), 0.01 * last), last, points, every)


def _mapped(poles: ComplexArray, dt: float) -> ComplexArray:
    """Return s with Im >= 0, by decay rate."""
    if dt > 0:
        poles = poles[np.abs(poles) > 1e-6]  # the rest are pure delays and what rounding makes of them
        poles = np.log(poles.astype(complex)) / dt
    poles = poles[poles.imag >= 0.0]
    return np.asarray(poles[np.argsort(-poles.real, kind="stable")])


def spillover(flexible: ComplexArray, closed: ComplexArray, dt: float) -> Spillover:
    """Return the damping of the plant's modes with and without the law.

    Parameters
    ----------
    flexible : ndarray
        Poles of the plant's flexible modes, Im > 0 [rad/s].
    closed : ndarray
        Poles of the closed loop, z or s.
    dt : float
        Control period [s], 0 for a continuous law.
    """
    from scipy.optimize import linear_sum_assignment

    before = -flexible.real / np.abs(flexible)
    every, seen = flexible, -flexible.real * dt < 1.5
    flexible = flexible[seen]
    opened = np.exp(flexible * dt) if dt > 0 else flexible
    upper = closed if dt > 0 else closed[closed.imag >= 0.0]
    require(upper.size >= flexible.size, "the closed loop has fewer poles than the plant has modes")
    distance = np.abs(opened[:, None] - upper[None, :])
    if dt == 0:
        distance = distance / np.abs(flexible)[:, None]
    rows, columns = linear_sum_assignment(distance)
    paired = np.empty(flexible.size, complex)
    paired[rows] = upper[columns]
    if dt > 0:
        decay = -np.log(np.maximum(np.abs(paired), 1e-300)) / dt
        turn = np.where(flexible.imag * dt < np.pi, np.abs(np.angle(paired)) / dt, flexible.imag)
        damping = decay / np.hypot(decay, turn)
    else:
        damping = -paired.real / np.abs(paired)
    after = np.array(before)
    after[seen] = damping
    return Spillover(np.abs(every) / (2 * np.pi), before, after)
