"""Closed forms and reference numbers, independent of the library.

Tokhi and Azad (1994): "Real-time finite difference simulation of a single-link flexible manipulator system", Research
Report 541, University of Sheffield. Its Table 1 gives the arm, its equations (1)-(3) the beam, (10)-(39) the scheme;
where the print is wrong the corrected formula stands here, derived from (10), (23)-(27).
Euler-Bernoulli beam with hub and tip body: e.g. R. D. Blevins, "Formulas for Natural Frequency and Mode Shape", 1979.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from flexctl.machine.arm import Arm, Joint, Link, Material, Payload, Section

Array = npt.NDArray[Any]

# Table 1 of the paper (I = 5.1924e-11 is in m^4, the print says m^2)
L, E, DENSITY, AREA, I = 0.96, 7.11e10, 2710.0, 6.1544e-5, 5.1924e-11
RHO, EI, HUB = DENSITY * AREA, E * I, 5.86e-4
ALPHA = (EI / RHO) ** 0.5

# hub inertia [kg m^2], payload mass [kg], payload inertia [kg m^2]; the last is not in the paper
CASES = {
    "no hub": (0.0, 0.0, 0.0),
    "hub": (HUB, 0.0, 0.0),
    "10 g": (HUB, 0.01, 0.0),
    "20 g": (HUB, 0.02, 0.0),
    "20 g, Ip": (HUB, 0.02, 1e-4),
}


def tokhi_arm(hub_inertia: float = HUB, payload_mass: float = 0.0, payload_inertia: float = 0.0, **tables: Any) -> Arm:
    """The arm of the paper; damping, sensors, actuators, gravity by keyword."""
    link = Link(L, Material(E, DENSITY), Section(AREA, I, outer_distance=1.6002e-3))
    return Arm("tokhi_azad_1994", (link,), (Joint(hub_inertia),), Payload(payload_mass, payload_inertia), **tables)


def characteristic(z: Array | float, h: float, mu: float, k: float) -> Array:
    """Zero at the natural frequencies w = z^2 alpha/L^2 of the pinned beam with hub and tip body, divided by cosh z.

    h = Ih/(rho L^3), mu = Mp/(rho L), k = Ip/(rho L^3): the 4 x 4 determinant of the boundary conditions, expanded.
    """
    s, c, S, C = np.sin(z), np.cos(z), np.tanh(z), np.ones_like(z)
    one = 1.0 / np.cosh(z)
    odd, even = s * C - c * S, s * C + c * S
    clamped = one + c * C - mu * z * odd + k * z**3 * (mu * z * (one - c * C) - even)
    return odd + 2 * mu * z * s * S + k * z**3 * (2 * c * C - mu * z * odd) + h * z**3 * clamped


def beam_numbers(hub: float, mass: float, inertia: float) -> tuple[float, float, float]:
    """h, mu, k of `characteristic` for the arm of the paper."""
    return hub / (RHO * L**3), mass / (RHO * L), inertia / (RHO * L**3)


def beam_frequencies(count: int, hub: float, mass: float = 0.0, inertia: float = 0.0) -> Array:
    """Natural frequencies [rad/s] of the exact beam: sign changes on a fine grid, then Brent."""
    numbers = beam_numbers(hub, mass, inertia)
    grid = np.linspace(0.3, (count + 2) * np.pi, 200 * (count + 2))
    values = characteristic(grid, *numbers)
    brackets = np.flatnonzero(values[:-1] * values[1:] < 0)[:count]
    z = np.array([brentq(characteristic, grid[i], grid[i + 1], numbers, xtol=1e-14) for i in brackets])
    return z**2 * ALPHA / L**2


def beam_transfer(p_squared: Array, hub: float, mass: float = 0.0) -> tuple[Array, Array, Array]:
    """G, N_tip, D of hub torque -> hub angle (G/D) and -> tip (N_tip/D) for Ip = 0, at p^2 of the Laplace variable p.

    With b^4 = -rho p^2/EI and z = b L: N = sin z cosh z - cos z sinh z + 2 mu z sin z sinh z,
    G = 1 + cos z cosh z + mu z (cos z sinh z - sin z cosh z), D = Ih p^2 G - EI b N, N_tip = (sin z + sinh z)/b.
    """
    u = np.asarray(p_squared, complex)
    b = (-RHO * u / EI) ** 0.25
    z, mu = b * L, mass / (RHO * L)
    s, c, S, C = np.sin(z), np.cos(z), np.sinh(z), np.cosh(z)
    N = s * C - c * S + 2 * mu * z * s * S
    G = 1 + c * C + mu * z * (c * S - s * C)
    return G, (s + S) / b, hub * u * G - EI * b * N


def modal_series(count: int, hub: float, mass: float = 0.0) -> tuple[Array, Array, Array]:
    """Frequencies w [rad/s] and residues r of hub angle and tip: sum of r/(s^2 + w^2), the rigid mode (w = 0) first."""
    J = hub + RHO * L**3 / 3 + mass * L**2
    w = beam_frequencies(count, hub, mass)
    step = 1e-20  # complex step in u = p^2
    G, N, _ = beam_transfer(-(w**2), hub, mass)
    slope = beam_transfer(-(w**2) + 1j * step * w**2, hub, mass)[2].imag / (step * w**2)
    return np.append(0.0, w), np.append(1 / J, G.real / slope), np.append(L / J, N.real / slope)


def manoeuvre(t: Array, count: int, hub: float, mass: float = 0.0) -> tuple[Array, Array]:
    """Hub angle and tip of the exact beam: +0.1 N m for 0.3 s, -0.1 N m for 0.3 s, from rest."""
    w, r_hub, r_tip = modal_series(count, hub, mass)
    basis = np.zeros((t.size, w.size))
    for start, jump in ((0.0, 0.1), (0.3, -0.2), (0.6, 0.1)):
        after = np.maximum(t - start, 0.0)[:, None]
        basis[:, :1] += jump * 0.5 * after**2
        basis[:, 1:] += jump * (1 - np.cos(w[1:] * after)) / w[1:] ** 2
    return basis @ r_hub, basis @ r_tip


def step_of(c: float, n: int) -> float:
    """Time step with dt^2 EI/(rho dx^4) = c [s]."""
    return float(c**0.5 * (L / n) ** 2 / ALPHA)


def paper_matrix(c: float, n: int, hub: float, mass: float, inertia: float) -> tuple[Array, Array]:
    """A and B of Y+ = A Y - Y- + B tau as the paper writes them, row by row, its misprints corrected.

    Interior (10); row 1 (30), which for Ih = 0 is (16); rows n-1 and n (19), (22) generalised to Mp > 0, or (38), (39)
    with the fictitious points T, P of (36), (37) for Ip > 0.
    """
    dx, dt = L / n, step_of(c, n)
    a, b = 2 - 6 * c, 4 * c
    A = np.zeros((n, n + 2))  # columns y_1 .. y_{n+2}
    for i in range(1, n + 1):
        for j, value in ((i - 2, -c), (i - 1, b), (i, a), (i + 1, b), (i + 2, -c)):
            if j >= 1:
                A[i - 1, j - 1] += value
    m = 1 + hub / (RHO * dx**3)
    A[0, :3] = 2 - 5 * c / m, 4 * c / m, -c / m
    B = np.zeros(n)
    B[0] = dt**2 * dx / (RHO * dx**3 + hub)
    if inertia > 0:
        T, P = _fictitious(c, dx, dt, mass, inertia)
        for i in (n - 2, n - 1):
            A[i, n - 4 : n] += A[i, n] * T + A[i, n + 1] * P
    else:
        mu = 1 + 2 * mass / (RHO * dx)
        A[n - 2, n - 4 : n] = -c, 4 * c, 2 - 5 * c, 2 * c
        A[n - 1, n - 4 : n] = 0, -2 * c / mu, 4 * c / mu, 2 - 2 * c / mu
    return A[:, :n], B


def _fictitious(c: float, dx: float, dt: float, mass: float, inertia: float) -> tuple[Array, Array]:
    """y_{n+1} and y_{n+2} from y_{n-3} .. y_n: (26), (27) with F1 = EI dt^2/(Ip dx), solved together."""
    a, b = 2 - 6 * c, 4 * c
    F1, F2 = EI * dt**2 / (inertia * dx), EI * dt**2 / (2 * mass * dx**3)
    D = F2 * (b - c) + F1 * (c + F2) + c**2
    T = [-c * (c + F2), b * c + F2 * (b + 2 * c), -(6 * c**2 + F2 * (b + 8 * c) + F1 * (c + F2)),
         b * c + F2 * (b + 6 * c) + 2 * F1 * (c + F2)]
    P = [-c * (b + 2 * F2), b**2 - c**2 + 3 * F2 * (b + c) + F1 * (F2 - c), -(20 * c**2 + 30 * c * F2 + 4 * F1 * F2),
         F1 * (a - 2 + 2 * b + 4 * F2) + (a - 2) * (b + c) + 10 * c * (b + 2 * F2)]
    return np.array(T) / D, np.array(P) / D


def dense_march(A: Array, B: Array, torque: Array) -> Array:
    """All Y of Y+ = A Y - Y- + B tau from rest with the second-order start Y1 = B tau0/2; one row per time."""
    Y = np.zeros((torque.size + 1, A.shape[0]))
    Y[1] = B * torque[0] / 2
    for k in range(1, torque.size):
        Y[k + 1] = A @ Y[k] - Y[k - 1] + B * torque[k]
    return Y


def wedge_frequencies(count: int, tip: float) -> Array:
    """omega L^2 sqrt(rho A / (E I)), A and I at the clamped root of a beam whose height falls linearly to `tip` of it.

    With x from the apex of the wedge, root at 1: (x^3 y'')'' = k^2 x y, y = x^(-1/2) Z_1(2 sqrt(k x)) with Z any of
    J, Y, I, K (Kirchhoff 1879); then y' = -+ k^(1/2) Z_2 / x, y'' = k x^(-3/2) Z_3, (x^3 y'')' = +- k^(3/2) x Z_2.
    """
    from scipy.special import iv, jv, kv, yv

    signs = {jv: (-1.0, 1.0), yv: (-1.0, 1.0), iv: (1.0, 1.0), kv: (-1.0, -1.0)}

    def determinant(k: float) -> float:
        columns = []
        for Z, (slope, shear) in signs.items():
            root, end = 2.0 * np.sqrt(k), 2.0 * np.sqrt(k * tip)
            column = np.array([Z(1, root), slope * Z(2, root), Z(3, end), shear * Z(2, end)])
            columns.append(column / np.abs(column).max())
        return float(np.linalg.det(np.array(columns)))

    grid = np.linspace(1.0, 12.0 * count**2 / (1.0 - tip) ** 2 + 30.0, 300 * count)
    values = np.array([determinant(k) for k in grid])
    brackets = np.flatnonzero(values[:-1] * values[1:] < 0)[:count]
    roots = [brentq(determinant, grid[i], grid[i + 1], xtol=1e-13) for i in brackets]
    return np.array(roots) * (1.0 - tip) ** 2
