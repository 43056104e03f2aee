"""The uniform Euler-Bernoulli beam with a hub and a rigid tip body, without dimensions.

Lengths are divided by L, moments by EI/L. With z = b L, b^4 = -rho s^2/EI, and Lambda = z^4

    y'''' = Lambda y,   y(0) = 0,   y'''(1) + mu Lambda y(1) = 0,   y''(1) - k Lambda y'(1) = 0

mu = Mp/(rho L), k = Ip/(rho L^3); the hub, h = Ih/(rho L^3), asks for -h Lambda y'(0) - y''(0) = tau L/EI.

`Solution` is accurate at every z: a power series where |z| <= 1, and beyond it exponentials that decay from the end
they start at, so that nothing overflows. The scalar functions for natural frequencies are divided by cosh z.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..errors import ConvergenceError
from ..model import ComplexArray, FloatArray

TERMS = 7  # of the series in z^4, |z| <= 1: the eighth is below 1e-29


class Ends(NamedTuple):
    """The bodies at the two ends: h, mu, k of the module."""

    hub: float
    mass: float
    inertia: float


@dataclass(frozen=True)
class Solution:
    """The solution with a y'(0) + b y''(0) = 1, one for each z.

    Attributes
    ----------
    z : ndarray
        b L, one of the four roots with |arg z| <= pi/4.
    a, b : ndarray
        Coefficients of the condition at the hub.
    ends : Ends
        The tip body; its hub entry is not used, a and b replace it.
    """

    z: ComplexArray
    a: ComplexArray
    b: ComplexArray
    ends: Ends

    def __call__(self, x: float, order: int = 0) -> ComplexArray:
        """Return the derivative of the given order, 0 to 3, at station x."""
        y = np.empty(self.z.shape, complex)
        small = np.abs(self.z) <= 1.0
        for part, solve in ((small, _by_series), (~small, _by_exponentials)):
            y[part] = solve(self.z[part], self.a[part], self.b[part], self.ends, x, order)
        return y


def _by_series(z: ComplexArray, a: ComplexArray, b: ComplexArray, ends: Ends, x: float, order: int) -> ComplexArray:
    """Solve with y = theta (S1 + Lambda (curvature S2 + shear S3)), S_j = sum Lambda^m x^(4m+j)/(4m+j)!."""
    Lambda, mu, k = z**4, ends.mass, ends.inertia
    S0, S1, S2, S3 = (_krylov(Lambda, 1.0, j) for j in range(4))
    A = np.array([[Lambda * (S3 + mu * S2), S0 + mu * Lambda * S3], [S0 - k * Lambda * S1, S1 - k * Lambda * S2]])
    f = -np.array([[S2 + mu * S1], [S3 - k * S0]])
    curvature, shear = np.linalg.solve(np.moveaxis(A, 2, 0), np.moveaxis(f, 2, 0))[:, :, 0].T
    theta = 1.0 / (a + b * Lambda * curvature)
    base = [_krylov(Lambda, x, j) for j in range(4)]
    S = [base[j - order] if j >= order else Lambda * base[j - order + 4] for j in range(4)]
    y: ComplexArray = theta * (S[1] + Lambda * (curvature * S[2] + shear * S[3]))
    return y


def _krylov(Lambda: ComplexArray, x: float, j: int) -> ComplexArray:
    coefficients = [x ** (4 * m + j) / math.factorial(4 * m + j) for m in range(TERMS)]
    return np.asarray(np.polynomial.polynomial.polyval(Lambda, coefficients), np.complex128)


def _by_exponentials(
    z: ComplexArray, a: ComplexArray, b: ComplexArray, ends: Ends, x: float, order: int
) -> ComplexArray:
    """Solve with exp(-z x), exp(-z (1 - x)), exp(i z x), exp(i z (1 - x)), i = j or -j, all bounded by 1."""
    i = np.where(z.imag >= 0, 1j, -1j)

    def basis(x: float, order: int) -> ComplexArray:  # derivative divided by z^order
        signs = np.array([(-1.0) ** order * np.ones_like(z), np.ones_like(z), i**order, (-i) ** order])
        decay = np.exp(np.array([-z * x, -z * (1 - x), i * z * x, i * z * (1 - x)]))
        functions: ComplexArray = (signs * decay).T
        return functions

    column = z[:, None]
    hub = a[:, None] * basis(0.0, 1) + b[:, None] * column * basis(0.0, 2)
    rows = np.stack(
        [basis(0.0, 0), hub, basis(1.0, 3) + ends.mass * column * basis(1.0, 0),
         basis(1.0, 2) - ends.inertia * column**3 * basis(1.0, 1)], axis=1,
    )
    scale = np.abs(rows).max(axis=2, keepdims=True)
    right = np.zeros((z.size, 4, 1), complex)
    right[:, 1, 0] = 1.0 / (z * scale[:, 1, 0])
    y: ComplexArray = z**order * np.einsum("si,si->s", basis(x, order), np.linalg.solve(rows / scale, right)[:, :, 0])
    return y


class Products(NamedTuple):
    """Products of s, c = sin, cos z and S, C = sinh, cosh z, each divided by cosh z."""

    one: float  # 1
    cC: float
    sS: float
    odd: float  # s C - c S
    sum: float  # s C + c S
    S_s: float  # S - s
    C_c: float  # C - c
    gap: float  # 1 - c C


def products(z: float) -> Products:
    """Return the products; by their power series where z <= 1, since their leading terms cancel."""
    if z > 1.0:
        s, c, T, one = math.sin(z), math.cos(z), math.tanh(z), 2.0 * math.exp(-z) / (1.0 + math.exp(-2.0 * z))
        return Products(one, c, s * T, s - c * T, s + c * T, T - s * one, 1.0 - c * one, one - c)
    one = 1.0 / math.cosh(z)

    def series(factor: float, j: int, first: int = 0) -> float:
        return one * sum(factor**m * z ** (4 * m + j) / math.factorial(4 * m + j) for m in range(first, TERMS))

    return Products(
        one, series(-4.0, 0), 2.0 * series(-4.0, 2), 4.0 * series(-4.0, 3), 2.0 * series(-4.0, 1),
        2.0 * series(1.0, 3), 2.0 * series(1.0, 2), -series(-4.0, 0, first=1),
    )


def clamped_equation(z: float, ends: Ends) -> float:
    """Return the characteristic function of the beam with its hub held, divided by cosh z."""
    p, mu, k = products(z), ends.mass, ends.inertia
    return p.one + p.cC - mu * z * p.odd + k * z**3 * (mu * z * p.gap - p.sum)


def free_equation(z: float, ends: Ends) -> float:
    """Return the characteristic function of the beam with its hub free to turn, divided by cosh z."""
    p, mu, k = products(z), ends.mass, ends.inertia
    pinned = p.odd + 2.0 * mu * z * p.sS + k * z**3 * (2.0 * p.cC - mu * z * p.odd)
    return pinned + ends.hub * z**3 * clamped_equation(z, ends)


def count_below(z: float, ends: Ends, clamped: bool) -> int:
    """Return the number of natural frequencies below z, the rigid one included.

    Wittrick and Williams (1971): those of the beam with both ends held, plus the negative eigenvalues of the dynamic
    stiffness of hub slope, tip displacement and tip slope. Exact, so no root can be missed.
    """
    p = products(z)
    order = math.floor(z / math.pi)
    held = order - (0 if (-1) ** order * p.gap > 0 else 1)
    stiffness = np.array(
        [[z * p.odd, -(z**2) * p.C_c, z * p.S_s],
         [-(z**2) * p.C_c, z**3 * p.sum, -(z**2) * p.sS],
         [z * p.S_s, -(z**2) * p.sS, z * p.odd]]
    ) / p.gap
    free = stiffness - z**4 * np.diag([ends.hub, ends.mass, ends.inertia])
    return held + int(np.sum(np.linalg.eigvalsh(free[1:, 1:] if clamped else free) < 0))


def roots(ends: Ends, clamped: bool, below: float | None = None, count: int | None = None) -> FloatArray:
    """Return z of all natural frequencies below a bound, or of the lowest `count`, without the rigid one."""
    from scipy.optimize import brentq  # heavy, and needed here only

    low, equation = 1e-3, clamped_equation if clamped else free_equation
    high = below if below is not None else math.pi

    def number(z: float) -> int:
        return count_below(z, ends, clamped)

    while below is None and number(high) - (not clamped) < (count or 0):
        high += math.pi
    found: list[float] = []
    todo = [(low, number(low), high, number(high))] if high > low else []
    while todo:
        a, na, b, nb = todo.pop()
        if nb - na == 1 and equation(a, ends) * equation(b, ends) < 0:
            found.append(brentq(equation, a, b, (ends,), xtol=1e-14, rtol=1e-15))
        elif nb > na:
            middle = 0.5 * (a + b)
            if middle in (a, b):
                raise ConvergenceError(f"natural frequencies at z = {a:.16g} cannot be separated")
            nm = number(middle)
            todo += [(middle, nm, b, nb), (a, na, middle, nm)]
    return np.array(found[:count])


def tip_zeros(inertia: float, count: int) -> FloatArray:
    """Return x = |s|^(1/2) (rho L^4/(4 EI))^(1/4) of the lowest real zeros from hub torque to tip displacement.

    s = +-|s|. They solve sinh x cos x + cosh x sin x + 4 k x^3 sinh x sin x = 0: one in each (m pi - pi/2, m pi),
    m = 1, 2, ...
    """
    from scipy.optimize import brentq

    def equation(x: float) -> float:
        return math.tanh(x) * math.cos(x) + math.sin(x) * (1.0 + 4.0 * inertia * x**3 * math.tanh(x))

    return np.array([brentq(equation, (m - 0.5) * math.pi, m * math.pi, xtol=1e-14) for m in range(1, count + 1)])


def oscillating_tip_zero(inertia: float) -> float:
    """Return z = |s|^(1/2) (rho L^4/EI)^(1/4) of the one pair of zeros s = +-j |s| from hub torque to tip displacement.

    It solves sin z + sinh z = k z^3 (cosh z - cos z), k > 0: the tip stands still while the tip body turns. The ratio
    of sum and difference lies between 0.9 and 1.1 + 2/z and never grows as fast as k z^3 where they meet: one root.
    """
    from scipy.optimize import brentq

    def equation(z: float) -> float:
        p = products(z)
        return 2.0 * math.tanh(z) - p.S_s - inertia * z**3 * p.C_c

    low, high = (0.5 / inertia) ** (1 / 3), max((3.0 / inertia) ** (1 / 3), (6.0 / inertia) ** 0.25)
    z: float = brentq(equation, low, high, xtol=1e-14 * low, rtol=1e-15)
    return z
