"""Rotations in space, for arrays (.., 3) of rotation vectors and for complex steps.

    exp(a) = 1 + s S + b S^2              S x = a x x,  t = |a|^2,  theta = sqrt(t)
    T(a)   = 1 + b S + c S^2              spin of exp(a) in base axes: T(a) a'; in body axes: T(a)^T a'
    T(a)^-1 = 1 - S/2 + e S^2

    s = sin(theta)/theta,  b = (1 - cos(theta))/t,  c = (theta - sin(theta))/theta^3,  e = (1 - s/(2 b))/t

The coefficients are analytic functions of t, summed as power series where t is small, so that no derivative is lost at
a = 0. Valid up to |a| < 2 pi (T^-1) and to rotations by less than pi (`log`).

Source: e.g. Geradin and Cardona 2001, Flexible multibody dynamics.
"""

from __future__ import annotations

from math import factorial
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
SMALL = 1.0
"""Below this t the power series are used: their 11 terms then reach rounding."""
SINC, B, C = (tuple((-1.0) ** k / factorial(2 * k + 1 + n) for k in range(11)) for n in (0, 1, 2))
BERNOULLI = (
    1 / 6, 1 / 30, 1 / 42, 1 / 30, 5 / 66, 691 / 2730, 7 / 6, 3617 / 510, 43867 / 798, 174611 / 330, 854513 / 138
)
E = tuple(number / factorial(2 * k) for k, number in enumerate(BERNOULLI, 1))
ARCSINE = tuple(factorial(2 * k) / (4.0**k * factorial(k) ** 2 * (2 * k + 1)) for k in range(14))
STEEP = 0.05
"""Above this sin^2 the angle is taken from its half's tangent, below from the series of the arc sine."""


def cross(a: Array, b: Array) -> Array:
    """Return a x b along the last axis."""
    out = np.empty(np.broadcast_shapes(a.shape, b.shape), np.result_type(a, b))
    a1, a2, a3, b1, b2, b3 = a[..., 0], a[..., 1], a[..., 2], b[..., 0], b[..., 1], b[..., 2]
    out[..., 0], out[..., 1], out[..., 2] = a2 * b3 - a3 * b2, a3 * b1 - a1 * b3, a1 * b2 - a2 * b1
    return out


def skew(a: Array) -> Array:
    """Return S (.., 3, 3) with S x = a x x."""
    S = np.zeros((*a.shape, 3), a.dtype)
    S[..., 2, 1], S[..., 0, 2], S[..., 1, 0] = a[..., 0], a[..., 1], a[..., 2]
    S[..., 1, 2], S[..., 2, 0], S[..., 0, 1] = -a[..., 0], -a[..., 1], -a[..., 2]
    return S


def apply(R: Array, x: Array) -> Array:
    """Return R x for arrays of matrices and vectors."""
    return np.asarray((R @ x[..., None])[..., 0])


def back(R: Array, x: Array) -> Array:
    """Return R^T x for arrays of matrices and vectors."""
    return np.asarray((x[..., None, :] @ R)[..., 0, :])


def dot(a: Array, b: Array) -> Array:
    """Return a . b along the last axis, without conjugation."""
    return np.asarray((a * b).sum(axis=-1))


def _series(coefficients: tuple[float, ...], t: Array) -> Array:
    total = np.full_like(t, coefficients[-1])
    for c in coefficients[-2::-1]:
        total = total * t + c
    return total


def coefficients(t: Array) -> tuple[Array, Array, Array]:
    """Return s, b, c at t."""
    small = np.abs(t) < SMALL
    inside = np.where(small, t, 0.0)
    found = [_series(series, inside) for series in (SINC, B, C)]
    if not small.all():
        t = np.where(small, 1.0, t)
        theta = np.sqrt(t)
        s, b = np.sin(theta) / theta, (1.0 - np.cos(theta)) / t
        found = [np.where(small, one, other) for one, other in zip(found, (s, b, (1.0 - s) / t), strict=True)]
    return found[0], found[1], found[2]


def _slopes(t: Array, s: Array, b: Array, c: Array) -> tuple[Array, Array]:
    """Return db/dt, dc/dt."""
    small = np.abs(t) < SMALL
    inside = np.where(small, t, 0.0)
    db, dc = (_series(tuple(k * x for k, x in enumerate(series))[1:], inside) for series in (B, C))
    if not small.all():
        t = np.where(small, 1.0, t)
        db, dc = np.where(small, db, (s - 2.0 * b) / (2.0 * t)), np.where(small, dc, (b - 3.0 * c) / (2.0 * t))
    return db, dc


def _quadratic(a: Array, first: Array, second: Array) -> Array:
    """Return 1 + first S + second S^2; S^2 = a a^T - t."""
    out = first[..., None, None] * skew(a) + (second[..., None] * a)[..., None] * a[..., None, :]
    diagonal = 1.0 - second * dot(a, a)
    for i in range(3):
        out[..., i, i] += diagonal
    return np.asarray(out)


def exp_and_spin(a: Array) -> tuple[Array, Array]:
    """Return exp(a) and T(a)."""
    s, b, c = coefficients(dot(a, a))
    return _quadratic(a, s, b), _quadratic(a, b, c)


def exp(a: Array) -> Array:
    """Return exp(a)."""
    s, b, _ = coefficients(dot(a, a))
    return _quadratic(a, s, b)


def spin(a: Array) -> Array:
    """Return T(a)."""
    _, b, c = coefficients(dot(a, a))
    return _quadratic(a, b, c)


def spin_bias(a: Array, rate: Array) -> Array:
    """Return (dT/dt) a', the spin's acceleration without a''."""
    t = dot(a, a)
    s, b, c = coefficients(t)
    db, dc = _slopes(t, s, b, c)
    along, turned = 2.0 * dot(a, rate), cross(a, rate)
    twice, again = cross(a, turned), cross(rate, turned)
    return np.asarray((along * db)[..., None] * turned + (along * dc)[..., None] * twice + c[..., None] * again)


def spin_inverse(a: Array) -> Array:
    """Return T(a)^-1."""
    t = dot(a, a)
    small = np.abs(t) < SMALL
    e = _series(E, np.where(small, t, 0.0))
    if not small.all():
        t = np.where(small, 1.0, t)
        s, b, _ = coefficients(t)
        e = np.where(small, e, (1.0 - s / (2.0 * b)) / t)
    return _quadratic(a, np.full_like(e, -0.5), e)


def log(R: Array) -> Array:
    """Return the rotation vector of a rotation by less than pi."""
    a = 0.5 * np.stack(
        [R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1]], axis=-1
    )
    cosine = 0.5 * (R[..., 0, 0] + R[..., 1, 1] + R[..., 2, 2] - 1.0)
    square = dot(a, a)
    small = (np.abs(square) < STEEP) & (cosine.real > 0.0)
    factor = _series(ARCSINE, np.where(small, square, 0.0))
    if not small.all():
        sine = np.sqrt(np.where(small, 1.0, square))
        factor = np.where(small, factor, 2.0 * np.arctan(sine / (1.0 + np.where(small, 0.0, cosine))) / sine)
    return np.asarray(factor[..., None] * a)
