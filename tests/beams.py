"""Euler-Bernoulli beams by Hermite finite elements, assembled here and independent of the library.

Coordinates are w_0, w_0', w_1, w_1', ... from the hub to the tip, w the deflection [m] and w' the slope [rad]. A
clamped beam loses the first two, a hub-driven (pinned) one the first: its first coordinate is the hub angle and it has
one rigid mode. The data are those of a 1 m aluminium strip, close to the small laboratory arms. With 2^k elements all
entries of K are exact numbers, and so is the rigid mode.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from flexctl.linear import SecondOrder
from flexctl.model import Signal

FloatArray = npt.NDArray[np.float64]

LENGTH = 1.0  # m
STIFFNESS = 4.0  # EI, N m^2
DENSITY = 0.17  # rho A, kg/m
HUB_INERTIA = 6e-4  # kg m^2


def hermite(
    elements: int,
    *,
    length: float = LENGTH,
    stiffness: float = STIFFNESS,
    density: float = DENSITY,
    hub: float | None = HUB_INERTIA,
    tip_mass: float = 0.0,
    free: bool = False,
) -> tuple[FloatArray, FloatArray]:
    """Return M and K; `hub` is the hub inertia of a pinned beam, None clamps the root, `free` leaves both ends free."""
    h = length / elements
    k = (
        stiffness
        / h**3
        * np.array(
            [
                [12, 6 * h, -12, 6 * h],
                [6 * h, 4 * h * h, -6 * h, 2 * h * h],
                [-12, -6 * h, 12, -6 * h],
                [6 * h, 2 * h * h, -6 * h, 4 * h * h],
            ]
        )
    )
    m = (
        density
        * h
        / 420.0
        * np.array(
            [
                [156, 22 * h, 54, -13 * h],
                [22 * h, 4 * h * h, 13 * h, -3 * h * h],
                [54, 13 * h, 156, -22 * h],
                [-13 * h, -3 * h * h, -22 * h, 4 * h * h],
            ]
        )
    )
    n = 2 * elements + 2
    M, K = np.zeros((n, n)), np.zeros((n, n))
    for e in range(elements):
        at = slice(2 * e, 2 * e + 4)
        M[at, at] += m
        K[at, at] += k
    M[n - 2, n - 2] += tip_mass
    if hub is not None:
        M[1, 1] += hub
    first = 0 if free else (2 if hub is None else 1)
    return M[first:, first:].copy(), K[first:, first:].copy()


def rayleigh(M: FloatArray, K: FloatArray, ratio: float, low: float, high: float) -> FloatArray:
    """Return a M + b K with damping ratio `ratio` at the frequencies low and high [rad/s]."""
    b = 2.0 * ratio / (low + high)
    return b * low * high * M + b * K


def plant(
    M: FloatArray,
    D: FloatArray,
    K: FloatArray,
    inputs: Sequence[str] = ("torque",),
    outputs: Sequence[str] = ("hub", "tip"),
) -> SecondOrder:
    """Return the plant of a hub-driven or clamped beam with channels by name.

    Inputs: torque (first coordinate), force (tip). Outputs: hub, joint1_rate (first coordinate), tip, tip_acceleration,
    strain (second difference of the deflection at the root, scaled to a curvature by the first two nodes).
    """
    n = M.shape[0]
    B = np.zeros((n, len(inputs)))
    for j, name in enumerate(inputs):
        B[{"torque": 0, "force": n - 2}[name], j] = 1.0
    C = {label: np.zeros((len(outputs), n)) for label in ("q", "v", "a")}
    for i, name in enumerate(outputs):
        match name:
            case "hub":
                C["q"][i, 0] = 1.0
            case "joint1_rate":
                C["v"][i, 0] = 1.0
            case "tip":
                C["q"][i, n - 2] = 1.0
            case "tip_acceleration":
                C["a"][i, n - 2] = 1.0
            case "slopes":  # difference of two slopes: elastic only
                C["q"][i, n - 1], C["q"][i, 0] = 1.0, -1.0
            case _:
                raise ValueError(name)
    coordinates = tuple(Signal(f"q{i}") for i in range(n))
    return SecondOrder(
        M, D, K, B, C["q"], C["v"], C["a"], np.zeros((len(outputs), len(inputs))),
        coordinates, tuple(Signal(name) for name in inputs), tuple(Signal(name) for name in outputs),
    )


def cantilever(
    dof: int, inputs: Sequence[str] = ("force",), outputs: Sequence[str] = ("tip",), ratio: float = 0.005
) -> SecondOrder:
    """Return the clamped beam with tip mass, Rayleigh damping and one dashpot (not proportional)."""
    M, K = hermite(dof // 2, hub=None, tip_mass=0.02)
    D = rayleigh(M, K, ratio, 10.0, 3000.0)
    D[dof // 2, dof // 2] += 0.01
    return plant(M, D, K, inputs, outputs)


def hub_beam(
    elements: int, inputs: Sequence[str] = ("torque",), outputs: Sequence[str] = ("hub", "tip"), ratio: float = 0.0
) -> SecondOrder:
    """Return the hub-driven beam, one rigid mode, with stiffness-proportional damping `ratio` at 50 rad/s."""
    M, K = hermite(elements)
    return plant(M, K * (2.0 * ratio / 50.0), K, inputs, outputs)
