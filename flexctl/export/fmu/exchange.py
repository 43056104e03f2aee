"""How accurate importers' solvers are on a linear plant: the tolerance that a unit asks for in model exchange.

A solver of variable order bounds the error of a step. Over the periods of an oscillation that hardly decays such errors
add up, and every importer is then less accurate than its tolerance says. Measured with CVode (FMPy 0.3, BDF), 64 to
640 periods of two undamped links at tolerances from 1e-4 to 1e-10, the error of an output in which one mode is all is

    GAIN periods tolerance^POWER

of its peak within a factor of two; other modes count by their part of the output. On eight arms of the catalogue the
worst output was off by 1/30 to 20 times that, most of which `SAFETY` covers where a tolerance is chosen.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import scipy.linalg as sla
from scipy.sparse.csgraph import connected_components

from ...linear import FirstOrder
from ...model import FloatArray
from .nominal import step_peaks

IntArray = npt.NDArray[np.int64]
GAIN, POWER, SAFETY = 0.25, 0.83, 12.0
USUAL, WANTED, SMALLEST = 1e-6, 1e-6, 1e-12
"""The tolerance that is asked for where it serves; the error that it should lead to; the least that solvers take."""
MOST = 5.0
"""Periods between two points of output after which CVode, with its 500 steps, gives up."""


def departs(plant: FirstOrder, step: float, stop: float) -> bool:
    """Return whether importers' solvers need help: they might be off by over 1e-3 at 1e-4, or give up."""
    return plant.dt == 0.0 and bool(_might_be_off(plant, stop) or _periods(plant, step) > MOST)


def _might_be_off(plant: FirstOrder, stop: float) -> bool:
    return SAFETY * expected_error(plant, stop, 1e-4) > 1e-3


def notes_of(plant: FirstOrder, step: float, stop: float, tolerance: float, departures: bool) -> list[str]:
    """Return what must be known of model exchange with this unit."""
    if not departs(plant, step, stop):
        return []
    usual, periods = expected_error(plant, stop, 1e-4), _periods(plant, step)
    told = []
    if _might_be_off(plant, stop):
        told.append(
            f"weakly damped modes go through many periods in {stop:g} s, and importers' solvers are then off by about "
            f"{min(usual, 1.0):.0e} of an output's peak, or up to {SAFETY:g} times that, at a relative tolerance of "
            f"1e-4; the unit asks for {tolerance:g}"
        )
    if periods > MOST:
        told.append(
            f"modes up to {periods / step:.3g} Hz go through {periods:.3g} periods in a step of {step:g} s, of which "
            "solvers such as CVode give up (500 steps)"
        )
    if not departures:
        return [f"model exchange: {one}. Co-simulation is exact at any step; --modes N keeps the lowest modes"
                for one in told]
    return [
        "model exchange: solvers integrate how far each state departs from the motion that held inputs lead to "
        "(NAME_departure), which is exact at any tolerance while inputs change at events or ends of steps. Where an "
        f"importer changes inputs within its steps they integrate the states: {'; '.join(told)}. --modes N keeps the "
        "lowest modes, --plain-states leaves departures out"
    ]


def _periods(plant: FirstOrder, step: float) -> float:
    """Return through how many periods the fastest oscillation goes in a step [s]."""
    poles = plant.poles()
    return float(np.abs(poles[np.abs(poles.imag) > 0.1 * np.abs(poles)]).max(initial=0.0)) * step / (2.0 * math.pi)


def expected_error(plant: FirstOrder, stop: float, tolerance: float) -> float:
    """Return the expected error of the worst output, as a part of its peak in a step response of length stop [s]."""
    return GAIN * _seen_periods(plant, stop) * float(tolerance**POWER)


def tolerance_for(plant: FirstOrder, stop: float) -> float:
    """Return the largest power of ten, 1e-6 at most, with which the error is expected to be at most 1e-6."""
    if plant.dt:
        return USUAL
    seen = _seen_periods(plant, stop)
    needed = (WANTED / (SAFETY * GAIN * seen)) ** (1.0 / POWER) if seen > 0.0 else USUAL
    return float(f"1e{max(math.floor(math.log10(min(needed, USUAL)) + 1e-9), round(math.log10(SMALLEST)))}")


def _seen_periods(plant: FirstOrder, stop: float) -> float:
    """Return the largest sum, over modes, of periods until the mode has decayed times its part of an output."""
    parts = np.zeros((len(plant.outputs), len(plant.inputs)))
    for group in _groups(plant.A):
        parts += _group_periods(plant, group, stop)
    peaks = step_peaks(plant, stop)
    real = peaks > 1e-9 * peaks.max(axis=1, keepdims=True, initial=0.0)
    return float(np.where(real, parts / np.where(real, peaks, 1.0), 0.0).max(initial=0.0))


def _groups(A: FloatArray) -> list[IntArray]:
    count, label = connected_components(A != 0.0, directed=False) if len(A) else (0, np.zeros(0, int))
    return [np.flatnonzero(label == number).astype(np.int64) for number in range(count)]


def _group_periods(plant: FirstOrder, group: IntArray, stop: float) -> FloatArray:
    """Return, for each output and input, amplitudes in a unit step response times periods, over a group's modes."""
    A, B, C = plant.A[np.ix_(group, group)], plant.B[group], plant.C[:, group]
    poles, left, shapes = sla.eig(A, left=True, right=True)
    swings = np.abs(poles.imag) > 1e-3 * np.abs(poles)  # those of rigid motions may lack eigenvectors
    size = poles * (left.conj() * shapes).sum(axis=0)
    forced = np.where(swings, 1.0 / np.where(swings, size, 1.0), 0.0)[:, None] * (left.conj().T @ B)
    lasting = np.minimum(stop, 1.0 / np.maximum(-poles.real, 1e-300))
    periods = np.where(swings, np.abs(poles.imag) * lasting / (2.0 * math.pi), 0.0)
    return np.asarray(np.einsum("im,mj->ij", np.abs(C @ shapes) * periods, np.abs(forced)))
