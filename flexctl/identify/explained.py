"""Whether a model explains the data: the misfit beside the noise.

Of a frequency response the noise is known by its deviations. Of a record it is the floor of the misfit's spectrum, or
half a step of quantisation. A misfit above it may be noise of another colour; but what a sensor adds is its own,
whereas what the model has wrong appears in all outputs at once, or follows the input. So misfits are compared with each
other (of a single output: with input and model), and with themselves shifted in time, which shows what is chance.
Besides, it is no noise where a misfit is half of the output, or where the full model is far from the linear one. What
runs in steps a fourth as long change is no fault of the model's, but theirs, and is told as such.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from ..errors import FlexctlError
from ..model import ComplexArray, FloatArray
from . import quality
from .parted import contradicted, parted
from .problem import Problem, Setting
from .record import Record

LARGE = 1.5
"""Misfit over noise from which on it is looked into."""
POOR = 0.5
"""Misfit as a part of the output from which on it is no noise of a sensor that is of use."""
SHARED, CHANCE = 0.1, 4.0
"""Least part of a misfit that is shared, and in deviations of what is shared by chance."""
WINDOWS, SHIFTS = 32, 12
SMOOTHED, LOWEST = 25, 0.1
FLOOR = 0.84
"""Root of that quantile of a smoothed spectrum of white noise, as a part of its deviation."""
LINES = 8


class Explained(NamedTuple):
    """The misfit of every output as a multiple of the noise, and where it is not noise."""

    times: Mapping[tuple[str, str], float]
    wrong: Mapping[tuple[str, str], float]
    parted: tuple[str, ...] = ()
    far: bool = False  # whether the full model is away from the linear one by much of the misfit
    steps: Mapping[tuple[str, str], float] = MappingProxyType({})  # misfits that the steps of the runs may leave

    @property
    def worst(self) -> float:
        """Misfit over noise where it is largest and not noise, 0 where the model explains the data."""
        return max(self.wrong.values(), default=0.0)

    @property
    def explains(self) -> bool:
        """Whether no misfit is above the noise, sensors' own or not."""
        return max(self.times.values(), default=0.0) <= LARGE

    def words(self) -> list[str]:
        """Return the verdict where the model does not explain the data, or the steps of its runs do not tell."""
        said = []
        if self.wrong:
            said.append(
                f"THE MODEL DOES NOT EXPLAIN THE DATA: what is left over is {_largest(self.wrong)} the noise, and it "
                "is not noise. The deviations cover how far records, outputs, bands and quarters disagree; they say "
                "nothing about an error that the model makes in all of them. Try another friction law, more of the "
                "arm, or --engine full"
            )
        if self.steps:
            said.append(
                f"what is left over is {_largest(self.steps)} the noise, no more than what the steps of the runs "
                "leave: records are fitted no closer than that, and the deviations hold it. High modes that are "
                "hardly damped ask for ever shorter steps where inputs jump: give the plant the damping that it has"
            )
        return said


def _largest(misfits: Mapping[tuple[str, str], float]) -> str:
    """Return each output with its largest misfit over noise."""
    largest: dict[str, float] = {}
    for (_, output), times in misfits.items():
        largest[output] = max(times, largest.get(output, 0.0))
    return ", ".join(f"{times:.3g} times ({output})" for output, times in largest.items())


def explained(found: Problem, x: FloatArray, at: Setting) -> Explained:
    """Return how many times the noise the misfit of every output is, and where it is not the sensor's."""
    times: dict[tuple[str, str], float] = {}
    wrong: dict[tuple[str, str], float] = {}
    steps: dict[tuple[str, str], float] = {}
    told: list[str] = []
    apart: list[FloatArray] = []
    far = False
    names = [(b.source, b.output) for b in found.blocks()]
    k = 0
    for response in found.responses:
        r = found.frequency_part(x, response, at).reshape(len(response.outputs), -1)
        for row in r:
            times[names[k]] = _of_lines(row)
            if times[names[k]] > LARGE and not response.provenance.get("assumed_sigma"):
                wrong[names[k]] = times[names[k]]
            k += 1
    if wrong and any(len(found.model(x, r).laws) for r in found.responses):
        told.append(
            "frequency responses are compared with the plant without its dry friction, and measured ones hold it, as "
            "damping, stiffness and noise: where it matters, give the records that they are made of"
        )
    for data in found.records:
        e = found.misfit(x, data, at)
        full = parted(found, x, data, at, e)
        told += full.words
        apart.append(full.away)
        far |= bool(full.outputs.any())
        noise = np.array([noise_of(data, e[:, j], j) for j in range(e.shape[1])])
        off = steps_leave(found, x, data, at, e) if bool((e.std(axis=0) > LARGE * noise).any()) else 0.0 * noise
        for j in range(e.shape[1]):
            times[names[k]] = float(e[:, j].std() / noise[j])
            no_noise = full.outputs[j] or e[:, j].std() > POOR * data.y[:, j].std()
            if times[names[k]] > LARGE and (no_noise or not is_own(data, e, j)):
                told_apart = no_noise or e[:, j].std() > LARGE * np.hypot(noise[j], off[j])
                (wrong if told_apart else steps)[names[k]] = times[names[k]]
            k += 1
    if far and max(times.values()) <= LARGE and contradicted(found, x, at, apart):
        return Explained(times, wrong)
    return Explained(times, wrong, tuple(told), far, steps)


def steps_leave(found: Problem, x: FloatArray, data: Record, at: Setting, e: FloatArray) -> FloatArray:
    """Return what steps a fourth as long change of the outputs of a record, rms; zero of runs that are exact."""
    if not found.divides:
        return np.zeros(e.shape[1])
    try:
        return np.asarray((e - found.finer.misfit(x, data, at)).std(axis=0))
    except FlexctlError:  # that steps do not tell of a run that fails is no excuse
        return np.zeros(e.shape[1])


def _of_lines(r: FloatArray) -> float:
    """Return the misfit of a response over its deviation where it is largest, by medians: few periods give outliers."""
    square = (r.reshape(-1, 2) ** 2).sum(axis=1) / 2.0
    parts = np.array_split(square, min(LINES, max(1, square.size // 20)))
    return float(np.sqrt(max(np.median(part) for part in parts) / np.log(2.0)))


def noise_of(data: Record, e: FloatArray, j: int) -> float:
    """Return the noise of an output of a record: the floor of its misfit, or half a step of quantisation."""
    return max(floor(e), 0.5 * quality.quantum(data.y[:, j]), 1e-9 * float(data.y[:, j].std()))


def floor(e: FloatArray) -> float:
    """Return the deviation of the white noise that has the lowest parts of a signal's spectrum."""
    n = e.size
    window = np.hanning(n)
    power = np.abs(np.fft.rfft(window * (e - e.mean()))) ** 2 / (window**2).sum()
    count = min(SMOOTHED, max(1, power.size // 4))
    smooth = np.convolve(power, np.full(count, 1.0 / count), "valid")
    return float(np.sqrt(np.quantile(smooth, LOWEST)) / FLOOR)


def is_own(data: Record, e: FloatArray, j: int) -> bool:
    """Whether a misfit is a sensor's own: no part of the others', nor, of a single one, of what goes in and out."""
    others = np.delete(e, j, axis=1) if e.shape[1] > 1 else np.hstack([data.u, data.y - e])
    length = max(16, e.shape[0] // WINDOWS)
    if data.period:  # a window as long as the period would see the same in every one
        length = min(length, max(16, data.period // 4))
    if e.shape[0] < 6 * length:
        return False
    mine, theirs = _windows(e[:, j : j + 1], length), _windows(others, length)
    part = _shared(mine[:, :, 0], theirs)
    rng = np.random.default_rng(0)
    chance = []
    for k in range(SHIFTS):
        moved = np.roll(e[::-1, j] if k % 2 else e[:, j], int(rng.integers(2 * length, e.shape[0] - 2 * length)))
        chance.append(_shared(_windows(moved[:, None], length)[:, :, 0], theirs))
    usual, spread = float(np.mean(chance)), float(np.std(chance))
    return part - usual < max(SHARED * (1.0 - usual), CHANCE * spread)


def _windows(x: FloatArray, length: int) -> ComplexArray:
    """Return the transforms of windows that overlap by half, (windows, lines, signals)."""
    starts = range(0, len(x) - length + 1, length // 2)
    shape = np.hanning(length)[:, None]
    return np.array([np.fft.rfft(shape * (x[i : i + length] - x[i : i + length].mean(axis=0)), axis=0) for i in starts])


def _shared(mine: ComplexArray, theirs: ComplexArray) -> float:
    """Return the part of a signal's power that is linear in others, line by line."""
    told = 0.0
    for k in range(mine.shape[1]):
        size = np.linalg.norm(theirs[:, k], axis=0)
        basis, _ = np.linalg.qr(theirs[:, k] / np.maximum(size, 1e-300))
        told += float(np.linalg.norm(basis.conj().T @ mine[:, k]) ** 2)
    return told / max(float(np.linalg.norm(mine) ** 2), 1e-300)
