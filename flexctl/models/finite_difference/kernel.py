"""The explicit march of the finite-difference beam, compiled.

With d_k = dt^2 M^-1 (B tau_k - K Y_k) the two-step march Y_{k+1} = A Y_k - Y_{k-1} + B tau_k is, in summed form,

    W_{k+1/2} = s2 W_{k-1/2} + s1 d_k        Y_{k+1} = Y_k + W_{k+1/2}

with s1 = 1/(1 + g), s2 = (1 - g)/(1 + g), g = alpha dt/2 for mass-proportional damping (1 and 1 without). The summed
form costs the same and needs two arrays and no exchange of them, so that the inner loop becomes vector instructions.
Its coefficients are whole numbers times c: the rounding of 2 - 6c, which in the two-step form acts as a spring to the
ground (5000 steps: 1e-9 of the final angle at 19 sections, 1e-8 at 40), is absent (1e-12, 5e-11).

The arrays hold [dx theta, y_0 = 0, y_1 .. y_n, dx phi] [m]; the end slots are idle in a form without these coordinates.
tau is in N m, M in kg, K in N/m, B in 1/m, dt in s, so that d and W are in m.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import boolean, float64, int64, types

from ...kernels.arrays import MAT, RINT, RMAT, RVEC, VEC
from ...kernels.groups import group
from ...kernels.jit import entry, kernel


class Mesh(NamedTuple):
    """Constants of the march that no payload changes."""

    c: float  # EI dt^2 / (rho dx^4)
    s1: float
    s2: float
    hub_mass: float  # inverse mass of node 1, in units of rho dx
    hub_spring: float  # 2 c where theta is a coordinate, else 0
    hub_gain: float  # 2 c rho dx^3 / Ih where theta is a coordinate, else 0
    torque_node: float  # increment of y_1 per N m
    torque_hub: float  # increment of dx theta per N m
    hub_slot: int  # slot that holds the hub's slope: 0 or 2
    feed: float  # hub angle directly due to the torque, times dx [m/(N m)]
    dx: float
    node_mass: float  # rho dx
    slope: bool  # whether a payload inertia is carried by the coordinate phi


MESH = group((*[float64] * 8, int64, *[float64] * 3, boolean), Mesh)


@kernel
def tip_rows(mesh, mass, inertia):
    """Return what a payload changes: inverse mass of nodes n-1, n (three entries), spring and gain of phi."""
    mu, kappa = mass / mesh.node_mass, inertia / (mesh.node_mass * mesh.dx**2)
    if mesh.slope or kappa == 0.0:
        if kappa == 0.0:
            return 1.0, 0.0, 1.0 / (0.5 + mu), 0.0, 0.0
        return 1.0, 0.0, 1.0 / (0.5 + mu), 2.0 * mesh.c, 2.0 * mesh.c / kappa
    m11, m22 = 1.0 + kappa, 0.5 + mu + kappa
    det = m11 * m22 - kappa * kappa
    return m22 / det, kappa / det, m11 / det, 0.0, 0.0


@kernel(inline="always")
def advance(mesh, rows, k, slots, ends, drive, log):
    """Record step k, then put y at step k + 1 into z; w are the increments between the ends, `ends` those at them."""
    (y, z, w), (torque, loads, forces) = slots, drive
    c, s1, s2 = mesh.c, mesh.s1, mesh.s2
    w11, w12, w22, spring, gain = rows
    theta, first, inner, outer, phi = ends
    n, tau = y.size - 3, torque[k]
    record(mesh, k, y, tau, log)
    hub_bend = y[2] - y[0]
    tip_bend = y[n] - y[n + 1] + y[n + 2]
    f1 = mesh.torque_node * tau - c * (5 * y[2] - 4 * y[3] + y[4]) - mesh.hub_spring * hub_bend
    f2 = -c * (y[n - 2] - 4 * y[n - 1] + 5 * y[n] - 2 * y[n + 1]) - spring * tip_bend
    f3 = -c * (y[n - 1] - 2 * y[n] + y[n + 1]) + spring * tip_bend
    for i in range(3, n):
        w[i] = s2 * w[i] - (s1 * c) * (6 * y[i] - 4 * (y[i - 1] + y[i + 1]) + (y[i - 2] + y[i + 2]))
        z[i] = y[i] + w[i]
    for j in range(forces.shape[1]):
        f = forces[k, j]
        f1, f2, f3 = f1 + loads[j, 0] * f, f2 + loads[j, n - 2] * f, f3 + loads[j, n - 1] * f
        for i in range(3, n):
            w[i] += s1 * loads[j, i - 2] * f
            z[i] = y[i] + w[i]
    theta = s2 * theta + s1 * (mesh.torque_hub * tau + mesh.hub_gain * hub_bend)
    first = s2 * first + s1 * mesh.hub_mass * f1
    inner = s2 * inner + s1 * (w11 * f2 + w12 * f3)
    outer = s2 * outer + s1 * (w12 * f2 + w22 * f3)
    phi = s2 * phi - s1 * gain * tip_bend
    z[0], z[2] = y[0] + theta, y[2] + first
    z[n], z[n + 1], z[n + 2] = y[n] + inner, y[n + 1] + outer, y[n + 2] + phi
    return theta, first, inner, outer, phi


@kernel(inline="always")
def record(mesh, k, y, tau, log):
    """Record hub angle and tip at step k, and all slots at every `stride` steps."""
    stride, hub, tip, stored = log
    hub[k] = (y[mesh.hub_slot] + mesh.feed * tau) / mesh.dx
    tip[k] = y[y.size - 2]
    if stride > 0 and k % stride == 0:
        for i in range(y.size):
            stored[k // stride, i] = y[i]


class Drive(NamedTuple):
    """Torque at every step, increments of the nodes per newton (m, n), and forces (steps + 1, m)."""

    torque: np.ndarray
    loads: np.ndarray
    forces: np.ndarray


class Log(NamedTuple):
    """Hub angle and tip at every step; stored[j] takes the slots of y at step j stride."""

    stride: int
    hub: np.ndarray
    tip: np.ndarray
    stored: np.ndarray


DRIVE = group((VEC, MAT, MAT), Drive)
LOG = group((int64, VEC, VEC, MAT), Log)


@entry(types.UniTuple(VEC, 2)(MESH, RVEC, RVEC, DRIVE, RINT, RMAT, LOG), fastmath={"contract"})
def march(mesh, start, before, drive, change, payloads, log):
    """March len(torque) - 1 steps from `start` and the increment `before` it; record at the start of every step.

    payloads[j] = (mass, inertia) holds from step change[j] on, change[0] = 0. Returns y and w.
    """
    # arrays made here cannot overlap, so the inner loops of `advance` become vector instructions; the two take turns
    y, z, w = start.copy(), start.copy(), before.copy()
    n, last = y.size - 3, drive.torque.size - 1
    ends = w[0], w[2], w[n], w[n + 1], w[n + 2]
    for part in range(change.size):
        if part > 0 and payloads[part - 1, 1] == 0.0:  # phi was free: the slope of the last section
            y[n + 2], ends = y[n + 1] - y[n], (ends[0], ends[1], ends[2], ends[3], ends[3] - ends[2])
        rows = tip_rows(mesh, payloads[part, 0], payloads[part, 1])
        k, stop = change[part], change[part + 1] if part + 1 < change.size else last
        while k + 1 < stop:
            ends = advance(mesh, rows, k, (y, z, w), ends, drive, log)
            ends = advance(mesh, rows, k + 1, (z, y, w), ends, drive, log)
            k += 2
        if k < stop:
            ends = advance(mesh, rows, k, (y, z, w), ends, drive, log)
            for i in range(y.size):
                y[i] = z[i]
    record(mesh, last, y, drive.torque[last], log)
    w[0], w[2], w[n], w[n + 1], w[n + 2] = ends
    return y, w
