"""Shape functions of a uniform beam: its own modes under simple boundary conditions (`pieces` has others).

    y'''' = z^4 y  on 0 <= x <= 1,    y = c . (exp(-z x), exp(-z (1 - x)), cos z x, sin z x)

| shape | at the root | at the end |
|---|---|---|
| `clamped_free` | y = y' = 0 | y'' = y''' = 0 |
| `clamped_mass` | y = y' = 0 | y'' = 0, y''' + mu z^4 y = 0, mu the mass there divided by that of the beam |
| `clamped_clamped` | y = y' = 0 | y = y' = 0 |
| `clamped_pinned` | y = y' = 0 | y = y'' = 0 |
| `pinned_pinned` | y = y'' = 0 | y = y'' = 0: the beam turns with its chord |

The modes alone have no curvature at a free or pinned end: where a moment acts on it (the inertia or the motor of what
goes on there) frequencies converge as 1/n only, as n^-3 under a force. *Attachment* shapes, how the beam bends under
a static moment or force at its end, take that over; convergence is then n^-7, where the root moves along n^-5.

| shape | attachment shapes |
|---|---|
| `clamped_free`, `clamped_mass` | x^2 of a moment, x^2 (3 - x) / 2 of a force at the end |
| `clamped_clamped` | x^2 (3 - 2 x), x^2 (1 - x): the end moves and turns after all (Craig and Bampton 1968) |
| `clamped_pinned` | x^2 (1 - x) of a moment at the end |
| `pinned_pinned` | x (1 - x) (2 - x), x (1 - x) (1 + x) of moments at root and end |

Stations x are distances divided by the length. A shape is scaled to 1 at its end where that moves, to the largest value
1 and a positive root side where it does not. The exponentials decay from the end they start at, so that high modes keep
their accuracy. Axial shapes are x and sin(j pi x): the first is the stretch of a link that is pulled at its ends.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import numpy.typing as npt

from ...errors import require, unknown
from ...exact.beam_functions import Ends, roots
from ...model import FloatArray

SHAPES = ("clamped_free", "clamped_mass", "clamped_clamped", "clamped_pinned", "pinned_pinned")
_SIDE = 1.5 * math.sqrt(3.0)  # 1 / the largest value of x - x^3
ATTACHMENT: dict[str, tuple[tuple[float, ...], ...]] = {
    "clamped_free": ((0.0, 0.0, 1.0), (0.0, 0.0, 1.5, -0.5)),
    "clamped_mass": ((0.0, 0.0, 1.0), (0.0, 0.0, 1.5, -0.5)),
    "clamped_clamped": ((0.0, 0.0, 3.0, -2.0), (0.0, 0.0, 6.75, -6.75)),
    "clamped_pinned": ((0.0, 0.0, 6.75, -6.75),),
    "pinned_pinned": ((0.0, 2.0 * _SIDE, -3.0 * _SIDE, _SIDE), (0.0, _SIDE, 0.0, -_SIDE)),
}
"""Coefficients of the attachment shapes by powers of x."""
LARGEST = 30  # modes of a link; beyond, the boundary conditions lose digits


def wave_numbers(shape: str, count: int, mass_ratio: float = 0.0) -> FloatArray:
    """Return z of the lowest `count` shapes."""
    return np.array(_wave_numbers(shape, count, mass_ratio), float)


@cache
def _wave_numbers(shape: str, count: int, mass_ratio: float) -> tuple[float, ...]:
    """Return them, which every value of a shape asks for, once."""
    if shape not in SHAPES:
        raise unknown("shape", shape, SHAPES)
    require(0 <= count <= LARGEST, f"{count} shapes of a link are asked for; take 0 to {LARGEST}")
    if shape in ("clamped_free", "clamped_mass"):
        found = roots(Ends(0.0, mass_ratio if shape == "clamped_mass" else 0.0, 0.0), True, count=count)
        return tuple(float(z) for z in found)
    if shape == "pinned_pinned":
        return tuple(math.pi * n for n in range(1, count + 1))
    return tuple(_bracketed(shape, n) for n in range(1, count + 1))


def _bracketed(shape: str, n: int) -> float:
    """Return the root near (n + 1/2) pi of cos z = 1/cosh z, or near (n + 1/4) pi of tan z = tanh z."""
    from scipy.optimize import brentq  # heavy, and needed here only

    def clamped(z: float) -> float:
        return math.cos(z) - 2.0 * math.exp(-z) / (1.0 + math.exp(-2.0 * z))

    def pinned(z: float) -> float:
        return math.sin(z) - math.tanh(z) * math.cos(z)

    equation, middle = (clamped, n + 0.5) if shape == "clamped_clamped" else (pinned, n + 0.25)
    return float(brentq(equation, (middle - 0.2) * math.pi, (middle + 0.2) * math.pi, xtol=1e-14, rtol=1e-15))


def _basis(z: float, x: FloatArray, order: int) -> FloatArray:
    """Return the four functions, their derivative of an order divided by z^order, at stations x: x.shape + (4,)."""
    turned = np.cos(z * x + 0.5 * math.pi * order), np.sin(z * x + 0.5 * math.pi * order)
    return np.stack([(-1.0) ** order * np.exp(-z * x), np.exp(-z * (1.0 - x)), *turned], axis=-1)


@cache
def _coefficients(shape: str, z: float, mass_ratio: float) -> tuple[float, ...]:
    """Return c of the module, scaled."""
    root, end = np.zeros(1), np.ones(1)
    left = (0, 2) if shape.startswith("pinned") else (0, 1)
    right = {"free": (2, 3), "mass": (2, 3), "clamped": (0, 1), "pinned": (0, 2)}[shape.split("_")[1]]
    rows = np.vstack([_basis(z, root, k) for k in left] + [_basis(z, end, k) for k in right])
    if shape == "clamped_mass":
        rows[3] += mass_ratio * z * _basis(z, end, 0)[0]
    c = np.linalg.svd(rows / np.abs(rows).max(axis=1, keepdims=True))[2][-1]
    moves = right == (2, 3)
    values = _basis(z, end if moves else np.linspace(0.0, 1.0, 2001), 0) @ c
    return tuple(c / values[np.argmax(np.abs(values) > 0.999 * np.abs(values).max())])


def bending(
    shape: str, count: int, x: npt.ArrayLike, derivative: int = 0, mass_ratio: float = 0.0
) -> FloatArray:
    """Return the derivative of the lowest `count` shapes with respect to the station, x.shape + (count,)."""
    x = np.asarray(x, float)
    z = wave_numbers(shape, count, mass_ratio)
    if shape == "pinned_pinned":  # exact zeros at the ends
        return np.asarray(z**derivative * np.sin(np.multiply.outer(x, z) + 0.5 * math.pi * derivative))
    found = [k**derivative * _basis(k, x, derivative) @ np.array(_coefficients(shape, float(k), mass_ratio)) for k in z]
    return np.stack(found, axis=-1) if found else np.zeros((*x.shape, 0))


def attachment(
    shape: str, count: int, x: npt.ArrayLike, derivative: int = 0, mass_ratio: float = 0.0
) -> FloatArray:
    """Return the derivative of the attachment shapes with respect to the station, x.shape + (number,).

    Less what the lowest `count` modes and the shapes before have of them, and scaled to the largest value 1: with many
    modes little is left, and the mass matrix would lose its digits.
    """
    parts, x = _attachment_parts(shape, count, mass_ratio), np.asarray(x, float)
    return np.asarray(_with_powers(shape, count, x, derivative, mass_ratio) @ np.array(parts).T)


def _with_powers(shape: str, count: int, x: FloatArray, derivative: int, mass_ratio: float) -> FloatArray:
    """Return modes and attachment polynomials side by side."""
    polynomials = [np.polynomial.Polynomial(c) for c in ATTACHMENT[shape]]
    powers = [(p.deriv(derivative) if derivative else p)(x) for p in polynomials]
    return np.concatenate([bending(shape, count, x, derivative, mass_ratio), np.stack(powers, axis=-1)], axis=-1)


@cache
def _attachment_parts(shape: str, count: int, mass_ratio: float) -> tuple[tuple[float, ...], ...]:
    """Return for each attachment shape its parts of modes and polynomials."""
    nodes, weights = np.polynomial.legendre.leggauss(80)
    x, root = 0.5 * (nodes + 1.0), np.sqrt(0.5 * weights)
    values, found = _with_powers(shape, count, x, 0, mass_ratio), []
    sizes = np.abs(values).max(axis=0)
    for k in range(count, values.shape[1]):
        parts = np.eye(values.shape[1])[k]
        for _ in range(2):  # the second time for the digits lost in the first
            others = root[:, None] * values[:, :k] / sizes[:k]
            parts[:k] -= np.linalg.lstsq(others, root * (values @ parts), rcond=None)[0] / sizes[:k]
        fine = _with_powers(shape, count, np.linspace(0.0, 1.0, 2001), 0, mass_ratio) @ parts
        found.append(parts / fine[np.argmax(np.abs(fine))])
    return tuple(tuple(float(c) for c in parts) for parts in found)


def axial(count: int, x: npt.ArrayLike, derivative: int = 0) -> FloatArray:
    """Return the derivative of x, sin(pi x), sin(2 pi x), .. with respect to the station, x.shape + (count,)."""
    x = np.asarray(x, float)
    stretch = np.array([x, np.ones_like(x), np.zeros_like(x)][derivative])[..., None]
    return np.concatenate([stretch, bending("pinned_pinned", max(count - 1, 0), x, derivative)], axis=-1)[..., :count]
