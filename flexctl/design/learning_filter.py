"""The filter of iterative learning: what a run's error says about the next command, with a proof before the first.

    v+ = Q (v + L e),     e = path - output = d - H_i v,     e+ = (1 - Q) d + Q (I - H_i L) e

H_i is the closed loop from what is added to the commands to the outputs, a model of the plant each (payloads,
frequencies, poses of a nonlinear arm under the law that acts there). Everything is done in the frequency domain on the
record of a whole run, so that the filters need not be causal: pre-actuation comes out by itself. Q = 1 / (1 + (f/fc)^8)
has no phase. L is, at each frequency, the matrix that makes the largest |I - H_i L| of all models small: reweighted
least squares (Lawson 1961), with a part of the largest trace of H'H added, without which a response near zero (that of
an integral at rest) asks for commands without bound.

The errors shrink from run to run, by the factor `rate` at least, if Q |I - H_i L| < 1 (largest singular value) at every
frequency and for every model. What remains is (1 - Q) d: the error above the corner.

A nonlinear arm is another one in other poses. There are then several L, each for the models of one pose, and what
each of them makes of the error is weighted in time by how near the arm is to its pose; the factor is that of every pose
for itself.

Where the response is too weak to be inverted, below what regularisation adds, I - H L comes near 1 and little is
learnt.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import DefinitionError, require
from ..laws.added import added_channel
from ..laws.fingerprint import linear_core
from ..laws.given import feedback_of
from ..linear import FirstOrder
from ..linear.discrete import delay_outputs
from ..linear.interconnect import closed_loop
from ..linear.seen import as_seen
from ..model import ComplexArray, FloatArray, Signal, index_of, names

STEPS = 60
"""Of the reweighting."""
_SILENT = 1e-12
"""Part of the largest trace of H'H below which a response is taken for none."""
_NOTHING = 1e-7
"""Q below which nothing is learnt."""


@dataclass(frozen=True, eq=False)
class LearningFilter:
    """L and Q on the frequencies of a record, and what they are certified to do.

    Attributes
    ----------
    sample_time : float
        Control period [s].
    size : int
        Samples of the padded record.
    L : ndarray
        Command from error, (pose, frequency, input, output).
    weights : ndarray
        Part of every pose by time, (pose, sample).
    Q : ndarray
        By frequency.
    frequencies : ndarray
        [Hz], all that have L.
    contraction : mapping
        Model -> Q |I - H L| by frequency.
    """

    sample_time: float
    size: int
    L: ComplexArray
    weights: FloatArray
    Q: FloatArray
    frequencies: FloatArray
    contraction: Mapping[str, FloatArray]

    @property
    def rates(self) -> dict[str, float]:
        """The largest factor by which a part of the error may change in a run, by model."""
        return {name: float(c.max()) for name, c in self.contraction.items()}

    @property
    def rate(self) -> float:
        """The largest of all models."""
        return max(self.rates.values())

    @property
    def worst(self) -> tuple[str, float]:
        """Model and frequency [Hz] of `rate`."""
        name = max(self.contraction, key=lambda model: float(self.contraction[model].max()))
        return name, float(self.frequencies[int(self.contraction[name].argmax())])

    def next(self, v: FloatArray, error: FloatArray) -> FloatArray:
        """Return the sequences of the next run, from those of a run and its errors (a row each)."""
        count, samples = self.frequencies.size, v.shape[1]
        E = np.fft.rfft(error, self.size)[:, :count]
        more = self._filtered(np.einsum("pfve,ef->pvf", self.L, E), samples)
        moved = v + np.einsum("pt,pvt->vt", self.weights, more)
        return self._filtered(self.Q * np.fft.rfft(moved, self.size)[:, :count], samples)

    def _filtered(self, spectrum: ComplexArray, samples: int) -> FloatArray:
        """Return the samples of a spectrum that ends where Q does."""
        found = np.zeros((*spectrum.shape[:-1], self.size // 2 + 1), complex)
        found[..., : spectrum.shape[-1]] = spectrum
        return np.asarray(np.fft.irfft(found, self.size)[..., :samples])


def learning_filter(
    poses: Sequence[Mapping[str, FirstOrder]], weights: FloatArray, channels: Sequence[str], outputs: Sequence[str], *,
    cutoff: float, gain: float = 1.0, regularisation: float = 0.0, scales: Sequence[float] | None = None,
    made_from: Sequence[str] = (),
) -> LearningFilter:
    """Return the filter for records of so many samples.

    Parameters
    ----------
    poses : sequence of mapping
        For every pose, label -> sampled closed loop, as `learning_loop` makes it.
    weights : ndarray
        Part of every pose at every sample of a run, (pose, sample).
    channels, outputs : sequence of str
        Inputs of the loops that are learnt, outputs that are to follow.
    cutoff : float
        Corner of Q [Hz].
    gain : float
        Part of L that is used.
    regularisation : float
        What is added to H'H, in parts of its largest trace.
    scales : sequence of float, optional
        Unit in which each output counts; 1 by default.
    made_from : sequence of str
        Ends of the labels of the models that L is made from, if not from all; it is certified on all.
    """
    dt = next(iter(poses[0].values())).dt
    nyquist = 0.5 / dt
    require(0.0 < cutoff < nyquist, f"cutoff = {cutoff} Hz must lie between 0 and {nyquist:g} Hz, half the rate")
    require(0.0 < gain <= 1.0, f"gain = {gain} must be above 0 and not above 1")
    require(bool(0.0 <= regularisation < 1.0), f"regularisation = {regularisation} must be from 0 to below 1")
    size = 4 * 2 ** int(np.ceil(np.log2(weights.shape[1])))
    f: FloatArray = np.fft.rfftfreq(size, dt).astype(np.float64)
    Q: FloatArray = 1.0 / (1.0 + (f / cutoff) ** 8)
    f, Q = f[Q > _NOTHING], Q[Q > _NOTHING]
    unit = np.ones(len(outputs)) if scales is None else np.asarray(scales, float)
    every: list[ComplexArray] = []
    contraction: dict[str, FloatArray] = {}
    for loops in poses:
        H = np.array([_response(loop, channels, outputs, f) / unit[:, None] for loop in loops.values()])
        own = [not made_from or name.endswith(tuple(made_from)) for name in loops]
        require(any(own), f"made_from = {list(made_from)} names none of the models {list(loops)}")
        L = gain * least_of_largest(H[own], regularisation)
        left = np.linalg.norm(np.eye(len(outputs)) - H @ L, 2, axis=(-2, -1))
        contraction |= {name: Q * left[i] for i, name in enumerate(loops)}
        every.append(L / unit)
    return LearningFilter(dt, size, np.array(every), weights, Q, f, contraction)


def least_of_largest(H: ComplexArray, regularisation: float) -> ComplexArray:
    """Return L, (frequency, input, output), that makes the largest |I - H_i L| of the models small.

    Parameters
    ----------
    H : ndarray
        (model, frequency, output, input).
    regularisation : float
        In parts of the largest trace of H'H.
    """
    adjoint = np.conj(np.swapaxes(H, -1, -2))
    gram = adjoint @ H
    trace = np.trace(gram, axis1=-2, axis2=-1).real
    silent = np.all(trace < _SILENT * trace.max(), axis=0)  # an integral at 0 Hz: nothing can be learnt
    one = regularisation * trace.max() * np.eye(H.shape[-1])
    weights = np.full(H.shape[:2], 1.0 / len(H))
    best, least = np.zeros(adjoint.shape[1:], complex), np.ones(H.shape[1]) * np.inf
    for _ in range(STEPS):
        A, b = (np.einsum("mf,mfij->fij", weights, x) for x in (gram, adjoint))
        A = A + one + 1e-14 * np.abs(A).max(axis=(-2, -1), keepdims=True) * np.eye(H.shape[-1])
        A[silent], b[silent] = np.eye(H.shape[-1]), 0.0
        L = np.linalg.solve(A, b)
        size = np.linalg.norm(np.eye(H.shape[2]) - H @ L, axis=(-2, -1))
        better = size.max(axis=0) < least
        best[better], least[better] = L[better], size.max(axis=0)[better]
        weights = weights * size
        weights /= np.maximum(weights.sum(axis=0), 1e-300)
    return best


def learning_loop(plant: Any, law: Any, apart: bool = False) -> FirstOrder:
    """Return the closed loop of a linear plant and a linear law, from references and inputs to outputs and commands.

    Parameters
    ----------
    plant : SecondOrder or FirstOrder
        The plant with all its modes.
    law : Controller
        A sampled linear law, with added channels.
    apart : bool
        Whether sequences are added behind the law, at the inputs of the plant; then it needs no channels.
    """
    if apart:
        known = feedback_of(law)
        return closed_loop(as_seen(plant, known.dt, names(known.inputs)), known)
    core, delay = linear_core(law)
    # references may be called like measurements: what is added has a name of its own
    own = {added_channel(drive) for drive in core.drives}
    channels = tuple(
        Signal(c if c in own and not kind else f"reference:{c}{kind}")
        for c in core.follows for kind in ("", ":rate", ":acceleration")
    )
    A, By, Br = core.A + core.Bu @ core.C, core.By + core.Bu @ core.Dy, core.Br + core.Bu @ core.Dr
    states = tuple(Signal(f"law{i + 1}") for i in range(len(A)))
    feedback = FirstOrder(
        A, np.hstack([By, Br]), core.C, np.hstack([core.Dy, core.Dr]), states,
        (*(Signal(m) for m in core.measures), *channels), tuple(Signal(d) for d in core.drives), core.sample_time,
    )
    return closed_loop(as_seen(plant, core.sample_time, core.measures), delay_outputs(feedback, delay))


def check_stable(loop: FirstOrder, name: str) -> None:
    """Raise unless a sampled loop is stable."""
    grown = float(np.abs(loop.poles()).max(initial=0.0))
    if grown >= 1.0:
        raise DefinitionError(f"the loop is unstable on {name} (|z| = {grown:.6f}): nothing can be learnt there")


def _response(loop: FirstOrder, channels: Sequence[str], outputs: Sequence[str], f: FloatArray) -> ComplexArray:
    columns = [index_of("input", name, loop.inputs) for name in channels]
    rows = [index_of("output", name, loop.outputs) for name in outputs]
    part = FirstOrder(
        loop.A, loop.B[:, columns], loop.C[rows], loop.D[np.ix_(rows, columns)], loop.states,
        tuple(loop.inputs[j] for j in columns), tuple(loop.outputs[i] for i in rows), loop.dt,
    )
    return np.moveaxis(part.transfer(np.exp(2j * np.pi * f * loop.dt)), -1, 0)
