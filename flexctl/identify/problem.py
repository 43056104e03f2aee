"""The residuals of a plant file against measurements, as a function of logarithms of its parameters."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import Caution, ConvergenceError, DefinitionError, FlexctlError, require, unknown
from ..model import FloatArray, names
from .frf import frf
from .full_model import outputs_of
from .record import Record
from .response import MeasuredResponse
from .sampled import SUBSTEPS, Sampled, delayed, sampled

if TYPE_CHECKING:
    from ..catalogue import Plant

ASSUMED = 0.01
STEP = 1e-4
"""Change of a logarithm for differences: a mode turns by a radian less within thousands of its periods."""
PRIOR = 3.0
"""Weight of the start while parts of a record are fitted on the full model: a factor e counts like so many samples that
are off by the scale, squared."""
KEPT = 60
"""Models and runs that are kept: enough for the differences of one Jacobian."""
DRY = "friction."
LEAST_ABOVE = 0.05
"""Least excess of static over Coulomb friction at the start, as a part of the latter."""
LOSSES = ("damping", "friction", "coulomb", "static", "bristle")
ONSET = 0.05
"""Part of its largest value at which an input has set in: before that a record tells nothing but its noise."""


class OutOfTime(Exception):
    """The limit of time was reached within the differences of a round."""


class Setting(NamedTuple):
    """Delay in samples, and whether sensors read before the input jumps."""

    delay: int = 0
    late: int = 1


class Above(NamedTuple):
    """Static friction as Coulomb friction and an excess [N m], so that the search cannot leave what a law allows."""

    static: int
    coulomb: int  # -1 where it is held, at this level
    level: float
    excess: float


class Block(NamedTuple):
    """A part of the residual: what it is about, where it stands, which of the data it is from, how it is sampled."""

    source: str
    output: str
    rows: slice
    item: int
    dt: float = 0.0  # 0 of a frequency response, whose rows are at omega
    omega: FloatArray = np.zeros(0)


@dataclass(eq=False)
class Problem:
    """Everything that stays the same during a search."""

    plant: Plant
    keys: tuple[str, ...]
    start: FloatArray
    records: list[Record]
    responses: list[MeasuredResponse]
    scales: list[FloatArray] = field(default_factory=list)
    kept: dict[Any, Any] = field(default_factory=dict)
    substeps: int = SUBSTEPS
    full: bool = False  # records are those of the full model
    above: tuple[Above, ...] = ()
    deadline: float = float("inf")  # of the search, by time.monotonic
    unfinished: str = ""  # why the last fit ended before it was converged
    centre: FloatArray = field(default_factory=lambda: np.zeros(1))  # where parts of records on the full model begin
    twin: Problem | None = None

    def changed(self, **fields: Any) -> Problem:
        """Return the problem with other fields, nothing kept of runs that were made."""
        return replace(self, **{"scales": list(self.scales), "kept": {}, "twin": None, **fields})

    @property
    def divides(self) -> bool:
        """Whether runs of records take steps, which can be too long: of the full model, and with dry friction."""
        return self.full or any(len(self.model(np.zeros(len(self.keys)), data).laws) for data in self.records)

    @property
    def finer(self) -> Problem:
        """The problem in steps a fourth as long, which keeps its own runs."""
        if self.twin is None:
            self.twin = self.changed(substeps=4 * self.substeps)
        self.twin.scales = self.scales
        return self.twin

    def values(self, x: FloatArray) -> FloatArray:
        """Return the parameters exp(x) times the start; of static friction what is above Coulomb friction is moved."""
        values = np.asarray(self.start * np.exp(x), float)
        for one in self.above:
            level = one.level if one.coulomb < 0 else values[one.coulomb]
            values[one.static] = level + one.excess * np.exp(x[one.static])
        return values

    def in_logarithms(self, x: FloatArray) -> tuple[Problem, FloatArray]:
        """Return the problem in the logarithms of its parameters alone, and x in them."""
        if not self.above:
            return self, x
        return self.changed(above=()), np.asarray(np.log(self.values(x) / self.start))

    def plant_at(self, x: FloatArray) -> Plant:
        """Return the plant with the parameters at x; what there is to be said of it, the last one says."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Caution)  # of what the search passes by
            return self.told_at(x)

    def told_at(self, x: FloatArray) -> Plant:
        """Return the plant with the parameters at x, its cautions told."""
        return self.plant.with_({key: float(v) for key, v in zip(self.keys, self.values(x), strict=True)})

    def model(self, x: FloatArray, data: Record | MeasuredResponse) -> Sampled:
        """Return the plant between the signals of some data; the last few are kept."""
        nyquist = float(np.pi / data.dt) if data.dt > 0.0 else np.inf
        key = (x.tobytes(), *names(data.inputs), *names(data.outputs), nyquist)
        if key not in self.kept:
            _make_room(self.kept)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", Caution)  # of what the search passes by
                self.kept[key] = sampled(self.plant_at(x), names(data.inputs), names(data.outputs), nyquist)
        found: Sampled = self.kept[key]
        return found

    def simulated(self, x: FloatArray, data: Record, count: int) -> FloatArray:
        """Return the outputs without delay, and of the linear model without feed-through; the last few are kept."""
        key = (x.tobytes(), id(data), count)
        if key not in self.kept:
            if self.full:
                y = outputs_of(self.plant_at(x), data, count, self.substeps)
            else:
                y = self.model(x, data).undelayed(data.u[:count], data.dt, data.held, self.substeps)
            _make_room(self.kept)
            self.kept[key] = y
        found: FloatArray = self.kept[key]
        return found

    def residual(self, x: FloatArray, at: Setting, horizon: int = 0) -> FloatArray:
        """Return all residuals over their standard deviations; of records `horizon` samples from their onset."""
        parts = [self.frequency_part(x, r, at) for r in self.responses]
        parts += [self.time_part(x, k, at, horizon) for k in range(len(self.records))]
        if self.full and horizon:  # the beginning of a record does not tell of play and stops: do not run away there
            parts.append(np.asarray(PRIOR * (x - self.centre), float))
        return np.concatenate(parts)

    def frequency_part(self, x: FloatArray, data: MeasuredResponse, at: Setting) -> FloatArray:
        """Return real and imaginary parts of the misfit of a frequency response, output by output."""
        model = self.model(x, data).response(data.omega, data.dt, data.held, at.delay if data.dt else 0, at.late)
        e = (data.response - model) / data.sigma * np.sqrt(2.0)
        return np.asarray(np.stack([e.real, e.imag], axis=-1).ravel())

    def time_part(self, x: FloatArray, k: int, at: Setting, horizon: int = 0) -> FloatArray:
        """Return the misfit of a record, output by output, its mean (the sensor's offset) left out."""
        e = self.misfit(x, self.records[k], at, horizon) / self.scales[k]
        return np.asarray(e.T.ravel())

    def misfit(self, x: FloatArray, data: Record, at: Setting, horizon: int = 0) -> FloatArray:
        """Return measured minus modelled outputs, offsets taken out."""
        count = counted(data, horizon)
        y = self.simulated(x, data, count)
        late = delayed(y, at.delay) if self.full else self.model(x, data).shifted(y, data.u[:count], at.delay, at.late)
        e = data.y[:count] - late
        return np.asarray(e - e.mean(axis=0))

    def blocks(self, horizon: int = 0) -> list[Block]:
        """Return what the rows of the residual are about."""
        found, at = [], 0
        for i, r in enumerate(self.responses):
            size, source = 2 * r.omega.size * len(r.inputs), f"response {r.provenance.get('file', '')}".strip()
            lines = np.tile(np.repeat(r.omega, 2), len(r.inputs))
            for y in r.outputs:
                found.append(Block(source, y.name, slice(at, at + size), i, 0.0, lines))
                at += size
        for k, data in enumerate(self.records):
            size = counted(data, horizon)
            source = str(data.provenance.get("file", f"record {k + 1}"))
            for y in data.outputs:
                found.append(Block(source, y.name, slice(at, at + size), len(self.responses) + k, data.dt))
                at += size
        return found

    def jacobian(
        self,
        x: FloatArray,
        r: FloatArray,
        at: Setting,
        horizon: int = 0,
        central: bool = False,
        which: Sequence[int] | None = None,
    ) -> FloatArray:
        """Return the derivatives of the residual by the logarithms.

        Raises
        ------
        OutOfTime
            Where the limit of time is reached within forward differences, those of a search.
        """
        J, size = np.zeros((r.size, x.size)), STEP
        for k in range(x.size) if which is None else which:
            if not central and time.monotonic() > self.deadline:
                raise OutOfTime
            up, down = self._beside(x, k, size, at, horizon), None
            if central or up is None:  # a value on the bound of what is plausible has one side only
                down = self._beside(x, k, -size, at, horizon)
            if up is None and down is None:
                raise ConvergenceError(f"{self.keys[k]} cannot be moved by {size:g} of itself either way")
            first, second = (r if y is None else y for y in (up, down))
            J[:, k] = (first - second) / (size * ((up is not None) + (down is not None)))
        return J

    def _beside(self, x: FloatArray, k: int, step: float, at: Setting, horizon: int) -> FloatArray | None:
        """Return the residual with one logarithm moved, None where the plant is refused."""
        moved = x.copy()
        moved[k] += step
        try:
            return self.residual(moved, at, horizon)
        except DefinitionError:
            return None


def onset(data: Record) -> int:
    """Return the first sample at which an input has set in; records may begin with seconds of rest."""
    size = np.abs(data.u)
    return int(np.argmax((size > ONSET * size.max(axis=0)).any(axis=1)))


def counted(data: Record, horizon: int) -> int:
    """Return the number of samples up to `horizon` samples after the onset; all of them for 0."""
    return min(onset(data) + horizon, data.t.size) if horizon else data.t.size


def _make_room(kept: dict[Any, Any]) -> None:
    while len(kept) >= KEPT:
        kept.pop(next(iter(kept)))


def problem(plant: Plant, data: Any, free: Sequence[str], start: dict[str, float] | None) -> tuple[Problem, list[str]]:
    """Return the problem, and what was left out of the data, in words."""
    items = [data] if isinstance(data, Record | MeasuredResponse) else list(data)
    require(bool(items), "no data are given")
    for item in items:
        if not isinstance(item, Record | MeasuredResponse):
            raise DefinitionError(f"data hold a {type(item).__name__}; give records and frequency responses")
    keys = tuple(free)
    require(bool(keys), "no parameter is free: name keys of the plant file, for example link.1.length")
    require(len(set(keys)) == len(keys), "a free parameter is named twice")
    plant = plant.with_(dict(start)) if start else plant
    values = np.array([_value(plant, key) for key in keys])
    told: list[str] = []
    fitting = [_matching(plant, item, told) for item in items]
    records = [item for item in fitting if isinstance(item, Record)]
    responses = [_with_sigma(item, told) for item in fitting if isinstance(item, MeasuredResponse)]
    _check_friction(keys, records)
    scales = [0.05 * r.y.std(axis=0) for r in records]
    return Problem(plant, keys, values, records, responses, scales, above=_above(plant, keys, values)), told


def _above(plant: Plant, keys: tuple[str, ...], values: FloatArray) -> tuple[Above, ...]:
    rows, found = {row.key: row.value for row in plant.rows}, []
    for k, key in enumerate(keys):
        if key.startswith(DRY) and key.endswith(".static"):
            other = key.removesuffix("static") + "coulomb"
            at = keys.index(other) if other in keys else -1
            level = float(values[at] if at >= 0 else rows[other])
            found.append(Above(k, at, level, max(float(values[k]) - level, LEAST_ABOVE * level)))
    return tuple(found)


def _value(plant: Plant, key: str) -> float:
    rows = {row.key: row for row in plant.rows}
    if key not in rows:
        known = [k for k, row in rows.items() if row.physical]
        raise unknown("free parameter", key, known)
    row = rows[key]
    number = row.physical and isinstance(row.value, int | float) and not isinstance(row.value, bool)
    if row.value is None:
        raise DefinitionError(f"{key} is not given in {plant.name}: say where to start, start = {{{key!r}: ...}}")
    require(number, f"{key} = {row.value!r} is not a physical number; only numbers of the machine can be free")
    positive = float(row.value) > 0.0
    require(
        positive,
        f"{key} = {row.value:g} {row.unit}: a free parameter starts above zero; say where, start = {{{key!r}: ...}}",
    )
    return float(row.value)


def _matching(plant: Plant, item: Record | MeasuredResponse, told: list[str]) -> Record | MeasuredResponse:
    """Return the data with the outputs that the plant has, and note what is left out."""
    known, inputs = names(plant.model.outputs), names(plant.model.inputs)
    for name in names(item.inputs):
        if name not in inputs:
            raise unknown(f"input of {plant.name} (rename the record's)", name, inputs)
    kept = [name for name in names(item.outputs) if name in known]
    lost = [name for name in names(item.outputs) if name not in known]
    if lost:
        told.append(
            f"{', '.join(lost)}: no outputs of {plant.name}, left out; rename them, or add a [[sensor]] to the plant"
        )
    require(bool(kept), f"no output of the data is one of {plant.name}: it has {', '.join(known)}")
    for signal in item.outputs:
        if signal.name in kept:
            unit = plant.model.outputs[known.index(signal.name)].unit or "1"
            same = unit == (signal.unit or "1")
            require(same, f'output "{signal.name}" is in {signal.unit or "1"}, that of {plant.name} in {unit}')
    return item.choose(outputs=kept)


def _with_sigma(item: MeasuredResponse, told: list[str]) -> MeasuredResponse:
    item = item.lines(item.omega > 0.0)
    if item.has_sigma:
        return item
    told.append(f"a frequency response has no standard deviations: every line counts with {ASSUMED:.0%} of its size")
    floor = 1e-4 * np.median(np.abs(item.response), axis=2, keepdims=True)
    about = {**item.provenance, "assumed_sigma": ASSUMED}
    return replace(item, sigma=np.maximum(ASSUMED * np.abs(item.response), floor), provenance=about)


def _check_friction(keys: Sequence[str], records: Sequence[Record]) -> None:
    dry = [key for key in keys if key.startswith(DRY)]
    require(
        not dry or bool(records),
        f"{', '.join(dry)}: dry friction is identified in the time domain; give a record, not only frequency responses",
    )


def responses_of(found: Problem) -> list[MeasuredResponse]:
    """Return the frequency responses for a first guess: those given, else those of the periodic records."""
    if found.responses:
        return found.responses
    made = []
    for data in found.records:
        if data.period and len(data.inputs) == 1 and data.t.size >= 2 * data.period:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    made.append(frf(data))
                except FlexctlError:
                    continue
    return made


def log_magnitude(found: Problem, x: FloatArray, data: MeasuredResponse) -> FloatArray:
    """Return the misfit of log |H| [Np], lines that are nothing but noise left out."""
    model = found.model(x, data).response(data.omega, data.dt, data.held, 0, 0)
    clear = np.abs(data.response) > 3.0 * np.nan_to_num(data.sigma, nan=0.0)
    e = np.log(np.abs(data.response) + 1e-300) - np.log(np.abs(model) + 1e-300)
    return np.asarray(np.where(clear, e, 0.0).ravel())


def thinned(data: MeasuredResponse, most: int = 200) -> MeasuredResponse:
    """Return at most so many lines, evenly."""
    if data.omega.size <= most:
        return data
    return data.lines(np.unique(np.linspace(0, data.omega.size - 1, most).round().astype(int)))


def _out_of_time(data: Record, modes: FloatArray) -> list[str]:
    """Return a word on a record whose time cannot be that of the arm: it may be in another unit."""
    if not modes.size:  # a rigid arm has no time of its own
        return []
    lowest, asks = float(modes[0]), "is the unit of its time right (ms and s)?"
    said, length = [], data.dt * data.t.size
    if lowest > data.nyquist / (2.0 * np.pi):
        said.append(f"the record is sampled every {data.dt:.4g} s, and the lowest mode is at {lowest:.4g} Hz: {asks}")
    if length * lowest < 1.0:
        said.append(f"the record lasts {length:.4g} s, less than one period of the mode at {lowest:.4g} Hz: {asks}")
    return said


def unexcited(found: Problem, x: FloatArray) -> list[str]:
    """Return a word on each of the lowest modes near which the inputs of no record and no response have power."""
    modes = found.plant_at(x).linearise().modes().frequencies_hz
    said = [word for data in found.records for word in _out_of_time(data, modes)]
    for hertz in modes[:3]:
        w = 2.0 * np.pi * float(hertz)
        seen = any(r.omega[0] <= 1.1 * w and r.omega[-1] >= 0.9 * w for r in found.responses)
        for data in found.records:
            if w > 0.8 * data.nyquist:
                continue
            power = np.abs(np.fft.rfft(data.u - data.u.mean(axis=0), axis=0)) ** 2
            omega = 2.0 * np.pi * np.fft.rfftfreq(data.t.size, data.dt)
            near = (omega > 0.85 * w) & (omega < 1.15 * w)
            seen |= bool(near.any() and (power[near].max(axis=0) > 1e-6 * power.max(axis=0)).any())
        if not seen:
            said.append(f"nothing excites the mode at {hertz:.4g} Hz: what it depends on is not identified from it")
    return said
