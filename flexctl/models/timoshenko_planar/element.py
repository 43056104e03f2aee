"""The two-node Timoshenko beam element in the plane, in closed form, in a frame that turns with its link.

    rho A (u_z'' + a_z) = n_x + f_z,   rho A (u_x'' + a_x) = q_x + f_x,   rho I (theta'' + alpha) = m_x + q
    n = EA u_z,x      q = kt G A (u_x,x - theta)      m = EI theta,x

z runs along the link, x across, theta turns z into x; u and theta are measured from the rigid link, whose frame turns
at rate w with acceleration alpha, its origin accelerating by (a_z, a_x). Interpolation is linear, with the integrals
T = [[2, 1], [1, 2]] / 6, and the element runs from s1 to s2 = s1 + l. Order of the coordinates: u_z1, u_x1, theta1,
u_z2, u_x2, theta2.

The rule for the shear energy decides everything: "reduced" takes it at the middle, "exact" integrates it and locks. In
global coordinates Q, q = Phi Q with Phi turning with the link, the terms in w and alpha vanish identically:
2 J Phi' + C Phi = 0 and J Phi'' + C Phi' + K_b Phi = 0. What is left of the motion is Phi^T K_c Phi, and F.

Source: a thesis of the 1980s on flexible manipulators modelled by Timoshenko elements, chapter 2 and the appendix,
whose matrices omit the geometric stiffness `geometric`; Table I there counts one element too few in its first row.
"""

from __future__ import annotations

import math

import numpy as np

from ...errors import require, unknown
from ...model import FloatArray

T = np.array([[2.0, 1.0], [1.0, 2.0]]) / 6.0
RULES = ("reduced", "exact")


def mass(l: float, rhoA: float, rhoI: float) -> FloatArray:
    """Return J, consistent and with rotary inertia."""
    return np.asarray(l * np.kron(T, np.diag([rhoA, rhoA, rhoI])))


def gyroscopic(l: float, rhoA: float, w: float) -> FloatArray:
    """Return C, the Coriolis forces; skew, hence without work."""
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    return np.asarray(2.0 * w * rhoA * l * np.kron(T, turn))


def base_motion(l: float, rhoA: float, w: float, alpha: float) -> FloatArray:
    """Return K_b, what the turning frame adds to the stiffness: softening -w^2, and alpha."""
    turn = np.array([[-(w**2), -alpha, 0.0], [alpha, -(w**2), 0.0], [0.0, 0.0, 0.0]])
    return np.asarray(rhoA * l * np.kron(T, turn))


def elastic(l: float, EA: float, ktGA: float, EI: float, rule: str = "reduced") -> FloatArray:
    """Return K_c with the shear energy taken by one of the RULES."""
    if rule not in RULES:
        raise unknown("integration rule", rule, RULES)
    K, spring = np.zeros((6, 6)), np.array([[1.0, -1.0], [-1.0, 1.0]])
    ends = EI / l + (ktGA * l / 12.0 if rule == "exact" else 0.0)
    K[np.ix_([0, 3], [0, 3])] = EA / l * spring
    K[np.ix_([2, 5], [2, 5])] = ends * spring
    b = np.array([0.0, -1.0 / l, -0.5, 0.0, 1.0 / l, -0.5])
    return K + ktGA * l * np.outer(b, b)


def geometric(l: float, N: float) -> FloatArray:
    """Return K_g of the axial force N (tension positive), which stiffens (or softens) across."""
    K = np.zeros((6, 6))
    K[np.ix_([1, 4], [1, 4])] = N / l * np.array([[1.0, -1.0], [-1.0, 1.0]])
    return K


def load(
    s1: float, s2: float, rhoA: float, rhoI: float, w: float, alpha: float,
    a: tuple[float, float] = (0.0, 0.0), f: tuple[float, float] = (0.0, 0.0),
) -> FloatArray:
    """Return F: the inertia of the rigid link, and forces f per length; a and f are along (z, x)."""
    l = s2 - s1
    S = l / 6.0 * np.array([2.0 * s1 + s2, s1 + 2.0 * s2])
    Fz = (f[0] - rhoA * a[0]) * l / 2.0 + rhoA * w**2 * S
    Fx = (f[1] - rhoA * a[1]) * l / 2.0 - rhoA * alpha * S
    moment = np.full(2, -rhoI * alpha * l / 2.0)
    return np.column_stack([Fz, Fx, moment]).ravel()


def pinned_beam(elements: int, slenderness: float, shear: float, rule: str = "reduced") -> float:
    """Return omega L^2 sqrt(rho A / (E I)) of the first mode of a beam pinned at both ends.

    Parameters
    ----------
    elements : int
        Elements over the beam.
    slenderness : float
        r / L with the radius of gyration r.
    shear : float
        kt G / E.
    rule : str
        One of RULES.
    """
    require(elements >= 1, f"elements = {elements} must be 1 or more")
    from scipy.linalg import eigh

    # with L = rho A = E I = 1: E A = 1/s^2, rho I = s^2
    s2, n = slenderness**2, 3 * (elements + 1)
    M, K = np.zeros((n, n)), np.zeros((n, n))
    for e in range(elements):
        at = slice(3 * e, 3 * e + 6)
        M[at, at] += mass(1.0 / elements, 1.0, s2)
        K[at, at] += elastic(1.0 / elements, 1.0 / s2, shear / s2, 1.0, rule)
    free = [i for i in range(n) if i % 3 and i not in (1, n - 2)]  # deflection and slope, pinned ends
    square = eigh(K[np.ix_(free, free)], M[np.ix_(free, free)], eigvals_only=True, subset_by_index=[0, 0])[0]
    return math.sqrt(square)


def exact_pinned_beam(slenderness: float, shear: float, mode: int = 1) -> float:
    """Return the same for the Timoshenko beam itself: the smaller root of its frequency equation."""
    s2, k2 = slenderness**2, (mode * math.pi) ** 2
    b = 1.0 + (1.0 + 1.0 / shear) * k2 * s2
    # (s^4 / c) X^2 - b X + k^4 = 0, without cancellation
    return math.sqrt(2.0 * k2**2 / (b + math.sqrt(b**2 - 4.0 * s2**2 / shear * k2**2)))
