"""A finished design: the law, the plant that it was made for, what was assumed, and what came out.

    design = lqg(plant, weights, ...)        -> Design
    design.margins["joint1_torque"], design.poles, design.assumptions, design.found
    simulate(arm, design, reference, ...)    a Design is a controller like the law in it

Poles and margins are those of the law on the *whole* plant that the design function was given, sampled exactly, with
the computation delay: not on the few modes of the design model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from ..errors import require
from ..frequency import Margins, loop_gain, margins
from ..laws.controller import _Wrapper
from ..laws.given import feedback_of
from ..laws.linear_part import linear_part
from ..linear import LinearPlant
from ..linear.decay import STABLE, state_of
from ..linear.interconnect import loop_poles
from ..model import ComplexArray, FloatArray


@dataclass(frozen=True, eq=False)
class Design(_Wrapper):
    """A finished design: the law, the plant it was made for, what was assumed, and what came out.

    Poles and margins are those of the law on the whole plant that the design function was given, sampled exactly, with
    the computation delay; not on the few modes of the design model. It stands in the place of a controller.

    Attributes
    ----------
    law : Controller
        The controller, with its delay and limits.
    plant : SecondOrder or FirstOrder
        The linear plant of the design, with all its modes.
    assumptions : mapping
        What the design relies on: number of modes, control period, delay, limits, weights.
    found : mapping
        Numbers of the synthesis, e.g. gamma.
    schedule : mapping
        Where a law that is scheduled by measurements is frozen for poles and margins: output and value.

    Examples
    --------
    >>> law = fx.load_controller("tokhi_azad_lqg").design(fx.load_plant("tokhi_azad_1994"))
    >>> print(f"{law.margins['joint1_torque'].disk_margin:.2f}")
    0.40
    """

    informs = True

    plant: LinearPlant
    assumptions: Mapping[str, Any] = field(default_factory=dict)
    found: Mapping[str, float] = field(default_factory=dict)
    schedule: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for key in ("assumptions", "found", "schedule"):
            object.__setattr__(self, key, MappingProxyType(dict(getattr(self, key))))
        for kind, wanted, signals in (
            ("output", self.law.measures, self.plant.outputs), ("input", self.law.drives, self.plant.inputs),
        ):
            missing = sorted(set(wanted) - {s.name for s in signals})
            require(not missing, f"the plant of the design has no {kind} {missing}, which the law uses")

    def __reduce__(self) -> tuple[Any, ...]:
        parts = (self.law, self.plant, dict(self.assumptions), dict(self.found), dict(self.schedule))
        return Design, parts

    def step(self, state: Any, t: float, y: FloatArray, r: FloatArray) -> tuple[FloatArray, Any]:
        """Return the command and the next state of the law."""
        answer: tuple[FloatArray, Any] = self.law.step(state, t, y, r)
        return answer

    @cached_property
    def linear(self) -> Any:
        """The law without limits, quantisation and noise."""
        return linear_part(self.law, self.schedule.__getitem__)

    @cached_property
    def poles(self) -> ComplexArray:
        """Poles of the closed loop as s [rad/s], from the slowest; those of a sampled one are ln(z)/T."""
        poles = loop_poles(self.plant, feedback_of(self.linear))
        return np.asarray(poles[np.argsort(-poles.real, kind="stable")])

    @property
    def state(self) -> str:
        """The loop in a word: "stable", "UNSTABLE", or "MARGINAL" where nothing grows and something does not decay."""
        return state_of(self.poles, feedback_of(self.linear).dt)

    @property
    def stable(self) -> bool:
        """Whether all poles decay, by more than rounding."""
        return self.state == STABLE

    @cached_property
    def margins(self) -> dict[str, Margins]:
        """Stability margins by the input at which the loop is broken, the others closed; empty without feedback."""
        if not self.law.measures:
            return {}
        loop = loop_gain(self.plant, self.linear)
        return {drive: margins(loop, drive) for drive in self.law.drives}

    def __repr__(self) -> str:
        told = ", ".join(f"{key} = {value:.4g}" for key, value in self.found.items())
        return f"Design({self.law!r}{', ' + told if told else ''})"

    def to_dict(self) -> dict[str, Any]:
        """Return assumptions, numbers of the synthesis, poles and margins, for JSON."""
        keys = ("gain_margin", "phase_margin_deg", "delay_margin", "disk_margin")
        return {
            "assumptions": {key: _plain(value) for key, value in self.assumptions.items()}, "found": dict(self.found),
            "stable": self.stable, "poles_rad_s": {"real": self.poles.real.tolist(), "imag": self.poles.imag.tolist()},
            "margins": {drive: {key: getattr(m, key) for key in keys} for drive, m in self.margins.items()},
        }


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool) else str(value)
