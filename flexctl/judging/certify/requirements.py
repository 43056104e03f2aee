"""Requirements of a controller, stated in its script as REQUIREMENTS = {name: bound}, or on the command line."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import DefinitionError, require, unknown
from .holds import loops_of_the_set, of_the_set, unexamined, within

if TYPE_CHECKING:
    from . import Certificate
    from .loops import Loop
    from .robust import Point

NOT_EXAMINED = "not examined"

LEAST = {
    "disk_margin": "smallest disk margin of all loops, one at a time",
    "disk_margin_inputs": "smallest disk margin of all commands together",
    "disk_margin_sensors": "smallest disk margin of all sensors together",
    "gain_margin": "smallest factor by which a gain may grow",
    "phase_margin_deg": "smallest phase margin [deg]",
    "delay_margin": "smallest additional delay [s]",
    "damping": "smallest damping ratio of the closed loop",
    "decay_rate": "slowest decay of the closed loop [1/s]",
    "linear_amplitude": "factor on the move up to which the linear prediction holds",
}
"""Requirements that must be at least so large: of linear loops the worst of the whole set, every payload, change of the
frequencies, pose and parameter of it that was tried."""
OF_MARGINS = ("disk_margin_inputs", "disk_margin_sensors", "gain_margin", "phase_margin_deg", "delay_margin")
"""Those that need more of a loop than its poles and its disk margin."""
MOST = {
    "mu": "30 % over what every command tolerates at any payload (skewed structured singular value), in every pose",
    "load_recovery_s": "longest time after which a load that sets in leaves 0.1 % of the move [s]",
    "tip_load_recovery_s": "the same for a force at the tip, a tenth of the weight of the arm, in every direction [s]",
    "peak_over_limit": "largest command, as a fraction of its limit",
}
RANGES = {"payload_kg": "stable, linear and in the run", "frequency_change": "stable, linear and in the run"}
LINEAR = "linear_amplitude"
VARY = "vary"
"""{key of the plant file: (low, high)}: the loop is stable whatever these values are."""
DRAWN = "drawn"
"""Number of plants, drawn from [uncertainty] of the plant file, on all of which the loop is stable."""
VIBRATION = "vibration_ratio"
"""How many times less is left of the motion than in the run that a scenario stands against: at least a number for the
worst run and signal, or {scenario: number}."""
RIPPLE = "ripple_at_bits"
"""{bits: largest ripple of a command} with encoders of so many bits."""
MOST_BITS = 52
"""Of an encoder: a double has no more."""


@dataclass(frozen=True)
class Verdict:
    """One requirement and what was found.

    Attributes
    ----------
    name, bound, found : str
        The requirement, what it asks for, what there is.
    passed : bool
        Whether it is met; never where it was not examined.
    examined : bool
        Whether that is known.
    close : bool
        Whether the error of a run is larger than the distance from the bound; it is not met then.
    """

    name: str
    bound: str
    found: str
    passed: bool
    examined: bool = True
    close: bool = False

    @property
    def word(self) -> str:
        """The verdict in a word."""
        if self.close:
            return "TOO CLOSE TO TELL"
        return "met" if self.passed else "NOT MET" if self.examined else "NOT EXAMINED"

    def to_dict(self) -> dict[str, Any]:
        """Return the entries for JSON."""
        return {
            "name": self.name, "required": self.bound, "found": self.found, "passed": self.passed,
            "verdict": self.word.lower(),
        }


def checked(requirements: Mapping[str, Any]) -> dict[str, Any]:
    """Return the requirements, or refuse a name or bound that is not understood, before anything is computed.

    Besides the names of this module any score is one, as an upper bound for all runs: "chord1_angle.settle_1pct_s", or
    for those of some scenarios: "5 deg: chord1_angle.settle_1pct_s" is about "5 deg" and "5 deg, 20 g".
    """
    found: dict[str, Any] = {}
    for name, bound in requirements.items():
        if name in RANGES:
            found[name] = _range(name, bound)
        elif name == VARY:
            proper = isinstance(bound, Mapping) and bool(bound)
            require(proper, f"requirement {VARY} = {bound!r}; write {{key: (low, high)}}")
            found[name] = dict(bound)
        elif name == DRAWN:
            whole = isinstance(bound, int) and not isinstance(bound, bool) and bound >= 0
            require(whole, f"requirement {DRAWN} = {bound!r} is not a number of plants")
            found[name] = bound
        elif name == RIPPLE:
            proper = isinstance(bound, Mapping) and bool(bound)
            require(proper, f"requirement {RIPPLE} = {bound!r}; write {{16: 0.03}}: bits and largest ripple")
            found[name] = {checked_bits(bits): _number(name, value) for bits, value in dict(bound).items()}
        elif name == VIBRATION and isinstance(bound, Mapping):
            found[name] = {str(run): _number(name, value) for run, value in bound.items()}
        elif name in LEAST or name == VIBRATION or name in MOST or "." in name:
            found[name] = _number(name, bound)
        else:
            scores = ("OUTPUT.SCORE", "SCENARIO: OUTPUT.SCORE")
            raise unknown("requirement", name, [*LEAST, *MOST, *RANGES, VARY, DRAWN, VIBRATION, RIPPLE, *scores])
    return found


def checked_bits(bits: Any) -> int:
    """Return the resolution of an encoder, or refuse one that there cannot be."""
    whole = isinstance(bits, int | np.integer) and not isinstance(bits, bool) and 1 <= bits <= MOST_BITS
    require(bool(whole), f"{bits!r} bits: the resolution of an encoder is a whole number from 1 to {MOST_BITS}")
    return int(bits)


def _number(name: str, bound: Any) -> float:
    proper = isinstance(bound, int | float) and not isinstance(bound, bool) and math.isfinite(bound)
    require(proper, f"requirement {name} = {bound!r} is not a finite number")
    return float(bound)


def _range(name: str, bound: Any) -> tuple[float, float]:
    try:
        low, high = (float(x) for x in bound)
    except (TypeError, ValueError) as error:
        raise DefinitionError(f"requirement {name} = {bound!r} is not a range; write (low, high)") from error
    least = 0.0 if name == "payload_kg" else -0.9
    proper = math.isfinite(high) and least <= low <= high
    require(proper, f"requirement {name} = ({low:g}, {high:g}): {least:g} <= low <= high")
    return low, high


def judged(found: Certificate, requirements: Mapping[str, Any]) -> tuple[Verdict, ...]:
    """Return a verdict for each requirement; that the loop is stable on every variant is always one."""
    verdicts = [_stable(found)]
    for name, bound in requirements.items():
        if name in RANGES:
            verdicts.append(_over_range(found, name, bound))
        elif name == VARY:
            told = ", ".join(f"{key} = {a:g}..{b:g}" for key, (a, b) in found.stated["vary"].items())
            verdicts.append(_varied(found, VARY, told, found.varied))
        elif name == DRAWN:
            if bound:
                verdicts.append(_varied(found, DRAWN, f"stable on {bound} plants drawn", found.drawn))
        elif name == RIPPLE:
            verdicts += [_ripple(found, bits, most) for bits, most in bound.items()]
        elif name == VIBRATION:
            wanted = bound if isinstance(bound, Mapping) else {"": bound}
            verdicts += [_vibration(found, run, least) for run, least in wanted.items()]
        elif name == LINEAR:
            verdicts.append(_linear(found, bound))
        elif name in LEAST:
            verdicts.append(_beside(found, name, bound, _at_least(name, bound, *_over_loops(found, _NUMBER[name]))))
        elif name in MOST:
            verdicts.append(_at_most(name, bound, *_WORST_AND_ERROR[name](found)))
        else:
            verdicts.append(_score(found, name, bound))
    return tuple(verdicts)


def _stable(found: Certificate) -> Verdict:
    """Return the verdict on the set: every loop, in every pose, and every run."""
    wrong = [f"{loop.state}: {loop.variant or found.plant}" for loop in found.loops if not loop.stable]
    wrong += [f"run {name} fails: {reason}" for name, reason in found.failures.items()]
    nearest = found.counterexample
    wrong += [nearest.what] if nearest and nearest.inside and not wrong else []
    open_ = {name: text for name, text in found.unsettled.items() if text.startswith(NOT_EXAMINED)}
    wrong += [f"run {name} does not settle: {text}" for name, text in found.unsettled.items() if name not in open_]
    missing = [f"the linear loop: {found.no_loop}"] if found.no_loop else []
    missing += [f"run {name}, {text.removeprefix(NOT_EXAMINED).strip()}" for name, text in open_.items()]
    missing += [] if found.no_loop else [f"{p.where()}: {p.unknown}" for p in unexamined(found)[:1]]
    told = "; ".join([*wrong, *([f"{NOT_EXAMINED} {'; '.join(missing)}"] if missing else [])])
    outside = f"stable; {nearest.what} (outside the set)" if nearest and not nearest.inside else "stable"
    passed = not wrong and not missing
    return Verdict("stable", "on every variant and in every run", told or outside, passed, bool(wrong) or not missing)


def _over_loops(found: Certificate, number: Callable[[Loop], float]) -> tuple[float, str]:
    """Return the smallest of all loops of the set, and of which plant; NaN where one of them is not known."""
    values = [(number(loop), where) for where, loop in loops_of_the_set(found)]
    if found.no_loop or unexamined(found) or not values or any(math.isnan(value) for value, _ in values):
        return math.nan, ""
    return min(values, key=lambda pair: pair[0])


def _recovery(at_tip: bool) -> Callable[[Certificate], tuple[float, float]]:
    """Return what finds the longest recovery and its error; of several that are met the one that may be longest."""

    def longest(found: Certificate) -> tuple[float, float]:
        about = [x for x in found.loads if x.at_tip == at_tip]
        if not about or any(x.failure for x in about):
            return math.nan, 0.0
        return _most([(x.recovery, x.error) for x in about])

    return longest


def _most(values: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the largest value, and by how much the largest one may be above it."""
    largest = max(value for value, _ in values)
    at_most = max((value if math.isnan(error) else value + error for value, error in values))
    return largest, 0.0 if math.isinf(largest) else at_most - largest


def _peak(found: Certificate) -> tuple[float, float]:
    if not found.saturation:
        return math.nan, 0.0
    return _most([(value, found.saturation_errors.get(d, 0.0)) for d, value in found.saturation.items()])


def _margin(key: str) -> Callable[[Loop], float]:
    return lambda loop: loop.smallest(key)


_NUMBER: dict[str, Callable[[Loop], float]] = {
    **{key: _margin(key) for key in ("disk_margin", "gain_margin", "phase_margin_deg", "delay_margin")},
    "disk_margin_inputs": lambda loop: loop.simultaneous("inputs"),
    "disk_margin_sensors": lambda loop: loop.simultaneous("sensors"),
    "damping": lambda loop: loop.least_damped[0],
    "decay_rate": lambda loop: loop.decay,
}
_WORST_AND_ERROR: dict[str, Callable[[Certificate], tuple[float, float]]] = {
    "load_recovery_s": _recovery(False), "tip_load_recovery_s": _recovery(True),
    "mu": lambda found: (math.nan if isinstance(found.bound, str) else found.bound.largest, 0.0),
    "peak_over_limit": _peak,
}


def _at_least(name: str, bound: float, value: float, where: str = "") -> Verdict:
    found = _told(value) + (f" ({where})" if where else "")
    return Verdict(name, f">= {bound:g}", found, bool(value >= bound), not math.isnan(value))


def _beside(found: Certificate, name: str, bound: float, verdict: Verdict) -> Verdict:
    """Return a verdict that is met, with the worst plant of the tables outside the set where it is not."""
    number = _NUMBER[name]
    others = [(number(p.loop), p.where()) for p in (*found.points, *found.posed)
              if p.loop is not None and not of_the_set(found, p)]
    value, where = min((pair for pair in others if not math.isnan(pair[0])), default=(math.inf, ""))
    if not verdict.passed or value >= bound:
        return verdict
    return replace(verdict, found=f"{verdict.found}; outside the set {_told(value)} ({where})")


def _at_most(name: str, bound: float, value: float, error: float = 0.0, where: str = "") -> Verdict:
    """Return the verdict on a value that its run has with an error: too close to tell where that reaches the bound."""
    close = value <= bound < value + error
    never = math.isinf(value) and name.endswith("_s")  # a time
    text = ("not within the run" if never else _told(value)) + where
    text += f", error of the run {error:.2g}" if close else ""
    return Verdict(name, f"<= {bound:g}", text, value <= bound and not close, not math.isnan(value), close)


def _linear(found: Certificate, bound: float) -> Verdict:
    """Return the verdict on the amplitude up to which the linear prediction holds, if so large a one was tried."""
    valid = found.validity
    if valid is None:
        return _at_least(LINEAR, bound, math.nan)
    tried = float(valid.amplitudes[-1])
    if math.isinf(valid.parting) and bound > tried:
        return Verdict(LINEAR, f">= {bound:g}", f"{NOT_EXAMINED} beyond {tried:g}", False, False)
    passed, below = valid.agreed >= bound, bool(valid.parting <= valid.amplitudes[0])
    close = not passed and not below and valid.parting >= bound
    text = f"{valid.agreed:.4g} or more" if math.isinf(valid.parting) else f"{valid.parting:.4g}{' or less' * below}"
    text += f", {valid.agreed:.4g} with the errors of the runs" if close else ""
    return Verdict(LINEAR, f">= {bound:g}", text, passed, close=close)


def _told(value: float) -> str:
    return NOT_EXAMINED if math.isnan(value) else f"{value:.4g}"


def concerns(name: str, scenario: str) -> bool:
    """Whether a requirement speaks of a scenario."""
    which, separator, _ = name.rpartition(": ")
    return not separator or f"{scenario},".startswith(f"{which},")


def check_scenarios(requirements: Mapping[str, Any], scenarios: Collection[str]) -> None:
    """Refuse a requirement that speaks of none of the scenarios."""
    for name in requirements:
        if not any(concerns(name, scenario) for scenario in scenarios):
            raise unknown(f'requirement "{name}": scenario', name.rpartition(": ")[0], scenarios)


def check_signals(requirements: Mapping[str, Any], signals: Collection[str]) -> None:
    """Refuse a score of a signal that the arm does not have; "tip" is where it is on a path."""
    known = {*signals, "tip"}
    for name in requirements:
        signal, dot, _ = name.rpartition(": ")[2].rpartition(".")
        if dot and signal not in known:
            raise unknown(f'requirement "{name}": signal', signal, known)


def _score(found: Certificate, name: str, bound: float) -> Verdict:
    score = name.rpartition(": ")[2]
    which = name.rpartition(": ")[0]
    happens = next((x for x in found.events if x.name == which), None)
    if happens is not None and happens.failure:
        return Verdict(name, f"<= {bound:g}", f"the run fails: {happens.failure}", False)
    about = {run: scores for run, scores in found.runs.items() if concerns(name, run)}
    errors = found.errors
    if happens is not None:
        about, errors = {which: happens.scores}, {which: happens.errors}
    values = {run: scores[score] for run, scores in about.items() if score in scores}
    if not values:
        known = sorted({key for scores in about.values() for key in scores})
        raise unknown("requirement: score", score, known)
    worst = max(values, key=lambda run: values[run])
    if values[worst] <= bound:  # a run with a larger error may come closer
        worst = max(values, key=lambda run: values[run] + errors.get(run, {}).get(score, 0.0))
    return _at_most(name, bound, values[worst], errors.get(worst, {}).get(score, 0.0), f" ({worst})")


def _over_range(found: Certificate, name: str, bound: tuple[float, float]) -> Verdict:
    at = "payload" if name == "payload_kg" else "frequency"
    every = (*found.points, *found.posed)
    inside = [p for p in every if getattr(p, at) is not None and of_the_set(found, p)]
    told = f"{bound[0]:g} to {bound[1]:g}"
    wrong = [p for p in inside if not p.stable]
    close = [limit for limit in found.limits if limit.what == name and limit.reached and within(limit.value, bound)]
    missing = [p for p in inside if not p.examined]
    text = ", ".join(_places(wrong, at)) or ("stable" if not missing and inside else "")
    if close:
        least = min(close, key=lambda limit: abs(limit.value))
        text += f"; the limit is {least.value:.4g}{f' ({least.variant})' if least.variant else ''}"
    if missing or not inside:
        why = missing[0].unknown if missing else "no such point"
        text = f"{text}; {NOT_EXAMINED}: {why}".removeprefix("; ")
    passed = bool(inside) and not wrong and not close and not missing
    return Verdict(name, told, text, passed, bool(wrong or close) or (bool(inside) and not missing))


def _places(wrong: Sequence[Point], at: str) -> list[str]:
    """Return where it goes wrong: the value that the requirement is about, the other one, and the pose."""
    found = []
    for p in wrong[:6]:
        value, other = getattr(p, at), p.frequency if at == "payload" else 0.0
        place = f"{p.state} at {value:g}" + (f" with frequencies {100 * other:+g} %" if other else "")
        found.append(place + (f", {p.pose}" if p.pose else ""))
    return found + ([f"and {len(wrong) - 6} more"] if len(wrong) > 6 else [])


def _varied(found: Certificate, name: str, told: str, points: Sequence[Point]) -> Verdict:
    wrong = [p for p in points if p.examined and not p.stable]
    missing = [p for p in points if not p.examined]
    if wrong:
        worst = min(wrong, key=lambda p: p.loop.decay if p.loop else 0.0)
        return Verdict(name, told, f"{worst.state} at {worst.where()}", False)
    if missing or not points:
        why = missing[0].unknown if missing else found.no_loop or "the law measures nothing"
        return Verdict(name, told, f"{NOT_EXAMINED}: {why}", False, False)
    slow = min(points, key=lambda p: p.loop.decay if p.loop else 0.0)
    least = min(p.loop.smallest("disk_margin") for p in points if p.loop and p.loop.margins)
    rate = slow.loop.decay if slow.loop else math.nan
    return Verdict(name, told, f"stable, disk margin {least:.3g}, slowest decay {rate:.3g} 1/s at {slow.where()}", True)


def _vibration(found: Certificate, run: str, least: float) -> Verdict:
    """Return the verdict on one scenario, or on the worst of all where none is named."""
    known = [*found.runs, *found.failures]
    if run and run not in known:
        raise unknown(f"scenario of the requirement {VIBRATION}", run, known)
    chosen = [run] if run else list(found.ratios)
    pairs = [
        (ratio, found.ratio_errors.get(one, {}).get(key, 0.0))
        for one in chosen for key, ratio in found.ratios.get(one, {}).items()
    ]
    worst = min((ratio for ratio, _ in pairs), default=math.nan)
    verdict = _at_least(f"{VIBRATION}{': ' if run else ''}{run}", least, worst)
    error = max((error for ratio, error in pairs if ratio >= least > ratio - error), default=0.0)
    if verdict.passed and error > 0.0:
        return replace(verdict, passed=False, close=True, found=f"{verdict.found}, error of the runs {error:.2g}")
    return verdict


def _ripple(found: Certificate, bits: int, most: float) -> Verdict:
    name, run = f"ripple at {bits} bits", next((q for q in found.quantised if q.bits == bits), None)
    if run is None or run.failure:
        return Verdict(name, f"<= {most:g}", run.failure if run else NOT_EXAMINED, False, False)
    values = [run.ripple[drive] for drive in found.drives if drive in run.ripple]
    if not values:
        return Verdict(name, f"<= {most:g}", f"{NOT_EXAMINED}: what it drives is not recorded", False, False)
    errors = [run.errors.get(drive, 0.0) for drive in found.drives if drive in run.ripple]
    return _at_most(name, most, *_most(list(zip(values, errors, strict=True))))
