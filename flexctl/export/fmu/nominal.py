"""How large the states and outputs of a linear plant get, and over what time: for importers' tolerances.

Modal states are 1e-4 and less. An importer bounds their errors by its tolerance times the nominal value: with 1 there,
the default, a relative tolerance of 1e-4 lets a hub rate be wrong by 200 %.
"""

from __future__ import annotations

import math

import numpy as np

from ...linear import FirstOrder
from ...model import ComplexArray, FloatArray

_PERIODS = 5.0
_GROWTH = 1e3
_SMALLEST = 1e-12


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
    """Return the largest value of each state and output in the responses to a unit step of each input, two digits.

    What no input moves has the smallest nominal of the others: an importer then looks closely at it.
    """
    x, y = _peaks(plant, stop)
    return _told(x), _told(y)


def _told(peak: FloatArray) -> FloatArray:
    largest = float(peak.max(initial=0.0))
    if largest == 0.0:
        return np.ones(peak.size)
    peak = np.where(peak > _SMALLEST * largest, peak, 0.0)
    peak[peak == 0.0] = peak[peak > 0.0].min()
    return np.array([float(f"{value:.1e}") for value in peak])


def _peaks(plant: FirstOrder, stop: float) -> tuple[FloatArray, FloatArray]:
    n, p = plant.B.shape
    x, y = np.zeros(n), np.zeros(len(plant.outputs))
    if not p:
        return x, y
    if plant.dt > 0.0:
        steps = [(plant.A, plant.B, min(max(math.ceil(stop / plant.dt), 1), 5000))]
    else:
        steps = _octaves(plant, stop)
    for Phi, Gamma, count in steps:
        X = np.zeros((n, p))
        for _ in range(count):
            X = Phi @ X + Gamma
            if not np.isfinite(X).all():
                break
            x = np.maximum(x, np.abs(X).max(axis=1))
            y = np.maximum(y, np.abs(plant.C @ X + plant.D).max(axis=1, initial=0.0))
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
