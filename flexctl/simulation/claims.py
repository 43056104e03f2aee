"""Claims of a run about its errors: the one place that decides which signals it warns of.

A claim is the estimated largest error of a signal, as it stands in `run.error`. Steps follow what displacements
(angles, deflections, strains) are estimated to be off: a warning names those that are above the tolerance times their
range. Whatever else a signal is (a rate, a torque, friction, a current, a command), its error is estimated, not
controlled, and a warning names it from `FOLLOWS` times the tolerance on. Estimates of different kinds come together
here, so that none of them goes past.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import AccuracyWarning, caution
from ..model import FloatArray, Signal
from .defaults import DEFAULT, LEAST_RTOL

DISPLACEMENTS = ("m", "rad", "1")
"""Units of outputs whose local error is controlled."""
MOVES, ROUNDING = 1e-5, 1e-14
"""A signal moves if its range is more than this part of the widest range of its unit, and more than this."""
FOLLOWS = 5.0
"""Rates of an oscillation, and what reads them, are a few times further off than its displacements, as parts of their
ranges, and are claimed to be some ten times further off than they are. Chosen: named at the tolerance itself, they
would be named of most runs that are as good as was asked for."""
LISTED = re.compile(r"([^,(]+) \((estimated error [^()]*)\)(?:, |$)")
"""A claim as it is listed: the signal, and what is said of it."""
NOT_WITHIN = "not within"
"""The message that names them begins so."""
ROUNDED = (
    "the law reads rounded values, and to which one a reading is rounded hangs on less than any tolerance: how far it "
    "moves is known, when it moves is not"
)
MARCHED = 'the march does not follow rtol: give a shorter step, or method="exact"'
FINER = 0.2
"""Part of rtol that is advised: errors of second order become smaller by its power of 2/3, 2.9 times."""


@dataclass(frozen=True)
class Claim:
    """The estimated largest error of a signal, and its range, both in its unit."""

    signal: Signal
    error: float
    extent: float

    @property
    def part(self) -> float:
        """The error as a part of the range."""
        return self.error / self.extent

    @property
    def resolved(self) -> bool:
        """Whether the error is less than the range, so that anything is known of the signal."""
        return self.error < self.extent

    def __str__(self) -> str:
        said = f"{self.part:.1%}" if self.resolved else f"not resolved: its range is {self.extent:.2g}"
        return f"{self.signal.name} (estimated error {self.error:.2g} {self.signal.unit}, {said})"


def claims(
    signals: Sequence[Signal], series: FloatArray | tuple[FloatArray, ...], error: Mapping[str, float]
) -> list[Claim]:
    """Return the claims of the signals that move and have one, the worst first; series: their columns."""
    parts = series if isinstance(series, tuple) else (series,)
    extents = np.concatenate([np.ptp(part, axis=0) for part in parts])
    widest: dict[str, float] = {}
    for signal, extent in zip(signals, extents, strict=True):
        widest[signal.unit] = max(widest.get(signal.unit, 0.0), float(extent))
    found = [
        Claim(signal, error[signal.name], float(extent)) for signal, extent in zip(signals, extents, strict=True)
        if extent > MOVES * widest[signal.unit] + ROUNDING and not np.isnan(error.get(signal.name, np.nan))
    ]
    return sorted(found, key=lambda one: -one.part)


def poor(found: Sequence[Claim], rtol: float, raised: float = 1.0) -> list[Claim]:
    """Return the claims a run of this tolerance must warn of; `raised`: by how much claims are above estimates."""
    return [one for one in found if not one.error <= _allowed(one, raised) * rtol * one.extent]


def _allowed(one: Claim, raised: float) -> float:
    return raised if one.signal.unit in DISPLACEMENTS else max(raised, FOLLOWS)


def warn_of(
    found: Sequence[Claim], rtol: float, bent: float, longest: float, known: Collection[str], raised: float = 1.0,
    remedy: str = "",
) -> None:
    """Warn of the claims that are poor at `rtol`, or at `DEFAULT` where steps were given (0).

    Parameters
    ----------
    found : sequence of Claim
        The claims of a run.
    rtol : float
        What was asked for; 0 where steps were given.
    bent : float
        Part of its range by which an input is not what steps are told of it.
    longest : float
        The longest step [s]; 0 where it is not known.
    known : collection of str
        Signals that another warning names.
    raised : float
        By how much claims are above estimates.
    remedy : str
        What makes the errors smaller, where neither the tolerance nor the step does.
    """
    wanted = rtol or DEFAULT
    unnamed = [one for one in poor(found, wanted, raised) if one.signal.name not in known]
    listed = ", ".join(map(str, unnamed))
    if bent > wanted:
        text = f"an input curves within a step: errors of {bent:.2g} of the range are possible; give a shorter step"
        caution(text + (f": {listed}" if unnamed else ""), AccuracyWarning)
    elif unnamed:
        serves = remedy or _remedy(rtol, longest)
        caution(f"{NOT_WITHIN} {wanted:.3g} of the range: {listed}; {serves}", AccuracyWarning)


def gathered(said: Sequence[tuple[str, str]]) -> list[str]:
    """Return what is said of several runs, each output once: how many runs it concerns, and the worst of them.

    Parameters
    ----------
    said : sequence of (str, str)
        Names of runs, and the messages of `warn_of`; others are returned as they are, after the name.
    """
    texts: list[str] = []
    groups: dict[tuple[str, str], dict[str, list[tuple[float, str, str]]]] = {}
    for label, text in said:
        head, _, remedy = text.partition("; ")
        wanted, _, listed = head.removeprefix(f"{NOT_WITHIN} ").partition(" of the range: ")
        items = LISTED.findall(listed)
        if not text.startswith(NOT_WITHIN) or ", ".join(f"{name} ({about})" for name, about in items) != listed:
            texts.append(f"{label}: {text}")
            continue
        outputs = groups.setdefault((wanted, remedy), {})
        for name, about in items:
            part = about.rpartition(", ")[2]
            size = float(part[:-1]) if part.endswith("%") else np.inf
            outputs.setdefault(name, []).append((size, label, about))
    for (wanted, remedy), outputs in groups.items():
        runs = {label for rows in outputs.values() for _, label, _ in rows}
        if len(runs) == 1:
            listed = ", ".join(f"{name} ({rows[0][2]})" for name, rows in outputs.items())
            texts.append(f"{runs.pop()}: {NOT_WITHIN} {wanted} of the range: {listed}; {remedy}")
            continue
        lines = [f"{NOT_WITHIN} {wanted} of the range in {len(runs)} runs; {remedy}:"]
        worst = {name: max(rows, key=lambda row: row[0]) for name, rows in outputs.items()}
        for name in sorted(worst, key=lambda name: -worst[name][0]):
            _, label, about = worst[name]
            lines.append(f"  {name}: in {len(outputs[name])}, at worst {label} ({about})")
        texts.append("\n".join(lines))
    return texts


def _remedy(rtol: float, longest: float) -> str:
    """Return what makes the error smaller."""
    if FINER * rtol >= LEAST_RTOL:
        return f"rtol = {FINER * rtol:.2g}"
    if rtol:
        return f"no smaller rtol than {LEAST_RTOL:g} is taken; give a step that is shorter"
    if longest:
        return f"step < {longest:.3g} s, or leave step out: it then follows rtol"
    return "give a shorter step"
