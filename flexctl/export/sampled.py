"""A continuous law sampled for export, and what that moves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import DefinitionError, FlexctlError, NotAvailable, require, unknown
from ..frequency import loop_gain, margins
from ..laws.compiled import unlimited
from ..laws.controller import LinearLaw, _Wrapper
from ..laws.motion_command import MotionCommand
from ..laws.scheduled import ScheduledLaw
from ..linear import FirstOrder
from ..linear.conversion import discretise
from ..linear.decay import STABLE, state_of
from ..linear.interconnect import loop_poles
from ..model import ComplexArray, FloatArray, Signal

METHODS = ("tustin", "zoh")


@dataclass(frozen=True, eq=False)
class Sampling:
    """How a continuous law is sampled.

    Attributes
    ----------
    sample_time : float, optional
        Control period [s]; without one a continuous law is refused.
    method : str, optional
        "tustin" or "zoh".
    plant : FirstOrder or SecondOrder, optional
        Linear plant of the law's design, on which the loops before and after are compared.
    """

    sample_time: float | None = None
    method: str | None = None
    plant: Any = None

    def applied(self, law: Any) -> tuple[Any, dict[str, str]]:
        """Return the sampled law, and what became of it by heading; a sampled law as it is."""
        if law.sample_time > 0:
            given = self.sample_time is not None or self.method is not None
            remedy = "leave sample time and method out"
            require(not given, f"the law is sampled already, every {law.sample_time:g} s: {remedy}")
            return law, {}
        name = type(_inside(law)).__name__
        if self.sample_time is None:
            raise NotAvailable(
                f"the {name} is continuous, and code runs in periods: give --sample-time and --method tustin or zoh "
                "(Python: sample_time=1e-3, method=\"tustin\"), or design a sampled law"
            )
        period = float(self.sample_time)
        require(bool(np.isfinite(period)) and period > 0, f"sample_time = {period} s must be positive and finite")
        if isinstance(_inside(law), MotionCommand):
            require(self.method is None, "a motion command has nothing to convert: leave the method out")
            from .program import commanded_accelerations

            return _around(law, commanded_accelerations(_inside(law), period)), {"sampled": f"every {period:g} s"}
        if self.method is None:
            raise DefinitionError(f"how is the {name} to be sampled? give --method tustin or --method zoh")
        if self.method not in METHODS:
            raise unknown("method of sampling", self.method, METHODS)
        sampled = _around(law, self._sampled(_inside(law), period))
        return sampled, self._told(law, sampled, period)

    def _sampled(self, law: Any, period: float) -> Any:
        if type(law) is LinearLaw:
            return _one(law, period, str(self.method))
        if type(law) is ScheduledLaw:
            same = self.method == "zoh" or not len(law.laws[0].A)
            require(same, "tustin changes the states of every phase in its own way: sample this law with method zoh")
            return ScheduledLaw(law.times, [_one(one, period, str(self.method)) for one in law.laws])
        raise NotAvailable(f"a continuous {type(law).__name__} cannot be sampled here; give it a sample_time")

    def _told(self, law: Any, sampled: Any, period: float) -> dict[str, str]:
        """Return what sampling moved."""
        told = {"sampled": f"by {self.method} every {period:g} s from a continuous law"}
        inner, after = _inside(law), _inside(sampled)
        pairs = [(inner, after)] if type(inner) is LinearLaw else list(zip(inner.laws, after.laws, strict=True))
        poles = [_farthest(a.feedback().poles(), _continuous(b.feedback().poles(), period)) for a, b in pairs]
        told["poles of the law moved by at most"] = _moved(poles)
        told["zeros of the law moved by at most"] = _moved(
            [_farthest(za, _continuous(zb, period)) for a, b in pairs for za, zb in _zeros(a, b)]
        )
        if self.plant is not None and pairs[0][0].measures:
            told |= self._loop(pairs[0][0], pairs[0][1])
        return told

    def _loop(self, before: LinearLaw, after: LinearLaw) -> dict[str, str]:
        """Return stability and margins on the design's plant, continuous and sampled."""
        told = {}
        for name, law in (("before sampling", before), ("sampled", after)):
            try:
                poles = loop_poles(self.plant, law.feedback())
                slowest, word = float(poles.real.max(initial=-np.inf)), state_of(poles, law.sample_time)
                disk = [margins(loop_gain(self.plant, law), drive).disk_margin for drive in law.drives]
            except FlexctlError as error:
                told[f"closed loop {name}"] = f"not examined: {error}"
                continue
            state = f"disk margin {min(disk):.3g}" if word == STABLE else f"{word} on the plant of the design"
            told[f"closed loop {name}"] = f"{state}, slowest pole {slowest:.4g} 1/s"
        return told


def _inside(law: Any) -> Any:
    return _inside(law.law) if isinstance(law, _Wrapper) else law


def _around(law: Any, inner: Any) -> Any:
    """Return the wrappers of a law around another one."""
    return replace(law, law=_around(law.law, inner)) if isinstance(law, _Wrapper) else inner


def _one(law: LinearLaw, period: float, method: str) -> LinearLaw:
    """Return a linear law sampled."""
    limited = bool(np.isfinite(law.lower).any() or np.isfinite(law.upper).any()) and bool(np.any(law.Bu))
    if limited and method == "tustin":
        raise NotAvailable(
            "the law feeds its limited command back, which tustin would make an equation for the command: use zoh"
        )
    law = law if limited else unlimited(law)
    columns = np.hstack([law.By, law.Br, law.Bu]) if limited else np.hstack([law.By, law.Br])
    through = np.hstack([law.Dy, law.Dr, np.zeros((len(law.drives),) * 2)][: 3 if limited else 2])
    plain = tuple(Signal(f"u{i}") for i in range(columns.shape[1]))
    states, outputs = tuple(Signal(f"x{i}") for i in range(len(law.A))), tuple(Signal(name) for name in law.drives)
    found = discretise(FirstOrder(law.A, columns, law.C, through, states, plain, outputs), period, method)
    ny, nr = len(law.measures), 3 * len(law.follows)
    B, D = found.B, found.D
    return LinearLaw(
        period, law.measures, law.drives, law.follows, A=found.A, By=B[:, :ny], Br=B[:, ny : ny + nr],
        Bu=B[:, ny + nr :] if limited else np.zeros((len(law.A), len(law.drives))), C=found.C, Dy=D[:, :ny],
        Dr=D[:, ny : ny + nr], lower=law.lower, upper=law.upper,
    )


def _continuous(z: ComplexArray, period: float) -> ComplexArray:
    """Return s = ln(z)/T; what is at 0 comes from infinity and is left out."""
    z = z[np.abs(z) > 1e-9]
    return np.asarray(np.log(z.astype(complex)) / period)


def _zeros(before: LinearLaw, after: LinearLaw) -> list[tuple[ComplexArray, ComplexArray]]:
    """Return the finite zeros of every channel from a reading to a command, before and after."""
    found = []
    for i in range(len(before.drives)):
        for j in range(len(before.measures)):
            pair = []
            for law in (before, after):
                whole = law.feedback()
                one = replace(
                    whole, B=whole.B[:, [j]], C=whole.C[[i]], D=whole.D[[i]][:, [j]], inputs=whole.inputs[j : j + 1],
                    outputs=whole.outputs[i : i + 1],
                )
                live = bool(np.any(one.B)) and bool(np.any(one.C))
                pair.append(np.asarray(one.statespace().zeros(), complex) if live else np.zeros(0, complex))
            found.append((pair[0], pair[1]))
    return found


def _farthest(before: ComplexArray, after: ComplexArray) -> tuple[float, float]:
    """Return how far a root lies from the nearest one after sampling, at most [rad/s], and in parts of its size."""
    if not before.size or not after.size:
        return 0.0, 0.0
    away: FloatArray = np.abs(before[:, None] - after).min(axis=1)
    worst = int(np.argmax(away))
    return float(away[worst]), float(away[worst] / max(abs(before[worst]), 1e-300))


def _moved(found: list[tuple[float, float]]) -> str:
    far, part = max(found, default=(0.0, 0.0))
    return f"{far:.3g} rad/s ({100 * part:.2g} % of its size)" if far > 0 else "nothing"


def note_of(told: Mapping[str, str]) -> list[str]:
    """Return the notes for the user."""
    return [f"{key}: {value}" for key, value in told.items()]
