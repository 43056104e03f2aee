"""One link on a hub, independent of flexctl: Hermite elements in modal coordinates, dry friction at the hub."""

from __future__ import annotations

import numpy as np
import scipy.linalg as sla
from numpy.typing import NDArray

PLANT = """\
title = "One link on a hub"
[material.steel]
youngs_modulus = 2.05e11
density = 7850.0
[section.strip]
area = 2.0e-5
second_moment = 1.67e-12
outer_distance = 5e-4
[[link]]
length = 0.6
material = "steel"
section = "strip"
[friction.dry]
kind = "tanh"
coulomb = 0.03
creep_rate = 1e-3
[[joint]]
hub_inertia = 3.0e-3   # kg m^2, weighed
friction = 5e-3
friction_law = "dry"
[payload]
mass = 0.08
[damping]
kind = "modal"
ratio = 0.006
[[sensor]]
name = "strain"
kind = "strain"
position = 0.02
[[sensor]]
name = "tip_acceleration"
kind = "acceleration"
position = 1.0
[model]
kind = "finite_difference"
sections = 30
[provenance]
"payload.mass" = "chosen: a number"
"""
FREE = PLANT.replace(PLANT[PLANT.index("[friction.dry]") : PLANT.index("[[joint]]")], "").replace(
    'friction_law = "dry"\n', ""
)
"""The same without dry friction."""
TRUE = {
    "material.steel.youngs_modulus": 2.05e11,
    "joint.1.hub_inertia": 3e-3,
    "payload.mass": 0.08,
    "joint.1.friction": 5e-3,
    "damping.ratio": 0.006,
    "friction.dry.coulomb": 0.03,
}
OUTPUTS = ("joint1_angle [rad]", "strain [1]", "tip_acceleration [m/s^2]")
Array = NDArray[np.float64]


def matrices(modes: int = 14, n: int = 40) -> tuple[Array, Array, Array, Array]:
    """Return A, B, C, D in modal coordinates; outputs are angle, strain and tip acceleration, then the hub's rate."""
    E, rho, area, second, L, outer, hub, mass, viscous, zeta = (
        2.05e11,
        7850.0,
        2e-5,
        1.67e-12,
        0.6,
        5e-4,
        3e-3,
        0.08,
        5e-3,
        0.006,
    )
    h, size = L / n, 2 * (n + 1)
    M, K = np.zeros((size, size)), np.zeros((size, size))
    k = (
        E
        * second
        / h**3
        * np.array(
            [
                [12, 6 * h, -12, 6 * h],
                [6 * h, 4 * h**2, -6 * h, 2 * h**2],
                [-12, -6 * h, 12, -6 * h],
                [6 * h, 2 * h**2, -6 * h, 4 * h**2],
            ]
        )
    )
    m = (
        rho
        * area
        * h
        / 420
        * np.array(
            [
                [156, 22 * h, 54, -13 * h],
                [22 * h, 4 * h**2, 13 * h, -3 * h**2],
                [54, 13 * h, 156, -22 * h],
                [-13 * h, -3 * h**2, -22 * h, 4 * h**2],
            ]
        )
    )
    for e in range(n):
        at = slice(2 * e, 2 * e + 4)
        M[at, at] += m
        K[at, at] += k
    M, K = M[1:, 1:].copy(), K[1:, 1:]
    M[0, 0] += hub
    M[-2, -2] += mass
    w2, V = sla.eigh(K, M)
    w, V = np.sqrt(np.abs(w2[: modes + 1])), V[:, : modes + 1]
    w[0] = 0.0
    e, xi = int(0.02 * n), 0.02 * n - int(0.02 * n)
    row = np.zeros(size)
    row[2 * e : 2 * e + 4] = np.array([-6 + 12 * xi, h * (-4 + 6 * xi), 6 - 12 * xi, h * (-2 + 6 * xi)]) / h**2
    hub_row, tip, strain = V[0], V[-2], outer * row[1:] @ V
    D = np.diag(2 * zeta * w) + viscous * np.outer(hub_row, hub_row)
    count = len(w)
    zero = np.zeros(count)
    A = np.block([[np.zeros((count, count)), np.eye(count)], [-np.diag(w**2), -D]])
    B = np.concatenate([zero, hub_row])[:, None]
    C = np.vstack(
        [
            np.concatenate([hub_row, zero]),
            np.concatenate([strain, zero]),
            tip @ np.hstack([-np.diag(w**2), -D]),
            np.concatenate([zero, hub_row]),
        ]
    )
    return A, B, C, np.array([[0.0], [0.0], [tip @ hub_row], [0.0]])


def measured(u: Array, delay: int, seed: int, coulomb: float = 0.03, creep: float = 1e-3, fine: int = 40) -> Array:
    """Return angle (20-bit encoder), strain and acceleration with noise, every ms; the torque is held and late.

    Friction Fc tanh(w / ve) acts at the hub; every step of 1 ms / fine is exact but for friction, which is solved for.
    """
    A, B, C, D = matrices()
    h = 1e-3 / fine
    n = len(A)
    block = np.zeros((n + 1, n + 1))
    block[:n, :n], block[:n, n:] = A * h, B * h
    E = sla.expm(block)
    Phi, G = E[:n, :n], E[:n, n]
    w_row = C[3]
    S = float(w_row @ G)
    x, y = np.zeros(n), np.empty((u.size, 3))
    late = np.concatenate([np.zeros(delay), u[: u.size - delay]]) if delay else u
    before, force = 0.0, 0.0
    for k in range(u.size):
        y[k] = C[:3] @ x + D[:3, 0] * (before - force)
        before = late[k]
        for _ in range(fine):
            new = Phi @ x + G * late[k]
            free = float(w_row @ new)
            low, high = free - S * coulomb, free + S * coulomb
            w = float(w_row @ x)
            for _ in range(60):
                w = min(max(w, low), high)
                t = np.tanh(w / creep)
                value = w - free + S * coulomb * t
                low, high = (w, high) if value < 0 else (low, w)
                step = value / (1.0 + S * coulomb * (1.0 - t * t) / creep)
                other = w - step if low < w - step < high else 0.5 * (low + high)
                if abs(other - w) < 1e-13:
                    break
                w = other
            force = coulomb * np.tanh(w / creep)
            x = new - G * force
    rng = np.random.default_rng(seed)
    y += rng.standard_normal(y.shape) * np.array([0.0, 2e-7, 2e-2])
    quantum = 2 * np.pi / 2**20
    y[:, 0] = quantum * np.round(y[:, 0] / quantum)
    return y
