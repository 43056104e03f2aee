"""The disk margin of all channels at once, at the commands and at the sensors.

    alpha = 1 / max mu((S - T)/2),   mu of a diagonal of complex scalars

Every channel may change at the same time, each by its own factor (1 + d/2)/(1 - d/2), |d| < alpha, without loss of
stability. Margins of one loop after another say nothing of that: of a two-link arm with 0.74 and 0.77 at the torques,
one at a time, 0.50 are left when both change, and 0.29 when both encoders do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..linear import FirstOrder
from ..model import ComplexArray, FloatArray, index_of, names
from .blocks import COMPLEX, attained, balanced_bound, norm_bound, scaled_bound
from .evaluate import axis, on_axis

AT_ONCE = 16
"""Frequencies that are searched at once."""


@dataclass(frozen=True)
class Together:
    """The simultaneous disk margin of some channels.

    Attributes
    ----------
    margin : float
        What is guaranteed: from an upper bound of mu.
    attained : float
        A perturbation of this size that makes the loop marginal is known; the two differ with three channels and more.
    frequency : float
        Where it is [rad/s].
    """

    margin: float
    attained: float
    frequency: float


def deviations(plant: FirstOrder, feedback: FirstOrder) -> Callable[[FloatArray, bool], ComplexArray]:
    """Return (frequencies [rad/s], at the sensors) -> S - 1/2 there, else at the commands."""
    reads = [index_of("plant output", name, plant.outputs) for name in names(feedback.inputs)]
    drives = [index_of("plant input", name, plant.inputs) for name in names(feedback.outputs)]
    P, F = on_axis(plant), on_axis(feedback)

    def deviation(at: FloatArray, sensors: bool) -> ComplexArray:
        s = axis(at)
        G, K = np.moveaxis(P(s), 2, 0)[:, reads][:, :, drives], np.moveaxis(F(s), 2, 0)
        L = -(G @ K if sensors else K @ G)
        one = np.eye(L.shape[1])
        return np.asarray(np.linalg.inv(one + L) - 0.5 * one)

    return deviation


def simultaneous(plant: FirstOrder, feedback: FirstOrder, omega: FloatArray) -> dict[str, Together]:
    """Return the simultaneous disk margins "inputs" and "sensors" of a stable loop u = F y.

    Parameters
    ----------
    plant, feedback : FirstOrder
        The plant as the law sees it, and the law; both continuous or sampled alike.
    omega : ndarray
        Frequencies that resolve the poles of the closed loop [rad/s]; minima between them are looked for.
    """
    deviation = deviations(plant, feedback)
    return {
        "inputs": _largest(lambda at: deviation(at, False), omega),
        "sensors": _largest(lambda at: deviation(at, True), omega),
    }


def one_at_a_time(plant: FirstOrder, feedback: FirstOrder, omega: FloatArray) -> float:
    """Return the smallest disk margin of the commands of a stable loop u = F y, one at a time, the others closed.

    That of `flexctl.margins`, found in a tenth of its time: of all that it finds this is one over the largest diagonal
    entry of S - 1/2, which needs no crossings. Arguments as of `simultaneous`.
    """
    largest = deviations(plant, feedback)

    def entries(at: FloatArray) -> FloatArray:
        return np.abs(np.diagonal(largest(at, False), axis1=1, axis2=2))

    found, best = entries(omega), 0.0
    for values in found.T:
        k = int(np.argmax(values))
        low, high = omega[max(k - 1, 0)], omega[min(k + 1, omega.size - 1)]
        best = max(best, float(values[k]))
        for _ in range(3):
            fine = np.linspace(low, high, 17)
            closer = entries(fine).max(axis=1)
            j = int(np.argmax(closer))
            best, low, high = max(best, float(closer[j])), fine[max(j - 1, 0)], fine[min(j + 1, 16)]
    return 1.0 / best if best > 0.0 else np.inf


def _largest(matrix: Any, omega: FloatArray) -> Together:
    """Return one over the largest mu along frequency: where a cheap bound is high first, then between points."""
    M = matrix(omega)
    size = M.shape[1]
    best, k, above = _searched(M, 0.0)
    at = float(omega[k])
    low, high = omega[max(k - 1, 0)], omega[min(k + 1, omega.size - 1)]
    for _ in range(3):
        fine = np.linspace(low, high, 17)
        value, j, _ = _searched(matrix(fine), best)
        if value > best:
            best, at = value, float(fine[j])
        else:
            j = int(np.argmin(np.abs(fine - at)))
        low, high = fine[max(j - 1, 0)], fine[min(j + 1, 16)]
    if size < 3:  # attained
        return Together(1.0 / best, 1.0 / best, at)
    closer = np.concatenate([M[above > best], matrix(np.array([at]))])
    bound = scaled_bound(closer, [1] * size, [COMPLEX] * size).max(initial=best)
    return Together(1.0 / float(bound), 1.0 / best, at)


def _searched(M: ComplexArray, best: float) -> tuple[float, int, FloatArray]:
    """Return the largest mu attained, where it is, and bounds from above of all; what cannot exceed `best` is left out.

    A search costs as much as a thousand bounds, so that the likeliest are searched first, a few at a time.
    """
    sizes = [1] * M.shape[1]
    above, place = norm_bound(M, sizes), 0
    close = np.flatnonzero(above > best)
    above[close] = np.minimum(above[close], balanced_bound(M[close], sizes))
    order = np.argsort(-above, kind="stable")
    for chunk in np.array_split(order, max(1, order.size // AT_ONCE)):
        chunk = chunk[above[chunk] > best]
        if not chunk.size:
            break
        values = attained(M[chunk])
        j = int(np.argmax(values))
        if values[j] > best:
            best, place = float(values[j]), int(chunk[j])
    return best, place, above
