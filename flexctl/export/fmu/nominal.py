"""How large the states and outputs of a linear plant get, and over what time: for importers' tolerances.

Modal states are 1e-4 and less. An importer bounds their errors by its tolerance times the nominal value: with 1 there,
the default, a relative tolerance of 1e-4 lets a hub rate be wrong by 200 %.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.sparse.csgraph import connected_components

from ...linear import FirstOrder
from ...model import ComplexArray, FloatArray

_PERIODS = 2.0
_GROWTH = 1e3
_PART, _SEEN = 1e-3, 1e-4
_SMALLEST, _ROUNDING = 1e-15, 1e-9


def horizon(plant: FirstOrder) -> float:
    """Return a time in which a plant shows what it does: some periods of its slowest oscillation [s], 1, 2 or 5 x 10^k.

    Of a plant without oscillation the slowest decay counts; one that grows stops before it has grown a thousandfold.
    """
    s = _continuous(plant)
    moving = s[np.abs(s) > 1e-9 * max(float(np.abs(s).max(initial=0.0)), 1e-300)]
    swinging = moving[np.abs(moving.imag) > 0.1 * np.abs(moving)]
    slowest = float(np.abs(swinging if swinging.size else moving).min(initial=np.inf))
    wanted = 2.0 * math.pi * _PERIODS / slowest if math.isfinite(slowest) else 1.0
    grown = float(s.real.max(initial=0.0))
    if grown > 1e-9 * slowest:
        wanted = min(wanted, math.log(_GROWTH) / grown)
    return rounded_up(min(max(wanted, 1e-6), 1e4))


def _continuous(plant: FirstOrder) -> ComplexArray:
    poles = plant.poles()
    if plant.dt == 0.0:
        return poles
    return np.asarray(np.log(np.where(np.abs(poles) > 1e-12, poles, 1e-12).astype(complex)) / plant.dt)


def rounded_up(value: float) -> float:
    """Return the next of 1, 2, 5, 10, ... that is not below a positive value."""
    power = math.floor(math.log10(value))
    for digit in (1, 2, 5, 10):
        if value <= digit * 10.0**power * (1.0 + 1e-12):
            return float(f"{digit}e{power}")
    return float(f"1e{power + 1}")


def nominals(plant: FirstOrder, stop: float) -> tuple[FloatArray, FloatArray]:
    """Return nominal values of states and outputs, two digits.

    Of an output it is the largest value in the responses to a unit step of each input. Of a state it is a thousandth of
    that for the input that moves it least, since a joint commanded by 1 rad and a tip pushed by 1 N move it by very
    different amounts: with the largest of all, an importer loses what the force does. It is so small because a solver
    then follows an oscillation where it goes through zero: six to a hundred times more accurate than with a tenth, in
    up to twice the time. A state of which no output shows that much may be coarser: then it is what moves some output
    by a ten-thousandth of its value, or else solvers give up on motions that nobody sees. What no input moves has the
    smallest nominal of the others.
    """
    x, y = _peaks(plant, stop)
    moved = (x > _ROUNDING * x.max(axis=1, keepdims=True, initial=0.0)) & (x > 0.0)
    least = np.where(moved, x, np.inf).min(axis=1, initial=np.inf)
    least = _PART * np.where(np.isfinite(least), least, 0.0)
    enough = np.maximum(least, np.minimum(_SEEN * _shown(plant, x, y), x.max(axis=1, initial=0.0)))
    return _told(enough), _told(y.max(axis=1, initial=0.0))


def step_peaks(plant: FirstOrder, stop: float) -> FloatArray:
    """Return the largest values of outputs (.., inputs) in the responses to unit steps of that length [s]."""
    return _peaks(plant, stop)[1]


def _shown(plant: FirstOrder, x: FloatArray, y: FloatArray) -> FloatArray:
    """Return the value of each state, or of one that it is coupled with, that makes up all of some output; else 0."""
    real = y > _ROUNDING * (np.abs(plant.C) @ x + np.abs(plant.D))
    least = np.where(real, y, np.inf).min(axis=1, initial=np.inf)
    gain = np.abs(plant.C)
    count, label = connected_components(plant.A != 0.0, directed=False) if len(plant.A) else (0, np.zeros(0, int))
    for group in (label == number for number in range(count)):
        gain[:, group] = gain[:, group].max(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.where(gain > 0.0, least[:, None] / gain, np.inf).min(axis=0, initial=np.inf)
    return np.where(np.isfinite(value), value, 0.0)


def _told(peak: FloatArray) -> FloatArray:
    largest = float(peak.max(initial=0.0))
    if largest == 0.0:
        return np.ones(peak.size)
    peak = np.where(peak > _SMALLEST * largest, peak, 0.0)
    peak[peak == 0.0] = peak[peak > 0.0].min()
    return np.array([float(f"{value:.1e}") for value in peak])


def _peaks(plant: FirstOrder, stop: float) -> tuple[FloatArray, FloatArray]:
    """Return the largest values of states and outputs, (.., inputs), in the responses to unit steps."""
    n, p = plant.B.shape
    x, y = np.zeros((n, p)), np.zeros((len(plant.outputs), p))
    if plant.dt > 0.0:
        steps = [(plant.A, plant.B, min(max(math.ceil(stop / plant.dt), 1), 5000))]
    else:
        steps = _octaves(plant, stop)
    for Phi, Gamma, count in steps if p else ():
        X = np.zeros((n, p))
        for _ in range(count):
            X = Phi @ X + Gamma
            if not np.isfinite(X).all():
                break
            x, y = np.maximum(x, np.abs(X)), np.maximum(y, np.abs(plant.C @ X + plant.D))
    return x, y


def _octaves(plant: FirstOrder, stop: float) -> list[tuple[FloatArray, FloatArray, int]]:
    """Return steps from a part of the fastest motion's time to a part of all of it, each twice the one before.

    With one step alone a fast motion would be sampled at the same place of every period, or long after it has died.
    """
    from ...linear.discrete import exact_pair

    fastest = float(np.abs(plant.poles()).max(initial=0.0))
    h = stop / 500.0
    while fastest * h > 0.3 and h > 1e-300:
        h *= 0.5
    Phi, integral = exact_pair(plant.A, h)
    Gamma = integral @ plant.B
    found = []
    while h < stop / 250.0:
        found.append((Phi, Gamma, 24))
        Phi, Gamma, h = Phi @ Phi, Phi @ Gamma + Gamma, 2.0 * h
    return [*found[:-1], (*found[-1][:2], 500)]
